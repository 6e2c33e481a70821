"""Convert an item to a conversation of chat messages, find repeated calls, and read facts from tool
results.

An item stores messages and calls separately, by turn and step. In a conversation, a reply of the
model is one message with its reasoning, text and calls, followed by a tool message for each result.
The exporters for ATIF and for training data write conversations in this form.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.matching.diff import is_same_value
from fcreview.model.item import (
    GOLDEN_CALL,
    SIMULATED_USER_INSTRUCTION,
    Call,
    Item,
    Message,
    Role,
    assign_step_numbers,
)
from fcreview.model.json_value import MAX_DEPTH, is_nested_deeper_than

MAX_TEXT = 200_000
_CallPosition = tuple[int, int, int]
"""(turn, step, index) of a call, each from 0."""


def parse_quoted_calls(text: str) -> list[Call]:
    """Parse the golden calls that a benchmark quotes in a message: `{"name": "f", "arguments":
    {}}`, `{"f": {}}` or a list of such objects. Returns an empty list for any other text. The
    arguments are plain JSON values.
    """
    try:
        value = json.loads(text) if len(text) <= MAX_TEXT else None
    except (ValueError, RecursionError):
        return []
    calls: list[Call] = []
    for entry in value if isinstance(value, list) else [value]:
        parsed = _parse_quoted_object(entry)
        if not parsed:
            return []
        calls += parsed
    return calls


def _parse_quoted_object(value: Any) -> list[Call]:
    if not isinstance(value, dict) or not value:
        return []
    if isinstance(value.get("name"), str) and isinstance(value.get("arguments"), dict):
        return [Call("predicted", value["name"], arguments=value["arguments"])]
    if all(isinstance(arguments, dict) for arguments in value.values()):
        return [
            Call("predicted", str(name), arguments=arguments) for name, arguments in value.items()
        ]
    return []


def is_same_call(first: Call, second: Call) -> bool:
    """Whether two calls have equal functions and arguments.

    A call that cannot be decoded equals no other call.
    """
    if first.arguments is None or second.arguments is None:
        return False
    return first.name == second.name and is_same_value(first.arguments, second.arguments)


class RepeatedCalls:
    """Index of an item's predicted and quoted calls.

    It finds earlier occurrences of the same call.
    """

    def __init__(self, item: Item) -> None:
        self._steps = assign_step_numbers(item)
        self._predicted: dict[Hashable, list[tuple[_CallPosition, Call]]] = {}
        self._quoted: dict[Hashable, list[tuple[_CallPosition, Call]]] = {}
        for call in sorted(item.predicted, key=_get_position):
            self._predicted.setdefault(_make_call_key(call), []).append((_get_position(call), call))
        for message in item.messages:
            for call in parse_quoted_calls(message.content) if message.name == GOLDEN_CALL else ():
                self._quoted.setdefault(_make_call_key(call), []).append(
                    ((message.turn, message.step, 0), call)
                )

    def describe_earlier_occurrence(self, call: Call) -> str | None:
        """Return the position of the latest equal call before a call, predicted or quoted: `turn
        1 step 2`; or None.
        """
        key, position = _make_call_key(call), _get_position(call)
        predicted = self._predicted.get(key, [])
        predicted = predicted[: bisect_left(predicted, position, key=lambda each: each[0])][-1:]
        quoted = [each for each in self._quoted.get(key, ()) if each[0][:2] < position[:2]][-1:]
        for (turn, step, _), earlier in [*predicted, *quoted]:
            if is_same_call(earlier, call):
                return f"turn {turn + 1} step {self._steps.get((turn, step), step + 1)}"
        return None


def _get_position(call: Call) -> _CallPosition:
    return call.turn, call.step, call.index


def _make_call_key(call: Call) -> Hashable:
    return call.name, _make_value_key(call.arguments, 0)


def _make_value_key(value: Any, depth: int) -> Hashable:
    if depth > MAX_DEPTH or value != value:
        return type(value).__name__
    if isinstance(value, dict):
        return dict, frozenset(
            (name, _make_value_key(each, depth + 1)) for name, each in value.items()
        )
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_make_value_key(each, depth + 1) for each in value)
    return type(value), value if isinstance(value, Hashable) else repr(value)


REASONING = "reasoning"


@dataclass(slots=True)
class ChatMessage:
    role: Role
    content: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    """Calls in the message. If the role is `user`, the simulated user made the calls."""
    ids: list[str] = field(default_factory=list)
    name: str | None = None
    call_id: str | None = None
    """Id of the call whose result a tool message contains; None if it is unknown."""
    sources: list[Message] = field(default_factory=list)
    """Messages of the item that this message combines. Empty for calls without text."""
    is_for_user: bool = False
    """Whether a tool message is the result of a simulated user's call."""
    is_given: bool = False
    """Whether the benchmark, not the model, wrote this message, which quotes a golden call."""


def build_chat_messages(item: Item) -> list[ChatMessage]:
    """Convert the messages and calls of an item to a conversation, without the instruction to a
    simulated user.
    """
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
        found += _build_step_messages(messages[at], calls[at], "user" if by_user else "assistant")
    _assign_call_ids(found)
    return found


def _build_step_messages(
    messages: Sequence[Message], calls: Sequence[Call], caller: Role
) -> Iterator[ChatMessage]:
    """Yield the messages of a step.

    All calls, texts and reasoning of `caller` become one message.
    """
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
            _append_to_reply(reply, message)
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


def _append_to_reply(reply: ChatMessage, message: Message) -> None:
    reply.sources.append(message)
    if message.name == REASONING:
        reply.reasoning = "\n".join(filter(None, (reply.reasoning, message.content)))
    elif not is_only_call_text(message.content, reply.calls):
        reply.content = "\n".join(filter(None, (reply.content, message.content)))


def is_only_call_text(text: str, calls: Sequence[Call]) -> bool:
    """Whether a text is only the raw form of these calls, such as `[f(a=1)]`."""
    start = text.lstrip()
    names = [call.name.rpartition(".")[2] for call in calls]
    return (
        bool(calls)
        and start.startswith(("[", "{", "<", "`", *names))
        and all(name in start for name in names)
    )


def _assign_call_ids(messages: Sequence[ChatMessage]) -> None:
    count = 0
    current: ChatMessage | None = None
    for message in messages:
        if message.calls:
            current = message
            message.ids = [f"call_{count + number}" for number in range(1, len(message.calls) + 1)]
            count += len(message.calls)
        elif message.call_id is not None and current is not None:
            message.call_id = current.ids[int(message.call_id)]


_SCHEMA_TYPES = {
    "dict": "object",
    "float": "number",
    "tuple": "array",
    "list": "array",
    "int": "integer",
}


def make_tool_definitions(functions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert function docs to tool definitions of OpenAI, with the type names of JSON Schema."""
    return [{"type": "function", "function": _convert_schema_types(each)} for each in functions]


def _convert_schema_types(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert_schema_types(each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    changed = (
        {"type": _SCHEMA_TYPES[kind]} if isinstance(kind, str) and kind in _SCHEMA_TYPES else {}
    )
    return {name: _convert_schema_types(each) for name, each in value.items()} | changed


MAX_RESULT_LENGTH = 1_000_000
MAX_LEVELS = 50
_REFUSAL = re.compile(
    r"""\s*(?:error\b|exception\b|traceback\b|invalid\b|status: False\b|\{\s*['"]error['"])""",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9]+")


def is_refusal(tool_result: str) -> bool:
    """Whether a tool result reports that the environment refused the call: `Error: ...` or
    `{"error": ...}`.
    """
    return _REFUSAL.match(tool_result) is not None


def extract_words(text: str) -> set[str]:
    """Return the words of a text in lower case, without a final s, so that a plural equals its
    singular.
    """
    return {
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in _WORD.findall(text.lower())
    }


@dataclass(slots=True)
class ObjectDescription:
    """Name and options of an object with an id, such as a product, from tool results."""

    name: str = ""
    options: tuple[str, ...] = ()
    """Options of the object, such as `black` and `512GB`, which distinguish it from similar
    objects.
    """


@dataclass(slots=True)
class ObjectDescriptions:
    """ObjectDescriptions of all objects in tool results, by object id."""

    by_id: dict[str, ObjectDescription] = field(default_factory=dict)

    def add_tool_results(self, tool_results: Iterable[str]) -> None:
        for text in tool_results:
            if len(text) <= MAX_RESULT_LENGTH and text.lstrip()[:1] in ("{", "["):
                try:
                    value = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if not is_nested_deeper_than(value, MAX_LEVELS):
                    self._add_objects(value)

    def _add_objects(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self._add_objects(each)
        if not isinstance(value, dict):
            return
        name = value.get("name")
        name = name if isinstance(name, str) else ""
        for identifier in _find_object_ids(value):
            known = self.by_id.setdefault(identifier, ObjectDescription())
            known.name = known.name or name
            known.options = known.options or _read_object_options(value)
        for each in value.values():
            self._add_objects(each)

    def has_description(self, object_id: str) -> bool:
        """Whether a tool result contains the name or the options of an object."""
        known = self.by_id.get(object_id, ObjectDescription())
        return bool(known.name or known.options)

    def is_named_in(self, object_id: str, words: set[str]) -> bool:
        """Whether the words of a text (see `extract_words`) include a word of the object's name
        or all its options.
        """
        known = self.by_id.get(object_id, ObjectDescription())
        if extract_words(known.name) & words:
            return True
        return bool(known.options) and all(
            extract_words(option) <= words for option in known.options
        )


def _find_object_ids(json_object: Mapping[str, Any]) -> Iterator[str]:
    """Yield the id of an object: the value of `item_id`, else of its only field such as `id` or
    `user_id`.
    """
    names = [name for name in json_object if name == "id" or name.endswith("_id")]
    chosen = ["item_id"] if "item_id" in names else names if len(names) == 1 else []
    yield from (json_object[name] for name in chosen if isinstance(json_object[name], str))


def _read_object_options(json_object: Mapping[str, Any]) -> tuple[str, ...]:
    options = json_object.get("options")
    return (
        tuple(each for each in options.values() if isinstance(each, str))
        if isinstance(options, dict)
        else ()
    )
