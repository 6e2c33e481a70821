"""The item screen alone, on a real store and journal, and helpers that read its texts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
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


class ItemHost(ThemedApp[None]):
    """An app with only an item screen."""

    def __init__(
        self, workspace: Workspace, item: str, *, store_blind: bool = False, **fields: Any
    ) -> None:
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


class KeyPresser:
    """Presses keys and waits until their effects are visible."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pilot, name)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self._pilot.press(key)
            await self.wait()

    async def wait(self) -> None:
        await wait_for_workers(self._pilot.app)
        await self._pilot.pause()


@asynccontextmanager
async def open_item_host(
    workspace: Workspace, item: str = "simple_0", size: tuple[int, int] = (80, 24), **fields: Any
) -> AsyncIterator[tuple[ItemHost, KeyPresser]]:
    app = ItemHost(workspace, item, **fields)
    async with app.run_test(size=size) as pilot:
        keys = KeyPresser(pilot)
        await keys.wait()
        yield app, keys
    app.store.close()


def item_screen(app: App[Any]) -> ItemScreen:
    """Return the item screen, even if other screens are above it."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ItemScreen))


def document_rows(app: App[Any]) -> list[str]:
    """Return the rows of the document on the top screen, with the column of the cursor."""
    view = app.screen.query_one(DocumentView)
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def bar_text(app: App[Any], name: str) -> str:
    return plain_text(item_screen(app).query_one(f"#item-{name}", LineBar).line)


def read_events(workspace: Workspace) -> list[dict[str, Any]]:
    """Read the events of the journal."""
    return [
        json.loads(line) for line in (workspace.reviews / "alice.jsonl").read_text().splitlines()
    ]


def shown_item_id(app: App[Any]) -> str:
    return item_screen(app).cursor.detail.row.id
