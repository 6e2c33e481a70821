"""Find calls that are quoted in a dialogue as text, and calls that repeat an earlier call."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Hashable
from typing import Any

from fcreview.matching.diff import is_same_value
from fcreview.model.item import GOLDEN_CALL, Call, Item, number_steps
from fcreview.model.json_value import MAX_DEPTH

MAX_TEXT = 200_000
"""Length of a message, in characters, above which fcreview does not parse it."""
_Position = tuple[int, int, int]
"""(turn, step, index) of a call, each from 0."""


def parse_quoted_calls(text: str) -> list[Call]:
    """Parse the calls in a message named `GOLDEN_CALL`. Returns an empty list for any other text.

    A message contains `{"name": "f", "arguments": {}}`, `{"f": {}}` or a list of such objects. Arguments become plain
    JSON values, as in a predicted call.
    """
    try:
        value = json.loads(text) if len(text) <= MAX_TEXT else None
    except (ValueError, RecursionError):
        return []
    calls: list[Call] = []
    for entry in value if isinstance(value, list) else [value]:
        parsed = _parse_entry(entry)
        if not parsed:
            return []
        calls += [Call("predicted", name, arguments) for name, arguments in parsed]
    return calls


def _parse_entry(entry: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return (name, arguments) of each call in an entry; empty if the entry has a different form."""
    if not isinstance(entry, dict) or not entry:
        return []
    if isinstance(entry.get("name"), str) and isinstance(entry.get("arguments"), dict):
        return [(entry["name"], entry["arguments"])]
    if all(isinstance(arguments, dict) for arguments in entry.values()):
        return [(str(name), arguments) for name, arguments in entry.items()]
    return []


def is_same_call(first: Call, second: Call) -> bool:
    """Whether two calls have the same function and exactly equal arguments. An undecodable call equals no other
    call."""
    if first.arguments is None or second.arguments is None:
        return False
    return first.name == second.name and is_same_value(first.arguments, second.arguments)


class RepeatedCalls:
    """Predicted and quoted calls of an item, for finding the earlier occurrence of a call.

    Calls are indexed by content, because comparing each of thousands of calls with all others would be slow.
    """

    def __init__(self, item: Item) -> None:
        self._steps = number_steps(item)
        self._predicted: dict[Hashable, list[tuple[_Position, Call]]] = {}
        self._quoted: dict[Hashable, list[tuple[_Position, Call]]] = {}
        for call in sorted(item.predicted, key=_call_position):
            self._predicted.setdefault(_content_key(call), []).append((_call_position(call), call))
        for message in item.messages:
            for call in parse_quoted_calls(message.content) if message.name == GOLDEN_CALL else ():
                self._quoted.setdefault(_content_key(call), []).append(((message.turn, message.step, 0), call))

    def find_earlier(self, call: Call) -> str | None:
        """Return the position of the latest equal call before this one, such as `turn 1 step 2`, or None.

        A predicted call takes precedence over one that is quoted in the dialogue.
        """
        key, position = _content_key(call), _call_position(call)
        predicted = self._predicted.get(key, [])
        predicted = predicted[: bisect_left(predicted, position, key=lambda each: each[0])][-1:]
        quoted = [each for each in self._quoted.get(key, ()) if each[0][:2] < position[:2]][-1:]
        for (turn, step, _), earlier in [*predicted, *quoted]:
            if is_same_call(earlier, call):
                return f"turn {turn + 1} step {self._steps.get((turn, step), step + 1)}"
        return None


def _call_position(call: Call) -> _Position:
    return call.turn, call.step, call.index


def _content_key(call: Call) -> Hashable:
    """Return a key that is equal for equal calls."""
    return call.name, _value_key(call.arguments, 0)


def _value_key(value: Any, depth: int) -> Hashable:
    if depth > MAX_DEPTH or value != value:
        return type(value).__name__
    if isinstance(value, dict):
        return dict, frozenset((name, _value_key(each, depth + 1)) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_value_key(each, depth + 1) for each in value)
    return type(value), value if isinstance(value, Hashable) else repr(value)
