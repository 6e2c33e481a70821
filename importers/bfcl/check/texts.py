"""What BFCL takes for equal, and how texts and values are put into the checker's messages."""

from __future__ import annotations

import re
from typing import Any

from fcreview.calls.rules import Rules
from fcreview.values import brief

_ignored = re.compile(r"[ ,./\-_*^]").sub

TYPE_NAMES = {
    str: "a string",
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
}


def normalise(text: str) -> str:
    """`Hangzhou, China` -> `hangzhouchina`: without a few characters, without case, with one kind of quote.

    Tabs, newlines, `:`, `$` and accents stay.
    """
    return _ignored("", text).lower().replace("'", '"')


def normalise_any(value: Any) -> Any:
    """A text normalised, anything else as it is (texts inside lists too)."""
    return normalise(value) if type(value) is str else value


def normalise_list(values: Any) -> list[Any]:
    """A list with the texts directly in it normalised."""
    return [_ignored("", value).lower().replace("'", '"') if type(value) is str else value for value in values]


def _same_name(golden: str, predicted: str) -> bool:
    """Native function calling cannot have dots in names, so `math.factorial` was offered as `math_factorial`."""
    return golden == predicted or golden.replace(".", "_") == predicted


RULES = Rules(normalise=normalise, int_is_float=True, tuple_is_list=True, same_name=_same_name)
"""The same for the comparison engine."""


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
