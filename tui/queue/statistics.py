"""Figures of agreement and calibration as tables. Each row opens the items that its figure was computed from.

The figures come from `fcreview.stats.agreement` and `fcreview.stats.calibration`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.model.sanitize import visible
from fcreview.model.wording import number, word
from fcreview.stats.agreement import Given, group_of, name_of, places, value_of
from fcreview.stats.calibration import METRICS, SCOPES, Case, Scope, case_groups, chosen, named, said_of
from fcreview.stats.calibration import value_of as calibration_value_of
from fcreview.stats.intervals import wilson
from fcreview.tui.text.lines import Column, Part, cut_middle
from fcreview.tui.text.theme import symbols

if TYPE_CHECKING:
    from fcreview.stats.agreement import AgreementFigure
    from fcreview.stats.calibration import Calibration, Metric, WrongKind


NONE = "·"
"""Placeholder of `fcreview.stats` for a missing value."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    parts: list[Part]
    items: tuple[int, ...]
    """Items that the row opens; may be empty."""


def to_symbol(text: str) -> str:
    """The text, or the terminal's symbol for a missing value."""
    return symbols().none if text == NONE else text


GIVEN: dict[Given, str] = {"blind": "blind", "seen": "not blind", "unknown": "not known whether blind", "all": "all"}
LABELS_FROM = 70
"""Width in cells from which the number of labels is shown."""


@dataclass(frozen=True, slots=True)
class AgreementCell:
    """An agreement figure and the items it was computed from."""

    figure: AgreementFigure
    items: tuple[int, ...]


def agreement_columns(cells: int) -> list[Column]:
    made = [
        Column("reviews and figure", cut=cut_middle, least=20),
        Column("value", right=True, least=7),
        Column("[95 %]", least=16),
        Column("units", right=True),
    ]
    return [*made, Column("labels", right=True)] if cells >= LABELS_FROM else made


def agreement_rows(found: Sequence[AgreementCell], cells: int) -> list[FigureRow]:
    """One row per figure, below the name of its group (blind or not, part of the item, criterion). The row of the name
    opens all items of the group."""
    between = f" {symbols().between} "
    made: list[FigureRow] = []
    for key, group in groupby(found, lambda cell: (cell.figure.given, group_of(cell.figure))):
        of = list(group)
        name = between.join([GIVEN[key[0]], *places([cell.figure for cell in found], of[0].figure)])
        everybody = max((cell.figure.annotators for cell in of), key=len)
        made.append(FigureRow([(name, "strong")] + [("", "")] * (len(agreement_columns(cells)) - 1), of[0].items))
        made += [FigureRow(_parts(cell.figure, everybody, cells), cell.items) for cell in of]
    return made


def _parts(figure: AgreementFigure, everybody: tuple[str, ...], cells: int) -> list[Part]:
    pair = figure.metric == "cohen" or figure.annotators != everybody
    who = f"    {visible(', '.join(figure.annotators))}: " if pair else "  "
    value, interval = map(to_symbol, value_of(figure))
    made: list[Part] = [(who + name_of(figure), ""), (value, "strong"), (interval, "dim"), (f"{figure.n_units:,}", "")]
    return [*made, (f"{figure.n_labels:,}", "dim")] if cells >= LABELS_FROM else made


CALIBRATION_COLUMNS = [
    Column("source and figure", cut=cut_middle, least=20),
    Column("value", right=True, least=7),
    Column("[95 %]", least=13),
    Column("n", right=True),
]
WRONG_COLUMNS = [
    Column("source and kind of cases", cut=cut_middle, least=20),
    Column("share", right=True, least=7),
    Column("[95 %]", least=13),
    Column("wrong", right=True, least=12),
]


@dataclass(frozen=True, slots=True)
class CalibrationGroup:
    """Figures of one source on one criterion and the cases they were computed from."""

    figures: Calibration
    cases: tuple[Case, ...]


def reported_scopes(cases: Iterable[Case]) -> list[Scope]:
    """`overall` and every scope with more than one group."""
    names: dict[Scope, set[str | None]] = {scope: set() for scope in SCOPES}
    for group in case_groups(cases, SCOPES):
        names[group.scope].add(group.name)
    return [scope for scope in SCOPES if scope == "overall" or len(names[scope]) > 1]


def calibration_groups(cases: Iterable[Case], scope: Scope) -> list[CalibrationGroup]:
    from fcreview.stats.calibration_summary import calibrated

    return [CalibrationGroup(calibrated(group), group.cases) for group in case_groups(cases, (scope,))]


def calibration_rows(found: Sequence[CalibrationGroup]) -> list[FigureRow]:
    """For each group its name, which opens all its cases, its confusion matrix and its figures."""
    return [row for group in found for row in _rows(group)]


def _rows(group: CalibrationGroup) -> Iterator[FigureRow]:
    figures = group.figures
    between = f" {symbols().between} "
    place = [] if figures.name is None else [visible(figures.name)]
    name = between.join([*place, *named(figures), chosen(figures)])
    yield _row(name, _items(group.cases), n=figures.n, style="strong")
    for cell in figures.cells:
        said, settled = (word(each, figures.criterion) for each in (cell.said, cell.settled))
        wrong = "" if said == settled else "fail"
        yield _row(f"  says {said}, people {settled}", cell.items, n=cell.n, style=wrong)
    for rate in sorted(figures.rates, key=lambda rate: list(METRICS).index(rate.metric)):
        value, interval = map(to_symbol, calibration_value_of(rate))
        of = _items(case for case in group.cases if _counts(case, rate.metric))
        yield _row(f"    {METRICS[rate.metric]}", of, value, interval, n=rate.n)


def _row(
    name: str, items: tuple[int, ...], value: str = "", interval: str = "", *, n: int, style: str = ""
) -> FigureRow:
    parts: list[Part] = [(name, style), (value, "strong"), (interval, "dim"), (f"{n:,}", "")]
    return FigureRow(parts, items)


def _counts(case: Case, metric: Metric) -> bool:
    """Whether the case is in the denominator of the metric."""
    if metric in ("tpr", "tnr"):
        return case.settled is (metric == "tpr")
    return metric != "precision" or case.said is True


def _items(cases: Iterable[Case]) -> tuple[int, ...]:
    """Items without duplicates, in order."""
    return tuple(dict.fromkeys(case.item for case in cases))


def wrong_rows(kinds: Sequence[WrongKind]) -> list[FigureRow]:
    """For each source its kinds of wrong verdicts, the most frequent first, below a row that opens all of them."""
    made: list[FigureRow] = []
    between = f" {symbols().between} "
    for name, found in groupby(kinds, named):
        of = sorted(found, key=lambda kind: -kind.wrong)
        items = tuple(dict.fromkeys(item for kind in of for item in kind.items))
        made.append(FigureRow([(between.join(name), "strong"), ("", ""), ("", ""), ("", "")], items))
        for kind in of:
            low, high = wilson(kind.wrong, kind.of) or (0.0, 1.0)
            parts: list[Part] = [
                (f"  {kind.by} {visible(kind.name)}: says {said_of(kind)}", ""),
                (number(kind.wrong / kind.of, "share"), "strong"),
                (f"[{100 * low:.1f}, {100 * high:.1f}]", "dim"),
                (f"{kind.wrong:,} of {kind.of:,}", ""),
            ]
            made.append(FigureRow(parts, kind.items))
    return made
