"""Read messages of other dialects in files of a format that has messages of its own.

Formats such as ATIF, tau-bench and Inspect define their messages. Some programs that write these
files leave messages, parts or calls as they got them from an API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fcreview.importers.common.records import list_objects
from fcreview.importers.dialects.conversation import MessageIssue, ParsedMessage
from fcreview.importers.dialects.detection import (
    READ_LIKE_OPENAI_CHAT,
    SIGNS,
    detect_dialect,
    detect_dialects,
)
from fcreview.importers.dialects.openai_chat import REASONING_FIELDS
from fcreview.importers.dialects.readers import get_reader
from fcreview.importers.dialects.values import get_type

SIGN_FIELDS = frozenset(
    {
        "additional_kwargs",
        "data",
        "finishReason",
        "lc",
        "message",
        "parts",
        "toolInvocations",
        "tool_results",
        "type",
    }
)
"""Fields of a message with a role and a text in which the other dialects have their signs."""
OTHER_CHAT_FIELDS = frozenset(
    {
        "reasoning_content",
        "reasoning",
        "thinking",
        "refusal",
        "tool_plan",
        "function_call",
    }
)
"""Fields of chat messages with a text or a call, which tau-bench and Inspect do not write."""
CHAT_RESULT_ROLES = ("tool", "function")
_PATH_START = re.compile(r"^(\w+)\[(\d+)\]")
"""Beginning of the path of an issue: the list of messages, and the position in it."""


def has_foreign_form(message: Mapping[str, Any]) -> bool:
    """Whether a message has a sign of a dialect that is not written like OpenAI's chat format."""
    content = message.get("content")
    has_text_only = content is None or isinstance(content, str)
    if has_text_only and "role" in message and not message.keys() & SIGN_FIELDS:
        return False
    return detect_dialect(message) not in READ_LIKE_OPENAI_CHAT


def has_only_text(content: Any) -> bool:
    """Whether a content is a text, or a list of texts and text parts."""
    if content is None or isinstance(content, str):
        return True
    if not isinstance(content, list):
        return False
    return all(isinstance(part, str) or _is_text_part(part) for part in content)


def _is_text_part(part: Any) -> bool:
    return get_type(part) == "text" and isinstance(part.get("text"), str)


def has_openai_calls(message: Mapping[str, Any]) -> bool:
    """Whether a message has a call in the form of OpenAI's chat format."""
    if isinstance(message.get("function_call"), dict):
        return True
    calls = list_objects(message.get("tool_calls"))
    return any(isinstance(call.get("function"), dict) for call in calls)


def read_embedded(
    messages: Sequence[Any], *, path: str, first: int
) -> Iterator[ParsedMessage | MessageIssue]:
    """Read messages that follow each other, in the dialect of which they have signs.

    `path` and `first` name the list that contains them, and the position of the first one.
    """
    dialect = detect_dialects(messages)[0]
    for reading in get_reader(dialect)(messages):
        yield replace(reading, path=_locate(reading.path, first, path))


def _locate(path_in_part: str, first: int, path: str | None = None) -> str:
    """Return a path in the whole list of messages, whose name `path` may change."""
    start = _PATH_START.match(path_in_part)
    if start is None:
        return path_in_part
    return f"{path or start[1]}[{first + int(start[2])}]{path_in_part[start.end() :]}"


@dataclass(frozen=True, slots=True)
class MessageBlock:
    """Messages that follow each other, all in the format's own form or all in a foreign form."""

    first: int
    """Position of the first message in the list."""
    messages: list[Any]
    is_foreign: bool


def split_by_form(
    messages: Sequence[Any], is_foreign: Callable[[dict[str, Any]], bool]
) -> Iterator[MessageBlock]:
    """Yield the messages in blocks of successive messages that are all foreign, or all not.

    A message that is no object counts as not foreign, so that the format itself reads it.
    """
    block: MessageBlock | None = None
    for position, message in enumerate(messages):
        has_foreign_form = isinstance(message, dict) and is_foreign(message)
        if block is not None and block.is_foreign == has_foreign_form:
            block.messages.append(message)
            continue
        if block is not None:
            yield block
        block = MessageBlock(position, [message], is_foreign=has_foreign_form)
    if block is not None:
        yield block


def read_with_foreign_messages(
    messages: Sequence[Any], dialect: str
) -> Iterator[ParsedMessage | MessageIssue]:
    """Read the messages of a format that has a dialect. Those in another one are read in that."""
    for block in split_by_form(messages, partial(_is_foreign_to, dialect)):
        if block.is_foreign:
            yield from read_embedded(block.messages, path="messages", first=block.first)
            continue
        for reading in get_reader(dialect)(block.messages):
            if block.first:
                yield replace(reading, path=_locate(reading.path, block.first))
            else:
                yield reading


def _is_foreign_to(dialect: str, message: dict[str, Any]) -> bool:
    """Whether a message has a sign of another dialect. All dialects share plain messages."""
    if dialect in READ_LIKE_OPENAI_CHAT:
        return has_foreign_form(message)
    if has_openai_calls(message):
        return True
    # Most messages have the form of their file, so that it is looked for first.
    if SIGNS[dialect](message):
        return False
    if has_foreign_form(message):
        return True
    has_reasoning = any(message.get(field) for field in REASONING_FIELDS)
    return has_reasoning or message.get("role") in CHAT_RESULT_ROLES
