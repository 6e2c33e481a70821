"""Opens the stored file for reading.

Work of a connection that is broken off after a time, or when this program is told to end.

SQL from people: one statement that only reads. Files, settings and extensions are locked by the connection.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from fcreview.errors import FcreviewError
from fcreview.store.workspace import Workspace

T = TypeVar("T")

SCHEMA_VERSION = "6"
"""Raised when the tables change: stores of another version are built anew."""
MEMORY = "96MB"
"""What DuckDB may keep of the file while people page through it."""
ROOM = "2GB"
"""What one statement may take that does not get by with that: a search through large texts, somebody's SQL."""


class StoreError(FcreviewError):
    """The store is not there or cannot be read; the message is one line and says what to do."""


def literal(text: str | Path) -> str:
    """A constant or a path as an SQL text literal, where DuckDB takes no bound value."""
    return "'" + os.fspath(text).replace("'", "''") + "'"


def connect() -> duckdb.DuckDBPyConnection:
    """A connection that loads no extensions by itself."""
    return duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})


def attach(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection on which the file is `store`, read-only, and the default.

    Attached rather than connected to: `duckdb.connect` would hand out a file that this process has open under the same
    path, even when another one has taken its place.
    """
    connection = connect()
    connection.execute("SET enable_progress_bar = false")  # it would be drawn over the screen
    try:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute(f"SET threads = {min(4, os.cpu_count() or 1)}")
        connection.execute(f"ATTACH {literal(path)} AS store (READ_ONLY)")
        connection.execute("USE store")
    except BaseException:
        connection.close()
        raise
    return connection


def open_store(workspace: Workspace) -> duckdb.DuckDBPyConnection:
    """As `attach`, for the workspace's store. StoreError if there is none, or it is of another version or damaged."""
    if not workspace.store.exists():
        raise StoreError(f"nothing imported at {workspace.place} yet: fcreview import PATH")
    try:
        connection = attach(workspace.store)
    except duckdb.Error as error:
        raise StoreError(f"{workspace.store} cannot be read ({_first_line(error)}): import the runs again") from error
    try:
        found = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    except duckdb.Error:
        found = None
    if found is None or found[0] != SCHEMA_VERSION:
        connection.close()
        raise StoreError(f"{workspace.store} was written by another version of fcreview: import the runs again")
    return connection


def shut_out_files(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on no statement on this connection reaches a file or an extension. There is no way back."""
    connection.execute("SET enable_external_access = false")


def lock_settings(connection: duckdb.DuckDBPyConnection) -> None:
    """From here on no statement on this connection changes a setting. There is no way back."""
    connection.execute(f"SET memory_limit = '{ROOM}'")
    connection.execute("SET lock_configuration = true")


def with_room(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """What `work` gives; if DuckDB has too little memory for it, again with more. StoreError if that will not do."""
    try:
        return work()
    except duckdb.OutOfMemoryException:
        with contextlib.suppress(duckdb.InvalidInputException):  # settings are locked: there is ROOM already
            connection.execute(f"SET memory_limit = '{ROOM}'")
        try:
            return work()
        except duckdb.OutOfMemoryException:
            raise StoreError(f"takes more memory than the {ROOM} it may: choose fewer items, or fewer runs") from None
        finally:
            with contextlib.suppress(duckdb.Error):
                connection.execute(f"SET memory_limit = '{MEMORY}'")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


PAUSE = 0.05
"""Seconds between attempts to break off: one that comes before DuckDB is at work is lost."""
GRACE = 2.0
"""Seconds in which DuckDB usually notices. Within one value (a list of a hundred million numbers) it does not."""
_left: list[Future[Any]] = []


class TimeUpError(Exception):
    """The work was broken off."""


def limited(connection: duckdb.DuckDBPyConnection, work: Callable[[], T], seconds: float | None) -> T:
    """What `work` gives. TimeUpError if that takes longer than `seconds`.

    It is done in a thread: while DuckDB works, a signal would not be heard in this one, nor the time looked at.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        wait([done], seconds)  # not `join`: broken off by a signal, it takes the thread for ended
    finally:
        late = not done.done()
        end = time.monotonic() + GRACE
        while not done.done() and time.monotonic() < end:
            connection.interrupt()
            wait([done], PAUSE)
        if not done.done():
            _left.append(done)
    if late and (not done.done() or done.exception() is not None):
        raise TimeUpError
    return done.result()


def close(connection: duckdb.DuckDBPyConnection, before: Callable[[], object]) -> None:
    """Closes it after `before`, which is for the next time only; not if that waits for what cannot be broken off."""
    if not stuck():
        with contextlib.suppress(duckdb.Error):  # closed already, or broken off
            before()
        connection.close()


def stuck() -> bool:
    """Whether DuckDB is still at something that could not be broken off: closing would wait for it."""
    return not all(each.done() for each in _left)


_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)

ROWS = 2_000_000
"""Rows that one statement may give: they are all held in memory."""
SECONDS = 60.0
"""Time that one statement may take, unless another is asked for."""


class SqlError(FcreviewError):
    """Not allowed, or DuckDB refuses it: the message says what is allowed, or is DuckDB's own."""


def run_sql(
    connection: duckdb.DuckDBPyConnection, text: str, seconds: float = SECONDS
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(column names, rows) of one SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN statement.

    SqlError for anything else, and if it takes longer than `seconds`. Whatever it may change in temporary tables (a
    WITH may hold an INSERT) is rolled back.
    """
    try:
        text.encode()
        statements = duckdb.extract_statements(text)
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise SqlError(_short(error)) from error
    if len(statements) != 1:
        raise SqlError("one statement at a time, please" if statements else "there is no statement")
    if statements[0].type not in _READING:
        raise SqlError("only statements that read: SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE or EXPLAIN")
    try:
        return limited(connection, lambda: _read(connection, statements[0]), seconds)
    except TimeUpError:
        raise SqlError(f"broken off after {seconds:g} seconds: ask for less, or allow more with --seconds") from None
    except duckdb.Error as error:
        raise SqlError(_short(error)) from error


def _read(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement
) -> tuple[list[str], list[tuple[Any, ...]]]:
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        found = connection.execute(statement)
        columns = found.description or []
        _check_types(columns)
        rows = found.fetchmany(ROWS + 1)
        if len(rows) > ROWS:
            raise SqlError(f"more than {ROWS:,} rows: add a LIMIT")
        return [column[0] for column in columns], rows
    finally:
        connection.execute("ROLLBACK")


def _check_types(columns: Sequence[tuple[Any, ...]]) -> None:
    """Times with a zone need a package that is not installed."""
    for column in columns:
        if "WITH TIME ZONE" in str(column[1]) and "TIMESTAMP" in str(column[1]):
            raise SqlError(f"column {column[0]} is a time with a zone: cast it, as in ({column[0]})::VARCHAR")


def _short(error: BaseException) -> str:
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    return "\n".join(lines[:6]) or type(error).__name__
