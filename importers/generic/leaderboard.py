"""Pass rates by category, and means of every other criterion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, metrics_by_category


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Yes counts as 1, no as 0; labels have no mean."""
    whole = [pair for row in rows for pair in row.values.items()]
    parts = [(criterion, value) for row in rows for _, criterion, value in row.part_verdicts]
    return [*metrics_by_category(rows), *_mean_metrics("other criteria", whole), *_mean_metrics("criteria of turns, calls, arguments", parts)]


def _mean_metrics(table: str, said: Iterable[tuple[str, Any]]) -> list[Metric]:
    values: dict[str, list[float | None]] = {}
    for criterion, value in said:
        if value is None or isinstance(value, (int, float)):
            values.setdefault(criterion, []).append(None if value is None else float(value))
    lines = []
    for name, every in values.items():
        known = [value for value in every if value is not None]
        mean = sum(known) / len(known) if known else None
        lines.append(Metric(table, name, mean, "score", n=len(known), total=len(every), counted_noun="verdicts"))
    return lines
