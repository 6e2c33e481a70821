"""Parse JSON texts within limits, and define the record of a file with its position."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

MAX_FILE_BYTES = 512 * 1024 * 1024
"""Maximum size of a file that is read as a whole."""
EXCERPT_LENGTH = 300
MAX_LISTED_KEYS = 3
MAX_KEY_LENGTH = 60
"""Number of characters of a repeated key that an issue shows."""
MAX_DIGITS = 4_300
"""Maximum number of digits of an integer that Python converts with its default settings."""
MAX_DEPTH = 200
"""Maximum nesting depth of lists and objects."""
MAX_WRITTEN_DEPTH = 254
"""Number of levels that orjson can write."""
NESTED_TYPES = (dict, list)


@dataclass(slots=True)
class JsonRecord:
    """Value of a line or a list element, with its line number from 1, and its position and
    length in bytes.
    """

    line: int
    offset: int
    length: int
    value: Any


_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_ROW_OF_DIGITS = b"0" * 19
_LONG_NUMBER = re.compile(rb"(?:^|[:,\[\s])(?:-[0-9]{19}|[0-9]{20})")
"""Matches an integer that may need more than 64 bits (63 if negative). orjson would read it as a
float.
"""
_MAX_MATCHED_DIGITS = 20
"""Number of digits that `_LONG_NUMBER` needs if there is no sign."""
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Matches an escaped surrogate, which may be half of a pair."""


def has_long_integer(raw: bytes) -> bool:
    """Whether a JSON text contains an integer that may need more than 64 bits.

    Long rows of digits are common, such as the fraction of a time, so that only the bytes around
    each of them are searched.
    """
    # As zeros, all rows of digits look the same, so that a fast search finds them.
    zeros = raw.translate(_DIGITS)
    first_digit = zeros.find(_LONG_ROW_OF_DIGITS)
    while first_digit != -1:
        # The pattern matches up to two characters before the digits: a separator and a sign.
        start = max(first_digit - 2, 0)
        end = first_digit + _MAX_MATCHED_DIGITS
        if _LONG_NUMBER.search(raw, start, end):
            return True
        first_digit = zeros.find(_LONG_ROW_OF_DIGITS, first_digit + len(_LONG_ROW_OF_DIGITS))
    return False


def parse_json_text(text: str, long_numbers: list[str]) -> Any:
    """Parse JSON. An integer that is too long for Python becomes a text, which is also added to
    `long_numbers`.

    Lone surrogates become the text `\\udXXX`, because no file, terminal or database can hold them.
    """
    value = _parse_regular_text(text)
    if value is _IRREGULAR:
        value = json.loads(text, parse_int=lambda digits: parse_integer(digits, long_numbers))
    if not may_have_surrogates(text):
        return value
    return escape_and_cut_strings(value)


_IRREGULAR = object()
"""Result for a text that orjson cannot read, or would not read correctly."""


def _parse_regular_text(text: str) -> Any:
    """Parse a text with orjson, which is several times faster than Python's parser."""
    if has_long_integer(text.encode("utf-8", "replace")):
        return _IRREGULAR
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _IRREGULAR


def find_repeated_keys(raw: bytes, value: Any) -> list[str]:
    """Return the keys that occur more than once in an object of a JSON text. Of equal keys, parsers
    keep only the last value.

    `raw` is the text, and `value` the parsed text. Each key has a colon, so the text is parsed
    again, which is slow, only if the two have different numbers of colons.
    """
    if count_colons(value) == raw.count(b":"):
        return []
    repeated: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        repeated.extend(name for name, count in counts.items() if count > 1)

    with contextlib.suppress(ValueError, RecursionError):
        json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=collect, parse_int=str)
    return list(dict.fromkeys(repeated))


def count_colons(value: Any) -> int | None:
    """Return the number of colons in the JSON text of a value. None if orjson cannot write it."""
    try:
        return orjson.dumps(value).count(b":")
    except (TypeError, ValueError, RecursionError):
        return None


def wrap_to_limit_depth(value: Any) -> Any:
    """Return a value in so many lists that orjson cannot write it if it has more than MAX_DEPTH
    levels.
    """
    wrapped = value
    for _ in range(MAX_WRITTEN_DEPTH - MAX_DEPTH):
        wrapped = [wrapped]
    return wrapped


def is_nested_too_deeply(value: Any) -> bool:
    """Whether a JSON value has more than MAX_DEPTH levels, which the store cannot write.

    The value is walked level by level and not by recursion, which deep values would exhaust.
    """
    if not isinstance(value, NESTED_TYPES):
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        parts: list[Any] = []
        for parent in level:
            children = parent.values() if isinstance(parent, dict) else parent
            parts += [child for child in children if isinstance(child, NESTED_TYPES)]
        if not parts:
            return False
        level = parts
    return True


def may_have_surrogates(text: str) -> bool:
    """Whether a JSON text has surrogates, or escaped ones that may be half of a pair."""
    if _has_lone_surrogate(text):
        return True
    # Searching for the start of an escaped surrogate first takes a seventh of the time.
    has_escape = "\\ud" in text or "\\uD" in text
    return has_escape and _ESCAPED_SURROGATE.search(text) is not None


def _has_lone_surrogate(text: str) -> bool:
    """Whether a text has a code point that UTF-8 cannot encode."""
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def describe_repeated_keys(keys: Sequence[str]) -> str:
    """Return the text of the issue for keys that an object has more than once."""
    listed = ", ".join(key[:MAX_KEY_LENGTH] for key in keys[:MAX_LISTED_KEYS])
    n_more = len(keys) - MAX_LISTED_KEYS
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"an object has the key {listed}{more} more than once. The last value is used"


def parse_json_prefix(text: str, start: int = 0) -> Any:
    """Parse the JSON value that begins at a position of a text, and ignore what follows. Lone
    surrogates are escaped.

    Raises ValueError if there is no complete value, and RecursionError beyond MAX_DEPTH levels.
    """
    value, _ = json.JSONDecoder().raw_decode(text, start)
    return escape_and_cut_strings(value)


def parse_integer(digits: str, long_numbers: list[str]) -> int | str:
    """Convert an integer.

    If it is too long for Python, return a text, and add this text to `long_numbers`.
    """
    if len(digits) <= MAX_DIGITS:
        return int(digits)
    long_numbers.append(f"{digits[:20]}… (a number of {len(digits):,} digits)")
    return long_numbers[-1]


def escape_and_cut_strings(value: Any, max_string_length: int | None = None, depth: int = 0) -> Any:
    """Return a copy of a JSON value whose strings the database can store.

    Lone surrogates, halves of a character that UTF-8 cannot encode, become text such as `\\ud83d`.
    Strings longer than `max_string_length` are cut. Raises RecursionError if the value is nested
    too deeply.
    """
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        text = _cut_string(value, max_string_length)
        if text.isascii():
            return text
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    if isinstance(value, list):
        return [escape_and_cut_strings(part, max_string_length, depth + 1) for part in value]
    if isinstance(value, dict):
        escaped = {}
        for key, part in value.items():
            escaped_key = escape_and_cut_strings(key, max_string_length, depth)
            escaped[escaped_key] = escape_and_cut_strings(part, max_string_length, depth + 1)
        return escaped
    return value


def _cut_string(text: str, max_length: int | None) -> str:
    if max_length is None or len(text) <= max_length:
        return text
    return f"{text[:max_length]} … [{len(text) - max_length:,} more characters]"


def make_excerpt(raw: bytes | str, limit: int = EXCERPT_LENGTH) -> str:
    """Return the beginning of a text, of at most `limit` characters and an ellipsis."""
    if isinstance(raw, str):
        text = raw
        is_complete = True
    else:
        # A character has at most four bytes.
        max_bytes = limit * 4
        text = raw[:max_bytes].decode("utf-8", "replace")
        is_complete = len(raw) <= max_bytes
    if is_complete and len(text) <= limit:
        return text
    return text[:limit] + "…"
