"""Arrange clusters of similar failures in groups by error type, function or decisive step, and
describe the groups.

`store/queries/clusters.py` computes the clusters. The functions that format text also sanitize it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fcreview.model.sanitize import sanitize
from fcreview.model.wording import describe_error_type, format_count

Grouping = int
"""Index in `GROUPINGS`."""
GROUPINGS = ("error type", "function", "argument", "category", "value", "decisive step")
"""Properties by which clusters can be grouped. `value` is the pair of golden and predicted value at
the first difference, and `decisive step` is the kind of the guessed decisive step.
"""
BY_ERROR_TYPE, BY_FUNCTION, BY_ARGUMENT, BY_CATEGORY, BY_VALUE, BY_DECISIVE_STEP = range(6)
SUBDIVISIONS = (
    (BY_FUNCTION, BY_ARGUMENT),
    (BY_ERROR_TYPE, BY_ARGUMENT),
    (BY_ERROR_TYPE, BY_FUNCTION),
    (BY_ERROR_TYPE, BY_FUNCTION),
    (BY_FUNCTION, BY_ARGUMENT),
    (BY_ERROR_TYPE, BY_FUNCTION),
)
"""The two further properties that divide a group into clusters, for each grouping in
`GROUPINGS`.
"""
VALUE_ARROW = " -> "
GROUPING_PLURALS = (
    "error types",
    "functions",
    "arguments",
    "categories",
    "values",
    "decisive steps",
)
GROUPING_HEADINGS = (
    "error type",
    "function",
    "argument",
    "category",
    f"golden{VALUE_ARROW}predicted",
    "decisive step",
)
UNNAMED_GROUPS = (
    *(f"(no {name})" for name in GROUPINGS[:BY_VALUE]),
    "(no value differs)",
    "(no decisive step)",
)
"""For each grouping, the title of the clusters without the property, such as `(no function)`."""


@dataclass(slots=True)
class Cluster:
    """Failing items that have the same value in three properties: the property by which items are
    grouped, and the two properties in `SUBDIVISIONS` that divide its groups. All other properties
    are empty.
    """

    error_type: str
    function: str | None
    argument: str | None
    count: int
    examples: list[str]
    where: str
    """Filter that selects exactly the items of the cluster."""
    terms: tuple[str, ...] = ("", "", "")
    """Filter term for each property in `GROUPINGS`, such as `error:value_error:string`; empty
    without the property.
    """
    difference: str = ""
    step_reason: str = ""
    """Reason for the decisive step of the cluster's first item.

    Empty if clusters are not grouped by decisive step.
    """
    category: str | None = None
    golden: str | None = None
    predicted: str | None = None
    decisive_step: str | None = None
    """Kind of the decisive step of all items in the cluster; None if the cluster is not grouped
    by decisive step.
    """
    n_decisive: int = 0
    first_item: int | None = None
    scope_term: str = ""
    """Further filter term that selects the items: `incident:none` if the view also has failing
    incidents.
    """
    incident: str | None = None
    """Kind of the incident of all items; None for failures of the model.

    All other properties are then empty.
    """
    n_by_erratum: int = 0
    """Number of items that fail only by a corrected golden answer."""
    n_by_review: int = 0
    """Number of items that fail by a review, although they pass by automatic verdicts."""
    usual_reason: str = ""
    """Most frequent first difference of the items whose function is unknown, such as `prose, not
    calls`.
    """

    @property
    def names_by_grouping(self) -> Mapping[Grouping, str | None]:
        """Value of the property of each grouping; None for a property that the failures do not
        share.

        A cluster of incidents has the filter term of its kind in every grouping, such as
        `incident:rate_limit`.
        """
        if self.incident is not None:
            return dict.fromkeys(range(len(GROUPINGS)), self.terms[BY_ERROR_TYPE])
        return {
            BY_ERROR_TYPE: self.error_type or None,
            BY_FUNCTION: self.function,
            BY_ARGUMENT: self.argument,
            BY_CATEGORY: self.category,
            BY_VALUE: self._value_pair,
            BY_DECISIVE_STEP: self.decisive_step,
        }

    @property
    def description(self) -> str:
        """Reason for the decisive step of the cluster's first item, else the first difference of
        this item.
        """
        return self.step_reason or self.difference

    @property
    def _value_pair(self) -> str | None:
        if self.golden is None and self.predicted is None:
            return None
        golden = "(not in golden)" if self.golden is None else self.golden
        predicted = "(missing)" if self.predicted is None else self.predicted
        return f"{golden}{VALUE_ARROW}{predicted}"


NO_ERROR_TYPE = "no error type"
FAILS_BY_ERRATUM = "fails by a corrected golden answer"
FAILS_BY_REVIEW = "fails by a review"
FAILS_BY_PEOPLE = "fails by a review or a corrected golden answer"


@dataclass(slots=True)
class ClusterGroup:
    """Clusters that have the same name in one grouping, such as the same function."""

    term: str
    name: str | None
    clusters: list[Cluster] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(cluster.count for cluster in self.clusters)

    @property
    def title(self) -> str:
        """The name, or why failures without a name fail. Only automatic verdicts have an error
        type.
        """
        if self.name:
            return self.name
        n_by_erratum = sum(cluster.n_by_erratum for cluster in self.clusters)
        n_by_review = sum(cluster.n_by_review for cluster in self.clusters)
        if n_by_erratum == self.count:
            return FAILS_BY_ERRATUM
        if n_by_review == self.count:
            return FAILS_BY_REVIEW
        if n_by_erratum + n_by_review == self.count:
            return FAILS_BY_PEOPLE
        return NO_ERROR_TYPE

    @property
    def is_incident(self) -> bool:
        """Whether the items have no answer for a reason outside the question, so that the model
        is not at fault.
        """
        return any(cluster.incident is not None for cluster in self.clusters)

    @property
    def filter_terms(self) -> tuple[str, ...]:
        """Filter terms that select the failing items of the group."""
        scopes = [cluster.scope_term for cluster in self.clusters]
        return tuple(term for term in dict.fromkeys((self.term, *scopes)) if term)

    @property
    def example_cluster(self) -> Cluster | None:
        """Largest cluster that has a description; None if no cluster has one."""
        described = [cluster for cluster in self.clusters if cluster.description]
        return max(described, key=lambda cluster: cluster.count, default=None)


def group_clusters(clusters: Iterable[Cluster], grouping: Grouping) -> list[ClusterGroup]:
    """Group clusters of failing items by their name in a grouping, such as the function.

    Groups of incidents come first, then the largest group of failures. In the grouping by value,
    the group without a name comes last.
    """
    groups: dict[tuple[str, str | None], ClusterGroup] = {}
    for cluster in clusters:
        term = cluster.terms[grouping]
        name = cluster.names_by_grouping[grouping]
        group = groups.setdefault((term, name), ClusterGroup(term, name))
        group.clusters.append(cluster)

    def get_sort_key(group: ClusterGroup) -> tuple[bool, bool, int]:
        # False sorts before True.
        is_failure = not group.is_incident
        comes_last = grouping == BY_VALUE and group.name is None
        return is_failure, comes_last, -group.count

    return sorted(groups.values(), key=get_sort_key)


def get_computed_grouping(grouping: Grouping) -> Grouping:
    """Return the grouping whose clusters a grouping shows.

    The clusters by error type, by function and by argument are the same: failures with one error
    type, function and argument. Only the groups around them differ.
    """
    if grouping in (BY_ERROR_TYPE, BY_FUNCTION, BY_ARGUMENT):
        return BY_ERROR_TYPE
    return grouping


def select_clusters_with_subdivision(
    clusters: Iterable[Cluster], grouping: Grouping
) -> list[Cluster]:
    """Select the clusters that have at least one of the properties that subdivide the grouping.

    Incidents have none.
    """
    selected = []
    for cluster in clusters:
        has_property = any(cluster.names_by_grouping[each] for each in SUBDIVISIONS[grouping])
        if has_property and cluster.incident is None:
            selected.append(cluster)
    return selected


def describe_cluster(cluster: Cluster, grouping: Grouping, separator: str = "·") -> str:
    """Format the two properties of a cluster that subdivide a grouping: `get_weather · city`."""
    names = [cluster.names_by_grouping[inner] for inner in SUBDIVISIONS[grouping]]
    return f" {separator} ".join(sanitize(name) for name in names if name)


def group_by_shared_name(
    clusters: Iterable[Cluster], grouping: Grouping
) -> dict[str, list[Cluster]]:
    """Group clusters by a name that several of them share, such as an argument of several
    functions.
    """
    clusters_by_name = _group_by_name(clusters, grouping)
    return {
        name: clusters_of_name
        for name, clusters_of_name in clusters_by_name.items()
        if name and len(clusters_of_name) > 1
    }


def _group_by_name(
    clusters: Iterable[Cluster], grouping: Grouping
) -> dict[str | None, list[Cluster]]:
    """Group clusters by their name in a grouping, such as the function. None: without a name."""
    by_name: dict[str | None, list[Cluster]] = {}
    for cluster in clusters:
        by_name.setdefault(cluster.names_by_grouping[grouping], []).append(cluster)
    return by_name


def summarize_group(group: ClusterGroup, grouping: Grouping, separator: str = "·") -> str:
    """Describe the largest part of a group of clusters, such as `23 get_weather · city` for a
    function with one argument, or `9 city · 5 functions` for an argument of several functions.

    If no two items share a name, only the names are counted: `40 functions`.
    """
    outer, inner = SUBDIVISIONS[grouping]
    named_clusters = select_clusters_with_subdivision(group.clusters, grouping)
    if len(named_clusters) == 1:
        return describe_cluster(named_clusters[0], grouping, separator)

    largest = _find_largest_part(named_clusters, outer, inner, separator)
    if largest is not None and largest.n_items > 1:
        return f"{largest.n_items:,} {largest.text}"

    outer_names = {cluster.names_by_grouping[outer] for cluster in named_clusters}
    if outer_names:
        return format_count(len(outer_names), GROUPINGS[outer])

    # Without names, the reason of a failure is all that is known.
    usual_reasons = [cluster.usual_reason for cluster in group.clusters if cluster.usual_reason]
    if usual_reasons:
        return sanitize(usual_reasons[0])
    return ""


def _find_largest_part(
    clusters: Sequence[Cluster], outer: Grouping, inner: Grouping, separator: str
) -> _ClusterSummary | None:
    """Return a summary of the largest set of clusters that share a name; None if there are no
    clusters.

    A cluster has a name in each grouping, such as the function in the outer one and the argument in
    the inner one. The clusters of the set share their name in one of the two groupings.
    """
    parts = [
        _summarize_clusters_of_name(clusters_of_name, outer, inner, separator)
        for clusters_of_name in _group_by_name(clusters, outer).values()
    ]
    # The largest error type summarizes a group better than a function or an argument with failures
    # of several types.
    if outer != BY_ERROR_TYPE:
        for sharing_clusters in group_by_shared_name(clusters, inner).values():
            parts.append(_summarize_clusters_of_name(sharing_clusters, inner, outer, separator))
    return max(parts, key=lambda part: part.n_items, default=None)


class _ClusterSummary(NamedTuple):
    n_items: int
    text: str


def _summarize_clusters_of_name(
    clusters: Sequence[Cluster], grouping: Grouping, other_grouping: Grouping, separator: str
) -> _ClusterSummary:
    """Summarize clusters that have the same name in `grouping`, such as the argument `city`.

    The text is `city · get_weather` if they also have the same name in `other_grouping`, else
    `city · 5 functions`.
    """
    name = clusters[0].names_by_grouping[grouping]
    label = sanitize(name) if name else ""
    other_names = {cluster.names_by_grouping[other_grouping] for cluster in clusters}
    if len(other_names) > 1:
        count = format_count(len(other_names), GROUPINGS[other_grouping])
        parts = [label or UNNAMED_GROUPS[grouping], count]
    else:
        only_name = other_names.pop()
        parts = [label, sanitize(only_name) if only_name else ""]
    text = f" {separator} ".join(part for part in parts if part)
    return _ClusterSummary(sum(cluster.count for cluster in clusters), text)


def has_decisive_steps(clusters: Iterable[Cluster]) -> bool:
    return any(cluster.n_decisive for cluster in clusters)


def explain_group(group: ClusterGroup, grouping: Grouping = BY_ERROR_TYPE) -> str:
    """Explain the most frequent error type of a group: `mostly value_error:string: string is not an
    accepted value`. In the grouping by decisive step, explain the kind of the step.

    Returns an empty text for an unknown error type.
    """
    if grouping == BY_DECISIVE_STEP and not group.is_incident:
        return f"{group.name}: {describe_error_type(group.name)}" if group.name else ""

    groups_by_error_type = group_clusters(group.clusters, BY_ERROR_TYPE)
    largest, *other_groups = groups_by_error_type
    error_type = largest.name or ""
    meaning = describe_error_type(error_type)
    if not meaning:
        return ""
    explanation = f"{sanitize(error_type)}: {meaning}"
    return f"mostly {explanation}" if other_groups else explanation


def format_share(number: int, total: int) -> str:
    """Format the share `number / total` as a percentage: `17 %`, or `<1 %` for less than 1
    percent.
    """
    return f"{100 * number / total:.0f} %" if 100 * number >= total else "<1 %"
