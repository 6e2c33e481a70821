"""Where a failing answer differs from the golden one, in a form that tells when two answers differ alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.calls.paths import steps
from fcreview.calls.table import NOTHING, locate
from fcreview.model import Accept, Call, Fields, Pair
from fcreview.suspects.case import Answer, Case
from fcreview.suspects.facts.notation import plain
from fcreview.values import brief, brief_golden, to_json_text

MOST = 30
"""Places of one answer: who differs in more has another answer altogether."""


@dataclass(frozen=True, slots=True)
class Place:
    """One difference."""

    turn: int
    call: int
    """Of the golden call in its turn; -1 for a call that golden does not have."""
    function: str
    path: str
    """Empty for the call as a whole."""
    state: str
    given: Any
    """What the answer has there; NOTHING if it has nothing."""
    golden: Any
    """What golden has there: an `Accept`, a value, or NOTHING."""

    @property
    def alike(self) -> tuple[Any, ...]:
        """The same for answers that differ alike here."""
        text = "" if self.given is NOTHING else plain(to_json_text(self.given)) or to_json_text(self.given)
        return (self.turn, self.call, self.function, self.path, "-" if self.given is NOTHING else "", text)

    @property
    def words(self) -> str:
        """`unit: "km"`, `without unit`, `no call of f`."""
        if not self.path:
            if self.state == "-":
                return f"no call of {self.function}"
            return f"{self.function}({_inside(self.given)})"
        return f"without {self.path}" if self.given is NOTHING else f"{self.path}: {brief(self.given, 80)}"

    @property
    def wanted(self) -> str:
        """What golden has there, in words: `"km" or 2 more`, `nothing`."""
        nothing = self.golden is NOTHING or (isinstance(self.golden, Accept) and not self.golden.any_of)
        return "nothing" if nothing else brief_golden(self.golden)


def _inside(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return "…"
    text = ", ".join(f"{name}={brief(value, 30)}" for name, value in list(arguments.items())[:6])
    return text if len(text) <= 100 else text[:99] + "…"


def places(case: Case, answer: Answer) -> list[Place]:
    """What is neither equal nor equal by the benchmark's normalisation."""
    golden, given = _by_place(case.golden), _by_place(answer.calls)
    found: list[Place] = []
    for pair in answer.pairs:
        one = golden.get((pair.turn, pair.golden)) if pair.golden is not None else None
        other = given.get((pair.turn, pair.predicted)) if pair.predicted is not None else None
        found += _of_pair(pair, one, other)
        if len(found) > MOST:
            break
    return found[:MOST]


def _by_place(calls: Sequence[Call]) -> dict[tuple[int, int], Call]:
    return {(call.turn, call.index): call for call in calls}


def _of_pair(pair: Pair, golden: Call | None, given: Call | None) -> list[Place]:
    at = -1 if pair.golden is None else pair.golden
    if golden is None or given is None:
        whole = NOTHING if given is None else given.arguments
        return [Place(pair.turn, at, pair.name, "", pair.state, whole, NOTHING)]
    other = next((one for one in pair.diff if not one.path and one.state == "!"), None)
    if other is not None:
        return [Place(pair.turn, at, given.name, "", "!", given.arguments, NOTHING)]
    found: dict[str, Place] = {}
    for one in pair.diff:
        if one.state == "~":
            continue
        name, *inside = steps(one.path)
        left = (golden.arguments or {}).get(str(name), NOTHING)
        right = (given.arguments or {}).get(str(name), NOTHING)
        if _whole(left) or one.state in "+-" or not inside:  # a list or scalar is one answer, an object many
            found.setdefault(str(name), Place(pair.turn, at, pair.name, str(name), one.state, right, left))
        else:
            left, right = locate(left, right, inside)
            found.setdefault(one.path, Place(pair.turn, at, pair.name, one.path, one.state, right, left))
    return list(found.values())


def _whole(golden: Any) -> bool:
    """Whether an argument is compared as one value."""
    values = golden.any_of if isinstance(golden, Accept) else [golden]
    return not any(isinstance(value, Fields) or _holds_fields(value) for value in values)


def _holds_fields(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, (Fields, dict)) for one in value)


def by_alike(found: Sequence[tuple[Answer, list[Place]]]) -> dict[tuple[Any, ...], tuple[Place, list[int]]]:
    """Places that several answers have alike: one of them, and the runs that have it."""
    groups: dict[tuple[Any, ...], tuple[Place, list[int]]] = {}
    runs: defaultdict[tuple[Any, ...], set[int]] = defaultdict(set)
    for answer, each in found:
        for place in each:
            groups.setdefault(place.alike, (place, []))
            runs[place.alike].update(answer.runs)
    return {alike: (place, sorted(runs[alike])) for alike, (place, _) in groups.items()}
