"""A text of any size as a source of lines for the document view: cut into pieces, laid out as they come into view."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence

from fcreview.tui.text.lines import Line, wrap_text

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
