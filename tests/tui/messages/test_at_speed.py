"""Thirty items judged as fast as keys come, while items load and the disk waits: what was said is of the item that was
on the screen when its key was pressed."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual import events

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.dialogs import NoteScreen
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import Session
from tests.examples import only_long
from tests.store.factory import Imported
from tests.tui.at_once import press, until
from tests.tui.conftest import screen_lines
from tests.tui.idle import worked
from tests.tui.messages.named import named
from tests.tui.test_quick_keys import shown

T = TypeVar("T")
ITEMS, JUDGED = 40, 30
BEHIND = 4
"""So many keys may wait for the disk: nobody types faster for long."""
INSTANT = 0.05
"""Seconds after another item came in which nobody can say what a key was meant for."""
VERDICTS = {"p": True, "f": False, "u": "unsure", "g": True}


class Laden(Session):
    """The real one, on a machine that has other things to do: every answer and every write takes its time."""

    dice = random.Random(1)

    async def query(self, read: Callable[[Store], T], *, interruptible: bool = False) -> T:
        answer = await super().query(read, interruptible=interruptible)
        await asyncio.sleep(self.dice.choice((0, 0, 0.001, 0.005, 0.02)))
        return answer

    async def record_review(self, item: int, annotation: Annotation, detail: ItemDetail | None = None) -> Event:
        event = await super().record_review(item, annotation, detail)
        await asyncio.sleep(self.dice.choice((0, 0, 0.001, 0.01)))
        return event


@asynccontextmanager
async def laden(workspace: Workspace, seed: int) -> AsyncIterator[FcreviewApp]:
    with Store.open(workspace, "alice") as store:
        session = Laden(None, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        session.dice = random.Random(seed)
        app = FcreviewApp(session, View(queue="dataset"), "simple_0")
        async with app.run_test(size=(80, 24)):
            await until(lambda: isinstance(app.screen, ItemScreen) and app.screen.item_reviewer.has_item)
            await worked(app)
            yield app


def journal(workspace: Workspace) -> list[tuple[str, Any]]:
    path = workspace.reviews / "alice.jsonl"
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]  # one may be half written
    return [(event["key"]["id"], event.get("verdict")) for event in map(json.loads, whole.splitlines())]


class Watched:
    """Which item the terminal shows, frame by frame."""

    def __init__(self, app: FcreviewApp, patch: pytest.MonkeyPatch) -> None:
        self._app, self._frames = app, [(0.0, named(screen_lines(app)).id)]
        draw = app._display

        def drawn(*given: Any) -> None:
            draw(*given)
            if isinstance(app.screen, ItemScreen) and self._frames[-1][1] != (name := named(screen_lines(app)).id):
                self._frames.append((time.monotonic(), name))

        patch.setattr(app, "_display", drawn)

    @property
    def name(self) -> str:
        return self._frames[-1][1]

    def at(self, moment: float) -> set[str]:
        """The item that was shown; the one before, too, if it gave way at the same moment."""
        before = [name for begun, name in self._frames if begun <= moment - INSTANT][-1:]
        return {*before, *(name for begun, name in self._frames if moment - INSTANT < begun <= moment)}


@only_long
@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 12))
async def test_thirty_items_at_speed(
    seed: int, imported: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = imported(tmp_path / "work", {"maple-8b": [{} for _ in range(ITEMS)]})
    dice = random.Random(seed)
    pressed: list[tuple[float, Any]] = []
    async with laden(workspace, seed) as app:
        watched = Watched(app, monkeypatch)
        while len({name for name, _ in journal(workspace)}) < JUDGED:
            before = watched.name
            for _ in range(dice.choice((1, 1, 2, 3))):
                key = dice.choice("ppfuug")
                press(app, key)
                pressed.append((time.monotonic(), VERDICTS[key]))
                await asyncio.sleep(dice.choice((0, 0, 0.001, 0.005)))
            for _ in range(dice.choice((0, 5, 100, 500))):
                if watched.name != before:
                    break
                await asyncio.sleep(0)
            await until(lambda: len(pressed) - len(journal(workspace)) < BEHIND)
        await until(lambda: len(journal(workspace)) >= len(pressed))
    said = journal(workspace)
    assert [verdict for _, verdict in said] == [verdict for _, verdict in pressed], "none lost, none twice"
    wrong = [
        (at, name, watched.at(moment))
        for at, ((name, _), (moment, _)) in enumerate(zip(said, pressed, strict=True))
        if name not in watched.at(moment)
    ]
    assert not wrong, f"{len(wrong)} of {len(said)} keys: {wrong[:5]}"


def late(app: FcreviewApp, key: str) -> Callable[[], None]:
    """A key that is pressed now and comes through when it is called."""
    event = events.Key(key, key)
    event.set_sender(app)
    return lambda: app._driver.send_message(event)


async def test_a_key_on_its_way_is_about_the_item_that_was_on_screen(imported: Imported, tmp_path: Path) -> None:
    """It was pressed before the next item was drawn, and comes through behind that."""
    workspace = imported(tmp_path / "work", {"maple-8b": [{} for _ in range(4)]})
    async with laden(workspace, 1) as app:
        verdict, note = late(app, "p"), late(app, "n")
        press(app, "f")
        await until(lambda: shown(app).cursor.detail.row.id == "simple_1")
        await worked(app)
        verdict()
        await until(lambda: len(journal(workspace)) == 2)
        note()
        await until(lambda: isinstance(app.screen, NoteScreen) and len(screen_lines(app)) == 24)
        assert "simple_0" in "\n".join(screen_lines(app)[-8:]), "the prompt names what is no longer on screen"
        for key in ("x", "enter"):
            press(app, key)
        await until(lambda: len(journal(workspace)) == 3)
        assert journal(workspace) == [("simple_0", False), ("simple_0", True), ("simple_0", None)]
        assert shown(app).cursor.detail.row.id == "simple_1"
        press(app, "u")
        await until(lambda: len(journal(workspace)) == 4)
        assert journal(workspace)[-1] == ("simple_1", "unsure"), "what is pressed now is about what is there now"
