"""Order, count and read the items of a view, and measure the columns of their rows.

The order of a view is stored as a temporary table of item numbers. A page is a range of rows of
this table. Positions therefore stay the same while people review. With the filter `-reviewed`, for
example, a reviewed item keeps its position until `ViewOrders.drop_review_dependent_orders` is
called. The values in the rows are always current.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from fcreview.model.incident import describe_incident
from fcreview.model.sanitize import display_width
from fcreview.store.filters.parser import parse_filter
from fcreview.store.filters.search_sql import (
    AUTOMATIC_DISAGREEMENT_SQL,
    ERROR_TYPE_SQL,
    HAS_JUDGE_VERDICT,
    JUDGE_CONDITIONS,
    NEAR_MISS,
)
from fcreview.store.review_sql import (
    AUTOMATIC_INCIDENT,
    AUTOMATIC_VERDICT,
    EFFECTIVE_VERDICT,
)
from fcreview.store.rows import (
    PARTIAL_QUEUES,
    SUSPECTS_QUEUE,
    VERDICT_QUEUES,
    ColumnWidths,
    QueueRow,
    View,
    strip_duplicate_mark,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.model.item import Run
    from fcreview.store.queue_file import QueueItemTable

FROM_ITEMS = "FROM item_rows i LEFT JOIN human h ON h.item = i.item"
_ITEM_BITS = strip_duplicate_mark(-1)
"""Bit mask that removes the mark of a hidden duplicate from an item number. In -1, all bits are
set.
"""
FIRST_ROWS = 5_000  # number of items of a lake that are ordered when a view is opened
MAX_CACHED_ORDERS = (
    4  # The most recently used orders are cached. An order of 500,000 items takes about 4 MB.
)

# The values are hashed as one text. If `hash` gets several values, different seeds give similar
# orders.
_RANDOM_RANK = "hash(concat_ws(' ', {seed}, i.run, i.category, i.id))"
_ORDERS = {
    "failures": f"CASE WHEN {AUTOMATIC_VERDICT} THEN 2 WHEN {AUTOMATIC_VERDICT} IS NULL THEN 1 ELSE"
    " 0 END, i.item",
    "dataset": "i.item",
    "disagreement": f"CASE WHEN {AUTOMATIC_DISAGREEMENT_SQL} THEN 0 ELSE 1 END, i.item",
    "unreviewed": "CASE WHEN h.you IS NULL THEN 0 ELSE 1 END, i.item",
    # An incident has no answer to review, so incidents come last in both random orders.
    "random": f"{AUTOMATIC_INCIDENT}, {_RANDOM_RANK}, i.item",
    "stratified": (
        f"{AUTOMATIC_INCIDENT}, row_number() OVER (PARTITION BY i.category, {AUTOMATIC_INCIDENT}"
        f" ORDER BY {_RANDOM_RANK}), {_RANDOM_RANK}, i.item"
    ),
    "judged": "i.item",
    "uncertain": "i.item",
    SUSPECTS_QUEUE: "q.rank",
}
_PARTIAL_CONDITIONS = {"judged": HAS_JUDGE_VERDICT, "uncertain": NEAR_MISS}
_IS_SUSPECT = "i.item IN (SELECT item FROM suspect_places WHERE scope = '{scope}')"
_IN_SHARE = "q.item = i.item AND q.queue = ? AND q.annotator = ?"
_IN_QUEUE_FILE = "i.item IN (SELECT item FROM queue_places WHERE queue = ?)"
_COLUMNS = {field.name: field.metadata for field in fields(QueueRow) if field.metadata}
_ROW_COLUMNS_SQL = ", ".join(str(column["sql"]) for column in _COLUMNS.values())
_BLIND_ROW_COLUMNS_SQL = ", ".join(str(column["blind_sql"]) for column in _COLUMNS.values())
_JSON_COLUMNS = [name for name, column in _COLUMNS.items() if column["is_json"]]
_VERDICT_COLUMNS = [name for name, column in _COLUMNS.items() if column["shows_verdict"]]


@dataclass(frozen=True, slots=True)
class ViewOrder:
    """A temporary table with the item numbers of a view, in the order of the view."""

    table: str
    count: int  # number of all items of the view
    depends_on_reviews: bool
    n_rows: (
        int  # Number of items in the table. In a lake, the table may contain only the first items.
    )

    def has_rows(self, min_rows: int | None) -> bool:
        """Whether the table has the first `min_rows` items of the view or, for None, all items."""
        if self.n_rows == self.count:
            return True
        return min_rows is not None and min_rows <= self.n_rows


class ViewOrders:
    """Creates and caches the orders of views for one connection. The class is not thread-safe."""

    def __init__(
        self,
        connection: Connection,
        queue_items: QueueItemTable,
        load_suspects: Callable[[View], None],
        annotator: str | None,
        *,
        blind: bool,
    ) -> None:
        """Start without orders.

        Args:
            connection: The connection to the store.
            queue_items: The table with the items of queue files.
            load_suspects: Fills the table with the suspects of a view.
            annotator: The annotator whose shares of queues and reviews count.
            blind: Whether orders must not depend on verdicts.
        """
        self._connection = connection
        self._queue_items = queue_items
        self._load_suspects = load_suspects
        self._annotator = annotator
        self._blind = blind
        self._orders: OrderedDict[View, ViewOrder] = OrderedDict()
        self._n_created = 0

    def get_order(self, view: View, min_rows: int | None = None) -> ViewOrder:
        """Return the cached order of a view, with at least the first `min_rows` items or (None) all
        items.

        Few orders are cached; the one that was not used for longest is dropped first.
        """
        n_items = None
        cached = self._orders.get(view)
        if cached is not None and not cached.has_rows(min_rows):
            # A longer order replaces it, but the items need not be counted again.
            n_items = cached.count
            self._drop_order(view)

        if view not in self._orders:
            self._orders[view] = self._create_order(view, min_rows, n_items)
            while len(self._orders) > MAX_CACHED_ORDERS:
                least_recently_used = next(iter(self._orders))
                self._drop_order(least_recently_used)
        self._orders.move_to_end(view)
        return self._orders[view]

    def drop_review_dependent_orders(self) -> None:
        """Drop the cached orders that depend on reviews, so that they are computed again from
        the current reviews.
        """
        for view in [view for view, order in self._orders.items() if order.depends_on_reviews]:
            self._drop_order(view)

    def fetch_item_numbers(self, view: View, offset: int, limit: int) -> list[int]:
        """Return the item numbers at the positions from `offset` (inclusive) to `offset + limit`
        (exclusive).
        """
        start = max(offset, 0)
        end = start + max(limit, 0)
        table = self.get_order(view, end).table
        rows = self._connection.execute(
            f"SELECT item FROM {table} WHERE rowid >= ? AND rowid < ? ORDER BY rowid", [start, end]
        )
        return [item for (item,) in rows.fetchall()]

    def find_position(self, view: View, item: int) -> int | None:
        """Return the position of an item in a view, from 0; None if the view does not have the
        item.
        """
        # The item is often among the first items, which may be all that are ordered yet.
        first_items = self.get_order(view, min_rows=1)
        position = self._find_position_in_table(first_items, item)
        if position is not None or first_items.has_rows(None):
            return position
        return self._find_position_in_table(self.get_order(view), item)

    def _find_position_in_table(self, order: ViewOrder, item: int) -> int | None:
        row = self._connection.execute(
            f"SELECT rowid FROM {order.table} WHERE item = ?", [item]
        ).fetchone()
        return None if row is None else int(row[0])

    def count_reviewed_items(self, view: View) -> int:
        """Count the items of a view on which the annotator has a verdict now.

        The items are those of the stored order, which can be older than the latest reviews.
        """
        order = self.get_order(view, min_rows=0)
        if order.has_rows(None):
            return self._count_reviewed_rows(order)

        # For a large view of a lake, the table has only the first items. Such a view does not
        # depend on reviews, so its condition now selects the same items as then.
        condition = build_view_condition(view, blind=self._blind)
        query = f"SELECT count(*) {FROM_ITEMS} WHERE h.you IS NOT NULL AND ({condition.sql})"
        rows = self._connection.execute(query, condition.params).fetchall()
        return int(rows[0][0])

    def _count_reviewed_rows(self, order: ViewOrder) -> int:
        """Count the rows of an order whose item has a verdict of the annotator. A hidden duplicate
        counts as its item.
        """
        item = f"o.item & {_ITEM_BITS}"
        query = f"SELECT count(*) FROM {order.table} o JOIN human h ON h.item = {item}"
        rows = self._connection.execute(f"{query} WHERE h.you IS NOT NULL").fetchall()
        return int(rows[0][0])

    def _drop_order(self, view: View) -> None:
        self._connection.execute(f"DROP TABLE {self._orders.pop(view).table}")

    def _create_order(self, view: View, min_rows: int | None, n_items: int | None) -> ViewOrder:
        """Create a table with the items of a view in their order, from which lists are read.

        For a large view of a lake, the table first gets only the first items.

        Args:
            view: The view.
            min_rows: Number of rows that are needed, or None for all. With 0, only the number of
                items is needed.
            n_items: Number of all items, if it is known.
        """
        if self._blind and not view.queue_file and view.queue in VERDICT_QUEUES:
            # An order by verdicts would show them.
            view = replace(view, queue="dataset")
        self._load_places(view)

        table = f"temp.view_{self._n_created}"
        self._n_created += 1
        query = self._build_order_query(view)
        if self._is_faster_with_first_rows(query, min_rows):
            limit = 0 if min_rows == 0 else FIRST_ROWS
            return self._create_order_of_first_rows(table, query, n_items, limit)
        n_items = self._create_order_table(table, query)
        return ViewOrder(
            table,
            count=n_items,
            depends_on_reviews=query.depends_on_reviews,
            n_rows=n_items,
        )

    def _load_places(self, view: View) -> None:
        """Fill the table of places that the query of a view needs: that of its queue file, or that
        of the suspects.
        """
        if view.queue_file:
            self._queue_items.load_queue(view.queue_file)
        elif view.queue == SUSPECTS_QUEUE:
            self._load_suspects(view)

    def _build_order_query(self, view: View) -> _OrderQuery:
        """Build the parts of the query that sorts the items of a view.

        The order comes from a share of a queue file, from the ranking of suspects, or from a
        built-in queue. A whole queue file has the order of the dataset.
        """
        query = self._build_unsorted_query(view)
        if view.queue_file:
            return self._order_by_share(query, view.queue_file) if view.share else query

        query = replace(query, order=_ORDERS[view.queue].format(seed=int(view.seed)))
        if view.queue == SUSPECTS_QUEUE:
            # The order of this queue is a column of `suspect_places`.
            places = f" JOIN suspect_places q ON q.item = i.item AND q.scope = '{view.runs_key}'"
            query = replace(query, source=query.source + places)
        return query

    def _build_unsorted_query(self, view: View) -> _OrderQuery:
        """Build the query for the items of a view in the order of the dataset."""
        condition = build_view_condition(view, blind=self._blind)
        depends_on_reviews = condition.depends_on_reviews or view.queue == "unreviewed"
        return _OrderQuery(
            item="i.item",
            source=FROM_ITEMS if depends_on_reviews else "FROM item_rows i",
            where=condition.sql,
            order="i.item",
            params=condition.params,
            depends_on_reviews=depends_on_reviews,
        )

    def _order_by_share(self, query: _OrderQuery, queue_file: str) -> _OrderQuery:
        """Return the query for the annotator's share of a queue file, in the order of the share.

        A share also has hidden duplicates, which have numbers of their own.
        """
        return replace(
            query,
            item="q.number AS item",
            source=f"{query.source} JOIN queue_places q ON {_IN_SHARE}",
            order="q.place",
            # The places in the FROM clause come before those in the condition.
            params=[queue_file, self._annotator, *query.params],
        )

    def _is_faster_with_first_rows(self, query: _OrderQuery, min_rows: int | None) -> bool:
        """Whether to order only the first items. For a lake with millions of items, finding the
        first items and counting all takes less time than sorting all.
        """
        is_lake = getattr(self._connection, "has_file_for_each_run", False)
        has_few_rows = min_rows is not None and min_rows <= FIRST_ROWS
        return is_lake and has_few_rows and not query.depends_on_reviews

    def _create_order_of_first_rows(
        self, table: str, query: _OrderQuery, n_items: int | None, limit: int
    ) -> ViewOrder:
        """Create the order of only the first items of a view, which are enough for its first
        screen.

        Args:
            table: Name of the new table.
            query: Selects and sorts the items.
            n_items: Number of all items of the view, or None if they must be counted.
            limit: Number of items to store. With 0, the table stays empty, and only the number of
                items becomes known.
        """
        n_rows = self._create_order_table(table, replace(query, limit=limit))
        has_all_items = n_rows < limit
        if has_all_items:
            n_items = n_rows
        elif n_items is None:
            counted = f"SELECT count(*) {query.source} WHERE {query.where}"
            n_items = self._connection.execute(counted, query.params).fetchall()[0][0]
        return ViewOrder(
            table,
            count=n_items,
            depends_on_reviews=query.depends_on_reviews,
            n_rows=n_rows,
        )

    def _create_order_table(self, table: str, query: _OrderQuery) -> int:
        """Create the table and return its number of rows."""
        statement = f"CREATE TEMP TABLE {table} AS {query.sql}"
        return int(self._connection.execute(statement, query.params).fetchall()[0][0])


@dataclass(frozen=True, slots=True)
class _OrderQuery:
    """A query for the item numbers of a view, in the order of the view."""

    item: str  # SQL expression of the item number
    source: str  # FROM clause
    where: str
    order: str
    params: list[object]
    depends_on_reviews: bool
    limit: int | None = None

    @property
    def sql(self) -> str:
        query = f"SELECT {self.item} {self.source} WHERE {self.where} ORDER BY {self.order}"
        return query if self.limit is None else f"{query} LIMIT {self.limit}"


class ViewCondition(NamedTuple):
    sql: str
    """SQL condition for the items of a view, over the tables of `FROM_ITEMS`."""
    params: list[object]
    depends_on_reviews: bool


def build_view_condition(view: View, *, blind: bool) -> ViewCondition:
    """Return the SQL condition that selects the items of a view: by runs, item numbers, queue and
    filter. Raises FilterError if the filter is not valid.

    The items of a queue file, or the suspects, must be in their table
    (`QueueItemTable.load_queue`, `SuspectTable.load_suspects`).
    """
    parts = []
    params: list[object] = []
    if view.runs:
        runs = ", ".join(str(int(run)) for run in view.runs)
        parts.append(f"i.run IN ({runs})")
    if view.items:
        parts.append("i.item IN (SELECT unnest(?::BIGINT[]))")
        params.append(list(view.items))

    if view.queue_file:
        parts.append(_IN_QUEUE_FILE)
        params.append(view.queue_file)
    # The other queues depend on verdicts, so in blind mode they contain all items.
    elif not blind:
        parts += _list_conditions_of_built_in_queue(view)

    condition = parse_filter(view.where, blind=blind)
    parts.append(condition.where)
    params += condition.params
    return ViewCondition(
        " AND ".join(parts), params=params, depends_on_reviews=condition.depends_on_reviews
    )


def _list_conditions_of_built_in_queue(view: View) -> list[str]:
    """Return the SQL condition for the items of a built-in queue in a list. Empty if the queue has
    all items.
    """
    if view.queue == SUSPECTS_QUEUE:
        return [_IS_SUSPECT.format(scope=view.runs_key)]
    if view.queue in _PARTIAL_CONDITIONS:
        return [_PARTIAL_CONDITIONS[view.queue]]
    return []


def fetch_sorted_item_numbers(
    connection: Connection, view: View, *, only_reviewed: bool = False
) -> list[int]:
    """Return the item numbers of a view in ascending order.

    Raises FilterError for an invalid filter.
    """
    where, params, _ = build_view_condition(view, blind=False)
    if only_reviewed:
        where = f"h.item IS NOT NULL AND ({where})"
    rows = connection.execute(f"SELECT i.item {FROM_ITEMS} WHERE {where} ORDER BY i.item", params)
    return [item for (item,) in rows.fetchall()]


def fetch_rows(
    connection: Connection,
    items: Sequence[int],
    runs: Mapping[int, Run],
    run_names: Mapping[int, str],
    *,
    blind: bool,
) -> list[QueueRow]:
    """Return the rows of items in the given order. Items that do not exist are omitted."""
    if not items:
        return []
    placeholders = ", ".join("?" * len(items))
    columns = _BLIND_ROW_COLUMNS_SQL if blind else _ROW_COLUMNS_SQL
    fetched = connection.execute(
        f"SELECT {columns} {FROM_ITEMS} WHERE i.item IN ({placeholders})", list(items)
    ).fetchall()

    row_by_item = {}
    for values in fetched:
        row = _parse_row(values, runs, run_names)
        if blind:
            hide_verdicts_unless_reviewed(row)
        row_by_item[row.item] = row
    return [row_by_item[item] for item in items if item in row_by_item]


def hide_verdicts_unless_reviewed(row: QueueRow) -> None:
    """Remove verdicts and the reviews of other annotators from a row, unless this annotator has
    reviewed the item.
    """
    if row.you is None:
        for name in _VERDICT_COLUMNS:
            setattr(row, name, None)
        row.parts = row.your_parts
        row.n_issues = 0


def _parse_row(
    values: tuple[Any, ...], runs: Mapping[int, Run], run_names: Mapping[int, str]
) -> QueueRow:
    """Build a row of the item list from the values of its columns, and add the texts of its
    incident and of its run.
    """
    row = QueueRow(**dict(zip(_COLUMNS, values, strict=True)))
    if row.is_incident:
        row.first_difference = describe_incident(row.incident or "", row.incident_certainty)
    if row.run in runs:
        row.model = runs[row.run].model
        row.run_name = run_names[row.run]
    for name in _JSON_COLUMNS:
        text = getattr(row, name)
        if text is not None:
            setattr(row, name, orjson.loads(text))
    return row


CHUNK_SIZE = 5_000  # If a chunk has twice as many items, labels sometimes exceed the memory limit.


@dataclass(frozen=True, slots=True)
class ItemChunk:
    """A range or list of items that one query reads."""

    first: int
    last: int
    # Item numbers. None if the chunk contains all items from `first` to `last`.
    items: list[int] | None


def split_into_chunks(
    connection: Connection, view: View, size: int = CHUNK_SIZE
) -> list[ItemChunk]:
    """Divide the items of a view into chunks of `size` items, in the order of their numbers.

    A chunk is a range of item numbers. It also lists its items if the view does not have all items.
    Raises FilterError for an invalid filter.
    """
    where, params, _ = build_view_condition(view, blind=False)
    is_subset = (
        view.where.strip()
        or view.items
        or view.runs
        or view.queue_file
        or view.queue in PARTIAL_QUEUES
    )
    listed = "list(item)" if is_subset else "NULL"
    # `part` is the number of the chunk that an item belongs to.
    rows = connection.execute(
        f"SELECT min(item), max(item), {listed} FROM"
        f" (SELECT i.item, (row_number() OVER (ORDER BY i.item) - 1) // {int(size)} AS part"
        f" {FROM_ITEMS} WHERE {where})"
        " GROUP BY part ORDER BY part",
        params,
    ).fetchall()
    return [ItemChunk(*row) for row in rows]


def fetch_chunk_items(connection: Connection, chunk: ItemChunk) -> list[int]:
    """Return the item numbers of a chunk in ascending order."""
    if chunk.items is not None:
        return sorted(chunk.items)
    rows = connection.execute(
        "SELECT item FROM item_rows WHERE item BETWEEN ? AND ?", [chunk.first, chunk.last]
    )
    return sorted(row[0] for row in rows.fetchall())


def count_by_official_and_recomputed(
    connection: Connection, view: View
) -> dict[tuple[bool | None, bool | None], int]:
    """Count the items of a view by their official and recomputed verdict."""
    where, params, depends_on_reviews = build_view_condition(view, blind=False)
    source = FROM_ITEMS if depends_on_reviews else "FROM item_rows i"
    query = f"SELECT i.official, i.rule, count(*) {source} WHERE {where} GROUP BY ALL"
    return {
        (official, rule): count
        for official, rule, count in connection.execute(query, params).fetchall()
    }


_FACETS = {
    "category": "i.category",
    "official": "i.official",
    "rule": "i.rule",
    "effective": "effective",
    "error": "error",
    "rule_error": "i.rule_error_type",
    "function": "i.diff_function",
    "ended": "i.ended",
    "run": "i.run",
}
"""SQL expression of each filter key whose values are counted. The key `judge` is counted
separately, because an item with judge verdicts on several parts can have several values.
"""
_JUDGE_VALUES = ("pass", "fail", "unknown")
_BLIND_FACETS = ("category", "run")  # facets that do not depend on verdicts


def fetch_facets(
    connection: Connection, view: View, *, blind: bool
) -> dict[str, list[tuple[str, int]]]:
    """Count the view's items by the values of filter keys, the most frequent value first."""
    condition = build_view_condition(view, blind=blind)
    names = [name for name in _FACETS if not blind or name in _BLIND_FACETS]
    facets = _count_facet_values(connection, condition, names)
    if not blind:
        facets["judge"] = _count_judge_values(connection, condition)
    return facets


def _count_facet_values(
    connection: Connection, condition: ViewCondition, names: Sequence[str]
) -> dict[str, list[tuple[str, int]]]:
    """Count the items by the values of several facets, with one pass over the items."""
    rows = connection.execute(_build_facets_query(condition, names), condition.params).fetchall()
    counts: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    # A row has a value of one facet. The values of the others are NULL.
    for *values, grouping_bits, count in rows:
        index = _find_grouped_column(grouping_bits, len(names))
        name = names[index]
        counts[name].append((_format_facet_value(name, values[index]), count))
    return counts


def _build_facets_query(condition: ViewCondition, names: Sequence[str]) -> str:
    """Return the query that counts the items for each value of each facet, such as the category.

    Each row has a value of one facet, `grouping_id` (a number that identifies the facet), and the
    number of items with the value.

    The items of the view are selected as `i`, with the columns that the expressions of `_FACETS`
    use. Then `c` has one column for each facet.
    """
    aliases = [f"f{number}" for number in range(len(names))]
    columns = []
    for name, alias in zip(names, aliases, strict=True):
        columns.append(f"CAST({_FACETS[name]} AS VARCHAR) AS {alias}")

    items = (
        "SELECT i.item, i.run, i.category, i.official, i.rule, i.rule_error_type,"
        f" i.diff_function, i.ended, {EFFECTIVE_VERDICT} AS effective, {ERROR_TYPE_SQL} AS error"
        f" {FROM_ITEMS} WHERE {condition.sql}"
    )
    all_aliases = ", ".join(aliases)
    grouping_sets = ", ".join(f"({alias})" for alias in aliases)
    return (
        f"WITH i AS ({items}), c AS (SELECT {', '.join(columns)} FROM i)"
        f" SELECT {all_aliases}, grouping_id({all_aliases}), count(*) AS n FROM c"
        f" GROUP BY GROUPING SETS ({grouping_sets}) ORDER BY n DESC, {all_aliases}"
    )


def _find_grouped_column(grouping_bits: int, n_columns: int) -> int:
    """Return the index, from 0, of the column by which a row of a query with grouping sets is
    grouped.

    `grouping_bits` is the `grouping_id` of the row. Its highest bit is the first column, and the
    bit of the grouped column is 0.
    """
    all_bits = (1 << n_columns) - 1
    grouped_bit = all_bits & ~grouping_bits
    return n_columns - grouped_bit.bit_length()


def _count_judge_values(connection: Connection, condition: ViewCondition) -> list[tuple[str, int]]:
    """Count the items with each judge verdict on the item or a part, the most frequent first."""
    source = FROM_ITEMS if condition.depends_on_reviews else "FROM item_rows i"
    columns = [f"count(*) FILTER ({JUDGE_CONDITIONS[value]})" for value in _JUDGE_VALUES]
    query = f"SELECT {', '.join(columns)} {source} WHERE {condition.sql}"
    counts = connection.execute(query, condition.params).fetchall()[0]

    count_by_value = Counter(dict(zip(_JUDGE_VALUES, counts, strict=True)))
    return [(value, count) for value, count in count_by_value.most_common() if count]


def _format_facet_value(facet: str, value: str | None) -> str:
    """Return the value as a filter spells it: verdicts are `pass`, `fail` and `unknown`."""
    if value is None:
        return "unknown" if facet in ("official", "rule", "effective") else "none"
    if value == "true":
        return "pass"
    if value == "false":
        return "fail"
    return value


_SHOWN_ERROR_TYPE = (
    "coalesce(nullif(i.error_type, ''), CASE WHEN i.rule = false THEN i.rule_error_type END)"
)
_CELLS = "least(strlen({0}), 2 * length({0}))"
"""SQL template for the maximum width of a text in terminal cells.

A wide character has two cells and three bytes.
"""
_IS_SAME = "count(*) > 1 AND count({0}) IN (0, count(*)) AND min({0}) IS NOT DISTINCT FROM max({0})"
"""SQL template for whether all of several rows have the same value.

`count(DISTINCT)` would be slower.
"""
_MEASURED_COLUMNS = {
    "item": f"max({_CELLS.format('i.id')})",
    "category": f"max({_CELLS.format('i.category')})",
    "id_repeats_category": "bool_and(starts_with(i.id, i.category))",
    "runs": "list(DISTINCT i.run)",
}
MAX_MEASURED_ITEMS = (
    1_000_000  # Maximum number of items that are measured. Texts of later items may be cut off.
)
VERDICTS = ("official", "rule", "judge")
_MEASURED_VERDICTS = {
    "error": f"max({_CELLS.format(_SHOWN_ERROR_TYPE)})",
    **{f"same_{name}": _IS_SAME.format(f"i.{name}") for name in VERDICTS},
    "has_rule": "count(i.rule) > 0",
    "has_judge": "count(i.judge) > 0",
    "has_difference": "count(i.first_difference) > 0",
}


def measure_columns(
    connection: Connection,
    order: ViewOrder,
    runs: Sequence[int],
    run_names: dict[int, str],
    *,
    blind: bool,
) -> ColumnWidths:
    """Measure how wide the columns of a list must be for its items, and which columns are needed.

    Only the first `MAX_MEASURED_ITEMS` items are measured.

    Args:
        connection: The connection to the store.
        order: The items of the list.
        runs: The runs of the view; empty for all runs.
        run_names: Name of each run.
        blind: Whether columns that depend on verdicts are left out.
    """
    expressions = dict(_MEASURED_COLUMNS)
    if not blind:
        expressions |= _MEASURED_VERDICTS
    source = f"{order.table} t JOIN item_rows i ON i.item = t.item"

    # The order of a large view of a lake has only its first items.
    measures_all_items = order.has_rows(None) and order.count <= MAX_MEASURED_ITEMS
    if not measures_all_items:
        source += f" WHERE t.rowid < {MAX_MEASURED_ITEMS}"
        expressions |= _describe_unmeasured_items(runs or list(run_names), blind=blind)

    query = f"SELECT {', '.join(expressions.values())} FROM {source}"
    values = connection.execute(query).fetchall()[0]
    measured = dict(zip(expressions, values, strict=True))
    return _make_column_widths(measured, run_names)


def _describe_unmeasured_items(runs: Sequence[int], *, blind: bool) -> dict[str, str]:
    """Return the SQL of measurements that must also hold for items that are not measured.

    These items can belong to any of the runs, and can have other verdicts, so no column is known to
    be constant.
    """
    expressions = {"runs": str(list(runs))}  # this is also how SQL writes a list
    if not blind:
        for name in VERDICTS:
            expressions[f"same_{name}"] = "false"
    return expressions


def _make_column_widths(measured: Mapping[str, Any], run_names: Mapping[int, str]) -> ColumnWidths:
    """Make the widths of the columns of the item list from measured values.

    Args:
        measured: Names of `_MEASURED_COLUMNS` and `_MEASURED_VERDICTS` -> value: the runs that
            occur (`runs`), whether all items have the same verdict (`same_...`), and otherwise
            values of `ColumnWidths`.
        run_names: Run number -> its name.
    """
    shown_names = sorted({run_names.get(run, "") for run in measured["runs"] or ()})
    # With one run, the column of names is not shown.
    if len(shown_names) == 1:
        shown_names = []
    return ColumnWidths(
        **_select_width_fields(measured),
        constant=frozenset(name for name in VERDICTS if measured.get(f"same_{name}", False)),
        model=max(map(display_width, shown_names), default=0),
        run_names=tuple(shown_names),
    )


def _select_width_fields(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measured values that are fields of `ColumnWidths`."""
    fields = {}
    for name, value in measured.items():
        is_field = name != "runs" and not name.startswith("same_")
        # Without a value, `ColumnWidths` keeps its default.
        if is_field and value is not None:
            fields[name] = value
    return fields
