"""Measures of a confusion matrix equal those of independent libraries, and bootstrap intervals are close to SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fcreview.stats.calibration import (
    CalibrationMeasure,
    MeasureName,
    compute_binary_measures,
    compute_multiclass_measures,
)
from tests.oracles import AnnotationTask, bootstrap, cohens_kappa, proportion_confint, to_table

COUNTS = st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(any)


def compute_rates(counts: list[int]) -> dict[MeasureName, CalibrationMeasure]:
    return {rate.metric: rate for rate in compute_binary_measures(counts)}


@given(counts=st.lists(st.integers(1, 12), min_size=4, max_size=4))
def test_kappa_equals_nltk(counts: list[int]) -> None:
    pairs = [pair for pair, n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), counts, strict=True) for _ in range(n)]
    task = AnnotationTask([(who, at, pair[side]) for at, pair in enumerate(pairs) for side, who in enumerate("sp")])
    assert compute_rates(counts)["kappa"].value == pytest.approx(task.kappa(), abs=1e-9)


@given(counts=COUNTS)
def test_kappa_equals_statsmodels(counts: list[int]) -> None:
    tp, fp, fn, tn = counts
    assume(not (tp == sum(counts) or tn == sum(counts)))  # With a single label, chance agreement is 1.
    oracle = cohens_kappa([[tp, fp], [fn, tn]], return_results=False)
    assert compute_rates(counts)["kappa"].value == pytest.approx(oracle, abs=1e-9)


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=60))
def test_multiclass_kappa_equals_statsmodels(pairs: list[tuple[int, int]]) -> None:
    assume(len({label for pair in pairs for label in pair}) > 1)
    oracle = cohens_kappa(to_table(np.array(pairs), bins=np.arange(6) - 0.5)[0], return_results=False)
    kappa = {rate.metric: rate for rate in compute_multiclass_measures(pairs)}["kappa"]
    assert kappa.value == pytest.approx(oracle, abs=1e-9)


@given(counts=COUNTS)
def test_wilson_intervals_equal_statsmodels(counts: list[int]) -> None:
    tp, fp, fn, tn = counts
    rates = compute_rates(counts)
    for metric, passed, n in (
        ("agreement", tp + tn, sum(counts)), ("tpr", tp, tp + fn), ("tnr", tn, tn + fp), ("precision", tp, tp + fp)
    ):  # fmt: skip
        rate = rates[metric]
        if n == 0:
            assert (rate.value, rate.low, rate.high) == (None, None, None)
        else:
            assert (rate.low, rate.high) == pytest.approx(proportion_confint(passed, n, method="wilson"), abs=1e-9)


def compute_kappa(automatic: Any, human: Any, axis: int = -1) -> Any:
    """Compute Cohen's kappa of labels 0 and 1 along an axis."""
    same, one, other = (automatic == human).mean(axis), automatic.mean(axis), human.mean(axis)
    chance = one * other + (1 - one) * (1 - other)
    return (same - chance) / (1 - chance)


def compute_f1(automatic: Any, human: Any, axis: int = -1) -> Any:
    return 2 * (automatic * human).sum(axis) / (automatic.sum(axis) + human.sum(axis))


@pytest.mark.parametrize("counts", [[40, 12, 9, 55], [150, 3, 8, 22], [12, 5, 4, 9]])
def test_bootstrap_intervals_are_close_to_scipy(counts: list[int]) -> None:
    """Random draws differ, so the limits may differ by a sixth of the width."""
    automatic, human = np.repeat(np.array([[1, 1], [1, 0], [0, 1], [0, 0]]), counts, axis=0).T
    rates = compute_rates(counts)
    for metric, statistic in (("kappa", compute_kappa), ("f1", compute_f1)):
        drawn = bootstrap(
            (automatic, human),
            statistic,
            paired=True,
            method="percentile",
            n_resamples=4000,
            rng=np.random.default_rng(1),
        ).confidence_interval
        width = drawn.high - drawn.low
        assert rates[metric].value == pytest.approx(float(statistic(automatic, human)), abs=1e-9)
        assert rates[metric].low == pytest.approx(drawn.low, abs=width / 6)
        assert rates[metric].high == pytest.approx(drawn.high, abs=width / 6)
