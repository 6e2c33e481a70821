"""Why does the verdict given last overrule the benchmark's? One digit answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from fcreview.sanitise import visible
from fcreview.tui.item.digits.why import NAME
from fcreview.tui.keys import bindings, key_hints, key_names
from fcreview.tui.keytable import WHY
from fcreview.tui.text.format import cut_middle, hints_line
from fcreview.tui.text.lines import Line, line_width
from fcreview.tui.widgets.document import LineBar

if TYPE_CHECKING:
    from fcreview.tui.item.judging import About
    from fcreview.tui.screens.closer.host import Host
    from fcreview.tui.session import Session


class WhyScreen(ModalScreen[int | None]):
    """Gives the number of a reason, from 1, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(WHY)
    CSS = """
    WhyScreen { background: transparent; align: left bottom; }
    WhyScreen LineBar { background: ansi_default; }
    """

    def __init__(self, name: str, reasons: Sequence[str]) -> None:
        """`name`: of the item or the part whose verdict it is."""
        super().__init__()
        self._about, self._reasons = name, reasons

    def compose(self) -> ComposeResult:
        yield LineBar(id="why")

    def on_mount(self) -> None:
        names = key_names(self.app)
        digits = [(names.get(f"why.take_{at}", ""), visible(one)) for at, one in enumerate(self._reasons, 1)]
        head: Line = ((" why?", "strong"), (f" {cut_middle(self._about, NAME)}", "warn"))
        hints = [*((key, says) for key, says in digits if key), *key_hints(self)]
        self.query_one(LineBar).show((*head, *hints_line(hints, self.app.size.width - line_width(head), 1)))

    def action_take(self, number: int) -> None:
        if number <= len(self._reasons):
            self.dismiss(number)

    def action_cancel(self) -> None:
        self.dismiss(None)


async def ask_why(screen: Host, session: Session, about: About) -> None:  # noqa: ARG001 - of the verdict given last
    reviewing, reasons = screen.reviewing, session.vocabulary.reasons

    def ask(name: str) -> None:
        screen.app.push_screen(WhyScreen(name, reasons), lambda number: reviewing.why(number) if number else None)

    reviewing.of_overruled(ask)
