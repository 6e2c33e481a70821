"""Reviews in an open store show immediately, can be undone, and are kept across imports and
processes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fcreview.model.review import Annotation
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.label_fields import LABEL_FIELDS
from fcreview.store.queries import view_items
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.rows import View
from fcreview.store.store import Store, StoreError
from fcreview.store.workspace import Workspace
from tests.labels import fetch_labels
from tests.store.factory import Imported, read, write_run

ROWS: list[dict[str, Any]] = [{}, {"official": True}, {}, {"official": True}]


@pytest.fixture
def workspace(tmp_path: Path, imported: Imported) -> Workspace:
    return imported(tmp_path, {"maple-8b": ROWS, "birch-70b": ROWS})


def make_reviewer(store: Store, annotator: str = "alice") -> Reviewer:
    return Reviewer(store, Journal(store.workspace, annotator))


def find_item(store: Store, name: str = "simple_0", run: int = 0) -> int:
    return store.find_items(name)[run]


def read_label(
    store: Store, item: int, target: str = "item", criterion: str = "correct"
) -> dict[str, Any]:
    columns, rows = store.run_sql("SELECT * FROM labels")
    labels = [dict(zip(columns, row, strict=True)) for row in rows]
    wanted = (item, target, criterion)
    (found,) = [
        label for label in labels if (label["item"], label["target"], label["criterion"]) == wanted
    ]
    return found


def read_derived_data(store: Store) -> dict[str, list[Any]]:
    """Return all data that is derived from reviews."""
    return {
        name: sorted(store.run_sql(f"FROM {name}")[1], key=repr)
        for name in ("human", "reviews", "labels", "review_acts")
    }


def test_verdict_shows_immediately_and_after_reopening(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        item = find_item(store)
        make_reviewer(store).review(
            item, Annotation(verdict=True, fault="golden", tags=["city"], note="it is right")
        )
        shown = read_derived_data(store)
        row = store.fetch_row(item)
        assert row is not None
        assert (row.you, row.human, row.effective, row.official) == (True, True, True, False)
        made = read_label(store, item)
        assert (made["effective"], made["decided_by"], made["fault"]) == (
            "true",
            "unanimous",
            "golden",
        )
        assert (made["tags"], made["notes"], made["annotators"]) == (
            ["city"],
            ["it is right"],
            ["alice"],
        )
        (opinion,) = store.read_detail(item).opinions
        assert (opinion.annotator, opinion.verdict, opinion.fault) == ("alice", True, "golden")
    with Store.open(workspace, "alice") as store:
        assert read_derived_data(store) == shown
    with Store.open(workspace, "bob") as store:
        row = store.fetch_row(item)
        assert row is not None
        assert (row.you, row.human) == (None, True)


def test_review_of_one_model_does_not_change_another(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        make_reviewer(store).review(find_item(store, run=0), Annotation(verdict=True))
        other = read_label(store, find_item(store, run=1))
        assert (other["effective"], other["decided_by"], other["n_annotators"]) == (
            "false",
            "official",
            0,
        )


def test_undo_of_any_depth_across_restarts(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        empty = read_derived_data(store)
        item = find_item(store)
        acts = make_reviewer(store)
        events = [
            acts.review(item, Annotation(verdict=False)),
            acts.review(item, Annotation(verdict=True)),
            acts.review(item, Annotation(note="hm")),
        ]
        assert acts.undo() == events[2:]
        assert store.run_sql("SELECT count(*) FROM reviews")[1] == [(2,)]
    with Store.open(workspace, "alice") as store:
        acts = make_reviewer(store)
        assert acts.undo()
        assert read_label(store, item)["human"] == "false"
        assert acts.undo()
        assert not acts.undo()
        assert {
            name: rows for name, rows in read_derived_data(store).items() if name != "review_acts"
        } == {name: rows for name, rows in empty.items() if name != "review_acts"}
        assert (
            store.run_sql("SELECT act, retracted FROM review_acts WHERE act = 'review'")[1]
            == [("review", True)] * 3
        )


def test_incremental_updates_equal_a_full_load(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        alice, bob, carol = (make_reviewer(store, name) for name in ("alice", "bob", "carol"))
        alice.review(find_item(store), Annotation(verdict=True))
        bob.review(find_item(store), Annotation(verdict=False, tags=["x"]))
        carol.review(find_item(store), Annotation(verdict=False, act="adjudicate", fault="model"))
        alice.review(find_item(store, "simple_1"), Annotation(verdict="unsure"))
        alice.review(
            find_item(store, "simple_2", 1),
            Annotation(verdict=False, target="turn:1/call:1/arg:city", note="?"),
        )
        bob.review(find_item(store, "simple_2", 1), Annotation(verdict=2, criterion="completeness"))
        bob.review(find_item(store, "simple_3"), Annotation(tags=["only a tag"]))
        bob.undo()
        by_steps = read_derived_data(store)
    with Store.open(workspace, "alice") as store:
        assert read_derived_data(store) == by_steps
        settled = read_label(store, find_item(store))
        assert (settled["human"], settled["decided_by"], settled["fault"]) == (
            "false",
            "adjudication",
            "model",
        )
        unsure = read_label(store, find_item(store, "simple_1"))
        assert (unsure["human"], unsure["effective"], unsure["decided_by"]) == (
            '"unsure"',
            "true",
            "official",
        )
        part = read_label(store, find_item(store, "simple_2", 1), "turn:1/call:1/arg:city")
        assert (part["human"], part["official"], part["notes"]) == ("false", None, ["?"])
        assert read_label(store, find_item(store, "simple_2", 1))["human"] == "false"  # rolled up
        assert (
            read_label(store, find_item(store, "simple_2", 1), criterion="completeness")[
                "effective"
            ]
            == "2"
        )


def test_disputed_items_keep_their_automatic_verdict(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        make_reviewer(store).review(find_item(store), Annotation(verdict=True))
        make_reviewer(store, "bob").review(find_item(store), Annotation(verdict=False))
        row = store.fetch_row(find_item(store))
        assert row is not None
        assert (row.human, row.effective, row.official) == ("disputed", False, False)
        assert (
            read_label(store, find_item(store))["effective"],
            read_label(store, find_item(store))["decided_by"],
        ) == ("false", "disputed")


def test_item_passes_if_all_pairs_pass(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        make_reviewer(store).review(
            find_item(store), Annotation(verdict=True, target="turn:1/call:1")
        )
        row = store.fetch_row(find_item(store))
        assert row is not None
        assert (row.official, row.effective) == (False, True)


def test_changed_prediction_makes_reviews_stale_but_keeps_them(
    tmp_path: Path, workspace: Workspace
) -> None:
    with Store.open(workspace, "alice") as store:
        make_reviewer(store).review(
            store.find_items("simple_0", _run(store, "maple-8b"))[0],
            Annotation(verdict=True, note="kept"),
        )
    plan = write_run(tmp_path / "maple-8b", [{"prediction_hash": "another"}, *ROWS[1:]])
    import_runs(workspace, [plan], read)
    with Store.open(workspace, "alice") as store:
        item = store.find_items("simple_0", _run(store, "maple-8b"))[0]
        row = store.fetch_row(item)
        assert row is not None
        assert (row.stale, row.human, row.you, row.effective) == (True, None, None, False)
        assert [
            (opinion.verdict, opinion.stale) for opinion in store.read_detail(item).opinions
        ] == [(True, True)]
        assert store.run_sql("SELECT stale, note FROM reviews")[1] == [(True, "kept")]
        make_reviewer(store).review(item, Annotation(verdict=True))
        fresh = store.fetch_row(item)
        assert fresh is not None
        assert (fresh.stale, fresh.human) == (False, True)


def _run(store: Store, model: str) -> int:
    return next(run.run for run in store.fetch_runs() if run.info.model == model)


def test_reviews_of_missing_items_are_kept(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        key = store.read_detail(find_item(store)).key._replace(id="elsewhere")
        Journal(workspace, "alice").append(key, Annotation(verdict=True))
        assert store.refresh_reviews() == 1
        assert store.run_sql("SELECT item, run, id, verdict FROM reviews")[1] == [
            (None, None, "elsewhere", "true")
        ]


_OTHER = """
import sys
from pathlib import Path
from fcreview.model.review import Annotation
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviewer import Reviewer
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
workspace = Workspace(Path(sys.argv[1]))
with Store.open(workspace, sys.argv[2]) as store:
    reviewer = Reviewer(store, Journal(workspace, sys.argv[2]))
    for number in range(40):
        item = store.find_items(f"simple_{number % 4}")[0]
        reviewer.review(item, Annotation(verdict=number % 3 == 0, note=str(number)))
"""


@pytest.mark.process
@pytest.mark.parametrize("names", [("alice", "bob"), ("alice", "alice")])
def test_concurrent_reviewers_of_a_run_lose_nothing(
    workspace: Workspace, names: tuple[str, str]
) -> None:
    with Store.open(workspace, "carol") as store:
        processes = [
            subprocess.Popen([sys.executable, "-c", _OTHER, str(workspace.root), name])
            for name in names
        ]
        make_reviewer(store, "carol").review(find_item(store), Annotation(verdict=True))
        assert [process.wait() for process in processes] == [0, 0]
        store.refresh_reviews()
        assert store.run_sql("SELECT count(*) FROM reviews")[1] == [(81,)]
        shown = read_derived_data(store)
        assert store.reviews.warnings == []
    with Store.open(workspace, "carol") as store:
        # Otherwise the order of two writers decides, and both orders are valid.
        if names[0] != names[1]:
            assert read_derived_data(store) == shown


def test_another_process_of_the_same_annotator_can_be_undone(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store, Store.open(workspace, "alice") as other:
        first = make_reviewer(store).review(find_item(store), Annotation(verdict=True))
        second = make_reviewer(other).review(find_item(other, "simple_1"), Annotation(verdict=True))
        acts = make_reviewer(store)
        assert [event.event for event in acts.undo() + acts.undo()] == [second.event, first.event]


def test_replaced_journal_is_read_again(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        acts = make_reviewer(store)
        acts.review(find_item(store), Annotation(verdict=True))
        store.refresh_reviews()
        journal = workspace.reviews / "alice.jsonl"
        journal.with_suffix(".old").write_bytes(b"")
        journal.with_suffix(".old").replace(journal)
        store.refresh_reviews()
        assert store.run_sql("SELECT count(*) FROM human")[1] == [(0,)]


def test_unsaved_review_does_not_show(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        acts = make_reviewer(store)
        (workspace.reviews / "alice.jsonl").mkdir()
        with pytest.raises(JournalError, match="not saved"):
            acts.review(find_item(store), Annotation(verdict=True))
        assert store.run_sql("SELECT count(*) FROM reviews")[1] == [(0,)]
        with pytest.raises(KeyError):
            acts.review(12345678901, Annotation(verdict=True))


def test_label_chunks_contain_each_item_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_items, "CHUNK_SIZE", 3)
    with Store.open(workspace, "alice") as store:
        acts = make_reviewer(store)
        acts.review(find_item(store), Annotation(verdict=True, golden_fix={"city": "Hangzhou"}))
        acts.review(find_item(store), Annotation(verdict=False, target="turn:1/call:1"))
        assert [len(chunk) for chunk in store.iter_label_batches(View())] == [4, 3, 2]
        rows = fetch_labels(store, View())
        assert all(tuple(row) == tuple(LABEL_FIELDS) for row in rows)
        assert [row["target"] for row in rows[:3]] == ["item", "turn:1/call:1", "item"]
        assert rows[0]["effective"] is True
        assert rows[1]["human"] is False
        chosen = [row["id"] for row in fetch_labels(store, View(where="official:pass"))]
        assert chosen == ["simple_1", "simple_3"] * 2
    with (
        Store.open(workspace, "alice", blind=True) as store,
        pytest.raises(StoreError, match="blind"),
    ):
        store.iter_label_batches(View())
