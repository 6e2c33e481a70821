"""Turn parts of other dialects in a trajectory into ATIF's steps, calls and results.

Some programs write steps whose messages, calls or results are as an API returned them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.common.writeback import JsonObject
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    ParsedMessage,
    ToolCall,
    ToolResult,
)
from fcreview.importers.dialects.embedded import has_foreign_form, read_embedded
from fcreview.importers.dialects.to_item import format_result, get_shown_text
from fcreview.importers.dialects.values import get_type, parse_arguments, report_unknown_fields
from fcreview.model.item import UNKNOWN_PARTS
from fcreview.model.json_value import to_json_text

STEP_FIELDS = {
    "step_id", "timestamp", "source", "message", "model_name", "reasoning_effort",
    "reasoning_content", "tool_calls", "observation", "metrics", "llm_call_count",
    "is_copied_context", "extra",
}  # fmt: skip
CALL_FIELDS = {"tool_call_id", "function_name", "arguments", "extra"}
RESULT_FIELDS = {"source_call_id", "content", "subagent_trajectory_ref", "extra"}
ARGUMENT_FIELDS = ("arguments", "input", "args")
GEMINI_KEYS = {"functionCall", "function_call", "functionResponse", "function_response"}
"""Keys of Gemini's parts with calls and results."""
ROLES_BY_SOURCE = {"agent": "assistant", "user": "user", "system": "system"}
SOURCES_BY_ROLE = {role: source for source, role in ROLES_BY_SOURCE.items()}


@dataclass(frozen=True, slots=True)
class NumberedStep:
    number: int
    """Number of the step in the file, from 1."""
    step: Any


@dataclass(slots=True)
class ConvertedSteps:
    steps: list[NumberedStep] = field(default_factory=list)
    issues: list[MessageIssue] = field(default_factory=list)
    _steps_by_call: dict[str, JsonObject] = field(default_factory=dict)
    """Id of a call -> the step that has it."""
    _open_calls: list[JsonObject] = field(default_factory=list)
    """Calls of the last step with calls that no result without an id has answered."""

    def add_step(self, number: int, step: Any) -> None:
        """Add a step, and remember its calls, so that later results can be added to them."""
        self.steps.append(NumberedStep(number, step))
        calls = list_objects(as_object(step).get("tool_calls"))
        if calls:
            self._open_calls = calls
        for call in calls:
            if isinstance(call.get("tool_call_id"), str):
                self._steps_by_call[call["tool_call_id"]] = step

    def add_result(self, number: int, result: ToolResult) -> None:
        """Add a result to the step that has its call, or else as a step of its own."""
        call_id = result.call_id or self._take_open_call(result.name)
        written = {"source_call_id": call_id, "content": format_result(result)}
        owner = self._steps_by_call.get(call_id or "")
        if owner is not None:
            _append_result(owner, written)
            return
        what = f"result {result.call_id or 'without an id'} belongs to no call"
        self.issues.append(MessageIssue(what, path=result.path, raw=result.text))
        self.add_step(number, {"source": "system", "observation": {"results": [written]}})

    def _take_open_call(self, name: str | None) -> str | None:
        """Return the id of the call that a result without an id answers, and remove this call from
        the open calls.

        The call is the first open call of the function `name` or, without a name, the first open
        call. Returns None if there is no such call, or if the call has no id either.
        """
        candidates = self._open_calls
        if name is not None:
            candidates = [call for call in candidates if call.get("function_name") == name]
        if not candidates:
            return None

        answered = candidates[0]
        self._open_calls = [call for call in self._open_calls if call is not answered]
        call_id = answered.get("tool_call_id")
        return call_id if isinstance(call_id, str) else None

    def add_unknown_parts(self, number: int, parts: list[Any]) -> None:
        if parts:
            self.add_step(number, {"source": UNKNOWN_PARTS, "message": to_json_text(parts)})


def convert_steps(steps: list[Any]) -> ConvertedSteps:
    """Return the steps in ATIF's form, and issues about what was not read."""
    converted = ConvertedSteps()
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict):
            converted.add_step(number, step)
        elif _is_message(step):
            _add_message(converted, number, step, own_step={})
        else:
            _add_own_step(converted, number, step)
    return converted


def _is_message(step: JsonObject) -> bool:
    """Whether a message stands in place of a step. AutoGen's messages have a source, too."""
    if "source" in step:
        return "message" not in step and has_foreign_form(step)
    return "role" in step or has_foreign_form(step)


def _add_own_step(converted: ConvertedSteps, number: int, step: JsonObject) -> None:
    """Add a step of ATIF. Its message, calls or results may have the form of another API."""
    path = f"steps[{number - 1}]"
    converted.issues.extend(report_unknown_fields(step, STEP_FIELDS, path=path))
    observation = _convert_observation(step, path=f"{path}.observation")
    converted.issues.extend(observation.issues)
    own_step = observation.apply_to(step)
    # A value of another type stays, so that it is reported later.
    if isinstance(step.get("tool_calls"), list):
        own_step = own_step | {"tool_calls": _read_own_calls(converted, number, step)}

    foreign_calls = [call for call in as_list(step.get("tool_calls")) if not _is_own_call(call)]
    foreign_parts = [part for part in as_list(step.get("message")) if not _is_own_part(part)]
    if foreign_calls or foreign_parts:
        _add_step_with_foreign_parts(converted, number, own_step, foreign_calls, foreign_parts)
    else:
        converted.add_step(number, own_step)
    converted.add_unknown_parts(number, observation.unknown_parts)


def _append_result(step: JsonObject, result: JsonObject) -> None:
    """Add a result to the observation of a step. Its old observation is not changed."""
    observation = as_object(step.get("observation"))
    results = [*as_list(observation.get("results")), result]
    step["observation"] = observation | {"results": results}


def _add_step_with_foreign_parts(
    converted: ConvertedSteps,
    number: int,
    step: JsonObject,
    foreign_calls: Sequence[Any],
    foreign_parts: Sequence[Any],
) -> None:
    """Add a step that has calls or message parts in the form of another API.

    These are put into a message of that API, which is converted. The rest of the step is in ATIF's
    form already.
    """
    role = ROLES_BY_SOURCE.get(str(step.get("source")), "assistant")
    openai_calls = [_to_openai_call(call) for call in foreign_calls]
    own_step = _drop_foreign_parts(step)
    if not foreign_parts:
        message = {"role": role, "content": [], "tool_calls": openai_calls}
        _add_message(converted, number, message, own_step=own_step)
        return

    # Calls beside parts are read on their own, because the parts can have the form of an API that
    # writes no calls beside them.
    if openai_calls:
        new_calls = _read_calls(converted, number, role, openai_calls)
        own_step = own_step | {"tool_calls": [*as_list(own_step.get("tool_calls")), *new_calls]}
    _add_message(converted, number, _make_message(role, foreign_parts), own_step=own_step)


def _drop_foreign_parts(step: JsonObject) -> JsonObject:
    """Return a step whose message has only the parts that are in ATIF's form."""
    if not isinstance(step.get("message"), list):
        return step
    own_parts = [part for part in step["message"] if _is_own_part(part)]
    return step | {"message": own_parts}


def _make_message(role: str, parts: Sequence[Any]) -> JsonObject:
    """Return a message with parts. Gemini's messages have them in a field of its own."""
    keys: set[str] = set()
    for part in parts:
        keys |= as_object(part).keys()
    field = "parts" if keys & GEMINI_KEYS else "content"
    return {"role": role, field: list(parts)}


def _read_calls(
    converted: ConvertedSteps, number: int, role: str, openai_calls: Sequence[Any]
) -> Iterator[JsonObject]:
    """Yield calls of OpenAI's form in ATIF's form. What is not read is added to `converted`."""
    message = {"role": role, "content": "", "tool_calls": list(openai_calls)}
    for reading in read_embedded([message], path="steps", first=number - 1):
        if isinstance(reading, MessageIssue):
            converted.issues.append(reading)
            continue
        for index, call in enumerate(reading.calls):
            yield _to_own_call(call, f"{number}-{index}")
        converted.add_unknown_parts(number, reading.unknown_parts)


# -- what is ATIF's own


def _is_own_part(part: Any) -> bool:
    """Whether a part of a message has the form of ATIF: a text, an image or audio."""
    if isinstance(part, str):
        return True
    fields = as_object(part)
    if get_type(fields) in ("", "text"):
        return isinstance(fields.get("text"), str)
    return get_type(fields) in ("image", "audio") and isinstance(fields.get("source"), dict)


def _is_own_call(call: Any) -> bool:
    return isinstance(call, dict) and "function_name" in call


def _read_own_calls(converted: ConvertedSteps, number: int, step: JsonObject) -> list[JsonObject]:
    """Return the calls of a step that are in ATIF's form."""
    calls = []
    for index, call in enumerate(as_list(step.get("tool_calls"))):
        if not _is_own_call(call):
            continue
        path = f"steps[{number - 1}].tool_calls[{index}]"
        converted.issues.extend(report_unknown_fields(call, CALL_FIELDS, path=path))
        if isinstance(call.get("arguments"), str):
            call = _parse_arguments_of_call(converted, call, path=path)
        calls.append(call)
    return calls


def _parse_arguments_of_call(
    converted: ConvertedSteps, call: JsonObject, *, path: str
) -> JsonObject:
    """Return a call with an object of arguments. Some writers leave the JSON text that the model
    wrote. A text that cannot be read stays.
    """
    written = call["arguments"]
    arguments = parse_arguments(written)
    if arguments.problem is not None:
        what = f"arguments of call {call['function_name']} {arguments.problem}"
        converted.issues.append(MessageIssue(what, path=path, raw=written))
    if arguments.value is None:
        return call
    return call | {"arguments": arguments.value}


def _to_openai_call(call: Any) -> Any:
    """Return a call with a name and arguments at its top, such as Anthropic's, in OpenAI's form."""
    fields = as_object(call)
    is_flat = "name" in fields and "function" not in fields
    if not is_flat:
        return call
    function: JsonObject = {"name": fields["name"]}
    for name in ARGUMENT_FIELDS:
        if name in fields:
            function["arguments"] = fields[name]
            break
    call_id = fields.get("id", fields.get("tool_call_id", fields.get("call_id")))
    return {"id": call_id, "type": "function", "function": function}


# -- what is foreign


def _add_message(
    converted: ConvertedSteps, number: int, message: JsonObject, *, own_step: JsonObject
) -> None:
    """Add a message that has the form of another API, as one or more steps.

    `own_step` is what the step already contains in ATIF's form. It becomes part of the first step
    that is made from the message, or a step of its own if there is none.
    """
    pending_own_step = dict(own_step)
    # Steps are counted from 1 here, and messages from 0.
    for reading in read_embedded([message], path="steps", first=number - 1):
        if isinstance(reading, MessageIssue):
            converted.issues.append(reading)
            continue
        _add_parsed_message(converted, number, reading, pending_own_step)
        if reading.role in SOURCES_BY_ROLE:
            pending_own_step = {}  # It is in the step that was made from this message.

    has_own_content = any(
        pending_own_step.get(name) for name in ("message", "tool_calls", "observation")
    )
    if has_own_content:
        converted.add_step(number, pending_own_step)


def _add_parsed_message(
    converted: ConvertedSteps, number: int, message: ParsedMessage, own_step: JsonObject
) -> None:
    """Add a message that was read in the form of another API, together with `own_step`.

    It can have results of earlier calls, which precede its own step, and results of its own calls.
    Messages of roles that ATIF lacks, such as `tool`, have no step and leave `own_step` out.
    """
    for result in message.results:
        converted.add_result(number, result)
    if message.role in SOURCES_BY_ROLE:
        step = _to_step(message, own_step, number)
        if step:
            converted.add_step(number, step)
    for call in message.calls:
        if call.result is not None:
            converted.add_result(number, call.result)
    converted.add_unknown_parts(number, message.unknown_parts)


def _to_step(message: ParsedMessage, own_step: JsonObject, number: int) -> JsonObject:
    """Return a step of ATIF with the content of a message of another API.

    The content is added to `own_step`, the parts of the step that already have ATIF's form. An
    empty step is returned if there is no content at all.
    """
    text = _join_texts(own_step.get("message"), get_shown_text(message))
    has_content = text or message.reasoning or message.calls or own_step
    if not has_content:
        return {}

    step: JsonObject = {"source": SOURCES_BY_ROLE[message.role]} | own_step
    step["message"] = text
    if message.reasoning:
        own_reasoning = own_step.get("reasoning_content") or ""
        step["reasoning_content"] = f"{own_reasoning}{message.reasoning}"
    if message.calls:
        step["tool_calls"] = list(as_list(own_step.get("tool_calls")))
        for index, call in enumerate(message.calls):
            step["tool_calls"].append(_to_own_call(call, f"{number}-{index}"))
    return step


def _join_texts(own_message: Any, text: str) -> Any:
    """Return the message of a step: its parts in ATIF's form, followed by the text of the rest.

    A message that is no list of parts has nothing to add to: the text replaces it, if there is one.
    """
    if not isinstance(own_message, list) or not own_message:
        return text or own_message or ""
    parts = list(own_message)
    if text:
        parts.append({"type": "text", "text": text})
    return parts


def _to_own_call(call: ToolCall, position: str) -> JsonObject:
    """Return a call in ATIF's form. Without an id, it gets one, because ATIF's results need it."""
    call_id = call.id or f"call-{position}"
    arguments = call.raw if call.arguments is None else call.arguments
    return {"tool_call_id": call_id, "function_name": call.name, "arguments": arguments}


# -- observations


@dataclass(slots=True)
class _ConvertedObservation:
    """The results of a step in ATIF's form."""

    value: JsonObject | None = None
    """The observation; None if it stays as it is written."""
    unknown_parts: list[Any] = field(default_factory=list)
    """Parts of results that are unknown."""
    issues: list[MessageIssue] = field(default_factory=list)

    def apply_to(self, step: JsonObject) -> JsonObject:
        """Return a step with the converted results."""
        if self.value is None:
            return step
        return step | {"observation": self.value}


def _convert_observation(step: JsonObject, *, path: str) -> _ConvertedObservation:
    """Convert the results of a step to ATIF's form. `path` is their place."""
    observation = step.get("observation")
    if observation is None:
        return _ConvertedObservation()
    results = as_object(observation).get("results")
    if not isinstance(results, list):
        what = "observation is not an object with a list of results"
        issue = MessageIssue(what, path=path, raw=observation)
        return _ConvertedObservation(unknown_parts=[observation], issues=[issue])

    converted = _ConvertedObservation()
    own_results = []
    for index, result in enumerate(results):
        for reading in _read_result(result, path=f"{path}.results[{index}]"):
            if isinstance(reading, MessageIssue):
                converted.issues.append(reading)
            elif isinstance(reading, ParsedMessage):
                converted.unknown_parts += reading.unknown_parts
            else:
                own_results.append(reading)
    converted.value = as_object(observation) | {"results": own_results}
    return converted


def _read_result(result: Any, *, path: str) -> Iterator[JsonObject | ParsedMessage | MessageIssue]:
    """Yield a result in ATIF's form, and what was not read of it.

    The whole result can have the form of another API, or only its content.
    """
    if not isinstance(result, dict):
        yield MessageIssue("result is not an object", path=path, raw=result)
        yield ParsedMessage("log", unknown_parts=[result], path=path)
        return

    message = _to_result_message(result)
    if message is not None:
        yield from _read_foreign_result(result, message, path=path)
        return
    content = result.get("content")
    has_own_content = not isinstance(content, list) or all(map(_is_own_part, content))
    if has_own_content:
        yield from report_unknown_fields(result, RESULT_FIELDS, path=path)
        yield result
        return
    # Only the content has the form of another API, so a message is made around it.
    call_id = result.get("source_call_id")
    message = {"role": "tool", "tool_call_id": call_id, "content": content}
    yield from _read_foreign_result(result, message, path=path)


def _read_foreign_result(
    result: JsonObject, message: JsonObject, *, path: str
) -> Iterator[JsonObject | ParsedMessage | MessageIssue]:
    """Yield a result whose content is read from a message of another API."""
    for reading in read_embedded([message], path=path, first=0):
        yield reading
        if isinstance(reading, ParsedMessage):
            for parsed_result in reading.results:
                # Other fields, such as references to subagents, stay.
                yield result | {
                    "source_call_id": parsed_result.call_id,
                    "content": format_result(parsed_result),
                }


def _to_result_message(result: JsonObject) -> JsonObject | None:
    """Return the message of a result that is in the form of an API, or None for ATIF's own form."""
    if "source_call_id" in result:
        return None
    if "tool_use_id" in result:
        return {"role": "user", "content": [{"type": "tool_result"} | result]}
    if "tool_call_id" in result or "call_id" in result:
        call_id = result.get("tool_call_id", result.get("call_id"))
        content = result.get("content", result.get("output"))
        return {"role": "tool", "tool_call_id": call_id, "content": content}
    return None
