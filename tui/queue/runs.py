"""Two runs beside each other as lines, without Textual.

Lists of runs, sorted, searched and in groups that fold. Without Textual.

A flip as lines: the question, then the golden answer and both predictions beside each other, or stacked where there
is no room. Pure.

A comparison as a table to choose a flip from. Pure.

Which runs are listed, in which order and groups, and which of these are unfolded. Pure.

Runs as rows of a table: which columns say something, and which go first where there is no room for all. Pure.
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
from fcreview.tui.text.lines import Part as LinesPart
from fcreview.tui.text.lines import rate_of as lines_rate_of
from fcreview.tui.text.theme import symbols

BESIDE_FROM = 120
"""Cells from which three columns stand side by side."""
QUESTION = 8
"""Lines of the question."""


def flip_lines(flip: Flip, a: Item, b: Item, cells: int) -> list[Line]:
    """`a`, `b`: the item in the two runs."""
    said = [message.content for message in a.messages if message.role == "user"]
    lines = [line(row) for row in wrap_text("\n".join(said) or a.question, cells, QUESTION)]
    lines += [line(row, "strong") for row in wrap(visible(flip.cause), cells)]
    sides: list[tuple[str, list[Line]]] = [("golden", golden_lines(a))]
    if flip.golden_differs:
        sides[0] = ("golden of A, then of B", [*golden_lines(a), line("of B", "dim"), *golden_lines(b)])
    sides += [
        (f"{name} {word(side.verdict)}", predicted_lines(item))
        for name, side, item in (("A", flip.a, a), ("B", flip.b, b))
    ]
    if cells < BESIDE_FROM:
        return [*lines, *(each for title, part in sides for each in _stacked(title, part, cells))]
    size = (cells - 2 * GAP) // 3
    heads = [_row([rule(((title, "strong"),), size) for title, _ in sides], size)]
    columns = [[row for each in part for row in _wrapped(each, size)] for _, part in sides]
    return [*lines, BLANK, *heads, *(_row(list(row), size) for row in zip_longest(*columns, fillvalue=BLANK))]


def golden_lines(item: Item) -> list[Line]:
    found: list[Line] = []
    for call in item.golden:
        found += _head(call, " ", item)
        for name, accept in (call.arguments or {}).items():
            found.append(line(f"    {visible(name)}: {visible(to_json_text(accept))}"))
    return found or [line("no call", "dim")]


def predicted_lines(item: Item) -> list[Line]:
    """Calls in the order of their pairs, each argument with how it compares; what is missing too."""
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
            text = f"{'  ' * row.depth}{row.path}: {row.predicted if row.predicted is not None else 'left out'}"
            found.append(line(f"  {row.state} {visible(text)}", "" if row.state in "=~" else "diff"))
    return found


def _head(call: Call, state: str, item: Item) -> list[Line]:
    """The function, and of an item with several turns in which."""
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


def columns(rates: Sequence[str]) -> tuple[Column, ...]:
    """`rates`, with what they are of, are shown whole."""
    return (
        Column("item", cut=cut_middle, least=14),
        Column("passes", least=max(map(width, rates), default=0)),
        Column("A - B, points; cause", least=22),
    )


def comparison_choices(found: Comparison, source: VerdictSource) -> Choices[int | None]:
    """Rates, differences and counts overall and by category, remarks, then every flip: its number in `found.flips`;
    rows of anything else stand for None."""
    told = tellable(found, source, source)
    parts = [found.overall, *(found.categories if len(found.categories) > 1 else ())]
    rows = [row for part in parts for row in _part(part, told)]
    made = columns([row[1][0] for row in rows])
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
        empty="nothing in common",
    )


def _part(part: Part, told: bool) -> list[list[Cell]]:
    """One row; of all items two, so that a narrow screen shows the flips, too."""
    counts = part.counts
    name = "all items" if part.category is None else visible(part.category)
    sure = f"{difference_of(part)}  p {p_value(part.difference.p)}" if told and counts.n else symbols().none
    rates = f"A {rate(counts.both_pass + counts.only_a, counts.n)}, "
    rates += f"B {rate_of(counts.both_pass + counts.only_b, counts.n, part.of)}"
    both = f"both pass {counts.both_pass:,}, fail {counts.both_fail:,} of {count_of(counts.n, 'item')}"
    only = f"only A {counts.only_a:,}, B {counts.only_b:,}"
    shown: Cell = (rates if told and counts.n else symbols().none, "strong")
    if part.category is None:
        return [[(name, "strong"), shown, (sure, "")], [("", ""), (only, "strong"), (both, "")]]
    return [[(name, "strong"), shown, (f"{sure}  {only}, {both}", "")]]


def _flip(flip: Flip) -> list[Cell]:
    return [(visible(flip.a.place.id), ""), (f"only {flip.passes.upper()}", "strong"), (visible(flip.cause), "")]


ORDERS = ("run", "official", "corrected", "model", "date", "reviewed", "yours", "items", "issues")
"""As `s` takes them, one after the other."""
GROUPINGS = ("", *GROUPED_BY)


def orders(*, blind: bool) -> list[str]:
    return [name for name in ORDERS if name in SORTED_BY and not (blind and name in TELLING)]


@dataclass(slots=True)
class RunsPlace:
    """How the list was left."""

    sort: str = "run"
    reverse: bool = False
    by: str = ""
    find: str = ""
    unfolded: set[str] = field(default_factory=set)

    def next_order(self, *, blind: bool) -> None:
        names = orders(blind=blind)
        self.sort, self.reverse = names[(names.index(self.sort) + 1) % len(names)], False

    def next_grouping(self) -> None:
        self.by = GROUPINGS[(GROUPINGS.index(self.by) + 1) % len(GROUPINGS)]
        self.unfolded.clear()

    def stands_alone(self, group: Group) -> bool:
        """There is no line for the group: runs are not grouped, or it is the only one of its model."""
        return not self.by or (self.by == "model" and len(group.runs) == 1)

    @property
    def said(self) -> str:
        """`by official, in groups by model`"""
        parts = (
            [f"by {self.sort}" + (" reversed" if self.reverse else "")] if self.sort != "run" or self.reverse else []
        )
        return ", ".join([*parts, *([f"in groups by {self.by}"] if self.by else [])])


@dataclass(frozen=True, slots=True)
class Row:
    """A line: all runs, a group, or a run."""

    runs: Sequence[RunRow]
    group: Group | None = None
    """Of a group's own line."""
    run: RunRow | None = None
    inside: bool = False
    """Of a group whose line is above."""

    @property
    def value(self) -> int | str:
        """What the line stands for: a run's number, `ALL_RUNS`, or a group's name."""
        if self.group is not None:
            return self.group.name
        return ALL_RUNS if self.run is None else self.run.run


def rows_of(runs: Sequence[RunRow], place: RunsPlace) -> list[Row]:
    """All runs first, unless some are looked for: then their groups are unfolded."""
    found = ordered(matching(runs, place.find), place.sort, reverse=place.reverse)
    rows = [] if place.find else [Row(runs)]
    for group in grouped(found, place.by):
        alone = place.stands_alone(group)
        if not alone:
            rows.append(Row(group.runs, group))
        if alone or place.find or group.name in place.unfolded:
            rows += [Row((run,), run=run, inside=not alone) for run in group.runs]
    return rows


LEAST_MODEL = 12
SIDES = 3
"""Cells beside the table."""
STAYS, SORTED = 100, 99
"""Ranks of columns that are never left out: those that always stay, and the one that runs are sorted by."""
COLUMN_OF = {"reviewed": "by all", "yours": "by you", "date": "folder"}
"""Titles of columns that are called otherwise than the order."""


@dataclass(frozen=True, slots=True)
class Field:
    column: Column
    cell: Callable[[Row], LinesPart]
    rank: int = STAYS
    """The lowest goes first where names of models would be cut."""


def run_choices(
    runs: Sequence[RunRow], place: RunsPlace, cells: int, *, selected: int | None = None, blind: bool = False
) -> Choices[int | str]:
    """Columns that would say nothing are left out. `selected`: the run under the cursor."""
    rows = rows_of(runs, place)
    titles = {run_title(run) for run in runs}
    alike = titles.pop() if len(titles) == 1 else ""
    lacking = [run.info.lacks_dataset for run in runs]
    shown = _fields(runs, place, several=not alike, blind=blind)
    sorted_by = COLUMN_OF.get(place.sort, place.sort)
    shown = [replace(each, rank=SORTED) if each.column.title == sorted_by != "model" else each for each in shown]
    fields = _fitting(shown, rows, cells - SIDES)
    values = [row.value for row in rows]
    said = [place.said, alike, "no dataset" if lacking and all(lacking) else ""]
    return Choices(
        title="runs",
        noun="run",
        columns=[each.column for each in fields],
        rows=[[each.cell(row) for each in fields] for row in rows],
        values=values,
        cursor=values.index(selected) if selected in values else 0,
        amount=len({run.run for row in rows for run in row.runs} if place.find else runs),
        note=f" {symbols().between} ".join(filter(None, said)),
        empty="no run has these words",
    )


def _fitting(fields: list[Field], rows: Sequence[Row], cells: int) -> list[Field]:
    """So many that no name is cut, if there is room for the rest that stays."""
    texts = [[each.cell(row)[0] for each in fields] for row in rows]
    sizes = column_sizes([each.column.title for each in fields], texts)
    kept = dict(zip(fields, sizes, strict=True))
    while sum(kept.values()) + GAP * (len(kept) - 1) > cells:
        lowest = min(kept, key=lambda each: each.rank)
        if lowest.rank >= SORTED:
            break
        del kept[lowest]
    return list(kept)


def _fields(runs: Sequence[RunRow], place: RunsPlace, *, several: bool, blind: bool) -> list[Field]:
    reviewed = any(run.reviewed or run.in_part for run in runs)
    lacking = [run.info.lacks_dataset for run in runs]
    folders = {folder_of(run) for run in runs}
    repeated = len({run.info.model for run in runs}) < len(runs)
    fields = [
        Field(Column("model", cut=_half, least=LEAST_MODEL), _name(place)),
        Field(Column("items", right=True), lambda row: (f"{_sum(row, 'n_items'):,}", ""), rank=6),
    ]
    if len(folders) > 1 and place.by not in ("date", "model"):
        fields.append(
            Field(
                Column("folder", cut=_half), _of_run(lambda run: (visible(folder_of(run)), "dim")), 9 if repeated else 2
            )
        )
    if several and place.by not in ("generation", "model"):
        fields.append(Field(Column("bench", least=7), _of_run(lambda run: (run_title(run), "dim")), rank=5))
    if not blind:
        fields.append(Field(Column("official", right=True), _official))
        if any(run.rule_known for run in runs):
            fields.append(Field(Column("rule", right=True), _rule, rank=4))
        fields.append(Field(Column("corrected", right=True), _corrected, rank=STAYS if reviewed else 3))
    if any(lacking) and not all(lacking):
        fields.append(Field(Column("dataset"), _of_run(_dataset), rank=7))
    fields.append(Field(Column("by you", right=True), lambda row: (f"{_sum(row, 'yours'):,}", ""), rank=8))
    if not blind and any(run.reviewed > run.yours for run in runs):
        fields.append(Field(Column("by all", right=True), lambda row: (f"{_sum(row, 'reviewed'):,}", ""), rank=7))
    if any(run.n_issues for run in runs):
        fields.append(Field(Column("issues", right=True), lambda row: (f"{_sum(row, 'n_issues'):,}", "warn"), rank=1))
    return fields


def _name(place: RunsPlace) -> Callable[[Row], LinesPart]:
    """The model; in a group of one model what tells its runs apart."""

    def name(row: Row) -> LinesPart:
        if row.group is not None:
            open_ = place.find or row.group.name in place.unfolded
            sign = symbols().unfolded if open_ else symbols().folded
            return f"{sign} {visible(row.group.name) or '(none)'}  {count_of(len(row.runs), 'run')}", "strong"
        if row.run is None:
            return "all runs", "strong"
        said = visible(row.run.info.model)
        if not row.inside:
            return ("  " if place.by else "") + said, ""
        return "    " + (f"{run_title(row.run)}  {visible(folder_of(row.run))}" if place.by == "model" else said), ""

    return name


def _sum(row: Row, name: str) -> int:
    return sum(getattr(run, name) for run in row.runs)


def _of_run(cell: Callable[[RunRow], LinesPart]) -> Callable[[Row], LinesPart]:
    """Of groups, and of all runs, nothing."""
    return lambda row: ("", "") if row.run is None else cell(row.run)


def _dataset(run: RunRow) -> LinesPart:
    return "none" if run.info.lacks_dataset else "", "warn"


def _official(row: Row) -> LinesPart:
    return (row.run.official_rate, "") if row.run is not None else _span(row, "official")


def _rule(row: Row) -> LinesPart:
    if row.run is None:
        return _span(row, "rule")
    return recomputed(row.run.rule_pass, row.run.rule_known, row.run.n_items), ""


def _corrected(row: Row) -> LinesPart:
    if row.run is None:
        return _span(row, "effective")
    return lines_rate_of(row.run.effective_pass, row.run.effective_known, row.run.n_items), "strong"


def _span(row: Row, name: str) -> LinesPart:
    """From the lowest to the highest rate of a group's runs, of those that are known whole."""
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
