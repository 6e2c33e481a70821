"""Who is wrong? One letter answers."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from fcreview.review import Fault
from fcreview.tui.keys import bindings, key_hints
from fcreview.tui.keytable import FAULT
from fcreview.tui.text.format import cut_middle, hints_line
from fcreview.tui.text.lines import Line, line_width
from fcreview.tui.widgets.document import LineBar


class FaultScreen(ModalScreen[Fault | None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(FAULT)
    CSS = """
    FaultScreen { background: transparent; align: left bottom; }
    FaultScreen LineBar { background: ansi_default; }
    """

    def __init__(self, name: str = "") -> None:
        """`name`: of the item that is not on screen."""
        super().__init__()
        self._about = name

    def compose(self) -> ComposeResult:
        yield LineBar(id="fault")

    def on_mount(self) -> None:
        who: Line = ((" who?", "strong"), (f" {cut_middle(self._about, 30)}" if self._about else "", "warn"))
        self.query_one(LineBar).show((*who, *hints_line(key_hints(self), self.app.size.width - line_width(who), 1)))

    def action_take(self, fault: Fault) -> None:
        self.dismiss(fault)

    def action_cancel(self) -> None:
        self.dismiss(None)
