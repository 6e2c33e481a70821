"""Build the lists that the queue screen opens: orders, import issues, suspects by reason and
clusters of failures.

In blind mode, the lists omit everything that would reveal verdicts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fcreview.matching.clusters import (
    BY_DECISIVE_STEP,
    BY_ERROR_TYPE,
    BY_VALUE,
    GROUPING_HEADINGS,
    GROUPINGS,
    SUBDIVISIONS,
    UNNAMED_GROUPS,
    VALUE_ARROW,
    Cluster,
    ClusterGroup,
    explain_group,
    format_share,
    summarize_group,
)
from fcreview.model.incident import format_incident_title
from fcreview.model.item import ImportIssue
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import INCIDENT_PREFIX, describe_error_type, format_count
from fcreview.store.filters.tokens import quote_or_hash
from fcreview.store.rows import Suspicion
from fcreview.tui.queue.columns import parse_difference_line, shorten_difference_line
from fcreview.tui.queue.state import QueueState, list_available_orders
from fcreview.tui.text.graphics import share_bar
from fcreview.tui.text.lines import (
    ChoiceTable,
    Line,
    StyledText,
    TableLines,
    TextColumn,
    lay_out_table,
    line_width,
    truncate,
    truncate_error_type,
    truncate_middle,
)
from fcreview.tui.text.styles import symbols


def build_order_choices(state: QueueState) -> ChoiceTable[str]:
    """Return the table of available orders. The cursor is on the current order."""
    orders = list_available_orders(state.blind, state.file)
    names = list(orders)
    return ChoiceTable(
        title="queue order",
        noun="order",
        columns=(TextColumn("order"), TextColumn("description")),
        rows=[
            [(sanitize(name), "strong"), (description, "")] for name, description in orders.items()
        ],
        values=names,
        cursor=names.index(state.queue),
        compact=True,
    )


def build_issue_choices(
    issues: Sequence[ImportIssue], missing_verdict_counts: Sequence[tuple[str, int]] = ()
) -> ChoiceTable[str]:
    """Return the table of import issues. The value of a row is the filter that selects its item,
    empty for a file.

    `missing_verdict_counts`: (reason, number of items) pairs of items without a recomputed verdict.
    """
    issues = [
        *issues,
        *(_make_missing_verdict_issue(reason, count) for reason, count in missing_verdict_counts),
    ]
    return ChoiceTable(
        title="import issues",
        noun="issue",
        columns=(
            TextColumn("severity"),
            TextColumn("what", min_width=30),
            TextColumn("item", truncate=truncate_middle, min_width=12),
            TextColumn("where", truncate=truncate_middle, min_width=16),
        ),
        rows=[_make_issue_cells(issue) for issue in issues],
        values=[f"id:{quote_or_hash(issue.item)}" if issue.item else "" for issue in issues],
        empty_message="no import issues",
    )


def _make_missing_verdict_issue(reason: str, n_items: int) -> ImportIssue:
    what = f"no recomputed verdict for {format_count(n_items, 'item')}: {reason}"
    return ImportIssue("", None, what=what, severity="notice")


def _make_issue_cells(issue: ImportIssue) -> list[StyledText]:
    where = sanitize(issue.file) + (f":{issue.line}" if issue.line else "")
    style = "bad" if issue.severity == "error" else "warn" if issue.severity == "warning" else "dim"
    return [
        (issue.severity, style),
        (sanitize(issue.what), ""),
        (sanitize(issue.item or ""), "dim"),
        (where, "dim"),
    ]


def build_suspect_reason_choices(
    suspicion_by_item: Mapping[int, Suspicion],
) -> ChoiceTable[Sequence[int]]:
    """Return the table of reasons why golden answers look wrong, with the most strong suspects
    first. The value of a row is the item numbers of its suspects.
    """
    groups: dict[str, list[int]] = {}
    for item, suspicion in suspicion_by_item.items():
        groups.setdefault(suspicion.title, []).append(item)
    n_strong = {
        title: sum(suspicion_by_item[item].is_strong for item in items)
        for title, items in groups.items()
    }
    ordered = sorted(groups.items(), key=lambda group: (-n_strong[group[0]], -len(group[1])))
    return ChoiceTable(
        title="suspects by reason",
        noun="reason",
        columns=(
            TextColumn("suspects", align_right=True),
            TextColumn("strong", align_right=True),
            TextColumn("strongest reason"),
            TextColumn("example", min_width=20),
        ),
        rows=[
            [
                (f"{len(items):,}", ""),
                (f"{n_strong[title]:,}", ""),
                (sanitize(title), "strong"),
                (sanitize(suspicion_by_item[items[0]].summary.partition(": ")[2]), "dim"),
            ]
            for title, items in ordered
        ],
        values=[items for _, items in ordered],
        note=f"{format_count(len(suspicion_by_item), 'suspect')}, {sum(n_strong.values()):,}"
        " strong",
        empty_message="no suspects",
    )


USUAL_CELLS, SHARES_MIN_CELLS, CODES_MIN_CELLS, EXAMPLES_MIN_CELLS = 76, 96, 136, 150
"""Minimum widths of the table, in cells, for medium columns, for percentages and wide columns, for
the codes of error types, and for examples.
"""
BAR_CELLS = (4, 10)
EXPLANATION_CELLS = (20, 41, 43)
"""Minimum widths, in cells, of the narrow, medium and wide column that explains the error type."""
MOSTLY_CELLS = (12, 22, 28)
EXAMPLE_CELLS = 24
MIN_ERROR_TYPE_CELLS = 16


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """Line of the cluster list: a group of clusters, or a cluster of an unfolded group."""

    group: ClusterGroup
    cluster: Cluster | None = None

    @property
    def n_failures(self) -> int:
        """Number of failing items in the group or cluster."""
        return self.group.count if self.cluster is None else self.cluster.count

    @property
    def filter_terms(self) -> tuple[str, ...]:
        """Filter terms that select the items of the group or cluster."""
        if self.cluster is None:
            return self.group.filter_terms
        terms = (*self.cluster.terms, self.cluster.scope_term)
        return tuple(term for term in dict.fromkeys(terms) if term)


def list_cluster_rows(groups: Sequence[ClusterGroup], unfolded_terms: set[str]) -> list[ClusterRow]:
    """Return the rows of the groups. `unfolded_terms`: filter terms of the unfolded groups."""
    rows = []
    for group in groups:
        rows.append(ClusterRow(group))
        if group.term in unfolded_terms:
            rows += [ClusterRow(group, cluster) for cluster in group.clusters]
    return rows


def is_unfoldable(group: ClusterGroup) -> bool:
    return len(group.clusters) > 1


class ClusterExplanation(NamedTuple):
    text: str
    example: str
    """Id and first difference of an item. Empty if there is none."""


def explain_cluster_row(row: ClusterRow, grouping_index: int, width: int) -> ClusterExplanation:
    """Explain the cluster of a row.

    A long error type is cut so that the explanation fits into `width`.
    """
    example = row.group.example_cluster if row.cluster is None else row.cluster
    if grouping_index == BY_VALUE and not row.group.is_incident:
        text = (
            f"{GROUPING_HEADINGS[BY_VALUE]}: {sanitize(row.group.name)}" if row.group.name else ""
        )
    else:
        by_step = grouping_index == BY_DECISIVE_STEP
        group = (
            row.group
            if row.cluster is None or by_step
            else ClusterGroup("", name=None, clusters=[row.cluster])
        )
        text = explain_group(group, grouping_index)
        if display_width(text) > width:
            name, colon, words = text.partition(": ")
            room = max(width - display_width(colon + words), MIN_ERROR_TYPE_CELLS)
            text = truncate_error_type(name, room) + colon + words
    if example is None or not example.description:
        return ClusterExplanation(text, "")
    return ClusterExplanation(
        text, f"{sanitize(example.examples[0])}: {sanitize(example.description)}"
    )


def format_error_type_title(error_type: str) -> str:
    """Return the meaning of an error type, or the error type itself if its meaning is unknown.

    For an incident, return a short title such as `No answer: rate limit`, because the sentences of
    several kinds begin alike.
    """
    if error_type.startswith(INCIDENT_PREFIX):
        return format_incident_title(error_type.removeprefix(INCIDENT_PREFIX))
    meaning = describe_error_type(error_type)
    return meaning[:1].upper() + meaning[1:] if meaning else sanitize(error_type)


def _truncate_value_pair(text: str, width: int) -> str:
    sides = text[2:].split(VALUE_ARROW)
    if display_width(text) <= width or len(sides) != 2:
        return truncate_middle(text, width)
    room = max(width - 2 - len(VALUE_ARROW), 2)
    first = min(display_width(sides[0]), max(room // 2, room - display_width(sides[1])))
    return text[:2] + truncate(sides[0], first) + VALUE_ARROW + truncate(sides[1], room - first)


def _truncate_at_word(text: str, width: int) -> str:
    """Cut a text after a word, or a list of names after the first name: `6 city …`.

    Cut a single name in its middle.
    """
    ellipsis, separator = symbols().ellipsis, f" {symbols().separator} "
    if display_width(text) <= width:
        return text
    names, head = text.split(separator), truncate(text, width).removesuffix(ellipsis)
    at = display_width(names[0]) if len(names) > 1 else head.rfind(" ", len(head) // 2)
    return f"{head[:at]} {ellipsis}" if 0 <= at < width - 1 else truncate_middle(names[0], width)


def _truncate_id_list(text: str, width: int) -> str:
    """Omit ids at the end of a list until it fits. Cut a single id in its middle."""
    if display_width(text) <= width:
        return text
    at = truncate(text, width - 1).rfind(" ")
    return (
        f"{text[:at]} {symbols().ellipsis}"
        if at > 0
        else truncate_middle(text.partition(" ")[0], width)
    )


@dataclass(slots=True)
class ClusterTable(ChoiceTable[tuple[str, ...]]):
    """Table of clusters.

    Each row begins with its prefix: the count, its percentage of the failures and a bar.
    """

    prefix_heading: Line = ()
    prefixes: Sequence[Line] = ()

    def lines(self, cells: int) -> TableLines:
        heading, lines = lay_out_table(
            self.columns, self.rows, cells - 3 - line_width(self.prefix_heading)
        )
        joined: list[Line] = [
            ((" ", ""), *one, *two) for one, two in zip(self.prefixes, lines, strict=True)
        ]
        return TableLines((("  ", ""), *self.prefix_heading, *heading), joined)


def build_cluster_table(
    rows: Sequence[ClusterRow],
    grouping_index: int,
    n_failures: int,
    unfolded_terms: set[str],
    width: int,
) -> ClusterTable:
    """Return the table of clusters of `n_failures` failing items.

    Args:
        grouping_index: Index of `fcreview.matching.clusters.GROUPINGS`.
        unfolded_terms: Filter terms of the unfolded groups.
    """
    largest = max((row.n_failures for row in rows), default=1)
    number_cells = max(len(f"{largest:,}"), 5)
    has_shares = width >= SHARES_MIN_CELLS
    bar_cells = BAR_CELLS[has_shares]
    heading: Line = (
        (
            "items".rjust(number_cells)
            + ("  share  " if has_shares else "  ")
            + " " * (bar_cells + 1),
            "dim",
        ),
    )
    prefixes: list[Line] = []
    for row in rows:
        number, share = (
            f"{row.n_failures:,}".rjust(number_cells),
            format_share(row.n_failures, n_failures).rjust(5),
        )
        drawn = (*share_bar(row.n_failures / largest, bar_cells, "fail"), (" ", ""))
        style = "strong" if row.cluster is None else ""
        shown_share = f"  {share}  " if has_shares else "  "
        prefixes.append(
            ((number, style), (shown_share, "" if row.cluster is None else "dim"), *drawn)
        )
    return ClusterTable(
        title=f"{format_count(n_failures, 'failure')} by {GROUPINGS[grouping_index]}",
        noun="group",
        total=sum(row.cluster is None for row in rows),
        columns=_choose_cluster_columns(grouping_index, width),
        rows=_distinguish_equal_explanations(
            [_make_cluster_cells(row, grouping_index, unfolded_terms, width) for row in rows],
            rows,
            width,
        ),
        values=[row.filter_terms for row in rows],
        empty_message="no failures",
        prefix_heading=heading,
        prefixes=prefixes,
    )


def _choose_cluster_columns(grouping_index: int, width: int) -> list[TextColumn]:
    outer, inner = SUBDIVISIONS[grouping_index]
    by_error = grouping_index == BY_ERROR_TYPE
    truncate_name = {
        BY_ERROR_TYPE: _truncate_at_word,
        BY_DECISIVE_STEP: _truncate_at_word,
        BY_VALUE: _truncate_value_pair,
    }.get(grouping_index, truncate_middle)
    heading = "why" if by_error else GROUPING_HEADINGS[grouping_index]
    size = (width >= USUAL_CELLS) + (width >= SHARES_MIN_CELLS)
    min_width = (
        EXPLANATION_CELLS[size] if grouping_index in (BY_ERROR_TYPE, BY_DECISIVE_STEP) else 20
    )
    columns = [TextColumn(f"  {heading}", truncate=truncate_name, min_width=min_width)]
    if by_error and width >= CODES_MIN_CELLS:
        columns.append(TextColumn("error type", truncate=truncate_error_type, min_width=14))
    mostly = f"mostly: {GROUPINGS[outer]} {symbols().separator} {GROUPINGS[inner]}"
    title = mostly if width >= EXAMPLES_MIN_CELLS else "mostly"
    columns.append(TextColumn(title, truncate=_truncate_at_word, min_width=MOSTLY_CELLS[size]))
    if width >= EXAMPLES_MIN_CELLS:
        columns.append(TextColumn("example", truncate=_truncate_id_list, min_width=EXAMPLE_CELLS))
    return columns


def _make_cluster_cells(
    row: ClusterRow, grouping_index: int, unfolded_terms: set[str], width: int
) -> list[StyledText]:
    by_error, code = grouping_index == BY_ERROR_TYPE, ""
    if row.cluster is None:
        sign = symbols().unfolded if row.group.term in unfolded_terms else symbols().folded
        mark = f"{sign} " if is_unfoldable(row.group) else "  "
        name = sanitize(row.group.name) if row.group.name else UNNAMED_GROUPS[grouping_index]
        is_code = grouping_index in (BY_ERROR_TYPE, BY_DECISIVE_STEP) or row.group.is_incident
        if is_code and row.group.name:
            name, code = format_error_type_title(row.group.name), name
            code = "" if code == name else code
        examples = [cluster.examples[0] for cluster in row.group.clusters[:3] if cluster.examples]
        parts: list[StyledText] = [(mark + name, "strong")]
        mostly = summarize_group(row.group, grouping_index, symbols().separator)
    else:
        outer, inner = (
            row.cluster.names_by_grouping[place] for place in SUBDIVISIONS[grouping_index]
        )
        first = sanitize(outer) if outer else UNNAMED_GROUPS[SUBDIVISIONS[grouping_index][0]]
        parts, examples = [("    " + first, "" if outer else "dim")], row.cluster.examples
        mostly = sanitize(inner or "")
    parts += [(code, "dim")] if by_error and width >= CODES_MIN_CELLS else []
    parts.append((mostly, ""))
    return [*parts, (sanitize(" ".join(examples)), "dim")] if width >= EXAMPLES_MIN_CELLS else parts


def _distinguish_equal_explanations(
    row_cells: list[list[StyledText]], rows: Sequence[ClusterRow], width: int
) -> list[list[StyledText]]:
    """Put the first word of the error type before each explanation that several groups share."""
    counts = Counter(each[0][0] for each in row_cells)
    for each, row in zip(row_cells, rows, strict=True):
        text, style = each[0]
        if row.cluster is None and row.group.name and counts[text] > 1 and width < CODES_MIN_CELLS:
            word = re.split(r"[_:\W]", row.group.name, maxsplit=1)[0]
            each[0] = f"{text[:2]}{sanitize(word)}: {text[2:3].lower()}{text[3:]}", style
    return row_cells


def _describe_group(group: ClusterGroup) -> str:
    """Return the meaning of a group's error type, or the short title of an incident.

    Empty if it is unknown.
    """
    if group.is_incident:
        return format_error_type_title(group.name or "")
    return describe_error_type(group.name or "")


MAX_REASONS = 60
REASON_BAR_CELLS = (8, 14)
"""Minimum and maximum width, in cells, of a bar in the list of failure reasons.

It is narrow beside a long sentence.
"""
REASON_LINES = 2
"""Number of lines of a failure reason on the overview."""


def failure_reason_lines(groups: Sequence[ClusterGroup], width: int) -> list[Line]:
    largest = max((group.count for group in groups), default=1)
    count_cells = max(display_width(f"{largest:,}"), 3)
    room = width - count_cells - 2
    shown = groups[:MAX_REASONS]
    meanings = [_describe_group(group) for group in shown]
    least, most = REASON_BAR_CELLS
    bar_cells = max(least, min(most, room - 2 - max(map(display_width, meanings), default=0)))
    lines: list[Line] = []
    for group, meaning in zip(shown, meanings, strict=True):
        code = sanitize(group.name or "(no error type)")
        sentence = meaning[:1].upper() + meaning[1:] if meaning else code
        code = truncate_error_type(code, room // 2) if meaning else ""
        example = (
            parse_difference_line(group.example_cluster.difference or "")
            if group.example_cluster is not None
            else ()
        )
        share = share_bar(group.count / largest, bar_cells, "fail")
        text = truncate(sentence, room - bar_cells - 2)
        lines.append(
            ((f"{group.count:>{count_cells},}  ", "strong"), *share, ("  ", ""), (text, ""))
        )
        head: Line = ((" " * (count_cells + 2), ""), (code, "dim"), ("  " if code else "", ""))
        lines.append((*head, *shorten_difference_line(example, max(width - line_width(head), 1))))
    return lines
