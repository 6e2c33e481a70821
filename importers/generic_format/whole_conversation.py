"""Recognise a file that is one conversation: a list of messages, a request, or a response."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import JsonRecord, parse_json_text
from fcreview.importers.dialects.detection import is_message_list
from fcreview.importers.dialects.read import (
    MESSAGE_FIELDS,
    REPLY_FIELDS,
    SYSTEM_FIELDS,
    TOOL_FIELDS,
    has_messages,
    has_reply,
)
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


def read_whole_conversation(path: Path) -> JsonRecord | None:
    """Return the conversation that a whole file is, as a record in line 1, or None.

    A file with a conversation in each line or in each element of an array is no such file.
    """
    try:
        raw = read_file(path, MAX_BYTES)
        value = parse_json_text(raw.decode("utf-8-sig"), [])
    except (OSError, ValueError, RecursionError):
        return None
    if not is_conversation(value):
        return None
    return JsonRecord(1, offset=0, length=len(raw), value=value)


def is_conversation(value: Any) -> bool:
    """Whether a JSON value is a list of messages, a request, or a response."""
    if isinstance(value, list):
        return is_message_list(value)
    if not isinstance(value, dict) or not value.keys() <= API_FIELDS:
        return False
    return has_messages(value) or has_reply(value)
