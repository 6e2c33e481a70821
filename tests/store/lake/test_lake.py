"""A lake has the same rows, verdicts, metrics and hashes as a store, for any division into
parts.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.matching.clusters import GROUPINGS
from fcreview.store.database import SqlError, StoreError
from fcreview.store.filters.search_sql import COMPUTED_COLUMNS
from fcreview.store.importing.source_files import DatasetOptions
from fcreview.store.lake.lake_files import open_lake_files, parse_lake_run, read_lake
from fcreview.store.lake.writer import LakeImport, LakePart, import_part
from fcreview.store.store import Store, View
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.queue.loader import _list_visible_warnings as visible_warnings
from tests.commands import environment
from tests.examples import LONG
from tests.sharing import Imports

TABLES = ("items", "messages", "calls", "pairs", "verdicts", "import_issues", "sources")
N_QUICK_RUNS = 3
"""Number of runs whose metrics and items are compared outside of the long form."""
NUMBERS = {"items": "item, run", "import_issues": "item, run", "sources": "run"}


def make_lake(folder: Path, paths: list[Path], part: LakePart = LakePart()) -> Workspace:  # noqa: B008 - frozen
    found = discover(paths)
    files = open_lake_files(str(folder))
    arguments = LakeImport(files, paths, read_items, lambda *_: None, DatasetOptions(), n_workers=1)
    import_part(arguments, found.plans, found.issues, part)
    return open_workspace(folder)


def open_workspace(folder: Path) -> Workspace:
    return replace(find_workspace(folder, folder), lake=str(folder))


def find_parquet_files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.glob("benchmark=*/*/*"))
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Workspace:
    return make_lake(tmp_path_factory.mktemp("lake"), [samples])


@pytest.fixture(scope="module")
def stores(lake: Workspace, samples: Path, imports: Imports) -> Iterator[tuple[Store, Store]]:
    """Return a store and a lake of the same runs."""
    with Store.open(imports.of([samples]), "alice") as store, Store.open(lake, "alice") as other:
        yield store, other


@pytest.fixture(scope="module")
def small_lake(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    return make_lake(tmp_path_factory.mktemp("small"), small_paths(samples)).parent_folder


def small_paths(samples: Path) -> list[Path]:
    return [samples / "bfcl", samples / "acebench"]


def runs_of(store: Store) -> dict[tuple[str, ...], int]:
    infos = {row.run: row.info for row in store.fetch_runs()}
    return {
        (r.benchmark, r.generation, r.language, r.model, r.path): run for run, r in infos.items()
    }


@pytest.mark.parametrize("table", TABLES)
def test_rows_equal_those_of_a_store(stores: tuple[Store, Store], table: str) -> None:
    numbers = NUMBERS.get(table, "item, run")  # The values differ.
    query = f"SELECT r.key, t.* EXCLUDE ({numbers}) FROM {table} t JOIN runs r USING (run)"
    one, other = (sorted(map(repr, store.run_sql(query)[1])) for store in stores)
    assert one == other
    assert len(one) > 3 or table == "import_issues"


def test_functions_and_runs_equal_those_of_a_store(stores: tuple[Store, Store]) -> None:
    for query in ("FROM functions", "SELECT * EXCLUDE (run, imported_at) FROM runs"):
        one, other = (sorted(map(repr, store.run_sql(query)[1])) for store in stores)
        assert one == other


def test_metrics_equal_those_of_a_store(stores: tuple[Store, Store]) -> None:
    """The long form tests all runs, which takes ten seconds."""
    one, other = stores
    assert runs_of(one).keys() == runs_of(other).keys()
    rows = [{row.run: row for row in store.fetch_runs()} for store in stores]
    for key, run in islice(runs_of(one).items(), None if LONG else N_QUICK_RUNS):
        there = runs_of(other)[key]
        assert rows[0][run] == replace(
            rows[1][there], run=run, n_search_issues=0, n_search_notices=0
        )
        assert one.analysis.fetch_scored_items(run) == other.analysis.fetch_scored_items(there)
        for by in range(len(GROUPINGS)):
            assert format_clusters(one, run, by) == format_clusters(other, there, by)
        view, view_there = (
            View(runs=(run,), queue="failures"),
            View(runs=(there,), queue="failures"),
        )
        assert [row.id for row in one.fetch_page(view, 0, 99)] == [
            row.id for row in other.fetch_page(view_there, 0, 99)
        ]
        assert one.measure_columns(view) == other.measure_columns(view_there)
        items = [
            [d.item for part in s.iter_details(View(runs=(n,))) for d in part]
            for s, n in ((one, run), (other, there))
        ]
        assert items[0] == items[1]


def format_clusters(store: Store, run: int, by: int) -> list[Any]:
    return [
        replace(each, first_item=0) for each in store.fetch_clusters(View(runs=(run,)), grouping=by)
    ]


@pytest.mark.sweep
@pytest.mark.process
def test_four_parts_in_four_processes_equal_one_import(tmp_path: Path, samples: Path) -> None:
    options = {"stdout": subprocess.DEVNULL, "env": environment(tmp_path)}
    program = [
        sys.executable,
        "-m",
        "fcreview.cli",
        "import",
        *map(str, small_paths(samples)),
        "--lake",
    ]
    commands = [[*program, str(tmp_path / "one")]]
    commands += [[*program, str(tmp_path / "four"), "--part", f"{part}/4"] for part in (1, 2, 3, 4)]
    processes = [subprocess.Popen(command, **options) for command in commands]
    assert [process.wait(120) for process in processes] == [0, 0, 0, 0, 0]

    assert find_parquet_files(tmp_path / "four") == find_parquet_files(tmp_path / "one")
    with (
        Store.open(open_workspace(tmp_path / "four")) as four,
        Store.open(open_workspace(tmp_path / "one")) as one,
    ):
        for query in (
            *(f"FROM {table} ORDER BY ALL" for table in TABLES),
            "FROM runs",
            "FROM functions ORDER BY hash",
        ):
            assert four.run_sql(query) == one.run_sql(query)
        assert four.fetch_runs() == one.fetch_runs()
        assert four.fetch_clusters(View()) == one.fetch_clusters(View())


@pytest.fixture
def small(tmp_path: Path, small_lake: Path) -> Workspace:
    shutil.copytree(small_lake, tmp_path / "lake")
    return open_workspace(tmp_path / "lake")


def test_part_imported_again_is_unchanged(small: Workspace, samples: Path) -> None:
    before = find_parquet_files(small.parent_folder)
    make_lake(small.parent_folder, small_paths(samples), LakePart(1, 2))
    make_lake(small.parent_folder, small_paths(samples), LakePart(2, 2))
    assert find_parquet_files(small.parent_folder) == before
    with Store.open(small) as store:  # Each run is read once, from one of the indexes.
        assert store.count_items(View()) == sum(row.n_items for row in store.fetch_runs())


def test_folder_with_another_name_does_not_stop_an_import(small: Workspace, samples: Path) -> None:
    stray = small.parent_folder / "benchmark=x" / "run=abc"
    stray.mkdir(parents=True)
    (stray / "_run.json").write_text("{}")
    before = find_parquet_files(small.parent_folder)
    make_lake(small.parent_folder, small_paths(samples))
    assert find_parquet_files(small.parent_folder) == before


@pytest.mark.parametrize("damage", ["missing", "bytes", "half"])
def test_damaged_run_is_named_and_others_are_read(small: Workspace, damage: str) -> None:
    folder = small.parent_folder
    victim = sorted(folder.glob("benchmark=*/run=*/items.parquet"))[0]
    content = victim.read_bytes()
    with Store.open(small) as store:
        sizes = {f"run={row.run}": row.n_items for row in store.fetch_runs()}
    if damage == "missing":
        victim.unlink()
    elif damage == "half":
        victim.with_name("_run.json").unlink()
    else:
        victim.write_bytes(b"x" * len(content))
    del sizes[victim.parent.name]
    with Store.open(small) as store:
        read = [d.item for part in store.iter_details(View()) for d in part]
        assert len(read) == sum(sizes.values())
        assert store.count_items(View(queue="dataset", where="text:zzz")) == 0
        assert {f"run={row.run}": row.n_items for row in store.fetch_runs()} == sizes
        assert any(victim.parent.name in problem for problem in store.damaged_files)
        assert visible_warnings(store)[0].startswith("lake: benchmark=")


@pytest.mark.parametrize("damage", [b"", b"x"])
def test_damaged_index_is_not_needed(small: Workspace, damage: bytes) -> None:
    file = next(small.parent_folder.glob("_index/*/items.parquet"))
    with Store.open(small) as store:
        rows, before = store.fetch_runs(), store.fetch_clusters(View())
    file.write_bytes(damage * file.stat().st_size)
    with Store.open(small) as store:
        assert store.fetch_runs() == rows
        assert store.fetch_clusters(View()) == before
        assert "_index" in store.damaged_files[0]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_parquet('{folder}/../other.parquet')",
        "SELECT * FROM read_text('{folder}/.fcreview/reviews/alice.jsonl')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY items TO '{folder}/x.csv'",
        "COPY items TO '/tmp/x.csv'",
        "ATTACH '/tmp/x.duckdb' AS x",
        "INSTALL httpfs",
        "DELETE FROM runs",
        "CREATE TABLE x AS FROM items",
        "SET enable_external_access = true",
        "SET VARIABLE items = ['/etc/hostname']",
    ],
)
def test_sql_can_only_read_the_lake(stores: tuple[Store, Store], text: str) -> None:
    folder = stores[1].workspace.parent_folder
    (folder / "../other.parquet").touch()
    with pytest.raises(SqlError):
        stores[1].run_sql(text.format(folder=folder))
    assert stores[1].run_sql("SELECT count(*) FROM items")[1][0][0] > 100


def rewrite(file: Path, columns: str) -> None:
    """Replace columns of a Parquet file, and record its new size."""
    duckdb.execute(
        f"CREATE OR REPLACE TABLE rewritten AS FROM read_parquet('{file}', hive_partitioning=false)"
    )
    duckdb.execute(f"COPY (SELECT {columns} FROM rewritten) TO '{file}' (FORMAT parquet)")
    (description,) = file.parent.glob("_*.json")
    content = orjson.loads(description.read_bytes())
    content["files"][file.name][0] = file.stat().st_size
    description.write_bytes(orjson.dumps(content))


@pytest.mark.parametrize("place", [0, pytest.param(-1, marks=pytest.mark.sweep)])
@pytest.mark.parametrize(
    "columns",
    [
        "* EXCLUDE (item)",
        "* REPLACE (id AS item)",
        "* REPLACE (7 AS verdicts)",
        "* EXCLUDE (messages)",
    ],
)
def test_run_with_other_columns_is_named_and_omitted(
    small: Workspace, columns: str, place: int
) -> None:
    files = sorted(
        small.parent_folder.glob("benchmark=*/run=*/items.parquet"),
        key=lambda file: file.parent.name,
    )
    numbers = [int(file.parent.name.removeprefix("run=")) for file in files]
    victim = files[numbers.index(sorted(numbers)[place])]
    rewrite(victim, columns)
    with Store.open(small, "alice") as store:
        details = [detail for part in store.iter_details(View()) for detail in part]
        assert len(details) == sum(row.n_items for row in store.fetch_runs())
        assert victim.parent.name not in {f"run={row.run}" for row in store.fetch_runs()}
        problems = store.damaged_files
        assert sum(f"{victim} is damaged" in each for each in problems) == 1


@pytest.mark.parametrize(
    "columns",
    [
        "* EXCLUDE (item)",
        "* REPLACE (7 AS category)",
        "* EXCLUDE (near_miss)",
        "* REPLACE (nullif(seq, 1) AS seq)",
    ],
)
def test_index_with_other_columns_is_not_used(small: Workspace, columns: str) -> None:
    with Store.open(small) as store:
        rows = store.fetch_runs()
    file = next(small.parent_folder.glob("_index/*/items.parquet"))
    rewrite(file, columns)
    with Store.open(small) as store:
        assert store.fetch_runs() == rows
        assert f"{file} is damaged" in store.damaged_files[0]


@pytest.mark.parametrize(
    "columns", ["* REPLACE (nullif(seq, 0)::BIGINT AS item)", "* REPLACE (NULL::VARCHAR AS id)"]
)
def test_item_that_only_the_index_has_is_named(small: Workspace, columns: str) -> None:
    victim = next(small.parent_folder.glob("benchmark=*/run=*/items.parquet"))
    build = parse_lake_run(victim.with_name("_run.json").read_bytes()).content_hash
    rewrite(victim, columns)
    index = next(small.parent_folder.glob("_index/*/_index.json"))
    new_build = parse_lake_run(victim.with_name("_run.json").read_bytes()).content_hash
    index.write_text(index.read_text().replace(build, new_build))
    with Store.open(small) as store:
        item = store.fetch_page(View(runs=(int(victim.parent.name.removeprefix("run=")),)), 0, 1)[
            0
        ].item
        with pytest.raises(StoreError, match=f"{victim.parent.name}/items.parquet is damaged"):
            store.read_detail(item)


@pytest.mark.parametrize("column", ["item", "id", "category"])
def test_audit_names_and_omits_run_with_empty_values(small: Workspace, column: str) -> None:
    victim = next(small.parent_folder.glob("benchmark=*/run=*/items.parquet"))
    rewrite(victim, f"* REPLACE (CASE WHEN seq > 0 THEN {column} END AS {column})")
    with Store.open(small) as store:
        questions = store.analysis.fetch_audit_input(View()).questions
        assert len({question.key for question in questions}) == len(questions) > 0
        (problem,) = store.damaged_files
        assert problem.startswith(f"{victim} is damaged (")


def test_index_that_does_not_match_its_runs_is_not_used(small: Workspace) -> None:
    with Store.open(small) as store:
        rows = store.fetch_runs()
    rewrite(next(small.parent_folder.glob("_index/*/items.parquet")), "DISTINCT ON (run) *")
    with Store.open(small) as store:
        assert store.fetch_runs() == rows
        assert "does not match its runs (" in store.damaged_files[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", None),
        ("tags", [1]),
        ("settings", "x"),
        ("n_items", "5"),
        ("run", 1.5),
        ("official_metrics", []),
    ],
)
def test_run_with_invalid_values_is_named_and_omitted(
    small: Workspace, name: str, value: object
) -> None:
    victim = next(small.parent_folder.glob("benchmark=*/run=*/_run.json"))
    content = orjson.loads(victim.read_bytes())
    content["row"][name] = value
    victim.write_bytes(orjson.dumps(content))
    with Store.open(small) as store:
        assert victim.parent.name not in {f"run={row.run}" for row in store.fetch_runs()}
        assert f"{victim} is damaged" in store.damaged_files[0]


def test_index_of_an_older_version_gives_the_same_items(
    lake: Workspace, stores: tuple[Store, Store], tmp_path: Path
) -> None:
    """An index without computed columns is read, but it is slower."""
    shutil.copytree(lake.parent_folder, tmp_path / "old")
    for file in (tmp_path / "old").glob("_index/*/items.parquet"):
        description = file.with_name("_index.json")
        content = orjson.loads(description.read_bytes())
        del content["computed"]
        description.write_bytes(orjson.dumps(content))
        rewrite(file, f"* EXCLUDE ({', '.join(COMPUTED_COLUMNS)})")
    filters = (
        "judge:pass",
        "judge:fail",
        "judge:any",
        "judge:unknown",
        "effective:fail",
        "error:*",
    )
    views = [*map(View, filters), View(queue="uncertain"), View(queue="judged")]
    with Store.open(open_workspace(tmp_path / "old")) as old:
        counts = [[store.count_items(view) for view in views] for store in (*stores, old)]
        assert counts[0] == counts[1] == counts[2]
        assert all(counts[0])
        assert old.damaged_files == []


def test_lake_of_another_version_is_refused(small: Workspace) -> None:
    (small.parent_folder / "_lake.json").write_text('{"format": 1, "schema": "1"}')
    with pytest.raises(StoreError, match="another version"):
        Store.open(small)


def test_links_in_a_lake_are_ignored(small: Workspace, tmp_path: Path) -> None:
    victim = next(small.parent_folder.glob("benchmark=*/run=*/items.parquet"))
    victim.rename(tmp_path / "elsewhere.parquet")
    victim.symlink_to(tmp_path / "elsewhere.parquet")
    contents = read_lake(open_lake_files(str(small.parent_folder)))
    assert victim.parent.name not in {f"run={run}" for run in contents.runs}
    assert any("is missing" in problem for problem in contents.problems)
