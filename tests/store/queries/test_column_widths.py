"""Memory for one statement: more where it is needed, and a line where that will not do either."""

from __future__ import annotations

import duckdb
import pytest

from fcreview.store import database
from fcreview.store.database import StoreError, retry_with_more_memory

MANY = "SELECT list(i ORDER BY i DESC) FROM range(5_000_000) t(i)"
"""Takes some 100 MB."""


def _asked(connection: duckdb.DuckDBPyConnection) -> int:
    connection.execute("SET memory_limit = '20MB'")
    connection.execute("SET max_temp_directory_size = '0B'")
    return retry_with_more_memory(connection, lambda: len(connection.execute(MANY).fetchall()))


def test_it_gets_more_when_it_is_needed() -> None:
    with duckdb.connect() as connection:
        assert _asked(connection) == 1


def test_what_needs_more_than_there_may_be_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_MEMORY_LIMIT", "30MB")
    with duckdb.connect() as connection, pytest.raises(StoreError, match="needs more than 30MB of memory"):
        _asked(connection)
