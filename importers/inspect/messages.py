"""Convert the messages of an Inspect sample to turns, steps and predicted calls.

Each reply is a step. The results of its calls follow it in the order of the calls, so that a result
stands below its call. Replies that exist only in model events are inserted where they happened.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import first_question, list_objects, make_id_key
from fcreview.importers.inspect.content import (
    MessageContent,
    ParsedToolCall,
    ServerCall,
    format_tool_error,
    get_text_and_error,
    read_content,
    read_tool_call,
)
from fcreview.importers.inspect.events import EventReply
from fcreview.model.item import UNKNOWN_PARTS, Call, Item, Message, Role
from fcreview.model.json_value import to_json_text
from fcreview.model.wording import format_count

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
EVENT_REPLY_NAME = "event"
"""`Message.name` of a reply that exists only in a model event of no other agent."""
NO_RESULT = "(no result)"
"""Text of a call without a result, if a later call of the step has one."""
_BEFORE_FIRST_REPLY = -1
"""Step of the messages that open a turn: those of the system and of the user."""
MAX_EVENT_REPLIES = 1000
MAX_LISTED_CALLS = 3
_AGENT_PREFIX = re.compile(r"\[([\w .-]{1,60})\] ")
_HANDOFF_PREFIX = "transfer_to_"
"""Beginning of the name of a tool that hands the conversation to another agent (Inspect's
`handoff`).
"""


@dataclass(slots=True)
class Conversation:
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    n_turns: int = 1
    n_steps: int = 1
    tool_errors: list[str] = field(default_factory=list)
    """Types of the errors of tool messages, such as `timeout`."""
    server_tools: list[str] = field(default_factory=list)
    """Calls that the provider ran, such as `web_search` or `create_issue (mcp_call, github)`."""
    problems: list[str] = field(default_factory=list)

    def apply_to(self, item: Item) -> None:
        item.messages, item.predicted = self.messages, self.calls
        item.n_turns, item.n_steps = self.n_turns, self.n_steps
        item.question = item.question or first_question(self.messages)


def build_conversation(
    messages: Any, replies: Sequence[EventReply] = (), *, is_turn_per_user_message: bool = False
) -> Conversation:
    """Build the conversation of a sample. Each reply is a step, and a user message after a reply
    begins a new turn.

    Args:
        messages: The field `messages` of the sample.
        replies: Replies in model events, such as those of other agents. Those that are not in
            `messages` are inserted.
        is_turn_per_user_message: Whether every user message after the first one begins a new turn.
    """
    entries = _merge_event_replies(list_objects(messages), replies[:MAX_EVENT_REPLIES])
    builder = _ConversationBuilder(
        _find_main_agent(entries), is_turn_per_user_message=is_turn_per_user_message
    )
    for entry in entries:
        builder.add(entry)
    conversation = builder.finish()
    if len(replies) > MAX_EVENT_REPLIES:
        conversation.problems.append(
            f"the sample has {len(replies)} model events. Replies after the first"
            f" {MAX_EVENT_REPLIES} are not shown"
            " unless the messages contain them"
        )
    return conversation


@dataclass(frozen=True, slots=True)
class _Entry:
    """A message of the conversation, with the agent that wrote it."""

    message: dict[str, Any]
    agent: str | None = None
    is_only_event: bool = False
    """Whether the message exists only in a model event."""

    @property
    def role(self) -> Role:
        return ROLES.get(str(self.message.get("role")), "log")


def _merge_event_replies(
    messages: Sequence[dict[str, Any]], replies: Sequence[EventReply]
) -> list[_Entry]:
    """Return the messages of a sample in order, completed by the replies that only its events
    contain.

    A reply in the events that is also a message only adds to the message which agent wrote it.
    """
    places = _place_replies(messages, replies)
    entries: list[_Entry] = []
    for position, message in enumerate(messages):
        entries += places.inserted_before.get(position, [])
        entries.append(_Entry(message, places.agent_by_message.get(position)))
    inserted_at_end = places.inserted_before.get(len(messages), [])
    return entries + inserted_at_end


@dataclass(frozen=True, slots=True)
class _ReplyPlaces:
    """Where the replies in model events belong among the messages."""

    agent_by_message: dict[int, str | None] = field(default_factory=dict)
    """Position of a message that is also a reply -> the agent that wrote it."""
    inserted_before: dict[int, list[_Entry]] = field(default_factory=dict)
    """Position of a message, or the number of messages -> other replies, which are inserted there.
    """


def _place_replies(
    messages: Sequence[dict[str, Any]], replies: Sequence[EventReply]
) -> _ReplyPlaces:
    """Find the message of each reply. A reply that is no message follows the previous reply that
    is one and the results of its calls or, before the first such reply, the opening messages.
    """
    index = _MessageIndex(messages)
    places = _ReplyPlaces()
    next_position = _count_opening_messages(messages)
    for reply in replies:
        position = index.find(reply)
        if position is None:
            entry = _Entry(reply.message, reply.agent, is_only_event=True)
            places.inserted_before.setdefault(next_position, []).append(entry)
        else:
            places.agent_by_message[position] = reply.agent
            next_position = _skip_tool_messages(messages, position + 1)
    return places


class _MessageIndex:
    """Finds the message that a model event returned: by its id or, in logs without ids, by its
    text and calls.
    """

    def __init__(self, messages: Sequence[dict[str, Any]]) -> None:
        self._by_id: dict[str, int] = {}
        self._by_content: dict[str, list[int]] = {}
        for number, message in enumerate(messages):
            if isinstance(message.get("id"), str):
                self._by_id[message["id"]] = number
            if message.get("role") == "assistant":
                self._by_content.setdefault(_make_content_key(message), []).append(number)

    def find(self, reply: EventReply) -> int | None:
        if reply.id is not None and reply.id in self._by_id:
            return self._by_id[reply.id]
        numbers = self._by_content.get(_make_content_key(reply.message), [])
        if len(numbers) > 1:  # Equal replies are found one after the other.
            return numbers.pop(0)
        return numbers[0] if numbers else None


def _make_content_key(message: dict[str, Any]) -> str:
    calls = [
        [call.get("function"), call.get("arguments")]
        for call in list_objects(message.get("tool_calls"))
    ]
    return to_json_text([get_text_and_error(message).strip(), calls])


def _count_opening_messages(messages: Sequence[dict[str, Any]]) -> int:
    for number, message in enumerate(messages):
        if message.get("role") not in ("system", "developer", "user"):
            return number
    return len(messages)


def _skip_tool_messages(messages: Sequence[dict[str, Any]], position: int) -> int:
    while position < len(messages) and messages[position].get("role") == "tool":
        position += 1
    return position


def _find_main_agent(entries: Sequence[_Entry]) -> str | None:
    """Return the agent of the first reply. Only replies of other agents are marked."""
    return next((entry.agent for entry in entries if entry.role == "assistant"), None)


@dataclass(slots=True)
class _OpenCall:
    """A call of the current step, with its result if there is one."""

    id: Any
    name: str
    result: Message | None = None


class _OpenCalls:
    """The calls of the current step.

    A result finds its call in constant time, because a step can have thousands.
    """

    def __init__(self) -> None:
        self.calls: list[_OpenCall] = []
        self._unanswered: dict[tuple[str, Any, str | None], deque[_OpenCall]] = {}
        """(what identifies a call, id, name) -> calls in order.

        Answered calls are removed when they are found.
        """

    def add(self, call: _OpenCall) -> None:
        self.calls.append(call)
        # An id can be any JSON value, so it is made hashable.
        call_id = make_id_key(call.id)
        # A result can name its call by id and name, by one of them, or only by the order of
        # results.
        for key in (
            ("id and name", call_id, call.name),
            ("id", call_id, None),
            ("name", None, call.name),
            ("order", None, None),
        ):
            self._unanswered.setdefault(key, deque()).append(call)

    def find_unanswered(self, call_id: Any, name: str | None) -> _OpenCall | None:
        """Return the first call without a result: by its id and name, by its id, or, without an id,
        by its name or order.
        """
        if call_id is None:
            keys = [("name", None, name), ("order", None, None)]
        else:
            hashable_id = make_id_key(call_id)
            keys = [("id and name", hashable_id, name), ("id", hashable_id, None)]
        for key in keys:
            calls = self._unanswered.get(key, deque())
            while calls and calls[0].result is not None:
                calls.popleft()
            if calls:
                return calls[0]
        return None


class _ConversationBuilder:
    """Adds messages to a conversation in order. `finish` returns it."""

    def __init__(self, main_agent: str | None, *, is_turn_per_user_message: bool) -> None:
        self._conversation = Conversation()
        self._main_agent = main_agent
        """Agent whose replies need no name."""
        self._is_turn_per_user_message = is_turn_per_user_message

        self._turn = 0
        self._step = _BEFORE_FIRST_REPLY
        """Number of the last reply in the turn, from 0."""
        self._index = 0
        """Number of calls in the turn so far, which is the index of the next one."""
        self._n_replies = 0
        self._n_user_messages = 0

        self._open_calls = _OpenCalls()
        """Calls of the step. Their results are written at its end."""
        self._other_results: list[Message] = []
        """Results in the step that answer none of its calls."""
        self._known_call_ids: set[str] = set()
        """Ids of the calls in all steps so far."""
        self._unknown_call_ids: list[str] = []
        """Ids of calls that results name, but that no call has."""
        self._handed_over_to: set[str] = set()
        """Agents to which the conversation was handed over."""

    @property
    def _step_of_reply(self) -> int:
        """The current step or, before the first reply, that of the first reply.

        Calls, results and notes always belong to a reply.
        """
        return max(self._step, 0)

    def add(self, entry: _Entry) -> None:
        """Add one message or reply to the conversation. A reply begins a new step, to which the
        results of its calls belong. Any other message but a result ends the step before it.
        """
        if entry.role == "tool":
            self._add_result(entry.message)
            return

        self._close_step()
        if entry.role == "user":
            self._add_user_message(entry.message)
        elif entry.role == "assistant":
            self._add_reply(entry)
        elif entry.message.get("role") == UNKNOWN_PARTS:
            self._append("log", str(entry.message["content"]), UNKNOWN_PARTS, self._step_of_reply)
        elif entry.role == "system":
            self._add_texts(entry.message, "system", _BEFORE_FIRST_REPLY)
        else:
            self._add_texts(entry.message, entry.role, self._step_of_reply)

    def finish(self) -> Conversation:
        """Finish the last step, and return the conversation with its numbers of turns and steps."""
        self._close_step()
        if self._unknown_call_ids:
            listed = ", ".join(self._unknown_call_ids[:MAX_LISTED_CALLS])
            n_results = format_count(len(self._unknown_call_ids), "tool result")
            self._conversation.problems.append(
                f"{n_results} without a call in the messages: {listed}"
            )
        self._conversation.n_turns = self._turn + 1
        self._conversation.n_steps = max(self._n_replies, 1)
        return self._conversation

    def _add_user_message(self, message: dict[str, Any]) -> None:
        """Add a message of the user. It begins a new turn if the model has replied in this one, or
        if each message of the user is a turn.
        """
        has_replied = self._step != _BEFORE_FIRST_REPLY
        ends_turn_of_user = self._is_turn_per_user_message and self._n_user_messages > 0
        if has_replied or ends_turn_of_user:
            self._turn += 1
            self._step = _BEFORE_FIRST_REPLY
            self._index = 0
        self._n_user_messages += 1
        self._add_texts(message, "user", _BEFORE_FIRST_REPLY)

    def _add_texts(self, message: dict[str, Any], role: Role, step: int) -> None:
        """Add the text of a message that is not a reply, and calls that it may contain against
        the rules.
        """
        content = read_content(message.get("content"))
        for reasoning in content.reasoning:
            self._append(role, reasoning, "reasoning", step)
        self._append(role, get_text_and_error(message), None, step)
        for call in list_objects(message.get("tool_calls")):
            self._add_open_call(read_tool_call(call), call.get("id"))
        self._note_tool_error(message)

    def _append(self, role: Role, text: str, name: str | None, step: int) -> None:
        self._conversation.messages.append(
            Message(self._turn, step, role=role, content=text, name=name)
        )

    def _add_reply(self, entry: _Entry) -> None:
        """Add a reply of the model: reasoning, text, the provider's own calls, and the calls that
        Inspect executed.
        """
        self._step += 1
        self._n_replies += 1
        content = read_content(entry.message.get("content"))
        calls = list_objects(entry.message.get("tool_calls"))
        for reasoning in content.reasoning:
            self._append("assistant", reasoning, "reasoning", self._step)

        speaker = self._name_speaker(entry, content.text)
        error = format_tool_error(entry.message)
        text = "\n".join(part for part in (error, content.text) if part)
        # A reply that is only calls needs a message if its speaker must be shown.
        has_calls = bool(calls or content.server_calls)
        if text or (speaker is not None and has_calls):
            self._append("assistant", text, speaker, self._step)

        self._add_server_calls(content)
        if content.text_after_calls:
            self._append("assistant", content.text_after_calls, speaker, self._step)
        for call in calls:
            self._add_open_call(read_tool_call(call), call.get("id"))
        self._note_tool_error(entry.message)

    def _name_speaker(self, entry: _Entry, text: str) -> str | None:
        """Return the name of the agent that wrote a reply, or None for the main agent.

        Inspect puts `[AGENT] ` before the replies of an agent to which the conversation was handed
        over. A reply that only the events contain, without an agent, gets a name that says so.
        """
        if entry.agent is not None and entry.agent != self._main_agent:
            return entry.agent
        prefix = _AGENT_PREFIX.match(text)
        if prefix is not None and prefix[1] in self._handed_over_to:
            return prefix[1]
        return EVENT_REPLY_NAME if entry.is_only_event else None

    def _add_server_calls(self, content: MessageContent) -> None:
        """Add the calls that the provider of the model executed itself, with their results.

        Their results are in the reply, so they come before the text that follows the calls.
        """
        for server_call in content.server_calls:
            self._add_call(server_call.call)
            result = Message(
                self._turn,
                self._step,
                role="tool",
                content=server_call.result or NO_RESULT,
                name=server_call.call.name,
            )
            self._conversation.messages.append(result)
            self._conversation.server_tools.append(_describe_server_call(server_call))
            if server_call.is_error:
                self._conversation.tool_errors.append("server_tool")

    def _add_open_call(self, call: ParsedToolCall, call_id: Any) -> None:
        """Add a call of the model, whose result comes in a later message."""
        self._add_call(call)
        self._open_calls.add(_OpenCall(call_id, call.name))
        if call_id is not None:
            self._known_call_ids.add(str(call_id))

    def _add_call(self, call: ParsedToolCall) -> None:
        """Add a call of the model to the conversation.

        A call of a handoff tool passes the conversation on to another agent, whose name is noted.
        """
        self._conversation.calls.append(
            Call(
                "predicted",
                call.name,
                arguments=call.arguments,
                turn=self._turn,
                step=self._step_of_reply,
                index=self._index,
                raw=call.raw,
                decode_error=call.error,
            )
        )
        self._index += 1
        if call.name.startswith(_HANDOFF_PREFIX):
            self._handed_over_to.add(call.name.removeprefix(_HANDOFF_PREFIX))

    def _add_result(self, message: dict[str, Any]) -> None:
        """Add the result of a call. At the end of a step, its results are written in the order of
        its calls.

        A result that answers no open call is added after the others. If its call id is unknown, the
        conversation has a problem.
        """
        name = message.get("function")
        result = Message(
            self._turn,
            self._step_of_reply,
            role="tool",
            content=get_text_and_error(message),
            name=str(name) if name else None,
        )
        self._note_tool_error(message)

        call_id = message.get("tool_call_id")
        call = self._open_calls.find_unanswered(call_id, result.name)
        if call is not None:
            call.result = result
            return
        self._other_results.append(result)
        if call_id is not None and str(call_id) not in self._known_call_ids:
            self._unknown_call_ids.append(str(call_id)[:60])

    def _close_step(self) -> None:
        """Add the results of the step in the order of its calls.

        The item view matches results and calls by position. So a call without a result gets a
        placeholder, unless no result follows it.
        """
        n_answered_calls = self._count_answered_calls()
        for call in self._open_calls.calls[:n_answered_calls]:
            answer = call.result
            if answer is None:
                answer = Message(
                    self._turn, self._step_of_reply, role="tool", content=NO_RESULT, name=call.name
                )
            self._conversation.messages.append(answer)
        self._conversation.messages += self._other_results
        self._open_calls = _OpenCalls()
        self._other_results = []

    def _count_answered_calls(self) -> int:
        """Return how many calls of the step, from the first one, get a result or a placeholder."""
        calls = self._open_calls.calls
        if self._other_results:
            return len(calls)
        with_result = [position for position, call in enumerate(calls) if call.result is not None]
        return with_result[-1] + 1 if with_result else 0

    def _note_tool_error(self, message: dict[str, Any]) -> None:
        error = message.get("error")
        if isinstance(error, dict):
            self._conversation.tool_errors.append(str(error.get("type") or "unknown"))


def _describe_server_call(server_call: ServerCall) -> str:
    """Describe a call with the kind of its tool and its server: `search (web_search, brave)`."""
    facts = []
    if server_call.tool_type != server_call.call.name:
        facts.append(server_call.tool_type)
    if server_call.server is not None:
        facts.append(server_call.server)
    description = f" ({', '.join(facts)})" if facts else ""
    return f"{server_call.call.name}{description}"


def find_last_reply_text(messages: Sequence[Message]) -> str | None:
    """Return the text of the last reply that contains text, or None."""
    replies = (
        each for each in reversed(messages) if each.role == "assistant" and each.name != "reasoning"
    )
    return next((each.content for each in replies), None)
