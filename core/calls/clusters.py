"""Failures alike, and groups of them by error type, function or argument. Pure; names become visible text here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fcreview.sanitise import visible
from fcreview.text.words import count_of

GROUPINGS = ("error type", "function", "argument")
"""In the order of `Cluster.terms`."""
ERROR, FUNCTION, ARGUMENT = range(3)


@dataclass(slots=True)
class Cluster:
    """Failures alike: same error type, function and argument."""

    error_type: str
    function: str | None
    argument: str | None
    count: int
    examples: list[str]
    """A few item ids."""
    where: str
    """A filter that selects exactly these items."""
    terms: tuple[str, str, str] = ("", "", "")
    """Of that filter what is said of error type, function and argument: `error:value_error:string`. Each stands for
    exactly its value among all clusters of the view, so a term alone selects all clusters with that value."""

    difference: str = ""
    """The first difference of the first item, as it reads."""

    @property
    def names(self) -> tuple[str | None, str | None, str | None]:
        """In the order of GROUPINGS."""
        return (self.error_type or None, self.function, self.argument)


@dataclass(slots=True)
class ClusterGroup:
    """Clusters that share what they are grouped by."""

    term: str
    """The filter term that selects them."""
    name: str | None
    clusters: list[Cluster] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(cluster.count for cluster in self.clusters)

    @property
    def example(self) -> Cluster | None:
        """The largest of its clusters that has a first difference to show."""
        return max((each for each in self.clusters if each.difference), key=lambda each: each.count, default=None)


def grouped(clusters: Iterable[Cluster], by: int) -> list[ClusterGroup]:
    """Most items first. `by` is a place in GROUPINGS."""
    groups: dict[str | None, ClusterGroup] = {}
    for cluster in clusters:
        group = groups.setdefault(cluster.names[by], ClusterGroup(cluster.terms[by], cluster.names[by]))
        group.clusters.append(cluster)
    return sorted(groups.values(), key=lambda group: -group.count)


def others(by: int) -> tuple[int, int]:
    """What a group is divided by."""
    first, second = (place for place in range(len(GROUPINGS)) if place != by)
    return first, second


def named(clusters: Iterable[Cluster], by: int) -> list[Cluster]:
    """Those of a group by `by` that say more than what it is grouped by."""
    return [cluster for cluster in clusters if any(cluster.names[place] for place in others(by))]


def place_of(cluster: Cluster, by: int, between: str = "·") -> str:
    """`get_weather · city`: where in its group a cluster lies."""
    return f" {between} ".join(visible(name) for place in others(by) if (name := cluster.names[place]))


def shared(clusters: Iterable[Cluster], by: int) -> dict[str, list[Cluster]]:
    """Clusters by the name they have in common, where several have it: an argument of several functions."""
    alike: dict[str, list[Cluster]] = {}
    for cluster in clusters:
        if name := cluster.names[by]:
            alike.setdefault(name, []).append(cluster)
    return {name: of for name, of in alike.items() if len(of) > 1}


def mostly(group: ClusterGroup, by: int, between: str = "·") -> str:
    """`23 get_weather · city`: where most of its items fail alike. `9 city · 5 functions`: in the same argument of
    several functions. `40 functions`: nothing stands out."""
    outer, inner = others(by)
    speaking = named(group.clusters, by)
    if len(speaking) == 1:
        return place_of(speaking[0], by, between)
    found = [(each.count, place_of(each, by, between)) for each in speaking if each.count > 1]
    for name, of in shared(speaking, inner).items():
        everywhere = f"{visible(name)} {between} {count_of(len(of), GROUPINGS[outer])}"
        found.append((sum(cluster.count for cluster in of), everywhere))
    if found:
        most, place = max(found, key=lambda each: each[0])
        return f"{most:,} {place}"
    different = {cluster.names[outer] for cluster in speaking}
    return count_of(len(different), GROUPINGS[outer]) if different else ""


def bar(number: int, total: int, cells: int) -> str:
    """A share as a bar of eighths of a cell; one at least."""
    eighths = max(round(8 * cells * number / total), 1) if number else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def share(number: int, total: int) -> str:
    """`17 %`; `<1 %` rather than nothing."""
    return f"{100 * number / total:.0f} %" if 100 * number >= total else "<1 %"
