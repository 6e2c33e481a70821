"""What happened in a BFCL item: messages, predicted calls and state, turn by turn.

`result[turn][step]` holds what the model said; tool outputs, decoded calls and the environment's state exist only in
`inference_log` (a list in which state lists and turn objects alternate; its elements are told apart by type).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from fcreview.importers.bfcl.dataset import content_text, json_text, message_role
from fcreview.importers.bfcl.decoders.python_calls import parse_call_text
from fcreview.model.item import Call, Message

DecodeStep = Callable[[Any], "list[tuple[str, dict[str, Any] | None]] | None"]
"""A raw step -> its calls as (name, arguments); None if it is no call."""


@dataclass(slots=True)
class Trajectory:
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    n_turns: int = 0
    n_steps: int = 0
    final_answer: str | None = None
    """The last step that is not a call: what agentic categories are judged by."""


def build_trajectory(
    record: dict[str, Any], opening: Sequence[Message], decode: DecodeStep, functions: list[dict[str, Any]]
) -> Trajectory:
    """The trajectory of a multi-turn or agentic record: from its inference log, else from `result` alone."""
    result = record.get("result")
    log = record.get("inference_log")
    if isinstance(log, list) and any(isinstance(part, dict) for part in log):
        found = _from_log(log, decode, functions)
    else:
        found = _from_result(result, opening, decode)
    _add_reasoning(record.get("reasoning_content"), found)
    return found


def _from_log(log: list[Any], decode: DecodeStep, functions: list[dict[str, Any]]) -> Trajectory:
    found = Trajectory()
    states: dict[str, str] = {}
    turn, step = -1, -1
    before: list[Message] = []
    for part in log:
        if isinstance(part, list):
            changed = _changed_states(part, states, max(turn, 0), step + 1 if turn >= 0 else -1)
            (before if turn < 0 else found.messages).extend(changed)
        elif isinstance(part, dict):
            turn += 1
            found.messages += before
            before = []
            step = _add_turn(part, turn, found, decode, functions)
            found.n_steps += step + 1
    found.messages += before
    found.n_turns = turn + 1
    return found


def _changed_states(part: list[Any], states: dict[str, str], turn: int, step: int) -> list[Message]:
    """The snapshots that differ from the one before; an unchanged state is not repeated."""
    messages = []
    for state in part:
        if not isinstance(state, dict):
            continue
        name = str(state.get("class_name") or "")
        text = json_text(state.get("content"))
        if states.get(name) != text:
            states[name] = text
            messages.append(Message(turn, step, "state", text, name))
    return messages


def _add_turn(
    part: dict[str, Any], turn: int, found: Trajectory, decode: DecodeStep, functions: list[dict[str, Any]]
) -> int:
    """Adds one turn; returns the number of its last step, -1 if it has none."""
    messages = found.messages
    for query in part.get("begin_of_turn_query") or ():
        if isinstance(query, dict):
            messages.append(Message(turn, -1, message_role(query.get("role")), content_text(query.get("content"))))
    step, index = -1, 0
    while isinstance(entries := part.get(f"step_{step + 1}"), list):
        step += 1
        known = [entry for entry in entries if isinstance(entry, dict)]
        raw, calls = _add_step(known, messages, (turn, step, index), functions)
        if not calls and raw and not any("model_response_decoded" in each or "error" in each for each in known):
            calls = _predicted_calls(decode(raw), raw, turn, step, index)
        if not calls and raw:
            found.final_answer = content_text(raw)
        index += len(calls)
        found.calls += calls
    return step


def _add_step(
    entries: list[dict[str, Any]], messages: list[Message], place: tuple[int, int, int], functions: list[dict[str, Any]]
) -> tuple[Any, list[Call]]:
    """Add a step's messages. Returns the assistant's raw reply and the calls that were run.

    Args:
        place: turn, step and index of the next call.
    """
    turn, step, index = place
    raw: Any = None
    calls: list[Call] = []
    outputs = 0
    for entry in entries:
        role = entry.get("role")
        if role == "assistant":
            raw = entry.get("content")
            messages += _assistant_messages(raw, turn, step)
            if entry.get("reasoning_content"):
                messages.append(Message(turn, step, "assistant", content_text(entry["reasoning_content"]), "reasoning"))
        elif role == "tool":
            name = calls[outputs].name if outputs < len(calls) else None
            outputs += 1
            messages.append(Message(turn, step, "tool", content_text(entry.get("content")), name))
        elif role == "handler_log":
            decoded = entry.get("model_response_decoded")
            if isinstance(decoded, list) and decoded and not calls:
                calls = _logged_calls(raw, decoded, turn, step, index, functions)
            error = entry.get("error")
            text = content_text(entry.get("content")) + (f" ({error})" if error else "")
            messages.append(Message(turn, step, "log", text))
        elif role not in ("inference_input", "state_info"):
            messages.append(Message(turn, step, "log", content_text(entry.get("content")), str(role)))
    return raw, calls


def _assistant_messages(raw: Any, turn: int, step: int) -> list[Message]:
    """The texts of an assistant's reply; native calls are shown as calls."""
    if isinstance(raw, str):
        return [Message(turn, step, "assistant", raw)] if raw else []
    if isinstance(raw, list):
        return [Message(turn, step, "assistant", part) for part in raw if isinstance(part, str) and part]
    return []


def _logged_calls(
    raw: Any, decoded: list[Any], turn: int, step: int, index: int, functions: list[dict[str, Any]]
) -> list[Call]:
    """The calls that were run in a step: `model_response_decoded`, taken from the native reply if that is the same."""
    native = _parse_native_calls(raw) if len(decoded) == (len(raw) if isinstance(raw, list) else -1) else None
    if native is not None:
        return [Call("predicted", name, arguments, turn, step, index + n) for n, (name, arguments) in enumerate(native)]
    calls = []
    for n, text in enumerate(decoded):
        parsed = parse_call_text(str(text), functions)
        if parsed is None:
            calls.append(Call("predicted", "", None, turn, step, index + n, str(text), "not a call"))
        else:
            calls.append(Call("predicted", parsed[0], parsed[1], turn, step, index + n, str(text)))
    return calls


def _parse_native_calls(raw: list[Any]) -> list[tuple[str, dict[str, Any]]] | None:
    """`[{name: "json text" or object}]` as calls, or None if it is anything else."""
    found = []
    for part in raw:
        if not isinstance(part, dict) or len(part) != 1:
            return None
        (name, arguments) = next(iter(part.items()))
        if isinstance(arguments, str):
            try:
                arguments = orjson.loads(arguments)
            except orjson.JSONDecodeError:
                return None
        if not isinstance(arguments, dict):
            return None
        found.append((name, arguments))
    return found


def _predicted_calls(
    decoded: list[tuple[str, dict[str, Any] | None]] | None, raw: Any, turn: int, step: int, index: int
) -> list[Call]:
    text = raw if isinstance(raw, str) else None
    return [
        Call(
            "predicted", name, arguments, turn, step, index + n, text, None if arguments is not None else "no arguments"
        )
        for n, (name, arguments) in enumerate(decoded or ())
    ]


def _from_result(result: Any, opening: Sequence[Message], decode: DecodeStep) -> Trajectory:
    """Without a log: the dataset's user messages and the decoded steps; no observations."""
    found = Trajectory()
    turns = result if isinstance(result, list) else None
    if turns is None:
        found.messages = [
            *opening,
            *_assistant_messages(result if isinstance(result, str) else json_text(result), 0, 0),
        ]
        found.n_turns = found.n_steps = 1 if result else 0
        return found
    by_turn: dict[int, list[Message]] = {}
    for message in opening:
        by_turn.setdefault(message.turn, []).append(message)
    found.n_turns = len(turns)
    for turn, steps in enumerate(turns):
        found.messages += by_turn.pop(turn, [])
        index = 0
        for step, raw in enumerate(steps if isinstance(steps, list) else [steps]):
            found.n_steps += 1
            found.messages += _assistant_messages(raw, turn, step)
            native = _parse_native_calls(raw) if isinstance(raw, list) and raw else None
            calls = _predicted_calls(native if native is not None else decode(raw), raw, turn, step, index)  # type: ignore[arg-type]
            if not calls and raw:
                found.final_answer = content_text(raw)
            index += len(calls)
            found.calls += calls
    for rest in by_turn.values():
        found.messages += rest
    return found


def _add_reasoning(content: Any, found: Trajectory) -> None:
    """`reasoning_content` as `[turn][step]`, where the log did not hold it already."""
    if not isinstance(content, list) or any(message.name == "reasoning" for message in found.messages):
        return
    for turn, steps in enumerate(content):
        for step, text in enumerate(steps if isinstance(steps, list) else [steps]):
            if text:
                message = Message(turn, step, "assistant", content_text(text), "reasoning")
                place = next(
                    (n for n, other in enumerate(found.messages) if (other.turn, other.step) >= (turn, step)),
                    len(found.messages),
                )
                found.messages.insert(place, message)


def single_turn_messages(record: dict[str, Any], opening: list[Message]) -> list[Message]:
    """The messages of a single-turn record. `opening` itself, which is shared, if the model only made native calls."""
    result = record["result"]
    added: list[Message] = []
    if record.get("reasoning_content"):
        added.append(Message(0, 0, "assistant", content_text(record["reasoning_content"]), "reasoning"))
    if type(result) is str:
        if result:
            added.append(Message(0, 0, "assistant", result))
    elif type(result) is list:
        for part in result:
            if type(part) is str and part:
                added.append(Message(0, 0, "assistant", part))
    elif result is not None:
        added.append(Message(0, 0, "assistant", json_text(result)))
    return [*opening, *added] if added else opening
