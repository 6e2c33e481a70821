"""Recognise conversations of tau-bench v1 and tau2-bench that have no answer or a cut one.

Both programs say so in fields of their own: the runner of tau-bench v1 writes `info.error`, and
tau2-bench writes the termination reason `infrastructure_error` since 1.0.0. An agent or a user who
breaks a rule of the conversation (`agent_error`, `user_error`, `too_many_errors`) is a result.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.incidents import (
    make_empty_reply_incident,
    make_error_incident,
    make_incident,
)
from fcreview.importers.common.records import as_object, list_objects
from fcreview.importers.tau.checker import INFRASTRUCTURE_ERROR
from fcreview.importers.tau.conversation import get_content_text
from fcreview.model.error_text import classify_error_text
from fcreview.model.incident import Incident

TERMINATION_REASON = "termination_reason"
LIMIT_ENDINGS = ("max_steps", "timeout")
"""Termination reasons of a simulation that used up the steps or the time that the run allowed."""


def find_version1_incident(entry: dict[str, Any]) -> Incident | None:
    """Return the incident of an entry of tau-bench v1.

    After an exception, the entry has `info.error` and an empty `traj`. Without an error, a missing
    `reward_info` means that the conversation reached the limit of 30 steps
    (`tau_bench/envs/base.py`), which is a result.
    """
    info = as_object(entry.get("info"))
    if "error" in info:
        return make_error_incident(get_content_text(info["error"]), "info.error")
    # A conversation that was cut off has messages, the reward 0 and no `reward_info`.
    if info.get("reward_info") is None and entry.get("reward") == 0 and entry.get("traj"):
        return make_incident(
            "limit", "the conversation reached the step limit", "info.reward_info", is_marked=False
        )
    if _is_last_reply_empty(entry.get("traj")):
        return make_empty_reply_incident("traj")
    return None


def find_simulation_incident(simulation: dict[str, Any]) -> Incident | None:
    """Return the incident of a simulation of tau2-bench, from its termination reason."""
    reason = simulation.get(TERMINATION_REASON)
    if reason in LIMIT_ENDINGS:
        return make_incident("limit", reason, TERMINATION_REASON)
    if reason == "context_window_exceeded":
        return make_incident(
            "context_length", _find_error_text(simulation) or reason, TERMINATION_REASON
        )
    if reason in (INFRASTRUCTURE_ERROR, "unexpected_error"):
        return _make_simulation_error(simulation, reason)
    if reason == "agent_error" and _is_last_reply_empty(simulation.get("messages")):
        return make_empty_reply_incident("messages")
    return None


def _make_simulation_error(simulation: dict[str, Any], reason: str) -> Incident:
    """Make the incident of a simulation that failed.

    The name of the exception helps to find the kind.
    """
    text = _find_error_text(simulation)
    error_type = get_content_text(as_object(simulation.get("info")).get("error_type"))
    kind = classify_error_text(text, error_type)
    return make_incident(kind, text or error_type or reason, TERMINATION_REASON)


def _find_error_text(simulation: dict[str, Any]) -> str:
    """Return the text of the error in `info`, or the note on the reward.

    Empty if there is neither.
    """
    error = get_content_text(as_object(simulation.get("info")).get("error"))
    if error:
        return error
    reward_info = as_object(simulation.get("reward_info"))
    return get_content_text(as_object(reward_info.get("info")).get("note"))


def _is_last_reply_empty(messages: Any) -> bool:
    """Return whether the agent's last message has neither text nor calls."""
    for message in reversed(list_objects(messages)):
        if message.get("role") == "assistant":
            has_text = bool(get_content_text(message.get("content")))
            has_calls = bool(message.get("tool_calls"))
            return not (has_text or has_calls)
    return False
