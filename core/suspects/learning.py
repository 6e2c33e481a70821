"""What settled reviews teach: how often a kind of reason was right here.

A reason's chance is a prior worth `PRIOR` reviews; each case with that reason whose fault is settled counts as one
more, for it if the fault is the golden answer's, the question's or the checker's, against it if it is the model's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from fcreview.suspects.case import Case, Reason

PRIOR = 4.0
BENCHMARK = frozenset({"golden", "question", "checker"})
"""Faults that make an item suspect."""


def learned(chances: Mapping[str, float], judged: Iterable[tuple[Case, list[Reason]]]) -> dict[str, float]:
    """The chances after what was settled: (prior x chance + for) / (prior + for + against)."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for case, reasons in judged:
        vote = verdict_of(case)
        if vote is not None:
            (right if vote else wrong).update({reason.kind for reason in reasons})
    return {
        kind: (PRIOR * chance + right[kind]) / (PRIOR + right[kind] + wrong[kind]) for kind, chance in chances.items()
    }


def verdict_of(case: Case) -> bool | None:
    """Whether people found the benchmark at fault in this case (for any run), or only models; None if not settled."""
    if any(case.faults[fault] for fault in BENCHMARK):
        return True
    return False if case.faults["model"] else None
