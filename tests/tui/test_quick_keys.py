"""Keys pressed faster than the disk writes are neither lost nor applied to an item that was not
on the screen.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from fcreview.model.review import Annotation, Event
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.review_dialogs import FaultScreen, NoteScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import LineBar
from tests.store.factory import Imported
from tests.tui.idle import ignore_threads
from tests.tui.key_input import send_keys, wait_until


class BlockedReviewer(Reviewer):
    """A reviewer that waits for `free` before it writes.

    Reviews with a verdict in `refused` fail.
    """

    def __init__(self, store: Store, workspace: Workspace) -> None:
        super().__init__(store, Journal(workspace, "alice"))
        self.free = threading.Event()
        self.refused: list[bool] = []

    def review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        assert self.free.wait(20)
        if annotation.verdict is not None and annotation.verdict in self.refused:
            raise JournalError("the disk is full")
        return super().review(item, annotation, detail)


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "work", {"maple-8b": [{}, {}, {}, {}]})


def read_events(workspace: Workspace) -> list[dict[str, Any]]:
    path = workspace.reviews / "alice.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def recorded_reviews(workspace: Workspace) -> list[tuple[str, Any]]:
    return [
        (event["key"]["id"], event.get("note") or event.get("fault") or event["verdict"])
        for event in read_events(workspace)
    ]


def item_screen(app: App[Any]) -> ItemScreen:
    return next(screen for screen in app.screen_stack if isinstance(screen, ItemScreen))


def item_name(app: App[Any]) -> str:
    return item_screen(app).cursor.detail.row.id


def status_text(app: App[Any]) -> str:
    return plain_text(item_screen(app).query_one("#item-status", LineBar).line)


class BlockedApp:
    """An app on its first item whose reviews wait for the disk."""

    def __init__(self, pilot: Pilot[Any], app: FcreviewApp, reviewer: BlockedReviewer) -> None:
        self._pilot, self.app, self.reviewer = pilot, app, reviewer

    async def press(self, *keys: str) -> None:
        """Press the keys and wait until the app has received them, but not for their effects."""
        send_keys(self.app, *keys)
        with ignore_threads():
            for _ in range(3):  # the key goes from the app to a widget and back
                await self._pilot.pause()

    async def finish(self) -> None:
        """Let the disk write, and wait for the effects."""
        self.reviewer.free.set()
        for _ in range(3):
            while list(self.app.workers):
                with suppress(WorkerCancelled):  # a worker may be cancelled for a newer one
                    await self.app.workers.wait_for_complete()
                await asyncio.sleep(0)
            await self._pilot.pause()


@asynccontextmanager
async def open_blocked_app(workspace: Workspace) -> AsyncIterator[BlockedApp]:
    with Store.open(workspace, "alice") as store:
        reviewer = BlockedReviewer(store, workspace)
        app = FcreviewApp(
            Session(None, "alice", store, reviewer), View(queue="dataset"), "simple_0"
        )
        async with app.run_test(size=(80, 24)) as pilot:
            await wait_until(
                lambda: isinstance(app.screen, ItemScreen) and app.screen.item_reviewer.has_item
            )
            await app.workers.wait_for_complete()
            try:
                yield BlockedApp(pilot, app, reviewer)
            finally:
                reviewer.free.set()


async def test_verdicts_on_a_slow_disk_belong_to_the_visible_item(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "p", "u")
        assert (item_name(slow.app), recorded_reviews(workspace)) == ("simple_0", []), (
            "the screen shows only reviews on disk"
        )
        assert "saved" not in status_text(slow.app)
        await wait_until(lambda: "waiting for the disk" in status_text(slow.app))
        await slow.finish()
        assert recorded_reviews(workspace) == [
            ("simple_0", False),
            ("simple_0", True),
            ("simple_0", "unsure"),
        ]
        assert item_name(slow.app) == "simple_1"
        assert "saved: unsure · simple_0" in status_text(slow.app)


@pytest.mark.sweep
async def test_note_on_a_slow_disk_belongs_to_its_item(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "n")
        assert isinstance(slow.app.screen, NoteScreen)
        await slow.finish()
        assert len(recorded_reviews(workspace)) == 1
        assert item_name(slow.app) == "simple_0", "the next item waits until the prompt closes"
        await slow.press("w", "h", "y", "enter")
        await slow.finish()
        assert recorded_reviews(workspace) == [("simple_0", False), ("simple_0", "why")]
        assert item_name(slow.app) == "simple_1"
        assert "saved: note · simple_0" in status_text(slow.app)


@pytest.mark.sweep
async def test_cancelled_prompt_shows_the_next_item(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "w")
        assert isinstance(slow.app.screen, FaultScreen)
        await slow.finish()
        assert item_name(slow.app) == "simple_0" and "saved: fail · simple_0" in status_text(
            slow.app
        )
        await slow.press("escape")
        await slow.finish()
        assert (item_name(slow.app), recorded_reviews(workspace)) == (
            "simple_1",
            [("simple_0", False)],
        )


@pytest.mark.sweep
async def test_fault_on_a_slow_disk_follows_its_verdict(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "w", "m")
        await slow.finish()
        assert recorded_reviews(workspace) == [("simple_0", False), ("simple_0", "model")]
        assert "saved: fault: model · simple_0" in status_text(slow.app), (
            "no hint that a verdict is missing"
        )


async def test_verdict_after_a_step_belongs_to_the_visible_item(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "right_square_bracket", "p")
        await slow.finish()
        assert recorded_reviews(workspace) == [("simple_0", False), ("simple_0", True)]
        assert item_name(slow.app) == "simple_1"
        assert "saved: pass · simple_0" in status_text(slow.app)
        await slow.press("left_square_bracket")
        await slow.finish()
        assert [(o.verdict) for o in item_screen(slow.app).cursor.detail.opinions] == [True]


async def test_undo_after_a_verdict_reverts_it(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "z")
        await slow.finish()
        assert [event["act"] for event in read_events(workspace)] == ["review", "retract"]
        assert item_name(slow.app) == "simple_0"
        assert "undone: fail · simple_0" in status_text(slow.app)


async def test_back_waits_for_the_verdict(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "q")
        assert isinstance(slow.app.screen, ItemScreen)
        await slow.finish()
        assert isinstance(slow.app.screen, QueueScreen)
        assert recorded_reviews(workspace) == [("simple_0", False)]
        assert slow.app.screen.list.cursor == 1, "the cursor is at the next item"


async def test_failed_review_is_reported_and_drops_later_keys(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        rung: list[bool] = []
        slow.app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
        slow.reviewer.refused = [False]
        await slow.press("f", "right_square_bracket", "q")
        await slow.finish()
        assert isinstance(slow.app.screen, ItemScreen)
        assert item_name(slow.app) == "simple_0"
        assert (
            "NOT SAVED (fail): the disk is full · 2 more key presses were ignored"
            in status_text(slow.app)
        )
        assert rung and not recorded_reviews(workspace)
        await slow.press("p")
        await slow.finish()
        assert (item_name(slow.app), recorded_reviews(workspace)) == (
            "simple_1",
            [("simple_0", True)],
        )


async def test_quitting_waits_for_reviews(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        await slow.press("f", "u", "ctrl+q")
        assert slow.app.return_value is None
        slow.reviewer.free.set()
        await wait_until(lambda: slow.app.return_value is not None)
    assert slow.app.return_value == 1
    assert recorded_reviews(workspace) == [("simple_0", False), ("simple_0", "unsure")]


async def test_quitting_first_reports_failed_reviews(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        slow.reviewer.refused = [False]
        await slow.press("f", "ctrl+q")
        await slow.finish()
        assert slow.app.return_value is None
        assert "NOT SAVED (fail): the disk is full" in status_text(slow.app)
        send_keys(slow.app, "ctrl+q")
        await wait_until(lambda: slow.app.return_value == 0)


async def test_keys_before_the_item_is_loaded_are_ignored(workspace: Workspace) -> None:
    async with open_blocked_app(workspace) as slow:
        release = threading.Event()
        await slow.press("q")
        await slow.finish()
        query = asyncio.create_task(slow.app.session.read(lambda store: release.wait(20)))
        await slow.press("enter", "f", "n")
        assert isinstance(slow.app.screen, ItemScreen)
        assert not slow.app.screen.item_reviewer.has_item
        release.set()
        await query
        await slow.finish()
        assert item_name(slow.app) == "simple_0"
        assert not recorded_reviews(workspace)
        await slow.press("f")
        await slow.finish()
        assert recorded_reviews(workspace) == [("simple_0", False)]


@pytest.mark.parametrize("key", ["p", "f", "c", "j"])
async def test_key_while_the_item_opens_is_dropped_with_a_bell(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """The key was meant for the item, so neither the queue nor a later item accepts it."""
    store = Store.open(workspace, "alice")
    app = FcreviewApp(Session(None, "alice", store, Reviewer(store, Journal(workspace, "alice"))))
    rung: list[bool] = []
    monkeypatch.setattr(app, "bell", lambda: rung.append(True))
    async with app.run_test() as pilot:
        await wait_until(
            lambda: isinstance(app.screen, QueueScreen) and bool(app.screen.list.total)
        )
        await pilot.pause()
        send_keys(app, "enter", key)
        await wait_until(
            lambda: isinstance(app.screen, ItemScreen) and app.screen.item_reviewer.has_item
        )
        await pilot.pause()
        assert [type(screen) for screen in app.screen_stack[-2:]] == [QueueScreen, ItemScreen]
        assert not app.screen_stack[-2].pane.filter_line.display
        assert recorded_reviews(workspace) == [] or key == "p"
        assert rung or recorded_reviews(workspace)
    store.close()
