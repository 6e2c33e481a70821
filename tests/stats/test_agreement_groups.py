"""Agreement coefficients use the right labels, and are None where they are undefined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import (
    AgreementCoefficient,
    Rating,
    build_labels_with_faults,
    split_by_blind_status,
)
from tests.stats.agreement_tables import KEY, compute_coefficients, make_ratings

CHANCE = ("fleiss", "alpha", "cohen alice bob")
Summary = tuple[float | None, float | None, float | None, int, int]


def summarize(coefficient: AgreementCoefficient) -> Summary:
    return (
        coefficient.value,
        coefficient.low,
        coefficient.high,
        coefficient.n_units,
        coefficient.n_labels,
    )


UNDEFINED: Summary = (None, None, None, 0, 0)


def test_single_annotator_has_no_agreement() -> None:
    found = compute_coefficients([[True], [False], [True]], "correct")
    assert set(found) == {"percent", "fleiss", "alpha", "ac1"}
    assert {summarize(coefficient) for coefficient in found.values()} == {UNDEFINED}
    assert found["percent"].annotators == ("alice",)


def test_annotators_without_a_common_unit_are_not_compared() -> None:
    found = compute_coefficients([[True, None], [None, False], [True, None]], "correct")
    assert "cohen alice bob" in found
    assert {summarize(coefficient) for coefficient in found.values()} == {UNDEFINED}


def test_perfect_agreement_over_all_categories_is_1() -> None:
    found = compute_coefficients(
        [[value] * 3 for value in (True, False, True, False, True) * 2], "correct"
    )
    for coefficient in found.values():
        n_labels = 30 if len(coefficient.annotators) == 3 else 20
        assert (coefficient.value, coefficient.n_units, coefficient.n_labels) == (
            1,
            10,
            n_labels,
        ), coefficient.metric
        # Only percent agreement has an interval without a disagreement.
        assert coefficient.high == (1 if coefficient.metric == "percent" else None)


def test_chance_corrected_agreement_of_one_category_is_undefined() -> None:
    found = compute_coefficients([[True, True]] * 6, "correct")
    assert (found["percent alice bob"].value, found["percent alice bob"].high) == (1, 1)
    # The scale has two categories, of which one is used.
    assert summarize(found["ac1"]) == (
        1,
        None,
        None,
        6,
        12,
    )
    for metric in CHANCE:
        assert summarize(found[metric]) == (None, None, None, 6, 12), metric
    # Without a known scale there is only one category.
    assert compute_coefficients([["x", "x"]] * 6)["ac1"].value is None


def test_complete_disagreement_is_below_chance() -> None:
    found = compute_coefficients([[True, False], [False, True]] * 5, "correct")
    assert found["percent alice bob"].value == 0
    for metric in (*CHANCE, "ac1"):
        assert (found[metric].value or 0) < 0, metric


def test_single_unit_has_a_value_but_no_interval() -> None:
    found = compute_coefficients([[True, True, False], [None, True, None]], "correct")
    assert summarize(found["percent"]) == (pytest.approx(1 / 3), None, None, 1, 3)
    assert summarize(found["ac1"])[1:] == (None, None, 1, 3)


def test_fleiss_uses_units_with_the_most_common_number_of_labels() -> None:
    pairs = [[True, True, None], [False, None, False], [None, True, False]]
    full = [[True, True, True], [False, True, False]]
    assert summarize(compute_coefficients([*pairs, *full], "correct")["fleiss"])[3:] == (3, 6)
    # A tie selects the larger number.
    assert summarize(compute_coefficients([*pairs[:2], *full], "correct")["fleiss"])[3:] == (
        2,
        6,
    )
    assert summarize(compute_coefficients([*pairs[:2], *full], "correct")["alpha"])[3:] == (4, 10)


def test_unsure_is_not_a_label() -> None:
    units = [[True, True], [False, "unsure"], ["unsure", "unsure"], [False, True], [True, True]]
    without = [[None if value == "unsure" else value for value in unit] for unit in units]
    assert [
        summarize(coefficient) for coefficient in compute_coefficients(units, "correct").values()
    ] == [
        summarize(coefficient) for coefficient in compute_coefficients(without, "correct").values()
    ]


def test_true_differs_from_1_and_order_of_labels_does_not_matter() -> None:
    assert compute_coefficients([[True, 1], [1, True]])["percent alice bob"].value == 0
    assert (
        compute_coefficients([[["a", "b"], ["b", "a"]], [["c"], ["c", "c"]]])[
            "percent alice bob"
        ].value
        == 1
    )


NOMINAL = ("percent alice bob", "fleiss", "ac1", "cohen alice bob")


@pytest.mark.parametrize(
    ("criterion", "values", "level"),
    [
        ("correct", [True, False], "nominal"),
        ("completeness", [0, 2], "ordinal"),
        ("dialog_act", [["inform"], ["inform", "ask"]], "masi"),
        ("kind", ["a", "b"], "nominal"),
        ("kind", ["a", 1], "nominal"),
        ("kind", [["a"], "a"], "masi"),
    ],
)
def test_scale_determines_how_labels_are_compared(
    criterion: str, values: list[Any], level: str
) -> None:
    found = compute_coefficients([[value, value] for value in values], criterion)
    assert found["alpha"].level == level
    assert {coefficient.level for name, coefficient in found.items() if name in NOMINAL} == {
        "nominal"
    }
    assert ("ac2" in found, "weighted alice bob" in found) == (
        level == "ordinal",
        level == "ordinal",
    )


def test_near_misses_count_less_on_ordinal_scales_and_in_sets() -> None:
    def compute_alphas(near: Any, far: Any, other: Any, criterion: str) -> tuple[float, float]:
        rest = [[near, near], [far, far], [other, other]] * 3
        first, second = (
            compute_coefficients([[near, unlike], *rest], criterion)["alpha"].value
            for unlike in (other, far)
        )
        assert first is not None and second is not None
        return first, second

    near, far = compute_alphas(0, 2, 1, "completeness")
    assert near > far
    near, far = compute_alphas(["a", "b"], ["c"], ["a"], "dialog_act")
    assert near > far


def test_criteria_benchmarks_and_categories_are_separate() -> None:
    other = KEY._replace(category="special")
    all_ratings = [
        *make_ratings([[True, True], [False, True]], "correct"),
        *make_ratings([[2, 1], [0, 0]], "completeness"),
        *(
            replace(each, item=each.item + 10)
            for each in make_ratings([[True, False]], "correct", other)
        ),
        *(
            replace(each, item=each.item + 20)
            for each in make_ratings([[True, True]], "correct", KEY._replace(benchmark="bfcl"))
        ),
    ]
    found = [
        (each.scope, each.benchmark, each.category, each.criterion, each.n_units)
        for each in compute_agreement(all_ratings, ["overall", "benchmark", "category"], "blind")
        if each.metric == "alpha" and each.given == "blind"
    ]
    assert found == [
        ("overall", None, None, "correct", 4),
        ("overall", None, None, "completeness", 2),
        ("benchmark", "acebench", None, "correct", 3),
        ("benchmark", "acebench", None, "completeness", 2),
        ("benchmark", "bfcl", None, "correct", 1),
        ("category", "acebench", "normal", "correct", 2),
        ("category", "acebench", "normal", "completeness", 2),
        ("category", "acebench", "special", "correct", 1),
        ("category", "bfcl", "normal", "correct", 1),
    ]


def test_targets_of_one_item_are_separate_units() -> None:
    all_ratings = make_ratings([[True, False]], "correct") + [
        replace(each, target="turn:1") for each in make_ratings([[True, True]], "correct")
    ]
    (percent,) = [
        each
        for each in compute_agreement(all_ratings, ["overall"], "all")
        if each.metric == "percent"
    ]
    assert (percent.value, percent.n_units) == (0.5, 2)


def test_passes_with_different_faults_disagree() -> None:
    alice, bob = (Rating(0, KEY, "item", "correct", name, True) for name in ("alice", "bob"))
    assert [each.criterion for each in build_labels_with_faults([alice, bob])] == [
        "correct",
        "correct",
    ]
    blamed = build_labels_with_faults([alice, replace(bob, fault="golden")])
    assert [(each.criterion, each.value) for each in blamed] == [
        ("correct", True),
        ("correct", True),
        ("correct+fault", "pass"),
        ("correct+fault", "pass:golden"),
    ]
    shares = {
        each.criterion: each.value
        for each in compute_agreement([alice, replace(bob, fault="golden")], ["overall"], "all")
        if each.metric == "percent"
    }
    assert shares == {"correct": 1, "correct+fault": 0}


def test_faults_count_only_for_passing_items() -> None:
    failing = [
        Rating(0, KEY, "item", "correct", name, False, fault="model") for name in ("alice", "bob")
    ]
    yes = [
        Rating(0, KEY, "item", "hallucinated", name, True, fault="model")
        for name in ("alice", "bob")
    ]
    assert build_labels_with_faults(failing + yes) == failing + yes


def test_blind_seen_and_unknown_ratings_are_separate() -> None:
    all_ratings = [
        replace(each, blind=(None, False, True)[at % 3])
        for at, each in enumerate(make_ratings([[True] * 3] * 2))
    ]
    assert {
        given: [each.annotator for each in group]
        for given, group in split_by_blind_status(all_ratings).items()
    } == {
        "blind": ["carol"] * 2,
        "seen": ["bob"] * 2,
        "unknown": ["alice"] * 2,
    }
    assert list(split_by_blind_status(all_ratings[:1])) == ["unknown"]


_VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.sampled_from(["unsure", "", "x"]),
    st.lists(st.sampled_from("abc"), max_size=2),
)


@given(
    st.lists(st.lists(_VALUE, min_size=3, max_size=3), max_size=8),
    st.sampled_from(["correct", "completeness", "x"]),
)
def test_random_labels_give_no_nan(units: list[list[Any]], criterion: str) -> None:
    for coefficient in compute_agreement(
        make_ratings(units, criterion), ["overall", "category"], "all"
    ):
        for value in (coefficient.value, coefficient.low, coefficient.high):
            assert value is None or -1e6 < value <= 1 + 1e-9
        if coefficient.low is not None and coefficient.high is not None:
            assert coefficient.low <= coefficient.high
        assert coefficient.n_labels >= 2 * coefficient.n_units
