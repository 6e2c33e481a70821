"""Values that all dialects share: arguments of calls, texts of results, placeholders of files."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.json_text import find_repeated_keys, parse_json_text
from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.conversation import (
    Fragment,
    MessageIssue,
    Note,
    Placeholder,
    Reading,
    Text,
    ToolCall,
    ToolResult,
)

ENCODED_TWICE = "were encoded twice"
BYTES_OF_BASE64 = 3 / 4
"""Bytes for each character of base64."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call as an object, or why they are none."""

    value: dict[str, Any] | None
    raw: str | None = None
    problem: str | None = None


def parse_arguments(written: Any) -> Arguments:
    """Read the arguments of a call, which are an object or its JSON text.

    No text and an empty text mean that there are no arguments. A text that contains the JSON text
    of an object was encoded twice, and is decoded twice. Nothing else is repaired.
    """
    if written is None:
        return Arguments(None, problem="are missing")
    if isinstance(written, dict):
        return Arguments(written)
    if not isinstance(written, str):
        return Arguments(None, raw=to_text(written), problem="are not an object")
    if not written.strip():
        return Arguments({}, raw=written)
    return _parse_argument_text(written)


def _parse_argument_text(written: str) -> Arguments:
    """Parse the arguments of a call, which should be a JSON object as text. Anything else is kept
    as text, with the problem.
    """
    try:
        value = parse_json_text(written, [])
    except (ValueError, RecursionError):
        return Arguments(None, raw=written, problem="are not JSON")
    if isinstance(value, dict):
        repeated_keys = find_repeated_keys(written.encode("utf-8", "replace"), value)
        problem = f"have the key {repeated_keys[0]} more than once" if repeated_keys else None
        return Arguments(value, raw=written, problem=problem)

    if isinstance(value, str):
        decoded_again = _parse_object(value)
        if decoded_again is not None:
            return Arguments(decoded_again, raw=written, problem=ENCODED_TWICE)
    return Arguments(None, raw=written, problem="are not an object")


def _parse_object(text: str) -> dict[str, Any] | None:
    try:
        value = parse_json_text(text, [])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_by_key(
    part: Any, read_content: Callable[..., Iterator[Reading]], *, noun: str, path: str
) -> Iterator[Reading]:
    """Yield what a part contains whose kind is its key: `{"text": "Hello"}`.

    A part should have one key; of several, each one counts. `read_content` gets the key, its value
    and the path. `noun` is the word of the dialect for such a part.
    """
    fields = as_object(part)
    if not fields:
        yield from read_unknown(f"{noun} {to_text(part)}", part, path=path)
    for key, content in fields.items():
        yield from read_content(key, content, path=path)


def report_unknown_fields(
    fields: Mapping[str, Any], known: Container[str], *, path: str
) -> Iterator[MessageIssue]:
    """Yield an issue for each field with a value that the reader of a dialect does not know.

    A field under another name would otherwise be lost in silence.
    """
    for name, value in fields.items():
        if name not in known and value not in (None, "", [], {}):
            what = f"field {name} is not read"
            yield MessageIssue(what, path=path, raw=value, severity="notice")


def report_malformed_id(value: Any, *, path: str) -> Iterator[MessageIssue]:
    if value is not None and value != "" and read_id(value) is None:
        yield MessageIssue("id of a call is not a text", path=path, raw=value)


def read_result(
    call_id: Any,
    content: str | Iterable[Fragment],
    *,
    path: str,
    is_error: bool | None = None,
    name: Any = None,
) -> Iterator[Reading]:
    """Yield the result of a call, and an issue if its id or its name is not a text.

    Args:
        call_id: Id of the call, as it is written.
        content: The text of the result, or the fragments that were read from its content.
        path: Place of the result in the conversation.
        is_error: Whether the tool failed. None if the dialect does not say it.
        name: Name of the function, if the result names it.
    """
    yield from report_malformed_id(call_id, path=path)
    if name is not None and not isinstance(name, str):
        yield MessageIssue("name of a result is not a text", path=path, raw=name)

    fragments = [Text(content)] if isinstance(content, str) else list(content)
    texts = [each.text for each in fragments if isinstance(each, Text)]
    attachments = [each.text for each in fragments if isinstance(each, Placeholder)]
    # Notes go on to the caller.
    yield from [each for each in fragments if not isinstance(each, Text | Placeholder)]
    yield ToolResult(
        read_id(call_id),
        text="".join(texts),
        is_error=is_error,
        name=name if isinstance(name, str) else None,
        attachments=attachments,
        path=path,
    )


def read_mark(
    value: Any, meanings: Mapping[str, bool], *, path: str
) -> Generator[MessageIssue, None, bool | None]:
    """Return what the status of a result means, or None without one. Yield unknown statuses."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in meanings:
        yield MessageIssue("unknown status of a result", path=path, raw=value)
        return None
    return meanings[value]


def read_call(
    call_id: Any,
    name: Any,
    written_arguments: Any,
    *,
    path: str,
    is_by_provider: bool = False,
    server: str | None = None,
) -> Iterator[Reading]:
    """Yield a call, and an issue for each part of it that is malformed.

    Args:
        call_id: Id of the call, as it is written.
        name: Name of the function, as it is written.
        written_arguments: The arguments, an object or its JSON text.
        path: Place of the call in the conversation.
        is_by_provider: Whether the provider executes the call itself.
        server: Name of the server that has the function.
    """
    yield from report_malformed_id(call_id, path=path)
    if not isinstance(name, str) or not name:
        yield MessageIssue("call without a name", path=path, raw=name)
        name = ""
    identifier = read_id(call_id)
    arguments = parse_arguments(written_arguments)
    if arguments.problem is not None:
        label = identifier or name or "without a name"
        what = f"arguments of call {label} {arguments.problem}"
        yield MessageIssue(what, path=path, raw=written_arguments)

    yield ToolCall(
        identifier,
        name,
        arguments=arguments.value,
        raw=arguments.raw,
        # A problem that did not prevent reading the arguments is only the issue above.
        problem=arguments.problem if arguments.value is None else None,
        is_by_provider=is_by_provider,
        server=server,
    )


def read_custom_call(call_id: Any, name: Any, text: Any, *, path: str) -> Iterator[Reading]:
    """Yield a call of a tool that takes a free text instead of arguments."""
    yield from report_malformed_id(call_id, path=path)
    if not isinstance(name, str) or not name:
        yield MessageIssue("call without a name", path=path, raw=name)
        name = ""
    if not isinstance(text, str):
        what = f"input of call {read_id(call_id) or name} is not a text"
        yield MessageIssue(what, path=path, raw=text)
    yield ToolCall(read_id(call_id), name, arguments={"input": to_text(text)}, is_custom=True)


def read_id(value: Any) -> str | None:
    """Return an id as text. Writers without ids leave it out, empty or null."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def to_text(value: Any) -> str:
    """Return a text unchanged, nothing as an empty text, and another value as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def read_text(
    value: Any, *, path: str, what: str = "text", is_optional: bool = False
) -> Iterator[Reading]:
    """Yield a text. Another value is an issue, and is kept as a note. A missing value (None) is an
    issue unless the text is optional.
    """
    if isinstance(value, str):
        yield Text(value)
    elif value is not None:
        yield MessageIssue(f"{what} is not a text", path=path, raw=value)
        yield Note(value, is_unknown=True)
    elif not is_optional:
        yield MessageIssue(f"{what} is missing", path=path)


def read_text_or_parts(
    content: Any, read_part: Callable[..., Iterator[Reading]], *, path: str
) -> Iterator[Reading]:
    """Yield the fragments of the content of a message: a text, or a list of parts.

    `read_part(part, path=...)` yields the fragments of one part.
    """
    if not isinstance(content, list):
        yield from read_text(content, path=path, what="content")
        return
    for index, part in enumerate(content):
        yield from read_part(part, path=f"{path}[{index}]")


def read_unknown(kind: str, value: Any, *, path: str) -> Iterator[Reading]:
    """Yield an issue about something that no rule describes, and keep its JSON."""
    yield MessageIssue(f"unknown {kind}", path=path, raw=value)
    yield Note(value, is_unknown=True)


def read_file(kind: str, *, media_type: Any, data: Any, path: str) -> Iterator[Reading]:
    """Yield the placeholder of an image, a sound or another file: `[image image/png, 12 kB]`.

    `data` is the file in base64, or None if it is only linked.
    """
    yield MessageIssue(f"{kind} part", path=path, severity="notice")
    description = [kind]
    if isinstance(media_type, str):
        description.append(media_type)
    size = ""
    if isinstance(data, str):
        size = f", {_format_size(len(data) * BYTES_OF_BASE64)}"
    yield Placeholder(f"[{' '.join(description)}{size}]")


def _format_size(n_bytes: float) -> str:
    kilobytes = n_bytes / 1000
    return f"{kilobytes:.0f} kB" if kilobytes >= 1 else f"{n_bytes:.0f} bytes"


def get_type(value: Any) -> str:
    """Return the field `type` of an object, or an empty text if it has none."""
    if not isinstance(value, dict):
        return ""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""
