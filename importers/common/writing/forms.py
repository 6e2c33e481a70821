"""Golden calls as benchmarks write them: what a person corrects starts from that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from fcreview.model import Accept, Call, Fields


def readable(calls: Sequence[Call]) -> bool:
    """Whether all of them could be read: else nothing can be made of them."""
    return bool(calls) and all(call.arguments is not None for call in calls)


def accepted(accept: Accept) -> list[Any]:
    """`["C", "F", ""]`: every value; an empty text where it may be left out. Fields of objects likewise."""
    return [*(_fields(value) for value in accept.any_of), *([""] if accept.optional else [])]


def _fields(value: Any) -> Any:
    if isinstance(value, Fields):
        return {name: accepted(one) for name, one in value.fields.items()}
    return [_fields(each) for each in value] if isinstance(value, list) else value


def first_values(call: Call) -> dict[str, Any]:
    """`{"unit": "C"}`: the first value of each, objects as they are."""
    return {name: _plain(accept) for name, accept in (call.arguments or {}).items() if accept.any_of}


def _plain(accept: Accept) -> Any:
    value = accept.any_of[0] if accept.any_of else None
    return {name: _plain(one) for name, one in value.fields.items()} if isinstance(value, Fields) else value


def told_apart(calls: Sequence[Call], arguments: Sequence[Any], first: int) -> dict[str, Any]:
    """`{"f": {...}}`; calls of one function as `f_1`, `f_2` ..., counted from `first`."""
    times = Counter(call.name for call in calls)
    seen: Counter[str] = Counter()
    found: dict[str, Any] = {}
    for call, given in zip(calls, arguments, strict=True):
        name = call.name if times[call.name] == 1 else f"{call.name}_{seen[call.name] + first}"
        seen[call.name] += 1
        found[name] = given
    return found
