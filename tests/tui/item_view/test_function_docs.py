"""The item shows the available functions, which calls use them, and their docs."""

from __future__ import annotations

from typing import Any

from fcreview.matching.align import align_calls_by_turn
from fcreview.model.item import Item, Message
from fcreview.tui.item_view.blocks import IndexedItem
from fcreview.tui.item_view.cursor import Cursor
from fcreview.tui.item_view.function_docs import docs_footer_lines, function_docs_lines
from fcreview.tui.text.lines import plain_text
from fcreview.tui.text.styles import symbols
from tests.tui.item_view.document_text import (
    document_lines,
    golden_call,
    make_detail,
    make_item,
    predicted_call,
)


def function_doc(name: str, *required: str, **optional: Any) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in required} | optional
    return {
        "name": name,
        "description": f"It does {name}.",
        "parameters": {"properties": properties, "required": [*required]},
    }


CITY = {
    "type": "string",
    "enum": ["Rome", "Oslo"],
    "default": "Rome",
    "description": "Where it is.",
}
FUNCTIONS = [
    function_doc("maps.find", "query"),
    function_doc("get_weather", "day", city=CITY),
    function_doc("ls"),
]


def item_calling(*names: str, golden_name: str = "get_weather", **fields: Any) -> Item:
    calls = [predicted_call(name, at, day="today", city="Bonn") for at, name in enumerate(names)]
    return make_item(
        [golden_call(golden_name, day="today", city="Rome")], calls, functions=FUNCTIONS, **fields
    )


def available_lines(lines: list[str]) -> list[str]:
    at = next(n for n, line in enumerate(lines) if "available functions ·" in line)
    return [line for line in lines[at:] if line]


def test_all_functions_are_listed_with_parameters_and_users() -> None:
    lines = available_lines(document_lines(make_detail(item_calling("maps_find"))))
    assert lines[0].startswith("── 3 available functions · name(required, [optional])")
    assert lines[1:] == [
        "+ maps.find(query)  predicted",
        "∅ get_weather(day, [city])  golden",
        "  ls()",
    ]
    assert (
        available_lines(document_lines(make_detail(item_calling("get_weather"))))[1]
        == "= get_weather(day, [city])  golden, predicted"
    )


def test_unavailable_function_is_listed_with_closest_name() -> None:
    lines = available_lines(document_lines(make_detail(item_calling("get_wether"))))
    assert "! get_wether  predicted but not available (closest: get_weather)" in lines


def test_functions_are_listed_without_calls() -> None:
    item = Item("special_irrelevant_6", "special", functions=FUNCTIONS)
    item.messages = [
        Message(0, -1, role="user", content="Hedge."),
        Message(0, 0, role="assistant", content="I cannot."),
    ]
    lines = available_lines(document_lines(make_detail(item)))
    assert lines[1:] == ["  maps.find(query)", "  get_weather(day, [city])", "  ls()"]
    cursor = Cursor(make_detail(item), "alice")
    every = cursor.show_next_docs()
    assert every is not None and every.key == "offer"
    assert [b.key for b in cursor.blocks if b.key.endswith("/document")] == [
        f"offer/{n}/document" for n in range(3)
    ]


def test_unused_functions_are_folded_if_there_are_many() -> None:
    item = item_calling("get_weather")
    item.functions = [*FUNCTIONS, *(function_doc(f"f{n}", "a") for n in range(20))]
    lines = available_lines(document_lines(make_detail(item)))
    assert lines[1] == "= get_weather(day, [city])  golden, predicted"
    assert lines[2].startswith("  22 more functions: maps.find, ls, f0, f1")
    assert "  f7(a)" in available_lines(
        document_lines(make_detail(item), folds={"offer/others": False})
    )


def shown_docs(cursor: Cursor) -> str:
    blocks = [block for block in cursor.blocks if block.key.endswith("/document")]
    return " ".join(plain_text(block.lines(79)[0]).split("of ")[1].rstrip("─ ") for block in blocks)


def test_docs_keys_cycle_and_choice_stays_for_next_item() -> None:
    cursor = Cursor(make_detail(item_calling("ls")), "alice")
    seen = []
    for _ in range(4):
        cursor.show_next_docs()
        seen.append(shown_docs(cursor))
    assert seen == ["get_weather", "ls", "get_weather ls maps.find", ""]
    cursor.show_next_docs()
    cursor.show_next_docs()
    cursor.show_item(make_detail(item_calling("maps_find")))
    assert shown_docs(cursor) == "maps_find", "docs of the predicted call"


def test_docs_key_shows_a_function_in_two_spellings_once() -> None:
    cursor = Cursor(make_detail(item_calling("maps_find", golden_name="maps.find")), "alice")
    cursor.show_next_docs()
    assert shown_docs(cursor) == "maps.find"
    cursor.show_next_docs()
    assert shown_docs(cursor) == "maps.find get_weather ls", "docs of all functions"


def test_docs_of_a_turn_belong_to_its_own_function() -> None:
    item = Item(
        "multi_turn_base_18",
        "multi",
        n_turns=3,
        functions=[function_doc("cat"), function_doc("diff"), function_doc("cp")],
    )
    for turn, name in enumerate(("cp", "cat", "diff")):
        item.messages += [
            Message(turn, -1, role="user", content="Go on. " * 9),
            Message(turn, 0, role="tool", content="ok"),
        ]
        item.messages += [
            Message(turn, step, role="assistant", content="Well.") for step in (1, 2, 3)
        ]
        item.golden.append(golden_call(name, 0, turn))
    item.pairs = align_calls_by_turn(item.golden, [])
    item.extra.failing_turn = 2
    cursor = Cursor(make_detail(item), "alice")
    assert cursor.block.key == "turn:3"
    assert cursor.move_by_turn(-1) and cursor.block.folded
    about = cursor.show_next_docs()
    assert about is not None and about.key == "turn:2/call:1/document"
    assert shown_docs(cursor) == "cat"


def test_footer_describes_parameter_at_cursor() -> None:
    item = item_calling("get_weather")

    def footer(key: str, free: int = 4) -> list[str]:
        return [
            plain_text(line).rstrip("─ ")
            for line in docs_footer_lines(IndexedItem(item), key, 79, free)
        ]

    lines = footer("turn:1/call:1/arg:city")
    assert lines == [
        "── city · string, optional",
        '  enum: ["Rome", "Oslo"] · default: "Rome"',
        "  Where it is.",
    ]
    assert footer("turn:1/call:1/arg:day")[0].startswith("── day · string, required")
    assert "not a parameter of get_weather" in footer("turn:1/call:1/arg:days")[0]
    assert footer("turn:1") == footer("turn:1/call:1") == []


def test_footer_shows_whole_docs_if_they_fit() -> None:
    indexed_item = IndexedItem(item_calling("get_weather"))
    whole = [
        plain_text(line).rstrip("─ ")
        for line in docs_footer_lines(indexed_item, "turn:1/call:1/arg:city", 79, 12)
    ]
    assert whole[0] == "── docs of get_weather" and f"  {symbols().arrow} city  string" in whole
    assert next(
        plain_text(line) for line in docs_footer_lines(indexed_item, "turn:1/call:1", 79, 12)
    ).startswith("── docs")
    assert docs_footer_lines(indexed_item, "turn:1", 79, 12) == []
    fits = len(whole) + 1
    assert len(docs_footer_lines(indexed_item, "turn:1/call:1/arg:city", 79, fits - 1)) < len(whole)
    assert docs_footer_lines(indexed_item, "turn:1/call:1", 79, fits - 1) == []


def test_docs_of_many_parameters_include_the_one_at_cursor() -> None:
    document = function_doc("f", **{f"p{n}": {"type": "string"} for n in range(5000)})
    lines = [plain_text(each) for each in function_docs_lines("f", document, "p4321", 60)]
    assert len(lines) < 220 and f"  {symbols().arrow} p4321  string" in lines
    assert lines[-1].strip() == f"{symbols().ellipsis} 4,799 more parameters"
