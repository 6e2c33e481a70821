"""Read files with one JSON value.

In a truncated or damaged file, read the list elements before the damage.
"""

from __future__ import annotations

import contextlib
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
    count_colons,
    describe_repeated_keys,
    escape_and_cut_strings,
    find_repeated_keys,
    has_long_integer,
    make_excerpt,
    may_have_surrogates,
    parse_integer,
    parse_json_text,
    wrap_to_limit_depth,
)
from fcreview.model.item import ImportIssue
from fcreview.safe_files import read_file

ListOrDict = TypeVar("ListOrDict", list, dict)  # type: ignore[type-arg]


def read_json(
    path: Path, issues: list[ImportIssue], expected_type: type[ListOrDict]
) -> ListOrDict | None:
    """Read a file with one JSON value, which must be a list or an object.

    Returns None and adds an issue if the file cannot be read, is not JSON, or has another type.

    Args:
        path: The file.
        issues: The list to which an issue is added.
        expected_type: `list` or `dict`.
    """
    raw = b""
    try:
        raw = read_file(path, MAX_FILE_BYTES).removeprefix(BOM)
        value = _parse_json(path, raw, issues)
    except (OSError, RecursionError, ValueError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        issues.append(_make_json_error(path, raw, line, _describe_failure(error)))
        return None

    if not isinstance(value, expected_type):
        type_name = "array" if expected_type is list else "object"
        issues.append(_make_json_error(path, raw, 1, f"the file is not a JSON {type_name}"))
        return None
    return value


def _describe_failure(error: OSError | RecursionError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"the file cannot be read: {error.strerror}"
    if isinstance(error, RecursionError):
        return "the file is nested too deeply to be read"
    return f"the file is not JSON: {error}"


def _parse_json(path: Path, raw: bytes, issues: list[ImportIssue]) -> Any:
    """Parse a JSON value, and report numbers that are too long, which a text replaces."""
    long_numbers: list[str] = []
    value = _parse_json_bytes(raw, long_numbers)

    for number in long_numbers:
        what = f"a number is too long and was replaced by text: {number}"
        issues.append(ImportIssue(str(path), what=what))
    repeated_keys = find_repeated_keys(raw, value)
    if repeated_keys:
        what = describe_repeated_keys(repeated_keys)
        issues.append(ImportIssue(str(path), line=1, what=what))
    return value


def _parse_json_bytes(raw: bytes, long_numbers: list[str]) -> Any:
    # orjson would read integers of more than 64 bits as floats.
    if not has_long_integer(raw):
        with contextlib.suppress(orjson.JSONDecodeError):
            return orjson.loads(raw)
    return parse_json_text(raw.decode("utf-8", "replace"), long_numbers)


def _make_json_error(path: Path, raw: bytes, line: int | None, what: str) -> ImportIssue:
    excerpt = make_excerpt(raw) or None
    return ImportIssue(str(path), line, what=what, raw=excerpt, severity="error")


REFUSED_EXCERPT_BYTES = 1200
"""Part of a file in another format that its issue shows."""
DAMAGE_EXCERPT_CHARS = 300
"""Part of the text from the damage on that its issue shows."""
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
    """Read a file with a list of records, even if a part of it is damaged.

    The file is the list itself, or an object with a list in the field `list_name`. Parts that
    cannot be read become issues of the result.
    """
    try:
        raw = read_file(path, MAX_FILE_BYTES)
    except OSError as error:
        what = f"the file cannot be read: {error.strerror or error}"
        return JsonDocument(issues=[ImportIssue(str(path), what=what, severity="error")])

    # A file that is compressed, or has another encoding, is refused with advice.
    refusal = find_refusal(raw[:PROBE_BYTES])
    if refusal is None and raw.startswith(UTF16_BOMS):
        refusal = f"the file is UTF-16. {CONVERT}"
    if refusal is not None:
        excerpt = make_excerpt(raw[:REFUSED_EXCERPT_BYTES])
        issue = ImportIssue(str(path), what=refusal, raw=excerpt, severity="error")
        return JsonDocument(issues=[issue])

    return _DocumentReader(str(path), raw).read_document(list_name)


def parse_json_values(raw: bytes, file_name: str) -> JsonDocument:
    """Parse the elements of a JSON array, or JSON values that follow each other.

    Damage becomes an issue.
    """
    return _DocumentReader(file_name, raw).read_values()


@dataclass(frozen=True, slots=True)
class _ReadValue:
    value: Any
    n_colons: int | None
    """Number of colons in the JSON text of the value; None if orjson cannot write it, or if it is
    nested too deeply.
    """


class _DocumentReader:
    """Parses the text of a file from beginning to end, and collects its content."""

    def __init__(self, name: str, raw: bytes) -> None:
        self._name = name
        self._document = JsonDocument()
        n_bom_bytes = len(BOM) if raw.startswith(BOM) else 0
        self._text = self._decode_text(raw[n_bom_bytes:])
        self._is_ascii = self._text.isascii()
        self._may_have_surrogates = may_have_surrogates(self._text)
        # Index of the next character.
        self._position = 0
        self._long_numbers: list[str] = []
        decoder = JSONDecoder(parse_int=lambda digits: parse_integer(digits, self._long_numbers))
        self._decode_value_at = decoder.raw_decode
        # The characters before `_counted_position` are counted in lines and in bytes of the file.
        self._counted_position = 0
        self._counted_lines = 1
        self._counted_bytes = n_bom_bytes

    def _decode_text(self, body: bytes) -> str:
        """Decode the file. A byte that is not UTF-8 is reported and kept as a surrogate."""
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError as error:
            line = body.count(b"\n", 0, error.start) + 1
            self._add_issue(f"byte {error.start + 1} of the file is not UTF-8", line)
        # Surrogates keep the wrong bytes, so that offsets stay right.
        return body.decode("utf-8", "surrogateescape")

    def read_document(self, list_name: str) -> JsonDocument:
        """Read one array, or one object with the list `list_name`."""
        try:
            self._read_array_or_object(list_name)
        except _Damage as error:
            self._report_damage(error)
        self._report_long_numbers()
        return self._document

    def read_values(self) -> JsonDocument:
        """Read the elements of an array, or values that follow each other without commas."""
        try:
            self._read_array_and_values()
        except _Damage as error:
            self._report_damage(error)
        self._report_long_numbers()
        return self._document

    def _read_array_or_object(self, list_name: str) -> None:
        """Read the whole file: a JSON array of records, or an object with an array of records in
        the field `list_name`.

        Raises _Damage if it is something else.
        """
        self._skip_spaces()
        if self._next_char == "[":
            self._read_list()
        elif self._next_char == "{":
            self._document.is_object = True
            self._read_object(list_name)
        elif self._text.strip():
            raise _Damage("the file is not a JSON array or object")
        else:
            raise _Damage("the file is empty")

        self._skip_spaces()
        if self._next_char:
            raise _Damage("there is more text after the end of the JSON value")

    def _read_array_and_values(self) -> None:
        """Read a file that is not an object: an array, and any values after it."""
        self._skip_spaces()
        if self._next_char == "[":
            self._read_list()
        self._skip_spaces()
        while self._next_char:
            self._read_record()
            self._skip_spaces()

    def _report_damage(self, error: _Damage) -> None:
        """Add an issue about a damaged part of the file, with its line and an excerpt."""
        line, _ = self._count_line_and_bytes(min(self._position, len(self._text)))
        damaged_text = self._text[self._position : self._position + DAMAGE_EXCERPT_CHARS]
        excerpt = make_excerpt(damaged_text.encode("utf-8", "replace"))
        self._document.issues.append(
            ImportIssue(self._name, line, what=str(error), raw=excerpt or None, severity="error")
        )

    def _report_long_numbers(self) -> None:
        for number in self._long_numbers:
            self._add_issue(f"a number is too long and was replaced by text: {number}", None)

    def _add_issue(self, what: str, line: int | None) -> None:
        self._document.issues.append(ImportIssue(self._name, line, what=what))

    @property
    def _next_char(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._position : self._position + 1]

    def _skip_spaces(self) -> None:
        match = _SPACE.match(self._text, self._position)
        if match is not None:
            self._position = match.end()

    def _iterate_members(self, closing_bracket: str) -> Iterator[None]:
        """Yield at the start of each member of a list or object.

        The caller must read the member before it asks for the next one.
        """
        # The opening bracket.
        self._position += 1
        self._skip_spaces()
        if self._next_char == closing_bracket:
            self._position += 1
            return

        while True:
            yield
            self._skip_spaces()
            if not self._next_char:
                raise _Damage("the file is cut off")
            if self._next_char == closing_bracket:
                self._position += 1
                return
            if self._next_char != ",":
                raise _Damage(f"the file is not JSON: expected a comma or {closing_bracket!r}")
            self._position += 1
            self._skip_spaces()

    def _read_object(self, list_name: str) -> None:
        """Read an object into the fields of the document. The list in the field `list_name` becomes
        the records of the document.
        """
        for _ in self._iterate_members("}"):
            name = self._read_member_name()
            is_list_of_records = name == list_name and self._next_char == "["
            if is_list_of_records:
                if self._document.records:
                    what = (
                        f"the field {name} occurs more than once. The elements of all its lists are"
                        " imported"
                    )
                    self._add_issue(what, None)
                self._read_list()
                continue

            if name in self._document.fields:
                what = f"the field {name} occurs more than once. Its last value is used"
                self._add_issue(what, None)
            start = self._position
            read = self._read_value()
            self._document.fields[name] = read.value
            line, _ = self._count_line_and_bytes(start)
            self._report_repeated_keys(start, read, line)

    def _read_member_name(self) -> str:
        """Read the name of a member, the colon, and the spaces before the value."""
        name = self._read_value().value
        if not isinstance(name, str):
            raise _Damage("the file is not JSON: a member has no name")
        self._skip_spaces()
        if not self._next_char:
            raise _Damage("the file is cut off")
        if self._next_char != ":":
            raise _Damage("the file is not JSON: expected a colon")
        self._position += 1
        self._skip_spaces()
        return name

    def _read_list(self) -> None:
        for _ in self._iterate_members("]"):
            self._read_record()

    def _read_record(self) -> None:
        """Read a value, and add it to the records with its position."""
        start = self._position
        read = self._read_value()
        line, offset = self._count_line_and_bytes(start)
        length = self._count_bytes(start, self._position)
        self._report_repeated_keys(start, read, line)
        self._document.records.append(
            JsonRecord(line, offset=offset, length=length, value=read.value)
        )

    def _report_repeated_keys(self, start: int, read: _ReadValue, line: int) -> None:
        """Report keys that occur more than once in an object of the value that was just read."""
        # Each key has a colon, so equal numbers of colons show quickly that no key was lost.
        if read.n_colons == self._text.count(":", start, self._position):
            return
        raw = self._text[start : self._position].encode("utf-8", "surrogateescape")
        repeated_keys = find_repeated_keys(raw, read.value)
        if repeated_keys:
            self._add_issue(describe_repeated_keys(repeated_keys), line)

    def _read_value(self) -> _ReadValue:
        """Read the JSON value at the current position, and move behind it. Raises _Damage if it is
        no JSON.
        """
        self._skip_spaces()
        try:
            value, end = self._decode_value_at(self._text, self._position)
            # None for a value that orjson cannot write, such as one with lone surrogates, which no
            # database can store, or with too many levels.
            n_colons = count_colons(wrap_to_limit_depth(value))
            # The walk through the value escapes surrogates, and raises RecursionError at too many
            # levels. It takes as long as parsing, and is hardly ever needed.
            if self._may_have_surrogates or n_colons is None:
                value = escape_and_cut_strings(value)
        except JSONDecodeError as error:
            raise _Damage(self._describe_decode_error(error)) from None
        except RecursionError:
            raise _Damage("the file is nested too deeply to be read") from None
        self._position = end
        return _ReadValue(value, n_colons)

    def _describe_decode_error(self, error: JSONDecodeError) -> str:
        is_at_end = not self._text[error.pos :].strip()
        if is_at_end or error.msg.startswith("Unterminated string"):
            return "the file is cut off"
        return f"the file is not JSON: {error.msg}"

    def _count_bytes(self, start: int, end: int) -> int:
        """Return the length in the file of the characters from `start` to `end`."""
        if self._is_ascii:
            return end - start
        return len(self._text[start:end].encode("utf-8", "surrogateescape"))

    def _count_line_and_bytes(self, position: int) -> tuple[int, int]:
        """Return the line, from 1, and the byte offset of a character.

        `position` must not decrease from call to call.
        """
        self._counted_lines += self._text.count("\n", self._counted_position, position)
        self._counted_bytes += self._count_bytes(self._counted_position, position)
        self._counted_position = position
        return self._counted_lines, self._counted_bytes
