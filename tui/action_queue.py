"""Run the actions of keys one after the other, in the order in which the keys were pressed.

The module does not import Textual.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from fcreview.model.sanitize import sanitize
from fcreview.tui.text.messages import StatusMessage

SLOW_ACTION_DELAY = 0.4
"""Seconds after which a running action counts as slow."""

QueuedAction = Callable[[], Awaitable[None]]
"""What a key does in its turn. It raises an exception if it failed."""


class ActionScreen(Protocol):
    """Screen or pane whose keys add actions to the queue."""

    def show_message(self, message: StatusMessage) -> None: ...

    def clear_message_if_shown(self, message: StatusMessage) -> None:
        """Remove this message if it is still displayed."""
        ...

    def run_coroutine(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that is cancelled when the screen or pane is removed."""
        ...


@dataclass(frozen=True, slots=True)
class _WaitingAction:
    run: QueuedAction
    screen: ActionScreen
    slow_message: StatusMessage
    """Message while the action takes longer than `SLOW_ACTION_DELAY`."""

    def show_slow_message(self) -> None:
        self.screen.show_message(self.slow_message)

    def clear_slow_message(self) -> None:
        """Remove the message, because an action can end without a message of its own."""
        self.screen.clear_message_if_shown(self.slow_message)


class ActionQueue:
    """Queue that runs actions one at a time, in the order of their keys.

    When an action fails, the queue shows the error and drops the waiting actions, because the user
    expected the failed action to succeed.
    """

    def __init__(self) -> None:
        self._waiting: deque[_WaitingAction] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._has_failed = False
        self.added_count = 0
        """Number of actions added so far."""
        self.is_quitting = False
        """Whether the app is quitting.

        Queued reviews are then still written, although their screen no longer shows the next item.
        """

    @property
    def is_idle(self) -> bool:
        """Whether no action is running or waiting."""
        return self._idle.is_set()

    def add(
        self,
        action: QueuedAction,
        screen: ActionScreen,
        *,
        slow_message: str = "waiting for the disk",
    ) -> None:
        """Add an action. It starts after the actions of all earlier keys."""
        message = StatusMessage(slow_message, "warn")
        self._waiting.append(_WaitingAction(action, screen, message))
        self.added_count += 1
        if self.is_idle:
            self._idle.clear()
            screen.run_coroutine(self._run_all())

    def drop_waiting(self) -> int:
        """Drop the waiting actions, and return their number."""
        n_dropped = len(self._waiting)
        self._waiting.clear()
        return n_dropped

    async def wait_until_idle(self) -> bool:
        """Wait until no action is running or waiting.

        Return False if an action failed in the meantime.
        """
        self._has_failed = False
        await self._idle.wait()
        return not self._has_failed

    async def _run_all(self) -> None:
        """Run actions until none is waiting."""
        try:
            while self._waiting:
                await self._run(self._waiting.popleft())
        finally:
            self.drop_waiting()
            self._idle.set()

    async def _run(self, action: _WaitingAction) -> None:
        """Run one action. If it fails, show why, and drop the actions of later keys.

        While an action takes long, a message says so.
        """
        loop = asyncio.get_running_loop()
        slow_timer = loop.call_later(SLOW_ACTION_DELAY, action.show_slow_message)
        try:
            await action.run()
        except asyncio.CancelledError:
            # While the app quits, the store refuses to read. The next action may still write.
            if not self.is_quitting:
                raise
        except Exception as error:
            # An item that cannot be read must not end the app.
            self._has_failed = True
            message = sanitize(str(error) or type(error).__name__)
            ignored = _describe_ignored_keys(self.drop_waiting())
            action.screen.show_message(StatusMessage(message + ignored, "bad"))
        else:
            action.clear_slow_message()
        finally:
            slow_timer.cancel()


def _describe_ignored_keys(n_ignored: int) -> str:
    """Return ` · 2 more key presses were ignored`. Empty if there were none."""
    if not n_ignored:
        return ""
    if n_ignored == 1:
        return " · 1 more key press was ignored"
    return f" · {n_ignored} more key presses were ignored"
