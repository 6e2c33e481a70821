"""What Java and JavaScript source text of an argument stands for: pieces shared by the two conversions.

Text that does not have the form of its declared type stays text, and the type check then refuses it (the
evaluator's `java_type_converter.py` and `js_type_converter.py`).
"""

from __future__ import annotations

import re
from typing import Any

MAX_LITERAL = 10_000
"""Characters of a collection literal; longer ones stay text, so that hostile input costs nothing."""

INTEGER = re.compile(r"-?\d+\n?\Z")
DECIMAL = re.compile(r"-?\d+(?:\.\d+)?\n?\Z")
SCIENTIFIC = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\n?\Z")
BOOLEANS = {"true": True, "false": False}


def is_quoted(text: str, quotes: str) -> bool:
    """Whether the text starts and ends with the same one of these quotes."""
    return any(text.startswith(quote) and text.endswith(quote) for quote in quotes)


def parse_integer(text: str) -> Any:
    """The integer, or the text itself if it is none (or has thousands of digits)."""
    try:
        return int(text) if INTEGER.match(text) else text
    except ValueError:
        return text


def guess_number(text: str) -> Any:
    """An integer, else a float, else the text: as Python reads numbers."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def text_until(text: str, start: int, closing: str, least: int = 0) -> str | None:
    """The text from `start` to the next `closing`, `least` characters or more; None if there is none on
    the same line."""
    end = text.find(closing, start + least)
    return None if end < 0 or "\n" in text[start:end] else text[start:end]
