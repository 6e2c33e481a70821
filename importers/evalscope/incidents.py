"""Recognise failed requests in samples of EvalScope.

EvalScope marks some failures in fields of their own. Its adapters write others as the reply. Its
clients turn a context overflow and a content filter into a reply whose text is the provider's
message; then only the stop reason tells (EvalScope 1.14.1).
"""

from __future__ import annotations

from typing import Any

import orjson

from fcreview.importers.common.incidents import (
    find_empty_reply,
    find_finish_reason_incident,
    make_error_incident,
)
from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.evalscope.samples import Sample
from fcreview.model.incident import Incident

ERROR_KEYS = {"error", "error_message"}
"""Keys of the JSON text that the adapter of BFCL V4 writes as the reply for an exception."""
TAU_ERROR = "tau2 run_task error:"
"""Beginning of the reply that the adapter of tau3-bench writes for an exception."""


def find_incident(sample: Sample) -> Incident | None:
    """Return why a sample contains no answer, or None if it contains one. An empty reply is only a
    weak sign.
    """
    stated = _find_stated_error(sample)
    if stated is not None:
        return stated

    reply = sample.reply_text
    reason = sample.choice.get("stop_reason")
    incident = find_finish_reason_incident(reason, reply, "model_output.stop_reason")
    if incident is not None:
        return incident
    written_error = find_written_error(reply)
    if written_error is not None:
        return make_error_incident(written_error, "content", is_marked=False)
    return _find_empty_message(sample)


def _find_stated_error(sample: Sample) -> Incident | None:
    """Return the incident of the first field for errors that is not empty."""
    task_result = as_object(as_object(sample.score.get("metadata")).get("task_result"))
    errors = {
        "model_output.error": sample.output.get("error"),
        "metadata.rollout_error": sample.predicted_metadata.get("rollout_error"),
        "sample_metadata.rollout_error": sample.reviewed_metadata.get("rollout_error"),
        "task_result.error": task_result.get("error"),
    }
    for where, error in errors.items():
        if error:
            return make_error_incident(error, where)
    return None


def find_written_error(reply: Any) -> str | None:
    """Return the error that an adapter of EvalScope wrote as the reply, or None."""
    if not isinstance(reply, str):
        return None
    if reply.startswith(TAU_ERROR):
        return reply
    if not reply.startswith("{"):
        return None
    try:
        value = orjson.loads(reply)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict) or value.keys() != ERROR_KEYS:
        return None
    return str(value["error"])


def _find_empty_message(sample: Sample) -> Incident | None:
    """Return the incident of an empty reply, if the last message is a reply with neither text nor
    calls. It is only a weak sign of a failed request.
    """
    messages = list_objects(sample.messages)
    if not messages:
        return None
    last_message = messages[-1]
    if last_message.get("role") != "assistant" or last_message.get("tool_calls"):
        return None
    return find_empty_reply(last_message.get("content"), "messages")
