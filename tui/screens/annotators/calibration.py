"""How far automatic verdicts can be believed: the figures of `fcreview calibrate`, each of which opens its items."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import BindingType

from fcreview.calibration.cases import Case, Scope
from fcreview.calibration.wording import NONE
from fcreview.store.rows import View
from fcreview.tui.figures.calibration import COLUMNS, WRONG_COLUMNS, Group, grouped, rows, told_scopes, wrong_rows
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import CALIBRATION, IN_FRONT
from fcreview.tui.screens.annotators.figures import FiguresScreen
from fcreview.tui.text.choices import Choices

if TYPE_CHECKING:
    from fcreview.calibration.summary import WrongKind
    from fcreview.tui.session import Session

BY_HAND = "chosen by hand: of these cases only"
Table = Scope | Literal["wrong"]


class CalibrationScreen(FiguresScreen, inherit_bindings=False):
    BINDINGS: ClassVar[list[BindingType]] = bindings(CALIBRATION, IN_FRONT)

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session, self._view = session, view
        self._tables: list[Table] = ["overall"]
        self._table: Table = "overall"
        self._groups: dict[Scope, list[Group]] = {}
        self._wrong: list[WrongKind] = []
        self._random = False
        """Whether anything was drawn at random."""

    async def compute(self) -> None:
        cases = await self._session.ask(lambda store: store.told.cases(self._view), leavable=True)
        self._random = any(case.random for case in cases)
        scopes = told_scopes(cases)
        for at, scope in enumerate(scopes):
            self.show_progress(f"{at} of {len(scopes)} tables computed")
            self._groups[scope] = await asyncio.to_thread(grouped, cases, scope)
            if scope == "overall":
                self._wrong = await asyncio.to_thread(_wrong_kinds, cases)
                wrong: list[Table] = ["wrong"] if self._wrong else []
                self._tables = ["overall", *wrong, *scopes[1:]]

    def table(self) -> Choices[tuple[int, ...]]:
        wrong = self._table == "wrong"
        groups = [] if self._table == "wrong" else self._groups.get(self._table, [])
        made = wrong_rows(self._wrong) if wrong else rows(groups)
        where = "overall" if self._table == "overall" else "where it is wrong" if wrong else f"by {self._table}"
        return Choices(
            title=f"calibration {where}",
            noun="kind" if wrong else "group",
            amount=len(self._wrong) if wrong else len(groups),
            columns=WRONG_COLUMNS if wrong else COLUMNS,
            rows=[row.parts for row in made],
            values=[row.items for row in made],
            empty=self._progress or NONE,
            note=self._progress or ("" if self._random or not made else BY_HAND),
        )

    def next_table(self) -> None:
        self._table = self._tables[(self._tables.index(self._table) + 1) % len(self._tables)]


def _wrong_kinds(cases: Sequence[Case]) -> list[WrongKind]:
    from fcreview.calibration.summary import wrong_kinds  # needs numpy

    return list(wrong_kinds(cases))
