"""A widget that looks the same with and without the focus: Textual would draw all of it anew each time it moves."""

from __future__ import annotations

from textual import events
from textual.widget import Widget


class Still(Widget):
    def on_focus(self, event: events.Focus) -> None:
        event.prevent_default()
        self.has_focus = True
        if self.parent is not None:
            self.parent.post_message(events.DescendantFocus(self))

    def on_blur(self, event: events.Blur) -> None:
        event.prevent_default()
        self.has_focus = False
        if self.parent is not None:
            self.parent.post_message(events.DescendantBlur(self))
