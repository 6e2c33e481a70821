"""Compare two runs, and show the flips: items that only one of the two runs passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from fcreview.model.item import Item
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_count
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
    is_clustered,
    list_caveats,
    list_table_groups,
)
from fcreview.store.rows import QueueRow, RunRow, View
from fcreview.tui.actions import COMPARISON_ACTIONS, FLIP_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.commands import FORMS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.columns import difference_line, shorten_difference_line, shorten_ids
from fcreview.tui.review.other_runs import flip_detail_lines
from fcreview.tui.screens.command_form import open_command_form
from fcreview.tui.screens.prompts import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.graphics import interval_bar, verdict_badge
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    TableLines,
    TextColumn,
    fit_line,
    lay_out_table,
    line_width,
    make_line,
    replace_missing_value_sign,
    truncate_middle,
)
from fcreview.tui.text.run_names import format_run_name
from fcreview.tui.text.styles import symbols
from fcreview.tui.widgets.base import GuardedScreen, Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, TopLine
from fcreview.tui.widgets.lists import LinkedList, TextList

SOURCE_NAMES: dict[VerdictSource, str] = {
    "official": "official",
    "rule": "recomputed",
    "effective": "effective",
}
LAYOUTS = (
    (True, ("both pass", "both fail", "only A", "only B", "p", "p (Holm)")),
    (True, ("only A", "only B", "p", "p (Holm)")),
    (True, ("both pass", "both fail", "only A", "only B", "p")),
    (True, ("only A", "only B", "p")),
    (True, ("only A", "only B")),
    (False, ("only A", "only B")),
    (False, ()),
)
"""Layouts of the table, from the widest to the narrowest, as tuples (whether intervals are drawn,
titles of the right columns). The first layout that fits is used.
"""
WHISKER_CELLS = (12, 50)
"""Smallest and largest width of the drawn intervals, in cells."""
GAP = 2
ID_CELLS = (14, 40)
"""Smallest and largest width of the column of item ids, in cells."""


def format_verdict_sources(source_a: VerdictSource, source_b: VerdictSource) -> str:
    """Return `official verdicts`, or `A official, B recomputed` if the sources differ."""
    if source_a == source_b:
        return f"{SOURCE_NAMES[source_a]} verdicts"
    return f"A {SOURCE_NAMES[source_a]}, B {SOURCE_NAMES[source_b]}"


def summarize_comparison(comparison: RunComparison, width: int) -> str:
    """Return `4 items · McNemar p 1.000 · only A 1, only B 2 · both pass 0, both fail 1`, cut to
    `width`.
    """
    overall = comparison.overall
    counts = overall.counts
    parts = [
        f"{_format_item_count(overall)} {'item' if counts.n == 1 else 'items'}",
        f"{_name_test(overall)} p"
        f" {replace_missing_value_sign(format_p_value(overall.difference.p))}",
        f"only A {counts.only_a:,}, only B {counts.only_b:,}",
        f"both pass {counts.both_pass:,}, both fail {counts.both_fail:,}",
    ]
    separator = f" {symbols().separator} "
    text = separator.join(parts)
    return text if display_width(text) <= width else separator.join(parts[:-1])


def _name_test(group: ComparisonGroup) -> str:
    return "McNemar by cluster," if is_clustered(group) else "McNemar"


def build_pass_rate_table(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource, width: int
) -> TableLines:
    """Return the table of pass rates: all items, each category, then warnings about the
    comparison.
    """
    groups = list_table_groups(comparison, source_a, source_b)
    comparable = [
        group.is_comparable(source_a, source_b) and group.counts.n > 0 for group in groups
    ]
    left_columns = [
        TextColumn("category", truncate=truncate_middle, min_width=10),
        *(TextColumn(title, align_right=True, min_width=5) for title in ("items", "A", "B")),
    ]
    left_rows = [
        _rate_cells(group, is_comparable=ok) for group, ok in zip(groups, comparable, strict=True)
    ]
    left_columns.append(
        TextColumn("A - B, 95 % CI", min_width=max(display_width(row[-1][0]) for row in left_rows))
    )
    natural = line_width(lay_out_table(left_columns, left_rows, width)[0])
    has_categories = len(groups) > 1
    for has_whiskers, names in LAYOUTS:
        # p values are corrected for the number of categories.
        if "p (Holm)" in names and not has_categories:
            continue
        rows = [
            _count_cells(group, names, is_comparable=ok)
            for group, ok in zip(groups, comparable, strict=True)
        ]
        right_heading, right = lay_out_table(
            [TextColumn(name, align_right=True) for name in names], rows, width
        )
        whisker = WHISKER_CELLS[0] + GAP if has_whiskers else 0
        if natural + whisker + GAP + line_width(right_heading) <= width:
            break
    room = width - (line_width(right_heading) + GAP if names else 0)
    left_heading, left = lay_out_table(left_columns, left_rows, room)
    whisker_cells = min(room - line_width(left_heading) - GAP, WHISKER_CELLS[1])
    middle_heading, middle = _interval_lines(groups, comparable, whisker_cells)
    caveats: list[Line] = [
        ((sanitize(text), "warn"),) for text in list_caveats(comparison, source_a, source_b)
    ]
    lines = [_join_with_gaps(*parts) for parts in zip(left, middle, right, strict=True)]
    return TableLines(
        _join_with_gaps(left_heading, middle_heading, right_heading), [*lines, *caveats]
    )


def _join_with_gaps(*parts: Line) -> Line:
    joined: list[StyledText] = []
    for part in parts:
        joined += [*([(" " * GAP, "")] if joined and part else []), *part]
    return tuple(joined)


def _rate_cells(group: ComparisonGroup, *, is_comparable: bool) -> list[StyledText]:
    none = (symbols().none, "dim")
    name = ("all items", "strong") if group.category is None else (sanitize(group.category), "")
    cells = [name, (_format_item_count(group), "")]
    if not is_comparable:
        return [*cells, none, none, none]
    rates = [
        (f"{100 * rate:.1f}", "") if rate is not None else none
        for rate in (group.rate_a, group.rate_b)
    ]
    return [
        *cells,
        *rates,
        (replace_missing_value_sign(format_difference(group.difference)), "strong"),
    ]


def _format_item_count(group: ComparisonGroup) -> str:
    """Return the number of compared items: `3`, or `2 of 3` if one of three items lacks a
    verdict in run A or B.
    """
    return f"{group.counts.n:,}" + (
        f" of {group.n_pairs:,}" if group.counts.n < group.n_pairs else ""
    )


def _count_cells(
    group: ComparisonGroup, column_names: Sequence[str], *, is_comparable: bool
) -> list[StyledText]:
    counts = group.counts
    passing = {"both pass": counts.both_pass, "only A": counts.only_a, "only B": counts.only_b}
    numbers = {**passing, "both fail": counts.both_fail}
    p_values = {"p": group.difference.p, "p (Holm)": group.p_holm}
    cells: list[StyledText] = []
    for name in column_names:
        if name in numbers:
            cells.append((f"{numbers[name]:,}", ""))
        elif is_comparable:
            cells.append((replace_missing_value_sign(format_p_value(p_values[name])), "dim"))
        else:
            cells.append((symbols().none, "dim"))
    return cells


def _interval_lines(
    groups: Sequence[ComparisonGroup], are_comparable: Sequence[bool], width: int
) -> TableLines:
    """Draw the confidence interval of each group's difference, on a common scale with a mark at 0.
    The lines are empty if `width` is too small.
    """
    if width < WHISKER_CELLS[0]:
        return TableLines((), [()] * len(groups))
    differences = [
        group.difference if ok else None for group, ok in zip(groups, are_comparable, strict=True)
    ]
    ends = [
        end
        for each in differences
        if each is not None
        for end in (each.low, each.high)
        if end is not None
    ]
    scale = min([0.0, *ends]), max([0.0, *ends])
    zero = round(-scale[0] / ((scale[1] - scale[0]) or 1) * (width - 1))
    lines: list[Line] = []
    for each in differences:
        if each is None or each.value is None or each.low is None or each.high is None:
            lines.append(((" " * width, ""),))
        else:
            lines.append(
                interval_bar(each.low, each.value, each.high, scale, width, marked_value=0.0)
            )
    return TableLines(((pad(" " * zero + "0", width), "dim"),), lines)


def build_flip_table(
    flips: Sequence[Flip], row_by_item: Mapping[int, QueueRow], width: int
) -> TableLines:
    """Return the table of flips. `row_by_item`: queue rows of the failing items, by item number."""
    ids = [flip.a.question_key.id for flip in flips]
    longest = max((display_width(sanitize(each)) for each in ids), default=0)
    size = max(min(longest, ID_CELLS[1], width // 3), ID_CELLS[0])
    names = shorten_ids(ids, size)
    heading: Line = (
        (pad("item", size), "dim"),
        ("  A       B       first difference of the failing run", "dim"),
    )
    lines: list[Line] = []
    for flip, name in zip(flips, ids, strict=True):
        line: list[StyledText] = [(pad(names.get(name) or sanitize(name), size), ""), ("  ", "")]
        line += [
            verdict_badge(flip.a.verdict),
            ("  ", ""),
            verdict_badge(flip.b.verdict),
            ("  ", ""),
        ]
        # The first difference alone does not explain a flip with different golden answers or equal
        # predictions.
        row = (
            None
            if flip.golden_differs or flip.same_prediction
            else row_by_item.get(find_failing_item(flip))
        )
        cause = difference_line(row) if row is not None else ()
        lines.append(
            (
                *line,
                *shorten_difference_line(
                    cause or make_line(sanitize(flip.cause)), width - size - 18
                ),
            )
        )
    return TableLines(heading, lines)


def find_failing_item(flip: Flip) -> int:
    """Return the number of the item in the run that fails it."""
    return (flip.b if flip.passing_side == "a" else flip.a).item


def format_flip_count(flips: Sequence[Flip], passing_side: str) -> str:
    """Return the number of listed flips, such as `only A passes · 3 items`.

    `passing_side`: `a`, `b`, or empty.
    """
    condition = f"only {passing_side.upper()} passes {symbols().separator} " if passing_side else ""
    return condition + format_count(len(flips), "item")


PASSING_SIDES = ("", "a", "b")
"""Choices of the run that passes the listed items. Empty: either run."""


class FlipScreen(GuardedScreen[None]):
    """Screen that shows one flip at a time: the golden answer, and the predictions of both runs
    side by side.
    """

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
        self._items = await self._session.query(
            lambda store: (store.read_detail(flip.a.item).item, store.read_detail(flip.b.item).item)
        )
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
        path = (*self._session.root_breadcrumb, "compare", f" {symbols().separator} ".join(words))
        self.query_one(TopLine).show_path(
            path, ((f"{self._at + 1:,}/{len(self._flips):,}", "dim"),)
        )
        if self._items is not None:
            self._text_list.set_lines(flip_detail_lines(flip, *self._items, cells - 2))

    def action_step_flip(self, by: int) -> None:
        """Show the next (1) or previous (-1) flip.

        At the first and the last flip nothing happens.
        """
        at = max(0, min(self._at + by, len(self._flips) - 1))
        if at != self._at:
            self._at, self._items = at, None
            self._load_items()

    def action_scroll(self, by: int) -> None:
        self._text_list.action_move(by)

    def action_page(self, by: int) -> None:
        self._text_list.action_move_page(by)


class CompareScreen(PickerScreen[int | None], inherit_bindings=False):
    """Screen with the pass rates of two runs by category, and with the flips among the items of a
    view.

    It is not available in blind review.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMPARISON_ACTIONS, MODAL_HELP_ACTIONS)
    CSS = """
    CompareScreen #rates-panel { height: auto; }
    CompareScreen #rates { height: 1; }
    CompareScreen.waiting Panel, CompareScreen.waiting TopLine { display: none; }
    """
    WAITING_FOR = "comparing"

    def __init__(self, session: Session, view: View, runs: tuple[RunRow, RunRow]) -> None:
        super().__init__()
        self._session, self._view, self._runs = session, view, runs
        source_a, source_b = (
            choose_verdict_source(row.official_known, row.rule_known) for row in runs
        )
        self._default_sources = self._sources = source_a, source_b
        self._comparison: RunComparison | None = None
        self._passing_side = ""
        """Run that passes the listed items, see `PASSING_SIDES`."""
        self._rows: Mapping[int, QueueRow] = {}
        """Queue row of the failing item of each flip, by item number."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TopLine()
            yield LineBar(id="pick-title")
            with Panel(id="rates-panel"):
                yield LineBar(id="rates-heading")
                yield LinkedList(id="rates", below="pick-list")
            with Panel(id="flips-panel"):
                yield LineBar(id="pick-heading")
                yield LinkedList(id="pick-list", above="rates")
            yield KeyLine()

    def on_mount(self) -> None:
        super().on_mount()
        self._compare_runs()

    @work(exclusive=True, group="compare")
    async def _compare_runs(self) -> None:
        sources = [(row.run, source) for row, source in zip(self._runs, self._sources, strict=True)]
        self.waiting.start()
        outcomes = await self._session.query(
            lambda store: [
                store.analysis.fetch_outcomes(self._view, (run,), source)[run]
                for run, source in sources
            ],
            interruptible=True,
        )
        self._comparison = await asyncio.to_thread(compare_runs, *outcomes)
        failing = [find_failing_item(flip) for flip in self._comparison.flips]
        rows = await self._session.query(
            lambda store: store.fetch_rows(failing), interruptible=True
        )
        self._rows = {row.item: row for row in rows}
        self.waiting.stop()
        self._message = ""
        self._draw()
        self.list.move_cursor(0)
        self.handle_kept_keys()

    def must_wait(self, action: str) -> bool:
        return self._comparison is None and not action.startswith("app.")

    def _draw_title(self) -> None:
        """Draw the message or, on a small screen, the summary that the panel's border otherwise
        shows.
        """
        if self._comparison is None:
            self._draw_waiting_time(0)
            return
        facts = summarize_comparison(self._comparison, self.size.width - 2)
        text, style = (self._message, "warn") if self._message else (facts, "dim")
        title = self.query_one("#pick-title", LineBar)
        title.display = bool(self._message) or is_small_screen(self.size)
        title.show(fit_line(((f" {text}", style),), self.size.width))

    def _draw(self) -> None:
        if not self.is_mounted or self._comparison is None:
            return
        self.remove_class("waiting")
        (first, second), dot = (
            (format_run_name(row) for row in self._runs),
            f" {symbols().separator} ",
        )
        room = max((self.size.width - 40) // 2, 8)
        runs: Line = (("A ", "key"), (truncate_middle(first, room), ""), ("   ", ""))
        runs = (*runs, ("B ", "key"), (truncate_middle(second, room), ""))
        self.query_one(TopLine).show_path((*self._session.root_breadcrumb, "compare"), runs)
        for panel in self.query(Panel):
            panel.set_flat(is_small_screen(self.size))
        cells = self.size.width - (2 if is_small_screen(self.size) else 6)
        heading, lines = build_pass_rate_table(self._comparison, *self._sources, cells)
        rates, title = (
            self.query_one("#rates", TextList),
            f"Pass rates{dot}{format_verdict_sources(*self._sources)}",
        )
        rates.styles.height = max(min(len(lines), (self.size.height - 9) // 2), 1)
        self.query_one("#rates-heading", LineBar).show(((" ", ""), *heading))
        rates.set_lines(lines)
        self.query_one("#rates-panel", Panel).set_title(
            title, summarize_comparison(self._comparison, cells)
        )
        self._draw_flips()
        self._draw_title()

    @property
    def _flips(self) -> list[Flip]:
        """Displayed flips: all flips, or those that only A or only B passes."""
        flips = self._comparison.flips if self._comparison is not None else ()
        return [flip for flip in flips if self._passing_side in ("", flip.passing_side)]

    def _draw_flips(self) -> None:
        flips = self._flips
        heading, lines = build_flip_table(
            flips, self._rows, self.size.width - (2 if is_small_screen(self.size) else 6)
        )
        facts = format_flip_count(flips, self._passing_side)
        self.query_one("#pick-heading", LineBar).show(((" ", ""), *heading))
        self.list.empty_line = make_line(" no items with different verdicts", "dim")
        self.list.set_lines(lines)
        self.query_one("#flips-panel", Panel).set_title(
            "Items with different verdicts", facts, flat_facts=True
        )

    def action_choose_row(self) -> None:
        if (flips := self._flips) and self.list.has_focus:
            self.app.push_screen(FlipScreen(self._session, flips, self.list.cursor))

    def action_switch_panel(self) -> None:
        (self.query_one("#rates") if self.list.has_focus else self.list).focus()

    def action_next_side(self) -> None:
        """List the flips that only A passes, then those that only B passes, then all flips."""
        self._passing_side = PASSING_SIDES[
            (PASSING_SIDES.index(self._passing_side) + 1) % len(PASSING_SIDES)
        ]
        if self._comparison is not None:
            self._draw_flips()
            self.list.move_cursor(0)

    def action_export(self) -> None:
        open_command_form(self.app, self._session, FORMS["export"], {})

    def action_next_source(self) -> None:
        sources = list(
            dict.fromkeys(
                [self._default_sources, *((source, source) for source in VERDICT_SOURCES)]
            )
        )
        self._sources = sources[(sources.index(self._sources) + 1) % len(sources)]
        self._compare_runs()
