"""Format and parse the addresses of verdict targets: `item`, `response`, `turn:2`, `turn:2/call:1`,
`turn:2/call:1/arg:city`.

In an address, turns and calls have numbers from 1. Everywhere else in fcreview, the numbers are
from 0. The number of a call is the position of its call pair in the turn, so a missing or extra
call has an address too. An argument has a path as in `fcreview.model.json_value`. The path may
contain `/` and `:`. Only this module formats and parses addresses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ITEM = "item"
RESPONSE = "response"
WHOLE_TARGETS = (ITEM, RESPONSE)
ADDRESS_FORMS = "item, response, turn:1, turn:1/call:2 or turn:1/call:2/arg:city"

_PART = re.compile(r"turn:([1-9]\d{0,8})(?:/call:([1-9]\d{0,8})(?:/arg:(.+))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PartAddress:
    """Address of a turn, a call pair or an argument.

    `str()` formats it. `turn` and `call` are indexes from 0.
    """

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
    """Format the address of a turn, such as `turn:1` for the turn with index 0."""
    return f"turn:{turn + 1}"


def call_address(turn: int, position: int) -> str:
    """Format the address of a call pair: `turn:1/call:2`.

    `position` is its index in the turn, from 0.
    """
    return f"turn:{turn + 1}/call:{position + 1}"


def argument_address(turn: int, position: int, path: str) -> str:
    """Format the address of an argument or of a nested value: `turn:1/call:2/arg:city`."""
    return f"{call_address(turn, position)}/arg:{path}"


def parse_address(address: str) -> PartAddress | None:
    """Parse the address of a turn, call or argument.

    Returns None for `item`, `response` and every other text.
    """
    match = _PART.fullmatch(address)
    if match is None:
        return None

    # Addresses count from 1, the fields of PartAddress from 0.
    turn_number, call_number, argument = match.groups()
    turn = int(turn_number) - 1
    call = int(call_number) - 1 if call_number else None
    return PartAddress(turn, call=call, argument=argument)


def is_address(text: str) -> bool:
    return text in WHOLE_TARGETS or parse_address(text) is not None


def get_enclosing_call_address(address: str) -> str | None:
    """Return the address of the call that contains a part: `turn:2/call:1` for
    `turn:2/call:1/arg:city`. Returns None for a turn, the item and the response.
    """
    part = parse_address(address)
    if part is None or part.call is None:
        return None
    return call_address(part.turn, part.call)


def describe_address(address: str) -> str:
    """Format an address for a message: `turn 2 call 1 city`. The result is not sanitized."""
    place, _, argument_path = address.partition("/arg:")
    words = place.replace("/", " ").replace(":", " ")
    if not argument_path:
        return words
    return f"{words} {argument_path}"
