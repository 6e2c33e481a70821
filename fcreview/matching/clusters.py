"""Failures alike, and groups of them by error type, function, argument, category, or golden value against predicted
value. Pure; names become visible text here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of, error_words

GROUPINGS = ("error type", "function", "argument", "category", "value")
"""In the order of `Cluster.names`. A value is a golden one against a predicted one, at the first difference."""
ERROR, FUNCTION, ARGUMENT, CATEGORY, VALUE = range(5)
_WITHIN = ((FUNCTION, ARGUMENT), (ERROR, ARGUMENT), (ERROR, FUNCTION), (ERROR, FUNCTION), (FUNCTION, ARGUMENT))
"""By which two a group is divided, by what it is grouped by."""
ARROW = " -> "
"""Between a golden and a predicted value."""
MANY = ("error types", "functions", "arguments", "categories", "values")
HEADINGS = ("error type", "function", "argument", "category", f"golden{ARROW}predicted")
UNNAMED = (*(f"(no {name} given)" for name in GROUPINGS[:VALUE]), "(no value differs)")
"""What a group without a name is called."""


@dataclass(slots=True)
class Cluster:
    """Failures alike: same error type, function and argument; or same category, error type and function; or same
    values, function and argument. What they do not have in common is empty."""

    error_type: str
    function: str | None
    argument: str | None
    count: int
    examples: list[str]
    """A few item ids."""
    where: str
    """A filter that selects exactly these items."""
    terms: tuple[str, ...] = ("", "", "")
    """Of that filter what is said of each of `names`: `error:value_error:string`; empty for what they do not have in
    common. Each stands for exactly its value among all clusters of the view, so a term alone selects all clusters with
    that value."""

    difference: str = ""
    """The first difference of the first item, as it reads."""
    category: str | None = None
    golden: str | None = None
    predicted: str | None = None

    @property
    def names(self) -> tuple[str | None, ...]:
        """In the order of GROUPINGS."""
        return (self.error_type or None, self.function, self.argument, self.category, self._values)

    @property
    def _values(self) -> str | None:
        """`"km" -> "kilometers"`"""
        if self.golden is None and self.predicted is None:
            return None
        golden = "(not in golden)" if self.golden is None else self.golden
        return golden + ARROW + ("(missing)" if self.predicted is None else self.predicted)


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
    """Most items first; behind all values what does not differ in one. `by` is a place in GROUPINGS."""
    groups: dict[tuple[str, str | None], ClusterGroup] = {}
    for cluster in clusters:
        name = cluster.terms[by], cluster.names[by]
        group = groups.setdefault(name, ClusterGroup(*name))
        group.clusters.append(cluster)
    return sorted(groups.values(), key=lambda group: (by == VALUE and group.name is None, -group.count))


def others(by: int) -> tuple[int, int]:
    """What a group is divided by."""
    return _WITHIN[by]


def counted(by: int) -> int:
    """The grouping whose clusters are those of this one: error types, functions and arguments have the same."""
    return by if by in (CATEGORY, VALUE) else ERROR


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


def meaning(group: ClusterGroup) -> str:
    """`value_error:string: a text is none of the accepted ones`: the error type of its items, or of most of them
    (`mostly value_error:string: ...`), in plain words; empty for one that has none."""
    largest = grouped(group.clusters, ERROR)
    words = error_words(largest[0].name or "")
    return f"{'mostly ' if len(largest) > 1 else ''}{visible(largest[0].name or '')}: {words}" if words else ""


def share(number: int, total: int) -> str:
    """`17 %`; `<1 %` rather than nothing."""
    return f"{100 * number / total:.0f} %" if 100 * number >= total else "<1 %"
