"""Pass rates by category, and means of every other criterion."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.figures import Figure, Scored, by_category
from fcreview.model import Run


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:  # noqa: ARG001
    found = by_category(rows)
    values: dict[str, list[float]] = {}
    for row in rows:
        for criterion, value in row.values.items():
            if isinstance(value, (int, float)) and criterion != "correct":
                values.setdefault(criterion, []).append(float(value))
    return found + [Figure("other criteria", name, sum(part) / len(part), "score") for name, part in values.items()]
