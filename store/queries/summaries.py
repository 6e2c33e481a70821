"""Counts over many items: runs and facets."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import orjson
from duckdb import DuckDBPyConnection

from fcreview.model.item import Run
from fcreview.model.wording import HeaderAccuracy, read_header_accuracy
from fcreview.store.filters.keys import ERROR_TYPE_SQL
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition
from fcreview.store.reviews.verdict_sql import EFFECTIVE_VERDICT
from fcreview.store.rows import RunRow, View
from fcreview.store.workspace import Workspace

_FACETS = {
    "category": "i.category",
    "official": "i.official",
    "rule": "i.rule",
    "judge": "i.judge",
    "effective": "effective",
    "error": "error",
    "rule_error": "i.rule_error_type",
    "function": "i.diff_function",
    "run": "i.run",
}
_OPEN = ("category", "run")
"""Facets that tell nothing of verdicts."""
PASS_COUNTS = ("pass", "known")


def fetch_run_infos(connection: DuckDBPyConnection, workspace: Workspace) -> dict[int, Run]:
    """The runs by number, without counts."""
    infos = {}
    names = [field.name for field in fields(Run)]
    for run, *values in connection.execute(f"SELECT run, {', '.join(names)} FROM runs ORDER BY run").fetchall():
        row = dict(zip(names, values, strict=True))
        row["path"] = str(workspace.to_absolute_path(row["path"]))
        row |= {name: orjson.loads(row[name]) for name in ("settings", "official_metrics")}
        infos[run] = Run(**row)
    return infos


def fetch_run_rows(connection: DuckDBPyConnection, workspace: Workspace, *, blind: bool) -> list[RunRow]:
    """Every run with its counts; in blind mode counts of verdicts are 0."""
    counts: dict[int, list[dict[str, Any]]] = {}
    names = [
        "n",
        "official_pass",
        "official_known",
        "rule_pass",
        "rule_known",
        "effective_pass",
        "effective_known",
        "reviewed",
        "in_part",
        "yours",
        "n_issues",
    ]
    for run, category, *numbers in connection.execute(
        "SELECT run, category, count(*), count(*) FILTER (official), count(official), count(*) FILTER (rule),"
        " count(rule), count(*) FILTER (effective), count(effective), count(human),"
        " count(*) FILTER (human IS NULL AND n_parts > 0), count(you), sum(n_issues)"
        f" FROM (SELECT i.*, h.human, h.n_parts, h.you, {EFFECTIVE_VERDICT} AS effective {FROM_ITEMS}) GROUP BY ALL ORDER BY ALL"
    ).fetchall():
        counts.setdefault(run, []).append({"category": category, **dict(zip(names, map(int, numbers), strict=True))})
    loose = dict(
        connection.execute(
            "SELECT run, count(*) FROM import_issues WHERE run IS NOT NULL AND item IS NULL GROUP BY run"
        ).fetchall()
    )
    rows = []
    for run, info in fetch_run_infos(connection, workspace).items():
        categories = counts.get(run, [])
        for category in categories if blind else ():
            category.update({name: 0 for name in names if name.endswith(("_pass", "_known"))})
        said = [] if blind else _without_results(categories, info.official_metrics)
        total = {name: sum(category[name] for category in categories) for name in names}
        for category in categories:
            del category["reviewed"], category["in_part"], category["yours"], category["n_issues"]
        total["n_issues"] += loose.get(run, 0)
        total["n_items"] = total.pop("n")
        if blind:
            info.official_metrics = {}
            total |= {"reviewed": total["yours"], "n_issues": 0}
        heads = {"stated_pass": sum(one.passed for one in said), "stated_of": sum(one.total for one in said)}
        rows.append(RunRow(run, info, **total, **heads, categories=categories))
    return rows


def _without_results(categories: list[dict[str, Any]], headers: dict[str, Any]) -> list[HeaderAccuracy]:
    """What is stated of categories of which only the failures are known; their verdicts are taken out of the counts."""
    found = []
    for category in categories:
        said = read_header_accuracy(headers.get(category["category"]), category["n"], category["official_pass"])
        if said is not None:
            found.append(said)
            category.update(
                {f"{source}_{count}": 0 for source in ("official", "rule", "effective") for count in PASS_COUNTS}
            )
    return found


def fetch_facets(connection: DuckDBPyConnection, view: View, *, blind: bool) -> dict[str, list[tuple[str, int]]]:
    """For each facet its values and how many items have them, most first. Values are as the filter writes them."""
    where, params, _ = build_condition(view, blind=blind)
    names = [name for name in _FACETS if not blind or name in _OPEN]
    columns = ", ".join(f"CAST({_FACETS[name]} AS VARCHAR) AS f{n}" for n, name in enumerate(names))
    aliases = [f"f{n}" for n in range(len(names))]
    found = connection.execute(
        f"WITH i AS (SELECT i.item, i.run, i.category, i.official, i.rule, i.judge, i.rule_error_type, i.diff_function,"
        f" {EFFECTIVE_VERDICT} AS effective, {ERROR_TYPE_SQL} AS error {FROM_ITEMS} WHERE {where}), c AS (SELECT {columns} FROM i)"
        f" SELECT {', '.join(aliases)}, grouping_id({', '.join(aliases)}), count(*) AS n FROM c"
        f" GROUP BY GROUPING SETS ({', '.join(f'({alias})' for alias in aliases)}) ORDER BY n DESC, "
        + ", ".join(aliases),
        params,
    ).fetchall()
    result: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    everything = (1 << len(names)) - 1
    for *values, group, count in found:
        place = len(names) - (everything & ~group).bit_length()
        name = names[place]
        result[name].append((_facet_value(name, values[place]), count))
    return result


def _facet_value(name: str, value: str | None) -> str:
    if value is None:
        return "unknown" if name in ("official", "rule", "judge", "effective") else "none"
    return {"true": "pass", "false": "fail"}.get(value, value)
