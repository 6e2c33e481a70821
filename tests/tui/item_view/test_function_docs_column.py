"""The docs of the functions at the cursor have their own column."""

from __future__ import annotations

from typing import Any

from fcreview.tui.item_view.blocks import IndexedItem
from fcreview.tui.item_view.function_docs import (
    FunctionDocsSource,
    RelevantFunctions,
    available_functions,
    functions_at,
)
from fcreview.tui.text.lines import plain_text
from fcreview.tui.text.theme import symbols
from tests.tui.item_view.test_function_docs import FUNCTIONS, item_calling


def column_lines(here: RelevantFunctions, functions: Any = FUNCTIONS, cells: int = 40) -> list[str]:
    of = FunctionDocsSource(functions, here, cells)
    return [plain_text(line).rstrip("─ ") for at in range(len(of)) for line in of.lines(at, cells)]


def test_golden_function_precedes_predicted_function() -> None:
    of = IndexedItem(item_calling("ls"))
    here = functions_at(of, "turn:1/call:1")
    assert here == RelevantFunctions(("get_weather", "ls"), here.argument)
    lines = column_lines(here)
    assert [line for line in lines if line in ("get_weather", "ls")] == ["get_weather", "ls"]


def test_parameter_at_cursor_is_marked_and_scrolled_into_view() -> None:
    here = functions_at(IndexedItem(item_calling("get_weather")), "turn:1/call:1/arg:city")
    of = FunctionDocsSource(FUNCTIONS, here, 40)
    assert of.marked_block is not None
    assert plain_text(of.lines(of.marked_block, 40)[0]) == f"  {symbols().arrow} city  string"
    assert functions_at(IndexedItem(item_calling("get_weather")), "turn:1/call:1").argument == "city", (
        "the first difference"
    )


def test_unknown_parameter_is_marked_as_such() -> None:
    of = FunctionDocsSource(FUNCTIONS, RelevantFunctions(("ls",), "days\x1b[2J"), 40)
    assert of.marked_block == len(of) - 1
    assert plain_text(of.lines(of.marked_block, 40)[0]) == f"  {symbols().arrow} days\u241b[2J  no such parameter"


def test_all_functions_are_listed_without_calls() -> None:
    made = item_calling()
    made.golden, made.pairs = [], []
    assert not functions_at(IndexedItem(made), "turn:1") and not functions_at(IndexedItem(made), "offer")
    here = available_functions(IndexedItem(made))
    names = ["maps.find", "get_weather", "ls"]
    assert [line for line in column_lines(here) if line in names] == names
    assert column_lines(RelevantFunctions(), ()) == []


def test_docs_fit_the_column() -> None:
    here = functions_at(IndexedItem(item_calling("get_weather")), "turn:1/call:1")
    for cells in (38, 55, 38):
        assert all(len(line) <= cells for line in column_lines(here, cells=cells))
