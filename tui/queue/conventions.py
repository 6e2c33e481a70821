"""Build the table of a run's figures by the conventions of each tool.

Choosing a row opens the items that its convention counts differently from the run's own tool.
"""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_metric_value
from fcreview.stats.conventions import ConventionRow, RunConventions, find_spreads
from fcreview.tui.queue.statistics import EMPTY_CELL, FigureRow
from fcreview.tui.text.lines import StyledText, TextColumn, truncate_middle
from fcreview.tui.text.theme import symbols

NOTE_MIN_CELLS = 100
"""Minimum width of the table, in cells, for showing notes."""


def convention_columns(cells: int) -> list[TextColumn]:
    """Return the columns of the table for a table that is `cells` wide."""
    columns = [
        TextColumn("run, figure and convention", truncate=truncate_middle, min_width=20),
        TextColumn("value", align_right=True, min_width=8),
        TextColumn("trials", align_right=True),
        TextColumn("items", align_right=True),
    ]
    return [*columns, TextColumn("note")] if cells >= NOTE_MIN_CELLS else columns


def convention_rows(runs: Sequence[RunConventions], cells: int) -> list[FigureRow]:
    """Return a heading for each figure of each run with its range, followed by its conventions.

    A row opens the items that its convention counts differently from the run's own tool.
    """
    n_columns, separator = len(convention_columns(cells)), f" {symbols().separator} "
    rows: list[FigureRow] = []
    for run in runs:
        ranges = {spread.figure: spread.high - spread.low for spread in find_spreads(run.rows)}
        last = ""
        for each in run.rows:
            if each.figure != last:
                last = each.figure
                points = 100 * ranges.get(last, 0.0)
                parts = [sanitize(run.name), last, *([f"{points:.1f} points apart"] if points > 1e-7 else [])]
                rows.append(FigureRow([(separator.join(parts), "strong"), *[EMPTY_CELL] * (n_columns - 1)], ()))
            rows.append(_convention_row(each, run.find_items(each), n_columns))
    return rows


def _convention_row(row: ConventionRow, items: tuple[int, ...], n_columns: int) -> FigureRow:
    value = symbols().none if row.value is None else format_metric_value(row.value, "share", 2)
    cells: list[StyledText] = [
        (f"  {'*' if row.is_own else ' '} {row.convention}", ""),
        (value, "strong"),
        (f"{row.n:,}", ""),
        (f"{len(items):,}" if items else "", ""),
        (sanitize(row.note or row.rule), "dim"),
    ]
    return FigureRow(cells[:n_columns], items)
