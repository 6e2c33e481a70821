"""Decided verdicts on parts and criteria decide the item by the rules of the benchmark, in the
store as in metrics.
"""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.decision import Decision, decide
from fcreview.model.derivation import (
    FIRST_FUNCTION_KEY,
    FIXED_SOFT_SCORE_KEY,
    GOLDEN_ACTS_KEY,
    MILESTONES_MET,
    REWARD_PARTS,
)
from fcreview.model.effective_verdict import DISPUTED, RollUpContext, select_effective_verdict
from fcreview.model.review import Event, fold_events
from tests.store.reviews.test_decisions import make_event

ITEM = "item"
Question = tuple[str, str]
CORRECT, REWARD, DB, COMMUNICATE = (
    (ITEM, "correct"),
    (ITEM, "reward"),
    (ITEM, "db"),
    (ITEM, "communicate"),
)
FUNCTION, ARGUMENTS, PROCESS = (ITEM, "func_ok"), (ITEM, "args_ok"), (ITEM, "process_accuracy")
SOFT_SCORE, ACTS, HALLUCINATED = (
    (ITEM, "soft_score"),
    ("response", "dialog_act"),
    (ITEM, "hallucinated"),
)
CITY, DAY = "turn:1/call:1/arg:city", "turn:1/call:1/arg:day"

TAU = RollUpContext(
    benchmark="tau",
    automatic={CORRECT: True, REWARD: 1.0, DB: True, COMMUNICATE: True},
    metadata={REWARD_PARTS: {"DB": 1.0, "COMMUNICATE": 1.0}},
)
SNAPSHOT = RollUpContext(
    benchmark="hammerbench", automatic={CORRECT: False, FUNCTION: True, ARGUMENTS: False}
)
LATER_SNAPSHOT = RollUpContext(
    benchmark="hammerbench", automatic=SNAPSHOT.automatic, metadata={FIRST_FUNCTION_KEY: False}
)
AGENT = RollUpContext(
    benchmark="acebench", automatic={CORRECT: False, PROCESS: 0.5}, metadata={MILESTONES_MET: 0.5}
)
CALL = RollUpContext(
    benchmark="confetti",
    automatic={
        SOFT_SCORE: 0.75,
        (CITY, "soft_score"): 0.5,
        (DAY, "soft_score"): 1.0,
        HALLUCINATED: [],
        (CITY, "hallucinated"): False,
        (DAY, "hallucinated"): False,
    },
)


def review(annotator: str, question: Question, verdict: Any, act: Any = "review") -> Event:
    return make_event(annotator, verdict, target=question[0], criterion=question[1], act=act)


def decide_by_target(context: RollUpContext, *events: Event) -> dict[Question, Decision]:
    decisions = decide(fold_events(events, set()), context)
    return {(decision.target, decision.criterion): decision for decision in decisions}


def find_effective(context: RollUpContext, *events: Event) -> dict[Question, Any]:
    """Return the effective verdict on each target with a decision."""
    return {
        question: select_effective_verdict(
            context.automatic.get(question), decision.human, decision.decided_by, decision.derived
        )
        for question, decision in decide_by_target(context, *events).items()
    }


@pytest.mark.parametrize(
    ("context", "question", "verdict", "derived"),
    [
        (TAU, DB, False, {CORRECT: False, REWARD: 0.0}),
        (TAU, REWARD, 0.5, {CORRECT: False}),
        (TAU, CORRECT, False, {REWARD: 0.0}),
        (SNAPSHOT, ARGUMENTS, True, {CORRECT: True}),
        (SNAPSHOT, CORRECT, True, {ARGUMENTS: True}),
        (AGENT, CORRECT, True, {PROCESS: 1.0}),
        (CALL, (CITY, "soft_score"), 0.0, {SOFT_SCORE: 0.0}),
        (CALL, (CITY, "soft_score"), 0.8, {SOFT_SCORE: 0.9}),
        (CALL, HALLUCINATED, ["city"], {(CITY, "hallucinated"): True}),
    ],
)
def test_override_decides_what_follows_from_it(
    context: RollUpContext, question: Question, verdict: Any, derived: dict[Question, Any]
) -> None:
    effective = find_effective(context, review("ann", question, verdict))
    changed = {
        key: value for key, value in effective.items() if value != context.automatic.get(key)
    }
    assert {key: changed.get(key) for key in derived} == derived
    decisions = decide_by_target(context, review("ann", question, verdict))
    for key in derived:
        assert (decisions[key].human, decisions[key].decided_by) == (derived[key], "unanimous")
        assert decisions[key].annotators == ["ann"]
        assert decisions[key].mine is None


@pytest.mark.parametrize(
    ("context", "question"),
    [
        (TAU, DB),
        (TAU, REWARD),
        (SNAPSHOT, FUNCTION),
        (SNAPSHOT, ARGUMENTS),
        (AGENT, PROCESS),
        (CALL, (CITY, "soft_score")),
    ],
)
def test_confirmation_decides_nothing_else(context: RollUpContext, question: Question) -> None:
    event = review("ann", question, context.automatic[question])
    assert [
        key
        for key, decision in decide_by_target(context, event).items()
        if decision.derived is not None
    ] == []


def test_parts_count_together() -> None:
    failing = RollUpContext(
        benchmark="tau",
        automatic={CORRECT: False, REWARD: 0.0, DB: False, COMMUNICATE: False},
        metadata={REWARD_PARTS: {"DB": 0.0, "COMMUNICATE": 0.0}},
    )
    assert find_effective(failing, review("ann", DB, True)).get(CORRECT) is False
    assert (
        find_effective(failing, review("ann", DB, True), review("bob", COMMUNICATE, True))[CORRECT]
        is True
    )


def test_function_of_the_first_snapshot_counts_for_later_ones() -> None:
    assert find_effective(LATER_SNAPSHOT, review("ann", ARGUMENTS, True))[CORRECT] is False
    context = RollUpContext(
        benchmark="hammerbench",
        automatic={CORRECT: True, FUNCTION: True, ARGUMENTS: True},
        metadata={FIRST_FUNCTION_KEY: True},
    )
    assert find_effective(context, review("ann", FUNCTION, False))[CORRECT] is True
    assert find_effective(context, review("ann", ARGUMENTS, False))[CORRECT] is False


def test_fixed_soft_score_does_not_follow_from_arguments() -> None:
    context = RollUpContext(
        benchmark="confetti", automatic=CALL.automatic, metadata={FIXED_SOFT_SCORE_KEY: "other"}
    )
    assert SOFT_SCORE not in find_effective(context, review("ann", (CITY, "soft_score"), 0.0))


def test_unsure_leaves_the_verdict_to_the_other_annotator() -> None:
    events = [
        review("ann", PROCESS, 0.0),
        review("bob", CORRECT, True),
        review("bob", PROCESS, "unsure"),
    ]
    for order in (events, events[::-1]):
        effective = find_effective(AGENT, *order)
        assert effective[PROCESS] == 0.0
        assert effective[CORRECT] is True


def test_open_disagreement_keeps_what_follows_from_undisputed_reviews() -> None:
    """Both pass the item, and disagree on its process accuracy: it is 1, as for every item that
    passes.
    """
    events = [
        review("ann", CORRECT, True),
        review("bob", CORRECT, True),
        review("ann", PROCESS, 0.2),
        review("bob", PROCESS, 0.4),
    ]
    decision = decide_by_target(AGENT, *events)[PROCESS]
    assert (decision.human, decision.decided_by, decision.derived) == (DISPUTED, "disputed", 1.0)
    assert find_effective(AGENT, *events)[PROCESS] == 1.0
    assert (
        find_effective(AGENT, *events, review("carol", PROCESS, 0.4, "adjudicate"))[PROCESS] == 0.4
    )


def test_disputed_derived_verdict_does_not_count() -> None:
    """The verdict that follows from Bob's review is one side of the disagreement."""
    events = [review("ann", PROCESS, 0.2), review("bob", CORRECT, True)]
    decision = decide_by_target(AGENT, *events)[PROCESS]
    assert (decision.decided_by, decision.derived) == ("disputed", None)
    assert find_effective(AGENT, *events)[PROCESS] == 0.5


@pytest.mark.parametrize(
    ("context", "verdicts", "is_contradicting"),
    [
        (TAU, {DB: False, CORRECT: True}, True),
        (TAU, {DB: False, CORRECT: False}, False),
        (TAU, {REWARD: 1.0, CORRECT: False}, True),
        # The annotator may have another opinion about COMMUNICATE.
        (
            TAU,
            {DB: True, CORRECT: False},
            False,
        ),
        (TAU, {DB: True, COMMUNICATE: True, CORRECT: False}, True),
        (SNAPSHOT, {FUNCTION: False, CORRECT: True}, True),
        (SNAPSHOT, {FUNCTION: True, CORRECT: True}, False),
        (SNAPSHOT, {FUNCTION: True, ARGUMENTS: True, CORRECT: False}, True),
        (AGENT, {PROCESS: 0.5, CORRECT: True}, False),
    ],
)
def test_contradictory_verdicts_of_one_annotator_are_found(
    context: RollUpContext, verdicts: dict[Question, Any], is_contradicting: bool
) -> None:
    own = [review("ann", question, verdict) for question, verdict in verdicts.items()]
    expected = ["ann"] if is_contradicting else []
    assert decide_by_target(context, *own)[CORRECT].contradicting == expected

    by_two = [
        review(name, *each)
        for name, each in zip(("ann", "bob", "carol"), verdicts.items(), strict=False)
    ]
    assert decide_by_target(context, *by_two)[CORRECT].contradicting == []


def test_labels_of_replies_decide_the_item() -> None:
    context = RollUpContext(
        benchmark="confetti",
        automatic={CORRECT: False, ACTS: ["b"]},
        metadata={GOLDEN_ACTS_KEY: ["a"]},
    )
    assert find_effective(context, review("ann", ACTS, ["a"]))[CORRECT] is True
    assert find_effective(context, review("ann", ACTS, ["c"]))[CORRECT] is False
