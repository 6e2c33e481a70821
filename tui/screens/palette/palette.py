"""The palette: one line to type in, and below it what fits. Over the lower part of the screen it was called from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from fcreview.sanitise import visible
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import PALETTE
from fcreview.tui.palette.entries import Match, line_of, merged, ranked
from fcreview.tui.screens.palette.offers import Offers
from fcreview.tui.text.lines import Line, rule
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.line_list import LineList
from fcreview.tui.widgets.status import KeyLine
from fcreview.tui.widgets.typed import SafeInput
from fcreview.tui.widgets.work import work

MOST_LINES = 14
AROUND = 4
"""Lines that are no entries: title, what is typed, keys, and one of the screen below."""


class PaletteInput(SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = bindings(PALETTE)


class PaletteList(LineList, can_focus=False):
    """Lines are made when they come into view."""

    matches: Sequence[Match] = ()

    def line_at(self, index: int) -> Line:
        return line_of(self.matches[index], self.size.width - 1)

    def show(self, matches: Sequence[Match], cursor: int) -> None:
        self.matches = matches
        self.set_total(len(matches), cursor)


class PaletteScreen(ModalScreen[Match | None]):
    """Gives what was chosen. Ids are looked for while one types; enter waits for those that are still being found."""

    CSS = """
    PaletteScreen { background: transparent; align: left bottom; }
    PaletteScreen > Vertical { height: auto; width: 1fr; background: ansi_default; }
    PaletteScreen Horizontal { height: 1; }
    PaletteScreen #palette-sign { width: 3; }
    PaletteScreen Input { width: 1fr; }
    """

    def __init__(self, offers: Offers) -> None:
        super().__init__()
        self._offers = offers
        self._fitting: Sequence[Match] = ()
        self._items: Sequence[Match] = ()
        self._looking = False
        """For ids."""
        self._wanted = False
        """Enter was pressed meanwhile."""
        self._moved = False
        """Else enter takes nothing while nothing is typed: the first line may be a verdict."""
        self._asked: Match | None = None
        """What was said to be replaced: chosen again, it is."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield LineBar(id="palette-title")
            with Horizontal():
                yield LineBar(id="palette-sign")
                line = PaletteInput(compact=True)
                line.cursor_blink = False
                yield line
            yield PaletteList(id="palette-list")
            yield KeyLine(always=1)

    def on_mount(self) -> None:
        self.query_one("#palette-sign", LineBar).show(((" : ", "strong"),))
        self._input.focus()
        self._load()

    @property
    def _input(self) -> PaletteInput:
        return self.query_one(PaletteInput)

    @property
    def _list(self) -> PaletteList:
        return self.query_one(PaletteList)

    @work()
    async def _load(self) -> None:
        await self._offers.load()
        self._rank(keep=True)

    def on_resize(self) -> None:
        self._list.styles.height = max(1, min(MOST_LINES, self.size.height - AROUND))
        self._rank(keep=True)

    def on_key(self, event: events.Key) -> None:
        """What is typed before the line has the focus."""
        if event.is_printable and event.character is not None:
            event.stop()
            self._input.insert_text_at_cursor(event.character)

    # -- what fits

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._wanted, self._asked, self._items = False, None, ()
        self._looking = self._offers.looks_for(event.value)
        self._rank()
        self._look(event.value)

    @work(exclusive=True, group="ids")
    async def _look(self, text: str) -> None:
        found = await self._offers.items(text) if self._looking else []
        if text != self._input.value:
            return
        self._items, self._looking = found, False
        if found:
            self._draw(merged(self._fitting, found, text), keep=True)
        if self._wanted:
            self._wanted = False
            self.action_take()

    def _rank(self, *, keep: bool = False) -> None:
        text = self._input.value
        self._fitting = ranked(self._offers.entries, text)
        self._draw(merged(self._fitting, self._items, text), keep=keep)

    def _draw(self, matches: Sequence[Match], *, keep: bool = False) -> None:
        """`keep`: the cursor stays on its entry, if that is not the first line."""
        before = self._here if keep and self._list.cursor else None
        entries = [match.entry for match in matches]
        cursor = entries.index(before.entry) if before is not None and before.entry in entries else 0
        self._list.empty = ((" nothing fits", "dim"),)
        self._list.show(matches, cursor)
        self._title()

    def _title(self, says: str = "") -> None:
        many: Line = (("palette", "strong"), (f" {symbols().between} {len(self._list.matches):,}", "dim"))
        shown: Line = ((says, "warn"),) if says else many
        self.query_one("#palette-title", LineBar).show(rule(shown, self.size.width, symbols().rule))

    @property
    def _here(self) -> Match | None:
        matches = self._list.matches
        return matches[self._list.cursor] if matches else None

    # -- keys

    def on_line_list_chosen(self) -> None:
        self._moved = True
        self.action_take()

    def action_move(self, by: int) -> None:
        self._moved = True
        self._list.action_move(by)

    def action_page(self, by: int) -> None:
        self._moved = True
        self._list.action_move_page(by)

    def action_complete(self) -> None:
        here = self._here
        if here is not None:
            self._put(here.entry.text + (" " if here.entry.wants else ""))

    def _put(self, text: str) -> None:
        self._input.value = text
        self._input.cursor_position = len(text)

    def action_take(self) -> None:
        if self._looking:
            self._wanted = True
            return
        here = self._here
        if here is None:
            self._title("nothing fits")
        elif not self._moved and not self._input.value.strip():
            self._title("type what is wanted, or go down to it")
        elif not here.entry.usable:
            self._title(here.entry.says)
        elif here.entry.wants and not here.argument:
            with self._input.prevent(Input.Changed):
                self._put(here.entry.text + " ")
            self._items = ()
            self._rank()
            self._title(f"type {here.entry.wants}: {visible(here.entry.text)} {here.entry.wants}")
        elif self._asked != here and (doubt := self._offers.doubt(here)):
            self._asked = here
            self._title(doubt)
        else:
            self.dismiss(here)

    def action_close(self) -> None:
        self.dismiss(None)
