"""Reviews recorded as fast as keys can be pressed belong to the item that was on the screen."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual import events

from fcreview.model.review import Annotation, Event
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import ItemDetail, View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.screens.review_dialogs import NoteScreen
from fcreview.tui.session import Session
from tests.examples import only_long
from tests.store.factory import Imported
from tests.tui.conftest import screen_lines
from tests.tui.idle import wait_for_workers
from tests.tui.key_input import send_keys, wait_until
from tests.tui.messages.screen_facts import read_facts
from tests.tui.test_quick_keys import item_screen

T = TypeVar("T")
ITEMS, REVIEWED = 40, 30
MAX_WAITING = 4
"""Maximal number of keys that wait for the disk. No one types faster for long."""
INSTANT = 0.05
"""Seconds after the next item appears in which a key may be meant for either item."""
VERDICTS = {"p": True, "f": False, "u": "unsure", "g": True}


class SlowSession(Session):
    """A session with random delays of queries and writes."""

    dice = random.Random(1)

    async def read(self, query: Callable[[Store], T], *, interruptible: bool = False) -> T:
        answer = await super().read(query, interruptible=interruptible)
        await asyncio.sleep(self.dice.choice((0, 0, 0.001, 0.005, 0.02)))
        return answer

    async def record_review(
        self,
        item: int,
        annotation: Annotation,
        detail: ItemDetail | None = None,
        sibling_fixes: Sequence[tuple[int, Annotation]] = (),
    ) -> Event:
        event = await super().record_review(item, annotation, detail, sibling_fixes)
        await asyncio.sleep(self.dice.choice((0, 0, 0.001, 0.01)))
        return event


@asynccontextmanager
async def open_slow_app(workspace: Workspace, seed: int) -> AsyncIterator[FcreviewApp]:
    with Store.open(workspace, "alice") as store:
        session = SlowSession(None, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        session.dice = random.Random(seed)
        app = FcreviewApp(session, View(queue="dataset"), "simple_0")
        async with app.run_test(size=(80, 24)):
            await wait_until(
                lambda: isinstance(app.screen, ItemScreen) and app.screen.item_reviewer.has_item
            )
            await wait_for_workers(app)
            yield app


def read_verdicts(workspace: Workspace) -> list[tuple[str, Any]]:
    path = workspace.reviews / "alice.jsonl"
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]  # the last line may be incomplete
    return [
        (event["key"]["id"], event.get("verdict")) for event in map(json.loads, whole.splitlines())
    ]


class ItemWatcher:
    """Records the item that the terminal shows, frame by frame."""

    def __init__(self, app: FcreviewApp, patch: pytest.MonkeyPatch) -> None:
        self._app, self._frames = app, [(0.0, read_facts(screen_lines(app)).id)]
        draw = app._display

        def record_frame(*arguments: Any) -> None:
            draw(*arguments)
            if isinstance(app.screen, ItemScreen) and self._frames[-1][1] != (
                name := read_facts(screen_lines(app)).id
            ):
                self._frames.append((time.monotonic(), name))

        patch.setattr(app, "_display", record_frame)

    @property
    def name(self) -> str:
        return self._frames[-1][1]

    def items_at(self, moment: float) -> set[str]:
        """Return the item shown at this time, and the item before if it was replaced at about
        the same time.
        """
        before = [name for start, name in self._frames if start <= moment - INSTANT][-1:]
        return {
            *before,
            *(name for start, name in self._frames if moment - INSTANT < start <= moment),
        }


@only_long
@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 12))
async def test_thirty_items_are_reviewed_at_full_speed(
    seed: int, imported: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = imported(tmp_path / "work", {"maple-8b": [{} for _ in range(ITEMS)]})
    dice = random.Random(seed)
    pressed: list[tuple[float, Any]] = []
    async with open_slow_app(workspace, seed) as app:
        watcher = ItemWatcher(app, monkeypatch)
        while len({name for name, _ in read_verdicts(workspace)}) < REVIEWED:
            before = watcher.name
            for _ in range(dice.choice((1, 1, 2, 3))):
                key = dice.choice("ppfuug")
                send_keys(app, key)
                pressed.append((time.monotonic(), VERDICTS[key]))
                await asyncio.sleep(dice.choice((0, 0, 0.001, 0.005)))
            for _ in range(dice.choice((0, 5, 100, 500))):
                if watcher.name != before:
                    break
                await asyncio.sleep(0)
            await wait_until(lambda: len(pressed) - len(read_verdicts(workspace)) < MAX_WAITING)
        await wait_until(lambda: len(read_verdicts(workspace)) >= len(pressed))
    reviews = read_verdicts(workspace)
    assert [verdict for _, verdict in reviews] == [verdict for _, verdict in pressed], (
        "no key is lost or repeated"
    )
    wrong = [
        (at, name, watcher.items_at(moment))
        for at, ((name, _), (moment, _)) in enumerate(zip(reviews, pressed, strict=True))
        if name not in watcher.items_at(moment)
    ]
    assert not wrong, f"{len(wrong)} of {len(reviews)} keys: {wrong[:5]}"


def delay_key(app: FcreviewApp, key: str) -> Callable[[], None]:
    """Press the key now, and return a function that delivers it."""
    event = events.Key(key, key)
    event.set_sender(app)
    return lambda: app._driver.send_message(event)


async def test_delayed_key_applies_to_the_item_that_was_on_screen(
    imported: Imported, tmp_path: Path
) -> None:
    """The key is pressed before the next item is drawn, and is delivered after it."""
    workspace = imported(tmp_path / "work", {"maple-8b": [{} for _ in range(4)]})
    async with open_slow_app(workspace, 1) as app:
        verdict, note = delay_key(app, "p"), delay_key(app, "n")
        send_keys(app, "f")
        await wait_until(lambda: item_screen(app).cursor.detail.row.id == "simple_1")
        await wait_for_workers(app)
        verdict()
        await wait_until(lambda: len(read_verdicts(workspace)) == 2)
        note()
        await wait_until(
            lambda: isinstance(app.screen, NoteScreen) and len(screen_lines(app)) == 24
        )
        assert "simple_0" in "\n".join(screen_lines(app)[-8:]), "the prompt names the earlier item"
        for key in ("x", "enter"):
            send_keys(app, key)
        await wait_until(lambda: len(read_verdicts(workspace)) == 3)
        assert read_verdicts(workspace) == [
            ("simple_0", False),
            ("simple_0", True),
            ("simple_0", None),
        ]
        assert item_screen(app).cursor.detail.row.id == "simple_1"
        send_keys(app, "u")
        await wait_until(lambda: len(read_verdicts(workspace)) == 4)
        assert read_verdicts(workspace)[-1] == ("simple_1", "unsure"), (
            "a new key applies to the item on the screen"
        )
