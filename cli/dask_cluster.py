"""Import the parts of a lake with the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from fcreview.errors import CommandError

T = TypeVar("T")

PARTS_PER_WORKER = 4
"""Number of parts for each worker. With several small parts, all workers finish at a similar time.
"""
CONNECT_SECONDS = 30
"""Time limit for a connection to the scheduler."""
CLOSE_SECONDS = 2
"""Time limit for the end of a connection, whose scheduler may have died."""
MAX_REASON = 300  # maximum length of a reason, in characters
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)
_LOGGERS = ("distributed", "tornado", "asyncio")
"""Loggers that print tracebacks when a scheduler ends."""


@dataclass(frozen=True, slots=True)
class PartOutcome(Generic[T]):
    """The result of one part, or the reason why its worker failed."""

    number: int  # from 1
    result: T | None
    error: str = ""


def run_parts_on_cluster(
    scheduler: str, n_parts: int | None, make_call: Callable[[int, int], Sequence[Any]]
) -> list[PartOutcome[Any]]:
    """Run a function for each part on the workers of a cluster, and wait for all results.

    Args:
        scheduler: address of the Dask scheduler, or the path of its scheduler file (`.json`).
        n_parts: number of parts; None for `PARTS_PER_WORKER` for each worker.
        make_call: returns the function and its arguments, from the number of a part and the number
            of all parts.

    Raises CommandError if Dask is not installed, or if the scheduler cannot be reached or ends.
    """
    _check_scheduler_file(scheduler)
    with _silence_loggers(), _connect(_import_dask(), scheduler) as client:
        n_workers = max(1, len(client.nthreads()))
        count = n_parts or PARTS_PER_WORKER * n_workers

        # All parts are sent before the first result is awaited.
        # A future is the result of a part that a worker will compute.
        futures = {}
        for number in range(1, count + 1):
            function, *arguments = make_call(number, count)
            futures[number] = client.submit(function, *arguments, pure=False)
        outcomes = []
        for number, future in futures.items():
            outcomes.append(_wait_for_part(client, future, number, scheduler))
        return outcomes


def _import_dask() -> Any:
    """Import the module of Dask for clusters, which is an optional package."""
    try:
        return import_module("distributed")
    except ImportError:
        raise CommandError("--dask needs Dask: pip install 'fcreview[cluster]'") from None


def _check_scheduler_file(scheduler: str) -> None:
    """Raise CommandError if the scheduler file does not exist. Dask would wait for it for ever."""
    if _is_scheduler_file(scheduler) and not Path(scheduler).is_file():
        raise CommandError(
            f"the scheduler file {scheduler} does not exist. Start the scheduler with dask"
            " scheduler --scheduler-file FILE, and pass the same file"
        )


def _is_scheduler_file(scheduler: str) -> bool:
    return scheduler.endswith(".json")


@contextlib.contextmanager
def _silence_loggers() -> Iterator[None]:
    """Do not print the tracebacks of lost connections. The command prints one message instead."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def _connect(distributed: Any, scheduler: str) -> Iterator[Any]:
    """Return a context manager with a client of the scheduler. Raises CommandError without one."""
    argument = "scheduler_file" if _is_scheduler_file(scheduler) else "address"
    try:
        client = distributed.Client(**{argument: scheduler}, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CommandError(
            f"fcreview cannot connect to the Dask scheduler {scheduler}: {_describe(error)}"
        ) from error
    try:
        yield client
    finally:
        # The scheduler may have ended.
        with contextlib.suppress(Exception):
            client.close(timeout=CLOSE_SECONDS)


def _wait_for_part(client: Any, future: Any, number: int, scheduler: str) -> PartOutcome[Any]:
    """Wait for the result of a part. A part that fails has an error as its result.

    Raises CommandError if the scheduler is lost, because no other part can be awaited then.
    """
    try:
        return PartOutcome(number, result=future.result())
    except (Exception, *_CANCELLED) as error:
        # Another process can raise any kind of exception.
        # Dask cancels the futures of a lost scheduler. Its workers may still finish their parts.
        if client.status == "running" and not isinstance(error, _CANCELLED):
            return PartOutcome(number, result=None, error=_describe(error))
        raise CommandError(
            f"the connection to the Dask scheduler {scheduler} was lost. Workers may still finish"
            " their parts. Run the same command again to complete the lake"
        ) from error


def _describe(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{type(error).__name__}: {text}"[:MAX_REASON]
