"""SIGTERM and SIGHUP (a dropped connection) leave the app as quitting does: what was said is on disk, the terminal as
it was. Nothing is asked or told any more."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import termios
import threading
from collections.abc import Callable
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
PATIENCE = 10.0
"""Seconds after which the process ends in any case: all that the screen confirmed is on disk."""


class Ending:
    """Hears the signals while the app runs; `end` is called on its loop with the exit code."""

    def __init__(self, end: Callable[[int], object]) -> None:
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._told = False
        self._before = {each: signal.getsignal(each) for each in ENDING}
        for each in ENDING:
            if self._before[each] is not signal.SIG_IGN:  # nohup
                signal.signal(each, self._heard)

    def over(self) -> None:
        """Who heard them before does so again; after a signal, nobody: what is left is short and must be done."""
        if not self._told:
            for each, handler in self._before.items():
                signal.signal(each, handler)

    def _heard(self, number: int, _: FrameType | None) -> None:
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)  # it usually comes twice
        self._told = True
        _let_go_of_a_gone_terminal()
        last = threading.Timer(PATIENCE, os._exit, [128 + number])
        last.daemon = True
        last.start()
        self._loop.call_soon_threadsafe(self._end, 128 + number)


def _let_go_of_a_gone_terminal() -> None:
    """What is still drawn goes nowhere, instead of holding up or failing whoever draws it."""
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            termios.tcgetattr(stream.fileno())
        except termios.error as error:
            if error.args[0] == errno.EIO:
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, stream.fileno())
                os.close(nothing)
        except (OSError, ValueError):
            continue
