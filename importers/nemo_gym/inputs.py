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

from fcreview.importers.common.jsonl import read_records
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.dialects.values import parse_arguments
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

CALL_LISTS = ("expected_answers", "ground_truth")
"""Fields with a list of golden calls."""
EXPECTED_ACTION = "expected_action"
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


def read_golden(row: Mapping[str, Any], file: str | None = None) -> Golden | None:
    """Return the golden answer in a rollout or an input, or None without one."""
    for name in CALL_LISTS:
        written = row.get(name)
        if _is_call_list(written):
            golden = Golden(name, written, calls=[], file=file)
            _add_calls(golden, as_list(written))
            return golden

    action = row.get(EXPECTED_ACTION)
    if isinstance(action, dict):
        return _read_expected_action(action, file)

    for name in ANSWER_FIELDS:
        answer = row.get(name)
        if answer not in (None, ""):
            return Golden(name, answer, answers=[answer], file=file)
    return None


def _is_call_list(value: Any) -> bool:
    """Whether a value is a list of calls. An empty list means that no call is expected."""
    if not isinstance(value, list):
        return False
    return all(isinstance(call, dict) and "name" in call for call in value)


def _read_expected_action(action: JsonObject, file: str | None) -> Golden:
    """Read the expected action: a call, several calls, or a message instead of a call."""
    golden = Golden(EXPECTED_ACTION, action, file=file)
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
    calls: list[Call] = []
    for written in written_calls:
        fields = as_object(written)
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            golden.problems.append("a golden call has no name")
            name = ""
        arguments = parse_arguments(fields.get("arguments"))
        call = Call("golden", name, arguments=None, index=len(calls), raw=arguments.raw)
        if arguments.value is None:
            golden.problems.append(f"the arguments of the golden call {name} {arguments.problem}")
            call.decode_error = f"the arguments {arguments.problem}"
        else:
            call.arguments = {
                parameter: AcceptedValues([value]) for parameter, value in arguments.value.items()
            }
        calls.append(call)
    golden.calls = calls


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
        self._agent = files.agent
        self._survey = survey
        self._category = category

    def read_dataset(self, path: Path) -> None:
        for row in self._read_rows(path):
            self._join_by_question(row, path)

    def read_materialized_inputs(self, path: Path) -> None:
        self.inputs.n_expected = 0
        for row in self._read_rows(path):
            if self._agent is not None and get_agent_name(row) != self._agent:
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
            self.inputs.issues.append(ImportIssue(str(path), None, what=what))
