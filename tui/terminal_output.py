"""Reduce terminal output to changed cells and changes of colours and attributes, and survive a lost
terminal.

Textual sends whole lines or the whole screen, with all colours of each piece of text. That is slow
over SSH.

For `fcreview serve`, `CompactWebDriver` sends frames and receives keys as packets on stdout and
stdin.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import termios
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from itertools import zip_longest
from math import inf
from time import monotonic
from typing import Any, NamedTuple, TextIO, cast

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.drivers.web_driver import WebDriver

from fcreview.model.sanitize import display_width
from fcreview.tui.text.styles import UNICODE_SYMBOLS

GraphicState = tuple[str, str, frozenset[str]]
"""(foreground, background, attributes) as SGR parameters (ECMA-48).

An empty colour is the terminal's default.
"""
RESET: GraphicState = ("", "", frozenset())
VISIBLE_ON_BLANKS = frozenset("4579")
"""Attributes that change how a blank looks: underline, blink, reverse and strike."""
_OFF_CODES = {
    "1": "22",
    "2": "22",
    "3": "23",
    "4": "24",
    "5": "25",
    "7": "27",
    "8": "28",
    "9": "29",
}
"""Attribute -> code that switches it off. 22 switches off both bold (1) and dim (2)."""
ATTRIBUTES = frozenset(_OFF_CODES)
_BLANKS = re.compile("\x00+")
LONG_JUMP = 7
"""Length, in bytes, of a typical cursor movement to another row and column."""
_MAX_ROWS_DOWN = 4
"""Maximum number of rows that the cursor moves down with one byte for each row."""

Cell = tuple[str, GraphicState]
"""(character, graphic state) of a cell. The character is empty in the second cell of a wide
character.

A blank has no foreground colour and no attributes, unless its attributes are visible.
"""
Row = Sequence[Cell | None]


class ChangedRow(NamedTuple):
    number: int
    """Number of the row, from 1."""
    cells: Row
    """All cells of the row."""
    changed: Sequence[int]
    """Indexes of the changed cells."""


class CellRange(NamedTuple):
    """Cells of a row from index `first` to `end` (exclusive)."""

    row: int
    first: int
    end: int


def format_sgr_transition(before: GraphicState | None, after: GraphicState) -> str:
    """Return the escape sequence that changes the terminal's state.

    `before` is None if that state is unknown.
    """
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


def _can_draw(state: GraphicState, cell: Cell | None) -> bool:
    """Whether the cell looks right if its character is written in the graphic state `state`."""
    if cell is None or cell[1] == state:
        return cell is not None
    return _is_blank(cell) and cell[1][1] == state[1] and not state[2] & VISIBLE_ON_BLANKS


@dataclass
class _CellRun:
    """Adjacent cells of a row that can be written in one graphic state."""

    row: int
    first: int
    end: int
    state: GraphicState
    has_text: bool = False
    """Whether any cell is not blank."""

    def try_to_add(self, at: int, cell: Cell) -> bool:
        """Add the cell at index `at` if it extends the run. Return whether it was added."""
        if at != self.end:
            return False
        if not _can_draw(self.state, cell):
            if self.has_text or not _can_draw(cell[1], (" ", self.state)):
                return False
            self.state = cell[1]
        self.end = at + 1
        self.has_text = self.has_text or not _is_blank(cell)
        return True


def _split_into_runs(row: ChangedRow) -> list[_CellRun]:
    """Divide the changed cells of a row into runs."""
    runs: list[_CellRun] = []
    for at in row.changed:
        cell = row.cells[at]
        if cell is not None and not (runs and runs[-1].try_to_add(at, cell)):
            runs.append(
                _CellRun(
                    row.number, first=at, end=at + 1, state=cell[1], has_text=not _is_blank(cell)
                )
            )
    return runs


def _choose_state_for_blanks(
    blanks: _CellRun, text_runs: dict[GraphicState, list[_CellRun]]
) -> GraphicState:
    """Return the graphic state in which to write blanks. Of the states of `text_runs` that can draw
    the blanks, choose one with text in the same row, else the most frequent one.
    """

    def rank(state: GraphicState) -> tuple[bool, int]:
        return any(run.row == blanks.row for run in text_runs[state]), len(text_runs[state])

    fitting = (state for state in text_runs if _can_draw(state, (" ", blanks.state)))
    return max(fitting, key=rank, default=blanks.state)


class CellWriter:
    """Collects the output of one frame.

    Args:
        columns: Width of the terminal. None if unknown.
        erases: Whether the terminal erases cells with the selected background.
    """

    def __init__(self, columns: int | None, *, erases: bool) -> None:
        self._parts: list[str] = []
        self._columns = columns
        self._erases = erases
        self._state: GraphicState | None = None
        self._row = 0
        self._column: int | None = None
        """Column of the cursor, from 0. None if unknown."""

    def finish(self, cursor_movement: str) -> str:
        """Return the output, followed by `cursor_movement`. Empty if nothing was written."""
        if self._state is None:
            return ""
        return "".join([*self._parts, format_sgr_transition(self._state, RESET), cursor_movement])

    def write_span(self, row: int, column: int, cells: Sequence[Cell]) -> None:
        """Write cells from left to right.

        The width of their characters may differ between terminals.
        """
        self._move_cursor(row, column)
        for cell in cells:
            if self._state is None or not _can_draw(self._state, cell):
                self._select_state(cell[1])
            self._parts.append(cell[0])
        self._column = None

    def write_changes(self, changed_rows: Sequence[ChangedRow]) -> None:
        """Write the changed cells in any order.

        Neither the old nor the new cells may contain wide characters.
        """
        rows = {row.number: row.cells for row in changed_rows}
        groups: dict[GraphicState, list[_CellRun]] = {}
        blanks: list[_CellRun] = []
        for row in changed_rows:
            for run in _split_into_runs(row):
                (groups.setdefault(run.state, []) if run.has_text else blanks).append(run)
        for run, state in [(run, _choose_state_for_blanks(run, groups)) for run in blanks]:
            groups.setdefault(state, []).append(run)
        while groups:
            state = min(groups, key=self._rank_next_state)
            ranges = self._join_runs(state, groups.pop(state), rows)
            while ranges:
                number, first, end = ranges.pop(self._find_nearest_range(ranges))
                self._move_cursor(number, first)
                self._select_state(state)
                self._write_range(rows[number], first, end)

    def _rank_next_state(self, state: GraphicState) -> tuple[bool, int, str, list[str]]:
        """Return a sort key that is lowest for the graphic state that is cheapest to select
        next.
        """
        background = (self._state or RESET)[1]
        return (
            state[1] != background,
            len(format_sgr_transition(self._state, state)),
            state[0],
            sorted(state[2]),
        )

    def _join_runs(
        self, state: GraphicState, runs: list[_CellRun], rows: dict[int, Row]
    ) -> list[CellRange]:
        """Return the ranges of the runs, from top left to bottom right. Two runs are joined if
        writing the cells between them takes no more bytes than a cursor movement.
        """
        ranges: list[CellRange] = []
        for run in sorted(runs, key=lambda run: (run.row, run.first)):
            last = ranges[-1] if ranges and ranges[-1].row == run.row else None
            if last is not None and self._is_cheaper_than_jump(
                state, rows[run.row], last.end, run.first
            ):
                ranges[-1] = last._replace(end=run.end)
            else:
                ranges.append(CellRange(run.row, first=run.first, end=run.end))
        return ranges

    def _is_cheaper_than_jump(self, state: GraphicState, row: Row, first: int, end: int) -> bool:
        """Whether writing the cells from `first` to `end` takes no more bytes than moving the
        cursor over them.
        """
        cells = [cell for cell in row[first:end] if cell is not None and _can_draw(state, cell)]
        if len(cells) < end - first:
            return False
        if (
            self._erases
            and all(map(_is_blank, cells))
            and (_is_blank(row[first - 1]) or _is_blank(row[end]))
        ):
            return True
        return len("".join(cell[0] for cell in cells).encode()) <= len(f"\x1b[{end - first}C")

    def _select_state(self, state: GraphicState) -> None:
        self._parts.append(format_sgr_transition(self._state, state))
        self._state = state

    def _find_nearest_range(self, ranges: Sequence[CellRange]) -> int:
        """Return the index of the range, up to the next row, that the cursor reaches with the
        fewest bytes. Return 0 if that takes a long jump.
        """

        def measure_movement(index: int) -> int:
            return len(self._format_cursor_movement(ranges[index].row, ranges[index].first))

        near = itertools.takewhile(
            lambda index: ranges[index].row <= self._row + 1, range(len(ranges))
        )
        index = min(near, key=measure_movement, default=0)
        return index if measure_movement(index) < LONG_JUMP else 0

    def _move_cursor(self, row: int, column: int) -> None:
        self._parts.append(self._format_cursor_movement(row, column))
        self._row, self._column = row, column

    def _format_cursor_movement(self, row: int, column: int) -> str:
        """Return the shortest sequence that moves the cursor. VT (`\\v`) moves it down one row, as
        LF does, but the terminal driver adds no CR to VT.
        """
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

    def _write_range(self, row: Row, first: int, end: int) -> None:
        """Write cells in the selected graphic state.

        ECH and EL erase blanks without moving the cursor.
        """
        text = "".join(
            "\x00" if _is_blank(cell) else cell[0] for cell in row[first:end] if cell is not None
        )
        self._column = end if end < len(row) else None
        if not self._erases or (self._state or RESET)[2] & VISIBLE_ON_BLANKS:
            self._parts.append(text.replace("\x00", " "))
            return
        at = 0
        for match in _BLANKS.finditer(text):
            n_blanks = len(match[0])
            self._parts.append(text[at : match.start()])
            at = match.end()
            is_last = at == len(text)
            erasure = f"\x1b[{n_blanks}X" if is_last else f"\x1b[{n_blanks}X\x1b[{n_blanks}C"
            blank_state = "", (self._state or RESET)[1], RESET[2]
            if (
                is_last
                and len(row) == self._columns
                and all(_can_draw(blank_state, each) for each in row[end:])
            ):
                erasure = "\x1b[K"
            if len(erasure) >= n_blanks:
                self._parts.append(" " * n_blanks)
                continue
            self._parts.append(erasure)
            if is_last:
                self._column = end - n_blanks
        self._parts.append(text[at:])


_CONTROL = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
"""Control sequence (ECMA-48).

Frames have two kinds: `m` selects colours and attributes, `H` moves the cursor.
"""
_MODE = re.compile(r"(\x1b\[\?(2026|25|1000|1002|1003|1004|1006|1015|1016|2004)[hl]|\x07)*")
"""Output that changes no cell, such as the choice of a mode."""
_SIGNS = "".join(getattr(UNICODE_SYMBOLS, each.name) for each in fields(UNICODE_SYMBOLS))
_NARROW_CHARACTER = (
    rf"[ -~\xa1-\xac\xae-\u024f\u2010-\u2027\u2190-\u2193\u2500-\u257f{re.escape(_SIGNS)}]"
)
_NARROW = re.compile(f"{_NARROW_CHARACTER}*")
"""Text that every terminal draws with one cell for each character."""
_WIDE_CHARACTER = "[\u3001-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]"
_CERTAIN = re.compile(f"{_NARROW_CHARACTER}|{_WIDE_CHARACTER}|")
"""Content of a cell that all terminals draw with the same width."""
MAX_CELLS = 1 << 16
"""Upper bound for the columns and rows of a terminal of unknown size."""
_COLOUR_LENGTHS = {"5": 3, "2": 5}
"""Number of SGR parameters of a colour, by the second parameter: 3 in `38;5;N` and 5 in
`38;2;R;G;B`.
"""


@lru_cache(4096)
def _apply_sgr(state: GraphicState, parameters: str) -> GraphicState | None:
    """Return the state after an SGR sequence. None if a parameter is not supported."""
    foreground, background, attributes = state
    numbers, at = parameters.split(";"), 0
    while at < len(numbers):
        number = numbers[at].lstrip("0")
        length = (
            _COLOUR_LENGTHS.get("".join(numbers[at + 1 : at + 2]), 0)
            if number in ("38", "48")
            else 1
        )
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


class Span(NamedTuple):
    """Adjacent cells of a frame. Row and column are counted from 1."""

    row: int
    column: int
    cells: list[Cell]
    is_narrow: bool
    """Whether every terminal draws one cell for each character."""


class ScreenDiff:
    """Model of the terminal's cells.

    It reduces each frame to the cells that differ from the model.
    """

    def __init__(self, *, erases: bool = False) -> None:
        self.erases = erases
        """Whether the terminal erases cells with the selected background (ECH and EL, terminfo's
        `bce`).
        """
        self._rows: dict[int, list[Cell | None]] = {}
        """Cells of each row as last sent. None for a cell with unknown content."""
        self._shifting_rows: set[int] = set()
        """Rows with characters whose width differs between terminals.

        Their spans are sent in Textual's order.
        """
        self.size: tuple[int, int] | None = None
        """Columns and rows of the terminal. None if unknown."""

    def forget_content(self) -> None:
        """Forget the content of the screen, so that the next frame is sent as a whole."""
        self._rows.clear()
        self._shifting_rows.clear()

    def reduce_frame(self, text: str) -> str:
        """Return shorter output that draws the same screen as the frame `text`.

        Return other output unchanged.
        """
        if _MODE.fullmatch(text):
            return text
        parsed = self._parse_frame(text)
        if parsed is None or self._exceeds_screen(parsed[0]):
            self.forget_content()
            return text
        spans, cursor = parsed
        writer = CellWriter(self.size[0] if self.size else None, erases=self.erases)
        before = {span.row: list(self._rows.get(span.row, ())) for span in spans}
        in_order = self._shifting_rows & before.keys()
        in_order |= {span.row for span in spans if not self._store_and_check_free_order(span)}
        for span in spans:
            if span.row in in_order:
                writer.write_span(span.row, span.column - 1, span.cells)
        changed_rows: list[ChangedRow] = []
        for number, old in before.items():
            if number not in in_order:
                new = self._rows[number]
                wide, narrow = _split_changes(old, new)
                for first, end in wide:
                    writer.write_span(
                        number, first, [cell for cell in new[first:end] if cell is not None]
                    )
                changed_rows.append(ChangedRow(number, cells=new, changed=narrow))
        writer.write_changes(changed_rows)
        return writer.finish(cursor)

    def _exceeds_screen(self, spans: list[Span]) -> bool:
        """Whether a frame is larger than the terminal.

        Textual draws such a frame after the terminal has shrunk.
        """
        columns, rows = self.size or (MAX_CELLS, MAX_CELLS)
        return any(span.row > rows or span.column - 1 + len(span.cells) > columns for span in spans)

    def _parse_frame(self, text: str) -> tuple[list[Span], str] | None:
        """Return (spans, last cursor movement) of a frame. None if the text is not a frame."""
        # text, parameters, letter, text, parameters, letter, ..., text
        pieces = _CONTROL.split(text)
        if len(pieces) == 1 or pieces[0]:
            return None
        spans: list[Span] = []
        state, cursor = RESET, ""
        for parameters, letter, raw in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            if letter == "H":
                row, _, column = parameters.partition(";")
                cursor = f"\x1b[{parameters}H"
                spans.append(Span(int(row or 1), column=int(column or 1), cells=[], is_narrow=True))
            elif letter == "m" and (applied := _apply_sgr(state, parameters)) is not None:
                state = applied
            else:
                return None
            piece = raw.removesuffix("\n")
            if piece and (not spans or not piece.isprintable()):
                return None
            if piece:
                cells, is_narrow = self._parse_cells(piece, state)
                spans[-1].cells.extend(cells)
                if not is_narrow:
                    spans[-1] = spans[-1]._replace(is_narrow=False)
        return spans, cursor

    def _parse_cells(self, text: str, state: GraphicState) -> tuple[list[Cell], bool]:
        """Return (cells, whether every terminal draws one cell for each character) of a text in
        one state.
        """
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

    def _store_and_check_free_order(self, span: Span) -> bool:
        """Store a span in the model. Return whether the cells of its row may be written in any
        order, because their widths are the same on all terminals.
        """
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


def _split_changes(
    before: list[Cell | None], after: list[Cell | None]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return (wide, narrow): the (first, end) ranges of changed cells with a wide character in the
    old or new row, and the indexes of all other changed cells.

    Both cells of a wide character change together. A wide range must be written from left to right,
    because terminals differ in what they do to one cell of a character when the other cell is
    overwritten.
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


MAX_FLUSHES = 1000
"""Number of flushes whose time is kept. `watch_flush` is asked soon after the frame was sent."""


class FlushTimes:
    """Times at which the terminal received the sent texts.

    The app's thread sends texts, and another thread may write them. Texts count from 1.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.n_sent = 0
        self._clock = clock
        self._lock = threading.Lock()
        self._flushes: deque[tuple[int, float]] = deque(maxlen=MAX_FLUSHES)
        """(number of the last flushed text, time of the flush), oldest first."""

    def record_flush(self, n_written: int) -> None:
        """Record that the terminal has just received all texts up to this number."""
        with self._lock:
            self._flushes.append((n_written, self._clock()))

    def find_time(self, number: int) -> float:
        """Return when the terminal received the text with this number. Infinity if it has not."""
        with self._lock:
            for n_written, time in self._flushes:
                if n_written >= number:
                    return time
        return inf


def watch_flush(driver: Driver | None, clock: Callable[[], float]) -> Callable[[], float]:
    """Return a function that returns when the terminal received the last text that was sent until
    now. Infinity if it has not received it. Without a terminal, that is now, by `clock`.
    """
    if isinstance(driver, ScreenDiffDriver):
        return partial(driver.flush_times.find_time, driver.flush_times.n_sent)
    now = clock()
    return lambda: now


class ScreenDiffDriver(Driver):
    """Driver that reduces its output. A subclass combines it with a driver that writes, and records
    the flushes.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._screen_diff = ScreenDiff()
        self.flush_times = FlushTimes()

    def reset_screen(self, columns: int, rows: int) -> None:
        """Set the size of the terminal, and send the next frame as a whole."""
        self._screen_diff.size = columns, rows
        self._screen_diff.forget_content()

    def write(self, data: str) -> None:
        if output := self._screen_diff.reduce_frame(data):
            self.flush_times.n_sent += 1
            super().write(output)  # type: ignore[safe-super]  # the other base class writes


class TerminalFile:
    """Text file of the terminal that drops its output after the terminal is lost.

    An error would end Textual's thread for output, and the app would wait for this thread when it
    quits.
    """

    def __init__(self, file: TextIO, flush_times: FlushTimes | None = None) -> None:
        self._file = file
        self._flush_times = flush_times
        self._n_written = 0

    def write(self, text: str) -> None:
        self._n_written += 1
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()
        if self._flush_times is not None:
            self._flush_times.record_flush(self._n_written)

    def fileno(self) -> int:
        return self._file.fileno()


MODES_AFTER_CONTINUE = "\x1b[?2004h\x1b[?25l\x1b[?7l"
"""Bracketed paste on, cursor hidden, line wrap off: modes that a shell changes for its prompt."""


class CompactDriver(ScreenDiffDriver, LinuxDriver):
    """Textual's driver for terminals, with reduced output.

    After SIGTSTP (Ctrl+Z), Textual gives the terminal back and takes it again on SIGCONT. Textual
    takes it on *every* SIGCONT, also after SIGSTOP or a debugger, and then a second thread reads
    keys. This driver takes the terminal only if it was given back, and otherwise repairs the modes
    and the screen.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file = cast(Any, TerminalFile(cast(TextIO, self._file), self.flush_times))
        self._screen_diff.erases = can_erase_with_background()
        self._raw_attributes: list[Any] | None = None
        self._is_suspended = False
        self._is_resuming = False
        self._must_try_to_resume = False

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        with contextlib.suppress(termios.error):
            self._raw_attributes = termios.tcgetattr(self.fileno)

    def _sigtstp_application(self, *args: Any) -> None:
        """Replace Textual's handler of SIGTSTP."""
        if self._is_suspended:
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        self._is_suspended = self._auto_restart
        super()._sigtstp_application(*args)

    def _sigcont_application(self, *_: Any) -> None:
        """Replace Textual's handler of SIGCONT."""
        if not self._is_suspended and not self._is_resuming:
            # A signal handler must not write, because the interrupted code may hold the lock of
            # the output. The event loop may have closed already.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._repair_terminal)
            return

        # In the background, Textual fails to take the terminal, and stops the process again. The
        # next SIGCONT then arrives inside the call of `resume_application_mode`.
        self._must_try_to_resume = True
        if self._is_resuming:
            return
        self._is_resuming = True
        try:
            while self._is_suspended and self._must_try_to_resume:
                self._must_try_to_resume = False
                self.resume_application_mode()
                self._is_suspended = not self._has_terminal
        finally:
            self._is_resuming = False

    @property
    def _has_terminal(self) -> bool:
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def _repair_terminal(self) -> None:
        """Restore the modes and the screen after the shell used the terminal."""
        if not self._has_terminal or self._raw_attributes is None:
            return
        with contextlib.suppress(OSError, termios.error):
            is_in_foreground = os.tcgetpgrp(self.fileno) == os.getpgrp()
            if is_in_foreground:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self._raw_attributes)
                self.write(MODES_AFTER_CONTINUE)
                # The size may have changed. After a new size, the app sends the whole screen.
                os.kill(os.getpid(), signal.SIGWINCH)


def can_erase_with_background() -> bool:
    """Whether the terminal erases cells (ECH) with the selected background, according to its
    terminfo entry.
    """
    try:
        import curses
    except ImportError:
        return False
    try:
        curses.setupterm(fd=1)
    except curses.error:
        return False
    return curses.tigetflag("bce") > 0 and curses.tigetstr("ech") == b"\x1b[%p1%dX"


class PacketWriter:
    """Writes packets to a pipe, one after the other.

    The thread that reads keys also sends the chunks of downloads. A chunk does not fit the pipe, so
    that without a lock, a frame of another thread could be written into its middle.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, packet: bytes) -> int:
        """Write a packet, and return the number of written bytes: less if the server has ended."""
        n_written = 0
        with self._lock:
            while n_written < len(packet):
                try:
                    n_written += os.write(self._descriptor, packet[n_written:])
                except BrokenPipeError:  # the input ends too, and then the app quits
                    break
        return n_written


class PacketDriver(WebDriver):
    """Textual's driver for browsers. If the server ends, the app quits as after SIGTERM."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._write = cast(Any, PacketWriter(self.fileno).write)

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGTERM)


class CompactWebDriver(ScreenDiffDriver, PacketDriver):
    """`PacketDriver` with reduced output."""

    def write(self, data: str) -> None:
        super().write(data)
        self.flush_times.record_flush(self.flush_times.n_sent)
