"""`fcreview triage`: group failures by cause.

The app shows the same groups in its list of clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from fcreview.model.wording import format_count, format_rate_with_count

if TYPE_CHECKING:
    from fcreview.store.rows import View

MAX_GROUPS = 10
MAX_SUBGROUPS = 3  # maximum number of subgroups that are listed below a group
# share of a group's items, from 0 to 1, that all subgroups but the largest need to be listed
MIN_SHARE = 0.1
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
        from fcreview.store.filters.tokens import FAILING_FILTER, add_terms

        view = session.build_view(where, run=run)
        groupings = (
            [BY_ERROR_TYPE, BY_DECISIVE_STEP]
            if grouping == BY_ERROR_TYPE and not as_json
            else [grouping]
        )
        clusters, *steps = session.store.fetch_clusters_by_groupings(view, groupings)
        failing = sum(cluster.count for cluster in clusters)
        if grouping == BY_VALUE and clusters:
            failing = session.store.count_items(
                replace(view, where=add_terms(view.where, FAILING_FILTER))
            )
        if not clusters and not session.store.count_items(view):
            print_message(f"fcreview: {session.explain_empty_view(view)}")
        if as_json:
            emit_json(
                *(_build_cluster_json(cluster, failing, grouping) for cluster in clusters[:limit])
            )
        else:
            print_triage(
                session,
                view,
                TriageTable(
                    clusters, n_failing=failing, grouping=grouping, limit=limit or MAX_GROUPS
                ),
            )
            if steps and has_decisive_steps(clusters):
                table = TriageTable(
                    steps[0],
                    n_failing=failing,
                    grouping=BY_DECISIVE_STEP,
                    limit=limit or MAX_GROUPS,
                )
                for line in _format_triage_table(table):
                    emit(clip_to_terminal(line))


def _build_cluster_json(cluster: Cluster, n_failing: int, grouping: int) -> dict[str, object]:
    """Build the JSON object of a cluster. The first fields depend on the grouping. `share` is the
    share of all failing items, from 0 to 1. `where` is a filter that selects the items. Golden and
    predicted values are JSON texts. If the golden answer accepts several values, the text is, for
    example, `"km" or 2 more`.
    """
    names: dict[str, object] = {
        "error_type": cluster.error_type or None,
        "function": cluster.function,
    }
    if grouping == BY_CATEGORY:
        names = {"category": cluster.category} | names
    elif grouping == BY_DECISIVE_STEP:
        names = {"decisive_step": cluster.decisive_step} | names
    elif grouping == BY_VALUE:
        names = {
            "golden_value": cluster.golden,
            "predicted_value": cluster.predicted,
            "function": cluster.function,
        }
    if grouping not in (BY_CATEGORY, BY_DECISIVE_STEP):
        names["argument"] = cluster.argument
    if cluster.incident is not None:
        names = {"incident": cluster.incident} | names
    values = {
        "count": cluster.count,
        "share": cluster.count / n_failing,
        "examples": cluster.examples,
    }
    return names | values | {"difference": cluster.difference or None, "where": cluster.where}


@dataclass(frozen=True, slots=True)
class TriageTable:
    """Clusters to print as a table of groups."""

    clusters: Sequence[Cluster]
    n_failing: int  # number of failing items, including items without a cluster
    grouping: int = BY_ERROR_TYPE
    limit: int = MAX_GROUPS


def print_triage(session: WorkspaceSession, view: View, table: TriageTable) -> None:
    emit(_format_summary(session, view, table.n_failing))
    for line in _format_triage_table(table):
        emit(clip_to_terminal(line))


def _format_triage_table(table: TriageTable) -> Iterator[str]:
    failing, by, limit = table.n_failing, table.grouping, table.limit
    groups = group_clusters(table.clusters, by)
    if not groups:
        return
    yield ""
    widths = _compute_column_widths(failing)
    yield format_row(
        ["count", "share", "", GROUPING_HEADINGS[by], "examples"], widths, right_aligned=(0, 1)
    )
    for group in groups[:limit]:
        yield from format_group_lines(group, failing, by)
    if len(groups) > limit:
        rest = sum(group.count for group in groups[limit:])
        more = format_count(
            len(groups) - limit, f"more {GROUPINGS[by]}", f"more {GROUPING_PLURALS[by]}"
        )
        yield f"… {more} with {format_count(rest, 'item')}. Use --limit {len(groups)} to list all"
    if rarer := failing - sum(group.count for group in groups):
        yield f"… {format_count(rarer, 'item')} with less frequent values"


def _format_summary(session: WorkspaceSession, view: View, n_failing: int) -> str:
    """Format a line with the number of items, the pass rates and the number of failing items."""

    def count_items(filter_term: str) -> int:
        where = f"({view.where}) {filter_term}" if view.where.strip() else filter_term
        return session.store.count_items(replace(view, where=where, queue="dataset"))

    verdicts = session.store.count_by_official_and_recomputed(view)
    total = sum(verdicts.values())
    passed, failed = (
        sum(n for (official, _), n in verdicts.items() if official is value)
        for value in (True, False)
    )
    differ = verdicts.get((True, False), 0) + verdicts.get((False, True), 0)
    runs = len(view.runs) or session.n_runs
    parts = [format_count(total, "item") + (f" in {format_count(runs, 'run')}" if runs > 1 else "")]
    only_judge = "official:unknown rule:unknown"
    judged = (0, 0)
    if verdicts.get((None, None)):
        judged = (
            count_items(f"{only_judge} judge:pass"),
            count_items(f"{only_judge} judge:fail -judge:pass"),
        )
    rates = (("official", passed, failed), ("judge", *judged))
    known = [
        f"{source} {format_rate_with_count(p, p + f, total)}" for source, p, f in rates if p + f
    ]
    has_recomputed = any(rule is not None for _, rule in verdicts)
    missing = (
        "" if known or has_recomputed or n_failing else _explain_missing_verdicts(session, view)
    )
    if missing:
        return " · ".join([*parts, missing])
    parts += known or ["no official verdicts"]
    parts += [f"{n_failing:,} failing"]
    if n_incidents := count_items("incident:any"):
        n_passing = count_items("incident:any effective:pass")
        parts.append(f"{format_count(n_incidents, 'incident')}, of which {n_passing:,} pass")
    if has_recomputed:
        differing = f"official and recomputed verdicts differ on {differ:,}"
        parts += [differing if differ else "official and recomputed verdicts agree"]
    return " · ".join(parts)


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
    """Format the group's row, the meaning of its error type, an example, and its largest
    subgroups.
    """
    name = sanitize(group.name) if group.name else UNNAMED_GROUPS[grouping]
    share, bar = (
        f"{100 * group.count / n_failing:.0f} %",
        draw_bar(group.count, n_failing, BAR_WIDTH),
    )
    widths = _compute_column_widths(n_failing)
    indent = " " * (sum(widths[:3]) + 6)
    lines = [
        _format_group_row(
            (f"{group.count:,}", share, bar, name), _select_example_ids(group), widths
        )
    ]
    is_code = grouping in (BY_ERROR_TYPE, BY_DECISIVE_STEP) or group.is_incident
    words, example = (
        explain_group(group, grouping) if grouping != BY_VALUE or group.is_incident else "",
        group.example_cluster,
    )
    if is_code and words:
        words = words.removeprefix(f"{name}: ")
    if words:
        lines.append(indent + words)
    if example is not None:
        lines.append(f"{indent}{sanitize(example.examples[0])}: {sanitize(example.description)}")
    for subgroup in _find_subgroups(group, grouping):
        cells = (f"{subgroup.count:,}", "", "", "  " + subgroup.name)
        lines.append(_format_group_row(cells, subgroup.examples, widths))
    return lines


def _select_example_ids(group: ClusterGroup) -> list[str]:
    firsts = [cluster.examples[0] for cluster in group.clusters[:MAX_SUBGROUPS] if cluster.examples]
    others = [name for cluster in group.clusters[:MAX_SUBGROUPS] for name in cluster.examples[1:]]
    return [*firsts, *others][:MAX_SUBGROUPS]


def _find_subgroups(group: ClusterGroup, grouping: int = BY_ERROR_TYPE) -> list[Subgroup]:
    """Find the largest subgroups of two or more items that fail at the same place. With the default
    grouping, a place is an argument of one function, or an argument with the same name in several
    functions.
    """
    outer, inner = SUBDIVISIONS[grouping]
    named_clusters = select_clusters_with_subdivision(group.clusters, grouping)
    # The row of the group already shows the first example of each cluster, so that these examples
    # come last.
    subgroups = [
        Subgroup(
            describe_cluster(each, grouping),
            count=each.count,
            examples=[*each.examples[1:], *each.examples[:1]],
        )
        for each in named_clusters
        if each.count > 1
    ]
    for name, clusters in group_by_shared_name(
        (each for each in named_clusters if each.count == 1), inner
    ).items():
        title = f"{format_count(len(clusters), GROUPINGS[outer])} · {sanitize(name)}"
        examples = [each for cluster in clusters[1:] for each in cluster.examples]
        subgroups.append(Subgroup(title, count=len(clusters), examples=examples))
    largest = sorted(subgroups, key=lambda subgroup: -subgroup.count)[:MAX_SUBGROUPS]
    return largest[:1] + [
        subgroup for subgroup in largest[1:] if subgroup.count >= MIN_SHARE * group.count
    ]


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
    *counts, name = cells
    *first_widths, name_width, ids_width = widths
    ids = _join_fitting_ids(examples, ids_width)
    texts = [*counts, _shorten_error_type(name, name_width), ids]
    return format_row(
        texts, [*first_widths, name_width, max(ids_width, display_width(ids))], right_aligned=(0, 1)
    )


def _shorten_error_type(error_type: str, width: int) -> str:
    """Shorten an error type, but keep the part after its last colon, which distinguishes it from
    other types.
    """
    head, colon, tail = error_type.rpartition(":")
    if display_width(error_type) <= width or not colon or display_width(tail) > width - 6:
        return clip(error_type, width)
    return clip(head, width - display_width(tail) - 1) + colon + tail


def _join_fitting_ids(examples: Sequence[str], width: int) -> str:
    shown = sanitize(examples[0]) if examples else ""
    for name in map(sanitize, examples[1:]):
        if display_width(shown) + 1 + display_width(name) > width:
            break
        shown += " " + name
    return shown
