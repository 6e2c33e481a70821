"""Queues: which items a view holds and in which order, read in windows.

The order of a view is worked out once, as a temporary table of item keys whose row number is the position; a page is
then a look-up. So positions hold still while people review: an item that no longer matches `-reviewed` stays where it
is until the order is made anew (`Orders.forget`). The values in the rows are always current.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import orjson
from duckdb import DuckDBPyConnection

from fcreview.store.filters.keys import DISAGREE
from fcreview.store.filters.language import parse
from fcreview.store.reviews.effective import AUTOMATIC
from fcreview.store.rows import QUEUES, QueueRow, View

FROM = "FROM item_rows i LEFT JOIN human h ON h.item = i.item"
KEPT = 4
"""Orders kept at a time, the latest used: 500,000 items take about 4 MB each."""

_ORDERS = {
    "failures": f"CASE WHEN {AUTOMATIC} THEN 2 WHEN {AUTOMATIC} IS NULL THEN 1 ELSE 0 END, i.item",
    "dataset": "i.item",
    "disagreement": f"CASE WHEN {DISAGREE} THEN 0 ELSE 1 END, i.item",
    "unreviewed": "CASE WHEN h.you IS NULL THEN 0 ELSE 1 END, i.item",
    "random": "hash(i.run, i.id, i.category, ?::BIGINT), i.item",
}
_TELLING = ("failures", "disagreement")
"""Orders that say something of verdicts."""
_COLUMNS = {each.name: each.metadata for each in fields(QueueRow) if each.metadata}
_SELECT = ", ".join(str(column["sql"]) for column in _COLUMNS.values())
_JSON = [name for name, column in _COLUMNS.items() if column["json"]]
_HIDDEN = [name for name, column in _COLUMNS.items() if column["telling"]]


@dataclass(frozen=True, slots=True)
class Order:
    table: str
    count: int


class Orders:
    """The orders in use on one connection. Not for two threads at once."""

    def __init__(self, connection: DuckDBPyConnection, *, blind: bool) -> None:
        self._connection = connection
        self._blind = blind
        self._orders: OrderedDict[View, tuple[Order, bool]] = OrderedDict()
        self._made = 0

    def of(self, view: View) -> Order:
        """FilterError if the view's filter is not understood; ValueError for an unknown queue."""
        known = self._orders.get(view)
        if known is None:
            known = self._orders[view] = self._make(view)
            while len(self._orders) > KEPT:
                _, (old, _) = self._orders.popitem(last=False)
                self._connection.execute(f"DROP TABLE {old.table}")
        self._orders.move_to_end(view)
        return known[0]

    def forget(self) -> None:
        """Reviews changed and the caller wants the queues to show it: orders that depend on reviews are made anew."""
        for view in [view for view, (_, reviews) in self._orders.items() if reviews]:
            order, _ = self._orders.pop(view)
            self._connection.execute(f"DROP TABLE {order.table}")

    def items(self, view: View, offset: int, limit: int) -> list[int]:
        table = self.of(view).table
        rows = self._connection.execute(
            f"SELECT item FROM {table} WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
            [max(offset, 0), max(offset, 0) + max(limit, 0)],
        )
        return [row[0] for row in rows.fetchall()]

    def position(self, view: View, item: int) -> int | None:
        row = self._connection.execute(f"SELECT rowid FROM {self.of(view).table} WHERE item = ?", [item]).fetchone()
        return None if row is None else int(row[0])

    def _make(self, view: View) -> tuple[Order, bool]:
        if view.queue not in QUEUES:
            raise ValueError(f"no queue {view.queue!r}: one of {', '.join(QUEUES)}")
        queue = "dataset" if self._blind and view.queue in _TELLING else view.queue
        where, params, reviews = condition(view, blind=self._blind)
        table = f"temp.view_{self._made}"
        self._made += 1
        bound = [*params, view.seed] if queue == "random" else params
        source = FROM if reviews or queue == "unreviewed" else "FROM item_rows i"
        # The seed comes after the filter's values: ORDER BY is written after WHERE.
        text = f"SELECT i.item {source} WHERE {where} ORDER BY {_ORDERS[queue]}"
        count = self._connection.execute(f"CREATE TEMP TABLE {table} AS {text}", bound).fetchall()[0][0]
        return Order(table, int(count)), reviews or queue == "unreviewed"


def condition(view: View, *, blind: bool) -> tuple[str, list[object], bool]:
    """(SQL over `FROM`, values, depends on reviews) of a view's filter and runs."""
    found = parse(view.where, blind=blind)
    if not view.runs:
        return found.where, found.params, found.reviews
    runs = ", ".join(str(int(run)) for run in view.runs)
    return f"i.run IN ({runs}) AND {found.where}", found.params, found.reviews


def rows_of(
    connection: DuckDBPyConnection, items: Sequence[int], models: dict[int, str], *, blind: bool
) -> list[QueueRow]:
    """Rows of the items, in the order given; items that are not there are left out."""
    if not items:
        return []
    marks = ", ".join("?" * len(items))
    found = connection.execute(f"SELECT {_SELECT} {FROM} WHERE i.item IN ({marks})", list(items)).fetchall()
    rows = {values[0]: _row(values, models) for values in found}
    for row in rows.values() if blind else ():
        hide(row)
    return [rows[item] for item in items if item in rows]


def hide(row: QueueRow) -> None:
    """Blind mode: what others found is not told before this annotator has decided."""
    if row.you is None:
        for name in _HIDDEN:
            setattr(row, name, None)
        row.n_issues = 0


def _row(values: tuple[Any, ...], models: dict[int, str]) -> QueueRow:
    row = QueueRow(**dict(zip(_COLUMNS, values, strict=True)))
    row.model = models.get(row.run, "")
    for name in _JSON:
        text = getattr(row, name)
        if text is not None:
            setattr(row, name, orjson.loads(text))
    return row
