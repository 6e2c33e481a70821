"""Convert ATIF trajectories to messages and calls.

Each step of the agent becomes a step of the item, with its reasoning, message, calls and tool
messages. A user message after a step of the agent begins a new turn. Steps copied from an earlier
trajectory, and the trajectories of subagents, become log messages, which do not count as steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.atif.subagents import ReadDocumentAt, SubagentReader, list_results
from fcreview.importers.common.records import as_object, is_number, list_objects
from fcreview.importers.common.writeback import JsonObject
from fcreview.model.item import Call, Message
from fcreview.model.json_value import to_json_text

KNOWN_MINOR_VERSION = 8
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


@dataclass(frozen=True, slots=True)
class _Subagents:
    """The subagents of one document of an item."""

    document: JsonObject
    reader: SubagentReader

    def add_messages(self, conversation: Conversation, result: JsonObject, step: int) -> None:
        """Add a log message for each subagent that a result refers to, and for its own
        subagents.
        """
        for subagent in self.reader.read_subagents(self.document, result):
            conversation.subagents.append(subagent.id)
            message = Message(
                conversation.n_turns - 1,
                step,
                role="log",
                content=subagent.text,
                name=subagent.name,
            )
            conversation.messages.append(message)


def make_subagent_reader(read_document_at: ReadDocumentAt) -> SubagentReader:
    return SubagentReader(read_document_at, format_steps)


def add_document(conversation: Conversation, document: JsonObject, reader: SubagentReader) -> None:
    """Add the steps of a trajectory to a conversation, and its malformed parts to
    `conversation.problems`.

    `reader`: reads the subagents of all documents of the item.
    """
    _check_schema_version(conversation, document.get("schema_version"))
    steps = document.get("steps")
    if not isinstance(steps, list) or not steps:
        conversation.problems.append("the trajectory has no steps")
        return
    numbers = [step.get("step_id") for step in steps if isinstance(step, dict)]
    if numbers != list(range(1, len(steps) + 1)):
        conversation.problems.append(
            "the steps are not numbered 1, 2, 3 without gaps. They are shown in file order"
        )
    copied: list[str] = []
    subagents = _Subagents(document, reader)
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict):
            conversation.problems.append(f"step {number} is not an object, so it was skipped")
            continue
        conversation.n_document_steps += 1
        if step.get("is_copied_context") is True:
            copied.append(format_step(step))
            continue
        _add_copied_steps(conversation, copied)
        _add_step(conversation, step, number, subagents)
    _add_copied_steps(conversation, copied)


def _check_schema_version(conversation: Conversation, version: Any) -> None:
    text = str(version).removeprefix("ATIF-").removeprefix("v")
    major, _, minor = text.partition(".")
    if not major.isdecimal() or not minor.isdecimal():
        conversation.problems.append(
            f"schema_version is {to_json_text(version)[:60]}, but ATIF-v1.N was expected"
        )
    elif (int(major[:9]), int(minor[:9])) > (1, KNOWN_MINOR_VERSION):
        problem = (
            f"version {text[:20]} is newer than 1.{KNOWN_MINOR_VERSION}. New fields are not shown"
        )
        conversation.problems.append(problem)


def _add_copied_steps(conversation: Conversation, copied: list[str]) -> None:
    """Add copied steps, given as texts, as one log message, and empty the list."""
    if copied:
        text = "steps copied from an earlier trajectory:\n" + "\n".join(copied)
        conversation.messages.append(
            Message(
                conversation.n_turns - 1,
                conversation.step,
                role="log",
                content=text,
                name="copied context",
            )
        )
        copied.clear()


def _add_step(
    conversation: Conversation, step: JsonObject, number: int, subagents: _Subagents
) -> None:
    source, text = step.get("source"), get_content_text(step.get("message"))
    if source == "agent":
        _add_agent_step(conversation, step, text, subagents)
        return
    if source not in ("user", "system"):
        problem = (
            f"step {number} has the source {to_json_text(source)[:60]}. It is shown as a log"
            " message"
        )
        conversation.problems.append(problem)
    if source == "user" and conversation.step >= 0:
        conversation.n_turns, conversation.step, conversation.n_calls_in_turn = (
            conversation.n_turns + 1,
            -1,
            0,
        )
    turn, at = conversation.n_turns - 1, conversation.step
    if source == "user":
        conversation.messages.append(Message(turn, -1, role="user", content=text))
    elif text or "observation" not in step:
        conversation.messages.append(
            Message(turn, at, role="system" if source == "system" else "log", content=text)
        )
    if calls := step.get("tool_calls"):
        problem = (
            f"step {number} has tool calls, which only steps of the agent may have. They are not"
            " counted"
        )
        conversation.problems.append(problem)
        conversation.messages.append(
            Message(turn, at, role="log", content=to_json_text(calls), name="tool calls")
        )
    for result in list_results(step):
        conversation.messages.append(
            Message(
                turn,
                at,
                role="log",
                content=get_content_text(result.get("content")),
                name="observation",
            )
        )
        subagents.add_messages(conversation, result, at)


def _add_agent_step(
    conversation: Conversation, step: JsonObject, text: str, subagents: _Subagents
) -> None:
    conversation.step += 1
    conversation.n_steps += 1
    turn, at = conversation.n_turns - 1, conversation.step
    for name, value in as_object(step.get("metrics")).items():
        if is_number(value):
            conversation.usage[name] = conversation.usage.get(name, 0) + value
    conversation.answers.append(
        {"message": step.get("message"), "tool_calls": step.get("tool_calls")}
    )
    if reasoning := get_content_text(step.get("reasoning_content")):
        conversation.messages.append(
            Message(turn, at, role="assistant", content=reasoning, name="reasoning")
        )
    if text:
        conversation.messages.append(Message(turn, at, role="assistant", content=text))
    given = step.get("tool_calls")
    if given is not None and not isinstance(given, list):
        conversation.problems.append(
            "tool_calls of a step is not a list, so the step was imported without calls"
        )
    entries = list_objects(given)
    numbered = enumerate(entries, conversation.n_calls_in_turn)
    conversation.calls += [parse_tool_call(entry, turn, at, index) for index, entry in numbered]
    conversation.n_calls_in_turn += len(entries)
    ids = [to_json_text(entry.get("tool_call_id")) for entry in entries]
    if len(set(ids)) < len(ids):
        conversation.problems.append("several calls of a step have the same tool_call_id")
    _add_results(conversation, entries, list_results(step), subagents)


def _add_results(
    conversation: Conversation,
    calls: list[JsonObject],
    results: list[JsonObject],
    subagents: _Subagents,
) -> None:
    """Add a tool message for each call that has a result, then a message for each result without
    a call.
    """
    step = conversation.step
    results_by_call = _group_by_call(results)
    n_answered = 0
    for position, call in enumerate(calls):
        # The first of several calls with the same id gets their results.
        own = results_by_call.pop(_make_key(call.get("tool_call_id")), [])
        if own:
            _add_results_of_call(conversation, call, own, position - n_answered)
            n_answered = position + 1
        for result in own:
            subagents.add_messages(conversation, result, step)

    for result in results:
        reference = result.get("source_call_id")
        if reference is None or _make_key(reference) in results_by_call:
            _add_result_without_call(conversation, result, has_calls=bool(calls))
            subagents.add_messages(conversation, result, step)


def _group_by_call(results: list[JsonObject]) -> dict[Any, list[JsonObject]]:
    grouped: dict[Any, list[JsonObject]] = {}
    for result in results:
        reference = result.get("source_call_id")
        if reference is not None:
            grouped.setdefault(_make_key(reference), []).append(result)
    return grouped


def _make_key(call_id: Any) -> Any:
    """Return the id of a call as a key. In a damaged file, it can be an object or a list."""
    return to_json_text(call_id) if isinstance(call_id, (dict, list)) else call_id


def _add_results_of_call(
    conversation: Conversation, call: JsonObject, results: list[JsonObject], n_unanswered: int
) -> None:
    """Add the results of a call as one tool message, after a placeholder for each unanswered
    call before it.
    """
    turn = conversation.n_turns - 1
    conversation.messages += [
        Message(turn, conversation.step, role="tool", content=NO_RESULT)
    ] * n_unanswered
    text = "\n".join(get_content_text(result.get("content")) for result in results)
    conversation.messages.append(
        Message(turn, conversation.step, role="tool", content=text, name=_get_call_name(call))
    )


def _add_result_without_call(
    conversation: Conversation, result: JsonObject, *, has_calls: bool
) -> None:
    if result.get("source_call_id") is not None:
        reference = to_json_text(result["source_call_id"])[:60]
        conversation.problems.append(
            f"a result refers to the call {reference}, which its step does not contain"
        )
    turn = conversation.n_turns - 1
    text = get_content_text(result.get("content"))
    if has_calls:
        conversation.messages.append(
            Message(turn, conversation.step, role="log", content=text, name="observation")
        )
    else:
        conversation.messages.append(Message(turn, conversation.step, role="tool", content=text))


def parse_tool_call(entry: JsonObject, turn: int, step: int, index: int) -> Call:
    """Parse an entry of `tool_calls`.

    If its arguments are not an object, the call gets a decoding error.
    """
    arguments = entry.get("arguments")
    if isinstance(arguments, dict):
        return Call(
            "predicted",
            _get_call_name(entry),
            arguments=arguments,
            turn=turn,
            step=step,
            index=index,
        )
    error = "the call has no arguments" if arguments is None else "the arguments are not an object"
    return Call(
        "predicted",
        _get_call_name(entry),
        arguments=None,
        turn=turn,
        step=step,
        index=index,
        raw=to_json_text(arguments),
        decode_error=error,
    )


def _get_call_name(call: JsonObject) -> str:
    name = call.get("function_name")
    return name if isinstance(name, str) else to_json_text(name)


def get_content_text(content: Any) -> str:
    """Return the content of a message or a result as text.

    Images and audio are shown as type and path.
    """
    if isinstance(content, list):
        return "\n".join(map(_get_part_text, content))
    return "" if content is None else content if isinstance(content, str) else to_json_text(content)


def _get_part_text(part: Any) -> str:
    if isinstance(as_object(part).get("text"), str):
        return str(part["text"])
    if isinstance(source := as_object(part).get("source"), dict):
        return f"[{part.get('type')} {source.get('media_type') or ''} {source.get('path') or ''}]"
    return part if isinstance(part, str) else to_json_text(part)


def format_step(step: JsonObject) -> str:
    """Return the source, the message, the calls and the results of a step as text."""
    calls = [parse_tool_call(each, 0, 0, 0) for each in list_objects(step.get("tool_calls"))]
    lines = [f"{step.get('source')}: {get_content_text(step.get('message'))}"]
    lines += [f"  call {call.name}({to_json_text(call.arguments)})" for call in calls]
    lines += [f"  result {get_content_text(each.get('content'))}" for each in list_results(step)]
    return "\n".join(lines)


def format_steps(steps: list[JsonObject]) -> str:
    return "\n".join(map(format_step, steps))
