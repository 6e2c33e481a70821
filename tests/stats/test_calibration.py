"""Calibration computes confusion matrices, measures with intervals, and groups of errors for each source."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.calibration import (
    CALIBRATION_SCOPES,
    VerdictPair,
    compute_binary_measures,
    compute_calibrations,
    find_error_groups,
)


def make_pair(item: int, automatic: Any, human: Any, **fields: Any) -> VerdictPair:
    known: dict[str, Any] = {"source": "rule", "judge": None, "criterion": "correct", "is_random": False}
    where: dict[str, Any] = {"benchmark": "bfcl", "category": "simple"}
    return VerdictPair(item=item, automatic=automatic, human=human, **(known | where | fields))


@given(counts=st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(any))
def test_measures_of_a_confusion_matrix(counts: list[int]) -> None:
    tp, fp, fn, tn = counts
    rates = {rate.metric: rate for rate in compute_binary_measures(counts)}

    def expected_rate(part: int, whole: int) -> Any:
        return None if whole == 0 else pytest.approx(part / whole, abs=1e-9)

    assert rates["tpr"].value == expected_rate(tp, tp + fn) and rates["tnr"].value == expected_rate(tn, tn + fp)
    assert rates["precision"].value == expected_rate(tp, tp + fp) and rates["f1"].value == expected_rate(
        2 * tp, 2 * tp + fp + fn
    )
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
        ("judge", "elm", "completeness", 1), ("judge", "elm", "correct", 1), ("judge", "oak", "correct", 1),
        ("rule", None, "correct", 1),
    ]  # fmt: skip
    assert [rate.metric for rate in groups[0].rates] == ["agreement", "kappa"]
    assert groups[0].rates[0].value == 0.0 and not groups[0].binary


def test_integers_equal_floats() -> None:
    (group,) = compute_calibrations(
        [make_pair(1, 1, 1.0, criterion="completeness"), make_pair(2, 1.0, 1, criterion="completeness")], ("overall",)
    )
    assert group.rates[0].value == 1.0


def test_each_scope_omits_items_without_a_group() -> None:
    cases = [
        make_pair(1, True, False, category="live", error="value_error", function="f", tier="rule tier"),
        make_pair(2, True, True, category="simple"),
    ]
    found = {scope: [g.name for g in compute_calibrations(cases, (scope,))] for scope in CALIBRATION_SCOPES}
    assert found == {
        "overall": [None], "benchmark": ["bfcl"], "category": ["live", "simple"], "tier": ["rule tier"],
        "error": ["value_error"], "function": ["f"],
    }  # fmt: skip


def test_result_states_how_items_were_selected() -> None:
    by_hand, random = make_pair(1, True, True), make_pair(2, True, False, is_random=True)
    chosen = [
        next(iter(compute_calibrations(cases, ("overall",)))).chosen
        for cases in ([by_hand], [random], [by_hand, random])
    ]
    assert chosen == ["by hand", "random", "both"]


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
