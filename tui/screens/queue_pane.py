"""The queue's list with its bars and its filter line: what is selected, drawn as far as it is in view.

`Loading` asks the store for it. What a person wants of it is heard by the screen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from fcreview.store.filters.parser import FilterError
from fcreview.tui.queue import header
from fcreview.tui.queue.columns import EMPTY_COLUMNS, queue_heading
from fcreview.tui.queue.loader import WINDOW, Glance, Loaded, Loading, Request, keep_glance, read_glance
from fcreview.tui.queue.state import QueueState, Standing
from fcreview.tui.screens.queue_choices import Choosing
from fcreview.tui.session import Session, SessionError
from fcreview.tui.widgets.base import Waiting, work
from fcreview.tui.widgets.document_view import LineBar
from fcreview.tui.widgets.filter_input import FilterLine
from fcreview.tui.widgets.lists import QueueList

if TYPE_CHECKING:
    from fcreview.stats.estimation import Share

RATES = ("runs", "rates")
"""Bars of what only the store knows."""


class QueuePane(Vertical):
    @dataclass
    class Rows(Message):
        """Rows have come; `anew`: of a view that was read anew."""

        anew: bool

    @dataclass
    class Found(Message):
        """The item that was to be opened when the first rows are there."""

        item: int

    def __init__(self, session: Session, state: QueueState, choosing: Choosing) -> None:
        """`choosing`: knows the runs as soon as they are read."""
        super().__init__()
        self._session, self._state, self._choosing = session, state, choosing
        self._loading = Loading(session)
        self._shown: Loaded | None = None
        """None until the first rows are there."""
        self._share: Share | None = None
        self._named: int | str | None = None
        self._message = ""
        self._wanted: Standing | None = None
        """Where the cursor is going to stand; None when it stands there."""
        self._glance: Glance | None = None
        """What is kept for the next start, and shown there until the store is open."""
        self._read = False
        """What is shown is what the store says."""
        self._waiting = Waiting(self, self._say_how_long)
        self._leave = ""
        self._whole = False
        """The header, too, is of what was loaded last."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="runs")
        yield LineBar(id="rates")
        yield LineBar(id="view")
        yield LineBar(id="rule")
        yield LineBar(id="heading")
        yield QueueList(EMPTY_COLUMNS, id="list")
        yield FilterLine(self._session.typed)

    def on_mount(self) -> None:
        self.list.set_blind(self._state.blind)
        self.watch(self.list, "cursor", self._draw_place, init=False)

    def begin(self, standing: Standing, named: int | str | None, message: str) -> None:
        """The first rows; `named`: an item to open then, by its id or number."""
        self._wanted, self._named = standing, named
        self._glance = read_glance(self._session, self._state.view, standing) if named is None else None
        if self._glance is not None:
            self._show_list(self._glance.loaded)
        # opening the store imports much: the frame is painted before
        self.call_after_refresh(lambda: self.load(standing, message))

    @property
    def list(self) -> QueueList:
        return self.query_one("#list", QueueList)

    @property
    def filter_line(self) -> FilterLine:
        return self.query_one(FilterLine)

    @property
    def reading(self) -> bool:
        """Other rows are on their way."""
        return self._wanted is not None

    @property
    def here(self) -> Standing:
        """Where the cursor stands, or is about to."""
        if self._wanted is not None:
            return self._wanted
        row = self.list.row_at(self.list.cursor) if self.list.total else None
        return Standing(row.item, self.list.cursor, (row.id, row.run)) if row else Standing(line=self.list.cursor)

    @property
    def settled(self) -> bool:
        """Its rows are there, and no others are on their way."""
        return self._wanted is None and self._read

    def take_in(self, loaded: Loaded, says: str) -> None:
        """The same view of another store: what is in sight stays where it is."""
        row = self.list.cursor_row
        self._loading.forget()
        self._show_list(loaded)
        self.list.put_cursor(row)
        self._message, self._whole = says or self._message, False
        self._draw_header()
        self.post_message(self.Rows(anew=False))
        self.load_runs()

    # -- what is shown

    def unsay(self, message: str) -> None:
        """It was there long enough."""
        if self._message == message:
            self.say("")

    def say(self, message: str) -> None:
        self._message = message
        self._draw_header()

    def _bar(self, name: str) -> LineBar:
        return self.query_one(f"#{name}", LineBar)

    def _draw_header(self) -> None:
        cells, runs = self.size.width, self._choosing.shown_runs
        if runs is None and self._glance is not None and self._glance.cells == cells:
            for name in RATES:
                self._bar(name).show(self._glance.bars.get(name, ()))
        else:
            self._bar("runs").show(header.run_line(runs, self._session.annotator, cells, blind=self._state.blind))
            self._bar("rates").show(header.rates_line(runs, cells, blind=self._state.blind, share=self._share))
        self._bar("rule").show(header.message_line(self._message, cells))
        self._bar("heading").show(queue_heading(self.list.columns))
        self._draw_place()
        self.refresh_bindings()

    def _draw_place(self) -> None:
        state, shown = self._state, self._shown
        place = self.list.cursor + 1 if shown and shown.total else None
        standing = header.Standing(place, shown.total if shown else None, shown.done if shown else "")
        line = header.view_line(state.view, state.where, state.search, standing, self.size.width)
        self._bar("view").show(line)

    def on_resize(self) -> None:
        self._draw_header()

    on_queue_list_widened = on_resize

    def keep_glance(self) -> None:
        """For the next start; not while what stands here is of two states."""
        rows = self.list.rows_about(self.list.cursor)
        if self._shown is not None and self._whole and rows is not None:
            cursor = self.list.cursor
            shown = replace(self._shown, cursor=cursor, window=cursor // WINDOW, rows=rows)
            self._glance = Glance(shown, {name: self._bar(name).line for name in RATES}, self.size.width)
            keep_glance(self._session, self._state.view, self._glance)

    # -- what is loaded

    def load(self, standing: Standing, message: str = "", *, leave: str = "") -> None:
        """The view anew, with the cursor on the item if it is in it, else on the line. `leave`: the key that leads
        back to what is shown; it does so at once."""
        self._wanted, self._leave = standing, leave
        self._waiting.begin()
        self._load_view(standing, message)

    def _say_how_long(self, seconds: float) -> None:
        if self._wanted is None:
            return
        if self._read:
            self.say(header.looking(self._choosing.shown_runs, seconds, self._leave))
        elif self._glance is None:
            self._bar("rates").show(header.reading_line(seconds))

    @work(exclusive=True, group="view")
    async def _load_view(self, standing: Standing, message: str) -> None:
        named = self._named
        request = Request(self._state.view, standing, anew=self._read)
        try:
            if named is not None:
                standing = Standing(await self._loading.find(named, self._state.run), standing.line)
                request = replace(request, standing=standing)
            loaded = await self._loading.view(request)
            message = message or (await self._loading.problems() if not self._read else "")
        except SessionError as error:
            self.app.exit(return_code=1, message=str(error))
            return
        except FilterError as error:
            self._state.clear()
            self.load(standing, f"the filter is left out: {error.message}")
            return
        self._named = None
        if named is not None and standing.item is None:
            message = f"there is no item {named}"
        self._show_rows(loaded, message)
        if named is not None and standing.item is not None:
            self.post_message(self.Found(standing.item))

    def _show_rows(self, loaded: Loaded, message: str) -> None:
        self._message, self._wanted = message, None
        self._waiting.end()
        if not self._read and self._glance is not None and self._glance.loaded != loaded:
            self._glance = None
        if self._read or self._glance is None:
            self._show_list(loaded)
        self._read, self._whole = True, False
        self._draw_header()
        self.post_message(self.Rows(anew=True))
        self.load_runs()

    def _show_list(self, loaded: Loaded) -> None:
        self._shown, self._wanted = loaded, None
        self.list.empty = header.nothing_line(self._state.where, self._state.search, self._session.reviewed)
        self.list.reset(loaded.total, loaded.cursor, loaded.extent)
        self.list.fill(loaded.window, self.list.age, loaded.rows)

    @work(exclusive=True, group="runs")
    async def load_runs(self) -> None:
        scope = self._state.scope
        self._choosing.runs = [run for run in await self._loading.runs() if not scope or run.run in scope]
        self._draw_header()
        self._whole = True
        if self._glance is None:
            self.keep_glance()
        self._load_share()

    @work(exclusive=True, group="share")
    async def _load_share(self) -> None:
        """After all else is there."""
        runs = self._choosing.shown_runs or ()
        share = await self._loading.share(runs[0]) if len(runs) == 1 and not self._state.blind else None
        if share != self._share:
            self._share = share
            self._draw_header()

    @work(group="windows")
    async def _fetch(self, window: int, age: int) -> None:
        self.list.fill(window, age, await self._loading.window(self._state.view, window))
        self.post_message(self.Rows(anew=False))

    @work(group="rows")
    async def renew(self, item: int) -> None:
        """Something was said of the item: its row as it is now."""
        age, index = self.list.age, self.list.index_of(item)
        if index is not None and (row := await self._loading.row(self._state.view, index)) is not None:
            self.list.put(index, age, row)

    def on_queue_list_wanted(self, wanted: QueueList.Wanted) -> None:
        if wanted.age == self.list.age:
            self._fetch(wanted.window, wanted.age)

    @work(exclusive=True, group="facets")
    async def on_filter_line_completing(self) -> None:
        facets = await self._loading.facets(self._state.view)
        self.filter_line.complete(facets, blind=self._state.blind)
