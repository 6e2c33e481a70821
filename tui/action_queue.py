"""Queue that runs the actions of key presses one after the other.

An action may still wait for the disk when the next key is pressed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

QueuedAction = Callable[[], Awaitable[bool]]
"""Action that a key press starts. Returns False if the action failed and has shown its error."""


class ActionQueue:
    """Queue that runs actions in the order in which they were added.

    When an action fails, the queue drops all later actions, because the user pressed their keys expecting the failed
    action to succeed.
    """

    def __init__(self) -> None:
        self._waiting: deque[QueuedAction] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._failed = False
        self.added_count = 0
        """Number of actions added so far. A caller that sees a higher number than before knows that an action was
        added."""

    @property
    def is_idle(self) -> bool:
        """Whether no action is running or waiting."""
        return self._idle.is_set()

    def add(self, action: QueuedAction) -> bool:
        """Append an action. Return True if the queue was idle: the caller must then call `run`."""
        self._waiting.append(action)
        self.added_count += 1
        was_idle = self.is_idle
        self._idle.clear()
        return was_idle

    async def run(self) -> int:
        """Run actions until none is waiting. Return the number of actions dropped because an earlier action failed."""
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
        """Drop the waiting actions and return their number."""
        dropped = len(self._waiting)
        self._waiting.clear()
        return dropped

    async def wait_until_idle(self) -> bool:
        """Wait until the queue is idle. Return False if an action failed in the meantime."""
        self._failed = False
        await self._idle.wait()
        return not self._failed
