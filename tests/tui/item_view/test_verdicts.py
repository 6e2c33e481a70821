"""Verdicts and reviews are shown next to their target."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from fcreview.matching.align import align_calls
from fcreview.model.item import AcceptedValues, Call, CallPair, Erratum, Item, Message, Verdict
from fcreview.model.review import Opinion
from fcreview.store.rows import Suspicion
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.cursor import Cursor
from fcreview.tui.item_view.document import build_document
from fcreview.tui.item_view.verdicts import find_judge_label_verdict
from fcreview.tui.text.lines import plain_text
from fcreview.tui.text.styles import symbols
from tests.tui.item_view.document_text import (
    WEATHER,
    document_lines,
    golden_call,
    make_detail,
    make_item,
    predicted_call,
)

NARITA = Verdict(
    "judge",
    False,
    target="turn:1/call:2",
    criterion="equivalent",
    error_type="value_error",
    rationale="the values differ",
    by="gpt-4o",
)
PANELS = {"frames": True, "panels": True}


def make_refused_call() -> Item:
    """Return an item whose first call was refused by a judge.

    Its second call matches the golden call.
    """
    item = Item("Cross-0", "Cross", n_steps=2)
    item.golden = [golden_call("taxi", query="Tokyo Narita")]
    item.predicted = [
        predicted_call("taxi", 0, 0, 0, query="Narita, Tokyo"),
        predicted_call("taxi", 1, 0, 1, query="Narita"),
    ]
    item.messages = [
        Message(0, -1, role="user", content="A taxi."),
        Message(0, 0, role="tool", content="{}"),
        Message(0, 1, role="tool", content="{}"),
    ]
    item.pairs = [*align_calls(item.golden, item.predicted[1:]), CallPair(0, None, 0, "taxi", "+")]
    item.verdicts = [NARITA]
    item.extra.compared_with = {"turn:1/call:2": 0}
    return item


def find_line(lines: list[str], start: str) -> int:
    return next(at for at, line in enumerate(lines) if line.startswith(start))


def test_refused_call_is_beside_the_compared_golden_call() -> None:
    lines = document_lines(make_detail(make_refused_call()), 120)
    at = find_line(lines, "── turn 1 · call 2 of 2 · taxi · + extra · vs golden call 1")
    assert lines[at + 2].split("  ")[0] == "≠ query"
    assert '"Tokyo Narita"' in lines[at + 2] and '"Narita, Tokyo"' in lines[at + 2]
    assert lines[at + 3] == "  judge gpt-4o ✗ equivalent: value_error: the values differ"
    assert sum("the values differ" in line for line in lines) == 1
    hidden = document_lines(make_detail(make_refused_call()), 120, hide_verdicts=True)
    assert '+ call 2 of 2 · extra: taxi(query="Narita, Tokyo") · step 1' in hidden


OLD = [{"get_weather": {"location": ["Hangzhou"], "days": list(range(30))}}]


def test_golden_answer_from_errata_has_authors_and_original() -> None:
    item = deepcopy(WEATHER)
    item.extra.erratum = Erratum(
        ["alice", "bob\x1b[2J"], "2026-11-21T10:00:00Z", ["China is asked for"], OLD
    )
    lines = document_lines(make_detail(item), 100)
    at = find_line(lines, "── golden answer from errata · alice, bob␛[2J · 2026-11-21")
    assert lines[at + 1].strip() == "China is asked for"
    assert lines[at + 2].startswith('before  [{"get_weather"') and lines[at + 2].endswith(
        " 165 B"
    ), "folded"
    blocks = build_document(make_detail(item), "alice", DisplayOptions())
    (folded,) = [block for block in blocks if block.key == "erratum/old"]
    assert folded.folded and folded.full_text is not None and folded.full_text() == json.dumps(OLD)
    assert find_line(lines, "  argument") < at < find_line(lines, "── Why it fails"), (
        "below the calls"
    )
    assert not any(
        "errat" in line or "China is asked for" in line
        for line in document_lines(make_detail(item), 100, hide_verdicts=True)
    )


def test_stale_erratum_is_reported() -> None:
    item = deepcopy(WEATHER)
    item.extra.erratum = Erratum([], "2026-11-21", [], None, "the question is another one")
    lines = document_lines(make_detail(item), 100)
    at = find_line(lines, "── erratum not applied · author unknown · 2026-11-21")
    assert lines[at + 1].strip() == "stale: the question is another one"
    assert not any(line.startswith("before ") for line in lines)


def test_reordered_calls_have_golden_numbers() -> None:
    item = Item("Flights-2", "Flights", n_steps=2)
    item.golden = [golden_call("airport", 0), golden_call("price", 1), golden_call("flights", 2)]
    item.predicted = [
        predicted_call(name, at, 0, at // 3)
        for at, name in enumerate(("flights", "hotel", "taxi", "airport"))
    ]
    item.messages = [
        Message(0, -1, role="user", content="Fly."),
        Message(0, 0, role="tool", content="{}"),
        Message(0, 1, role="tool", content="{}"),
    ]
    item.pairs = align_calls(item.golden, item.predicted)
    labels = {
        "flights": "golden call 3 of 3",
        "hotel": "call 4 of 5",
        "airport": "golden call 1 of 3",
    }
    labels["price"] = "golden call 2 of 3"
    lines = document_lines(make_detail(item), 120)
    for name, label in labels.items():
        assert any(f" {label} · " in line and name in line for line in lines), label
    item.predicted = [predicted_call("airport", 0), predicted_call("flights", 1, 0, 1)]
    item.pairs = align_calls(item.golden, item.predicted)
    assert any(
        " call 3 of 3 · " in line and "flights" in line
        for line in document_lines(make_detail(item), 120)
    )


def test_own_review_follows_the_judge_verdict() -> None:
    own = Opinion(
        annotator="alice",
        target="turn:1/call:2",
        criterion="equivalent",
        verdict=True,
        note="same place",
    )
    other = Opinion(annotator="bob", target="turn:1/call:2", verdict=False)
    lines = document_lines(make_detail(make_refused_call(), opinions=[own, other]), 120)
    at = find_line(lines, "  judge gpt-4o ✗ equivalent")
    assert lines[at + 1] == "  you ✓  pass · equivalent · same place"
    assert lines[at + 2] == "  bob ✗  fail"
    folded = document_lines(
        make_detail(make_refused_call(), opinions=[own]), 120, folds={"turn:1/call:2": True}
    )
    assert any(line.startswith("+ call 2 of 2") and line.endswith("you ✓") for line in folded)
    assert not any(
        "bob" in line
        for line in document_lines(
            make_detail(make_refused_call(), opinions=[own, other]), 120, hide_verdicts=True
        )
    )


def test_bulk_review_names_what_excludes_it() -> None:
    opinions = [
        Opinion(annotator="alice", verdict=False, bulk="b1"),
        Opinion(annotator="bob", verdict=False),
    ]
    lines = document_lines(make_detail(make_refused_call(), opinions=opinions), 120)
    assert (
        "  ✗ you  fail · bulk review: not counted in agreement, calibration and estimates" in lines
    )
    assert "  ✗ bob  fail" in lines


def test_judge_verdicts_of_the_reply_are_below_it() -> None:
    item = make_refused_call()
    item.messages.append(Message(0, 2, role="assistant", content="A taxi at noon."))
    item.verdicts = [
        Verdict(
            "judge",
            1,
            target="response",
            criterion="correctness",
            error_type=None,
            rationale="The hour is not stated.",
            by="gpt-4o",
        )
    ]
    lines = document_lines(make_detail(item))
    reply = find_line(lines, "        A taxi at noon.")
    assert lines[reply + 1].startswith("── judge gpt-4o ── correctness 1")
    assert lines[reply + 2] == "  The hour is not stated."


@pytest.mark.parametrize(
    ("reply", "other", "line"),
    [
        ("True", "Yes. ", '── judge recorded ✗ "True" · args_ok_llm ✗ · equivalent ✓ "Yes."'),
        ("True", "True", '── judge recorded ✗ · args_ok_llm ✗ · equivalent ✓ "True"'),
    ],
)
def test_short_judge_verdicts_share_one_line(reply: str, other: str, line: str) -> None:
    item = make_item([golden_call("f", a="x")], [predicted_call("f", a="y")])
    item.verdicts = [
        Verdict("judge", False, rationale=reply, by="recorded"),
        Verdict("judge", False, criterion="args_ok_llm", by="recorded"),
        Verdict("judge", True, criterion="equivalent", rationale=other, by="recorded"),
    ]
    lines = document_lines(make_detail(item))
    judges = [line for line in lines if "judge" in line]
    assert [line.rstrip("─ ") for line in judges] == [line]
    assert find_line(lines, "≠ a") < lines.index(judges[0])


@pytest.mark.parametrize("state", ["~", "!"])
def test_equality_by_rules_is_not_marked_as_difference(state: str) -> None:
    item = make_item([golden_call("f", a="Nearest cafe")], [predicted_call("f", a="nearest cafe")])
    item.pairs[0].diff[0].state = item.pairs[0].state = state  # type: ignore[assignment]
    styles = {
        style
        for block in build_document(make_detail(item), "alice", DisplayOptions())
        for line in block.lines(79)
        if plain_text(line).startswith(symbols().state_symbol(state))
        for _, style in line
    }
    assert ("diff" in styles) == (state == "!")
    assert ("near" in styles) == (state == "~")


def test_undecodable_golden_answer_is_shown_with_error() -> None:
    raw = "[order(shop='Domino's')]"
    broken = Call(
        "golden",
        "order",
        arguments=None,
        raw=raw,
        decode_error="invalid syntax: unterminated string literal",
    )
    lines = document_lines(
        make_detail(make_item([broken], [predicted_call("order", shop="Domino's")]))
    )
    assert "! golden answer cannot be parsed: invalid syntax: unterminated string literal" in lines
    assert f"    golden     {raw}" in lines
    assert '    predicted  order(shop="Domino\'s")' in lines
    assert "(none)" not in "\n".join(lines)


def test_columns_fit_if_one_side_has_no_value() -> None:
    long = '{"age": 28, "emotional_state": "calm", "history": ["none that is known", "none"]}'
    item = make_item(
        [golden_call("f", patient_info=AcceptedValues([long], optional=True))],
        [predicted_call("f")],
    )
    assert all(len(line) <= 60 for line in document_lines(make_detail(item), 61))


def failing_item_lines(official: tuple[str, str], recomputed: tuple[str, str]) -> list[str]:
    """Return the lines of an item with two (error type, reason) pairs."""
    item = make_item(
        [golden_call("f", a=1)], [predicted_call("f", a=2)], official=False, rule=False
    )
    item.error_type, item.rule_error_type = official[0], recomputed[0]
    item.verdicts = [
        Verdict(source, False, error_type=code, rationale=why)
        for source, (code, why) in (("official", official), ("rule", recomputed))
    ]
    return document_lines(make_detail(item), **PANELS)


def test_differing_reasons_are_both_shown() -> None:
    lines = failing_item_lines(
        ("value_error", "Expected 1"), ("type_error:simple", "a: 2 is no text")
    )
    at = next(n for n, line in enumerate(lines) if "Why it fails" in line)
    assert [line.strip("│ ") for line in lines[at + 1 : at + 3]] == [
        "a: 2 is no text   type_error:simple",
        "official    Expected 1   value_error",
    ]


def test_common_reason_is_shown_once() -> None:
    lines = failing_item_lines(("value_error", "Expected 1"), ("value_error", "Expected 1"))
    assert sum("Expected 1" in line for line in lines) == 1


def test_cursor_starts_at_suspect_call() -> None:
    detail = make_detail(
        make_item(
            [golden_call("a", x=1), golden_call("b", 1, y=2)],
            [predicted_call("a", x=9), predicted_call("b", 1, y=2)],
        )
    )
    assert Cursor(detail, "alice").block.function == "a", "the first difference"
    text = "undocumented argument: y is not in the function docs (b)"
    options = DisplayOptions(suspicion=Suspicion(0.6, True, text, (text,)))
    cursor = Cursor(detail, "alice", options=options)
    assert cursor.block.key == "turn:1/call:2/arg:y", "the argument that the reason mentions"
    assert text in " ".join(" ".join(plain_text(line) for line in cursor.block.lines(79)).split())
    lines = document_lines(detail, suspicion=options.suspicion, **PANELS)
    assert any("Why the golden answer is suspect · score 0.60, strong" in line for line in lines)
    assert any(
        "· undocumented argument: y is not in the function docs (b)" in line for line in lines
    )
    hidden = "\n".join(
        document_lines(detail, suspicion=options.suspicion, hide_verdicts=True, **PANELS)
    )
    assert "suspect" not in hidden and "undocumented" not in hidden


def test_a_suspect_argument_is_found_by_the_whole_name_of_its_function() -> None:
    detail = make_detail(
        make_item(
            [golden_call("play", y=1), golden_call("play_next", 1, y=2)],
            [predicted_call("play", y=8), predicted_call("play_next", 1, y=9)],
        )
    )
    text = "undocumented argument: y is not in the function docs (play_next)"
    options = DisplayOptions(suspicion=Suspicion(0.6, True, text, (text,)))
    cursor = Cursor(detail, "alice", options=options)
    assert cursor.block.key == "turn:1/call:2/arg:y"


def test_labels_of_the_response_come_from_a_judge() -> None:
    item = Item("a", "b")
    item.verdicts = [
        Verdict("official", ["a"], target="response", criterion="dialog_act"),
        Verdict("judge", True, target="response", criterion="equivalent"),
        Verdict("judge", ["b"], target="turn:1/call:1", criterion="hallucinated"),
        Verdict("judge", ["c"], target="response", criterion="dialog_act"),
    ]
    verdict = find_judge_label_verdict(item)
    assert verdict is not None and verdict.value == ["c"]
