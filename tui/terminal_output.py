"""Reduce terminal output: the driver sends only changed cells, and only changes of colours and attributes.

Textual sends whole lines or the whole screen, with all colours of each piece of text, which is slow over SSH.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import zip_longest
from typing import Any, TextIO, cast

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from fcreview.model.sanitize import display_width
from fcreview.tui.text.styles import UNICODE_SYMBOLS

GraphicState = tuple[str, str, frozenset[str]]
"""(foreground, background, attributes) as SGR parameters. An empty colour is the terminal's default colour."""
RESET: GraphicState = ("", "", frozenset())
VISIBLE_ON_BLANKS = frozenset("4579")
"""Attributes that change how a blank looks: underline, blink, reverse and strike."""
_OFF_CODES = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29"}
"""Attribute -> code that switches it off. 22 switches off both bold (1) and dim (2)."""
ATTRIBUTES = frozenset(_OFF_CODES)
_BLANKS = re.compile("\x00+")
LONG_JUMP = 7
"""Length, in bytes, of a typical cursor movement to another row and column. Shorter movements are preferred."""
_MAX_ROWS_DOWN = 4
"""Maximum number of rows that the cursor moves down with one byte for each row."""

Cell = tuple[str, GraphicState]
"""(character, graphic state) of a cell. The character is empty in the second cell of a wide character.

A blank has no foreground colour and no attributes, unless its attributes are visible.
"""
Row = Sequence[Cell | None]
ChangedRow = tuple[int, Row, Sequence[int]]
"""(number from 1, all cells, indexes of the changed cells) of a row."""


def sgr_transition(before: GraphicState | None, after: GraphicState) -> str:
    """Return the sequence that changes one state to another. `before` is None if the terminal's state is unknown."""
    if before == after:
        return ""
    if after == RESET:
        return "\x1b[0m"
    numbers = ["0"] if before is None else []
    before = before or RESET
    off = {_OFF_CODES[each] for each in before[2] - after[2]}
    kept = {each for each in before[2] if _OFF_CODES[each] not in off}
    numbers += [*sorted(off), *sorted(after[2] - kept)]
    numbers += [after[0] or "39"] if before[0] != after[0] else []
    numbers += [after[1] or "49"] if before[1] != after[1] else []
    return f"\x1b[{';'.join(numbers)}m"


def _is_blank(cell: Cell | None) -> bool:
    return cell is not None and cell[0] == " " and not cell[1][2]


def _is_drawn_by(state: GraphicState, cell: Cell | None) -> bool:
    """Whether writing the cell's character in the state `state` draws the cell correctly."""
    if cell is None or cell[1] == state:
        return cell is not None
    return _is_blank(cell) and cell[1][1] == state[1] and not state[2] & VISIBLE_ON_BLANKS


@dataclass
class _Run:
    """Adjacent cells of a row that can be written in one graphic state."""

    number: int
    first: int
    end: int
    state: GraphicState
    has_text: bool = False

    def add(self, at: int, cell: Cell) -> bool:
        """Add a cell if it extends the run. Return whether it was added."""
        if at != self.end:
            return False
        if not _is_drawn_by(self.state, cell):
            if self.has_text or not _is_drawn_by(cell[1], (" ", self.state)):
                return False
            self.state = cell[1]
        self.end = at + 1
        self.has_text = self.has_text or not _is_blank(cell)
        return True


def _split_into_runs(number: int, row: Row, changed: Sequence[int]) -> list[_Run]:
    runs: list[_Run] = []
    for at in changed:
        cell = row[at]
        if cell is not None and not (runs and runs[-1].add(at, cell)):
            runs.append(_Run(number, at, at + 1, cell[1], not _is_blank(cell)))
    return runs


def _state_for_blanks(blanks: _Run, groups: dict[GraphicState, list[_Run]]) -> GraphicState:
    """Return the graphic state to write blanks with: a state of text in the same row if one draws them, else the most
    frequent state that does."""

    def usefulness(state: GraphicState) -> tuple[bool, int]:
        return any(run.number == blanks.number for run in groups[state]), len(groups[state])

    fitting = (state for state in groups if _is_drawn_by(state, (" ", blanks.state)))
    return max(fitting, key=usefulness, default=blanks.state)


class CellWriter:
    """Collect the output of one frame."""

    def __init__(self, columns: int | None, *, erases: bool) -> None:
        self.parts: list[str] = []
        self._columns = columns
        self._erases = erases
        self._state: GraphicState | None = None
        self._row = 0
        self._column: int | None = None
        """Column of the cursor, from 0. None if unknown."""

    def finish(self, cursor: str) -> str:
        """Return the output, followed by `cursor`. Return an empty text if nothing was written."""
        if self._state is None:
            return ""
        return "".join([*self.parts, sgr_transition(self._state, RESET), cursor])

    def write_span(self, row: int, column: int, cells: Sequence[Cell]) -> None:
        """Write cells in their order. Their widths may differ between terminals."""
        self._move(row, column)
        for cell in cells:
            if self._state is None or not _is_drawn_by(self._state, cell):
                self._select(cell[1])
            self.parts.append(cell[0])
        self._column = None

    def write_changes(self, changed_rows: Sequence[ChangedRow]) -> None:
        """Write the changed cells of rows in any order. Neither the old nor the new cells contain wide characters."""
        rows = {number: row for number, row, _ in changed_rows}
        groups: dict[GraphicState, list[_Run]] = {}
        blanks: list[_Run] = []
        for number, row, changed in changed_rows:
            for run in _split_into_runs(number, row, changed):
                (groups.setdefault(run.state, []) if run.has_text else blanks).append(run)
        for run, state in [(run, _state_for_blanks(run, groups)) for run in blanks]:
            groups.setdefault(state, []).append(run)
        while groups:
            state = min(groups, key=self._selection_cost)
            runs = groups.pop(state)
            joined = self._join_runs(state, runs, rows)
            while joined:
                number, first, end = joined.pop(self._nearest_run(joined))
                self._move(number, first)
                self._select(state)
                self._write_run(rows[number], first, end)

    def _selection_cost(self, state: GraphicState) -> tuple[bool, int, str, list[str]]:
        """Return a sort key: the cost of selecting a graphic state next."""
        background = (self._state or RESET)[1]
        return state[1] != background, len(sgr_transition(self._state, state)), state[0], sorted(state[2])

    def _join_runs(self, state: GraphicState, runs: list[_Run], rows: dict[int, Row]) -> list[tuple[int, int, int]]:
        """Return (row, first, end) of each run. Runs are joined if writing the cells between them takes no more bytes
        than moving the cursor."""
        joined: list[tuple[int, int, int]] = []
        for run in sorted(runs, key=lambda run: (run.number, run.first)):
            first = run.first
            if joined and joined[-1][0] == run.number:
                row, (_, before, end) = rows[run.number], joined[-1]
                if self._is_cheaper_than_jump(state, row, end, first):
                    joined.pop()
                    first = before
            joined.append((run.number, first, run.end))
        return joined

    def _is_cheaper_than_jump(self, state: GraphicState, row: Row, first: int, end: int) -> bool:
        cells = [cell for cell in row[first:end] if cell is not None and _is_drawn_by(state, cell)]
        if len(cells) < end - first:
            return False
        if self._erases and all(map(_is_blank, cells)) and (_is_blank(row[first - 1]) or _is_blank(row[end])):
            return True
        return len("".join(cell[0] for cell in cells).encode()) <= len(f"\x1b[{end - first}C")

    def _select(self, state: GraphicState) -> None:
        self.parts.append(sgr_transition(self._state, state))
        self._state = state

    def _nearest_run(self, runs: Sequence[tuple[int, int, int]]) -> int:
        """Return the index of the run in this row or the next row that the cursor reaches with the fewest bytes. If
        none is near, return 0."""
        near = itertools.takewhile(lambda index: runs[index][0] <= self._row + 1, range(len(runs)))
        index = min(near, key=lambda index: len(self._cursor_movement(*runs[index][:2])), default=0)
        return index if len(self._cursor_movement(*runs[index][:2])) < LONG_JUMP else 0

    def _move(self, row: int, column: int) -> None:
        self.parts.append(self._cursor_movement(row, column))
        self._row, self._column = row, column

    def _cursor_movement(self, row: int, column: int) -> str:
        """Return a cursor movement. VT moves down one row, as LF does, but the terminal driver adds no CR to it."""
        ways = [f"\x1b[{row};{column + 1}H"]
        down = row - self._row
        if self._row == row:
            ways.append(f"\x1b[{column + 1}G")
        if self._column is not None and 0 <= down <= _MAX_ROWS_DOWN:
            by = column - self._column
            right = f"\x1b[{by}C" if by > 1 else "\x1b[C"
            left = min("\b" * -by, f"\x1b[{-by}D", key=len)
            ways.append("\v" * down + ("" if by == 0 else right if by > 0 else left))
        return min(ways, key=len)

    def _write_run(self, row: Row, first: int, end: int) -> None:
        """Write cells that the selected graphic state draws. ECH and EL draw blanks without moving the cursor."""
        text = "".join("\x00" if _is_blank(cell) else cell[0] for cell in row[first:end] if cell is not None)
        self._column = end if end < len(row) else None
        if not self._erases or (self._state or RESET)[2] & VISIBLE_ON_BLANKS:
            self.parts.append(text.replace("\x00", " "))
            return
        at = 0
        for match in _BLANKS.finditer(text):
            n_blanks = len(match[0])
            self.parts.append(text[at : match.start()])
            at = match.end()
            is_last = at == len(text)
            erasure = f"\x1b[{n_blanks}X" if is_last else f"\x1b[{n_blanks}X\x1b[{n_blanks}C"
            if (
                is_last
                and len(row) == self._columns
                and all(_is_drawn_by(self._blank_state, each) for each in row[end:])
            ):
                erasure = "\x1b[K"
            if len(erasure) >= n_blanks:
                self.parts.append(" " * n_blanks)
                continue
            self.parts.append(erasure)
            if is_last:
                self._column = end - n_blanks
        self.parts.append(text[at:])

    @property
    def _blank_state(self) -> GraphicState:
        return "", (self._state or RESET)[1], frozenset()


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
"""Content of a cell that all terminals draw with the same width."""
MAX_CELLS = 1 << 16
"""Largest number of columns and rows of a terminal."""
_COLOUR_LENGTHS = {"5": 3, "2": 5}
"""Number of SGR parameters of a colour, by the second parameter: 3 in `38;5;N` and 5 in `38;2;R;G;B`."""


@lru_cache(4096)
def _apply_sgr(state: GraphicState, parameters: str) -> GraphicState | None:
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
        in_order |= {span[0] for span in spans if not self._store_span(span)}
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
            elif letter == "m" and (applied := _apply_sgr(state, parameters)) is not None:
                state = applied
            else:
                return None
            piece = raw.removesuffix("\n")
            if piece and (not spans or not piece.isprintable()):
                return None
            if piece:
                cells, is_narrow = self._parse_cells(piece, state)
                spans[-1][2].extend(cells)
                if not is_narrow:
                    spans[-1] = (*spans[-1][:3], False)
        return spans, cursor

    def _parse_cells(self, text: str, state: GraphicState) -> tuple[list[Cell], bool]:
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

    def _store_span(self, span: Span) -> bool:
        """Store a span in the model. Return whether the cells of its row may be written in any order, because all
        terminals draw them alike."""
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

    Both cells of a wide character change together. Such a range is written from left to right, because terminals differ
    in what they do to one cell when the other is overwritten.
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


class TerminalFile:
    """Text file of the terminal that drops its output once the terminal is gone.

    Textual's thread for output would end with an error, and the app would wait for this thread when it quits.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class CompactDriver(ScreenDiffDriver, LinuxDriver):
    """Textual's driver for terminals with a `ScreenDiff`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file = cast(Any, TerminalFile(cast(TextIO, self._file)))
        self._screen_diff.erases = has_background_erase()


def has_background_erase() -> bool:
    """Whether the terminal erases cells (ECH) with the selected background, according to its terminfo entry."""
    try:
        import curses
    except ImportError:
        return False
    try:
        curses.setupterm(fd=1)
    except curses.error:
        return False
    return curses.tigetflag("bce") > 0 and curses.tigetstr("ech") == b"\x1b[%p1%dX"
