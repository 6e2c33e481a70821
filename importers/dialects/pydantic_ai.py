"""Pydantic AI: requests and responses whose parts have a `part_kind`.

A request has the texts of the system and the user, and the results of the calls before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    assemble_message,
)
from fcreview.importers.dialects.reading import collect_fragments

PART_KIND = "part_kind"
KINDS = ("request", "response")
ROLES: dict[Any, Role] = {
    "system-prompt": "system",
    "tool-return": "tool",
}
"""Role of a part in a request. The other parts are the user's."""
CALL_FIELDS = {
    "args",
    "id",
    "part_kind",
    "provider_details",
    "provider_name",
    "tool_call_id",
    "tool_kind",
    "tool_name",
}
ERROR_BY_OUTCOME = {"success": False, "failed": True, "denied": True}


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages of a conversation.

    Each request repeats the instructions. They are a message of the system where they change.
    """
    last_instructions: Any = None
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        instructions = as_object(message).get("instructions")
        if isinstance(instructions, str) and instructions != last_instructions:
            yield ParsedMessage("system", text=instructions, path=path)
            last_instructions = instructions
        yield from _read_message(message, path=path)


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages in a request, one for each role in turn, or the message of a response."""
    fields = as_object(message)
    parts = fields.get("parts")
    if fields.get("kind") not in KINDS or not isinstance(parts, list):
        yield MessageIssue("message is neither a request nor a response", path=path, raw=message)
        yield ParsedMessage("log", unknown_parts=[message], path=path)
        return

    is_response = fields["kind"] == "response"
    for group in _group_by_role(parts, is_response=is_response):
        readings = _read_parts(group.numbered_parts, path=f"{path}.parts")
        fragments = yield from collect_fragments(readings)
        yield assemble_message(group.role, fragments, path=path)
    if not parts:
        yield MessageIssue("message without content", path=path, raw=message)


@dataclass(frozen=True, slots=True)
class _PartsOfRole:
    """Neighbouring parts of a message that have the same role."""

    role: Role
    numbered_parts: list[tuple[int, Any]]
    """Each part with its position in the message."""


def _group_by_role(parts: list[Any], *, is_response: bool) -> list[_PartsOfRole]:
    """Divide the parts of a message where the role changes. All parts of a response are the
    assistant's.
    """
    groups: list[_PartsOfRole] = []
    for position, part in enumerate(parts):
        role: Role = "assistant" if is_response else _find_role(part)
        if not groups or groups[-1].role != role:
            groups.append(_PartsOfRole(role, []))
        groups[-1].numbered_parts.append((position, part))
    return groups


def _find_role(part: Any) -> Role:
    """Return the role of a part of a request. A demand to call a tool again is its result."""
    fields = as_object(part)
    if fields.get(PART_KIND) == "retry-prompt" and fields.get("tool_name") is not None:
        return "tool"
    return ROLES.get(fields.get(PART_KIND), "user")


def _read_parts(pairs: Sequence[tuple[int, Any]], *, path: str) -> Iterator[Reading]:
    for index, part in pairs:
        yield from _read_part(part, path=f"{path}[{index}]")


def _read_part(part: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one part. A part of an unknown kind is reported."""
    fields = as_object(part)
    content = fields.get("content")
    match fields.get(PART_KIND):
        case "system-prompt" | "text":
            yield from values.read_text(content, path=path, what="content")
        case "user-prompt":
            yield from _read_prompt(content, path=path)
        case "thinking":
            yield from _read_reasoning(content, path=path)
        case "tool-call":
            yield from _read_call(fields, path=path)
        case "builtin-tool-call":
            yield from _read_call(fields, path=path, is_by_provider=True)
        case "tool-return" | "builtin-tool-return":
            outcome = fields.get("outcome")
            is_error = yield from values.read_mark(outcome, ERROR_BY_OUTCOME, path=path)
            yield from _read_result(fields, is_error, path=path)
        case "retry-prompt":
            yield from _read_retry_prompt(fields, path=path)
        case kind:
            label = f"part {values.to_text(kind)}".strip()
            yield from values.read_unknown(label, part, path=path)


def _read_retry_prompt(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a demand to try again. If it names a tool, it is the result of a call that failed.
    Otherwise, the name is null, and it is a text for the model, which has to answer again.
    """
    if part.get("tool_name") is not None:
        yield from _read_result(part, True, path=path)
        return
    if "tool_name" not in part:
        yield MessageIssue("retry-prompt without the field tool_name", path=path, raw=part)
    yield Text(values.to_text(part.get("content")))


def _read_prompt(content: Any, *, path: str) -> Iterator[Reading]:
    """Yield a text, or the texts and files in a list."""
    if not isinstance(content, list):
        yield from values.read_text(content, path=path, what="content")
        return
    for index, element in enumerate(content):
        fields = as_object(element)
        kind = fields.get("kind")
        if isinstance(element, str):
            yield Text(element)
        elif kind in ("image-url", "audio-url", "video-url", "document-url", "binary"):
            yield from values.read_file(
                "file", media_type=fields.get("media_type"), data=fields.get("data"), path=path
            )
        else:
            yield from values.read_unknown("content", element, path=f"{path}.content[{index}]")


def _read_reasoning(content: Any, *, path: str) -> Iterator[Reading]:
    if isinstance(content, str):
        yield Reasoning(content)
    else:
        yield MessageIssue("reasoning is not a text", path=path, raw=content)
        yield Note(content)


def _read_call(
    part: dict[str, Any], *, path: str, is_by_provider: bool = False
) -> Iterator[Reading]:
    """Yield a call. Null stands for no arguments."""
    yield from values.report_unknown_fields(part, CALL_FIELDS, path=path)
    arguments = part.get("args")
    if arguments is None and "args" in part:
        arguments = {}
    yield from values.read_call(
        part.get("tool_call_id"),
        part.get("tool_name"),
        arguments,
        path=path,
        is_by_provider=is_by_provider,
    )


def _read_result(part: dict[str, Any], is_error: bool | None, *, path: str) -> Iterator[Reading]:
    """Yield the result of a call, and issues about its form."""
    if "content" not in part:
        yield MessageIssue("result without content", path=path, raw=part)
    yield from values.read_result(
        part.get("tool_call_id"),
        values.to_text(part.get("content")),
        is_error=is_error,
        name=part.get("tool_name"),
        path=path,
    )
