"""Figures of a confusion matrix, each with an interval.

A share (TPR, TNR, precision, agreement) has Wilson's score interval. F1 and kappa have a bootstrap
interval: cases are drawn again with replacement, and the middle 95 % is the interval (Efron and Tibshirani 1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fcreview.agreement.bootstrap import estimates
from fcreview.agreement.coefficients import Array, Statistic, cohen
from fcreview.estimate.intervals import wilson

Metric = Literal["agreement", "tpr", "tnr", "precision", "f1", "kappa"]
Interval = Literal["wilson", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Rate:
    """One figure. As JSON an object with these fields."""

    metric: Metric
    value: float | None
    """None: not defined, there is nothing to divide by."""
    low: float | None
    high: float | None
    interval: Interval
    """How the 95 % interval was made."""
    n: int
    """Cases that the value is over."""


def binary_rates(counts: Sequence[int]) -> list[Rate]:
    """Of (true positives, false positives, false negatives, true negatives); positive is pass or yes, true is what
    people say."""
    tp, fp, fn, tn = counts
    n = tp + fp + fn + tn
    rows = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.int64)
    return [
        _share("agreement", tp + tn, n),
        _share("tpr", tp, tp + fn),
        _share("tnr", tn, tn + fp),
        _share("precision", tp, tp + fp),
        *_resampled(np.array(counts, dtype=np.int64), {"f1": _f1, "kappa": cohen(rows)}),
    ]


def other_rates(pairs: Sequence[tuple[int, int]]) -> list[Rate]:
    """Of labels that are more than two: (said, settled) by number, one pair a case."""
    rows, times = np.unique(np.array(pairs, dtype=np.int64).reshape(-1, 2), axis=0, return_counts=True)
    same = int(times[rows[:, 0] == rows[:, 1]].sum())
    return [_share("agreement", same, int(times.sum())), *_resampled(times, {"kappa": cohen(rows)})]


def _share(metric: Metric, passed: int, n: int) -> Rate:
    low, high = wilson(passed, n) or (None, None)
    return Rate(metric, passed / n if n else None, low, high, "wilson", n)


def _f1(weights: Array) -> Array:
    """2 tp / (2 tp + fp + fn), NaN where nothing is positive."""
    tp, wrong = weights[:, 0], weights[:, 1] + weights[:, 2]
    with np.errstate(invalid="ignore"):
        value: Array = 2 * tp / (2 * tp + wrong)
    return value


def _resampled(times: NDArray[np.int64], statistics: dict[Metric, Statistic]) -> list[Rate]:
    n = int(times.sum())
    found = [each.over(n) for each in estimates(times, list(statistics.values()))]
    return [
        Rate(metric, each.value, each.low, each.high, "bootstrap", n)
        for metric, each in zip(statistics, found, strict=True)
    ]
