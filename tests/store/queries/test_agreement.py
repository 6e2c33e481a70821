"""Agreement coefficients use the right verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation, ItemKey
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from fcreview.store.workspace import Workspace
from tests.store.factory import Imported, import_items, read, write_run

Row = tuple[str, str, str, str, Any]


@pytest.fixture
def workspace(imported: Imported, tmp_path: Path) -> Workspace:
    """A workspace with two runs of three items each."""
    rows = [{}, {}, {"category": "other"}]
    return imported(tmp_path, {"maple-8b": rows, "birch-70b": rows})


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace) as store:
        yield store


def record_reviews(
    store: Store, annotator: str, *acts: Annotation, item: str = "simple_0", run: int = 0
) -> Reviewer:
    reviewer = Reviewer(store, Journal(store.workspace, annotator))
    for act in acts:
        reviewer.review(store.find_items(item)[run], act)
    return reviewer


def fetch_ratings(store: Store, view: View | None = None) -> list[Row]:
    return sorted(
        (each.annotator, each.key.id, each.target, each.criterion, each.value)
        for each in store.analysis.fetch_ratings(view or View())
    )


def test_one_rating_per_annotator_target_and_criterion(store: Store) -> None:
    record_reviews(
        store,
        "alice",
        Annotation(verdict=True),
        Annotation(verdict=False, fault="model"),
        Annotation(criterion="completeness", verdict=2),
    )
    record_reviews(
        store, "bob", Annotation(verdict="unsure"), Annotation(target="turn:1", verdict=True)
    )
    assert fetch_ratings(store) == [
        ("alice", "simple_0", "item", "completeness", 2),
        ("alice", "simple_0", "item", "correct", False),
        ("bob", "simple_0", "item", "correct", "unsure"),
        ("bob", "simple_0", "turn:1", "correct", True),
    ]
    (row,) = [each for each in store.analysis.fetch_ratings(View()) if each.value is False]
    assert (row.fault, row.blind, row.key.benchmark, row.key.category) == (
        "model",
        False,
        "bfcl",
        "simple",
    )


def test_retracted_undecided_and_adjudicated_verdicts_are_omitted(store: Store) -> None:
    record_reviews(store, "alice", Annotation(verdict=True)).undo()
    record_reviews(store, "alice", Annotation(note="no verdict"))
    record_reviews(store, "carol", Annotation(act="adjudicate", verdict=True))
    assert fetch_ratings(store) == []


def test_derived_verdicts_are_omitted(store: Store) -> None:
    record_reviews(store, "alice", Annotation(target="turn:1/call:1", verdict=True))
    row = store.fetch_row(store.find_items("simple_0")[0])
    assert row is not None and row.human is True
    assert fetch_ratings(store) == [("alice", "simple_0", "turn:1/call:1", "correct", True)]


def test_stale_reviews_are_omitted(store: Store) -> None:
    key, _, golden_hash = store.reviews.fetch_key_and_hashes(store.find_items("simple_0")[0])
    Journal(store.workspace, "alice").append(
        key, Annotation(verdict=True), prediction_hash="old", golden_hash=golden_hash
    )
    store.refresh_reviews()
    assert fetch_ratings(store) == []
    record_reviews(store, "alice", Annotation(verdict=False))
    assert fetch_ratings(store) == [("alice", "simple_0", "item", "correct", False)]


def test_only_items_of_the_view_count(store: Store) -> None:
    record_reviews(store, "alice", Annotation(verdict=True))
    record_reviews(store, "alice", Annotation(verdict=False), item="simple_2")
    record_reviews(store, "alice", Annotation(verdict=False), run=1)
    assert len(fetch_ratings(store)) == 3
    assert [row[1] for row in fetch_ratings(store, View("category:other"))] == ["simple_2"]
    of_run = store.analysis.fetch_ratings(View(runs=(2,)))
    assert [(each.key.model, each.value) for each in of_run] == [("birch-70b", False)]


def test_reviews_of_missing_items_are_omitted(store: Store) -> None:
    key = ItemKey("bfcl", "V4", "en", "another", "simple", "simple_0")
    Journal(store.workspace, "alice").append(key, Annotation(verdict=True))
    store.refresh_reviews()
    assert fetch_ratings(store) == []


def test_shared_answer_of_runs_of_one_model_counts_once(tmp_path: Path) -> None:
    first, again = {}, {"prediction_hash": "another"}
    workspace, _ = import_items(tmp_path, {"maple-8b": [first, first]})

    other = write_run(tmp_path / "again", [first, again], "maple-8b")
    import_runs(workspace, [other], read)
    with Store.open(workspace) as store:
        assert len(store.find_items("simple_0")) == len(store.find_items("simple_1")) == 2
        record_reviews(store, "alice", Annotation(verdict=True))
        assert fetch_ratings(store) == [("alice", "simple_0", "item", "correct", True)]
        assert (
            len(fetch_ratings(store, View(runs=(1,))))
            == len(fetch_ratings(store, View(runs=(2,))))
            == 1
        )
        for run in (0, 1):
            record_reviews(store, "alice", Annotation(verdict=run == 0), item="simple_1", run=run)
        found = [each for each in store.analysis.fetch_ratings(View()) if each.key.id == "simple_1"]
        assert sorted((each.item, each.value) for each in found) == [
            (item, run == 0) for run, item in enumerate(store.find_items("simple_1"))
        ]


def test_blind_annotator_gets_no_ratings(workspace: Workspace) -> None:
    with (
        Store.open(workspace, "alice", blind=True) as store,
        pytest.raises(StoreError, match="blind"),
    ):
        store.analysis.fetch_ratings(View())
