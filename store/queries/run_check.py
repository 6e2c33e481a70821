"""Count what the check of a run needs, for many runs with a few queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fcreview.model.run_check import CheckedRun, DifferenceGroup, RunCounts
from fcreview.store.filters.parser import HAS_CONTRADICTION
from fcreview.store.review_sql import (
    HAS_INCIDENT,
    incident_certainty_sql,
    incident_kind_sql,
)
from fcreview.store.rows import RunRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_FROM_RUNS = (
    "FROM item_rows i LEFT JOIN human h USING (item) WHERE i.run IN (SELECT unnest(?::INTEGER[]))"
)


def _has_flag_sql(flag: str) -> str:
    return f"coalesce(list_contains(i.flags, '{flag}'), false)"


_COUNTS = {
    "n_compared": "count(*) FILTER (i.official IS NOT NULL AND i.rule IS NOT NULL)",
    "n_predicted": "count(*) FILTER (i.n_predicted > 0)",
    "n_limits": f"count(*) FILTER (({incident_kind_sql()}) = 'limit')",
    "n_weak": f"count(*) FILTER (({incident_certainty_sql()}) = 'weak')",
    "n_undecoded": f"count(*) FILTER ({_has_flag_sql('undecoded')})",
    "n_undecoded_with_equal_verdicts": (
        f"count(*) FILTER ({_has_flag_sql('undecoded')} AND i.official = i.rule)"
    ),
    "n_other_reply": f"count(*) FILTER ({_has_flag_sql('other_reply')})",
    "n_scored_twice": f"count(*) FILTER ({_has_flag_sql('scored_twice')})",
    "n_reviewed": "count(*) FILTER (h.item IS NOT NULL)",
    "n_contradictory": f"count(*) FILTER ({HAS_CONTRADICTION})",
    "n_judge_failed": f"count(*) FILTER ({_has_flag_sql('judge_failed')})",
}
"""SQL for the counts that `RunRow` does not have, by field of `RunCounts`."""
_REASON_WITHOUT_RULE = "mode(i.rule_note) FILTER (i.rule IS NULL AND i.rule_note <> '')"
_ERROR_TYPE = "coalesce(CASE WHEN i.official THEN i.rule_error_type ELSE i.error_type END, '')"
"""Error type of the verdict that fails, for items whose official and recomputed verdicts differ."""


@dataclass(slots=True)
class _CountsOfRun:
    numbers: dict[str, int] = field(default_factory=dict)
    reason_without_rule: str = ""
    n_import_errors: int = 0
    first_import_error: str = ""
    incidents_by_kind: dict[str, int] = field(default_factory=dict)
    differences: list[DifferenceGroup] = field(default_factory=list)


def fetch_checked_runs(connection: Connection, rows: Sequence[RunRow]) -> list[CheckedRun]:
    """Return what the check of each run needs.

    The rows must not be those of blind mode, which hide verdicts.
    """
    numbers = [row.run for row in rows]
    counts = {number: _CountsOfRun() for number in numbers}
    _add_numbers(connection, numbers, counts)
    _add_incidents(connection, numbers, counts)
    _add_differences(connection, numbers, counts)
    _add_import_errors(connection, numbers, counts)
    return [_make_checked_run(row, counts[row.run]) for row in rows]


def _add_numbers(connection: Connection, runs: list[int], counts: dict[int, _CountsOfRun]) -> None:
    """Add the numbers of items by state to `counts`."""
    columns = ", ".join([*_COUNTS.values(), _REASON_WITHOUT_RULE])
    found = connection.execute(
        f"SELECT i.run, {columns} {_FROM_RUNS} GROUP BY i.run", [runs]
    ).fetchall()
    for run, *numbers, reason in found:
        counts[run].numbers = dict(zip(_COUNTS, numbers, strict=True))
        counts[run].reason_without_rule = reason or ""


def _add_incidents(
    connection: Connection, runs: list[int], counts: dict[int, _CountsOfRun]
) -> None:
    """Add the numbers of incidents by kind to `counts`."""
    query = (
        f"SELECT i.run, {incident_kind_sql()} AS kind, count(*) AS n {_FROM_RUNS} AND"
        f" {HAS_INCIDENT}"
    )
    found = connection.execute(f"{query} GROUP BY ALL ORDER BY n DESC, kind", [runs]).fetchall()
    for run, kind, count in found:
        counts[run].incidents_by_kind[kind] = count


def _add_differences(
    connection: Connection, runs: list[int], counts: dict[int, _CountsOfRun]
) -> None:
    """Add how often official and recomputed verdicts differ, by verdicts and error type."""
    query = f"SELECT i.run, i.official, i.rule, {_ERROR_TYPE} AS error, count(*) AS n {_FROM_RUNS}"
    query += " AND i.official <> i.rule GROUP BY ALL ORDER BY n DESC, error"
    for run, official, rule, error_type, count in connection.execute(query, [runs]).fetchall():
        group = DifferenceGroup(official=official, rule=rule, error_type=error_type, count=count)
        counts[run].differences.append(group)


def _add_import_errors(
    connection: Connection, runs: list[int], counts: dict[int, _CountsOfRun]
) -> None:
    """Add the number of import errors to the counts of each run, and the first message."""
    query = "SELECT run, count(*), first(what ORDER BY line NULLS FIRST, what) FROM import_issues"
    query += " WHERE severity = 'error' AND run IN (SELECT unnest(?::INTEGER[])) GROUP BY run"
    for run, count, first in connection.execute(query, [runs]).fetchall():
        counts[run].n_import_errors = count
        counts[run].first_import_error = first


def _make_checked_run(row: RunRow, counts: _CountsOfRun) -> CheckedRun:
    """Combine the row of a run and its counts to what the check of the run needs."""
    info = row.info
    # In categories without result files, the score files only state for how many items they have a
    # verdict.
    n_official = row.official_known + row.stated_of
    return CheckedRun(
        run=row.run,
        run_name=row.run_name,
        title=info.full_title,
        counts=RunCounts(
            n_items=row.n_items,
            n_not_run=row.not_run,
            n_expected=row.expected_items,
            n_incidents=row.incidents,
            incidents_by_kind=counts.incidents_by_kind,
            n_official=n_official,
            n_rule=row.rule_known,
            n_judged=row.judge_known,
            differences=counts.differences,
            n_import_errors=counts.n_import_errors,
            first_import_error=counts.first_import_error,
            reason_without_rule=counts.reason_without_rule,
            **counts.numbers,  # the other fields, which are the keys of `_COUNTS`
        ),
        facts=info.facts,
        dataset=info.dataset,
        needs_dataset=info.needs_dataset,
    )
