"""Recognise failed requests in BFCL result records.

BFCL has no field for failures: its handlers write the text of the exception as the reply. The rules
were measured on 717,506 published records (`docs/incidents.md`). They flag 7,149 of them, and none
of the other 710,357. Looser rules, such as a reply that begins with `Error` or contains the word
`timeout`, also flag replies of models.
"""

from __future__ import annotations

from typing import Any

import orjson

from fcreview.importers.common.incidents import (
    KIND_OF_FINISH_REASON,
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import is_number
from fcreview.model.incident import Incident, IncidentKind
from fcreview.model.item import Item, Message
from fcreview.model.json_value import to_json_text

RESULT = "result"
INFERENCE_ERROR = "Error during inference:"
"""Beginning of the reply that the handlers of V2, V3 and V4 write for an exception
(`base_handler.py`).
"""
BARE_ERROR = "Error"
"""Reply of the V1 handlers of Gorilla and Cohere for an exception."""
GOOGLE_PARSING_ERROR = "Parsing error: "
GOOGLE_ERRORS = ("Internal error occurred.", "Invalid JSON payload received", "Quota exceeded for ")
"""Beginnings of the service's messages that the V1 handlers of Google models write as the reply."""
GEMINI_EMPTY_REPLY = "The model did not return any response."
"""Reply of the Gemini handler, since October 2024, if the service returns no text."""


def find_incident(record: dict[str, Any]) -> Incident | None:
    """Return why a result record contains no answer, or None if it contains one."""
    result = record.get(RESULT)
    if not result or result == GEMINI_EMPTY_REPLY:
        return _find_empty_reply(record)

    if isinstance(result, str) and result.startswith(INFERENCE_ERROR):
        return _make_inference_error(result)

    # Handlers of V1 write the same texts for replies that they cannot read. Only a request that
    # failed has no tokens.
    if not _has_zero_tokens(record):
        return None
    if result == BARE_ERROR:
        return make_incident("unknown", result, RESULT, is_marked=False)
    return _find_google_error(result)


def _find_empty_reply(record: dict[str, Any]) -> Incident | None:
    """Return the incident of an empty reply (an empty text, an empty list or null), or None. It is
    only a weak sign of a failed request.
    """
    result = record.get(RESULT)
    if RESULT not in record or not (result is None or isinstance(result, (str, list))):
        return None
    return make_empty_reply_incident(RESULT, result if isinstance(result, str) else "")


def _make_inference_error(result: str) -> Incident:
    kind = make_error_incident(result.removeprefix(INFERENCE_ERROR), RESULT).kind
    return make_incident(kind, result, RESULT, is_marked=False)


def _has_zero_tokens(record: dict[str, Any]) -> bool:
    counts = (record.get("input_token_count"), record.get("output_token_count"))
    return all(is_number(count) and count == 0 for count in counts)


def _find_google_error(result: Any) -> Incident | None:
    """Return the incident for a message of Google's service, or for a candidate that has a
    reason instead of text.
    """
    if isinstance(result, dict) and "finishReason" in result:
        return _make_candidate_incident(result, to_json_text(result))
    if not isinstance(result, str):
        return None
    if result.startswith(GOOGLE_PARSING_ERROR + "{"):
        return _make_candidate_incident(
            _parse_object(result.removeprefix(GOOGLE_PARSING_ERROR)), result
        )
    if result.startswith(GOOGLE_ERRORS):
        return make_error_incident(result, RESULT, is_marked=False)
    return None


def _make_candidate_incident(candidate: dict[str, Any], text: str) -> Incident:
    """Make the incident of a reply that Gemini ended without an answer. Its reason says why."""
    reason = candidate.get("finishReason")
    kind: IncidentKind = "unknown"
    if isinstance(reason, str):
        kind = KIND_OF_FINISH_REASON.get(reason.lower(), "unknown")
    return make_incident(kind, text, RESULT, is_marked=False)


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def remove_reply_of_failed_request(item: Item, record: dict[str, Any]) -> None:
    """Show the text of a failed request as a log entry, and not as a message or an unreadable
    call of the model.
    """
    result = record.get(RESULT)
    text = result if isinstance(result, str) else to_json_text(result)
    other_messages = []
    for message in item.messages:
        is_reply = message.role == "assistant" and message.content == text
        if not is_reply:
            other_messages.append(message)

    last_turn = item.n_turns - 1 if other_messages else 0
    log_entry = Message(turn=last_turn, step=0, role="log", content=text)
    item.messages = [*other_messages, log_entry]
    item.predicted = []
