"""Failures alike, and groups of them by error type, function, argument, category, or golden value against predicted
value. Pure; names become visible text here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, describe_error_type

GROUPINGS = ("error type", "function", "argument", "category", "value")
"""In the order of `Cluster.names`. A value is a golden one against a predicted one, at the first difference."""
BY_ERROR_TYPE, BY_FUNCTION, BY_ARGUMENT, BY_CATEGORY, BY_VALUE = range(5)
_WITHIN = ((BY_FUNCTION, BY_ARGUMENT), (BY_ERROR_TYPE, BY_ARGUMENT), (BY_ERROR_TYPE, BY_FUNCTION), (BY_ERROR_TYPE, BY_FUNCTION), (BY_FUNCTION, BY_ARGUMENT))
"""By which two a group is divided, by what it is grouped by."""
VALUE_ARROW = " -> "
"""Between a golden and a predicted value."""
GROUPING_PLURALS = ("error types", "functions", "arguments", "categories", "values")
GROUPING_HEADINGS = ("error type", "function", "argument", "category", f"golden{VALUE_ARROW}predicted")
UNNAMED_GROUPS = (*(f"(no {name} given)" for name in GROUPINGS[:BY_VALUE]), "(no value differs)")
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
        return golden + VALUE_ARROW + ("(missing)" if self.predicted is None else self.predicted)


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


def group_clusters(clusters: Iterable[Cluster], by: int) -> list[ClusterGroup]:
    """Most items first; behind all values what does not differ in one. `by` is a place in GROUPINGS."""
    groups: dict[tuple[str, str | None], ClusterGroup] = {}
    for cluster in clusters:
        name = cluster.terms[by], cluster.names[by]
        group = groups.setdefault(name, ClusterGroup(*name))
        group.clusters.append(cluster)
    return sorted(groups.values(), key=lambda group: (by == BY_VALUE and group.name is None, -group.count))


def subdivisions(by: int) -> tuple[int, int]:
    """What a group is divided by."""
    return _WITHIN[by]


def stored_grouping(by: int) -> int:
    """The grouping whose clusters are those of this one: error types, functions and arguments have the same."""
    return by if by in (BY_CATEGORY, BY_VALUE) else BY_ERROR_TYPE


def select_informative(clusters: Iterable[Cluster], by: int) -> list[Cluster]:
    """Those of a group by `by` that say more than what it is grouped by."""
    return [cluster for cluster in clusters if any(cluster.names[place] for place in subdivisions(by))]


def describe_cluster(cluster: Cluster, by: int, between: str = "·") -> str:
    """`get_weather · city`: where in its group a cluster lies."""
    return f" {between} ".join(sanitize(name) for place in subdivisions(by) if (name := cluster.names[place]))


def group_by_shared_name(clusters: Iterable[Cluster], by: int) -> dict[str, list[Cluster]]:
    """Clusters by the name they have in common, where several have it: an argument of several functions."""
    alike: dict[str, list[Cluster]] = {}
    for cluster in clusters:
        if name := cluster.names[by]:
            alike.setdefault(name, []).append(cluster)
    return {name: of for name, of in alike.items() if len(of) > 1}


def summarize_group(group: ClusterGroup, by: int, between: str = "·") -> str:
    """`23 get_weather · city`: where most of its items fail alike. `9 city · 5 functions`: in the same argument of
    several functions. `40 functions`: nothing stands out."""
    outer, inner = subdivisions(by)
    speaking = select_informative(group.clusters, by)
    if len(speaking) == 1:
        return describe_cluster(speaking[0], by, between)
    found = [(each.count, describe_cluster(each, by, between)) for each in speaking if each.count > 1]
    for name, of in group_by_shared_name(speaking, inner).items():
        everywhere = f"{sanitize(name)} {between} {format_count(len(of), GROUPINGS[outer])}"
        found.append((sum(cluster.count for cluster in of), everywhere))
    if found:
        most, place = max(found, key=lambda each: each[0])
        return f"{most:,} {place}"
    different = {cluster.names[outer] for cluster in speaking}
    return format_count(len(different), GROUPINGS[outer]) if different else ""


def draw_bar(number: int, total: int, cells: int) -> str:
    """A share as a bar of eighths of a cell; one at least."""
    eighths = max(round(8 * cells * number / total), 1) if number else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def explain_error_type(group: ClusterGroup) -> str:
    """`value_error:string: a text is none of the accepted ones`: the error type of its items, or of most of them
    (`mostly value_error:string: ...`), in plain words; empty for one that has none."""
    largest = group_clusters(group.clusters, BY_ERROR_TYPE)
    words = describe_error_type(largest[0].name or "")
    return f"{'mostly ' if len(largest) > 1 else ''}{sanitize(largest[0].name or '')}: {words}" if words else ""


def format_share(number: int, total: int) -> str:
    """`17 %`; `<1 %` rather than nothing."""
    return f"{100 * number / total:.0f} %" if 100 * number >= total else "<1 %"
