"""Read JSON Lines files. An issue reports each line that cannot be read, and reading continues with
the next line.

Lines end at byte 0x0A only, because other line separators such as U+2028 are part of JSON strings.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal

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
    escape_and_cut_strings,
    make_excerpt,
    parse_json_text,
)
from fcreview.model.item import ImportIssue
from fcreview.safe_files import open_file, read_file

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_VALUES",
    "JsonRecord",
    "count_values",
    "escape_and_cut_strings",
    "is_large_file",
    "make_excerpt",
    "parse_json_text",
    "parse_record",
    "read_first_record",
    "read_objects_with_id",
    "read_records",
    "reread_value",
]

MAX_LINE_BYTES = 64 * 1024 * 1024
LARGE_LINE_BYTES = 8 * 1024 * 1024
"""Length of a line, in bytes, above which long strings are cut. The file itself is not changed."""
MAX_STRING_LENGTH = 500_000
MAX_VALUES = 1_000_000
"""Maximum number of values in a large line.

A line with more would take gigabytes as Python objects.
"""
MAX_CACHED_FILE_BYTES = 32 * 1024 * 1024
"""Maximum size, in bytes, of a file whose records stay in memory.

Records of larger files are read again one by one.
"""
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_ROW_OF_DIGITS = b"0" * 19
_LONG_NUMBER = re.compile(rb"(?:^|[:,\[\s])(?:-[0-9]{19}|[0-9]{20})")
"""Matches an integer that may need more than 64 bits (63 if negative). orjson would read it as a
float.
"""
_TEXT_OR_VALUE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[,\[{]', re.DOTALL)


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
        yield ImportIssue(
            str(path),
            None,
            what=f"the file cannot be read: {error.strerror or error}",
            severity="error",
        )


def read_objects_with_id(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file whose `id` is a string.

    All other lines are skipped without an issue.
    """
    for record in read_records(path):
        value = record.value if isinstance(record, JsonRecord) else None
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            yield value


def _parse_file_in_form(
    file: BinaryIO, path: Path, start: bytes
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a file in any readable form.

    Another form than JSON Lines gives a notice.
    """
    refusal = find_refusal(start)
    if refusal is not None:
        yield ImportIssue(str(path), None, what=refusal, raw=make_excerpt(start), severity="error")
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
    return ImportIssue(str(path), None, what=what, severity="notice")


def _parse_document(raw: bytes, file_name: str) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the elements of an array, or the values that follow each other in a text."""
    document = parse_json_values(raw, file_name)
    yield from document.records
    yield from document.issues


def _parse_utf16(file: BinaryIO, path: Path) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of a file in UTF-16.

    They have no position, because positions are in bytes of UTF-8.
    """
    raw = file.read(MAX_CACHED_FILE_BYTES + 1)
    if len(raw) > MAX_CACHED_FILE_BYTES:
        yield ImportIssue(str(path), None, what=f"the file is UTF-16. {CONVERT}", severity="error")
        return

    converted = raw.decode("utf-16", "replace").encode("utf-8", "replace")
    with BytesIO(converted) as lines:
        is_document = detect_form(converted[:PROBE_BYTES]) in ("array", "objects")
        records = (
            _parse_document(converted, str(path)) if is_document else _parse_lines(lines, str(path))
        )
        for record in records:
            yield replace(record, offset=0, length=0) if isinstance(record, JsonRecord) else record
    yield _make_form_notice(
        path, "the file is UTF-16 instead of UTF-8, so its raw records cannot be shown"
    )


def _parse_cr_lines(file: BinaryIO, file_name: str) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records of lines that end with CR. One line is in memory at a time."""
    rest = b""
    offset = line = 0
    while True:
        chunk = file.read(1 << 20)
        *lines, rest = (rest + chunk).split(b"\r")
        if not chunk:
            lines.append(rest)
        for raw_record in lines:
            line += 1
            yield from parse_record(raw_record, file_name, line, offset, has_line_feed=bool(chunk))
            offset += len(raw_record) + 1
        if not chunk:
            return
        if len(rest) > MAX_LINE_BYTES:
            what = (
                f"a line is longer than {MAX_LINE_BYTES / 1e6:.0f} MB, so the rest of the file was"
                " skipped"
            )
            yield ImportIssue(
                file_name,
                line + 1,
                what=what,
                raw=make_excerpt(rest[:EXCERPT_LENGTH]),
                severity="error",
            )
            return


def _parse_lines(file: BinaryIO, file_name: str) -> Iterator[JsonRecord | ImportIssue]:
    offset = line = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        line += 1
        length = len(raw)
        if length > MAX_LINE_BYTES and not raw.endswith(b"\n"):
            start = make_excerpt(raw[:EXCERPT_LENGTH])
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(1 << 20)
                length += len(raw)
            what = (
                f"skipped a line of {length / 1e6:.0f} MB (the maximum is"
                f" {MAX_LINE_BYTES / 1e6:.0f} MB)"
            )
            yield ImportIssue(file_name, line, what=what, raw=start, severity="error")
        else:
            raw_record = raw[:-1] if raw[-1] == 10 else raw
            yield from parse_record(
                raw_record, file_name, line, offset, has_line_feed=raw[-1] == 10
            )
        offset += length


def parse_record(
    raw_record: bytes, file_name: str, line: int, offset: int, *, has_line_feed: bool = True
) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the record in a line, and issues if the line is damaged. A blank line has no record."""
    try:
        if len(raw_record) >= LARGE_LINE_BYTES or _has_long_integer(raw_record):
            raise orjson.JSONDecodeError("", "", 0)  # orjson cannot read such a line correctly
        yield JsonRecord(
            line, offset=offset, length=len(raw_record), value=orjson.loads(raw_record)
        )
    except orjson.JSONDecodeError:
        if not raw_record.isspace() and raw_record:
            yield from _parse_irregular_line(
                raw_record, file_name, line, offset, has_line_feed=has_line_feed
            )


def _has_long_integer(raw_record: bytes) -> bool:
    """Whether a line contains an integer that may need more than 64 bits.

    Long rows of digits are common, such as the fraction of a time, so that only the bytes around
    each of them are searched.
    """
    zeros = raw_record.translate(_DIGITS)
    position = zeros.find(_LONG_ROW_OF_DIGITS)
    while position != -1:
        start = max(position - 2, 0)  # a sign, and the character before it
        if _LONG_NUMBER.search(raw_record, start, position + 20):
            return True
        position = zeros.find(_LONG_ROW_OF_DIGITS, position + len(_LONG_ROW_OF_DIGITS))
    return False


def _parse_irregular_line(
    raw_record: bytes, file_name: str, line: int, offset: int, *, has_line_feed: bool
) -> Iterator[JsonRecord | ImportIssue]:
    """Parse a large or deep line, or one with NaN, long integers, lone surrogates or bytes that
    are not UTF-8.
    """
    length = len(raw_record)
    is_large = length > LARGE_LINE_BYTES

    def make_issue(what: str, raw: bytes, *, is_error: bool = False) -> ImportIssue:
        severity: Literal["error", "warning"] = "error" if is_error else "warning"
        excerpt = make_excerpt(raw)
        return ImportIssue(file_name, line, what=what, raw=excerpt, severity=severity)

    if is_large and count_values(raw_record) > MAX_VALUES:
        what = f"skipped a line of {length / 1e6:.0f} MB with more than {MAX_VALUES:,} values"
        yield make_issue(what, raw_record, is_error=True)
        return

    raw_json = raw_record.removeprefix(BOM)
    if not raw_json or raw_json.isspace():
        return
    try:
        text = raw_json.decode("utf-8")
    except UnicodeDecodeError as error:
        text = raw_json.decode("utf-8", "replace")
        what = f"byte {error.start + 1} of the line is not UTF-8 and was replaced by U+FFFD"
        yield make_issue(what, raw_json)

    long_numbers: list[str] = []
    max_string_length = MAX_STRING_LENGTH if is_large else None
    try:
        parsed = parse_json_text(text, long_numbers)
        value = escape_and_cut_strings(parsed, max_string_length)
    except RecursionError:
        what = "the line is nested too deeply to be read"
        yield make_issue(what, raw_json, is_error=True)
        return
    except ValueError as error:
        what = _describe_json_error(raw_json, error, has_line_feed)
        yield make_issue(what, raw_json, is_error=True)
        return

    if is_large:
        size = f"{length / 1e6:.0f} MB"
        limit = f"{MAX_STRING_LENGTH:,} characters"
        yield make_issue(f"this line has {size}, so strings were cut after {limit}", raw_json)
    for number in long_numbers:
        yield make_issue(f"a number is too long and was replaced by text: {number}", raw_json)
    yield JsonRecord(line, offset=offset, length=length, value=value)


def count_values(raw_record: bytes) -> int:
    """Return the number of values in a JSON text, or a number up to `MAX_VALUES` above it."""
    n_marks = raw_record.count(b",") + raw_record.count(b"[") + raw_record.count(b"{")
    if n_marks <= MAX_VALUES:
        return n_marks
    # Many of the marks may be in strings.
    marks = _TEXT_OR_VALUE.finditer(raw_record)
    return sum(1 for mark in marks if raw_record[mark.start()] != ord('"'))


def _describe_json_error(raw_record: bytes, error: ValueError, has_line_feed: bool) -> str:
    if (
        not has_line_feed
        and raw_record.lstrip()[:1] in (b"{", b"[")
        and not raw_record.rstrip().endswith((b"}", b"]"))
    ):
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
    if (
        len(raw_record) == record.length
        and record.length <= LARGE_LINE_BYTES
        and not _has_long_integer(raw_record)
    ):
        with contextlib.suppress(orjson.JSONDecodeError):
            return orjson.loads(raw_record)
    parsed = _parse_irregular_line(raw_record, str(path), record.line, 0, has_line_feed=True)
    return next((each.value for each in parsed if isinstance(each, JsonRecord)), None)


def read_first_record(path: Path, max_line_bytes: int = 1 << 20) -> Any:
    """Return the first JSON object in the first 20 lines, or the first element of a JSON array of
    objects.

    Without one, return the first JSON value or None. Of records that span several lines, none is
    returned: such a file is mostly one document.
    """
    try:
        with open_file(path) as file:
            start = os.pread(file.fileno(), PROBE_BYTES, 0)
            if find_refusal(start) is not None:
                return None
            match detect_form(start):
                case "lines":
                    return _read_first_object_of_lines(file, max_line_bytes)
                case "array":
                    return _read_first_element(file, max_line_bytes)
                case "cr_lines":
                    return _parse_json_or_none(start.removeprefix(BOM).partition(b"\r")[0])
                case "utf16":
                    return _read_first_object_of_lines(
                        BytesIO(_decode_utf16_start(start)), max_line_bytes
                    )
                case "objects":
                    return None
    except OSError:
        return None


def _read_first_object_of_lines(file: BinaryIO, max_line_bytes: int) -> Any:
    first = None
    for raw in itertools.islice(iter(lambda: file.readline(max_line_bytes), b""), 20):
        value = _parse_json_or_none(raw.removeprefix(BOM).strip())
        if isinstance(value, dict):
            return value
        first = value if first is None else first
    return first


def _read_first_element(file: BinaryIO, max_bytes: int) -> Any:
    """Return the first element of a JSON array. Reads a few kilobytes if the element is short."""
    n_bytes = PROBE_BYTES
    while True:
        raw = os.pread(file.fileno(), n_bytes, 0)
        text = raw.removeprefix(BOM).lstrip().removeprefix(b"[").lstrip().decode("utf-8", "replace")
        try:
            return json.JSONDecoder().raw_decode(text)[0]
        except (ValueError, RecursionError):
            if len(raw) < n_bytes or n_bytes >= max_bytes:
                return None
        n_bytes = min(n_bytes * 8, max_bytes)


def _decode_utf16_start(start: bytes) -> bytes:
    """Return the start of a file in UTF-16 as UTF-8. The last character may be cut."""
    return start[: len(start) // 2 * 2].decode("utf-16", "replace").encode("utf-8", "replace")


def _parse_json_or_none(raw: bytes) -> Any:
    try:
        return parse_json_text(raw.decode("utf-8", "replace"), []) if raw else None
    except (ValueError, RecursionError):
        return None
