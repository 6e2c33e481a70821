"""Addresses of places inside a call's arguments: `city`, `filter.price`, `items[2].name`, `filter["a.b"]`."""

from __future__ import annotations

import json
import re
from typing import Any

from fcreview.values import to_json_text

_BARE = re.compile(r'[^.\[\]"]+')
_STEP = re.compile(r'\[(-?\d{1,18})\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[\]"]+)', re.DOTALL)


def child(path: str, step: Any) -> str:
    """The path of an argument (`path` empty), of an object's field or of a list's element (`step` an index from 0)."""
    if type(step) is int and abs(step) < 10**18:
        return f"{path}[{step}]"
    name = step if isinstance(step, str) else to_json_text(step)
    if _BARE.fullmatch(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{to_json_text(name)}]"


def steps(path: str) -> list[str | int]:
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
