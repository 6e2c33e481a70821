"""Format the names of runs for this terminal."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.model.run_name import NAME_SEPARATOR
from fcreview.store.rows import QueueRow, RunRow
from fcreview.tui.text.styles import symbols


def format_run_name(row: RunRow | QueueRow) -> str:
    """Return the name of a run, or of the run of an item, with the separator of this terminal."""
    return use_own_separator(row.run_name)


def use_own_separator(name: str) -> str:
    return name.replace(NAME_SEPARATOR, f" {symbols().separator} ")


def format_run_names(runs: Sequence[RunRow]) -> dict[int, str]:
    """Return the name of each run, by run number."""
    return {run.run: format_run_name(run) for run in runs}
