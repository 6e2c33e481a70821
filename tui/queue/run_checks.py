"""Lay out the checks of the runs as a table."""

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
from fcreview.tui.text.lines import (
    ChoiceTable,
    Line,
    StyledText,
    TextColumn,
    make_line,
    sanitize_and_wrap,
)
from fcreview.tui.text.run_names import use_own_separator
from fcreview.tui.text.styles import symbols

MAX_DETAIL_LINES = 3


@dataclass(frozen=True, slots=True)
class CheckedItems:
    """The items that a line of the table lists."""

    run: int
    where: str = ""
    """Filter; empty for all items of the run."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A row of the table: the heading of a run, or one line of its check."""

    check: RunCheck
    line: CheckLine | None = None

    @property
    def can_list_items(self) -> bool:
        return self.line is None or bool(self.line.where)

    @property
    def items(self) -> CheckedItems:
        return CheckedItems(self.check.run, self.line.where if self.line is not None else "")


def list_check_rows(checks: Sequence[RunCheck]) -> list[CheckRow]:
    """Return the rows of the table. Runs with problems come first."""
    rows: list[CheckRow] = []
    for check in sort_by_problems(checks):
        rows.append(CheckRow(check))
        rows += [CheckRow(check, line) for line in check.lines]
    return rows


def build_check_table(rows: Sequence[CheckRow]) -> ChoiceTable[CheckedItems]:
    """Return the table that answers `is this score real?`: the checks of each run and what they
    found.

    Choosing a row lists the items that it is about. Some rows have none
    (`CheckRow.can_list_items`).
    """
    checks = {row.check.run: row.check for row in rows}
    return ChoiceTable(
        title="is this score real?",
        noun="run",
        columns=[
            TextColumn("", min_width=2),
            TextColumn("check", min_width=20),
            TextColumn("found", min_width=20),
        ],
        rows=[_format_row(row) for row in rows],
        values=[row.items for row in rows],
        note=summarize_problems(list(checks.values())) or "no problem",
        total=len(checks),
    )


def _format_row(row: CheckRow) -> list[StyledText]:
    """Return the cells of a row: a run with the summary of its checks, or one check."""
    if row.line is None:
        name = use_own_separator(row.check.run_name)
        summary = row.check.summary or "no problem"
        return [("", ""), (name, "strong"), (summary, "warn" if row.check.problems else "dim")]

    style = "" if row.line.state == "problem" else "dim"
    return [
        _format_state(row.line.state),
        (row.line.title, style),
        (sanitize(row.line.detail), style),
    ]


def _format_state(state: LineState) -> StyledText:
    """Return the mark of a check's result: a problem, no problem, or not checked."""
    if state == "problem":
        return STATE_MARKS[state], "bad"
    if state == "ok":
        return STATE_MARKS[state], "good"
    return symbols().none, "dim"


def explain_check_row(row: CheckRow, cells: int) -> list[Line]:
    """Return the whole text of a row, which the table may cut, and the filter that lists its
    items.
    """
    if row.line is None:
        text = f"{row.check.title}: {row.check.summary or 'no problem'}"
    else:
        text = f"{row.line.title}: {row.line.detail}"
    lines = []
    for text_row in sanitize_and_wrap(text, cells - 2, MAX_DETAIL_LINES):
        lines.append(make_line(f" {text_row}"))
    if row.items.where:
        lines.append(((" filter ", "dim"), (row.items.where, "")))
    return lines
