"""Help: every key of the screen it was called from, as bound, and what the signs mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from fcreview.model.sanitize import width
from fcreview.model.wording import filled
from fcreview.store.filters.parser import help_lines
from fcreview.store.filters.saved import SIGN
from fcreview.tui.actions import HELP
from fcreview.tui.key_bindings import bindings
from fcreview.tui.text.lines import Line, wrap
from fcreview.tui.text.theme import STATE_STYLES, symbols
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList

Rooms = Sequence[tuple[str, Sequence[tuple[str, str]]]]

STATES = {
    "=": "equal",
    "~": "equal after the benchmark's normalisation",
    "!": "differs",
    "-": "missing in the prediction",
    "+": "not in the golden call",
}
NAMED = (f"{SIGN}name", "a filter that was saved under that name")
ROOMS = {"list": "moving", "app": "everywhere"}


def sign_rows() -> list[tuple[str, str, str]]:
    """(sign, name of its style, what it means)"""
    sign = symbols()
    rows = [
        (sign.passed, "pass", "pass"),
        (sign.failed, "fail", "fail"),
        (sign.unsure, "unsure", "unsure"),
        (sign.none, "dim", "no verdict"),
        (sign.disputed, "disputed", "annotators disagree"),
        (sign.stale, "warn", "your review is of an earlier prediction or golden answer"),
        ("i", "warn", "something was wrong when it was imported"),
    ]
    return rows + [(state, STATE_STYLES[state], says) for state, says in STATES.items()]


def help_text(rooms: Rooms, cells: int, *, blind: bool = False) -> list[Line]:
    """The help's lines for a screen of this width."""
    lines: list[Line] = []
    for room, rows in rooms:
        lines += _section(f"keys: {ROOMS.get(room, room)}", [(key, "key", says) for key, says in rows], cells)
    lines += _section("signs", sign_rows(), cells)
    filters = [(key, "key", says) for key, says in (*help_lines(blind=blind), NAMED)]
    lines += _section("filter", filters, cells)
    return lines[:-1]


def _section(title: str, rows: Sequence[tuple[str, str, str]], cells: int) -> list[Line]:
    left = max(width(key) for key, _, _ in rows)
    lines: list[Line] = [((f" {title}", "head"),)]
    for key, style, says in rows:
        for at, part in enumerate(wrap(says, cells - left - 6)):
            lines.append((("  " + filled(key if at == 0 else "", left), style), ("  " + part, "")))
    return [*lines, ()]


class HelpScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = bindings(HELP)

    def __init__(self, rooms: Rooms, *, blind: bool = False) -> None:
        super().__init__()
        self._rooms = rooms
        self._blind = blind

    def compose(self) -> ComposeResult:
        yield LineBar(id="help-title")
        yield TextList(id="help-text", cursor=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(TextList).focus()

    def on_resize(self) -> None:
        self.query_one("#help-title", LineBar).show(((" help", "strong"),))
        self.query_one(TextList).set_lines(help_text(self._rooms, self.size.width, blind=self._blind))

    def action_close(self) -> None:
        self.dismiss(None)
