"""Open the store read-only, limit the memory and time of queries, and run SQL statements of users safely."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import duckdb
from duckdb import DuckDBPyConnection as Connection

from fcreview.errors import FcreviewError
from fcreview.store.workspace import Workspace

T = TypeVar("T")

SCHEMA_VERSION = "9"  # Version of the tables in `schema.sql`. The next import rebuilds a store of another version.
_TABLES = ("functions", "import_issues", "item_rows", "meta", "questions", "runs", "sources")
_VIEWS = ("calls", "items", "messages", "pairs", "verdicts")
NOT_VERIFIED = "not_verified"  # key in the table `meta`, see `is_marked_unverified`
MEMORY_LIMIT = "96MB"  # DuckDB's memory limit while a user pages through the items
MAX_MEMORY_LIMIT = "2GB"  # for a query that fails with `MEMORY_LIMIT`, such as a search in large texts, and for SQL

IMPORT_AGAIN = ": import the runs again; reviews are kept"  # end of the error message for a store that cannot be used


class StoreError(FcreviewError):
    """Raised when the store is missing or cannot be read. The message is one line and contains the remedy."""


class EmptyValueError(duckdb.DataError):
    """Raised for a run that has items without a number, id or category. fcreview writes no such items."""

    def __init__(self, run: int) -> None:
        super().__init__(f"run {run} has items without a number, id or category")
        self.run = run


DAMAGE_REASONS = ("Corrupt database file", "Could not read enough bytes")


def is_damage(error: BaseException) -> bool:
    """Whether an error means that the content of the store is missing, invalid or does not match its checksums."""
    return isinstance(error, duckdb.SerializationException | duckdb.FatalException | EmptyValueError) or (
        isinstance(error, duckdb.Error) and any(reason in str(error) for reason in DAMAGE_REASONS)
    )


def describe_damage(error: BaseException) -> str:
    """Return the message for a damaged store. `is_damage` must be true for the error."""
    reason = _first_lines(error, 1)[:200]
    return f"the store is damaged ({reason}): delete store.duckdb in the workspace and import again; reviews are kept"


def quote_literal(text: str | Path) -> str:
    """Quote a text as an SQL literal, for statements in which DuckDB accepts no parameters."""
    return "'" + os.fspath(text).replace("'", "''") + "'"


def connect_in_memory() -> Connection:
    """Open an in-memory database that does not load extensions automatically."""
    return duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})


def restrict_to_runs_sql(connection: Connection, items: Iterable[int]) -> str:
    """Return ` AND run IN (...)` for a query on these items of a lake, which has a file for each run. Empty for a
    database, where the index of the items alone is faster."""
    if not getattr(connection, "has_file_for_each_run", False):
        return ""
    runs = sorted({int(item) >> 32 for item in items})
    return f" AND run IN ({', '.join(map(str, runs))})" if runs else ""


def is_foreign(workspace: Workspace) -> bool:
    """Whether the store belongs neither to this user nor to a group of this user."""
    if workspace.lake is not None and not os.path.isabs(workspace.lake):  # noqa: PTH117 - an address
        return False
    status = workspace.store.lstat() if workspace.lake is None else os.stat(workspace.lake)  # noqa: PTH116
    return status.st_uid != os.geteuid() and status.st_gid not in {os.getegid(), *os.getgroups()}


def attach_store(workspace: Workspace, attach_more: Callable[[Connection], object] = lambda _: None) -> Connection:
    """Open the workspace's store read-only, as the default database `store` of the connection.

    The connection can access no other file, because a view in somebody else's store could read any file. `attach_more`
    is called before access is restricted, and may attach other files. The connection is in memory, because
    `duckdb.connect(path)` returns the file that this process already has open, even if an import has replaced it.

    Raises OSError if the store is missing, a link or not a regular file; duckdb.Error if it is damaged.
    """
    os.close(workspace.files.open(workspace.store))  # DuckDB follows links and would wait for a pipe
    if os.path.lexists(workspace.store_log):
        raise OSError(errno.EINVAL, f"{workspace.store_log.name} was written by another program")
    connection = connect_in_memory()
    connection.execute("SET enable_progress_bar = false")  # the bar would overwrite the screen
    try:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        connection.execute(f"SET threads = {min(4, os.cpu_count() or 1)}")
        connection.execute(f"ATTACH {quote_literal(workspace.store)} AS store (READ_ONLY)")
        attach_more(connection)
        disable_external_access(connection, [workspace.store, workspace.store_log])
        connection.execute("USE store")
    except BaseException:
        connection.close()
        raise
    return connection


def open_store(workspace: Workspace, attach_more: Callable[[Connection], object] = lambda _: None) -> Connection:
    """Open the workspace's store as `attach_store` does. Raises StoreError for anything but a complete store."""
    try:
        connection = attach_store(workspace, attach_more)
    except FileNotFoundError:
        raise StoreError(f"nothing imported at {workspace.parent_folder} yet: run fcreview import PATH") from None
    except (duckdb.Error, OSError) as error:
        reason = _first_lines(error, 1)[:200] if isinstance(error, duckdb.Error) else error.strerror
        raise StoreError(f"cannot read {workspace.store} ({reason}){IMPORT_AGAIN}") from error
    try:
        found = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    except duckdb.OutOfMemoryException:
        connection.close()
        raise
    except duckdb.Error:
        found = None
    if found is None or found[0] != SCHEMA_VERSION:
        connection.close()
        raise StoreError(f"{workspace.store} was written by another version of fcreview{IMPORT_AGAIN}")
    if not _has_valid_tables(connection):
        connection.close()
        raise StoreError(f"{workspace.store} was changed by another program{IMPORT_AGAIN}")
    return connection


def is_marked_unverified(connection: Connection) -> bool:
    """Whether the store has runs that were copied from another user's store (see `is_foreign`)."""
    return connection.execute(f"SELECT 1 FROM meta WHERE key = '{NOT_VERIFIED}'").fetchone() is not None


def _has_valid_tables(connection: Connection) -> bool:
    try:
        # `duckdb_tables()` would take 8 ms.
        if any(connection.table(name).type != "TABLE_RELATION" for name in _TABLES):
            return False
        connection.execute(f"SELECT 1 FROM {', '.join(_VIEWS)} LIMIT 0")
    except duckdb.Error:
        return False
    return True


def disable_external_access(
    connection: Connection, files: Sequence[Path | str] = (), folder: Path | None = None
) -> None:
    """Stop all statements on this connection from accessing files, except the given files and those in a folder.

    Databases that are attached stay accessible. This cannot be undone.
    """
    connection.execute(f"SET allowed_paths = [{', '.join(map(quote_literal, files))}]")
    if folder is not None:
        connection.execute(f"SET allowed_directories = [{quote_literal(f'{folder}/')}]")
    connection.execute("SET enable_external_access = false")


def lock_configuration(connection: Connection) -> None:
    """Raise the memory limit, then stop all statements from changing settings. This cannot be undone."""
    connection.execute(f"SET memory_limit = '{MAX_MEMORY_LIMIT}'")
    connection.execute("SET lock_configuration = true")


def _omit_damaged_file(connection: Connection, error: duckdb.Error) -> bool:
    """If the error is about a damaged file of a lake, omit this file and return True, so that the query can be
    repeated."""
    omit = getattr(connection, "omit_damaged_file", None)
    return omit is not None and bool(omit(error))


def _call_without_damaged_files(connection: Connection, work: Callable[[], T]) -> T:
    try:
        return work()
    except duckdb.Error as error:
        if _omit_damaged_file(connection, error):
            return _call_without_damaged_files(connection, work)
        if is_damage(error):
            raise StoreError(describe_damage(error)) from error
        raise


def retry_with_more_memory(connection: Connection, work: Callable[[], T]) -> T:
    """Call `work`. If DuckDB runs out of memory, call it again with `MAX_MEMORY_LIMIT`.

    Raises: StoreError if DuckDB runs out of memory again, or if the store is damaged.
    """
    try:
        return _call_without_damaged_files(connection, work)
    except duckdb.OutOfMemoryException:
        with contextlib.suppress(duckdb.InvalidInputException):  # locked settings already have this limit
            connection.execute(f"SET memory_limit = '{MAX_MEMORY_LIMIT}'")
        try:
            return _call_without_damaged_files(connection, work)
        except duckdb.OutOfMemoryException:
            raise StoreError(f"this needs more than {MAX_MEMORY_LIMIT} of memory: choose fewer items or runs") from None
        finally:
            with contextlib.suppress(duckdb.Error):
                connection.execute(f"SET memory_limit = '{getattr(connection, 'memory_limit', MEMORY_LIMIT)}'")


INTERRUPT_INTERVAL = 0.05  # In seconds. An interrupt before DuckDB starts the query has no effect.
INTERRUPT_TIMEOUT = 0.8
"""Maximum time, in seconds, to wait for an interrupted query. DuckDB cannot be interrupted while it computes a single
value, such as a list of a hundred million numbers."""
_abandoned: list[Future[Any]] = []  # queries that did not end within `INTERRUPT_TIMEOUT`


class QueryTimeoutError(Exception):
    """Raised when a query was interrupted because it exceeded its time limit."""


def _start_thread(call: Callable[[], object]) -> None:
    threading.Thread(target=call, daemon=True).start()


class QueryThread:
    """A thread for many short queries. Starting a thread takes as long as such a query."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=_run_calls, args=(self._calls,), daemon=True)
        self._thread.start()

    def start(self, call: Callable[[], object]) -> None:
        self._calls.put(call)

    def close(self) -> None:
        self._calls.put(None)
        if not has_running_query():
            self._thread.join(INTERRUPT_TIMEOUT)

    def __del__(self) -> None:
        self._calls.put(None)


def _run_calls(calls: SimpleQueue[Callable[[], object] | None]) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # it may refer to the queue's owner


def run_with_timeout(
    connection: Connection,
    work: Callable[[], T],
    timeout: float | None = None,
    start: Callable[[Callable[[], object]], object] = _start_thread,
) -> T:
    """Call `work` and return its result. After `timeout` seconds, interrupt the queries of `work` on `connection`.

    `start` calls it in another thread, because Python handles no signal while DuckDB runs a query in the main thread.

    Raises: QueryTimeoutError if `work` takes more than `timeout` seconds.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    start(run)
    try:
        _wait(done, timeout)
    finally:
        late = not done.done()
        end = time.monotonic() + INTERRUPT_TIMEOUT
        while not done.done() and time.monotonic() < end:
            connection.interrupt()
            _wait(done, INTERRUPT_INTERVAL)
        if not done.done():
            _abandoned.append(done)
    if late and (not done.done() or done.exception() is not None):
        raise QueryTimeoutError
    return done.result()


def _wait(done: Future[Any], timeout: float | None) -> None:
    with contextlib.suppress(TimeoutError):
        done.exception(timeout)


def close_connection(connection: Connection, save_cache: Callable[[], object] = lambda: None) -> None:
    """Call `save_cache` and close the connection. Does nothing while a query that cannot be interrupted is running."""
    if not has_running_query():
        with contextlib.suppress(duckdb.Error):  # the connection is closed, or the query was interrupted
            save_cache()
        connection.close()


def has_running_query() -> bool:
    """Whether a query runs that could not be interrupted. Closing the connection would wait for it."""
    return not all(each.done() for each in _abandoned)


_READ_STATEMENTS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)

MAX_SQL_ROWS = 2_000_000  # maximum number of rows of an SQL result, because all rows are in memory
SQL_TIMEOUT = 60.0  # default time limit for an SQL statement, in seconds


class SqlError(FcreviewError):
    """Raised for a statement that is not allowed, fails, or takes too long."""


def run_sql(
    connection: Connection, statement: str, timeout: float = SQL_TIMEOUT
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN statement.

    Changes to temporary tables (a WITH may contain an INSERT) are rolled back.

    Returns: the column names and the rows.
    Raises: SqlError for any other statement, and after `timeout` seconds.
    """
    try:
        statement.encode()
        statements = duckdb.extract_statements(statement)
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise SqlError(_first_lines(error, 6)) from error
    if len(statements) != 1:
        raise SqlError("pass one statement at a time" if statements else "the SQL statement is empty")
    if statements[0].type not in _READ_STATEMENTS:
        raise SqlError("only read statements are allowed: SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN")
    try:
        return run_with_timeout(connection, lambda: _fetch_rows(connection, statements[0]), timeout)
    except QueryTimeoutError:
        raise SqlError(f"timed out after {timeout:g} seconds: simplify the query or pass a larger --seconds") from None
    except duckdb.Error as error:
        if _omit_damaged_file(connection, error):
            return run_sql(connection, statement, timeout)
        raise SqlError(_first_lines(error, 6)) from error


def _fetch_rows(connection: Connection, statement: duckdb.Statement) -> tuple[list[str], list[tuple[Any, ...]]]:
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        result = connection.execute(statement)
        columns = result.description or []
        _check_column_types(columns)
        rows = result.fetchmany(MAX_SQL_ROWS + 1)
        if len(rows) > MAX_SQL_ROWS:
            raise SqlError(f"more than {MAX_SQL_ROWS:,} rows: add a LIMIT")
        return [column[0] for column in columns], rows
    finally:
        connection.execute("ROLLBACK")


def _check_column_types(columns: Sequence[tuple[Any, ...]]) -> None:
    """Raise SqlError for a timestamp with time zone. For such a value, DuckDB needs a package that is not installed."""
    for name, kind, *_ in columns:
        if "WITH TIME ZONE" in str(kind) and "TIMESTAMP" in str(kind):
            raise SqlError(f"column {name} is a timestamp with time zone: cast it with ({name})::VARCHAR")


def _first_lines(error: BaseException, count: int) -> str:
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    return "\n".join(lines[:count]) or type(error).__name__
