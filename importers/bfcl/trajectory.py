"""Build the trajectory of a BFCL item: messages, predicted calls and states, turn by turn.

`result[turn][step]` contains the model's replies. Tool outputs, decoded calls and states are only
in `inference_log`, a list of state lists and turn objects. Its elements are identified by their
type, because they need not alternate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from fcreview.importers.bfcl.dataset import convert_content_to_text, normalise_role, to_json_text
from fcreview.importers.bfcl.decoders.base import DisplayCalls
from fcreview.importers.bfcl.decoders.python_calls import parse_call_text
from fcreview.importers.common.records import list_objects
from fcreview.matching.conversation import REASONING
from fcreview.model.item import Call, Message

DecodeStep = Callable[[Any], DisplayCalls | None]
"""Function that decodes the raw reply of a step. Returns None if the reply is not a call."""


class StepStart(NamedTuple):
    """Position of a step. All numbers count from 0."""

    turn: int
    step: int
    call_index: int
    """Index, in the turn, of the first call of the step."""


@dataclass(slots=True)
class Trajectory:
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    n_turns: int = 0
    n_steps: int = 0
    final_answer: str | None = None
    """Text of the last step without a call. The benchmark scores agentic items by this text."""

    def add_step(self, calls: list[Call], raw_reply: Any) -> None:
        """Add the calls in the reply of a step. A reply without calls becomes the final answer."""
        if not calls and raw_reply:
            self.final_answer = convert_content_to_text(raw_reply)
        self.calls += calls


def build_trajectory(
    record: dict[str, Any],
    opening_messages: Sequence[Message],
    decode: DecodeStep,
    functions: list[dict[str, Any]],
) -> Trajectory:
    """Build the trajectory from the inference log or, without one, from the opening messages and
    the replies.
    """
    log = record.get("inference_log")
    if isinstance(log, list) and any(isinstance(part, dict) for part in log):
        trajectory = _build_from_log(log, decode, functions)
    else:
        trajectory = _build_from_result(record.get("result"), opening_messages, decode)
    _insert_reasoning(record.get("reasoning_content"), trajectory)
    return trajectory


def _build_from_log(
    log: list[Any], decode: DecodeStep, functions: list[dict[str, Any]]
) -> Trajectory:
    trajectory = Trajectory()
    states: dict[str, str] = {}
    turn, n_steps = -1, 0
    for part in log:
        if isinstance(part, list):
            trajectory.messages += _record_state_changes(
                part, states, max(turn, 0), n_steps if turn >= 0 else -1
            )
        elif isinstance(part, dict):
            turn += 1
            n_steps = _add_turn_and_count_steps(part, turn, trajectory, decode, functions)
            trajectory.n_steps += n_steps
    trajectory.n_turns = turn + 1
    return trajectory


def _record_state_changes(
    logged_states: list[Any], states: dict[str, str], turn: int, step: int
) -> list[Message]:
    """Return a message for each class whose state differs from `states` (class -> JSON), and
    update `states`.
    """
    messages = []
    for state in list_objects(logged_states):
        name, text = str(state.get("class_name") or ""), to_json_text(state.get("content"))
        if states.get(name) != text:
            states[name] = text
            messages.append(Message(turn, step, role="state", content=text, name=name))
    return messages


def _add_turn_and_count_steps(
    logged_turn: dict[str, Any],
    turn: int,
    trajectory: Trajectory,
    decode: DecodeStep,
    functions: list[dict[str, Any]],
) -> int:
    """Add a turn of the inference log to the trajectory, and return the number of its steps."""
    for query in logged_turn.get("begin_of_turn_query") or ():
        if isinstance(query, dict):
            role, content = (
                normalise_role(query.get("role")),
                convert_content_to_text(query.get("content")),
            )
            trajectory.messages.append(Message(turn, -1, role=role, content=content))
    step = index = 0
    while isinstance(entries := logged_turn.get(f"step_{step}"), list):
        start = StepStart(turn, step=step, call_index=index)
        entries = list_objects(entries)
        raw, calls = _read_logged_step(entries, trajectory.messages, start, functions)
        if (
            not calls
            and raw
            and not any("model_response_decoded" in entry or "error" in entry for entry in entries)
        ):
            calls = _make_predicted_calls(decode(raw), raw, start)
        trajectory.add_step(calls, raw)
        index += len(calls)
        step += 1
    return step


def _read_logged_step(
    entries: list[dict[str, Any]],
    messages: list[Message],
    start: StepStart,
    functions: list[dict[str, Any]],
) -> tuple[Any, list[Call]]:
    """Add the messages of a step to `messages`.

    Returns (raw reply, calls that the log contains in decoded form).
    """
    turn, step, _ = start
    raw: Any = None
    calls: list[Call] = []
    n_outputs = 0
    for entry in entries:
        role, content = entry.get("role"), entry.get("content")
        if role == "assistant":
            raw = content
            messages += _make_assistant_messages(raw, turn, step)
            if entry.get("reasoning_content"):
                messages.append(
                    Message(
                        turn,
                        step,
                        role="assistant",
                        content=convert_content_to_text(entry["reasoning_content"]),
                        name=REASONING,
                    )
                )
        elif role == "tool":
            name = calls[n_outputs].name if n_outputs < len(calls) else None
            n_outputs += 1
            messages.append(
                Message(
                    turn, step, role="tool", content=convert_content_to_text(content), name=name
                )
            )
        elif role == "handler_log":
            decoded = entry.get("model_response_decoded")
            if isinstance(decoded, list) and decoded and not calls:
                calls = _make_logged_calls(raw, decoded, start, functions)
            error = entry.get("error")
            messages.append(
                Message(
                    turn,
                    step,
                    role="log",
                    content=convert_content_to_text(content) + (f" ({error})" if error else ""),
                )
            )
        elif role not in ("inference_input", "state_info"):
            messages.append(
                Message(
                    turn, step, role="log", content=convert_content_to_text(content), name=str(role)
                )
            )
    return raw, calls


def _make_assistant_messages(raw: Any, turn: int, step: int) -> list[Message]:
    """Return the texts in a reply as messages.

    Native calls are omitted, because they are shown as calls.
    """
    parts = [raw] if isinstance(raw, str) else raw if isinstance(raw, list) else []
    return [
        Message(turn, step, role="assistant", content=part)
        for part in parts
        if isinstance(part, str) and part
    ]


def _make_logged_calls(
    raw: Any, decoded: list[Any], start: StepStart, functions: list[dict[str, Any]]
) -> list[Call]:
    native = (
        _parse_native_calls(raw) if isinstance(raw, list) and len(raw) == len(decoded) else None
    )
    if native is not None:
        return _make_predicted_calls(native, raw, start)
    turn, step, index = start
    calls = []
    for n, text in enumerate(decoded, index):
        name, arguments = parse_call_text(str(text), functions) or ("", None)
        error = "the text is not a call" if arguments is None else None
        calls.append(
            Call(
                "predicted",
                name,
                arguments=arguments,
                turn=turn,
                step=step,
                index=n,
                raw=str(text),
                decode_error=error,
            )
        )
    return calls


def _parse_native_calls(raw: list[Any]) -> list[tuple[str, dict[str, Any]]] | None:
    """Parse `[{name: arguments as object or JSON text}]`. Returns None for any other form."""
    calls = []
    for part in raw:
        if not isinstance(part, dict) or len(part) != 1:
            return None
        ((name, arguments),) = part.items()
        with suppress(orjson.JSONDecodeError):
            arguments = orjson.loads(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(arguments, dict):
            return None
        calls.append((name, arguments))
    return calls


def _make_predicted_calls(decoded: DisplayCalls | None, raw: Any, start: StepStart) -> list[Call]:
    turn, step, index = start
    text, error = (
        raw if isinstance(raw, str) else None,
        "the arguments of the call are not an object",
    )
    return [
        Call(
            "predicted",
            name,
            arguments=arguments,
            turn=turn,
            step=step,
            index=n,
            raw=text,
            decode_error=None if arguments is not None else error,
        )
        for n, (name, arguments) in enumerate(decoded or (), index)
    ]


def _build_from_result(
    result: Any, opening_messages: Sequence[Message], decode: DecodeStep
) -> Trajectory:
    trajectory = Trajectory()
    if not isinstance(result, list):
        text = result if isinstance(result, str) else to_json_text(result)
        trajectory.messages = [*opening_messages, *_make_assistant_messages(text, 0, 0)]
        trajectory.n_turns = trajectory.n_steps = 1 if result else 0
        return trajectory
    trajectory.n_turns = len(result)
    for turn, steps in enumerate(result):
        trajectory.messages += [message for message in opening_messages if message.turn == turn]
        index = 0
        for step, raw in enumerate(steps if isinstance(steps, list) else [steps]):
            trajectory.n_steps += 1
            trajectory.messages += _make_assistant_messages(raw, turn, step)
            native = _parse_native_calls(raw) if isinstance(raw, list) and raw else None
            decoded = native if native is not None else decode(raw)
            calls = _make_predicted_calls(
                decoded, raw, StepStart(turn, step=step, call_index=index)
            )
            trajectory.add_step(calls, raw)
            index += len(calls)
    trajectory.messages += [message for message in opening_messages if message.turn >= len(result)]
    return trajectory


def _insert_reasoning(content: Any, trajectory: Trajectory) -> None:
    """Insert `content[turn][step]` before the messages of each step, unless the trajectory
    already has reasoning.
    """
    messages = trajectory.messages
    if not isinstance(content, list) or any(message.name == REASONING for message in messages):
        return
    for turn, steps in enumerate(content):
        for step, text in enumerate(steps if isinstance(steps, list) else [steps]):
            if text:
                later = (
                    n
                    for n, other in enumerate(messages)
                    if (other.turn, other.step) >= (turn, step)
                )
                message = Message(
                    turn,
                    step,
                    role="assistant",
                    content=convert_content_to_text(text),
                    name=REASONING,
                )
                messages.insert(next(later, len(messages)), message)


def make_single_turn_messages(
    record: dict[str, Any], opening_messages: list[Message]
) -> list[Message]:
    """Return the messages of a single-turn record. If the reply adds no message, this is
    `opening_messages` itself.

    An empty reply is a message without text. A reply of native calls only is no message.
    """
    result = record["result"]
    added: list[Message] = []
    if record.get("reasoning_content"):
        reasoning = convert_content_to_text(record["reasoning_content"])
        added.append(Message(0, 0, role="assistant", content=reasoning, name=REASONING))

    if result in (None, "", []):
        added.append(Message(0, 0, role="assistant", content=""))
    elif type(result) in (str, list):
        added += _make_assistant_messages(result, 0, 0)
    else:
        added.append(Message(0, 0, role="assistant", content=to_json_text(result)))
    return [*opening_messages, *added] if added else opening_messages
