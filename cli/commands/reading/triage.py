"""`fcreview triage`: why items failed, in groups, to be read in ten seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.calls.clusters import (
    ARGUMENT,
    ERROR,
    FUNCTION,
    GROUPINGS,
    Cluster,
    ClusterGroup,
    grouped,
    named,
    place_of,
    shared,
)
from fcreview.cli.common import Place, opened
from fcreview.cli.opened import Opened
from fcreview.cli.options import (
    Annotator,
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    RunOption,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import cut, emit, emit_json, laid_out, note
from fcreview.sanitise import clip, visible, width
from fcreview.text.error_words import error_words
from fcreview.text.words import count_of, rate

if TYPE_CHECKING:
    from fcreview.store.rows import View

GROUPS = 10
PLACES = 3
"""Functions and arguments shown below an error type: the first, and others that hold a good part of its items."""
GOOD_PART = 0.1
SIZES = (6, 5, 36, 27)
"""Columns of the table: count, share, error and where, examples; with their gaps 80 cells."""


@dataclass(frozen=True, slots=True)
class FailingPlace:
    """Where in the calls items of one error type fail alike."""

    where: str
    count: int
    examples: list[str]


def triage(
    path: PathArgument,
    where: WhereOption = "",
    run: RunOption = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="At most N error types, or N clusters with --json."),
    ] = None,
    annotator: Annotator = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show failures in groups.

    By error type, then by the function and argument that differ first.

    With --json one line a cluster of error type, function and argument, with the filter that selects its items.

    Example: fcreview triage runs/gpt4o --where category:live_simple
    """
    with opened(Place([path], data, workspace, annotator=annotator, errata=errata)) as session:
        view = session.view(where, run=run)
        clusters = session.store.clusters(view)
        failing = sum(cluster.count for cluster in clusters)
        if not clusters and not session.store.count(view):
            note(f"fcreview: {session.why_none(view)}")
        if as_json:
            for cluster in clusters[:limit]:
                emit_json(_fields(cluster, failing))
        else:
            print_triage(session, view, clusters, limit or GROUPS)


def _fields(cluster: Cluster, failing: int) -> dict[str, object]:
    """{error_type, function, argument, count, share, examples, difference, where}; `share` of the failing items, 0 to
    1; `difference`: the first one of the first example."""
    return {
        "error_type": cluster.error_type or None,
        "function": cluster.function,
        "argument": cluster.argument,
        "count": cluster.count,
        "share": cluster.count / failing,
        "examples": cluster.examples,
        "difference": cluster.difference or None,
        "where": cluster.where,
    }


def print_triage(session: Opened, view: View, clusters: Sequence[Cluster], limit: int = GROUPS) -> None:
    failing = sum(cluster.count for cluster in clusters)
    for line in summary(session, view, failing):
        emit(line)
    if not clusters:
        return
    emit()
    emit(cut(laid_out(["count", "share", "error type, function · argument", "examples"], SIZES, right=(0, 1))))
    groups = grouped(clusters, ERROR)
    for group in groups[:limit]:
        for line in lines_of(group, failing):
            emit(cut(line))
    if len(groups) > limit:
        rest = sum(group.count for group in groups[limit:])
        emit(
            f"… {count_of(len(groups) - limit, 'more error type')} with {count_of(rest, 'item')}: --limit {len(groups)}"
        )


def summary(session: Opened, view: View, failing: int) -> list[str]:
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


def lines_of(group: ClusterGroup, failing: int) -> list[str]:
    """The error type, and below it the functions and arguments that several of its items share."""
    name = visible(group.name or "") or "(no error type given)"
    words, example = error_words(group.name or ""), group.example
    taught = [f"{'':15}{words}"] if words else []
    if example is not None:
        taught.append(f"{'':15}{visible(example.examples[0])}: {visible(example.difference)}")
    lines = [_row(group.count, f"{100 * group.count / failing:.0f} %", name, examples_of(group))]
    return [*lines, *taught, *(_row(place.count, "", "  " + place.where, place.examples) for place in places(group))]


def examples_of(group: ClusterGroup) -> list[str]:
    """One of each of the largest clusters first: they differ most."""
    firsts = [cluster.examples[0] for cluster in group.clusters[:PLACES] if cluster.examples]
    others = [name for cluster in group.clusters[:PLACES] for name in cluster.examples[1:]]
    return [*firsts, *others][:PLACES]


def places(group: ClusterGroup) -> list[FailingPlace]:
    """Functions with arguments that fail repeatedly, and arguments that fail in several functions; most items first,
    each with two or more."""
    speaking = named(group.clusters, ERROR)
    found = [FailingPlace(place_of(each, ERROR), each.count, _others(each)) for each in speaking if each.count > 1]
    for argument, of in shared((each for each in speaking if each.count == 1), ARGUMENT).items():
        where = f"{count_of(len(of), GROUPINGS[FUNCTION])} · {visible(argument)}"
        found.append(FailingPlace(where, len(of), [name for cluster in of[1:] for name in cluster.examples]))
    most = sorted(found, key=lambda place: -place.count)[:PLACES]
    return most[:1] + [place for place in most[1:] if place.count >= GOOD_PART * group.count]


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
