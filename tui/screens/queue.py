"""The queue: the first screen. Which items, in which order, with what everybody says of them.

Its parts: `QueueState` is what the person set, `Loading` asks the store for it, `Choosing` offers what to choose from.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from fcreview.store.filters.language import FilterError
from fcreview.tui.keys import bindings, key_names
from fcreview.tui.keytable import QUEUE
from fcreview.tui.queue import header
from fcreview.tui.queue.columns import EMPTY_COLUMNS, queue_heading
from fcreview.tui.queue.levels import Levels, Standing
from fcreview.tui.queue.loading import Loaded, Loading, Request
from fcreview.tui.queue.position import Position
from fcreview.tui.queue.state import QueueState
from fcreview.tui.screens.choosing import Choosing
from fcreview.tui.session import Session, SessionError
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.filter_line import FilterLine
from fcreview.tui.widgets.queue_list import QueueList
from fcreview.tui.widgets.status import KeyLine

if TYPE_CHECKING:
    from fcreview.estimate.share import Share

ACTIONS = {action.does.partition("(")[0] for action in QUEUE}


class QueueScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(QUEUE)

    def __init__(
        self,
        session: Session,
        state: QueueState,
        *,
        open_item: int | str | None = None,
        message: str = "",
        position: Position | None = None,
    ) -> None:
        """`position`: where the queue was left the last time."""
        super().__init__()
        self._session = session
        self.state = state
        self._loading = Loading(session)
        self._levels = Levels(state, position.levels if position else ())
        self._choosing = Choosing(session, state, self._levels)
        self._total: int | None = None
        """None until the first rows are there."""
        self._done = ""
        self._share: Share | None = None
        self._open_item = open_item
        self._message = message
        self._wanted: Standing | None = position.standing if position else Standing()
        """Where the cursor is going to stand; None when it stands there."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="runs")
        yield LineBar(id="rates")
        yield LineBar(id="view")
        yield LineBar(id="rule")
        yield LineBar(id="heading")
        yield QueueList(EMPTY_COLUMNS, id="list")
        yield FilterLine(self._session.typed)
        yield KeyLine()

    def on_mount(self) -> None:
        self.list.set_blind(self.state.blind)
        self.list.focus()
        self.watch(self.list, "cursor", self._draw_place, init=False)
        # opening the store imports much: the frame is painted before
        self.call_after_refresh(lambda: self._load(self._here(), self._message))

    @property
    def list(self) -> QueueList:
        return self.query_one("#list", QueueList)

    @property
    def _filter_line(self) -> FilterLine:
        return self.query_one(FilterLine)

    # -- what is shown

    def _bar(self, name: str) -> LineBar:
        return self.query_one(f"#{name}", LineBar)

    def _draw_header(self) -> None:
        cells, runs = self.size.width, self._choosing.shown_runs
        self._bar("runs").show(header.run_line(runs, self._session.annotator, cells, blind=self.state.blind))
        self._bar("rates").show(header.rates_line(runs, cells, blind=self.state.blind, share=self._share))
        self._bar("rule").show(header.message_line(self._message, cells))
        self._bar("heading").show(queue_heading(self.list.columns))
        self._draw_place()
        self.refresh_bindings()

    def _draw_place(self) -> None:
        place = self.list.cursor + 1 if self._total else None
        state = self.state
        standing = header.Standing(place, self._total, self._done)
        line = header.view_line(state.view, state.where, state.search, standing, self.size.width)
        self._bar("view").show(line)

    def on_resize(self) -> None:
        self._draw_header()

    on_queue_list_widened = on_resize

    # -- what is loaded

    def _load(self, standing: Standing, message: str = "") -> None:
        """The view anew, with the cursor on the item if it is in it, else on the line."""
        self._wanted = standing
        self._load_view(standing, message)

    @work(exclusive=True, group="view")
    async def _load_view(self, standing: Standing, message: str) -> None:
        named = self._open_item
        request = Request(self.state.view, standing, anew=self._total is not None)
        try:
            if named is not None:
                standing = Standing(await self._loading.find(named, self.state.run), standing.line)
                request = replace(request, standing=standing)
            loaded = await self._loading.view(request)
            message = message or (await self._loading.problems() if self._total is None else "")
        except SessionError as error:
            self.app.exit(return_code=1, message=str(error))
            return
        except FilterError as error:
            self.state.clear()
            self._load(standing, f"the filter is left out: {error.message}")
            return
        self._open_item = None
        if named is not None and standing.item is None:
            message = f"there is no item {named}"
        self._show_rows(loaded, message)
        if named is not None and standing.item is not None:
            self.show_item(standing.item)

    def _show_rows(self, loaded: Loaded, message: str) -> None:
        self._total, self._message, self._done, self._wanted = loaded.total, message, loaded.done, None
        self.list.empty = header.nothing_line(self.state.where, self._session.reviewed)
        self.list.reset(loaded.total, loaded.cursor, loaded.extent)
        self.list.fill(loaded.window, self.list.age, loaded.rows)
        self._draw_header()
        self._load_runs()

    @work(exclusive=True, group="runs")
    async def _load_runs(self) -> None:
        scope = self.state.scope
        self._choosing.runs = [run for run in await self._loading.runs() if not scope or run.run in scope]
        self._draw_header()
        self._load_share()

    @work(exclusive=True, group="share")
    async def _load_share(self) -> None:
        """After all else is there."""
        runs = self._choosing.shown_runs or ()
        share = await self._loading.share(runs[0]) if len(runs) == 1 and not self.state.blind else None
        if share != self._share:
            self._share = share
            self._draw_header()

    @work(group="windows")
    async def _fetch(self, window: int, age: int) -> None:
        self.list.fill(window, age, await self._loading.window(self.state.view, window))

    def on_queue_list_wanted(self, wanted: QueueList.Wanted) -> None:
        if wanted.age == self.list.age:
            self._fetch(wanted.window, wanted.age)

    # -- items

    def action_open(self) -> None:
        row = self.list.row_at(self.list.cursor)
        if row is not None:
            self.show_item(row.item)

    def on_line_list_chosen(self) -> None:
        self.action_open()

    def show_item(self, item: int) -> None:
        from fcreview.tui.screens.item import ItemScreen

        self.app.push_screen(ItemScreen(self._session, self.state.view, item), self._back)

    def action_adjudicate(self) -> None:
        if self.state.blind:
            self.say("adjudication is hidden in blind mode: it shows what others said")
            return
        from fcreview.tui.screens.annotators.adjudication import AdjudicationScreen

        self.app.push_screen(AdjudicationScreen(self._session, self.state.view), self._back)

    def _back(self, item: int | None) -> None:  # reviews may have changed what the view holds, and its order
        self._load(Standing(item, self.list.cursor))

    # -- what is set

    def action_filter(self) -> None:
        key = key_names(self.app).get("app.help", "")
        self._filter_line.open("filter", self.state.where, FilterLine.FILTER + (f"  ({key} lists all)" if key else ""))

    def action_search(self) -> None:
        self._filter_line.open("search", self.state.search, FilterLine.SEARCH)

    def on_filter_line_submitted(self, typed: FilterLine.Submitted) -> None:
        here, before = self._here(), self.state.setting
        if typed.kind == "search":
            self.state.search = typed.text
        else:
            self.state.where = typed.text
        self._levels.go_in(before, here)
        self._filter_line.close()
        self.list.focus()
        self._load(Standing(here.item))

    @work(exclusive=True, group="facets")
    async def on_filter_line_completing(self) -> None:
        self._filter_line.complete(await self._loading.facets(self.state.view), blind=self.state.blind)

    def on_filter_line_cancelled(self) -> None:
        self.list.focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A click into the list while a filter is typed."""
        if event.widget is self.list and self._filter_line.display:
            self._filter_line.close()

    def action_clear_filter(self) -> None:
        if not (self.state.where or self.state.search):
            self.say("all items are shown already")
            return
        here = self._here()
        self._levels.clear()
        self._load(Standing(here.item))

    def action_choose(self, what: str) -> None:
        choice = self._choosing.choices[what]
        why = choice.why_not()
        if why:
            self.say(why)
        elif choice.ask is not None:
            self.app.push_screen(choice.ask(), partial(self._chosen, what))

    def _chosen(self, what: str, answer: Any) -> None:
        if answer is not None:
            self._load(self._choosing.take(what, answer, self._here()))

    def go(self, what: str, answer: Any) -> None:
        """Chosen in the palette."""
        self._load(self._choosing.take(what, answer, self._here(), listed=False))

    # -- levels

    def _here(self) -> Standing:
        """Where the cursor stands, or is about to."""
        if self._wanted is not None:
            return self._wanted
        row = self.list.row_at(self.list.cursor) if self.list.total else None
        return Standing(row.item, self.list.cursor, (row.id, row.run)) if row else Standing(line=self.list.cursor)

    def action_back(self, leave: bool) -> None:
        """To the level above, and to the list that led here; from the outermost, `leave` leaves the program."""
        level = self._levels.back()
        if level is not None:
            self._load(level.standing)
            if level.via:
                self.action_choose(level.via)
        elif leave:
            self.app.call_later(self.app.run_action, "quit")
        else:
            self.say(f"nothing lies above this: {key_names(self.app).get('queue.quit', '')} leaves")

    @property
    def position(self) -> Position:
        return Position(self.state.setting, self._here(), self._levels.above)

    def say(self, message: str) -> None:
        self._message = message
        self._draw_header()

    @property
    def idle_keys(self) -> frozenset[str]:
        """Of actions that would only say why there is nothing to do."""
        hidden = {"queue.adjudicate"} if self.state.blind else set()
        return self._choosing.idle | hidden | (set() if self.state.where or self.state.search else {"queue.clear"})

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return not (self.is_mounted and self._filter_line.display and action in ACTIONS)
