"""Compute percentile bootstrap intervals of statistics that depend on counts of patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fcreview.stats.agreement_coefficients import FloatArray, IntArray, Statistic

MAX_COUNTS = 2_000_000
"""Maximum number of pattern counts that are in memory at a time."""
RESAMPLES = 1000
SEED = 0
INTERVAL_PERCENTILES = (2.5, 97.5)


class BootstrapEstimate(NamedTuple):
    """Coefficient with its bootstrap interval. The value is None if the coefficient is undefined.
    The ends of the interval are None if the coefficient is undefined in more than half of the
    resamples.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def omit_interval_of_single_unit(self, n_units: int) -> BootstrapEstimate:
        """Return the estimate, without its interval if there is only one unit, because all
        resamples are then equal.
        """
        return self if n_units > 1 else BootstrapEstimate(self.value)


def bootstrap(
    units_per_pattern: IntArray,
    statistics: Sequence[Statistic],
    n_resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[BootstrapEstimate]:
    """Compute each statistic and its bootstrap interval, from the middle 95 % of the resampled
    values (Efron and Tibshirani 1993, chapter 13). The intervals are too narrow for fewer than a
    few dozen units. `units_per_pattern` is the number of units that have each pattern.
    """
    values = [
        float(statistic(units_per_pattern[np.newaxis].astype(np.float64))[0])
        for statistic in statistics
    ]
    resampled: list[list[FloatArray]] = [[] for _ in statistics]
    for pattern_counts in _iter_resamples(units_per_pattern, n_resamples, seed):
        for chunks, statistic in zip(resampled, statistics, strict=True):
            chunks.append(statistic(pattern_counts))
    return [
        _build_estimate(value, np.concatenate(chunks))
        for value, chunks in zip(values, resampled, strict=True)
    ]


def _build_estimate(value: float, resampled_values: FloatArray) -> BootstrapEstimate:
    if np.isnan(value):
        return BootstrapEstimate()
    defined = resampled_values[~np.isnan(resampled_values)]
    if len(defined) * 2 < len(resampled_values):
        return BootstrapEstimate(value)
    low, high = np.percentile(defined, INTERVAL_PERCENTILES)
    return BootstrapEstimate(value, low=float(low), high=float(high))


def _iter_resamples(
    units_per_pattern: IntArray, n_resamples: int, seed: int
) -> Iterator[FloatArray]:
    generator = np.random.default_rng(seed)
    n_units = int(units_per_pattern.sum())
    step = max(1, MAX_COUNTS // len(units_per_pattern))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        yield generator.multinomial(n_units, units_per_pattern / n_units, size=size).astype(
            np.float64
        )
