"""A few lines of text above or below what scrolls: as high as they are many."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from fcreview.tui.text.lines import Line
from fcreview.tui.widgets.document import strip_of


class LineBlock(Widget):
    DEFAULT_CSS = "LineBlock { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line]) -> None:
        if lines != self.lines:
            self.lines = lines
            self.styles.height = max(len(lines), 1)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return strip_of(self.lines[y] if y < len(self.lines) else (), self.size.width, self.rich_style)
