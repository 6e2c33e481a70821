"""Lay out the table of a figure (`fcreview.tables`) on a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fcreview.matching.clusters import VALUE_ARROW
from fcreview.model.sanitize import display_width, pad
from fcreview.model.wording import COLUMN_GAP, compute_column_widths
from fcreview.tables.table import (
    ALWAYS_SHOWN,
    SEPARATOR,
    Bar,
    Cell,
    Cut,
    Row,
    Table,
    Whisker,
)
from fcreview.tui.text.graphics import interval_bar, share_bar
from fcreview.tui.text.lines import (
    CHOICE_HEADING_PREFIX,
    CHOICE_MARGIN,
    CHOICE_ROW_PREFIX,
    ChoiceTable,
    Line,
    StyledText,
    TableLines,
    TextColumn,
    fit_line,
    lay_out_table,
    make_line,
    replace_missing_value_sign,
    truncate,
    truncate_error_type,
    truncate_middle,
)
from fcreview.tui.text.short_names import shorten_run_name
from fcreview.tui.text.styles import symbols

T = TypeVar("T")
INDENT = "  "
"""Indentation of a row below the row to which it belongs."""
MIN_INTERVAL_CELLS = 12
MAX_INTERVAL_CELLS = 60
"""Minimum and maximum width, in cells, of the drawn intervals."""
GRAPHIC_PRIORITY = 20
"""Priority of the drawn intervals, on the scale of `Column.priority`."""
WIDE_BAR_TABLE_CELLS = 96
"""Width of a table, in cells, from which its bars are wide."""
NARROW_BAR_CELLS = 4
WIDE_BAR_CELLS = 10


VALUE_INDENT = 2
"""Width, in cells, of the mark or blanks before a pair of values."""


def truncate_value_pair(text: str, width: int) -> str:
    """Cut the two values of `▸ golden → predicted`, so that the beginnings of both are visible.

    If one value is short, the other one gets the rest of the room.
    """
    mark = text[:VALUE_INDENT]
    values = text[VALUE_INDENT:].split(VALUE_ARROW)
    # A text with another number of arrows is no pair of values.
    if display_width(text) <= width or len(values) != 2:
        return truncate_middle(text, width)

    golden, predicted = values
    cells_for_both = max(width - VALUE_INDENT - len(VALUE_ARROW), 2)
    cells_left_by_predicted = cells_for_both - display_width(predicted)
    max_golden_cells = max(cells_for_both // 2, cells_left_by_predicted)
    golden_cells = min(display_width(golden), max_golden_cells)

    short_golden = truncate(golden, golden_cells)
    short_predicted = truncate(predicted, cells_for_both - golden_cells)
    return mark + short_golden + VALUE_ARROW + short_predicted


def truncate_at_word(text: str, width: int) -> str:
    """Cut a text after a word: `6 city …`. Cut a list of names after the first name.

    A single name has no such place, so it is cut in its middle.
    """
    if display_width(text) <= width:
        return text

    ending = f" {symbols().ellipsis}"
    first_name, separator, _ = text.partition(f" {symbols().separator} ")
    is_list = bool(separator)
    if is_list:
        if display_width(first_name + ending) <= width:
            return first_name + ending
        return truncate_middle(first_name, width)

    beginning = truncate(text, width).removesuffix(symbols().ellipsis)
    # Only a blank in the second half counts, so that enough of the text stays.
    last_blank = beginning.rfind(" ", len(beginning) // 2)
    if last_blank >= 0:
        return beginning[:last_blank] + ending
    return truncate_middle(text, width)


def truncate_id_list(text: str, width: int) -> str:
    """Omit ids at the end of a list until it fits. Cut a single id in its middle."""
    if display_width(text) <= width:
        return text
    last_blank = truncate(text, width - 1).rfind(" ")
    if last_blank > 0:
        return f"{text[:last_blank]} {symbols().ellipsis}"
    first_id, _, _ = text.partition(" ")
    return truncate_middle(first_id, width)


_CUTTERS: dict[Cut, Callable[[str, int], str]] = {
    "end": truncate,
    "middle": truncate_middle,
    "run name": truncate_middle,
    "word": truncate_at_word,
    "error type": truncate_error_type,
    "value pair": truncate_value_pair,
    "id list": truncate_id_list,
}
"""Functions that shorten the texts of columns."""


def use_own_symbols(text: str) -> str:
    """Replace the usual signs for missing values and between names by those for this terminal."""
    own = replace_missing_value_sign(text)
    return own.replace(SEPARATOR, f" {symbols().separator} ")


def make_styled_text(cell: Cell) -> StyledText:
    return use_own_symbols(cell.text), cell.style


def lay_out_figure(table: Table, cells: int) -> TableLines:
    """Lay out a table of figures in `cells`. One of its columns can be a graphic with drawn
    intervals.

    If it is too wide, columns with a low priority are omitted before texts are shortened.
    """
    shown = omit_parts(table, cells)
    graphic_cells = _choose_graphic_width(shown, cells)
    text_cells = cells
    if shown.has_bars and graphic_cells:
        text_cells -= graphic_cells + COLUMN_GAP

    # The texts are laid out first, and the graphics are inserted into the finished lines.
    rows_in_columns = [row for row in shown.rows if not row.is_heading]
    texts = lay_out_table(
        _make_text_columns(shown),
        [_make_styled_texts(row) for row in rows_in_columns],
        text_cells,
    )
    if not graphic_cells:
        return TableLines(texts.heading, _add_row_headings(shown, texts.rows, cells))

    scale = _format_scale(shown, graphic_cells)
    heading = _insert_graphic(texts.heading, shown, scale)
    lines = []
    for row, text_line in zip(rows_in_columns, texts.rows, strict=True):
        graphic = _draw_graphic(row, shown, graphic_cells)
        lines.append(_insert_graphic(text_line, shown, graphic))
    return TableLines(heading, _add_row_headings(shown, lines, cells))


def _add_row_headings(table: Table, lines: Sequence[Line], cells: int) -> list[Line]:
    """Return the lines of a table with its headings between them. `lines` has the other rows."""
    all_lines: list[Line] = []
    remaining_lines = iter(lines)
    for row in table.rows:
        if row.is_heading:
            # A heading has only one cell, so it may be wider than its column.
            title = make_styled_text(row.cells[0])
            all_lines.append(fit_line((title,), cells))
        else:
            all_lines.append(next(remaining_lines))
    return all_lines


def _choose_graphic_width(table: Table, cells: int) -> int:
    """Return the width of the bars or of the drawn intervals. 0 if nothing is drawn.

    Bars have a fixed width. Intervals get the cells that the texts leave.
    """
    if table.graphic_at is None:
        return 0
    if table.has_bars:
        return WIDE_BAR_CELLS if cells >= WIDE_BAR_TABLE_CELLS else NARROW_BAR_CELLS
    free_cells = cells - _measure_natural_width(table) - COLUMN_GAP
    return min(free_cells, MAX_INTERVAL_CELLS)


def omit_parts(table: Table, cells: int) -> Table:
    """Omit columns with a low priority until the other columns fit into `cells`.

    The drawn intervals (whiskers) are omitted like a column, and bars never. A table without
    intervals and bars needs no room for them. Columns that are always shown stay, even if they do
    not fit.
    """
    shown = table
    if not table.whiskers and not table.has_bars:
        shown = replace(shown, graphic_at=None)

    while _measure_smallest_width(shown) > cells:
        smaller_table = _omit_least_important_part(shown)
        if smaller_table is None:
            return shown
        shown = smaller_table
    return shown


def _omit_least_important_part(table: Table) -> Table | None:
    """Return the table without its drawn intervals or without the columns of lowest priority.

    None if the columns that are left are always shown.
    """
    lowest_priority = min(column.priority for column in table.columns)
    has_intervals = table.graphic_at is not None and not table.has_bars
    if has_intervals and lowest_priority > GRAPHIC_PRIORITY:
        # All columns are more important than the intervals.
        return replace(table, graphic_at=None)
    if lowest_priority < ALWAYS_SHOWN:
        return _without_columns_of_priority(table, lowest_priority)
    return None


def _without_columns_of_priority(table: Table, priority: int) -> Table:
    """Return the table without the columns of a priority.

    They are omitted together, because half of a pair, such as `only B` without `only A`, would
    mislead.
    """
    titles = [column.title for column in table.columns if column.priority == priority]
    return table.without(titles)


def _measure_smallest_width(table: Table) -> int:
    """Return the width, in cells, at which no text is cut and intervals can be drawn."""
    width = _measure_natural_width(table)
    if table.has_bars:
        width += COLUMN_GAP + NARROW_BAR_CELLS
    elif table.graphic_at is not None:
        width += COLUMN_GAP + MIN_INTERVAL_CELLS
    return width


def _measure_natural_width(table: Table) -> int:
    """Return the width, in cells, at which no text of the table is cut."""
    rows = []
    for row in table.rows:
        if not row.is_heading:
            rows.append([text for text, _ in _make_styled_texts(row)])
    widths = compute_column_widths(table.titles, rows)
    return sum(widths) + COLUMN_GAP * (len(widths) - 1)


def _make_text_columns(table: Table) -> list[TextColumn]:
    """Return the columns of the texts of a table. Each one knows how its texts are shortened."""
    texts_of_rows = [_make_styled_texts(row) for row in table.rows if not row.is_heading]
    columns = []
    for index, column in enumerate(table.columns):
        names = [texts[index][0] for texts in texts_of_rows]
        text_column = TextColumn(
            use_own_symbols(column.title),
            align_right=column.align_right,
            truncate=_choose_cutter(column.cut, names),
            min_width=column.min_cells,
        )
        columns.append(text_column)
    return columns


def _choose_cutter(cut: Cut, names: Sequence[str]) -> Callable[[str, int], str]:
    """Return the function that shortens the texts of a column. `names`: all of its texts."""
    if cut != "run name":
        return _CUTTERS[cut]
    return lambda name, width: shorten_run_name(name, names, width)


def _make_styled_texts(row: Row) -> list[StyledText]:
    texts = [make_styled_text(cell) for cell in row.cells]
    first_text, style = texts[0]
    texts[0] = (INDENT * row.level + first_text, style)
    return texts


def _insert_graphic(line: Line, table: Table, graphic: Line) -> Line:
    """Insert a graphic into a line of the table, before the column `table.graphic_at`.

    The line has a part for each column. Without a graphic, it is unchanged.
    """
    if table.graphic_at is None or not graphic:
        return line
    columns_before = line[: table.graphic_at]
    columns_after = line[table.graphic_at :]
    gap: StyledText = (" " * COLUMN_GAP, "")
    return (*columns_before, gap, *graphic, *columns_after)


def _format_scale(table: Table, cells: int) -> Line:
    """Return the heading above drawn intervals: the two ends of their scale, such as `-0.2` and
    `1`.

    On the scale of differences, only the position of 0 is marked.
    """
    if table.has_bars:
        return make_line(" " * cells)
    lowest, highest = table.scale_ends
    if table.scale == "difference":
        range_of_scale = (highest - lowest) or 1
        share_below_zero = -lowest / range_of_scale
        zero_position = round(share_below_zero * (cells - 1))
        return make_line(pad(" " * zero_position + "0", cells), "dim")

    lowest_text = f"{lowest:.1f}".removesuffix(".0")
    highest_text = f"{highest:.1f}".removesuffix(".0").rjust(cells - len(lowest_text))
    return make_line(lowest_text + highest_text, "dim")


def _draw_graphic(row: Row, table: Table, cells: int) -> Line:
    """Draw the bar of a row, or its interval with a mark at the official rate or at a difference
    of 0.
    """
    if isinstance(row.graphic, Bar):
        return share_bar(row.graphic.share, cells, "fail")
    whisker = row.graphic
    if not isinstance(whisker, Whisker):
        return make_line(" " * cells)
    marked_value = 0.0 if table.scale == "difference" else whisker.official
    return interval_bar(
        whisker.low,
        whisker.value,
        whisker.high,
        scale=table.scale_ends,
        cells=cells,
        marked_value=marked_value,
    )


@dataclass(slots=True)
class FigureTable(ChoiceTable[T]):
    """Table of a figure in which the user chooses a row."""

    figure: Table = field(kw_only=True)

    def lines(self, cells: int) -> TableLines:
        table = lay_out_figure(self.figure, cells - CHOICE_MARGIN)
        heading = CHOICE_HEADING_PREFIX + table.heading
        rows = [CHOICE_ROW_PREFIX + row for row in table.rows]
        return TableLines(heading, rows)


def make_figure_table(
    figure: Table, values: Sequence[T], *, noun: str, **fields: Any
) -> FigureTable[T]:
    """Return a figure as a table to choose from. Choosing a row gives the value at its position in
    `values`.

    `fields`: other fields of `ChoiceTable`.
    """
    return FigureTable(
        title=figure.title,
        noun=noun,
        columns=_make_text_columns(figure),
        rows=[_make_styled_texts(row) for row in figure.rows],
        values=values,
        figure=figure,
        **fields,
    )
