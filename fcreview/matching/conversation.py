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
_Step = tuple[int, int]
"""(turn, step), each from 0."""


def parse_quoted_calls(text: str) -> list[Call]:
    """Parse the golden calls that a benchmark quotes in a message: `{"name": "f", "arguments":
    {}}`, `{"f": {}}` or a list of such objects. Returns an empty list for any other text. The
    arguments are plain JSON values.
    """
    if len(text) > MAX_TEXT:
        return []
    try:
        value = json.loads(text)
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
    """Parse the calls in an object: `{"name": "f", "arguments": {...}}`, or `{"f": {...}, "g":
    {...}}`. Returns no calls for any other object.
    """
    if not isinstance(value, dict) or not value:
        return []
    if isinstance(value.get("name"), str) and isinstance(value.get("arguments"), dict):
        return [Call("predicted", value["name"], arguments=value["arguments"])]

    # The names of the functions may be the keys.
    if not all(isinstance(arguments, dict) for arguments in value.values()):
        return []
    return [Call("predicted", str(name), arguments=fields) for name, fields in value.items()]


def is_same_call(first: Call, second: Call) -> bool:
    """Whether two calls have equal functions and arguments.

    A call that cannot be decoded equals no other call.
    """
    if first.arguments is None or second.arguments is None:
        return False
    return first.name == second.name and is_same_value(first.arguments, second.arguments)


@dataclass(frozen=True, slots=True)
class _PlacedCall:
    position: _CallPosition
    call: Call

    @property
    def step(self) -> _Step:
        turn, step, _ = self.position
        return turn, step


class RepeatedCalls:
    """Index of an item's predicted and quoted calls.

    It finds earlier occurrences of the same call.
    """

    def __init__(self, item: Item) -> None:
        """Index the calls of an item: those that the model made, and those that messages quote."""
        self._steps = assign_step_numbers(item)
        self._predicted: defaultdict[Hashable, list[_PlacedCall]] = defaultdict(list)
        self._quoted: defaultdict[Hashable, list[_PlacedCall]] = defaultdict(list)
        for call in sorted(item.predicted, key=_get_position):
            self._predicted[_make_call_key(call)].append(_PlacedCall(_get_position(call), call))
        for message in item.messages:
            if message.name != GOLDEN_CALL:
                continue
            # A quoted call has no position among the calls of its step.
            position = (message.turn, message.step, 0)
            for call in parse_quoted_calls(message.content):
                self._quoted[_make_call_key(call)].append(_PlacedCall(position, call))

    def describe_earlier_occurrence(self, call: Call) -> str | None:
        """Return where the same call was predicted or quoted before: `turn 1 step 2`; or None."""
        for earlier in self._list_earlier_calls(call):
            if is_same_call(earlier.call, call):
                turn, step, _ = earlier.position
                step_number = self._steps.get((turn, step), step + 1)
                return f"turn {turn + 1} step {step_number}"
        return None

    def _list_earlier_calls(self, call: Call) -> Iterator[_PlacedCall]:
        """Yield the last predicted and the last quoted call before a call that have its key."""
        key = _make_call_key(call)
        position = _get_position(call)
        predicted = self._predicted.get(key, [])
        n_earlier = bisect_left(predicted, position, key=lambda placed: placed.position)
        if n_earlier:
            yield predicted[n_earlier - 1]

        # A quoted call has no index, so that only those of earlier steps come before the call.
        quoted = [
            placed for placed in self._quoted.get(key, ()) if placed.step < (call.turn, call.step)
        ]
        if quoted:
            yield quoted[-1]


def _get_position(call: Call) -> _CallPosition:
    return call.turn, call.step, call.index


def _make_call_key(call: Call) -> Hashable:
    return call.name, _make_value_key(call.arguments, 0)


def _make_value_key(value: Any, depth: int) -> Hashable:
    """Return a key that is equal for equal values. Values of different types have other keys."""
    # NaN equals nothing, so its key is only its type, as that of deeply nested values.
    is_nan = value != value
    if depth > MAX_DEPTH or is_nan:
        return type(value).__name__
    if isinstance(value, dict):
        fields = ((name, _make_value_key(field, depth + 1)) for name, field in value.items())
        return dict, frozenset(fields)
    if isinstance(value, list | tuple):
        return type(value), tuple(_make_value_key(element, depth + 1) for element in value)
    if isinstance(value, Hashable):
        return type(value), value
    return type(value), repr(value)


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
    """Convert the messages and calls of an item to a conversation as a chat shows it: each reply
    contains its calls, and is followed by their results.

    The instruction to a simulated user is left out, because nobody in the conversation sees it.
    """
    messages_by_step: defaultdict[_Step, list[Message]] = defaultdict(list)
    for message in item.messages:
        if message.name != SIMULATED_USER_INSTRUCTION:
            messages_by_step[message.turn, message.step].append(message)
    calls_by_step: defaultdict[_Step, list[Call]] = defaultdict(list)
    for call in item.predicted:
        calls_by_step[call.turn, call.step].append(call)

    chat: list[ChatMessage] = []
    for step in sorted(messages_by_step.keys() | calls_by_step.keys()):
        calls = calls_by_step[step]
        messages = _StepMessages(_find_caller(item, calls), calls)
        chat.extend(messages.build(messages_by_step[step]))
    _assign_call_ids(chat)
    return chat


def _find_caller(item: Item, calls: Sequence[Call]) -> Role:
    """Return who makes the calls of a step. All are by the same role."""
    if not calls:
        return "assistant"
    first_call = calls[0]
    user_calls = {(turn, index) for turn, index in item.extra.user_calls or ()}
    return "user" if (first_call.turn, first_call.index) in user_calls else "assistant"


class _StepMessages:
    """Messages of a step.

    All calls, texts and reasoning of the caller become one message, the reply. It ends before the
    first message of another role, except the user's.
    """

    def __init__(self, caller: Role, calls: Sequence[Call]) -> None:
        self._caller = caller
        self._reply = ChatMessage(caller, calls=list(calls)) if calls else None
        self._is_reply_finished = False
        self._n_results = 0

    def build(self, messages: Sequence[Message]) -> Iterator[ChatMessage]:
        """Yield the messages of the step in order. The caller's texts are collected in one reply,
        which comes when it is finished: before the first message of another role, and at the latest
        at the end. Only a user message does not finish it: it is what the step replies to, so it
        comes before the reply.
        """
        for message in messages:
            is_of_caller = message.role == self._caller
            if message.name == GOLDEN_CALL:
                yield _make_given_message(message)
            elif is_of_caller and not self._is_reply_finished:
                self._reply = self._reply or ChatMessage(self._caller)
                _append_to_reply(self._reply, message)
            else:
                if message.role != "user":
                    yield from self._finish_reply()
                yield self._make_other_message(message)
        yield from self._finish_reply()

    def _finish_reply(self) -> Iterator[ChatMessage]:
        """Yield the reply if there is one that was not yielded yet."""
        if self._reply is not None and not self._is_reply_finished:
            self._is_reply_finished = True
            yield self._reply

    def _make_other_message(self, message: Message) -> ChatMessage:
        """Convert a message that the caller did not write.

        The first result of a tool belongs to the first call of the reply, the second result to the
        second call, and so on.
        """
        chat_message = ChatMessage(
            message.role, message.content, name=message.name, sources=[message]
        )
        reply = self._reply
        if message.role == "tool" and reply is not None and self._n_results < len(reply.calls):
            chat_message.name = reply.calls[self._n_results].name
            chat_message.call_id = str(self._n_results)
            chat_message.is_for_user = reply.role == "user"
            self._n_results += 1
        return chat_message


def _make_given_message(message: Message) -> ChatMessage:
    """Convert a message that quotes golden calls. Its text is shown only if it has no calls."""
    quoted_calls = parse_quoted_calls(message.content)
    content = "" if quoted_calls else message.content
    return ChatMessage("assistant", content, calls=quoted_calls, sources=[message], is_given=True)


def _append_to_reply(reply: ChatMessage, message: Message) -> None:
    reply.sources.append(message)
    if message.name == REASONING:
        reply.reasoning = _join_lines(reply.reasoning, message.content)
    elif not is_only_call_text(message.content, reply.calls):
        reply.content = _join_lines(reply.content, message.content)


def _join_lines(first: str, second: str) -> str:
    return "\n".join(text for text in (first, second) if text)


def is_only_call_text(text: str, calls: Sequence[Call]) -> bool:
    """Whether a text is probably only the raw form of these calls, such as `[f(a=1)]`.

    It begins with a function name, or with the sign with which models open a list, an object, a tag
    or a code block, and it names all functions. Prose between or after the calls is not looked for.
    """
    if not calls:
        return False
    stripped = text.lstrip()
    names = [call.name.rpartition(".")[2] for call in calls]
    begins_like_call = stripped.startswith(("[", "{", "<", "`", *names))
    return begins_like_call and all(name in stripped for name in names)


def _assign_call_ids(messages: Sequence[ChatMessage]) -> None:
    """Number the calls of a conversation, and give each result the id of its call.

    Until then, the id of a result is the position of its call in the reply.
    """
    n_calls = 0
    last_reply: ChatMessage | None = None
    for message in messages:
        if message.calls:
            last_reply = message
            for _ in message.calls:
                n_calls += 1
                message.ids.append(f"call_{n_calls}")
        elif message.call_id is not None and last_reply is not None:
            message.call_id = last_reply.ids[int(message.call_id)]


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
    """Return a schema with the type names of JSON Schema, such as `object` for `dict`, at all
    levels.
    """
    if isinstance(value, list):
        return [_convert_schema_types(each) for each in value]
    if not isinstance(value, dict):
        return value
    converted = {name: _convert_schema_types(field) for name, field in value.items()}
    kind = value.get("type")
    if isinstance(kind, str) and kind in _SCHEMA_TYPES:
        converted["type"] = _SCHEMA_TYPES[kind]
    return converted


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
        """Collect the objects in results of tools that are JSON. Large and deeply nested results
        are skipped.
        """
        for text in tool_results:
            looks_like_json = text.lstrip()[:1] in ("{", "[")
            if not looks_like_json or len(text) > MAX_RESULT_LENGTH:
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if not is_nested_deeper_than(value, MAX_LEVELS):
                self._add_objects(value)

    def _add_objects(self, value: Any) -> None:
        """Add all objects in a JSON value, also those inside other objects and lists."""
        if isinstance(value, list):
            for element in value:
                self._add_objects(element)
        elif isinstance(value, dict):
            self._add_object(value)
            for field_value in value.values():
                self._add_objects(field_value)

    def _add_object(self, json_object: dict[str, Any]) -> None:
        """Add the name and the options of an object under each of its ids.

        What is already known is kept.
        """
        name = json_object.get("name")
        for object_id in _find_object_ids(json_object):
            description = self.by_id.setdefault(object_id, ObjectDescription())
            if not description.name and isinstance(name, str):
                description.name = name
            if not description.options:
                description.options = _read_object_options(json_object)

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
    id_names = [name for name in json_object if name == "id" or name.endswith("_id")]
    if "item_id" in id_names:
        id_names = ["item_id"]
    # With several ids, it is unknown which one is the object's own.
    if len(id_names) == 1:
        value = json_object[id_names[0]]
        if isinstance(value, str):
            yield value


def _read_object_options(json_object: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of the options of an object, such as the colours of a product."""
    options = json_object.get("options")
    return (
        tuple(each for each in options.values() if isinstance(each, str))
        if isinstance(options, dict)
        else ()
    )
