"""The queue's list: rows come in windows of a query, a few of which are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message

from fcreview.store.rows import Extent, QueueRow
from fcreview.tui.queue.columns import QueueColumns, queue_line
from fcreview.tui.queue.loading import WINDOW
from fcreview.tui.text.lines import Line
from fcreview.tui.text.theme import symbols
from fcreview.tui.widgets.line_list import LineList

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

    def rows_about(self, index: int) -> Sequence[QueueRow] | None:
        """Those of its window, if they are there."""
        return self._windows.get(index // WINDOW)

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
        columns = QueueColumns.fitted(self.size.width, self._extent, blind=self._blind)
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
