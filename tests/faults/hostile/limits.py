"""Time limit for tests: a read from a pipe would wait for ever.

The limit is processor time, so that a test does not fail on a busy machine. Waiting has a limit ten
times as long.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

WAITING_FACTOR = 10


class TooLongError(BaseException):
    """Raised after the time limit. Not an Exception, so that the tested code does not catch it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLongError(f"longer than {seconds} s")

    usual_handlers = {
        number: signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGPROF)
    }
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * WAITING_FACTOR)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in usual_handlers.items():
            signal.signal(number, handler)
