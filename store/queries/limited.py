"""Work of a connection that is broken off after a time, or when this program is told to end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

import duckdb

T = TypeVar("T")
PAUSE = 0.05
"""Seconds between attempts to break off: one that comes before DuckDB is at work is lost."""
GRACE = 2.0
"""Seconds in which DuckDB usually notices. Within one value (a list of a hundred million numbers) it does not."""
_left: list[Future[Any]] = []


class TimeUpError(Exception):
    """The work was broken off."""


def limited(connection: duckdb.DuckDBPyConnection, work: Callable[[], T], seconds: float | None) -> T:
    """What `work` gives. TimeUpError if that takes longer than `seconds`.

    It is done in a thread: while DuckDB works, a signal would not be heard in this one, nor the time looked at.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        wait([done], seconds)  # not `join`: broken off by a signal, it takes the thread for ended
    finally:
        late = not done.done()
        end = time.monotonic() + GRACE
        while not done.done() and time.monotonic() < end:
            connection.interrupt()
            wait([done], PAUSE)
        if not done.done():
            _left.append(done)
    if late and (not done.done() or done.exception() is not None):
        raise TimeUpError
    return done.result()


def close(connection: duckdb.DuckDBPyConnection, before: Callable[[], object]) -> None:
    """Closes it after `before`, which is for the next time only; not if that waits for what cannot be broken off."""
    if not stuck():
        with contextlib.suppress(duckdb.Error):  # closed already, or broken off
            before()
        connection.close()


def stuck() -> bool:
    """Whether DuckDB is still at something that could not be broken off: closing would wait for it."""
    return not all(each.done() for each in _left)
