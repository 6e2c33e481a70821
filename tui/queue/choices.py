"""Choices of the queue screen: orders, import issues, clusters of failures, and completions of a filter.

In blind mode nothing is listed that would reveal verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fcreview.matching.clusters import (
    BY_ERROR_TYPE,
    BY_VALUE,
    GROUPING_HEADINGS,
    GROUPINGS,
    UNNAMED_GROUPS,
    VALUE_ARROW,
    Cluster,
    ClusterGroup,
    draw_bar,
    explain_error_type,
    format_share,
    subdivisions,
    summarize_group,
)
from fcreview.model.item import ImportIssue
from fcreview.model.sanitize import display_width, sanitize
from fcreview.store.filters.parser import list_filter_help, list_key_values, quote
from fcreview.store.filters.saved import SAVED_FILTER_PREFIX
from fcreview.store.filters.tokens import quote_or_hash
from fcreview.tui.queue.state import QueueState, available_orders
from fcreview.tui.text.lines import ChoiceTable, StyledText, TextColumn, truncate, truncate_error_type, truncate_middle
from fcreview.tui.text.theme import ASCII_SYMBOLS, symbols


def order_choices(state: QueueState) -> ChoiceTable[str]:
    named = available_orders(state.blind, state.file)
    names = list(named)
    return ChoiceTable(
        title="queue order",
        noun="order",
        columns=(TextColumn("order"), TextColumn("description")),
        rows=[[(sanitize(name), "strong"), (says, "")] for name, says in named.items()],
        values=names,
        cursor=names.index(state.queue),
        compact=True,
    )


def issue_choices(issues: Sequence[ImportIssue]) -> ChoiceTable[str]:
    """Import issues as rows; the value is the filter that selects the item, empty for an issue of a file."""
    return ChoiceTable(
        title="import issues",
        noun="issue",
        columns=(
            TextColumn("severity"),
            TextColumn("what", min_width=30),
            TextColumn("item", truncate=truncate_middle, min_width=12),
            TextColumn("where", truncate=truncate_middle, min_width=16),
        ),
        rows=[_issue_cells(issue) for issue in issues],
        values=[f"id:{quote_or_hash(issue.item)}" if issue.item else "" for issue in issues],
        empty_message="no import issues",
    )


def _issue_cells(issue: ImportIssue) -> list[StyledText]:
    where = sanitize(issue.file) + (f":{issue.line}" if issue.line else "")
    style = "bad" if issue.severity == "error" else "warn" if issue.severity == "warning" else "dim"
    return [(issue.severity, style), (sanitize(issue.what), ""), (sanitize(issue.item or ""), "dim"), (where, "dim")]


BARS_MIN_CELLS = 80
BAR_CELLS = 6
EXAMPLES_MIN_CELLS = 100
"""Width in cells from which example ids are shown; from `TITLES_FROM` long titles and bars are."""
MIN_ERROR_TYPE_CELLS = 16
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


def _format_bar(number: int, failures: int) -> str:
    drawn = draw_bar(number, failures, BAR_CELLS)
    return ("#" * len(drawn) if symbols() is ASCII_SYMBOLS else drawn).ljust(BAR_CELLS)


def describe_cluster(row: ClusterRow, grouping: int, cells: int) -> tuple[str, str]:
    """Explanation of the line under the cursor (its error type in words, or its values) and an example of a first
    difference. A long error type is cut, its explanation is kept."""
    shown = row.group.example if row.cluster is None else row.cluster
    if grouping == BY_VALUE:
        says = f"{GROUPING_HEADINGS[BY_VALUE]}: {sanitize(row.group.name)}" if row.group.name else ""
    else:
        says = explain_error_type(row.group if row.cluster is None else ClusterGroup("", None, [row.cluster]))
        name, colon, words = says.partition(": ")
        if display_width(says) > cells:
            says = truncate_error_type(name, max(cells - display_width(colon + words), MIN_ERROR_TYPE_CELLS)) + colon + words
    if shown is None or not shown.difference:
        return says, ""
    return says, f"{sanitize(shown.examples[0])}: {sanitize(shown.difference)}"


def _cut_error_name(text: str, cells: int) -> str:
    """Cut the error type after the fold sign."""
    return text[:2] + truncate_error_type(text[2:], max(cells - 2, 1))


def _cut_value_pair(text: str, cells: int) -> str:
    """Cut both values after the fold sign: `"Eiffel To… -> "Eiffel To…`."""
    sides = text[2:].split(VALUE_ARROW)
    if display_width(text) <= cells or len(sides) != 2:
        return truncate_middle(text, cells)
    room = max(cells - 2 - len(VALUE_ARROW), 2)
    first = min(display_width(sides[0]), max(room // 2, room - display_width(sides[1])))
    return text[:2] + truncate(sides[0], first) + VALUE_ARROW + truncate(sides[1], room - first)


def cluster_columns(grouping: int, cells: int) -> list[TextColumn]:
    outer, inner = subdivisions(grouping)
    cut_it = _cut_error_name if grouping == BY_ERROR_TYPE else _cut_value_pair if grouping == BY_VALUE else truncate_middle
    made = [
        TextColumn("items", align_right=True),
        TextColumn("share", align_right=True),
        *([TextColumn("", min_width=BAR_CELLS)] if cells >= BARS_MIN_CELLS else []),
        TextColumn(f"  {GROUPING_HEADINGS[grouping]}", truncate=cut_it, min_width=20),
        TextColumn(
            f"mostly: {GROUPINGS[outer]} {symbols().separator} {GROUPINGS[inner]}"
            if cells >= BARS_MIN_CELLS
            else "mostly",
            min_width=18,
        ),
    ]
    return [*made, TextColumn("for example", min_width=12)] if cells >= EXAMPLES_MIN_CELLS else made


def cluster_cells(row: ClusterRow, grouping: int, failures: int, unfolded: set[str], cells: int) -> list[StyledText]:
    """The cells of a row for `cluster_columns`."""
    if row.cluster is None:
        sign = symbols().unfolded if row.group.term in unfolded else symbols().folded
        mark = f"{sign} " if is_unfoldable(row.group) else "  "
        name = sanitize(row.group.name) if row.group.name else UNNAMED_GROUPS[grouping]
        examples = [cluster.examples[0] for cluster in row.group.clusters[:3] if cluster.examples]
        made: list[StyledText] = [(f"{row.count:,}", "strong"), (format_share(row.count, failures), "")]
        made += [(_format_bar(row.count, failures), "dim")] if cells >= BARS_MIN_CELLS else []
        made += [(mark + name, "strong"), (summarize_group(row.group, grouping, symbols().separator), "")]
    else:
        outer, inner = (row.cluster.names[place] for place in subdivisions(grouping))
        first = sanitize(outer) if outer else UNNAMED_GROUPS[subdivisions(grouping)[0]]
        made = [(f"{row.count:,}", ""), (format_share(row.count, failures), "dim")]
        made += [(_format_bar(row.count, failures), "dim")] if cells >= BARS_MIN_CELLS else []
        made += [("    " + first, "" if outer else "dim"), (sanitize(inner or ""), "")]
        examples = row.cluster.examples
    return [*made, (sanitize(" ".join(examples)), "dim")] if cells >= EXAMPLES_MIN_CELLS else made


_LAST_WORD = re.compile(r"[^\s()]*$")
_UNQUOTED_VALUE = re.compile(r"[\w.:/-]+")
Facets = Mapping[str, Sequence[tuple[str, int]]]
"""Values of a filter key and their item counts, by key; see `Store.facets`."""


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    """`official:` or `category:live_simple`."""
    description: str
    """Description of the key, or number of items with the value."""

    @property
    def label(self) -> str:
        return f"{sanitize(self.text)} {self.description}"


def word_at(text: str, cursor: int) -> tuple[int, str]:
    """Start and text of the word that ends at the cursor, without a leading minus."""
    found = _LAST_WORD.search(text[:cursor])
    start = found.start() if found else cursor
    return (start + 1, text[start + 1 : cursor]) if text[start:cursor].startswith("-") else (start, text[start:cursor])


@dataclass(frozen=True, slots=True)
class CompletionContext:
    """Filter values and saved filters that words are completed from."""

    facets: Facets = field(default_factory=dict)
    saved: Mapping[str, str] = field(default_factory=dict)
    """Saved filters by name."""
    blind: bool = False


def complete_word(text: str, cursor: int, context: CompletionContext) -> list[Completion]:
    """Completions of the word at the cursor, the likeliest first."""
    blind, facets = context.blind, context.facets
    _, word = word_at(text, cursor)
    if word.startswith(SAVED_FILTER_PREFIX) or not word:
        names = [Completion(SAVED_FILTER_PREFIX + name, sanitize(meant)) for name, meant in context.saved.items()]
        found = [each for each in names if each.text.lower().startswith(word.lower())]
        if word:
            return found
        return [Completion(name, says) for name, says in list_filter_help(blind=blind)] + found
    key, colon, begun = word.partition(":")
    if not colon:
        return [Completion(name, says) for name, says in list_filter_help(blind=blind) if name.startswith(word.lower())]
    if f"{key}:" not in {name for name, _ in list_filter_help(blind=blind)}:
        return []
    head, _, last = begun.rpartition("|")
    before = f"{key}:{head}|" if head else f"{key}:"
    counts = dict(facets.get(key, ()))
    values = [*counts, *(name for name in list_key_values(key, blind=blind) if name not in counts)]
    fitting = [value for value in values if value.lower().startswith(last.strip('"').lower())]
    return [Completion(before + _quote_if_needed(value), f"{counts[value]:,}" if value in counts else "") for value in fitting]


def _quote_if_needed(value: str) -> str:
    return value if _UNQUOTED_VALUE.fullmatch(value) else quote(value)


def insert_completion(text: str, cursor: int, completion: Completion) -> tuple[str, int]:
    """Replace the word at the cursor; returns the new text and cursor."""
    start, _ = word_at(text, cursor)
    return text[:start] + completion.text + text[cursor:], start + len(completion.text)


def completions_line(completions: Sequence[Completion], first: int, limit: int = 6) -> str:
    """` official: pass, fail or unknown   ...   and 3 more`, beginning with completion `at`."""
    shown = [each.label.strip() for each in (*completions[first:], *completions[:first])[:limit]]
    more = f"   and {len(completions) - limit} more" if len(completions) > limit else ""
    return " " + "   ".join(shown) + more if shown else " no matches"
