"""Recognise Harbor trials that an exception ended, and verifiers that failed.

`exception_info` of a trial's `result.json` names the exception. The verifier may have run after it;
then the reward counts all the same. A trajectory has no field for errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.importers.common.incidents import (
    add_failed_verdict,
    apply_incident,
    make_empty_reply_incident,
    make_incident,
)
from fcreview.importers.common.records import as_object, list_objects
from fcreview.model.error_text import classify_error_text
from fcreview.model.incident import Incident
from fcreview.model.item import Item

JsonObject = dict[str, Any]
EXCEPTION_INFO = "exception_info"
AGENT_TIME_LIMIT = "AgentTimeoutError"
"""Exception of an agent that used up the time that the task allows. This is a result."""
VERIFIER_EXCEPTIONS = ("Verifier", "Reward", "AddTests", "DownloadVerifier")
"""Beginnings of the names of exceptions that the verifier raises (`harbor/verifier/verifier.py`).
They say nothing about the agent.
"""
VERIFIER = "Harbor verifier"


def apply_trial_incident(item: Item, trial: JsonObject, agent_steps: Sequence[JsonObject]) -> None:
    """Record why a trial has no answer or no verdict, if its result tells.

    Args:
        item: The item of the trial.
        trial: The trial's result, in which Harbor records an exception.
        agent_steps: The agent's messages with their calls.
    """
    exception = _find_exception(trial)
    if not exception:
        apply_incident(item, _find_empty_reply(agent_steps))
        return

    name = _get_text(exception.get("exception_type"))
    message = _get_text(exception.get("exception_message"))
    text = ": ".join(part for part in (name, message) if part)
    # A failure of the verifier says nothing about the answer, only that it has no verdict.
    if name.startswith(VERIFIER_EXCEPTIONS):
        add_failed_verdict(item, "official", failure=text, by=VERIFIER)
        return
    kind = "limit" if name == AGENT_TIME_LIMIT else classify_error_text(message, name)
    apply_incident(item, make_incident(kind, text, EXCEPTION_INFO))


def _find_exception(trial: JsonObject) -> JsonObject:
    """Return the exception of a trial or, for a task in several steps, of the first step that
    has one.
    """
    for owner in (trial, *list_objects(trial.get("step_results"))):
        exception = as_object(owner.get(EXCEPTION_INFO))
        if exception:
            return exception
    return {}


def _find_empty_reply(agent_steps: Sequence[JsonObject]) -> Incident | None:
    """Return an incident if the last step of the agent has neither a text nor a call."""
    if not agent_steps:
        return None
    last = agent_steps[-1]
    if last.get("message") or last.get("tool_calls"):
        return None
    return make_empty_reply_incident("steps")


def _get_text(value: Any) -> str:
    return value if isinstance(value, str) else ""
