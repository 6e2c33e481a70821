"""Read the scores of a sample: official values, edits by people, and values as numbers.

The first entry of a score's history is the official score. Every later entry is an edit by a person, who is named in
the entry's provenance. The score itself has the value after the last edit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from fcreview.model.address import is_address
from fcreview.model.item import ImportIssue
from fcreview.model.json_value import to_plain_json
from fcreview.model.review import CORRECT

CORRECT_GRADE, INCORRECT_GRADE, PARTIAL_GRADE, NO_ANSWER_GRADE = "C", "I", "P", "N"
LETTERS = {CORRECT_GRADE: 1.0, INCORRECT_GRADE: 0.0, PARTIAL_GRADE: 0.5, NO_ANSWER_GRADE: 0.0}
LETTER_OF_NUMBER = {1.0: CORRECT_GRADE, 0.5: PARTIAL_GRADE, 0.0: INCORRECT_GRADE}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
UNCHANGED = "UNCHANGED"
UNSCORED = None
"""Value of a score that its scorer could not give. Logs write NaN."""
GRADED_SCORERS = ("model_graded_qa", "model_graded_fact")


@dataclass(frozen=True, slots=True)
class ScoreState:
    """The fields of a score, before or after an edit."""

    value: Any = UNSCORED
    answer: str | None = None
    explanation: str | None = None
    reason: str | None = None
    metadata: Any = None


@dataclass(frozen=True, slots=True)
class ScoreEdit:
    """An edit of a score by a person. `state` is the score after the edit."""

    author: str
    reason: str | None
    time: str | None
    state: ScoreState
    changes_value: bool
    metadata: Any = None
    """Metadata of the provenance; JSON."""


@dataclass(slots=True)
class SampleScore:
    name: str
    official: ScoreState | None
    """None for a score that a person added."""
    edits: list[ScoreEdit] = field(default_factory=list)

    @property
    def current(self) -> ScoreState:
        """The score after all edits."""
        return self.edits[-1].state if self.edits else self.official or ScoreState()


PART_SCORE = "fcreview"
"""Prefix of the names of scores that the export adds for verdicts on parts: `fcreview/TARGET`, or
`fcreview.CRITERION/TARGET` for another criterion than `correct`."""


def part_score_name(target: str, criterion: str) -> str:
    return f"{PART_SCORE}/{target}" if criterion == CORRECT else f"{PART_SCORE}.{criterion}/{target}"


def parse_part_score(name: str) -> tuple[str, str] | None:
    """Return target and criterion of a score that the export added; None for any other score."""
    head, _, target = name.partition("/")
    start, _, criterion = head.partition(".")
    return (target, criterion or CORRECT) if start == PART_SCORE and is_address(target) else None


def read_scores(value: Any, issues: list[ImportIssue], file: str, line: int) -> dict[str, SampleScore]:
    """Read the scores of a sample. A score of another form gives an issue and is omitted.

    Samples of the first logs have one `score` instead of `scores`; the caller passes either.
    """
    found: dict[str, SampleScore] = {}
    if value is None:
        return found
    if not isinstance(value, dict):
        issues.append(ImportIssue(file, line, "the scores of a sample are not an object"))
        return found
    for name, score in value.items():
        if not isinstance(score, dict) or "value" not in score:
            issues.append(ImportIssue(file, line, f"the score {name} has no value and was omitted"))
            continue
        found[name] = _read_score(name, score)
    return found


def _read_score(name: str, score: dict[str, Any]) -> SampleScore:
    entries = score.get("history")
    history = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    current = _read_state(score, ScoreState())
    if not history:
        return SampleScore(name, current)
    state = ScoreState()
    official: ScoreState | None = None
    edits: list[ScoreEdit] = []
    for entry in history:
        state = _read_state(entry, state)
        provenance = entry.get("provenance")
        if not isinstance(provenance, dict):
            official = state if official is None else official
            continue
        author, reason, time = (provenance.get(key) for key in ("author", "reason", "timestamp"))
        edits.append(
            ScoreEdit(
                str(author or "unknown"),
                str(reason) if reason else None,
                str(time) if time else None,
                state,
                "value" in entry and entry["value"] != UNCHANGED,
                to_plain_json(provenance.get("metadata")),
            )
        )
    if edits and not same_value(edits[-1].state.value, current.value):
        edits[-1] = ScoreEdit(edits[-1].author, edits[-1].reason, edits[-1].time, current, True, edits[-1].metadata)
    return SampleScore(name, official if official is not None or edits else current, edits)


def _read_state(entry: dict[str, Any], before: ScoreState) -> ScoreState:
    """Return the state after an entry of the history. A field that is missing or `UNCHANGED` keeps its value."""

    def changed(key: str, old: Any) -> Any:
        return old if entry.get(key, UNCHANGED) == UNCHANGED else entry[key]

    def text(key: str, old: str | None) -> str | None:
        value = changed(key, old)
        return None if value is None else str(value)

    metadata = changed("metadata", before.metadata)
    reason = text("reason", before.reason)
    if reason is None and isinstance(metadata, dict) and metadata.get("unscored_reason"):
        reason = str(metadata["unscored_reason"])
    value = plain_value(changed("value", before.value))
    return ScoreState(value, text("answer", before.answer), text("explanation", before.explanation), reason, metadata)


def plain_value(value: Any) -> Any:
    """Return a score's value as JSON. NaN becomes None, also inside objects and lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [plain_value(part) for part in value]
    if isinstance(value, dict):
        return {str(key): plain_value(part) for key, part in value.items()}
    return to_plain_json(value)


def same_value(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first == second)


def to_number(value: Any) -> float:
    """Return a value as Inspect's metrics count it (`value_to_float`): other texts, lists and objects count as 0."""
    if isinstance(value, str):
        if value in LETTERS:
            return LETTERS[value]
        lower = value.lower()
        if lower in _WORDS:
            return _WORDS[lower]
        try:
            number = float(lower)
        except ValueError:
            return 0.0
        return number if math.isfinite(number) else 0.0
    if isinstance(value, (bool, int, float)):
        try:
            return float(value)
        except OverflowError:
            return 0.0
    return 0.0


def to_verdict(value: Any) -> bool | None:
    """Return whether a value is a pass, or None for a value that is not on the scale from 0 to 1.

    Partial credit is not a pass.
    """
    if isinstance(value, str):
        if value in LETTERS:
            return value == CORRECT_GRADE
        lower = value.lower()
        if lower in _WORDS:
            return _WORDS[lower] == 1.0
        try:
            value = float(lower)
        except ValueError:
            return None
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        return bool(value == 1)
    return None


def value_for_verdict(old: Any, passed: bool) -> Any:
    """Return the value that states a verdict in the form of the old value: `C` or `I`, true or false, 1 or 0."""
    if isinstance(old, bool):
        return passed
    if isinstance(old, float):
        return float(passed)
    if isinstance(old, int):
        return int(passed)
    if isinstance(old, str) and old not in LETTERS:
        lower = old.lower()
        if lower in ("yes", "no"):
            return "yes" if passed else "no"
        if lower in ("true", "false"):
            return "true" if passed else "false"
        if to_verdict(old) is not None:
            return "1" if passed else "0"
    return CORRECT_GRADE if passed else INCORRECT_GRADE


def is_graded_by_name(scorer: str) -> bool:
    """Whether a scorer calls a model, by its name. Repeated scorers have numbered names, such as `NAME1`."""
    return scorer.rpartition("/")[2].rstrip("0123456789") in GRADED_SCORERS


def has_grading(score: SampleScore) -> bool:
    """Whether a score has the conversation with a grader in its metadata."""
    state = score.official or score.current
    grading = state.metadata.get("grading") if isinstance(state.metadata, dict) else None
    return isinstance(grading, list)
