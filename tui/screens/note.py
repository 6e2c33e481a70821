"""A note on an item: a few lines at the bottom of the screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from fcreview.tui.keys import bindings, key_names
from fcreview.tui.keytable import NOTE
from fcreview.tui.widgets.typed import SafeTextArea


class NoteScreen(ModalScreen[str | None]):
    """Gives the note (empty clears it), or None if it was cancelled or left as it was. Pasted lines stay lines."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(NOTE)
    CSS = """
    NoteScreen { background: transparent; align: left bottom; }
    NoteScreen > Vertical { height: 6; width: 1fr; background: ansi_default; border-top: solid ansi_default; }
    NoteScreen Static { height: 1; width: 1fr; }
    NoteScreen TextArea { height: 4; border: none; padding: 0 1; background: ansi_default; }
    NoteScreen TextArea:focus { border: none; }
    """

    def __init__(self, about: str, note: str = "") -> None:
        super().__init__()
        self._about, self._note = about, note

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(markup=False)
            box = SafeTextArea(self._note, soft_wrap=True, show_line_numbers=False, tab_behavior="indent", compact=True)
            box.cursor_blink = False
            yield box

    def on_mount(self) -> None:
        keys = key_names(self.app)
        what = {"note.save": "{} saves", "note.line": "{}: new line", "note.cancel": "{} cancels"}
        hints = [says.format(keys[action]) for action, says in what.items() if action in keys]
        self.query_one(Static).update("   ".join([f" note on {self._about}", *hints]))
        self._box.move_cursor(self._box.document.end)
        self._box.focus()

    @property
    def _box(self) -> SafeTextArea:
        return self.query_one(SafeTextArea)

    def action_save(self) -> None:
        self.dismiss(self._box.text if self._box.text != self._note else None)

    def action_line(self) -> None:
        """Down in the last line starts another one."""
        box = self._box
        line = box.cursor_location[0]
        if line == box.document.line_count - 1 and box.document.get_line(line):
            box.move_cursor(box.document.end)
            box.insert("\n")
        else:
            box.action_cursor_down()

    def action_cancel(self) -> None:
        self.dismiss(None)
