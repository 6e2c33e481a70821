"""Layout of long documents: which rows are on screen, and texts as sources of lines. Does no I/O and no drawing.

A document is a list of blocks, each laid out only when it comes into view. The scroll position is the (block, row) of
the top line instead of a line number, so nothing above it has to be measured, and the position is not lost when the
width changes or a block above unfolds.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fcreview.tui.text.lines import Line, wrap_text

KEPT = 400
"""Number of blocks whose layout is cached."""


class Spot(NamedTuple):
    """Position of a row in a document: block index and row within the block, both from 0."""

    block: int
    row: int


START = Spot(0, 0)


class Source(Protocol):
    """Document as a sequence of blocks. `lines` is called only for blocks that come into view."""

    def __len__(self) -> int: ...

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        """Return the lines of a block, each at most `cells` wide."""
        ...


class Layout:
    """Scrollable window over a document, `height` rows high and `cells` wide."""

    def __init__(self, source: Source, cells: int = 80, height: int = 24) -> None:
        self.source = source
        self.cells, self.height = cells, height
        self.top = START
        self._lines: OrderedDict[int, Sequence[Line]] = OrderedDict()

    def resize(self, cells: int, height: int) -> None:
        """Change the size of the window. The top row stays if possible."""
        if cells != self.cells:
            self._lines.clear()
        self.cells, self.height = cells, height
        self.top = self.settle(self.top)

    def lines(self, index: int) -> Sequence[Line]:
        """Return the lines of a block at the window's width, from the cache if possible."""
        cached = self._lines.get(index)
        if cached is None:
            cached = self._lines[index] = self.source.lines(index, self.cells)
            if len(self._lines) > KEPT:
                self._lines.popitem(last=False)
        else:
            self._lines.move_to_end(index)
        return cached

    def visible(self) -> list[Spot]:
        """Return the rows on screen from top to bottom, fewer than `height` at the end of the document."""
        rows: list[Spot] = []
        index, row = self.top
        while index < len(self.source) and len(rows) < self.height:
            size = len(self.lines(index))
            rows += [Spot(index, at) for at in range(row, min(size, row + self.height - len(rows)))]
            index, row = index + 1, 0
        return rows

    def move(self, place: Spot, rows: int) -> Spot:
        """Return the position `rows` below `place` (above it if negative), limited to the document."""
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
        """Return the top position that puts the end of the document at the bottom of the window."""
        return self.move(Spot(len(self.source), 0), -self.height)

    def settle(self, place: Spot) -> Spot:
        """Return the closest valid top position: in the document, and no lower than `last_top`."""
        if not len(self.source):
            return START
        block, row = place
        index = min(block, len(self.source) - 1)
        row = min(row, max(len(self.lines(index)) - 1, 0)) if index == block else 0
        return min(Spot(index, row), self.last_top())

    def scroll(self, rows: int) -> None:
        """Scroll down by `rows`, or up if negative."""
        self.top = self.settle(self.move(self.top, rows))

    def go(self, place: Spot) -> None:
        """Scroll so that `place` is the top row, unless the document ends before the window is full."""
        self.top = self.settle(place)

    def reveal(self, index: int, row: int = 0, *, whole: bool = True) -> None:
        """Scroll as little as possible to show a row and, if `whole`, the rest of its block as far as it fits."""
        rows = self.visible()
        last_row = max(row, min(len(self.lines(index)) - 1, row + self.height - 2) if whole else row)
        if (index, row) in rows and (index, last_row) in rows:
            return
        if rows and (index, row) < rows[0]:
            self.go(Spot(index, row))
            return
        top = self.move(Spot(index, last_row), 1 - self.height)
        self.go(min(top, Spot(index, row)))

    @property
    def share(self) -> int:
        """Percentage of the document above the bottom of the window, counted in blocks. 100 at the end."""
        rows = self.visible()
        if not rows:
            return 100
        index, row = rows[-1]
        size = max(len(self.lines(index)), 1)
        return min(100, int(100 * (index + (row + 1) / size) / len(self.source)))


PIECE = 4096
"""Characters in a chunk. A longer line is split, after a blank or comma if there is one near the limit."""
INDENT = 2
PRETTY_LIMIT = 3_000_000
"""Longest JSON text, in characters, that is indented or folded."""


class TextSource:
    """Text of any size as a document. Its blocks are chunks of at most `PIECE` characters, split at line ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = piece_starts(text)

    def __len__(self) -> int:
        return len(self.starts)

    def piece(self, index: int) -> str:
        """Return the text of a chunk without its line end."""
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[index] : end].removesuffix("\n")

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        """Return the lines of a chunk, wrapped to `cells`."""
        return [((row, ""),) for row in wrap_text(self.piece(index), cells)]

    def row_at(self, offset: int, cells: int) -> tuple[int, int]:
        """Return (chunk, row) of the character at `offset`.

        The row can be off where control characters before the character are drawn wider than one cell.
        """
        index = max(bisect_right(self.starts, offset) - 1, 0)
        before = self.text[self.starts[index] : offset]
        rows = wrap_text(self.piece(index), cells)
        remaining = len("".join(wrap_text(before, cells)))
        for row, text in enumerate(rows):
            if remaining < len(text):
                return index, row
            remaining -= len(text)
        return index, max(len(rows) - 1, 0)


def piece_starts(text: str) -> list[int]:
    """Return the offsets at which chunks begin: at every line, and within lines longer than `PIECE`."""
    starts: list[int] = []
    start = 0
    while True:
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        starts.append(start)
        at = start
        while stop - at > PIECE:
            at = _split_offset(text, at)
            starts.append(at)
        if end < 0:
            return starts
        start = end + 1


def _split_offset(text: str, start: int) -> int:
    """Return where to split a long line that begins at `start`."""
    limit = start + PIECE
    for separator in (" ", ","):
        at = text.rfind(separator, limit - 200, limit)
        if at > 0:
            return at + 1
    return limit


def pretty(text: str) -> str:
    """Indent a JSON text. Return any other text unchanged."""
    if len(text) > PRETTY_LIMIT or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), indent=INDENT, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def deepest(text: str) -> int:
    """Return the highest indentation level of a text, 0 if no line is indented."""
    return max((_indent_level(line) for line in text.split("\n")), default=0) if len(text) <= PRETTY_LIMIT else 0


def folded_at(text: str, depth: int) -> str:
    """Replace lines that are indented deeper than `depth` levels by `… 4 lines …`."""
    rows: list[str] = []
    hidden = 0
    for line in text.split("\n"):
        if _indent_level(line) > depth:
            hidden += 1
            continue
        if hidden:
            rows[-1] += f" … {hidden} {'line' if hidden == 1 else 'lines'} … {line.lstrip()}"
            hidden = 0
        else:
            rows.append(line)
    return "\n".join(rows)


def _indent_level(line: str) -> int:
    return (len(line) - len(line.lstrip(" "))) // INDENT


def find_from(text: str, needle: str, hit: int, step: int) -> int | None:
    """Return the offset of the next (`step` 1) or previous (`step` -1) match of `needle`, wrapping around at the end.

    `hit` is the offset of the current match, or -1 before the first search. The search ignores case unless `needle`
    contains an upper-case letter, which also avoids lowering a large text.
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
