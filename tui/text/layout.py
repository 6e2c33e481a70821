"""Compute which rows of a long document are on screen, and divide texts into documents.

A document is a list of blocks. A block is laid out only when it comes into view. The scroll
position is the (block, row) of the top line, not a line number. So nothing above the top line has
to be measured, and the position stays when the width changes or a block above unfolds.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fcreview.tui.text.lines import Line, sanitize_and_wrap

MAX_CACHED_BLOCKS = 400


class RowPosition(NamedTuple):
    """Position of a row in a document: block index and row within the block, both from 0."""

    block: int
    row: int


DOCUMENT_START = RowPosition(0, 0)


class DocumentSource(Protocol):
    """Document as a sequence of blocks. `lines` is called only for blocks that come into view."""

    def __len__(self) -> int: ...

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        """Return the lines of a block, each at most `cells` wide."""
        ...


class DocumentLayout:
    """Scrollable window over a document, `height` rows high and `cells` wide."""

    def __init__(self, source: DocumentSource, cells: int = 80, height: int = 24) -> None:
        self.source = source
        self.cells, self.height = cells, height
        self.top = DOCUMENT_START
        """Position of the row at the top of the window."""
        self._lines: OrderedDict[int, Sequence[Line]] = OrderedDict()

    def resize(self, cells: int, height: int) -> None:
        """Change the size of the window. The top row stays at the top if possible."""
        if cells != self.cells:
            self._lines.clear()
        self.cells, self.height = cells, height
        self.top = self.clamp_top(self.top)

    def block_lines(self, index: int) -> Sequence[Line]:
        """Return the lines of a block at the window's width."""
        cached = self._lines.get(index)
        if cached is None:
            cached = self._lines[index] = self.source.lines(index, self.cells)
            if len(self._lines) > MAX_CACHED_BLOCKS:
                self._lines.popitem(last=False)
        else:
            self._lines.move_to_end(index)
        return cached

    def visible_rows(self) -> list[RowPosition]:
        """Return the rows on screen from top to bottom, fewer than `height` at the end of the
        document.
        """
        rows: list[RowPosition] = []
        index, row = self.top
        while index < len(self.source) and len(rows) < self.height:
            size = len(self.block_lines(index))
            rows += [
                RowPosition(index, at)
                for at in range(row, min(size, row + self.height - len(rows)))
            ]
            index, row = index + 1, 0
        return rows

    def move_position(self, position: RowPosition, by_rows: int) -> RowPosition:
        """Return the position `by_rows` below `position` (above if negative), limited to the
        rows of the document.
        """
        index, row = position
        row += by_rows
        while row < 0 and index > 0:
            index -= 1
            row += len(self.block_lines(index))
        if row < 0:
            return DOCUMENT_START
        while index < len(self.source) and row >= len(self.block_lines(index)):
            row -= len(self.block_lines(index))
            index += 1
        if index >= len(self.source):
            return (
                self.move_position(RowPosition(len(self.source), 0), -1)
                if len(self.source)
                else DOCUMENT_START
            )
        return RowPosition(index, row)

    def find_last_top(self) -> RowPosition:
        """Return the top position that puts the end of the document at the bottom of the window."""
        return self.move_position(RowPosition(len(self.source), 0), -self.height)

    def clamp_top(self, position: RowPosition) -> RowPosition:
        """Limit a top position to the document and to `find_last_top`."""
        if not len(self.source):
            return DOCUMENT_START
        block, row = position
        index = min(block, len(self.source) - 1)
        row = min(row, max(len(self.block_lines(index)) - 1, 0)) if index == block else 0
        return min(RowPosition(index, row), self.find_last_top())

    def scroll_by(self, rows: int) -> None:
        """Scroll down by `rows` rows, or up if negative."""
        self.top = self.clamp_top(self.move_position(self.top, rows))

    def scroll_to(self, position: RowPosition) -> None:
        """Scroll so that `position` is the top row, unless the document ends before the window
        is full.
        """
        self.top = self.clamp_top(position)

    def reveal(self, index: int, row: int = 0, *, entire_block: bool = True) -> None:
        """Scroll as little as possible to show row `row` of block `index` and, with `entire_block`,
        the rows of the block below it, as many as fit.
        """
        rows = self.visible_rows()
        last_row = max(
            row,
            min(len(self.block_lines(index)) - 1, row + self.height - 2) if entire_block else row,
        )
        if (index, row) in rows and (index, last_row) in rows:
            return
        if rows and (index, row) < rows[0]:
            self.scroll_to(RowPosition(index, row))
            return
        top = self.move_position(RowPosition(index, last_row), 1 - self.height)
        self.scroll_to(min(top, RowPosition(index, row)))

    @property
    def scroll_position(self) -> str:
        """Position of the window: `top`, the percentage of blocks above its bottom (`40 %`), or
        `end`. Empty if the whole document is visible.
        """
        if self.top >= self.find_last_top():
            return "" if self.top == DOCUMENT_START else "end"
        if self.top == DOCUMENT_START:
            return "top"
        index, row = self.visible_rows()[-1]
        part = (row + 1) / len(self.block_lines(index))
        return f"{int(100 * (index + part) / len(self.source))} %"


CHUNK_SIZE = 4096
"""Maximum number of characters in a chunk.

A longer line is split, if possible after a blank or comma.
"""
INDENT_WIDTH = 2
INDENT_LIMIT = 3_000_000
"""Maximum length, in characters, of a JSON text that is indented or folded."""


class TextSource:
    """Text of any size as a document.

    Its blocks are chunks: lines, or parts of lines longer than `CHUNK_SIZE`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = find_chunk_starts(text)

    def __len__(self) -> int:
        return len(self.starts)

    def read_chunk(self, index: int) -> str:
        """Return the text of a chunk without its line end."""
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[index] : end].removesuffix("\n")

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        """Return the lines of a chunk, wrapped to `cells`."""
        return [((row, ""),) for row in sanitize_and_wrap(self.read_chunk(index), cells)]

    def find_row(self, offset: int, cells: int) -> RowPosition:
        """Return the row with the character at `offset`.

        Wide control characters before it make the row inexact.
        """
        index = max(bisect_right(self.starts, offset) - 1, 0)
        before = self.text[self.starts[index] : offset]
        rows = sanitize_and_wrap(self.read_chunk(index), cells)
        remaining = len("".join(sanitize_and_wrap(before, cells)))
        for row, text in enumerate(rows):
            if remaining < len(text):
                return RowPosition(index, row)
            remaining -= len(text)
        return RowPosition(index, max(len(rows) - 1, 0))


def find_chunk_starts(text: str) -> list[int]:
    """Return the offsets where chunks begin (see `TextSource`)."""
    starts: list[int] = []
    start = 0
    while True:
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        starts.append(start)
        at = start
        while stop - at > CHUNK_SIZE:
            at = _find_chunk_end(text, at)
            starts.append(at)
        if end < 0:
            return starts
        start = end + 1


def _find_chunk_end(text: str, start: int) -> int:
    """Return the offset where to split a long line that begins at `start`."""
    limit = start + CHUNK_SIZE
    for separator in (" ", ","):
        at = text.rfind(separator, limit - 200, limit)
        if at > 0:
            return at + 1
    return limit


def indent_json(text: str) -> str:
    """Indent a JSON text. Return any other text unchanged."""
    if len(text) > INDENT_LIMIT or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), indent=INDENT_WIDTH, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def find_max_indent_level(text: str) -> int:
    """Return the highest indentation level of a text. 0 if no line is indented or the text is
    too long to fold.
    """
    return (
        max((_find_indent_level(line) for line in text.split("\n")), default=0)
        if len(text) <= INDENT_LIMIT
        else 0
    )


def fold_indented_lines(text: str, max_level: int) -> str:
    """Replace lines that are indented deeper than `max_level` levels by `… 4 lines …`."""
    rows: list[str] = []
    hidden = 0
    for line in text.split("\n"):
        if _find_indent_level(line) > max_level:
            hidden += 1
            continue
        if hidden:
            rows[-1] += f" … {hidden} {'line' if hidden == 1 else 'lines'} … {line.lstrip()}"
            hidden = 0
        else:
            rows.append(line)
    return "\n".join(rows)


def _find_indent_level(line: str) -> int:
    return (len(line) - len(line.lstrip(" "))) // INDENT_WIDTH


def find_match_offset(text: str, searched: str, current_offset: int, direction: int) -> int | None:
    """Return the offset of the next (`direction` 1) or previous (`direction` -1) match of
    `searched`, wrapping around at the end. None if there is no match.

    `current_offset`: offset of the current match, or -1 before the first search. The search ignores
    case unless `searched` contains an upper-case letter.
    """
    if searched == searched.lower():
        lowered = text.lower()
        text = lowered if len(lowered) == len(text) else text
    if direction > 0:
        at = text.find(searched, current_offset + 1)
        at = at if at >= 0 else text.find(searched)
    else:
        at = (
            text.rfind(searched, 0, current_offset + len(searched) - 1)
            if current_offset > 0
            else -1
        )
        at = at if at >= 0 else text.rfind(searched)
    return at if at >= 0 else None
