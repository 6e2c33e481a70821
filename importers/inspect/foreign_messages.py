"""Turn messages of other dialects in a log into Inspect's messages.

Solvers that people write may leave messages, content blocks or calls as they got them from an API.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import as_list, list_objects
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedMessage,
    ToolCall,
    ToolResult,
)
from fcreview.importers.dialects.embedded import (
    OTHER_CHAT_FIELDS,
    has_foreign_form,
    has_openai_calls,
    read_embedded,
    split_by_form,
)
from fcreview.importers.dialects.to_item import get_shown_text
from fcreview.importers.dialects.values import get_type, to_text
from fcreview.importers.inspect.content import MEDIA_KINDS
from fcreview.importers.inspect.messages import ROLES
from fcreview.model.item import UNKNOWN_PARTS
from fcreview.model.json_value import to_json_text

SERVER_CALL_FIELDS = ("tool_type", "arguments", "result")
"""Fields of Inspect's part `tool_use`. Anthropic's block of this name has none of them."""
NEUTRAL_FIELDS = ("metadata", "source", "model")
"""Fields of Inspect that say nothing about texts and calls."""


@dataclass(slots=True)
class ConvertedMessages:
    messages: list[dict[str, Any]] = field(default_factory=list)
    issues: list[MessageIssue] = field(default_factory=list)


def convert_messages(messages: Any) -> ConvertedMessages:
    """Return the messages of a sample in Inspect's form, and issues about what was not read."""
    converted = ConvertedMessages()
    if messages is not None and not isinstance(messages, list):
        issue = MessageIssue("messages is not a list", path="messages", raw=messages)
        converted.issues.append(issue)
    for block in split_by_form(as_list(messages), _is_foreign):
        for position, message in enumerate(block.messages, block.first):
            if not isinstance(message, dict):
                what = "message is not an object"
                path = f"messages[{position}]"
                converted.issues.append(MessageIssue(what, path=path, raw=message))
            elif block.is_foreign:
                _convert_message(converted, message, position)
            else:
                _report_unknown_role(converted, message, position)
                converted.messages.append(message)
    return converted


def _report_unknown_role(
    converted: ConvertedMessages, message: dict[str, Any], position: int
) -> None:
    """Add an issue if the role of a message is none that Inspect has."""
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        what = f"message of unknown role {to_text(role) or 'without a name'}"
        issue = MessageIssue(what, path=f"messages[{position}]", raw=message)
        converted.issues.append(issue)


def _is_foreign(message: dict[str, Any]) -> bool:
    """Whether a message, or a part or call of it, has the form of another API than Inspect's."""
    if _list_foreign_parts(message) or has_openai_calls(message):
        return True
    if any(message[name] for name in message.keys() & OTHER_CHAT_FIELDS):
        return True
    has_own_content = "role" in message and isinstance(message.get("content"), str | list)
    return not has_own_content and has_foreign_form(message)


def _list_foreign_parts(message: dict[str, Any]) -> list[Any]:
    return [part for part in as_list(message.get("content")) if not _is_own_part(part)]


def _is_own_part(part: Any) -> bool:
    """Whether a part of a content has the form of Inspect. A part that is a text has it, too."""
    if isinstance(part, str):
        return True
    kind = get_type(part)
    if kind == "tool_use":
        return any(name in part for name in SERVER_CALL_FIELDS)
    if kind == "data":
        return True
    if kind in ("text", "reasoning") or kind in MEDIA_KINDS:
        return kind in part
    return False


def _convert_message(converted: ConvertedMessages, message: dict[str, Any], position: int) -> None:
    """Add a message with parts of another dialect to `converted`, in the form of Inspect.

    The parts and calls that already have this form join the first message that is read from the
    foreign ones. If there is none, they are a message of their own.
    """
    own_parts = [part for part in as_list(message.get("content")) if _is_own_part(part)]
    own_calls = [call for call in list_objects(message.get("tool_calls")) if _is_own_call(call)]
    foreign_message = _remove_own_parts(message, own_parts, own_calls)

    for reading in read_embedded([foreign_message], path="messages", first=position):
        if isinstance(reading, MessageIssue):
            converted.issues.append(reading)
            continue
        converted.messages += _to_inspect_messages(reading, message, own_parts, own_calls)
        # A result of a tool has no place for them, so they wait for the next message.
        if reading.role != "tool":
            own_parts = []
            own_calls = []

    if own_parts or own_calls:
        remainder = {"content": own_parts, "tool_calls": own_calls}
        converted.messages.append(message | remainder)


def _remove_own_parts(
    message: dict[str, Any], own_parts: Sequence[Any], own_calls: Sequence[Any]
) -> dict[str, Any]:
    """Return a message without the fields, parts and calls that have the form of Inspect."""
    foreign_message = dict(message)
    # A message without a role can be AutoGen's, where the field `source` says who speaks.
    if "role" in message:
        for name in NEUTRAL_FIELDS:
            foreign_message.pop(name, None)
    if own_parts:
        foreign_message["content"] = _list_foreign_parts(message)
    if own_calls:
        foreign_calls = [call for call in message["tool_calls"] if call not in own_calls]
        foreign_message["tool_calls"] = foreign_calls
    return foreign_message


def _is_own_call(call: dict[str, Any]) -> bool:
    return isinstance(call.get("function"), str)


def _to_inspect_messages(
    message: ParsedMessage,
    written: dict[str, Any],
    own_parts: list[Any],
    own_calls: list[dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Write a message that was read in another dialect as messages in the form of Inspect: one for
    the message itself, and one for each result of a call.

    Args:
        message: The message as read.
        written: The original message, whose id and source are kept.
        own_parts: Parts of its content that already have the form of Inspect.
        own_calls: Calls that already have it.
    """
    for result in message.results:
        yield _to_tool_message(result)
    parts = _join_content(message, own_parts)
    calls = [*own_calls, *map(_to_inspect_call, message.calls)]
    if message.role in ("system", "user", "assistant") and (parts or calls):
        identity = {"id": written.get("id"), "role": message.role, "source": written.get("source")}
        yield identity | {"content": parts, "tool_calls": calls}

    for call in message.calls:
        if call.result is not None:
            yield _to_tool_message(call.result)
    if message.unknown_parts:
        content = to_json_text(message.unknown_parts)
        yield {"role": UNKNOWN_PARTS, "content": content}


def _join_content(message: ParsedMessage, own_parts: list[Any]) -> list[Any]:
    """Return the reasoning, the parts that already have the form of Inspect, and the text."""
    parts = list(own_parts)
    if message.reasoning:
        parts.insert(0, {"type": "reasoning", "reasoning": message.reasoning})
    text = get_shown_text(message)
    if text:
        parts.append({"type": "text", "text": text})
    return parts


def _to_inspect_call(call: ToolCall) -> dict[str, Any]:
    converted = {"id": call.id, "function": call.name, "arguments": call.arguments}
    if call.problem:
        converted["arguments"] = call.raw
        converted["parse_error"] = f"the arguments {call.problem}"
    return converted


def _to_tool_message(result: ToolResult) -> dict[str, Any]:
    """Write the result of a call as a tool message of Inspect. An error has a field of its own."""
    text = "\n".join([result.text, *result.attachments])
    message = {"role": "tool", "tool_call_id": result.call_id, "function": result.name}
    if result.is_error:
        return message | {"content": "", "error": {"type": "unknown", "message": text}}
    return message | {"content": text}
