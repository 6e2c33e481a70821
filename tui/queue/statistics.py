"""Build the tables of agreement, calibration and conventions, whose rows open items.

`fcreview.stats` computes the statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_count, format_metric_value, format_verdict
from fcreview.stats.agreement_ratings import (
    PAIR_COEFFICIENTS,
    BlindStatus,
    format_coefficient_name,
    format_group_cells,
    format_value_and_interval,
    get_group_key,
)
from fcreview.stats.calibration import (
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
from fcreview.stats.conventions import (
    RunConventions,
    find_spreads,
    format_convention_without_incidents,
)
from fcreview.stats.intervals import compute_wilson_interval
from fcreview.tui.text.graphics import heat_cell, interval_bar, join_boxes
from fcreview.tui.text.lines import (
    ChoiceTable,
    Line,
    StyledText,
    TableLines,
    TextColumn,
    line_width,
    make_line,
    replace_missing_value_sign,
    truncate,
    truncate_middle,
)
from fcreview.tui.text.styles import HEAT, symbols

if TYPE_CHECKING:
    from fcreview.stats.agreement_ratings import AgreementCoefficient, CoefficientName
    from fcreview.stats.calibration import (
        Calibration,
        ConfusionCell,
        ErrorGroup,
        MeasureName,
        SelectionMethod,
    )


EMPTY_CELL: StyledText = ("", "")
Interval = tuple[float, float, float]
"""(low, value, high)"""


@dataclass(frozen=True, slots=True)
class StatisticsRow:
    """Row of a statistics table, for a group or for one statistic of a group."""

    cells: list[StyledText]
    items: tuple[int, ...]
    """Numbers of the items that open when the user chooses the row. Empty if no items open."""
    interval: Interval | None = None
    explanation: str = ""
    group: int = 0
    """Index of the group."""
    cell: ConfusionCell | None = None
    """Cell of the confusion matrix to which the row belongs, if any."""


WHISKER_CELLS = (12, 60)
"""Minimum and maximum width, in cells, of the drawn intervals."""


@dataclass(slots=True)
class StatisticsTable(ChoiceTable[tuple[int, ...]]):
    """Table of statistics.

    If there is room, intervals are drawn at the right, on a common scale up to 1.
    """

    intervals: Sequence[Interval | None] = ()

    def lines(self, cells: int) -> TableLines:
        heading, lines = ChoiceTable.lines(self, cells)
        used = max(map(line_width, (heading, *lines))) + 2
        width = min(cells - used - 1, WHISKER_CELLS[1])
        if not any(self.intervals) or width < WHISKER_CELLS[0]:
            return TableLines(heading, lines)
        lowest = min(0.0, *(each[0] for each in self.intervals if each))
        scale = f"{lowest:.1f}".rstrip("0").rstrip(".")
        titles: Line = (
            (" " * (used - line_width(heading)) + scale + "1".rjust(width - len(scale)), "dim"),
        )
        drawn: list[Line] = []
        for line, interval in zip(lines, self.intervals, strict=True):
            bar = interval_bar(*interval, (lowest, 1.0), width) if interval else ()
            drawn.append((*line, (" " * (used - line_width(line) - 1), ""), *bar))
        return TableLines((*heading, *titles), drawn)


def make_complete_interval(
    low: float | None, value: float | None, high: float | None
) -> Interval | None:
    """Return an interval, or None if a part is missing."""
    return (
        (low, value, high) if low is not None and value is not None and high is not None else None
    )


BLINDNESS_LABELS: dict[BlindStatus, str] = {
    "blind": "blind",
    "seen": "not blind",
    "unknown": "unknown whether blind",
    "all": "all",
}
LABELS_MIN_CELLS = 100


CHANCE = "0 means chance agreement, 1 means full agreement"
COEFFICIENT_MEANINGS: dict[CoefficientName, str] = {
    "percent": "percentage of label pairs that are equal, averaged over units",
    "fleiss": f"{CHANCE}; uses units with the most common number of labels",
    "alpha": f"{CHANCE}; uses all units with at least two labels",
    "ac1": f"{CHANCE}; also suitable if nearly all items pass",
    "ac2": f"{CHANCE}; a score that differs by one counts less than one that differs by two",
    "cohen": f"{CHANCE}; uses the labels of two annotators",
    "weighted": f"{CHANCE}; uses the scores of two annotators, with quadratic weights",
}


@dataclass(frozen=True, slots=True)
class AgreementStatistic:
    """Agreement coefficient with the items from which it is computed."""

    coefficient: AgreementCoefficient
    items: tuple[int, ...]


def choose_agreement_columns(width: int) -> list[TextColumn]:
    columns = [
        TextColumn("group and coefficient", truncate=truncate_middle, min_width=20),
        TextColumn("value", align_right=True, min_width=7),
        TextColumn("[95 %]", min_width=16),
        TextColumn("units", align_right=True),
    ]
    return (
        [*columns, TextColumn("labels", align_right=True)] if width >= LABELS_MIN_CELLS else columns
    )


def build_agreement_rows(
    statistics: Sequence[AgreementStatistic], width: int
) -> list[StatisticsRow]:
    """Return the rows of each group: a row that opens its items, and a row for each coefficient."""
    separator = f" {symbols().separator} "
    rows: list[StatisticsRow] = []
    coefficients = [each.coefficient for each in statistics]
    for at, members in enumerate(group_agreement_statistics(statistics)):
        given = members[0].coefficient.given
        names = [BLINDNESS_LABELS[given], *format_group_cells(coefficients, members[0].coefficient)]
        annotators = max((each.coefficient.annotators for each in members), key=len)
        heading = [
            (separator.join(names), "strong"),
            *[EMPTY_CELL] * (len(choose_agreement_columns(width)) - 1),
        ]
        counts = (
            f"{format_count(len(members[0].items), 'item')} with labels from at least two"
            " annotators"
        )
        rows.append(StatisticsRow(heading, members[0].items, explanation=counts, group=at))
        for each in members:
            figure = each.coefficient
            interval = make_complete_interval(figure.low, figure.value, figure.high)
            cells = _make_coefficient_cells(figure, annotators, width)
            meaning = COEFFICIENT_MEANINGS[figure.metric]
            if figure.interval_note:
                meaning += f"; no interval: {figure.interval_note}"
            rows.append(
                StatisticsRow(
                    cells, items=each.items, interval=interval, explanation=meaning, group=at
                )
            )
    return rows


def group_agreement_statistics(
    statistics: Iterable[AgreementStatistic],
) -> list[list[AgreementStatistic]]:
    """Group statistics of the same blindness, part of the item and criterion."""
    groups = groupby(
        statistics, lambda each: (each.coefficient.given, get_group_key(each.coefficient))
    )
    return [list(members) for _, members in groups]


def _make_coefficient_cells(
    coefficient: AgreementCoefficient, annotators_of_group: tuple[str, ...], width: int
) -> list[StyledText]:
    names_annotators = (
        coefficient.metric in PAIR_COEFFICIENTS or coefficient.annotators != annotators_of_group
    )
    prefix = f"  {sanitize(', '.join(coefficient.annotators))}: " if names_annotators else "  "
    value, interval = map(replace_missing_value_sign, format_value_and_interval(coefficient))
    row: list[StyledText] = [
        (prefix + format_coefficient_name(coefficient), ""),
        (value, "strong"),
        (interval, "dim"),
        (f"{coefficient.n_units:,}", ""),
    ]
    return [*row, (f"{coefficient.n_labels:,}", "dim")] if width >= LABELS_MIN_CELLS else row


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
    """Calibration of a source of verdicts on one criterion, with its verdict pairs."""

    calibration: Calibration
    pairs: tuple[VerdictPair, ...]


def list_useful_scopes(pairs: Iterable[VerdictPair]) -> list[CalibrationScope]:
    """Return the scope `overall`, and the scopes that divide the verdict pairs into several
    groups.
    """
    names: dict[CalibrationScope, set[str | None]] = {scope: set() for scope in CALIBRATION_SCOPES}
    for group in group_verdict_pairs(pairs, CALIBRATION_SCOPES):
        names[group.scope].add(group.name)
    return [scope for scope in CALIBRATION_SCOPES if scope == "overall" or len(names[scope]) > 1]


def compute_calibration_groups(
    pairs: Iterable[VerdictPair], scope: CalibrationScope
) -> list[CalibrationGroup]:
    from fcreview.stats.calibration import calibrate_group

    return [
        CalibrationGroup(calibrate_group(group), group.pairs)
        for group in group_verdict_pairs(pairs, (scope,))
    ]


def build_calibration_rows(groups: Sequence[CalibrationGroup]) -> list[StatisticsRow]:
    """Return the rows of each group: its items, the cells of its confusion matrix, and its
    measures.
    """
    return [
        replace(row, group=at)
        for at, group in enumerate(groups)
        for row in _build_group_rows(group)
    ]


SELECTION_MEANINGS: dict[SelectionMethod, str] = {
    "random": "all items are from a random sample",
    "by hand": "items were chosen by hand, so the measures describe only these items",
    "both": "some items are from a random sample, the others were chosen by hand",
}


def _build_group_rows(group: CalibrationGroup) -> Iterator[StatisticsRow]:
    calibration = group.calibration
    names = [] if calibration.name is None else [sanitize(calibration.name)]
    names += [*format_source_and_criterion(calibration), format_selection_method(calibration)]
    heading = f" {symbols().separator} ".join(names)
    row = _make_calibration_row(
        heading, _list_unique_items(group.pairs), n_pairs=calibration.n, style="strong"
    )
    yield replace(row, explanation=SELECTION_MEANINGS[calibration.chosen])
    source = format_source_and_criterion(calibration)[0]
    for cell in calibration.cells:
        automatic, human = (
            format_verdict(each, calibration.criterion) for each in (cell.automatic, cell.human)
        )
        style = "" if automatic == human else "fail"
        row = _make_calibration_row(
            f"  automatic {automatic}, human {human}", cell.items, n_pairs=cell.n, style=style
        )
        meaning = (
            f"{source} verdict {automatic}, human verdict {human}: {cell.n:,} of {calibration.n:,}"
            " pairs"
        )
        yield replace(row, cell=cell, explanation=meaning)
    for rate in sorted(calibration.rates, key=lambda rate: list(MEASURE_LABELS).index(rate.metric)):
        value, interval = map(replace_missing_value_sign, format_measure(rate))
        items = _list_unique_items(
            pair for pair in group.pairs if _is_in_denominator(pair, rate.metric)
        )
        row = _make_calibration_row(
            f"  {MEASURE_LABELS[rate.metric]}", items, value, interval, n_pairs=rate.n
        )
        meaning = _explain_measure(calibration, rate.metric, source)
        yield replace(
            row,
            interval=make_complete_interval(rate.low, rate.value, rate.high),
            explanation=meaning,
        )


def _explain_measure(calibration: Calibration, measure: MeasureName, source_name: str) -> str:
    """Explain a measure with its numbers of verdict pairs."""

    def count_pairs(automatic: bool | None, human: bool | None) -> int:
        return sum(
            cell.n
            for cell in calibration.cells
            if automatic in (None, cell.automatic) and human in (None, cell.human)
        )

    value = measure != "tnr"
    word = format_verdict(value, calibration.criterion)
    equal = count_pairs(value, value)
    if measure in ("tpr", "tnr"):
        total = count_pairs(None, value)
        return (
            f"{source_name} verdict is {word} on {equal:,} of the {total:,} pairs with human"
            f" verdict {word}"
        )
    if measure == "precision":
        total = count_pairs(True, None)
        return (
            f"human verdict is {word} on {equal:,} of the {total:,} pairs with {source_name}"
            f" verdict {word}"
        )
    if measure == "wrong_fails":
        wrong = count_pairs(False, True)
        total = count_pairs(False, None)
        fail, passed = (format_verdict(each, calibration.criterion) for each in (False, True))
        return (
            f"human verdict is {passed} on {wrong:,} of the {total:,} pairs with {source_name}"
            f" verdict {fail}"
        )
    if measure == "agreement":
        equal = sum(cell.n for cell in calibration.cells if cell.automatic == cell.human)
        return f"{source_name} and human verdict are equal in {equal:,} of {calibration.n:,} pairs"
    return (
        "harmonic mean of TPR and precision"
        if measure == "f1"
        else f"agreement beyond chance: {CHANCE}"
    )


def _make_calibration_row(
    name: str,
    item_numbers: tuple[int, ...],
    value: str = "",
    interval: str = "",
    *,
    n_pairs: int,
    style: str = "",
) -> StatisticsRow:
    return StatisticsRow(
        [(name, style), (value, "strong"), (interval, "dim"), (f"{n_pairs:,}", "")], item_numbers
    )


def _is_in_denominator(pair: VerdictPair, measure: MeasureName) -> bool:
    if measure in ("tpr", "tnr"):
        return pair.human is (measure == "tpr")
    if measure == "wrong_fails":
        return pair.automatic is False
    return measure != "precision" or pair.automatic is True


def _list_unique_items(pairs: Iterable[VerdictPair]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(pair.item for pair in pairs))


def build_error_kind_rows(error_groups: Sequence[ErrorGroup]) -> list[StatisticsRow]:
    """Return the rows of each source: all items with a wrong verdict, then the kinds of error,
    most frequent first.
    """
    rows: list[StatisticsRow] = []
    for names, group in groupby(error_groups, format_source_and_criterion):
        kinds = sorted(group, key=lambda kind: -kind.wrong)
        items = tuple(dict.fromkeys(item for kind in kinds for item in kind.items))
        heading = f" {symbols().separator} ".join(names)
        rows.append(
            StatisticsRow(
                [(heading, "strong"), *[EMPTY_CELL] * (len(ERROR_KIND_COLUMNS) - 1)], items
            )
        )
        for kind in kinds:
            low, high = compute_wilson_interval(kind.wrong, kind.of) or (0.0, 1.0)
            cells: list[StyledText] = [
                (f"  {kind.by} {sanitize(kind.name)}", ""),
                (format_error(kind), ""),
                (format_metric_value(kind.wrong / kind.of, "share"), "strong"),
                (f"[{100 * low:.1f}, {100 * high:.1f}]", "dim"),
                (f"{kind.wrong:,} of {kind.of:,}", ""),
            ]
            rows.append(
                StatisticsRow(cells, items=kind.items, interval=(low, kind.wrong / kind.of, high))
            )
    return rows


MATRIX_CELLS = 14
"""Width of a column of a confusion matrix, in cells."""
PAIR_CELLS = 8
"""Width of a column of a heat map, in cells."""
LABEL_CELLS = 10
GAP = 2


def confusion_matrix_lines(
    groups: Sequence[CalibrationGroup], row: StatisticsRow, width: int, *, has_tall_cells: bool
) -> list[Line]:
    """Return the confusion matrix of the row's group and, if there is room, those of groups with
    the same name beside it. Empty if there is no room.
    """
    here = groups[row.group]
    matrices = [
        _draw_confusion_matrix(
            here.calibration, row.cell, has_tall_cells=has_tall_cells, has_cursor=True
        )
    ]
    for group in groups:
        if group is not here and group.calibration.name == here.calibration.name:
            other = _draw_confusion_matrix(
                group.calibration, None, has_tall_cells=has_tall_cells, has_cursor=False
            )
            fits = (
                sum(line_width(each[0]) + GAP for each in matrices) + line_width(other[0]) <= width
            )
            if fits and len(other) == len(matrices[0]):
                matrices.insert(
                    len(matrices) if groups.index(group) > row.group else len(matrices) - 1, other
                )
    return join_boxes(matrices) if line_width(matrices[0][0]) <= width else []


def _draw_confusion_matrix(
    calibration: Calibration,
    cursor_cell: ConfusionCell | None,
    *,
    has_tall_cells: bool,
    has_cursor: bool,
) -> list[Line]:
    """Return a confusion matrix. Each row is an automatic verdict and each column a human verdict.
    A cell shows its count and its share of the column. `cursor_cell`: cell under the cursor.
    """
    values: list[Any] = [True, False]
    if not calibration.binary:
        different = {
            repr(value): value
            for cell in calibration.cells
            for value in (cell.automatic, cell.human)
        }
        values = sorted(
            different.values(),
            key=lambda each: (0, each) if isinstance(each, (int, float)) else (1, repr(each)),
        )
    texts = [
        truncate(format_verdict(value, calibration.criterion), LABEL_CELLS) for value in values
    ]
    left = max(map(display_width, texts)) + 1
    heads = "".join(pad(f"human {text}", MATRIX_CELLS) for text in texts)
    title = f" {symbols().separator} ".join(format_source_and_criterion(calibration))
    size = left + len(values) * MATRIX_CELLS
    lines: list[Line] = [
        make_line(pad(truncate(title, size), size), "strong" if has_cursor else "dim")
    ]
    lines.append(make_line(" " * left + heads, "dim"))
    totals = [sum(cell.n for cell in calibration.cells if cell.human == human) for human in values]
    for automatic, text in zip(values, texts, strict=True):
        body: list[StyledText] = [(pad(text, left), "dim")]
        blank: list[StyledText] = [(" " * left, "")]
        for human, total in zip(values, totals, strict=True):
            cell = next(
                (c for c in calibration.cells if (c.automatic, c.human) == (automatic, human)), None
            )
            inner, style = _format_matrix_cell(cell, total, verdicts_agree=automatic == human)
            mark = symbols().cursor if cell is not None and cell is cursor_cell else " "
            body += [(mark + inner, style), (" ", "")]
            blank += [(" " * (MATRIX_CELLS - 1), style if cell is not None else ""), (" ", "")]
        lines += [tuple(blank), tuple(body), tuple(blank)] if has_tall_cells else [tuple(body)]
    return lines


def _format_matrix_cell(
    cell: ConfusionCell | None, column_total: int, *, verdicts_agree: bool
) -> StyledText:
    sign = symbols().equal if verdicts_agree else symbols().differs
    if cell is None:
        return pad(f"{sign}{0:>4}", MATRIX_CELLS - 2), "dim"
    share = cell.n / column_total
    heat = round(50 + 50 * share if verdicts_agree else 50 - 50 * share)
    return pad(f"{sign}{cell.n:>4,} {100 * share:5.1f}", MATRIX_CELLS - 2), f"{HEAT}{heat}"


class HeatMaps(NamedTuple):
    """Matrices that show the agreement of each pair of annotators by colour."""

    lines: list[Line]
    n_annotators: int
    """Number of annotators that fit into the matrices. 0 if no matrix fits."""


def pairwise_heat_maps(
    statistics: Sequence[AgreementStatistic], width: int, max_lines: int
) -> HeatMaps:
    """Draw the matrices of a group of statistics in at most `max_lines` lines."""
    pairs = [each.coefficient for each in statistics if len(each.coefficient.annotators) == 2]
    names = sorted({name for each in pairs for name in each.annotators})
    left = min(max(display_width(sanitize(name)) for name in ("equal %", *names)), LABEL_CELLS) + 1
    n = min(len(names), max_lines - 1, (width - left) // PAIR_CELLS)
    if n < 2:
        return HeatMaps([], 0)
    maps = []
    for metric, title in (("percent", "equal %"), ("cohen", "kappa")):
        values = {frozenset(each.annotators): each.value for each in pairs if each.metric == metric}
        maps.append(_draw_heat_map(title, names[:n], values, left))
    shown = maps if 2 * line_width(maps[0][0]) + GAP <= width else maps[:1]
    return HeatMaps(join_boxes(shown), n)


def _draw_heat_map(
    title: str,
    annotators: Sequence[str],
    value_by_pair: Mapping[frozenset[str], float | None],
    label_cells: int,
) -> list[Line]:
    texts = [sanitize(name) for name in annotators]
    heads = "".join(pad(truncate(text, PAIR_CELLS - 1), PAIR_CELLS) for text in texts)
    lines: list[Line] = [
        ((pad(truncate(title, label_cells - 1), label_cells), "strong"), (heads, "dim"))
    ]
    for name, text in zip(annotators, texts, strict=True):
        line: list[StyledText] = [(pad(truncate(text, label_cells - 1), label_cells), "dim")]
        for other in annotators:
            value = None if other == name else value_by_pair.get(frozenset((name, other)))
            cell = heat_cell(value, PAIR_CELLS - 1)
            if value is not None and title == "kappa":
                cell = (
                    f"{value:.2f}".center(PAIR_CELLS - 1),
                    f"{HEAT}{round(100 * max(value, 0.0))}",
                )
            line += [cell, (" ", "")]
        lines.append(tuple(line))
    return lines


NOTE_MIN_CELLS = 100


def choose_convention_columns(width: int, runs: Sequence[RunConventions] = ()) -> list[TextColumn]:
    """Return the columns.

    The values without incidents have a column if one of the runs has an incident.
    """
    columns = [
        TextColumn("run, metric and convention", truncate=truncate_middle, min_width=20),
        TextColumn("value", align_right=True, min_width=8),
    ]
    if _has_incidents(runs):
        columns.append(TextColumn("w/o incidents", align_right=True))
    columns += [
        TextColumn("trials", align_right=True),
        TextColumn("items", align_right=True),
    ]
    return [*columns, TextColumn("note")] if width >= NOTE_MIN_CELLS else columns


def _has_incidents(runs: Sequence[RunConventions]) -> bool:
    return any(row.incidents for run in runs for row in run.rows)


def build_convention_rows(runs: Sequence[RunConventions], width: int) -> list[StatisticsRow]:
    """Return a heading for each figure, then a row for each convention that opens the items it
    counts differently.
    """
    n_columns, separator = len(choose_convention_columns(width, runs)), f" {symbols().separator} "
    has_incidents = _has_incidents(runs)
    rows: list[StatisticsRow] = []
    for run in runs:
        ranges = {spread.figure: spread.high - spread.low for spread in find_spreads(run.rows)}
        last = ""
        for each in run.rows:
            if each.figure != last:
                last = each.figure
                points = 100 * ranges.get(last, 0.0)
                difference = [f"values differ by {points:.1f} points"] if points > 1e-7 else []
                parts = [sanitize(run.name), last, *difference]
                rows.append(
                    StatisticsRow(
                        [(separator.join(parts), "strong"), *[EMPTY_CELL] * (n_columns - 1)], ()
                    )
                )
            value = (
                symbols().none
                if each.value is None
                else format_metric_value(each.value, "share", 2)
            )
            items = run.find_item_numbers(each)
            cells: list[StyledText] = [
                (f"  {'*' if each.is_own else ' '} {each.convention}", ""),
                (value, "strong"),
            ]
            if has_incidents:
                cells.append((format_convention_without_incidents(each), ""))
            cells += [
                (f"{each.n:,}", ""),
                (f"{len(items):,}" if items else "", ""),
                (sanitize(each.note or each.rule), "dim"),
            ]
            rows.append(StatisticsRow(cells[:n_columns], items))
    return rows
