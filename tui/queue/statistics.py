"""Build the tables of agreement and calibration. Choosing a row opens the items that its value is computed from.

`fcreview.stats.agreement_ratings` and `fcreview.stats.calibration_pairs` compute the statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_metric_value, format_verdict
from fcreview.stats.agreement_ratings import (
    BlindStatus,
    format_coefficient_name,
    format_group_cells,
    format_value_and_interval,
    group_key,
)
from fcreview.stats.calibration_pairs import (
    CALIBRATION_SCOPES,
    MEASURE_LABELS,
    CalibrationScope,
    VerdictPair,
    format_error,
    format_measure,
    format_selection_method,
    format_source_and_criterion,
    group_verdict_pairs,
)
from fcreview.stats.intervals import wilson_interval
from fcreview.tui.text.graphics import interval_bar
from fcreview.tui.text.lines import (
    ChoiceTable,
    Line,
    StyledText,
    TextColumn,
    line_width,
    replace_missing,
    truncate_middle,
)
from fcreview.tui.text.theme import symbols

if TYPE_CHECKING:
    from fcreview.stats.agreement_ratings import AgreementCoefficient, CoefficientName
    from fcreview.stats.calibration_pairs import (
        Calibration,
        ConfusionCell,
        ErrorGroup,
        MeasureName,
        SelectionMethod,
    )


EMPTY_CELL: StyledText = ("", "")
Interval = tuple[float, float, float]
"""(lower end, value, upper end)."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """Row of a statistics table: a group, or a statistic of the group."""

    cells: list[StyledText]
    items: tuple[int, ...]
    """Numbers of the items that open when the row is chosen. Empty if the row opens nothing."""
    interval: Interval | None = None
    explanation: str = ""
    """Sentence that explains the statistic. Empty if there is none."""
    group: int = 0
    """Index of the group that the row belongs to."""
    cell: ConfusionCell | None = None
    """Cell of a confusion matrix that the row shows."""


WHISKER_CELLS = (12, 60)
"""Smallest and largest width of the line with an interval, in cells."""


@dataclass(slots=True)
class FigureTable(ChoiceTable[tuple[int, ...]]):
    """Table of statistics. If there is room, each interval is drawn at the right, on a common scale up to 1."""

    intervals: Sequence[Interval | None] = ()

    def lines(self, cells: int) -> tuple[Line, list[Line]]:
        heading, lines = ChoiceTable.lines(self, cells)
        used = max(map(line_width, (heading, *lines))) + 2
        width = min(cells - used - 1, WHISKER_CELLS[1])
        if not any(self.intervals) or width < WHISKER_CELLS[0]:
            return heading, lines
        lowest = min(0.0, *(each[0] for each in self.intervals if each))
        scale = f"{lowest:.1f}".rstrip("0").rstrip(".")
        titles: Line = ((" " * (used - line_width(heading)) + scale + "1".rjust(width - len(scale)), "dim"),)
        drawn: list[Line] = []
        for line, interval in zip(lines, self.intervals, strict=True):
            bar = interval_bar(*interval, (lowest, 1.0), width) if interval else ()
            drawn.append((*line, (" " * (used - line_width(line) - 1), ""), *bar))
        return (*heading, *titles), drawn


def make_interval(low: float | None, value: float | None, high: float | None) -> Interval | None:
    return (low, value, high) if low is not None and value is not None and high is not None else None


BLINDNESS_LABELS: dict[BlindStatus, str] = {
    "blind": "blind",
    "seen": "not blind",
    "unknown": "unknown if blind",
    "all": "all",
}
LABELS_MIN_CELLS = 100
"""Minimum width of the table, in cells, for showing the number of labels."""


CHANCE = "0 means agreement by chance, 1 full agreement"
COEFFICIENT_MEANINGS: dict[CoefficientName, str] = {
    "percent": "percentage of label pairs that are equal, averaged over units",
    "fleiss": f"{CHANCE}; uses units with the most common number of labels",
    "alpha": f"{CHANCE}; uses all units with at least two labels",
    "ac1": f"{CHANCE}; also suitable if nearly all items pass",
    "cohen": f"{CHANCE}; uses the labels of two annotators",
}


@dataclass(frozen=True, slots=True)
class AgreementCell:
    """Agreement coefficient and the items that it is computed from."""

    coefficient: AgreementCoefficient
    items: tuple[int, ...]


def agreement_columns(cells: int) -> list[TextColumn]:
    """Return the columns of the agreement table for a table that is `cells` wide."""
    columns = [
        TextColumn("reviews and coefficient", truncate=truncate_middle, min_width=20),
        TextColumn("value", align_right=True, min_width=7),
        TextColumn("[95 %]", min_width=16),
        TextColumn("units", align_right=True),
    ]
    return [*columns, TextColumn("labels", align_right=True)] if cells >= LABELS_MIN_CELLS else columns


def agreement_rows(figures: Sequence[AgreementCell], cells: int) -> list[FigureRow]:
    """Return one row for each group, followed by the rows of its coefficients. The row of a group opens all its items.

    A group is one combination of blind or open review, part of the item, and criterion.
    """
    separator = f" {symbols().separator} "
    rows: list[FigureRow] = []
    coefficients = [each.coefficient for each in figures]
    for at, members in enumerate(agreement_groups(figures)):
        given = members[0].coefficient.given
        names = [BLINDNESS_LABELS[given], *format_group_cells(coefficients, members[0].coefficient)]
        annotators = max((each.coefficient.annotators for each in members), key=len)
        heading = [(separator.join(names), "strong"), *[EMPTY_CELL] * (len(agreement_columns(cells)) - 1)]
        counts = f"{format_count(len(members[0].items), 'item')} with labels of at least two annotators"
        rows.append(FigureRow(heading, members[0].items, explanation=counts, group=at))
        for each in members:
            figure = each.coefficient
            interval = make_interval(figure.low, figure.value, figure.high)
            texts, meaning = _coefficient_cells(figure, annotators, cells), COEFFICIENT_MEANINGS[figure.metric]
            rows.append(FigureRow(texts, each.items, interval, meaning, at))
    return rows


def agreement_groups(figures: Iterable[AgreementCell]) -> list[list[AgreementCell]]:
    """Return the figures of each combination of blind or open review, part of the items, and criterion."""
    groups = groupby(figures, lambda each: (each.coefficient.given, group_key(each.coefficient)))
    return [list(members) for _, members in groups]


def _coefficient_cells(
    coefficient: AgreementCoefficient, group_annotators: tuple[str, ...], cells: int
) -> list[StyledText]:
    names_annotators = coefficient.metric == "cohen" or coefficient.annotators != group_annotators
    prefix = f"  {sanitize(', '.join(coefficient.annotators))}: " if names_annotators else "  "
    value, interval = map(replace_missing, format_value_and_interval(coefficient))
    row: list[StyledText] = [
        (prefix + format_coefficient_name(coefficient), ""),
        (value, "strong"),
        (interval, "dim"),
        (f"{coefficient.n_units:,}", ""),
    ]
    return [*row, (f"{coefficient.n_labels:,}", "dim")] if cells >= LABELS_MIN_CELLS else row


CALIBRATION_COLUMNS = [
    TextColumn("source and measure", truncate=truncate_middle, min_width=20),
    TextColumn("value", align_right=True, min_width=7),
    TextColumn("[95 %]", min_width=13),
    TextColumn("n", align_right=True),
]
ERROR_KIND_COLUMNS = [
    TextColumn("source and kind of item", truncate=truncate_middle, min_width=20),
    TextColumn("automatic", min_width=16),
    TextColumn("share", align_right=True, min_width=7),
    TextColumn("[95 %]", min_width=13),
    TextColumn("wrong", align_right=True, min_width=12),
]


@dataclass(frozen=True, slots=True)
class CalibrationGroup:
    """Calibration of one source on one criterion, and the verdict pairs that it is computed from."""

    calibration: Calibration
    pairs: tuple[VerdictPair, ...]


def reported_scopes(pairs: Iterable[VerdictPair]) -> list[CalibrationScope]:
    """Return the scope `overall` and every other scope that divides the verdict pairs into more than one group."""
    names: dict[CalibrationScope, set[str | None]] = {scope: set() for scope in CALIBRATION_SCOPES}
    for group in group_verdict_pairs(pairs, CALIBRATION_SCOPES):
        names[group.scope].add(group.name)
    return [scope for scope in CALIBRATION_SCOPES if scope == "overall" or len(names[scope]) > 1]


def calibration_groups(pairs: Iterable[VerdictPair], scope: CalibrationScope) -> list[CalibrationGroup]:
    from fcreview.stats.calibration import calibrate_group

    return [CalibrationGroup(calibrate_group(group), group.pairs) for group in group_verdict_pairs(pairs, (scope,))]


def calibration_rows(groups: Sequence[CalibrationGroup]) -> list[FigureRow]:
    """Return the rows of each group: a row that opens all its items, its confusion matrix, and its measures."""
    return [replace(row, group=at) for at, group in enumerate(groups) for row in _group_rows(group)]


SELECTIONS: dict[SelectionMethod, str] = {
    "random": "all items are from a random sample",
    "by hand": "items chosen by hand: the measures describe these items only",
    "both": "some items are from a random sample, the others were chosen by hand",
}


def _group_rows(group: CalibrationGroup) -> Iterator[FigureRow]:
    calibration = group.calibration
    names = [] if calibration.name is None else [sanitize(calibration.name)]
    names += [*format_source_and_criterion(calibration), format_selection_method(calibration)]
    heading = f" {symbols().separator} ".join(names)
    row = _figure_row(heading, _unique_items(group.pairs), n=calibration.n, style="strong")
    yield replace(row, explanation=SELECTIONS[calibration.chosen])
    source = format_source_and_criterion(calibration)[0]
    for cell in calibration.cells:
        automatic, human = (format_verdict(each, calibration.criterion) for each in (cell.automatic, cell.human))
        style = "" if automatic == human else "fail"
        row = _figure_row(f"  automatic {automatic}, human {human}", cell.items, n=cell.n, style=style)
        meaning = f"{source} verdict {automatic}, human verdict {human}: {cell.n:,} of {calibration.n:,} pairs"
        yield replace(row, cell=cell, explanation=meaning)
    for rate in sorted(calibration.rates, key=lambda rate: list(MEASURE_LABELS).index(rate.metric)):
        value, interval = map(replace_missing, format_measure(rate))
        items = _unique_items(pair for pair in group.pairs if _is_counted(pair, rate.metric))
        row = _figure_row(f"  {MEASURE_LABELS[rate.metric]}", items, value, interval, n=rate.n)
        meaning = _explain_measure(calibration, rate.metric, source)
        yield replace(row, interval=make_interval(rate.low, rate.value, rate.high), explanation=meaning)


def _explain_measure(calibration: Calibration, measure: MeasureName, source: str) -> str:
    """Return a sentence that explains a measure: `official verdict is pass on 26 of the 27 with human verdict pass`."""
    passed, failed = (format_verdict(value, calibration.criterion) for value in (True, False))

    def count(automatic: bool | None, human: bool | None) -> int:
        return sum(
            cell.n for cell in calibration.cells if automatic in (None, cell.automatic) and human in (None, cell.human)
        )

    if measure in ("tpr", "tnr"):
        value = measure == "tpr"
        word = passed if value else failed
        equal, total = count(value, value), count(None, value)
        return f"{source} verdict is {word} on {equal:,} of the {total:,} with human verdict {word}"
    if measure == "precision":
        total = count(True, None)
        return f"human verdict is {passed} on {count(True, True):,} of the {total:,} with {source} verdict {passed}"
    if measure == "agreement":
        equal = sum(cell.n for cell in calibration.cells if cell.automatic == cell.human)
        return f"{source} and human verdict are equal in {equal:,} of {calibration.n:,} pairs"
    return "harmonic mean of TPR and precision" if measure == "f1" else f"agreement beyond chance: {CHANCE}"


def _figure_row(
    name: str, items: tuple[int, ...], value: str = "", interval: str = "", *, n: int, style: str = ""
) -> FigureRow:
    return FigureRow([(name, style), (value, "strong"), (interval, "dim"), (f"{n:,}", "")], items)


def _is_counted(pair: VerdictPair, measure: MeasureName) -> bool:
    if measure in ("tpr", "tnr"):
        return pair.human is (measure == "tpr")
    return measure != "precision" or pair.automatic is True


def _unique_items(pairs: Iterable[VerdictPair]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(pair.item for pair in pairs))


def error_kind_rows(error_groups: Sequence[ErrorGroup]) -> list[FigureRow]:
    """Return the rows of each source: a row that opens all items with a wrong verdict, then the kinds of error by
    frequency."""
    rows: list[FigureRow] = []
    for names, group in groupby(error_groups, format_source_and_criterion):
        kinds = sorted(group, key=lambda kind: -kind.wrong)
        items = tuple(dict.fromkeys(item for kind in kinds for item in kind.items))
        heading = f" {symbols().separator} ".join(names)
        rows.append(FigureRow([(heading, "strong"), *[EMPTY_CELL] * (len(ERROR_KIND_COLUMNS) - 1)], items))
        for kind in kinds:
            low, high = wilson_interval(kind.wrong, kind.of) or (0.0, 1.0)
            cells: list[StyledText] = [
                (f"  {kind.by} {sanitize(kind.name)}", ""),
                (format_error(kind), ""),
                (format_metric_value(kind.wrong / kind.of, "share"), "strong"),
                (f"[{100 * low:.1f}, {100 * high:.1f}]", "dim"),
                (f"{kind.wrong:,} of {kind.of:,}", ""),
            ]
            rows.append(FigureRow(cells, kind.items, (low, kind.wrong / kind.of, high)))
    return rows
