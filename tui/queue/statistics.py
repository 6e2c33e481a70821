"""Figures of agreement and calibration as tables. Each row opens the items that its figure was computed from.

The figures come from `fcreview.stats.agreement` and `fcreview.stats.calibration`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_metric_value, format_verdict
from fcreview.stats.agreement import BlindStatus, group_key, format_coefficient_name, format_group_cells, format_value_and_interval
from fcreview.stats.calibration import MEASURE_LABELS, CALIBRATION_SCOPES, VerdictPair, CalibrationScope, group_verdict_pairs, format_selection_method, format_source_and_criterion, format_error
from fcreview.stats.calibration import format_measure as calibration_value_of
from fcreview.stats.intervals import wilson_interval
from fcreview.tui.text.lines import StyledText, TextColumn, truncate_middle
from fcreview.tui.text.theme import symbols

if TYPE_CHECKING:
    from fcreview.stats.agreement import AgreementCoefficient
    from fcreview.stats.calibration import Calibration, MeasureName, ErrorGroup


MISSING = "·"
"""Placeholder of `fcreview.stats` for a missing value."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    parts: list[StyledText]
    items: tuple[int, ...]
    """Items that the row opens; may be empty."""


def replace_missing(text: str) -> str:
    """The text, or the terminal's symbol for a missing value."""
    return symbols().none if text == MISSING else text


BLINDNESS_LABELS: dict[BlindStatus, str] = {"blind": "blind", "seen": "not blind", "unknown": "not known whether blind", "all": "all"}
LABELS_MIN_CELLS = 70
"""Width in cells from which the number of labels is shown."""


@dataclass(frozen=True, slots=True)
class AgreementCell:
    """An agreement figure and the items it was computed from."""

    figure: AgreementCoefficient
    items: tuple[int, ...]


def agreement_columns(cells: int) -> list[TextColumn]:
    made = [
        TextColumn("reviews and figure", truncate=truncate_middle, min_width=20),
        TextColumn("value", align_right=True, min_width=7),
        TextColumn("[95 %]", min_width=16),
        TextColumn("units", align_right=True),
    ]
    return [*made, TextColumn("labels", align_right=True)] if cells >= LABELS_MIN_CELLS else made


def agreement_rows(figures: Sequence[AgreementCell], cells: int) -> list[FigureRow]:
    """One row per figure, below the name of its group (blind or not, part of the item, criterion). The row of the name
    opens all items of the group."""
    between = f" {symbols().separator} "
    made: list[FigureRow] = []
    for key, group in groupby(figures, lambda cell: (cell.figure.given, group_key(cell.figure))):
        of = list(group)
        name = between.join([BLINDNESS_LABELS[key[0]], *format_group_cells([cell.figure for cell in figures], of[0].figure)])
        everybody = max((cell.figure.annotators for cell in of), key=len)
        made.append(FigureRow([(name, "strong")] + [("", "")] * (len(agreement_columns(cells)) - 1), of[0].items))
        made += [FigureRow(_figure_cells(cell.figure, everybody, cells), cell.items) for cell in of]
    return made


def _figure_cells(figure: AgreementCoefficient, everybody: tuple[str, ...], cells: int) -> list[StyledText]:
    pair = figure.metric == "cohen" or figure.annotators != everybody
    who = f"    {sanitize(', '.join(figure.annotators))}: " if pair else "  "
    value, interval = map(replace_missing, format_value_and_interval(figure))
    made: list[StyledText] = [
        (who + format_coefficient_name(figure), ""),
        (value, "strong"),
        (interval, "dim"),
        (f"{figure.n_units:,}", ""),
    ]
    return [*made, (f"{figure.n_labels:,}", "dim")] if cells >= LABELS_MIN_CELLS else made


CALIBRATION_COLUMNS = [
    TextColumn("source and figure", truncate=truncate_middle, min_width=20),
    TextColumn("value", align_right=True, min_width=7),
    TextColumn("[95 %]", min_width=13),
    TextColumn("n", align_right=True),
]
ERROR_KIND_COLUMNS = [
    TextColumn("source and kind of cases", truncate=truncate_middle, min_width=20),
    TextColumn("share", align_right=True, min_width=7),
    TextColumn("[95 %]", min_width=13),
    TextColumn("wrong", align_right=True, min_width=12),
]


@dataclass(frozen=True, slots=True)
class CalibrationGroup:
    """Figures of one source on one criterion and the cases they were computed from."""

    figures: Calibration
    cases: tuple[VerdictPair, ...]


def reported_scopes(cases: Iterable[VerdictPair]) -> list[CalibrationScope]:
    """`overall` and every scope with more than one group."""
    names: dict[CalibrationScope, set[str | None]] = {scope: set() for scope in CALIBRATION_SCOPES}
    for group in group_verdict_pairs(cases, CALIBRATION_SCOPES):
        names[group.scope].add(group.name)
    return [scope for scope in CALIBRATION_SCOPES if scope == "overall" or len(names[scope]) > 1]


def calibration_groups(cases: Iterable[VerdictPair], scope: CalibrationScope) -> list[CalibrationGroup]:
    from fcreview.stats.calibration_summary import calibrate_group

    return [CalibrationGroup(calibrate_group(group), group.pairs) for group in group_verdict_pairs(cases, (scope,))]


def calibration_rows(groups: Sequence[CalibrationGroup]) -> list[FigureRow]:
    """For each group its name, which opens all its cases, its confusion matrix and its figures."""
    return [row for group in groups for row in _group_rows(group)]


def _group_rows(group: CalibrationGroup) -> Iterator[FigureRow]:
    figures = group.figures
    between = f" {symbols().separator} "
    place = [] if figures.name is None else [sanitize(figures.name)]
    name = between.join([*place, *format_source_and_criterion(figures), format_selection_method(figures)])
    yield _figure_row(name, _unique_items(group.cases), n=figures.n, style="strong")
    for cell in figures.cells:
        said, settled = (format_verdict(each, figures.criterion) for each in (cell.automatic, cell.human))
        wrong = "" if said == settled else "fail"
        yield _figure_row(f"  says {said}, people {settled}", cell.items, n=cell.n, style=wrong)
    for rate in sorted(figures.rates, key=lambda rate: list(MEASURE_LABELS).index(rate.metric)):
        value, interval = map(replace_missing, calibration_value_of(rate))
        of = _unique_items(case for case in group.cases if _is_counted(case, rate.metric))
        yield _figure_row(f"    {MEASURE_LABELS[rate.metric]}", of, value, interval, n=rate.n)


def _figure_row(
    name: str, items: tuple[int, ...], value: str = "", interval: str = "", *, n: int, style: str = ""
) -> FigureRow:
    parts: list[StyledText] = [(name, style), (value, "strong"), (interval, "dim"), (f"{n:,}", "")]
    return FigureRow(parts, items)


def _is_counted(case: VerdictPair, metric: MeasureName) -> bool:
    """Whether the case is in the denominator of the metric."""
    if metric in ("tpr", "tnr"):
        return case.human is (metric == "tpr")
    return metric != "precision" or case.automatic is True


def _unique_items(cases: Iterable[VerdictPair]) -> tuple[int, ...]:
    """Items without duplicates, in order."""
    return tuple(dict.fromkeys(case.item for case in cases))


def error_kind_rows(kinds: Sequence[ErrorGroup]) -> list[FigureRow]:
    """For each source its kinds of wrong verdicts, the most frequent first, below a row that opens all of them."""
    made: list[FigureRow] = []
    between = f" {symbols().separator} "
    for name, found in groupby(kinds, format_source_and_criterion):
        of = sorted(found, key=lambda kind: -kind.wrong)
        items = tuple(dict.fromkeys(item for kind in of for item in kind.items))
        made.append(FigureRow([(between.join(name), "strong"), ("", ""), ("", ""), ("", "")], items))
        for kind in of:
            low, high = wilson_interval(kind.wrong, kind.of) or (0.0, 1.0)
            parts: list[StyledText] = [
                (f"  {kind.by} {sanitize(kind.name)}: says {format_error(kind)}", ""),
                (format_metric_value(kind.wrong / kind.of, "share"), "strong"),
                (f"[{100 * low:.1f}, {100 * high:.1f}]", "dim"),
                (f"{kind.wrong:,} of {kind.of:,}", ""),
            ]
            made.append(FigureRow(parts, kind.items))
    return made
