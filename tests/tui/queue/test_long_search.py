"""What takes long says so, and can be left: what was shown is there again at once."""

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
from fcreview.tui.queue.loader import QueuePage, QueueRequest, load_page
from fcreview.tui.widgets import base
from tests.tui.conftest import screen_lines
from tests.tui.idle import held_threads

ENDLESS = "SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b WHERE a.range + b.range = -1"


@pytest.fixture(autouse=True)
def told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PROGRESS_INTERVAL", 0.05)


class Endless:
    """Asks a store something that has no end, and remembers that it was broken off."""

    broken_off = 0

    def __init__(self) -> None:
        self._begun = Event()

    def __call__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._begun.set()
        try:
            connection.execute(ENDLESS)
        except duckdb.InterruptException:
            self.broken_off += 1
            raise

    async def begun(self, pilot: Pilot[Any]) -> None:
        """What waits is told before: a question that has not begun is not broken off, it is never asked."""
        async with asyncio.timeout(30):
            while not self._begun.is_set():
                await pilot.pause(0.02)

    async def interrupted(self, pilot: Pilot[Any]) -> None:
        """The screen is shown again before the store's thread notices the interrupt."""
        async with asyncio.timeout(30):
            while not self.broken_off:
                await pilot.pause(0.02)
        assert self.broken_off == 1


async def told(pilot: Pilot[Any], words: str) -> str:
    """The line that says it, as soon as it is there."""
    async with asyncio.timeout(30):
        while not (found := [line for line in screen_lines(pilot.app) if words in line]):
            await pilot.pause(0.02)
    return found[0]


async def test_a_long_search_tells_how_long_it_takes_and_escape_leaves_it(
    make_app: Any, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless()

    def searched(request: QueueRequest, store: Store) -> QueuePage:
        if "kangaroo" in request.view.where:
            endless(store.connection)
        return load_page(request, store)

    monkeypatch.setattr(loader, "load_page", searched)
    async with make_app([{}, {}]).run_test(size=(80, 24)) as pilot:
        before = await settled(pilot)
        with held_threads():
            await pilot.press("f", *"text:kangaroo", "enter")
            assert "Esc cancels" in await told(pilot, "searching 2 items")
            await pilot.press("escape")
        assert await settled(pilot) == before
        await endless.interrupted(pilot)


async def test_the_first_rows_that_are_long_in_coming_tell_how_long(
    make_app: Any, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = Event()

    def late(request: QueueRequest, store: Store) -> QueuePage:
        assert free.wait(30)
        return load_page(request, store)

    monkeypatch.setattr(loader, "load_page", late)
    with held_threads():
        async with make_app([{}, {}], view=View(queue="suspects")).run_test(size=(80, 24)) as pilot:
            try:
                await told(pilot, "reading the store · 1 s")
            finally:
                free.set()
            await told(pilot, "suspects")
            assert "reading the store" not in "\n".join(await settled(pilot))


async def test_clusters_that_are_long_in_coming_can_be_left(
    make_app: Any, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless()

    def clusters(store: Store, view: View, by: int) -> list[Cluster]:
        endless(store.connection)
        return []

    monkeypatch.setattr(Store, "fetch_clusters", clusters)
    async with make_app([{}, {}]).run_test(size=(80, 24)) as pilot:
        before = await settled(pilot)
        with held_threads():
            await pilot.press("c")
            await told(pilot, "counting failures")
            await endless.begun(pilot)
            assert screen_lines(pilot.app)[:6] == before[:6], "the queue stays in sight"
            await pilot.press("escape")
        assert await settled(pilot) == before
        await endless.interrupted(pilot)


async def test_a_comparison_that_is_long_in_coming_can_be_left(
    make_app: Any, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless()

    def outcomes(told: UnblindedAnalysis, view: View, runs: Sequence[int], source: str) -> None:
        endless(told._connection)

    monkeypatch.setattr(UnblindedAnalysis, "fetch_outcomes", outcomes)
    async with make_app(runs={"maple-8b": [{}], "birch-7b": [{}]}).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        with held_threads():
            await pilot.press("r", "j", "x", "j", "x")
            await told(pilot, "comparing")
            await endless.begun(pilot)
            await pilot.press("escape")
        runs = await settled(pilot)
        assert "2 runs" in runs[0], runs
        await pilot.press("escape")
        assert await settled(pilot)
        await endless.interrupted(pilot)
