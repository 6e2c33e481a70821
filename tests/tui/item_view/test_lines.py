"""Documents of typical and hostile items on the item screen, line by line."""

from __future__ import annotations

import pytest

from fcreview.matching.first_difference import build_argument_rows
from fcreview.model.item import AcceptedValues, Call, Extra, Message, RecordLocation, Verdict
from fcreview.model.review import Opinion
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.item_view.call_diff import (
    GOLDEN_COLUMN_CELLS,
    cut_text_around,
    find_changed_spans,
    pair_heading,
)
from fcreview.tui.item_view.document import header_line, mark_focused_header
from fcreview.tui.text.lines import plain_text
from tests.tui.item_view.document_text import (
    HOSTILE,
    WEATHER,
    document_lines,
    golden_call,
    make_detail,
    make_item,
    predicted_call,
)

PROSE = Call("predicted", "", arguments=None, raw="Sorry.", decode_error="prose, not calls")


def test_document_at_80_columns() -> None:
    assert document_lines(make_detail(WEATHER)) == [
        "live_simple · gpt-4o · BFCL V4",
        "user    What's the weather in Hangzhou, China? Use celsius.",
        "── turn 1 · call 1 of 1 · get_weather ─────────────────────────────────────────",
        "  argument  golden                            predicted",
        '= unit      "celsius"                         "celsius"',
        '≠ location  "Hangzhou, China" or "Hangzhou"   "Hangzhou, CN"',
        "            none of 2 accepted values",
        "+ days      (none)                            3",
        "── Why it fails ───────────────────────────────────────────────────────────────",
        "  'hangzhoucn' is none of 'hangzhou'   value_error:string",
        "  official    Invalid value",
        "── judge gpt-4o ── ✗ ──────────────────────────────────────────────────────────",
        "  CN is not a city",
        "",
    ]


def test_columns_stay_close_at_160_columns() -> None:
    lines = document_lines(make_detail(WEATHER), 160)
    assert lines[2] == "── turn 1 · call 1 of 1 · get_weather " + "─" * 121
    assert (
        lines[3]
        == "  argument  golden" + " " * (GOLDEN_COLUMN_CELLS + 2 - len("golden")) + "predicted"
    )
    assert lines[5].startswith('≠ location  "Hangzhou, China" or "Hangzhou"')
    assert lines[5].index('"Hangzhou, CN"') == lines[3].index("predicted")


def test_five_states_differ_without_colour() -> None:
    wanted = [golden_call("f", same=1, far="a", gone=2, left=AcceptedValues([5], optional=True))]
    given = [predicted_call("f", same=1, far="b", more=4)]
    item = make_item(wanted, given)
    item.pairs[0].diff[
        0
    ].state = "~"  # as for an argument that a benchmark accepts although it differs
    shown = {
        line[2:6]: line
        for line in document_lines(make_detail(item))
        if line[:2] in ("= ", "~ ", "≠ ", "∅ ", "+ ")
    }
    assert {key: line[0] for key, line in shown.items()} == {
        "same": "=",
        "far ": "~",
        "gone": "∅",
        "left": "=",
        "more": "+",
    }
    assert shown["gone"].endswith("(missing)")
    assert shown["left"].endswith("(optional, omitted)")
    assert "(none)" in shown["more"]


def test_accepted_omission_and_answer_without_call_are_no_errors() -> None:
    missing = make_item([golden_call("f", gone=2, left=AcceptedValues([5], optional=True))], [])
    lines = document_lines(make_detail(missing))
    assert any(line.startswith("∅ gone") for line in lines)
    assert any(line.startswith("= left") and line.endswith("(optional, omitted)") for line in lines)
    lines = document_lines(make_detail(make_item([], [PROSE])))
    assert "  no call: prose, not calls" in lines
    assert not any("extra" in line or "decoded" in line for line in lines)


@pytest.mark.parametrize(
    ("official", "recomputed", "hidden", "is_error"),
    [
        (True, True, False, False),
        (True, False, False, False),
        (False, True, False, True),
        (None, False, False, True),
        (False, False, True, False),
    ],
)
def test_answer_without_call_is_an_error_if_an_automatic_verdict_fails(
    official: bool | None, recomputed: bool, hidden: bool, is_error: bool
) -> None:
    detail = make_detail(make_item([], [PROSE], official=official, rule=recomputed))
    lines = document_lines(detail, hide_verdicts=hidden)
    assert any(line.startswith("── turn 1 · call 1 of 1 · answer ──") for line in lines)
    assert ("! predicted call cannot be decoded: prose, not calls" in lines) == is_error
    assert ("  no call: prose, not calls" in lines) == (not is_error)
    assert not any("extra" in line for line in lines)


def test_columns_are_aligned_with_wide_characters() -> None:
    item = make_item(
        [golden_call("f", 城市="杭州市", a="x")], [predicted_call("f", 城市="杭州", a="y")]
    )
    lines = document_lines(make_detail(item))
    marks = {"  argument": "predicted", "≠ 城市": '"杭州"', "≠ a": '"y"'}
    rows = [
        (line, mark) for start, mark in marks.items() for line in lines if line.startswith(start)
    ]
    assert len({display_width(line[: line.index(mark)]) for line, mark in rows}) == 1
    assert len(rows) == 3


def test_long_values_are_stacked_around_their_first_difference() -> None:
    long = "x" * 700 + " FROM "
    item = make_item(
        [golden_call("query", sql=long + "a WHERE b")],
        [predicted_call("query", sql=long + "c WHERE b")],
    )
    lines = document_lines(make_detail(item))
    at = lines.index("≠ sql   first difference at character 708")
    assert lines[at + 1].startswith("    golden     …")
    side = next(n for n in range(at + 2, at + 5) if lines[n].startswith("    predicted  …"))
    assert "FROM a WHERE" in " ".join(lines[at + 1 : side])
    assert "FROM c WHERE" in " ".join(lines[side : side + 3])


def test_missing_and_extra_calls_are_marked() -> None:
    item = make_item([golden_call("a", x=1), golden_call("b", 1, y=2)], [predicted_call("a", x=1)])
    lines = document_lines(make_detail(item))
    assert lines[2] == "= turn 1 · call 1 of 2 · a(x=1)"
    assert "b · ∅ missing ─" in lines[3]
    assert lines[5].split() == ["∅", "y", "2", "(missing)"]
    extra = document_lines(make_detail(make_item([], [predicted_call("c", z=1)])))
    assert any("c · + extra ─" in line for line in extra)


@pytest.mark.parametrize("cells", [30, 60, 80, 160])
def test_long_function_name_is_cut_before_the_facts_of_its_call(cells: int) -> None:
    name = "transport.reservations.cancel_every_booking_of_this_traveller_within"
    [pair] = make_detail(make_item([golden_call(name, a=1)], [])).item.pairs
    shown = plain_text(pair_heading(pair, "call 1 of 1", cells))
    assert display_width(shown) == cells
    assert ("· ∅ missing ─" in shown) == (cells > 30)
    assert "within" in shown or cells < 80
    also = plain_text(pair_heading(pair, "call 1 of 1", cells, ["already called in step 2"]))
    assert display_width(also) == cells and ("· already called in step 2 ─" in also) == (
        cells == 160
    )


def test_equal_arguments_are_folded_if_there_are_many() -> None:
    values = {f"p{n}": n for n in range(12)}
    detail = make_detail(
        make_item([golden_call("f", **values, q=1)], [predicted_call("f", **values, q=2)])
    )
    folded = document_lines(detail)
    assert "= 12 equal: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11" in folded
    assert not any(line.startswith("= p3 ") for line in folded)
    assert any(
        line.startswith("= p3 ")
        for line in document_lines(detail, folds={"turn:1/call:1/equal": False})
    )


def test_undecodable_prediction_shows_text_and_error() -> None:
    broken = Call(
        "predicted",
        "",
        arguments=None,
        raw="I'd say:\nf(a=",
        decode_error="invalid syntax at character 4",
    )
    lines = document_lines(make_detail(make_item([golden_call("f", a=1)], [broken])))
    assert "! predicted call cannot be decoded: invalid syntax at character 4" in lines
    at = lines.index("    predicted  I'd say:")
    assert lines[at + 1] == "               f(a="


def test_differing_official_and_recomputed_verdicts_are_both_shown() -> None:
    item = make_item(
        [golden_call("f")],
        [predicted_call("f")],
        official=False,
        rule=True,
        error_type="value_error:string",
    )
    item.verdicts = [
        Verdict("official", False, error_type="value_error:string"),
        Verdict("rule", True),
    ]
    lines = document_lines(make_detail(item))
    at = next(
        at
        for at, line in enumerate(lines)
        if line.startswith("── Official and recomputed verdicts differ ─")
    )
    assert lines[at + 1] == "  recomputed ✓  pass"
    assert lines[at + 2] == "  official ✗    string is not an accepted value   value_error:string"


def test_error_type_is_not_repeated_before_its_reason() -> None:
    item = make_item(
        [golden_call("f")], [predicted_call("f")], official=False, error_type="stop_early"
    )
    item.verdicts = [
        Verdict("official", False, error_type="stop_early", rationale="stop_early: Stop early.")
    ]
    assert "  Stop early.   stop_early" in document_lines(make_detail(item))


def test_missing_recomputed_verdict_has_its_reason() -> None:
    item = make_item(
        [], [], official=True, rule_note="multi-turn verdicts are imported, not recomputed"
    )
    assert (
        "  no recomputed verdict: multi-turn verdicts are imported, not recomputed"
        in document_lines(make_detail(item))
    )


def test_hidden_verdicts_leave_no_trace() -> None:
    detail = make_detail(
        WEATHER, opinions=[Opinion(annotator="bob", verdict=False, note="Bob's word")]
    )
    detail.item.extra.metadata["answers"] = "Hangzhou"
    shown = "\n".join(document_lines(detail, hide_verdicts=True))
    for word in ("official", "recomputed", "judge", "✗", "value_error", "Bob", "answers"):
        assert word not in shown
    assert "✗" not in plain_text(header_line(detail, 2, 640, 80, hide_verdicts=True))
    del detail.item.extra.metadata["answers"]


def test_metadata_is_last_with_one_line_a_field_and_sizes() -> None:
    item = make_item([golden_call("f", a=1)], [predicted_call("f", a=1)])
    item.extra = Extra(
        score_record=RecordLocation("s.json", 2),
        metadata={"config": {"deep": ["x" * 50] * 40}, "path": ["a.b"]},
    )
    lines = document_lines(make_detail(item))
    assert lines[-4].startswith("── metadata ──")
    assert lines[-3].startswith('  config  {"deep": ["xxx')
    assert lines[-3].endswith("  2.2 KB, enter to open")
    assert lines[-2].rstrip() == '  path    ["a.b"]'
    assert "score_record" not in "\n".join(lines)
    assert all(display_width(line) <= 80 for line in lines)


@pytest.mark.parametrize("hidden", [False, True])
def test_final_answer_is_shown_below_accepted_answers(hidden: bool) -> None:
    item = make_item([], [])
    item.extra = Extra(accepted_answers=["dark green", 7], final_answer="green \x1b[2J")
    lines = document_lines(make_detail(item), hide_verdicts=hidden)
    at = next(n for n, line in enumerate(lines) if line.startswith("── final answer ──"))
    assert lines[at + 1 : at + 3] == ['golden  "dark green" or 7', "answer  green ␛[2J"]
    assert not any(line.startswith("── metadata") for line in lines)


def test_arguments_of_undecodable_call_are_not_called_missing() -> None:
    broken = Call("predicted", "f", arguments=None, raw='[{"f": "{a: 1"', decode_error="not JSON")
    lines = document_lines(make_detail(make_item([golden_call("f", a=1)], [broken])))
    assert any(line.startswith("∅ a ") and line.endswith("(not decoded)") for line in lines)
    assert "(missing)" not in "\n".join(lines)


def test_hostile_text_is_sanitized_and_no_markup() -> None:
    item = make_item(
        [golden_call(HOSTILE, **{HOSTILE: HOSTILE})],
        [predicted_call(HOSTILE, **{HOSTILE: HOSTILE + "!"})],
    )
    item.id = item.category = item.error_type = HOSTILE
    official = Verdict("official", False, error_type=HOSTILE, rationale=HOSTILE)
    item.verdicts = [official, Verdict("judge", HOSTILE, by=HOSTILE)]
    item.extra.metadata = {HOSTILE: HOSTILE}
    item.messages = [
        Message(0, -1, role="user", content=HOSTILE, name=HOSTILE),
        Message(0, 0, role="assistant", content=HOSTILE),
    ]
    shown = make_detail(
        item,
        opinions=[
            Opinion(
                annotator="alice", target=HOSTILE, verdict=HOSTILE, tags=[HOSTILE], note=HOSTILE
            )
        ],
    )
    lines = [*document_lines(shown, full_dialogue=True), plain_text(header_line(shown, 0, 1, 200))]
    assert all(line == sanitize(line) for line in lines)
    assert any("[bold]x[/bold]" in line for line in lines)


def test_changed_span_excludes_common_start_and_end() -> None:
    assert find_changed_spans('"Hangzhou, China" or "Hangzhou"', '"Hangzhou, CN"') == [(12, 13)]
    assert find_changed_spans("[1, 2, 3]", "[1, 5, 3]") == [(4, 5)]
    assert find_changed_spans("same", "same") == [(4, 4)]
    window, cut = cut_text_around("x" * 500 + "Y" + "z" * 500, 500, 60)
    assert "Y" in window and len(window) <= 60 and window[0] == window[-1] == "…"
    assert ("x" * 500 + "Y")[500] == window[500 - cut]


def test_a_text_of_wide_characters_is_cut_around_the_position() -> None:
    window, cut = cut_text_around("東" * 50 + "Y" + "京" * 50, 50, 80)
    assert window[50 - cut] == "Y" and display_width(window) <= 80


def test_argument_rows_have_their_states() -> None:
    rows = build_argument_rows(WEATHER.golden[0], WEATHER.predicted[0], WEATHER.pairs[0].diff)
    assert [row.state for row in rows] == ["=", "!", "+"]


def test_empty_header_of_a_pane_without_a_size_is_not_marked() -> None:
    assert mark_focused_header(()) == ()
