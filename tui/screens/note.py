"""A note on an item: a few lines at the bottom of the screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from fcreview.sanitise import width
from fcreview.tui.keys import bindings, key_names, keys_of
from fcreview.tui.keytable import NOTE
from fcreview.tui.text.format import cut_middle
from fcreview.tui.widgets.typed_lines import SafeTextArea

LEAST_NAME = 5
"""Cells of what a note is on, however little room there is."""


class NoteBox(SafeTextArea):
    """Takes no key that has a meaning here; pasted lines stay lines."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(NOTE)

    def on_key(self, event: events.Key) -> None:
        if event.key in keys_of(self.app, NOTE):
            event.prevent_default()  # of the box below; as a binding it is looked up further up

    def action_line(self) -> None:
        """Down in the last line starts another one."""
        line = self.cursor_location[0]
        if line == self.document.line_count - 1 and self.document.get_line(line):
            self.move_cursor(self.document.end)
            self.insert("\n")
        else:
            self.action_cursor_down()


class NoteScreen(ModalScreen[str | None]):
    """Gives the note (empty clears it), or None if it was cancelled or left as it was."""

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
            yield Static(self._hint(self.app.size.width), markup=False)
            box = NoteBox(self._note, soft_wrap=True, show_line_numbers=False, tab_behavior="indent", compact=True)
            box.cursor_blink = False
            yield box

    def _hint(self, cells: int) -> str:
        """What it is on is cut for the keys' sake."""
        keys = key_names(self.app)
        what = {"note.save": "{} saves", "note.line": "{}: new line", "note.cancel": "{} cancels"}
        said = "".join("   " + what[id_].format(keys[id_]) for id_ in what if id_ in keys)
        before = " note on "
        return before + cut_middle(self._about, max(cells - len(before) - width(said), LEAST_NAME)) + said

    def on_resize(self) -> None:
        self.query_one(Static).update(self._hint(self.app.size.width))

    def on_mount(self) -> None:
        self._box.move_cursor(self._box.document.end)
        self._box.focus()

    @property
    def _box(self) -> NoteBox:
        return self.query_one(NoteBox)

    def action_save(self) -> None:
        self.dismiss(self._box.text if self._box.text != self._note else None)

    def action_cancel(self) -> None:
        self.dismiss(None)
