"""Fill the items of the tasks `tau2_*`: the agent's conversation and the golden actions.

The sample's `messages` are the simulated user's side. The agent's own conversation, with the calls of both, is in the
store under `StoredAgentState:AGENT:trajectory`. The golden actions are one way to solve the task. They count only if
`ACTION` is part of the reward.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.records import as_object, list_objects, shorten_question
from fcreview.importers.inspect.messages import Conversation, read_call, text_with_error
from fcreview.importers.tau.checks import DEFAULT_BASIS, read_actions
from fcreview.importers.tau.conversation import ConversationMessage, ToolCall, add_conversation, add_instruction
from fcreview.importers.tau.pairing import pair_actions
from fcreview.importers.tau.read import describe_scenario
from fcreview.model.item import Item
from fcreview.model.json_value import answer_hash, to_plain_json

_PARTS = {"database": "DB", "communicat": "COMMUNICATE", "environment assertion": "ENV_ASSERTION", "action": "ACTION"}
"""Word of the scorer's explanation -> part of the reward that failed."""
NOT_RECOMPUTED = "the verdict is imported, not recomputed: it needs the simulated environment"


def is_tau2_sample(value: dict[str, Any]) -> bool:
    """Whether a sample has a task of tau2-bench in its metadata."""
    task = as_object(as_object(value.get("metadata")).get("task"))
    return "evaluation_criteria" in task and "user_scenario" in task


def fill_tau2_item(item: Item, value: dict[str, Any]) -> Conversation:
    """Fill in the conversation, the golden actions and their pairs. Returns the conversation."""
    task: dict[str, Any] = value["metadata"]["task"]
    messages = _read_trajectory(value.get("store")) or _read_user_side(value.get("messages"))
    add_conversation(item, messages)
    question, instruction = describe_scenario(task)
    add_instruction(item, instruction)
    item.question = shorten_question(question) or item.question
    criteria = as_object(task.get("evaluation_criteria"))
    basis = criteria.get("reward_basis")
    basis = [str(part) for part in basis] if isinstance(basis, list) else DEFAULT_BASIS
    pair_actions(item, read_actions(criteria))
    item.extra.uncounted_states = "+" if "ACTION" in basis else "-!+"
    checks = {name: criteria[name] for name in ("communicate_info", "env_assertions") if criteria.get(name)}
    item.extra.metadata["metadata"] = {"reward_basis": basis, **to_plain_json(checks)}
    item.golden_hash = answer_hash(to_plain_json(task))
    item.prediction_hash = answer_hash(
        [[each.role, each.content, [[call.name, call.arguments] for call in each.calls]] for each in messages]
    )
    item.rule_note = NOT_RECOMPUTED
    return Conversation(item.messages, item.predicted, item.n_turns, item.n_steps)


def finish_tau2_item(item: Item, explanation: str | None) -> None:
    """Set the error type to the failed part, and the first difference to the explanation, not to a golden action."""
    if item.official is not False:
        return
    text = (explanation or "").lower()
    part = next((name for word, name in _PARTS.items() if word in text), None)
    if part is not None:
        item.error_type = part
        for verdict in item.verdicts:
            if verdict.source == "official" and verdict.criterion == "correct":
                verdict.error_type = part
    item.first_difference = " ".join((explanation or "")[:600].split())[:300] or item.first_difference


def _read_trajectory(store: Any) -> list[ConversationMessage]:
    """Return the messages of both sides in order. Empty if the store has no trajectory."""
    trajectories = (
        value
        for name, value in as_object(store).items()
        if name.startswith("StoredAgentState:") and name.endswith(":trajectory")
    )
    return [
        _convert(entry["message"], str(entry.get("role")))
        for entry in list_objects(next(trajectories, None))
        if isinstance(entry.get("message"), dict)
    ]


def _read_user_side(messages: Any) -> list[ConversationMessage]:
    """Return the simulated user's side with the roles exchanged, for a sample without the agent's trajectory."""
    return [
        _convert(message, "user" if message["role"] == "assistant" else "assistant")
        for message in list_objects(messages)
        if message.get("role") in ("user", "assistant", "tool")
    ]


def _convert(message: dict[str, Any], side: str) -> ConversationMessage:
    text = text_with_error(message)
    if message.get("role") == "tool":
        return ConversationMessage("tool", text, name=str(message.get("function") or "") or None)
    calls = [ToolCall(*read_call(call)) for call in message.get("tool_calls") or () if isinstance(call, dict)]
    return ConversationMessage("user" if side == "user" else "assistant", text, calls)
