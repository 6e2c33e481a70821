"""Table of the checks that answer whether the scores of runs are real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.model.run_check import (
    STATE_MARKS,
    CheckLine,
    LineState,
    RunCheck,
    sort_by_problems,
    summarize_problems,
)
from fcreview.model.sanitize import sanitize
from fcreview.tables.table import Cell, CellStyle, Column, Row, Table

NO_PROBLEM = "no problem"
FILTER_TITLE = "filter"
FOUND_COLUMN = 2
"""Index of the column that says what was found."""
_STATE_STYLES: dict[LineState, CellStyle] = {"problem": "fail", "ok": "pass", "unknown": "dim"}


def summarize_checks(checks: Sequence[RunCheck]) -> str:
    """Return `29 incidents` for a single run, or `3 of 12 runs with a problem`."""
    return summarize_problems(checks) or NO_PROBLEM


@dataclass(frozen=True, slots=True)
class CheckRow:
    """Row of the table: the heading of a run, or one line of its check."""

    check: RunCheck
    line: CheckLine | None = None

    @property
    def can_list_items(self) -> bool:
        return self.line is None or bool(self.line.where)


def list_check_rows(checks: Sequence[RunCheck]) -> list[CheckRow]:
    """Return the rows of the table. Runs with problems come first."""
    rows: list[CheckRow] = []
    for check in sort_by_problems(checks):
        rows.append(CheckRow(check))
        rows += [CheckRow(check, line) for line in check.lines]
    return rows


def build_check_table(rows: Sequence[CheckRow]) -> Table:
    """Return what the checks found. The filter lists the items of a line.

    The explanation of a row is the option that selects its items.
    """
    columns = [
        Column("state", min_cells=2),
        Column("check", min_cells=20),
        Column("found", min_cells=20),
        Column(FILTER_TITLE),
    ]
    table_rows = []
    for row in rows:
        if row.line is None:
            table_rows.append(_make_run_row(row.check))
        else:
            table_rows.append(_make_line_row(row.line))
    return Table(columns, table_rows, explained_column=FOUND_COLUMN)


def build_run_check_table(check: RunCheck) -> Table:
    """Return the lines of the check of one run."""
    return build_check_table([CheckRow(check, line) for line in check.lines])


def _make_run_row(check: RunCheck) -> Row:
    """Return the row of a run, with the summary of its problems."""
    cells = [
        Cell(""),
        Cell(sanitize(check.run_name), "strong"),
        Cell(sanitize(check.summary) or NO_PROBLEM, "warn" if check.problems else "dim"),
        Cell(""),
    ]
    return Row(cells)


def _make_line_row(line: CheckLine) -> Row:
    """Return the row of a line of a check. Its explanation is the filter that lists the items."""
    style: CellStyle = "" if line.state == "problem" else "dim"
    cells = [
        Cell(STATE_MARKS[line.state], _STATE_STYLES[line.state]),
        Cell(line.title, style),
        Cell(sanitize(line.detail), style),
        Cell(line.where, "dim"),
    ]
    return Row(cells, explanation=f"--where '{line.where}'" if line.where else "")
