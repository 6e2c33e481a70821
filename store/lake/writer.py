"""Import one part of the runs into a lake, through temporary stores whose rows are copied to
Parquet files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from duckdb import DuckDBPyConnection as Connection

from fcreview.model.item import ImportIssue
from fcreview.run_plan import RunPlan
from fcreview.safe_files import WorkspaceFiles
from fcreview.store.database import SCHEMA_VERSION, StoreError, connect_in_memory, quote_path
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.importing.source_files import (
    DatasetOptions,
    build_run_key,
    hash_file,
    iter_source_kinds_and_paths,
)
from fcreview.store.importing.workers import ImportProgressCallback, RunReader
from fcreview.store.lake import lake_files
from fcreview.store.lake.lake_files import LAKE_FILE, LakeFiles
from fcreview.store.rows import ITEM_NUMBERS_PER_RUN, ImportSummary
from fcreview.store.workspace import Workspace, find_workspace

RUN_ROW_GROUP = 4_096
INDEX_ROW_GROUP = 32_768
FUNCTIONS_ROW_GROUP = 2_048
"""Number of rows in a row group of each Parquet file.

To read an item, DuckDB reads a whole row group.
"""
_ISSUE_COLUMNS = "id, file, line, what, raw, severity"
LakeNumbers = dict[int, int]
"""Number of each run in the lake, by its number in the temporary store."""


def derive_run_number(run_key: str) -> int:
    """Derive the number of a run in a lake from its key, so that every machine computes the same
    number. `LakeWriter` chooses another number if a different run has this one.
    """
    return max(1, int(lake_files.hash_text(run_key, 8), 16) % (1 << lake_files.RUN_BITS))


class LakeWriter:
    """Writes the runs of one part of an import to a lake.

    Use it as a context manager and call `write_index_of_added_runs` last.
    """

    def __init__(self, files: LakeFiles, part: str, scratch: Path) -> None:
        """Open a lake to add runs to it, or create it if it is missing.

        Raises StoreError if another version of fcreview wrote the lake, and OSError if it cannot be
        written.

        Args:
            files: The files of the lake.
            part: Name of the index for the added runs.
            scratch: An empty local folder for files that are then copied to the lake.
        """
        self._files = files
        self._scratch = scratch
        self._index = lake_files.LakeIndex(part, {}, computed=lake_files.COMPUTED_COLUMNS_VERSION)
        # Parquet files in the scratch folder, by table and run number
        self._copies: dict[str, dict[int, Path]] = {}
        self.connection = _connect(scratch)
        self._folder_by_run = _find_run_folders(files)
        _write_marker(files)

    def __enter__(self) -> LakeWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def add_runs(self, workspace: Workspace) -> LakeNumbers:
        """Write all runs of a workspace's store to the lake, and return their numbers in the
        lake.
        """
        execute = self.connection.execute
        execute(f"ATTACH {quote_path(workspace.store)} AS store (READ_ONLY)")
        try:
            found = execute(
                "SELECT run, key, CAST(to_json(r) AS VARCHAR) FROM store.runs r ORDER BY key"
            ).fetchall()
            return {
                number: self._add_run_from_store(number, key, orjson.loads(row))
                for number, key, row in found
            }
        finally:
            execute("DETACH store")

    def _add_run_from_store(self, store_number: int, run_key: str, row: dict[str, Any]) -> int:
        """Copy a run of the local store to the lake, and return its number there.

        Args:
            store_number: Number of the run in the store.
            run_key: Key of the run, by which the lake finds an earlier version.
            row: The run's row of the table `runs`. Its number and time are changed.
        """
        rows = self.connection.execute(
            "SELECT CAST(to_json(s) AS VARCHAR) FROM store.sources s WHERE run = ? ORDER BY kind,"
            " path",
            [store_number],
        )
        sources = [orjson.loads(text) for (text,) in rows.fetchall()]
        lake_number = self._choose_free_run_number(run_key)
        row |= {"run": lake_number, "imported_at": _format_newest_time(sources)}
        self.write_run(row, sources, _build_run_queries(store_number, lake_number))
        # An earlier import of the run that failed has written its issues to this file.
        self._files.remove_file(f"_issues/{lake_files.hash_text(run_key)}.json")
        return lake_number

    def write_run(
        self, row: dict[str, Any], sources: list[dict[str, Any]], queries: dict[str, str]
    ) -> None:
        """Write a run. `row` is its row in the table `runs`, and `sources` are its rows in
        `sources`. `queries` has the SQL for the rows of each Parquet file.

        The file that describes the run comes last, so that it has the hashes of the Parquet files.
        """
        number = int(row["run"])
        run = lake_files.LakeRun(row, [source | {"run": number} for source in sources])
        self._folder_by_run[number] = run.folder
        for table, query in queries.items():
            self._write_table_of_run(run, table, query)
        self._files.write_file(f"{run.folder}/{lake_files.RUN_FILE}", run.to_json())
        self._index.runs[number] = run.content_hash

    def _write_table_of_run(self, run: lake_files.LakeRun, table: str, query: str) -> None:
        """Write the rows of a run to a Parquet file, and note its size and hash in the run."""
        scratch_path = self._scratch / f"{run.number}.{table}"
        n_rows = self._copy_rows_of_run(table, query, scratch_path)
        size_and_hash = self._update_file(run.folder, table, scratch_path, n_rows)
        if size_and_hash is not None:
            run.files[f"{table}.parquet"] = size_and_hash
            # `write_index_of_added_runs` joins the copies in the scratch folder.
            self._copies.setdefault(table, {})[run.number] = scratch_path

    def _copy_rows_of_run(self, table: str, query: str, path: Path) -> int:
        """Write the rows of a run to a local Parquet file, and return their number."""
        if table == "items":
            # Copying the rows first makes the bytes of the file independent of the other runs in
            # the store.
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE copied AS {query}")
            query = "FROM copied ORDER BY item"
        return self._copy_rows(query, path, RUN_ROW_GROUP)

    def _choose_free_run_number(self, run_key: str) -> int:
        """Return the run's number from `derive_run_number` or, if another run has this number,
        the next free number.
        """
        number = derive_run_number(run_key)
        while number in self._folder_by_run:
            # The new run also replaces a damaged or incomplete run.
            existing_key = self._read_run_key(self._folder_by_run[number])
            if existing_key in (None, run_key):
                break
            number += 1
        return number

    def _read_run_key(self, folder: str) -> str | None:
        """Return the key of the run in a folder; None if the run is damaged or incomplete."""
        name = f"{folder}/{lake_files.RUN_FILE}"
        try:
            content = self._files.read_files([name])[name]
            key = lake_files.parse_lake_run(content).row["key"]
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        return str(key)

    def _copy_rows(self, query: str, path: Path, row_group_size: int) -> int:
        """Write the rows of a query to a local Parquet file, and return their number.

        `row_group_size` is the number of rows that are compressed together.
        """
        options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group_size}"
        copied = self.connection.execute(f"COPY ({query}) TO {quote_path(path)} ({options})")
        ((n_rows,),) = copied.fetchall()
        return int(n_rows)

    def _update_file(
        self, folder: str, table: str, path: Path, n_rows: int
    ) -> lake_files.SizeAndHash | None:
        """Copy a local file with `n_rows` rows of a table to a folder of the lake, and return its
        size and hash.

        The lake has no files without rows, except that of the items. So without rows, an earlier
        file of the table is removed, and None is returned.
        """
        name = f"{folder}/{table}.parquet"
        if n_rows == 0 and table != "items":
            self._files.remove_file(name)
            return None
        self._files.copy_file(name, path)
        return path.stat().st_size, hash_file(path)

    def write_issues(self, issues: Iterable[dict[str, Any]], file_name: str) -> None:
        """Write import issues that belong to no run of the lake.

        They replace the file with the same name.
        """
        rows = []
        for issue in issues:
            rows.append(
                {
                    "run": None,
                    "item": None,
                    "id": issue["item"],
                    "file": issue["file"] or "",
                    "line": issue["line"],
                    "what": issue["what"],
                    "raw": issue["raw"],
                    "severity": issue["severity"],
                }
            )

        lake_path = f"_issues/{file_name}.json"
        if rows:
            content = orjson.dumps(rows, option=orjson.OPT_INDENT_2)
            self._files.write_file(lake_path, content)
        else:
            self._files.remove_file(lake_path)

    def write_index_of_added_runs(self) -> None:
        """Write an index: files that combine the rows of all added runs, so that a reader opens few
        files instead of several for each run.
        """
        if not self._index.runs:
            return
        for table, path_by_run in self._copies.items():
            paths = [path for _, path in sorted(path_by_run.items())]
            size_and_hash = self._write_index_table(table, paths)
            if size_and_hash is not None:
                self._index.files[f"{table}.parquet"] = size_and_hash
        self._files.write_file(
            f"{self._index.folder}/{lake_files.INDEX_FILE}", self._index.to_json()
        )

    def _write_index_table(
        self, table: str, paths: Sequence[Path]
    ) -> lake_files.SizeAndHash | None:
        """Join the files with the rows of a table in the index.

        Returns the size and hash of the written file, or None if there are no rows.
        """
        files = ", ".join(quote_path(path) for path in paths)
        query = _build_index_query(table, f"read_parquet([{files}], hive_partitioning=false)")
        row_group_size = FUNCTIONS_ROW_GROUP if table == "functions" else INDEX_ROW_GROUP
        scratch_path = self._scratch / f"index.{table}"
        n_rows = self._copy_rows(query, scratch_path, row_group_size)
        return self._update_file(self._index.folder, table, scratch_path, n_rows)


def _connect(scratch: Path) -> Connection:
    """Open an empty database that uses one thread and little memory."""
    connection = connect_in_memory()
    connection.execute("SET enable_progress_bar = false; SET threads = 1")
    connection.execute(f"SET memory_limit = '1GB'; SET temp_directory = {quote_path(scratch)}")
    return connection


def _write_marker(files: LakeFiles) -> None:
    """Write the file that makes a folder a lake.

    Raises StoreError if the folder is a lake of another version.
    """
    marker = orjson.dumps({"format": lake_files.FORMAT, "schema": SCHEMA_VERSION})
    existing_marker = files.read_files([LAKE_FILE]).get(LAKE_FILE)
    if existing_marker is not None and existing_marker != marker:
        raise StoreError(f"the lake {files.location} {lake_files.OTHER_VERSION}")
    files.write_file(LAKE_FILE, marker)


def _format_newest_time(sources: Iterable[dict[str, Any]]) -> str:
    """Return the time of the newest source file of a run. With this time as that of the import,
    equal files give an equal lake.
    """
    newest_ns = max((source["mtime_ns"] for source in sources), default=0)
    return datetime.fromtimestamp(newest_ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _find_run_folders(files: LakeFiles) -> dict[int, str]:
    """Return the folder of each run in the lake, by number: `benchmark=bfcl/run=7`."""
    folders = {}
    for name in files.list_file_sizes():
        if not name.startswith("benchmark="):
            continue
        folder, _, _ = name.rpartition("/")
        _, _, number = folder.rpartition("=")
        if number.isdecimal():
            folders[int(number)] = folder
    return folders


def _build_run_queries(store_number: int, lake_number: int) -> dict[str, str]:
    """Return a query for each table that selects the rows of a run from the store, with the numbers
    that its run and items have in the lake.

    Args:
        store_number: Number of the run in the store.
        lake_number: Number of the run in the lake.
    """
    # The number of an item is that of its run times `ITEM_NUMBERS_PER_RUN`, plus its position.
    first_item = f"{lake_number}::BIGINT * {ITEM_NUMBERS_PER_RUN}"
    run = f"{lake_number}::INTEGER"
    position_in_run = f"item % {ITEM_NUMBERS_PER_RUN}"
    functions_of_run = f"SELECT unnest(functions) FROM store.item_rows WHERE run = {store_number}"
    return {
        "items": _build_items_query(store_number, item=f"{first_item} + i.seq", run=run),
        "functions": (
            f"SELECT * FROM store.functions WHERE hash IN ({functions_of_run}) ORDER BY hash"
        ),
        "import_issues": (
            f"SELECT {run} AS run, {first_item} + ({position_in_run}) AS item, {_ISSUE_COLUMNS}"
            f" FROM store.import_issues WHERE run = {store_number} ORDER BY rowid"
        ),
    }


def _build_items_query(store_number: int, item: str, run: str) -> str:
    """Return the query for the items of a run of the store. `item` and `run` are the SQL of their
    numbers in the lake.

    A row of the store refers to a question that several items share. In the lake, each item has the
    messages and calls of its question itself, and refers to none.
    """
    columns = (
        f"{item} AS item",
        f"{run} AS run",
        "i.* EXCLUDE (item, run, question_hash, messages, calls)",
        "NULL::BIGINT AS question_hash",
        "list_concat(q.messages, i.messages) AS messages",
        "list_concat(q.calls, i.calls) AS calls",
    )
    return (
        f"SELECT {', '.join(columns)}"
        " FROM store.item_rows i LEFT JOIN store.questions q ON q.hash = i.question_hash"
        f" WHERE i.run = {store_number} ORDER BY i.item"
    )


BATCH_BYTES = (
    1_000_000_000  # total size in bytes of the files that are imported into one temporary store
)


@dataclass(frozen=True, slots=True)
class LakePart:
    """One of the `count` parts of an import into a lake. `number` is from 1 to `count`."""

    number: int = 1
    count: int = 1

    def contains_run(self, run_key: str) -> bool:
        """Whether the part includes the run with this key.

        This does not depend on the other runs.
        """
        return derive_run_number(lake_files.hash_text(run_key)) % self.count == self.number - 1

    def build_index_name(self, paths: Sequence[Path]) -> str:
        """Return the name of the index that this part of an import of these paths writes."""
        joined_paths = "\0".join(sorted(str(path) for path in paths))
        import_hash = lake_files.hash_text(joined_paths, 6)
        return f"{import_hash}-{self.number}-of-{self.count}"


@dataclass(frozen=True, slots=True)
class LakeImport:
    """The arguments of an import into a lake that are the same for all parts."""

    files: LakeFiles
    paths: Sequence[Path]
    read: RunReader
    prepare: Callable[[Sequence[RunPlan], Workspace], None]  # sets the decoders and errata of plans
    dataset_options: DatasetOptions
    on_progress: ImportProgressCallback | None = None
    n_workers: int | None = None  # Number of processes. None chooses it by the size of the files.
    on_batch: Callable[[Workspace, LakeNumbers], None] = lambda *_: None
    """Called after each batch with the workspace of the temporary store and the numbers of its
    runs in the lake.
    """


def import_part(
    lake: LakeImport, plans: Sequence[RunPlan], issues: Sequence[ImportIssue], part: LakePart
) -> ImportSummary:
    """Import one part of the runs into a lake. Several processes can import a part each.

    Every part gets the same plans and issues, and selects its own runs, which are imported in
    batches into a temporary store. The returned summary has the run numbers of the lake, and 0 for
    a run that failed. Its issues are those of the search for runs, then those of the runs.
    """
    summary = ImportSummary()
    index_name = part.build_index_name(lake.paths)
    # The name of an index begins with that of the import, which is the same for all its parts.
    import_name, _, _ = index_name.partition("-")
    with tempfile.TemporaryDirectory(prefix="fcreview-lake-") as name:
        scratch = Path(name)
        own_plans, issues_of_plans = _select_plans_of_part(plans, part, scratch)
        search_issues = [asdict(issue) for issue in [*issues, *issues_of_plans]]

        WorkspaceFiles(scratch).make_folder(scratch / "parquet")
        with LakeWriter(lake.files, index_name, scratch / "parquet") as writer:
            for number, batch in enumerate(_split_into_batches(own_plans)):
                batch_folder = scratch / f"batch-{number}"
                _import_batch(lake, batch, batch_folder, writer, summary)
            writer.write_issues(search_issues, import_name)
            writer.write_index_of_added_runs()
    summary.issues = search_issues + summary.issues
    return summary


def _select_plans_of_part(
    plans: Sequence[RunPlan], part: LakePart, scratch: Path
) -> tuple[list[RunPlan], list[ImportIssue]]:
    """Select the plans of the runs that belong to a part of the lake, each run once, sorted by key.
    Several machines can each import one part.

    `scratch` is a folder that contains no run.
    """
    # The key of a run has its path relative to the workspace, or an absolute path for a run
    # outside. All runs are outside of this workspace, so all machines compute the same keys.
    workspace = find_workspace(scratch, override=scratch)
    by_key: dict[str, RunPlan] = {}
    issues = []
    for plan in plans:
        first_plan = by_key.setdefault(build_run_key(workspace, plan.run), plan)
        if first_plan is not plan:
            what = f"run {plan.run.model} was found twice. The first one is imported"
            issues.append(ImportIssue(plan.run.path, what=what))
    return [by_key[key] for key in sorted(by_key) if part.contains_run(key)], issues


def _split_into_batches(plans: Sequence[RunPlan]) -> Iterator[list[RunPlan]]:
    """Yield the plans in batches of a limited size of result files."""
    batch: list[RunPlan] = []
    n_bytes = 0
    for plan in plans:
        batch.append(plan)
        n_bytes += _measure_result_files(plan)
        if n_bytes >= BATCH_BYTES:
            yield batch
            batch = []
            n_bytes = 0
    if batch:
        yield batch


def _measure_result_files(plan: RunPlan) -> int:
    """Return the size of the run's files in bytes, without its dataset."""
    n_bytes = 0
    for kind, path in iter_source_kinds_and_paths(plan):
        if kind != "data" and path.is_file():
            n_bytes += path.stat().st_size
    return n_bytes


def _build_index_query(table: str, source: str) -> str:
    """Return the query for the rows of an index, which has no large columns."""
    if table == "items":
        large_columns = ", ".join(lake_files.LARGE_COLUMNS)
        return (
            f"SELECT * EXCLUDE ({large_columns}), {lake_files.COMPUTED_COLUMNS_SQL} FROM {source} i"
        )
    if table == "functions":
        # Several runs have the same functions.
        return (
            "SELECT hash, any_value(name) AS name, any_value(document) AS document"
            f" FROM {source} GROUP BY hash ORDER BY hash"
        )
    return f"FROM {source}"


def _import_batch(
    lake: LakeImport,
    plans: Sequence[RunPlan],
    folder: Path,
    writer: LakeWriter,
    summary: ImportSummary,
) -> None:
    """Import a batch of runs into a temporary workspace, copy them to the lake, and add their rows
    and issues to the summary.

    `folder` is the one for the workspace. At the end, it no longer has the store, which is large.
    """
    workspace = find_workspace(folder, override=folder)
    lake.prepare(plans, workspace)
    result = import_runs(
        workspace,
        plans,
        lake.read,
        on_progress=lake.on_progress,
        n_workers=lake.n_workers,
        dataset_options=lake.dataset_options,
    )

    # The temporary store and the lake number the runs differently.
    lake_number_by_run = writer.add_runs(workspace)
    lake.on_batch(workspace, lake_number_by_run)
    for row in result.runs:
        if row["status"] == "failed":
            _write_issues_of_failed_run(row, result.issues, writer, workspace)
        summary.runs.append(row | {"run": lake_number_by_run.get(row["run"], 0)})
    for issue in result.issues:
        run = issue.get("run")
        if run is not None:
            issue = issue | {"run": lake_number_by_run.get(run, 0)}
        summary.issues.append(issue)
    workspace.files.remove(workspace.store)


def _write_issues_of_failed_run(
    row: dict[str, Any], issues: Sequence[dict[str, Any]], writer: LakeWriter, workspace: Workspace
) -> None:
    """Write the issues of a run that failed. The next successful import of the run removes them."""
    path = workspace.to_stored_path(row["path"])
    key = orjson.dumps(
        [row["benchmark"], row["generation"], row["language"], row["model"], path]
    ).decode()
    own = [issue for issue in issues if issue.get("run") is None and issue["file"] == row["path"]]
    writer.write_issues(own, lake_files.hash_text(key))
