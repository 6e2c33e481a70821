"""The documents of the functions under the cursor, in a column of their own."""

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
from tests.tui.item_view.test_function_docs import OFFERED
from tests.tui.item_view.test_function_docs import offered as item_offering


def shown(here: RelevantFunctions, functions: Any = OFFERED, cells: int = 40) -> list[str]:
    of = FunctionDocsSource(functions, here, cells)
    return [plain_text(line).rstrip("─ ") for at in range(len(of)) for line in of.lines(at, cells)]


def test_goldens_function_then_predicteds() -> None:
    of = IndexedItem(item_offering("ls"))
    here = functions_at(of, "turn:1/call:1")
    assert here == RelevantFunctions(("get_weather", "ls"), here.argument)
    lines = shown(here)
    assert [line for line in lines if line in ("get_weather", "ls")] == ["get_weather", "ls"]


def test_the_parameter_under_the_cursor_is_marked_and_comes_into_sight() -> None:
    here = functions_at(IndexedItem(item_offering("get_weather")), "turn:1/call:1/arg:city")
    of = FunctionDocsSource(OFFERED, here, 40)
    assert of.marked_block is not None
    assert plain_text(of.lines(of.marked_block, 40)[0]) == f"  {symbols().arrow} city  string"
    assert functions_at(IndexedItem(item_offering("get_weather")), "turn:1/call:1").argument == "city", (
        "the first that differs"
    )


def test_an_argument_that_the_function_does_not_have_is_said_to_be_none_of_it() -> None:
    of = FunctionDocsSource(OFFERED, RelevantFunctions(("ls",), "days\x1b[2J"), 40)
    assert of.marked_block == len(of) - 1
    assert plain_text(of.lines(of.marked_block, 40)[0]) == f"  {symbols().arrow} days\u241b[2J  no such parameter"


def test_where_nothing_was_called_all_on_offer_stand_there() -> None:
    made = item_offering()
    made.golden, made.pairs = [], []
    assert not functions_at(IndexedItem(made), "turn:1") and not functions_at(IndexedItem(made), "offer")
    here = available_functions(IndexedItem(made))
    names = ["maps.find", "get_weather", "ls"]
    assert [line for line in shown(here) if line in names] == names
    assert shown(RelevantFunctions(), ()) == []


def test_it_is_laid_out_for_the_width_there_is() -> None:
    here = functions_at(IndexedItem(item_offering("get_weather")), "turn:1/call:1")
    for cells in (38, 55, 38):
        assert all(len(line) <= cells for line in shown(here, cells=cells))
