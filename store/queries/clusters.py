"""Query the clusters of the failing items of a view. Items of a cluster fail in the same way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.matching.clusters import (
    BY_ARGUMENT,
    BY_CATEGORY,
    BY_DECISIVE_STEP,
    BY_ERROR_TYPE,
    BY_FUNCTION,
    BY_VALUE,
    GROUPINGS,
    Cluster,
    get_computed_grouping,
)
from fcreview.model.verdict import DECISIVE_STEP
from fcreview.store.database import and_runs_of_items_sql
from fcreview.store.filters.search_sql import ERROR_TYPE_SQL
from fcreview.store.filters.tokens import FAILING_FILTER, ExactTermBuilder, add_terms, quote_or_hash
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.review_sql import (
    AUTOMATIC_VERDICT,
    EFFECTIVE_VERDICT,
    HAS_INCIDENT,
    incident_kind_sql,
    is_resolved_sql,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.rows import View

ANY_INCIDENT_TERM = "incident:any"
NO_INCIDENT_TERM = "incident:none"
UNCOUNTED_KINDS = ("limit", "empty_reply")
"""Kinds of incidents that figures count only if a reviewer sets the mark."""
MAX_TEXT_CHARS = 200  # maximum length of the text of a failure in `Cluster.difference`
_IS_RESOLVED = f"coalesce({is_resolved_sql('h.decided_by')}, false)"
_FIRST_LINE = f"left(split_part(coalesce(i.incident_text, ''), chr(10), 1), {MAX_TEXT_CHARS})"
N_EXAMPLES = 3  # maximum number of item ids in `Cluster.examples`
MAX_VALUE_PAIRS = 300
"""Maximum number of value pairs (golden, predicted) that are counted, the most frequent first."""
_COLUMNS = {
    BY_ERROR_TYPE: ("error_type", ERROR_TYPE_SQL),
    BY_FUNCTION: ("function", "i.diff_function"),
    BY_ARGUMENT: ("argument", "i.diff_argument"),
    BY_CATEGORY: ("category", "i.category"),
    BY_DECISIVE_STEP: ("decisive_step", "i.decisive_step"),
}
"""Field of `Cluster` and its SQL expression, for each grouping except `BY_VALUE`."""
_SHARED_GROUPINGS = {
    BY_ERROR_TYPE: (BY_ERROR_TYPE, BY_FUNCTION, BY_ARGUMENT),
    BY_CATEGORY: (BY_CATEGORY, BY_ERROR_TYPE, BY_FUNCTION),
    BY_VALUE: (BY_FUNCTION, BY_ARGUMENT),
    BY_DECISIVE_STEP: (BY_DECISIVE_STEP, BY_ERROR_TYPE, BY_FUNCTION),
}
"""For each grouping, the properties that all items of a cluster share. For example, the items of a
cluster by category also have the same error type and function.
"""
_FILTER_KEYS = {
    BY_ERROR_TYPE: "error",
    BY_FUNCTION: "function",
    BY_ARGUMENT: "argument",
    BY_CATEGORY: "category",
    BY_DECISIVE_STEP: "decisive",
}
_VALUE_COLUMNS = {"golden": "i.diff_golden", "predicted": "i.diff_predicted"}
# If all values differ, counting values takes a hundred times as long as counting hashes.
_VALUE_PAIR_HASH = f"hash({', '.join(_VALUE_COLUMNS.values())})"
_STEP_REASONS = f"""
SELECT item, v.rationale FROM (SELECT item, unnest(verdicts) AS v FROM item_rows WHERE item IN ({{items}}){{runs}})
WHERE v.criterion = '{DECISIVE_STEP}' AND v.source = 'rule'
"""


_CLUSTER_FIGURES = (
    "count(*) AS n",
    f"min_by(i.id, i.item, {N_EXAMPLES})",
    "arg_min_null(i.first_difference, i.item)",
    "min(i.item)",
    "count(i.decisive_step)",
    "mode(i.first_difference ORDER BY i.first_difference) FILTER (i.diff_function IS NULL)",
    f"count(h.golden_verdict) FILTER (NOT {_IS_RESOLVED})",
    f"count(*) FILTER ({_IS_RESOLVED} AND {AUTOMATIC_VERDICT})",
)
"""SQL of the fields of `_ClusterRow` after `names`, in their order."""


@dataclass(frozen=True, slots=True)
class _ClusterRow:
    names: dict[str, str | None]  # common value of all items, by field of `Cluster`
    count: int
    examples: list[str]
    difference: str | None
    first_item: int
    n_decisive: int
    usual_reason: str | None
    n_by_erratum: int
    n_by_review: int


def fetch_clusters_by_groupings(
    connection: Connection,
    view: View,
    limit: int | None,
    groupings: Sequence[int] = (BY_ERROR_TYPE,),
    raise_if_interrupted: Callable[[], None] = lambda: None,
) -> list[list[Cluster]]:
    """Group the failing items of a view into clusters, such as those with the same error type. The
    largest cluster comes first.

    Items with an incident, such as a failed request, are not failures of the model. They have
    clusters of their own, one for each kind of incident, which come first. The filter
    `Cluster.where` selects exactly the items of a cluster.

    Args:
        connection: The connection to the store.
        view: The items.
        limit: Maximum number of clusters of each grouping, or None.
        groupings: Indexes into `GROUPINGS`; the result has a list for each. `BY_VALUE` cannot be
            combined with others, and counts only the `MAX_VALUE_PAIRS` most frequent pairs.
        raise_if_interrupted: Is called before each cluster, and can cancel by an exception.
    """
    computed_groupings = [get_computed_grouping(by) for by in groupings]
    incidents = _fetch_incident_clusters(connection, view)
    rows_by_grouping = _fetch_cluster_rows(
        connection, view, computed_groupings, without_incidents=bool(incidents)
    )
    # The rows leave out incidents, so the filters of their clusters must do the same.
    scope_term = NO_INCIDENT_TERM if incidents else ""
    # The clusters of incidents come first, and count for the limit.
    max_rows = None if limit is None else max(limit - len(incidents), 0)

    all_clusters = []
    for grouping, rows in zip(computed_groupings, rows_by_grouping, strict=True):
        shown_rows = rows[:max_rows]
        builder = _make_cluster_builder(
            connection, view, grouping, rows, shown_rows=shown_rows, scope_term=scope_term
        )
        clusters = incidents[:limit]
        for row in shown_rows:
            raise_if_interrupted()
            clusters.append(builder.build_cluster(row))
        all_clusters.append(clusters)
    return all_clusters


def _make_cluster_builder(
    connection: Connection,
    view: View,
    grouping: int,
    rows: Sequence[_ClusterRow],
    *,
    shown_rows: Sequence[_ClusterRow],
    scope_term: str,
) -> _ClusterBuilder:
    """Prepare the filter terms and the texts of the shown rows.

    The terms depend on all rows, because a short term must not match the items of another cluster.
    """
    items_with_step = [row.first_item for row in shown_rows if row.names.get("decisive_step")]
    term_builders = {}
    for shared in _SHARED_GROUPINGS[grouping]:
        term_builders[shared] = _make_term_builder(shared, rows)
    return _ClusterBuilder(
        view,
        grouping=grouping,
        term_builders=term_builders,
        scope_term=scope_term,
        step_reasons=_fetch_decisive_step_reasons(connection, items_with_step),
    )


@dataclass(frozen=True, slots=True)
class _ClusterBuilder:
    """Builds the clusters of one grouping."""

    view: View
    grouping: int
    term_builders: dict[int, ExactTermBuilder]  # by shared grouping
    step_reasons: dict[int, str | None]  # reason for the decisive step, by item
    scope_term: str  # filter term that all clusters have, such as `incident:none`

    def build_cluster(self, row: _ClusterRow) -> Cluster:
        """Build a cluster of failing items from its row in the result of the query.

        The cluster has a filter term for each grouping, such as the error type or the function, by
        which users can open its items.
        """
        terms = tuple(
            _build_filter_term(term_grouping, self.grouping, row, self.term_builders)
            for term_grouping in range(len(GROUPINGS))
        )
        names = row.names
        return Cluster(
            error_type=names.get("error_type") or "",
            function=names.get("function"),
            argument=names.get("argument"),
            category=names.get("category"),
            golden=names.get("golden"),
            predicted=names.get("predicted"),
            decisive_step=names.get("decisive_step"),
            count=row.count,
            examples=row.examples,
            where=_build_cluster_filter(self.view, *terms, self.scope_term),
            terms=terms,
            difference=row.difference or "",
            step_reason=self.step_reasons.get(row.first_item) or "",
            first_item=row.first_item,
            n_decisive=row.n_decisive,
            usual_reason=row.usual_reason or "",
            n_by_erratum=row.n_by_erratum,
            n_by_review=row.n_by_review,
            scope_term=self.scope_term,
        )


def _build_cluster_filter(view: View, *terms: str) -> str:
    """Return the filter of the view's failing items that meet the terms. Terms may be empty."""
    return add_terms(view.where, FAILING_FILTER, *(term for term in terms if term))


def _fetch_incident_clusters(connection: Connection, view: View) -> list[Cluster]:
    """Return a cluster for each kind of incident of the failing items, the largest first."""
    where, params, _ = build_view_condition(view, blind=False)
    rows = connection.execute(
        f"SELECT {incident_kind_sql()} AS kind, count(*) AS n, min_by(i.id, i.item, {N_EXAMPLES}),"
        f" arg_min({_FIRST_LINE}, i.item), min(i.item)"
        f" {FROM_ITEMS} WHERE {where} AND {EFFECTIVE_VERDICT} = false AND {HAS_INCIDENT}"
        " GROUP BY kind ORDER BY n DESC, kind",
        params,
    ).fetchall()
    return [_build_incident_cluster(view, _IncidentRow(*values)) for values in rows]


@dataclass(frozen=True, slots=True)
class _IncidentRow:
    """The failing items with one kind of incident."""

    kind: str
    count: int
    examples: list[str]
    text: str | None
    first_item: int


def _build_incident_cluster(view: View, row: _IncidentRow) -> Cluster:
    """Build the cluster of the items with one kind of incident, such as a timeout."""
    term = f"incident:{row.kind}"
    # Items of these kinds count as incidents only if a reviewer says so.
    scope_term = ANY_INCIDENT_TERM if row.kind in UNCOUNTED_KINDS else ""
    return Cluster(
        error_type="",
        function=None,
        argument=None,
        count=row.count,
        examples=row.examples,
        where=_build_cluster_filter(view, term, scope_term),
        # Incidents are a group of their own in each grouping.
        terms=(term,) * len(GROUPINGS),
        difference=row.text or "",
        first_item=row.first_item,
        scope_term=scope_term,
        incident=row.kind,
    )


def _fetch_cluster_rows(
    connection: Connection, view: View, groupings: Sequence[int], *, without_incidents: bool
) -> list[Sequence[_ClusterRow]]:
    """Fetch the clusters of failing items for each grouping, as rows with their counts.

    All groupings share one query, because two queries would take 50 % longer. Only the grouping by
    pairs of values (`BY_VALUE`) has a query alone, for the most frequent pairs. With
    `without_incidents`, items with an incident are left out.
    """
    failing = _select_failing_items(view, without_incidents=without_incidents)
    columns_by_grouping = [_list_shared_columns(grouping) for grouping in groupings]
    if groupings == [BY_VALUE]:
        failing = _select_items_with_frequent_pairs(failing)
        # The pair of values comes before what the items of a cluster have in common otherwise.
        columns_by_grouping = [_VALUE_COLUMNS | _list_shared_columns(BY_VALUE)]

    columns = _merge_columns(columns_by_grouping)
    query = _build_cluster_query(failing.sql, columns, columns_by_grouping)
    rows = connection.execute(query, failing.params).fetchall()
    rows_by_grouping: list[Sequence[_ClusterRow]] = []
    for columns_of_grouping in columns_by_grouping:
        rows_by_grouping.append(_select_rows_of_grouping(rows, list(columns), columns_of_grouping))
    return rows_by_grouping


@dataclass(frozen=True, slots=True)
class _FailingItems:
    """The failing items of a view."""

    sql: str  # FROM and WHERE clauses
    params: list[object]


def _select_failing_items(view: View, *, without_incidents: bool) -> _FailingItems:
    where, params, _ = build_view_condition(view, blind=False)
    sql = f"{FROM_ITEMS} WHERE {where} AND {EFFECTIVE_VERDICT} = false"
    if without_incidents:
        sql += f" AND NOT {HAS_INCIDENT}"
    return _FailingItems(sql, params)


def _select_items_with_frequent_pairs(failing: _FailingItems) -> _FailingItems:
    """Return those of the failing items that have one of their most frequent pairs of values."""
    frequent_pairs = _build_frequent_pairs_query(failing.sql)
    return _FailingItems(
        f"{failing.sql} AND {_VALUE_PAIR_HASH} IN ({frequent_pairs})",
        # The condition of the view occurs twice: for the items, and for the pairs.
        params=[*failing.params, *failing.params],
    )


def _merge_columns(columns_by_grouping: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return the columns of all groupings, each once. Those of the last grouping come first.

    Clusters of the same size are sorted by these columns. With this order, the clusters of a second
    grouping are sorted by the first column of that grouping.
    """
    merged: dict[str, str] = {}
    for columns in reversed(columns_by_grouping):
        merged |= columns
    return merged


def _list_shared_columns(grouping: int) -> dict[str, str]:
    """Return the SQL of what all items of a cluster share, by field of `Cluster`."""
    return dict(_COLUMNS[shared] for shared in _SHARED_GROUPINGS[grouping])


def _build_frequent_pairs_query(failing: str) -> str:
    """Return the SQL for the hashes of the most frequent pairs of values."""
    return (
        f"SELECT pair FROM (SELECT {_VALUE_PAIR_HASH} AS pair {failing}"
        f" GROUP BY pair ORDER BY count(*) DESC, min(i.item) LIMIT {MAX_VALUE_PAIRS})"
    )


def _build_cluster_query(
    failing: str, columns: dict[str, str], columns_by_grouping: Sequence[dict[str, str]]
) -> str:
    """Build a query with a row for each cluster of failing items, for several groupings at once.

    A row has the values of `columns`, a number that identifies the grouping, and then the fields of
    `_ClusterRow` that follow `names`.

    Args:
        failing: The FROM and WHERE clauses that select the failing items.
        columns: SQL of each column by name, for all groupings.
        columns_by_grouping: The columns of each grouping.
    """
    # Columns are named by position, because an alias can also be a column of the table.
    positions = {name: str(position) for position, name in enumerate(columns, 1)}
    grouping_sets = []
    for columns_of_grouping in columns_by_grouping:
        listed = ", ".join(positions[name] for name in columns_of_grouping)
        grouping_sets.append(f"({listed})")

    selected = [f"{sql} AS {name}" for name, sql in columns.items()]
    selected.append(f"grouping_id({', '.join(columns.values())})")
    selected += _CLUSTER_FIGURES
    return (
        f"SELECT {', '.join(selected)} {failing}"
        f" GROUP BY GROUPING SETS ({', '.join(grouping_sets)})"
        f" ORDER BY n DESC, {', '.join(positions.values())}"
    )


def _select_rows_of_grouping(
    rows: Sequence[tuple[Any, ...]], names: Sequence[str], names_of_grouping: Collection[str]
) -> list[_ClusterRow]:
    """Return the rows of one grouping from the result of a query that has the rows of all
    groupings.

    Args:
        rows: All rows, as `_build_cluster_query` selects them: the values of the columns, the
            `grouping_id`, and the fields of `_ClusterRow` after `names`.
        names: All columns of the query, in order.
        names_of_grouping: The columns of the wanted grouping.
    """
    wanted_id = _find_grouping_id(names, names_of_grouping)
    selected = []
    for row in rows:
        values = row[: len(names)]
        grouping_id, *figures = row[len(names) :]
        if grouping_id != wanted_id:
            continue
        value_by_name = dict(zip(names, values, strict=True))
        own_values = {name: value_by_name[name] for name in names_of_grouping}
        selected.append(_ClusterRow(own_values, *figures))
    return selected


def _find_grouping_id(names: Sequence[str], names_of_grouping: Collection[str]) -> int:
    """Return the `grouping_id` of the rows of a grouping. It has a bit for each column, which is 1
    for the columns that do not group.
    """
    bits = ["0" if name in names_of_grouping else "1" for name in names]
    return int("".join(bits), 2)


def _fetch_decisive_step_reasons(
    connection: Connection, items: Sequence[int]
) -> dict[int, str | None]:
    """Return why the decisive step of each item is the decisive one, by item number."""
    if not items:
        return {}
    query = _STEP_REASONS.format(
        items=", ".join(map(str, items)), runs=and_runs_of_items_sql(connection, items)
    )
    return dict(connection.execute(query).fetchall())


def _get_shared_value(row: _ClusterRow, grouping: int) -> str | None:
    """Return the value that the items of a cluster share in a grouping, such as their function."""
    field_name, _ = _COLUMNS[grouping]
    return row.names[field_name]


def _make_term_builder(grouping: int, rows: Sequence[_ClusterRow]) -> ExactTermBuilder:
    names = {_get_shared_value(row, grouping) for row in rows}
    return ExactTermBuilder(
        _FILTER_KEYS[grouping], names, separator="" if grouping == BY_CATEGORY else ":"
    )


def _format_exact_value(value: str | None) -> str:
    """Format a value for a filter that matches only this value.

    A shorter form could match others, because not all values of the view are known.
    """
    if value is None:
        return "none"
    return quote_or_hash(value)


def _build_filter_term(
    term_grouping: int,
    cluster_grouping: int,
    row: _ClusterRow,
    builders: dict[int, ExactTermBuilder],
) -> str:
    """Return the filter term that selects the cluster's value in a grouping, such as
    `function:get_weather`. Empty if the items of the cluster have different values there.

    Args:
        term_grouping: The grouping of the term.
        cluster_grouping: The grouping to which the cluster belongs.
        row: The cluster's row.
        builders: Grouping -> builder of its terms.
    """
    if term_grouping == BY_VALUE and cluster_grouping == BY_VALUE:
        golden = _format_exact_value(row.names["golden"])
        predicted = _format_exact_value(row.names["predicted"])
        return f"golden_value:{golden} predicted_value:{predicted}"
    if term_grouping not in _SHARED_GROUPINGS[cluster_grouping]:
        return ""
    return builders[term_grouping].build_term(_get_shared_value(row, term_grouping))
