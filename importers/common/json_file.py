"""Read files with one JSON value.

In a truncated or damaged file, read the list elements before the damage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import JSONDecoder
from json.decoder import JSONDecodeError
from pathlib import Path
from typing import Any, TypeVar

import orjson

from fcreview.importers.common.file_form import BOM, CONVERT, PROBE_BYTES, UTF16_BOMS, find_refusal
from fcreview.importers.common.json_text import (
    MAX_FILE_BYTES,
    JsonRecord,
    escape_and_cut_strings,
    make_excerpt,
    parse_integer,
    parse_json_text,
)
from fcreview.model.item import ImportIssue
from fcreview.safe_files import read_file

ListOrDict = TypeVar("ListOrDict", list, dict)  # type: ignore[type-arg]


def read_json(
    path: Path, issues: list[ImportIssue], expected_type: type[ListOrDict]
) -> ListOrDict | None:
    """Read a file with one JSON value.

    Returns None and adds an issue if it is not a value of the expected type.
    """
    raw = b""
    try:
        raw = read_file(path, MAX_FILE_BYTES).removeprefix(BOM)
        value = _parse_json(path, raw, issues)
    except OSError as error:
        what = f"the file cannot be read: {error.strerror}"
        issues.append(_make_json_error(path, raw, None, what))
        return None
    except RecursionError:
        what = "the file is nested too deeply to be read"
        issues.append(_make_json_error(path, raw, None, what))
        return None
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        issues.append(_make_json_error(path, raw, line, f"the file is not JSON: {error}"))
        return None

    if not isinstance(value, expected_type):
        type_name = "array" if expected_type is list else "object"
        issues.append(_make_json_error(path, raw, 1, f"the file is not a JSON {type_name}"))
        return None
    return value


def _parse_json(path: Path, raw: bytes, issues: list[ImportIssue]) -> Any:
    """Parse a JSON value, and report long numbers, which orjson refuses and text replaces."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        long_numbers: list[str] = []
        value = parse_json_text(raw.decode("utf-8", "replace"), long_numbers)

    for number in long_numbers:
        what = f"a number is too long and was replaced by text: {number}"
        issues.append(ImportIssue(str(path), None, what=what))
    return value


def _make_json_error(path: Path, raw: bytes, line: int | None, what: str) -> ImportIssue:
    excerpt = make_excerpt(raw) or None
    return ImportIssue(str(path), line, what=what, raw=excerpt, severity="error")


_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class JsonDocument:
    """Content of a JSON file, with the position of each list element."""

    records: list[JsonRecord] = field(default_factory=list)
    """Elements of the list, with their positions in the file."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Members of the object, except the list. Empty if the file itself is a list."""
    issues: list[ImportIssue] = field(default_factory=list)
    is_object: bool = False


class _Damage(ValueError):
    """Raised where the text stops being JSON. The message is the reason."""


def read_json_document(path: Path, list_name: str = "") -> JsonDocument:
    """Read a file with a list, or with an object whose member `list_name` is a list.

    Parts that cannot be read become issues of the result.
    """
    document = JsonDocument()
    try:
        raw = read_file(path, MAX_FILE_BYTES)
    except OSError as error:
        what = f"the file cannot be read: {error.strerror or error}"
        document.issues.append(ImportIssue(str(path), None, what=what, severity="error"))
        return document
    refusal = find_refusal(raw[:PROBE_BYTES])
    if refusal is None and raw.startswith(UTF16_BOMS):
        refusal = f"the file is UTF-16. {CONVERT}"
    if refusal is not None:
        document.issues.append(
            ImportIssue(
                str(path), None, what=refusal, raw=make_excerpt(raw[:1200]), severity="error"
            )
        )
        return document
    _DocumentReader(str(path), raw, document).fill_document(list_name)
    return document


def parse_json_values(raw: bytes, file_name: str) -> JsonDocument:
    """Parse the elements of a JSON array, or JSON values that follow each other.

    Damage becomes an issue.
    """
    document = JsonDocument()
    _DocumentReader(file_name, raw, document).fill_records()
    return document


class _DocumentReader:
    """Parses the text of a file from `at` on, and fills a `JsonDocument`."""

    def __init__(self, name: str, raw: bytes, document: JsonDocument) -> None:
        self.name, self.document = name, document
        self.bom = len(BOM) if raw.startswith(BOM) else 0
        body = raw[self.bom :]
        try:
            self.text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            self.text = body.decode("utf-8", "surrogateescape")
            line = body.count(b"\n", 0, error.start) + 1
            self._add_issue(f"byte {error.start + 1} of the file is not UTF-8", line)
        self.is_ascii = self.text.isascii()
        self.at = 0
        self.long_numbers: list[str] = []
        self.decode = JSONDecoder(
            parse_int=lambda digits: parse_integer(digits, self.long_numbers)
        ).raw_decode
        self.counted_at, self.counted_line, self.counted_bytes = 0, 1, self.bom

    def fill_document(self, list_name: str) -> None:
        """Read one array or object."""
        try:
            if self._skip_spaces_and_peek() == "[":
                self._read_list()
            elif self._peek_char() == "{":
                self.document.is_object = True
                self._read_object(list_name)
            else:
                raise _Damage(
                    "the file is not a JSON array or object"
                    if self.text.strip()
                    else "the file is empty"
                )
            if self._skip_spaces_and_peek():
                raise _Damage("there is more text after the end of the JSON value")
        except _Damage as error:
            self._report_damage(error)
        self._report_long_numbers()

    def fill_records(self) -> None:
        """Read the elements of an array, or values that follow each other without commas."""
        try:
            if self._skip_spaces_and_peek() == "[":
                self._read_list()
            while self._skip_spaces_and_peek():
                self._read_record()
        except _Damage as error:
            self._report_damage(error)
        self._report_long_numbers()

    def _report_damage(self, error: _Damage) -> None:
        line, _ = self._line_and_byte_offset(min(self.at, len(self.text)))
        excerpt = make_excerpt(self.text[self.at : self.at + 300].encode("utf-8", "replace"))
        self.document.issues.append(
            ImportIssue(self.name, line, what=str(error), raw=excerpt or None, severity="error")
        )

    def _report_long_numbers(self) -> None:
        for number in self.long_numbers:
            self._add_issue(f"a number is too long and was replaced by text: {number}", None)

    def _add_issue(self, what: str, line: int | None) -> None:
        self.document.issues.append(ImportIssue(self.name, line, what=what))

    def _peek_char(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_spaces_and_peek(self) -> str:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self._peek_char()

    def _iterate_members(self, closing_bracket: str) -> Iterator[None]:
        """Yield at the start of each member of a list or object.

        The caller must move `at` to the end of the member.
        """
        self.at += 1
        if self._skip_spaces_and_peek() == closing_bracket:
            self.at += 1
            return
        while True:
            yield
            char = self._skip_spaces_and_peek()
            if not char:
                raise _Damage("the file is cut off")
            self.at += 1
            if char == closing_bracket:
                return
            if char != ",":
                self.at -= 1
                raise _Damage(f"the file is not JSON: expected a comma or {closing_bracket!r}")
            self._skip_spaces_and_peek()

    def _read_object(self, list_name: str) -> None:
        for _ in self._iterate_members("}"):
            name = self._read_value()
            if not isinstance(name, str):
                raise _Damage("the file is not JSON: a member has no name")
            if self._skip_spaces_and_peek() != ":":
                raise _Damage(
                    "the file is not JSON: expected a colon"
                    if self._peek_char()
                    else "the file is cut off"
                )
            self.at += 1
            if name == list_name and self._skip_spaces_and_peek() == "[":
                if self.document.records:
                    what = (
                        f"the field {name} occurs more than once. The elements of all its lists are"
                        " imported"
                    )
                    self._add_issue(what, None)
                self._read_list()
            else:
                if name in self.document.fields:
                    self._add_issue(
                        f"the field {name} occurs more than once. Its last value is used", None
                    )
                self.document.fields[name] = self._read_value()

    def _read_list(self) -> None:
        for _ in self._iterate_members("]"):
            self._read_record()

    def _read_record(self) -> None:
        """Read a value, and add it to the records with its position."""
        start = self.at
        value = self._read_value()
        line, offset = self._line_and_byte_offset(start)
        length = self.at - start if self.is_ascii else len(self._encode_text(start, self.at))
        self.document.records.append(JsonRecord(line, offset=offset, length=length, value=value))

    def _read_value(self) -> Any:
        self._skip_spaces_and_peek()
        try:
            value, end = self.decode(self.text, self.at)
            value = escape_and_cut_strings(value)
        except JSONDecodeError as error:
            is_cut = not self.text[error.pos :].strip() or error.msg.startswith(
                "Unterminated string"
            )
            raise _Damage(
                "the file is cut off" if is_cut else f"the file is not JSON: {error.msg}"
            ) from None
        except RecursionError:
            raise _Damage("the file is nested too deeply to be read") from None
        self.at = end
        return value

    def _encode_text(self, start: int, end: int) -> bytes:
        return self.text[start:end].encode("utf-8", "surrogateescape")

    def _line_and_byte_offset(self, char_index: int) -> tuple[int, int]:
        """Return the line, from 1, and the byte offset of a character.

        `char_index` must increase from call to call.
        """
        self.counted_line += self.text.count("\n", self.counted_at, char_index)
        is_ascii, start = self.is_ascii, self.counted_at
        self.counted_bytes += (
            char_index - start if is_ascii else len(self._encode_text(start, char_index))
        )
        self.counted_at = char_index
        return self.counted_line, self.counted_bytes
