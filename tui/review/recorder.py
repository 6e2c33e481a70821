"""Compose and save reviews (verdicts, scores, faults, error tags, notes, golden fixes, override
reasons), and undo them.

The meaning of pass and fail depends on the automatic verdict on the target. If a judge decided
whether a call is equivalent to the golden call, pass and fail mean equivalent and not equivalent.
If a judge decided whether an argument is hallucinated, pass means not hallucinated. In all other
cases, pass and fail mean correct and incorrect. A review is on disk before its outcome is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.address import ITEM, RESPONSE, describe_address
from fcreview.model.benchmark_rules import find_benchmark_rules
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
from fcreview.tui.verdict_keys import (
    FAIL_KEY,
    GOLDEN_WRONG_KEY,
    PASS_KEY,
    VERDICT_KEY_BY_NAME,
)

if TYPE_CHECKING:
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
        """Answers that the keys 1, 2 and so on record, for example `hallucinated`. Empty for
        a criterion whose answers are pass and fail.
        """
        return DIGIT_ANSWERS.get(self.criterion, ())

    def value_to_store(self, verdict: Any) -> Any:
        """Convert pass (True), fail (False) or unsure to the value to store. None if the annotator
        must choose labels instead.
        """
        if not is_definite(verdict):
            return verdict
        if isinstance(self.automatic, list):
            # Pass accepts the automatic labels. Fail does not say which labels are right.
            return self.automatic if verdict else None
        if self.criterion in TRUE_MEANS_FAILURE:
            return not verdict
        return verdict


def find_pending_question(item: Item, target: str, criterion: str = "") -> PendingQuestion:
    """Return what the user decides if they press a verdict key on the target.

    The question consists of the target, the criterion and the automatic verdict. If the cursor is
    on the verdict of a further scorer, `criterion` is the criterion of that verdict. Otherwise, the
    question is about the most important automatic verdict on the target.
    """
    verdicts_on_target = [verdict for verdict in item.verdicts if verdict.target == target]
    if criterion:
        for verdict in verdicts_on_target:
            if verdict.criterion == criterion:
                return PendingQuestion(target, criterion, automatic=verdict.value)
    if target == ITEM:
        # The question is whether the item is correct.
        return PendingQuestion(target)

    # Only some criteria can be answered by pass or fail.
    answerable = [verdict for verdict in verdicts_on_target if is_answered_by_pass_fail(verdict)]
    for source in SOURCE_PRIORITY:
        for verdict in answerable:
            if verdict.source == source:
                return PendingQuestion(target, verdict.criterion, automatic=verdict.value)
    return PendingQuestion(target)


def describe_automatic_answer(item: Item, target: str, criterion: str) -> str:
    """Return the automatic answer that a review confirms or overrides.

    The answer has the words of its scale, such as `judge: not hallucinated` or `judge: completeness
    2`. Empty if there is none, or if the criterion is `correct`, whose verdict the header shows.
    """
    if criterion == CORRECT:
        return ""
    for source in SOURCE_PRIORITY:
        for verdict in item.verdicts:
            answers_question = verdict.target == target and verdict.criterion == criterion
            if verdict.source == source and answers_question:
                return f"{source}: {_format_answer(verdict.value, criterion)}"
    return ""


def _format_answer(value: Any, criterion: str) -> str:
    """Format an automatic verdict in the words of its scale, such as `not hallucinated` for
    false.
    """
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
    """Return the judge verdicts that the annotator has not reviewed, as (target, criterion) pairs.

    The verdicts on the response come last. `answered`: verdicts that the annotator has reviewed
    since `detail` was read.
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
    """What a review is about: an item, a target in it, such as a call, and a criterion.

    It is what was on screen when the user pressed the key.
    """

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


class ReviewNotSavedError(FcreviewError):
    """Raised if a review or an undo could not be written. The message says which one, and why."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why a key records nothing for an item, such as a score for an item without scores."""

    text: str


@dataclass(frozen=True, slots=True)
class NewReview:
    """Review that a key gives, before it is written."""

    subject: ReviewSubject
    annotation: Annotation
    _: KW_ONLY
    text: str
    """What the review says: `fail, fault: checker`."""
    named_part: str = ""
    """Part of the item that the message names. Empty for the name of the subject."""
    completes_item: bool = False
    """Whether the item is then completely reviewed, so that the next item can be shown."""
    changes_other_items: bool = False
    """Whether verdicts of other items change too, by a golden fix."""
    sibling_fixes: Sequence[tuple[int, Annotation]] = ()
    """(item, golden fix) of the siblings of the question that are corrected in the same act."""


@dataclass(frozen=True, slots=True)
class SavedReview:
    """Review that is on disk."""

    review: NewReview
    event: Event
    is_contradictory: bool = False
    """Whether the verdict contradicts another verdict of the annotator on the item."""

    @property
    def text(self) -> str:
        text = f"saved: {self.review.text}{_overridden_source_text(self.event)}"
        return f"{text}, contradicts your other verdicts" if self.is_contradictory else text

    @property
    def style(self) -> str:
        """Style of the message."""
        return "warn" if self.is_contradictory else "good"

    @property
    def message(self) -> str:
        named_part = self.review.named_part or self.review.subject.name
        return f"{self.text} · {named_part}"


@dataclass(frozen=True, slots=True)
class UndoneReview:
    """Review, or bulk review, that the annotator has undone."""

    events: Sequence[Event]

    @property
    def event(self) -> Event:
        """The last undone event, without those of siblings that belong to it."""
        own_events = [event for event in self.events if not event.bulk]
        return own_events[-1] if own_events else self.events[-1]

    @property
    def is_bulk(self) -> bool:
        return bool(self.event.bulk)

    @property
    def n_siblings(self) -> int:
        """Number of siblings whose golden fixes were undone with that of the item."""
        return 0 if self.is_bulk else len(self.events) - 1

    @property
    def is_duplicate(self) -> bool:
        """Whether the undone review was on a hidden duplicate."""
        return self.event.presentation is not None

    @property
    def changes_other_items(self) -> bool:
        return self.event.golden_status is not None

    @property
    def message(self) -> str:
        name = describe_bulk(self.events) if self.is_bulk else sanitize(self.event.key.id)
        if self.n_siblings:
            name += f" and {format_count(self.n_siblings, 'sibling')}"
        return f"undone: {describe_event(self.event)} · {name}"


class ReviewRecorder:
    """Composes the annotator's reviews, and writes them to the journal.

    A key composes a review from the item on screen (`compose_verdict`), which changes nothing, and
    then saves it.
    """

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
        """Return the annotator's own review of the target, or None.

        `criterion`: criterion of the review; by default the one that the verdict keys decide.
        """
        criterion = criterion or subject.question.criterion
        for opinion in subject.detail.opinions:
            is_own = opinion.annotator == self._session.annotator
            if is_own and (opinion.target, opinion.criterion) == (subject.target, criterion):
                return opinion
        return None

    # -- writing

    async def save(self, review: NewReview) -> SavedReview:
        """Write a review to the journal. It is on disk when this returns.

        Raises ReviewNotSavedError.
        """
        subject = review.subject
        annotation = review.annotation
        try:
            event = await self._session.record_review(
                subject.item, annotation, subject.detail, review.sibling_fixes
            )
        except Exception as error:
            # Whatever the reason, the annotator must see that the review is not saved.
            reason = _error_text(error)
            raise ReviewNotSavedError(f"NOT SAVED ({review.text}): {reason}") from error

        self._remember_score(subject, annotation)
        is_contradictory = await self._contradicts_own_verdicts(review)
        return SavedReview(review, event, is_contradictory=is_contradictory)

    def _remember_score(self, subject: ReviewSubject, annotation: Annotation) -> None:
        """Remember the criterion of a saved score, after which the next score key continues."""
        # The type excludes pass and fail, because True and False are instances of `int` too.
        is_number = type(annotation.verdict) is int
        question = (annotation.target, annotation.criterion)
        if is_number and question in find_score_criteria(subject.detail):
            self._last_score = subject.item, annotation.criterion

    async def _contradicts_own_verdicts(self, review: NewReview) -> bool:
        """Whether a saved verdict contradicts other verdicts of the same annotator on the item.

        The benchmark's rules decide this: they derive the verdict on an item from those on its
        parts. The store is read only if the annotator has another verdict on the item.
        """
        subject = review.subject
        rules = find_benchmark_rules(subject.detail.key.benchmark)
        if review.annotation.verdict is None or not rules.derivation.derives_verdicts:
            return False
        if not self._has_other_own_verdict(review):
            return False

        annotator = self._session.annotator
        try:
            return await self._session.read(
                lambda store: store.has_contradiction(subject.item, annotator)
            )
        except asyncio.CancelledError:
            if not self._session.is_leaving:
                raise
            # The review is saved. Nobody sees the message any more.
            return False

    def _has_other_own_verdict(self, review: NewReview) -> bool:
        """Whether the annotator has a verdict on another part or criterion of the item."""
        saved = (review.annotation.target, review.annotation.criterion)
        for opinion in review.subject.detail.opinions:
            is_own_verdict = (
                opinion.annotator == self._session.annotator and opinion.verdict is not None
            )
            if is_own_verdict and (opinion.target, opinion.criterion) != saved:
                return True
        return False

    async def undo(self) -> UndoneReview | None:
        """Undo the annotator's latest review. Return None if there is none.

        Raises ReviewNotSavedError.
        """
        try:
            events = await self._session.undo_latest_review()
        except Exception as error:
            # Whatever the reason, the annotator must see that nothing was undone.
            raise ReviewNotSavedError(f"UNDO FAILED: {_error_text(error)}") from error
        return UndoneReview(events) if events else None

    # -- verdicts

    def compose_verdict(self, subject: ReviewSubject, verdict_key: str) -> NewReview | Refusal:
        """Compose the review that a verdict key means, such as `fail` with the fault `checker`.

        `verdict_key` is one of `verdict_keys.VERDICT_KEY_BY_NAME`.
        """
        key = VERDICT_KEY_BY_NAME[verdict_key]
        question = subject.question
        value = question.value_to_store(key.value)
        if value is None:
            # The criterion has labels, which no verdict key can give.
            return self._ask_for_labels()
        fault = key.fault or self._find_fault_to_keep(subject)
        annotation = Annotation(
            target=subject.target, criterion=question.criterion, verdict=value, fault=fault
        )

        # The text says in the status line what was saved.
        text = format_verdict_with_criterion(value, question.criterion)
        if key is GOLDEN_WRONG_KEY:
            # This says more than the fault `golden`.
            text = GOLDEN_WRONG_PREFIX + text
        elif fault:
            text += f", fault: {fault}"

        # Most queues ask whether the answer to the item is correct. Parts may stay without verdict.
        is_item_verdict = (subject.target, question.criterion) == ITEM_CORRECT
        completes_item = self._is_item_complete(
            subject, annotation, completes_in_other_queues=is_item_verdict
        )
        return NewReview(subject, annotation, text=text, completes_item=completes_item)

    def _ask_for_labels(self) -> Refusal:
        text = "select the correct labels"
        keys = " ".join(self._key_names("item.labels"))
        if keys:
            text = f"press {keys} to {text}"
        return Refusal(text)

    def _find_fault_to_keep(self, subject: ReviewSubject) -> Fault | None:
        """Return the fault that the annotator recorded before giving a verdict, or None.

        A verdict that names no fault must repeat it. Otherwise the verdict would clear the fault.
        """
        own = self.find_own_opinion(subject)
        if own is None or own.verdict is not None or own.stale:
            return None
        return own.fault

    def compose_score(self, subject: ReviewSubject, value: int) -> NewReview | Refusal:
        """Compose a score from 0 to 2 on the criterion that `find_next_score` returns."""
        question = self.find_next_score(subject)
        if question is None:
            return self._reject_score()

        target, criterion = question
        text = format_verdict_with_criterion(value, criterion)
        annotation = Annotation(target=target, criterion=criterion, verdict=value)
        next_question = self._find_score_after(subject, question)
        if next_question is not None:
            _, next_criterion = next_question
            next_name = f"next: {sanitize(next_criterion)}"
            return NewReview(subject, annotation, text=text, named_part=next_name)
        return NewReview(
            subject,
            annotation,
            text=text,
            named_part=sanitize(subject.detail.row.id),
            completes_item=self._is_item_complete(
                subject, annotation, completes_in_other_queues=True
            ),
        )

    def _reject_score(self) -> Refusal:
        text = "this benchmark has no scores"
        keys = " or ".join(self._key_names("item.pass", "item.fail"))
        if keys:
            text += f"; press {keys}"
        return Refusal(text)

    def _find_score_after(
        self, subject: ReviewSubject, question: TargetCriterion
    ) -> TargetCriterion | None:
        """Return the criterion to score after `question`, or None if it is the last one.

        It is the first criterion without a score. If all have scores, the user changes them, and it
        is the one that follows `question`.
        """
        criteria = find_score_criteria(subject.detail)
        unscored = [each for each in criteria if self._lacks_verdict(subject, *each)]
        if unscored:
            remaining = [each for each in unscored if each != question]
        else:
            remaining = criteria[criteria.index(question) + 1 :]
        return remaining[0] if remaining else None

    def find_next_score(self, subject: ReviewSubject) -> TargetCriterion | None:
        """Return the (target, criterion) of the next score, or None if the item has no scores.

        It is the first criterion without a score. If all have scores, the next one after the last
        scored one is scored again.
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

    def compose_decisive_step(self, subject: ReviewSubject, message_number: int) -> NewReview:
        """Compose a review with the message, counted from 1, after which success was no longer
        possible.
        """
        text = format_verdict_with_criterion(message_number, DECISIVE_STEP)
        annotation = Annotation(criterion=DECISIVE_STEP, verdict=message_number)
        return self._compose_for_item(subject, annotation, text)

    def compose_incident(self, subject: ReviewSubject) -> NewReview:
        """Compose the mark of an incident, or its removal if the item has the mark. The item gets
        no verdict.
        """
        is_incident = not subject.detail.row.is_incident
        text = "marked as incident" if is_incident else "no incident"
        annotation = Annotation(criterion=INCIDENT, verdict=is_incident)
        return self._compose_for_item(subject, annotation, text)

    def _compose_for_item(
        self, subject: ReviewSubject, annotation: Annotation, text: str
    ) -> NewReview:
        """Compose a review of the whole item, wherever the cursor is."""
        item_name = sanitize(subject.detail.row.id)
        return NewReview(subject, annotation, text=text, named_part=item_name)

    def compose_labels(
        self, subject: ReviewSubject, criterion: str, labels: list[str]
    ) -> NewReview:
        """Compose a verdict on the response: the labels that the annotator chose, such as dialog
        acts.
        """
        text = format_verdict_with_criterion(labels, criterion)
        annotation = Annotation(target=RESPONSE, criterion=criterion, verdict=labels)
        return NewReview(
            subject,
            annotation,
            text=text,
            named_part=replace(subject, target=RESPONSE).name,
            completes_item=self._is_item_complete(
                subject, annotation, completes_in_other_queues=True
            ),
        )

    def _is_item_complete(
        self, subject: ReviewSubject, annotation: Annotation, *, completes_in_other_queues: bool
    ) -> bool:
        """Whether the item is completely reviewed with the annotation.

        In a queue for the review of judges, this is so if all judge verdicts on the item are
        answered. In other queues, `completes_in_other_queues` says it.
        """
        if not self.is_judged_queue:
            return completes_in_other_queues
        new_answers = [(annotation.target, annotation.criterion)]
        unanswered = find_unanswered_judge_verdicts(
            subject.detail, self._session.annotator, new_answers
        )
        return not unanswered

    # -- reviews without a verdict, and golden fixes

    def compose_override_reason(
        self, subject: ReviewSubject, annotation: Annotation, reason: str
    ) -> NewReview:
        return NewReview(subject, annotation, text=f"override reason: {sanitize(reason)}")

    def compose_fault(self, subject: ReviewSubject, fault: Fault) -> NewReview:
        text = f"fault: {fault}{self._missing_verdict_hint(subject)}"
        return NewReview(subject, subject.make_annotation(fault=fault), text=text)

    def compose_tags(self, subject: ReviewSubject, tags: list[str]) -> NewReview:
        """Compose error tags. An empty list clears them."""
        text = f"tags {sanitize(', '.join(tags))}" if tags else "tags removed"
        return NewReview(subject, subject.make_annotation(tags=tags), text=text)

    def compose_note(self, subject: ReviewSubject, note: str) -> NewReview:
        """Compose a note. An empty note clears it."""
        return NewReview(subject, subject.make_annotation(note=note), text="note")

    def compose_golden_fix(self, subject: ReviewSubject, correction: GoldenCorrection) -> NewReview:
        """Compose a corrected golden answer with a verdict on the prediction of this run."""
        key = VERDICT_KEY_BY_NAME[correction.verdict_key]
        annotation = Annotation(
            verdict=key.value,
            fault="golden",
            note=correction.reason,
            golden_fix=correction.golden_fix,
            golden_status=correction.status,
            golden_verdicts=correction.golden_verdicts,
        )
        parts = [_describe_golden_fix(correction), format_verdict(key.value, CORRECT)]
        if correction.summary:
            parts.append(correction.summary)
        return NewReview(
            subject,
            annotation,
            text=" · ".join(parts),
            named_part=sanitize(subject.detail.row.id),
            completes_item=self._is_item_complete(
                subject, annotation, completes_in_other_queues=True
            ),
            changes_other_items=True,
            sibling_fixes=correction.sibling_fixes,
        )

    def _missing_verdict_hint(self, subject: ReviewSubject) -> str:
        """Return ` (no verdict yet: p f u)`. Empty if the annotator has a verdict on the target."""
        own = self.find_own_opinion(subject)
        if own is not None and own.verdict is not None:
            return ""
        keys = " ".join(self._key_names("item.pass", "item.fail", "item.unsure"))
        return f" (no verdict yet: {keys})" if keys else " (no verdict yet)"

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


def _describe_golden_fix(correction: GoldenCorrection) -> str:
    """Return `golden answer accepted with 3 siblings`.

    Siblings are nearly equal questions in other categories or versions. They get the same
    correction, unless the annotator left them out.
    """
    text = f"{GOLDEN_ANSWER_PREFIX}{correction.status}"
    if correction.sibling_fixes:
        return f"{text} with {format_count(len(correction.sibling_fixes), 'sibling')}"
    if correction.n_siblings_left:
        return f"{text} without {format_count(correction.n_siblings_left, 'sibling')}"
    return text


def describe_event(event: Event) -> str:
    """Describe what a review says, such as `fail, fault: golden, on turn 2 call 1`."""
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
