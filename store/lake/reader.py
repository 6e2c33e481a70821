"""Read a lake as a store: a connection with the tables of `schema.sql`, the large ones as views over Parquet files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, cast

import duckdb
import orjson

from fcreview.store.database import (
    SCHEMA_VERSION,
    StoreError,
    connect_in_memory,
    disable_external_access,
)
from fcreview.store.importing.builder import insert_lines, read_schema
from fcreview.store.lake.files import LakeFiles, open_lake_files
from fcreview.store.lake.layout import (
    LARGE_COLUMNS,
    OTHER_VERSION,
    TABLES,
    LakeContents,
    LakeIndex,
    LakeRun,
    digest,
    read_lake,
)
from fcreview.store.workspace import Workspace

MEMORY_LIMIT = "1GB"
"""DuckDB's memory limit for a lake. A query over ten million items needs more than one over a store."""
_LARGE = re.compile(rf"\b({'|'.join(LARGE_COLUMNS)})\b|SELECT \* FROM item_rows")
"""What a query contains that needs more than the small columns."""
_HIVE_OPTIONS = "hive_partitioning=true, hive_types={'benchmark': VARCHAR, 'run': INTEGER}"
"""Options with which a condition on `run` selects files by name."""
found_problems: list[str] = []
"""Messages about damaged files that this process has found in lakes, for the end of a command."""


class LakeConnection:
    """A DuckDB connection to a lake. Queries that need only small columns of the items read the indexes.

    It has the methods of `duckdb.DuckDBPyConnection`.
    """

    memory_limit = MEMORY_LIMIT
    has_file_for_each_run = True
    """See `fcreview.store.database.select_runs`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: LakeFiles, contents: LakeContents) -> None:
        self.connection, self._files, self._contents = connection, files, contents
        self.problems = list(contents.problems)
        """One message for each damaged file."""
        found_problems.extend(self.problems)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, query: Any, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        if isinstance(query, str) and not _LARGE.search(query):
            query = query.replace("item_rows", "item_index").replace("FROM items ", "FROM item_list ")
        return self.connection.execute(query, parameters)

    def omit_damaged_file(self, error: duckdb.Error) -> bool:
        """Omit the run or index whose file an error names. Returns False if the error names none."""
        found = self._omit(str(error))
        if found:
            self.set_files()
        return found

    def _omit(self, text: str) -> bool:
        contents, location = self._contents, self._files.location
        for run in contents.runs.values():
            for file in run.files:
                if self._files.path_of(f"{run.folder}/{file}") in text:
                    self._report(f"{location}/{run.folder}/{file} is damaged. The run is omitted. Import it again")
                    del contents.runs[run.number]
                    for table in ("runs", "sources"):
                        self.connection.execute(f"DELETE FROM {table} WHERE run = ?", [run.number])
                    return True
        for index in contents.indexes:
            if self._files.path_of(index.folder) + "/" in text:
                self._report(f"{location}/{index.folder} is damaged. Queries are slower without this index")
                contents.indexes.remove(index)
                return True
        return False

    def _report(self, problem: str) -> None:
        self.problems.append(problem)
        found_problems.append(problem)

    def restrict_access(self) -> None:
        """Stop all statements from accessing files other than the Parquet files of the lake. Cannot be undone."""
        folders: list[LakeRun | LakeIndex] = [*self._contents.runs.values(), *self._contents.indexes]
        paths = [self._files.path_of(f"{each.folder}/{file}") for each in folders for file in each.files]
        disable_external_access(self.connection, paths)

    def set_files(self) -> None:
        """Create the views over the files of all complete runs."""
        try:
            self._create_all_views()
        except duckdb.Error as error:  # DuckDB reads the first file of each view
            if not self._omit(str(error)):
                raise
            self.set_files()

    def _create_all_views(self) -> None:
        runs, path_of = self._contents.runs, self._files.path_of
        assigned = assign_indexes(self._contents)
        covered = {run for part in assigned.values() for run in part}
        for table in TABLES:
            file = f"{table}.parquet"
            complete = [path_of(f"{run.folder}/{file}") for _, run in sorted(runs.items()) if file in run.files]
            rest = [
                path_of(f"{run.folder}/{file}")
                for number, run in sorted(runs.items())
                if file in run.files and number not in covered
            ]
            sources = [_read_files(rest, "rest_" + table, self.connection)]
            whole = [index for index, part in assigned.items() if len(part) == len(self._index(index).runs)]
            sources.append(
                _read_files(
                    [path_of(f"_index/{name}/{file}") for name in whole if file in self._index(name).files],
                    "index_" + table,
                    self.connection,
                )
            )
            for number, (name, part) in enumerate((n, p) for n, p in assigned.items() if n not in whole):
                if file in self._index(name).files:
                    source = _read_files([path_of(f"_index/{name}/{file}")], f"part_{number}_{table}", self.connection)
                    numbers = ", ".join(map(str, part))
                    sources.append(
                        source and (f"{source} WHERE run IN ({numbers})" if table != "functions" else source)
                    )
            self._create_views(table, _read_files(complete, table, self.connection), [s for s in sources if s])

    def _index(self, name: str) -> LakeIndex:
        return next(index for index in self._contents.indexes if index.name == name)

    def _create_views(self, table: str, complete: str, indexed: Sequence[str]) -> None:
        execute = self.connection.execute
        if table == "items":
            small = ", ".join(f'"{name}"' for name in _columns(self.connection) if name not in LARGE_COLUMNS)
            every = ", ".join(f'"{name}"' for name in _columns(self.connection))
            empty = "SELECT * FROM internal.no_items"
            execute(f"CREATE OR REPLACE VIEW item_rows AS {f'SELECT {every} {complete}' if complete else empty}")
            union = " UNION ALL ".join(f"SELECT {small} {source}" for source in indexed)
            execute(f"CREATE OR REPLACE VIEW item_index AS {union or empty}")
            text, at = read_schema(), "CREATE VIEW items AS"
            items = text[text.index(at) : text.index(";", text.index(at))].replace(
                at, "CREATE OR REPLACE VIEW item_list AS"
            )
            execute(items.replace("item_rows", "item_index").replace(", i.functions, i.extra", ""))
        elif table == "functions":
            union = " UNION ALL ".join(f"SELECT hash, name, document {source}" for source in indexed)
            if union:
                execute(
                    "CREATE OR REPLACE VIEW functions AS SELECT hash, any_value(name) AS name,"
                    f" any_value(document) AS document FROM ({union}) GROUP BY hash"
                )
            else:
                execute("CREATE OR REPLACE VIEW functions AS SELECT * FROM internal.no_functions")
        else:
            columns = "run, item, id, file, line, what, raw, severity"
            union = " UNION ALL ".join(
                [f"SELECT {columns} FROM internal.search_issues", *(f"SELECT {columns} {s}" for s in indexed)]
            )
            execute(f"CREATE OR REPLACE VIEW import_issues AS {union}")


def _columns(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [row[0] for row in connection.execute("DESCRIBE internal.no_items").fetchall()]


def _read_files(paths: Sequence[str], variable: str, connection: duckdb.DuckDBPyConnection) -> str:
    """Return a FROM clause for Parquet files; empty for no files. The variable has the list of files."""
    if not paths:
        return ""
    connection.execute(f"SET VARIABLE {variable} = ?::VARCHAR[]", [paths])
    options = _HIVE_OPTIONS if variable == "items" else "hive_partitioning=false"
    return f"FROM read_parquet(getvariable('{variable}'), {options})"


def assign_indexes(contents: LakeContents) -> dict[str, list[int]]:
    """Return the current runs that each index is used for. Each run has at most one index."""
    assigned: dict[str, list[int]] = {}
    seen: set[int] = set()
    builds = {number: run.build for number, run in contents.runs.items()}
    for index in contents.indexes:
        own = [run for run, build in index.runs.items() if builds.get(run) == build and run not in seen]
        seen.update(own)
        if own:
            assigned[index.name] = own
    return assigned


def open_lake(
    workspace: Workspace, attach_more: Callable[[duckdb.DuckDBPyConnection], object] = lambda _: None
) -> duckdb.DuckDBPyConnection:
    """Open the lake of a workspace like `database.open_store`. The connection can access the lake's files only.

    Raises: StoreError if the lake cannot be read or was written by another version.
    """
    lake = connect_lake(workspace)
    try:
        attach_more(lake.connection)
        lake.restrict_access()
    except BaseException:
        lake.close()
        raise
    return cast("duckdb.DuckDBPyConnection", lake)


def connect_lake(workspace: Workspace, runs: Collection[int] | None = None) -> LakeConnection:
    """Open the lake of a workspace, or some of its runs, without limits of access. Raises the errors of `open_lake`."""
    assert workspace.lake is not None  # noqa: S101 - for the type checker
    files = open_lake_files(workspace.lake)
    try:
        contents = read_lake(files)
    except OSError as error:
        raise StoreError(f"cannot read the lake {workspace.lake}: {error.strerror or error}") from error
    if contents.schema_version != SCHEMA_VERSION:
        raise StoreError(f"the lake {workspace.lake} {OTHER_VERSION}")
    if runs is not None:
        contents.runs = {number: run for number, run in contents.runs.items() if number in runs}
    connection = connect_in_memory()
    try:
        if files.file_system is not None:
            connection.register_filesystem(files.file_system)
        _set_up(connection, contents)
        lake = LakeConnection(connection, files, contents)
        lake.set_files()
    except duckdb.Error as error:
        connection.close()
        raise StoreError(f"cannot read the lake {workspace.lake} ({str(error).splitlines()[0][:200]})") from error
    return lake


def _set_up(connection: duckdb.DuckDBPyConnection, contents: LakeContents) -> None:
    """Create the tables of `schema.sql`. The large ones become views in `LakeConnection.set_files`."""
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    connection.execute("SET parquet_metadata_cache = true")
    connection.execute("ATTACH ':memory:' AS store")
    connection.execute("USE store")
    connection.execute(read_schema())
    connection.execute("CREATE SCHEMA internal")
    for old, new in (
        ("item_rows", "internal.no_items"),
        ("functions", "internal.no_functions"),
        ("import_issues", "internal.search_issues"),
    ):
        connection.execute(f"CREATE TABLE {new} AS SELECT * FROM {old} LIMIT 0; DROP TABLE {old}")
    runs = [contents.runs[number] for number in sorted(contents.runs)]
    build = digest("".join(run.build for run in runs))
    connection.execute(f"INSERT INTO meta VALUES ('schema_version', '{SCHEMA_VERSION}'), ('build', '{build}')")
    _insert(connection, "runs", (run.row for run in runs))
    _insert(connection, "sources", (source for run in runs for source in run.sources))
    _insert(connection, "internal.search_issues", contents.issues)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Iterable[dict[str, Any]]) -> None:
    types = {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {table}").fetchall()}
    insert_lines(connection.execute, table, types, map(orjson.dumps, rows))
