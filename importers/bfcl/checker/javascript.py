"""JavaScript source text of an argument to the value it is compared as."""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.bfcl.checker.literals import (
    BOOLEANS,
    DECIMAL,
    MAX_LITERAL,
    guess_number,
    is_quoted,
    parse_integer,
    text_until,
)

PYTHON_TYPES: dict[str, type] = {
    "String": str,
    "integer": int,
    "float": float,
    "Bigint": int,
    "Boolean": bool,
    "dict": dict,
    "array": list,
    "any": str,
}
TYPES_WITH_ELEMENTS = ("array",)

ROWS = re.compile(r"(?:\[|new\s+Array\()\s*\[")
ROWS_END = {"[": re.compile(r"\]\s*\]"), "n": re.compile(r"\]\s*\)")}
BETWEEN_ROWS = re.compile(r"\]\s*,\s*\[")
"""The only place in a list of rows where a line may end."""
NEW_ARRAY = re.compile(r"new\s+Array\(")


def convert(text: str, declared_type: str, element_type: str | None = None) -> Any:
    """The value of JavaScript source `text` for a parameter of type `kind` with elements of type `nested`.

    The text itself if it does not have the form of the type.
    """
    match declared_type:
        case "String":
            return text[1:-1] if is_quoted(text, "\"'") else text
        case "integer":
            return parse_integer(text)
        case "float":
            return float(text) if DECIMAL.match(text) else text
        case "Bigint":
            number = parse_integer(text.removesuffix("\n")[:-1]) if text.removesuffix("\n").endswith("n") else text
            return text if isinstance(number, str) else number
        case "Boolean":
            return BOOLEANS.get(text, text)
        case "array" if len(text) <= MAX_LITERAL:
            return _parse_array(text.strip(), element_type)
        case "dict" if len(text) <= MAX_LITERAL:
            return _parse_object(text.strip())
    return text


def guess_value(text: str) -> Any:
    """The value of an element whose type is not declared."""
    text = text.strip()
    if text in BOOLEANS:
        return BOOLEANS[text]
    return text[1:-1] if is_quoted(text, "\"'") else guess_number(text)


def _parse_array(text: str, nested: str | None) -> Any:
    rows = ROWS.match(text)
    end = ROWS_END[text[0]].search(text, rows.end()) if rows else None
    if rows and end:
        inside = text[rows.end() - 1 : end.start() + 1]
        if "\n" not in inside or "\n" not in BETWEEN_ROWS.sub("],[", inside):
            return [[guess_value(part) for part in row.split(",")] for row in _split_rows(inside)]
    line: str | None
    if text.startswith("["):
        line = text_until(text, 1, "]")
    else:
        head = NEW_ARRAY.match(text)
        line = text_until(text, head.end(), ")") if head else None
    if line is None or (nested is not None and nested not in PYTHON_TYPES):
        return text
    parts = [part.strip() for part in line.split(",")] if line.strip() else []
    return [convert(part, nested) if nested else guess_value(part) for part in parts]


def _split_rows(text: str) -> list[str]:
    """What stands between `[` and the next `]`, again and again."""
    rows = []
    start = text.find("[")
    while start >= 0:
        end = text.find("]", start)
        if end < 0:
            break
        rows.append(text[start + 1 : end])
        start = text.find("[", end)
    return rows


def _parse_object(text: str) -> Any:
    """A shallow object: a nested one ends it at its own closing brace, as in the evaluator."""
    inside = text_until(text, 1, "}") if text.startswith("{") else None
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
    """The place of the comma after which another key begins, that is, a colon comes before the next comma."""
    comma = text.find(",", start)
    while comma >= 0:
        following = text.find(",", comma + 1)
        if text.find(":", comma + 2, len(text) if following < 0 else following) >= 0:
            return comma
        comma = following
    return len(text)
