"""Load BFCL score files: a header, then one line for each failing entry.

Items without an entry passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

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

_STATED_ID = re.compile(r'^\s*\{\s*"id"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(\d+))')
_TURN = re.compile(r"\bfor turn (\d+)")
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
    scores = ScoreFile(path)
    started, large = False, is_large_file(path)
    ids_by_position = cache(lambda: _index_ids_by_position(results.records or dataset.items))

    def drop_log_and_api_keys(value: dict[str, Any]) -> dict[str, Any]:
        if results.records:
            value.pop("inference_log", None)
        return redact_third_party_keys(value) if category == "rest" else value

    @lru_cache(maxsize=4)
    def reload_record(line: int, offset: int, length: int) -> dict[str, Any]:
        value = reread_value(path, JsonRecord(line, offset=offset, length=length, value=None))
        return drop_log_and_api_keys(value) if isinstance(value, dict) else {}

    for record in read_records(path):
        if isinstance(record, ImportIssue):
            scores.issues.append(record)
            if recovered := _recover_entry_from_issue(record):
                _add_entry(
                    scores, recovered, _find_entry_item_id(recovered, category, ids_by_position)
                )
            continue
        value = record.value
        if not isinstance(value, dict):
            what = "a score entry is not an object"
            scores.issues.append(
                ImportIssue(str(path), record.line, what=what, raw=make_excerpt(str(value)))
            )
        elif not started and "total_count" in value and "id" not in value:
            scores.header, started = value, True
        else:
            started = True
            content = drop_log_and_api_keys(value)
            entry = ScoreEntry(
                value.get("id", ""),
                line=record.line,
                offset=record.offset,
                length=record.length,
                loaded_record=content,
            )
            item_id = _find_entry_item_id(entry, category, ids_by_position)
            _add_entry(
                scores,
                entry,
                find_scored_item_id(item_id, entry.record, results, dataset) if item_id else None,
            )
            if large:
                entry.loaded_record, entry.reload = None, reload_record
    _check_failure_count(scores, results.n_replaced)
    scores.issues += _report_items_scored_twice(scores)
    return scores


def _index_ids_by_position(item_ids: Iterable[str]) -> dict[int, str]:
    numbers = {item_id: filenames.parse_item_number(item_id) for item_id in item_ids}
    # If several ids have the same number, the reverse order keeps the first one.
    return {number: item_id for item_id, number in reversed(numbers.items()) if number is not None}


def _check_failure_count(scores: ScoreFile, n_replaced: Mapping[str, int]) -> None:
    """Set `n_failing` and `is_complete`.

    `n_replaced` maps item ids to numbers of replaced result records.
    """
    scores.n_failing = len(scores.failing) + sum(
        _count_entries_of_other_records(
            scores.failing[item_id], further, n_replaced.get(item_id, 0)
        )
        for item_id, further in scores.further_entries.items()
    )
    error = describe_count_error(scores.header, scores.n_failing)
    scores.is_complete = error is None
    if error is not None:
        scores.issues.append(ImportIssue(str(scores.path), 1, what=error, severity="error"))


def _add_entry(scores: ScoreFile, entry: ScoreEntry, item_id: str | None) -> None:
    path = str(scores.path)
    if item_id is None:
        what = "a score entry has no id and belongs to no item"
        scores.issues.append(
            ImportIssue(
                path, entry.line, what=what, raw=make_excerpt(str(entry.record)), severity="error"
            )
        )
        return
    if entry.record.get("valid") is True:
        scores.issues.append(
            ImportIssue(path, entry.line, what=NOT_A_FAILURE, item=item_id, severity="error")
        )
        return
    stated = entry.quoted_id
    if (
        isinstance(entry.id, int)
        and stated is not None
        and filenames.parse_item_number(stated) != entry.id - 1
    ):
        what = (
            f"score id {entry.id} refers to position {entry.id - 1}, but the entry quotes question"
            f" {stated}. "
        )
        what += "Using the quoted question"
        scores.issues.append(ImportIssue(path, entry.line, what=what, item=item_id))
    if item_id in scores.failing:
        scores.further_entries.setdefault(item_id, []).append(entry)
    else:
        scores.failing[item_id] = entry


def _report_items_scored_twice(scores: ScoreFile) -> Iterator[ImportIssue]:
    path, n_failed_requests = str(scores.path), 0
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
        items = format_count(n_failed_requests, "failed request")
        what = (
            f"{items} with two score entries, {' and '.join(FAILED_REQUEST_ENTRIES)}, as V3"
            " evaluators before August"
        )
        what += " 2025 write them. The first entry counts"
        yield ImportIssue(path, None, what=what, severity="notice")


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


def _find_entry_item_id(
    entry: ScoreEntry, category: str, ids_by_position: Callable[[], dict[int, str]]
) -> str | None:
    """Return the item id for the id or position in an entry, or for its quoted record.

    None without a valid id.
    """
    if isinstance(entry.id, str):
        return entry.id or None
    if not is_integer(entry.id):
        return None
    stated = entry.quoted_id
    if stated is None:
        return ids_by_position().get(entry.id - 1, f"{category}_{entry.id - 1}")
    number = filenames.parse_item_number(stated)
    return ids_by_position().get(number, stated) if number is not None else stated


def _recover_entry_from_issue(issue: ImportIssue) -> ScoreEntry | None:
    """Make an entry from the id at the start of a damaged line, so that its item does not count
    as passed.
    """
    match = _STATED_ID.match(issue.raw or "")
    if match is None or issue.severity != "error" or issue.line is None:
        return None
    stated: str | int = match[1] if match[1] is not None else int(match[2])
    return ScoreEntry(stated, line=issue.line, offset=0, length=0, loaded_record={"id": stated})


def read_error_type(record: dict[str, Any]) -> str | None:
    """Return the error type.

    Single-turn entries have it at the top level, other entries inside `error`.
    """
    value = record.get("error_type")
    value = as_object(record.get("error")).get("error_type") if value is None else value
    return str(value) if value is not None else None


def read_rationale(record: dict[str, Any]) -> str | None:
    """Return the error messages of a score entry, one on each line; None if there are none."""
    error = record.get("error")
    if isinstance(error, dict):
        error = error.get("error_message")
    lines: list[str] = []
    _collect_error_lines(error, lines)
    return "\n".join(lines) or None


def _collect_error_lines(error: Any, lines: list[str]) -> None:
    if isinstance(error, list):
        for part in error:
            _collect_error_lines(part, lines)
    elif isinstance(error, dict):
        for name, detail in error.items():
            if isinstance(detail, dict):
                sub = detail.get("sub_error")
                message = " ".join(map(str, sub)) if isinstance(sub, list) else str(sub or "")
                detail = f"{detail.get('sub_error_type') or ''}: {message}"
            lines.append(f"{name}: {detail}")
    elif error is not None:
        lines.append(str(error))


def add_multi_turn_details(record: dict[str, Any], extra: Extra) -> None:
    """Add the failing turn and the state differences of a multi-turn entry.

    The metadata get `missing_responses` and the outputs of the golden calls. `golden_outputs` has a
    list of outputs for each turn up to the failing turn, `golden_outputs_of_turn` only the outputs
    of the failing turn.
    """
    error = record.get("error")
    if not isinstance(error, dict):
        return
    details = as_object(error.get("details"))
    executed = error.get("execution_result") or details.get("execution_result")
    match = _TURN.search(read_rationale(record) or "")
    if match:
        extra.failing_turn = int(match[1][:6])
    elif isinstance(executed, list) and executed and "mismatch" in (read_error_type(record) or ""):
        extra.failing_turn = len(executed) - 1
    _add_state_differences(details.get("differences"), extra)
    if details.get("missing_items"):
        extra.metadata["missing_responses"] = details["missing_items"]
    if isinstance(executed, list):
        extra.metadata["golden_outputs"] = [
            turn.get("ground_truth") for turn in executed if isinstance(turn, dict)
        ]
    elif (outputs := details.get("ground_truth_response (only the current turn)")) is not None:
        extra.metadata["golden_outputs_of_turn"] = outputs


def _add_state_differences(differences: Any, extra: Extra) -> None:
    """Add state differences `{attribute: {"model": value, "ground_truth": value}}`.

    Other values become metadata.
    """
    if isinstance(differences, dict):
        sides = {"model", "ground_truth"}
        good = {
            name: both
            for name, both in differences.items()
            if isinstance(both, dict) and both.keys() >= sides
        }
        found = {
            name: StateDifference(both["ground_truth"], both["model"])
            for name, both in good.items()
        }
        extra.state_differences = found or extra.state_differences
        differences = {name: both for name, both in differences.items() if name not in good}
    if differences:
        extra.metadata["other state differences"] = differences
