"""Clusters of failures put together by error type, function or argument, and as rows of a table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fcreview.sanitise import visible
from fcreview.store.rows import Cluster
from fcreview.tui.text.format import count, cut_middle, cut_type
from fcreview.tui.text.lines import Part
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import symbols

GROUPINGS = ("error type", "function", "argument")
"""In the order of `Cluster.terms`."""
TITLES_FROM = 80
EXAMPLES_FROM = 100
"""Cells from which there is room for long titles, and for example ids."""


@dataclass(slots=True)
class Group:
    """Clusters that share what they are grouped by."""

    term: str
    """The filter term that selects them."""
    name: str | None
    clusters: list[Cluster] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(cluster.count for cluster in self.clusters)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the screen: a group, or a cluster of the group above it."""

    group: Group
    cluster: Cluster | None = None

    @property
    def count(self) -> int:
        return self.group.count if self.cluster is None else self.cluster.count

    @property
    def terms(self) -> tuple[str, ...]:
        return (self.group.term,) if self.cluster is None else self.cluster.terms


def grouped(clusters: Iterable[Cluster], by: int) -> list[Group]:
    """Most items first. `by` is a place in GROUPINGS."""
    groups: dict[str, Group] = {}
    for cluster in clusters:
        group = groups.setdefault(cluster.terms[by], Group(cluster.terms[by], names(cluster)[by]))
        group.clusters.append(cluster)
    return sorted(groups.values(), key=lambda group: -group.count)


def names(cluster: Cluster) -> tuple[str | None, ...]:
    return (cluster.error_type or None, cluster.function, cluster.argument)


def rows_of(groups: Sequence[Group], unfolded: set[str]) -> list[Row]:
    rows = []
    for group in groups:
        rows.append(Row(group))
        if group.term in unfolded:
            rows += [Row(group, cluster) for cluster in group.clusters]
    return rows


def can_unfold(group: Group) -> bool:
    return len(group.clusters) > 1


def others(by: int) -> tuple[int, int]:
    """What a group is divided by."""
    first, second = (place for place in range(3) if place != by)
    return first, second


def mostly(group: Group, by: int) -> str:
    """`23 get_weather · city`: where most of its items fail alike. `9 city · 5 functions`: in the same argument of
    several functions. `40 functions`: nothing stands out."""
    outer, inner = others(by)
    named = [cluster for cluster in group.clusters if any(names(cluster)[place] for place in (outer, inner))]
    found = [(cluster.count, _place(cluster, outer, inner)) for cluster in named if cluster.count > 1]
    shared: dict[str, list[Cluster]] = {}
    for cluster in named:
        if name := names(cluster)[inner]:
            shared.setdefault(name, []).append(cluster)
    for name, of in shared.items():
        if len(of) > 1:
            found.append(
                (
                    sum(cluster.count for cluster in of),
                    f"{visible(name)} {symbols().between} {count(len(of), GROUPINGS[outer])}",
                )
            )
    if len(named) == 1:
        return _place(named[0], outer, inner)
    if found:
        most, place = max(found, key=lambda each: each[0])
        return f"{most:,} {place}"
    different = {names(cluster)[outer] for cluster in named}
    return count(len(different), GROUPINGS[outer]) if different else ""


def _place(cluster: Cluster, outer: int, inner: int) -> str:
    return f" {symbols().between} ".join(visible(name) for place in (outer, inner) if (name := names(cluster)[place]))


def share(number: int, total: int) -> str:
    """`17 %`; `<1 %` rather than nothing."""
    return f"{100 * number / total:.0f} %" if 100 * number >= total else "<1 %"


def columns(by: int, cells: int) -> list[Column]:
    outer, inner = others(by)
    cut = cut_type if by == 0 else cut_middle
    made = [
        Column("items", right=True),
        Column("share", right=True),
        Column(f"  {GROUPINGS[by]}", cut=cut, least=20),
        Column(
            f"mostly: {GROUPINGS[outer]} {symbols().between} {GROUPINGS[inner]}" if cells >= TITLES_FROM else "mostly",
            least=18,
        ),
    ]
    return [*made, Column("for example", least=12)] if cells >= EXAMPLES_FROM else made


def parts(row: Row, by: int, failures: int, unfolded: set[str], cells: int) -> list[Part]:
    """The cells of a row for `columns`."""
    if row.cluster is None:
        sign = symbols().unfolded if row.group.term in unfolded else symbols().folded
        mark = f"{sign} " if can_unfold(row.group) else "  "
        name = visible(row.group.name) if row.group.name else f"(no {GROUPINGS[by]} given)"
        examples = [cluster.examples[0] for cluster in row.group.clusters[:3] if cluster.examples]
        made: list[Part] = [(f"{row.count:,}", "strong"), (share(row.count, failures), "")]
        made += [(mark + name, "strong"), (mostly(row.group, by), "")]
    else:
        outer, inner = (names(row.cluster)[place] for place in others(by))
        first = visible(outer) if outer else f"(no {GROUPINGS[others(by)[0]]} given)"
        made = [(f"{row.count:,}", ""), (share(row.count, failures), "dim")]
        made += [("    " + first, "" if outer else "dim"), (visible(inner or ""), "")]
        examples = row.cluster.examples
    return [*made, (visible(" ".join(examples)), "dim")] if cells >= EXAMPLES_FROM else made
