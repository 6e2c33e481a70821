"""The session's thread: questions and reviews one after another, and what becomes of them when it is closed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fcreview.model.review import Annotation
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.session import Session, SessionError
from tests.store.factory import Imported

ENDLESS = "SELECT count(*) FROM range(10000000000) a, range(1000) b"
"""Takes hours unless it is broken off."""


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "work", {"maple-8b": [{}, {}]})


@pytest.fixture
def session(workspace: Workspace) -> Iterator[Session]:
    made = Session(workspace, "alice")
    yield made
    made.close()


def endless(begun: threading.Event) -> Callable[[Store], object]:
    def question(store: Store) -> object:
        begun.set()
        return store.connection.execute(ENDLESS).fetchall()

    return question


def first_item(store: Store) -> int:
    return store.find_items("simple_0")[0]


async def test_questions_are_answered_beside_the_loop_in_their_order(session: Session) -> None:
    def where(store: Store) -> tuple[int, float]:
        return threading.get_ident(), time.monotonic()

    answers = await asyncio.gather(*(session.query(where) for _ in range(5)))
    assert {thread for thread, _ in answers} - {threading.get_ident()} == {answers[0][0]}
    assert [moment for _, moment in answers] == sorted(moment for _, moment in answers)


async def test_a_review_is_on_disk_and_counted_until_it_is_undone(session: Session, workspace: Workspace) -> None:
    item = await session.query(first_item)
    for verdict in (False, True):
        await session.record_review(item, Annotation(verdict=verdict))
        assert json.loads((workspace.reviews / "alice.jsonl").read_text().splitlines()[-1])["verdict"] is verdict
    assert session.reviewed_count == 1
    for left in (1, 0):
        assert await session.undo()
        assert session.reviewed_count == left
    assert await session.undo() == []


async def test_a_review_nobody_waits_for_any_more_is_still_written(session: Session, workspace: Workspace) -> None:
    item = await session.query(first_item)
    held = threading.Event()
    asking = asyncio.create_task(session.query(lambda store: held.wait(10)))
    saying = asyncio.create_task(session.record_review(item, Annotation(verdict=True)))
    await asyncio.sleep(0)
    saying.cancel()
    await asyncio.wait([saying])
    assert saying.cancelled()
    held.set()
    await asking
    await session.query(lambda store: None)
    assert len((workspace.reviews / "alice.jsonl").read_text().splitlines()) == 1


async def test_closing_breaks_off_a_question_and_keeps_the_review_behind_it(workspace: Workspace) -> None:
    session, begun = Session(workspace, "alice"), threading.Event()
    item = await session.query(first_item)
    asking = asyncio.create_task(session.query(endless(begun)))
    saying = asyncio.create_task(session.record_review(item, Annotation(verdict=True)))
    later = asyncio.create_task(session.query(endless(threading.Event())))
    await asyncio.to_thread(begun.wait, 10)
    start = time.monotonic()
    await asyncio.to_thread(session.close)
    assert time.monotonic() - start < 5
    assert (await saying).verdict is True
    await asyncio.wait([asking, later])
    assert asking.cancelled() and later.cancelled(), "not an error: nobody waits for the answer"
    assert len((workspace.reviews / "alice.jsonl").read_text().splitlines()) == 1


async def test_what_cannot_be_opened_is_told_by_the_question(tmp_path: Path) -> None:
    session = Session(find_workspace(tmp_path), "alice")
    session.open_in_background()
    with pytest.raises(SessionError, match="nothing imported at"):
        await session.query(lambda store: store.fetch_runs())
    session.close()


async def test_a_journal_that_cannot_be_written_to_is_told_before_anything_is_said(workspace: Workspace) -> None:
    (workspace.reviews / "Alice.jsonl").write_text("")
    session = Session(workspace, "alice")
    with pytest.raises(SessionError, match="annotator 'Alice' already exists"):
        await session.open_journal()
    session.close()


async def test_a_background_query_gives_way_and_starts_again(session: Session) -> None:
    begun, starts = threading.Event(), []

    def slow(store: Store) -> str:
        starts.append(1)
        begun.set()
        if len(starts) == 1:
            store.connection.execute(ENDLESS).fetchall()
        return "done"

    slow_query = asyncio.create_task(session.query_in_background(slow))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    assert await session.query(first_item)
    assert await slow_query == "done" and len(starts) == 2


async def test_a_cancelled_background_query_is_interrupted(session: Session) -> None:
    begun = threading.Event()
    slow_query = asyncio.create_task(session.query_in_background(endless(begun)))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    slow_query.cancel()
    await asyncio.wait([slow_query])
    assert slow_query.cancelled() and await session.query(first_item)
