"""One line typed at the bottom of the screen: search terms, new tags."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from fcreview.tui.keys import bindings
from fcreview.tui.keytable import ASK
from fcreview.tui.widgets.typed import SafeInput


class AskScreen(ModalScreen[str | None]):
    """Gives the text, or None if Esc was pressed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(ASK)
    CSS = """
    AskScreen { background: transparent; align: left bottom; }
    AskScreen > Horizontal { height: 1; width: 1fr; background: ansi_default; }
    AskScreen Static { width: auto; text-style: bold; }
    AskScreen Input { width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; }
    AskScreen Input:focus { border: none; background: ansi_default; }
    """

    def __init__(self, prompt: str, value: str = "") -> None:
        super().__init__()
        self._prompt, self._value = prompt, value

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(f" {self._prompt} ", markup=False)
            box = SafeInput(self._value, select_on_focus=True)
            box.cursor_blink = False
            yield box

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        self.dismiss(None)
