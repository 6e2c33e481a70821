"""Columns of the queue: which ones there are, their widths, and the cells of a row."""

from __future__ import annotations

from dataclasses import dataclass

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import pad_cell
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

VERDICT_COLUMNS = (("official", "off"), ("rule", "rule"), ("judge", "judge"), ("you", "you"))
DIFFERENCE_TITLE = "first difference"
EQUAL_CALLS = "calls are equal"
MIN_DIFFERENCE_CELLS = 20
COMFORTABLE_DIFFERENCE_CELLS = 24
"""Width in cells that the first difference keeps when the category column is added."""
MIN_COLUMN_CELLS = 8
LEAD_CELLS = 3
"""Width in cells before the first column: cursor, flag and a blank."""
CATEGORY_MIN_CELLS = 90
"""Width in cells from which the category is shown."""


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Names and widths of the columns, in order. A blank precedes each column."""

    columns: tuple[tuple[str, int], ...]

    shows_question: bool = False
    """Show the question instead of the first difference."""

    @classmethod
    def fit(cls, cells: int, extent: ColumnWidths, *, blind: bool = False) -> QueueColumns:
        """Choose the columns for a list of `cells` cells. The first difference has priority over the error type. A
        column is omitted if it is the same in all rows or repeats the id."""
        size = 0 if cells < 100 else 1 if cells < 140 else 2
        left_out = {name for name, shown in (("rule", extent.has_rule), ("judge", extent.has_judge)) if not shown}
        verdicts = [(name, len(title)) for name, title in VERDICT_COLUMNS if name == "you" or not (blind or name in left_out)]
        columns = [("item", min(max(extent.item, 4), (22, 30, 34)[size]))]
        if extent.model:
            room = cells - LEAD_CELLS - sum(size + 1 for _, size in columns + verdicts) - 1
            columns.append(("model", min(max(extent.model, 5), (16, 24, 30)[size], max(room, MIN_COLUMN_CELLS))))
        rest = cells - LEAD_CELLS - sum(size + 1 for _, size in columns + verdicts)
        error = 0 if blind or not extent.error or extent.same_error else min(max(extent.error, 5), (18, 28, 34)[size])
        category = min(max(extent.category, 8), (14, 20, 22)[size], rest - error - COMFORTABLE_DIFFERENCE_CELLS - 3)
        if cells >= CATEGORY_MIN_CELLS and extent.category and not extent.id_repeats_category and category >= MIN_COLUMN_CELLS:
            columns.append(("category", category))
            rest -= category + 1
        columns += verdicts
        error = min(error, rest - MIN_DIFFERENCE_CELLS - 2)
        if error >= MIN_COLUMN_CELLS:
            columns.append(("error", error))
            rest -= error + 1
        if rest - 1 >= MIN_COLUMN_CELLS:
            columns.append(("difference", rest - 1))
        return cls(tuple(columns), shows_question=blind or not extent.has_difference)


EMPTY_COLUMNS = QueueColumns(())


def shown_error_type(row: QueueRow) -> str:
    """Official error type, or the recomputed one if only the recomputed verdict fails the item."""
    return row.error_type or (row.rule_error_type or "" if row.rule is False else "")


def fails_with_equal_calls(row: QueueRow) -> bool:
    """Whether the benchmark fails the item although it has calls; used where no call differs."""
    return row.official is False and row.n_golden > 0 and row.n_predicted > 0


def queue_heading_line(columns: QueueColumns) -> Line:
    titles = {**dict(VERDICT_COLUMNS), "difference": "question" if columns.shows_question else DIFFERENCE_TITLE}
    cells = "".join(" " + pad_cell(truncate(titles.get(name, name), size), size) for name, size in columns.columns)
    return ((" " * (LEAD_CELLS - 1) + cells, "dim"),)


def queue_row_line(row: QueueRow, columns: QueueColumns) -> Line:
    """Cells of a row after a flag: `i` for import issues, or the sign of a stale review."""
    flag: StyledText = ("i", "warn") if row.n_issues else (symbols().stale, "warn") if row.stale else (" ", "")
    parts: list[StyledText] = [flag]
    for name, size in columns.columns:
        text, style = _cell(row, name, size, columns.shows_question)
        parts.append((" " + text, style))
    return tuple(parts)


def _cell(row: QueueRow, name: str, size: int, question: bool) -> StyledText:
    match name:
        case "item":
            return pad_cell(truncate_middle(sanitize(row.id), size), size), ""
        case "model":
            return pad_cell(truncate_middle(sanitize(row.run_name or row.model), size, 1 / 2), size), "dim"
        case "category":
            return pad_cell(truncate_middle(sanitize(row.category), size), size), "dim"
        case "error":
            return pad_cell(truncate_error_type(sanitize(shown_error_type(row)), size), size), ""
        case "difference":
            if question:
                return pad_cell(truncate(sanitize(row.question), size), size), "dim"
            if row.first_difference is None and fails_with_equal_calls(row):
                return pad_cell(truncate(EQUAL_CALLS, size), size), "dim"
            return pad_cell(truncate_difference(sanitize(row.first_difference or ""), size), size), ""
        case _:
            value = getattr(row, name)
            sign = (
                symbols().annotator_symbol(value, row.your_parts) if name == "you" else symbols().verdict_symbol(value)
            )
            return center_text(sign, size), verdict_style(value)
