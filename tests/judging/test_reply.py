"""A reply without one clear verdict is a failure, never a verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.judging.reply import (
    JudgeFailure,
    Redactor,
    parse_command_reply,
    parse_completion,
    parse_verdict_text,
)

REDACTOR = Redactor("topsecret123")


def completion(content: Any, finish: str = "stop", **message: Any) -> bytes:
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 7}}).encode()


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "pass", "reason": "same"}',
        ' \n{"verdict": " PASS "}\n',
        '```json\n{"verdict": "pass"}\n```',
        'The calls {agree}. So:\n{"verdict": "pass", "reason": "}"}'.replace('"}"', '"x"'),
        '{"verdict": "pass"} as I said {"verdict": "pass"}',
    ],
)
def test_clear_verdict_is_read(text: str) -> None:
    assert parse_verdict_text(text, REDACTOR).verdict is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pass",
        '{"verdict": "unsure"}',
        '{"verdict": null}',
        '{"verdict": true}',
        '{"verdict": ["pass"]}',
        pytest.param('{"verdict": ' * 1000 + '"pass"' + "}" * 1000, id="deep"),
        '{"result": "pass"}',
        '["pass"]',
        '{"verdict": "pass"',
        '{"verdict": "pass"} {"verdict": "fail"}',
        '{"verdict": "pass"} or {"verdict": "maybe"}',
    ],
)
def test_reply_without_one_verdict_is_a_failure(text: str) -> None:
    with pytest.raises(JudgeFailure) as caught:
        parse_verdict_text(text, REDACTOR)
    assert caught.value.kind == "no_verdict"
    assert not caught.value.is_temporary


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "bad_reply"),
        (b"<html>", "bad_reply"),
        (b"[]", "bad_reply"),
        (b"{}", "bad_reply"),
        (b'{"choices": []}', "bad_reply"),
        (b'{"choices": [{"message": "pass"}]}', "bad_reply"),
        (completion('{"verdict": "pass"}', finish="length"), "truncated"),
        (completion('{"verdict": "pass"}', finish="content_filter"), "refusal"),
        (completion(None, refusal="I will not"), "refusal"),
        (completion(None), "no_verdict"),
        (completion([{"text": 5}, "x"]), "no_verdict"),
    ],
)
def test_incomplete_completion_is_a_failure(content: bytes, kind: str) -> None:
    with pytest.raises(JudgeFailure) as caught:
        parse_completion(content, REDACTOR)
    assert caught.value.kind == kind


def test_completion_has_rationale_usage_and_no_key() -> None:
    text = '{"verdict": "fail", "reason": "key topsecret123 and sk-abcdefghij0123456789xyz"}'
    reply = parse_completion(completion([{"type": "text", "text": text}]), REDACTOR)
    assert reply.verdict is False
    assert reply.rationale == "key [redacted] and [redacted]"
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (7, None)


def test_absurd_token_counts_are_ignored() -> None:
    body = json.loads(completion('{"verdict": "pass"}'))
    body["usage"] = {"prompt_tokens": 10**30, "completion_tokens": True}
    usage = parse_completion(json.dumps(body).encode(), REDACTOR).usage
    assert (usage.tokens_in, usage.tokens_out) == (None, None)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"no json\n", "bad_reply"),
        (b'{"id": "other", "verdict": "pass"}', "bad_reply"),
        (b'{"id": "a", "error": "no budget"}', "command"),
        (b'{"id": "a", "verdict": 1}', "no_verdict"),
        pytest.param(
            b'{"id": "a", "error": ' + b"[" * 1000 + b"]" * 1000 + b"}", "command", id="deep"
        ),
    ],
)
def test_wrong_line_of_a_command_is_a_failure(line: bytes, kind: str) -> None:
    with pytest.raises(JudgeFailure) as caught:
        parse_command_reply(line, "a", REDACTOR)
    assert caught.value.kind == kind


@given(st.binary())
def test_no_reply_raises_another_error(content: bytes) -> None:
    for parse in (lambda: parse_completion(content, REDACTOR), lambda: _parse_text(content)):
        try:
            parse()
        except JudgeFailure:
            continue


def _parse_text(content: bytes) -> None:
    parse_verdict_text(content.decode("utf-8", "surrogateescape"), REDACTOR)
