"""Press review keys on a line, and record the screen before and after, and the journal."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from textual.pilot import Pilot

from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import Session
from tests.tui.conftest import screen_lines
from tests.tui.idle import wait_for_workers
from tests.tui.messages.line_kinds import ItemLine
from tests.tui.messages.screen_facts import ScreenFacts, read_facts


@dataclass(frozen=True, slots=True)
class KeyPress:
    line: ItemLine
    on_target: bool
    keys: Sequence[str]
    before: ScreenFacts
    prompt: str
    """Rows of the prompt that the first key opened, or an empty text."""
    after: str
    """The status line."""
    events: list[dict[str, Any]]

    def __str__(self) -> str:
        reviews = [
            (e["key"]["id"], e["target"], e["criterion"], e.get("verdict")) for e in self.events
        ]
        at = f"{self.line.block}{' T' if self.on_target else ''} {' '.join(self.keys)}"
        return f"{at}: named {self.before}, wrote {reviews}, message {self.after!r}"


class ItemApp:
    """An app on its item screen. The cursor can be moved to any line of any item."""

    def __init__(self, pilot: Pilot[Any], app: FcreviewApp, workspace: Workspace) -> None:
        self._pilot, self._app = pilot, app
        self._journal, self._read = workspace.reviews / "alice.jsonl", 0

    @property
    def screen(self) -> ItemScreen:
        return next(screen for screen in self._app.screen_stack if isinstance(screen, ItemScreen))

    async def wait(self) -> list[str]:
        await wait_for_workers(self._app)
        await self._pilot.pause()
        return screen_lines(self._app)

    async def move_to(self, line: ItemLine) -> None:
        """Move the cursor to the line, as a search would."""
        self.screen.item_reviewer.open_item(line.item)
        await self.wait()
        text = self.screen.text
        text.required_cursor.options = replace(
            text.required_cursor.options, unfold_all=line.open_all
        )
        text.required_cursor.rebuild(block_key=line.block)
        text._show_blocks((line.block, 0))
        assert text.required_cursor.block.key == line.block

    async def press(self, line: ItemLine, keys: Sequence[str], *, on_target: bool) -> KeyPress:
        await self.move_to(line)
        if on_target:
            await self._pilot.press("T")
        before = read_facts(await self.wait())
        self.read_events()
        await self._pilot.press(keys[0])
        shown = await self.wait()
        prompt = "" if self._app.screen is self.screen else "\n".join(shown[-11:])
        if prompt:
            for key in keys[1:]:
                await self._pilot.press(key)
            shown = await self.wait()
        return KeyPress(line, on_target, keys, before, prompt, shown[-2], self.read_events())

    def read_events(self) -> list[dict[str, Any]]:
        """Return the new events of the journal."""
        if not self._journal.exists():
            return []
        with self._journal.open() as file:
            file.seek(self._read)
            lines = file.readlines()
            self._read = file.tell()
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def open_item_app(
    workspace: Workspace, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ItemApp, Store]]:
    with Store.open(workspace, "alice") as store:
        session = Session(None, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        first = store.fetch_page(View(queue="dataset"), 0, 1)[0]
        app = FcreviewApp(session, View(queue="dataset"), first.item)
        async with app.run_test(size=size) as pilot:
            item_app = ItemApp(pilot, app, workspace)
            await item_app.wait()
            yield item_app, store
