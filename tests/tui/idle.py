"""When an app under test has done all it can do: nothing is ready to run, no thread is at work, the screen is drawn.

Textual's pilot waits until the processor seems idle, twice 20 ms for every key: on a busy machine that is too short and
on an idle one too long. This waits for what is meant.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from asyncio import AbstractEventLoop, BaseEventLoop, Future
from collections.abc import Callable
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App, ScreenStackError
from textual.worker import WorkerCancelled

LONGEST = 5.0
"""Seconds. Then a thread is at work that will not end by itself, as a test may want it."""
_at_work: set[Future[Any]] = set()
_in_a_thread = BaseEventLoop.run_in_executor
_wrap = asyncio.wrap_future


def instead_of_pauses(patch: pytest.MonkeyPatch) -> None:
    """Textual's pilot waits for `idle`, which sees both ways to have something done in a thread."""
    patch.setattr(BaseEventLoop, "run_in_executor", _counted_call)
    patch.setattr(asyncio, "wrap_future", _counted_future)
    patch.setattr(textual.app, "wait_for_idle", idle)
    patch.setattr(textual.pilot, "wait_for_idle", idle)


def _counted_call(loop: BaseEventLoop, executor: Any, function: Callable[..., Any], *args: Any) -> Future[Any]:
    return _counted(_in_a_thread(loop, executor, function, *args))


def _counted_future(
    future: Future[Any] | concurrent.futures.Future[Any], *, loop: AbstractEventLoop | None = None
) -> Future[Any]:
    return _counted(_wrap(future, loop=loop))


def _counted(future: Future[Any]) -> Future[Any]:
    _at_work.add(future)
    future.add_done_callback(_at_work.discard)
    return future


async def idle(_min_sleep: float = 0, _max_sleep: float = 0) -> None:
    """In the place of `textual._wait.wait_for_idle`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + LONGEST
    drawn = False
    while loop.time() < end:
        await asyncio.sleep(0)
        if loop._ready:  # type: ignore[attr-defined]
            drawn = False
        elif at_work := {future for future in _at_work if future.get_loop() is loop}:
            await asyncio.wait(at_work, timeout=end - loop.time(), return_when=asyncio.FIRST_COMPLETED)
            drawn = False
        elif drawn:
            return
        else:
            drawn = True
            _draw()


async def worked(app: App[Any]) -> None:
    """All of the app's workers have ended. One that a newer one took the place of ends by being cancelled."""
    while any(not worker.is_finished for worker in app.workers):
        with contextlib.suppress(WorkerCancelled):
            await app.workers.wait_for_complete()


def _draw() -> None:
    """What the timers of the app and its screen do within the next hundredth of a second."""
    try:
        app = active_app.get()
        screen = app.screen
    except (LookupError, ScreenStackError):
        return
    app._check_resize()
    screen._on_timer_update()
