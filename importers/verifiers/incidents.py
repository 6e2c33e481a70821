"""Recognise rollouts without an answer, or without a judge's verdict.

`api-errors` of both forms: an episode or trace of 0.4 lists `errors`; a legacy rollout has `error`
with the chain of exceptions, and a conversation that became too long only a `stop_condition`.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.error_replies import check_reply_text
from fcreview.importers.common.incidents import (
    add_failed_verdict,
    apply_incident,
    find_finish_reason_incident,
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.dialects.to_item import find_last_reply
from fcreview.importers.dialects.values import to_text
from fcreview.importers.verifiers.rollouts import JsonObject, choose_main_trace
from fcreview.model.error_text import classify_error_text
from fcreview.model.incident import Incident, IncidentKind
from fcreview.model.item import Item

SCORING_ERROR = "TaskError"
"""Error of the scoring, such as an answer of a judge that cannot be read."""
JUDGE = "verifiers scoring"
KIND_OF_ERROR: dict[str, IncidentKind] = {
    "EmptyModelResponseError": "empty_reply",
    "InvalidModelResponseError": "unparsable",
    "ToolParseError": "unparsable",
    "ToolCallError": "tool_backend",
    "ToolsetError": "tool_backend",
    "SandboxError": "harness",
    "TunnelError": "connection",
    "InterceptionError": "connection",
    "InfraError": "harness",
    "HarnessError": "harness",
    "EnvError": "harness",
}
"""Class of an error -> kind, where the text names no other kind."""
KIND_OF_STOP: dict[str, IncidentKind] = {
    "prompt_too_long": "context_length",
    "max_turns_reached": "limit",
    "max_total_completion_tokens_reached": "limit",
    "timeout_reached": "limit",
}
"""`stop_condition` -> kind. A used-up limit is a result."""
TIMEOUT_ENDING = "_timeout"


def apply_episode_incident(item: Item, episode: JsonObject) -> None:
    """Record why an episode has no answer, and a failed scoring."""
    apply_incident(item, find_episode_incident(episode))
    check_reply_text(item, find_last_reply(item), "traces.nodes")
    for error in _list_errors(episode):
        if error.get("type") == SCORING_ERROR:
            add_failed_verdict(item, "judge", failure=_describe_error(error), by=JUDGE)


def find_episode_incident(episode: JsonObject) -> Incident | None:
    """Return what disturbed an episode: an error outside the scoring, a failed last call, or the
    way in which the episode stopped. None if nothing did.
    """
    trace = choose_main_trace(episode)
    for error in _list_errors(episode):
        kind = error.get("type")
        if kind != SCORING_ERROR:
            return _make_error_incident(str(kind or ""), _describe_error(error), "errors")
    # After a call that failed, the agent can repeat it. Only the last call decides.
    for last_call in list_objects(trace.get("calls"))[-1:]:
        incident = _find_call_incident(last_call)
        if incident is not None:
            return incident
    return _find_stop_incident(trace) or _find_unexplained_failure(episode)


def _find_call_incident(call: JsonObject) -> Incident | None:
    """Return the incident of a model call, or None if the model replied."""
    error = call.get("error")
    if error:
        return make_error_incident(error, "calls.error")
    reason = call.get("finish_reason")
    return find_finish_reason_incident(reason, reason, "calls.finish_reason")


def _find_unexplained_failure(episode: JsonObject) -> Incident | None:
    """Return the incident of an episode that failed, but lists no error of any kind."""
    if _list_errors(episode):
        return None
    trace = choose_main_trace(episode)
    if episode.get("ok") is False or trace.get("ok") is False:
        return make_incident("unknown", "ok is false, and no error is listed", "ok")
    if not trace:
        return make_incident("harness", "the episode has no trace", "traces")
    return None


def _list_errors(episode: JsonObject) -> list[JsonObject]:
    """Return the errors of the episode and of its main trace."""
    trace = choose_main_trace(episode)
    return [*_read_errors(episode.get("errors")), *_read_errors(trace.get("errors"))]


def _read_errors(written: Any) -> list[JsonObject]:
    """Return the errors of a list, or a single one. An error that is no object is a message."""
    entries = written if isinstance(written, list) else [written]
    errors: list[JsonObject] = []
    for entry in entries:
        if isinstance(entry, dict):
            errors.append(entry)
        elif entry not in (None, ""):
            errors.append({"message": to_text(entry)})
    return errors


def _describe_error(error: JsonObject) -> str:
    texts = [error.get("type"), error.get("message"), error.get("error_chain_str")]
    return ": ".join(text for text in texts if isinstance(text, str) and text)


def _make_error_incident(error_class: str, text: str, where: str) -> Incident:
    """Make an incident. The text tells more than a general class, such as ModelError."""
    kind = KIND_OF_ERROR.get(error_class) or classify_error_text(text)
    return make_incident(kind, text, where)


def _find_stop_incident(rollout: JsonObject) -> Incident | None:
    """Return the incident that the stop condition of a rollout means, such as a timeout, or
    None.
    """
    stop = rollout.get("stop_condition")
    if not isinstance(stop, str):
        return None
    kind = KIND_OF_STOP.get(stop)
    is_timeout = stop.endswith(TIMEOUT_ENDING) or rollout.get("is_timeout") is True
    if kind is None and is_timeout:
        kind = "limit"
    if kind is None:
        return None
    return make_incident(kind, stop, "stop_condition")


def apply_legacy_incident(item: Item, rollout: JsonObject) -> None:
    """Record why a rollout of an older version has no answer."""
    apply_incident(item, find_legacy_incident(rollout))
    check_reply_text(item, find_last_reply(item), "completion")


def find_legacy_incident(rollout: JsonObject) -> Incident | None:
    """Find out why a rollout of an older version has no answer. None if it has one. An empty reply
    is only a weak sign.
    """
    error = rollout.get("error")
    if error:
        fields = as_object(error)
        name = fields.get("error")
        error_class = name if isinstance(name, str) else ""
        chain = fields.get("error_chain_repr") or fields.get("message") or error
        return _make_error_incident(error_class, str(chain), "error")
    stopped = _find_stop_incident(rollout)
    if stopped is not None:
        return stopped
    if rollout.get("completion") == []:
        return make_empty_reply_incident("completion")
    return None
