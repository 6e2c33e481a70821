"""The store as screens see it: windows, details, facets, clusters, blind mode."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.model import Item
from fcreview.plan import RunPlan
from fcreview.store.connecting import StoreError
from fcreview.store.filters.narrowing import exactly, narrowed
from fcreview.store.importing.import_runs import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import QUEUES
from fcreview.store.store import Store, View
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import import_items, make_item, read, write_run

ERRORS = [None, "value_error:string", "value_error", "type_error:simple"]


def many(plan: RunPlan) -> Iterator[Item]:
    for n in range(500):
        official = (True, False, False, None)[n % 4]
        yield make_item(
            n,
            category=f"c{n % 3}",
            official=official,
            rule=n % 5 == 0,
            error_type=None if official else ERRORS[n % 7 % 4],
            diff_function=None if official else [None, "f", 'say "none"', "none"][n % 11 % 4],
            diff_argument=None if official else [None, "a|b", "a"][n % 3],
            verdicts=[],
        )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("store")
    workspace = find_workspace(place)
    import_runs(workspace, [write_run(place / name, [{}], name) for name in ("a", "b")], many)
    return workspace


@pytest.fixture
def store(workspace: Workspace) -> Iterator[Store]:
    with Store.open(workspace, "alice") as store:
        yield store


def say(workspace: Workspace, item: int, verdict: Any, annotator: str = "alice", act: str = "review") -> None:
    """Appends a review to the annotator's journal, as another process would."""
    with Store.open(workspace) as store:
        detail = store.detail(item)
    fields = {name: value for name, value in {"act": act, "verdict": verdict}.items() if value is not None}
    Journal(workspace, annotator).append(
        key=detail.key,
        prediction_hash=detail.item.prediction_hash,
        golden_hash=detail.item.golden_hash,
        **fields,
    )


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("where", ["", "official:fail category:c1|c2"])
def test_windows_are_slices_of_one_order(store: Store, queue: str, where: str) -> None:
    view = View(where=where, queue=queue, seed=3)
    everything = store.page(view, 0, 10_000)
    assert len({row.item for row in everything}) == len(everything) == store.count(view)
    for offset, limit in ((0, 1), (7, 24), (len(everything) - 3, 24), (len(everything), 5), (3, 0)):
        assert store.page(view, offset, limit) == everything[offset : offset + limit]
    for place in (0, 5, len(everything) - 1):
        assert store.position(view, everything[place].item) == place
    assert store.position(view, 1) is None


def test_orders_are_what_they_say(store: Store) -> None:
    def fails(row: Any) -> Any:
        return {False: 0, None: 1, True: 2}[row.effective]

    dataset = store.page(View(queue="dataset"), 0, 1000)
    assert [row.item for row in dataset] == sorted(row.item for row in dataset)
    failures = store.page(View(queue="failures"), 0, 1000)
    assert [row.item for row in failures] == [row.item for row in sorted(dataset, key=fails)]
    disagreement = [
        row.official is not None and row.official != row.rule for row in store.page(View(queue="disagreement"), 0, 1000)
    ]
    assert disagreement == sorted(disagreement, reverse=True)
    assert any(disagreement)
    shuffled = [row.item for row in store.page(View(queue="random", seed=1), 0, 1000)]
    assert shuffled != [row.item for row in dataset]
    assert sorted(shuffled) == [row.item for row in dataset]
    assert shuffled != [row.item for row in store.page(View(queue="random", seed=2), 0, 1000)]


def test_the_same_seed_is_the_same_order_in_another_session(workspace: Workspace, store: Store) -> None:
    with Store.open(workspace, "bob") as other:
        view = View(queue="random", seed=7)
        assert [row.item for row in other.page(view, 0, 50)] == [row.item for row in store.page(view, 0, 50)]


def test_more_views_than_are_kept(store: Store) -> None:
    for seed in (*range(12), *range(12)):
        assert store.count(View(queue="random", seed=seed)) == 1000


def test_a_view_of_one_run(store: Store) -> None:
    assert {row.model for row in store.page(View(run=2), 0, 1000)} == {"b"}
    assert store.count(View(run=2, where="category:c0 OR category:c1")) == 334
    assert store.count(View(run=9)) == 0


def test_an_unknown_queue_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="failures"):
        store.count(View(queue="x; DROP TABLE runs"))


def test_detail_gives_the_item_back_as_it_was_read(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{"extra": {"path": ["x", 1]}, "latency": 1.5, "group": "g"}]})
    plan = write_run(tmp_path / "a", [{"extra": {"path": ["x", 1]}, "latency": 1.5, "group": "g"}], "a")
    original = next(iter(read(plan)))
    assert isinstance(original, Item)
    original.file = "a/results.jsonl"
    with Store.open(workspace, "alice") as store:
        detail = store.detail(store.find(original.id)[0])
    assert detail.item == original
    assert (detail.run.model, detail.key.id, detail.row.model) == ("a", original.id, "a")
    assert detail.opinions == []


def test_detail_and_row_of_what_is_not_there(store: Store) -> None:
    assert store.row(77) is None
    assert store.rows([77]) == []
    with pytest.raises(StoreError, match="no such item"):
        store.detail(77)
    with pytest.raises(StoreError, match="no such item"):
        store.raw(77)


def test_find_in_all_runs_or_one(store: Store) -> None:
    assert [item >> 32 for item in store.find("simple_7")] == [1, 2]
    assert [item >> 32 for item in store.find("simple_7", 2)] == [2]
    assert store.find("simple_7' OR '1'='1") == []


def test_raw_reads_the_record_or_says_that_the_file_changed(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{"id": "x"}, {"id": "y", "question": "é"}]})
    file = tmp_path / "a" / "results.jsonl"
    with Store.open(workspace) as store:
        item = store.find("y")[0]
        assert orjson.loads(store.raw(item)) == {"id": "y", "question": "é"}
        file.write_bytes(file.read_bytes() + b'{"id": "z"}\n')
        assert orjson.loads(store.raw(item))["id"] == "y"
        file.write_bytes(b"          " + file.read_bytes())
        with pytest.raises(StoreError, match="changed"):
            store.raw(item)
        file.unlink()
        with pytest.raises(StoreError, match=r"results\.jsonl"):
            store.raw(item)


def test_the_score_entry_of_a_failing_item_is_read_or_said_to_be_gone(tmp_path: Path) -> None:
    scores = tmp_path / "scores.json"
    entry = '{"id": 1, "error": ["no \\u00e9"]}\n'
    scores.write_text('{"accuracy": 0.5}\n' + entry)
    place = {"file": str(scores), "line": 2, "offset": 18, "length": len(entry)}
    unknown = {"id": "z", "extra": {"score_record": {"line": 2}}}
    rows = [{"id": "x", "extra": {"score_record": place}}, {"id": "y"}, unknown]
    workspace, _ = import_items(tmp_path, {"a": rows})
    with Store.open(workspace) as store:
        x, y, z = (store.find(name)[0] for name in "xyz")
        assert store.raw_score(x) == entry
        assert store.raw_score(y) is None
        assert store.raw_score(z) is None
        assert store.raw_score(77) is None
        scores.write_text("{}" + scores.read_text())
        with pytest.raises(StoreError, match="changed"):
            store.raw_score(x)
        scores.unlink()
        with pytest.raises(StoreError, match=r"scores\.json"):
            store.raw_score(x)


def test_what_you_reviewed_is_counted_apart_from_what_anybody_did(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}, {}, {}]})
    with Store.open(workspace, "alice") as store:
        Reviewer(store, Journal(workspace, "alice")).review(store.find("simple_0")[0], verdict=True)
        bob = Reviewer(store, Journal(workspace, "bob"))
        for name in ("simple_0", "simple_1"):
            bob.review(store.find(name)[0], verdict=False)
        bob.review(store.find("simple_2")[0], note="only a note")
        assert [(row.yours, row.reviewed) for row in store.runs()] == [(1, 2)]


def test_runs_and_their_counts(store: Store) -> None:
    rows = store.runs()
    assert [row.info.model for row in rows] == ["a", "b"]
    first = rows[0]
    assert (first.n_items, first.official_pass, first.official_known, first.rule_pass) == (500, 125, 375, 100)
    assert (first.effective_known, first.reviewed, first.n_issues) == (500, 0, 0)
    assert [category["category"] for category in first.categories] == ["c0", "c1", "c2"]
    assert sum(category["official_pass"] for category in first.categories) == 125


def test_facets_count_what_a_filter_finds(store: Store) -> None:
    base = View(where="category:c0|c1")
    for name, values in store.facets(base).items():
        assert sum(count for _, count in values) == store.count(base)
        counts = [count for _, count in values]
        assert counts == sorted(counts, reverse=True)
        if name in ("official", "rule", "category", "effective", "judge", "run"):
            for value, count in values:
                assert store.count(View(where=f"({base.where}) {name}:{value}")) == count


@pytest.mark.parametrize(
    ("value", "others", "term"),
    [
        ("value_error:string", ["value_error"], "error:value_error:string"),
        ("value_error", ["value_error", "value_error:string"], 'error:"value_error"'),
        ("a", ["A"], 'error:"a"'),
        ("a", ["ab"], "error:a"),
        ("none", [None], 'error:"none"'),
        (None, ["none"], "error:none"),
        ('two "words"', [], 'error:"two \\"words\\""'),
        ("a*", [], 'error:"a*"'),
        (">1", [], 'error:">1"'),
        ("", [], 'error:""'),
    ],
)
def test_a_value_is_quoted_only_where_it_has_to_be(value: str | None, others: list[str | None], term: str) -> None:
    assert exactly("error", value, others) == term


@pytest.mark.parametrize(
    ("base", "whole"),
    [
        ("", "effective:fail error:x"),
        ("category:a -reviewed", "category:a -reviewed effective:fail error:x"),
        ("effective:fail category:a", "effective:fail category:a error:x"),
        ("category:a OR rule:pass", "(category:a OR rule:pass) effective:fail error:x"),
        ('text:"a OR b"', 'text:"a OR b" effective:fail error:x'),
    ],
)
def test_a_filter_is_narrowed_without_needless_parentheses(base: str, whole: str) -> None:
    assert narrowed(base, "effective:fail", "error:x") == whole


@pytest.mark.parametrize("view", [View(), View(where="category:c0 OR rule:pass"), View(run=1)])
def test_a_clusters_filter_selects_exactly_its_items(store: Store, view: View) -> None:
    clusters = store.clusters(view)
    assert len(clusters) > 10
    assert [cluster.count for cluster in clusters] == sorted((cluster.count for cluster in clusters), reverse=True)
    for cluster in clusters:
        rows = store.page(View(where=cluster.where, run=view.run, queue="dataset"), 0, 10_000)
        assert len(rows) == cluster.count
        assert [row.id for row in rows[:3]] == cluster.examples
        assert all(row.effective is False for row in rows)
    for term in {term for cluster in clusters for term in cluster.terms}:
        of_term = store.count(View(where=narrowed(view.where, "effective:fail", term), run=view.run))
        assert of_term == sum(cluster.count for cluster in clusters if term in cluster.terms), term
    failing = store.count(
        View(where=f"({view.where}) effective:fail" if view.where else "effective:fail", run=view.run)
    )
    assert sum(cluster.count for cluster in clusters) == failing
    assert store.clusters(view, limit=2) == clusters[:2]


def test_reviews_show_in_rows_at_once_and_move_items_only_on_refresh(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{}, {}, {}]})
    with Store.open(workspace, "alice") as store:
        todo = View(where="-reviewed", queue="dataset")
        first = store.page(todo, 0, 1)[0]
        say(workspace, first.item, True)
        assert store.reviews.refresh() == 1
        assert store.count(todo) == 3
        row = store.page(todo, 0, 1)[0]
        assert (row.item, row.you, row.human, row.effective) == (first.item, True, True, True)
        store.refresh_views()
        assert store.count(todo) == 2
        assert store.position(todo, first.item) is None
        say(workspace, first.item, False, "bob")
        assert store.refresh_reviews() == 1
        row = store.row(first.item)
        assert row is not None
        assert (row.you, row.human, row.effective) == (True, "disputed", None)
        assert [store.count(View(where=where)) for where in ("disputed", "effective:disputed", "annotator:bob")] == [
            1
        ] * 3
        assert store.runs()[0].reviewed == 1
        assert len(store.detail(first.item).opinions) == 2


def test_blind_mode_tells_nothing_before_the_annotator_decided(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{"official": True}, {}, {"rule": True}]})
    item = (1 << 32) + 1
    say(workspace, item, False, "bob")
    with Store.open(workspace, "alice", blind=True) as store:
        for row in store.page(View(), 0, 10):
            told = (row.official, row.rule, row.judge, row.human, row.effective, row.error_type, row.rule_error_type)
            assert {*told, row.first_difference} == {None}
        for queue in QUEUES:
            if queue != "random":
                assert [row.seq for row in store.page(View(queue=queue), 0, 10)] == [0, 1, 2]
        detail = store.detail(item)
        assert detail.item.official is detail.item.rule is detail.item.error_type is detail.item.diff_argument is None
        assert (detail.item.verdicts, detail.opinions, detail.history) == ([], [], [])
        assert set(store.facets(View())) == {"category", "run"}
        assert store.clusters(View()) == []
        assert store.runs()[0].official_pass == store.runs()[0].effective_known == 0
        with pytest.raises(ValueError, match="blind"):
            store.count(View(where="official:fail"))
        with pytest.raises(StoreError, match="blind"):
            store.sql("SELECT * FROM items")
        say(workspace, item, True)
        store.refresh_reviews()
        shown = store.detail(item)
        assert (shown.row.official, shown.row.human, shown.item.official) == (False, "disputed", False)
        assert len(shown.opinions) == 2


def test_without_an_import_opening_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="fcreview import"):
        Store.open(find_workspace(tmp_path))
    (tmp_path / ".fcreview" / "store.duckdb").write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match="import the runs again"):
        Store.open(find_workspace(tmp_path))


def test_threads_may_share_a_store(store: Store) -> None:
    wrong: list[BaseException] = []

    def look(seed: int) -> None:
        try:
            for _ in range(5):
                view = View(queue="random", seed=seed)
                assert len(store.page(view, 10, 20)) == 20
                assert store.detail(store.page(view, 3, 1)[0].item).item.id
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=look, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_raw_records_leave_out_what_the_importer_left_out(tmp_path: Path) -> None:
    hidden = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    asked = f"get(headers={{'X-RapidAPI-Key': '{hidden}'}})"
    rows = [{"id": "rest_0", "question": asked, "extra": {"redacted": True}}, {"id": "other_0", "question": asked}]
    workspace, _ = import_items(tmp_path, {"a": rows})
    with Store.open(workspace) as store:
        shown, whole = (store.raw(store.find(name)[0]) for name in ("rest_0", "other_0"))
    assert "rest_0" in shown and hidden not in shown
    assert hidden in whole
