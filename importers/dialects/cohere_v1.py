"""Cohere's first chat API: roles in capitals, calls and results without ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedMessage,
    Reading,
    Role,
)
from fcreview.importers.dialects.reading import (
    read_message,
)

MESSAGE_FIELDS = {"role", "message", "tool_calls", "tool_results"}


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages of a chat history in the form of Cohere's first API, with issues."""
    for index, message in enumerate(messages):
        parsed = yield from read_message(
            message, MESSAGE_FIELDS, _read_content, path=f"chat_history[{index}]"
        )
        if parsed is not None:
            yield parsed


def _read_content(message: dict[str, Any], _role: Role, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a message of Cohere's first API: its text, its calls and its results.

    Calls have no ids there. Results name the call that they answer.
    """
    yield from values.read_text(
        message.get("message"), path=f"{path}.message", is_optional="tool_results" in message
    )
    for index, call in enumerate(as_list(message.get("tool_calls"))):
        fields = as_object(call)
        yield from values.read_call(
            None,
            fields.get("name"),
            fields.get("parameters"),
            path=f"{path}.tool_calls[{index}]",
        )
    for index, result in enumerate(as_list(message.get("tool_results"))):
        yield from _read_result(as_object(result), path=f"{path}.tool_results[{index}]")


def _read_result(result: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a result, which repeats the whole call instead of an id."""
    if result.get("outputs") is None:
        yield MessageIssue("result without outputs", path=path, raw=result)
    yield from values.read_result(
        None,
        values.to_text(result.get("outputs")),
        name=as_object(result.get("call")).get("name"),
        path=path,
    )
