"""Compute the metrics of mapped runs: those of the generic format."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.importers.generic_format import leaderboard
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Return pass rates by category, and the mean of each other criterion."""
    return leaderboard.compute_metrics(items, run)
