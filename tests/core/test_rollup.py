"""From parts to items, from opinions to what counts."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.rollup import DISPUTED, all_pass, effective, human, item_verdict, product


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([True, True], True),
        ([True, False, None], False),
        ([False, DISPUTED], False),
        ([True, DISPUTED], DISPUTED),
        ([True, None], None),
        ([True, "unsure"], None),
        ([], None),
        ([1, 1], None),
    ],
)
def test_all_pass(values: list[Any], verdict: Any) -> None:
    assert all_pass(values) == verdict
    assert type(all_pass(values)) is type(verdict)


@pytest.mark.parametrize(
    ("values", "result"),
    [
        ([0.5, 0.5], 0.25),
        ([True, 0.5], 0.5),
        ([0, None], 0.0),
        ([None, 0.5], None),
        ([0.5, DISPUTED], DISPUTED),
        ([], None),
    ],
)
def test_product(values: list[Any], result: Any) -> None:
    assert product(values) == result


@pytest.mark.parametrize(
    ("opinions", "verdict"),
    [
        ([], None),
        ([True, True], True),
        ([True, False], DISPUTED),
        ([True, "unsure", None], True),
        (["unsure"], None),
        ([1, True], DISPUTED),
        ([["a", "b"], ["b", "a"]], ["a", "b"]),
        ([["a"], ["b"]], DISPUTED),
    ],
)
def test_human(opinions: list[Any], verdict: Any) -> None:
    assert human(opinions) == verdict


def test_what_counts_is_the_adjudication_then_the_annotators_then_the_benchmark() -> None:
    assert effective([True], [True, True], adjudication=False) is False
    assert effective([True], [False, False]) is False
    assert effective([True], [True, False]) == DISPUTED
    assert effective([None, True, False], ["unsure"]) is True
    assert effective([None]) is None


def test_parts_that_nobody_judged_keep_the_benchmarks_verdict() -> None:
    scored = {"turn:0": True, "turn:1": False}
    assert item_verdict({"turn:1": True}, scored) is True
    assert item_verdict({"turn:0": False}, scored) is False
    assert item_verdict({"turn:0": True}, scored) is False
    assert item_verdict({"turn:1": DISPUTED}, scored) == DISPUTED
    assert item_verdict({"turn:1": True}, {"turn:0": None, "turn:1": None}) is None


def test_without_a_judged_part_that_counts_the_item_is_left_alone() -> None:
    assert item_verdict({}, {"turn:0": True}) is None
    assert item_verdict({"turn:0": "unsure", "turn:7": False}, {"turn:0": True}) is None


def test_a_verdict_on_the_item_stands_above_its_parts() -> None:
    assert item_verdict({"turn:0": False}, {"turn:0": True}, own=True) is True
