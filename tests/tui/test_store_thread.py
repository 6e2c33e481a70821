"""Store and reviewer are never used in the event loop, and the next item is prefetched."""

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

from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemPane, ItemScreen
from fcreview.tui.session import Session
from tests.store.factory import Imported

pytestmark = pytest.mark.slow  # waits for a slow store

QUEUE_KEYS = (
    *(
        "end home j",
        "o enter",
        "c l tab enter",
        "F",
        "r j enter",
        "i q",
        "f i d colon s i m enter",
        "F",
    ),
    *("slash c i t y enter", "F", "enter", "q"),
)
ITEM_KEYS = (
    *(
        "j d t full_stop a",
        "f",
        "left_square_bracket",
        "w m",
        "e space enter",
        "n w h y enter",
        "T u T",
        "z",
        "z",
    ),
    *("R", "q", "y", "slash c i t y enter", "1", "right_square_bracket", "p", "p", "p", "p", "q"),
)


class Recorder:
    """Passes calls on, and records the attribute and whether it was used in the event loop."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.calls: list[tuple[str, bool]] = []
        """(attribute, whether in the event loop)"""

    def __getattr__(self, name: str) -> Any:
        if name != "workspace":  # a path in memory
            self.calls.append((name, threading.current_thread() is threading.main_thread()))
        return getattr(self._real, name)

    @property
    def names_in_loop(self) -> list[str]:
        """Methods called on the thread of the app. A query is interrupted from another thread."""
        return [name for name, loop in self.calls if loop and name != "interrupt"]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


async def wait_for_workers(pilot: Pilot[Any]) -> None:
    for _ in range(2):
        while list(pilot.app.workers):
            with suppress(WorkerCancelled):
                await pilot.app.workers.wait_for_complete()
            await asyncio.sleep(0)
        await pilot.pause()


@pytest.fixture
def open_recorded_app(imported: Imported, tmp_path: Path) -> Any:
    """Return a function that opens an app whose store and reviewer are recorded."""
    rows = [
        {"error_type": "value_error:string"},
        {"issue": "cannot be read"},
        {},
        {},
        {"official": True},
    ]
    workspace = imported(tmp_path / "work", {"maple-8b": rows, "birch-70b": rows})

    @asynccontextmanager
    async def open_app(**options: Any) -> AsyncIterator[tuple[Pilot[Any], Recorder, Recorder]]:
        with Store.open(workspace, "alice") as real:
            store, reviewer = Recorder(real), Recorder(Reviewer(real, Journal(workspace, "alice")))
            session = Session(None, "alice", store, reviewer)  # type: ignore[arg-type]
            app = FcreviewApp(session, **options)
            async with app.run_test(size=(80, 24)) as pilot:
                await wait_for_workers(pilot)
                yield pilot, store, reviewer

    return open_app


@pytest.mark.sweep
async def test_queue_queries_outside_the_loop(open_recorded_app: Any) -> None:
    async with open_recorded_app() as (pilot, store, _):
        for keys in QUEUE_KEYS:
            await pilot.press(*keys.split())
            await wait_for_workers(pilot)
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
        assert store.names_in_loop == []


@pytest.mark.sweep
async def test_item_screen_queries_and_reviews_outside_the_loop(open_recorded_app: Any) -> None:
    async with open_recorded_app(view=View(queue="dataset"), open_item="simple_0") as (
        pilot,
        store,
        reviewer,
    ):
        assert isinstance(pilot.app.screen, ItemScreen)
        for keys in ITEM_KEYS:
            await pilot.press(*keys.split())
            await wait_for_workers(pilot)
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
        assert (store.names_in_loop, reviewer.names_in_loop) == ([], [])


async def test_verdict_shows_the_prefetched_item(open_recorded_app: Any) -> None:
    async with open_recorded_app(view=View(queue="dataset"), open_item="simple_0") as (
        pilot,
        store,
        _,
    ):
        pane = pilot.app.screen.query_one(ItemPane)
        before = len(store.calls)
        shown: list[tuple[str, list[str]]] = []
        begin = pane.show_item
        pane.show_item = lambda of, remark: (
            shown.append((of.detail.row.id, store.names[before:])),
            begin(of, remark),
        )
        await pilot.press("f")
        await wait_for_workers(pilot)
        assert shown == [("simple_2", [])], (
            "item 1 is an issue without an item; the next item needs no query"
        )
        before = len(store.calls)
        await pilot.press("right_square_bracket")
        await wait_for_workers(pilot)
        assert shown[1:] == [("simple_3", [])]
