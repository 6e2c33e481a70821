"""The documents of the functions under the cursor, in a column of their own."""

from __future__ import annotations

from typing import Any

from fcreview.tui.item_view.blocks import scene
from fcreview.tui.item_view.function_docs import Beside, Under, offered, under
from fcreview.tui.text.lines import plain
from fcreview.tui.text.theme import symbols
from tests.tui.item_view.test_function_docs import OFFERED
from tests.tui.item_view.test_function_docs import offered as item_offering


def shown(here: Under, functions: Any = OFFERED, cells: int = 40) -> list[str]:
    of = Beside(functions, here, cells)
    return [plain(line).rstrip("─ ") for at in range(len(of)) for line in of.lines(at, cells)]


def test_goldens_function_then_predicteds() -> None:
    of = scene(item_offering("ls"))
    here = under(of, "turn:1/call:1")
    assert here == Under(("get_weather", "ls"), here.argument)
    lines = shown(here)
    assert [line for line in lines if line in ("get_weather", "ls")] == ["get_weather", "ls"]


def test_the_parameter_under_the_cursor_is_marked_and_comes_into_sight() -> None:
    here = under(scene(item_offering("get_weather")), "turn:1/call:1/arg:city")
    of = Beside(OFFERED, here, 40)
    assert of.marked is not None
    assert plain(of.lines(of.marked, 40)[0]) == f"  {symbols().arrow} city  string"
    assert under(scene(item_offering("get_weather")), "turn:1/call:1").argument == "city", "the first that differs"


def test_an_argument_that_the_function_does_not_have_is_said_to_be_none_of_it() -> None:
    of = Beside(OFFERED, Under(("ls",), "days\x1b[2J"), 40)
    assert of.marked == len(of) - 1
    assert plain(of.lines(of.marked, 40)[0]) == f"  {symbols().arrow} days\u241b[2J  no such parameter"


def test_where_nothing_was_called_all_on_offer_stand_there() -> None:
    made = item_offering()
    made.golden, made.pairs = [], []
    assert not under(scene(made), "turn:1") and not under(scene(made), "offer")
    here = offered(scene(made))
    names = ["maps.find", "get_weather", "ls"]
    assert [line for line in shown(here) if line in names] == names
    assert shown(Under(), ()) == []


def test_it_is_laid_out_for_the_width_there_is() -> None:
    here = under(scene(item_offering("get_weather")), "turn:1/call:1")
    for cells in (38, 55, 38):
        assert all(len(line) <= cells for line in shown(here, cells=cells))
