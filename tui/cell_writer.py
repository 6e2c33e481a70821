"""Write changed cells to a terminal with few bytes: select each graphic state once per frame, and move the cursor."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

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
"""Length in bytes of a jump to any row and column."""
_MAX_ROWS_DOWN = 4
"""Maximum number of rows to move down with one byte a row."""

Cell = tuple[str, GraphicState]
"""(character, graphic state) of a cell. The character is empty in the second cell of a wide character.

A blank has no foreground colour and no attributes, unless its attributes are visible.
"""
Row = Sequence[Cell | None]
ChangedRow = tuple[int, Row, Sequence[int]]
"""(number from 1, all cells, indexes of the changed cells) of a row."""


def transition(before: GraphicState | None, after: GraphicState) -> str:
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
    """Whether the character of a cell, written with `state`, draws the cell."""
    if cell is None or cell[1] == state:
        return cell is not None
    return _is_blank(cell) and cell[1][1] == state[1] and not state[2] & VISIBLE_ON_BLANKS


@dataclass
class _Run:
    """Neighbouring cells of a row that one graphic state draws."""

    number: int
    first: int
    end: int
    state: GraphicState
    has_text: bool = False

    def add(self, at: int, cell: Cell) -> bool:
        """Add a cell. Return whether it belongs to the run."""
        if at != self.end:
            return False
        if not _is_drawn_by(self.state, cell):
            if self.has_text or not _is_drawn_by(cell[1], (" ", self.state)):
                return False
            self.state = cell[1]
        self.end = at + 1
        self.has_text = self.has_text or not _is_blank(cell)
        return True


def _split(number: int, row: Row, changed: Sequence[int]) -> list[_Run]:
    """Return the runs of the changed cells of a row."""
    runs: list[_Run] = []
    for at in changed:
        cell = row[at]
        if cell is not None and not (runs and runs[-1].add(at, cell)):
            runs.append(_Run(number, at, at + 1, cell[1], not _is_blank(cell)))
    return runs


def _state_for_blanks(blanks: _Run, groups: dict[GraphicState, list[_Run]]) -> GraphicState:
    """Return the graphic state to write blanks with: that of text in the same row if it draws the blanks, else the most
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
        """Column of the cursor from 0. None if unknown."""

    def finish(self, cursor: str) -> str:
        """Return the output, followed by `cursor`. Return an empty text if nothing was written."""
        if self._state is None:
            return ""
        return "".join([*self.parts, transition(self._state, RESET), cursor])

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
            for run in _split(number, row, changed):
                (groups.setdefault(run.state, []) if run.has_text else blanks).append(run)
        for run, state in [(run, _state_for_blanks(run, groups)) for run in blanks]:
            groups.setdefault(state, []).append(run)
        while groups:
            state = min(groups, key=self._distance)
            runs = groups.pop(state)
            joined = self._join(state, runs, rows)
            while joined:
                number, first, end = joined.pop(self._nearest(joined))
                self._move(number, first)
                self._select(state)
                self._write_run(rows[number], first, end)

    def _distance(self, state: GraphicState) -> tuple[bool, int, str, list[str]]:
        """Return a sort key: the cost of selecting a graphic state next."""
        background = (self._state or RESET)[1]
        return state[1] != background, len(transition(self._state, state)), state[0], sorted(state[2])

    def _join(self, state: GraphicState, runs: list[_Run], rows: dict[int, Row]) -> list[tuple[int, int, int]]:
        """Return (row, first, end) of runs, joined if the cells between them take no more bytes than a jump."""
        joined: list[tuple[int, int, int]] = []
        for run in sorted(runs, key=lambda run: (run.number, run.first)):
            first = run.first
            if joined and joined[-1][0] == run.number:
                row, (_, before, end) = rows[run.number], joined[-1]
                if self._is_cheap(state, row, end, first):
                    joined.pop()
                    first = before
            joined.append((run.number, first, run.end))
        return joined

    def _is_cheap(self, state: GraphicState, row: Row, first: int, end: int) -> bool:
        cells = [cell for cell in row[first:end] if cell is not None and _is_drawn_by(state, cell)]
        if len(cells) < end - first:
            return False
        if self._erases and all(map(_is_blank, cells)) and (_is_blank(row[first - 1]) or _is_blank(row[end])):
            return True
        return len("".join(cell[0] for cell in cells).encode()) <= len(f"\x1b[{end - first}C")

    def _select(self, state: GraphicState) -> None:
        self.parts.append(transition(self._state, state))
        self._state = state

    def _nearest(self, runs: Sequence[tuple[int, int, int]]) -> int:
        """Return the index of the run in this row or the next with the shortest jump, or else of the first run."""
        near = itertools.takewhile(lambda index: runs[index][0] <= self._row + 1, range(len(runs)))
        index = min(near, key=lambda index: len(self._jump(*runs[index][:2])), default=0)
        return index if len(self._jump(*runs[index][:2])) < LONG_JUMP else 0

    def _move(self, row: int, column: int) -> None:
        self.parts.append(self._jump(row, column))
        self._row, self._column = row, column

    def _jump(self, row: int, column: int) -> str:
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
