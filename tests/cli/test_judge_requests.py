"""Many requests at the same time: retries, pauses that the server asks for, and the rate."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from fcreview.cli.judge_clients import JudgeClient, JudgeRequest, JudgeUnavailableError
from fcreview.cli.judge_requests import (
    MAX_RETRY_SECONDS,
    JudgeResult,
    JudgeRunner,
    RetryRules,
)
from fcreview.judging.reply import JudgeFailure, JudgeReply

OK = JudgeReply(True, "")
QUICK = RetryRules(max_retries=2, first_pause=0.01)


class ScriptedClient(JudgeClient):
    """Calls a function for each request. The client is code of the test, so no server is needed."""

    def __init__(self, script: Callable[[str], JudgeReply]) -> None:
        self.script = script
        self.is_aborted = threading.Event()

    def ask(self, request: JudgeRequest[object]) -> JudgeReply:
        return self.script(request.id)

    def abort(self) -> None:
        self.is_aborted.set()

    def close(self) -> None:
        pass


def requests(n: int) -> list[JudgeRequest[int]]:
    return [JudgeRequest(str(number), prompt="", item={}, subject=number) for number in range(n)]


def run(
    script: Callable[[str], JudgeReply],
    n: int = 1,
    concurrency: int = 1,
    rate: float | None = None,
) -> Sequence[JudgeResult[int]]:
    runner: JudgeRunner[int] = JudgeRunner(
        lambda: ScriptedClient(script), concurrency=concurrency, rate=rate, retries=QUICK
    )
    with runner:
        return list(runner.ask(requests(n)))


def test_each_request_has_one_result() -> None:
    results = run(lambda _: OK, n=50, concurrency=8)
    assert sorted(result.request.subject for result in results) == list(range(50))


def test_temporary_failure_is_retried() -> None:
    attempts = itertools.count()

    def fail_twice(_: str) -> JudgeReply:
        if next(attempts) < 2:
            raise JudgeFailure("http_error", "HTTP 500", is_temporary=True)
        return OK

    (result,) = run(fail_twice)
    assert (result.reply, result.attempts) == (OK, 3)


def test_retries_are_bounded() -> None:
    calls: list[str] = []

    def fail(name: str) -> JudgeReply:
        calls.append(name)
        raise JudgeFailure("http_error", "HTTP 503", is_temporary=True)

    (result,) = run(fail)
    assert result.reply is None
    assert result.failure is not None
    assert len(calls) == QUICK.max_retries + 1


def test_lasting_failure_is_not_retried() -> None:
    calls: list[str] = []

    def fail(name: str) -> JudgeReply:
        calls.append(name)
        raise JudgeFailure("no_verdict", "hm")

    run(fail)
    assert calls == ["0"]


def test_server_decides_the_pause_up_to_a_limit() -> None:
    assert RetryRules().compute_pause(1, 3.0) == 3.0
    assert RetryRules().compute_pause(1, 10.0**9) == MAX_RETRY_SECONDS
    assert RetryRules().compute_pause(500, None) <= MAX_RETRY_SECONDS
    assert 2 <= RetryRules().compute_pause(3, None) <= 4


def test_retry_after_pauses_all_requests() -> None:
    started = time.monotonic()
    refused = threading.Event()

    def refuse_first(_: str) -> JudgeReply:
        if not refused.is_set():
            refused.set()
            raise JudgeFailure("http_error", "429", is_temporary=True, retry_after=0.3)
        return OK

    results = run(refuse_first, n=2)
    assert all(result.reply for result in results)
    assert time.monotonic() - started >= 0.3


def test_rate_limits_the_requests_of_all_threads() -> None:
    started = time.monotonic()
    run(lambda _: OK, n=5, concurrency=5, rate=60 / 0.05)
    assert time.monotonic() - started >= 4 * 0.05


def test_unavailable_judge_ends_the_requests() -> None:
    def refuse(_: str) -> JudgeReply:
        raise JudgeUnavailableError("HTTP 401")

    with pytest.raises(JudgeUnavailableError):
        run(refuse, n=10, concurrency=2)


def test_end_of_the_block_aborts_running_requests() -> None:
    clients: list[ScriptedClient] = []
    is_running = threading.Event()

    def wait(_: str) -> JudgeReply:
        is_running.set()
        clients[0].is_aborted.wait(30)
        raise JudgeFailure("connection", "aborted", is_temporary=True)

    def make_client() -> ScriptedClient:
        clients.append(ScriptedClient(wait))
        return clients[-1]

    runner: JudgeRunner[int] = JudgeRunner(make_client, concurrency=1)
    with runner:
        for request in requests(1):
            runner._requests.put(request)
        is_running.wait(30)
    assert clients[0].is_aborted.is_set()


def test_request_is_made_only_when_a_thread_is_free() -> None:
    made: list[int] = []

    def make() -> object:
        for request in requests(10):
            made.append(request.subject)
            yield request

    runner: JudgeRunner[int] = JudgeRunner(lambda: ScriptedClient(lambda _: OK), concurrency=2)
    with runner:
        results = runner.ask(make())  # type: ignore[arg-type]
        next(results)
        assert len(made) <= 3
