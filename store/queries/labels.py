"""Items and labels in chunks, for exports; labels are rows of the view `labels`, with values instead of JSON text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.store.queries.pages import FROM, condition
from fcreview.store.reviews.views import JSON_FIELDS, LABEL_FIELDS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.rows import View

COLUMNS = tuple(LABEL_FIELDS)
"""Fields of an exported label, in this order."""
CHUNK = 5000
_WORDS: dict[str | None, Any] = {None: None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Items that are read by one query: those between first and last, or a choice of them."""

    first: int
    last: int
    items: list[int] | None


def chunks_of(connection: DuckDBPyConnection, view: View, size: int = CHUNK) -> list[Chunk]:
    """The items of the view in parts of about `size`. FilterError for a filter that is not understood."""
    where, params, _ = condition(view, blind=False)
    chosen = "list(item)" if view.where.strip() or view.runs else "NULL"
    rows = connection.execute(
        f"SELECT min(item), max(item), {chosen} FROM"
        f" (SELECT i.item, (row_number() OVER (ORDER BY i.item) - 1) // {int(size)} AS part {FROM} WHERE {where})"
        " GROUP BY part ORDER BY part",
        params,
    ).fetchall()
    return [Chunk(*row) for row in rows]


def items_of(connection: DuckDBPyConnection, chunk: Chunk) -> list[int]:
    """The numbers of a chunk's items, in order."""
    if chunk.items is not None:
        return sorted(chunk.items)
    rows = connection.execute("SELECT item FROM item_rows WHERE item BETWEEN ? AND ?", [chunk.first, chunk.last])
    return sorted(row[0] for row in rows.fetchall())


def read_labels(connection: DuckDBPyConnection, chunk: Chunk) -> list[dict[str, Any]]:
    """Labels with the fields `COLUMNS`, in the order of items, each item's own label first."""
    limited = "" if chunk.items is None else "AND item IN (SELECT unnest(?::BIGINT[]))"
    rows = connection.execute(
        f"SELECT {', '.join(COLUMNS)} FROM labels WHERE item BETWEEN {chunk.first:d} AND {chunk.last:d} {limited}"
        " ORDER BY item, NOT (target = 'item' AND criterion = 'correct'), target, criterion",
        [] if chunk.items is None else [chunk.items],
    ).fetchall()
    return [_label(row) for row in rows]


def _label(row: tuple[Any, ...]) -> dict[str, Any]:
    label = dict(zip(COLUMNS, row, strict=True))
    for name in JSON_FIELDS:
        text = label[name]
        label[name] = _WORDS[text] if text in _WORDS else orjson.loads(text)
    return label
