"""Import one part of the runs into a lake: import them into temporary stores, and copy these to Parquet files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from fcreview.model.item import ImportIssue
from fcreview.run_plan import RunPlan
from fcreview.safe_files import WorkspaceFiles
from fcreview.store.database import SCHEMA_VERSION, StoreError, connect_in_memory, quote_literal
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.importing.source_files import DatasetOptions, build_run_key, hash_file, iter_files
from fcreview.store.importing.workers import ImportProgressCallback, RunReader
from fcreview.store.lake import lake_files
from fcreview.store.lake.lake_files import LAKE_FILE, LakeFiles
from fcreview.store.rows import ImportSummary
from fcreview.store.workspace import Workspace, find_workspace

RUN_ROW_GROUP, INDEX_ROW_GROUP, FUNCTIONS_ROW_GROUP = 4_096, 32_768, 2_048  # in rows; reading an item reads its group
_ISSUE_COLUMNS = "id, file, line, what, raw, severity"


class LakeWriter:
    """Writes the runs of one part of an import. Use it as a context manager and call `finish` at the end."""

    def __init__(self, files: LakeFiles, part: str, scratch: Path) -> None:
        """Create the lake if it is missing.

        `part` is the name of the part's index, and `scratch` an empty folder for files before they are copied to the
        lake. Raises StoreError if another version wrote the lake; OSError if it cannot be written.
        """
        self._files, self._part, self._scratch = files, part, scratch
        self._index = lake_files.LakeIndex(part, {}, computed=lake_files.COMPUTED_COLUMNS_VERSION)
        self._copies: dict[str, dict[int, Path]] = {}  # Parquet file by table and run number
        self.connection = connect_in_memory()
        self.connection.execute("SET enable_progress_bar = false; SET threads = 1")
        self.connection.execute(f"SET memory_limit = '1GB'; SET temp_directory = {quote_literal(scratch)}")
        folders = (name.rpartition("/")[0] for name in files.list_sizes() if name.startswith("benchmark="))
        numbers = ((folder.rpartition("=")[2], folder) for folder in folders)
        self._taken = {int(number): folder for number, folder in numbers if number.isdecimal()}
        """Folder of each run in the lake, by number."""
        marker = orjson.dumps({"format": lake_files.FORMAT, "schema": SCHEMA_VERSION})
        if files.read_all([LAKE_FILE]).get(LAKE_FILE, marker) != marker:
            raise StoreError(f"the lake {files.location} {lake_files.OTHER_VERSION}")
        files.write(LAKE_FILE, marker)

    def __enter__(self) -> LakeWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def add_runs(self, workspace: Workspace) -> dict[int, int]:
        """Write all runs of a store. Returns run number in the store -> run number in the lake."""
        execute = self.connection.execute
        execute(f"ATTACH {quote_literal(workspace.store)} AS store (READ_ONLY)")
        try:
            found = execute("SELECT run, key, CAST(to_json(r) AS VARCHAR) FROM store.runs r ORDER BY key").fetchall()
            return {number: self._add_run(number, key, orjson.loads(row)) for number, key, row in found}
        finally:
            execute("DETACH store")

    def _add_run(self, number: int, key: str, row: dict[str, Any]) -> int:
        rows = self.connection.execute(
            "SELECT CAST(to_json(s) AS VARCHAR) FROM store.sources s WHERE run = ? ORDER BY kind, path", [number]
        )
        sources = [orjson.loads(text) for (text,) in rows.fetchall()]
        lake_number = self._choose_number(key)
        newest = max((source["mtime_ns"] for source in sources), default=0)
        time = datetime.fromtimestamp(newest // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        row |= {"run": lake_number, "imported_at": time}  # The same files give the same lake, whenever imported.
        self.write_run(row, sources, _build_queries_of_run(number, lake_number))
        self._files.remove(f"_issues/{lake_files.digest(key)}.json")
        return lake_number

    def write_run(self, row: dict[str, Any], sources: list[dict[str, Any]], queries: dict[str, str]) -> None:
        """Write a run. `row` and `sources` are its rows in the tables `runs` and `sources`. `queries`: Parquet file ->
        SQL that selects its rows."""
        number = int(row["run"])
        run = lake_files.LakeRun(row, [source | {"run": number} for source in sources])
        self._taken[number] = run.folder
        for table, query in queries.items():
            self._write_table(run.folder, table, query, RUN_ROW_GROUP, run.files)
            if f"{table}.parquet" in run.files:
                self._copies.setdefault(table, {})[number] = self._scratch / f"{number}.{table}"
        self._files.write(f"{run.folder}/{lake_files.RUN_FILE}", run.to_json())
        self._index.runs[number] = run.content_hash

    def _choose_number(self, key: str) -> int:
        """Return a number for the run in the lake: `number_of_key` or, if another run has this number, the next free
        number."""
        number = lake_files.number_of_key(key)
        while (folder := self._taken.get(number)) is not None:
            name = f"{folder}/{lake_files.RUN_FILE}"
            try:
                if lake_files.parse_run(self._files.read_all([name])[name]).row["key"] == key:
                    break
            except (ValueError, KeyError, TypeError, AttributeError):
                break  # a damaged or incomplete run is replaced
            number += 1
        return number

    def _write_table(
        self, folder: str, table: str, query: str, row_group: int, files: dict[str, tuple[int, str]]
    ) -> None:
        number = folder.rpartition("=")[2] if "=" in folder else "index"
        path = self._scratch / f"{number}.{table}"
        if table == "items" and number != "index":
            # With a copy, the file has the same bytes whatever other runs the store contains.
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE copied AS {query}")
            query = "FROM copied ORDER BY item"
        count = self.connection.execute(
            f"COPY ({query}) TO {quote_literal(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group})"
        ).fetchall()[0][0]
        name = f"{table}.parquet"
        if not count and table != "items":
            self._files.remove(f"{folder}/{name}")
            return
        self._files.put(f"{folder}/{name}", path)
        files[name] = (path.stat().st_size, hash_file(path))

    def write_issues(self, issues: Iterable[dict[str, Any]], name: str) -> None:
        """Replace the file of issues with this name. The issues belong to no run of the lake."""
        rows = [
            {"run": None, "item": None, "id": issue["item"], "file": issue["file"] or ""}
            | {field: issue[field] for field in ("line", "what", "raw", "severity")}
            for issue in issues
        ]
        if rows:
            self._files.write(f"_issues/{name}.json", orjson.dumps(rows, option=orjson.OPT_INDENT_2))
        else:
            self._files.remove(f"_issues/{name}.json")

    def finish(self) -> None:
        """Write the index of this part of the import."""
        if not self._index.runs:
            return
        large = ", ".join(lake_files.LARGE_COLUMNS)
        for table, paths in self._copies.items():
            files = ", ".join(quote_literal(path) for _, path in sorted(paths.items()))
            source = f"read_parquet([{files}], hive_partitioning=false)"
            small = f"SELECT * EXCLUDE ({large}), {lake_files.COMPUTED_COLUMNS_SQL} FROM {source} i"
            query = small if table == "items" else f"FROM {source}"
            if table == "functions":
                query = f"SELECT hash, any_value(name) AS name, any_value(document) AS document {query} GROUP BY hash"
                query += " ORDER BY hash"
            row_group = FUNCTIONS_ROW_GROUP if table == "functions" else INDEX_ROW_GROUP
            self._write_table(self._index.folder, table, query, row_group, self._index.files)
        self._files.write(f"{self._index.folder}/{lake_files.INDEX_FILE}", self._index.to_json())


def _build_queries_of_run(number: int, lake_number: int) -> dict[str, str]:
    item = f"{lake_number}::BIGINT * 4294967296 + "
    return {
        "items": f"SELECT {item} i.seq AS item, {lake_number}::INTEGER AS run, i.* EXCLUDE (item, run, question_hash,"
        " messages, calls), NULL::BIGINT AS question_hash,"
        " list_concat(q.messages, i.messages) AS messages, list_concat(q.calls, i.calls) AS calls"
        " FROM store.item_rows i LEFT JOIN store.questions q ON q.hash = i.question_hash"
        f" WHERE i.run = {number} ORDER BY i.item",
        "functions": "SELECT * FROM store.functions WHERE hash IN"
        f" (SELECT unnest(functions) FROM store.item_rows WHERE run = {number}) ORDER BY hash",
        "import_issues": f"SELECT {lake_number}::INTEGER AS run, {item} (item & 4294967295) AS item, {_ISSUE_COLUMNS}"
        f" FROM store.import_issues WHERE run = {number} ORDER BY rowid",
    }


BATCH_BYTES = 1_000_000_000  # size in bytes of the files that one temporary store is built from


@dataclass(frozen=True, slots=True)
class LakePart:
    """One part of an import into a lake. `number` is from 1 to `count`."""

    number: int = 1
    count: int = 1

    def contains_run(self, key: str) -> bool:
        """Whether the run with this key belongs to the part. The part of a run does not depend on the other runs."""
        return lake_files.number_of_key(lake_files.digest(key)) % self.count == self.number - 1

    def index_name(self, paths: Sequence[Path]) -> str:
        """Return the name of the part's index in an import of these paths."""
        return f"{lake_files.digest(chr(0).join(sorted(map(str, paths))), 6)}-{self.number}-of-{self.count}"


@dataclass(frozen=True, slots=True)
class LakeImport:
    """The arguments of an import into a lake that all parts share."""

    files: LakeFiles
    paths: Sequence[Path]
    read: RunReader
    prepare: Callable[[Sequence[RunPlan], Workspace], None]  # sets the decoders and errata of plans
    dataset_options: DatasetOptions
    on_progress: ImportProgressCallback | None = None
    n_workers: int | None = None  # number of processes; None to choose by the size of the files
    on_batch: Callable[[Workspace, dict[int, int]], None] = lambda *_: None
    """Called after each batch with the temporary store and its {run number: run number in the lake}."""


def import_part(
    lake: LakeImport, plans: Sequence[RunPlan], issues: Sequence[ImportIssue], part: LakePart
) -> ImportSummary:
    """Import the runs of one part. Every part gets the same plans and issues. Run numbers in the summary are those in
    the lake; a failed run has number 0."""
    summary = ImportSummary()
    with tempfile.TemporaryDirectory(prefix="fcreview-lake-") as name:
        scratch = Path(name)
        own, twice = _select_plans(plans, part, find_workspace(scratch, scratch))
        WorkspaceFiles(scratch).make_folder(scratch / "parquet")
        with LakeWriter(lake.files, part.index_name(lake.paths), scratch / "parquet") as writer:
            for number, batch in enumerate(_split_into_batches(own)):
                folder = scratch / f"batch-{number}"
                workspace = find_workspace(folder, folder)
                _import_batch(lake, batch, workspace, writer, summary)
                workspace.files.remove(workspace.store)
            found = [asdict(issue) for issue in [*issues, *twice]]
            writer.write_issues(found, part.index_name(lake.paths).partition("-")[0])
            summary.issues[:0] = found
            writer.finish()
    return summary


def _select_plans(
    plans: Sequence[RunPlan], part: LakePart, workspace: Workspace
) -> tuple[list[RunPlan], list[ImportIssue]]:
    by_key: dict[str, RunPlan] = {}
    twice = []
    for plan in plans:
        if by_key.setdefault(build_run_key(workspace, plan.run), plan) is not plan:
            what = f"run {plan.run.model} was found twice. The first one is imported"
            twice.append(ImportIssue(plan.run.path, None, what))
    return [by_key[key] for key in sorted(by_key) if part.contains_run(key)], twice


def _split_into_batches(plans: Sequence[RunPlan]) -> Iterator[list[RunPlan]]:
    batch: list[RunPlan] = []
    size = 0
    for plan in plans:
        batch.append(plan)
        size += sum(path.stat().st_size for kind, path in iter_files(plan) if kind != "data" and path.is_file())
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _import_batch(
    lake: LakeImport, plans: Sequence[RunPlan], workspace: Workspace, writer: LakeWriter, summary: ImportSummary
) -> None:
    lake.prepare(plans, workspace)
    result = import_runs(
        workspace,
        plans,
        lake.read,
        on_progress=lake.on_progress,
        n_workers=lake.n_workers,
        dataset_options=lake.dataset_options,
    )
    numbers = writer.add_runs(workspace)
    lake.on_batch(workspace, numbers)
    for row in result.runs:
        if row["status"] == "failed":
            _record_failure(row, result.issues, writer, workspace)
        summary.runs.append(row | {"run": numbers.get(row["run"], 0)})
    for issue in result.issues:
        run = issue.get("run")
        summary.issues.append(issue if run is None else issue | {"run": numbers.get(run, 0)})


def _record_failure(
    row: dict[str, Any], issues: Sequence[dict[str, Any]], writer: LakeWriter, workspace: Workspace
) -> None:
    """Write the issues of a run that failed. The next successful import of the run removes them."""
    path = workspace.to_stored_path(row["path"])
    key = orjson.dumps([row["benchmark"], row["generation"], row["language"], row["model"], path]).decode()
    own = [issue for issue in issues if issue.get("run") is None and issue["file"] == row["path"]]
    writer.write_issues(own, lake_files.digest(key))
