"""The document view: draws a layout line by line, and redraws only lines that have changed.

What stands around two panes: a line between them, and above each whether it has the focus.

A few lines of text above or below what scrolls: as high as they are many.

The lines around a list: the key line, made from the bindings that are in force.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from fcreview.model.sanitize import width
from fcreview.tui.key_bindings import key_hints
from fcreview.tui.text.layout import START, Layout, Source, Spot
from fcreview.tui.text.lines import Line, fit, hints_line, title_line
from fcreview.tui.text.theme import style, symbols
from fcreview.tui.widgets.base import Still

GUTTER = 1
"""Cells at the left where the cursor stands."""
WHEEL = 3
ASCII = str.maketrans("·…–", ".>-")
"""What texts of ours hold beyond the symbols, for terminals that lack it."""


def strip_of(line: Line, cells: int, base: Style, *, gutter: str = "", find: str = "") -> Strip:
    """A line as Textual draws it: styled, exactly `cells` wide, occurrences of `find` (casefolded) marked."""
    segments = [Segment(gutter, base + style("cursor") if gutter.strip() else base)] if gutter else []
    poor = symbols().rule.isascii()
    for text, name in line:
        if poor and not text.isascii():
            text = text.translate(ASCII)
        look = base + style(name)
        segments += _found(text, look, find) if find else [Segment(text, look)]
    used = sum(width(segment.text) for segment in segments)
    if used < cells:
        segments.append(Segment(" " * (cells - used), base))
        return Strip(segments, cells)
    return Strip(segments).adjust_cell_length(cells, base) if used > cells else Strip(segments, cells)


def _found(text: str, look: Style, find: str) -> list[Segment]:
    folded = text.casefold()
    if find not in folded or len(folded) != len(text):
        return [Segment(text, look)]
    segments: list[Segment] = []
    start = 0
    while (at := folded.find(find, start)) >= 0:
        segments += [Segment(text[start:at], look), Segment(text[at : at + len(find)], look + style("match"))]
        start = at + len(find)
    segments.append(Segment(text[start:], look))
    return [segment for segment in segments if segment.text]


class LineBar(Widget):
    """One line of text at an edge of the screen."""

    DEFAULT_CSS = "LineBar { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._line: Line = ()

    @property
    def line(self) -> Line:
        return self._line

    def show(self, line: Line) -> None:
        if line != self._line:
            self._line = line
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return strip_of(fit(self._line, self.size.width) if y == 0 else (), self.size.width, self.rich_style)


class DocumentView(Still, can_focus=True):
    """Shows a source through a `Layout`. The screen that owns it decides what keys do."""

    DEFAULT_CSS = "DocumentView { height: 1fr; width: 1fr; }"

    @dataclass
    class Scrolled(Message):
        """The mouse wheel moved the text."""

    def __init__(self, *, gutter: bool = True, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.layout_: Layout | None = None
        self.cursor: int | None = None
        self.find = ""
        self.foot: Callable[[int], Sequence[Line]] = lambda _: ()
        """What is drawn at the bottom where the document leaves so many lines free; cut if it is more."""
        self._gutter = gutter
        self._rows: list[Strip] = []
        self._fitted = Size(0, 0)
        self._wanted: list[tuple[int, int, bool]] = []
        """What was revealed last, and what with it; while there is no size, all that was."""

    @property
    def cells(self) -> int:
        return max(self.size.width - (GUTTER if self._gutter else 0), 1)

    def show(self, source: Source, *, top: Spot = START, cursor: int | None = None) -> None:
        """Another source, or the same one built anew; `top` and `cursor` refer to it. May be called before there is a
        size: the first frame then has it all."""
        self.layout_ = Layout(source, self.cells, max(self.size.height, 1))
        self.layout_.top = self.layout_.settle(top) if self.size else top
        if not self.size:  # it may come back as large as it was
            self._fitted = self.size
        self.cursor, self._wanted = cursor, []
        self.redraw()

    def reveal(self, index: int, row: int = 0, *, whole: bool = True, also: bool = False) -> None:
        """Brings a row on screen; it stays there when the size changes, and with `also` so does what was revealed just
        before, as far as both fit. See `Layout.reveal`."""
        self._wanted = [*(self._wanted if not self.size else self._wanted[-1:] if also else []), (index, row, whole)]
        if self.size and self.layout_ is not None:
            self.layout_.reveal(index, row, whole=whole)
            self.redraw()

    def redraw(self) -> None:
        """Draw anew what differs from what is on screen."""
        if not self.size:
            return
        if self._fitted != self.size:
            self._fit()
            self.refresh()
            return
        before, self._rows = self._rows, self._draw()
        changed = [y for y, (old, new) in enumerate(zip(before, self._rows, strict=True)) if old != new]
        if changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def _fit(self) -> None:
        """Lays out for the size there is now."""
        self._fitted = self.size
        if self.layout_ is not None:
            self.layout_.resize(self.cells, max(self.size.height, 1))
            for index, row, whole in self._wanted:
                self.layout_.reveal(index, row, whole=whole)
            self._wanted = self._wanted[-2:]
        self._rows = self._draw()

    def _draw(self) -> list[Strip]:
        layout, base, cells = self.layout_, self.rich_style, self.size.width
        rows: list[Strip] = []
        if layout is not None:
            for index, row in layout.visible():
                mark = (symbols().cursor if index == self.cursor and row == 0 else " ") if self._gutter else ""
                rows.append(strip_of(layout.lines(index)[row], cells, base, gutter=mark, find=self.find))
        blank = Strip.blank(cells, base)
        free = self.size.height - len(rows)
        mark = " " if self._gutter else ""
        lines = self.foot(free)[:free] if free > 0 else ()
        foot = [strip_of(line, cells, base, gutter=mark) for line in lines]
        return rows + [blank] * (free - len(foot)) + foot

    def render_line(self, y: int) -> Strip:
        if self._fitted != self.size:
            self._fit()
        if y < len(self._rows):
            return self._rows[y]
        return Strip.blank(self.size.width, self.rich_style)

    def on_resize(self) -> None:
        self.redraw()

    def scroll_rows(self, rows: int) -> None:
        self._wanted = []
        if self.layout_ is not None:
            self.layout_.scroll(rows)
            self.redraw()

    def scroll_edge(self, side: int) -> None:
        """To the end (1) or the beginning (-1)."""
        self._wanted = []
        if self.layout_ is not None:
            self.layout_.go(START if side < 0 else self.layout_.last_top())
            self.redraw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(WHEEL)
        self.post_message(self.Scrolled())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-WHEEL)
        self.post_message(self.Scrolled())


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


LAST = ("quit", "palette", "help")


class KeyLine(LineBar):
    """The last hints (`always` of them) are shown however little room there is."""

    def __init__(self, *, always: int = 2, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._always = always
        self._offered: list[tuple[str, str]] = []

    def update(self) -> None:
        hints = [*self._offered, *key_hints(self.screen)]
        hints.sort(key=lambda hint: LAST.index(hint[1]) if hint[1] in LAST else -1)
        always = self._always + any(says == "palette" for _, says in hints)
        self.show(hints_line(hints, self.size.width, always))

    def offer(self, hints: list[tuple[str, str]]) -> None:
        """(key, what it says) of keys that matter now: they stand first."""
        if hints != self._offered:
            self._offered = hints
            self.update()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.update())

    def on_resize(self) -> None:
        self.update()
