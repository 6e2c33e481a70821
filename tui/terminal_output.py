"""Reduce terminal output: the driver sends only changed cells, and only changes of colours and attributes.

Textual sends whole lines or the whole screen, with all colours of each piece of text, which is slow over SSH.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from fcreview.model.sanitize import display_width
from fcreview.tui.cell_writer import ATTRIBUTES, RESET, VISIBLE_ON_BLANKS, Cell, CellWriter, ChangedRow, GraphicState
from fcreview.tui.text.theme import UNICODE_SYMBOLS

_CONTROL = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
"""Control sequence. Frames have two kinds: `m` selects colours and attributes, `H` moves the cursor (ECMA-48)."""
_MODE = re.compile(r"(\x1b\[\?(2026|25|1000|1002|1003|1004|1006|1015|1016|2004)[hl]|\x07)*")
"""Output that changes no cell."""
_SIGNS = "".join(getattr(UNICODE_SYMBOLS, each.name) for each in fields(UNICODE_SYMBOLS))
_NARROW_CHARACTER = rf"[ -~\xa1-\xac\xae-\u024f\u2010-\u2027\u2190-\u2193\u2500-\u257f{re.escape(_SIGNS)}]"
_NARROW = re.compile(f"{_NARROW_CHARACTER}*")
"""Text that every terminal draws with one cell for each character."""
_WIDE_CHARACTER = "[\u3001-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]"
_CERTAIN = re.compile(f"{_NARROW_CHARACTER}|{_WIDE_CHARACTER}|")
"""Content of a cell whose width all terminals agree about."""
MAX_CELLS = 1 << 16
"""Largest number of columns and rows of a terminal."""
_COLOUR_LENGTHS = {"5": 3, "2": 5}
"""Number of SGR parameters of a colour, by its second parameter: 3 in `38;5;N` and 5 in `38;2;R;G;B`."""


@lru_cache(4096)
def _apply(state: GraphicState, parameters: str) -> GraphicState | None:
    """Return the state after an SGR sequence. None for a number that fcreview does not track."""
    foreground, background, attributes = state
    numbers, at = parameters.split(";"), 0
    while at < len(numbers):
        number = numbers[at].lstrip("0")
        length = _COLOUR_LENGTHS.get("".join(numbers[at + 1 : at + 2]), 0) if number in ("38", "48") else 1
        colour = ";".join(numbers[at : at + length])
        if not length:
            return None
        if not number:
            foreground, background, attributes = RESET
        elif number in ATTRIBUTES:
            attributes |= {number}
        elif number == "38" or re.fullmatch("3[0-7]|9[0-7]", number):
            foreground = colour
        elif number == "48" or re.fullmatch("4[0-7]|10[0-7]", number):
            background = colour
        else:
            return None
        at += length
    return foreground, background, attributes


Span = tuple[int, int, list[Cell], bool]
"""(row, column, cells, is_narrow). `is_narrow` is True if every terminal draws one cell for each character."""


class ScreenDiff:
    """Model of the terminal's cells. It reduces a frame to the cells that differ from the model."""

    def __init__(self, *, erases: bool = False) -> None:
        self.erases = erases
        """Whether the terminal erases cells with the selected background (ECH and EL, terminfo's `bce`)."""
        self._rows: dict[int, list[Cell | None]] = {}
        """Cells of each row as last sent. None for a cell whose content is unknown."""
        self._shifting_rows: set[int] = set()
        """Rows with characters whose width differs between terminals. Their spans are sent as Textual sends them."""
        self.size: tuple[int, int] | None = None
        """Columns and rows of the terminal. None if unknown."""

    def clear(self) -> None:
        """Forget the content of the screen, so that the next frame is sent as a whole."""
        self._rows.clear()
        self._shifting_rows.clear()

    def reduce(self, text: str) -> str:
        """Return terminal output that draws the same screen as `text` if the model is correct.

        Output that is not a frame is returned unchanged.
        """
        if _MODE.fullmatch(text):
            return text
        parsed = self._parse(text)
        if parsed is None or self._is_outside(parsed[0]):
            self.clear()
            return text
        spans, cursor = parsed
        writer = CellWriter(self.size[0] if self.size else None, erases=self.erases)
        before = {row: list(self._rows.get(row, ())) for row, *_ in spans}
        in_order = self._shifting_rows & before.keys()
        in_order |= {span[0] for span in spans if not self._store(span)}
        for row, column, cells, _ in spans:
            if row in in_order:
                writer.write_span(row, column - 1, cells)
        changed_rows: list[ChangedRow] = []
        for number, old in before.items():
            if number not in in_order:
                new = self._rows[number]
                wide, narrow = _split_changes(old, new)
                for first, end in wide:
                    writer.write_span(number, first, [cell for cell in new[first:end] if cell is not None])
                changed_rows.append((number, new, narrow))
        writer.write_changes(changed_rows)
        return writer.finish(cursor)

    def _is_outside(self, spans: list[Span]) -> bool:
        """Whether a frame is larger than the terminal. Textual draws such a frame after the terminal has shrunk."""
        columns, rows = self.size or (MAX_CELLS, MAX_CELLS)
        return any(row > rows or column - 1 + len(cells) > columns for row, column, cells, _ in spans)

    def _parse(self, text: str) -> tuple[list[Span], str] | None:
        """Return the spans of a frame and its last cursor movement. None if the text is not a frame."""
        pieces = _CONTROL.split(text)  # text, parameters, letter, text, parameters, letter, ..., text
        if len(pieces) == 1 or pieces[0]:
            return None
        spans: list[Span] = []
        row = column = 0
        state, cursor = RESET, ""
        for parameters, letter, raw in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            if letter == "H":
                row, column = _read_position(parameters)
                cursor = f"\x1b[{parameters}H"
                spans.append((row, column, [], True))
            elif letter == "m" and (applied := _apply(state, parameters)) is not None:
                state = applied
            else:
                return None
            piece = raw.removesuffix("\n")
            if piece and (not spans or not piece.isprintable()):
                return None
            if piece:
                cells, is_narrow = self._cells(piece, state)
                spans[-1][2].extend(cells)
                if not is_narrow:
                    spans[-1] = (*spans[-1][:3], False)
        return spans, cursor

    def _cells(self, text: str, state: GraphicState) -> tuple[list[Cell], bool]:
        """Return (cells, is_narrow) of a text. See `Span`."""
        blank: Cell = (" ", state if state[2] & VISIBLE_ON_BLANKS else ("", state[1], RESET[2]))
        if _NARROW.fullmatch(text):
            return [blank if char == " " else (char, state) for char in text], True
        cells: list[Cell] = []
        for char in text:
            width = display_width(char)
            if width == 0 and cells:
                at = -1 if cells[-1][0] else -2
                cells[at] = (cells[at][0] + char, state)
            else:
                cells.append(blank if char == " " else (char, state))
                cells += [("", state)] * (width - 1)
        return cells, False

    def _store(self, span: Span) -> bool:
        """Store a span in the model. Return whether its row looks the same in all terminals and in any order."""
        number, column, cells, is_narrow = span
        row = self._rows.setdefault(number, [])
        start, end = column - 1, column - 1 + len(cells)
        row.extend([None] * (end - len(row)))
        cuts = [at for at, half in ((start - 1, start), (end, end)) if _is_second_half(row, half)]
        row[start:end] = cells
        for at in cuts:
            row[at] = None
        if not is_narrow and not all(_CERTAIN.fullmatch(cell[0]) for cell in cells):
            self._shifting_rows.add(number)
            return False
        if start == 0 and end == len(row):
            self._shifting_rows.discard(number)
        return not cuts


def _is_second_half(row: list[Cell | None], at: int) -> bool:
    """Whether a cell is the second cell of a wide character."""
    cell = row[at] if at < len(row) else None
    return cell is not None and not cell[0]


def _split_changes(before: list[Cell | None], after: list[Cell | None]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the ranges of changed cells that contain a wide character in the old or new row, and the indexes of all
    other changed cells.

    Both cells of a wide character change together. Terminals differ in what they do to one cell when the other is
    overwritten, so that these ranges are written from left to right.
    """
    if before == after:
        return [], []
    changed: list[int] = []
    wide: set[int] = set()
    for at, (old, new) in enumerate(zip_longest(before, after)):
        is_second = new is not None and not new[0]
        if old != new or (is_second and changed and changed[-1] == at - 1):
            changed.append(at)
            if is_second or (old is not None and not old[0]):
                wide.add(at)
    if not wide:
        return [], changed
    indexes = set(changed)
    starts = [at for at in changed if at - 1 not in indexes]
    ends = [at + 1 for at in changed if at + 1 not in indexes]
    ranges = [each for each in zip(starts, ends, strict=True) if not wide.isdisjoint(range(*each))]
    return ranges, [at for at in changed if not any(first <= at < end for first, end in ranges)]


def _read_position(parameters: str) -> tuple[int, int]:
    row, _, column = parameters.partition(";")
    return int(row or 1), int(column or 1)


class ScreenDiffDriver(Driver):
    """Driver with a `ScreenDiff`, to be combined with a driver that writes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._screen_diff = ScreenDiff()

    def forget_screen(self, columns: int, rows: int) -> None:
        """Send the next frame as a whole, because something else may have changed the screen or its size."""
        self._screen_diff.size = columns, rows
        self._screen_diff.clear()

    def write(self, data: str) -> None:
        if output := self._screen_diff.reduce(data):
            super().write(output)  # type: ignore[safe-super]  # the other base class writes


class CompactDriver(ScreenDiffDriver, LinuxDriver):
    """Textual's driver for terminals with a `ScreenDiff`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._screen_diff.erases = has_background_erase()


def has_background_erase() -> bool:
    """Whether the terminal erases cells (ECH) with the selected background, by its terminfo entry."""
    try:
        import curses
    except ImportError:
        return False
    try:
        curses.setupterm(fd=1)
    except curses.error:
        return False
    return curses.tigetflag("bce") > 0 and curses.tigetstr("ech") == b"\x1b[%p1%dX"
