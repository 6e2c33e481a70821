"""Which rows of a long document are on screen. Blocks are laid out when they come into view and at no other time. Pure.

The place on screen is kept as (block, row) of the top line rather than as a line number from the start: nothing above
has to be measured, and the place is not lost when the width changes or something above unfolds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fcreview.tui.text.lines import Line

KEPT = 400
"""Laid out blocks that are kept."""


class Spot(NamedTuple):
    """A row of the document; both from 0."""

    block: int
    row: int


START = Spot(0, 0)


class Source(Protocol):
    """What a document is made of. `lines` is only asked for blocks that come into view."""

    def __len__(self) -> int: ...

    def lines(self, index: int, cells: int) -> Sequence[Line]: ...


class Layout:
    """A window of `height` rows over a source, `cells` wide."""

    def __init__(self, source: Source, cells: int = 80, height: int = 24) -> None:
        self.source = source
        self.cells, self.height = cells, height
        self.top = START
        self._lines: OrderedDict[int, Sequence[Line]] = OrderedDict()

    def resize(self, cells: int, height: int) -> None:
        if cells != self.cells:
            self._lines.clear()
        self.cells, self.height = cells, height
        self.top = self.settle(self.top)

    def lines(self, index: int) -> Sequence[Line]:
        known = self._lines.get(index)
        if known is None:
            known = self._lines[index] = self.source.lines(index, self.cells)
            if len(self._lines) > KEPT:
                self._lines.popitem(last=False)
        else:
            self._lines.move_to_end(index)
        return known

    def visible(self) -> list[Spot]:
        """The rows on screen, from the top; fewer than `height` if the document ends."""
        rows: list[Spot] = []
        index, row = self.top
        while index < len(self.source) and len(rows) < self.height:
            size = len(self.lines(index))
            rows += [Spot(index, at) for at in range(row, min(size, row + self.height - len(rows)))]
            index, row = index + 1, 0
        return rows

    def move(self, place: Spot, rows: int) -> Spot:
        """The place `rows` further down (or up, if negative), not beyond either end."""
        index, row = place
        row += rows
        while row < 0 and index > 0:
            index -= 1
            row += len(self.lines(index))
        if row < 0:
            return START
        while index < len(self.source) and row >= len(self.lines(index)):
            row -= len(self.lines(index))
            index += 1
        if index >= len(self.source):
            return self.move(Spot(len(self.source), 0), -1) if len(self.source) else START
        return Spot(index, row)

    def last_top(self) -> Spot:
        """The top with which the document's end is at the bottom of the screen."""
        return self.move(Spot(len(self.source), 0), -self.height)

    def settle(self, place: Spot) -> Spot:
        """The place as a top: existing, and not so far down that the screen is left empty below."""
        if not len(self.source):
            return START
        wanted, row = place
        index = min(wanted, len(self.source) - 1)
        row = min(row, max(len(self.lines(index)) - 1, 0)) if index == wanted else 0
        return min(Spot(index, row), self.last_top())

    def scroll(self, rows: int) -> None:
        self.top = self.settle(self.move(self.top, rows))

    def go(self, place: Spot) -> None:
        self.top = self.settle(place)

    def reveal(self, index: int, row: int = 0, *, whole: bool = True) -> None:
        """Bring a row on screen with as little movement as can be; all of its block, if it fits and `whole`."""
        shown = self.visible()
        size = len(self.lines(index))
        until = min(size - 1, row + self.height - 2) if whole else row
        until = max(until, row)
        if (index, row) in shown and (index, until) in shown:
            return
        if shown and (index, row) < shown[0]:
            self.go(Spot(index, row))
            return
        wanted = self.move(Spot(index, until), 1 - self.height)
        self.go(min(wanted, Spot(index, row)))

    @property
    def share(self) -> int:
        """Per cent of the blocks that lie above the bottom of the screen; 100 at the end."""
        if not len(self.source):
            return 100
        shown = self.visible()
        if not shown:
            return 100
        index, row = shown[-1]
        size = max(len(self.lines(index)), 1)
        return min(100, int(100 * (index + (row + 1) / size) / len(self.source)))
