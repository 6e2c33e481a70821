"""Recognise a file that is one conversation: a list of messages, a request, or a response, which
can be written as the pieces in which it was streamed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import JsonRecord, parse_json_text
from fcreview.importers.dialects.detection import is_message, is_message_list
from fcreview.importers.dialects.read import (
    MESSAGE_FIELDS,
    REPLY_FIELDS,
    SYSTEM_FIELDS,
    TOOL_FIELDS,
    has_messages,
    has_reply,
)
from fcreview.importers.dialects.streams.events import read_events
from fcreview.importers.dialects.streams.join import is_stream_piece, join_certain_stream
from fcreview.safe_files import read_file

MAX_BYTES = 32 << 20
"""Size of the largest file that is read as one conversation."""
API_FIELDS = frozenset(
    {
        *MESSAGE_FIELDS,
        *SYSTEM_FIELDS,
        *TOOL_FIELDS,
        *REPLY_FIELDS,
        "content",
        "created",
        "created_at",
        "error",
        "finish_reason",
        "generationConfig",
        "id",
        "incomplete_details",
        "inferenceConfig",
        "max_output_tokens",
        "max_tokens",
        "message",
        "metadata",
        "model",
        "modelId",
        "modelVersion",
        "object",
        "parallel_tool_calls",
        "reasoning",
        "responseId",
        "role",
        "seed",
        "status",
        "stop",
        "stop_reason",
        "stop_sequence",
        "stream",
        "temperature",
        "tool_choice",
        "top_p",
        "type",
        "usage",
        "usageMetadata",
    }
)
"""Fields of requests and responses of APIs. A file with another field belongs to another format."""
RESPONSE_FIELDS = frozenset(
    {*REPLY_FIELDS, "content", "error", "incomplete_details", "message", "role", "status"}
)
"""Fields of a response with the reply, and with what is known about its end."""


def read_whole_conversation(path: Path) -> JsonRecord | None:
    """Return the conversation that a whole file is, as a record in line 1, or None.

    A file with a conversation in each line or in each element of an array is no such file.
    """
    try:
        raw = read_file(path, MAX_BYTES)
        text = raw.decode("utf-8-sig")
    except (OSError, ValueError):
        return None
    value = _parse_conversation(text)
    if value is None:
        return None
    return JsonRecord(1, offset=0, length=len(raw), value=value)


def may_be_whole_conversation(first_record: Any) -> bool:
    """Whether a file with this first record, or without one, can be one conversation."""
    return first_record is None or is_message(first_record) or is_stream_piece(first_record)


def _parse_conversation(text: str) -> Any:
    """Return the conversation that a text is, or whose streamed pieces it has, or None."""
    try:
        value = parse_json_text(text, [])
    except RecursionError:
        return None
    except ValueError:
        return _parse_lines(text)
    if is_conversation(value) and not is_stream_piece(value):
        return value
    return _join_pieces(value if isinstance(value, list) else [value])


def _parse_lines(text: str) -> Any:
    """Return the conversation that a text has on several lines: a message or a streamed piece on
    each line, or server-sent events. None for something else.
    """
    lines = read_events(text)
    if lines.n_unread == 0 and is_message_list(lines.events):
        return lines.events
    return _join_pieces(text)


def _join_pieces(written: Any) -> Any:
    """Return the response whose pieces a text or a list has, as a line of a chat log with the
    response. None for something else.
    """
    response = join_certain_stream(written)
    if response is None:
        return None
    fields = {name: value for name, value in response.items() if name not in RESPONSE_FIELDS}
    return fields | {"response": response}


def is_conversation(value: Any) -> bool:
    """Whether a JSON value is a list of messages, a request, or a response."""
    if isinstance(value, list):
        return is_message_list(value)
    if not isinstance(value, dict) or not value.keys() <= API_FIELDS:
        return False
    return has_messages(value) or has_reply(value)
