"""Runs of the same call, made again and again: folded to one line each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.calls.told import same_call
from fcreview.tui.document.told.events import Event

LEAST = 3
"""As many calls alike in a row make a run."""


@dataclass(frozen=True, slots=True)
class Run:
    """What happened again and again in a row."""

    events: tuple[Event, ...]

    @property
    def alike(self) -> bool:
        """Whether the environment answered the same every time."""
        return len({event.observation.content if event.observation else "" for event in self.events}) == 1


def runs(events: Sequence[Event]) -> list[Event | Run]:
    """The events, those that repeat each other in a row as one run."""
    found: list[Event | Run] = []
    at = 0
    while at < len(events):
        end = at + 1
        while end < len(events) and _again(events[at], events[end]):
            end += 1
        if end - at >= LEAST:
            found.append(Run(tuple(events[at:end])))
        else:
            found += events[at:end]
        at = end
    return found


def _again(one: Event, other: Event) -> bool:
    """An extra call like the one before, or the same words in place of a call."""
    if one.kind != other.kind:
        return False
    if one.kind == "call":
        extra = one.pair is not None and other.pair is not None and one.pair.state == other.pair.state == "+"
        return extra and one.call is not None and other.call is not None and same_call(one.call, other.call)
    if one.kind == "said" and one.message is not None and other.message is not None:
        return one.message.role == other.message.role == "assistant" and one.message.content == other.message.content
    return False
