"""The items of one conversation."""

from __future__ import annotations

import orjson
from duckdb import DuckDBPyConnection

from fcreview.store.rows import QueueRow, Sibling

MOST = 500
"""A conversation has a few dozen items at most; a dataset that calls everything one group is not shown whole."""


def siblings(connection: DuckDBPyConnection, row: QueueRow, *, blind: bool) -> list[Sibling]:
    """Those of the item's run and category that share its group, itself among them; none without a group."""
    if row.group is None:
        return []
    found = connection.execute(
        "SELECT i.item, i.id, h.you, coalesce(i.official, i.rule) FROM item_rows i LEFT JOIN human h ON h.item = i.item"
        ' WHERE i.item BETWEEN ? AND ? AND i."group" = ? AND i.category = ? ORDER BY i.item LIMIT ?',
        [row.run << 32, (row.run + 1 << 32) - 1, row.group, row.category, MOST],
    ).fetchall()
    return [Sibling(item, name, _mark(you, None if blind else said)) for item, name, you, said in found]


def _mark(you: str | None, said: bool | None) -> object:
    mine = None if you is None else orjson.loads(you)
    return said if mine is None else mine
