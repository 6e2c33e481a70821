"""How far annotators agree: the figures of `fcreview agreement`, each of which opens the items it was made from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from fcreview.agreement.ratings import SCOPES, Rating, Scope, apart, several
from fcreview.agreement.wording import HEADINGS
from fcreview.store.rows import View
from fcreview.tui.figures.agreement import Cell, columns, rows
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import AGREEMENT, IN_FRONT
from fcreview.tui.screens.annotators.figures import FiguresScreen
from fcreview.tui.text.choices import Choices

if TYPE_CHECKING:
    from fcreview.agreement.ratings import RatingGroup
    from fcreview.tui.session import Session

NONE = "no target has labels of two annotators here"


class AgreementScreen(FiguresScreen, inherit_bindings=False):
    BINDINGS: ClassVar[list[BindingType]] = bindings(AGREEMENT, IN_FRONT)

    def __init__(self, session: Session, view: View) -> None:
        super().__init__()
        self._session, self._view = session, view
        self._scope: Scope = "overall"
        self._cells: dict[Scope, list[Cell]] = {scope: [] for scope in SCOPES}

    async def compute(self) -> None:
        ratings = await self._session.ask(lambda store: store.told.agreement_rows(self._view), leavable=True)
        groups = await asyncio.to_thread(_groups, ratings)
        for at, group in enumerate(groups):
            self.show_progress(f"{at} of {len(groups)} groups computed")
            self._cells[group.scope] += await asyncio.to_thread(_cells, group)

    def table(self) -> Choices[tuple[int, ...]]:
        found, cells = self._cells[self._scope], self.size.width
        made = rows(found, cells)
        return Choices(
            title=f"agreement {HEADINGS[self._scope]}",
            noun="figure",
            amount=len(found),
            columns=columns(cells),
            rows=[row.parts for row in made],
            values=[row.items for row in made],
            empty=self._progress or NONE,
            note=self._progress,
        )

    def next_table(self) -> None:
        self._scope = SCOPES[(SCOPES.index(self._scope) + 1) % len(SCOPES)]


def _groups(ratings: Sequence[Rating]) -> list[RatingGroup]:
    from fcreview.agreement.summary import groups_of

    found = [group for given, said in apart(ratings).items() for group in groups_of(said, SCOPES, given)]
    return sorted(found, key=lambda group: SCOPES.index(group.scope))


def _cells(group: RatingGroup) -> Iterable[Cell]:
    from fcreview.agreement.summary import figures_of

    return [Cell(figure, tuple(several(group, figure.annotators))) for figure in figures_of(group)]
