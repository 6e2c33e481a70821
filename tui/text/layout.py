"""Which rows of a long document are on screen. Blocks are laid out when they come into view and at no other time. Pure.

The place on screen is kept as (block, row) of the top line rather than as a line number from the start: nothing above
has to be measured, and the place is not lost when the width changes or something above unfolds.

A text of any size as a source of lines for the document view: cut into pieces, laid out as they come into view.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fcreview.tui.text.lines import Line, wrap_text

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


PIECE = 4096
"""Characters laid out at a time. A longer line is cut, behind a blank or comma if there is one near."""
INDENT = 2
PRETTY_LIMIT = 3_000_000
"""Characters up to which JSON is indented."""


class TextSource:
    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = piece_starts(text)

    def __len__(self) -> int:
        return len(self.starts)

    def piece(self, index: int) -> str:
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        piece = self.text[self.starts[index] : end]
        return piece[:-1] if piece.endswith("\n") else piece

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        return [((row, ""),) for row in wrap_text(self.piece(index), cells)]

    def index_at(self, offset: int) -> int:
        """The piece a character of the text lies in."""
        return max(bisect_right(self.starts, offset) - 1, 0)

    def row_at(self, offset: int, cells: int) -> tuple[int, int]:
        """(piece, row) a character is shown in: exact unless pictures of controls made the row longer."""
        index = self.index_at(offset)
        before = self.text[self.starts[index] : offset]
        rows = wrap_text(self.piece(index), cells)
        shown = len("".join(wrap_text(before, cells)))
        for row, text in enumerate(rows):
            if shown < len(text):
                return index, row
            shown -= len(text)
        return index, max(len(rows) - 1, 0)


def piece_starts(text: str) -> list[int]:
    """Where the pieces begin: at each line, and within lines longer than `PIECE`."""
    starts: list[int] = []
    start = 0
    while True:
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        starts.append(start)
        at = start
        while stop - at > PIECE:
            at = _cut(text, at)
            starts.append(at)
        if end < 0:
            return starts
        start = end + 1


def _cut(text: str, at: int) -> int:
    near = at + PIECE
    for mark in (" ", ","):
        found = text.rfind(mark, near - 200, near)
        if found > 0:
            return found + 1
    return near


def pretty(text: str) -> str:
    """JSON indented, several JSON texts one after another likewise; any other text as it is."""
    if len(text) > PRETTY_LIMIT or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), indent=INDENT, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def deepest(text: str) -> int:
    """How many levels an indented text has below its first; 0 for other texts."""
    return max((_level(line) for line in text.split("\n")), default=0) if len(text) <= PRETTY_LIMIT else 0


def folded_at(text: str, depth: int) -> str:
    """An indented text without the lines that lie deeper than `depth`; how many there are stands where they were."""
    shown: list[str] = []
    hidden = 0
    for line in text.split("\n"):
        if _level(line) > depth:
            hidden += 1
            continue
        if hidden:
            shown[-1] += f" … {hidden} {'line' if hidden == 1 else 'lines'} … {line.lstrip()}"
            hidden = 0
        else:
            shown.append(line)
    return "\n".join(shown)


def _level(line: str) -> int:
    return (len(line) - len(line.lstrip(" "))) // INDENT


def find_from(text: str, needle: str, hit: int, step: int) -> int | None:
    """The next place of `needle` behind (or, for step -1, before) the place `hit`, going round; -1 is no place yet.

    Case does not matter unless the needle has a capital letter: large texts are then searched as they are.
    """
    if needle == needle.lower():
        lowered = text.lower()
        text = lowered if len(lowered) == len(text) else text
    if step > 0:
        at = text.find(needle, hit + 1)
        at = at if at >= 0 else text.find(needle)
    else:
        at = text.rfind(needle, 0, hit + len(needle) - 1) if hit > 0 else -1
        at = at if at >= 0 else text.rfind(needle)
    return at if at >= 0 else None
