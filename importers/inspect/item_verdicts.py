"""Make the verdicts of an item from the scores of its sample: scorers' and graders' scores, and edits by people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.inspect.messages import Conversation
from fcreview.importers.inspect.scores import (
    SampleScore,
    ScoreEdit,
    ScoreState,
    parse_part_score,
    to_number,
    to_verdict,
)
from fcreview.model.address import ITEM
from fcreview.model.item import Item, RecordedReview, SourceName, Verdict
from fcreview.model.json_value import abbreviate, to_json_text
from fcreview.model.review import CORRECT

UNSCORED_NOTE = "the sample was not scored"


@dataclass(frozen=True, slots=True)
class LogScores:
    """Data that determines which scores of a log become official, judge and item verdicts."""

    primary: str | None = None
    """Name of the score that gives the verdict on the item."""
    judges: frozenset[str] = frozenset()
    """Scores that a language model gives."""
    graders: Mapping[str, str] = field(default_factory=dict)
    """Score -> model that gives it."""
    grader: str | None = None
    """Model in the role `grader`."""

    def describe(self, name: str) -> str:
        """Return the origin of a score: the grading model, or the scorer."""
        return self.graders.get(name) or self.grader or name if name in self.judges else name


def add_score_verdicts(
    item: Item,
    sample: Mapping[str, Any],
    scores: Mapping[str, SampleScore],
    log: LogScores,
    conversation: Conversation,
) -> None:
    """Set the item's verdicts, and keep all scores as metadata for the metrics."""
    by_scorer: dict[str, SampleScore] = {name: score for name, score in scores.items() if score.official is not None}
    item.extra.metadata["scores"] = {name: score.official.value for name, score in by_scorer.items() if score.official}
    edited = {name: score.current.value for name, score in scores.items() if score.edits}
    if edited:
        item.extra.metadata["edited"] = edited
    answers = {
        name: score.official.answer for name, score in by_scorer.items() if score.official and score.official.answer
    }
    if answers:
        item.extra.metadata["answers"] = answers
    for name, score in by_scorer.items():
        if score.official is not None:
            _add_score(item, name, score.official, log)
    _set_error_type(item, sample, by_scorer.get(log.primary or ""), conversation)
    for name, score in scores.items():
        item.extra.recorded_reviews += [_recorded_review(name, edit, log, score.official) for edit in score.edits]
    if not by_scorer and item.rule is None and item.rule_note is None:
        item.rule_note = UNSCORED_NOTE


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
    is_shown = decides and verdict is not None and not _is_fraction(state.value)
    if isinstance(state.value, dict):
        for key, part in state.value.items():
            item.verdicts.append(Verdict(source, part, criterion=f"{name}.{key}", rationale=rationale, by=by))
    elif not is_shown:
        value = state.value if _is_fraction(state.value) or verdict is None else verdict
        item.verdicts.append(Verdict(source, _plain(value), criterion=name, rationale=rationale, by=by))


def _is_fraction(value: Any) -> bool:
    """Whether a value is partial credit, which the verdict does not show."""
    return value == "P" or (isinstance(value, float) and not value.is_integer())


def _plain(value: Any) -> Any:
    """Return a value that a verdict can have: 0.5 for `P`, and JSON text for a list with other values than texts."""
    if value == "P":
        return 0.5
    if isinstance(value, list) and not all(isinstance(part, str) for part in value):
        return to_json_text(value)
    return value


def _rationale(state: ScoreState) -> str | None:
    parts = [state.explanation, f"not scored: {state.reason}" if state.reason and state.value is None else None]
    return "\n".join(part for part in parts if part) or None


def _set_error_type(
    item: Item, sample: Mapping[str, Any], score: SampleScore | None, conversation: Conversation
) -> None:
    """Set the error type of a failing item, and its first difference from the target."""
    passed = item.official if item.official is not None else item.judge
    if passed is not False:
        return
    item.error_type = _failure_kind(sample, score, conversation)
    source = "official" if item.official is not None else "judge"
    main = (v for v in item.verdicts if (v.source, v.target, v.criterion) == (source, ITEM, CORRECT))
    for verdict in main:
        verdict.error_type = item.error_type
    if item.first_difference is not None:
        return
    state = score.official if score is not None else None
    answer = state.answer if state is not None and state.answer is not None else item.extra.final_answer
    accepted = item.extra.accepted_answers
    if accepted and answer is not None:
        item.diff_golden, item.diff_predicted = abbreviate(accepted[0]), abbreviate(answer)
        item.first_difference = f"answer {item.diff_predicted} (golden {item.diff_golden})"
    elif state is not None and state.explanation:
        item.first_difference = " ".join(state.explanation[:600].split())[:300]


def _failure_kind(sample: Mapping[str, Any], score: SampleScore | None, conversation: Conversation) -> str:
    error, limit, output = (sample.get(name) for name in ("error", "limit", "output"))
    if isinstance(error, dict):
        return "error"
    if isinstance(limit, dict) and limit.get("type"):
        return f"limit:{limit['type']}"
    value = score.official.value if score is not None and score.official is not None else None
    if value == "N":
        return "no_answer"
    choices = output.get("choices") if isinstance(output, dict) else None
    last = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
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
    metadata = edit.metadata if isinstance(edit.metadata, dict) else {}
    own = metadata.get("fcreview")
    events = own.get("events") if isinstance(own, dict) else None
    verdict = to_verdict(edit.state.value)
    is_item = name == log.primary and verdict is not None
    target, criterion = parse_part_score(name) or (ITEM, CORRECT if is_item else name)
    value: Any = None
    if edit.changes_value:
        value = edit.state.value
        if is_item or (verdict is not None and not _is_fraction(value)):
            # On a criterion with partial credit, verdicts are numbers.
            value = verdict if is_item or official is None or not _is_fraction(official.value) else to_number(value)
        else:
            value = _plain(value)
    return RecordedReview(
        "inspect",
        edit.author,
        value if not isinstance(value, dict) else to_json_text(value),
        target,
        criterion,
        reason=edit.reason,
        time=edit.time,
        events=[str(event) for event in events] if isinstance(events, list) else [],
    )
