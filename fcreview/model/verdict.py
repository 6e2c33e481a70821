"""Define the answers that each criterion allows. `derivation.py` derives verdicts from verdicts on
other criteria.

A verdict is true, false, "unsure", "disputed", a number or a list of labels. None means that there
is no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.model.incident import INCIDENT
from fcreview.model.review import CORRECT, UNSURE

TargetCriterion = tuple[str, str]
EQUIVALENT = "equivalent"
DECISIVE_STEP = "decisive_step"
"""Criterion whose verdict is the number, from 1, of the message after which a conversation could
not succeed.
"""
TOTAL_REWARD = "total_reward"
"""Criterion of rewards of any range, such as the sum of the parts of a reward."""
COVERAGE = "coverage"
"""Criterion of the share of the claims about an answer that it fulfils."""
CLAIM_PREFIX = "claim "
"""Beginning of the criteria of claims about an answer: `claim 1`. A claim passes, fails, or has a
number between, such as 0.5 for a partly fulfilled one.
"""
ABSTENTIONS: dict[str, Any] = {"unsure": UNSURE}
PASS_FAIL: dict[str, Any] = {"pass": True, "fail": False, **ABSTENTIONS}
YES_NO: dict[str, Any] = {"yes": True, "no": False, **ABSTENTIONS}


@dataclass(frozen=True, slots=True)
class Scale:
    """Answers that a criterion allows: words, and possibly numbers in a range or lists of
    labels.
    """

    words: Mapping[str, Any] = field(default_factory=lambda: ABSTENTIONS)
    numbers: tuple[float, float] | None = None
    whole_numbers: bool = False
    labels: bool = False
    known_labels: tuple[str, ...] = ()
    """Labels that the screens offer. Any other label is allowed too."""

    def describe_answers(self) -> str:
        """Describe the allowed answers: `pass, fail or unsure`, `a number from 0 to 1 or
        unsure`.
        """
        kinds = []
        if self.numbers is not None:
            kinds.append(self._describe_range())
        if self.labels:
            kinds.append("labels separated by commas")
        kinds.extend(self.words)
        return f"{', '.join(kinds[:-1])} or {kinds[-1]}"

    def parse_typed_answer(self, text: str) -> Any:
        """Return the verdict for a typed answer.

        Raises ValueError with the allowed answers if it is not allowed.
        """
        if text in self.words:
            return self.words[text]
        if self.labels:
            labels = [label.strip() for label in text.split(",")]
            return [label for label in dict.fromkeys(labels) if label]

        number = _parse_number(text)
        if not self.is_number_allowed(number):
            raise ValueError(self.describe_answers())
        return number

    def is_number_allowed(self, value: Any) -> bool:
        """Whether a value is a number on this scale."""
        if self.numbers is None:
            return False
        # The exact type is compared, because a boolean is an integer in Python.
        is_number = type(value) is int or (type(value) is float and not self.whole_numbers)
        if not is_number:
            return False
        low, high = self.numbers
        return bool(low <= value <= high)

    def _describe_range(self) -> str:
        """Describe the range of the numbers: `a number from 0 to 1`, `a whole number from 1`."""
        description = "a whole number" if self.whole_numbers else "a number"
        if self.numbers is None:
            return description
        low, high = self.numbers
        if math.isfinite(low):
            description += f" from {low:g}"
        if math.isfinite(high):
            description += f" to {high:g}"
        return description


_SHARE = Scale(numbers=(0.0, 1.0))
_ANY_NUMBER = Scale(numbers=(-math.inf, math.inf))
_ZERO_TO_TWO = Scale(words={"0": 0, "1": 1, "2": 2, **ABSTENTIONS})

DIALOG_ACTS = (
    "agent_function_calling",
    "agent_inform_user",
    "agent_seek_information",
    "agent_reject_request",
    "agent_other",
)
"""Dialog acts of CONFETTI (Figure 5 of its paper)."""

SCALES: dict[str, Scale] = {
    **dict.fromkeys(
        (CORRECT, EQUIVALENT, "func_ok", "args_ok", "args_ok_llm", "name_matches"), Scale(PASS_FAIL)
    ),
    **dict.fromkeys(
        ("db", "env_assertion", "action", "communicate", "nl_assertion"), Scale(PASS_FAIL)
    ),
    "reward": _SHARE,
    TOTAL_REWARD: _ANY_NUMBER,
    COVERAGE: _SHARE,
    **dict.fromkeys(("hallucinated", INCIDENT), Scale(YES_NO)),
    "completeness": _ZERO_TO_TWO,
    "correctness": _ZERO_TO_TWO,
    "soft_score": _SHARE,
    "process_accuracy": _SHARE,
    DECISIVE_STEP: Scale(numbers=(1, math.inf), whole_numbers=True),
    "dialog_act": Scale(labels=True, known_labels=DIALOG_ACTS),
}

_CLAIM = Scale(PASS_FAIL, numbers=(0.0, 1.0))
ZERO_TO_TWO_CRITERIA = tuple(name for name, scale in SCALES.items() if scale is _ZERO_TO_TWO)
TRUE_MEANS_FAILURE = ("hallucinated",)
JUDGE_NOTE_CRITERIA = ("name_matches",)
"""Criteria of additional remarks by a judge. These remarks do not decide whether a call passes."""
UNIVERSAL_CRITERIA = (CORRECT, EQUIVALENT, "hallucinated", "completeness", "correctness", INCIDENT)
"""Criteria on which annotators can review every item, with or without an automatic verdict on
the criterion.
"""
PASS_FAIL_CRITERIA = tuple(name for name, scale in SCALES.items() if scale.words is PASS_FAIL)
"""Criteria where true means a pass. On all other yes/no criteria, true means yes."""


def find_scale(criterion: str, benchmark_values: Iterable[Any] = ()) -> Scale | None:
    """Return the scale of a criterion: which values a verdict on it can have.

    The benchmark's values determine the scale if they are lists, or if the criterion is unknown.
    Returns None for an unknown criterion without values.
    """
    values = [value for value in benchmark_values if value is not None]
    if any(isinstance(value, list) for value in values):
        return Scale(labels=True)
    if criterion.startswith(CLAIM_PREFIX):
        return _CLAIM
    if criterion in SCALES:
        return SCALES[criterion]
    if not values:
        return None
    return _infer_scale(values)


def _infer_scale(values: Sequence[Any]) -> Scale:
    """Return the scale of an unknown criterion from the values that the benchmark gave."""
    if all(isinstance(value, bool) for value in values):
        return Scale({**YES_NO, **PASS_FAIL})
    if not all(_is_number(value) for value in values):
        return Scale(labels=True)
    # Whole numbers from 0 to 1 could also be counts.
    has_fraction = any(isinstance(value, float) for value in values)
    are_in_range = all(0 <= value <= 1 for value in values)
    return _SHARE if has_fraction and are_in_range else _ANY_NUMBER


_MAX_INTEGER_LENGTH = 15
"""Number of characters of a whole number that a float represents exactly."""


def _parse_number(text: str) -> int | float | None:
    """Parse a finite number; return None for any other text."""
    is_whole = text.lstrip("+-").isdecimal() and len(text) <= _MAX_INTEGER_LENGTH
    try:
        number = int(text) if is_whole else float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
