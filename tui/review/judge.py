"""Records what an annotator submits for an item: verdicts, scores, faults, error tags, notes, golden fixes, undo.

A verdict key answers the criterion of the automatic verdict at its target. On a call that a judge called equivalent,
`p` and `f` say whether it is equivalent. On an argument that was called hallucinated, `p` says that it is not.
Elsewhere, and on the item itself, they say whether it is correct. Every review is on disk before its outcome is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fcreview.model.address import ITEM, RESPONSE, describe_address
from fcreview.model.item import Item, Verdict
from fcreview.model.review import CORRECT, UNSURE, Annotation, Event, Fault, Opinion
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import (
    JUDGE_NOTE_CRITERIA,
    PASS_FAIL_CRITERIA,
    TRUE_MEANS_FAILURE,
    ZERO_TO_TWO_CRITERIA,
    decides,
)
from fcreview.model.wording import format_verdict
from fcreview.store.rows import ItemDetail

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.tui.session import Session


SOURCE_PRIORITY = ("judge", "official", "rule")
"""Sources by priority: a verdict key answers the first of them that has a verdict at the target."""
GOLDEN_WRONG_PREFIX = "golden wrong, so "
"""Prefix of a verdict that follows from a wrong golden answer."""


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """The target and criterion that the next verdict key answers."""

    target: str = ITEM
    criterion: str = CORRECT
    automatic: Any = None
    """The automatic verdict on the target and criterion, or None."""
    score_question: str = ""
    """Target and criterion that a score key answers here: `response completeness`. Empty if it answers none here."""

    def stored_value(self, verdict: Any) -> Any:
        """The value to store for right (true), wrong (false) or unsure. None if the verdict needs other labels."""
        if not decides(verdict):
            return verdict
        if isinstance(self.automatic, list):
            return self.automatic if verdict else None
        return not verdict if self.criterion in TRUE_MEANS_FAILURE else verdict


def pending_question(item: Item, target: str) -> PendingQuestion:
    """The question that a verdict key answers at the target."""
    if target != ITEM:
        here = [v for v in item.verdicts if v.target == target and is_answerable(v)]
        for source in SOURCE_PRIORITY:
            for verdict in here:
                if verdict.source == source:
                    return PendingQuestion(target, verdict.criterion, verdict.value)
    return PendingQuestion(target)


def is_answerable(verdict: Verdict) -> bool:
    """Whether `p` and `f` can answer the verdict."""
    if verdict.criterion in JUDGE_NOTE_CRITERIA:
        return False
    if isinstance(verdict.value, list):
        return verdict.target == RESPONSE
    return isinstance(verdict.value, bool) and verdict.criterion in (*PASS_FAIL_CRITERIA, *TRUE_MEANS_FAILURE)


def unanswered_judge_verdicts(
    detail: ItemDetail, annotator: str, answered: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """(target, criterion) of each judge verdict that the annotator has not answered; the response comes last.

    The queue `judged` leads to these. `answered`: pairs answered since the detail was read.
    """
    mine = {(o.target, o.criterion) for o in detail.opinions if _is_current(o, annotator)} | set(answered)
    judged = [v for v in detail.item.verdicts if v.source == "judge" and _needs_answer(v)]
    left = [each for each in dict.fromkeys((v.target, v.criterion) for v in judged) if each not in mine]
    return sorted(left, key=lambda each: each[0] == RESPONSE)


def _needs_answer(verdict: Verdict) -> bool:
    if verdict.target == ITEM:
        return verdict.criterion == CORRECT
    return is_answerable(verdict) or verdict.criterion in ZERO_TO_TWO_CRITERIA


def _is_current(opinion: Opinion, annotator: str) -> bool:
    return opinion.annotator == annotator and opinion.verdict is not None and not opinion.stale


VERDICTS_BY_KEY: dict[str, tuple[Any, Fault | None]] = {
    "pass": (True, None),
    "fail": (False, None),
    "golden": (True, "golden"),
    "unsure": (UNSURE, None),
}
"""Verdict and fault by key. A wrong golden answer means that the prediction was right."""


KeyLookup = Callable[[str], str]
"""Returns the key of an action as it is printed, or an empty string if the action has no key."""


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """The item and target on screen when a key was pressed. A review is about these, whatever is shown by then."""

    item: int
    detail: ItemDetail
    target: str = ITEM

    @property
    def question(self) -> PendingQuestion:
        """The question that a verdict key answers."""
        return pending_question(self.detail.item, self.target)

    def annotation(
        self, fault: Fault | None = None, tags: list[str] | None = None, note: str | None = None
    ) -> Annotation:
        """An annotation on the pending question without a verdict."""
        return Annotation(target=self.target, criterion=self.question.criterion, fault=fault, tags=tags, note=note)

    @property
    def part_name(self) -> str:
        """The target's name for prompts, or an empty string for the whole item."""
        return "" if self.target == ITEM else sanitize(describe_address(self.target))

    @property
    def name(self) -> str:
        """The target's name, or the item's id."""
        return self.part_name or sanitize(self.detail.row.id)


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The result of a review action, as text and as data."""

    text: str
    subject_name: str = ""
    """Name of the item or the part."""
    style: str = "good"
    """`bad` if the action failed, `warn` if there was nothing to do."""
    completes_item: bool = False
    """The item has its verdict, so the next item can be shown."""
    event: Event | None = None
    """The event that is on disk."""
    undone: ItemKey | None = None
    """The item whose review was undone."""
    repetition: int = 1
    """1 or 2: the item's repetition that the undone review was about."""

    @property
    def succeeded(self) -> bool:
        return self.style == "good"

    @property
    def message(self) -> str:
        """The text with the name of its item or part."""
        return f"{self.text} · {self.subject_name}" if self.subject_name else self.text


class ReviewRecorder:
    """Turns keys and prompt answers into annotations and writes them to the journal of the session's annotator."""

    def __init__(self, session: Session, key: KeyLookup, *, is_judged_queue: bool = False) -> None:
        self._session, self._key, self.is_judged_queue = session, key, is_judged_queue
        """`judged`: an item is complete when every judge verdict on it is answered."""
        self._last_score: tuple[int, str] | None = None
        """Item and criterion that were scored last."""

    def own_opinion(self, subject: ReviewSubject, criterion: str | None = None) -> Opinion | None:
        """The annotator's opinion on a criterion of the target; by default the criterion of the pending question."""
        wanted = (self._session.annotator, subject.target, criterion or subject.question.criterion)
        return next((o for o in subject.detail.opinions if (o.annotator, o.target, o.criterion) == wanted), None)

    async def record_verdict(self, subject: ReviewSubject, key: str) -> ReviewOutcome:
        """Record a verdict. `key` is one of `VERDICTS`."""
        verdict, fault = VERDICTS_BY_KEY[key]
        mine = self.own_opinion(subject)
        if mine is not None and mine.verdict is None and not mine.stale and fault is None:
            fault = mine.fault  # recorded before the verdict, which would clear it
        question = subject.question
        value = question.stored_value(verdict)
        if value is None:
            keys = " ".join(self._key_names("item.labels"))
            return ReviewOutcome(f"select the correct labels{keys and ': ' + keys}", style="warn")

        def describe() -> str:
            text = verdict_words(value, question.criterion)
            return GOLDEN_WRONG_PREFIX + text if key == "golden" else f"{text}, {fault} is wrong" if fault else text

        annotation = Annotation(target=subject.target, criterion=question.criterion, verdict=value, fault=fault)
        outcome = await self._save(subject, annotation, describe)
        if not outcome.succeeded:
            return outcome
        return replace(outcome, completes_item=self._is_complete(subject, question.criterion, subject.target == ITEM))

    async def record_score(self, subject: ReviewSubject, value: int) -> ReviewOutcome:
        """Record a score from 0 to 2 on the criterion that `next_score` returns."""
        wanted = self.next_score(subject)
        if wanted is None:
            keys = " or ".join(self._key_names("item.pass", "item.fail"))
            return ReviewOutcome(f"items of this benchmark pass or fail{keys and ': ' + keys}", style="warn")
        target, criterion = wanted
        annotation = Annotation(target=target, criterion=criterion, verdict=value)
        outcome = await self._save(subject, annotation, lambda: verdict_words(value, criterion))
        if not outcome.succeeded:
            return outcome
        self._last_score = subject.item, criterion
        criteria = score_criteria(subject.detail)
        left = [each for each in criteria if each != wanted and self._lacks_verdict(subject, *each)]
        if not left and not any(self._lacks_verdict(subject, *each) for each in criteria):
            left = criteria[criteria.index(wanted) + 1 :]  # all have a score: each can be changed, one after the other
        if left:
            return replace(outcome, subject_name=f"now {sanitize(left[0][1])}")
        completes = self._is_complete(replace(subject, target=target), criterion, True)
        return replace(outcome, subject_name=sanitize(subject.detail.row.id), completes_item=completes)

    def next_score(self, subject: ReviewSubject) -> tuple[str, str] | None:
        """(target, criterion) of the first criterion without a score of this annotator.

        If all have one, the criterion after the one scored last. None if the item has no scores.
        """
        criteria = score_criteria(subject.detail)
        names = [criterion for _, criterion in criteria]
        item, last = self._last_score or (None, "")
        after_last = names.index(last) + 1 if item == subject.item and last in names else 0
        unscored = (each for each in criteria if self._lacks_verdict(subject, *each))
        return next(unscored, criteria[after_last % len(criteria)] if criteria else None)

    async def record_override_reason(self, subject: ReviewSubject, annotation: Annotation, reason: str) -> ReviewOutcome:
        """Record why an earlier verdict overrides an automatic one."""
        return await self._save(subject, annotation, lambda: f"override reason: {sanitize(reason)}")

    async def record_labels(self, subject: ReviewSubject, criterion: str, labels: list[str]) -> ReviewOutcome:
        """Record the correct labels of the response as a verdict on it, wherever the cursor is."""
        response = replace(subject, target=RESPONSE)
        annotation = Annotation(target=RESPONSE, criterion=criterion, verdict=labels)
        outcome = await self._save(response, annotation, lambda: verdict_words(labels, criterion))
        return replace(outcome, completes_item=outcome.succeeded and self._is_complete(response, criterion, True))

    def _is_complete(self, subject: ReviewSubject, criterion: str, whole: bool) -> bool:
        """Whether the item is done: `whole`, or in the queue `judged` if no judge verdict is left to answer."""
        if not self.is_judged_queue:
            return whole
        answers = [(subject.target, criterion)]
        return not unanswered_judge_verdicts(subject.detail, self._session.annotator, answers)

    async def record_fault(self, subject: ReviewSubject, fault: Fault) -> ReviewOutcome:
        """Record who is to blame for a failure."""
        return await self._save(
            subject, subject.annotation(fault=fault), lambda: f"{fault} is wrong{self._missing_verdict(subject)}"
        )

    async def record_tags(self, subject: ReviewSubject, tags: list[str]) -> ReviewOutcome:
        """Record error tags. An empty list clears them."""
        text = f"tags {sanitize(', '.join(tags))}" if tags else "no tags"
        return await self._save(subject, subject.annotation(tags=tags), lambda: text)

    async def record_note(self, subject: ReviewSubject, note: str) -> ReviewOutcome:
        """Record a note. An empty note clears it."""
        return await self._save(subject, subject.annotation(note=note), lambda: "note")

    async def record_golden_fix(self, subject: ReviewSubject, fix: dict[str, Any], reason: str | None) -> ReviewOutcome:
        """Record a corrected golden answer of the whole item. It sets no verdict: the prediction may be wrong too."""
        whole = replace(subject, target=ITEM)
        annotation = Annotation(fault="golden", golden_fix=fix, note=reason)
        return await self._save(
            whole, annotation, lambda: f"golden answer corrected, golden is wrong{self._missing_verdict(whole)}"
        )

    def _missing_verdict(self, subject: ReviewSubject) -> str:
        """` (no verdict yet: p f u)`, or an empty string if the annotator has a verdict."""
        mine = self.own_opinion(subject)
        if mine is not None and mine.verdict is not None:
            return ""
        keys = " ".join(self._key_names("item.pass", "item.fail", "item.unsure"))
        return f" (no verdict yet{keys and ': ' + keys})"

    async def undo(self) -> ReviewOutcome:
        """Retract the annotator's latest review."""
        try:
            event = await self._session.undo()
        except Exception as error:  # as in _save
            return ReviewOutcome(f"NOT UNDONE: {_error_text(error)}", style="bad")
        if event is None:
            return ReviewOutcome("nothing to undo", style="warn")
        text, repetition = f"undone: {describe_event(event)}", event.presentation or 1
        return ReviewOutcome(text, sanitize(event.key.id), undone=event.key, repetition=repetition)

    async def _save(self, subject: ReviewSubject, annotation: Annotation, describe: Callable[[], str]) -> ReviewOutcome:
        """Write the annotation, then describe it: no text is made before the journal has it."""
        try:
            event = await self._session.record_review(subject.item, annotation, subject.detail)
        except Exception as error:  # whatever the reason, the annotator must see that the review is not saved
            return ReviewOutcome(f"NOT SAVED ({describe()}): {_error_text(error)}", style="bad")
        return ReviewOutcome(f"saved: {describe()}{_override_text(event)}", subject.name, event=event)

    def _lacks_verdict(self, subject: ReviewSubject, target: str, criterion: str) -> bool:
        mine = self.own_opinion(replace(subject, target=target), criterion)
        return mine is None or mine.verdict is None

    def _key_names(self, *actions: str) -> list[str]:
        return [key for action in actions if (key := self._key(action))]


def score_criteria(detail: ItemDetail) -> list[tuple[str, str]]:
    """(target, criterion) of each 0 to 2 score of the item, in the benchmark's order."""
    scored = [(v.target, v.criterion) for v in detail.item.verdicts if type(v.value) is int and v.criterion != CORRECT]
    return list(dict.fromkeys(scored))


def verdict_words(value: Any, criterion: str) -> str:
    """The verdict in words: `pass`. Other criteria than `correct` are named: `hallucinated no`, `dialog_act none`."""
    text = format_verdict(value, criterion) or "none"
    return text if criterion == CORRECT else f"{sanitize(criterion)} {text}"


def describe_event(event: Event) -> str:
    """What an event set, in words: `fail, golden is wrong, on turn 2 call 1`."""
    parts = [verdict_words(event.verdict, event.criterion)] if event.verdict is not None else []
    parts += [f"{event.fault} is wrong"] if event.fault else []
    parts += [f"tags {sanitize(', '.join(event.tags))}"] if event.tags is not None else []
    parts += ["note"] if event.note is not None else []
    parts += ["override reason"] if event.verdict is None and event.overrules else []
    parts += ["golden fix"] if event.golden_fix is not None else []
    parts += [f"on {sanitize(describe_address(event.target))}"] if event.target != ITEM else []
    return ", ".join(parts) or "review"


def _override_text(event: Event) -> str:
    """`, overrides judge gpt-4o`: the source of the automatic verdict that a part's verdict contradicts. Empty for the
    whole item, whose header shows the verdict of each source."""
    over = event.overrules
    if over is None or event.target == ITEM or event.verdict is None:
        return ""
    return sanitize(", overrides " + " ".join(filter(None, (over.get("source"), over.get("by")))))


def _error_text(error: Exception) -> str:
    return sanitize(str(error) or type(error).__name__)
