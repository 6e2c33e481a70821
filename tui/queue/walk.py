"""Walking a queue item by item, over windows of the query and never over the whole list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Walk:
    """A place in a queue: that of the item on screen. An item that a verdict took out of the queue leaves its place to
    the one behind it."""

    view: View
    item: int
    count: int
    position: int | None
    """None: the item is not, or no longer, in the queue."""
    place: int = 0
    """The position, or the last one there was."""

    @classmethod
    def at(cls, pages: Pages, view: View, item: int, before: Walk | None = None) -> Walk:
        """`before`: the place on this walk that is left."""
        position = pages.position(view, item)
        last = before.place if before is not None else 0
        return cls(view, item, pages.count(view), position, last if position is None else position)

    def neighbour(self, pages: Pages, step: int) -> int | None:
        """The next (1) or previous (-1) item; None at either end."""
        at = self.place + (step if self.position is not None or step < 0 else 0)
        if not 0 <= at < self.count:
            return None
        rows = pages.page(self.view, at, 1)
        return rows[0].item if rows else None

    def needing(self, pages: Pages) -> int | None:
        """The next item behind this one without a verdict of this annotator; None if there is none up to the end."""
        start = self.place + (0 if self.position is None else 1)
        return next((row.item for row in self._lacking(pages, start) if row.item != self.item), None)

    def left(self, pages: Pages) -> Left:
        """What else of the whole queue lacks a verdict of this annotator."""
        lacking = (row.item for row in self._lacking(pages, 0) if row.item != self.item)
        found = list(islice(lacking, MOST_LEFT))
        return Left(len(found), found[0] if found else None)

    def _lacking(self, pages: Pages, start: int) -> Iterator[QueueRow]:
        size = WINDOW
        while start < self.count:
            rows = pages.page(self.view, start, min(size, self.count - start))
            yield from (row for row in rows if row.stale or not self._has_verdict(row))
            if not rows:
                return
            start += len(rows)
            size = MOST_LEFT

    def _has_verdict(self, row: QueueRow) -> bool:
        """Where judges are answered, a verdict on a part is what is wanted."""
        return row.you is not None or (self.view.queue == "judged" and row.your_parts > 0)


@dataclass(frozen=True, slots=True)
class Left:
    """Items without a verdict: how many, counted up to MOST_LEFT, and the first of them."""

    count: int
    first: int | None

    def __str__(self) -> str:
        return f"{self.count:,} or more" if self.count >= MOST_LEFT else f"{self.count:,}"
