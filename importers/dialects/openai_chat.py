"""OpenAI's chat completions, and the dialects that are written like it: Cohere 2, Mistral, Ollama,
DeepSeek, vLLM and chat templates of Hugging Face.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    Text,
)
from fcreview.importers.dialects.reading import (
    collect_fragments,
    read_message,
)
from fcreview.model.json_value import to_json_text

DEFAULT_MISTRAL_ID = "null"
"""Id that Mistral's client writes if a call has none."""
REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Fields with the reasoning as a text: DeepSeek and vLLM, OpenRouter, Ollama."""
MESSAGE_FIELDS = {
    "role",
    "content",
    "name",
    "refusal",
    "audio",
    "annotations",
    "tool_calls",
    "function_call",
    "tool_call_id",
    "tool_name",
    "tool_plan",
    "citations",
    "prefix",
    "finish_reason",
    "stop_reason",
    "id",
    "index",
    "type",
    "cache_control",
    *REASONING_FIELDS,
}
CALL_FIELDS = {"id", "type", "index", "function", "custom", "cache_control"}
FUNCTION_FIELDS = {"name", "arguments", "description", "index"}
FLAT_ARGUMENTS = ("arguments", "args", "parameters", "input")
"""Names of the arguments in a call without a function, the usual ones first."""
_THINK = re.compile(r"\s*(?:<think>)?(?P<reasoning>.*?)</think>\s*", re.DOTALL)
"""Matches reasoning at the start of a text. Templates often leave the opening tag out."""


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    needs_content = _has_content_beside_calls(messages)
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        yield from _report_missing_content(message, needs_content, path=path)
        yield from _read_message(message, path=path)


def _has_content_beside_calls(messages: Sequence[Any]) -> bool:
    """Whether the writer gives messages with calls a content, even if it is null or empty."""
    return any(
        "content" in message and message.get("tool_calls")
        for message in messages
        if isinstance(message, dict)
    )


def _report_missing_content(
    message: Any, needs_content: bool, *, path: str
) -> Iterator[MessageIssue]:
    """Yield an issue for a reply without the field `content`.

    The field may be missing beside another text and, unless `needs_content`, beside calls.
    """
    fields = as_object(message)
    if fields.get("role") != "assistant" or "content" in fields:
        return
    if any(fields.get(name) for name in ("refusal", "audio", "tool_plan")):
        return
    has_calls = bool(fields.get("tool_calls") or fields.get("function_call"))
    if needs_content or not has_calls:
        yield MessageIssue("message without the field content", path=path, severity="notice")


def _read_message(message: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the message of a dictionary in the form of OpenAI's chat API, and issues."""
    parsed = yield from read_message(message, MESSAGE_FIELDS, _read_by_role, path=path)
    if parsed is not None:
        yield parsed


def _read_by_role(message: dict[str, Any], role: Role, *, path: str) -> Iterator[Reading]:
    if role == "tool":
        return _read_tool_message(message, path=path)
    return _read_spoken_message(message, role, path=path)


def _read_spoken_message(message: dict[str, Any], role: Role, *, path: str) -> Iterator[Reading]:
    """Read a message of the system, the user or the assistant: reasoning, texts, a refusal, the
    transcript of a spoken answer, and calls.
    """
    yield from _read_reasoning_fields(message, path=path)
    yield from values.read_text(
        message.get("tool_plan"), path=f"{path}.tool_plan", is_optional=True
    )
    yield from read_content(message.get("content"), path=f"{path}.content", role=role)
    if message.get("refusal") is not None:
        yield from _read_refusal(message["refusal"], path=f"{path}.refusal")
    transcript = as_object(message.get("audio")).get("transcript")
    if isinstance(transcript, str):
        yield Text(transcript)

    # AutoGen 0.2 gives the replies of the other agents the role of the user.
    has_calls = message.get("tool_calls") or message.get("function_call")
    if has_calls and role != "assistant":
        yield MessageIssue(f"calls in a message of role {role}", path=path, raw=message)
    yield from read_calls(message, path=path)


def _read_reasoning_fields(message: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the reasoning. Servers may write it under two names; then the first one counts."""
    for field in REASONING_FIELDS:
        value = message.get(field)
        if isinstance(value, str) and value:
            yield Reasoning(value)
            return
        if value not in (None, ""):
            yield MessageIssue(f"{field} is not a text", path=f"{path}.{field}", raw=value)
            yield Note(value)


# -- content


def read_content(content: Any, *, path: str, role: Role) -> Iterator[Reading]:
    """Yield the fragments of a content: nothing, a text, or a list of parts."""
    if content is None:
        return
    if isinstance(content, str):
        yield from _split_reasoning(content, role)
        return
    if not isinstance(content, list):
        yield from values.read_unknown("content", content, path=path)
        return
    for index, part in enumerate(content):
        yield from _read_part(part, path=f"{path}[{index}]")


def _split_reasoning(text: str, role: Role) -> Iterator[Reading]:
    """Yield the reasoning that some servers leave at the start of a reply, and then the reply."""
    match = _THINK.match(text) if role == "assistant" else None
    if match is None:
        yield Text(text)
        return
    yield Reasoning(match["reasoning"].strip())
    yield Text(text[match.end() :])


def _read_part(part: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one part of a message's content: text, a refusal, reasoning, or a
    placeholder for a file.

    `path` is the place of the part. A part of an unknown type is reported.
    """
    if isinstance(part, str):
        yield Text(part)
        return
    fields = as_object(part)
    match fields.get("type"):
        case "text":
            yield from _read_text_part(fields.get("text"), path=path)
        case None if fields.keys() == {"text"}:
            # Qwen-Agent leaves the type out.
            yield from values.read_text(fields["text"], path=path)
        case "refusal":
            yield from _read_refusal(fields.get("refusal"), path=path)
        case "thinking":
            yield from _read_thinking(fields.get("thinking"), path=path)
        case "reasoning":
            # The field is called like the type, or `text`.
            yield from _read_thinking(fields.get("reasoning", fields.get("text")), path=path)
        case "document":
            # A part of Cohere's messages.
            document = as_object(fields.get("document"))
            yield Text(values.to_text(document.get("data")))
        case "image_url" | "input_audio" | "file" | "video_url" | "audio_url":
            yield from _read_file(fields, path=path)
        case kind:
            label = f"content part {values.to_text(kind)}".strip()
            yield from values.read_unknown(label, part, path=path)


def _read_text_part(text: Any, *, path: str) -> Iterator[Reading]:
    """Yield a text, which OpenAI's Assistants have in an object with its annotations."""
    is_annotated = isinstance(text, dict) and text.keys() <= {"value", "annotations"}
    if not is_annotated:
        yield from values.read_text(text, path=path)
        return
    yield from values.read_text(text.get("value"), path=path)
    if text.get("annotations"):
        yield Note({"annotations": text["annotations"]})


def _read_refusal(text: Any, *, path: str) -> Iterator[Reading]:
    if isinstance(text, str):
        yield Text(text, is_refusal=True)
    else:
        yield MessageIssue("refusal is not a text", path=path, raw=text)


def _read_thinking(thinking: Any, *, path: str) -> Iterator[Reading]:
    """Yield reasoning, which is a text or (Mistral) a list of text parts."""
    if isinstance(thinking, str):
        yield Reasoning(thinking)
        return
    if not isinstance(thinking, list):
        yield MessageIssue("thinking is not a text", path=path, raw=thinking)
        return
    for part in thinking:
        text = as_object(part).get("text")
        if isinstance(text, str):
            yield Reasoning(text)
        else:
            yield from values.read_unknown("part of the reasoning", part, path=path)


def _read_file(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Read an image, a sound or another file in the content of a message. Only its kind, format and
    size are kept.
    """
    kind = str(part["type"])
    content = part.get(kind)
    # Images have a URL. vLLM takes videos and sounds in the same form.
    if kind.endswith("_url"):
        # Some writers put the URL itself into the field, without an object around it.
        url = as_object(content).get("url", content)
        yield from read_data_url(kind.removesuffix("_url"), url, path=path)
        return

    # A sound has `data` and `format`. A file has `file_data`, and a name that shows its type.
    fields = as_object(content)
    name = "audio" if kind == "input_audio" else "file"
    data = fields.get("data") or fields.get("file_data")
    media_type = fields.get("format") or fields.get("filename")
    yield from values.read_file(name, media_type=media_type, data=data, path=path)


def read_data_url(kind: str, url: Any, *, path: str) -> Iterator[Reading]:
    """Yield the placeholder of a file in a URL such as `data:image/png;base64,...`."""
    is_data_url = isinstance(url, str) and url.startswith("data:")
    if not is_data_url:
        yield from values.read_file(kind, media_type=None, data=None, path=path)
        return
    header, _, data = url.partition(",")
    media_type = header.removeprefix("data:").partition(";")[0]
    yield from values.read_file(kind, media_type=media_type, data=data, path=path)


# -- calls and results


def read_calls(message: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the calls of a message: those in `tool_calls`, and the one in the old field
    `function_call`.
    """
    tool_calls = _decode_list(message.get("tool_calls"))
    if tool_calls is not None and not isinstance(tool_calls, list):
        yield from values.read_unknown("form of tool_calls", tool_calls, path=path)
    for index, call in enumerate(as_list(tool_calls)):
        yield from _read_call(call, path=f"{path}.tool_calls[{index}]")

    if message.get("function_call") is not None:
        yield from _read_legacy_call(
            message["function_call"], as_list(tool_calls), path=f"{path}.function_call"
        )


def _read_legacy_call(
    legacy_call: Any, tool_calls: Sequence[Any], *, path: str
) -> Iterator[Reading]:
    """Yield the call in the old field `function_call`.

    Some writers repeat a call of `tool_calls` there, which is not yielded again. Another call is an
    issue, because it is unclear which ones the model made.
    """
    function = as_object(legacy_call)
    functions = [as_object(as_object(call).get("function")) for call in tool_calls]
    if any(_is_same_call(function, other) for other in functions):
        return
    if functions:
        what = "function_call is another call than those in tool_calls"
        yield MessageIssue(what, path=path, raw=legacy_call)

    yield from values.report_unknown_fields(function, FUNCTION_FIELDS, path=path)
    yield from values.read_call(None, function.get("name"), function.get("arguments"), path=path)


def _decode_list(tool_calls: Any) -> Any:
    """Return calls that are written as JSON text as a list. Tables have such texts in their cells,
    and an empty one for no calls.
    """
    if not isinstance(tool_calls, str):
        return tool_calls
    if not tool_calls.strip():
        return None
    try:
        decoded = parse_json_text(tool_calls, [])
    except (ValueError, RecursionError):
        return tool_calls
    return decoded if isinstance(decoded, list) else tool_calls


def _is_same_call(function: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two functions of calls have the same name and arguments, as text or as object."""
    arguments = values.parse_arguments(function.get("arguments"))
    other_arguments = values.parse_arguments(other.get("arguments"))
    if function.get("name") != other.get("name"):
        return False
    if arguments.value is None or other_arguments.value is None:
        return function.get("arguments") == other.get("arguments")
    return to_json_text(arguments.value) == to_json_text(other_arguments.value)


def _read_call(call: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of an entry of `tool_calls`: the call, and issues about its form.

    The call is `{"id": ..., "type": "function", "function": {"name": ..., "arguments": ...}}`, or a
    custom call, whose input is free text. An entry of another form is kept as a note.
    """
    fields = as_object(call)
    if _is_flat_call(fields):
        fields = _nest_function(fields)
    yield from values.report_unknown_fields(fields, CALL_FIELDS, path=path)
    call_id = yield from _read_call_id(fields, path=path)

    # Some writers leave the type out, or set it to null.
    kind = fields.get("type", "function")
    function = fields.get("function")
    if kind == "custom":
        custom = as_object(fields.get("custom"))
        yield from values.read_custom_call(
            call_id, custom.get("name"), custom.get("input"), path=path
        )
    elif kind in ("function", None) and isinstance(function, dict):
        yield from _read_function_call(call_id, function, path=path)
    else:
        yield MessageIssue(_describe_unknown_call(kind), path=path, raw=call)
        yield Note(call, is_unknown=True)


def _read_function_call(call_id: Any, function: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a call of a function, with issues about unknown fields."""
    yield from values.report_unknown_fields(function, FUNCTION_FIELDS, path=path)
    yield from values.read_call(call_id, function.get("name"), function.get("arguments"), path=path)


def _read_call_id(call: dict[str, Any], *, path: str) -> Generator[Reading, None, Any]:
    """Return the id of a call. Mistral's program writes "null" for a call without one, which is
    reported.
    """
    call_id = call.get("id")
    if call_id != DEFAULT_MISTRAL_ID:
        return call_id
    yield MessageIssue(
        'the id "null" is the writer\'s default, not an id', path=path, severity="notice"
    )
    return None


def _is_flat_call(call: dict[str, Any]) -> bool:
    """Whether a call has its name and arguments beside the id, instead of in a function."""
    has_type = call.get("type") not in (None, "function", "tool_call")
    return not has_type and "function" not in call and isinstance(call.get("name"), str)


def _nest_function(call: dict[str, Any]) -> dict[str, Any]:
    """Return a flat call in the form of OpenAI's chat API."""
    nested = {name: value for name, value in call.items() if name not in ("type", "name")}
    function = {"name": call["name"]}
    for name in FLAT_ARGUMENTS:
        if name in nested:
            function["arguments"] = nested.pop(name)
            break
    return nested | {"function": function}


def _describe_unknown_call(kind: Any) -> str:
    if kind in ("function", None):
        return "tool call without a function"
    return f"tool call of unknown type {values.to_text(kind)}"


def _read_tool_message(message: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result in a message of the role `tool` or, in old files, `function`."""
    fragments = yield from collect_fragments(
        read_content(message.get("content"), path=f"{path}.content", role="tool")
    )
    if message.get("content") is None:
        yield MessageIssue("result without content", path=path, raw=message)
    call_id = message.get("tool_call_id")
    # Some writers put this text in place of a missing id.
    if call_id == DEFAULT_MISTRAL_ID:
        call_id = None
    yield from values.read_result(
        call_id,
        fragments,
        name=message.get("tool_name") or message.get("name"),
        path=path,
    )
