"""What the queue offers to choose from: orders, import issues.

Groups of failures as rows of a table that fold and unfold. Pure.

What a filter that is being typed may go on with: keys, then the values there are, with how many items have them.
Pure; in blind mode nothing is offered that would tell what others found.
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
from fcreview.tui.queue.state import QueueState, orders
from fcreview.tui.text.lines import Choices, Column, Part, cut, cut_middle, cut_type
from fcreview.tui.text.theme import ASCII, symbols


def order_choices(state: QueueState) -> Choices[str]:
    named = orders(state.blind, state.file)
    names = list(named)
    return Choices(
        title="order of the queue",
        noun="order",
        columns=(Column("order"), Column("what comes first")),
        rows=[[(visible(name), "strong"), (says, "")] for name, says in named.items()],
        values=names,
        cursor=names.index(state.queue),
        small=True,
    )


def issue_choices(issues: Sequence[ImportIssue]) -> Choices[str]:
    """A row stands for the filter that selects its item; empty where it is of a file."""
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
        empty="everything could be read",
    )


def _issue_row(issue: ImportIssue) -> list[Part]:
    where = visible(issue.file) + (f":{issue.line}" if issue.line else "")
    style = "bad" if issue.severity == "error" else "warn" if issue.severity == "warning" else "dim"
    return [(issue.severity, style), (visible(issue.what), ""), (visible(issue.item or ""), "dim"), (where, "dim")]


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


_WORD = re.compile(r"[^\s()]*$")
_BARE = re.compile(r"[\w.:/-]+")
Facets = Mapping[str, Sequence[tuple[str, int]]]
"""By key the values of the view's items and how many have each; see `Store.facets`."""


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    """`official:` or `category:live_simple`."""
    says: str
    """What it means, or how many items have it."""

    @property
    def shown(self) -> str:
        return f"{visible(self.text)} {self.says}"


def word_at(text: str, cursor: int) -> tuple[int, str]:
    """(where it begins, what was typed of it) of the word that ends at the cursor, without a minus before it."""
    found = _WORD.search(text[:cursor])
    start = found.start() if found else cursor
    return (start + 1, text[start + 1 : cursor]) if text[start:cursor].startswith("-") else (start, text[start:cursor])


@dataclass(frozen=True, slots=True)
class Known:
    """What words are completed from."""

    facets: Facets = field(default_factory=dict)
    saved: Mapping[str, str] = field(default_factory=dict)
    """Filters by their names: `@name` stands for one."""
    blind: bool = False


def candidates(text: str, cursor: int, known: Known) -> list[Candidate]:
    """What the word at the cursor may become, the likeliest first; empty where nothing fits."""
    blind, facets = known.blind, known.facets
    _, word = word_at(text, cursor)
    if word.startswith(SIGN) or not word:
        names = [Candidate(SIGN + name, visible(meant)) for name, meant in known.saved.items()]
        found = [each for each in names if each.text.lower().startswith(word.lower())]
        if word:
            return found
        return [Candidate(name, says) for name, says in help_lines(blind=blind)] + found
    key, colon, begun = word.partition(":")
    if not colon:
        return [Candidate(name, says) for name, says in help_lines(blind=blind) if name.startswith(word.lower())]
    if f"{key}:" not in {name for name, _ in help_lines(blind=blind)}:
        return []
    head, _, last = begun.rpartition("|")
    before = f"{key}:{head}|" if head else f"{key}:"
    counts = dict(facets.get(key, ()))
    values = [*counts, *(name for name in choices(key, blind=blind) if name not in counts)]
    fitting = [value for value in values if value.lower().startswith(last.strip('"').lower())]
    return [Candidate(before + _written(value), f"{counts[value]:,}" if value in counts else "") for value in fitting]


def _written(value: str) -> str:
    return value if _BARE.fullmatch(value) else quote(value)


def replaced(text: str, cursor: int, candidate: Candidate) -> tuple[str, int]:
    """The text with the candidate in the place of the word at the cursor, and where the cursor is then."""
    start, _ = word_at(text, cursor)
    return text[:start] + candidate.text + text[cursor:], start + len(candidate.text)


def offered(found: Sequence[Candidate], at: int, most: int = 6) -> str:
    """` official: pass, fail or unknown   one more ...`: from the one that is next."""
    shown = [each.shown.strip() for each in (*found[at:], *found[:at])[:most]]
    more = f"   and {len(found) - most} more" if len(found) > most else ""
    return " " + "   ".join(shown) + more if shown else " nothing fits"
