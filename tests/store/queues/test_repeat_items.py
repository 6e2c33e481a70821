"""An item that comes a second time: whether it was judged blind, and in which order both answers were given."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fcreview.model.review import Annotation, Event
from fcreview.store.reviews import journal
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View, encode_repetition
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


def say(store: Store, said: Annotation, presentation: int = 1) -> Event:
    item = store.find_items("simple_0")[0]
    return Reviewer(store, Journal(store.workspace, "alice")).review(encode_repetition(item, presentation), said)


def test_a_second_answer_is_blind_until_it_is_given(store: Store) -> None:
    given = [(PASS, 1), (NOTE, 1), (NOTE, 2), (FAIL, 2), (NOTE, 2), (FAIL, 1)]
    assert [say(store, *each).blind for each in given] == [True, False, True, True, False, False]


def test_taking_the_second_answer_back_does_not_make_unseen(store: Store) -> None:
    assert [say(store, PASS, 1).blind, say(store, PASS, 2).blind] == [True, True]
    Reviewer(store, Journal(store.workspace, "alice")).undo()
    assert say(store, FAIL, 2).blind is False


@pytest.mark.parametrize("where", [1, 2])
def test_who_spoke_of_it_when_nothing_was_hidden_is_not_blind_the_second_time(workspace: Workspace, where: int) -> None:
    with Store.open(workspace, "alice") as store:
        assert say(store, NOTE, where).blind is False
    with Store.open(workspace, "alice", blind=True) as store:
        assert say(store, PASS, 2).blind is False


def test_both_answers_are_taken_in_the_order_in_which_they_were_given(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in that of the clock, which is set back before each; what is changed after the second is not the first."""
    years = iter(range(2040, 2000, -1))

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(next(years), 1, 1, tzinfo=UTC)

    monkeypatch.setattr(journal, "datetime", Clock)
    with Store.open(workspace, "alice") as store:
        for said, presentation in ((FAIL, 1), (PASS, 1), (FAIL, 2), (PASS, 2), (FAIL, 1)):
            say(store, said, presentation)
        told = [(each.first, each.second) for each in store.analysis.fetch_duplicate_reviews(View())]
    with Store.open(workspace, "alice") as anew:
        again = [(each.first, each.second) for each in anew.analysis.fetch_duplicate_reviews(View())]
    assert told == again == [(True, True)]
