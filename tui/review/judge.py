"""What a verdict key speaks to: the criterion of the automatic verdict that stands at its target. Pure.

Of a call that a judge called equivalent, `p` and `f` answer whether it is; of an argument said to be hallucinated, `p`
says that it is not. Where nothing else is asked, and on the item itself, they say whether it is correct.

What a reviewer says of an item and how it is taken back: verdicts, scores, faults, tags, notes. Knows no screen.

Every act is on disk before its outcome says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from fcreview.model.address import ITEM, RESPONSE, words
from fcreview.model.item import Item, Verdict
from fcreview.model.review import CORRECT, UNSURE, Event, Fault, Opinion, Said
from fcreview.model.sanitize import visible
from fcreview.model.verdict import FAULTY, PASSING, REMARKS, ZERO_TO_TWO, decides
from fcreview.model.wording import word
from fcreview.store.rows import ItemDetail

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.tui.review.cursor import Cursor


SOURCES = ("judge", "official", "rule")
"""Whose verdict is answered where several stand at a target: a judge's first."""
GOLDEN_WRONG = "golden wrong, so "
"""Before what that makes of the verdict."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is answered."""

    target: str = ITEM
    criterion: str = CORRECT
    automatic: Any = None
    """What the benchmark says; None: nothing."""
    scored: str = ""
    """What a score would be given for: `response completeness`. Empty where none is asked, or elsewhere."""

    def value(self, verdict: Any) -> Any:
        """What is stored for right (true), wrong (false) or unsure; None where that does not say it: other labels."""
        if not decides(verdict):
            return verdict
        if isinstance(self.automatic, list):
            return self.automatic if verdict else None
        return not verdict if self.criterion in FAULTY else verdict


def asked(item: Item, target: str) -> Asked:
    if target != ITEM:
        here = [v for v in item.verdicts if v.target == target and answerable(v)]
        for source in SOURCES:
            for verdict in here:
                if verdict.source == source:
                    return Asked(target, verdict.criterion, verdict.value)
    return Asked(target)


def answerable(verdict: Verdict) -> bool:
    """Whether `p` and `f` can answer it."""
    if verdict.criterion in REMARKS:
        return False
    if isinstance(verdict.value, list):
        return verdict.target == RESPONSE
    return isinstance(verdict.value, bool) and verdict.criterion in (*PASSING, *FAULTY)


def judged_open(detail: ItemDetail, annotator: str, but: Iterable[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    """(target, criterion) of what a judge said and this annotator has not answered, the response last: what the queue
    `judged` leads to. `but`: what was answered just now."""
    mine = {(o.target, o.criterion) for o in detail.opinions if _stands(o, annotator)} | set(but)
    said = [v for v in detail.item.verdicts if v.source == "judge" and _asks(v)]
    left = [each for each in dict.fromkeys((v.target, v.criterion) for v in said) if each not in mine]
    return sorted(left, key=lambda each: each[0] == RESPONSE)


def _asks(verdict: Verdict) -> bool:
    if verdict.target == ITEM:
        return verdict.criterion == CORRECT
    return answerable(verdict) or verdict.criterion in ZERO_TO_TWO


def _stands(opinion: Opinion, annotator: str) -> bool:
    return opinion.annotator == annotator and opinion.verdict is not None and not opinion.stale


VERDICTS: dict[str, tuple[Any, Fault | None]] = {
    "pass": (True, None),
    "fail": (False, None),
    "golden": (True, "golden"),
    "unsure": (UNSURE, None),
}
"""Verdict and fault by key. A wrong golden answer means that the prediction was right."""


KeyOf = Callable[[str], str]
"""An action's key as people write it; empty if it has none."""


class Reviews(Protocol):
    """Who reviews here; see `tui.session.Session`."""

    annotator: str

    async def review(self, item: int, said: Said) -> Event: ...

    async def undo(self) -> Event | None: ...


@dataclass(frozen=True, slots=True)
class About:
    """What was on screen when the key was pressed: what is said is about this, whatever is shown by then."""

    item: int
    detail: ItemDetail
    target: str = ITEM

    @property
    def asked(self) -> Asked:
        return asked(self.detail.item, self.target)

    def says(self, fault: Fault | None = None, tags: list[str] | None = None, note: str | None = None) -> Said:
        """More of what is asked here, without a verdict."""
        return Said(target=self.target, criterion=self.asked.criterion, fault=fault, tags=tags, note=note)

    @property
    def part(self) -> str:
        """What prompts name that lie over the line that says what a verdict is about; empty for the whole item."""
        return "" if self.target == ITEM else visible(words(self.target))

    @property
    def name(self) -> str:
        return self.part or visible(self.detail.row.id)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an act, in words."""

    said: str
    about: str = ""
    """The item or the part of it."""
    style: str = "good"
    """`bad`: it failed; `warn`: there was nothing to do."""
    goes_on: bool = False
    """The item has its verdict: on to the next one."""
    event: Event | None = None
    """What is on disk."""
    undone: ItemKey | None = None
    """The item whose review was taken back."""
    presentation: int = 1
    """Whether it was said when the item came the first or the second time."""

    @property
    def done(self) -> bool:
        return self.style == "good"

    @property
    def message(self) -> str:
        return f"{self.said} · {self.about}" if self.about else self.said


class Judging:
    def __init__(self, reviews: Reviews, key: KeyOf, *, judged: bool = False) -> None:
        self._reviews, self._key, self.judged = reviews, key, judged
        """The item is left when everything that a judge said of it is answered."""
        self._scored: tuple[int, str] | None = None
        """The item and the criterion that were scored last."""

    def mine(self, about: About, criterion: str | None = None) -> Opinion | None:
        """What this annotator said of it; on what is asked there, if no criterion is named."""
        wanted = (self._reviews.annotator, about.target, criterion or about.asked.criterion)
        return next((o for o in about.detail.opinions if (o.annotator, o.target, o.criterion) == wanted), None)

    async def verdict(self, about: About, key: str) -> Outcome:
        """`key` is one of VERDICTS."""
        verdict, fault = VERDICTS[key]
        mine = self.mine(about)
        if mine is not None and mine.verdict is None and not mine.stale and fault is None:
            fault = mine.fault  # named before the verdict, which would take it back
        asked = about.asked
        value = asked.value(verdict)
        if value is None:
            keys = " ".join(self._named("item.labels"))
            return Outcome(f"name the right labels{keys and ': ' + keys}", style="warn")
        said = answered(value, asked.criterion)
        if key == "golden":
            said = GOLDEN_WRONG + said
        elif fault is not None:
            said += f", {fault} is wrong"
        review = Said(target=about.target, criterion=asked.criterion, verdict=value, fault=fault)
        outcome = await self._save(about, review, said)
        if not outcome.done:
            return outcome
        return replace(outcome, goes_on=self._goes_on(about, asked.criterion, about.target == ITEM))

    async def score(self, about: About, value: int) -> Outcome:
        """A value from 0 to 2 for what `next_score` names."""
        wanted = self.next_score(about)
        if wanted is None:
            keys = " or ".join(self._named("item.pass", "item.fail"))
            return Outcome(f"items of this benchmark pass or fail{keys and ': ' + keys}", style="warn")
        target, criterion = wanted
        said = Said(target=target, criterion=criterion, verdict=value)
        outcome = await self._save(about, said, answered(value, criterion))
        if not outcome.done:
            return outcome
        self._scored = about.item, criterion
        criteria = score_criteria(about.detail)
        left = [each for each in criteria if each != wanted and self._open(about, *each)]
        if not left and not any(self._open(about, *each) for each in criteria):
            left = criteria[criteria.index(wanted) + 1 :]  # all were given: each can be given anew, one after the other
        if left:
            return replace(outcome, about=f"now {visible(left[0][1])}")
        goes_on = self._goes_on(replace(about, target=target), criterion, True)
        return replace(outcome, about=visible(about.detail.row.id), goes_on=goes_on)

    def next_score(self, about: About) -> tuple[str, str] | None:
        """(target, criterion) of the first that has no score of this annotator yet; where all have one, of that behind
        the one scored last. None where nothing is scored."""
        criteria = score_criteria(about.detail)
        names = [criterion for _, criterion in criteria]
        item, last = self._scored or (None, "")
        behind = names.index(last) + 1 if item == about.item and last in names else 0
        opened = (each for each in criteria if self._open(about, *each))
        return next(opened, criteria[behind % len(criteria)] if criteria else None)

    def spoken_to(self, about: About, reader: Cursor) -> Asked:
        """What verdict and score keys are about, which the screen has to name. A score is given at its target's block,
        or anywhere if there is none."""
        target, criterion = self.next_score(about) or ("", "")
        here = bool(target) and not self.leads(target, reader)
        return replace(about.asked, scored=f"{words(target)} {criterion}" if here else "")

    @staticmethod
    def leads(target: str, reader: Cursor) -> bool:
        """Whether a score key goes to the target before it gives one."""
        return target not in (ITEM, reader.target) and reader.shows(target)

    async def why(self, about: About, said: Said, reason: str) -> Outcome:
        """Why the verdict that was given before overrules the benchmark's."""
        return await self._save(about, said, f"overruled: {visible(reason)}")

    async def labels(self, about: About, criterion: str, labels: list[str]) -> Outcome:
        """The labels that a response should have: a verdict on it, whatever the cursor is on."""
        response = replace(about, target=RESPONSE)
        said = Said(target=RESPONSE, criterion=criterion, verdict=labels)
        outcome = await self._save(response, said, answered(labels, criterion))
        return replace(outcome, goes_on=outcome.done and self._goes_on(response, criterion, True))

    def _goes_on(self, about: About, criterion: str, whole: bool) -> bool:
        """Whether the item is done: `whole`, or in the queue of what judges said, if nothing of that is left."""
        if not self.judged:
            return whole
        return not judged_open(about.detail, self._reviews.annotator, [(about.target, criterion)])

    async def fault(self, about: About, fault: Fault) -> Outcome:
        mine = self.mine(about)
        keys = " ".join(self._named("item.pass", "item.fail", "item.unsure"))
        open_ = f" (no verdict yet{keys and ': ' + keys})" if mine is None or mine.verdict is None else ""
        return await self._save(about, about.says(fault=fault), f"{fault} is wrong{open_}")

    async def tags(self, about: About, tags: list[str]) -> Outcome:
        said = f"tags {visible(', '.join(tags))}" if tags else "no tags"
        return await self._save(about, about.says(tags=tags), said)

    async def note(self, about: About, note: str) -> Outcome:
        return await self._save(about, about.says(note=note), "note")

    async def golden(self, about: About, fix: dict[str, Any], reason: str | None) -> Outcome:
        """The golden answer is wrong, and what it should be: of the whole item, whatever the cursor is on. A verdict is
        another matter: the prediction may be wrong, too."""
        whole = replace(about, target=ITEM)
        mine = self.mine(whole)
        keys = " ".join(self._named("item.pass", "item.fail", "item.unsure"))
        open_ = f" (no verdict yet{keys and ': ' + keys})" if mine is None or mine.verdict is None else ""
        said = Said(fault="golden", golden_fix=fix, note=reason)
        return await self._save(whole, said, f"golden answer corrected, golden is wrong{open_}")

    async def undo(self) -> Outcome:
        try:
            event = await self._reviews.undo()
        except Exception as error:  # as in _save
            return Outcome(f"NOT UNDONE: {_reason(error)}", style="bad")
        if event is None:
            return Outcome("nothing to undo", style="warn")
        said, again = f"undone: {event_words(event)}", event.presentation or 1
        return Outcome(said, visible(event.key.id), undone=event.key, presentation=again)

    async def _save(self, about: About, said: Said, words_: str) -> Outcome:
        try:
            event = await self._reviews.review(about.item, said)
        except Exception as error:  # a review that is not saved must be told, whatever the reason
            return Outcome(f"NOT SAVED ({words_}): {_reason(error)}", style="bad")
        return Outcome(f"saved: {words_}{_overruled(event)}", about.name, event=event)

    def _open(self, about: About, target: str, criterion: str) -> bool:
        mine = self.mine(replace(about, target=target), criterion)
        return mine is None or mine.verdict is None

    def _named(self, *actions: str) -> list[str]:
        return [key for action in actions if (key := self._key(action))]


def score_criteria(detail: ItemDetail) -> list[tuple[str, str]]:
    """(target, criterion) of what is scored 0 to 2 in this item, in the order the benchmark gives it."""
    scored = [(v.target, v.criterion) for v in detail.item.verdicts if type(v.value) is int and v.criterion != CORRECT]
    return list(dict.fromkeys(scored))


def answered(value: Any, criterion: str) -> str:
    """`pass`; of anything else than whether it is correct, what was asked too: `hallucinated no`, `dialog_act none`."""
    said = word(value, criterion) or "none"
    return said if criterion == CORRECT else f"{visible(criterion)} {said}"


def event_words(event: Event) -> str:
    """`fail, golden is wrong, on turn 2 call 1`: what an event had set."""
    parts = [answered(event.verdict, event.criterion)] if event.verdict is not None else []
    parts += [f"{event.fault} is wrong"] if event.fault else []
    parts += [f"tags {visible(', '.join(event.tags))}"] if event.tags is not None else []
    parts += ["note"] if event.note is not None else []
    parts += ["why it overrules"] if event.verdict is None and event.overrules else []
    parts += ["golden fix"] if event.golden_fix is not None else []
    parts += [f"on {visible(words(event.target))}"] if event.target != ITEM else []
    return ", ".join(parts) or "review"


def _overruled(event: Event) -> str:
    """`, overrules judge gpt-4o`: whose verdict it contradicts. Of a part only: on the item the header shows who says
    what."""
    over = event.overrules
    if over is None or event.target == ITEM or event.verdict is None:
        return ""
    return visible(", overrules " + " ".join(filter(None, (over.get("source"), over.get("by")))))


def _reason(error: Exception) -> str:
    return visible(str(error) or type(error).__name__)
