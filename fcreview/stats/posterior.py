"""Draw the number of unreviewed items that pass from the posterior, given the reviewed items of a random sample.

Items form cells by automatic verdict, stratum and category. Within a cell, all items have the same inclusion
probability, so the selection can be ignored given the cell (Gelman et al., Bayesian Data Analysis, 3rd ed., chapter 8).
Cells with the same automatic verdict form a pool:

* The pass rate of a pool with one cell has the posterior Beta(k + 1/2, n - k + 1/2), that is the Jeffreys prior with k
  passes in n reviewed items.
* In a pool of several cells, reviewed passes are beta-binomial, and the prior of a cell is a robust mixture (Schmidli
  et al. 2014): Beta(m s, (1 - m) s) if the cell is similar to its pool, else Beta(c, 1 - c) with c = (m + 1/2) / 2,
  which has the weight of one item. The mean m has the Jeffreys prior, and the strength s is one of `POOL_STRENGTHS`.
  The sample determines how much the cells differ: cells with few reviews move towards the other cells, and cells with
  clearly different rates hardly move. Uncertainty about the difference widens the intervals of metrics whose cell
  weights differ from those of the sample.
* Cells of a pool with similar inclusion probabilities form one simple random sample. In each draw, their common pass
  rate is that of a pool with one cell.

The number of passes among the remaining items of a finite population is binomial, so a completely reviewed cell has no
uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
DEFAULT_DRAWS = 1000
SEED = 0
JEFFREYS = 0.5
"""Value of both parameters of the Jeffreys prior of a share, which is a beta distribution."""
_GRID_POINTS = 100
"""Number of grid points of the mean m of a pool. Draws are spread uniformly around each point."""
POOL_STRENGTHS = np.geomspace(1.0, 300.0, 8)
"""Possible values of the strength s: the pool's mean rate has the weight of s reviewed items of a cell."""


@dataclass(frozen=True, slots=True)
class IndependentCellPrior:
    """Prior of cells that are independent of their pool. It has the weight of one item."""

    probability: float
    pull: float
    """Mean of the prior, as a position between 1/2 (0, the Jeffreys prior) and the mean rate of the pool (1)."""

    def parameters(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of the beta distribution in a pool with this mean rate."""
        alpha = JEFFREYS + self.pull * (mean - JEFFREYS)
        return alpha, 1 - alpha


ESTIMATE_PRIOR = IndependentCellPrior(probability=0.5, pull=0.5)
"""Prior of the estimate. docs/coverage.md has the measurements that determined this prior and `POOL_STRENGTHS`."""
SKEPTICAL_PRIOR = IndependentCellPrior(probability=0.8, pull=0.0)
"""Prior of the additional draws that widen the interval."""
UNPOOLED_DRAW_SHARE = 0.2
"""Number of additional draws without a common pass rate, as a share of the draws with a common rate. If a sample has
few or no errors, draws with a common rate rule out that a single category has many errors, although such a category
would change a metric that averages categories."""
SKEPTICAL_DRAW_SHARE = 0.3
"""Number of additional draws with `SKEPTICAL_PRIOR`, as a share of the draws with a common rate. They widen the
interval and do not move the estimate."""
MAX_PROBABILITY_RATIO = 1.5
"""Maximum ratio of two inclusion probabilities that are treated as equal."""
_MIN_RATE = 1e-6
_MAX_LOGIT_SHIFT = 30.0
_BISECTION_STEPS = 30


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a population. Each array has one entry per cell."""

    pool: IntArray
    """Number of the cell's pool."""
    reviewed: IntArray
    """Number of reviewed items of the random sample."""
    passed: IntArray
    """Number of reviewed items of the random sample that pass."""
    unreviewed: IntArray
    """Number of items without a human verdict."""
    inclusion_probability: FloatArray
    """Mean inclusion probability of the cell's items."""
    known_outside_sample: IntArray | None = None
    """Number of items with a human verdict from outside the sample (`ItemStatus.is_selection_unknown`)."""
    passed_outside_sample: IntArray | None = None
    """Number of the items in `known_outside_sample` that pass."""

    @property
    def not_drawn(self) -> IntArray:
        """Number of items that the sample did not draw and whose outcome the posterior estimates."""
        return self.unreviewed if self.known_outside_sample is None else self.unreviewed + self.known_outside_sample

    def __len__(self) -> int:
        return len(self.pool)


@dataclass(frozen=True, slots=True)
class PosteriorDraws:
    """Posterior draws of the outcome of unreviewed items."""

    passes: IntArray
    """Number of unreviewed items that pass, of shape (draws, cells). Metrics that weigh all items equally use the first
    `n_pooled` draws, other metrics use all."""
    mean_rate: FloatArray
    """Pass rate of each cell, averaged over the draws."""
    n_pooled: int
    """Number of draws in which the cells of a pool have the common pass rate of the pool."""
    n_estimated: int
    """Number of draws whose mean is the estimate. The others only widen the interval."""


def draw_posterior(cells: Cells, draws: int = DEFAULT_DRAWS, seed: int = SEED) -> PosteriorDraws:
    """Draw the number of unreviewed items that pass. The result depends only on the arguments."""
    generator = np.random.default_rng(seed)
    n_estimated = draws + round(UNPOOLED_DRAW_SHARE * draws)
    rates = np.empty((n_estimated + round(SKEPTICAL_DRAW_SHARE * draws), len(cells)))
    for pool in np.unique(cells.pool):
        at = np.flatnonzero(cells.pool == pool)
        rates[:, at] = _draw_pool_rates(cells, at, (draws, n_estimated, len(rates)), generator)
    passes = generator.binomial(cells.not_drawn, rates)
    if cells.passed_outside_sample is not None:  # The known verdicts are bounds of the draws.
        passes = np.clip(passes - cells.passed_outside_sample, 0, cells.unreviewed)
    return PosteriorDraws(passes, rates[:draws].mean(axis=0), draws, n_estimated)


def _draw_pool_rates(
    cells: Cells, at: IntArray, ends: tuple[int, int, int], generator: np.random.Generator
) -> FloatArray:
    """Draw pass rates of shape (draws, cells of the pool). `at` contains the indexes of the pool's cells, and `ends`
    the numbers of draws with a common rate, of these and the unpooled draws, and of all draws."""
    n_common, n_estimated, n_draws = ends
    reviewed, passed = cells.reviewed[at], cells.passed[at]
    if len(at) == 1:
        rates: FloatArray = generator.beta(passed + JEFFREYS, reviewed - passed + JEFFREYS, (n_draws, 1))
        return rates
    rates = np.concatenate(
        [
            _draw_hierarchical_rates(reviewed, passed, n_estimated, ESTIMATE_PRIOR, generator),
            _draw_hierarchical_rates(reviewed, passed, n_draws - n_estimated, SKEPTICAL_PRIOR, generator),
        ]
    )
    for group in _group_by_probability(cells.inclusion_probability[at]):
        n, k = int(reviewed[group].sum()), int(passed[group].sum())
        if n:
            pooled = generator.beta(k + JEFFREYS, n - k + JEFFREYS, n_common)
            sizes = (reviewed + cells.not_drawn[at])[group]
            rates[:n_common, group] = _shift_to_pooled_rate(rates[:n_common, group], sizes, pooled)
    return rates


def _group_by_probability(probability: FloatArray) -> list[IntArray]:
    """Group cells with similar inclusion probabilities, which together form one simple random sample."""
    groups: list[list[int]] = []
    for at in np.argsort(probability, kind="stable").tolist():
        if groups and probability[at] <= MAX_PROBABILITY_RATIO * probability[groups[-1][0]]:
            groups[-1].append(at)
        else:
            groups.append([at])
    return [np.array(group) for group in groups]


def _shift_to_pooled_rate(rates: FloatArray, sizes: IntArray, pooled: FloatArray) -> FloatArray:
    """Shift rates on the logit scale so that in each draw their mean, weighted by cell size, is `pooled`."""
    if rates.shape[1] == 1:
        return pooled[:, np.newaxis]
    share = sizes / sizes.sum()
    rates = np.clip(rates, _MIN_RATE, 1 - _MIN_RATE)
    logits = np.log(rates / (1 - rates))
    low, high = np.full(len(rates), -_MAX_LOGIT_SHIFT), np.full(len(rates), _MAX_LOGIT_SHIFT)
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        is_too_high = (1 / (1 + np.exp(-logits - middle[:, np.newaxis]))) @ share > pooled
        high, low = np.where(is_too_high, middle, high), np.where(is_too_high, low, middle)
    shifted: FloatArray = 1 / (1 + np.exp(-logits - ((low + high) / 2)[:, np.newaxis]))
    return shifted


def _draw_hierarchical_rates(
    reviewed: IntArray, passed: IntArray, draws: int, prior: IndependentCellPrior, generator: np.random.Generator
) -> FloatArray:
    """Draw pass rates of shape (draws, cells) from the joint posterior of the pool's mean m, its strength s, and the
    indicators of cells that are independent of the pool."""
    step = np.pi / 2 / _GRID_POINTS
    angles = (np.arange(_GRID_POINTS) + 0.5) * step  # The Jeffreys prior of a share is uniform in arcsin(sqrt(share)).
    mean, strength = (grid.ravel() for grid in np.meshgrid(np.sin(angles) ** 2, POOL_STRENGTHS, indexing="ij"))
    similar = np.log(1 - prior.probability) + _log_evidence(mean * strength, (1 - mean) * strength, reviewed, passed)
    independent = np.log(prior.probability) + _log_evidence(*prior.parameters(mean), reviewed, passed)
    mixture = np.logaddexp(similar, independent)
    weight = np.exp(mixture.sum(axis=1) - mixture.sum(axis=1).max())
    chosen = generator.choice(weight.size, draws, p=weight / weight.sum())
    angle = angles[chosen // len(POOL_STRENGTHS)] + step * (generator.random(draws) - 0.5)
    mean = np.clip(np.sin(angle) ** 2, _MIN_RATE, 1 - _MIN_RATE)[:, np.newaxis]
    strength = strength[chosen][:, np.newaxis]
    is_independent = np.log(generator.random((draws, len(reviewed)))) < (independent - mixture)[chosen]
    independent_alpha, independent_beta = prior.parameters(mean)
    alpha = np.where(is_independent, independent_alpha, mean * strength) + passed
    beta = np.where(is_independent, independent_beta, (1 - mean) * strength) + (reviewed - passed)
    rates: FloatArray = generator.beta(alpha, beta)
    return rates


def _log_evidence(alpha: FloatArray, beta: FloatArray, reviewed: IntArray, passed: IntArray) -> FloatArray:
    """Compute the log marginal likelihood of each cell under each prior Beta(alpha, beta), of shape (priors, cells).
    The binomial coefficient is omitted, because it is the same under all priors."""
    failed = reviewed - passed
    return _log_rising(alpha, passed) + _log_rising(beta, failed) - _log_rising(alpha + beta, reviewed)


def _log_rising(base: FloatArray, count: IntArray) -> FloatArray:
    """Compute log(base (base + 1) ... (base + count - 1)) of shape (bases, counts)."""
    logs = np.log(base[:, np.newaxis] + np.arange(count.max(initial=0)))
    sums: FloatArray = np.concatenate([np.zeros((len(base), 1)), logs.cumsum(axis=1)], axis=1)
    return sums[:, count]
