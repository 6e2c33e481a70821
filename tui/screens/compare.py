"""Compare two runs, and show the flips: items that only one of the two runs passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from fcreview.matching.first_difference import build_argument_rows
from fcreview.model.item import Call, CallPair, Item
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import COLUMN_GAP, format_count, format_verdict
from fcreview.stats.run_comparison import (
    VERDICT_SOURCES,
    ComparisonGroup,
    Flip,
    RunComparison,
    VerdictSource,
    choose_verdict_source,
    compare_runs,
    format_difference,
    format_p_value,
    list_caveats,
    list_table_groups,
)
from fcreview.store.rows import QueueRow, RunRow, View
from fcreview.tui.actions import COMPARISON_ACTIONS, FLIP_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.commands import FORMS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.columns import difference_line, shorten_difference, shorten_ids
from fcreview.tui.screens.command_form import open_command_form
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.graphics import interval_bar, verdict_badge
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    StyledText,
    TableLines,
    TextColumn,
    fit_line,
    line_width,
    make_line,
    pad_text,
    replace_missing_value_sign,
    rule_line,
    table_lines,
    truncate_middle,
    wrap_text,
    wrap_visible,
)
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import GuardedScreen, Panel, is_small, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, TopLine
from fcreview.tui.widgets.lists import TextList

SOURCE_NAMES: dict[VerdictSource, str] = {"official": "official", "rule": "recomputed", "effective": "effective"}
LAYOUTS = (
    (True, ("both pass", "both fail", "only A", "only B", "p")),
    (True, ("only A", "only B", "p")),
    (True, ("only A", "only B")),
    (False, ("only A", "only B")),
    (False, ()),
)
"""Layouts of the table, from the widest to the narrowest, as tuples (whether intervals are drawn, titles of the right
columns). The first layout that fits is used."""
WHISKER_CELLS = (12, 50)
GAP = 2
ID_CELLS = (14, 40)


def verdict_sources_text(source_a: VerdictSource, source_b: VerdictSource) -> str:
    """Return `official verdicts`, or `A official, B recomputed` if the sources differ."""
    return (
        f"{SOURCE_NAMES[source_a]} verdicts"
        if source_a == source_b
        else f"A {SOURCE_NAMES[source_a]}, B {SOURCE_NAMES[source_b]}"
    )


def comparison_facts(comparison: RunComparison, width: int) -> str:
    """Return `4 items · McNemar p 1.000 · only A 1, only B 2 · both pass 0, both fail 1`, cut to `width`."""
    overall = comparison.overall
    counts = overall.counts
    parts = [
        _format_item_count(overall) + (" items" if counts.n != 1 else " item"),
        f"McNemar p {replace_missing_value_sign(format_p_value(overall.difference.p))}",
        f"only A {counts.only_a:,}, only B {counts.only_b:,}",
        f"both pass {counts.both_pass:,}, both fail {counts.both_fail:,}",
    ]
    separator = f" {symbols().separator} "
    text = separator.join(parts)
    return text if display_width(text) <= width else separator.join(parts[:-1])


def pass_rate_lines(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource, width: int
) -> TableLines:
    """Return the table of pass rates: a line for all items, a line for each category, then warnings about the
    comparison."""
    groups = list_table_groups(comparison, source_a, source_b)
    comparable = [group.is_comparable(source_a, source_b) and group.counts.n > 0 for group in groups]
    left_columns = [
        TextColumn("category", truncate=truncate_middle, min_width=10),
        *(TextColumn(title, align_right=True, min_width=5) for title in ("items", "A", "B")),
    ]
    left_rows = [_rate_cells(group, is_comparable=ok) for group, ok in zip(groups, comparable, strict=True)]
    left_columns.append(TextColumn("A - B, 95 % CI", min_width=max(display_width(row[-1][0]) for row in left_rows)))
    natural = line_width(table_lines(left_columns, left_rows, width)[0])
    for has_whiskers, names in LAYOUTS:
        rows = [_count_cells(group, names, is_comparable=ok) for group, ok in zip(groups, comparable, strict=True)]
        right_heading, right = table_lines([TextColumn(name, align_right=True) for name in names], rows, width)
        whisker = WHISKER_CELLS[0] + GAP if has_whiskers else 0
        if natural + whisker + GAP + line_width(right_heading) <= width:
            break
    room = width - (line_width(right_heading) + GAP if names else 0)
    left_heading, left = table_lines(left_columns, left_rows, room)
    whisker_cells = min(room - line_width(left_heading) - GAP, WHISKER_CELLS[1])
    middle_heading, middle = _draw_intervals(groups, comparable, whisker_cells)
    caveats: list[Line] = [((sanitize(text), "warn"),) for text in list_caveats(comparison, source_a, source_b)]
    lines = [_join_with_gaps(*parts) for parts in zip(left, middle, right, strict=True)]
    return TableLines(_join_with_gaps(left_heading, middle_heading, right_heading), [*lines, *caveats])


def _join_with_gaps(*parts: Line) -> Line:
    joined: list[StyledText] = []
    for part in parts:
        joined += [*([(" " * GAP, "")] if joined and part else []), *part]
    return tuple(joined)


def _rate_cells(group: ComparisonGroup, *, is_comparable: bool) -> list[StyledText]:
    none, counts = (symbols().none, "dim"), group.counts
    name = ("all items", "strong") if group.category is None else (sanitize(group.category), "")
    cells = [name, (_format_item_count(group), "")]
    if not is_comparable:
        return [*cells, none, none, none]
    rates = [(f"{100 * rate:.1f}", "") if rate is not None else none for rate in (counts.rate_a, counts.rate_b)]
    return [*cells, *rates, (replace_missing_value_sign(format_difference(group)), "strong")]


def _format_item_count(group: ComparisonGroup) -> str:
    """Return the number of compared items: `3`, or `2 of 3` if one of three items lacks a verdict in run A or B."""
    return f"{group.counts.n:,}" + (f" of {group.n_pairs:,}" if group.counts.n < group.n_pairs else "")


def _count_cells(group: ComparisonGroup, column_names: Sequence[str], *, is_comparable: bool) -> list[StyledText]:
    counts = group.counts
    numbers = {
        "both pass": counts.both_pass,
        "both fail": counts.both_fail,
        "only A": counts.only_a,
        "only B": counts.only_b,
    }
    p = replace_missing_value_sign(format_p_value(group.difference.p)) if is_comparable else symbols().none
    return [(f"{numbers[name]:,}", "") if name in numbers else (p, "dim") for name in column_names]


def _draw_intervals(groups: Sequence[ComparisonGroup], are_comparable: Sequence[bool], width: int) -> TableLines:
    """Draw the intervals on a common scale with a mark at 0. The lines are empty if there is no room."""
    if width < WHISKER_CELLS[0]:
        return TableLines((), [()] * len(groups))
    differences = [group.difference if ok else None for group, ok in zip(groups, are_comparable, strict=True)]
    ends = [end for each in differences if each is not None for end in (each.low, each.high) if end is not None]
    scale = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    zero = round(-scale[0] / ((scale[1] - scale[0]) or 1) * (width - 1))
    lines: list[Line] = []
    for each in differences:
        if each is None or each.value is None or each.low is None or each.high is None:
            lines.append(((" " * width, ""),))
        else:
            lines.append(interval_bar(each.low, each.value, each.high, scale, width, marked_value=0.0))
    return TableLines(((pad(" " * zero + "0", width), "dim"),), lines)


def flip_list_lines(flips: Sequence[Flip], row_by_item: Mapping[int, QueueRow], width: int) -> TableLines:
    """Return the table of the items with different verdicts. `row_by_item`: rows of the failing items, by item
    number."""
    ids = [flip.a.question_key.id for flip in flips]
    longest = max((display_width(sanitize(each)) for each in ids), default=0)
    size = max(min(longest, ID_CELLS[1], width // 3), ID_CELLS[0])
    names = shorten_ids(ids, size)
    heading: Line = ((pad("item", size), "dim"), ("  A       B       first difference of the failing run", "dim"))
    lines: list[Line] = []
    for flip, name in zip(flips, ids, strict=True):
        line: list[StyledText] = [(pad(names.get(name) or sanitize(name), size), ""), ("  ", "")]
        line += [verdict_badge(flip.a.verdict), ("  ", ""), verdict_badge(flip.b.verdict), ("  ", "")]
        # The first difference alone does not explain a flip with different golden answers or equal predictions.
        row = None if flip.golden_differs or flip.same_prediction else row_by_item.get(failing_item_number(flip))
        cause = difference_line(row) if row is not None else ()
        lines.append((*line, *shorten_difference(cause or make_line(sanitize(flip.cause)), width - size - 18)))
    return TableLines(heading, lines)


def failing_item_number(flip: Flip) -> int:
    return (flip.b if flip.passing_side == "a" else flip.a).item


def flip_facts(flips: Sequence[Flip], passing_side: str) -> str:
    words = "" if not passing_side else f"only {passing_side.upper()} passes {symbols().separator} "
    return words + format_count(len(flips), "item")


COLUMNS_MIN_CELLS = 120
MAX_QUESTION_LINES = 8


def flip_detail_lines(flip: Flip, item_a: Item, item_b: Item, width: int) -> list[Line]:
    """Return the question, the cause of the flip, the golden answer and both predictions. `item_a`, `item_b`: the item
    in run A and in run B."""
    questions = [message.content for message in item_a.messages if message.role == "user"]
    lines = [make_line(row) for row in wrap_text("\n".join(questions) or item_a.question, width, MAX_QUESTION_LINES)]
    lines += [make_line(row, "strong") for row in wrap_visible(sanitize(flip.cause), width)]
    sides: list[tuple[str, list[Line]]] = [("golden", golden_call_lines(item_a))]
    if flip.golden_differs:
        of_b = make_line("golden answer of B", "dim")
        sides[0] = ("golden answer of A, then of B", [*golden_call_lines(item_a), of_b, *golden_call_lines(item_b)])
    sides += [
        (f"{name} {format_verdict(side.verdict)}", predicted_call_lines(item))
        for name, side, item in (("A", flip.a, item_a), ("B", flip.b, item_b))
    ]
    if width < COLUMNS_MIN_CELLS:
        return [*lines, *(line for side in sides for line in _titled_lines(*side, width))]
    size = (width - 2 * COLUMN_GAP) // 3
    rows = zip_longest(*(_titled_lines(*side, size) for side in sides), fillvalue=BLANK_LINE)
    return [*lines, BLANK_LINE, *(_join_side_by_side(row, size) for row in rows)]


def golden_call_lines(item: Item) -> list[Line]:
    return [line for call in item.golden for line in _call_lines(call, item)] or [make_line("no call", "dim")]


def predicted_call_lines(item: Item) -> list[Line]:
    """Return the lines of the call pairs, with the state of each argument, and of the predicted calls without a
    pair."""
    paired = {(pair.turn, pair.predicted) for pair in item.pairs}
    lines = [line for pair in item.pairs for line in _pair_lines(pair, item)]
    for call in item.predicted:
        if (call.turn, call.index) not in paired:
            lines += _call_lines(call, item)
    return lines or [make_line("no call", "dim")]


def _call_lines(call: Call, item: Item) -> list[Line]:
    arguments = (call.arguments or {}).items()
    texts = [f"    {sanitize(name)}: {sanitize(to_json_text(value))}" for name, value in arguments]
    return [*_call_heading_lines(call, " ", item), *map(make_line, texts)]


def _pair_lines(pair: CallPair, item: Item) -> list[Line]:
    golden = _find_call(item.golden, pair.turn, pair.golden)
    predicted = _find_call(item.predicted, pair.turn, pair.predicted)
    if predicted is None:
        return [make_line(f"- {sanitize(pair.name)} not called", "diff")]
    lines = _call_heading_lines(predicted, pair.state, item)
    for row in build_argument_rows(golden, predicted, pair.diff):
        if row.path:
            text = f"{'  ' * row.depth}{row.path}: {row.predicted if row.predicted is not None else 'omitted'}"
            lines.append(make_line(f"  {row.state} {sanitize(text)}", "" if row.state in "=~" else "diff"))
    return lines


def _call_heading_lines(call: Call, state: str, item: Item) -> list[Line]:
    has_turns = any(each.turn for each in (*item.golden, *item.predicted))
    turn = f"  turn {call.turn + 1}" if has_turns else ""
    lines = [make_line(f"{state} {sanitize(call.name)}{turn}", "strong" if state in " =~" else "diff")]
    if call.arguments is None:
        lines.append(make_line(f"    {sanitize(call.decode_error or call.raw or 'cannot be read')}", "dim"))
    return lines


def _find_call(calls: Sequence[Call], turn: int, index: int | None) -> Call | None:
    return next((call for call in calls if call.turn == turn and call.index == index), None)


def _titled_lines(title: str, lines: Sequence[Line], width: int) -> list[Line]:
    wrapped = [make_line(row, style) for line in lines for text, style in line for row in wrap_visible(text, width)]
    return [rule_line(((title, "strong"),), width), *wrapped]


def _join_side_by_side(lines: Sequence[Line], column_width: int) -> Line:
    spans: list[StyledText] = []
    for at, line in enumerate(lines):
        text, style = line[0] if len(line) == 1 else ("".join(each for each, _ in line), "strong" if line else "")
        spans += [*([(" " * COLUMN_GAP, "")] if at else []), pad_text(text, column_width, style)]
    return tuple(spans)


SIDES = ("", "a", "b")


class FlipScreen(GuardedScreen[None]):
    """Screen that shows one flip at a time: the golden answer, and the predictions of both runs side by side."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FLIP_ACTIONS)
    CSS = """
    FlipScreen { layout: vertical; }
    FlipScreen #flip-text { padding: 0 1; }
    """

    def __init__(self, session: Session, flips: Sequence[Flip], at: int) -> None:
        super().__init__()
        self._session, self._flips, self._at = session, flips, at
        self._items: tuple[Item, Item] | None = None

    def compose(self) -> ComposeResult:
        yield TopLine()
        yield TextList(id="flip-text", cursor=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self._load_items()

    @property
    def _text_list(self) -> TextList:
        return self.query_one("#flip-text", TextList)

    @work(exclusive=True, group="flip")
    async def _load_items(self) -> None:
        flip = self._flips[self._at]
        a, b = await self._session.query(
            lambda store: (store.read_detail(flip.a.item).item, store.read_detail(flip.b.item).item)
        )
        self._items = a, b
        self._draw()
        self._text_list.action_move_to(0)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        flip, cells = self._flips[self._at], self.size.width
        words = [
            sanitize(flip.a.question_key.id),
            sanitize(flip.a.question_key.category),
            f"only {flip.passing_side.upper()} passes",
        ]
        path = (*self._session.folder_names, "compare", f" {symbols().separator} ".join(words))
        self.query_one(TopLine).show_path(path, ((f"{self._at + 1:,}/{len(self._flips):,}", "dim"),))
        if self._items is not None:
            self._text_list.set_lines(flip_detail_lines(flip, *self._items, cells - 2))

    def action_step_flip(self, by: int) -> None:
        """Show the next (1) or previous (-1) flip. At the first and the last flip nothing happens."""
        at = max(0, min(self._at + by, len(self._flips) - 1))
        if at != self._at:
            self._at, self._items = at, None
            self._load_items()

    def action_scroll(self, by: int) -> None:
        self._text_list.action_move(by)

    def action_page(self, by: int) -> None:
        self._text_list.action_move_page(by)


class PanelList(TextList):
    """List in a panel. Only the list with the focus shows its cursor. The cursor moves on to the list above or
    below."""

    def __init__(self, *, id: str, above: str = "", below: str = "") -> None:  # noqa: A002
        """Create the list. `above`, `below`: ids of the lists to which the cursor moves on."""
        super().__init__(id=id)
        self._above, self._below = above, below

    def on_mount(self) -> None:
        self.watch(self, "has_focus", self._show_cursor)

    def _show_cursor(self, shown: bool) -> None:
        self.is_cursor_shown = shown
        self.refresh_line(self.cursor)

    def action_move(self, by: int) -> None:
        at = self.cursor + by
        if neighbour := self._above if at < 0 else self._below if at >= self.total else "":
            self.screen.query_one(f"#{neighbour}").focus()
        else:
            super().action_move(by)


class CompareScreen(PickerScreen[int | None], inherit_bindings=False):
    """Screen with the pass rates of two runs by category, and with the items of a view whose verdicts differ.

    Not available in blind review.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMPARISON_ACTIONS, MODAL_HELP_ACTIONS)
    CSS_PATH = "pick.tcss"
    CSS = """
    CompareScreen #rates-panel { height: auto; }
    CompareScreen #rates { height: 1; }
    CompareScreen.waiting Panel, CompareScreen.waiting TopLine { display: none; }
    """
    WAITING_FOR = "comparing"

    def __init__(self, session: Session, view: View, runs: tuple[RunRow, RunRow]) -> None:
        super().__init__()
        self._session, self._view, self._runs = session, view, runs
        self._sources: tuple[VerdictSource, VerdictSource] = self._default_sources
        self._comparison: RunComparison | None = None
        self._side = ""
        """Run that passes the listed items: `a` or `b`. Empty to list the items of both."""
        self._rows: Mapping[int, QueueRow] = {}
        """Queue row of the failing item of each flip, by item number."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TopLine()
            yield LineBar(id="pick-title")
            with Panel(id="rates-panel"):
                yield LineBar(id="rates-heading")
                yield PanelList(id="rates", below="pick-list")
            with Panel(id="flips-panel"):
                yield LineBar(id="pick-heading")
                yield PanelList(id="pick-list", above="rates")
            yield KeyLine()

    @property
    def _default_sources(self) -> tuple[VerdictSource, VerdictSource]:
        a, b = self._runs
        return choose_verdict_source(a.official_known, a.rule_known), choose_verdict_source(
            b.official_known, b.rule_known
        )

    def on_mount(self) -> None:
        super().on_mount()
        self._compare_runs()

    @work(exclusive=True, group="compare")
    async def _compare_runs(self) -> None:
        a, b = (row.run for row in self._runs)
        source_a, source_b = self._sources
        self.waiting.start()
        outcomes_a, outcomes_b = await self._session.query(
            lambda store: (
                store.analysis.fetch_outcomes(self._view, (a,), source_a)[a],
                store.analysis.fetch_outcomes(self._view, (b,), source_b)[b],
            ),
            interruptible=True,
        )
        self._comparison = await asyncio.to_thread(compare_runs, outcomes_a, outcomes_b)
        failing = [failing_item_number(flip) for flip in self._comparison.flips]
        rows = await self._session.query(lambda store: store.fetch_rows(failing), interruptible=True)
        self._rows = {row.item: row for row in rows}
        self.waiting.stop()
        self._message = ""
        self._draw()
        self.list.move_cursor(0)
        self.handle_kept_keys()

    def must_wait(self, action: str) -> bool:
        return self._comparison is None and not action.startswith("app.")

    def _draw_title(self) -> None:
        """Draw the message, or the facts of the first panel if the panel has no border to show them."""
        if self._comparison is None:
            self._draw_waiting_time(0)
            return
        facts = comparison_facts(self._comparison, self.size.width - 2)
        text, style = (self._message, "warn") if self._message else (facts, "dim")
        title = self.query_one("#pick-title", LineBar)
        title.display = bool(self._message) or is_small(self.size)
        title.show(fit_line(((f" {text}", style),), self.size.width))

    def _draw(self) -> None:
        if not self.is_mounted or self._comparison is None:
            return
        self.remove_class("waiting")
        (first, second), dot = (sanitize(row.info.model) for row in self._runs), f" {symbols().separator} "
        room = max((self.size.width - 40) // 2, 8)
        runs: Line = (("A ", "key"), (truncate_middle(first, room), ""), ("   ", ""))
        runs = (*runs, ("B ", "key"), (truncate_middle(second, room), ""))
        self.query_one(TopLine).show_path((*self._session.folder_names, "compare"), runs)
        for panel in self.query(Panel):
            panel.set_flat(is_small(self.size))
        cells = self.size.width - (2 if is_small(self.size) else 6)
        heading, lines = pass_rate_lines(self._comparison, *self._sources, cells)
        rates, title = self.query_one("#rates", TextList), f"Pass rates{dot}{verdict_sources_text(*self._sources)}"
        rates.styles.height = max(min(len(lines), (self.size.height - 9) // 2), 1)
        self.query_one("#rates-heading", LineBar).show(((" ", ""), *heading))
        rates.set_lines(lines)
        self.query_one("#rates-panel", Panel).set_title(title, comparison_facts(self._comparison, cells))
        self._draw_flips()
        self._draw_title()

    @property
    def _flips(self) -> list[Flip]:
        """Displayed flips: all flips, or those that only A or only B passes."""
        flips = self._comparison.flips if self._comparison is not None else ()
        return [flip for flip in flips if self._side in ("", flip.passing_side)]

    def _draw_flips(self) -> None:
        flips = self._flips
        heading, lines = flip_list_lines(flips, self._rows, self.size.width - (2 if is_small(self.size) else 6))
        facts = flip_facts(flips, self._side)
        self.query_one("#pick-heading", LineBar).show(((" ", ""), *heading))
        self.list.empty_line = make_line(" no items with different verdicts", "dim")
        self.list.set_lines(lines)
        self.query_one("#flips-panel", Panel).set_title("Items with different verdicts", facts, flat_facts=True)

    def action_choose_row(self) -> None:
        if (flips := self._flips) and self.list.has_focus:
            self.app.push_screen(FlipScreen(self._session, flips, self.list.cursor))

    def action_switch_panel(self) -> None:
        (self.query_one("#rates") if self.list.has_focus else self.list).focus()

    def action_next_side(self) -> None:
        """Switch from all items to the items that only A passes, then to the items that only B passes."""
        self._side = SIDES[(SIDES.index(self._side) + 1) % len(SIDES)]
        if self._comparison is not None:
            self._draw_flips()
            self.list.move_cursor(0)

    def action_export(self) -> None:
        open_command_form(self.app, self._session, FORMS["export"], {})

    def action_next_source(self) -> None:
        sources = list(dict.fromkeys([self._default_sources, *((source, source) for source in VERDICT_SOURCES)]))
        self._sources = sources[(sources.index(self._sources) + 1) % len(sources)]
        self._compare_runs()
