"""What is done when something was chosen in the palette: what its key does, or what its list would have done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual.screen import Screen

from fcreview.errors import FcreviewError
from fcreview.sanitise import visible
from fcreview.store.filters.saved import SIGN
from fcreview.tui.item.status import Remark
from fcreview.tui.keys import Doable, doable
from fcreview.tui.palette.asking import Export, write
from fcreview.tui.palette.entries import Entry, Match
from fcreview.tui.screens.item import ItemScreen
from fcreview.tui.screens.pager import PagerScreen, Text
from fcreview.tui.screens.palette.offers import Offers
from fcreview.tui.screens.palette.palette import PaletteScreen

if TYPE_CHECKING:
    from textual.app import App

    from fcreview.tui.queue.state import QueueState
    from fcreview.tui.session import Session


class Queue(Protocol):
    """The queue's screen, as far as the palette needs it."""

    def go(self, what: str, answer: Any) -> None: ...

    def show_item(self, item: int) -> None: ...

    def say(self, message: str) -> None: ...


class Palette:
    """Over one screen. `queue`: the first screen, None where something else is."""

    def __init__(self, app: App[Any], session: Session, state: QueueState, queue: Screen[Any] | None) -> None:
        self._app, self._session, self._state = app, session, state
        self._below: Screen[Any] = app.screen
        self._from_queue = self._below is queue
        self._queue = cast("Queue | None", queue)

    def open(self) -> None:
        below = self._below
        item = below if isinstance(below, ItemScreen) and below.reviewing.begun else None
        leads = self._queue is not None and (item is not None or self._from_queue)
        run = item.reviewing.shown.detail.row.run if item is not None else None
        offers = Offers(doable(below), self._session, self._state, leads, run)
        self._app.push_screen(PaletteScreen(offers), self._taken)

    def _taken(self, match: Match | None) -> None:
        if match is not None:
            self._do(match.entry, match.argument)

    def _do(self, entry: Entry, argument: str) -> None:
        """By kind."""
        below = self._below
        if entry.kind == "action":
            cast(Doable, entry.value).do()
        elif entry.kind == "item" and isinstance(below, ItemScreen):
            self._app.push_screen(below.another(self._state.view, entry.value))
        elif entry.kind == "report":
            self._app.push_screen(PagerScreen("report", self._report, folder=self._session.folder))
        elif entry.kind == "export":
            self._app.run_worker(self._export(Export(entry.value, argument, self._state.view)), group="export")
        elif entry.kind in ("save", "forget"):
            self._keep(entry, argument)
        else:
            go = {"filter": "where", "queue": "file", "order": "order", "run": "runs"}.get(entry.kind)
            self._app.run_worker(self._lead(go, entry.value), group="lead", exclusive=True)

    async def _lead(self, what: str | None, answer: Any) -> None:
        """To the queue, and there to what was chosen; an item whose verdict cannot be saved is not left."""
        assert self._queue is not None  # noqa: S101 - nothing else is offered without it
        while isinstance(self._app.screen, ItemScreen):
            left = self._app.screen
            left.action_back()
            await self._session.acts.finished()
            if self._app.screen is left:
                return
        queue = cast("Screen[Any]", self._queue)
        queue.call_later(partial(self._queue.go, what, answer) if what else partial(self._queue.show_item, answer))

    def _say(self, text: str, style: str = "warn") -> None:
        if isinstance(self._below, ItemScreen):
            self._below.say(Remark(text, style))
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
        lent, runs = self._session.lent, self._runs
        try:
            text = await self._session.ask(lambda store: lent.report(store, runs) if lent is not None else "")
        except FcreviewError as error:
            text = str(error)
        return Text(text, text)

    @property
    def _runs(self) -> Sequence[int]:
        return self._state.view.runs

    async def _export(self, wanted: Export) -> None:
        lent = self._session.lent
        self._say(f"writing {visible(wanted.path)} ...")
        try:
            said = await self._session.ask(lambda store: write(store, wanted, lent))
        except (FcreviewError, OSError) as error:
            self._say(visible(str(error)), "bad")
            return
        self._say(visible(said), "good")
