"""Find the golden answer of a rollout: in the rollout, or in the input that it was made from.

The environments of NeMo Gym name the golden answer differently. Those that are read are `xlam_fc`,
`workplace_assistant` and `single_step_tool_use_with_argument_comparison`, and the expected answers
in text. An input is joined by its task index, or else by the roles and texts of its messages, never
by its line, because rollouts are in the order in which they ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.jsonl import read_records
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects.values import Arguments, parse_arguments
from fcreview.importers.nemo_gym.rollouts import (
    REQUEST,
    JsonObject,
    RunFiles,
    compute_question_key,
    get_agent_name,
    get_rollout_index,
    get_task_index,
    is_input,
)
from fcreview.importers.nemo_gym.survey import Survey
from fcreview.model.item import AcceptedValues, Call, ImportIssue, MissingItem

GROUND_TRUTH = "ground_truth"
EXPECTED_ACTION = "expected_action"
CALL_LISTS = ("expected_answers", GROUND_TRUTH)
"""Fields with a list of golden calls."""
ANSWER_FIELDS = ("expected_answer", "answer")
"""Fields with the expected answer in words."""
GOLDEN_FIELDS = (*CALL_LISTS, EXPECTED_ACTION, *ANSWER_FIELDS)


@dataclass(slots=True)
class Golden:
    """Golden answer of a rollout."""

    field_name: str
    written: Any
    calls: list[Call] | None = None
    """None if the golden answer is no list of calls."""
    reply: str | None = None
    """Expected message, if the model must not make a call."""
    answers: list[Any] = field(default_factory=list)
    """Expected answers in words."""
    problems: list[str] = field(default_factory=list)
    file: str | None = None
    """Input file with the golden answer; None if it is in the rollout."""

    @property
    def is_readable(self) -> bool:
        return self.calls is not None or bool(self.answers)


def read_golden(row: Mapping[str, Any], file: str | None = None) -> Golden | None:
    """Find the golden answer in a rollout or in an input. None if there is none.

    It can be a list of calls, an expected action (a call or a message), or an answer. A golden
    answer in a form that cannot be read has a problem, and neither calls nor answers. `file` is the
    file of an input.
    """
    for name in CALL_LISTS:
        calls = _find_calls(row.get(name))
        if calls is not None:
            golden = Golden(name, row[name], calls=[], file=file)
            _add_calls(golden, calls)
            return golden

    action = _find_action(row.get(EXPECTED_ACTION))
    if action is not None:
        return _read_expected_action(action, row[EXPECTED_ACTION], file)

    for name in ANSWER_FIELDS:
        answer = row.get(name)
        if answer not in (None, ""):
            return Golden(name, answer, answers=[answer], file=file)
    return _read_other_form(row, file)


def _find_calls(written: Any) -> list[Any] | None:
    """Return the calls of a field with golden calls, or None if it contains something else.

    The field is a list of calls, or their JSON text, or one call. An empty list means that no call
    is expected. In a list, a call without arguments is a call.
    """
    value = _decode_json_text(written)
    if isinstance(value, list):
        calls = [_unwrap_call(call) for call in value]
        is_call_list = all(isinstance(call, dict) and "name" in call for call in calls)
        return calls if is_call_list else None

    call = as_object(_unwrap_call(value))
    return [call] if {"name", "arguments"} <= call.keys() else None


def _decode_json_text(value: Any) -> Any:
    """Return the object or list of a JSON text, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        decoded = parse_json_text(value, [])
    except (ValueError, RecursionError):
        return value
    return decoded if isinstance(decoded, (dict, list)) else value


def _unwrap_call(call: Any) -> Any:
    """Return the content of a call in OpenAI's chat format: `{"function": {"name": ...}}`."""
    function = as_object(call).get("function")
    return function if isinstance(function, dict) else call


def _find_action(written: Any) -> JsonObject | None:
    """Return the expected action, which is an object or its JSON text. A list of calls is a batch
    of calls. None for any other value.
    """
    value = _decode_json_text(written)
    if isinstance(value, dict):
        return value or None
    if not isinstance(value, list) or not value:
        return None
    if len(value) == 1:
        return value[0] if isinstance(value[0], dict) else None
    return {"type": "function_call_batch", "calls": value}


def _read_other_form(row: Mapping[str, Any], file: str | None) -> Golden | None:
    """Read what a row has in a field for golden calls, if it contains no calls. None if all are
    empty.

    A ground truth in words or numbers is an expected answer, as in environments without calls.
    Anything else is reported as a problem.
    """
    for name in (*CALL_LISTS, EXPECTED_ACTION):
        written = row.get(name)
        if written in (None, "", [], {}):
            continue
        has_structure = isinstance(_decode_json_text(written), (dict, list))
        if name == GROUND_TRUTH and not has_structure:
            return Golden(name, written, answers=[written], file=file)
        problem = f"{name} is in a form that fcreview does not read, so it is no golden answer"
        return Golden(name, written, problems=[problem], file=file)
    return None


def _read_expected_action(action: JsonObject, written: Any, file: str | None) -> Golden:
    """Read the golden answer that is an expected action: a call, several calls, or a message
    instead of a call.

    `action` is the action as an object, and `written` the field as it is in the file.
    """
    golden = Golden(EXPECTED_ACTION, written, file=file)
    match action.get("type"):
        case "function_call":
            golden.calls = []
            _add_calls(golden, [action])
        case "function_call_batch":
            golden.calls = []
            _add_calls(golden, as_list(action.get("calls")))
        case "message":
            golden.calls = []
            content = action.get("content")
            golden.reply = content if isinstance(content, str) else None
            if golden.reply is None:
                golden.problems.append("the expected message has no text")
        case unknown:
            golden.problems.append(f"expected action of unknown type {unknown!r:.60}")
    return golden


def _add_calls(golden: Golden, written_calls: list[Any]) -> None:
    """Set the calls of a golden answer from the written ones. Malformed parts are added to
    `golden.problems`.
    """
    calls: list[Call] = []
    for written in written_calls:
        fields = as_object(_unwrap_call(written))
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            golden.problems.append("a golden call has no name")
            name = ""
        arguments = parse_arguments(fields.get("arguments"))
        if arguments.value is None:
            golden.problems.append(f"the arguments of the golden call {name} {arguments.problem}")
        calls.append(_make_golden_call(name, arguments, index=len(calls)))
    golden.calls = calls


def _make_golden_call(name: str, arguments: Arguments, *, index: int) -> Call:
    """Make a golden call. Each of its arguments accepts exactly the written value."""
    call = Call("golden", name, arguments=None, index=index, raw=arguments.raw)
    if arguments.value is None:
        call.decode_error = f"the arguments {arguments.problem}"
    else:
        call.arguments = {
            parameter: AcceptedValues([value]) for parameter, value in arguments.value.items()
        }
    return call


@dataclass(slots=True)
class Inputs:
    """Inputs of a run, and what was to be run."""

    golden_by_task: dict[int, Golden] = field(default_factory=dict)
    golden_by_question: dict[str, Golden] = field(default_factory=dict)
    joined_tasks: set[int] = field(default_factory=set)
    """Task indexes of all inputs, with or without a golden answer."""
    joined_questions: set[str] = field(default_factory=set)
    not_run: list[MissingItem] = field(default_factory=list)
    n_expected: int | None = None
    """Number of rollouts that were to be run; None if it is unknown."""
    issues: list[ImportIssue] = field(default_factory=list)
    has_files: bool = False

    def find_golden(self, rollout: JsonObject) -> Golden | None:
        task = get_task_index(rollout)
        if task is not None and task in self.golden_by_task:
            return self.golden_by_task[task]
        if not self.golden_by_question:
            return None
        return self.golden_by_question.get(compute_question_key(rollout))

    def is_joined(self, rollout: JsonObject) -> bool:
        """Whether some input belongs to a rollout."""
        if get_task_index(rollout) in self.joined_tasks:
            return True
        return (
            bool(self.joined_questions) and compute_question_key(rollout) in self.joined_questions
        )


def read_inputs(files: RunFiles, survey: Survey, category: str) -> Inputs:
    """Read the inputs that belong to rollouts of a survey."""
    reader = _InputReader(files, survey, category)
    if files.materialized_inputs is not None:
        reader.read_materialized_inputs(files.materialized_inputs)
    for path in files.datasets:
        reader.read_dataset(path)
    return reader.inputs


class _InputReader:
    """Reads input files, and keeps the golden answers of surveyed rollouts only."""

    def __init__(self, files: RunFiles, survey: Survey, category: str) -> None:
        self.inputs = Inputs(has_files=bool(files.materialized_inputs or files.datasets))
        self._owner = files.owner
        self._survey = survey
        self._category = category

    def read_dataset(self, path: Path) -> None:
        for row in self._read_rows(path):
            self._join_by_question(row, path)

    def read_materialized_inputs(self, path: Path) -> None:
        """Read the file of materialized inputs, which has a row for each planned rollout, and join
        its golden answers with the rollouts.

        Planned rollouts without a result are noted as not run. A row without the numbers of its
        task and rollout is joined by its question.
        """
        self.inputs.n_expected = 0
        for row in self._read_rows(path):
            if self._owner is not None and get_agent_name(row) != self._owner.agent:
                continue
            self.inputs.n_expected += 1
            task = get_task_index(row)
            trial = get_rollout_index(row)
            if task is None or trial is None:
                self._join_by_question(row, path)
                continue
            if task in self._survey.task_indexes:
                self._join_by_task(row, path, task=task)
            if (task, trial) not in self._survey.rollout_keys:
                missing = MissingItem(f"task_{task}_rollout_{trial}", self._category)
                self.inputs.not_run.append(missing)

    def _read_rows(self, path: Path) -> Iterator[JsonObject]:
        """Yield the input rows of a file. Other lines become issues."""
        for record in read_records(path):
            if isinstance(record, ImportIssue):
                self.inputs.issues.append(record)
            elif is_input(record.value):
                yield record.value
            else:
                what = f"the line is not an input: {REQUEST} is missing, or there is a response"
                self.inputs.issues.append(ImportIssue(str(path), record.line, what=what))

    def _join_by_task(self, row: JsonObject, path: Path, *, task: int) -> None:
        if task in self.inputs.joined_tasks:
            return
        self.inputs.joined_tasks.add(task)
        golden = read_golden(row, str(path))
        if golden is not None:
            self.inputs.golden_by_task[task] = golden

    def _join_by_question(self, row: JsonObject, path: Path) -> None:
        """Use an input row as the golden answer of all rollouts with the same messages."""
        key = compute_question_key(row)
        if key not in self._survey.question_keys:
            return
        self.inputs.joined_questions.add(key)
        golden = read_golden(row, str(path))
        if golden is None:
            return
        known = self.inputs.golden_by_question.setdefault(key, golden)
        if known.written != golden.written:
            what = (
                "several inputs with equal messages have different golden answers. The first one"
                " is used"
            )
            self.inputs.issues.append(ImportIssue(str(path), what=what))
