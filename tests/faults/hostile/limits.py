"""What takes longer than it may is broken off, and fails the test: a read from a pipe would wait for ever."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


class TooLongError(BaseException):
    """Not an Exception: nothing under test may catch it and go on."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TooLongError(f"longer than {seconds} s")

    usual = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
