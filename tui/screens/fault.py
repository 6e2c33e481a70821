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
from fcreview.tui.widgets.line_block import LineBlock


class FaultScreen(ModalScreen[Fault | None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(FAULT)
    CSS = """
    FaultScreen { background: transparent; align: left bottom; }
    FaultScreen LineBlock { background: ansi_default; }
    """

    def __init__(self, name: str = "") -> None:
        """`name`: of the item that is not on screen."""
        super().__init__()
        self._about = name

    def compose(self) -> ComposeResult:
        yield LineBlock(id="fault")

    def on_mount(self) -> None:
        self.query_one(LineBlock).show(self._lines(key_hints(self), self.app.size.width))

    def on_resize(self) -> None:
        self.on_mount()

    def _lines(self, hints: list[tuple[str, str]], cells: int) -> list[Line]:
        """Every letter there is, on one line with the question or, where that is too little room, on a second one."""
        who: Line = ((" who?", "strong"), (f" {cut_middle(self._about, 30)}" if self._about else "", "warn"))
        room = cells - line_width(who)
        letters = hints_line(hints, room, len(hints))
        return [(*who, *letters)] if line_width(letters) <= room else [who, hints_line(hints, cells, 0)]

    def action_take(self, fault: Fault) -> None:
        self.dismiss(fault)

    def action_cancel(self) -> None:
        self.dismiss(None)
