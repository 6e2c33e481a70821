"""Messages of OpenTelemetry's conventions for generative AI: parts with a type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
)
from fcreview.importers.dialects.reading import (
    read_message,
)

MESSAGE_FIELDS = {"role", "parts", "finish_reason", "name"}
RESULT_FIELDS = ("response", "result")
"""Field of a result. Writers before June 2026 use `result`."""


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, message in enumerate(messages):
        yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Read one message in the form of OpenTelemetry. Problems in it are yielded as issues."""
    parsed = yield from read_message(message, MESSAGE_FIELDS, _read_content, path=path)
    if parsed is None:
        return
    # Some writers put results into messages of the user.
    if parsed.results and parsed.role == "user" and not parsed.text:
        parsed.role = "tool"
    yield parsed


def _read_content(message: dict[str, Any], _role: Role, *, path: str) -> Iterator[Reading]:
    return _read_parts(message.get("parts"), path=path)


def _read_parts(parts: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of the parts of a message, which should be a list."""
    if parts is not None and not isinstance(parts, list):
        yield from values.read_unknown("form of parts", parts, path=path)
    for index, part in enumerate(as_list(parts)):
        yield from _read_part(as_object(part), part, path=f"{path}.parts[{index}]")


def _read_part(fields: dict[str, Any], part: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one part of a message in OpenTelemetry's conventions for generative
    AI.

    `fields` is the part as an object, `part` the part as it is written, and `path` its place. A
    part of an unknown type is reported.
    """
    match fields.get("type"):
        case "text":
            yield from values.read_text(fields.get("content"), path=path)
        case "reasoning":
            yield from _read_reasoning(fields.get("content"), path=path)
        case "tool_call":
            yield from values.read_call(
                fields.get("id"), fields.get("name"), fields.get("arguments"), path=path
            )
        case "server_tool_call":
            yield from _read_server_call(fields, path=path)
        case "tool_call_response" | "server_tool_call_response":
            yield from _read_result(fields, path=path)
        case "blob" | "file" | "uri":
            yield from _read_file(fields, path=path)
        case "compaction":
            yield Note(part)
        case kind:
            label = f"part {values.to_text(kind)}".strip()
            yield from values.read_unknown(label, part, path=path)


def _read_reasoning(text: Any, *, path: str) -> Iterator[Reading]:
    if isinstance(text, str):
        yield Reasoning(text)
    else:
        yield MessageIssue("reasoning is not a text", path=path, raw=text)


def _read_server_call(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    details = as_object(part.get("server_tool_call"))
    arguments = details.get("arguments", part.get("arguments"))
    yield from values.read_call(
        part.get("id"), part.get("name"), arguments, path=path, is_by_provider=True
    )


def _read_result(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a call. The field that contains it depends on the version of the
    conventions.
    """
    written = [part[field] for field in RESULT_FIELDS if field in part]
    if not written and "server_tool_call_response" in part:
        written.append(part["server_tool_call_response"])
    if not written:
        yield MessageIssue("result without a response", path=path, raw=part)
    text = values.to_text(written[0]) if written else ""
    yield from values.read_result(part.get("id"), text, path=path)


def _read_file(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a placeholder for the file of a part, such as an image."""
    kind = part.get("modality")
    yield from values.read_file(
        kind if isinstance(kind, str) else "file",
        media_type=part.get("mime_type"),
        data=part.get("content"),
        path=path,
    )
