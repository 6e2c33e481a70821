"""Build the trajectory of a BFCL item: messages, predicted calls and states, turn by turn.

`result[turn][step]` contains the model's replies. Tool outputs, decoded calls and states are only
in `inference_log`, a list of state lists and turn objects. Its elements are identified by their
type, because they need not alternate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import orjson

from fcreview.importers.bfcl.dataset import convert_content_to_text, normalise_role, to_json_text
from fcreview.importers.bfcl.decoders.base import DisplayCalls
from fcreview.importers.bfcl.decoders.python_calls import parse_call_text
from fcreview.importers.common.records import list_objects
from fcreview.matching.conversation import REASONING
from fcreview.model.item import Call, Message, Role

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
        self.n_steps += 1

    def append(self, later: Trajectory) -> None:
        """Add the trajectory of later turns."""
        self.messages += later.messages
        self.calls += later.calls
        self.n_turns += later.n_turns
        self.n_steps += later.n_steps
        if later.final_answer is not None:
            self.final_answer = later.final_answer


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
    """Build a trajectory from an inference log, in which lists and objects alternate.

    An object is a turn with its steps. A list has the states of the simulated apps before the first
    turn or after the turn above it.
    """
    trajectory = Trajectory()
    state_by_app: dict[str, str] = {}
    # States belong to the end of the turn above. Those before the first turn have no step.
    turn_of_states = 0
    step_of_states = -1
    for part in log:
        if isinstance(part, list):
            trajectory.messages += _record_state_changes(
                part, state_by_app, turn_of_states, step_of_states
            )
        elif isinstance(part, dict):
            turn_of_states = trajectory.n_turns
            logged_turn = _read_logged_turn(part, turn_of_states, decode, functions)
            step_of_states = logged_turn.n_steps
            trajectory.append(logged_turn)
    return trajectory


def _record_state_changes(
    logged_states: list[Any], states: dict[str, str], turn: int, step: int
) -> list[Message]:
    """Return a message for each class whose state differs from `states` (class -> JSON), and
    update `states`.
    """
    messages = []
    for state in list_objects(logged_states):
        class_name = str(state.get("class_name") or "")
        text = to_json_text(state.get("content"))
        if states.get(class_name) != text:
            states[class_name] = text
            messages.append(Message(turn, step, role="state", content=text, name=class_name))
    return messages


def _read_logged_turn(
    logged_turn: dict[str, Any],
    turn: int,
    decode: DecodeStep,
    functions: list[dict[str, Any]],
) -> Trajectory:
    """Return the trajectory of one turn of the inference log.

    Args:
        logged_turn: The user's messages, and the log entries of `step_0`, `step_1` and so on.
        turn: Number of the turn, from 0.
        decode: Decodes the calls in a reply, if the log does not contain them in decoded form.
        functions: The function docs, for the parameter names of positional arguments.
    """
    trajectory = Trajectory(_read_queries(logged_turn, turn), n_turns=1)
    for entries in _iterate_logged_steps(logged_turn):
        start = StepStart(turn, step=trajectory.n_steps, call_index=len(trajectory.calls))
        logged_step = _read_logged_step(entries, start, functions)
        calls = logged_step.calls
        if logged_step.must_be_decoded:
            raw_reply = logged_step.raw_reply
            calls = _make_predicted_calls(decode(raw_reply), raw_reply, start)
        trajectory.messages += logged_step.messages
        trajectory.add_step(calls, logged_step.raw_reply)
    return trajectory


def _read_queries(logged_turn: dict[str, Any], turn: int) -> list[Message]:
    """Return the messages with which a logged turn begins."""
    messages = []
    for query in logged_turn.get("begin_of_turn_query") or ():
        if isinstance(query, dict):
            role = normalise_role(query.get("role"))
            content = convert_content_to_text(query.get("content"))
            messages.append(Message(turn=turn, step=-1, role=role, content=content))
    return messages


def _iterate_logged_steps(logged_turn: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the entries of `step_0`, `step_1` and so on."""
    for number in count():
        entries = logged_turn.get(f"step_{number}")
        if not isinstance(entries, list):
            return
        yield list_objects(entries)


@dataclass(slots=True)
class _LoggedStep:
    """A step of the inference log. Its entries add messages, the raw reply and decoded calls."""

    start: StepStart
    messages: list[Message] = field(default_factory=list)
    raw_reply: Any = None
    calls: list[Call] = field(default_factory=list)
    """Calls that the log contains in decoded form."""
    has_decoder_outcome: bool = False
    """Whether the log has the decoded calls of the reply, or the error of the decoder."""
    n_tool_outputs: int = 0

    @property
    def must_be_decoded(self) -> bool:
        return bool(self.raw_reply) and not self.calls and not self.has_decoder_outcome

    def add_reply(self, content: Any, reasoning: Any) -> None:
        self.raw_reply = content
        self.messages += _make_assistant_messages(content, self.start.turn, self.start.step)
        if reasoning:
            self.add_message("assistant", reasoning, name=REASONING)

    def add_tool_output(self, content: Any) -> None:
        """Add an output. Outputs have no function names, but are in the order of the calls."""
        function_name = None
        if self.n_tool_outputs < len(self.calls):
            function_name = self.calls[self.n_tool_outputs].name
        self.n_tool_outputs += 1
        self.add_message("tool", content, name=function_name)

    def add_handler_log(self, entry: dict[str, Any], functions: list[dict[str, Any]]) -> None:
        """Add the decoder's outcome: calls, or an error."""
        decoded = entry.get("model_response_decoded")
        if isinstance(decoded, list) and decoded and not self.calls:
            self.calls = _make_logged_calls(self.raw_reply, decoded, self.start, functions)
        text = convert_content_to_text(entry.get("content"))
        error = entry.get("error")
        if error:
            text += f" ({error})"
        self.add_message("log", text)

    def add_message(self, role: Role, content: Any, *, name: str | None = None) -> None:
        text = convert_content_to_text(content)
        message = Message(self.start.turn, self.start.step, role=role, content=text, name=name)
        self.messages.append(message)


def _read_logged_step(
    entries: list[dict[str, Any]], start: StepStart, functions: list[dict[str, Any]]
) -> _LoggedStep:
    """Read the log entries of one step: the model's reply, the outputs of its calls, and the notes
    of the program that decoded the reply.

    `start` is the number of the turn and of the step. `functions` are the function docs.
    """
    logged_step = _LoggedStep(start)
    for entry in entries:
        role = entry.get("role")
        content = entry.get("content")
        if role == "assistant":
            logged_step.add_reply(content, entry.get("reasoning_content"))
        elif role == "tool":
            logged_step.add_tool_output(content)
        elif role == "handler_log":
            logged_step.add_handler_log(entry, functions)
        elif role in ("inference_input", "state_info"):
            # The input repeats earlier messages, and `_record_state_changes` reads states.
            continue
        else:
            logged_step.add_message("log", content, name=str(role))
    logged_step.has_decoder_outcome = any(
        "model_response_decoded" in entry or "error" in entry for entry in entries
    )
    return logged_step


def _make_assistant_messages(raw: Any, turn: int, step: int) -> list[Message]:
    """Return the texts in a reply as messages.

    Native calls are omitted, because they are shown as calls.
    """
    parts = raw if isinstance(raw, list) else [raw]
    return [
        Message(turn, step, role="assistant", content=part)
        for part in parts
        if isinstance(part, str) and part
    ]


def _make_logged_calls(
    raw: Any, decoded: list[Any], start: StepStart, functions: list[dict[str, Any]]
) -> list[Call]:
    """Make the calls of a logged step.

    The log has them twice: in the model's reply (`raw`), and as decoded texts such as
    `cd(folder='a')`. If the reply consists of native calls, these are used, because their values
    are exact. Otherwise, the texts are parsed.
    """
    if isinstance(raw, list) and len(raw) == len(decoded):
        native_calls = _parse_native_calls(raw)
        if native_calls is not None:
            return _make_predicted_calls(native_calls, raw, start)

    calls = []
    for index, text in enumerate(decoded, start.call_index):
        name, arguments = parse_call_text(str(text), functions) or ("", None)
        call = Call(
            "predicted",
            name,
            arguments=arguments,
            turn=start.turn,
            step=start.step,
            index=index,
            raw=str(text),
        )
        if arguments is None:
            call.decode_error = "the text is not a call"
        calls.append(call)
    return calls


def _parse_native_calls(raw: list[Any]) -> list[tuple[str, dict[str, Any]]] | None:
    """Parse `[{name: arguments as object or JSON text}]`. Returns None for any other form."""
    calls = []
    for part in raw:
        if not isinstance(part, dict) or len(part) != 1:
            return None
        ((name, recorded_arguments),) = part.items()
        arguments = recorded_arguments
        if isinstance(recorded_arguments, str):
            with suppress(orjson.JSONDecodeError):
                arguments = orjson.loads(recorded_arguments)
        if not isinstance(arguments, dict):
            return None
        calls.append((name, arguments))
    return calls


def _make_predicted_calls(decoded: DisplayCalls | None, raw: Any, start: StepStart) -> list[Call]:
    """Return the calls of a step. A call without an object of arguments gets an error."""
    calls = []
    for index, (name, arguments) in enumerate(decoded or (), start.call_index):
        call = Call(
            "predicted",
            name,
            arguments=arguments,
            turn=start.turn,
            step=start.step,
            index=index,
            raw=raw if isinstance(raw, str) else None,
        )
        if arguments is None:
            call.decode_error = "the arguments of the call are not an object"
        calls.append(call)
    return calls


def _build_from_result(
    result: Any, opening_messages: Sequence[Message], decode: DecodeStep
) -> Trajectory:
    """Build a trajectory without an inference log, from the replies in a result record.

    `result[turn][step]` is the reply of a step. The messages of the users are not in the record;
    `opening_messages` are those that the dataset prescribes for each turn.
    """
    if not isinstance(result, list):
        return _build_from_text(result, opening_messages)

    trajectory = Trajectory()
    for turn, replies in enumerate(result):
        trajectory.messages += [message for message in opening_messages if message.turn == turn]
        trajectory.append(_read_replies_of_turn(replies, turn, decode))
    # The model did not reach the turns of these messages.
    trajectory.messages += [message for message in opening_messages if message.turn >= len(result)]
    return trajectory


def _read_replies_of_turn(replies: Any, turn: int, decode: DecodeStep) -> Trajectory:
    """Return the trajectory of one turn from the replies of its steps."""
    trajectory = Trajectory(n_turns=1)
    for step, reply in enumerate(_list_steps(replies)):
        start = StepStart(turn, step=step, call_index=len(trajectory.calls))
        calls = _make_predicted_calls(_read_calls_of_step(reply, decode), reply, start)
        trajectory.messages += _make_assistant_messages(reply, turn, step)
        trajectory.add_step(calls, reply)
    return trajectory


def _build_from_text(result: Any, opening_messages: Sequence[Message]) -> Trajectory:
    """Build the trajectory of a record whose result is no list of turns, such as an error."""
    text = result if isinstance(result, str) else to_json_text(result)
    trajectory = Trajectory([*opening_messages, *_make_assistant_messages(text, 0, 0)])
    if result:
        trajectory.n_turns = 1
        trajectory.n_steps = 1
    return trajectory


def _read_calls_of_step(raw: Any, decode: DecodeStep) -> DisplayCalls | None:
    """Return the native calls in a reply, or those that the decoder reads."""
    if isinstance(raw, list) and raw:
        native_calls = _parse_native_calls(raw)
        if native_calls is not None:
            return native_calls
    return decode(raw)


def _list_steps(steps: Any) -> list[Any]:
    """Return the steps of a turn. A value that is no list is one step."""
    return steps if isinstance(steps, list) else [steps]


def _insert_reasoning(content: Any, trajectory: Trajectory) -> None:
    """Insert the model's reasoning before the messages of its steps.

    `content[turn][step]` is the reasoning of a step. Nothing is inserted if the inference log has
    already added reasoning to the trajectory.
    """
    messages = trajectory.messages
    has_reasoning = any(message.name == REASONING for message in messages)
    if has_reasoning or not isinstance(content, list):
        return
    for turn, steps in enumerate(content):
        for step, reasoning in enumerate(_list_steps(steps)):
            if not reasoning:
                continue
            text = convert_content_to_text(reasoning)
            message = Message(turn, step, role="assistant", content=text, name=REASONING)
            messages.insert(_find_start_of_step(messages, turn, step), message)


def _find_start_of_step(messages: Sequence[Message], turn: int, step: int) -> int:
    """Return the index of the first message of a step or of a later one."""
    for index, message in enumerate(messages):
        if (message.turn, message.step) >= (turn, step):
            return index
    return len(messages)


def make_single_turn_messages(
    record: dict[str, Any], opening_messages: list[Message]
) -> list[Message]:
    """Return the messages of a single-turn item: the opening messages of the dataset, then the
    model's reasoning and reply.

    A reply that consists of native calls adds no message, because the item shows its calls. An
    empty reply adds an empty message. If no message is added, the result is `opening_messages`
    itself, so that items can share it.
    """
    result = record["result"]
    added: list[Message] = []
    if record.get("reasoning_content"):
        reasoning = convert_content_to_text(record["reasoning_content"])
        added.append(Message(turn=0, step=0, role="assistant", content=reasoning, name=REASONING))

    if result in (None, "", []):
        # An empty message shows that the model replied nothing.
        added.append(Message(turn=0, step=0, role="assistant", content=""))
    elif type(result) in (str, list):
        added += _make_assistant_messages(result, 0, 0)
    else:
        added.append(Message(turn=0, step=0, role="assistant", content=to_json_text(result)))

    if not added:
        return opening_messages
    return opening_messages + added
