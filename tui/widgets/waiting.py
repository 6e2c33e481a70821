"""How long what is asked for takes: told every half second until it is there."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual.message_pump import MessagePump
from textual.timer import Timer

LATE = 0.5
"""Seconds after which, and how often, is said what is waited for."""


class Waiting:
    def __init__(self, owner: MessagePump, tell: Callable[[float], None]) -> None:
        """`tell` is given seconds."""
        self._owner, self._tell = owner, tell
        self._timer: Timer | None = None
        self._since = 0.0

    def begin(self) -> None:
        self.end()
        self._since = monotonic()
        self._timer = self._owner.set_interval(LATE, self._say)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _say(self) -> None:
        self._tell(monotonic() - self._since)
