"""Convert JSON values to text, plain JSON and hashes, and handle paths inside arguments.

A predicted value can be any Python literal, such as a tuple, bytes, a set, a complex number or an
integer of any size. Golden values can contain `AcceptedValues` and `GoldenObject`. Nesting is
limited to `MAX_DEPTH` levels, because files can contain malicious data. A text replaces values at
deeper levels.

A path identifies a value inside the arguments of a call: `city`, `filter.price`, `items[2].name`,
`filter["a.b"]`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from hashlib import blake2b
from json.encoder import encode_basestring
from types import EllipsisType
from typing import Any

import orjson

from fcreview.model.item import AcceptedValues, GoldenObject

MAX_DEPTH = 100
"""Maximum nesting of a value, in levels.

Deeper nesting could exceed the recursion limits of Python and orjson.
"""
TOO_DEEP_TEXT = f"… nested deeper than {MAX_DEPTH} levels"


def is_nested_deeper_than(value: Any, levels: int) -> bool:
    """Whether a JSON value has more than `levels` levels of nested objects and lists."""
    layer = [value]
    for _ in range(levels + 1):
        containers = [
            one.values() if isinstance(one, dict) else one
            for one in layer
            if isinstance(one, (dict, list))
        ]
        layer = [part for container in containers for part in container]
    return bool(layer)


def is_string_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def abbreviate(value: Any, max_length: int = 60) -> str:
    """Format a value with `to_json_text`, and shorten the text to at most `max_length`
    characters.
    """
    if isinstance(value, str):
        value = value[: max_length + 1]
    text = to_json_text(value)
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def abbreviate_golden(value: Any, max_length: int = 60) -> str:
    """Format a golden value with `abbreviate`: the first accepted value and the number of
    others, `"km" or 2 more`.
    """
    if not isinstance(value, AcceptedValues) or not value.any_of:
        return abbreviate(value, max_length)
    more = len(value.any_of) - 1
    return abbreviate(value.any_of[0], max_length) + (f" or {more} more" if more else "")


def to_json_text(value: Any, depth: int = 0) -> str:
    """Format a value in one line, not sanitized: `{"a": [1, 2.0, "3", true, null]}`, `(1, 2)`,
    `NaN`. Accepted values become `"C" or "F"`. A question mark follows the name of an optional
    field: `{"unit"?: "C" or "F"}`.
    """
    kind = type(value)
    if kind is str:
        return str(encode_basestring(value))
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if kind is int:
        return _format_integer(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else _format_non_finite(value)
    if depth >= MAX_DEPTH:
        return TOO_DEEP_TEXT
    if isinstance(value, dict):
        return _join_parts(
            "{",
            [f"{_format_key(key)}: {to_json_text(one, depth + 1)}" for key, one in value.items()],
            "}",
        )
    if isinstance(value, list):
        return _join_parts("[", [to_json_text(one, depth + 1) for one in value], "]")
    if isinstance(value, tuple):
        return _join_parts(
            "(", [to_json_text(one, depth + 1) for one in value], ",)" if len(value) == 1 else ")"
        )
    if isinstance(value, (AcceptedValues, GoldenObject)):
        return _format_golden(value, depth)
    return _format_literal(value, depth)


def _format_golden(value: AcceptedValues | GoldenObject, depth: int) -> str:
    if isinstance(value, AcceptedValues):
        return " or ".join([to_json_text(one, depth) for one in value.any_of]) or "(omitted)"
    fields = [
        f"{_format_key(name)}{'?' if accepted.optional else ''}:"
        f" {to_json_text(accepted, depth + 1)}"
        for name, accepted in value.fields.items()
    ]
    return _join_parts("{", fields, "}")


def _join_parts(opening: str, parts: list[str], closing: str) -> str:
    return f"{opening}{', '.join(parts)}{closing}"


def _format_key(key: Any) -> str:
    return str(encode_basestring(key)) if isinstance(key, str) else to_json_text(key)


def _format_integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python raises ValueError for an integer of thousands of digits.
        return hex(value)


def _format_non_finite(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _format_literal(value: Any, depth: int) -> str:
    if isinstance(value, (str, bool, int, float)):
        plain = next(kind for kind in (str, bool, int, float) if isinstance(value, kind))
        return to_json_text(plain(value), depth)
    if isinstance(value, (set, frozenset)):
        return _join_parts("{", sorted([to_json_text(one, depth + 1) for one in value]), "}")
    if isinstance(value, (bytes, complex, EllipsisType)):
        return repr(value)
    return f"<{type(value).__name__}>"


def to_plain_json(value: Any, depth: int = 0) -> Any:
    """Convert a value to plain JSON that orjson can write. This is slow, so callers first try to
    write the original value.

    Integers beyond 64 bits, non-finite numbers, bytes and other literals become text. Lone
    surrogates become `\\udXXX`. Tuples and sets become lists. Keys become text. If two keys become
    equal, a prime is appended to the second. `AcceptedValues` becomes `{"any_of": [...],
    "optional": false}`, and `GoldenObject` becomes `{"fields": {...}}`.
    """
    kind = type(value)
    if kind is str:
        return (
            value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        )
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**64 else _format_integer(value)
    if kind is float:
        return value if math.isfinite(value) else _format_non_finite(value)
    if depth >= MAX_DEPTH:
        return TOO_DEEP_TEXT
    if isinstance(value, dict):
        return _to_plain_object(value, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = sorted(value, key=to_json_text) if isinstance(value, (set, frozenset)) else value
        return [to_plain_json(one, depth + 1) for one in parts]
    if isinstance(value, AcceptedValues):
        return to_plain_json({"any_of": value.any_of, "optional": bool(value.optional)}, depth)
    if isinstance(value, GoldenObject):
        return to_plain_json({"fields": value.fields}, depth)
    return to_plain_json(_format_literal(value, depth), depth)


def _to_plain_object(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, one in value.items():
        name = to_plain_json(key if isinstance(key, str) else to_json_text(key), depth)
        while name in plain:
            name += "′"
        plain[name] = to_plain_json(one, depth + 1)
    return plain


def parse_json(text: str | None) -> Any:
    """Parse JSON text.

    Returns None for None, because DuckDB returns None for the SQL value NULL.
    """
    return None if text is None else orjson.loads(text)


def canonical_json(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """Return JSON with sorted keys and without white space. The texts of `1`, `1.0` and `true`
    differ. `default` converts values of types that JSON does not have. Raises TypeError for other
    types.
    """
    return orjson.dumps(value, default, orjson.OPT_SORT_KEYS)


def json_hash(value: Any, n_bytes: int, default: Callable[[Any], Any] | None = None) -> str:
    """Return a hash of a value: BLAKE2b of its `canonical_json`, with `n_bytes` bytes, as hex."""
    return blake2b(canonical_json(value, default), digest_size=n_bytes).hexdigest()


def answer_hash(value: Any) -> str:
    """Return a hash of a predicted or golden answer: BLAKE2b (8 bytes, as hex) of its JSON.

    Keys are not sorted.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        text = orjson.dumps(to_plain_json(value))
    return blake2b(text, digest_size=8).hexdigest()


def parse_accepted_values(stored: Any, depth: int = 0) -> AcceptedValues:
    """Parse stored accepted values: `{"any_of": [...], "optional": false}`.

    Raises ValueError for any other form.
    """
    if not _is_stored_accepted_values(stored):
        raise ValueError(
            'a golden argument must be stored as {"any_of": [...], "optional": true or false}'
        )
    values = [_parse_accepted_value(one, depth + 1) for one in stored["any_of"]]
    return AcceptedValues(values, bool(stored.get("optional", False)))


def _is_stored_accepted_values(stored: Any) -> bool:
    return (
        isinstance(stored, dict)
        and isinstance(stored.get("any_of"), list)
        and stored.keys() <= {"any_of", "optional"}
    )


def _parse_accepted_value(stored: Any, depth: int) -> Any:
    if depth < MAX_DEPTH:
        if isinstance(stored, list):
            return [_parse_accepted_value(one, depth + 1) for one in stored]
        if isinstance(stored, dict):
            fields = stored.get("fields")
            if (
                len(stored) == 1
                and isinstance(fields, dict)
                and all(map(_is_stored_accepted_values, fields.values()))
            ):
                return GoldenObject(
                    {name: parse_accepted_values(one, depth + 1) for name, one in fields.items()}
                )
            return {name: _parse_accepted_value(one, depth + 1) for name, one in stored.items()}
    return stored


_BARE_NAME = re.compile(r'[^.\[\]"]+')
_PATH_STEP = re.compile(r'\[(-?\d{1,18})\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[\]"]+)', re.DOTALL)


def append_to_path(path: str, key: Any) -> str:
    """Append a field name or a list index (from 0) to a path.

    The path of a whole argument is its name.
    """
    if type(key) is int and abs(key) < 10**18:
        return f"{path}[{key}]"
    name = key if isinstance(key, str) else to_json_text(key)
    if _BARE_NAME.fullmatch(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{to_json_text(name)}]"


def split_path(path: str) -> list[str | int]:
    """Split a path from `append_to_path` into names and list indexes, outermost first."""
    keys: list[str | int] = []
    start = 0
    while start < len(path):
        match = _PATH_STEP.match(path, start)
        if match is None:  # The path is not from `append_to_path`.
            return [path]
        index, quoted, bare = match.groups()
        keys.append(int(index) if index else json.loads(quoted, strict=False) if quoted else bare)
        start = match.end()
    return keys
