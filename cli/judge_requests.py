"""Ask a judge about many items: several requests at the same time, a limited rate, and retries.

Threads send the requests. The results come back to the caller's thread, one after the other, so
that only this thread writes to the disk and to the terminal.
"""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from fcreview.cli.judge_clients import JudgeClient, JudgeRequest
from fcreview.judging.reply import JudgeFailure, JudgeReply

T = TypeVar("T")

MAX_RETRY_SECONDS = 120.0
"""Longest pause before a retry, also if the server asks for more."""
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class JudgeResult(Generic[T]):
    """Outcome of a request: a reply, or the failure of the last attempt."""

    request: JudgeRequest[T]
    reply: JudgeReply | None = None
    failure: JudgeFailure | None = None
    attempts: int = 1
    seconds: float = 0.0
    """Time of the last attempt."""


@dataclass(frozen=True, slots=True)
class RetryRules:
    """When a failed request is sent again."""

    max_retries: int = 4
    first_pause: float = 1.0
    """Seconds before the first retry. Each further pause is twice as long."""

    def compute_pause(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after an attempt, counted from 1."""
        if retry_after is not None:
            return min(retry_after, MAX_RETRY_SECONDS)
        longest = min(self.first_pause * 2.0 ** (attempt - 1), MAX_RETRY_SECONDS)
        # Random pauses keep the threads from sending all at once again.
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


class RateLimiter:
    """Lets requests start at a limited rate. All threads share it."""

    def __init__(self, per_minute: float | None, stop: threading.Event) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._stop = stop
        self._lock = threading.Lock()
        self._next_start = 0.0

    def wait(self) -> None:
        """Wait until the next request may start, or the requests are stopped."""
        with self._lock:
            start = max(time.monotonic(), self._next_start)
            self._next_start = start + self._interval
        self._stop.wait(max(0.0, start - time.monotonic()))

    def pause(self, seconds: float) -> None:
        """Let no request start for some seconds, because the server asks for it."""
        with self._lock:
            self._next_start = max(self._next_start, time.monotonic() + seconds)


@dataclass(slots=True)
class JudgeRunner(Generic[T]):
    """Sends requests with several clients, and returns their results.

    Use it in a `with` block. The end of the block aborts all requests.
    """

    make_client: Callable[[], JudgeClient]
    concurrency: int = 4
    rate: float | None = None
    """Largest number of requests in a minute; None for no limit."""
    retries: RetryRules = field(default_factory=RetryRules)
    _stop: threading.Event = field(default_factory=threading.Event)
    _requests: queue.Queue[JudgeRequest[T]] = field(default_factory=queue.Queue)
    _results: queue.Queue[JudgeResult[T] | Exception] = field(default_factory=queue.Queue)
    _clients: list[JudgeClient] = field(default_factory=list)

    def __enter__(self) -> JudgeRunner[T]:
        """Start the threads that answer requests, each with a client of its own."""
        limiter = RateLimiter(self.rate, self._stop)
        for _ in range(self.concurrency):
            client = self.make_client()
            self._clients.append(client)
            # A daemon thread does not keep the process alive if the command is interrupted.
            threading.Thread(target=self._work, args=(client, limiter), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for client in self._clients:
            client.abort()

    def ask(self, requests: Iterable[JudgeRequest[T]]) -> Iterator[JudgeResult[T]]:
        """Yield the result of each request, in the order in which they end.

        Takes a request only when a thread is free for it. Raises JudgeUnavailableError if all
        further requests would fail.
        """
        n_running = 0
        for request in requests:
            if n_running >= self.concurrency:
                yield self._take_result()
                n_running -= 1
            self._requests.put(request)
            n_running += 1
        for _ in range(n_running):
            yield self._take_result()

    def _take_result(self) -> JudgeResult[T]:
        result = self._results.get()
        if isinstance(result, Exception):
            raise result
        return result

    def _work(self, client: JudgeClient, limiter: RateLimiter) -> None:
        try:
            self._answer_requests(client, limiter)
        finally:
            client.close()

    def _answer_requests(self, client: JudgeClient, limiter: RateLimiter) -> None:
        """Answer the waiting requests, one after the other, until the run ends. Each thread does
        this.
        """
        while not self._stop.is_set():
            try:
                request = self._requests.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            try:
                self._results.put(self._ask_with_retries(client, request, limiter))
            except Exception as error:
                # The caller's thread raises it.
                self._results.put(error)

    def _ask_with_retries(
        self, client: JudgeClient, request: JudgeRequest[T], limiter: RateLimiter
    ) -> JudgeResult[T]:
        """Ask until there is a reply, a failure that stays, or no retry left."""
        attempt = 0
        while True:
            attempt += 1
            limiter.wait()
            if self._stop.is_set():
                return JudgeResult(request, failure=JudgeFailure("connection", "interrupted"))

            started = time.monotonic()
            failure = None
            reply = None
            try:
                reply = client.ask(request)
            except JudgeFailure as error:
                failure = error

            seconds = time.monotonic() - started
            # The first attempt is no retry.
            is_last = attempt > self.retries.max_retries or self._stop.is_set()
            if failure is None or is_last or not failure.is_temporary:
                return JudgeResult(
                    request, reply=reply, failure=failure, attempts=attempt, seconds=seconds
                )
            self._pause(attempt, failure, limiter)

    def _pause(self, attempt: int, failure: JudgeFailure, limiter: RateLimiter) -> None:
        """Wait before the next attempt, for as long as the server asks, if it does."""
        seconds = self.retries.compute_pause(attempt, failure.retry_after)
        if failure.retry_after is not None:
            # The server asks all requests of this key to wait. They do so in `limiter.wait()`.
            limiter.pause(seconds)
            return
        # An interruption ends the pause.
        self._stop.wait(seconds)
