"""JSON Lines as benchmarks write them: streamed by line feed, each record with the place it stands at.

Lines are split at byte 0x0A only (U+2028 and friends are text). Nothing here raises for bad content: what cannot be
read is an `ImportIssue` with file, line and the beginning of the raw text, and the lines after it are read as well.

A whole JSON file of a known kind, for formats that are one array or object rather than JSON Lines.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import orjson

from fcreview.model.item import ImportIssue
from fcreview.safe_files import open_file, read_file

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Bytes; a longer line is not parsed at all."""
LARGE_LINE_BYTES = 8 * 1024 * 1024
"""Bytes; from a longer line only the beginning of each text is kept (the raw record stays readable in its file)."""
MAX_STRING_LENGTH = 500_000
"""Characters kept of one text of a large line."""
MAX_VALUES = 1_000_000
"""Values in a large line; one with more is not parsed: as Python objects it would take gigabytes."""
MAX_CACHED_FILE_BYTES = 32 * 1024 * 1024
"""Bytes. Records of larger files are let go after what is needed of all is known, and read again one at a time."""
MAX_FILE_BYTES = 512 * 1024 * 1024
"""Bytes of a file that is read as a whole."""
EXCERPT_LENGTH = 300
MAX_DEPTH = 200
"""Levels of lists and objects; orjson writes 254."""

_BOM = b"\xef\xbb\xbf"
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_NINETEEN_DIGITS = b"0" * 19
_LONG_NUMBER = re.compile(rb"(?:^|[:,\[\s])(?:-[0-9]{19}|[0-9]{20})")
"""A whole number that may need more than 64 bits (below zero, 63): orjson would make a float of it."""
_TEXT_OR_VALUE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[,\[{]', re.DOTALL)


@dataclass(slots=True)
class JsonRecord:
    """One JSON value. `line` counts from 1; `offset` and `length` are bytes, without the line feed."""

    line: int
    offset: int
    length: int
    value: Any


def read_records(path: Path) -> Iterator[JsonRecord | ImportIssue]:
    """Every record of the file, in file order; blank lines are skipped. One line at a time is held in memory."""
    try:
        with open_file(path, 1 << 18) as file:
            yield from _parse_lines(file, str(path))
    except OSError as error:
        yield ImportIssue(str(path), None, f"cannot be read: {error.strerror or error}", severity="error")


def _parse_lines(file: BinaryIO, name: str) -> Iterator[JsonRecord | ImportIssue]:
    loads = orjson.loads
    offset = line = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        line += 1
        length = len(raw)
        if length > MAX_LINE_BYTES and not raw.endswith(b"\n"):
            issue, length = _skip_long_line(file, raw, name, line)
            yield issue
        else:
            body = raw[:-1] if raw[-1] == 10 else raw
            try:
                if length > LARGE_LINE_BYTES or _has_long_integer(body):
                    raise orjson.JSONDecodeError("", "", 0)  # read with care
                yield JsonRecord(line, offset, len(body), loads(body))
            except orjson.JSONDecodeError:
                if not body.isspace() and body:
                    yield from _parse_irregular_line(body, name, line, offset, whole=raw[-1] == 10)
        offset += length


def _has_long_integer(body: bytes) -> bool:
    return _NINETEEN_DIGITS in body.translate(_DIGITS) and _LONG_NUMBER.search(body) is not None


def _skip_long_line(file: BinaryIO, start: bytes, name: str, line: int) -> tuple[ImportIssue, int]:
    """Reads on to the end of a line beyond LINE_LIMIT; the issue and the line's length in bytes."""
    length, part = len(start), start
    while part and not part.endswith(b"\n"):
        part = file.readline(1 << 20)
        length += len(part)
    what = f"line of {length / 1e6:.0f} MB is longer than {MAX_LINE_BYTES / 1e6:.0f} MB and was not read"
    return ImportIssue(name, line, what, make_excerpt(start[:EXCERPT_LENGTH]), severity="error"), length


def _parse_irregular_line(body: bytes, name: str, line: int, offset: int, *, whole: bool) -> Iterator[JsonRecord | ImportIssue]:
    """A line that orjson refused or that needs care: NaN, huge numbers, bad bytes, lone surrogates, depth, size."""
    length = len(body)
    if length > LARGE_LINE_BYTES and _has_too_many_values(body):
        what = f"line of {length / 1e6:.0f} MB holds more than {MAX_VALUES:,} values and was not read"
        yield ImportIssue(name, line, what, make_excerpt(body), severity="error")
        return
    if body.startswith(_BOM):
        body = body[3:]
        if not body or body.isspace():
            return
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        text = body.decode("utf-8", "replace")
        what = f"byte {error.start + 1} of the line is not UTF-8; shown as U+FFFD"
        yield ImportIssue(name, line, what, make_excerpt(body))
    try:
        value = json.loads(text)
    except RecursionError:
        yield ImportIssue(name, line, "nested too deeply to be read", make_excerpt(body), severity="error")
        return
    except ValueError as error:
        yield ImportIssue(name, line, _describe_json_error(body, error, whole), make_excerpt(body), severity="error")
        return
    try:
        value = _clean_value(value, MAX_STRING_LENGTH if length > LARGE_LINE_BYTES else None, 0)
    except RecursionError:
        yield ImportIssue(name, line, "nested too deeply to be read", make_excerpt(body), severity="error")
        return
    if length > LARGE_LINE_BYTES:
        what = f"line of {length / 1e6:.0f} MB: texts are cut after {MAX_STRING_LENGTH:,} characters"
        yield ImportIssue(name, line, what, make_excerpt(body))
    yield JsonRecord(line, offset, length, value)


def _has_too_many_values(body: bytes) -> bool:
    """Whether a line of JSON holds more than VALUES_LIMIT values; those in its texts do not count."""
    if body.count(b",") + body.count(b"[") + body.count(b"{") <= MAX_VALUES:
        return False
    marks = (match for match in _TEXT_OR_VALUE.finditer(body) if body[match.start()] != 34)
    return next(itertools.islice(marks, MAX_VALUES, None), None) is not None


def _describe_json_error(body: bytes, error: ValueError, whole: bool) -> str:
    if not whole and body.lstrip()[:1] in (b"{", b"[") and not body.rstrip().endswith((b"}", b"]")):
        return "the last line is cut off: not a whole JSON record"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    return f"not JSON: {error}"


def _clean_value(value: Any, limit: int | None, depth: int) -> Any:
    """The value with lone surrogates as `\\udXXX` and long texts cut at a limit. RecursionError beyond DEPTH_LIMIT."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        if limit is not None and len(value) > limit:
            value = f"{value[:limit]} … [{len(value) - limit:,} more characters]"
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_clean_value(part, limit, depth + 1) for part in value]
    if isinstance(value, dict):
        return {_clean_value(key, limit, depth): _clean_value(part, limit, depth + 1) for key, part in value.items()}
    return value


def make_excerpt(raw: bytes | str, limit: int = EXCERPT_LENGTH) -> str:
    """The beginning of a raw line as text, for an issue."""
    if isinstance(raw, str):
        return raw if len(raw) <= limit else raw[:limit] + "…"
    text = raw[: limit * 4].decode("utf-8", "replace")
    return text if len(text) <= limit and len(raw) <= limit * 4 else text[:limit] + "…"


def is_large_file(path: Path) -> bool:
    """Whether the values of all its records are too much to be in memory together."""
    try:
        return path.stat().st_size > MAX_CACHED_FILE_BYTES
    except OSError:
        return False


def reread_value(path: Path, record: JsonRecord) -> Any:
    """The value of a record whose value was let go; None if it can no longer be read."""
    try:
        with open_file(path, 0) as file:
            body = os.pread(file.fileno(), record.length, record.offset)
    except OSError:
        return None
    if len(body) == record.length and record.length <= LARGE_LINE_BYTES and not _has_long_integer(body):
        with contextlib.suppress(orjson.JSONDecodeError):
            return orjson.loads(body)
    again = next(
        (found for found in _parse_irregular_line(body, str(path), record.line, 0, whole=True) if isinstance(found, JsonRecord)), None
    )
    return again.value if again else None


def read_first_record(path: Path, limit: int = 1 << 20) -> Any:
    """The first of the first 20 records that can be read, objects before anything else; None if there is none.

    For detection: of a line not more than `limit` bytes are looked at.
    """
    first = None
    try:
        with open_file(path) as file:
            for _ in range(20):
                raw = file.readline(limit)
                if not raw:
                    break
                value = _parse_json(raw.removeprefix(_BOM).strip())
                if isinstance(value, dict):
                    return value
                first = value if first is None else first
    except OSError:
        return None
    return first


def _parse_json(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "replace")) if raw else None
    except (ValueError, RecursionError):
        return None


T = TypeVar("T", list, dict)  # type: ignore[type-arg]


def read_json(path: Path, issues: list[ImportIssue], expected_type: type[T]) -> T | None:
    """The file's value if it is of that kind, else None and an issue that says why."""
    try:
        raw = read_file(path, MAX_FILE_BYTES).removeprefix(b"\xef\xbb\xbf")
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            value = json.loads(raw.decode("utf-8", "replace"))
    except OSError as error:
        issues.append(ImportIssue(str(path), None, f"cannot be read: {error.strerror}", severity="error"))
        return None
    except RecursionError:
        issues.append(ImportIssue(str(path), None, "nested too deeply to be read", make_excerpt(raw), severity="error"))
        return None
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        issues.append(ImportIssue(str(path), line, f"not JSON: {error}", make_excerpt(raw), severity="error"))
        return None
    if not isinstance(value, expected_type):
        issues.append(
            ImportIssue(str(path), 1, f"should be a JSON {'array' if expected_type is list else 'object'}", severity="error")
        )
        return None
    return value
