"""The queue: the first screen. Which items, in which order, with what everybody says of them.

Its parts: `QueueState` is what the person set, `Loading` asks the store for it, `Choosing` offers what to choose from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from fcreview.sanitise import visible
from fcreview.store.filters.language import FilterError
from fcreview.store.rows import RunRow
from fcreview.tui.keys import bindings, key_names
from fcreview.tui.keytable import QUEUE
from fcreview.tui.queue import header
from fcreview.tui.queue.columns import EMPTY_COLUMNS, queue_heading
from fcreview.tui.queue.loading import Loaded, Loading, Request
from fcreview.tui.queue.state import QueueState
from fcreview.tui.screens.choosing import Choosing
from fcreview.tui.session import Session, SessionError
from fcreview.tui.text.lines import Line, rule
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.filter_line import FilterLine
from fcreview.tui.widgets.queue_list import QueueList
from fcreview.tui.widgets.status import KeyLine

if TYPE_CHECKING:
    from fcreview.estimate.share import Share

FILTER_HINT = ' such as official:fail -reviewed error:value_error text:"celsius"'
SEARCH_HINT = " items whose texts contain these words"
ACTIONS = {action.does.partition("(")[0] for action in QUEUE}


class QueueScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(QUEUE)

    def __init__(
        self, session: Session, state: QueueState, *, open_item: int | str | None = None, message: str = ""
    ) -> None:
        super().__init__()
        self._session = session
        self.state = state
        self._loading = Loading(session)
        self._choosing = Choosing(session, state)
        self._total: int | None = None
        """None until the first rows are there."""
        self._done = ""
        self._share: Share | None = None
        self._open_item = open_item
        self._message = message

    def compose(self) -> ComposeResult:
        yield LineBar(id="runs")
        yield LineBar(id="rates")
        yield LineBar(id="view")
        yield LineBar(id="rule")
        yield LineBar(id="heading")
        yield QueueList(EMPTY_COLUMNS, id="list")
        yield FilterLine()
        yield KeyLine()

    def on_mount(self) -> None:
        self.list.set_columns(blind=self.state.blind)
        self.list.focus()
        self.watch(self.list, "cursor", self._draw_place, init=False)
        self.call_after_refresh(self._first_load)  # opening the store imports much: the frame is painted before

    @property
    def list(self) -> QueueList:
        return self.query_one("#list", QueueList)

    @property
    def _filter_line(self) -> FilterLine:
        return self.query_one(FilterLine)

    # -- what is shown

    def _bar(self, name: str) -> LineBar:
        return self.query_one(f"#{name}", LineBar)

    def _shown_runs(self) -> Sequence[RunRow] | None:
        runs = self._choosing.runs
        return runs if runs is None or self.state.run is None else [run for run in runs if run.run == self.state.run]

    def _draw_header(self) -> None:
        cells, runs = self.size.width, self._shown_runs()
        self._bar("runs").show(header.run_line(runs, self._session.annotator, cells, blind=self.state.blind))
        self._bar("rates").show(header.rates_line(runs, cells, blind=self.state.blind, share=self._share))
        says: Line = ((visible(self._message), "warn"),) if self._message else ()
        self._bar("rule").show(rule(says, cells, symbols().rule) if says else ((symbols().rule * cells, "dim"),))
        self._bar("heading").show(queue_heading(self.list.columns, self.state.blind))
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

    def on_queue_list_widened(self) -> None:
        self._draw_header()

    # -- what is loaded

    def _first_load(self) -> None:
        self._load(message=self._message)

    @work(exclusive=True, group="view")
    async def _load(self, item: int | None = None, message: str = "") -> None:
        """The view anew, with the cursor on `item` if it is in it, else on the line it was on."""
        named = self._open_item
        request = Request(self.state.view, item, self.list.cursor, anew=self._total is not None)
        try:
            if named is not None:
                request = replace(request, item=await self._loading.find(named, self.state.run))
            loaded = await self._loading.view(request)
            message = message or (await self._loading.problems() if self._total is None else "")
        except SessionError as error:
            self.app.exit(return_code=1, message=str(error))
            return
        except FilterError as error:
            self.state.clear()
            self._load(item, f"the filter is left out: {error.message}")
            return
        self._open_item = None
        if named is not None and request.item is None:
            message = f"there is no item {named}"
        self._show_rows(loaded, message)
        if named is not None and request.item is not None:
            self._show_item(request.item)

    def _show_rows(self, loaded: Loaded, message: str) -> None:
        self._total, self._message, self._done = loaded.total, message, loaded.done
        self.list.empty = ((" no item matches the filter", "warn"),)
        self.list.reset(loaded.total, loaded.cursor)
        self.list.fill(loaded.window, self.list.age, loaded.rows)
        self._draw_header()
        self._load_runs()

    @work(exclusive=True, group="runs")
    async def _load_runs(self) -> None:
        runs = [run for run in await self._loading.runs() if not self.state.scope or run.run in self.state.scope]
        self._choosing.runs = runs
        self.list.set_columns(models=self.state.run is None and len({run.info.model for run in runs}) > 1)
        self._draw_header()
        self._load_share()

    @work(exclusive=True, group="share")
    async def _load_share(self) -> None:
        """After all else is there."""
        runs = self._shown_runs() or ()
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
            self._show_item(row.item)

    def on_line_list_chosen(self) -> None:
        self.action_open()

    def _show_item(self, item: int) -> None:
        from fcreview.tui.screens.item import ItemScreen

        self.app.push_screen(ItemScreen(self._session, self.state.view, item), self._back)

    def action_adjudicate(self) -> None:
        from fcreview.tui.screens.annotators.adjudication import AdjudicationScreen

        self.app.push_screen(AdjudicationScreen(self._session, self.state.view), self._again)

    def _again(self, _: None) -> None:
        self._load()

    def _back(self, item: int | None) -> None:
        """Reviews may have changed what the view holds, and its order."""
        self._load(item)

    # -- what is set

    def action_filter(self) -> None:
        key = key_names(self.app).get("app.help", "")
        self._filter_line.open("filter", self.state.where, FILTER_HINT + (f"  ({key} lists all)" if key else ""))

    def action_search(self) -> None:
        self._filter_line.open("search", self.state.search, SEARCH_HINT)

    def on_filter_line_submitted(self, typed: FilterLine.Submitted) -> None:
        if typed.kind == "search":
            self.state.search = typed.text
        else:
            try:
                self.state.check(typed.text)
            except FilterError as error:
                self._filter_line.complain(error.message, error.position)
                return
            self.state.where = typed.text
        self._filter_line.close()
        self._show_view()

    def on_filter_line_cancelled(self) -> None:
        self.list.focus()

    def action_clear_filter(self) -> None:
        self.state.clear()
        self._show_view()

    def _show_view(self) -> None:
        """After the view was changed: the cursor stays on its item if that is still in it."""
        self.list.focus()
        row = self.list.row_at(self.list.cursor) if self.list.total else None
        self._load(row.item if row else None)

    def action_choose(self, what: str) -> None:
        self.app.push_screen(self._choosing.choices[what].ask(), partial(self._chosen, what))

    def _chosen(self, what: str, answer: Any) -> None:
        if answer is not None:
            self._choosing.choices[what].take(answer)
            self._load()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing here are not shown."""
        if self.is_mounted and self._filter_line.display:
            return action not in ACTIONS
        if action == "choose":
            return self._choosing.choices[str(parameters[0])].offered()
        if action == "adjudicate":
            return not self.state.blind
        return action != "clear_filter" or bool(self.state.where or self.state.search)
