"""Lay out the table of a figure (`fcreview.tables`) on a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fcreview.model.wording import COLUMN_GAP, compute_column_widths
from fcreview.tables.table import ALWAYS_SHOWN, SEPARATOR, Cell, Column, Cut, Row, Table, Whisker
from fcreview.tui.text.graphics import interval_bar
from fcreview.tui.text.lines import (
    ChoiceTable,
    Line,
    LineBuilder,
    StyledText,
    TableLines,
    TextColumn,
    fit_line,
    lay_out_table,
    line_width,
    replace_missing_value_sign,
    truncate,
    truncate_middle,
)
from fcreview.tui.text.styles import symbols

T = TypeVar("T")
INDENT = "  "
"""Indentation of a row below the row to which it belongs."""
MIN_INTERVAL_CELLS = 12
MAX_INTERVAL_CELLS = 60
"""Minimum and maximum width, in cells, of the drawn intervals."""
INTERVAL_GAP = 2
_CUTTERS: dict[Cut, Callable[[str, int], str]] = {"end": truncate, "middle": truncate_middle}


def use_own_symbols(text: str) -> str:
    """Replace the sign of a missing value and the separator of names by those of this terminal."""
    own = replace_missing_value_sign(text)
    return own.replace(SEPARATOR, f" {symbols().separator} ")


def make_styled_text(cell: Cell) -> StyledText:
    return use_own_symbols(cell.text), cell.style


def lay_out_figure(table: Table, cells: int) -> TableLines:
    """Lay out a table in `cells`. It omits columns with a low priority before it shortens texts."""
    shown = omit_columns(table, cells)
    rows_in_columns = [row for row in shown.rows if not row.is_heading]
    laid_out = lay_out_table(
        [_make_text_column(column) for column in shown.columns],
        [_make_styled_texts(row) for row in rows_in_columns],
        cells,
    )

    lines_in_columns = iter(laid_out.rows)
    lines: list[Line] = []
    for row in shown.rows:
        if row.is_heading:
            # The other cells of the row are empty, so that a heading may be wider than its column.
            lines.append(fit_line((make_styled_text(row.cells[0]),), cells))
        else:
            lines.append(next(lines_in_columns))
    return TableLines(laid_out.heading, lines)


def omit_columns(table: Table, cells: int) -> Table:
    """Omit the columns with the lowest priority until the texts of the others fit into `cells`, or
    all others are always shown.
    """
    shown = table
    while _measure_natural_width(shown) > cells:
        least_important = min(shown.columns, key=lambda column: column.priority)
        if least_important.priority >= ALWAYS_SHOWN:
            break
        shown = shown.without([least_important.title])
    return shown


def _measure_natural_width(table: Table) -> int:
    """Return the width, in cells, at which no text of the table is cut."""
    rows = []
    for row in table.rows:
        if not row.is_heading:
            rows.append([text for text, _ in _make_styled_texts(row)])
    widths = compute_column_widths(table.titles, rows)
    return sum(widths) + COLUMN_GAP * (len(widths) - 1)


def _make_text_column(column: Column) -> TextColumn:
    return TextColumn(
        column.title,
        align_right=column.align_right,
        truncate=_CUTTERS[column.cut],
        min_width=column.min_cells,
    )


def _make_styled_texts(row: Row) -> list[StyledText]:
    texts = [make_styled_text(cell) for cell in row.cells]
    first_text, style = texts[0]
    texts[0] = (INDENT * row.level + first_text, style)
    return texts


@dataclass(slots=True)
class FigureTable(ChoiceTable[T]):
    """Table of a figure in which the user chooses a row.

    If there is room, intervals are drawn at the right, on a common scale up to 1.
    """

    figure: Table = field(kw_only=True)

    def lines(self, cells: int) -> TableLines:
        table_cells = cells - 3
        whiskers = [_find_whisker(row) for row in self.figure.rows]
        known_whiskers = [whisker for whisker in whiskers if whisker is not None]
        figure = self.figure
        if known_whiskers:
            figure = omit_columns(figure, table_cells - MIN_INTERVAL_CELLS - INTERVAL_GAP)

        laid_out = lay_out_figure(figure, table_cells)
        table = TableLines(
            (("  ", ""), *laid_out.heading), [((" ", ""), *line) for line in laid_out.rows]
        )
        return _add_intervals(table, whiskers, known_whiskers, cells)


def make_figure_table(
    figure: Table, values: Sequence[T], *, noun: str, **fields: Any
) -> FigureTable[T]:
    """Return a table whose rows select `values`. `fields`: other fields of `ChoiceTable`."""
    return FigureTable(
        title=figure.title,
        noun=noun,
        columns=[_make_text_column(column) for column in figure.columns],
        rows=[_make_styled_texts(row) for row in figure.rows],
        values=values,
        figure=figure,
        **fields,
    )


def _find_whisker(row: Row) -> Whisker | None:
    return row.graphic if isinstance(row.graphic, Whisker) else None


def _add_intervals(
    table: TableLines,
    whiskers: Sequence[Whisker | None],
    known_whiskers: Sequence[Whisker],
    cells: int,
) -> TableLines:
    """Draw the interval of each row to the right of the table, if there is room."""
    interval_start = line_width(table.heading) + INTERVAL_GAP
    interval_cells = min(cells - interval_start - 1, MAX_INTERVAL_CELLS)
    if not known_whiskers or interval_cells < MIN_INTERVAL_CELLS:
        return table

    lowest = min(0.0, *(whisker.low for whisker in known_whiskers))
    heading = LineBuilder()
    heading.add_line(table.heading)
    heading.pad_to(interval_start)
    heading.add(_format_scale(lowest, interval_cells), "dim")

    rows = []
    for row, whisker in zip(table.rows, whiskers, strict=True):
        line = LineBuilder()
        line.add_line(row)
        if whisker is not None:
            line.pad_to(interval_start - 1)
            line.add_line(_draw_interval(whisker, lowest, interval_cells))
        rows.append(line.build())
    return TableLines(heading.build(), rows)


def _format_scale(lowest: float, cells: int) -> str:
    """Return the ends of the scale, such as `-0.2` and `1`, `cells` apart."""
    lowest_text = f"{lowest:.1f}".rstrip("0").rstrip(".")
    return lowest_text + "1".rjust(cells - len(lowest_text))


def _draw_interval(whisker: Whisker, lowest: float, cells: int) -> Line:
    return interval_bar(whisker.low, whisker.value, whisker.high, scale=(lowest, 1.0), cells=cells)
