"""Columns of the queue: selection and widths for the size of the terminal, and the cells of a row."""

from __future__ import annotations

from dataclasses import dataclass

from fcreview.model.sanitize import pad, sanitize
from fcreview.store.rows import ColumnWidths, QueueRow
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    center_text,
    truncate,
    truncate_difference,
    truncate_error_type,
    truncate_middle,
)
from fcreview.tui.text.theme import symbols, verdict_style

VERDICT_COLUMNS = (("official", "off"), ("rule", "recomp."), ("judge", "judge"), ("you", "you"))
"""(field of `QueueRow`, title) of each verdict column."""
DIFFERENCE_TITLE = "first difference"
EQUAL_CALLS = "calls are equal"
MIN_DIFFERENCE_CELLS = 18
"""Smallest width, in cells, of the first difference in a list that also shows the error type."""
COMFORTABLE_DIFFERENCE_CELLS = 24
"""Smallest width, in cells, of the first difference in a list that also shows the category."""
MIN_COLUMN_CELLS = 8
"""Smallest width, in cells, of a column that holds text."""
LEAD_CELLS = 3
"""Width, in cells, of the cursor, the flag and a blank before the first column."""
CATEGORY_MIN_CELLS = 90
"""Smallest width of the list, in cells, at which the category is shown."""


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Columns of the queue from left to right."""

    columns: tuple[tuple[str, int], ...]
    """(name, width in cells) of each column. The width excludes the blank before the column."""
    shows_question: bool = False
    """Whether the column `difference` shows the question instead of the first difference."""

    @classmethod
    def fit(cls, cells: int, widths: ColumnWidths, *, blind: bool = False) -> QueueColumns:
        """Choose the columns for a list that is `cells` wide.

        The first difference has priority over the error type. The error type is omitted if it is the same in all rows,
        and the category if the ids contain the category.
        """
        size = 0 if cells < 100 else 1 if cells < 140 else 2
        omitted = {name for name, exists in (("rule", widths.has_rule), ("judge", widths.has_judge)) if not exists}
        shown = [each for each in VERDICT_COLUMNS if each[0] == "you" or not (blind or each[0] in omitted)]
        verdicts = [(name, len(title)) for name, title in shown]
        columns = [("item", min(max(widths.item, 4), (22, 30, 34)[size]))]
        if widths.model:
            room = cells - LEAD_CELLS - sum(size + 1 for _, size in columns + verdicts) - 1
            columns.append(("model", min(max(widths.model, 5), (16, 24, 30)[size], max(room, MIN_COLUMN_CELLS))))
        rest = cells - LEAD_CELLS - sum(size + 1 for _, size in columns + verdicts)
        error = 0 if blind or not widths.error or widths.same_error else min(max(widths.error, 5), (18, 28, 34)[size])
        category = min(max(widths.category, 8), (14, 20, 22)[size], rest - error - COMFORTABLE_DIFFERENCE_CELLS - 3)
        has_category = widths.category and not widths.id_repeats_category
        if has_category and cells >= CATEGORY_MIN_CELLS and category >= MIN_COLUMN_CELLS:
            columns.append(("category", category))
            rest -= category + 1
        columns += verdicts
        error = min(error, rest - MIN_DIFFERENCE_CELLS - 2)
        if error >= MIN_COLUMN_CELLS:
            columns.append(("error", error))
            rest -= error + 1
        if rest - 1 >= MIN_COLUMN_CELLS:
            columns.append(("difference", rest - 1))
        return cls(tuple(columns), shows_question=blind or not widths.has_difference)


EMPTY_COLUMNS = QueueColumns(())


def shown_error_type(row: QueueRow) -> str:
    """Return the official error type, or the recomputed one if only the recomputed verdict fails the item."""
    return row.error_type or (row.rule_error_type or "" if row.rule is False else "")


def fails_with_equal_calls(row: QueueRow) -> bool:
    """Whether the benchmark fails the item although it has golden and predicted calls.

    The result is only meaningful for an item without a first difference, whose calls are therefore equal.
    """
    return row.official is False and row.n_golden > 0 and row.n_predicted > 0


def queue_heading_line(columns: QueueColumns) -> Line:
    """Return the line with the titles of the columns."""
    titles = {**dict(VERDICT_COLUMNS), "difference": "question" if columns.shows_question else DIFFERENCE_TITLE}
    cells = "".join(" " + pad(truncate(titles.get(name, name), size), size) for name, size in columns.columns)
    return ((" " * (LEAD_CELLS - 1) + cells, "dim"),)


def queue_row_line(row: QueueRow, columns: QueueColumns) -> Line:
    """Return the line of a row: a flag, then the cells.

    The flag is `i` for import issues, or the symbol of a stale review.
    """
    flag: StyledText = ("i", "warn") if row.n_issues else (symbols().stale, "warn") if row.stale else (" ", "")
    parts: list[StyledText] = [flag]
    for name, size in columns.columns:
        text, style = _format_cell(row, name, size, columns.shows_question)
        parts.append((" " + text, style))
    return tuple(parts)


def _format_cell(row: QueueRow, column: str, size: int, shows_question: bool) -> StyledText:
    match column:
        case "item":
            return pad(truncate_middle(sanitize(row.id), size), size), ""
        case "model":
            return pad(truncate_middle(sanitize(row.run_name or row.model), size, 1 / 2), size), "dim"
        case "category":
            return pad(truncate_middle(sanitize(row.category), size), size), "dim"
        case "error":
            return pad(truncate_error_type(sanitize(shown_error_type(row)), size), size), ""
        case "difference":
            if shows_question:
                return pad(truncate(sanitize(row.question), size), size), "dim"
            if row.first_difference is None and fails_with_equal_calls(row):
                return pad(truncate(EQUAL_CALLS, size), size), "dim"
            return pad(truncate_difference(sanitize(row.first_difference or ""), size), size), ""
        case _:
            value = getattr(row, column)
            is_own = column == "you"
            symbol = symbols().annotator_symbol(value, row.your_parts) if is_own else symbols().verdict_symbol(value)
            return center_text(symbol, size), verdict_style(value)
