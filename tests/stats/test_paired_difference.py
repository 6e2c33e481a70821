"""Paired differences of clusters equal independent calculations, and have the stated error
rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb, log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.coverage.compare import (
    TASK_SETTINGS,
    LivePair,
    measure_shuffled_labels,
    measure_trials,
)
from fcreview.stats import paired_difference
from fcreview.stats.intervals import compute_wilson_interval
from fcreview.stats.paired_difference import (
    ClusteredPairs,
    RateDifference,
    adjust_by_holm,
    compute_clustered_p_value,
    compute_clustered_rate,
    compute_difference,
    compute_mcnemar_p_value,
    compute_t_quantile,
    compute_tango_interval,
    compute_tango_score,
)
from tests.oracles import binom_pmf, binomtest, mcnemars, multipletests, student_quantile

Z = 1.959963984540054
COUNT = st.integers(0, 40)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        (0, 0, Fraction(1)),
        (1, 0, Fraction(1, 2)),
        (5, 0, Fraction(1, 32)),
        (1, 7, Fraction(2 + 8, 2**8)),  # Fagerland, Lydersen, Laake 2013: 0.0391
        # same source: 0.0347
        (
            6,
            16,
            Fraction(2 * sum(comb(22, k) for k in range(6)) + comb(22, 6), 2**22),
        ),
        (10, 10, Fraction(1)),
    ],
)
def test_mcnemar_mid_p(only_a: int, only_b: int, p: Fraction) -> None:
    assert compute_mcnemar_p_value(only_a, only_b) == pytest.approx(float(p), rel=1e-12)
    assert compute_mcnemar_p_value(only_b, only_a) == pytest.approx(float(p), rel=1e-12)


def test_p_of_many_flips_is_exact() -> None:
    """2**n exceeds the largest float."""
    assert compute_mcnemar_p_value(1500, 1500) == pytest.approx(1.0)
    exact = Fraction(2 * sum(comb(3000, k) for k in range(1400)) + comb(3000, 1400), 2**3000)
    assert compute_mcnemar_p_value(1400, 1600) == pytest.approx(float(exact), rel=1e-9)
    assert 0 <= compute_mcnemar_p_value(0, 5000) < 1e-300


@pytest.mark.parametrize(
    ("only_a", "only_b", "n", "low", "high"),
    [
        # Bentur et al. 2009, in Fagerland, Lydersen, Laake 2014, table IX
        (
            1,
            7,
            21,
            -0.517,
            -0.026,
        ),
        (0, 0, 10, -(Z**2) / (10 + Z**2), Z**2 / (10 + Z**2)),  # closed form without flips
    ],
)
def test_intervals_equal_published_values(
    only_a: int, only_b: int, n: int, low: float, high: float
) -> None:
    assert compute_tango_interval(only_a, only_b, n) == pytest.approx((low, high), abs=5e-4)


def log_likelihood(only_a: int, only_b: int, n: int, delta: float, share: float) -> float:
    """Return the log-likelihood if only B passes a `share` of items and only A passes `share +
    delta`.
    """
    cells = ((only_a, share + delta), (only_b, share), (n - only_a - only_b, 1 - 2 * share - delta))
    return sum(count * log(max(p, 1e-300)) for count, p in cells if count)


def search_score(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Compute the statistic with the most likely share, found by a search instead of the
    formula.
    """
    low, high = max(0.0, -delta), (1 - delta) / 2
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_likelihood(only_a, only_b, n, delta, left) < log_likelihood(
            only_a, only_b, n, delta, right
        ):
            low = left
        else:
            high = right
    share = (low + high) / 2
    return (only_a - only_b - n * delta) / sqrt(n * (2 * share + delta * (1 - delta)))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 60), st.floats(-0.8, 0.8))
def test_score_uses_the_most_likely_share(
    only_a: int, only_b: int, same: int, delta: float
) -> None:
    n = only_a + only_b + same
    assert compute_tango_score(only_a, only_b, n, delta) == pytest.approx(
        search_score(only_a, only_b, n, delta), abs=1e-4
    )


@given(COUNT, COUNT, COUNT)
def test_interval_ends_where_the_test_rejects(only_a: int, only_b: int, same: int) -> None:
    n = only_a + only_b + same + 1
    low, high = compute_tango_interval(only_a, only_b, n)
    value = (only_a - only_b) / n
    assert -1 <= low <= value <= high <= 1
    for edge, sign in ((low, 1), (high, -1)):
        if abs(edge) < 1 - 1e-9:
            assert compute_tango_score(only_a, only_b, n, edge) == pytest.approx(sign * Z, abs=1e-6)
    mirrored = compute_tango_interval(only_b, only_a, n)
    assert (-mirrored[1], -mirrored[0]) == pytest.approx((low, high), abs=1e-9)


def test_runs_without_common_items_have_no_difference() -> None:
    assert compute_difference(ClusteredPairs([], [], 0, 0)) == RateDifference()


FLIPS = st.integers(0, 400)


@given(only_a=FLIPS, only_b=FLIPS, same=st.integers(0, 50))
def test_mid_p_is_exact_p_without_half_of_the_observed_chance(
    only_a: int, only_b: int, same: int
) -> None:
    """scipy and statsmodels compute the exact p value, from which both observed outcomes are
    removed by half.
    """
    assume(only_a != only_b)
    flips = only_a + only_b
    observed = binom_pmf(only_a, flips, 0.5)
    found = compute_mcnemar_p_value(only_a, only_b)
    assert found == pytest.approx(binomtest(only_a, flips).pvalue - observed, abs=1e-9)
    assert found == pytest.approx(
        mcnemars([[same, only_a], [only_b, 9]], exact=True).pvalue - observed, abs=1e-9
    )


def make_pairs(differences: Sequence[int | Fraction], size: int = 4) -> ClusteredPairs:
    only_a = float(sum(max(each, 0) for each in differences))
    only_b = float(sum(max(-each, 0) for each in differences))
    return ClusteredPairs([size] * len(differences), differences, only_a=only_a, only_b=only_b)


DIFFERENCES = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


@given(DIFFERENCES)
def test_p_of_clusters_counts_all_signs(differences: list[int]) -> None:
    sums = [abs(sum(signs)) for signs in product(*([-each, each] for each in differences))]
    observed = abs(sum(differences))
    # If the observed sum is 0, the positive and the negative sum are the same outcome, which counts
    # once.
    part = 0.5 if observed else 1.0
    expected = sum((total > observed) + part * (total == observed) for total in sums) / len(sums)
    p, test = compute_clustered_p_value(make_pairs(differences))
    assert (p, test) == (pytest.approx(expected, abs=1e-12), "clustered mid-p")


def test_fractions_of_tasks_with_unequal_trials_have_the_same_p() -> None:
    whole = make_pairs([4, 1, -2, 3, 0, 1])
    quarters = make_pairs([Fraction(each, 4) for each in (4, 1, -2, 3, 0, 1)])
    assert compute_clustered_p_value(whole) == compute_clustered_p_value(quarters)


def test_p_of_very_many_clusters_is_approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = make_pairs([1, 2, -1, 3, -3, -2, 1, -1, 2, -1] * 20)
    exact, _ = compute_clustered_p_value(pairs)
    monkeypatch.setattr(paired_difference, "_MAX_SIGN_STEPS", 10)
    assert compute_clustered_p_value(pairs) == (pytest.approx(exact, rel=0.05), "clustered normal")


def test_hundred_thousand_flips_and_many_numbers_of_trials_are_no_problem() -> None:
    """scipy computes the exact p value, from which half the chance of both observed outcomes is
    removed.
    """
    expected = binomtest(50_400, 100_000).pvalue - binom_pmf(50_400, 100_000, 0.5)
    assert compute_mcnemar_p_value(50_400, 49_600) == pytest.approx(expected, rel=1e-6)
    # The common denominator of these fractions has more than 300 digits.
    fractions = [Fraction(1 if number % 3 else -1, number) for number in range(1, 1000)]
    p, test = compute_clustered_p_value(make_pairs(fractions))
    assert (0 < p < 1, test) == (True, "clustered normal")


def test_clusters_widen_the_interval() -> None:
    """The verdicts of a task are equal, so that 50 tasks with 4 trials have little more
    information than 50 items.
    """
    differences = [4] * 12 + [-4] * 6 + [0] * 32
    clustered = compute_difference(make_pairs(differences))
    assert clustered.value == pytest.approx(6 / 50)
    low, high = compute_tango_interval(12, 6, 50)
    assert clustered.low is not None and clustered.high is not None
    assert low - 0.02 < clustered.low <= low
    assert high <= clustered.high < high + 0.02
    assert clustered.design_effect == pytest.approx(4.4, abs=0.3)


def test_interval_without_flips_counts_clusters() -> None:
    found = compute_difference(make_pairs([0] * 50))
    independent = compute_tango_interval(0, 0, 50)
    assert found.high is not None and independent[1] < found.high < independent[1] + 0.01


def test_single_items_have_wilsons_interval_and_the_usual_standard_error() -> None:
    found = compute_clustered_rate([1] * 40, [1] * 30 + [0] * 10)
    assert found is not None
    assert (found.low, found.high) == pytest.approx(compute_wilson_interval(30, 40))
    assert found.standard_error == pytest.approx(sqrt(0.75 * 0.25 / 39))
    assert compute_clustered_rate([], []) is None


def test_clustered_standard_error_is_that_of_cluster_sums() -> None:
    """With equal sizes, it is the standard error of the mean of the tasks' pass rates (Miller
    2024).
    """
    passed = [4, 4, 0, 3, 1, 2, 4, 0]
    found = compute_clustered_rate([4] * 8, passed)
    rates = np.array(passed) / 4
    assert found is not None
    assert found.standard_error == pytest.approx(rates.std(ddof=1) / sqrt(8))


@pytest.mark.parametrize("degrees", [4, 5, 9, 20, 49, 400])
def test_t_quantile_equals_scipy(degrees: int) -> None:
    assert compute_t_quantile(degrees) == pytest.approx(student_quantile(0.975, degrees), abs=0.01)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1]
    assert adjust_by_holm(p_values) == pytest.approx(list(expected))


@pytest.mark.parametrize("setting", TASK_SETTINGS, ids=lambda setting: setting.name)
def test_error_rate_with_trials_is_5_percent(setting: object) -> None:
    """1,000 comparisons have a standard error of 0.7 points; `benchmarks/coverage/compare.py`
    runs 10,000.
    """
    found = measure_trials(setting, repetitions=1000)  # type: ignore[arg-type]
    assert 0.93 <= found.covered <= 0.98
    if setting.name.startswith("equal"):  # type: ignore[attr-defined]
        assert 0.033 <= found.rejected <= 0.067


def test_error_rate_with_exchanged_labels_is_5_percent() -> None:
    """Functions with 1 to 20 questions, on which the verdicts of the runs differ together."""
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 21, 120)
    only_a = np.where(generator.random(120) < 0.2, generator.integers(0, sizes + 1), 0)
    only_b = np.where(only_a == 0, generator.binomial(sizes, 0.05), 0)
    found = measure_shuffled_labels(
        LivePair("synthetic", sizes.tolist(), only_a, only_b), repetitions=1000
    )
    assert 0.033 <= found.rejected <= 0.067
    assert 0.93 <= found.covered <= 0.98
