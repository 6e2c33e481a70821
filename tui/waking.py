"""A signal may be given to any thread. Python answers it in the main one, which waits for keys: that is woken.

Else an app that is continued (`fg`) on a busy machine could stay blank, and hear no key, until its window is resized.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket


class Waking:
    """From now on each signal wakes the running loop, until `over`. Only in the main thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ours, self._told = socket.socketpair()
        for end in (self._ours, self._told):
            end.setblocking(False)
        self._loop.add_reader(self._ours, self._take)
        self._before = signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)

    def over(self) -> None:
        signal.set_wakeup_fd(self._before)
        self._loop.remove_reader(self._ours)
        for end in (self._ours, self._told):
            end.close()

    def _take(self) -> None:
        """To be awake is all: Python calls the handlers."""
        with contextlib.suppress(BlockingIOError):
            self._ours.recv(4096)
