"""`fcreview triage`: group failures by cause.

The app shows the same groups in its list of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    emit_json,
    print_message,
)
from fcreview.cli.triage_output import MAX_GROUPS, TriageTable, print_triage, print_triage_table
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import open_workspace
from fcreview.matching.clusters import (
    BY_ARGUMENT,
    BY_CATEGORY,
    BY_DECISIVE_STEP,
    BY_ERROR_TYPE,
    BY_FUNCTION,
    BY_VALUE,
    Cluster,
    has_decisive_steps,
)

if TYPE_CHECKING:
    from fcreview.store.rows import View

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
        if as_json:
            _emit_clusters(session, view, grouping, limit)
        else:
            _print_tables(session, view, grouping, limit=limit or MAX_GROUPS)


def _emit_clusters(session: WorkspaceSession, view: View, grouping: int, limit: int | None) -> None:
    """Print each cluster of failing items as a JSON object."""
    (clusters,) = session.store.fetch_clusters_by_groupings(view, [grouping])
    n_failing = _count_failing_items(session, view, clusters, grouping)
    _explain_if_view_is_empty(session, view, clusters)
    for cluster in clusters[:limit]:
        emit_json(_build_cluster_json(cluster, n_failing, grouping))


def _print_tables(session: WorkspaceSession, view: View, grouping: int, limit: int) -> None:
    """Print a table of the clusters. Failures by error type have a second one, by the decisive
    step.
    """
    groupings = [grouping]
    if grouping == BY_ERROR_TYPE:
        groupings.append(BY_DECISIVE_STEP)
    # One query for both is faster than two.
    clusters_by_grouping = session.store.fetch_clusters_by_groupings(view, groupings)
    clusters = clusters_by_grouping[0]
    n_failing = _count_failing_items(session, view, clusters, grouping)
    _explain_if_view_is_empty(session, view, clusters)

    table = TriageTable(clusters, n_failing=n_failing, grouping=grouping, limit=limit)
    print_triage(session, view, table)
    if grouping == BY_ERROR_TYPE and has_decisive_steps(clusters):
        clusters_by_step = clusters_by_grouping[1]
        print_triage_table(replace(table, clusters=clusters_by_step, grouping=BY_DECISIVE_STEP))


def _explain_if_view_is_empty(
    session: WorkspaceSession, view: View, clusters: Sequence[Cluster]
) -> None:
    if not clusters and not session.store.count_items(view):
        print_message(f"fcreview: {session.explain_empty_view(view)}")


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
