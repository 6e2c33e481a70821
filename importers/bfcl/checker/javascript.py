"""Convert a JavaScript argument from source text to the value that the checker compares."""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.bfcl.checker import literals
from fcreview.importers.bfcl.decoders.base import find_blocks

PYTHON_TYPES: dict[str, type] = {
    "String": str, "integer": int, "float": float, "Bigint": int, "Boolean": bool, "dict": dict, "array": list,
    "any": str,
}  # fmt: skip
"""Declared JavaScript type -> type of the Python value."""
TYPES_WITH_ELEMENTS = ("array",)

ROWS = re.compile(r"(?:\[|new\s+Array\()\s*\[")
ROWS_END = {"[": re.compile(r"\]\s*\]"), "n": re.compile(r"\]\s*\)")}
BETWEEN_ROWS = re.compile(r"\]\s*,\s*\[")
"""Separator of rows, the only part of a list of rows that may contain a newline."""
NEW_ARRAY = re.compile(r"new\s+Array\(")


def convert(text: str, declared_type: str, element_type: str | None = None) -> Any:
    """Convert JavaScript source text to a value of the declared type. Text that does not match stays text."""
    match declared_type:
        case "String":
            return text[1:-1] if literals.is_quoted(text, "\"'") else text
        case "integer":
            return literals.parse_integer(text)
        case "float":
            return float(text) if literals.DECIMAL.match(text) else text
        case "Bigint":
            return literals.parse_suffixed(text, "n", literals.parse_integer)
        case "Boolean":
            return literals.BOOLEANS.get(text, text)
        case "array" if len(text) <= literals.MAX_LITERAL:
            return _parse_array(text.strip(), element_type)
        case "dict" if len(text) <= literals.MAX_LITERAL:
            return _parse_object(text.strip())
    return text


def guess_value(text: str) -> Any:
    """Convert an element whose type is not declared. Text in an unknown form stays text."""
    text = text.strip()
    if text in literals.BOOLEANS:
        return literals.BOOLEANS[text]
    return text[1:-1] if literals.is_quoted(text, "\"'") else literals.guess_number(text)


def _parse_array(text: str, element_type: str | None) -> Any:
    rows = ROWS.match(text)
    end = ROWS_END[text[0]].search(text, rows.end()) if rows else None
    if rows and end:
        inside = text[rows.end() - 1 : end.start() + 1]
        if "\n" not in inside or "\n" not in BETWEEN_ROWS.sub("],[", inside):
            return [[guess_value(part) for part in row.split(",")] for row in find_blocks(inside, "[", "]")]
    line: str | None
    if text.startswith("["):
        line = literals.text_until(text, 1, "]")
    else:
        head = NEW_ARRAY.match(text)
        line = literals.text_until(text, head.end(), ")") if head else None
    if line is None or (element_type is not None and element_type not in PYTHON_TYPES):
        return text
    parts = [part.strip() for part in line.split(",")] if line.strip() else []
    return [convert(part, element_type) if element_type else guess_value(part) for part in parts]


def _parse_object(text: str) -> Any:
    """Parse an object without inner objects. As in the official program, it ends at the first closing brace."""
    inside = literals.text_until(text, 1, "}") if text.startswith("{") else None
    if inside is None:
        return text
    found: dict[str, Any] = {}
    position = 0
    while (colon := inside.find(":", position)) >= 0:
        key = inside[position:colon]
        position = colon + 1
        if not key:
            continue
        end = _find_value_end(inside, position)
        value = inside[position:end].strip()
        position = len(inside) - len(inside[end + 1 :].lstrip())
        if value.startswith("[") and value.endswith("]"):
            found[key.strip().strip("'\"")] = _parse_array(value, None)
        else:
            found[key.strip().strip("'\"")] = guess_value(value.strip("'\""))
    return found


def _find_value_end(text: str, start: int) -> int:
    """Return the position of the next comma that another key follows, or the end of the text.

    A key follows if a colon comes before the next comma.
    """
    comma = text.find(",", start)
    while comma >= 0:
        following = text.find(",", comma + 1)
        if text.find(":", comma + 2, len(text) if following < 0 else following) >= 0:
            return comma
        comma = following
    return len(text)
