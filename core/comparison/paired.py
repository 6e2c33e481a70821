"""Two verdicts on each of the same items: McNemar's exact test, and the difference of pass rates with an interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from fcreview.estimate.intervals import NORMAL

METHOD = "tango"
"""The interval of the difference: score interval for paired proportions (Tango 1998, Statistics in Medicine 17:891)."""
TEST = "mcnemar exact"
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Counts:
    """Items on which both sides have a verdict."""

    both_pass: int = 0
    both_fail: int = 0
    only_a: int = 0
    """A passes, B fails."""
    only_b: int = 0

    @property
    def n(self) -> int:
        return self.both_pass + self.both_fail + self.only_a + self.only_b

    @property
    def rate_a(self) -> float | None:
        return (self.both_pass + self.only_a) / self.n if self.n else None

    @property
    def rate_b(self) -> float | None:
        return (self.both_pass + self.only_b) / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Difference:
    """Of the pass rates, A's less B's. None where there is no item."""

    value: float | None
    low: float | None
    high: float | None
    """Of the 95 % interval, see `METHOD`."""
    p: float | None
    """Two-sided, see `TEST`: how likely a split of the flips as uneven as this is if both were as good."""


def counts_of(verdicts: Iterable[tuple[bool, bool]]) -> Counts:
    """`verdicts`: (A's, B's) of each item."""
    table = {(True, True): 0, (False, False): 0, (True, False): 0, (False, True): 0}
    for pair in verdicts:
        table[pair] += 1
    return Counts(*table.values())


def difference(counts: Counts) -> Difference:
    if not counts.n:
        return Difference(None, None, None, None)
    low, high = interval(counts.only_a, counts.only_b, counts.n)
    value = (counts.only_a - counts.only_b) / counts.n
    return Difference(value, low, high, mcnemar(counts.only_a, counts.only_b))


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact two-sided p of McNemar's test: the flips as tosses of a fair coin (binomial, twice the smaller tail, at
    most 1). Worked out in whole numbers, so that no rounding is in it."""
    flips, fewer = only_a + only_b, min(only_a, only_b)
    term = tail = 1
    for wins in range(fewer):
        term = term * (flips - wins) // (wins + 1)
        tail += term
    return min(1.0, float(Fraction(2 * tail, 2**flips)))


def interval(only_a: int, only_b: int, n: int) -> tuple[float, float]:
    """(low, high): the differences that the score test does not reject. `n` items, one or more."""
    found = (only_a - only_b) / n
    return _edge(only_a, only_b, n, found, -1.0), _edge(only_a, only_b, n, found, 1.0)


def score(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Tango's statistic for the hypothesis that the difference is `delta`, -1 < delta < 1: standard normal if it is."""
    spread = n * (2 * _only_b_if(only_a, only_b, n, delta) + delta * (1 - delta))
    off = only_a - only_b - n * delta
    if spread <= 0:
        return 0.0 if off == 0 else (float("inf") if off > 0 else float("-inf"))
    return off / sqrt(spread)


def _only_b_if(only_a: int, only_b: int, n: int, delta: float) -> float:
    """The most likely share of items that only B passes if the difference is `delta` (Tango 1998, equation 7)."""
    first, second = 2 * n, (2 * n - only_a + only_b) * delta - only_a - only_b
    third = -only_b * delta * (1 - delta)
    return (sqrt(max(second * second - 4 * first * third, 0.0)) - second) / (2 * first)


def _edge(only_a: int, only_b: int, n: int, inside: float, outside: float) -> float:
    """Between a difference that is not rejected and the outermost there is: where the test begins to reject. Halving,
    as the statistic falls steadily."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if abs(score(only_a, only_b, n, middle)) <= NORMAL:
            inside = middle
        else:
            outside = middle
    return inside
