"""What keys asked for, done in their order: an act may wait for the disk while the next key is pressed already."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

Act = Callable[[], Awaitable[bool]]
"""False: it failed, and said so."""


class InOrder:
    """One act after another. Whoever adds the first one runs them; an act that fails takes those behind it with it,
    since they were meant for what did not happen."""

    def __init__(self) -> None:
        self._waiting: deque[Act] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._failed = False
        self.added = 0
        """Acts since the start: who waits can tell whether another one came."""

    @property
    def idle(self) -> bool:
        """Nothing is done, and nothing waits."""
        return self._idle.is_set()

    def add(self, act: Act) -> bool:
        """Whether `run` has to be called now."""
        self._waiting.append(act)
        self.added += 1
        idle = self._idle.is_set()
        self._idle.clear()
        return idle

    async def run(self) -> int:
        """Until nothing waits; how many acts a failed one took with it."""
        dropped = 0
        try:
            while self._waiting:
                if not await self._waiting.popleft()():
                    self._failed = True
                    dropped += self.clear()
        finally:
            self.clear()
            self._idle.set()
        return dropped

    def clear(self) -> int:
        """Drops what waits; how many acts."""
        dropped = len(self._waiting)
        self._waiting.clear()
        return dropped

    async def finished(self) -> bool:
        """When nothing waits any more: whether all went well since this was asked for."""
        self._failed = False
        await self._idle.wait()
        return not self._failed
