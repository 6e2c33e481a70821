"""Golden actions find their calls by an index, with the same result as by comparing all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.tau.conversation import pair_golden_actions
from fcreview.importers.tau.golden_action import CallFinder, GoldenAction
from fcreview.model.item import Call, Item
from tests.examples import examples

VALUES = st.sampled_from(
    [1, 1.0, True, 0, "1", None, [1], [True], {"a": 1}, {"a": [1.0]}, {}, [], float("nan")]
)
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
NAMES = st.sampled_from("fg")
CALLS = st.lists(
    st.builds(
        lambda name, arguments: Call("predicted", name, arguments=arguments),
        NAMES,
        st.none() | ARGUMENTS,
    ),
    max_size=6,
)
ACTIONS = st.lists(
    st.builds(
        GoldenAction,
        NAMES,
        st.none() | ARGUMENTS,
        st.none() | st.lists(st.sampled_from("abz"), max_size=2),
    ),
    max_size=6,
)


@examples(1.0)
@given(calls=CALLS, actions=ACTIONS)
def test_action_has_a_match_if_any_call_matches(
    calls: list[Call], actions: list[GoldenAction]
) -> None:
    finder = CallFinder(calls)
    for action in actions:
        assert finder.has_match(action) == any(action.matches_call(call) for call in calls)


@examples(1.0)
@given(calls=CALLS, actions=ACTIONS)
def test_each_action_takes_the_first_open_call(
    calls: list[Call], actions: list[GoldenAction]
) -> None:
    finder = CallFinder(calls)
    used: set[int] = set()
    for action in actions:
        expected = None
        for index, call in enumerate(calls):
            if index not in used and action.matches_call(call):
                expected = index
                break
        assert finder.take_matching_call(action) == expected
        if expected is not None:
            used.add(expected)


def test_call_with_equal_arguments_is_preferred() -> None:
    calls = [
        Call("predicted", "book", arguments={"room": 1, "hour": hour}, index=index)
        for index, hour in enumerate((8, 9))
    ]
    item = Item("i", "c", predicted=calls)
    pair_golden_actions(item, [GoldenAction("book", {"room": 1, "hour": 9}, ["room"])])
    (pair,) = [pair for pair in item.pairs if pair.golden is not None]
    assert pair.predicted == 1
