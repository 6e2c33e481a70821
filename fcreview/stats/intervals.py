"""Intervals of 95 %: how wide a normal one is, and Wilson's score interval of a share (Wilson 1927)."""

from __future__ import annotations

from math import sqrt

CONFIDENCE_LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""Standard deviations on each side of a normal interval."""


def wilson_interval(passed: int, n: int) -> tuple[float, float] | None:
    """Of a share; None for none of none."""
    if n == 0:
        return None
    share, square = passed / n, NORMAL_QUANTILE**2 / n
    middle = (share + square / 2) / (1 + square)
    half = NORMAL_QUANTILE / (1 + square) * sqrt(share * (1 - share) / n + square / (4 * n))
    return max(0.0, middle - half) if passed else 0.0, min(1.0, middle + half) if passed < n else 1.0
