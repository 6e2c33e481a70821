"""Compare two pass rates on the same items, which may belong to clusters.

Verdicts on items of a cluster (trials of a task, turns of a conversation, questions about one
function) are not independent. The unit of the test is therefore the cluster:

* Test: the statistic of Durkalski et al. (2003, Statistics in Medicine 22:2417) is the sum of the
  clusters' differences A - B. If both runs are equally good, the difference of each cluster is as
  likely to be negative as positive. The p value is computed from all possible signs, with half the
  probability of the observed sum (mid-p; Lancaster 1961). If each cluster has one item, this is
  McNemar's mid-p test (Fagerland et al. 2013, BMC Medical Research Methodology 13:91).
* Interval: the score interval for paired proportions (Tango 1998, Statistics in Medicine 17:891)
  with the effective number of items, which is the number of items divided by the design effect
  (Yang et al. 2010; Miller 2024, arXiv 2411.00640).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, erfc, exp, fsum, lcm, lgamma, log, sqrt
from typing import Literal

from fcreview.stats.intervals import CONFIDENCE_LEVEL, NORMAL_QUANTILE, compute_t_quantile

INTERVAL_METHOD = "tango"
"""Name of the score interval for the difference of paired proportions."""
TestMethod = Literal["mcnemar mid-p", "clustered mid-p", "clustered normal"]
INTERVAL_DESCRIPTION = (
    f"{100 * CONFIDENCE_LEVEL:.0f} % score interval for paired proportions (Tango 1998)"
)
TEST_DESCRIPTIONS: dict[TestMethod, str] = {
    "mcnemar mid-p": "McNemar's mid-p test",
    "clustered mid-p": "McNemar's test for clusters, mid-p (Durkalski 2003)",
    "clustered normal": "McNemar's test for clusters, normal approximation (Durkalski 2003)",
}
_BISECTION_STEPS = 60
_MAX_SIGN_STEPS = 1_000_000
"""Number of steps, less than a second, above which the normal approximation replaces the
distribution of all signs.
"""
_MAX_EXACT_SIGNS = 1000
"""Number of signs up to which their distribution is computed with integers."""
_PRIOR_FLIPS = 1.0
"""Weight, in flips, of the assumption that all items of a cluster flip together. It keeps the
design effect from being too small if there are few flips or none.
"""

Number = int | float | Fraction


@dataclass(frozen=True, slots=True)
class ClusteredPairs:
    """Pairs of verdicts of A and B, summed by cluster."""

    sizes: Sequence[int]
    """Number of pairs in each cluster."""
    differences: Sequence[Number]
    """Number of passes of A minus number of passes of B, in each cluster. A fraction if a task has
    more trials in one run than in the other.
    """
    only_a: float
    """Number of pairs that only A passes."""
    only_b: float

    @property
    def n(self) -> int:
        return sum(self.sizes)

    @property
    def value(self) -> float:
        """Difference of the pass rates, A - B. `n` must not be 0."""
        return float(sum(self.differences)) / self.n

    @property
    def is_clustered(self) -> bool:
        return any(size > 1 for size in self.sizes)


@dataclass(frozen=True, slots=True)
class RateDifference:
    """Difference of two pass rates (A minus B), from -1 to 1, with 95 % interval and p-value;
    None without items.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    test: TestMethod | None = None
    n_clusters: int = 0
    design_effect: float | None = None
    """Factor by which clusters increase the variance of the difference, as used for the interval; 1
    without clusters.
    """


def compute_difference(pairs: ClusteredPairs) -> RateDifference:
    """Compute the difference of two pass rates on the same items, with its interval and p."""
    if not pairs.n:
        return RateDifference()

    # The items of a cluster resemble each other, so the pairs count as fewer independent pairs.
    design_effect = estimate_design_effect(pairs)
    low, high = compute_tango_interval(
        pairs.only_a / design_effect, pairs.only_b / design_effect, n=pairs.n / design_effect
    )
    p, test = compute_clustered_p_value(pairs)
    return RateDifference(
        value=pairs.value,
        low=low,
        high=high,
        p=p,
        test=test,
        n_clusters=len(pairs.sizes),
        design_effect=design_effect,
    )


def estimate_design_effect(pairs: ClusteredPairs) -> float:
    """Estimate the variance of the difference with clusters, divided by its variance if all pairs
    were independent.

    The factor includes the quantile of Student's t distribution, because the variance is estimated
    from few clusters.
    """
    if not pairs.is_clustered:
        return 1.0
    if len(pairs.sizes) == 1:
        # One cluster counts as one pair.
        return float(pairs.n)

    # A pair that only one run passes has the squared difference 1, and any other pair 0. So the sum
    # of the squared deviations of single pairs from their mean is as follows.
    mean = pairs.value
    independent_variance = pairs.only_a + pairs.only_b - pairs.n * mean**2
    return compute_design_effect(
        pairs.sizes,
        squared_deviations=_sum_squared_deviations(pairs.differences, pairs.sizes, mean),
        independent_variance=independent_variance,
        prior_flips=_PRIOR_FLIPS,
    )


def compute_design_effect(
    cluster_sizes: Sequence[int],
    *,
    squared_deviations: float,
    independent_variance: float,
    prior_flips: float,
) -> float:
    """Compute how much larger the variance of a difference is than that of independent pairs,
    because the pairs of a cluster resemble each other. It is at least 1, times the square of the
    ratio of Student's t quantile to the normal one.

    There must be at least two clusters.

    Args:
        cluster_sizes: Number of pairs in each cluster.
        squared_deviations: Sum over the clusters of the squared deviation of their difference from
            the mean difference times their size.
        independent_variance: The same sum if each pair were a cluster of its own.
        prior_flips: Weight, in flips, of the assumption that all pairs of a cluster flip together.
    """
    # Variance of the sum of all pairs, if the clusters are independent (n - 1 clusters are free)
    n_clusters = len(cluster_sizes)
    clustered_variance = squared_deviations * n_clusters / (n_clusters - 1)

    # With few different pairs, both variances are uncertain. The prior pulls their ratio to the
    # largest design effect: the one if all items of a cluster flip together, which is the mean
    # cluster size of an item.
    largest_effect = sum(size**2 for size in cluster_sizes) / sum(cluster_sizes)
    prior_variance = prior_flips * largest_effect
    ratio = (clustered_variance + prior_variance) / (independent_variance + prior_flips)

    # The variance is estimated from the clusters, so Student's t replaces the normal distribution.
    # A half-width is the quantile times the square root of the variance, hence the square.
    quantile_ratio = compute_quantile_ratio(n_clusters)
    return max(ratio, 1.0) * quantile_ratio**2


def _sum_squared_deviations(totals: Sequence[Number], sizes: Sequence[int], mean: float) -> float:
    """Sum the squared differences between the total of each cluster and its expectation, if each
    item has this mean.
    """
    clusters = zip(totals, sizes, strict=True)
    return sum((float(total) - mean * size) ** 2 for total, size in clusters)


def compute_quantile_ratio(n_clusters: int) -> float:
    """Return by which factor an interval from n clusters is wider than with a known variance: the
    quantile of Student's t distribution with n - 1 degrees of freedom, divided by the normal one.

    Fewer than 3 degrees of freedom count as 3.
    """
    return compute_t_quantile(max(n_clusters - 1, 3)) / NORMAL_QUANTILE


def compute_mcnemar_p_value(only_a: int, only_b: int) -> float:
    """Compute the two-sided mid-p value of McNemar's test from the numbers of items that only A
    and only B passes.
    """
    p, _ = compute_clustered_p_value(
        ClusteredPairs(
            [1] * (only_a + only_b), [1] * only_a + [-1] * only_b, only_a=only_a, only_b=only_b
        )
    )
    return p


def compute_clustered_p_value(pairs: ClusteredPairs) -> tuple[float, TestMethod]:
    """Compute the two-sided p value of the hypothesis that the difference of each cluster has a
    random sign.
    """
    nonzero = [difference for difference in pairs.differences if difference]
    differences = _scale_to_integers(nonzero)
    count_by_size = Counter(abs(difference) for difference in differences)
    if _count_sign_steps(count_by_size) > _MAX_SIGN_STEPS:
        # The integers may be too large for floating-point numbers, so the differences before
        # scaling are used.
        return _compute_normal_p_value(pairs.differences), "clustered normal"

    p = _compute_mid_p_value(differences, count_by_size)
    if pairs.is_clustered:
        return p, "clustered mid-p"
    return p, "mcnemar mid-p"


def _compute_normal_p_value(differences: Sequence[Number]) -> float:
    """Compute the p value by the normal distribution that the sum approximates."""
    values = [float(difference) for difference in differences]
    standard_deviation = sqrt(fsum(value**2 for value in values))
    deviation = abs(fsum(values)) / standard_deviation
    return erfc(deviation / sqrt(2))


def _compute_mid_p_value(differences: Sequence[int], count_by_size: Counter[int]) -> float:
    """Compute the two-sided p value exactly. Half of the probability of the observed sum counts
    (mid-p).

    `count_by_size` has how often each absolute difference occurs.
    """
    # The positive and the negative differences add up to the sum, and their absolute values to the
    # total. So the sum of the positive ones is (total + sum) / 2.
    absolute_sum = abs(sum(differences))
    total = sum(abs(difference) for difference in differences)
    observed_positive_sum = (total + absolute_sum) // 2

    chances = _distribute_positive_sum(count_by_size)
    chance_of_more = sum(chances[observed_positive_sum + 1 :])
    chance_of_equal = chances[observed_positive_sum]
    # Both sides have the same probability: chance_of_more + chance_of_equal / 2.
    return min(1.0, 2 * chance_of_more + chance_of_equal)


def _scale_to_integers(differences: Sequence[Number]) -> list[int]:
    """Multiply the differences by a common factor, which does not change the test."""
    factor = lcm(*(Fraction(each).denominator for each in differences))
    return [int(each * factor) for each in differences]


def _count_sign_steps(sizes: Counter[int]) -> int:
    """Count the steps of `_distribute_positive_sum`."""
    steps = 0
    length = 1
    for size, count in sizes.items():
        steps += length * (count + 1)
        length += size * count
    return steps


def _distribute_positive_sum(sizes: Counter[int]) -> list[float]:
    """Return the probability of each sum of the positive differences, from 0, if all signs are
    random. `sizes` contains how often each absolute difference occurs.
    """
    # chances[s] is the probability of the sum s. The sizes are added one after the other.
    chances = [1.0]
    for size, count in sizes.items():
        extended = [0.0] * (len(chances) + size * count)
        for n_positive, chance_of_signs in enumerate(_distribute_positive_signs(count)):
            added = size * n_positive
            for earlier_sum, earlier_chance in enumerate(chances):
                extended[earlier_sum + added] += earlier_chance * chance_of_signs
        chances = extended
    return chances


def _distribute_positive_signs(count: int) -> list[float]:
    """Return the probability of each number of positive signs, from 0 to `count`."""
    if count <= _MAX_EXACT_SIGNS:
        return [comb(count, n_positive) / 2**count for n_positive in range(count + 1)]
    constant = lgamma(count + 1) - count * log(2)
    return [
        exp(constant - lgamma(n_positive + 1) - lgamma(count - n_positive + 1))
        for n_positive in range(count + 1)
    ]


def compute_tango_interval(
    only_a: float, only_b: float, n: float, quantile: float = NORMAL_QUANTILE
) -> tuple[float, float]:
    """Return both ends of Tango's score interval for the difference of two pass rates (A minus B).

    The same `n` items were tried by A and B. `only_a` of them pass with A only, `only_b` with B
    only. `n` must not be 0. The default quantile gives a 95 % interval.
    """
    pairs = _PairCounts(only_a, only_b=only_b, n=n)
    value = (only_a - only_b) / n
    low = _find_interval_end(pairs, quantile, inside=value, outside=-1.0)
    high = _find_interval_end(pairs, quantile, inside=value, outside=1.0)
    return low, high


@dataclass(frozen=True, slots=True)
class _PairCounts:
    """Numbers of pairs that only A passes, that only B passes, and of all pairs."""

    only_a: float
    only_b: float
    n: float


def compute_tango_score(only_a: float, only_b: float, n: float, delta: float) -> float:
    """Compute Tango's score statistic, which is standard normal if `delta` (from -1 to 1) is the
    true difference.
    """
    variance = n * (2 * _estimate_only_b_share(only_a, only_b, n, delta) + delta * (1 - delta))
    deviation = only_a - only_b - n * delta
    if variance > 0:
        return deviation / sqrt(variance)
    if deviation == 0:
        return 0.0
    return float("inf") if deviation > 0 else float("-inf")


def _estimate_only_b_share(only_a: float, only_b: float, n: float, delta: float) -> float:
    """Estimate by maximum likelihood the share that only B passes, given the difference `delta`
    (Tango 1998, eq. 7).
    """
    a = 2 * n
    b = (2 * n - only_a + only_b) * delta - only_a - only_b
    c = -only_b * delta * (1 - delta)
    return (sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)


def _find_interval_end(
    pairs: _PairCounts, quantile: float, *, inside: float, outside: float
) -> float:
    """Find the interval's end between a difference inside the interval and a difference outside."""
    for _ in range(_BISECTION_STEPS):
        middle = (inside + outside) / 2
        score = compute_tango_score(pairs.only_a, pairs.only_b, pairs.n, middle)
        if abs(score) <= quantile:
            inside = middle
        else:
            outside = middle
    return inside


def adjust_by_holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values for the number of tests (Holm 1979, Scandinavian Journal of Statistics
    6:65).
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, highest)
    return adjusted


@dataclass(frozen=True, slots=True)
class ClusteredRate:
    """Pass rate of one run over clusters of items."""

    value: float
    standard_error: float | None
    """Clustered standard error (Miller 2024); None with fewer than two clusters."""
    low: float
    high: float
    """Ends of the 95 % interval: Wilson's interval with the effective number of items."""


def compute_clustered_rate(sizes: Sequence[int], passed: Sequence[Number]) -> ClusteredRate | None:
    """Compute a pass rate from the number of items and the number of passing items of each cluster.
    Returns None without items.

    The rate is a ratio of two sums over clusters. Its variance is estimated from the deviations of
    the clusters from the rate times their size (Cochran 1977, Sampling Techniques, chapter 6;
    Miller 2024).
    """
    n_items = sum(sizes)
    if not n_items:
        return None

    rate = float(sum(passed)) / n_items
    low, high = _compute_clustered_wilson_interval(sizes, passed)
    # One cluster says nothing about the differences between clusters.
    n_clusters = len(sizes)
    if n_clusters < 2:
        return ClusteredRate(rate, standard_error=None, low=low, high=high)
    squared_deviations = _sum_squared_deviations(passed, sizes, rate)
    variance = squared_deviations * n_clusters / (n_clusters - 1) / n_items**2
    return ClusteredRate(rate, standard_error=sqrt(variance), low=low, high=high)


def _compute_clustered_wilson_interval(
    sizes: Sequence[int], passed: Sequence[Number]
) -> tuple[float, float]:
    """Compute Wilson's interval. A pass rate is its difference from a run that passes no item."""
    pairs = ClusteredPairs(sizes, passed, only_a=float(sum(passed)), only_b=0.0)
    effective_n = pairs.n / estimate_design_effect(pairs)
    return compute_wilson_interval_of_share(pairs.value, effective_n)


def compute_wilson_interval_of_share(share: float, effective_n: float) -> tuple[float, float]:
    """Compute the 95 % interval of a share (Wilson 1927) from an effective number of items,
    which may be a fraction.
    """
    square = NORMAL_QUANTILE**2 / effective_n
    center = (share + square / 2) / (1 + square)
    deviation = sqrt(share * (1 - share) / effective_n + square / (4 * effective_n))
    half_width = NORMAL_QUANTILE / (1 + square) * deviation
    low = max(0.0, center - half_width) if share > 0 else 0.0
    high = min(1.0, center + half_width) if share < 1 else 1.0
    return low, high
