"""Fill the items of tau2-bench tasks: the conversation, the golden actions and the error types.

The `messages` of a sample are the conversation as the simulated user sees it. The conversation of the agent, with the
calls of both, is in the store under `StoredAgentState:AGENT:trajectory`. The golden actions are one way to solve the
task. They count only if `ACTION` is part of the reward.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.records import as_object, list_objects, shorten_question
from fcreview.importers.inspect.log import AGENT_STATE_PREFIX
from fcreview.importers.inspect.messages import Conversation, get_text_and_error, read_tool_call
from fcreview.importers.tau.checker import read_reward_basis
from fcreview.importers.tau.conversation import (
    ConversationMessage,
    ToolCall,
    add_conversation,
    add_instruction,
    pair_golden_actions,
    read_golden_actions,
)
from fcreview.importers.tau.read import read_scenario
from fcreview.model.item import Item
from fcreview.model.json_value import answer_hash, to_plain_json

_REWARD_PARTS = {
    "database": "DB",
    "communicat": "COMMUNICATE",
    "environment assertion": "ENV_ASSERTION",
    "action": "ACTION",
}
"""Word in the scorer's explanation -> part of the reward that failed."""
NOT_RECOMPUTED_NOTE = "the verdict depends on the simulated environment"


def is_tau2_sample(sample_value: dict[str, Any]) -> bool:
    task = as_object(as_object(sample_value.get("metadata")).get("task"))
    return "evaluation_criteria" in task and "user_scenario" in task


def fill_tau2_item(item: Item, sample_value: dict[str, Any]) -> Conversation:
    """Fill the conversation, the golden actions and their pairs. Return the conversation."""
    task: dict[str, Any] = sample_value["metadata"]["task"]
    trajectory = _read_agent_trajectory(sample_value.get("store"))
    messages = trajectory or _read_user_conversation(sample_value.get("messages"))
    add_conversation(item, messages)
    question, instruction = read_scenario(task)
    add_instruction(item, instruction)
    item.question = shorten_question(question) or item.question
    criteria = as_object(task.get("evaluation_criteria"))
    basis = read_reward_basis(criteria)
    pair_golden_actions(item, read_golden_actions(criteria))
    item.extra.uncounted_states = "+" if "ACTION" in basis else "-!+"
    checks = {name: criteria[name] for name in ("communicate_info", "env_assertions") if criteria.get(name)}
    item.extra.metadata["metadata"] = {"reward_basis": basis, **to_plain_json(checks)}
    item.golden_hash = answer_hash(to_plain_json(task))
    item.prediction_hash = answer_hash(
        [[each.role, each.content, [[call.name, call.arguments] for call in each.calls]] for each in messages]
    )
    item.rule_note = NOT_RECOMPUTED_NOTE
    return Conversation(item.messages, item.predicted, item.n_turns, item.n_steps)


def set_tau2_error_type(item: Item, explanation: str | None) -> None:
    """Set the error type to the failed part of the reward, and the first difference to the scorer's explanation."""
    if item.official is not False:
        return
    text = (explanation or "").lower()
    part = next((name for word, name in _REWARD_PARTS.items() if word in text), None)
    if part is not None:
        item.error_type = part
        for verdict in item.verdicts:
            if verdict.source == "official" and verdict.criterion == "correct":
                verdict.error_type = part
    item.first_difference = " ".join((explanation or "")[:600].split())[:300] or item.first_difference


def _read_agent_trajectory(store: Any) -> list[ConversationMessage]:
    """Return the messages of the agent and the user in order, or none if the store has no trajectory."""
    names = [name for name in as_object(store) if name.startswith(AGENT_STATE_PREFIX) and name.endswith(":trajectory")]
    entries = list_objects(store[names[0]]) if names else []
    messages = ((each.get("message"), str(each.get("role"))) for each in entries)
    return [_convert_message(message, role) for message, role in messages if isinstance(message, dict)]


def _read_user_conversation(messages: Any) -> list[ConversationMessage]:
    """Return the conversation as the simulated user sees it, but with the roles of user and assistant exchanged.

    It is used if a sample has no trajectory of the agent.
    """
    return [
        _convert_message(message, "user" if message["role"] == "assistant" else "assistant")
        for message in list_objects(messages)
        if message.get("role") in ("user", "assistant", "tool")
    ]


def _convert_message(message: dict[str, Any], speaker: str) -> ConversationMessage:
    text = get_text_and_error(message)
    if message.get("role") == "tool":
        return ConversationMessage("tool", text, name=str(message.get("function") or "") or None)
    calls = [ToolCall(*read_tool_call(call)) for call in message.get("tool_calls") or () if isinstance(call, dict)]
    return ConversationMessage("user" if speaker == "user" else "assistant", text, calls)
