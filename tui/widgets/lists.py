"""A list drawn line by line: what it costs depends on the lines in view, not on how many there are.

The queue's list: rows come in windows of a query, a few of which are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
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

from fcreview.store.rows import Extent, QueueRow
from fcreview.tui.actions import MOVE
from fcreview.tui.key_bindings import bindings
from fcreview.tui.queue.columns import QueueColumns, queue_line
from fcreview.tui.queue.loader import WINDOW
from fcreview.tui.text.lines import Line, fit
from fcreview.tui.text.theme import style, symbols
from fcreview.tui.widgets.base import Still


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


KEPT = 6
"""Windows in memory."""
AHEAD = 64
"""Rows before a window's end at which its neighbour is fetched."""


class QueueList(LineList):
    """Asks for windows by message; whoever answers calls `fill`. A row that is not there yet is drawn as `…`."""

    @dataclass
    class Wanted(Message):
        """Rows `window * WINDOW` and following are about to be seen."""

        window: int
        age: int
        """To be handed back to `fill`: answers to an earlier view are dropped."""

    @dataclass
    class Widened(Message):
        """Other columns are shown."""

    def __init__(self, columns: QueueColumns, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.columns = columns
        self.age = 0
        self._extent = Extent()
        self._blind = False
        self._windows: OrderedDict[int, list[QueueRow]] = OrderedDict()
        self._asked: set[int] = set()

    def reset(self, total: int, cursor: int, extent: Extent) -> None:
        """Another view: everything is forgotten. Its columns are those of all its rows."""
        self.age += 1
        self._windows.clear()
        self._asked.clear()
        self._extent = extent
        self._lay_out()
        self.set_total(total, cursor)

    def fill(self, window: int, age: int, rows: Sequence[QueueRow]) -> None:
        if age != self.age:
            return
        self._asked.discard(window)
        self._windows[window] = list(rows)
        self._windows.move_to_end(window)
        while len(self._windows) > KEPT:
            self._windows.popitem(last=False)
        self.refresh()

    def row_at(self, index: int) -> QueueRow | None:
        window, at = divmod(index, WINDOW)
        rows = self._windows.get(window)
        if rows is None:
            self._want(window)
        else:
            self._windows.move_to_end(window)
        return rows[at] if rows is not None and at < len(rows) else None

    def line_at(self, index: int) -> Line:
        row = self.row_at(index)
        if row is None:
            return ((" " + symbols().ellipsis, "dim"),)
        return queue_line(row, self.columns)

    def move_cursor(self, index: int) -> None:
        super().move_cursor(index)
        for neighbour in (self.cursor - AHEAD, self.cursor + AHEAD):
            if 0 <= neighbour < self.total and neighbour // WINDOW not in self._windows:
                self._want(neighbour // WINDOW)

    def set_blind(self, blind: bool) -> None:
        self._blind = blind
        self._lay_out()

    def on_resize(self) -> None:
        super().on_resize()
        self._lay_out()

    def _lay_out(self) -> None:
        columns = QueueColumns.fit(self.size.width, self._extent, blind=self._blind)
        if columns != self.columns:
            self.columns = columns
            self.refresh()
            self.post_message(self.Widened())

    def index_of(self, item: int) -> int | None:
        """Where the item stands, if its row is in memory."""
        rows = ((window * WINDOW + at, row) for window, rows in self._windows.items() for at, row in enumerate(rows))
        return next((index for index, row in rows if row.item == item), None)

    def put(self, index: int, age: int, row: QueueRow) -> None:
        """The row as it is now."""
        window, at = divmod(index, WINDOW)
        if age == self.age and window in self._windows:
            self._windows[window][at] = row
            self.refresh_line(index)

    def _want(self, window: int) -> None:
        if window not in self._asked:
            self._asked.add(window)
            self.post_message(self.Wanted(window, self.age))
