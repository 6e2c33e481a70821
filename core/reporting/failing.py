"""Why items fail, as a section: error types, then groups of failures alike, each with an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.calls.clusters import ERROR, Cluster, grouped, mostly, share
from fcreview.reporting.blocks import Section, Text, table
from fcreview.text.words import count_of

CLUSTERS = 20
"""Groups that are shown, of each dataset."""
UNNAMED = "no error type given"


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    question: str
    difference: str | None


@dataclass(frozen=True, slots=True)
class Failing:
    """Failures of the runs of one dataset."""

    title: str
    clusters: Sequence[Cluster]
    examples: Sequence[Example]
    """One of each of the first groups: those that are shown."""


def failing_section(parts: Sequence[Failing]) -> Section:
    return Section("Why items fail", sections=[_part(part) for part in parts])


def _part(part: Failing) -> Section:
    failing = sum(cluster.count for cluster in part.clusters)
    if not failing:
        return Section(part.title, [Text("No item fails.")])
    errors = [
        [group.name or UNNAMED, f"{group.count:,}", share(group.count, failing), mostly(group, ERROR)]
        for group in grouped(part.clusters, ERROR)
    ]
    rest = len(part.clusters) - len(part.examples)
    rows = [_row(cluster, example) for cluster, example in zip(part.clusters, part.examples, strict=False)]
    more = [Text(f"{count_of(rest, 'smaller group')} not shown.")] if rest else []
    return Section(
        part.title,
        [
            Text(f"{count_of(failing, 'item')} failing, after reviews, in all of these runs."),
            table(["error type", "items", "share", "mostly in"], errors, (1, 2)),
            table(["items", "fails alike", "example", "what differs first", "question"], rows, (0,)),
            *more,
        ],
    )


def _row(cluster: Cluster, example: Example) -> list[str]:
    names = [cluster.error_type or UNNAMED, *filter(None, (cluster.function, cluster.argument))]
    return [f"{cluster.count:,}", " · ".join(names), example.id, example.difference or "", example.question]
