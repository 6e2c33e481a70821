"""What annotators do not agree on, for an adjudicator: which targets, and their answers under letters.

A target is disputed on a criterion if current verdicts differ, or if all let it pass and do not name the same fault: a
pass that calls the golden answer wrong is another label than a plain one (`correct+fault` in `ratings`). It is settled
by an adjudication that is not stale, so it comes back when the prediction or the golden answer changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from fcreview.agreement.held import Held, held
from fcreview.criteria import PASSING
from fcreview.review import UNSURE, ItemKey, Opinion, Said
from fcreview.rollup import DISPUTED, Build, agreed, majority

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
    return said.verdict != UNSURE and (said.verdict is not None or said.fault is not None)


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
    if own is not None and own.verdict not in (None, UNSURE):
        return own
    given = own or Opinion(annotator=annotator, target=target, criterion=criterion)
    return Opinion(
        annotator=annotator, target=target, criterion=criterion, verdict=verdict, tags=given.tags, note=given.note
    )
