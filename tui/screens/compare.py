"""Screens to choose a run, to compare two runs, and to show flips (items that only one of the two runs passes)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from fcreview.model.item import Item
from fcreview.model.sanitize import sanitize
from fcreview.stats.run_comparison import (
    VERDICT_SOURCES,
    Flip,
    RunComparison,
    VerdictSource,
    choose_source,
    compare_runs,
)
from fcreview.store.queries.run_lists import GROUP_LABELS
from fcreview.store.rows import RunRow, View
from fcreview.tui.actions import (
    COMPARISON_ACTIONS,
    FLIP_ACTIONS,
    MODAL_HELP_ACTIONS,
    RUN_LIST_ACTIONS,
    RUN_SEARCH_ACTIONS,
)
from fcreview.tui.key_bindings import active_key_names, make_bindings
from fcreview.tui.queue.runs import RunListState, comparison_choices, flip_lines, run_choices
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.screens.picker import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, justify_line, truncate_middle
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList
from fcreview.tui.widgets.safe_input import SafeInput


class FlipScreen(Screen[None]):
    """Screen that shows one flip at a time: the golden answer, and the predictions of both runs side by side."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(FLIP_ACTIONS)
    DEFAULT_CSS = "FlipScreen { layout: vertical; }"

    def __init__(self, session: Session, flips: Sequence[Flip], at: int) -> None:
        super().__init__()
        self._session, self._flips, self._at = session, flips, at
        self._items: tuple[Item, Item] | None = None

    def compose(self) -> ComposeResult:
        yield LineBar(id="flip-title")
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
        name = " " + f" {symbols().separator} ".join(words)
        place: Line = ((f"{self._at + 1:,}/{len(self._flips):,} ", "dim"),)
        self.query_one("#flip-title", LineBar).show(justify_line(((name, "strong"),), place, cells))
        if self._items is not None:
            self._text_list.set_lines(flip_lines(flip, *self._items, cells))

    def action_step(self, by: int) -> None:
        """Show the next (1) or previous (-1) flip. At the first and the last flip nothing happens."""
        at = max(0, min(self._at + by, len(self._flips) - 1))
        if at != self._at:
            self._at, self._items = at, None
            self._load_items()

    def action_scroll(self, by: int) -> None:
        self._text_list.action_move(by)

    def action_page(self, by: int) -> None:
        self._text_list.action_move_page(by)

    def action_close(self) -> None:
        self.dismiss(None)


class CompareScreen(PickerScreen[int | None], inherit_bindings=False):
    """Table of the counts and flips of two runs, for the items of a view. Not available in blind review."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(COMPARISON_ACTIONS, MODAL_HELP_ACTIONS)
    CSS_PATH = "pick.tcss"
    WAITING_FOR = "comparing"

    def __init__(self, session: Session, view: View, runs: tuple[RunRow, RunRow]) -> None:
        super().__init__()
        self._session, self._view, self._runs = session, view, runs
        self._source: VerdictSource = choose_source(row.official_known for row in runs)
        self._comparison: RunComparison | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="compare")
    async def _compute(self) -> None:
        (a, first), (b, second) = ((row.run, sanitize(row.info.model)) for row in self._runs)
        source = self._source
        self.waiting.start()
        found = await self._session.query(
            lambda store: store.analysis.fetch_outcomes(self._view, (a, b), source), interruptible=True
        )
        self._comparison = await asyncio.to_thread(compare_runs, found[a], found[b])
        self.waiting.stop()
        choices = comparison_choices(self._comparison, source)
        choices.title = f"A {first}, B {second}, {source}"
        self._choices = choices
        self._draw()
        self.list.move_cursor(choices.cursor)

    def action_take(self) -> None:
        if self._comparison is None or self._choices is None or not self._choices.values:
            return
        at = self._choices.values[self.list.cursor]
        if at is not None:
            self.app.push_screen(FlipScreen(self._session, self._comparison.flips, at))

    def action_source(self) -> None:
        self._source = VERDICT_SOURCES[(VERDICT_SOURCES.index(self._source) + 1) % len(VERDICT_SOURCES)]
        self._compute()


class RunSearchInput(SafeInput):
    """Search box below the list of runs."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RUN_SEARCH_ACTIONS)


class RunsScreen(PickerScreen["int | str"], inherit_bindings=False):
    """List of runs that can be sorted, searched and grouped. The result is the number of the chosen run.

    To compare two runs, the user marks one after the other.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(RUN_LIST_ACTIONS, MODAL_HELP_ACTIONS)
    CSS_PATH = "pick.tcss"

    def __init__(
        self,
        runs: Sequence[RunRow],
        list_state: RunListState,
        selected: int | None,
        compare: Callable[[int, int], Screen[Any]] | None,
    ) -> None:
        """Create the list with the cursor on the run `selected`. The list keeps its order and search in `list_state`.

        `compare` makes the screen that compares two runs. It is None in blind review.
        """
        super().__init__()
        self._runs, self._list_state, self._selected, self._compare = runs, list_state, selected, compare
        self._marked: int | None = None

    def compose_below_list(self) -> Iterable[Widget]:
        box = RunSearchInput(self._list_state.search, placeholder="model, benchmark, version or path", compact=True)
        box.cursor_blink = False
        box.display = bool(self._list_state.search)
        yield box

    def on_mount(self) -> None:
        super().on_mount()
        self._redraw(self._selected)

    @property
    def _search_input(self) -> RunSearchInput:
        return self.query_one(RunSearchInput)

    def on_resize(self) -> None:
        self._redraw(self._value_at_cursor)

    @property
    def _value_at_cursor(self) -> int | str | None:
        values = self._choices.values if self._choices is not None else ()
        return values[self.list.cursor] if values else self._selected

    def _redraw(self, at: int | str | None) -> None:
        """Redraw the list with the cursor on the run or group `at`.

        If the run is in a folded group, the cursor is on the group.
        """
        blind = self._compare is None
        choices = run_choices(self._runs, self._list_state, self.size.width, blind=blind)
        if self._marked is not None:
            model = next((sanitize(run.info.model) for run in self._runs if run.run == self._marked), "")
            key = active_key_names(self.app).get("runs.compare", "")
            choices.note = f"A: run {self._marked} {truncate_middle(model, 30)}; mark B with {key}"
        if at not in choices.values:
            at = next(
                (
                    GROUP_LABELS[self._list_state.grouping](run)
                    for run in self._runs
                    if self._list_state.grouping and run.run == at
                ),
                None,
            )
        choices.cursor = choices.values.index(at) if at in choices.values else 0
        self._choices = choices
        self._draw()
        self.list.move_cursor(choices.cursor)
        self.refresh_bindings()

    # -- order, groups and search

    def action_order(self) -> None:
        self._list_state.next_order(blind=self._compare is None)
        self._redraw(self._value_at_cursor)

    def action_reverse(self) -> None:
        self._list_state.is_reversed = not self._list_state.is_reversed
        self._redraw(self._value_at_cursor)

    def action_grouping(self) -> None:
        here = self._value_at_cursor
        self._list_state.next_grouping()
        self._redraw(here)

    def action_unfold(self, unfold: bool) -> None:
        """Unfold or fold the group under the cursor. Folding a group from one of its runs moves to the group's line."""
        rows, at = self._choices.values if self._choices is not None else (), self.list.cursor
        name = next((value for value in reversed(rows[: at + 1]) if isinstance(value, str)), None)
        if name is None or (name in self._list_state.unfolded) == unfold or rows[at] == ALL_RUNS:
            return
        self._list_state.unfolded ^= {name}
        self._redraw(name if not unfold else self._value_at_cursor)

    def action_move(self, by: int) -> None:
        self.list.action_move(by)

    def action_find(self) -> None:
        self._search_input.display = True
        self._search_input.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._list_state.search:
            self._list_state.search = event.value
            self._redraw(self._value_at_cursor)

    def action_end_search(self, apply: bool) -> None:
        """Return from the search box to the list. `apply`: keep the search; otherwise show all runs."""
        if not apply:
            self._search_input.value = self._list_state.search = ""
        self._search_input.display = bool(self._list_state.search)
        self.list.focus()
        self._redraw(self._value_at_cursor)

    # -- choosing and comparing runs

    def action_take(self) -> None:
        here = self._value_at_cursor
        if isinstance(here, str):
            self.action_unfold(here not in self._list_state.unfolded)
        elif here is not None and self._choices is not None and self._choices.values:
            self.dismiss(here)

    def action_close(self) -> None:
        if self._list_state.search:
            self.action_end_search(False)
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        if self.is_mounted and isinstance(self.focused, RunSearchInput):
            return action in ("end_search", "move")
        return True

    @property
    def idle_keys(self) -> frozenset[str]:
        """Ids of actions whose keys only explain why there is nothing to do.

        The key line and the help omit these actions.
        """
        hidden = {"runs.compare"} if self._compare is None else set()
        typing = self.is_mounted and isinstance(self.focused, RunSearchInput)
        return frozenset(hidden | ({"app.help"} if typing else set()))

    def action_mark(self) -> None:
        """Mark the run under the cursor, compare it with the marked run, or remove its mark."""
        run = self._value_at_cursor
        if self._compare is None:
            self.show_message("comparing runs is not available in blind review because it reveals verdicts")
            return
        if run is None or isinstance(run, str) or run == ALL_RUNS:
            self.show_message("move to a run to mark it for comparison")
            return
        if self._marked is None:
            self._marked = run
        else:
            if self._marked != run:
                self.app.push_screen(self._compare(self._marked, run))
            self._marked = None
        self._redraw(run)
