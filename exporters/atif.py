"""Export items as trajectories in the Agent Trajectory Interchange Format (ATIF) 1.7, one file per
item.

Each run has a folder. ATIF has no fields for verdicts and golden answers, so they are in the root
field `extra.fcreview`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.exporters.base import ExportSource
from fcreview.matching.conversation import ChatMessage, build_chat_messages, make_tool_definitions
from fcreview.model.effective_verdict import SCORING_ORDER
from fcreview.model.json_value import to_plain_json

if TYPE_CHECKING:
    from fcreview.model.item import Call, Item
    from fcreview.store.rows import ItemDetail

VERSION = "ATIF-v1.7"
STEP_SOURCES = {"assistant": "agent", "user": "user"}
"""Source of a step by the role of its message. All other roles are of the system."""
"""ATIF version of the files. All readers accept 1.7, and version 1.8 only adds audio."""
MAX_NAME_LENGTH = 100
JsonObject = dict[str, Any]


def write_trajectories(source: ExportSource, folder: Path) -> None:
    """Write each item as a file, in a folder for its run."""
    used_names: set[str] = set()
    for chunk in source.iter_item_chunks():
        for detail in chunk:
            run_name = _sanitize_file_name(f"{detail.row.run}_{detail.run.model}")
            (folder / run_name).mkdir(exist_ok=True)
            item_name = _sanitize_file_name(detail.item.id)
            name = _reserve_unique_name(f"{run_name}/{item_name}", used_names)
            trajectory = to_plain_json(make_trajectory(detail))
            text = json.dumps(trajectory, ensure_ascii=False, indent=1)
            file = folder / f"{name}.trajectory.json"
            file.write_text(f"{text}\n", "utf-8", "backslashreplace")


def _sanitize_file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:MAX_NAME_LENGTH] or "item"


def _reserve_unique_name(name: str, used_names: set[str]) -> str:
    """Return a name that no file has yet: the name itself, or with a number, such as `name~2`.

    The name is added to `used_names`, in which case does not matter, because some file systems
    ignore it.
    """
    unique_name = name
    number = 1
    while unique_name.casefold() in used_names:
        number += 1
        unique_name = f"{name}~{number}"
    used_names.add(unique_name.casefold())
    return unique_name


def make_trajectory(detail: ItemDetail) -> JsonObject:
    """Convert an item to an object of ATIF, a format for trajectories of agents. Its steps count
    from 1.
    """
    item = detail.item
    steps = []
    for number, step in enumerate(_make_steps(build_chat_messages(item)), 1):
        steps.append({"step_id": number, **step})
    return {
        "schema_version": VERSION,
        "session_id": item.id or "item",
        "trajectory_id": item.id or "item",
        "agent": _make_agent(detail),
        "steps": steps,
        "final_metrics": _make_final_metrics(item, n_steps=len(steps)),
        "extra": {"fcreview": _make_fcreview_fields(detail)},
    }


def _make_agent(detail: ItemDetail) -> JsonObject:
    """Make ATIF's description of the agent: its name, version, model and available functions."""
    run = detail.run
    agent: JsonObject = {
        "name": str(run.settings.get("agent") or run.benchmark),
        "version": run.generation or "unknown",
        "model_name": str(run.settings.get("model") or run.model),
    }
    if detail.item.functions:
        agent["tool_definitions"] = make_tool_definitions(detail.item.functions)
    return agent


def _make_final_metrics(item: Item, *, n_steps: int) -> JsonObject:
    """Return the tokens and the number of steps of a whole trajectory."""
    metrics: JsonObject = {}
    if item.tokens_in is not None:
        metrics["total_prompt_tokens"] = item.tokens_in
    if item.tokens_out is not None:
        metrics["total_completion_tokens"] = item.tokens_out
    metrics["total_steps"] = n_steps
    return metrics


def _make_fcreview_fields(detail: ItemDetail) -> JsonObject:
    """Return what ATIF has no fields for: the verdicts, the reviews and the golden answer."""
    item = detail.item
    fields: JsonObject = {
        "item": detail.key._asdict() | {"category": item.category, "group": item.group}
    }
    for source in SCORING_ORDER:
        fields[source] = getattr(item, source)
    fields["decisions"] = {"human": detail.row.human, "effective": detail.row.effective}
    fields["labels"] = [asdict(opinion) for opinion in detail.opinions]
    golden_calls = []
    for call in item.golden:
        golden_calls.append({"name": call.name, "arguments": call.arguments, "turn": call.turn})
    fields["golden"] = golden_calls
    return fields


def _make_steps(messages: Sequence[ChatMessage]) -> list[JsonObject]:
    """Make the steps of a conversation, at least one. A tool result is part of a step."""
    steps: list[JsonObject] = []
    steps_by_call_id: dict[str, JsonObject] = {}
    for message in messages:
        if message.role == "tool":
            _add_tool_result(message, steps, steps_by_call_id)
            continue
        step = _make_step(message)
        if message.role == "assistant":
            steps_by_call_id |= dict.fromkeys(message.ids, step)
        steps.append(step)
    return steps or [{"source": "system", "message": ""}]


def _make_step(message: ChatMessage) -> JsonObject:
    """Convert a message, which is no tool result, to a step of ATIF with the calls of the
    message.
    """
    source = STEP_SOURCES.get(message.role, "system")
    step: JsonObject = {"source": source, "message": message.content}
    calls = []
    for call, call_id in zip(message.calls, message.ids, strict=True):
        calls.append(_make_tool_call(call, call_id))

    if source == "agent":
        if message.reasoning:
            step["reasoning_content"] = message.reasoning
        if calls:
            step["tool_calls"] = calls
    elif calls:
        # A simulated user can make calls, too. ATIF allows them only in steps of the agent.
        step["extra"] = {"user_tool_calls": calls}
    elif message.role in ("log", "state", "other"):
        step["extra"] = {"role": message.role, "name": message.name}
    return step


def _make_tool_call(call: Call, call_id: str) -> JsonObject:
    """Make ATIF's object of a call, also of a call that cannot be decoded."""
    tool_call: JsonObject = {
        "tool_call_id": call_id,
        "function_name": call.name,
        "arguments": call.arguments,
    }
    # The arguments of a call that cannot be decoded are a text. ATIF needs an object.
    if call.arguments is None:
        tool_call["arguments"] = {"raw": call.raw or ""}
        tool_call["extra"] = {"parse_error": call.decode_error or "the call cannot be decoded"}
    return tool_call


def _add_tool_result(
    message: ChatMessage, steps: list[JsonObject], steps_by_call_id: dict[str, JsonObject]
) -> None:
    """Add a tool result to the step of the call that it answers.

    A result that names no known call answers the last step, if that step is a reply of the agent
    without calls of its own. Otherwise, and if a simulated user made the call, it gets a new step
    of the system.
    """
    step = steps_by_call_id.get(message.call_id or "")
    if step is not None:
        _add_observation(step, {"source_call_id": message.call_id, "content": message.content})
        return

    if message.is_for_user or not _can_have_unnamed_result(steps):
        steps.append({"source": "system", "message": ""})
    _add_observation(steps[-1], {"content": message.content})


def _add_observation(step: JsonObject, result: JsonObject) -> None:
    observation = step.setdefault("observation", {"results": []})
    observation["results"].append(result)


def _can_have_unnamed_result(steps: Sequence[JsonObject]) -> bool:
    """Whether the last step is of the agent and has no calls that ask for named results."""
    if not steps:
        return False
    last_step = steps[-1]
    return last_step["source"] == "agent" and "tool_calls" not in last_step
