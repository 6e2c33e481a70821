"""Slow queries show their progress, and Esc cancels them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from threading import Event
from typing import Any

import duckdb
import pytest
from textual.pilot import Pilot

from fcreview.matching.clusters import Cluster
from fcreview.store.analysis import UnblindedAnalysis
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.tui.queue import loader
from fcreview.tui.queue.loader import QueuePage, QueueRequest, read_page
from fcreview.tui.widgets import base
from tests.tui.conftest import screen_lines
from tests.tui.idle import ignore_threads

ENDLESS = (
    "SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b WHERE a.range + b.range ="
    " -1"
)


@pytest.fixture(autouse=True)
def show_progress_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PROGRESS_INTERVAL", 0.05)


class EndlessQuery:
    """A query that never ends. Counts how often it was interrupted."""

    interrupts = 0

    def __init__(self) -> None:
        self._started = Event()

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._started.set()
        try:
            connection.execute(ENDLESS)
        except duckdb.InterruptException:
            self.interrupts += 1
            raise

    async def wait_for_start(self, pilot: Pilot[Any]) -> None:
        """Wait until the query runs. A query that has not started is not interrupted."""
        async with asyncio.timeout(30):
            while not self._started.is_set():
                await pilot.pause(0.02)

    async def wait_for_interrupt(self, pilot: Pilot[Any]) -> None:
        """Wait for the interrupt. The screen changes back before it."""
        async with asyncio.timeout(30):
            while not self.interrupts:
                await pilot.pause(0.02)
        assert self.interrupts == 1


async def wait_for_line(pilot: Pilot[Any], words: str) -> str:
    """Return the first line with these words."""
    async with asyncio.timeout(30):
        while not (found := [line for line in screen_lines(pilot.app) if words in line]):
            await pilot.pause(0.02)
    return found[0]


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> EndlessQuery:
    """Let the search for kangaroo not end before it is interrupted."""
    endless = EndlessQuery()

    def search_endlessly(request: QueueRequest, store: Store) -> QueuePage:
        if "kangaroo" in request.view.where:
            endless(store.connection)
        return read_page(request, store)

    monkeypatch.setattr(loader, "read_page", search_endlessly)
    return endless


async def test_long_search_shows_progress_and_escape_cancels(
    make_app: Any, wait_for_screen: Any, endless: EndlessQuery
) -> None:
    async with make_app([{}, {}]).run_test(size=(80, 24)) as pilot:
        before = await wait_for_screen(pilot)
        with ignore_threads():
            await pilot.press("F", *"text:kangaroo", "enter")
            assert "Esc cancels" in await wait_for_line(pilot, "searching 2 items")
            await pilot.press("escape")
        assert await wait_for_screen(pilot) == before
        await endless.wait_for_interrupt(pilot)


async def test_enter_applies_a_filter_while_a_list_loads(
    make_app: Any, wait_for_screen: Any, endless: EndlessQuery
) -> None:
    async with make_app([{}, {}]).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        with ignore_threads():
            await pilot.press("F", *"text:kangaroo", "enter")
            await endless.wait_for_start(pilot)
            await pilot.press("F", "ctrl+u", *"simple_1", "enter")
            await wait_for_line(pilot, "filter simple_1 ")
        assert "simple_1" in "".join((await wait_for_screen(pilot))[3:6])


@pytest.mark.parametrize("keys", [["end"], ["s", "j"]])
async def test_keys_before_the_rows_wait_for_them(
    make_app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    free = Event()

    def load_late(request: QueueRequest, store: Store) -> QueuePage:
        assert free.wait(30)
        return read_page(request, store)

    monkeypatch.setattr(loader, "read_page", load_late)
    async with make_app([{}, {}]).run_test(size=(80, 24)) as pilot:
        with ignore_threads():
            await pilot.press(*keys)
            free.set()
        assert "2/2" in (await wait_for_screen(pilot))[2]
        assert pilot.app.screen.list.cursor == 1


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_rows_of_another_view_are_not_shown_under_the_new_title(
    make_app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    free = Event()

    def load_late(request: QueueRequest, store: Store) -> QueuePage:
        assert request.view.queue != "suspects" or free.wait(30)
        return read_page(request, store)

    monkeypatch.setattr(loader, "read_page", load_late)
    async with make_app([{}, {}]).run_test(size=size) as pilot:
        await wait_for_screen(pilot)
        with ignore_threads():
            await pilot.press("s", "j")
            try:
                # Beside the list, the pane of the former item is emptied a moment later.
                list_cells = pilot.app.screen.list.region.right
                text = "\n".join(line[:list_cells] for line in screen_lines(pilot.app))
                assert ("all items · failures first" in text) == ("simple_0" in text), (
                    "the next view has a title without rows"
                )
                await wait_for_line(pilot, "loading suspects")
                async with asyncio.timeout(30):
                    while any("simple_" in line for line in screen_lines(pilot.app)):
                        await pilot.pause(0.02)
                assert "suspects" in screen_lines(pilot.app)[0]
            finally:
                free.set()
        assert any("simple_0" in line for line in await wait_for_screen(pilot))


async def test_slow_first_rows_show_progress(
    make_app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = Event()

    def load_late(request: QueueRequest, store: Store) -> QueuePage:
        assert free.wait(30)
        return read_page(request, store)

    monkeypatch.setattr(loader, "read_page", load_late)
    with ignore_threads():
        async with make_app([{}, {}], view=View(queue="suspects")).run_test(size=(80, 24)) as pilot:
            try:
                await wait_for_line(pilot, "reading the store · 1 s")
            finally:
                free.set()
            await wait_for_line(pilot, "suspects")
            assert "reading the store" not in "\n".join(await wait_for_screen(pilot))


async def test_counting_failures_can_be_cancelled(
    make_app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = EndlessQuery()

    def count_endlessly(store: Store, view: View, grouping: int) -> list[Cluster]:
        endless(store.connection)
        return []

    monkeypatch.setattr(Store, "fetch_clusters", count_endlessly)
    async with make_app([{}, {}]).run_test(size=(80, 24)) as pilot:
        before = await wait_for_screen(pilot)
        with ignore_threads():
            await pilot.press("c")
            await wait_for_line(pilot, "counting failures")
            await endless.wait_for_start(pilot)
            assert screen_lines(pilot.app)[:6] == before[:6], "the queue stays visible"
            await pilot.press("escape")
        assert await wait_for_screen(pilot) == before
        await endless.wait_for_interrupt(pilot)


async def test_comparison_can_be_cancelled(
    make_app: Any, wait_for_screen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = EndlessQuery()

    def compare_endlessly(
        analysis: UnblindedAnalysis, view: View, runs: Sequence[int], source: str
    ) -> None:
        endless(analysis._connection)

    monkeypatch.setattr(UnblindedAnalysis, "fetch_outcomes", compare_endlessly)
    async with make_app(runs={"maple-8b": [{}], "birch-7b": [{}]}).run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        with ignore_threads():
            await pilot.press("r", "j", "equals_sign", "j", "equals_sign")
            await wait_for_line(pilot, "comparing")
            await endless.wait_for_start(pilot)
            await pilot.press("escape")
        runs = await wait_for_screen(pilot)
        assert "2 runs" in runs[0], runs
        await pilot.press("escape")
        assert await wait_for_screen(pilot)
        await endless.wait_for_interrupt(pilot)
