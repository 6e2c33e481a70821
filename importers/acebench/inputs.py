"""Load the files of an ACEBench run, except the result records: questions, golden answers, scores,
histories.

The score files are compared with the result files, to find the version of the rules with which they
were written, and entries that quote other replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.errata import CategoryCorrections
from fcreview.errors import MALFORMED_DATA
from fcreview.importers.acebench.agent import compute_process_accuracy
from fcreview.importers.acebench.checker import GROUND_TRUTH, check_calls
from fcreview.importers.acebench.decoding import (
    NEWEST_RULE_SET,
    RuleSet,
    decode_reply,
    depends_on_rule_set,
)
from fcreview.importers.acebench.filenames import HISTORY_KINDS, FileName, parse_file_name
from fcreview.importers.acebench.leaderboard import PROCESS_ACCURACY
from fcreview.importers.common.file_cache import file_stamp
from fcreview.importers.common.jsonl import JsonRecord, read_records, select_objects_with_id
from fcreview.importers.common.records import (
    FailureList,
    Undecodable,
    as_object,
    load_dataset_records,
    load_failure_list,
    read_failure_count,
    read_function_docs,
    validate_failure_list,
)
from fcreview.importers.common.writeback import JsonObject
from fcreview.model.item import ImportIssue
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan

MAX_KEPT_BYTES = 2_000_000
"""Size of a result file whose records stay in memory while the run is read."""
MAX_ROUNDING_ERROR = 0.001
"""Maximum difference between the computed mean process accuracy and the mean in a header with
three decimals.
"""


class ResultFile:
    """The records of a result file, which are needed several times. Those of a small file are
    parsed only once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept_records: list[JsonRecord | ImportIssue] | None = None

    def read_records(self) -> Iterable[JsonRecord | ImportIssue]:
        """Return all records, and an issue for each line that cannot be read."""
        if self._kept_records is not None:
            return self._kept_records
        records = read_records(self._path)
        if file_stamp(self._path).n_bytes > MAX_KEPT_BYTES:
            return records
        self._kept_records = list(records)
        return self._kept_records

    def read_objects(self) -> Iterator[JsonObject]:
        """Yield the records that have an id."""
        return select_objects_with_id(self.read_records())

    def read_answers(self) -> Iterator[JsonObject]:
        """Yield the records that answer an item.

        If several records have the same id, only the first is an answer to the item.
        """
        seen: set[str] = set()
        for record in self.read_objects():
            if record["id"] not in seen:
                seen.add(record["id"])
                yield record


@dataclass(slots=True)
class CategoryInputs:
    """Content of the files of one category of a run."""

    category: str
    result_file: Path
    results: ResultFile = field(init=False)
    rule_set: RuleSet = NEWEST_RULE_SET
    """Version of the rules with which replies are decoded."""
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    question_ids: list[str] = field(default_factory=list)
    """Ids in dataset order.

    Score and process files identify agent items by their position in it.
    """
    scored: FailureList = field(default_factory=FailureList)
    process_file: Path | None = None
    process_entries: dict[str, dict[str, Any]] | None = None
    """Entries of the process file by category and position, such as `agent_multi_turn_3`, or
    None without the file.
    """
    histories: dict[int, Path] = field(default_factory=dict)
    corrections: CategoryCorrections | None = None
    ids_with_other_reply: set[str] = field(default_factory=set)
    """Items whose score entry quotes another reply than the result file contains."""
    issues: list[ImportIssue] = field(default_factory=list)
    """Problems of the files, except the result file."""

    def __post_init__(self) -> None:
        self.results = ResultFile(self.result_file)

    def get_dataset_position(self, item_id: str) -> int:
        """Return the position of an item in the question file, from 0.

        If the file does not contain the item, return the number at the end of the item id, or -1.
        """
        if item_id in self.question_ids:
            return self.question_ids.index(item_id)
        number = item_id.rpartition("_")[2]
        return int(number) if number.isdigit() else -1

    def get_item_id(self, entry_id: Any) -> str:
        """Return the item id for the `id` of a score file entry.

        For agent items, the `id` is a dataset position.
        """
        if not isinstance(entry_id, int):
            return str(entry_id)
        if 0 <= entry_id < len(self.question_ids):
            return self.question_ids[entry_id]
        return f"{self.category}_{entry_id}"

    def get_golden_answer(self, item_id: str) -> Any:
        """Return the golden answer in the dataset, or None."""
        return (self.answers.get(item_id) or {}).get(GROUND_TRUTH)

    def get_function_docs(self, item_id: str) -> list[dict[str, Any]]:
        question = self.questions.get(item_id) or {}
        return read_function_docs(question.get("function"))


def load_category_inputs(plan: RunPlan, result_file: Path) -> CategoryInputs:
    """Load the dataset, scores and process entries of a category.

    The official verdicts are unknown until `settle_official_verdicts` is called.
    """
    category = parse_file_name(result_file).category
    inputs = CategoryInputs(category, result_file)
    inputs.histories = _find_category_histories(category, plan.logs)
    _load_dataset(inputs, plan.data)
    for file in plan.scores:
        if parse_file_name(file) == FileName(category, "score"):
            _load_score_file(inputs, file)
    for file in plan.scores:
        if parse_file_name(file) == FileName(category, "process"):
            _load_process_file(inputs, file)
    return inputs


def _load_dataset(inputs: CategoryInputs, dataset_files: list[Path]) -> None:
    """Load the questions and the golden answers of a category from its dataset files."""
    for file in dataset_files:
        if file.name != f"data_{inputs.category}.json":
            continue
        records = load_dataset_records(file)
        inputs.issues += records.issues
        if file.parent.name == "possible_answer":
            inputs.answers = records.by_id
        else:
            inputs.questions = records.by_id
            inputs.question_ids = list(records.by_id)


def _load_score_file(inputs: CategoryInputs, file: Path) -> None:
    def find_item_id(entry: JsonObject) -> str:
        return inputs.get_item_id(entry["id"])

    inputs.scored = load_failure_list(file, find_item_id, inputs.issues)


def _find_category_histories(category: str, history_files: list[Path]) -> dict[int, Path]:
    """Return the dialogue histories of an agent category by the number of their item."""
    kind = category.removeprefix("agent_")
    histories: dict[int, Path] = {}
    for file in history_files:
        number, _, _ = file.name.partition("_")
        if number.isdecimal() and _find_history_kind(file) == kind:
            histories[int(number)] = file
    return histories


def _find_history_kind(history_file: Path) -> str:
    """Return `multi_step` or `multi_turn`, the nearest parent folder of this name."""
    for folder in history_file.parents:
        if folder.name in HISTORY_KINDS:
            return folder.name
    return ""


def _load_process_file(inputs: CategoryInputs, file: Path) -> None:
    """Load the entries of a process file. Each line is an object with one or more entries."""
    entries: dict[str, dict[str, Any]] = {}
    for record in read_records(file):
        if isinstance(record, ImportIssue):
            inputs.issues.append(record)
            continue
        for name, value in as_object(record.value).items():
            if isinstance(value, dict):
                entries[name] = value
    # Set also if the file has no entries: None would mean that there is no file.
    inputs.process_file = file
    inputs.process_entries = entries


def settle_official_verdicts(inputs: CategoryInputs, rule_set: RuleSet) -> list[ImportIssue]:
    """Determine the official verdicts of a category by the version of the rules with which the run
    was scored. Return the contradictions in the category's score files.
    """
    # The golden answers are compared by these rules below.
    inputs.rule_set = rule_set
    issues: list[ImportIssue] = []
    has_score_file = inputs.scored.path != Path()
    if has_score_file:
        issues += _remove_entries_of_passing_items(inputs)
        result_ids = [record["id"] for record in inputs.results.read_objects()]
        validate_failure_list(inputs.scored, result_ids, issues)
    if inputs.process_file is not None:
        issues += _discard_invalid_process_entries(inputs, inputs.process_file)
    return issues


def discard_official_verdicts(inputs: CategoryInputs) -> None:
    """Make the official verdicts of a category unknown.

    Call this if the score file does not belong to the replies in the result file.
    """
    inputs.scored.is_complete = False
    inputs.process_entries = None


def _remove_entries_of_passing_items(inputs: CategoryInputs) -> Iterator[ImportIssue]:
    """Remove the entries of items that match a later golden answer, if the header counts these
    items as passed. Yield a notice for each of them.

    The evaluator lists such items as failing, but counts them as correct.
    """
    scored = inputs.scored
    passed_ids = set()
    for record in inputs.results.read_answers():
        if _matches_later_answer(inputs, record):
            passed_ids.add(record["id"])

    n_failures_without_them = len(scored.entries) - len(passed_ids)
    if not passed_ids or read_failure_count(scored.header) != n_failures_without_them:
        return
    for item_id in sorted(passed_ids):
        del scored.entries[item_id]
        what = f"{item_id} is listed as failing, but it matches a later golden answer."
        what += " The header counts it as passed"
        yield ImportIssue(str(scored.path), what=what, item=item_id, severity="notice")


def _matches_later_answer(inputs: CategoryInputs, result: JsonObject) -> bool:
    """Whether a single-turn item listed as failing passes by one of several golden answers."""
    item_id = result["id"]
    if not depends_on_rule_set(inputs.category) or item_id not in inputs.scored.entries:
        return False
    golden = inputs.get_golden_answer(item_id)
    if not isinstance(golden, list) or len(golden) < 2:
        return False
    try:
        calls = decode_reply(result.get("result"), inputs.category, inputs.rule_set)
        return check_calls(calls, golden, inputs.get_function_docs(item_id)).valid
    except (Undecodable, *MALFORMED_DATA):
        return False


def _discard_invalid_process_entries(
    inputs: CategoryInputs, process_file: Path
) -> Iterator[ImportIssue]:
    """Discard the entries of a process file whose mean differs from the one in the score file's
    header.

    A process file lists only items that missed a milestone. A lost entry would therefore count as
    1.
    """
    problem = _find_process_problem(inputs)
    if problem is not None:
        inputs.process_entries = None
        what = f"{problem}. The process accuracies are unknown"
        yield ImportIssue(str(process_file), what=what, severity="error")


def _find_process_problem(inputs: CategoryInputs) -> str | None:
    """Return the reason why the entries of the process file cannot be trusted, or None.

    Their mean must equal the mean that the header of the score file states.
    """
    stated_mean = inputs.scored.header.get(PROCESS_ACCURACY)
    n_items = inputs.scored.header.get("total_count")
    if not isinstance(stated_mean, (int, float)) or type(n_items) is not int:
        return (
            "this file cannot be checked, because no score file has process_accuracy and"
            " total_count"
        )

    entries = inputs.process_entries or {}
    values = [get_counted_process_accuracy(entry).value for entry in entries.values()]
    if len(values) > n_items:
        return (
            f"this file is of another run, because it has {len(values)} entries, but the score"
            f" file counts only {format_count(n_items, 'item')}"
        )
    if not all(isinstance(value, (int, float)) for value in values):
        return "an entry of the process file has no process_accuracy"

    mean = _compute_process_mean(values, n_items)
    if abs(mean - stated_mean) <= MAX_ROUNDING_ERROR:
        return None
    return (
        f"the mean process accuracy is {mean:.4g} in this file, but {stated_mean} in the score file"
    )


def _compute_process_mean(values: list[float], n_items: int) -> float:
    """Return the mean over all items of a category from the values in its process file.

    The evaluator (`eval_main.py`) writes an entry for each item whose process accuracy is below 1,
    so items without an entry count as 1.
    """
    n_without_entry = n_items - len(values)
    return (sum(values) + n_without_entry) / max(n_items, 1)


class CountedProcessAccuracy(NamedTuple):
    """Process accuracy of an entry in the process file, as the official mean counts it."""

    value: Any
    note: str | None = None
    """Why the value differs from the one in the file."""


def get_counted_process_accuracy(entry: JsonObject) -> CountedProcessAccuracy:
    """Return the process accuracy of an entry as the official mean counts it.

    If there are several milestone sequences, the file has the value of the last one, but the mean
    has that of the best one. So the value is computed again, unless fcreview cannot reproduce the
    one in the file.
    """
    stated = entry.get("process_accuracy")
    milestones = entry.get("call_process")
    if not isinstance(milestones, list) or not isinstance(stated, (int, float)):
        return CountedProcessAccuracy(stated)
    has_several_sequences = len(milestones) >= 2 and isinstance(milestones[0], list)
    if not has_several_sequences:
        return CountedProcessAccuracy(stated)

    computed = compute_process_accuracy(
        entry.get("model_output"), milestones, is_end_state_correct=False
    )
    is_reproduced = computed.in_process_file == stated
    if not is_reproduced:
        return CountedProcessAccuracy(stated)
    # Without a difference, there is nothing to explain.
    if computed.in_mean == stated:
        return CountedProcessAccuracy(stated)
    note = (
        f"best of {len(milestones)} milestone sequences, as in the official mean; the process file"
        f" has {stated}"
    )
    return CountedProcessAccuracy(computed.in_mean, note)
