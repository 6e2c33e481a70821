"""Draw panels: containers with a rounded border, a title at the top left and facts at the bottom right."""

from __future__ import annotations

from rich.style import Style as RichStyle
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region, Size
from textual.style import Style

from fcreview.model.sanitize import display_width
from fcreview.tui.text.lines import truncate
from fcreview.tui.text.theme import style, symbols

MIN_SIZE = Size(100, 30)
"""Minimum screen size, in columns and rows, for borders around all panels."""
FLAT_MARGIN = 6
"""Number of cells in the title line of a flat panel that title and facts do not use."""


def is_small(screen: Size) -> bool:
    """Whether a screen has room for the most important border only."""
    return screen.width < MIN_SIZE.width or screen.height < MIN_SIZE.height


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

    _border_title: Content | None
    _border_subtitle: Content | None
    _title = _facts = ""
    _shows_flat_facts = False

    def on_mount(self) -> None:
        self.set_class(symbols().rule.isascii(), "-ascii")

    def set_title(self, title: str, facts: str = "", *, flat_facts: bool = False) -> None:
        """Show a title and facts. Both are sanitized text and never parsed as markup.

        `flat_facts`: whether the panel also shows the facts if it has only an upper border.
        """
        if (title, facts, flat_facts) != (self._title, self._facts, self._shows_flat_facts):
            self._title, self._facts, self._shows_flat_facts = title, facts, flat_facts
            self._draw_titles()

    def set_flat(self, flat: bool) -> None:
        """Draw only the line with the title instead of a border, as on a small screen."""
        if flat != self.has_class("-flat"):
            self.set_class(flat, "-flat")
            self._draw_titles()

    def on_resize(self) -> None:
        self._draw_titles()

    def _draw_titles(self) -> None:
        """Draw the rows of title and facts that change. Textual would draw the content too."""
        before = self._border_title, self._border_subtitle
        self._border_title, self._border_subtitle = Content(self._title), Content(self._facts)
        if self.has_class("-flat") and self._title:
            self._border_title = self._flat_title()
        if not self.is_mounted:
            return
        width, height = self.outer_size
        left, top = self.gutter.left, self.gutter.top
        for old, new, row in (
            (before[0], self._border_title, -top),
            (before[1], self._border_subtitle, height - top - 1),
        ):
            if old is None or old.plain != new.plain:
                self.refresh(Region(-left, row, width, 1))

    def _flat_title(self) -> Content:
        """Return the title between blanks, which Textual adds only where a border has corners."""
        if not (self._shows_flat_facts and self._facts):
            return Content(f" {self._title} ")
        room = self.outer_size.width - FLAT_MARGIN - display_width(self._title)
        facts = truncate(self._facts, max(room - 3, 1))
        filler = symbols().rule * max(room - display_width(facts), 1)
        dim = Style.from_rich_style(style("dim") + RichStyle(bold=False))
        return Content.assemble(f" {self._title}", (f" {filler} ", dim), (f"{facts} ", dim))
