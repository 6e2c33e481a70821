"""The available functions: signatures, which calls use them, and their docs."""

from __future__ import annotations

from typing import Any

from fcreview.matching.align import align_turns
from fcreview.model.item import Item, Message
from fcreview.tui.item_view.blocks import IndexedItem
from fcreview.tui.item_view.function_docs import footer_lines, function_lines
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.text.lines import plain_text
from fcreview.tui.text.theme import symbols
from tests.tui.item_view.document_text import detail, golden, item, predicted, text


def function(name: str, *required: str, **optional: Any) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in required} | optional
    return {
        "name": name,
        "description": f"It does {name}.",
        "parameters": {"properties": properties, "required": [*required]},
    }


CITY = {"type": "string", "enum": ["Rome", "Oslo"], "default": "Rome", "description": "Where it is."}
OFFERED = [function("maps.find", "query"), function("get_weather", "day", city=CITY), function("ls")]


def offered(*made: str, wanted: str = "get_weather", **fields: Any) -> Item:
    calls = [predicted(name, at, day="today", city="Bonn") for at, name in enumerate(made)]
    return item([golden(wanted, day="today", city="Rome")], calls, functions=OFFERED, **fields)


def offer(lines: list[str]) -> list[str]:
    at = next(n for n, line in enumerate(lines) if "available functions ·" in line)
    return [line for line in lines[at:] if line]


def test_all_functions_stand_there_with_their_parameters_and_whose_they_are() -> None:
    lines = offer(text(detail(offered("maps_find"))))
    assert lines[0].startswith("── 3 available functions · name(required, [optional])")
    assert lines[1:] == ["+ maps.find(query)  predicted", "- get_weather(day, [city])  golden", "  ls()"]
    assert offer(text(detail(offered("get_weather"))))[1] == "= get_weather(day, [city])  golden, predicted"


def test_a_function_that_is_not_on_offer_is_named_with_the_nearest() -> None:
    lines = offer(text(detail(offered("get_wether"))))
    assert "! get_wether  predicted but not available (closest: get_weather)" in lines


def test_they_are_there_where_nothing_was_called() -> None:
    of = Item("special_irrelevant_6", "special", functions=OFFERED)
    of.messages = [Message(0, -1, "user", "Hedge."), Message(0, 0, "assistant", "I cannot.")]
    lines = offer(text(detail(of)))
    assert lines[1:] == ["  maps.find(query)", "  get_weather(day, [city])", "  ls()"]
    cursor = Cursor(detail(of), "alice")
    every = cursor.show_next_docs()
    assert every is not None and every.key == "offer"
    assert [b.key for b in cursor.blocks if b.key.endswith("/document")] == [f"offer/{n}/document" for n in range(3)]


def test_of_many_only_those_called_have_a_line_until_they_are_unfolded() -> None:
    of = offered("get_weather")
    of.functions = [*OFFERED, *(function(f"f{n}", "a") for n in range(20))]
    lines = offer(text(detail(of)))
    assert lines[1] == "= get_weather(day, [city])  golden, predicted"
    assert lines[2].startswith("  and 22 more: maps.find, ls, f0, f1")
    assert "  f7(a)" in offer(text(detail(of), folds={"offer/others": False}))


def shown(cursor: Cursor) -> str:
    blocks = [block for block in cursor.blocks if block.key.endswith("/document")]
    return " ".join(plain_text(block.lines(79)[0]).split("of ")[1].rstrip("─ ") for block in blocks)


def test_documents_follow_each_other_and_stay_on_from_item_to_item() -> None:
    cursor = Cursor(detail(offered("ls")), "alice")
    seen = []
    for _ in range(4):
        cursor.show_next_docs()
        seen.append(shown(cursor))
    assert seen == ["get_weather", "ls", "get_weather ls maps.find", ""]
    cursor.show_next_docs()
    cursor.show_next_docs()
    cursor.show_item(detail(offered("maps_find")))
    assert shown(cursor) == "maps_find", "predicted's again"


def test_the_document_of_a_turn_is_that_of_its_own_function() -> None:
    made = Item("multi_turn_base_18", "multi", n_turns=3, functions=[function("cat"), function("diff"), function("cp")])
    for turn, name in enumerate(("cp", "cat", "diff")):
        made.messages += [Message(turn, -1, "user", "Go on. " * 9), Message(turn, 0, "tool", "ok")]
        made.messages += [Message(turn, step, "assistant", "Well.") for step in (1, 2, 3)]
        made.golden.append(golden(name, 0, turn))
    made.pairs = align_turns(made.golden, [])
    made.extra.failing_turn = 2
    cursor = Cursor(detail(made), "alice")
    assert cursor.block.key == "turn:3"
    assert cursor.move_to_turn(-1) and cursor.block.folded
    about = cursor.show_next_docs()
    assert about is not None and about.key == "turn:2/call:1/document"
    assert shown(cursor) == "cat"


def test_the_parameter_under_the_cursor_is_told_at_the_foot() -> None:
    of = offered("get_weather")

    def lines_of(key: str, free: int = 4) -> list[str]:
        return [plain_text(line).rstrip("─ ") for line in footer_lines(IndexedItem(of), key, 79, free)]

    lines = lines_of("turn:1/call:1/arg:city")
    assert lines == [
        "── city · string, optional",
        '  enum: ["Rome", "Oslo"] · default: "Rome"',
        "  Where it is.",
    ]
    assert lines_of("turn:1/call:1/arg:day")[0].startswith("── day · string, required")
    assert "not a parameter of get_weather" in lines_of("turn:1/call:1/arg:days")[0]
    assert lines_of("turn:1") == lines_of("turn:1/call:1") == []


def test_where_all_of_the_document_fits_it_stands_at_the_foot() -> None:
    of = IndexedItem(offered("get_weather"))
    whole = [plain_text(line).rstrip("─ ") for line in footer_lines(of, "turn:1/call:1/arg:city", 79, 12)]
    assert whole[0] == "── docs of get_weather" and f"  {symbols().arrow} city  string" in whole
    assert next(plain_text(line) for line in footer_lines(of, "turn:1/call:1", 79, 12)).startswith("── docs")
    assert footer_lines(of, "turn:1", 79, 12) == []
    fits = len(whole) + 1
    assert len(footer_lines(of, "turn:1/call:1/arg:city", 79, fits - 1)) < len(whole)
    assert footer_lines(of, "turn:1/call:1", 79, fits - 1) == []


def test_of_very_many_parameters_the_first_and_the_one_under_the_cursor_are_shown() -> None:
    document = function("f", **{f"p{n}": {"type": "string"} for n in range(5000)})
    lines = [plain_text(each) for each in function_lines("f", document, "p4321", 60)]
    assert len(lines) < 220 and f"  {symbols().arrow} p4321  string" in lines
    assert lines[-1].strip() == f"{symbols().ellipsis} 4,799 more parameters"
