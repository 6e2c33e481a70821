"""The progress in the top line and the items left count the list that is on screen."""

from __future__ import annotations

from typing import Any

from fcreview.store.rows import View
from tests.tui.screens.split.pane_facts import TWO

ROWS = [
    {"official": index > 4, "rule": index > 4, "error_type": "" if index > 4 else "odd"}
    for index in range(9)
]


async def _wait_for(pilot: Any, wait_for_screen: Any, text: str) -> list[str]:
    """Wait for a text that appears after the rates were counted again."""
    for _ in range(40):
        lines: list[str] = await wait_for_screen(pilot)
        if text in "\n".join(lines):
            return lines
        await pilot.pause(0.1)
    raise AssertionError(f"{text!r} is not on screen:\n" + "\n".join(lines))


async def test_progress_of_a_filtered_list_follows_verdicts_and_undo(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(ROWS, view=View(where="effective:fail"))
    async with app.run_test(size=TWO) as pilot:
        await _wait_for(pilot, wait_for_screen, "0 of 5 reviewed")
        for key in ("enter", "f", "p"):
            await pilot.press(key)
            await wait_for_screen(pilot)
        lines = await _wait_for(pilot, wait_for_screen, "2 of 5 reviewed")
        assert "2 reviewed · 3 left" in "\n".join(lines)

        await pilot.press("z")
        lines = await _wait_for(pilot, wait_for_screen, "1 of 5 reviewed")
        await pilot.press("f")
        lines = await _wait_for(pilot, wait_for_screen, "2 of 5 reviewed")
        assert "2 reviewed · 3 left" in "\n".join(lines)


async def test_items_left_are_those_of_a_list_that_was_filtered_later(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(ROWS, view=View(queue="dataset"))
    async with app.run_test(size=TWO) as pilot:
        await wait_for_screen(pilot)
        for key in ("enter", "f"):
            await pilot.press(key)
            await wait_for_screen(pilot)
        await _wait_for(pilot, wait_for_screen, "1 reviewed · 8 left")
        for key in ("q", "F", *"effective", "colon", *"fail", "enter", "enter"):
            await pilot.press(key)
        await _wait_for(pilot, wait_for_screen, "1 of 5 reviewed")
        await pilot.press("right_square_bracket")
        await wait_for_screen(pilot)
        await pilot.press("f")
        lines = await _wait_for(pilot, wait_for_screen, "2 of 5 reviewed")
        assert "2 reviewed · 3 left" in "\n".join(lines)


async def test_undo_of_an_override_reason_keeps_the_item_reviewed(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(ROWS, view=View(where="effective:fail"))
    async with app.run_test(size=TWO) as pilot:
        await wait_for_screen(pilot)
        for key in ("enter", "p", "1", "z"):
            await pilot.press(key)
            await wait_for_screen(pilot)
        lines = await _wait_for(pilot, wait_for_screen, "1 reviewed · 4 left")
        assert "undone: " in "\n".join(lines)


async def test_progress_on_an_item_alone_follows_the_undo_of_a_reason_and_its_verdict(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app(ROWS, view=View(where="effective:fail"))
    async with app.run_test(size=(80, 24)) as pilot:
        await _wait_for(pilot, wait_for_screen, "0 of 5")
        for key in ("enter", "p", "1"):
            await pilot.press(key)
            await wait_for_screen(pilot)
        await _wait_for(pilot, wait_for_screen, "1 of 5")

        await pilot.press("z")
        await wait_for_screen(pilot)
        await pilot.press("z")
        await _wait_for(pilot, wait_for_screen, "0 of 5")
