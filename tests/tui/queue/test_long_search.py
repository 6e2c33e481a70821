"""A search that takes long says so, and can be left: what was shown is there again at once."""

from __future__ import annotations

import asyncio
from typing import Any

import duckdb
import pytest

from fcreview.store.store import Store
from fcreview.tui.queue import loading
from fcreview.tui.queue.loading import Loaded, Request, load_rows
from fcreview.tui.screens.panes import queue as pane
from tests.tui.conftest import screen_lines

ENDLESS = "SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b WHERE a.range + b.range = -1"


async def test_a_long_search_tells_how_long_it_takes_and_escape_leaves_it(
    make_app: Any, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_off = []

    def searched(request: Request, store: Store) -> Loaded:
        if "kangaroo" in request.view.where:
            try:
                store.connection.execute(ENDLESS)
            except duckdb.InterruptException:
                broken_off.append(request.view.where)
                raise
        return load_rows(request, store)

    monkeypatch.setattr(loading, "load_rows", searched)
    monkeypatch.setattr(pane, "LATE", 0.05)
    async with make_app([{}, {}]).run_test(size=(80, 24)) as pilot:
        before = await settled(pilot)
        await pilot.press("f", *"text:kangaroo", "enter")
        async with asyncio.timeout(30):
            while not any("looking through 2 items" in line for line in screen_lines(pilot.app)):
                await pilot.pause(0.02)
        assert any("Esc leaves them" in line for line in screen_lines(pilot.app))
        await pilot.press("escape")
        assert await settled(pilot) == before
        assert broken_off == ["text:kangaroo"]
