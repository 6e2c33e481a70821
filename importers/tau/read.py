"""Read the items of a run. An item of tau2-bench is a simulation in a result file or in a folder of
simulations.

`version1.py` reads the items of tau-bench v1.

Reviews by LLM judges are in the simulation. Notes of annotators are files `*_note.json`, written in
the viewer of tau2-bench. Each contains the id of a simulation, may be in any folder, and becomes a
recorded review.

Source: `src/tau2/data_model` of sierra-research/tau2-bench, 0.1.0 to 1.0.1. The files do not state
their version.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
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
    add_issue,
    as_list,
    as_object,
    fill_safely,
    first_question,
    is_integer,
    list_objects,
    read_tools,
    set_position,
    shorten_question,
)
from fcreview.importers.dialects.embedded import has_openai_calls, split_by_form
from fcreview.importers.tau.checker import (
    GRADED_ENDINGS,
    KNOWN_ENDINGS,
    OWN_FIELD,
    add_pairs_and_verdicts,
    to_finite_number,
)
from fcreview.importers.tau.conversation import (
    ConversationMessage,
    MalformedMessageError,
    ToolCall,
    add_conversation,
    add_instruction,
    convert_ticks_to_messages,
    get_content_text,
    get_spoken_text,
    make_message_of_unknown_role,
    make_unreadable_message,
    parse_tool_call,
    read_role,
    report_unreadable_conversation,
    select_gradable_messages,
)
from fcreview.importers.tau.discovery import FOLDER_LAYOUT, ItemIds, is_task_id, read_run_settings
from fcreview.importers.tau.foreign_messages import (
    is_foreign_message,
    map_calls_to_functions,
    read_foreign_messages,
)
from fcreview.importers.tau.incidents import find_simulation_incident
from fcreview.importers.tau.task import list_task_sections, select_golden_record
from fcreview.importers.tau.version1 import read_version1_items
from fcreview.model.address import ITEM, is_address, turn_address
from fcreview.model.item import ImportIssue, Item, Message, RecordedReview, SharedList, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.model.review import FAULTS
from fcreview.model.verdict import TargetCriterion
from fcreview.run_plan import RunPlan

SIMULATIONS = "simulations"
UNKNOWN_DOMAIN = "unknown domain"
PLANNED_TRIALS = "trials planned"
"""Metadata key of the number of trials of each task that were planned when the run began."""
FAULT_OF_SOURCE = {"agent": "model", "user": "simulator"}
"""Source of an error in a note or review -> fault in fcreview.

There is no fault for the source `system`.
"""
ERROR_FLAGS = ("agent_error", "user_error", "critical_user_error")
"""Fields of a judge's review with a verdict on the whole simulation. True means an error."""
JUDGES_BY_FIELD = {"review": "review", "user_only_review": "review of the user"}
"""Field of a simulation -> name of the judge."""
MAX_LISTED_IDS = 3
"""Number of simulation ids that an issue names."""


@dataclass(slots=True)
class SharedRunData:
    """Data that all simulations of a run have in common."""

    domain: str = UNKNOWN_DOMAIN
    policy: str = ""
    planned_trials: int | None = None
    functions: list[dict[str, Any]] = field(default_factory=list)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    has_rewards: bool = True
    """Whether a simulation has a recorded reward.

    If none has, recomputed verdicts contradict no official figure.
    """
    notes: dict[str, list[RecordedReview]] = field(default_factory=dict)
    """Simulation id -> reviews of the simulation, from the notes that annotators wrote in the
    viewer of tau2-bench.
    """
    issues: list[ImportIssue] = field(default_factory=list)
    """Problems of the tasks and the notes."""


@dataclass(frozen=True, slots=True)
class ErrorPositions:
    """Turns of the positions that an error in a judge's review may state."""

    turn_by_index: Mapping[int, int] = field(default_factory=dict)
    """Number in the field `turn_idx` of an error -> turn, from 0."""
    turn_by_tick: Mapping[int, int] = field(default_factory=dict)
    """Number in the field `tick_start` of an error, in voice runs -> turn, from 0."""

    def find_target(self, error: dict[str, Any]) -> str:
        """Return the address of the turn of an error, or of the item if the turn is unknown."""
        for name, turns in (("turn_idx", self.turn_by_index), ("tick_start", self.turn_by_tick)):
            position = error.get(name)
            if isinstance(position, int) and position in turns:
                return turn_address(turns[position])
        return ITEM


@dataclass(slots=True)
class Conversation:
    messages: list[ConversationMessage]
    turn_indices: list[int]
    """`turn_idx` of each message, to which reviews refer."""
    message_index_by_tick: dict[int, int]
    """Tick number -> index of the last message that began in this tick or an earlier one."""

    def find_error_positions(self, turns: Sequence[int]) -> ErrorPositions:
        """Return the turns of the positions in reviews. `turns`: turn of each message."""
        turn_by_tick = {}
        for tick, message_index in self.message_index_by_tick.items():
            if 0 <= message_index < len(turns):
                turn_by_tick[tick] = turns[message_index]
        turn_by_index = dict(zip(self.turn_indices, turns, strict=True))
        return ErrorPositions(turn_by_index, turn_by_tick)


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    if plan.run.generation == "v1":
        yield from read_version1_items(plan.results[0], plan)
    else:
        yield from read_version2_items(plan)


def read_version2_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield the items of a run: one file, or `results.json` (in `plan.data`) and one file for
    each simulation.
    """
    if plan.importer_data == FOLDER_LAYOUT:
        yield from _read_folder(plan)
    else:
        yield from _read_single_file(plan)


def _read_single_file(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield the items of a file that contains all simulations of a run."""
    path = plan.results[0]
    document = read_json_document(path, SIMULATIONS)
    yield from document.issues

    plan.run.settings |= read_run_settings(document.fields)
    data = _read_shared_data(document.fields, path, plan.logs)
    data.has_rewards = any(_has_reward(record.value) for record in document.records)
    yield from data.issues

    ids = ItemIds()
    for record in document.records:
        yield from _read_simulation(record, path, data=data, ids=ids)


def _read_folder(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield the items of a run that is a folder: one file for each simulation, and a main file with
    the tasks.

    The main file can be missing. Issues about the whole run then name the first simulation's file.
    """
    main_file = plan.data[0] if plan.data else plan.results[0]
    document = read_json_document(main_file, SIMULATIONS) if plan.data else JsonDocument()
    yield from document.issues

    plan.run.settings |= read_run_settings(document.fields)
    data = _read_shared_data(document.fields, main_file, plan.logs)
    data.has_rewards = any(_has_reward(read_json_document(path).fields) for path in plan.results)
    yield from data.issues
    yield from _report_ignored_simulations(document, main_file)
    yield from report_index_differences(plan.results, document.fields, main_file)

    ids = ItemIds()
    for path in plan.results:
        yield from _read_simulation_file(path, data, ids)


def _report_ignored_simulations(document: JsonDocument, main_file: Path) -> Iterator[ImportIssue]:
    """Yield an issue if the main file of a folder contains simulations. They are ignored, because
    the folder has a file for each simulation.
    """
    if document.records:
        what = (
            f"the simulations in this file are ignored, because the folder {SIMULATIONS} also"
            " contains simulations"
        )
        yield ImportIssue(str(main_file), what=what, severity="notice")


def _read_simulation_file(
    path: Path, data: SharedRunData, ids: ItemIds
) -> Iterator[Item | ImportIssue]:
    """Yield the item of a file that contains one simulation, and the issues of the file."""
    document = read_json_document(path)
    yield from document.issues
    if document.fields:
        record = JsonRecord(1, offset=0, length=path.stat().st_size, value=document.fields)
        yield from _read_simulation(record, path, data=data, ids=ids)
    elif not document.issues:
        what = "the file contains no simulation"
        yield ImportIssue(str(path), line=1, what=what, severity="error")


def _read_shared_data(
    main_fields: Mapping[str, Any], main_file: Path, note_files: Sequence[Path]
) -> SharedRunData:
    """Return what all simulations of a run have in common, with the issues of its parts."""
    data = parse_run_data(main_fields, str(main_file))
    notes = read_reviews_from_notes(note_files)
    data.notes = notes.reviews_by_simulation
    data.issues += notes.issues
    return data


def _has_reward(simulation: Any) -> bool:
    recorded = as_object(as_object(simulation).get("reward_info"))
    return to_finite_number(recorded.get("reward")) is not None


def parse_run_data(main_fields: Mapping[str, Any], file: str) -> SharedRunData:
    """Return the data that all simulations of a run share: domain, policy, functions and tasks.

    `main_fields` are the fields of the run's main file, and `file` is the name of this file, for
    issues.
    """
    info = as_object(main_fields.get("info"))
    environment = as_object(info.get("environment_info"))
    n_trials = info.get("num_trials")
    data = SharedRunData(
        domain=get_content_text(environment.get("domain_name")) or UNKNOWN_DOMAIN,
        policy=get_content_text(environment.get("policy")),
        planned_trials=n_trials if is_integer(n_trials) else None,
        functions=_read_tool_definitions(environment.get("tool_defs")),
    )
    tasks = as_list(main_fields.get("tasks"))
    if main_fields and not tasks:
        what = "the file has no list of tasks, so there are no golden answers"
        data.issues.append(ImportIssue(file, what=what, severity="error"))
    _add_tasks(data, tasks, file)
    return data


def _add_tasks(data: SharedRunData, tasks: Sequence[Any], file: str) -> None:
    """Add tasks by id, and issues for tasks without an id and for contradicting ones."""
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or "id" not in task:
            what = f"task {number} has no id"
            excerpt = make_excerpt(str(task))
            data.issues.append(ImportIssue(file, what=what, raw=excerpt))
            continue
        first_task = data.tasks.setdefault(str(task["id"]), task)
        if first_task != task:
            what = f"task {task['id']} occurs more than once, with different content."
            data.issues.append(ImportIssue(file, what=f"{what} The first one is used"))


def _read_tool_definitions(definitions: Any) -> list[dict[str, Any]]:
    """Return the function docs of a run: a list of tools, or an object with a tool by name."""
    tools = list(definitions.values()) if isinstance(definitions, dict) else definitions
    functions = read_tools(tools)
    return SharedList(functions) if functions else []


def report_index_differences(
    simulation_files: Sequence[Path], main_fields: Mapping[str, Any], main_file: Path
) -> Iterator[ImportIssue]:
    """Yield an issue for simulations that only the index or only the folder contains.

    tau2-bench itself refuses such a folder.
    """
    index = main_fields.get("simulation_index")
    if not isinstance(index, list):
        return
    listed_ids = {str(entry.get("id")) for entry in list_objects(index)}
    present_ids = {path.stem for path in simulation_files}

    without_file = listed_ids - present_ids
    if without_file:
        what = f"{len(without_file)} simulations in the index have no file"
        what += f": {_list_first_ids(without_file)}"
        yield ImportIssue(str(main_file), what=what)

    not_listed = present_ids - listed_ids
    if not_listed:
        what = f"{len(not_listed)} simulation files are not in the index"
        what += f": {_list_first_ids(not_listed)}"
        yield ImportIssue(str(main_file), what=what)


def _list_first_ids(ids: Set[str]) -> str:
    return ", ".join(sorted(ids)[:MAX_LISTED_IDS])


def _read_simulation(
    record: JsonRecord, path: Path, *, data: SharedRunData, ids: ItemIds
) -> Iterator[Item | ImportIssue]:
    """Yield the item of a simulation, and the issues that belong to the file."""
    file = str(path)
    simulation = record.value
    problem = _explain_unusable_simulation(simulation)
    if problem is not None:
        yield _make_skipped_issue(record, file, f"{problem} and was skipped")
        return

    task_id = str(simulation["task_id"])
    simulation_id = str(simulation.get("id") or "")
    assigned = ids.assign_id(
        task_id, simulation.get("trial"), file=file, line=record.line, simulation_id=simulation_id
    )
    if assigned.issue is not None:
        yield assigned.issue

    item = Item(assigned.item_id, data.domain, group=f"task {task_id}", file=file)
    set_position(item, record)
    task = data.tasks.get(task_id)
    _add_golden_hash(item, task_id, data)
    yield fill_safely(item, partial(fill_simulation_item, item, simulation, task, data))


def _explain_unusable_simulation(simulation: Any) -> str | None:
    """Return why a record cannot become an item, or None."""
    if not isinstance(simulation, dict):
        return "a simulation is not an object"
    if not is_task_id(simulation.get("task_id")):
        return "a simulation has no task_id"
    return None


def _add_golden_hash(item: Item, task_id: str, data: SharedRunData) -> None:
    """Set the hash of the item's task, by which reviews notice that the task has changed."""
    task = data.tasks.get(task_id)
    if task is not None:
        item.golden_hash = hash_task(task)
    elif data.tasks:
        add_issue(
            item, f"the file does not contain task {task_id}, so its golden answer is missing"
        )


def _make_skipped_issue(record: JsonRecord, file: str, what: str) -> ImportIssue:
    excerpt = make_excerpt(str(record.value))
    return ImportIssue(file, record.line, what=what, raw=excerpt, severity="error")


def hash_task(task: dict[str, Any]) -> str:
    """Return a hash of a task. The notes on known issues of the task are not included, because they
    do not change what the agent must do.
    """
    return answer_hash({name: value for name, value in task.items() if name != "issues"})


def fill_simulation_item(
    item: Item, simulation: dict[str, Any], task: dict[str, Any] | None, data: SharedRunData
) -> None:
    """Fill an item of tau2-bench: its conversation, its task, the verdicts and judges' reviews.

    The order matters: the grading needs the calls of the conversation and adds to the metadata, and
    an incident replaces verdicts.

    Args:
        item: The item.
        simulation: The record of the item: one simulated conversation.
        task: The record of its task, if it is known.
        data: What all simulations of the run share.
    """
    task_fields = task or {}
    conversation = _read_conversation(item, simulation)
    item.functions = data.functions
    item.ended = _read_termination_reason(item, simulation)
    item.prediction_hash = _hash_answer(simulation, conversation)
    _add_token_counts(item, simulation)
    item.extra.recorded_reviews = data.notes.get(str(simulation.get("id")), [])
    item.extra.metadata = _make_metadata(simulation, task_fields, data)

    # Without a readable conversation, no part of the reward is recomputed, and judges' errors have
    # no position.
    gradable_messages = None
    positions = ErrorPositions()
    if conversation is None:
        add_conversation(item, [])
    else:
        turns = add_conversation(item, conversation.messages)
        gradable_messages = select_gradable_messages(conversation.messages)
        positions = conversation.find_error_positions(turns)

    _add_task(item, simulation, task_fields, data)
    _add_grading(item, simulation, task_fields, gradable_messages, data)
    error_counts = add_judge_reviews(item, simulation, positions)
    if error_counts:
        item.extra.metadata["errors found by the review"] = dict(error_counts)
    apply_incident(item, find_simulation_incident(simulation))


def _add_grading(
    item: Item,
    simulation: dict[str, Any],
    task_fields: dict[str, Any],
    messages: Sequence[ConversationMessage] | None,
    data: SharedRunData,
) -> None:
    """Add the call pairs and the verdicts."""
    criteria = task_fields.get("evaluation_criteria")
    grading = add_pairs_and_verdicts(
        item,
        simulation,
        criteria=criteria if isinstance(criteria, dict) else None,
        messages=messages,
        run_has_rewards=data.has_rewards,
    )
    item.extra.uncounted_states = grading.uncounted_states
    item.extra.metadata |= grading.metadata


def _add_token_counts(item: Item, simulation: dict[str, Any]) -> None:
    messages = simulation.get("messages")
    item.tokens_in = _sum_agent_tokens(messages, "prompt_tokens")
    item.tokens_out = _sum_agent_tokens(messages, "completion_tokens")
    item.latency = to_finite_number(simulation.get("duration"))


def _read_termination_reason(item: Item, simulation: dict[str, Any]) -> str | None:
    """Return why a simulation ended, or None. An unknown reason is reported."""
    reason = simulation.get("termination_reason")
    if not isinstance(reason, str):
        return None
    if reason not in KNOWN_ENDINGS:
        what = (
            f"the termination reason {reason[:60]!r} is unknown. By the rules of tau2-bench, only"
        )
        add_issue(item, f"{what} {' and '.join(GRADED_ENDINGS)} can pass")
    return reason


def _hash_answer(simulation: dict[str, Any], conversation: Conversation | None) -> str:
    """Return the hash of what the agent and the user said and called.

    Costs and times do not change it.
    """
    if conversation is None:
        return answer_hash(simulation.get("messages"))
    return answer_hash([_list_hashed_parts(message) for message in conversation.messages])


def _list_hashed_parts(message: ConversationMessage) -> list[Any]:
    calls = [[call.name, call.arguments, call.raw] for call in message.calls]
    return [message.role, message.content, calls]


def _add_task(
    item: Item, simulation: dict[str, Any], task: dict[str, Any], data: SharedRunData
) -> None:
    """Add what the agent was told (the policy), what the simulated user was told (the instruction),
    and the sections of the task to an item.
    """
    policy = get_content_text(simulation.get("policy")) or data.policy
    if policy and not any(message.role == "system" for message in item.messages):
        item.messages.insert(0, Message(turn=0, step=-1, role="system", content=policy))

    scenario = read_scenario(task)
    add_instruction(item, scenario.instruction)
    item.task_sections = list_task_sections(task)
    item.extra.golden_record = select_golden_record(task)
    if scenario.question:
        item.question = shorten_question(scenario.question)
    elif not item.question:
        item.question = first_question(item.messages)


def _read_conversation(item: Item, simulation: dict[str, Any]) -> Conversation | None:
    """Read the messages or, of a voice run, the ticks.

    If both are unreadable, add an issue and return None.
    """
    try:
        return _convert_messages_or_ticks(simulation)
    except MALFORMED_DATA as error:
        report_unreadable_conversation(item, error)
        return None


def _convert_messages_or_ticks(simulation: dict[str, Any]) -> Conversation:
    """Convert the messages of a simulation. A voice run may have ticks instead."""
    raw_messages = simulation.get("messages")
    message_index_by_tick: dict[int, int] = {}
    if not raw_messages and simulation.get("ticks"):
        converted = convert_ticks_to_messages(simulation["ticks"])
        raw_messages = converted.messages
        message_index_by_tick = converted.message_index_by_tick

    # A conversation that ended in the ordinary way has messages.
    if not raw_messages and simulation.get("termination_reason") in GRADED_ENDINGS:
        raise ValueError("the simulation has neither messages nor ticks")
    return _read_messages(raw_messages or [], message_index_by_tick)


def _make_metadata(
    simulation: dict[str, Any], task: dict[str, Any], data: SharedRunData
) -> dict[str, Any]:
    """Return what the file states about a simulation besides its conversation and verdicts."""
    metadata: dict[str, Any] = {
        "simulation": simulation.get("id"),
        "trial": simulation.get("trial"),
        PLANNED_TRIALS: data.planned_trials,
        "ended": simulation.get("termination_reason"),
    }
    metadata |= _read_costs(simulation)

    authentication = simulation.get("auth_classification")
    if isinstance(authentication, dict):
        metadata["authentication"] = authentication.get("status")
    info = as_object(simulation.get("info"))
    if "had_unresponsive_period" in info:
        metadata["unresponsive period"] = bool(info["had_unresponsive_period"])
    known_issues = [
        f"{issue.get('status')}: {issue.get('title')}" for issue in list_objects(task.get("issues"))
    ]
    if known_issues:
        metadata["known issues of the task"] = known_issues
    return metadata


def _read_costs(simulation: dict[str, Any]) -> dict[str, float]:
    """Return the recorded costs of the agent and of the simulated user, in dollars."""
    costs = {}
    for field_name, title in (("agent_cost", "agent cost"), ("user_cost", "user cost")):
        cost = to_finite_number(simulation.get(field_name))
        if cost is not None:
            costs[title] = cost
    return costs


def _sum_agent_tokens(messages: Any, field_name: str) -> int | None:
    """Return the sum of a usage field over the agent's messages, or None if no message has it."""
    counts = []
    for message in list_objects(messages):
        if message.get("role") != "assistant":
            continue
        number = to_finite_number(as_object(message.get("usage")).get(field_name))
        if number is not None:
            counts.append(int(number))
    return sum(counts) if counts else None


def _read_messages(raw_messages: Any, message_index_by_tick: dict[int, int]) -> Conversation:
    """Read the messages of a simulation, each with the number by which judges refer to it.

    Judges of spoken conversations refer to ticks, units of time, instead. `message_index_by_tick`
    maps them to messages.
    """
    if not isinstance(raw_messages, list):
        raise TypeError("the field messages is not a list")

    messages: list[ConversationMessage] = []
    turn_indices: list[int] = []
    for turn_index, message in _iterate_numbered_messages(raw_messages):
        turn_indices.append(turn_index)
        messages.append(message)
    return Conversation(
        messages, turn_indices=turn_indices, message_index_by_tick=message_index_by_tick
    )


def _iterate_numbered_messages(
    raw_messages: list[Any],
) -> Iterator[tuple[int, ConversationMessage]]:
    """Yield each message with its number: its field `turn_idx`, or its position.

    A message of several results, and a block in the form of another API, are read as several
    messages with one number.
    """
    # Results of calls get the name of the function from the call, which comes before them.
    function_by_call_id: dict[str, str] = {}
    for block in split_by_form(raw_messages, _is_foreign_message):
        if block.is_foreign:
            turn_index = _get_turn_index(block.messages[0], block.first)
            for message in read_foreign_messages(block, function_by_call_id, path="messages"):
                yield turn_index, message
            continue
        for position, raw in enumerate(block.messages, block.first):
            turn_index = _get_turn_index(raw, position)
            for message in _read_own_message(raw, function_by_call_id):
                yield turn_index, message


def _read_own_message(raw: Any, function_by_call_id: dict[str, str]) -> list[ConversationMessage]:
    """Read a message in tau2-bench's own form, and add its calls to `function_by_call_id`.

    A message of several results has the results in its field `tool_messages`.
    """
    messages = []
    parts = list_objects(as_object(raw).get("tool_messages")) or [raw]
    for part in parts:
        message = _read_message(part, function_by_call_id)
        if message.role != "other":
            function_by_call_id |= map_calls_to_functions(part)
        messages.append(message)
    return messages


def _get_turn_index(raw_message: Any, position: int) -> int:
    index = as_object(raw_message).get("turn_idx")
    return index if isinstance(index, int) else position


def _is_foreign_message(message: dict[str, Any]) -> bool:
    """Whether a message is in another form than tau2-bench's, which has a call's name beside its
    id.
    """
    return is_foreign_message(message) or has_openai_calls(message)


def _read_message(raw: Any, function_by_call_id: Mapping[str, str]) -> ConversationMessage:
    """Read a message. `function_by_call_id`: the functions of the calls before this message."""
    try:
        role = read_role(raw)
    except MalformedMessageError as error:
        return make_unreadable_message(raw, str(error))
    if role is None:
        return make_message_of_unknown_role(raw)

    message = ConversationMessage(role, content=get_spoken_text(raw))
    message.calls = [_read_call(raw_call) for raw_call in raw.get("tool_calls") or ()]
    if role == "tool":
        message.name = function_by_call_id.get(str(raw.get("id")))
    return message


def _read_call(raw_call: Any) -> ToolCall:
    if not isinstance(raw_call, dict):
        return ToolCall("", None, raw=str(raw_call), error="the value is not a call")
    return parse_tool_call(str(raw_call.get("name")), raw_call.get("arguments"))


class Scenario(NamedTuple):
    question: str
    """Reason why the user contacts the agent."""
    instruction: str
    """Whole instruction to the simulated user."""


def read_scenario(task: dict[str, Any]) -> Scenario:
    """Read what the simulated user was told: the question with which it begins, and the whole
    instruction.

    The instructions are a text, or an object whose field `reason_for_call` is the question. If the
    task has no instructions, its field `ticket` is the question.
    """
    scenario = as_object(task.get("user_scenario"))
    instructions = scenario.get("instructions")
    persona = scenario.get("persona")

    lines = []
    if persona:
        lines.append(f"persona: {get_content_text(persona)}")

    question = get_content_text(task.get("ticket"))
    if isinstance(instructions, dict):
        question = get_content_text(instructions.get("reason_for_call")) or question
        for name, value in instructions.items():
            if value and name != "domain":
                lines.append(f"{name}: {get_content_text(value)}")
    elif instructions:
        question = get_content_text(instructions)
        lines.append(question)
    return Scenario(question, instruction="\n".join(lines) or question)


def add_judge_reviews(
    item: Item, simulation: Mapping[str, Any], positions: ErrorPositions
) -> Counter[str]:
    """Add the verdicts of the judges that reviewed a simulation. Each judge has a field of its own
    with flags and with a list of errors.

    Returns how many errors they found, by source (agent or user) and severity. `positions` finds
    the place in the item to which an error refers.
    """
    counts: Counter[str] = Counter()
    for field_name, judge in JUDGES_BY_FIELD.items():
        review = as_object(simulation.get(field_name))
        errors = list_objects(review.get("errors"))
        flag_verdicts = list(_make_flag_verdicts(review, judge))
        flagged_criteria = {verdict.criterion for verdict in flag_verdicts}

        item.verdicts += flag_verdicts
        item.verdicts += _make_error_verdicts(
            errors, positions, judge=judge, flagged_criteria=flagged_criteria
        )
        counts.update(_name_source_and_severity(error) for error in errors)
    return counts


def _make_flag_verdicts(review: dict[str, Any], judge: str) -> Iterator[Verdict]:
    """Yield a verdict for each flag of a review. The summary explains the first of them."""
    summary = review.get("summary")
    rationale = summary if isinstance(summary, str) else None
    for flag in ERROR_FLAGS:
        value = review.get(flag)
        if isinstance(value, bool):
            yield Verdict(
                "judge", value, target=ITEM, criterion=flag, rationale=rationale, by=judge
            )
            rationale = None


def _name_source_and_severity(error: dict[str, Any]) -> str:
    source = error.get("source") or "unknown"
    severity = error.get("severity") or "unknown"
    return f"{source} {severity}"


def _make_error_verdicts(
    errors: list[dict[str, Any]],
    positions: ErrorPositions,
    *,
    judge: str,
    flagged_criteria: Set[str],
) -> Iterator[Verdict]:
    """Yield a verdict for each part of the item on which a judge found errors of the agent or the
    user.

    Errors without a turn are about the whole item. If an earlier verdict of the judge has their
    criterion, their own criterion says that they have no turn. The earlier verdict is a flag of the
    judge (`flagged_criteria`), or one on a turn.
    """
    used_criteria = set(flagged_criteria)
    for (target, criterion), grouped_errors in _group_by_target(errors, positions).items():
        verdict = _make_error_verdict(grouped_errors)
        verdict.target = target
        verdict.criterion = criterion
        verdict.by = judge
        if target == ITEM and criterion in used_criteria:
            verdict.criterion = f"{criterion}_without_turn"
        used_criteria.add(criterion)
        yield verdict


def _group_by_target(
    errors: list[dict[str, Any]], positions: ErrorPositions
) -> dict[TargetCriterion, list[dict[str, Any]]]:
    """Group errors by the part of the item in which they are, and by who made them."""
    errors_by_target: defaultdict[TargetCriterion, list[dict[str, Any]]] = defaultdict(list)
    for error in errors:
        criterion = "user_error" if error.get("source") == "user" else "agent_error"
        target = positions.find_target(error)
        errors_by_target[target, criterion].append(error)
    return errors_by_target


def _make_error_verdict(errors: Sequence[dict[str, Any]]) -> Verdict:
    """Return a verdict with the kinds and the descriptions of errors."""
    kinds = [str(error.get("error_type") or "error") for error in errors]
    verdict = Verdict("judge", True, error_type=" + ".join(dict.fromkeys(kinds)))
    verdict.rationale = "\n".join(_describe_error(error) for error in errors)
    return verdict


def _describe_error(error: dict[str, Any]) -> str:
    """Describe an error that a judge found: fault, tags, severity, reasoning and correction."""
    fault = FAULT_OF_SOURCE.get(str(error.get("source")), "unknown")
    parts = [f"fault: {fault}"]
    tags = as_list(error.get("error_tags"))
    if tags:
        parts.append(", ".join(map(str, tags)))

    for name in ("severity", "reasoning", "correct_behavior"):
        text = error.get(name)
        if isinstance(text, str) and text:
            if name == "correct_behavior":
                text = f"correct: {text}"
            parts.append(text)
    return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class _Notes:
    """Content of the files of notes that annotators wrote in the viewer of tau2-bench."""

    reviews_by_simulation: dict[str, list[RecordedReview]]
    """Simulation id -> reviews, sorted by time."""
    issues: list[ImportIssue]


def read_reviews_from_notes(note_files: Sequence[Path]) -> _Notes:
    """Read the notes that users of tau2-bench wrote about simulations, and convert them to reviews
    by simulation id, oldest first.

    A file contains one note, a list of notes, or an object with `notes`. Source: `SimulationNote`
    in `data_model/simulation.py` of tau2-bench 1.0.1.
    """
    reviews: defaultdict[str, list[RecordedReview]] = defaultdict(list)
    issues: list[ImportIssue] = []
    for path in note_files:
        document = read_json_document(path)
        issues += document.issues
        for note in _list_notes(document):
            simulation_id = note.get("simulation_id")
            if isinstance(simulation_id, str) and isinstance(note.get("note"), str):
                reviews[simulation_id].append(_convert_note(note))
            else:
                what = "a note has no simulation_id or no text and was skipped"
                issues.append(ImportIssue(str(path), what=what))

    for reviews_of_simulation in reviews.values():
        reviews_of_simulation.sort(key=lambda review: review.time or "")
    return _Notes(dict(reviews), issues)


def _list_notes(document: JsonDocument) -> list[dict[str, Any]]:
    listed = list_objects([record.value for record in document.records])
    if "notes" in document.fields:
        return list_objects(document.fields["notes"]) + listed
    if document.fields:
        return [document.fields, *listed]
    return listed


def _convert_note(note: Mapping[str, Any]) -> RecordedReview:
    """Convert a note to a review.

    A note that fcreview exported contains the whole review in a field of its own.
    """
    review = RecordedReview("tau2", author=_get_author(note.get("author_email")), verdict=None)
    review.time = _read_iso_time(note.get("created_at"))
    if note.get("id"):
        review.events = [str(note["id"])]

    exported = as_object(note.get(OWN_FIELD))
    if exported:
        _fill_exported_review(review, exported, note)
    else:
        _fill_review_from_viewer(review, note)
    return review


def _get_author(name: Any) -> str:
    return name if isinstance(name, str) else "unknown"


def _join_reason(text: str, note: Mapping[str, Any]) -> str | None:
    """Return the text of a review as its reason.

    The note's error source `system` has no fault in fcreview, so it is added in words.
    """
    texts = [text] if text else []
    if note.get("error_source") == "system":
        texts.append("the system caused the error")
    return " · ".join(texts) or None


def _fill_review_from_viewer(review: RecordedReview, note: Mapping[str, Any]) -> None:
    """Set the fields of a review that an annotator wrote in the viewer of tau2-bench."""
    review.reason = _join_reason(str(note["note"]), note)
    review.fault = FAULT_OF_SOURCE.get(str(note.get("error_source")))
    error_type = note.get("error_type")
    if isinstance(error_type, str):
        review.tags = [error_type.replace("_", " ")]


def _fill_exported_review(
    review: RecordedReview, exported: Mapping[str, Any], note: Mapping[str, Any]
) -> None:
    """Set the fields of a review from a note that fcreview itself exported.

    Values that are unknown or have another type are ignored, because the file may be edited.

    Args:
        review: The review.
        exported: The field of the note in which fcreview wrote the review.
        note: The whole note.
    """
    review.author = _get_author(exported.get("annotator") or note.get("author_email"))
    review.verdict = exported.get("verdict")
    review.tags = [tag for tag in as_list(exported.get("tags")) if isinstance(tag, str)]
    own_text = exported.get("note")
    review.reason = _join_reason(own_text if isinstance(own_text, str) else "", note)
    if exported.get("fault") in FAULTS:
        review.fault = exported["fault"]
    if isinstance(exported.get("events"), list):
        review.events = [str(event) for event in exported["events"] if event]
    _set_target_and_criterion(review, exported)


def _set_target_and_criterion(review: RecordedReview, exported: Mapping[str, Any]) -> None:
    """Set what an exported review is about, if the values are valid."""
    target = exported.get("target")
    if isinstance(target, str) and is_address(target):
        review.target = target
    criterion = exported.get("criterion")
    if isinstance(criterion, str):
        review.criterion = criterion


def _read_iso_time(value: Any) -> str | None:
    try:
        datetime.fromisoformat(value)
        return str(value)
    except (TypeError, ValueError):
        return None
