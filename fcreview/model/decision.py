"""What annotators hold of an item and its parts, before it is decided. Pure.

What annotators do not agree on, for an adjudicator: which targets, and their answers under letters.

A target is disputed on a criterion if current verdicts differ, or if all let it pass and do not name the same fault: a
pass that calls the golden answer wrong is another label than a plain one (`correct+fault` in `ratings`). It is settled
by an adjudication that is not stale, so it comes back when the prediction or the golden answer changes.

From acts to opinions to decisions. Pure: events in, values out.

An opinion is what one annotator now thinks of one target on one criterion; a decision is what all of them together say:
an adjudication, else the unanimous verdict, else the majority's if that is the policy, else disputed. "unsure" is an
opinion but decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Reversible, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from fcreview.model.address import ITEM
from fcreview.model.review import CORRECT, OWN, PARTS, UNSURE, Event, ItemKey, Opinion, Said
from fcreview.model.verdict import (
    DISPUTED,
    PASSING,
    SETTLED,
    UNANIMOUS,
    Build,
    DecidedBy,
    Policy,
    agreed,
    alike,
    contradicts,
    decides,
    majority,
    unreviewed,
    whole,
)

ROLLING = (CORRECT, "equivalent")
"""Pass/fail criteria of parts that say something of the item; of two on one part the first counts."""

Question = tuple[str, str]
"""(target, criterion)"""


@dataclass(slots=True)
class Held:
    """What is held of one target on one criterion, before it is decided."""

    verdicts: dict[str, Any]
    """By annotator: current verdicts, "unsure" included; of adjudicators none."""
    ruling: Any = None
    """The adjudicated verdict."""
    alone: dict[str, Any] = field(default_factory=dict)
    """By annotator: what follows from their own words, whatever others say."""


def held(opinions: Sequence[Opinion], build: Build) -> dict[Question, Held]:
    """What is held of one item: `item`/`correct` first, its own verdicts completed by the roll-up of what was said of
    its parts; then every target spoken of."""
    about: dict[Question, list[Opinion]] = {OWN: []}
    for opinion in opinions:
        about.setdefault((opinion.target, opinion.criterion), []).append(opinion)
    found = {question: Held(_verdicts(said), _ruling(said)) for question, said in about.items()}
    for there in found.values():
        there.alone = dict(there.verdicts)
    parts = of_parts(opinions)
    if parts:
        _roll_up(found[OWN], parts, build)
    return found


def _roll_up(own: Held, parts: Sequence[Opinion], build: Build) -> None:
    """What was said of an item's parts, for those who said nothing decided of the item itself.

    Who only confirms the benchmark says nothing of the item, unless another overruled the very thing: then they hold
    that the item is as the benchmark has it.
    """
    settled = _part_values([o for o in parts if o.adjudicated])
    if own.ruling is None:
        own.ruling = whole(settled, build)
    names = dict.fromkeys(o.annotator for o in parts if not o.adjudicated)
    said = {name: _part_values([o for o in parts if o.annotator == name and not o.adjudicated]) for name in names}
    after = {name: {**values, **settled} for name, values in said.items()}
    follows = {name: whole(values, build) for name, values in after.items()}
    overruling = [after[name] for name, value in follows.items() if value is not None]
    for name in names:
        value = follows[name]
        if value is None and any(contradicts(after[name], other) for other in overruling):
            value = unreviewed(build)
        _complete(own.verdicts, name, value)
        _complete(own.alone, name, whole(said[name], build))


def _complete(verdicts: dict[str, Any], annotator: str, value: Any) -> None:
    if value is not None and not decides(verdicts.get(annotator)):
        verdicts[annotator] = value


def of_parts(opinions: Iterable[Opinion]) -> list[Opinion]:
    """Those that say something of the item by what they say of its parts."""
    return [o for o in opinions if not o.stale and o.criterion in ROLLING and o.target != ITEM]


def _verdicts(said: Iterable[Opinion]) -> dict[str, Any]:
    """Current verdicts of those who annotate."""
    return {o.annotator: o.verdict for o in said if not o.stale and not o.adjudicated and o.verdict is not None}


def _ruling(said: Iterable[Opinion]) -> Any:
    """The latest adjudication; one that is "unsure" settles nothing."""
    last = ruler(said)
    return None if last is None else last.verdict


def ruler(said: Iterable[Opinion]) -> Opinion | None:
    rulings = [o for o in said if o.adjudicated and not o.stale and decides(o.verdict)]
    return max(rulings, key=lambda o: o.time) if rulings else None


def _part_values(opinions: Iterable[Opinion]) -> dict[str, Any]:
    """The verdict on each part, later ones over earlier."""
    values: dict[str, Any] = {}
    for criterion in reversed(ROLLING):
        rows = sorted((o for o in opinions if o.criterion == criterion), key=lambda o: o.time)
        values.update({o.target: o.verdict for o in rows if o.verdict is not None})
    return values


SETTLING = "say a verdict that is not unsure, or who is wrong"
"""What an adjudication must do, for messages."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """One target of one item on one criterion."""

    target: str
    criterion: str
    answers: list[Opinion]
    """A current verdict an annotator, "unsure" among them; shuffled, so that the place of an answer does not tell whose
    it is. Of an item an answer may only follow from what the annotator said of its parts."""
    majority: Any
    """What more than half say, for the adjudicator to see; None if nothing."""


def settles(said: Said) -> bool:
    """Whether the act can settle something: it has a verdict that is not "unsure", or says who is wrong."""
    return decides(said.verdict) or (said.verdict is None and said.fault is not None)


def disputes(key: ItemKey, opinions: Sequence[Opinion], build: Build) -> list[Dispute]:
    """What is not settled of one item, the item's own verdict first."""
    found = []
    current: defaultdict[tuple[str, str], list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        if not opinion.stale:
            current[opinion.target, opinion.criterion].append(opinion)
    for (target, criterion), there in held(opinions, build).items():
        said = current[target, criterion]
        if _differ(said, there, criterion):
            answers = [_answer(each, said, target, criterion, there.verdicts[each]) for each in there.verdicts]
            most = majority(there.verdicts.values())
            found.append(Dispute(target, criterion, shuffled(key, answers), most))
    return found


def shuffled(key: ItemKey, answers: Iterable[Opinion]) -> list[Opinion]:
    """In an order that the item, the target and the names decide: the same at every call, on every machine, and
    another one for the next target."""

    def place(answer: Opinion) -> bytes:
        text = "\0".join([*key, answer.target, answer.criterion, answer.annotator])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    return sorted(answers, key=place)


def letter(place: int) -> str:
    """A, B ... Z, then AA, AB ..., from 0."""
    more, last = divmod(place, 26)
    return (letter(more - 1) if more else "") + chr(ord("A") + last)


def _differ(said: Sequence[Opinion], there: Held, criterion: str) -> bool:
    if there.ruling is not None:
        return False
    together = agreed(there.verdicts.values())
    if together == DISPUTED:
        return True
    if together is not True or criterion not in PASSING or any(o.adjudicated and settles(o) for o in said):
        return False
    return len({o.fault for o in said if o.verdict is True and not o.adjudicated}) > 1


def _answer(annotator: str, said: Iterable[Opinion], target: str, criterion: str, verdict: Any) -> Opinion:
    """Their opinion; one that follows from parts has no fault."""
    own = next((o for o in said if o.annotator == annotator and not o.adjudicated), None)
    if own is not None and decides(own.verdict):
        return own
    given = own or Opinion(annotator=annotator, target=target, criterion=criterion)
    return Opinion(
        annotator=annotator, target=target, criterion=criterion, verdict=verdict, tags=given.tags, note=given.note
    )


@dataclass(slots=True)
class Decision:
    """What the annotators say of one target on one criterion."""

    target: str
    criterion: str
    human: Any = None
    """The settled value, "disputed", "unsure" (nobody decided), or None (only tags or notes, or all stale)."""
    decided_by: DecidedBy | None = None
    """None leaves it to the benchmark's own verdict."""
    you: Any = None
    """The asking annotator's own value."""
    fault: str | None = None
    """The adjudicator's, none if that is a plain pass; else the one all agree on (all of the majority, where it
    settled), else "disputed"."""
    golden_fix: dict[str, Any] | None = None
    """The adjudicator's, else the one that all who gave one agree on."""
    tags: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    annotators: list[str] = field(default_factory=list)
    """Who has a current opinion, by name."""
    n_verdicts: int = 0
    """Annotators (adjudicators included) with a current verdict, "unsure" included."""
    stale: bool = False
    """There is an opinion on an earlier prediction or golden answer; it is not counted."""
    n_parts: int = field(default=0, compare=False)
    """Of the item's own decision: parts and other criteria that somebody judged, `your_parts`: that you did."""
    your_parts: int = field(default=0, compare=False)
    your_stale: bool = False
    """One of the asking annotator's own."""

    @property
    def settled(self) -> bool:
        return self.decided_by in SETTLED


def retractions(events: Iterable[Event]) -> set[tuple[str, str]]:
    """(event, annotator) of what was taken back. Nobody takes back what another said."""
    return {(event.retracts, event.annotator) for event in events if event.act == "retract" and event.retracts}


def last_act(events: Reversible[Event], annotator: str, gone: set[tuple[str, str]]) -> Event | None:
    """The annotator's latest act that is not among the retracted ones."""
    for event in reversed(events):
        mine = event.annotator == annotator and event.act != "retract"
        if mine and (event.event, annotator) not in gone:
            return event
    return None


def is_stale(event: Event, prediction_hash: str, golden_hash: str) -> bool:
    """Whether the event is about another prediction or golden answer. A hash that is not known says nothing."""
    return _differs(event.prediction_hash, prediction_hash) or _differs(event.golden_hash, golden_hash)


def fold(
    events: Iterable[Event],
    retracted: set[tuple[str, str]],
    prediction_hash: str = "",
    golden_hash: str = "",
    presentation: int = 1,
) -> list[Opinion]:
    """Opinions on one item, in order of first mention. An event changes only the fields it carries, later over earlier;
    one with a verdict also takes back the fault named before it (see `fcreview.model.review`).

    As soon as an annotator has said anything of the present answer, what they said of an earlier one no longer shows.
    What was said when the item came a second time is no opinion; with `presentation` 2 it is taken instead.
    """
    opinions: dict[tuple[str, str, str, str], Opinion] = {}
    for event in events:
        if event.act == "retract" or (event.event, event.annotator) in retracted:
            continue
        if (event.presentation or 1) != presentation:
            continue
        stale = is_stale(event, prediction_hash, golden_hash)
        who = (event.annotator, event.target, event.criterion, event.act)
        opinion = opinions.get(who)
        if opinion is None or (opinion.stale and not stale):
            opinion = opinions[who] = Opinion(
                annotator=event.annotator, target=event.target, criterion=event.criterion, act=event.act, stale=stale
            )
        elif stale and not opinion.stale:
            continue
        _apply(opinion, event)
    return list(opinions.values())


def has_seen(
    events: Sequence[Event],
    build: Build,
    annotator: str,
    prediction_hash: str = "",
    golden_hash: str = "",
    presentation: int = 1,
) -> bool:
    """Whether what others found on an item was open to this annotator where it came the first (1) or the second time:
    from the first verdict of theirs there that decides the item, taken back or not, and wherever they spoke of it when
    nothing was hidden. What their first verdict opened is hidden again when the item comes a second time.

    `events` are all of the item, by time.
    """
    decided = {1: False, 2: False}
    for number, event in enumerate(events, 1):
        if event.annotator != annotator or is_stale(event, prediction_hash, golden_hash):
            continue
        here = event.presentation or 1
        if decided[here]:
            continue
        if event.blind is False:
            return True
        until = events[:number]
        opinions = fold(until, retractions(until), prediction_hash, golden_hash, here)
        decided[here] = decide(opinions, build, annotator)[0].you is not None
    return decided[presentation]


def decide(
    opinions: Sequence[Opinion], build: Build, you: str | None = None, policy: Policy = UNANIMOUS
) -> list[Decision]:
    """Decisions of one item: `item`/`correct` first (empty if nothing bears on it), then every target spoken of."""
    if len(opinions) == 1 and _simple(opinions[0]):
        return [_alone(opinions[0], you)]
    about: dict[Question, list[Opinion]] = {}
    for opinion in opinions:
        about.setdefault((opinion.target, opinion.criterion), []).append(opinion)
    there = held(opinions, build)
    decisions = [_item(about.get(OWN, []), opinions, there[OWN], you, policy)]
    for question, said in about.items():
        if question != OWN:
            decisions.append(_settle(question, said, there[question], you, policy))
    return decisions


def _simple(opinion: Opinion) -> bool:
    return (opinion.target, opinion.criterion) == OWN and not opinion.stale and not opinion.adjudicated


def _alone(opinion: Opinion, you: str | None) -> Decision:
    """What `_item` says of a single opinion; nearly every item of a large workspace has just one."""
    verdict = opinion.verdict
    return Decision(
        *OWN,
        human=verdict,
        decided_by="unanimous" if decides(verdict) else None,
        you=verdict if opinion.annotator == you else None,
        fault=opinion.fault,
        golden_fix=opinion.golden_fix,
        tags=list(dict.fromkeys(opinion.tags or ())),
        notes=[opinion.note] if opinion.note else [],
        annotators=[opinion.annotator],
        n_verdicts=int(verdict is not None),
    )


def _item(
    said: Sequence[Opinion], opinions: Sequence[Opinion], there: Held, you: str | None, policy: Policy
) -> Decision:
    decision = _settle(OWN, said, there, you, policy)
    spoke = {o.annotator for o in of_parts(opinions) if o.annotator in there.verdicts or o.adjudicated}
    decision.annotators = sorted({*decision.annotators, *spoke})
    decision.n_verdicts = decision.n_verdicts or int(there.ruling is not None)
    decision.stale = any(o.stale for o in opinions)
    judged = [o for o in opinions if not o.stale and o.verdict is not None and (o.target, o.criterion) != OWN]
    decision.n_parts = len({(o.target, o.criterion) for o in judged})
    decision.your_parts = len({(o.target, o.criterion) for o in judged if o.annotator == you and not o.adjudicated})
    decision.your_stale = any(o.stale for o in opinions if o.annotator == you)
    return decision


def _settle(question: Question, said: Sequence[Opinion], there: Held, you: str | None, policy: Policy) -> Decision:
    verdicts, ruling = there.verdicts, there.ruling
    fresh = [opinion for opinion in said if not opinion.stale]
    rulers = [opinion for opinion in fresh if opinion.adjudicated]
    decision = Decision(
        *question,
        you=there.alone.get(you) if you else None,
        fault=_settled_fault(rulers, fresh),
        golden_fix=_fix(rulers) or _fix(fresh),
        tags=list(dict.fromkeys(tag for opinion in fresh for tag in opinion.tags or ())),
        notes=[opinion.note for opinion in fresh if opinion.note],
        annotators=sorted({opinion.annotator for opinion in fresh}),
        n_verdicts=len({*verdicts, *(o.annotator for o in rulers if o.verdict is not None)}),
        stale=any(opinion.stale for opinion in said),
        your_stale=any(opinion.stale for opinion in said if opinion.annotator == you),
    )
    together = agreed(verdicts.values())
    most = majority(verdicts.values()) if together == DISPUTED and policy == "majority" else None
    if ruling is not None:
        decision.human, decision.decided_by = ruling, "adjudication"
    elif most is not None:
        decision.human, decision.decided_by = most, "majority"
        decision.fault = _fault(o for o in fresh if not decides(o.verdict) or alike(o.verdict, most))
    elif together is None:
        decision.human = UNSURE if verdicts else None
    else:
        decision.human, decision.decided_by = together, "disputed" if together == DISPUTED else "unanimous"
    return decision


def _fault(opinions: Iterable[Opinion]) -> str | None:
    faults = {opinion.fault for opinion in opinions if opinion.fault}
    return faults.pop() if len(faults) == 1 else DISPUTED if faults else None


def _settled_fault(rulers: Sequence[Opinion], fresh: Iterable[Opinion]) -> str | None:
    """A settled pass says itself who is wrong, or nobody; where it is a fail, what annotators say of it still holds."""
    last = ruler(rulers)
    if last is not None and last.verdict is True:
        return last.fault
    return _fault(rulers) or _fault(fresh)


def _fix(opinions: Iterable[Opinion]) -> dict[str, Any] | None:
    fixes = [opinion.golden_fix for opinion in opinions if opinion.golden_fix]
    return fixes[0] if fixes and all(fix == fixes[0] for fix in fixes) else None


def _apply(opinion: Opinion, event: Event) -> None:
    opinion.time = event.time
    opinion.prediction_hash, opinion.golden_hash = event.prediction_hash, event.golden_hash
    if event.verdict is not None:
        opinion.fault = opinion.overrules = None
        opinion.blind = event.blind
    for name in PARTS:
        value = getattr(event, name)
        if value is not None:
            setattr(opinion, name, None if value == "" else value)


def _differs(one: str, other: str) -> bool:
    return bool(one and other and one != other)
