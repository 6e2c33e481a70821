"""JSON values as people read them, and as the store can write them.

Predicted values may be what Python literals give (tuples, bytes, sets, complex numbers, integers of any size); golden
ones may hold `Accept` and `Fields`. Data is hostile: nesting is followed to `MAX_DEPTH` levels, then a text says so.

Canonical JSON and hashes of it.

Addresses of places inside a call's arguments: `city`, `filter.price`, `items[2].name`, `filter["a.b"]`.
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
"""Also keeps the recursion here, and orjson's own limit on what is stored, out of reach."""
TOO_DEEP_TEXT = f"… nested deeper than {MAX_DEPTH} levels"


def to_json_text(value: Any) -> str:
    """One line: `{"a": [1, 2.0, "3", true, null]}`. Tuples are `(1, 2)`, non-finite numbers `NaN` and `Infinity`.

    Golden alternatives read `"C" or "F"`; a field that may be left out has a question mark: `{"unit"?: "C" or "F"}`.
    The text is not safe to draw before `sanitise.visible`.
    """
    return _text(value, 0)


def is_nested_deeper(value: Any, levels: int) -> bool:
    """Whether JSON is nested in more levels than that."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [part for one in layer if isinstance(one, (dict, list)) for part in _parts(one)]
    return bool(layer)


def is_string_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _parts(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def abbreviate(value: Any, limit: int = 60) -> str:
    """`to_json_text` cut to about `limit` characters, for reasons and lists."""
    if isinstance(value, str):
        value = value[: limit + 1]
    text = to_json_text(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def abbreviate_golden(value: Any, limit: int = 60) -> str:
    """The first of the accepted values, and how many there are besides: `"km" or 2 more`. Else as `brief`."""
    if not isinstance(value, AcceptedValues) or not value.any_of:
        return abbreviate(value, limit)
    more = len(value.any_of) - 1
    return abbreviate(value.any_of[0], limit) + (f" or {more} more" if more else "")


def _text(value: Any, depth: int) -> str:
    kind = type(value)
    if kind is str:
        return str(encode_basestring(value))
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if kind is int:
        return _integer_text(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else _non_finite(value)
    if depth >= MAX_DEPTH:
        return TOO_DEEP_TEXT
    if isinstance(value, dict):
        return _joined("{", [f"{_key(key)}: {_text(one, depth + 1)}" for key, one in value.items()], "}")
    if isinstance(value, list):
        return _joined("[", [_text(one, depth + 1) for one in value], "]")
    if isinstance(value, tuple):
        return _joined("(", [_text(one, depth + 1) for one in value], ",)" if len(value) == 1 else ")")
    if isinstance(value, (AcceptedValues, GoldenObject)):
        return _golden_text(value, depth)
    return _other(value, depth)


def _golden_text(value: AcceptedValues | GoldenObject, depth: int) -> str:
    if isinstance(value, AcceptedValues):
        return " or ".join([_text(one, depth) for one in value.any_of]) or "(left out)"
    fields = [
        f"{_key(name)}{'?' if accept.optional else ''}: {_text(accept, depth + 1)}"
        for name, accept in value.fields.items()
    ]
    return _joined("{", fields, "}")


def _joined(opening: str, parts: list[str], closing: str) -> str:
    return f"{opening}{', '.join(parts)}{closing}"


def _key(key: Any) -> str:
    return str(encode_basestring(key)) if isinstance(key, str) else _text(key, 0)


def _integer_text(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to write thousands of digits in decimal
        return hex(value)


def _non_finite(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _other(value: Any, depth: int) -> str:
    if isinstance(value, (str, bool, int, float)):  # of a subclass
        plain = next(kind for kind in (str, bool, int, float) if isinstance(value, kind))
        return _text(plain(value), depth)
    if isinstance(value, (set, frozenset)):
        return _joined("{", sorted([_text(one, depth + 1) for one in value]), "}")
    if isinstance(value, (bytes, complex, EllipsisType)):
        return repr(value)
    return f"<{type(value).__name__}>"


def to_plain_json(value: Any) -> Any:
    """`value` as plain JSON that orjson writes: try orjson first, this is for what it refuses.

    Integers beyond 64 bits, non-finite numbers, bytes and other literals become text; lone surrogates become
    `\\udXXX`; tuples and sets become lists; keys become text, and one that is there twice then gets a prime so that no
    value is lost.
    `Accept` and `Fields` become `{"any_of": [...], "optional": false}` and `{"fields": {...}}`.
    """
    return _safe(value, 0)


def _safe(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**64 else _integer_text(value)
    if kind is float:
        return value if math.isfinite(value) else _non_finite(value)
    if depth >= MAX_DEPTH:
        return TOO_DEEP_TEXT
    if isinstance(value, dict):
        return _safe_object(value, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = sorted(value, key=to_json_text) if isinstance(value, (set, frozenset)) else value
        return [_safe(one, depth + 1) for one in parts]
    if isinstance(value, AcceptedValues):
        return _safe({"any_of": value.any_of, "optional": bool(value.optional)}, depth)
    if isinstance(value, GoldenObject):
        return _safe({"fields": value.fields}, depth)
    return _safe(_other(value, depth), depth)


def _safe_object(value: dict[Any, Any], depth: int) -> dict[str, Any]:
    safe: dict[str, Any] = {}
    for key, one in value.items():
        name = _safe(key if isinstance(key, str) else to_json_text(key), depth)
        while name in safe:
            name += "′"
        safe[name] = _safe(one, depth + 1)
    return safe


def parse_json(text: str | None) -> Any:
    """The value of JSON text; None for None, as for a null in a table."""
    return None if text is None else orjson.loads(text)


def canonical_json(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """JSON with sorted keys and without white space. `1`, `1.0` and `true` are different.

    `default` converts what JSON does not have. TypeError for what cannot be written as JSON.
    """
    return orjson.dumps(value, default, orjson.OPT_SORT_KEYS)


def json_hash(value: Any, size: int, default: Callable[[Any], Any] | None = None) -> str:
    """blake2b of `canonical_json` in hex, `size` bytes long."""
    return blake2b(canonical_json(value, default), digest_size=size).hexdigest()


def answer_hash(value: Any) -> str:
    """blake2b-8 hex of the value's JSON, keys in their own order: `prediction_hash` and `golden_hash` of an item."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        text = orjson.dumps(to_plain_json(value))
    return blake2b(text, digest_size=8).hexdigest()


def parse_accepted_values(stored: Any) -> AcceptedValues:
    """The `Accept` that was stored as `{"any_of": [...], "optional": false}`.

    ValueError if `stored` is not of that shape.
    """
    return _accept(stored, 0)


def _accept(stored: Any, depth: int) -> AcceptedValues:
    if not _is_accept(stored):
        raise ValueError('a golden argument must be stored as {"any_of": [...], "optional": true or false}')
    return AcceptedValues(
        [_alternative(one, depth + 1) for one in stored["any_of"]], bool(stored.get("optional", False))
    )


def _is_accept(stored: Any) -> bool:
    return (
        isinstance(stored, dict) and isinstance(stored.get("any_of"), list) and stored.keys() <= {"any_of", "optional"}
    )


def _alternative(stored: Any, depth: int) -> Any:
    if depth < MAX_DEPTH:
        if isinstance(stored, list):
            return [_alternative(one, depth + 1) for one in stored]
        if isinstance(stored, dict):
            fields = stored.get("fields")
            if len(stored) == 1 and isinstance(fields, dict) and all(map(_is_accept, fields.values())):
                return GoldenObject({name: _accept(one, depth + 1) for name, one in fields.items()})
            return {name: _alternative(one, depth + 1) for name, one in stored.items()}
    return stored


_BARE = re.compile(r'[^.\[\]"]+')
_STEP = re.compile(r'\[(-?\d{1,18})\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[\]"]+)', re.DOTALL)


def child_path(path: str, step: Any) -> str:
    """The path of an argument (`path` empty), of an object's field or of a list's element (`step` an index from 0)."""
    if type(step) is int and abs(step) < 10**18:
        return f"{path}[{step}]"
    name = step if isinstance(step, str) else to_json_text(step)
    if _BARE.fullmatch(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{to_json_text(name)}]"


def split_path(path: str) -> list[str | int]:
    """The names and indices that `child` made the path of, outermost first; none for the call as a whole."""
    found: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:  # not a path of ours
            return [path]
        index, quoted, bare = match.groups()
        found.append(int(index) if index else json.loads(quoted, strict=False) if quoted else bare)
        at = match.end()
    return found
