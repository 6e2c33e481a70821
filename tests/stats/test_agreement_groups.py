"""What goes into which figure, and figures of which nothing can be said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import AgreementCoefficient, Rating, build_labels, split_by_blind_status
from tests.stats.agreement_tables import KEY, figures, ratings

CHANCE = ("fleiss", "alpha", "cohen alice bob")
Said = tuple[float | None, float | None, float | None, int, int]


def said(figure: AgreementCoefficient) -> Said:
    return figure.value, figure.low, figure.high, figure.n_units, figure.n_labels


NOTHING: Said = (None, None, None, 0, 0)


def test_one_annotator_agrees_with_nobody() -> None:
    found = figures([[True], [False], [True]], "correct")
    assert set(found) == {"percent", "fleiss", "alpha", "ac1"}
    assert {said(figure) for figure in found.values()} == {NOTHING}
    assert found["percent"].annotators == ("alice",)


def test_annotators_without_a_common_unit_are_not_compared() -> None:
    found = figures([[True, None], [None, False], [True, None]], "correct")
    assert "cohen alice bob" in found
    assert {said(figure) for figure in found.values()} == {NOTHING}


def test_where_all_agree_and_use_every_category_agreement_is_perfect() -> None:
    found = figures([[value] * 3 for value in (True, False, True, False, True)], "correct")
    for figure in found.values():
        assert said(figure) == (1, 1, 1, 5, 15 if len(figure.annotators) == 3 else 10), figure.metric


def test_with_one_category_there_is_no_chance_to_take_out() -> None:
    found = figures([[True, True]] * 6, "correct")
    assert said(found["percent alice bob"]) == (1, 1, 1, 6, 12)
    assert said(found["ac1"]) == (1, 1, 1, 6, 12)  # of two that the scale has, one is used
    for metric in CHANCE:
        assert said(found[metric]) == (None, None, None, 6, 12), metric
    assert figures([["x", "x"]] * 6)["ac1"].value is None  # no scale is known: one category is all there is


def test_who_never_agree_are_below_chance() -> None:
    found = figures([[True, False], [False, True]] * 5, "correct")
    assert found["percent alice bob"].value == 0
    for metric in (*CHANCE, "ac1"):
        assert (found[metric].value or 0) < 0, metric


def test_a_single_unit_has_a_value_and_no_interval() -> None:
    found = figures([[True, True, False], [None, True, None]], "correct")
    assert said(found["percent"]) == (pytest.approx(1 / 3), None, None, 1, 3)
    assert said(found["ac1"])[1:] == (None, None, 1, 3)


def test_there_is_no_interval_where_few_resamples_say_anything() -> None:
    once = [[True, False], *[[True, True]] * 9]
    assert figures(once, "correct")["alpha"].high is not None  # drawn in 65 of 100 resamples
    both = [[True, True], [False, False], *[[True, None]] * 9]
    assert said(figures(both, "correct")["alpha"]) == (1, None, None, 2, 4)  # both are drawn in 40 of 100


def test_fleiss_takes_units_with_the_usual_number_of_labels() -> None:
    pairs = [[True, True, None], [False, None, False], [None, True, False]]
    full = [[True, True, True], [False, True, False]]
    assert said(figures([*pairs, *full], "correct")["fleiss"])[3:] == (3, 6)
    assert said(figures([*pairs[:2], *full], "correct")["fleiss"])[3:] == (2, 6)  # of two, the larger number
    assert said(figures([*pairs[:2], *full], "correct")["alpha"])[3:] == (4, 10)


def test_unsure_is_no_label() -> None:
    units = [[True, True], [False, "unsure"], ["unsure", "unsure"], [False, True], [True, True]]
    without = [[None if value == "unsure" else value for value in unit] for unit in units]
    assert [said(figure) for figure in figures(units, "correct").values()] == [
        said(figure) for figure in figures(without, "correct").values()
    ]


def test_true_and_one_are_two_and_the_order_of_labels_is_none() -> None:
    assert figures([[True, 1], [1, True]])["percent alice bob"].value == 0
    assert figures([[["a", "b"], ["b", "a"]], [["c"], ["c", "c"]]])["percent alice bob"].value == 1


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
def test_labels_are_compared_as_their_scale_asks(criterion: str, values: list[Any], level: str) -> None:
    found = figures([[value, value] for value in values], criterion)
    assert found["alpha"].level == level
    assert {figure.level for name, figure in found.items() if name != "alpha"} == {"nominal"}


def test_near_misses_count_less_on_ordered_scales_and_in_sets() -> None:
    def alpha(near: Any, far: Any, other: Any, criterion: str) -> tuple[float, float]:
        rest = [[near, near], [far, far], [other, other]] * 3
        first, second = (figures([[near, unlike], *rest], criterion)["alpha"].value for unlike in (other, far))
        assert first is not None and second is not None
        return first, second

    near, far = alpha(0, 2, 1, "completeness")
    assert near > far
    near, far = alpha(["a", "b"], ["c"], ["a"], "dialog_act")
    assert near > far


def test_criteria_benchmarks_and_categories_do_not_mix() -> None:
    other = KEY._replace(category="special")
    said_of = [
        *ratings([[True, True], [False, True]], "correct"),
        *ratings([[2, 1], [0, 0]], "completeness"),
        *(replace(each, item=each.item + 10) for each in ratings([[True, False]], "correct", other)),
        *(
            replace(each, item=each.item + 20)
            for each in ratings([[True, True]], "correct", KEY._replace(benchmark="bfcl"))
        ),
    ]
    found = [
        (each.scope, each.benchmark, each.category, each.criterion, each.n_units)
        for each in compute_agreement(said_of, ["overall", "benchmark", "category"], "blind")
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


def test_targets_of_one_item_are_units_of_their_own() -> None:
    said_of = ratings([[True, False]], "correct") + [
        replace(each, target="turn:1") for each in ratings([[True, True]], "correct")
    ]
    (percent,) = [each for each in compute_agreement(said_of, ["overall"], "all") if each.metric == "percent"]
    assert (percent.value, percent.n_units) == (0.5, 2)


def test_who_passes_with_another_at_fault_does_not_agree() -> None:
    alice, bob = (Rating(0, KEY, "item", "correct", name, True) for name in ("alice", "bob"))
    assert [each.criterion for each in build_labels([alice, bob])] == ["correct", "correct"]
    blamed = build_labels([alice, replace(bob, fault="golden")])
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


def test_faults_of_failing_items_and_of_other_scales_make_no_second_figure() -> None:
    failing = [Rating(0, KEY, "item", "correct", name, False, fault="model") for name in ("alice", "bob")]
    yes = [Rating(0, KEY, "item", "hallucinated", name, True, fault="model") for name in ("alice", "bob")]
    assert build_labels(failing + yes) == failing + yes


def test_blind_seen_and_unknown_are_kept_apart() -> None:
    said_of = [replace(each, blind=(None, False, True)[at % 3]) for at, each in enumerate(ratings([[True] * 3] * 2))]
    assert {given: [each.annotator for each in some] for given, some in split_by_blind_status(said_of).items()} == {
        "blind": ["carol"] * 2,
        "seen": ["bob"] * 2,
        "unknown": ["alice"] * 2,
    }
    assert list(split_by_blind_status(said_of[:1])) == ["unknown"]


_VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 3),
    st.sampled_from(["unsure", "", "x"]),
    st.lists(st.sampled_from("abc"), max_size=2),
)


@given(
    st.lists(st.lists(_VALUE, min_size=3, max_size=3), max_size=8), st.sampled_from(["correct", "completeness", "x"])
)
def test_whatever_was_said_gives_figures_and_no_nan(units: list[list[Any]], criterion: str) -> None:
    for figure in compute_agreement(ratings(units, criterion), ["overall", "category"], "all"):
        for value in (figure.value, figure.low, figure.high):
            assert value is None or -1e6 < value <= 1 + 1e-9
        if figure.low is not None and figure.high is not None:
            assert figure.low <= figure.high
        assert figure.n_labels >= 2 * figure.n_units
