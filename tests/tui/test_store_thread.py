"""Neither store nor reviewer is ever used on the loop, whichever key is pressed; and the next item is read ahead."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
from fcreview.tui.session import Session
from tests.store.factory import Imported

pytestmark = pytest.mark.slow  # a store that is slow on purpose

QUEUE_KEYS = (
    *("end home j", "o enter", "c l tab enter", "F", "r j enter", "i q", "f i d colon s i m enter", "F"),
    *("slash c i t y enter", "F", "enter", "q"),
)
ITEM_KEYS = (
    *("j d t full_stop a", "f", "left_square_bracket", "w m", "e space enter", "n w h y enter", "T u T", "z", "z"),
    *("R", "q", "y", "slash c i t y enter", "1", "right_square_bracket", "p", "p", "p", "p", "q"),
)


class Watched:
    """Hands everything on, and notes what was asked for in which thread."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.calls: list[tuple[str, bool]] = []
        """(what, whether on the loop)"""

    def __getattr__(self, name: str) -> Any:
        if name != "workspace":  # a path, kept in memory
            self.calls.append((name, threading.current_thread() is threading.main_thread()))
        return getattr(self._real, name)

    @property
    def on_the_loop(self) -> list[str]:
        return [name for name, loop in self.calls if loop]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


async def settle(pilot: Pilot[Any]) -> None:
    for _ in range(2):
        while list(pilot.app.workers):
            with suppress(WorkerCancelled):
                await pilot.app.workers.wait_for_complete()
            await asyncio.sleep(0)
        await pilot.pause()


@pytest.fixture
def watched(imported: Imported, tmp_path: Path) -> Any:
    """Opens an app on a real store and reviewer, both watched."""
    rows = [{"error_type": "value_error:string"}, {"issue": "cannot be read"}, {}, {}, {"official": True}]
    workspace = imported(tmp_path / "work", {"maple-8b": rows, "birch-70b": rows})

    @asynccontextmanager
    async def opened(**options: Any) -> AsyncIterator[tuple[Pilot[Any], Watched, Watched]]:
        with Store.open(workspace, "alice") as real:
            store, reviewer = Watched(real), Watched(Reviewer(real, Journal(workspace, "alice")))
            session = Session(None, "alice", store, reviewer)  # type: ignore[arg-type]
            app = FcreviewApp(session, **options)
            async with app.run_test(size=(80, 24)) as pilot:
                await settle(pilot)
                yield pilot, store, reviewer

    return opened


@pytest.mark.sweep
async def test_the_queue_asks_beside_the_loop(watched: Any) -> None:
    async with watched() as (pilot, store, _):
        for keys in QUEUE_KEYS:
            await pilot.press(*keys.split())
            await settle(pilot)
        assert set(store.names) >= {
            "count_items",
            "fetch_page",
            "find_position",
            "fetch_runs",
            "fetch_clusters",
            "fetch_issues",
            "read_detail",
            "reviews",
        }
        assert store.on_the_loop == []


@pytest.mark.sweep
async def test_the_item_screen_asks_and_reviews_beside_the_loop(watched: Any) -> None:
    async with watched(view=View(queue="dataset"), open_item="simple_0") as (pilot, store, reviewer):
        assert isinstance(pilot.app.screen, ItemScreen)
        for keys in ITEM_KEYS:
            await pilot.press(*keys.split())
            await settle(pilot)
        assert set(store.names) >= {
            "read_detail",
            "count_items",
            "find_position",
            "fetch_page",
            "fetch_used_tags",
            "read_raw_record",
            "read_score_record",
        }
        assert {name for name in reviewer.names if name != "annotator"} == {"review", "undo"}
        assert (store.on_the_loop, reviewer.on_the_loop) == ([], [])


async def test_a_verdict_shows_the_next_item_without_reading_it_then(watched: Any) -> None:
    async with watched(view=View(queue="dataset"), open_item="simple_0") as (pilot, store, _):
        pane = pilot.app.screen.query_one(ItemPane)
        before = len(store.calls)
        shown: list[tuple[str, list[str]]] = []
        begin = pane.show_item
        pane.show_item = lambda of, remark: (shown.append((of.detail.row.id, store.names[before:])), begin(of, remark))
        await pilot.press("f")
        await settle(pilot)
        assert shown == [("simple_2", [])], "item 1 is an issue without an item; nothing is asked until it is shown"
        before = len(store.calls)
        await pilot.press("right_square_bracket")
        await settle(pilot)
        assert shown[1:] == [("simple_3", [])]
