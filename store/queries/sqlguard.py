"""SQL from people: one statement that only reads. Files, settings and extensions are locked by the connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from fcreview.errors import FcreviewError
from fcreview.store.queries.limited import TimeUpError, limited

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
