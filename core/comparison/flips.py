"""Items that pass on one side and fail on the other, and what makes the difference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fcreview.comparison.outcomes import Outcome, Row

FAILS = "fails, and nothing says why"


@dataclass(frozen=True, slots=True)
class Flip:
    """A passes and B fails, or the other way round."""

    a: Outcome
    b: Outcome

    @property
    def passes(self) -> str:
        """`a` or `b`."""
        return "a" if self.a.verdict else "b"

    @property
    def same_prediction(self) -> bool:
        """Then the answer was judged otherwise, or by another golden answer."""
        return bool(self.a.prediction) and self.a.prediction == self.b.prediction

    @property
    def golden_differs(self) -> bool:
        return self.a.golden != self.b.golden

    @property
    def cause(self) -> str:
        """One line: `B: city "Hangzhou, CN" (golden "Hangzhou")`. Not safe to draw before `sanitise.visible`."""
        if self.same_prediction and not self.golden_differs:  # nothing differs but what was made of it
            name, side = ("B", self.b) if self.passes == "a" else ("A", self.a)
            return f"same prediction; {name}: {', '.join(filter(None, (side.error, side.difference))) or FAILS}"
        sides = [f"{name}: {why}" for name, side in (("A", self.a), ("B", self.b)) if (why := reason(side))]
        if self.same_prediction:
            sides.insert(0, "same prediction, other golden answer")
        elif self.golden_differs:
            sides.insert(0, "other golden answer")
        return "; ".join(sides)


def flips(rows: Iterable[Row]) -> list[Flip]:
    """Of rows of two runs, in their order; those that A passes first."""
    found = []
    for row in rows:
        a, b = row.outcomes
        if a is not None and b is not None and {a.verdict, b.verdict} == {True, False}:
            found.append(Flip(a, b))
    return sorted(found, key=lambda flip: flip.passes)


def reason(side: Outcome) -> str:
    """Of a failing side what fails it: its first difference, else the error's name. Of a passing one what it has
    otherwise than the golden answer, which is nothing for most."""
    if side.verdict:
        return f"passes with {side.difference}" if side.difference else ""
    return side.difference or side.error or FAILS
