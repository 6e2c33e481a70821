"""Convert ATIF trajectories to messages and calls.

Each step of the agent becomes a step of the item, with its reasoning, message, calls and tool
messages. A user message after a step of the agent begins a new turn. Steps copied from an earlier
trajectory, and the trajectories of subagents, become log messages, which do not count as steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.atif.foreign_steps import ConvertedSteps, convert_steps
from fcreview.importers.atif.subagents import ReadDocumentAt, SubagentReader, list_results
from fcreview.importers.common.records import as_object, is_number, list_objects, make_id_key
from fcreview.importers.common.writeback import JsonObject
from fcreview.importers.dialects.conversation import MessageIssue
from fcreview.importers.dialects.values import parse_arguments
from fcreview.model.item import UNKNOWN_PARTS, Call, Message, Role
from fcreview.model.json_value import to_json_text

KNOWN_MINOR_VERSION = 8
MAX_SHOWN_VALUE = 60
"""Number of characters of a malformed value that an import issue shows."""
NO_RESULT = "(no result)"
"""Placeholder for a missing result, so that results and calls still match by position."""


@dataclass(slots=True)
class Conversation:
    """Messages and calls of one item, from one or more documents."""

    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    answers: list[JsonObject] = field(default_factory=list)
    """Message and calls of each step of the agent, as in the file.

    The prediction hash is computed from them.
    """
    usage: dict[str, int | float] = field(default_factory=dict)
    """Name of a metric, such as `prompt_tokens` -> its sum over the agent's steps."""
    problems: list[str] = field(default_factory=list)
    """Texts of the import issues of the item."""
    issues: list[MessageIssue] = field(default_factory=list)
    """What was not read, or not read as it is written."""
    n_turns: int = 1
    n_steps: int = 0
    """Number of steps of the agent, without copied steps."""
    n_document_steps: int = 0
    """Number of all steps in the documents, without the steps of subagents."""
    subagents: list[str] = field(default_factory=list)
    """Name or trajectory id of each subagent whose trajectory is shown."""
    step: int = -1
    """Number of the agent's current step in the turn, or -1 before its first step."""
    n_calls_in_turn: int = 0

    @property
    def turn(self) -> int:
        return self.n_turns - 1

    def begin_turn(self) -> None:
        self.n_turns += 1
        self.step = -1
        self.n_calls_in_turn = 0

    def begin_agent_step(self) -> None:
        self.step += 1
        self.n_steps += 1

    def add_message(self, role: Role, content: str, name: str | None = None) -> None:
        """Add a message to the current turn and step."""
        self.messages.append(Message(self.turn, self.step, role=role, content=content, name=name))

    def add_calls(self, entries: list[JsonObject]) -> None:
        """Add the entries of `tool_calls` of the current step."""
        for entry in entries:
            call = parse_tool_call(entry, self.turn, self.step, self.n_calls_in_turn)
            self.calls.append(call)
            self.n_calls_in_turn += 1

    def add_usage(self, metrics: JsonObject) -> None:
        for name, value in metrics.items():
            if is_number(value):
                self.usage[name] = self.usage.get(name, 0) + value


@dataclass(frozen=True, slots=True)
class _Subagents:
    """The subagents of one document of an item."""

    document: JsonObject
    reader: SubagentReader

    def add_messages(self, conversation: Conversation, result: JsonObject) -> None:
        """Add a log message for each subagent that a result refers to, and for its own
        subagents.
        """
        for subagent in self.reader.read_subagents(self.document, result):
            conversation.subagents.append(subagent.id)
            conversation.add_message("log", subagent.text, subagent.name)


def make_subagent_reader(read_document_at: ReadDocumentAt) -> SubagentReader:
    return SubagentReader(read_document_at, format_steps)


def add_document(conversation: Conversation, document: JsonObject, reader: SubagentReader) -> None:
    """Add the steps of a trajectory, one JSON document, to the conversation of an item.

    Malformed parts are described in `conversation.problems`. `reader` finds the trajectories of
    subagents to which the steps refer.
    """
    _check_schema_version(conversation, document.get("schema_version"))
    steps = document.get("steps")
    if not isinstance(steps, list) or not steps:
        conversation.problems.append("the trajectory has no steps")
        return

    _check_step_ids(conversation, steps)
    conversation.n_document_steps += sum(isinstance(step, dict) for step in steps)
    converted = convert_steps(steps)
    conversation.issues += converted.issues
    _add_converted_steps(conversation, converted, _Subagents(document, reader))


def _add_converted_steps(
    conversation: Conversation, converted: ConvertedSteps, subagents: _Subagents
) -> None:
    """Add steps in ATIF's form. A series of steps that were copied from an earlier context becomes
    one message.
    """
    copied_steps: list[JsonObject] = []
    for numbered in converted.steps:
        step = numbered.step
        if not isinstance(step, dict):
            what = f"step {numbered.number} is not an object, so it was skipped"
            conversation.problems.append(what)
            continue
        if step.get("is_copied_context") is True:
            copied_steps.append(step)
            continue
        _add_copied_steps(conversation, copied_steps)
        copied_steps = []
        _add_step(conversation, step, numbered.number, subagents)
    _add_copied_steps(conversation, copied_steps)


def _check_step_ids(conversation: Conversation, steps: Sequence[Any]) -> None:
    step_ids = [step.get("step_id") for step in steps if isinstance(step, dict)]
    expected_ids = list(range(1, len(steps) + 1))
    if step_ids != expected_ids:
        conversation.problems.append(
            "the steps are not numbered 1, 2, 3 without gaps. They are shown in file order"
        )


def _check_schema_version(conversation: Conversation, version: Any) -> None:
    """Note a problem if the stated version is not `ATIF-v1.N`, or is newer than the known ones."""
    # Some writers leave out `ATIF-v`.
    text = str(version).removeprefix("ATIF-").removeprefix("v")
    major, _, minor = text.partition(".")
    if not major.isdecimal() or not minor.isdecimal():
        shown_version = to_json_text(version)[:MAX_SHOWN_VALUE]
        conversation.problems.append(
            f"schema_version is {shown_version}, but ATIF-v1.N was expected"
        )
        return

    # Python refuses to convert very long numbers, so only the first digits are compared.
    stated = (int(major[:9]), int(minor[:9]))
    newest_known = (1, KNOWN_MINOR_VERSION)
    if stated > newest_known:
        conversation.problems.append(
            f"version {text[:20]} is newer than 1.{KNOWN_MINOR_VERSION}. New fields are not shown"
        )


def _add_copied_steps(conversation: Conversation, steps: list[JsonObject]) -> None:
    """Add steps that are copied from an earlier trajectory as one log message."""
    if not steps:
        return
    text = "steps copied from an earlier trajectory:\n" + format_steps(steps)
    conversation.add_message("log", text, "copied context")


def _add_step(
    conversation: Conversation, step: JsonObject, number: int, subagents: _Subagents
) -> None:
    """Add a step of the agent, the user or the system. `number` counts the steps from 1."""
    source = step.get("source")
    if source == UNKNOWN_PARTS:
        conversation.add_message("log", str(step["message"]), UNKNOWN_PARTS)
        return
    if source == "agent":
        _add_agent_step(conversation, step, subagents)
        return

    if source == "user":
        _add_user_message(conversation, step)
    else:
        _add_system_message(conversation, step, number)
    _add_uncounted_calls(conversation, step, number)
    for result in list_results(step):
        conversation.add_message("log", get_content_text(result.get("content")), "observation")
        subagents.add_messages(conversation, result)


def _add_uncounted_calls(conversation: Conversation, step: JsonObject, number: int) -> None:
    """Show the calls of a step that is not of the agent. Only steps of the agent may have calls."""
    calls = step.get("tool_calls")
    if not calls:
        return
    what = (
        f"step {number} has tool calls, which only steps of the agent may have. They are not"
        " counted"
    )
    conversation.problems.append(what)
    conversation.add_message("log", to_json_text(calls), "tool calls")


def _add_user_message(conversation: Conversation, step: JsonObject) -> None:
    # A user message after a step of the agent begins a new turn.
    if conversation.step >= 0:
        conversation.begin_turn()
    conversation.add_message("user", get_content_text(step.get("message")))


def _add_system_message(conversation: Conversation, step: JsonObject, number: int) -> None:
    """Add the message of a step of the system, or of an unknown source."""
    source = step.get("source")
    role: Role = "system"
    if source != "system":
        role = "log"
        shown_source = to_json_text(source)[:MAX_SHOWN_VALUE]
        conversation.problems.append(
            f"step {number} has the source {shown_source}. It is shown as a log message"
        )

    # Since version 1.2, a step of the system may have only an observation.
    text = get_content_text(step.get("message"))
    if text or "observation" not in step:
        conversation.add_message(role, text)


def _add_agent_step(conversation: Conversation, step: JsonObject, subagents: _Subagents) -> None:
    """Add the reasoning, the text, the calls and the results of one step of the agent."""
    conversation.begin_agent_step()
    conversation.add_usage(as_object(step.get("metrics")))
    # The answers identify the prediction: reviews become stale if they change.
    answer = {"message": step.get("message"), "tool_calls": step.get("tool_calls")}
    conversation.answers.append(answer)

    reasoning = get_content_text(step.get("reasoning_content"))
    if reasoning:
        conversation.add_message("assistant", reasoning, "reasoning")
    text = get_content_text(step.get("message"))
    if text:
        conversation.add_message("assistant", text)

    calls = _read_calls(conversation, step)
    conversation.add_calls(calls)
    _add_results(conversation, calls, list_results(step), subagents)


def _read_calls(conversation: Conversation, step: JsonObject) -> list[JsonObject]:
    """Return the calls of a step, and report a malformed list and repeated ids."""
    stated_calls = step.get("tool_calls")
    if stated_calls is not None and not isinstance(stated_calls, list):
        conversation.problems.append(
            "tool_calls of a step is not a list, so the step was imported without calls"
        )
    calls = list_objects(stated_calls)
    call_ids = {to_json_text(call.get("tool_call_id")) for call in calls}
    if len(call_ids) < len(calls):
        conversation.problems.append("several calls of a step have the same tool_call_id")
    return calls


def _add_results(
    conversation: Conversation,
    calls: list[JsonObject],
    results: list[JsonObject],
    subagents: _Subagents,
) -> None:
    """Add the results of the calls of a step as tool messages, in the order of the calls.

    The item view matches the tool messages of a step with its calls by position. A call without a
    result therefore gets a placeholder if a later call has a result. Results that belong to no
    call of the step follow at the end.
    """
    results_of_calls = _list_results_of_calls(calls, results)
    while results_of_calls and results_of_calls[-1] is None:
        results_of_calls.pop()
    for call, own_results in zip(calls, results_of_calls, strict=False):
        if own_results is None:
            conversation.add_message("tool", NO_RESULT)
        else:
            _add_results_of_call(conversation, call, own_results, subagents)

    for result in _list_results_without_call(calls, results):
        _add_result_without_call(conversation, result, has_calls=bool(calls))
        subagents.add_messages(conversation, result)


def _list_results_without_call(
    calls: Sequence[JsonObject], results: Sequence[JsonObject]
) -> list[JsonObject]:
    """Return the results that name no call, or a call that is not among `calls`."""
    ids_of_calls = {make_id_key(call.get("tool_call_id")) for call in calls}
    results_without_call = []
    for result in results:
        call_id = result.get("source_call_id")
        if call_id is None or make_id_key(call_id) not in ids_of_calls:
            results_without_call.append(result)
    return results_without_call


def _list_results_of_calls(
    calls: list[JsonObject], results: list[JsonObject]
) -> list[list[JsonObject] | None]:
    """Return for each call its results, or None. Of several calls with the same id, the first one
    gets them.
    """
    remaining_results = _group_by_call(results)
    results_of_calls = []
    for call in calls:
        own_results = remaining_results.pop(make_id_key(call.get("tool_call_id")), None)
        results_of_calls.append(own_results)
    return results_of_calls


def _add_results_of_call(
    conversation: Conversation,
    call: JsonObject,
    results: list[JsonObject],
    subagents: _Subagents,
) -> None:
    """Add the results of one call as one tool message, and the messages of its subagents."""
    text = "\n".join(get_content_text(result.get("content")) for result in results)
    conversation.add_message("tool", text, _get_call_name(call))
    for result in results:
        subagents.add_messages(conversation, result)


def _group_by_call(results: list[JsonObject]) -> dict[Any, list[JsonObject]]:
    grouped: dict[Any, list[JsonObject]] = {}
    for result in results:
        reference = result.get("source_call_id")
        if reference is not None:
            grouped.setdefault(make_id_key(reference), []).append(result)
    return grouped


def _add_result_without_call(
    conversation: Conversation, result: JsonObject, *, has_calls: bool
) -> None:
    """Add a result that belongs to no call of its step: as a log message if the step has calls."""
    reference = result.get("source_call_id")
    if reference is not None:
        shown_reference = to_json_text(reference)[:MAX_SHOWN_VALUE]
        conversation.problems.append(
            f"a result refers to the call {shown_reference}, which its step does not contain"
        )
    text = get_content_text(result.get("content"))
    if has_calls:
        conversation.add_message("log", text, "observation")
    else:
        conversation.add_message("tool", text)


def parse_tool_call(entry: JsonObject, turn: int, step: int, index: int) -> Call:
    """Convert an entry of `tool_calls` to a predicted call.

    If its arguments are not an object, the call gets a decoding error instead of arguments.
    """
    name = _get_call_name(entry)
    call = Call("predicted", name, arguments=None, turn=turn, step=step, index=index)
    written = entry.get("arguments")
    if written is None:
        call.raw = to_json_text(written)
        call.decode_error = "the call has no arguments"
        return call

    # The reason is the same as in the issue of the step.
    arguments = parse_arguments(written)
    call.arguments = arguments.value
    if arguments.value is None:
        call.raw = to_json_text(written)
        call.decode_error = f"the arguments {arguments.problem}"
    return call


def _get_call_name(call: JsonObject) -> str:
    name = call.get("function_name")
    return name if isinstance(name, str) else to_json_text(name)


def get_content_text(content: Any) -> str:
    """Return the content of a message or a result as text.

    Images and audio are shown as type and path.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(_get_part_text, content))
    return to_json_text(content)


def _get_part_text(part: Any) -> str:
    """Return the text of a part of a message. A file is described by its type and path."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        if isinstance(part.get("text"), str):
            return str(part["text"])
        source = part.get("source")
        if isinstance(source, dict):
            media_type = source.get("media_type") or ""
            return f"[{part.get('type')} {media_type} {source.get('path') or ''}]"
    return to_json_text(part)


def format_step(step: JsonObject) -> str:
    """Return a step as text: its source and message, reasoning, calls and results."""
    lines = [f"{step.get('source')}: {get_content_text(step.get('message'))}"]
    reasoning = get_content_text(step.get("reasoning_content"))
    if reasoning:
        lines.insert(0, f"reasoning: {reasoning}")
    for entry in list_objects(step.get("tool_calls")):
        call = parse_tool_call(entry, turn=0, step=0, index=0)
        # Arguments that could not be read are shown as they are written.
        arguments = call.raw if call.arguments is None else to_json_text(call.arguments)
        lines.append(f"  call {call.name}({arguments})")
    for result in list_results(step):
        lines.append(f"  result {get_content_text(result.get('content'))}")
    return "\n".join(lines)


def format_steps(steps: list[JsonObject]) -> str:
    return "\n".join(map(format_step, steps))
