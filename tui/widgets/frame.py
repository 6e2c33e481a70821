"""What stands around two panes: a line between them, and above each whether it has the focus."""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from fcreview.tui.text.sides import title_line
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.document import LineBar, strip_of


class PaneTitle(LineBar):
    def __init__(self, title: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._title, self._focused = title, False

    def set_focused(self, focused: bool) -> None:
        self._focused = focused
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        self.show(title_line(self._title, self.size.width, focused=self._focused))


class Divider(Widget):
    DEFAULT_CSS = "Divider { width: 1; height: 1fr; }"

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - every line of it is alike
        return strip_of(((symbols().bar, "dim"),), 1, self.rich_style)
