"""As `typed`, of several lines: a note of the past, a golden answer."""

from __future__ import annotations

from textual.strip import Strip
from textual.widgets import TextArea

from fcreview.tui.widgets.safe_input import safely_drawn


class SafeTextArea(TextArea):
    def render_line(self, y: int) -> Strip:
        return safely_drawn(super().render_line(y))
