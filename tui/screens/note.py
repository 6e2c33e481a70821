"""A note on an item: a few lines at the bottom of the screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from fcreview.tui.keys import ASK
from fcreview.tui.widgets.typed import SafeTextArea


class NoteBox(SafeTextArea):
    """Enter saves; Down in the last line starts another one; pasted lines stay lines."""

    async def _on_key(self, event: events.Key) -> None:
        last = self.cursor_location[0] == self.document.line_count - 1
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.screen.dismiss(self.text)
        elif event.key == "down" and last and self.document.get_line(self.cursor_location[0]):
            event.stop()
            event.prevent_default()
            self.move_cursor(self.document.end)
            self.insert("\n")
        else:
            await super()._on_key(event)


class NoteScreen(ModalScreen[str | None]):
    """Gives the note (empty clears it), or None if Esc was pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [*ASK]
    CSS = """
    NoteScreen { background: transparent; align: left bottom; }
    NoteScreen > Vertical { height: 6; width: 1fr; background: ansi_default; border-top: solid ansi_default; }
    NoteScreen Static { height: 1; width: 1fr; }
    NoteScreen NoteBox { height: 4; border: none; padding: 0 1; background: ansi_default; }
    NoteScreen NoteBox:focus { border: none; }
    """

    def __init__(self, about: str, note: str = "") -> None:
        super().__init__()
        self._about, self._note = about, note

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(f" note on {self._about}   enter saves   down: new line   esc cancels", markup=False)
            box = NoteBox(self._note, soft_wrap=True, show_line_numbers=False, tab_behavior="indent", compact=True)
            box.cursor_blink = False
            yield box

    def on_mount(self) -> None:
        box = self.query_one(NoteBox)
        box.move_cursor(box.document.end)
        box.focus()

    def action_cancel(self) -> None:
        self.dismiss(None)
