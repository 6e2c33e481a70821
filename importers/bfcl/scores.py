"""Load BFCL score files: a header, then one line for each failing entry.

Items without an entry passed.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.dataset import Dataset
from fcreview.importers.bfcl.joining import Results, find_scored_item_id
from fcreview.importers.common.jsonl import (
    JsonRecord,
    is_large_file,
    make_excerpt,
    read_records,
    reread_value,
)
from fcreview.importers.common.records import (
    NOT_A_FAILURE,
    as_object,
    describe_count_error,
    is_integer,
)
from fcreview.model.item import Extra, ImportIssue, StateDifference
from fcreview.model.sanitize import redact_third_party_keys
from fcreview.model.wording import format_count

_STATED_ID = re.compile(r'^\s*\{\s*"id"\s*:\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>\d+))')
_TURN = re.compile(r"\bfor turn (?P<turn>\d+)")
MAX_TURN_DIGITS = 6
MAX_KEPT_ENTRIES = 4
"""Number of entries of a large file that stay in memory, because one item needs them often."""
FAILED_REQUEST_ENTRIES = ("multi_turn:inference_error", "multi_turn:force_terminated")
"""Error types of the two score entries that V3 evaluators before August 2025 write for a failed
multi-turn request.
"""


@dataclass(slots=True)
class ScoreEntry:
    id: str | int
    """Id in the score file: item id, or position in the dataset from 1."""
    line: int
    offset: int
    length: int
    loaded_record: dict[str, Any] | None
    """Content of the entry; None for entries of large files."""
    reload: Callable[[int, int, int], dict[str, Any]] | None = None

    @property
    def record(self) -> dict[str, Any]:
        """Content of the entry, read again if necessary. Empty if the file has changed."""
        if self.loaded_record is not None or self.reload is None:
            return self.loaded_record or {}
        return self.reload(self.line, self.offset, self.length)

    @property
    def quoted_id(self) -> str | None:
        """Item id in the dataset record that the entry quotes, or None."""
        stated = as_object(self.record.get("prompt")).get("id")
        return stated if isinstance(stated, str) else None

    @property
    def quoted_question(self) -> Any:
        """Question that the entry quotes, or None.

        In agentic categories, `prompt` is the question itself.
        """
        prompt = self.record.get("prompt")
        if isinstance(prompt, dict):
            return prompt.get("question")
        return prompt if isinstance(prompt, list) else None


@dataclass(slots=True)
class ScoreFile:
    path: Path = Path()
    """Path of the score file; empty if the category has none."""
    header: dict[str, Any] = field(default_factory=dict)
    failing: dict[str, ScoreEntry] = field(default_factory=dict)
    """Item id -> first score entry of the item."""
    further_entries: dict[str, list[ScoreEntry]] = field(default_factory=dict)
    """Item id -> all score entries of the item after the first one."""
    n_failing: int = 0
    """Number of failing items.

    A later entry of an item is counted if it scores another record with the same id.
    """
    is_complete: bool = False
    """Whether the file lists as many failures as its header states.

    If it does not, official verdicts are unknown.
    """
    issues: list[ImportIssue] = field(default_factory=list)

    def is_scored_twice(self, item_id: str) -> bool:
        """Whether an item has several score entries, apart from the two entries of a failed
        request.
        """
        further = self.further_entries.get(item_id)
        if not further:
            return False
        error_types = tuple(
            read_error_type(entry.record) for entry in (self.failing[item_id], *further)
        )
        return error_types != FAILED_REQUEST_ENTRIES

    @property
    def n_scored(self) -> int | None:
        """Number of scored items, from the header."""
        value = self.header.get("total_count")
        return value if isinstance(value, int) else None


def load_score_file(path: Path, category: str, results: Results, dataset: Dataset) -> ScoreFile:
    """Load a score file and find the item of each entry. The entry of an unknown position gets the
    id `CATEGORY_n`.

    If the category has result files, inference logs are omitted, because the result files contain
    them.
    """
    return _ScoreFileReader(path, category, results, dataset).read()


class _EntryContents:
    """Reads the contents of score entries again from the file, and cleans them.

    Entries refer to this object. It must not refer to entries, because such a circle would stay in
    memory.
    """

    def __init__(self, path: Path, *, omits_logs: bool, redacts_keys: bool) -> None:
        self._path = path
        self._omits_logs = omits_logs
        self._redacts_keys = redacts_keys
        self._last_contents: OrderedDict[int, dict[str, Any]] = OrderedDict()

    def clean(self, value: dict[str, Any]) -> dict[str, Any]:
        """Omit the inference log and API keys, if necessary."""
        if self._omits_logs:
            value.pop("inference_log", None)
        return redact_third_party_keys(value) if self._redacts_keys else value

    def reload(self, line: int, offset: int, length: int) -> dict[str, Any]:
        """Read the content of an entry again. Empty if the file has changed."""
        content = self._last_contents.get(offset)
        if content is None:
            position = JsonRecord(line, offset=offset, length=length, value=None)
            value = reread_value(self._path, position)
            content = self.clean(value) if isinstance(value, dict) else {}
            self._last_contents[offset] = content
            if len(self._last_contents) > MAX_KEPT_ENTRIES:
                self._last_contents.popitem(last=False)
        return content


class _ScoreFileReader:
    """Reads one score file. For the arguments, see `load_score_file`."""

    def __init__(self, path: Path, category: str, results: Results, dataset: Dataset) -> None:
        self._path = path
        self._category = category
        self._results = results
        self._dataset = dataset
        self._is_large = is_large_file(path)
        self._scores = ScoreFile(path)
        self._contents = _EntryContents(
            path, omits_logs=bool(results.records), redacts_keys=category == "rest"
        )

    def read(self) -> ScoreFile:
        """Read the score file: the header with the accuracy, which only the first record can be,
        and the entries.
        """
        is_first = True
        for record in read_records(self._path):
            if isinstance(record, ImportIssue):
                self._scores.issues.append(record)
                self._recover_entry(record)
            elif not isinstance(record.value, dict):
                what = "a score entry is not an object"
                raw = make_excerpt(str(record.value))
                self._add_issue(record.line, what, raw=raw)
            elif is_first and _is_header(record.value):
                self._scores.header = record.value
                is_first = False
            else:
                self._add_record(record)
                is_first = False

        _set_completeness(self._scores, self._results.n_replaced)
        self._scores.issues += _report_items_scored_twice(self._scores)
        return self._scores

    def _add_record(self, record: JsonRecord) -> None:
        """Add the score entry of a record, for the item that it is about."""
        entry = ScoreEntry(
            record.value.get("id", ""),
            line=record.line,
            offset=record.offset,
            length=record.length,
            loaded_record=self._contents.clean(record.value),
        )
        item_id = self._find_item_id(entry)
        if item_id is not None:
            item_id = find_scored_item_id(item_id, entry.record, self._results, self._dataset)
        self._add_entry(entry, item_id)
        # The records of a large file do not fit in memory. They are read again on use.
        if self._is_large:
            entry.loaded_record = None
            entry.reload = self._contents.reload

    def _recover_entry(self, issue: ImportIssue) -> None:
        entry = _recover_entry_from_issue(issue)
        if entry is not None:
            self._add_entry(entry, self._find_item_id(entry))

    def _find_item_id(self, entry: ScoreEntry) -> str | None:
        """Return the item id for the id or position in an entry, or for its quoted record.

        None without a valid id. An id whose position is not known is returned in the form that the
        dataset has for it.
        """
        if isinstance(entry.id, str):
            return entry.id or None
        if not is_integer(entry.id):
            return None

        # A number counts the items from 1, while the ids in the dataset count from 0.
        quoted_id = entry.quoted_id
        if quoted_id is None:
            position = entry.id - 1
            return self._ids_by_position.get(position, f"{self._category}_{position}")
        # The quoted record is more certain. Its id can be spelled in another way than the results
        # spell it, so only its number counts, if it has one.
        position_in_id = filenames.parse_item_number(quoted_id)
        if position_in_id is None:
            return quoted_id
        return self._ids_by_position.get(position_in_id, quoted_id)

    @cached_property
    def _ids_by_position(self) -> dict[int, str]:
        """Item ids by position in the dataset. Most score files do not need them."""
        return _index_ids_by_position(self._results.records or self._dataset.items)

    def _add_entry(self, entry: ScoreEntry, item_id: str | None) -> None:
        """Add a score entry to the failing items, unless it belongs to no item or states a pass.

        If an item has several entries, the first one counts. The others are kept to show them.
        """
        if item_id is None:
            what = "a score entry has no id and belongs to no item"
            raw = make_excerpt(str(entry.record))
            self._add_issue(entry.line, what, raw=raw, severity="error")
            return
        if entry.record.get("valid") is True:
            self._add_issue(entry.line, NOT_A_FAILURE, item_id=item_id, severity="error")
            return

        if _quotes_other_position(entry):
            position = int(entry.id) - 1
            what = (
                f"score id {entry.id} refers to position {position}, but the entry quotes question"
                f" {entry.quoted_id}. Using the quoted question"
            )
            self._add_issue(entry.line, what, item_id=item_id)

        if item_id in self._scores.failing:
            self._scores.further_entries.setdefault(item_id, []).append(entry)
        else:
            self._scores.failing[item_id] = entry

    def _add_issue(
        self,
        line: int,
        what: str,
        *,
        raw: str | None = None,
        item_id: str | None = None,
        severity: Literal["error", "warning"] = "warning",
    ) -> None:
        """Report a problem with a line of the score file."""
        self._scores.issues.append(
            ImportIssue(str(self._path), line, what=what, raw=raw, item=item_id, severity=severity)
        )


def _is_header(record: dict[str, Any]) -> bool:
    return "total_count" in record and "id" not in record


def _quotes_other_position(entry: ScoreEntry) -> bool:
    """Whether the position in an entry is not that of the dataset record that it quotes."""
    if not isinstance(entry.id, int) or entry.quoted_id is None:
        return False
    return filenames.parse_item_number(entry.quoted_id) != entry.id - 1


def _index_ids_by_position(item_ids: Iterable[str]) -> dict[int, str]:
    """Return the item ids by their numbers.

    If several ids have the same number, the first one counts.
    """
    ids_by_position: dict[int, str] = {}
    for item_id in item_ids:
        number = filenames.parse_item_number(item_id)
        if number is not None:
            ids_by_position.setdefault(number, item_id)
    return ids_by_position


def _set_completeness(scores: ScoreFile, n_replaced: Mapping[str, int]) -> None:
    """Set the number of failures in a score file, and whether the file is complete.

    If the number differs from the header of the file, entries are missing, so an item without an
    entry may have failed. Further entries of an item count only if the evaluator scored another
    record there, such as a second one with the same id.

    Args:
        scores: The score file.
        n_replaced: Item id -> the number of result records that a later record replaced. An entry
            can belong to such a record.
    """
    scores.n_failing = len(scores.failing)
    for item_id, further in scores.further_entries.items():
        scores.n_failing += _count_entries_of_other_records(
            scores.failing[item_id], further, n_replaced.get(item_id, 0)
        )
    error = describe_count_error(scores.header, scores.n_failing)
    scores.is_complete = error is None
    if error is not None:
        scores.issues.append(ImportIssue(str(scores.path), line=1, what=error, severity="error"))


def _report_items_scored_twice(scores: ScoreFile) -> Iterator[ImportIssue]:
    """Yield an issue for each surplus score entry of an item.

    Failed requests have two entries in the files of some evaluators. They get one notice together.
    """
    path = str(scores.path)
    n_failed_requests = 0
    for item_id, further in scores.further_entries.items():
        if not scores.is_scored_twice(item_id):
            n_failed_requests += 1
            continue
        what = (
            f"{item_id} is scored more than once. The first entry counts; the item lists the others"
        )
        for entry in further:
            yield ImportIssue(path, entry.line, what=what, item=item_id)

    if n_failed_requests:
        requests = format_count(n_failed_requests, "failed request")
        what = (
            f"{requests} with two score entries, {' and '.join(FAILED_REQUEST_ENTRIES)}, as V3"
            " evaluators before August 2025 write them. The first entry counts"
        )
        yield ImportIssue(path, what=what, severity="notice")


def _count_entries_of_other_records(
    first: ScoreEntry, later: list[ScoreEntry], n_replaced: int
) -> int:
    """Return how many of an item's `later` entries score another record than `first`.

    Such an entry quotes another question, or scores one of the `n_replaced` result records.
    """
    n_other_questions = sum(
        entry.quoted_question not in (None, first.quoted_question) for entry in later
    )
    return max(n_other_questions, min(n_replaced, len(later)))


def _recover_entry_from_issue(issue: ImportIssue) -> ScoreEntry | None:
    """Make a score entry from the id at the start of a damaged line, so that the item with this id
    does not count as passed. None if the line has no id.
    """
    match = _STATED_ID.match(issue.raw or "")
    if match is None or issue.severity != "error" or issue.line is None:
        return None
    text = match["text"]
    stated_id = int(match["number"]) if text is None else text
    record = {"id": stated_id}
    return ScoreEntry(stated_id, line=issue.line, offset=0, length=0, loaded_record=record)


def read_error_type(record: dict[str, Any]) -> str | None:
    """Return the error type.

    Single-turn entries have it at the top level, other entries inside `error`.
    """
    error_type = record.get("error_type")
    if error_type is None:
        error_type = as_object(record.get("error")).get("error_type")
    return None if error_type is None else str(error_type)


def read_rationale(record: dict[str, Any]) -> str | None:
    """Return the error messages of a score entry, one on each line; None if there are none."""
    error = record.get("error")
    messages = error.get("error_message") if isinstance(error, dict) else error
    return "\n".join(_iterate_error_lines(messages)) or None


def _iterate_error_lines(error: Any) -> Iterator[str]:
    """Yield the lines of an error message, which can be a text, a list, or an object with an error
    for each tried call.
    """
    if isinstance(error, list):
        for part in error:
            yield from _iterate_error_lines(part)
    elif isinstance(error, dict):
        for name, detail in error.items():
            text = _describe_tried_call(detail) if isinstance(detail, dict) else detail
            yield f"{name}: {text}"
    elif error is not None:
        yield str(error)


def _describe_tried_call(detail: dict[str, Any]) -> str:
    """Describe why a call does not match, from `{"sub_error": [...], "sub_error_type": "..."}`."""
    sub_error = detail.get("sub_error")
    if isinstance(sub_error, list):
        message = " ".join(map(str, sub_error))
    else:
        message = str(sub_error or "")
    return f"{detail.get('sub_error_type') or ''}: {message}"


def add_multi_turn_details(record: dict[str, Any], extra: Extra) -> None:
    """Add what the score entry of a failing multi-turn item tells about the failure.

    This is the failing turn, the differences between the states of the simulated apps, the missing
    responses, and the outputs of the golden calls.
    """
    error = record.get("error")
    if not isinstance(error, dict):
        return

    details = as_object(error.get("details"))
    executed_turns = error.get("execution_result") or details.get("execution_result")
    failing_turn = _find_failing_turn(record, executed_turns)
    if failing_turn is not None:
        extra.failing_turn = failing_turn
    _add_state_differences(details.get("differences"), extra)
    if details.get("missing_items"):
        extra.metadata["missing_responses"] = details["missing_items"]
    extra.metadata |= _read_golden_outputs(executed_turns, details)


def _read_golden_outputs(executed_turns: Any, details: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of the golden calls as metadata.

    Some versions of BFCL state those of each turn up to the failing one, others only those of the
    failing turn.
    """
    if isinstance(executed_turns, list):
        outputs = [turn.get("ground_truth") for turn in executed_turns if isinstance(turn, dict)]
        return {"golden_outputs": outputs}
    outputs_of_turn = details.get("ground_truth_response (only the current turn)")
    if outputs_of_turn is not None:
        return {"golden_outputs_of_turn": outputs_of_turn}
    return {}


def _find_failing_turn(record: dict[str, Any], executed: Any) -> int | None:
    """Return the turn, from 0, at which the checker stopped; None if the entry does not tell."""
    match = _TURN.search(read_rationale(record) or "")
    if match is not None:
        return int(match["turn"][:MAX_TURN_DIGITS])
    # For a state mismatch, the message has no turn, but all turns up to it were executed.
    if isinstance(executed, list) and executed and "mismatch" in (read_error_type(record) or ""):
        return len(executed) - 1
    return None


def _add_state_differences(differences: Any, extra: Extra) -> None:
    """Add to `extra` how the states of the simulated apps differ after the failing turn.

    Those in an unknown form become metadata.
    """
    if not isinstance(differences, dict):
        if differences:
            extra.metadata["other state differences"] = differences
        return

    state_differences: dict[str, StateDifference] = {}
    other_differences = {}
    for name, difference in differences.items():
        if _is_state_difference(difference):
            state_differences[name] = StateDifference(
                difference["ground_truth"], difference["model"]
            )
        else:
            other_differences[name] = difference

    if state_differences:
        extra.state_differences = state_differences
    if other_differences:
        extra.metadata["other state differences"] = other_differences


def _is_state_difference(difference: Any) -> bool:
    """Whether a value has the usual form: `{"model": 5, "ground_truth": 7}`."""
    return isinstance(difference, dict) and difference.keys() >= {"model", "ground_truth"}
