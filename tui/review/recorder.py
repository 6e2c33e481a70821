"""Record reviews (verdicts, scores, faults, error tags, notes, golden fixes, override reasons), and
undo them.

The meaning of pass and fail depends on the automatic verdict on the target. If a judge decided
whether a call is equivalent to the golden call, pass and fail mean equivalent and not equivalent.
If a judge decided whether an argument is hallucinated, pass means not hallucinated. In all other
cases, pass and fail mean correct and incorrect. A review is on disk before its outcome is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.model.address import ITEM, RESPONSE, describe_address
from fcreview.model.effective_verdict import is_definite
from fcreview.model.incident import INCIDENT
from fcreview.model.item import Item, Verdict
from fcreview.model.review import CORRECT, ITEM_CORRECT, Annotation, Event, Fault, Opinion
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import (
    DECISIVE_STEP,
    EQUIVALENT,
    JUDGE_NOTE_CRITERIA,
    PASS_FAIL_CRITERIA,
    TRUE_MEANS_FAILURE,
    ZERO_TO_TWO_CRITERIA,
    TargetCriterion,
)
from fcreview.model.wording import format_count, format_verdict
from fcreview.store.rows import ItemDetail
from fcreview.tui.review.verdict_keys import (
    FAIL_KEY,
    GOLDEN_WRONG_KEY,
    PASS_KEY,
    VERDICT_KEY_BY_NAME,
)

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.tui.review.golden_effect import GoldenCorrection
    from fcreview.tui.session import Session


SOURCE_PRIORITY = ("judge", "official", "rule")
"""Sources of automatic verdicts, highest priority first. A verdict key confirms or overrides the
verdict of the first source that has one on the target.
"""
GOLDEN_ANSWER_PREFIX = "golden answer "
GOLDEN_WRONG_PREFIX = "golden wrong, so "


@dataclass(frozen=True, slots=True)
class DigitAnswer:
    """Answer, in the words of its criterion, that a digit gives."""

    label: str
    verdict_key: str
    """Name of the verdict key with the same effect (`verdict_keys.VERDICT_KEY_BY_NAME`)."""


DIGIT_ANSWERS: Mapping[str, Sequence[DigitAnswer]] = {
    "hallucinated": (
        DigitAnswer("hallucinated", FAIL_KEY.name),
        DigitAnswer("not hallucinated", PASS_KEY.name),
    ),
    EQUIVALENT: (
        DigitAnswer("equivalent", PASS_KEY.name),
        DigitAnswer("not equivalent", FAIL_KEY.name),
    ),
}
"""Answers of the criteria that have words of their own. The first is given by the key 1, and it is
the meaning of true.
"""


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """Target and criterion of the verdict that the next verdict key records."""

    target: str = ITEM
    criterion: str = CORRECT
    automatic: Any = None
    score_question: str = ""
    """Target and criterion of the score that the next score key records, such as `response
    completeness`. Empty if the item has no scores.
    """

    @property
    def digit_answers(self) -> Sequence[DigitAnswer]:
        """Answers that the digits from 1 give. Empty for a criterion that has no own words."""
        return DIGIT_ANSWERS.get(self.criterion, ())

    def value_to_store(self, verdict: Any) -> Any:
        """Convert pass (True), fail (False) or unsure to the value to store. None if the annotator
        must choose labels instead.
        """
        if not is_definite(verdict):
            return verdict
        if isinstance(self.automatic, list):
            return self.automatic if verdict else None
        if self.criterion in TRUE_MEANS_FAILURE:
            return not verdict
        return verdict


def find_pending_question(item: Item, target: str, criterion: str = "") -> PendingQuestion:
    """Return the target and criterion of the verdict that a verdict key records on the target.

    `criterion`: criterion of a further scorer's verdict on the item, at which the cursor is; else
    empty.
    """
    verdicts_on_target = [verdict for verdict in item.verdicts if verdict.target == target]
    if criterion:
        for verdict in verdicts_on_target:
            if verdict.criterion == criterion:
                return PendingQuestion(target, criterion, automatic=verdict.value)
    if target == ITEM:
        return PendingQuestion(target)

    answerable = [verdict for verdict in verdicts_on_target if is_answered_by_pass_fail(verdict)]
    for source in SOURCE_PRIORITY:
        for verdict in answerable:
            if verdict.source == source:
                return PendingQuestion(target, verdict.criterion, automatic=verdict.value)
    return PendingQuestion(target)


def describe_automatic_answer(item: Item, target: str, criterion: str) -> str:
    """Return the automatic answer that a review would confirm or override, in the words of its
    scale: `judge: not hallucinated`, `judge: completeness 2`. Empty if there is none, or if the
    criterion is `correct`, whose verdict the header has as a badge.
    """
    if criterion == CORRECT:
        return ""
    for source in SOURCE_PRIORITY:
        for verdict in item.verdicts:
            if (verdict.source, verdict.target, verdict.criterion) == (source, target, criterion):
                return f"{source}: {_format_answer(verdict.value, criterion)}"
    return ""


def _format_answer(value: Any, criterion: str) -> str:
    answers = DIGIT_ANSWERS.get(criterion)
    if answers is None or not isinstance(value, bool):
        return format_verdict_with_criterion(value, criterion)
    true_answer, false_answer = answers
    return true_answer.label if value else false_answer.label


def is_answered_by_pass_fail(verdict: Verdict) -> bool:
    """Whether the pass and fail keys can confirm or override the automatic verdict."""
    if verdict.criterion in JUDGE_NOTE_CRITERIA:
        return False
    if isinstance(verdict.value, list):
        return verdict.target == RESPONSE
    return isinstance(verdict.value, bool) and verdict.criterion in (
        *PASS_FAIL_CRITERIA,
        *TRUE_MEANS_FAILURE,
    )


def find_unanswered_judge_verdicts(
    detail: ItemDetail, annotator: str, answered: Iterable[TargetCriterion] = ()
) -> list[TargetCriterion]:
    """Return (target, criterion) of each judge verdict that the annotator has not reviewed, the
    response last. `answered`: verdicts that the annotator has reviewed since `detail` was read.
    """
    reviewed = set(answered)
    for opinion in detail.opinions:
        is_current = opinion.verdict is not None and not opinion.stale
        if is_current and opinion.annotator == annotator:
            reviewed.add((opinion.target, opinion.criterion))

    unanswered: list[TargetCriterion] = []
    for verdict in detail.item.verdicts:
        if verdict.source != "judge" or not _needs_answer(verdict):
            continue
        question = (verdict.target, verdict.criterion)
        if question not in reviewed and question not in unanswered:
            unanswered.append(question)
    return sorted(unanswered, key=_is_on_response)


def _is_on_response(question: TargetCriterion) -> bool:
    target, _ = question
    return target == RESPONSE


def _needs_answer(verdict: Verdict) -> bool:
    if verdict.target == ITEM:
        return verdict.criterion == CORRECT
    return is_answered_by_pass_fail(verdict) or verdict.criterion in ZERO_TO_TWO_CRITERIA


KeyLookup = Callable[[str], str]
"""Function that takes an action id and returns the name of its key, or an empty string if the
action has no key.
"""


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """Item and target that a review applies to: those on screen when its key was pressed."""

    item: int
    detail: ItemDetail
    target: str = ITEM
    criterion: str = ""
    """Criterion of a further scorer's verdict on the item, at which the cursor is; else empty."""

    @property
    def question(self) -> PendingQuestion:
        """Target and criterion of the verdict that a verdict key records."""
        return find_pending_question(self.detail.item, self.target, self.criterion)

    def make_annotation(
        self, fault: Fault | None = None, tags: list[str] | None = None, note: str | None = None
    ) -> Annotation:
        """Return an annotation without a verdict, on the target and the criterion of `question`."""
        return Annotation(
            target=self.target, criterion=self.question.criterion, fault=fault, tags=tags, note=note
        )

    @property
    def part_name(self) -> str:
        """Name of the target for prompts. Empty if the target is the whole item."""
        return "" if self.target == ITEM else sanitize(describe_address(self.target))

    @property
    def name(self) -> str:
        """Name of the target. If the target is the whole item, the id of the item."""
        return self.part_name or sanitize(self.detail.row.id)


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """Result of a review action."""

    text: str
    subject_name: str = ""
    style: str = "good"
    """Style of the message: `good`, `bad` if the action failed, or `warn` if nothing was
    recorded.
    """
    completes_item: bool = False
    """Whether the item is now completely reviewed, so that the next item can be shown."""
    event: Event | None = None
    undone: ItemKey | None = None
    is_duplicate: bool = False
    """Whether the undone review was on a hidden duplicate."""
    is_bulk: bool = False
    changes_other_items: bool = False
    """Whether verdicts of other items changed too, by a golden fix."""

    @property
    def succeeded(self) -> bool:
        return self.style == "good"

    @property
    def message(self) -> str:
        return f"{self.text} · {self.subject_name}" if self.subject_name else self.text


class ReviewRecorder:
    """Recorder that writes the annotator's reviews to the journal."""

    def __init__(self, session: Session, key: KeyLookup, *, is_judged_queue: bool = False) -> None:
        self._session = session
        self._key = key
        self.is_judged_queue = is_judged_queue
        """Whether an item is complete only after the annotator has reviewed every judge verdict
        on it.
        """
        self._last_score: tuple[int, str] | None = None
        """(item number, criterion) of the last recorded score."""

    def find_own_opinion(
        self, subject: ReviewSubject, criterion: str | None = None
    ) -> Opinion | None:
        """Return the annotator's review of the target on `criterion`, or on the criterion of the
        verdict keys.
        """
        criterion = criterion or subject.question.criterion
        for opinion in subject.detail.opinions:
            is_own = opinion.annotator == self._session.annotator
            if is_own and (opinion.target, opinion.criterion) == (subject.target, criterion):
                return opinion
        return None

    async def record_verdict(self, subject: ReviewSubject, verdict_key: str) -> ReviewOutcome:
        """Record a verdict. `verdict_key` is one of `verdict_keys.VERDICT_KEY_BY_NAME`."""
        key = VERDICT_KEY_BY_NAME[verdict_key]
        question = subject.question
        value = question.value_to_store(key.value)
        if value is None:
            return self._ask_for_labels()
        fault = key.fault or self._find_fault_to_keep(subject)

        text = format_verdict_with_criterion(value, question.criterion)
        if key is GOLDEN_WRONG_KEY:
            text = GOLDEN_WRONG_PREFIX + text
        elif fault:
            text += f", fault: {fault}"
        annotation = Annotation(
            target=subject.target, criterion=question.criterion, verdict=value, fault=fault
        )
        outcome = await self._save(subject, annotation, lambda: text)
        if not outcome.succeeded:
            return outcome
        is_item_verdict = (subject.target, question.criterion) == ITEM_CORRECT
        completes = self._is_item_complete(subject, question.criterion, is_item_verdict)
        return replace(outcome, completes_item=completes)

    def _ask_for_labels(self) -> ReviewOutcome:
        text = "select the correct labels"
        keys = " ".join(self._key_names("item.labels"))
        if keys:
            text = f"press {keys} to {text}"
        return ReviewOutcome(text, style="warn")

    def _find_fault_to_keep(self, subject: ReviewSubject) -> Fault | None:
        """Return the fault that the annotator recorded before the verdict, which a verdict
        without a fault would clear.
        """
        own = self.find_own_opinion(subject)
        if own is None or own.verdict is not None or own.stale:
            return None
        return own.fault

    async def record_score(self, subject: ReviewSubject, value: int) -> ReviewOutcome:
        """Record a score from 0 to 2 on the criterion that `find_next_score` returns."""
        question = self.find_next_score(subject)
        if question is None:
            return self._reject_score()

        target, criterion = question
        text = format_verdict_with_criterion(value, criterion)
        annotation = Annotation(target=target, criterion=criterion, verdict=value)
        outcome = await self._save(subject, annotation, lambda: text)
        if not outcome.succeeded:
            return outcome

        self._last_score = subject.item, criterion
        next_question = self._find_score_after(subject, question)
        if next_question is not None:
            _, next_criterion = next_question
            return replace(outcome, subject_name=f"next: {sanitize(next_criterion)}")
        completes = self._is_item_complete(replace(subject, target=target), criterion, True)
        item_name = sanitize(subject.detail.row.id)
        return replace(outcome, subject_name=item_name, completes_item=completes)

    def _reject_score(self) -> ReviewOutcome:
        text = "this benchmark has no scores"
        keys = " or ".join(self._key_names("item.pass", "item.fail"))
        if keys:
            text += f"; press {keys}"
        return ReviewOutcome(text, style="warn")

    def _find_score_after(
        self, subject: ReviewSubject, question: TargetCriterion
    ) -> TargetCriterion | None:
        """Return the next criterion to score. If every criterion has a score, the keys change
        the scores in order.
        """
        criteria = find_score_criteria(subject.detail)
        unscored = [each for each in criteria if self._lacks_verdict(subject, *each)]
        if unscored:
            remaining = [each for each in unscored if each != question]
        else:
            remaining = criteria[criteria.index(question) + 1 :]
        return remaining[0] if remaining else None

    def find_next_score(self, subject: ReviewSubject) -> TargetCriterion | None:
        """Return (target, criterion) of the first criterion without a score or, if all have scores,
        of the criterion after the last scored one. None if the item has no scores.
        """
        criteria = find_score_criteria(subject.detail)
        for target, criterion in criteria:
            if self._lacks_verdict(subject, target, criterion):
                return target, criterion
        if not criteria:
            return None

        if self._last_score is None:
            return criteria[0]
        last_item, last_criterion = self._last_score
        names = [criterion for _, criterion in criteria]
        if last_item != subject.item or last_criterion not in names:
            return criteria[0]
        next_index = names.index(last_criterion) + 1
        return criteria[next_index % len(criteria)]

    async def record_override_reason(
        self, subject: ReviewSubject, annotation: Annotation, reason: str
    ) -> ReviewOutcome:
        return await self._save(subject, annotation, lambda: f"override reason: {sanitize(reason)}")

    async def record_decisive_step(
        self, subject: ReviewSubject, message_number: int
    ) -> ReviewOutcome:
        """Record the message, counted from 1, after which success was no longer possible."""
        text = format_verdict_with_criterion(message_number, DECISIVE_STEP)
        annotation = Annotation(criterion=DECISIVE_STEP, verdict=message_number)
        return await self._save(replace(subject, target=ITEM), annotation, lambda: text)

    async def toggle_incident(self, subject: ReviewSubject) -> ReviewOutcome:
        """Record that an item is an incident, or that it is none if it has the mark. The item
        gets no verdict.
        """
        is_incident = not subject.detail.row.is_incident
        text = "marked as incident" if is_incident else "no incident"
        annotation = Annotation(criterion=INCIDENT, verdict=is_incident)
        return await self._save(replace(subject, target=ITEM), annotation, lambda: text)

    async def record_labels(
        self, subject: ReviewSubject, criterion: str, labels: list[str]
    ) -> ReviewOutcome:
        """Record the labels that the annotator chose, such as dialog acts, as a verdict on the
        response.
        """
        response = replace(subject, target=RESPONSE)
        text = format_verdict_with_criterion(labels, criterion)
        annotation = Annotation(target=RESPONSE, criterion=criterion, verdict=labels)
        outcome = await self._save(response, annotation, lambda: text)
        completes = outcome.succeeded and self._is_item_complete(response, criterion, True)
        return replace(outcome, completes_item=completes)

    def _is_item_complete(
        self, subject: ReviewSubject, criterion: str, completes_in_other_queues: bool
    ) -> bool:
        if not self.is_judged_queue:
            return completes_in_other_queues
        answers = [(subject.target, criterion)]
        return not find_unanswered_judge_verdicts(subject.detail, self._session.annotator, answers)

    async def record_fault(self, subject: ReviewSubject, fault: Fault) -> ReviewOutcome:
        annotation = subject.make_annotation(fault=fault)
        return await self._save(
            subject, annotation, lambda: f"fault: {fault}{self._missing_verdict_hint(subject)}"
        )

    async def record_tags(self, subject: ReviewSubject, tags: list[str]) -> ReviewOutcome:
        """Record error tags. An empty list clears them."""
        text = f"tags {sanitize(', '.join(tags))}" if tags else "tags removed"
        return await self._save(subject, subject.make_annotation(tags=tags), lambda: text)

    async def record_note(self, subject: ReviewSubject, note: str) -> ReviewOutcome:
        """Record a note. An empty note clears it."""
        return await self._save(subject, subject.make_annotation(note=note), lambda: "note")

    async def record_golden_fix(
        self, subject: ReviewSubject, correction: GoldenCorrection
    ) -> ReviewOutcome:
        """Record a corrected golden answer with a verdict on the prediction of this run."""
        item = replace(subject, target=ITEM, criterion="")
        key = VERDICT_KEY_BY_NAME[correction.verdict_key]
        annotation = Annotation(
            verdict=key.value,
            fault="golden",
            note=correction.reason,
            golden_fix=correction.golden_fix,
            golden_status=correction.status,
            golden_verdicts=correction.golden_verdicts,
        )
        parts = [f"{GOLDEN_ANSWER_PREFIX}{correction.status}", format_verdict(key.value, CORRECT)]
        if correction.summary:
            parts.append(correction.summary)
        outcome = await self._save(item, annotation, lambda: " · ".join(parts))
        if not outcome.succeeded:
            return outcome
        completes = self._is_item_complete(item, CORRECT, True)
        return replace(outcome, completes_item=completes, changes_other_items=True)

    def _missing_verdict_hint(self, subject: ReviewSubject) -> str:
        """Return ` (no verdict yet: p f u)`. Empty if the annotator has a verdict on the target."""
        own = self.find_own_opinion(subject)
        if own is not None and own.verdict is not None:
            return ""
        keys = " ".join(self._key_names("item.pass", "item.fail", "item.unsure"))
        return f" (no verdict yet: {keys})" if keys else " (no verdict yet)"

    async def undo(self) -> ReviewOutcome:
        try:
            events = await self._session.undo_latest_review()
        except Exception as error:
            # Whatever the reason, the annotator must see that nothing was undone.
            return ReviewOutcome(f"UNDO FAILED: {_error_text(error)}", style="bad")
        if not events:
            return ReviewOutcome("nothing to undo", style="warn")

        event = events[-1]
        return ReviewOutcome(
            f"undone: {describe_event(event)}",
            describe_bulk(events) if event.bulk else sanitize(event.key.id),
            undone=event.key,
            is_duplicate=event.presentation is not None,
            is_bulk=bool(event.bulk),
            changes_other_items=event.golden_status is not None,
        )

    async def _save(
        self, subject: ReviewSubject, annotation: Annotation, describe_saved: Callable[[], str]
    ) -> ReviewOutcome:
        """Write the annotation to the journal. `describe_saved` returns the text for the
        message, after the write.
        """
        try:
            event = await self._session.record_review(subject.item, annotation, subject.detail)
        except Exception as error:
            # Whatever the reason, the annotator must see that the review is not saved.
            text = f"NOT SAVED ({describe_saved()}): {_error_text(error)}"
            return ReviewOutcome(text, style="bad")
        text = f"saved: {describe_saved()}{_overridden_source_text(event)}"
        return ReviewOutcome(text, subject.name, event=event)

    def _lacks_verdict(self, subject: ReviewSubject, target: str, criterion: str) -> bool:
        own = self.find_own_opinion(replace(subject, target=target), criterion)
        return own is None or own.verdict is None

    def _key_names(self, *actions: str) -> list[str]:
        """Return the keys of the actions that have one."""
        keys = [self._key(action) for action in actions]
        return [key for key in keys if key]


def find_score_criteria(detail: ItemDetail) -> list[TargetCriterion]:
    """Return (target, criterion) of each score from 0 to 2 by the benchmark, in the benchmark's
    order.
    """
    criteria: list[TargetCriterion] = []
    for verdict in detail.item.verdicts:
        question = (verdict.target, verdict.criterion)
        # The type excludes true and false, which are integers too.
        is_score = type(verdict.value) is int
        if verdict.criterion in (CORRECT, DECISIVE_STEP) or not is_score:
            continue
        if question not in criteria:
            criteria.append(question)
    return criteria


def format_verdict_with_criterion(value: Any, criterion: str) -> str:
    """Format a verdict with its criterion: `pass`, `hallucinated no` or `decisive step: message
    5`.
    """
    text = format_verdict(value, criterion) or "none"
    if criterion == DECISIVE_STEP and is_definite(value):
        return f"decisive step: message {text}"
    if criterion == CORRECT:
        return text
    return f"{sanitize(criterion)} {text}"


def describe_event(event: Event) -> str:
    """Describe the fields that an event sets, such as `fail, fault: golden, on turn 2 call 1`."""
    parts = []
    if event.verdict is not None:
        parts.append(format_verdict_with_criterion(event.verdict, event.criterion))
    if event.fault:
        parts.append(f"fault: {event.fault}")
    if event.tags is not None:
        parts.append(f"tags {sanitize(', '.join(event.tags))}")
    if event.note is not None:
        parts.append("note")
    if event.verdict is None and event.overrules:
        parts.append("override reason")
    if event.golden_fix is not None:
        status = f" {event.golden_status}" if event.golden_status else ""
        parts.append(f"golden fix{status}")
    if event.target != ITEM:
        parts.append(f"on {sanitize(describe_address(event.target))}")
    return ", ".join(parts) or "review"


def describe_bulk(events: Sequence[Event]) -> str:
    return f"bulk review of {format_count(len(events), 'item')}"


def _overridden_source_text(event: Event) -> str:
    """Return `, overrides judge gpt-4o` for a verdict on a part of the item. Empty for the whole
    item, because the header shows its verdicts.
    """
    overridden = event.overrules
    if overridden is None or event.target == ITEM or event.verdict is None:
        return ""
    names = [overridden.get("source"), overridden.get("by")]
    return sanitize(", overrides " + " ".join(name for name in names if name))


def _error_text(error: Exception) -> str:
    return sanitize(str(error) or type(error).__name__)
