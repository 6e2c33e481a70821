"""Decide which values of a scorer pass.

A scorer whose values are all between 0 and 1 gives verdicts: 1 passes. If any value leaves this
range, the scorer gives scores, from which no verdict follows. The configuration can say that low
values are better, and from where a value passes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import as_object, is_number, list_objects
from fcreview.importers.inspect.scores import (
    LETTERS,
    convert_verdict_to_value,
    parse_number,
    to_json_value,
)

LOWER = "lower"
MAX_KEYS = 200
"""Maximum number of keys of object scores for which there are scales."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The values of a scorer or of a key of its object scores, and which of them pass."""

    is_better_lower: bool = False
    pass_at: float | None = None
    """The value from which a score passes, from the configuration."""
    is_bounded: bool = True
    """Whether all values are between 0 and 1."""

    @property
    def gives_verdicts(self) -> bool:
        return self.is_bounded or self.pass_at is not None

    def to_verdict(self, value: Any) -> bool | None:
        """Return whether a value passes, or None if no verdict follows from it.

        Partial credit is a fail.
        """
        number = parse_number(value)
        if number is None or math.isnan(number) or not self.gives_verdicts:
            return None
        if self.pass_at is not None:
            return number <= self.pass_at if self.is_better_lower else number >= self.pass_at
        # Without a limit, only the best value of a scale from 0 to 1 passes.
        if not 0 <= number <= 1:
            return None
        return number <= 0 if self.is_better_lower else number >= 1

    def to_value(self, old_value: Any, is_pass: bool) -> Any:
        """Return the value of a score that means a verdict, in the form of the old value.

        Raises ValueError if the verdict says nothing about the value: a scale such as 0 to 10 has
        no best value.
        """
        # If the user set a limit, many values mean a fail or a pass, so a score keeps its own. On
        # the default scale, a fail is 0 and not partial credit.
        already_means_verdict = self.to_verdict(old_value) is is_pass
        if already_means_verdict and not self._is_default:
            return old_value
        if not self.is_bounded:
            raise ValueError("no value follows from a verdict")

        # If lower values are better, a pass has the lowest value, as a fail has otherwise.
        is_highest_value = not is_pass if self.is_better_lower else is_pass
        return convert_verdict_to_value(old_value, is_highest_value)

    @property
    def _is_default(self) -> bool:
        return self == Scale()

    def to_json(self) -> dict[str, Any]:
        return {"lower": self.is_better_lower, "pass_at": self.pass_at, "bounded": self.is_bounded}

    @classmethod
    def from_json(cls, stored: Any) -> Scale:
        """Convert a scale that the importer stored as JSON in the run."""
        value = as_object(stored)
        pass_at = value.get("pass_at")
        return cls(
            is_better_lower=value.get("lower") is True,
            pass_at=float(pass_at) if is_number(pass_at) else None,
            is_bounded=value.get("bounded") is not False,
        )


DEFAULT_SCALE = Scale()


@dataclass(slots=True)
class ValueStatistics:
    """The values of a scorer, or of a key of its object scores, in all samples of a log."""

    lowest: float = math.inf
    highest: float = -math.inf
    n_numbers: int = 0
    n_nan: int = 0
    n_infinite: int = 0
    n_grades: int = 0
    """Number of letter grades, and of values that are true or false."""

    @property
    def is_bounded(self) -> bool:
        """Whether all values are between 0 and 1. A scorer that gives grades has no other scale."""
        return self.n_grades > 0 or (self.lowest >= 0 and self.highest <= 1)

    def add(self, value: Any) -> None:
        """Count a value by its form, and widen the range of numbers.

        A letter such as `C` and true or false count as the number for which they stand. Other
        values that are no numbers do not count, nor does NaN, except in its own counter.
        """
        if isinstance(value, float) and math.isnan(value):
            self.n_nan += 1
            return
        number = parse_number(to_json_value(value))
        if number is None:
            return

        self.n_numbers += 1
        is_letter = isinstance(value, str) and value in LETTERS
        if isinstance(value, bool) or is_letter:
            self.n_grades += 1
        if math.isinf(number):
            self.n_infinite += 1
        self.lowest = min(self.lowest, number)
        self.highest = max(self.highest, number)


@dataclass(slots=True)
class LogStatistics:
    """Statistics of all scores of a log."""

    by_name: dict[str, ValueStatistics] = field(default_factory=dict)
    """`SCORER`, or `SCORER.KEY` for object scores -> statistics."""
    object_scorers: set[str] = field(default_factory=set)

    def add_sample(self, scores: Mapping[str, Any]) -> None:
        for name, score in scores.items():
            for value in _list_values(score):
                self._add_value(name, value)

    def _add_value(self, name: str, value: Any) -> None:
        """Add the value of a scorer to the statistics of the scorer. If the value is an object,
        each field has separate statistics with the name `scorer.field`.
        """
        if not isinstance(value, dict):
            self.by_name.setdefault(name, ValueStatistics()).add(value)
            return
        self.object_scorers.add(name)
        for key, part in value.items():
            full_name = f"{name}.{key}"
            if full_name in self.by_name or len(self.by_name) < MAX_KEYS:
                self.by_name.setdefault(full_name, ValueStatistics()).add(part)


def _list_values(score: Any) -> Iterable[Any]:
    """Return the value of a score and, if people edited it, the value before the edits."""
    fields = as_object(score)
    if "value" in fields:
        yield fields["value"]
    for entry in list_objects(fields.get("history"))[:1]:
        if "value" in entry:
            yield entry["value"]


def build_scales(statistics: LogStatistics, configured: str) -> dict[str, Scale]:
    """Return the scale of each score, which says which values pass and whether lower values are
    better.

    Args:
        statistics: The values that each score has in the logs.
        configured: The user's settings `[scorers]` as JSON, or an empty text.
    """
    settings = as_object(json.loads(configured)) if configured else {}
    scales: dict[str, Scale] = {}
    for name, values in statistics.by_name.items():
        setting = as_object(settings.get(name))
        pass_at = setting.get("pass_at")
        scales[name] = Scale(
            is_better_lower=setting.get("better") == LOWER,
            pass_at=float(pass_at) if is_number(pass_at) else None,
            is_bounded=values.is_bounded,
        )
    return scales


def list_verdict_choices(statistics: LogStatistics) -> list[str]:
    """Return the names whose values can be the verdict: scorers, and keys of object scores."""
    return [name for name, values in statistics.by_name.items() if values.n_numbers]


@dataclass(frozen=True, slots=True)
class VerdictSource:
    """Name of the score whose value is the verdict on an item: its scorer and, if the value is an
    object, the key in it.
    """

    scorer: str
    key: str | None = None
    """Key of an object score."""

    @property
    def name(self) -> str:
        return self.scorer if self.key is None else f"{self.scorer}.{self.key}"

    @classmethod
    def parse(cls, name: str, statistics: LogStatistics) -> VerdictSource | None:
        """Return the source with a name, or None if the log has no such score."""
        if name not in statistics.by_name and name not in statistics.object_scorers:
            return None
        for scorer in sorted(statistics.object_scorers, key=len, reverse=True):
            if name.startswith(f"{scorer}."):
                return cls(scorer, name.removeprefix(f"{scorer}."))
        return cls(name)


def format_choices(choices: Sequence[str], limit: int = 20) -> str:
    listed = ", ".join(choices[:limit])
    return listed if len(choices) <= limit else f"{listed} and {len(choices) - limit} more"
