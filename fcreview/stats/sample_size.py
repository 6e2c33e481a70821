"""Which items to review next, so that a figure's interval shrinks fastest, and how many are still needed.

Neyman's allocation (1934) as whole numbers (Wright 2012): what one more review takes off the variance gets smaller with
every review of the same cell, so the best so many are those with the largest such parts. A cell's variance is that of a
beta-binomial, as if it did not lean on others: what it takes from them may be wrong, and its own reviews show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.posterior import JEFFREYS, Cells, FloatArray, IntArray, PosteriorDraws


@dataclass(frozen=True, slots=True)
class VarianceModel:
    """What a figure's variance is made of."""

    cells: Cells
    posterior: PosteriorDraws
    weights: FloatArray
    """Of each cell: by how much one item more that passes raises the figure."""
    variance: float
    """Of the figure, as drawn now."""

    def cell_variances(self, cells: Cells, steps: int = 0) -> FloatArray:
        """(cells, steps + 1): of each cell's part of the figure, and that after so many further reviews."""
        rate = self.posterior.mean_rate[:, np.newaxis]
        further = np.arange(steps + 1)
        left = np.maximum(cells.unreviewed[:, np.newaxis] - further, 0)
        seen = cells.reviewed[:, np.newaxis] + further + 2 * JEFFREYS
        variance: FloatArray = self.weights[:, np.newaxis] ** 2 * left * rate * (1 - rate) * (seen + left) / (seen + 1)
        return variance


def allocate_reviews(spread: VarianceModel, more: int) -> IntArray:
    """So many further reviews, by cell; fewer if there are no more items."""
    gains, owner = _gains(spread, more)
    return np.bincount(owner[:more][gains[:more] > 0], minlength=len(spread.cells))


def count_needed_reviews(spread: VarianceModel, half_width: float) -> int | None:
    """Further reviews until the interval is so narrow: None if it will not be, however many."""
    now = float(spread.cell_variances(spread.cells).sum())
    target = (half_width / NORMAL_QUANTILE) ** 2
    if spread.variance <= target:
        return 0
    # what the figure's interval has beyond its cells' own variances (a pool's mean) shrinks as they do
    scale = spread.variance / now if now > 0 else 1.0
    gains, _ = _gains(spread, int(spread.cells.unreviewed.sum()))
    reached = np.flatnonzero(scale * (now - np.cumsum(gains)) <= target + 1e-15)
    return int(reached[0]) + 1 if len(reached) else None


def count_needed_uniform_reviews(variance: float, reviewed: int, left: int, half_width: float) -> int | None:
    """The same of a figure whose cells do not tell where more is to be gained: reviews go on as they began, and the
    variance falls as that of a mean over a finite population does."""
    target, everything = (half_width / NORMAL_QUANTILE) ** 2, reviewed + left
    if variance <= target:
        return 0
    if not reviewed or not left:
        return None
    then = everything * reviewed * variance / (target * left + reviewed * variance)
    return min(left, ceil(then) - reviewed)


def _gains(spread: VarianceModel, most: int) -> tuple[FloatArray, IntArray]:
    """What each further review takes off the variance, largest first, and whose cell it is of."""
    steps = int(min(most, spread.cells.unreviewed.max(initial=0)))
    variances = spread.cell_variances(spread.cells, steps)
    gains = np.maximum(variances[:, :-1] - variances[:, 1:], 0.0)
    there = spread.cells.unreviewed[:, np.newaxis] > np.arange(steps)
    owner = np.broadcast_to(np.arange(len(gains))[:, np.newaxis], gains.shape)[there]
    flat = gains[there]
    order = np.argsort(-flat, kind="stable")
    return flat[order], owner[order]
