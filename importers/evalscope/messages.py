"""Read EvalScope's messages: OpenAI's chat format with parts, errors and ids of its own.

EvalScope writes every field of a message, also if it is null. So a missing field is an issue too:
without `parse_error`, for example, arguments that could not be parsed look like no arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    Fragment,
    MessageIssue,
    Note,
    ParsedConversation,
    ParsedMessage,
    Reading,
    Reasoning,
    Text,
    ToolCall,
    assemble_message,
)
from fcreview.importers.dialects.embedded import (
    has_foreign_form,
    read_embedded,
    split_by_form,
)
from fcreview.importers.dialects.pairing import pair_results
from fcreview.importers.dialects.reading import collect_fragments, read_known_role
from fcreview.importers.dialects.tools import add_tools

DIALECT = "evalscope"
COMMON_FIELDS = ("id", "role", "content", "source", "perf_metrics")
"""Fields of every message. `source` and `perf_metrics` say nothing about the conversation."""
FIELDS_BY_ROLE: Mapping[str, tuple[str, ...]] = {
    "system": (),
    "user": (),
    "assistant": ("tool_calls", "model"),
    "tool": ("tool_call_id", "function", "error"),
}
REQUIRED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "system": ("content",),
    "user": ("content",),
    "assistant": ("content", "tool_calls"),
    "tool": ("content", "tool_call_id", "function", "error"),
}
CALL_FIELDS = ("id", "function", "parse_error", "type", "view")
FUNCTION_FIELDS = ("name", "arguments")
PART_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("type", "text", "refusal"),
    "reasoning": ("type", "reasoning", "signature", "redacted", "reasoning_tokens"),
}
FILE_PARTS = ("image", "audio", "video")
"""Types of parts with a file, which is in the field of the same name."""
ARGUMENTS_HEADING = "arguments:"
"""Words before the arguments in the text of `parse_error`."""
DETAILS_HEADING = "Error details:"
"""Words after the arguments in the text of `parse_error`."""
REDACTED = "[redacted]"


def read_conversation(messages: Any, tools: Any = None) -> ParsedConversation:
    """Read the messages of a prediction or review of EvalScope.

    `tools` are the declared functions, in the form of any API. Malformed parts become issues of the
    conversation.
    """
    conversation = ParsedConversation(DIALECT)
    if not isinstance(messages, list):
        issue = MessageIssue("messages are not a list", path="messages", raw=messages)
        conversation.issues.append(issue)
    for reading in _read_messages(as_list(messages)):
        if isinstance(reading, MessageIssue):
            conversation.issues.append(reading)
        else:
            conversation.messages.append(reading)
    conversation.issues.extend(pair_results(conversation.messages))

    add_tools(conversation, tools)
    return conversation


def _read_messages(messages: list[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    """Read messages. Agents that people add may write them in the dialect of an API."""
    for block in split_by_form(messages, has_foreign_form):
        if block.is_foreign:
            yield from read_embedded(block.messages, path="messages", first=block.first)
            continue
        for index, message in enumerate(block.messages, block.first):
            yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the message that EvalScope wrote, with issues about missing and unknown fields.

    Which fields it must have depends on its role. `path` is the place of the message.
    """
    role = yield from read_known_role(message, path=path)
    if role is None:
        return

    yield from _report_fields(
        message,
        known=(*COMMON_FIELDS, *FIELDS_BY_ROLE[role]),
        required=REQUIRED_FIELDS[role],
        path=path,
    )
    content = yield from collect_fragments(read_content(message.get("content"), path=path))
    readings: Iterable[Reading] = content
    if role == "tool":
        readings = _read_result(message, content, path=path)
    elif role == "assistant":
        readings = [*content, *_read_calls(message.get("tool_calls"), path=path)]
    fragments = yield from collect_fragments(readings)
    yield assemble_message(role, fragments, path=path)


def _report_fields(
    fields: Mapping[str, Any], *, known: Iterable[str], required: Iterable[str], path: str
) -> Iterator[MessageIssue]:
    """Yield an issue for each unknown field with a value, and for each missing field."""
    yield from values.report_unknown_fields(fields, tuple(known), path=path)
    for name in required:
        if name not in fields:
            yield MessageIssue(f"the field {name} is missing", path=path, raw=dict(fields))


# -- content


def read_content(content: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a content: a text, or a list of parts."""
    if content is None:
        return
    if isinstance(content, str):
        yield Text(content)
        return
    if not isinstance(content, list):
        yield from values.read_unknown("content", content, path=f"{path}.content")
        return
    for index, part in enumerate(content):
        yield from _read_part(part, path=f"{path}.content[{index}]")


def _read_part(part: Any, *, path: str) -> Iterator[Reading]:
    """Read one part of a message's content: a text, reasoning or a file. Unknown fields and parts
    become issues.
    """
    fields = as_object(part)
    kind = fields.get("type")
    if isinstance(kind, str) and kind in PART_FIELDS:
        yield from values.report_unknown_fields(fields, PART_FIELDS[kind], path=path)
    if kind == "text":
        yield from _read_text_part(fields, path=path)
    elif kind == "reasoning":
        yield from _read_reasoning_part(fields, path=path)
    elif kind in FILE_PARTS:
        yield from _read_file_part(fields, kind, path=path)
    else:
        label = f"content part {values.to_text(kind)}".strip()
        yield from values.read_unknown(label, part, path=path)


def _read_text_part(part: Mapping[str, Any], *, path: str) -> Iterator[Reading]:
    text = part.get("text")
    if isinstance(text, str):
        yield Text(text, is_refusal=part.get("refusal") is True)
    else:
        yield from values.read_text(text, path=path)


def _read_reasoning_part(part: Mapping[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the reasoning of a part. The provider can hide its text."""
    reasoning = part.get("reasoning")
    if not isinstance(reasoning, str):
        yield from values.read_unknown("form of reasoning", part, path=path)
        return
    if reasoning == "" and part.get("redacted") is True:
        yield Reasoning(REDACTED)
        return
    yield Reasoning(reasoning)


def _read_file_part(part: Mapping[str, Any], kind: str, *, path: str) -> Iterator[Reading]:
    """Read an image, a sound or a video, given as data or as a link."""
    source = part.get(kind)
    if not isinstance(source, str):
        yield from values.read_unknown(f"form of the {kind}", part, path=path)
        return
    is_link = source.startswith(("http://", "https://", "/"))
    media_type = part.get("format")
    yield from values.read_file(
        kind, media_type=media_type, data=None if is_link else source, path=path
    )


# -- calls and results


def _read_calls(tool_calls: Any, *, path: str) -> Iterator[Reading]:
    if tool_calls is not None and not isinstance(tool_calls, list):
        yield from values.read_unknown("form of tool_calls", tool_calls, path=path)
    for index, call in enumerate(as_list(tool_calls)):
        yield from _read_call(call, path=f"{path}.tool_calls[{index}]")


def _read_call(call: Any, *, path: str) -> Iterator[Reading]:
    """Yield a call of a message, with issues about its form."""
    fields = as_object(call)
    function = fields.get("function")
    yield from _report_fields(
        fields, known=CALL_FIELDS, required=("id", "function", "parse_error"), path=path
    )
    if not isinstance(function, dict):
        yield MessageIssue("tool call without a function", path=path, raw=call)
        yield Note(call)
        return

    yield from values.report_unknown_fields(function, FUNCTION_FIELDS, path=f"{path}.function")
    # EvalScope parses the arguments. If it could not, they are not what the model wrote.
    parse_error = fields.get("parse_error")
    if parse_error is not None:
        yield from _read_unparsable_call(fields, parse_error, path=path)
        return
    yield from values.read_call(
        fields.get("id"), function.get("name"), function.get("arguments"), path=path
    )


def _read_unparsable_call(
    call: Mapping[str, Any], parse_error: Any, *, path: str
) -> Iterator[Reading]:
    """Yield a call whose arguments EvalScope could not parse.

    EvalScope replaces such arguments by `{}`. What the model wrote is only in the error.
    """
    name = as_object(call.get("function")).get("name")
    if not isinstance(name, str) or not name:
        yield MessageIssue("call without a name", path=path, raw=name)
        name = ""
    written = find_written_arguments(parse_error)
    call_id = values.read_id(call.get("id"))
    what = f"arguments of call {call_id or name} could not be parsed by EvalScope"
    yield MessageIssue(what, path=path, raw=parse_error)
    yield ToolCall(call_id, name, arguments=None, raw=written, problem="are not JSON")


def find_written_arguments(parse_error: Any) -> str:
    """Return the arguments as the model wrote them, or the whole error if it quotes none."""
    if not isinstance(parse_error, str):
        return values.to_text(parse_error)
    _, heading, rest = parse_error.partition(ARGUMENTS_HEADING)
    written, _, _ = rest.rpartition(DETAILS_HEADING)
    return written.strip() if heading and written else parse_error


def _read_result(
    message: Mapping[str, Any], content: list[Fragment], *, path: str
) -> Iterator[Reading]:
    """Read the result of a call. An error without other content becomes its text."""
    error = message.get("error")
    if error is not None and not content:
        content = [Text(_describe_error(error))]
    if error is not None and not isinstance(error, dict):
        yield MessageIssue("error of a result is not an object", path=path, raw=error)
    yield from values.read_result(
        message.get("tool_call_id"),
        content,
        name=message.get("function"),
        is_error=error is not None,
        path=path,
    )


def _describe_error(error: Any) -> str:
    message = as_object(error).get("message")
    return message if isinstance(message, str) else values.to_text(error)
