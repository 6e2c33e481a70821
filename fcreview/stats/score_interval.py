"""Compute the reference interval of an estimate: the poststratified score interval.

The items are divided into strata h by automatic verdict, stratum of the sample and weight in the
metric. With N_h items, n_h reviewed ones of which k_h pass, and the weight w_h of one item, the
estimate is

    t = c + sum of w_h N_h k_h / n_h

where c is the part of the metric that does not depend on the sampled items. With Wilson's limits
l_h and u_h of k_h of n_h / (1 - n_h / N_h) items, the interval is (Zou and Donner 2008, the method
of variance estimates recovery)

    from  t - sqrt(sum of (w_h N_h (k_h / n_h - l_h))^2)
    to    t + sqrt(sum of (w_h N_h (u_h - k_h / n_h))^2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from fcreview.stats.intervals import NORMAL_QUANTILE


@dataclass(frozen=True, slots=True)
class ScoreStratum:
    n_items: int
    n_reviewed: int
    n_passed: int
    weight: float
    """Change of the metric if one more item of the stratum passes."""

    @property
    def rate(self) -> float:
        """Pass rate of the reviewed items; 0.5 if no item was reviewed."""
        return self.n_passed / self.n_reviewed if self.n_reviewed else 0.5

    def compute_limits(self) -> tuple[float, float]:
        """Return Wilson's limits of the pass rate, with the finite population correction."""
        if not self.n_reviewed:
            return 0.0, 1.0
        n_unreviewed = self.n_items - self.n_reviewed
        if not n_unreviewed:
            return self.rate, self.rate
        effective_n = self.n_reviewed * self.n_items / n_unreviewed
        square = NORMAL_QUANTILE**2 / effective_n
        center = (self.rate + square / 2) / (1 + square)
        deviation = sqrt(self.rate * (1 - self.rate) / effective_n + square / (4 * effective_n))
        half_width = NORMAL_QUANTILE / (1 + square) * deviation
        return max(0.0, center - half_width), min(1.0, center + half_width)


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    estimated: float
    low: float
    high: float


def compute_score_interval(strata: Sequence[ScoreStratum], constant: float) -> ScoreInterval:
    """Compute the poststratified score interval of a metric.

    `constant` is its value if no item passes. The distances from the estimate to the limits of the
    strata are added in squares, separately below and above (method of variance estimates recovery,
    Zou and Donner 2008).
    """
    estimated = constant
    squares_below = 0.0
    squares_above = 0.0
    for stratum in strata:
        # The metric changes by `effect` if the pass rate of the stratum rises from 0 to 1.
        effect = stratum.weight * stratum.n_items
        estimated += effect * stratum.rate

        low_rate, high_rate = stratum.compute_limits()
        square_to_low_rate = (effect * (stratum.rate - low_rate)) ** 2
        square_to_high_rate = (effect * (high_rate - stratum.rate)) ** 2
        is_higher_rate_better = effect >= 0
        if is_higher_rate_better:
            squares_below += square_to_low_rate
            squares_above += square_to_high_rate
        else:
            # The high rate gives the low limit of the metric.
            squares_below += square_to_high_rate
            squares_above += square_to_low_rate

    low = estimated - sqrt(squares_below)
    high = estimated + sqrt(squares_above)
    return ScoreInterval(estimated, low=low, high=high)
