"""Groups of failures as rows of a table that fold and unfold. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.calls.clusters import (
    ARROW,
    ERROR,
    GROUPINGS,
    HEADINGS,
    UNNAMED,
    VALUE,
    Cluster,
    ClusterGroup,
    bar,
    meaning,
    mostly,
    others,
    share,
)
from fcreview.sanitise import visible, width
from fcreview.tui.text.format import cut, cut_middle, cut_type
from fcreview.tui.text.lines import Part
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import ASCII, symbols

TITLES_FROM = 80
BAR = 6
EXAMPLES_FROM = 100
"""Cells from which there is room for long titles and bars, and for example ids."""
LEAST_TYPE = 16
"""Cells of a long error type before the words that say what it means."""


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
        return (self.group.term,) if self.cluster is None else tuple(filter(None, self.cluster.terms))


def rows_of(groups: Sequence[ClusterGroup], unfolded: set[str]) -> list[Row]:
    rows = []
    for group in groups:
        rows.append(Row(group))
        if group.term in unfolded:
            rows += [Row(group, cluster) for cluster in group.clusters]
    return rows


def can_unfold(group: ClusterGroup) -> bool:
    return len(group.clusters) > 1


def _bar(number: int, failures: int) -> str:
    drawn = bar(number, failures, BAR)
    return ("#" * len(drawn) if symbols() is ASCII else drawn).ljust(BAR)


def taught(row: Row, by: int, cells: int) -> tuple[str, str]:
    """What the line under the cursor means: its error type, or that of most of its items, in plain words, or its
    values; and a first difference as it reads. Of a long error type the words are kept."""
    shown = row.group.example if row.cluster is None else row.cluster
    if by == VALUE:
        says = f"{HEADINGS[VALUE]}: {visible(row.group.name)}" if row.group.name else ""
    else:
        says = meaning(row.group if row.cluster is None else ClusterGroup("", None, [row.cluster]))
        name, colon, words = says.partition(": ")
        if width(says) > cells:
            says = cut_type(name, max(cells - width(colon + words), LEAST_TYPE)) + colon + words
    if shown is None or not shown.difference:
        return says, ""
    return says, f"{visible(shown.examples[0])}: {visible(shown.difference)}"


def _cut_name(text: str, cells: int) -> str:
    """The error type behind the sign of its fold, which stays."""
    return text[:2] + cut_type(text[2:], max(cells - 2, 1))


def _cut_values(text: str, cells: int) -> str:
    """Behind the sign of its fold the beginnings of both values: `"Eiffel To… -> "Eiffel To…`."""
    sides = text[2:].split(ARROW)
    if width(text) <= cells or len(sides) != 2:
        return cut_middle(text, cells)
    room = max(cells - 2 - len(ARROW), 2)
    first = min(width(sides[0]), max(room // 2, room - width(sides[1])))
    return text[:2] + cut(sides[0], first) + ARROW + cut(sides[1], room - first)


def columns(by: int, cells: int) -> list[Column]:
    outer, inner = others(by)
    cut_it = _cut_name if by == ERROR else _cut_values if by == VALUE else cut_middle
    made = [
        Column("items", right=True),
        Column("share", right=True),
        *([Column("", least=BAR)] if cells >= TITLES_FROM else []),
        Column(f"  {HEADINGS[by]}", cut=cut_it, least=20),
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
        name = visible(row.group.name) if row.group.name else UNNAMED[by]
        examples = [cluster.examples[0] for cluster in row.group.clusters[:3] if cluster.examples]
        made: list[Part] = [(f"{row.count:,}", "strong"), (share(row.count, failures), "")]
        made += [(_bar(row.count, failures), "dim")] if cells >= TITLES_FROM else []
        made += [(mark + name, "strong"), (mostly(row.group, by, symbols().between), "")]
    else:
        outer, inner = (row.cluster.names[place] for place in others(by))
        first = visible(outer) if outer else UNNAMED[others(by)[0]]
        made = [(f"{row.count:,}", ""), (share(row.count, failures), "dim")]
        made += [(_bar(row.count, failures), "dim")] if cells >= TITLES_FROM else []
        made += [("    " + first, "" if outer else "dim"), (visible(inner or ""), "")]
        examples = row.cluster.examples
    return [*made, (visible(" ".join(examples)), "dim")] if cells >= EXAMPLES_FROM else made
