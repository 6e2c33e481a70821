"""The title of the focused pane has a mark, and the last line shows the keys of this pane."""

from __future__ import annotations

from typing import Any

from tests.tui.screens.split.test_two_panes import open_two_panes, press

__all__ = ["open_two_panes"]

LIST_TITLE = "▸ Items"


async def test_title_and_keys_are_those_of_the_focused_pane(
    open_two_panes: Any, wait_for_screen: Any
) -> None:
    async with open_two_panes() as pilot:
        lines = await press(pilot, wait_for_screen)
        assert LIST_TITLE in lines[2] and "▸simple_0" not in lines[1]
        assert "F filter" in lines[-1] and "golden wrong" not in lines[-1]
        assert "press tab to review this item" in lines[-2] and "] [ items" not in lines[-2]
        lines = await press(pilot, wait_for_screen, "tab")
        assert LIST_TITLE not in lines[2] and "▸simple_0" in lines[1]
        assert "golden wrong" in lines[-1] and "F filter" not in lines[-1]
        assert "] [ items" in lines[-2]
        lines = await press(pilot, wait_for_screen, "tab")
        assert LIST_TITLE in lines[2] and "▸simple_0" not in lines[1]


async def test_one_pane_has_no_mark(open_two_panes: Any, wait_for_screen: Any) -> None:
    async with open_two_panes(size=(100, 40)) as pilot:
        assert LIST_TITLE not in "\n".join(await press(pilot, wait_for_screen))
        assert "▸simple_0" not in "\n".join(await press(pilot, wait_for_screen, "enter"))
