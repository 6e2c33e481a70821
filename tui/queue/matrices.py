"""Draw the figures below the tables of statistics: confusion matrices, and heat maps of pairs of annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_verdict
from fcreview.stats.calibration_pairs import format_source_and_criterion
from fcreview.tui.text.graphics import heat_cell, join_boxes
from fcreview.tui.text.lines import Line, StyledText, line_width, make_line, truncate
from fcreview.tui.text.theme import HEAT, symbols

if TYPE_CHECKING:
    from fcreview.stats.calibration_pairs import Calibration, ConfusionCell
    from fcreview.tui.queue.statistics import AgreementCell, CalibrationGroup, FigureRow

MATRIX_CELLS = 14
"""Width of a confusion matrix's cell with the blank on its right, in cells of the terminal."""
PAIR_CELLS = 8
"""Width of a heat map's cell with the blank on its right, in cells of the terminal."""
LABEL_CELLS = 10
"""Largest width of the names on the left of a matrix, in cells of the terminal."""
GAP = 2
"""Additional width between two matrices, in cells of the terminal."""


def confusion_matrices(groups: Sequence[CalibrationGroup], row: FigureRow, cells: int, *, tall: bool) -> list[Line]:
    """Return the matrix of the row's group and, if they fit beside it, the matrices of groups with the same name."""
    here = groups[row.group]
    matrices = [_matrix_lines(here.calibration, row.cell, tall=tall, is_here=True)]
    for group in groups:
        if group is not here and group.calibration.name == here.calibration.name:
            other = _matrix_lines(group.calibration, None, tall=tall, is_here=False)
            fits = sum(line_width(each[0]) + GAP for each in matrices) + line_width(other[0]) <= cells
            if fits and len(other) == len(matrices[0]):
                matrices.insert(len(matrices) if groups.index(group) > row.group else len(matrices) - 1, other)
    return join_boxes(matrices) if line_width(matrices[0][0]) <= cells else []


def _matrix_lines(calibration: Calibration, here: ConfusionCell | None, *, tall: bool, is_here: bool) -> list[Line]:
    """Return a confusion matrix: automatic verdicts from top to bottom, human verdicts from left to right.

    A cell has its count and its share of the items with this human verdict. `here`: cell under the cursor. `tall`:
    whether a cell has three rows. `is_here`: whether the cursor is in the group of the matrix.
    """
    values = [value for cell in calibration.cells for value in (cell.automatic, cell.human)]
    values = [True, False] if calibration.binary else sorted({repr(each): each for each in values}.values(), key=_rank)
    texts = [truncate(format_verdict(value, calibration.criterion), LABEL_CELLS) for value in values]
    left = max(map(display_width, texts)) + 1
    heads = "".join(pad(f"human {text}", MATRIX_CELLS) for text in texts)
    title = f" {symbols().separator} ".join(format_source_and_criterion(calibration))
    size = left + len(values) * MATRIX_CELLS
    lines: list[Line] = [make_line(pad(truncate(title, size), size), "strong" if is_here else "dim")]
    lines.append(make_line(" " * left + heads, "dim"))
    totals = [sum(cell.n for cell in calibration.cells if cell.human == human) for human in values]
    for automatic, text in zip(values, texts, strict=True):
        body: list[StyledText] = [(pad(text, left), "dim")]
        blank: list[StyledText] = [(" " * left, "")]
        for human, total in zip(values, totals, strict=True):
            cell = next((c for c in calibration.cells if (c.automatic, c.human) == (automatic, human)), None)
            inner, style = _matrix_cell(cell, total, is_equal=automatic == human)
            mark = symbols().cursor if cell is not None and cell is here else " "
            body += [(mark + inner, style), (" ", "")]
            blank += [(" " * (MATRIX_CELLS - 1), style if cell is not None else ""), (" ", "")]
        lines += [tuple(blank), tuple(body), tuple(blank)] if tall else [tuple(body)]
    return lines


def _rank(value: Any) -> tuple[int, Any]:
    """Return the sort key of a verdict: numbers in ascending order, then labels."""
    return (0, value) if isinstance(value, (int, float)) else (1, repr(value))


def _matrix_cell(cell: ConfusionCell | None, total: int, *, is_equal: bool) -> StyledText:
    """Return the count of a cell and its share of `total`, on a background from red (errors) to green."""
    sign = symbols().equal if is_equal else symbols().differs
    if cell is None:
        return pad(f"{sign}{0:>4}", MATRIX_CELLS - 2), "dim"
    share = cell.n / total
    heat = round(50 + 50 * share if is_equal else 50 - 50 * share)
    return pad(f"{sign}{cell.n:>4,} {100 * share:5.1f}", MATRIX_CELLS - 2), f"{HEAT}{heat}"


def pair_maps(members: Sequence[AgreementCell], cells: int, rows: int) -> tuple[list[Line], int]:
    """Return (lines, number of annotators shown) of the heat maps of a group: equal labels, and Cohen's kappa.

    `rows`: largest number of lines.
    """
    pairs = [each.coefficient for each in members if len(each.coefficient.annotators) == 2]
    names = sorted({name for each in pairs for name in each.annotators})
    left = min(max(display_width(sanitize(name)) for name in ("equal %", *names)), LABEL_CELLS) + 1
    n = min(len(names), rows - 1, (cells - left) // PAIR_CELLS)
    if n < 2:
        return [], 0
    maps = []
    for metric, title in (("percent", "equal %"), ("cohen", "kappa")):
        values = {frozenset(each.annotators): each.value for each in pairs if each.metric == metric}
        maps.append(_pair_map(title, names[:n], values, left))
    shown = maps if 2 * line_width(maps[0][0]) + GAP <= cells else maps[:1]
    return join_boxes(shown), n


def _pair_map(title: str, names: Sequence[str], values: Mapping[frozenset[str], float | None], left: int) -> list[Line]:
    texts = [sanitize(name) for name in names]
    heads = "".join(pad(truncate(text, PAIR_CELLS - 1), PAIR_CELLS) for text in texts)
    lines: list[Line] = [((pad(truncate(title, left - 1), left), "strong"), (heads, "dim"))]
    for name, text in zip(names, texts, strict=True):
        line: list[StyledText] = [(pad(truncate(text, left - 1), left), "dim")]
        for other in names:
            value = None if other == name else values.get(frozenset((name, other)))
            cell = heat_cell(value, PAIR_CELLS - 1)
            if value is not None and title == "kappa":
                cell = f"{value:.2f}".center(PAIR_CELLS - 1), f"{HEAT}{round(100 * max(value, 0.0))}"
            line += [cell, (" ", "")]
        lines.append(tuple(line))
    return lines
