"""Draw only the visible lines of a list, so that a long list is as fast as a short list."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fcreview.model.sanitize import display_width, sanitize
from fcreview.store.rows import ColumnWidths, QueueRow
from fcreview.tui.actions import LIST_ACTIONS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.columns import (
    EMPTY_COLUMNS,
    QueueColumns,
    queue_row_line,
)
from fcreview.tui.queue.loader import WINDOW
from fcreview.tui.text.lines import Line, fit_line
from fcreview.tui.text.short_names import shorten_ids, shorten_run_names
from fcreview.tui.text.styles import get_style, symbols
from fcreview.tui.widgets.base import StaticFocusWidget
from fcreview.tui.widgets.document_view import render_strip


def render_list_strip(line: Line, cells: int, base: Style, *, reverse: bool = False) -> Strip:
    """Render a line of a list, padded or clipped to `cells`.

    `reverse` marks the line under the cursor.
    """
    n_characters = sum(len(text) for text, _ in line)
    # A character has at most two cells, so a short line needs no measurement.
    fits_surely = n_characters * 2 <= cells
    fitted = line if fits_surely else fit_line(line, cells)
    style = base + get_style("cursor") if reverse else base
    return render_strip(fitted, cells, style)


class LineList(StaticFocusWidget, ScrollView, can_focus=True, inherit_bindings=False):
    """List of lines with an optional cursor. A subclass implements `line_at`.

    A cursor move within the page redraws only two lines. Without a cursor, the keys scroll the
    text.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(LIST_ACTIONS)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LineList {
        height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size: 0 0;
        background: transparent;
    }
    """

    cursor = reactive(0, repaint=False, init=False)
    """Index of the line under the cursor.

    Screens watch it to draw other widgets in the same frame.
    """

    @dataclass
    class Chosen(Message):
        """Posted when the line under the cursor was clicked."""

        list: LineList
        index: int

    def __init__(self, *, id: str | None = None, cursor: bool = True) -> None:  # noqa: A002
        super().__init__(id=id)
        self.total = 0
        self.empty_line: Line = ()
        """Message shown if the list has no lines."""
        self._has_cursor = cursor
        self.is_cursor_shown = True
        self.reverse_cursor = True
        """Whether the line under the cursor is drawn in reverse video, in addition to the cursor
        symbol.
        """

    def line_at(self, index: int) -> Line:
        """Return a line without the cell of the cursor symbol."""
        raise NotImplementedError

    def set_reverse_cursor(self, is_reversed: bool) -> None:
        """Draw the line under the cursor in reverse video, or only mark it with the cursor
        symbol.
        """
        if is_reversed != self.reverse_cursor:
            self.reverse_cursor = is_reversed
            self.refresh_line(self.cursor)

    def set_cursor_shown(self, is_shown: bool) -> None:
        """Show or hide the cursor."""
        if is_shown != self.is_cursor_shown:
            self.is_cursor_shown = is_shown
            self.refresh_line(self.cursor)

    def set_line_count(self, n_lines: int, cursor: int = 0) -> None:
        """Set the number of lines and the cursor, and redraw the list."""
        self.total = n_lines
        self.virtual_size = Size(self.size.width, n_lines)
        self.cursor = max(0, min(cursor, n_lines - 1))
        self._scroll_to_cursor()
        self.refresh()

    def move_cursor(self, index: int) -> None:
        """Move the cursor to a line, or to the first or last line if `index` is out of range."""
        index = max(0, min(index, self.total - 1))
        if index == self.cursor:
            return
        old_index = self.cursor
        self.cursor = index
        if not self._scroll_to_cursor():
            self.refresh_line(old_index)
            self.refresh_line(index)

    def _scroll_to_cursor(self) -> bool:
        """If the cursor is not visible, scroll it to the middle. Return whether the list was
        scrolled.

        On a slow connection, one big redraw is better than many small ones.
        """
        top = int(self.scroll_offset.y)
        height = self.size.height
        is_visible = top <= self.cursor < top + height
        if height == 0 or is_visible:
            return False
        self._scroll_to_line(self.cursor - height // 2)
        return True

    @property
    def cursor_row(self) -> int:
        """Row of the cursor in the widget, from 0."""
        return self.cursor - int(self.scroll_offset.y)

    def scroll_cursor_to_row(self, row: int) -> None:
        """Scroll so that the cursor is in this row of the widget, if enough lines precede it."""
        if row != self.cursor_row:
            self._scroll_to_line(self.cursor - row)

    def _scroll_to_line(self, top_index: int) -> None:
        self.scroll_to(
            y=max(0, min(top_index, self.total - self.size.height)), animate=False, force=True
        )

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, self.total)
        self._scroll_to_cursor()

    def action_move(self, by: int) -> None:
        if self._has_cursor:
            self.move_cursor(self.cursor + by)
        else:
            self._scroll_to_line(int(self.scroll_offset.y) + by)

    def action_move_page(self, by: int) -> None:
        self._scroll_with_cursor(by * max(1, self.size.height - 1))

    def action_move_half(self, by: int) -> None:
        self._scroll_with_cursor(by * max(1, self.size.height // 2))

    def _scroll_with_cursor(self, n_lines: int) -> None:
        self._scroll_to_line(int(self.scroll_offset.y) + n_lines)
        if self._has_cursor:
            self.move_cursor(self.cursor + n_lines)
            self.refresh()

    def action_move_to(self, index: int) -> None:
        """Move the cursor to a line, or scroll to it. A negative index counts from the end."""
        if index < 0:
            index += self.total
        if self._has_cursor:
            self.move_cursor(index)
        else:
            self._scroll_to_line(index)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked line. A click on the line under the cursor chooses it."""
        index = int(self.scroll_offset.y) + event.y
        if not self._has_cursor or index >= self.total:
            return
        if index == self.cursor:
            self.post_message(self.Chosen(self, index))
        self.move_cursor(index)

    def render_line(self, y: int) -> Strip:
        """Render row `y` of the visible part of the list: a line with the mark of the cursor, or a
        blank row.
        """
        index = y + int(self.scroll_offset.y)
        cells = self.size.width
        base = self.rich_style

        if index >= self.total:
            is_message_row = self.total == 0 and y == 0
            text = self.empty_line if is_message_row else ()
            return render_list_strip(text, cells, base)
        if not self._has_cursor:
            return render_list_strip(self.line_at(index), cells, base)

        is_at_cursor = index == self.cursor and self.is_cursor_shown
        mark = symbols().cursor_mark if is_at_cursor else " "
        line: Line = ((mark, "cursor_mark"), *self.line_at(index))
        return render_list_strip(line, cells, base, reverse=is_at_cursor and self.reverse_cursor)


class TextList(LineList):
    """Short list whose lines are in memory. Its owner supplies the lines for each width."""

    def __init__(self, *, id: str | None = None, cursor: bool = True) -> None:  # noqa: A002
        super().__init__(id=id, cursor=cursor)
        self._lines: list[Line] = []

    def line_at(self, index: int) -> Line:
        return self._lines[index]

    def set_lines(self, lines: list[Line], cursor: int | None = None) -> None:
        """Replace the lines. The cursor keeps its index if `cursor` is None."""
        self._lines = lines
        self.set_line_count(len(lines), self.cursor if cursor is None else cursor)


class LinkedList(TextList):
    """List that shows its cursor only while it has the focus.

    The cursor moves on to the lists above and below.
    """

    def __init__(self, *, id: str, above: str = "", below: str = "") -> None:  # noqa: A002
        """Create the list. `above`, `below`: ids of the lists to which the cursor moves on."""
        super().__init__(id=id)
        self._above_id = above
        self._below_id = below

    def on_mount(self) -> None:
        self.watch(self, "has_focus", self.set_cursor_shown)

    def action_move(self, by: int) -> None:
        """Move the cursor, from the first or last line to the list above or below, if any."""
        index = self.cursor + by
        neighbour_id = ""
        if index < 0:
            neighbour_id = self._above_id
        elif index >= self.total:
            neighbour_id = self._below_id

        if neighbour_id:
            self.screen.query_one(f"#{neighbour_id}").focus()
        else:
            super().action_move(by)


MAX_CACHED_WINDOWS = 6
"""Largest number of windows of rows in memory."""
PREFETCH_ROWS = 64
"""Number of rows between the cursor and another window at which the other window is requested."""


class QueueList(LineList):
    """List of a queue of any length.

    The list requests windows of rows with the message `WindowRequested`, and its owner answers with
    `add_window`. Rows that are not loaded are drawn as `…`.
    """

    @dataclass
    class WindowRequested(Message):
        """Posted when rows from `window * WINDOW` are about to be shown."""

        window: int
        version: int
        """Version of the list, to pass to `add_window`.

        The list ignores windows for an earlier version.
        """

    @dataclass
    class ColumnsChanged(Message):
        """Posted when the columns changed."""

    def __init__(self, *, blind: bool, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._blind = blind
        self.version = 0
        """Number that changes with the view. Rows that were requested for an earlier version are
        ignored.
        """
        self.is_waiting = False
        """Whether a message replaces the rows until another view is loaded."""

        self.columns = EMPTY_COLUMNS
        self._column_widths = ColumnWidths()
        """Widths of the longest texts of the view, from which the columns are chosen."""

        # The rows are read in windows, as the list is scrolled.
        self._windows: OrderedDict[int, list[QueueRow]] = OrderedDict()
        """Index of a window -> its rows. The window that was read last is at the end."""
        self._requested: set[int] = set()
        """Indexes of the windows that are being read."""
        self._short_names: dict[tuple[int, int, int], dict[str, str]] = {}
        """Results of `_short_names_in_window`."""

    def show_view(self, total: int, cursor: int, column_widths: ColumnWidths) -> None:
        """Drop all rows and show another view of `total` rows.

        `column_widths`: widths of the texts of its rows.
        """
        self.version += 1
        self.is_waiting = False
        self._windows.clear()
        self._short_names.clear()
        self._requested.clear()
        self._column_widths = column_widths
        self._update_columns()
        self.set_line_count(total, cursor)

    def show_waiting(self, message: str) -> None:
        """Show a message instead of the rows until `show_view` is called."""
        self.empty_line = ((f" {message}", "dim"),)
        if self.total:
            self.show_view(0, 0, self._column_widths)
        self.is_waiting = True
        self.refresh_line(0)

    def add_window(self, window: int, version: int, rows: Sequence[QueueRow]) -> None:
        """Add the rows of a window, unless they belong to an earlier version of the list."""
        if version != self.version:
            return
        self._requested.discard(window)
        self._windows[window] = list(rows)
        self._windows.move_to_end(window)
        while len(self._windows) > MAX_CACHED_WINDOWS:
            self._windows.popitem(last=False)
        self._update_columns()
        self.refresh()

    @property
    def loaded_windows(self) -> list[int]:
        return list(self._windows)

    def row_at(self, index: int) -> QueueRow | None:
        """Return the row at `index`. If it is not loaded, request its window and return None."""
        window, index_in_window = divmod(index, WINDOW)
        rows = self._windows.get(window)
        if rows is None:
            self._request_window(window)
            return None
        # The windows that were used last are kept.
        self._windows.move_to_end(window)
        if index_in_window >= len(rows):
            return None
        return rows[index_in_window]

    def line_at(self, index: int) -> Line:
        row = self.row_at(index)
        if row is None:
            return ((" " + symbols().ellipsis, "dim"),)
        return queue_row_line(row, self.columns, self._short_names_in_window(index // WINDOW))

    def _short_names_in_window(self, window: int) -> dict[str, str]:
        """Return the short forms of the ids and run names in a window of rows, by the full names.

        Names that fit into their columns are missing. The result is kept, because it takes time.
        """
        width_by_column = dict(self.columns.columns)
        item_width = width_by_column.get("item", 0)
        model_width = width_by_column.get("model", 0)
        key = (window, item_width, model_width)
        if key in self._short_names:
            return self._short_names[key]

        short_names: dict[str, str] = {}
        if self._column_widths.item > item_width:
            ids = [row.id for row in self._windows[window]]
            short_names |= shorten_ids(ids, item_width)
        if model_width:
            short_names |= shorten_run_names(self._column_widths.run_names, model_width)
        self._short_names[key] = short_names
        return short_names

    def move_cursor(self, index: int) -> None:
        """Move the cursor, and request the rows that it may reach next."""
        old_window = self.cursor // WINDOW
        super().move_cursor(index)
        if self.cursor // WINDOW != old_window:
            self._update_columns()

        # Rows that the next keys show are requested now.
        for nearby_index in (self.cursor - PREFETCH_ROWS, self.cursor + PREFETCH_ROWS):
            nearby_window = nearby_index // WINDOW
            is_in_list = 0 <= nearby_index < self.total
            if is_in_list and nearby_window not in self._windows:
                self._request_window(nearby_window)

    def on_resize(self) -> None:
        super().on_resize()
        self._update_columns()

    def _update_columns(self) -> None:
        """Choose the columns that fit the list and the rows near the cursor. Redraw if they
        changed.
        """
        widths = self._column_widths
        rows_near_cursor = self._windows.get(self.cursor // WINDOW, [])
        if rows_near_cursor:
            # The longest id of the view may be in another window, so the column is only as wide as
            # these ids need.
            longest_id = max(display_width(sanitize(row.id)) for row in rows_near_cursor)
            widths = replace(widths, item=longest_id)

        columns = QueueColumns.fit_to_width(self.size.width, widths, blind=self._blind)
        if columns != self.columns:
            self.columns = columns
            self.refresh()
            self.post_message(self.ColumnsChanged())

    @property
    def has_cut_run_names(self) -> bool:
        """Whether some run names are cut, because their column is too narrow."""
        return 0 < dict(self.columns.columns).get("model", 0) < self._column_widths.model

    def find_loaded_index(self, item_number: int) -> int | None:
        """Return the index of the row of an item, or None if the row is not loaded."""
        for window, rows in self._windows.items():
            for index_in_window, row in enumerate(rows):
                if row.item == item_number:
                    return window * WINDOW + index_in_window
        return None

    def replace_row(self, index: int, version: int, row: QueueRow) -> None:
        """Replace a loaded row, unless it belongs to an earlier version of the list."""
        window, index_in_window = divmod(index, WINDOW)
        if version == self.version and window in self._windows:
            self._windows[window][index_in_window] = row
            self.refresh_line(index)

    def _request_window(self, window: int) -> None:
        if window not in self._requested:
            self._requested.add(window)
            self.post_message(self.WindowRequested(window, self.version))
