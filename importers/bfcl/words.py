"""Values as the checker's messages show them."""

from __future__ import annotations

from typing import Any

from fcreview.values import brief

TYPE_NAMES = {
    str: "a string",
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
}


def shown(value: Any) -> str:
    """One short piece of JSON-like text."""
    return brief(value, 80)


def choices(accepted: Any) -> str:
    """The acceptable values, the mark for "may be left out" aside."""
    values = accepted if isinstance(accepted, list) else [accepted]
    texts = [shown(value) for value in values if value != ""]
    if len(texts) > 5:
        texts[5:] = [f"{len(texts) - 5} more"]
    return ", ".join(texts) or '""'


def type_name(kind: type) -> str:
    return TYPE_NAMES.get(kind, "null" if kind is type(None) else f"a {kind.__name__}")
