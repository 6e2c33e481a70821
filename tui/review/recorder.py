"""Record reviews (verdicts, scores, faults, error tags, notes, golden fixes, override reasons), and
undo them.

The meaning of pass and fail depends on the automatic verdict on the target. If a judge decided
whether a call is equivalent to the golden call, pass and fail mean equivalent and not equivalent.
If a judge decided whether an argument is hallucinated, pass means not hallucinated. In all other
cases, pass and fail mean correct and incorrect. A review is on disk before its outcome is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    JUDGE_NOTE_CRITERIA,
    PASS_FAIL_CRITERIA,
    TRUE_MEANS_FAILURE,
    ZERO_TO_TWO_CRITERIA,
    TargetCriterion,
)
from fcreview.model.wording import format_count, format_verdict
from fcreview.store.rows import ItemDetail
from fcreview.tui.review.verdict_keys import GOLDEN_WRONG_KEY, VERDICT_KEY_BY_NAME

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.tui.session import Session


SOURCE_PRIORITY = ("judge", "official", "rule")
"""Sources of automatic verdicts, highest priority first. A verdict key confirms or overrides the
verdict of the first source that has one on the target.
"""
GOLDEN_WRONG_PREFIX = "golden wrong, so "


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

    def value_to_store(self, verdict: Any) -> Any:
        """Convert pass (True), fail (False) or unsure to the value to store. None if the annotator
        must choose labels instead.
        """
        if not is_definite(verdict):
            return verdict
        if isinstance(self.automatic, list):
            return self.automatic if verdict else None
        return not verdict if self.criterion in TRUE_MEANS_FAILURE else verdict


def find_pending_question(item: Item, target: str, criterion: str = "") -> PendingQuestion:
    """Return the target and criterion of the verdict that a verdict key records on the target.

    `criterion`: criterion of a further scorer's verdict on the item, at which the cursor is; else
    empty.
    """
    for verdict in item.verdicts:
        if criterion and (verdict.target, verdict.criterion) == (target, criterion):
            return PendingQuestion(target, criterion=criterion, automatic=verdict.value)
    if target != ITEM:
        here = [v for v in item.verdicts if v.target == target and is_answered_by_pass_fail(v)]
        for source in SOURCE_PRIORITY:
            for verdict in here:
                if verdict.source == source:
                    return PendingQuestion(
                        target, criterion=verdict.criterion, automatic=verdict.value
                    )
    return PendingQuestion(target)


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
    current = (each for each in detail.opinions if each.verdict is not None and not each.stale)
    own = {
        *answered,
        *((each.target, each.criterion) for each in current if each.annotator == annotator),
    }
    judged = [v for v in detail.item.verdicts if v.source == "judge" and _needs_answer(v)]
    left = [
        each for each in dict.fromkeys((v.target, v.criterion) for v in judged) if each not in own
    ]
    return sorted(left, key=lambda each: each[0] == RESPONSE)


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

    @property
    def succeeded(self) -> bool:
        return self.style == "good"

    @property
    def message(self) -> str:
        return f"{self.text} · {self.subject_name}" if self.subject_name else self.text


class ReviewRecorder:
    """Recorder that writes the annotator's reviews to the journal."""

    def __init__(self, session: Session, key: KeyLookup, *, is_judged_queue: bool = False) -> None:
        self._session, self._key = session, key
        self.is_judged_queue = is_judged_queue
        """Whether an item is complete only after the annotator has reviewed every judge verdict
        on it.
        """
        self._last_score: tuple[int, str] | None = None

    def find_own_opinion(
        self, subject: ReviewSubject, criterion: str | None = None
    ) -> Opinion | None:
        """Return the annotator's review of the target on `criterion`, or on the criterion of the
        verdict keys.
        """
        key = (self._session.annotator, subject.target, criterion or subject.question.criterion)
        return next(
            (o for o in subject.detail.opinions if (o.annotator, o.target, o.criterion) == key),
            None,
        )

    async def record_verdict(self, subject: ReviewSubject, verdict_key: str) -> ReviewOutcome:
        """Record a verdict. `verdict_key` is one of `verdict_keys.VERDICT_KEY_BY_NAME`."""
        key = VERDICT_KEY_BY_NAME[verdict_key]
        verdict, fault = key.value, key.fault
        own = self.find_own_opinion(subject)
        if own is not None and own.verdict is None and not own.stale and fault is None:
            fault = own.fault  # The verdict would clear the recorded fault.
        question = subject.question
        value = question.value_to_store(verdict)
        if value is None:
            keys = " ".join(self._key_names("item.labels"))
            return ReviewOutcome(
                f"{keys and 'press ' + keys + ' to '}select the correct labels", style="warn"
            )

        def describe() -> str:
            text = format_verdict_with_criterion(value, question.criterion)
            if verdict_key == GOLDEN_WRONG_KEY.name:
                return GOLDEN_WRONG_PREFIX + text
            return f"{text}, fault: {fault}" if fault else text

        annotation = Annotation(
            target=subject.target, criterion=question.criterion, verdict=value, fault=fault
        )
        outcome = await self._save(subject, annotation, describe)
        if not outcome.succeeded:
            return outcome
        is_verdict_on_item = (subject.target, question.criterion) == ITEM_CORRECT
        return replace(
            outcome,
            completes_item=self._is_item_complete(subject, question.criterion, is_verdict_on_item),
        )

    async def record_score(self, subject: ReviewSubject, value: int) -> ReviewOutcome:
        """Record a score from 0 to 2 on the criterion that `find_next_score` returns."""
        question = self.find_next_score(subject)
        if question is None:
            keys = " or ".join(self._key_names("item.pass", "item.fail"))
            return ReviewOutcome(
                f"this benchmark has no scores{keys and '; press ' + keys}", style="warn"
            )
        target, criterion = question
        annotation = Annotation(target=target, criterion=criterion, verdict=value)
        outcome = await self._save(
            subject, annotation, lambda: format_verdict_with_criterion(value, criterion)
        )
        if not outcome.succeeded:
            return outcome
        self._last_score = subject.item, criterion
        criteria = find_score_criteria(subject.detail)
        unscored = [each for each in criteria if self._lacks_verdict(subject, *each)]
        remaining = [each for each in unscored if each != question]
        if not unscored:  # Every criterion has a score, so the keys change scores in order.
            remaining = criteria[criteria.index(question) + 1 :]
        if remaining:
            return replace(outcome, subject_name=f"next: {sanitize(remaining[0][1])}")
        completes = self._is_item_complete(replace(subject, target=target), criterion, True)
        return replace(
            outcome, subject_name=sanitize(subject.detail.row.id), completes_item=completes
        )

    def find_next_score(self, subject: ReviewSubject) -> TargetCriterion | None:
        """Return (target, criterion) of the first criterion without a score or, if all have scores,
        of the criterion after the last scored one. None if the item has no scores.
        """
        criteria = find_score_criteria(subject.detail)
        names = [criterion for _, criterion in criteria]
        item, last = self._last_score or (None, "")
        after_last = names.index(last) + 1 if item == subject.item and last in names else 0
        unscored = (each for each in criteria if self._lacks_verdict(subject, *each))
        return next(unscored, criteria[after_last % len(criteria)] if criteria else None)

    async def record_override_reason(
        self, subject: ReviewSubject, annotation: Annotation, reason: str
    ) -> ReviewOutcome:
        return await self._save(subject, annotation, lambda: f"override reason: {sanitize(reason)}")

    async def record_decisive_step(
        self, subject: ReviewSubject, message_number: int
    ) -> ReviewOutcome:
        """Record the message, counted from 1, after which success was no longer possible."""
        item, annotation = (
            replace(subject, target=ITEM),
            Annotation(criterion=DECISIVE_STEP, verdict=message_number),
        )
        return await self._save(
            item, annotation, lambda: format_verdict_with_criterion(message_number, DECISIVE_STEP)
        )

    async def toggle_incident(self, subject: ReviewSubject) -> ReviewOutcome:
        """Record that an item is an incident, or that it is none if it has the mark.

        The item gets no verdict.
        """
        is_incident = not subject.detail.row.is_incident
        item, annotation = (
            replace(subject, target=ITEM),
            Annotation(criterion=INCIDENT, verdict=is_incident),
        )
        return await self._save(
            item, annotation, lambda: "marked as incident" if is_incident else "no incident"
        )

    async def record_labels(
        self, subject: ReviewSubject, criterion: str, labels: list[str]
    ) -> ReviewOutcome:
        """Record the labels that the annotator chose, such as dialog acts, as a verdict on the
        response.
        """
        response = replace(subject, target=RESPONSE)
        annotation = Annotation(target=RESPONSE, criterion=criterion, verdict=labels)
        outcome = await self._save(
            response, annotation, lambda: format_verdict_with_criterion(labels, criterion)
        )
        return replace(
            outcome,
            completes_item=outcome.succeeded and self._is_item_complete(response, criterion, True),
        )

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
        self, subject: ReviewSubject, fix: dict[str, Any], reason: str | None
    ) -> ReviewOutcome:
        """Record a corrected golden answer.

        No verdict is recorded, because the prediction may be wrong too.
        """
        item = replace(subject, target=ITEM)
        annotation = Annotation(fault="golden", golden_fix=fix, note=reason)
        return await self._save(
            item,
            annotation,
            lambda: f"golden answer corrected, fault: golden{self._missing_verdict_hint(item)}",
        )

    def _missing_verdict_hint(self, subject: ReviewSubject) -> str:
        own = self.find_own_opinion(subject)
        if own is not None and own.verdict is not None:
            return ""
        keys = " ".join(self._key_names("item.pass", "item.fail", "item.unsure"))
        return f" (no verdict yet{keys and ': ' + keys})"

    async def undo(self) -> ReviewOutcome:
        try:
            events = await self._session.undo_latest_review()
        except Exception as error:  # the annotator must see that nothing was undone
            return ReviewOutcome(f"UNDO FAILED: {_error_text(error)}", style="bad")
        if not events:
            return ReviewOutcome("nothing to undo", style="warn")
        event = events[-1]
        text, is_duplicate = f"undone: {describe_event(event)}", event.presentation is not None
        name = describe_bulk(events) if event.bulk else sanitize(event.key.id)
        return ReviewOutcome(
            text, name, undone=event.key, is_duplicate=is_duplicate, is_bulk=bool(event.bulk)
        )

    async def _save(
        self, subject: ReviewSubject, annotation: Annotation, describe_saved: Callable[[], str]
    ) -> ReviewOutcome:
        """Write the annotation to the journal.

        `describe_saved` returns the text for the message, after the write.
        """
        try:
            event = await self._session.record_review(subject.item, annotation, subject.detail)
        except Exception as error:  # the annotator must see that the review is not saved
            return ReviewOutcome(
                f"NOT SAVED ({describe_saved()}): {_error_text(error)}", style="bad"
            )
        return ReviewOutcome(
            f"saved: {describe_saved()}{_overridden_source_text(event)}", subject.name, event=event
        )

    def _lacks_verdict(self, subject: ReviewSubject, target: str, criterion: str) -> bool:
        own = self.find_own_opinion(replace(subject, target=target), criterion)
        return own is None or own.verdict is None

    def _key_names(self, *actions: str) -> list[str]:
        return [key for action in actions if (key := self._key(action))]


def find_score_criteria(detail: ItemDetail) -> list[TargetCriterion]:
    """Return (target, criterion) of each score from 0 to 2 by the benchmark, in the benchmark's
    order.
    """
    unscored = (CORRECT, DECISIVE_STEP)
    verdicts = detail.item.verdicts
    scored = [
        (v.target, v.criterion)
        for v in verdicts
        if type(v.value) is int and v.criterion not in unscored
    ]
    return list(dict.fromkeys(scored))


def format_verdict_with_criterion(value: Any, criterion: str) -> str:
    """Format a verdict with its criterion: `pass`, `hallucinated no` or `decisive step: message
    5`.
    """
    text = format_verdict(value, criterion) or "none"
    if criterion == DECISIVE_STEP and is_definite(value):
        return f"decisive step: message {text}"
    return text if criterion == CORRECT else f"{sanitize(criterion)} {text}"


def describe_event(event: Event) -> str:
    """Describe the fields that an event sets, such as `fail, fault: golden, on turn 2 call 1`."""
    parts = (
        [format_verdict_with_criterion(event.verdict, event.criterion)]
        if event.verdict is not None
        else []
    )
    parts += [f"fault: {event.fault}"] if event.fault else []
    parts += [f"tags {sanitize(', '.join(event.tags))}"] if event.tags is not None else []
    parts += ["note"] if event.note is not None else []
    parts += ["override reason"] if event.verdict is None and event.overrules else []
    parts += ["golden fix"] if event.golden_fix is not None else []
    parts += [f"on {sanitize(describe_address(event.target))}"] if event.target != ITEM else []
    return ", ".join(parts) or "review"


def describe_bulk(events: Sequence[Event]) -> str:
    return f"bulk review of {format_count(len(events), 'item')}"


def _overridden_source_text(event: Event) -> str:
    """Return `, overrides judge gpt-4o` for a verdict on a part of the item. Empty for the whole
    item, because the header shows its verdicts.
    """
    over = event.overrules
    if over is None or event.target == ITEM or event.verdict is None:
        return ""
    return sanitize(", overrides " + " ".join(filter(None, (over.get("source"), over.get("by")))))


def _error_text(error: Exception) -> str:
    return sanitize(str(error) or type(error).__name__)
