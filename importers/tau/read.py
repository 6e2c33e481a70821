"""Read the items of a run. An item of tau2-bench is a simulation in a result file or in a folder of simulations.

`version1.py` reads the items of tau-bench v1.

Reviews by LLM judges are in the simulation. Notes of annotators are files `*_note.json`, written in the viewer of
tau2-bench. Each contains the id of a simulation, may be in any folder, and becomes a recorded review.

Source: `src/tau2/data_model` of sierra-research/tau2-bench, 0.1.0 to 1.0.1. The files do not state their version.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.common.incidents import apply_incident
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
from fcreview.importers.tau.checker import GRADED_ENDINGS, OWN_FIELD, add_pairs_and_verdicts, to_finite_number
from fcreview.importers.tau.conversation import ConversationMessage, ToolCall, get_content_text
from fcreview.importers.tau.discovery import ItemIds, is_task_id, read_run_settings
from fcreview.importers.tau.incidents import find_simulation_incident
from fcreview.importers.tau.version1 import read_version1_items
from fcreview.model.address import ITEM, is_address, turn_address
from fcreview.model.item import ImportIssue, Item, Message, RecordedReview, SharedList, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.model.review import CORRECT, FAULTS
from fcreview.run_plan import RunPlan

SIMULATIONS = "simulations"
UNKNOWN_DOMAIN = "unknown domain"
PLANNED_TRIALS = "trials planned"
"""Metadata key of the number of trials of each task that were planned when the run began."""
FAULT_OF_SOURCE = {"agent": "model", "user": "simulator"}
"""Source of an error in a note or review -> fault in fcreview. There is no fault for the source `system`."""
ITEM_FLAGS = ("agent_error", "user_error", "critical_user_error")
JUDGES_BY_FIELD = {"review": "review", "user_only_review": "review of the user"}
"""Field of a simulation -> name of the judge."""


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
    apply_incident(item, find_simulation_incident(simulation))


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


def add_judge_reviews(
    item: Item, simulation: Mapping[str, Any], turns_by_field: Mapping[str, Mapping[int, int]]
) -> None:
    """Add the verdicts from the judges' reviews of a simulation.

    `turns_by_field` is used to find the turn of an error. Its keys are `turn_idx` and `tick_start`, the two fields of
    an error that may state its position. Its values map the numbers in this field to turns, from 0.
    """
    counts: Counter[str] = Counter()
    for name, judge in JUDGES_BY_FIELD.items():
        review = as_object(simulation.get(name))
        summary = review.get("summary")
        for flag in ITEM_FLAGS:
            if isinstance(review.get(flag), bool):
                rationale, summary = summary if isinstance(summary, str) else None, None
                item.verdicts.append(Verdict("judge", review[flag], ITEM, flag, rationale=rationale, by=judge))
        errors = list_objects(review.get("errors"))
        _add_error_verdicts(item, errors, judge, turns_by_field)
        counts.update(f"{each.get('source') or 'unknown'} {each.get('severity') or 'unknown'}" for each in errors)
    if counts:
        item.extra.metadata["errors found by the review"] = dict(counts)


def _add_error_verdicts(
    item: Item, errors: list[dict[str, Any]], judge_name: str, turns_by_field: Mapping[str, Mapping[int, int]]
) -> None:
    by_target: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for error in errors:
        criterion = "user_error" if error.get("source") == "user" else "agent_error"
        by_target[_find_error_target(error, turns_by_field), criterion].append(error)
    for (target, criterion), found in by_target.items():
        if target == ITEM and any(v.criterion == criterion and v.by == judge_name for v in item.verdicts):
            criterion = f"{criterion}_without_turn"
        kinds = list(dict.fromkeys(str(each.get("error_type") or "error") for each in found))
        rationale = "\n".join(map(_describe_error, found))
        item.verdicts.append(Verdict("judge", True, target, criterion, " + ".join(kinds), rationale, judge_name))


def _find_error_target(error: dict[str, Any], turns_by_field: Mapping[str, Mapping[int, int]]) -> str:
    for name, turns in turns_by_field.items():
        at = error.get(name)
        if isinstance(at, int) and at in turns:
            return turn_address(turns[at])
    return ITEM


def _describe_error(error: dict[str, Any]) -> str:
    parts = [f"fault: {FAULT_OF_SOURCE.get(str(error.get('source')), 'unknown')}"]
    if tags := as_list(error.get("error_tags")):
        parts.append(", ".join(map(str, tags)))
    for name, label in (("severity", ""), ("reasoning", ""), ("correct_behavior", "correct: ")):
        if isinstance(error.get(name), str) and error[name]:
            parts.append(label + error[name])
    return " · ".join(parts)


def read_reviews_from_notes(note_files: Sequence[Path], issues: list[ImportIssue]) -> dict[str, list[RecordedReview]]:
    """Return the notes in the files as `{simulation id: reviews sorted by time}`.

    Source: `SimulationNote` in `data_model/simulation.py` of tau2-bench 1.0.1.
    """
    found: defaultdict[str, list[RecordedReview]] = defaultdict(list)
    for path in note_files:
        document = read_json_document(path)
        issues += document.issues
        fields = document.fields
        notes = list_objects(fields["notes"]) if "notes" in fields else [fields] if fields else []
        for note in notes + list_objects([record.value for record in document.records]):
            simulation = note.get("simulation_id")
            if not isinstance(simulation, str) or not isinstance(note.get("note"), str):
                issues.append(ImportIssue(str(path), None, "a note has no simulation_id or no text and was skipped"))
            else:
                found[simulation].append(_convert_note(note))
    for reviews in found.values():
        reviews.sort(key=lambda review: review.time or "")
    return dict(found)


def _convert_note(note: Mapping[str, Any]) -> RecordedReview:
    own = as_object(note.get(OWN_FIELD))
    target, fault, events = own.get("target"), own.get("fault"), own.get("events")
    source, kind, identifier = note.get("error_source"), note.get("error_type"), note.get("id")
    texts = [own["note"] if isinstance(own.get("note"), str) else str(note["note"]) if not own else ""]
    if source == "system":
        texts.append("the system caused the error")
    tags = own.get("tags") if own else [kind.replace("_", " ")] if isinstance(kind, str) else []
    author = own.get("annotator") or note.get("author_email")
    return RecordedReview(
        "tau2",
        author if isinstance(author, str) else "unknown",
        own.get("verdict"),
        target if isinstance(target, str) and is_address(target) else ITEM,
        own["criterion"] if isinstance(own.get("criterion"), str) else CORRECT,
        " · ".join(filter(None, texts)) or None,
        _read_iso_time(note.get("created_at")),
        [str(event) for event in (events if isinstance(events, list) else [identifier]) if event],
        fault if own and fault in FAULTS else FAULT_OF_SOURCE.get(str(source)) if not own else None,
        [tag for tag in as_list(tags) if isinstance(tag, str)],
    )


def _read_iso_time(value: Any) -> str | None:
    try:
        datetime.fromisoformat(value)
        return str(value)
    except (TypeError, ValueError):
        return None
