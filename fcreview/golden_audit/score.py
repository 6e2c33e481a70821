"""Puts the evidence together: a chance for each reason, and together the chance that at least one is right.

What settled reviews teach: how often a kind of reason was right here.

A reason's chance is a prior worth `PRIOR` reviews; each case with that reason whose fault is settled counts as one
more, for it if the fault is the golden answer's, the question's or the checker's, against it if it is the model's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from fcreview.golden_audit.case import AlternativeAnswer, AuditedQuestion, Reason, RunProfile
from fcreview.golden_audit.consensus import find_consensus_reasons
from fcreview.golden_audit.consistency import (
    GoldenAnswerIndex,
    find_deviations_from_other_items,
    find_explained_failures,
    find_function_doc_conflicts,
)
from fcreview.golden_audit.evidence import cached_schema_reader, collect_evidence
from fcreview.golden_audit.formats import find_format_conflicts
from fcreview.golden_audit.grounding import find_ungrounded_values

PRIOR_REVIEWS = 4.0
BENCHMARK_FAULTS = frozenset({"golden", "question", "checker"})
"""Faults that make an item suspect."""


def update_chances(chances: Mapping[str, float], judged: Iterable[tuple[AuditedQuestion, list[Reason]]]) -> dict[str, float]:
    """The chances after what was settled: (prior x chance + for) / (prior + for + against)."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for case, reasons in judged:
        vote = is_benchmark_at_fault(case)
        if vote is not None:
            (right if vote else wrong).update({reason.kind for reason in reasons})
    return {
        kind: (PRIOR_REVIEWS * chance + right[kind]) / (PRIOR_REVIEWS + right[kind] + wrong[kind]) for kind, chance in chances.items()
    }


def is_benchmark_at_fault(case: AuditedQuestion) -> bool | None:
    """Whether people found the benchmark at fault in this case (for any run), or only models; None if not settled."""
    if any(case.faults[fault] for fault in BENCHMARK_FAULTS):
        return True
    return False if case.faults["model"] else None


REASON_CHANCES = {
    "contract": 0.6,
    "default": 0.5,
    "loose": 0.4,
    "notation": 0.4,
    "left out": 0.4,
    "siblings": 0.3,
    "ungrounded": 0.25,
    "agreement": 0.6,
    "explained": 0.5,
    "failing": 0.3,
    "reversed": 0.2,
    "contradiction": 0.3,
}
"""How likely a reason, where it is clear, is to be right alone. Rough on purpose: what breaks the document, or what all
independent models share, more often than not; what is a matter of how things are written, rather less; what only
stands out beside other items or answers, once in three to five."""
CONVENTION_SHARE = 0.1
"""Share of a dataset's items beyond which what golden answers do is the benchmark's habit, and counts for less."""
MIN_SHOWN_STRENGTH = 0.05
"""Strength below which a reason is not put into words."""
GOLDEN_ONLY_KINDS = frozenset({"contract", "default", "left out", "loose", "notation", "siblings", "ungrounded"})
MIN_CONVENTION_ITEMS = 20
"""Items that may have a reason in common before it can be a habit."""
QuestionReasons = list[tuple[AuditedQuestion, list[Reason]]]
FAULT_TEXTS = {True: "people settled that the benchmark is at fault", False: "people settled that the model is at fault"}


@dataclass(frozen=True, slots=True)
class Suspect:
    """A case and why it may be wrong."""

    question: AuditedQuestion
    score: float
    """0 to 1."""
    reasons: Sequence[Reason]
    """Most telling first, one a kind and place."""

    @property
    def alternative(self) -> AlternativeAnswer | None:
        """The competing answer of the most telling reason that has one, preferring one that models gave."""
        given = [reason.alternative for reason in self.reasons if reason.alternative]
        return next((each for each in given if each.models), given[0] if given else None)


def rank_suspects(cases: Sequence[AuditedQuestion], witnesses: Mapping[int, RunProfile]) -> list[Suspect]:
    """Every case, most suspect first; ties in the order given."""
    datasets: dict[tuple[str, str, str], list[AuditedQuestion]] = {}
    for case in cases:
        datasets.setdefault(case.key[:3], []).append(case)
    read = cached_schema_reader()
    judged: QuestionReasons = []
    for of in datasets.values():
        siblings = GoldenAnswerIndex(of)
        for case in of:
            seen = collect_evidence(case, witnesses, read)
            judged.append(
                (
                    case,
                    [
                        *find_function_doc_conflicts(seen),
                        *find_format_conflicts(seen),
                        *find_deviations_from_other_items(seen, siblings),
                        *find_ungrounded_values(seen),
                        *find_consensus_reasons(seen),
                        *find_explained_failures(seen, siblings),
                    ],
                )
            )
    judged = _without_habits(judged)
    chances = update_chances(REASON_CHANCES, judged)
    return sorted((build_suspect(case, reasons, chances) for case, reasons in judged), key=lambda each: -each.score)


def _without_habits(judged: QuestionReasons) -> QuestionReasons:
    """What golden answers of a dataset do again and again is weaker in each: by `HABIT` over its share."""
    many: Counter[tuple[tuple[str, ...], str]] = Counter()
    sizes: Counter[tuple[str, ...]] = Counter()
    for case, reasons in judged:
        sizes[case.key[:3]] += 1
        many.update((case.key[:3], kind) for kind in {reason.kind for reason in reasons} & GOLDEN_ONLY_KINDS)
    weaker = {each: CONVENTION_SHARE * sizes[each[0]] / count for each, count in many.items() if count > CONVENTION_SHARE * sizes[each[0]]}
    weaker = {each: by for each, by in weaker.items() if many[each] >= MIN_CONVENTION_ITEMS}
    return [
        (
            case,
            [
                replace(reason, strength=reason.strength * weaker.get((case.key[:3], reason.kind), 1.0))
                for reason in reasons
            ],
        )
        for case, reasons in judged
    ]


def build_suspect(case: AuditedQuestion, reasons: Iterable[Reason], chances: Mapping[str, float]) -> Suspect:
    """One minus the chance that every kind of reason is wrong; of a kind the clearest counts."""
    ordered = sorted(reasons, key=lambda reason: -chances[reason.kind] * reason.strength)
    clearest: dict[str, float] = {}
    for reason in ordered:
        clearest.setdefault(reason.kind, chances[reason.kind] * reason.strength)
    score = 1 - prod(1 - chance for chance in clearest.values())
    ordered = [reason for reason in ordered if reason.strength >= MIN_SHOWN_STRENGTH]
    settled = is_benchmark_at_fault(case)
    if settled is not None:
        ordered.insert(0, Reason("settled", 1.0, FAULT_TEXTS[settled]))
        score = 1 - (1 - score) / 2 if settled else score / 2
    return Suspect(case, score, ordered)
