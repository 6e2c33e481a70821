"""Panel: a container with a rounded border, a title at the top left and facts at the bottom right."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content

from fcreview.tui.text.theme import symbols


class Panel(Vertical):
    """Container with a border. The border and title of the panel with the focus have the colour of the focus.

    Subclasses and screens set the height. A panel must not contain another panel.
    """

    DEFAULT_CSS = """
    Panel {
        border: round $border; border-title-color: $foreground; border-title-style: bold;
        border-subtitle-color: $dim; padding: 0 1; height: 1fr; width: 1fr;
    }
    Panel.-ascii { border: ascii $border; }
    Panel:focus-within { border: round $focus; border-title-color: $focus; }
    Panel.-ascii:focus-within { border: ascii $focus; }
    Panel.-flat { border: none; border-top: solid $border; padding: 0; }
    Panel.-flat:focus-within { border: none; border-top: solid $focus; }
    Panel.-flat.-ascii { border-top: ascii $border; }
    Panel.-flat.-ascii:focus-within { border-top: ascii $focus; }
    """

    def on_mount(self) -> None:
        self.set_class(symbols().rule.isascii(), "-ascii")

    def set_title(self, title: str, facts: str = "") -> None:
        """Show a title and facts. Both are sanitized text and never parsed as markup."""
        self.border_title = Content(title)
        self.border_subtitle = Content(facts)

    def set_flat(self, flat: bool) -> None:
        """Draw only the line with the title instead of a border, as on a small screen."""
        self.set_class(flat, "-flat")
