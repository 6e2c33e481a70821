"""List the trials of a tau-bench run, to compare scoring conventions (`report --conventions`)."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.importers.tau.leaderboard import get_success, was_run
from fcreview.importers.tau.version2 import PLANNED_TRIALS
from fcreview.model.item import Run
from fcreview.model.metric import ScoredItem
from fcreview.stats.conventions import Ending, Trial, TrialTable

ERROR_ENDINGS = (
    "agent_error",
    "context_window_exceeded",
    "timeout",
    "too_many_errors",
    "unexpected_error",
    "user_error",
)
"""Termination reasons that are errors. `max_steps` is not an error."""
EXCEPTION = "error"
"""Error type of v1 entries that ended with an exception."""


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:
    planned = next((each.metadata.get(PLANNED_TRIALS) for each in items), None)
    trials = [Trial(each.id, each.group or each.id, get_success(each) is True, _ending(each)) for each in items]
    own = "tau-bench v1" if run.generation == "v1" else "tau2-bench"
    return TrialTable(trials, own, planned if isinstance(planned, int) else None)


def _ending(item: ScoredItem) -> Ending:
    ended = item.metadata.get("ended")
    if not was_run(item) or (ended is None and get_success(item) is None):
        return "not run"
    is_error = ended in ERROR_ENDINGS or (ended is None and item.error_type == EXCEPTION)
    return "error" if is_error and not get_success(item) else "graded"
