"""Compute 95 % intervals of agreement coefficients, also for few items.

* Percent agreement of two annotators on independent units has the mid-p interval of a share.
* Any other percent agreement has Wilson's interval (1927) with the effective number of units, which
  is the number of units divided by the design effect. The design effect follows from the
  differences between items. It is below 1 if each unit has several pairs of labels, and above 1 if
  the targets of an item are alike.
* All other coefficients have an interval by the Bayesian bootstrap (Rubin 1981, Annals of
  Statistics 9:130). The items get random weights, which are as plausible as the equal weights of
  the sample, and the interval contains the middle 95 % of the coefficients. The targets of an item
  have one weight, because they are not independent.

A small sample rarely contains the rare labels and disagreements that would change a coefficient.
`make_prior_units` therefore adds a few units with all kinds of labels. Their numbers were chosen by
simulation (`benchmarks/coverage/agreement.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lgamma, log, log1p

import numpy as np

from fcreview.stats.agreement_coefficients import FloatArray, IntArray, Statistic
from fcreview.stats.intervals import CONFIDENCE_LEVEL, NORMAL_QUANTILE, compute_t_quantile
from fcreview.stats.paired_difference import (
    compute_quantile_ratio,
    compute_wilson_interval_of_share,
)

NO_LABEL = -1
"""Value in `RatingTable.cells` and in the cells of prior units of a missing label."""
PRIOR_AGREEMENTS = 1.5
PRIOR_DISAGREEMENTS = 0.5
"""Numbers of units with equal and with different labels that are added for intervals."""
MAX_PRIOR_CATEGORIES = 20
MIN_ITEMS = 10
"""Number of items below which the Bayesian bootstrap does not contain the true value often
enough.
"""
PRIOR_SHARE_UNITS = 0.25
PRIOR_SHARE_DESIGN_EFFECT = 0.6
"""Number of units with this design effect that are added for intervals of percent agreement, so
that items without a difference do not make the design effect 0.
"""
SEED = 0
DRAWS = 4000
MIN_DRAWS = 500
MAX_DRAWN_NUMBERS = 4_000_000
"""Number of random numbers above which there are fewer than `DRAWS` draws."""
INTERVAL_PERCENTILES = (2.5, 97.5)
BISECTION_STEPS = 60
"""Number of halvings after which an interval of shares is as narrow as a rounding error."""


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """Items whose units have the same patterns. Units of one item are not independent."""

    patterns: tuple[int, ...]
    """Pattern of each unit of such an item, sorted."""
    n_items: int


@dataclass(frozen=True, slots=True)
class PriorUnits:
    """Units that are added for intervals."""

    cells: IntArray
    """Labels of each pattern, of shape (patterns, annotators)."""
    units: FloatArray
    """Number of units of each pattern, less than 1."""


def make_prior_units(n_annotators: int, n_labels: int, n_categories: int) -> PriorUnits:
    """Make assumed units, which keep an interval from being too narrow with few labels.

    Each assumed unit has `n_labels` labels. In some units, all annotators agree; in the others, one
    annotator disagrees with all others. There are none if `n_labels` or `n_categories` is below 2,
    or if there are very many categories.
    """
    if n_labels < 2 or not 2 <= n_categories <= MAX_PRIOR_CATEGORIES:
        return PriorUnits(np.zeros((0, n_annotators), dtype=np.int64), units=np.zeros(0))

    # Each pattern is a pair of labels: that of the first annotator, and that of all others.
    first_labels = np.repeat(np.arange(n_categories), n_categories)
    other_labels = np.tile(np.arange(n_categories), n_categories)
    cells = np.full((n_categories**2, n_annotators), NO_LABEL, dtype=np.int64)
    # Coefficients of more than two annotators do not depend on which annotator disagrees.
    cells[:, 0] = first_labels
    cells[:, 1:n_labels] = other_labels[:, np.newaxis]

    # The units of each kind are divided equally among its patterns.
    n_equal_pairs = n_categories
    n_different_pairs = n_categories * (n_categories - 1)
    units = np.where(
        first_labels == other_labels,
        PRIOR_AGREEMENTS / n_equal_pairs,
        PRIOR_DISAGREEMENTS / n_different_pairs,
    )
    return PriorUnits(cells, units=units)


def compute_mid_p_interval(n_equal: int, n_units: int) -> Interval:
    """Return the 95 % mid-p interval of the share `n_equal / n_units` (Berry and Armitage 1995, The
    Statistician 44:417). `n_units` must not be 0.

    For few units, it contains the true share more reliably than Wilson's interval.
    """
    log_choices = _compute_log_choices(n_units)

    def compute_mid_p(share: float) -> float:
        """Return the probability of more equal units plus half the probability of as many."""
        chances = _compute_binomial_chances(log_choices, share)
        return float(chances[n_equal + 1 :].sum() + chances[n_equal] / 2)

    tail = (1 - CONFIDENCE_LEVEL) / 2
    low = _bisect_share(compute_mid_p, tail) if n_equal > 0 else 0.0
    high = _bisect_share(compute_mid_p, 1 - tail) if n_equal < n_units else 1.0
    return Interval(low, high=high)


def _compute_log_choices(n: int) -> FloatArray:
    """Return for each k from 0 to n the logarithm of the number of ways to choose k of n units:
    n! / (k! (n - k)!).
    """
    log_factorials = np.array([lgamma(k + 1) for k in range(n + 1)])
    log_choices: FloatArray = log_factorials[n] - log_factorials - log_factorials[::-1]
    return log_choices


def _compute_binomial_chances(log_choices: FloatArray, share: float) -> FloatArray:
    """Return for each k from 0 to n the probability that k of n units are equal, if a unit is with
    the probability p = `share`: the number of choices times p^k (1 - p)^(n - k).
    """
    n = len(log_choices) - 1
    k = np.arange(n + 1)
    # Logarithms, because the factors of many units are too large or too small for a float.
    chances: FloatArray = np.exp(log_choices + k * log(share) + (n - k) * log1p(-share))
    return chances


def _bisect_share(compute_probability: Callable[[float], float], probability: float) -> float:
    """Return the share at which an increasing function has the given value."""
    low = 0.0
    high = 1.0
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if compute_probability(middle) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class ItemAgreement:
    """Agreement on the units of one item."""

    n_units: int
    agreement: float
    """Sum of the shares of equal pairs of labels of these units."""


def compute_clustered_share_interval(items: Sequence[ItemAgreement]) -> Interval:
    """Return Wilson's interval of percent agreement. The items are independent, but the units of an
    item are not. There must be at least two items.
    """
    n_items = len(items)
    n_units = sum(item.n_units for item in items)
    share = sum(item.agreement for item in items) / n_units

    # The design effect is the factor of the variance.
    design_effect = _compute_design_effect(items, share)
    # Student's t, because the variance is estimated from few items. The half-width of an interval
    # is the quantile times the square root of the variance, so the variance gets the square.
    quantile_ratio = compute_quantile_ratio(n_items)
    effective_n = n_units / (design_effect * quantile_ratio**2)
    return Interval(*compute_wilson_interval_of_share(share, effective_n))


def _compute_design_effect(items: Sequence[ItemAgreement], share: float) -> float:
    """Return how many times larger the variance of a share is than that of independent units (Kish
    1965). Both variances are those of the sum of the agreement of all units.
    """
    n_items = len(items)
    n_units = sum(item.n_units for item in items)
    squares = sum((item.agreement - share * item.n_units) ** 2 for item in items)
    clustered_variance = squares * n_items / (n_items - 1)
    independent_variance = n_units * share * (1 - share)

    # Prior units keep the ratio of two small variances from being extreme.
    independent_prior = PRIOR_SHARE_UNITS
    clustered_prior = PRIOR_SHARE_UNITS * PRIOR_SHARE_DESIGN_EFFECT
    return (clustered_variance + clustered_prior) / (independent_variance + independent_prior)


def draw_plausible_counts(item_groups: Sequence[ItemGroup], prior_units: FloatArray) -> FloatArray:
    """Draw how many units could have had each pattern of labels, of shape (draws, patterns).

    This is a Bayesian bootstrap: in each draw, each item gets a random weight from a gamma
    distribution. With the mean weight 1, it is the exponential distribution of the ordinary
    bootstrap; with a smaller one, the weights vary more (see `_compute_mean_weight`).

    Args:
        item_groups: Items whose units have the same patterns.
        prior_units: The number of assumed units with each pattern.
    """
    # Many patterns or groups get fewer draws, which limits time and memory.
    n_numbers_per_draw = max(len(prior_units), len(item_groups))
    n_draws = max(MIN_DRAWS, min(DRAWS, MAX_DRAWN_NUMBERS // n_numbers_per_draw))
    generator = np.random.default_rng(SEED)
    mean_weight = _compute_mean_weight(item_groups)

    counts = generator.standard_gamma(prior_units, size=(n_draws, len(prior_units)))
    for group in item_groups:
        # The sum of n gamma variables with the shape m has a gamma distribution with the shape n m.
        group_weights = generator.standard_gamma(mean_weight * group.n_items, size=n_draws)
        # All units of an item have the weight of the item, because they are not independent.
        for pattern in group.patterns:
            counts[:, pattern] += group_weights
    return counts


MEAN_WEIGHT_POWER = 1.5
"""Power of the ratio of variances in `_compute_mean_weight`, with which the intervals of items with
several targets contain the true value often enough. It was chosen by simulation
(`benchmarks/coverage/agreement.py`); the reasons given there alone would give 1.
"""


def _compute_mean_weight(item_groups: Sequence[ItemGroup]) -> float:
    """Return the mean of the items' random weights, which is the shape of their gamma distribution.
    The relative variance of the weights is 1 / mean, so a mean below 1 makes the intervals wider.

    It is below 1 if items have several targets, because few items then show little about the
    differences between items. The bootstrap treats the differences in the sample as known. The
    interval of a mean is wider in two ways: it has a quantile of Student's t distribution instead
    of the normal one, and its variance is divided by n - 1 items instead of n.
    """
    if all(len(group.patterns) == 1 for group in item_groups):
        return 1.0
    n_items = sum(group.n_items for group in item_groups)
    if n_items < MIN_ITEMS:
        # There is no interval.
        return 1.0
    quantile_ratio = NORMAL_QUANTILE / compute_t_quantile(n_items - 1)
    variance_ratio = quantile_ratio**2 * (n_items - 1) / n_items
    return float(variance_ratio**MEAN_WEIGHT_POWER)


def compute_bayesian_bootstrap_interval(
    value: float, statistic: Statistic, plausible_counts: FloatArray
) -> Interval | None:
    """Return the middle 95 % of the coefficients of `plausible_counts`, extended to the value.

    Returns None if the coefficient is undefined in more than half of the draws.
    """
    drawn_values = statistic(plausible_counts)
    defined = drawn_values[~np.isnan(drawn_values)]
    if 2 * len(defined) < len(drawn_values):
        return None
    low, high = np.percentile(defined, INTERVAL_PERCENTILES)
    return Interval(min(value, float(low)), high=max(value, float(high)))
