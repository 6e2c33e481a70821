"""What stood when the journals were last read, so that a large workspace opens without reading them all again.

`.fcreview/decisions.cache.duckdb` has the rows of `human_labels` and says what they were made of. It may be thrown away
at any time, and nothing is ever read from it that the journals do not say: it counts only for the same store, annotator
and policy, and while each of those journals still begins with the very bytes that were read, line by line, with nothing
to warn of. What was added to them since is read as ever.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import orjson

from fcreview import __version__
from fcreview.store.database import quote_literal
from fcreview.store.reviews.journal_reader import JournalPrefix, has_prefix
from fcreview.store.reviews.review_sql import DECISION_COLUMNS, columns_json, insert_decision_lines

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

FORMAT = 1
"""Raised when the same events come to be decided otherwise."""
OLD_NAME = "standing.duckdb"
"""Former file name of the cache. The file is removed when a new cache is written."""
MIN_EVENTS = 5_000
"""Events from which on reading them is slower than this."""


def describe_cache_inputs(connection: duckdb.DuckDBPyConnection, annotator: str | None, policy: str) -> dict[str, Any] | None:
    """What rows depend on besides the journals; None if the store does not tell itself from others."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'build'").fetchone()
    if row is None:
        return None
    columns = columns_json(DECISION_COLUMNS)
    made = {"format": FORMAT, "version": __version__, "columns": columns, "build": row[0]}
    return made | {"annotator": annotator, "policy": policy}


def load_decisions(
    connection: duckdb.DuckDBPyConnection, workspace: Workspace, inputs: Mapping[str, Any]
) -> dict[str, JournalPrefix] | None:
    """Fills the empty table `human_labels` with what stood, and says of which journals; None, and the table is empty,
    if there is nothing that fits. Before the connection is shut out from files."""
    file = workspace.decision_cache
    if not file.exists():
        return None
    try:
        connection.execute(f"ATTACH {quote_literal(file)} AS cache (READ_ONLY)")
    except duckdb.Error:
        return None
    try:
        about = orjson.loads(connection.execute("SELECT about FROM cache.about").fetchall()[0][0])
        journals = {name: JournalPrefix(*said) for name, said in about.pop("journals").items()}
        if about != inputs or not all(has_prefix(workspace.reviews / name, said) for name, said in journals.items()):
            return None
        connection.execute("INSERT INTO human_labels SELECT * FROM cache.human_labels")
    except (duckdb.Error, ValueError, LookupError, TypeError, AttributeError):  # half, damaged, or of another program
        connection.execute("DELETE FROM human_labels")
        return None
    finally:
        connection.execute("DETACH cache")
    return journals


def save_decisions(
    connection: duckdb.DuckDBPyConnection,
    workspace: Workspace,
    inputs: Mapping[str, Any],
    journals: Mapping[str, JournalPrefix],
) -> None:
    """Puts the rows of `human_labels` in place of what was kept before. Where that cannot be done, it is not."""
    about = {**inputs, "journals": {name: [said.size, said.digest] for name, said in journals.items()}}
    lines = [row[0] for row in connection.execute("SELECT CAST(to_json(h) AS VARCHAR) FROM human_labels h").fetchall()]
    fresh = workspace.root / f"{workspace.decision_cache.stem}.{os.getpid()}.tmp"
    try:
        _write(fresh, orjson.dumps(about).decode(), lines)
        fresh.replace(workspace.decision_cache)
        (workspace.root / OLD_NAME).unlink(missing_ok=True)
    except (duckdb.Error, OSError):
        pass
    finally:
        for left in workspace.root.glob(f"{fresh.name}*"):
            with contextlib.suppress(OSError):
                left.unlink()


def _write(path: Path, about: str, lines: list[str]) -> None:
    path.unlink(missing_ok=True)
    other = duckdb.connect(path)
    try:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in DECISION_COLUMNS.items())
        other.execute("CREATE TABLE about AS SELECT $1 AS about", [about])
        other.execute(f"CREATE TABLE human_labels ({columns})")
        insert_decision_lines(other, lines)
    finally:
        other.close()
