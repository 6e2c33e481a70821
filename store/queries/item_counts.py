"""Count items by run, and by the values of filter keys. The counts of values are called facets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import orjson
from duckdb import DuckDBPyConnection as Connection

from fcreview.model.item import Run
from fcreview.model.wording import HeaderAccuracy, read_header_accuracy
from fcreview.store.filters.search_sql import ERROR_TYPE_SQL, JUDGE_CONDITIONS
from fcreview.store.queries.item_order import FROM_ITEMS, build_view_condition
from fcreview.store.reviews.review_sql import EFFECTIVE_VERDICT
from fcreview.store.rows import RunRow, View
from fcreview.store.workspace import Workspace

_FACETS = {
    "category": "i.category",
    "official": "i.official",
    "rule": "i.rule",
    "effective": "effective",
    "error": "error",
    "rule_error": "i.rule_error_type",
    "function": "i.diff_function",
    "run": "i.run",
}
"""SQL expression of each filter key whose values are counted. The key `judge` is counted separately, because an item
with judge verdicts on several parts can have several values."""
_JUDGE_VALUES = ("pass", "fail", "unknown")
_BLIND_FACETS = ("category", "run")  # facets that do not depend on verdicts
_RUN_COUNTS = {
    "n": "count(*)",
    **{
        f"{source}_{suffix}": sql.format(source)
        for source in ("official", "rule", "judge", "effective")
        for suffix, sql in (("pass", "count(*) FILTER ({})"), ("known", "count({})"))
    },
    "reviewed": "count(human)",
    "in_part": "count(*) FILTER (human IS NULL AND n_parts > 0)",
    "disputed": "count(*) FILTER (decided_by = 'disputed')",
    "yours": "count(you)",
    "n_issues": "sum(n_issues)",
}
"""SQL for the fields of `RunRow` that count items. It counts the items of a category. The key `n` is for the field
`n_items`."""
_VERDICT_COUNTS = [name for name in _RUN_COUNTS if name.endswith(("_pass", "_known"))]


def fetch_run_infos(connection: Connection, workspace: Workspace) -> dict[int, Run]:
    """Return the runs by number, without counts."""
    infos = {}
    names = [field.name for field in fields(Run)]
    for run, *values in connection.execute(f"SELECT run, {', '.join(names)} FROM runs ORDER BY run").fetchall():
        row = dict(zip(names, values, strict=True))
        row["path"] = str(workspace.to_absolute_path(row["path"]))
        row["dataset"] = workspace.from_stored_dataset(row["dataset"])
        row |= {name: orjson.loads(row[name]) for name in ("settings", "official_metrics")}
        infos[run] = Run(**row)
    return infos


def fetch_source_paths(connection: Connection, workspace: Workspace) -> list[Path]:
    rows = connection.execute("SELECT DISTINCT path FROM sources ORDER BY path").fetchall()
    return [workspace.to_absolute_path(path) for (path,) in rows]


def fetch_run_rows(connection: Connection, workspace: Workspace, *, blind: bool) -> list[RunRow]:
    """Return all runs with their counts. In blind mode, counts of verdicts and of other annotators' reviews are 0."""
    counts: dict[int, list[dict[str, Any]]] = {}
    for run, category, *numbers in connection.execute(
        f"SELECT run, category, {', '.join(_RUN_COUNTS.values())}"
        f" FROM (SELECT i.*, h.human, h.n_parts, h.you, h.decided_by, {EFFECTIVE_VERDICT} AS effective {FROM_ITEMS})"
        " GROUP BY ALL ORDER BY ALL"
    ).fetchall():
        values = dict(zip(_RUN_COUNTS, map(int, numbers), strict=True))
        counts.setdefault(run, []).append({"category": category, **values})
    notices, query = "count(*) FILTER (severity = 'notice')", "FROM import_issues WHERE run IS NULL OR item IS NULL"
    found = connection.execute(f"SELECT run, count(*), {notices} {query} GROUP BY run").fetchall()
    issues_without_item = {run: (n_issues, n_notices) for run, n_issues, n_notices in found}
    rows = []
    for run, info in fetch_run_infos(connection, workspace).items():
        categories = counts.get(run, [])
        if blind:
            for category in categories:
                category.update(dict.fromkeys(_VERDICT_COUNTS, 0))
        headers = [] if blind else _replace_counts_by_header_accuracies(categories, info.official_metrics)
        total = {name: sum(category[name] for category in categories) for name in _RUN_COUNTS}
        for category in categories:
            del category["reviewed"], category["in_part"], category["yours"], category["n_issues"], category["disputed"]
        n_issues, total["n_notices"] = issues_without_item.get(run, (0, 0))
        total["n_issues"] += n_issues
        total["n_search_issues"], total["n_search_notices"] = issues_without_item.get(None, (0, 0))
        total["n_items"] = total.pop("n")
        if blind:
            info.official_metrics = {}
            hidden = ("n_issues", "n_notices", "n_search_issues", "n_search_notices", "disputed")
            total |= {"reviewed": total["yours"], **dict.fromkeys(hidden, 0)}
        total |= {"stated_pass": sum(each.passed for each in headers), "stated_of": sum(each.total for each in headers)}
        rows.append(RunRow(run, info, **total, categories=categories))
    return rows


def count_missing_recomputed_by_reason(connection: Connection, runs: Sequence[int]) -> list[tuple[str, int]]:
    """Count the items without a recomputed verdict for each reason, the most frequent reason first."""
    where, params, _ = build_view_condition(View(runs=tuple(runs)), blind=False)
    query = f"SELECT i.rule_note, count(*) AS n FROM item_rows i WHERE {where} AND i.rule IS NULL AND i.rule_note <> ''"
    return connection.execute(f"{query} GROUP BY 1 ORDER BY n DESC, 1", params).fetchall()


def count_by_official_and_recomputed(connection: Connection, view: View) -> dict[tuple[bool | None, bool | None], int]:
    """Count the items of a view by (official verdict, recomputed verdict). Raises FilterError for an invalid filter."""
    where, params, depends_on_reviews = build_view_condition(view, blind=False)
    source = FROM_ITEMS if depends_on_reviews else "FROM item_rows i"
    query = f"SELECT i.official, i.rule, count(*) {source} WHERE {where} GROUP BY ALL"
    return {(official, rule): count for official, rule, count in connection.execute(query, params).fetchall()}


def _replace_counts_by_header_accuracies(
    categories: list[dict[str, Any]], headers: dict[str, Any]
) -> list[HeaderAccuracy]:
    """Return the accuracies from the headers of score files, for categories without result files. Sets the verdict
    counts of these categories to 0, because such score files list only the failing items."""
    found = []
    for category in categories:
        accuracy = read_header_accuracy(headers.get(category["category"]), category["n"], category["official_pass"])
        if accuracy is not None:
            found.append(accuracy)
            category.update(dict.fromkeys(_VERDICT_COUNTS, 0))
    return found


def fetch_facets(connection: Connection, view: View, *, blind: bool) -> dict[str, list[tuple[str, int]]]:
    """Return the values of each facet with their numbers of items, the most frequent value first. A value is written as
    in a filter."""
    where, params, depends_on_reviews = build_view_condition(view, blind=blind)
    names = [name for name in _FACETS if not blind or name in _BLIND_FACETS]
    columns = ", ".join(f"CAST({_FACETS[name]} AS VARCHAR) AS f{n}" for n, name in enumerate(names))
    aliases = [f"f{n}" for n in range(len(names))]
    found = connection.execute(
        "WITH i AS (SELECT i.item, i.run, i.category, i.official, i.rule, i.rule_error_type, i.diff_function,"
        f" {EFFECTIVE_VERDICT} AS effective, {ERROR_TYPE_SQL} AS error {FROM_ITEMS} WHERE {where}),"
        f" c AS (SELECT {columns} FROM i)"
        f" SELECT {', '.join(aliases)}, grouping_id({', '.join(aliases)}), count(*) AS n FROM c"
        f" GROUP BY GROUPING SETS ({', '.join(f'({alias})' for alias in aliases)}) ORDER BY n DESC, "
        + ", ".join(aliases),
        params,
    ).fetchall()
    result: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    all_bits = (1 << len(names)) - 1
    for *values, grouping_bits, count in found:
        # In `grouping_id`, the bit of the grouped column is 0. The first column has the highest bit.
        at = len(names) - (all_bits & ~grouping_bits).bit_length()
        result[names[at]].append((_format_facet_value(names[at], values[at]), count))
    if not blind:
        source = FROM_ITEMS if depends_on_reviews else "FROM item_rows i"
        counted = ", ".join(f"count(*) FILTER ({JUDGE_CONDITIONS[value]})" for value in _JUDGE_VALUES)
        counts = connection.execute(f"SELECT {counted} {source} WHERE {where}", params).fetchall()[0]
        pairs = [pair for pair in zip(_JUDGE_VALUES, counts, strict=True) if pair[1]]
        result["judge"] = sorted(pairs, key=lambda pair: -pair[1])
    return result


def _format_facet_value(facet: str, value: str | None) -> str:
    if value is None:
        return "unknown" if facet in ("official", "rule", "effective") else "none"
    return {"true": "pass", "false": "fail"}.get(value, value)
