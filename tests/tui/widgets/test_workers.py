import asyncio

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import WorkerFailed

from fcreview.tui.widgets.base import work


class Pane(Vertical):
    """Waits for what comes only when its one widget has gone."""

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


async def begun(app: App[None], wants: str = "bar") -> Pane:
    pane = Pane(wants)

    class Shown(Screen[None]):
        def compose(self) -> ComposeResult:
            yield pane

    await app.push_screen(Shown())
    pane.load()
    return pane


@pytest.mark.parametrize("leaves", ["screen", "app"])
async def test_what_comes_when_its_screen_is_taken_down_is_for_nobody(leaves: str) -> None:
    app: App[None] = App()
    async with app.run_test():
        pane = await begun(app)
        if leaves == "screen":
            await app.pop_screen()
            assert pane.missed
    assert pane.missed and not pane.shown


async def test_what_comes_in_time_is_shown() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        pane = await begun(app)
        pane.come.set()
        await pilot.pause()
        assert pane.shown


async def test_a_widget_that_is_missed_while_its_screen_stands_is_a_defect() -> None:
    app: App[None] = App()
    with pytest.raises(WorkerFailed, match="nowhere"):
        async with app.run_test() as pilot:
            pane = await begun(app, wants="nowhere")
            pane.come.set()
            await pilot.pause()
