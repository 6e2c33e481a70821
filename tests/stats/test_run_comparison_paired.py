"""McNemar's exact test and the interval of a paired difference equal published values and their definitions.

`test_run_comparison_oracles.py` compares them with SciPy and statsmodels.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.run_comparison import (
    PairedCounts,
    compute_difference,
    count_verdict_pairs,
    mcnemar_p_value,
    tango_interval,
    tango_score,
)

Z = 1.959963984540054
COUNT = st.integers(0, 40)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        (0, 0, Fraction(1)),
        (1, 0, Fraction(1)),
        (5, 0, Fraction(2, 32)),
        (1, 7, Fraction(2 * (1 + 8), 2**8)),  # Fagerland, Lydersen, Laake 2013: 0.0703
        (6, 16, Fraction(2 * sum(comb(22, k) for k in range(7)), 2**22)),  # same source: 0.0525
        (10, 10, Fraction(1)),
    ],
)
def test_mcnemar_exact_p(only_a: int, only_b: int, p: Fraction) -> None:
    assert mcnemar_p_value(only_a, only_b) == float(p)
    assert mcnemar_p_value(only_b, only_a) == float(p)


def test_p_of_many_flips_is_exact() -> None:
    """2**n exceeds the largest float."""
    assert mcnemar_p_value(1500, 1500) == 1.0
    exact = Fraction(2 * sum(comb(3000, k) for k in range(1401)), 2**3000)
    assert mcnemar_p_value(1400, 1600) == pytest.approx(float(exact), rel=1e-12)
    assert 0 <= mcnemar_p_value(0, 5000) < 1e-300


@pytest.mark.parametrize(
    ("only_a", "only_b", "n", "low", "high"),
    [
        (1, 7, 21, -0.517, -0.026),  # Bentur et al. 2009, in Fagerland, Lydersen, Laake 2014, table IX
        (0, 0, 10, -(Z**2) / (10 + Z**2), Z**2 / (10 + Z**2)),  # closed form without flips
    ],
)
def test_intervals_equal_published_values(only_a: int, only_b: int, n: int, low: float, high: float) -> None:
    assert tango_interval(only_a, only_b, n) == pytest.approx((low, high), abs=5e-4)


def log_likelihood(only_a: int, only_b: int, n: int, delta: float, share: float) -> float:
    """Return the log-likelihood if only B passes a `share` of items and only A passes `share + delta`."""
    cells = ((only_a, share + delta), (only_b, share), (n - only_a - only_b, 1 - 2 * share - delta))
    return sum(count * log(max(p, 1e-300)) for count, p in cells if count)


def search_score(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Compute the statistic with the most likely share, found by a search instead of the formula."""
    low, high = max(0.0, -delta), (1 - delta) / 2
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_likelihood(only_a, only_b, n, delta, left) < log_likelihood(only_a, only_b, n, delta, right):
            low = left
        else:
            high = right
    share = (low + high) / 2
    return (only_a - only_b - n * delta) / sqrt(n * (2 * share + delta * (1 - delta)))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 60), st.floats(-0.8, 0.8))
def test_score_uses_the_most_likely_share(only_a: int, only_b: int, same: int, delta: float) -> None:
    n = only_a + only_b + same
    assert tango_score(only_a, only_b, n, delta) == pytest.approx(search_score(only_a, only_b, n, delta), abs=1e-4)


@given(COUNT, COUNT, COUNT)
def test_interval_ends_where_the_test_rejects(only_a: int, only_b: int, same: int) -> None:
    n = only_a + only_b + same + 1
    low, high = tango_interval(only_a, only_b, n)
    value = (only_a - only_b) / n
    assert -1 <= low <= value <= high <= 1
    for edge, sign in ((low, 1), (high, -1)):
        if abs(edge) < 1 - 1e-9:
            assert tango_score(only_a, only_b, n, edge) == pytest.approx(sign * Z, abs=1e-6)
    mirrored = tango_interval(only_b, only_a, n)
    assert (-mirrored[1], -mirrored[0]) == pytest.approx((low, high), abs=1e-9)


def test_pairs_of_verdicts_are_counted() -> None:
    counts = count_verdict_pairs([(True, True)] * 3 + [(False, False)] * 2 + [(True, False)] * 4 + [(False, True)])
    assert counts == PairedCounts(both_pass=3, both_fail=2, only_a=4, only_b=1)
    assert (counts.n, counts.rate_a, counts.rate_b) == (10, 0.7, 0.4)
    assert compute_difference(counts).value == pytest.approx(0.3)
    assert compute_difference(counts).p == 2 * 6 / 32


def test_runs_without_common_items_have_no_difference() -> None:
    found = compute_difference(count_verdict_pairs([]))
    assert (found.value, found.low, found.high, found.p) == (None, None, None, None)
