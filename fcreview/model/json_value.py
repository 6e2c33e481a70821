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
from collections.abc import Callable, Iterable
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
MIN_JSON_INTEGER = -(2**63)
MAX_JSON_INTEGER = 2**64 - 1
"""Largest integer that orjson can write. The smallest one is `MIN_JSON_INTEGER`."""


def is_nested_deeper_than(value: Any, levels: int) -> bool:
    """Whether a JSON value has more than `levels` levels of nested objects and lists."""
    values_of_level = [value]
    for _ in range(levels + 1):
        values_of_level = _list_inner_values(values_of_level)
    return bool(values_of_level)


def _list_inner_values(values: list[Any]) -> list[Any]:
    """List the fields of all objects and the elements of all lists among the values."""
    inner_values: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            inner_values.extend(value.values())
        elif isinstance(value, list):
            inner_values.extend(value)
    return inner_values


def is_string_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def abbreviate(value: Any, max_length: int = 60) -> str:
    """Format a value with `to_json_text`, and shorten the text to at most `max_length`
    characters.
    """
    if isinstance(value, str):
        # A text can be long, and its JSON is at least as long as the text.
        text = to_json_text(value[: max_length + 1])
    else:
        text = to_json_text(value)

    if len(text) <= max_length:
        return text
    return text[: max_length - 1] + "…"


def abbreviate_golden(value: Any, max_length: int = 60) -> str:
    """Format a golden value with `abbreviate`: the first accepted value and the number of
    others, `"km" or 2 more`.
    """
    if not isinstance(value, AcceptedValues) or not value.any_of:
        return abbreviate(value, max_length)

    first_value, *other_values = value.any_of
    text = abbreviate(first_value, max_length)
    if other_values:
        text += f" or {len(other_values)} more"
    return text


def to_json_text(value: Any, depth: int = 0) -> str:
    """Format a value in one line, not sanitized: `{"a": [1, 2.0, "3", true, null]}`, `(1, 2)`,
    `NaN`. Accepted values become `"C" or "F"`. A question mark follows the name of an optional
    field: `{"unit"?: "C" or "F"}`.
    """
    # The exact type is checked first, because most values are plain JSON.
    kind = type(value)
    if kind is str:
        return str(encode_basestring(value))
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return _format_integer(value)
    if kind is float:
        return _format_float(value)

    if depth >= MAX_DEPTH:
        return TOO_DEEP_TEXT
    return _format_container(value, depth)


def _format_container(value: Any, depth: int) -> str:
    """Format a value that is not a plain JSON scalar."""
    if isinstance(value, dict):
        fields = [
            f"{_format_key(key)}: {to_json_text(field, depth + 1)}" for key, field in value.items()
        ]
        return _join_parts("{", fields, "}")
    if isinstance(value, list):
        return _join_parts("[", _format_elements(value, depth), "]")
    if isinstance(value, tuple):
        # As in Python, a tuple of one element ends in a comma.
        closing = ",)" if len(value) == 1 else ")"
        return _join_parts("(", _format_elements(value, depth), closing)
    if isinstance(value, AcceptedValues):
        return _format_accepted_values(value, depth)
    if isinstance(value, GoldenObject):
        return _format_golden_object(value, depth)
    return _format_literal(value, depth)


def _format_elements(elements: Iterable[Any], depth: int) -> list[str]:
    return [to_json_text(element, depth + 1) for element in elements]


def _format_accepted_values(accepted: AcceptedValues, depth: int) -> str:
    """Format the accepted values: `"C" or "F"`. Without any, the argument must be omitted."""
    texts = [to_json_text(value, depth) for value in accepted.any_of]
    return " or ".join(texts) or "(omitted)"


def _format_golden_object(golden_object: GoldenObject, depth: int) -> str:
    fields = []
    for name, accepted in golden_object.fields.items():
        mark = "?" if accepted.optional else ""
        fields.append(f"{_format_key(name)}{mark}: {to_json_text(accepted, depth + 1)}")
    return _join_parts("{", fields, "}")


def _join_parts(opening: str, parts: list[str], closing: str) -> str:
    return f"{opening}{', '.join(parts)}{closing}"


def _format_key(key: Any) -> str:
    return str(encode_basestring(key)) if isinstance(key, str) else to_json_text(key)


def _format_integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        # Python raises ValueError for an integer of thousands of digits.
        return hex(value)


def _format_float(value: float) -> str:
    return repr(value) if math.isfinite(value) else _format_non_finite(value)


def _format_non_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _format_literal(value: Any, depth: int) -> str:
    """Format a value that JSON does not have, such as a set, or of a subclass, such as of `str`."""
    for plain_type in (str, bool, int, float):
        if isinstance(value, plain_type):
            return to_json_text(plain_type(value), depth)

    if isinstance(value, (set, frozenset)):
        # The order of a set is random.
        return _join_parts("{", sorted(_format_elements(value, depth)), "}")
    if isinstance(value, (bytes, complex, EllipsisType)):
        return repr(value)
    return f"<{type(value).__name__}>"


def has_non_finite_number(value: Any) -> bool:
    """Whether a value of objects, lists and scalars contains NaN or an infinite number."""
    if isinstance(value, dict):
        return any(map(has_non_finite_number, value.values()))
    if isinstance(value, list):
        return any(map(has_non_finite_number, value))
    return isinstance(value, float) and not math.isfinite(value)


def to_plain_json(value: Any, depth: int = 0) -> Any:
    """Convert a value to plain JSON that orjson can write.

    This is slow, so callers first try to write the original value.

    - Integers beyond 64 bits, non-finite numbers, bytes and other literals become text.
    - Lone surrogates in texts become `\\udXXX`.
    - Tuples and sets become lists.
    - Keys become text. If two keys become equal, a prime is appended to the second.
    - `AcceptedValues` becomes `{"any_of": [...], "optional": false}`.
    - `GoldenObject` becomes `{"fields": {...}}`.
    - Values deeper than `MAX_DEPTH` become a text.
    """
    kind = type(value)
    if kind is str:
        return _escape_lone_surrogates(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if MIN_JSON_INTEGER <= value <= MAX_JSON_INTEGER else _format_integer(value)
    if kind is float:
        return value if math.isfinite(value) else _format_non_finite(value)

    if depth >= MAX_DEPTH:
        return TOO_DEEP_TEXT
    return _to_plain_container(value, depth)


def _to_plain_container(value: Any, depth: int) -> Any:
    """Convert a value that is not a plain JSON scalar."""
    if isinstance(value, dict):
        return _to_plain_object(value, depth)
    if isinstance(value, (list, tuple)):
        return [to_plain_json(element, depth + 1) for element in value]
    if isinstance(value, (set, frozenset)):
        # The order of a set is random.
        elements = sorted(value, key=to_json_text)
        return [to_plain_json(element, depth + 1) for element in elements]
    if isinstance(value, AcceptedValues):
        return to_plain_json({"any_of": value.any_of, "optional": bool(value.optional)}, depth)
    if isinstance(value, GoldenObject):
        return to_plain_json({"fields": value.fields}, depth)
    return to_plain_json(_format_literal(value, depth), depth)


def _escape_lone_surrogates(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _to_plain_object(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    """Return an object as plain JSON. Keys that are not text become text."""
    plain: dict[str, Any] = {}
    for key, field in value.items():
        text = key if isinstance(key, str) else to_json_text(key)
        name = to_plain_json(text, depth)
        # Different keys can have the same text, such as 1 and "1".
        while name in plain:
            name += "′"
        plain[name] = to_plain_json(field, depth + 1)
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
    """Return the accepted values of an argument from their stored JSON: `{"any_of": [...],
    "optional": false}`. Raises ValueError for any other JSON.
    """
    if not _is_stored_accepted_values(stored):
        raise ValueError(
            'a golden argument must be stored as {"any_of": [...], "optional": true or false}'
        )
    values = [_parse_accepted_value(value, depth + 1) for value in stored["any_of"]]
    return AcceptedValues(values, optional=bool(stored.get("optional", False)))


def _is_stored_accepted_values(stored: Any) -> bool:
    return (
        isinstance(stored, dict)
        and isinstance(stored.get("any_of"), list)
        and stored.keys() <= {"any_of", "optional"}
    )


def _parse_accepted_value(stored: Any, depth: int) -> Any:
    """Return a stored value in which `{"fields": {...}}` is replaced by a `GoldenObject`."""
    if depth >= MAX_DEPTH:
        return stored
    if isinstance(stored, list):
        return [_parse_accepted_value(element, depth + 1) for element in stored]
    if not isinstance(stored, dict):
        return stored

    if _is_stored_golden_object(stored):
        fields = stored["fields"].items()
        return GoldenObject(
            {name: parse_accepted_values(field, depth + 1) for name, field in fields}
        )
    return {name: _parse_accepted_value(field, depth + 1) for name, field in stored.items()}


def _is_stored_golden_object(stored: dict[str, Any]) -> bool:
    """Whether an object has only the field `fields`, and each of these has accepted values."""
    fields = stored.get("fields")
    if len(stored) != 1 or not isinstance(fields, dict):
        return False
    return all(_is_stored_accepted_values(field) for field in fields.values())


_BARE_NAME = re.compile(r'[^.\[\]"]+')
_MAX_PATH_INDEX = 10**18
_PATH_STEP = re.compile(r'\[(-?\d{1,18})\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[\]"]+)', re.DOTALL)


def append_to_path(path: str, key: Any) -> str:
    """Append a field name or a list index (from 0) to a path.

    The path of a whole argument is its name.
    """
    # `_PATH_STEP` reads an index of up to 18 digits. Larger integers are names.
    if type(key) is int and abs(key) < _MAX_PATH_INDEX:
        return f"{path}[{key}]"

    name = key if isinstance(key, str) else to_json_text(key)
    if not _BARE_NAME.fullmatch(name):
        return f"{path}[{to_json_text(name)}]"
    return f"{path}.{name}" if path else name


def split_path(path: str) -> list[str | int]:
    """Split a path from `append_to_path` into names and list indexes, outermost first.

    Any other text is returned as a single name.
    """
    keys: list[str | int] = []
    start = 0
    while start < len(path):
        match = _PATH_STEP.match(path, start)
        # The path is not from `append_to_path`.
        if match is None:
            return [path]
        keys.append(_read_path_step(match))
        start = match.end()
    return keys


def _read_path_step(match: re.Match[str]) -> str | int:
    """Return a step of a path in a JSON value: an index of a list, or a name."""
    index, quoted_name, bare_name = match.groups()
    if index:
        return int(index)
    if quoted_name:
        return str(json.loads(quoted_name, strict=False))
    return str(bare_name)
