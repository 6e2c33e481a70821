"""One-line reasons why a predicted value is not an accepted one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.model import Fields
from fcreview.values import brief, to_json_text

_WORDS = {
    str: "string",
    int: "integer",
    float: "float",
    bool: "boolean",
    type(None): "null",
    list: "list",
    tuple: "tuple",
    dict: "object",
    Fields: "object",
}


def word(value: Any) -> str:
    """JSON's word for the type of a value; Python's for other literals."""
    return _WORDS.get(type(value)) or type(value).__name__


def type_differs(accepted: Sequence[Any], value: Any) -> str:
    """`type differs: string "5", golden integer 5`."""
    golden = f"golden {_typed(accepted[0])}" if len(accepted) == 1 else f"none of {len(accepted)} accepted values"
    return f"type differs: {_typed(value)}, {golden}"


def value_differs(accepted: Sequence[Any], value: Any) -> str:
    """`value differs: 3, golden 5`, `none of 2 accepted values`; says so if only case, blanks or the type differ."""
    if word(value) not in {word(one) for one in accepted}:
        return type_differs(accepted, value)
    if len(accepted) > 1:
        near = next((found for one in accepted if (found := _near(one, value))), None)
        return f"none of {len(accepted)} accepted values" + (f": {near}" if near else "")
    return _near(accepted[0], value) or f"value differs: {brief(value)}, golden {brief(accepted[0])}"


def too_many(places: int, listed: int) -> str:
    return f"{places:,} places inside differ, the first {listed} are listed"


def _typed(value: Any) -> str:
    return "null" if value is None else f"{word(value)} {brief(value)}"


def _near(expected: Any, value: Any) -> str | None:
    if not (isinstance(expected, str) and isinstance(value, str)):
        return None
    if expected.casefold() == value.casefold():
        return f"only upper and lower case differ from {brief(expected)}"
    if "".join(expected.split()) == "".join(value.split()):
        return f"only blanks differ from {brief(expected)}"
    if to_json_text(value) == expected or value == to_json_text(expected):
        return f"only quotation marks differ from {brief(expected)}"
    return None
