"""Addresses of what a verdict is about: `item`, `response`, `turn:2`, `turn:2/call:1`, `turn:2/call:1/arg:city`.

Turns and calls count from 1, as people do; everywhere else in the program they count from 0. A call's number is its
place among the call pairs of its turn, so missing and extra calls have one too. An argument is a path as in
`fcreview.model.json_value`, and may hold `/` and `:` itself. Here they are written, read and worded, and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ITEM = "item"
RESPONSE = "response"
WHOLE = (ITEM, RESPONSE)
"""Targets that are not a part of the trajectory."""
FORMS = "item, response, turn:1, turn:1/call:2 or turn:1/call:2/arg:city"
"""For help texts and messages."""

_PART = re.compile(r"turn:([1-9]\d{0,8})(?:/call:([1-9]\d{0,8})(?:/arg:(.+))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A part of a trajectory. `turn` and `call` count from 0."""

    turn: int
    call: int | None = None
    argument: str | None = None

    def __str__(self) -> str:
        if self.call is None:
            return turn_address(self.turn)
        if self.argument is None:
            return call_address(self.turn, self.call)
        return argument_address(self.turn, self.call, self.argument)


def turn_address(turn: int) -> str:
    return f"turn:{turn + 1}"


def call_address(turn: int, position: int) -> str:
    """`position` is the pair's place among the pairs of its turn, from 0."""
    return f"turn:{turn + 1}/call:{position + 1}"


def argument_address(turn: int, position: int, path: str) -> str:
    return f"{call_address(turn, position)}/arg:{path}"


def part_of(address: str) -> Target | None:
    """The part that an address names; None for `item`, `response` and what is no address at all."""
    found = _PART.fullmatch(address)
    if found is None:
        return None
    turn, call, argument = found.groups()
    return Target(int(turn) - 1, int(call) - 1 if call else None, argument)


def is_address(text: str) -> bool:
    return text in WHOLE or part_of(text) is not None


def call_of(address: str) -> str | None:
    """The call an address lies in: `turn:2/call:1` of `turn:2/call:1/arg:city`, None of `turn:2` or `item`."""
    part = part_of(address)
    return None if part is None or part.call is None else call_address(part.turn, part.call)


def words(address: str) -> str:
    """`turn:2/call:1/arg:city` as people say it: `turn 2 call 1 city`. Not safe to draw before `sanitise.visible`."""
    head, _, path = address.partition("/arg:")
    said = head.replace("/", " ").replace(":", " ")
    return f"{said} {path}" if path else said
