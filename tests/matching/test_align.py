"""Alignment pairs golden calls with predicted calls."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.matching.align import MAX_COMPARED_PAIRS, align_calls, align_calls_by_turn
from fcreview.matching.diff import EXACT_RULES
from fcreview.model.item import AcceptedValues, Call, CallPair

Spec = tuple[str, dict[str, Any]]
specs: st.SearchStrategy[list[Spec]] = st.lists(
    st.tuples(
        st.sampled_from(["f", "g", "h"]), st.dictionaries(st.sampled_from("ab"), st.integers(0, 2))
    ),
    max_size=6,
)


def make_golden(*calls: Spec, any_of: bool = False) -> list[Call]:
    return [
        Call(
            "golden",
            name,
            arguments={
                k: AcceptedValues(v if isinstance(v, list) else [v]) for k, v in args.items()
            },
            index=at,
        )
        for at, (name, args) in enumerate(calls)
    ]


def make_predicted(*calls: Spec) -> list[Call]:
    return [
        Call("predicted", name, arguments=args, index=at) for at, (name, args) in enumerate(calls)
    ]


def summarize(pairs: list[CallPair]) -> list[tuple[int | None, int | None, str]]:
    return [(pair.golden, pair.predicted, pair.state) for pair in pairs]


def test_missing_and_unexpected_calls() -> None:
    assert align_calls([], []) == []
    assert summarize(align_calls(make_golden(("f", {})), [])) == [(0, None, "-")]
    assert summarize(align_calls([], make_predicted(("f", {}), ("g", {})))) == [
        (None, 0, "+"),
        (None, 1, "+"),
    ]


def test_single_calls_are_paired() -> None:
    assert summarize(
        align_calls(make_golden(("f", {"a": 1})), make_predicted(("f", {"a": 1})))
    ) == [(0, 0, "=")]
    assert summarize(
        align_calls(make_golden(("f", {"a": 1})), make_predicted(("f", {"a": True})))
    ) == [(0, 0, "!")]
    assert summarize(
        align_calls(make_golden(("f", {"a": 1})), make_predicted(("g", {"a": 1})))
    ) == [(0, 0, "!")]


def test_order_matters_only_if_ordered() -> None:
    left, right = make_golden(("f", {}), ("g", {})), make_predicted(("g", {}), ("f", {}))
    assert summarize(align_calls(left, right)) == [(0, 1, "="), (1, 0, "=")]
    assert summarize(align_calls(left, right, keep_order=True)) in (
        [(0, None, "-"), (1, 0, "="), (None, 1, "+")],
        [(0, 1, "="), (1, None, "-"), (None, 0, "+")],
    )


def test_exact_match_does_not_take_the_only_partner_of_another_call() -> None:
    left = make_golden(("f", {"a": [1, 2]}), ("f", {"a": [1]}))
    right = make_predicted(("f", {"a": 1}), ("f", {"a": 2}))
    assert summarize(align_calls(left, right)) == [(0, 1, "="), (1, 0, "=")]


def test_function_name_outweighs_arguments() -> None:
    left = make_golden(("f", {"a": 1, "b": 1}))
    right = make_predicted(("g", {"a": 1, "b": 1}), ("f", {"a": 2, "b": 2}))
    assert summarize(align_calls(left, right)) == [(0, 1, "!"), (None, 0, "+")]


def test_ties_use_position() -> None:
    calls = [("f", {"a": 1})] * 3
    assert summarize(align_calls(make_golden(*calls), make_predicted(*calls, ("f", {"a": 1})))) == [
        *[(at, at, "=") for at in range(3)],
        (None, 3, "+"),
    ]
    assert summarize(
        align_calls(make_golden(("f", {}), ("f", {})), make_predicted(("g", {}), ("h", {})))
    ) == [
        (0, 0, "!"),
        (1, 1, "!"),
    ]


def test_omitted_call_in_the_middle() -> None:
    left = make_golden(("f", {}), ("g", {}), ("h", {}))
    right = make_predicted(("f", {}), ("h", {}))
    for ordered in (False, True):
        assert summarize(align_calls(left, right, keep_order=ordered)) == [
            (0, 0, "="),
            (1, None, "-"),
            (2, 1, "="),
        ]


def test_wrong_function_is_paired_with_the_call_it_replaces() -> None:
    left = make_golden(("f", {}), ("g", {}), ("h", {}))
    right = make_predicted(("f", {}), ("x", {}), ("h", {}))
    for ordered in (False, True):
        assert summarize(align_calls(left, right, keep_order=ordered)) == [
            (0, 0, "="),
            (1, 1, "!"),
            (2, 2, "="),
        ]


@given(specs, specs, st.booleans())
def test_each_call_is_in_one_pair(left: list[Spec], right: list[Spec], ordered: bool) -> None:
    pairs = align_calls(make_golden(*left), make_predicted(*right), keep_order=ordered)
    assert sorted(pair.golden for pair in pairs if pair.golden is not None) == list(
        range(len(left))
    )
    assert sorted(pair.predicted for pair in pairs if pair.predicted is not None) == list(
        range(len(right))
    )
    both = [
        (pair.golden, pair.predicted)
        for pair in pairs
        if pair.golden is not None and pair.predicted is not None
    ]
    if ordered:
        assert sorted(both) == sorted(both, key=lambda pair: (pair[1], pair[0]))  # type: ignore[arg-type, return-value]
    assert all(
        (pair.state in "-+") == (pair.golden is None or pair.predicted is None) for pair in pairs
    )


def test_repeated_call_is_not_paired_with_a_missing_call() -> None:
    left = make_golden(("diff", {}), ("post_tweet", {"content": "a"}))
    right = make_predicted(("diff", {}), ("diff", {}), ("diff", {}))
    for ordered in (False, True):
        found = summarize(align_calls(left, right, keep_order=ordered))
        assert found == [(0, 0, "="), (1, None, "-"), (None, 1, "+"), (None, 2, "+")]
        assert summarize(align_calls(left, right[:2], keep_order=ordered)) == [
            (0, 0, "="),
            (1, None, "-"),
            (None, 1, "+"),
        ]


def test_similar_names_are_paired() -> None:
    left = make_golden(("get_weather", {}), ("Maps.search", {}))
    right = make_predicted(("get_wether", {}), ("search", {}), ("get_weather_alerts", {}))
    assert summarize(align_calls(left, right))[:2] == [(0, 0, "!"), (1, 1, "!")]


@given(specs.filter(lambda calls: len(calls) <= 4), specs.filter(lambda calls: len(calls) <= 4))
def test_pairing_is_optimal(left: list[Spec], right: list[Spec]) -> None:
    def pair_cost(one: Spec, other: Spec) -> tuple[int, int]:
        if one[0] != other[0]:
            return (0, 0)  # Calls of different functions have no arguments to compare.
        return (
            -1,
            sum(one[1].get(name) != other[1].get(name) for name in one[1].keys() | other[1].keys()),
        )

    def total_cost(chosen: list[tuple[int, int]]) -> tuple[int, ...]:
        return tuple(
            map(sum, zip((0, 0), *(pair_cost(left[i], right[j]) for i, j in chosen), strict=True))
        )

    short, long = sorted((len(left), len(right)))
    everything = [
        total_cost([(i, j) if len(left) <= len(right) else (j, i) for i, j in enumerate(order)])
        for order in permutations(range(long), short)
    ]
    pairs = align_calls(make_golden(*left), make_predicted(*right))
    found = [
        (p.golden, p.predicted) for p in pairs if p.golden is not None and p.predicted is not None
    ]
    assert total_cost(found) == min(everything)


@given(specs)
def test_reordered_calls_are_equal(calls: list[Spec]) -> None:
    assert all(
        pair.state == "="
        for pair in align_calls(make_golden(*calls), make_predicted(*reversed(calls)))
    )


def test_undecodable_call_is_paired_by_name() -> None:
    broken = Call("predicted", "g", arguments=None, index=0, decode_error="no closing bracket")
    right = [broken, *make_predicted(("f", {}))]
    right[1].index = 1
    pairs = align_calls(make_golden(("f", {}), ("g", {})), right)
    assert summarize(pairs) == [(0, 1, "="), (1, 0, "!")]
    assert [place.reason for place in pairs[1].diff] == ["no closing bracket"]


def test_long_chain_of_reassignments_is_found() -> None:
    values = range(12)
    left = make_golden(*[("f", {"a": [at, at + 1]}) for at in values])
    right = make_predicted(*[("f", {"a": at + 1}) for at in values[:-1]], ("f", {"a": 0}))
    assert all(pair.state == "=" for pair in align_calls(left, right))


@pytest.mark.parametrize("ordered", [False, True])
def test_very_many_calls_are_paired_quickly_by_position(ordered: bool) -> None:
    count = MAX_COMPARED_PAIRS
    right = make_predicted(*[("f", {"a": at}) for at in range(count)], ("g", {}))
    pairs = align_calls(make_golden(("g", {}), ("f", {"a": 0})), right, keep_order=ordered)
    # `g` is not paired with `f` at its position.
    assert len(pairs) == count + (2 if ordered else 1)
    if not ordered:
        assert summarize(pairs)[:2] == [(0, count, "="), (1, 0, "=")]


def test_turns_are_aligned_separately() -> None:
    left, right = make_golden(("f", {}), ("g", {})), make_predicted(("g", {}), ("f", {}))
    for at, call in enumerate(left):
        call.turn, call.index = at, 0
    for at, call in enumerate(right):
        call.turn, call.index = at, 0
    pairs = align_calls_by_turn(left, right, EXACT_RULES)
    assert [(pair.turn, pair.golden, pair.predicted, pair.state) for pair in pairs] == [
        (0, 0, 0, "!"),
        (1, 0, 0, "!"),
    ]
    right[1].turn = 2
    assert [(pair.turn, pair.state) for pair in align_calls_by_turn(left, right)] == [
        (0, "!"),
        (1, "-"),
        (2, "+"),
    ]
