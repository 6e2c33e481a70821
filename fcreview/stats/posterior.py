"""Draw how many unreviewed items pass, given the reviewed items of a random sample. Compute how
many further reviews an interval needs.

The items are divided into cells by automatic verdict, stratum and category. All items of a cell
have the same inclusion probability, so the reviewed items of a cell represent all its items (Gelman
et al., Bayesian Data Analysis, 3rd ed., chapter 8). The number of passing unreviewed items is
binomial. Cells with the same automatic verdict form a pool or, if a run has verdicts of
several sources, cells of which equally many sources pass (see `fcreview.stats.source_strata`):

* The pass rate of a pool with one cell has the posterior Beta(k + 1/2, n - k + 1/2), where k of n
  reviewed items pass. The prior is the Jeffreys prior.
* In a pool of several cells, the number of passing reviewed items is beta-binomial, and the prior
  of a cell is a robust mixture (Schmidli et al. 2014): Beta(m s, (1 - m) s) if the cell is similar
  to its pool, else Beta(3/4, 3/4). The mean m has the Jeffreys prior, the strength s is one of
  `POOL_STRENGTHS`, and the probability that a cell is independent is one of
  `ESTIMATE_PRIOR.probabilities`. The rates of cells with few reviews move towards the rates of the
  other cells. If a metric weighs the cells differently from the sample, the differences between
  cells widen the metric's interval.
* Cells of a pool with similar inclusion probabilities form one simple random sample. In each draw,
  their common pass rate is drawn as for a pool with one cell.

Neyman allocation (1934) in whole numbers (Wright 2012) determines how many further reviews each
cell gets. Each further review of a cell reduces the variance by less than the review before, so the
best n reviews are the n reviews with the largest reductions. The variance of a cell is the variance
of a beta-binomial distribution that ignores the other cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcreview.stats.intervals import NORMAL_QUANTILE

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
DEFAULT_DRAWS = 1000
SEED = 0
JEFFREYS = 0.5
"""Value of both parameters of the beta distribution that is the Jeffreys prior of a share."""
_GRID_POINTS = 100
"""Number of grid points for the mean m of a pool. Draws are spread uniformly around each point."""
POOL_STRENGTHS = np.geomspace(1.0, 300.0, 8)
"""Possible values of the strength s: the weight of the pool's mean rate in a similar cell, as a
number of reviews.
"""


@dataclass(frozen=True, slots=True)
class IndependentCellPrior:
    """Prior of cells that may be independent of their pool."""

    probabilities: tuple[float, ...]
    """Possible, equally likely probabilities that a cell is independent."""
    parameter: float
    """Value of both parameters of the beta distribution that is the prior of an independent
    cell's pass rate.
    """


ESTIMATE_PRIOR = IndependentCellPrior((0.1, 0.3, 0.5, 0.7, 0.9), 0.75)
"""Prior of the draws whose mean is the estimate. docs/coverage.md has the measurements behind
it.
"""
FEW_CELLS_PRIOR = IndependentCellPrior((0.9,), 0.75)
"""Prior of the draws whose mean is the estimate, in pools of fewer than `MIN_SHRUNK_CELLS`
cells.
"""
MIN_SHRUNK_CELLS = 4
"""Minimum number of means for which shrinkage always reduces the error (Efron and Morris 1973)."""
SKEPTICAL_PRIOR = IndependentCellPrior((0.8,), JEFFREYS)
"""Prior of additional draws that only widen the interval."""
UNPOOLED_DRAW_SHARE = 0.3
"""Number of additional draws in which cells have separate pass rates, as a share of the draws with
a common pass rate. They allow that one category has many errors, even if the sample contains few.
"""
SKEPTICAL_DRAW_SHARE = 0.3
"""Number of additional draws with `SKEPTICAL_PRIOR`, as a share of the draws with a common pass
rate.
"""
MAX_PROBABILITY_RATIO = 1.5
"""Maximum ratio of two inclusion probabilities that count as equal."""
_MIN_RATE = 1e-6
_MAX_LOGIT_SHIFT = 30.0
_BISECTION_STEPS = 30


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a population. Each array has one entry per cell."""

    pool: IntArray
    reviewed: IntArray
    passed: IntArray
    """Number of passing items among the reviewed items of the random sample."""
    unreviewed: IntArray
    """Number of items without a human verdict."""
    inclusion_probability: FloatArray
    """Mean inclusion probability of the cell's items."""
    known_outside_sample: IntArray | None = None
    """Number of items with a human verdict from outside the sample (see
    `ItemStatus.is_known_outside_sample`).
    """
    passed_outside_sample: IntArray | None = None
    """Number of passing items in `known_outside_sample`."""

    @property
    def without_sample_verdict(self) -> IntArray:
        """Number of items that have no human verdict from the sample.

        The posterior estimates how many of them pass.
        """
        if self.known_outside_sample is None:
            return self.unreviewed
        return self.unreviewed + self.known_outside_sample

    def __len__(self) -> int:
        return len(self.pool)

    def select(self, indexes: IntArray, pool: IntArray) -> Cells:
        """Return some of the cells, with other pools."""
        known = self.known_outside_sample
        passed = self.passed_outside_sample
        return Cells(
            pool,
            reviewed=self.reviewed[indexes],
            passed=self.passed[indexes],
            unreviewed=self.unreviewed[indexes],
            inclusion_probability=self.inclusion_probability[indexes],
            known_outside_sample=None if known is None else known[indexes],
            passed_outside_sample=None if passed is None else passed[indexes],
        )


@dataclass(frozen=True, slots=True)
class PosteriorDraws:
    passes: IntArray
    """Number of passing items among the unreviewed items of each cell, of shape (draws, cells).
    Evenly weighted metrics use only the first `n_pooled` draws.
    """
    rates: FloatArray
    """Pass rate of each cell, of shape (`n_pooled`, cells)."""
    n_pooled: int
    """Number of draws in which the cells of a pool have a common pass rate."""
    n_estimated: int
    """Number of draws whose mean is the estimate. All later draws only widen the interval."""
    mean_excess: FloatArray
    """Mean number of passing items, for each cell, by which the known verdicts outside the sample
    raised the draws. An estimate subtracts it, because these verdicts limit what is possible, but
    are no sample.
    """

    @property
    def mean_rate(self) -> FloatArray:
        """Pass rate of each cell, averaged over the draws."""
        mean: FloatArray = self.rates.mean(axis=0)
        return mean


def draw_posterior(cells: Cells, n_draws: int = DEFAULT_DRAWS, seed: int = SEED) -> PosteriorDraws:
    """Draw how many of the items without a sample verdict pass in each cell.

    The sample shows only how its own items pass. Each draw is one way in which all other items may
    pass, so the spread of the draws is the uncertainty of the estimate. A draw takes a pass rate of
    each cell from its posterior, and then a binomial number of passes at this rate.

    `n_draws` is the number of draws in which the cells of a pool have a common pass rate. More
    draws follow in which they differ (see `PosteriorDraws` for which draws serve what). The same
    arguments give the same draws.
    """
    generator = np.random.default_rng(seed)
    numbers = _choose_draw_numbers(n_draws)

    rates = np.empty((numbers.n_all, len(cells)))
    for pool in np.unique(cells.pool):
        cells_of_pool = np.flatnonzero(cells.pool == pool)
        rates[:, cells_of_pool] = _draw_pool_rates(cells, cells_of_pool, numbers, generator)

    # A verdict from outside the sample is known, but the sample represents its item too. So it is
    # drawn like the others first, and the draw is then limited to what the verdict allows.
    passes = generator.binomial(cells.without_sample_verdict, rates)
    limited = _limit_passes(passes, cells)
    # Only the draws that the estimate uses need a correction for this limit.
    excess_of_estimate = limited.excess[: numbers.n_estimated]
    return PosteriorDraws(
        limited.passes,
        rates=rates[: numbers.n_pooled],
        n_pooled=numbers.n_pooled,
        n_estimated=numbers.n_estimated,
        mean_excess=excess_of_estimate.mean(axis=0),
    )


@dataclass(frozen=True, slots=True)
class _DrawNumbers:
    """Numbers of draws, see `PosteriorDraws`. Each number includes the one before."""

    n_pooled: int
    n_estimated: int
    n_all: int


def _choose_draw_numbers(n_pooled: int) -> _DrawNumbers:
    n_estimated = n_pooled + round(UNPOOLED_DRAW_SHARE * n_pooled)
    n_skeptical = round(SKEPTICAL_DRAW_SHARE * n_pooled)
    return _DrawNumbers(n_pooled, n_estimated=n_estimated, n_all=n_estimated + n_skeptical)


@dataclass(frozen=True, slots=True)
class _LimitedPasses:
    """Passes among the unreviewed items. Both arrays have the shape (draws, cells)."""

    passes: IntArray
    excess: IntArray
    """How many of these passes are there only because of the known verdicts outside the sample. It
    is negative if these verdicts took passes away from the draw.
    """


def _limit_passes(passes: IntArray, cells: Cells) -> _LimitedPasses:
    """Return how many unreviewed items pass in each draw.

    `passes` counts more items: also those with a known verdict from outside the sample. Subtracting
    the known passes leaves the unreviewed ones. A draw can leave fewer than none, or more than
    there are unreviewed items. Such a draw contradicts the known verdicts, and gets the nearest
    possible number.
    """
    if cells.passed_outside_sample is None:
        return _LimitedPasses(passes, excess=np.zeros_like(passes))
    among_unreviewed = passes - cells.passed_outside_sample
    possible = np.clip(among_unreviewed, 0, cells.unreviewed)
    return _LimitedPasses(possible, excess=possible - among_unreviewed)


def _draw_pool_rates(
    cells: Cells, cells_of_pool: IntArray, numbers: _DrawNumbers, generator: np.random.Generator
) -> FloatArray:
    """Draw the pass rates of the cells of one pool, of shape (`n_all`, cells).

    A single cell has the posterior Beta(k + 1/2, n - k + 1/2), if k of its n reviewed items pass
    (Jeffreys prior). Several cells are drawn in two steps: a hierarchical model draws how their
    rates differ, and the sample as a whole says how high they are on average.

    Args:
        cells: All cells.
        cells_of_pool: Indexes of the cells of the pool.
        numbers: How many draws to make. Only the first `n_pooled` have the second step.
        generator: Source of random numbers.
    """
    pool = _Pool.select(cells, cells_of_pool)
    if pool.n_cells == 1:
        return _draw_jeffreys_rates(pool.reviewed, pool.passed, (numbers.n_all, 1), generator)

    rates = _draw_rates_by_cell_model(pool.reviewed, pool.passed, numbers, generator)
    pooled_rates = rates[: numbers.n_pooled].copy()
    for group in _group_similar_probabilities(pool.inclusion_probability):
        # Of a group without reviews, only the model says something.
        if pool.reviewed[group].any():
            pooled_rates[:, group] = _adjust_to_sample(
                pooled_rates[:, group], pool.select_cells(group), generator
            )
    return np.concatenate([pooled_rates, rates[numbers.n_pooled :]])


def _adjust_to_sample(
    rates: FloatArray, cells: _Pool, generator: np.random.Generator
) -> FloatArray:
    """Shift the rates of cells, of shape (draws, cells), so that their mean in each draw is a
    common pass rate that is drawn from all reviews of these cells.

    The cells have similar inclusion probabilities. Their reviews are therefore one simple random
    sample, which shows the common pass rate better than the model of the cells does.
    """
    n_draws = len(rates)
    common_rates = _draw_jeffreys_rates(
        cells.reviewed.sum(), cells.passed.sum(), (n_draws,), generator
    )
    return _shift_to_common_rate(rates, cell_sizes=cells.sizes, common_rates=common_rates)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Cells of one pool. Each array has one entry per cell."""

    reviewed: IntArray
    passed: IntArray
    sizes: IntArray
    """Number of all items that the cell stands for."""
    inclusion_probability: FloatArray

    @classmethod
    def select(cls, cells: Cells, indexes: IntArray) -> _Pool:
        """Select the cells of a pool."""
        reviewed = cells.reviewed[indexes]
        return cls(
            reviewed,
            passed=cells.passed[indexes],
            sizes=reviewed + cells.without_sample_verdict[indexes],
            inclusion_probability=cells.inclusion_probability[indexes],
        )

    def select_cells(self, indexes: IntArray) -> _Pool:
        """Return the same data for some of the cells."""
        return _Pool(
            self.reviewed[indexes],
            passed=self.passed[indexes],
            sizes=self.sizes[indexes],
            inclusion_probability=self.inclusion_probability[indexes],
        )

    @property
    def n_cells(self) -> int:
        return len(self.reviewed)


def _draw_jeffreys_rates(
    reviewed: IntArray | np.int64,
    passed: IntArray | np.int64,
    shape: tuple[int, ...],
    generator: np.random.Generator,
) -> FloatArray:
    """Draw pass rates from the posterior of a sample under the Jeffreys prior."""
    failed = reviewed - passed
    rates: FloatArray = generator.beta(passed + JEFFREYS, failed + JEFFREYS, shape)
    return rates


def _draw_rates_by_cell_model(
    reviewed: IntArray, passed: IntArray, numbers: _DrawNumbers, generator: np.random.Generator
) -> FloatArray:
    """Draw the pass rates of several cells: first the draws for estimates, then those that are
    sceptical of the similarity of cells.
    """
    has_many_cells = len(reviewed) >= MIN_SHRUNK_CELLS
    estimated_rates = _draw_hierarchical_rates(
        reviewed,
        passed,
        numbers.n_estimated,
        prior=ESTIMATE_PRIOR if has_many_cells else FEW_CELLS_PRIOR,
        generator=generator,
    )
    skeptical_rates = _draw_hierarchical_rates(
        reviewed,
        passed,
        numbers.n_all - numbers.n_estimated,
        prior=SKEPTICAL_PRIOR,
        generator=generator,
    )
    return np.concatenate([estimated_rates, skeptical_rates])


def _group_similar_probabilities(probabilities: FloatArray) -> list[IntArray]:
    """Group the indexes of cells with similar inclusion probabilities, whose items form one
    simple random sample.
    """
    groups: list[list[int]] = []
    for index in np.argsort(probabilities, kind="stable").tolist():
        if groups and probabilities[index] <= MAX_PROBABILITY_RATIO * probabilities[groups[-1][0]]:
            groups[-1].append(index)
        else:
            groups.append([index])
    return [np.array(group) for group in groups]


def _shift_to_common_rate(
    rates: FloatArray, cell_sizes: IntArray, common_rates: FloatArray
) -> FloatArray:
    """Shift the rates of each draw on the logit scale, so that their mean, weighted by cell
    size, is `common_rates`. The shift of each draw is found by bisection.
    """
    if rates.shape[1] == 1:
        return common_rates[:, np.newaxis]

    cell_shares = cell_sizes / cell_sizes.sum()
    rates = np.clip(rates, _MIN_RATE, 1 - _MIN_RATE)
    logits = np.log(rates / (1 - rates))
    lowest_shift = np.full(len(rates), -_MAX_LOGIT_SHIFT)
    highest_shift = np.full(len(rates), _MAX_LOGIT_SHIFT)
    for _ in range(_BISECTION_STEPS):
        shift = (lowest_shift + highest_shift) / 2
        mean_rates = _shift_logits(logits, shift) @ cell_shares
        is_too_high = mean_rates > common_rates
        highest_shift = np.where(is_too_high, shift, highest_shift)
        lowest_shift = np.where(is_too_high, lowest_shift, shift)
    return _shift_logits(logits, (lowest_shift + highest_shift) / 2)


def _shift_logits(logits: FloatArray, shifts: FloatArray) -> FloatArray:
    """Return the rates whose logits are higher by the shift of each draw."""
    rates: FloatArray = 1 / (1 + np.exp(-logits - shifts[:, np.newaxis]))
    return rates


@dataclass(frozen=True, slots=True)
class _PoolGrid:
    """Grid of the parameters of a pool: its mean and its strength."""

    angles: FloatArray
    """Distinct arcsin(sqrt(mean)). The Jeffreys prior of a share is uniform on this scale."""
    angle_step: float
    mean: FloatArray
    """Mean of each grid point. The strength changes fastest."""
    strength: FloatArray


def _make_pool_grid() -> _PoolGrid:
    step = np.pi / 2 / _GRID_POINTS
    angles = (np.arange(_GRID_POINTS, dtype=np.float64) + 0.5) * np.float64(step)
    mean, strength = np.meshgrid(np.sin(angles) ** 2, POOL_STRENGTHS, indexing="ij")
    return _PoolGrid(angles, angle_step=step, mean=mean.ravel(), strength=strength.ravel())


def _draw_hierarchical_rates(
    reviewed: IntArray,
    passed: IntArray,
    n_draws: int,
    *,
    prior: IndependentCellPrior,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw the pass rates of several cells, of shape (draws, cells), when the cells may be similar.

    A cell with few reviews says little about its own rate. If the cells are similar, it can borrow
    from the others; if it is independent of them, it must not. The reviews decide how likely each
    of the two is (robust mixture, Schmidli et al. 2014). A draw has four steps:

    1. The parameters that all cells share: how likely a cell is independent, the mean rate m of the
       similar cells, and their strength s, the number of reviews that the mean is worth.
    2. Which cells are independent.
    3. The prior of each cell: Beta(m s, (1 - m) s) if it is similar, Beta(a, a) if it is
       independent, where a is the parameter of `prior`.
    4. The rate of each cell, from its posterior: the prior plus the passes and failures among its
       reviews.
    """
    grid = _make_pool_grid()
    evidence = _compute_evidence(grid, reviewed, passed, prior)

    shared = _draw_shared_parameters(evidence, n_draws, generator)
    is_independent = _draw_independent_cells(evidence, shared, generator)

    # The parameters are the same for all cells of a draw.
    mean = _draw_means(grid, shared.grid_point, generator)[:, np.newaxis]
    strength = grid.strength[shared.grid_point][:, np.newaxis]
    prior_passes = np.where(is_independent, prior.parameter, mean * strength)
    prior_failures = np.where(is_independent, prior.parameter, (1 - mean) * strength)

    failed = reviewed - passed
    rates: FloatArray = generator.beta(prior_passes + passed, prior_failures + failed)
    return rates


@dataclass(frozen=True, slots=True)
class _SharedParameters:
    """Drawn parameters that all cells of a pool share, as indexes. Each array has one entry per
    draw.
    """

    probability: IntArray
    """Index of the probability that a cell is independent, in the axis of `_Evidence`."""
    grid_point: IntArray
    """Index of the mean and strength in `_PoolGrid`."""


def _draw_shared_parameters(
    evidence: _Evidence, n_draws: int, generator: np.random.Generator
) -> _SharedParameters:
    """Draw each combination of parameters with a chance in proportion to its evidence: the
    probability of the reviews of all cells, if these are the parameters. All combinations have the
    same prior probability.
    """
    cells_axis = 2
    log_evidence = evidence.total.sum(axis=cells_axis)
    # Only ratios count, so the largest becomes 1, which avoids an underflow.
    relative_evidence = np.exp(log_evidence - log_evidence.max())
    chances = relative_evidence / relative_evidence.sum()

    # `choice` draws from a list, so the table of chances is read row by row.
    drawn_places = generator.choice(chances.size, n_draws, p=chances.ravel())
    probability, grid_point = np.unravel_index(drawn_places, chances.shape)
    return _SharedParameters(probability=probability, grid_point=grid_point)


def _draw_independent_cells(
    evidence: _Evidence, shared: _SharedParameters, generator: np.random.Generator
) -> BoolArray:
    """Draw which cells are independent of their pool, of shape (draws, cells).

    By Bayes' rule, the chance of a cell is the share of its evidence that comes from independence.
    """
    log_chances = evidence.independent - evidence.total
    log_chances_by_draw = log_chances[shared.probability, shared.grid_point]
    random_numbers = generator.random(log_chances_by_draw.shape)
    is_independent: BoolArray = np.log(random_numbers) < log_chances_by_draw
    return is_independent


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Logarithms of the probability of each cell's reviews together with the kind of the cell.

    The axes are the probability that a cell is independent, the grid points and the cells.
    """

    independent: FloatArray
    """For a cell that is independent of its pool."""
    total: FloatArray
    """For a cell of either kind."""


def _compute_evidence(
    grid: _PoolGrid, reviewed: IntArray, passed: IntArray, prior: IndependentCellPrior
) -> _Evidence:
    """Compute how well the reviews fit each grid point, if the cell is similar to its pool or
    independent of it. Values are logarithms.

    The evidence of a cell for one kind is the probability of this kind times the probability of its
    reviews, if the cell is of this kind.
    """
    # Of shape (grid points, cells).
    fit_if_similar = _compute_log_evidence(
        grid.mean * grid.strength, (1 - grid.mean) * grid.strength, reviewed, passed=passed
    )
    # Of shape (1, cells), because an independent cell has the same prior at all grid points.
    parameter = np.array([prior.parameter])
    fit_if_independent = _compute_log_evidence(parameter, parameter, reviewed, passed=passed)

    # The probabilities that a cell is independent get an axis of their own, before the other two.
    probability = np.array(prior.probabilities)[:, np.newaxis, np.newaxis]
    similar = np.log1p(-probability) + fit_if_similar
    independent = np.log(probability) + fit_if_independent
    return _Evidence(independent, total=np.logaddexp(similar, independent))


def _draw_means(grid: _PoolGrid, point: IntArray, generator: np.random.Generator) -> FloatArray:
    """Draw a pool's mean around each grid point, so that means between the points occur too.

    The grid has equal steps of an angle whose squared sine is the mean, because the Jeffreys prior
    of a share is uniform on this scale.

    Args:
        grid: Grid of the parameters of the pool.
        point: Index of a grid point for each draw.
        generator: Source of random numbers.
    """
    # The grid points of an angle are adjacent, one for each strength.
    angle_indexes = point // len(POOL_STRENGTHS)
    # Up to half a step below or above the angle of the grid point.
    steps_from_point = generator.random(len(point)) - 0.5
    angles = grid.angles[angle_indexes] + grid.angle_step * steps_from_point
    means: FloatArray = np.clip(np.sin(angles) ** 2, _MIN_RATE, 1 - _MIN_RATE)
    return means


def _compute_log_evidence(
    alpha: FloatArray, beta: FloatArray, reviewed: IntArray, passed: IntArray
) -> FloatArray:
    """Compute the log marginal likelihood of each cell under each prior Beta(alpha, beta), of shape
    (priors, cells), without the binomial coefficient, which is the same under all priors.
    """
    passes = _compute_log_rising_factorial(alpha, passed)
    failures = _compute_log_rising_factorial(beta, reviewed - passed)
    return passes + failures - _compute_log_rising_factorial(alpha + beta, reviewed)


def _compute_log_rising_factorial(base: FloatArray, count: IntArray) -> FloatArray:
    """Compute log(base (base + 1) ... (base + count - 1)) for each base and count, of shape
    (bases, counts).
    """
    logs = np.log(base[:, np.newaxis] + np.arange(count.max(initial=0)))
    sums: FloatArray = np.concatenate([np.zeros((len(base), 1)), logs.cumsum(axis=1)], axis=1)
    return sums[:, count]


SampleStrata = tuple[str | None, ...]
"""Stratum of an item in each random sample; None for a sample that cannot contain the item."""
AutomaticOutcome = bool | str | None
"""Automatic verdict; for criteria other than pass and fail, the kind of answer
(`classify_answer`).
"""
RunCategory = tuple[int, str]

SampleOutcome = Literal["decided", "unsure", "skipped", "in disagreement", "not reviewed"]
"""Result of the reviews of an item in a sample."""
UNDECIDED: tuple[SampleOutcome, ...] = ("unsure", "skipped", "in disagreement")
"""Outcomes of items that the review has reached, but on which the annotators have not decided."""


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """Automatic and human verdict of an item, and how the item was selected for review."""

    category: str
    automatic: AutomaticOutcome
    """Automatic verdict or kind of answer, before any review; None if there is none."""
    human: bool | None = None
    """Human verdict; for criteria other than pass and fail, whether the automatic answer is
    right; or None.
    """
    stratum: SampleStrata | None = None
    """Stratum in each random sample; None if no sample can contain the item."""
    inclusion_probability: float = 0.0
    has_sample_verdict: bool = False
    """Whether the human verdict is from the review of a random sample.

    Only such verdicts estimate unreviewed items.
    """
    is_known_before_sample: bool = False
    """Whether an annotator had given a verdict on the item before the sample was drawn. Such items
    form a stratum of their own, whose sampled items do not represent other items (Lohr, Sampling,
    chapter 3).
    """
    run_index: int = 0
    """Index of the item's run among the runs that are estimated together."""
    is_sample_reviewed: bool = False
    """Whether the item is in a sample and an annotator has reviewed it."""
    context: str = ""
    """Additional property on which the right answer may depend (see `describe_chain_contexts`)."""
    sample_outcome: SampleOutcome | None = None
    """Outcome of the item in a sample; None if it is in no sample."""
    cluster: str | None = None
    """Group (task or conversation) with which the samples draw the item; None if they draw
    single items.
    """
    is_incident: bool = False
    """Whether the item has no answer for a reason outside the question. Such items form a stratum
    that is known: they keep the benchmark's verdict, unless an annotator gave another one, and
    represent no other items.
    """
    source_stratum: str = ""
    """How many of several automatic sources pass the item, such as `2 of 3 pass`; empty if the
    estimate divides the items only by the automatic verdict (see `fcreview.stats.source_strata`).
    """

    @property
    def is_undecided(self) -> bool:
        return self.sample_outcome in UNDECIDED

    @property
    def is_in_known_stratum(self) -> bool:
        """Whether the item is in a stratum whose verdicts are all known."""
        return self.is_incident or (self.is_known_before_sample and self.human is not None)

    @property
    def is_known_outside_sample(self) -> bool:
        """Whether the item was reviewed beside the sample.

        Such an item does not stand for itself alone: the sample represents it too. Annotators who
        look for errors review the items that are not in the sample. The posterior therefore treats
        the item as unreviewed, and uses its human verdict as a bound.
        """
        return (
            self.human is not None and not self.has_sample_verdict and not self.is_in_known_stratum
        )

    @property
    def run_category(self) -> RunCategory:
        return self.run_index, self.category


@dataclass(frozen=True, slots=True)
class CellKey:
    automatic: AutomaticOutcome
    stratum: SampleStrata
    category: str
    run_index: int = 0
    context: str = ""
    source_stratum: str = ""

    @property
    def pool(self) -> tuple[int, AutomaticOutcome]:
        """What the cells of one pool have in common: the run and how many sources pass the items
        or, without several sources, the automatic outcome.
        """
        return self.run_index, self.source_stratum or self.automatic


@dataclass(frozen=True, slots=True)
class Population:
    """Items of one or several runs. Items that a sample can contain are grouped into cells."""

    cell_keys: Sequence[CellKey]
    cells: Cells
    unreviewed: Sequence[Sequence[int]]
    """For each cell, the positions of its items without a human verdict, as indexes in the list
    of all items.
    """
    unsampled: Sequence[int]
    """Positions of the items that have no human verdict and that no sample can contain."""
    n_known: int
    n_random: int


def build_population(statuses: Sequence[ItemStatus]) -> Population:
    """Group items into cells.

    Ignore items without an automatic outcome if the sample contains no such item.
    """
    positions_by_key, unsampled = _group_positions_by_cell(statuses)
    keys = sorted(positions_by_key, key=_get_cell_order)
    members = [_CellMembers.select(statuses, positions_by_key[key]) for key in keys]
    reviewed = [each.with_sample_verdict for each in members]
    unreviewed = [each.without_verdict for each in members]
    outside_sample = [each.known_outside_sample for each in members]
    cells = Cells(
        pool=_number_pools(keys),
        reviewed=_count_members(reviewed),
        passed=_count_passing_members(statuses, reviewed),
        unreviewed=_count_members(unreviewed),
        inclusion_probability=np.array([each.mean_probability for each in members]),
        known_outside_sample=_count_members(outside_sample),
        passed_outside_sample=_count_passing_members(statuses, outside_sample),
    )
    return Population(
        keys,
        cells=cells,
        unreviewed=unreviewed,
        unsampled=unsampled,
        n_known=sum(status.human is not None for status in statuses),
        n_random=sum(status.has_sample_verdict for status in statuses),
    )


@dataclass(frozen=True, slots=True)
class _CellMembers:
    """Positions of the items of one cell. Each item is in one of the three lists."""

    with_sample_verdict: list[int]
    """Items whose human verdict is from the review of the random sample."""
    without_verdict: list[int]
    """Items without a human verdict."""
    known_outside_sample: list[int]
    """Items that were reviewed beside the sample."""
    mean_probability: float
    """Mean inclusion probability of all items."""

    @classmethod
    def select(cls, statuses: Sequence[ItemStatus], positions: Sequence[int]) -> _CellMembers:
        """Divide the items of a cell by where their human verdict is from.

        Args:
            statuses: The statuses of all items.
            positions: The positions of the cell's items, none of which is in a known stratum.
        """
        with_sample_verdict = []
        without_verdict = []
        known_outside_sample = []
        for position in positions:
            status = statuses[position]
            if status.human is None:
                without_verdict.append(position)
            elif status.has_sample_verdict:
                with_sample_verdict.append(position)
            else:
                known_outside_sample.append(position)

        probabilities = [statuses[position].inclusion_probability for position in positions]
        return cls(
            with_sample_verdict,
            without_verdict=without_verdict,
            known_outside_sample=known_outside_sample,
            mean_probability=float(np.mean(probabilities)),
        )


def _group_positions_by_cell(
    statuses: Sequence[ItemStatus],
) -> tuple[dict[CellKey, list[int]], list[int]]:
    """Return the positions of the items of each cell, and the positions of the items without a
    human verdict that no sample can contain.

    All other items are in neither: their verdicts are known and represent no other items, or they
    have no automatic outcome and the sample has no such items.
    """
    samples_missing_outcomes = any(
        status.has_sample_verdict and status.automatic is None for status in statuses
    )
    positions_by_key: dict[CellKey, list[int]] = {}
    unsampled: list[int] = []
    for position, status in enumerate(statuses):
        if status.is_in_known_stratum:
            continue
        if status.automatic is None and not samples_missing_outcomes:
            continue

        if status.stratum is not None:
            key = _get_cell_key(status, status.stratum)
            positions_by_key.setdefault(key, []).append(position)
        elif status.human is None:
            unsampled.append(position)
        # A human verdict on an item outside all strata is known, so nothing is to be estimated.
    return positions_by_key, unsampled


def _get_cell_key(status: ItemStatus, stratum: SampleStrata) -> CellKey:
    return CellKey(
        status.automatic,
        stratum=stratum,
        category=status.category,
        run_index=status.run_index,
        context=status.context,
        source_stratum=status.source_stratum,
    )


def _get_cell_order(key: CellKey) -> tuple[int, str, str, str, str, str]:
    """Return the sort key of a cell, so that the same data give the same random draws."""
    return (
        key.run_index,
        key.source_stratum,
        str(key.automatic),
        str(key.stratum),
        key.category,
        key.context,
    )


def _number_pools(keys: Sequence[CellKey]) -> IntArray:
    """Return the number of the pool of each cell (see `CellKey.pool`)."""
    number_by_pool: dict[tuple[int, AutomaticOutcome], int] = {}
    numbers = []
    for key in keys:
        numbers.append(number_by_pool.setdefault(key.pool, len(number_by_pool)))
    return np.array(numbers, dtype=np.int64)


def _count_members(groups: Sequence[Sequence[int]]) -> IntArray:
    return np.array([len(group) for group in groups], dtype=np.int64)


def _count_passing_members(
    statuses: Sequence[ItemStatus], groups: Sequence[Sequence[int]]
) -> IntArray:
    """Count the items of each group whose human verdict is pass."""
    counts = [sum(statuses[position].human is True for position in group) for group in groups]
    return np.array(counts, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class VarianceModel:
    """Variance of a metric, and how further reviews of each cell reduce it."""

    cells: Cells
    posterior: PosteriorDraws
    weights: FloatArray
    """For each cell, the change of the metric if one more item in the cell passes."""
    variance: float
    quantile: float = NORMAL_QUANTILE
    """Half-width of the metric's interval, in standard deviations."""

    def find_cautious_rates(self) -> FloatArray:
        """Return the pass rates, one per cell, of a draw with a large variance of the metric.

        Only few draws (1 minus `_CAUTIOUS_SHARE`) have a larger one. The variance of a draw is that
        of binomial numbers of passing items: the sum of w² N p (1 - p) over the cells, with the
        weight w, N unreviewed items and the drawn pass rate p.
        """
        drawn_rates = self.posterior.rates
        variance_per_item = drawn_rates * (1 - drawn_rates)
        variance_of_draw = variance_per_item @ (self.weights**2 * self.cells.unreviewed)

        smallest_first = np.argsort(variance_of_draw, kind="stable")
        last_place = len(variance_of_draw) - 1
        cautious_draw = smallest_first[int(_CAUTIOUS_SHARE * last_place)]
        cautious_rates: FloatArray = drawn_rates[cautious_draw]
        return cautious_rates

    def compute_cell_variances(
        self, cells: Cells, max_reviews: int = 0, rates: FloatArray | None = None
    ) -> FloatArray:
        """Compute the part of the metric's variance that comes from each cell, after 0 to
        `max_reviews` further reviews, of shape (cells, `max_reviews` + 1). `rates` are the pass
        rates of the cells, by default the mean rates of the posterior.

        The number of passing items among the N unreviewed items of a cell is beta-binomial, with
        the variance N p (1 - p) (s + N) / (s + 1). The pass rate is p, and s is the sum of both
        parameters of the beta distribution: the number of reviews and the prior.
        """
        # Cells are rows, and numbers of further reviews are columns.
        p = (self.posterior.mean_rate if rates is None else rates)[:, np.newaxis]
        weights = self.weights[:, np.newaxis]
        further = np.arange(max_reviews + 1)
        unreviewed = np.maximum(cells.unreviewed[:, np.newaxis] - further, 0)
        s = cells.reviewed[:, np.newaxis] + further + 2 * JEFFREYS

        binomial_variance = weights**2 * unreviewed * p * (1 - p)
        variance: FloatArray = binomial_variance * (s + unreviewed) / (s + 1)
        return variance

    def compute_variance_ratio(self) -> float:
        """Return the variance of the metric, divided by the sum of the variances of its cells.

        The draws learn about a cell from other cells too, so the variance of the metric is not this
        sum. The ratio is assumed to stay the same after further reviews.
        """
        cell_variance = float(self.compute_cell_variances(self.cells).sum())
        return self.variance / cell_variance if cell_variance > 0 else 1.0


def allocate_reviews(model: VarianceModel, n_reviews: int) -> IntArray:
    """Return the number of further reviews for each cell.

    Their sum is `n_reviews`, or less if fewer items remain.
    """
    largest_first = _compute_variance_reductions(model, n_reviews)
    reductions = largest_first.reductions[:n_reviews]
    cell_of_review = largest_first.cell_indexes[:n_reviews]
    return np.bincount(cell_of_review[reductions > 0], minlength=len(model.cells))


ASSURANCE = 0.8
"""Probability with which a planned number of reviews reaches its goal."""
_CAUTIOUS_SHARE = 0.92
"""Share of the draws whose variance a plan allows for. It is larger than `ASSURANCE`, because the
further reviews can find more errors by chance. Measured with `benchmarks/coverage/designs.py`.
"""


def count_needed_reviews(model: VarianceModel, half_width: float) -> int | None:
    """Return the number of further reviews after which the interval has at most this half-width,
    with the probability `ASSURANCE`. Return None if that is impossible.
    """
    target_variance = (half_width / model.quantile) ** 2
    if model.variance <= target_variance:
        return 0
    later_variances = _predict_cautious_variances(model)
    sufficient = np.flatnonzero(later_variances <= target_variance + _ROUNDING_ERROR)
    if not len(sufficient):
        return None
    # The first predicted variance is that after one review.
    return int(sufficient[0]) + 1


def _predict_cautious_variances(model: VarianceModel) -> FloatArray:
    """Predict the variance of the metric after 1, 2, ... further reviews, of shape (unreviewed
    items,). Each review is of the cell where it reduces the variance most.

    The pass rates are those of a draw with a large variance (see
    `VarianceModel.find_cautious_rates`).
    """
    rates = model.find_cautious_rates()
    variance_now = float(model.compute_cell_variances(model.cells, rates=rates).sum())
    n_unreviewed = int(model.cells.unreviewed.sum())
    reductions, _ = _compute_variance_reductions(model, n_unreviewed, rates)
    later_cell_variances = variance_now - np.cumsum(reductions)
    later_variances: FloatArray = model.compute_variance_ratio() * later_cell_variances
    return later_variances


def count_needed_uniform_reviews(
    variance: float,
    n_reviewed: int,
    n_unreviewed: int,
    half_width: float,
    quantile: float = NORMAL_QUANTILE,
) -> int | None:
    """Return the number of further reviews for an interval with this half-width, if further items
    are drawn like the reviewed items. None if this cannot be computed, because all items or none
    are reviewed.

    The variance of the mean of n of N items, drawn without replacement, is proportional to
    1/n - 1/N (Cochran, Sampling Techniques, chapter 2). The present variance gives the factor.

    Args:
        variance: Present variance of the metric.
        n_reviewed: Number of reviewed items of the sample.
        n_unreviewed: Number of items without a verdict.
        half_width: Half-width of the interval, in the unit of the metric.
        quantile: Half-width of the interval, in standard deviations.
    """
    target_variance = (half_width / quantile) ** 2
    if variance <= target_variance:
        return 0
    if not n_reviewed or not n_unreviewed:
        return None

    # Solution n of target / variance = (1/n - 1/N) / (1/n_reviewed - 1/N).
    n_items = n_reviewed + n_unreviewed
    numerator = n_items * n_reviewed * variance
    n_sufficient = numerator / (target_variance * n_unreviewed + n_reviewed * variance)
    return min(n_unreviewed, ceil(n_sufficient) - n_reviewed)


_ROUNDING_ERROR = 1e-15
"""Difference up to which two variances count as equal."""


class _VarianceReductions(NamedTuple):
    reductions: FloatArray
    """Variance reduction of each further review, largest first."""
    cell_indexes: IntArray
    """Index of the cell of each further review."""


def _compute_variance_reductions(
    model: VarianceModel, max_reviews: int, rates: FloatArray | None = None
) -> _VarianceReductions:
    """Return by how much each possible review reduces the variance of the metric, and its cell, the
    largest reduction first.

    Each further review of a cell reduces the variance by less than the review before. The reviews
    of one cell therefore stay in their order.
    """
    n_unreviewed = model.cells.unreviewed
    n_steps = int(min(max_reviews, n_unreviewed.max(initial=0)))

    # Tables with a row for each cell, and a column for its first, second, ... further review.
    variances = model.compute_cell_variances(model.cells, n_steps, rates)
    reductions = np.maximum(variances[:, :-1] - variances[:, 1:], 0.0)
    # A cell has no more reviews than unreviewed items.
    is_possible = np.arange(n_steps) < n_unreviewed[:, np.newaxis]
    cell_indexes, steps = np.nonzero(is_possible)

    possible_reductions = reductions[cell_indexes, steps]
    largest_first = np.argsort(-possible_reductions, kind="stable")
    return _VarianceReductions(possible_reductions[largest_first], cell_indexes[largest_first])
