"""Compare two runs, and show the flips: items that only one of the two runs passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen

from fcreview.model.item import Item
from fcreview.model.sanitize import display_width, sanitize
from fcreview.stats.estimated_difference import EstimatedDifference, estimate_difference
from fcreview.stats.run_comparison import (
    VERDICT_SOURCES,
    ComparisonGroup,
    Flip,
    RunComparison,
    VerdictSource,
    choose_verdict_source,
    compare_runs,
    is_clustered,
    list_caveats,
)
from fcreview.store.rows import QueueRow, RunRow, View
from fcreview.tables.comparison import (
    CLUSTER_MARK,
    build_pass_rate_table,
    describe_estimated_difference,
    format_flip_count,
    format_group_p_value,
    format_item_count,
)
from fcreview.tui.actions import COMPARISON_ACTIONS, FLIP_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.commands import FORMS
from fcreview.tui.figures.flips import explain_flip, find_failing_item, lay_out_flips
from fcreview.tui.item_view.other_runs import flip_detail_lines, read_outcomes
from fcreview.tui.keymap import make_bindings
from fcreview.tui.screens.command_form import open_command_form
from fcreview.tui.screens.item_pane import make_question_opener
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    fit_line,
    make_line,
    replace_missing_value_sign,
    sanitize_and_wrap,
    truncate_middle,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols
from fcreview.tui.text.tables import lay_out_figure
from fcreview.tui.widgets.base import GuardedScreen, Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, TopLine
from fcreview.tui.widgets.lists import LinkedList, TextList

SOURCE_NAMES: dict[VerdictSource, str] = {
    "official": "official",
    "rule": "recomputed",
    "effective": "effective",
}


def format_verdict_sources(source_a: VerdictSource, source_b: VerdictSource) -> str:
    """Return `official verdicts`, or `A official, B recomputed` if the sources differ."""
    if source_a == source_b:
        return f"{SOURCE_NAMES[source_a]} verdicts"
    return f"A {SOURCE_NAMES[source_a]}, B {SOURCE_NAMES[source_b]}"


def summarize_comparison(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource, *, width: int
) -> str:
    """Return how two runs differ: `4 items · McNemar p 1.000 · only A 1, only B 2 · both pass 0,
    both fail 1`.

    Parts at the end are omitted if the text is wider than `width`, because the table has their
    figures too. The p value is `–` where the table of pass rates has none.
    """
    overall = comparison.overall
    counts = overall.counts
    noun = "item" if counts.n == 1 else "items"
    p_value = replace_missing_value_sign(format_group_p_value(overall, source_a, source_b))
    parts = [
        f"{format_item_count(overall)} {noun}",
        f"{_name_test(overall)} p {p_value}",
        f"only A {counts.only_a:,}, only B {counts.only_b:,}",
        f"both pass {counts.both_pass:,}, both fail {counts.both_fail:,}",
    ]

    separator = f" {symbols().separator} "
    while len(parts) > N_REQUIRED_PARTS and display_width(separator.join(parts)) > width:
        parts.pop()
    return separator.join(parts)


N_REQUIRED_PARTS = 2
"""Number of parts of `summarize_comparison` that are never omitted: the items and the test."""


def _name_test(group: ComparisonGroup) -> str:
    """Name the test, with the mark that the p values of the table have if it is by cluster.

    The notes of the table explain the mark too, but can be below the visible rows.
    """
    if is_clustered(group):
        return f"McNemar by cluster ({CLUSTER_MARK}),"
    return "McNemar"


def _name_flip(flip: Flip) -> str:
    """Return `simple_7 · simple · only A passes`."""
    facts = [
        sanitize(flip.a.question_key.id),
        sanitize(flip.a.question_key.category),
        f"only {flip.passing_side.upper()} passes",
    ]
    return f" {symbols().separator} ".join(facts)


PASSING_SIDES = ("", "a", "b")
"""Choices of the run that passes the listed items. Empty: either run."""


class FlipScreen(GuardedScreen[None]):
    """Screen that shows one flip at a time: an item that one run passes and the other one fails.

    The golden answer is above the predictions of both runs, which are side by side.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FLIP_ACTIONS)
    CSS = """
    FlipScreen { layout: vertical; }
    FlipScreen #flip-text { padding: 0 1; }
    """

    def __init__(
        self, session: Session, flips: Sequence[Flip], index: int, *, run_names: tuple[str, str]
    ) -> None:
        """Create the screen. `run_names`: the names of run A and run B."""
        super().__init__()
        self._session = session
        self._flips = flips
        self._run_names = run_names
        self._index = index
        """Index of the displayed flip."""
        self._items: tuple[Item, Item] | None = None

    def compose(self) -> ComposeResult:
        yield TopLine()
        yield TextList(id="flip-text", cursor=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self._load_items()

    @property
    def _text_list(self) -> TextList:
        return self.query_one("#flip-text", TextList)

    @work(exclusive=True, group="flip")
    async def _load_items(self) -> None:
        """Read the two answers to the question of the displayed flip, and show them from the
        top.
        """
        flip = self._flips[self._index]
        self._items = await self._session.read(
            lambda store: (store.read_detail(flip.a.item).item, store.read_detail(flip.b.item).item)
        )
        self._draw()
        self._text_list.action_move_to(0)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """Draw the flip on screen: its id in the top line and, when they are read, both items."""
        flip = self._flips[self._index]
        path = (*self._session.root_breadcrumb, "compare", _name_flip(flip))
        position = f"{self._index + 1:,}/{len(self._flips):,}"
        self.query_one(TopLine).show_path(path, make_line(position, "dim"))

        if self._items is not None:
            item_a, item_b = self._items
            cells = self.size.width - 2
            lines = flip_detail_lines(
                flip,
                item_a,
                item_b,
                cells,
                cause=explain_flip(flip, cells),
                run_names=self._run_names,
            )
            self._text_list.set_lines(lines)

    @work(exclusive=True, group="question")
    async def action_show_question(self) -> None:
        await show_question_of_flip(self, self._session, self._flips, self._index)

    def action_step_flip(self, by: int) -> None:
        """Show the next (1) or previous (-1) flip.

        At the first and the last flip nothing happens.
        """
        index = max(0, min(self._index + by, len(self._flips) - 1))
        if index != self._index:
            self._index = index
            self._items = None
            self._load_items()

    def action_scroll(self, by: int) -> None:
        self._text_list.action_move(by)

    def action_page(self, by: int) -> None:
        self._text_list.action_move_page(by)


async def show_question_of_flip(
    screen: Screen[Any], session: Session, flips: Sequence[Flip], index: int
) -> None:
    """Show the question of a flip across all runs. The next question is that of another flip."""
    view = View(queue="dataset", items=tuple(flip.a.item for flip in flips))
    item = flips[index].a.item
    problem = await make_question_opener(screen.app, session).open(view, item, lambda _: None)
    if problem:
        screen.app.notify(problem, markup=False)


CELLS_BESIDE_NAMES = 40
"""Part of the top line, in cells, that the names of the two runs leave free."""
MIN_NAME_CELLS = 8
ROWS_BESIDE_LISTS = 9
"""Rows of the screen that neither the pass rates nor the flips use."""


class CompareScreen(PickerScreen[int | None], inherit_bindings=False):
    """Screen that compares two runs: pass rates by category, and items that only one run passes.

    It covers all items of the runs, even if the list of items has a filter, because the failures of
    a run say nothing about its pass rate. It is not available in blind review.
    """

    place_name = "comparison"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMPARISON_ACTIONS, MODAL_HELP_ACTIONS)
    CSS = """
    CompareScreen #rates-panel { height: auto; }
    CompareScreen #rates { height: 1; }
    CompareScreen.waiting Panel, CompareScreen.waiting TopLine { display: none; }
    """
    WAITING_FOR = "comparing"

    def __init__(self, session: Session, runs: tuple[RunRow, RunRow]) -> None:
        """Begin with the official verdicts of each run, or the recomputed ones if it has none."""
        super().__init__()
        self._session = session
        self._runs = runs
        run_a, run_b = runs
        self._default_sources = (
            choose_verdict_source(run_a.official_known, run_a.rule_known),
            choose_verdict_source(run_b.official_known, run_b.rule_known),
        )
        self._sources = self._default_sources
        """Sources of the verdicts that are compared on screen."""
        self._requested_sources = self._default_sources
        """Sources that the user chose last. Their comparison may still be computed."""
        self._comparison: RunComparison | None = None
        self._estimate: EstimatedDifference | None = None
        """Estimated difference of the effective verdicts; None for other verdicts."""
        self._failing_rows: Mapping[int, QueueRow] = {}
        """Rows of the items that one run fails and the other one passes, by item number."""
        self._passing_side = ""
        """Run that passes the listed items, see `PASSING_SIDES`."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TopLine()
            yield LineBar(id="pick-title")
            with Panel(id="rates-panel"):
                yield LineBar(id="rates-heading")
                yield LinkedList(id="rates", below="pick-list")
            with Panel(id="flips-panel"):
                yield LineBar(id="pick-heading")
                yield LinkedList(id="pick-list", above="rates")
            yield KeyLine()

    def on_mount(self) -> None:
        super().on_mount()
        self._compare_runs()

    @work(exclusive=True, group="compare")
    async def _compare_runs(self) -> None:
        """Compare the two runs. This takes long, so a key can cancel it."""
        self.waiting.start()
        sources = self._requested_sources
        outcomes_a, outcomes_b = await self._session.read(
            partial(read_outcomes, self._runs, sources), interruptible=True
        )
        comparison = await asyncio.to_thread(compare_runs, outcomes_a, outcomes_b)
        estimate = None
        # Samples are of human verdicts, so that the comparison must be of them too.
        if sources == ("effective", "effective"):
            estimate = await self._estimate_difference(comparison)
        failing_rows = await self._read_failing_rows(comparison)

        # The comparison, its sources and its estimate change together, so that the screen never
        # shows figures below the name of other sources.
        self._sources = sources
        self._comparison = comparison
        self._failing_rows = failing_rows
        self._estimate = estimate
        self._message = ""
        self.waiting.stop()
        self._draw()
        self.list.move_cursor(0)
        self.handle_kept_keys()

    async def _read_failing_rows(self, comparison: RunComparison) -> dict[int, QueueRow]:
        """Return the row of the item that fails in each flip, by item number."""
        failing_items = [find_failing_item(flip) for flip in comparison.flips]
        rows = await self._session.read(
            lambda store: store.fetch_rows(failing_items), interruptible=True
        )
        return {row.item: row for row in rows}

    async def _estimate_difference(self, comparison: RunComparison) -> EstimatedDifference | None:
        """Estimate how much the runs differ, from the items of their random samples."""
        run_a, run_b = (row.run for row in self._runs)
        sample_a, sample_b = await self._session.read(
            lambda store: store.analysis.fetch_joint_samples(run_a, run_b), interruptible=True
        )
        return await asyncio.to_thread(estimate_difference, comparison, sample_a, sample_b)

    def must_wait(self, action: str) -> bool:
        return self._comparison is None and not action.startswith("app.")

    def _draw_title(self) -> None:
        """Draw the line above the list: a message or, on a small screen, the summary of the
        comparison.

        On a large screen, the border of the panel shows the summary.
        """
        if self._comparison is None:
            self._draw_waiting_time(0)
            return
        if self._message:
            line = make_line(f" {self._message}", "warn")
        else:
            source_a, source_b = self._sources
            summary = summarize_comparison(
                self._comparison, source_a, source_b, width=self.size.width - 2
            )
            line = make_line(f" {summary}", "dim")
        title = self.query_one("#pick-title", LineBar)
        title.display = bool(self._message) or is_small_screen(self.size)
        title.show(fit_line(line, self.size.width))

    def _draw(self) -> None:
        """Draw all parts of the screen. Before the runs are compared, there is nothing to draw."""
        if not self.is_mounted or self._comparison is None:
            return
        self.remove_class("waiting")
        for panel in self.query(Panel):
            panel.set_flat(is_small_screen(self.size))
        path = (*self._session.root_breadcrumb, "compare")
        self.query_one(TopLine).show_path(path, self._run_names_line())
        self._draw_pass_rates(self._comparison)
        self._draw_flips()
        self._draw_title()

    def _run_names_line(self) -> Line:
        """Return `A gpt-4o B gpt-4o-mini` for the top line. Both names get the same room."""
        run_a, run_b = self._runs
        name_cells = max((self.size.width - CELLS_BESIDE_NAMES) // 2, MIN_NAME_CELLS)
        line = LineBuilder()
        line.add("A ", "key")
        line.add(truncate_middle(format_run_name(run_a), name_cells))
        line.add("   ")
        line.add("B ", "key")
        line.add(truncate_middle(format_run_name(run_b), name_cells))
        return line.build()

    def _draw_pass_rates(self, comparison: RunComparison) -> None:
        """Draw the panel with the pass rates of both runs by category, and what limits the
        comparison.
        """
        border_cells = 2 if is_small_screen(self.size) else 6
        cells = self.size.width - border_cells
        source_a, source_b = self._sources
        table = build_pass_rate_table(comparison, source_a, source_b)
        heading, lines = lay_out_figure(table, cells)
        lines += self._remark_lines(comparison, cells)
        self._show_pass_rate_lines(heading, lines)

        separator = f" {symbols().separator} "
        sources = format_verdict_sources(source_a, source_b)
        # The rates are of whole runs, also if the list that opened this screen has a filter.
        title = separator.join(["Pass rates", "whole runs", sources])
        summary = summarize_comparison(comparison, source_a, source_b, width=cells)
        self.query_one("#rates-panel", Panel).set_title(title, summary)

    def _remark_lines(self, comparison: RunComparison, cells: int) -> list[Line]:
        """Return what stands below the table: the estimated difference and the caveats."""
        lines: list[Line] = []
        if self._estimate is not None:
            for text in describe_estimated_difference(self._estimate):
                lines += [make_line(row) for row in sanitize_and_wrap(text, cells)]
        source_a, source_b = self._sources
        for caveat in list_caveats(comparison, source_a, source_b):
            lines += [make_line(row, "warn") for row in sanitize_and_wrap(caveat, cells)]
        return lines

    def _show_pass_rate_lines(self, heading: Line, lines: list[Line]) -> None:
        rates = self.query_one("#rates", TextList)
        # The lower half of the screen is for the flips.
        max_rows = (self.size.height - ROWS_BESIDE_LISTS) // 2
        rates.styles.height = max(min(len(lines), max_rows), 1)
        rates.set_lines(lines)
        self.query_one("#rates-heading", LineBar).show(((" ", ""), *heading))

    @property
    def _flips(self) -> list[Flip]:
        """Displayed flips: all flips, or those that only A or only B passes."""
        flips = self._comparison.flips if self._comparison is not None else ()
        return [flip for flip in flips if self._passing_side in ("", flip.passing_side)]

    def _draw_flips(self) -> None:
        """Draw the list of items with different verdicts."""
        flips = self._flips
        border_cells = 2 if is_small_screen(self.size) else 6
        cells = self.size.width - border_cells
        heading, lines = lay_out_flips(flips, self._failing_rows, cells)
        self.query_one("#pick-heading", LineBar).show(((" ", ""), *heading))
        self.list.empty_line = make_line(" no items with different verdicts", "dim")
        self.list.set_lines(lines)

        facts = format_flip_count(len(flips), self._passing_side)
        panel = self.query_one("#flips-panel", Panel)
        panel.set_title("Items with different verdicts", facts, flat_facts=True)

    def action_choose_row(self) -> None:
        flips = self._flips
        if flips and self.list.has_focus:
            run_a, run_b = self._runs
            run_names = (format_run_name(run_a), format_run_name(run_b))
            screen = FlipScreen(self._session, flips, self.list.cursor, run_names=run_names)
            self.app.push_screen(screen)

    @work(exclusive=True, group="question")
    async def action_show_question(self) -> None:
        flips = self._flips
        if flips:
            await show_question_of_flip(self, self._session, flips, self.list.cursor)

    def action_switch_panel(self) -> None:
        if self.list.has_focus:
            self.query_one("#rates").focus()
        else:
            self.list.focus()

    def action_step_side(self, step: int) -> None:
        """List the flips that only A passes, then those that only B passes, then all flips, or,
        with `step` -1, in the opposite order.
        """
        next_index = PASSING_SIDES.index(self._passing_side) + step
        self._passing_side = PASSING_SIDES[next_index % len(PASSING_SIDES)]
        if self._comparison is not None:
            self._draw_flips()
            self.list.move_cursor(0)

    def action_export(self) -> None:
        open_command_form(self.app, self._session, FORMS["export"], {})

    def action_next_source(self) -> None:
        """Compare by the next sources: first the default ones, then each source for both runs."""
        choices = [self._default_sources]
        for source in VERDICT_SOURCES:
            if (source, source) not in choices:
                choices.append((source, source))

        next_index = choices.index(self._requested_sources) + 1
        self._requested_sources = choices[next_index % len(choices)]
        self._compare_runs()
