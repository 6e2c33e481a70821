"""Read the scores of a sample (official values, edits by people, values as numbers), and make verdicts from them.

The first entry of a score's history is the official score. Every later entry is an edit by a person, who is named in
the entry's provenance. The score itself has the value after the last edit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.inspect.messages import Conversation
from fcreview.model.address import ITEM, is_address
from fcreview.model.item import ImportIssue, Item, RecordedReview, SourceName, Verdict
from fcreview.model.json_value import abbreviate, to_json_text, to_plain_json
from fcreview.model.review import CORRECT

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Grade -> number: correct, incorrect, partial, no answer."""
LETTER_OF_NUMBER = {1.0: "C", 0.5: "P", 0.0: "I"}
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
    """Metadata of the provenance, as JSON."""


@dataclass(slots=True)
class SampleScore:
    name: str
    official: ScoreState | None
    """State of the score before all edits; None if a person added the score."""
    edits: list[ScoreEdit] = field(default_factory=list)

    @property
    def current(self) -> ScoreState:
        return self.edits[-1].state if self.edits else self.official or ScoreState()


PART_SCORE = "fcreview"
"""Prefix of the names of scores that the export adds for verdicts on parts: `fcreview/TARGET`, or
`fcreview.CRITERION/TARGET` for criteria other than `correct`."""


def part_score_name(target: str, criterion: str) -> str:
    return f"{PART_SCORE}/{target}" if criterion == CORRECT else f"{PART_SCORE}.{criterion}/{target}"


def parse_part_score(name: str) -> tuple[str, str] | None:
    """Return target and criterion of a score that the export added; None for any other score."""
    head, _, target = name.partition("/")
    start, _, criterion = head.partition(".")
    return (target, criterion or CORRECT) if start == PART_SCORE and is_address(target) else None


def read_scores(value: Any, issues: list[ImportIssue], file: str, line: int) -> dict[str, SampleScore]:
    """Read the scores of a sample. A score without a value is omitted with an issue."""
    found: dict[str, SampleScore] = {}
    if value is not None and not isinstance(value, dict):
        issues.append(ImportIssue(file, line, "the scores of a sample are not an object"))
    for name, score in as_object(value).items():
        if isinstance(score, dict) and "value" in score:
            found[name] = _read_score(name, score)
        else:
            issues.append(ImportIssue(file, line, f"the score {name} has no value and was omitted"))
    return found


def _read_score(name: str, score: dict[str, Any]) -> SampleScore:
    history = list_objects(score.get("history"))
    current = _read_state(score, ScoreState())
    if not history:
        return SampleScore(name, current)
    official: ScoreState | None = None
    state, edits = ScoreState(), list[ScoreEdit]()
    for entry in history:
        state = _read_state(entry, state)
        provenance = entry.get("provenance")
        if not isinstance(provenance, dict):
            official = official or state
            continue
        texts = (provenance.get(key) for key in ("author", "reason", "timestamp"))
        author, reason, time = (str(text) if text else None for text in texts)
        changes_value = entry.get("value", UNCHANGED) != UNCHANGED
        metadata = to_plain_json(provenance.get("metadata"))
        edits.append(ScoreEdit(author or "unknown", reason, time, state, changes_value, metadata))
    if edits and not same_value(edits[-1].state.value, current.value):
        edits[-1] = replace(edits[-1], state=current, changes_value=True)
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
        value = _parse_text_value(value)
        return value if value is not None and math.isfinite(value) else 0.0
    try:
        return float(value) if isinstance(value, (bool, int, float)) else 0.0
    except OverflowError:
        return 0.0


def _parse_text_value(text: str) -> float | None:
    """Return the number that a text stands for: a letter grade, yes or no, true or false, or a number."""
    known = LETTERS.get(text, _WORDS.get(text.lower()))
    try:
        return float(text.lower()) if known is None else known
    except ValueError:
        return None


def to_verdict(value: Any) -> bool | None:
    """Return whether a score value is a pass; partial credit is not. None for a value that is not between 0 and 1."""
    if isinstance(value, str):
        value = _parse_text_value(value)
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        return bool(value == 1)
    return None


def value_for_verdict(old: Any, passed: bool) -> Any:
    """Return the value that states a verdict in the form of the old value: `C` or `I`, true or false, 1 or 0."""
    if isinstance(old, (bool, float, int)):
        return type(old)(passed)
    if isinstance(old, str) and old not in LETTERS:
        for forms in (("no", "yes"), ("false", "true")):
            if old.lower() in forms:
                return forms[passed]
        if to_verdict(old) is not None:
            return "1" if passed else "0"
    return "C" if passed else "I"


def is_graded_by_model(scorer: str, score: SampleScore | None) -> bool:
    """Whether a scorer calls a model.

    The name of the scorer shows this, or a conversation with a grader in the metadata of a score. Repeated scorers have
    numbered names, such as `NAME1`.
    """
    metadata = (score.official or score.current).metadata if score is not None else None
    has_grading = isinstance(as_object(metadata).get("grading"), list)
    return has_grading or scorer.rpartition("/")[2].rstrip("0123456789") in GRADED_SCORERS


@dataclass(frozen=True, slots=True)
class LogScores:
    """Data that determines which scores of a log become official, judge and item verdicts."""

    primary: str | None = None
    """Name of the score that gives the verdict on the item."""
    judges: frozenset[str] = frozenset()
    graders: Mapping[str, str] = field(default_factory=dict)
    """Score -> model that gives it."""
    grader: str | None = None

    def describe(self, name: str) -> str:
        """Return the origin of a score: the grading model, or the scorer."""
        return self.graders.get(name) or self.grader or name if name in self.judges else name


def add_score_verdicts(
    item: Item, sample: Mapping[str, Any], scores: Mapping[str, SampleScore], log: LogScores, conversation: Conversation
) -> None:
    """Set the item's verdicts, and keep all scores as metadata for the metrics."""
    official = {name: score.official for name, score in scores.items() if score.official is not None}
    metadata = item.extra.metadata
    metadata["scores"] = {name: state.value for name, state in official.items()}
    if edited := {name: score.current.value for name, score in scores.items() if score.edits}:
        metadata["edited"] = edited
    if answers := {name: state.answer for name, state in official.items() if state.answer}:
        metadata["answers"] = answers
    for name, state in official.items():
        _add_score(item, name, state, log)
    _set_error_type(item, sample, official.get(log.primary or ""), conversation)
    for name, score in scores.items():
        item.extra.recorded_reviews += [_recorded_review(name, edit, log, score.official) for edit in score.edits]
    if not official and item.rule is None and item.rule_note is None:
        item.rule_note = "the sample was not scored"


def _add_score(item: Item, name: str, state: ScoreState, log: LogScores) -> None:
    source: SourceName = "judge" if name in log.judges else "official"
    by, rationale = log.describe(name), _rationale(state)
    verdict = to_verdict(state.value)
    decides = name == log.primary or (source == "judge" and item.judge is None)
    if decides and verdict is not None:
        item.verdicts.append(Verdict(source, verdict, rationale=rationale, by=by))
        if source == "judge":
            item.judge = verdict
        else:
            item.official = verdict
    is_fraction = _is_partial_credit(state.value)
    values = {f"{name}.{key}": part for key, part in as_object(state.value).items()}
    if not isinstance(state.value, dict) and (not decides or verdict is None or is_fraction):
        values = {name: _to_verdict_value(state.value if is_fraction or verdict is None else verdict)}
    for criterion, value in values.items():
        item.verdicts.append(Verdict(source, value, criterion=criterion, rationale=rationale, by=by))


def _is_partial_credit(value: Any) -> bool:
    """Whether a value is partial credit, which the verdict does not show."""
    return value == "P" or (isinstance(value, float) and not value.is_integer())


def _to_verdict_value(value: Any) -> Any:
    """Return a value that a verdict can have: 0.5 for `P`, and JSON text for a list that does not contain only
    texts."""
    if value == "P":
        return 0.5
    if isinstance(value, list) and not all(isinstance(part, str) for part in value):
        return to_json_text(value)
    return value


def _rationale(state: ScoreState) -> str | None:
    parts = [state.explanation, f"not scored: {state.reason}" if state.reason and state.value is None else None]
    return "\n".join(part for part in parts if part) or None


def _set_error_type(
    item: Item, sample: Mapping[str, Any], state: ScoreState | None, conversation: Conversation
) -> None:
    passed = item.official if item.official is not None else item.judge
    if passed is not False:
        return
    item.error_type = _failure_kind(sample, state.value if state is not None else None, conversation)
    source = "official" if item.official is not None else "judge"
    for verdict in item.verdicts:
        if (verdict.source, verdict.target, verdict.criterion) == (source, ITEM, CORRECT):
            verdict.error_type = item.error_type
    if item.first_difference is not None:
        return
    answer = state.answer if state is not None and state.answer is not None else item.extra.final_answer
    accepted = item.extra.accepted_answers
    if accepted and answer is not None:
        item.diff_golden, item.diff_predicted = abbreviate(accepted[0]), abbreviate(answer)
        item.first_difference = f"answer {item.diff_predicted} (golden {item.diff_golden})"
    elif state is not None and state.explanation:
        item.first_difference = " ".join(state.explanation[:600].split())[:300]


def _failure_kind(sample: Mapping[str, Any], value: Any, conversation: Conversation) -> str:
    if isinstance(sample.get("error"), dict):
        return "error"
    if limit := as_object(sample.get("limit")).get("type"):
        return f"limit:{limit}"
    if value == "N":
        return "no_answer"
    last = as_object(next(iter(as_list(as_object(sample.get("output")).get("choices"))), None))
    if last.get("stop_reason") in ("max_tokens", "model_length", "content_filter"):
        return f"stopped:{last['stop_reason']}"
    if value == "P" or (isinstance(value, float) and 0 < value < 1):
        return "partial"
    if any(call.decode_error for call in conversation.calls):
        return "invalid_arguments"
    if conversation.tool_errors:
        return f"tool_error:{conversation.tool_errors[-1]}"
    return "incorrect"


def _recorded_review(name: str, edit: ScoreEdit, log: LogScores, official: ScoreState | None) -> RecordedReview:
    """Convert an edit of a score. An edit of the main score is a verdict on the item."""
    events = as_object(as_object(edit.metadata).get("fcreview")).get("events")
    verdict = to_verdict(edit.state.value)
    is_item = name == log.primary and verdict is not None
    target, criterion = parse_part_score(name) or (ITEM, CORRECT if is_item else name)
    value = edit.state.value if edit.changes_value else None
    if edit.changes_value and (is_item or (verdict is not None and not _is_partial_credit(value))):
        # On a criterion with partial credit, verdicts are numbers.
        value = verdict if is_item or official is None or not _is_partial_credit(official.value) else to_number(value)
    value = to_json_text(value) if isinstance(value, dict) else _to_verdict_value(value)
    event_ids = [str(event) for event in as_list(events)]
    return RecordedReview("inspect", edit.author, value, target, criterion, edit.reason, edit.time, event_ids)
