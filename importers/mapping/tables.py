"""Read the rows of CSV and TSV files, as programs and spreadsheets write them.

Which encoding and delimiter a file has is known by a byte order mark, by a first line `sep=;`, or
by the mapping. If none of them says it, and the first line does not fit, the file is refused with
the line that the mapping lacks. Nothing is guessed.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from fcreview.importers.common.file_form import BOM, PROBE_BYTES, UTF16_BOMS, find_refusal
from fcreview.importers.common.json_text import make_excerpt
from fcreview.importers.common.jsonl import MAX_LINE_BYTES
from fcreview.importers.mapping.mapping_file import (
    DELIMITERS,
    Encoding,
    FileFormat,
    FilePattern,
)
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count
from fcreview.safe_files import open_file

TABLE_FORMATS: Mapping[FileFormat, str] = {"csv": ",", "tsv": "\t"}
"""Format of a table -> its usual delimiter."""
UTF8: Encoding = "utf-8"
UTF16: Encoding = "utf-16"
OTHER_ENCODING: Encoding = "windows-1252"
"""Encoding that spreadsheets often use for a file that is not UTF-8."""
ENCODING_PROBE_BYTES = 1 << 20
MORE_CELLS = "(more cells)"
SEPARATOR_LINE = "sep="
"""Beginning of the first line with which Excel writes the delimiter of a file."""


@dataclass(frozen=True, slots=True)
class Row:
    """Record of a file, before what the path says is added."""

    line: int
    offset: int
    length: int
    value: Any
    document: Any = None
    entry: str | None = None
    index: int = 0


def make_file_issue(path: Path, what: str, line: int | None = None) -> ImportIssue:
    return ImportIssue(str(path), line, what=what, severity="error")


class UnreadableTable(ValueError):
    """Raised for a table whose encoding or delimiter is unknown. The message says what to do."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """How a table is encoded, and how its cells are separated."""

    encoding: Encoding
    delimiter: str
    has_separator_line: bool = False
    """Whether the first line names the delimiter and is no row."""

    @property
    def is_wide(self) -> bool:
        """Whether a character has two bytes, so that a line is not found by its bytes."""
        return self.encoding.startswith(UTF16)


def detect_table_form(start: bytes, format_name: FileFormat, pattern: FilePattern) -> TableForm:
    """Return the form of a table by its first bytes and by what the mapping says.

    Raises UnreadableTable.
    """
    encoding = _detect_encoding(start, pattern)
    first_line = _decode_first_line(start, encoding)
    stated = _find_stated_delimiter(first_line)
    if stated is not None and pattern.delimiter in (None, stated):
        return TableForm(encoding, stated, has_separator_line=True)

    delimiter = pattern.delimiter or TABLE_FORMATS[format_name]
    other = None if pattern.delimiter else find_other_delimiter(first_line, delimiter)
    if other is not None:
        raise UnreadableTable(
            f"the columns are separated by {DELIMITERS[other]}, not by {DELIMITERS[delimiter]}. Add"
            f" delimiter = {write_delimiter(other)} to the table of the file in the mapping"
        )
    return TableForm(encoding, delimiter)


def _detect_encoding(start: bytes, pattern: FilePattern) -> Encoding:
    """Return the encoding of a table. Its first bytes decide before the user's choice."""
    if start.startswith(UTF16_BOMS):
        return UTF16
    is_wide = pattern.encoding is not None and pattern.encoding.startswith(UTF16)
    refusal = find_refusal(start)
    if refusal is not None and not is_wide:
        raise UnreadableTable(refusal)
    if start.startswith(BOM):
        return UTF8
    return pattern.encoding or UTF8


def _find_stated_delimiter(first_line: str) -> str | None:
    """Return the delimiter that a line `sep=;` states, or None for any other line."""
    delimiter = first_line.removeprefix(SEPARATOR_LINE)
    is_statement = delimiter != first_line and delimiter in DELIMITERS
    return delimiter if is_statement else None


def _decode_first_line(start: bytes, encoding: Encoding) -> str:
    text = start.decode(encoding, "replace").removeprefix("\N{BYTE ORDER MARK}")
    return text.splitlines()[0] if text else ""


def find_other_delimiter(first_line: str, delimiter: str) -> str | None:
    """Return the delimiter of a first line that has only one column with the given delimiter, but
    several with another one. None if the given one is right, or nothing is known.
    """
    if _count_cells(first_line, delimiter) > 1:
        return None
    n_cells_by_delimiter = {other: _count_cells(first_line, other) for other in DELIMITERS}
    best = max(n_cells_by_delimiter, key=lambda other: n_cells_by_delimiter[other])
    return best if n_cells_by_delimiter[best] > 1 else None


@dataclass(frozen=True, slots=True)
class MissingForm:
    """What a mapping must name to read a table. A value is None if the usual one is right, or if
    nothing is known.
    """

    delimiter: str | None = None
    encoding: Encoding | None = None


def find_missing_form(path: Path, format_name: FileFormat) -> MissingForm:
    """Return the delimiter and the encoding that a mapping must name to read a table."""
    pattern_without_form = FilePattern(())
    try:
        with open_file(path) as file:
            start = file.read(ENCODING_PROBE_BYTES)
        encoding = _detect_encoding(start, pattern_without_form)
    except (OSError, UnreadableTable):
        return MissingForm()

    # Bytes that are not UTF-8 do not say which encoding they are in, so the most common one is
    # proposed.
    missing_encoding = None
    if encoding == UTF8 and not _is_utf8(start):
        missing_encoding = OTHER_ENCODING

    first_line = _decode_first_line(start, missing_encoding or encoding)
    if _find_stated_delimiter(first_line) is not None:
        return MissingForm(encoding=missing_encoding)
    delimiter = find_other_delimiter(first_line, TABLE_FORMATS[format_name])
    return MissingForm(delimiter, missing_encoding)


def _is_utf8(start: bytes) -> bool:
    """Whether the first bytes of a file are UTF-8. The last character may be cut off."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    try:
        decoder.decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _count_cells(line: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=delimiter)))
    except (csv.Error, StopIteration):
        return 0


def write_delimiter(delimiter: str) -> str:
    """Return a delimiter as a TOML string."""
    return '"\\t"' if delimiter == "\t" else f'"{delimiter}"'


def read_table(
    path: Path, format_name: FileFormat, pattern: FilePattern
) -> Iterator[Row | ImportIssue]:
    """Yield the rows of a CSV or TSV file. The first row has the names. Empty cells are missing."""
    try:
        with open_file(path) as file:
            start = os.pread(file.fileno(), PROBE_BYTES, 0)
            try:
                form = detect_table_form(start, format_name, pattern)
            except UnreadableTable as error:
                yield make_file_issue(path, str(error))
                return
            yield from _TableReader(path, file, form).read()
    except OSError as error:
        yield make_file_issue(path, f"the file cannot be read: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class _WrittenRow:
    """A row of a table, and where it is in the file."""

    cells: list[str]
    line: int
    offset: int
    length: int


class _TableReader:
    """Reads rows one by one, and knows where each of them is in the file."""

    def __init__(self, path: Path, file: BinaryIO, form: TableForm) -> None:
        self._path = path
        self._file = file
        self._form = form
        self._issues: list[ImportIssue] = []
        self._line = 0
        """Number of the last line that was read."""
        self._offset = 0
        """Position after this line. It stays 0 in UTF-16 and UTF-32, whose lines are found only
        after the text is decoded.
        """
        # The limit of the module, which holds for the whole process, is 128 KB.
        csv.field_size_limit(MAX_LINE_BYTES)
        self._rows = csv.reader(self._read_lines(), delimiter=form.delimiter, strict=True)
        if form.has_separator_line:
            next(self._rows, None)

    def read(self) -> Iterator[Row | ImportIssue]:
        """Yield the rows of the table, and issues. The first row has the names of the columns."""
        names: Sequence[str] | None = None
        index = 0
        for written in self._read_written_rows():
            if isinstance(written, ImportIssue):
                yield written
                continue
            if names is None:
                names = written.cells
                yield from self._report_repeated_names(names, written.line)
                continue

            yield from self._report_cells(names, written.cells, written.line)
            yield Row(
                written.line,
                offset=written.offset,
                length=written.length,
                value=_make_row_object(names, written.cells),
                index=index,
            )
            index += 1

    def _read_written_rows(self) -> Iterator[_WrittenRow | ImportIssue]:
        """Yield the rows that are not blank, and an issue for each that cannot be read."""
        while True:
            # The next row begins here. Reading it moves `self._line` and `self._offset` to its end.
            line = self._line + 1
            offset = self._offset
            try:
                cells = next(self._rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield from self._take_issues()
                what = f"the row is not {self._path.suffix.lstrip('.').upper()}: {error}"
                yield make_file_issue(self._path, what, line)
                continue

            yield from self._take_issues()
            is_blank = not cells
            if not is_blank:
                yield _WrittenRow(cells, line, offset=offset, length=self._offset - offset)

    def _read_lines(self) -> Iterator[str]:
        """Yield the lines as text, and count them. A row can have several lines."""
        lines = self._decode_wide_lines() if self._form.is_wide else self._decode_lines()
        for line in lines:
            yield line.replace("\0", "\N{REPLACEMENT CHARACTER}")

    def _decode_lines(self) -> Iterator[str]:
        """Yield the lines as text, and count them. A byte that is no text becomes an issue."""
        encoding = self._form.encoding
        while raw := self._file.readline(MAX_LINE_BYTES + 1):
            self._line += 1
            text_bytes = raw.removeprefix(BOM) if self._offset == 0 else raw
            self._offset += len(raw)
            try:
                text = text_bytes.decode(encoding)
            except UnicodeDecodeError as error:
                self._report_undecoded_byte(error.start + 1)
                text = text_bytes.decode(encoding, "replace")
            yield text

    def _report_undecoded_byte(self, position: int) -> None:
        """Add an issue for a byte that is not text in the encoding of the file."""
        encoding = self._form.encoding
        what = (
            f"byte {position} of the line is not {encoding.upper()} and was replaced by U+FFFD."
            " If the file has another encoding, name it in the mapping, such as"
            f' encoding = "{OTHER_ENCODING}"'
        )
        self._issues.append(ImportIssue(str(self._path), self._line, what=what))

    def _decode_wide_lines(self) -> Iterator[str]:
        """Yield the lines of UTF-16. They have no place in the file."""
        decoded = io.TextIOWrapper(
            self._file, encoding=self._form.encoding, errors="replace", newline=""
        )
        while line := decoded.readline(MAX_LINE_BYTES + 1):
            self._line += 1
            if "\N{REPLACEMENT CHARACTER}" in line:
                what = f"a character of the line is not {self._form.encoding.upper()}"
                self._issues.append(ImportIssue(str(self._path), self._line, what=what))
            yield line.removeprefix("\N{BYTE ORDER MARK}") if self._line == 1 else line
        decoded.detach()

    def _take_issues(self) -> list[ImportIssue]:
        issues = self._issues
        self._issues = []
        return issues

    def _report_repeated_names(self, names: Sequence[str], line: int) -> Iterator[ImportIssue]:
        """Yield an issue for each name of several columns, of which only the last one is read."""
        for name, n_columns in Counter(names).items():
            if n_columns > 1:
                label = name or "without a name"
                what = f"{n_columns} columns are named {label}. Only the last one is read"
                yield ImportIssue(str(self._path), line, what=what)

    def _report_cells(
        self, names: Sequence[str], cells: Sequence[str], line: int
    ) -> Iterator[ImportIssue]:
        """Yield an issue if a row has more or fewer cells than the table has columns."""
        if len(cells) == len(names):
            return
        n_cells = format_count(len(cells), "cell")
        what = f"the row has {n_cells}, but the file has {len(names)} columns"
        if len(cells) < len(names):
            # The row was perhaps cut off, so that its last cell is not whole.
            yield ImportIssue(str(self._path), line, what=what, raw=make_excerpt("; ".join(cells)))
        else:
            raw = make_excerpt("; ".join(cells[len(names) :]))
            yield ImportIssue(str(self._path), line, what=what, raw=raw)


def _make_row_object(names: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: cell for name, cell in zip(names, cells, strict=False) if cell != ""
    }
    if len(cells) > len(names):
        row[MORE_CELLS] = list(cells[len(names) :])
    return row
