"""Annotators who differ on a part: what follows of the item, and for whom."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.decision import decide, fold_events
from fcreview.model.verdict import RollUpContext
from tests.store.reviews.test_decisions import event, item

FIRST = "turn:1/call:1"


@pytest.mark.parametrize(
    ("alice", "bob", "build", "human"),
    [
        (False, True, RollUpContext({0: 1}, {FIRST: True}, benchmark_item=True), "disputed"),
        (True, False, RollUpContext({0: 1}, {FIRST: False}, benchmark_item=False), "disputed"),
        (
            True,
            False,
            RollUpContext({0: 1}, {FIRST: False}),
            "disputed",
        ),  # nothing said of the item: what its parts come to
        (True, False, RollUpContext({0: 1}, {FIRST: False}, [[FIRST]]), "disputed"),
        (False, True, RollUpContext({0: 2}, {FIRST: True}, benchmark_item=False), False),  # both have the item fail
        (False, "unsure", RollUpContext({0: 1}, {FIRST: True}, benchmark_item=True), False),
        (False, False, RollUpContext({0: 1}, {FIRST: True}, benchmark_item=True), False),
    ],
)
def test_what_one_overrules_and_another_confirms_is_disputed_of_the_item_too(
    alice: bool, bob: Any, build: RollUpContext, human: Any
) -> None:
    events = [event("alice", alice, target=FIRST), event("bob", bob, target=FIRST)]
    for order in (events, events[::-1]):
        assert item(*order, build=build).human == human
    ruling = event("carol", alice, act="adjudicate", target=FIRST)
    assert item(*events, ruling, build=build).human is alice or build.benchmark_item is False
    back = event("carol", build.benchmark_parts[FIRST], act="adjudicate", target=FIRST)
    assert item(*events, back, build=build).human is None  # as the benchmark has it


def test_who_lets_a_turn_pass_contradicts_who_fails_a_call_of_it() -> None:
    build = RollUpContext({0: 2}, {FIRST: True, "turn:1/call:2": True}, benchmark_item=True)
    events = [event("alice", False, target=f"{FIRST}/arg:city"), event("bob", True, target="turn:1")]
    assert item(*events, build=build).human == "disputed"
    elsewhere = event("bob", True, target="turn:1/call:2")
    assert item(events[0], elsewhere, build=build).human is False


def test_nobody_is_given_a_verdict_of_their_own_by_what_others_say() -> None:
    build = RollUpContext({0: 2}, {FIRST: True, "turn:1/call:2": False}, benchmark_item=False)
    events = [event("alice", True, target=FIRST), event("bob", True, target="turn:1/call:2")]
    ruled = [*events, event("carol", False, target=FIRST, act="adjudicate")]
    for said in (events, ruled):
        assert decide(fold_events(said, set()), build, annotator="alice")[0].mine is None
