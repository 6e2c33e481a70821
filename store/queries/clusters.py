"""Query the clusters of the failing items of a view. Items of a cluster fail in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from fcreview.store.reviews.review_sql import EFFECTIVE_VERDICT, HAS_INCIDENT, incident_kind_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.rows import View

ANY_INCIDENT_TERM, NO_INCIDENT_TERM = "incident:any", "incident:none"
UNCOUNTED_KINDS = ("limit", "empty_reply")
"""Kinds of incidents that figures count only if a reviewer sets the mark."""
MAX_TEXT_CHARS = 200  # maximum length of the text of a failure in `Cluster.difference`
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


@dataclass(frozen=True, slots=True)
class _ClusterRow:
    names: dict[str, str | None]  # common value of all items, by field of `Cluster`
    count: int
    examples: list[str]
    difference: str | None
    first_item: int
    n_decisive: int
    usual_reason: str | None


def fetch_clusters_by_groupings(
    connection: Connection,
    view: View,
    limit: int | None,
    groupings: Sequence[int] = (BY_ERROR_TYPE,),
    raise_if_interrupted: Callable[[], None] = lambda: None,
) -> list[list[Cluster]]:
    """Return the clusters of items whose effective verdict is fail, for each grouping, the largest
    cluster first.

    Items with an incident are not failures of the model. They have clusters of their own, one for
    each kind, which come first.

    `groupings` are indexes into `GROUPINGS`. `BY_VALUE` cannot be combined with other groupings,
    and counts only the `MAX_VALUE_PAIRS` most frequent pairs of values. The filter `Cluster.where`
    selects exactly the items of the cluster.
    """
    computed = [get_computed_grouping(by) for by in groupings]
    incidents = _fetch_incident_clusters(connection, view)
    scope_term = NO_INCIDENT_TERM if incidents else ""
    found = _fetch_cluster_rows(connection, view, computed, without_incidents=bool(incidents))
    all_clusters = []
    for grouping, rows in zip(computed, found, strict=True):
        builders = {each: _make_term_builder(each, rows) for each in _SHARED_GROUPINGS[grouping]}
        clusters = incidents[:limit]
        shown = rows if limit is None else rows[: max(limit - len(incidents), 0)]
        with_step = [row.first_item for row in shown if row.names.get("decisive_step")]
        reasons = _fetch_decisive_step_reasons(connection, with_step)
        for row in shown:
            raise_if_interrupted()
            terms = tuple(
                _build_filter_term(each, grouping, row, builders) for each in range(len(GROUPINGS))
            )
            names: dict[str, Any] = {
                "error_type": "",
                "function": None,
                "argument": None,
            } | row.names
            names["error_type"] = names["error_type"] or ""
            where = add_terms(view.where, FAILING_FILTER, *filter(None, (*terms, scope_term)))
            fields = {
                name: getattr(row, name)
                for name in ("count", "examples", "first_item", "n_decisive")
            }
            fields |= {
                "difference": row.difference or "",
                "step_reason": reasons.get(row.first_item) or "",
            }
            fields["usual_reason"] = row.usual_reason or ""
            clusters.append(
                Cluster(**names, **fields, where=where, terms=terms, scope_term=scope_term)
            )
        all_clusters.append(clusters)
    return all_clusters


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
    clusters = []
    for kind, count, examples, text, first_item in rows:
        term = f"incident:{kind}"
        # Items of these kinds count as incidents only if a reviewer says so.
        scope_term = ANY_INCIDENT_TERM if kind in UNCOUNTED_KINDS else ""
        clusters.append(
            Cluster(
                error_type="",
                function=None,
                argument=None,
                count=count,
                examples=examples,
                where=add_terms(view.where, FAILING_FILTER, term, *filter(None, [scope_term])),
                terms=(term,) * len(GROUPINGS),
                difference=text or "",
                first_item=first_item,
                scope_term=scope_term,
                incident=kind,
            )
        )
    return clusters


def _fetch_cluster_rows(
    connection: Connection, view: View, groupings: Sequence[int], *, without_incidents: bool
) -> list[Sequence[_ClusterRow]]:
    """Return the rows of each grouping.

    All groupings share one query, because two queries would take 50 % longer.
    """
    where, params, _ = build_view_condition(view, blind=False)
    own = [dict(_COLUMNS[each] for each in _SHARED_GROUPINGS[grouping]) for grouping in groupings]
    failing = f"{FROM_ITEMS} WHERE {where} AND {EFFECTIVE_VERDICT} = false"
    if without_incidents:
        failing += f" AND NOT {HAS_INCIDENT}"
    if groupings == [BY_VALUE]:
        own = [_VALUE_COLUMNS | own[0]]
        frequent = (
            f"SELECT {_VALUE_PAIR_HASH} AS pair {failing}"
            f" GROUP BY pair ORDER BY count(*) DESC, min(i.item) LIMIT {MAX_VALUE_PAIRS}"
        )
        failing += f" AND {_VALUE_PAIR_HASH} IN (SELECT pair FROM ({frequent}))"
        params = params * 2
    names = {name: sql for each in reversed(own) for name, sql in each.items()}
    # The SQL names columns by position, because an alias can also be a column of the table.
    positions = {name: str(place) for place, name in enumerate(names, 1)}
    sets = ", ".join(f"({', '.join(positions[name] for name in each)})" for each in own)
    columns = ", ".join(f"{sql} AS {name}" for name, sql in names.items())
    rows = connection.execute(
        f"SELECT {columns}, grouping_id({', '.join(names.values())}),"
        f" count(*) AS n, min_by(i.id, i.item, {N_EXAMPLES}),"
        " arg_min_null(i.first_difference, i.item), min(i.item), count(i.decisive_step),"
        " mode(i.first_difference ORDER BY i.first_difference) FILTER (i.diff_function IS NULL)"
        f" {failing} GROUP BY GROUPING SETS ({sets}) ORDER BY n DESC,"
        f" {', '.join(positions.values())}",
        params,
    ).fetchall()
    found: list[Sequence[_ClusterRow]] = []
    places, n_names = {name: place for place, name in enumerate(names)}, len(names)
    for each in own:
        # grouping_id has a bit for each column
        absent = int("".join("01"[name not in each] for name in names), 2)
        found.append(
            [
                _ClusterRow({name: row[places[name]] for name in each}, *row[n_names + 1 :])
                for row in rows
                if row[n_names] == absent
            ]
        )
    return found


def _fetch_decisive_step_reasons(
    connection: Connection, items: Sequence[int]
) -> dict[int, str | None]:
    if not items:
        return {}
    query = _STEP_REASONS.format(
        items=", ".join(map(str, items)), runs=and_runs_of_items_sql(connection, items)
    )
    return dict(connection.execute(query).fetchall())


def _make_term_builder(grouping: int, rows: Sequence[_ClusterRow]) -> ExactTermBuilder:
    names = {row.names[_COLUMNS[grouping][0]] for row in rows}
    return ExactTermBuilder(
        _FILTER_KEYS[grouping], names, separator="" if grouping == BY_CATEGORY else ":"
    )


def _build_filter_term(
    term_grouping: int,
    cluster_grouping: int,
    row: _ClusterRow,
    builders: dict[int, ExactTermBuilder],
) -> str:
    """Return the filter term that selects the cluster's value in the grouping `term_grouping`.
    Empty if the items of the cluster have different values there.
    """
    if term_grouping == BY_VALUE == cluster_grouping:
        # These terms match exact values, because not all values of the view are known.
        values = [(side, row.names[side]) for side in ("golden", "predicted")]
        return " ".join(
            f"{side}_value:{'none' if value is None else quote_or_hash(value)}"
            for side, value in values
        )
    if term_grouping not in _SHARED_GROUPINGS[cluster_grouping]:
        return ""
    return builders[term_grouping].build_term(row.names[_COLUMNS[term_grouping][0]])
