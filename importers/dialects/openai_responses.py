"""OpenAI's Responses: a flat list of items, in which a message and its calls are separate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    Fragment,
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    assemble_message,
)
from fcreview.importers.dialects.openai_chat import read_data_url
from fcreview.importers.dialects.reading import collect_fragments, read_role

TEXT_PARTS = {"input_text", "output_text", "text", "summary_text", "reasoning_text"}
SIGN_PARTS = {"input_text", "output_text"}
"""Types of content parts that no other dialect has."""
FILE_PARTS = {"input_image": "image", "input_file": "file", "input_audio": "audio"}
CALL_ITEMS = ("function_call", "custom_tool_call", "mcp_call")
CALL_ITEM_FIELDS = {
    "type",
    "id",
    "call_id",
    "name",
    "arguments",
    "input",
    "status",
    "namespace",
    "caller",
    "server_label",
    "output",
    "error",
    "approval_request_id",
}
MESSAGE_FIELDS = {"type", "role", "content", "id", "status", "phase", "name", "object"}
REASONING_FIELDS = {"type", "id", "summary", "content", "encrypted_content", "status"}
BUILT_IN_CALLS = {
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
    "program",
}
RESULT_ITEMS = {
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
}
TOOL_LISTS = {"mcp_list_tools", "additional_tools", "tool_search_output"}
"""Items that declare tools. `tools` reads them."""
NOTE_ITEMS = {
    "mcp_approval_request",
    "mcp_approval_response",
    "compaction",
    "compaction_trigger",
    "configuration_update",
}
SIGN_ITEMS = {
    "function_call",
    "function_call_output",
    "reasoning",
    "custom_tool_call",
    "custom_tool_call_output",
    "mcp_call",
    "item_reference",
    *BUILT_IN_CALLS,
    *RESULT_ITEMS,
    *TOOL_LISTS,
    *NOTE_ITEMS,
}
"""Types of items without a role that no other dialect has."""
CALL_FIELDS = ("code", "queries", "operation", "action", "prompt", "input", "commands")
"""Fields of a built-in call that say what it does."""
FAILED_STATUSES = ("failed", "incomplete")


def read_messages(items: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages of a conversation in the form of OpenAI's Responses API.

    The model writes its reply as several items, such as reasoning, calls and a text. All its items
    until a result or another role become one message.
    """
    reply: list[Fragment] = []
    # The place of a reply is that of its first item.
    reply_path = ""
    for index, item in enumerate(items):
        path = f"input[{index}]"
        role = _get_role(item)
        fragments = yield from collect_fragments(_read_item(item, path=path))
        if role == "assistant":
            reply_path = reply_path if reply else path
            reply.extend(fragments)
            continue
        yield from _finish_reply(reply, path=reply_path)
        reply = []
        if fragments:
            yield assemble_message(role, fragments, path=path)
    yield from _finish_reply(reply, path=reply_path)


def read_reply(items: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the messages of the output of one response.

    All items of the model become one message. The results of built-in tools, which stand between
    them, follow as messages of their own.
    """
    reply: list[Fragment] = []
    results: list[ParsedMessage] = []
    for index, item in enumerate(items):
        path = f"output[{index}]"
        role = _get_role(item)
        fragments = yield from collect_fragments(_read_item(item, path=path))
        if role == "assistant":
            reply.extend(fragments)
        elif role == "tool":
            results.append(assemble_message(role, fragments, path=path))
        else:
            yield assemble_message(role, fragments, path=path)
    yield from _finish_reply(reply, path="output")
    yield from results


def _finish_reply(reply: Sequence[Fragment], *, path: str) -> Iterator[ParsedMessage]:
    if reply:
        yield assemble_message("assistant", reply, path=path)


def _get_role(item: Any) -> Role:
    """Return the role of an item. Items without a role are the model's, except results."""
    fields = as_object(item)
    if values.get_type(fields) in RESULT_ITEMS:
        return "tool"
    return read_role(fields.get("role")) or "assistant"


def _read_item(item: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one item of OpenAI's Responses API: a message, a call, a result,
    reasoning or a note.

    Built-in tools, such as the web search, are called by the provider. Lists of tools are read
    elsewhere. An item of an unknown type is reported.
    """
    fields = as_object(item)
    kind = values.get_type(fields)
    if fields.get("type") in (None, "message") and "role" in fields:
        yield from _read_message(fields, path=path)
    elif kind in CALL_ITEMS:
        yield from _read_call_item(fields, path=path)
    elif kind in BUILT_IN_CALLS:
        yield _read_built_in_call(fields, path=path)
    elif kind in RESULT_ITEMS:
        yield from _read_result(fields, path=path)
    elif kind == "reasoning":
        yield from _read_reasoning(fields, path=path)
    elif kind == "item_reference":
        what = f"item_reference {fields.get('id')} points outside the file"
        yield MessageIssue(what, path=path, raw=item)
    elif kind in NOTE_ITEMS:
        yield Note(item)
    elif kind not in TOOL_LISTS:
        label = f"item {values.to_text(fields.get('type'))}".strip()
        yield from values.read_unknown(label, item, path=path)


def _read_call_item(item: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Read an item with a call: of a function, of a tool with free text as its input, or of an MCP
    server.
    """
    yield from values.report_unknown_fields(item, CALL_ITEM_FIELDS, path=path)
    match item["type"]:
        case "function_call":
            yield from values.read_call(
                item.get("call_id"), item.get("name"), item.get("arguments"), path=path
            )
        case "custom_tool_call":
            yield from values.read_custom_call(
                item.get("call_id"), item.get("name"), item.get("input"), path=path
            )
        case "mcp_call":
            yield from _read_mcp_call(item, path=path)


def _read_message(message: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the fragments of an item that is a message. An unknown role is reported."""
    if read_role(message.get("role")) is None:
        what = f"unknown role {values.to_text(message.get('role')) or 'none'}"
        yield MessageIssue(what, path=path, raw=message)
    yield from values.report_unknown_fields(message, MESSAGE_FIELDS, path=path)
    yield from read_content(message.get("content"), path=f"{path}.content")


def read_content(content: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a content: a text, or a list of parts."""
    return values.read_text_or_parts(content, _read_part, path=path)


def _read_part(part: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one part of a message's content: text, a refusal, or a placeholder for
    an image or a file.

    `path` is the place of the part. A part of an unknown type is reported.
    """
    fields = as_object(part)
    kind = values.get_type(fields)
    if kind in TEXT_PARTS:
        yield from values.read_text(fields.get("text"), path=path)
    elif kind == "refusal" and isinstance(fields.get("refusal"), str):
        yield Text(fields["refusal"], is_refusal=True)
    elif kind == "input_image":
        yield from read_data_url("image", fields.get("image_url"), path=path)
    elif kind in FILE_PARTS:
        yield from _read_file_part(fields, path=path)
    else:
        label = f"content part {values.to_text(fields.get('type'))}".strip()
        yield from values.read_unknown(label, part, path=path)


def _read_file_part(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a placeholder for a file or audio. It has a file name instead of a media type."""
    # The data of audio are one level deeper.
    audio = as_object(part.get("input_audio"))
    data = part.get("file_data") or audio.get("data")
    kind = FILE_PARTS[values.get_type(part)]
    yield from values.read_file(kind, media_type=part.get("filename"), data=data, path=path)


def _read_reasoning(item: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the reasoning: the texts of the summary, and then those of the content."""
    yield from values.report_unknown_fields(item, REASONING_FIELDS, path=path)
    if not any(name in item for name in ("summary", "content", "encrypted_content")):
        yield MessageIssue("reasoning without a text", path=path, raw=item, severity="notice")

    for field in ("summary", "content"):
        written = item.get(field)
        if written is not None and not isinstance(written, list):
            what = f"{field} of the reasoning is not a list"
            yield MessageIssue(what, path=path, raw=written)
        yield from _read_reasoning_parts(as_list(written), path=f"{path}.{field}")

    # Some models return their reasoning only in a form that their provider can read.
    if item.get("encrypted_content") is not None:
        yield Note({"encrypted_content": item["encrypted_content"]})


def _read_reasoning_parts(parts: Sequence[Any], *, path: str) -> Iterator[Reading]:
    """Yield the text of each part. A part without a text is reported."""
    for index, part in enumerate(parts):
        text = as_object(part).get("text")
        if isinstance(text, str):
            yield Reasoning(text)
        else:
            yield from values.read_unknown("part of the reasoning", part, path=f"{path}[{index}]")


# -- calls and results


def _read_mcp_call(item: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the call of an MCP server's tool, which contains its result."""
    server = item.get("server_label")
    readings = values.read_call(
        item.get("id"),
        item.get("name"),
        item.get("arguments"),
        path=path,
        is_by_provider=True,
        server=server if isinstance(server, str) else None,
    )
    for reading in readings:
        if isinstance(reading, ToolCall):
            reading.result = _read_mcp_result(item, reading.id, path=path)
        yield reading


def _read_mcp_result(item: dict[str, Any], call_id: str | None, *, path: str) -> ToolResult | None:
    """Return the result of a call to an MCP server: its error or its output.

    None without either.
    """
    error = item.get("error")
    if error is not None:
        return ToolResult(call_id, text=_get_error_text(error), is_error=True, path=path)
    if item.get("output") is None:
        return None
    return ToolResult(call_id, text=values.to_text(item["output"]), is_error=False, path=path)


def _get_error_text(error: Any) -> str:
    """Return the text of an error: a text, an object with content parts, or a message."""
    fields = as_object(error)
    texts = [part.get("text") for part in list_objects(fields.get("content"))]
    if texts and all(isinstance(text, str) for text in texts):
        return "".join(str(text) for text in texts)
    if isinstance(fields.get("message"), str):
        return str(fields["message"])
    return values.to_text(error)


def _read_built_in_call(item: dict[str, Any], *, path: str) -> ToolCall:
    """Return the call of a built-in tool, such as a web search.

    A built-in call has no field for arguments. Fields such as `code` or `queries` take their place.
    """
    call_id = values.read_id(item.get("call_id")) or values.read_id(item.get("id"))
    arguments = {field: item[field] for field in CALL_FIELDS if item.get(field) is not None}
    # An action, such as a click, is an object whose fields are the arguments.
    if list(arguments) == ["action"] and isinstance(arguments["action"], dict):
        arguments = arguments["action"]

    return ToolCall(
        call_id,
        str(item["type"]).removesuffix("_call"),
        arguments=arguments,
        is_by_provider=True,
        result=_read_built_in_result(item, call_id, path=path),
    )


def _read_built_in_result(
    item: dict[str, Any], call_id: str | None, *, path: str
) -> ToolResult | None:
    """Return the result of a call that the provider executed, such as a web search. None without
    one.
    """
    for field in ("outputs", "results", "output", "result"):
        if item.get(field) is not None:
            is_error = item.get("status") in FAILED_STATUSES
            text = _join_outputs(item[field])
            return ToolResult(call_id, text=text, is_error=is_error, path=path)
    return None


def _join_outputs(outputs: Any) -> str:
    """Return the logs of a program, or the JSON of other outputs."""
    logs = [output.get("logs") for output in list_objects(outputs)]
    if logs and all(isinstance(log, str) for log in logs):
        return "".join(str(log) for log in logs)
    return values.to_text(outputs)


def _read_result(item: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Read an item with the result of a call, a text or a list of content parts."""
    output = item.get("output")
    if isinstance(output, list):
        fragments = yield from collect_fragments(read_content(output, path=f"{path}.output"))
    else:
        if not isinstance(output, str):
            yield MessageIssue("output of a result is not a text", path=path, raw=item)
        fragments = [Text(values.to_text(output))]
    yield from values.read_result(item.get("call_id"), fragments, path=path)
