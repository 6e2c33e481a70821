"""What the item screen says, as text: exact lines for typical items, and what must hold for any text."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.calls.align import align, align_turns
from fcreview.calls.table import argument_rows
from fcreview.model import Accept, Call, Item, Message, Run, Verdict
from fcreview.review import ItemKey
from fcreview.sanitise import visible, width
from fcreview.store.rows import ItemDetail, Opinion, QueueRow
from fcreview.tui.document.blocks import Options
from fcreview.tui.document.calls import around, changed
from fcreview.tui.document.document import document, find, first_difference, opening, stops_of, target_at
from fcreview.tui.document.header import header_line, key_line, status_line
from fcreview.tui.document.scene import words
from fcreview.tui.text.lines import fold_text, plain, wrap, wrap_text

HOSTILE = "\x1b[31mred\x1b]52;c;AAAA\x07 \u202eabc\u200b [bold]x[/bold] \x9b2J"


def golden(name: str, index: int = 0, turn: int = 0, **arguments: Any) -> Call:
    accepted = {key: value if isinstance(value, Accept) else Accept([value]) for key, value in arguments.items()}
    return Call("golden", name, accepted, turn, 0, index)


def predicted(name: str, index: int = 0, turn: int = 0, step: int = 0, **arguments: Any) -> Call:
    return Call("predicted", name, arguments, turn, step, index)


def item(wanted: list[Call], given: list[Call], **fields: Any) -> Item:
    fields.setdefault("messages", [Message(0, -1, "user", "What's the weather in Hangzhou, China? Use celsius.")])
    return Item(
        "live_simple_3-2-1", "live_simple", golden=wanted, predicted=given, pairs=align(wanted, given), **fields
    )


def detail(of: Item, **fields: Any) -> ItemDetail:
    row = QueueRow(
        1, 1, 0, of.id, of.category, "gpt-4o", of.official, of.rule, of.judge, None, None, None, of.error_type,
        of.rule_error_type, None, "", len(of.golden), len(of.predicted), len(of.issues),
    )  # fmt: skip
    key = ItemKey(benchmark="BFCL", generation="V4", language="en", model="gpt-4o", category=of.category, id=of.id)
    return ItemDetail(row, key, Run("BFCL", "V4", "en", "gpt-4o", "runs"), of, **fields)


def text(of: ItemDetail, cells: int = 80, **options: Any) -> list[str]:
    blocks = document(of, "alice", Options(**options))
    return [plain(line).rstrip() for block in blocks for line in block.lines(cells - 1)]


WEATHER = item(
    [golden("get_weather", unit="celsius", location=Accept(["Hangzhou, China", "Hangzhou"]))],
    [predicted("get_weather", unit="celsius", location="Hangzhou, CN", days=3)],
    official=False,
    rule=False,
    error_type="value_error:string",
    rule_error_type="value_error:string",
    verdicts=[
        Verdict("official", False, error_type="value_error:string", rationale="Invalid value"),
        Verdict("rule", False, error_type="value_error:string", rationale="'hangzhoucn' is none of 'hangzhou'"),
        Verdict("judge", False, by="gpt-4o", rationale="CN is not a city"),
    ],
)


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
        "── checker ── official ✗  rule ✗ ──────────────────────────────────────────────",
        "  value_error:string: 'hangzhoucn' is none of 'hangzhou'",
        "── judge gpt-4o ── ✗ ──────────────────────────────────────────────────────────",
        "  CN is not a city",
        "",
    ]


def test_an_item_at_160_columns_gives_both_sides_half_of_the_room() -> None:
    lines = text(detail(WEATHER), 160)
    assert lines[2] == "── turn 1 · call 1 of 1 · get_weather " + "─" * 121
    assert lines[3] == "  argument  golden" + " " * 68 + "predicted"
    assert lines[5].startswith('! location  "Hangzhou, China" or "Hangzhou"')
    assert lines[5].index('"Hangzhou, CN"') == lines[3].index("predicted")


def test_the_five_states_are_told_apart_without_colour() -> None:
    wanted = [golden("f", same=1, far="a", gone=2, left=Accept([5], optional=True))]
    given = [predicted("f", same=1, far="b", more=4)]
    of = item(wanted, given)
    of.pairs[0].diff[0].state = "~"  # as a benchmark's leniency would say of `far`
    shown = {line[2:6]: line for line in text(detail(of)) if line[:2] in ("= ", "~ ", "! ", "- ", "+ ")}
    assert {key: line[0] for key, line in shown.items()} == {
        "same": "=", "far ": "~", "gone": "-", "left": "=", "more": "+",
    }  # fmt: skip
    assert shown["gone"].endswith("(missing)")
    assert shown["left"].endswith("(optional, left out)")
    assert "(none)" in shown["more"]


def test_columns_stand_below_each_other_with_wide_characters() -> None:
    of = item([golden("f", 城市="杭州市", a="x")], [predicted("f", 城市="杭州", a="y")])
    lines = text(detail(of))
    marks = {"  argument": "predicted", "! 城市": '"杭州"', "! a": '"y"'}
    rows = [(line, mark) for start, mark in marks.items() for line in lines if line.startswith(start)]
    assert len({width(line[: line.index(mark)]) for line, mark in rows}) == 1
    assert len(rows) == 3


def test_a_long_value_is_stacked_with_each_side_named_and_the_difference_in_the_window() -> None:
    long = "x" * 700 + " FROM "
    of = item([golden("query", sql=long + "a WHERE b")], [predicted("query", sql=long + "c WHERE b")])
    lines = text(detail(of))
    at = lines.index("! sql   differs from character 708 on")
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
    assert "── checker ── official ✗  rule ✓  they differ ─" in "".join(lines)
    assert "  official  value_error:string" in lines
    assert "  rule      passes" in lines


def test_a_rule_that_was_not_computed_says_why() -> None:
    of = item([], [], official=True, rule_note="multi-turn verdicts are imported, not recomputed")
    assert "  rule: multi-turn verdicts are imported, not recomputed" in text(detail(of))


def test_hidden_verdicts_leave_no_trace() -> None:
    of = detail(WEATHER, opinions=[Opinion("bob", "item", "correct", False, note="Bob's word")])
    of.item.extra["answers"] = "Hangzhou"
    shown = "\n".join(text(of, hidden=True))
    for word in ("checker", "judge", "✗", "value_error", "Bob", "answers"):
        assert word not in shown
    assert "✗" not in plain(header_line(of, 2, 640, 80, hidden=True))
    del of.item.extra["answers"]


def turns() -> Item:
    """Three turns; the second fails: another destination, a long observation."""
    made = Item("multi_turn_base_0", "multi_turn_base", n_turns=3, n_steps=6, official=False)
    for turn in range(3):
        made.messages += [
            Message(turn, -1, "user", f"Move the file, please. ({turn})"),
            Message(turn, 0, "tool", '{"moved": true}', "mv"),
            Message(turn, 0, "log", "decoded"),
            Message(turn, 1, "assistant", "Done." if turn != 1 else "All moved. " * 400),
            Message(turn, 1, "state", '{"root": {}}', "FileSystem"),
        ]
        made.golden.append(golden("mv", 0, turn, source="a", to="b"))
        made.predicted.append(predicted("mv", 0, turn, source="a", to="b" if turn != 1 else "c"))
    made.pairs = align_turns(made.golden, made.predicted)
    made.extra["failing_turn"] = 1
    return made


def test_the_failing_turn_is_open_and_marked_and_the_others_are_folded() -> None:
    lines = text(detail(turns()))
    headings = [line for line in lines if line.startswith("── turn") and "calls:" in line]
    assert [" · folded" in line for line in headings] == [True, False, True]
    assert ["FAILS HERE" in line for line in headings] == [False, True, False]
    assert lines.count("user    Move the file, please. (0)") == 1
    assert '! to        "b"                               "c"' in lines
    assert 'step 1  mv(source="a", to="c")' in lines
    assert '   got  {"moved": true}' in lines
    assert "        … 4.4 KB, enter to open" in lines
    assert 'state   FileSystem {"root": {}}' in " ".join(lines)
    assert not any(line.startswith("log") for line in lines)


def test_a_note_of_the_runner_is_shown_where_it_tells_why_a_turn_ended() -> None:
    of = turns()
    of.extra["failing_turn"] = 1
    of.messages = [m for m in of.messages if m.turn != 1 or m.step < 1]
    of.messages.append(Message(1, 0, "log", "Forced to quit after 20 steps."))
    assert "log     Forced to quit after 20 steps." in text(detail(of))
    of.messages.append(Message(1, 1, "assistant", "I give up."))
    of.messages.append(Message(1, 1, "log", "not a call"))
    assert not [line for line in text(detail(of)) if line.startswith("log")]


def test_extra_fields_come_last_with_a_line_each_and_their_size() -> None:
    of = item([golden("f", a=1)], [predicted("f", a=1)])
    of.extra = {"score_record": {"file": "s.json", "line": 2}, "config": {"deep": ["x" * 50] * 40}, "path": ["a.b"]}
    lines = text(detail(of))
    assert lines[-4].startswith("── more ──")
    assert lines[-3].startswith('  config  {"deep": ["xxx')
    assert lines[-3].endswith("  2.2 KB, enter opens it")
    assert lines[-2].rstrip() == '  path    ["a.b"]'
    assert "score_record" not in "\n".join(lines)
    assert all(width(line) <= 80 for line in lines)


@pytest.mark.parametrize("hidden", [False, True])
def test_where_an_answer_is_judged_golden_and_given_stand_together(hidden: bool) -> None:
    of = item([], [])
    of.extra = {"accepted_answers": ["dark green", 7], "final_answer": "green \x1b[2J"}
    lines = text(detail(of), hidden=hidden)
    at = next(n for n, line in enumerate(lines) if line.startswith("── final answer ──"))
    assert lines[at + 1 : at + 3] == ['golden  "dark green" or 7', "given   green ␛[2J"]
    assert not any(line.startswith("── more") for line in lines)


def test_arguments_of_a_call_that_cannot_be_read_are_not_said_to_be_missing() -> None:
    broken = Call("predicted", "f", None, raw='[{"f": "{a: 1"', decode_error="not JSON")
    lines = text(detail(item([golden("f", a=1)], [broken])))
    assert any(line.startswith("- a ") and line.endswith("(not decoded)") for line in lines)
    assert "(missing)" not in "\n".join(lines)


def test_the_cursor_starts_where_the_item_fails_and_stops_at_targets() -> None:
    blocks = document(detail(turns()), "alice", Options())
    assert blocks[opening(blocks)].key == "turn:2"
    stops = [blocks[at].key for at in stops_of(blocks, arguments=False)]
    said = ["turn:2/step:2/assistant:0", "turn:2/step:2/state:1"]
    assert stops == ["turn:1", "turn:2", "turn:2/call:1", *said, "turn:3"]
    at = first_difference(blocks)
    assert at is not None and blocks[at].target == "turn:2/call:1/arg:to"
    assert target_at(blocks, stops_of(blocks, arguments=False)[3]) == "turn:2"


def test_the_state_that_differs_is_shown_in_the_failing_turn_with_both_sides_named() -> None:
    of = turns()
    of.extra["state_differences"] = {"root": {"model": "<Directory: c>", "ground_truth": "<Directory: b>"}}
    lines = text(detail(of))
    at = next(n for n, line in enumerate(lines) if line.startswith("── turn 2 · state after the turn"))
    assert lines[at + 1].split() == ["field", "golden", "predicted"]
    assert lines[at + 2].split("  ")[0] == "! root"
    assert lines[at + 2].index("<Directory: b>") == lines[at + 1].index("golden")
    assert lines[at + 2].index("<Directory: c>") == lines[at + 1].index("predicted")
    assert not any("state_differences" in line for line in lines)


def test_search_finds_what_is_folded_away() -> None:
    opened = document(detail(turns()), "alice", Options(open_all=True))
    keys = {hit.key for hit in find(opened, "PLEASE. (2)", 79)}
    assert keys == {"turn:3/opening:0"}


def test_hostile_text_is_drawn_as_pictures_and_is_no_markup() -> None:
    of = item([golden(HOSTILE, **{HOSTILE: HOSTILE})], [predicted(HOSTILE, **{HOSTILE: HOSTILE + "!"})])
    of.id = of.category = of.error_type = HOSTILE
    official = Verdict("official", False, error_type=HOSTILE, rationale=HOSTILE)
    of.verdicts = [official, Verdict("judge", HOSTILE, by=HOSTILE)]
    of.extra = {HOSTILE: HOSTILE}
    of.messages = [Message(0, -1, "user", HOSTILE, HOSTILE), Message(0, 0, "assistant", HOSTILE)]
    shown = detail(of, opinions=[Opinion("alice", HOSTILE, "correct", HOSTILE, tags=[HOSTILE], note=HOSTILE)])
    lines = [*text(shown, dialogue=True), plain(header_line(shown, 0, 1, 200))]
    assert all(line == visible(line) for line in lines)
    assert any("[bold]x[/bold]" in line for line in lines)


def test_the_header_keeps_its_marks_with_little_room() -> None:
    of = detail(WEATHER)
    of.row.id = "live_multiple_1045-273-0-with-a-long-tail"
    of.row.error_type = "parallel_function_checker_no_order:cannot_find_match"
    line = plain(header_line(of, 1044, 14850, 80))
    assert width(line) <= 80
    for mark in ("official ✗", "rule ✗", "you ·", "1,045/14,850", "live_m", "long-tail"):
        assert mark in line
    assert line.endswith("_match")


@pytest.mark.parametrize("cells", [60, 80, 100, 120, 160])
@pytest.mark.parametrize("kind", ["value_error:string", "parallel_function_checker_no_order:cannot_find_match"])
def test_the_header_keeps_a_usual_id_and_the_last_part_of_the_error_type(cells: int, kind: str) -> None:
    of = detail(WEATHER)
    of.row.id, of.row.error_type = "simple_python_17", kind
    line = plain(header_line(of, 3, 640, cells))
    assert width(line) <= cells
    assert line.startswith(" simple_python_17 ") and "4/640" in line and "you ·" in line
    if cells >= 80:
        assert line.endswith(":" + kind.rpartition(":")[2])


def test_a_judge_that_said_nothing_gives_way_to_the_error_type() -> None:
    of = detail(WEATHER)
    of.row.error_type, of.row.judge = "multi_turn:empty_turn_model_response", None
    assert "judge ✗" in plain(
        header_line(dataclasses.replace(of, row=dataclasses.replace(of.row, judge=False)), 0, 9, 80)
    )
    of.item.verdicts = [verdict for verdict in of.item.verdicts if verdict.source != "judge"]
    assert "judge" not in plain(header_line(of, 0, 9, 80))
    assert "judge ·" in plain(header_line(of, 0, 9, 160))


def test_status_and_keys_fit_80_columns_and_name_the_target() -> None:
    status = plain(status_line(("saved: fail · " + "x" * 90, "good"), "turn:2/call:1", 40, False, 80))
    assert width(status) == 80 and status.endswith("verdict on: turn 2 call 1 ·  40 % ")
    keys = key_line([("p", "pass"), *[(str(n), "something long") for n in range(9)], ("?", "help")], 80)
    assert width(plain(keys)) <= 80 and plain(keys).endswith("? help")


def test_addresses_in_words() -> None:
    assert words("turn:2/call:1/arg:a/b:c") == "turn 2 call 1 a/b:c"
    assert words("item") == "item"


@pytest.mark.parametrize("cells", [1, 2, 7, 80])
@given(text=st.text())
def test_wrapped_rows_are_the_text_and_fit(cells: int, text: str) -> None:
    shown = visible(text)
    rows = wrap(shown, cells)
    assert "".join(rows) == shown
    assert all(width(row) <= max(cells, 2) for row in rows)
    assert wrap(shown, cells, 2) == rows[:2]


def test_folding_a_huge_text_looks_at_its_head_only() -> None:
    class Counted(str):
        def __getitem__(self, key: Any) -> str:
            assert isinstance(key, slice) and (key.stop or 0) < 2000
            return str.__getitem__(self, key)

    rows, more = fold_text(Counted("x" * 300_000), 60, 4)
    assert len(rows) == 4 and more
    assert wrap_text("a\nb\r\n\x85c", 10) == ["a", "b␍", "‹U+0085›c"]


def test_the_changed_part_is_what_lies_between_what_agrees() -> None:
    assert changed('"Hangzhou, China" or "Hangzhou"', '"Hangzhou, CN"') == (12, 13)
    assert changed("[1, 2, 3]", "[1, 5, 3]") == (4, 5)
    assert changed("same", "same") == (4, 4)
    window, cut = around("x" * 500 + "Y" + "z" * 500, 500, 60)
    assert "Y" in window and len(window) <= 60 and window[0] == window[-1] == "…"
    assert ("x" * 500 + "Y")[500] == window[500 - cut]


def test_rows_come_from_core() -> None:
    rows = argument_rows(WEATHER.golden[0], WEATHER.predicted[0], WEATHER.pairs[0].diff)
    assert [row.state for row in rows] == ["=", "!", "+"]
