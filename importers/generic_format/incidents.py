"""Recognise failed requests in records of the generic format and in lines of chat logs.

A line states a failure in fields of its own: `error` of a record or of an OpenAI response, the
status of the response, or the reason with which the API ended the reply. The text of a reply alone
proves nothing.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.incidents import (
    find_empty_reply,
    find_finish_reason_incident,
    make_error_incident,
)
from fcreview.importers.common.records import as_list, as_object, is_integer, list_objects
from fcreview.importers.generic_format.discovery import DISTINCTIVE_FIELDS
from fcreview.importers.generic_format.exchange import (
    FAILED_RESULTS,
    FIRST_ERROR_STATUS,
    find_response,
)
from fcreview.model.incident import Incident

JsonObject = dict[str, Any]


def find_line_incident(line: JsonObject) -> Incident | None:
    """Find out whether a line of a chat log lacks the answer, and why: a failed request, a limit,
    or an empty reply.

    The response can be in `response`, in `response.body`, or beside the request. Returns None if
    the model answered.
    """
    response = as_object(line.get("response"))
    # A batch API wraps the body of a response in an object with the status.
    body = find_response(line)
    choices = list_objects(body.get("choices") or line.get("choices"))
    if choices:
        source_of_reason = choices[0]
        message = as_object(choices[0].get("message"))
    else:
        source_of_reason = line
        message = _get_last_message(line)

    # An error in the line may be a note beside a complete answer, so the message is checked too.
    if line.get("error") and _is_request_error(line, message):
        return make_error_incident(line["error"], "error")
    response_error = _find_response_error(response, body) or _find_batch_error(line)
    if response_error is not None:
        return response_error

    reason = source_of_reason.get("finish_reason")
    incident = find_finish_reason_incident(reason, message.get("content"), "finish_reason")
    if incident is not None:
        return incident
    return _find_empty_message(line, message)


def _is_request_error(line: JsonObject, reply: JsonObject) -> bool:
    """Return whether the field `error` of a line is the error of the request.

    It is so in a record of the generic format, and if it is an object as in the responses of
    OpenAI. In a chat log with a reply, a text can also be somebody's remark on the reply.
    """
    is_record = bool(line.keys() & DISTINCTIVE_FIELDS)
    has_reply = bool(reply.get("content") or reply.get("tool_calls"))
    return is_record or isinstance(line["error"], dict) or not has_reply


def _find_response_error(response: JsonObject, body: JsonObject) -> Incident | None:
    """Return the incident of an OpenAI response with an error object, or with a status that is
    an error.
    """
    for owner, where in ((response, "response.error"), (body, "response.body.error")):
        if owner.get("error"):
            return make_error_incident(owner["error"], where)
    status = response.get("status_code")
    if is_integer(status) and status >= FIRST_ERROR_STATUS:
        return make_error_incident(f"HTTP {status}", "response.status_code")
    return None


def _find_batch_error(line: JsonObject) -> Incident | None:
    """Return the incident of a request in one of Anthropic's batches that failed, that was
    cancelled, or that was too late.
    """
    result = as_object(line.get("result"))
    if "custom_id" not in line or result.get("type") not in FAILED_RESULTS:
        return None
    return make_error_incident(result.get("error") or result["type"], "result")


def _get_last_message(line: JsonObject) -> JsonObject:
    """Return the last message of a line if it is a reply of the model, or an empty object."""
    messages = list_objects(line.get("messages"))
    if not messages or messages[-1].get("role") != "assistant":
        return {}
    return messages[-1]


def _find_empty_message(line: JsonObject, message: JsonObject) -> Incident | None:
    """Return the weak mark if the last reply has neither text nor calls, and the record lists no
    predicted calls.
    """
    has_calls = (
        message.get("tool_calls") or message.get("function_call") or as_list(line.get("predicted"))
    )
    if not message or has_calls or message.get("refusal"):
        return None
    return find_empty_reply(message.get("content"), "messages")
