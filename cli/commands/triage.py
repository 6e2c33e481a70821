"""`fcreview triage`: why items failed, in groups, to be read in ten seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.options import AsJson, Data, PathArgument, RunOption, WhereOption, WorkspaceOption
from fcreview.cli.output import cut, emit, emit_json, laid_out
from fcreview.cli.session import Session
from fcreview.sanitise import clip, visible, width
from fcreview.words import count_of, rate

if TYPE_CHECKING:
    from fcreview.store.rows import Cluster, View

GROUPS = 10
PLACES = 3
"""Functions and arguments shown below an error type: the first, and others that hold a good part of its items."""
GOOD_PART = 0.1
SIZES = (6, 5, 36, 27)
"""Columns of the table: count, share, error and where, examples; with their gaps 80 cells."""


@dataclass(slots=True)
class Group:
    """Clusters with the same error type."""

    error_type: str
    count: int = 0
    clusters: list[Cluster] = field(default_factory=list)

    @property
    def examples(self) -> list[str]:
        """One of each of the largest clusters first: they differ most."""
        firsts = [cluster.examples[0] for cluster in self.clusters[:PLACES] if cluster.examples]
        others = [name for cluster in self.clusters[:PLACES] for name in cluster.examples[1:]]
        return [*firsts, *others][:PLACES]


def triage(
    path: PathArgument,
    where: WhereOption = "",
    run: RunOption = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="At most N error types, or N clusters with --json."),
    ] = None,
    data: Data = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show failures in groups.

    By error type, then by the function and argument that differ first.

    With --json one line a cluster of error type, function and argument, with the filter that selects its items.

    Example: fcreview triage runs/gpt4o --where category:live_simple
    """
    with opened(Place([path], data, workspace)) as session:
        view = session.view(where, run=run)
        clusters = session.store.clusters(view)
        failing = sum(cluster.count for cluster in clusters)
        if as_json:
            for cluster in clusters[:limit]:
                emit_json(_fields(cluster, failing))
        else:
            print_triage(session, view, clusters, limit or GROUPS)


def _fields(cluster: Cluster, failing: int) -> dict[str, object]:
    """{error_type, function, argument, count, share, examples, where}; `share` of the failing items, 0 to 1."""
    return {
        "error_type": cluster.error_type or None,
        "function": cluster.function,
        "argument": cluster.argument,
        "count": cluster.count,
        "share": cluster.count / failing,
        "examples": cluster.examples,
        "where": cluster.where,
    }


def print_triage(session: Session, view: View, clusters: Sequence[Cluster], limit: int = GROUPS) -> None:
    failing = sum(cluster.count for cluster in clusters)
    for line in summary(session, view, failing):
        emit(line)
    if not clusters:
        return
    emit()
    emit(cut(laid_out(["count", "share", "error type, function · argument", "examples"], SIZES, right=(0, 1))))
    groups = rolled_up(clusters)
    for group in groups[:limit]:
        for line in lines_of(group, failing):
            emit(cut(line))
    if len(groups) > limit:
        rest = sum(group.count for group in groups[limit:])
        emit(
            f"… {count_of(len(groups) - limit, 'more error type')} with {count_of(rest, 'item')}: --limit {len(groups)}"
        )


def summary(session: Session, view: View, failing: int) -> list[str]:
    """The line above the table: how many, how many pass, where the benchmark contradicts itself."""

    def count(term: str) -> int:
        both = f"({view.where}) {term}" if view.where.strip() else term
        return session.store.count(replace(view, where=both))

    total, passed, failed = session.store.count(view), count("official:pass"), count("official:fail")
    differ = count("official:fail rule:pass") + count("official:pass rule:fail")
    runs = len(view.runs) or len(session.runs)
    parts = [count_of(total, "item") + (f" in {count_of(runs, 'run')}" if runs > 1 else "")]
    parts += [f"official {rate(passed, passed + failed)}" if passed + failed else "no official scores"]
    parts += [
        f"{failing:,} failing",
        f"official and rule differ on {differ:,}" if differ else "official and rule agree",
    ]
    return [" · ".join(parts)]


def rolled_up(clusters: Iterable[Cluster]) -> list[Group]:
    """By error type, most items first."""
    groups: dict[str, Group] = {}
    for cluster in clusters:
        group = groups.setdefault(cluster.error_type, Group(cluster.error_type))
        group.count += cluster.count
        group.clusters.append(cluster)
    return sorted(groups.values(), key=lambda group: -group.count)


def lines_of(group: Group, failing: int) -> list[str]:
    """The error type, and below it the functions and arguments that several of its items share."""
    name = visible(group.error_type) or "(no error type given)"
    lines = [_row(group.count, f"{100 * group.count / failing:.0f} %", name, group.examples)]
    return lines + [_row(count, "", "  " + place, examples) for place, count, examples in places(group)]


def places(group: Group) -> list[tuple[str, int, list[str]]]:
    """(where, count, examples): functions with arguments that fail repeatedly, and arguments that fail in several
    functions; most items first, each with two or more."""
    named = [cluster for cluster in group.clusters if cluster.function or cluster.argument]
    found = [
        (
            " · ".join(visible(part) for part in (cluster.function, cluster.argument) if part),
            cluster.count,
            _others(cluster),
        )
        for cluster in named
        if cluster.count > 1
    ]
    spread: dict[str, list[Cluster]] = {}
    for cluster in named:
        if cluster.count == 1 and cluster.argument:
            spread.setdefault(cluster.argument, []).append(cluster)
    shared = [
        (
            f"{len(of)} functions · {visible(argument)}",
            len(of),
            [name for cluster in of[1:] for name in cluster.examples],
        )
        for argument, of in spread.items()
        if len(of) > 1
    ]
    both = sorted(found + shared, key=lambda place: -place[1])[:PLACES]
    return both[:1] + [place for place in both[1:] if place[1] >= GOOD_PART * group.count]


def _others(cluster: Cluster) -> list[str]:
    """Its examples, the first of them last: that one stands beside the error type already."""
    return [*cluster.examples[1:], *cluster.examples[:1]]


def _row(count: int, share: str, what: str, examples: Sequence[str]) -> str:
    shown = [f"{count:,}", share, _shortened(what, SIZES[2]), _fitting(examples, SIZES[3])]
    return laid_out(shown, [*SIZES[:3], max(SIZES[3], width(shown[3]))], right=(0, 1))


def _shortened(what: str, size: int) -> str:
    """An error type that is too long keeps what stands behind its last colon: that tells it from the others."""
    head, colon, tail = what.rpartition(":")
    if width(what) <= size or not colon or width(tail) > size - 6:
        return clip(what, size)
    return clip(head, size - width(tail) - 1) + colon + tail


def _fitting(examples: Sequence[str], size: int) -> str:
    """As many ids as fit, and always one; never a part of one."""
    shown = visible(examples[0]) if examples else ""
    for name in map(visible, examples[1:]):
        if width(shown) + 1 + width(name) > size:
            break
        shown += " " + name
    return shown
