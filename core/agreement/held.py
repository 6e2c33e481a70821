"""What annotators hold of an item and its parts, before it is decided. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.review import CORRECT, OWN, UNSURE, Opinion
from fcreview.rollup import Build, contradicts, unreviewed, whole
from fcreview.targets import ITEM

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
    if value is not None and verdicts.get(annotator) in (None, UNSURE):
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
    rulings = [o for o in said if o.adjudicated and not o.stale and o.verdict not in (None, UNSURE)]
    return max(rulings, key=lambda o: o.time) if rulings else None


def _part_values(opinions: Iterable[Opinion]) -> dict[str, Any]:
    """The verdict on each part, later ones over earlier."""
    values: dict[str, Any] = {}
    for criterion in reversed(ROLLING):
        rows = sorted((o for o in opinions if o.criterion == criterion), key=lambda o: o.time)
        values.update({o.target: o.verdict for o in rows if o.verdict is not None})
    return values
