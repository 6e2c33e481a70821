"""Columns of the queue: which ones there are, their widths, and the cells of a row."""

from __future__ import annotations

from dataclasses import dataclass

from fcreview.model.sanitize import visible
from fcreview.model.wording import filled
from fcreview.store.rows import Extent, QueueRow
from fcreview.tui.text.lines import Line, Part, centre, cut, cut_difference, cut_middle, cut_type
from fcreview.tui.text.theme import symbols, verdict_style

VERDICTS = (("official", "off"), ("rule", "rule"), ("judge", "judge"), ("you", "you"))
DIFFERENCE = "first difference"
EQUAL_CALLS = "calls are equal"
MIN_DIFFERENCE = 20
COMFORTABLE_DIFFERENCE = 24
"""Width in cells that the first difference keeps when the category column is added."""
MIN_NAME = 8
LEAD = 3
"""Width in cells before the first column: cursor, flag and a blank."""
WIDE = 90
"""Width in cells from which the category is shown."""


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Names and widths of the columns, in order. A blank precedes each column."""

    columns: tuple[tuple[str, int], ...]

    question: bool = False
    """Show the question instead of the first difference."""

    @classmethod
    def fit(cls, cells: int, extent: Extent, *, blind: bool = False) -> QueueColumns:
        """Choose the columns for a list of `cells` cells. The first difference has priority over the error type. A
        column is omitted if it is the same in all rows or repeats the id."""
        size = 0 if cells < 100 else 1 if cells < 140 else 2
        left_out = {name for name, shown in (("rule", extent.rule), ("judge", extent.judge)) if not shown}
        verdicts = [(name, len(title)) for name, title in VERDICTS if name == "you" or not (blind or name in left_out)]
        columns = [("item", min(max(extent.item, 4), (22, 30, 34)[size]))]
        if extent.model:
            room = cells - LEAD - sum(size + 1 for _, size in columns + verdicts) - 1
            columns.append(("model", min(max(extent.model, 5), (16, 24, 30)[size], max(room, MIN_NAME))))
        rest = cells - LEAD - sum(size + 1 for _, size in columns + verdicts)
        error = 0 if blind or not extent.error or extent.same_error else min(max(extent.error, 5), (18, 28, 34)[size])
        category = min(max(extent.category, 8), (14, 20, 22)[size], rest - error - COMFORTABLE_DIFFERENCE - 3)
        if cells >= WIDE and extent.category and not extent.repeats and category >= MIN_NAME:
            columns.append(("category", category))
            rest -= category + 1
        columns += verdicts
        error = min(error, rest - MIN_DIFFERENCE - 2)
        if error >= MIN_NAME:
            columns.append(("error", error))
            rest -= error + 1
        if rest - 1 >= MIN_NAME:
            columns.append(("difference", rest - 1))
        return cls(tuple(columns), question=blind or not extent.difference)


EMPTY_COLUMNS = QueueColumns(())


def error_of(row: QueueRow) -> str:
    """Official error type, or the recomputed one if only the recomputed verdict fails the item."""
    return row.error_type or (row.rule_error_type or "" if row.rule is False else "")


def fails_with_equal_calls(row: QueueRow) -> bool:
    """Whether the benchmark fails the item although it has calls; used where no call differs."""
    return row.official is False and row.n_golden > 0 and row.n_predicted > 0


def queue_heading(columns: QueueColumns) -> Line:
    titles = {**dict(VERDICTS), "difference": "question" if columns.question else DIFFERENCE}
    cells = "".join(" " + filled(cut(titles.get(name, name), size), size) for name, size in columns.columns)
    return ((" " * (LEAD - 1) + cells, "dim"),)


def queue_line(row: QueueRow, columns: QueueColumns) -> Line:
    """Cells of a row after a flag: `i` for import issues, or the sign of a stale review."""
    flag: Part = ("i", "warn") if row.n_issues else (symbols().stale, "warn") if row.stale else (" ", "")
    parts: list[Part] = [flag]
    for name, size in columns.columns:
        text, style = _cell(row, name, size, columns.question)
        parts.append((" " + text, style))
    return tuple(parts)


def _cell(row: QueueRow, name: str, size: int, question: bool) -> Part:
    match name:
        case "item":
            return filled(cut_middle(visible(row.id), size), size), ""
        case "model":
            return filled(cut_middle(visible(row.run_name or row.model), size, 1 / 2), size), "dim"
        case "category":
            return filled(cut_middle(visible(row.category), size), size), "dim"
        case "error":
            return filled(cut_type(visible(error_of(row)), size), size), ""
        case "difference":
            if question:
                return filled(cut(visible(row.question), size), size), "dim"
            if row.first_difference is None and fails_with_equal_calls(row):
                return filled(cut(EQUAL_CALLS, size), size), "dim"
            return filled(cut_difference(visible(row.first_difference or ""), size), size), ""
        case _:
            value = getattr(row, name)
            sign = symbols().yours(value, row.your_parts) if name == "you" else symbols().verdict(value)
            return centre(sign, size), verdict_style(value)
