"""Screens with the figures of `fcreview agreement` and `fcreview calibrate`. A figure opens the items it is about."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import BindingType

from fcreview.stats.agreement import HEADINGS, SCOPES, Rating, Scope, apart, several
from fcreview.stats.calibration import NONE as CALIBRATION_NONE
from fcreview.stats.calibration import Case
from fcreview.stats.calibration import Scope as CalibrationScope
from fcreview.store.rows import View
from fcreview.tui.actions import AGREEMENT, CALIBRATION, IN_FRONT
from fcreview.tui.key_bindings import bindings
from fcreview.tui.queue.statistics import (
    CALIBRATION_COLUMNS,
    WRONG_COLUMNS,
    AgreementCell,
    CalibrationGroup,
    agreement_columns,
    agreement_rows,
    calibration_groups,
    calibration_rows,
    reported_scopes,
    wrong_rows,
)
from fcreview.tui.screens.picker import PickScreen
from fcreview.tui.text.lines import Choices
from fcreview.tui.widgets.base import work

if TYPE_CHECKING:
    from fcreview.stats.agreement import RatingGroup
    from fcreview.stats.calibration import WrongKind
    from fcreview.tui.session import Session


class FiguresScreen(PickScreen[tuple[int, ...]], inherit_bindings=False):
    """Table of figures that fills while they are computed. The result is the items (`QueueRow.item`) of a figure."""

    CSS_PATH = "pick.tcss"  # relative to the module of the subclass, so it has to be repeated

    def __init__(self) -> None:
        super().__init__()
        self._progress = "reading reviews"

    async def compute(self) -> None:
        """Read from the store, compute the figures in a thread, and call `show_progress` after each group."""
        raise NotImplementedError

    def table(self) -> Choices[tuple[int, ...]]:
        """Return the selected table with the figures that are computed so far."""
        raise NotImplementedError

    def next_table(self) -> None:
        """Select the next table."""
        raise NotImplementedError

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="figures")
    async def _compute(self) -> None:
        await self.compute()
        self.show_progress("")

    def show_progress(self, progress: str) -> None:
        """Redraw the table with a progress message, empty when all figures are computed."""
        self._progress = progress
        self._redraw(self.list.cursor)

    def _redraw(self, cursor: int) -> None:
        self._choices = self.table()
        self._draw()
        self.list.move_cursor(cursor)

    def on_resize(self) -> None:
        if self._choices is not None:
            self._choices = self.table()
        super().on_resize()

    def action_scope(self) -> None:
        self.next_table()
        self._redraw(0)

    def action_take(self) -> None:
        """Open the items of the figure, if it has any."""
        if self._choices is not None and self._choices.values and self._choices.values[self.list.cursor]:
            super().action_take()


NONE = "nothing here has labels from two annotators"


class AgreementScreen(FiguresScreen, inherit_bindings=False):
    """Inter-annotator agreement, as a table for each scope."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(AGREEMENT, IN_FRONT)

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session, self._view = session, view
        self._scope: Scope = "overall"
        self._cells: dict[Scope, list[AgreementCell]] = {scope: [] for scope in SCOPES}

    async def compute(self) -> None:
        ratings = await self._session.ask(lambda store: store.told.agreement_rows(self._view), interruptible=True)
        groups = await asyncio.to_thread(_rating_groups, ratings)
        for at, group in enumerate(groups):
            self.show_progress(f"{at} of {len(groups)} groups computed")
            self._cells[group.scope] += await asyncio.to_thread(_agreement_cells, group)

    def table(self) -> Choices[tuple[int, ...]]:
        figures, cells = self._cells[self._scope], self.size.width
        rows = agreement_rows(figures, cells)
        return Choices(
            title=f"agreement {HEADINGS[self._scope]}",
            noun="figure",
            amount=len(figures),
            columns=agreement_columns(cells),
            rows=[row.parts for row in rows],
            values=[row.items for row in rows],
            empty=self._progress or NONE,
            note=self._progress,
        )

    def next_table(self) -> None:
        self._scope = SCOPES[(SCOPES.index(self._scope) + 1) % len(SCOPES)]


def _rating_groups(ratings: Sequence[Rating]) -> list[RatingGroup]:
    from fcreview.stats.agreement_summary import groups_of

    found = [group for given, some in apart(ratings).items() for group in groups_of(some, SCOPES, given)]
    return sorted(found, key=lambda group: SCOPES.index(group.scope))


def _agreement_cells(group: RatingGroup) -> Iterable[AgreementCell]:
    from fcreview.stats.agreement_summary import figures_of

    return [AgreementCell(figure, tuple(several(group, figure.annotators))) for figure in figures_of(group)]


BY_HAND = "no random sample: figures are for these items only"
Table = CalibrationScope | Literal["wrong"]


class CalibrationScreen(FiguresScreen, inherit_bindings=False):
    """Accuracy of checkers and judges against human labels, as a table for each scope and one of their errors."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(CALIBRATION, IN_FRONT)

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session, self._view = session, view
        self._tables: list[Table] = ["overall"]
        self._table: Table = "overall"
        self._groups: dict[CalibrationScope, list[CalibrationGroup]] = {}
        self._wrong: list[WrongKind] = []
        self._random = False
        """Whether any item was drawn at random."""

    async def compute(self) -> None:
        cases = await self._session.ask(lambda store: store.told.cases(self._view), interruptible=True)
        self._random = any(case.random for case in cases)
        scopes = reported_scopes(cases)
        for at, scope in enumerate(scopes):
            self.show_progress(f"{at} of {len(scopes)} tables computed")
            self._groups[scope] = await asyncio.to_thread(calibration_groups, cases, scope)
            if scope == "overall":
                self._wrong = await asyncio.to_thread(_wrong_kinds, cases)
                wrong: list[Table] = ["wrong"] if self._wrong else []
                self._tables = ["overall", *wrong, *scopes[1:]]

    def table(self) -> Choices[tuple[int, ...]]:
        wrong = self._table == "wrong"
        groups = [] if self._table == "wrong" else self._groups.get(self._table, [])
        rows = wrong_rows(self._wrong) if wrong else calibration_rows(groups)
        heading = "overall" if self._table == "overall" else "errors" if wrong else f"by {self._table}"
        return Choices(
            title=f"calibration {heading}",
            noun="kind" if wrong else "group",
            amount=len(self._wrong) if wrong else len(groups),
            columns=WRONG_COLUMNS if wrong else CALIBRATION_COLUMNS,
            rows=[row.parts for row in rows],
            values=[row.items for row in rows],
            empty=self._progress or CALIBRATION_NONE,
            note=self._progress or ("" if self._random or not rows else BY_HAND),
        )

    def next_table(self) -> None:
        self._table = self._tables[(self._tables.index(self._table) + 1) % len(self._tables)]


def _wrong_kinds(cases: Sequence[Case]) -> list[WrongKind]:
    from fcreview.stats.calibration_summary import wrong_kinds  # needs numpy

    return list(wrong_kinds(cases))
