"""Read a JSON file that is one large value, with the position of each element of one list in it.

A file that is cut off or damaged gives the elements before the damage and an `ImportIssue`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import JSONDecoder
from json.decoder import JSONDecodeError
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import (
    MAX_FILE_BYTES,
    SEVERAL_LINES,
    JsonRecord,
    clean_value,
    describe_other_format,
    make_excerpt,
    parse_integer,
)
from fcreview.model.item import ImportIssue
from fcreview.safe_files import read_file

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class JsonDocument:
    """A JSON file whose elements are read one at a time."""

    records: list[JsonRecord] = field(default_factory=list)
    """Elements of the list, with their positions in the file."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Other members of the object. Empty for a file that is a list."""
    issues: list[ImportIssue] = field(default_factory=list)
    is_object: bool = False


class _Damage(ValueError):
    """Raised if the text is not JSON. The message is the reason."""


def read_document(path: Path, list_name: str = "") -> JsonDocument:
    """Read a file that is a list, or an object whose member `list_name` is a list.

    Raises nothing: `JsonDocument.issues` describes the parts that could not be read.
    """
    document = JsonDocument()
    try:
        raw = read_file(path, MAX_FILE_BYTES)
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        document.issues.append(ImportIssue(str(path), None, what, severity="error"))
        return document
    reason = describe_other_format(raw[: 1 << 16])
    if reason is not None and reason != SEVERAL_LINES:
        what = f"unreadable: {reason}. Expected JSON in UTF-8"
        document.issues.append(ImportIssue(str(path), None, what, make_excerpt(raw[:1200]), severity="error"))
        return document
    _DocumentReader(str(path), raw, document).read(list_name)
    return document


class _DocumentReader:
    def __init__(self, name: str, raw: bytes, document: JsonDocument) -> None:
        self.name, self.document = name, document
        self.bom = len(_BOM) if raw.startswith(_BOM) else 0
        body = raw[self.bom :]
        try:
            self.text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            self.text = body.decode("utf-8", "surrogateescape")
            line = body.count(b"\n", 0, error.start) + 1
            self._report(f"byte {error.start + 1} of the file is not UTF-8", line)
        self.is_ascii = self.text.isascii()
        self.at = 0
        self.long_numbers: list[str] = []
        self.decode = JSONDecoder(parse_int=lambda digits: parse_integer(digits, self.long_numbers)).raw_decode
        self.counted_at, self.counted_line, self.counted_bytes = 0, 1, self.bom

    def read(self, list_name: str) -> None:
        try:
            if self._next_char() == "[":
                self._read_list()
            elif self._peek() == "{":
                self.document.is_object = True
                self._read_object(list_name)
            else:
                raise _Damage("not a JSON array or object" if self.text.strip() else "the file is empty")
            if self._next_char():
                raise _Damage("there is more text after the end of the JSON value")
        except _Damage as error:
            line, _ = self._position(min(self.at, len(self.text)))
            excerpt = make_excerpt(self.text[self.at : self.at + 300].encode("utf-8", "replace"))
            self.document.issues.append(ImportIssue(self.name, line, str(error), excerpt or None, severity="error"))
        for number in self.long_numbers:
            self._report(f"number too long, replaced by text: {number}", None)

    def _report(self, what: str, line: int | None) -> None:
        self.document.issues.append(ImportIssue(self.name, line, what))

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _next_char(self) -> str:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self._peek()

    def _read_members(self, end: str) -> Iterator[None]:
        """Move past the opening bracket, then yield before each member until the closing bracket was read."""
        self.at += 1
        if self._next_char() == end:
            self.at += 1
            return
        while True:
            yield
            char = self._next_char()
            if not char:
                raise _Damage("the file is cut off")
            self.at += 1
            if char == end:
                return
            if char != ",":
                self.at -= 1
                raise _Damage(f"not JSON: expected a comma or {end!r}")
            self._next_char()

    def _read_object(self, list_name: str) -> None:
        for _ in self._read_members("}"):
            name = self._read_value()
            if not isinstance(name, str):
                raise _Damage("not JSON: a member has no name")
            if self._next_char() != ":":
                raise _Damage("not JSON: expected a colon" if self._peek() else "the file is cut off")
            self.at += 1
            if name == list_name and self._next_char() == "[":
                if self.document.records:
                    self._report(f"{name} occurs more than once. Elements of all lists are imported", None)
                self._read_list()
            else:
                if name in self.document.fields:
                    self._report(f"{name} occurs more than once. The last one is used", None)
                self.document.fields[name] = self._read_value()

    def _read_list(self) -> None:
        for _ in self._read_members("]"):
            start = self.at
            value = self._read_value()
            line, offset = self._position(start)
            length = self.at - start if self.is_ascii else len(self._encode(start, self.at))
            self.document.records.append(JsonRecord(line, offset, length, value))

    def _read_value(self) -> Any:
        self._next_char()
        try:
            value, end = self.decode(self.text, self.at)
            value = clean_value(value)
        except JSONDecodeError as error:
            is_cut = not self.text[error.pos :].strip() or error.msg.startswith("Unterminated string")
            raise _Damage("the file is cut off" if is_cut else f"not JSON: {error.msg}") from None
        except RecursionError:
            raise _Damage("nested too deeply to be read") from None
        self.at = end
        return value

    def _encode(self, start: int, end: int) -> bytes:
        return self.text[start:end].encode("utf-8", "surrogateescape")

    def _position(self, at: int) -> tuple[int, int]:
        """Return the line, from 1, and the byte offset of a character. Positions must not decrease."""
        self.counted_line += self.text.count("\n", self.counted_at, at)
        self.counted_bytes += at - self.counted_at if self.is_ascii else len(self._encode(self.counted_at, at))
        self.counted_at = at
        return self.counted_line, self.counted_bytes
