"""Convert the conversation of a simulation to messages and calls, and compare it with the golden actions and texts.

A turn begins with the first user message after a message or call of the agent. Each message of the agent is a step. The
simulated user may also call tools; a message with such a call is a step too.

A voice run consists of ticks. A tick is a short period of time with a chunk of speech from each side. Chunks with the
same utterance id, or without a pause between them, are one message. Within a tick, the user's calls come before the
agent's.

The golden actions are one way to solve a task. They count only if `ACTION` is part of the reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fcreview.importers.common.records import add_issue, is_integer, list_objects, shorten_question
from fcreview.matching.align import align
from fcreview.matching.diff import diff_call
from fcreview.model.item import SIMULATED_USER_INSTRUCTION, AcceptedValues, Call, CallPair, Item, Message, Role

AGENT = "agent"
"""`Message.name` of the agent's greeting, which no model wrote."""
ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


@dataclass(slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Any] | None
    raw: str | None = None
    error: str | None = None


@dataclass(slots=True)
class ConversationMessage:
    """A message of tau-bench v1 or tau2-bench."""

    role: Role
    content: str
    calls: list[ToolCall] = field(default_factory=list)
    name: str | None = None
    """Function that returned the result, for the role `tool`."""
    reply: str | None = None
    """Part of the content that the user reads, if the content also contains the agent's thought."""


@dataclass(slots=True)
class _Cursor:
    """Position of the next message, from 0."""

    turn: int = 0
    step: int = -1
    index: int = 0
    """Number of calls in the turn."""
    agent_acted: bool = False
    """Whether the agent sent a message or called a tool in this turn."""
    user_called: bool = False
    """Whether the simulated user called a tool in this turn."""
    started: bool = False
    """Whether the conversation has begun: with a user message, an action by the agent, or the agent's greeting."""

    def start_turn(self) -> None:
        self.turn, self.step, self.index, self.agent_acted, self.user_called = self.turn + 1, -1, 0, False, False


def read_role(message: Mapping[str, Any]) -> Role:
    """Return the role of a message. Raises ValueError or TypeError if the message has another form."""
    role = ROLES.get(str(message.get("role")))
    if role is None:
        raise ValueError(f"unknown role {str(message.get('role'))[:40]!r}")
    if not isinstance(message.get("tool_calls") or [], list):
        raise TypeError("tool_calls is not a list")
    if role == "assistant" and not isinstance(message.get("content") or "", (str, list)):
        raise TypeError("content is not text")
    return role


def add_unreadable_issue(item: Item, error: Exception) -> None:
    what = f"the conversation cannot be read, so nothing is recomputed: {str(error)[:200]}"
    add_issue(item, what, severity="error")


def add_conversation(item: Item, messages: Sequence[ConversationMessage]) -> list[int]:
    """Add messages and calls to an item. Returns the turn, from 0, of each message."""
    cursor, turns, user_calls = _Cursor(), [], list[list[int]]()
    for at, message in enumerate(messages):
        step = _place_message(message, cursor, is_last=at == len(messages) - 1)
        turns.append(cursor.turn)
        if message.content or not message.calls:
            name = AGENT if message.role == "assistant" and step < 0 else message.name
            item.messages.append(Message(cursor.turn, step, message.role, message.content, name))
        for call in message.calls:
            if message.role == "user":
                user_calls.append([cursor.turn, cursor.index])
            place = cursor.turn, max(step, 0), cursor.index
            item.predicted.append(Call("predicted", call.name, call.arguments, *place, call.raw, call.error))
            cursor.index += 1
    item.n_turns = cursor.turn + 1
    item.n_steps = max(sum(message.role == "assistant" for message in messages), 1)
    item.extra.user_calls = user_calls or None
    return turns


def _place_message(message: ConversationMessage, cursor: _Cursor, *, is_last: bool) -> int:
    """Move the cursor to a message and return its step. A closing user message belongs to the last turn."""
    if message.role == "user":
        if cursor.agent_acted and (message.calls or not is_last):
            cursor.start_turn()
        cursor.started = True
        if message.calls or cursor.user_called or cursor.agent_acted:
            cursor.step += 1
        cursor.user_called = cursor.user_called or bool(message.calls)
    elif message.role == "assistant":
        if not cursor.started and not message.calls:
            cursor.started = True  # The greeting, which no model wrote.
            return -1
        cursor.step += 1
        cursor.started = cursor.agent_acted = True
    elif message.role == "tool":
        cursor.step = max(cursor.step, 0)
    return cursor.step


def add_instruction(item: Item, text: str) -> None:
    """Insert the simulated user's instruction as the first message. Lists show it as the question of the item."""
    if text:
        item.question = shorten_question(text)
        item.messages.insert(0, Message(0, -1, "system", text, SIMULATED_USER_INSTRUCTION))


def content_text(content: Any) -> str:
    """Return the content of a message as text. Parts without text are omitted."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)


def spoken_text(message: dict[str, Any]) -> str:
    """Return the text of a message or a chunk of speech. For audio, return the transcript, if any."""
    if message.get("is_audio") is True:
        return content_text(message.get("audio_script_gold"))
    return content_text(message.get("content"))


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


def ticks_to_messages(ticks: Any) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Convert ticks to messages in the form of a text run.

    Returns the messages, and {tick number: index of the last message that began in this tick or an earlier one}.
    """
    entries: list[_Utterance | dict[str, Any]] = []
    open_utterances: dict[str, _Utterance] = {}
    entry_of_tick: dict[int, int] = {}
    for at, tick in enumerate(list_objects(ticks)):
        number = tick["tick_id"] if is_integer(tick.get("tick_id")) else at
        speakers = (("user", "user"), ("assistant", "agent"))
        for role, name in speakers:
            _add_chunk(tick.get(f"{name}_chunk"), role, number, entries, open_utterances)
        for role, name in speakers:
            if calls := list_objects(tick.get(f"{name}_tool_calls")):
                entries.append({"role": role, "content": None, "tool_calls": calls})
                open_utterances.clear()
            entries += [{"role": "tool", **result} for result in list_objects(tick.get(f"{name}_tool_results"))]
        entry_of_tick[number] = len(entries) - 1
    return [entry.to_message() if isinstance(entry, _Utterance) else entry for entry in entries], entry_of_tick


def _add_chunk(
    chunk: Any, role: str, tick: int, entries: list[_Utterance | dict[str, Any]], open_utterances: dict[str, _Utterance]
) -> None:
    if not isinstance(chunk, dict):
        return
    text = spoken_text(chunk)
    if not text and not chunk.get("contains_speech"):
        open_utterances.pop(role, None)
        return
    ids = {str(each) for each in chunk.get("utterance_ids") or ()}
    current = open_utterances.get(role)
    if current is None or (ids and current.ids and not ids & current.ids):
        utterances = (each for each in entries if isinstance(each, _Utterance) and each.role == role)
        current = next((each for each in utterances if each.ids & ids), None)
        if current is None:
            current = _Utterance(role, ids, tick, tick)
            entries.append(current)
        open_utterances[role] = current
    current.ids |= ids
    current.last_tick = tick
    current.text += text


@dataclass(frozen=True, slots=True)
class GoldenAction:
    name: str
    arguments: dict[str, Any] | None
    compare_arguments: list[str] | None = None
    """Names of the arguments that must be equal; None for the arguments that the predicted call has."""

    def matches(self, call: Call) -> bool:
        """Whether a call matches by the official rule (`Action.compare_with_tool_call` of tau2-bench).

        Without `compare_arguments`, an argument that the predicted call leaves out is not compared.
        """
        if call.name != self.name or call.arguments is None:
            return False
        given, wanted = call.arguments, self.arguments or {}
        names = list(given) if self.compare_arguments is None else self.compare_arguments
        return all((name in given) == (name in wanted) and given.get(name) == wanted.get(name) for name in names)

    def to_call(self, turn: int, index: int) -> Call:
        accepted = {name: AcceptedValues([value]) for name, value in (self.arguments or {}).items()}
        return Call("golden", self.name, accepted, turn, 0, index)


def pair_actions(item: Item, actions: Sequence[GoldenAction]) -> list[int]:
    """Add golden calls and call pairs to an item whose predicted calls are known.

    Calls are paired by the official rule first, then with the most similar call of the same function. A golden call
    that no call matches is placed in the turn of the golden call before it. Returns the index of each action's pair in
    `item.pairs`.
    """
    partners = _match_actions(actions, item.predicted)
    _match_by_function(actions, item.predicted, partners)
    turns = _golden_turns(len(actions), partners, item)
    pairs = []
    for at, (action, turn) in enumerate(zip(actions, turns, strict=True)):
        golden = action.to_call(turn, turns[:at].count(turn))
        item.golden.append(golden)
        pairs.append(_make_pair(action, golden, item.predicted[partners[at]] if at in partners else None))
    used = set(partners.values())
    extra = [call for at, call in enumerate(item.predicted) if at not in used]
    unpaired = [CallPair(call.turn, None, call.index, call.name, "+") for call in extra]
    item.pairs = sorted(pairs + unpaired, key=lambda pair: pair.turn)
    positions = {id(pair): at for at, pair in enumerate(item.pairs)}
    return [positions[id(pair)] for pair in pairs]


def _match_actions(actions: Sequence[GoldenAction], calls: Sequence[Call]) -> dict[int, int]:
    """Pair each action with one call that matches it. Calls with equal arguments are preferred, then earlier calls."""
    partners: dict[int, int] = {}
    for is_exact in (True, False):
        for at, action in enumerate(actions):
            for position, call in enumerate(calls) if at not in partners else ():
                is_equal = call.arguments == action.arguments or not is_exact
                if position not in partners.values() and is_equal and action.matches(call):
                    partners[at] = position
                    break
    return partners


def _match_by_function(actions: Sequence[GoldenAction], calls: Sequence[Call], partners: dict[int, int]) -> None:
    used = set(partners.values())
    for name in dict.fromkeys(action.name for action in actions):
        open_actions = [at for at, action in enumerate(actions) if action.name == name and at not in partners]
        open_calls = [at for at, call in enumerate(calls) if call.name == name and at not in used]
        golden = [actions[at].to_call(0, index) for index, at in enumerate(open_actions)]
        predicted = [replace(calls[at], turn=0, index=index) for index, at in enumerate(open_calls)]
        for pair in align(golden, predicted) if golden and predicted else ():
            if pair.golden is not None and pair.predicted is not None:
                partners[open_actions[pair.golden]] = open_calls[pair.predicted]


def _golden_turns(n_actions: int, partners: dict[int, int], item: Item) -> list[int]:
    """Return the turn of each action: the turn of its call.

    An action without a call gets the turn of the action before it.
    """
    known = {at: item.predicted[position].turn for at, position in partners.items()}
    turn = known[min(known)] if known else item.n_turns - 1
    return [turn := known.get(at, turn) for at in range(n_actions)]


def _make_pair(action: GoldenAction, golden: Call, predicted: Call | None) -> CallPair:
    if predicted is None:
        return CallPair(golden.turn, golden.index, None, golden.name, "-")
    differences = diff_call(golden, predicted)
    if differences and action.matches(predicted):
        differences = [replace(each, state="~") for each in differences]
    state: Any = "=" if not differences else "~" if all(each.state == "~" for each in differences) else "!"
    return CallPair(golden.turn, golden.index, predicted.index, golden.name, state, differences)


def read_actions(criteria: dict[str, Any]) -> list[GoldenAction]:
    actions = []
    for action in list_objects(criteria.get("actions")):
        arguments, names = action.get("arguments"), action.get("compare_args")
        arguments = arguments if isinstance(arguments, dict) else None
        compared = [str(name) for name in names] if isinstance(names, list) else None
        actions.append(GoldenAction(str(action.get("name")), arguments, compared))
    return actions


def find_spoken_texts(texts: Sequence[str], replies: Sequence[str]) -> dict[str, bool]:
    """Return `{text: whether a reply contains it}`. Case is ignored, and commas are removed from the replies only."""
    plain_replies = [reply.lower().replace(",", "") for reply in replies]
    return {text: any(text.lower() in reply for reply in plain_replies) for text in texts}
