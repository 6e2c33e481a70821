"""Build the lists that the queue screen opens: orders, import issues, suspects by reason and
clusters of failures.

In blind mode, the lists omit everything that would reveal verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fcreview.matching.clusters import BY_ERROR_TYPE, BY_VALUE, ClusterGroup, Grouping
from fcreview.model.item import ImportIssue
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import format_count
from fcreview.store.filters.tokens import quote_or_hash
from fcreview.store.rows import Suspicion
from fcreview.tables.clusters import (
    CODE_TITLE,
    EXAMPLES_TITLE,
    NAME_COLUMN,
    SHARE_TITLE,
    ClusterRow,
    build_cluster_table,
    is_unfoldable,
    name_group_by_meaning,
)
from fcreview.tables.table import Table
from fcreview.tui.queue.columns import parse_difference_line, shorten_difference_line
from fcreview.tui.queue_state import QueueState, list_available_orders
from fcreview.tui.text.graphics import share_bar
from fcreview.tui.text.lines import (
    BLANK_LINE,
    ChoiceTable,
    Line,
    LineBuilder,
    StyledText,
    TextColumn,
    make_line,
    sanitize_and_wrap,
    truncate,
    truncate_error_type,
    truncate_middle,
)
from fcreview.tui.text.styles import symbols
from fcreview.tui.text.tables import FigureTable, make_figure_table


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
        missing_verdicts.append(ImportIssue("", what=what, severity="notice"))
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
            # A blank at each end, and one after the label.
            room = cells - len(label) - 3
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
        rows=[_suspect_group_row(group) for group in groups],
        values=[group.items for group in groups],
        # The list covers the chosen runs, whatever the filter of the items is.
        note=f"all items: {n_suspects}, {n_strong:,} strong",
        empty_message="no suspects",
    )


def _suspect_group_row(group: _SuspectGroup) -> list[StyledText]:
    return [
        (f"{len(group.items):,}", ""),
        (f"{group.n_strong:,}", ""),
        (sanitize(group.title), "strong"),
        (sanitize(group.example), "dim"),
    ]


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

    def rank(group: _SuspectGroup) -> tuple[int, int]:
        return group.n_strong, len(group.items)

    return sorted(groups.values(), key=rank, reverse=True)


SHARES_MIN_CELLS, CODES_MIN_CELLS, EXAMPLES_MIN_CELLS = 96, 136, 150
"""Minimum widths of the table of clusters, in cells, for percentages, for the codes of error types,
and for examples.
"""
USUAL_CELLS = 76
"""Width of the table, in cells, from which the meanings of error types and the most frequent kinds
of failures keep the following widths.
"""
MEANING_CELLS = 41
MOSTLY_CELLS = 19
FOLD_MARK_CELLS = 2
MIN_ERROR_TYPE_CELLS = 16
MOSTLY_TITLE = "mostly"


def build_cluster_choices(
    rows: Sequence[ClusterRow],
    grouping: Grouping,
    *,
    n_failures: int,
    unfolded_terms: set[str],
    width: int,
) -> FigureTable[tuple[str, ...]]:
    """Return the table of clusters: groups of failing items with the same cause.

    Choosing a row filters the queue: its value are the filter terms that select the items.

    Args:
        n_failures: Number of failing items.
        unfolded_terms: Filter terms of the unfolded groups.
        width: Width of the table in cells. A narrow table has fewer columns.
    """
    figure = build_cluster_table(rows, grouping, n_failures)
    figure = _add_fold_marks(figure, rows, unfolded_terms)
    figure = _omit_cluster_columns(figure, width)
    # The title counts groups, not the clusters of unfolded groups.
    n_groups = sum(row.cluster is None for row in rows)
    return make_figure_table(
        figure,
        [row.filter_terms for row in rows],
        noun="group",
        total=n_groups,
        empty_message="no failures",
    )


def _add_fold_marks(figure: Table, rows: Sequence[ClusterRow], unfolded_terms: set[str]) -> Table:
    """Return the table with a mark before each name, which shows whether a group is unfolded.

    Only groups with several clusters can be unfolded. Other rows have blanks instead of a mark.
    """
    columns = list(figure.columns)
    blank = " " * FOLD_MARK_CELLS
    columns[NAME_COLUMN] = replace(columns[NAME_COLUMN], title=blank + columns[NAME_COLUMN].title)

    marked_rows = []
    for row, figure_row in zip(rows, figure.rows, strict=True):
        cells = list(figure_row.cells)
        name = cells[NAME_COLUMN]
        cells[NAME_COLUMN] = replace(name, text=_fold_mark(row, unfolded_terms) + name.text)
        marked_rows.append(replace(figure_row, cells=cells))
    return replace(figure, columns=columns, rows=marked_rows)


def _fold_mark(row: ClusterRow, unfolded_terms: set[str]) -> str:
    """Return the mark of a row for a group with several clusters. Other rows have blanks."""
    if row.cluster is not None or not is_unfoldable(row.group):
        return " " * FOLD_MARK_CELLS
    if row.group.term in unfolded_terms:
        return f"{symbols().unfolded} "
    return f"{symbols().folded} "


def _omit_cluster_columns(figure: Table, width: int) -> Table:
    """Omit the columns for which a table of this width has no room, and shorten the title of the
    most frequent kind of failure.
    """
    if width >= USUAL_CELLS:
        figure = _widen_cluster_columns(figure)
    omitted = []
    if width < SHARES_MIN_CELLS:
        omitted.append(SHARE_TITLE)
    if width < CODES_MIN_CELLS:
        omitted.append(CODE_TITLE)
    if width >= EXAMPLES_MIN_CELLS:
        return figure.without(omitted)
    omitted.append(EXAMPLES_TITLE)

    columns = []
    for column in figure.columns:
        is_mostly = column.title.startswith(f"{MOSTLY_TITLE}:")
        columns.append(replace(column, title=MOSTLY_TITLE) if is_mostly else column)
    return replace(figure, columns=columns).without(omitted)


def _widen_cluster_columns(figure: Table) -> Table:
    """Return the table with the widths of the text columns that a usual screen has room for."""
    columns = []
    for column in figure.columns:
        if column.cut == "word":
            is_mostly = column.title.startswith(f"{MOSTLY_TITLE}:")
            column = replace(column, min_cells=MOSTLY_CELLS if is_mostly else MEANING_CELLS)
        columns.append(column)
    return replace(figure, columns=columns)


def shorten_cluster_explanation(text: str, grouping: Grouping, width: int) -> str:
    """Shorten the explanation of a cluster, `ERROR_TYPE: MEANING`, so that the meaning after a long
    error type fits into `width`.
    """
    error_type, colon, meaning = text.partition(": ")
    if grouping == BY_VALUE or display_width(text) <= width:
        return text
    room = max(width - display_width(colon + meaning), MIN_ERROR_TYPE_CELLS)
    return truncate_error_type(error_type, room) + colon + meaning


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
    largest_count = max((group.count for group in groups), default=1)
    count_cells = max(display_width(f"{largest_count:,}"), MIN_COUNT_CELLS)
    cells_after_count = width - count_cells - REASON_GAP_CELLS
    shown_groups = groups[:MAX_REASONS]
    bar_cells = _choose_reason_bar_width(shown_groups, cells_after_count)

    lines: list[Line] = []
    for group in shown_groups:
        name = name_group_by_meaning(group, BY_ERROR_TYPE)
        count = f"{group.count:>{count_cells},}{REASON_GAP}"
        bar = share_bar(group.count / largest_count, bar_cells, "fail")
        # The meaning gets the cells that the bar leaves.
        meaning = truncate(name.name, cells_after_count - bar_cells - REASON_GAP_CELLS)
        lines.append(((count, "strong"), *bar, (REASON_GAP, ""), (meaning, "")))

        # The second line of a reason begins below the bar.
        indent = " " * (count_cells + REASON_GAP_CELLS)
        example = _failure_example_line(group, name.code, cells_after_count)
        lines.append(((indent, ""), *example))
    return lines


def _failure_example_line(group: ClusterGroup, code: str, cells: int) -> Line:
    """Return the second line of a failure reason, below its meaning.

    The line has the error type and the first difference of an example. `code`: the error type, or
    an empty text if the first line already shows the error type.
    """
    line = LineBuilder()
    if code:
        line.add(truncate_error_type(code, cells // 2), "dim")
        line.add("  ")
    example_cells = max(cells - line.width, 1)
    line.add_line(shorten_difference_line(_find_example_line(group), example_cells))
    return line.build()


def _choose_reason_bar_width(groups: Sequence[ClusterGroup], room: int) -> int:
    """Return the width of the bars. They are narrow beside long sentences."""
    longest = 0
    for group in groups:
        name = name_group_by_meaning(group, BY_ERROR_TYPE)
        # Only error types with a known meaning are sentences, which should not be cut.
        if name.code:
            longest = max(longest, display_width(name.name))
    min_cells, max_cells = REASON_BAR_CELLS
    free_cells = room - REASON_GAP_CELLS - longest
    return max(min_cells, min(max_cells, free_cells))


def _find_example_line(group: ClusterGroup) -> Line:
    if group.example_cluster is None:
        return BLANK_LINE
    return parse_difference_line(group.example_cluster.difference or "")
