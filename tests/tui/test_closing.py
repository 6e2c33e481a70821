"""Quitting during a slow query neither hangs nor fails, and keeps all reviews."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Any

import pytest

from fcreview.store.reviews.journal_reader import read_events_and_warnings
from fcreview.store.rows import View
from fcreview.tui.screens.item_pane import ItemScreen
from tests.examples import only_long
from tests.tui.key_input import send_keys, wait_until

pytestmark = pytest.mark.slow  # queries that do not end

ENDLESS = "SELECT count(*) FROM range(10000000000) a, range(1000) b"
"""A query that takes hours unless it is interrupted."""
NEXT = "right_square_bracket"
"""The next item is prefetched; the item after it is read when it is shown."""


class EndlessMethod:
    """Makes a method of the store endless, and signals its first call."""

    def __init__(self, store: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._called = threading.Event()

        def endless(*_: Any, **__: Any) -> Any:
            self._called.set()
            return store.connection.execute(ENDLESS).fetchall()

        monkeypatch.setattr(store, method, endless)

    async def wait_for_call(self) -> None:
        assert await asyncio.to_thread(self._called.wait, 10)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("open_item", "before", "method", "keys"),
    [
        (None, "F s i m", "count_items", "enter"),
        pytest.param(None, "j", "fetch_clusters", "c", marks=only_long),
        (None, "j", "read_detail", "enter"),
        ("simple_0", "", "fetch_page", NEXT),
        pytest.param("simple_0", "", "fetch_page", f"{NEXT} {NEXT}", marks=only_long),
        pytest.param("simple_0", "", "fetch_used_tags", "e", marks=only_long),
        pytest.param("simple_0", "", "read_raw_record", "R", marks=only_long),
    ],
)
async def test_app_closes_during_a_query(
    make_app: Any,
    wait_for_screen: Any,
    monkeypatch: Any,
    caplog: Any,
    open_item: str | None,
    before: str,
    method: str,
    keys: str,
) -> None:
    app = make_app([{} for _ in range(5)], view=View(queue="dataset"), open_item=open_item)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        assert isinstance(app.screen, ItemScreen) == (open_item is not None)
        await pilot.press(*before.split())
        method_call = EndlessMethod(make_app.stores[-1], method, monkeypatch)
        send_keys(app, *keys.split())
        await method_call.wait_for_call()
        send_keys(app, "ctrl+q")
        await wait_until(lambda: app.return_value == 0)
        start = time.monotonic()
    assert time.monotonic() - start < 5
    gc.collect()
    assert not caplog.records, "no exception was left unhandled"


async def test_verdict_after_an_endless_query_is_saved(
    make_app: Any, wait_for_screen: Any, monkeypatch: Any
) -> None:
    app = make_app([{} for _ in range(5)], view=View(queue="dataset"), open_item="simple_0")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_screen(pilot)
        method_call = EndlessMethod(make_app.stores[-1], "fetch_page", monkeypatch)
        send_keys(app, NEXT)
        await method_call.wait_for_call()
        send_keys(app, NEXT, "p", "f", "ctrl+q")
        await wait_until(lambda: app.return_value == 1)
    reviews, _ = read_events_and_warnings(make_app.stores[-1].workspace)
    assert [(event.key.id, event.verdict) for event in reviews] == [
        ("simple_1", True),
        ("simple_1", False),
    ]
