"""Runs whose figures are published together, as one: each has its own sample and cells, and each draw gives every run
its verdicts before the figures are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fcreview.estimate.run import Run
from fcreview.figures import Figure, Scored


def joined(parts: Sequence[Run], figures: Callable[[Sequence[Sequence[Scored]]], Sequence[Figure]]) -> Run:
    """`figures`: of the items of each part, in their order. Cells of two parts never lean on each other."""
    ends = [sum(len(part.after) for part in parts[: at + 1]) for at in range(len(parts))]

    def of(rows: Sequence[Scored]) -> Sequence[Figure]:
        return figures([rows[end - len(part.after) : end] for end, part in zip(ends, parts, strict=True)])

    return Run(
        [row for part in parts for row in part.before],
        [row for part in parts for row in part.after],
        [replace(each, part=at) for at, part in enumerate(parts) for each in part.standings],
        of,
    )
