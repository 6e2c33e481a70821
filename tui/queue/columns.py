"""The queue's rows as cells: which columns there are, how wide they are, and what stands in them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fcreview.model.sanitize import visible
from fcreview.model.wording import filled
from fcreview.store.rows import Extent, QueueRow
from fcreview.tui.text.lines import Line, Part, centre, cut, cut_difference, cut_middle, cut_type
from fcreview.tui.text.theme import symbols, verdict_style

VERDICTS = (("official", "off"), ("rule", "rule"), ("judge", "judge"), ("you", "you"))
DIFFERENCE = "first difference"
ALIKE = "calls are equal"
LEAST_DIFFERENCE = 20
COMFORTABLE_DIFFERENCE = 24
"""Cells it keeps when the category, which ids mostly begin with, wants room."""
LEAST_NAME = 8
LEAD = 3
"""Cells before the first column: cursor, flag and a blank."""
WIDE = 90
"""Cells from which the category is shown."""


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Names and widths of the columns, in order, each behind one blank."""

    columns: tuple[tuple[str, int], ...]

    question: bool = False
    """In the place of the first difference, where there is none."""

    @classmethod
    def fitted(cls, cells: int, extent: Extent, *, blind: bool = False) -> QueueColumns:
        """The columns for a list of this width, behind cursor, flag and a blank. The first difference goes before the
        error type; what is the same in every row is left out, and what an id says already."""
        size = 0 if cells < 100 else 1 if cells < 140 else 2
        left_out = {name for name, shown in (("rule", extent.rule), ("judge", extent.judge)) if not shown}
        verdicts = [(name, len(title)) for name, title in VERDICTS if name == "you" or not (blind or name in left_out)]
        columns = [("item", min(max(extent.item, 4), (22, 30, 34)[size]))]
        if extent.model:
            room = cells - LEAD - sum(size + 1 for _, size in columns + verdicts) - 1
            columns.append(("model", min(max(extent.model, 5), (16, 24, 30)[size], max(room, LEAST_NAME))))
        rest = cells - LEAD - sum(size + 1 for _, size in columns + verdicts)
        error = 0 if blind or not extent.error or extent.same_error else min(max(extent.error, 5), (18, 28, 34)[size])
        category = min(max(extent.category, 8), (14, 20, 22)[size], rest - error - COMFORTABLE_DIFFERENCE - 3)
        if cells >= WIDE and extent.category and not extent.repeats and category >= LEAST_NAME:
            columns.append(("category", category))
            rest -= category + 1
        columns += verdicts
        error = min(error, rest - LEAST_DIFFERENCE - 2)
        if error >= LEAST_NAME:
            columns.append(("error", error))
            rest -= error + 1
        if rest - 1 >= LEAST_NAME:
            columns.append(("difference", rest - 1))
        return cls(tuple(columns), question=blind or not extent.difference)


EMPTY_COLUMNS = QueueColumns(())


def error_of(row: QueueRow) -> str:
    """The official error type; the recomputed one where only the recomputation fails the item."""
    return row.error_type or (row.rule_error_type or "" if row.rule is False else "")


def fails_alike(row: QueueRow) -> bool:
    """Calls were made, none differs from its golden one, and the benchmark fails the item all the same."""
    return row.official is False and row.n_golden > 0 and row.n_predicted > 0


def queue_heading(columns: QueueColumns) -> Line:
    titles = {**dict(VERDICTS), "difference": "question" if columns.question else DIFFERENCE}
    cells = "".join(" " + filled(cut(titles.get(name, name), size), size) for name, size in columns.columns)
    return ((" " * (LEAD - 1) + cells, "dim"),)


def queue_line(row: QueueRow, columns: QueueColumns) -> Line:
    """The row's cells behind one cell for a flag: `i` for import issues, or the sign of a stale review."""
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
            if row.first_difference is None and fails_alike(row):
                return filled(cut(ALIKE, size), size), "dim"
            return filled(cut_difference(visible(row.first_difference or ""), size), size), ""
        case _:
            value = getattr(row, name)
            sign = symbols().yours(value, row.your_parts) if name == "you" else symbols().verdict(value)
            return centre(sign, size), verdict_style(value)
