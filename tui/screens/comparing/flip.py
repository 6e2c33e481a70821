"""Flips, one at a time: the golden answer and both predictions beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from fcreview.comparison.flips import Flip
from fcreview.model import Item
from fcreview.sanitise import visible
from fcreview.tui.comparing.beside import flip_lines
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import FLIP
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Line, spread
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.line_list import TextList
from fcreview.tui.widgets.status import KeyLine
from fcreview.tui.widgets.work import work


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
