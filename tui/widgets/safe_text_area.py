"""Provide a multi-line input whose text may come from data, such as a note or a golden answer. See `safe_input`."""

from __future__ import annotations

from textual.strip import Strip
from textual.widgets import TextArea

from fcreview.tui.widgets.safe_input import sanitize_strip


class SafeTextArea(TextArea):
    """Text area that sanitizes what it draws."""

    def render_line(self, y: int) -> Strip:
        return sanitize_strip(super().render_line(y))
