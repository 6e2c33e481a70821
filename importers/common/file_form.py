"""Recognise the form of a file by its start: JSON Lines, another form of JSON that can be read,
or no JSON at all.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Literal

import orjson

BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
UTF32_BOMS = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
GIT_LFS_START = b"version https://git-lfs.github.com/spec/"
PROBE_BYTES = 1 << 16
"""Number of bytes at the start of a file that decide about its form."""

FileForm = Literal["lines", "cr_lines", "array", "objects", "utf16"]
"""`lines`: JSON Lines in UTF-8. `cr_lines`: the lines end with CR. `array`: a JSON array of
records. `objects`: records that span several lines. `utf16`: one of these forms in UTF-16 with a
byte order mark.
"""

UNPACK = "Unpack it and import the unpacked file"
CONVERT = "Convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE"
CONVERT_UTF32 = "Convert it to UTF-8: iconv -f UTF-32 -t UTF-8 FILE"
_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf\x27\x1c": "7z",
}
"""First bytes of a compressed file -> name of the format."""
_TAR_SIGNATURE_OFFSET = 257


def find_refusal(file_start: bytes) -> str | None:
    """Return why a file cannot be read, and what the user can do. None if it can be read.

    `file_start` are the first bytes of the file, which show its form.
    """
    if file_start.startswith(GIT_LFS_START):
        return (
            "the file is a Git LFS pointer, not the data. Run git lfs pull in the repository that"
            " contains it"
        )
    for signature, name in _COMPRESSIONS.items():
        if file_start.startswith(signature):
            return f"the file is compressed ({name}). {UNPACK}"
    # A tar archive has no signature at its start, but in its first header.
    if file_start[_TAR_SIGNATURE_OFFSET:].startswith(b"ustar"):
        return f"the file is a tar archive. {UNPACK}"
    return _find_encoding_refusal(file_start)


def _find_encoding_refusal(file_start: bytes) -> str | None:
    """Return why a text in UTF-32 or UTF-16 cannot be read. None if it can be read."""
    # A byte order mark of UTF-32 begins with one of UTF-16, so it is checked first.
    if file_start.startswith(UTF32_BOMS):
        return f"the file is UTF-32. {CONVERT_UTF32}"
    # With the mark, UTF-16 can be read.
    if file_start.startswith(UTF16_BOMS):
        return None
    if _has_null_bytes_of_wide_characters(file_start):
        return f"the file is UTF-16 or UTF-32 without a byte order mark. {CONVERT}"
    return None


def _has_null_bytes_of_wide_characters(file_start: bytes) -> bool:
    """Whether some, but not all of the first bytes are null, as in ASCII text with two or four
    bytes a character.
    """
    text = file_start.removeprefix(BOM).lstrip()
    return 0 < text[:4].count(0) < 4


def detect_form(file_start: bytes) -> FileForm:
    """Find out how a file separates its records, by its first bytes.

    The file is one that `find_refusal` does not refuse. The usual form is JSON Lines, "lines".
    """
    if file_start.startswith(UTF16_BOMS):
        return "utf16"
    text = file_start.removeprefix(BOM).lstrip()
    if _has_lines_that_end_with_cr(text):
        return "cr_lines"

    first_line, _, rest = text.partition(b"\n")
    starts_list_of_objects = text.startswith(b"[") and text[1:].lstrip().startswith(b"{")
    if starts_list_of_objects:
        # In JSON Lines, a line can be such a list, too. Then the list ends with the line, and
        # others follow.
        has_second_line = rest.strip() != b""
        is_line = has_second_line and parse_json_or_none(first_line) is not None
        return "lines" if is_line else "array"
    if _spans_several_lines(first_line, rest):
        # Objects with line feeds inside, or an array of other values than objects.
        return "objects" if text.startswith(b"{") else "array"
    return "lines"


def _has_lines_that_end_with_cr(text: bytes) -> bool:
    """Whether CR separates records. A CR can also be white space inside of a record."""
    if b"\n" in text or b"\r" not in text.rstrip(b"\r"):
        return False
    return all(parse_json_or_none(line) is not None for line in text.split(b"\r")[:2])


def _spans_several_lines(first_line: bytes, rest: bytes) -> bool:
    """Whether the first record or array goes on after the first line."""
    is_bracket_alone = first_line.strip() in (b"{", b"[")
    is_open_array = first_line[:1] == b"[" and first_line.rstrip().endswith(b",")
    may_go_on = is_bracket_alone or is_open_array
    if not may_go_on:
        return False
    # A second line that is a whole object is a record of JSON Lines, whose first line is damaged.
    second_line = rest.lstrip().partition(b"\n")[0].strip()
    is_record = isinstance(parse_json_or_none(second_line), dict)
    return not is_record


def parse_json_or_none(raw: bytes) -> Any:
    """Return the JSON value of a text, or None if it is not JSON."""
    # Python's parser is much slower, but it also accepts NaN and bytes that are not UTF-8.
    with contextlib.suppress(orjson.JSONDecodeError):
        return orjson.loads(raw)
    try:
        return json.loads(raw.decode("utf-8", "replace")) if raw.strip() else None
    except (ValueError, RecursionError):
        return None
