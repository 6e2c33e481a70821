"""Show the list of the queue with its header lines and its filter line, and define its menus.

`QueueLoader` reads the rows, `QueueList` draws them, and `QueueScreen` handles the keys. A menu is
a list of choices that change the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen, Screen

from fcreview.model.sanitize import sanitize
from fcreview.store.filters.parser import FilterError
from fcreview.store.rows import PARTIAL_QUEUES, SUSPECTS_QUEUE, RunRow, View
from fcreview.tui.figure_scope import make_scope_of_all_items, make_scope_of_list
from fcreview.tui.keymap import find_action_key_names
from fcreview.tui.queue import header
from fcreview.tui.queue.choices import (
    build_order_choices,
    build_suspect_reason_choices,
)
from fcreview.tui.queue.columns import queue_heading_line
from fcreview.tui.queue.loader import (
    QueueLoader,
    QueuePage,
    QueueRequest,
    load_own_scores,
)
from fcreview.tui.queue_state import (
    CursorPosition,
    QueueLevels,
    QueueState,
    ReviewProgress,
)
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.session import Session, SessionError
from fcreview.tui.text.lines import (
    BLANK_LINE,
    ChoiceTable,
    Line,
    make_line,
    progress_message,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import Panel, ProgressTimer, is_small_screen, work
from fcreview.tui.widgets.document_view import LineBar, TopLine
from fcreview.tui.widgets.filter_input import FilterLine
from fcreview.tui.widgets.lists import QueueList

if TYPE_CHECKING:
    from fcreview.stats.estimation import PassRateEstimate
    from fcreview.tui.screens.runs import RunListState


@dataclass(frozen=True, slots=True)
class QueueMenu:
    """List of choices that change the queue."""

    make_screen: Callable[[], ModalScreen[Any]] | None
    """Returns the screen with the list.

    None if the choices are only available in the command palette.
    """
    apply: Callable[[Any], None]
    """Applies a choice to the state of the queue."""
    disabled_reason: Callable[[], str] = lambda: ""
    """Returns why the menu is not available, or an empty string if it is available."""
    adds_level: bool = True
    """Whether a choice adds a level to the queue.

    The key `queue.back` leaves this level and opens the list again.
    """


class QueueMenus:
    """Menus of the queue, by name. The key `queue.NAME` opens the menu NAME."""

    def __init__(self, session: Session, state: QueueState, levels: QueueLevels) -> None:
        self._session = session
        self._state = state
        self._levels = levels
        self.runs: Sequence[RunRow] | None = None
        """Opened runs. None until the runs are read."""
        self._run_list: RunListState | None = None
        """Order and search of the list of runs. None until the list is opened."""
        self.menus = self._make_selection_menus() | self._make_figure_menus()

    def _make_selection_menus(self) -> dict[str, QueueMenu]:
        """Return the menus that choose the order of the items, or which items are listed."""
        state = self._state
        return {
            "order": QueueMenu(
                make_screen=lambda: PickerScreen(build_order_choices(state)),
                apply=state.select_order,
                adds_level=False,
            ),
            "runs": QueueMenu(
                make_screen=self._make_runs_screen,
                apply=state.select_run,
                disabled_reason=self._runs_disabled_reason,
            ),
            "reasons": QueueMenu(
                make_screen=lambda: PickerScreen(load=self._load_suspect_reasons),
                apply=state.show_suspects,
            ),
            # Filters and queue files are chosen in the command palette.
            "where": QueueMenu(make_screen=None, apply=state.reset_to_filter),
            "file": QueueMenu(make_screen=None, apply=state.open_queue_file),
        }

    def _make_figure_menus(self) -> dict[str, QueueMenu]:
        """Return the menus of screens with figures. A choice lists the items behind a figure."""
        state = self._state
        return {
            "clusters": QueueMenu(
                make_screen=self._make_clusters_screen,
                apply=state.narrow_to_cluster,
                disabled_reason=self._make_blind_mode_reason("clusters"),
            ),
            "issues": QueueMenu(
                make_screen=self._make_issues_screen,
                apply=state.show_issue_item,
                disabled_reason=self._make_blind_mode_reason("import issues"),
            ),
            "check": QueueMenu(
                make_screen=self._make_check_screen,
                apply=state.show_checked_items,
                disabled_reason=self._make_blind_mode_reason("check"),
            ),
            "agreement": self._make_statistics_menu("agreement"),
            "calibration": self._make_statistics_menu("calibration"),
            "conventions": self._make_statistics_menu("conventions"),
            "ranking": self._make_statistics_menu("ranking"),
        }

    def apply_choice(
        self, menu_name: str, choice: Any, cursor: CursorPosition, *, opened_from: str | None = None
    ) -> CursorPosition:
        """Apply a choice of a menu and return the new cursor position.

        Most menus add a level: the key `queue.back` then returns to what the queue showed before,
        and opens the menu again.

        Args:
            opened_from: Name of the menu or screen that `queue.back` opens again. None means this
                menu. It is empty for a choice in the command palette.
        """
        menu = self.menus[menu_name]
        settings_before = self._state.settings
        self.select(menu_name, choice)
        if not menu.adds_level:
            return cursor

        reopened = menu_name if opened_from is None else opened_from
        self._levels.push_level(settings_before, cursor, reopened)
        # A new level shows other items, so its cursor is at the first one.
        return CursorPosition()

    def select(self, menu_name: str, choice: Any) -> None:
        """Apply a choice of a menu to the state of the queue, without a new level."""
        self.remember_choice(menu_name, choice)
        self.menus[menu_name].apply(choice)

    def remember_choice(self, menu_name: str, choice: Any) -> None:
        """Put the cursor on this choice when the menu is opened again."""
        self._levels.lists.selections[menu_name] = choice

    @property
    def selected_runs(self) -> Sequence[RunRow] | None:
        """The selected run, or all opened runs. None until the runs are read."""
        return self.find_selected_runs(self._state.run)

    def find_selected_runs(self, run_number: int | None) -> Sequence[RunRow] | None:
        """Return the run with this number, or all opened runs without a number.

        None until the runs are read.
        """
        if self.runs is None or run_number is None:
            return self.runs
        return [run for run in self.runs if run.run == run_number]

    @property
    def disabled_actions(self) -> frozenset[str]:
        """Ids of the actions whose menus are not available."""
        return frozenset(
            f"queue.{name}" for name, menu in self.menus.items() if menu.disabled_reason()
        )

    def _make_blind_mode_reason(self, name: str) -> Callable[[], str]:
        return lambda: f"{name}: not available in blind mode" if self._state.blind else ""

    def _runs_disabled_reason(self) -> str:
        if self.runs is None:
            return "The runs are still loading"
        return "" if len(self.runs) > 1 else "Only one run is open"

    def _make_clusters_screen(self) -> ModalScreen[Any]:
        """Make the screen with the groups of failures. It names the run if the list is of one
        run.
        """
        from fcreview.tui.screens.clusters import ClustersScreen

        runs = self.selected_runs or ()
        run_name = format_run_name(runs[0]) if len(runs) == 1 else ""
        return ClustersScreen(
            self._session,
            make_scope_of_list(self._state),
            self._levels.lists.clusters,
            clear_filter=self._show_all_items,
            run_name=run_name,
        )

    def _show_all_items(self) -> None:
        """Show all items of the chosen runs, without a filter, queue file or partial queue.

        A partial queue has only some items, such as the suspects.
        """
        self._levels.show_all_items()
        self._state.show_all_in_order()

    def _make_check_screen(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.checks import CheckScreen

        last_choice = self._levels.lists.selections.get("check")
        return CheckScreen(self._session, self._state.view.runs, last_choice)

    def _make_statistics_menu(self, name: str) -> QueueMenu:
        """Return the menu of a statistics screen, such as agreement or calibration, for all
        items.
        """

        def make_screen() -> ModalScreen[Any]:
            from fcreview.tui.screens.statistics import SCREENS

            scope = make_scope_of_all_items(self._state.view)
            if name in ("conventions", "ranking"):
                scope = scope.without_limit  # an official program scores whole runs
            return SCREENS[name](self._session, scope, self._levels.lists.statistics)

        return QueueMenu(
            make_screen,
            apply=self._select_any_items,
            disabled_reason=self._make_blind_mode_reason(name),
        )

    def _select_any_items(self, items: Sequence[int]) -> None:
        """Show the items with these numbers. A queue file or partial queue is left, since it can
        lack them.
        """
        self._state.select_items(items)
        self._state.show_all_in_order()

    def _make_issues_screen(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.issues import IssuesScreen

        runs = [row.run for row in self.runs or []]
        last_filter = self._levels.lists.selections.get("issues", "")
        return IssuesScreen(self._session, runs, last_filter)

    async def _load_suspect_reasons(self) -> ChoiceTable[Sequence[int]]:
        view = View(queue=SUSPECTS_QUEUE, runs=self._state.view.runs)
        suspicions = await self._session.read(lambda store: store.fetch_suspicions(view))
        return build_suspect_reason_choices(suspicions)

    def _make_runs_screen(self) -> ModalScreen[Any]:
        """Return the list of runs, with the cursor on the run that the queue shows."""
        from fcreview.tui.screens.runs import RunListState, RunsScreen

        if self._run_list is None:
            self._run_list = RunListState()
        runs = self.runs or []

        # The queue shows all runs, so the cursor is on the run that was chosen last.
        initial_run = self._state.run
        if initial_run is None:
            initial_run = self._levels.lists.selections.get("runs")

        # Comparisons and scores reveal verdicts, so blind review has neither.
        if self._state.blind:
            return RunsScreen(
                runs, self._run_list, initial_run, make_compare_screen=None, load_own_scores=None
            )
        return RunsScreen(
            runs,
            self._run_list,
            initial_run,
            make_compare_screen=self._make_compare_screen,
            load_own_scores=partial(load_own_scores, self._session, runs),
        )

    def _make_compare_screen(self, run_a: int, run_b: int) -> Screen[Any]:
        from fcreview.tui.screens.compare import CompareScreen

        rows = {row.run: row for row in self.runs or ()}
        return CompareScreen(self._session, (rows[run_a], rows[run_b]))


HIDE_DELAY = 0.15
"""Seconds after which the old rows are hidden while another view is loading.

Most views load faster.
"""
FACTS_MARGIN = 8
"""Width, in cells, of the panel's bottom border that the facts at its right end cannot use."""
FLAT_FACTS_MARGIN = 18
"""The same for the upper border of a flat panel, which has the title too."""


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

    @dataclass
    class RowsHidden(Message):
        """Posted when the rows are hidden, because another view is being loaded."""

    def __init__(self, session: Session, state: QueueState, menus: QueueMenus) -> None:
        """Prepare the list. The rows are loaded when the pane is shown."""
        super().__init__()
        self._session = session
        self._state = state
        """What the list should show. Menus and filters change it before the rows are loaded."""
        self._menus = menus

        # What is on screen.
        self._shown = state
        """Copy of the state whose rows are on screen.

        It changes only when another view has been loaded.
        """
        self._page: QueuePage | None = None
        """Displayed page. None until the first rows are loaded."""
        self._estimate: PassRateEstimate | None = None
        self._estimated_run: int | None = None
        """Number of the run that the estimate is of."""
        self._message = ""
        self._is_marked_as_focused = False
        """Whether the title shows that the list, and not the item beside it, has the focus."""

        # What is being loaded.
        self._loader = QueueLoader(session)
        self._requested = state
        """Copy of the state whose rows were requested last. They are on screen or being loaded."""
        self._target: CursorPosition | None = None
        """Cursor position after the current loading of a view. None if no view is being loaded."""
        self._waiting = ProgressTimer(self, self._show_waiting_time)
        self._cancel_key = ""
        """Displayed name of the key that cancels the loading. Empty if no key does."""

        # Which item to open after loading.
        self._first_item: int | str | None = None
        """Id or number of the first item to open. None after the item was found."""
        self.opens_unreviewed = False
        """Whether to open the first unreviewed item when the view is loaded."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="rates")
        with Panel(id="queue-panel"):
            yield LineBar(id="heading")
            yield QueueList(blind=self._state.blind, id="list")
        yield LineBar(id="queue-message")
        yield FilterLine(self._session.annotator_filters)

    def on_mount(self) -> None:
        self.watch(self.list, "cursor", self._draw_position, init=False)

    def load_first_rows(
        self, cursor: CursorPosition, item_or_id: int | str | None, message: str
    ) -> None:
        """Load the rows around `cursor`.

        `item_or_id`: number or id of an item to open afterwards.
        """
        self._first_item = item_or_id
        self.load_view(cursor, message)

    def load_and_open_unreviewed(self) -> None:
        """Load the view, then open the first item that the annotator has not reviewed."""
        self.opens_unreviewed = True
        self.load_view(CursorPosition())

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
    def is_changing_view(self) -> bool:
        """Whether a view is being loaded that differs from the displayed view."""
        return self._target is not None and self._shown.view != self._state.view

    @property
    def cursor_position(self) -> CursorPosition:
        """Position of the cursor, or its position after the current loading of a view."""
        if self._target is not None:
            return self._target
        line = self.list.cursor
        row = self.list.row_at(line) if self.list.total else None
        if row is None:
            return CursorPosition(line=line)
        return CursorPosition(row.item, line=line, key=(row.id, row.run))

    @property
    def shows_state(self) -> bool:
        """Whether the rows are those of the current state, or such rows are being loaded."""
        return self._requested.view == self._state.view

    @property
    def has_current_rows(self) -> bool:
        """Whether rows are displayed and no view is being loaded."""
        return self._target is None and self._page is not None

    def show_reloaded_page(self, page: QueuePage, message: str) -> None:
        """Show the same view of a reloaded store. The cursor stays on its row of the screen."""
        row = self.list.cursor_row
        self._loader.clear_caches()
        self._requested = replace(self._state)
        self._fill_list(page, self._requested)
        self.list.scroll_cursor_to_row(row)
        self._message = message or self._message
        self._draw_header()
        self.post_message(self.RowsLoaded(is_reread=False))
        self.load_runs()

    # -- drawing

    def clear_message_if_shown(self, message: str) -> None:
        """Remove this message if it is displayed."""
        if self._message == message:
            self.show_message("")

    def show_message(self, message: str) -> None:
        """Show a message above the list."""
        self._message = message
        self._draw_header()

    @property
    def _displayed_runs(self) -> Sequence[RunRow] | None:
        return self._menus.find_selected_runs(self._shown.run)

    @property
    def _displayed_estimate(self) -> PassRateEstimate | None:
        """Estimated pass rate of the displayed run. None for several runs, and until the estimate
        of this run is there.
        """
        runs = self._displayed_runs or ()
        is_of_displayed_run = len(runs) == 1 and runs[0].run == self._estimated_run
        return self._estimate if is_of_displayed_run else None

    def append_message(self, message: str) -> None:
        """Show a message after the current message."""
        if self._message:
            message = f"{self._message} {symbols().separator} {message}"
        self.show_message(message)

    def _line_bar(self, name: str) -> LineBar:
        return self.query_one(f"#{name}", LineBar)

    def _draw_header(self) -> None:
        """Draw the lines around the list: pass rates, a message, the column titles and the
        position.
        """
        rates = header.rates_line(
            self._displayed_runs,
            self.size.width,
            blind=self._state.blind,
            estimate=self._displayed_estimate,
            adjudicate_key=find_action_key_names(self.app).get("queue.adjudicate", ""),
        )
        self._line_bar("rates").show(rates)
        self._line_bar("queue-message").show(self._message_line())
        self._line_bar("heading").show(self._heading_line())

        self._draw_position()
        self._draw_top()
        self.refresh_bindings()

    def _message_line(self) -> Line:
        if not self._message:
            return BLANK_LINE
        return make_line(f" {sanitize(self._message)}", "warn")

    def _heading_line(self) -> Line:
        """Return the titles of the columns. A list without rows has none."""
        if self.list.is_waiting:
            return BLANK_LINE
        return queue_heading_line(self.list.columns, self._shown.view.queue)

    @property
    def _shows_part(self) -> bool:
        """Whether the list shows only some items of its runs."""
        is_partial_queue = self._shown.queue in PARTIAL_QUEUES and not self._shown.blind
        is_queue_file = self._shown.view.queue_file is not None
        return self._shown.is_narrowed or is_partial_queue or is_queue_file

    def _draw_top(self) -> None:
        """Draw the top line of the screen: the path, and how much is reviewed."""
        runs = self._displayed_runs
        state = self._shown
        total = header.sum_run_counts(runs or ())
        progress = self._find_progress(total)
        self._share_with_item_screens(progress)

        crumbs = header.list_queue_breadcrumbs(runs, state.view, state.where, state.search)
        path = (*self._session.root_breadcrumb, *crumbs)
        # How many items others reviewed is counted for whole runs, so it would be wrong for a part
        # of them. In blind mode, the reviews of others are hidden.
        hides_others = state.blind or self._shows_part
        progress_line = header.top_progress_line(
            self._session.annotator,
            progress,
            self.app.size.width,
            n_reviewed_by_anyone=0 if hides_others else total.reviewed,
        )
        for line in self.screen.query(TopLine):
            line.show_path(path, progress_line)

    def _share_with_item_screens(self, progress: ReviewProgress | None) -> None:
        """Give the session the progress and the names of the runs, which item screens show too."""
        self._session.progress = progress
        opened_runs = self._menus.runs or ()
        self._session.opened_run_names = tuple(run.run_name for run in opened_runs)

    def _find_progress(self, total: header.RunTotals) -> ReviewProgress | None:
        """Return how many of the listed items the annotator has reviewed. None if that is not
        counted yet.

        A list that is only a part of the runs has its own count, which comes with its page.
        `total`: sums of the runs.
        """
        if self._page is not None and self._page.progress is not None:
            return self._page.progress
        if not self._displayed_runs or self._shows_part:
            return None
        return ReviewProgress(total.yours, total.items)

    def _draw_position(self) -> None:
        """Draw the title of the list: what it shows, and the position of the cursor."""
        state = self._shown
        title = "Queue" if state.view.queue_file else "Items"
        if self._is_marked_as_focused:
            title = f"{symbols().cursor} {title}"

        margin = FLAT_FACTS_MARGIN if is_small_screen(self.app.size) else FACTS_MARGIN
        facts = header.format_queue_facts(
            self._displayed_runs,
            state.view,
            state.where,
            state.search,
            self._describe_cursor(),
            max(self.size.width - margin, 1),
        )
        self.query_one("#queue-panel", Panel).set_title(title, facts, flat_facts=True)

    def _describe_cursor(self) -> header.QueueCursor:
        """Return what the title of the list says about the cursor. While rows are loading, this is
        nothing.
        """
        page = self._page
        if page is None or self.list.is_waiting:
            return header.QueueCursor()
        if page.total == 0:
            return header.QueueCursor(total=0, n_strong=page.n_strong)

        return header.QueueCursor(
            self.list.cursor + 1,
            total=page.total,
            run_name=self._find_run_name_for_title(),
            n_strong=page.n_strong,
        )

    def _find_run_name_for_title(self) -> str:
        """Return the name of the run under the cursor if no other line has the whole name."""
        row = self.list.row_at(self.list.cursor)
        if row is None:
            return ""

        # Beside a filter, a narrow top line has no room for the run.
        is_top_line_narrow = self.app.size.width < header.WIDE_TOP_LINE
        is_path_cut = is_top_line_narrow and self._shown.is_narrowed
        is_one_of_several_runs = self._shown.run is not None and len(self._menus.runs or ()) > 1
        if self.list.has_cut_run_names or (is_path_cut and is_one_of_several_runs):
            return row.run_name
        return ""

    def mark_as_focused(self, is_focused: bool) -> None:
        """Show or remove the mark of the focused pane beside an item."""
        if is_focused != self._is_marked_as_focused:
            self._is_marked_as_focused = is_focused
            self._draw_position()

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
        self._target = cursor
        self._cancel_key = cancel_key
        self._waiting.start()
        if self.is_changing_view:
            # Rows that no longer fit the view disappear if loading takes long.
            self.set_timer(HIDE_DELAY, lambda: self._show_waiting_time(0))
        self._requested = replace(self._state)
        self._load_view(self._requested, cursor, message)

    def _show_waiting_time(self, seconds: float) -> None:
        """Show what the list waits for, and for how many seconds.

        If another view is loaded, the message replaces the rows, because they do not belong to that
        view.
        """
        if not self.is_loading:
            return
        is_first_page = self._page is None
        if is_first_page:
            self._line_bar("rates").show(header.store_loading_line(seconds))
            return

        activity = header.describe_loading(self._state, self._menus.selected_runs)
        text = progress_message(activity, seconds, self._cancel_key)
        is_other_view = self.is_changing_view or self.list.is_waiting
        if is_other_view:
            self._hide_rows(text)
        else:
            # The same view is loaded again, so its rows stay on screen.
            self.show_message(text)

    def _hide_rows(self, text: str) -> None:
        """Show the requested view without rows, and in their place a text."""
        self._shown = self._requested
        self.list.show_waiting(text)
        self._draw_header()
        self.post_message(self.RowsHidden())

    @work(exclusive=True, group="view")
    async def _load_view(self, requested: QueueState, cursor: CursorPosition, message: str) -> None:
        """Load the view of the requested state, and show the page with the cursor.

        The first load may also open an item that the command line names. An invalid filter, for
        example a saved one, is removed with a message. A later call cancels this one (`exclusive`).
        """
        named_item = self._first_item
        item_to_open = None
        try:
            if named_item is not None:
                item_to_open = await self._loader.find_item_number(named_item, requested.run)
                cursor = CursorPosition(item_to_open, cursor.line)
            page = await self._load_page(requested, cursor)
            if self._page is None and not message:
                # A store that was just opened has read the reviews, and may have warnings.
                message = await self._loader.load_store_warnings()
        except SessionError as error:
            # Without a store, there is nothing to show.
            self.app.exit(return_code=1, message=str(error))
            return
        except FilterError as error:
            self._state.reset_to_filter("")
            self.load_view(cursor, f"The filter was ignored: {error.message}")
            return

        self._first_item = None
        if named_item is not None and item_to_open is None:
            message = f"No item has the id {named_item}"
        self._show_page(page, requested, message)

        # Without a named item, the request may open the first item that the annotator has not
        # reviewed.
        if self.opens_unreviewed:
            item_to_open = page.unreviewed
            self.opens_unreviewed = False
        if item_to_open is not None:
            self.post_message(self.ItemFound(item_to_open))

    async def _load_page(self, requested: QueueState, cursor: CursorPosition) -> QueuePage:
        """Load the page with the cursor. The store of the first page was just opened, so it needs
        no refresh.
        """
        request = QueueRequest(
            requested.view,
            cursor,
            refresh=self._page is not None,
            opens_unreviewed=self.opens_unreviewed,
        )
        return await self._loader.load_page(request)

    def _show_page(self, page: QueuePage, requested: QueueState, message: str) -> None:
        """Show a view that has been loaded, with a message above the list."""
        self._message = message
        self._waiting.stop()
        self._fill_list(page, requested)
        self._draw_header()
        self.post_message(self.RowsLoaded(is_reread=True))
        if page.progress is None:
            self.load_progress()
        self.load_runs()

    def _fill_list(self, page: QueuePage, requested: QueueState) -> None:
        """Show the rows of a page, which belong to the requested state of the queue.

        The state may have changed since then.
        """
        self._page = page
        self._target = None
        self._shown = requested
        self.list.empty_line = header.empty_queue_line(
            requested.where, requested.search, self._session.reviewed_count
        )
        self.list.show_view(page.total, page.cursor, page.column_widths)
        self.list.add_window(page.window_index, self.list.version, page.rows)

    @work(exclusive=True, group="runs")
    async def load_runs(self) -> None:
        """Load the runs with their pass rates."""
        scope = self._state.scope
        self._menus.runs = [
            run for run in await self._loader.load_runs() if not scope or run.run in scope
        ]
        self._draw_header()
        self.post_message(self.RunsLoaded(len(self._menus.runs)))
        self._load_estimate()

    @work(exclusive=True, group="progress")
    async def load_progress(self) -> None:
        """Count the reviewed items of a list that shows only a part of the runs."""
        page = self._page
        if page is None or not self._shows_part:
            return
        progress = await self._loader.load_progress(self._shown.view)
        # Another page has its own count.
        if self._page is page:
            self._page = replace(page, progress=progress)
            self._draw_top()

    @work(exclusive=True, group="share")
    async def _load_estimate(self) -> None:
        """Load the estimated pass rate.

        This comes after all other queries, because it takes longest.
        """
        runs = self._displayed_runs or ()
        if len(runs) != 1 or self._state.blind:
            return
        run = runs[0]
        estimate = await self._loader.load_estimate(run)
        if estimate != self._displayed_estimate:
            self._estimate = estimate
            self._estimated_run = run.run
            self._draw_header()

    @work(group="windows")
    async def _load_window(self, window_index: int, list_version: int) -> None:
        """Read rows that the list needs when it scrolls. The list ignores them if it shows another
        view now.
        """
        self.list.add_window(
            window_index,
            list_version,
            await self._loader.load_window(self._shown.view, window_index),
        )
        self._draw_position()
        self.post_message(self.RowsLoaded(is_reread=False))

    @work(group="rows")
    async def reload_row(self, item_number: int) -> None:
        """Load the row of an item again, because the item was reviewed."""
        version = self.list.version
        index = self.list.find_loaded_index(item_number)
        if index is None:
            return
        row = await self._loader.load_row(self._shown.view, index)
        if row is not None:
            # The list ignores the row if its version has changed in the meantime.
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
