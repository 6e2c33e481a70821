"""Draw confusion matrices, and the agreement of each pair of annotators as heat maps.

`fcreview.tables` builds the tables beside these pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_verdict
from fcreview.stats.calibration import format_source_and_criterion
from fcreview.tables.agreement import AgreementStatistic
from fcreview.tables.calibration import CalibrationGroup
from fcreview.tui.text.graphics import heat_cell, join_boxes
from fcreview.tui.text.lines import Line, LineBuilder, StyledText, line_width, make_line, truncate
from fcreview.tui.text.styles import HEAT, symbols

if TYPE_CHECKING:
    from fcreview.stats.agreement_ratings import AgreementCoefficient, CoefficientName
    from fcreview.stats.calibration import Calibration, ConfusionCell

MATRIX_CELLS = 14
"""Width of a column of a confusion matrix, in cells."""
PAIR_CELLS = 8
"""Width of a column of a heat map, in cells."""
LABEL_CELLS = 10
GAP = 2


def confusion_matrix_lines(
    groups: Sequence[CalibrationGroup],
    group_index: int,
    cursor_cell: ConfusionCell | None,
    *,
    width: int,
    has_tall_cells: bool,
) -> list[Line]:
    """Draw the confusion matrix of the group under the cursor.

    A matrix compares automatic verdicts with human ones. The matrices of other groups with the same
    name are drawn beside it, as many as fit. The result is empty if the first matrix is too wide
    for the screen.

    Args:
        groups: All groups.
        group_index: Index of the group under the cursor.
        cursor_cell: Cell of the matrix under the cursor.
        width: Width of the screen in cells.
        has_tall_cells: Whether a row of the matrix takes three lines.
    """
    current = groups[group_index].calibration
    current_matrix = _draw_confusion_matrix(
        current, cursor_cell, has_tall_cells=has_tall_cells, has_cursor=True
    )
    free_cells = width - line_width(current_matrix[0])
    if free_cells < 0:
        return []

    # Add the matrices that fit beside it. Only matrices of the same height can be joined.
    matrix_by_group = {group_index: current_matrix}
    for index, calibration in _list_groups_beside(groups, group_index):
        matrix = _draw_confusion_matrix(
            calibration, None, has_tall_cells=has_tall_cells, has_cursor=False
        )
        needed_cells = GAP + line_width(matrix[0])
        if needed_cells <= free_cells and len(matrix) == len(current_matrix):
            matrix_by_group[index] = matrix
            free_cells -= needed_cells

    # The matrices stand in the order of the groups.
    return join_boxes([matrix_by_group[index] for index in sorted(matrix_by_group)])


def _list_groups_beside(
    groups: Sequence[CalibrationGroup], group_index: int
) -> list[tuple[int, Calibration]]:
    """Return the index and calibration of the other groups that are named like this one."""
    name = groups[group_index].calibration.name
    return [
        (index, group.calibration)
        for index, group in enumerate(groups)
        if index != group_index and group.calibration.name == name
    ]


def _draw_confusion_matrix(
    calibration: Calibration,
    cursor_cell: ConfusionCell | None,
    *,
    has_tall_cells: bool,
    has_cursor: bool,
) -> list[Line]:
    """Draw a confusion matrix: a row for each automatic verdict, a column for each human verdict.

    A cell shows how many items have these two verdicts, and their share of the column.
    `cursor_cell`: cell under the cursor.
    """
    values = _list_matrix_values(calibration)
    labels = [_label_matrix_value(value, calibration) for value in values]
    label_cells = max(display_width(label) for label in labels) + 1
    width = label_cells + len(values) * MATRIX_CELLS

    title = f" {symbols().separator} ".join(format_source_and_criterion(calibration))
    column_titles = "".join(pad(f"human {label}", MATRIX_CELLS) for label in labels)
    lines = [
        make_line(pad(truncate(title, width), width), "strong" if has_cursor else "dim"),
        make_line(" " * label_cells + column_titles, "dim"),
    ]
    for automatic, label in zip(values, labels, strict=True):
        row = _MatrixRow(calibration, automatic, values, pad(label, label_cells))
        lines += row.build_lines(cursor_cell, is_tall=has_tall_cells)
    return lines


def _label_matrix_value(value: Any, calibration: Calibration) -> str:
    return truncate(format_verdict(value, calibration.criterion), LABEL_CELLS)


def _list_matrix_values(calibration: Calibration) -> list[Any]:
    """Return the verdicts that are rows and columns of the matrix.

    For pass or fail, these are true and false. On other scales, they are the verdicts that occur,
    numbers first.
    """
    if calibration.binary:
        return [True, False]
    # Verdicts can be lists, which cannot be keys. Their text can.
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
    label: str
    """Name of the automatic verdict, padded to the width of its column."""

    def build_lines(self, cursor_cell: ConfusionCell | None, *, is_tall: bool) -> list[Line]:
        """Return the row, with a blank line above and below it if it is tall."""
        line_with_numbers = self._build_line(cursor_cell)
        if not is_tall:
            return [line_with_numbers]
        blank_line = self._build_blank_line()
        return [blank_line, line_with_numbers, blank_line]

    def _build_line(self, cursor_cell: ConfusionCell | None) -> Line:
        """Return the row with its numbers. The cell at the cursor has a mark."""
        line = LineBuilder()
        line.add(self.label, "dim")
        for human in self.human_values:
            cell = self._find_cell(human)
            is_at_cursor = cell is not None and cell is cursor_cell
            text, style = self._format_cell(human)
            line.add((symbols().cursor if is_at_cursor else " ") + text, style)
            line.add(" ")
        return line.build()

    def _build_blank_line(self) -> Line:
        """Return a line above or below the numbers, with only the backgrounds of the cells."""
        line = LineBuilder()
        line.add(" " * display_width(self.label))
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
        """Return the cell of this row in the column of a human verdict: its items, and their share
        of the column.
        """
        column_total = sum(cell.n for cell in self.calibration.cells if cell.human == human)
        verdicts_agree = self.automatic == human
        return _format_matrix_cell(
            self._find_cell(human), column_total, verdicts_agree=verdicts_agree
        )


def _format_matrix_cell(
    cell: ConfusionCell | None, column_total: int, *, verdicts_agree: bool
) -> StyledText:
    """Return the count of a cell and its share of the column in percent, with a background colour.

    The colour says how good the figure is: green for verdicts that agree often, red for verdicts
    that differ often.
    """
    sign = symbols().equal if verdicts_agree else symbols().differs
    if cell is None:
        return pad(f"{sign}{0:>4}", MATRIX_CELLS - 2), "dim"
    share = cell.n / column_total
    # From 0 to 100: up from the middle if the verdicts agree, down if they differ.
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
    """Draw how well each pair of annotators agrees: % agreement and Cohen's κ, as two matrices.

    Without room for both, only the first one is drawn. Without room for all annotators, only some
    of them are shown. `max_lines`: maximum number of lines.
    """
    pairs = _list_pair_coefficients(statistics)
    names: set[str] = set()
    for coefficient in pairs:
        names.update(coefficient.annotators)
    label_cells = _choose_pair_label_width(names)

    # Each annotator has a column, and a row below the heading.
    n_fitting_columns = (width - label_cells) // PAIR_CELLS
    n_fitting_rows = max_lines - 1
    n_fitting = max(min(n_fitting_rows, n_fitting_columns), 0)
    shown_names = sorted(names)[:n_fitting]
    if len(shown_names) < 2:
        return HeatMaps([], 0)

    equal_values = _values_by_pair(pairs, "percent")
    equal = _draw_heat_map(EQUAL_TITLE, shown_names, equal_values, label_cells, _percent_cell)
    kappa_values = _values_by_pair(pairs, "cohen")
    kappa = _draw_heat_map(KAPPA_TITLE, shown_names, kappa_values, label_cells, _kappa_cell)
    has_room_for_both = 2 * line_width(equal[0]) + GAP <= width
    maps = [equal, kappa] if has_room_for_both else [equal]
    return HeatMaps(join_boxes(maps), len(shown_names))


def _list_pair_coefficients(statistics: Sequence[AgreementStatistic]) -> list[AgreementCoefficient]:
    """Return the coefficients of two annotators, without those of more annotators."""
    coefficients = [statistic.coefficient for statistic in statistics]
    return [coefficient for coefficient in coefficients if len(coefficient.annotators) == 2]


def _choose_pair_label_width(names: Iterable[str]) -> int:
    """Return the width of the first column: the longest name or title, and a blank."""
    label_texts = [EQUAL_TITLE, *(sanitize(name) for name in names)]
    longest_label = max(display_width(text) for text in label_texts)
    return min(longest_label, LABEL_CELLS) + 1


EQUAL_TITLE = "equal %"
KAPPA_TITLE = "kappa"
ValueByPair = Mapping[frozenset[str], float | None]
"""Agreement coefficient of each pair of annotators."""


def _values_by_pair(
    coefficients: Sequence[AgreementCoefficient], metric: CoefficientName
) -> ValueByPair:
    """Return the values of one measure by pair of annotators, in any order."""
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
    """Draw a matrix with a row and a column for each annotator, and a value for each pair."""
    heading = LineBuilder()
    heading.add(_pad_pair_label(title, label_cells), "strong")
    for name in annotators:
        heading.add(_pad_pair_label(sanitize(name), PAIR_CELLS), "dim")

    lines = [heading.build()]
    for name in annotators:
        line = LineBuilder()
        line.add(_pad_pair_label(sanitize(name), label_cells), "dim")
        for other in annotators:
            # An annotator and themselves are no pair, so this cell has no value.
            value = value_by_pair.get(frozenset((name, other)))
            line.add(*make_cell(value))
            line.add(" ")
        lines.append(line.build())
    return lines


def _pad_pair_label(text: str, cells: int) -> str:
    """Return a text with a blank at its end, in `cells` cells."""
    return pad(truncate(text, cells - 1), cells)
