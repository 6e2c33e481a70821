"""Messages with their turn and step, as `fcreview export --format generic` writes them.

They are read exactly as they are written, without the rules by which fcreview divides other
conversations into turns and steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fcreview.importers.common.records import add_issue, first_question
from fcreview.importers.dialects.to_item import REASONING
from fcreview.importers.dialects.values import parse_arguments
from fcreview.model.item import Call, Item, Message

if TYPE_CHECKING:
    from fcreview.importers.generic_format.chat_message import (
        ChatMessage,
        MessagePlace,
        ToolCall,
    )

PLACE = "fcreview"
"""Field of a message with its turn and step, and of a call with its text."""
KNOWN_FIELDS = {"reasoning_content"}
ROLES = {"developer": "system", "function": "tool"}
"""Role of a message by other names of it."""


def has_placed_messages(messages: Sequence[Any]) -> bool:
    """Whether messages have their turn and step."""
    return any(isinstance(message, dict) and PLACE in message for message in messages)


def fill_placed_messages(item: Item, messages: Sequence[ChatMessage]) -> None:
    """Fill the messages and the predicted calls of an item."""
    filler = _PlacedMessages(item)
    for index, message in enumerate(messages):
        filler.add(message, index)
    places = [(message.turn, message.step) for message in item.messages]
    places += [(call.turn, call.step) for call in item.predicted]
    item.n_turns = max((turn for turn, _ in places), default=0) + 1
    # A place with the step -1 is before the first reply of its turn.
    steps = {(turn, step) for turn, step in places if step >= 0}
    item.n_steps = max(len(steps), 1)
    item.question = first_question(item.messages)


class _PlacedMessages:
    """Adds messages to an item, and counts the calls of each turn."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self._n_calls: Counter[int] = Counter()
        self._user_calls: list[list[int]] = []
        self._turn = 0
        self._step = -1

    def add(self, message: ChatMessage, index: int) -> None:
        """Add a message to the item, with its reasoning and its calls, at the turn and step that
        the message states.

        A message without a place gets that of the message before it, and an issue. `index` is its
        number, for issues.
        """
        self._report_unread_fields(message, index)
        place = message.fcreview
        if place is None:
            what = f"messages[{index}]: no turn and step, so those of the message before it"
            add_issue(self._item, what)
        else:
            self._turn = place.turn
            self._step = place.step
        reasoning = (message.model_extra or {}).get("reasoning_content")
        if isinstance(reasoning, str):
            self._add_message("assistant", reasoning, name=REASONING)
        if isinstance(message.content, str):
            self._add_message(_get_role(message, place), message.content, name=message.name)
        for call in message.tool_calls or ():
            self._add_call(call, is_of_user=message.role == "user")

    def _report_unread_fields(self, message: ChatMessage, index: int) -> None:
        """Report what the messages of an export never have."""
        if isinstance(message.content, list):
            add_issue(self._item, f"messages[{index}]: content is not a text")
        for name, value in (message.model_extra or {}).items():
            is_known = name in KNOWN_FIELDS and isinstance(value, str)
            if value is not None and not is_known:
                add_issue(self._item, f"messages[{index}]: field {name[:60]} is not read")

    def _add_message(self, role: Any, content: str, *, name: str | None) -> None:
        message = Message(self._turn, self._step, role=role, content=content, name=name)
        self._item.messages.append(message)

    def _add_call(self, written: ToolCall, *, is_of_user: bool) -> None:
        """Add a call to the item, at the current turn and step. Calls that a simulated user makes
        are also listed in `user_calls`.
        """
        index = self._n_calls[self._turn]
        self._n_calls[self._turn] += 1
        call = Call("predicted", written.function.name, arguments=None)
        call.turn = self._turn
        call.step = max(self._step, 0)
        call.index = index
        _read_arguments(call, written)
        self._item.predicted.append(call)
        if is_of_user:
            self._user_calls.append([self._turn, index])
            self._item.extra.user_calls = self._user_calls


def _get_role(message: ChatMessage, place: MessagePlace | None) -> str:
    if place is not None and place.role is not None:
        return place.role
    return ROLES.get(message.role, message.role)


def _read_arguments(call: Call, written: ToolCall) -> None:
    """Set the arguments of a call, or the reason why it has none.

    For a call that could not be decoded, an export of fcreview states its text and the reason.
    """
    decoding = written.fcreview
    if decoding is not None and decoding.decode_error is not None:
        call.raw = decoding.raw
        call.decode_error = decoding.decode_error
        return
    arguments = parse_arguments(written.function.arguments)
    call.arguments = arguments.value
    call.raw = decoding.raw if decoding is not None else None
    if arguments.value is None:
        call.raw = arguments.raw
        call.decode_error = f"the arguments {arguments.problem}"
