"""Item details equal the imported item, and raw records are read from their files."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from fcreview.model.item import Item
from fcreview.store.database import StoreError
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from tests.store.factory import import_items, read, write_run


def test_detail_equals_the_imported_item(tmp_path: Path) -> None:
    place = {"file": "scores.json", "line": 2, "offset": 18, "length": 40}
    state = {"root": {"golden": {"a": 1}, "predicted": None}}
    extra = {
        "failing_turn": 0,
        "state_differences": state,
        "score_record": place,
        "more": {"path": ["x", 1]},
    }
    row = {"extra": extra, "latency": 1.5, "group": "g"}
    workspace, _ = import_items(tmp_path, {"a": [row]})
    plan = write_run(tmp_path / "a", [row], "a")
    original = next(iter(read(plan)))
    assert isinstance(original, Item)
    original.file = "a/results.jsonl"
    with Store.open(workspace, "alice") as store:
        detail = store.read_detail(store.find_items(original.id)[0])
    assert detail.item == original
    assert (detail.run.model, detail.key.id, detail.row.model) == ("a", original.id, "a")
    assert detail.opinions == []


def test_detail_and_row_of_a_missing_item(store: Store) -> None:
    assert store.fetch_row(77) is None
    assert store.fetch_rows([77]) == []
    with pytest.raises(StoreError, match="the item does not exist"):
        store.read_detail(77)
    with pytest.raises(StoreError, match="the item does not exist"):
        store.read_raw_record(77)


def test_items_are_found_in_all_runs_or_one(store: Store) -> None:
    assert [item >> 32 for item in store.find_items("simple_7")] == [1, 2]
    assert [item >> 32 for item in store.find_items("simple_7", 2)] == [2]
    assert store.find_items("simple_7' OR '1'='1") == []


def test_raw_record_is_read_or_a_changed_file_reported(tmp_path: Path) -> None:
    workspace, _ = import_items(tmp_path, {"a": [{"id": "x"}, {"id": "y", "question": "é"}]})
    file = tmp_path / "a" / "results.jsonl"
    with Store.open(workspace) as store:
        item = store.find_items("y")[0]
        assert orjson.loads(store.read_raw_record(item)) == {"id": "y", "question": "é"}
        file.write_bytes(file.read_bytes() + b'{"id": "z"}\n')
        assert orjson.loads(store.read_raw_record(item))["id"] == "y"
        file.write_bytes(b"          " + file.read_bytes())
        with pytest.raises(StoreError, match="changed"):
            store.read_raw_record(item)
        file.unlink()
        with pytest.raises(StoreError, match=r"results\.jsonl"):
            store.read_raw_record(item)


def test_score_entry_is_read_or_reported_missing(tmp_path: Path) -> None:
    scores = tmp_path / "scores.json"
    entry = '{"id": 1, "error": ["no \\u00e9"]}\n'
    scores.write_text('{"accuracy": 0.5}\n' + entry)
    place = {"file": str(scores), "line": 2, "offset": 18, "length": len(entry)}
    unknown = {"id": "z", "extra": {"score_record": {"file": "", "line": 2}}}
    rows = [{"id": "x", "extra": {"score_record": place}}, {"id": "y"}, unknown]
    workspace, _ = import_items(tmp_path, {"a": rows})
    with Store.open(workspace) as store:
        x, y, z = (store.find_items(name)[0] for name in "xyz")
        assert store.read_score_record(x) == entry
        assert store.read_score_record(y) is None
        assert store.read_score_record(z) is None
        assert store.read_score_record(77) is None
        scores.write_text("{}" + scores.read_text())
        with pytest.raises(StoreError, match="changed"):
            store.read_score_record(x)
        scores.unlink()
        with pytest.raises(StoreError, match=r"scores\.json"):
            store.read_score_record(x)


def test_raw_records_omit_fields_that_the_importer_omits(tmp_path: Path) -> None:
    hidden = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    asked = f"get(headers={{'X-RapidAPI-Key': '{hidden}'}})"
    rows = [
        {"id": "rest_0", "question": asked, "extra": {"redacted": True}},
        {"id": "other_0", "question": asked},
    ]
    workspace, _ = import_items(tmp_path, {"a": rows})
    with Store.open(workspace) as store:
        shown, whole = (
            store.read_raw_record(store.find_items(name)[0]) for name in ("rest_0", "other_0")
        )
    assert "rest_0" in shown and hidden not in shown
    assert hidden in whole


def test_run_equals_the_imported_run(tmp_path: Path) -> None:
    plan = write_run(tmp_path / "a", [{}], "a")
    plan.run.title, plan.run.settings, plan.run.dataset = (
        "My Bench",
        {"title": "no title", "seed": 7},
        "/data",
    )
    workspace = find_workspace(tmp_path)
    import_runs(workspace, [plan], read)
    with Store.open(workspace) as store:
        (row,) = store.fetch_runs()
    assert row.info == plan.run
    assert row.info.full_title == "My Bench V4"
