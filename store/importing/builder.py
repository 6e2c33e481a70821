"""Build the store: load staged runs into a new database file, then replace the old file with it."""

from __future__ import annotations

import contextlib
import itertools
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import orjson
from duckdb import DuckDBPyConnection as Connection

from fcreview.model.item import Run
from fcreview.store import database
from fcreview.store.duckdb_paths import can_hold_database, to_duckdb_path
from fcreview.store.importing.source_files import SourceFile, StoredRun
from fcreview.store.importing.staging import (
    StagedFile,
    StagedRun,
    dump_json,
    redact_json,
    serialize_issues,
)
from fcreview.store.rows import ITEM_COLUMNS, ITEM_NUMBERS_PER_RUN
from fcreview.store.workspace import Workspace

LOADING_MEMORY_LIMIT = "200MB"  # beyond this limit, DuckDB writes to the temporary folder
LARGER_MEMORY_LIMITS = ("1GB", "2GB")
"""Limits for a run with huge items, the next one only if the one before is not enough: DuckDB uses
what it is allowed to, and needs the texts of a whole row group in memory when it commits.
"""
_COPY_BYTES = 1 << 20
MIN_READER_BYTES = 1 << 21
"""Smallest limit of a line for DuckDB's JSON reader, which reserves memory for it."""
SPARE_READER_BYTES = 1024  # what the limit exceeds the longest line by
ROW_GROUP_SIZE = (
    16_384  # DuckDB's default of 122,880 rows takes too much memory, because items are large
)
_ATTACH_OPTIONS = (
    f"ROW_GROUP_SIZE {ROW_GROUP_SIZE}, STORAGE_VERSION 'v1.2.0', RECOVERY_MODE no_wal_writes"
)
"""Options of the new database file. Its storage version is the oldest one with zstd compression, so
that every supported DuckDB version can read the file. The file needs no recovery log, because an
incomplete file is deleted.
"""

_CALLS_TYPE = (
    'STRUCT(side VARCHAR, turn INTEGER, step INTEGER, "index" INTEGER, name VARCHAR, arguments'
    " JSON, raw VARCHAR,"
    " decode_error VARCHAR)[]"
)
_COPIED_COLUMNS = [
    *ITEM_COLUMNS,
    "n_golden",
    "n_issues",
    "functions",
    "question_hash",
    "extra",
    "messages",
    "pairs",
    "verdicts",
]
_UNCHANGED_RUN_COLUMNS = (
    "benchmark",
    "generation",
    "language",
    "model",
    "needs_dataset",
    "title",
    "tags",
    "name",
    "name_parts",
)
_IDENTITY_COLUMNS = (
    "benchmark",
    "generation",
    "language",
    "model",
    "path",
    "dataset",
    "title",
    "name",
    "name_parts",
)
"""Columns of the table `runs` that an import compares with the files and from which it names the
runs.
"""


MAX_LOAD_ERROR_CHARS = 500
MIN_UNUSED_BLOCKS = 64
"""Number of unused blocks up to which a store file is not copied to make it smaller."""


class LoadError(Exception):
    """Raised when DuckDB cannot load the staging files of a run. The message is one line."""

    file_name: str
    """Name of the file with the invalid item. Empty if DuckDB does not name it."""
    line: int | None
    """Line of the invalid item, from 1. None if DuckDB does not name it."""

    def __init__(self, error: duckdb.Error) -> None:
        """Find the file and the line that could not be loaded in the message of DuckDB."""
        text = " ".join(str(error).split())
        self.file_name = ""
        self.line = None
        reason = text
        # DuckDB names the file and the line before the reason, and then settings that users of
        # fcreview lack.
        match = re.search(
            r'(?:/(?P<file>[^/"]*)")?, in line (?P<line>\d+): (?P<reason>.*?)(?: Try setting |$)',
            text,
        )
        if match is not None:
            self.file_name = match["file"] or ""
            self.line = int(match["line"])
            reason = match["reason"]
        super().__init__(reason[:MAX_LOAD_ERROR_CHARS])

    def find_file(self, files: Sequence[StagedFile]) -> StagedFile | None:
        """Return the file with the invalid item, or None if it is unknown."""
        for file in files:
            if file.path.name == self.file_name:
                return file
        return None


class StoreBuilder:
    """Builds a new database file.

    The store stays unchanged until `finish_and_replace_store` replaces it.
    """

    def __init__(self, workspace: Workspace, folder: Path, *, copy_existing: bool) -> None:
        """Create a new store file, which later replaces the store of the workspace.

        Args:
            workspace: The workspace.
            folder: The folder for the new file. Other users must not have write access to it,
                because DuckDB writes temporary files there and follows links.
            copy_existing: Whether the file begins as a copy of the store, or empty.
        """
        self._workspace = workspace
        self._folder = folder
        self._own_folder: tempfile.TemporaryDirectory[str] | None = None
        self._types: dict[str, dict[str, str]] = {}  # table -> column -> SQL type
        # rows of the tables `runs` and `sources` (by run) to insert at the end
        self._runs: list[dict[str, Any]] = []
        self._sources: dict[int, list[dict[str, Any]]] = {}
        self._larger_limits = list(LARGER_MEMORY_LIMITS)

        database_folder = self._choose_database_folder()
        self._path = database_folder / workspace.store.name
        # The file must be complete before DuckDB opens it. A missing file is created on opening.
        if copy_existing:
            self._copy_existing_store()
        self._connection = duckdb.connect()
        self._thread = database.QueryThread()
        self._open_file(database_folder)

        if copy_existing:
            self._prepare_existing_tables()
        else:
            self._create_tables()
        self._set_meta("build", secrets.token_hex(16))  # identifies the file

    def _choose_database_folder(self) -> Path:
        """Return the folder of the new file. If its file system cannot hold a database, return a
        temporary folder.
        """
        if can_hold_database(self._folder):
            return self._folder
        self._own_folder = tempfile.TemporaryDirectory(prefix="fcreview-")
        return Path(self._own_folder.name)

    def _copy_existing_store(self) -> None:
        files = self._workspace.files
        with files.open_file(self._workspace.store) as store, self._path.open("xb") as copy:
            shutil.copyfileobj(store, copy, _COPY_BYTES)

    def _open_file(self, database_folder: Path) -> None:
        """Make the new file the default database, and block the access to other files."""
        self._set_options(self._folder)
        self._execute(f"ATTACH {database.quote_path(self._path)} AS store ({_ATTACH_OPTIONS})")
        # A view in another user's store could read any file. `_write_compact_copy` writes to the
        # folder.
        database.disable_external_access(
            self._connection, allowed_folders=[self._folder, database_folder]
        )
        self._execute("USE store")

    def _set_options(self, folder: Path) -> None:
        """Set the options of DuckDB that make loading fast and limit its memory."""
        # The bar would appear between lines of JSON.
        self._execute("SET enable_progress_bar = false")
        self._execute(f"SET memory_limit = '{LOADING_MEMORY_LIMIT}'")
        # Several threads are no faster, and worker processes need the cores.
        self._execute("SET threads = 1")
        self._execute("SET temp_directory = ?", [to_duckdb_path(folder)])
        # For texts, zstd is eight times as fast to write as DuckDB's choice.
        self._execute("PRAGMA force_compression = 'zstd'")

    def _create_tables(self) -> None:
        self._execute(read_schema_sql())
        self._set_meta("schema_version", database.SCHEMA_VERSION)

    def _prepare_existing_tables(self) -> None:
        if database.is_store_of_other_user(self._workspace):
            self._set_meta(database.NOT_VERIFIED, "true")
        # `finish_and_replace_store` creates the indexes again, which is faster than updating them.
        self._execute("DROP INDEX IF EXISTS item_index; DROP INDEX IF EXISTS question_index")

    def _set_meta(self, key: str, value: str) -> None:
        self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    def __enter__(self) -> StoreBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.close()
        database.close_connection(self._connection)
        if self._own_folder is not None:
            self._own_folder.cleanup()

    def _get_column_types(self, table: str) -> dict[str, str]:
        """Return the types of the columns of a table by name, and remember them."""
        if table not in self._types:  # `duckdb_columns()` would take 14 ms
            rows = self._execute(
                f"SELECT column_name, column_type FROM (DESCRIBE {table})"
            ).fetchall()
            self._types[table] = dict(rows)
        return self._types[table]

    def load_runs(
        self, staged_runs: Sequence[StagedRun], *, omit_invalid_values: bool = False
    ) -> None:
        """Replace the items of some runs in one transaction.

        Raises LoadError if a value cannot be stored. With `omit_invalid_values`, such a value
        becomes null instead. If memory is too small, a single run is loaded again with more memory.
        For several runs, LoadError is raised, and the caller can load them one by one.
        """
        if not staged_runs:
            return
        try:
            load = partial(self._load_items_and_issues, staged_runs, omit_invalid_values)
            is_single_run = len(staged_runs) == 1
            if is_single_run:
                self._retry_with_more_memory(load)
            else:  # the caller loads the runs one by one if all together need too much memory
                load()
        except duckdb.Error as error:
            raise LoadError(error) from error

    def _retry_with_more_memory(self, work: Callable[[], object]) -> None:
        """Call `work`.

        Whenever DuckDB runs out of memory, raise the memory limit permanently and call `work`
        again.
        """
        while True:
            try:
                work()
                return
            except duckdb.Error as error:
                if not is_memory_limit_error(error) or not self._larger_limits:
                    raise
            self._execute(f"SET memory_limit = '{self._larger_limits.pop(0)}'")

    def _load_items_and_issues(
        self, staged_runs: Sequence[StagedRun], omit_invalid_values: bool
    ) -> None:
        """Replace the items and issues of several runs in one transaction. If it fails, the earlier
        items and issues stay.
        """
        self._execute("BEGIN")
        try:
            self._delete_rows_of_runs([staged.run_number for staged in staged_runs])
            self._insert_items(staged_runs, omit_invalid_values)
            self._insert_issues(staged_runs)
            self._execute("COMMIT")
        except Exception:
            # After a signal, the connection is closed.
            with contextlib.suppress(duckdb.Error):
                self._execute("ROLLBACK")
            raise

    def _delete_rows_of_runs(self, runs: Sequence[int]) -> None:
        for table in ("item_rows", "import_issues"):
            self._execute(f"DELETE FROM {table} WHERE run IN (SELECT unnest(?::INTEGER[]))", [runs])

    def _insert_items(self, staged_runs: Sequence[StagedRun], omit_invalid_values: bool) -> None:
        """Read the staged items of several runs into the table `item_rows`.

        `omit_invalid_values` leaves out values that the column's type cannot hold, instead of
        failing.
        """
        # Most files begin with the first item of a run, and are read in one statement.
        files_by_first_seq: dict[int, list[StagedFile]] = {}
        for staged in staged_runs:
            for file in staged.items:
                files_by_first_seq.setdefault(file.first_seq, []).append(file)
        for files_to_read in files_by_first_seq.values():
            self._insert_items_of_files(files_to_read, omit_invalid_values)

    def _insert_items_of_files(
        self, files: Sequence[StagedFile], omit_invalid_values: bool
    ) -> None:
        """Read the items in staging files into the table `item_rows`. The first item of each of
        these files must have the same position in its run.
        """
        # A staged `seq` is counted from the first item of its file.
        first_seq = files[0].first_seq
        position = f"{first_seq} + seq"
        sql_by_column = {
            "item": f"run::BIGINT * {ITEM_NUMBERS_PER_RUN} + {position}",
            "run": "run",
            "seq": position,
            "n_predicted": "len(predicted)",
            # The lists of golden and of predicted calls become one column of the table.
            "calls": "list_concat(golden, predicted)",
        }
        for name in _COPIED_COLUMNS:
            sql_by_column[f'"{name}"'] = f'"{name}"'
        reader = self._build_item_reader(files, omit_invalid_values)
        self._execute(
            f"INSERT INTO item_rows ({', '.join(sql_by_column)})"
            f" SELECT {', '.join(sql_by_column.values())} FROM {reader}",
            [[to_duckdb_path(file.path) for file in files]],
        )

    def _build_item_reader(self, files: Sequence[StagedFile], omit_invalid_values: bool) -> str:
        """Return the SQL that reads the columns of staged items."""
        column_types = self._get_column_types("item_rows")
        staged_columns = {name: column_types[name] for name in ("run", "seq", *_COPIED_COLUMNS)}
        staged_columns |= {"golden": _CALLS_TYPE, "predicted": _CALLS_TYPE}
        max_line_bytes = _find_max_line_bytes(files)
        return read_json_sql(
            staged_columns, max_line_bytes, omit_invalid_values=omit_invalid_values
        )

    def _insert_issues(self, staged_runs: Sequence[StagedRun]) -> None:
        """Insert the import issues of runs."""
        to_stored_path = self._workspace.to_stored_path
        issues = (
            serialize_issues(staged.issues, staged.run_number, to_stored_path)
            for staged in staged_runs
        )
        self._insert_json_rows("import_issues", itertools.chain.from_iterable(issues))

    def load_functions_and_questions(self, files: Sequence[StagedFile]) -> None:
        """Insert the function docs and questions that the store does not contain yet."""
        with_rows = [file for file in files if file.longest_line]
        if not with_rows:
            return
        paths = [to_duckdb_path(file.path) for file in with_rows]
        max_line_bytes = _find_max_line_bytes(with_rows)
        self._insert_functions(paths, max_line_bytes)
        self._insert_questions(paths, max_line_bytes)

    def _insert_functions(self, paths: Sequence[str], max_line_bytes: int) -> None:
        """Insert the function docs of staging files that the store does not have yet."""
        reader = read_json_sql(self._get_column_types("functions"), max_line_bytes)
        insert = (
            f"INSERT INTO functions SELECT hash, any_value(name), any_value(document) FROM {reader}"
            " WHERE hash IS NOT NULL AND hash NOT IN (SELECT hash FROM functions) GROUP BY hash"
        )
        self._retry_with_more_memory(lambda: self._execute(insert, [paths]))

    def _insert_questions(self, paths: Sequence[str], max_line_bytes: int) -> None:
        """Insert the questions of staging files that the store does not have yet."""
        types = self._get_column_types("questions")
        columns = {
            "question_hash": types["hash"],
            "messages": types["messages"],
            "calls": types["calls"],
        }
        reader = read_json_sql(columns, max_line_bytes)
        insert = (
            f"INSERT INTO questions SELECT question_hash, messages, calls FROM {reader}"
            " WHERE question_hash IS NOT NULL AND question_hash NOT IN (SELECT hash FROM questions)"
        )
        # One file at a time: a file contains no question twice, but several files can contain the
        # same question.
        for path in paths:
            self._retry_with_more_memory(partial(self._execute, insert, [[path]]))

    def load_parquet(self, table: str, path: Path) -> None:
        self._execute(f"INSERT INTO {table} BY NAME FROM read_parquet({database.quote_path(path)})")

    def set_run_row(
        self,
        run_number: int,
        run_key: str,
        run: Run,
        import_fingerprint: int,
        n_items: int,
        sources: Iterable[SourceFile],
    ) -> None:
        """Replace the row of a run in the table `runs`, and its rows in the table `sources`."""
        row = {
            "run": run_number,
            "key": run_key,
            "path": self._workspace.to_stored_path(run.path),
            "dataset": self._workspace.to_stored_dataset(run.dataset),
            "settings": redact_json(run.settings),
            "official_metrics": redact_json(run.official_metrics),
            "facts": redact_json({name: asdict(fact) for name, fact in run.facts.items()}),
            "not_run": [asdict(missing) for missing in run.not_run],
            "version": import_fingerprint,
            "n_items": n_items,
            "imported_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self._runs.append(row | {name: getattr(run, name) for name in _UNCHANGED_RUN_COLUMNS})
        self.set_source_rows(run_number, sources)

    def rename_run(self, run_number: int, name: str, name_parts: Sequence[str]) -> None:
        """Replace the name and the parts of the name of a stored run. Its items are not imported
        again.
        """
        self._execute(
            "UPDATE runs SET name = ?, name_parts = ? WHERE run = ?",
            [name, list(name_parts), run_number],
        )

    def delete_runs(self, run_numbers: Sequence[int]) -> None:
        """Delete the runs with their items, import issues and source files."""
        if not run_numbers:
            return
        for table in ("item_rows", "import_issues", "sources", "runs"):
            self._execute(
                f"DELETE FROM {table} WHERE run IN (SELECT unnest(?::INTEGER[]))",
                [list(run_numbers)],
            )

    def set_source_rows(self, run_number: int, sources: Iterable[SourceFile]) -> None:
        self._sources[run_number] = [{"run": run_number, **asdict(source)} for source in sources]

    def _insert_runs(self) -> None:
        """Write the rows about the imported runs and their source files, in place of earlier ones."""
        self._delete_rows("runs", [row["run"] for row in self._runs])
        self._delete_rows("sources", list(self._sources))

        self._insert_json_rows("runs", map(dump_json, self._runs))
        source_rows = itertools.chain.from_iterable(self._sources.values())
        self._insert_json_rows("sources", map(dump_json, source_rows))

    def _delete_rows(self, table: str, runs: list[int]) -> None:
        """Delete the rows of these runs from a table."""
        self._execute(f"DELETE FROM {table} WHERE run IN (SELECT unnest(?::INTEGER[]))", [runs])

    def replace_issues_without_run(
        self, files: Iterable[str], issues: Iterable[dict[str, Any]]
    ) -> None:
        """Replace the import issues that are about these files and belong to no run."""
        self._execute(
            "DELETE FROM import_issues WHERE run IS NULL AND file IN (SELECT unnest(?::VARCHAR[]))",
            [[self._workspace.to_stored_path(file) for file in files]],
        )
        self._insert_json_rows(
            "import_issues", serialize_issues(issues, None, self._workspace.to_stored_path)
        )

    def finish_and_replace_store(self) -> None:
        """Complete the new file and rename it to the store.

        Processes that opened the old store can still read it.
        """
        self._insert_runs()
        self._delete_unused_functions_and_questions()
        # Without an index, DuckDB would read the texts of 2,048 items to return one item.
        self._execute("CREATE INDEX item_index ON item_rows (item)")
        self._execute("CREATE INDEX question_index ON questions (hash)")
        self._execute("CHECKPOINT store")
        finished_file = self._write_compact_copy() or self._path
        # DuckDB cannot detach the default database.
        self._execute("USE memory")
        self._execute("DETACH store")

        new_store = finished_file
        # A file in a folder elsewhere is copied first, because a rename works on one disk only.
        if self._own_folder is not None:
            new_store = shutil.copyfile(finished_file, self._folder / finished_file.name)
        self._workspace.files.remove(self._workspace.store_log)
        self._workspace.files.rename_file(new_store, self._workspace.store)

    def _delete_unused_functions_and_questions(self) -> None:
        """Delete function docs and questions of items that are no longer in the store."""
        self._execute(
            "DELETE FROM functions WHERE hash NOT IN (SELECT DISTINCT unnest(functions) FROM"
            " item_rows)"
        )
        self._execute(
            "DELETE FROM questions WHERE hash NOT IN (SELECT question_hash FROM item_rows WHERE"
            " question_hash NOTNULL)"
        )

    def _write_compact_copy(self) -> Path | None:
        """If most blocks of the file are unused, copy it without them.

        Return the path of the copy, or None.
        """
        used, free = self._execute(
            "SELECT used_blocks, free_blocks FROM pragma_database_size() WHERE database_name ="
            " 'store'"
        ).fetchall()[0]
        is_mostly_unused = free > max(used, MIN_UNUSED_BLOCKS)
        if not is_mostly_unused:
            return None
        path = self._path.with_name(self._path.name + ".compact")
        self._execute(f"ATTACH {database.quote_path(path)} AS compact ({_ATTACH_OPTIONS})")
        self._execute("COPY FROM DATABASE store TO compact")
        self._execute("DETACH compact")
        return path

    def _insert_json_rows(self, table: str, rows: Iterable[bytes]) -> None:
        insert_json_rows(self._execute, table, self._get_column_types(table), rows)

    def _execute(self, statement: str, values: Sequence[Any] | None = None) -> Connection:
        """Execute a statement. A signal can interrupt every statement, even a long `CHECKPOINT`."""
        return database.run_with_timeout(
            self._connection,
            lambda: self._connection.execute(statement, values),
            submit=self._thread.submit,
        )


def is_memory_limit_error(error: duckdb.Error) -> bool:
    """Whether a statement reached the memory limit. `COMMIT` then raises an error of its own."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return True
    return isinstance(error, duckdb.TransactionException) and "memory_limit" in str(error)


def read_schema_sql() -> str:
    return files("fcreview.store").joinpath("schema.sql").read_text("utf-8")


def insert_json_rows(
    execute: Callable[[str, Sequence[Any]], object],
    table: str,
    column_types: dict[str, str],
    rows: Iterable[bytes],
) -> None:
    """Insert rows into a table.

    A row is a JSON object. `column_types`: SQL type of each column by name.
    """
    lines = [row.decode() for row in rows]
    if lines:
        execute(
            f"INSERT INTO {table} BY NAME SELECT unnest(from_json(line, ?)) FROM (SELECT"
            " unnest(?::VARCHAR[]) AS line)",
            [orjson.dumps(column_types).decode(), lines],
        )


def read_json_sql(
    columns: dict[str, str], max_line_bytes: int, *, omit_invalid_values: bool = False
) -> str:
    """Return SQL that calls `read_json` for newline-delimited JSON.

    The list of files is a bound parameter.
    """
    types = ", ".join(
        f"{database.quote_literal(name)}: {database.quote_literal(kind)}"
        for name, kind in columns.items()
    )
    return (
        f"read_json(?, format='newline_delimited', columns={{{types}}},"
        f" maximum_object_size={max_line_bytes},"
        f" ignore_errors={omit_invalid_values})"
    )


@dataclass(slots=True)
class StoreIndex:
    # runs by run key (see `build_run_key`)
    runs: dict[str, StoredRun] = field(default_factory=dict)
    usable: bool = False  # whether the workspace has a store that runs can be added to
    is_verified: bool = (
        True  # false if the store, or some of its runs, were written by another user
    )
    rebuild_reason: str | None = None  # why an existing store is not usable


def read_store_index(workspace: Workspace) -> StoreIndex:
    """Read which runs the store contains.

    The index is empty if the store is missing or not usable.
    """
    if not workspace.store.exists():
        return StoreIndex()
    try:
        connection = database.open_store(workspace)
    except database.StoreError as error:
        return StoreIndex(rebuild_reason=str(error).removesuffix(database.IMPORT_AGAIN))
    try:
        is_verified = database.has_only_verified_runs(connection, workspace)
        return StoreIndex(
            _fetch_stored_runs(connection, workspace), usable=True, is_verified=is_verified
        )
    except duckdb.Error as error:
        if database.is_damage_error(error):
            return StoreIndex(rebuild_reason=f"{workspace.store} is damaged")
        raise
    finally:
        connection.close()


def _fetch_stored_runs(connection: Connection, workspace: Workspace) -> dict[str, StoredRun]:
    """Return the runs of the store with their source files, by run key."""
    rows = connection.execute(
        "SELECT run, key, version, n_items,"
        " (SELECT count(*) FROM import_issues i WHERE i.run = r.run),"
        f" {', '.join(_IDENTITY_COLUMNS)} FROM runs r"
    ).fetchall()
    sources_by_run = _fetch_sources(connection)
    runs = {}
    for number, key, version, n_items, n_issues, *identity in rows:
        runs[key] = StoredRun(
            number,
            import_fingerprint=version,
            n_items=n_items,
            n_issues=n_issues,
            info=_make_run(workspace, identity),
            sources=sources_by_run.get(number, []),
        )
    return runs


def _make_run(workspace: Workspace, identity: Sequence[Any]) -> Run:
    """Make a run from its `_IDENTITY_COLUMNS`. Stored paths are relative to the workspace, and
    become absolute.
    """
    run = Run(**dict(zip(_IDENTITY_COLUMNS, identity, strict=True)))
    run.path = str(workspace.to_absolute_path(run.path))
    run.dataset = workspace.from_stored_dataset(run.dataset)
    return run


def _fetch_sources(connection: Connection) -> dict[int, list[SourceFile]]:
    """Return the source files of each run."""
    rows = connection.execute("SELECT run, path, kind, size, mtime_ns, hash FROM sources")
    sources: dict[int, list[SourceFile]] = {}
    for number, *source in rows.fetchall():
        sources.setdefault(number, []).append(SourceFile(*source))
    return sources


def _find_max_line_bytes(files: Iterable[StagedFile]) -> int:
    """Return the limit of DuckDB's JSON reader, so that it can read the longest line."""
    longest_line = max(file.longest_line for file in files)
    return max(MIN_READER_BYTES, longest_line + SPARE_READER_BYTES)
