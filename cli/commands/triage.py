"""`fcreview triage`: why items failed, in groups, to be read in ten seconds. What the screen of clusters shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.errors import one_of
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
from fcreview.cli.workspace import Opened, Place, opened
from fcreview.matching.clusters import (
    ARGUMENT,
    CATEGORY,
    ERROR,
    FUNCTION,
    GROUPINGS,
    HEADINGS,
    MANY,
    UNNAMED,
    VALUE,
    Cluster,
    ClusterGroup,
    bar,
    grouped,
    meaning,
    named,
    others,
    place_of,
    shared,
)
from fcreview.model.sanitize import clip, visible, width
from fcreview.model.wording import count_of, rate

if TYPE_CHECKING:
    from fcreview.store.rows import View

GROUPS = 10
PLACES = 3
"""Functions and arguments shown below an error type: the first, and others that hold a good part of its items."""
GOOD_PART = 0.1
SIZES = (6, 5, 5, 29, 27)
"""Columns of the table: count, share, its bar, error and where, examples; with their gaps 80 cells."""
NAMES, IDS = 3, 4
BELOW = " " * 22
"""Before what is said of a group in lines of its own: they begin below its name."""
BY = {"error": ERROR, "function": FUNCTION, "argument": ARGUMENT, "category": CATEGORY, "value": VALUE}


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
    by: Annotated[str, typer.Option("--by", metavar="NAME", help=f"Grouped by {', '.join(BY)}.")] = "error",
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="At most N groups, or N clusters with --json."),
    ] = None,
    annotator: Annotator = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show failures in groups.

    By error type, then by the function and argument that differ first; or by function, argument, category, or golden
    value against predicted value. Below each group what its error type means, and a first difference as it reads.

    With --json one line a cluster of error type, function and argument (by category: of category, error type and
    function; by value: of both values, function and argument), with the filter that selects its items.

    Example: fcreview triage runs/gpt4o --where category:live_simple --by value
    """
    grouping = BY[one_of(BY, by, "grouping")]
    with opened(Place([path], data, workspace, annotator=annotator, errata=errata)) as session:
        from fcreview.store.filters.build import FAILING, narrowed

        view = session.view(where, run=run)
        clusters = session.store.clusters(view, by=grouping)
        failing = sum(cluster.count for cluster in clusters)
        if grouping == VALUE and clusters:
            failing = session.store.count(replace(view, where=narrowed(view.where, FAILING)))
        if not clusters and not session.store.count(view):
            note(f"fcreview: {session.why_none(view)}")
        if as_json:
            for cluster in clusters[:limit]:
                emit_json(_fields(cluster, failing, grouping))
        else:
            print_triage(session, view, Table(clusters, failing, grouping, limit or GROUPS))


def _fields(cluster: Cluster, failing: int, by: int) -> dict[str, object]:
    """{error_type, function, argument, count, share, examples, difference, where}; `share` of the failing items, 0 to
    1; `difference`: the first one of the first example. By category {category, error_type, function, ...}, by value
    {golden_value, predicted_value, function, argument, ...}, values as JSON, a list of accepted ones as `"km" or 2
    more`."""
    names: dict[str, object] = {"category": cluster.category} if by == CATEGORY else {}
    if by == VALUE:
        names = {"golden_value": cluster.golden, "predicted_value": cluster.predicted}
    else:
        names["error_type"] = cluster.error_type or None
    names["function"] = cluster.function
    if by != CATEGORY:
        names["argument"] = cluster.argument
    return {
        **names,
        "count": cluster.count,
        "share": cluster.count / failing,
        "examples": cluster.examples,
        "difference": cluster.difference or None,
        "where": cluster.where,
    }


@dataclass(frozen=True, slots=True)
class Table:
    clusters: Sequence[Cluster]
    failing: int
    """Items, whether a cluster tells of them or not."""
    by: int = ERROR
    limit: int = GROUPS


def print_triage(session: Opened, view: View, table: Table) -> None:
    for line in summary(session, view, table.failing):
        emit(line)
    for line in table_lines(table):
        emit(cut(line))


def table_lines(table: Table) -> Iterator[str]:
    """Nothing without failures."""
    failing, by, limit = table.failing, table.by, table.limit
    groups = grouped(table.clusters, by)
    if not groups:
        return
    yield ""
    yield laid_out(["count", "share", "", HEADINGS[by], "examples"], SIZES, right=(0, 1))
    for group in groups[:limit]:
        yield from lines_of(group, failing, by)
    if len(groups) > limit:
        rest = sum(group.count for group in groups[limit:])
        more = count_of(len(groups) - limit, f"more {GROUPINGS[by]}", f"more {MANY[by]}")
        yield f"… {more} with {count_of(rest, 'item')}: --limit {len(groups)}"
    rarer = failing - sum(group.count for group in groups)
    if rarer:
        yield f"… {count_of(rarer, 'item')} with rarer values"


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


def lines_of(group: ClusterGroup, failing: int, by: int = ERROR) -> list[str]:
    """What it is grouped by, and below it what several of its items share of the rest."""
    name = visible(group.name) if group.name else UNNAMED[by]
    share = f"{100 * group.count / failing:.0f} %"
    lines = [_row((f"{group.count:,}", share, bar(group.count, failing, SIZES[2]), name), examples_of(group))]
    words, example = meaning(group) if by != VALUE else "", group.example
    if by == ERROR and words:
        words = words.removeprefix(f"{name}: ")
    if words:
        lines.append(BELOW + words)
    if example is not None:
        lines.append(f"{BELOW}{visible(example.examples[0])}: {visible(example.difference)}")
    found = places(group, by)
    return [*lines, *(_row((f"{place.count:,}", "", "", "  " + place.where), place.examples) for place in found)]


def examples_of(group: ClusterGroup) -> list[str]:
    """One of each of the largest clusters first: they differ most."""
    firsts = [cluster.examples[0] for cluster in group.clusters[:PLACES] if cluster.examples]
    others = [name for cluster in group.clusters[:PLACES] for name in cluster.examples[1:]]
    return [*firsts, *others][:PLACES]


def places(group: ClusterGroup, by: int = ERROR) -> list[FailingPlace]:
    """Functions with arguments (or whatever the group is divided by) that fail repeatedly, and arguments that fail in
    several functions; most items first, each with two or more."""
    outer, inner = others(by)
    speaking = named(group.clusters, by)
    found = [FailingPlace(place_of(each, by), each.count, _others(each)) for each in speaking if each.count > 1]
    for name, of in shared((each for each in speaking if each.count == 1), inner).items():
        where = f"{count_of(len(of), GROUPINGS[outer])} · {visible(name)}"
        found.append(FailingPlace(where, len(of), [each for cluster in of[1:] for each in cluster.examples]))
    most = sorted(found, key=lambda place: -place.count)[:PLACES]
    return most[:1] + [place for place in most[1:] if place.count >= GOOD_PART * group.count]


def _others(cluster: Cluster) -> list[str]:
    """Its examples, the first of them last: that one stands beside the error type already."""
    return [*cluster.examples[1:], *cluster.examples[:1]]


def _row(cells: tuple[str, str, str, str], examples: Sequence[str]) -> str:
    """Count, share, bar, and what."""
    shown = [*cells[:NAMES], _shortened(cells[NAMES], SIZES[NAMES]), _fitting(examples, SIZES[IDS])]
    return laid_out(shown, [*SIZES[:IDS], max(SIZES[IDS], width(shown[IDS]))], right=(0, 1))


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
