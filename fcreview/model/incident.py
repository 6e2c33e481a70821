"""Define incidents: reasons outside the question for which a model's answer is missing or cut."""

from __future__ import annotations

from dataclasses import dataclass
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
"""Kind of an incident. `limit` means that a limit of the benchmark was used up, which is a result and not a failure."""
INCIDENT_KINDS: tuple[IncidentKind, ...] = get_args(IncidentKind)

IncidentCertainty = Literal["marked", "rule", "weak"]
"""`marked`: the program that wrote the file says so in a field of its own. `rule`: fcreview recognised the text.
`weak`: an empty reply, of which nobody can tell whether the model or the service was silent."""


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
    """Whether figures without incidents leave an item out. A used-up limit is a result, and a weak mark is a guess."""
    return kind is not None and kind != "limit" and certainty != "weak"
