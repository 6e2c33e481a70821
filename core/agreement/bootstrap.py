"""Coefficients with their intervals: units are drawn again with replacement (Efron 1979), and the middle 95 % of what
comes out is the interval (percentile method; Efron and Tibshirani 1993, chapter 13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcreview.agreement.coefficients import Array, Statistic

RESAMPLES = 1000
SEED = 0
MIDDLE = (2.5, 97.5)
"""Percentiles between which the interval lies."""
_CELLS = 2_000_000
"""Weights held at a time."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """None is not defined: nothing to compare, or one category only where chance must be taken out."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    """No interval where the coefficient is defined in less than half of the resamples."""

    def over(self, units: int) -> Estimate:
        """That of so many units: a single one has no interval, as every resample is that unit again."""
        return self if units > 1 else Estimate(self.value)


def estimates(
    times: NDArray[np.int64], statistics: Sequence[Statistic], resamples: int = RESAMPLES, seed: int = SEED
) -> list[Estimate]:
    """Every statistic of the units and its interval, all from the same resamples.

    `times`: how often each row that the statistics know occurs among the units. The same seed gives the same intervals.
    """
    values = [float(statistic(times[np.newaxis].astype(np.float64))[0]) for statistic in statistics]
    drawn: list[list[Array]] = [[] for _ in statistics]
    for weights in _resampled(times, resamples, seed):
        for some, statistic in zip(drawn, statistics, strict=True):
            some.append(statistic(weights))
    return [_estimate(value, np.concatenate(some)) for value, some in zip(values, drawn, strict=True)]


def _estimate(value: float, drawn: Array) -> Estimate:
    if np.isnan(value):
        return Estimate()
    defined = drawn[~np.isnan(drawn)]
    if len(defined) * 2 < len(drawn):
        return Estimate(value)
    low, high = np.percentile(defined, MIDDLE)
    return Estimate(value, float(low), float(high))


def _resampled(times: NDArray[np.int64], resamples: int, seed: int) -> Iterator[Array]:
    """How often each row occurs in each resample, a part of them at a time: units alike are drawn together."""
    generator = np.random.default_rng(seed)
    units = int(times.sum())
    step = max(1, _CELLS // len(times))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        yield generator.multinomial(units, times / units, size=size).astype(np.float64)
