"""Read a conversation in any dialect from a list of messages, a request, or a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.dialects import anthropic, bedrock, gemini, openai_responses, sharegpt
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedConversation,
    ParsedMessage,
    Reading,
    Text,
    assemble_message,
)
from fcreview.importers.dialects.detection import detect_dialects, is_message_list, is_mixture
from fcreview.importers.dialects.embedded import read_with_foreign_messages
from fcreview.importers.dialects.pairing import pair_results
from fcreview.importers.dialects.readers import get_reader
from fcreview.importers.dialects.reading import collect_fragments
from fcreview.importers.dialects.text_calls import read_text_calls
from fcreview.importers.dialects.tools import add_tools, find_listed_tools

MESSAGE_FIELDS = ("messages", "contents", "conversations", "chat_history", "outputs", "input")
"""Fields of a request or response that can hold the list of messages."""
REPLY_FIELDS = ("choices", "output", "candidates")
"""Fields of a response that hold the reply."""
RESPONSE_FIELDS = ("usage", "status", "incomplete_details", "error")
"""Fields about the response, in a response that is itself the message."""
SYSTEM_FIELDS = ("system", "systemInstruction", "system_instruction", "instructions", "preamble")
TOOL_FIELDS = ("tools", "functions", "toolConfig", "tool_config")


@dataclass(slots=True)
class _WrittenConversation:
    """Parts of a conversation as they are written."""

    messages: list[Any]
    system: Any = None
    tools: Any = None
    output_items: list[Any] = field(default_factory=list)
    """Items of one response of OpenAI's Responses."""
    candidates: list[Any] = field(default_factory=list)
    """Replies of Gemini."""
    end: str | None = None
    """Why the reply is incomplete."""


def read_conversation(
    written: Any,
    *,
    dialect: str | None = None,
    call_style: str | None = None,
    reads_foreign: bool = False,
) -> ParsedConversation:
    """Read a conversation in the dialect of any API: its messages, calls, results and functions.

    Args:
        written: A list of messages, or an object with such a list: a request, a response, or a
            record of a log.
        dialect: Name of the dialect. Without it, the messages show which dialect it is.
        call_style: A name in `text_calls.STYLES`. Then replies without calls may have calls in
            their text.
        reads_foreign: Whether messages that have the form of another dialect are read in that one.
    """
    parts = _find_parts(written)
    dialects = [dialect] if dialect else _detect(parts)
    conversation = ParsedConversation(dialects[0])
    if is_mixture(dialects):
        what = f"messages of several dialects ({', '.join(dialects)}), read as {dialects[0]}"
        conversation.issues.append(MessageIssue(what, path="messages"))

    _add_readings(conversation, _read_parts(parts, dialects[0], reads_foreign=reads_foreign))
    if call_style is not None:
        _read_calls_in_texts(conversation, call_style)
    if not conversation.messages and not conversation.issues:
        conversation.issues.append(MessageIssue("no messages were found", path="messages"))
    conversation.issues.extend(pair_results(conversation.messages))
    _add_functions(conversation, parts)
    return conversation


def _add_readings(
    conversation: ParsedConversation, readings: Iterable[ParsedMessage | MessageIssue]
) -> None:
    for reading in readings:
        if isinstance(reading, MessageIssue):
            conversation.issues.append(reading)
        else:
            conversation.messages.append(reading)


def _read_calls_in_texts(conversation: ParsedConversation, call_style: str) -> None:
    """Take the calls out of the texts of replies that have no other calls."""
    for message in conversation.messages:
        if message.role != "assistant" or message.calls or not message.text:
            continue
        reply = read_text_calls(message.text, call_style, path=message.path)
        # The text without the calls remains.
        message.text = reply.text
        message.calls = reply.calls
        message.unknown_parts.extend(reply.unread_calls)
        if reply.reasoning:
            message.reasoning = (message.reasoning or "") + reply.reasoning
        conversation.issues.extend(reply.issues)


def _detect(parts: _WrittenConversation) -> list[str]:
    if parts.candidates:
        return ["gemini"]
    if parts.output_items and not parts.messages:
        return ["openai_responses"]
    return detect_dialects([*parts.messages, *parts.output_items])


def _read_parts(
    parts: _WrittenConversation, dialect: str, *, reads_foreign: bool
) -> Iterator[ParsedMessage | MessageIssue]:
    """Read the parts of a conversation in a dialect, in their order: the system prompt, the
    messages, and the reply.

    With `reads_foreign`, messages that have the form of another dialect are read in that one.
    """
    yield from _read_system(parts.system)
    if dialect == sharegpt.NAME:
        yield from sharegpt.read_messages(parts.messages, has_tools=bool(parts.tools))
    elif reads_foreign:
        yield from read_with_foreign_messages(parts.messages, dialect)
    else:
        yield from get_reader(dialect)(parts.messages)
    if parts.output_items:
        yield from openai_responses.read_reply(parts.output_items)
    yield from gemini.read_candidates(parts.candidates)
    if parts.end is not None:
        yield MessageIssue(f"reply incomplete: {parts.end}", path="status")


def _read_system(system: Any) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the system prompt that some APIs have outside of the messages.

    It is a text, or a list of content blocks in the form of Gemini, Anthropic or Bedrock, whose
    blocks differ.
    """
    if system is None or system == "":
        return
    readings: Iterable[Reading]
    if isinstance(system, str):
        readings = [Text(system)]
    elif isinstance(system, dict):
        readings = gemini.read_parts(system.get("parts"), path="system")
    elif isinstance(system, list) and any("type" in as_object(block) for block in system):
        readings = anthropic.read_blocks(system, path="system")
    elif isinstance(system, list):
        readings = bedrock.read_blocks(system, path="system")
    else:
        yield MessageIssue("system prompt is not a text", path="system", raw=system)
        return
    fragments = yield from collect_fragments(readings)
    yield assemble_message("system", fragments, path="system")


# -- finding the messages


def _find_parts(written: Any) -> _WrittenConversation:
    """Find the parts of a conversation in a list of messages, or in an object such as a request, a
    response or a record of a log.
    """
    if isinstance(written, list):
        return _WrittenConversation(list(written))
    fields = as_object(written)
    parts = _WrittenConversation(_find_messages(fields))
    parts.system = _find_first(fields, SYSTEM_FIELDS)
    parts.tools = _find_first(fields, TOOL_FIELDS)
    if isinstance(fields.get("output"), list):
        parts.output_items = list(fields["output"])
    parts.candidates = as_list(fields.get("candidates"))
    if fields.get("status") == "incomplete":
        parts.end = as_object(fields.get("incomplete_details")).get("reason")
    return parts


def _find_first(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    return None


def _find_messages(fields: Mapping[str, Any]) -> list[Any]:
    """Return the messages of a request or response, as they are written.

    Empty if there are none.
    """
    return _find_request_messages(fields) or find_reply_messages(fields)


def _find_request_messages(fields: Mapping[str, Any]) -> list[Any]:
    """Return the messages of a request. Empty if there are none, as in a response."""
    for name in MESSAGE_FIELDS:
        if isinstance(fields.get(name), list):
            return list(fields[name])
    # The short form of OpenAI's Responses.
    if isinstance(fields.get("input"), str):
        return [{"role": "user", "content": fields["input"]}]
    return []


def find_reply_messages(response: Mapping[str, Any]) -> list[Any]:
    """Return the messages in an API's response, which holds one reply. Empty if there is none.

    OpenAI has the reply in `choices`, Bedrock in `output.message`, Ollama and Cohere in `message`.
    Anthropic's response is itself the message.
    """
    choices = as_list(response.get("choices"))
    if choices:
        return _find_message_of_choice(as_object(choices[0]))
    output = as_object(response.get("output"))
    for message in (output.get("message"), response.get("message")):
        if isinstance(message, dict):
            return [message]
    if "role" in response and ("content" in response or "tool_calls" in response):
        message = {name: value for name, value in response.items() if name not in RESPONSE_FIELDS}
        return [message]
    return []


def _find_message_of_choice(choice: dict[str, Any]) -> list[Any]:
    """Return the message of a choice, with the finish reason, which is beside it."""
    message = choice.get("message")
    if not isinstance(message, dict):
        return []
    return [{"finish_reason": choice.get("finish_reason")} | message]


def join_exchange(request: Any, response: Any) -> list[Any]:
    """Return the messages of a request and of the response to it, as they are written.

    A system prompt outside the messages becomes the first one.
    """
    request_fields = as_object(request)
    response_fields = as_object(response)
    messages: list[Any] = []
    system = _find_first(request_fields, SYSTEM_FIELDS)
    # Gemini writes the system prompt as an object.
    if isinstance(system, dict):
        messages.append(system | {"role": "system"})
    elif system:
        messages.append({"role": "system", "content": system})

    messages.extend(_find_request_messages(request_fields))
    reply = _list_reply(response_fields)
    # A line can be a response without a request.
    messages.extend(reply or find_reply_messages(request_fields))
    return messages


def _list_reply(response: Mapping[str, Any]) -> list[Any]:
    """Return the messages or items of a response."""
    reply = find_reply_messages(response)
    # OpenAI's Responses.
    if isinstance(response.get("output"), list):
        reply.extend(response["output"])
    # Gemini can return several candidates. The first one is the reply.
    for candidate in as_list(response.get("candidates"))[:1]:
        reply.append(gemini.merge_candidate(candidate))
    return reply


def find_tools(*sources: Any) -> Any:
    """Return the declared tools in the first of several objects that has some."""
    for source in sources:
        tools = _find_first(as_object(source), TOOL_FIELDS)
        if tools is not None:
            return tools
    return None


def has_messages(written: Any) -> bool:
    """Whether an object holds a list of messages in a field that an API gives them.

    Only the field `messages` is enough by itself. Other programs use names such as `input` too.
    """
    fields = as_object(written)
    if isinstance(fields.get("messages"), list):
        return True
    return any(is_message_list(fields.get(name)) for name in MESSAGE_FIELDS)


def has_reply(written: Any) -> bool:
    """Whether an object is a response with a reply of the model."""
    fields = as_object(written)
    if find_reply_messages(fields) or is_message_list(fields.get("output")):
        return True
    candidates = list_objects(fields.get("candidates"))
    return any("content" in candidate or "finishReason" in candidate for candidate in candidates)


def _add_functions(conversation: ParsedConversation, parts: _WrittenConversation) -> None:
    for declared in (parts.tools, find_listed_tools([*parts.messages, *parts.output_items])):
        add_tools(conversation, declared)
