"""Read Parquet files with DuckDB, in pieces."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fcreview.importers.common.budgets import ArchiveBudget, ArchiveBudgetError
from fcreview.safe_files import open_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ROWS_IN_A_PIECE = 16
"""Number of rows that are in memory at once. Each of them can have texts of many megabytes."""
MAX_DEPTH = 100
MEMORY_LIMIT = "1GB"


class UnreadableParquet(ValueError):
    """Raised for a file that is not Parquet, or that is damaged."""


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file as JSON objects. Raises UnreadableParquet."""
    import duckdb

    try:
        # Only regular files are read. DuckDB gets the file by a link without pattern characters.
        with open_file(path), tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
            link = Path(folder) / "rows.parquet"
            link.symlink_to(os.path.realpath(path))
            budget = ArchiveBudget.for_archive(path.stat().st_size)
            with duckdb.connect(":memory:", config={"memory_limit": MEMORY_LIMIT}) as connection:
                for row in _fetch_rows(connection, link):
                    budget.spend(count_characters(row))
                    yield row
    except OSError as error:
        raise UnreadableParquet(f"the file cannot be read: {error.strerror or error}") from error
    except ArchiveBudgetError as error:
        raise UnreadableParquet(f"{error}. The other rows were skipped") from error
    except duckdb.Error as error:
        first_line, _, _ = str(error).partition("\n")
        raise UnreadableParquet(f"the file is not Parquet: {first_line}") from error


def _fetch_rows(connection: DuckDBPyConnection, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file. Not all of them are in memory at once."""
    result = connection.execute("FROM read_parquet(?)", [str(path)])
    names = [name for name, *_ in result.description or ()]
    while rows := result.fetchmany(ROWS_IN_A_PIECE):
        for row in rows:
            cells = zip(names, row, strict=True)
            yield {name: _to_json(value, depth=0) for name, value in cells}


def _to_json(value: Any, *, depth: int) -> Any:
    """Return a value of DuckDB as JSON. Times, decimal numbers and NaN become texts."""
    if depth > MAX_DEPTH:
        raise UnreadableParquet("a value is nested too deeply to be read")
    if isinstance(value, dict):
        return {str(name): _to_json(part, depth=depth + 1) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(part, depth=depth + 1) for part in value]
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
