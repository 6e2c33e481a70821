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
    BLANK_LINE,
    CHOICE_HEADING_PREFIX,
    CHOICE_MARGIN,
    CHOICE_ROW_PREFIX,
    ChoiceTable,
    FixedColumn,
    Line,
    LineBuilder,
    StyledText,
    TableLines,
    TextColumn,
    lay_out_fixed_columns,
    lay_out_table,
    line_width,
    make_line,
    sanitize_and_wrap,
    truncate,
    truncate_error_type,
    truncate_middle,
)
from fcreview.tui.text.styles import symbols


def build_order_choices(state: QueueState) -> ChoiceTable[str]:
    """Return the table from which the reader chooses the order of the queue.

    The cursor is on the current order.
    """
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


SEVERITY_STYLES: Mapping[str, str] = {"error": "bad", "warning": "warn", "notice": "dim"}
MIN_ISSUE_TABLE_CELLS = 100
"""Width of the screen, in cells, from which the table of import issues has the columns item and
where. Below it, the problem takes the width, and the lines below the table name both.
"""
MAX_ISSUE_ROWS = 4
"""Number of rows, below the table, for the text of the issue under the cursor."""


def list_import_issues(
    issues: Sequence[ImportIssue], missing_verdict_counts: Sequence[tuple[str, int]]
) -> list[ImportIssue]:
    """Return the issues of the importers, then one for each reason without recomputed verdicts.

    `missing_verdict_counts`: (reason, number of items) pairs of items without a recomputed verdict.
    """
    missing_verdicts = []
    for reason, n_items in missing_verdict_counts:
        what = f"no recomputed verdict for {format_count(n_items, 'item')}: {reason}"
        missing_verdicts.append(ImportIssue("", None, what=what, severity="notice"))
    return [*issues, *missing_verdicts]


def build_issue_choices(issues: Sequence[ImportIssue], cells: int) -> ChoiceTable[str]:
    """Return the table of import issues for a screen that is `cells` wide.

    Choosing a row filters the queue: its value is the filter that selects the item with the issue.
    The value is empty if the issue belongs to a file.
    """
    columns = [TextColumn("severity"), TextColumn("what", min_width=30)]
    if cells >= MIN_ISSUE_TABLE_CELLS:
        columns.append(TextColumn("item", truncate=truncate_middle, min_width=12))
        columns.append(TextColumn("where", truncate=truncate_middle, min_width=16))
    return ChoiceTable(
        title="import issues",
        noun="issue",
        columns=columns,
        # In a narrow table, the cells of the omitted columns are cut off.
        rows=[_make_issue_cells(issue)[: len(columns)] for issue in issues],
        values=[make_issue_filter(issue) for issue in issues],
        empty_message="no import issues",
    )


def make_issue_filter(issue: ImportIssue) -> str:
    """Return the filter that selects the item of an issue. Empty for an issue about a file."""
    return f"id:{quote_or_hash(issue.item)}" if issue.item else ""


def _format_place(issue: ImportIssue) -> str:
    return f"{issue.file}:{issue.line}" if issue.line else issue.file


def _make_issue_cells(issue: ImportIssue) -> list[StyledText]:
    """Return the cells of an import issue: severity, problem, item, and place in the files."""
    return [
        (issue.severity, SEVERITY_STYLES[issue.severity]),
        (sanitize(issue.what), ""),
        (sanitize(issue.item or ""), "dim"),
        (sanitize(_format_place(issue)), "dim"),
    ]


def explain_issue(issue: ImportIssue, cells: int) -> list[Line]:
    """Return the whole text of an import issue, which the table may cut, then its item and its
    place.
    """
    lines = []
    for row in sanitize_and_wrap(issue.what, cells - 2, MAX_ISSUE_ROWS):
        lines.append(make_line(f" {row}"))

    places = {"item": issue.item or "", "where": _format_place(issue)}
    for label, name in places.items():
        if name:
            room = cells - len(label) - 3  # a blank at each end, and one after the label
            lines.append(((f" {label} ", "dim"), (truncate_middle(sanitize(name), room), "")))
    return lines


def format_issue_text(issue: ImportIssue) -> str:
    """Return everything that is known of an issue as text, with the record that it is about."""
    lines = [f"{issue.severity}: {issue.what}"]
    if issue.item:
        lines.append(f"item: {issue.item}")
    if issue.file:
        lines.append(f"where: {_format_place(issue)}")
    if issue.raw:
        lines += ["", issue.raw]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _SuspectGroup:
    """Suspects with the same strongest reason."""

    title: str
    items: list[int]
    """Numbers of the items, at least one."""
    suspicions: list[Suspicion]

    @property
    def n_strong(self) -> int:
        return sum(suspicion.is_strong for suspicion in self.suspicions)

    @property
    def example(self) -> str:
        """What is wrong with the golden answer of the first suspect."""
        _, _, details = self.suspicions[0].summary.partition(": ")
        return details


def build_suspect_reason_choices(
    suspicion_by_item: Mapping[int, Suspicion],
) -> ChoiceTable[Sequence[int]]:
    """Return the table of the reasons why golden answers look wrong.

    Suspects with the same strongest reason form a row. The reasons with the most strong suspects
    come first. Choosing a row lists its suspects: its value is their item numbers.
    """
    groups = _group_suspects_by_reason(suspicion_by_item)
    rows: list[list[StyledText]] = []
    for group in groups:
        row = [
            (f"{len(group.items):,}", ""),
            (f"{group.n_strong:,}", ""),
            (sanitize(group.title), "strong"),
            (sanitize(group.example), "dim"),
        ]
        rows.append(row)

    n_suspects = format_count(len(suspicion_by_item), "suspect")
    n_strong = sum(group.n_strong for group in groups)
    return ChoiceTable(
        title="suspects by reason",
        noun="reason",
        columns=(
            TextColumn("suspects", align_right=True),
            TextColumn("strong", align_right=True),
            TextColumn("strongest reason"),
            TextColumn("example", min_width=20),
        ),
        rows=rows,
        values=[group.items for group in groups],
        # The list covers the chosen runs, whatever the filter of the items is.
        note=f"all items: {n_suspects}, {n_strong:,} strong",
        empty_message="no suspects",
    )


def _group_suspects_by_reason(suspicion_by_item: Mapping[int, Suspicion]) -> list[_SuspectGroup]:
    """Group suspect golden answers by their strongest reason.

    The groups with the most strong suspects come first, and among those, the largest ones.
    """
    groups: dict[str, _SuspectGroup] = {}
    for item, suspicion in suspicion_by_item.items():
        title = suspicion.title
        group = groups.setdefault(title, _SuspectGroup(title, items=[], suspicions=[]))
        group.items.append(item)
        group.suspicions.append(suspicion)
    return sorted(groups.values(), key=lambda group: (-group.n_strong, -len(group.items)))


USUAL_CELLS, SHARES_MIN_CELLS, CODES_MIN_CELLS, EXAMPLES_MIN_CELLS = 76, 96, 136, 150
"""Minimum widths of the table, in cells, for medium columns, for percentages and wide columns, for
the codes of error types, and for examples.
"""
NARROW_BAR_CELLS = 4
WIDE_BAR_CELLS = 10
SHARE_CELLS = 5
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
    """Explain the row of a cluster table: what its failures have in common, and an example.

    A long error type is cut, so that its meaning after it fits into `width`.
    """
    text = _explain_cluster(row, grouping_index)
    # Texts of other groupings have the form `error type: meaning`.
    is_by_value = grouping_index == BY_VALUE and not row.group.is_incident
    if display_width(text) > width and not is_by_value:
        error_type, colon, meaning = text.partition(": ")
        room = max(width - display_width(colon + meaning), MIN_ERROR_TYPE_CELLS)
        text = truncate_error_type(error_type, room) + colon + meaning

    # A row is a group of clusters, or one cluster of a group that the reader unfolded.
    example = row.group.example_cluster if row.cluster is None else row.cluster
    if example is None or not example.description:
        return ClusterExplanation(text, "")
    item_id = sanitize(example.examples[0])
    return ClusterExplanation(text, f"{item_id}: {sanitize(example.description)}")


def _explain_cluster(row: ClusterRow, grouping_index: int) -> str:
    """Explain what the failures of a row have in common."""
    if grouping_index == BY_VALUE and not row.group.is_incident:
        if not row.group.name:
            return ""
        return f"{GROUPING_HEADINGS[BY_VALUE]}: {sanitize(row.group.name)}"
    # The clusters of a decisive step have the meaning of their group.
    if row.cluster is None or grouping_index == BY_DECISIVE_STEP:
        return explain_group(row.group, grouping_index)
    # The cluster is explained like a group that contains only this cluster.
    return explain_group(ClusterGroup("", None, [row.cluster]), grouping_index)


def format_error_type_title(error_type: str) -> str:
    """Return the meaning of an error type, or the error type itself if its meaning is unknown.

    For an incident, return a short title such as `No answer: rate limit`, because the sentences of
    several kinds begin alike.
    """
    if error_type.startswith(INCIDENT_PREFIX):
        return format_incident_title(error_type.removeprefix(INCIDENT_PREFIX))
    meaning = describe_error_type(error_type)
    return _capitalize(meaning) if meaning else sanitize(error_type)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


VALUE_INDENT = 2
"""Width, in cells, of the mark or blanks before a pair of values."""


def _truncate_value_pair(text: str, width: int) -> str:
    """Cut the two values of `▸ golden → predicted`, so that the beginnings of both are visible.

    If one value is short, the other one gets the rest of the room.
    """
    mark = text[:VALUE_INDENT]
    values = text[VALUE_INDENT:].split(VALUE_ARROW)
    # A text with another number of arrows is no pair of values.
    if display_width(text) <= width or len(values) != 2:
        return truncate_middle(text, width)

    golden, predicted = values
    room = max(width - VALUE_INDENT - len(VALUE_ARROW), 2)
    beside_predicted = room - display_width(predicted)
    golden_cells = min(display_width(golden), max(room // 2, beside_predicted))
    short_golden = truncate(golden, golden_cells)
    short_predicted = truncate(predicted, room - golden_cells)
    return mark + short_golden + VALUE_ARROW + short_predicted


def _truncate_at_word(text: str, width: int) -> str:
    """Cut a text after a word: `6 city …`. Cut a list of names after the first name.

    A single name has no such place, so it is cut in its middle.
    """
    if display_width(text) <= width:
        return text

    ellipsis = symbols().ellipsis
    head = truncate(text, width).removesuffix(ellipsis)
    first_name, *other_names = text.split(f" {symbols().separator} ")
    if other_names:
        end = display_width(first_name)
    else:
        # Only a blank in the second half counts, so that enough of the text stays.
        end = head.rfind(" ", len(head) // 2)
    if 0 <= end < width - 1:
        return f"{head[:end]} {ellipsis}"
    return truncate_middle(first_name, width)


def _truncate_id_list(text: str, width: int) -> str:
    """Omit ids at the end of a list until it fits. Cut a single id in its middle."""
    if display_width(text) <= width:
        return text
    last_blank = truncate(text, width - 1).rfind(" ")
    if last_blank > 0:
        return f"{text[:last_blank]} {symbols().ellipsis}"
    first_id, _, _ = text.partition(" ")
    return truncate_middle(first_id, width)


@dataclass(slots=True)
class ClusterTable(ChoiceTable[tuple[str, ...]]):
    """Table of clusters.

    Each row begins with its prefix: the count, its percentage of the failures and a bar.
    """

    prefix_heading: Line = ()
    prefixes: Sequence[Line] = ()

    def lines(self, cells: int) -> TableLines:
        """Lay out the table in `cells`. Each row is a prefix (count, share and bar), then its
        texts.
        """
        prefix_cells = line_width(self.prefix_heading)
        table = lay_out_table(self.columns, self.rows, cells - CHOICE_MARGIN - prefix_cells)
        heading = (*CHOICE_HEADING_PREFIX, *self.prefix_heading, *table.heading)
        rows: list[Line] = []
        for prefix, row in zip(self.prefixes, table.rows, strict=True):
            rows.append((*CHOICE_ROW_PREFIX, *prefix, *row))
        return TableLines(heading, rows)


def build_cluster_table(
    rows: Sequence[ClusterRow],
    grouping_index: int,
    n_failures: int,
    unfolded_terms: set[str],
    width: int,
) -> ClusterTable:
    """Return the table of clusters: groups of failing items with the same cause.

    A group can contain several clusters, which it shows below it when it is unfolded.

    Args:
        grouping_index: Index of `fcreview.matching.clusters.GROUPINGS`, which says what the
            failures of a group have in common.
        n_failures: Number of failing items.
        unfolded_terms: Filter terms of the unfolded groups.
    """
    layout = _ClusterLayout(grouping_index, width)
    # Count, share and bar have fixed widths. The columns of text after them share the other cells.
    prefixes = lay_out_fixed_columns(_choose_prefix_columns(rows, n_failures, layout), rows)
    cells = [_make_cluster_cells(row, layout, unfolded_terms) for row in rows]
    if not layout.shows_codes:
        cells = _distinguish_equal_explanations(cells, rows)
    return ClusterTable(
        title=f"{format_count(n_failures, 'failure')} by {GROUPINGS[grouping_index]}",
        noun="group",
        total=sum(row.cluster is None for row in rows),
        columns=_choose_cluster_columns(layout),
        rows=cells,
        values=[row.filter_terms for row in rows],
        empty_message="no failures",
        prefix_heading=prefixes.heading,
        prefixes=prefixes.rows,
    )


@dataclass(frozen=True, slots=True)
class _ClusterLayout:
    """Grouping of a table of clusters, and what fits into its width."""

    grouping_index: int
    width: int

    @property
    def size_class(self) -> int:
        """0 for a narrow, 1 for a medium and 2 for a wide table."""
        if self.has_shares:
            return 2
        return 1 if self.width >= USUAL_CELLS else 0

    @property
    def has_shares(self) -> bool:
        return self.width >= SHARES_MIN_CELLS

    @property
    def is_by_error_type(self) -> bool:
        return self.grouping_index == BY_ERROR_TYPE

    @property
    def has_codes(self) -> bool:
        """Whether a column shows the codes of error types."""
        return self.is_by_error_type and self.shows_codes

    @property
    def shows_codes(self) -> bool:
        """Whether the table is wide enough for the codes of error types."""
        return self.width >= CODES_MIN_CELLS

    @property
    def has_examples(self) -> bool:
        return self.width >= EXAMPLES_MIN_CELLS


def _choose_prefix_columns(
    rows: Sequence[ClusterRow], n_failures: int, layout: _ClusterLayout
) -> list[FixedColumn[ClusterRow]]:
    """Return the first columns of the cluster table: the number of failures, their share, and a
    bar.

    Groups are strong, the clusters inside them are not. A narrow table has no share.
    """
    largest = max((row.n_failures for row in rows), default=1)

    def count_cell(row: ClusterRow) -> Line:
        return make_line(f"{row.n_failures:,}", "strong" if row.cluster is None else "")

    def share_cell(row: ClusterRow) -> Line:
        share = format_share(row.n_failures, n_failures).rjust(SHARE_CELLS)
        return make_line(share, "" if row.cluster is None else "dim")

    def bar_cell(row: ClusterRow) -> Line:
        return share_bar(row.n_failures / largest, bar_cells, "fail")

    count_cells = max(len(f"{largest:,}"), len("items"))
    bar_cells = WIDE_BAR_CELLS if layout.has_shares else NARROW_BAR_CELLS
    columns = [FixedColumn("items", count_cells, count_cell, align_right=True, gap="")]
    if layout.has_shares:
        columns.append(FixedColumn("share", SHARE_CELLS, share_cell))
    # A blank follows the bar.
    columns.append(FixedColumn("", bar_cells + 1, bar_cell))
    return columns


TRUNCATE_NAME = {
    BY_ERROR_TYPE: _truncate_at_word,
    BY_DECISIVE_STEP: _truncate_at_word,
    BY_VALUE: _truncate_value_pair,
}
"""How names of groups are shortened, by grouping. Names of other groupings are cut in the
middle.
"""
MIN_GROUP_CELLS = 20


def _choose_cluster_columns(layout: _ClusterLayout) -> list[TextColumn]:
    """Return the text columns of the cluster table: the group, its error type, its most frequent
    kind of failure, and examples.

    A narrow table omits the error type and the examples.
    """
    grouping_index = layout.grouping_index
    min_name_cells = MIN_GROUP_CELLS
    if grouping_index in (BY_ERROR_TYPE, BY_DECISIVE_STEP):
        min_name_cells = EXPLANATION_CELLS[layout.size_class]
    heading = "why" if layout.is_by_error_type else GROUPING_HEADINGS[grouping_index]
    truncate_name = TRUNCATE_NAME.get(grouping_index, truncate_middle)
    columns = [TextColumn(f"  {heading}", truncate=truncate_name, min_width=min_name_cells)]
    if layout.has_codes:
        columns.append(TextColumn("error type", truncate=truncate_error_type, min_width=14))

    # `mostly` names how the failures of a group are divided further.
    mostly = "mostly"
    if layout.has_examples:
        outer, inner = SUBDIVISIONS[grouping_index]
        mostly = f"mostly: {GROUPINGS[outer]} {symbols().separator} {GROUPINGS[inner]}"
    columns.append(
        TextColumn(mostly, truncate=_truncate_at_word, min_width=MOSTLY_CELLS[layout.size_class])
    )
    if layout.has_examples:
        columns.append(TextColumn("example", truncate=_truncate_id_list, min_width=EXAMPLE_CELLS))
    return columns


@dataclass(frozen=True, slots=True)
class _ClusterTexts:
    """Texts of a row of the table of clusters."""

    name: StyledText
    code: str
    """Error type whose meaning is the name. Empty if the name is the error type."""
    mostly: str
    examples: Sequence[str]


def _make_cluster_cells(
    row: ClusterRow, layout: _ClusterLayout, unfolded_terms: set[str]
) -> list[StyledText]:
    """Return the cells of a row of the cluster table: a group, or a cluster of an unfolded
    group.
    """
    if row.cluster is None:
        texts = _describe_cluster_group(row.group, layout.grouping_index, unfolded_terms)
    else:
        texts = _describe_single_cluster(row.cluster, layout.grouping_index)
    cells = [texts.name]
    if layout.has_codes:
        cells.append((texts.code, "dim"))
    cells.append((texts.mostly, ""))
    if layout.has_examples:
        cells.append((sanitize(" ".join(texts.examples)), "dim"))
    return cells


def _describe_cluster_group(
    group: ClusterGroup, grouping_index: int, unfolded_terms: set[str]
) -> _ClusterTexts:
    """Return the texts of a group of clusters.

    If the name of the group is an error type with a known meaning, the meaning is shown, and the
    error type goes into a column of its own.
    """
    mark = " "
    if is_unfoldable(group):
        mark = symbols().unfolded if group.term in unfolded_terms else symbols().folded

    # A group without a name has the failures that have nothing in common.
    name = UNNAMED_GROUPS[grouping_index]
    if grouping_index == BY_ERROR_TYPE:
        name = f"({group.title})"
    code = ""
    if group.name:
        name = sanitize(group.name)
        is_code = grouping_index in (BY_ERROR_TYPE, BY_DECISIVE_STEP) or group.is_incident
        meaning = format_error_type_title(group.name) if is_code else name
        if meaning != name:
            code = name
            name = meaning

    examples = [cluster.examples[0] for cluster in group.clusters[:3] if cluster.examples]
    return _ClusterTexts(
        (f"{mark} {name}", "strong"),
        code=code,
        mostly=summarize_group(group, grouping_index, symbols().separator),
        examples=examples,
    )


def _describe_single_cluster(cluster: Cluster, grouping_index: int) -> _ClusterTexts:
    """Return the texts of a cluster of an unfolded group: its names by the two groupings that
    subdivide the group.
    """
    outer, inner = SUBDIVISIONS[grouping_index]
    outer_name = cluster.names_by_grouping[outer]
    inner_name = cluster.names_by_grouping[inner]
    name = sanitize(outer_name) if outer_name else UNNAMED_GROUPS[outer]
    return _ClusterTexts(
        (f"    {name}", "" if outer_name else "dim"),
        code="",
        mostly=sanitize(inner_name or ""),
        examples=cluster.examples,
    )


def _distinguish_equal_explanations(
    row_cells: Sequence[list[StyledText]], rows: Sequence[ClusterRow]
) -> list[list[StyledText]]:
    """Return the cells of the rows, so that no two groups have the same explanation.

    Different error types can have the same meaning. Then the first word of the error type stands
    before the meaning: `ast: the value has the wrong type`.
    """
    counts: Counter[str] = Counter()
    for (text, _), *_ in row_cells:
        counts[text] += 1

    distinct = []
    for cells, row in zip(row_cells, rows, strict=True):
        (text, style), *other_cells = cells
        is_ambiguous = row.cluster is None and counts[text] > 1
        if is_ambiguous and row.group.name:
            # The text begins with the mark of a folded or unfolded group.
            mark = text[:VALUE_INDENT]
            explanation = text[VALUE_INDENT:]
            first_word = re.split(r"[_:\W]", row.group.name, maxsplit=1)[0]
            text = f"{mark}{sanitize(first_word)}: {explanation[:1].lower()}{explanation[1:]}"
        distinct.append([(text, style), *other_cells])
    return distinct


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


MIN_COUNT_CELLS = 3
REASON_GAP = "  "
"""Blanks between the count, the bar and the sentence of a failure reason."""
REASON_GAP_CELLS = len(REASON_GAP)


def failure_reason_lines(groups: Sequence[ClusterGroup], width: int) -> list[Line]:
    """Return two lines for each of the most frequent failure reasons.

    The first line has its count, a bar and its meaning. The second one has its error type and an
    example.
    """
    largest = max((group.count for group in groups), default=1)
    count_cells = max(display_width(f"{largest:,}"), MIN_COUNT_CELLS)
    room = width - count_cells - REASON_GAP_CELLS
    shown = groups[:MAX_REASONS]
    # The meaning gets the cells that the bar leaves.
    bar_cells = _choose_reason_bar_width(shown, room)
    sentence_cells = room - bar_cells - REASON_GAP_CELLS

    lines: list[Line] = []
    for group in shown:
        first_line = LineBuilder()
        first_line.add(f"{group.count:>{count_cells},}{REASON_GAP}", "strong")
        first_line.add_line(share_bar(group.count / largest, bar_cells, "fail"))
        first_line.add(REASON_GAP)
        first_line.add(truncate(_name_failure_reason(group), sentence_cells))
        lines.append(first_line.build())
        # The second line begins below the bar.
        indent: StyledText = (" " * (count_cells + REASON_GAP_CELLS), "")
        lines.append((indent, *_failure_example_line(group, room)))
    return lines


def _name_failure_reason(group: ClusterGroup) -> str:
    """Return the meaning of the error type as a sentence, or the error type if its meaning is
    unknown.
    """
    meaning = _describe_group(group)
    if meaning:
        return _capitalize(meaning)
    return sanitize(group.name) if group.name else f"({group.title})"


def _failure_example_line(group: ClusterGroup, cells: int) -> Line:
    """Return the second line of a failure reason: its error type and the first difference of an
    example.

    The error type is left out if the first line already shows it instead of a meaning.
    """
    line = LineBuilder()
    if _describe_group(group):
        code = sanitize(group.title)
        line.add(truncate_error_type(code, cells // 2), "dim")
        line.add("  ")
    example_cells = max(cells - line.width, 1)
    line.add_line(shorten_difference_line(_find_example_line(group), example_cells))
    return line.build()


def _choose_reason_bar_width(groups: Sequence[ClusterGroup], room: int) -> int:
    """Return the width of the bars. They are narrow beside long sentences."""
    longest = max((display_width(_describe_group(group)) for group in groups), default=0)
    min_cells, max_cells = REASON_BAR_CELLS
    free_cells = room - REASON_GAP_CELLS - longest
    return max(min_cells, min(max_cells, free_cells))


def _find_example_line(group: ClusterGroup) -> Line:
    if group.example_cluster is None:
        return BLANK_LINE
    return parse_difference_line(group.example_cluster.difference or "")
