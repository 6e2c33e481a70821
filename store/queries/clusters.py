"""Failures alike, counted over all failing items of a view.

Where labels are answered: sets of words such as dialog acts, rather than right or wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fcreview.matching.clusters import ARGUMENT, CATEGORY, FUNCTION, GROUPINGS, VALUE, Cluster, counted
from fcreview.matching.clusters import ERROR as ERROR_TYPE
from fcreview.store.filters.build import FAILING, exactly, narrowed
from fcreview.store.filters.keys import ERROR
from fcreview.store.filters.tokens import only
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition
from fcreview.store.reviews.verdict_sql import EFFECTIVE_VERDICT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.rows import View


N_EXAMPLES = 3
MAX_VALUE_PAIRS = 300
"""Pairs of a golden and a predicted value that are told, the most frequent: most of the others occur once, and there
may be as many as there are items."""
_COLUMNS = {
    ERROR_TYPE: ("error_type", ERROR),
    FUNCTION: ("function", "i.diff_function"),
    ARGUMENT: ("argument", "i.diff_argument"),
    CATEGORY: ("category", "i.category"),
}
_ALIKE = {
    ERROR_TYPE: (ERROR_TYPE, FUNCTION, ARGUMENT),
    CATEGORY: (CATEGORY, ERROR_TYPE, FUNCTION),
    VALUE: (FUNCTION, ARGUMENT),
}
"""What the items of a cluster have in common, beside the two values."""
_KEYS = {ERROR_TYPE: "error", FUNCTION: "function", ARGUMENT: "argument", CATEGORY: "category"}
_VALUES = {"golden": "i.diff_golden", "predicted": "i.diff_predicted"}
_PAIR = f"hash({', '.join(_VALUES.values())})"
"""Short: where all values differ, counting the values themselves takes a hundred times as long."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A row of the query."""

    names: dict[str, str | None]
    count: int
    examples: list[str]
    difference: str | None


def fetch_clusters(connection: DuckDBPyConnection, view: View, limit: int | None, by: int = ERROR_TYPE) -> list[Cluster]:
    """Items of the view that fail (effectively), alike as `by`, a place in `GROUPINGS`, has them counted.

    `where` selects exactly these items of the view's runs (of all runs, if it names none). Most first; by value only
    those of the `VALUES` pairs of values that most items have.
    """
    kind = counted(by)
    found = _count(connection, view, kind)
    others = {place: {each.names[_COLUMNS[place][0]] for each in found} for place in _ALIKE[kind]}
    made = []
    for each in found if limit is None else found[: max(limit, 0)]:
        terms = tuple(_term(place, kind, each, others) for place in range(len(GROUPINGS)))
        names: dict[str, Any] = {"error_type": "", "function": None, "argument": None} | each.names
        names["error_type"] = names["error_type"] or ""
        where = narrowed(view.where, FAILING, *filter(None, terms))
        made.append(
            Cluster(
                **names,
                count=each.count,
                examples=each.examples,
                where=where,
                terms=terms,
                difference=each.difference or "",
            )
        )
    return made


def _count(connection: DuckDBPyConnection, view: View, kind: int) -> Sequence[_Found]:
    where, params, _ = build_condition(view, blind=False)
    names = dict(_COLUMNS[place] for place in _ALIKE[kind])
    if kind == VALUE:
        names = _VALUES | names
    columns, at = ", ".join(f"{sql} AS {name}" for name, sql in names.items()), len(names)
    listed = ", ".join(map(str, range(1, at + 1)))  # by place: an alias may be a column's name
    failing = f"{FROM_ITEMS} WHERE {where} AND {EFFECTIVE_VERDICT} = false"
    if kind == VALUE:
        often = f"SELECT {_PAIR} AS pair {failing} GROUP BY pair ORDER BY count(*) DESC, min(i.item) LIMIT {MAX_VALUE_PAIRS}"
        failing += f" AND {_PAIR} IN (SELECT pair FROM ({often}))"
        params = params * 2
    rows = connection.execute(
        f"SELECT {columns}, count(*) AS n, min_by(i.id, i.item, {N_EXAMPLES}), arg_min_null(i.first_difference, i.item)"
        f" {failing} GROUP BY {listed} ORDER BY n DESC, {listed}",
        params,
    ).fetchall()
    return [_Found(dict(zip(names, row, strict=False)), row[at], row[at + 1], row[at + 2]) for row in rows]


def _term(place: int, kind: int, found: _Found, others: dict[int, set[str | None]]) -> str:
    if place == VALUE == kind:
        return " ".join(f"{side}_value:{_quoted(found.names[side])}" for side in ("golden", "predicted"))
    if place not in _ALIKE[kind]:
        return ""
    end = "" if place == CATEGORY else ":"
    return exactly(_KEYS[place], found.names[_COLUMNS[place][0]], others[place], end)


def _quoted(value: str | None) -> str:
    """Values that are not told may be written almost alike: always exactly this one."""
    return "none" if value is None else only(value)


_ASKED = (
    "SELECT DISTINCT v.criterion FROM verdicts v JOIN item_rows i USING (item)"
    " WHERE i.run = $run AND i.category = (SELECT category FROM item_rows WHERE item = $item)"
    " AND v.target = 'response' AND v.value LIKE '[%' ORDER BY 1"
)


def fetch_label_criteria(connection: DuckDBPyConnection, item: int) -> list[str]:
    """Criteria on which the responses of the item's category and run have labels. They do not depend on the item's own
    verdicts, so a blind annotator may see them."""
    return [row[0] for row in connection.execute(_ASKED, {"run": item >> 32, "item": item}).fetchall()]
