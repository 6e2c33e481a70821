"""Print the groups of failures that `fcreview triage` lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from fcreview.cli.output import (
    emit,
    emit_lines,
    format_figure,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.matching.clusters import (
    BY_ERROR_TYPE,
    GROUPING_PLURALS,
    GROUPINGS,
    Cluster,
    ClusterGroup,
    group_clusters,
)
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_rate_with_count
from fcreview.tables.clusters import build_failure_table

if TYPE_CHECKING:
    from fcreview.store.rows import View


MAX_GROUPS = 10


@dataclass(frozen=True, slots=True)
class TriageTable:
    """Clusters to print as a table of groups."""

    clusters: Sequence[Cluster]
    n_failing: int  # number of failing items, including items without a cluster
    grouping: int = BY_ERROR_TYPE
    limit: int = MAX_GROUPS


def print_triage(session: WorkspaceSession, view: View, table: TriageTable) -> None:
    emit(_format_summary(session, view, table.n_failing))
    print_triage_table(table)


def print_triage_table(table: TriageTable) -> None:
    emit_lines(_format_triage_table(table))


def _format_triage_table(table: TriageTable) -> Iterator[str]:
    """Format the largest groups of failing items as a table.

    The last lines say how many items the table omits.
    """
    groups = group_clusters(table.clusters, table.grouping)
    if not groups:
        return

    figure = build_failure_table(groups[: table.limit], table.grouping, table.n_failing)
    yield ""
    yield from format_figure(figure)

    if len(groups) > table.limit:
        omitted = _format_omitted_groups(groups[table.limit :], table.grouping)
        yield f"… {omitted}. Use --limit {len(groups)} to list all"
    # The clusters by value contain only the most frequent values.
    n_in_groups = sum(group.count for group in groups)
    n_rarer = table.n_failing - n_in_groups
    if n_rarer:
        yield f"… {format_count(n_rarer, 'item')} with less frequent values"


def _format_omitted_groups(groups: Sequence[ClusterGroup], grouping: int) -> str:
    """Format `12 more error types with 30 items`."""
    noun = f"more {GROUPINGS[grouping]}"
    plural = f"more {GROUPING_PLURALS[grouping]}"
    n_items = sum(group.count for group in groups)
    return f"{format_count(len(groups), noun, plural)} with {format_count(n_items, 'item')}"


@dataclass(frozen=True, slots=True)
class _VerdictCounts:
    """Numbers of items by official and recomputed verdict; None if there is no verdict."""

    counts: Mapping[tuple[bool | None, bool | None], int]

    @property
    def n_items(self) -> int:
        return sum(self.counts.values())

    def count_official(self, verdict: bool) -> int:
        return sum(n for (official, _), n in self.counts.items() if official is verdict)

    @property
    def n_without_any(self) -> int:
        return self.counts.get((None, None), 0)

    @property
    def n_different(self) -> int:
        """Number of items whose official and recomputed verdicts contradict each other."""
        return self.counts.get((True, False), 0) + self.counts.get((False, True), 0)

    @property
    def has_recomputed(self) -> bool:
        return any(recomputed is not None for _, recomputed in self.counts)


def _format_summary(session: WorkspaceSession, view: View, n_failing: int) -> str:
    """Format a line above the table: `640 items · official 61.2 % (392) · 248 failing`.

    Without verdicts, the line says why there are none.
    """
    verdicts = _VerdictCounts(session.store.count_by_official_and_recomputed(view))
    items = format_count(verdicts.n_items, "item")
    n_runs = len(view.runs) or session.n_runs
    if n_runs > 1:
        items += f" in {format_count(n_runs, 'run')}"

    count_items = partial(_count_matching_items, session, view)
    rates = _format_rates(verdicts, count_items)
    has_verdicts = bool(rates or verdicts.has_recomputed or n_failing)
    if not has_verdicts:
        reason = _explain_missing_verdicts(session, view)
        if reason:
            return f"{items} · {reason}"

    parts = [items]
    parts += rates or ["no official verdicts"]
    parts.append(f"{n_failing:,} failing")
    parts += _format_incidents(count_items)
    parts += _format_verdict_differences(verdicts)
    return " · ".join(parts)


def _count_matching_items(session: WorkspaceSession, view: View, filter_term: str) -> int:
    """Count the items of a view that also match a filter term, such as `incident:any`."""
    where = f"({view.where}) {filter_term}" if view.where.strip() else filter_term
    return session.store.count_items(replace(view, where=where, queue="dataset"))


def _format_incidents(count_items: Callable[[str], int]) -> list[str]:
    """Format `3 incidents, of which 1 pass`. Empty without incidents."""
    n_incidents = count_items("incident:any")
    if not n_incidents:
        return []
    n_passing = count_items("incident:any effective:pass")
    return [f"{format_count(n_incidents, 'incident')}, of which {n_passing:,} pass"]


def _format_verdict_differences(verdicts: _VerdictCounts) -> list[str]:
    """Say whether official and recomputed verdicts agree. Empty without recomputed verdicts."""
    if verdicts.n_different:
        return [f"official and recomputed verdicts differ on {verdicts.n_different:,}"]
    if verdicts.has_recomputed:
        return ["official and recomputed verdicts agree"]
    return []


def _format_rates(verdicts: _VerdictCounts, count_items: Callable[[str], int]) -> list[str]:
    """Format the official pass rate and, for the items that only a judge judged, the judge's pass
    rate.

    `count_items` counts the items that match a filter.
    """
    rates = []
    n_official_passes = verdicts.count_official(True)
    n_official = n_official_passes + verdicts.count_official(False)
    if n_official:
        rate = format_rate_with_count(n_official_passes, n_official, verdicts.n_items)
        rates.append(f"official {rate}")

    if verdicts.n_without_any:
        only_judge = "official:unknown rule:unknown"
        n_judge_passes = count_items(f"{only_judge} judge:pass")
        # Several judges of an item may differ. Then the item counts as a pass.
        n_judge_fails = count_items(f"{only_judge} judge:fail -judge:pass")
        n_judged = n_judge_passes + n_judge_fails
        if n_judged:
            rate = format_rate_with_count(n_judge_passes, n_judged, verdicts.n_items)
            rates.append(f"judge {rate}")
    return rates


def _explain_missing_verdicts(session: WorkspaceSession, view: View) -> str:
    """Return why the runs of a view have no verdicts, such as `no verdicts: choose one of ...`,
    or an empty text.
    """
    reasons = {
        row.info.missing_verdict_reason
        for row in session.runs
        if not view.runs or row.run in view.runs
    }
    return sanitize(reasons.pop()) if len(reasons) == 1 else ""
