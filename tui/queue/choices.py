"""Choices of the queue screen: orders, import issues, clusters of failures, and completions of a filter.

In blind mode nothing is listed that would reveal verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fcreview.matching.clusters import (
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
from fcreview.model.item import ImportIssue
from fcreview.model.sanitize import visible, width
from fcreview.store.filters.parser import choices, help_lines, quote
from fcreview.store.filters.saved import SIGN
from fcreview.store.filters.tokens import only
from fcreview.tui.queue.state import QueueState, queue_orders
from fcreview.tui.text.lines import Choices, Column, Part, cut, cut_middle, cut_type
from fcreview.tui.text.theme import ASCII, symbols


def order_choices(state: QueueState) -> Choices[str]:
    named = queue_orders(state.blind, state.file)
    names = list(named)
    return Choices(
        title="queue order",
        noun="order",
        columns=(Column("order"), Column("description")),
        rows=[[(visible(name), "strong"), (says, "")] for name, says in named.items()],
        values=names,
        cursor=names.index(state.queue),
        small=True,
    )


def issue_choices(issues: Sequence[ImportIssue]) -> Choices[str]:
    """Import issues as rows; the value is the filter that selects the item, empty for an issue of a file."""
    return Choices(
        title="import issues",
        noun="issue",
        columns=(
            Column("severity"),
            Column("what", least=30),
            Column("item", cut=cut_middle, least=12),
            Column("where", cut=cut_middle, least=16),
        ),
        rows=[_issue_row(issue) for issue in issues],
        values=[f"id:{only(issue.item)}" if issue.item else "" for issue in issues],
        empty="no import issues",
    )


def _issue_row(issue: ImportIssue) -> list[Part]:
    where = visible(issue.file) + (f":{issue.line}" if issue.line else "")
    style = "bad" if issue.severity == "error" else "warn" if issue.severity == "warning" else "dim"
    return [(issue.severity, style), (visible(issue.what), ""), (visible(issue.item or ""), "dim"), (where, "dim")]


TITLES_FROM = 80
BAR = 6
EXAMPLES_FROM = 100
"""Width in cells from which example ids are shown; from `TITLES_FROM` long titles and bars are."""
MIN_TYPE = 16
"""Least width in cells of an error type before its explanation."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A line of the cluster list: a group, or a cluster of the group above it."""

    group: ClusterGroup
    cluster: Cluster | None = None

    @property
    def count(self) -> int:
        return self.group.count if self.cluster is None else self.cluster.count

    @property
    def terms(self) -> tuple[str, ...]:
        return (self.group.term,) if self.cluster is None else tuple(filter(None, self.cluster.terms))


def cluster_rows(groups: Sequence[ClusterGroup], unfolded: set[str]) -> list[ClusterRow]:
    rows = []
    for group in groups:
        rows.append(ClusterRow(group))
        if group.term in unfolded:
            rows += [ClusterRow(group, cluster) for cluster in group.clusters]
    return rows


def is_unfoldable(group: ClusterGroup) -> bool:
    return len(group.clusters) > 1


def _bar(number: int, failures: int) -> str:
    drawn = bar(number, failures, BAR)
    return ("#" * len(drawn) if symbols() is ASCII else drawn).ljust(BAR)


def describe_row(row: ClusterRow, by: int, cells: int) -> tuple[str, str]:
    """Explanation of the line under the cursor (its error type in words, or its values) and an example of a first
    difference. A long error type is cut, its explanation is kept."""
    shown = row.group.example if row.cluster is None else row.cluster
    if by == VALUE:
        says = f"{HEADINGS[VALUE]}: {visible(row.group.name)}" if row.group.name else ""
    else:
        says = meaning(row.group if row.cluster is None else ClusterGroup("", None, [row.cluster]))
        name, colon, words = says.partition(": ")
        if width(says) > cells:
            says = cut_type(name, max(cells - width(colon + words), MIN_TYPE)) + colon + words
    if shown is None or not shown.difference:
        return says, ""
    return says, f"{visible(shown.examples[0])}: {visible(shown.difference)}"


def _cut_name(text: str, cells: int) -> str:
    """Cut the error type after the fold sign."""
    return text[:2] + cut_type(text[2:], max(cells - 2, 1))


def _cut_values(text: str, cells: int) -> str:
    """Cut both values after the fold sign: `"Eiffel To… -> "Eiffel To…`."""
    sides = text[2:].split(ARROW)
    if width(text) <= cells or len(sides) != 2:
        return cut_middle(text, cells)
    room = max(cells - 2 - len(ARROW), 2)
    first = min(width(sides[0]), max(room // 2, room - width(sides[1])))
    return text[:2] + cut(sides[0], first) + ARROW + cut(sides[1], room - first)


def cluster_columns(by: int, cells: int) -> list[Column]:
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


def cluster_cells(row: ClusterRow, by: int, failures: int, unfolded: set[str], cells: int) -> list[Part]:
    """The cells of a row for `cluster_columns`."""
    if row.cluster is None:
        sign = symbols().unfolded if row.group.term in unfolded else symbols().folded
        mark = f"{sign} " if is_unfoldable(row.group) else "  "
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


_WORD = re.compile(r"[^\s()]*$")
_BARE = re.compile(r"[\w.:/-]+")
Facets = Mapping[str, Sequence[tuple[str, int]]]
"""Values of a filter key and their item counts, by key; see `Store.facets`."""


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    """`official:` or `category:live_simple`."""
    description: str
    """Description of the key, or number of items with the value."""

    @property
    def shown(self) -> str:
        return f"{visible(self.text)} {self.description}"


def word_at(text: str, cursor: int) -> tuple[int, str]:
    """Start and text of the word that ends at the cursor, without a leading minus."""
    found = _WORD.search(text[:cursor])
    start = found.start() if found else cursor
    return (start + 1, text[start + 1 : cursor]) if text[start:cursor].startswith("-") else (start, text[start:cursor])


@dataclass(frozen=True, slots=True)
class CompletionContext:
    """Filter values and saved filters that words are completed from."""

    facets: Facets = field(default_factory=dict)
    saved: Mapping[str, str] = field(default_factory=dict)
    """Saved filters by name."""
    blind: bool = False


def complete_word(text: str, cursor: int, known: CompletionContext) -> list[Completion]:
    """Completions of the word at the cursor, the likeliest first."""
    blind, facets = known.blind, known.facets
    _, word = word_at(text, cursor)
    if word.startswith(SIGN) or not word:
        names = [Completion(SIGN + name, visible(meant)) for name, meant in known.saved.items()]
        found = [each for each in names if each.text.lower().startswith(word.lower())]
        if word:
            return found
        return [Completion(name, says) for name, says in help_lines(blind=blind)] + found
    key, colon, begun = word.partition(":")
    if not colon:
        return [Completion(name, says) for name, says in help_lines(blind=blind) if name.startswith(word.lower())]
    if f"{key}:" not in {name for name, _ in help_lines(blind=blind)}:
        return []
    head, _, last = begun.rpartition("|")
    before = f"{key}:{head}|" if head else f"{key}:"
    counts = dict(facets.get(key, ()))
    values = [*counts, *(name for name in choices(key, blind=blind) if name not in counts)]
    fitting = [value for value in values if value.lower().startswith(last.strip('"').lower())]
    return [Completion(before + _written(value), f"{counts[value]:,}" if value in counts else "") for value in fitting]


def _written(value: str) -> str:
    return value if _BARE.fullmatch(value) else quote(value)


def insert_completion(text: str, cursor: int, candidate: Completion) -> tuple[str, int]:
    """Replace the word at the cursor; returns the new text and cursor."""
    start, _ = word_at(text, cursor)
    return text[:start] + candidate.text + text[cursor:], start + len(candidate.text)


def completions_line(found: Sequence[Completion], at: int, most: int = 6) -> str:
    """` official: pass, fail or unknown   ...   and 3 more`, beginning with completion `at`."""
    shown = [each.shown.strip() for each in (*found[at:], *found[:at])[:most]]
    more = f"   and {len(found) - most} more" if len(found) > most else ""
    return " " + "   ".join(shown) + more if shown else " no matches"
