"""Recognise rollouts without an answer: failed attempts, requests that ended early, and masks.

The fields are those of `nemo_gym/rollout_collection.py` and of the agents of NeMo Gym (commit
07d6b0d07). A mask (`mask_sample`) says that a rollout must not be trained on, because its reward
does not describe the model. NeMo Gym's own figures include masked rollouts.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.error_replies import check_reply_text
from fcreview.importers.common.incidents import (
    add_failed_verdict,
    apply_incident,
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import as_object
from fcreview.importers.dialects.to_item import find_last_reply
from fcreview.importers.nemo_gym.rollouts import (
    FAILURE_CLASS,
    MASK,
    RESPONSE,
    JsonObject,
    flatten_output,
)
from fcreview.model.error_text import classify_error_text
from fcreview.model.incident import Incident, IncidentKind
from fcreview.model.item import Item

JUDGE_FAILED = "judge_failed"
JUDGE_ERROR = "_ng_failure_judge_error"
JUDGE = "NeMo Gym judge"
KIND_OF_FAILURE: dict[str, IncidentKind] = {
    "timeout_exceeded": "timeout",
    "transient": "server",
    "skipped": "harness",
}
ERROR_FIELDS = ("exception_type", "agent_error_kind", "error_kind", "failure_reason")
"""Fields in which agents name an error. `_NO_ERRORS` lists values that are results."""
_NO_ERRORS = frozenset({"", "none", "other", "max_iteration", "stuck_in_loop"})
TIMEOUT_FIELDS = ("agent_timed_out", "eval_timed_out")
FOREIGN_CONTENT_FIELDS = ("tool_calls", "function_call", "parts")
"""Fields in which messages of other dialects have calls and texts."""
MAX_TOKENS = "max_output_tokens"
FAILED_STATUSES = ("failed", "cancelled")
"""Values of `response.status` with which OpenAI's Responses ends a request without an answer."""


def apply_rollout_incident(item: Item, rollout: JsonObject) -> None:
    apply_incident(item, find_rollout_incident(rollout))
    check_reply_text(item, find_last_reply(item), f"{RESPONSE}.output")


def apply_failure(item: Item, failure: JsonObject) -> None:
    """Record why an attempt of the sidecar file failed. Its reward of 0 is no verdict."""
    failure_class = failure.get(FAILURE_CLASS)
    if failure_class == JUDGE_FAILED:
        reason = failure.get(JUDGE_ERROR)
        text = reason if isinstance(reason, str) and reason else JUDGE_FAILED
        add_failed_verdict(item, "judge", failure=text, by=JUDGE)
        return
    text = failure_class if isinstance(failure_class, str) else "unknown"
    kind = KIND_OF_FAILURE.get(text) or classify_error_text(text)
    apply_incident(item, make_incident(kind, text, FAILURE_CLASS))


def find_rollout_incident(rollout: JsonObject) -> Incident | None:
    """Return why a rollout has no answer, or None if it has one. An empty reply is only a weak
    sign.
    """
    response = as_object(rollout.get(RESPONSE))
    if response.get("error"):
        return make_error_incident(response["error"], "response.error")
    for finder in (_find_named_error, _find_timeout, _find_mask):
        incident = finder(rollout)
        if incident is not None:
            return incident
    status = response.get("status")
    if status in FAILED_STATUSES:
        text = f"the response has the status {status}"
        return make_incident("unknown", text, "response.status")
    return _find_incomplete_response(response)


def _find_named_error(rollout: JsonObject) -> Incident | None:
    """Return the incident that a rollout states in one of its error fields, or None."""
    for field_name in ERROR_FIELDS:
        error = rollout.get(field_name)
        if isinstance(error, str) and error.lower() not in _NO_ERRORS:
            kind: IncidentKind = classify_error_text(error)
            if field_name == "exception_type" and kind == "unknown":
                kind = "harness"
            return make_incident(kind, error, field_name)
    return None


def _find_timeout(rollout: JsonObject) -> Incident | None:
    for field_name in TIMEOUT_FIELDS:
        if rollout.get(field_name) is True:
            return make_incident("timeout", field_name, field_name)
    return None


def _find_mask(rollout: JsonObject) -> Incident | None:
    config = as_object(rollout.get("instance_config"))
    for owner, where in ((rollout, MASK), (config, f"instance_config.{MASK}")):
        if owner.get(MASK) is True:
            return make_incident("harness", "the rollout is masked", where)
    return None


def _find_incomplete_response(response: JsonObject) -> Incident | None:
    """Return the reason why a response has no output, or None if it has output.

    A reply that was cut counts as output. If there is no output at all and the response ended with
    `max_output_tokens`, the context was too long for the model: vLLM ends such responses in this
    way.
    """
    output: Any = response.get("output")
    reason = as_object(response.get("incomplete_details")).get("reason")
    if reason == "content_filter":
        return make_incident("content_filter", reason, "response.incomplete_details.reason")
    if output == [] and reason == MAX_TOKENS:
        return make_incident("context_length", reason, "response.incomplete_details.reason")
    items = flatten_output(output) if isinstance(output, list) else None
    if items is not None and not any(_has_content(item) for item in items):
        return make_empty_reply_incident("response.output")
    return None


def _has_content(item: Any) -> bool:
    """Whether an item of the output is more than a message without text."""
    fields = as_object(item)
    if fields.get("type") not in (None, "message"):
        return True
    if any(fields.get(name) for name in FOREIGN_CONTENT_FIELDS):
        return True
    content = fields.get("content")
    if not isinstance(content, list):
        return bool(content)
    return any(as_object(part).get("text") != "" for part in content)
