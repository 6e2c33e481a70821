"""Parse numbers and strings for the conversion of Java and JavaScript arguments.

Source text that does not match its declared type stays text. The checker's type check then fails it. Source: the
official `java_type_converter.py` and `js_type_converter.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

MAX_LITERAL = 10_000
"""Longest collection literal that is parsed, in characters. The limit bounds the time for hostile input."""

INTEGER = re.compile(r"-?\d+\n?\Z")
DECIMAL = re.compile(r"-?\d+(?:\.\d+)?\n?\Z")
SCIENTIFIC = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\n?\Z")
BOOLEANS = {"true": True, "false": False}


def is_quoted(text: str, quotes: str) -> bool:
    """Whether the text starts and ends with the same character of `quotes`."""
    return any(text.startswith(quote) and text.endswith(quote) for quote in quotes)


def parse_integer(text: str) -> Any:
    """Return the integer, or the text itself if it is not an integer or has thousands of digits."""
    try:
        return int(text) if INTEGER.match(text) else text
    except ValueError:
        return text


def parse_suffixed(text: str, suffixes: str, parse: Callable[[str], Any]) -> Any:
    """Remove a suffix letter from the text and return the result of `parse`. Other text is returned unchanged."""
    number = text.removesuffix("\n")
    if not number.endswith(tuple(suffixes)):
        return text
    value = parse(number[:-1])
    return text if isinstance(value, str) else value


def guess_number(text: str) -> Any:
    """Return the text as a Python integer or else as a float; the text itself if it is neither."""
    for number_type in (int, float):
        with suppress(ValueError):
            return number_type(text)
    return text


def text_until(text: str, start: int, closing: str, min_length: int = 0) -> str | None:
    """Return the text from `start` to the next `closing` after at least `min_length` characters.

    None if `closing` does not follow on the same line.
    """
    end = text.find(closing, start + min_length)
    return None if end < 0 or "\n" in text[start:end] else text[start:end]
