"""Show the list of the queue with its header lines and its filter line.

`QueueLoader` reads the rows and `QueueList` draws them. `QueueScreen` handles the keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from fcreview.model.sanitize import sanitize
from fcreview.store.filters.parser import FilterError
from fcreview.tui.key_bindings import active_key_names
from fcreview.tui.queue import header
from fcreview.tui.queue.columns import EMPTY_COLUMNS, queue_heading_line
from fcreview.tui.queue.loader import QueueLoader, QueuePage, QueueRequest
from fcreview.tui.queue.state import CursorPosition, QueueState
from fcreview.tui.screens.queue_menus import QueueMenus
from fcreview.tui.session import Session, SessionError
from fcreview.tui.widgets.base import ProgressTimer, work
from fcreview.tui.widgets.document_view import LineBar, TopLine
from fcreview.tui.widgets.filter_input import FilterLine
from fcreview.tui.widgets.lists import QueueList
from fcreview.tui.widgets.panel import Panel

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate


FACTS_MARGIN = 18
"""Number of cells in the border of the panel that the facts cannot use."""


class QueuePane(Vertical):
    """List of the queue with its rates, its filter line and its message."""

    @dataclass
    class RowsLoaded(Message):
        is_reread: bool
        """Whether the whole view was read again."""

    @dataclass
    class RunsLoaded(Message):
        """Posted when the runs were read."""

        count: int

    @dataclass
    class ItemFound(Message):
        """Posted when the first item to open was found."""

        item: int

    def __init__(self, session: Session, state: QueueState, menus: QueueMenus) -> None:
        super().__init__()
        self._session, self._state, self._menus = session, state, menus
        self._loader = QueueLoader(session)
        self._page: QueuePage | None = None
        """Displayed page. None until the first rows are loaded."""
        self._estimate: PassRateEstimate | None = None
        self._first_item: int | str | None = None
        """Id or number of the first item to open. None after the item was found."""
        self._message = ""
        self._target: CursorPosition | None = None
        """Cursor position in the view that is being loaded. None if no view is being loaded."""
        self._waiting = ProgressTimer(self, self._show_waiting_time)
        self._cancel_key = ""

    def compose(self) -> ComposeResult:
        yield LineBar(id="rates")
        with Panel(id="queue-panel"):
            yield LineBar(id="heading")
            yield QueueList(EMPTY_COLUMNS, id="list")
        yield LineBar(id="queue-message")
        yield FilterLine(self._session.filter_history)

    def on_mount(self) -> None:
        self.list.set_blind(self._state.blind)
        self.watch(self.list, "cursor", self._draw_position, init=False)

    def load_first(self, cursor: CursorPosition, item: int | str | None, message: str) -> None:
        """Load the first rows. `item`: id or number of an item to open afterwards."""
        self._first_item = item
        self.load_view(cursor, message)

    @property
    def list(self) -> QueueList:
        return self.query_one("#list", QueueList)

    @property
    def filter_line(self) -> FilterLine:
        return self.query_one(FilterLine)

    @property
    def is_loading(self) -> bool:
        """Whether a view is being loaded."""
        return self._target is not None

    @property
    def cursor_position(self) -> CursorPosition:
        """Position of the cursor. While a view is being loaded, the position that the cursor will have."""
        if self._target is not None:
            return self._target
        line = self.list.cursor
        row = self.list.row_at(line) if self.list.total else None
        return CursorPosition(line=line) if row is None else CursorPosition(row.item, line, (row.id, row.run))

    @property
    def is_settled(self) -> bool:
        """Whether rows are displayed and no view is being loaded."""
        return self._target is None and self._page is not None

    def show_reloaded(self, page: QueuePage, message: str) -> None:
        """Show the same view from a new store. The cursor stays on its line of the screen."""
        row = self.list.cursor_row
        self._loader.clear_caches()
        self._show_list(page)
        self.list.scroll_cursor_to(row)
        self._message = message or self._message
        self._draw_header()
        self.post_message(self.RowsLoaded(is_reread=False))
        self.load_runs()

    # -- drawing

    def clear_message(self, message: str) -> None:
        """Remove the message if it is still displayed."""
        if self._message == message:
            self.show_message("")

    def show_message(self, message: str) -> None:
        """Show a message above the list."""
        self._message = message
        self._draw_header()

    def _bar(self, name: str) -> LineBar:
        return self.query_one(f"#{name}", LineBar)

    def _draw_header(self) -> None:
        cells, runs = self.size.width, self._menus.shown_runs
        key = active_key_names(self.app).get("queue.adjudicate", "")
        rates = header.rates_line(runs, cells, blind=self._state.blind, estimate=self._estimate, adjudicate_key=key)
        self._bar("rates").show(rates)
        self._bar("queue-message").show(((f" {sanitize(self._message)}", "warn"),) if self._message else ())
        self._bar("heading").show(queue_heading_line(self.list.columns, self._state.view.queue))
        self._draw_position()
        self._draw_top()
        self.refresh_bindings()

    def _draw_top(self) -> None:
        """Draw the top line of the screen, and remember the progress for the screens of items."""
        runs, state = self._menus.shown_runs, self._state
        total = header.sum_rates(runs or ())
        progress = (self._page.progress if self._page else None) or ((total.yours, total.items) if runs else None)
        self._session.progress = progress
        folder = self._session.folder.parent.name if self._session.folder is not None else ""
        path = header.queue_path(folder, runs, state.view, state.where, state.search)
        cells, by_anyone = self.app.size.width, 0 if state.blind else total.reviewed
        for line in self.screen.query(TopLine):
            line.show_path(path, header.progress_line(self._session.annotator, progress, cells, by_anyone=by_anyone))

    def _draw_position(self) -> None:
        state, page = self._state, self._page
        position = self.list.cursor + 1 if page and page.total else None
        panel = self.query_one("#queue-panel", Panel)
        cells = max(self.size.width - FACTS_MARGIN, 1)
        row = self.list.row_at(self.list.cursor) if position and self.list.cuts_run_names else None
        run_name = (row.run_name or row.model) if row is not None else ""
        place = header.QueuePlace(position, page.total if page else None, run_name)
        facts = header.queue_facts(self._menus.shown_runs, state.view, state.where, state.search, place, cells)
        panel.set_title("Queue", facts, flat_facts=True)

    def set_flat(self, flat: bool) -> None:
        """Draw the list without border, as on a small screen."""
        self.query_one("#queue-panel", Panel).set_flat(flat)

    def on_resize(self) -> None:
        self._draw_header()

    on_queue_list_columns_changed = on_resize

    # -- loading

    def load_view(self, cursor: CursorPosition, message: str = "", *, cancel_key: str = "") -> None:
        """Load the view.

        Args:
            cursor: Position of the cursor after loading.
            message: Message above the list after loading.
            cancel_key: Key that cancels the search, shown while it takes long.
        """
        self._target, self._cancel_key = cursor, cancel_key
        self._waiting.start()
        self._load_view(cursor, message)

    def _show_waiting_time(self, seconds: float) -> None:
        if self._target is None:
            return
        if self._page is not None:
            self.show_message(header.search_progress_line(self._menus.shown_runs, seconds, self._cancel_key))
        else:
            self._bar("rates").show(header.store_loading_line(seconds))

    @work(exclusive=True, group="view")
    async def _load_view(self, cursor: CursorPosition, message: str) -> None:
        item = self._first_item
        request = QueueRequest(self._state.view, cursor, refresh=self._page is not None)
        try:
            if item is not None:
                cursor = CursorPosition(await self._loader.find_item(item, self._state.run), cursor.line)
                request = replace(request, position=cursor)
            page = await self._loader.load_view(request)
            message = message or (await self._loader.load_review_warnings() if self._page is None else "")
        except SessionError as error:
            self.app.exit(return_code=1, message=str(error))
            return
        except FilterError as error:
            self._state.apply_filter("")
            self.load_view(cursor, f"The filter was ignored: {error.message}")
            return
        self._first_item = None
        if item is not None and cursor.item is None:
            message = f"No item {item}"
        self._show_page(page, message)
        if item is not None and cursor.item is not None:
            self.post_message(self.ItemFound(cursor.item))

    def _show_page(self, page: QueuePage, message: str) -> None:
        self._message = message
        self._waiting.stop()
        self._show_list(page)
        self._draw_header()
        self.post_message(self.RowsLoaded(is_reread=True))
        self.load_runs()

    def _show_list(self, page: QueuePage) -> None:
        self._page, self._target = page, None
        self.list.empty_line = header.empty_line(self._state.where, self._state.search, self._session.reviewed_count)
        self.list.show_view(page.total, page.cursor, page.column_widths)
        self.list.add_window(page.window_index, self.list.version, page.rows)

    @work(exclusive=True, group="runs")
    async def load_runs(self) -> None:
        """Load the runs with their pass rates."""
        scope = self._state.scope
        self._menus.runs = [run for run in await self._loader.load_runs() if not scope or run.run in scope]
        self._draw_header()
        self.post_message(self.RunsLoaded(len(self._menus.runs)))
        self._load_estimate()

    @work(exclusive=True, group="progress")
    async def load_progress(self) -> None:
        """Count the reviewed items of the queue file again after a review."""
        page = self._page
        if page is None or page.progress is None:
            return
        progress = await self._loader.load_progress(self._state.view)
        if self._page is page:  # another page has its own count
            self._page = replace(page, progress=progress)
            self._draw_top()

    @work(exclusive=True, group="share")
    async def _load_estimate(self) -> None:
        """Load the estimated pass rate. This comes after all other queries, because it takes longest."""
        runs = self._menus.shown_runs or ()
        estimate = await self._loader.load_estimate(runs[0]) if len(runs) == 1 and not self._state.blind else None
        if estimate != self._estimate:
            self._estimate = estimate
            self._draw_header()

    @work(group="windows")
    async def _load_window(self, window: int, version: int) -> None:
        self.list.add_window(window, version, await self._loader.load_window(self._state.view, window))
        self._draw_position()
        self.post_message(self.RowsLoaded(is_reread=False))

    @work(group="rows")
    async def reload_row(self, item: int) -> None:
        """Load the row of an item again after a review."""
        version, index = self.list.version, self.list.find_index(item)
        if index is not None and (row := await self._loader.load_row(self._state.view, index)) is not None:
            self.list.replace_row(index, version, row)

    def reload_rows(self) -> None:
        """Load all loaded rows again after reviews of many items."""
        for window in self.list.loaded_windows:
            self._load_window(window, self.list.version)

    def on_queue_list_window_requested(self, request: QueueList.WindowRequested) -> None:
        if request.version == self.list.version:
            self._load_window(request.window, request.version)

    @work(exclusive=True, group="facets")
    async def on_filter_line_completion_requested(self) -> None:
        facets = await self._loader.load_facets(self._state.view)
        self.filter_line.apply_completion(facets, blind=self._state.blind)
