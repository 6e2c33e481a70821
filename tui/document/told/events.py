"""What happened in a turn, in the order in which it happened. Pure.

Golden calls that were not made stand behind the call that answers the golden call before them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from fcreview.model import GOLDEN_CALL, Call, Message, Pair
from fcreview.tui.document.scene import Scene


@dataclass(frozen=True, slots=True)
class Event:
    """One call with what came of it, a golden call that was not made, or one message."""

    kind: Literal["call", "missing", "said"]
    step: int
    key: str
    """Of its block, behind the turn's: `step:2/assistant:0`."""
    position: int = -1
    """Of a call: the place of its pair among the pairs of the turn."""
    pair: Pair | None = None
    call: Call | None = None
    observation: Message | None = None
    message: Message | None = None
    given: bool = False
    """Of the dialogue that was given, not of the model that is judged."""


def events_of(of: Scene, turn: int) -> list[Event]:
    """Everything behind what opens the turn."""
    calls: defaultdict[int, list[Call]] = defaultdict(list)
    for (at, _), call in sorted(of.predicted.items()):
        if at == turn:
            calls[call.step].append(call)
    steps: defaultdict[int, list[Message]] = defaultdict(list)
    for message in of.messages.get(turn, []):
        if message.step >= 0:
            steps[message.step].append(message)
    missing = _missing(of, turn)
    first = _first_own(of, turn)
    found: list[Event] = []
    for step in sorted(steps.keys() | calls.keys()):
        if step >= first:
            found += missing.pop(None, [])
        found += _step(of, turn, step, steps[step], calls[step], missing, given=step < first)
    return found + [event for left in missing.values() for event in left]


def _first_own(of: Scene, turn: int) -> int:
    """The first step of the model that is judged: those before it are of the dialogue it was given."""
    if of.context(turn):
        return 1 << 30
    told = [message.step for message in of.messages.get(turn, []) if message.name == GOLDEN_CALL]
    return max(told) + 1 if told else 0


def _missing(of: Scene, turn: int) -> dict[int | None, list[Event]]:
    """Golden calls without a partner by the predicted call they stand behind; None: before everything."""
    found: dict[int | None, list[Event]] = {}
    last: int | None = None
    for position, pair in enumerate(of.pairs.get(turn, [])):
        if pair.golden is None:
            continue
        if pair.predicted is not None:
            last = pair.predicted
            continue
        event = Event("missing", -1, f"call:{position + 1}", position, pair)
        found.setdefault(last, []).append(event)
    return found


def _step(
    of: Scene,
    turn: int,
    step: int,
    messages: list[Message],
    calls: list[Call],
    missing: dict[int | None, list[Event]],
    *,
    given: bool,
) -> list[Event]:
    """The messages in their order; calls stand where the first of their observations is, or behind what was said."""
    places = {pair.predicted: at for at, pair in enumerate(of.pairs.get(turn, [])) if pair.predicted is not None}
    tools = [message for message in messages if message.role == "tool"]
    key = f"step:{step + 1}"
    acted: list[Event] = []
    for at, call in enumerate(calls):
        position = places.get(call.index, -1)
        pair = of.pairs[turn][position] if position >= 0 else None
        got = tools[at] if at < len(tools) else None
        acted.append(Event("call", step, f"{key}/tool:{at + 1}", position, pair, call, got))
        acted += missing.pop(call.index, [])
    found: list[Event] = []
    used = 0
    for at, message in enumerate(messages):
        if message.role == "tool":
            used += 1
            if used <= len(calls):
                found, acted = found + acted, []
                continue
            word = f"more{used - len(calls) - 1}" if calls else f"{used}"
            found.append(Event("said", step, f"{key}/tool:{word}", message=message, given=given))
            continue
        if message.role != "assistant":
            found, acted = found + acted, []
        found.append(Event("said", step, f"{key}/{message.role}:{at}", message=message, given=given))
    return found + acted
