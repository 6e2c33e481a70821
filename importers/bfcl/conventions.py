"""List BFCL items as trials, to compare scoring conventions (`report --conventions`). Each item has one trial."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.model.item import Run
from fcreview.model.metric import ScoredItem
from fcreview.stats.conventions import Ending, Trial, TrialTable

INFERENCE_ERROR = "inference_error"
"""Part of the error type of an item whose model call failed. The official program counts the item as a failure."""


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    trials = []
    for item in items:
        ending: Ending = "not run" if item.valid is None else "graded"
        if item.valid is False and INFERENCE_ERROR in (item.error_type or ""):
            ending = "error"
        trials.append(Trial(item.id, f"{item.category}/{item.id}", item.valid is True, ending))
    return TrialTable(trials, "BFCL")
