"""Read the reply of a judge. A reply without one clear verdict is a failure, never a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from fcreview.model.sanitize import REDACTED, clip, redact_api_keys_in_text

FailureKind = Literal[
    "connection",
    "timeout",
    "http_error",
    "too_large",
    "bad_reply",
    "no_verdict",
    "truncated",
    "refusal",
    "command",
    "prompt_too_long",
]
"""Why a judge gave no verdict on an item."""
VERDICTS: dict[str, bool] = {"pass": True, "fail": False}
MAX_RATIONALE_LENGTH = 10_000
MAX_FAILURE_CELLS = 300

_FENCE = re.compile(r"\A```[a-zA-Z]*\n(.*)\n```\Z", re.DOTALL)


class JudgeFailure(Exception):
    """Raised if a judge gives no usable verdict. The message is text for people, without keys."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        is_temporary: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.is_temporary = is_temporary
        """Whether the same request can succeed a moment later."""
        self.retry_after = retry_after
        """Seconds that the server asks to wait; None if it names no time."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens of a request; None if the judge does not say them."""

    tokens_in: int | None = None
    tokens_out: int | None = None


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A usable reply of a judge."""

    verdict: bool
    rationale: str
    usage: Usage = NO_USAGE
    model: str = ""
    """Model that replied, if the judge names it."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes the key of the judge, and texts in the form of a key, from texts for people."""

    key: str = ""

    def redact(self, text: str) -> str:
        without_own_key = text.replace(self.key, REDACTED) if self.key else text
        return redact_api_keys_in_text(without_own_key)

    def shorten(self, text: str) -> str:
        """Return a text without keys in one line, at most `MAX_FAILURE_CELLS` wide."""
        return clip(" ".join(self.redact(text).split()), MAX_FAILURE_CELLS)


def parse_completion(content: bytes, redactor: Redactor) -> JudgeReply:
    """Read the body of a chat completion of an OpenAI-compatible endpoint.

    Raises JudgeFailure if it is not complete or has no verdict.
    """
    body = _parse_object(content)
    if body is None:
        raise JudgeFailure("bad_reply", "the endpoint's reply is not a JSON object")
    choice = _get_first_choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise JudgeFailure("bad_reply", "the endpoint's reply has no message")

    finish = choice.get("finish_reason")
    if finish == "length":
        raise JudgeFailure("truncated", "the reply was cut at the token limit")
    refusal = message.get("refusal")
    if finish == "content_filter" or refusal:
        reason = refusal if isinstance(refusal, str) else "content filter"
        raise JudgeFailure("refusal", redactor.shorten(f"the judge refused: {reason}"))

    model = body.get("model")
    return parse_verdict_text(
        _get_text(message.get("content")),
        redactor,
        usage=_parse_usage(body.get("usage"), names=("prompt_tokens", "completion_tokens")),
        model=redactor.shorten(model) if isinstance(model, str) else "",
    )


def parse_command_reply(line: bytes, request_id: str, redactor: Redactor) -> JudgeReply:
    """Read a line of a command: `{"id", "verdict", "reason", "usage", "model"}`.

    Raises JudgeFailure if it is not the reply to this request, or has no verdict.
    """
    reply = _parse_object(line)
    if reply is None:
        raise JudgeFailure("bad_reply", "the command's reply is not a JSON object")
    if reply.get("id") != request_id:
        raise JudgeFailure("bad_reply", "the command's reply has another id than the request")
    if reply.get("error"):
        error = _describe_value(reply["error"])
        raise JudgeFailure("command", redactor.shorten(f"the command failed: {error}"))

    model = reply.get("model")
    return _make_reply(
        reply,
        redactor,
        usage=_parse_usage(reply.get("usage"), names=("prompt_tokens", "completion_tokens")),
        model=redactor.shorten(model) if isinstance(model, str) else "",
    )


def parse_verdict_text(
    text: str, redactor: Redactor, *, usage: Usage = NO_USAGE, model: str = ""
) -> JudgeReply:
    """Read the text of a judge: a JSON object, perhaps in a code fence or after other text.

    Raises JudgeFailure if it has no verdict, or objects with several verdicts.
    """
    objects = _find_verdict_objects(text)
    if not objects:
        shown = redactor.shorten(text) or "(empty)"
        raise JudgeFailure("no_verdict", f"the reply has no verdict: {shown}")
    verdicts = {_describe_value(found.get("verdict")).strip().lower() for found in objects}
    if len(verdicts) > 1:
        raise JudgeFailure("no_verdict", "the reply has several different verdicts")
    return _make_reply(objects[-1], redactor, usage=usage, model=model)


def _make_reply(
    reply: dict[str, Any], redactor: Redactor, *, usage: Usage, model: str
) -> JudgeReply:
    """Make the reply from the JSON object of the judge. Raises JudgeFailure without a clear
    verdict.
    """
    word = reply.get("verdict")
    verdict = VERDICTS.get(word.strip().lower()) if isinstance(word, str) else None
    if verdict is None:
        shown = redactor.shorten(_describe_value(word)) or "empty"
        raise JudgeFailure("no_verdict", f"the verdict is {shown} instead of pass or fail")

    reason = reply.get("reason")
    rationale = redactor.redact(reason) if isinstance(reason, str) else ""
    return JudgeReply(verdict, rationale[:MAX_RATIONALE_LENGTH], usage=usage, model=model)


def _describe_value(value: Any) -> str:
    """Return a text, number or null of a reply as text. A list or object can be nested too deeply
    for `str`, so that only its type is named.
    """
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    return str(value)


def _find_verdict_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects with a verdict in the text of a judge.

    If the whole text is an object, perhaps in a code fence, only that one counts.
    """
    stripped = text.strip()
    fenced = _FENCE.match(stripped)
    whole = _parse_object(fenced[1] if fenced else stripped)
    if whole is not None:
        return [whole] if "verdict" in whole else []

    found = []
    for fragment in _list_fragments(stripped):
        candidate = _parse_object(fragment)
        if candidate is not None and "verdict" in candidate:
            found.append(candidate)
    return found


def _list_fragments(text: str) -> list[str]:
    """Return the parts of a text from `{` to the `}` that closes it, outside other such parts.

    Braces in strings can make a part invalid; it is then no JSON, and ignored.
    """
    fragments = []
    start = 0
    depth = 0
    for index, char in enumerate(text):
        if char == "{":
            if depth == 0:
                start = index
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                fragments.append(text[start : index + 1])
    return fragments


def _parse_object(content: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object of a reply, or None if it is something else."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        value = orjson.loads(text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _get_first_choice(body: dict[str, Any]) -> dict[str, Any]:
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    raise JudgeFailure("bad_reply", "the endpoint's reply has no choices")


def _get_text(content: Any) -> str:
    """Return the text of a message: a string, or a list of parts with a text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _parse_usage(usage: Any, names: tuple[str, str]) -> Usage:
    if not isinstance(usage, dict):
        return NO_USAGE
    name_in, name_out = names
    return Usage(_to_count(usage.get(name_in)), _to_count(usage.get(name_out)))


MAX_TOKENS = 10**9
"""Larger numbers of tokens are no counts."""


def _to_count(value: Any) -> int | None:
    is_count = type(value) is int and 0 <= value <= MAX_TOKENS
    return value if is_count else None
