"""The items of a view in parts that are read one after the other, so that memory does not grow with an export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.store.queries.pages import FROM, condition
from fcreview.store.rows import CHOOSING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.rows import View

CHUNK = 5_000
"""Of twice as many the labels sometimes take more memory than a statement may, and are read once more."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Items that are read by one query: those between first and last, or a choice of them."""

    first: int
    last: int
    items: list[int] | None


def chunks_of(connection: DuckDBPyConnection, view: View, size: int = CHUNK) -> list[Chunk]:
    """The items of the view in parts of about `size`. FilterError for a filter that is not understood."""
    where, params, _ = condition(view, blind=False)
    some = view.where.strip() or view.items or view.runs or view.file or view.queue in CHOOSING
    chosen = "list(item)" if some else "NULL"
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
