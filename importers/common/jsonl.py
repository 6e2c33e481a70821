"""Read JSON Lines files. An issue reports each line that cannot be read, and reading continues with
the next line.

Lines end at byte 0x0A only, because other line separators such as U+2028 are part of JSON strings.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from fcreview.importers.common.file_form import (
    BOM,
    CONVERT,
    PROBE_BYTES,
    detect_form,
    find_refusal,
)
from fcreview.importers.common.json_file import parse_json_values
from fcreview.importers.common.json_text import (
    EXCERPT_LENGTH,
    MAX_FILE_BYTES,
    JsonRecord,
    describe_repeated_keys,
    escape_and_cut_strings,
    find_repeated_keys,
    has_long_integer,
    make_excerpt,
    parse_json_text,
)
from fcreview.model.item import ImportIssue
from fcreview.run_plan import MIN_PART_BYTES, RunPart
from fcreview.safe_files import open_file, read_file

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_VALUES",
    "JsonRecord",
    "LineRange",
    "count_values",
    "escape_and_cut_strings",
    "is_large_file",
    "make_excerpt",
    "parse_json_text",
    "parse_record",
    "read_first_record",
    "read_objects_with_id",
    "read_records",
    "read_records_in_range",
    "reread_value",
    "select_objects_with_id",
    "split_into_line_ranges",
]

MAX_LINE_BYTES = 64 * 1024 * 1024
LARGE_LINE_BYTES = 8 * 1024 * 1024
"""Length of a line, in bytes, above which long strings are cut. The file itself is not changed."""
MAX_STRING_LENGTH = 500_000
CHUNK_BYTES = 1 << 20
MAX_PROBED_LINES = 20
"""Number of lines among which the first object of a file is searched."""
MAX_VALUES = 1_000_000
"""Maximum number of values in a large line.

A line with more would take gigabytes as Python objects.
"""
MAX_LINE_RANGES = 16
"""Maximum number of parts of a file. Each part counts the lines before it."""
MAX_CACHED_FILE_BYTES = 32 * 1024 * 1024
"""Maximum size, in bytes, of a file whose records stay in memory.

Records of larger files are read again one by one.
"""
_TEXT_OR_VALUE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[,\[{]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class LineRange:
    """The lines of a JSON Lines file whose first byte is in a range."""

    start: int
    end: int | None
    """Position after the range; None for the end of the file, even if the file grows."""


def split_into_line_ranges(path: Path) -> list[RunPart]:
    """Divide a file into ranges of lines that can be read at the same time.

    The list is empty if the file must be read as a whole, because it is small, cannot be read or
    is not plain JSON Lines.
    """
    try:
        with open_file(path) as file:
            start = os.pread(file.fileno(), PROBE_BYTES, 0)
            n_bytes = file.seek(0, os.SEEK_END)
    except OSError:
        return []
    if find_refusal(start) is not None or detect_form(start) != "lines":
        return []
    return _divide_bytes(n_bytes)


def _divide_bytes(n_bytes: int) -> list[RunPart]:
    """Divide a number of bytes into ranges of about the same size, each with a minimum size."""
    n_parts = min(n_bytes // MIN_PART_BYTES, MAX_LINE_RANGES)
    parts = []
    for index in range(n_parts):
        first_byte = n_bytes * index // n_parts
        end_byte = n_bytes * (index + 1) // n_parts
        # The last range has no end, so that lines are read that are written meanwhile.
        is_last = index == n_parts - 1
        lines = LineRange(first_byte, None if is_last else end_byte)
        parts.append(RunPart(index, end_byte - first_byte, selection=lines))
    return parts


def read_records_in_range(path: Path, lines: LineRange) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records that `read_records` yields for the lines in a range of a JSON Lines file.

    The ranges of a file in turn give all its records, with their line numbers and positions.
    """
    try:
        with open_file(path, 1 << 18) as file:
            first_line = _seek_line(file, lines.start)
            yield from _parse_lines(file, str(path), first_line, end=lines.end)
    except OSError as error:
        yield _make_unreadable_issue(path, error)


def _seek_line(file: BinaryIO, position: int) -> int:
    """Go to the first line that begins at a position or after it. Return its number."""
    if position == 0:
        return 1
    n_line_ends = _count_line_ends(file, position - 1)
    # The byte before the position can end a line. Otherwise, the rest of its line is skipped, too.
    if _skip_rest_of_line(file):
        n_line_ends += 1
    return n_line_ends + 1


def _count_line_ends(file: BinaryIO, n_bytes: int) -> int:
    """Read the next bytes of a file, and return the number of line feeds in them."""
    n_line_ends = 0
    n_left = n_bytes
    while n_left > 0:
        chunk = file.read(min(n_left, CHUNK_BYTES))
        if not chunk:
            break  # the file has become shorter
        n_line_ends += chunk.count(b"\n")
        n_left -= len(chunk)
    return n_line_ends


def read_records(path: Path) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a JSON Lines file, and an issue for each line that is not JSON. Blank
    lines are skipped.

    Only one line is in memory at a time. A JSON array, records of several lines, and a file in
    UTF-16 are read as a whole. Any other format, such as an archive, gives one issue.
    """
    try:
        with open_file(path, 1 << 18) as file:
            start = os.pread(file.fileno(), PROBE_BYTES, 0)
            yield from _parse_file_in_form(file, path, start)
    except OSError as error:
        yield _make_unreadable_issue(path, error)


def _make_unreadable_issue(path: Path, error: OSError) -> ImportIssue:
    what = f"the file cannot be read: {error.strerror or error}"
    return ImportIssue(str(path), None, what=what, severity="error")


def read_objects_with_id(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file whose `id` is a string.

    All other lines are skipped without an issue.
    """
    yield from select_objects_with_id(read_records(path))


def select_objects_with_id(
    records: Iterable[JsonRecord | ImportIssue],
) -> Iterator[dict[str, Any]]:
    """Yield the objects among the records whose `id` is a string."""
    for record in records:
        if isinstance(record, ImportIssue) or not isinstance(record.value, dict):
            continue
        if isinstance(record.value.get("id"), str):
            yield record.value


def _parse_file_in_form(
    file: BinaryIO, path: Path, start: bytes
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a file in any form that can be read: JSON Lines, with several encodings
    and line ends, a JSON array, or objects that span several lines.

    Any form but plain JSON Lines gives a notice. `start` are the first bytes of the file, which
    show its form.
    """
    refusal = find_refusal(start)
    if refusal is not None:
        yield ImportIssue(str(path), what=refusal, raw=make_excerpt(start), severity="error")
        return

    match detect_form(start):
        case "lines":
            yield from _parse_lines(file, str(path))
        case "cr_lines":
            yield from _parse_cr_lines(file, str(path))
            yield _make_form_notice(path, "the lines end with CR instead of LF")
        case "utf16":
            yield from _parse_utf16(file, path)
        case "array":
            yield from _parse_document(read_file(path, MAX_FILE_BYTES), str(path))
            yield _make_form_notice(
                path, "the file is a JSON array instead of JSON Lines. Its elements are the records"
            )
        case "objects":
            yield from _parse_document(read_file(path, MAX_FILE_BYTES), str(path))
            yield _make_form_notice(
                path, "the records span several lines, although JSON Lines has one record on a line"
            )


def _make_form_notice(path: Path, what: str) -> ImportIssue:
    return ImportIssue(str(path), what=what, severity="notice")


def _parse_document(raw: bytes, file_name: str) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the elements of an array, or the values that follow each other in a text."""
    document = parse_json_values(raw, file_name)
    yield from document.records
    yield from document.issues


def _parse_utf16(file: BinaryIO, path: Path) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a file in UTF-16.

    The file is converted to UTF-8 in memory, so its size is limited.
    """
    raw = file.read(MAX_CACHED_FILE_BYTES + 1)
    if len(raw) > MAX_CACHED_FILE_BYTES:
        yield ImportIssue(str(path), what=f"the file is UTF-16. {CONVERT}", severity="error")
        return

    converted = raw.decode("utf-16", "replace").encode("utf-8", "replace")
    for record in _parse_converted_text(converted, str(path)):
        if isinstance(record, JsonRecord):
            # The positions in the converted text are not those in the file.
            yield replace(record, offset=0, length=0)
        else:
            yield record
    yield _make_form_notice(
        path, "the file is UTF-16 instead of UTF-8, so its raw records cannot be shown"
    )


def _parse_converted_text(converted: bytes, file_name: str) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a text in UTF-8: of lines, or of a document."""
    if detect_form(converted[:PROBE_BYTES]) in ("array", "objects"):
        return _parse_document(converted, file_name)
    return _parse_lines(BytesIO(converted), file_name)


def _parse_cr_lines(file: BinaryIO, file_name: str) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a file whose lines end with CR, as on old Macs.

    The file is read in chunks, so that only one line is in memory at a time.
    """
    unfinished_line = b""
    offset = 0
    line = 0
    while chunk := file.read(CHUNK_BYTES):
        # The last part has no CR yet. It continues in the next chunk.
        *complete_lines, unfinished_line = (unfinished_line + chunk).split(b"\r")
        for raw_record in complete_lines:
            line += 1
            yield from parse_record(raw_record, file_name, line, offset)
            offset += len(raw_record) + 1

        if len(unfinished_line) > MAX_LINE_BYTES:
            yield _make_endless_line_error(unfinished_line, file_name, line + 1)
            return
    yield from parse_record(unfinished_line, file_name, line + 1, offset, has_line_feed=False)


def _make_endless_line_error(start_of_line: bytes, file_name: str, line: int) -> ImportIssue:
    what = (
        f"a line is longer than {MAX_LINE_BYTES / 1e6:.0f} MB, so the rest of the file was skipped"
    )
    excerpt = make_excerpt(start_of_line[:EXCERPT_LENGTH])
    return ImportIssue(file_name, line=line, what=what, raw=excerpt, severity="error")


def _parse_lines(
    file: BinaryIO, file_name: str, first_line: int = 1, *, end: int | None = None
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the record of each line with its position. A line that is too long becomes an issue.

    Args:
        file: The file, at the start of a line.
        file_name: Its name in records and issues.
        first_line: The number of this line.
        end: Lines that begin at this position in bytes, or after it, are not read.
    """
    # Position of the line in the file, in bytes.
    offset = file.tell()
    line = first_line
    while end is None or offset < end:
        raw = file.readline(MAX_LINE_BYTES + 1)
        if not raw:
            return
        has_line_feed = raw.endswith(b"\n")
        # The line goes on after the bytes that were read.
        is_too_long = len(raw) > MAX_LINE_BYTES and not has_line_feed
        if is_too_long:
            n_bytes = len(raw) + _skip_rest_of_line(file)
            yield _make_long_line_error(raw, n_bytes, file_name, line)
        else:
            n_bytes = len(raw)
            raw_record = raw.removesuffix(b"\n")
            yield from parse_record(
                raw_record, file_name, line, offset, has_line_feed=has_line_feed
            )
        offset += n_bytes
        line += 1


def _make_long_line_error(
    start_of_line: bytes, n_bytes: int, file_name: str, line: int
) -> ImportIssue:
    what = (
        f"skipped a line of {n_bytes / 1e6:.0f} MB (the maximum is {MAX_LINE_BYTES / 1e6:.0f} MB)"
    )
    excerpt = make_excerpt(start_of_line[:EXCERPT_LENGTH])
    return ImportIssue(file_name, line, what=what, raw=excerpt, severity="error")


def _skip_rest_of_line(file: BinaryIO) -> int:
    """Read to the end of the line. Return the number of skipped bytes."""
    n_bytes = 0
    while raw := file.readline(CHUNK_BYTES):
        n_bytes += len(raw)
        if raw.endswith(b"\n"):
            break
    return n_bytes


def parse_record(
    raw_record: bytes, file_name: str, line: int, offset: int, *, has_line_feed: bool = True
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the record in a line, and issues if the line is damaged. A blank line has no record."""
    value = _parse_regular_line(raw_record)
    if value is _IRREGULAR:
        is_blank = not raw_record or raw_record.isspace()
        if not is_blank:
            irregular_line = _IrregularLine(raw_record, file_name, line, offset)
            yield from irregular_line.parse(has_line_feed=has_line_feed)
        return

    repeated_keys = find_repeated_keys(raw_record, value)
    if repeated_keys:
        what = describe_repeated_keys(repeated_keys)
        yield ImportIssue(file_name, line, what=what, raw=make_excerpt(raw_record))
    yield JsonRecord(line, offset=offset, length=len(raw_record), value=value)


_IRREGULAR = object()
"""Result for a line that orjson cannot read, or would not read correctly."""


def _parse_regular_line(raw_record: bytes) -> Any:
    if len(raw_record) >= LARGE_LINE_BYTES or has_long_integer(raw_record):
        return _IRREGULAR
    try:
        return orjson.loads(raw_record)
    except orjson.JSONDecodeError:
        return _IRREGULAR


@dataclass(frozen=True, slots=True)
class _ParsedLine:
    value: Any
    long_numbers: list[str]
    """Integers that were too long for a number, and became text."""


@dataclass(frozen=True, slots=True)
class _IrregularLine:
    """A large or deep line, or one with NaN, long integers, lone surrogates or bytes that are not
    UTF-8.
    """

    raw_record: bytes
    file_name: str
    number: int
    offset: int

    @property
    def is_large(self) -> bool:
        return len(self.raw_record) > LARGE_LINE_BYTES

    def parse(self, *, has_line_feed: bool) -> Iterator[JsonRecord | ImportIssue]:
        """Yield the record of the line, and an issue for each irregularity.

        An empty line has no record, and a line that cannot be read has only an issue.
        """
        if self.is_large and count_values(self.raw_record) > MAX_VALUES:
            megabytes = len(self.raw_record) / 1e6
            what = f"skipped a line of {megabytes:.0f} MB with more than {MAX_VALUES:,} values"
            yield self._make_error(what, self.raw_record)
            return
        raw_json = self.raw_record.removeprefix(BOM)
        if raw_json and not raw_json.isspace():
            yield from self._parse_text(raw_json, has_line_feed=has_line_feed)

    def _parse_text(
        self, raw_json: bytes, *, has_line_feed: bool
    ) -> Iterator[JsonRecord | ImportIssue]:
        """Yield the record of a line that is not empty. Bytes that are not UTF-8 are replaced."""
        wrong_byte = _find_byte_that_is_not_utf8(raw_json)
        if wrong_byte is not None:
            what = f"byte {wrong_byte + 1} of the line is not UTF-8 and was replaced by U+FFFD"
            yield self._make_warning(what, raw_json)

        try:
            parsed = self._parse_json(raw_json.decode("utf-8", "replace"))
        except RecursionError:
            yield self._make_error("the line is nested too deeply to be read", raw_json)
            return
        except ValueError as error:
            yield self._make_error(_describe_json_error(raw_json, error, has_line_feed), raw_json)
            return
        yield from self._report_changes(raw_json, parsed)
        yield JsonRecord(
            self.number, offset=self.offset, length=len(self.raw_record), value=parsed.value
        )

    def _report_changes(self, raw_json: bytes, parsed: _ParsedLine) -> Iterator[ImportIssue]:
        """Yield an issue for each way in which the value differs from the text of the line."""
        if self.is_large:
            megabytes = f"{len(self.raw_record) / 1e6:.0f} MB"
            limit = f"{MAX_STRING_LENGTH:,} characters"
            what = f"this line has {megabytes}, so strings were cut after {limit}"
            yield self._make_warning(what, raw_json)
        for number in parsed.long_numbers:
            what = f"a number is too long and was replaced by text: {number}"
            yield self._make_warning(what, raw_json)
        repeated_keys = find_repeated_keys(raw_json, parsed.value)
        if repeated_keys:
            yield self._make_warning(describe_repeated_keys(repeated_keys), raw_json)

    def _parse_json(self, text: str) -> _ParsedLine:
        """Parse the line, in which integers that are too long become text."""
        long_numbers: list[str] = []
        value = parse_json_text(text, long_numbers)
        max_string_length = MAX_STRING_LENGTH if self.is_large else None
        value = escape_and_cut_strings(value, max_string_length)
        return _ParsedLine(value, long_numbers)

    def _make_warning(self, what: str, raw: bytes) -> ImportIssue:
        return ImportIssue(self.file_name, self.number, what=what, raw=make_excerpt(raw))

    def _make_error(self, what: str, raw: bytes) -> ImportIssue:
        return replace(self._make_warning(what, raw), severity="error")


def _find_byte_that_is_not_utf8(data: bytes) -> int | None:
    """Return the position of the first byte that is not UTF-8, or None."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def count_values(raw_record: bytes) -> int:
    """Return about how many values a JSON text has, to refuse one that would need too much memory.

    Up to `MAX_VALUES`, the result can be too high, because marks in strings count too.
    """
    n_marks = raw_record.count(b",") + raw_record.count(b"[") + raw_record.count(b"{")
    if n_marks <= MAX_VALUES:
        return n_marks
    # Many of the marks may be in strings.
    marks = _TEXT_OR_VALUE.finditer(raw_record)
    return sum(1 for mark in marks if raw_record[mark.start()] != ord('"'))


def _describe_json_error(raw_record: bytes, error: ValueError, has_line_feed: bool) -> str:
    """Say why a line cannot be parsed. A last line that is cut off is a special case."""
    has_start = raw_record.lstrip().startswith((b"{", b"["))
    has_end = raw_record.rstrip().endswith((b"}", b"]"))
    is_cut_off = has_start and not (has_end or has_line_feed)
    if is_cut_off:
        return "the last line is cut off: incomplete JSON record"
    if isinstance(error, json.JSONDecodeError):
        return f"the line is not JSON: {error.msg} at character {error.pos + 1}"
    return f"the line is not JSON: {error}"


def is_large_file(path: Path) -> bool:
    try:
        return path.stat().st_size > MAX_CACHED_FILE_BYTES
    except OSError:
        return False


def reread_value(path: Path, record: JsonRecord) -> Any:
    """Read the value of a record from its file again.

    Returns None if the file no longer contains it.
    """
    try:
        with open_file(path, 0) as file:
            raw_record = os.pread(file.fileno(), record.length, record.offset)
    except OSError:
        return None
    for part in parse_record(raw_record, str(path), record.line, 0):
        if isinstance(part, JsonRecord):
            return part.value
    return None


def read_first_record(path: Path, max_line_bytes: int = 1 << 20) -> Any:
    """Return the first record of a file, to find out what the file contains. None without one.

    Of JSON Lines, this is the first object in the first 20 lines, or else the first value. Of a
    JSON array, it is the first element.
    """
    try:
        with open_file(path) as file:
            return _read_first_record_of_file(file, max_line_bytes)
    except OSError:
        return None


def _read_first_record_of_file(file: BinaryIO, max_line_bytes: int) -> Any:
    """Return the first record, by the form that the start of the file shows."""
    start = os.pread(file.fileno(), PROBE_BYTES, 0)
    if find_refusal(start) is not None:
        return None
    match detect_form(start):
        case "lines":
            return _read_first_object_of_lines(file, max_line_bytes)
        case "array":
            return _read_first_element(file, max_line_bytes)
        case "cr_lines":
            first_line, _, _ = start.removeprefix(BOM).partition(b"\r")
            return _parse_json_or_none(first_line)
        case "utf16":
            converted = BytesIO(_decode_utf16_start(start))
            return _read_first_object_of_lines(converted, max_line_bytes)
        case "objects":
            # Objects that span several lines are mostly one document, without records.
            return None


def _read_first_object_of_lines(file: BinaryIO, max_line_bytes: int) -> Any:
    """Return the first object in the first lines of a file, else the first value, else None."""
    first_value = None
    for _ in range(MAX_PROBED_LINES):
        raw = file.readline(max_line_bytes)
        if not raw:
            break
        value = _parse_json_or_none(raw.removeprefix(BOM).strip())
        if isinstance(value, dict):
            return value
        if first_value is None:
            first_value = value
    return first_value


def _read_first_element(file: BinaryIO, max_bytes: int) -> Any:
    """Return the first element of a JSON array, or None if it is longer than `max_bytes`.

    Elements are mostly short, so a few kilobytes are read first, and more only if the element does
    not end in them.
    """
    n_bytes = PROBE_BYTES
    while True:
        raw = os.pread(file.fileno(), n_bytes, 0)
        elements = raw.removeprefix(BOM).lstrip().removeprefix(b"[").lstrip()
        try:
            element, _ = json.JSONDecoder().raw_decode(elements.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            is_whole_file = len(raw) < n_bytes
            if is_whole_file or n_bytes >= max_bytes:
                return None
        else:
            return element
        n_bytes = min(n_bytes * 8, max_bytes)


def _decode_utf16_start(start: bytes) -> bytes:
    """Return the start of a file in UTF-16 as UTF-8. The last character may be cut."""
    n_whole_units = len(start) // 2
    return start[: 2 * n_whole_units].decode("utf-16", "replace").encode("utf-8", "replace")


def _parse_json_or_none(raw: bytes) -> Any:
    try:
        return parse_json_text(raw.decode("utf-8", "replace"), []) if raw else None
    except (ValueError, RecursionError):
        return None
