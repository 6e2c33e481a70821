"""Shown while the terminal is too small to show anything well."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import Screen

from fcreview.tui.text.lines import fit
from fcreview.tui.widgets.document import LineBar

LEAST = (60, 15)
"""Columns and rows."""


class SmallScreen(Screen[None]):
    def compose(self) -> ComposeResult:
        yield LineBar()

    def on_resize(self) -> None:
        cells, rows = self.app.size
        says = f"{cells}x{rows}: fcreview needs {LEAST[0]}x{LEAST[1]}"
        self.query_one(LineBar).show(fit(((says, "warn"),), cells))
