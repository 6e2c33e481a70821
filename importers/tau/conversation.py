"""Convert the conversation of a simulation to messages and calls, and compare it with the golden
actions and texts.

A turn begins with the first user message after a message or call of the agent. Each message of the
agent is a step. The simulated user may also call tools. A message with such a call is also a step.

A voice run consists of ticks. A tick is a short period of time with a chunk of speech from the user
and one from the agent. Chunks with the same utterance id and chunks without a pause between them
are one message. Within a tick, the user's calls come before the agent's calls.

The golden actions are one way to solve a task. They count only if `ACTION` is part of the reward.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fcreview.importers.common.records import add_issue, is_integer, list_objects, shorten_question
from fcreview.matching.align import align_calls
from fcreview.matching.diff import diff_call
from fcreview.model.address import call_address
from fcreview.model.item import (
    SIMULATED_USER_INSTRUCTION,
    AcceptedValues,
    Call,
    CallPair,
    Item,
    Message,
    Role,
)
from fcreview.model.json_value import to_json_text

AGENT_GREETING_NAME = "agent"
"""`Message.name` of the greeting with which the agent begins. No model wrote this greeting."""
ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
DEVELOPER_ROLE = "developer"
"""Role of instructions to the agent in newer chat formats.

Neither the agent nor the user wrote such a message.
"""
MAX_ROLE_LENGTH = 40


@dataclass(slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Any] | None
    """None if the call cannot be decoded."""
    raw: str | None = None
    """Text of a call that cannot be decoded."""
    error: str | None = None
    """Why the call cannot be decoded."""


@dataclass(slots=True)
class ConversationMessage:
    """A message of tau-bench v1 or tau2-bench."""

    role: Role
    content: str
    calls: list[ToolCall] = field(default_factory=list)
    name: str | None = None
    """Function that returned the result in a message with the role `tool`."""
    reply: str | None = None
    """Part of the content that the user reads.

    It is set if the content also contains the agent's thought.
    """
    problem: str = ""
    """Why the message has the role `other`: its role is unknown, or it cannot be read.

    Empty for all other roles.
    """

    @property
    def may_be_of_agent(self) -> bool:
        """Whether the agent may have written this message of the role `other`, so that the
        checks are incomplete.
        """
        return self.role == "other" and self.name != DEVELOPER_ROLE


@dataclass(slots=True)
class _ConversationPosition:
    """Position of the current message in the conversation."""

    turn: int = 0
    step: int = -1
    index: int = 0
    """Number of calls in this turn before the next call."""
    agent_acted: bool = False
    """Whether the agent sent a message or called a tool in this turn."""
    user_called: bool = False
    """Whether the simulated user called a tool in this turn."""
    started: bool = False
    """Whether the user or the agent has already sent a message or called a tool."""

    def start_turn(self) -> None:
        self.turn, self.step, self.index, self.agent_acted, self.user_called = (
            self.turn + 1,
            -1,
            0,
            False,
            False,
        )


class MalformedMessageError(ValueError):
    """Raised for a message that cannot be read. The message is the reason."""


def read_role(message: Any) -> Role | None:
    """Return the role of a message, or None for an unknown role.

    Raises MalformedMessageError for a malformed message.
    """
    if not isinstance(message, dict):
        raise MalformedMessageError("it is not a JSON object")
    if not isinstance(message.get("tool_calls") or [], list):
        raise MalformedMessageError("its field tool_calls is not a list")

    role = ROLES.get(str(message.get("role")))
    if role == "assistant" and not isinstance(message.get("content") or "", (str, list)):
        raise MalformedMessageError("its content is not text")
    return role


def make_message_of_unknown_role(message: dict[str, Any]) -> ConversationMessage:
    """Return a message with the role in the file as its name.

    If it contains calls, its content is its JSON.
    """
    name = str(message.get("role"))[:MAX_ROLE_LENGTH]
    text = to_json_text(message) if message.get("tool_calls") else get_spoken_text(message)
    return ConversationMessage(
        "other", text, name=name, problem=f"a message has the unknown role {name!r}"
    )


def make_unreadable_message(raw: Any, reason: str) -> ConversationMessage:
    """Return a message whose content is the JSON of a malformed message."""
    problem = f"a message cannot be read: {reason[:200]}"
    return ConversationMessage("other", to_json_text(raw), name="unreadable", problem=problem)


def select_gradable_messages(
    messages: Sequence[ConversationMessage],
) -> Sequence[ConversationMessage] | None:
    """Return the messages to which the benchmark's rules can be applied.

    None if one of them may be the agent's.
    """
    if any(message.may_be_of_agent for message in messages):
        return None
    return messages


def report_unreadable_conversation(item: Item, error: Exception) -> None:
    what = f"the conversation cannot be read, so nothing is recomputed: {str(error)[:200]}"
    add_issue(item, what, severity="error")


def _report_message_problems(item: Item, messages: Sequence[ConversationMessage]) -> None:
    """Add an issue for each kind of problem of the messages."""
    problems = {message.problem: message.may_be_of_agent for message in messages if message.problem}
    for problem, may_be_of_agent in problems.items():
        if may_be_of_agent:
            what = f"{problem}. Nothing is recomputed, because the agent may have written it"
            add_issue(item, what, severity="error")
        else:
            add_issue(item, problem)


def add_conversation(item: Item, messages: Sequence[ConversationMessage]) -> list[int]:
    """Add messages and calls to an item. Return the number of the turn, from 0, of each message."""
    _report_message_problems(item, messages)
    position, turns, user_calls = _ConversationPosition(), [], list[list[int]]()
    for index, message in enumerate(messages):
        step = _advance_to_message(message, position, is_last=index == len(messages) - 1)
        turns.append(position.turn)
        if message.content or not message.calls:
            name = AGENT_GREETING_NAME if message.role == "assistant" and step < 0 else message.name
            item.messages.append(
                Message(position.turn, step, role=message.role, content=message.content, name=name)
            )
        for call in message.calls:
            if message.role == "user":
                user_calls.append([position.turn, position.index])
            item.predicted.append(
                Call(
                    "predicted",
                    call.name,
                    arguments=call.arguments,
                    turn=position.turn,
                    step=max(step, 0),
                    index=position.index,
                    raw=call.raw,
                    decode_error=call.error,
                )
            )
            position.index += 1
    item.n_turns = position.turn + 1
    item.n_steps = max(sum(message.role == "assistant" for message in messages), 1)
    item.extra.user_calls = user_calls or None
    return turns


def _advance_to_message(
    message: ConversationMessage, position: _ConversationPosition, *, is_last: bool
) -> int:
    """Update the position for the next message and return the step of the message.

    The last user message of a conversation belongs to the turn before it.
    """
    if message.role == "user":
        if position.agent_acted and (message.calls or not is_last):
            position.start_turn()
        position.started = True
        if message.calls or position.user_called or position.agent_acted:
            position.step += 1
        position.user_called = position.user_called or bool(message.calls)
    elif message.role == "assistant":
        if not position.started and not message.calls:
            position.started = True  # The greeting, which no model wrote.
            return -1
        position.step += 1
        position.started = position.agent_acted = True
    elif message.role == "tool":
        position.step = max(position.step, 0)
    return position.step


def parse_tool_call(name: str, arguments: Any) -> ToolCall:
    """Return a call of a function.

    Arguments that are neither an object nor its JSON text cannot be decoded.
    """
    raw = arguments
    if isinstance(raw, str):
        try:
            arguments = json.loads(raw)
        except (ValueError, RecursionError) as error:
            return ToolCall(
                name, arguments=None, raw=raw, error=f"the arguments are not valid JSON: {error}"
            )
    if not isinstance(arguments, dict):
        text = raw if isinstance(raw, str) else json.dumps(raw)
        return ToolCall(name, arguments=None, raw=text, error="the arguments are not a JSON object")
    return ToolCall(name, arguments)


def add_instruction(item: Item, text: str) -> None:
    """Insert the simulated user's instruction as the first message, and set it as the question
    of the item.
    """
    if text:
        item.question = shorten_question(text)
        item.messages.insert(
            0, Message(0, -1, role="system", content=text, name=SIMULATED_USER_INSTRUCTION)
        )


def get_content_text(content: Any) -> str:
    """Return the content of a message as text. Parts without text are omitted."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)


def get_spoken_text(message: dict[str, Any]) -> str:
    """Return the text of a message or a chunk of speech.

    For audio, it is the transcript, if there is one.
    """
    if message.get("is_audio") is True:
        return get_content_text(message.get("audio_script_gold"))
    return get_content_text(message.get("content"))


@dataclass(slots=True)
class _Utterance:
    role: str
    ids: set[str]
    first_tick: int
    last_tick: int
    text: str = ""

    def to_message(self) -> dict[str, Any]:
        no_text = f"(speech without a transcript, ticks {self.first_tick}-{self.last_tick})"
        return {"role": self.role, "content": self.text or no_text}


class TickMessages(NamedTuple):
    messages: list[dict[str, Any]]
    message_index_by_tick: dict[int, int]
    """Tick number -> index of the last message that began in this tick or an earlier one."""


def convert_ticks_to_messages(ticks: Any) -> TickMessages:
    """Convert the ticks of a voice run to messages in the form of a text run."""
    entries: list[_Utterance | dict[str, Any]] = []
    open_utterances: dict[str, _Utterance] = {}
    message_index_by_tick: dict[int, int] = {}
    for at, tick in enumerate(list_objects(ticks)):
        number = tick["tick_id"] if is_integer(tick.get("tick_id")) else at
        speakers = (("user", "user"), ("assistant", "agent"))
        for role, name in speakers:
            _add_speech_chunk(tick.get(f"{name}_chunk"), role, number, entries, open_utterances)
        for role, name in speakers:
            if calls := list_objects(tick.get(f"{name}_tool_calls")):
                entries.append({"role": role, "content": None, "tool_calls": calls})
                open_utterances.clear()
            entries += [
                {"role": "tool", **result}
                for result in list_objects(tick.get(f"{name}_tool_results"))
            ]
        message_index_by_tick[number] = len(entries) - 1
    messages = [entry.to_message() if isinstance(entry, _Utterance) else entry for entry in entries]
    return TickMessages(messages, message_index_by_tick)


def _add_speech_chunk(
    chunk: Any,
    role: str,
    tick: int,
    message_entries: list[_Utterance | dict[str, Any]],
    open_utterances: dict[str, _Utterance],
) -> None:
    if not isinstance(chunk, dict):
        return
    text = get_spoken_text(chunk)
    if not text and not chunk.get("contains_speech"):
        open_utterances.pop(role, None)
        return
    ids = {str(each) for each in chunk.get("utterance_ids") or ()}
    current = open_utterances.get(role)
    if current is None or (ids and current.ids and not ids & current.ids):
        utterances = (
            each for each in message_entries if isinstance(each, _Utterance) and each.role == role
        )
        current = next((each for each in utterances if each.ids & ids), None)
        if current is None:
            current = _Utterance(role, ids=ids, first_tick=tick, last_tick=tick)
            message_entries.append(current)
        open_utterances[role] = current
    current.ids |= ids
    current.last_tick = tick
    current.text += text


@dataclass(frozen=True, slots=True)
class GoldenAction:
    name: str
    arguments: dict[str, Any] | None
    compare_arguments: list[str] | None = None
    """Names of the arguments that must be equal.

    None means the arguments that the predicted call has.
    """

    def matches_call(self, call: Call) -> bool:
        """Return whether a call matches by the official rule (`Action.compare_with_tool_call` of
        tau2-bench).

        Without `compare_arguments`, arguments that the predicted call omits are not compared.
        """
        if call.name != self.name or call.arguments is None:
            return False
        given, wanted = call.arguments, self.arguments or {}
        names = list(given) if self.compare_arguments is None else self.compare_arguments
        return all(
            (name in given) == (name in wanted) and given.get(name) == wanted.get(name)
            for name in names
        )

    def to_call(self, turn: int, index: int) -> Call:
        accepted = {name: AcceptedValues([value]) for name, value in (self.arguments or {}).items()}
        return Call("golden", self.name, arguments=accepted, turn=turn, step=0, index=index)


CallIndexes = dict[int, int]
"""Index of a golden action -> index of the predicted call with which it is paired."""


def pair_golden_actions(item: Item, actions: Sequence[GoldenAction]) -> list[str]:
    """Add golden calls and call pairs to an item that already has its predicted calls.

    Return the address of the pair of each golden action.

    A golden action is paired with a call that matches it by the official rule, else with the most
    similar call of the same function. Without such a call, it gets the turn of the golden action
    before it.
    """
    call_indexes = _match_by_official_rule(actions, item.predicted)
    _match_by_similarity(actions, item.predicted, call_indexes)
    turns = _assign_turns(len(actions), call_indexes, item)
    pairs = []
    for at, (action, turn) in enumerate(zip(actions, turns, strict=True)):
        golden = action.to_call(turn, turns[:at].count(turn))
        item.golden.append(golden)
        pairs.append(
            _make_call_pair(
                action, golden, item.predicted[call_indexes[at]] if at in call_indexes else None
            )
        )
    used = set(call_indexes.values())
    extra = [call for at, call in enumerate(item.predicted) if at not in used]
    unpaired = [
        CallPair(call.turn, golden=None, predicted=call.index, name=call.name, state="+")
        for call in extra
    ]
    item.pairs = sorted(pairs + unpaired, key=lambda pair: pair.turn)
    first_of_turn: dict[int, int] = {}
    addresses: dict[int, str] = {}
    for at, pair in enumerate(item.pairs):
        addresses[id(pair)] = call_address(pair.turn, at - first_of_turn.setdefault(pair.turn, at))
    return [addresses[id(pair)] for pair in pairs]


def _match_by_official_rule(actions: Sequence[GoldenAction], calls: Sequence[Call]) -> CallIndexes:
    """Find a matching call for each action.

    Calls with equal arguments are preferred, then earlier calls.
    """
    call_indexes: CallIndexes = {}
    for is_exact in (True, False):
        for at, action in enumerate(actions):
            for position, call in enumerate(calls) if at not in call_indexes else ():
                is_equal = call.arguments == action.arguments or not is_exact
                if position not in call_indexes.values() and is_equal and action.matches_call(call):
                    call_indexes[at] = position
                    break
    return call_indexes


def _match_by_similarity(
    actions: Sequence[GoldenAction], calls: Sequence[Call], call_indexes: CallIndexes
) -> None:
    used = set(call_indexes.values())
    for name in dict.fromkeys(action.name for action in actions):
        open_actions = [
            at
            for at, action in enumerate(actions)
            if action.name == name and at not in call_indexes
        ]
        open_calls = [at for at, call in enumerate(calls) if call.name == name and at not in used]
        golden = [actions[at].to_call(0, index) for index, at in enumerate(open_actions)]
        predicted = [replace(calls[at], turn=0, index=index) for index, at in enumerate(open_calls)]
        for pair in align_calls(golden, predicted) if golden and predicted else ():
            if pair.golden is not None and pair.predicted is not None:
                call_indexes[open_actions[pair.golden]] = open_calls[pair.predicted]


def _assign_turns(n_golden_actions: int, call_indexes: CallIndexes, item: Item) -> list[int]:
    """Return the turn of each golden action: the turn of its call or, without one, that of the
    action before it.
    """
    known = {at: item.predicted[position].turn for at, position in call_indexes.items()}
    turn = known[min(known)] if known else item.n_turns - 1
    return [turn := known.get(at, turn) for at in range(n_golden_actions)]


def _make_call_pair(action: GoldenAction, golden: Call, predicted: Call | None) -> CallPair:
    if predicted is None:
        return CallPair(
            golden.turn, golden=golden.index, predicted=None, name=golden.name, state="-"
        )
    differences = diff_call(golden, predicted)
    if differences and action.matches_call(predicted):
        differences = [replace(each, state="~") for each in differences]
    state: Any = (
        "=" if not differences else "~" if all(each.state == "~" for each in differences) else "!"
    )
    return CallPair(
        golden.turn,
        golden=golden.index,
        predicted=predicted.index,
        name=golden.name,
        state=state,
        diff=differences,
    )


def read_golden_actions(criteria: dict[str, Any]) -> list[GoldenAction]:
    actions = []
    for action in list_objects(criteria.get("actions")):
        arguments, names = action.get("arguments"), action.get("compare_args")
        arguments = arguments if isinstance(arguments, dict) else None
        compared = [str(name) for name in names] if isinstance(names, list) else None
        actions.append(
            GoldenAction(str(action.get("name")), arguments=arguments, compare_arguments=compared)
        )
    return actions


def find_spoken_texts(texts: Sequence[str], replies: Sequence[str]) -> dict[str, bool]:
    """Return text -> whether a reply contains it.

    Case is ignored, and commas are removed from the replies only.
    """
    plain_replies = [reply.lower().replace(",", "") for reply in replies]
    return {text: any(text.lower() in reply for reply in plain_replies) for text in texts}
