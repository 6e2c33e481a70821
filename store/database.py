"""Open the store read-only, limit the memory and time of queries, and safely run SQL statements
from users.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import duckdb
from duckdb import DuckDBPyConnection as Connection

from fcreview.errors import FcreviewError
from fcreview.store.duckdb_paths import find_log_path, to_duckdb_path
from fcreview.store.rows import get_run_number
from fcreview.store.workspace import Workspace

T = TypeVar("T")

# Version of the tables in `schema.sql`. The next import rebuilds a store of another version.
SCHEMA_VERSION = "11"
_TABLES = ("functions", "import_issues", "item_rows", "meta", "questions", "runs", "sources")
_VIEWS = ("calls", "items", "messages", "not_run", "pairs", "task_sections", "verdicts")
NOT_VERIFIED = "not_verified"  # key in the table `meta`, see `has_only_verified_runs`
MAX_THREADS = 4  # threads of DuckDB
MAX_REASON_CHARS = 200  # maximum length of a reason from DuckDB in a message
MEMORY_LIMIT = "96MB"  # DuckDB's memory limit while a user pages through the items
# for a query that fails with `MEMORY_LIMIT`, such as a search in large texts, and for SQL
MAX_MEMORY_LIMIT = "2GB"

# end of the message about a store that cannot be used
IMPORT_AGAIN = ". Import the runs again. All reviews are kept"


class StoreError(FcreviewError):
    """Raised when the store is missing or cannot be read.

    The message is one line and says what to do.
    """


class EmptyValueError(duckdb.DataError):
    """Raised if a stored run has items without a number, id or category. fcreview never writes
    such items.
    """

    def __init__(self, run: int) -> None:
        super().__init__(f"run {run} has items without a number, id or category")
        self.run = run


DAMAGE_REASONS = ("Corrupt database file", "Could not read enough bytes")


def is_damage_error(error: BaseException) -> bool:
    """Return whether an error means that a part of the store is missing or damaged."""
    if isinstance(error, duckdb.SerializationException | duckdb.FatalException | EmptyValueError):
        return True
    if not isinstance(error, duckdb.Error):
        return False
    message = str(error)
    return any(reason in message for reason in DAMAGE_REASONS)


def describe_damage(error: BaseException) -> str:
    """Return the message for an error for which `is_damage_error` is true."""
    reason = _first_lines(error, 1)[:MAX_REASON_CHARS]
    return f"the store is damaged ({reason}). Delete store.duckdb in the workspace{IMPORT_AGAIN}"


def quote_literal(text: str | Path) -> str:
    """Quote a text as an SQL literal, for statements in which DuckDB accepts no parameters."""
    return "'" + os.fspath(text).replace("'", "''") + "'"


def quote_path(path: str | Path) -> str:
    """Quote the path of a file as an SQL literal that DuckDB does not read as a pattern."""
    return quote_literal(to_duckdb_path(path))


def connect_in_memory() -> Connection:
    """Open an in-memory database that does not load extensions automatically."""
    return duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )


def and_runs_of_items_sql(connection: Connection, items: Iterable[int]) -> str:
    """Return ` AND run IN (...)` with the runs of the items, which lets DuckDB skip the files of
    other runs in a lake. For a database, return empty text, because the index on items alone is
    faster.
    """
    if not getattr(connection, "has_file_for_each_run", False):
        return ""
    runs = sorted({get_run_number(int(item)) for item in items})
    return f" AND run IN ({', '.join(map(str, runs))})" if runs else ""


def is_store_of_other_user(workspace: Workspace) -> bool:
    """Return whether the store, or the folder of a lake, belongs neither to this user nor to one of
    the user's groups. A lake at an address such as `s3://bucket` has no owner.
    """
    if workspace.lake is None:
        status = workspace.store.lstat()
    elif os.path.isabs(workspace.lake):  # noqa: PTH117 - it may be an address
        status = os.stat(workspace.lake)  # noqa: PTH116
    else:
        return False

    is_own = status.st_uid == os.geteuid()
    is_of_own_group = status.st_gid in {os.getegid(), *os.getgroups()}
    return not (is_own or is_of_own_group)


def attach_store(
    workspace: Workspace, attach_other_files: Callable[[Connection], object] = lambda _: None
) -> Connection:
    """Open the workspace's store, a DuckDB file, read-only, as the default database of a new
    connection.

    The connection cannot access any other file, because a view in another user's store could read
    any file. `attach_other_files` can attach more databases before the access is restricted.

    Raises OSError if the store is missing, a link or not a regular file; duckdb.Error if it is
    damaged.
    """
    # This raises an error for a link or a pipe. DuckDB itself would follow a link, and wait for a
    # pipe.
    os.close(workspace.files.open(workspace.store))
    logs = (workspace.store_log, find_log_path(workspace.store))
    for log in logs:
        if os.path.lexists(log):
            raise OSError(errno.EINVAL, f"{os.fspath(log)} was written by another program")

    # The main database is in memory, and the store is attached. `duckdb.connect(path)` would return
    # the file that this process already has open, even after an import has replaced it.
    connection = connect_in_memory()
    try:
        _set_limits(connection)
        connection.execute(f"ATTACH {quote_path(workspace.store)} AS store (READ_ONLY)")
        attach_other_files(connection)
        disable_external_access(connection, [workspace.store, *logs])
        connection.execute("USE store")
    except BaseException:
        connection.close()
        raise
    return connection


def _set_limits(connection: Connection) -> None:
    # The bar would overwrite the screen.
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    n_threads = min(MAX_THREADS, os.cpu_count() or 1)
    connection.execute(f"SET threads = {n_threads}")


def open_store(
    workspace: Workspace, attach_other_files: Callable[[Connection], object] = lambda _: None
) -> Connection:
    """Open the store of a workspace read-only, and check its version.

    Raises StoreError, with advice, if the store is missing, cannot be read, or was written by
    another version. `attach_other_files` can attach more databases before the connection loses
    access to other files.
    """
    try:
        connection = attach_store(workspace, attach_other_files)
    except FileNotFoundError:
        raise StoreError(
            f"no runs have been imported at {workspace.parent_folder}. Run fcreview import PATH"
        ) from None
    except duckdb.Error as error:
        reason = _first_lines(error, 1)[:MAX_REASON_CHARS]
        raise StoreError(f"cannot read {workspace.store} ({reason}){IMPORT_AGAIN}") from error
    except OSError as error:
        raise StoreError(
            f"cannot read {workspace.store} ({error.strerror}){IMPORT_AGAIN}"
        ) from error

    try:
        _raise_if_unusable(connection, workspace)
    except BaseException:
        connection.close()
        raise
    return connection


def _raise_if_unusable(connection: Connection, workspace: Workspace) -> None:
    """Raise StoreError if the store has another version, or other tables than `schema.sql`."""
    if _fetch_schema_version(connection) != SCHEMA_VERSION:
        raise StoreError(
            f"{workspace.store} was written by another version of fcreview{IMPORT_AGAIN}"
        )
    if not _has_valid_tables(connection):
        raise StoreError(f"{workspace.store} was changed by another program{IMPORT_AGAIN}")


def _fetch_schema_version(connection: Connection) -> str | None:
    """Return the version of the store's tables, or None if it does not say."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return None
    return None if row is None else row[0]


def has_only_verified_runs(connection: Connection, workspace: Workspace) -> bool:
    """Return whether this user, or a group of this user, imported all runs of the store."""
    query = f"SELECT 1 FROM meta WHERE key = '{NOT_VERIFIED}'"
    return connection.execute(query).fetchone() is None and not is_store_of_other_user(workspace)


def _has_valid_tables(connection: Connection) -> bool:
    """Whether a database has all tables and views of a store."""
    try:
        # `duckdb_tables()` would take 8 ms.
        if any(connection.table(name).type != "TABLE_RELATION" for name in _TABLES):
            return False
        connection.execute(f"SELECT 1 FROM {', '.join(_VIEWS)} LIMIT 0")
    except duckdb.Error:
        return False
    return True


def disable_external_access(
    connection: Connection,
    allowed_files: Sequence[Path | str] = (),
    allowed_folders: Sequence[Path] = (),
) -> None:
    """Block the access of all statements on this connection to files. The restriction cannot be
    undone.

    Attached databases stay accessible.

    Args:
        connection: The connection.
        allowed_files: Files that stay accessible.
        allowed_folders: Folders whose files stay accessible.
    """
    paths: list[str] = []
    for file in allowed_files:
        # DuckDB may use either form of a path.
        paths += [os.fspath(file), to_duckdb_path(file)]
    quoted_paths = ", ".join(quote_literal(path) for path in dict.fromkeys(paths))
    connection.execute(f"SET allowed_paths = [{quoted_paths}]")
    if allowed_folders:
        # A folder itself may have a special name, so the path of a file in it is converted.
        folders = [os.path.dirname(to_duckdb_path(folder / "file")) for folder in allowed_folders]  # noqa: PTH120
        quoted_folders = ", ".join(quote_literal(f"{folder}/") for folder in folders)
        connection.execute(f"SET allowed_directories = [{quoted_folders}]")
    connection.execute("SET enable_external_access = false")


def lock_configuration(connection: Connection) -> None:
    """Raise the memory limit, then forbid all changes of settings. The lock cannot be undone."""
    connection.execute(f"SET memory_limit = '{MAX_MEMORY_LIMIT}'")
    connection.execute("SET lock_configuration = true")


def _omit_damaged_files(connection: Connection, error: Exception) -> bool:
    """If damaged files of a lake caused the error, omit them from later queries and return True.

    The caller can then repeat the query.
    """
    omit = getattr(connection, "omit_damaged_files", None)
    return omit is not None and bool(omit(error))


_VALUE_ERRORS = (ValueError, TypeError, LookupError, AttributeError)
"""Errors of Python code that reads a value which fcreview never writes."""


def _retry_without_damaged_files(connection: Connection, work: Callable[[], T]) -> T:
    """Run queries. If a file of a lake is damaged, it is left out, and the queries run again.

    Raises StoreError if the store is damaged. Errors of memory are left to the caller, who can
    raise the limit.
    """
    while True:
        try:
            return work()
        except duckdb.OutOfMemoryException:
            raise
        except (duckdb.Error, *_VALUE_ERRORS) as error:
            is_omitted = _omit_damaged_files(connection, error)
            if is_omitted:
                continue
            if isinstance(error, duckdb.Error) and is_damage_error(error):
                raise StoreError(describe_damage(error)) from error
            raise


def retry_with_more_memory(connection: Connection, work: Callable[[], T]) -> T:
    """Call `work`. If DuckDB runs out of memory, call it again with `MAX_MEMORY_LIMIT`.

    Raises: StoreError if DuckDB runs out of memory again, or if the store is damaged.
    """
    try:
        return _retry_without_damaged_files(connection, work)
    except duckdb.OutOfMemoryException:
        return _retry_with_max_memory(connection, work)


def _retry_with_max_memory(connection: Connection, work: Callable[[], T]) -> T:
    """Run a query again with the largest memory limit, because it needed more than the usual one.
    Raises StoreError if that is not enough.
    """
    # `lock_configuration` has already set this limit, and then forbids a change.
    with contextlib.suppress(duckdb.InvalidInputException):
        connection.execute(f"SET memory_limit = '{MAX_MEMORY_LIMIT}'")
    try:
        return _retry_without_too_large_files(connection, work)
    finally:
        usual_limit = getattr(connection, "memory_limit", MEMORY_LIMIT)
        with contextlib.suppress(duckdb.Error):
            connection.execute(f"SET memory_limit = '{usual_limit}'")


def _retry_without_too_large_files(connection: Connection, work: Callable[[], T]) -> T:
    """Run a query with the largest memory limit. If it still needs more, leave out damaged files,
    which can state that a value has any size, and run it again. Raises StoreError without one.
    """
    while True:
        try:
            return _retry_without_damaged_files(connection, work)
        except duckdb.OutOfMemoryException as error:
            is_omitted = _omit_damaged_files(connection, error)
            if is_omitted:
                continue
            raise StoreError(
                f"the query needs more than {MAX_MEMORY_LIMIT} of memory. Select fewer items or"
                " runs"
            ) from None


def has_frozen_objects() -> bool:
    return gc.get_freeze_count() > 0


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Disable garbage collection while the caller creates many objects without reference cycles.
    Collections would add 25 % to the time and find nothing. At the end, the objects move to the
    oldest generation.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            move_objects_to_oldest_generation()
            gc.enable()


def move_objects_to_oldest_generation() -> None:
    """Let the next garbage collections skip all present objects, without examining them."""
    if not has_frozen_objects():
        gc.freeze()
        gc.unfreeze()


INTERRUPT_INTERVAL = 0.05  # In seconds. An interrupt before DuckDB starts the query has no effect.
INTERRUPT_TIMEOUT = 0.8
"""Maximum time, in seconds, to wait for an interrupted query. DuckDB cannot be interrupted while it
computes a single value, such as a list of a hundred million numbers.
"""
_abandoned: list[Future[Any]] = []  # queries that did not end within `INTERRUPT_TIMEOUT`


class QueryTimeoutError(Exception):
    """Raised when a query was interrupted because it exceeded its time limit."""


def _call_in_new_thread(call: Callable[[], object]) -> None:
    threading.Thread(target=call, daemon=True).start()


class QueryThread:
    """A thread that runs many short queries one after the other.

    A new thread for each would double their time.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=_run_queued_calls, args=(self._calls,), daemon=True)
        self._thread.start()

    def submit(self, call: Callable[[], object]) -> None:
        self._calls.put(call)

    def close(self) -> None:
        self._calls.put(None)
        if not has_uninterruptible_query():
            self._thread.join(INTERRUPT_TIMEOUT)

    def __del__(self) -> None:
        self._calls.put(None)


def _run_queued_calls(calls: SimpleQueue[Callable[[], object] | None]) -> None:
    while (call := calls.get()) is not None:
        call()
        # It may refer to the queue's owner.
        del call


def run_with_timeout(
    connection: Connection,
    work: Callable[[], T],
    timeout: float | None = None,
    submit: Callable[[Callable[[], object]], object] = _call_in_new_thread,
) -> T:
    """Call `work`, which runs queries, in another thread, and return its result.

    The other thread is needed because the main thread handles no signals, such as Ctrl+C, while
    DuckDB runs a query.

    Args:
        connection: The connection on which `work` runs its queries.
        work: The function to call.
        timeout: Number of seconds after which the queries are interrupted.
        submit: Runs a function in another thread.

    Raises: QueryTimeoutError if `work` takes more than `timeout` seconds.
    """
    done: Future[T] = Future()

    def call_work() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    submit(call_work)
    try:
        _wait_for_future(done, timeout)
    finally:
        # The query is interrupted after the timeout, and after a signal, whose exception goes on.
        is_late = not done.done()
        _interrupt_until_done(connection, done)

    # If the work finished in spite of an interrupt, its result is used. An error of late work is
    # that of the interrupt.
    has_result = done.done() and done.exception() is None
    if is_late and not has_result:
        raise QueryTimeoutError
    return done.result()


def _wait_for_future(future: Future[Any], timeout: float | None) -> None:
    with contextlib.suppress(TimeoutError):
        future.exception(timeout)


def close_connection(
    connection: Connection, before_close: Callable[[], object] = lambda: None
) -> None:
    """Call `before_close` and close the connection, unless a query is running that could not be
    interrupted.
    """
    if not has_uninterruptible_query():
        # the connection is closed, or the query was interrupted
        with contextlib.suppress(duckdb.Error):
            before_close()
        connection.close()


def has_uninterruptible_query() -> bool:
    """Return whether a query is running that could not be interrupted.

    Closing its connection would wait for it.
    """
    return not all(each.done() for each in _abandoned)


_READ_STATEMENTS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)

MAX_SQL_ROWS = 2_000_000  # maximum number of rows of an SQL result, because all rows are in memory
SQL_TIMEOUT = 60.0  # default time limit for an SQL statement, in seconds


class SqlResult(NamedTuple):
    columns: list[str]  # names of the columns
    rows: list[tuple[Any, ...]]


class SqlError(FcreviewError):
    """Raised if an SQL statement of a user is not allowed, fails, or takes too long."""


def _interrupt_until_done(connection: Connection, work: Future[T]) -> None:
    """Interrupt the queries of a work until it ends. A query that cannot be interrupted is
    abandoned after `INTERRUPT_TIMEOUT`.
    """
    end = time.monotonic() + INTERRUPT_TIMEOUT
    while not work.done() and time.monotonic() < end:
        # An interrupt between two queries has no effect, so it is repeated.
        connection.interrupt()
        _wait_for_future(work, INTERRUPT_INTERVAL)
    if not work.done():
        _abandoned.append(work)


def run_sql(connection: Connection, statement: str, timeout: float = SQL_TIMEOUT) -> SqlResult:
    """Run one SQL statement of a user, which must only read, and return its result.

    Allowed are SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE and EXPLAIN. The transaction
    is rolled back, because a WITH clause can contain an INSERT into a temporary table.

    Raises: SqlError for any other statement, for errors, and after `timeout` seconds.
    """
    parsed = _parse_read_statement(statement)
    try:
        return run_with_timeout(connection, lambda: _fetch_result(connection, parsed), timeout)
    except QueryTimeoutError:
        raise SqlError(
            f"the query timed out after {timeout:g} seconds. Simplify it, or pass a larger"
            " --seconds"
        ) from None
    except duckdb.Error as error:
        # A damaged file of a lake is left out, and the statement runs on the others.
        if _omit_damaged_files(connection, error):
            return run_sql(connection, statement, timeout)
        raise SqlError(_first_lines(error, 6)) from error


def _parse_read_statement(text: str) -> duckdb.Statement:
    """Parse a text that must be one SQL statement that only reads. Raises SqlError otherwise."""
    try:
        text.encode()
        statements = duckdb.extract_statements(text)
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise SqlError(_first_lines(error, 6)) from error
    if not statements:
        raise SqlError("the SQL statement is empty")
    if len(statements) > 1:
        raise SqlError("pass only one SQL statement")
    if statements[0].type not in _READ_STATEMENTS:
        raise SqlError(
            "only read statements are allowed: SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE or"
            " EXPLAIN"
        )
    return statements[0]


def _fetch_result(connection: Connection, statement: duckdb.Statement) -> SqlResult:
    """Run one statement in a transaction that cannot write, and return its rows. Raises SqlError if
    there are too many.
    """
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        result = connection.execute(statement)
        columns = result.description or []
        _reject_timestamps_with_time_zone(columns)
        rows = result.fetchmany(MAX_SQL_ROWS + 1)
        if len(rows) > MAX_SQL_ROWS:
            raise SqlError(f"the result has more than {MAX_SQL_ROWS:,} rows. Add a LIMIT clause")
        return SqlResult([column[0] for column in columns], rows)
    finally:
        connection.execute("ROLLBACK")


def _reject_timestamps_with_time_zone(columns: Sequence[tuple[Any, ...]]) -> None:
    """Raise SqlError if a column is a timestamp with time zone, because DuckDB needs the package
    pytz to return it.
    """
    for name, kind, *_ in columns:
        if "WITH TIME ZONE" in str(kind) and "TIMESTAMP" in str(kind):
            raise SqlError(
                f"column {name} is a timestamp with time zone. Cast it to text with"
                f" ({name})::VARCHAR"
            )


def _first_lines(error: BaseException, count: int) -> str:
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    return "\n".join(lines[:count]) or type(error).__name__
