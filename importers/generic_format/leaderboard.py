"""Compute the metrics of the generic format: pass rates by category, and the mean of each other
criterion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, build_category_metrics


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute pass rates and means.

    In a mean, true counts as 1 and false as 0. Verdicts that are text are omitted.
    """
    verdicts_on_items: list[tuple[str, Any]] = []
    verdicts_on_parts: list[tuple[str, Any]] = []
    for item in items:
        verdicts_on_items += item.values.items()
        for _, criterion, value in item.part_verdicts:
            verdicts_on_parts.append((criterion, value))
    return [
        *build_category_metrics(items),
        *_compute_criterion_means("other criteria", verdicts_on_items),
        *_compute_criterion_means("criteria on turns, calls and arguments", verdicts_on_parts),
    ]


def _compute_criterion_means(table: str, verdicts: Iterable[tuple[str, Any]]) -> list[Metric]:
    """Compute the mean of the verdicts on each criterion.

    `verdicts` are pairs of a criterion and a value. Values that are no numbers, such as labels, are
    ignored.
    """
    values_by_criterion: dict[str, list[float | None]] = {}
    for criterion, value in verdicts:
        if value is None or isinstance(value, (int, float)):
            values_by_criterion.setdefault(criterion, []).append(value)
    return [
        _compute_mean(table, criterion, values) for criterion, values in values_by_criterion.items()
    ]


def _compute_mean(table: str, criterion: str, values: Sequence[float | None]) -> Metric:
    """Compute the mean of the verdicts on a criterion. True counts as 1 and false as 0. None, a
    verdict that is missing, is not in the mean.
    """
    known = [float(value) for value in values if value is not None]
    return Metric(
        table,
        criterion,
        value=sum(known) / len(known) if known else None,
        unit="score",
        n=len(known),
        total=len(values),
        counted_noun="verdicts",
    )
