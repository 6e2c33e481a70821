"""Anthropic's messages, whose content is a list of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    Text,
    split_results,
)
from fcreview.importers.dialects.reading import (
    collect_fragments,
    read_message,
)

REDACTED_REASONING = "redacted_thinking"
SIGNS = {"tool_use", "tool_result", REDACTED_REASONING, "server_tool_use"}
"""Types of blocks that no other dialect has. So are `mcp_tool_use` and `*_tool_result`."""
NOTE_BLOCKS = {"compaction", "fallback", "mcp_tool_listing", "tool_addition", "tool_removal"}
FILE_BLOCKS = {"image", "document", "search_result", "container_upload"}
RESULT_SUFFIX = "_tool_result"
MESSAGE_FIELDS = {
    "role",
    "content",
    "id",
    "type",
    "model",
    "name",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "usage",
    "container",
    "context_management",
    "cache_control",
}
CALL_FIELDS = {"type", "id", "name", "input", "caller", "server_name", "cache_control"}
RESULT_FIELDS = {"type", "tool_use_id", "content", "is_error", "caller", "cache_control"}


def is_anthropic_block(value: Any) -> bool:
    """Whether a content part has a type that only Anthropic's API writes."""
    fields = as_object(value)
    kind = fields.get("type")
    if not isinstance(kind, str):
        return False
    # Mistral has such a part, too, with a list in it.
    if kind == "thinking":
        return isinstance(fields.get("thinking"), str)
    return kind in SIGNS or kind == "mcp_tool_use" or kind.endswith(RESULT_SUFFIX)


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, message in enumerate(messages):
        yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages in one written message. Results in it become messages of their own."""
    parsed = yield from read_message(message, MESSAGE_FIELDS, _read_content, path=path)
    if parsed is not None:
        yield from split_results(parsed)


def _read_content(message: dict[str, Any], _role: Role, *, path: str) -> Iterator[Reading]:
    return read_blocks(message.get("content"), path=f"{path}.content")


def read_blocks(content: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a content: a text, or a list of blocks."""
    return values.read_text_or_parts(content, _read_block, path=path)


def _read_block(block: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one content block of an Anthropic message: text, reasoning, a call, a
    result, a file or a note.

    Calls and results of the provider's own tools have types of their own. A block of an unknown
    type is reported. `path` is the place of the block.
    """
    if isinstance(block, str):
        yield Text(block)
        return
    fields = as_object(block)
    kind = fields.get("type")
    match kind:
        case "text":
            yield from values.read_text(fields.get("text"), path=path)
        case "thinking":
            yield from _read_thinking(fields, path=path)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            yield from _read_call(fields, path=path)
        case "tool_result":
            yield from _read_result(fields, path=path)
        case str() if kind.endswith(RESULT_SUFFIX):
            yield from _read_provider_result(fields, path=path)
        case str() if kind in FILE_BLOCKS:
            yield from _read_file(fields, path=path)
        case str() if kind in NOTE_BLOCKS or kind == REDACTED_REASONING:
            yield Note(block)
        case _:
            label = f"block {values.to_text(kind)}".strip()
            yield from values.read_unknown(label, block, path=path)


def _read_thinking(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    text = block.get("thinking")
    if isinstance(text, str):
        yield Reasoning(text)
    else:
        yield MessageIssue("thinking is not a text", path=path, raw=block)


def _read_call(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the call of a block of type `tool_use`, or one that Anthropic's server makes."""
    yield from values.report_unknown_fields(block, CALL_FIELDS, path=path)
    server = block.get("server_name")
    yield from values.read_call(
        block.get("id"),
        block.get("name"),
        block.get("input"),
        path=path,
        is_by_provider=block["type"] != "tool_use",
        server=server if isinstance(server, str) else None,
    )


def _read_result(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a tool. Without the mark `is_error`, it is no error."""
    yield from values.report_unknown_fields(block, RESULT_FIELDS, path=path)
    mark = block.get("is_error", False)
    if not isinstance(mark, bool):
        yield MessageIssue("is_error is not true or false", path=path, raw=mark)
    fragments = yield from collect_fragments(_read_result_content(block, path=path))
    yield from values.read_result(
        block.get("tool_use_id"), fragments, is_error=mark is True, path=path
    )


def _read_result_content(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield what is read from the content of a tool result. Nothing, if the tool returned nothing.

    Each issue about the content names the call to which the result belongs.
    """
    if block.get("content") is None:
        return
    label = values.read_id(block.get("tool_use_id")) or "without an id"
    for reading in read_blocks(block["content"], path=f"{path}.content"):
        if isinstance(reading, MessageIssue):
            yield replace(reading, what=f"{reading.what} in the result of {label}")
        else:
            yield reading


def _read_provider_result(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a tool that the provider or an MCP server ran.

    Its content is a list of blocks or an object. The type of an error ends in `_error`.
    """
    content = block.get("content")
    error_code = as_object(content).get("error_code")
    if isinstance(error_code, str):
        text = error_code
        is_error = True
    elif block["type"] == "mcp_tool_result":
        yield from _read_result(block, path=path)
        return
    else:
        text = _join_block_texts(content)
        is_error = False
    yield from values.read_result(block.get("tool_use_id"), text, is_error=is_error, path=path)


def _join_block_texts(content: Any) -> str:
    """Return the texts of a result's blocks, or its JSON if it has other blocks."""
    blocks = list_objects(content)
    texts = [block.get("text") for block in blocks]
    if blocks and all(isinstance(text, str) for text in texts):
        return "".join(str(text) for text in texts)
    return values.to_text(content)


def _read_file(block: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a placeholder for the file of a block, such as an image."""
    source = as_object(block.get("source"))
    yield from values.read_file(
        str(block["type"]),
        media_type=source.get("media_type"),
        data=source.get("data"),
        path=path,
    )
