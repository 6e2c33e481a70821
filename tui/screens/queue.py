"""The queue: the first screen. Which items, in which order, with what everybody says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType

from fcreview.sanitise import visible
from fcreview.store.filters.language import FilterError
from fcreview.store.rows import RunRow
from fcreview.tui import keys
from fcreview.tui.queue import header as format_header
from fcreview.tui.queue.columns import EMPTY_COLUMNS, queue_heading
from fcreview.tui.queue.state import QueueState
from fcreview.tui.screens.queue_choosing import QueueChoosing
from fcreview.tui.session import Session, SessionError
from fcreview.tui.text.lines import Line, rule
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.filter_line import FilterLine
from fcreview.tui.widgets.queue_list import WINDOW, QueueList
from fcreview.tui.widgets.status import KeyLine

if TYPE_CHECKING:
    from fcreview.store.store import Store


class QueueScreen(QueueChoosing):
    BINDINGS: ClassVar[list[BindingType]] = [*keys.QUEUE]

    def __init__(
        self, session: Session, state: QueueState, *, open_item: int | str | None = None, message: str = ""
    ) -> None:
        super().__init__()
        self.session = session
        self.state = state
        self._total: int | None = None
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

    # -- what is shown

    def _bar(self, name: str) -> LineBar:
        return self.query_one(f"#{name}", LineBar)

    def _shown_runs(self) -> Sequence[RunRow] | None:
        if self.runs is None or self.state.run is None:
            return self.runs
        return [run for run in self.runs if run.run == self.state.run]

    def _draw_header(self) -> None:
        cells, runs = self.size.width, self._shown_runs()
        self._bar("runs").show(format_header.run_line(runs, self.session.annotator, cells, blind=self.state.blind))
        self._bar("rates").show(format_header.rates_line(runs, cells, blind=self.state.blind))
        says: Line = ((visible(self._message), "warn"),) if self._message else ()
        self._bar("rule").show(rule(says, cells, symbols().rule) if says else ((symbols().rule * cells, "dim"),))
        self._bar("heading").show(queue_heading(self.list.columns, self.state.blind))
        self._draw_place()
        self.refresh_bindings()

    def _say(self, message: str) -> None:
        """In the line above the list, until the list is loaded again."""
        self._message = message
        self._draw_header()

    def _draw_place(self) -> None:
        place = self.list.cursor + 1 if self._total else None
        line = format_header.view_line(
            self.state.view, self.state.where, self.state.search, place, self._total, self.size.width
        )
        self._bar("view").show(line)

    def on_resize(self) -> None:
        self._draw_header()

    def on_queue_list_widened(self) -> None:
        self._draw_header()

    # -- what is asked of the store

    def _first_load(self) -> None:
        self._load(None, self._message)

    def load(self, item: int | None = None) -> None:
        self._load(item)

    @work(exclusive=True, group="view")
    async def _load(self, item: int | None, message: str = "") -> None:
        """The view anew, with the cursor on `item` if it is in it, else on the line it was on."""
        view, before = self.state.view, self.list.cursor
        try:
            if self._total is not None:
                await self.session.ask(lambda store: store.refresh_reviews())
            if self._open_item is not None:
                item = await self.session.ask(self._find_item)
            total = await self.session.ask(lambda store: store.count(view))
            place = None if item is None else await self.session.ask(lambda store: store.position(view, item))
            cursor = max(0, min(before, total - 1)) if place is None else place
            start = cursor // WINDOW
            rows = await self.session.ask(lambda store: store.page(view, start * WINDOW, WINDOW))
        except SessionError as error:
            self.app.exit(return_code=1, message=str(error))
            return
        except FilterError as error:
            self.state.where = self.state.search = ""
            self._load(item, f"the filter is left out: {error.message}")
            return
        if self._total is None and not message:
            message = await self.session.ask(_journal_problems)
        self._total, self._message = total, message
        self.list.empty = ((" no item matches the filter", "warn"),)
        self.list.reset(total, cursor)
        self.list.fill(start, self.list.age, rows)
        if self._open_item is not None:
            self._open_first(item)
        self._draw_header()
        self._load_runs()

    @work(exclusive=True, group="runs")
    async def _load_runs(self) -> None:
        runs = await self.session.ask(lambda store: store.runs())
        self.runs = [run for run in runs if not self.state.scope or run.run in self.state.scope]
        self.list.set_columns(models=self.state.run is None and len({run.info.model for run in self.runs}) > 1)
        self._draw_header()

    @work(group="windows")
    async def _fetch(self, window: int, age: int) -> None:
        view = self.state.view
        rows = await self.session.ask(lambda store: store.page(view, window * WINDOW, WINDOW))
        self.list.fill(window, age, rows)

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

        session = self.session
        try:
            screen = ItemScreen(session.store, session.reviewer, self.state.view, item, blind=self.state.blind)
        except SessionError as error:
            self._say(str(error))
            return
        self.app.push_screen(screen, self._back)

    def _back(self, item: int | None) -> None:
        """Reviews may have changed what the view holds, and its order."""
        self.load(item)

    def _find_item(self, store: Store) -> int | None:
        """The item that was named on the command line: by its id in a run that is shown, or by its key."""
        wanted = self._open_item
        if isinstance(wanted, str):
            found = store.find(wanted, self.state.run)
            return found[0] if found else None
        return wanted

    def _open_first(self, item: int | None) -> None:
        wanted, self._open_item = self._open_item, None
        if item is None:
            self._say(f"there is no item {wanted}")
        else:
            self._show_item(item)


def _journal_problems(store: Store) -> str:
    """The first review that does not count because its line cannot be read, and how many more there are."""
    warnings = store.reviews.warnings
    more = f", and {len(warnings) - 1} more: fcreview doctor" if len(warnings) > 1 else ""
    return f"reviews: {warnings[0]}{more}" if warnings else ""
