"""Haystack: messages whose content is a list of parts that have one key instead of a type.

Until version 2.9, the names of the fields began with an underscore: `_role`, `_content`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedMessage,
    Reading,
    Reasoning,
)
from fcreview.importers.dialects.reading import (
    collect_fragments,
    make_message,
    read_known_role,
)

PART_SIGNS = {"tool_call", "tool_call_result"}
"""Keys of parts that no other dialect has."""
OLD_FIELDS = {"_role": "role", "_content": "content", "_name": "name", "_meta": "meta"}
MESSAGE_FIELDS = {"role", "content", "name", "meta"}
CALL_FIELDS = {"id", "tool_name", "arguments", "extra"}
RESULT_FIELDS = {"result", "origin", "error"}


def is_haystack_message(message: Mapping[str, Any]) -> bool:
    """Whether a message has a part, or names of fields, that only Haystack writes."""
    if "_role" in message and "_content" in message:
        return True
    # Without calls, the parts are those of Bedrock, but the fields are not.
    has_parts = isinstance(message.get("content"), list)
    if has_parts and message.keys() == MESSAGE_FIELDS:
        return True
    return any(map(_is_haystack_part, list_objects(message.get("content"))))


def _is_haystack_part(part: Mapping[str, Any]) -> bool:
    if "type" in part:
        return False
    has_reasoning = "reasoning_text" in as_object(part.get("reasoning"))
    return has_reasoning or bool(part.keys() & PART_SIGNS)


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, message in enumerate(messages):
        yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield a message, and issues about what is not read.

    A value without a known role, also one that is no object, is yielded as a message that was not
    read.
    """
    if isinstance(message, dict):
        message = {OLD_FIELDS.get(name, name): value for name, value in message.items()}
    role = yield from read_known_role(message, path=path)
    if role is None:
        return

    yield from values.report_unknown_fields(message, MESSAGE_FIELDS, path=path)
    readings = values.read_text_or_parts(message.get("content"), _read_part, path=f"{path}.content")
    fragments = yield from collect_fragments(readings)
    # The reason why the model stopped is among the metadata.
    written = as_object(message.get("meta")) | message
    parsed = yield from make_message(role, fragments, written, path=path)
    yield parsed


def _read_part(part: Any, *, path: str) -> Iterator[Reading]:
    return values.read_by_key(part, _read_part_key, noun="part", path=path)


def _read_part_key(key: str, content: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a part, by its key. A part of an unknown kind is reported."""
    match key:
        case "text":
            yield from values.read_text(content, path=path)
        case "tool_call" if isinstance(content, dict):
            yield from values.report_unknown_fields(content, CALL_FIELDS, path=path)
            yield from values.read_call(
                content.get("id"), content.get("tool_name"), content.get("arguments"), path=path
            )
        case "tool_call_result" if isinstance(content, dict):
            yield from _read_result(content, path=path)
        case "reasoning" if isinstance(as_object(content).get("reasoning_text"), str):
            yield Reasoning(content["reasoning_text"])
        case "image" | "file":
            file = as_object(content)
            yield from values.read_file(
                key, media_type=file.get("mime_type"), data=file.get(f"base64_{key}"), path=path
            )
        case _:
            yield from values.read_unknown(f"part {key}", {key: content}, path=path)


def _read_result(result: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a call. Its origin is the whole call."""
    yield from values.report_unknown_fields(result, RESULT_FIELDS, path=path)
    origin = as_object(result.get("origin"))
    if not origin:
        what = "result without the call that it answers"
        yield MessageIssue(what, path=path, raw=result.get("origin"))
    mark = result.get("error")
    if not isinstance(mark, bool):
        yield MessageIssue("error of a result is not true or false", path=path, raw=mark)

    readings = values.read_text_or_parts(result.get("result"), _read_part, path=f"{path}.result")
    fragments = yield from collect_fragments(readings)
    yield from values.read_result(
        origin.get("id"),
        fragments,
        is_error=mark if isinstance(mark, bool) else None,
        name=origin.get("tool_name"),
        path=path,
    )
