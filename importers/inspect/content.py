"""Read the content of Inspect's messages: text, reasoning, media, and calls of tools that the
provider ran.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_object, list_objects
from fcreview.model.json_value import to_json_text, to_plain_json

MAX_DATA_URI = 200
"""Maximum number of characters of media in the text from which the prediction hash is computed."""
MAX_PLACEHOLDER = 200
"""Maximum number of characters of a URL or of data in a placeholder."""
MEDIA_KINDS = ("image", "audio", "video", "document")
HIDDEN_REASONING = "(the provider hides the reasoning)"
_DATA_URI = re.compile(r"data:([\w.+-]{1,80}/[\w.+-]{1,80})?[^,]{0,200},")
_KILOBYTE = 1024


class ParsedToolCall(NamedTuple):
    name: str
    arguments: dict[str, Any] | None
    raw: str | None = None
    """Text of arguments that are not an object."""
    error: str | None = None
    """Why the call cannot be decoded."""


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call of a tool that the provider ran, such as a web search, with its result."""

    call: ParsedToolCall
    result: str
    tool_type: str
    """`web_search`, `mcp_call` or `code_execution`."""
    server: str | None
    """Name of the MCP server."""
    is_error: bool


@dataclass(slots=True)
class MessageContent:
    """The content of a message, divided at its first call of a server tool."""

    reasoning: list[str] = field(default_factory=list)
    text: str = ""
    server_calls: list[ServerCall] = field(default_factory=list)
    text_after_calls: str = ""


def read_content(content: Any) -> MessageContent:
    """Read the content of a message for display: texts, reasoning, and calls that the provider
    executed itself.

    Texts before and after such calls are kept apart. Images and other media become placeholders.
    """
    found = MessageContent()
    texts_before_calls: list[str] = []
    texts_after_calls: list[str] = []
    for part in _iterate_parts(content):
        if part.get("type") == "reasoning":
            found.reasoning.append(_read_reasoning(part))
        elif part.get("type") == "tool_use":
            found.server_calls.append(_read_server_call(part))
        else:
            texts = texts_after_calls if found.server_calls else texts_before_calls
            texts.append(_format_part(part))
    found.text = "\n".join(texts_before_calls)
    found.text_after_calls = "\n".join(texts_after_calls)
    return found


def _iterate_parts(content: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a content. A text is a part of the type `text`.

    A content of another form becomes a text, its JSON.
    """
    if content is None:
        return
    parts = content
    if isinstance(content, str):
        parts = [content]
    elif not isinstance(content, list):
        parts = [to_json_text(content)]

    for part in parts:
        if isinstance(part, str):
            yield {"type": "text", "text": part}
        elif isinstance(part, dict):
            yield part


def _read_reasoning(part: dict[str, Any]) -> str:
    if part.get("redacted") and not part.get("summary"):
        return HIDDEN_REASONING
    return str(part.get("reasoning") or part.get("summary") or "")


def _format_part(part: dict[str, Any]) -> str:
    """Return the text of a part.

    A medium or data become a placeholder: `[image image/png, 12 kB]`.
    """
    kind = str(part.get("type"))
    if kind == "text":
        return str(part.get("text") or "")
    if kind in MEDIA_KINDS:
        return _format_medium(kind, part)
    value = part.get(kind, part.get("data"))
    if value is None:
        value = {key: each for key, each in part.items() if key != "type"}
    text = value if isinstance(value, str) else to_json_text(value)
    return f"[{kind} {_shorten(text)}]"


def _format_medium(kind: str, part: dict[str, Any]) -> str:
    """Describe an image, a sound or a video in place of its data, such as `[image photo.png,
    image/png, 12 kB]`.
    """
    facts: list[str] = []
    file_name = part.get("filename")
    if isinstance(file_name, str) and file_name:
        facts.append(_shorten(file_name))
    source = part.get(kind)
    if isinstance(source, str):
        facts += _list_facts_of_source(source)
    if not facts:
        return f"[{kind}]"
    return f"[{kind} {', '.join(facts)}]"


def _list_facts_of_source(source: str) -> Iterator[str]:
    """Yield the type and the size of the data in a data URI, or the address of other sources."""
    data = _DATA_URI.match(source)
    if data is not None:
        media_type = data[1]
        if media_type:
            yield media_type
        yield _format_base64_size(len(source) - data.end())
    elif source:
        yield _shorten(source)


def _format_base64_size(n_characters: int) -> str:
    """Return the size of data in base64, which has four characters for three bytes."""
    n_bytes = n_characters * 3 // 4
    if n_bytes < _KILOBYTE:
        return f"{n_bytes} B"
    return f"{n_bytes / _KILOBYTE:,.0f} kB"


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_PLACEHOLDER else f"{text[:MAX_PLACEHOLDER]}…"


def _read_server_call(part: dict[str, Any]) -> ServerCall:
    """Read a call that the provider's server made and answered itself, such as a web search."""
    name = str(part.get("name") or part.get("tool_type") or "")
    server = part.get("context")
    return ServerCall(
        call=ParsedToolCall(name, _read_server_arguments(part.get("arguments"))),
        result=_join_error_and_result(part),
        tool_type=str(part.get("tool_type") or "server tool"),
        server=server if isinstance(server, str) and server else None,
        is_error=bool(part.get("error")),
    )


def _join_error_and_result(part: dict[str, Any]) -> str:
    """Return the error and the result of a call, one below the other."""
    texts = []
    error = part.get("error")
    if error:
        texts.append(f"error: {error}")
    result = part.get("result")
    # Only no result is left out, not a result such as 0 or false.
    if result not in (None, ""):
        texts.append(result if isinstance(result, str) else to_json_text(result))
    return "\n".join(texts)


def _read_server_arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a server tool as an object.

    A text that is no JSON object, such as code, is `input`.
    """
    value = arguments
    if isinstance(arguments, str):
        if not arguments.strip():
            return {}
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            value = arguments
    if isinstance(value, dict):
        return as_object(to_plain_json(value))
    if value is None:
        return {}
    return {"input": to_plain_json(arguments)}


def read_tool_call(call: dict[str, Any]) -> ParsedToolCall:
    """Read a call of the model. Inspect states in `parse_error` if it could not read the arguments.

    Such a call has the text of its arguments, and the error.
    """
    name = str(call.get("function") or "")
    arguments = call.get("arguments")
    error = call.get("parse_error")
    if error or not isinstance(arguments, dict):
        return ParsedToolCall(
            name,
            arguments=None,
            raw=to_json_text(arguments),
            error=str(error or "the arguments are not an object"),
        )
    return ParsedToolCall(name, to_plain_json(arguments))


def get_text_and_error(message: dict[str, Any]) -> str:
    """Return the text of a message without its reasoning, preceded by the error of the message
    if it has one.
    """
    content = read_content(message.get("content"))
    texts = [format_tool_error(message), content.text, content.text_after_calls]
    return "\n".join(text for text in texts if text)


def format_tool_error(message: dict[str, Any]) -> str:
    """Return the error of a tool message as `error (timeout): ...`, or an empty text."""
    error = message.get("error")
    if not isinstance(error, dict):
        return ""
    return f"error ({error.get('type')}): {error.get('message')}"


def get_text_without_reasoning(content: Any) -> str:
    """Return the text of a content.

    Media, data and calls of server tools are texts such as `[image: data:...]`.
    """
    return "\n".join(
        _get_plain_text(part) for part in _iterate_parts(content) if part.get("type") != "reasoning"
    )


def list_answers_to_hash(messages: Any) -> list[Any]:
    """Return the model's messages and calls without ids and times, from which the prediction hash
    is computed.

    Reviews refer to this hash, so the texts must stay as they are, whatever is displayed.
    """
    answers: list[Any] = []
    for message in list_objects(messages):
        if message.get("role") != "assistant":
            continue
        plain_calls = []
        for call in message.get("tool_calls") or ():
            if isinstance(call, dict):
                plain_calls.append([call.get("function"), call.get("arguments")])
            else:
                plain_calls.append(call)
        answers.append([get_text_without_reasoning(message.get("content")), plain_calls])
    return answers


def _get_plain_text(part: dict[str, Any]) -> str:
    """Return the text of a part of the content. That of other kinds than `text` stands in brackets
    after the kind, and long data are cut.
    """
    kind = str(part.get("type"))
    if kind == "text":
        return str(part.get("text") or "")

    text = None
    for key in (kind, "text", "data"):
        if isinstance(part.get(key), str):
            text = str(part[key])
            break
    if text is None:
        text = to_json_text({key: value for key, value in part.items() if key != "type"})
    ending = "…" if len(text) > MAX_DATA_URI else ""
    return f"[{kind}: {text[:MAX_DATA_URI]}{ending}]"
