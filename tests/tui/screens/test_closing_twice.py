"""Keys that leave a screen, pressed again while it opens or closes, leave it once and never end
the app.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.widgets import Static

from fcreview.store.rows import View
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.prompts import AskScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.widgets.base import GuardedModalScreen, GuardedScreen
from tests.tui.key_input import send_keys, wait_until
from tests.tui.themed_app import ThemedApp

ENTERS = ["enter"] * 12


class HostApp(ThemedApp[None]):
    def compose(self) -> ComposeResult:
        yield Static()


async def test_screen_returns_its_result_once() -> None:
    async with HostApp().run_test() as pilot:
        results: list[Any] = []
        screen = GuardedScreen[str]()
        await pilot.app.push_screen(screen, results.append)
        screen.dismiss("first")
        screen.dismiss("second")
        await pilot.pause()
        screen.dismiss("third")
        await pilot.pause()
        assert results == ["first"] and len(pilot.app.screen_stack) == 1


async def test_covered_screen_closes_after_it_is_uncovered() -> None:
    async with HostApp().run_test() as pilot:
        results: list[Any] = []
        below, above = GuardedScreen[str](), GuardedModalScreen[str]()
        await pilot.app.push_screen(below, lambda result: results.append(("below", result)))
        await pilot.app.push_screen(above, lambda result: results.append(("above", result)))
        below.dismiss("later")
        await pilot.pause()
        assert pilot.app.screen_stack[-1] is above and not results
        above.dismiss("now")
        await wait_until(lambda: len(pilot.app.screen_stack) == 1)
        await pilot.pause()
        assert results == [("above", "now"), ("below", "later")]


async def test_closed_screen_does_not_draw() -> None:
    """A closed screen has no widgets, so searching for one would end the app."""
    async with HostApp().run_test() as pilot:
        drawn: list[str] = []
        screen = GuardedScreen[str]()
        await pilot.app.push_screen(screen)
        screen.call_after_refresh(drawn.append, "open")
        await wait_until(lambda: drawn == ["open"])
        screen.call_after_refresh(drawn.append, "closed")
        screen.dismiss()
        await wait_until(lambda: len(pilot.app.screen_stack) == 1)
        await pilot.pause()
        await pilot.pause()
        assert drawn == ["open"]


@pytest.mark.parametrize(
    "keys", [["backspace"] * 2, ["q"] * 3, ["escape", "backspace", "q"], ["slash", "q", "escape"]]
)
async def test_item_can_be_left_while_it_opens(
    make_app: Any, wait_for_screen: Any, keys: list[str]
) -> None:
    app = make_app([{} for _ in range(3)], view=View(queue="dataset"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        for at in range(3):
            send_keys(app, "enter")
            for _ in range(at):  # the item is at another stage each time
                await asyncio.sleep(0.01)
            send_keys(app, *keys)
            await wait_for_screen(pilot)
            assert app.is_running and app.return_code is None, keys
            while not isinstance(app.screen, QueueScreen):
                send_keys(app, "escape")
                await wait_for_screen(pilot)
    assert app.return_value is None


async def test_repeated_enter_closes_a_prompt_once(make_app: Any, wait_for_screen: Any) -> None:
    app = make_app([{} for _ in range(3)], view=View(queue="dataset"), open_item="simple_0")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        send_keys(app, "slash")
        await wait_until(lambda: isinstance(app.screen, AskScreen) and app.focused is not None)
        send_keys(app, "a", "b", *ENTERS)
        await wait_for_screen(pilot)
        assert isinstance(app.screen, ItemScreen)
        assert app.screen.cursor.last_search == "ab"


async def test_repeated_key_leaves_the_list_but_does_not_quit(
    make_app: Any, wait_for_screen: Any
) -> None:
    app = make_app([{} for _ in range(3)], view=View(queue="dataset"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        await pilot.press("o")
        await wait_for_screen(pilot)
        send_keys(app, "q", "q")
        await wait_for_screen(pilot)
        assert isinstance(app.screen, QueueScreen) and app.is_running and app.return_value is None
        send_keys(app, "q")
        await wait_until(lambda: app.return_value == 0)
