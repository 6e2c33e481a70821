"""`import_reviews` creates stable event ids and needs few SQL statements for many labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.label_files import read_jsonl
from fcreview.store import review_sql
from fcreview.store.label_import import LabelImportResult, ReviewFile, import_reviews
from fcreview.store.reviews.journal import Journal
from fcreview.store.reviews.review_index import MAX_SINGLE_QUERIES, ItemIndex
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from tests.store.factory import import_items

N_ITEMS = 60


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return import_items(tmp_path / "run", {"maple-8b": [{} for _ in range(N_ITEMS)]})[0]


def import_lines(store: Store, lines: list[dict[str, Any]]) -> LabelImportResult:
    records = list(read_jsonl("\n".join(map(json.dumps, lines)).encode()))
    return import_reviews(
        store, Journal(store.workspace, "alice"), ReviewFile("labels.jsonl", records)
    )


def test_number_of_queries_does_not_grow_with_labels(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, delete = ItemIndex._fetch, review_sql.delete_decisions
    n_queries = [0]

    def count(function: Any) -> Any:
        def call_counted(*arguments: Any) -> Any:
            n_queries[-1] += 1
            return function(*arguments)

        return call_counted

    monkeypatch.setattr(ItemIndex, "_fetch", count(fetch))
    monkeypatch.setattr(review_sql, "delete_decisions", count(delete))
    with Store.open(workspace, "alice") as store:
        for start, stop in ((0, MAX_SINGLE_QUERIES + 2), (MAX_SINGLE_QUERIES + 2, N_ITEMS)):
            n_queries.append(0)
            lines = [
                {"id": f"simple_{number}", "value": number % 2 == 0}
                for number in range(start, stop)
            ]
            assert len(import_lines(store, lines).written) == stop - start
        assert n_queries[1] == n_queries[2] < 6
        rows = store.fetch_rows(
            [store.find_items(f"simple_{number}")[0] for number in range(N_ITEMS)]
        )
        assert [row.you for row in rows] == [number % 2 == 0 for number in range(N_ITEMS)]


def test_imported_event_has_the_same_id_in_every_version(workspace: Workspace) -> None:
    """A later import of the same file recognizes the reviews by these ids."""
    label = {
        "id": "simple_1",
        "value": "fail",
        "fault": "model",
        "blind": True,
        "time": "2026-01-01T00:00:00Z",
    }
    fixed = {
        "id": "simple_0",
        "value": True,
        "time": "2026-01-02",
        "tags": ["ä"],
        "golden_fix": {"f": {"a": [1, None]}},
    }
    with Store.open(workspace, "alice") as store:
        events = import_lines(store, [label, fixed]).written
    assert [event.event for event in events] == [
        "43326cd94186f674f7591c13f0b689d0",
        "5077116b211ef992f681999b7668f7c2",
    ]
