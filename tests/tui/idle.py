"""Wait until an app under test is idle: no callback is ready, no thread is at work, and the screen
is drawn.

Textual's pilot waits until the processor seems idle, twice 20 ms for every key. That is too short
on a busy machine and too long on an idle one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from asyncio import AbstractEventLoop, BaseEventLoop, Future
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App, ScreenStackError
from textual.worker import WorkerCancelled

TIMEOUT = 5.0
"""In seconds. A thread that works longer does not end by itself: see `ignore_threads`."""
_at_work: set[Future[Any]] = set()
_waits_for_threads = [True]
_run_in_executor = BaseEventLoop.run_in_executor
_wrap_future = asyncio.wrap_future


def replace_pauses(patch: pytest.MonkeyPatch) -> None:
    """Let Textual's pilot wait with `wait_until_idle`, and track both ways to start a thread."""
    patch.setattr(BaseEventLoop, "run_in_executor", _track_call)
    patch.setattr(asyncio, "wrap_future", _track_future)
    patch.setattr(textual.app, "wait_for_idle", wait_until_idle)
    patch.setattr(textual.pilot, "wait_for_idle", wait_until_idle)


def _track_call(
    loop: BaseEventLoop, executor: Any, function: Callable[..., Any], *args: Any
) -> Future[Any]:
    return _track(_run_in_executor(loop, executor, function, *args))


def _track_future(
    future: Future[Any] | concurrent.futures.Future[Any], *, loop: AbstractEventLoop | None = None
) -> Future[Any]:
    return _track(_wrap_future(future, loop=loop))


def _track(future: Future[Any]) -> Future[Any]:
    _at_work.add(future)
    future.add_done_callback(_at_work.discard)
    return future


async def wait_until_idle(_min_sleep: float = 0, _max_sleep: float = 0) -> None:
    """Replacement of `textual._wait.wait_for_idle`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + TIMEOUT
    drawn = False
    while loop.time() < end:
        await asyncio.sleep(0)
        if loop._ready:  # type: ignore[attr-defined]
            drawn = False
        elif _waits_for_threads[-1] and (
            at_work := {future for future in _at_work if future.get_loop() is loop}
        ):
            await asyncio.wait(
                at_work, timeout=end - loop.time(), return_when=asyncio.FIRST_COMPLETED
            )
            drawn = False
        elif drawn:
            return
        else:
            drawn = True
            _draw()


async def wait_for_workers(app: App[Any]) -> None:
    """Wait until all workers of the app have ended.

    A worker that was replaced by a newer one ends as cancelled.
    """
    while any(not worker.is_finished for worker in app.workers):
        with contextlib.suppress(WorkerCancelled):
            await app.workers.wait_for_complete()


@contextmanager
def ignore_threads() -> Iterator[None]:
    """Do not wait for threads, for tests that block a thread on purpose."""
    _waits_for_threads.append(False)
    try:
        yield
    finally:
        _waits_for_threads.pop()


def _draw() -> None:
    """Do what the timers of the app and its screen would do within the next hundredth of a
    second.
    """
    try:
        app = active_app.get()
        screen = app.screen
    except (LookupError, ScreenStackError):
        return
    app._check_resize()
    screen._on_timer_update()
