"""Verdicts apply only to the item that the header names, however fast keys come."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.tui.app import FcreviewApp
from fcreview.tui.queue.loader import QueuePage, QueueRequest
from fcreview.tui.queue_state import CursorPosition
from fcreview.tui.review.prefetch import DisplayedItem
from fcreview.tui.screens import queue_pane
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.screens.queue_pane import QueuePane
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import LineBar
from tests.examples import split_by_form
from tests.store.factory import Imported
from tests.tui.conftest import screen_lines
from tests.tui.key_input import send_keys, wait_until
from tests.tui.screens.split.pane_facts import (
    TWO,
    focused_pane,
    header_item_id,
    list_item_id,
    queue_screen,
    read_verdicts,
    split_view,
)

KEYS = [
    "j",
    "j",
    "k",
    "end",
    "g",
    "d",
    "tab",
    "tab",
    "enter",
    "escape",
    "p",
    "p",
    "u",
    "z",
    "]",
    "[",
    "F",
]
"""`u` is half a page up in the list. Keys that open text inputs are omitted."""
SHIFTED = {"]": "right_square_bracket", "[": "left_square_bracket"}


class SlowReviewer(Reviewer):
    """A reviewer on a slow disk."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Journal(store.workspace, "alice"))

    def review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        time.sleep(0.01)
        return super().review(item, annotation, detail)


class PaneWatcher:
    """An app with two panes. `reviewed` has the item of each verdict that a key gave."""

    def __init__(self, app: FcreviewApp, store: Store) -> None:
        self.app, self.store = app, store
        self.reviewed: list[str] = []

    def watch(self) -> None:
        pane = queue_screen(self.app).query_one(ItemPane)
        record, begin = pane.item_reviewer.record_verdict, pane.show_item
        before = ""

        def show_item(shown: Any, remark: Any) -> None:
            nonlocal before
            before = header_item_id(self.app)
            begin(shown, remark)

        def record_verdict(about: Any, judgement: Any) -> None:
            name = about.detail.row.id
            assert name in (header_item_id(self.app), before), (
                "the item is named now, or was when the key was pressed"
            )
            assert header_item_id(self.app) == list_item_id(self.app), (
                "the list's cursor is at the named item"
            )
            self.reviewed.append(name)
            record(about, judgement)

        pane.item_reviewer.record_verdict, pane.show_item = record_verdict, show_item  # type: ignore[method-assign]

    async def wait(self) -> None:
        """Wait until all workers are done and no item is being opened."""

        def is_idle() -> bool:
            panes = split_view(self.app)
            busy = [worker for worker in self.app.workers if not worker.is_finished]
            return not busy and panes.item_pane is not None and not panes.item_pane.is_item_loading

        for _ in range(3):
            await wait_until(is_idle)
            await asyncio.sleep(0.02)


@asynccontextmanager
async def watch_panes(imported: Imported, place: Path) -> AsyncIterator[PaneWatcher]:
    with Store.open(imported(place, {"maple-8b": [{} for _ in range(80)]}), "alice") as store:
        app = FcreviewApp(Session(None, "alice", store, SlowReviewer(store)), View(queue="dataset"))
        async with app.run_test(size=TWO):
            watcher = PaneWatcher(app, store)
            await wait_until(lambda: bool(app.screen_stack and app.screen.query(ItemPane)))
            await watcher.wait()
            watcher.watch()
            yield watcher


@pytest.mark.sweep
async def test_verdict_before_the_item_is_loaded_is_dropped_with_a_bell(
    imported: Imported, tmp_path: Path
) -> None:
    async with watch_panes(imported, tmp_path / "work") as watcher:
        rung: list[bool] = []
        watcher.app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
        send_keys(watcher.app, "j", "j", "j", "tab", "p")
        await watcher.wait()
        assert focused_pane(watcher.app) == "item" and header_item_id(watcher.app) == list_item_id(
            watcher.app
        )
        assert [name for name, _ in read_verdicts(watcher.store)] == watcher.reviewed
        assert bool(rung) is not bool(watcher.reviewed), (
            "the key reviewed the named item, or it rang the bell"
        )
        assert set(watcher.reviewed) <= {"simple_3"}


@pytest.mark.sweep
async def test_nothing_is_reviewed_while_another_list_is_read(
    imported: Imported, tmp_path: Path
) -> None:
    """The item on the screen belongs to the list before, so `]` would continue in that list."""
    async with watch_panes(imported, tmp_path / "work") as watcher:
        pane = queue_screen(watcher.app).query_one(QueuePane)
        read, go = pane._loader.load_page, asyncio.Event()

        async def load_slowly(request: QueueRequest) -> QueuePage:
            await go.wait()
            return await read(request)

        pane._loader.load_page = load_slowly  # type: ignore[method-assign]
        queue_screen(watcher.app).state.search = "city 7"
        pane.load_view(CursorPosition())
        send_keys(watcher.app, "tab", "p", "right_square_bracket", "p")
        await wait_until(lambda: focused_pane(watcher.app) == "item")
        await asyncio.sleep(0.05)
        go.set()
        await watcher.wait()
        assert (
            read_verdicts(watcher.store) == []
            and header_item_id(watcher.app) == list_item_id(watcher.app) == "simple_7"
        )
        item = split_view(watcher.app).item_pane
        assert item is not None
        # the item is drawn
        await wait_until(lambda: not item._key_guard.is_item_ambiguous(time.monotonic()))
        send_keys(watcher.app, "p")
        await watcher.wait()
        assert (
            read_verdicts(watcher.store) == [("simple_7", True)]
            and header_item_id(watcher.app) == list_item_id(watcher.app) == "simple_70"
        )


async def test_item_of_the_list_before_is_hidden_while_the_next_one_is_read(
    imported: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, the rows of the list before would otherwise disappear first.
    monkeypatch.setattr(queue_pane, "HIDE_DELAY", 60)
    async with watch_panes(imported, tmp_path / "work") as watcher:
        item = split_view(watcher.app).item_pane
        assert item is not None
        read, go = item._prefetcher.read_item, asyncio.Event()

        async def read_slowly(number: int, previous: DisplayedItem | None = None) -> DisplayedItem:
            await go.wait()
            return await read(number, previous)

        item._prefetcher.read_item = read_slowly  # type: ignore[method-assign]
        queue_screen(watcher.app).state.search = "city 7"
        queue_screen(watcher.app).query_one(QueuePane).load_view(CursorPosition())
        header = item.query_one("#item-header", LineBar)
        await wait_until(lambda: "Reading the item" in plain_text(header.line))
        assert list_item_id(watcher.app) == "simple_7"
        assert not "".join(strip.text for strip in item.text._strips).strip()

        send_keys(watcher.app, "tab", "p")
        await wait_until(lambda: focused_pane(watcher.app) == "item")
        go.set()
        await watcher.wait()
        assert header_item_id(watcher.app) == list_item_id(watcher.app) == "simple_7"
        assert "city 7" in "".join(strip.text for strip in item.text._strips)
        assert watcher.reviewed == read_verdicts(watcher.store) == []


async def test_item_of_the_list_before_appears_in_no_frame_after_an_empty_list(
    imported: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the list takes long, its rows and the item beside it disappear. When the rows are there,
    the item before must not appear again for one frame.
    """
    monkeypatch.setattr(queue_pane, "HIDE_DELAY", 0.01)
    async with watch_panes(imported, tmp_path / "work") as watcher:
        item = split_view(watcher.app).item_pane
        assert item is not None
        queue = queue_screen(watcher.app).query_one(QueuePane)
        load_page, read_item = queue._loader.load_page, item._prefetcher.read_item
        can_load_page, can_read_item = asyncio.Event(), asyncio.Event()

        async def load_page_slowly(request: QueueRequest) -> QueuePage:
            await can_load_page.wait()
            return await load_page(request)

        async def read_item_slowly(
            number: int, previous: DisplayedItem | None = None
        ) -> DisplayedItem:
            await can_read_item.wait()
            return await read_item(number, previous)

        queue._loader.load_page = load_page_slowly  # type: ignore[method-assign]
        item._prefetcher.read_item = read_item_slowly  # type: ignore[method-assign]
        frames: list[str] = []
        draw_frame = watcher.app.screen._compositor_refresh

        def record_frame() -> None:
            draw_frame()
            frames.append("\n".join(screen_lines(watcher.app)))

        watcher.app.screen._compositor_refresh = record_frame  # type: ignore[method-assign]
        queue_screen(watcher.app).state.search = "city 7"
        queue.load_view(CursorPosition())
        await wait_until(lambda: not item.size)
        frames.clear()
        can_load_page.set()
        await wait_until(lambda: bool(frames) and "Reading the item" in frames[-1])
        can_read_item.set()
        await watcher.wait()

        assert not [frame for frame in frames if "city 0" in frame]
        assert "city 7?" in frames[-1]


async def test_item_focused_as_soon_as_the_list_has_changed_is_that_of_the_list(
    imported: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, the rows of the list before would otherwise disappear first.
    monkeypatch.setattr(queue_pane, "HIDE_DELAY", 60)
    async with watch_panes(imported, tmp_path / "work") as watcher:
        split = split_view(watcher.app)
        item = split.item_pane
        queue = queue_screen(watcher.app).query_one(QueuePane)
        assert item is not None
        show_page = queue._show_page
        can_review: list[bool] = []

        def show_page_and_focus_item(*arguments: Any) -> None:
            """Press `tab` before any widget can react to the new rows."""
            show_page(*arguments)
            split.focus_item()
            can_review.append(not item.is_item_loading)

        queue._show_page = show_page_and_focus_item  # type: ignore[method-assign]
        queue_screen(watcher.app).state.search = "city 7"
        queue.load_view(CursorPosition())
        await wait_until(lambda: can_review == [False])
        await watcher.wait()
        assert focused_pane(watcher.app) == "item"
        assert header_item_id(watcher.app) == list_item_id(watcher.app) == "simple_7"


async def send_random_keys(watcher: PaneWatcher, seed: int, keys: list[str]) -> None:
    chosen = random.Random(seed)
    for _ in range(8):
        together = [chosen.choice(keys) for _ in range(chosen.randint(1, 8))]
        send_keys(watcher.app, *(SHIFTED.get(key, key) for key in together))
        await asyncio.sleep(chosen.choice([0, 0, 0.01, 0.15]))
    await watcher.wait()
    assert header_item_id(watcher.app) == list_item_id(watcher.app)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", split_by_form(range(3), quick=[0]))
async def test_random_keys_in_the_item_are_recorded_for_visible_items(
    imported: Imported, tmp_path: Path, seed: int
) -> None:
    async with watch_panes(imported, tmp_path / "work") as watcher:
        send_keys(watcher.app, "tab")
        await watcher.wait()
        await send_random_keys(watcher, seed, ["p", "f", "u", "z", "]", "[", "j", "T"])
        assert (
            watcher.reviewed
            and [name for name, _ in read_verdicts(watcher.store)] == watcher.reviewed
        )


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", split_by_form(range(6), quick=[0, 3]))
async def test_random_keys_in_both_panes_review_named_items_only(
    imported: Imported, tmp_path: Path, seed: int
) -> None:
    """Keys after a key that leaves the item are dropped, because they have another meaning in
    the list.
    """
    async with watch_panes(imported, tmp_path / "work") as watcher:
        await send_random_keys(watcher, seed, KEYS)
        reviewed = iter(watcher.reviewed)
        recorded = [name for name, _ in read_verdicts(watcher.store)]
        assert all(name in reviewed for name in recorded), (recorded, watcher.reviewed)
