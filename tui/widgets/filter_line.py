"""The line at the bottom in which a filter or a search is typed; what is wrong with it is said below, at its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from fcreview.sanitise import visible, width
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import FILTER, FILTER_INPUT
from fcreview.tui.text.format import cut
from fcreview.tui.widgets.document import LineBar
from fcreview.tui.widgets.typed import SafeInput


class FilterInput(SafeInput):
    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER_INPUT)


class FilterLine(Vertical):
    """Hidden until `open`. Enter posts `Submitted`; the screen either closes the line or calls `complain`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER)

    @dataclass
    class Submitted(Message):
        kind: str
        """As handed to `open`: `filter` or `search`."""
        text: str

    @dataclass
    class Cancelled(Message):
        pass

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.display = False
        self.kind = ""
        self._hint = ""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield LineBar(id="filter-prompt")
            line = FilterInput(compact=True, select_on_focus=False)
            line.cursor_blink = False
            yield line
        yield LineBar(id="filter-says")

    def open(self, kind: str, text: str, hint: str) -> None:
        self.kind, self._hint = kind, hint
        prompt = self.query_one("#filter-prompt", LineBar)
        prompt.styles.width = len(kind) + 2
        prompt.show(((f" {kind} ", "dim"),))
        self.display = True
        line = self.query_one(FilterInput)
        line.value = text
        line.cursor_position = len(text)
        line.focus()
        self._say(hint, "dim")

    def close(self) -> None:
        self.display = False

    def complain(self, message: str, position: int | None) -> None:
        """Shows the message with a caret under the character at `position` of the text."""
        line = self.query_one(FilterInput)
        if position is None:
            self._say(f" {message}", "bad")
            return
        line.cursor_position = min(position, len(line.value))
        at = len(self.kind) + 2 + width(visible(line.value[:position])) - int(line.scroll_offset.x)
        room = self.size.width or self.screen.size.width
        says = visible(message)
        if at + 2 + width(says) <= room:
            self._say(" " * at + "^ " + says, "bad")
        elif width(says) + 2 <= at:
            self._say(" " * (at - width(says) - 1) + says + " ^", "bad")
        else:
            self._say("^ " + says if at < 3 else " " * min(at, max(room - width(says) - 2, 0)) + "^ " + says, "bad")

    def _say(self, text: str, style: str) -> None:
        cells = self.size.width or self.screen.size.width
        self.query_one("#filter-says", LineBar).show(((cut(text, cells), style),))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Submitted(self.kind, event.value.strip()))

    def action_cancel(self) -> None:
        self.close()
        self.post_message(self.Cancelled())
