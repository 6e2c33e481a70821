"""Show the help: the active keys of the screen below it, the symbols and the filter language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType

from fcreview.model.sanitize import display_width, pad
from fcreview.store.filters.parser import list_filter_help
from fcreview.store.filters.saved import SAVED_FILTER_PREFIX
from fcreview.tui.actions import HELP_ACTIONS
from fcreview.tui.keymap import HelpSection, make_bindings
from fcreview.tui.text.lines import Line, wrap_sanitized
from fcreview.tui.text.styles import STATE_STYLES, VERDICT_APPEARANCES, symbols
from fcreview.tui.widgets.base import GuardedScreen
from fcreview.tui.widgets.document_view import KeyLine, LineBar
from fcreview.tui.widgets.lists import TextList

STATE_MEANINGS = {
    "=": "equal",
    "~": "equal after the benchmark's normalisation",
    "!": "different",
    "-": "missing in the predicted call",
    "+": "not in the golden call",
}
"""Meanings of the symbols before the arguments of a call pair."""
SAVED_FILTER_ROW = (f"{SAVED_FILTER_PREFIX}name", "the filter saved under this name")
GROUP_TITLES = {"list": "movement", "app": "everywhere"}
"""Titles of the groups of actions whose title differs from the group name."""


HELP_MARGIN = 6
"""Blanks, in cells, before the keys, before the descriptions and at the right border."""


class HelpRow(NamedTuple):
    label: str
    """Keys, symbol or filter key."""
    style: str
    """Style of the label."""
    text: str


def list_symbol_rows() -> list[HelpRow]:
    """Return the help on symbols: verdicts, marks of an item, and states of a call or argument."""
    sign = symbols()
    rows = []
    for appearance in VERDICT_APPEARANCES:
        symbol = appearance.get_symbol(sign)
        rows.append(HelpRow(symbol, style=appearance.style, text=appearance.meaning))

    contradicted = "your verdict does not count, because the disagreement was resolved differently"
    rows.append(HelpRow(f"({sign.failed})", style="dim", text=contradicted))
    stale = "stale: your review is of an earlier prediction or golden answer"
    rows.append(HelpRow(sign.stale, style="warn", text=stale))
    issue = "the import reported a problem with the item"
    rows.append(HelpRow("i", style="warn", text=issue))

    for state, meaning in STATE_MEANINGS.items():
        symbol = sign.state_symbol(state)
        rows.append(HelpRow(symbol, style=STATE_STYLES[state], text=meaning))
    return rows


def build_help_lines(
    key_sections: Sequence[HelpSection], width: int, *, blind: bool = False
) -> list[Line]:
    """Return the lines of the help, each at most `width` wide: keys, symbols and filter keys.

    If `blind`, filter keys that reveal verdicts are omitted.
    """
    lines: list[Line] = []
    for group, keys in key_sections:
        title = GROUP_TITLES.get(group, group)
        key_rows = [HelpRow(key, style="key", text=text) for key, text in keys]
        lines += _section_lines(f"keys: {title}", key_rows, width)

    lines += _section_lines("symbols", list_symbol_rows(), width)

    filter_help = [*list_filter_help(blind=blind), SAVED_FILTER_ROW]
    filter_rows = [HelpRow(key, style="key", text=text) for key, text in filter_help]
    lines += _section_lines("filter", filter_rows, width)

    # Each section ends with a blank line, which the last one does not need.
    return lines[:-1]


def _section_lines(title: str, rows: Sequence[HelpRow], width: int) -> list[Line]:
    """Return the lines of a section: its title, then the keys in a column beside their
    descriptions.

    A blank line follows.
    """
    label_cells = max(display_width(row.label) for row in rows)
    text_cells = width - label_cells - HELP_MARGIN
    lines: list[Line] = [((f" {title}", "head"),)]
    for row in rows:
        # Only the first line of a description has the key.
        label = row.label
        for text in wrap_sanitized(row.text, text_cells):
            padded_label = f"  {pad(label, label_cells)}"
            lines.append(((padded_label, row.style), (f"  {text}", "")))
            label = ""
    return [*lines, ()]


class HelpScreen(GuardedScreen[None]):
    """Screen with the help.

    `key_sections` is the result of `list_help_sections` for the screen below the help.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(HELP_ACTIONS)

    def __init__(self, key_sections: Sequence[HelpSection], *, blind: bool = False) -> None:
        super().__init__()
        self._key_sections = key_sections
        self._blind = blind

    def compose(self) -> ComposeResult:
        yield LineBar(id="help-title")
        yield TextList(id="help-text", cursor=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(TextList).focus()

    def on_resize(self) -> None:
        self.query_one("#help-title", LineBar).show(((" help", "strong"),))
        self.query_one(TextList).set_lines(
            build_help_lines(self._key_sections, self.size.width, blind=self._blind)
        )
