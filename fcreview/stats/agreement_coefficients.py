"""Coefficients of agreement as functions of how often each kind of unit occurs.

Units alike (the same number of labels of each category) are one row. A `Statistic` takes weights, (samples, rows): how
often each row occurs in each sample, and gives one value a sample, NaN where the coefficient is not defined. So the
data themselves and a thousand resamples of them are a few matrix products, by the same formula.

Rows are counts (rows, categories), but for `cohen`: the categories (rows, 2) that the two annotators chose.

Coefficients with their intervals: units are drawn again with replacement (Efron 1979), and the middle 95 % of what
comes out is the interval (percentile method; Efron and Tibshirani 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]
_NOTHING = 1e-12


def agreeing(rows: Array) -> Array:
    """Of each row the share of pairs of labels that are equal; 0 where there is no pair."""
    labels = rows.sum(1)
    share: Array = (rows * (rows - 1)).sum(1) / np.maximum(labels * (labels - 1), 1)
    return share


def percent(share: NDArray[np.float64 | np.bool_]) -> Statistic:
    """The mean over units of `agreeing`."""

    def statistic(weights: Array) -> Array:
        return _divided(weights @ share, weights.sum(1))

    return statistic


def cohen(rows: NDArray[np.int64]) -> Statistic:
    """Cohen's kappa of two annotators on the units that both labelled; unweighted (Cohen 1960)."""
    one_hot = np.eye(int(rows.max(initial=0)) + 1)[rows]
    first, second = one_hot[:, 0], one_hot[:, 1]
    same = (rows[:, 0] == rows[:, 1]).astype(np.float64)

    def statistic(weights: Array) -> Array:
        units = weights.sum(1)
        by_chance = ((weights @ first) * (weights @ second)).sum(1)
        return _beyond_chance(_divided(weights @ same, units), _divided(by_chance, units**2))

    return statistic


def fleiss(rows: Array) -> Statistic:
    """Fleiss' kappa (Fleiss 1971). The same number of labels on each unit."""
    share = agreeing(rows)

    def statistic(weights: Array) -> Array:
        used = weights @ rows
        chosen = _divided(used, used.sum(1, keepdims=True))
        return _beyond_chance(_divided(weights @ share, weights.sum(1)), (chosen**2).sum(1))

    return statistic


def gwet(rows: Array) -> Statistic:
    """Gwet's AC1 (Gwet 2008), with missing labels as in his handbook (Gwet 2014): units with one label count for how
    common a category is, not for agreement. Columns are the categories there are to choose from, used or not."""
    several = (rows.sum(1) > 1).astype(np.float64)
    share = agreeing(rows)
    within = rows / rows.sum(1, keepdims=True)
    others = rows.shape[1] - 1 or np.nan

    def statistic(weights: Array) -> Array:
        common = (weights @ within) / weights.sum(1, keepdims=True)
        by_chance = (common * (1 - common)).sum(1) / others
        return _beyond_chance(_divided(weights @ share, weights @ several), by_chance)

    return statistic


def alpha(rows: Array, distance: Array) -> Statistic:
    """Krippendorff's alpha (Krippendorff 2004, chapter 11) with a fixed squared distance of any two categories. Two
    labels or more on each unit."""
    apart = ((rows @ distance) * rows).sum(1) / (rows.sum(1) - 1)

    def statistic(weights: Array) -> Array:
        used = weights @ rows
        return _alpha(weights @ apart, ((used @ distance) * used).sum(1), used.sum(1))

    return statistic


def ordinal_alpha(rows: Array) -> Statistic:
    """Krippendorff's alpha where categories are in the order of the columns. How far two are apart depends on how many
    labels lie between them (the square of the difference of their mean ranks), so it differs from sample to sample."""
    low, high = np.triu_indices(rows.shape[1], 1)
    apart = rows[:, low] * rows[:, high] / (rows.sum(1, keepdims=True) - 1)

    def statistic(weights: Array) -> Array:
        used = weights @ rows
        rank = used.cumsum(1) - used / 2
        distance = (rank[:, low] - rank[:, high]) ** 2
        expected = (used[:, low] * used[:, high] * distance).sum(1)
        return _alpha(((weights @ apart) * distance).sum(1), expected, used.sum(1))

    return statistic


def nominal(size: int) -> Array:
    """Distance of categories that are the same or not."""
    return 1 - np.eye(size)


def masi(sets: Sequence[frozenset[str]]) -> Array:
    """Distance of sets: 1 - Jaccard's index * 1 if they are equal, 2/3 if one holds the other, 1/3 if they share
    something (Passonneau 2006). 1 if they share nothing."""
    words = sorted(frozenset().union(*sets))
    holds = np.array([[word in each for word in words] for each in sets], dtype=np.float64)
    size = holds.sum(1)
    common = holds @ holds.T
    union = size[:, None] + size - common
    smaller = np.minimum(size[:, None], size)
    alike = np.select([common == union, common == smaller], [1.0, 2 / 3], 1 / 3)
    return 1 - alike * np.where(union > 0, common / np.maximum(union, 1), 1)


def _alpha(observed: Array, expected: Array, labels: Array) -> Array:
    return 1 - _divided(observed * (labels - 1), expected)


def _beyond_chance(observed: Array, by_chance: Array) -> Array:
    return _divided(observed - by_chance, 1 - by_chance)


def _divided(part: Array, whole: Array) -> Array:
    """NaN where the whole is nothing, to rounding."""
    something = np.abs(whole) > _NOTHING
    ratio: Array = np.where(something, part / np.where(something, whole, 1), np.nan)
    return ratio


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
