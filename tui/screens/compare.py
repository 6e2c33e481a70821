"""Compare two runs, and show the flips: items that only one of the two runs passes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

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
from fcreview.store.rows import QueueRow, RunRow, View
from fcreview.tui.actions import COMPARISON_ACTIONS, FLIP_ACTIONS, MODAL_HELP_ACTIONS
from fcreview.tui.commands import FORMS
from fcreview.tui.key_bindings import make_bindings
from fcreview.tui.queue.comparison import (
    comparison_facts,
    failing_item,
    flip_facts,
    flip_lines,
    flip_list_lines,
    rate_lines,
    source_text,
)
from fcreview.tui.screens.choice_list import PickerScreen
from fcreview.tui.screens.command_form import open_command_form
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, fit_line, make_line, truncate_middle
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.base import GuardedScreen, Panel, is_small, work
from fcreview.tui.widgets.document_view import KeyLine, LineBar, TopLine
from fcreview.tui.widgets.lists import TextList

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
            self._text_list.set_lines(flip_lines(flip, *self._items, cells - 2))

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


class PanelList(TextList):
    """List of a panel. Only the list with the focus shows its cursor, which moves on to a list above or below."""

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
    """Pass rates of two runs by category and the items that differ, for the items of a view.

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
        """Side that passes the items of the list, `a` or `b`. Empty for both."""
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
        return choose_source(a.official_known, a.rule_known), choose_source(b.official_known, b.rule_known)

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="compare")
    async def _compute(self) -> None:
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
        failing = [failing_item(flip) for flip in self._comparison.flips]
        rows = await self._session.query(lambda store: store.fetch_rows(failing), interruptible=True)
        self._rows = {row.item: row for row in rows}
        self.waiting.stop()
        self._message = ""
        self._draw()
        self.list.move_cursor(0)
        self.release_keys()

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
        heading, lines = rate_lines(self._comparison, *self._sources, cells)
        rates, title = self.query_one("#rates", TextList), f"Pass rates{dot}{source_text(*self._sources)}"
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
        self.list.empty_line = make_line(" no items differ", "dim")
        self.list.set_lines(lines)
        self.query_one("#flips-panel", Panel).set_title("Items that differ", facts, flat_facts=True)

    def action_take(self) -> None:
        if (flips := self._flips) and self.list.has_focus:
            self.app.push_screen(FlipScreen(self._session, flips, self.list.cursor))

    def action_panel(self) -> None:
        (self.query_one("#rates") if self.list.has_focus else self.list).focus()

    def action_only(self) -> None:
        """Switch from all items to the items that only A passes, then to the items that only B passes."""
        self._side = SIDES[(SIDES.index(self._side) + 1) % len(SIDES)]
        if self._comparison is not None:
            self._draw_flips()
            self.list.move_cursor(0)

    def action_export(self) -> None:
        open_command_form(self.app, self._session, FORMS["export"], {})

    def action_source(self) -> None:
        sources = list(dict.fromkeys([self._default_sources, *((source, source) for source in VERDICT_SOURCES)]))
        self._sources = sources[(sources.index(self._sources) + 1) % len(sources)]
        self._compute()
