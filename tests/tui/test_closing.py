"""Leaving while the store is still at work neither hangs nor complains, and loses nothing that was said."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Any

import pytest

from fcreview.store.reviews.journal_reader import read_journals
from fcreview.store.rows import View
from fcreview.tui.screens.item_pane import ItemScreen
from tests.tui.key_input import send_keys, wait_until

pytestmark = pytest.mark.slow  # questions that do not end

ENDLESS = "SELECT count(*) FROM range(10000000000) a, range(1000) b"
"""Takes hours unless it is broken off."""
NEXT = "right_square_bracket"
"""The item behind the first one was read ahead: what lies behind that one is read when it is shown."""


class Stuck:
    """Makes one of the store's methods endless, and knows when somebody waits for it."""

    def __init__(self, store: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._begun = threading.Event()

        def endless(*_: Any, **__: Any) -> Any:
            self._begun.set()
            return store.connection.execute(ENDLESS).fetchall()

        monkeypatch.setattr(store, method, endless)

    async def begun(self) -> None:
        assert await asyncio.to_thread(self._begun.wait, 10)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("before", "method", "keys"),
    [("f s i m", "count_items", "enter"), ("j", "fetch_clusters", "c"), ("j", "read_detail", "enter")],
)
async def test_the_queue_is_left_while_a_question_is_open(
    make_app: Any, settled: Any, monkeypatch: Any, caplog: Any, before: str, method: str, keys: str
) -> None:
    app = make_app([{} for _ in range(5)])
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*before.split())
        stuck = Stuck(make_app.stores[-1], method, monkeypatch)
        send_keys(app, *keys.split())
        await stuck.begun()
        send_keys(app, "ctrl+q")
        await wait_until(lambda: app.return_value == 0)
        start = time.monotonic()
    assert time.monotonic() - start < 5
    gc.collect()
    assert not caplog.records, "no exception was left lying about"


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("method", "keys"),
    [("fetch_page", NEXT), ("fetch_page", f"{NEXT} {NEXT}"), ("fetch_used_tags", "e"), ("read_raw_record", "R")],
)
async def test_an_item_is_left_while_a_question_is_open(
    make_app: Any, settled: Any, monkeypatch: Any, caplog: Any, method: str, keys: str
) -> None:
    app = make_app([{} for _ in range(5)], view=View(queue="dataset"), open_item="simple_0")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert isinstance(app.screen, ItemScreen)
        stuck = Stuck(make_app.stores[-1], method, monkeypatch)
        send_keys(app, *keys.split())
        await stuck.begun()
        send_keys(app, "ctrl+q")
        await wait_until(lambda: app.return_value == 0)
        start = time.monotonic()
    assert time.monotonic() - start < 5
    gc.collect()
    assert not caplog.records


async def test_a_verdict_behind_a_question_that_does_not_end_is_saved(
    make_app: Any, settled: Any, monkeypatch: Any
) -> None:
    app = make_app([{} for _ in range(5)], view=View(queue="dataset"), open_item="simple_0")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stuck = Stuck(make_app.stores[-1], "fetch_page", monkeypatch)
        send_keys(app, NEXT)
        await stuck.begun()
        send_keys(app, NEXT, "p", "f", "ctrl+q")
        await wait_until(lambda: app.return_value == 1)
    said, _ = read_journals(make_app.stores[-1].workspace)
    assert [(event.key.id, event.verdict) for event in said] == [("simple_1", True), ("simple_1", False)]
