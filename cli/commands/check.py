"""`fcreview check`: check whether the scores of runs are real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from fcreview.cli.options import JsonOption, RunOption, WorkspaceOptions, option, workspace_command
from fcreview.cli.output import (
    emit,
    emit_json,
    emit_lines,
    format_cell,
    format_figure,
    get_wrap_width,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import EXIT_FAILURE, UsageError
from fcreview.model.run_check import CheckLimits, RunCheck
from fcreview.model.wording import format_count
from fcreview.tables.checks import FILTER_TITLE, build_run_check_table

DEFAULT_MAX_DIFFERENCE = "1%"


@workspace_command()
def check(
    options: WorkspaceOptions,
    run: RunOption = None,
    max_difference: Annotated[
        str,
        option(
            "--max-difference SHARE",
            "Share of items, such as 1% or 0.01, that may have another recomputed verdict, or an"
            " undecoded reply.",
        ),
    ] = DEFAULT_MAX_DIFFERENCE,
    max_incidents: Annotated[
        int,
        option(
            "--max-incidents N",
            "Number of items that may have an incident, such as an API error.",
            min=0,
        ),
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Check whether the scores of runs are real.

    Prints a table for each run: missing items, incidents, differences between recomputed and
    official verdicts, and the dataset, rules and decoder with the reason for their choice. A line
    is ok, ! for a problem, or – if there is nothing to check. The exit code is 1 if a line is !, or
    if the import of a run fails. docs/check.md explains each line.

    Example: fcreview check result/ --max-incidents 5 --json
    """
    limits = CheckLimits(parse_share(max_difference), max_incidents)
    with open_workspace(options) as session:
        checks = session.store.check_runs(session.select_runs(run), limits)
        failed_runs = session.failed_runs
    if as_json:
        for run_check in checks:
            emit_json(run_check.as_json())
    else:
        _print_checks(checks)
    has_problem = not all(run_check.is_ok for run_check in checks)
    if failed_runs or has_problem:
        raise typer.Exit(EXIT_FAILURE)


def parse_share(text: str) -> float:
    """Parse a share such as `1%` or `0.01`. Raises UsageError if it is not from 0 to 1."""
    error = UsageError(
        f"--max-difference {text!a} is invalid. Pass a share from 0 to 1, such as 0.01 or 1%"
    )
    number, percent_sign, text_after_sign = text.strip().partition("%")
    if text_after_sign:
        raise error

    try:
        value = float(number)
    except ValueError:
        raise error from None
    share = value / 100 if percent_sign else value
    # The comparison also refuses `nan`.
    if not 0 <= share <= 1:
        raise error
    return share


def _print_checks(checks: Sequence[RunCheck]) -> None:
    """Print the check of each run, and the number of runs with a problem."""
    for run_check in checks:
        emit_lines(_format_check_lines(run_check, get_wrap_width()))
        emit()

    n_runs = format_count(len(checks), "run")
    n_problems = sum(not run_check.is_ok for run_check in checks)
    if n_problems:
        emit(f"{n_problems:,} of {n_runs} with a problem")
    else:
        emit(f"{n_runs}, no problem")


def _format_check_lines(check: RunCheck, page_width: int) -> Iterator[str]:
    """Format the check of a run as text, one line at a time.

    Long texts are wrapped to `page_width` columns.
    """
    yield f"run {check.run}   {format_cell(check.title)}  {check.run_name}"
    # The filter of a line stands below it.
    table = build_run_check_table(check).without([FILTER_TITLE])
    yield from format_figure(table, page_width=page_width)
