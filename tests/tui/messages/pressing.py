"""Keys that say something of an item, pressed on a line; what the screen named before, what it says behind, and what
the journal has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from textual.pilot import Pilot

from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.screens.item_pane import ItemScreen
from fcreview.tui.session import Session
from tests.tui.conftest import screen_lines
from tests.tui.idle import worked
from tests.tui.messages.kinds import Place
from tests.tui.messages.named import Named, named


@dataclass(frozen=True, slots=True)
class Pressed:
    place: Place
    armed: bool
    keys: Sequence[str]
    before: Named
    prompt: str
    """Rows of what the first key opened; empty if it opened nothing."""
    after: str
    """The status line."""
    events: list[dict[str, Any]]

    def __str__(self) -> str:
        said = [(e["key"]["id"], e["target"], e["criterion"], e.get("verdict")) for e in self.events]
        at = f"{self.place.block}{' T' if self.armed else ''} {' '.join(self.keys)}"
        return f"{at}: named {self.before}, wrote {said}, says {self.after!r}"


class Desk:
    """An app on its item screen, whose cursor can be put on any line of any item."""

    def __init__(self, pilot: Pilot[Any], app: FcreviewApp, workspace: Workspace) -> None:
        self._pilot, self._app = pilot, app
        self._journal, self._read = workspace.reviews / "alice.jsonl", 0

    @property
    def screen(self) -> ItemScreen:
        return next(screen for screen in self._app.screen_stack if isinstance(screen, ItemScreen))

    async def settle(self) -> list[str]:
        await worked(self._app)
        await self._pilot.pause()
        return screen_lines(self._app)

    async def stand(self, place: Place) -> None:
        """On the line, as a search would leave the cursor there."""
        self.screen.item_reviewer.open_item(place.item)
        await self.settle()
        text = self.screen.text
        text.required_reader.options = replace(text.required_reader.options, unfold_all=place.open_all)
        text.required_reader.rebuild(key=place.block)
        text._show_blocks((place.block, 0))
        assert text.required_reader.block.key == place.block

    async def press(self, place: Place, keys: Sequence[str], *, armed: bool) -> Pressed:
        await self.stand(place)
        if armed:
            await self._pilot.press("T")
        before = named(await self.settle())
        self.events()
        await self._pilot.press(keys[0])
        shown = await self.settle()
        prompt = "" if self._app.screen is self.screen else "\n".join(shown[-11:])
        if prompt:
            for key in keys[1:]:
                await self._pilot.press(key)
            shown = await self.settle()
        return Pressed(place, armed, keys, before, prompt, shown[-2], self.events())

    def events(self) -> list[dict[str, Any]]:
        """What the journal has since it was looked at last."""
        if not self._journal.exists():
            return []
        with self._journal.open() as file:
            file.seek(self._read)
            lines = file.readlines()
            self._read = file.tell()
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def desk(workspace: Workspace, size: tuple[int, int] = (80, 24)) -> AsyncIterator[tuple[Desk, Store]]:
    with Store.open(workspace, "alice") as store:
        session = Session(None, "alice", store, Reviewer(store, Journal(workspace, "alice")))
        first = store.fetch_page(View(queue="dataset"), 0, 1)[0]
        app = FcreviewApp(session, View(queue="dataset"), first.item)
        async with app.run_test(size=size) as pilot:
            made = Desk(pilot, app, workspace)
            await made.settle()
            yield made, store
