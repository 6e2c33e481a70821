"""Allocate further reviews to cells, and compute the number of reviews that an interval still needs.

The method is Neyman allocation (1934) in whole numbers (Wright 2012). Each further review of a cell reduces the
variance by less than the review before, so the best n reviews are those with the n largest reductions. The variance of
a cell is that of a beta-binomial distribution that ignores the other cells of the pool, because the cell may differ
from them, and only its own reviews can show that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.posterior import JEFFREYS, Cells, FloatArray, IntArray, PosteriorDraws


@dataclass(frozen=True, slots=True)
class VarianceModel:
    """Variance of a metric, divided among the cells of a population."""

    cells: Cells
    posterior: PosteriorDraws
    weights: FloatArray
    """For each cell, the increase of the metric if one more item passes."""
    variance: float
    """Variance of the metric in the posterior draws."""

    def compute_cell_variances(self, cells: Cells, steps: int = 0) -> FloatArray:
        """Compute the variance that each cell contributes after 0 to `steps` further reviews. The result has the shape
        (cells, steps + 1)."""
        rate = self.posterior.mean_rate[:, np.newaxis]
        further = np.arange(steps + 1)
        unreviewed = np.maximum(cells.unreviewed[:, np.newaxis] - further, 0)
        reviewed = cells.reviewed[:, np.newaxis] + further + 2 * JEFFREYS
        binomial = self.weights[:, np.newaxis] ** 2 * unreviewed * rate * (1 - rate)
        variance: FloatArray = binomial * (reviewed + unreviewed) / (reviewed + 1)
        return variance


def allocate_reviews(model: VarianceModel, n_reviews: int) -> IntArray:
    """Return the number of further reviews of each cell. Their sum is less than `n_reviews` if too few items are
    left."""
    reductions, cell = _variance_reductions(model, n_reviews)
    return np.bincount(cell[:n_reviews][reductions[:n_reviews] > 0], minlength=len(model.cells))


def count_needed_reviews(model: VarianceModel, half_width: float) -> int | None:
    """Return the number of further reviews until the interval has this half-width, in the unit of the metric. None if
    even reviews of all items are not enough."""
    current = float(model.compute_cell_variances(model.cells).sum())
    target = (half_width / NORMAL_QUANTILE) ** 2
    if model.variance <= target:
        return 0
    # The cells of a pool share the variance of its mean, which is assumed to shrink like the variances of the cells.
    scale = model.variance / current if current > 0 else 1.0
    reductions, _ = _variance_reductions(model, int(model.cells.unreviewed.sum()))
    reached = np.flatnonzero(scale * (current - np.cumsum(reductions)) <= target + 1e-15)
    return int(reached[0]) + 1 if len(reached) else None


def count_needed_uniform_reviews(variance: float, reviewed: int, unreviewed: int, half_width: float) -> int | None:
    """Return the number of further reviews that a metric without a variance model needs. Further items are drawn like
    the reviewed items, so the variance decreases like that of the mean of a finite population."""
    target, total = (half_width / NORMAL_QUANTILE) ** 2, reviewed + unreviewed
    if variance <= target:
        return 0
    if not reviewed or not unreviewed:
        return None
    needed = total * reviewed * variance / (target * unreviewed + reviewed * variance)
    return min(unreviewed, ceil(needed) - reviewed)


def _variance_reductions(model: VarianceModel, max_reviews: int) -> tuple[FloatArray, IntArray]:
    """Return the variance reduction of each further review, largest first, and the index of the cell of each review."""
    steps = int(min(max_reviews, model.cells.unreviewed.max(initial=0)))
    variances = model.compute_cell_variances(model.cells, steps)
    reductions = np.maximum(variances[:, :-1] - variances[:, 1:], 0.0)
    is_possible = model.cells.unreviewed[:, np.newaxis] > np.arange(steps)
    cell = np.broadcast_to(np.arange(len(reductions))[:, np.newaxis], reductions.shape)[is_possible]
    flat = reductions[is_possible]
    order = np.argsort(-flat, kind="stable")
    return flat[order], cell[order]
