"""Opens the stored file for reading."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

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


def attach(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection on which the file is `store`, read-only, and the default.

    Attached rather than connected to: `duckdb.connect` would hand out a file that this process has open under the same
    path, even when another one has taken its place.
    """
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    connection.execute("SET enable_progress_bar = false")  # it would be drawn over the screen
    try:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute(f"SET threads = {min(4, os.cpu_count() or 1)}")
        quoted = os.fspath(path).replace("'", "''")
        connection.execute(f"ATTACH '{quoted}' AS store (READ_ONLY)")
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
