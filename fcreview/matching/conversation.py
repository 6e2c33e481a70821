"""Convert an item to a conversation of chat messages, in the order in which they were written.

An item stores messages and calls separately, by turn and step. Here, a reply of the model is one message with its
reasoning, its text and its calls, followed by a tool message for each result. Formats that write conversations (ATIF,
training rows) share this form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.matching.repeated_calls import parse_quoted_calls
from fcreview.model.item import GOLDEN_CALL, SIMULATED_USER_INSTRUCTION, Call, Item, Message, Role

REASONING = "reasoning"
"""`Message.name` of a model's reasoning."""


@dataclass(slots=True)
class ChatMessage:
    role: Role
    content: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    """Calls that the message makes. If the role is `user`, a simulated user made them."""
    ids: list[str] = field(default_factory=list)
    """A unique id for each call."""
    name: str | None = None
    call_id: str | None = None
    """Id of the call that a tool message answers; None if it is unknown."""
    sources: list[Message] = field(default_factory=list)
    """Messages of the item that this message combines. Empty for calls without text."""
    is_for_user: bool = False
    """Whether a tool message is the result of a simulated user's call."""
    is_given: bool = False
    """Whether the benchmark supplied this reply, as an earlier golden call."""


def chat_messages(item: Item) -> list[ChatMessage]:
    """Return the messages of an item. The instruction to a simulated user is omitted, because no model saw it."""
    user_calls = {(turn, index) for turn, index in item.extra.user_calls or ()}
    messages: defaultdict[tuple[int, int], list[Message]] = defaultdict(list)
    calls: defaultdict[tuple[int, int], list[Call]] = defaultdict(list)
    for message in item.messages:
        if message.name != SIMULATED_USER_INSTRUCTION:
            messages[message.turn, message.step].append(message)
    for call in item.predicted:
        calls[call.turn, call.step].append(call)
    found: list[ChatMessage] = []
    for at in sorted(messages.keys() | calls.keys()):
        by_user = bool(calls[at]) and (at[0], calls[at][0].index) in user_calls
        found += _step_messages(messages[at], calls[at], "user" if by_user else "assistant")
    _number_calls(found)
    return found


def _step_messages(messages: Sequence[Message], calls: Sequence[Call], caller: Role) -> Iterator[ChatMessage]:
    """Yield the messages of a step. The caller's calls, texts and reasoning become one message."""
    reply = ChatMessage(caller, calls=list(calls)) if calls else None
    is_reply_open = reply is not None
    n_results = 0
    for message in messages:
        if message.name == GOLDEN_CALL:
            quoted = parse_quoted_calls(message.content)
            content = "" if quoted else message.content
            yield ChatMessage("assistant", content, calls=quoted, sources=[message], is_given=True)
        elif message.role == caller and (reply is None or is_reply_open):
            if reply is None:
                reply, is_reply_open = ChatMessage(caller), True
            _add_text(reply, message)
        else:
            if reply is not None and is_reply_open and message.role != "user":
                yield reply
                is_reply_open = False
            entry = ChatMessage(message.role, message.content, name=message.name, sources=[message])
            if message.role == "tool" and reply is not None and n_results < len(reply.calls):
                entry.name, entry.call_id = reply.calls[n_results].name, str(n_results)
                entry.is_for_user = reply.role == "user"
                n_results += 1
            yield entry
    if reply is not None and is_reply_open:
        yield reply


def _add_text(reply: ChatMessage, message: Message) -> None:
    reply.sources.append(message)
    if message.name == REASONING:
        reply.reasoning = "\n".join(filter(None, (reply.reasoning, message.content)))
    elif not is_raw_call(message.content, reply.calls):
        reply.content = "\n".join(filter(None, (reply.content, message.content)))


def is_raw_call(text: str, calls: Sequence[Call]) -> bool:
    """Whether a reply is only the text from which its calls were decoded, such as `[f(a=1)]`."""
    start = text.lstrip()
    names = [call.name.rpartition(".")[2] for call in calls]
    return bool(calls) and start.startswith(("[", "{", "<", "`", *names)) and all(name in start for name in names)


def _number_calls(messages: Sequence[ChatMessage]) -> None:
    """Give every call an id that is unique in the conversation, and each result the id of its call."""
    count = 0
    current: ChatMessage | None = None
    for message in messages:
        if message.calls:
            current = message
            message.ids = [f"call_{count + number}" for number in range(1, len(message.calls) + 1)]
            count += len(message.calls)
        elif message.call_id is not None and current is not None:
            message.call_id = current.ids[int(message.call_id)]


_SCHEMA_TYPES = {"dict": "object", "float": "number", "tuple": "array", "list": "array", "int": "integer"}
"""Python names of types in function docs -> JSON Schema types."""


def tool_definitions(functions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return function docs as OpenAI tools, with the types of JSON Schema."""
    return [{"type": "function", "function": _with_schema_types(each)} for each in functions]


def _with_schema_types(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_schema_types(each) for each in value]
    if not isinstance(value, dict):
        return value
    converted = {name: _with_schema_types(each) for name, each in value.items()}
    kind = value.get("type")
    if isinstance(kind, str) and kind in _SCHEMA_TYPES:
        converted["type"] = _SCHEMA_TYPES[kind]
    return converted
