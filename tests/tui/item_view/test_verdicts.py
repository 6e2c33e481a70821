"""What was said stands at what it is about; and nothing on the screen says what is not so."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from fcreview.matching.align import align
from fcreview.model.item import AcceptedValues, Call, CallPair, Erratum, Item, Message, Verdict
from fcreview.model.review import Opinion
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from tests.tui.item_view.document_text import WEATHER, detail, golden, item, predicted, text

NARITA = Verdict("judge", False, "turn:1/call:2", "equivalent", "value_error", "the values differ", "gpt-4o")


def refused() -> Item:
    """The first call was refused by a judge, a second one answered the golden call."""
    made = Item("Cross-0", "Cross", n_steps=2)
    made.golden = [golden("taxi", query="Tokyo Narita")]
    made.predicted = [predicted("taxi", 0, 0, 0, query="Narita, Tokyo"), predicted("taxi", 1, 0, 1, query="Narita")]
    made.messages = [Message(0, -1, "user", "A taxi."), Message(0, 0, "tool", "{}"), Message(0, 1, "tool", "{}")]
    made.pairs = [*align(made.golden, made.predicted[1:]), CallPair(0, None, 0, "taxi", "+")]
    made.verdicts = [NARITA]
    made.extra.compared_with = {"turn:1/call:2": 0}
    return made


def place(lines: list[str], start: str) -> int:
    return next(at for at, line in enumerate(lines) if line.startswith(start))


def test_a_refused_call_stands_beside_the_golden_one_it_was_held_against_with_the_reason_below() -> None:
    lines = text(detail(refused()), 120)
    at = place(lines, "── turn 1 · call 2 of 2 · taxi · + extra · vs golden call 1")
    assert lines[at + 2].split("  ")[0] == "! query"
    assert '"Tokyo Narita"' in lines[at + 2] and '"Narita, Tokyo"' in lines[at + 2]
    assert lines[at + 3] == "  judge gpt-4o ✗ equivalent: value_error: the values differ"
    assert sum("the values differ" in line for line in lines) == 1
    hidden = text(detail(refused()), 120, hide_verdicts=True)
    assert '+ call 2 of 2 · extra: taxi(query="Narita, Tokyo") · step 1' in hidden


OLD = [{"get_weather": {"location": ["Hangzhou"], "days": list(range(30))}}]


def test_a_golden_answer_from_errata_says_whose_it_is_and_what_it_was() -> None:
    made = deepcopy(WEATHER)
    made.extra.erratum = Erratum(["alice", "bob\x1b[2J"], "2026-11-21T10:00:00Z", ["China is asked for"], OLD)
    lines = text(detail(made), 100)
    at = place(lines, "── golden answer from errata · alice, bob␛[2J · 2026-11-21")
    assert lines[at + 1].strip() == "China is asked for"
    assert lines[at + 2].startswith('before  [{"get_weather"') and lines[at + 2].endswith(" 165 B"), "folded"
    blocks = build_document(detail(made), "alice", DisplayOptions())
    (folded,) = [block for block in blocks if block.key == "erratum/old"]
    assert folded.folded and folded.full_text is not None and folded.full_text() == json.dumps(OLD)
    assert place(lines, "  argument") < at < place(lines, "── official"), "below the calls"
    assert not any(
        "errat" in line or "China is asked for" in line for line in text(detail(made), 100, hide_verdicts=True)
    )


def test_a_correction_that_does_not_fit_says_so() -> None:
    made = deepcopy(WEATHER)
    made.extra.erratum = Erratum([], "2026-11-21", [], None, "the question is another one")
    lines = text(detail(made), 100)
    at = place(lines, "── erratum not applied · author unknown · 2026-11-21")
    assert lines[at + 1].strip() == "stale: the question is another one"
    assert not any(line.startswith("before ") for line in lines)


def test_calls_that_were_made_in_another_order_are_numbered_as_golden_calls() -> None:
    made = Item("Flights-2", "Flights", n_steps=2)
    made.golden = [golden("airport", 0), golden("price", 1), golden("flights", 2)]
    made.predicted = [
        predicted(name, at, 0, at // 3) for at, name in enumerate(("flights", "hotel", "taxi", "airport"))
    ]
    made.messages = [Message(0, -1, "user", "Fly."), Message(0, 0, "tool", "{}"), Message(0, 1, "tool", "{}")]
    made.pairs = align(made.golden, made.predicted)
    labels = {"flights": "golden call 3 of 3", "hotel": "call 4 of 5", "airport": "golden call 1 of 3"}
    labels["price"] = "golden call 2 of 3"
    lines = text(detail(made), 120)
    for name, label in labels.items():
        assert any(f" {label} · " in line and name in line for line in lines), label
    made.predicted = [predicted("airport", 0), predicted("flights", 1, 0, 1)]
    made.pairs = align(made.golden, made.predicted)
    assert any(" call 3 of 3 · " in line and "flights" in line for line in text(detail(made), 120))


def test_ones_own_answer_stands_beside_the_judges() -> None:
    said = Opinion(annotator="alice", target="turn:1/call:2", criterion="equivalent", verdict=True, note="same place")
    other = Opinion(annotator="bob", target="turn:1/call:2", verdict=False)
    lines = text(detail(refused(), opinions=[said, other]), 120)
    at = place(lines, "  judge gpt-4o ✗ equivalent")
    assert lines[at + 1] == "  you ✓  pass · equivalent · same place"
    assert lines[at + 2] == "  bob ✗  fail"
    folded = text(detail(refused(), opinions=[said]), 120, folds={"turn:1/call:2": True})
    assert any(line.startswith("+ call 2 of 2") and line.endswith("you ✓") for line in folded)
    assert not any("bob" in line for line in text(detail(refused(), opinions=[said, other]), 120, hide_verdicts=True))


def test_a_review_given_in_bulk_says_what_does_not_count_it() -> None:
    opinions = [Opinion(annotator="alice", verdict=False, bulk="b1"), Opinion(annotator="bob", verdict=False)]
    lines = text(detail(refused(), opinions=opinions), 120)
    assert "  ✗ you  fail · bulk review: not counted in agreement, calibration and estimates" in lines
    assert "  ✗ bob  fail" in lines


def test_judges_of_the_reply_stand_below_it() -> None:
    made = refused()
    made.messages.append(Message(0, 2, "assistant", "A taxi at noon."))
    made.verdicts = [Verdict("judge", 1, "response", "correctness", None, "The hour is not stated.", "gpt-4o")]
    lines = text(detail(made))
    reply = place(lines, "        A taxi at noon.")
    assert lines[reply + 1].startswith("── judge gpt-4o ── correctness 1")
    assert lines[reply + 2] == "  The hour is not stated."


@pytest.mark.parametrize(
    ("reply", "other", "line"),
    [
        ("True", "Yes. ", '── judge recorded ✗ "True" · args_ok_llm ✗ · equivalent ✓ "Yes."'),
        ("True", "True", '── judge recorded ✗ · args_ok_llm ✗ · equivalent ✓ "True"'),
    ],
)
def test_judges_that_only_repeat_their_verdict_take_one_line_with_their_reply_below_the_call(
    reply: str, other: str, line: str
) -> None:
    of = item([golden("f", a="x")], [predicted("f", a="y")])
    of.verdicts = [
        Verdict("judge", False, rationale=reply, by="recorded"),
        Verdict("judge", False, criterion="args_ok_llm", by="recorded"),
        Verdict("judge", True, criterion="equivalent", rationale=other, by="recorded"),
    ]
    lines = text(detail(of))
    judges = [line for line in lines if "judge" in line]
    assert [line.rstrip("─ ") for line in judges] == [line]
    assert place(lines, "! a") < lines.index(judges[0])


@pytest.mark.parametrize("state", ["~", "!"])
def test_what_is_equal_by_the_rules_is_not_marked_as_a_fault(state: str) -> None:
    of = item([golden("f", a="Nearest cafe")], [predicted("f", a="nearest cafe")])
    of.pairs[0].diff[0].state = of.pairs[0].state = state  # type: ignore[assignment]
    styles = {
        style
        for block in build_document(detail(of), "alice", DisplayOptions())
        for line in block.lines(79)
        if plain_text(line).startswith(state)
        for _, style in line
    }
    assert ("diff" in styles) == (state == "!")
    assert ("near" in styles) == (state == "~")


def test_a_golden_answer_that_cannot_be_read_is_shown_as_it_is_with_the_reason() -> None:
    raw = "[order(shop='Domino's')]"
    broken = Call("golden", "order", None, raw=raw, decode_error="invalid syntax: unterminated string literal")
    lines = text(detail(item([broken], [predicted("order", shop="Domino's")])))
    assert "! golden answer cannot be parsed: invalid syntax: unterminated string literal" in lines
    assert f"    golden     {raw}" in lines
    assert '    predicted  order(shop="Domino\'s")' in lines
    assert "(none)" not in "\n".join(lines)


def test_no_column_is_wider_than_the_screen_where_a_side_has_no_value() -> None:
    long = '{"age": 28, "emotional_state": "calm", "history": ["none that is known", "none"]}'
    of = item([golden("f", patient_info=AcceptedValues([long], optional=True))], [predicted("f")])
    assert all(len(line) <= 60 for line in text(detail(of), 61))
