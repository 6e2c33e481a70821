"""Amazon Bedrock's Converse API: content blocks that have one key instead of a type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_object
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

BLOCK_KEYS = {
    "text",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "cachePoint",
    "guardContent",
    "citationsContent",
    "image",
    "document",
    "video",
    "audio",
}
"""Keys by which a list of blocks is recognised."""
MESSAGE_FIELDS = {"role", "content", "stopReason", "stop_reason"}
CITED_TEXT_FIELDS = {"content", "citations"}
CALL_FIELDS = {"toolUseId", "name", "input", "type"}
RESULT_FIELDS = {"toolUseId", "content", "status", "type"}
ERROR_BY_STATUS = {"success": False, "error": True}
"""Whether a result is an error, by its status. Without a status, it is unknown."""


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
    """Yield the fragments of a list of blocks. The system prompt is such a list, too."""
    return values.read_text_or_parts(content, _read_block, path=path)


def _read_block(block: Any, *, path: str) -> Iterator[Reading]:
    return values.read_by_key(block, _read_block_key, noun="block", path=path)


def _read_block_key(key: str, content: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one content block of a Bedrock message, by the key that says what kind
    of block it is.

    `content` is the value of the key, and `path` the place of the block. A block of an unknown kind
    is reported.
    """
    match key:
        case "text":
            yield from values.read_text(content, path=path)
        case "toolUse":
            yield from _read_call(as_object(content), path=path)
        case "toolResult":
            yield from _read_result(as_object(content), path=path)
        case "reasoningContent":
            yield from _read_reasoning(content, path=path)
        case "citationsContent":
            yield from _read_cited_text(as_object(content), path=f"{path}.{key}")
        case "guardContent":
            yield from _read_guarded_content(as_object(content), path=f"{path}.{key}")
        case "json":
            yield Text(values.to_text(content))
        case "image" | "document" | "video" | "audio":
            yield from _read_file(key, as_object(content), path=path)
        case "cachePoint":
            yield Note({key: content})
        case _:
            yield from values.read_unknown(f"block {key}", {key: content}, path=path)


def _read_cited_text(content: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a text with citations. The citations are kept as a note."""
    yield from values.report_unknown_fields(content, CITED_TEXT_FIELDS, path=path)
    yield from read_blocks(content.get("content"), path=f"{path}.content")
    if content.get("citations"):
        yield Note({"citations": content["citations"]})


def _read_guarded_content(content: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a text or an image that a guardrail checks."""
    if not content:
        yield MessageIssue("content for a guardrail is missing", path=path)
    for key, value in content.items():
        if key == "text":
            yield from values.read_text(as_object(value).get("text"), path=path)
        else:
            yield from _read_block_key(key, value, path=path)


def _read_call(call: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a call, and issues about its form. Calls of server tools are made by the provider."""
    yield from values.report_unknown_fields(call, CALL_FIELDS, path=path)
    yield from values.read_call(
        call.get("toolUseId"),
        call.get("name"),
        call.get("input"),
        path=path,
        is_by_provider=call.get("type") == "server_tool_use",
    )


def _read_result(result: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a call, with the mark whether it is an error."""
    yield from values.report_unknown_fields(result, RESULT_FIELDS, path=path)
    fragments = yield from collect_fragments(
        read_blocks(result.get("content"), path=f"{path}.content")
    )
    is_error = yield from values.read_mark(result.get("status"), ERROR_BY_STATUS, path=path)
    yield from values.read_result(
        result.get("toolUseId"),
        fragments,
        is_error=is_error,
        path=path,
    )


def _read_reasoning(content: Any, *, path: str) -> Iterator[Reading]:
    """Yield the reasoning of a reply. Encrypted reasoning becomes a note."""
    reasoning = as_object(as_object(content).get("reasoningText")).get("text")
    if isinstance(reasoning, str):
        yield Reasoning(reasoning)
    elif "redactedContent" in as_object(content):
        yield Note(content)
    else:
        yield MessageIssue("reasoning is not a text", path=path, raw=content)


def _read_file(kind: str, content: dict[str, Any], *, path: str) -> Iterator[Reading]:
    source = as_object(content.get("source"))
    yield from values.read_file(
        kind, media_type=content.get("format"), data=source.get("bytes"), path=path
    )
