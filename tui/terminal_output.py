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


class GraphicState(NamedTuple):
    """Colours and attributes of text, as SGR parameters (ECMA-48)."""

    foreground: str
    """Empty for the terminal's default colour."""
    background: str
    """Empty for the terminal's default colour."""
    attributes: frozenset[str]


RESET = GraphicState(foreground="", background="", attributes=frozenset())
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
DEFAULT_FOREGROUND = "39"
DEFAULT_BACKGROUND = "49"
LONG_JUMP = 7
"""Length, in bytes, of a typical cursor movement to another row and column."""
_MAX_ROWS_DOWN = 4
"""Maximum number of rows that the cursor moves down with one byte for each row."""


class Cell(NamedTuple):
    """Cell of the screen. A blank has no foreground colour and no attributes, unless its attributes
    are visible.
    """

    text: str
    """Character with its combining characters. Empty in the second cell of a wide character."""
    state: GraphicState


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
    """Return the escape sequence that changes the colours and attributes of the text that follows.

    `before` is the state of the terminal, or None if it is unknown. The sequence (SGR) is a list of
    codes: those of the attributes, then those of the two colours.
    """
    if before == after:
        return ""
    if after == RESET:
        return "\x1b[0m"

    codes = []
    known_state = before
    if known_state is None:
        # Code 0 resets everything.
        codes.append("0")
        known_state = RESET
    codes += _list_attribute_codes(known_state.attributes, after.attributes)
    if known_state.foreground != after.foreground:
        codes.append(after.foreground or DEFAULT_FOREGROUND)
    if known_state.background != after.background:
        codes.append(after.background or DEFAULT_BACKGROUND)
    return f"\x1b[{';'.join(codes)}m"


def _list_attribute_codes(before: frozenset[str], after: frozenset[str]) -> list[str]:
    """Return the codes that switch attributes off, then those that switch attributes on."""
    off_codes = {_OFF_CODES[attribute] for attribute in before - after}
    # A code can switch off a second attribute too (22: bold and dim). If that one should stay, it
    # must be switched on again.
    still_on = {attribute for attribute in before if _OFF_CODES[attribute] not in off_codes}
    on_codes = after - still_on
    return [*sorted(off_codes), *sorted(on_codes)]


def _is_blank(cell: Cell | None) -> bool:
    return cell is not None and cell.text == " " and not cell.state.attributes


def _can_draw(state: GraphicState, cell: Cell | None) -> bool:
    """Whether the cell looks right if its character is written in the graphic state `state`."""
    if cell is None:
        return False
    if cell.state == state:
        return True
    if not _is_blank(cell) or state.attributes & VISIBLE_ON_BLANKS:
        return False
    # Of a blank, only the background is visible.
    return cell.state.background == state.background


@dataclass
class _CellRun:
    """Adjacent cells of a row that can be written in one graphic state."""

    row: int
    first: int
    end: int
    state: GraphicState
    has_text: bool = False
    """Whether any cell is not blank."""

    @classmethod
    def of_cell(cls, row: int, index: int, cell: Cell) -> _CellRun:
        """Return a run of one cell, the cell at `index`."""
        has_text = not _is_blank(cell)
        return cls(row, first=index, end=index + 1, state=cell.state, has_text=has_text)

    def try_to_add(self, index: int, cell: Cell) -> bool:
        """Add the cell at `index` if it continues the run. Return whether it was added.

        A run is a number of adjacent cells that can be written in one graphic state, which is a
        combination of colours and attributes.
        """
        if index != self.end:
            return False

        if not _can_draw(self.state, cell):
            # A run of blanks takes the state of its first text, if that state can draw the blanks.
            can_change_state = not self.has_text and _can_draw(cell.state, Cell(" ", self.state))
            if not can_change_state:
                return False
            self.state = cell.state

        self.end = index + 1
        if not _is_blank(cell):
            self.has_text = True
        return True


def _split_into_runs(row: ChangedRow) -> list[_CellRun]:
    """Divide the changed cells of a row into runs: adjacent cells that one graphic state can
    draw.
    """
    runs: list[_CellRun] = []
    for index in row.changed:
        cell = row.cells[index]
        # The content of this cell is unknown, so it cannot be written.
        if cell is None:
            continue
        if runs:
            is_added = runs[-1].try_to_add(index, cell)
            if is_added:
                continue
        runs.append(_CellRun.of_cell(row.number, index, cell))
    return runs


def _choose_state_for_blanks(
    blanks: _CellRun, text_runs: dict[GraphicState, list[_CellRun]]
) -> GraphicState:
    """Return the graphic state (colours and attributes) in which to write blanks.

    A blank looks the same in many states. A state in which text of the same row is written saves a
    change of state. Otherwise, the most frequent state is the best one.
    """

    blank = Cell(" ", blanks.state)
    fitting_states = [state for state in text_runs if _can_draw(state, blank)]

    def rank(state: GraphicState) -> tuple[bool, int]:
        runs = text_runs[state]
        has_text_in_row = any(run.row == blanks.row for run in runs)
        return has_text_in_row, len(runs)

    return max(fitting_states, key=rank, default=blanks.state)


def _group_runs_by_state(
    changed_rows: Sequence[ChangedRow],
) -> dict[GraphicState, list[_CellRun]]:
    """Group the runs of changed cells by the graphic state in which to write them.

    All runs of one state are written together, so that the state changes only once.
    """
    runs_by_state: dict[GraphicState, list[_CellRun]] = {}
    blank_runs: list[_CellRun] = []
    for row in changed_rows:
        for run in _split_into_runs(row):
            if run.has_text:
                runs_by_state.setdefault(run.state, []).append(run)
            else:
                blank_runs.append(run)

    # Blanks look the same in many states, so they get a state that some text needs anyway. All
    # choices are made before the first blanks are added to the runs with text.
    states_for_blanks = [_choose_state_for_blanks(run, runs_by_state) for run in blank_runs]
    for run, state in zip(blank_runs, states_for_blanks, strict=True):
        runs_by_state.setdefault(state, []).append(run)
    return runs_by_state


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
        reset = format_sgr_transition(self._state, RESET)
        return "".join(self._parts) + reset + cursor_movement

    def write_span(self, row: int, column: int, cells: Sequence[Cell]) -> None:
        """Write cells from left to right.

        The width of their characters may differ between terminals.
        """
        self._move_cursor(row, column)
        for cell in cells:
            if self._state is None or not _can_draw(self._state, cell):
                self._select_state(cell.state)
            self._parts.append(cell.text)
        self._column = None

    def write_changes(self, changed_rows: Sequence[ChangedRow]) -> None:
        """Write the changed cells in any order.

        Neither the old nor the new cells may contain wide characters.
        """
        rows = {row.number: row.cells for row in changed_rows}
        runs_by_state = _group_runs_by_state(changed_rows)
        while runs_by_state:
            state = min(runs_by_state, key=self._rank_next_state)
            ranges = self._join_runs(state, runs_by_state.pop(state), rows)
            self._write_ranges(state, ranges, rows)

    def _write_ranges(
        self, state: GraphicState, ranges: Sequence[CellRange], rows: dict[int, Row]
    ) -> None:
        """Write ranges of cells, which are sorted by position, in one graphic state."""
        remaining = list(ranges)
        while remaining:
            nearest = remaining.pop(self._find_nearest_range(remaining))
            self._move_cursor(nearest.row, nearest.first)
            self._select_state(state)
            self._write_range(rows[nearest.row], nearest.first, nearest.end)

    def _rank_next_state(self, state: GraphicState) -> tuple[bool, int, str, list[str]]:
        """Return a sort key that is lowest for the graphic state that is cheapest to select
        next.
        """
        current = self._state or RESET
        has_other_background = state.background != current.background
        n_bytes = len(format_sgr_transition(self._state, state))
        return has_other_background, n_bytes, state.foreground, sorted(state.attributes)

    def _join_runs(
        self, state: GraphicState, runs: list[_CellRun], rows: dict[int, Row]
    ) -> list[CellRange]:
        """Return the cells that are written in one state, as ranges from top left to bottom right.

        Two runs are joined to one range if writing the cells between them takes no more bytes than
        moving the cursor over them.
        """
        ranges: list[CellRange] = []
        for run in sorted(runs, key=lambda run: (run.row, run.first)):
            if ranges and self._can_join(ranges[-1], run, state, rows):
                ranges[-1] = ranges[-1]._replace(end=run.end)
            else:
                ranges.append(CellRange(run.row, first=run.first, end=run.end))
        return ranges

    def _can_join(
        self, cell_range: CellRange, run: _CellRun, state: GraphicState, rows: dict[int, Row]
    ) -> bool:
        """Whether a later run belongs to the range before it, because both are in one row and near
        each other.
        """
        if cell_range.row != run.row:
            return False
        return self._is_cheaper_than_jump(state, rows[run.row], cell_range.end, run.first)

    def _is_cheaper_than_jump(self, state: GraphicState, row: Row, first: int, end: int) -> bool:
        """Whether writing the cells from `first` to `end` takes no more bytes than moving the
        cursor over them.

        They are between two ranges of changed cells, so that each side has a neighbour. They can be
        written only if they look right in this graphic state.
        """
        cells = []
        for cell in row[first:end]:
            if cell is None or not _can_draw(state, cell):
                return False
            cells.append(cell)

        # Blanks beside blanks of a range are erased by the same sequence, which gets at most a
        # digit longer.
        are_blank = all(_is_blank(cell) for cell in cells)
        continues_blanks = _is_blank(row[first - 1]) or _is_blank(row[end])
        if self._erases and are_blank and continues_blanks:
            return True

        text = "".join(cell.text for cell in cells)
        jump = f"\x1b[{end - first}C"
        return len(text.encode()) <= len(jump)

    def _select_state(self, state: GraphicState) -> None:
        self._parts.append(format_sgr_transition(self._state, state))
        self._state = state

    def _find_nearest_range(self, ranges: Sequence[CellRange]) -> int:
        """Return the index of the range that the cursor reaches with the fewest bytes.

        The ranges are sorted, and only those up to the next row are compared. If all of them are
        far away, the first range is next.
        """
        nearest = 0
        fewest_bytes = LONG_JUMP
        for index, cell_range in enumerate(ranges):
            if cell_range.row > self._row + 1:
                break
            n_bytes = len(self._format_cursor_movement(cell_range.row, cell_range.first))
            if n_bytes < fewest_bytes:
                nearest = index
                fewest_bytes = n_bytes
        return nearest

    def _move_cursor(self, row: int, column: int) -> None:
        self._parts.append(self._format_cursor_movement(row, column))
        self._row = row
        self._column = column

    def _format_cursor_movement(self, row: int, column: int) -> str:
        """Return the shortest sequence that moves the cursor to a row and a column.

        There are up to three ways: to an absolute position, to a column of the same row, or down
        and sideways. VT (`\\v`) moves the cursor down one row, as LF does, but the terminal driver
        adds no CR to VT.
        """
        ways = [f"\x1b[{row};{column + 1}H"]
        if self._row == row:
            ways.append(f"\x1b[{column + 1}G")

        rows_down = row - self._row
        if self._column is not None and 0 <= rows_down <= _MAX_ROWS_DOWN:
            sideways = _format_sideways_movement(column - self._column)
            ways.append("\v" * rows_down + sideways)
        return min(ways, key=len)

    def _write_range(self, row: Row, first: int, end: int) -> None:
        """Write cells in the selected graphic state, and note where the cursor is then.

        Blanks are erased instead of written if that is shorter.
        """
        # At the right margin, the column of the cursor depends on the terminal.
        self._column = end if end < len(row) else None
        cells = [cell for cell in row[first:end] if cell is not None]
        state = self._state or RESET
        can_erase = self._erases and not state.attributes & VISIBLE_ON_BLANKS
        if not can_erase:
            self._parts.append("".join(cell.text for cell in cells))
            return

        groups = [list(group) for _, group in itertools.groupby(cells, key=_is_blank)]
        for index, adjacent_cells in enumerate(groups):
            if _is_blank(adjacent_cells[0]):
                is_last = index == len(groups) - 1
                self._write_blanks(row, end, len(adjacent_cells), is_last=is_last)
            else:
                self._parts.append("".join(cell.text for cell in adjacent_cells))

    def _write_blanks(self, row: Row, end: int, n_blanks: int, *, is_last: bool) -> None:
        """Write or erase adjacent blanks. The arguments are those of `_format_blanks`."""
        blanks = self._format_blanks(row, end, n_blanks, is_last=is_last)
        self._parts.append(blanks)
        is_erased = not blanks.isspace()
        if is_last and is_erased:
            # Erasing (ECH, EL) does not move the cursor, so it is before the blanks.
            self._column = end - n_blanks

    def _format_blanks(self, row: Row, end: int, n_blanks: int, *, is_last: bool) -> str:
        """Return spaces or sequences that draw adjacent blanks, whichever takes fewer bytes.

        Args:
            end: Column at which the range of cells with these blanks ends.
            is_last: Whether no text follows in the range, so that the cursor need not move behind
                the blanks.
        """
        # `X` erases from the cursor on, `C` moves the cursor to the right, `K` erases to the end of
        # the line.
        if not is_last:
            erasure = f"\x1b[{n_blanks}X\x1b[{n_blanks}C"
        elif self._can_erase_to_end_of_line(row, end):
            erasure = "\x1b[K"
        else:
            erasure = f"\x1b[{n_blanks}X"
        return erasure if len(erasure) < n_blanks else " " * n_blanks

    def _can_erase_to_end_of_line(self, row: Row, end: int) -> bool:
        """Whether all cells from `end` on look as if they were erased now."""
        if len(row) != self._columns:
            return False
        background = (self._state or RESET).background
        erased = GraphicState("", background=background, attributes=RESET.attributes)
        return all(_can_draw(erased, cell) for cell in row[end:])


def _format_sideways_movement(n_columns: int) -> str:
    """Return the shortest sequence that moves the cursor to the right, or to the left if
    `n_columns` is negative.
    """
    if n_columns == 0:
        return ""
    if n_columns == 1:
        return "\x1b[C"
    if n_columns > 1:
        return f"\x1b[{n_columns}C"
    backspaces = "\b" * -n_columns
    return min(backspaces, f"\x1b[{-n_columns}D", key=len)


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
    """Return the graphic state after an SGR sequence, which changes colours and attributes.

    `parameters`: the codes of the sequence, such as `1;38;2;255;0;0`. None if a code is not
    supported.
    """
    foreground, background, attributes = state
    remaining = parameters.split(";")
    while remaining:
        # 1, 01 and 001 are the same parameter. 0 and an empty parameter are a reset.
        number = remaining[0].lstrip("0")
        # A colour takes several codes, such as `38;2;255;0;0`.
        length = _measure_sgr_command(number, remaining)
        if length is None:
            return None
        colour = ";".join(remaining[:length])

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
        remaining = remaining[length:]
    return GraphicState(foreground, background=background, attributes=attributes)


def _measure_sgr_command(number: str, parameters: Sequence[str]) -> int | None:
    """Return how many of the parameters form the first command of an SGR sequence.

    `number`: the first parameter, without leading zeros. A colour takes several parameters. Returns
    None for a colour in an unknown notation.
    """
    if number not in ("38", "48"):
        return 1
    if len(parameters) < 2:
        return None
    _, notation, *_ = parameters
    return _COLOUR_LENGTHS.get(notation)


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
        """Begin with unknown contents of the terminal, so that all cells are sent once."""
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

        A frame is what Textual writes to draw changed parts of the screen: spans of cells. Only the
        cells that really differ from the screen are sent. Output that is no frame is returned
        unchanged.
        """
        # The choice of a mode, such as reports of the mouse, changes no cell.
        if _MODE.fullmatch(text):
            return text
        frame = _parse_frame(text)
        if frame is None or self._exceeds_screen(frame.spans):
            # It is unknown what this output draws.
            self.forget_content()
            return text

        # Copy the rows, because storing the spans changes them.
        old_rows = {span.row: list(self._rows.get(span.row, ())) for span in frame.spans}
        rows_in_order = self._store_and_find_rows_in_order(frame.spans)

        writer = CellWriter(self._n_columns, erases=self.erases)
        # Rows with characters of uncertain width are sent whole, in Textual's order.
        for span in frame.spans:
            if span.row in rows_in_order:
                writer.write_span(span.row, span.column - 1, span.cells)
        # Of the other rows, only the changed cells are sent.
        comparable_rows = {row: old_rows[row] for row in old_rows if row not in rows_in_order}
        self._write_changes(writer, comparable_rows)
        return writer.finish(frame.cursor_movement)

    @property
    def _n_columns(self) -> int | None:
        """Number of columns of the terminal. None if unknown."""
        if self.size is None:
            return None
        columns, _ = self.size
        return columns

    def _store_and_find_rows_in_order(self, spans: Sequence[Span]) -> set[int]:
        """Store the spans in the model. Return the numbers of their rows whose cells must be
        written in Textual's order.
        """
        rows_in_order = self._shifting_rows & {span.row for span in spans}
        for span in spans:
            has_free_order = self._store_and_check_free_order(span)
            if not has_free_order:
                rows_in_order.add(span.row)
        return rows_in_order

    def _write_changes(self, writer: CellWriter, old_rows: dict[int, list[Cell | None]]) -> None:
        """Write the cells that differ from the old rows.

        Ranges with wide characters come first, because they must be written from left to right.
        """
        changed_rows: list[ChangedRow] = []
        for number, old_cells in old_rows.items():
            new_cells = self._rows[number]
            changes = _split_changes(old_cells, new_cells)
            for first, end in changes.wide_ranges:
                cells = [cell for cell in new_cells[first:end] if cell is not None]
                writer.write_span(number, first, cells)
            changed_rows.append(ChangedRow(number, cells=new_cells, changed=changes.narrow_indexes))
        writer.write_changes(changed_rows)

    def _exceeds_screen(self, spans: list[Span]) -> bool:
        """Whether a frame is larger than the terminal.

        Textual draws such a frame after the terminal has shrunk.
        """
        columns, rows = self.size or (MAX_CELLS, MAX_CELLS)
        return any(span.row > rows or span.column - 1 + len(span.cells) > columns for span in spans)

    def _store_and_check_free_order(self, span: Span) -> bool:
        """Store a span of cells, and return whether the cells of its row may be written in any
        order.

        They may not if the span has a character whose width differs between terminals, or
        overwrites half of a wide character. They are then written in the order in which Textual
        wrote them.
        """
        row = self._rows.setdefault(span.row, [])
        start = span.column - 1
        end = start + len(span.cells)
        cuts_wide_character = _replace_cells(row, start, span.cells)

        # A character that is wider in the terminal than expected shifts the rest of its row, also
        # in later frames, until a span without such characters covers the whole row.
        has_certain_width = _has_certain_width(span)
        covers_row = start == 0 and end == len(row)
        if not has_certain_width:
            self._shifting_rows.add(span.row)
        elif covers_row:
            self._shifting_rows.discard(span.row)
        return has_certain_width and not cuts_wide_character


def _replace_cells(row: list[Cell | None], start: int, new_cells: Sequence[Cell]) -> bool:
    """Replace cells of a row, which grows if needed. Return whether a wide character was cut.

    A wide character has two cells. If only one of them is overwritten, terminals differ in what the
    other one shows, so its content becomes unknown (None).
    """
    end = start + len(new_cells)
    n_missing = max(end - len(row), 0)
    row.extend([None] * n_missing)

    # The halves that stay are before the first new cell, and after the last one.
    cut_halves = []
    if _is_second_half(row, start):
        cut_halves.append(start - 1)
    if _is_second_half(row, end):
        cut_halves.append(end)
    row[start:end] = new_cells
    for index in cut_halves:
        row[index] = None
    return bool(cut_halves)


def _has_certain_width(span: Span) -> bool:
    """Whether all terminals draw the cells of a span with the same width."""
    return span.is_narrow or all(_CERTAIN.fullmatch(cell.text) for cell in span.cells)


class Frame(NamedTuple):
    spans: list[Span]
    cursor_movement: str
    """The last movement of the cursor."""


def _parse_frame(text: str) -> Frame | None:
    """Parse what Textual writes to draw parts of the screen: spans of cells, and a last cursor
    position.

    Each movement of the cursor begins a span. The text after it and after the following changes of
    colours and attributes is drawn there. A span without text only moves the cursor. None if the
    text contains anything else.
    """
    commands = _split_into_commands(text)
    if not commands:
        return None

    spans: list[Span] = []
    state = RESET
    cursor_movement = ""
    for command in commands:
        # `H` moves the cursor to a position, `m` sets colours and attributes.
        if command.letter == "H":
            spans.append(_start_span(command.parameters))
            cursor_movement = f"\x1b[{command.parameters}H"
        elif command.letter == "m":
            next_state = _apply_sgr(state, command.parameters)
            if next_state is None:
                return None
            state = next_state
        else:
            return None

        if command.text:
            has_position = bool(spans)
            if not has_position or not command.text.isprintable():
                return None
            spans[-1] = _extend_span(spans[-1], command.text, state)
    return Frame(spans, cursor_movement)


class _Command(NamedTuple):
    """A control sequence, and the text that the terminal draws after it."""

    parameters: str
    letter: str
    text: str


def _split_into_commands(output: str) -> list[_Command]:
    """Split output into its control sequences, each with the text that follows it.

    Empty if the output does not begin with a control sequence.
    """
    text_before, *pieces = _CONTROL.split(output)
    if text_before:
        return []

    # `split` returns the parameters, the letter and the text of each sequence in turn.
    commands = []
    for parameters, letter, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        # A line feed at the end of a row draws nothing, because the next row begins with `H`.
        commands.append(_Command(parameters, letter, text.removesuffix("\n")))
    return commands


def _start_span(parameters: str) -> Span:
    """Return an empty span at the position to which `H` moves the cursor: `ROW;COLUMN`."""
    row, _, column = parameters.partition(";")
    # An omitted number is 1.
    return Span(int(row or 1), column=int(column or 1), cells=[], is_narrow=True)


def _extend_span(span: Span, text: str, state: GraphicState) -> Span:
    """Add a text in one graphic state to the cells of a span."""
    is_narrow = _NARROW.fullmatch(text) is not None
    if is_narrow:
        span.cells.extend(_make_cell(char, state) for char in text)
    else:
        span.cells.extend(_make_cells_of_any_width(text, state))
    return span._replace(is_narrow=span.is_narrow and is_narrow)


def _make_cell(char: str, state: GraphicState) -> Cell:
    if char == " " and not state.attributes & VISIBLE_ON_BLANKS:
        return Cell(" ", RESET._replace(background=state.background))
    return Cell(char, state)


def _make_cells_of_any_width(text: str, state: GraphicState) -> list[Cell]:
    """Return the cells of a text. The second cell of a wide character has no text."""
    cells: list[Cell] = []
    for char in text:
        width = display_width(char)
        if width == 0 and cells:
            # A combining character belongs to the character before it, whose second cell is empty
            # if it is wide.
            last_cell_is_second_half = not cells[-1].text
            index = -2 if last_cell_is_second_half else -1
            cells[index] = Cell(cells[index].text + char, state)
            continue
        cells.append(_make_cell(char, state))
        if width > 1:
            cells.append(Cell("", state))
    return cells


def _is_second_half(row: list[Cell | None], index: int) -> bool:
    """Whether a cell is the second cell of a wide character."""
    if index >= len(row):
        return False
    return _is_second_cell(row[index])


def _is_second_cell(cell: Cell | None) -> bool:
    return cell is not None and not cell.text


class RowChanges(NamedTuple):
    """Changed cells of a row."""

    wide_ranges: list[tuple[int, int]]
    """(first, end) of the ranges with a wide character in the old or new row."""
    narrow_indexes: list[int]
    """Indexes of all other changed cells."""


def _split_changes(before: list[Cell | None], after: list[Cell | None]) -> RowChanges:
    """Find the cells of a row that changed. Cells with wide characters are returned as ranges.

    Both cells of a wide character change together. Such a range must be written from left to right,
    because terminals differ in what they do to one cell of a character when the other one is
    overwritten.
    """
    if before == after:
        return RowChanges([], [])

    cell_pairs = list(zip_longest(before, after))
    changed_indexes = _find_changed_indexes(cell_pairs)
    # A change is wide if the old or the new character has a second cell.
    wide_indexes = set()
    for index in changed_indexes:
        old, new = cell_pairs[index]
        if _is_second_cell(old) or _is_second_cell(new):
            wide_indexes.add(index)
    return _group_changes(changed_indexes, wide_indexes)


def _find_changed_indexes(cell_pairs: Sequence[tuple[Cell | None, Cell | None]]) -> list[int]:
    """Return the indexes of the cells to draw, given the (old, new) cells of a row.

    The second cell of a wide character changes with its first cell, which comes before it.
    """
    changed_indexes = []
    is_previous_changed = False
    for index, (old, new) in enumerate(cell_pairs):
        is_changed = old != new or (is_previous_changed and _is_second_cell(new))
        if is_changed:
            changed_indexes.append(index)
        is_previous_changed = is_changed
    return changed_indexes


def _group_changes(changed: Sequence[int], wide: set[int]) -> RowChanges:
    """Divide the changed cells of a row into ranges that contain wide characters, and the other
    cells.

    `wide`: indexes of the second cells of wide characters.
    """
    if not wide:
        return RowChanges([], list(changed))

    wide_ranges = []
    narrow_indexes: list[int] = []
    for first, end in _join_indexes(changed):
        indexes = range(first, end)
        if wide.isdisjoint(indexes):
            narrow_indexes += indexes
        else:
            wide_ranges.append((first, end))
    return RowChanges(wide_ranges, narrow_indexes)


def _join_indexes(indexes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the (first, end) ranges of adjacent indexes: (1, 3) and (5, 6) for 1, 2, 5."""
    all_indexes = set(indexes)
    starts = [index for index in indexes if index - 1 not in all_indexes]
    ends = [index + 1 for index in indexes if index + 1 not in all_indexes]
    return list(zip(starts, ends, strict=True))


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
    """Return a function that returns the time at which the terminal received the latest output.

    The latest output is what the app had sent when `watch_flush` was called. The time is infinity
    as long as the terminal has not received it. Without a terminal, it is the time of the call.
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
        """Attributes of the terminal while the app uses it."""

        self._is_suspended = False
        """Whether the terminal was given back after Ctrl+Z."""
        self._is_resuming = False
        """Whether `_take_terminal_back` is running."""
        self._must_try_to_resume = False
        """Whether SIGCONT arrived since the last attempt to take the terminal."""

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
        """Handle SIGCONT, with which the shell continues the app. Replaces Textual's handler."""
        if self._is_suspended or self._is_resuming:
            self._take_terminal_back()
            return

        # The app still has the terminal, for example after SIGSTOP, so its modes are repaired. A
        # signal handler must not write itself, because the interrupted code may hold the lock of
        # the output. The event loop may have closed already.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._repair_terminal)

    def _take_terminal_back(self) -> None:
        """Take the terminal, which Ctrl+Z gave back to the shell.

        In the background, this fails: inside `resume_application_mode`, Textual stops the process
        again. The next SIGCONT then calls this method while its first call still runs. The second
        call only notes that the first one must try once more.
        """
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
    """Whether the terminal erases cells (ECH) with the selected background.

    The terminfo entry of the terminal says so.
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
    """Writer that sends packets to a pipe, each in one piece.

    Several threads send packets: frames of the screen, and chunks of downloads. A lock is needed
    because a chunk does not fit into the pipe at once, so a frame could be written into the middle
    of it.
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
                except BrokenPipeError:
                    # The input ends too, and then the app quits.
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
