"""A repeated item is reviewed blind, and both reviews have the order in which they were
recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews import journal
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View, to_item_number
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.store.factory import import_items

PASS, FAIL, NOTE = Annotation(verdict=True), Annotation(verdict=False), Annotation(note="odd")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return import_items(tmp_path, {"maple-8b": [{}]})[0]


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice", blind=True) as store:
        yield store


def record_review(store: Store, said: Annotation, presentation: int = 1) -> Event:
    item = store.find_items("simple_0")[0]
    return Reviewer(store, Journal(store.workspace, "alice")).review(
        to_item_number(item, is_duplicate=presentation == 2), said
    )


def test_repeat_is_blind_until_it_is_reviewed(store: Store) -> None:
    given = [(PASS, 1), (NOTE, 1), (NOTE, 2), (FAIL, 2), (NOTE, 2), (FAIL, 1)]
    assert [record_review(store, *each).blind for each in given] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


def test_retracted_repeat_is_not_blind_again(store: Store) -> None:
    assert [record_review(store, PASS, 1).blind, record_review(store, PASS, 2).blind] == [
        True,
        True,
    ]
    Reviewer(store, Journal(store.workspace, "alice")).undo()
    assert record_review(store, FAIL, 2).blind is False


@pytest.mark.parametrize("where", [1, 2])
def test_annotator_who_saw_verdicts_is_not_blind_at_the_repeat(
    workspace: Workspace, where: int
) -> None:
    with Store.open(workspace, "alice") as store:
        assert record_review(store, NOTE, where).blind is False
    with Store.open(workspace, "alice", blind=True) as store:
        assert record_review(store, PASS, 2).blind is False


def test_reviews_are_read_in_recorded_order(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order does not depend on the clock, which is set back before each review."""
    years = iter(range(2040, 2000, -1))

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(next(years), 1, 1, tzinfo=UTC)

    monkeypatch.setattr(journal, "datetime", Clock)
    with Store.open(workspace, "alice") as store:
        for said, presentation in ((FAIL, 1), (PASS, 1), (FAIL, 2), (PASS, 2), (FAIL, 1)):
            record_review(store, said, presentation)
        told = [
            (each.first, each.second) for each in store.analysis.fetch_duplicate_reviews(View())
        ]
    with Store.open(workspace, "alice") as anew:
        again = [
            (each.first, each.second) for each in anew.analysis.fetch_duplicate_reviews(View())
        ]
    assert told == again == [(True, True)]


def test_review_of_an_unknown_presentation_does_not_reveal(
    workspace: Workspace, store: Store
) -> None:
    event = record_review(store, NOTE)
    Journal(workspace, "alice").append(
        event.key,
        PASS,
        prediction_hash=event.prediction_hash,
        golden_hash=event.golden_hash,
        blind=True,
        presentation=3,
    )

    with Store.open(workspace, "alice", blind=True) as new_store:
        assert record_review(new_store, FAIL, 1).blind is True
