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
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import as_list, as_object, is_integer, list_objects
from fcreview.importers.dialects.conversation import ParsedConversation, ParsedMessage
from fcreview.importers.dialects.read import has_reply
from fcreview.importers.generic_format.discovery import DISTINCTIVE_FIELDS
from fcreview.importers.generic_format.exchange import (
    FAILED_RESULTS,
    FIRST_ERROR_STATUS,
    find_response,
)
from fcreview.model.incident import Incident

JsonObject = dict[str, Any]
ERROR_TEXT_FIELDS = ("error_str", "error_message", "statusMessage", "exception")
"""Fields in which proxies write the error: LiteLLM, Helicone, Langfuse, Weave."""
EMPTY_REPLY = "empty_reply"
STATUSES_WITHOUT_FAILURE = (
    "",
    "ok",
    "success",
    "succeeded",
    "completed",
    "complete",
    "in_progress",
)


def find_record_incident(line: JsonObject, conversation: ParsedConversation) -> Incident | None:
    """Find out whether a record or a line of a chat log lacks the answer, and why.

    What the line states counts first. The reply, as it was read in its dialect, shows whether it is
    empty: APIs have texts and calls in different fields. A record whose messages state their turns
    has no conversation.
    """
    stated_incident = find_line_incident(line)
    if stated_incident is not None and stated_incident.kind != EMPTY_REPLY:
        return stated_incident
    reply = _find_last_reply(conversation)
    if reply is None:
        return stated_incident

    incident = find_finish_reason_incident(reply.stop_reason, reply.text, reply.path)
    if incident is None and _is_empty(reply) and not as_list(line.get("predicted")):
        return make_empty_reply_incident("messages")
    return incident


def _find_last_reply(conversation: ParsedConversation) -> ParsedMessage | None:
    """Return the last message if it is a reply of the model."""
    messages = [message for message in conversation.messages if message.role != "log"]
    return messages[-1] if messages and messages[-1].role == "assistant" else None


def _is_empty(reply: ParsedMessage) -> bool:
    """Whether a reply has neither a text nor a call. Reasoning alone is no reply, but a refusal is
    one, which Anthropic states without a text.
    """
    is_refusal = reply.is_refusal or reply.stop_reason == "refusal"
    has_other_content = reply.calls or reply.notes or reply.unknown_parts
    return not is_refusal and not has_other_content and not reply.text.strip()


def find_line_incident(line: JsonObject) -> Incident | None:
    """Find out whether a line of a chat log lacks the answer, and why: a failed request, a limit,
    or an empty reply.

    Returns None if the model answered.
    """
    body = find_response(line)
    choices = list_objects(body.get("choices") or line.get("choices"))
    if choices:
        reason = choices[0].get("finish_reason")
        message = as_object(choices[0].get("message"))
    else:
        reason = _find_reason(body) or line.get("finish_reason")
        message = _get_last_message(line)

    failure = _find_failed_request(line, body, message)
    if failure is not None:
        return failure
    incident = find_finish_reason_incident(reason, message.get("content"), "finish_reason")
    if incident is not None:
        return incident
    return _find_empty_message(line, message)


def _find_failed_request(line: JsonObject, body: JsonObject, reply: JsonObject) -> Incident | None:
    """Return the failure of the request of a line, or None.

    The first place that states one counts: the line, the response, the result in a batch. Other
    fields state one only if there is no reply.

    Args:
        line: The line.
        body: The response, which can be in `response`, in `response.body`, or beside the request.
        reply: The message of the model, empty if there is none.
    """
    if line.get("error") and _is_request_error(line, reply):
        return make_error_incident(line["error"], "error")
    # A batch API wraps the body of a response in an object with the status.
    response = as_object(line.get("response"))
    failure = _find_response_error(response, body) or _find_batch_error(line)
    if failure is not None:
        return failure
    # A line can be a response without a request.
    if reply or has_reply(body) or has_reply(line):
        return None
    return _find_stated_failure(line, body)


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


def _find_stated_failure(line: JsonObject, body: JsonObject) -> Incident | None:
    """Return why a line without a reply has none, if one of the fields says so in which APIs and
    proxies write it.
    """
    # Gemini answers a blocked request without a candidate.
    block_reason = as_object(body.get("promptFeedback")).get("blockReason")
    if block_reason:
        return make_incident("content_filter", block_reason, "response.promptFeedback.blockReason")
    for name in ERROR_TEXT_FIELDS:
        text = line.get(name)
        if isinstance(text, str) and text:
            return make_error_incident(text, name)
    # Gemini's batches have the status of a failed request as an object, Vertex as a text.
    status = line.get("status")
    is_failure = isinstance(status, str) and status.lower() not in STATUSES_WITHOUT_FAILURE
    if isinstance(status, dict) or is_failure:
        return make_error_incident(status, "status")
    return None


def _find_reason(body: JsonObject) -> Any:
    """Return the reason with which an API ended its reply: Anthropic, Bedrock and Cohere have it in
    the response, Gemini in the candidate.
    """
    for name in ("stop_reason", "stopReason", "finish_reason"):
        if body.get(name):
            return body[name]
    for candidate in list_objects(body.get("candidates"))[:1]:
        return candidate.get("finishReason") or candidate.get("finish_reason")
    return None


def _get_last_message(line: JsonObject) -> JsonObject:
    """Return the last message of a line if it is a reply of the model, or an empty object."""
    messages = list_objects(line.get("messages"))
    if not messages or messages[-1].get("role") != "assistant":
        return {}
    return messages[-1]


def _find_empty_message(line: JsonObject, message: JsonObject) -> Incident | None:
    """Return the incident of an empty reply, if the last reply has neither text nor calls, and the
    record lists no predicted calls.

    It is only a weak sign that something failed.
    """
    has_calls = (
        message.get("tool_calls") or message.get("function_call") or as_list(line.get("predicted"))
    )
    if not message or has_calls or message.get("refusal"):
        return None
    return find_empty_reply(message.get("content"), "messages")
