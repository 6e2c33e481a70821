"""From events to opinions, from opinions to what counts."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from fcreview.model.decision import Decision, decide, find_retracted_events, fold_events
from fcreview.model.review import Event, ItemKey
from fcreview.model.verdict import RollUpContext, roll_up_by_common_rule, roll_up_parts

KEY = ItemKey("bfcl", "V4", "en", "maple-8b", "simple", "simple_0")


def event(annotator: str = "alice", verdict: Any = None, **fields: Any) -> Event:
    event.count += 1  # type: ignore[attr-defined]
    number = event.count  # type: ignore[attr-defined]
    time = f"2026-01-01T00:{number:05d}Z"
    return Event(event=f"e{number}", time=time, annotator=annotator, key=KEY, verdict=verdict, **fields)


event.count = 0  # type: ignore[attr-defined]


def item(
    *events: Event, pairs: dict[int, int] | None = None, you: str = "alice", build: RollUpContext | None = None
) -> Decision:
    decision = decide(
        fold_events(events, find_retracted_events(events), "p", "g"), build or RollUpContext(pairs or {}), you
    )[0]
    assert (decision.target, decision.criterion) == ("item", "correct")
    return decision


def test_an_event_changes_only_the_fields_it_carries() -> None:
    events = [
        event(verdict=False, fault="model", tags=["a"]),
        event(note="because"),
        event(verdict=True),
        event(tags=[]),
        event(note=""),
    ]
    (opinion,) = fold_events(events[:2], set())
    assert (opinion.verdict, opinion.fault, opinion.tags, opinion.note) == (False, "model", ["a"], "because")
    (opinion,) = fold_events(events[:3], set())
    assert (opinion.verdict, opinion.fault, opinion.tags, opinion.note) == (True, None, ["a"], "because")
    (opinion,) = fold_events(events, set())
    assert (opinion.verdict, opinion.tags, opinion.note) == (True, [], None)


@pytest.mark.parametrize("verdict", [True, False, "unsure", 0])
def test_a_verdict_without_a_fault_takes_back_the_fault_named_before(verdict: Any) -> None:
    golden = event(verdict=True, fault="golden", note="n", golden_fix={"f": {}})
    (opinion,) = fold_events([golden, event(verdict=verdict)], set())
    assert (opinion.verdict, opinion.fault, opinion.note, opinion.golden_fix) == (verdict, None, "n", {"f": {}})


def test_a_fault_named_without_a_verdict_is_added_to_the_verdict() -> None:
    (opinion,) = fold_events([event(verdict=False), event(fault="question"), event(tags=["t"])], set())
    assert (opinion.verdict, opinion.fault, opinion.tags) == (False, "question", ["t"])


def test_a_verdict_leaves_faults_of_others_and_of_other_targets_alone() -> None:
    events = [
        event(verdict=True, fault="golden"),
        event("bob", True, fault="checker"),
        event(verdict=True, fault="simulator", target="turn:1"),
        event(verdict=True, act="adjudicate", fault="question"),
        event(verdict=False),
    ]
    faults = {(o.annotator, o.target, o.is_adjudication): o.fault for o in fold_events(events, set())}
    assert faults == {
        ("alice", "item", False): None,
        ("bob", "item", False): "checker",
        ("alice", "turn:1", False): "simulator",
        ("alice", "item", True): "question",
    }


def test_undoing_the_verdict_brings_its_fault_back() -> None:
    first, second = event(verdict=True, fault="golden"), event(verdict=False)
    gone = event(act="retract", retracts=second.event)
    assert (item(first, second).fault, item(first, second, gone).fault) == (None, "golden")


def test_a_retraction_restores_what_was_there_before() -> None:
    first, second = event(verdict=False), event(verdict=True, fault="golden")
    gone = event(act="retract", retracts=second.event)
    assert item(first, second).human is True
    after = item(first, second, gone)
    assert (after.human, after.fault) == (False, None)
    assert item(first, second, gone, event(act="retract", retracts=first.event)).human is None


def test_nobody_takes_back_what_another_said() -> None:
    mine = event(verdict=True)
    assert item(mine, event("bob", act="retract", retracts=mine.event)).human is True


@pytest.mark.parametrize(
    ("verdicts", "human", "by"),
    [
        ({"alice": True}, True, "unanimous"),
        ({"alice": False, "bob": False}, False, "unanimous"),
        ({"alice": True, "bob": False}, "disputed", "disputed"),
        ({"alice": True, "bob": "unsure"}, True, "unanimous"),
        ({"alice": "unsure"}, "unsure", None),
        ({"alice": None}, None, None),
        ({"alice": 1, "bob": True}, "disputed", "disputed"),
    ],
)
def test_what_annotators_say_together(verdicts: dict[str, Any], human: Any, by: str | None) -> None:
    events = [event(name, verdict, tags=["t"]) for name, verdict in verdicts.items()]
    for order in permutations(events):
        decision = item(*order)
        assert decision.human == human
        assert type(decision.human) is type(human)
        assert decision.decided_by == by
        assert decision.n_verdicts == sum(verdict is not None for verdict in verdicts.values())
        assert decision.annotators == sorted(verdicts)


@pytest.mark.parametrize("verdict", [True, False, None, "unsure", ["a"]])
@pytest.mark.parametrize("you", ["alice", "bob"])
def test_a_single_opinion_is_decided_like_one_of_several(verdict: Any, you: str) -> None:
    said = event(verdict=verdict, fault="golden", tags=["a", "a", "b"], note="n")
    assert item(said, you=you) == item(said, event("bob", 2, criterion="completeness"), you=you)


def test_an_adjudication_settles_a_dispute_and_the_latest_counts() -> None:
    said = [event("alice", True, fault="golden"), event("bob", False, fault="model")]
    assert (item(*said).human, item(*said).fault) == ("disputed", "disputed")
    ruling = event("carol", False, act="adjudicate", fault="model")
    settled = item(*said, ruling)
    assert (settled.human, settled.decided_by, settled.fault, settled.mine) == (False, "adjudication", "model", True)
    assert item(*said, ruling, event("dora", True, act="adjudicate")).human is True
    undone = item(*said, ruling, event("carol", act="retract", retracts=ruling.event))
    assert undone.decided_by == "disputed"


def test_a_settled_pass_says_itself_who_is_wrong() -> None:
    said = [event("alice", True, fault="golden"), event("bob", True)]
    assert item(*said).fault == "golden"
    assert item(*said, event("carol", True, act="adjudicate")).fault is None
    assert item(*said, event("carol", True, act="adjudicate", fault="judge")).fault == "judge"
    failing = [event("alice", False, fault="model"), event("bob", True)]
    assert item(*failing, event("carol", False, act="adjudicate")).fault == "model"
    assert item(*said, event("carol", fault="question", act="adjudicate")).fault == "question"


def test_an_unsure_adjudicator_settles_nothing() -> None:
    assert item(event("alice", True), event("carol", "unsure", act="adjudicate")).decided_by == "unanimous"


def test_labels_are_compared_as_sets_on_other_criteria() -> None:
    events = [
        event(verdict=["ask", "inform"], criterion="dialog_act"),
        event("bob", ["inform", "ask"], criterion="dialog_act"),
        event(verdict=2, criterion="completeness"),
        event("bob", 1, criterion="completeness"),
    ]
    first, acts, completeness = decide(fold_events(events, set()), RollUpContext(), "bob")
    assert first.human is None  # other criteria do not decide whether the item is correct
    assert (acts.human, acts.decided_by) == (["ask", "inform"], "unanimous")
    assert (completeness.human, completeness.mine) == ("disputed", 1)


@pytest.mark.parametrize(
    ("hashes", "stale"),
    [
        ({"prediction_hash": "p", "golden_hash": "g"}, False),
        ({"prediction_hash": "old", "golden_hash": "g"}, True),
        ({"prediction_hash": "p", "golden_hash": "old"}, True),
        ({"prediction_hash": "p"}, False),
        ({}, False),
    ],
)
def test_an_opinion_on_another_answer_is_stale_and_not_counted(hashes: dict[str, str], stale: bool) -> None:
    said = event(verdict=True, **hashes)
    (opinion,) = fold_events([said], set(), "p", "g")
    assert (opinion.stale, opinion.verdict) == (stale, True)
    decision = item(said)
    assert decision.stale is stale
    assert decision.human is (None if stale else True)
    assert decision.n_verdicts == (0 if stale else 1)


def test_a_new_opinion_takes_nothing_over_from_a_stale_one() -> None:
    old = event(verdict=False, fault="model", note="old", prediction_hash="old")
    new = event(verdict=True, prediction_hash="p")
    for order in ([old, new], [new, old]):
        (opinion,) = fold_events(order, set(), "p", "g")
        assert (opinion.verdict, opinion.fault, opinion.note, opinion.stale) == (True, None, None, False)


TWO = {0: 2, 1: 1}


@pytest.mark.parametrize(
    ("verdicts", "pairs", "expected"),
    [
        ({}, TWO, None),
        ({"turn:1/call:1": False}, TWO, False),
        ({"turn:1/call:1": True}, TWO, None),
        ({"turn:1/call:1": True, "turn:1/call:2": True}, TWO, None),
        ({"turn:1/call:1": True, "turn:1/call:2": True, "turn:2/call:1": True}, TWO, True),
        ({"turn:1": True, "turn:2/call:1": True}, TWO, True),
        ({"turn:1": True, "turn:1/call:1": False, "turn:2": True}, TWO, True),
        ({"turn:1": False, "turn:2": True}, TWO, False),
        ({"turn:2/call:1/arg:city": False}, TWO, False),
        ({"turn:2/call:1/arg:city": False, "turn:2/call:1": True}, TWO, None),
        ({"turn:2/call:1/arg:city": True}, TWO, None),
        ({"turn:1/call:1": "unsure"}, TWO, None),
        ({"turn:1/call:1/arg:a": False, "turn:1/call:1": "unsure"}, TWO, False),
        ({"response": False}, TWO, False),
        ({"response": True}, TWO, None),
        ({"turn:1": True, "turn:2": True, "response": False}, TWO, False),
        ({"turn:9/call:1": False}, TWO, False),
        ({"turn:x": False}, {}, None),
        ({"turn:1": True}, {}, None),
    ],
)
def test_verdicts_on_parts_roll_up(verdicts: dict[str, Any], pairs: dict[int, int], expected: bool | None) -> None:
    assert roll_up_by_common_rule(verdicts, pairs) is expected


OWN = {"turn:1/call:1": True, "turn:1/call:2": False, "turn:1/call:3": True}
RETRY = [["turn:1/call:1"], ["turn:1/call:2", "turn:1/call:3"]]
"""Call 3 is a second try of what call 2 was refused for."""


@pytest.mark.parametrize(
    ("verdicts", "needs", "expected"),
    [
        ({"turn:1/call:1": True}, None, None),  # confirms
        ({"turn:1/call:1": True, "turn:1/call:2": False, "turn:1/call:3": True}, None, None),
        ({"turn:1/call:2": True}, None, True),  # the last that was refused
        ({"turn:1/call:3": False}, None, False),
        (OWN, RETRY, None),
        ({"turn:1/call:2": True}, RETRY, True),
        ({"turn:1/call:3": False}, RETRY, False),
        ({"turn:1/call:3": False, "turn:1/call:2": True}, RETRY, True),
        ({"turn:1/call:3/arg:city": False}, RETRY, False),
        ({"turn:1/call:2": "unsure"}, RETRY, None),
        ({"turn:1/call:2": True}, [*RETRY, []], None),  # something else failed the item
        ({"turn:1": False}, RETRY, False),
        ({"turn:1": True}, RETRY, True),
        ({"response": False}, RETRY, False),
    ],
)
def test_what_confirms_the_benchmark_rolls_up_to_nothing(
    verdicts: dict[str, Any], needs: list[list[str]] | None, expected: bool | None
) -> None:
    assert roll_up_parts(verdicts, RollUpContext({0: 3}, OWN, needs)) is expected
    events = [event(verdict=value, target=target, criterion="equivalent") for target, value in verdicts.items()]
    assert item(*events, build=RollUpContext({0: 3}, OWN, needs)).human is expected


def test_a_direct_verdict_stands_above_the_roll_up() -> None:
    part = event(verdict=False, target="turn:1/call:1")
    assert item(part, pairs={0: 1}).human is False
    assert item(part, event(verdict=True), pairs={0: 1}).human is True


def test_annotators_can_differ_through_their_parts() -> None:
    events = [event("alice", True), event("bob", False, target="turn:1/call:1", criterion="equivalent")]
    assert item(*events, pairs={0: 1}).human == "disputed"
    ruling = event("carol", True, act="adjudicate", target="turn:1/call:1", criterion="equivalent")
    settled = item(*events, ruling, pairs={0: 1})
    assert (settled.human, settled.decided_by) == (True, "adjudication")
    assert settled.annotators == ["alice", "bob", "carol"]


def test_parts_that_are_confirmed_say_nothing_new_of_the_item() -> None:
    """The benchmark fails call 1 and says nothing of the item: a reviewer who agrees does not fail the item."""
    first, second = "turn:1/call:1", "turn:1/call:2"
    build = RollUpContext({0: 2}, {first: False, second: True})

    def human(*verdicts: bool) -> Any:
        said = [event(verdict=value, target=f"turn:1/call:{at}") for at, value in enumerate(verdicts, 1)]
        return decide(fold_events(said, set()), build)[0].human

    assert human(False, True) is None
    assert human(False, False) is False  # call 2 is overruled
    assert human(True, True) is True
