"""Show the overview: pass rates, failures, review progress, scores, next actions.

Enter on a line opens its items.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Input

from fcreview.errors import FcreviewError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import SUSPECTS_QUEUE, RunRow, View
from fcreview.tui.actions import OVERVIEW_ACTIONS
from fcreview.tui.commands import FORMS
from fcreview.tui.figure_scope import make_scope_of_all_items
from fcreview.tui.figures.overview import (
    Overview,
    OverviewReader,
    RunArrangement,
    RunTable,
    add_checks,
    add_failure_reasons,
    add_queue_progress,
    add_suspect_counts,
    build_run_table,
    format_completed_queues,
    format_failure_facts,
    format_label_progress,
    format_run_facts,
    list_next_actions,
    name_estimate_kinds,
    next_action_lines,
    review_progress_lines,
    score_lines,
)
from fcreview.tui.keymap import (
    find_action_key_names,
    format_unavailable_key_message,
    format_welcome_message,
    make_bindings,
)
from fcreview.tui.queue.choices import REASON_LINES, failure_reason_lines
from fcreview.tui.queue.loader import QueueLoader, load_own_scores
from fcreview.tui.queue_state import (
    ADJUDICATION,
    ESTIMATES,
    OVERVIEW,
    ListChoice,
    OverviewPlace,
    place_above_overview,
)
from fcreview.tui.screens.annotators import (
    REVIEWS_OF_OTHERS_REASON,
    ask_to_continue_as,
    ask_to_end_blind_review,
    find_other_with_items_left,
)
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, LineBuilder, make_line
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import (
    MIN_BORDERED_SIZE,
    GuardedScreen,
    Panel,
    ProgressTimer,
    is_small_screen,
    work,
)
from fcreview.tui.widgets.document_view import KeyLine, LineBar, TopLine
from fcreview.tui.widgets.filter_input import RunSearchInput
from fcreview.tui.widgets.lists import TextList

if TYPE_CHECKING:
    from fcreview.tui.screens.queue_pane import QueueMenus

ROWS_OF_BORDERS = 7
"""Rows of the right column that borders and headings use."""
PANELS = ("runs", "reasons", "reviews", "scores", "next")
"""Names of the lists, one in each panel, in the order of the digit keys."""
PANELS_IN_ONE_PLACE = ("reasons", "reviews", "scores")
"""Panels of which a small screen shows only one, because it has no room for all."""
MAX_RUN_LINES = 10
"""Height limit of the list of runs, in rows, on a screen of 30 rows.

A higher screen gives it a third of the height.
"""
LISTS_IN_BLIND_MODE = ("estimates", "queue", "failures")
"""Lists that blind mode has, or that ask whether to end it."""
ACTIONS_THAT_REVEAL_VERDICTS = (
    "adjudicate",
    "check",
    "suspects",
    "compare",
    "ranking",
    "estimates",
    "export",
    "report",
)
"""Actions of the overview that are hidden in blind mode, without their group."""
MAX_SCORE_LINES = 6
MIN_SCORE_LINES = 2
HIGH_SCREEN_ROWS = 40
"""Height, in rows, from which on a screen has room for more queue files."""
MIN_NEXT_ROWS = 6
MIN_REASON_ROWS = 3 * REASON_LINES
"""Rows of the next actions, and of the failure reasons above them, on a small screen."""


class OverviewList(TextList):
    """List in a panel whose entries may have several lines.

    The cursor moves from entry to entry.
    """

    def __init__(self, *, lines_per_entry: int = 1, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines_per_entry = lines_per_entry
        self._last_size = self.size
        self.is_cursor_shown = False

    class SizeChanged(Message):
        """Posted when the size of the list changed, so that its lines must be drawn again."""

    def on_resize(self) -> None:
        super().on_resize()
        if self.size != self._last_size:
            self._last_size = self.size
            self.post_message(self.SizeChanged())

    @property
    def entry_index(self) -> int:
        """Index of the entry under the cursor."""
        return self.cursor // self._lines_per_entry

    def move_to_entry(self, index: int) -> None:
        """Move the cursor to the entry with this index."""
        self.move_cursor(index * self._lines_per_entry)

    def move_cursor(self, index: int) -> None:
        """Move the cursor to the line with this index or, if entries have several lines, to the
        first line of an entry.
        """
        if self._lines_per_entry > 1:
            index = self._find_first_line_of_entry(index)
        super().move_cursor(index)

    def _find_first_line_of_entry(self, index: int) -> int:
        """Return the index of the first line of the entry to which a line belongs.

        On the way down, a line inside an entry leads to the next entry. Otherwise, a step to the
        second line of an entry would leave the cursor where it is.
        """
        line_index = max(0, min(index, self.total - 1))
        entry_index, line_in_entry = divmod(line_index, self._lines_per_entry)
        is_moving_down = line_index > self.cursor
        if line_in_entry > 0 and is_moving_down:
            entry_index += 1

        last_entry_line = max(self.total - self._lines_per_entry, 0)
        return min(entry_index * self._lines_per_entry, last_entry_line)


class OverviewScreen(GuardedScreen[ListChoice]):
    """Overview of the opened runs.

    The result is the items that the queue lists, or None without a choice.
    """

    place_name = "overview"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(OVERVIEW_ACTIONS)
    CSS = """
    OverviewScreen #runs-panel { height: auto; }
    OverviewScreen #lower, OverviewScreen #right { height: 1fr; }
    OverviewScreen #right { width: 44%; }
    OverviewScreen #reviews-panel, OverviewScreen #scores-panel { height: auto; }
    OverviewScreen OverviewList { height: 1fr; }
    OverviewScreen.-small #right { width: 1fr; height: auto; }
    OverviewScreen.-small #lower { layout: vertical; }
    OverviewScreen.-small #reviews-panel, OverviewScreen.-small #scores-panel { display: none; }
    OverviewScreen.-small #next-panel { height: auto; }
    OverviewScreen.-shows-reviews #reasons-panel { display: none; }
    OverviewScreen.-shows-scores #reasons-panel { display: none; }
    OverviewScreen.-shows-reviews #right, OverviewScreen.-shows-scores #right { height: 1fr; }
    OverviewScreen.-shows-reviews #reviews-panel { display: block; height: 1fr; }
    OverviewScreen.-shows-scores #scores-panel { display: block; height: 1fr; }
    OverviewScreen.-blind #reasons-panel, OverviewScreen.-blind #scores-panel { display: none; }
    OverviewScreen.-blind #right { width: 1fr; }
    """
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(
        self,
        session: Session,
        view: View,
        runs: Sequence[RunRow] = (),
        *,
        menus: QueueMenus,
        blind: bool,
        opens: str = "",
    ) -> None:
        """Create the overview.

        Args:
            runs: Runs of the view, if they have just been read.
            menus: Lists and figures of all items, which open above the overview.
            opens: Screen that opens at once above the overview, such as `check`.
        """
        super().__init__(classes="-blind" if blind else None)
        self._menus = menus
        self._opens = opens
        self._first_runs = runs
        self._session = session
        self._view = view
        self._overview = Overview((), annotator=session.annotator, blind=blind)
        self._runs: Sequence[RunRow] = ()
        """Runs that match the search, in the order of the panel."""
        place = session.overview_place
        self._arrangement = RunArrangement(blind, order=place.order, search=place.search)
        self._entries_to_restore = dict(place.entries)
        """Id of a list -> key of the entry that gets the cursor as soon as the list has it."""
        self._drawn_runs: tuple[object, ...] = ()
        """Values for which the list of runs was drawn last.

        The list is drawn again when they change.
        """
        self._suspects_done = (0, 0)
        """(checked questions, all questions) of the search for suspects.

        The store's thread sets the numbers.
        """
        self._suspects_timer = ProgressTimer(self, lambda _: self._draw_next_actions())
        self._first_category = place.first_category
        self._loader = QueueLoader(session)
        self._estimated_runs: set[int] = set()
        """Numbers of the runs whose estimates this screen has read."""
        self._message = ""
        self._shown_small_panel = "reasons"
        """Panel of `PANELS_IN_ONE_PLACE` that a small screen shows."""

    def compose(self) -> ComposeResult:
        yield TopLine()
        with Panel(id="runs-panel"):
            yield LineBar(id="runs-upper-heading")
            yield LineBar(id="runs-heading")
            yield OverviewList(id="runs")
            yield RunSearchInput()
        with Horizontal(id="lower"):
            with Panel(id="reasons-panel"):
                yield OverviewList(lines_per_entry=REASON_LINES, id="reasons")
            with Vertical(id="right"):
                with Panel(id="reviews-panel"):
                    yield OverviewList(id="reviews")
                with Panel(id="scores-panel"):
                    yield LineBar(id="scores-heading")
                    yield OverviewList(id="scores")
                with Panel(id="next-panel"):
                    yield OverviewList(id="next")
        yield LineBar(id="message")
        yield KeyLine()

    def on_mount(self) -> None:
        """Start to read the figures. A new user gets a message of welcome, once."""
        self.app.clear_notifications()
        if not self._has_lists:
            return

        # Runs are estimated when they are scrolled into view.
        for name in ("runs", "scores"):
            self.watch(self._get_list(name), "scroll_y", self._on_scroll, init=False)
        self._restore_focus()
        if self._session.shows_welcome:
            self._session.shows_welcome = False
            self._message = format_welcome_message(self.app)
        self._load_overview()
        self._open_place_above()

    def _open_place_above(self) -> None:
        """Open the screen to which the user returns, or for which the user asked."""
        if self._opens == ESTIMATES:
            self._show_estimates(self._session.estimated_run)
        elif self._opens == ADJUDICATION:
            self._show_disagreements()
        elif self._opens:
            self.open_menu(self._opens)

    def _restore_focus(self) -> None:
        """Focus the panel in which the user left the overview."""
        self._get_list("runs").focus()
        panel = self._session.overview_place.panel
        if panel:
            # Only after the first layout, it is known which panels a small screen hides.
            self.call_after_refresh(self._focus_panel_if_visible, panel)

    def _focus_panel_if_visible(self, name: str) -> None:
        if name in self._visible_panels:
            self._get_list(name).focus()

    def _leave(self, menu_name: str, value: Any, opened_from: str = OVERVIEW) -> None:
        """Close with the user's choice in a menu of the queue. Coming back later restores the
        place.

        `opened_from`: place of the choice, which is this screen or one above it.
        """
        self._remember_place()
        self.dismiss(ListChoice(menu_name, value, opened_from))

    def _remember_place(self) -> None:
        """Remember panel, cursors and scroll positions for the next time."""
        if not self._has_lists:
            return
        place = OverviewPlace(
            panel=getattr(self.focused, "id", "") or "",
            first_category=self._first_category,
            order=self._arrangement.order,
            search=self._arrangement.search,
        )
        for name in PANELS:
            entry_list = self._get_list(name)
            keys = self._list_entry_keys(name)
            if entry_list.entry_index < len(keys):
                place.entries[name] = keys[entry_list.entry_index]
                place.scroll_rows[name] = int(entry_list.scroll_offset.y)
        self._session.overview_place = place

    def _list_entry_keys(self, name: str) -> list[Hashable]:
        """Return a key for each entry of a list, which stays when the overview is read again."""
        if name in ("runs", "scores"):
            return [run.run for run in self._runs]
        if name == "reasons":
            return [reason.term for reason in self._overview.reasons or ()]
        if name == "next":
            return [action.action_id for action in list_next_actions(self._overview)]
        return [progress.queue for progress in self._overview.queues or ()]

    def _restore_cursors(self) -> None:
        """Move the cursor of each list to the entry on which the user left the list.

        A list may not have this entry yet, because it is still loading. Then a later call moves the
        cursor. If the user has moved the cursor in the meantime, it stays.
        """
        for name, key in list(self._entries_to_restore.items()):
            entry_list = self._get_list(name)
            keys = self._list_entry_keys(name)
            if key in keys and entry_list.total:
                del self._entries_to_restore[name]
                if entry_list.cursor == 0:
                    entry_list.move_to_entry(keys.index(key))
                    top_row = self._session.overview_place.scroll_rows.get(name, 0)
                    entry_list.scroll_to(y=top_row, animate=False)

    @property
    def _has_lists(self) -> bool:
        """Whether the lists exist. While the app quits, Textual removes them."""
        return len(self.query(OverviewList)) == len(PANELS)

    def _get_list(self, name: str) -> OverviewList:
        return self.query_one(f"#{name}", OverviewList)

    def on_descendant_focus(self) -> None:
        """Show the cursor only in the list that the keys act on."""
        list_of_keys: Widget | None = self.focused
        if isinstance(self.focused, RunSearchInput):
            # The search is in the list of runs.
            list_of_keys = self._get_list("runs")
        for overview_list in self.query(OverviewList):
            overview_list.set_cursor_shown(overview_list is list_of_keys)

    @property
    def _visible_panels(self) -> list[str]:
        return [name for name in PANELS if self.query_one(f"#{name}-panel").display]

    # -- reading

    @work(exclusive=True, group="overview")
    async def _load_overview(self) -> None:
        """Read and show one part of the overview after the other, the fastest first.

        In blind mode, only the progress is read, because the other parts depend on verdicts.
        """
        runs = await self._take_first_runs()
        self._show_runs_without_new_figures(runs)
        if not self._overview.own_scores:
            pending_metric = await self._name_own_metric(runs)
            self._show_overview(replace(self._overview, pending_own_metric=pending_metric))

        await self._read_part(add_queue_progress)
        if self._overview.blind:
            return
        await self._read_part(add_failure_reasons)
        await self._read_part(add_checks)
        self._estimate_visible_runs()
        await self._read_own_scores()
        await self._read_suspects()

    def _show_runs_without_new_figures(self, runs: Sequence[RunRow]) -> None:
        """Show the runs with the figures of the last time, or without figures."""
        self._runs = self._arrangement.filter_and_sort_runs(runs)
        blind = self._overview.blind
        overview = Overview(
            runs,
            annotator=self._session.annotator,
            blind=blind,
            can_end_blind_review=blind and self._session.can_end_blind_review,
        )
        self._show_overview(self._find_last_figures(overview) or overview)

    async def _take_first_runs(self) -> Sequence[RunRow]:
        """Return the runs that the screen was opened with, or later read those of its view."""
        first_runs = self._first_runs
        if first_runs:
            self._first_runs = ()
            return first_runs
        all_runs = await self._loader.load_runs()
        scope = self._view.runs
        return [run for run in all_runs if not scope or run.run in scope]

    def _find_last_figures(self, overview: Overview) -> Overview | None:
        """Return what the overview showed last, if no run and no review has changed since then.

        The figures are read again, but the screen need not be empty until then.
        """
        last = self._session.last_overview
        if not isinstance(last, Overview) or last.blind != overview.blind:
            return None
        has_same_runs = list(last.runs) == list(overview.runs)
        return last if has_same_runs else None

    async def _name_own_metric(self, runs: Sequence[RunRow]) -> str:
        """Return the title of the own metric of all runs, whose values are read later. Empty if
        there is none, or if benchmarks have different ones.
        """
        services = self._session.report_services
        if services is None or services.compute_own_scores is None or self._session.blind:
            return ""
        titles = await asyncio.to_thread(services.name_own_metrics, runs)
        return titles.pop() if len(titles) == 1 else ""

    async def _read_own_scores(self) -> None:
        """Read and show the values of the benchmark's own metric."""
        try:
            own_scores = await load_own_scores(self._session, self._overview.runs)
        except FcreviewError as error:
            self._show_overview(replace(self._overview, pending_own_metric=""))
            self._show_message(sanitize(str(error)))
            return
        self._show_overview(replace(self._overview, own_scores=own_scores, pending_own_metric=""))

    async def _read_suspects(self) -> None:
        """Count the golden answers that look wrong. This takes seconds, so the progress is
        shown.
        """

        def set_progress(done: int, total: int) -> None:
            """Set the numbers in the store's thread. The timer draws them again and again."""
            self._suspects_done = done, total

        read = partial(add_suspect_counts, self._overview, self._view, on_progress=set_progress)
        self._suspects_timer.start()
        try:
            counted = await self._session.read_in_background(read)
        except FcreviewError as error:
            self._show_message(sanitize(str(error)))
            return
        finally:
            self._suspects_timer.stop()

        # Other parts of the overview may have been read in the meantime.
        overview = replace(
            self._overview,
            n_suspects=counted.n_suspects,
            n_strong_suspects=counted.n_strong_suspects,
        )
        self._show_overview(overview)

    def _on_scroll(self) -> None:
        self._estimate_visible_runs()

    @work(exclusive=True, group="estimates")
    async def _estimate_visible_runs(self) -> None:
        """Estimate the accuracy of the visible runs that have a sample."""
        overview = self._overview
        if overview.blind:
            return
        for run in self._list_visible_runs():
            if run.run not in overview.sampled_runs or run.run in self._estimated_runs:
                continue
            estimate = await self._loader.load_estimate(run, is_low_priority=True)
            # A later call can cancel this one at each `await`, and omits the runs whose estimate is
            # stored. So all other data of the run, which is awaited too, is stored before it.
            if estimate is not None:
                overview.seen_review_counts[run.run] = await self._count_seen_reviews(run)
            overview.estimates[run.run] = estimate
            self._estimated_runs.add(run.run)
            self._draw_right_column()

    async def _count_seen_reviews(self, run: RunRow) -> int:
        """Return the number of reviews in the run's sample that were not blind."""
        names = {progress.queue for progress in self._overview.queues or ()}
        return await self._session.read_in_background(
            lambda store: store.analysis.count_seen_reviews(run.run, names)
        )

    def _list_visible_runs(self) -> list[RunRow]:
        """Return the runs that are visible in the two lists of runs, so that their estimates are
        read first.
        """
        runs: dict[int, RunRow] = {}
        for name in ("scores", "runs"):
            run_list = self._get_list(name)
            top_index = int(run_list.scroll_offset.y)
            n_rows = run_list.size.height or MAX_RUN_LINES  # 0 before the first layout
            for run in self._runs[top_index : top_index + n_rows]:
                runs[run.run] = run
        return list(runs.values())

    async def _read_part(self, reader: OverviewReader) -> None:
        """Read and show a part of the overview.

        A later query of the screen interrupts the reading.
        """
        work = partial(reader, self._overview, self._view)
        try:
            self._show_overview(await self._session.read(work, interruptible=True))
        except FcreviewError as error:
            self._message = sanitize(str(error))
            self._draw()

    def _show_overview(self, overview: Overview) -> None:
        self._overview = overview
        self._session.last_overview = overview
        self._draw()

    # -- drawing

    def on_resize(self) -> None:
        self._draw()

    def on_overview_list_size_changed(self) -> None:
        self._draw()
        self._estimate_visible_runs()  # a higher list shows more runs

    def _draw(self) -> None:
        """Draw all panels. On a small screen, they have no borders."""
        if not self.is_mounted or not self.size or not self._has_lists:
            return

        self._choose_panels_for_screen_size()
        self._draw_top()
        self._draw_runs()
        self._draw_reasons()
        self._draw_right_column()
        self._restore_cursors()
        message = f" {self._message}" if self._message else ""
        self.query_one("#message", LineBar).show(make_line(message, "warn"))
        self.refresh_bindings()

    def _choose_panels_for_screen_size(self) -> None:
        """Set the classes by which the style sheet shows panels and borders.

        A small screen has room for only one of the panels with failure reasons, reviews and scores.
        """
        is_small = is_small_screen(self.size)
        self.set_class(is_small, "-small")
        for name in ("reviews", "scores"):
            is_only_panel = is_small and self._shown_small_panel == name
            self.set_class(is_only_panel, f"-shows-{name}")
        for panel in self.query(Panel):
            panel.set_flat(is_small)

    def _draw_top(self) -> None:
        """Draw the top line: the path, which queues are completed, and the annotator."""
        path = (*self._session.root_breadcrumb, "overview")
        right = LineBuilder()
        completed_queues = format_completed_queues(self._overview)
        if completed_queues:
            right.add(f"{completed_queues}   ", "dim")
        right.add(sanitize(self._session.annotator), "people")
        self.query_one(TopLine).show_path(path, right.build())

    def _list_width(self, list_name: str) -> int:
        """Return the width of the lines of a list, in cells, without the cursor column."""
        return max(self._get_list(list_name).size.width - 1, 20)

    def _draw_runs(self) -> None:
        """Draw the table of runs, unless the same table is already drawn."""
        width = self._list_width("runs")
        own_scores = self._overview.own_scores
        pending = self._overview.pending_own_metric
        drawn = (self._runs, width, self.size.height, self._first_category, own_scores, pending)
        if drawn != self._drawn_runs:
            self._drawn_runs = drawn
            self._show_run_table(
                build_run_table(self._overview, self._runs, width, self._first_category)
            )

    def _show_run_table(self, table: RunTable) -> None:
        """Fill the panel of the runs: its headings, its list and its title."""
        self.query_one("#runs-heading", LineBar).show(((" ", ""), *table.heading))
        upper_heading = self.query_one("#runs-upper-heading", LineBar)
        upper_heading.display = bool(table.upper_heading)
        upper_heading.show(((" ", ""), *table.upper_heading))

        # The panel is as high as the table.
        run_list = self._get_list("runs")
        run_list.styles.height = max(min(len(table.lines), self._max_run_lines), 1)
        run_list.set_lines(table.lines)
        empty_message = "no matches" if self._overview.runs else "reading"
        run_list.empty_line = make_line(f" {empty_message}", "dim")

        facts = self._format_run_facts(table.n_hidden_categories)
        self.query_one("#runs-panel", Panel).set_title("1 Runs", facts)

    @property
    def _max_run_lines(self) -> int:
        """Largest height of the list of runs: a third of the screen, a quarter of a low screen."""
        height = self.size.height
        if height >= MIN_BORDERED_SIZE.height:
            return max(MAX_RUN_LINES, height // 3)
        return max(height // 4, 3)

    def _format_run_facts(self, n_hidden_categories: int) -> str:
        """Return what stands beside the title of the run table: the order and the number of
        runs.
        """
        facts = "reading"
        if self._overview.runs:
            facts = format_run_facts(self._overview, n_hidden_categories)
        order = self._arrangement.order_description
        if order:
            return f"{order} {symbols().separator} {facts}"
        return facts

    def _draw_reasons(self) -> None:
        """Draw the panel with the most frequent failure reasons, or why there are none."""
        reasons = self._get_list("reasons")
        empty = "no failures"
        if self._overview.reasons is None:
            empty = "reading"
        elif self._overview.missing_verdict_reason:
            empty = sanitize(self._overview.missing_verdict_reason)
        reasons.empty_line = make_line(f" {empty}", "dim")
        lines = failure_reason_lines(self._overview.reasons or (), self._list_width("reasons"))
        reasons.set_lines(lines)
        panel = self.query_one("#reasons-panel", Panel)
        panel.set_title("2 Why items fail", format_failure_facts(self._overview), flat_facts=True)

    def _draw_right_column(self) -> None:
        n_review_rows = self._draw_review_progress()
        self._draw_scores(n_review_rows)
        self._draw_next_actions()

    def _draw_review_progress(self) -> int:
        """Draw the panel with the progress of the reviews. Return the number of its rows."""
        lines = review_progress_lines(self._overview, self._list_width("reviews"))
        is_high_screen = self.size.height >= HIGH_SCREEN_ROWS
        max_rows = 6 if is_high_screen else 4
        self._show_lines("reviews", lines, max_rows)
        panel = self.query_one("#reviews-panel", Panel)
        panel.set_title("3 Review", format_label_progress(self._overview))
        return min(len(lines), max_rows)

    def _draw_scores(self, n_review_rows: int) -> None:
        """Draw the scores in the rows that the reviews and the next steps leave free.

        `n_review_rows`: rows of the panel with the reviews.
        """
        heading, *scores = score_lines(self._overview, self._runs, self._list_width("scores"))
        self.query_one("#scores-heading", LineBar).show(((" ", ""), *heading))
        if is_small_screen(self.size):
            # A small screen shows the scores in the place of the failure reasons.
            self._fill_panel("scores", scores)
        else:
            n_next_rows = len(list_next_actions(self._overview))
            column_rows = self.query_one("#right").size.height
            free_rows = column_rows - n_review_rows - n_next_rows - ROWS_OF_BORDERS
            max_lines = max(min(free_rows, MAX_SCORE_LINES), MIN_SCORE_LINES)
            self._show_lines("scores", scores, max_lines)
        self.query_one("#scores-panel", Panel).set_title("4 Scores", self._format_score_facts())

    def _format_score_facts(self) -> str:
        """Return what the scores are: rates of all runs, or estimates from samples with intervals
        or ranges.
        """
        parts = ["items passed"]
        has_estimates = bool(self._overview.sampled_runs)
        if not has_estimates:
            parts.append(format_count(len(self._runs), "run"))
        else:
            parts.append(name_estimate_kinds(self._overview.estimates.values()))
            n_seen_reviews = sum(self._overview.seen_review_counts.values())
            if n_seen_reviews:
                parts.append(f"{n_seen_reviews:,} not blind")
        return f" {symbols().separator} ".join(parts)

    def _draw_next_actions(self) -> None:
        """Draw the panel with the next actions, and the progress of the search for suspects."""
        key_names = dict(find_action_key_names(self.app))
        lines = next_action_lines(self._overview, key_names, self._list_width("next"))
        if is_small_screen(self.size):
            self._show_lines("next", lines, self._max_next_lines)
        else:
            # The panel has the rest of the column.
            self._fill_panel("next", lines)

        facts = ""
        n_done, n_items = self._suspects_done
        is_searching = n_items > 0 and self._overview.n_suspects is None
        if is_searching:
            percent = 100 * n_done // n_items
            facts = f"searching for suspects {symbols().separator} {percent} %"
        self.query_one("#next-panel", Panel).set_title("5 Next", facts, flat_facts=True)

    @property
    def _max_next_lines(self) -> int:
        """Largest number of lines for the suggested actions on a small screen, at least
        `MIN_NEXT_ROWS`.

        If possible, `MIN_REASON_ROWS` rows stay free for the failure reasons above them.
        """
        n_title_rows = 2
        free_rows = self.query_one("#lower").size.height - n_title_rows - MIN_REASON_ROWS
        return max(free_rows, MIN_NEXT_ROWS)

    def _fill_panel(self, list_name: str, lines: list[Line]) -> None:
        """Show lines in a list that is as high as its panel."""
        widget = self._get_list(list_name)
        widget.styles.height = "1fr"
        widget.set_lines(lines)

    def _show_lines(self, list_name: str, lines: list[Line], max_rows: int) -> None:
        widget = self._get_list(list_name)
        widget.styles.height = max(min(len(lines), max_rows), 1)
        widget.set_lines(lines)

    # -- order and search of the runs

    def _rearrange_runs(self) -> None:
        """Filter and sort the runs again, and move the cursor to the first one."""
        self._runs = self._arrangement.filter_and_sort_runs(self._overview.runs)
        self._drawn_runs = ()
        self._draw()
        self._get_list("runs").move_cursor(0)
        self._estimate_visible_runs()

    def action_next_order(self) -> None:
        self._arrangement.select_next_order()
        self._rearrange_runs()

    def action_open_search(self) -> None:
        box = self.query_one(RunSearchInput)
        box.display = True
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._arrangement.search:
            self._arrangement.search = event.value
            self._rearrange_runs()

    def action_end_search(self, keep_search: bool) -> None:
        """Return from the search box to the list. Without `keep_search`, show all runs again."""
        box = self.query_one(RunSearchInput)
        if not keep_search:
            box.value = ""
        box.display = False
        self._get_list("runs").focus()

    def action_move(self, by: int) -> None:
        self._get_list("runs").action_move(by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        if self.is_mounted and isinstance(self.focused, RunSearchInput):
            return action in ("end_search", "move")
        return True

    # -- actions

    def action_step_panel(self, by: int) -> None:
        """Move the focus to the next panel (`by` 1) or the previous one (-1)."""
        names = self._visible_panels
        focused_name = getattr(self.focused, "id", names[0])
        next_index = 0
        if focused_name in names:
            next_index = (names.index(focused_name) + by) % len(names)
        self._get_list(names[next_index]).focus()

    def action_focus_panel(self, number: int) -> None:
        """Focus a panel. On a small screen, reviews or scores take the place of the reasons."""
        name = PANELS[number - 1]
        if self._overview.blind and name in ("reasons", "scores"):
            self._show_message(f"panel {number}: not available in blind mode")
            return
        if name in PANELS_IN_ONE_PLACE and is_small_screen(self.size):
            self._shown_small_panel = name
            self._draw()
            # The width of a panel is known when it is laid out.
            self.call_after_refresh(self._draw)
        self._get_list(name).focus()

    def action_scroll_categories(self, by: int) -> None:
        self._first_category = max(self._first_category + by, 0)
        self._draw_runs()

    def action_open_entry(self) -> None:
        """Open what the line under the cursor stands for: a run, a cluster, a next action or a
        queue.
        """
        widget = self.focused
        if not isinstance(widget, OverviewList) or not widget.total:
            return
        index = widget.entry_index
        if widget.id in ("runs", "scores"):
            self._leave("runs", self._runs[index].run)
        elif widget.id == "reasons" and self._overview.reasons:
            self._leave("clusters", (self._overview.reasons[index].term,))
        elif widget.id == "next":
            # The id of an action such as `overview.estimates` ends with the name of the list that
            # it opens.
            next_action = list_next_actions(self._overview)[index]
            _, _, list_name = next_action.action_id.partition(".")
            self.action_show_list(list_name)
        elif widget.id == "reviews":
            self._open_own_queue(index)

    def _open_own_queue(self, index: int) -> None:
        """Open a queue of the list of reviews, if it is assigned to the annotator."""
        queues = self._overview.queues or ()
        if index >= len(queues):
            return
        queue = queues[index]
        if queue.share.annotator == self._overview.annotator:
            self._leave("file", queue.queue)

    def on_line_list_chosen(self) -> None:
        self.action_open_entry()

    def action_show_estimates(self) -> None:
        """Show the estimates of accuracy. The cursor there is on the run under the cursor here."""
        if self._overview.blind:
            self._ask_to_end_blind_review(ESTIMATES, "Estimates show verdicts.")
            return
        index = self._get_list("runs").cursor
        run = self._runs[index].run if index < len(self._runs) else None
        self._show_estimates(run)

    def _show_estimates(self, run: int | None) -> None:
        """Show the estimates of accuracy above the overview.

        The user can choose a queue there. Without a choice, the overview is read again, because a
        sample may have been drawn. `run`: number of the run with the cursor.
        """
        from fcreview.tui.screens.estimates import EstimatesScreen

        def apply_choice(choice: ListChoice | None) -> None:
            if choice is None:
                self._load_overview()
            else:
                self._leave(choice.menu_name, choice.value, choice.opened_from)

        screen = EstimatesScreen(self._session, self._view, run, is_above_overview=True)
        self.app.push_screen(screen, apply_choice)

    def open_menu(self, name: str) -> None:
        """Open a list or figures of all items above the overview, such as `check`.

        If there is nothing to choose, say why. If the user chooses a row, its items are listed.
        """
        if name == "adjudicate":
            # The disagreements are a list of the overview itself.
            self.action_show_list(name)
            return

        menu = self._menus.menus[name]
        disabled_reason = menu.disabled_reason()
        if disabled_reason:
            self._show_message(disabled_reason)
        elif menu.make_screen is not None:
            apply_choice = partial(self._apply_menu_choice, name, self._session.n_bulk_changes)
            self.app.push_screen(menu.make_screen(), apply_choice)

    def _apply_menu_choice(self, name: str, n_bulk_changes_before: int, choice: Any) -> None:
        """List the items of a choice. Without a choice, read the figures again if items were
        reviewed in bulk meanwhile.
        """
        if choice is not None:
            self._menus.remember_choice(name, choice)
            self._leave(name, choice, place_above_overview(name))
        elif self._session.n_bulk_changes != n_bulk_changes_before:
            self._load_overview()

    def _ask_to_end_blind_review(self, name: str, reason: str) -> None:
        """Ask whether to end a blind review that a queue started. Other blind sessions stay blind.

        `name`: the screen that is not available. `reason`: a sentence that says why.
        """
        place = place_above_overview(name)
        if not ask_to_end_blind_review(self.app, self._session, reason, place):
            self._show_message(f"{name}: not available in blind mode")

    def action_open_form(self, form_name: str) -> None:
        from fcreview.tui.screens.command_form import open_command_form

        if self._overview.blind:
            self._show_message(f"{form_name}: not available in blind mode")
        else:
            open_command_form(self.app, self._session, FORMS[form_name], {})

    def action_show_list(self, list_name: str) -> None:
        """Show a list: failures, disagreements, suspects, estimates, runs or the annotator's queue
        file.

        In blind mode, all items are shown instead of the failures.
        """
        if self._overview.blind and list_name not in LISTS_IN_BLIND_MODE:
            self._refuse_list(list_name)
        elif list_name == "estimates":
            self.action_show_estimates()
        elif list_name == "queue":
            self._open_unfinished_queue()
        elif list_name == "failures":
            self._show_failures()
        elif list_name == "adjudicate":
            self._show_disagreements()
        elif list_name == "suspects":
            self._leave("order", SUSPECTS_QUEUE)
        elif list_name == "compare":
            self.open_menu("runs")
        elif list_name in ("check", "runs", "ranking"):
            self.open_menu(list_name)
        else:
            raise ValueError(f"unknown list {list_name!r}")

    def _refuse_list(self, list_name: str) -> None:
        """Say that a list is not available in blind mode. A blind review that a queue started can
        end for the disagreements.
        """
        if list_name == "adjudicate":
            self._ask_to_end_blind_review(ADJUDICATION, REVIEWS_OF_OTHERS_REASON)
        else:
            self._show_message(f"{list_name}: not available in blind mode")

    def _open_unfinished_queue(self) -> None:
        """Open a queue file in which the annotator has items left.

        If only another annotator has items left, offer to continue as that annotator.
        """
        own = self._overview.own_unfinished_queue
        queues = self._overview.queues or ()
        other = find_other_with_items_left(queues, self._overview.annotator)
        can_switch = not self._session.fixed_annotator_reason
        if own is not None:
            self._leave("file", own.queue)
        elif other is not None and can_switch:
            ask_to_continue_as(self.app, self._session, other, OVERVIEW)
        else:
            self._show_message(self._format_no_queue_message())

    def _format_no_queue_message(self) -> str:
        """Say that no queue is left to review, and which keys lead to other work."""
        message = "No queue has items left for you"
        if self._overview.blind:
            return message
        keys = find_action_key_names(self.app)
        failures_key = keys.get("overview.failures", "")
        estimate_key = keys.get("overview.estimates", "")
        return (
            f"{message}. Press {failures_key} to review failures or {estimate_key} to draw a sample"
        )

    def _show_failures(self) -> None:
        """Show the clusters of failures. In blind mode, show all items, because failures are
        verdicts.
        """
        if self._overview.blind:
            self._leave("order", "dataset")
        elif self._overview.n_failures == 0:
            self._leave("order", "failures")
        else:
            self._leave("clusters", ())

    def _show_disagreements(self) -> None:
        from fcreview.tui.screens.adjudication import AdjudicationScreen

        self.app.push_screen(
            AdjudicationScreen(self._session, make_scope_of_all_items(self._view)), self._reload
        )

    def _reload(self, _: None) -> None:
        self._load_overview()

    def _show_message(self, message: str) -> None:
        self._message = message
        self._draw()

    @property
    def hidden_actions(self) -> frozenset[str]:
        """Ids of actions that are not available now. The key line, help and palette omit them.

        In blind mode, these are the actions that reveal verdicts. While the user types a search,
        `?` is a letter and not the key of the help.
        """
        hidden: set[str] = set()
        if self._overview.blind:
            hidden.update(f"overview.{name}" for name in ACTIONS_THAT_REVEAL_VERDICTS)
        is_typing = self.is_mounted and isinstance(self.focused, RunSearchInput)
        if is_typing:
            hidden.add("app.help")
        return frozenset(hidden)

    def show_unavailable_key(self, key: str) -> None:
        self._show_message(format_unavailable_key_message(self.app, key))

    def action_close(self) -> None:
        if self._arrangement.search:
            self.action_end_search(False)
        else:
            self._remember_place()
            super().action_close()
