"""Dataset files are loaded once and shared, and large datasets are kept in memory only in part."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

import orjson
import pytest

from benchmarks.synthetic import write_run
from fcreview.importers.bfcl import dataset
from fcreview.importers.bfcl.dataset import DatasetFiles, DatasetItem, load_dataset
from fcreview.importers.bfcl.joining import find_items_with_question
from fcreview.importers.common import jsonl
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import ImportIssue, Item

CATEGORIES = (
    "irrelevance",
    "java",
    "javascript",
    "live_multiple",
    "live_parallel",
    "live_relevance",
    "live_simple",
    "multiple",
    "parallel",
    "parallel_multiple",
    "simple",
)
N_VERSIONS = 7


def question(item_id: str, text: str) -> dict[str, object]:
    return {
        "id": item_id,
        "question": [[{"role": "user", "content": text}]],
        "function": [{"name": "f"}],
    }


def write_lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Counter[Path]:
    """Counts how often each question file is loaded."""
    dataset._cached_datasets.clear()
    found, load = Counter[Path](), dataset._DatasetLoader.load

    def count(self: dataset._DatasetLoader) -> dataset.Dataset:
        found[self._files.questions] += 1
        return load(self)

    monkeypatch.setattr(dataset._DatasetLoader, "load", count)
    return found


def write_versions(folder: Path) -> None:
    """Write two runs, one without scores, and dataset versions that differ in one question of
    each category.
    """
    for category in CATEGORIES:
        name = f"BFCL_v3_{category}"
        for version in range(N_VERSIONS):
            second = question(f"{category}_1", f"two of version {version}")
            write_lines(
                folder / f"data/{version}/{name}.json", question(f"{category}_0", "one"), second
            )
        results = [{"id": f"{category}_{n}", "result": "f()"} for n in range(2)]
        for model in ("a", "b"):
            write_lines(folder / "result" / model / f"{name}_result.json", *results)
        header = {"accuracy": 0.0, "correct_count": 0, "total_count": 2}
        entries = [
            {"id": f"{category}_{n}", "valid": False, "prompt": question(f"{category}_{n}", text)}
            for n, text in enumerate(["one", "two of version 3"])
        ]
        write_lines(folder / "score/a" / f"{name}_score.json", header, *entries)


def test_many_versions_are_loaded_once(tmp_path: Path, loads: Counter[Path]) -> None:
    write_versions(tmp_path)
    plans = {
        plan.run.model: plan
        for plan in discover([tmp_path / "result"], data=[tmp_path / "data"]).plans
    }
    assert len(loads) == N_VERSIONS * len(CATEGORIES) > dataset.MIN_CACHED_DATASETS
    assert set(loads.values()) == {1}
    assert plans["a"].run.dataset == str(tmp_path / "data/3")
    assert any("(22 of 22)" in issue.what for issue in plans["a"].issues)
    assert any("(22)" in issue.what for issue in plans["b"].issues)


def load_files(folder: Path, *records: object) -> dataset.Dataset:
    return load_dataset(
        DatasetFiles(write_lines(folder / "BFCL_v3_simple.json", *records)), "simple"
    )


def test_versions_share_equal_items(tmp_path: Path) -> None:
    one, other = question("simple_0", "one"), question("simple_1", "other")
    first = load_files(tmp_path / "1", one, question("simple_1", "two")).items
    second = load_files(tmp_path / "2", one, other).items
    assert second["simple_0"] is first["simple_0"]
    assert second["simple_1"] is not first["simple_1"]
    moved = load_files(tmp_path / "3", question("simple_0", "one") | {"ground_truth": 1}).items
    exact = load_files(tmp_path / "4", question("simple_0", "one") | {"ground_truth": 1.0}).items
    assert moved["simple_0"] is not exact["simple_0"]
    name = "BFCL_v4_simple.json"  # rules differ between BFCL versions
    newer = load_dataset(DatasetFiles(write_lines(tmp_path / "5" / name, one)), "simple").items
    assert newer["simple_0"] is not first["simple_0"]


def test_dropped_datasets_leave_memory_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "MIN_CACHED_DATASETS", 1)
    monkeypatch.setattr(dataset, "MAX_CACHED_ITEMS", 0)
    gc.disable()
    try:
        item: ref[DatasetItem] = ref(
            load_files(tmp_path / "1", question("simple_0", "one")).items["simple_0"]
        )
        load_files(tmp_path / "2", question("simple_0", "two"))
        assert item() is None
    finally:
        gc.enable()


def test_questions_without_id_are_found(tmp_path: Path) -> None:
    records = [
        question("simple_0", "key: YOUR-API-KEY"),
        question("simple_1", "other"),
        question("simple_2", ""),
    ]
    found = load_files(tmp_path, *records)
    quoted = [
        [{"role": "system", "content": "x"}, {"role": "user", "content": "key: REDACTED_API_KEY"}]
    ]
    assert [item.id for item in find_items_with_question(found, quoted)] == ["simple_0", "simple_2"]
    assert [item.id for item in find_items_with_question(found, "nothing")] == ["simple_2"]


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
    found = dataset.load_dataset(
        DatasetFiles(data / NAME, data / "possible_answer" / NAME), "simple_python"
    ).items
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
        {one.what for one in found if isinstance(one, ImportIssue)}
        for found in (expected, read_run_items(folder))
    ]
    assert issues[0] == issues[1]
    assert (
        "the dataset record simple_python_20 could not be interpreted: ValueError: odd" in issues[0]
    )
