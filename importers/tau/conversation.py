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
from collections import Counter
from collections.abc import Container, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fcreview.importers.common.records import add_issue, is_integer, list_objects, shorten_question
from fcreview.importers.dialects.conversation import MessageIssue
from fcreview.importers.dialects.to_item import REASONING, make_issues
from fcreview.importers.tau.golden_action import CallFinder, GoldenAction
from fcreview.matching.align import align_calls
from fcreview.matching.diff import diff_call
from fcreview.model.address import call_address
from fcreview.model.item import (
    SIMULATED_USER_INSTRUCTION,
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
SPEAKERS = (("user", "user"), ("assistant", "agent"))
"""Role of a speaker, and the first word of the speaker's fields in a tick. The user comes first,
because the user's calls come before the agent's calls.
"""


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
    reasoning: str | None = None
    issues: Sequence[MessageIssue] = ()
    """What was not read of this message and of those that follow in the same dialect."""

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

    def advance(self, message: ConversationMessage, *, is_last: bool) -> int:
        """Move to the next message of the conversation. Return the step of this message."""
        if message.role == "user":
            self._advance_to_user_message(message, is_last=is_last)
        elif message.role == "assistant":
            is_greeting = not self.started and not message.calls
            self.started = True
            if is_greeting:
                # No model wrote the greeting, so it is no step.
                return -1
            self.step += 1
            self.agent_acted = True
        elif message.role == "tool":
            # A result before the first reply belongs to the first step.
            self.step = max(self.step, 0)
        return self.step

    def _advance_to_user_message(self, message: ConversationMessage, *, is_last: bool) -> None:
        """Move to a message of the user, which begins a turn if the agent has acted since the last
        one.

        The texts of the user that open a turn have the step -1. All other messages of the user are
        steps: those with calls, those after a call of the user, and a last text after the agent.
        """
        has_calls = bool(message.calls)
        # The last user message of a conversation belongs to the turn before it, if it has no calls.
        stays_in_turn = is_last and not has_calls
        if self.agent_acted and not stays_in_turn:
            self._start_turn()
        self.started = True
        opens_turn = not (has_calls or self.user_called or self.agent_acted)
        if not opens_turn:
            self.step += 1
        if has_calls:
            self.user_called = True

    def _start_turn(self) -> None:
        self.turn += 1
        self.step = -1
        self.index = 0
        self.agent_acted = False
        self.user_called = False


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
    # Messages with the same problem have the same role in the file, so they are of the same author.
    problems = {message.problem: message.may_be_of_agent for message in messages if message.problem}
    for problem, may_be_of_agent in problems.items():
        if may_be_of_agent:
            what = f"{problem}. Nothing is recomputed, because the agent may have written it"
            add_issue(item, what, severity="error")
        else:
            add_issue(item, problem)


def add_conversation(item: Item, messages: Sequence[ConversationMessage]) -> list[int]:
    """Add the messages of a conversation and their calls to an item.

    Returns the number of the turn, from 0, of each message. In some domains, the simulated user
    calls functions too. The item keeps the places of these calls, because they are no predictions.
    """
    _report_message_problems(item, messages)
    for message in messages:
        item.issues.extend(make_issues(item, message.issues))

    position = _ConversationPosition()
    turns = []
    places_of_user_calls = []
    for index, message in enumerate(messages):
        is_last = index == len(messages) - 1
        step = position.advance(message, is_last=is_last)
        turns.append(position.turn)
        _add_texts(item, message, position.turn, step)
        # A greeting before the first step has the step -1, but a call needs a step.
        step_of_calls = max(step, 0)
        for call in message.calls:
            if message.role == "user":
                places_of_user_calls.append([position.turn, position.index])
            item.predicted.append(_make_predicted_call(call, position, step_of_calls))
            position.index += 1

    n_replies = sum(message.role == "assistant" for message in messages)
    item.n_turns = position.turn + 1
    item.n_steps = max(n_replies, 1)
    item.extra.user_calls = places_of_user_calls or None
    return turns


def _add_texts(item: Item, message: ConversationMessage, turn: int, step: int) -> None:
    """Add the reasoning and the text of a message to an item."""
    if message.reasoning:
        reasoning = Message(
            turn, step, role=message.role, content=message.reasoning, name=REASONING
        )
        item.messages.append(reasoning)
    # A message that only makes calls has no text to show.
    if message.content or not message.calls:
        item.messages.append(_make_item_message(message, turn, step))


def _make_item_message(message: ConversationMessage, turn: int, step: int) -> Message:
    is_greeting = message.role == "assistant" and step < 0
    name = AGENT_GREETING_NAME if is_greeting else message.name
    return Message(turn, step, role=message.role, content=message.content, name=name)


def _make_predicted_call(call: ToolCall, position: _ConversationPosition, step: int) -> Call:
    """Return the item's call for a tool call that the agent made."""
    return Call(
        "predicted",
        call.name,
        arguments=call.arguments,
        turn=position.turn,
        step=step,
        index=position.index,
        raw=call.raw,
        decode_error=call.error,
    )


def parse_tool_call(name: str, arguments: Any) -> ToolCall:
    """Return a call of a function.

    Arguments that are neither an object nor its JSON text cannot be decoded.
    """
    if not isinstance(arguments, str):
        if isinstance(arguments, dict):
            return ToolCall(name, arguments)
        return _make_call_without_object(name, json.dumps(arguments))

    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        reason = f"the arguments are not valid JSON: {error}"
        return ToolCall(name, arguments=None, raw=arguments, error=reason)
    if isinstance(parsed, dict):
        return ToolCall(name, parsed)
    return _make_call_without_object(name, arguments)


def _make_call_without_object(name: str, text: str) -> ToolCall:
    return ToolCall(name, arguments=None, raw=text, error="the arguments are not a JSON object")


def add_instruction(item: Item, text: str) -> None:
    """Insert the simulated user's instruction as the first message, and set it as the question
    of the item.
    """
    if text:
        item.question = shorten_question(text)
        item.messages.insert(
            0,
            Message(turn=0, step=-1, role="system", content=text, name=SIMULATED_USER_INSTRUCTION),
        )


def get_content_text(content: Any) -> str:
    """Return the content of a message as text. Parts without text are omitted."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return str(content)

    texts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            texts.append(text)
    return "\n".join(texts)


def get_spoken_text(message: dict[str, Any]) -> str:
    """Return the text of a message or a chunk of speech.

    For audio, it is the transcript, if there is one.
    """
    if message.get("is_audio") is True:
        return get_content_text(message.get("audio_script_gold"))
    return get_content_text(message.get("content"))


@dataclass(slots=True)
class _Utterance:
    """Continuous speech of one speaker, put together from the chunks of several ticks."""

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
    conversion = _TickConversion()
    for index, tick in enumerate(list_objects(ticks)):
        tick_id = tick.get("tick_id")
        number = tick_id if is_integer(tick_id) else index
        conversion.add_tick(tick, number)
    return conversion.finish()


class _TickConversion:
    """The messages in the ticks that were read so far."""

    def __init__(self) -> None:
        self._entries: list[_Utterance | dict[str, Any]] = []
        """Speech, calls and results in the order in which they began."""
        self._open_utterances: dict[str, _Utterance] = {}
        """Role -> utterance to which the next chunk of the speaker may belong."""
        self._message_index_by_tick: dict[int, int] = {}

    def add_tick(self, tick: dict[str, Any], number: int) -> None:
        """Add the speech of a tick, and then its calls and results."""
        for role, field_prefix in SPEAKERS:
            self._add_speech_chunk(tick.get(f"{field_prefix}_chunk"), role, number)

        for role, field_prefix in SPEAKERS:
            calls = list_objects(tick.get(f"{field_prefix}_tool_calls"))
            if calls:
                self._entries.append({"role": role, "content": None, "tool_calls": calls})
                # Later chunks without an utterance id are speech after the call.
                self._open_utterances.clear()
            # A result interrupts nobody: the speaker can go on while a function runs.
            for result in list_objects(tick.get(f"{field_prefix}_tool_results")):
                self._entries.append({"role": "tool", **result})
        self._message_index_by_tick[number] = len(self._entries) - 1

    def _add_speech_chunk(self, chunk: Any, role: str, tick: int) -> None:
        """Add a chunk of speech to the utterance that it continues, or begin an utterance.

        A spoken conversation is recorded in ticks, in which both sides can speak at once. `role` is
        the speaker, and `tick` the number of the tick. A pause ends the utterance of its speaker.
        """
        if not isinstance(chunk, dict):
            return
        text = get_spoken_text(chunk)
        has_speech = text or chunk.get("contains_speech")
        if not has_speech:
            self._open_utterances.pop(role, None)
            return

        ids = {str(utterance_id) for utterance_id in chunk.get("utterance_ids") or ()}
        utterance = self._find_utterance(role, ids)
        if utterance is None:
            utterance = _Utterance(role, ids=ids, first_tick=tick, last_tick=tick)
            self._entries.append(utterance)
        self._open_utterances[role] = utterance
        utterance.ids |= ids
        utterance.last_tick = tick
        utterance.text += text

    def _find_utterance(self, role: str, ids: set[str]) -> _Utterance | None:
        """Return the utterance that a chunk with these ids continues, or None for a new one."""
        current = self._open_utterances.get(role)
        if current is not None:
            # Without ids on one of the two sides, the chunk continues the open utterance.
            are_ids_known = bool(ids and current.ids)
            if not are_ids_known or ids & current.ids:
                return current

        # Another speaker or a call can interrupt an utterance.
        for entry in self._entries:
            if isinstance(entry, _Utterance) and entry.role == role and entry.ids & ids:
                return entry
        return None

    def finish(self) -> TickMessages:
        messages = []
        for entry in self._entries:
            messages.append(entry.to_message() if isinstance(entry, _Utterance) else entry)
        return TickMessages(messages, self._message_index_by_tick)


CallIndexes = dict[int, int]
"""Index of a golden action -> index of the predicted call with which it is paired."""


def pair_golden_actions(item: Item, actions: Sequence[GoldenAction]) -> list[str]:
    """Add the golden actions of a task to an item as golden calls, and pair them with the predicted
    calls of the item.

    A golden action is paired with a call that matches it by the official rule, else with the most
    similar call of the same function. Returns the address of the pair of each golden action.
    """
    # Index of a golden action -> index of its call.
    call_indexes = _match_by_official_rule(actions, item.predicted)
    call_indexes |= _match_by_similarity(actions, item.predicted, call_indexes)
    golden_calls = _make_golden_calls(actions, _assign_turns(len(actions), call_indexes, item))
    item.golden += golden_calls

    action_pairs = []
    for index, (action, golden) in enumerate(zip(actions, golden_calls, strict=True)):
        predicted = None
        if index in call_indexes:
            predicted = item.predicted[call_indexes[index]]
        action_pairs.append(_make_call_pair(action, golden, predicted))

    extra_pairs = _make_extra_pairs(item.predicted, set(call_indexes.values()))
    item.pairs = sorted(action_pairs + extra_pairs, key=lambda pair: pair.turn)
    return _list_addresses(action_pairs, item.pairs)


def _make_golden_calls(actions: Sequence[GoldenAction], turns: Sequence[int]) -> list[Call]:
    """Return golden actions as golden calls, which are numbered in each turn. `turns` has the turn
    of each action.
    """
    calls = []
    n_calls_by_turn: Counter[int] = Counter()
    for action, turn in zip(actions, turns, strict=True):
        calls.append(action.to_call(turn, index=n_calls_by_turn[turn]))
        n_calls_by_turn[turn] += 1
    return calls


def _make_extra_pairs(calls: Sequence[Call], used_indexes: Set[int]) -> list[CallPair]:
    """Return a pair without a golden call for each predicted call that no action uses."""
    pairs = []
    for index, call in enumerate(calls):
        if index not in used_indexes:
            pair = CallPair(call.turn, golden=None, predicted=call.index, name=call.name, state="+")
            pairs.append(pair)
    return pairs


def _list_addresses(pairs: Sequence[CallPair], all_pairs: Sequence[CallPair]) -> list[str]:
    """Return the addresses of pairs. An address has the position of its pair in the turn, so
    `all_pairs` of the item are counted.
    """
    n_pairs_by_turn: Counter[int] = Counter()
    address_by_object: dict[int, str] = {}
    for pair in all_pairs:
        # Pairs can be equal, so the object itself is the key.
        address_by_object[id(pair)] = call_address(pair.turn, n_pairs_by_turn[pair.turn])
        n_pairs_by_turn[pair.turn] += 1
    return [address_by_object[id(pair)] for pair in pairs]


def _match_by_official_rule(actions: Sequence[GoldenAction], calls: Sequence[Call]) -> CallIndexes:
    """Find a matching call for each action.

    Calls with equal arguments are preferred, then earlier calls.
    """
    finder = CallFinder(calls)
    call_indexes: CallIndexes = {}
    for action_index, action in enumerate(actions):
        equal_call = finder.take_equal_call(action)
        if equal_call is not None:
            call_indexes[action_index] = equal_call

    for action_index, action in enumerate(actions):
        if action_index in call_indexes:
            continue
        matching_call = finder.take_matching_call(action)
        if matching_call is not None:
            call_indexes[action_index] = matching_call
    return call_indexes


def _match_by_similarity(
    actions: Sequence[GoldenAction], calls: Sequence[Call], matched: CallIndexes
) -> CallIndexes:
    """Match the golden actions that are not matched yet with the most similar calls of the same
    function.

    `matched` and the result map indexes of golden actions to indexes of calls.
    """
    used_calls = set(matched.values())
    action_names = [action.name for action in actions]
    call_names = [call.name for call in calls]
    similar: CallIndexes = {}
    for name in dict.fromkeys(action_names):
        open_actions = _list_open_indexes(action_names, name, matched)
        open_calls = _list_open_indexes(call_names, name, used_calls)
        if not open_actions or not open_calls:
            continue

        # The pairs have positions in the two shorter lists.
        pairs = _align_in_one_turn(
            [actions[index] for index in open_actions], [calls[index] for index in open_calls]
        )
        for pair in pairs:
            if pair.golden is not None and pair.predicted is not None:
                similar[open_actions[pair.golden]] = open_calls[pair.predicted]
    return similar


def _list_open_indexes(names: Sequence[str], name: str, matched: Container[int]) -> list[int]:
    """Return the indexes of the actions or calls with a name that are not matched yet."""
    return [index for index, each in enumerate(names) if each == name and index not in matched]


def _align_in_one_turn(actions: Sequence[GoldenAction], calls: Sequence[Call]) -> list[CallPair]:
    """Align actions with calls of any turn. The pairs contain positions in the two lists."""
    golden = [action.to_call(0, position) for position, action in enumerate(actions)]
    predicted = [replace(call, turn=0, index=position) for position, call in enumerate(calls)]
    return align_calls(golden, predicted)


def _assign_turns(n_golden_actions: int, call_indexes: CallIndexes, item: Item) -> list[int]:
    """Return the turn of each golden action: the turn of its call or, without one, that of the
    action before it.

    Actions before the first one with a call get its turn. Without any call, all get the last turn.
    """
    known = {action: item.predicted[call].turn for action, call in call_indexes.items()}
    turn = known[min(known)] if known else item.n_turns - 1
    turns = []
    for action_index in range(n_golden_actions):
        turn = known.get(action_index, turn)
        turns.append(turn)
    return turns


def _make_call_pair(action: GoldenAction, golden: Call, predicted: Call | None) -> CallPair:
    """Return the pair of a golden action, as the call `golden`, with its predicted call or with
    none, and the differences of the two calls.

    If the official rule accepts the predicted call, the differences have the state "~".
    """
    # The state "-" marks a missing call, "=" an equal one, and "!" one with an error.
    pair = CallPair(golden.turn, golden=golden.index, predicted=None, name=golden.name, state="-")
    if predicted is None:
        return pair

    pair.predicted = predicted.index
    pair.diff = diff_call(golden, predicted)
    if not pair.diff:
        pair.state = "="
        return pair
    if action.matches_call(predicted):
        # The official rule does not compare the arguments that differ.
        pair.diff = [replace(difference, state="~") for difference in pair.diff]
    are_equivalent = all(difference.state == "~" for difference in pair.diff)
    pair.state = "~" if are_equivalent else "!"
    return pair


def read_golden_actions(criteria: dict[str, Any]) -> list[GoldenAction]:
    """Read the golden actions in the criteria of a task."""
    actions = []
    for action in list_objects(criteria.get("actions")):
        name = str(action.get("name"))
        arguments = action.get("arguments")
        if not isinstance(arguments, dict):
            arguments = None
        compared = action.get("compare_args")
        compared_names = None
        if isinstance(compared, list):
            compared_names = [str(argument) for argument in compared]
        actions.append(GoldenAction(name, arguments, compare_arguments=compared_names))
    return actions


def find_spoken_texts(texts: Sequence[str], replies: Sequence[str]) -> dict[str, bool]:
    """Return text -> whether a reply contains it.

    Case is ignored, and commas are removed from the replies only, as in `evaluator_communicate.py`
    of tau2-bench.
    """
    plain_replies = [reply.lower().replace(",", "") for reply in replies]
    spoken_by_text = {}
    for text in texts:
        plain_text = text.lower()
        spoken_by_text[text] = any(plain_text in reply for reply in plain_replies)
    return spoken_by_text
