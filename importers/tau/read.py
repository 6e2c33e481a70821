"""Read the items of a run. An item of tau2-bench is a simulation in a result file or in a folder of simulations.

`version1.py` reads the items of tau-bench v1.

Source: `src/tau2/data_model` of sierra-research/tau2-bench, 0.1.0 to 1.0.1. The files do not state their version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.common.json_file import JsonDocument, read_json_document
from fcreview.importers.common.jsonl import JsonRecord, make_excerpt
from fcreview.importers.common.records import (
    as_list,
    as_object,
    fill_safely,
    first_question,
    is_integer,
    list_objects,
    read_tools,
    shorten_question,
)
from fcreview.importers.tau import conversation
from fcreview.importers.tau.checker import GRADED_ENDINGS, add_pairs_and_verdicts, to_finite_number
from fcreview.importers.tau.conversation import ConversationMessage, ToolCall, get_content_text
from fcreview.importers.tau.discovery import ItemIds, is_task_id, read_run_settings
from fcreview.importers.tau.reviews import add_judge_reviews, read_reviews_from_notes
from fcreview.importers.tau.version1 import read_version1_items
from fcreview.model.item import ImportIssue, Item, Message, RecordedReview, SharedList
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan

SIMULATIONS = "simulations"
UNKNOWN_DOMAIN = "unknown domain"
PLANNED_TRIALS = "trials planned"
"""Metadata key of the number of trials of each task that were planned when the run began."""


@dataclass(slots=True)
class SharedRunData:
    """Data that all simulations of a run have in common."""

    domain: str = UNKNOWN_DOMAIN
    policy: str = ""
    planned_trials: int | None = None
    functions: list[dict[str, Any]] = field(default_factory=list)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: dict[str, list[RecordedReview]] = field(default_factory=dict)
    """Simulation id -> reviews of the simulation, from the notes that annotators wrote in the viewer of tau2-bench."""


@dataclass(slots=True)
class Conversation:
    messages: list[ConversationMessage]
    turn_indices: list[int]
    """`turn_idx` of each message, to which reviews refer."""
    message_index_by_tick: dict[int, int]
    """Tick number -> index of the last message that began in this tick or an earlier one."""


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    yield from read_version1_items(plan.results[0], plan) if plan.run.generation == "v1" else read_version2_items(plan)


def read_version2_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield the items of a run: one file, or `results.json` (in `plan.data`) and one file for each simulation."""
    main = plan.data[0] if plan.data else plan.results[0]
    is_folder = plan.importer_data is not None
    document = read_json_document(main, SIMULATIONS) if plan.data or not is_folder else JsonDocument()
    issues = [*document.issues]
    data = parse_run_data(document.fields, str(main), issues)
    plan.run.settings |= read_run_settings(document.fields)
    data.notes = read_reviews_from_notes(plan.logs, issues)
    if is_folder and document.records:
        what = f"the simulations in this file are ignored, because the folder {SIMULATIONS} also contains simulations"
        issues.append(ImportIssue(str(main), None, what, severity="notice"))
    if is_folder:
        issues += report_index_differences(plan.results, document.fields, main)
    yield from issues
    ids = ItemIds()
    if not is_folder:
        for record in document.records:
            yield from _read_simulation(record, main, data, ids)
        return
    for path in plan.results:
        simulation = read_json_document(path)
        yield from simulation.issues
        if simulation.fields:
            record = JsonRecord(1, 0, path.stat().st_size, simulation.fields)
            yield from _read_simulation(record, path, data, ids)
        elif not simulation.issues:
            yield ImportIssue(str(path), 1, "the file contains no simulation", severity="error")


def parse_run_data(main_fields: Mapping[str, Any], file: str, issues: list[ImportIssue]) -> SharedRunData:
    info = as_object(main_fields.get("info"))
    environment = as_object(info.get("environment_info"))
    definitions = environment.get("tool_defs")
    functions = read_tools(list(definitions.values()) if isinstance(definitions, dict) else definitions)
    data = SharedRunData(
        domain=get_content_text(environment.get("domain_name")) or UNKNOWN_DOMAIN,
        policy=get_content_text(environment.get("policy")),
        planned_trials=info["num_trials"] if is_integer(info.get("num_trials")) else None,
        functions=SharedList(functions) if functions else [],
    )
    tasks = as_list(main_fields.get("tasks"))
    if main_fields and not tasks:
        what = "the file has no list of tasks, so there are no golden answers"
        issues.append(ImportIssue(file, None, what, severity="error"))
    for at, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or "id" not in task:
            issues.append(ImportIssue(file, None, f"task {at} has no id", make_excerpt(str(task))))
        elif data.tasks.setdefault(str(task["id"]), task) != task:
            what = f"task {task['id']} occurs more than once, with different content. The first one is used"
            issues.append(ImportIssue(file, None, what))
    return data


def report_index_differences(
    simulation_files: Sequence[Path], main_fields: Mapping[str, Any], main_file: Path
) -> Iterator[ImportIssue]:
    """Yield an issue for simulations that only the index or only the folder contains."""
    index = main_fields.get("simulation_index")
    if not isinstance(index, list):
        return
    listed, present = {str(each.get("id")) for each in list_objects(index)}, {path.stem for path in simulation_files}
    without_file = (listed - present, "simulations in the index have no file")
    for names, what in (without_file, (present - listed, "simulation files are not in the index")):
        if names:
            yield ImportIssue(str(main_file), None, f"{len(names)} {what}: {', '.join(sorted(names)[:3])}")


def _read_simulation(record: JsonRecord, path: Path, data: SharedRunData, ids: ItemIds) -> Iterator[Item | ImportIssue]:
    simulation = record.value
    if not isinstance(simulation, dict) or not is_task_id(simulation.get("task_id")):
        what = "has no task_id" if isinstance(simulation, dict) else "is not an object"
        what = f"a simulation {what} and was skipped"
        yield ImportIssue(str(path), record.line, what, make_excerpt(str(simulation)), severity="error")
        return
    task_id, name = str(simulation["task_id"]), str(simulation.get("id") or "")
    item_id, issue = ids.assign_id(task_id, simulation.get("trial"), str(path), record.line, name)
    if issue is not None:
        yield issue
    item = Item(item_id, data.domain, group=f"task {task_id}", file=str(path), line=record.line)
    item.offset, item.length = record.offset, record.length
    task = data.tasks.get(task_id)
    if task is not None:
        item.golden_hash = answer_hash({key: value for key, value in task.items() if key != "issues"})
    elif data.tasks:
        what = f"the file does not contain task {task_id}, so its golden answer is missing"
        item.issues.append(ImportIssue(str(path), record.line, what, item=item_id))
    yield fill_safely(item, partial(_fill_item, item, simulation, task, data))


def _fill_item(item: Item, simulation: dict[str, Any], task: dict[str, Any] | None, data: SharedRunData) -> None:
    item.functions = data.functions
    _add_metadata(item, simulation, task, data)
    readable = _read_conversation(item, simulation)
    found = readable or Conversation([], [], {})
    messages = found.messages
    item.prediction_hash = answer_hash(
        [[each.role, each.content, [[call.name, call.arguments, call.raw] for call in each.calls]] for each in messages]
        if readable is not None
        else simulation.get("messages")
    )
    token_fields = ("prompt_tokens", "completion_tokens")
    item.tokens_in, item.tokens_out = (_sum_agent_tokens(simulation.get("messages"), name) for name in token_fields)
    item.extra.recorded_reviews = data.notes.get(str(simulation.get("id")), [])
    turns = conversation.add_conversation(item, messages)
    policy = get_content_text(simulation.get("policy")) or data.policy
    if policy and not any(message.role == "system" for message in messages):
        item.messages.insert(0, Message(0, -1, "system", policy))
    question, instruction = read_scenario(task or {})
    conversation.add_instruction(item, instruction)
    item.question = shorten_question(question) if question else item.question or first_question(item.messages)
    criteria = (task or {}).get("evaluation_criteria")
    graded = None if readable is None else messages
    add_pairs_and_verdicts(item, simulation, criteria if isinstance(criteria, dict) else None, graded)
    by_index = dict(zip(found.turn_indices, turns, strict=True))
    by_tick = {tick: turns[at] for tick, at in found.message_index_by_tick.items() if 0 <= at < len(turns)}
    add_judge_reviews(item, simulation, {"turn_idx": by_index, "tick_start": by_tick})


def _read_conversation(item: Item, simulation: dict[str, Any]) -> Conversation | None:
    raw_messages, message_index_by_tick = simulation.get("messages"), dict[int, int]()
    try:
        if not raw_messages and simulation.get("ticks"):
            raw_messages, message_index_by_tick = conversation.convert_ticks_to_messages(simulation["ticks"])
        if not raw_messages and simulation.get("termination_reason") in GRADED_ENDINGS:
            raise ValueError("the simulation has neither messages nor ticks")
        return _read_messages(raw_messages or [], message_index_by_tick)
    except MALFORMED_DATA as error:
        conversation.report_unreadable_conversation(item, error)
        return None


def _add_metadata(item: Item, simulation: dict[str, Any], task: dict[str, Any] | None, data: SharedRunData) -> None:
    metadata = item.extra.metadata
    metadata |= {
        "simulation": simulation.get("id"), "trial": simulation.get("trial"), PLANNED_TRIALS: data.planned_trials,
        "ended": simulation.get("termination_reason"),
    }  # fmt: skip
    for name in ("agent_cost", "user_cost"):
        if (cost := to_finite_number(simulation.get(name))) is not None:
            metadata[name.replace("_", " ")] = cost
    item.latency = to_finite_number(simulation.get("duration"))
    if isinstance(authentication := simulation.get("auth_classification"), dict):
        metadata["authentication"] = authentication.get("status")
    if "had_unresponsive_period" in (info := as_object(simulation.get("info"))):
        metadata["unresponsive period"] = bool(info["had_unresponsive_period"])
    if issues := [f"{each.get('status')}: {each.get('title')}" for each in list_objects((task or {}).get("issues"))]:
        metadata["known issues of the task"] = issues


def _sum_agent_tokens(messages: Any, field_name: str) -> int | None:
    usages = [as_object(each.get("usage")) for each in list_objects(messages) if each.get("role") == "assistant"]
    counts = [int(number) for usage in usages if (number := to_finite_number(usage.get(field_name))) is not None]
    return sum(counts) if counts else None


def _read_messages(raw_messages: Any, message_index_by_tick: dict[int, int]) -> Conversation:
    if not isinstance(raw_messages, list):
        raise TypeError("the field messages is not a list")
    messages: list[ConversationMessage] = []
    indices: list[int] = []
    names_of_calls: dict[str, str] = {}
    for at, raw in enumerate(raw_messages):
        if not isinstance(raw, dict):
            raise TypeError(f"message {at + 1} is not a JSON object")
        index = raw["turn_idx"] if isinstance(raw.get("turn_idx"), int) else at
        for message in list_objects(raw.get("tool_messages")) or [raw]:
            messages.append(_read_message(message, names_of_calls))
            indices.append(index)
    return Conversation(messages, indices, message_index_by_tick)


def _read_message(message: dict[str, Any], names_of_calls: dict[str, str]) -> ConversationMessage:
    role = conversation.get_valid_role(message)
    calls = []
    for raw in message.get("tool_calls") or ():
        if not isinstance(raw, dict):
            calls.append(ToolCall("", None, str(raw), "the value is not a call"))
            continue
        name = str(raw.get("name"))
        names_of_calls[str(raw.get("id"))] = name
        calls.append(conversation.parse_tool_call(name, raw.get("arguments")))
    name_of_result = names_of_calls.get(str(message.get("id"))) if role == "tool" else None
    return ConversationMessage(role, conversation.get_spoken_text(message), calls, name_of_result)


class Scenario(NamedTuple):
    question: str
    """Reason why the user contacts the agent."""
    instruction: str
    """Whole instruction to the simulated user."""


def read_scenario(task: dict[str, Any]) -> Scenario:
    scenario = as_object(task.get("user_scenario"))
    instructions, persona = scenario.get("instructions"), scenario.get("persona")
    lines = [f"persona: {get_content_text(persona)}"] if persona else []
    question = get_content_text(task.get("ticket"))
    if isinstance(instructions, dict):
        question = get_content_text(instructions.get("reason_for_call")) or question
        shown = {name: value for name, value in instructions.items() if value and name != "domain"}
        lines += [f"{name}: {get_content_text(value)}" for name, value in shown.items()]
    elif instructions:
        question = get_content_text(instructions)
        lines.append(question)
    return Scenario(question, "\n".join(lines) or question)
