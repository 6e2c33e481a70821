"""From acts to opinions to decisions. Pure: events in, values out.

An opinion is what one annotator now thinks of one target on one criterion; a decision is what all of them together say:
an adjudication, else the unanimous verdict, else the majority's if that is the policy, else disputed. "unsure" is an
opinion but decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Reversible, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.agreement.held import Held, Question, held, of_parts, ruler
from fcreview.review import OWN, PARTS, UNSURE, Event, Opinion
from fcreview.rollup import DISPUTED, SETTLED, UNANIMOUS, Build, DecidedBy, Policy, agreed, alike, majority


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
    one with a verdict also takes back the fault named before it (see `fcreview.review`).

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
        decided_by=None if verdict is None or verdict == UNSURE else "unanimous",
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
        decision.fault = _fault(o for o in fresh if o.verdict in (None, UNSURE) or alike(o.verdict, most))
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
