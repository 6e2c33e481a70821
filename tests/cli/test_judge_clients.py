"""Clients of a judge against a real server and a real command: right, late, wrong, and silent."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from fcreview.cli.judge_clients import (
    MAX_REPLY_BYTES,
    CommandClient,
    EndpointClient,
    JudgeRequest,
    JudgeUnavailableError,
    describe_command,
    parse_endpoint,
    parse_retry_after,
)
from fcreview.errors import UsageError
from fcreview.judging.reply import JudgeFailure, JudgeReply
from tests.cli import judge_server
from tests.cli.judge_server import JudgeServer, reply_with, serve

KEY = "topsecret-0123456789"
REQUEST: JudgeRequest[None] = JudgeRequest("a", prompt="p", item={}, subject=None)


def ask(server: JudgeServer, monkeypatch: Any, timeout: float = 5.0) -> JudgeReply:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    endpoint = parse_endpoint(server.url, "oak", parameters={"seed": 1}, key_variable="JUDGE_KEY")
    return EndpointClient(endpoint, timeout).ask(REQUEST)


def test_endpoint_gets_key_model_and_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve() as server:
        reply = ask(server, monkeypatch)
    assert reply.verdict is True
    assert (reply.rationale, reply.model) == ("zork 0", "oak-1")
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (100, 10)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.requests == [
        {"model": "oak", "messages": [{"role": "user", "content": "p"}], "seed": 1}
    ]


@pytest.mark.parametrize(
    ("behave", "kind", "is_temporary"),
    [
        (reply_with(b"garbage"), "bad_reply", False),
        (reply_with({"choices": [{"message": {"content": "hm"}}]}), "no_verdict", False),
        (reply_with({"error": "slow down"}, 429, Retry_After="7"), "http_error", True),
        (reply_with({"error": "broken"}, 500), "http_error", True),
        (reply_with({"error": "too long"}, 400), "http_error", False),
        (judge_server.hang_up, "connection", True),
        (judge_server.reply_with_negative_length, "connection", True),
        (judge_server.reply_endlessly, "too_large", False),
    ],
)
def test_wrong_reply_is_a_failure(
    behave: judge_server.Behaviour,
    kind: str,
    is_temporary: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve(behave) as server, pytest.raises(JudgeFailure) as caught:
        ask(server, monkeypatch)
    assert (caught.value.kind, caught.value.is_temporary) == (kind, is_temporary)
    if "429" in str(caught.value):
        assert caught.value.retry_after == 7


@pytest.mark.parametrize("behave", [judge_server.reply_late(3), judge_server.reply_drop_by_drop])
def test_late_reply_ends_at_the_timeout(
    behave: judge_server.Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = time.monotonic()
    with serve(behave) as server, pytest.raises(JudgeFailure) as caught:
        ask(server, monkeypatch, timeout=0.3)
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 2


def test_redirection_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve() as other:
        redirect = reply_with({}, 307, Location=f"{other.url}/chat/completions")
        with serve(redirect) as server, pytest.raises(JudgeUnavailableError, match="redirects"):
            ask(server, monkeypatch)
    assert other.headers == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_refused_key_stops_all_requests(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"error": f"Incorrect API key provided: {KEY}"}
    with (
        serve(reply_with(body, status)) as server,
        pytest.raises(JudgeUnavailableError, match=f"HTTP {status}") as caught,
    ):
        ask(server, monkeypatch)
    assert KEY not in str(caught.value)


def test_nothing_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve() as server:
        pass
    with pytest.raises(JudgeFailure) as caught:
        ask(server, monkeypatch)
    assert (caught.value.kind, caught.value.is_temporary) == ("connection", True)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("api.example.com/v1", "must be a URL"),
        ("ftp://example.com", "must be a URL"),
        ("https://", "must be a URL"),
        ("https://me:topsecret-0123456789@example.com", "no user name"),
        ("https://example.com/v1?key=topsecret-0123456789", "no user name, query"),
        ("https://example.com:99999/", "no valid URL"),
        ("http://example.com/v1", "without encryption"),
    ],
)
def test_unsafe_url_is_refused_without_the_key(
    url: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    with pytest.raises(UsageError, match=message) as caught:
        parse_endpoint(url, "oak", parameters={}, key_variable="JUDGE_KEY")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("value", ["", " ", "two words", "tab\tkey", "ключ"])
def test_key_that_no_header_can_hold_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", value)
    with pytest.raises(UsageError, match="JUDGE_KEY") as caught:
        parse_endpoint("https://example.com", "oak", parameters={}, key_variable="JUDGE_KEY")
    assert value.strip() == "" or value not in str(caught.value)


def test_retry_after_is_a_number_or_a_date() -> None:
    assert parse_retry_after("12") == 12
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60))
    assert 50 < (parse_retry_after(later) or 0) <= 60
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert parse_retry_after("soon") is None
    assert parse_retry_after("Mon, 01 Jan 99999999999 00:00:00 GMT") is None
    assert parse_retry_after("Mon, 01 Jan 2024 00:00:00 -99999999999999999999") is None
    assert parse_retry_after(None) is None


def test_key_in_a_command_is_not_described() -> None:
    text = "python judge.py --api-key sk-abcdefghij0123456789xyz"
    assert "sk-abc" not in describe_command(text)
    assert describe_command("python judge.py --fast") == "python judge.py --fast"


ECHO = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    {action}
    print(json.dumps({{"id": request["id"], "verdict": "fail", "reason": request["prompt"]}}))
    sys.stdout.flush()
"""


def command(action: str = "pass", timeout: float = 10.0) -> CommandClient:
    return CommandClient([sys.executable, "-c", ECHO.format(action=action)], timeout)


def test_command_answers_several_requests_in_one_process() -> None:
    client = command()
    try:
        big: JudgeRequest[None] = JudgeRequest("b", prompt="x" * 5000, item={}, subject=None)
        assert client.ask(REQUEST).rationale == "p"
        first = client._process
        assert client.ask(big).rationale == "x" * 5000
        assert client._process is first
    finally:
        client.close()


@pytest.mark.parametrize(
    ("action", "kind", "timeout"),
    [
        ("sys.exit(3)", "command", 10.0),
        ("time.sleep(60)", "timeout", 0.5),
        ("print('hello'); sys.stdout.flush()", "bad_reply", 10.0),
        ("request['id'] = 'other'", "bad_reply", 10.0),
        (f"print('x' * {MAX_REPLY_BYTES + 100}); sys.stdout.flush()", "too_large", 10.0),
    ],
)
def test_wrong_command_is_a_failure_and_starts_again(
    action: str, kind: str, timeout: float
) -> None:
    client = command(action, timeout)
    started = time.monotonic()
    try:
        with pytest.raises(JudgeFailure) as caught:
            client.ask(REQUEST)
    finally:
        client.close()
    assert caught.value.kind == kind
    assert client._process is None
    assert time.monotonic() - started < 30


def test_missing_command_stops_all_requests() -> None:
    client = CommandClient(["/no/such/judge"], 1.0)
    with pytest.raises(JudgeUnavailableError, match="cannot start"):
        client.ask(REQUEST)
