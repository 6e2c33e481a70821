"""What is said of an item, on a real store and journal and without a screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Verdict
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.review.recorder import ReviewRecorder, ReviewSubject
from fcreview.tui.session import Session
from tests.store.factory import make_item, write_run

CITY = "turn:1/call:1/arg:city"
KEYS = {"item.pass": "y", "item.fail": "f", "item.unsure": "u"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An item that passes or fails, one that is scored on two criteria, and one with a flag and with labels."""
    scored = [Verdict("judge", 1, criterion="completeness"), Verdict("judge", 2, criterion="correctness")]
    said = [
        Verdict("judge", True, criterion="hallucinated", target=CITY),
        Verdict("official", ["ask"], "response", "acts"),
    ]
    items = [make_item(0), make_item(1, verdicts=scored), make_item(2, verdicts=said)]
    plan: RunPlan = write_run(tmp_path / "run", [{}, {}, {}])
    made: Workspace = find_workspace(tmp_path)
    import_runs(made, [plan], lambda _: iter(items), n_workers=1)
    return made


@pytest.fixture
def session(workspace: Workspace) -> Iterator[Session]:
    made = Session(workspace, "alice")
    yield made
    made.close()


def recorder(session: Session) -> ReviewRecorder:
    return ReviewRecorder(session, lambda action: KEYS.get(action, ""))


async def about(session: Session, name: str, target: str = "item") -> ReviewSubject:
    def read(store: Store) -> ReviewSubject:
        item = store.find_items(name)[0]
        return ReviewSubject(item, store.read_detail(item), target)

    return await session.query(read)


def last(workspace: Workspace) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((workspace.reviews / "alice.jsonl").read_text().splitlines()[-1])
    return event


async def test_a_verdict_on_the_item_goes_on_and_one_on_a_part_stays(session: Session, workspace: Workspace) -> None:
    whole = await recorder(session).record_verdict(await about(session, "simple_0"), "golden")
    assert (whole.message, whole.completes_item) == ("saved: golden wrong, so pass · simple_0", True)
    part = await recorder(session).record_verdict(await about(session, "simple_0", "turn:1/call:1"), "fail")
    assert (part.message, part.completes_item) == ("saved: fail · turn 1 call 1", False)
    assert (last(workspace)["target"], last(workspace)["verdict"]) == ("turn:1/call:1", False)


async def test_scores_fill_one_criterion_after_the_other(session: Session, workspace: Workspace) -> None:
    first = await recorder(session).record_score(await about(session, "simple_1"), 2)
    assert (first.message, first.completes_item) == ("saved: completeness 2 · next: correctness", False)
    second = await recorder(session).record_score(await about(session, "simple_1"), 0)
    assert (second.message, second.completes_item) == ("saved: correctness 0 · simple_1", True)
    assert (last(workspace)["criterion"], last(workspace)["verdict"]) == ("correctness", 0)


async def test_an_item_without_scores_names_the_keys_that_are_in_force(session: Session) -> None:
    outcome = await recorder(session).record_score(await about(session, "simple_0"), 1)
    assert (outcome.text, outcome.style) == ("this benchmark has no scores; press y or f", "warn")
    fault = await recorder(session).record_fault(await about(session, "simple_0"), "golden")
    assert fault.text == "saved: fault: golden (no verdict yet: y f u)"


async def test_what_cannot_be_saved_says_why(session: Session, workspace: Workspace) -> None:
    (workspace.reviews / "alice.jsonl").mkdir()
    outcome = await recorder(session).record_verdict(await about(session, "simple_0"), "fail")
    assert outcome.style == "bad" and not outcome.completes_item
    assert outcome.text.startswith("NOT SAVED (fail): review not saved in ")
    gone = await recorder(session).record_verdict(replace(await about(session, "simple_0"), item=12345), "fail")
    assert gone.text.startswith("NOT SAVED (fail): ")


async def test_undo_says_what_it_took_back_and_of_which_item(session: Session) -> None:
    thing = await about(session, "simple_0")
    await recorder(session).record_verdict(thing, "golden")
    await recorder(session).record_tags(thing, ["odd"])
    undone = await recorder(session).undo()
    assert (undone.message, undone.undone) == ("undone: tags odd · simple_0", thing.detail.key)
    assert (await recorder(session).undo()).text == "undone: pass, fault: golden"
    assert (await recorder(session).undo()).style == "warn"


async def test_a_wrong_golden_answer_is_named_whatever_was_asked(session: Session, workspace: Workspace) -> None:
    argument = await recorder(session).record_verdict(await about(session, "simple_2", CITY), "golden")
    assert argument.text == "saved: golden wrong, so hallucinated no, overrides judge"
    assert (last(workspace)["verdict"], last(workspace)["fault"]) == (False, "golden")
    response = await recorder(session).record_verdict(await about(session, "simple_2", "response"), "golden")
    assert response.text == "saved: golden wrong, so acts ask"


async def test_a_fault_that_goes_with_the_verdict_is_said_with_it(session: Session, workspace: Workspace) -> None:
    await recorder(session).record_fault(await about(session, "simple_0"), "checker")
    outcome = await recorder(session).record_verdict(await about(session, "simple_0"), "fail")
    assert (outcome.text, last(workspace)["fault"]) == ("saved: fail, fault: checker", "checker")


async def test_undo_names_what_was_asked(session: Session) -> None:
    await recorder(session).record_score(await about(session, "simple_1"), 2)
    await recorder(session).record_verdict(await about(session, "simple_2", CITY), "pass")
    await recorder(session).record_labels(await about(session, "simple_2"), "acts", [])
    said = [(await recorder(session).undo()).text for _ in range(3)]
    assert said == [
        "undone: acts none, on response",
        "undone: hallucinated no, on turn 1 call 1 city",
        "undone: completeness 2",
    ]
