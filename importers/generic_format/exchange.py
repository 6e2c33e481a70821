"""Find the request and the response in a line of a chat log, where APIs and programs write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.records import as_list, as_object, is_integer, list_objects
from fcreview.importers.dialects.conversation import MessageIssue
from fcreview.importers.dialects.detection import is_message_list
from fcreview.importers.dialects.read import SYSTEM_FIELDS, has_messages, has_reply
from fcreview.importers.dialects.streams.join import INCOMPLETE, join_certain_stream
from fcreview.model.wording import format_count

JsonObject = dict[str, Any]
_MESSAGE_PLACE = re.compile(r"(?P<field>messages|contents|input)\[(?P<number>\d+)\]")
FIRST_ERROR_STATUS = 400
FAILED_RESULTS = ("errored", "canceled", "expired")
"""Types of results without a reply in Anthropic's batches."""
Path = Sequence[str]
"""Names of fields, from the line inwards."""

REQUEST_PATHS: Sequence[Path] = (
    ("request",),
    ("body",),  # inputs of OpenAI's batches
    ("request_body",),  # Helicone
    ("input", "inputBodyJson"),  # invocation logs of Bedrock
    ("modelInput",),  # Bedrock's batches
)
INPUT_PATHS: Sequence[Path] = (
    ("input",),  # Langfuse
    ("inputs",),  # Weave
)
"""Paths of requests in lines with a response. Without one, the input may be anything."""
RESPONSE_PATHS: Sequence[Path] = (
    ("response_body",),
    ("output", "outputBodyJson"),
    ("modelOutput",),  # Bedrock's batches
    ("output",),
    ("result", "message"),  # results of Anthropic's batches
)
ENCODED_FIELDS = (
    "messages",
    "conversations",
    "request",
    "response",
    "request_body",
    "response_body",
    "input",
    "output",
    "tools",
)
"""Fields of a line that tracing programs also write as JSON text."""
STREAM_FIELDS = ("response", "response_body", "output")
"""Fields of a line that can have the pieces of a response. Each join takes time, so that they are
joined once, before the line is read.
"""
MAX_ENCODED_CHARACTERS = 32 << 20
BATCH_IDS = ("custom_id", "key", "recordId")
"""Ids of requests in batches: of OpenAI and Anthropic, of Gemini, and of Bedrock."""


def find_request(line: JsonObject) -> JsonObject:
    """Return the request of a line: the field that contains it or, if there is none, the line
    itself.

    With a response beside it, a field of inputs with messages is the request, too.
    """
    for path in REQUEST_PATHS:
        request = _get_object(line, path)
        if has_prompt(request):
            return request

    has_response = bool(find_response(line))
    if has_response:
        for path in INPUT_PATHS:
            request = _get_object(line, path)
            if is_message_list(request.get("messages")):
                return request
    return line


def has_prompt(request: JsonObject) -> bool:
    """Whether a request has messages, or a text as its input, as in OpenAI's Responses."""
    return has_messages(request) or isinstance(request.get("input"), str)


def find_response(line: JsonObject) -> JsonObject:
    """Return the response of a line, or an empty object.

    The pieces of a streamed response are joined.
    """
    response = line.get("response")
    if response:
        # OpenAI's batches have it in `body`.
        return _join_pieces(as_object(response).get("body", response))
    for path in RESPONSE_PATHS:
        response = _join_pieces(_get_value(line, path))
        if has_reply(response):
            return response
    return {}


def _join_pieces(response: Any) -> JsonObject:
    """Return a response that may be written as the list of its pieces, or of its choices."""
    if isinstance(response, dict):
        return response
    choices = list_objects(response)
    if choices and isinstance(choices[0].get("message"), dict) and "index" in choices[0]:
        # Braintrust keeps only the choices of OpenAI's response.
        return {"choices": choices}
    return join_certain_stream(response) or {}


def decode_texts(line: JsonObject) -> JsonObject:
    """Return a line in which messages, requests, responses and tools that are JSON texts are
    decoded, and the pieces of a streamed response are joined.

    Every other text stays, because a question or a reply can be JSON text, too.
    """
    decoded = _join_streams(line)
    for name in ENCODED_FIELDS:
        value = _parse_json(line.get(name)) if name not in decoded else None
        is_known = is_message_list(value) or has_messages(value) or has_reply(value)
        if is_known or (name == "tools" and value is not None):
            decoded[name] = value
    return line | decoded if decoded else line


def _join_streams(line: JsonObject) -> JsonObject:
    """Return the responses of a line that are written as their pieces, by their fields."""
    responses: JsonObject = {}
    for name in STREAM_FIELDS:
        response = join_certain_stream(line.get(name))
        if response is not None:
            responses[name] = response
    return responses


def _parse_json(text: Any) -> Any:
    """Return the list or object in a JSON text, or None."""
    if not isinstance(text, str) or not text.lstrip().startswith(("[", "{")):
        return None
    if len(text) > MAX_ENCODED_CHARACTERS:
        return None
    try:
        return parse_json_text(text, [])
    except (ValueError, RecursionError):
        return None


def is_failed_request(line: JsonObject) -> bool:
    """Whether a line is a request in a batch of OpenAI, Anthropic, Gemini or Bedrock that failed,
    so that it has no reply.
    """
    if not any(name in line for name in BATCH_IDS):
        return False
    status = as_object(line.get("response")).get("status_code")
    is_error_status = is_integer(status) and status >= FIRST_ERROR_STATUS
    has_failed = as_object(line.get("result")).get("type") in FAILED_RESULTS
    # Gemini has an error, or the status of a failure, which is an object with a message.
    has_error = any(isinstance(line.get(name), dict) for name in ("error", "status"))
    return is_error_status or has_failed or has_error


def find_id_field(line: JsonObject) -> str | None:
    """Return the field with the id of a line. The id that the user gave a request in a batch counts
    before the random id of its result, because results of two models can only be compared by it.
    """
    for name in ("custom_id", "id", *BATCH_IDS):
        if line.get(name):
            return name
    return None


def find_unread_output(line: JsonObject) -> Any:
    """Return an `output` that is a text, or an object without a reply. None without one."""
    output = line.get("output")
    is_text = isinstance(output, str) and output != ""
    if is_text:
        return output
    if isinstance(output, dict) and output and not find_response(line):
        return output
    return None


def report_further_replies(line: Any) -> Iterator[MessageIssue]:
    """Yield an issue if a request has several replies, of which only the first one is read."""
    fields = as_object(line)
    for owner in (fields, find_response(fields)):
        for name in ("choices", "candidates"):
            n_further = len(as_list(owner.get(name))) - 1
            if n_further > 0:
                replies = format_count(n_further, "further reply", "further replies")
                what = f"{replies} to the same request not read, only the first"
                yield MessageIssue(what, path=f"{name}[1]", raw=owner[name][1:])


def report_unread_request(line: Any) -> Iterator[MessageIssue]:
    """Yield an issue if a request is not read, because it has no messages in a known form."""
    fields = as_object(line)
    for name in ("request", "request_body", "modelInput"):
        if name in fields and not has_prompt(find_request(fields)):
            message = f"{name} has no messages that could be read"
            yield MessageIssue(message, path=name, raw=fields[name])


def report_unread_response(line: Any) -> Iterator[MessageIssue]:
    """Yield an issue if a response is not read, because it has no reply in a known form."""
    fields = as_object(line)
    for name in ("response", "response_body", "modelOutput"):
        written = fields.get(name)
        if name not in fields or has_reply(find_response(fields)):
            continue
        what = f"{name} has no reply that could be read" if written else f"{name} is empty"
        yield MessageIssue(what, path=name, raw=written)


def report_incomplete_response(line: Any) -> Iterator[MessageIssue]:
    """Yield an issue if a response says that it is not whole, or if its stream broke off."""
    fields = as_object(line)
    response = find_response(fields) or fields
    if response.get("status") != INCOMPLETE or not has_reply(response):
        return
    reason = as_object(response.get("incomplete_details")).get("reason")
    message = f"reply incomplete: {reason}" if reason else "reply incomplete"
    yield MessageIssue(message, path="response", raw=response.get("incomplete_details"))


def name_places_in_request(
    issues: Sequence[MessageIssue], line: JsonObject
) -> Sequence[MessageIssue]:
    """Return issues whose paths count the messages as the request does. A system prompt outside of
    its messages is the first message of the conversation.
    """
    request = find_request(line)
    has_system_prompt = any(request.get(name) for name in SYSTEM_FIELDS)
    if not has_system_prompt:
        return issues
    return [replace(issue, path=_count_without_prompt(issue.path)) for issue in issues]


def _count_without_prompt(path: str) -> str:
    match = _MESSAGE_PLACE.match(path)
    if match is None:
        return path
    number = int(match["number"])
    rest = path[match.end() :]
    return f"{match['field']}[{number - 1}]{rest}" if number else f"system{rest}"


def _get_object(line: JsonObject, path: Path) -> JsonObject:
    """Return the object at a path, or an empty one."""
    return as_object(_get_value(line, path))


def _get_value(line: JsonObject, path: Path) -> Any:
    value: Any = line
    for name in path:
        value = as_object(value).get(name)
    return value
