"""McNemar's test, the paired interval and the Mann-Whitney U equal those of SciPy and statsmodels to 1e-9."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.run_comparison import compute_upset_score, mcnemar_p_value, tango_interval, tango_score
from tests.oracles import binomtest, brentq, mannwhitneyu, mcnemars

FLIPS = st.integers(0, 400)


@given(only_a=FLIPS, only_b=FLIPS, same=st.integers(0, 50))
def test_mcnemar_p_equals_scipy_and_statsmodels(only_a: int, only_b: int, same: int) -> None:
    assume(only_a + only_b)
    found = mcnemar_p_value(only_a, only_b)
    assert found == pytest.approx(binomtest(only_a, only_a + only_b).pvalue, abs=1e-9)
    assert found == pytest.approx(mcnemars([[same, only_a], [only_b, 9]], exact=True).pvalue, abs=1e-9)


@given(only_a=st.integers(0, 40), only_b=st.integers(0, 40), same=st.integers(1, 200))
def test_paired_interval_equals_roots_of_scipy(only_a: int, only_b: int, same: int) -> None:
    n = only_a + only_b + same
    value = (only_a - only_b) / n
    for end, outside, rejects in zip(
        tango_interval(only_a, only_b, n), (-1 + 1e-12, 1 - 1e-12), (NORMAL_QUANTILE, -NORMAL_QUANTILE), strict=True
    ):
        root = brentq(lambda delta, z=rejects: tango_score(only_a, only_b, n, delta) - z, value, outside, xtol=1e-13)
        assert end == pytest.approx(root, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_upset_score_is_standardized_u_of_scipy(passing: list[float], failing: list[float]) -> None:
    n, m = len(passing), len(failing)
    u = mannwhitneyu(failing, passing, method="asymptotic").statistic
    assert compute_upset_score(sorted(passing), failing) == pytest.approx(
        (u - n * m / 2) / (n * m * (n + m + 1) / 12) ** 0.5, abs=1e-9
    )
