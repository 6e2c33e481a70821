"""Filters that open the items of a cell: by what the sources say where the filter language can, else by id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.review import CORRECT
from fcreview.store.filters.narrowing import narrowed
from fcreview.store.filters.words import only

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST = 150
"""Ids in one filter."""
_WORDS = {True: "pass", False: "fail"}
_PLAIN = ("official", "rule")
"""Sources whose verdict on an item is one value, so that a filter term says the same."""
_TERMS = {"overall": "", "benchmark": "benchmark", "category": "category", "error": "error", "function": "function"}
"""Scopes of calibration that the filter language has a key for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Items that a cell is made of, and what they have in common."""

    source: str
    criterion: str
    said: Any
    settled: Any
    scope: str
    name: str | None
    items: Sequence[int]


def where_of(connection: DuckDBPyConnection, base: str, wanted: Wanted) -> str | None:
    """A filter that selects exactly these items of those that `base` selects; None if they are too many to be named."""
    by_value = wanted.criterion == CORRECT and wanted.source in _PLAIN and wanted.scope in _TERMS
    if by_value and isinstance(wanted.said, bool) and isinstance(wanted.settled, bool):
        terms = [f"{wanted.source}:{_WORDS[wanted.said]}", f"human:{_WORDS[wanted.settled]}"]
        if wanted.name is not None:
            terms.append(f"{_TERMS[wanted.scope]}:{only(wanted.name)}")
        return narrowed(base, *terms)
    if len(wanted.items) > MOST:
        return None
    numbers = ", ".join(str(int(item)) for item in wanted.items) or "NULL"
    rows = connection.execute(f"SELECT run, id FROM item_rows WHERE item IN ({numbers}) ORDER BY item").fetchall()
    runs: defaultdict[int, list[str]] = defaultdict(list)
    for run, name in rows:
        runs[run].append(only(name))
    parts = [f"run:{run} id:{'|'.join(dict.fromkeys(names))}" for run, names in runs.items()]
    return parts[0] if len(parts) == 1 else " OR ".join(f"({part})" for part in parts)
