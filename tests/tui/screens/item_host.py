"""The item screen alone on a real store and a real journal, and what it shows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import AnnotatorVocabulary, Session
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import DocumentView, LineBar
from tests.tui.idle import wait_for_workers
from tests.tui.themed_app import ThemedApp

OBSERVATION = json.dumps({"rows": [f"row {n} of the answer" for n in range(12_000)]})


class Host(ThemedApp[None]):
    """Only the screen under test."""

    def __init__(self, workspace: Workspace, item: str, *, store_blind: bool = False, **fields: Any) -> None:
        super().__init__()
        self.animation_level = "none"
        self.store = Store.open(workspace, "alice", blind=store_blind)
        reviewer = Reviewer(self.store, Journal(workspace, "alice"))
        vocabulary = fields.pop("vocabulary", AnnotatorVocabulary())
        self.session = Session(None, "alice", self.store, reviewer, **fields)
        self.session.vocabulary = vocabulary
        self.item = self.store.find_items(item)[0]
        self.left: int | None = None

    def on_mount(self) -> None:
        screen = ItemScreen(self.session, View(queue="dataset"), self.item)
        self.push_screen(screen, self.leave)

    def leave(self, item: int | None) -> None:
        self.left = item

    def on_unmount(self) -> None:
        self.session.close()


class Keys:
    """Presses keys and waits until what they asked for is done."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pilot, name)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self._pilot.press(key)
            await self.done()

    async def done(self) -> None:
        await wait_for_workers(self._pilot.app)
        await self._pilot.pause()


@asynccontextmanager
async def opened(
    workspace: Workspace, item: str = "simple_0", size: tuple[int, int] = (80, 24), **fields: Any
) -> AsyncIterator[tuple[Host, Keys]]:
    app = Host(workspace, item, **fields)
    async with app.run_test(size=size) as pilot:
        keys = Keys(pilot)
        await keys.done()
        yield app, keys
    app.store.close()


def screen_of(app: App[Any]) -> ItemScreen:
    """The item screen, whatever lies over it."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ItemScreen))


def rows(app: App[Any]) -> list[str]:
    """What the document of the top screen shows, line by line, cursor column included."""
    view = app.screen.query_one(DocumentView)
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def bar(app: App[Any], name: str) -> str:
    return plain_text(screen_of(app).query_one(f"#item-{name}", LineBar).line)


def events(workspace: Workspace) -> list[dict[str, Any]]:
    """The journal, from disk."""
    return [json.loads(line) for line in (workspace.reviews / "alice.jsonl").read_text().splitlines()]


def shown_id(app: App[Any]) -> str:
    return screen_of(app).cursor.detail.row.id
