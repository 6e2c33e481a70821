"""Walking a queue item by item, over windows of the query and never over the whole list."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from fcreview.store.rows import QueueRow, View

WINDOW = 50
MOST_LEFT = 1000


class Pages(Protocol):
    """What is asked of a store here."""

    def count(self, view: View) -> int: ...

    def page(self, view: View, offset: int, limit: int) -> list[QueueRow]: ...

    def position(self, view: View, item: int) -> int | None: ...


class Walk:
    """A place in a queue. An item that a verdict took out of the queue leaves its place to the one behind it."""

    def __init__(self, store: Pages, view: View, item: int) -> None:
        self._store, self.view = store, view
        self.count = 0
        self.position: int | None = None
        self._place = 0
        self._gone = False
        self.move(item)

    def move(self, item: int) -> None:
        """`item` is on screen now."""
        self.count = self._store.count(self.view)
        self.position = self._store.position(self.view, item)
        self._gone = self.position is None
        if self.position is not None:
            self._place = self.position

    def neighbour(self, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        at = self._place + (step if not self._gone or step < 0 else 0)
        if not 0 <= at < self.count:
            return None
        rows = self._store.page(self.view, at, 1)
        return rows[0].item if rows else None

    def needing(self, item: int) -> int | None:
        """The next item behind this one without a verdict of this annotator; None if there is none up to the end."""
        start = self._place + (0 if self._gone else 1)
        return next((row.item for row in self._lacking(start, self.count) if row.item != item), None)

    def left(self, item: int) -> tuple[int, int | None]:
        """How many other items of the whole queue lack a verdict of this annotator (counted up to MOST_LEFT), and the
        first of them."""
        found = list(islice((row.item for row in self._lacking(0, self.count) if row.item != item), MOST_LEFT))
        return len(found), found[0] if found else None

    def _lacking(self, start: int, end: int) -> Iterator[QueueRow]:
        size = WINDOW
        while start < end:
            rows = self._store.page(self.view, start, min(size, end - start))
            yield from (row for row in rows if row.you is None or row.stale)
            if not rows:
                return
            start += len(rows)
            size = MOST_LEFT
