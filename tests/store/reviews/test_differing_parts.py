"""Disagreements on parts of an item determine the verdict on the item."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.decision import decide
from fcreview.model.effective_verdict import RollUpContext
from fcreview.model.review import fold_events
from tests.store.reviews.test_decisions import decide_item, make_event

FIRST = "turn:1/call:1"


@pytest.mark.parametrize(
    ("alice", "bob", "build", "human"),
    [
        (
            False,
            True,
            RollUpContext({0: 1}, {FIRST: True}, benchmark_item_verdict=True),
            "disputed",
        ),
        (
            True,
            False,
            RollUpContext({0: 1}, {FIRST: False}, benchmark_item_verdict=False),
            "disputed",
        ),
        # Without a verdict on the item, the parts decide.
        (
            True,
            False,
            RollUpContext({0: 1}, {FIRST: False}),
            "disputed",
        ),
        (True, False, RollUpContext({0: 1}, {FIRST: False}, [[FIRST]]), "disputed"),
        # Both fail the item.
        (
            False,
            True,
            RollUpContext({0: 2}, {FIRST: True}, benchmark_item_verdict=False),
            False,
        ),
        (False, "unsure", RollUpContext({0: 1}, {FIRST: True}, benchmark_item_verdict=True), False),
        (False, False, RollUpContext({0: 1}, {FIRST: True}, benchmark_item_verdict=True), False),
    ],
)
def test_override_and_confirmation_of_a_part_dispute_the_item(
    alice: bool, bob: Any, build: RollUpContext, human: Any
) -> None:
    events = [make_event("alice", alice, target=FIRST), make_event("bob", bob, target=FIRST)]
    for order in (events, events[::-1]):
        assert decide_item(*order, build=build).human == human
    ruling = make_event("carol", alice, act="adjudicate", target=FIRST)
    assert (
        decide_item(*events, ruling, build=build).human is alice
        or build.benchmark_item_verdict is False
    )
    back = make_event("carol", build.benchmark_part_verdicts[FIRST], act="adjudicate", target=FIRST)
    assert decide_item(*events, back, build=build).human is None  # same as the benchmark


def test_passing_turn_contradicts_a_failing_call_of_it() -> None:
    build = RollUpContext({0: 2}, {FIRST: True, "turn:1/call:2": True}, benchmark_item_verdict=True)
    events = [
        make_event("alice", False, target=f"{FIRST}/arg:city"),
        make_event("bob", True, target="turn:1"),
    ]
    assert decide_item(*events, build=build).human == "disputed"
    elsewhere = make_event("bob", True, target="turn:1/call:2")
    assert decide_item(events[0], elsewhere, build=build).human is False


def test_verdicts_of_others_give_no_own_verdict() -> None:
    build = RollUpContext(
        {0: 2}, {FIRST: True, "turn:1/call:2": False}, benchmark_item_verdict=False
    )
    events = [
        make_event("alice", True, target=FIRST),
        make_event("bob", True, target="turn:1/call:2"),
    ]
    ruled = [*events, make_event("carol", False, target=FIRST, act="adjudicate")]
    for said in (events, ruled):
        assert decide(fold_events(said, set()), build, annotator="alice")[0].mine is None
