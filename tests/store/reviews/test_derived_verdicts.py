"""Annotators who speak about different criteria: each annotator's value comes first, then the comparison."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.decision import decide, find_disagreements, fold_events
from fcreview.model.derivation import DECLINE_KEY, GOLDEN_ACTS_KEY, MILESTONES_MET, SAME_NAMES_KEY
from fcreview.model.review import Event
from fcreview.model.verdict import RollUpContext
from tests.store.reviews.test_decisions import event

CALL = "turn:1/call:1"
ITEM = "item"
Question = tuple[str, str]


def context(benchmark: str, automatic: dict[Question, Any], metadata: dict[str, Any] | None = None) -> RollUpContext:
    return RollUpContext(benchmark=benchmark, automatic=automatic, metadata=metadata or {})


def said(who: str, question: Question, verdict: Any, act: Any = "review") -> Event:
    return event(who, verdict, target=question[0], criterion=question[1], act=act)


def decided(build: RollUpContext, *events: Event) -> dict[Question, Any]:
    found = decide(fold_events(events, set()), build)
    return {(each.target, each.criterion): each.human for each in found if each.human is not None}


CORRECT, ARGS, JUDGED, REPLY = (ITEM, "correct"), (ITEM, "args_ok"), (ITEM, "args_ok_llm"), (ITEM, "equivalent")
PROCESS, ACTS = (ITEM, "process_accuracy"), ("response", "dialog_act")
HAMMER = context("hammerbench", {CORRECT: False, ARGS: False, JUDGED: False, REPLY: True}, {SAME_NAMES_KEY: True})


@pytest.mark.parametrize(
    ("build", "alice", "bob", "human"),
    [
        (HAMMER, (CORRECT, True), (ARGS, False), "disputed"),
        (HAMMER, (CORRECT, True), (ARGS, True), True),
        (HAMMER, (CORRECT, False), (ARGS, True), True),  # a confirmed verdict implies nothing
        (HAMMER, (REPLY, False), (JUDGED, True), "disputed"),
        (HAMMER, (REPLY, False), (JUDGED, "unsure"), "unsure"),
        (context("acebench", {CORRECT: False, PROCESS: 0.5}), (CORRECT, True), (PROCESS, 0.5), "disputed"),
        (
            context("acebench", {CORRECT: True, PROCESS: 1}, {MILESTONES_MET: 0.5}),
            (CORRECT, False),
            (PROCESS, 0.5),
            0.5,
        ),
        (context("confetti", {CORRECT: False}, {GOLDEN_ACTS_KEY: ["a"]}), (ACTS, ["a"]), (CORRECT, False), "disputed"),
        (context("confetti", {CORRECT: False}, {GOLDEN_ACTS_KEY: ["a"]}), (ACTS, ["b"]), (CORRECT, False), False),
        (context("hammerbench", {}, {DECLINE_KEY: ""}), ((ITEM, "rejected"), True), (CORRECT, False), "disputed"),
        (context("complexfuncbench", {}), ((CALL, "correct"), True), ((CALL, "equivalent"), False), "disputed"),
        (context("bfcl", {}), ((CALL, "correct"), True), ((CALL, "equivalent"), False), False),
    ],
)
def test_a_given_verdict_is_compared_with_a_derived_one(
    build: RollUpContext, alice: tuple[Question, Any], bob: tuple[Question, Any], human: Any
) -> None:
    events = [said("alice", *alice), said("bob", *bob)]
    for order in (events, events[::-1]):
        assert decided(build, *order)[bob[0]] == human
    mine = [said("bob", *alice), said("bob", *bob)]
    if bob[1] != "unsure":
        assert decided(build, *mine)[bob[0]] == bob[1]  # what an annotator gave counts before what follows


def test_an_adjudicated_verdict_is_the_one_that_others_follow() -> None:
    events = [said("alice", CORRECT, True), said("bob", ARGS, False)]
    assert decided(HAMMER, *events, said("carol", CORRECT, False, "adjudicate"))[ARGS] is False
    assert decided(HAMMER, *events, said("carol", ARGS, True, "adjudicate"))[ARGS] is True


def test_verdicts_that_follow_from_two_criteria_are_compared() -> None:
    build = context("hammerbench", {CORRECT: True, REPLY: False}, {SAME_NAMES_KEY: True})
    events = [said("alice", CORRECT, False), said("bob", REPLY, True)]
    assert decided(build, *events)[JUDGED] == "disputed"
    alone = [said("alice", CORRECT, False), said("alice", REPLY, True)]
    assert JUDGED not in decided(build, *alone)


def test_a_disputed_verdict_is_one_disagreement() -> None:
    """What would follow from the verdicts is not listed beside it."""
    events = [said("alice", CORRECT, True), said("bob", CORRECT, False), said("bob", REPLY, False)]
    opinions = fold_events(events, set())
    found = find_disagreements(events[0].key, opinions, HAMMER)
    assert [(each.target, each.criterion) for each in found] == [CORRECT]
