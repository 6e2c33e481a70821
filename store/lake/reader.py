"""Open a lake as a database with the tables of `schema.sql`. The large tables are views over
Parquet files.

`copy_items_to_new_store` copies some items to a local store, so that they can be reviewed without
the lake.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, cast

import duckdb
import orjson
from duckdb import DuckDBPyConnection as Connection

from fcreview.store.database import (
    SCHEMA_VERSION,
    EmptyValueError,
    StoreError,
    connect_in_memory,
    quote_literal,
)
from fcreview.store.filters.search_sql import COMPUTED_COLUMNS
from fcreview.store.importing.builder import (
    StoreBuilder,
    insert_json_rows,
    read_schema_sql,
    read_store_index,
)
from fcreview.store.importing.run_importer import import_lock
from fcreview.store.lake import lake_files
from fcreview.store.lake.lake_files import (
    DamagedFile,
    LakeContents,
    LakeFiles,
    LakeIndex,
    LakeRun,
    find_damaged_files,
    open_lake_files,
    read_part_again,
)
from fcreview.store.rows import get_run_number, strip_duplicate_mark
from fcreview.store.workspace import Workspace, WorkspaceError

MEMORY_LIMIT = "1GB"
"""Memory limit of DuckDB for a lake.

It is higher than for a store, because a lake may have ten million items.
"""
_LARGE = re.compile(rf"\b({'|'.join(lake_files.LARGE_COLUMNS)})\b|SELECT \* FROM item_rows")
"""Pattern of a query that needs large columns."""
_JOIN_REVIEWS = "LEFT JOIN human h ON h.item = i.item"
"""Join that takes a third of the time of a query.

`LakeConnection` removes it if there are no reviews.
"""
_HIVE_OPTIONS = "hive_partitioning=true, hive_types={'benchmark': VARCHAR, 'run': INTEGER}"
_TABLES = {
    "items": "internal.no_items",
    "functions": "internal.no_functions",
    "import_issues": "internal.search_issues",
}
"""For each kind of Parquet file, a table with the same columns. The tables are empty, except
`search_issues`, which contains the issues that belong to no run.
"""
# columns of `items` that have a value in every row
_REQUIRED = (
    "item",
    "run",
    "seq",
    "id",
    "category",
)
_SMALL_VIEWS = {"items": "item_index", "functions": "functions", "import_issues": "import_issues"}
MAX_PROBLEM = 300  # maximum length of the message about a damaged file, in characters
_SHOWN_REASON_LENGTH = 200  # maximum length of a reason from DuckDB in a message, in characters
found_problems: list[str] = []  # messages about damaged files, which a command prints at its end


_FATAL_ERRORS = (duckdb.FatalException, duckdb.InternalException)
"""Errors after which DuckDB refuses all further statements on a connection."""
_ERRORS_OF_STATEMENTS = (
    duckdb.InterruptException,
    duckdb.ParserException,
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.PermissionException,
)
"""Errors that do not depend on the content of files."""
SECONDS_BEFORE_SECOND_LOOK = 0.3
"""Time to wait before a damaged file is read again, because an import may be replacing it."""


class _UnexpectedContentError(Exception):
    """Raised for Parquet files with unexpected columns or rows.

    `problems` contains pairs of a damaged run or index and a message that begins with the name of
    the file.
    """

    def __init__(self, problems: Sequence[tuple[LakeRun | LakeIndex, str]]) -> None:
        super().__init__()
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _SmallColumns:
    """The columns of a table without large ones, such as the messages of items."""

    types_in_runs: Mapping[str, str]
    """SQL type by name, for the files of runs."""
    computed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Columns that only the files of indexes have: name -> (SQL type, SQL expression). For the
    files of runs, the expression computes them.
    """

    @property
    def types_in_indexes(self) -> dict[str, str]:
        computed_types = {name: sql_type for name, (sql_type, _) in self.computed.items()}
        return dict(self.types_in_runs) | computed_types


@dataclass(frozen=True, slots=True)
class _FileGroup:
    """Runs or indexes whose files of a table one query reads."""

    name: str
    """The DuckDB variable `{name}_{table}` has the paths."""
    parts: Sequence[LakeRun | LakeIndex]
    options: str = "hive_partitioning=false"
    """Options of `read_parquet`."""


class LakeConnection:
    """A DuckDB connection to a lake.

    If a query needs only small columns of the items, it reads the indexes.
    """

    memory_limit = MEMORY_LIMIT
    has_file_for_each_run = True  # see `fcreview.store.database.and_runs_of_items_sql`

    def __init__(self, connection: Connection, files: LakeFiles, contents: LakeContents) -> None:
        """Prepare a connection to the files of a lake. `update_views` makes them readable."""
        self.connection = connection
        self._files = files
        self._contents = contents
        self._has_computed_columns = False
        # Whether the hashes of all files were checked.
        self._are_files_intact = False
        # One message for each damaged file.
        self.problems = list(contents.problems)
        found_problems.extend(self.problems)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def execute(self, query: Any, parameters: Any = None) -> Connection:
        if isinstance(query, str):
            query = self._use_indexes(self._omit_join_without_reviews(query))
        return self.connection.execute(query, parameters)

    def _omit_join_without_reviews(self, query: str) -> str:
        if _JOIN_REVIEWS not in query:
            return query
        has_reviews = bool(self.connection.execute("FROM human_labels LIMIT 1").fetchall())
        return query if has_reviews else query.replace(_JOIN_REVIEWS, "LEFT JOIN human h ON false")

    def _use_indexes(self, query: str) -> str:
        """Return a query that reads the small indexes of the lake, if they have all its columns.

        Otherwise, return the query unchanged: only the files of the runs have the large columns,
        such as those of the messages.

        Names in the text of the query are replaced, as fcreview's queries spell them: the table
        `item_rows`, the view as `FROM items ` and the expressions of `COMPUTED_COLUMNS`. A query
        with another spelling gives the same rows, but reads the files of the runs.
        """
        with_computed_columns = query
        if self._has_computed_columns:
            # An index stores the value of these expressions as a column.
            for name, (_, expression) in COMPUTED_COLUMNS.items():
                with_computed_columns = with_computed_columns.replace(expression, f"i.{name}")
        if _LARGE.search(with_computed_columns):
            return query
        over_indexes = with_computed_columns.replace("item_rows", "item_index")
        return over_indexes.replace("FROM items ", "FROM item_list ")

    def omit_damaged_files(self, error: Exception) -> bool:
        """Omit the runs and indexes with damaged files, if one of them caused the error. The caller
        can then repeat the query: the runs of an omitted index are read from their own files.

        Returns False if no file is damaged. Raises StoreError if the error made this connection
        unusable.
        """
        if isinstance(error, _FATAL_ERRORS):
            self._raise_for_unusable_connection(error)
        if isinstance(error, EmptyValueError):
            run = self._contents.runs[error.run]
            self._omit_part(run, f"items.parquet is damaged ({error})")
        else:
            is_omitted = self._omit_cause(error)
            if not is_omitted:
                return False
        self.update_views()
        return True

    def _omit_cause(self, error: Exception) -> bool:
        """Omit the damaged files that caused an error, and return whether there are any.

        These are the file that the error names or, if it names none, all files whose content does
        not match the stored hash.
        """
        if self._omit_part_named_in(str(error)):
            return True
        return self._omit_parts_with_wrong_hash(error)

    def _omit_part_named_in(self, message: str) -> bool:
        """Remove the run or index of the first file in a message.

        Returns False if it names no file of the lake.
        """
        named_files = {}
        for part, file in self._iter_files():
            path = self._files.get_duckdb_path(f"{part.folder}/{file}")
            if path in message:
                named_files[path] = (part, file)
        if not named_files:
            return False
        first_path = min(named_files, key=message.index)
        part, file = named_files[first_path]
        self._reload_or_omit_part(part, f"{file} is damaged")
        return True

    def _iter_files(self) -> Iterator[tuple[LakeRun | LakeIndex, str]]:
        """Yield the name of each file, with its run or index."""
        for part in self._contents.runs_and_indexes:
            for file in part.files:
                yield part, file

    def _omit_parts_with_wrong_hash(self, error: Exception) -> bool:
        """Remove the runs and indexes whose files do not have the stated hashes.

        Returns False if all files are intact, or if damaged files cannot have caused the error.
        """
        if self._are_files_intact or isinstance(error, _ERRORS_OF_STATEMENTS):
            return False
        damaged = list(find_damaged_files(self._files, self._contents))
        if not damaged:
            # Reading all files again would find nothing.
            self._are_files_intact = True
            return False

        # An import may be replacing the files.
        time.sleep(SECONDS_BEFORE_SECOND_LOOK)
        for part in _list_distinct_parts(damaged):
            names = [file.name for file in damaged if file.part is part]
            self._reload_or_omit_part(part, f"{names[0]} is damaged")
        return True

    def _reload_or_omit_part(self, part: LakeRun | LakeIndex, problem: str) -> None:
        """Use the current files of a run or an index if an import has written them again since the
        lake was opened. Otherwise, leave the run or the index out.

        `problem` says which file does not have the expected content.
        """
        current = self._find_current_part(part)
        if current is None:
            self._omit_part(part, problem)
        elif isinstance(current, LakeRun):
            self._replace_run(current)
        else:
            self._replace_index(current)

    def _find_current_part(self, part: LakeRun | LakeIndex) -> LakeRun | LakeIndex | None:
        """Return a run or an index as an import has written it again; None if no import has."""
        current = read_part_again(self._files, part)
        if current is None or current.to_json() == part.to_json():
            return None
        # The connection can access only the files that the lake had when it was opened.
        can_access_files = current.files.keys() <= part.files.keys()
        return current if can_access_files else None

    def _replace_run(self, run: LakeRun) -> None:
        self._delete_rows_of_run(run.number)
        _insert_rows(self.connection, "runs", [run.row])
        _insert_rows(self.connection, "sources", run.sources)
        self._contents.runs[run.number] = run

    def _replace_index(self, index: LakeIndex) -> None:
        names = [known_index.name for known_index in self._contents.indexes]
        self._contents.indexes[names.index(index.name)] = index

    def _omit_part(self, part: LakeRun | LakeIndex, problem: str) -> None:
        """Leave out a damaged run or index, and note the problem with advice how to repair it.

        It is noted in `problems`, for the user of this connection, and in `found_problems`, which
        the command prints at its end.
        """
        if isinstance(part, LakeIndex):
            self._contents.indexes.remove(part)
            advice = lake_files.INDEX_ADVICE
        else:
            del self._contents.runs[part.number]
            self._delete_rows_of_run(part.number)
            advice = lake_files.RUN_ADVICE
        text = f"{self._files.location}/{part.folder}/{problem}. {advice}"
        self.problems.append(text)
        found_problems.append(text)

    def _delete_rows_of_run(self, number: int) -> None:
        for table in ("runs", "sources"):
            self.connection.execute(f"DELETE FROM {table} WHERE run = ?", [number])

    def _raise_for_unusable_connection(self, error: Exception) -> NoReturn:
        """Raise a StoreError for a lake that cannot be read. If a file is damaged, the error names
        it, and says how to repair the lake.
        """
        damaged_files = list(find_damaged_files(self._files, self._contents))
        first_line, *_ = str(error).splitlines()
        reason = first_line[:_SHOWN_REASON_LENGTH]
        location = self._files.location
        if not damaged_files:
            raise StoreError(f"cannot read the lake {location} ({reason})") from error

        first_file = damaged_files[0]
        path = f"{location}/{first_file.lake_path}"
        folder = f"{location}/{first_file.part.folder}"
        raise StoreError(
            f"{path} is damaged ({reason}). Delete the folder {folder} and import its runs again"
        ) from error

    def restrict_file_access(self) -> None:
        """Allow later statements to access only the Parquet files of the lake."""
        paths = [
            self._files.get_duckdb_path(f"{part.folder}/{file}")
            for part, file in self._iter_files()
        ]
        self.connection.execute("SET VARIABLE allowed = ?::VARCHAR[]", [paths])
        # A variable is five times as fast as a list in the SQL.
        self.connection.execute("SET allowed_paths = getvariable('allowed')")
        self.connection.execute("SET enable_external_access = false")

    def update_views(self) -> None:
        """Create or replace the views over the files of all runs, without runs and indexes of
        unexpected content.
        """
        while True:
            try:
                return self._create_views()
            except _UnexpectedContentError as error:
                for part, problem in error.problems:
                    self._omit_part(part, problem)
            except duckdb.Error as error:
                # DuckDB reads the first file of a view when it creates the view.
                is_omitted = self._omit_cause(error)
                if not is_omitted:
                    raise

    def _create_views(self) -> None:
        """Create the views (queries with the names of tables) over the files of the complete runs,
        and those over the indexes.

        Raises _UnexpectedContentError if a file has other columns or rows than it should have.
        """
        assigned = _assign_runs_to_indexes(self._contents)
        self._has_computed_columns = _have_computed_columns([index for index, _ in assigned])
        # An index can be read without a condition if all of its runs are read from it.
        whole_indexes = [index for index, runs in assigned if len(runs) == len(index.runs)]

        views = {"item_rows": self._build_complete_items_queries()}
        for table in _TABLES:
            queries_of_table = self._build_small_table_queries(table, assigned, whole_indexes)
            views[_SMALL_VIEWS[table]] = queries_of_table
        # Building the queries has set the variables with the paths that the check reads. The views
        # are replaced only if it finds no damage.
        self._raise_for_damaged_indexes(whole_indexes)
        for view, queries in views.items():
            self._create_view(view, queries)
        self._create_item_list()

    def _build_complete_items_queries(self) -> list[str]:
        """Return the queries for the items with all columns, from the files of all runs."""
        runs = [run for _, run in sorted(self._contents.runs.items())]
        # The folders name the run, so that a query for one run opens only its file.
        files = _FileGroup("complete", runs, _HIVE_OPTIONS)
        columns = self._fetch_column_types(_TABLES["items"])
        queries = self._build_table_queries("items", files, columns)
        return queries or [f"FROM {_TABLES['items']}"]

    def _build_small_table_queries(
        self,
        table: str,
        assigned: Sequence[tuple[LakeIndex, list[int]]],
        whole_indexes: Sequence[LakeIndex],
    ) -> list[str]:
        """Return the queries that together read a table of all runs, without large columns.

        An index contains the small columns of many runs in one file, which is faster to read than a
        file for each run. So there are up to three kinds of queries: for the runs that no index
        contains, from their own files; for all runs of the whole indexes; and for some runs of each
        other index.

        Args:
            table: Name of the table.
            assigned: The indexes, each with the numbers of the runs to read from it.
            whole_indexes: The indexes from which all runs are read.
        """
        columns = self._list_small_columns(table)
        rest = _FileGroup("rest", self._list_runs_without_index(assigned))
        queries = self._build_table_queries(table, rest, columns.types_in_runs, columns.computed)

        whole = _FileGroup("whole", whole_indexes)
        queries += self._build_table_queries(table, whole, columns.types_in_indexes)

        for number, (index, runs_to_read) in enumerate(assigned):
            if index not in whole_indexes:
                part = _FileGroup(f"part_{number}", [index])
                condition = _build_run_condition(table, runs_to_read)
                part_queries = self._build_table_queries(table, part, columns.types_in_indexes)
                queries += [query + condition for query in part_queries]

        # The store's own table is read if there are no files. That of issues is never empty: it has
        # the issues that belong to no run.
        if not queries or table == "import_issues":
            queries.append(f"FROM {_TABLES[table]}")
        return queries

    def _list_small_columns(self, table: str) -> _SmallColumns:
        """Return the columns of a table that are read from all runs and indexes."""
        types = self._fetch_column_types(_TABLES[table])
        if table != "items":
            return _SmallColumns(types)
        types = _omit_large_columns(types)
        if not self._has_computed_columns:
            return _SmallColumns(types)
        return _SmallColumns(types, COMPUTED_COLUMNS)

    def _list_runs_without_index(
        self, assigned: Iterable[tuple[LakeIndex, list[int]]]
    ) -> list[LakeRun]:
        """Return the runs that no index covers, in the order of their numbers."""
        indexed = set()
        for _, runs in assigned:
            indexed.update(runs)
        return [run for number, run in sorted(self._contents.runs.items()) if number not in indexed]

    def _create_view(self, view: str, queries: Sequence[str]) -> None:
        """Create the view of a table from queries that each read some files of the lake."""
        query = " UNION ALL ".join(f"({query})" for query in queries)
        # Several runs and indexes have the same functions.
        if view == "functions":
            values = "any_value(name) AS name, any_value(document) AS document"
            query = f"SELECT hash, {values} FROM ({query}) GROUP BY hash"
        self.connection.execute(f"CREATE OR REPLACE VIEW {view} AS {query}")

    def _create_item_list(self) -> None:
        """Create the view `item_list`: the items of the lake without large columns.

        Its SQL is that of the view `items` in `schema.sql`, with the table `item_index` instead of
        `item_rows`. It is made from the text of the schema, so that both views stay equal. DuckDB
        raises an error if a replacement no longer fits the schema, because `item_index` lacks the
        large columns.
        """
        schema = read_schema_sql()
        create_items = "CREATE VIEW items AS"
        start = schema.index(create_items)
        end = schema.index(";", start)
        create_list = schema[start:end].replace(create_items, "CREATE OR REPLACE VIEW item_list AS")
        create_list = create_list.replace("item_rows", "item_index")
        create_list = create_list.replace(", i.functions, i.extra", "")
        self.connection.execute(create_list)

    def _fetch_column_types(self, table: str) -> dict[str, str]:
        rows = self.connection.execute(f"DESCRIBE FROM {table}").fetchall()
        return {name: kind for name, kind, *_ in rows}

    def _build_table_queries(
        self,
        table: str,
        files: _FileGroup,
        column_types: Mapping[str, str],
        computed_columns: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    ) -> list[str]:
        """Return a list with one query that reads a table from Parquet files, or an empty list
        without files. Raises _UnexpectedContentError if a file has other columns.

        The query reads the paths from a DuckDB variable, which is set here, so that the text of the
        query stays short.

        Args:
            table: Name of the table.
            files: The runs or indexes whose files are read.
            column_types: Column -> SQL type, for the columns to select.
            computed_columns: Further columns: name -> (SQL type, SQL expression).
        """
        file = f"{table}.parquet"
        parts_with_file = [part for part in files.parts if file in part.files]
        if not parts_with_file:
            return []

        paths = [self._files.get_duckdb_path(f"{part.folder}/{file}") for part in parts_with_file]
        variable = f"{files.name}_{table}"
        self.connection.execute(f"SET VARIABLE {variable} = ?::VARCHAR[]", [paths])
        files_sql = f"read_parquet(getvariable('{variable}'), {files.options})"

        needed_types = column_types
        if computed_columns:
            # The SQL of computed columns uses all columns, also the large ones.
            needed_types = self._fetch_column_types(_TABLES[table])
        # Only the first file is checked here, because DuckDB compares the others with it.
        first_file_types = self._fetch_column_types(files_sql)
        if _describe_wrong_column(first_file_types, needed_types):
            raise self._make_wrong_columns_error(parts_with_file, file, files.options, needed_types)

        return [_build_select(column_types, computed_columns, files_sql)]

    def _make_wrong_columns_error(
        self,
        parts: Sequence[LakeRun | LakeIndex],
        file: str,
        options: str,
        expected_types: Mapping[str, str],
    ) -> _UnexpectedContentError:
        """Return the error about the files that have other columns.

        It names no file if an import has replaced the wrong one since it was found. The views are
        then created from the new file.
        """
        problems: list[tuple[LakeRun | LakeIndex, str]] = []
        for part in parts:
            path = self._files.get_duckdb_path(f"{part.folder}/{file}")
            types = self._fetch_column_types(f"read_parquet({quote_literal(path)}, {options})")
            wrong_column = _describe_wrong_column(types, expected_types)
            if wrong_column:
                problems.append((part, f"{file} {wrong_column}"))
        return _UnexpectedContentError(problems)

    def _raise_for_damaged_indexes(self, indexes: Sequence[LakeIndex]) -> None:
        """Raise _UnexpectedContentError if the items of an index are damaged.

        An index is damaged if it has empty values in required columns, or not as many items as its
        runs have.
        """
        if not indexes:
            return

        # The variable `whole_items` of the connection lists the files with the items of the indexes.
        query = "SELECT file_name, num_rows FROM parquet_file_metadata(getvariable('whole_items'))"
        n_rows_by_path: dict[str, int] = dict(self.connection.execute(query).fetchall())
        empty_column_by_path = self._find_empty_columns()

        problems: list[tuple[LakeRun | LakeIndex, str]] = []
        for index in indexes:
            path = self._files.get_duckdb_path(f"{index.folder}/items.parquet")
            problem = self._describe_damage(
                index, n_rows_by_path.get(path, 0), empty_column_by_path.get(path)
            )
            if problem:
                problems.append((index, problem))
        if problems:
            raise _UnexpectedContentError(problems)

    def _describe_damage(self, index: LakeIndex, n_rows: int, empty_column: str | None) -> str:
        """Say why the items of an index are damaged; an empty text if they are not.

        Args:
            index: The index.
            n_rows: The number of its items.
            empty_column: A required column that has empty values, if any.
        """
        if empty_column is not None:
            return f"items.parquet is damaged (column {empty_column} has empty values)"
        n_items = sum(self._contents.runs[run].row["n_items"] for run in index.runs)
        if n_rows != n_items:
            return f"items.parquet does not match its runs ({n_rows:,} of {n_items:,} items)"
        return ""

    def _find_empty_columns(self) -> dict[str, str]:
        """Return the path of each index that has empty values in a required column, with the name
        of a column.
        """
        files = "read_parquet(getvariable('whole_items'), filename=true)"
        queries = [
            f"SELECT filename, '{name}' FROM {files} WHERE {name} IS NULL" for name in _REQUIRED
        ]
        return dict(self.connection.execute(" UNION ".join(queries)).fetchall())


def _have_computed_columns(indexes: Sequence[LakeIndex]) -> bool:
    """Whether there are indexes, and all have the computed columns of this version."""
    if not indexes:
        return False
    return all(index.computed == lake_files.COMPUTED_COLUMNS_VERSION for index in indexes)


def _build_select(
    column_types: Iterable[str],
    computed_columns: Mapping[str, tuple[str, str]],
    files_sql: str,
) -> str:
    """Return a query for columns of files, and for columns that SQL expressions compute."""
    selected = [f'"{name}"' for name in column_types]
    for name, (_, expression) in computed_columns.items():
        selected.append(f"{expression} AS {name}")
    return f"SELECT {', '.join(selected)} FROM {files_sql} i"


def _build_run_condition(table: str, runs: Iterable[int]) -> str:
    """Return the end of a query of an index that selects the rows of some runs."""
    # Function docs belong to no run. Those of changed runs do no harm.
    if table == "functions":
        return ""
    return f" WHERE run IN ({', '.join(map(str, runs))})"


def _omit_large_columns(column_types: Mapping[str, str]) -> dict[str, str]:
    return {
        name: kind for name, kind in column_types.items() if name not in lake_files.LARGE_COLUMNS
    }


def _list_distinct_parts(damaged: Iterable[DamagedFile]) -> list[LakeRun | LakeIndex]:
    return list({file.part.folder: file.part for file in damaged}.values())


def _describe_wrong_column(
    found_types: Mapping[str, str], expected_types: Mapping[str, str]
) -> str:
    """Describe the first column that is missing or has another type. Empty if there is none."""
    for name, expected_type in expected_types.items():
        found_type = found_types.get(name, "missing")
        if found_type != expected_type:
            problem = f"is damaged (column {name}: {found_type} instead of {expected_type})"
            # A type in a damaged file can be very long.
            return problem[:MAX_PROBLEM]
    return ""


def _assign_runs_to_indexes(contents: LakeContents) -> list[tuple[LakeIndex, list[int]]]:
    """Choose the index from which each run is read. Returns pairs (index, numbers of the runs to
    read from it), without indexes that no run needs.

    An index is a file with copies of the rows of several runs. Each run is read from the first
    index that has its current rows. A run that was written again after all of its indexes is in no
    pair.
    """
    assigned: list[tuple[LakeIndex, list[int]]] = []
    seen: set[int] = set()
    current_hashes = {number: run.content_hash for number, run in contents.runs.items()}
    for index in contents.indexes:
        runs_to_read = []
        for run, indexed_hash in index.runs.items():
            is_unchanged = current_hashes.get(run) == indexed_hash
            if is_unchanged and run not in seen:
                runs_to_read.append(run)
        seen.update(runs_to_read)
        if runs_to_read:
            assigned.append((index, runs_to_read))
    return assigned


def open_lake(
    workspace: Workspace, attach_other_files: Callable[[Connection], object] = lambda _: None
) -> Connection:
    """Open the lake of a workspace, as `database.open_store` opens a store. The connection can
    access only the files of the lake. `attach_other_files` is called before access is restricted.
    """
    lake = connect_lake(workspace)
    try:
        attach_other_files(lake.connection)
        lake.restrict_file_access()
    except BaseException:
        lake.close()
        raise
    # A lake has all methods of a connection that `store` calls.
    return cast("Connection", lake)


def connect_lake(workspace: Workspace, runs: Collection[int] | None = None) -> LakeConnection:
    """Open the lake of a workspace: a folder, perhaps on a server, with Parquet files of many runs.

    The connection has all runs, or only the given ones, and can access any file. Raises StoreError
    if the lake cannot be read.
    """
    assert workspace.lake is not None  # noqa: S101 - for the type checker
    files = open_lake_files(workspace.lake)
    contents = _read_usable_contents(files, workspace.lake)
    if runs is not None:
        contents.runs = {number: run for number, run in contents.runs.items() if number in runs}

    connection = connect_in_memory()
    try:
        return _create_lake_connection(connection, files, contents)
    except duckdb.Error as error:
        connection.close()
        first_line = str(error).splitlines()[0]
        reason = first_line[:_SHOWN_REASON_LENGTH]
        raise StoreError(f"cannot read the lake {workspace.lake} ({reason})") from error


def _create_lake_connection(
    connection: Connection, files: LakeFiles, contents: LakeContents
) -> LakeConnection:
    """Create the tables and views of a lake in an empty database."""
    if files.file_system is not None:
        connection.register_filesystem(files.file_system)
    _create_tables(connection)
    _fill_tables(connection, contents)
    lake = LakeConnection(connection, files, contents)
    lake.update_views()
    return lake


def _read_usable_contents(files: LakeFiles, address: str) -> LakeContents:
    """Read what the lake contains.

    Raises StoreError if there is no lake at the address, or if it is of another version.
    """
    try:
        contents = _read_contents(files)
    except OSError as error:
        raise StoreError(f"cannot read the lake {address}: {error.strerror or error}") from error
    if not contents.is_lake:
        raise StoreError(
            f"there is no lake at {address}. Check the address, or create the lake with"
            " fcreview import PATH --lake"
        )
    if contents.schema_version != SCHEMA_VERSION:
        raise StoreError(f"the lake {address} {lake_files.OTHER_VERSION}")
    return contents


def _read_contents(files: LakeFiles) -> LakeContents:
    """List the runs and indexes of a lake. If any are damaged, list them again before this is
    reported, because an import may be writing the files.
    """
    contents = lake_files.read_lake(files)
    if not contents.problems:
        return contents
    time.sleep(SECONDS_BEFORE_SECOND_LOOK)
    return lake_files.read_lake(files)


def _create_tables(connection: Connection) -> None:
    """Create an in-memory database with the small tables of `schema.sql`.

    `LakeConnection.update_views` creates the large tables as views over Parquet files.
    """
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    connection.execute("SET parquet_metadata_cache = true")
    connection.execute("ATTACH ':memory:' AS store")
    connection.execute("USE store")
    connection.execute(read_schema_sql())
    _replace_large_tables(connection)


def _fill_tables(connection: Connection, contents: LakeContents) -> None:
    """Insert the runs of a lake, their sources, and the issues of the search for them."""
    runs = [contents.runs[number] for number in sorted(contents.runs)]
    build = lake_files.hash_text("".join(run.content_hash for run in runs))
    connection.execute(
        f"INSERT INTO meta VALUES ('schema_version', '{SCHEMA_VERSION}'), ('build', '{build}')"
    )
    _insert_rows(connection, "runs", (run.row for run in runs))
    sources = itertools.chain.from_iterable(run.sources for run in runs)
    _insert_rows(connection, "sources", sources)
    _insert_rows(connection, "internal.search_issues", contents.issues)


def _replace_large_tables(connection: Connection) -> None:
    """Replace the tables that become views by empty tables of other names, with the same
    columns.
    """
    connection.execute("CREATE SCHEMA internal")
    for name, empty_table in _TABLES.items():
        table = "item_rows" if name == "items" else name
        connection.execute(
            f"CREATE TABLE {empty_table} AS SELECT * FROM {table} LIMIT 0; DROP TABLE {table}"
        )


def _insert_rows(connection: Connection, table: str, rows: Iterable[dict[str, Any]]) -> None:
    types = {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {table}").fetchall()}
    insert_json_rows(connection.execute, table, types, map(orjson.dumps, rows))


# Import version of a run with only some of its items, so that an import reads the run again.
NEVER_IMPORTED = -1


def copy_items_to_new_store(lake: Workspace, item_numbers: Sequence[int]) -> Workspace:
    """Replace the workspace's local store by a store with these items of the lake, and return the
    workspace with this store. Raises WorkspaceError if the local store has imported runs; OSError
    if it cannot be written; StoreError if the lake cannot be read.
    """
    workspace = replace(lake, lake=None)
    index = read_store_index(workspace)
    if any(run.import_fingerprint != NEVER_IMPORTED for run in index.runs.values()):
        raise WorkspaceError(
            f"{workspace.root} already has imported runs. Choose another folder with --workspace"
            " DIR."
        )
    items = sorted({strip_duplicate_mark(number) for number in item_numbers})
    folder = workspace.temporary / str(os.getpid())
    with import_lock(workspace):
        workspace.files.make_folder(folder)
        try:
            _copy_items_to_folder(lake, items, folder)
            _build_store_from_folder(workspace, folder)
        finally:
            workspace.files.remove(folder)
    return workspace


def _copy_items_to_folder(lake: Workspace, items: Sequence[int], folder: Path) -> None:
    connection = connect_lake(lake, {get_run_number(item) for item in items})
    try:
        _write_items_to_parquet(connection, items, str(folder))
    finally:
        connection.close()


def _build_store_from_folder(workspace: Workspace, folder: Path) -> None:
    """Replace the workspace's store by one with the rows of the Parquet files in a folder."""
    with StoreBuilder(workspace, folder, copy_existing=False) as builder:
        for name in ("runs", "sources", *lake_files.TABLES):
            table = "item_rows" if name == "items" else name
            builder.load_parquet(table, folder / f"{name}.parquet")
        builder.finish_and_replace_store()


def _write_items_to_parquet(connection: LakeConnection, items: Sequence[int], folder: str) -> None:
    """Write these items, with their runs, sources, function docs and issues, to one Parquet file
    for each table of the store.

    The runs get the number of these items, and the version -1, which says that no import has read
    them. The rows are copied from a temporary table, which lasts as long as the connection, so that
    the large items are read once.
    """
    selected = f"(SELECT unnest([{', '.join(map(str, items))}]::BIGINT[]))"
    connection.execute(
        f"CREATE TEMP TABLE pulled AS SELECT * FROM item_rows WHERE item IN {selected}"
    )
    queries = {
        "runs": "SELECT * EXCLUDE (n) REPLACE (n AS n_items, -1 AS version) FROM runs"
        " JOIN (SELECT run, count(*) AS n FROM temp.pulled GROUP BY run) USING (run)",
        "sources": "SELECT * FROM sources WHERE run IN (SELECT run FROM temp.pulled)",
        "items": "SELECT * FROM temp.pulled ORDER BY item",
        "functions": "SELECT * FROM functions WHERE hash IN (SELECT unnest(functions) FROM"
        " temp.pulled)",
        "import_issues": "SELECT * FROM import_issues WHERE item IN (SELECT item FROM temp.pulled)",
    }
    for table, query in queries.items():
        connection.execute(
            f"COPY ({query}) TO {quote_literal(f'{folder}/{table}.parquet')} (FORMAT parquet)"
        )
