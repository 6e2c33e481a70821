"""How far a person is in a session: items done, seconds each, items left. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from statistics import median

PAUSE = 180.0
"""Seconds: whoever needs longer for an item was away."""
LATEST = 50
"""Items whose time counts."""


@dataclass(slots=True)
class Pace:
    left: int | None = None
    """Items of the queue that this annotator had not judged when it was counted; None: not counted yet."""
    done: set[Hashable] = field(default_factory=set)
    """Items judged since."""
    _times: list[float] = field(default_factory=list)
    _last: float | None = None

    def judged(self, item: Hashable, now: float) -> None:
        """`now` in seconds of a clock that never goes back."""
        if self._last is not None and now - self._last < PAUSE:
            self._times = [*self._times, now - self._last][-LATEST:]
        self._last = now
        self.done.add(item)

    def undone(self, item: Hashable) -> None:
        self.done.discard(item)

    def begin(self, now: float) -> None:
        """The first item is on screen."""
        self._last = now

    def counted(self, left: int) -> None:
        """Items without a verdict now, those that are done not among them."""
        self.left = left + len(self.done)

    @property
    def said(self) -> str:
        """`30 done · 4.1 s each · 1,482 left`; empty before the first item is done."""
        if not self.done:
            return ""
        parts = [f"{len(self.done):,} done"]
        parts += [f"{median(self._times):.1f} s each"] if self._times else []
        parts += [f"{max(self.left - len(self.done), 0):,} left"] if self.left is not None else []
        return " · ".join(parts)
