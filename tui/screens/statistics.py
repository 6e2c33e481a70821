"""Show agreement, calibration and conventions in tables. Choosing a row opens its items."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from textual.binding import BindingType
from textual.widget import Widget

from fcreview.errors import UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.stats.agreement_ratings import (
    AGREEMENT_SCOPES,
    AgreementScope,
    Rating,
    find_jointly_labelled_items,
    split_by_blind_status,
)
from fcreview.stats.calibration import NO_PAIRS_MESSAGE as CALIBRATION_NONE
from fcreview.stats.calibration import CalibrationScope, VerdictPair
from fcreview.tables.agreement import (
    NO_LABELS,
    AgreementStatistic,
    build_agreement_table,
    group_statistics,
)
from fcreview.tables.calibration import (
    CalibrationGroup,
    build_calibration_table,
    build_error_table,
    build_trust_table,
    compute_calibration_groups,
    list_useful_scopes,
)
from fcreview.tables.conventions import NO_CONVENTIONS, OWN_NOTE, build_convention_table
from fcreview.tables.ranking import TIED_NOTE, RunTitle, build_rank_table
from fcreview.tables.table import Row, Table
from fcreview.tui.actions import (
    AGREEMENT_ACTIONS,
    CALIBRATION_ACTIONS,
    CONVENTION_ACTIONS,
    MODAL_HELP_ACTIONS,
    RANKING_ACTIONS,
)
from fcreview.tui.figure_scope import FigureScope
from fcreview.tui.figures.statistics import confusion_matrix_lines, pairwise_heat_maps
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue_state import StatisticsPlace
from fcreview.tui.screens.prompts import PanelPickerScreen
from fcreview.tui.text.lines import Line, fit_line
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.tables import FigureTable, make_figure_table, use_own_symbols
from fcreview.tui.widgets.base import Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import LineBar, LineBlock

if TYPE_CHECKING:
    from fcreview.stats.agreement_ratings import RatingGroup
    from fcreview.stats.calibration import ConfusionCell, ErrorGroup
    from fcreview.stats.conventions import RunConventions
    from fcreview.stats.ranking import NamedRanking
    from fcreview.tui.session import Session


class Picture(NamedTuple):
    """Panel with a drawing of statistics. Without lines, the panel is hidden."""

    title: str
    facts: str
    """Text at the right end of the panel's title line."""
    lines: Sequence[Line]


NO_PICTURE = Picture("", facts="", lines=())
READING = "reading reviews"
TALL = 40
"""Minimum height of the screen, in rows, at which the cells of a confusion matrix are three rows
high.
"""


class StatisticsScreen(PanelPickerScreen[tuple[int, ...]], inherit_bindings=False):
    """Screen with a table of statistics that fills while they are computed, and with a picture of
    the selected row.

    The result is a tuple of the item numbers of the chosen row.
    """

    def __init__(
        self, session: Session, scope: FigureScope, places: dict[str, StatisticsPlace]
    ) -> None:
        """Create the screen.

        `places`: where the user left screens with statistics. The screen opens at its place, and
        changes it when it closes.
        """
        super().__init__((*session.root_breadcrumb, self.place_name))
        self._session = session
        self.scope: FigureScope = scope
        self._places = places
        self._progress = READING
        self._rows: Sequence[Row] = ()

    def compose_below_list(self) -> Iterable[Widget]:
        yield LineBar(id="means")

    def compose_below_panel(self) -> Iterable[Widget]:
        with Panel(id="picture-panel"):
            yield LineBlock(id="picture")

    async def compute_statistics(self) -> None:
        """Read from the store, compute the statistics in a thread, and call `show_progress`
        after each group.
        """
        raise NotImplementedError

    def forget_statistics(self) -> None:
        """Remove the statistics that depend on the scope."""

    def build_selected_table(self) -> FigureTable[tuple[int, ...]]:
        """Return the selected table with the statistics computed so far, built with
        `make_table`.
        """
        raise NotImplementedError

    def make_table(
        self, figure: Table, *, noun: str, **fields: Any
    ) -> FigureTable[tuple[int, ...]]:
        """Return the table of a figure, whose rows open their items, and keep the rows.

        `fields`: other fields of `ChoiceTable`.
        """
        self._rows = figure.rows
        items = [row.items for row in figure.rows]
        return make_figure_table(figure, items, noun=noun, **fields)

    def select_next_table(self) -> None:
        """Select another table, if there are several."""

    @property
    def table_name(self) -> str:
        """Name of the table on screen. Empty if the screen has only one."""
        return ""

    def select_table(self, name: str) -> None:
        """Select the table with this name, if it exists."""

    def draw_picture(self, width: int, max_lines: int) -> Picture:  # noqa: ARG002
        """Return the picture for the row under the cursor. `max_lines`: largest number of lines."""
        return NO_PICTURE

    @property
    def _cursor_group(self) -> int:
        """Index of the group of rows with the cursor. Each group begins with its heading."""
        rows_up_to_cursor = self._rows[: self.list.cursor + 1]
        n_headings = sum(row.level == 0 for row in rows_up_to_cursor)
        return n_headings - 1

    @property
    def _cursor_index_in_group(self) -> int:
        """Index of the row under the cursor below the heading of its group. -1 for the heading."""
        index = self.list.cursor
        while index > 0 and self._rows[index].level > 0:
            index -= 1
        return self.list.cursor - index - 1

    def on_mount(self) -> None:
        super().on_mount()
        self.watch(self.list, "cursor", self._draw_row, init=False)
        self._compute_and_show()

    @work(exclusive=True, group="figures")
    async def _compute_and_show(self) -> None:
        await self.compute_statistics()
        self.show_progress("")
        self._return_to_place()

    def _return_to_place(self) -> None:
        """Show the table and the row that the user left, unless the cursor has moved already."""
        place = self._places.pop(self.place_name, None)
        if place is None or self.list.cursor > 0:
            return
        self.select_table(place.table)
        self._redraw(0)
        for index in range(len(self._rows)):
            if self._describe_place(index) == place:
                self.list.move_cursor(index)
                return

    def _remember_place(self) -> None:
        if self._rows:
            self._places[self.place_name] = self._describe_place(self.list.cursor)

    def _describe_place(self, row_index: int) -> StatisticsPlace:
        """Return the place of a row: its table, its group and its text.

        A row is found again by its text, because its index can change with the figures.
        """
        group = ""
        for row in self._rows[: row_index + 1]:
            if row.level == 0:
                group = row.texts[0]
        return StatisticsPlace(self.table_name, group=group, row=self._rows[row_index].texts[0])

    def read_again(self) -> None:
        """Compute the figures of the changed scope. Those of the former scope disappear at once."""
        self.forget_statistics()
        self.show_progress(READING)
        self._compute_and_show()

    def show_progress(self, progress: str) -> None:
        """Redraw the table with a progress message.

        An empty message means that everything is computed.
        """
        self._progress = progress
        self._redraw(self.list.cursor)

    def _redraw(self, cursor: int) -> None:
        self._choices = self.build_selected_table()
        self._draw()
        self.list.move_cursor(cursor)

    def _draw(self) -> None:
        super()._draw()
        if self._choices is not None:
            self._draw_row()

    def _draw_row(self) -> None:
        """Draw the explanation and the picture of the row under the cursor.

        The table gets the rows that the picture leaves.
        """
        row = self._rows[self.list.cursor] if self._rows else None
        self._draw_explanation(row)
        picture_rows = self._draw_picture_panel()
        # Without a picture, the table may use the whole screen.
        n_rows = self._free_rows
        if picture_rows:
            n_rows = min(len(self._rows), self._free_rows - picture_rows)
        self.list.styles.height = max(n_rows, 1)

    @property
    def _free_rows(self) -> int:
        """Number of rows for table and picture: without bars, heading, explanation and borders."""
        return self.size.height - (5 if is_small_screen(self.size) else 6)

    def _draw_explanation(self, row: Row | None) -> None:
        explanation = row.explanation if row is not None else ""
        line: Line = (("  ", ""), (use_own_symbols(explanation), "dim"))
        self.query_one("#means", LineBar).show(fit_line(line, self.table_width))

    def _draw_picture_panel(self) -> int:
        """Draw the picture for the row under the cursor, such as a confusion matrix.

        It gets at most half of the free rows, and is hidden if it needs more. Return the number of
        rows of its panel, 0 if it is hidden.
        """
        # On a small screen, the panel has a title instead of borders, and its lines are indented.
        is_small = is_small_screen(self.size)
        border_rows = 1 if is_small else 2
        indent = " " if is_small else ""

        max_lines = max(self._free_rows // 2 - border_rows, 0)
        picture = NO_PICTURE
        if self._rows:
            picture = self.draw_picture(self.table_width - len(indent), max_lines)
        lines = [((indent, ""), *line) for line in picture.lines]
        self.query_one("#picture", LineBlock).show(lines)

        panel = self.query_one("#picture-panel", Panel)
        panel.display = 0 < len(lines) <= max_lines
        panel.set_flat(is_small)
        panel.set_title(picture.title, picture.facts, flat_facts=True)
        return len(lines) + border_rows if panel.display else 0

    def on_resize(self) -> None:
        if self._choices is not None:
            self._choices = self.build_selected_table()
        super().on_resize()

    def action_next_table(self) -> None:
        self.select_next_table()
        self._redraw(0)

    def action_choose_row(self) -> None:
        """Open the items of the row under the cursor, if it has items."""
        if self._choices is None or not self._choices.values:
            return
        items = self._choices.values[self.list.cursor]
        if items:
            self._remember_place()
            super().action_choose_row()

    def action_close(self) -> None:
        self._remember_place()
        super().action_close()


class AgreementScreen(StatisticsScreen, inherit_bindings=False):
    """Inter-annotator agreement, as a table for each scope."""

    place_name = "agreement"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(AGREEMENT_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(
        self, session: Session, scope: FigureScope, places: dict[str, StatisticsPlace]
    ) -> None:
        super().__init__(session, scope, places)
        self._scope: AgreementScope = "overall"
        self._statistics: dict[AgreementScope, list[AgreementStatistic]] = {
            scope: [] for scope in AGREEMENT_SCOPES
        }

    def forget_statistics(self) -> None:
        self._statistics = {scope: [] for scope in AGREEMENT_SCOPES}

    async def compute_statistics(self) -> None:
        """Compute how well annotators agree, one group of verdicts after the other."""
        view = self.scope.view
        ratings = await self._session.read(
            lambda store: store.analysis.fetch_ratings(view), interruptible=True
        )
        groups = await asyncio.to_thread(_build_rating_groups, ratings)
        for n_computed, group in enumerate(groups):
            self.show_progress(f"{n_computed} of {len(groups)} groups computed")
            statistics = await asyncio.to_thread(_compute_agreement_statistics, group)
            self._statistics[group.scope] += statistics

    def build_selected_table(self) -> FigureTable[tuple[int, ...]]:
        """Return the table of the scope on screen, such as all items or each category."""
        statistics = self._statistics[self._scope]
        return self.make_table(
            build_agreement_table(statistics, self._scope),
            noun="measure",
            total=len(statistics),
            empty_message=self._progress or NO_LABELS,
            note=self._progress,
        )

    def draw_picture(self, width: int, max_lines: int) -> Picture:
        """Draw how well each pair of annotators agrees. There may be room for only some of them."""
        group = group_statistics(self._statistics[self._scope])[self._cursor_group]
        lines, n_shown = pairwise_heat_maps(group, width, max_lines)
        n_annotators = max(len(each.coefficient.annotators) for each in group)
        facts = format_count(n_annotators, "annotator")
        if n_shown != n_annotators:
            facts = f"{n_shown} of {facts}"
        return Picture("Pairs of annotators", facts=facts, lines=lines)

    def select_next_table(self) -> None:
        next_index = AGREEMENT_SCOPES.index(self._scope) + 1
        self._scope = AGREEMENT_SCOPES[next_index % len(AGREEMENT_SCOPES)]

    @property
    def table_name(self) -> str:
        return self._scope

    def select_table(self, name: str) -> None:
        for scope in AGREEMENT_SCOPES:
            if scope == name:
                self._scope = scope


def _build_rating_groups(ratings: Sequence[Rating]) -> list[RatingGroup]:
    """Return the groups of all scopes, those of the first table first."""
    from fcreview.stats.agreement import build_rating_groups

    groups: list[RatingGroup] = []
    for blind_status, ratings_of_status in split_by_blind_status(ratings).items():
        groups += build_rating_groups(ratings_of_status, AGREEMENT_SCOPES, blind_status)
    return sorted(groups, key=lambda group: AGREEMENT_SCOPES.index(group.scope))


def _compute_agreement_statistics(group: RatingGroup) -> list[AgreementStatistic]:
    """Compute how well annotators agree, for each pair and for all, with the items that they
    share.
    """
    from fcreview.stats.agreement import compute_coefficients

    statistics = []
    for coefficient in compute_coefficients(group):
        items = find_jointly_labelled_items(group, coefficient.annotators)
        statistics.append(AgreementStatistic(coefficient, tuple(items)))
    return statistics


NOT_RANDOM = "not a random sample"
CalibrationTable = CalibrationScope | Literal["wrong", "trust"]
MIN_COMPARED_SOURCES = 2
"""Number of sources from which on the screen has a table that compares them."""


def _list_calibration_tables(
    scopes: Sequence[CalibrationScope], *, has_wrong: bool
) -> list[CalibrationTable]:
    """Return the tables in the order of the screen: all items, the wrong verdicts, then the other
    scopes.
    """
    tables: list[CalibrationTable] = ["overall"]
    if has_wrong:
        tables.append("wrong")
    return [*tables, *scopes[1:]]


class CalibrationScreen(StatisticsScreen, inherit_bindings=False):
    """Accuracy of checkers and judges against human labels: one table for each scope, and one
    table of their errors.
    """

    place_name = "calibration"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CALIBRATION_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(
        self, session: Session, scope: FigureScope, places: dict[str, StatisticsPlace]
    ) -> None:
        super().__init__(session, scope, places)
        self._tables: list[CalibrationTable] = ["overall"]
        self._table: CalibrationTable = "overall"
        self._groups: dict[CalibrationScope, list[CalibrationGroup]] = {}
        self._wrong: list[ErrorGroup] = []
        self._trust_table = Table([], [])
        """Comparison of all sources. Empty until it is computed."""
        self._random = False
        """Whether any of the items was drawn at random."""

    def forget_statistics(self) -> None:
        self._tables = ["overall"]
        self._groups = {}
        self._wrong = []
        self._trust_table = Table([], [])

    async def compute_statistics(self) -> None:
        """Compare automatic verdicts with human ones, and show one table after the other when it is
        computed.

        The first table, `overall`, has all items. The others divide them, for example by category.
        """
        view = self.scope.view
        cases = await self._session.read(
            lambda store: store.analysis.fetch_verdict_pairs(view), interruptible=True
        )
        self._random = any(case.is_random for case in cases)

        scopes = list_useful_scopes(cases)
        for n_computed, scope in enumerate(scopes):
            self.show_progress(f"{n_computed} of {len(scopes)} tables computed")
            self._groups[scope] = await asyncio.to_thread(compute_calibration_groups, cases, scope)
            if scope == "overall":
                # The wrong verdicts follow at once, because they decide which tables there are.
                self._wrong = await asyncio.to_thread(_compute_error_groups, cases)
                self._tables = _list_calibration_tables(scopes, has_wrong=bool(self._wrong))

        # The table of all sources comes last, and only if there is something to compare.
        self._trust_table = await asyncio.to_thread(_compute_trust_table, cases)
        if len(self._trust_table.rows) >= MIN_COMPARED_SOURCES:
            self._tables.append("trust")

    def build_selected_table(self) -> FigureTable[tuple[int, ...]]:
        """Return the table on screen: the groups of a scope, the wrong verdicts, or the trust in
        sources.
        """
        if self._table == "wrong":
            return self._make_calibration_table(
                build_error_table(self._wrong), noun="kind", total=len(self._wrong)
            )
        if self._table == "trust":
            return self._make_calibration_table(
                self._trust_table, noun="source", total=len(self._trust_table.rows)
            )
        groups = self._groups.get(self._table, [])
        figure = build_calibration_table(groups, self._table)
        return self._make_calibration_table(figure, noun="group", total=len(groups))

    def _make_calibration_table(
        self, figure: Table, *, noun: str, total: int
    ) -> FigureTable[tuple[int, ...]]:
        """Return a figure as the table on screen, with a note beside its title.

        `noun`, `total`: what the title counts, such as 3 groups.
        """
        return self.make_table(
            figure,
            noun=noun,
            total=total,
            empty_message=self._progress or CALIBRATION_NONE,
            note=self._find_table_note(figure),
        )

    def _find_table_note(self, figure: Table) -> str:
        """Return the progress or, if no item was drawn at random, a warning."""
        if self._progress:
            return self._progress
        if figure.rows and not self._random:
            return NOT_RANDOM
        return ""

    def draw_picture(self, width: int, max_lines: int) -> Picture:
        """Draw the confusion matrix of the row under the cursor. The tables of wrong verdicts and
        of all sources have none.
        """
        if self._table == "wrong" or self._table == "trust":
            return NO_PICTURE
        groups = self._groups[self._table]
        lines = confusion_matrix_lines(
            groups,
            self._cursor_group,
            self._find_cursor_cell(groups[self._cursor_group]),
            width=width,
            has_tall_cells=self.size.height >= TALL and max_lines >= 8,
        )
        facts = "% of human verdicts"
        return Picture("Automatic and human verdicts", facts=facts, lines=lines)

    def _find_cursor_cell(self, group: CalibrationGroup) -> ConfusionCell | None:
        """Return the cell of the confusion matrix that the row under the cursor lists.

        The first rows below a heading are cells. Returns None on the heading and on the rows after
        them.
        """
        cells = group.calibration.cells
        index = self._cursor_index_in_group
        return cells[index] if 0 <= index < len(cells) else None

    def select_next_table(self) -> None:
        if self._table not in self._tables:
            # It is not computed yet for the changed scope.
            self._table = self._tables[0]
            return
        next_index = self._tables.index(self._table) + 1
        self._table = self._tables[next_index % len(self._tables)]

    @property
    def table_name(self) -> str:
        return self._table

    def select_table(self, name: str) -> None:
        for table in self._tables:
            if table == name:
                self._table = table


def _compute_trust_table(cases: Sequence[VerdictPair]) -> Table:
    from fcreview.stats.judge_trust import compute_judge_figures  # imports numpy

    return build_trust_table(compute_judge_figures(cases))


def _compute_error_groups(cases: Sequence[VerdictPair]) -> list[ErrorGroup]:
    from fcreview.stats.calibration import find_error_groups  # imports numpy, which is slow to load

    return list(find_error_groups(cases))


class ConventionsScreen(StatisticsScreen, inherit_bindings=False):
    """Screen with the pass rates of runs with repeated trials, by several ways to count the trials.

    Each benchmark program has its convention how to count them.
    """

    place_name = "conventions"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CONVENTION_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(
        self, session: Session, scope: FigureScope, places: dict[str, StatisticsPlace]
    ) -> None:
        super().__init__(session, scope, places)
        self._runs: list[RunConventions] = []

    async def compute_statistics(self) -> None:
        """Compute the metrics of the runs by each convention how repeated trials are counted."""
        services = self._session.report_services
        compare = services.compare_conventions if services is not None else None
        if compare is not None:
            self._runs = await self._session.read(
                lambda store: compare(store, self.scope.view.runs), interruptible=True
            )

    def build_selected_table(self) -> FigureTable[tuple[int, ...]]:
        """Return the table with the figures of each run by each counting convention."""
        return self.make_table(
            build_convention_table(self._runs),
            noun="figure",
            total=sum(len(run.rows) for run in self._runs),
            empty_message=self._progress or NO_CONVENTIONS,
            note=self._progress or OWN_NOTE,
        )


NO_RANKING = "there is no ranking of these runs"


class RankingScreen(StatisticsScreen, inherit_bindings=False):
    """Screen with several rankings of the runs, by different verdicts and ways to count trials.

    A row stands for a run. Choosing it lists the items that decide between this run and the next
    better one.
    """

    place_name = "ranking"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RANKING_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(
        self, session: Session, scope: FigureScope, places: dict[str, StatisticsPlace]
    ) -> None:
        super().__init__(session, scope, places)
        self._rankings: Sequence[NamedRanking] = ()
        self._titles: Sequence[RunTitle] = ()
        self._reason_without_ranking = NO_RANKING

    async def compute_statistics(self) -> None:
        """Rank the runs of the view, or find out why they cannot be ranked."""
        services = self._session.report_services
        rank_runs = services.rank_runs if services is not None else None
        if rank_runs is None:
            return

        self.show_progress("ranking the runs")
        shown_runs = self.scope.view.runs
        all_rows = await self._session.read(lambda store: store.fetch_runs())
        rows = [row for row in all_rows if not shown_runs or row.run in shown_runs]
        self._titles = [RunTitle(row.run, format_run_name(row)) for row in rows]
        try:
            self._rankings = await self._session.read_in_background(
                lambda store: rank_runs(store, rows)
            )
        except UsageError as error:
            self._reason_without_ranking = sanitize(str(error))

    def build_selected_table(self) -> FigureTable[tuple[int, ...]]:
        """Return the table with the rankings, or with the reason why there are none."""
        figure = Table((), ())
        if self._rankings:
            figure = build_rank_table(self._rankings, self._titles)
        return self.make_table(
            figure,
            noun="rank",
            total=sum(len(each.ranking.ranks) for each in self._rankings),
            empty_message=self._progress or self._reason_without_ranking,
            note=self._progress or TIED_NOTE,
        )


SCREENS = {
    "agreement": AgreementScreen,
    "calibration": CalibrationScreen,
    "conventions": ConventionsScreen,
    "ranking": RankingScreen,
}
"""Screens by the name of their menu in the queue."""
