"""Find the request and the response in a line of a chat log, where APIs and programs write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.common.records import as_list, as_object, is_integer
from fcreview.importers.dialects.conversation import MessageIssue
from fcreview.importers.dialects.detection import is_message_list
from fcreview.importers.dialects.read import has_messages, has_reply
from fcreview.model.wording import format_count

JsonObject = dict[str, Any]
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
)
INPUT_PATHS: Sequence[Path] = (
    ("input",),  # Langfuse
    ("inputs",),  # Weave
)
"""Paths of requests in lines with a response. Without one, the input may be anything."""
RESPONSE_PATHS: Sequence[Path] = (
    ("response_body",),
    ("output", "outputBodyJson"),
    ("output",),
    ("result", "message"),  # results of Anthropic's batches
)


def find_request(line: JsonObject) -> JsonObject:
    """Return the request of a line: the field that contains it or, if there is none, the line
    itself.
    """
    for path in REQUEST_PATHS:
        request = _get_object(line, path)
        if has_messages(request):
            return request
    if not find_response(line):
        return line
    for path in INPUT_PATHS:
        request = _get_object(line, path)
        if is_message_list(request.get("messages")):
            return request
    return line


def find_response(line: JsonObject) -> JsonObject:
    """Return the response of a line, or an empty object."""
    response = as_object(line.get("response"))
    if response:
        # OpenAI's batches have it in `body`.
        return as_object(response.get("body", response))
    for path in RESPONSE_PATHS:
        response = _get_object(line, path)
        if has_reply(response):
            return response
    return {}


def is_failed_request(line: JsonObject) -> bool:
    """Whether a line is a request in a batch of OpenAI or Anthropic that failed, so that it has no
    reply.
    """
    if "custom_id" not in line:
        return False
    status = as_object(line.get("response")).get("status_code")
    is_error_status = is_integer(status) and status >= FIRST_ERROR_STATUS
    has_failed = as_object(line.get("result")).get("type") in FAILED_RESULTS
    return is_error_status or has_failed or isinstance(line.get("error"), dict)


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


def _get_object(line: JsonObject, path: Path) -> JsonObject:
    """Return the object at a path, or an empty one."""
    value: Any = line
    for name in path:
        value = as_object(value).get(name)
    return as_object(value)
