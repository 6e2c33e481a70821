"""Keys pressed faster than the disk writes: none is lost, none reaches an item that was not on the screen."""

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
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.dialogs import FaultScreen, NoteScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import LineBar
from tests.store.factory import Imported
from tests.tui.idle import ignore_threads
from tests.tui.key_input import send_keys, wait_until


class SlowReviewer(Reviewer):
    """The real one, on a disk that waits until it is let go; reviews that say `refused` are not saved."""

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


def journal(workspace: Workspace) -> list[dict[str, Any]]:
    path = workspace.reviews / "alice.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def said(workspace: Workspace) -> list[tuple[str, Any]]:
    return [
        (event["key"]["id"], event.get("note") or event.get("fault") or event["verdict"])
        for event in journal(workspace)
    ]


def shown(app: App[Any]) -> ItemScreen:
    return next(screen for screen in app.screen_stack if isinstance(screen, ItemScreen))


def name(app: App[Any]) -> str:
    return shown(app).cursor.detail.row.id


def status(app: App[Any]) -> str:
    return plain_text(shown(app).query_one("#item-status", LineBar).line)


class Slow:
    """An app on its first item, whose disk waits."""

    def __init__(self, pilot: Pilot[Any], app: FcreviewApp, reviewer: SlowReviewer) -> None:
        self._pilot, self.app, self.reviewer = pilot, app, reviewer

    async def handled(self, *keys: str) -> None:
        """Presses the keys and waits until the app has seen them, not for what comes of them."""
        send_keys(self.app, *keys)
        with ignore_threads():
            for _ in range(3):  # a key goes from app to widget and back up
                await self._pilot.pause()

    async def done(self) -> None:
        """Lets the disk go and waits for what comes of it."""
        self.reviewer.free.set()
        for _ in range(3):
            while list(self.app.workers):
                with suppress(WorkerCancelled):  # one may be cancelled for another
                    await self.app.workers.wait_for_complete()
                await asyncio.sleep(0)
            await self._pilot.pause()


@asynccontextmanager
async def slow_app(workspace: Workspace) -> AsyncIterator[Slow]:
    with Store.open(workspace, "alice") as store:
        reviewer = SlowReviewer(store, workspace)
        app = FcreviewApp(Session(None, "alice", store, reviewer), View(queue="dataset"), "simple_0")
        async with app.run_test(size=(80, 24)) as pilot:
            await wait_until(lambda: isinstance(app.screen, ItemScreen) and app.screen.item_reviewer.has_item)
            await app.workers.wait_for_complete()
            try:
                yield Slow(pilot, app, reviewer)
            finally:
                reviewer.free.set()


async def test_verdicts_pressed_meanwhile_are_about_the_item_that_was_seen(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "p", "u")
        assert (name(slow.app), said(workspace)) == ("simple_0", []), "nothing is shown that is not on disk"
        assert "saved" not in status(slow.app)
        await wait_until(lambda: "waiting for the disk" in status(slow.app))
        await slow.done()
        assert said(workspace) == [("simple_0", False), ("simple_0", True), ("simple_0", "unsure")]
        assert name(slow.app) == "simple_1"
        assert "saved: unsure · simple_0" in status(slow.app)


@pytest.mark.sweep
async def test_a_note_typed_meanwhile_belongs_to_the_item_it_was_begun_on(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "n")
        assert isinstance(slow.app.screen, NoteScreen)
        await slow.done()
        assert len(said(workspace)) == 1
        assert name(slow.app) == "simple_0", "the next item waits until nothing lies over this one"
        await slow.handled("w", "h", "y", "enter")
        await slow.done()
        assert said(workspace) == [("simple_0", False), ("simple_0", "why")]
        assert name(slow.app) == "simple_1"
        assert "saved: note · simple_0" in status(slow.app)


@pytest.mark.sweep
async def test_a_prompt_that_is_cancelled_lets_the_next_item_come(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "w")
        assert isinstance(slow.app.screen, FaultScreen)
        await slow.done()
        assert name(slow.app) == "simple_0" and "saved: fail · simple_0" in status(slow.app)
        await slow.handled("escape")
        await slow.done()
        assert (name(slow.app), said(workspace)) == ("simple_1", [("simple_0", False)])


@pytest.mark.sweep
async def test_a_fault_named_meanwhile_knows_the_verdict_before_it(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "w", "m")
        await slow.done()
        assert said(workspace) == [("simple_0", False), ("simple_0", "model")]
        assert "saved: fault: model · simple_0" in status(slow.app), "not: no verdict yet"


async def test_a_verdict_behind_a_step_is_about_the_item_it_was_pressed_on(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "right_square_bracket", "p")
        await slow.done()
        assert said(workspace) == [("simple_0", False), ("simple_0", True)]
        assert name(slow.app) == "simple_1"
        assert "saved: pass · simple_0" in status(slow.app)
        await slow.handled("left_square_bracket")
        await slow.done()
        assert [(o.verdict) for o in shown(slow.app).cursor.detail.opinions] == [True]


async def test_undo_behind_a_verdict_takes_that_one_back(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "z")
        await slow.done()
        assert [event["act"] for event in journal(workspace)] == ["review", "retract"]
        assert name(slow.app) == "simple_0"
        assert "undone: fail · simple_0" in status(slow.app)


async def test_back_waits_for_the_verdict_and_the_queue_shows_it(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "q")
        assert isinstance(slow.app.screen, ItemScreen)
        await slow.done()
        assert isinstance(slow.app.screen, QueueScreen)
        assert said(workspace) == [("simple_0", False)]
        assert slow.app.screen.list.cursor == 1, "on the item that would have been next"


async def test_what_could_not_be_saved_is_told_and_nothing_that_followed_it_is_done(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        rung: list[bool] = []
        slow.app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
        slow.reviewer.refused = [False]
        await slow.handled("f", "right_square_bracket", "q")
        await slow.done()
        assert isinstance(slow.app.screen, ItemScreen)
        assert name(slow.app) == "simple_0"
        assert "NOT SAVED (fail): the disk is full · 2 later keys were ignored" in status(slow.app)
        assert rung and not said(workspace)
        await slow.handled("p")
        await slow.done()
        assert (name(slow.app), said(workspace)) == ("simple_1", [("simple_0", True)])


async def test_quitting_waits_for_what_was_said(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        await slow.handled("f", "u", "ctrl+q")
        assert slow.app.return_value is None
        slow.reviewer.free.set()
        await wait_until(lambda: slow.app.return_value is not None)
    assert slow.app.return_value == 1
    assert said(workspace) == [("simple_0", False), ("simple_0", "unsure")]


async def test_quitting_tells_first_what_could_not_be_saved(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        slow.reviewer.refused = [False]
        await slow.handled("f", "ctrl+q")
        await slow.done()
        assert slow.app.return_value is None
        assert "NOT SAVED (fail): the disk is full" in status(slow.app)
        send_keys(slow.app, "ctrl+q")
        await wait_until(lambda: slow.app.return_value == 0)


async def test_keys_before_the_item_is_there_say_nothing_of_it(workspace: Workspace) -> None:
    async with slow_app(workspace) as slow:
        held = threading.Event()
        await slow.handled("q")
        await slow.done()
        asking = asyncio.create_task(slow.app.session.query(lambda store: held.wait(20)))
        await slow.handled("enter", "f", "n")
        assert isinstance(slow.app.screen, ItemScreen)
        assert not slow.app.screen.item_reviewer.has_item
        held.set()
        await asking
        await slow.done()
        assert name(slow.app) == "simple_0"
        assert not said(workspace)
        await slow.handled("f")
        await slow.done()
        assert said(workspace) == [("simple_0", False)]


@pytest.mark.parametrize("key", ["p", "f", "c", "j"])
async def test_a_key_in_the_instant_of_opening_is_dropped_with_a_bell(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """It was meant for the item: neither the queue takes it, nor any item that comes later."""
    store = Store.open(workspace, "alice")
    app = FcreviewApp(Session(None, "alice", store, Reviewer(store, Journal(workspace, "alice"))))
    rung: list[bool] = []
    monkeypatch.setattr(app, "bell", lambda: rung.append(True))
    async with app.run_test() as pilot:
        await wait_until(lambda: isinstance(app.screen, QueueScreen) and bool(app.screen.list.total))
        await pilot.pause()
        send_keys(app, "enter", key)
        await wait_until(lambda: isinstance(app.screen, ItemScreen) and app.screen.item_reviewer.has_item)
        await pilot.pause()
        assert [type(screen) for screen in app.screen_stack[-2:]] == [QueueScreen, ItemScreen]
        assert not app.screen_stack[-2]._filter_line.display
        assert said(workspace) == [] or key == "p"
        assert rung or said(workspace)
    store.close()
