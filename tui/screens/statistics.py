"""Screens with the figures of `fcreview agreement` and `fcreview calibrate`. Choosing a figure opens its items."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import BindingType

from fcreview.stats.agreement_ratings import (
    AGREEMENT_SCOPES,
    SCOPE_HEADINGS,
    AgreementScope,
    Rating,
    find_multiply_labelled_items,
    split_by_blind_status,
)
from fcreview.stats.calibration_pairs import NO_PAIRS_MESSAGE as CALIBRATION_NONE
from fcreview.stats.calibration_pairs import CalibrationScope, VerdictPair
from fcreview.store.rows import View
from fcreview.tui.actions import AGREEMENT_ACTIONS, CALIBRATION_ACTIONS, CONVENTION_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.key_bindings import make_bindings
from fcreview.tui.queue.conventions import convention_columns, convention_rows
from fcreview.tui.queue.statistics import (
    CALIBRATION_COLUMNS,
    ERROR_KIND_COLUMNS,
    AgreementCell,
    CalibrationGroup,
    FigureTable,
    agreement_columns,
    agreement_rows,
    calibration_groups,
    calibration_rows,
    error_kind_rows,
    reported_scopes,
)
from fcreview.tui.screens.choice_list import PickerScreen
from fcreview.tui.text.lines import ChoiceTable
from fcreview.tui.widgets.base import work

if TYPE_CHECKING:
    from fcreview.stats.agreement_ratings import RatingGroup
    from fcreview.stats.calibration_pairs import ErrorGroup
    from fcreview.stats.conventions import RunConventions
    from fcreview.tui.session import Session


class StatisticsScreen(PickerScreen[tuple[int, ...]], inherit_bindings=False):
    """Table of figures that grows while the figures are computed.

    The result is the item numbers of the chosen figure.
    """

    CSS_PATH = "pick.tcss"  # Textual resolves the path from the module of the subclass

    def __init__(self) -> None:
        super().__init__()
        self._progress = "reading reviews"

    async def compute_figures(self) -> None:
        """Read from the store, compute the figures in a thread, and call `show_progress` after each group."""
        raise NotImplementedError

    def selected_table(self) -> ChoiceTable[tuple[int, ...]]:
        """Return the selected table with the figures that have been computed."""
        raise NotImplementedError

    def select_next_table(self) -> None:
        raise NotImplementedError

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="figures")
    async def _compute(self) -> None:
        await self.compute_figures()
        self.show_progress("")

    def show_progress(self, progress: str) -> None:
        """Redraw the table with a progress message, which is empty when all figures are computed."""
        self._progress = progress
        self._redraw(self.list.cursor)

    def _redraw(self, cursor: int) -> None:
        self._choices = self.selected_table()
        self._draw()
        self.list.move_cursor(cursor)

    def on_resize(self) -> None:
        if self._choices is not None:
            self._choices = self.selected_table()
        super().on_resize()

    def action_scope(self) -> None:
        self.select_next_table()
        self._redraw(0)

    def action_take(self) -> None:
        """Open the items of the figure under the cursor, if it has items."""
        if self._choices is not None and self._choices.values and self._choices.values[self.list.cursor]:
            super().action_take()


NO_LABELS = "nothing here has labels from two annotators"


class AgreementScreen(StatisticsScreen, inherit_bindings=False):
    """Inter-annotator agreement, as a table for each scope."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(AGREEMENT_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session, self._view = session, view
        self._scope: AgreementScope = "overall"
        self._cells: dict[AgreementScope, list[AgreementCell]] = {scope: [] for scope in AGREEMENT_SCOPES}

    async def compute_figures(self) -> None:
        ratings = await self._session.query(lambda store: store.analysis.fetch_ratings(self._view), interruptible=True)
        groups = await asyncio.to_thread(_rating_groups, ratings)
        for at, group in enumerate(groups):
            self.show_progress(f"{at} of {len(groups)} groups computed")
            self._cells[group.scope] += await asyncio.to_thread(_agreement_cells, group)

    def selected_table(self) -> ChoiceTable[tuple[int, ...]]:
        figures, cells = self._cells[self._scope], self.size.width
        rows = agreement_rows(figures, cells)
        return FigureTable(
            title=f"agreement {SCOPE_HEADINGS[self._scope]}",
            noun="figure",
            total=len(figures),
            columns=agreement_columns(cells),
            rows=[row.cells for row in rows],
            values=[row.items for row in rows],
            intervals=[row.interval for row in rows],
            empty_message=self._progress or NO_LABELS,
            note=self._progress,
        )

    def select_next_table(self) -> None:
        self._scope = AGREEMENT_SCOPES[(AGREEMENT_SCOPES.index(self._scope) + 1) % len(AGREEMENT_SCOPES)]


def _rating_groups(ratings: Sequence[Rating]) -> list[RatingGroup]:
    from fcreview.stats.agreement import build_rating_groups

    found = [
        group
        for given, some in split_by_blind_status(ratings).items()
        for group in build_rating_groups(some, AGREEMENT_SCOPES, given)
    ]
    return sorted(found, key=lambda group: AGREEMENT_SCOPES.index(group.scope))


def _agreement_cells(group: RatingGroup) -> Iterable[AgreementCell]:
    from fcreview.stats.agreement import compute_coefficients

    return [
        AgreementCell(figure, tuple(find_multiply_labelled_items(group, figure.annotators)))
        for figure in compute_coefficients(group)
    ]


NOT_RANDOM = "no random sample: figures are for these items only"
CalibrationTable = CalibrationScope | Literal["wrong"]


class CalibrationScreen(StatisticsScreen, inherit_bindings=False):
    """Accuracy of checkers and judges against human labels: one table for each scope, and one table of their errors."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CALIBRATION_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session, self._view = session, view
        self._tables: list[CalibrationTable] = ["overall"]
        self._table: CalibrationTable = "overall"
        self._groups: dict[CalibrationScope, list[CalibrationGroup]] = {}
        self._wrong: list[ErrorGroup] = []
        self._random = False
        """Whether any of the items was drawn at random."""

    async def compute_figures(self) -> None:
        cases = await self._session.query(
            lambda store: store.analysis.fetch_calibration_cases(self._view), interruptible=True
        )
        self._random = any(case.is_random for case in cases)
        scopes = reported_scopes(cases)
        for at, scope in enumerate(scopes):
            self.show_progress(f"{at} of {len(scopes)} tables computed")
            self._groups[scope] = await asyncio.to_thread(calibration_groups, cases, scope)
            if scope == "overall":
                self._wrong = await asyncio.to_thread(_compute_error_groups, cases)
                wrong: list[CalibrationTable] = ["wrong"] if self._wrong else []
                self._tables = ["overall", *wrong, *scopes[1:]]

    def selected_table(self) -> ChoiceTable[tuple[int, ...]]:
        wrong = self._table == "wrong"
        groups = [] if self._table == "wrong" else self._groups.get(self._table, [])
        rows = error_kind_rows(self._wrong) if wrong else calibration_rows(groups)
        heading = "overall" if self._table == "overall" else "errors" if wrong else f"by {self._table}"
        return FigureTable(
            title=f"calibration {heading}",
            noun="kind" if wrong else "group",
            total=len(self._wrong) if wrong else len(groups),
            columns=ERROR_KIND_COLUMNS if wrong else CALIBRATION_COLUMNS,
            rows=[row.cells for row in rows],
            values=[row.items for row in rows],
            intervals=[row.interval for row in rows],
            empty_message=self._progress or CALIBRATION_NONE,
            note=self._progress or ("" if self._random or not rows else NOT_RANDOM),
        )

    def select_next_table(self) -> None:
        self._table = self._tables[(self._tables.index(self._table) + 1) % len(self._tables)]


def _compute_error_groups(cases: Sequence[VerdictPair]) -> list[ErrorGroup]:
    from fcreview.stats.calibration import find_error_groups  # imports numpy, which is slow to load

    return list(find_error_groups(cases))


NO_CONVENTIONS = "fcreview knows no conventions for these runs"
OWN_TOOL_NOTE = "* tool of the run"


class ConventionsScreen(StatisticsScreen, inherit_bindings=False):
    """Figures of the runs on screen as the official code of each tool computes them."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(CONVENTION_ACTIONS, MODAL_HELP_ACTIONS)

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session, self._view = session, view
        self._runs: list[RunConventions] = []

    async def compute_figures(self) -> None:
        services = self._session.report_services
        compare = services.compare_conventions if services is not None else None
        if compare is not None:
            self._runs = await self._session.query(lambda store: compare(store, self._view.runs), interruptible=True)

    def selected_table(self) -> ChoiceTable[tuple[int, ...]]:
        rows = convention_rows(self._runs, self.size.width)
        return FigureTable(
            title="conventions",
            noun="figure",
            total=sum(len(run.rows) for run in self._runs),
            columns=convention_columns(self.size.width),
            rows=[row.cells for row in rows],
            values=[row.items for row in rows],
            empty_message=self._progress or NO_CONVENTIONS,
            note=self._progress or OWN_TOOL_NOTE,
        )

    def select_next_table(self) -> None:
        """Do nothing: there is one table."""
