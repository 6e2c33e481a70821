"""A statement that needs more memory gets it, up to a limit that is reported in one line."""

from __future__ import annotations

import duckdb
import pytest

from fcreview.store import database
from fcreview.store.database import StoreError, retry_with_more_memory

MANY = "SELECT len(list(i ORDER BY i DESC)) FROM range(5_000_000) t(i)"
"""Query that needs about 100 MB."""


def _run_query(connection: duckdb.DuckDBPyConnection) -> int:
    connection.execute("SET memory_limit = '20MB'")
    connection.execute("SET max_temp_directory_size = '0B'")
    return retry_with_more_memory(connection, lambda: len(connection.execute(MANY).fetchall()))


def test_statement_gets_more_memory() -> None:
    with duckdb.connect() as connection:
        assert _run_query(connection) == 1


def test_too_large_statement_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_MEMORY_LIMIT", "30MB")
    with (
        duckdb.connect() as connection,
        pytest.raises(StoreError, match="needs more than 30MB of memory"),
    ):
        _run_query(connection)
