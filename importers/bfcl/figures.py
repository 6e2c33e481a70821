"""BFCL's published table from scored items."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.figures import Figure, Scored
from fcreview.importers.bfcl.metrics import Rate, table
from fcreview.model import Run


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:
    """The generation's groups and categories; a group's mean counts categories that were not run as 0, as the
    leaderboard does."""
    counts: dict[str, tuple[int, int]] = {}
    for row in rows:
        if row.valid is not None:
            passed, known = counts.get(row.category, (0, 0))
            counts[row.category] = (passed + row.valid, known + 1)
    if not counts:
        return []
    rates = {name: Rate(passed, known) for name, (passed, known) in counts.items()}
    return [
        Figure("accuracy", line.name, line.value, level=line.level, note=f"{line.known} items")
        for line in table(run.generation, rates)
    ]
