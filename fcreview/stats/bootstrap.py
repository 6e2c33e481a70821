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
    """Compute each statistic and its 95 % bootstrap interval.

    The interval contains the middle 95 % of the resampled values (Efron and Tibshirani 1993,
    chapter 13). It is too narrow for fewer than a few dozen units.

    Args:
        units_per_pattern: How many units have each pattern of labels.
        statistics: Functions that compute a value from each row of such counts.
        n_resamples: Number of random samples.
        seed: Seed of the random samples.
    """
    # The resamples come in chunks that all statistics share, because drawing takes longest.
    chunks_by_statistic: list[list[FloatArray]] = [[] for _ in statistics]
    for resampled_counts in _iter_resamples(units_per_pattern, n_resamples, seed):
        for chunks, statistic in zip(chunks_by_statistic, statistics, strict=True):
            chunks.append(statistic(resampled_counts))

    observed_counts = units_per_pattern[np.newaxis].astype(np.float64)
    estimates = []
    for chunks, statistic in zip(chunks_by_statistic, statistics, strict=True):
        value = float(statistic(observed_counts)[0])
        estimates.append(_build_estimate(value, np.concatenate(chunks)))
    return estimates


def _build_estimate(value: float, resampled_values: FloatArray) -> BootstrapEstimate:
    """Build an estimate. It has no interval if the statistic is undefined in more than half of the
    resamples.
    """
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
    """Yield random samples in chunks, as the numbers of units that have each pattern."""
    generator = np.random.default_rng(seed)
    n_units = int(units_per_pattern.sum())
    step = max(1, MAX_COUNTS // len(units_per_pattern))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        yield generator.multinomial(n_units, units_per_pattern / n_units, size=size).astype(
            np.float64
        )
