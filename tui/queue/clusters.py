"""Groups of failures as rows of a table that fold and unfold. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.calls.clusters import ERROR, GROUPINGS, Cluster, ClusterGroup, mostly, others, share
from fcreview.sanitise import visible
from fcreview.tui.text.format import cut_middle, cut_type
from fcreview.tui.text.lines import Part
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import symbols

TITLES_FROM = 80
EXAMPLES_FROM = 100
"""Cells from which there is room for long titles, and for example ids."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the screen: a group, or a cluster of the group above it."""

    group: ClusterGroup
    cluster: Cluster | None = None

    @property
    def count(self) -> int:
        return self.group.count if self.cluster is None else self.cluster.count

    @property
    def terms(self) -> tuple[str, ...]:
        return (self.group.term,) if self.cluster is None else self.cluster.terms


def rows_of(groups: Sequence[ClusterGroup], unfolded: set[str]) -> list[Row]:
    rows = []
    for group in groups:
        rows.append(Row(group))
        if group.term in unfolded:
            rows += [Row(group, cluster) for cluster in group.clusters]
    return rows


def can_unfold(group: ClusterGroup) -> bool:
    return len(group.clusters) > 1


def columns(by: int, cells: int) -> list[Column]:
    outer, inner = others(by)
    cut = cut_type if by == ERROR else cut_middle
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
        made += [(mark + name, "strong"), (mostly(row.group, by, symbols().between), "")]
    else:
        outer, inner = (row.cluster.names[place] for place in others(by))
        first = visible(outer) if outer else f"(no {GROUPINGS[others(by)[0]]} given)"
        made = [(f"{row.count:,}", ""), (share(row.count, failures), "dim")]
        made += [("    " + first, "" if outer else "dim"), (visible(inner or ""), "")]
        examples = row.cluster.examples
    return [*made, (visible(" ".join(examples)), "dim")] if cells >= EXAMPLES_FROM else made
