"""Leaving while the store is still at work neither hangs nor complains."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import pytest

from fcreview.store.reviews.reader import read_journals
from fcreview.store.rows import View
from fcreview.tui.screens.item import ItemScreen

ENDLESS = "SELECT count(*) FROM range(10000000000) a, range(1000) b"
"""Takes hours unless it is broken off."""


NEXT = "right_square_bracket"
"""The item behind the first one was read ahead: what lies behind that one is read when it is shown."""


class Stuck:
    """Makes one of the store's methods endless, and knows when somebody waits for it."""

    def __init__(self, store: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = threading.Event()

        def endless(*_: Any) -> Any:
            self.begun.set()
            return store.connection.execute(ENDLESS).fetchall()

        monkeypatch.setattr(store, method, endless)


@pytest.mark.parametrize(
    ("method", "keys"),
    [("count", "f s i m enter"), ("clusters", "c"), ("issues", "i"), ("detail", "enter"), ("runs", "o enter")],
)
async def test_the_queue_is_left_while_a_question_is_open(
    make_app: Any,
    settled: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
    keys: str,
) -> None:
    app = make_app([{} for _ in range(5)])
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stuck = Stuck(make_app.stores[-1], method, monkeypatch)
        await pilot.press(*keys.split())
        assert stuck.begun.wait(10)
        start = time.monotonic()
        await pilot.press("ctrl+q")
    assert time.monotonic() - start < 5
    assert app.return_value == 0
    gc.collect()
    assert not caplog.records, "no exception was left lying about"


@pytest.mark.parametrize(
    ("method", "keys"), [("detail", NEXT), ("page", NEXT), ("page", f"{NEXT} {NEXT}"), ("facets", "e"), ("raw", "R")]
)
async def test_an_item_is_left_while_a_question_is_open(
    make_app: Any,
    settled: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
    keys: str,
) -> None:
    app = make_app([{} for _ in range(5)], view=View(queue="dataset"), open_item="simple_0")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert isinstance(app.screen, ItemScreen)
        stuck = Stuck(make_app.stores[-1], method, monkeypatch)
        await pilot.press(*keys.split())
        assert stuck.begun.wait(10)
        start = time.monotonic()
        await pilot.press("ctrl+q")
    assert time.monotonic() - start < 5
    assert app.return_value == 0
    gc.collect()
    assert not caplog.records


async def test_a_verdict_behind_a_question_that_does_not_end_is_saved(
    make_app: Any, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app([{} for _ in range(5)], view=View(queue="dataset"), open_item="simple_0")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        stuck = Stuck(make_app.stores[-1], "page", monkeypatch)
        await pilot.press(NEXT)
        assert stuck.begun.wait(10)
        await pilot.press(NEXT, "p", "f", "ctrl+q")
    assert app.return_value == 1
    events, _ = read_journals(make_app.stores[-1].workspace)
    assert [(event.key.id, event.verdict) for event in events] == [
        ("simple_1", True),
        ("simple_1", False),
    ]
