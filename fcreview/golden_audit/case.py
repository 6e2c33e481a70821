"""One question of a benchmark with what all runs answered: what suspicion is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.model.item import Call, CallPair


class QuestionKey(NamedTuple):
    """Which question, whoever answered it."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str


@dataclass(slots=True)
class DistinctAnswer:
    """One answer, and the runs that gave it. Calls and pairs only of answers that fail or differ from golden."""

    runs: list[int]
    passed: bool | None
    """By the benchmark: official, else rule, else judge."""
    has_verdict_conflict: bool = False
    """The official and the recomputed verdict differ."""
    calls: list[Call] = field(default_factory=list)
    pairs: list[CallPair] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    """Where the store has it, one a run."""

    @property
    def is_readable(self) -> bool:
        return all(call.decode_error is None and call.arguments is not None for call in self.calls)


@dataclass(slots=True)
class AuditedQuestion:
    """A question, its golden answer, and the answers of all runs in scope."""

    key: QuestionKey
    text: str
    """All that was said up to the user's last message."""
    golden: list[Call]
    functions: list[dict[str, Any]]
    group: str | None = None
    """Of the conversation that several items belong to."""
    is_self_contained: bool = True
    """Nothing but the question is needed: the golden calls do not depend on what tools return."""
    answers: list[DistinctAnswer] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    """Settled in the workspace: how many runs' answers have each fault. A case has one vote, see `learning`."""

    @property
    def runs(self) -> list[int]:
        return [run for answer in self.answers for run in answer.runs]

    @property
    def failing_answers(self) -> list[DistinctAnswer]:
        return [answer for answer in self.answers if answer.passed is False]

    @property
    def n_failing(self) -> int:
        return sum(len(answer.runs) for answer in self.failing_answers)


@dataclass(frozen=True, slots=True)
class RunProfile:
    """A run, and how often it passes."""

    model: str
    family: str
    pass_rate: float
    """Share of all its verdicts that are passes, 0 to 1."""
    pass_rate_by_category: Mapping[str, float] = field(default_factory=dict)
    """The same by category, drawn towards a half where there are few items."""
    conflict_rate: float = 0.0
    """Share of its items on which the official and the recomputed verdict differ."""


@dataclass(frozen=True, slots=True)
class AlternativeAnswer:
    """A competing answer and who gave it."""

    answer: str
    """In words, for a place or the whole: `unit: "km"`, `without mode`. Not safe to draw before `sanitise.visible`."""
    models: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence."""

    kind: str
    """A key of `score.CHANCES`."""
    strength: float
    """How clearly it is there, 0 to 1."""
    text: str
    """Why, in words. Not safe to draw before `sanitise.visible`."""
    alternative: AlternativeAnswer | None = None
