"""Read messages that OpenLLMetry (Traceloop) and other programs spread over many attributes.

Each attribute has one field of a message: `gen_ai.prompt.0.role`, `gen_ai.prompt.0.content`,
`gen_ai.completion.0.tool_calls.0.name`. The messages have OpenAI's form, with the JSON text of
other contents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.dialects.values import get_type
from fcreview.importers.generic_format.traced_requests import (
    JsonObject,
    TracedContent,
    decode,
)

MESSAGES = "gen_ai.prompt"
REPLIES = "gen_ai.completion"
TOOLS = "llm.request.functions"
_NUMBER = re.compile(r"\d{1,6}", re.ASCII)
_CONTENT_NAME = re.compile(
    rf"(?:{re.escape(MESSAGES)}|{re.escape(REPLIES)}|{re.escape(TOOLS)})(?:\.\d{{1,6}}(?:\.|$)|$)",
    re.ASCII,
)
"""Matches the beginning of the name of an attribute with content."""
MAX_NAME_PARTS = 10
OWN_VALUE = "value"
"""Name of the value of an attribute that has fields, too."""
USER_TEXT = "user"
"""Field of a message that is only a text of the user."""
REASONING_ROLE = "thinking"
"""Role of an entry with the reasoning before a reply of Anthropic."""
SCHEMA_FIELDS = ("parameters", "input_schema")
"""Fields of a tool that are JSON texts."""


def is_content(name: str) -> bool:
    """Whether the attribute with this name has a part of a message or of a tool."""
    return _CONTENT_NAME.match(name) is not None


def has_messages(attributes: JsonObject) -> bool:
    names = filter(is_content, attributes)
    return any(name.startswith((MESSAGES, REPLIES)) for name in names)


def read_content(attributes: JsonObject) -> TracedContent:
    """Return the messages of the request, the replies and the tools."""
    messages = [_read_message(entry) for entry in _collect_entries(attributes, MESSAGES).values()]
    replies = list(_read_replies(attributes))
    # The results of calls show that the messages have Anthropic's form.
    if any(map(_has_result_block, messages)):
        messages = list(map(_write_as_blocks, messages))
        replies = list(map(_write_as_blocks, replies))
    return TracedContent(messages, replies, tools=list(_read_tools(attributes)))


def find_missing_messages(attributes: JsonObject) -> Iterator[str]:
    """Yield the names of the first message and the first reply that are missing, although a later
    one is there.
    """
    for prefix in (MESSAGES, REPLIES):
        for expected, number in enumerate(_collect_entries(attributes, prefix)):
            if number != expected:
                yield f"{prefix}.{expected}"
                break


# -- entries


def _collect_entries(attributes: JsonObject, prefix: str) -> dict[int, Any]:
    """Return the entries with a prefix by their numbers, in order. One attribute can have all of
    them as JSON text.
    """
    whole = decode(attributes.get(prefix))
    if isinstance(whole, list):
        return dict(enumerate(whole))
    fields: JsonObject = {}
    for name, value in attributes.items():
        if name.startswith(f"{prefix}.") and is_content(name):
            field_path = name.removeprefix(f"{prefix}.").split(".", MAX_NAME_PARTS)
            _set_field(fields, field_path, value)
    return {int(number): _make_lists(fields[number]) for number in sorted(fields, key=int)}


def _set_field(fields: JsonObject, path: Sequence[str], value: Any) -> None:
    """Set the field at a path of names."""
    name, *rest = path
    if not rest:
        if isinstance(fields.get(name), dict):
            fields[name][OWN_VALUE] = value
        else:
            fields[name] = value
        return
    inner = fields.get(name)
    if not isinstance(inner, dict):
        inner = {} if inner is None else {OWN_VALUE: inner}
        fields[name] = inner
    _set_field(inner, rest, value)


def _make_lists(value: Any) -> Any:
    """Return a value in which objects with numbers as keys are lists."""
    if not isinstance(value, dict):
        return value
    converted = {name: _make_lists(field) for name, field in value.items()}
    if converted and all(map(_NUMBER.fullmatch, converted)):
        return [converted[number] for number in sorted(converted, key=int)]
    return converted


# -- messages and tools


def _read_replies(attributes: JsonObject) -> Iterator[JsonObject]:
    """Yield the replies. The reasoning before a reply of Anthropic is an entry of its own, which
    also has the finish reason.
    """
    reasoning: JsonObject = {}
    for entry in _collect_entries(attributes, REPLIES).values():
        reply = {"role": "assistant"} | as_object(_read_message(entry))
        if reply["role"] == REASONING_ROLE:
            reasoning = _add_reasoning(reasoning, reply)
            continue
        yield reasoning | reply
        reasoning = {}
    if reasoning:
        yield {"role": "assistant"} | reasoning


def _add_reasoning(reasoning: JsonObject, entry: JsonObject) -> JsonObject:
    """Return the fields that an entry with reasoning gives the reply after it."""
    texts = (reasoning.get("reasoning_content"), entry.get("content"))
    fields = {"reasoning_content": "".join(text for text in texts if isinstance(text, str))}
    if entry.get("finish_reason"):
        fields["finish_reason"] = entry["finish_reason"]
    return reasoning | fields


def _read_tools(attributes: JsonObject) -> Iterator[Any]:
    for entry in _collect_entries(attributes, TOOLS).values():
        if not isinstance(entry, dict):
            yield entry
            continue
        schemas = {name: decode(entry[name]) for name in SCHEMA_FIELDS if name in entry}
        yield entry | schemas


def _read_message(entry: Any) -> Any:
    """Return an entry as a message. Anything else stays, so that reading it is an issue."""
    if not isinstance(entry, dict):
        return entry
    message = dict(entry)
    if USER_TEXT in message and "content" not in message:
        message |= {"role": "user", "content": message.pop(USER_TEXT)}
    # The program leaves an empty content out.
    message["content"] = _decode_parts(message.get("content"))
    return message


def _decode_parts(content: Any) -> Any:
    """Return the parts of a content that is their JSON text. Any other text may be JSON by itself,
    and stays.
    """
    parts = as_list(decode(content))
    are_parts = bool(parts) and all(get_type(part) for part in parts)
    return parts if are_parts else content


def _has_result_block(message: Any) -> bool:
    """Whether a message has Anthropic's result of a call as a part of its content."""
    blocks = list_objects(as_object(message).get("content"))
    return any(get_type(block) == "tool_result" for block in blocks)


def _write_as_blocks(message: Any) -> Any:
    """Return a message of Anthropic with its reasoning and calls as blocks. The program took them
    out of the content.
    """
    fields = dict(as_object(message))
    reasoning = fields.pop("reasoning_content", None)
    calls = list_objects(fields.pop("tool_calls", None))
    if not reasoning and not calls:
        return message

    blocks: list[Any] = []
    if reasoning:
        blocks.append({"type": "thinking", "thinking": reasoning})
    blocks += _list_blocks(fields.get("content"))
    for call in calls:
        block = {"type": "tool_use", "id": call.get("id"), "name": call.get("name")}
        blocks.append(block | {"input": call.get("arguments")})
    return fields | {"content": blocks}


def _list_blocks(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
