"""Recognise samples of Inspect logs that have no answer or a cut one.

A sample that failed has `error`. If the context overflows, or the provider blocks the request, the reply is an ordinary
message with the provider's text, which scorers judge as an answer. Only the stop reason tells. Limits of Inspect itself
(`limit`: messages, tokens, time, cost and others) are results, and are scored.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.incidents import (
    find_finish_reason_incident,
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.inspect.content import get_text_without_reasoning
from fcreview.model.incident import Incident

OUTPUT_ERROR = "output.error"
STOP_REASON = "output.stop_reason"


def find_incident(sample: dict[str, Any]) -> Incident | None:
    """Return why a sample has no answer, or a limit that it used up, or the weak mark of an empty reply."""
    error = sample.get("error")
    if isinstance(error, dict):
        return make_error_incident(_describe_error(error), "error")

    output = as_object(sample.get("output"))
    if output.get("error"):
        return make_error_incident(output["error"], OUTPUT_ERROR)

    choice = next(iter(list_objects(output.get("choices"))), {})
    text = get_text_without_reasoning(as_object(choice.get("message")).get("content"))
    incident = find_finish_reason_incident(choice.get("stop_reason"), text, STOP_REASON)
    if incident is not None:
        return incident

    limit = sample.get("limit")
    if isinstance(limit, dict):
        return make_incident("limit", _describe_limit(limit), "limit")
    if _is_empty_reply(output, choice, text):
        return make_empty_reply_incident("output")
    return None


def _describe_error(error: dict[str, Any]) -> str:
    """Return the message of an error, or the last line of its traceback if the message is empty."""
    message = error.get("message")
    if isinstance(message, str) and message.strip():
        return message
    traceback = error.get("traceback")
    return traceback.strip().rpartition("\n")[2] if isinstance(traceback, str) else ""


def _describe_limit(limit: dict[str, Any]) -> str:
    reason = limit.get("reason")
    if isinstance(reason, str) and reason:
        return reason
    return f"{limit.get('type')} limit: {limit.get('limit')}"


def _is_empty_reply(output: dict[str, Any], choice: dict[str, Any], text: str) -> bool:
    """Return whether the model was asked last, and replied with neither text nor a call."""
    message = choice.get("message")
    if not isinstance(message, dict) or output.get("completion"):
        return False
    return not text.strip() and not message.get("tool_calls")
