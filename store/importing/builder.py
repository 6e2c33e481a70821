"""The store's file: made, filled from parts, replaced as a whole. Nothing here is done row by row.

What the store knows of its runs: enough to tell which of them need reading again.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import orjson

from fcreview.model.item import Run
from fcreview.safe_files import apply_folder_permissions
from fcreview.store.database import SCHEMA_VERSION, StoreError, quote_literal, open_store
from fcreview.store.importing.sources import SourceFile
from fcreview.store.importing.staging import ITEM_COLUMNS, StagedRun, dump_json, serialize_issues, redact_json
from fcreview.store.workspace import Workspace

LOADING_MEMORY_LIMIT = "350MB"
"""DuckDB's own limit while it loads; beyond it, it writes to the workspace's temporary folder."""
MAX_LOADING_MEMORY_LIMIT = "2GB"
"""The limit for a part that cannot be loaded with that: one item with a hundred thousand calls."""
ROW_GROUP_SIZE = 16_384
"""Rows of a row group. Items are wide: DuckDB's default would hold 122,880 of them in memory at once."""
_FORMAT = f"ROW_GROUP_SIZE {ROW_GROUP_SIZE}, STORAGE_VERSION 'v1.2.0', RECOVERY_MODE no_wal_writes"
"""The oldest storage that has zstd: whichever DuckDB of ours wrote it, the others read it. There is nothing to recover:
a file that was not finished is thrown away."""

_CALLS = (
    'STRUCT(side VARCHAR, turn INTEGER, step INTEGER, "index" INTEGER, name VARCHAR, arguments JSON, raw VARCHAR,'
    " decode_error VARCHAR)[]"
)
_AS_THEY_ARE = [*ITEM_COLUMNS, "n_issues", "functions", "extra", "messages", "pairs", "verdicts"]


class LoadError(Exception):
    """DuckDB refuses a part: the message is one line. `line` is that of the item at fault, if it is known."""

    def __init__(self, error: duckdb.Error) -> None:
        text = " ".join(str(error).split())
        found = re.search(r", in line (\d+): (.*?)(?: Try setting |$)", text)
        self.line = int(found[1]) if found else None
        super().__init__((found[2] if found else text)[:500])


class StoreBuilder:
    """A new store in the making, beside the old one. Use as a context manager; without `finish` nothing happened."""

    def __init__(self, workspace: Workspace, folder: Path, *, keep: bool) -> None:
        """`keep`: starts as a copy of the present store; else empty. `folder` takes what does not fit into memory."""
        self._workspace = workspace
        self._folder = folder
        self._path = workspace.root / f"{workspace.store.name}.{os.getpid()}.tmp"
        if keep:
            shutil.copyfile(workspace.store, self._path)
        self._connection = duckdb.connect()
        self._run("SET enable_progress_bar = false")  # it would stand between lines of JSON
        self._run(f"SET memory_limit = '{LOADING_MEMORY_LIMIT}'")
        self._run("SET threads = 1")  # more load no faster, take a quarter more work, and other processes are reading
        self._run("SET temp_directory = ?", [os.fspath(folder)])
        self._run("PRAGMA force_compression = 'zstd'")  # texts; DuckDB's own choice takes eight times as long to write
        self._run(f"ATTACH {quote_literal(self._path)} AS store ({_FORMAT})")
        self._run("USE store")
        self._run("DROP INDEX IF EXISTS item_index")
        if not keep:
            self._run(files("fcreview.store").joinpath("schema.sql").read_text("utf-8"))
            self._run("INSERT INTO meta VALUES ('schema_version', ?)", [SCHEMA_VERSION])
        self._run("INSERT OR REPLACE INTO meta VALUES ('build', ?)", [secrets.token_hex(16)])  # tells stores apart
        self._types: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """Table -> column -> type."""
        for table, name, kind in self._run(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = 'store'"
        ).fetchall():
            self._types[table][name] = kind
        self._runs: list[dict[str, Any]] = []
        self._sources: dict[int, list[dict[str, Any]]] = {}

    def __enter__(self) -> StoreBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        for left in self._workspace.root.glob(self._path.name + "*"):
            left.unlink(missing_ok=True)

    def load_runs(self, staged_runs: Sequence[StagedRun], *, omit_invalid: bool = False) -> None:
        """Puts the parts' items in, in place of the runs' earlier ones. All or nothing.

        LoadError if DuckDB refuses. With `lenient`, a value that does not fit its column is left out (null).
        """
        if not staged_runs:
            return
        try:
            if len(staged_runs) == 1:
                self._with_room(lambda: self._load(staged_runs, omit_invalid))
            else:
                self._load(staged_runs, omit_invalid)
        except duckdb.Error as error:
            raise LoadError(error) from error

    def _with_room(self, work: Callable[[], object]) -> None:
        """Does it; if there is too little memory, again with more, which then stays allowed."""
        try:
            work()
        except duckdb.OutOfMemoryException:
            self._run(f"SET memory_limit = '{MAX_LOADING_MEMORY_LIMIT}'")
            work()

    def _load(self, parts: Sequence[StagedRun], lenient: bool) -> None:
        runs = [part.run_number for part in parts]
        largest = max(1 << 21, max(part.longest_item for part in parts) + 1024)
        columns = {name: self._types["item_rows"][name] for name in ("run", "seq", *_AS_THEY_ARE)}
        columns |= {"golden": _CALLS, "predicted": _CALLS}
        names = ", ".join(f'"{name}"' for name in _AS_THEY_ARE)
        self._run("BEGIN")
        try:
            for table in ("item_rows", "import_issues"):
                self._run(f"DELETE FROM {table} WHERE run IN (SELECT unnest(?::INTEGER[]))", [runs])
            self._run(
                f"INSERT INTO item_rows (item, run, seq, n_golden, n_predicted, calls, {names})"
                " SELECT run::BIGINT * 4294967296 + seq, run, seq, len(golden), len(predicted),"
                f" list_concat(golden, predicted), {names} FROM {_reader(columns, largest, lenient=lenient)}",
                [[os.fspath(part.items) for part in parts]],
            )
            issues = (line for part in parts for line in serialize_issues(part.issues, part.run_number, self._workspace.to_stored_path))
            self._insert("import_issues", issues)
            self._run("COMMIT")
        except BaseException:
            with contextlib.suppress(duckdb.Error):
                self._run("ROLLBACK")
            raise

    def load_functions(self, staged_runs: Sequence[StagedRun]) -> None:
        """Puts in the documents that are not there yet."""
        paths = [part.functions for part in staged_runs if part.functions.stat().st_size]
        if paths:
            largest = max(1 << 21, max(part.longest_function for part in staged_runs) + 1024)
            reader = _reader({"hash": "VARCHAR", "name": "VARCHAR", "document": "JSON"}, largest)
            text = f"INSERT INTO functions SELECT hash, any_value(name), any_value(document) FROM {reader}"
            text += " WHERE hash NOT IN (SELECT hash FROM functions) GROUP BY hash"
            self._with_room(lambda: self._run(text, [[os.fspath(path) for path in paths]]))

    def set_run(self, run: int, key: str, info: Run, version: int, n_items: int, sources: Iterable[SourceFile]) -> None:
        """The run's own row and its sources, in place of earlier ones."""
        self._runs.append(
            {
                "run": run,
                "key": key,
                "benchmark": info.benchmark,
                "generation": info.generation,
                "language": info.language,
                "model": info.model,
                "path": self._workspace.to_stored_path(info.path),
                "dataset": info.dataset,
                "needs_dataset": info.needs_dataset,
                "title": info.title,
                "tags": info.tags,
                "settings": redact_json(info.settings),
                "official_metrics": redact_json(info.official_metrics),
                "version": version,
                "n_items": n_items,
                "imported_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        )
        self.set_sources(run, sources)

    def set_sources(self, run: int, sources: Iterable[SourceFile]) -> None:
        self._sources[run] = [{"run": run, **asdict(source)} for source in sources]

    def _insert_runs(self) -> None:
        for table, runs in (("runs", [row["run"] for row in self._runs]), ("sources", list(self._sources))):
            self._run(f"DELETE FROM {table} WHERE run IN (SELECT unnest(?::INTEGER[]))", [runs])
        self._insert("runs", map(dump_json, self._runs))
        self._insert("sources", (dump_json(row) for rows in self._sources.values() for row in rows))

    def replace_issues(self, files: Iterable[str], issues: Iterable[dict[str, Any]]) -> None:
        """Issues that belong to no run: those about these files are replaced."""
        self._run(
            "DELETE FROM import_issues WHERE run IS NULL AND file IN (SELECT unnest(?::VARCHAR[]))",
            [[self._workspace.to_stored_path(file) for file in files]],
        )
        self._insert("import_issues", serialize_issues(issues, None, self._workspace.to_stored_path))

    def finish(self) -> None:
        """Makes this the store. Who has the old one open keeps seeing it."""
        self._insert_runs()
        self._run("DELETE FROM functions WHERE hash NOT IN (SELECT DISTINCT unnest(functions) FROM item_rows)")
        # With it one item is read alone; without, every text of the 2,048 items around it.
        self._run("CREATE INDEX item_index ON item_rows (item)")
        self._run("CHECKPOINT store")
        path = self._compacted() or self._path
        self._run("USE memory")
        self._run("DETACH store")
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        apply_folder_permissions(path)
        os.replace(path, self._workspace.store)  # noqa: PTH105 - atomic, whatever is there

    def _compacted(self) -> Path | None:
        """A copy without the room that replaced runs left, if that is more than half of the file."""
        used, free = self._run(
            "SELECT used_blocks, free_blocks FROM pragma_database_size() WHERE database_name = 'store'"
        ).fetchall()[0]
        if free <= max(used, 64):
            return None
        path = self._path.with_name(self._path.name + ".compact")
        self._run(f"ATTACH {quote_literal(path)} AS compact ({_FORMAT})")
        self._run("COPY FROM DATABASE store TO compact")
        self._run("DETACH compact")
        return path

    def _insert(self, table: str, rows: Iterable[bytes]) -> None:
        """Rows as JSON objects with the table's columns."""
        lines = [row.decode() for row in rows]
        if lines:
            self._run(
                f"INSERT INTO {table} BY NAME"
                " SELECT unnest(from_json(line, ?)) FROM (SELECT unnest(?::VARCHAR[]) AS line)",
                [orjson.dumps(self._types[table]).decode(), lines],
            )

    def _run(self, text: str, values: Sequence[Any] | None = None) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(text, values)


def _reader(columns: dict[str, str], largest: int, *, lenient: bool = False) -> str:
    """`read_json` of one bound list of files."""
    given = ", ".join(f"{quote_literal(name)}: {quote_literal(kind)}" for name, kind in columns.items())
    return (
        f"read_json(?, format='newline_delimited', columns={{{given}}}, maximum_object_size={largest},"
        f" ignore_errors={lenient})"
    )


@dataclass(slots=True)
class StoredRun:
    run_number: int
    version: int
    n_items: int
    n_issues: int
    dataset: str | None
    sources: list[SourceFile] = field(default_factory=list)


@dataclass(slots=True)
class StoreIndex:
    runs: dict[str, StoredRun] = field(default_factory=dict)
    """By `run_key`."""
    usable: bool = False
    """There is a store, and it can be added to."""
    rebuild_reason: str | None = None
    """Why a store that is there is not usable: it is built anew, from what is imported now."""

    @property
    def next_run_number(self) -> int:
        return max((stored.run_number for stored in self.runs.values()), default=0) + 1


def build_run_key(workspace: Workspace, run: Run) -> str:
    """What makes two runs the same run: a JSON list of benchmark, generation, language, model and path."""
    return orjson.dumps([run.benchmark, run.generation, run.language, run.model, workspace.to_stored_path(run.path)]).decode()


def read_store_index(workspace: Workspace) -> StoreIndex:
    if not workspace.store.exists():
        return StoreIndex()
    try:
        connection = open_store(workspace)
    except StoreError as error:
        return StoreIndex(rebuild_reason=str(error))
    try:
        index, by_run = StoreIndex(usable=True), {}
        for run, key, *rest in connection.execute(
            "SELECT run, key, version, n_items,"
            " (SELECT count(*) FROM import_issues i WHERE i.run = r.run), dataset FROM runs r"
        ).fetchall():
            index.runs[key] = by_run[run] = StoredRun(run, *rest)
        for run, *source in connection.execute("SELECT run, path, kind, size, mtime_ns, hash FROM sources").fetchall():
            by_run[run].sources.append(SourceFile(*source))
        return index
    finally:
        connection.close()
