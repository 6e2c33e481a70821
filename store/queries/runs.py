"""Query runs with their numbers of items, and sort, group, search and name lists of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.item import MissingItem, Run, RunFact
from fcreview.model.run_name import build_run_names
from fcreview.model.wording import HeaderAccuracy, read_header_accuracy
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.review_sql import (
    EFFECTIVE_VERDICT,
    HAS_INCIDENT,
    OWN_MARK,
    is_incident_sql,
    is_resolved_sql,
)
from fcreview.store.rows import RunRow, View
from fcreview.tables.runs import RunFigures

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.workspace import Workspace

_RUN_COUNTS = {
    "n": "count(*)",
    **{
        f"{source}_{suffix}": sql.format(source)
        for source in ("official", "rule", "judge", "effective")
        for suffix, sql in (("pass", "count(*) FILTER ({})"), ("known", "count({})"))
    },
    "incidents": "count(*) FILTER (is_incident)",
    **{
        f"{source}_{suffix}_without_incidents": sql.format(source)
        for source in ("official", "rule", "judge", "effective")
        for suffix, sql in (
            ("pass", "count(*) FILTER ({} AND NOT is_incident)"),
            ("known", "count({}) FILTER (NOT is_incident)"),
        )
    },
    "reviewed": "count(human)",
    "in_part": "count(*) FILTER (human IS NULL AND n_parts > 0)",
    "disputed": "count(*) FILTER (decided_by = 'disputed')",
    "by_erratum": "count(golden_verdict) FILTER (NOT coalesce(is_resolved, false))",
    "yours": "count(you)",
    "n_issues": "sum(n_issues)",
}
"""SQL for the item counts of a category, by field of `RunRow`. `n` stands for `n_items`."""
_VERDICT_COUNTS = [name for name in _RUN_COUNTS if "_pass" in name or "_known" in name]


def fetch_run_infos(connection: Connection, workspace: Workspace) -> dict[int, Run]:
    """Return the runs by number, without counts. `Run.not_run` stays empty, because it can have
    thousands of items: see `fetch_not_run` and `RunRow.not_run`.
    """
    names = [field.name for field in fields(Run) if field.name != "not_run"]
    rows = connection.execute(f"SELECT run, {', '.join(names)} FROM runs ORDER BY run").fetchall()
    infos = {}
    for run, *values in rows:
        columns = dict(zip(names, values, strict=True))
        infos[run] = _parse_run(columns, workspace)
    return infos


def _parse_run(columns: dict[str, Any], workspace: Workspace) -> Run:
    """Build a run from the columns of the table `runs`, in which paths are relative and objects
    are JSON text.
    """
    facts = orjson.loads(columns["facts"])
    parsed = {
        "path": str(workspace.to_absolute_path(columns["path"])),
        "dataset": workspace.from_stored_dataset(columns["dataset"]),
        "settings": orjson.loads(columns["settings"]),
        "official_metrics": orjson.loads(columns["official_metrics"]),
        "facts": {name: RunFact(**fact) for name, fact in facts.items()},
    }
    return Run(**columns | parsed)


@dataclass(frozen=True, slots=True)
class RunMissingItem:
    """An item of the dataset for which a run has no result."""

    run: int
    item: MissingItem


def fetch_not_run(connection: Connection, runs: Sequence[int]) -> list[RunMissingItem]:
    """Return the items without a result of these runs, or of all runs if `runs` is empty: run by
    run, and those of a run in the dataset's order.
    """
    where = f"WHERE run IN ({', '.join(str(int(run)) for run in runs)})" if runs else ""
    rows = connection.execute(f"SELECT run, id, category FROM not_run {where}").fetchall()
    missing = [
        RunMissingItem(run, MissingItem(item_id, category)) for run, item_id, category in rows
    ]
    # The view lists the items of a run in their order, and the sort keeps it.
    return sorted(missing, key=lambda item: item.run)


def create_run_names_table(connection: Connection, run_names: Mapping[int, str]) -> None:
    """Create the temporary table `run_names`, from which exported labels take the names of their
    runs.
    """
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE run_names AS"
        " SELECT unnest(?::INTEGER[]) AS run, unnest(?::VARCHAR[]) AS run_name",
        [list(run_names), list(run_names.values())],
    )


def fetch_source_hashes(connection: Connection, run: int) -> list[tuple[str, str]]:
    query = "SELECT kind, hash FROM sources WHERE run = ? ORDER BY kind, path"
    return [
        (kind, content_hash) for kind, content_hash in connection.execute(query, [run]).fetchall()
    ]


def fetch_source_paths(connection: Connection, workspace: Workspace) -> list[Path]:
    rows = connection.execute("SELECT DISTINCT path FROM sources ORDER BY path").fetchall()
    return [workspace.to_absolute_path(path) for (path,) in rows]


def fetch_run_rows(connection: Connection, workspace: Workspace, *, blind: bool) -> list[RunRow]:
    """Return all runs with their counts.

    In blind mode, counts of verdicts and of other annotators' reviews are 0.
    """
    stored = _StoredCounts.fetch(connection, blind=blind)
    infos = fetch_run_infos(connection, workspace)
    run_names = build_run_names(infos)

    rows = []
    for run, info in infos.items():
        if blind:
            info.official_metrics = {}
        row = stored.build_run_row(run, info, run_names[run])
        if blind:
            _hide_counts_of_others(row)
        rows.append(row)
    return rows


@dataclass(frozen=True, slots=True)
class _StoredCounts:
    """The counts of all runs of a store."""

    categories_by_run: dict[int, list[dict[str, Any]]]
    not_run_by_run: dict[int, dict[str, int]]
    """Number of items without a result by category, for each run."""
    issues_by_run: dict[int | None, _IssueCounts]

    @classmethod
    def fetch(cls, connection: Connection, *, blind: bool) -> _StoredCounts:
        return cls(
            _fetch_category_counts(connection, blind=blind),
            not_run_by_run=_count_not_run(connection),
            issues_by_run=_count_issues_without_item(connection),
        )

    def build_run_row(self, run: int, info: Run, run_name: str) -> RunRow:
        """Return the row of a run in the list of runs: its counts in total and by category."""
        all_counts = self.categories_by_run.get(run, [])
        headers = _find_header_accuracies(all_counts, info.official_metrics)
        categories = [
            _omit_verdict_counts(category) if category["category"] in headers else category
            for category in all_counts
        ]
        not_run_by_category = self.not_run_by_run.get(run, {})

        # All fields of `RunRow` that are named like a count of `_RUN_COUNTS`.
        counts = _add_up_categories(categories)
        n_item_issues = counts.pop("n_issues")
        n_not_run = sum(not_run_by_category.values())
        return RunRow(
            run,
            info=info,
            run_name=run_name,
            not_run=n_not_run,
            expected_items=_find_expected_items(info, counts["n_items"], n_not_run),
            stated_pass=sum(header.passed for header in headers.values()),
            stated_of=sum(header.total for header in headers.values()),
            categories=[
                _build_category_counts(category, not_run_by_category) for category in categories
            ],
            **self._count_issues(run, n_item_issues),
            **counts,
        )

    def _count_issues(self, run: int, n_item_issues: int) -> dict[str, int]:
        """Return the numbers of issues of a run, and of issues that belong to no run."""
        of_run = self.issues_by_run.get(run) or _IssueCounts()
        of_search = self.issues_by_run.get(None) or _IssueCounts()
        return {
            "n_issues": n_item_issues + of_run.n_issues,
            "n_notices": of_run.n_notices,
            "n_search_issues": of_search.n_issues,
            "n_search_notices": of_search.n_notices,
        }


def _build_category_counts(
    category: Mapping[str, Any], not_run_by_category: Mapping[str, int]
) -> dict[str, Any]:
    """Return the counts of a category in the form of `RunRow.categories`."""
    counts = {name: value for name, value in category.items() if name not in _COUNTS_OF_WHOLE_RUNS}
    counts["not_run"] = not_run_by_category.get(category["category"], 0)
    return counts


def _hide_counts_of_others(row: RunRow) -> None:
    """Remove the counts that tell a blind annotator something about verdicts or other reviews."""
    row.n_issues = 0
    row.n_notices = 0
    row.n_search_issues = 0
    row.n_search_notices = 0
    row.disputed = 0
    row.by_erratum = 0
    row.reviewed = row.yours


_COUNTS_OF_WHOLE_RUNS = (
    "reviewed",
    "in_part",
    "yours",
    "n_issues",
    "disputed",
    "by_erratum",
)
"""Counts of `_RUN_COUNTS` that `RunRow.categories` does not have."""


def _fetch_category_counts(
    connection: Connection, *, blind: bool
) -> dict[int, list[dict[str, Any]]]:
    """Return the counts of `_RUN_COUNTS` for each run, one object for each category.

    In blind mode, counts of verdicts are 0.
    """
    # In blind mode, only this annotator's own reviews of the mark of an incident count.
    is_incident = is_incident_sql(OWN_MARK) if blind else HAS_INCIDENT
    items = (
        "SELECT i.*, h.human, h.n_parts, h.you, h.decided_by, h.golden_verdict,"
        f" {is_resolved_sql('h.decided_by')} AS is_resolved,"
        f" {EFFECTIVE_VERDICT} AS effective, {is_incident} AS is_incident {FROM_ITEMS}"
    )
    query = (
        f"SELECT run, category, {', '.join(_RUN_COUNTS.values())} FROM ({items})"
        " GROUP BY run, category ORDER BY run, category"
    )
    counts: dict[int, list[dict[str, Any]]] = {}
    for run, category, *numbers in connection.execute(query).fetchall():
        values = dict(zip(_RUN_COUNTS, map(int, numbers), strict=True))
        if blind:
            values |= dict.fromkeys(_VERDICT_COUNTS, 0)
        counts.setdefault(run, []).append({"category": category, **values})
    return counts


def _add_up_categories(categories: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the counts of a run, by field of `RunRow`."""
    counts = {name: sum(category[name] for category in categories) for name in _RUN_COUNTS}
    counts["n_items"] = counts.pop("n")
    return counts


@dataclass(frozen=True, slots=True)
class _IssueCounts:
    n_issues: int = 0
    n_notices: int = 0


def _count_issues_without_item(connection: Connection) -> dict[int | None, _IssueCounts]:
    """Count the import issues that belong to a run as a whole or, with the key None, to no run."""
    rows = connection.execute(
        "SELECT run, count(*), count(*) FILTER (severity = 'notice') FROM import_issues"
        " WHERE run IS NULL OR item IS NULL GROUP BY run"
    ).fetchall()
    return {run: _IssueCounts(n_issues, n_notices) for run, n_issues, n_notices in rows}


def _count_not_run(connection: Connection) -> dict[int, dict[str, int]]:
    """Count the items without a result of each run, by category."""
    counts: dict[int, dict[str, int]] = {}
    rows = connection.execute("SELECT run, category, count(*) FROM not_run GROUP BY ALL").fetchall()
    for run, category, n_items in rows:
        counts.setdefault(run, {})[category] = n_items
    return counts


def _find_expected_items(run: Run, n_items: int, n_not_run: int) -> int | None:
    """Return how many items the dataset has in the categories of a run. None if it is unknown."""
    fact = run.facts.get("expected_items")
    if fact is not None and isinstance(fact.value, int):
        return fact.value
    return n_items + n_not_run if n_not_run else None


def _find_header_accuracies(
    categories: Iterable[Mapping[str, Any]], headers: Mapping[str, Any]
) -> dict[str, HeaderAccuracy]:
    """Return category -> the accuracy that the header of its score file states, for categories
    without result files.
    """
    accuracies = {}
    for category in categories:
        name = category["category"]
        accuracy = read_header_accuracy(headers.get(name), category["n"], category["official_pass"])
        if accuracy is not None:
            accuracies[name] = accuracy
    return accuracies


def _omit_verdict_counts(category: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a category whose score file states an accuracy. Such a file lists only
    failing items, so the numbers of verdicts are 0.
    """
    return {**category, **dict.fromkeys(_VERDICT_COUNTS, 0)}


def count_missing_recomputed_by_reason(
    connection: Connection, runs: Sequence[int]
) -> list[tuple[str, int]]:
    """Count the items without a recomputed verdict for each reason, the most frequent reason
    first.
    """
    where, params, _ = build_view_condition(View(runs=tuple(runs)), blind=False)
    query = (
        f"SELECT i.rule_note, count(*) AS n FROM item_rows i WHERE {where} AND i.rule IS NULL AND"
        " i.rule_note <> ''"
    )
    return connection.execute(f"{query} GROUP BY 1 ORDER BY n DESC, 1", params).fetchall()


_DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_COMMON_FOLDERS = {"result", "score", "results", "scores"}  # names that do not distinguish runs


def find_run_date_or_folder(row: RunRow) -> str:
    """Return the date in the name of a folder above the run, such as `2024-07-24`. Without a date,
    return the name of the nearest folder that distinguishes runs.
    """
    parts = [part for part in re.split(r"[\\/]+", row.info.path) if part]
    nearest_first = parts[:-1][::-1]
    for name in nearest_first:
        date = _DATE.search(name)
        if date is not None:
            return "-".join(date.groups())

    for name in nearest_first:
        if name not in _COMMON_FOLDERS:
            return name
    return nearest_first[0] if nearest_first else ""


def _make_descending_rate_key(passed: int, known: int) -> tuple[bool, float]:
    return not known, -passed / known if known else 0.0


SortKey = Callable[[RunRow], Any]
SORT_KEYS: dict[str, SortKey] = {
    "run": lambda row: row.run,
    "model": lambda row: (row.info.model.lower(), row.run),
    "generation": lambda row: (row.info.benchmark, row.info.generation, row.info.language, row.run),
    "date": lambda row: (find_run_date_or_folder(row), row.run),
    "items": lambda row: -row.n_items,
    "official": lambda row: _make_descending_rate_key(row.official_pass, row.official_known),
    "rule": lambda row: _make_descending_rate_key(row.rule_pass, row.rule_known),
    "corrected": lambda row: _make_descending_rate_key(row.effective_pass, row.effective_known),
    "reviewed": lambda row: -row.reviewed,
    "yours": lambda row: -row.yours,
    "issues": lambda row: -row.n_issues,
}
# Sort orders by a pass rate. Some runs have no pass rate.
RATE_ORDERS = (
    "official",
    "rule",
    "corrected",
)
VERDICT_ORDERS = (*RATE_ORDERS, "reviewed", "issues")  # sort orders that blind mode does not allow
GROUP_LABELS: dict[str, Callable[[RunRow], str]] = {
    "model": lambda row: row.info.model,
    "generation": lambda row: row.info.full_title,
    "date": find_run_date_or_folder,
}


@dataclass(frozen=True, slots=True)
class RunGroup:
    """A group of runs under one heading of a list."""

    name: str  # heading; empty if the runs are not grouped
    runs: list[RunRow] = field(default_factory=list)


def _build_search_text(row: RunRow) -> str:
    """Return the text in which a search for runs looks."""
    info = row.info
    texts = (
        info.benchmark,
        info.generation,
        info.language,
        info.title,
        info.model,
        row.run_name,
        info.path,
    )
    return " ".join(texts).lower()


def search_runs(runs: Iterable[RunRow], text: str) -> list[RunRow]:
    """Return the runs whose benchmark, version, language, title, model, name and path contain
    all words of the text.
    """
    words = text.lower().split()
    return [row for row in runs if all(word in _build_search_text(row) for word in words)]


def sort_runs(runs: Iterable[RunRow], order: str, *, reverse: bool = False) -> list[RunRow]:
    """Sort runs by one of `SORT_KEYS`.

    Equal runs keep their order. In an order by a pass rate, runs with few or missing items come
    after all others, and runs without a pass rate last.
    """
    get_key = SORT_KEYS[order]
    in_order = sorted(runs, key=get_key)
    if reverse:
        in_order.reverse()
    if order not in RATE_ORDERS:
        return in_order

    rated = []
    unrated = []
    for row in move_small_runs_to_end(in_order):
        # The sort key of a rate begins with whether the run has none.
        has_no_rate, *_ = get_key(row)
        if has_no_rate:
            unrated.append(row)
        else:
            rated.append(row)
    return rated + unrated


def group_runs(runs: Sequence[RunRow], by: str) -> list[RunGroup]:
    """Group runs by one of `GROUP_LABELS`, in the order of the first runs.

    If `by` is empty, return one group.
    """
    if not by:
        return [RunGroup("", list(runs))]
    groups: dict[str, RunGroup] = {}
    for row in runs:
        name = GROUP_LABELS[by](row)
        groups.setdefault(name, RunGroup(name)).runs.append(row)
    return list(groups.values())


def make_run_figures(row: RunRow) -> RunFigures:
    """Return the figures of a run for tables, without an estimate and the benchmark's own metric."""
    return RunFigures(
        row.run_name,
        kind=row.info.full_title,
        items=row.n_items,
        official=(row.official_pass, row.official_known),
        rule=(row.rule_pass, row.rule_known),
        corrected=(row.effective_pass, row.effective_known),
        stated=(row.stated_pass, row.stated_of),
        judge=(row.judge_pass, row.judge_known),
        disputed=row.disputed,
        categories=_compute_category_pass_rates(row),
        expected_items=row.expected_items if row.not_run else None,
        is_unfinished=row.is_unfinished,
        incidents=row.incidents,
        without_incidents=row.without_incidents_text,
        lacks_dataset=row.info.lacks_dataset,
        reviewed=row.reviewed + row.in_part,
        partly_reviewed=row.in_part,
        n_issues=row.n_issues,
        number=row.run,
    )


def _compute_category_pass_rates(row: RunRow) -> dict[str, tuple[int, float | None]]:
    """Return the number of items and the pass rate (0 to 1) of each category. The rate is None if
    an item of the category has no verdict.
    """
    rates = {}
    for category in row.categories:
        n_items = category["n"]
        rates[category["category"]] = (n_items, _compute_category_pass_rate(category))
    return rates


def _compute_category_pass_rate(category: dict[str, Any]) -> float | None:
    for source in ("official", "rule"):
        if category[f"{source}_known"] == category["n"] and category["n"]:
            return float(category[f"{source}_pass"] / category["n"])
    return None


def move_small_runs_to_end(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return the runs with fewer than 30 items, and those that lack many items of their dataset,
    after all others.
    """
    return sorted(rows, key=lambda row: make_run_figures(row).has_few_items)
