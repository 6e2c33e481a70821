"""Google's Gemini: contents with parts that have no type. Keys are in camelCase or snake_case."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    Note,
    ParsedMessage,
    Reading,
    Reasoning,
    Role,
    ToolCall,
    ToolResult,
    split_results,
)
from fcreview.importers.dialects.reading import (
    collect_fragments,
    make_message,
    read_known_role,
)

PART_KEYS = (
    "text",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "inlineData",
    "fileData",
    "thoughtSignature",
)
PART_FIELDS = {*PART_KEYS, "thought", "videoMetadata", "mediaResolution", "partMetadata"}
CONTENT_FIELDS = {"role", "parts", "finishReason", "finishMessage"}
ARGUMENT_PIECES = "partialArgs"
"""Field with pieces of arguments in a stream of Vertex AI."""
CALL_FIELDS = {"id", "name", "args", ARGUMENT_PIECES, "willContinue"}
RESPONSE_FIELDS = {"id", "name", "response", "parts", "willContinue", "scheduling"}
FAILED_OUTCOMES = ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED")


def to_camel_case(key: str) -> str:
    """Return the name of a field in the REST API, from its name in Python."""
    first, *rest = key.split("_")
    return first + "".join(word.capitalize() for word in rest)


def with_camel_case_keys(value: Any) -> dict[str, Any]:
    """Return an object with the keys of the REST API. Values are not changed."""
    return {to_camel_case(key): field for key, field in as_object(value).items()}


def read_messages(messages: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    for index, content in enumerate(messages):
        yield from _read_content(content, path=f"contents[{index}]")


def _read_content(content: Any, *, path: str) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the message of an entry of Gemini's `contents`, with issues.

    The entry has a role and parts. Results of calls become messages of their own, because in Gemini
    they are parts of a user's message.
    """
    role = yield from _read_role(content, path=path)
    if role is None:
        return

    yield from values.report_unknown_fields(content, CONTENT_FIELDS, path=path)
    has_no_parts = content.get("parts") is None
    if has_no_parts and content.get("finishReason"):
        what = f"no content: {content['finishReason']}"
        yield MessageIssue(what, path=path, raw=content)
        # So that the missing parts are not reported once more.
        content = content | {"parts": []}

    fragments = yield from collect_fragments(read_parts(content.get("parts"), path=path))
    message = yield from make_message(role, fragments, content, path=path)
    yield from split_results(message)


def _read_role(
    content: Any, *, path: str
) -> Generator[ParsedMessage | MessageIssue, None, Role | None]:
    """Return the role of a content, and yield issues about it.

    The API takes a content without a role for the user's. If the role is unknown, or the content is
    no object, it is yielded as a message that was not read, and None is returned.
    """
    if isinstance(content, dict) and "role" not in content:
        what = "content without a role, taken for the user's"
        yield MessageIssue(what, path=path, severity="notice")
        return "user"
    role = yield from read_known_role(content, path=path)
    return role


def read_candidates(candidates: Sequence[Any]) -> Iterator[ParsedMessage | MessageIssue]:
    """Yield the replies in the candidates of a response."""
    for index, candidate in enumerate(candidates):
        path = f"candidates[{index}]"
        yield from _read_content(merge_candidate(candidate), path=path)


def merge_candidate(candidate: Any) -> dict[str, Any]:
    """Return the content of a candidate, with the reason why it ended.

    Without content, this reason is all that is known.
    """
    fields = with_camel_case_keys(candidate)
    end = {name: fields[name] for name in ("finishReason", "finishMessage") if fields.get(name)}
    return {"role": "model"} | as_object(fields.get("content")) | end


def read_parts(parts: Any, *, path: str) -> Iterator[Reading]:
    """Yield the fragments of a list of parts. A missing list, or another value, is an issue."""
    if parts is None:
        yield MessageIssue("content without parts", path=path)
    elif not isinstance(parts, list):
        yield from values.read_unknown("form of parts", parts, path=path)
    for index, part in enumerate(as_list(parts)):
        yield from _read_part(part, path=f"{path}.parts[{index}]")


def _read_part(part: Any, *, path: str) -> Iterator[Reading]:
    """Yield what a part contains. It should have one key; of several, each one counts."""
    fields = with_camel_case_keys(part)
    kinds = [key for key in PART_KEYS if fields.get(key) is not None]
    if not kinds:
        keys = ", ".join(fields) or "without a key"
        yield from values.read_unknown(f"part {keys}", part, path=path)
        return
    yield from values.report_unknown_fields(fields, PART_FIELDS, path=path)
    for kind in kinds:
        # A signature belongs to the content beside it. Only alone, it is a part itself.
        is_signature_of_content = kind == "thoughtSignature" and len(kinds) > 1
        if not is_signature_of_content:
            yield from _read_part_key(kind, fields, path=path)


def _read_part_key(kind: str, fields: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the fragments of one part of Gemini's content, by the key that says what kind of part
    it is.

    `fields` are the fields of the part, `path` is its place in the conversation. A part of an
    unknown kind is kept as a note.
    """
    content = with_camel_case_keys(fields[kind])
    match kind:
        case "text":
            yield from _read_text(fields, path=path)
        case "functionCall":
            yield from _read_function_call(content, path=path)
        case "functionResponse":
            yield from _read_response(content, path=path)
        case "executableCode":
            arguments = as_object(fields[kind])
            yield ToolCall(None, "code_execution", arguments=arguments, is_by_provider=True)
        case "codeExecutionResult":
            yield _read_code_result(content, path=path)
        case "toolCall":
            yield from _read_provider_call(content, path=path)
        case "toolResponse":
            yield ToolResult(
                values.read_id(content.get("id")),
                text=values.to_text(content.get("response")),
                path=path,
            )
        case "inlineData" | "fileData":
            yield from values.read_file(
                "file", media_type=content.get("mimeType"), data=content.get("data"), path=path
            )
        case _:
            yield Note({kind: fields[kind]})


def _read_text(part: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Read a part with text. It is reasoning if it is marked as a thought."""
    text = part["text"]
    thought = part.get("thought")
    if thought is not None and not isinstance(thought, bool):
        yield MessageIssue("thought is not true or false", path=path, raw=thought)
    if thought is True and isinstance(text, str):
        yield Reasoning(text)
        return
    yield from values.read_text(text, path=path)


def _read_function_call(call: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield a call. The API leaves `args` out if there are no arguments."""
    yield from values.report_unknown_fields(call, CALL_FIELDS, path=path)
    if call.get(ARGUMENT_PIECES):
        what = f"the arguments of a call are in pieces ({ARGUMENT_PIECES}), which are not read"
        yield MessageIssue(what, path=path, raw=call)
    yield from values.read_call(call.get("id"), call.get("name"), call.get("args", {}), path=path)


def _read_response(response: dict[str, Any], *, path: str) -> Iterator[Reading]:
    """Yield the result in a function response.

    The API recommends the keys `output` and `error`. Other objects are shown as JSON.
    """
    yield from values.report_unknown_fields(response, RESPONSE_FIELDS, path=path)
    value = response.get("response")
    if not isinstance(value, dict):
        yield MessageIssue("response of a function is not an object", path=path, raw=value)
    is_error = as_object(value).get("error") is not None
    yield from values.read_result(
        response.get("id"),
        _get_response_text(value, is_error=is_error),
        is_error=is_error,
        name=response.get("name"),
        path=path,
    )


def _get_response_text(value: Any, *, is_error: bool) -> str:
    """Return the text of a call's result. Results usually have a single field `output` or `result`,
    whose text is enough.
    """
    if value in (None, {}):
        return ""
    fields = as_object(value)
    if is_error:
        return values.to_text(fields["error"])
    only_key = next(iter(fields), None) if len(fields) == 1 else None
    if only_key in ("output", "result") and isinstance(fields[only_key], str):
        return str(fields[only_key])
    return values.to_text(value)


def _read_code_result(result: dict[str, Any], *, path: str) -> ToolResult:
    """Return the result of code that the provider executed."""
    return ToolResult(
        None,
        text=values.to_text(result.get("output")),
        is_error=result.get("outcome") in FAILED_OUTCOMES,
        name="code_execution",
        path=path,
    )


def _read_provider_call(call: dict[str, Any], *, path: str) -> Iterator[Reading]:
    name = call.get("name") or call.get("toolType")
    yield from values.read_call(
        call.get("id"), name, call.get("args", {}), path=path, is_by_provider=True
    )
