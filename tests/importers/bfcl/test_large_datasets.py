"""Large datasets are kept in memory only in part, and the items are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthetic import write_run
from fcreview.importers.bfcl import dataset
from fcreview.importers.bfcl.dataset import DatasetFiles
from fcreview.importers.common import jsonl
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item

NAME = "BFCL_v4_simple_python.json"


def read_run_items(folder: Path) -> list[Item | ImportIssue]:
    dataset._cached_datasets.clear()
    return [item for plan in discover([folder]).plans for item in read_items(plan)]


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def limit() -> None:
        monkeypatch.setattr(dataset, "MAX_LOADED_ITEMS", 7)
        monkeypatch.setattr(dataset, "MAX_LOADED_ITEMS", 7)
        monkeypatch.setattr(jsonl, "MAX_CACHED_FILE_BYTES", 100)

    return limit


def test_small_limits_do_not_change_items(tmp_path: Path, small_limits: Callable[[], None]) -> None:
    folder = write_run(tmp_path / "run", 60)
    expected = read_run_items(folder)
    small_limits()
    assert read_run_items(folder) == expected
    assert sum(isinstance(item, Item) and item.official is False for item in expected) == 15


def test_loaded_items_are_limited(tmp_path: Path, small_limits: Callable[[], None]) -> None:
    small_limits()
    data = write_run(tmp_path / "run", 60) / "data"
    dataset._cached_datasets.clear()
    found = dataset.load_dataset(DatasetFiles(data / NAME, data / "possible_answer" / NAME), "simple_python").items
    assert (len(found), len(found._loaded)) == (60, 7)
    assert [case.id for case in found.values()] == list(found)
    assert found["simple_python_59"].ground_truth == [
        {"stock.reserve": {"article": ["A-000059"], "count": [6], "warehouse": ["north", ""]}}
    ]
    assert len(found._loaded) == 7
    (data / NAME).write_text("")  # the file changes during the import
    assert found.get("simple_python_0") is None


def test_invalid_dataset_record_is_reported(
    tmp_path: Path, small_limits: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such record is known, so the function fails artificially."""
    make = dataset.make_dataset_item

    def fail_at_twenty(item: str, *rest: Any) -> Any:
        if item == "simple_python_20":
            raise ValueError("odd")
        return make(item, *rest)

    monkeypatch.setattr(dataset, "make_dataset_item", fail_at_twenty)
    folder = write_run(tmp_path / "run", 30)
    expected = read_run_items(folder)
    small_limits()
    issues = [
        {one.what for one in found if isinstance(one, ImportIssue)} for found in (expected, read_run_items(folder))
    ]
    assert issues[0] == issues[1]
    assert "simple_python_20 of the dataset could not be interpreted: ValueError: odd" in issues[0]
