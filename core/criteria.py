"""What is asked of a target, and what may be answered: the words people give, and the values that are stored.

A criterion is known by its name, else by the values that the benchmark itself gives on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fcreview.review import CORRECT, UNSURE

EQUIVALENT = "equivalent"
PASS_FAIL: dict[str, Any] = {"pass": True, "fail": False, "unsure": UNSURE}
YES_NO: dict[str, Any] = {"yes": True, "no": False, "unsure": UNSURE}
_UNSURE: dict[str, Any] = {"unsure": UNSURE}


@dataclass(frozen=True, slots=True)
class Scale:
    """What may be answered: certain words, and besides them numbers or a set of labels."""

    words: Mapping[str, Any] = field(default_factory=lambda: _UNSURE)
    numbers: tuple[float, float] | None = None
    """Least and greatest, both allowed."""
    labels: bool = False
    known: tuple[str, ...] = ()
    """The labels there are, where that is known; others may be given."""

    def allowed(self) -> str:
        """`pass, fail, unsure`; `a number from 0 to 1, unsure`."""
        return ", ".join(filter(None, (self._range(), "labels separated by commas" * self.labels, *self.words)))

    def value(self, text: str) -> Any:
        """What is stored for what was typed. ValueError if the scale does not have it."""
        if text in self.words:
            return self.words[text]
        if self.labels:
            return list(dict.fromkeys(label for part in text.split(",") if (label := part.strip())))
        if self.numbers is not None and (number := _number(text)) is not None:
            low, high = self.numbers
            if low <= number <= high:
                return number
        raise ValueError(self.allowed())

    def _range(self) -> str:
        if self.numbers is None:
            return ""
        low, high = (f"{bound:g}" if math.isfinite(bound) else "" for bound in self.numbers)
        return f"a number from {low} to {high}" if low and high else "a number"


_SHARE = Scale(numbers=(0.0, 1.0))
_ANY_NUMBER = Scale(numbers=(-math.inf, math.inf))
_ZERO_TO_TWO = Scale(words={"0": 0, "1": 1, "2": 2, "unsure": UNSURE})

DIALOG_ACTS = (
    "agent_function_calling",
    "agent_inform_user",
    "agent_seek_information",
    "agent_reject_request",
    "agent_other",
)
"""CONFETTI's (Figure 5 of its paper)."""

SCALES: dict[str, Scale] = {
    CORRECT: Scale(PASS_FAIL),
    EQUIVALENT: Scale(PASS_FAIL),
    "func_ok": Scale(PASS_FAIL),
    "args_ok": Scale(PASS_FAIL),
    "args_ok_llm": Scale(PASS_FAIL),
    "name_matches": Scale(PASS_FAIL),
    "hallucinated": Scale(YES_NO),
    "completeness": _ZERO_TO_TWO,
    "correctness": _ZERO_TO_TWO,
    "soft_score": _SHARE,
    "process_accuracy": _SHARE,
    "dialog_act": Scale(labels=True, known=DIALOG_ACTS),
}
"""Criteria known by name."""

ZERO_TO_TWO = tuple(name for name, scale in SCALES.items() if scale is _ZERO_TO_TWO)
"""Criteria that are scored 0, 1 or 2."""
FAULTY = ("hallucinated",)
"""Criteria on which true is what is wrong."""
REMARKS = ("name_matches",)
"""What a judge notes on the way to its verdict: not what a verdict on the call is about."""
ASKED = (CORRECT, EQUIVALENT, "hallucinated", "completeness", "correctness")
"""Criteria that may be asked of any item; every other only where the benchmark itself gives values on it."""
PASSING = tuple(name for name, scale in SCALES.items() if scale.words is PASS_FAIL)
"""Criteria on which true means right and is marked so; true on any other means yes."""


def scale_of(criterion: str, seen: Iterable[Any] = ()) -> Scale | None:
    """The scale of a criterion; None for one that is not known and on which nothing was seen.

    `seen` are the benchmark's own values on it: they decide between labels and words (HammerBench names the
    hallucinated arguments of an item, CONFETTI says yes or no of each), and are all there is to go by for a criterion
    without a scale of its own. A number's range is 0 to 1 if the values are parts of 1, else open: whole numbers do
    not tell where their scale ends.
    """
    values = [value for value in seen if value is not None]
    if any(isinstance(value, list) for value in values):
        return Scale(labels=True)
    if criterion in SCALES or not values:
        return SCALES.get(criterion)
    if all(isinstance(value, bool) for value in values):
        return Scale({**YES_NO, **PASS_FAIL})
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        shares = all(0 <= value <= 1 for value in values) and any(isinstance(value, float) for value in values)
        return _SHARE if shares else _ANY_NUMBER
    return Scale(labels=True)


def _number(text: str) -> int | float | None:
    """A finite number as people write it: whole where it is written so."""
    try:
        number = int(text) if text.lstrip("+-").isdecimal() and len(text) < 16 else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
