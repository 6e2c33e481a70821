"""Calibration computes confusion matrices, measures with intervals, and groups of errors for
each source.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fcreview.stats.calibration import (
    CALIBRATION_SCOPES,
    CalibrationMeasure,
    MeasureName,
    VerdictPair,
    compute_binary_measures,
    compute_calibrations,
    compute_multiclass_measures,
    find_error_groups,
)
from tests.oracles import bootstrap, cohens_kappa, proportion_confint, to_table


def make_pair(item: int, automatic: Any, human: Any, **fields: Any) -> VerdictPair:
    known: dict[str, Any] = {
        "source": "rule",
        "judge": None,
        "criterion": "correct",
        "is_random": False,
    }
    where: dict[str, Any] = {"benchmark": "bfcl", "category": "simple"}
    return VerdictPair(item=item, automatic=automatic, human=human, **(known | where | fields))


@given(counts=st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(any))
def test_measures_of_a_confusion_matrix(counts: list[int]) -> None:
    tp, fp, fn, tn = counts
    rates = {rate.metric: rate for rate in compute_binary_measures(counts)}

    def expected_rate(part: int, whole: int) -> Any:
        return None if whole == 0 else pytest.approx(part / whole, abs=1e-9)

    assert rates["tpr"].value == expected_rate(tp, tp + fn) and rates["tnr"].value == expected_rate(
        tn, tn + fp
    )
    assert rates["precision"].value == expected_rate(tp, tp + fp) and rates[
        "f1"
    ].value == expected_rate(2 * tp, 2 * tp + fp + fn)
    assert rates["agreement"].n == sum(counts)
    for rate in rates.values():
        if rate.value is not None and rate.low is not None and rate.high is not None:
            assert rate.low - 1e-9 <= rate.value <= rate.high + 1e-9 or rate.interval == "bootstrap"


def test_sources_judges_and_criteria_are_separate() -> None:
    cases = [
        make_pair(1, True, True),
        make_pair(1, False, True, source="judge", judge="oak"),
        make_pair(1, True, True, source="judge", judge="elm"),
        make_pair(2, 1, 2.0, source="judge", judge="elm", criterion="completeness"),
    ]
    groups = list(compute_calibrations(cases, ("overall",)))
    assert [(g.source, g.judge, g.criterion, g.n) for g in groups] == [
        ("judge", "elm", "completeness", 1),
        ("judge", "elm", "correct", 1),
        ("judge", "oak", "correct", 1),
        ("rule", None, "correct", 1),
    ]
    assert [rate.metric for rate in groups[0].rates] == ["agreement", "kappa"]
    assert groups[0].rates[0].value == 0.0 and not groups[0].binary


def test_integers_equal_floats() -> None:
    (group,) = compute_calibrations(
        [
            make_pair(1, 1, 1.0, criterion="completeness"),
            make_pair(2, 1.0, 1, criterion="completeness"),
        ],
        ("overall",),
    )
    assert group.rates[0].value == 1.0


def test_each_scope_omits_items_without_a_group() -> None:
    cases = [
        make_pair(
            1, True, False, category="live", error="value_error", function="f", tier="rule tier"
        ),
        make_pair(2, True, True, category="simple"),
    ]
    found = {
        scope: [g.name for g in compute_calibrations(cases, (scope,))]
        for scope in CALIBRATION_SCOPES
    }
    assert found == {
        "overall": [None],
        "benchmark": ["bfcl"],
        "category": ["live", "simple"],
        "tier": ["rule tier"],
        "error": ["value_error"],
        "function": ["f"],
    }


def test_error_groups_count_wrong_and_all_items() -> None:
    cases = [
        make_pair(1, False, True, error="value_error"),
        make_pair(2, False, True, error="value_error"),
        make_pair(3, False, False, error="value_error"),
        make_pair(4, True, True, error="type_error"),
    ]
    kinds = [
        (kind.by, kind.name, kind.automatic, kind.human, kind.wrong, kind.of, kind.items)
        for kind in find_error_groups(cases)
    ]
    assert ("error", "value_error", False, True, 2, 3, (1, 2)) in kinds
    assert not any(kind[1] == "type_error" for kind in kinds)


COUNTS = st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(any)


def compute_rates(counts: list[int]) -> dict[MeasureName, CalibrationMeasure]:
    return {rate.metric: rate for rate in compute_binary_measures(counts)}


@given(counts=COUNTS)
def test_kappa_equals_statsmodels(counts: list[int]) -> None:
    tp, fp, fn, tn = counts
    # With a single label, chance agreement is 1.
    assume(not (tp == sum(counts) or tn == sum(counts)))
    oracle = cohens_kappa([[tp, fp], [fn, tn]], return_results=False)
    assert compute_rates(counts)["kappa"].value == pytest.approx(oracle, abs=1e-9)


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=60))
def test_multiclass_kappa_equals_statsmodels(pairs: list[tuple[int, int]]) -> None:
    assume(len({label for pair in pairs for label in pair}) > 1)
    oracle = cohens_kappa(
        to_table(np.array(pairs), bins=np.arange(6) - 0.5)[0], return_results=False
    )
    kappa = {rate.metric: rate for rate in compute_multiclass_measures(pairs)}["kappa"]
    assert kappa.value == pytest.approx(oracle, abs=1e-9)


@given(counts=COUNTS)
def test_wilson_intervals_equal_statsmodels(counts: list[int]) -> None:
    tp, fp, fn, tn = counts
    rates = compute_rates(counts)
    for metric, passed, n in (
        ("agreement", tp + tn, sum(counts)),
        ("tpr", tp, tp + fn),
        ("tnr", tn, tn + fp),
        ("precision", tp, tp + fp),
    ):
        rate = rates[metric]
        if n == 0:
            assert (rate.value, rate.low, rate.high) == (None, None, None)
        else:
            assert (rate.low, rate.high) == pytest.approx(
                proportion_confint(passed, n, method="wilson"), abs=1e-9
            )


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
