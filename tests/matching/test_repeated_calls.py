"""Quoted calls in a dialogue are parsed, and repeated calls are found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.matching import conversation
from fcreview.matching.conversation import RepeatedCalls, is_same_call, parse_quoted_calls
from fcreview.model.item import GOLDEN_CALL, Call, Item, Message


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"name": "f", "arguments": {"a": 1}}, [("f", {"a": 1})]),
        ([{"f": {"a": 1}}, {"g": {}}], [("f", {"a": 1}), ("g", {})]),
        ({"f": {}, "g": {"b": None}}, [("f", {}), ("g", {"b": None})]),
        ({"name": "f", "arguments": "a=1"}, []),
        ([{"f": {}}, "g"], []),
        ({}, []),
        ("f()", []),
    ],
)
def test_quoted_calls_are_parsed(value: Any, found: list[tuple[str, Any]]) -> None:
    assert [(call.name, call.arguments) for call in parse_quoted_calls(json.dumps(value))] == found


@given(st.text(max_size=60))
def test_any_text_is_parsed(text: str) -> None:
    assert all(call.arguments is not None for call in parse_quoted_calls(text))


def test_same_calls_have_equal_function_types_and_values() -> None:
    one = Call("predicted", "f", arguments={"a": 1})
    assert is_same_call(one, Call("predicted", "f", arguments={"a": 1}, turn=3))
    assert not is_same_call(one, Call("predicted", "f", arguments={"a": True}))
    assert not is_same_call(one, Call("predicted", "g", arguments={"a": 1}))
    broken = Call("predicted", "f", arguments=None, raw="f(")
    assert not is_same_call(broken, broken)


def test_only_later_calls_are_repeated() -> None:
    calls = [
        Call("predicted", "f", arguments={"a": at % 2}, turn=0, step=at, index=at)
        for at in range(3)
    ]
    item = Item("i", "c", predicted=calls)
    assert [RepeatedCalls(item).describe_earlier_occurrence(call) for call in calls] == [
        None,
        None,
        "turn 1 step 1",
    ]
    item.messages = [
        Message(0, 0, role="assistant", content="Hi."),
        Message(0, 1, role="assistant", content='{"f": {"a": 1}}', name=GOLDEN_CALL),
    ]
    late = Call("predicted", "f", arguments={"a": 1}, turn=0, step=2, index=0)
    item.predicted = [late]
    assert RepeatedCalls(item).describe_earlier_occurrence(late) == "turn 1 step 2"
    item.messages[1].name = None
    assert RepeatedCalls(item).describe_earlier_occurrence(late) is None


def test_ten_thousand_calls_need_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs would need fifty million comparisons."""
    values = [1, 1.0, True, float("nan"), None, "1", [1], (1,), {"b": [1]}, {1}]
    calls = [
        Call(
            "predicted", "f", arguments={"a": [at // 2, values[at % 10]]}, turn=0, step=0, index=at
        )
        for at in range(9_990)
    ]
    calls += [
        Call(
            "predicted", "f", arguments={"a": [at // 2, values[at % 10]]}, turn=0, step=1, index=at
        )
        for at in range(10)
    ]
    repeats = RepeatedCalls(Item("i", "c", predicted=calls))
    compared = []
    monkeypatch.setattr(
        conversation,
        "is_same_call",
        lambda one, other: compared.append(one) or is_same_call(one, other),
    )
    assert [repeats.describe_earlier_occurrence(call) for call in calls] == [None] * 9_990 + [
        "turn 1 step 1"
    ] * 10
    assert len(compared) < 2 * len(calls)
