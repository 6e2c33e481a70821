"""Read the scores of a sample with the edits that people made, and make verdicts from them.

The first entry of a score's history is the official score. Every later entry is an edit by the
person whom its provenance names. The score itself has the value after the last edit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.inspect.messages import Conversation
from fcreview.model.address import ITEM, is_address
from fcreview.model.item import ImportIssue, Item, RecordedReview, SourceName, Verdict
from fcreview.model.json_value import abbreviate, to_json_text, to_plain_json
from fcreview.model.review import CORRECT

JsonObject = Mapping[str, Any]
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Letter grade -> number. The letters mean correct, incorrect, partially correct and no answer."""
LETTER_OF_NUMBER = {1.0: "C", 0.5: "P", 0.0: "I"}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
UNCHANGED = "UNCHANGED"
UNSCORED = None
"""Value of a score if the scorer gave none. A log contains NaN for it."""
SAMPLE_ERROR = "error"
"""Error type of a sample that ended with an error."""
GRADING = "grading"
"""Key in the metadata of a score with the conversation with a grader."""
SCORE_METADATA = "score metadata of "
"""Beginning of the key of a score's metadata in the metadata of an item."""
GRADED_SCORERS = ("model_graded_qa", "model_graded_fact")
MAX_EXPLANATION_LENGTH = 300
"""Maximum number of characters of an explanation that is the first difference of an item."""
MAX_EXPLANATION_READ = 2 * MAX_EXPLANATION_LENGTH
"""Number of characters that are read for it, because spaces and line feeds are merged."""


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
    """Metadata of the provenance as a JSON value."""


@dataclass(slots=True)
class SampleScore:
    name: str
    official: ScoreState | None
    """State of the score before all edits, or None if a person added the score."""
    edits: list[ScoreEdit] = field(default_factory=list)

    @property
    def current_state(self) -> ScoreState:
        return self.edits[-1].state if self.edits else self.official or ScoreState()


PART_SCORE_PREFIX = "fcreview"
"""Prefix of the names of scores that the export adds for verdicts on parts of an item. A name is
`fcreview/TARGET` or, for criteria other than `correct`, `fcreview.CRITERION/TARGET`.
"""


def make_part_score_name(target: str, criterion: str) -> str:
    return (
        f"{PART_SCORE_PREFIX}/{target}"
        if criterion == CORRECT
        else f"{PART_SCORE_PREFIX}.{criterion}/{target}"
    )


class ScoredPart(NamedTuple):
    target: str
    criterion: str


def parse_part_score_name(name: str) -> ScoredPart | None:
    """Return the part of an item to which a score from an export refers, or None for any other
    score.

    The name of such a score is `fcreview/TARGET` or `fcreview.CRITERION/TARGET`.
    """
    head, _, target = name.partition("/")
    prefix, _, criterion = head.partition(".")
    if prefix != PART_SCORE_PREFIX or not is_address(target):
        return None
    return ScoredPart(target, criterion or CORRECT)


def read_scores(
    sample_scores: Any, issues: list[ImportIssue], file: str, line: int
) -> dict[str, SampleScore]:
    """Read the scores of a sample by their names. A score without a value is left out, with an
    issue.

    `file` and `line` are the place of the sample, for issues.
    """
    found: dict[str, SampleScore] = {}
    if sample_scores is not None and not isinstance(sample_scores, dict):
        issues.append(ImportIssue(file, line, what="the scores of a sample are not an object"))
    for name, score in as_object(sample_scores).items():
        if isinstance(score, dict) and "value" in score:
            found[name] = _read_score(name, score)
        else:
            issues.append(
                ImportIssue(file, line, what=f"the score {name} has no value and was omitted")
            )
    return found


def _read_score(name: str, score: dict[str, Any]) -> SampleScore:
    """Read a score of a sample: its official state, and the edits that users of Inspect made.

    The history lists all states. The first one that is no edit is the official state. If all are
    edits, a person added the score.
    """
    current = _read_state(score, ScoreState())
    history = list_objects(score.get("history"))
    if not history:
        return SampleScore(name, current)

    official: ScoreState | None = None
    edits: list[ScoreEdit] = []
    state = ScoreState()
    for entry in history:
        # An entry names only the fields that it changes.
        state = _read_state(entry, state)
        # An entry with provenance, which says who made it, is an edit.
        provenance = entry.get("provenance")
        if isinstance(provenance, dict):
            edits.append(_read_edit(entry, provenance, state))
        elif official is None:
            official = state

    if edits:
        edits[-1] = _correct_last_edit(edits[-1], current)
    return SampleScore(name, official, edits=edits)


def _correct_last_edit(edit: ScoreEdit, current: ScoreState) -> ScoreEdit:
    """Return the last edit with the state of the score itself, if the history has another value.

    The score has the last word.
    """
    if has_same_type_and_value(edit.state.value, current.value):
        return edit
    return replace(edit, state=current, changes_value=True)


def _read_edit(
    entry: Mapping[str, Any], provenance: Mapping[str, Any], state: ScoreState
) -> ScoreEdit:
    """Return an entry of a score's history as an edit, after which the score has `state`."""

    def get_text(key: str) -> str | None:
        value = provenance.get(key)
        return str(value) if value else None

    return ScoreEdit(
        get_text("author") or "unknown",
        reason=get_text("reason"),
        time=get_text("timestamp"),
        state=state,
        changes_value=entry.get("value", UNCHANGED) != UNCHANGED,
        metadata=to_plain_json(provenance.get("metadata")),
    )


def _read_state(entry: dict[str, Any], before: ScoreState) -> ScoreState:
    """Return the state of a score after an entry of its history, given the state before it.

    A field that is missing in the entry, or has the value `UNCHANGED`, keeps its old value.
    """
    fields = {
        "value": before.value,
        "answer": before.answer,
        "explanation": before.explanation,
        "reason": before.reason,
        "metadata": before.metadata,
    }
    fields |= {name: value for name, value in entry.items() if value != UNCHANGED}
    return ScoreState(
        to_json_value(fields["value"]),
        answer=_to_optional_text(fields["answer"]),
        explanation=_to_optional_text(fields["explanation"]),
        reason=_find_reason(fields["reason"], fields["metadata"]),
        metadata=fields["metadata"],
    )


def _find_reason(written: Any, metadata: Any) -> str | None:
    """Return why a sample was not scored, which the metadata may say instead of the score."""
    reason = _to_optional_text(written)
    if reason is None and isinstance(metadata, dict) and metadata.get("unscored_reason"):
        return str(metadata["unscored_reason"])
    return reason


def _to_optional_text(value: Any) -> str | None:
    return None if value is None else str(value)


INFINITE_VALUES = {"Infinity": math.inf, "-Infinity": -math.inf}
"""Texts that stand for infinite scores, because JSON has no such numbers."""


def to_json_value(value: Any) -> Any:
    """Return the value of a score as a JSON value. NaN becomes None, also inside objects and lists,
    and infinity a text. A text replaces the deep levels of a value that is nested too deeply.
    """
    try:
        return _replace_non_finite_numbers(value)
    except RecursionError:
        return _replace_non_finite_numbers(to_plain_json(value))


def _replace_non_finite_numbers(value: Any) -> Any:
    if isinstance(value, float):
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_replace_non_finite_numbers(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _replace_non_finite_numbers(part) for key, part in value.items()}
    return to_plain_json(value)


def to_log_value(value: Any) -> Any:
    """Return the value of a score as a log contains it: NaN for None, and infinite numbers."""
    if value is None:
        return math.nan
    if isinstance(value, dict):
        return {key: to_log_value(part) for key, part in value.items()}
    return INFINITE_VALUES.get(value, value) if isinstance(value, str) else value


def has_same_type_and_value(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first == second)


def to_metric_number(value: Any) -> float:
    """Return the number for a score value, as in Inspect's `value_to_float`.

    Unknown texts, lists and objects are 0.
    """
    number = parse_number(value)
    return 0.0 if number is None else number


def parse_number(value: Any) -> float | None:
    """Return the number for a score value, or None for a value from which no number follows."""
    if isinstance(value, str):
        if value in INFINITE_VALUES:
            return INFINITE_VALUES[value]
        number = _parse_text_value(value)
        return number if number is not None and math.isfinite(number) else None
    try:
        return float(value) if isinstance(value, (bool, int, float)) else None
    except OverflowError:
        return None


def _parse_text_value(text: str) -> float | None:
    """Return the number for a text with a letter grade, yes or no, true or false, or a number,
    else None.
    """
    known = LETTERS.get(text, _WORDS.get(text.lower()))
    try:
        return float(text.lower()) if known is None else known
    except ValueError:
        return None


def to_verdict(value: Any) -> bool | None:
    """Return whether a score value means a pass, or None if it is not between 0 and 1.

    Partial credit is a fail.
    """
    number = parse_number(value)
    if number is not None and 0 <= number <= 1:
        return number == 1
    return None


def convert_verdict_to_value(old_value: Any, is_pass: bool) -> Any:
    """Return the score value for a verdict, in the form of the old value: `C` or `I`, true or
    false, 1 or 0.
    """
    if isinstance(old_value, (bool, float, int)):
        return type(old_value)(is_pass)
    if isinstance(old_value, str) and old_value not in LETTERS:
        for forms in (("no", "yes"), ("false", "true")):
            if old_value.lower() in forms:
                return forms[is_pass]
        if to_verdict(old_value) is not None:
            return "1" if is_pass else "0"
    return "C" if is_pass else "I"


def is_graded_by_model(scorer_name: str, score: SampleScore | None) -> bool:
    """Return whether a scorer calls a model.

    Either the name of the scorer shows this, or the metadata of a score contains a conversation
    with a grader. The name of a repeated scorer ends with a number.
    """
    metadata = (score.official or score.current_state).metadata if score is not None else None
    has_grading = isinstance(as_object(metadata).get(GRADING), list)
    return has_grading or scorer_name.rpartition("/")[2].rstrip("0123456789") in GRADED_SCORERS


class VerdictScale(Protocol):
    """Which values of a score pass. See `Scale`."""

    def to_verdict(self, value: Any) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class LogScores:
    """The roles of a log's scores: which score gives the verdict on the item, and which ones
    come from a judge.
    """

    primary: str | None = None
    """Name of the score that gives the verdict on the item."""
    primary_key: str | None = None
    """Key of the primary score that gives the verdict, if the score is an object."""
    judges: frozenset[str] = frozenset()
    graders: Mapping[str, str] = field(default_factory=dict)
    """Name of a score -> model that gives it."""
    grader: str | None = None
    """Model that gives all other judge scores."""
    scales: Mapping[str, VerdictScale] = field(default_factory=dict)
    """`SCORER` or `SCORER.KEY` -> which values pass.

    A missing scale is that of values between 0 and 1.
    """

    def get_score_author(self, name: str) -> str:
        """Return the name of the model or the scorer that gives a score."""
        return self.graders.get(name) or self.grader or name if name in self.judges else name

    def get_deciding_value(self, scorer: str, value: Any) -> Any:
        """Return the part of a score's value that is the verdict: the value of one key if the score
        is an object, else the whole value.
        """
        if scorer == self.primary and self.primary_key is not None:
            return as_object(value).get(self.primary_key)
        return value

    def to_verdict(self, scorer: str, value: Any) -> bool | None:
        """Return the verdict that follows from the value of a score, or None."""
        name = scorer
        if scorer == self.primary and self.primary_key is not None:
            name = f"{scorer}.{self.primary_key}"
        scale = self.scales.get(name)
        deciding = self.get_deciding_value(scorer, value)
        return to_verdict(deciding) if scale is None else scale.to_verdict(deciding)


def add_score_verdicts(
    item: Item,
    sample: JsonObject,
    scores: Mapping[str, SampleScore],
    log_scores: LogScores,
    conversation: Conversation,
) -> None:
    """Convert the scores of a sample: official ones to verdicts of the item, and edits to reviews.

    All scores are also stored in the item's metadata, from which the metrics are computed.

    Args:
        item: The item.
        sample: The sample, for the error type.
        scores: The scores by name.
        log_scores: Which score gives the verdicts, and which ones are a judge's.
        conversation: The conversation, for the error type.
    """
    official_states = {
        name: score.official for name, score in scores.items() if score.official is not None
    }
    _store_scores(item, scores, official_states)
    for name, state in official_states.items():
        _add_verdicts_of_score(item, name, state, log_scores)
        _add_score_metadata(item, name, state, log_scores)
    if not official_states and item.rule is None and item.rule_note is None:
        item.rule_note = "the log has no score for this sample"

    primary_state = official_states.get(log_scores.primary or "")
    _set_error_type_and_difference(item, sample, primary_state, log_scores, conversation)
    for score in scores.values():
        item.extra.recorded_reviews += _convert_edits(score, log_scores)


def _convert_edits(score: SampleScore, log_scores: LogScores) -> list[RecordedReview]:
    """Convert the edits of a score to reviews."""
    return [
        _convert_edit_to_review(score.name, edit, log_scores, score.official)
        for edit in score.edits
    ]


def _store_scores(
    item: Item, scores: Mapping[str, SampleScore], official_states: Mapping[str, ScoreState]
) -> None:
    """Store the scores of a sample in the item's metadata: official values, values after edits, and
    the answers that scorers extracted.
    """
    metadata = item.extra.metadata
    metadata["scores"] = {name: state.value for name, state in official_states.items()}

    edited_values = {
        name: score.current_state.value for name, score in scores.items() if score.edits
    }
    if edited_values:
        metadata["edited"] = edited_values

    answers = {name: state.answer for name, state in official_states.items() if state.answer}
    if answers:
        metadata["answers"] = answers


def _add_verdicts_of_score(item: Item, name: str, state: ScoreState, log_scores: LogScores) -> None:
    """Add the verdicts that follow from the official state of a score.

    A score that decides gives the verdict on the item, if its value means pass or fail. All scores
    give a verdict on a criterion of their own; a score that is an object has a criterion for each
    key.
    """
    source: SourceName = "judge" if name in log_scores.judges else "official"
    author = log_scores.get_score_author(name)
    rationale = _make_rationale(state)
    verdict = log_scores.to_verdict(name, state.value)
    decides = verdict is not None and _may_decide(item, name, log_scores)
    if decides:
        item.verdicts.append(Verdict(source, verdict, rationale=rationale, by=author))
        if source == "judge":
            item.judge = verdict
        else:
            item.official = verdict

    for criterion, value in _list_criteria(name, state.value, log_scores, decides=decides).items():
        item.verdicts.append(
            Verdict(source, value, criterion=criterion, rationale=rationale, by=author)
        )


def _may_decide(item: Item, name: str, log_scores: LogScores) -> bool:
    """Whether a score may give the verdict on the item: the primary score, and the first of a
    judge.
    """
    is_first_of_judge = name in log_scores.judges and item.judge is None
    return name == log_scores.primary or is_first_of_judge


def _add_score_metadata(item: Item, name: str, state: ScoreState, log_scores: LogScores) -> None:
    """Store what a scorer wrote beside its value in the item's metadata, which the item screen
    shows.

    The explanation of the main score, and that of a judge, is already shown as the reason of a
    verdict.
    """
    metadata = item.extra.metadata
    is_shown_as_reason = name == log_scores.primary or name in log_scores.judges
    if state.explanation and not is_shown_as_reason:
        metadata[f"explanation of {name}"] = state.explanation
    score_metadata = {
        key: value for key, value in as_object(state.metadata).items() if key != GRADING
    }
    if score_metadata:
        metadata[f"{SCORE_METADATA}{name}"] = to_plain_json(score_metadata)


def _list_criteria(
    name: str, value: Any, log_scores: LogScores, *, decides: bool
) -> dict[str, Any]:
    """Return the verdicts on the criterion `SCORER`, or on `SCORER.KEY` for each key of an object
    score.

    A score that decides on the item has no criterion of its own, unless its value says more than
    pass and fail.
    """
    if isinstance(value, dict):
        return {f"{name}.{key}": part for key, part in value.items()}

    verdict = log_scores.to_verdict(name, value)
    is_only_value = verdict is None or _is_partial_credit(value)
    if is_only_value:
        return {name: _to_verdict_value(value)}
    if not decides:
        return {name: verdict}
    # A verdict on the item says nothing about how far a number is from the limit.
    if _is_other_number(value):
        return {name: _to_verdict_value(value)}
    return {}


def _is_other_number(value: Any) -> bool:
    """Whether a value is a number other than 0 and 1, such as 7 on a scale from 0 to 10."""
    number = parse_number(value)
    return number is not None and number not in (0.0, 1.0)


def _is_partial_credit(value: Any) -> bool:
    """Return whether a value is partial credit, which a verdict cannot state."""
    return value == "P" or (isinstance(value, float) and not value.is_integer())


def _to_verdict_value(value: Any) -> Any:
    """Return the value of a verdict for a score value: 0.5 for `P`, and JSON text for a list with
    other values than strings.
    """
    if value == "P":
        return 0.5
    if isinstance(value, list) and not all(isinstance(part, str) for part in value):
        return to_json_text(value)
    return value


def _make_rationale(state: ScoreState) -> str | None:
    """Return the scorer's explanation, and why it gave no score, or None without both."""
    texts = []
    if state.explanation:
        texts.append(state.explanation)
    if state.reason and state.value is None:
        texts.append(f"the sample was not scored: {state.reason}")
    return "\n".join(texts) or None


def shorten_explanation(explanation: str) -> str:
    """Return the start of an explanation on one line, as the first difference of an item."""
    line = " ".join(explanation[:MAX_EXPLANATION_READ].split())
    return line[:MAX_EXPLANATION_LENGTH]


def _set_error_type_and_difference(
    item: Item,
    sample: Mapping[str, Any],
    primary_state: ScoreState | None,
    log_scores: LogScores,
    conversation: Conversation,
) -> None:
    """Set the error type of a failing item, also in its verdict, and the first difference if the
    item has none.

    Args:
        item: The item, with its verdicts.
        sample: The sample, with its error or limit.
        primary_state: The state of the score that gives the verdicts, if there is one.
        log_scores: What is known about the scores of the log.
        conversation: The conversation, with errors of tools.
    """
    passed = item.official if item.official is not None else item.judge
    if passed is not False:
        # A sample that ended with an error may have no score, or one that passes.
        item.error_type = SAMPLE_ERROR if isinstance(sample.get("error"), dict) else None
        return

    state = primary_state or ScoreState()
    score_value = log_scores.get_deciding_value(log_scores.primary or "", state.value)
    _set_error_type(item, _choose_error_type(sample, score_value, conversation))
    if item.first_difference is None:
        _set_first_difference(item, state)


def _set_error_type(item: Item, error_type: str) -> None:
    """Set the error type of a failing item and of the verdict that decides: the official one or,
    without it, that of the judge.
    """
    item.error_type = error_type
    deciding_source: SourceName = "official" if item.official is not None else "judge"
    for verdict in item.verdicts:
        is_on_item = verdict.target == ITEM and verdict.criterion == CORRECT
        if is_on_item and verdict.source == deciding_source:
            verdict.error_type = error_type


def _set_first_difference(item: Item, state: ScoreState) -> None:
    """Set the text that explains a failure in one line: the wrong answer, else the scorer's
    explanation.
    """
    answer = item.extra.final_answer if state.answer is None else state.answer
    accepted_answers = item.extra.accepted_answers or []
    accepted_texts = [str(accepted) for accepted in accepted_answers]
    is_wrong_answer = answer is not None and str(answer) not in accepted_texts
    if accepted_answers and is_wrong_answer:
        item.diff_golden = abbreviate(accepted_answers[0])
        item.diff_predicted = abbreviate(answer)
        item.first_difference = f"the answer is {item.diff_predicted} instead of {item.diff_golden}"
    elif state.explanation:
        item.first_difference = shorten_explanation(state.explanation)


def _choose_error_type(
    sample: Mapping[str, Any], score_value: Any, conversation: Conversation
) -> str:
    """Choose the error type of a failed sample: the most exact reason that is known, so the order
    of the checks matters.

    `score_value` is the value of the score that gives the verdict.
    """
    if isinstance(sample.get("error"), dict):
        return SAMPLE_ERROR
    limit = as_object(sample.get("limit")).get("type")
    if limit:
        return f"limit:{limit}"
    # In Inspect, "N" means no answer.
    if score_value == "N":
        return "no_answer"
    stop_reason = _get_stop_reason(sample)
    if stop_reason in ("max_tokens", "model_length", "content_filter"):
        return f"stopped:{stop_reason}"
    if _is_partly_correct(score_value):
        return "partial"
    if any(call.decode_error for call in conversation.calls):
        return "invalid_arguments"
    if conversation.tool_errors:
        return f"tool_error:{conversation.tool_errors[-1]}"
    return "incorrect"


def _is_partly_correct(score_value: Any) -> bool:
    """Whether a score means partly correct: Inspect's "P", or a number between 0 and 1."""
    return score_value == "P" or (isinstance(score_value, float) and 0 < score_value < 1)


def _get_stop_reason(sample: Mapping[str, Any]) -> Any:
    """Return why the model stopped in the output of a sample, or None."""
    choices = as_list(as_object(sample.get("output")).get("choices"))
    if not choices:
        return None
    return as_object(choices[0]).get("stop_reason")


def _convert_edit_to_review(
    score_name: str, edit: ScoreEdit, log_scores: LogScores, official: ScoreState | None
) -> RecordedReview:
    """Convert an edit, with which a user of Inspect changed a score, to a review.

    Args:
        score_name: Name of the edited score.
        edit: The edit, with the new value, the reason and the author.
        log_scores: Which score is the primary one, and which values pass.
        official: The state of the score before all edits, if there was one.
    """
    verdict = log_scores.to_verdict(score_name, edit.state.value)
    is_item_verdict = score_name == log_scores.primary and verdict is not None
    part = _find_reviewed_part(score_name, is_item_verdict=is_item_verdict)
    review = RecordedReview(
        "inspect",
        author=edit.author,
        verdict=None,
        target=part.target,
        criterion=part.criterion,
        reason=edit.reason,
        time=edit.time,
        events=_list_events(edit),
    )
    # An edit that changes only the reason gives a review without a verdict.
    if edit.changes_value:
        value = _find_reviewed_value(edit, verdict, official, is_item_verdict=is_item_verdict)
        # A review has no object as its verdict, so an object is JSON text.
        review.verdict = (
            to_json_text(value) if isinstance(value, dict) else _to_verdict_value(value)
        )
    return review


def _list_events(edit: ScoreEdit) -> list[str]:
    """Return the events of reviews that an edit names, because fcreview exported it."""
    own_metadata = as_object(as_object(edit.metadata).get("fcreview"))
    return [str(event) for event in as_list(own_metadata.get("events"))]


def _find_reviewed_part(score_name: str, *, is_item_verdict: bool) -> ScoredPart:
    """Return what an edit of a score is about.

    Scores that fcreview exported name it. Another score is about the item: an edit of the primary
    score is a verdict on it, and an edit of another score a verdict on a criterion with the name of
    the score.
    """
    part = parse_part_score_name(score_name)
    if part is not None:
        return part
    return ScoredPart(ITEM, CORRECT if is_item_verdict else score_name)


def _find_reviewed_value(
    edit: ScoreEdit, verdict: bool | None, official: ScoreState | None, *, is_item_verdict: bool
) -> Any:
    """Return the value of a review: `verdict`, the verdict that the edited value means, or the
    edited value itself.
    """
    # A verdict on the item is pass or fail.
    if is_item_verdict:
        return verdict
    # On another criterion, partial credit and a value that means no verdict stay as they are.
    value = edit.state.value
    if verdict is None or _is_partial_credit(value):
        return value
    # If the official value is partial credit, the criterion has numbers: 1 instead of pass.
    has_numbers = official is not None and _is_partial_credit(official.value)
    return to_metric_number(value) if has_numbers else verdict
