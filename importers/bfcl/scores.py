"""BFCL score files: a header line, then one line for each failing entry. Passes are inferred by the reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl import filenames
from fcreview.importers.common.jsonl import Record, excerpt, is_large, records, reread
from fcreview.model.item import Extra, ImportIssue, StateDifference
from fcreview.model.redact import redact

_STATED_ID = re.compile(r'^\s*\{\s*"id"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(\d+))')
IdsByPosition = Callable[[], dict[int, str]]
SelectItem = Callable[[str, dict[str, Any]], str]
"""An id and a score entry: the name of the item it is about."""

_TURN = re.compile(r"\bfor turn (\d+)")


@dataclass(slots=True)
class ScoreEntry:
    """One failing entry. `id` is the score file's own: text, or an int position from 1 in the dataset."""

    id: str | int
    line: int
    offset: int
    length: int
    loaded_record: dict[str, Any] | None
    reload: Callable[[int, int, int], dict[str, Any]] | None = None
    """Reads the record anew by line, offset and length, where it was let go."""

    @property
    def record(self) -> dict[str, Any]:
        """Empty if its file no longer holds it."""
        if self.loaded_record is not None or self.reload is None:
            return self.loaded_record or {}
        return self.reload(self.line, self.offset, self.length)

    @property
    def prompt_id(self) -> str | None:
        """The dataset's id, where the entry embeds its question."""
        prompt = self.record.get("prompt")
        stated = prompt.get("id") if isinstance(prompt, dict) else None
        return stated if isinstance(stated, str) else None


@dataclass(slots=True)
class ScoreFile:
    """One score file. `failing` is by item id."""

    path: Path
    header: dict[str, Any] = field(default_factory=dict)
    failing: dict[str, ScoreEntry] = field(default_factory=dict)
    further_entries: dict[str, list[ScoreEntry]] = field(default_factory=dict)
    """Further entries of the same items: what failed after the first cause."""
    issues: list[ImportIssue] = field(default_factory=list)

    @property
    def n_scored(self) -> int | None:
        """How many entries were scored."""
        value = self.header.get("total_count")
        return value if isinstance(value, int) else None

    @property
    def n_failures(self) -> int | None:
        """How many of them failed, as the header says."""
        correct = self.header.get("correct_count")
        return self.n_scored - correct if self.n_scored is not None and isinstance(correct, int) else None

    @property
    def is_complete(self) -> bool:
        """Whether every failure that the header counts is known: only then is any other scored item a pass."""
        entries = len(self.failing) + sum(map(len, self.further_entries.values()))
        return self.n_failures is not None and self.n_failures in (len(self.failing), entries)


def load_score_file(
    path: Path, category: str, names: IdsByPosition, *, keep_log: bool = False, which: SelectItem = lambda item, _: item
) -> ScoreFile:
    """A score file, joined with the dataset's ids.

    `names()` maps 0-based positions to the item ids of results or dataset; positions it lacks are called `CATEGORY_n`.
    `which` tells records with one id apart. The inference log, repeated from the result file, is dropped unless
    `keep_log`.
    """
    scores = ScoreFile(path)
    known = lru_cache(maxsize=1)(names)
    started, large = False, is_large(path)

    def tidy(value: dict[str, Any]) -> dict[str, Any]:
        if not keep_log:
            value.pop("inference_log", None)
        return redact(value) if category == "rest" else value

    @lru_cache(maxsize=4)
    def again(line: int, offset: int, length: int) -> dict[str, Any]:
        value = reread(path, Record(line, offset, length, None))
        return tidy(value) if isinstance(value, dict) else {}

    for record in records(path):
        if isinstance(record, ImportIssue):
            scores.issues.append(record)
            _recover_entry(scores, record, category, known)  # has no question to tell items apart by
            continue
        value = record.value
        if not isinstance(value, dict):
            scores.issues.append(
                ImportIssue(str(path), record.line, "a score entry is not an object", excerpt(str(value)))
            )
        elif not started and "total_count" in value and "id" not in value:
            scores.header, started = value, True
        else:
            started = True
            entry = ScoreEntry(value.get("id", ""), record.line, record.offset, record.length, tidy(value))
            _add_entry(scores, entry, item_id_of_entry(entry, category, known), which)
            if large:
                entry.loaded_record, entry.reload = None, again
    _check_header(scores)
    return scores


def _add_entry(
    scores: ScoreFile, entry: ScoreEntry, item: str | None, which: SelectItem = lambda item, _: item
) -> None:
    if item is None:
        what = "a score entry without an id: cannot be joined"
        scores.issues.append(
            ImportIssue(str(scores.path), entry.line, what, excerpt(str(entry.record)), severity="error")
        )
        return
    item, stated = which(item, entry.record), entry.prompt_id
    if isinstance(entry.id, int) and stated is not None and filenames.item_number(stated) != entry.id - 1:
        what = f"score id {entry.id} is position {entry.id - 1}, but its question is {stated}: joined by the question"
        scores.issues.append(ImportIssue(str(scores.path), entry.line, what, item=item))
    if item in scores.failing:
        what = f"{item} is scored more than once; the first entry counts, the others are shown with it"
        scores.issues.append(ImportIssue(str(scores.path), entry.line, what, item=item))
        scores.further_entries.setdefault(item, []).append(entry)
    else:
        scores.failing[item] = entry


def item_id_of_entry(entry: ScoreEntry, category: str, names: IdsByPosition) -> str | None:
    """The item's id: a text id as it is; a 1-based position by the embedded question's id, else by counting."""
    if isinstance(entry.id, str):
        return entry.id or None
    if isinstance(entry.id, bool) or not isinstance(entry.id, int):
        return None
    position = entry.id - 1
    stated = entry.prompt_id
    if stated is not None:
        number = filenames.item_number(stated)
        return names().get(number, stated) if number is not None else stated
    return names().get(position, f"{category}_{position}")


def _recover_entry(scores: ScoreFile, issue: ImportIssue, category: str, names: IdsByPosition) -> None:
    """A broken entry still says which item failed, if its beginning can be read."""
    match = _STATED_ID.match(issue.raw or "")
    if match and issue.severity == "error" and issue.line is not None:
        stated: str | int = match[1] if match[1] is not None else int(match[2])
        entry = ScoreEntry(stated, issue.line, 0, 0, {"id": stated})
        _add_entry(scores, entry, item_id_of_entry(entry, category, names))


def _check_header(scores: ScoreFile) -> None:
    path = str(scores.path)
    if scores.n_failures is None:
        what = "no header with correct_count and total_count: which items passed is unknown"
        scores.issues.append(ImportIssue(path, 1, what, severity="error"))
    elif not scores.is_complete:
        known = len(scores.failing)
        what = f"the header counts {scores.n_failures} failures, but {known} entries follow: passes are unknown"
        scores.issues.append(ImportIssue(path, 1, what, severity="error"))


def error_type(record: dict[str, Any]) -> str | None:
    """At the top level for single-turn entries, inside `error` for multi-turn and agentic ones."""
    value = record.get("error_type")
    error = record.get("error")
    if value is None and isinstance(error, dict):
        value = error.get("error_type")
    return str(value) if value is not None else None


def rationale(record: dict[str, Any]) -> str | None:
    """The evaluator's own words: `error` is a list of texts and detail objects, or an object with `error_message`."""
    error = record.get("error")
    if isinstance(error, dict):
        error = error.get("error_message")
    lines: list[str] = []
    _collect_lines(error, lines)
    return "\n".join(lines) or None


def _collect_lines(error: Any, lines: list[str]) -> None:
    if isinstance(error, str):
        lines.append(error)
    elif isinstance(error, list):
        for part in error:
            _collect_lines(part, lines)
    elif isinstance(error, dict):
        for name, detail in error.items():
            if isinstance(detail, dict):
                sub = detail.get("sub_error")
                words = " ".join(str(word) for word in sub) if isinstance(sub, list) else str(sub or "")
                lines.append(f"{name}: {detail.get('sub_error_type') or ''}: {words}")
            else:
                lines.append(f"{name}: {detail}")
    elif error is not None:
        lines.append(str(error))


def add_turn_details(record: dict[str, Any], into: Extra) -> None:
    """What a multi-turn entry says of the turn that failed: that turn, the state that differs after it, and in `more`
    `missing_responses` [text] and `golden_outputs` (a list of outputs a turn up to the failing one) or
    `golden_outputs_of_turn` (of the failing turn alone)."""
    error = record.get("error")
    if not isinstance(error, dict):
        return
    details: Any = error.get("details")
    if not isinstance(details, dict):
        details = {}
    executed = error.get("execution_result") or details.get("execution_result")
    match = _TURN.search(rationale(record) or "")
    if match:
        into.failing_turn = int(match[1][:6])
    elif isinstance(executed, list) and executed and "mismatch" in (error_type(record) or ""):
        into.failing_turn = len(executed) - 1
    _add_state_differences(details.get("differences"), into)
    if details.get("missing_items"):
        into.more["missing_responses"] = details["missing_items"]
    if isinstance(executed, list):
        into.more["golden_outputs"] = [turn.get("ground_truth") for turn in executed if isinstance(turn, dict)]
    elif (outputs := details.get("ground_truth_response (only the current turn)")) is not None:
        into.more["golden_outputs_of_turn"] = outputs


def _add_state_differences(found: Any, into: Extra) -> None:
    """`{attribute: {"model": value, "ground_truth": value}}`; what has another form is kept as it is."""
    if isinstance(found, dict):
        sides = {"model", "ground_truth"}
        good = {name: both for name, both in found.items() if isinstance(both, dict) and both.keys() >= sides}
        if good:
            into.state_differences = {
                n: StateDifference(both["ground_truth"], both["model"]) for n, both in good.items()
            }
        found = {name: both for name, both in found.items() if name not in good}
    if found:
        into.more["other state differences"] = found
