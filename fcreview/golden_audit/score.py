"""Score suspect questions by the reasons found, and by the reviews of questions with each kind of reason.

Each kind of reason has a prior chance of being right. The prior chance counts as `PRIOR_REVIEWS` reviews, and each
reviewed question with a reason of that kind adds one review. The review confirms the reason if the fault is golden,
question or checker, and refutes it if the fault is model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from fcreview.golden_audit.consensus import find_consensus_reasons
from fcreview.golden_audit.consistency import (
    GoldenAnswerIndex,
    find_deviations_from_other_items,
    find_explained_failures,
    find_function_doc_conflicts,
)
from fcreview.golden_audit.evidence import collect_evidence, create_schema_reader
from fcreview.golden_audit.facts import RunWeigher
from fcreview.golden_audit.formats import find_format_conflicts
from fcreview.golden_audit.grounding import find_ungrounded_values
from fcreview.golden_audit.question import AlternativeAnswer, AuditedQuestion, Reason, RunProfile

PRIOR_REVIEWS = 4.0
"""Weight of the prior chance of a kind of reason, as a number of reviews."""
BENCHMARK_FAULTS = frozenset({"golden", "question", "checker"})
"""Faults that confirm a suspicion."""


def update_chances(
    chances: Mapping[str, float], found: Iterable[tuple[AuditedQuestion, list[Reason]]]
) -> dict[str, float]:
    """Update the chance of each kind of reason: (prior * chance + confirmed) / (prior + confirmed + refuted)."""
    confirmed: Counter[str] = Counter()
    refuted: Counter[str] = Counter()
    for question, reasons in found:
        at_fault = is_benchmark_at_fault(question)
        if at_fault is not None:
            (confirmed if at_fault else refuted).update({reason.kind for reason in reasons})
    return {
        kind: (PRIOR_REVIEWS * chance + confirmed[kind]) / (PRIOR_REVIEWS + confirmed[kind] + refuted[kind])
        for kind, chance in chances.items()
    }


def is_benchmark_at_fault(question: AuditedQuestion) -> bool | None:
    """Whether annotators decided on a fault of the benchmark for at least one item of the question. False if they
    decided only on faults of models; None if no fault is decided."""
    if any(question.faults[fault] for fault in BENCHMARK_FAULTS):
        return True
    return False if question.faults["model"] else None


REASON_CHANCES = {
    "contract": 0.6, "default": 0.5, "loose": 0.4, "notation": 0.4, "omission": 0.4, "siblings": 0.3,
    "ungrounded": 0.25, "agreement": 0.6, "explained": 0.5, "failing": 0.3, "reversed": 0.2, "contradiction": 0.3,
}  # fmt: skip
"""Kind of reason -> chance that a clear reason of this kind is right. The chances are rough estimates: above 1/2 for
conflicts with the function docs and for agreement of independent models, about 0.4 for notation, and 1/5 to 1/3 for
deviations from other items or answers."""
CONVENTION_SHARE = 0.1
"""If more than this share of a dataset's items have a property, the property is a convention, and the reasons that it
causes are weakened."""
MIN_CONVENTION_ITEMS = 20
"""Minimum number of items with a property for the property to be a convention."""
MIN_SHOWN_STRENGTH = 0.05
"""Minimum strength, from 0 to 1, of the reasons that are shown."""
GOLDEN_ONLY_KINDS = frozenset({"contract", "default", "omission", "loose", "notation", "siblings", "ungrounded"})
"""Kinds of reasons that follow from golden answers and function docs, without the answers of runs."""
QuestionReasons = list[tuple[AuditedQuestion, list[Reason]]]
FAULT_TEXTS = {
    True: "annotators decided that the benchmark is at fault",
    False: "annotators decided that the model is at fault",
}


@dataclass(frozen=True, slots=True)
class Suspect:
    """A question with its score and the reasons to suspect it."""

    question: AuditedQuestion
    score: float
    """Probability, 0 to 1, that at least one kind of reason is right."""
    reasons: Sequence[Reason]
    """Reasons, strongest first."""

    @property
    def alternative(self) -> AlternativeAnswer | None:
        """Alternative answer of the strongest reason that has one, or None if no reason has one. Answers that models
        gave take precedence."""
        alternatives = [reason.alternative for reason in self.reasons if reason.alternative]
        return next((each for each in alternatives if each.models), alternatives[0] if alternatives else None)


def rank_suspects(
    questions: Sequence[AuditedQuestion],
    run_profiles: Mapping[int, RunProfile],
    report: Callable[[int, int], object] = lambda *_: None,
) -> list[Suspect]:
    """Score all questions, highest score first; equal scores keep their order.

    `report` is called with the number of checked questions and of all questions. It may raise to cancel.
    """
    datasets: dict[tuple[str, str, str], list[AuditedQuestion]] = {}
    for question in questions:
        datasets.setdefault(question.key[:3], []).append(question)
    read_schema = create_schema_reader()
    weigher = RunWeigher(run_profiles)
    found: QuestionReasons = []
    for dataset in datasets.values():
        index = GoldenAnswerIndex(dataset)
        for question in dataset:
            report(len(found), len(questions))
            evidence = collect_evidence(question, weigher, read_schema)
            reasons = [
                *find_function_doc_conflicts(evidence),
                *find_format_conflicts(evidence),
                *find_deviations_from_other_items(evidence, index),
                *find_ungrounded_values(evidence),
                *find_consensus_reasons(evidence),
                *find_explained_failures(evidence, index),
            ]
            found.append((question, reasons))
    found = _weaken_conventions(found)
    chances = update_chances(REASON_CHANCES, found)
    suspects = (build_suspect(question, reasons, chances) for question, reasons in found)
    # Rounding keeps the order of equal scores, whose last digits depend on the order of a sum.
    return sorted(suspects, key=lambda suspect: -round(suspect.score, 12))


def _weaken_conventions(found: QuestionReasons) -> QuestionReasons:
    """Reduce the strength of reasons that are frequent in a dataset, in proportion to their frequency."""
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    sizes: Counter[tuple[str, ...]] = Counter()
    for question, reasons in found:
        dataset = question.key[:3]
        sizes[dataset] += 1
        counts.update((dataset, kind) for kind in {reason.kind for reason in reasons} & GOLDEN_ONLY_KINDS)
    factors = {
        (dataset, kind): CONVENTION_SHARE * sizes[dataset] / count
        for (dataset, kind), count in counts.items()
        if count >= MIN_CONVENTION_ITEMS and count > CONVENTION_SHARE * sizes[dataset]
    }

    def weaken(question: AuditedQuestion, reason: Reason) -> Reason:
        return replace(reason, strength=reason.strength * factors.get((question.key[:3], reason.kind), 1.0))

    return [(question, [weaken(question, reason) for reason in reasons]) for question, reasons in found]


def build_suspect(question: AuditedQuestion, reasons: Iterable[Reason], chances: Mapping[str, float]) -> Suspect:
    """Compute the score: 1 minus the probability that all kinds of reasons are wrong. Only the strongest reason of each
    kind counts. If annotators have decided on the fault, the score moves halfway to 1 (fault of the benchmark) or to 0
    (fault of the model)."""
    ordered = sorted(reasons, key=lambda reason: -chances[reason.kind] * reason.strength)
    strongest: dict[str, float] = {}
    for reason in ordered:
        strongest.setdefault(reason.kind, chances[reason.kind] * reason.strength)
    score = 1 - prod(1 - chance for chance in strongest.values())
    shown = [reason for reason in ordered if reason.strength >= MIN_SHOWN_STRENGTH]
    at_fault = is_benchmark_at_fault(question)
    if at_fault is not None:
        shown.insert(0, Reason("settled", 1.0, FAULT_TEXTS[at_fault]))
        score = 1 - (1 - score) / 2 if at_fault else score / 2
    return Suspect(question, score, shown)
