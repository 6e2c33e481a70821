"""Which call answers which."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.matching.align import MAX_COMPARED_PAIRS, align, align_turns
from fcreview.matching.diff import EXACT_RULES
from fcreview.model.item import AcceptedValues, Call, CallPair

Spec = tuple[str, dict[str, Any]]
specs: st.SearchStrategy[list[Spec]] = st.lists(
    st.tuples(st.sampled_from(["f", "g", "h"]), st.dictionaries(st.sampled_from("ab"), st.integers(0, 2))), max_size=6
)


def golden(*calls: Spec, any_of: bool = False) -> list[Call]:
    return [
        Call("golden", name, {k: AcceptedValues(v if isinstance(v, list) else [v]) for k, v in args.items()}, index=at)
        for at, (name, args) in enumerate(calls)
    ]


def predicted(*calls: Spec) -> list[Call]:
    return [Call("predicted", name, args, index=at) for at, (name, args) in enumerate(calls)]


def summary(pairs: list[CallPair]) -> list[tuple[int | None, int | None, str]]:
    return [(pair.golden, pair.predicted, pair.state) for pair in pairs]


def test_nothing_and_one_sided() -> None:
    assert align([], []) == []
    assert summary(align(golden(("f", {})), [])) == [(0, None, "-")]
    assert summary(align([], predicted(("f", {}), ("g", {})))) == [(None, 0, "+"), (None, 1, "+")]


def test_one_each() -> None:
    assert summary(align(golden(("f", {"a": 1})), predicted(("f", {"a": 1})))) == [(0, 0, "=")]
    assert summary(align(golden(("f", {"a": 1})), predicted(("f", {"a": True})))) == [(0, 0, "!")]
    assert summary(align(golden(("f", {"a": 1})), predicted(("g", {"a": 1})))) == [(0, 0, "!")]


def test_order_does_not_matter_unless_it_does() -> None:
    left, right = golden(("f", {}), ("g", {})), predicted(("g", {}), ("f", {}))
    assert summary(align(left, right)) == [(0, 1, "="), (1, 0, "=")]
    assert summary(align(left, right, ordered=True)) in (
        [(0, None, "-"), (1, 0, "="), (None, 1, "+")],
        [(0, 1, "="), (1, None, "-"), (None, 0, "+")],
    )


def test_an_exact_match_taken_early_would_leave_another_call_without_its_partner() -> None:
    left = golden(("f", {"a": [1, 2]}), ("f", {"a": [1]}))
    right = predicted(("f", {"a": 1}), ("f", {"a": 2}))
    assert summary(align(left, right)) == [(0, 1, "="), (1, 0, "=")]


def test_the_function_counts_more_than_arguments() -> None:
    left = golden(("f", {"a": 1, "b": 1}))
    right = predicted(("g", {"a": 1, "b": 1}), ("f", {"a": 2, "b": 2}))
    assert summary(align(left, right)) == [(0, 1, "!"), (None, 0, "+")]


def test_ties_go_by_position() -> None:
    calls = [("f", {"a": 1})] * 3
    assert summary(align(golden(*calls), predicted(*calls, ("f", {"a": 1})))) == [
        *[(at, at, "=") for at in range(3)],
        (None, 3, "+"),
    ]
    assert summary(align(golden(("f", {}), ("f", {})), predicted(("g", {}), ("h", {})))) == [(0, 0, "!"), (1, 1, "!")]


def test_a_call_left_out_in_the_middle() -> None:
    left = golden(("f", {}), ("g", {}), ("h", {}))
    right = predicted(("f", {}), ("h", {}))
    for ordered in (False, True):
        assert summary(align(left, right, ordered=ordered)) == [(0, 0, "="), (1, None, "-"), (2, 1, "=")]


def test_a_wrong_function_stands_beside_the_call_it_was_made_instead_of() -> None:
    left = golden(("f", {}), ("g", {}), ("h", {}))
    right = predicted(("f", {}), ("x", {}), ("h", {}))
    for ordered in (False, True):
        assert summary(align(left, right, ordered=ordered)) == [(0, 0, "="), (1, 1, "!"), (2, 2, "=")]


@given(specs, specs, st.booleans())
def test_every_call_is_in_exactly_one_pair(left: list[Spec], right: list[Spec], ordered: bool) -> None:
    pairs = align(golden(*left), predicted(*right), ordered=ordered)
    assert sorted(pair.golden for pair in pairs if pair.golden is not None) == list(range(len(left)))
    assert sorted(pair.predicted for pair in pairs if pair.predicted is not None) == list(range(len(right)))
    both = [(pair.golden, pair.predicted) for pair in pairs if pair.golden is not None and pair.predicted is not None]
    if ordered:
        assert sorted(both) == sorted(both, key=lambda pair: (pair[1], pair[0]))  # type: ignore[arg-type, return-value]
    assert all((pair.state in "-+") == (pair.golden is None or pair.predicted is None) for pair in pairs)


def test_a_repeated_call_is_not_taken_for_the_one_that_was_not_made() -> None:
    left = golden(("diff", {}), ("post_tweet", {"content": "a"}))
    right = predicted(("diff", {}), ("diff", {}), ("diff", {}))
    for ordered in (False, True):
        found = summary(align(left, right, ordered=ordered))
        assert found == [(0, 0, "="), (1, None, "-"), (None, 1, "+"), (None, 2, "+")]
        assert summary(align(left, right[:2], ordered=ordered)) == [(0, 0, "="), (1, None, "-"), (None, 1, "+")]


def test_names_alike_are_the_same_call_misspelt() -> None:
    left = golden(("get_weather", {}), ("Maps.search", {}))
    right = predicted(("get_wether", {}), ("search", {}), ("get_weather_alerts", {}))
    assert summary(align(left, right))[:2] == [(0, 0, "!"), (1, 1, "!")]


@given(specs.filter(lambda calls: len(calls) <= 4), specs.filter(lambda calls: len(calls) <= 4))
def test_no_other_pairing_has_more_equal_functions_or_fewer_wrong_arguments(
    left: list[Spec], right: list[Spec]
) -> None:
    def badness(one: Spec, other: Spec) -> tuple[int, int]:
        if one[0] != other[0]:
            return (0, 0)  # no pair, or one of a call made instead of another: nothing to compare
        return (-1, sum(one[1].get(name) != other[1].get(name) for name in one[1].keys() | other[1].keys()))

    def total(chosen: list[tuple[int, int]]) -> tuple[int, ...]:
        return tuple(map(sum, zip((0, 0), *(badness(left[i], right[j]) for i, j in chosen), strict=True)))

    short, long = sorted((len(left), len(right)))
    everything = [
        total([(i, j) if len(left) <= len(right) else (j, i) for i, j in enumerate(order)])
        for order in permutations(range(long), short)
    ]
    pairs = align(golden(*left), predicted(*right))
    found = [(p.golden, p.predicted) for p in pairs if p.golden is not None and p.predicted is not None]
    assert total(found) == min(everything)


@given(specs)
def test_calls_in_another_order_are_all_equal(calls: list[Spec]) -> None:
    assert all(pair.state == "=" for pair in align(golden(*calls), predicted(*reversed(calls))))


def test_undecodable_call_is_paired_by_name() -> None:
    broken = Call("predicted", "g", None, index=0, decode_error="no closing bracket")
    right = [broken, *predicted(("f", {}))]
    right[1].index = 1
    pairs = align(golden(("f", {}), ("g", {})), right)
    assert summary(pairs) == [(0, 1, "="), (1, 0, "!")]
    assert [place.reason for place in pairs[1].diff] == ["no closing bracket"]


def test_one_of_several_calls_of_a_function_gives_way_along_a_chain() -> None:
    values = range(12)
    left = golden(*[("f", {"a": [at, at + 1]}) for at in values])
    right = predicted(*[("f", {"a": at + 1}) for at in values[:-1]], ("f", {"a": 0}))
    assert all(pair.state == "=" for pair in align(left, right))


@pytest.mark.parametrize("ordered", [False, True])
def test_a_runaway_is_paired_by_position_and_in_no_time(ordered: bool) -> None:
    count = MAX_COMPARED_PAIRS
    right = predicted(*[("f", {"a": at}) for at in range(count)], ("g", {}))
    pairs = align(golden(("g", {}), ("f", {"a": 0})), right, ordered=ordered)
    assert len(pairs) == count + (2 if ordered else 1)  # `g` does not stand for the `f` in its place
    if not ordered:
        assert summary(pairs)[:2] == [(0, count, "="), (1, 0, "=")]


def test_turns_are_aligned_apart() -> None:
    left, right = golden(("f", {}), ("g", {})), predicted(("g", {}), ("f", {}))
    for at, call in enumerate(left):
        call.turn, call.index = at, 0
    for at, call in enumerate(right):
        call.turn, call.index = at, 0
    pairs = align_turns(left, right, EXACT_RULES)
    assert [(pair.turn, pair.golden, pair.predicted, pair.state) for pair in pairs] == [(0, 0, 0, "!"), (1, 0, 0, "!")]
    right[1].turn = 2
    assert [(pair.turn, pair.state) for pair in align_turns(left, right)] == [(0, "!"), (1, "-"), (2, "+")]
