"""Calls that stand in a dialogue as text, and calls that are made again. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fcreview.calls.rules import same
from fcreview.calls.steps import step_numbers
from fcreview.model import GOLDEN_CALL, Call, Item

MAX_TEXT = 200_000


def calls_told(text: str) -> list[Call]:
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


def same_call(one: Call, other: Call) -> bool:
    """Of one function with the very same arguments. Calls that could not be read are like none."""
    if one.arguments is None or other.arguments is None:
        return False
    return one.name == other.name and same(one.arguments, other.arguments)


def repeated(item: Item, call: Call) -> str | None:
    """Where the very same call was made before, by the model or in the dialogue it goes on from: `turn 1 step 2`. The
    latest counts."""
    steps = step_numbers(item)
    for before in reversed(_before(item.predicted, call)):
        if same_call(before, call):
            return f"turn {before.turn + 1} step {steps[before.turn, before.step]}"
    for message in reversed(item.messages):
        told = message.name == GOLDEN_CALL and (message.turn, message.step) < (call.turn, call.step)
        if told and any(same_call(each, call) for each in calls_told(message.content)):
            return f"turn {message.turn + 1} step {steps[message.turn, message.step]}"
    return None


def _before(calls: Sequence[Call], call: Call) -> list[Call]:
    place = (call.turn, call.step, call.index)
    return sorted(
        (each for each in calls if (each.turn, each.step, each.index) < place),
        key=lambda each: (each.turn, each.step, each.index),
    )
