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


DOCUMENT_START = RowPosition(block=0, row=0)


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
        self.cells = cells
        self.height = height
        self.top = DOCUMENT_START
        """Position of the row at the top of the window."""
        self._lines: OrderedDict[int, Sequence[Line]] = OrderedDict()

    def resize(self, cells: int, height: int) -> None:
        """Change the size of the window. The top row stays at the top if possible."""
        if cells != self.cells:
            # The kept lines were laid out for the old width.
            self._lines.clear()
        self.cells = cells
        self.height = height
        self.top = self.clamp_top(self.top)

    def block_lines(self, index: int) -> Sequence[Line]:
        """Return the lines of a block at the window's width."""
        cached = self._lines.get(index)
        if cached is not None:
            # The blocks that were used last stay in the cache.
            self._lines.move_to_end(index)
            return cached

        lines = self.source.lines(index, self.cells)
        self._lines[index] = lines
        if len(self._lines) > MAX_CACHED_BLOCKS:
            self._lines.popitem(last=False)
        return lines

    def visible_rows(self) -> list[RowPosition]:
        """Return the positions of the rows on screen, from top to bottom.

        At the end of the document, there may be fewer than `height`.
        """
        rows: list[RowPosition] = []
        index, first_row = self.top
        while index < len(self.source) and len(rows) < self.height:
            n_rows_of_block = len(self.block_lines(index))
            n_free_rows = self.height - len(rows)
            end_row = min(n_rows_of_block, first_row + n_free_rows)
            rows += [RowPosition(block=index, row=row) for row in range(first_row, end_row)]
            index += 1
            # Only the first block may begin above the window.
            first_row = 0
        return rows

    def move_position(self, position: RowPosition, by_rows: int) -> RowPosition:
        """Return the position that is `by_rows` rows below `position`, or above if negative.

        A position is a block and a row in the block. The result is limited to the rows of the
        document.
        """
        index, row = position
        row += by_rows

        # A negative row is in a block above.
        while row < 0 and index > 0:
            index -= 1
            row += len(self.block_lines(index))
        if row < 0:
            return DOCUMENT_START

        # A row after the end of the block is in a block below.
        n_blocks = len(self.source)
        while index < n_blocks and row >= len(self.block_lines(index)):
            row -= len(self.block_lines(index))
            index += 1
        if index < n_blocks:
            return RowPosition(block=index, row=row)
        return self._find_last_row()

    def _find_last_row(self) -> RowPosition:
        n_blocks = len(self.source)
        if not n_blocks:
            return DOCUMENT_START
        return self.move_position(RowPosition(block=n_blocks, row=0), -1)

    def find_last_top(self) -> RowPosition:
        """Return the top position that puts the end of the document at the bottom of the window."""
        return self.move_position(RowPosition(block=len(self.source), row=0), -self.height)

    def clamp_top(self, position: RowPosition) -> RowPosition:
        """Limit the position of the window's first row, so that the window does not end below the
        document.
        """
        if not len(self.source):
            return DOCUMENT_START

        block, row = position
        last_block = len(self.source) - 1
        if block > last_block:
            limited = RowPosition(block=last_block, row=0)
        else:
            last_row = max(len(self.block_lines(block)) - 1, 0)
            limited = RowPosition(block=block, row=min(row, last_row))
        return min(limited, self.find_last_top())

    def scroll_by(self, rows: int) -> None:
        """Scroll down by `rows` rows, or up if negative."""
        self.top = self.clamp_top(self.move_position(self.top, rows))

    def scroll_to(self, position: RowPosition) -> None:
        """Scroll so that `position` is the top row, unless the document ends before the window
        is full.
        """
        self.top = self.clamp_top(position)

    def reveal(self, index: int, row: int = 0, *, entire_block: bool = True) -> None:
        """Scroll as little as possible to show a row of a block.

        With `entire_block`, the rows below it in the block are shown too, as many as fit.
        """
        first = RowPosition(block=index, row=row)
        last = self._find_last_row_that_fits(first) if entire_block else first

        visible = self.visible_rows()
        if first in visible and last in visible:
            return
        # A row above the window becomes its first row. A row below it becomes its last row.
        is_above_window = bool(visible) and first < visible[0]
        if is_above_window:
            self.scroll_to(first)
            return

        top_that_shows_last = self.move_position(last, 1 - self.height)
        self.scroll_to(min(top_that_shows_last, first))

    def _find_last_row_that_fits(self, first: RowPosition) -> RowPosition:
        """Return the last row of the block of `first` that fits into the window with `first`.

        One row of the window is left free, so that the row above `first` can stay visible.
        """
        last_row_of_block = len(self.block_lines(first.block)) - 1
        last_row_of_window = first.row + self.height - 2
        last_row = min(last_row_of_block, last_row_of_window)
        return RowPosition(block=first.block, row=max(first.row, last_row))

    def reveal_in_context(self, index: int, header_index: int) -> None:
        """Scroll so that block `index` begins a third down the window.

        The block `header_index` above it is shown too, if the window is high enough for both.
        """
        target = RowPosition(block=index, row=0)
        header = RowPosition(block=min(header_index, index), row=0)
        third_of_window = self.height // 3
        top = self.move_position(target, -third_of_window)

        is_header_hidden = header < top
        if is_header_hidden:
            # If the window begins with the header, it must still show two rows of the block.
            second_last_row = self.move_position(header, self.height - 2)
            is_high_enough_for_both = target <= second_last_row
            if is_high_enough_for_both:
                top = header
        self.scroll_to(top)

    def contains(self, first_index: int, last_index: int) -> bool:
        """Whether all rows of these blocks are visible."""
        visible = self.visible_rows()
        last_row = max(len(self.block_lines(last_index)) - 1, 0)
        return RowPosition(block=first_index, row=0) in visible and (
            RowPosition(block=last_index, row=last_row) in visible
        )

    @property
    def scroll_position(self) -> str:
        """Position of the window in the document: `top`, `40 %` or `end`.

        The percentage counts the blocks above the bottom of the window. Empty if the whole document
        is visible.
        """
        is_at_start = self.top == DOCUMENT_START
        is_at_end = self.top >= self.find_last_top()
        if is_at_start and is_at_end:
            return ""
        if is_at_end:
            return "end"
        if is_at_start:
            return "top"

        # Blocks are counted instead of rows, because only visible blocks are laid out.
        bottom_block, bottom_row = self.visible_rows()[-1]
        visible_share_of_block = (bottom_row + 1) / len(self.block_lines(bottom_block))
        n_blocks_above_bottom = bottom_block + visible_share_of_block
        return f"{int(100 * n_blocks_above_bottom / len(self.source))} %"


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
        start = self.starts[index]
        is_last = index + 1 == len(self.starts)
        end = len(self.text) if is_last else self.starts[index + 1]
        return self.text[start:end].removesuffix("\n")

    def lines(self, index: int, cells: int) -> Sequence[Line]:
        """Return the lines of a chunk, wrapped to `cells`."""
        return [((row, ""),) for row in sanitize_and_wrap(self.read_chunk(index), cells)]

    def find_row(self, offset: int, cells: int) -> RowPosition:
        """Return the row that shows the character at `offset`, for a window that is `cells` wide.

        The text is divided into chunks, and each chunk is wrapped to rows. The row is not exact if
        wide control characters come before it.
        """
        # The last chunk that begins at or before the offset contains it.
        chunk_index = max(bisect_right(self.starts, offset) - 1, 0)

        # Sanitizing can change the number of characters, so the characters before the offset are
        # counted as they are displayed.
        text_before = self.text[self.starts[chunk_index] : offset]
        n_chars_before = len("".join(sanitize_and_wrap(text_before, cells)))

        rows = sanitize_and_wrap(self.read_chunk(chunk_index), cells)
        n_chars_until_row_end = 0
        for row_index, row in enumerate(rows):
            n_chars_until_row_end += len(row)
            if n_chars_before < n_chars_until_row_end:
                return RowPosition(block=chunk_index, row=row_index)

        # The offset is behind the last row, for example at the end of the text.
        last_row_index = max(len(rows) - 1, 0)
        return RowPosition(block=chunk_index, row=last_row_index)


def find_chunk_starts(text: str) -> list[int]:
    """Return the offsets at which the chunks of a text begin.

    A chunk is a line. A line longer than `CHUNK_SIZE` has several chunks, so that laying out a
    chunk always takes little time.
    """
    starts: list[int] = []
    line_start = 0
    while True:
        line_feed = text.find("\n", line_start)
        is_last_line = line_feed < 0
        line_end = len(text) if is_last_line else line_feed

        start = line_start
        starts.append(start)
        while line_end - start > CHUNK_SIZE:
            start = _find_chunk_end(text, start)
            starts.append(start)
        if is_last_line:
            return starts
        line_start = line_end + 1


SEPARATOR_SEARCH_CHARS = 200
"""Number of characters before the maximum size of a chunk in which a blank or comma is searched."""


def _find_chunk_end(text: str, start: int) -> int:
    """Return the offset where to split a long line that begins at `start`."""
    limit = start + CHUNK_SIZE
    for separator in (" ", ","):
        position = text.rfind(separator, limit - SEPARATOR_SEARCH_CHARS, limit)
        if position > 0:
            return position + 1
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
    """Return the highest indentation level of a text. 0 if no line is indented or the text is too
    long to fold.
    """
    if len(text) > INDENT_LIMIT:
        return 0
    return max(_find_indent_level(line) for line in text.split("\n"))


def fold_indented_lines(text: str, max_level: int) -> str:
    """Hide the lines that are indented deeper than `max_level` levels.

    Their number stands between the lines before and after them: `"args": { … 4 lines … },`.
    """
    rows: list[str] = []
    n_hidden = 0
    for line in text.split("\n"):
        if _find_indent_level(line) > max_level:
            n_hidden += 1
            continue
        if n_hidden == 0:
            rows.append(line)
            continue
        # The first line after the hidden ones continues the line before them.
        line_before = f"{rows.pop()} " if rows else ""
        rows.append(f"{line_before}{_describe_hidden_lines(n_hidden)} {line.lstrip()}")
        n_hidden = 0

    # Hidden lines at the end, which only a text other than JSON has.
    if n_hidden:
        rows.append(_describe_hidden_lines(n_hidden))
    return "\n".join(rows)


def _describe_hidden_lines(count: int) -> str:
    noun = "line" if count == 1 else "lines"
    return f"… {count} {noun} …"


def _find_indent_level(line: str) -> int:
    return (len(line) - len(line.lstrip(" "))) // INDENT_WIDTH


def find_match_offset(text: str, searched: str, current_offset: int, direction: int) -> int | None:
    """Return the offset of the next or previous match of `searched`. None without a match.

    The search ignores case unless `searched` contains an upper-case letter, and starts again at the
    other end of the text.

    Args:
        current_offset: Offset of the current match, or -1 before the first search.
        direction: 1 for the next match, -1 for the previous one.
    """
    has_upper_case = searched != searched.lower()
    searched_text = text if has_upper_case else _lower_without_moving(text)

    if direction > 0:
        offset = _find_next_match(searched_text, searched, current_offset)
    else:
        offset = _find_previous_match(searched_text, searched, current_offset)
    # `str.find` returns -1 if there is no match.
    return offset if offset >= 0 else None


def _find_next_match(text: str, searched: str, current_offset: int) -> int:
    """Return the offset of the first match after `current_offset`, else of the first match in the
    text. -1 without a match.
    """
    offset = text.find(searched, current_offset + 1)
    if offset >= 0:
        return offset
    return text.find(searched)


def _find_previous_match(text: str, searched: str, current_offset: int) -> int:
    """Return the offset of the last match before `current_offset`, else of the last match in the
    text. -1 without a match.
    """
    if current_offset > 0:
        # The match must begin before the current one, but may overlap it.
        end = current_offset + len(searched) - 1
        offset = text.rfind(searched, 0, end)
        if offset >= 0:
            return offset
    return text.rfind(searched)


def _lower_without_moving(text: str) -> str:
    """Return the lower-case form of a text, or the text itself if characters would move.

    The lower-case form of some characters is longer. The offsets of matches would then be wrong.
    """
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text
