"""Which verdicts figures of agreement are made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation, ItemKey
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.reviewer import Reviewer
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from fcreview.store.workspace import Workspace
from tests.store.factory import import_items, read, write_run

Row = tuple[str, str, str, str, Any]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two runs of three items each."""
    rows = [{}, {}, {"category": "other"}]
    return import_items(tmp_path, {"maple-8b": rows, "birch-70b": rows})[0]


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace) as store:
        yield store


def say(store: Store, annotator: str, *acts: Annotation, item: str = "simple_0", run: int = 0) -> Reviewer:
    reviewer = Reviewer(store, Journal(store.workspace, annotator))
    for act in acts:
        reviewer.review(store.find_items(item)[run], act)
    return reviewer


def rows(store: Store, view: View | None = None) -> list[Row]:
    return sorted(
        (each.annotator, each.key.id, each.target, each.criterion, each.value)
        for each in store.analysis.fetch_ratings(view or View())
    )


def test_each_annotator_has_one_row_a_target_and_criterion(store: Store) -> None:
    say(
        store,
        "alice",
        Annotation(verdict=True),
        Annotation(verdict=False, fault="model"),
        Annotation(criterion="completeness", verdict=2),
    )
    say(store, "bob", Annotation(verdict="unsure"), Annotation(target="turn:1", verdict=True))
    assert rows(store) == [
        ("alice", "simple_0", "item", "completeness", 2),
        ("alice", "simple_0", "item", "correct", False),
        ("bob", "simple_0", "item", "correct", "unsure"),
        ("bob", "simple_0", "turn:1", "correct", True),
    ]
    (row,) = [each for each in store.analysis.fetch_ratings(View()) if each.value is False]
    assert (row.fault, row.blind, row.key.benchmark, row.key.category) == ("model", False, "bfcl", "simple")


def test_what_was_taken_back_or_decides_nothing_or_settles_is_left_out(store: Store) -> None:
    say(store, "alice", Annotation(verdict=True)).undo()
    say(store, "alice", Annotation(note="no verdict"))
    say(store, "carol", Annotation(act="adjudicate", verdict=True))
    assert rows(store) == []


def test_verdicts_that_only_follow_from_those_on_parts_are_left_out(store: Store) -> None:
    say(store, "alice", Annotation(target="turn:1/call:1", verdict=True))
    row = store.fetch_row(store.find_items("simple_0")[0])
    assert row is not None and row.human is True
    assert rows(store) == [("alice", "simple_0", "turn:1/call:1", "correct", True)]


def test_reviews_of_an_earlier_answer_are_left_out(store: Store) -> None:
    key, _, golden_hash = store.reviews.key_and_hashes(store.find_items("simple_0")[0])
    Journal(store.workspace, "alice").append(
        key, Annotation(verdict=True), prediction_hash="old", golden_hash=golden_hash
    )
    store.refresh_reviews()
    assert rows(store) == []
    say(store, "alice", Annotation(verdict=False))
    assert rows(store) == [("alice", "simple_0", "item", "correct", False)]


def test_only_what_the_view_holds(store: Store) -> None:
    say(store, "alice", Annotation(verdict=True))
    say(store, "alice", Annotation(verdict=False), item="simple_2")
    say(store, "alice", Annotation(verdict=False), run=1)
    assert len(rows(store)) == 3
    assert [row[1] for row in rows(store, View("category:other"))] == ["simple_2"]
    of_run = store.analysis.fetch_ratings(View(runs=(2,)))
    assert [(each.key.model, each.value) for each in of_run] == [("birch-70b", False)]


def test_what_nobody_imported_is_left_out(store: Store) -> None:
    key = ItemKey("bfcl", "V4", "en", "another", "simple", "simple_0")
    Journal(store.workspace, "alice").append(key, Annotation(verdict=True))
    store.refresh_reviews()
    assert rows(store) == []


def test_runs_of_one_model_count_an_answer_they_share_once(tmp_path: Path) -> None:
    first, again = {}, {"prediction_hash": "another"}
    workspace, _ = import_items(tmp_path, {"maple-8b": [first, first]})

    other = write_run(tmp_path / "again", [first, again], "maple-8b")
    import_runs(workspace, [other], read)
    with Store.open(workspace) as store:
        assert len(store.find_items("simple_0")) == len(store.find_items("simple_1")) == 2
        say(store, "alice", Annotation(verdict=True))
        assert rows(store) == [("alice", "simple_0", "item", "correct", True)]
        assert len(rows(store, View(runs=(1,)))) == len(rows(store, View(runs=(2,)))) == 1
        for run in (0, 1):
            say(store, "alice", Annotation(verdict=run == 0), item="simple_1", run=run)
        found = [each for each in store.analysis.fetch_ratings(View()) if each.key.id == "simple_1"]
        assert sorted((each.item, each.value) for each in found) == [
            (item, run == 0) for run, item in enumerate(store.find_items("simple_1"))
        ]


def test_a_blind_annotator_is_told_nothing(workspace: Workspace) -> None:
    with Store.open(workspace, "alice", blind=True) as store, pytest.raises(StoreError, match="blind"):
        store.analysis.fetch_ratings(View())
