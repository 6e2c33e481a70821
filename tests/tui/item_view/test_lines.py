"""What the item screen says, as text: exact lines for typical items, and what must hold for any text."""

from __future__ import annotations

import pytest

from fcreview.matching.first_difference import build_argument_rows
from fcreview.model.item import AcceptedValues, Call, Extra, Message, RecordLocation, Verdict
from fcreview.model.review import Opinion
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.item_view.call_diff import GOLDEN_COLUMN_CELLS, changed_spans, pair_heading, window_around
from fcreview.tui.item_view.document import header_line
from fcreview.tui.text.lines import plain_text
from tests.tui.item_view.document_text import HOSTILE, WEATHER, detail, golden, item, predicted, text


def test_an_item_at_80_columns() -> None:
    assert text(detail(WEATHER)) == [
        "live_simple · gpt-4o · BFCL V4",
        "user    What's the weather in Hangzhou, China? Use celsius.",
        "── turn 1 · call 1 of 1 · get_weather ─────────────────────────────────────────",
        "  argument  golden                            predicted",
        '= unit      "celsius"                         "celsius"',
        '! location  "Hangzhou, China" or "Hangzhou"   "Hangzhou, CN"',
        "            none of 2 accepted values",
        "+ days      (none)                            3",
        "── official ✗  recomputed ✗ ───────────────────────────────────────────────────",
        "  value_error:string: 'hangzhoucn' is none of 'hangzhou'",
        "── judge gpt-4o ── ✗ ──────────────────────────────────────────────────────────",
        "  CN is not a city",
        "",
    ]


def test_at_160_columns_both_sides_stand_at_a_readable_distance() -> None:
    lines = text(detail(WEATHER), 160)
    assert lines[2] == "── turn 1 · call 1 of 1 · get_weather " + "─" * 121
    assert lines[3] == "  argument  golden" + " " * (GOLDEN_COLUMN_CELLS + 2 - len("golden")) + "predicted"
    assert lines[5].startswith('! location  "Hangzhou, China" or "Hangzhou"')
    assert lines[5].index('"Hangzhou, CN"') == lines[3].index("predicted")


def test_the_five_states_are_told_apart_without_colour() -> None:
    wanted = [golden("f", same=1, far="a", gone=2, left=AcceptedValues([5], optional=True))]
    given = [predicted("f", same=1, far="b", more=4)]
    of = item(wanted, given)
    of.pairs[0].diff[0].state = "~"  # as a benchmark's leniency would say of `far`
    shown = {line[2:6]: line for line in text(detail(of)) if line[:2] in ("= ", "~ ", "! ", "- ", "+ ")}
    assert {key: line[0] for key, line in shown.items()} == {
        "same": "=", "far ": "~", "gone": "-", "left": "=", "more": "+",
    }  # fmt: skip
    assert shown["gone"].endswith("(missing)")
    assert shown["left"].endswith("(optional, omitted)")
    assert "(none)" in shown["more"]


def test_columns_stand_below_each_other_with_wide_characters() -> None:
    of = item([golden("f", 城市="杭州市", a="x")], [predicted("f", 城市="杭州", a="y")])
    lines = text(detail(of))
    marks = {"  argument": "predicted", "! 城市": '"杭州"', "! a": '"y"'}
    rows = [(line, mark) for start, mark in marks.items() for line in lines if line.startswith(start)]
    assert len({display_width(line[: line.index(mark)]) for line, mark in rows}) == 1
    assert len(rows) == 3


def test_a_long_value_is_stacked_with_each_side_named_and_the_difference_in_the_window() -> None:
    long = "x" * 700 + " FROM "
    of = item([golden("query", sql=long + "a WHERE b")], [predicted("query", sql=long + "c WHERE b")])
    lines = text(detail(of))
    at = lines.index("! sql   first difference at character 708")
    assert lines[at + 1].startswith("    golden     …")
    side = next(n for n in range(at + 2, at + 5) if lines[n].startswith("    predicted  …"))
    assert "FROM a WHERE" in " ".join(lines[at + 1 : side])
    assert "FROM c WHERE" in " ".join(lines[side : side + 3])


def test_missing_and_extra_calls_say_so() -> None:
    of = item([golden("a", x=1), golden("b", 1, y=2)], [predicted("a", x=1)])
    lines = text(detail(of))
    assert lines[2] == "= turn 1 · call 1 of 2 · a(x=1)"
    assert "b · - missing ─" in lines[3]
    assert lines[5].split() == ["-", "y", "2", "(missing)"]
    extra = text(detail(item([], [predicted("c", z=1)])))
    assert any("c · + extra ─" in line for line in extra)


@pytest.mark.parametrize("cells", [30, 60, 80, 160])
def test_a_long_name_gives_way_to_what_is_said_of_its_call(cells: int) -> None:
    name = "transport.reservations.cancel_every_booking_of_this_traveller_within"
    [pair] = detail(item([golden(name, a=1)], [])).item.pairs
    shown = plain_text(pair_heading(pair, "call 1 of 1", cells))
    assert display_width(shown) == cells
    assert ("· - missing ─" in shown) == (cells > 30)
    assert "within" in shown or cells < 80
    also = plain_text(pair_heading(pair, "call 1 of 1", cells, ["already called in step 2"]))
    assert display_width(also) == cells and ("· already called in step 2 ─" in also) == (cells == 160)


def test_many_equal_arguments_are_one_line_and_unfold() -> None:
    values = {f"p{n}": n for n in range(12)}
    of = detail(item([golden("f", **values, q=1)], [predicted("f", **values, q=2)]))
    folded = text(of)
    assert "= 12 equal: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11" in folded
    assert not any(line.startswith("= p3 ") for line in folded)
    assert any(line.startswith("= p3 ") for line in text(of, folds={"turn:1/call:1/equal": False}))


def test_an_undecodable_prediction_shows_the_text_and_why() -> None:
    broken = Call("predicted", "", None, raw="I'd say:\nf(a=", decode_error="invalid syntax at character 4")
    lines = text(detail(item([golden("f", a=1)], [broken])))
    assert "! cannot be decoded: invalid syntax at character 4" in lines
    at = lines.index("    predicted  I'd say:")
    assert lines[at + 1] == "               f(a="


def test_official_and_rule_that_differ_are_both_told() -> None:
    of = item([golden("f")], [predicted("f")], official=False, rule=True, error_type="value_error:string")
    of.verdicts = [Verdict("official", False, error_type="value_error:string"), Verdict("rule", True)]
    lines = text(detail(of))
    assert "── official ✗  recomputed ✓  verdicts differ ─" in "".join(lines)
    assert "  official    value_error:string" in lines
    assert "  recomputed  pass" in lines


def test_a_reason_that_begins_with_its_error_type_says_it_once() -> None:
    of = item([golden("f")], [predicted("f")], official=False, error_type="stop_early")
    of.verdicts = [Verdict("official", False, error_type="stop_early", rationale="stop_early: Stop early.")]
    assert "  stop_early: Stop early." in text(detail(of))


def test_a_rule_that_was_not_computed_says_why() -> None:
    of = item([], [], official=True, rule_note="multi-turn verdicts are imported, not recomputed")
    assert "  no recomputed verdict: multi-turn verdicts are imported, not recomputed" in text(detail(of))


def test_hidden_verdicts_leave_no_trace() -> None:
    of = detail(WEATHER, opinions=[Opinion(annotator="bob", verdict=False, note="Bob's word")])
    of.item.extra.metadata["answers"] = "Hangzhou"
    shown = "\n".join(text(of, hide_verdicts=True))
    for word in ("official", "recomputed", "judge", "✗", "value_error", "Bob", "answers"):
        assert word not in shown
    assert "✗" not in plain_text(header_line(of, 2, 640, 80, hide_verdicts=True))
    del of.item.extra.metadata["answers"]


def test_extra_fields_come_last_with_a_line_each_and_their_size() -> None:
    of = item([golden("f", a=1)], [predicted("f", a=1)])
    of.extra = Extra(
        score_record=RecordLocation("s.json", 2), metadata={"config": {"deep": ["x" * 50] * 40}, "path": ["a.b"]}
    )
    lines = text(detail(of))
    assert lines[-4].startswith("── metadata ──")
    assert lines[-3].startswith('  config  {"deep": ["xxx')
    assert lines[-3].endswith("  2.2 KB, enter to open")
    assert lines[-2].rstrip() == '  path    ["a.b"]'
    assert "score_record" not in "\n".join(lines)
    assert all(display_width(line) <= 80 for line in lines)


@pytest.mark.parametrize("hidden", [False, True])
def test_where_an_answer_is_judged_golden_and_given_stand_together(hidden: bool) -> None:
    of = item([], [])
    of.extra = Extra(accepted_answers=["dark green", 7], final_answer="green \x1b[2J")
    lines = text(detail(of), hide_verdicts=hidden)
    at = next(n for n, line in enumerate(lines) if line.startswith("── final answer ──"))
    assert lines[at + 1 : at + 3] == ['golden  "dark green" or 7', "answer  green ␛[2J"]
    assert not any(line.startswith("── metadata") for line in lines)


def test_arguments_of_a_call_that_cannot_be_read_are_not_said_to_be_missing() -> None:
    broken = Call("predicted", "f", None, raw='[{"f": "{a: 1"', decode_error="not JSON")
    lines = text(detail(item([golden("f", a=1)], [broken])))
    assert any(line.startswith("- a ") and line.endswith("(not decoded)") for line in lines)
    assert "(missing)" not in "\n".join(lines)


def test_hostile_text_is_drawn_as_pictures_and_is_no_markup() -> None:
    of = item([golden(HOSTILE, **{HOSTILE: HOSTILE})], [predicted(HOSTILE, **{HOSTILE: HOSTILE + "!"})])
    of.id = of.category = of.error_type = HOSTILE
    official = Verdict("official", False, error_type=HOSTILE, rationale=HOSTILE)
    of.verdicts = [official, Verdict("judge", HOSTILE, by=HOSTILE)]
    of.extra.metadata = {HOSTILE: HOSTILE}
    of.messages = [Message(0, -1, "user", HOSTILE, HOSTILE), Message(0, 0, "assistant", HOSTILE)]
    shown = detail(
        of, opinions=[Opinion(annotator="alice", target=HOSTILE, verdict=HOSTILE, tags=[HOSTILE], note=HOSTILE)]
    )
    lines = [*text(shown, full_dialogue=True), plain_text(header_line(shown, 0, 1, 200))]
    assert all(line == sanitize(line) for line in lines)
    assert any("[bold]x[/bold]" in line for line in lines)


def test_the_changed_part_is_what_lies_between_what_agrees() -> None:
    assert changed_spans('"Hangzhou, China" or "Hangzhou"', '"Hangzhou, CN"') == [(12, 13)]
    assert changed_spans("[1, 2, 3]", "[1, 5, 3]") == [(4, 5)]
    assert changed_spans("same", "same") == [(4, 4)]
    window, cut = window_around("x" * 500 + "Y" + "z" * 500, 500, 60)
    assert "Y" in window and len(window) <= 60 and window[0] == window[-1] == "…"
    assert ("x" * 500 + "Y")[500] == window[500 - cut]


def test_rows_come_from_core() -> None:
    rows = build_argument_rows(WEATHER.golden[0], WEATHER.predicted[0], WEATHER.pairs[0].diff)
    assert [row.state for row in rows] == ["=", "!", "+"]
