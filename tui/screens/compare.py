"""Screens to compare two runs, and to show flips: items that only one of the two runs passes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

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
from fcreview.store.rows import RunRow, View
from fcreview.tui.actions import (
    COMPARISON_ACTIONS,
    FLIP_ACTIONS,
    MODAL_HELP_ACTIONS,
)
from fcreview.tui.key_bindings import make_bindings
from fcreview.tui.queue.runs import comparison_choices, flip_lines
from fcreview.tui.screens.choice_list import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, justify_line
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList
from fcreview.tui.widgets.screens import GuardedScreen


class FlipScreen(GuardedScreen[None]):
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
        self._sources: tuple[VerdictSource, VerdictSource] = self._default_sources
        self._comparison: RunComparison | None = None

    @property
    def _default_sources(self) -> tuple[VerdictSource, VerdictSource]:
        a, b = self._runs
        return choose_source(a.official_known), choose_source(b.official_known)

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="compare")
    async def _compute(self) -> None:
        (a, first), (b, second) = ((row.run, sanitize(row.info.model)) for row in self._runs)
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
        self.waiting.stop()
        choices = comparison_choices(self._comparison, source_a, source_b)
        if source_a == source_b:
            choices.title = f"A {first}, B {second}, {source_a}"
        else:
            choices.title = f"A {first} ({source_a}), B {second} ({source_b})"
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
        sources = list(dict.fromkeys([self._default_sources, *((source, source) for source in VERDICT_SOURCES)]))
        self._sources = sources[(sources.index(self._sources) + 1) % len(sources)]
        self._compute()
