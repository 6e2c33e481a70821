"""Intervals and posteriors equal those of SciPy and statsmodels: to 1e-9 in closed form,
approximately if drawn.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats import posterior
from fcreview.stats.intervals import CONFIDENCE_LEVEL, NORMAL_QUANTILE, compute_wilson_interval
from fcreview.stats.posterior import Cells, draw_posterior
from tests.oracles import (
    beta,
    betabinom,
    betaln,
    binomtest,
    kstest,
    normal_quantile,
    proportion_confint,
)


def make_cells(*rows: tuple[int, int, int, int]) -> Cells:
    """Return cells from rows of (pool, reviewed, passed, left)."""
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    return Cells(*columns, np.full(len(rows), 0.1))


def test_normal_quantile_equals_scipy() -> None:
    assert normal_quantile((1 + CONFIDENCE_LEVEL) / 2) == pytest.approx(NORMAL_QUANTILE, abs=1e-12)


@given(n=st.integers(1, 5000), part=st.floats(0, 1))
def test_wilson_interval_equals_scipy_and_statsmodels(n: int, part: float) -> None:
    passed = round(n * part)
    found = binomtest(passed, n).proportion_ci(method="wilson")
    assert compute_wilson_interval(passed, n) == pytest.approx((found.low, found.high), abs=1e-9)
    assert compute_wilson_interval(passed, n) == pytest.approx(
        proportion_confint(passed, n, method="wilson"), abs=1e-9
    )


@given(
    first=st.floats(0.01, 900),
    second=st.floats(0.01, 900),
    reviewed=st.integers(0, 300),
    part=st.floats(0, 1),
)
def test_evidence_of_a_cell_equals_beta_binomial(
    first: float, second: float, reviewed: int, part: float
) -> None:
    """The evidence omits the binomial coefficient, which does not depend on the prior."""
    passed = round(reviewed * part)
    (found,) = posterior._compute_log_evidence(
        np.array([first]), np.array([second]), np.array([reviewed]), np.array([passed])
    ).ravel()
    expected = betaln(first + passed, second + reviewed - passed) - betaln(first, second)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("reviewed", "passed"), [(20, 3), (1, 0), (50, 50), (200, 87)])
def test_rates_of_a_cell_have_the_jeffreys_interval(reviewed: int, passed: int) -> None:
    """The population is so large that the rate of the remaining items equals the posterior rate."""
    left = 10**9
    rates = draw_posterior(make_cells((0, reviewed, passed, left)), 20_000, 5).passes[:, 0] / left
    assert kstest(rates, beta(passed + 0.5, reviewed - passed + 0.5).cdf).pvalue > 0.001
    low, high = proportion_confint(passed, reviewed, method="jeffreys")
    assert np.percentile(rates, (2.5, 97.5)) == pytest.approx(
        (low, high), abs=0.02 * (high - low) + 1e-6
    )


@pytest.mark.parametrize(("reviewed", "passed", "left"), [(20, 3, 400), (1, 0, 50), (200, 199, 5)])
def test_remaining_passes_of_a_cell_equal_beta_binomial(
    reviewed: int, passed: int, left: int
) -> None:
    passes = draw_posterior(make_cells((0, reviewed, passed, left)), 40_000).passes[:, 0]
    exact = betabinom(left, passed + 0.5, reviewed - passed + 0.5)
    share = np.bincount(passes, minlength=left + 1) / len(passes)
    # Kolmogorov-Smirnov test at the 0.1 % level
    assert np.abs(share.cumsum() - exact.cdf(np.arange(left + 1))).max() < 1.95 / len(passes) ** 0.5
