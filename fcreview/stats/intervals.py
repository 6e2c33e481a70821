"""Compute the 95 % confidence interval of a share with Wilson's score interval (Wilson 1927)."""

from __future__ import annotations

from math import sqrt

CONFIDENCE_LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""Half-width of a normal 95 % interval, in standard deviations."""


def wilson_interval(n_passed: int, n: int) -> tuple[float, float] | None:
    """Compute the low and high end of the 95 % interval of the share `n_passed / n`, from 0 to 1. Returns None if `n`
    is 0."""
    if n == 0:
        return None
    share, square = n_passed / n, NORMAL_QUANTILE**2 / n
    center = (share + square / 2) / (1 + square)
    half_width = NORMAL_QUANTILE / (1 + square) * sqrt(share * (1 - share) / n + square / (4 * n))
    return max(0.0, center - half_width) if n_passed else 0.0, min(1.0, center + half_width) if n_passed < n else 1.0
