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
from collections.abc import Generator, Iterator, Mapping, Sequence
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
    shorten_question,
)
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
from fcreview.importers.tau.incidents import find_simulation_incident
from fcreview.importers.tau.task import list_task_sections
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
"""Source of an error in a note or review -> fault in fcreview.

There is no fault for the source `system`.
"""
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
    has_rewards: bool = True
    """Whether a simulation has a recorded reward.

    If none has, recomputed verdicts contradict no official figure.
    """
    notes: dict[str, list[RecordedReview]] = field(default_factory=dict)
    """Simulation id -> reviews of the simulation, from the notes that annotators wrote in the
    viewer of tau2-bench.
    """


@dataclass(slots=True)
class Conversation:
    messages: list[ConversationMessage]
    turn_indices: list[int]
    """`turn_idx` of each message, to which reviews refer."""
    message_index_by_tick: dict[int, int]
    """Tick number -> index of the last message that began in this tick or an earlier one."""

    def map_positions_to_turns(self, turns: Sequence[int]) -> dict[str, dict[int, int]]:
        """Return field of a review's error -> number in this field -> turn, from 0.

        `turns`: turn of each message.
        """
        turn_by_tick = {}
        for tick, message_index in self.message_index_by_tick.items():
            if 0 <= message_index < len(turns):
                turn_by_tick[tick] = turns[message_index]
        return {
            "turn_idx": dict(zip(self.turn_indices, turns, strict=True)),
            "tick_start": turn_by_tick,
        }


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    yield from (
        read_version1_items(plan.results[0], plan)
        if plan.run.generation == "v1"
        else read_version2_items(plan)
    )


def read_version2_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield the items of a run: one file, or `results.json` (in `plan.data`) and one file for
    each simulation.
    """
    if plan.importer_data == FOLDER_LAYOUT:
        yield from _read_folder(plan)
    else:
        yield from _read_single_file(plan)


def _read_single_file(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    path = plan.results[0]
    document = read_json_document(path, SIMULATIONS)
    yield from document.issues

    data = yield from _read_shared_data(plan, document, path)
    data.has_rewards = any(_has_reward(record.value) for record in document.records)
    ids = ItemIds()
    for record in document.records:
        yield from _read_simulation(record, path, data, ids)


def _read_folder(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    main_file = plan.data[0] if plan.data else plan.results[0]
    document = read_json_document(main_file, SIMULATIONS) if plan.data else JsonDocument()
    yield from document.issues

    data = yield from _read_shared_data(plan, document, main_file)
    data.has_rewards = any(_has_reward(read_json_document(path).fields) for path in plan.results)
    if document.records:
        what = (
            f"the simulations in this file are ignored, because the folder {SIMULATIONS} also"
            " contains simulations"
        )
        yield ImportIssue(str(main_file), None, what=what, severity="notice")
    yield from report_index_differences(plan.results, document.fields, main_file)

    ids = ItemIds()
    for path in plan.results:
        simulation = read_json_document(path)
        yield from simulation.issues
        if simulation.fields:
            record = JsonRecord(1, offset=0, length=path.stat().st_size, value=simulation.fields)
            yield from _read_simulation(record, path, data, ids)
        elif not simulation.issues:
            yield ImportIssue(
                str(path), 1, what="the file contains no simulation", severity="error"
            )


def _read_shared_data(
    plan: RunPlan, document: JsonDocument, main_file: Path
) -> Generator[ImportIssue, None, SharedRunData]:
    """Return what all simulations have in common, and set the settings of the run."""
    issues: list[ImportIssue] = []
    data = parse_run_data(document.fields, str(main_file), issues)
    data.notes = read_reviews_from_notes(plan.logs, issues)
    plan.run.settings |= read_run_settings(document.fields)
    yield from issues
    return data


def _has_reward(simulation: Any) -> bool:
    recorded = as_object(as_object(simulation).get("reward_info"))
    return to_finite_number(recorded.get("reward")) is not None


def parse_run_data(
    main_fields: Mapping[str, Any], file: str, issues: list[ImportIssue]
) -> SharedRunData:
    info = as_object(main_fields.get("info"))
    environment = as_object(info.get("environment_info"))
    definitions = environment.get("tool_defs")
    functions = read_tools(
        list(definitions.values()) if isinstance(definitions, dict) else definitions
    )
    data = SharedRunData(
        domain=get_content_text(environment.get("domain_name")) or UNKNOWN_DOMAIN,
        policy=get_content_text(environment.get("policy")),
        planned_trials=info["num_trials"] if is_integer(info.get("num_trials")) else None,
        functions=SharedList(functions) if functions else [],
    )
    tasks = as_list(main_fields.get("tasks"))
    if main_fields and not tasks:
        what = "the file has no list of tasks, so there are no golden answers"
        issues.append(ImportIssue(file, None, what=what, severity="error"))
    for at, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or "id" not in task:
            issues.append(
                ImportIssue(file, None, what=f"task {at} has no id", raw=make_excerpt(str(task)))
            )
        elif data.tasks.setdefault(str(task["id"]), task) != task:
            what = (
                f"task {task['id']} occurs more than once, with different content. The first one is"
                " used"
            )
            issues.append(ImportIssue(file, None, what=what))
    return data


def report_index_differences(
    simulation_files: Sequence[Path], main_fields: Mapping[str, Any], main_file: Path
) -> Iterator[ImportIssue]:
    """Yield an issue for simulations that only the index or only the folder contains."""
    index = main_fields.get("simulation_index")
    if not isinstance(index, list):
        return
    listed, present = (
        {str(each.get("id")) for each in list_objects(index)},
        {path.stem for path in simulation_files},
    )
    without_file = (listed - present, "simulations in the index have no file")
    for names, what in (without_file, (present - listed, "simulation files are not in the index")):
        if names:
            yield ImportIssue(
                str(main_file), None, what=f"{len(names)} {what}: {', '.join(sorted(names)[:3])}"
            )


def _read_simulation(
    record: JsonRecord, path: Path, data: SharedRunData, ids: ItemIds
) -> Iterator[Item | ImportIssue]:
    simulation = record.value
    if not isinstance(simulation, dict) or not is_task_id(simulation.get("task_id")):
        what = "has no task_id" if isinstance(simulation, dict) else "is not an object"
        what = f"a simulation {what} and was skipped"
        yield ImportIssue(
            str(path), record.line, what=what, raw=make_excerpt(str(simulation)), severity="error"
        )
        return
    task_id, name = str(simulation["task_id"]), str(simulation.get("id") or "")
    item_id, issue = ids.assign_id(task_id, simulation.get("trial"), str(path), record.line, name)
    if issue is not None:
        yield issue
    item = Item(item_id, data.domain, group=f"task {task_id}", file=str(path), line=record.line)
    item.offset, item.length = record.offset, record.length
    task = data.tasks.get(task_id)
    if task is not None:
        item.golden_hash = answer_hash(
            {key: value for key, value in task.items() if key != "issues"}
        )
    elif data.tasks:
        what = f"the file does not contain task {task_id}, so its golden answer is missing"
        item.issues.append(ImportIssue(str(path), record.line, what=what, item=item_id))
    yield fill_safely(item, partial(_fill_item, item, simulation, task, data))


def _fill_item(
    item: Item, simulation: dict[str, Any], task: dict[str, Any] | None, data: SharedRunData
) -> None:
    conversation = _read_conversation(item, simulation)
    messages = conversation.messages if conversation is not None else []

    item.functions = data.functions
    item.ended = _read_termination_reason(item, simulation)
    item.tokens_in = _sum_agent_tokens(simulation.get("messages"), "prompt_tokens")
    item.tokens_out = _sum_agent_tokens(simulation.get("messages"), "completion_tokens")
    item.latency = to_finite_number(simulation.get("duration"))
    item.prediction_hash = _hash_answer(simulation, conversation)
    item.extra.recorded_reviews = data.notes.get(str(simulation.get("id")), [])
    _add_metadata(item, simulation, task or {}, data)

    turns = add_conversation(item, messages)
    _add_task(item, simulation, task or {}, data)

    criteria = (task or {}).get("evaluation_criteria")
    graded = None if conversation is None else select_gradable_messages(messages)
    add_pairs_and_verdicts(
        item,
        simulation,
        criteria if isinstance(criteria, dict) else None,
        graded,
        run_has_rewards=data.has_rewards,
    )

    if conversation is not None:
        add_judge_reviews(item, simulation, conversation.map_positions_to_turns(turns))
    else:
        add_judge_reviews(item, simulation, {})
    apply_incident(item, find_simulation_incident(simulation))


def _read_termination_reason(item: Item, simulation: dict[str, Any]) -> str | None:
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
    """Add what the agent and the simulated user were told, and the sections of the task."""
    policy = get_content_text(simulation.get("policy")) or data.policy
    if policy and not any(message.role == "system" for message in item.messages):
        item.messages.insert(0, Message(0, -1, role="system", content=policy))

    scenario = read_scenario(task)
    add_instruction(item, scenario.instruction)
    item.task_sections = list_task_sections(task)
    if scenario.question:
        item.question = shorten_question(scenario.question)
    elif not item.question:
        item.question = first_question(item.messages)


def _read_conversation(item: Item, simulation: dict[str, Any]) -> Conversation | None:
    """Read the messages or, of a voice run, the ticks.

    If both are unreadable, add an issue and return None.
    """
    raw_messages = simulation.get("messages")
    message_index_by_tick: dict[int, int] = {}
    try:
        if not raw_messages and simulation.get("ticks"):
            raw_messages, message_index_by_tick = convert_ticks_to_messages(simulation["ticks"])
        if not raw_messages and simulation.get("termination_reason") in GRADED_ENDINGS:
            raise ValueError("the simulation has neither messages nor ticks")
        return _read_messages(raw_messages or [], message_index_by_tick)
    except MALFORMED_DATA as error:
        report_unreadable_conversation(item, error)
        return None


def _add_metadata(
    item: Item, simulation: dict[str, Any], task: dict[str, Any], data: SharedRunData
) -> None:
    metadata = item.extra.metadata
    metadata |= {
        "simulation": simulation.get("id"),
        "trial": simulation.get("trial"),
        PLANNED_TRIALS: data.planned_trials,
        "ended": simulation.get("termination_reason"),
    }

    for name in ("agent_cost", "user_cost"):
        cost = to_finite_number(simulation.get(name))
        if cost is not None:
            metadata[name.replace("_", " ")] = cost

    authentication = simulation.get("auth_classification")
    if isinstance(authentication, dict):
        metadata["authentication"] = authentication.get("status")

    info = as_object(simulation.get("info"))
    if "had_unresponsive_period" in info:
        metadata["unresponsive period"] = bool(info["had_unresponsive_period"])

    issues = [
        f"{issue.get('status')}: {issue.get('title')}" for issue in list_objects(task.get("issues"))
    ]
    if issues:
        metadata["known issues of the task"] = issues


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
    if not isinstance(raw_messages, list):
        raise TypeError("the field messages is not a list")

    messages: list[ConversationMessage] = []
    indices: list[int] = []
    call_names: dict[str, str] = {}  # id of a call -> its function, for the results that follow
    for position, raw in enumerate(raw_messages):
        index = as_object(raw).get("turn_idx")
        # A message of several results has the results in its field `tool_messages`.
        for part in list_objects(as_object(raw).get("tool_messages")) or [raw]:
            messages.append(_read_message(part, call_names))
            indices.append(index if isinstance(index, int) else position)
    return Conversation(messages, turn_indices=indices, message_index_by_tick=message_index_by_tick)


def _read_message(raw: Any, call_names: dict[str, str]) -> ConversationMessage:
    """Read a message, and add the names of its calls to `call_names`."""
    try:
        role = read_role(raw)
    except MalformedMessageError as error:
        return make_unreadable_message(raw, str(error))
    if role is None:
        return make_message_of_unknown_role(raw)

    calls = []
    for raw_call in raw.get("tool_calls") or ():
        if isinstance(raw_call, dict):
            name = str(raw_call.get("name"))
            call_names[str(raw_call.get("id"))] = name
            calls.append(parse_tool_call(name, raw_call.get("arguments")))
        else:
            calls.append(ToolCall("", None, str(raw_call), "the value is not a call"))
    called = call_names.get(str(raw.get("id"))) if role == "tool" else None
    return ConversationMessage(role, content=get_spoken_text(raw), calls=calls, name=called)


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

    `turns_by_field` is used to find the turn of an error. Its keys are `turn_idx` and `tick_start`,
    the two fields of an error that may state its position. Its values map the numbers in this field
    to turns, from 0.
    """
    counts: Counter[str] = Counter()
    for name, judge in JUDGES_BY_FIELD.items():
        review = as_object(simulation.get(name))
        summary = review.get("summary")
        for flag in ITEM_FLAGS:
            if isinstance(review.get(flag), bool):
                rationale, summary = summary if isinstance(summary, str) else None, None
                item.verdicts.append(
                    Verdict(
                        "judge",
                        review[flag],
                        target=ITEM,
                        criterion=flag,
                        rationale=rationale,
                        by=judge,
                    )
                )
        errors = list_objects(review.get("errors"))
        _add_error_verdicts(item, errors, judge, turns_by_field)
        counts.update(
            f"{each.get('source') or 'unknown'} {each.get('severity') or 'unknown'}"
            for each in errors
        )
    if counts:
        item.extra.metadata["errors found by the review"] = dict(counts)


def _add_error_verdicts(
    item: Item,
    errors: list[dict[str, Any]],
    judge_name: str,
    turns_by_field: Mapping[str, Mapping[int, int]],
) -> None:
    by_target: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for error in errors:
        criterion = "user_error" if error.get("source") == "user" else "agent_error"
        by_target[_find_error_target(error, turns_by_field), criterion].append(error)
    for (target, criterion), found in by_target.items():
        if target == ITEM and any(
            v.criterion == criterion and v.by == judge_name for v in item.verdicts
        ):
            criterion = f"{criterion}_without_turn"
        kinds = list(dict.fromkeys(str(each.get("error_type") or "error") for each in found))
        rationale = "\n".join(map(_describe_error, found))
        item.verdicts.append(
            Verdict(
                "judge",
                True,
                target=target,
                criterion=criterion,
                error_type=" + ".join(kinds),
                rationale=rationale,
                by=judge_name,
            )
        )


def _find_error_target(
    error: dict[str, Any], turns_by_field: Mapping[str, Mapping[int, int]]
) -> str:
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


def read_reviews_from_notes(
    note_files: Sequence[Path], issues: list[ImportIssue]
) -> dict[str, list[RecordedReview]]:
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
                issues.append(
                    ImportIssue(
                        str(path),
                        None,
                        what="a note has no simulation_id or no text and was skipped",
                    )
                )
            else:
                found[simulation].append(_convert_note(note))
    for reviews in found.values():
        reviews.sort(key=lambda review: review.time or "")
    return dict(found)


def _convert_note(note: Mapping[str, Any]) -> RecordedReview:
    own = as_object(note.get(OWN_FIELD))
    target, fault, events = own.get("target"), own.get("fault"), own.get("events")
    source, kind, identifier = note.get("error_source"), note.get("error_type"), note.get("id")
    texts = [
        own["note"] if isinstance(own.get("note"), str) else str(note["note"]) if not own else ""
    ]
    if source == "system":
        texts.append("the system caused the error")
    tags = own.get("tags") if own else [kind.replace("_", " ")] if isinstance(kind, str) else []
    author = own.get("annotator") or note.get("author_email")
    return RecordedReview(
        "tau2",
        author=author if isinstance(author, str) else "unknown",
        verdict=own.get("verdict"),
        target=target if isinstance(target, str) and is_address(target) else ITEM,
        criterion=own["criterion"] if isinstance(own.get("criterion"), str) else CORRECT,
        reason=" · ".join(filter(None, texts)) or None,
        time=_read_iso_time(note.get("created_at")),
        events=[
            str(event) for event in (events if isinstance(events, list) else [identifier]) if event
        ],
        fault=fault
        if own and fault in FAULTS
        else FAULT_OF_SOURCE.get(str(source))
        if not own
        else None,
        tags=[tag for tag in as_list(tags) if isinstance(tag, str)],
    )


def _read_iso_time(value: Any) -> str | None:
    try:
        datetime.fromisoformat(value)
        return str(value)
    except (TypeError, ValueError):
        return None
