"""The docs of the functions at the cursor have their own column."""

from __future__ import annotations

from typing import Any

from fcreview.tui.item_view.blocks import IndexedItem
from fcreview.tui.item_view.function_docs import (
    FunctionDocsSource,
    RelevantFunctions,
    first_available_functions,
    functions_at_block,
)
from fcreview.tui.text.lines import plain_text
from fcreview.tui.text.styles import symbols
from tests.tui.item_view.test_function_docs import FUNCTIONS, item_calling


def column_lines(here: RelevantFunctions, functions: Any = FUNCTIONS, cells: int = 40) -> list[str]:
    docs = FunctionDocsSource(functions, here, cells)
    return [
        plain_text(line).rstrip("─ ") for at in range(len(docs)) for line in docs.lines(at, cells)
    ]


def test_golden_function_precedes_predicted_function() -> None:
    indexed_item = IndexedItem(item_calling("ls"))
    here = functions_at_block(indexed_item, "turn:1/call:1")
    assert here == RelevantFunctions(("get_weather", "ls"), here.argument)
    lines = column_lines(here)
    assert [line for line in lines if line in ("get_weather", "ls")] == ["get_weather", "ls"]


def test_function_in_two_spellings_is_shown_once() -> None:
    indexed_item = IndexedItem(item_calling("maps_find", golden_name="maps.find"))
    shown = functions_at_block(indexed_item, "turn:1/call:1")
    assert shown.names == ("maps.find",)
    titles = [line for line in column_lines(shown) if line in ("maps.find", "maps_find")]
    assert titles == ["maps.find"]


def test_unavailable_function_in_two_spellings_is_shown_twice() -> None:
    indexed_item = IndexedItem(item_calling("zip_file", golden_name="zip.file"))
    shown = functions_at_block(indexed_item, "turn:1/call:1")
    assert shown.names == ("zip.file", "zip_file")


def test_parameter_at_cursor_is_marked_and_scrolled_into_view() -> None:
    here = functions_at_block(IndexedItem(item_calling("get_weather")), "turn:1/call:1/arg:city")
    docs = FunctionDocsSource(FUNCTIONS, here, 40)
    assert docs.marked_block_index is not None
    assert (
        plain_text(docs.lines(docs.marked_block_index, 40)[0])
        == f"  {symbols().arrow} city  string"
    )
    assert (
        functions_at_block(IndexedItem(item_calling("get_weather")), "turn:1/call:1").argument
        == "city"
    ), "the first difference"


def test_unknown_parameter_is_marked_as_such() -> None:
    docs = FunctionDocsSource(FUNCTIONS, RelevantFunctions(("ls",), "days\x1b[2J"), 40)
    assert docs.marked_block_index == len(docs) - 1
    assert (
        plain_text(docs.lines(docs.marked_block_index, 40)[0])
        == f"  {symbols().arrow} days\u241b[2J  no such parameter"
    )


def test_all_functions_are_listed_without_calls() -> None:
    item = item_calling()
    item.golden, item.pairs = [], []
    assert not functions_at_block(IndexedItem(item), "turn:1") and not functions_at_block(
        IndexedItem(item), "offer"
    )
    here = first_available_functions(IndexedItem(item))
    names = ["maps.find", "get_weather", "ls"]
    assert [line for line in column_lines(here) if line in names] == names
    assert column_lines(RelevantFunctions(), ()) == []


def test_docs_fit_the_column() -> None:
    here = functions_at_block(IndexedItem(item_calling("get_weather")), "turn:1/call:1")
    for cells in (38, 55, 38):
        assert all(len(line) <= cells for line in column_lines(here, cells=cells))
