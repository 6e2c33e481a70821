"""Define incidents: reasons outside the question for which a model's answer is missing or cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

IncidentKind = Literal[
    "rate_limit",
    "timeout",
    "connection",
    "server",
    "auth",
    "bad_request",
    "harness",
    "tool_backend",
    "context_length",
    "content_filter",
    "unparsable",
    "limit",
    "empty_reply",
    "unknown",
]
"""Kind of an incident.

`limit` means that a limit of the benchmark was used up, which is a result and not a failure.
"""
INCIDENT_KINDS: tuple[IncidentKind, ...] = get_args(IncidentKind)

IncidentCertainty = Literal["marked", "rule", "weak", "human"]
"""`marked`: the program that wrote the file says so in a field of its own. `rule`: fcreview
recognised the text. `weak`: an empty reply, of which nobody can tell whether the model or the
service was silent. `human`: a reviewer set the mark, and fcreview would not have counted the item
as an incident. Importers do not use `human`.
"""

INCIDENT = "incident"
"""Criterion of reviews that set (true) or clear (false) the mark of an item."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Why an item has no answer of the model, or a cut one."""

    kind: IncidentKind
    text: str
    """Text of the failure, as the file has it."""
    where: str
    """Field of the record that says so: `result`, `info.error`, `stop_reason`."""
    certainty: IncidentCertainty

    @property
    def counts(self) -> bool:
        """Whether figures without incidents leave the item out."""
        return is_counted_incident(self.kind, self.certainty)


def is_counted_incident(kind: IncidentKind | None, certainty: IncidentCertainty | None) -> bool:
    """Whether figures without incidents leave an item out.

    A used-up limit is a result, and a weak mark is a guess. They count only if a reviewer says so.
    """
    if kind is None:
        return False
    if certainty == "human":
        return True
    return kind != "limit" and certainty != "weak"


def decide_incident(automatic: Incident | None, human_mark: bool | None) -> Incident | None:
    """Return the incident of an item: by the decision of the reviewers, else the automatic one.

    `fcreview.store.review_sql` has the same rule as SQL.

    Args:
        automatic: The incident that the import found, if any.
        human_mark: Whether the reviewers decided that there is an incident; None without decision.
    """
    if human_mark is None:
        return automatic
    if not human_mark:
        return None
    if automatic is None:
        return Incident(kind="unknown", text="", where="", certainty="human")
    # A confirmation of an incident that counts already changes nothing.
    if automatic.counts:
        return automatic
    return replace(automatic, certainty="human")


_SENTENCES: dict[IncidentKind, str] = {
    "rate_limit": "The API returned an error; the model gave no answer: rate limit exceeded",
    "timeout": "The request timed out; the model gave no answer",
    "connection": "The connection to the API failed; the model gave no answer",
    "server": "The API returned an error; the model gave no answer: server error",
    "auth": "The API returned an error; the model gave no answer: access denied",
    "bad_request": "The API rejected the request; the model gave no answer",
    "harness": "The benchmark's program failed; the model gave no answer that it could use",
    "tool_backend": "The server of a tool failed; the model could not finish its answer",
    "context_length": "The conversation is longer than the model can read; the model gave no"
    " answer",
    "content_filter": "The provider blocked the request or the reply; the model gave no answer",
    "unparsable": "The server or the benchmark's program could not parse the model's reply; there"
    " is no answer",
    "limit": "A limit of the run was used up (turns, steps, time or cost)",
    "empty_reply": "The reply is empty",
    "unknown": "The model gave no answer for a reason outside the question",
}
_LABELS: dict[IncidentKind, str] = {
    "rate_limit": "rate limit",
    "timeout": "timeout",
    "connection": "connection",
    "server": "server error",
    "auth": "access denied",
    "bad_request": "bad request",
    "harness": "benchmark program",
    "tool_backend": "tool server",
    "context_length": "context length",
    "content_filter": "content filter",
    "unparsable": "unparsable reply",
    "limit": "limit used up",
    "empty_reply": "empty reply",
    "unknown": "unknown cause",
}
NO_ANSWER = "the model gave no answer"
"""Text instead of the reason why no call could be read from an incident, such as `prose, not
calls`.
"""
WEAK_NOTE = "empty reply"
"""Note on an item with a weak mark. It says nothing about the cause."""


def describe_incident(kind: str, certainty: str | None) -> str:
    """Explain why an item has no answer, as a sentence without full stop.

    A weak mark is only a short note.
    """
    if certainty == "weak":
        return WEAK_NOTE
    for known_kind, sentence in _SENTENCES.items():
        if kind == known_kind:
            return sentence
    return _SENTENCES["unknown"]


def format_incident_title(kind: str) -> str:
    """Return a short title where a sentence does not fit: `No answer: rate limit`."""
    return f"No answer: {format_incident_kind(kind)}"


def format_incident_kind(kind: str) -> str:
    """Return the name of a kind for tables and headings: `rate limit`."""
    for known_kind, label in _LABELS.items():
        if kind == known_kind:
            return label
    return kind
