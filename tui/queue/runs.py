"""Lists of runs as tables, sorted, searched and grouped, and the comparison of two runs.

Two runs are shown as a table of differences and flips; a flip is shown with the golden answer and both predictions in
columns, or below each other on a narrow screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from fcreview.matching.first_difference import build_argument_rows
from fcreview.model.item import Call, CallPair, Item
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import (
    COLUMN_GAP,
    compute_column_widths,
    format_count,
    format_rate,
    format_rate_of_known,
    format_verdict,
)
from fcreview.stats.run_comparison import (
    RunComparison,
    Flip,
    ComparisonGroup,
    VerdictSource,
    format_difference,
    format_p_value,
    list_caveats,
    are_rates_comparable,
)
from fcreview.store.queries.run_lists import (
    GROUP_LABELS,
    SORT_KEYS,
    VERDICT_ORDERS,
    RunGroup,
    folder_label,
    group_runs,
    search_runs,
    sort_runs,
)
from fcreview.store.rows import RunRow
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.text.lines import (
    BLANK_LINE,
    ChoiceTable,
    Line,
    TextColumn,
    format_recomputed_pass_rate,
    make_line,
    pad_span,
    rule_line,
    truncate_middle,
    wrap_text,
    wrap_visible,
)
from fcreview.tui.text.lines import StyledText as Cell
from fcreview.tui.text.lines import format_pass_rate as whole_rate_of
from fcreview.tui.text.theme import symbols

COLUMNS_MIN_CELLS = 120
"""Width in cells from which golden answer and predictions are shown in three columns."""
MAX_QUESTION_LINES = 8
"""Largest number of lines of the question."""


def flip_lines(flip: Flip, a: Item, b: Item, cells: int) -> list[Line]:
    """Lines of a flip; `a` and `b` are the item in the two runs."""
    questions = [message.content for message in a.messages if message.role == "user"]
    lines = [make_line(row) for row in wrap_text("\n".join(questions) or a.question, cells, MAX_QUESTION_LINES)]
    lines += [make_line(row, "strong") for row in wrap_visible(sanitize(flip.cause), cells)]
    sides: list[tuple[str, list[Line]]] = [("golden", golden_lines(a))]
    if flip.golden_differs:
        sides[0] = ("golden of A, then of B", [*golden_lines(a), make_line("of B", "dim"), *golden_lines(b)])
    sides += [
        (f"{name} {format_verdict(side.verdict)}", predicted_lines(item))
        for name, side, item in (("A", flip.a, a), ("B", flip.b, b))
    ]
    if cells < COLUMNS_MIN_CELLS:
        return [*lines, *(each for title, part in sides for each in _stack_section(title, part, cells))]
    size = (cells - 2 * COLUMN_GAP) // 3
    heads = [_join_columns([rule_line(((title, "strong"),), size) for title, _ in sides], size)]
    comparison_columns = [[row for each in part for row in _wrap_line(each, size)] for _, part in sides]
    return [
        *lines,
        BLANK_LINE,
        *heads,
        *(_join_columns(list(row), size) for row in zip_longest(*comparison_columns, fillvalue=BLANK_LINE)),
    ]


def golden_lines(item: Item) -> list[Line]:
    found: list[Line] = []
    for call in item.golden:
        found += _call_heading(call, " ", item)
        for name, accept in (call.arguments or {}).items():
            found.append(make_line(f"    {sanitize(name)}: {sanitize(to_json_text(accept))}"))
    return found or [make_line("no call", "dim")]


def predicted_lines(item: Item) -> list[Line]:
    """Predicted calls in the order of their pairs, with the state of each argument, and calls that are missing."""
    found: list[Line] = []
    paired = {(pair.turn, pair.predicted) for pair in item.pairs}
    for pair in item.pairs:
        found += _pair_lines(pair, item)
    for call in item.predicted:
        if (call.turn, call.index) not in paired:
            found += _call_heading(call, " ", item)
            found += [
                make_line(f"    {sanitize(k)}: {sanitize(to_json_text(v))}") for k, v in (call.arguments or {}).items()
            ]
    return found or [make_line("no call", "dim")]


def _pair_lines(pair: CallPair, item: Item) -> list[Line]:
    golden = _find_call(item.golden, pair.turn, pair.golden)
    predicted = _find_call(item.predicted, pair.turn, pair.predicted)
    if predicted is None:
        return [make_line(f"- {sanitize(pair.name)} not called", "diff")]
    found = _call_heading(predicted, pair.state, item)
    for row in build_argument_rows(golden, predicted, pair.diff):
        if row.path:
            text = f"{'  ' * row.depth}{row.path}: {row.predicted if row.predicted is not None else 'omitted'}"
            found.append(make_line(f"  {row.state} {sanitize(text)}", "" if row.state in "=~" else "diff"))
    return found


def _call_heading(call: Call, state: str, item: Item) -> list[Line]:
    """The function, with the turn if the item has several."""
    several = any(each.turn for each in (*item.golden, *item.predicted))
    head = [
        make_line(
            f"{state} {sanitize(call.name)}{f'  turn {call.turn + 1}' if several else ''}",
            "strong" if state in " =~" else "diff",
        )
    ]
    if call.arguments is None:
        head.append(make_line(f"    {sanitize(call.decode_error or call.raw or 'cannot be read')}", "dim"))
    return head


def _find_call(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.turn == turn and call.index == index), None)


def _stack_section(title: str, part: Sequence[Line], cells: int) -> list[Line]:
    return [rule_line(((title, "strong"),), cells), *(row for each in part for row in _wrap_line(each, cells))]


def _wrap_line(of: Line, cells: int) -> list[Line]:
    return [make_line(row, style) for text, style in of for row in wrap_visible(text, cells)]


def _join_columns(parts: Sequence[Line], size: int) -> Line:
    made: list[tuple[str, str]] = []
    for at, part in enumerate(parts):
        text, style = part[0] if len(part) == 1 else ("".join(each for each, _ in part), "strong" if part else "")
        made += [*([(" " * COLUMN_GAP, "")] if at else []), pad_span(text, size, style)]
    return tuple(made)


def comparison_columns(rates: Sequence[str]) -> tuple[TextColumn, ...]:
    """Columns of the comparison; `rates` are never cut."""
    return (
        TextColumn("item", truncate=truncate_middle, min_width=14),
        TextColumn("passes", min_width=max(map(display_width, rates), default=0)),
        TextColumn("A - B, points; cause", min_width=22),
    )


def comparison_choices(comparison: RunComparison, source: VerdictSource) -> ChoiceTable[int | None]:
    """Rates, differences and counts overall and by category, remarks, then the flips. The value of a flip is its index
    in `found.flips`; other rows have None."""
    comparable = are_rates_comparable(comparison, source, source)
    parts = [comparison.overall, *(comparison.categories if len(comparison.categories) > 1 else ())]
    rows = [row for part in parts for row in _count_rows(part, comparable)]
    made = comparison_columns([row[1][0] for row in rows])
    rows += [[(sanitize(text), "warn"), ("", ""), ("", "")] for text in list_caveats(comparison, source, source)]
    values: list[int | None] = [None] * len(rows)
    for at, flip in enumerate(comparison.flips):
        rows.append(_flip_cells(flip))
        values.append(at)
    return ChoiceTable(
        title=f"A and B, {source}",
        noun="flip",
        total=len(comparison.flips),
        columns=made,
        rows=rows,
        values=values,
        cursor=len(values) - len(comparison.flips) if comparison.flips else 0,
        empty_message="no common items",
    )


def _count_rows(part: ComparisonGroup, comparable: bool) -> list[list[Cell]]:
    """One row, or two for all items together, so that flips fit on a narrow screen."""
    counts = part.counts
    name = "all items" if part.category is None else sanitize(part.category)
    sure = f"{format_difference(part)}  p {format_p_value(part.difference.p)}" if comparable and counts.n else symbols().none
    rates = f"A {format_rate(counts.both_pass + counts.only_a, counts.n)}, "
    rates += f"B {format_rate_of_known(counts.both_pass + counts.only_b, counts.n, part.n_pairs)}"
    both = f"both pass {counts.both_pass:,}, fail {counts.both_fail:,} of {format_count(counts.n, 'item')}"
    only = f"only A {counts.only_a:,}, B {counts.only_b:,}"
    shown: Cell = (rates if comparable and counts.n else symbols().none, "strong")
    if part.category is None:
        return [[(name, "strong"), shown, (sure, "")], [("", ""), (only, "strong"), (both, "")]]
    return [[(name, "strong"), shown, (f"{sure}  {only}, {both}", "")]]


def _flip_cells(flip: Flip) -> list[Cell]:
    return [(sanitize(flip.a.question_key.id), ""), (f"only {flip.passing_side.upper()}", "strong"), (sanitize(flip.cause), "")]


RUN_ORDERS = ("run", "official", "corrected", "model", "date", "reviewed", "yours", "items", "issues")
"""Orders in the sequence in which `s` goes through them."""
GROUPINGS = ("", *GROUP_LABELS)


def available_run_orders(*, blind: bool) -> list[str]:
    return [name for name in RUN_ORDERS if name in SORT_KEYS and not (blind and name in VERDICT_ORDERS)]


@dataclass(slots=True)
class RunListState:
    """Order, groups, search and folds of the list."""

    order: str = "run"
    is_reversed: bool = False
    grouping: str = ""
    search: str = ""
    unfolded: set[str] = field(default_factory=set)

    def next_order(self, *, blind: bool) -> None:
        names = available_run_orders(blind=blind)
        self.order, self.is_reversed = names[(names.index(self.order) + 1) % len(names)], False

    def next_grouping(self) -> None:
        self.grouping = GROUPINGS[(GROUPINGS.index(self.grouping) + 1) % len(GROUPINGS)]
        self.unfolded.clear()

    def is_ungrouped(self, group: RunGroup) -> bool:
        """Whether the group has no line of its own: runs are not grouped, or it is the only run of its model."""
        return not self.grouping or (self.grouping == "model" and len(group.runs) == 1)

    @property
    def description(self) -> str:
        """`by official, in groups by model`"""
        parts = (
            [f"by {self.order}" + (" reversed" if self.is_reversed else "")] if self.order != "run" or self.is_reversed else []
        )
        return ", ".join([*parts, *([f"in groups by {self.grouping}"] if self.grouping else [])])


@dataclass(frozen=True, slots=True)
class RunListRow:
    """A line: all runs, a group, or a run."""

    runs: Sequence[RunRow]
    group: RunGroup | None = None
    """Set on the line of a group."""
    run: RunRow | None = None
    is_in_group: bool = False
    """Whether the run belongs to a group with a line of its own."""

    @property
    def value(self) -> int | str:
        """Number of the run, `ALL_RUNS`, or name of the group."""
        if self.group is not None:
            return self.group.name
        return ALL_RUNS if self.run is None else self.run.run


def run_list_rows(runs: Sequence[RunRow], state: RunListState) -> list[RunListRow]:
    """Lines of the list: all runs first, then groups and runs. A search omits the first line and unfolds all groups."""
    found = sort_runs(search_runs(runs, state.search), state.order, reverse=state.is_reversed)
    rows = [] if state.search else [RunListRow(runs)]
    for group in group_runs(found, state.grouping):
        alone = state.is_ungrouped(group)
        if not alone:
            rows.append(RunListRow(group.runs, group))
        if alone or state.search or group.name in state.unfolded:
            rows += [RunListRow((run,), run=run, is_in_group=not alone) for run in group.runs]
    return rows


MIN_MODEL_CELLS = 12
MARGIN_CELLS = 3
"""Width in cells beside the table."""
ALWAYS_SHOWN, SORTED_COLUMN = 100, 99
"""Ranks of columns that are never omitted: the fixed ones and the one that the list is sorted by."""
COLUMN_TITLES = {"reviewed": "by all", "yours": "by you", "date": "folder"}
"""Titles of columns that differ from the name of the order."""


@dataclass(frozen=True, slots=True)
class RunColumn:
    column: TextColumn
    cell: Callable[[RunListRow], Cell]
    priority: int = ALWAYS_SHOWN
    """The lowest rank is omitted first when model names would be cut."""


def run_choices(
    runs: Sequence[RunRow], state: RunListState, cells: int, *, selected_run: int | None = None, blind: bool = False
) -> ChoiceTable[int | str]:
    """The list as a table without empty columns. `selected` is the run under the cursor."""
    rows = run_list_rows(runs, state)
    titles = {run_title(run) for run in runs}
    title = titles.pop() if len(titles) == 1 else ""
    lacking = [run.info.lacks_dataset for run in runs]
    shown = _run_columns(runs, state, show_benchmark=not title, blind=blind)
    sorted_by = COLUMN_TITLES.get(state.order, state.order)
    shown = [replace(each, priority=SORTED_COLUMN) if each.column.title == sorted_by != "model" else each for each in shown]
    fields = _drop_columns(shown, rows, cells - MARGIN_CELLS)
    values = [row.value for row in rows]
    notes = [state.description, title, "no dataset" if lacking and all(lacking) else ""]
    return ChoiceTable(
        title="runs",
        noun="run",
        columns=[each.column for each in fields],
        rows=[[each.cell(row) for each in fields] for row in rows],
        values=values,
        cursor=values.index(selected_run) if selected_run in values else 0,
        total=len({run.run for row in rows for run in row.runs} if state.search else runs),
        note=f" {symbols().separator} ".join(filter(None, notes)),
        empty_message="no matches",
    )


def _drop_columns(fields: list[RunColumn], rows: Sequence[RunListRow], cells: int) -> list[RunColumn]:
    """Omit columns of low rank until no model name is cut."""
    texts = [[each.cell(row)[0] for each in fields] for row in rows]
    sizes = compute_column_widths([each.column.title for each in fields], texts)
    kept = dict(zip(fields, sizes, strict=True))
    while sum(kept.values()) + COLUMN_GAP * (len(kept) - 1) > cells:
        lowest = min(kept, key=lambda each: each.priority)
        if lowest.priority >= SORTED_COLUMN:
            break
        del kept[lowest]
    return list(kept)


def _run_columns(runs: Sequence[RunRow], state: RunListState, *, show_benchmark: bool, blind: bool) -> list[RunColumn]:
    reviewed = any(run.reviewed or run.in_part for run in runs)
    lacking = [run.info.lacks_dataset for run in runs]
    folders = {folder_label(run) for run in runs}
    repeated = len({run.info.model for run in runs}) < len(runs)
    fields = [
        RunColumn(TextColumn("model", truncate=_cut_middle_evenly, min_width=MIN_MODEL_CELLS), _name_cell(state)),
        RunColumn(TextColumn("items", align_right=True), lambda row: (f"{_sum_field(row, 'n_items'):,}", ""), priority=6),
    ]
    if len(folders) > 1 and state.grouping not in ("date", "model"):
        fields.append(
            RunColumn(
                TextColumn("folder", truncate=_cut_middle_evenly),
                _single_run_cell(lambda run: (sanitize(folder_label(run)), "dim")),
                9 if repeated else 2,
            )
        )
    if show_benchmark and state.grouping not in ("generation", "model"):
        fields.append(RunColumn(TextColumn("bench", min_width=7), _single_run_cell(lambda run: (run_title(run), "dim")), priority=5))
    if not blind:
        fields.append(RunColumn(TextColumn("official", align_right=True), _official_cell))
        if any(run.rule_known for run in runs):
            fields.append(RunColumn(TextColumn("rule", align_right=True), _recomputed_cell, priority=4))
        fields.append(
            RunColumn(TextColumn("corrected", align_right=True), _corrected_cell, priority=ALWAYS_SHOWN if reviewed else 3)
        )
    if any(lacking) and not all(lacking):
        fields.append(RunColumn(TextColumn("dataset"), _single_run_cell(_dataset_cell), priority=7))
    fields.append(
        RunColumn(TextColumn("by you", align_right=True), lambda row: (f"{_sum_field(row, 'yours'):,}", ""), priority=8)
    )
    if not blind and any(run.reviewed > run.yours for run in runs):
        fields.append(
            RunColumn(TextColumn("by all", align_right=True), lambda row: (f"{_sum_field(row, 'reviewed'):,}", ""), priority=7)
        )
    if any(run.n_issues for run in runs):
        fields.append(
            RunColumn(
                TextColumn("issues", align_right=True), lambda row: (f"{_sum_field(row, 'n_issues'):,}", "warn"), priority=1
            )
        )
    return fields


def _name_cell(state: RunListState) -> Callable[[RunListRow], Cell]:
    """The model; inside a group of one model, the benchmark and folder of the run."""

    def name(row: RunListRow) -> Cell:
        if row.group is not None:
            open_ = state.search or row.group.name in state.unfolded
            sign = symbols().unfolded if open_ else symbols().folded
            return f"{sign} {sanitize(row.group.name) or '(none)'}  {format_count(len(row.runs), 'run')}", "strong"
        if row.run is None:
            return "all runs", "strong"
        model = sanitize(row.run.info.model)
        if not row.is_in_group:
            return ("  " if state.grouping else "") + model, ""
        return "    " + (
            f"{run_title(row.run)}  {sanitize(folder_label(row.run))}" if state.grouping == "model" else model
        ), ""

    return name


def _sum_field(row: RunListRow, name: str) -> int:
    return sum(getattr(run, name) for run in row.runs)


def _single_run_cell(cell: Callable[[RunRow], Cell]) -> Callable[[RunListRow], Cell]:
    """Cell of a run; empty for a group and for all runs."""
    return lambda row: ("", "") if row.run is None else cell(row.run)


def _dataset_cell(run: RunRow) -> Cell:
    return "none" if run.info.lacks_dataset else "", "warn"


def _official_cell(row: RunListRow) -> Cell:
    return (row.run.official_rate, "") if row.run is not None else _rate_range_cell(row, "official")


def _recomputed_cell(row: RunListRow) -> Cell:
    if row.run is None:
        return _rate_range_cell(row, "rule")
    return format_recomputed_pass_rate(row.run.rule_pass, row.run.rule_known, row.run.n_items), ""


def _corrected_cell(row: RunListRow) -> Cell:
    if row.run is None:
        return _rate_range_cell(row, "effective")
    return whole_rate_of(row.run.effective_pass, row.run.effective_known, row.run.n_items), "strong"


def _rate_range_cell(row: RunListRow, name: str) -> Cell:
    """Lowest and highest rate of a group, of its runs with a verdict on every item."""
    if row.group is None:
        return "", ""
    every = [(getattr(run, f"{name}_pass"), getattr(run, f"{name}_known"), run.n_items) for run in row.runs]
    rates = [f"{100 * passed / known:.1f}" for passed, known, items in sorted(every, key=_share_of_known) if known == items > 0]
    if not rates:
        return "", ""
    return (f"{rates[0]} %" if rates[0] == rates[-1] else f"{rates[0]}-{rates[-1]} %"), "dim"


def _share_of_known(counts: tuple[int, int, int]) -> float:
    passed, known, _ = counts
    return passed / known if known else -1.0


def _cut_middle_evenly(text: str, cells: int) -> str:
    return truncate_middle(text, cells, 1 / 2)
