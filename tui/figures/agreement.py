"""Figures of agreement as rows of a table to choose from. Pure; the figures come from `fcreview.agreement`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.agreement.ratings import Given
from fcreview.agreement.wording import group_of, name_of, places, value_of
from fcreview.sanitise import visible
from fcreview.tui.figures.rows import Row, shown
from fcreview.tui.text.format import cut_middle
from fcreview.tui.text.lines import Part
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import symbols

if TYPE_CHECKING:
    from fcreview.agreement.summary import AgreementFigure

GIVEN: dict[Given, str] = {"blind": "blind", "seen": "not blind", "unknown": "not known whether blind", "all": "all"}
LABELS_FROM = 70
"""Cells from which the number of labels is shown."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure, and the items it was made from."""

    figure: AgreementFigure
    items: tuple[int, ...]


def columns(cells: int) -> list[Column]:
    made = [
        Column("reviews and figure", cut=cut_middle, least=20),
        Column("value", right=True, least=7),
        Column("[95 %]", least=16),
        Column("units", right=True),
    ]
    return [*made, Column("labels", right=True)] if cells >= LABELS_FROM else made


def rows(found: Sequence[Cell], cells: int) -> list[Row]:
    """A row a figure; those of one group (how reviews were given, where, on which criterion) below its name. The name
    stands for all of the group's items."""
    between = f" {symbols().between} "
    made: list[Row] = []
    for key, group in groupby(found, lambda cell: (cell.figure.given, group_of(cell.figure))):
        of = list(group)
        name = between.join([GIVEN[key[0]], *places([cell.figure for cell in found], of[0].figure)])
        everybody = max((cell.figure.annotators for cell in of), key=len)
        made.append(Row([(name, "strong")] + [("", "")] * (len(columns(cells)) - 1), of[0].items))
        made += [Row(_parts(cell.figure, everybody, cells), cell.items) for cell in of]
    return made


def _parts(figure: AgreementFigure, everybody: tuple[str, ...], cells: int) -> list[Part]:
    pair = figure.metric == "cohen" or figure.annotators != everybody
    who = f"    {visible(', '.join(figure.annotators))}: " if pair else "  "
    value, interval = map(shown, value_of(figure))
    made: list[Part] = [(who + name_of(figure), ""), (value, "strong"), (interval, "dim"), (f"{figure.n_units:,}", "")]
    return [*made, (f"{figure.n_labels:,}", "dim")] if cells >= LABELS_FROM else made
