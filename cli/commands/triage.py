"""`fcreview triage`: group failures by cause.

The app shows the same groups in its list of clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    format_figure,
    print_message,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import open_workspace
from fcreview.matching.clusters import (
    BY_ARGUMENT,
    BY_CATEGORY,
    BY_DECISIVE_STEP,
    BY_ERROR_TYPE,
    BY_FUNCTION,
    BY_VALUE,
    GROUPING_PLURALS,
    GROUPINGS,
    Cluster,
    ClusterGroup,
    group_clusters,
    has_decisive_steps,
)
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_rate_with_count
from fcreview.tables.clusters import build_failure_table

if TYPE_CHECKING:
    from fcreview.store.rows import View

MAX_GROUPS = 10
GROUPINGS_BY_NAME = {
    "error": BY_ERROR_TYPE,
    "function": BY_FUNCTION,
    "argument": BY_ARGUMENT,
    "category": BY_CATEGORY,
    "value": BY_VALUE,
    "decisive": BY_DECISIVE_STEP,
}


@workspace_command("annotator")
def triage(
    options: WorkspaceOptions,
    where: WhereOption = "",
    run: RunOption = None,
    by: Annotated[str, option("--by NAME", f"Group by {', '.join(GROUPINGS_BY_NAME)}.")] = "error",
    limit: Annotated[
        int | None,
        option("--limit N", "List at most N groups. Default: 10, or all with --json.", min=1),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Group failures by cause.

    Groups failing items by error type, then by the function and argument of the first difference.
    --by changes the grouping. Each group shows the meaning of its error type and an example. A
    second table groups failed conversations by the step that probably decided the failure. With
    --json, each group has a filter that selects its items.

    Example: fcreview triage runs/gpt4o --where category:live_simple --by value
    """
    grouping = GROUPINGS_BY_NAME[check_choice(GROUPINGS_BY_NAME, by, "grouping")]
    with open_workspace(options) as session:
        view = session.build_view(where, run=run)
        # Printed failures by error type have a second table, by the decisive step.
        groupings = [grouping]
        if grouping == BY_ERROR_TYPE and not as_json:
            groupings.append(BY_DECISIVE_STEP)
        clusters, *second_clusters = session.store.fetch_clusters_by_groupings(view, groupings)
        n_failing = _count_failing_items(session, view, clusters, grouping)
        if not clusters and not session.store.count_items(view):
            print_message(f"fcreview: {session.explain_empty_view(view)}")

        if as_json:
            for cluster in clusters[:limit]:
                emit_json(_build_cluster_json(cluster, n_failing, grouping))
            return

        table = TriageTable(
            clusters, n_failing=n_failing, grouping=grouping, limit=limit or MAX_GROUPS
        )
        print_triage(session, view, table)
        if second_clusters and has_decisive_steps(clusters):
            second_table = replace(table, clusters=second_clusters[0], grouping=BY_DECISIVE_STEP)
            _print_triage_table(second_table)


def _count_failing_items(
    session: WorkspaceSession, view: View, clusters: Sequence[Cluster], grouping: int
) -> int:
    """Return the number of failing items, of which each cluster is a part."""
    from fcreview.store.filters.tokens import FAILING_FILTER, add_terms

    # Rare values belong to no cluster, but their items fail too.
    if grouping == BY_VALUE and clusters:
        failing_view = replace(view, where=add_terms(view.where, FAILING_FILTER))
        return session.store.count_items(failing_view)
    return sum(cluster.count for cluster in clusters)


def _build_cluster_json(cluster: Cluster, n_failing: int, grouping: int) -> dict[str, object]:
    """Build the JSON object of a cluster, which is a group of failing items with the same cause.

    The first fields depend on the grouping. `share` is the share of all failing items, from 0 to 1.
    `where` is a filter that selects the items.
    """
    fields: dict[str, object] = {}
    if cluster.incident is not None:
        fields["incident"] = cluster.incident
    fields |= _build_group_fields(cluster, grouping)
    fields["count"] = cluster.count
    fields["share"] = cluster.count / n_failing
    fields["examples"] = cluster.examples
    fields["difference"] = cluster.difference or None
    fields["where"] = cluster.where
    return fields


def _build_group_fields(cluster: Cluster, grouping: int) -> dict[str, object]:
    """Return the JSON fields that say what the failing items of a cluster have in common.

    Golden and predicted values are JSON texts. If the golden answer accepts several values, the
    text is, for example, `"km" or 2 more`.
    """
    if grouping == BY_VALUE:
        return {
            "golden_value": cluster.golden,
            "predicted_value": cluster.predicted,
            "function": cluster.function,
            "argument": cluster.argument,
        }

    error_fields = {"error_type": cluster.error_type or None, "function": cluster.function}
    if grouping == BY_CATEGORY:
        return {"category": cluster.category, **error_fields}
    if grouping == BY_DECISIVE_STEP:
        return {"decisive_step": cluster.decisive_step, **error_fields}
    return {**error_fields, "argument": cluster.argument}


@dataclass(frozen=True, slots=True)
class TriageTable:
    """Clusters to print as a table of groups."""

    clusters: Sequence[Cluster]
    n_failing: int  # number of failing items, including items without a cluster
    grouping: int = BY_ERROR_TYPE
    limit: int = MAX_GROUPS


def print_triage(session: WorkspaceSession, view: View, table: TriageTable) -> None:
    emit(_format_summary(session, view, table.n_failing))
    _print_triage_table(table)


def _print_triage_table(table: TriageTable) -> None:
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

    def count_items(filter_term: str) -> int:
        where = f"({view.where}) {filter_term}" if view.where.strip() else filter_term
        return session.store.count_items(replace(view, where=where, queue="dataset"))

    verdicts = _VerdictCounts(session.store.count_by_official_and_recomputed(view))
    items = format_count(verdicts.n_items, "item")
    n_runs = len(view.runs) or session.n_runs
    if n_runs > 1:
        items += f" in {format_count(n_runs, 'run')}"

    rates = _format_rates(verdicts, count_items)
    has_no_verdicts = not rates and not verdicts.has_recomputed and not n_failing
    if has_no_verdicts:
        reason = _explain_missing_verdicts(session, view)
        if reason:
            return f"{items} · {reason}"

    parts = [items]
    parts += rates or ["no official verdicts"]
    parts.append(f"{n_failing:,} failing")
    parts += _format_incidents(count_items)
    parts += _format_verdict_differences(verdicts)
    return " · ".join(parts)


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
