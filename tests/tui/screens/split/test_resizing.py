"""The cursor and the open item are kept when the width crosses 120 columns and the number of
panes changes.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from textual import events
from textual.geometry import Size

from fcreview.store.rows import View
from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.review_dialogs import NoteScreen
from tests.examples import split_by_form
from tests.tui.screens.split.pane_facts import (
    ONE,
    TWO,
    focused_pane,
    header_item_id,
    list_item_id,
    queue_screen,
    read_verdicts,
)


async def press_and_resize(
    pilot: Any, wait_for_screen: Any, *keys: str, size: tuple[int, int] | None = None
) -> list[str]:
    for key in keys:
        await pilot.press(key)
        await wait_for_screen(pilot)
    if size is not None:
        await pilot.resize_terminal(*size)
    return await wait_for_screen(pilot)


def make_long_queue_app(make_app: Any) -> Any:
    return make_app([{} for _ in range(40)], view=View(queue="dataset"))


@pytest.mark.sweep
async def test_cursor_stays_in_the_list(make_app: Any, wait_for_screen: Any) -> None:
    async with make_long_queue_app(make_app).run_test(size=TWO) as pilot:
        await wait_for_screen(pilot)
        await press_and_resize(pilot, wait_for_screen, "j", "j")
        lines = await press_and_resize(pilot, wait_for_screen, size=ONE)
        assert list_item_id(pilot.app) == "simple_2" and not any("│" in line for line in lines)
        assert lines[-1].startswith(" enter open") and header_item_id(pilot.app) == ""
        await press_and_resize(pilot, wait_for_screen, "j", size=TWO)
        assert (list_item_id(pilot.app), header_item_id(pilot.app), focused_pane(pilot.app)) == (
            "simple_3",
            "simple_3",
            "list",
        )


@pytest.mark.sweep
async def test_cursor_and_folds_stay_in_one_pane(make_app: Any, wait_for_screen: Any) -> None:
    async with make_long_queue_app(make_app).run_test(size=TWO) as pilot:
        await wait_for_screen(pilot)
        await press_and_resize(pilot, wait_for_screen, "j", "tab", "t", "a")
        reader = queue_screen(pilot.app).query_one(ItemPane).cursor
        before = reader.block.key, reader.options.folds, reader.options.full_dialogue
        lines = await press_and_resize(pilot, wait_for_screen, size=ONE)
        assert lines[1].startswith(" simple_1") and header_item_id(pilot.app) == "simple_1", (
            "the item"
        )
        assert not queue_screen(pilot.app).list.size, "the list is hidden"
        assert (reader.block.key, reader.options.folds, reader.options.full_dialogue) == before
        await press_and_resize(pilot, wait_for_screen, "p")
        assert read_verdicts(make_app.stores[0]) == [("simple_1", True)]
        assert (await wait_for_screen(pilot))[1].startswith(" simple_2")
        lines = await press_and_resize(pilot, wait_for_screen, "tab", "escape")
        assert isinstance(pilot.app.screen, QueueScreen) and list_item_id(pilot.app) == "simple_2"
        assert lines[-1].startswith(" enter open")
        await press_and_resize(pilot, wait_for_screen, "enter")
        assert isinstance(pilot.app.screen, ItemScreen), "the key works as in any narrow terminal"


@pytest.mark.sweep
async def test_single_item_moves_beside_the_list(make_app: Any, wait_for_screen: Any) -> None:
    async with make_long_queue_app(make_app).run_test(size=ONE) as pilot:
        await wait_for_screen(pilot)
        await press_and_resize(pilot, wait_for_screen, "j", "enter", "p", "t", "a")
        reader = pilot.app.screen.cursor
        before = reader.detail.row.id, reader.block.key, reader.options.folds
        await press_and_resize(pilot, wait_for_screen, size=TWO)
        assert isinstance(pilot.app.screen, QueueScreen)
        assert (header_item_id(pilot.app), list_item_id(pilot.app), focused_pane(pilot.app)) == (
            "simple_2",
            "simple_2",
            "item",
        )
        now = queue_screen(pilot.app).query_one(ItemPane).cursor
        assert (now.detail.row.id, now.block.key, now.options.folds) == before
        await press_and_resize(pilot, wait_for_screen, "f")
        assert read_verdicts(make_app.stores[0]) == [("simple_1", True), ("simple_2", False)]
        assert header_item_id(pilot.app) == list_item_id(pilot.app) == "simple_3"
        await press_and_resize(pilot, wait_for_screen, "escape")
        assert focused_pane(pilot.app) == "list"


@pytest.mark.sweep
async def test_prompts_over_the_item_stay_on_top(make_app: Any, wait_for_screen: Any) -> None:
    async with make_long_queue_app(make_app).run_test(size=ONE) as pilot:
        await wait_for_screen(pilot)
        await press_and_resize(pilot, wait_for_screen, "enter", "n", size=TWO)
        assert isinstance(pilot.app.screen, NoteScreen)
        await press_and_resize(pilot, wait_for_screen, *"why", "enter")
        assert isinstance(pilot.app.screen, QueueScreen) and focused_pane(pilot.app) == "item"
        assert header_item_id(pilot.app) == list_item_id(pilot.app) == "simple_0"
        assert [name for name, _ in read_verdicts(make_app.stores[0])] == ["simple_0"]


@pytest.mark.sweep
@pytest.mark.parametrize("seed", split_by_form([4, 8, 11], quick=[8]))
async def test_item_stays_open_during_random_resizes(
    make_app: Any, wait_for_screen: Any, seed: int
) -> None:
    """With the first two seeds, an item was once lost when two panes opened and only one fitted."""
    dice = random.Random(seed)
    async with make_long_queue_app(make_app).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await press_and_resize(pilot, wait_for_screen, "j", "enter")
        for _ in range(12):
            for _ in range(dice.randrange(2, 8)):
                size = Size(
                    dice.choice([1, 2, 20, 59, 60, 80, 119, 120, 300]),
                    dice.choice([1, 2, 14, 15, 24, 100]),
                )
                pilot.app._driver._size = size
                pilot.app.post_message(events.Resize(size, size))
                await asyncio.sleep(dice.choice([0, 0.001, 0.003, 0.01]))
            lines = await press_and_resize(pilot, wait_for_screen, size=(80, 24))
            assert "simple_1" in "".join(lines[:2]) and "2/40" in lines[1]
        await press_and_resize(pilot, wait_for_screen, "p")
        assert read_verdicts(make_app.stores[0]) == [("simple_1", True)]
        await press_and_resize(pilot, wait_for_screen, "escape")
        assert list_item_id(pilot.app) == "simple_2"
