"""Read messages in files of tau-bench that are written in the dialect of an API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fcreview.importers.common.records import list_objects
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedMessage,
    ToolCall,
    ToolResult,
)
from fcreview.importers.dialects.embedded import (
    OTHER_CHAT_FIELDS,
    MessageBlock,
    has_foreign_form,
    has_only_text,
    read_embedded,
)
from fcreview.importers.dialects.to_item import format_result, get_shown_text
from fcreview.importers.tau.conversation import ConversationMessage
from fcreview.importers.tau.conversation import ToolCall as AgentCall
from fcreview.model.item import UNKNOWN_PARTS
from fcreview.model.json_value import to_json_text

OWN_FIELDS = (
    "turn_idx",
    "timestamp",
    "cost",
    "usage",
    "raw_data",
    "requestor",
    "error",
    "is_audio",
    "generation_time_seconds",
)
"""Fields of tau2-bench that say nothing about texts and calls."""
LEGACY_RESULT_ROLE = "function"


def is_foreign_message(message: dict[str, Any]) -> bool:
    """Whether a message has a text, a call or a result in the form of another dialect."""
    if any(message[field] for field in message.keys() & OTHER_CHAT_FIELDS):
        return True
    content = message.get("content")
    if isinstance(content, list) and not has_only_text(content):
        return True
    return message.get("role") == LEGACY_RESULT_ROLE or has_foreign_form(message)


def map_calls_to_functions(raw_message: Any) -> dict[str, str]:
    """Return id -> function of the calls in a message, to name the results that follow."""
    if not isinstance(raw_message, dict):
        return {}
    functions = {}
    for call in list_objects(raw_message.get("tool_calls")):
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else call.get("name")
        functions[str(call.get("id"))] = str(name)
    return functions


def read_foreign_messages(
    block: MessageBlock, functions: dict[str, str], *, path: str
) -> list[ConversationMessage]:
    """Read a block of messages that have the form of another API.

    Args:
        block: The block.
        functions: Id of a call -> its function, for the calls before the block. Gets the calls of
            the block.
        path: Place of the messages, for issues.
    """
    plain_messages = [_without_own_form(message) for message in block.messages]
    issues: list[MessageIssue] = []
    messages: list[ConversationMessage] = []
    for reading in read_embedded(plain_messages, path=path, first=block.first):
        if isinstance(reading, MessageIssue):
            issues.append(reading)
            continue
        # The results of these calls name only their ids. They follow in this message or a later
        # one, perhaps of another block.
        functions.update((call.id, call.name) for call in reading.calls if call.id is not None)
        messages += _convert_message(reading, functions)

    # The first message of the block has the issues of all. If nothing could be read, the text of
    # the block stands for its messages.
    if issues and not messages:
        messages.append(ConversationMessage("log", to_json_text(block.messages), name="unread"))
    if issues:
        messages[0].issues = issues
    return messages


def _without_own_form(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without the form of tau2-bench: without the fields that only tau2-bench has,
    and with calls and ids of results in OpenAI's form.
    """
    plain = {name: value for name, value in message.items() if name not in OWN_FIELDS}
    # The calls of such a message have the form of its dialect, which is read as it is.
    if has_foreign_form(message):
        return plain
    if isinstance(plain.get("tool_calls"), list):
        plain["tool_calls"] = [_to_openai_call(call) for call in plain["tool_calls"]]
    if plain.get("role") == "tool" and "id" in plain:
        plain.setdefault("tool_call_id", plain["id"])
    return plain


def _to_openai_call(call: Any) -> Any:
    is_own_call = isinstance(call, dict) and "name" in call and "function" not in call
    if not is_own_call:
        return call
    function = {"name": call["name"], "arguments": call.get("arguments")}
    return {"id": call.get("id"), "type": "function", "function": function}


def _convert_message(
    message: ParsedMessage, functions: dict[str, str]
) -> Iterator[ConversationMessage]:
    """Convert a message that was read in another dialect to messages of tau-bench: one for the
    message itself, and one for each result of a call.

    `functions`: id of a call -> its function, for results, which name only the id.
    """
    for result in message.results:
        yield _convert_result(result, functions)
    has_content = message.text or message.calls or message.reasoning or message.notes
    if message.role in ("system", "user", "assistant") and has_content:
        yield ConversationMessage(
            message.role,
            get_shown_text(message),
            calls=[_convert_call(call) for call in message.calls],
            reasoning=message.reasoning,
        )
    for call in message.calls:
        if call.result is not None:
            yield _convert_result(call.result, {call.id or "": call.name})
    if message.unknown_parts:
        yield _convert_unknown_parts(message)


def _convert_call(call: ToolCall) -> AgentCall:
    error = f"the arguments {call.problem}" if call.problem else None
    raw = call.raw if error else None
    return AgentCall(call.name, call.arguments, raw=raw, error=error)


def _convert_result(result: ToolResult, functions: dict[str, str]) -> ConversationMessage:
    name = result.name or functions.get(result.call_id or "")
    return ConversationMessage("tool", format_result(result), name=name)


def _convert_unknown_parts(message: ParsedMessage) -> ConversationMessage:
    """Return what was not read. The agent may have written it, unless it is the user's."""
    text = to_json_text(message.unknown_parts)
    if message.role in ("user", "system", "tool"):
        return ConversationMessage("log", text, name=UNKNOWN_PARTS)
    problem = "a message has a part that is not known"
    return ConversationMessage("other", text, name=UNKNOWN_PARTS, problem=problem)
