"""List the epochs of Inspect samples as trials, to compare scoring conventions (`report --conventions`)."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.model.item import Run
from fcreview.model.metric import ScoredItem
from fcreview.stats.conventions import Trial, TrialTable


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return a trial for each epoch of a sample. A sample without a score has an error or was stopped by a limit."""
    return TrialTable([
        Trial(
            item.id, str(item.metadata.get("sample", item.id)), item.valid is True,
            "error" if item.valid is None else "graded",
        )
        for item in items
    ], "Inspect")  # fmt: skip
