"""Milestones beside the calls that were made: which were met as the process scorer counts, what stands for the rest.

Source of the rule: the released process scorer (revision e6db74b): milestones are looked for one after the other, each
behind the one before it; the first that is not found ends the count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fcreview.calls.align import align
from fcreview.importers.acebench.check_agent import leading_share
from fcreview.importers.acebench.check_value import RULES
from fcreview.model import Call, Pair


def best_sequence(made: Sequence[Any], milestones: Any) -> tuple[list[str], list[Any]]:
    """Of alternative sequences the one that counts, and the others."""
    if not isinstance(milestones, list) or not milestones:
        return [], []
    if not isinstance(milestones[0], list):
        return [str(one) for one in milestones], []
    shares = [leading_share(list(made), sequence) for sequence in milestones]
    best = shares.index(max(shares))
    return [str(one) for one in milestones[best]], [each for at, each in enumerate(milestones) if at != best]


def met(made: Sequence[Any], milestones: Sequence[str]) -> list[int]:
    """Places of the calls that meet the leading milestones, in their order."""
    found: list[int] = []
    position = 0
    for milestone in milestones:
        wanted = milestone.strip()
        at = next((n for n in range(position, len(made)) if str(made[n]).strip() == wanted), None)
        if at is None:
            break
        found.append(at)
        position = at + 1
    return found


def pairs_of(golden: Sequence[Call], predicted: Sequence[Call], places: Sequence[int]) -> list[Pair]:
    """Milestones that were met beside the calls that met them; those behind are held against what was done after."""
    start = places[-1] + 1 if places else 0
    made = [align([one], [predicted[at]], RULES)[0] for one, at in zip(golden, places, strict=False)]
    rest = align(golden[len(places) :], predicted[start:], RULES, ordered=True)
    before = [Pair(call.turn, None, call.index, call.name, "+") for call in predicted[:start]]
    extra = [one for one in before if one.predicted not in places]
    wanted = [pair for pair in rest if pair.golden is not None]
    return made + wanted + extra + [pair for pair in rest if pair.golden is None]


def in_words(milestones: Sequence[str], count: int) -> str:
    """`1 of 3 met: turn_on_wifi; not login`: the count ends at the first that is not met."""
    names = [one.strip("[ ").partition("(")[0] for one in milestones]
    said = f"{count} of {len(milestones)} met"
    said += f": {', '.join(names[:count])}" if count else ""
    return said + (f"; not {names[count]}" if count < len(names) else "")
