"""Calls that stand in a dialogue as text, and calls that are made again. Pure."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Hashable
from typing import Any

from fcreview.matching.diff import is_same_value
from fcreview.model.item import GOLDEN_CALL, Call, Item, number_steps
from fcreview.model.json_value import MAX_DEPTH

MAX_TEXT = 200_000
_Place = tuple[int, int, int]
"""Turn, step and index."""


def parse_quoted_calls(text: str) -> list[Call]:
    """The calls of a message named `GOLDEN_CALL`: `{"name": "f", "arguments": {}}`, `{"f": {}}` or a list of such.

    Empty if it is nothing of the kind. Arguments are plain JSON values, as a model would give them.
    """
    try:
        value = json.loads(text) if len(text) <= MAX_TEXT else None
    except (ValueError, RecursionError):
        return []
    found: list[Call] = []
    for entry in value if isinstance(value, list) else [value]:
        made = _told(entry)
        if not made:
            return []
        found += [Call("predicted", name, arguments) for name, arguments in made]
    return found


def _told(entry: Any) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(entry, dict) or not entry:
        return []
    if isinstance(entry.get("name"), str) and isinstance(entry.get("arguments"), dict):
        return [(entry["name"], entry["arguments"])]
    if all(isinstance(arguments, dict) for arguments in entry.values()):
        return [(str(name), arguments) for name, arguments in entry.items()]
    return []


def is_same_call(one: Call, other: Call) -> bool:
    """Of one function with the very same arguments. Calls that could not be read are like none."""
    if one.arguments is None or other.arguments is None:
        return False
    return one.name == other.name and is_same_value(one.arguments, other.arguments)


class RepeatedCalls:
    """Where in an item calls were made before, by the model or in the dialogue it goes on from. Thousands of calls are
    told apart by what they hold, not each by all others."""

    def __init__(self, item: Item) -> None:
        self._steps = number_steps(item)
        self._predicted: dict[Hashable, list[tuple[_Place, Call]]] = {}
        self._told: dict[Hashable, list[tuple[_Place, Call]]] = {}
        for call in sorted(item.predicted, key=_place):
            self._predicted.setdefault(_key(call), []).append((_place(call), call))
        for message in item.messages:
            for call in parse_quoted_calls(message.content) if message.name == GOLDEN_CALL else ():
                self._told.setdefault(_key(call), []).append(((message.turn, message.step, 0), call))

    def find_earlier(self, call: Call) -> str | None:
        """Where the very same call was made before this one: `turn 1 step 2`. The model's latest counts, else the
        latest of the dialogue, in the order of its messages."""
        key, place = _key(call), _place(call)
        made = self._predicted.get(key, [])
        made = made[: bisect_left(made, place, key=lambda each: each[0])][-1:]
        told = [each for each in self._told.get(key, ()) if each[0][:2] < place[:2]][-1:]
        for (turn, step, _), one in [*made, *told]:
            if is_same_call(one, call):
                return f"turn {turn + 1} step {self._steps.get((turn, step), step + 1)}"
        return None


def _place(call: Call) -> _Place:
    return call.turn, call.step, call.index


def _key(call: Call) -> Hashable:
    """The same for calls that are the same."""
    return call.name, _value_key(call.arguments, 0)


def _value_key(value: Any, depth: int) -> Hashable:
    if depth > MAX_DEPTH or value != value:
        return type(value).__name__
    if isinstance(value, dict):
        return dict, frozenset((name, _value_key(each, depth + 1)) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_value_key(each, depth + 1) for each in value)
    return type(value), value if isinstance(value, Hashable) else repr(value)
