"""Events are combined into opinions, and opinions into decisions."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from fcreview.model.decision import Decision, decide
from fcreview.model.effective_verdict import RollUpContext, roll_up_if_all_must_pass, roll_up_parts
from fcreview.model.review import Event, ItemKey, find_retracted_events, fold_events

KEY = ItemKey("bfcl", "V4", "en", "maple-8b", "simple", "simple_0")


def make_event(annotator: str = "alice", verdict: Any = None, **fields: Any) -> Event:
    make_event.count += 1  # type: ignore[attr-defined]
    number = make_event.count  # type: ignore[attr-defined]
    time = f"2026-01-01T00:{number:05d}Z"
    return Event(
        event=f"e{number}", time=time, annotator=annotator, key=KEY, verdict=verdict, **fields
    )


make_event.count = 0  # type: ignore[attr-defined]


def decide_item(
    *events: Event,
    pairs: dict[int, int] | None = None,
    you: str = "alice",
    build: RollUpContext | None = None,
) -> Decision:
    decision = decide(
        fold_events(events, find_retracted_events(events), "p", "g"),
        build or RollUpContext(pairs or {}),
        you,
    )[0]
    assert (decision.target, decision.criterion) == ("item", "correct")
    return decision


def test_event_changes_only_its_fields() -> None:
    events = [
        make_event(verdict=False, fault="model", tags=["a"]),
        make_event(note="because"),
        make_event(verdict=True),
        make_event(tags=[]),
        make_event(note=""),
    ]
    (opinion,) = fold_events(events[:2], set())
    assert (opinion.verdict, opinion.fault, opinion.tags, opinion.note) == (
        False,
        "model",
        ["a"],
        "because",
    )
    (opinion,) = fold_events(events[:3], set())
    assert (opinion.verdict, opinion.fault, opinion.tags, opinion.note) == (
        True,
        None,
        ["a"],
        "because",
    )
    (opinion,) = fold_events(events, set())
    assert (opinion.verdict, opinion.tags, opinion.note) == (True, [], None)


@pytest.mark.parametrize("verdict", [True, False, "unsure", 0])
def test_verdict_without_a_fault_removes_the_earlier_fault(verdict: Any) -> None:
    golden = make_event(verdict=True, fault="golden", note="n", golden_fix={"f": {}})
    (opinion,) = fold_events([golden, make_event(verdict=verdict)], set())
    assert (opinion.verdict, opinion.fault, opinion.note, opinion.golden_fix) == (
        verdict,
        None,
        "n",
        {"f": {}},
    )


def test_fault_without_a_verdict_is_added() -> None:
    (opinion,) = fold_events(
        [make_event(verdict=False), make_event(fault="question"), make_event(tags=["t"])], set()
    )
    assert (opinion.verdict, opinion.fault, opinion.tags) == (False, "question", ["t"])


def test_verdict_keeps_faults_of_other_annotators_and_targets() -> None:
    events = [
        make_event(verdict=True, fault="golden"),
        make_event("bob", True, fault="checker"),
        make_event(verdict=True, fault="simulator", target="turn:1"),
        make_event(verdict=True, act="adjudicate", fault="question"),
        make_event(verdict=False),
    ]
    faults = {
        (o.annotator, o.target, o.is_adjudication): o.fault for o in fold_events(events, set())
    }
    assert faults == {
        ("alice", "item", False): None,
        ("bob", "item", False): "checker",
        ("alice", "turn:1", False): "simulator",
        ("alice", "item", True): "question",
    }


def test_undo_of_a_verdict_restores_the_fault() -> None:
    first, second = make_event(verdict=True, fault="golden"), make_event(verdict=False)
    gone = make_event(act="retract", retracts=second.event)
    assert (decide_item(first, second).fault, decide_item(first, second, gone).fault) == (
        None,
        "golden",
    )


def test_retraction_restores_the_earlier_opinion() -> None:
    first, second = make_event(verdict=False), make_event(verdict=True, fault="golden")
    gone = make_event(act="retract", retracts=second.event)
    assert decide_item(first, second).human is True
    after = decide_item(first, second, gone)
    assert (after.human, after.fault) == (False, None)
    assert (
        decide_item(first, second, gone, make_event(act="retract", retracts=first.event)).human
        is None
    )


def test_annotators_cannot_retract_events_of_others() -> None:
    mine = make_event(verdict=True)
    assert decide_item(mine, make_event("bob", act="retract", retracts=mine.event)).human is True


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
def test_human_verdict_of_several_annotators(
    verdicts: dict[str, Any], human: Any, by: str | None
) -> None:
    events = [make_event(name, verdict, tags=["t"]) for name, verdict in verdicts.items()]
    for order in permutations(events):
        decision = decide_item(*order)
        assert decision.human == human
        assert type(decision.human) is type(human)
        assert decision.decided_by == by
        assert decision.n_verdicts == sum(verdict is not None for verdict in verdicts.values())
        assert decision.annotators == sorted(verdicts)


@pytest.mark.parametrize("verdict", [True, False, None, "unsure", ["a"]])
@pytest.mark.parametrize("you", ["alice", "bob"])
def test_single_opinion_decides(verdict: Any, you: str) -> None:
    said = make_event(verdict=verdict, fault="golden", tags=["a", "a", "b"], note="n")
    assert decide_item(said, you=you) == decide_item(
        said, make_event("bob", 2, criterion="completeness"), you=you
    )


def test_latest_adjudication_resolves_a_disagreement() -> None:
    said = [make_event("alice", True, fault="golden"), make_event("bob", False, fault="model")]
    assert (decide_item(*said).human, decide_item(*said).fault) == ("disputed", "disputed")
    ruling = make_event("carol", False, act="adjudicate", fault="model")
    settled = decide_item(*said, ruling)
    assert (settled.human, settled.decided_by, settled.fault, settled.mine) == (
        False,
        "adjudication",
        "model",
        True,
    )
    assert decide_item(*said, ruling, make_event("dora", True, act="adjudicate")).human is True
    undone = decide_item(*said, ruling, make_event("carol", act="retract", retracts=ruling.event))
    assert undone.decided_by == "disputed"


def test_adjudicated_pass_has_its_own_fault() -> None:
    said = [make_event("alice", True, fault="golden"), make_event("bob", True)]
    assert decide_item(*said).fault == "golden"
    assert decide_item(*said, make_event("carol", True, act="adjudicate")).fault is None
    assert (
        decide_item(*said, make_event("carol", True, act="adjudicate", fault="judge")).fault
        == "judge"
    )
    failing = [make_event("alice", False, fault="model"), make_event("bob", True)]
    assert decide_item(*failing, make_event("carol", False, act="adjudicate")).fault == "model"
    contradicted = make_event("alice", False), make_event("bob", True, fault="golden")
    assert decide_item(*contradicted, make_event("carol", False, act="adjudicate")).fault is None
    assert (
        decide_item(*said, make_event("carol", fault="question", act="adjudicate")).fault
        == "question"
    )


def test_unsure_adjudication_resolves_nothing() -> None:
    assert (
        decide_item(
            make_event("alice", True), make_event("carol", "unsure", act="adjudicate")
        ).decided_by
        == "unanimous"
    )


def test_labels_are_compared_as_sets_on_other_criteria() -> None:
    events = [
        make_event(verdict=["ask", "inform"], criterion="dialog_act"),
        make_event("bob", ["inform", "ask"], criterion="dialog_act"),
        make_event(verdict=2, criterion="completeness"),
        make_event("bob", 1, criterion="completeness"),
    ]
    first, acts, completeness = decide(fold_events(events, set()), RollUpContext(), "bob")
    assert first.human is None  # Other criteria do not decide whether the item is correct.
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
def test_opinion_on_another_answer_is_stale(hashes: dict[str, str], stale: bool) -> None:
    said = make_event(verdict=True, **hashes)
    (opinion,) = fold_events([said], set(), "p", "g")
    assert (opinion.stale, opinion.verdict) == (stale, True)
    decision = decide_item(said)
    assert decision.stale is stale
    assert decision.human is (None if stale else True)
    assert decision.n_verdicts == (0 if stale else 1)


def test_new_opinion_copies_nothing_from_a_stale_one() -> None:
    old = make_event(verdict=False, fault="model", note="old", prediction_hash="old")
    new = make_event(verdict=True, prediction_hash="p")
    for order in ([old, new], [new, old]):
        (opinion,) = fold_events(order, set(), "p", "g")
        assert (opinion.verdict, opinion.fault, opinion.note, opinion.stale) == (
            True,
            None,
            None,
            False,
        )


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
def test_verdicts_on_parts_roll_up(
    verdicts: dict[str, Any], pairs: dict[int, int], expected: bool | None
) -> None:
    assert roll_up_if_all_must_pass(verdicts, pairs) is expected


OWN = {"turn:1/call:1": True, "turn:1/call:2": False, "turn:1/call:3": True}
RETRY = [["turn:1/call:1"], ["turn:1/call:2", "turn:1/call:3"]]
"""Call 3 repeats call 2, which was refused."""


@pytest.mark.parametrize(
    ("verdicts", "needs", "expected"),
    [
        ({"turn:1/call:1": True}, None, None),  # confirms
        ({"turn:1/call:1": True, "turn:1/call:2": False, "turn:1/call:3": True}, None, None),
        ({"turn:1/call:2": True}, None, True),  # last refused call
        ({"turn:1/call:3": False}, None, False),
        (OWN, RETRY, None),
        ({"turn:1/call:2": True}, RETRY, True),
        ({"turn:1/call:3": False}, RETRY, False),
        ({"turn:1/call:3": False, "turn:1/call:2": True}, RETRY, True),
        ({"turn:1/call:3/arg:city": False}, RETRY, False),
        ({"turn:1/call:2": "unsure"}, RETRY, None),
        ({"turn:1/call:2": True}, [*RETRY, []], None),  # Something else failed the item.
        ({"turn:1": False}, RETRY, False),
        ({"turn:1": True}, RETRY, True),
        ({"response": False}, RETRY, False),
    ],
)
def test_confirmed_parts_give_no_derived_verdict(
    verdicts: dict[str, Any], needs: list[list[str]] | None, expected: bool | None
) -> None:
    assert roll_up_parts(verdicts, RollUpContext({0: 3}, OWN, needs)) is expected
    events = [
        make_event(verdict=value, target=target, criterion="equivalent")
        for target, value in verdicts.items()
    ]
    assert decide_item(*events, build=RollUpContext({0: 3}, OWN, needs)).human is expected


def test_direct_verdict_precedes_derived_verdict() -> None:
    part = make_event(verdict=False, target="turn:1/call:1")
    assert decide_item(part, pairs={0: 1}).human is False
    assert decide_item(part, make_event(verdict=True), pairs={0: 1}).human is True


def test_annotators_disagree_through_parts() -> None:
    events = [
        make_event("alice", True),
        make_event("bob", False, target="turn:1/call:1", criterion="equivalent"),
    ]
    assert decide_item(*events, pairs={0: 1}).human == "disputed"
    ruling = make_event(
        "carol", True, act="adjudicate", target="turn:1/call:1", criterion="equivalent"
    )
    settled = decide_item(*events, ruling, pairs={0: 1})
    assert (settled.human, settled.decided_by) == (True, "adjudication")
    assert settled.annotators == ["alice", "bob", "carol"]


def test_confirmed_part_does_not_change_the_item() -> None:
    """The benchmark fails call 1 and has no verdict on the item.

    A reviewer who agrees does not fail the item.
    """
    first, second = "turn:1/call:1", "turn:1/call:2"
    build = RollUpContext({0: 2}, {first: False, second: True})

    def human(*verdicts: bool) -> Any:
        said = [
            make_event(verdict=value, target=f"turn:1/call:{at}")
            for at, value in enumerate(verdicts, 1)
        ]
        return decide(fold_events(said, set()), build)[0].human

    assert human(False, True) is None
    assert human(False, False) is False  # Call 2 is overridden.
    assert human(True, True) is True
