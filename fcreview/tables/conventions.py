"""Table of a run's accuracy, pass^k and pass@k by the counting conventions of several programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_metric_value
from fcreview.stats.conventions import (
    ConventionRow,
    RunConventions,
    find_spreads,
    format_convention_without_incidents,
)
from fcreview.tables.table import SEPARATOR, Cell, Column, Row, Table, make_heading_row

NO_CONVENTIONS = "fcreview knows no other counting conventions for this benchmark"
OWN_MARK = "*"
OWN_NOTE = f"{OWN_MARK} marks the convention of the program that produced the run."
DIFFERENCES_NOTE = (
    "The last column lists items that this convention and the program's convention count"
    " differently."
)
MAX_LISTED_ITEMS = 3
"""Maximum number of item ids in the column with the differences of a convention."""
ROUNDING_ERROR = 1e-9
"""Shares that differ by no more are equal."""


def build_convention_table(runs: Sequence[RunConventions]) -> Table:
    """Return a table of figures, such as pass^2, by different conventions of counting trials.

    Each figure of each run has a heading, and a row for each convention. A row opens the items that
    its convention counts differently.
    """
    columns = [
        Column("figure and convention", cut="middle", min_cells=20),
        Column("value", align_right=True, min_cells=8),
    ]
    has_incidents = any(row.incidents for run in runs for row in run.rows)
    if has_incidents:
        columns.append(Column("w/o incidents", align_right=True))
    columns.append(Column("trials", align_right=True))
    columns.append(Column("tasks", align_right=True, priority=2))
    columns.append(Column("differences", priority=1))

    rows: list[Row] = []
    for run in runs:
        for figure, conventions in groupby(run.rows, lambda row: row.figure):
            heading = _describe_figure(run, figure, names_run=len(runs) > 1)
            rows.append(make_heading_row(heading, len(columns)))
            for convention in conventions:
                rows.append(_build_row(run, convention, has_incidents=has_incidents))
    return Table(columns, rows, title="conventions", notes=[OWN_NOTE, DIFFERENCES_NOTE])


def _describe_figure(run: RunConventions, figure: str, *, names_run: bool) -> str:
    """Return `accuracy · 40.00 % to 45.00 %, depending on the convention (5.0 points)`."""
    parts = [sanitize(run.name)] if names_run else []
    parts.append(figure)
    for spread in find_spreads(run.rows):
        difference = spread.high - spread.low
        if spread.figure != figure or difference <= ROUNDING_ERROR:
            continue
        low = format_metric_value(spread.low, "share", 2)
        high = format_metric_value(spread.high, "share", 2)
        points = f"{100 * difference:.1f} points"
        parts.append(f"{low} to {high}, depending on the convention ({points})")
    return SEPARATOR.join(parts)


def _build_row(run: RunConventions, row: ConventionRow, *, has_incidents: bool) -> Row:
    """Return the row of a convention: a way to compute the figure, such as leaving out incidents,
    with the value that it gives.
    """
    mark = OWN_MARK if row.is_own else " "
    cells = [
        Cell(f"{mark} {row.convention}"),
        Cell(format_metric_value(row.value, "share", 2), "strong"),
    ]
    if has_incidents:
        cells.append(Cell(format_convention_without_incidents(row)))
    cells.append(Cell(f"{row.n:,}"))
    cells.append(Cell(f"{row.n_tasks:,}"))
    cells.append(Cell(sanitize(_describe_differences(row)), "dim"))
    return Row(cells, level=1, items=run.find_item_numbers(row), explanation=row.rule)


def _describe_differences(row: ConventionRow) -> str:
    """Return `NOTE; 5 items: a, b, c, …`. Each part can be missing."""
    parts = []
    if row.note:
        parts.append(row.note)
    if row.items:
        n_items = format_count(len(row.items), "item")
        listed = ", ".join(row.items[:MAX_LISTED_ITEMS])
        more = ", …" if len(row.items) > MAX_LISTED_ITEMS else ""
        parts.append(f"{n_items}: {listed}{more}")
    return "; ".join(parts)
