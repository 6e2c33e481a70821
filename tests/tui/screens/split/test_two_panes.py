"""List and item side by side: what moves together, and which pane handles a key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from fcreview.store.rows import View
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.text import styles
from tests.tui.screens.split.pane_facts import (
    TWO,
    focused_pane,
    header_item_id,
    list_item_id,
    queue_screen,
    read_verdicts,
    status_text,
)

ROWS = [
    {"group": f"talk_{n // 3}", "error_type": "odd" if n in (1, 3) else "other"} for n in range(60)
]


TYPED = {":": "colon", "]": "right_square_bracket", "[": "left_square_bracket"}
TYPED |= {"}": "right_curly_bracket", "{": "left_curly_bracket"}


@pytest.fixture
def open_two_panes(make_app: Any, wait_for_screen: Any) -> Any:
    """Return a function that opens an app with two panes and waits for its first rows."""

    @asynccontextmanager
    async def open_app(
        rows: Any = ROWS, size: tuple[int, int] = TWO, **options: Any
    ) -> AsyncIterator[Pilot[Any]]:
        async with make_app(rows, view=View(queue="dataset"), **options).run_test(
            size=size
        ) as pilot:
            await wait_for_screen(pilot)
            yield pilot

    return open_app


async def press(pilot: Any, wait_for_screen: Any, *keys: str) -> list[str]:
    for key in keys:
        await pilot.press(TYPED.get(key, key))
        await wait_for_screen(pilot)
    return await wait_for_screen(pilot)


async def test_message_about_a_key_that_does_nothing_goes_with_the_next_key_or_the_focus(
    open_two_panes: Any, wait_for_screen: Any
) -> None:
    async with open_two_panes() as pilot:
        for next_key in ("j", "enter"):
            lines = await press(pilot, wait_for_screen, "G")
            assert "works on an item" in "\n".join(lines)
            lines = await press(pilot, wait_for_screen, next_key)
            assert "works on an item" not in "\n".join(lines)

        lines = await press(pilot, wait_for_screen, "L")
        assert "L " in lines[-2] and "works" in lines[-2]
        lines = await press(pilot, wait_for_screen, "j")
        assert "works" not in lines[-2]


@pytest.mark.parametrize(("columns", "panes"), [(119, 1), (120, 2), (200, 2)])
async def test_two_panes_from_120_columns(
    open_two_panes: Any, wait_for_screen: Any, columns: int, panes: int
) -> None:
    async with open_two_panes(size=(columns, 40)) as pilot:
        lines = await press(pilot, wait_for_screen)
        assert (header_item_id(pilot.app) == "simple_0") is (panes == 2)
        assert any("│" in line and "user   " in line for line in lines) is (panes == 2)
        await press(pilot, wait_for_screen, "enter")
        assert isinstance(pilot.app.screen, QueueScreen if panes == 2 else ItemScreen)


@pytest.mark.sweep
async def test_item_follows_the_cursor_of_the_list(
    open_two_panes: Any, wait_for_screen: Any
) -> None:
    async with open_two_panes() as pilot:
        for key in ("j", "j", "k", "end", "pageup", "g", "d"):
            await press(pilot, wait_for_screen, key)
            assert header_item_id(pilot.app) == list_item_id(pilot.app), key
        assert header_item_id(pilot.app) == f"simple_{queue_screen(pilot.app).list.cursor}"


async def test_held_key_reads_few_items(open_two_panes: Any, wait_for_screen: Any) -> None:
    async with open_two_panes() as pilot:
        app = pilot.app
        begun: list[str] = []
        pane = queue_screen(app).query_one("ItemPane")
        begin = pane.show_item
        pane.show_item = lambda shown, remark: (
            begun.append(shown.detail.row.id),
            begin(shown, remark),
        )
        queue_screen(app).list.action_move(1)
        for _ in range(29):
            queue_screen(app).list.action_move(1)
        await wait_for_screen(pilot)
        assert header_item_id(app) == list_item_id(app) == "simple_30"
        assert len(begun) <= 2, "the first item, and the item at which the cursor stops"


async def test_verdict_keys_do_nothing_in_the_list(
    open_two_panes: Any, wait_for_screen: Any, make_app: Any
) -> None:
    async with open_two_panes() as pilot:
        await press(pilot, wait_for_screen, *"pnwezT012", "]", "}", "p")
        assert focused_pane(pilot.app) == "list" and isinstance(pilot.app.screen, QueueScreen)
        assert (header_item_id(pilot.app), list_item_id(pilot.app)) == ("simple_0", "simple_0")
        assert read_verdicts(make_app.stores[0]) == []


async def test_tab_changes_the_pane_and_is_visible_without_colour(
    open_two_panes: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    styles.clear_style_caches()
    async with open_two_panes() as pilot:
        assert focused_pane(pilot.app) == "list"
        for pane in ("item", "list", "item"):
            lines = await press(pilot, wait_for_screen, "tab")
            assert focused_pane(pilot.app) == pane
            assert ("p pass" in lines[-1]) is (pane == "item") is not ("enter open" in lines[-1])
            (cursor,) = [
                strip
                for strip in pilot.app.screen._compositor.render_strips()
                if "▌" in strip.text[:3]
            ]
            reverse = any(segment.style and segment.style.reverse for segment in cursor.crop(0, 40))
            assert reverse is (pane == "list"), (
                "the row at the cursor is marked in the pane with the focus"
            )


async def test_verdict_applies_to_the_named_item_and_moves_the_list(
    open_two_panes: Any, wait_for_screen: Any, make_app: Any
) -> None:
    async with open_two_panes() as pilot:
        lines = await press(pilot, wait_for_screen, "j", "j", "enter", "p")
        assert read_verdicts(make_app.stores[0]) == [("simple_2", True)]
        assert header_item_id(pilot.app) == list_item_id(pilot.app) == "simple_3"
        assert (
            "saved: pass · simple_2" in status_text(pilot.app) and focused_pane(pilot.app) == "item"
        )
        (row,) = [line for line in lines if "simple_2 " in line[:59]]
        assert "✓" in row[:59]
        assert "1 of 60 reviewed   alice" in lines[0]


async def test_next_and_previous_move_the_cursor_of_the_list(
    open_two_panes: Any, wait_for_screen: Any
) -> None:
    async with open_two_panes() as pilot:
        await press(pilot, wait_for_screen, "tab")
        for key, name in [("]", 1), ("]", 2), ("[", 1), ("{", 0), ("}", 1), ("}", 2)]:
            await press(pilot, wait_for_screen, key)
            assert (header_item_id(pilot.app), list_item_id(pilot.app)) == (
                f"simple_{name}",
                f"simple_{name}",
            ), key
            assert focused_pane(pilot.app) == "item"


@pytest.mark.sweep
@pytest.mark.parametrize("key", ["escape", "q", "tab"])
async def test_leaving_the_item_leads_to_the_list_only(
    open_two_panes: Any, wait_for_screen: Any, key: str
) -> None:
    async with open_two_panes() as pilot:
        await press(pilot, wait_for_screen, "j", "tab", "f", key)
        assert focused_pane(pilot.app) == "list" and pilot.app.is_running
        assert header_item_id(pilot.app) == list_item_id(pilot.app) == "simple_2", (
            "the next item is shown"
        )
        lines = await press(pilot, wait_for_screen, "escape")
        assert "Already at the top level" in "\n".join(lines)


@pytest.mark.sweep
async def test_folds_and_position_are_kept_after_a_visit_to_the_list(
    open_two_panes: Any, wait_for_screen: Any
) -> None:
    async with open_two_panes() as pilot:
        await press(pilot, wait_for_screen, "tab", "a", "t")
        reader = queue_screen(pilot.app).query_one("ItemPane").cursor
        before = reader.block.key, reader.options
        await press(pilot, wait_for_screen, "tab", "tab")
        assert (reader.block.key, reader.options) == before


@pytest.mark.sweep
async def test_item_outside_the_list_is_replaced_by_the_list_item(
    open_two_panes: Any, wait_for_screen: Any, make_app: Any
) -> None:
    async with open_two_panes() as pilot:
        await press(pilot, wait_for_screen, "F", *"error:odd", "enter", "tab", "{")
        assert (header_item_id(pilot.app), list_item_id(pilot.app)) == ("simple_0", "simple_1"), (
            "the items belong to the group, not to the filter"
        )
        await press(pilot, wait_for_screen, "p")
        assert read_verdicts(make_app.stores[0]) == [("simple_0", True)]
        await press(pilot, wait_for_screen, "escape")
        assert header_item_id(pilot.app) == list_item_id(pilot.app)


@pytest.mark.sweep
async def test_filter_changes_the_item(open_two_panes: Any, wait_for_screen: Any) -> None:
    async with open_two_panes() as pilot:
        await press(pilot, wait_for_screen, "F", *"error:odd", "enter")
        assert header_item_id(pilot.app) == list_item_id(pilot.app) == "simple_1"
        await press(pilot, wait_for_screen, "j", "backspace")
        assert header_item_id(pilot.app) == list_item_id(pilot.app) == "simple_3", (
            "the item at the cursor is shown"
        )
        assert " 4/60 " in "\n".join(await wait_for_screen(pilot)), (
            "its position is that of the new list"
        )


@pytest.mark.sweep
async def test_empty_list_has_no_item(open_two_panes: Any, wait_for_screen: Any) -> None:
    async with open_two_panes() as pilot:
        lines = await press(pilot, wait_for_screen, "F", *"official:pass", "enter", "tab")
        text = "\n".join(lines)
        assert (
            "no item matches" in text
            and header_item_id(pilot.app) == ""
            and focused_pane(pilot.app) == "list"
        )
        assert "No item selected" in text
        await press(pilot, wait_for_screen, "backspace")
        assert header_item_id(pilot.app) == list_item_id(pilot.app) == "simple_0"


@pytest.mark.sweep
async def test_last_item_of_a_filter_stays_until_it_is_left(
    open_two_panes: Any, wait_for_screen: Any, make_app: Any
) -> None:
    async with open_two_panes(rows=ROWS[:2]) as pilot:
        await press(pilot, wait_for_screen, "F", *"you:none", "enter", "tab", "p", "p")
        assert header_item_id(pilot.app) == "simple_1" and read_verdicts(make_app.stores[0]) == [
            ("simple_0", True),
            ("simple_1", True),
        ]
        assert "Queue complete: 2 items reviewed" in "\n".join(
            await press(pilot, wait_for_screen, "escape")
        )
        assert header_item_id(pilot.app) == ""


@pytest.mark.sweep
async def test_both_panes_are_blind(open_two_panes: Any, wait_for_screen: Any) -> None:
    async with open_two_panes(blind=True) as pilot:
        for keys in ([], ["j"], ["tab"], ["]"], ["R"], ["escape"]):
            text = "\n".join(await press(pilot, wait_for_screen, *keys))
            assert not {"✗", "✓"} & set(text), keys
            assert not [
                word for word in ("value_error", "failures", "is not one of") if word in text
            ], keys
        await press(pilot, wait_for_screen, "tab", "f", "[")
        assert "value_error" in "\n".join(await wait_for_screen(pilot)), (
            "reviews of others are shown after the own review"
        )


async def test_requested_item_has_the_focus(open_two_panes: Any, wait_for_screen: Any) -> None:
    async with open_two_panes(open_item="simple_7") as pilot:
        await wait_for_screen(pilot)
        assert (header_item_id(pilot.app), list_item_id(pilot.app), focused_pane(pilot.app)) == (
            "simple_7",
            "simple_7",
            "item",
        )
