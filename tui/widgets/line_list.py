"""A list drawn line by line: what it costs depends on the lines in view, not on how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fcreview.tui.keys import bindings
from fcreview.tui.keytable import MOVE
from fcreview.tui.text.lines import Line, fit
from fcreview.tui.text.theme import style, symbols
from fcreview.tui.widgets.still import Still


def strip_of(line: Line, cells: int, *, reverse: bool = False) -> Strip:
    """A line as it is drawn, filled to the width or cut with a sign; `reverse` marks the line under the cursor."""
    over = style("cursor") if reverse else None
    fitted = fit(line, cells) if sum(len(text) for text, _ in line) * 2 > cells else line
    segments = [Segment(text, style(name) + over if over else style(name)) for text, name in fitted if text]
    return Strip(segments).adjust_cell_length(cells, over)


class LineList(Still, ScrollView, can_focus=True, inherit_bindings=False):
    """Subclasses give `line_at`. The cursor moves within the page without drawing more than two lines.

    Without a cursor, the keys move the text.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(MOVE)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LineList { height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 0 0; background: transparent; }
    """

    cursor = reactive(0, repaint=False, init=False)
    """Screens watch it: what they draw then comes with the same frame."""

    @dataclass
    class Chosen(Message):
        """The line under the cursor was clicked again."""

        list: LineList
        index: int

    def __init__(self, *, id: str | None = None, cursor: bool = True) -> None:  # noqa: A002
        super().__init__(id=id)
        self.total = 0
        self.empty: Line = ()
        """What is said instead of lines if there are none."""
        self._has_cursor = cursor
        self.marked = True
        """The line under the cursor is drawn in reverse; else its mark alone tells it."""

    def line_at(self, index: int) -> Line:
        """The line without the mark of the cursor, which takes the first cell."""
        raise NotImplementedError

    def set_marked(self, marked: bool) -> None:
        if marked != self.marked:
            self.marked = marked
            self.refresh_line(self.cursor)

    def set_total(self, total: int, cursor: int = 0) -> None:
        self.total = total
        self.virtual_size = Size(self.size.width, total)
        self.cursor = max(0, min(cursor, total - 1))
        self._bring_into_view()
        self.refresh()

    def move_cursor(self, index: int) -> None:
        index = max(0, min(index, self.total - 1))
        if index == self.cursor:
            return
        before, self.cursor = self.cursor, index
        if not self._bring_into_view():
            self.refresh_line(before)
            self.refresh_line(index)

    def _bring_into_view(self) -> bool:
        """Whether it scrolled: by half a page, so that a slow line gets one big redraw for many small ones."""
        top, height = int(self.scroll_offset.y), self.size.height
        if not height or top <= self.cursor < top + height:
            return False
        self._scroll(self.cursor - height // 2)
        return True

    @property
    def cursor_row(self) -> int:
        """The row of the screen that the cursor is in."""
        return self.cursor - int(self.scroll_offset.y)

    def put_cursor(self, row: int) -> None:
        """The line under the cursor in this row of the screen, as far as there are lines above it."""
        if row != self.cursor_row:
            self._scroll(self.cursor - row)

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=max(0, min(top, self.total - self.size.height)), animate=False, force=True)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, self.total)
        self._bring_into_view()

    def action_move(self, by: int) -> None:
        if self._has_cursor:
            self.move_cursor(self.cursor + by)
        else:
            self._scroll(int(self.scroll_offset.y) + by)

    def action_move_page(self, by: int) -> None:
        self._move_lines(by * max(1, self.size.height - 1))

    def action_move_half(self, by: int) -> None:
        self._move_lines(by * max(1, self.size.height // 2))

    def _move_lines(self, lines: int) -> None:
        """The text and the cursor together."""
        self._scroll(int(self.scroll_offset.y) + lines)
        if self._has_cursor:
            self.move_cursor(self.cursor + lines)
            self.refresh()

    def action_move_to(self, index: int) -> None:
        index = index if index >= 0 else self.total + index
        if self._has_cursor:
            self.move_cursor(index)
        else:
            self._scroll(index)

    def on_click(self, event: events.Click) -> None:
        index = int(self.scroll_offset.y) + event.y
        if not self._has_cursor or index >= self.total:
            return
        if index == self.cursor:
            self.post_message(self.Chosen(self, index))
        self.move_cursor(index)

    def render_line(self, y: int) -> Strip:
        index, cells = y + int(self.scroll_offset.y), self.size.width
        if index >= self.total:
            return strip_of(self.empty if y == 0 and not self.total else (), cells)
        here = self._has_cursor and index == self.cursor
        if not self._has_cursor:
            return strip_of(self.line_at(index), cells)
        mark: Line = ((symbols().cursor if here else " ", "strong"),)
        return strip_of(mark + self.line_at(index), cells, reverse=here and self.marked)


class TextList(LineList):
    """A short list that is in memory: its lines are made anew for each width by the one who fills it."""

    def __init__(self, *, id: str | None = None, cursor: bool = True) -> None:  # noqa: A002
        super().__init__(id=id, cursor=cursor)
        self._lines: list[Line] = []

    def line_at(self, index: int) -> Line:
        return self._lines[index]

    def set_lines(self, lines: list[Line], cursor: int | None = None) -> None:
        self._lines = lines
        self.set_total(len(lines), self.cursor if cursor is None else cursor)
