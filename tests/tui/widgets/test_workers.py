import asyncio

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import WorkerFailed

from fcreview.tui.widgets.base import ProgressTimer, work


class Pane(Vertical):
    """A widget whose worker continues only after its child is gone."""

    def __init__(self, wants: str) -> None:
        super().__init__()
        self.wants, self.come, self.shown = wants, asyncio.Event(), False
        self.missed = False

    def compose(self) -> ComposeResult:
        yield Static(id="bar")

    @work()
    async def load(self) -> None:
        await self.come.wait()
        self.missed = True
        self.query_one(f"#{self.wants}")
        self.missed, self.shown = False, True

    async def on_unmount(self) -> None:
        self.come.set()
        for _ in range(3):
            await asyncio.sleep(0)


async def open_pane(app: App[None], wants: str = "bar") -> Pane:
    pane = Pane(wants)

    class HostScreen(Screen[None]):
        def compose(self) -> ComposeResult:
            yield pane

    await app.push_screen(HostScreen())
    pane.load()
    return pane


@pytest.mark.parametrize("leaves", ["screen", "app"])
async def test_result_after_the_screen_was_removed_is_ignored(leaves: str) -> None:
    app: App[None] = App()
    async with app.run_test():
        pane = await open_pane(app)
        if leaves == "screen":
            await app.pop_screen()
            assert pane.missed
    assert pane.missed and not pane.shown


async def test_result_in_time_is_shown() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        pane = await open_pane(app)
        pane.come.set()
        await pilot.pause()
        assert pane.shown


async def test_missing_widget_on_an_active_screen_is_an_error() -> None:
    app: App[None] = App()
    with pytest.raises(WorkerFailed, match="nowhere"):
        async with app.run_test() as pilot:
            pane = await open_pane(app, wants="nowhere")
            pane.come.set()
            await pilot.pause()


class TimedScreen(Screen[None]):
    """A screen whose timer ticks once more after the widgets were removed."""

    def __init__(self, name_of_bar: str = "bar") -> None:
        super().__init__()
        self.timer = ProgressTimer(self, lambda _: self.query_one(f"#{name_of_bar}"))

    def compose(self) -> ComposeResult:
        yield Static(id="bar")


async def test_timer_of_a_removed_screen_reports_nothing() -> None:
    app: App[None] = App()
    async with app.run_test():
        screen = TimedScreen()
        await app.push_screen(screen)
        screen.timer.report_elapsed_time()
        await app.pop_screen()
        screen.timer.report_elapsed_time()


async def test_timer_of_an_open_screen_reports_a_missing_widget() -> None:
    app: App[None] = App()
    async with app.run_test():
        screen = TimedScreen("other")
        await app.push_screen(screen)
        with pytest.raises(NoMatches):
            screen.timer.report_elapsed_time()
