"""What to copy? One letter answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from fcreview.tui.item.closer.copies import call_copy, command_copy, diff_copy, json_copy, markdown_copy
from fcreview.tui.item.status import Remark
from fcreview.tui.keys import bindings, key_hints
from fcreview.tui.keytable import COPY
from fcreview.tui.text.copying import copied
from fcreview.tui.text.format import hints_line
from fcreview.tui.text.lines import Line, line_width
from fcreview.tui.widgets.document import LineBar

if TYPE_CHECKING:
    from pathlib import Path

    from fcreview.tui.item.cursor import Cursor
    from fcreview.tui.screens.closer.host import Host
    from fcreview.tui.session import Session


class CopyScreen(ModalScreen[str | None]):
    """Gives one of the names in `copy_of`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COPY)
    CSS = """
    CopyScreen { background: transparent; align: left bottom; }
    CopyScreen LineBar { background: ansi_default; }
    """

    def compose(self) -> ComposeResult:
        yield LineBar(id="copy")

    def on_mount(self) -> None:
        what: Line = ((" copy", "strong"),)
        self.query_one(LineBar).show((*what, *hints_line(key_hints(self), self.app.size.width - line_width(what), 1)))

    def action_take(self, what: str) -> None:
        self.dismiss(what)

    def action_cancel(self) -> None:
        self.dismiss(None)


def copy_of(what: str, this: str, reader: Cursor, folder: Path | None) -> str:
    """`this`: what is under the cursor; `folder`: the workspace's own."""
    detail, annotator = reader.detail, reader.annotator
    command = command_copy(detail, folder.parent if folder is not None else None)
    texts: dict[str, Callable[[], str]] = {
        "this": lambda: this,
        "call": lambda: call_copy(detail, reader.target),
        "diff": lambda: diff_copy(detail, annotator, hidden=reader.hidden),
        "markdown": lambda: markdown_copy(detail, annotator, command, hidden=reader.hidden),
        "json": lambda: json_copy(detail),
        "command": lambda: command,
    }
    return texts[what]()


def ask_copy(screen: Host, session: Session) -> None:
    def copy(what: str | None) -> None:
        if what is not None:
            text = copy_of(what, screen.text.copied, screen.reader, session.folder)
            screen.say(Remark(f"{what}: {copied(text, session.folder, screen.app._driver)}"))

    screen.app.push_screen(CopyScreen(), copy)
