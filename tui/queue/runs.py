"""Lists of runs as tables, sorted, searched and grouped, and the comparison of two runs.

Two runs are shown as a table of differences and flips; a flip is shown with the golden answer and both predictions in
columns, or below each other on a narrow screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from fcreview.matching.first_difference import argument_rows
from fcreview.model.item import Call, Item, Pair
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import visible, width
from fcreview.model.wording import GAP, column_sizes, count_of, rate, rate_of, word
from fcreview.stats.run_comparison import (
    Comparison,
    Flip,
    Part,
    VerdictSource,
    difference_of,
    p_value,
    remarks,
    tellable,
)
from fcreview.store.queries.run_lists import (
    GROUPED_BY,
    SORTED_BY,
    TELLING,
    Group,
    folder_of,
    grouped,
    matching,
    ordered,
)
from fcreview.store.rows import RunRow
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.text.lines import (
    BLANK,
    Choices,
    Column,
    Line,
    column,
    cut_middle,
    line,
    recomputed,
    rule,
    wrap,
    wrap_text,
)
from fcreview.tui.text.lines import Part as Cell
from fcreview.tui.text.lines import rate_of as whole_rate_of
from fcreview.tui.text.theme import symbols

COLUMNS_FROM = 120
"""Width in cells from which golden answer and predictions are shown in three columns."""
QUESTION_LINES = 8
"""Largest number of lines of the question."""


def flip_lines(flip: Flip, a: Item, b: Item, cells: int) -> list[Line]:
    """Lines of a flip; `a` and `b` are the item in the two runs."""
    questions = [message.content for message in a.messages if message.role == "user"]
    lines = [line(row) for row in wrap_text("\n".join(questions) or a.question, cells, QUESTION_LINES)]
    lines += [line(row, "strong") for row in wrap(visible(flip.cause), cells)]
    sides: list[tuple[str, list[Line]]] = [("golden", golden_lines(a))]
    if flip.golden_differs:
        sides[0] = ("golden of A, then of B", [*golden_lines(a), line("of B", "dim"), *golden_lines(b)])
    sides += [
        (f"{name} {word(side.verdict)}", predicted_lines(item))
        for name, side, item in (("A", flip.a, a), ("B", flip.b, b))
    ]
    if cells < COLUMNS_FROM:
        return [*lines, *(each for title, part in sides for each in _stacked(title, part, cells))]
    size = (cells - 2 * GAP) // 3
    heads = [_row([rule(((title, "strong"),), size) for title, _ in sides], size)]
    comparison_columns = [[row for each in part for row in _wrapped(each, size)] for _, part in sides]
    return [
        *lines,
        BLANK,
        *heads,
        *(_row(list(row), size) for row in zip_longest(*comparison_columns, fillvalue=BLANK)),
    ]


def golden_lines(item: Item) -> list[Line]:
    found: list[Line] = []
    for call in item.golden:
        found += _head(call, " ", item)
        for name, accept in (call.arguments or {}).items():
            found.append(line(f"    {visible(name)}: {visible(to_json_text(accept))}"))
    return found or [line("no call", "dim")]


def predicted_lines(item: Item) -> list[Line]:
    """Predicted calls in the order of their pairs, with the state of each argument, and calls that are missing."""
    found: list[Line] = []
    paired = {(pair.turn, pair.predicted) for pair in item.pairs}
    for pair in item.pairs:
        found += _pair(pair, item)
    for call in item.predicted:
        if (call.turn, call.index) not in paired:
            found += _head(call, " ", item)
            found += [line(f"    {visible(k)}: {visible(to_json_text(v))}") for k, v in (call.arguments or {}).items()]
    return found or [line("no call", "dim")]


def _pair(pair: Pair, item: Item) -> list[Line]:
    golden = _call(item.golden, pair.turn, pair.golden)
    predicted = _call(item.predicted, pair.turn, pair.predicted)
    if predicted is None:
        return [line(f"- {visible(pair.name)} not called", "diff")]
    found = _head(predicted, pair.state, item)
    for row in argument_rows(golden, predicted, pair.diff):
        if row.path:
            text = f"{'  ' * row.depth}{row.path}: {row.predicted if row.predicted is not None else 'omitted'}"
            found.append(line(f"  {row.state} {visible(text)}", "" if row.state in "=~" else "diff"))
    return found


def _head(call: Call, state: str, item: Item) -> list[Line]:
    """The function, with the turn if the item has several."""
    several = any(each.turn for each in (*item.golden, *item.predicted))
    head = [
        line(
            f"{state} {visible(call.name)}{f'  turn {call.turn + 1}' if several else ''}",
            "strong" if state in " =~" else "diff",
        )
    ]
    if call.arguments is None:
        head.append(line(f"    {visible(call.decode_error or call.raw or 'cannot be read')}", "dim"))
    return head


def _call(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.turn == turn and call.index == index), None)


def _stacked(title: str, part: Sequence[Line], cells: int) -> list[Line]:
    return [rule(((title, "strong"),), cells), *(row for each in part for row in _wrapped(each, cells))]


def _wrapped(of: Line, cells: int) -> list[Line]:
    return [line(row, style) for text, style in of for row in wrap(text, cells)]


def _row(parts: Sequence[Line], size: int) -> Line:
    made: list[tuple[str, str]] = []
    for at, part in enumerate(parts):
        text, style = part[0] if len(part) == 1 else ("".join(each for each, _ in part), "strong" if part else "")
        made += [*([(" " * GAP, "")] if at else []), column(text, size, style)]
    return tuple(made)


def comparison_columns(rates: Sequence[str]) -> tuple[Column, ...]:
    """Columns of the comparison; `rates` are never cut."""
    return (
        Column("item", cut=cut_middle, least=14),
        Column("passes", least=max(map(width, rates), default=0)),
        Column("A - B, points; cause", least=22),
    )


def comparison_choices(found: Comparison, source: VerdictSource) -> Choices[int | None]:
    """Rates, differences and counts overall and by category, remarks, then the flips. The value of a flip is its index
    in `found.flips`; other rows have None."""
    comparable = tellable(found, source, source)
    parts = [found.overall, *(found.categories if len(found.categories) > 1 else ())]
    rows = [row for part in parts for row in _part(part, comparable)]
    made = comparison_columns([row[1][0] for row in rows])
    rows += [[(visible(text), "warn"), ("", ""), ("", "")] for text in remarks(found, source, source)]
    values: list[int | None] = [None] * len(rows)
    for at, flip in enumerate(found.flips):
        rows.append(_flip(flip))
        values.append(at)
    return Choices(
        title=f"A and B, {source}",
        noun="flip",
        amount=len(found.flips),
        columns=made,
        rows=rows,
        values=values,
        cursor=len(values) - len(found.flips) if found.flips else 0,
        empty="no common items",
    )


def _part(part: Part, comparable: bool) -> list[list[Cell]]:
    """One row, or two for all items together, so that flips fit on a narrow screen."""
    counts = part.counts
    name = "all items" if part.category is None else visible(part.category)
    sure = f"{difference_of(part)}  p {p_value(part.difference.p)}" if comparable and counts.n else symbols().none
    rates = f"A {rate(counts.both_pass + counts.only_a, counts.n)}, "
    rates += f"B {rate_of(counts.both_pass + counts.only_b, counts.n, part.of)}"
    both = f"both pass {counts.both_pass:,}, fail {counts.both_fail:,} of {count_of(counts.n, 'item')}"
    only = f"only A {counts.only_a:,}, B {counts.only_b:,}"
    shown: Cell = (rates if comparable and counts.n else symbols().none, "strong")
    if part.category is None:
        return [[(name, "strong"), shown, (sure, "")], [("", ""), (only, "strong"), (both, "")]]
    return [[(name, "strong"), shown, (f"{sure}  {only}, {both}", "")]]


def _flip(flip: Flip) -> list[Cell]:
    return [(visible(flip.a.place.id), ""), (f"only {flip.passes.upper()}", "strong"), (visible(flip.cause), "")]


RUN_ORDERS = ("run", "official", "corrected", "model", "date", "reviewed", "yours", "items", "issues")
"""Orders in the sequence in which `s` goes through them."""
GROUPINGS = ("", *GROUPED_BY)


def run_orders(*, blind: bool) -> list[str]:
    return [name for name in RUN_ORDERS if name in SORTED_BY and not (blind and name in TELLING)]


@dataclass(slots=True)
class RunListState:
    """Order, groups, search and folds of the list."""

    sort: str = "run"
    reverse: bool = False
    by: str = ""
    find: str = ""
    unfolded: set[str] = field(default_factory=set)

    def next_order(self, *, blind: bool) -> None:
        names = run_orders(blind=blind)
        self.sort, self.reverse = names[(names.index(self.sort) + 1) % len(names)], False

    def next_grouping(self) -> None:
        self.by = GROUPINGS[(GROUPINGS.index(self.by) + 1) % len(GROUPINGS)]
        self.unfolded.clear()

    def is_ungrouped(self, group: Group) -> bool:
        """Whether the group has no line of its own: runs are not grouped, or it is the only run of its model."""
        return not self.by or (self.by == "model" and len(group.runs) == 1)

    @property
    def description(self) -> str:
        """`by official, in groups by model`"""
        parts = (
            [f"by {self.sort}" + (" reversed" if self.reverse else "")] if self.sort != "run" or self.reverse else []
        )
        return ", ".join([*parts, *([f"in groups by {self.by}"] if self.by else [])])


@dataclass(frozen=True, slots=True)
class RunListRow:
    """A line: all runs, a group, or a run."""

    runs: Sequence[RunRow]
    group: Group | None = None
    """Set on the line of a group."""
    run: RunRow | None = None
    inside: bool = False
    """Whether the run belongs to a group with a line of its own."""

    @property
    def value(self) -> int | str:
        """Number of the run, `ALL_RUNS`, or name of the group."""
        if self.group is not None:
            return self.group.name
        return ALL_RUNS if self.run is None else self.run.run


def run_list_rows(runs: Sequence[RunRow], state: RunListState) -> list[RunListRow]:
    """Lines of the list: all runs first, then groups and runs. A search omits the first line and unfolds all groups."""
    found = ordered(matching(runs, state.find), state.sort, reverse=state.reverse)
    rows = [] if state.find else [RunListRow(runs)]
    for group in grouped(found, state.by):
        alone = state.is_ungrouped(group)
        if not alone:
            rows.append(RunListRow(group.runs, group))
        if alone or state.find or group.name in state.unfolded:
            rows += [RunListRow((run,), run=run, inside=not alone) for run in group.runs]
    return rows


MIN_MODEL = 12
MARGIN = 3
"""Width in cells beside the table."""
ALWAYS_SHOWN, SORTED = 100, 99
"""Ranks of columns that are never omitted: the fixed ones and the one that the list is sorted by."""
COLUMN_OF = {"reviewed": "by all", "yours": "by you", "date": "folder"}
"""Titles of columns that differ from the name of the order."""


@dataclass(frozen=True, slots=True)
class RunColumn:
    column: Column
    cell: Callable[[RunListRow], Cell]
    rank: int = ALWAYS_SHOWN
    """The lowest rank is omitted first when model names would be cut."""


def run_choices(
    runs: Sequence[RunRow], state: RunListState, cells: int, *, selected: int | None = None, blind: bool = False
) -> Choices[int | str]:
    """The list as a table without empty columns. `selected` is the run under the cursor."""
    rows = run_list_rows(runs, state)
    titles = {run_title(run) for run in runs}
    title = titles.pop() if len(titles) == 1 else ""
    lacking = [run.info.lacks_dataset for run in runs]
    shown = _fields(runs, state, several=not title, blind=blind)
    sorted_by = COLUMN_OF.get(state.sort, state.sort)
    shown = [replace(each, rank=SORTED) if each.column.title == sorted_by != "model" else each for each in shown]
    fields = _fitting(shown, rows, cells - MARGIN)
    values = [row.value for row in rows]
    notes = [state.description, title, "no dataset" if lacking and all(lacking) else ""]
    return Choices(
        title="runs",
        noun="run",
        columns=[each.column for each in fields],
        rows=[[each.cell(row) for each in fields] for row in rows],
        values=values,
        cursor=values.index(selected) if selected in values else 0,
        amount=len({run.run for row in rows for run in row.runs} if state.find else runs),
        note=f" {symbols().between} ".join(filter(None, notes)),
        empty="no matches",
    )


def _fitting(fields: list[RunColumn], rows: Sequence[RunListRow], cells: int) -> list[RunColumn]:
    """Omit columns of low rank until no model name is cut."""
    texts = [[each.cell(row)[0] for each in fields] for row in rows]
    sizes = column_sizes([each.column.title for each in fields], texts)
    kept = dict(zip(fields, sizes, strict=True))
    while sum(kept.values()) + GAP * (len(kept) - 1) > cells:
        lowest = min(kept, key=lambda each: each.rank)
        if lowest.rank >= SORTED:
            break
        del kept[lowest]
    return list(kept)


def _fields(runs: Sequence[RunRow], state: RunListState, *, several: bool, blind: bool) -> list[RunColumn]:
    reviewed = any(run.reviewed or run.in_part for run in runs)
    lacking = [run.info.lacks_dataset for run in runs]
    folders = {folder_of(run) for run in runs}
    repeated = len({run.info.model for run in runs}) < len(runs)
    fields = [
        RunColumn(Column("model", cut=_half, least=MIN_MODEL), _name(state)),
        RunColumn(Column("items", right=True), lambda row: (f"{_sum(row, 'n_items'):,}", ""), rank=6),
    ]
    if len(folders) > 1 and state.by not in ("date", "model"):
        fields.append(
            RunColumn(
                Column("folder", cut=_half), _of_run(lambda run: (visible(folder_of(run)), "dim")), 9 if repeated else 2
            )
        )
    if several and state.by not in ("generation", "model"):
        fields.append(RunColumn(Column("bench", least=7), _of_run(lambda run: (run_title(run), "dim")), rank=5))
    if not blind:
        fields.append(RunColumn(Column("official", right=True), _official))
        if any(run.rule_known for run in runs):
            fields.append(RunColumn(Column("rule", right=True), _rule, rank=4))
        fields.append(RunColumn(Column("corrected", right=True), _corrected, rank=ALWAYS_SHOWN if reviewed else 3))
    if any(lacking) and not all(lacking):
        fields.append(RunColumn(Column("dataset"), _of_run(_dataset), rank=7))
    fields.append(RunColumn(Column("by you", right=True), lambda row: (f"{_sum(row, 'yours'):,}", ""), rank=8))
    if not blind and any(run.reviewed > run.yours for run in runs):
        fields.append(RunColumn(Column("by all", right=True), lambda row: (f"{_sum(row, 'reviewed'):,}", ""), rank=7))
    if any(run.n_issues for run in runs):
        fields.append(
            RunColumn(Column("issues", right=True), lambda row: (f"{_sum(row, 'n_issues'):,}", "warn"), rank=1)
        )
    return fields


def _name(state: RunListState) -> Callable[[RunListRow], Cell]:
    """The model; inside a group of one model, the benchmark and folder of the run."""

    def name(row: RunListRow) -> Cell:
        if row.group is not None:
            open_ = state.find or row.group.name in state.unfolded
            sign = symbols().unfolded if open_ else symbols().folded
            return f"{sign} {visible(row.group.name) or '(none)'}  {count_of(len(row.runs), 'run')}", "strong"
        if row.run is None:
            return "all runs", "strong"
        model = visible(row.run.info.model)
        if not row.inside:
            return ("  " if state.by else "") + model, ""
        return "    " + (f"{run_title(row.run)}  {visible(folder_of(row.run))}" if state.by == "model" else model), ""

    return name


def _sum(row: RunListRow, name: str) -> int:
    return sum(getattr(run, name) for run in row.runs)


def _of_run(cell: Callable[[RunRow], Cell]) -> Callable[[RunListRow], Cell]:
    """Cell of a run; empty for a group and for all runs."""
    return lambda row: ("", "") if row.run is None else cell(row.run)


def _dataset(run: RunRow) -> Cell:
    return "none" if run.info.lacks_dataset else "", "warn"


def _official(row: RunListRow) -> Cell:
    return (row.run.official_rate, "") if row.run is not None else _span(row, "official")


def _rule(row: RunListRow) -> Cell:
    if row.run is None:
        return _span(row, "rule")
    return recomputed(row.run.rule_pass, row.run.rule_known, row.run.n_items), ""


def _corrected(row: RunListRow) -> Cell:
    if row.run is None:
        return _span(row, "effective")
    return whole_rate_of(row.run.effective_pass, row.run.effective_known, row.run.n_items), "strong"


def _span(row: RunListRow, name: str) -> Cell:
    """Lowest and highest rate of a group, of its runs with a verdict on every item."""
    if row.group is None:
        return "", ""
    every = [(getattr(run, f"{name}_pass"), getattr(run, f"{name}_known"), run.n_items) for run in row.runs]
    rates = [f"{100 * passed / known:.1f}" for passed, known, items in sorted(every, key=_rate) if known == items > 0]
    if not rates:
        return "", ""
    return (f"{rates[0]} %" if rates[0] == rates[-1] else f"{rates[0]}-{rates[-1]} %"), "dim"


def _rate(counts: tuple[int, int, int]) -> float:
    passed, known, _ = counts
    return passed / known if known else -1.0


def _half(text: str, cells: int) -> str:
    return cut_middle(text, cells, 1 / 2)
