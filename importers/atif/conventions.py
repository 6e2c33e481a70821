"""List the trials of a Harbor job, to compare scoring conventions (`report --conventions`)."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.importers.atif.rewards import EXCEPTION_KEY
from fcreview.model.item import Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    return TrialTable([_make_trial(item) for item in items], "Harbor")


def _make_trial(item: ScoredItem) -> Trial:
    """Convert an item to a trial. A trial with an exception is graded if the verifier ran nevertheless."""
    derived = item.derive("atif", *ITEM_CORRECT)
    verdict = item.valid if derived is None else derived
    ending: Ending = "graded"
    if verdict is None:
        ending = "error" if EXCEPTION_KEY in item.metadata else "not run"
    return Trial(item.id, item.group or item.id, verdict is True, ending)
