"""Define the input and the result of the audit: questions with the answers of all runs, profiles of the runs, and
reasons to suspect a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.golden_audit.differences import AnswerDifference
from fcreview.model.item import Call
from fcreview.stats.run_comparison import QuestionKey


@dataclass(slots=True)
class DistinctAnswer:
    """An answer to a question and the runs that gave it."""

    runs: list[int]
    passed: bool | None
    """Whether the answer passes: the official verdict, else the recomputed verdict, else the judge verdict, else
    None."""
    has_verdict_conflict: bool = False
    """Whether the official and the recomputed verdict differ."""
    is_readable: bool = True
    """Whether all calls could be decoded."""
    differences: Sequence[AnswerDifference] = ()
    """Differences from the golden answer. Answers that call the same functions in the same way share the sequence."""
    items: list[int] = field(default_factory=list)
    """Numbers of the items with this answer, one for each run."""


@dataclass(slots=True)
class AuditedQuestion:
    """A question with its golden answer and the answers of all runs."""

    key: QuestionKey
    text: str
    """Text of the messages up to the last user message."""
    golden: list[Call]
    functions: list[dict[str, Any]]
    """Function docs as JSON."""
    group: str | None = None
    """Id of the conversation that contains the question; None if the question is not part of a conversation."""
    is_self_contained: bool = True
    """Whether the question is sufficient for the answer, because the golden calls do not depend on tool results."""
    answers: list[DistinctAnswer] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    """Fault -> number of items to which annotators assigned it, by agreement or adjudication."""

    @property
    def runs(self) -> list[int]:
        """Numbers of the runs that answered the question."""
        return [run for answer in self.answers for run in answer.runs]

    @property
    def failing_answers(self) -> list[DistinctAnswer]:
        return [answer for answer in self.answers if answer.passed is False]

    @property
    def n_failing(self) -> int:
        """Number of runs that fail."""
        return sum(len(answer.runs) for answer in self.failing_answers)


@dataclass(frozen=True, slots=True)
class RunProfile:
    """Model and pass rates of a run."""

    model: str
    family: str
    pass_rate: float
    """Share of passing verdicts, 0 to 1, smoothed (`smooth_rate`). The audit only compares it with other rates."""
    pass_rate_by_category: Mapping[str, float] = field(default_factory=dict)
    """Category -> share of passing verdicts, smoothed."""
    conflict_rate: float = 0.0
    """Share of items on which the official and the recomputed verdict differ."""
    n_passed: int = 0
    n_verdicts: int = 0
    """Number of items with a verdict."""


@dataclass(frozen=True, slots=True)
class AlternativeAnswer:
    """An answer that competes with the golden answer."""

    answer: str
    """Unsanitized text of the part that differs: `unit: "km"`, `without mode`."""
    models: tuple[str, ...] = ()
    """Models that gave the answer; empty if it follows from the golden answer alone."""
    families: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason to suspect the golden answer, the question, the function docs or the checker."""

    kind: str
    """Kind of reason, a key of `REASON_CHANCES`."""
    strength: float
    """Strength of the evidence, 0 to 1."""
    text: str
    """Unsanitized explanation."""
    alternative: AlternativeAnswer | None = None
