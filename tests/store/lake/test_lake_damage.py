"""Damaged Parquet files of a lake are named and omitted, and an import does not look like damage."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest

from fcreview.importers.registry import compute_metrics, discover, read_items
from fcreview.store.database import SqlError, StoreError
from fcreview.store.importing.source_files import DatasetOptions
from fcreview.store.lake import reader
from fcreview.store.lake.lake_files import LocalFiles, open_lake_files, read_lake
from fcreview.store.lake.writer import LakeImport, LakePart, import_part
from fcreview.store.store import Store, View
from fcreview.store.workspace import find_workspace
from tests.examples import only_long

QUERIES: dict[str, Callable[[Store], Any]] = {
    "runs": lambda store: store.fetch_runs(),
    "items": lambda store: store.fetch_page(View(queue="failures"), 0, 50),
    "show": lambda store: list(store.iter_details(View())),
    "triage": lambda store: store.fetch_clusters(View()),
    "report": lambda store: [
        compute_metrics(store.analysis.fetch_scored_items(row.run)["corrected"], row.info)
        for row in store.fetch_runs()
    ],
    "search": lambda store: store.count_items(View(where="text:zzz")),
    "export": lambda store: list(store.iter_label_batches(View())),
    "suspects": lambda store: store.analysis.fetch_audit_input(View()),
    "sql": lambda store: store.run_sql("SELECT sum(len(content)) FROM messages"),
    "functions": lambda store: store.run_sql("SELECT sum(len(document::VARCHAR)) FROM functions"),
}


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    paths = [samples / "bfcl", samples / "tau"]
    import_to_lake(folder, paths)
    return folder


def import_to_lake(folder: Path, paths: list[Path]) -> None:
    found = discover(paths)
    lake = LakeImport(
        open_lake_files(str(folder)),
        paths=paths,
        read=read_items,
        prepare=lambda *_: None,
        dataset_options=DatasetOptions(),
        n_workers=1,
    )
    import_part(lake, found.plans, found.issues, LakePart())


@pytest.fixture
def folder(intact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reader, "SECONDS_BEFORE_SECOND_LOOK", 0.0)
    return Path(shutil.copytree(intact, tmp_path / "lake"))


def open_store(folder: Path) -> Store:
    return Store.open(replace(find_workspace(folder, folder), lake=str(folder)), "alice")


def find_files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def flip_bits(path: Path, generator: random.Random, n_bits: int = 3) -> None:
    """Flip bits, most of them in the metadata at the end of the file."""
    data = bytearray(path.read_bytes())
    for _ in range(n_bits):
        is_in_metadata = generator.random() < 0.6
        start = max(0, len(data) - 3_000) if is_in_metadata else 0
        data[generator.randrange(start, len(data))] ^= 1 << generator.randrange(8)
    path.write_bytes(bytes(data))


def check_query(folder: Path, name: str, damaged: Path) -> str:
    """Return `answered`, `named` if the damaged file was named, or `refused` for a DuckDB that
    cannot go on. All other errors are raised.
    """
    try:
        with open_store(folder) as store:
            QUERIES[name](store)
            problems = store.damaged_files
    except StoreError as error:
        assert str(damaged.relative_to(folder)) in str(error)
        return "refused"
    if not problems:
        return "answered"
    assert all(str(damaged.parent.relative_to(folder)) in problem for problem in problems)
    return "named"


@pytest.mark.parametrize(
    ("seed", "n_files"), [(1, 4), pytest.param(2, 60, marks=[pytest.mark.sweep, only_long])]
)
def test_flipped_bits_are_named_and_omitted(folder: Path, seed: int, n_files: int) -> None:
    generator = random.Random(seed)
    outcomes = []
    for _ in range(n_files):
        damaged = generator.choice(find_files(folder, "*/*/*.parquet"))
        content = damaged.read_bytes()
        flip_bits(damaged, generator)
        for name in QUERIES if n_files > 10 else generator.sample(sorted(QUERIES), 3):
            outcomes.append(check_query(folder, name, damaged))
        damaged.write_bytes(content)
    assert outcomes.count("named") > n_files / 3


@pytest.mark.parametrize("table", ["items", "functions"])
def test_originals_replace_a_damaged_index(folder: Path, table: str) -> None:
    with open_store(folder) as store:
        expected = [query(store) for query in QUERIES.values()]
    (index,) = find_files(folder, f"_index/*/{table}.parquet")
    make_unreadable(index)
    with open_store(folder) as store:
        assert [query(store) for query in QUERIES.values()] == expected
        (problem,) = store.damaged_files
    assert f"{index} is damaged. Queries are slower without this index" in problem


def make_unreadable(path: Path) -> None:
    """Damage the compressed pages, so that DuckDB's error does not name the file."""
    data = bytearray(path.read_bytes())
    for position in range(4, len(data) // 2):
        data[position] ^= 0xFF
    path.write_bytes(bytes(data))


def test_sql_of_a_user_does_not_read_all_files_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_hashed = 0
    hash_file = LocalFiles.hash_file_content

    def count_and_hash(files: LocalFiles, lake_path: str) -> str:
        nonlocal n_hashed
        n_hashed += 1
        return hash_file(files, lake_path)

    monkeypatch.setattr(LocalFiles, "hash_file_content", count_and_hash)
    with open_store(folder) as store:
        for statement in ("SELEC 1", "SELECT missing FROM items", "FROM nothing"):
            with pytest.raises(SqlError):
                store.run_sql(statement)
        assert n_hashed == 0
        for _ in range(3):
            with pytest.raises(SqlError, match="Could not convert"):
                store.run_sql("SELECT id::INTEGER FROM items")
        n_files = len(find_files(folder, "*/*/*.parquet"))
        assert n_hashed == n_files, "once, and then the files are known to be intact"


@pytest.mark.parametrize("name", ["benchmark=tau", "benchmark=bfcl/run=*"])
def test_linked_folder_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    linked = find_files(folder, name)[0]
    shutil.move(linked, tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with open_store(folder) as store:
        assert all(row.info.benchmark for row in store.fetch_runs())
        problems = [each for each in store.damaged_files if "_index" not in each]
    assert problems == [f"{linked} is a symbolic link and is omitted. Replace it by a copy."]


def test_reader_looks_again_while_an_import_replaces_a_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Parquet file is replaced first, and `_run.json` a moment later."""
    run_json = find_files(folder, "benchmark=tau/run=*/_run.json")[0]
    content = run_json.read_bytes()
    run_json.unlink()
    restore = threading.Timer(0.1, run_json.write_bytes, [content])
    monkeypatch.setattr(reader, "SECONDS_BEFORE_SECOND_LOOK", 2.0)
    restore.start()
    with open_store(folder) as store:
        assert store.damaged_files == []
        assert len(store.runs) == len(read_lake(open_lake_files(str(folder))).runs)


def test_run_that_an_import_replaces_is_read_again(folder: Path, samples: Path) -> None:
    items = find_files(folder, "benchmark=tau/run=*/items.parquet")[0]
    before = items.read_bytes(), items.with_name("_run.json").read_bytes()
    description = orjson.loads(before[1])
    with open_store(folder) as store:
        run = store.fetch_runs()[0].run
        n_items = store.count_items(View(queue="dataset"))
        # Another import writes the same items with another compression level.
        rewrite_with_other_bytes(items)
        description["files"]["items.parquet"] = [
            items.stat().st_size,
            LocalFiles(folder).hash_file_content(items.relative_to(folder).as_posix()),
        ]
        items.with_name("_run.json").write_bytes(orjson.dumps(description))
        lake: Any = store.connection
        lake.omit_damaged_files(ValueError("a value that fcreview never writes"))
        assert store.damaged_files == []
        assert sum(len(part) for part in store.iter_details(View())) == n_items
        assert run in store.runs


def rewrite_with_other_bytes(path: Path) -> None:
    duckdb.execute(
        f"COPY (FROM read_parquet('{path}', hive_partitioning=false)) TO '{path}.new'"
        " (FORMAT parquet, COMPRESSION snappy)"
    )
    Path(f"{path}.new").rename(path)


def test_folder_without_a_lake_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=rf"there is no lake at {tmp_path}"):
        open_store(tmp_path)
