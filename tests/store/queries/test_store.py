"""The store returns windows of sorted views, reviews, and hides verdicts in blind mode."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Act, Annotation
from fcreview.store.database import StoreError
from fcreview.store.filters.tokens import FilterError
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import BUILTIN_QUEUES, PARTIAL_QUEUES
from fcreview.store.store import Store, View
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import Imported, import_items


def append_review(
    workspace: Workspace, item: int, verdict: Any, annotator: str = "alice", act: Act = "review"
) -> None:
    """Append a review to the journal of an annotator, like another process."""
    with Store.open(workspace) as store:
        detail = store.read_detail(item)
    Journal(workspace, annotator).append(
        detail.key,
        Annotation(act=act, verdict=verdict),
        prediction_hash=detail.item.prediction_hash,
        golden_hash=detail.item.golden_hash,
    )


def test_view_of_given_items_is_filtered(store: Store) -> None:
    every = [row.item for row in store.fetch_page(View(queue="dataset"), 0, 10_000)]
    assert len(every) > 200, "more than a filter may have words"
    some = tuple(every[1:])
    assert [
        row.item for row in store.fetch_page(View(queue="dataset", items=some), 0, 10_000)
    ] == list(some)
    failing = View(where="official:fail", items=tuple(every[:50]))
    found = {row.item for row in store.fetch_page(failing, 0, 100)}
    wanted = {
        row.item for row in store.fetch_page(View(queue="dataset"), 0, 50) if row.official is False
    }
    assert found == wanted and 0 < len(found) < 50


@pytest.mark.parametrize(
    "queue", [queue for queue in BUILTIN_QUEUES if queue not in PARTIAL_QUEUES]
)
@pytest.mark.parametrize("where", ["", "official:fail category:c1|c2"])
def test_windows_are_slices_of_one_order(store: Store, queue: str, where: str) -> None:
    view = View(where=where, queue=queue, seed=3)
    everything = store.fetch_page(view, 0, 10_000)
    assert len({row.item for row in everything}) == len(everything) == store.count_items(view)
    for offset, limit in ((0, 1), (7, 24), (len(everything) - 3, 24), (len(everything), 5), (3, 0)):
        assert store.fetch_page(view, offset, limit) == everything[offset : offset + limit]
    for place in (0, 5, len(everything) - 1):
        assert store.find_position(view, everything[place].item) == place
    assert store.find_position(view, 1) is None


def test_orders_sort_rows(store: Store) -> None:
    def fails(row: Any) -> Any:
        return {False: 0, None: 1, True: 2}[row.effective]

    dataset = store.fetch_page(View(queue="dataset"), 0, 1000)
    assert [row.item for row in dataset] == sorted(row.item for row in dataset)
    failures = store.fetch_page(View(queue="failures"), 0, 1000)
    assert [row.item for row in failures] == [row.item for row in sorted(dataset, key=fails)]
    disagreement = [
        row.official is not None and row.official != row.rule
        for row in store.fetch_page(View(queue="disagreement"), 0, 1000)
    ]
    assert disagreement == sorted(disagreement, reverse=True)
    assert any(disagreement)
    shuffled = [row.item for row in store.fetch_page(View(queue="random", seed=1), 0, 1000)]
    assert shuffled != [row.item for row in dataset]
    assert sorted(shuffled) == [row.item for row in dataset]
    assert shuffled != [row.item for row in store.fetch_page(View(queue="random", seed=2), 0, 1000)]


def test_same_seed_gives_the_same_order_in_another_session(
    workspace: Workspace, store: Store
) -> None:
    with Store.open(workspace, "bob") as other:
        view = View(queue="random", seed=7)
        assert [row.item for row in other.fetch_page(view, 0, 50)] == [
            row.item for row in store.fetch_page(view, 0, 50)
        ]


def test_more_views_than_the_cache_keeps(store: Store) -> None:
    for seed in (*range(12), *range(12)):
        assert store.count_items(View(queue="random", seed=seed)) == 1000


def test_view_of_one_run(store: Store) -> None:
    assert {row.model for row in store.fetch_page(View(runs=(2,)), 0, 1000)} == {"b"}
    assert store.count_items(View(runs=(2,), where="category:c0 OR category:c1")) == 334
    assert store.count_items(View(runs=(9,))) == 0


def test_unknown_queue_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="failures"):
        store.count_items(View(queue="x; DROP TABLE runs"))


def test_own_reviews_are_counted_separately(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}, {}, {}]})
    with Store.open(workspace, "alice") as store:
        Reviewer(store, Journal(workspace, "alice")).review(
            store.find_items("simple_0")[0], Annotation(verdict=True)
        )
        bob = Reviewer(store, Journal(workspace, "bob"))
        for name in ("simple_0", "simple_1"):
            bob.review(store.find_items(name)[0], Annotation(verdict=False))
        bob.review(store.find_items("simple_2")[0], Annotation(note="only a note"))
        assert [(row.yours, row.reviewed) for row in store.fetch_runs()] == [(1, 2)]


def test_reviews_show_immediately_and_reorder_only_on_refresh(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}, {}, {}]})
    with Store.open(workspace, "alice") as store:
        todo = View(where="-reviewed", queue="dataset")
        first = store.fetch_page(todo, 0, 1)[0]
        append_review(workspace, first.item, True)
        assert store.reviews.add_new_journal_events() == 1
        assert store.count_items(todo) == 3
        row = store.fetch_page(todo, 0, 1)[0]
        assert (row.item, row.you, row.human, row.effective) == (first.item, True, True, True)
        store.refresh_reviews()
        assert store.count_items(todo) == 2
        assert store.find_position(todo, first.item) is None
        append_review(workspace, first.item, False, "bob")
        assert store.refresh_reviews() == 1
        row = store.fetch_row(first.item)
        assert row is not None
        assert (row.you, row.human, row.effective) == (True, "disputed", first.official)
        assert [
            store.count_items(View(where=where))
            for where in ("disputed", "effective:disputed", "annotator:bob")
        ] == [1] * 3
        assert store.fetch_runs()[0].reviewed == 1
        assert len(store.read_detail(first.item).opinions) == 2


def test_blind_mode_hides_verdicts_before_the_review(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{"official": True}, {}, {"rule": True}]})
    item = (1 << 32) + 1
    append_review(workspace, item, False, "bob")
    with Store.open(workspace, "alice", blind=True) as store:
        for row in store.fetch_page(View(), 0, 10):
            told = (
                row.official,
                row.rule,
                row.judge,
                row.human,
                row.effective,
                row.error_type,
                row.rule_error_type,
            )
            assert {*told, row.first_difference} == {None}
        for queue in BUILTIN_QUEUES:
            if queue not in ("random", "stratified"):
                assert [row.seq for row in store.fetch_page(View(queue=queue), 0, 10)] == [0, 1, 2]
        detail = store.read_detail(item)
        assert (
            detail.item.official
            is detail.item.rule
            is detail.item.error_type
            is detail.item.diff_argument
            is None
        )
        assert (detail.item.verdicts, detail.opinions, detail.history) == ([], [], [])
        assert set(store.fetch_facets(View())) == {"category", "run"}
        assert store.fetch_clusters(View()) == []
        assert store.fetch_runs()[0].official_pass == store.fetch_runs()[0].effective_known == 0
        with pytest.raises(FilterError, match="blind"):
            store.count_items(View(where="official:fail"))
        with pytest.raises(StoreError, match="blind"):
            store.run_sql("SELECT * FROM items")
        append_review(workspace, item, True)
        store.refresh_reviews()
        shown = store.read_detail(item)
        assert (shown.row.official, shown.row.human, shown.item.official) == (
            False,
            "disputed",
            False,
        )
        assert len(shown.opinions) == 2


def test_opening_without_an_import_is_a_helpful_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="fcreview import"):
        Store.open(find_workspace(tmp_path))
    (tmp_path / ".fcreview" / "store.duckdb").write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match="Import the runs again"):
        Store.open(find_workspace(tmp_path))


@pytest.mark.slow
def test_threads_can_share_a_store(store: Store) -> None:
    wrong: list[BaseException] = []

    def look(seed: int) -> None:
        try:
            for _ in range(5):
                view = View(queue="random", seed=seed)
                assert len(store.fetch_page(view, 10, 20)) == 20
                assert store.read_detail(store.fetch_page(view, 3, 1)[0].item).item.id
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=look, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_run_verdicts_equal_outcomes(imported: Imported, tmp_path: Path) -> None:
    rows = [
        {"official": True, "question": "one"},
        {"official": None, "question": "two"},
        {"official": False},
    ]
    workspace = imported(tmp_path / "runs", {"a": rows, "b": rows[::-1]})
    with Store.open(workspace, "alice") as store:
        whole = store.analysis.fetch_outcomes(View(), [1, 2], "official")
        light = store.analysis.fetch_outcomes_without_details(View(), [1, 2], "official")
    names = ("item", "question_key", "question", "verdict")
    for run, outcomes in whole.items():
        wanted = [[getattr(each, name) for name in names] for each in outcomes]
        assert [[getattr(each, name) for name in names] for each in light[run]] == wanted
    assert all(each.prediction_hash == "" for each in light[1])
