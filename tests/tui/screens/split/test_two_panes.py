"""List and item beside each other: what moves with what, and which keys are whose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from fcreview.store.rows import View
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.text import theme
from tests.tui.screens.split.sides import TWO, focused, journal, listed, named, queue_of, status

ROWS = [{"group": f"talk_{n // 3}", "error_type": "odd" if n in (1, 3) else "other"} for n in range(60)]


TYPED = {":": "colon", "]": "right_square_bracket", "[": "left_square_bracket"}
TYPED |= {"}": "right_curly_bracket", "{": "left_curly_bracket"}


@pytest.fixture
def beside(make_app: Any, wait_for_screen: Any) -> Any:
    """An app with two panes whose first rows are there."""

    @asynccontextmanager
    async def opened(rows: Any = ROWS, size: tuple[int, int] = TWO, **options: Any) -> AsyncIterator[Pilot[Any]]:
        async with make_app(rows, view=View(queue="dataset"), **options).run_test(size=size) as pilot:
            await wait_for_screen(pilot)
            yield pilot

    return opened


async def pressed(pilot: Any, wait_for_screen: Any, *keys: str) -> list[str]:
    for key in keys:
        await pilot.press(TYPED.get(key, key))
        await wait_for_screen(pilot)
    return await wait_for_screen(pilot)


@pytest.mark.parametrize(("columns", "panes"), [(119, 1), (120, 2), (200, 2)])
async def test_from_120_columns_there_are_two_panes(
    beside: Any, wait_for_screen: Any, columns: int, panes: int
) -> None:
    async with beside(size=(columns, 40)) as pilot:
        lines = await pressed(pilot, wait_for_screen)
        assert (named(pilot.app) == "simple_0") is (panes == 2)
        assert any("│" in line and "user   " in line for line in lines) is (panes == 2)
        await pressed(pilot, wait_for_screen, "enter")
        assert isinstance(pilot.app.screen, QueueScreen if panes == 2 else ItemScreen)


@pytest.mark.sweep
async def test_the_item_goes_along_with_the_lists_cursor(beside: Any, wait_for_screen: Any) -> None:
    async with beside() as pilot:
        for key in ("j", "j", "k", "end", "pageup", "g", "d"):
            await pressed(pilot, wait_for_screen, key)
            assert named(pilot.app) == listed(pilot.app), key
        assert named(pilot.app) == f"simple_{queue_of(pilot.app).list.cursor}"


async def test_a_held_key_reads_the_item_it_ends_on_and_few_others(beside: Any, wait_for_screen: Any) -> None:
    async with beside() as pilot:
        app = pilot.app
        begun: list[str] = []
        pane = queue_of(app).query_one("ItemPane")
        begin = pane.show_item
        pane.show_item = lambda shown, remark: (begun.append(shown.detail.row.id), begin(shown, remark))
        queue_of(app).list.action_move(1)
        for _ in range(29):
            queue_of(app).list.action_move(1)
        await wait_for_screen(pilot)
        assert named(app) == listed(app) == "simple_30"
        assert len(begun) <= 2, "the first move at once, then where the cursor rests"


async def test_verdict_keys_do_nothing_in_the_list(beside: Any, wait_for_screen: Any, make_app: Any) -> None:
    async with beside() as pilot:
        await pressed(pilot, wait_for_screen, *"pnwezT012", "]", "}", "p")
        assert focused(pilot.app) == "list" and isinstance(pilot.app.screen, QueueScreen)
        assert (named(pilot.app), listed(pilot.app)) == ("simple_0", "simple_0")
        assert journal(make_app.stores[0]) == []


async def test_tab_goes_from_pane_to_pane_and_is_seen_without_colour(
    beside: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    theme.clear_caches()
    async with beside() as pilot:
        assert focused(pilot.app) == "list"
        for pane in ("item", "list", "item"):
            lines = await pressed(pilot, wait_for_screen, "tab")
            assert focused(pilot.app) == pane
            assert ("p pass" in lines[-1]) is (pane == "item") is not ("enter open" in lines[-1])
            (cursor,) = [strip for strip in pilot.app.screen._compositor.render_strips() if "▌" in strip.text[:3]]
            reverse = any(segment.style and segment.style.reverse for segment in cursor.crop(0, 40))
            assert reverse is (pane == "list"), "the row under the cursor stands out where keys are heard"


async def test_a_verdict_is_of_the_named_item_and_the_list_shows_it_and_goes_on(
    beside: Any, wait_for_screen: Any, make_app: Any
) -> None:
    async with beside() as pilot:
        lines = await pressed(pilot, wait_for_screen, "j", "j", "enter", "p")
        assert journal(make_app.stores[0]) == [("simple_2", True)]
        assert named(pilot.app) == listed(pilot.app) == "simple_3"
        assert "saved: pass · simple_2" in status(pilot.app) and focused(pilot.app) == "item"
        (row,) = [line for line in lines if "simple_2 " in line[:59]]
        assert "✓" in row[:59]
        assert "1 of 60 reviewed   alice" in lines[0]


async def test_next_and_previous_move_the_lists_cursor_too(beside: Any, wait_for_screen: Any) -> None:
    async with beside() as pilot:
        await pressed(pilot, wait_for_screen, "tab")
        for key, name in [("]", 1), ("]", 2), ("[", 1), ("{", 0), ("}", 1), ("}", 2)]:
            await pressed(pilot, wait_for_screen, key)
            assert (named(pilot.app), listed(pilot.app)) == (f"simple_{name}", f"simple_{name}"), key
            assert focused(pilot.app) == "item"


@pytest.mark.sweep
@pytest.mark.parametrize("key", ["escape", "q", "tab"])
async def test_what_leaves_the_item_leads_to_the_list_and_no_further(
    beside: Any, wait_for_screen: Any, key: str
) -> None:
    async with beside() as pilot:
        await pressed(pilot, wait_for_screen, "j", "tab", "f", key)
        assert focused(pilot.app) == "list" and pilot.app.is_running
        assert named(pilot.app) == listed(pilot.app) == "simple_2", "the item that was next"
        lines = await pressed(pilot, wait_for_screen, "escape")
        assert "Already at the top level" in "\n".join(lines)


@pytest.mark.sweep
async def test_folds_and_place_in_the_item_outlast_a_look_at_the_list(beside: Any, wait_for_screen: Any) -> None:
    async with beside() as pilot:
        await pressed(pilot, wait_for_screen, "tab", "a", "t")
        reader = queue_of(pilot.app).query_one("ItemPane").cursor
        before = reader.block.key, reader.options
        await pressed(pilot, wait_for_screen, "tab", "tab")
        assert (reader.block.key, reader.options) == before


@pytest.mark.sweep
async def test_an_item_outside_of_the_list_gives_way_to_the_lists_own(
    beside: Any, wait_for_screen: Any, make_app: Any
) -> None:
    async with beside() as pilot:
        await pressed(pilot, wait_for_screen, "f", *"error:odd", "enter", "tab", "{")
        assert (named(pilot.app), listed(pilot.app)) == ("simple_0", "simple_1"), "of its group, not of the filter"
        await pressed(pilot, wait_for_screen, "p")
        assert journal(make_app.stores[0]) == [("simple_0", True)]
        await pressed(pilot, wait_for_screen, "escape")
        assert named(pilot.app) == listed(pilot.app)


@pytest.mark.sweep
async def test_a_filter_changes_the_item_too(beside: Any, wait_for_screen: Any) -> None:
    async with beside() as pilot:
        await pressed(pilot, wait_for_screen, "f", *"error:odd", "enter")
        assert named(pilot.app) == listed(pilot.app) == "simple_1"
        await pressed(pilot, wait_for_screen, "j", "F")
        assert named(pilot.app) == listed(pilot.app) == "simple_3", "the item that the cursor was on"
        assert " 4/60 " in "\n".join(await wait_for_screen(pilot)), "its place is the new list's"


@pytest.mark.sweep
async def test_a_list_without_items_has_none_beside_it(beside: Any, wait_for_screen: Any) -> None:
    async with beside() as pilot:
        lines = await pressed(pilot, wait_for_screen, "f", *"official:pass", "enter", "tab")
        text = "\n".join(lines)
        assert "no item matches" in text and named(pilot.app) == "" and focused(pilot.app) == "list"
        assert "No item selected" in text
        await pressed(pilot, wait_for_screen, "F")
        assert named(pilot.app) == listed(pilot.app) == "simple_0"


@pytest.mark.sweep
async def test_judged_to_the_end_of_a_filter_the_item_stays_until_it_is_left(
    beside: Any, wait_for_screen: Any, make_app: Any
) -> None:
    async with beside(rows=ROWS[:2]) as pilot:
        await pressed(pilot, wait_for_screen, "f", *"you:none", "enter", "tab", "p", "p")
        assert named(pilot.app) == "simple_1" and journal(make_app.stores[0]) == [
            ("simple_0", True),
            ("simple_1", True),
        ]
        assert "Queue complete (2 reviewed)" in "\n".join(await pressed(pilot, wait_for_screen, "escape"))
        assert named(pilot.app) == ""


@pytest.mark.sweep
async def test_blind_is_blind_in_both_panes(beside: Any, wait_for_screen: Any) -> None:
    async with beside(blind=True) as pilot:
        for keys in ([], ["j"], ["tab"], ["]"], ["R"], ["escape"]):
            text = "\n".join(await pressed(pilot, wait_for_screen, *keys))
            assert not {"✗", "✓"} & set(text), keys
            assert not [word for word in ("value_error", "failures", "is not one of") if word in text], keys
        await pressed(pilot, wait_for_screen, "tab", "f", "[")
        assert "value_error" in "\n".join(await wait_for_screen(pilot)), "decided: what others said is shown"


async def test_an_item_that_was_asked_for_by_name_has_the_focus(beside: Any, wait_for_screen: Any) -> None:
    async with beside(open_item="simple_7") as pilot:
        await wait_for_screen(pilot)
        assert (named(pilot.app), listed(pilot.app), focused(pilot.app)) == ("simple_7", "simple_7", "item")
