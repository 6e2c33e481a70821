"""Reduce terminal output: the driver sends only changed cells, and only changes of colours and attributes.

Textual sends whole lines or the whole screen, with all colours of each piece of text, which is slow over SSH.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import lru_cache
from typing import Any

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from fcreview.model.sanitize import display_width
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
_VISIBLE_ON_BLANKS = frozenset("4579")
"""Attributes that change how a blank looks: underline, blink, reverse and strike."""
MAX_CELLS = 1 << 16
"""Largest number of columns and rows of a terminal."""
MAX_RESENT_CELLS = 5
"""Maximum number of unchanged cells between two changes to send again. Moving the cursor would take more bytes."""
_OFF_CODES = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29"}
"""Attribute -> code that switches it off. 22 switches off both bold (1) and dim (2)."""
_COLOUR_LENGTHS = {"5": 3, "2": 5}
"""Number of SGR parameters of a colour, by its second parameter: 3 in `38;5;N` and 5 in `38;2;R;G;B`."""

GraphicState = tuple[str, str, frozenset[str]]
"""(foreground, background, attributes) as SGR parameters. An empty colour is the terminal's default colour."""
_RESET: GraphicState = ("", "", frozenset())


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
            foreground, background, attributes = _RESET
        elif number in _OFF_CODES:
            attributes |= {number}
        elif number == "38" or re.fullmatch("3[0-7]|9[0-7]", number):
            foreground = colour
        elif number == "48" or re.fullmatch("4[0-7]|10[0-7]", number):
            background = colour
        else:
            return None
        at += length
    return foreground, background, attributes


def _transition(before: GraphicState | None, after: GraphicState) -> str:
    """Return the sequence that changes one state to another. `before` is None if the terminal's state is unknown."""
    if before == after:
        return ""
    start = ""
    if before is None or after == _RESET:
        start, before = "\x1b[0m", _RESET
    off = {_OFF_CODES[each] for each in before[2] - after[2]}
    kept = {each for each in before[2] if _OFF_CODES[each] not in off}
    numbers = [*sorted(off), *sorted(after[2] - kept)]
    numbers += [after[0] or "39"] if before[0] != after[0] else []
    numbers += [after[1] or "49"] if before[1] != after[1] else []
    return start + (f"\x1b[{';'.join(numbers)}m" if numbers else "")


Cell = tuple[str, GraphicState]
"""(character, look) of a cell. The character is empty in the second cell of a wide character."""
Span = tuple[int, int, list[Cell], bool]
"""(row, column, cells, is_narrow). `is_narrow` is True if every terminal draws one cell for each character."""


class ScreenDiff:
    """Model of the terminal's cells. It reduces a frame to the cells that differ from the model."""

    def __init__(self) -> None:
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
        parts: list[str] = []
        sent: GraphicState | None = None
        last_row = 0
        for span in spans:
            for row, column, cells in self._changes(span):
                parts.append(f"\x1b[{column}G" if row == last_row else f"\x1b[{row};{column}H")
                last_row = row
                for char, look in cells:
                    if sent != look:
                        wanted = look if sent is None else _cheapest_look(char, sent, look)
                        parts.append(_transition(sent, wanted))
                        sent = wanted
                    parts.append(char)
        if sent is None:
            return ""
        return "".join([*parts, _transition(sent, _RESET), cursor])

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
        look, cursor = _RESET, ""
        for parameters, letter, raw in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            if letter == "H":
                row, column = _read_position(parameters)
                cursor = f"\x1b[{parameters}H"
                spans.append((row, column, [], True))
            elif letter == "m" and (state := _apply(look, parameters)) is not None:
                look = state
            else:
                return None
            piece = raw.removesuffix("\n")
            if piece and (not spans or not piece.isprintable()):
                return None
            if piece:
                cells, is_narrow = self._cells(piece, look)
                spans[-1][2].extend(cells)
                if not is_narrow:
                    spans[-1] = (*spans[-1][:3], False)
        return spans, cursor

    def _cells(self, text: str, look: GraphicState) -> tuple[list[Cell], bool]:
        """Return (cells, is_narrow) of a text. See `Span`."""
        blank: Cell = (" ", look if look[2] & _VISIBLE_ON_BLANKS else ("", look[1], _RESET[2]))
        if _NARROW.fullmatch(text):
            return [blank if char == " " else (char, look) for char in text], True
        cells: list[Cell] = []
        for char in text:
            width = display_width(char)
            if width == 0 and cells:
                at = -1 if cells[-1][0] else -2
                cells[at] = (cells[at][0] + char, look)
            else:
                cells.append(blank if char == " " else (char, look))
                cells += [("", look)] * (width - 1)
        return cells, False

    def _changes(self, span: Span) -> list[tuple[int, int, list[Cell]]]:
        """Store a span and return its pieces to send: (row, column, cells)."""
        number, column, cells, is_narrow = span
        row = self._rows.setdefault(number, [])
        start, end = column - 1, column - 1 + len(cells)
        row.extend([None] * (end - len(row)))
        before = row[start:end]
        row[start:end] = cells
        if not is_narrow and not all(_CERTAIN.fullmatch(cell[0]) for cell in cells):
            self._shifting_rows.add(number)
        elif start == 0 and end == len(row):
            self._shifting_rows.discard(number)
        if number in self._shifting_rows:
            return [(number, column, cells)]
        if before == cells:
            return []
        replaced = "".join(cell[0] or "\x00" for cell in before if cell is not None)
        if not (is_narrow and _NARROW.fullmatch(replaced)):
            return [(number, column, cells)]  # terminals disagree about the widths of some characters
        changed = [at for at, (old, new) in enumerate(zip(before, cells, strict=True)) if old != new]
        pieces: list[tuple[int, int]] = []
        for at in changed:
            if pieces and at - pieces[-1][1] <= MAX_RESENT_CELLS:
                pieces[-1] = (pieces[-1][0], at + 1)
            else:
                pieces.append((at, at + 1))
        return [(number, column + first, cells[first:last]) for first, last in pieces]


def _read_position(parameters: str) -> tuple[int, int]:
    row, _, column = parameters.partition(";")
    return int(row or 1), int(column or 1)


def _cheapest_look(char: str, sent: GraphicState, look: GraphicState) -> GraphicState:
    """Return a state close to `sent` that draws the character as `look` does. A blank needs no foreground colour."""
    if char != " " or look[2] & _VISIBLE_ON_BLANKS:
        return look
    return sent[0], look[1], sent[2] - _VISIBLE_ON_BLANKS


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
