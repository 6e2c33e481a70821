"""The palette as a screen, and what is done when something is chosen in it.

The palette: one line to type in, and below it what fits. Over the lower part of the screen it was called from.

What the palette offers over a screen: by the screen's keys, the session and what the queue shows.

What is done when something was chosen in the palette: what its key does, or what its list would have done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import visible
from fcreview.store.filters.saved import SIGN
from fcreview.store.rows import RunRow
from fcreview.tui.actions import PALETTE
from fcreview.tui.key_bindings import Doable, bindings, doable
from fcreview.tui.palette import palette
from fcreview.tui.palette.palette import (
    Entry,
    Export,
    Match,
    QueueFiles,
    is_there,
    line_of,
    merged,
    queue_files,
    ranked,
    write,
)
from fcreview.tui.review.status import Remark
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.screens.pager import PagerScreen, Text
from fcreview.tui.text.lines import Line, rule
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import LineList
from fcreview.tui.widgets.safe_input import SafeInput

if TYPE_CHECKING:
    from textual.app import App

    from fcreview.tui.queue.state import QueueState
    from fcreview.tui.session import Session


LEAST = 2
"""Letters from which ids are looked for."""
MOST_ITEMS = 20


@dataclass(slots=True)
class Offers:
    keys: Sequence[Doable]
    session: Session
    state: QueueState
    leads: bool = True
    """The queue lies below: what changes it, and items, can be gone to. Else keys only."""
    run: int | None = None
    """Of the item on screen: ids are looked for there first."""
    _runs: Sequence[RunRow] = ()
    _files: QueueFiles = field(default_factory=lambda: QueueFiles((), set()))

    _made: list[Entry] = field(default_factory=list)

    @property
    def entries(self) -> list[Entry]:
        """Made once, and anew when the store has answered."""
        self._made = self._made or self._entries()
        return self._made

    def _entries(self) -> list[Entry]:
        keys = [each for each in self.keys if each.id != "app.palette"]
        own = palette.action_entries(each for each in keys if not each.shared)
        shared = palette.action_entries(each for each in keys if each.shared)
        if not self.leads:
            return [*own, *shared]
        state, typed = self.state, self.session.typed
        return [
            *own,
            *palette.filter_entries(typed),
            *palette.order_entries(state),
            *palette.queue_entries(self._files.names, self._files.mine, state),
            *palette.leaving_entries(state, can_report=self.session.lent is not None),
            *palette.keeping_entries(state, typed),
            *palette.run_entries(self._runs),
            *shared,
        ]

    async def load(self) -> None:
        """What the store has to be asked for."""
        if not self.leads:
            return
        self._files = await self.session.ask(queue_files)
        runs = await self.session.ask(lambda store: store.runs())
        scope = self.state.scope
        self._runs = [run for run in runs if not scope or run.run in scope]
        self._made = []

    def looks_for(self, text: str) -> bool:
        return self.leads and len(text.strip()) >= LEAST

    async def items(self, text: str) -> list[Match]:
        scope, run = self.state.scope, self.run if self.run is not None else self.state.run
        found = await self.session.ask(lambda store: store.like(text, scope, run, MOST_ITEMS))
        return palette.item_matches(found, text)

    def doubt(self, match: Match) -> str:
        """What is asked before something is replaced; empty if nothing is."""
        return palette.argument_problem(match, self.session.typed, is_there)


MOST_LINES = 14
AROUND = 4
"""Lines that are no entries: title, what is typed, keys, and one of the screen below."""


class PaletteInput(SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = bindings(PALETTE)


class PaletteList(LineList, can_focus=False):
    """Lines are made when they come into view."""

    matches: Sequence[Match] = ()

    def line_at(self, index: int) -> Line:
        return line_of(self.matches[index], self.size.width - 1)

    def show(self, matches: Sequence[Match], cursor: int) -> None:
        self.matches = matches
        self.set_total(len(matches), cursor)


class PaletteScreen(ModalScreen[Match | None]):
    """Gives what was chosen. Ids are looked for while one types; enter waits for those that are still being found."""

    CSS = """
    PaletteScreen { background: transparent; align: left bottom; }
    PaletteScreen > Vertical { height: auto; width: 1fr; background: ansi_default; }
    PaletteScreen Horizontal { height: 1; }
    PaletteScreen #palette-sign { width: 3; }
    PaletteScreen Input { width: 1fr; }
    """

    def __init__(self, offers: Offers) -> None:
        super().__init__()
        self._offers = offers
        self._fitting: Sequence[Match] = ()
        self._items: Sequence[Match] = ()
        self._looking = False
        """For ids."""
        self._wanted = False
        """Enter was pressed meanwhile."""
        self._moved = False
        """Else enter takes nothing while nothing is typed: the first line may be a verdict."""
        self._asked: Match | None = None
        """What was said to be replaced: chosen again, it is."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(id="palette-title")
            with Horizontal():
                yield LineBar(id="palette-sign")
                line = PaletteInput(compact=True)
                line.cursor_blink = False
                yield line
            yield PaletteList(id="palette-list")
            yield KeyLine(always=1)

    def on_mount(self) -> None:
        self.query_one("#palette-sign", LineBar).show(((" : ", "strong"),))
        self._input.focus()
        self._load()

    @property
    def _input(self) -> PaletteInput:
        return self.query_one(PaletteInput)

    @property
    def _list(self) -> PaletteList:
        return self.query_one(PaletteList)

    @work()
    async def _load(self) -> None:
        await self._offers.load()
        self._rank(keep=True)

    def on_resize(self) -> None:
        self._list.styles.height = max(1, min(MOST_LINES, self.size.height - AROUND))
        self._rank(keep=True)

    def on_key(self, event: events.Key) -> None:
        """What is typed before the line has the focus."""
        if event.is_printable and event.character is not None:
            event.stop()
            self._input.insert_text_at_cursor(event.character)

    # -- what fits

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._wanted, self._asked, self._items = False, None, ()
        self._looking = self._offers.looks_for(event.value)
        self._rank()
        self._look(event.value)

    @work(exclusive=True, group="ids")
    async def _look(self, text: str) -> None:
        found = await self._offers.items(text) if self._looking else []
        if text != self._input.value:
            return
        self._items, self._looking = found, False
        if found:
            self._draw(merged(self._fitting, found, text), keep=True)
        if self._wanted:
            self._wanted = False
            self.action_take()

    def _rank(self, *, keep: bool = False) -> None:
        text = self._input.value
        self._fitting = ranked(self._offers.entries, text)
        self._draw(merged(self._fitting, self._items, text), keep=keep)

    def _draw(self, matches: Sequence[Match], *, keep: bool = False) -> None:
        """`keep`: the cursor stays on its entry, if that is not the first line."""
        before = self._here if keep and self._list.cursor else None
        entries = [match.entry for match in matches]
        cursor = entries.index(before.entry) if before is not None and before.entry in entries else 0
        self._list.empty = ((" nothing fits", "dim"),)
        self._list.show(matches, cursor)
        self._title()

    def _title(self, says: str = "") -> None:
        many: Line = (("palette", "strong"), (f" {symbols().between} {len(self._list.matches):,}", "dim"))
        shown: Line = ((says, "warn"),) if says else many
        self.query_one("#palette-title", LineBar).show(rule(shown, self.size.width, symbols().rule))

    @property
    def _here(self) -> Match | None:
        matches = self._list.matches
        return matches[self._list.cursor] if matches else None

    # -- keys

    def on_line_list_chosen(self) -> None:
        self._moved = True
        self.action_take()

    def action_move(self, by: int) -> None:
        self._moved = True
        self._list.action_move(by)

    def action_page(self, by: int) -> None:
        self._moved = True
        self._list.action_move_page(by)

    def action_complete(self) -> None:
        here = self._here
        if here is not None:
            self._put(here.entry.text + (" " if here.entry.wants else ""))

    def _put(self, text: str) -> None:
        self._input.value = text
        self._input.cursor_position = len(text)

    def action_take(self) -> None:
        if self._looking:
            self._wanted = True
            return
        here = self._here
        if here is None:
            self._title("nothing fits")
        elif not self._moved and not self._input.value.strip():
            self._title("type what is wanted, or go down to it")
        elif not here.entry.usable:
            self._title(here.entry.says)
        elif here.entry.wants and not here.argument:
            with self._input.prevent(Input.Changed):
                self._put(here.entry.text + " ")
            self._items = ()
            self._rank()
            self._title(f"type {here.entry.wants}: {visible(here.entry.text)} {here.entry.wants}")
        elif self._asked != here and (doubt := self._offers.doubt(here)):
            self._asked = here
            self._title(doubt)
        else:
            self.dismiss(here)

    def action_close(self) -> None:
        self.dismiss(None)


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
        run = item.item_reviewer.displayed.detail.row.run if item is not None else None
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
                self._app.push_screen(self._item.make_screen(self._state.view, entry.value))
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
            if not await self._session.actions.finished():
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
