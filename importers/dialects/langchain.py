"""LangChain's messages in its three forms: `{type, data}`, flat, and constructors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects import anthropic, openai_chat, values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    ToolCall,
)
from fcreview.importers.dialects.reading import collect_fragments, make_message

ROLES: dict[str, Role] = {
    "system": "system",
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "function": "tool",
}
ROLES_WITH_FIELD: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
ERROR_BY_STATUS = {"success": False, "error": True}
CONSTRUCTOR = "constructor"
TYPES_BY_CLASS = {
    "SystemMessage": "system",
    "HumanMessage": "human",
    "HumanMessageChunk": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "AIMessageChunk",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
MESSAGE_FIELDS = {
    "type",
    "role",
    "content",
    "name",
    "id",
    "tool_calls",
    "invalid_tool_calls",
    "tool_call_chunks",
    "tool_call_id",
    "status",
    "artifact",
    "example",
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
    "chunk_position",
}
CALL_FIELDS = {"type", "id", "name", "args", "index", "error", "extras"}
REPEATED_CALL_BLOCKS = ("tool_use", "input_json_delta", "tool_call")
"""Blocks of the content that `tool_calls` repeats."""


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, message in enumerate(messages):
        yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the message of a LangChain record, with issues about what was not understood.

    A record is a message, or a serialized object around it. A message whose type is unknown is not
    read.
    """
    fields = _unwrap(message)
    role = _find_role(fields)
    if role is None:
        kind = values.to_text(fields.get("type")) or "none"
        yield MessageIssue(f"message of unknown type {kind}", path=path, raw=message)
        yield ParsedMessage("log", unknown_parts=[message], path=path)
        return

    yield from values.report_unknown_fields(fields, MESSAGE_FIELDS, path=path)
    if "content" not in fields:
        yield MessageIssue("message without the field content", path=path, raw=message)
    fragments = yield from collect_fragments(_read_fragments(fields, role, path=path))
    metadata = as_object(fields.get("response_metadata"))
    parsed = yield from make_message(role, fragments, metadata | fields, path=path)
    yield parsed


def _read_fragments(fields: dict[str, Any], role: Role, *, path: str) -> Iterator[Reading]:
    if role == "tool":
        return _read_tool_message(fields, path=path)
    return _read_spoken_message(fields, path=path, role=role)


def _unwrap(message: Any) -> dict[str, Any]:
    """Return the fields of a message in any of the three forms."""
    fields = as_object(message)
    if fields.get("type") == CONSTRUCTOR:
        return _get_class(fields) | as_object(fields.get("kwargs"))
    if isinstance(fields.get("data"), dict):
        data: dict[str, Any] = fields["data"]
        return {"type": fields.get("type")} | data
    return fields


def _get_class(constructor: dict[str, Any]) -> dict[str, Any]:
    """Return the type of a message by its class, which is the last part of the constructor's id.

    Older versions write the type nowhere else.
    """
    path = as_list(constructor.get("id"))
    kind = TYPES_BY_CLASS.get(path[-1]) if path and isinstance(path[-1], str) else None
    return {} if kind is None else {"type": kind}


def _find_role(fields: dict[str, Any]) -> Role | None:
    kind = fields.get("type")
    # A ChatMessage names its role.
    if kind == "chat":
        return ROLES_WITH_FIELD.get(str(fields.get("role")))
    return ROLES.get(kind) if isinstance(kind, str) else None


def _read_spoken_message(fields: dict[str, Any], *, path: str, role: Role) -> Iterator[Reading]:
    """Yield the fragments of a message that is no result of a call."""
    has_calls = bool(fields.get("tool_calls") or fields.get("invalid_tool_calls"))
    yield from _read_content(
        fields.get("content"), path=f"{path}.content", role=role, has_calls=has_calls
    )
    additional = as_object(fields.get("additional_kwargs"))
    reasoning = additional.get("reasoning_content")
    if isinstance(reasoning, str):
        yield Reasoning(reasoning)
    yield from _read_calls(fields, path=path)

    # The provider's own calls repeat the others. They count only if there are no others.
    blocks = as_list(fields.get("content"))
    has_call_blocks = any(values.get_type(block) in REPEATED_CALL_BLOCKS for block in blocks)
    if not has_calls and not has_call_blocks:
        yield from openai_chat.read_calls(additional, path=f"{path}.additional_kwargs")


def _read_calls(fields: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the calls of a message, and those whose arguments LangChain could not read."""
    for name in ("tool_calls", "invalid_tool_calls"):
        calls = fields.get(name)
        if calls is not None and not isinstance(calls, list):
            yield from values.read_unknown(f"form of {name}", calls, path=path)
    for index, call in enumerate(as_list(fields.get("tool_calls"))):
        yield from _read_call(call, path=f"{path}.tool_calls[{index}]")
    for index, call in enumerate(as_list(fields.get("invalid_tool_calls"))):
        yield from _read_invalid_call(call, path=f"{path}.invalid_tool_calls[{index}]")


def _read_call(call: Any, *, path: str) -> Iterator[Reading]:
    fields = as_object(call)
    yield from values.report_unknown_fields(fields, CALL_FIELDS, path=path)
    yield from values.read_call(fields.get("id"), fields.get("name"), fields.get("args"), path=path)


def _read_invalid_call(call: Any, *, path: str) -> Iterator[Reading]:
    """Yield a call whose arguments LangChain could not parse."""
    fields = as_object(call)
    readings = values.read_call(fields.get("id"), fields.get("name"), fields.get("args"), path=path)
    for reading in readings:
        # A text that is JSON after all was still refused, perhaps for its function.
        if isinstance(reading, ToolCall) and reading.arguments is not None:
            what = f"call {reading.id or reading.name} is invalid: {fields.get('error')}"
            yield MessageIssue(what, path=path, raw=call)
        yield reading


def _read_content(content: Any, *, path: str, role: Role, has_calls: bool) -> Iterator[Reading]:
    """Yield the fragments of the content of a message: a text or a list of blocks."""
    if not isinstance(content, list):
        yield from openai_chat.read_content(content, path=path, role=role)
        return
    for index, block in enumerate(content):
        yield from _read_block(block, path=f"{path}[{index}]", role=role, has_calls=has_calls)


def _read_block(block: Any, *, path: str, role: Role, has_calls: bool) -> Iterator[Reading]:
    """Yield the fragments of one content block of a LangChain message.

    LangChain has block types of its own, and passes those of Anthropic and OpenAI through.

    Args:
        block: The block.
        path: Place of the block, such as `messages[2].content[0]`.
        role: Role of the message.
        has_calls: Whether the message has its calls in a field, so that blocks with calls repeat
            them.
    """
    fields = as_object(block)
    kind = fields.get("type")
    if kind == "reasoning":
        yield _read_reasoning_block(fields, path=path)
    elif kind in REPEATED_CALL_BLOCKS and has_calls:
        return
    elif kind == "server_tool_call":
        yield from values.read_call(
            fields.get("id"),
            fields.get("name"),
            fields.get("args"),
            path=path,
            is_by_provider=True,
        )
    elif kind == "server_tool_result":
        yield from _read_server_result(fields, path=path)
    elif kind == "non_standard":
        yield Note(block)
    elif anthropic.is_anthropic_block(block):
        yield from anthropic.read_blocks([block], path=path)
    else:
        yield from openai_chat.read_content([block], path=path, role=role)


def _read_reasoning_block(block: dict[str, Any], *, path: str) -> Reading:
    reasoning = block.get("reasoning")
    if isinstance(reasoning, str):
        return Reasoning(reasoning)
    return MessageIssue("reasoning is not a text", path=path, raw=block)


def _read_server_result(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    is_error = yield from values.read_mark(block.get("status"), ERROR_BY_STATUS, path=path)
    text = values.to_text(block.get("output"))
    yield from values.read_result(block.get("tool_call_id"), text, is_error=is_error, path=path)


def _read_tool_message(fields: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a call, which is a message with the role `tool`."""
    fragments = yield from collect_fragments(
        openai_chat.read_content(fields.get("content"), path=f"{path}.content", role="tool")
    )
    is_error = yield from values.read_mark(fields.get("status"), ERROR_BY_STATUS, path=path)
    yield from values.read_result(
        fields.get("tool_call_id"),
        fragments,
        is_error=is_error,
        name=fields.get("name"),
        path=path,
    )
