"""Compute the metrics of sessions: only reviews have verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, build_category_metrics


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    return build_category_metrics(items)
