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
from fcreview.model.review import Annotation
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.review.recorder import (
    NewReview,
    Refusal,
    ReviewNotSavedError,
    ReviewRecorder,
    ReviewSubject,
    SavedReview,
    UndoneReview,
)
from fcreview.tui.session import Session
from tests.sharing import Imports
from tests.sources import ROOT
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

    return await session.read(read)


def last_event(workspace: Workspace) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(
        (workspace.reviews / "alice.jsonl").read_text().splitlines()[-1]
    )
    return event


async def save(session: Session, review: NewReview | Refusal) -> SavedReview:
    assert isinstance(review, NewReview)
    return await make_recorder(session).save(review)


async def save_verdict(session: Session, subject: ReviewSubject, verdict_key: str) -> SavedReview:
    return await save(session, make_recorder(session).compose_verdict(subject, verdict_key))


async def save_score(session: Session, subject: ReviewSubject, value: int) -> SavedReview:
    return await save(session, make_recorder(session).compose_score(subject, value))


async def undo(session: Session) -> UndoneReview:
    undone = await make_recorder(session).undo()
    assert undone is not None
    return undone


async def test_verdict_on_item_completes_it_and_on_part_does_not(
    session: Session, workspace: Workspace
) -> None:
    whole = await save_verdict(session, await read_subject(session, "simple_0"), "golden")
    assert (whole.message, whole.review.completes_item) == (
        "saved: golden wrong, so pass · simple_0",
        True,
    )
    call = await read_subject(session, "simple_0", "turn:1/call:1")
    part = await save_verdict(session, call, "fail")
    assert (part.message, part.review.completes_item) == ("saved: fail · turn 1 call 1", False)
    assert (last_event(workspace)["target"], last_event(workspace)["verdict"]) == (
        "turn:1/call:1",
        False,
    )


async def test_composing_a_review_writes_nothing(session: Session, workspace: Workspace) -> None:
    subject = await read_subject(session, "simple_0")
    make_recorder(session).compose_verdict(subject, "fail")
    assert list(workspace.reviews.glob("*")) == []


async def test_scores_fill_one_criterion_after_the_other(
    session: Session, workspace: Workspace
) -> None:
    first = await save_score(session, await read_subject(session, "simple_1"), 2)
    assert (first.message, first.review.completes_item) == (
        "saved: completeness 2 · next: correctness",
        False,
    )
    second = await save_score(session, await read_subject(session, "simple_1"), 0)
    assert (second.message, second.review.completes_item) == (
        "saved: correctness 0 · simple_1",
        True,
    )
    assert (last_event(workspace)["criterion"], last_event(workspace)["verdict"]) == (
        "correctness",
        0,
    )


async def test_next_score_follows_the_last_saved_one_if_all_have_scores(session: Session) -> None:
    recorder = make_recorder(session)
    for value in (2, 0, 1):
        review = recorder.compose_score(await read_subject(session, "simple_1"), value)
        assert isinstance(review, NewReview)
        await recorder.save(review)
    assert recorder.find_next_score(await read_subject(session, "simple_1")) == (
        "item",
        "correctness",
    )


async def test_message_without_scores_names_the_configured_keys(session: Session) -> None:
    recorder = make_recorder(session)
    subject = await read_subject(session, "simple_0")
    refusal = recorder.compose_score(subject, 1)
    assert refusal == Refusal("this benchmark has no scores; press y or f")
    fault = await save(session, recorder.compose_fault(subject, "golden"))
    assert fault.text == "saved: fault: golden (no verdict yet: y f u)"


async def test_failed_review_gives_the_reason(session: Session, workspace: Workspace) -> None:
    (workspace.reviews / "alice.jsonl").mkdir()
    subject = await read_subject(session, "simple_0")
    reason = r"^NOT SAVED \(fail\): Is a directory. The review was not saved in "
    with pytest.raises(ReviewNotSavedError, match=reason):
        await save_verdict(session, subject, "fail")
    with pytest.raises(ReviewNotSavedError, match=r"^NOT SAVED \(fail\): "):
        await save_verdict(session, replace(subject, item=12345), "fail")


async def test_undo_names_what_it_reverted(session: Session) -> None:
    subject = await read_subject(session, "simple_0")
    await save_verdict(session, subject, "golden")
    await save(session, make_recorder(session).compose_tags(subject, ["odd"]))
    undone = await undo(session)
    assert (undone.message, undone.event.key) == (
        "undone: tags odd · simple_0",
        subject.detail.key,
    )
    assert (await undo(session)).message == "undone: pass, fault: golden · simple_0"
    assert await make_recorder(session).undo() is None


async def test_wrong_golden_answer_is_recorded_for_every_criterion(
    session: Session, workspace: Workspace
) -> None:
    city = await read_subject(session, "simple_2", CITY)
    argument = await save_verdict(session, city, "golden")
    assert argument.text == "saved: golden wrong, so hallucinated no, overrides judge"
    assert (last_event(workspace)["verdict"], last_event(workspace)["fault"]) == (False, "golden")
    reply = await read_subject(session, "simple_2", "response")
    response = await save_verdict(session, reply, "golden")
    assert response.text == "saved: golden wrong, so acts ask"


async def test_fault_recorded_before_is_named_with_the_verdict(
    session: Session, workspace: Workspace
) -> None:
    subject = await read_subject(session, "simple_0")
    await save(session, make_recorder(session).compose_fault(subject, "checker"))
    saved = await save_verdict(session, await read_subject(session, "simple_0"), "fail")
    assert (saved.text, last_event(workspace)["fault"]) == (
        "saved: fail, fault: checker",
        "checker",
    )


async def test_undo_names_criterion_and_target(session: Session) -> None:
    await save_score(session, await read_subject(session, "simple_1"), 2)
    await save_verdict(session, await read_subject(session, "simple_2", CITY), "pass")
    item = await read_subject(session, "simple_2")
    labels = make_recorder(session).compose_labels(item, "acts", [])
    assert (
        await save(session, labels)
    ).message == "saved: acts none, overrides official · response"
    messages = [(await undo(session)).message for _ in range(3)]
    assert messages == [
        "undone: acts none, on response · simple_2",
        "undone: hallucinated no, on turn 1 call 1 city · simple_2",
        "undone: completeness 2 · simple_1",
    ]


async def test_verdict_against_own_other_verdict_is_saved_with_a_warning(
    imports: Imports, tmp_path: Path
) -> None:
    """In tau-bench, an item passes only if the database is right."""
    workspace = imports.copy([ROOT / "sample_runs" / "tau"], tmp_path)
    session = Session(workspace, "alice", blind=True)
    try:
        subject = await read_subject(session, "renew_loan_trial_0")
        db_fails = Annotation(criterion="db", verdict=False)
        await session.record_review(subject.item, db_fails, subject.detail)

        item = await read_subject(session, "renew_loan_trial_0")
        contradictory = await save_verdict(session, item, "pass")
        assert contradictory.text == "saved: pass, contradicts your other verdicts"
        assert contradictory.style == "warn"

        item = await read_subject(session, "renew_loan_trial_0")
        consistent = await save_verdict(session, item, "fail")
        assert (consistent.text, consistent.style) == ("saved: fail", "good")
    finally:
        session.close()
