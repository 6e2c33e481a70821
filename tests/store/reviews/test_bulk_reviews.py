"""Bulk reviews count in effective verdicts, and not in measurements of reviews."""

from __future__ import annotations

import contextlib
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.base import EXPORTERS
from fcreview.exporters.export import export
from fcreview.model.review import Annotation
from fcreview.stats.sampling import ShareOptions
from fcreview.store.estimation import CalibrationCell
from fcreview.store.label_import import ReviewFile, import_reviews
from fcreview.store.queue_file import write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews import decision_cache
from fcreview.store.reviews.journal import Journal, JournalError
from fcreview.store.reviews.journal_reader import check_journals
from fcreview.store.rows import View, to_item_number
from fcreview.store.store import Store, StoreError
from fcreview.store.workspace import Workspace
from tests.store.factory import Imported

N_ITEMS = 6
PASS, FAIL = Annotation(verdict=True), Annotation(verdict=False, fault="model", tags=["unit"])


@pytest.fixture
def workspace(tmp_path: Path, imported: Imported) -> Workspace:
    """A workspace with one run of failing items, the last one twice in alice's share of the
    queue `pilot`.
    """
    return imported(tmp_path, {"maple-8b": [{} for _ in range(N_ITEMS)]})


def make_reviewer(store: Store, annotator: str = "alice") -> Reviewer:
    return Reviewer(store, Journal(store.workspace, annotator))


def list_items(store: Store, *numbers: int) -> list[int]:
    return [store.find_items(f"simple_{number}")[0] for number in numbers or range(N_ITEMS)]


def draw_pilot(store: Store) -> None:
    sharing = ShareOptions(("alice",), seed=1)
    write_queue(
        store.workspace,
        store.draw_queue(QueueRequest("pilot", View(queue="dataset"), N_ITEMS, "", sharing)),
    )


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let the system refuse to write after this number of bytes, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_bulk_review_on_a_full_disk_is_all_or_nothing(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        alice = make_reviewer(store)
        alice.review(list_items(store, 0)[0], PASS)
        path = workspace.reviews / "alice.jsonl"
        before = path.read_bytes()
        line_size = len(before)

        for n_lines_with_room in (1, 2, 4):
            with (
                file_size_limit(len(before) + n_lines_with_room * line_size + 40),
                pytest.raises(JournalError, match=r"File too large\. The 5 reviews were not saved"),
            ):
                alice.review_in_bulk(list_items(store), FAIL)
            assert path.read_bytes() == before
            store.refresh_reviews()
            assert [row.you for row in store.fetch_rows(list_items(store))] == [True, *[None] * 5]

        assert len(alice.review_in_bulk(list_items(store), FAIL)) == 5
        with file_size_limit(path.stat().st_size + line_size), pytest.raises(JournalError):
            alice.undo()
        assert [row.you for row in store.fetch_rows(list_items(store))] == [True, *[False] * 5]
        assert len(alice.undo()) == 5
        assert [row.you for row in store.fetch_rows(list_items(store))] == [True, *[None] * 5]


def test_one_write_and_one_undo(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(workspace, "alice") as store:
        alice, calls = make_reviewer(store), dict.fromkeys(("write", "fsync"), 0)
        first = alice.review(list_items(store, 2)[0], PASS)

        def count(name: str) -> None:
            original = getattr(os, name)

            def counted(*args: Any) -> Any:
                calls[name] += 1
                return original(*args)

            monkeypatch.setattr(os, name, counted)

        count("write")
        count("fsync")
        events = alice.review_in_bulk(list_items(store), FAIL)
        assert calls == {"write": 1, "fsync": 1}
        assert [event.key.id for event in events] == [f"simple_{at}" for at in (0, 1, 3, 4, 5)]
        assert len({event.bulk for event in events}) == 1 and all(
            event.blind is False for event in events
        )
        assert alice.review_in_bulk(list_items(store), FAIL) == []
        assert calls == {"write": 1, "fsync": 1}
        alice.review(list_items(store, 3)[0], PASS)
        assert [event.bulk for event in alice.undo()] == [None]
        assert alice.undo() == events
        assert [row.you for row in store.fetch_rows(list_items(store))] == [
            None,
            None,
            True,
            None,
            None,
            None,
        ]
        assert [event.event for event in alice.undo()] == [first.event]
        assert alice.undo() == []
        assert check_journals(workspace)[0].warnings == []


def test_bulk_reviews_count_in_effective_verdicts_and_disagreements(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        make_reviewer(store).review_in_bulk(list_items(store), PASS)
        make_reviewer(store, "bob").review(list_items(store, 0)[0], FAIL)
        rows = store.fetch_rows(list_items(store, 0, 1))
        assert [(row.human, row.effective, row.your_bulk) for row in rows] == [
            ("disputed", False, True),
            (True, True, True),
        ]
        assert len(store.analysis.fetch_disagreements(View())) == 1
        corrected = store.analysis.fetch_scored_items(rows[0].run)["corrected"]
        assert [item.valid for item in corrected] == [False, *[True] * (N_ITEMS - 1)]


def compute_measurements(store: Store) -> dict[str, Any]:
    """Return all measurements that are computed from reviews."""
    run = store.fetch_rows(list_items(store, 0))[0].run
    status, cases = (
        store.analysis.fetch_sample_status(run),
        store.analysis.fetch_verdict_pairs(View()),
    )
    return {
        "agreement": [
            (r.annotator, r.key.id, r.value) for r in store.analysis.fetch_ratings(View())
        ],
        "calibration": [(case.item, case.human, case.is_random) for case in cases],
        "estimates": [
            (each.human, each.sample_outcome, each.is_sample_reviewed) for each in status.items
        ],
        "duplicates": [
            (each.first, each.second) for each in store.analysis.fetch_duplicate_reviews(View())
        ],
        "progress": [(each.annotator, each.done) for each in store.measure_queue_progress("pilot")],
    }


def test_bulk_reviews_count_in_no_measurement(workspace: Workspace, tmp_path: Path) -> None:
    with Store.open(workspace, "alice") as store:
        draw_pilot(store)
        nothing = compute_measurements(store)
        make_reviewer(store).review_in_bulk(list_items(store), FAIL)
        assert compute_measurements(store) == nothing
        make_reviewer(store).review(
            to_item_number(list_items(store, 5)[0], is_duplicate=True), PASS
        )
        assert compute_measurements(store) == nothing
        make_reviewer(store, "bob").review(list_items(store, 0)[0], PASS)
        only_bob = compute_measurements(store)
        assert only_bob["agreement"] == [("bob", "simple_0", True)]
        assert {human for _, human, _ in only_bob["calibration"]} == {True}
        make_reviewer(store).review(list_items(store, 1)[0], PASS)
        assert compute_measurements(store)["agreement"] == [
            ("bob", "simple_0", True),
            ("alice", "simple_1", True),
        ]
        make_reviewer(store).undo()
        assert compute_measurements(store) == only_bob
    out = tmp_path / "labels.jsonl"
    with Store.open(workspace) as store:
        export(store, "jsonl", out)
        opinions = [
            each for line in out.read_text().splitlines() for each in json.loads(line)["opinions"]
        ]
        assert [bool(each["bulk"]) for each in opinions] == [
            each["annotator"] == "alice" for each in opinions
        ]


def test_adjudication_of_a_bulk_review_counts(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        draw_pilot(store)
        make_reviewer(store).review_in_bulk(list_items(store), FAIL)
        make_reviewer(store, "judy").review(
            list_items(store, 0)[0], Annotation(act="adjudicate", verdict=True)
        )
        assert {(item, human) for item, human, _ in compute_measurements(store)["calibration"]} == {
            (list_items(store, 0)[0], True)
        }


def test_filter_of_a_calibration_cell_omits_bulk_reviews(workspace: Workspace) -> None:
    with Store.open(workspace, "alice") as store:
        make_reviewer(store).review_in_bulk(list_items(store), FAIL)
        make_reviewer(store, "bob").review(list_items(store, 2)[0], FAIL)
        cell = CalibrationCell(
            "official", "correct", False, False, "overall", None, list_items(store, 2)
        )
        where = store.analysis.build_cell_filter("", cell)
        assert where is not None
        assert [row.id for row in store.fetch_page(View(where), 0, 9)] == ["simple_2"]


def test_cache_includes_bulk_reviews(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_cache, "MIN_EVENTS", 1)
    with Store.open(workspace, "alice") as store:
        make_reviewer(store).review_in_bulk(list_items(store, 0, 1), FAIL)
        make_reviewer(store).review(list_items(store, 1)[0], FAIL)
        expected = store.connection.execute("FROM human_labels").fetchall()
    with Store.open(workspace, "alice") as store:
        assert store.connection.execute("FROM human_labels").fetchall() == expected
        flags = "SELECT your_bulk, individual IS NULL FROM human_labels ORDER BY item"
        assert store.connection.execute(flags).fetchall() == [(True, True), (False, False)]


@pytest.mark.parametrize("name", ["jsonl", "labelstudio"])
def test_exported_bulk_reviews_stay_bulk_reviews(
    workspace: Workspace, tmp_path: Path, imported: Imported, name: str
) -> None:
    with Store.open(workspace, "alice") as store:
        events = make_reviewer(store).review_in_bulk(list_items(store, 0, 1), FAIL)
        export(store, name, tmp_path / "labels")
    copy = imported(tmp_path / "copy", {"maple-8b": [{} for _ in range(N_ITEMS)]})
    with Store.open(copy, "alice") as store:
        read = getattr(EXPORTERS[name], "read")()  # noqa: B009
        records = list(read((tmp_path / "labels").read_bytes()))
        result = import_reviews(store, Journal(copy, "alice"), ReviewFile("labels", records))
        assert [event.bulk for event in result.written] == [event.bulk for event in events]
        assert store.analysis.fetch_ratings(View()) == []
        again = import_reviews(store, Journal(copy, "alice"), ReviewFile("labels", records))
        assert (again.written, again.already) == ([], 2)


def test_blind_store_refuses_bulk_reviews(workspace: Workspace) -> None:
    with (
        Store.open(workspace, "alice", blind=True) as store,
        pytest.raises(StoreError, match="not available in blind"),
    ):
        make_reviewer(store).review_in_bulk(list_items(store), FAIL)
    assert not (workspace.reviews / "alice.jsonl").exists()
