"""Reviews are recorded in a real store and journal, with a message for each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.item import Verdict
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.review.recorder import ReviewRecorder, ReviewSubject
from fcreview.tui.session import Session
from tests.store.factory import import_finished_items, make_item

CITY = "turn:1/call:1/arg:city"
KEYS = {"item.pass": "y", "item.fail": "f", "item.unsure": "u"}


@pytest.fixture(scope="module")
def imported_items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Import a plain item, an item with two scores, and one with a flag and labels."""
    place = tmp_path_factory.mktemp("recorder")
    scored = [
        Verdict("judge", 1, criterion="completeness"),
        Verdict("judge", 2, criterion="correctness"),
    ]
    labels = [
        Verdict("judge", True, criterion="hallucinated", target=CITY),
        Verdict("official", ["ask"], target="response", criterion="acts"),
    ]
    import_finished_items(
        place, [make_item(0), make_item(1, verdicts=scored), make_item(2, verdicts=labels)]
    )
    return place


@pytest.fixture
def workspace(imported_items: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(imported_items, tmp_path, dirs_exist_ok=True)
    return find_workspace(tmp_path)


@pytest.fixture
def session(workspace: Workspace) -> Iterator[Session]:
    opened = Session(workspace, "alice")
    yield opened
    opened.close()


def make_recorder(session: Session) -> ReviewRecorder:
    return ReviewRecorder(session, lambda action: KEYS.get(action, ""))


async def read_subject(session: Session, name: str, target: str = "item") -> ReviewSubject:
    def read(store: Store) -> ReviewSubject:
        item = store.find_items(name)[0]
        return ReviewSubject(item, store.read_detail(item), target)

    return await session.query(read)


def last_event(workspace: Workspace) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(
        (workspace.reviews / "alice.jsonl").read_text().splitlines()[-1]
    )
    return event


async def test_verdict_on_item_completes_it_and_on_part_does_not(
    session: Session, workspace: Workspace
) -> None:
    whole = await make_recorder(session).record_verdict(
        await read_subject(session, "simple_0"), "golden"
    )
    assert (whole.message, whole.completes_item) == (
        "saved: golden wrong, so pass · simple_0",
        True,
    )
    part = await make_recorder(session).record_verdict(
        await read_subject(session, "simple_0", "turn:1/call:1"), "fail"
    )
    assert (part.message, part.completes_item) == ("saved: fail · turn 1 call 1", False)
    assert (last_event(workspace)["target"], last_event(workspace)["verdict"]) == (
        "turn:1/call:1",
        False,
    )


async def test_scores_fill_one_criterion_after_the_other(
    session: Session, workspace: Workspace
) -> None:
    first = await make_recorder(session).record_score(await read_subject(session, "simple_1"), 2)
    assert (first.message, first.completes_item) == (
        "saved: completeness 2 · next: correctness",
        False,
    )
    second = await make_recorder(session).record_score(await read_subject(session, "simple_1"), 0)
    assert (second.message, second.completes_item) == ("saved: correctness 0 · simple_1", True)
    assert (last_event(workspace)["criterion"], last_event(workspace)["verdict"]) == (
        "correctness",
        0,
    )


async def test_message_without_scores_names_the_configured_keys(session: Session) -> None:
    outcome = await make_recorder(session).record_score(await read_subject(session, "simple_0"), 1)
    assert (outcome.text, outcome.style) == ("this benchmark has no scores; press y or f", "warn")
    fault = await make_recorder(session).record_fault(
        await read_subject(session, "simple_0"), "golden"
    )
    assert fault.text == "saved: fault: golden (no verdict yet: y f u)"


async def test_failed_review_gives_the_reason(session: Session, workspace: Workspace) -> None:
    (workspace.reviews / "alice.jsonl").mkdir()
    outcome = await make_recorder(session).record_verdict(
        await read_subject(session, "simple_0"), "fail"
    )
    assert outcome.style == "bad" and not outcome.completes_item
    assert outcome.text.startswith("NOT SAVED (fail): Is a directory. The review was not saved in ")
    gone = await make_recorder(session).record_verdict(
        replace(await read_subject(session, "simple_0"), item=12345), "fail"
    )
    assert gone.text.startswith("NOT SAVED (fail): ")


async def test_undo_names_what_it_reverted(session: Session) -> None:
    subject = await read_subject(session, "simple_0")
    await make_recorder(session).record_verdict(subject, "golden")
    await make_recorder(session).record_tags(subject, ["odd"])
    undone = await make_recorder(session).undo()
    assert (undone.message, undone.undone) == ("undone: tags odd · simple_0", subject.detail.key)
    assert (await make_recorder(session).undo()).text == "undone: pass, fault: golden"
    assert (await make_recorder(session).undo()).style == "warn"


async def test_wrong_golden_answer_is_recorded_for_every_criterion(
    session: Session, workspace: Workspace
) -> None:
    argument = await make_recorder(session).record_verdict(
        await read_subject(session, "simple_2", CITY), "golden"
    )
    assert argument.text == "saved: golden wrong, so hallucinated no, overrides judge"
    assert (last_event(workspace)["verdict"], last_event(workspace)["fault"]) == (False, "golden")
    response = await make_recorder(session).record_verdict(
        await read_subject(session, "simple_2", "response"), "golden"
    )
    assert response.text == "saved: golden wrong, so acts ask"


async def test_fault_recorded_before_is_named_with_the_verdict(
    session: Session, workspace: Workspace
) -> None:
    await make_recorder(session).record_fault(await read_subject(session, "simple_0"), "checker")
    outcome = await make_recorder(session).record_verdict(
        await read_subject(session, "simple_0"), "fail"
    )
    assert (outcome.text, last_event(workspace)["fault"]) == (
        "saved: fail, fault: checker",
        "checker",
    )


async def test_undo_names_criterion_and_target(session: Session) -> None:
    await make_recorder(session).record_score(await read_subject(session, "simple_1"), 2)
    await make_recorder(session).record_verdict(
        await read_subject(session, "simple_2", CITY), "pass"
    )
    await make_recorder(session).record_labels(await read_subject(session, "simple_2"), "acts", [])
    messages = [(await make_recorder(session).undo()).text for _ in range(3)]
    assert messages == [
        "undone: acts none, on response",
        "undone: hallucinated no, on turn 1 call 1 city",
        "undone: completeness 2",
    ]
