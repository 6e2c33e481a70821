"""Screens that lay two runs beside each other.

Two runs compared: counts and differences, and every flip, which opens with what both predicted.

Flips, one at a time: the golden answer and both predictions beside each other.

The runs to choose from: sorted, searched by typing, in groups that fold. Two can be marked, one after the other, and
are then compared.
"""

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
from fcreview.model.sanitize import visible
from fcreview.stats.run_comparison import VERDICT_SOURCES, Comparison, Flip, VerdictSource, compared, usual_source
from fcreview.store.queries.run_lists import GROUPED_BY
from fcreview.store.rows import RunRow, View
from fcreview.tui.actions import COMPARE, FIND, FLIP, IN_FRONT, RUNS
from fcreview.tui.key_bindings import bindings
from fcreview.tui.queue.runs import RunListState, comparison_choices, flip_lines, run_choices
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.screens.picker import PickScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, cut_middle, spread
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList
from fcreview.tui.widgets.safe_input import SafeInput


class FlipScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(FLIP)
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
        self._read()

    @property
    def _text(self) -> TextList:
        return self.query_one("#flip-text", TextList)

    @work(exclusive=True, group="flip")
    async def _read(self) -> None:
        flip = self._flips[self._at]
        a, b = await self._session.ask(lambda store: (store.detail(flip.a.item).item, store.detail(flip.b.item).item))
        self._items = a, b
        self._draw()
        self._text.action_move_to(0)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        flip, cells = self._flips[self._at], self.size.width
        words = [visible(flip.a.place.id), visible(flip.a.place.category), f"only {flip.passes.upper()} passes"]
        name = " " + f" {symbols().between} ".join(words)
        place: Line = ((f"{self._at + 1:,}/{len(self._flips):,} ", "dim"),)
        self.query_one("#flip-title", LineBar).show(spread(((name, "strong"),), place, cells))
        if self._items is not None:
            self._text.set_lines(flip_lines(flip, *self._items, cells))

    def action_step(self, by: int) -> None:
        """The next flip, or the one before; not beyond the ends."""
        at = max(0, min(self._at + by, len(self._flips) - 1))
        if at != self._at:
            self._at, self._items = at, None
            self._read()

    def action_scroll(self, by: int) -> None:
        self._text.action_move(by)

    def action_page(self, by: int) -> None:
        self._text.action_move_page(by)

    def action_close(self) -> None:
        self.dismiss(None)


class CompareScreen(PickScreen[int | None], inherit_bindings=False):
    """Of the items that the view selects, whichever runs it is of. Not for who reviews blind."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COMPARE, IN_FRONT)
    CSS_PATH = "pick.tcss"
    DOING = "comparing"

    def __init__(self, session: Session, view: View, runs: tuple[RunRow, RunRow]) -> None:
        super().__init__()
        self._session, self._view, self._both = session, view, runs
        self._source: VerdictSource = usual_source(row.official_known for row in runs)
        self._found: Comparison | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="compare")
    async def _compute(self) -> None:
        (a, first), (b, second) = ((row.run, visible(row.info.model)) for row in self._both)
        source = self._source
        self.waiting.begin()
        found = await self._session.ask(
            lambda store: store.told.outcomes(self._view, (a, b), source), interruptible=True
        )
        self._found = await asyncio.to_thread(compared, found[a], found[b])
        self.waiting.end()
        choices = comparison_choices(self._found, source)
        choices.title = f"A {first}, B {second}, {source}"
        self._choices = choices
        self._draw()
        self.list.move_cursor(choices.cursor)

    def action_take(self) -> None:
        if self._found is None or self._choices is None or not self._choices.values:
            return
        at = self._choices.values[self.list.cursor]
        if at is not None:
            self.app.push_screen(FlipScreen(self._session, self._found.flips, at))

    def action_source(self) -> None:
        self._source = VERDICT_SOURCES[(VERDICT_SOURCES.index(self._source) + 1) % len(VERDICT_SOURCES)]
        self._compute()


class FindInput(SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = bindings(FIND)


class RunsScreen(PickScreen["int | str"], inherit_bindings=False):
    """Gives the number of the run to show. `compare` makes the screen for two; None where verdicts are hidden."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(RUNS, IN_FRONT)
    CSS_PATH = "pick.tcss"

    def __init__(
        self,
        runs: Sequence[RunRow],
        place: RunListState,
        selected: int | None,
        compare: Callable[[int, int], Screen[Any]] | None,
    ) -> None:
        """`place`: as the list was left, and as it is left now."""
        super().__init__()
        self._runs, self._place, self._selected, self._compare = runs, place, selected, compare
        self._marked: int | None = None

    def below(self) -> Iterable[Widget]:
        box = FindInput(self._place.find, placeholder="words of model, benchmark, generation or path", compact=True)
        box.cursor_blink = False
        box.display = bool(self._place.find)
        yield box

    def on_mount(self) -> None:
        super().on_mount()
        self._again(self._selected)

    @property
    def _box(self) -> FindInput:
        return self.query_one(FindInput)

    def on_resize(self) -> None:
        self._again(self._here)

    @property
    def _here(self) -> int | str | None:
        values = self._choices.values if self._choices is not None else ()
        return values[self.list.cursor] if values else self._selected

    def _again(self, at: int | str | None) -> None:
        """Anew, with the cursor on what it stood on if that is still shown."""
        blind = self._compare is None
        made = run_choices(self._runs, self._place, self.size.width, blind=blind)
        if self._marked is not None:
            model = next((visible(run.info.model) for run in self._runs if run.run == self._marked), "")
            made.note = f"A: run {self._marked} {cut_middle(model, 30)}; x on another compares"
        if at not in made.values:
            at = next((GROUPED_BY[self._place.by](run) for run in self._runs if self._place.by and run.run == at), None)
        made.cursor = made.values.index(at) if at in made.values else 0
        self._choices = made
        self._draw()
        self.list.move_cursor(made.cursor)
        self.refresh_bindings()

    # -- which, and in which order

    def action_order(self) -> None:
        self._place.next_order(blind=self._compare is None)
        self._again(self._here)

    def action_reverse(self) -> None:
        self._place.reverse = not self._place.reverse
        self._again(self._here)

    def action_grouping(self) -> None:
        here = self._here
        self._place.next_grouping()
        self._again(here)

    def action_unfold(self, wanted: bool) -> None:
        """The group under the cursor; folding from inside it leads back to its line."""
        rows, at = self._choices.values if self._choices is not None else (), self.list.cursor
        name = next((value for value in reversed(rows[: at + 1]) if isinstance(value, str)), None)
        if name is None or (name in self._place.unfolded) == wanted or rows[at] == ALL_RUNS:
            return
        self._place.unfolded ^= {name}
        self._again(name if not wanted else self._here)

    def action_move(self, by: int) -> None:
        self.list.action_move(by)

    def action_find(self) -> None:
        self._box.display = True
        self._box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value != self._place.find:
            self._place.find = event.value
            self._again(self._here)

    def action_found(self, kept: bool) -> None:
        """Back to the list; with what was typed, or with all runs."""
        if not kept:
            self._box.value = self._place.find = ""
        self._box.display = bool(self._place.find)
        self.list.focus()
        self._again(self._here)

    # -- what is done with them

    def action_take(self) -> None:
        here = self._here
        if isinstance(here, str):
            self.action_unfold(here not in self._place.unfolded)
        elif here is not None and self._choices is not None and self._choices.values:
            self.dismiss(here)

    def action_close(self) -> None:
        if self._place.find:
            self.action_found(False)
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        if self.is_mounted and isinstance(self.focused, FindInput):
            return action in ("found", "move")
        return True

    @property
    def idle_keys(self) -> frozenset[str]:
        """Of actions that would only say why there is nothing to do."""
        hidden = {"runs.compare"} if self._compare is None else set()
        typing = self.is_mounted and isinstance(self.focused, FindInput)
        return frozenset(hidden | ({"app.help"} if typing else set()))

    def action_mark(self) -> None:
        """The run under the cursor; the second time the two are compared, and the mark is gone. Once more takes it
        back."""
        run = self._here
        if self._compare is None:
            self.say("what two runs differ in is hidden in blind mode: it tells verdicts")
            return
        if run is None or isinstance(run, str) or run == ALL_RUNS:
            self.say("two runs are compared: go down to one of them")
            return
        if self._marked is None:
            self._marked = run
        else:
            if self._marked != run:
                self.app.push_screen(self._compare(self._marked, run))
            self._marked = None
        self._again(run)
