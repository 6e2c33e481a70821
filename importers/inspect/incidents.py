"""Recognise samples of Inspect logs that have no answer or a cut one.

A sample that failed has `error`. If the context overflows, or the provider blocks the request, the
reply is an ordinary message with the provider's text, which scorers judge as an answer. Only the
stop reason tells. Limits of Inspect itself (`limit`: messages, tokens, time, cost and others) are
results, and are scored.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.incidents import (
    add_failed_verdict,
    apply_incident,
    find_finish_reason_incident,
    flag_judge_failure,
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.inspect.content import get_text_without_reasoning
from fcreview.model.incident import Incident
from fcreview.model.item import Item

OUTPUT_ERROR = "output.error"
STOP_REASON = "output.stop_reason"
SCORERS = "scorers"
"""Name of the origin of the verdict that is missing because a scorer raised an exception."""


def apply_sample_incident(item: Item, sample: dict[str, Any], *, has_scorer_error: bool) -> None:
    """Record why a sample has no answer, and which of its scores are missing because a scorer
    failed.
    """
    apply_incident(item, find_incident(sample, has_scorer_error=has_scorer_error))
    error = sample.get("error")
    if isinstance(error, dict) and has_scorer_error:
        add_failed_verdict(item, "official", failure=_describe_error(error), by=SCORERS)
    _mark_scores_without_value(item, as_object(sample.get("scores")))


def find_incident(sample: dict[str, Any], *, has_scorer_error: bool = False) -> Incident | None:
    """Find out why a sample has no answer, or which limit it used up. None if nothing is known.

    The error of the sample counts first, unless a scorer raised it (`has_scorer_error`), because
    then the model had answered.
    """
    error = sample.get("error")
    if isinstance(error, dict) and not has_scorer_error:
        return make_error_incident(_describe_error(error), "error")
    output = as_object(sample.get("output"))
    if output.get("error"):
        return make_error_incident(output["error"], OUTPUT_ERROR)
    return _find_incident_of_reply(output, sample.get("limit"))


def _find_incident_of_reply(output: dict[str, Any], limit: Any) -> Incident | None:
    """Find out whether the model stopped early, a limit stopped the sample, or the reply is empty,
    which is only a weak sign.
    """
    choice = next(iter(list_objects(output.get("choices"))), {})
    text = get_text_without_reasoning(as_object(choice.get("message")).get("content"))
    incident = find_finish_reason_incident(choice.get("stop_reason"), text, STOP_REASON)
    if incident is not None:
        return incident
    if isinstance(limit, dict):
        return make_incident("limit", _describe_limit(limit), "limit")
    if _is_empty_reply(output, choice, text):
        return make_empty_reply_incident("output")
    return None


def _mark_scores_without_value(item: Item, scores: dict[str, Any]) -> None:
    """Mark the verdicts of scores that have no value.

    In logs, it is NaN or null, and means that nothing was scored.
    """
    for verdict in item.verdicts:
        score = as_object(scores.get(verdict.criterion.partition(".")[0]))
        if verdict.value is None and verdict.failure is None and score:
            verdict.failure = _describe_missing_value(score)
            flag_judge_failure(item)


def _describe_missing_value(score: dict[str, Any]) -> str:
    """Return why a score has no value. Before 0.3.200, the reason is in the metadata."""
    reason = score.get("reason") or as_object(score.get("metadata")).get("unscored_reason")
    texts = [text for text in (reason, score.get("explanation")) if isinstance(text, str) and text]
    return ": ".join(["the score has no value", *texts])


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
