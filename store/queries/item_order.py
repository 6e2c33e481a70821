"""Queues: which items a view holds and in which order, read in windows.

The order of a view is worked out once, as a temporary table of item keys whose row number is the position; a page is
then a look-up. So positions hold still while people review: an item that no longer matches `-reviewed` stays where it
is until the order is made anew (`Orders.forget`). The values in the rows are always current.

The items of a view in parts that are read one after the other, so that memory does not grow with an export.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import orjson
from duckdb import DuckDBPyConnection

from fcreview.model.item import Run
from fcreview.store.filters.keys import AUTOMATIC_DISAGREEMENT_SQL, HAS_JUDGE_VERDICT, NEAR_MISS
from fcreview.store.filters.parser import parse_filter
from fcreview.store.reviews.verdict_sql import AUTOMATIC_VERDICT
from fcreview.store.rows import PARTIAL_QUEUES, SUSPECTS_QUEUE, VERDICT_QUEUES, QueueRow, View

if TYPE_CHECKING:
    from fcreview.store.queues.queue_file import QueueItemTable


FROM_ITEMS = "FROM item_rows i LEFT JOIN human h ON h.item = i.item"
MAX_CACHED_ORDERS = 4
"""Orders kept at a time, the latest used: 500,000 items take about 4 MB each."""

# Of one text: the hash of several values mixes them so that orders by two seeds are alike.
_SHUFFLED = "hash(concat_ws(' ', {seed}, i.run, i.category, i.id))"
_ORDERS = {
    "failures": f"CASE WHEN {AUTOMATIC_VERDICT} THEN 2 WHEN {AUTOMATIC_VERDICT} IS NULL THEN 1 ELSE 0 END, i.item",
    "dataset": "i.item",
    "disagreement": f"CASE WHEN {AUTOMATIC_DISAGREEMENT_SQL} THEN 0 ELSE 1 END, i.item",
    "unreviewed": "CASE WHEN h.you IS NULL THEN 0 ELSE 1 END, i.item",
    "random": f"{_SHUFFLED}, i.item",
    "stratified": f"row_number() OVER (PARTITION BY i.category ORDER BY {_SHUFFLED}), {_SHUFFLED}, i.item",
    "judged": "i.item",
    "uncertain": "i.item",
    SUSPECTS_QUEUE: "q.rank",
}
_CHOSEN = {"judged": HAS_JUDGE_VERDICT, "uncertain": NEAR_MISS}
"""Queues that do not hold all items."""
_OF_SCOPE = "SELECT item FROM suspect_places WHERE scope = '{scope}'"
"""The table is `SuspectPlaces`'."""
_SHARE = "q.item = i.item AND q.queue = ? AND q.annotator = ?"
IN_QUEUE = "i.item IN (SELECT item FROM queue_places WHERE queue = ?)"
"""The table is `QueuePlaces`'."""
_COLUMNS = {each.name: each.metadata for each in fields(QueueRow) if each.metadata}
_SELECT = ", ".join(str(column["sql"]) for column in _COLUMNS.values())
_JSON = [name for name, column in _COLUMNS.items() if column["is_json"]]
_HIDDEN = [name for name, column in _COLUMNS.items() if column["shows_verdict"]]


@dataclass(frozen=True, slots=True)
class ViewOrder:
    table: str
    count: int


class ViewOrders:
    """The orders in use on one connection. Not for two threads at once."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        places: QueueItemTable,
        take_suspects: Callable[[View], None],
        annotator: str | None,
        *,
        blind: bool,
    ) -> None:
        self._connection, self._places, self._take_suspects = connection, places, take_suspects
        self._annotator, self._blind = annotator, blind
        self._orders: OrderedDict[View, tuple[ViewOrder, bool]] = OrderedDict()
        self._made = 0

    def order_of(self, view: View) -> ViewOrder:
        """FilterError if the view's filter is not understood; QueueError for an unknown queue."""
        known = self._orders.get(view)
        if known is None:
            known = self._orders[view] = self._make(view)
            while len(self._orders) > MAX_CACHED_ORDERS:
                _, (old, _) = self._orders.popitem(last=False)
                self._connection.execute(f"DROP TABLE {old.table}")
        self._orders.move_to_end(view)
        return known[0]

    def drop_review_orders(self) -> None:
        """Reviews changed and the caller wants the queues to show it: orders that depend on reviews are made anew."""
        for view in [view for view, (_, reviews) in self._orders.items() if reviews]:
            order, _ = self._orders.pop(view)
            self._connection.execute(f"DROP TABLE {order.table}")

    def fetch_item_numbers(self, view: View, offset: int, limit: int) -> list[int]:
        table = self.order_of(view).table
        rows = self._connection.execute(
            f"SELECT item FROM {table} WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
            [max(offset, 0), max(offset, 0) + max(limit, 0)],
        )
        return [row[0] for row in rows.fetchall()]

    def position(self, view: View, item: int) -> int | None:
        row = self._connection.execute(f"SELECT rowid FROM {self.order_of(view).table} WHERE item = ?", [item]).fetchone()
        return None if row is None else int(row[0])

    def _make(self, view: View) -> tuple[ViewOrder, bool]:
        if view.queue_file:
            self._places.load(view.queue_file)
        elif self._blind and view.queue in VERDICT_QUEUES:
            view = replace(view, queue="dataset")
        elif view.queue == SUSPECTS_QUEUE:
            self._take_suspects(view)
        where, params, reviews = build_condition(view, blind=self._blind)
        reviews |= view.queue == "unreviewed"
        table = f"temp.view_{self._made}"
        self._made += 1
        source, item, order = FROM_ITEMS if reviews else "FROM item_rows i", "i.item", "i.item"
        if view.queue_file and view.share:
            source += f" JOIN queue_places q ON {_SHARE}"
            item, order, params = "q.number AS item", "q.place", [view.queue_file, self._annotator, *params]
        elif not view.queue_file:
            order = _ORDERS[view.queue].format(seed=int(view.seed))
        if view.queue == SUSPECTS_QUEUE:
            source += f" JOIN suspect_places q ON q.item = i.item AND q.scope = '{view.runs_key}'"
        text = f"SELECT {item} {source} WHERE {where} ORDER BY {order}"
        count = self._connection.execute(f"CREATE TEMP TABLE {table} AS {text}", params).fetchall()[0][0]
        return ViewOrder(table, int(count)), reviews


def build_condition(view: View, *, blind: bool) -> tuple[str, list[object], bool]:
    """(SQL over `FROM`, values, depends on reviews) of a view's filter, queue and runs. A queue file must have been
    taken in (`QueuePlaces.take`), and so must suspects (`SuspectPlaces.take`)."""
    found = parse_filter(view.where, blind=blind)
    parts, params = [found.where], found.params
    if view.queue_file:
        parts, params = [IN_QUEUE, *parts], [view.queue_file, *params]
    elif view.queue == SUSPECTS_QUEUE and not blind:
        parts.insert(0, f"i.item IN ({_OF_SCOPE.format(scope=view.runs_key)})")
    elif view.queue in _CHOSEN and not blind:
        parts.insert(0, _CHOSEN[view.queue])
    if view.items:
        parts, params = ["i.item IN (SELECT unnest(?::BIGINT[]))", *parts], [list(view.items), *params]
    if view.runs:
        parts.insert(0, f"i.run IN ({', '.join(str(int(run)) for run in view.runs)})")
    return " AND ".join(parts), params, found.depends_on_reviews


def fetch_rows(
    connection: DuckDBPyConnection,
    items: Sequence[int],
    runs: Mapping[int, Run],
    run_names: Mapping[int, str],
    *,
    blind: bool,
) -> list[QueueRow]:
    """Rows of the items, in the order given; items that are not there are left out."""
    if not items:
        return []
    marks = ", ".join("?" * len(items))
    found = connection.execute(f"SELECT {_SELECT} {FROM_ITEMS} WHERE i.item IN ({marks})", list(items)).fetchall()
    rows = {values[0]: _row(values, runs, run_names) for values in found}
    for row in rows.values() if blind else ():
        hide_row_verdicts(row)
    return [rows[item] for item in items if item in rows]


def hide_row_verdicts(row: QueueRow) -> None:
    """Blind mode: what others found is not told before this annotator has decided."""
    if row.you is None:
        for name in _HIDDEN:
            setattr(row, name, None)
        row.parts = row.your_parts
        row.n_issues = 0


def _row(values: tuple[Any, ...], runs: Mapping[int, Run], names: Mapping[int, str]) -> QueueRow:
    row = QueueRow(**dict(zip(_COLUMNS, values, strict=True)))
    if row.run in runs:
        row.model, row.run_name = runs[row.run].model, names[row.run]
    for name in _JSON:
        text = getattr(row, name)
        if text is not None:
            setattr(row, name, orjson.loads(text))
    return row


CHUNK_SIZE = 5_000
"""Of twice as many the labels sometimes take more memory than a statement may, and are read once more."""


@dataclass(frozen=True, slots=True)
class ItemChunk:
    """Items that are read by one query: those between first and last, or a choice of them."""

    first: int
    last: int
    items: list[int] | None


def split_into_chunks(connection: DuckDBPyConnection, view: View, size: int = CHUNK_SIZE) -> list[ItemChunk]:
    """The items of the view in parts of about `size`. FilterError for a filter that is not understood."""
    where, params, _ = build_condition(view, blind=False)
    some = view.where.strip() or view.items or view.runs or view.queue_file or view.queue in PARTIAL_QUEUES
    chosen = "list(item)" if some else "NULL"
    rows = connection.execute(
        f"SELECT min(item), max(item), {chosen} FROM"
        f" (SELECT i.item, (row_number() OVER (ORDER BY i.item) - 1) // {int(size)} AS part {FROM_ITEMS} WHERE {where})"
        " GROUP BY part ORDER BY part",
        params,
    ).fetchall()
    return [ItemChunk(*row) for row in rows]


def fetch_chunk_items(connection: DuckDBPyConnection, chunk: ItemChunk) -> list[int]:
    """The numbers of a chunk's items, in order."""
    if chunk.items is not None:
        return sorted(chunk.items)
    rows = connection.execute("SELECT item FROM item_rows WHERE item BETWEEN ? AND ?", [chunk.first, chunk.last])
    return sorted(row[0] for row in rows.fetchall())
