"""What is done when something was chosen in the palette: what its key does, or what its list would have done."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual.screen import Screen

from fcreview.errors import FcreviewError
from fcreview.sanitise import visible
from fcreview.store.filters.saved import SIGN
from fcreview.tui.item.status import Remark
from fcreview.tui.keys import Doable, doable
from fcreview.tui.palette.asking import Export, write
from fcreview.tui.palette.entries import Entry, Match
from fcreview.tui.screens.pager import PagerScreen, Text
from fcreview.tui.screens.palette.offers import Offers
from fcreview.tui.screens.palette.palette import PaletteScreen
from fcreview.tui.screens.panes.item import ItemPane

if TYPE_CHECKING:
    from textual.app import App

    from fcreview.tui.queue.state import QueueState
    from fcreview.tui.session import Session


MOMENT = 0.01
"""Seconds until it is looked again whether an item that was left is gone."""
GOES = {"filter": "where", "queue": "file", "order": "order", "run": "runs"}
"""By kind of entry: the name that the queue has for what is chosen."""


class Queue(Protocol):
    """The queue's screen, as far as the palette needs it."""

    def go(self, what: str, answer: Any) -> None: ...

    def jump(self, item: int) -> None: ...

    def say(self, message: str) -> None: ...


def item_pane(app: App[Any]) -> ItemPane | None:
    """The item that keys go to, if they go to one."""
    nodes = (app.focused or app.screen).ancestors_with_self
    return next((node for node in nodes if isinstance(node, ItemPane)), None)


class Palette:
    """Over one screen. `queue`: the first screen, None where something else is."""

    def __init__(self, app: App[Any], session: Session, state: QueueState, queue: Screen[Any] | None) -> None:
        self._app, self._session, self._state = app, session, state
        self._below: Screen[Any] = app.screen
        self._item = item_pane(app)
        self._at_queue = self._below is queue
        self._screen, self._queue = queue, cast("Queue | None", queue)

    def open(self) -> None:
        item = self._item if self._item is not None and not self._item.opening else None
        leads = self._queue is not None and (item is not None or self._at_queue)
        run = item.reviewing.shown.detail.row.run if item is not None else None
        offers = Offers(doable(self._below), self._session, self._state, leads, run)
        self._app.push_screen(PaletteScreen(offers), self._taken)

    def _taken(self, match: Match | None) -> None:
        if match is not None:
            self._do(match.entry, match.argument)

    def _do(self, entry: Entry, argument: str) -> None:
        """By kind."""
        if entry.kind == "action":
            cast(Doable, entry.value).do()
        elif entry.kind == "item" and self._queue is not None:
            if self._item is not None and not self._at_queue:
                self._app.push_screen(self._item.another(self._state.view, entry.value))
            else:
                self._queue.jump(entry.value)
        elif entry.kind == "report":
            self._app.push_screen(PagerScreen("report", self._report, folder=self._session.folder))
        elif entry.kind == "export":
            self._app.run_worker(self._export(Export(entry.value, argument, self._state.view)), group="export")
        elif entry.kind in ("save", "forget"):
            self._keep(entry, argument)
        else:
            self._app.run_worker(self._lead(GOES[entry.kind], entry.value), group="lead", exclusive=True)

    async def _lead(self, what: str, answer: Any) -> None:
        """To the queue, and there to what was chosen; an item whose verdict cannot be saved is not left."""
        if self._queue is None or self._screen is None:
            return
        while (pane := item_pane(self._app)) is not None:
            pane.action_back()
            if not await self._session.acts.finished():
                return
            while item_pane(self._app) is pane:
                await asyncio.sleep(MOMENT)
        self._screen.call_later(self._queue.go, what, answer)

    def _say(self, text: str, style: str = "warn") -> None:
        if self._item is not None and not self._item.opening:
            self._item.say(Remark(text, style))
        elif self._queue is not None:
            self._queue.say(text)

    def _keep(self, entry: Entry, name: str) -> None:
        typed = self._session.typed
        try:
            if entry.kind == "save":
                typed.save(name, entry.value)
                said = f"saved as {SIGN}{name.removeprefix(SIGN)}"
            else:
                said = f"{SIGN}{entry.value} is forgotten" if typed.forget(entry.value) else "there is none"
        except FcreviewError as error:
            self._say(visible(str(error)), "bad")
            return
        self._say(visible(said))

    async def _report(self) -> Text:
        """Left before it is there, the store is free again after the run at hand."""
        lent, runs, left = self._session.lent, self._state.view.runs, Event()
        try:
            text = await self._session.ask(
                lambda store: lent.report(store, runs, left.is_set) if lent is not None else ""
            )
        except asyncio.CancelledError:
            left.set()
            raise
        except FcreviewError as error:
            text = str(error)
        return Text(text, text)

    async def _export(self, wanted: Export) -> None:
        lent = self._session.lent
        self._say(f"writing {visible(wanted.path)} ...")
        try:
            said = await self._session.ask(lambda store: write(store, wanted, lent))
        except (FcreviewError, OSError) as error:
            self._say(visible(str(error)), "bad")
            return
        self._say(visible(said), "good")
