"""Wide screens have a column with the docs of the function at the cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fcreview.store.rows import View
from fcreview.tui.text.lines import (
    THREE_PANES_MIN_WIDTH,
    TWO_PANES_MIN_WIDTH,
    docs_column_width,
    list_pane_width,
)
from fcreview.tui.text.styles import symbols

HEAD = "Weather of a city."


def test_panes_keep_their_minimum_width() -> None:
    for cells in range(TWO_PANES_MIN_WIDTH, 400):
        document = docs_column_width(cells - list_pane_width(cells) - 1)
        assert (document > 0) is (cells >= THREE_PANES_MIN_WIDTH)
        if document:
            assert document >= 38 and cells - list_pane_width(cells) - document - 2 >= 90
    assert docs_column_width(128) == 0 < docs_column_width(129)


def docs_column(lines: list[str]) -> list[str]:
    """Return the text after the last line between columns."""
    at = max(line.rfind("│") for line in lines)
    return [line[at + 1 :].rstrip() for line in lines if line[at : at + 1] == "│"]


def marked_parameters(lines: list[str]) -> list[str]:
    return [
        line.split()[1] for line in docs_column(lines) if line.startswith(f"  {symbols().arrow} ")
    ]


@pytest.mark.parametrize(
    ("columns", "visible"),
    [(THREE_PANES_MIN_WIDTH - 1, False), (THREE_PANES_MIN_WIDTH, True), (240, True)],
)
async def test_column_appears_if_it_fits(
    make_app: Callable[..., Any], wait_for_screen: Any, columns: int, visible: bool
) -> None:
    async with make_app([{}], view=View(queue="dataset")).run_test(size=(columns, 30)) as pilot:
        lines = await wait_for_screen(pilot)
        assert any(HEAD in line for line in docs_column(lines[:10])) is visible
        assert sum(HEAD in line for line in lines) == 1, (
            "docs are shown once, beside or below the values"
        )


async def test_column_follows_cursor_and_item(
    make_app: Callable[..., Any], wait_for_screen: Any
) -> None:
    other = {"name": "get_weather", "parameters": {"properties": {"day": {"type": "string"}}}}
    app = make_app([{}, {"functions": [other]}], view=View(queue="dataset"))
    async with app.run_test(size=(200, 30)) as pilot:
        lines = await wait_for_screen(pilot)
        assert marked_parameters(lines) == ["city"], "the first argument that differs"
        assert "no such parameter" in " ".join(docs_column(lines))
        assert not any("day" in line for line in docs_column(lines))
        await pilot.press("j")
        lines = await wait_for_screen(pilot)
        assert any(line.startswith("    day  string") for line in docs_column(lines))
        await pilot.resize_terminal(THREE_PANES_MIN_WIDTH - 1, 30)
        assert not any(
            line.startswith("    day") for line in docs_column(await wait_for_screen(pilot))
        )


async def test_item_without_functions_has_no_column(
    make_app: Callable[..., Any], wait_for_screen: Any
) -> None:
    app = make_app([{}, {"functions": []}], view=View(queue="dataset"))
    async with app.run_test(size=(200, 30)) as pilot:
        before = await wait_for_screen(pilot)
        await pilot.press("j")
        lines = await wait_for_screen(pilot)
        assert any(docs_column(before[5:20])) and not any(docs_column(lines[5:20]))
        await pilot.press("k")
        assert await wait_for_screen(pilot) == before
