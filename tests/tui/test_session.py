"""The thread of the session runs queries and reviews in order, and closing it loses no review."""

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
"""A query that takes hours unless it is interrupted."""


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    return imported(tmp_path / "work", {"maple-8b": [{}, {}]})


@pytest.fixture
def session(workspace: Workspace) -> Iterator[Session]:
    opened = Session(workspace, "alice")
    yield opened
    opened.close()


def make_endless_query(started: threading.Event) -> Callable[[Store], object]:
    def run(store: Store) -> object:
        started.set()
        return store.connection.execute(ENDLESS).fetchall()

    return run


def first_item(store: Store) -> int:
    return store.find_items("simple_0")[0]


async def test_queries_run_in_order_in_one_thread(session: Session) -> None:
    def current_thread(store: Store) -> tuple[int, float]:
        return threading.get_ident(), time.monotonic()

    answers = await asyncio.gather(*(session.read(current_thread) for _ in range(5)))
    assert {thread for thread, _ in answers} - {threading.get_ident()} == {answers[0][0]}
    assert [moment for _, moment in answers] == sorted(moment for _, moment in answers)


async def test_review_is_written_and_counted_until_undone(
    session: Session, workspace: Workspace
) -> None:
    item = await session.read(first_item)
    for verdict in (False, True):
        await session.record_review(item, Annotation(verdict=verdict))
        assert (
            json.loads((workspace.reviews / "alice.jsonl").read_text().splitlines()[-1])["verdict"]
            is verdict
        )
    assert session.reviewed_count == 1
    for left in (1, 0):
        assert await session.undo_latest_review()
        assert session.reviewed_count == left
    assert await session.undo_latest_review() == []


async def test_review_is_written_even_if_its_caller_is_cancelled(
    session: Session, workspace: Workspace
) -> None:
    item = await session.read(first_item)
    release = threading.Event()
    query = asyncio.create_task(session.read(lambda store: release.wait(10)))
    review = asyncio.create_task(session.record_review(item, Annotation(verdict=True)))
    await asyncio.sleep(0)
    review.cancel()
    await asyncio.wait([review])
    assert review.cancelled()
    release.set()
    await query
    await session.read(lambda store: None)
    assert len((workspace.reviews / "alice.jsonl").read_text().splitlines()) == 1


async def test_closing_interrupts_queries_and_writes_reviews(workspace: Workspace) -> None:
    session, started = Session(workspace, "alice"), threading.Event()
    item = await session.read(first_item)
    query = asyncio.create_task(session.read(make_endless_query(started)))
    review = asyncio.create_task(session.record_review(item, Annotation(verdict=True)))
    later = asyncio.create_task(session.read(make_endless_query(threading.Event())))
    await asyncio.to_thread(started.wait, 10)
    start = time.monotonic()
    await asyncio.to_thread(session.close)
    assert time.monotonic() - start < 5
    assert (await review).verdict is True
    await asyncio.wait([query, later])
    assert query.cancelled() and later.cancelled(), (
        "no error, because no caller waits for the result"
    )
    assert len((workspace.reviews / "alice.jsonl").read_text().splitlines()) == 1


async def test_query_reports_that_the_store_cannot_be_opened(tmp_path: Path) -> None:
    session = Session(find_workspace(tmp_path), "alice")
    session.start_opening_store()
    with pytest.raises(SessionError, match="no runs have been imported at"):
        await session.read(lambda store: store.fetch_runs())
    session.close()


async def test_unusable_journal_is_reported_before_reviews(workspace: Workspace) -> None:
    (workspace.reviews / "Alice.jsonl").write_text("")
    session = Session(workspace, "alice")
    with pytest.raises(SessionError, match="annotator 'Alice' already exists"):
        await session.open_journal()
    session.close()


async def test_background_query_is_restarted_after_other_queries(session: Session) -> None:
    started, starts = threading.Event(), []

    def slow(store: Store) -> str:
        starts.append(1)
        started.set()
        if len(starts) == 1:
            store.connection.execute(ENDLESS).fetchall()
        return "done"

    slow_query = asyncio.create_task(session.read_in_background(slow))
    while not started.is_set():
        await asyncio.sleep(0.001)
    assert await session.read(first_item)
    assert await slow_query == "done" and len(starts) == 2


async def test_cancelled_background_query_is_interrupted(session: Session) -> None:
    started = threading.Event()
    slow_query = asyncio.create_task(session.read_in_background(make_endless_query(started)))
    while not started.is_set():
        await asyncio.sleep(0.001)
    slow_query.cancel()
    await asyncio.wait([slow_query])
    assert slow_query.cancelled() and await session.read(first_item)


async def test_interrupted_background_query_can_be_cancelled(session: Session) -> None:
    started, release, starts = threading.Event(), threading.Event(), []

    def slow(_: Store) -> None:
        starts.append(1)
        started.set()
        release.wait(10)

    slow_query = asyncio.create_task(session.read_in_background(slow))
    while not started.is_set():
        await asyncio.sleep(0.001)
    other = asyncio.create_task(session.read(first_item))
    await asyncio.sleep(0.01)  # the other query has interrupted the slow one and waits for it
    slow_query.cancel()
    await asyncio.sleep(0.01)
    release.set()
    await asyncio.wait([slow_query, other])
    assert slow_query.cancelled() and len(starts) == 1
