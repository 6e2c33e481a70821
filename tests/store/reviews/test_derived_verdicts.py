"""Verdicts on different criteria are first derived for each annotator and then compared."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.decision import decide, find_disagreements
from fcreview.model.derivation import (
    DECLINE_KEY,
    GOLDEN_ACTS_KEY,
    MILESTONES_MET,
    SAME_NAMES_KEY,
)
from fcreview.model.effective_verdict import RollUpContext
from fcreview.model.review import Event, fold_events
from tests.store.reviews.test_decisions import make_event

CALL = "turn:1/call:1"
ITEM = "item"
Question = tuple[str, str]


def make_context(
    benchmark: str, automatic: dict[Question, Any], metadata: dict[str, Any] | None = None
) -> RollUpContext:
    return RollUpContext(benchmark=benchmark, automatic=automatic, metadata=metadata or {})


def make_opinion_event(who: str, question: Question, verdict: Any, act: Any = "review") -> Event:
    return make_event(who, verdict, target=question[0], criterion=question[1], act=act)


def decide_all(build: RollUpContext, *events: Event) -> dict[Question, Any]:
    found = decide(fold_events(events, set()), build)
    return {(each.target, each.criterion): each.human for each in found if each.human is not None}


CORRECT, ARGS, JUDGED, REPLY = (
    (ITEM, "correct"),
    (ITEM, "args_ok"),
    (ITEM, "args_ok_llm"),
    (ITEM, "equivalent"),
)
PROCESS, ACTS = (ITEM, "process_accuracy"), ("response", "dialog_act")
HAMMER = make_context(
    "hammerbench", {CORRECT: False, ARGS: False, JUDGED: False, REPLY: True}, {SAME_NAMES_KEY: True}
)


@pytest.mark.parametrize(
    ("build", "alice", "bob", "human"),
    [
        (HAMMER, (CORRECT, True), (ARGS, False), "disputed"),
        (HAMMER, (CORRECT, True), (ARGS, True), True),
        (HAMMER, (CORRECT, False), (ARGS, True), True),  # A confirmed verdict implies nothing.
        (HAMMER, (REPLY, False), (JUDGED, True), "disputed"),
        (HAMMER, (REPLY, False), (JUDGED, "unsure"), "unsure"),
        (
            make_context("acebench", {CORRECT: False, PROCESS: 0.5}),
            (CORRECT, True),
            (PROCESS, 0.5),
            "disputed",
        ),
        (
            make_context("acebench", {CORRECT: True, PROCESS: 1}, {MILESTONES_MET: 0.5}),
            (CORRECT, False),
            (PROCESS, 0.5),
            0.5,
        ),
        (
            make_context("confetti", {CORRECT: False}, {GOLDEN_ACTS_KEY: ["a"]}),
            (ACTS, ["a"]),
            (CORRECT, False),
            "disputed",
        ),
        (
            make_context("confetti", {CORRECT: False}, {GOLDEN_ACTS_KEY: ["a"]}),
            (ACTS, ["b"]),
            (CORRECT, False),
            False,
        ),
        (
            make_context("hammerbench", {}, {DECLINE_KEY: ""}),
            ((ITEM, "rejected"), True),
            (CORRECT, False),
            "disputed",
        ),
        (
            make_context("complexfuncbench", {}),
            ((CALL, "correct"), True),
            ((CALL, "equivalent"), False),
            "disputed",
        ),
        (make_context("bfcl", {}), ((CALL, "correct"), True), ((CALL, "equivalent"), False), False),
    ],
)
def test_given_verdict_is_compared_with_a_derived_one(
    build: RollUpContext, alice: tuple[Question, Any], bob: tuple[Question, Any], human: Any
) -> None:
    events = [make_opinion_event("alice", *alice), make_opinion_event("bob", *bob)]
    for order in (events, events[::-1]):
        assert decide_all(build, *order)[bob[0]] == human
    mine = [make_opinion_event("bob", *alice), make_opinion_event("bob", *bob)]
    if bob[1] != "unsure":
        assert decide_all(build, *mine)[bob[0]] == bob[1]  # A given verdict precedes a derived one.


def test_verdicts_are_derived_from_the_adjudicated_one() -> None:
    events = [make_opinion_event("alice", CORRECT, True), make_opinion_event("bob", ARGS, False)]
    assert (
        decide_all(HAMMER, *events, make_opinion_event("carol", CORRECT, False, "adjudicate"))[ARGS]
        is False
    )
    assert (
        decide_all(HAMMER, *events, make_opinion_event("carol", ARGS, True, "adjudicate"))[ARGS]
        is True
    )


def test_verdicts_derived_from_two_criteria_are_compared() -> None:
    build = make_context("hammerbench", {CORRECT: True, REPLY: False}, {SAME_NAMES_KEY: True})
    events = [make_opinion_event("alice", CORRECT, False), make_opinion_event("bob", REPLY, True)]
    assert decide_all(build, *events)[JUDGED] == "disputed"
    alone = [make_opinion_event("alice", CORRECT, False), make_opinion_event("alice", REPLY, True)]
    # The rule for `equivalent` precedes that for `correct`.
    assert decide_all(build, *alone)[JUDGED] is True


def test_disputed_verdict_is_one_disagreement() -> None:
    """Verdicts that would be derived from it are not listed as disagreements."""
    events = [
        make_opinion_event("alice", CORRECT, True),
        make_opinion_event("bob", CORRECT, False),
        make_opinion_event("bob", REPLY, False),
    ]
    opinions = fold_events(events, set())
    found = find_disagreements(events[0].key, opinions, HAMMER)
    assert [(each.target, each.criterion) for each in found] == [CORRECT]
