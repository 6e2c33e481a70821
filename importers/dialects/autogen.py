"""AutoGen from version 0.4 on: messages and events of agents, and the context of a model.

`source` names the agent that wrote a message. The source `user` is the person.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    Text,
)
from fcreview.importers.dialects.reading import collect_fragments, make_message

SPOKEN = {
    "AssistantMessage",
    "HandoffMessage",
    "MultiModalMessage",
    "StopMessage",
    "SystemMessage",
    "TextMessage",
    "ToolCallSummaryMessage",
    "UserMessage",
}
CALLS = "ToolCallRequestEvent"
RESULTS = ("ToolCallExecutionEvent", "FunctionExecutionResultMessage")
THOUGHT = "ThoughtEvent"
SIGN_TYPES = {*SPOKEN, *RESULTS, CALLS, THOUGHT}
ROLES: dict[str, Role] = {"SystemMessage": "system", "UserMessage": "user"}
"""Role of a message by its type. The role of others follows from their source."""
MESSAGE_FIELDS = {
    "content",
    "context",
    "created_at",
    "id",
    "metadata",
    "models_usage",
    "results",
    "source",
    "target",
    "thought",
    "tool_calls",
    "type",
}
CALL_FIELDS = {"id", "name", "arguments"}
RESULT_FIELDS = {"call_id", "content", "is_error", "name"}


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, message in enumerate(messages):
        yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the message of a message or event. One of an unknown type is reported."""
    fields = as_object(message)
    kind = values.get_type(fields)
    if kind not in SIGN_TYPES:
        what = f"message of unknown type {kind or 'none'}"
        yield MessageIssue(what, path=path, raw=message)
        yield ParsedMessage("log", unknown_parts=[message], path=path)
        return

    yield from values.report_unknown_fields(fields, MESSAGE_FIELDS, path=path)
    role = yield from _read_role(fields, kind, path=path)
    readings = _read_content(fields, kind, path=f"{path}.content")
    fragments = yield from collect_fragments(readings)
    parsed = yield from make_message(role, fragments, fields, path=path)
    yield parsed


def _read_role(
    fields: dict[str, Any], kind: str, *, path: str
) -> Generator[MessageIssue, None, Role]:
    """Return the role of a message, by its type or by the agent that wrote it."""
    if kind in RESULTS:
        return "tool"
    if kind in ROLES:
        return ROLES[kind]
    source = fields.get("source")
    if not isinstance(source, str):
        yield MessageIssue("source of a message is not a text", path=path, raw=source)
    return "user" if source == "user" else "assistant"


def _read_content(fields: dict[str, Any], kind: str, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a content: a text, or a list of calls, results, or texts and files."""
    thought = fields.get("thought")
    if isinstance(thought, str) and thought:
        yield Reasoning(thought)
    elif thought not in (None, ""):
        yield MessageIssue("thought is not a text", path=path, raw=thought)
    content = fields.get("content")
    if kind == THOUGHT and isinstance(content, str):
        yield Reasoning(content)
    elif not isinstance(content, list):
        yield from values.read_text(content, path=path, what="content")
    else:
        for index, element in enumerate(content):
            yield from _read_element(element, kind, path=f"{path}[{index}]")


def _read_element(element: Any, kind: str, *, path: str) -> Iterator[Reading]:
    """Yield an element of a content, by the type of its message."""
    fields = as_object(element)
    if kind in RESULTS and fields:
        yield from _read_result(fields, path=path)
    elif kind in (CALLS, "AssistantMessage") and fields:
        yield from values.report_unknown_fields(fields, CALL_FIELDS, path=path)
        yield from values.read_call(
            fields.get("id"), fields.get("name"), fields.get("arguments"), path=path
        )
    elif isinstance(element, str):
        yield Text(element)
    elif "data" in fields:
        yield from values.read_file("image", media_type=None, data=fields["data"], path=path)
    else:
        yield from values.read_unknown("content", element, path=path)


def _read_result(fields: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a call, and issues about its form."""
    yield from values.report_unknown_fields(fields, RESULT_FIELDS, path=path)
    mark = fields.get("is_error")
    if mark is not None and not isinstance(mark, bool):
        yield MessageIssue("is_error of a result is not true or false", path=path, raw=mark)
    content = yield from collect_fragments(
        values.read_text(fields.get("content"), path=path, what="content of a result")
    )
    yield from values.read_result(
        fields.get("call_id"),
        content,
        is_error=mark if isinstance(mark, bool) else None,
        name=fields.get("name"),
        path=path,
    )
