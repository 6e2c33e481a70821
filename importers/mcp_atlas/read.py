"""Read the tasks of an MCP-Atlas run as items.

Only the claims about the answer are judged. The trajectory of the task is one way to the answer:
its calls stand beside the model's, and differences are no errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.importers.common.csv_records import CsvRecord, read_csv_records
from fcreview.importers.common.incidents import add_failed_verdict
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    first_question,
    list_objects,
    set_position,
    shorten_question,
)
from fcreview.importers.dialects.conversation import ParsedConversation
from fcreview.importers.dialects.read import read_conversation
from fcreview.importers.dialects.to_item import ERROR_MARK, fill_conversation
from fcreview.importers.dialects.tools import add_tools
from fcreview.importers.mcp_atlas import columns
from fcreview.importers.mcp_atlas.claims import Judgement, parse_claims, read_judgements
from fcreview.importers.mcp_atlas.discovery import RunFiles
from fcreview.importers.mcp_atlas.incidents import (
    FINAL_RESPONSE,
    apply_task_incident,
    check_skipped_claims,
    find_scoring_failure,
)
from fcreview.matching.align import align_calls_by_turn
from fcreview.model.address import RESPONSE
from fcreview.model.derivation import CLAIM_SCORES_KEY, PASSING_COVERAGE
from fcreview.model.item import (
    AcceptedValues,
    Call,
    ImportIssue,
    Item,
    Message,
    MissingItem,
    RunFact,
    TaskSection,
    Verdict,
)
from fcreview.model.json_value import answer_hash
from fcreview.model.verdict import CLAIM_PREFIX, COVERAGE
from fcreview.run_plan import RunPlan

SCORER = "MCP-Atlas scorer"
JUDGE = "MCP-Atlas judge"
DIAGNOSIS_JUDGE = "MCP-Atlas diagnosis"
FAILURE_MODE = "failure_mode"
NO_FAILURE_MODE = "analysis_error"
"""Mode of a task that was not diagnosed."""
DIAGNOSIS_METADATA = (
    "diagnosis_category",
    "diagnosis_summary",
    "diagnosis_confidence",
    "diagnosis_primary_category",
)
"""Columns of a diagnosis with a text that is shown as metadata."""
NOT_REQUIRED = "-!+"
"""States of calls that are no errors, because only claims are judged."""
SCORE_TOLERANCE = 0.0006
"""Largest difference between a coverage of 3 digits and the mean of its claims."""
MAX_TEXT = 20_000
SUCCESS_STATUSES = ("success", "ok", "completed", "done")
ERROR_STATUSES = ("error", "failed", "failure", "timeout")
"""States of a call in `agent_trajectory`, in lower case."""
SPLITS = ("all", "public", "private")


@dataclass(slots=True)
class _RunContext:
    files: RunFiles
    judge: str
    tasks: dict[str, CsvRecord] = field(default_factory=dict)
    """Task id -> record of the task file, if the results do not contain the tasks."""
    diagnoses: dict[str, dict[str, str]] = field(default_factory=dict)
    known_ids: set[str] = field(default_factory=set)
    """Ids of the tasks that have a result, and of the items so far."""


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue | RunFact | MissingItem]:
    """Yield an item for each record of the result file, and issues.

    Other files of a run are optional: a diagnosis of each failed task, statistics (the official
    metrics), and the tasks. A task without a result is yielded at the end as a missing item.
    """
    files: RunFiles = plan.importer_data
    issues: list[ImportIssue] = []
    statistics = _read_statistics(files.statistics, issues)
    plan.run.official_metrics = statistics
    diagnoses = _read_diagnoses(files.diagnosis, issues) if files.diagnosis is not None else {}
    tasks = _read_tasks(files.tasks, issues) if files.tasks is not None else {}
    yield from issues

    context = _RunContext(files, _find_judge_name(statistics), diagnoses=diagnoses)
    # The scorer copies the columns of the tasks, so only other results lack them.
    if not files.is_scored:
        context.tasks = tasks

    yield from _read_results(context)
    if files.tasks is not None:
        yield from _report_not_run(tasks, context.known_ids)


def _read_results(context: _RunContext) -> Iterator[Item | ImportIssue]:
    """Yield an item for each record of the result file, and issues. Notes the tasks with a result
    in `context.known_ids`.
    """
    files = context.files
    copied_lines = files.scored_copy.lines if files.scored_copy is not None else frozenset()
    for record in read_csv_records(files.results):
        if isinstance(record, ImportIssue):
            yield record
        elif record.line in copied_lines:
            # The run of the scored file has this output with its verdicts.
            context.known_ids.add(columns.get_task_id(record.cells))
        elif not columns.get_task_id(record.cells):
            what = "the record has no task id"
            yield ImportIssue(str(files.results), record.line, what=what, severity="error")
        else:
            yield _make_item(record, context)


def _read_statistics(path: Path | None, issues: list[ImportIssue]) -> dict[str, Any]:
    """Return the official figures by split."""
    if path is None:
        return {}
    value = read_json(path, issues, dict) or {}
    if "mean_coverage" in value:
        return {"all": value}
    return {split: value[split] for split in SPLITS if isinstance(value.get(split), dict)}


def _find_judge_name(statistics: dict[str, Any]) -> str:
    name = as_object(statistics.get("all")).get("evaluator_model")
    return name if isinstance(name, str) and name else JUDGE


def _read_tasks(path: Path, issues: list[ImportIssue]) -> dict[str, CsvRecord]:
    """Return id -> record of each task in the file, the first one of each id. Problems are added to
    `issues`.
    """
    tasks: dict[str, CsvRecord] = {}
    for record in read_csv_records(path):
        if isinstance(record, ImportIssue):
            issues.append(record)
        elif columns.get_task_id(record.cells):
            tasks.setdefault(columns.get_task_id(record.cells), record)
        else:
            what = "the task has no id"
            issues.append(ImportIssue(str(path), record.line, what=what))
    return tasks


def _read_diagnoses(path: Path, issues: list[ImportIssue]) -> dict[str, dict[str, str]]:
    """Return for each task the columns with the diagnosis of its failure. Issues are added to
    `issues`.
    """
    diagnoses: dict[str, dict[str, str]] = {}
    for record in read_csv_records(path):
        if isinstance(record, ImportIssue):
            issues.append(record)
            continue
        # The other columns repeat the task and its result.
        diagnosis = {
            name: cell
            for name, cell in record.cells.items()
            if name.startswith(columns.DIAGNOSIS_PREFIX)
        }
        diagnoses[columns.get_task_id(record.cells)] = diagnosis
    return diagnoses


def _report_not_run(
    tasks: dict[str, CsvRecord], known_ids: set[str]
) -> Iterator[RunFact | MissingItem]:
    """Yield the tasks without a result. The scorer omits them without a message."""
    yield RunFact("expected_items", len(tasks), "tasks of the task file")
    for task_id, record in tasks.items():
        if task_id not in known_ids:
            yield MissingItem(task_id, _get_category(record.cells))


# -- one task


@dataclass(frozen=True, slots=True)
class _Task:
    """The columns of a task and of its result."""

    id: str
    cells: dict[str, str]
    response_column: str | None
    """Column with the answer of the model."""

    @property
    def category(self) -> str:
        return _get_category(self.cells)

    @property
    def response(self) -> str:
        return self.cells.get(self.response_column or "", "")


def _make_item(record: CsvRecord, context: _RunContext) -> Item:
    """Make the item of a result record: a task, the model's answer and the judge's scores of its
    claims.

    The record may lack columns of the task, which the task file has. `context` has what the items
    of a run share.
    """
    task = _join_task(record, context)
    item = _start_item(record, task.id, task.category, context)
    if context.tasks and task.id not in context.tasks:
        add_issue(item, f"{task.id} is not in the task file")
    if task.response_column is None:
        add_issue(item, "there is no column with the answer of the model")

    claims = parse_claims(task.cells.get(columns.CLAIMS, ""))
    item.prediction_hash = answer_hash([task.cells.get(columns.CONVERSATION), task.response])
    item.golden_hash = answer_hash([claims, task.cells.get(columns.ANSWER)])
    item.rule_note = "only claims about the answer are judged"
    _fill_item(item, task, claims, context)
    return item


def _join_task(record: CsvRecord, context: _RunContext) -> _Task:
    """Join a result with the columns of its task. Those of the result take precedence."""
    task_id = columns.get_task_id(record.cells)
    task_record = context.tasks.get(task_id)
    cells = dict(record.cells)
    if task_record is not None:
        cells = {**task_record.cells, **record.cells}
    response_column = columns.find_response_column(cells, context.files.model)
    return _Task(task_id, cells=cells, response_column=response_column)


def _fill_item(item: Item, task: _Task, claims: Sequence[str], context: _RunContext) -> None:
    """Fill the parts of an item. A failure in one part must not lose the others, such as the
    coverage.
    """
    cells = task.cells
    fill_safely(item, partial(_fill_conversation, item, cells, task.response))
    fill_safely(item, partial(_add_golden_trajectory, item, cells))
    fill_safely(item, partial(_add_task, item, cells, claims))
    if context.files.is_scored:
        fill_safely(item, partial(_add_scores, item, task, claims, context.judge))
    # A diagnosis that is read instead of the scored file has its columns in the results.
    diagnosis = context.diagnoses.get(task.id, cells)
    fill_safely(item, partial(_add_diagnosis, item, diagnosis))
    fill_safely(item, partial(_add_metadata, item, cells, task.response_column))
    fill_safely(item, partial(apply_task_incident, item, cells, task.response))


def _start_item(record: CsvRecord, task_id: str, category: str, context: _RunContext) -> Item:
    """Return an item with its id and its place in the file."""
    item_id = columns.make_item_id(task_id, record.line, context.known_ids)
    context.known_ids.add(item_id)

    item = Item(item_id, category, file=str(context.files.results))
    set_position(item, record)
    if item_id != task_id:
        add_issue(item, f"{task_id} occurs more than once")
    return item


def _get_category(cells: dict[str, str]) -> str:
    return cells.get(columns.SPLIT) or "all"


def _parse_cell(item: Item, cells: dict[str, str], column: str) -> Any:
    """Return the JSON value in a cell, or None with an issue if it is not JSON."""
    text = cells.get(column, "")
    if not text.strip():
        return None
    try:
        return parse_json_text(text, [])
    except (ValueError, RecursionError) as error:
        add_issue(item, f"{column} is not JSON: {str(error)[:200]}")
        return None


def _fill_conversation(item: Item, cells: dict[str, str], response: str) -> None:
    """Fill the messages of an item, the calls in them and the function docs, from the cells of its
    record.

    The prompt and the final response are added if the conversation does not contain them.
    """
    messages = _read_written_messages(item, cells)
    prompt = cells.get(columns.PROMPT, "")
    if prompt and not _begins_with_prompt(messages):
        messages = [{"role": "user", "content": prompt}, *messages]

    conversation = ParsedConversation("openai_chat")
    if messages:
        conversation = _read_messages(messages, columns.CONVERSATION)
    add_tools(conversation, _list_tools(item, cells), path=columns.TOOLS)

    fill_conversation(item, conversation)
    item.functions = conversation.functions
    item.question = shorten_question(prompt) or first_question(item.messages)
    _add_final_response(item, response)


def _begins_with_prompt(messages: list[Any]) -> bool:
    """Whether the first message is of the user, or the second one after a system message."""
    return any(message.get("role") == "user" for message in list_objects(messages[:2]))


def _read_written_messages(item: Item, cells: dict[str, str]) -> list[Any]:
    """Return the messages of the model that a record contains. Older files have a trajectory
    instead, which is converted.

    A value that is not a list, and a record without either column, are issues.
    """
    if cells.get(columns.CONVERSATION):
        written = _parse_cell(item, cells, columns.CONVERSATION)
        if written is not None and not isinstance(written, list):
            add_issue(item, f"{columns.CONVERSATION} is not a list")
        return as_list(written)
    if cells.get(columns.OLD_TRAJECTORY):
        written = _parse_cell(item, cells, columns.OLD_TRAJECTORY)
        if written is not None and not isinstance(written, list):
            add_issue(item, f"{columns.OLD_TRAJECTORY} is not a list")
        return list(_convert_old_trajectory(item, as_list(written)))
    if columns.CONVERSATION not in cells and columns.OLD_TRAJECTORY not in cells:
        add_issue(item, "there is no column with the conversation")
    return []


def _convert_old_trajectory(item: Item, turns: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the calls and results of a trajectory as messages of OpenAI's chat format.

    A turn of the trajectory is a call with its result, an answer, or both.
    """
    for index, turn in enumerate(turns):
        fields = as_object(turn)
        has_call = fields.get("name") is not None
        final_answer = fields.get("final_answer")
        if not has_call and final_answer is None:
            add_issue(item, f"{columns.OLD_TRAJECTORY}[{index}] has no call and no answer")
        if has_call:
            path = f"{columns.OLD_TRAJECTORY}[{index}]"
            yield from _convert_old_call(item, fields, path=path, call_id=f"turn_{index}")
        if isinstance(final_answer, str):
            yield {"role": "assistant", "content": final_answer}


def _convert_old_call(
    item: Item, fields: dict[str, Any], path: str, call_id: str
) -> Iterator[dict[str, Any]]:
    """Yield a call of an old trajectory and its result, as messages of OpenAI's chat format.

    The result of a failed call gets a mark. `path` is the place of the call, for issues.
    """
    function = {"name": fields["name"], "arguments": fields.get("parameters")}
    yield {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}

    texts = [str(fields[name]) for name in ("error_message", "output_summary") if fields.get(name)]
    result = "\n".join(texts)
    if _is_failed_call(item, fields, path):
        result = f"{ERROR_MARK}{result}"
    yield {"role": "tool", "tool_call_id": call_id, "content": result}


def _is_failed_call(item: Item, fields: dict[str, Any], path: str) -> bool:
    """Whether a call of an older file failed. An error message says so without a status, too."""
    status = fields.get("status")
    name = str(status or "").lower()
    if name and name not in SUCCESS_STATUSES and name not in ERROR_STATUSES:
        add_issue(item, f"{path}.status is not known: {name[:60]}")
    return name in ERROR_STATUSES or bool(fields.get("error_message"))


def _read_messages(messages: list[Any], column: str) -> ParsedConversation:
    """Read messages, and name in each issue the column that contains them."""
    conversation = read_conversation({"messages": messages})
    conversation.issues = [
        replace(issue, path=issue.path.replace("messages", column, 1))
        for issue in conversation.issues
    ]
    return conversation


def _list_tools(item: Item, cells: dict[str, str]) -> list[Any]:
    """Return the tools on offer. Most files have only their names."""
    written = _parse_cell(item, cells, columns.TOOLS)
    if written is not None and not isinstance(written, list):
        add_issue(item, f"{columns.TOOLS} is not a list")
    tools = []
    for tool in as_list(written):
        if isinstance(tool, str):
            tools.append({"name": tool, "parameters": {"type": "object", "properties": {}}})
        else:
            tools.append(tool)
    return tools


def _add_final_response(item: Item, response: str) -> None:
    """Add the answer, unless the conversation ends with the same text."""
    if not response.strip():
        return
    item.extra.final_answer = response

    turn = 0
    step = 0
    if item.messages:
        last = item.messages[-1]
        if last.role == "assistant" and last.content == response:
            return
        turn = last.turn
        # A message before the first reply has the step -1.
        step = max(last.step, 0)
    message = Message(turn, step, role="assistant", content=response, name=FINAL_RESPONSE)
    item.messages.append(message)


# -- the task


def _add_golden_trajectory(item: Item, cells: dict[str, str]) -> None:
    """Add the dataset's trajectory, one possible way to the answer, with its calls as golden calls.

    A difference from these calls is no error, so the states of the pairs do not count. The whole
    trajectory becomes a section of the task.
    """
    item.extra.uncounted_states = NOT_REQUIRED
    trajectory = _read_golden_trajectory(item, cells)
    item.golden = _make_golden_calls(trajectory)
    item.pairs = align_calls_by_turn(item.golden, item.predicted)
    if trajectory.messages:
        text = _describe_trajectory(trajectory)
        item.task_sections.append(TaskSection("Golden trajectory", text, reveals_golden=True))


def _read_golden_trajectory(item: Item, cells: dict[str, str]) -> ParsedConversation:
    """Read the trajectory of the dataset, with an issue for each part that is not understood."""
    written = _parse_cell(item, cells, columns.TRAJECTORY)
    if written is not None and not isinstance(written, list):
        add_issue(item, f"{columns.TRAJECTORY} is not a list")
    if not as_list(written):
        return ParsedConversation("openai_chat")

    trajectory = _read_messages(as_list(written), columns.TRAJECTORY)
    for issue in trajectory.issues:
        add_issue(item, f"{issue.path}: {issue.what}", severity=issue.severity)
    return trajectory


def _make_golden_calls(trajectory: ParsedConversation) -> list[Call]:
    """Make golden calls of the calls in the golden trajectory. Each argument accepts only the value
    there.
    """
    calls: list[Call] = []
    for message in trajectory.messages:
        for written in message.calls:
            call = Call("golden", written.name, arguments=None, index=len(calls), raw=written.raw)
            if written.arguments is None:
                call.decode_error = f"the arguments {written.problem}"
            else:
                call.arguments = {
                    name: AcceptedValues([value]) for name, value in written.arguments.items()
                }
            calls.append(call)
    return calls


def _describe_trajectory(trajectory: ParsedConversation) -> str:
    """Return the calls, results and texts of a trajectory, one below the other."""
    lines: list[str] = []
    for message in trajectory.messages:
        if message.text:
            lines.append(message.text)
        for call in message.calls:
            lines.append(f"{call.name} {call.raw or call.arguments}")
        for result in message.results:
            lines.append(f"→ {result.text}")
    return "\n".join(lines)[:MAX_TEXT]


def _add_task(item: Item, cells: dict[str, str], claims: Sequence[str]) -> None:
    """Add the golden answer of a task to its item, and the claims that a right answer fulfils."""
    answer = cells.get(columns.ANSWER)
    if answer:
        item.extra.accepted_answers = [answer]
    if claims:
        lines = [f"{number}. {claim}" for number, claim in enumerate(claims, 1)]
        item.task_sections.append(TaskSection("Claims", "\n".join(lines)))
    elif cells.get(columns.CLAIMS, "").strip() not in ("", "[]"):
        add_issue(item, f"{columns.CLAIMS} has no claim that can be read")


# -- scores


def _add_scores(item: Item, task: _Task, claims: Sequence[str], judge: str) -> None:
    """Add the scores of an answer: its coverage, the verdict that follows from it, and the judge's
    verdict on each claim that the answer must contain.

    `claims` are the texts of the claims in the task, and `judge` is the name of the judge.
    """
    cells = task.cells
    coverage = _read_coverage(item, cells)
    details = _read_details(item, cells)
    judgements = _read_claim_judgements(item, details, has_coverage=coverage is not None)
    failure = find_scoring_failure(details)
    if failure is not None:
        add_failed_verdict(item, "official", failure=failure, by=SCORER)
    if coverage is not None:
        _add_coverage_verdicts(item, coverage)
    _add_claim_verdicts(item, judgements, claims, judge)

    check_skipped_claims(item, judgements, task.response)
    _check_counts(item, cells, claims, judgements)
    _check_coverage(item, coverage, judgements)


def _add_claim_verdicts(
    item: Item, judgements: Sequence[Judgement], claims: Sequence[str], judge: str
) -> None:
    """Add the verdict on each claim, and the scores as metadata, from which figures are made."""
    shown_claims = _choose_claim_texts(claims, judgements)
    for index, (claim, judgement) in enumerate(zip(shown_claims, judgements, strict=True)):
        _add_claim_verdict(item, judgement, index, claim=claim, judge=judge)
    item.extra.metadata[CLAIM_SCORES_KEY] = [_get_judged_score(each) for each in judgements]


def _add_coverage_verdicts(item: Item, coverage: float) -> None:
    """Add the coverage, the mean score of the claims, and the verdict that follows from it."""
    item.official = coverage >= PASSING_COVERAGE
    item.verdicts.append(Verdict("official", item.official, by=SCORER))
    item.verdicts.append(Verdict("official", coverage, criterion=COVERAGE, by=SCORER))


def _choose_claim_texts(claims: Sequence[str], judgements: Sequence[Judgement]) -> Sequence[str]:
    """Return the text of the claim of each judgement.

    The judge may have changed the text of a claim. The text of the task is shown if it is certain
    which claim is judged.
    """
    if len(claims) == len(judgements):
        return claims
    return [judgement.claim for judgement in judgements]


def _read_details(item: Item, cells: dict[str, str]) -> Any:
    """Return what the scorer recorded about the claims of a task, with an issue if it is not an
    object.
    """
    details = _parse_cell(item, cells, columns.DETAILS)
    is_other_value = details is not None and not isinstance(details, dict)
    if columns.DETAILS not in cells or is_other_value:
        add_issue(item, f"{columns.DETAILS} is missing or not an object")
    return details


def _read_claim_judgements(item: Item, details: Any, *, has_coverage: bool) -> list[Judgement]:
    """Return the judge's judgement of each claim that the answer must contain.

    A task with a coverage (`has_coverage`) must have judgements. If they are missing or malformed,
    there are issues.
    """
    per_claim = as_object(details).get("per_claim")
    is_needed = per_claim is not None or has_coverage
    if is_needed and not isinstance(per_claim, list):
        add_issue(item, f"{columns.DETAILS}.per_claim is not a list, so claims have no verdicts")
    return list(read_judgements(details))


def _read_coverage(item: Item, cells: dict[str, str]) -> float | None:
    """Return the coverage; None for a task without claims."""
    text = cells.get(columns.COVERAGE)
    if text is None:
        add_issue(item, f"the column {columns.COVERAGE} is missing")
        return None
    if not text.strip():
        return None
    try:
        # Spreadsheets write a decimal comma in some languages.
        coverage = float(text.replace(",", "."))
    except ValueError:
        # Not a number is in no range, so the check below reports it.
        coverage = math.nan
    if not 0 <= coverage <= 1:
        add_issue(item, f"{columns.COVERAGE} is {text[:60]!r}, which is not a number from 0 to 1")
        return None
    return coverage


def _add_claim_verdict(
    item: Item, judgement: Judgement, index: int, *, claim: str, judge: str
) -> None:
    """Add the verdict on the claim with this index. `judge`: name of the judge."""
    criterion = f"{CLAIM_PREFIX}{index + 1}"
    if judgement.problem is not None:
        add_issue(item, f"{columns.DETAILS}.per_claim[{index}]: {judgement.problem}")
    if judgement.is_judge_failure:
        add_failed_verdict(
            item,
            "judge",
            failure=judgement.reason,
            by=judge,
            target=RESPONSE,
            criterion=criterion,
        )
    elif judgement.verdict is not None:
        item.verdicts.append(_make_claim_verdict(judgement, criterion, claim=claim, judge=judge))


def _make_claim_verdict(judgement: Judgement, criterion: str, *, claim: str, judge: str) -> Verdict:
    """Make the verdict on a claim. The claim is shown below the reason."""
    rationale = judgement.reason
    if claim:
        rationale = f"{judgement.reason}\nclaim: {claim}"
    verdict = Verdict(
        "judge",
        judgement.verdict,
        target=RESPONSE,
        criterion=criterion,
        rationale=rationale,
        by=judge,
    )
    # The scorer fails the claims of an empty answer or an error without asking the judge.
    if judgement.is_skipped:
        return replace(verdict, source="official", by=SCORER)
    return verdict


def _get_judged_score(judgement: Judgement) -> float | None:
    """Return the score of a claim; None if the judge failed."""
    return None if judgement.is_judge_failure else judgement.score


def _check_counts(
    item: Item, cells: dict[str, str], claims: Sequence[str], judgements: Sequence[Judgement]
) -> None:
    """Add an issue if the task has another number of claims than were judged, or if the record
    states another number.
    """
    n_judgements = len(judgements)
    if n_judgements == 0:
        return
    if claims and len(claims) != n_judgements:
        add_issue(
            item,
            f"{len(claims)} claims in {columns.CLAIMS}, but {n_judgements} judgements. The"
            " texts of the judge are shown as the claims",
        )
    stated = cells.get(columns.TOTAL, "")
    # pandas writes 5.0 for 5 in a column with empty cells.
    if stated and stated not in (str(n_judgements), f"{n_judgements}.0"):
        add_issue(
            item, f"{columns.TOTAL} is {stated[:60]}, but there are {n_judgements} judgements"
        )


def _check_coverage(item: Item, coverage: float | None, judgements: Sequence[Judgement]) -> None:
    """Add an issue if the coverage is not the mean of the scores of the claims."""
    scores = [judgement.score for judgement in judgements]
    known_scores = [score for score in scores if score is not None]
    # Without all scores, the mean is not known.
    if coverage is None or not scores or len(known_scores) < len(scores):
        return
    mean = sum(known_scores) / len(scores)
    if abs(mean - coverage) > SCORE_TOLERANCE:
        add_issue(
            item, f"{columns.COVERAGE} is {coverage:g}, but the claims have the mean {mean:.3f}"
        )


def _add_diagnosis(item: Item, cells: dict[str, str]) -> None:
    """Add the diagnosis of a task that did not pass: how the model failed, according to a judge.

    The failure mode becomes a verdict of its own, and the error type of the item.
    """
    failure_mode = cells.get(columns.DIAGNOSIS, "").strip()
    if not failure_mode:
        return

    explanation = cells.get("diagnosis_primary_explanation", "")
    if failure_mode == NO_FAILURE_MODE:
        # The judge itself failed, because a task that did not pass has a failure mode.
        add_failed_verdict(
            item,
            "judge",
            failure=explanation or failure_mode,
            by=DIAGNOSIS_JUDGE,
            criterion=FAILURE_MODE,
        )
        return

    item.verdicts.append(_make_diagnosis_verdict(failure_mode, explanation))
    if item.official is False:
        item.error_type = failure_mode
    _add_diagnosis_metadata(item, cells)


def _make_diagnosis_verdict(failure_mode: str, explanation: str) -> Verdict:
    return Verdict(
        "judge",
        [failure_mode],
        criterion=FAILURE_MODE,
        by=DIAGNOSIS_JUDGE,
        rationale=explanation or None,
        error_type=failure_mode,
    )


def _add_diagnosis_metadata(item: Item, cells: dict[str, str]) -> None:
    for name in DIAGNOSIS_METADATA:
        if cells.get(name):
            item.extra.metadata[name] = cells[name]
    failures = _parse_cell(item, cells, "diagnosis_all_failures")
    if failures:
        item.extra.metadata["diagnosis_all_failures"] = failures


def _add_metadata(item: Item, cells: dict[str, str], response_column: str | None) -> None:
    """Add the columns that have no place in an item as metadata, and how the task ended."""
    metadata = item.extra.metadata
    for name, text in cells.items():
        is_read = name in columns.READ_COLUMNS or name.startswith(columns.DIAGNOSIS_PREFIX)
        if not is_read and name != response_column and text:
            metadata[name] = _parse_if_json(text)


def _parse_if_json(text: str) -> Any:
    """Return the value of a list or object, or a text as it is."""
    if text[:1] in ("[", "{"):
        try:
            return parse_json_text(text, [])
        except (ValueError, RecursionError):
            return text
    return text
