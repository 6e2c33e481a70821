"""The queue's rows as cells: which columns there are, how wide they are, and what stands in them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fcreview.sanitise import visible, width
from fcreview.store.rows import QueueRow
from fcreview.text.columns import filled
from fcreview.tui.text.format import centre, cut, cut_middle, cut_type
from fcreview.tui.text.lines import Line, Part
from fcreview.tui.text.theme import symbols, verdict_style

VERDICTS = (("official", "off"), ("rule", "rule"), ("judge", "judge"), ("you", "you"))
DIFFERENCE = "first difference"
LEAST_DIFFERENCE = 16
COMFORTABLE_DIFFERENCE = 24
"""Cells it keeps when the category, which ids mostly begin with, wants room."""
LEAST_NAME = 8
WIDE = 90
"""Cells from which the category is shown."""


@dataclass(frozen=True, slots=True)
class Widths:
    """What the rows seen so far need, in cells; it only grows, so that columns do not jump back and forth."""

    item: int = 4
    category: int = 0
    model: int = 0
    error: int = 0
    judge: bool = False
    """Some row has a judge's verdict: without one the column is left out."""
    models: bool = False
    """Rows of several runs are shown."""
    blind: bool = False

    def with_rows(self, rows: Iterable[QueueRow]) -> Widths:
        item, category, model, error, judge = self.item, self.category, self.model, self.error, self.judge
        for row in rows:
            item = max(item, width(visible(row.id)))
            category = max(category, width(visible(row.category)))
            model = max(model, width(visible(row.model)))
            error = max(error, width(visible(error_of(row))))
            judge = judge or row.judge is not None
        return replace(self, item=item, category=category, model=model, error=error, judge=judge)


@dataclass(frozen=True, slots=True)
class QueueColumns:
    """Names and widths of the columns, in order. All but the first stand behind one blank."""

    columns: tuple[tuple[str, int], ...]

    @classmethod
    def fitted(cls, cells: int, widths: Widths) -> QueueColumns:
        """The columns for a list of this width; its first two cells hold the cursor and a flag."""
        size = 0 if cells < 100 else 1 if cells < 140 else 2
        columns = [("item", min(max(widths.item, 4), (22, 30, 34)[size]))]
        if widths.models:
            columns.append(("model", min(max(widths.model, 5), (16, 24, 30)[size])))
        verdicts = [
            (name, len(title))
            for name, title in VERDICTS
            if name == "you" or not (widths.blind or (name == "judge" and not widths.judge))
        ]
        rest = cells - 2 - sum(size + 1 for _, size in columns + verdicts)
        error = 0 if widths.blind or not widths.error else min(max(widths.error, 5), (18, 28, 34)[size])
        category = min(max(widths.category, 8), (14, 20, 22)[size], rest - error - COMFORTABLE_DIFFERENCE - 3)
        if cells >= WIDE and widths.category and category >= LEAST_NAME:
            columns.append(("category", category))
            rest -= category + 1
        columns += verdicts
        if error and rest - error - 2 < LEAST_DIFFERENCE:
            error = rest - 1 if rest > LEAST_NAME else 0
        if error:
            columns.append(("error", error))
            rest -= error + 1
        if rest - 1 >= LEAST_DIFFERENCE:
            columns.append(("difference", rest - 1))
        return cls(tuple(columns))


EMPTY_COLUMNS = QueueColumns(())


def error_of(row: QueueRow) -> str:
    """The official error type; the recomputed one where only the recomputation fails the item."""
    return row.error_type or (row.rule_error_type or "" if row.rule is False else "")


def queue_heading(columns: QueueColumns, blind: bool = False) -> Line:
    titles = {**dict(VERDICTS), "difference": "question" if blind else DIFFERENCE}
    cells = "".join(" " + filled(cut(titles.get(name, name), size), size) for name, size in columns.columns)
    return ((" " + cells, "dim"),)


def queue_line(row: QueueRow, columns: QueueColumns) -> Line:
    """The row's cells behind one cell for a flag: `i` for import issues, or the sign of a stale review."""
    flag: Part = ("i", "warn") if row.n_issues else (symbols().stale, "warn") if row.stale else (" ", "")
    parts: list[Part] = [flag]
    blind = not any(name == "official" for name, _ in columns.columns)
    for at, (name, size) in enumerate(columns.columns):
        text, style = _cell(row, name, size, blind)
        parts.append((text if at == 0 else " " + text, style))
    return tuple(parts)


def _cell(row: QueueRow, name: str, size: int, blind: bool) -> Part:
    match name:
        case "item":
            return filled(cut_middle(visible(row.id), size), size), ""
        case "model":
            return filled(cut_middle(visible(row.model), size, 1 / 2), size), "dim"
        case "category":
            return filled(cut_middle(visible(row.category), size), size), "dim"
        case "error":
            return filled(cut_type(visible(error_of(row)), size), size), ""
        case "difference":
            if row.first_difference and not blind:
                return filled(cut(visible(row.first_difference), size), size), ""
            return filled(cut(visible(row.question), size), size), "dim"
        case _:
            value = getattr(row, name)
            sign = symbols().yours(value, row.your_parts) if name == "you" else symbols().verdict(value)
            return centre(sign, size), verdict_style(value)
