"""Read CSV files whose cells are long texts with line breaks and quotes.

Spreadsheets save CSV files with semicolons or tabs, too. The first line shows which it is. Only one
record is in memory at a time. Each record has its place in the file, so that its raw text can be
shown.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fcreview.importers.common.file_form import BOM
from fcreview.importers.common.json_text import make_excerpt
from fcreview.model.item import ImportIssue
from fcreview.safe_files import open_file

MAX_CELL_CHARACTERS = 64 << 20
MAX_LINE_BYTES = 64 << 20
LINE_TOO_LONG = (
    f"a line is longer than {MAX_LINE_BYTES / 1e6:.0f} MB, so the rest of the file was skipped"
)
MAX_COLUMNS = 2_000
COMMA = ","
DELIMITERS = (COMMA, ";", "\t")
MAX_HEADER_BYTES = 256 << 10
csv.field_size_limit(MAX_CELL_CHARACTERS)


@dataclass(frozen=True, slots=True)
class CsvRecord:
    line: int
    """Line, from 1, in which the record begins."""
    offset: int
    length: int
    """Place of the record, in bytes."""
    cells: dict[str, str]
    """Column -> text. Columns without a name are left out."""
    is_regular: bool = True
    """Whether `cells` has all cells of the record, so that the record can be written from them."""
    delimiter: str = COMMA


def read_csv_header(path: Path) -> list[str]:
    """Return the names of the columns, or an empty list if the file cannot be read as CSV."""
    try:
        with open_file(path) as file:
            first_line = _decode_first_line(file.read(MAX_HEADER_BYTES))
    except (OSError, UnicodeDecodeError):
        return []
    return _split_cells(first_line, _find_delimiter(first_line))


def _decode_first_line(file_start: bytes) -> str:
    """Return the first line. Only this line has to be UTF-8, because the start may end within a
    character.
    """
    line, _, _ = file_start.removeprefix(BOM).partition(b"\n")
    return line.decode("utf-8")


def _find_delimiter(first_line: str) -> str:
    """Return the delimiter that gives the most columns, which is a comma if none gives several."""
    return max(DELIMITERS, key=lambda delimiter: len(_split_cells(first_line, delimiter)))


def _split_cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def read_csv_records(path: Path) -> Iterator[CsvRecord | ImportIssue]:
    """Yield the records of a CSV file, and an issue for each that cannot be read."""
    try:
        with open_file(path, 1 << 18) as file:
            start = os.pread(file.fileno(), MAX_HEADER_BYTES, 0)
            first_line, _, _ = start.removeprefix(BOM).partition(b"\n")
            delimiter = _find_delimiter(first_line.decode("utf-8", "replace"))
            yield from _CsvFile(file, str(path), delimiter).read_records()
    except OSError as error:
        what = f"the file cannot be read: {error.strerror or error}"
        yield ImportIssue(str(path), what=what, severity="error")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the file, see `CsvRecord`."""

    line: int
    offset: int
    length: int
    cells: list[str]

    def make_record(self, columns: Sequence[str], *, delimiter: str) -> CsvRecord:
        """Return the cells of the row by the names of their columns."""
        named = {name: cell for name, cell in zip(columns, self.cells, strict=False) if name}
        return CsvRecord(
            self.line,
            offset=self.offset,
            length=self.length,
            cells=named,
            is_regular=len(named) == len(columns) == len(self.cells),
            delimiter=delimiter,
        )


class _CsvFile:
    """Feeds the lines of a file to the CSV parser, and counts their bytes."""

    def __init__(self, file: BinaryIO, name: str, delimiter: str) -> None:
        self._file = file
        self._name = name
        self._delimiter = delimiter
        self._n_lines = 0
        self._offset = 0
        self._problems: list[str] = []
        self._is_terminated = True
        self._is_cut = False
        """Whether the rest of the file was skipped."""

    def read_records(self) -> Iterator[CsvRecord | ImportIssue]:
        """Yield the records of the CSV file. The first row has the names of the columns.

        A row with another number of cells becomes a record and an issue.
        """
        columns: list[str] | None = None
        for row in self._read_rows():
            if isinstance(row, ImportIssue):
                yield row
            elif columns is None:
                columns = row.cells[:MAX_COLUMNS]
            elif row.cells:
                # A blank line has no cells, and is skipped.
                if len(row.cells) != len(columns):
                    what = f"the record has {len(row.cells)} cells instead of {len(columns)}"
                    yield self._make_issue(row.line, what, is_error=True)
                yield row.make_record(columns, delimiter=self._delimiter)

        if not self._is_terminated and not self._is_cut:
            what = "the last line is not terminated, so the last record may be cut off"
            yield self._make_issue(self._n_lines, what)

    def _read_rows(self) -> Iterator[_Row | ImportIssue]:
        """Yield the rows with their places in the file, and an issue for each that is not CSV."""
        reader = csv.reader(self._read_lines(), delimiter=self._delimiter, strict=True)
        while True:
            # `_read_lines` counts the lines and bytes of a row while the reader reads it, so the
            # place of the row is taken before.
            line = self._n_lines + 1
            offset = self._offset
            try:
                cells = next(reader)
            except StopIteration:
                if self._is_cut:
                    yield self._make_issue(line, LINE_TOO_LONG, is_error=True)
                return
            except csv.Error as error:
                what = f"the record is not CSV: {error}"
                yield self._make_issue(line, what, is_error=True)
                continue

            yield from self._take_problems(line)
            yield _Row(line, offset=offset, length=self._offset - offset, cells=cells)

    def _read_lines(self) -> Iterator[str]:
        """Yield the lines of the file as text, and keep count of bytes and lines, from which the
        places of records are computed.

        Reading ends at a line that is too long, because its rest cannot be told from the next
        record.
        """
        while raw := self._file.readline(MAX_LINE_BYTES):
            self._is_terminated = raw.endswith(b"\n")
            self._offset += len(raw)
            self._n_lines += 1
            if len(raw) == MAX_LINE_BYTES and not self._is_terminated:
                self._is_cut = True
                return
            if self._n_lines == 1:
                raw = raw.removeprefix(BOM)
            yield self._decode(raw)

    def _decode(self, raw: bytes) -> str:
        """Decode a line.

        Bytes that are not UTF-8, and NUL characters, are replaced and reported.
        """
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            text = raw.decode("utf-8", "replace")
            self._problems.append(
                f"byte {error.start + 1} of a line is not UTF-8 and was replaced by U+FFFD"
            )
        if "\0" in text:
            self._problems.append("a NUL character was replaced by U+FFFD")
            text = text.replace("\0", "\ufffd")
        return text

    def _take_problems(self, line: int) -> Iterator[ImportIssue]:
        for problem in self._problems:
            yield self._make_issue(line, problem)
        self._problems = []

    def _make_issue(self, line: int, what: str, *, is_error: bool = False) -> ImportIssue:
        severity = "error" if is_error else "warning"
        return ImportIssue(self._name, line, what=make_excerpt(what), severity=severity)  # type: ignore[arg-type]
