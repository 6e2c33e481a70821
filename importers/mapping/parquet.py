"""Read Parquet files with DuckDB, in pieces."""

from __future__ import annotations

import math
import os
import resource
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fcreview.importers.common.budgets import (
    ArchiveBudget,
    ArchiveBudgetError,
    format_megabytes,
)
from fcreview.importers.common.discovery import measure_file
from fcreview.safe_files import open_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROW_NUMBER = "file_row_number"
"""Name of the column that DuckDB can add."""
ROWS_IN_A_PIECE = 16
"""Number of rows that are in memory at once. Each of them can have texts of many megabytes."""
MIN_EXPANDED_BYTES = 256 << 20
"""Size of the texts that any file may have, however small it is. All of them are stored."""
MAX_DEPTH = 100
DATABASE_OPTIONS: Mapping[str, str | int] = {"memory_limit": "1GB", "threads": 1}
"""Options of DuckDB. Each thread reserves addresses, which `limit_growth` limits."""
MAX_GROWTH = 768 << 20
"""Number of bytes that the process may need for a piece of a file."""


class UnreadableParquet(ValueError):
    """Raised for a file that is not Parquet, or that is damaged."""


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file as JSON objects. Raises UnreadableParquet."""
    import duckdb

    budget = ArchiveBudget.for_archive(measure_file(path), MIN_EXPANDED_BYTES)
    try:
        yield from _read_rows_within_budget(path, budget)
    except OSError as error:
        raise UnreadableParquet(f"the file cannot be read: {error.strerror or error}") from error
    except ArchiveBudgetError as error:
        limit = format_megabytes(budget.limit)
        raise UnreadableParquet(
            f"the file has more than {limit} after decompression. The other rows were skipped"
        ) from error
    except duckdb.Error as error:
        first_line, _, _ = str(error).partition("\n")
        raise UnreadableParquet(f"the file is not Parquet: {first_line}") from error


def _read_rows_within_budget(path: Path, budget: ArchiveBudget) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file. Raises ArchiveBudgetError when the budget is used up."""
    import duckdb

    # Only regular files are read. DuckDB gets the file by a link without pattern characters.
    with open_file(path), tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
        link = Path(folder) / "rows.parquet"
        link.symlink_to(os.path.realpath(path))
        with duckdb.connect(":memory:", config=dict(DATABASE_OPTIONS)) as connection:
            for row in _fetch_rows(connection, link):
                budget.spend(count_characters(row))
                yield row


def _fetch_rows(connection: DuckDBPyConnection, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file. Not all of them are in memory at once."""
    import duckdb

    n_rows = 0
    try:
        for row in _query_rows(connection, "FROM read_parquet(?)", [str(path)]):
            n_rows += 1
            yield row
    except (duckdb.OutOfMemoryException, MemoryError):
        # DuckDB reads up to 2,048 rows at once, which are perhaps too large together.
        yield from _fetch_rows_in_pieces(connection, path, n_rows)


def _fetch_rows_in_pieces(
    connection: DuckDBPyConnection, path: Path, first_row: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows from a number on, few at a time."""
    import duckdb

    query = f"FROM read_parquet(?, {ROW_NUMBER} = true) WHERE {ROW_NUMBER} BETWEEN ? AND ?"
    n_rows = _count_rows(connection, path)
    for start in range(first_row, n_rows, ROWS_IN_A_PIECE):
        end = start + ROWS_IN_A_PIECE - 1
        try:
            for row in _query_rows(connection, query, [str(path), start, end]):
                # The row number is a column of the query, not of the file.
                row.pop(ROW_NUMBER)
                yield row
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise UnreadableParquet(
                f"rows {start + 1:,} and later are too large after decompression, so they were"
                " skipped"
            ) from error


def _count_rows(connection: DuckDBPyConnection, path: Path) -> int:
    result = connection.execute("FROM parquet_file_metadata(?)", [str(path)])
    names = [name for name, *_ in result.description or ()]
    (row,) = result.fetchall()
    return int(dict(zip(names, row, strict=True))["num_rows"])


def _query_rows(
    connection: DuckDBPyConnection, query: str, parameters: list[Any]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query, with limited memory."""
    with limit_growth(MAX_GROWTH):
        result = connection.execute(query, parameters)
    names = [name for name, *_ in result.description or ()]
    while True:
        with limit_growth(MAX_GROWTH):
            rows = result.fetchmany(ROWS_IN_A_PIECE)
        if not rows:
            return
        for row in rows:
            cells = zip(names, row, strict=True)
            yield {name: _to_json(value, depth=0) for name, value in cells}


@contextmanager
def limit_growth(n_bytes: int) -> Iterator[None]:
    """Let allocations fail when the process needs this number of bytes more than at the start.

    DuckDB does not count the texts of its result. Only Linux says how much memory a process has.
    """
    usual_limits = resource.getrlimit(resource.RLIMIT_AS)
    n_pages = _read_number_of_pages()
    if n_pages is None:
        yield
        return

    soft_limit, hard_limit = usual_limits
    limit = n_pages * resource.getpagesize() + n_bytes
    if soft_limit != resource.RLIM_INFINITY:
        limit = min(limit, soft_limit)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, usual_limits)


def _read_number_of_pages() -> int | None:
    """Return the size of the address space of this process in pages, or None if it is unknown."""
    try:
        first_number, _, _ = Path("/proc/self/statm").read_text().partition(" ")
    except OSError:
        return None
    return int(first_number)


def _to_json(value: Any, *, depth: int) -> Any:
    """Return a value of DuckDB as JSON."""
    if depth > MAX_DEPTH:
        raise UnreadableParquet("a value is nested too deeply to be read")
    if isinstance(value, dict):
        return {str(name): _to_json(part, depth=depth + 1) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(part, depth=depth + 1) for part in value]
    return _to_json_scalar(value)


def _to_json_scalar(value: Any) -> Any:
    """Return a single value as JSON. Times, decimal numbers and NaN become texts."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def count_characters(value: Any) -> int:
    """Return the length of all texts in a JSON value, and one for each other value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(name) + count_characters(part) for name, part in value.items())
    if isinstance(value, list):
        return sum(count_characters(part) for part in value)
    return 1
