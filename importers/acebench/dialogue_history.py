"""Parse the dialogue histories of agent items: text tables with the messages of a dialogue and the
results of calls.

The official runner writes a row with the number, the sender and the recipient of a message, and its
content:

* Without line breaks, the content is cut into pieces of 120 characters. The first three columns of
  further pieces are blank.
* With line breaks, the content stands in one cell, and its lines follow each other without any
  columns. It can contain lines that look like a table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MESSAGE_ROW = re.compile(
    r"\|\s*(?P<index>\d{1,9})\s*\|\s*(?P<sender>[^\s|]+)\s*\|\s*(?P<recipient>[^\s|]+)\s*\|(?P<cell>.*)"
)
_FURTHER_ROW = re.compile(r"\|\s+\|\s+\|\s+\|(?P<cell>.*)")
_SEPARATOR = re.compile(r"\|-+\|-+\|-+\|-+\|\s*")
_HEADING = re.compile(r"\|\s*message_index\s*\|")
_SPEAKERS = ("user", "agent", "execution")
_SPACED_ERROR = re.compile(r"E r r o r\s+d u r i n g")


@dataclass(slots=True)
class HistoryMessage:
    sender: str
    recipient: str
    content: str


@dataclass(slots=True)
class DialogueHistory:
    messages: list[HistoryMessage] = field(default_factory=list)
    unreadable_lines: list[int] = field(default_factory=list)
    """Numbers, from 1, of the lines that belong to no message."""


def parse_dialogue_history(text: str) -> DialogueHistory:
    parser = _HistoryParser()
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        parser.read_line(number, line.removesuffix("\r"))
    parser.finish_message()
    return parser.history


@dataclass(frozen=True, slots=True)
class _TableLayout:
    """Positions of the vertical bars of a table, from the line below its heading."""

    bars: tuple[int, ...]

    @classmethod
    def from_separator(cls, line: str) -> _TableLayout:
        return cls(tuple(index for index, character in enumerate(line) if character == "|"))

    @property
    def content_width(self) -> int:
        """Number of characters of a piece of a long message."""
        return self.bars[4] - self.bars[3] - 3

    def fits(self, line: str) -> bool:
        """Whether the first columns of a row have the widths of the table."""
        return all(line[bar : bar + 1] == "|" for bar in self.bars[:4])


@dataclass(slots=True)
class _HistoryParser:
    """Reads a table line by line. A line that begins no row belongs to the cell above it."""

    history: DialogueHistory = field(default_factory=DialogueHistory)
    layout: _TableLayout | None = None
    next_index: int = 0
    is_cell_closed: bool = True
    """Whether the line above ends with a bar. Only then can a row begin."""
    pieces: list[str] = field(default_factory=list)
    """Finished pieces of the content of the current message."""
    cell_lines: list[str] = field(default_factory=list)
    """Lines of the last piece of the current message, with the padding and the bar of its cell."""

    def read_line(self, number: int, line: str) -> None:
        """Read the next line of the table. Record its number if it fits nowhere."""
        is_before_first_message = not self.history.messages
        if is_before_first_message and self._read_heading(line):
            return

        # From the strictest to the most general form of a line. The first reader that knows the
        # line adds it.
        was_read = (
            self._read_message_row(line)
            or self._read_further_row(line)
            or self._read_cell_line(line)
        )
        # A blank line tells nothing about the end of the cell.
        is_blank = not line.strip()
        if is_blank:
            return
        if was_read:
            self.is_cell_closed = line.rstrip().endswith("|")
        else:
            self.history.unreadable_lines.append(number)

    def finish_message(self) -> None:
        """Set the content of the current message from its pieces. The last piece is that of the
        lines which were read since the last row.
        """
        if not self.history.messages:
            return
        last_piece = _remove_cell_end("\n".join(self.cell_lines)).rstrip()
        content = "".join([*self.pieces, last_piece])
        # The official runner puts a space behind each letter of an error.
        if _SPACED_ERROR.match(content):
            content = re.sub(r"(.) ", r"\1", content + " ").rstrip()
        self.history.messages[-1].content = content
        self.pieces = []
        self.cell_lines = []

    def _read_heading(self, line: str) -> bool:
        if _SEPARATOR.fullmatch(line):
            self.layout = _TableLayout.from_separator(line)
            return True
        return _HEADING.match(line) is not None

    def _read_message_row(self, line: str) -> bool:
        """Begin a new message if a line is its first row. Return False for any other line.

        The history is a table. The first row of a message has its number, sender, recipient and the
        begin of its content; the next rows have the rest of the content.
        """
        match = _MESSAGE_ROW.fullmatch(line)
        if match is None or not self._begins_message(match, line):
            return False
        self.finish_message()

        # If the heading has other column widths than the first row, it cannot help to read rows.
        is_first_row = not self.history.messages
        if is_first_row and self.layout is not None and not self.layout.fits(line):
            self.layout = None

        message = HistoryMessage(sender=match["sender"], recipient=match["recipient"], content="")
        self.history.messages.append(message)
        self.next_index = int(match["index"]) + 1
        self.cell_lines = [match["cell"].removeprefix(" ")]
        return True

    def _begins_message(self, match: re.Match[str], line: str) -> bool:
        """Whether a line that looks like the row of a message is one, and not a line of a
        message.
        """
        if not self.is_cell_closed:
            return False
        if not self.history.messages:
            return True
        index = int(match["index"])
        if self.layout is not None:
            # The widths of the columns are a strong sign, so messages may be missing.
            return self.layout.fits(line) and index >= self.next_index
        return (
            index == self.next_index
            and match["sender"] in _SPEAKERS
            and match["recipient"] in _SPEAKERS
        )

    def _read_further_row(self, line: str) -> bool:
        """Begin the next piece of the current message if a line is a row with only a content cell.

        The table breaks a long message into pieces of the width of its cell. Return False for any
        other line.
        """
        match = _FURTHER_ROW.fullmatch(line)
        if match is None or not self.history.messages or not self.is_cell_closed:
            return False
        if self.layout is not None and not self.layout.fits(line):
            return False

        finished_piece = _remove_cell_end("\n".join(self.cell_lines))
        if self.layout is not None:
            # The rest of the cell is padding.
            finished_piece = finished_piece[: self.layout.content_width]
        self.pieces.append(finished_piece)
        self.cell_lines = [match["cell"].removeprefix(" ")]
        return True

    def _read_cell_line(self, line: str) -> bool:
        """Read a line of a message with line breaks."""
        if not self.history.messages:
            return False
        self.cell_lines.append(line)
        return True


def _remove_cell_end(text: str) -> str:
    """Remove the bar at the end of a cell and the space before it."""
    stripped = text.rstrip()
    if not stripped.endswith("|"):
        return text
    return stripped[:-1].removesuffix(" ")
