"""Vercel's AI SDK from version 4 on: the messages for a model, and those of its user interface.

A message of the user interface is a whole turn of the model: its parts are the texts, the calls and
their results, in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    Fragment,
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    ToolResult,
)
from fcreview.importers.dialects.reading import (
    collect_fragments,
    make_message,
    read_known_role,
)

MODEL_PARTS = ("tool-call", "tool-result")
"""Types of parts of a content that no other dialect has."""
UI_PARTS = {"dynamic-tool", "step-start", "source-url", "source-document"}
TOOL_PREFIX = "tool-"
"""Beginning of the type of a part with a call: `tool-get_weather`."""
DATA_PREFIX = "data-"
OLD_CALL = "tool-invocation"
MESSAGE_FIELDS = {
    "annotations",
    "attachments",
    "content",
    "createdAt",
    "experimental_attachments",
    "experimental_providerMetadata",
    "id",
    "metadata",
    "parts",
    "providerOptions",
    "reasoning",
    "revisionId",
    "role",
    "toolInvocations",
}
CALL_FIELDS = {
    "approval",
    "args",
    "callProviderMetadata",
    "dynamic",
    "errorText",
    "input",
    "isError",
    "output",
    "preliminary",
    "providerExecuted",
    "providerMetadata",
    "providerOptions",
    "rawInput",
    "result",
    "resultProviderMetadata",
    "state",
    "step",
    "title",
    "toolCallId",
    "toolMetadata",
    "toolName",
    "type",
}
OPEN_STATES = {
    "approval-requested",
    "approval-responded",
    "call",
    "input-available",
    "input-streaming",
    "partial-call",
}
"""States of a call that has no result yet."""
ERROR_BY_STATE = {"output-available": False, "output-error": True, "output-denied": True}
ERROR_BY_OUTPUT = {
    "content": False,
    "error-json": True,
    "error-text": True,
    "execution-denied": True,
    "json": False,
    "text": False,
}
"""Whether a result is an error, by the type of its output."""


def is_ui_part(part: Mapping[str, Any]) -> bool:
    """Whether a part is one of a message of the user interface. OpenTelemetry has the text of its
    parts in `content`.
    """
    kind = values.get_type(part)
    if kind in ("text", "reasoning"):
        return "text" in part and "content" not in part
    return kind in UI_PARTS or kind.startswith((TOOL_PREFIX, DATA_PREFIX))


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, message in enumerate(messages):
        yield from _read_message(message, path=f"messages[{index}]")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages in one written message: each step of the model is a message, and each
    result follows the step of its call.
    """
    role = yield from read_known_role(message, path=path)
    if role is None:
        return
    yield from values.report_unknown_fields(message, MESSAGE_FIELDS, path=path)
    for readings in _list_steps(message, path=path):
        fragments = yield from collect_fragments(readings)
        yield from _make_messages(role, fragments, message, path=path)


def _make_messages(
    role: Role, fragments: Sequence[Fragment], written: dict[str, Any], *, path: str
) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the message of a step, and then the results of its calls."""
    results = [fragment for fragment in fragments if isinstance(fragment, ToolResult)]
    spoken = [fragment for fragment in fragments if not isinstance(fragment, ToolResult)]
    if spoken or not results:
        message = yield from make_message(role, spoken, written, path=path)
        yield message
    for result in results:
        yield ParsedMessage("tool", results=[result], path=path)


def _list_steps(message: dict[str, Any], *, path: str) -> Iterator[Iterator[Reading]]:
    """Yield the readings of each step of a message. A message for a model has one step."""
    parts = message.get("parts")
    if isinstance(parts, list):
        for start, step in _split_steps(parts):
            yield _read_ui_parts(step, first=start, path=f"{path}.parts")
        return
    if parts is not None:
        yield values.read_unknown("form of parts", parts, path=path)
    yield _read_content_and_invocations(message, path=path)


def _split_steps(parts: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yield the parts of each step, with the position of the first one.

    A step begins with its mark, or with a text after a call.
    """
    start = 0
    for index, part in enumerate(parts):
        is_mark = values.get_type(part) == "step-start"
        is_text_after_call = index > start and _is_call(parts[index - 1]) and not _is_call(part)
        if index > start and (is_mark or is_text_after_call):
            yield start, list(parts[start:index])
            start = index
    yield start, list(parts[start:])


def _is_call(part: Any) -> bool:
    kind = values.get_type(part)
    return kind == "dynamic-tool" or kind.startswith(TOOL_PREFIX)


def _read_content_and_invocations(message: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a message of version 3 and earlier, which has no list of parts."""
    reasoning = message.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        yield Reasoning(reasoning)
    yield from _read_content(message.get("content"), path=f"{path}.content")
    invocations = message.get("toolInvocations")
    if invocations is not None and not isinstance(invocations, list):
        yield from values.read_unknown("form of toolInvocations", invocations, path=path)
    for index, invocation in enumerate(as_list(invocations)):
        yield from _read_ui_call(invocation, path=f"{path}.toolInvocations[{index}]")


# -- messages for a model


def _read_content(content: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a content: a text, or a list of parts."""
    return values.read_text_or_parts(content, _read_part, path=path)


def _read_part(part: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one part of a content. A part of an unknown type is reported."""
    fields = as_object(part)
    match fields.get("type"):
        case "text":
            yield from values.read_text(fields.get("text"), path=path)
        case "reasoning":
            yield from _read_reasoning(fields, path=path)
        case "redacted-reasoning":
            yield Note(part)
        case "tool-call":
            yield from _read_call(fields, fields.get("toolName"), path=path)
        case "tool-result":
            yield from _read_model_result(fields, path=path)
        case "image" | "file" | "media":
            yield from _read_file(fields, path=path)
        case kind:
            label = f"content part {values.to_text(kind)}".strip()
            yield from values.read_unknown(label, part, path=path)


def _read_reasoning(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    if isinstance(part.get("text"), str):
        yield Reasoning(part["text"])
    else:
        yield MessageIssue("reasoning is not a text", path=path, raw=part)


def _read_call(part: dict[str, Any], name: Any, *, path: str) -> Iterator[Reading]:
    """Yield a call. Its arguments are in `input`, or before version 5 in `args`."""
    yield from values.report_unknown_fields(part, CALL_FIELDS, path=path)
    arguments = part["input"] if "input" in part else part.get("args")
    yield from values.read_call(
        part.get("toolCallId"),
        name,
        arguments,
        path=path,
        is_by_provider=part.get("providerExecuted") is True,
    )


def _read_model_result(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result of a call.

    Since version 5 of the SDK, it is in `output`. Before, it is any value in `result`.
    """
    yield from values.report_unknown_fields(part, CALL_FIELDS, path=path)
    if "output" in part:
        yield from _read_output(part, path=path)
        return

    if "result" not in part:
        yield MessageIssue("result without an output", path=path, raw=part)
    stated = part.get("isError")
    is_error = stated if isinstance(stated, bool) else None
    yield from _make_result(part, part.get("result"), is_error, path=path)


def _read_output(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result in the field `output`, an object whose type says what its value is."""
    output = as_object(part["output"])
    kind = values.get_type(output)
    if kind not in ERROR_BY_OUTPUT:
        yield MessageIssue("unknown output of a result", path=path, raw=part["output"])
        yield from _make_result(part, part["output"], None, path=path)
        return
    if kind == "content":
        yield from _read_content_output(part, output, path=path)
        return

    # A call that was not allowed may have a reason instead of a value.
    if "value" not in output and kind != "execution-denied":
        yield MessageIssue("output without a value", path=path, raw=output)
    value = output.get("value", output.get("reason"))
    yield from _make_result(part, value, ERROR_BY_OUTPUT[kind], path=path)


def _read_content_output(
    part: dict[str, Any], output: dict[str, Any], *, path: str
) -> Iterator[Reading]:
    """Yield a result that is a list of parts, such as text and images."""
    readings = _read_content(output.get("value"), path=f"{path}.output")
    # The issues of the parts are passed on. The other readings are the content of the result.
    fragments = yield from collect_fragments(readings)
    yield from values.read_result(
        part.get("toolCallId"), fragments, is_error=False, name=part.get("toolName"), path=path
    )


def _make_result(
    part: dict[str, Any], value: Any, is_error: bool | None, *, path: str
) -> Iterator[Reading]:
    """Yield the result of a call from any value, which is written as text."""
    yield from values.read_result(
        part.get("toolCallId"),
        values.to_text(value),
        is_error=is_error,
        name=part.get("toolName"),
        path=path,
    )


def _read_file(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    media_type = part.get("mediaType") or part.get("mimeType")
    data = part.get("data") or part.get("image")
    kind = "image" if part["type"] == "image" else "file"
    yield from values.read_file(kind, media_type=media_type, data=data, path=path)


# -- messages of the user interface


def _read_ui_parts(parts: Sequence[Any], *, first: int, path: str) -> Iterator[Reading]:
    """Yield the fragments of parts. `first` is the position of the first one in the message."""
    for index, part in enumerate(parts, start=first):
        yield from _read_ui_part(part, path=f"{path}[{index}]")


def _read_ui_part(part: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one part. A part of an unknown type is reported."""
    fields = as_object(part)
    kind = values.get_type(fields)
    if kind == "text":
        yield from values.read_text(fields.get("text"), path=path)
    elif kind == "reasoning":
        # Version 4 has the text in a field of the same name.
        text = fields.get("text", fields.get("reasoning"))
        yield from _read_reasoning({"text": text}, path=path)
    elif kind == OLD_CALL:
        yield from _read_ui_call(fields.get("toolInvocation"), path=path)
    elif _is_call(fields):
        yield from _read_ui_call(fields, path=path)
    elif kind == "file":
        yield from values.read_file(
            "file", media_type=fields.get("mediaType"), data=fields.get("url"), path=path
        )
    elif kind.startswith(("source", DATA_PREFIX)):
        yield Note(part)
    elif kind != "step-start":
        label = f"part {values.to_text(fields.get('type'))}".strip()
        yield from values.read_unknown(label, part, path=path)


def _read_ui_call(written: Any, *, path: str) -> Iterator[Reading]:
    """Yield a call, and its result if the tool has answered."""
    part = as_object(written)
    if not part:
        yield from values.read_unknown("form of a call", written, path=path)
        return
    name = part.get("toolName")
    kind = values.get_type(part)
    if name is None and kind.startswith(TOOL_PREFIX):
        name = kind.removeprefix(TOOL_PREFIX)
    if part.get("toolCallId") is None:
        yield MessageIssue("call without an id", path=path, raw=part)
    yield from _read_call(part, name, path=path)
    yield from _read_ui_result(part, path=path)


def _read_ui_result(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result in a part with a call, which depends on the state of the call."""
    state = part.get("state")
    if state == "result":
        yield from _make_result(part, part.get("result"), None, path=path)
    elif state in ERROR_BY_STATE:
        is_error = ERROR_BY_STATE[state]
        content = part.get("errorText") if is_error else part.get("output")
        if content is None:
            yield MessageIssue("result without an output", path=path, raw=part)
        yield from _make_result(part, content, is_error, path=path)
    elif state not in OPEN_STATES:
        yield MessageIssue("unknown state of a call", path=path, raw=part)
        yield Note(part, is_unknown=True)
