"""Build the tables of agreement, calibration and conventions, whose rows open items.

`fcreview.stats` computes the statistics.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from itertools import groupby
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    assert_never,
)

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
    LineBuilder,
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
    from fcreview.stats.conventions import ConventionRow


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


MIN_INTERVAL_CELLS = 12
MAX_INTERVAL_CELLS = 60
"""Widths, in cells, of the drawn intervals."""
"""Minimum and maximum width, in cells, of the drawn intervals."""


@dataclass(slots=True)
class StatisticsTable(ChoiceTable[tuple[int, ...]]):
    """Table of statistics.

    If there is room, intervals are drawn at the right, on a common scale up to 1.
    """

    intervals: Sequence[Interval | None] = ()

    def lines(self, cells: int) -> TableLines:
        table = ChoiceTable.lines(self, cells)
        table_width = max(line_width(line) for line in (table.heading, *table.rows))
        interval_start = table_width + 2
        interval_cells = min(cells - interval_start - 1, MAX_INTERVAL_CELLS)
        if not any(self.intervals) or interval_cells < MIN_INTERVAL_CELLS:
            return table

        lowest = min(0.0, *(interval[0] for interval in self.intervals if interval))
        heading = LineBuilder()
        heading.add_line(table.heading)
        heading.pad_to(interval_start)
        heading.add(_format_scale(lowest, interval_cells), "dim")

        rows = []
        for row, interval in zip(table.rows, self.intervals, strict=True):
            line = LineBuilder()
            line.add_line(row)
            line.pad_to(interval_start - 1)
            if interval is not None:
                line.add_line(_draw_interval(interval, lowest, interval_cells))
            rows.append(line.build())
        return TableLines(heading.build(), rows)


def _format_scale(lowest: float, cells: int) -> str:
    """Return the ends of the scale, such as `-0.2` and `1`, `cells` apart."""
    lowest_text = f"{lowest:.1f}".rstrip("0").rstrip(".")
    return lowest_text + "1".rjust(cells - len(lowest_text))


def _draw_interval(interval: Interval, lowest: float, cells: int) -> Line:
    low, value, high = interval
    return interval_bar(low, value, high, scale=(lowest, 1.0), cells=cells)


def make_complete_interval(
    low: float | None, value: float | None, high: float | None
) -> Interval | None:
    """Return an interval, or None if a part is missing."""
    if low is None or value is None or high is None:
        return None
    return low, value, high


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
    if width >= LABELS_MIN_CELLS:
        columns.append(TextColumn("labels", align_right=True))
    return columns


def _make_heading_cells(text: str, n_columns: int) -> list[StyledText]:
    """Return the cells of a row that has only a heading in its first column."""
    return [(text, "strong"), *[EMPTY_CELL] * (n_columns - 1)]


def build_agreement_rows(
    statistics: Sequence[AgreementStatistic], width: int
) -> list[StatisticsRow]:
    """Return the rows of each group: a row that opens its items, and a row for each coefficient."""
    all_coefficients = [statistic.coefficient for statistic in statistics]
    rows: list[StatisticsRow] = []
    for group, members in enumerate(group_agreement_statistics(statistics)):
        heading = _agreement_heading_row(members, all_coefficients, width)
        rows.append(replace(heading, group=group))
        all_annotators = max((each.coefficient.annotators for each in members), key=len)
        for member in members:
            row = _agreement_coefficient_row(member, all_annotators, width)
            rows.append(replace(row, group=group))
    return rows


def _agreement_heading_row(
    members: Sequence[AgreementStatistic],
    all_coefficients: Sequence[AgreementCoefficient],
    width: int,
) -> StatisticsRow:
    first = members[0]
    names = [
        BLINDNESS_LABELS[first.coefficient.given],
        *format_group_cells(all_coefficients, first.coefficient),
    ]
    title = f" {symbols().separator} ".join(names)
    n_columns = len(choose_agreement_columns(width))
    items = format_count(len(first.items), "item")
    return StatisticsRow(
        _make_heading_cells(title, n_columns),
        first.items,
        explanation=f"{items} with labels from at least two annotators",
    )


def _agreement_coefficient_row(
    statistic: AgreementStatistic, annotators_of_group: tuple[str, ...], width: int
) -> StatisticsRow:
    coefficient = statistic.coefficient
    explanation = COEFFICIENT_MEANINGS[coefficient.metric]
    if coefficient.interval_note:
        explanation += f"; no interval: {coefficient.interval_note}"
    return StatisticsRow(
        _make_coefficient_cells(coefficient, annotators_of_group, width),
        statistic.items,
        interval=make_complete_interval(coefficient.low, coefficient.value, coefficient.high),
        explanation=explanation,
    )


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
    """Return the cells of a coefficient. Its annotators are named if they are not all of the
    group, or a pair.
    """
    name = f"  {format_coefficient_name(coefficient)}"
    is_of_pair = coefficient.metric in PAIR_COEFFICIENTS
    if is_of_pair or coefficient.annotators != annotators_of_group:
        annotators = sanitize(", ".join(coefficient.annotators))
        name = f"  {annotators}: {format_coefficient_name(coefficient)}"

    value, interval = format_value_and_interval(coefficient)
    cells: list[StyledText] = [
        (name, ""),
        (replace_missing_value_sign(value), "strong"),
        (replace_missing_value_sign(interval), "dim"),
        (f"{coefficient.n_units:,}", ""),
    ]
    if width >= LABELS_MIN_CELLS:
        cells.append((f"{coefficient.n_labels:,}", "dim"))
    return cells


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

    useful: list[CalibrationScope] = []
    for scope in CALIBRATION_SCOPES:
        if scope == "overall" or len(names[scope]) > 1:
            useful.append(scope)
    return useful


def compute_calibration_groups(
    pairs: Iterable[VerdictPair], scope: CalibrationScope
) -> list[CalibrationGroup]:
    from fcreview.stats.calibration import calibrate_group

    groups = []
    for group in group_verdict_pairs(pairs, (scope,)):
        groups.append(CalibrationGroup(calibrate_group(group), group.pairs))
    return groups


def build_calibration_rows(groups: Sequence[CalibrationGroup]) -> list[StatisticsRow]:
    """Return the rows of each group: its items, the cells of its confusion matrix, and its
    measures.
    """
    rows = []
    for index, group in enumerate(groups):
        group_rows = [
            _calibration_heading_row(group),
            *_build_matrix_cell_rows(group.calibration),
            *_build_measure_rows(group),
        ]
        rows += [replace(row, group=index) for row in group_rows]
    return rows


SELECTION_MEANINGS: dict[SelectionMethod, str] = {
    "random": "all items are from a random sample",
    "by hand": "items were chosen by hand, so the measures describe only these items",
    "both": "some items are from a random sample, the others were chosen by hand",
}


def _calibration_heading_row(group: CalibrationGroup) -> StatisticsRow:
    calibration = group.calibration
    names = [*format_source_and_criterion(calibration), format_selection_method(calibration)]
    if calibration.name is not None:
        names.insert(0, sanitize(calibration.name))
    row = _make_calibration_row(
        f" {symbols().separator} ".join(names),
        _list_unique_items(group.pairs),
        n_pairs=calibration.n,
        style="strong",
    )
    return replace(row, explanation=SELECTION_MEANINGS[calibration.chosen])


def _build_matrix_cell_rows(calibration: Calibration) -> Iterator[StatisticsRow]:
    """Yield a row for each combination of automatic and human verdict."""
    source, *_ = format_source_and_criterion(calibration)
    for cell in calibration.cells:
        automatic = format_verdict(cell.automatic, calibration.criterion)
        human = format_verdict(cell.human, calibration.criterion)
        row = _make_calibration_row(
            f"  automatic {automatic}, human {human}",
            cell.items,
            n_pairs=cell.n,
            style="" if automatic == human else "fail",
        )
        verdicts = f"{source} verdict {automatic}, human verdict {human}"
        explanation = f"{verdicts}: {cell.n:,} of {calibration.n:,} pairs"
        yield replace(row, cell=cell, explanation=explanation)


def _build_measure_rows(group: CalibrationGroup) -> Iterator[StatisticsRow]:
    """Yield a row for each measure, in the order of `MEASURE_LABELS`."""
    calibration = group.calibration
    source, *_ = format_source_and_criterion(calibration)
    order = list(MEASURE_LABELS)
    for rate in sorted(calibration.rates, key=lambda rate: order.index(rate.metric)):
        value, interval = format_measure(rate)
        pairs = [pair for pair in group.pairs if _is_in_denominator(pair, rate.metric)]
        row = _make_calibration_row(
            f"  {MEASURE_LABELS[rate.metric]}",
            _list_unique_items(pairs),
            replace_missing_value_sign(value),
            replace_missing_value_sign(interval),
            n_pairs=rate.n,
        )
        yield replace(
            row,
            interval=make_complete_interval(rate.low, rate.value, rate.high),
            explanation=_explain_measure(calibration, rate.metric, source),
        )


def _explain_measure(calibration: Calibration, measure: MeasureName, source_name: str) -> str:
    """Explain a measure with its numbers of verdict pairs."""
    passed = format_verdict(True, calibration.criterion)
    failed = format_verdict(False, calibration.criterion)
    match measure:
        case "tpr":
            return _explain_detection(calibration, True, source_name)
        case "tnr":
            return _explain_detection(calibration, False, source_name)
        case "precision":
            n_right = _count_pairs(calibration, automatic=True, human=True)
            n_passed = _count_pairs(calibration, automatic=True)
            return (
                f"human verdict is {passed} on {n_right:,} of the {n_passed:,} pairs"
                f" with {source_name} verdict {passed}"
            )
        case "wrong_fails":
            n_wrong = _count_pairs(calibration, automatic=False, human=True)
            n_failed = _count_pairs(calibration, automatic=False)
            return (
                f"human verdict is {passed} on {n_wrong:,} of the {n_failed:,} pairs"
                f" with {source_name} verdict {failed}"
            )
        case "agreement":
            n_equal = sum(cell.n for cell in calibration.cells if cell.automatic == cell.human)
            return (
                f"{source_name} and human verdict are equal"
                f" in {n_equal:,} of {calibration.n:,} pairs"
            )
        case "f1":
            return "harmonic mean of TPR and precision"
        case "kappa":
            return f"agreement beyond chance: {CHANCE}"
        case _:
            assert_never(measure)


def _explain_detection(calibration: Calibration, value: bool, source_name: str) -> str:
    """Explain the share of human verdicts `value` that the source finds."""
    word = format_verdict(value, calibration.criterion)
    n_found = _count_pairs(calibration, automatic=value, human=value)
    n_human = _count_pairs(calibration, human=value)
    return (
        f"{source_name} verdict is {word} on {n_found:,} of the {n_human:,} pairs"
        f" with human verdict {word}"
    )


def _count_pairs(
    calibration: Calibration, *, automatic: bool | None = None, human: bool | None = None
) -> int:
    """Count the pairs with these verdicts. None stands for any verdict."""
    count = 0
    for cell in calibration.cells:
        has_automatic = automatic is None or cell.automatic == automatic
        has_human = human is None or cell.human == human
        if has_automatic and has_human:
            count += cell.n
    return count


def _make_calibration_row(
    name: str,
    item_numbers: tuple[int, ...],
    value: str = "",
    interval: str = "",
    *,
    n_pairs: int,
    style: str = "",
) -> StatisticsRow:
    cells = [(name, style), (value, "strong"), (interval, "dim"), (f"{n_pairs:,}", "")]
    return StatisticsRow(cells, item_numbers)


def _is_in_denominator(pair: VerdictPair, measure: MeasureName) -> bool:
    """Whether a measure is a share of pairs such as this one."""
    match measure:
        case "tpr":
            return pair.human is True
        case "tnr":
            return pair.human is False
        case "precision":
            return pair.automatic is True
        case "wrong_fails":
            return pair.automatic is False
        case "agreement" | "f1" | "kappa":
            return True
        case _:
            assert_never(measure)


def _list_unique_items(pairs: Iterable[VerdictPair]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(pair.item for pair in pairs))


def build_error_kind_rows(error_groups: Sequence[ErrorGroup]) -> list[StatisticsRow]:
    """Return the rows of each source: all items with a wrong verdict, then the kinds of error,
    most frequent first.
    """
    rows: list[StatisticsRow] = []
    for names, group in groupby(error_groups, format_source_and_criterion):
        kinds = sorted(group, key=lambda kind: kind.wrong, reverse=True)
        items: dict[int, None] = {}
        for kind in kinds:
            items |= dict.fromkeys(kind.items)
        title = f" {symbols().separator} ".join(names)
        heading = _make_heading_cells(title, len(ERROR_KIND_COLUMNS))
        rows.append(StatisticsRow(heading, tuple(items)))
        rows += [_error_kind_row(kind) for kind in kinds]
    return rows


def _error_kind_row(kind: ErrorGroup) -> StatisticsRow:
    share = kind.wrong / kind.of
    low, high = compute_wilson_interval(kind.wrong, kind.of) or (0.0, 1.0)
    cells: list[StyledText] = [
        (f"  {kind.by} {sanitize(kind.name)}", ""),
        (format_error(kind), ""),
        (format_metric_value(share, "share"), "strong"),
        (f"[{100 * low:.1f}, {100 * high:.1f}]", "dim"),
        (f"{kind.wrong:,} of {kind.of:,}", ""),
    ]
    return StatisticsRow(cells, kind.items, interval=(low, share, high))


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
    current = groups[row.group]
    matrix = _draw_confusion_matrix(
        current.calibration, row.cell, has_tall_cells=has_tall_cells, has_cursor=True
    )
    if line_width(matrix[0]) > width:
        return []

    # The matrices stay in the order of the groups.
    before: list[list[Line]] = []
    after: list[list[Line]] = []
    used = line_width(matrix[0]) + GAP
    for index, group in enumerate(groups):
        if group is current or group.calibration.name != current.calibration.name:
            continue
        other = _draw_confusion_matrix(
            group.calibration, None, has_tall_cells=has_tall_cells, has_cursor=False
        )
        if used + line_width(other[0]) > width or len(other) != len(matrix):
            continue
        used += line_width(other[0]) + GAP
        (after if index > row.group else before).append(other)
    return join_boxes([*before, matrix, *after])


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
    values = _list_matrix_values(calibration)
    texts = [
        truncate(format_verdict(value, calibration.criterion), LABEL_CELLS) for value in values
    ]
    label_cells = max(display_width(text) for text in texts) + 1
    width = label_cells + len(values) * MATRIX_CELLS

    title = f" {symbols().separator} ".join(format_source_and_criterion(calibration))
    column_titles = "".join(pad(f"human {text}", MATRIX_CELLS) for text in texts)
    lines = [
        make_line(pad(truncate(title, width), width), "strong" if has_cursor else "dim"),
        make_line(" " * label_cells + column_titles, "dim"),
    ]
    for automatic, text in zip(values, texts, strict=True):
        row = _MatrixRow(calibration, automatic, values)
        cells_line = row.build_line(pad(text, label_cells), cursor_cell)
        if has_tall_cells:
            blank_line = row.build_blank_line(label_cells)
            lines += [blank_line, cells_line, blank_line]
        else:
            lines.append(cells_line)
    return lines


def _list_matrix_values(calibration: Calibration) -> list[Any]:
    """Return the verdicts of the rows and columns: true and false, else all verdicts, the
    numbers first.
    """
    if calibration.binary:
        return [True, False]
    values_by_text: dict[str, Any] = {}
    for cell in calibration.cells:
        for value in (cell.automatic, cell.human):
            values_by_text[repr(value)] = value
    numbers = [value for value in values_by_text.values() if isinstance(value, (int, float))]
    others = [value for value in values_by_text.values() if not isinstance(value, (int, float))]
    return sorted(numbers) + sorted(others, key=repr)


@dataclass(frozen=True, slots=True)
class _MatrixRow:
    """Row of a confusion matrix."""

    calibration: Calibration
    automatic: Any
    human_values: Sequence[Any]

    def build_line(self, label: str, cursor_cell: ConfusionCell | None) -> Line:
        line = LineBuilder()
        line.add(label, "dim")
        for human in self.human_values:
            cell = self._find_cell(human)
            is_at_cursor = cell is not None and cell is cursor_cell
            text, style = self._format_cell(human)
            line.add((symbols().cursor if is_at_cursor else " ") + text, style)
            line.add(" ")
        return line.build()

    def build_blank_line(self, label_cells: int) -> Line:
        """Return a line with only the backgrounds of the cells."""
        line = LineBuilder()
        line.add(" " * label_cells)
        for human in self.human_values:
            _, style = self._format_cell(human)
            has_background = self._find_cell(human) is not None
            line.add(" " * (MATRIX_CELLS - 1), style if has_background else "")
            line.add(" ")
        return line.build()

    def _find_cell(self, human: Any) -> ConfusionCell | None:
        for cell in self.calibration.cells:
            if cell.automatic == self.automatic and cell.human == human:
                return cell
        return None

    def _format_cell(self, human: Any) -> StyledText:
        column_total = sum(cell.n for cell in self.calibration.cells if cell.human == human)
        verdicts_agree = self.automatic == human
        return _format_matrix_cell(
            self._find_cell(human), column_total, verdicts_agree=verdicts_agree
        )


def _format_matrix_cell(
    cell: ConfusionCell | None, column_total: int, *, verdicts_agree: bool
) -> StyledText:
    """Return the count and the share of the column in percent. The background is greener the
    more verdicts agree.
    """
    sign = symbols().equal if verdicts_agree else symbols().differs
    if cell is None:
        return pad(f"{sign}{0:>4}", MATRIX_CELLS - 2), "dim"
    share = cell.n / column_total
    heat = 50 + 50 * share if verdicts_agree else 50 - 50 * share
    text = f"{sign}{cell.n:>4,} {100 * share:5.1f}"
    return pad(text, MATRIX_CELLS - 2), f"{HEAT}{round(heat)}"


class HeatMaps(NamedTuple):
    """Matrices that show the agreement of each pair of annotators by colour."""

    lines: list[Line]
    n_annotators: int
    """Number of annotators that fit into the matrices. 0 if no matrix fits."""


def pairwise_heat_maps(
    statistics: Sequence[AgreementStatistic], width: int, max_lines: int
) -> HeatMaps:
    """Draw the matrices of a group of statistics in at most `max_lines` lines."""
    coefficients = [statistic.coefficient for statistic in statistics]
    pairs = [coefficient for coefficient in coefficients if len(coefficient.annotators) == 2]
    names: set[str] = set()
    for coefficient in pairs:
        names.update(coefficient.annotators)

    label_texts = [EQUAL_TITLE, *(sanitize(name) for name in names)]
    longest_label = max(display_width(text) for text in label_texts)
    label_cells = min(longest_label, LABEL_CELLS) + 1
    n_fitting = min(max_lines - 1, (width - label_cells) // PAIR_CELLS)
    shown_names = sorted(names)[: max(n_fitting, 0)]
    if len(shown_names) < 2:
        return HeatMaps([], 0)

    equal = _draw_heat_map(
        EQUAL_TITLE, shown_names, _values_by_pair(pairs, "percent"), label_cells, _percent_cell
    )
    kappa = _draw_heat_map(
        KAPPA_TITLE, shown_names, _values_by_pair(pairs, "cohen"), label_cells, _kappa_cell
    )
    has_room_for_both = 2 * line_width(equal[0]) + GAP <= width
    maps = [equal, kappa] if has_room_for_both else [equal]
    return HeatMaps(join_boxes(maps), len(shown_names))


EQUAL_TITLE = "equal %"
KAPPA_TITLE = "kappa"
ValueByPair = Mapping[frozenset[str], float | None]
"""Agreement coefficient of each pair of annotators."""


def _values_by_pair(
    coefficients: Sequence[AgreementCoefficient], metric: CoefficientName
) -> ValueByPair:
    return {
        frozenset(coefficient.annotators): coefficient.value
        for coefficient in coefficients
        if coefficient.metric == metric
    }


def _percent_cell(value: float | None) -> StyledText:
    return heat_cell(value, PAIR_CELLS - 1)


def _kappa_cell(value: float | None) -> StyledText:
    if value is None:
        return heat_cell(None, PAIR_CELLS - 1)
    percent = round(100 * max(value, 0.0))
    return f"{value:.2f}".center(PAIR_CELLS - 1), f"{HEAT}{percent}"


def _draw_heat_map(
    title: str,
    annotators: Sequence[str],
    value_by_pair: ValueByPair,
    label_cells: int,
    make_cell: Callable[[float | None], StyledText],
) -> list[Line]:
    """Return a matrix with a row and a column for each annotator."""

    def pad_label(text: str) -> str:
        return pad(truncate(text, label_cells - 1), label_cells)

    heading = LineBuilder()
    heading.add(pad_label(title), "strong")
    for name in annotators:
        heading.add(pad(truncate(sanitize(name), PAIR_CELLS - 1), PAIR_CELLS), "dim")

    lines = [heading.build()]
    for name in annotators:
        line = LineBuilder()
        line.add(pad_label(sanitize(name)), "dim")
        for other in annotators:
            value = None if other == name else value_by_pair.get(frozenset((name, other)))
            line.add(*make_cell(value))
            line.add(" ")
        lines.append(line.build())
    return lines


NOTE_MIN_CELLS = 100


def choose_convention_columns(width: int, runs: Sequence[RunConventions] = ()) -> list[TextColumn]:
    """Return the columns. The values without incidents have a column if one of the runs has an
    incident.
    """
    columns = [
        TextColumn("run, metric and convention", truncate=truncate_middle, min_width=20),
        TextColumn("value", align_right=True, min_width=8),
    ]
    if _has_incidents(runs):
        columns.append(TextColumn("w/o incidents", align_right=True))
    columns.append(TextColumn("trials", align_right=True))
    columns.append(TextColumn("items", align_right=True))
    if width >= NOTE_MIN_CELLS:
        columns.append(TextColumn("note"))
    return columns


def _has_incidents(runs: Sequence[RunConventions]) -> bool:
    return any(_has_incident(run) for run in runs)


def _has_incident(run: RunConventions) -> bool:
    return any(row.incidents for row in run.rows)


MIN_DIFFERENCE_POINTS = 1e-7
"""Difference of values, in percentage points, below which it is only a rounding error."""


def build_convention_rows(runs: Sequence[RunConventions], width: int) -> list[StatisticsRow]:
    """Return a heading for each figure, then a row for each convention that opens the items it
    counts differently.
    """
    n_columns = len(choose_convention_columns(width, runs))
    has_incidents = _has_incidents(runs)
    rows: list[StatisticsRow] = []
    for run in runs:
        for figure, conventions in groupby(run.rows, lambda row: row.figure):
            title = _name_figure(run, figure)
            rows.append(StatisticsRow(_make_heading_cells(title, n_columns), ()))
            for convention in conventions:
                items = run.find_item_numbers(convention)
                cells = _make_convention_cells(convention, len(items), has_incidents=has_incidents)
                # The note is the last column, which a narrow table does not have.
                rows.append(StatisticsRow(cells[:n_columns], items))
    return rows


def _name_figure(run: RunConventions, figure: str) -> str:
    """Return the names of the run and the figure, and how far the conventions differ."""
    parts = [sanitize(run.name), figure]
    for spread in find_spreads(run.rows):
        points = 100 * (spread.high - spread.low)
        if spread.figure == figure and points > MIN_DIFFERENCE_POINTS:
            parts.append(f"values differ by {points:.1f} points")
    return f" {symbols().separator} ".join(parts)


def _make_convention_cells(
    row: ConventionRow, n_items: int, *, has_incidents: bool
) -> list[StyledText]:
    mark = "*" if row.is_own else " "
    value = symbols().none
    if row.value is not None:
        value = format_metric_value(row.value, "share", 2)
    cells: list[StyledText] = [(f"  {mark} {row.convention}", ""), (value, "strong")]
    if has_incidents:
        cells.append((format_convention_without_incidents(row), ""))
    cells.append((f"{row.n:,}", ""))
    cells.append((f"{n_items:,}" if n_items else "", ""))
    cells.append((sanitize(row.note or row.rule), "dim"))
    return cells
