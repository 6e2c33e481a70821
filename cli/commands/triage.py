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
    clip_to_terminal,
    emit,
    emit_json,
    format_row,
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
    GROUPING_HEADINGS,
    GROUPING_PLURALS,
    GROUPINGS,
    SUBDIVISIONS,
    UNNAMED_GROUPS,
    Cluster,
    ClusterGroup,
    describe_cluster,
    draw_bar,
    explain_group,
    group_by_shared_name,
    group_clusters,
    has_decisive_steps,
    select_clusters_with_subdivision,
)
from fcreview.model.sanitize import clip, display_width, sanitize
from fcreview.model.wording import COLUMN_GAP, format_count, format_rate_with_count

if TYPE_CHECKING:
    from fcreview.store.rows import View

MAX_GROUPS = 10
MAX_SUBGROUPS = 3  # maximum number of subgroups that are listed below a group
# share of a group's items, from 0 to 1, that all subgroups but the largest need to be listed
MIN_SHARE = 0.1
MIN_HEAD_WIDTH = 5  # minimum width of the part of an error type before its last colon
MIN_COUNT_WIDTH, SHARE_WIDTH, BAR_WIDTH, NAME_WIDTH, EXAMPLES_WIDTH = 6, 5, 5, 29, 27
"""Widths of the columns in terminal columns. With gaps, a line is 80 columns wide, or wider if the
largest count has more than six characters.
"""
GROUPINGS_BY_NAME = {
    "error": BY_ERROR_TYPE,
    "function": BY_FUNCTION,
    "argument": BY_ARGUMENT,
    "category": BY_CATEGORY,
    "value": BY_VALUE,
    "decisive": BY_DECISIVE_STEP,
}


@dataclass(frozen=True, slots=True)
class Subgroup:
    """Items of a group that fail at the same place, such as one argument of a function."""

    name: str
    count: int  # number of items
    examples: list[str]  # item ids


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
    for line in _format_triage_table(table):
        emit(clip_to_terminal(line))


def _format_triage_table(table: TriageTable) -> Iterator[str]:
    """Format the largest groups of failing items as a table.

    The last lines say how many items the table omits.
    """
    groups = group_clusters(table.clusters, table.grouping)
    if not groups:
        return

    yield ""
    headings = ["count", "share", "", GROUPING_HEADINGS[table.grouping], "examples"]
    widths = _compute_column_widths(table.n_failing)
    yield format_row(headings, widths, right_aligned=(0, 1))
    for group in groups[: table.limit]:
        yield from format_group_lines(group, table.n_failing, table.grouping)

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


def format_group_lines(
    group: ClusterGroup, n_failing: int, grouping: int = BY_ERROR_TYPE
) -> list[str]:
    """Format a group of failing items: its row, the meaning of its error type, an example and its
    parts.
    """
    widths = _compute_column_widths(n_failing)
    name = sanitize(group.name) if group.name else UNNAMED_GROUPS[grouping]
    share = f"{100 * group.count / n_failing:.0f} %"
    bar = draw_bar(group.count, n_failing, BAR_WIDTH)
    group_cells = (f"{group.count:,}", share, bar, name)
    lines = [_format_group_row(group_cells, _select_example_ids(group), widths)]

    # Texts below the row stand under the name, the fourth column.
    indent = " " * sum(width + COLUMN_GAP for width in widths[:3])
    explanation = _explain_group_in_row(group, grouping, name)
    if explanation:
        lines.append(indent + explanation)
    if group.example_cluster is not None:
        lines.append(indent + _format_example(group.example_cluster))

    for subgroup in _find_subgroups(group, grouping):
        subgroup_cells = (f"{subgroup.count:,}", "", "", f"  {subgroup.name}")
        lines.append(_format_group_row(subgroup_cells, subgroup.examples, widths))
    return lines


def _format_example(cluster: Cluster) -> str:
    """Format the first item of a cluster with its difference: `simple_3: days: 3, golden 2`."""
    return f"{sanitize(cluster.examples[0])}: {sanitize(cluster.description)}"


def _explain_group_in_row(group: ClusterGroup, grouping: int, name: str) -> str:
    """Return the meaning of the group's error type, without the name that the row shows."""
    # The row already shows the value.
    if grouping == BY_VALUE and not group.is_incident:
        return ""
    # The explanation of an error type begins with its name, which the row shows too.
    explanation = explain_group(group, grouping)
    if grouping in (BY_ERROR_TYPE, BY_DECISIVE_STEP) or group.is_incident:
        return explanation.removeprefix(f"{name}: ")
    return explanation


def _select_example_ids(group: ClusterGroup) -> list[str]:
    """Return item ids of the largest clusters: first one of each, then others."""
    clusters = group.clusters[:MAX_SUBGROUPS]
    examples = [cluster.examples[0] for cluster in clusters if cluster.examples]
    for cluster in clusters:
        examples += cluster.examples[1:]
    return examples[:MAX_SUBGROUPS]


def _find_subgroups(group: ClusterGroup, grouping: int = BY_ERROR_TYPE) -> list[Subgroup]:
    """Find the largest subgroups of items that fail at the same place, such as the argument of a
    function.

    A subgroup has at least two items. Single items with the same argument in different functions
    form a subgroup too.
    """
    subgroups: list[Subgroup] = []
    single_items: list[Cluster] = []
    for cluster in select_clusters_with_subdivision(group.clusters, grouping):
        if cluster.count > 1:
            subgroups.append(_make_subgroup_of_cluster(cluster, grouping))
        else:
            single_items.append(cluster)
    subgroups += _make_subgroups_of_single_items(single_items, grouping)
    subgroups.sort(key=lambda subgroup: subgroup.count, reverse=True)

    # The largest subgroup is always listed, the next ones only if they are a large part.
    listed_subgroups = subgroups[:1]
    for subgroup in subgroups[1:MAX_SUBGROUPS]:
        if subgroup.count >= MIN_SHARE * group.count:
            listed_subgroups.append(subgroup)
    return listed_subgroups


def _make_subgroup_of_cluster(cluster: Cluster, grouping: int) -> Subgroup:
    # The row of the group already shows the first example of each cluster, so it comes last here.
    examples = [*cluster.examples[1:], *cluster.examples[:1]]
    return Subgroup(describe_cluster(cluster, grouping), count=cluster.count, examples=examples)


def _make_subgroups_of_single_items(clusters: list[Cluster], grouping: int) -> Iterator[Subgroup]:
    """Yield subgroups of clusters that have only one item each, but share a property.

    Each of these failures is unique, but they can be about the same argument, for example.
    """
    outer, inner = SUBDIVISIONS[grouping]
    for name, sharing_clusters in group_by_shared_name(clusters, inner).items():
        title = f"{format_count(len(sharing_clusters), GROUPINGS[outer])} · {sanitize(name)}"
        # The row of the group already shows the example of the first cluster.
        examples: list[str] = []
        for cluster in sharing_clusters[1:]:
            examples += cluster.examples
        yield Subgroup(title, count=len(sharing_clusters), examples=examples)


def _compute_column_widths(n_failing: int) -> tuple[int, ...]:
    return (
        max(MIN_COUNT_WIDTH, len(f"{n_failing:,}")),
        SHARE_WIDTH,
        BAR_WIDTH,
        NAME_WIDTH,
        EXAMPLES_WIDTH,
    )


def _format_group_row(
    cells: tuple[str, str, str, str], examples: Sequence[str], widths: Sequence[int]
) -> str:
    """Format the row of a group or subgroup.

    `cells` are the count, the share, the bar and the name.
    """
    *first_cells, name = cells
    *first_widths, name_width, ids_width = widths
    ids = _join_fitting_ids(examples, ids_width)
    texts = [*first_cells, _shorten_error_type(name, name_width), ids]
    # The first id is never cut, so that it can be copied.
    row_widths = [*first_widths, name_width, max(ids_width, display_width(ids))]
    return format_row(texts, row_widths, right_aligned=(0, 1))


def _shorten_error_type(error_type: str, width: int) -> str:
    """Shorten an error type, but keep the part after its last colon, which distinguishes it from
    other types.
    """
    if display_width(error_type) <= width:
        return error_type
    head, colon, tail = error_type.rpartition(":")
    head_width = width - display_width(colon + tail)
    if not colon or head_width < MIN_HEAD_WIDTH:
        return clip(error_type, width)
    return clip(head, head_width) + colon + tail


def _join_fitting_ids(examples: Sequence[str], width: int) -> str:
    """Join the first ids that fit into a column, at least one."""
    if not examples:
        return ""
    ids = sanitize(examples[0])
    for example in examples[1:]:
        longer_ids = f"{ids} {sanitize(example)}"
        if display_width(longer_ids) > width:
            break
        ids = longer_ids
    return ids
