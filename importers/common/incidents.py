"""Make incidents and apply them to items, so that no text blames the model for a request that
failed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcreview.importers.common.jsonl import make_excerpt
from fcreview.model.address import ITEM
from fcreview.model.error_text import classify_error_text
from fcreview.model.incident import Incident, IncidentCertainty, IncidentKind, describe_incident
from fcreview.model.item import Item, ItemFlag, SourceName, Verdict
from fcreview.model.json_value import to_json_text
from fcreview.model.review import CORRECT
from fcreview.model.verdict import DECISIVE_STEP

MAX_INCIDENT_TEXT = 4_000
"""Maximum number of characters of `Incident.text`.

The rest is cut off; the raw record contains all.
"""
MAX_EXPLANATION_EXCERPT = 200
MAX_EXPLANATION_INPUT = 4 * MAX_EXPLANATION_EXCERPT
"""Number of characters from which an excerpt is made. Tracebacks have much white space, which the
excerpt leaves out.
"""
JUDGE_FAILED: ItemFlag = "judge_failed"

KIND_OF_FINISH_REASON: dict[str, IncidentKind] = {
    # OpenAI, Azure, OpenTelemetry, Inspect
    "content_filter": "content_filter",
    "error": "unknown",
    "model_length": "context_length",
    # Anthropic
    "model_context_window_exceeded": "context_length",
    # Google
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "spii": "content_filter",
    "image_safety": "content_filter",
    "malformed_function_call": "unparsable",
    "unexpected_tool_call": "unparsable",
    "too_many_tool_calls": "unparsable",
    "missing_thought_signature": "unparsable",
    # Amazon Bedrock
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "unparsable",
    "malformed_tool_use": "unparsable",
    # Cohere
    "timeout": "timeout",
    "error_limit": "context_length",
    "error_toxic": "content_filter",
}
"""Reason in lower case with which a provider's API ends a reply -> kind of the incident. Every
other reason, such as `stop`, `length` (the reply reached the limit that the request set) and
`refusal` (the model declined), is a result.
"""


def make_incident(kind: IncidentKind, text: Any, where: str, *, is_marked: bool = True) -> Incident:
    """Make an incident.

    `text` is a JSON value, of which anything but a string becomes JSON text.
    """
    text = text if isinstance(text, str) else to_json_text(text)
    certainty: IncidentCertainty = "marked" if is_marked else "rule"
    return Incident(
        kind=kind, text=make_excerpt(text, MAX_INCIDENT_TEXT), where=where, certainty=certainty
    )


def make_error_incident(error: Any, where: str, *, is_marked: bool = True) -> Incident:
    """Make an incident from a JSON value that is known to be an error. Its words determine the
    kind.

    If the value is an object with a message, as in the responses of OpenAI, the incident has the
    text of the message.
    """
    text = error if isinstance(error, str) else to_json_text(error)
    message = error.get("message") if isinstance(error, dict) else None
    if isinstance(message, str) and message:
        return make_incident(
            classify_error_text(message, text), message, where, is_marked=is_marked
        )
    return make_incident(classify_error_text(text), text, where, is_marked=is_marked)


def make_empty_reply_incident(where: str, text: str = "") -> Incident:
    """Make the incident of an empty reply. It is only a weak sign of a failed request, because
    nobody can tell whether the model or the service was silent.
    """
    return Incident(kind="empty_reply", text=text, where=where, certainty="weak")


def find_empty_reply(reply: Any, where: str) -> Incident | None:
    """Return the incident of an empty reply, if a reply is null, or a text, list or object without
    content. It is only a weak sign of a failed request.
    """
    if isinstance(reply, str):
        is_empty = not reply.strip()
    elif isinstance(reply, (list, dict)):
        is_empty = not reply
    else:
        is_empty = reply is None
    return make_empty_reply_incident(where) if is_empty else None


def find_finish_reason_incident(reason: Any, text: Any, where: str) -> Incident | None:
    """Return the incident that a finish reason of a provider states, or None if the reply is a
    result.
    """
    kind = KIND_OF_FINISH_REASON.get(reason.lower()) if isinstance(reason, str) else None
    return None if kind is None else make_incident(kind, text or reason, where)


def apply_incident(item: Item, incident: Incident | None) -> None:
    """Record an incident on an item that is otherwise complete. None is no incident.

    If the incident counts, it replaces what fcreview says about the cause of the failure. The
    verdicts and the error type of the score file stay as they are.
    """
    item.set_incident(incident)
    if incident is None or not incident.counts:
        return

    explanation = explain_incident(incident)
    item.rule_error_type = None
    item.first_difference = explanation
    item.diff_function = None
    item.diff_argument = None
    item.diff_golden = None
    item.diff_predicted = None
    item.decisive_step = None
    item.verdicts = [
        _explain_rule_verdict(verdict, explanation)
        for verdict in item.verdicts
        if verdict.criterion != DECISIVE_STEP
    ]


def explain_incident(incident: Incident) -> str:
    """Return one line that says why there is no answer, with the beginning of the text of the
    failure.
    """
    explanation = describe_incident(incident.kind, incident.certainty)
    # Each group of white space becomes one blank.
    text = " ".join(incident.text[:MAX_EXPLANATION_INPUT].split())
    if not text:
        return explanation
    return f"{explanation} ({make_excerpt(text, MAX_EXPLANATION_EXCERPT)})"


def _explain_rule_verdict(verdict: Verdict, explanation: str) -> Verdict:
    """Return the recomputed verdict on the item with the incident as its reason, and any other
    verdict unchanged.
    """
    if (verdict.source, verdict.target, verdict.criterion) != ("rule", ITEM, CORRECT):
        return verdict
    return replace(verdict, error_type=None, rationale=explanation)


def add_failed_verdict(
    item: Item,
    source: SourceName,
    *,
    failure: str,
    by: str,
    target: str = ITEM,
    criterion: str = CORRECT,
) -> None:
    """Add the verdict of a judge or scorer that failed. It has no value; `failure` says why.

    The failure says nothing about the answer, so the item has no incident and stays in all samples
    and figures.
    """
    verdict = Verdict(source, None, target=target, criterion=criterion, by=by)
    verdict.failure = make_excerpt(failure, MAX_INCIDENT_TEXT)
    item.verdicts.append(verdict)
    flag_judge_failure(item)


def flag_judge_failure(item: Item) -> None:
    if JUDGE_FAILED not in item.flags:
        item.flags.append(JUDGE_FAILED)
