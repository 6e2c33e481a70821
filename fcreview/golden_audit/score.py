"""Compute how likely it is that the benchmark is wrong about a question, for example that its golden answer is wrong.

The score of a question combines all reasons to suspect it. This module finds the reasons that compare runs: good runs
fail, independent models agree on another answer, stronger runs fail where weaker runs pass, official and recomputed
verdicts differ, or the differences of failing answers may not matter. `golden_checks` finds all other reasons.

Each kind of reason has a prior probability of being right, which has the weight of `PRIOR_REVIEWS` reviews. Each
reviewed question adds one review to every kind of reason found for it. The review confirms the kind if the fault is
golden, question or checker, and refutes it if the fault is model.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from typing import Any

from fcreview.golden_audit.evidence import (
    QuestionEvidence,
    RunWeigher,
    collect_evidence,
    create_schema_reader,
    describe_equivalence,
)
from fcreview.golden_audit.golden_checks import (
    GoldenAnswerIndex,
    find_deviations_from_other_items,
    find_format_conflicts,
    find_function_doc_conflicts,
    find_ungrounded_values,
    is_documented_default,
)
from fcreview.golden_audit.question import AlternativeAnswer, AnswerDifference, AuditedQuestion, Reason, RunProfile
from fcreview.matching.first_difference import NO_VALUE
from fcreview.model.function_schema import NO_DEFAULT
from fcreview.model.item import AcceptedValues
from fcreview.model.json_value import split_path
from fcreview.model.wording import format_count

MIN_FAMILIES = 2
"""Minimum number of model families that must agree. Models of the same family are not independent."""
MAX_CONFLICT_RATE = 0.02
"""Maximum share of a run's items on which official and recomputed verdict differ. Beyond it, the conflicts are ignored,
because fcreview may read such a run incorrectly."""


def find_consensus_reasons(evidence: QuestionEvidence) -> list[Reason]:
    return [
        *_find_failures(evidence),
        *_find_consensus(evidence),
        *_find_reversed_ranking(evidence),
        *_find_verdict_conflicts(evidence),
    ]


def _find_failures(evidence: QuestionEvidence) -> list[Reason]:
    failing = [run for answer, _ in evidence.differences for run in answer.runs]
    share = evidence.run_weights.compute_share(failing)
    if not share:
        return []
    profiles = evidence.run_weights.run_profiles
    best = profiles[max(failing, key=lambda run: profiles[run].pass_rate if run in profiles else 0.0)]
    answers = format_count(len(evidence.run_weights.bits), "decoded answer")
    verb = "fails" if len(failing) == 1 else "fail"
    model = f"{best.model}, which passes {best.n_passed:,} of {format_count(best.n_verdicts, 'item')}"
    text = f"models fail: {len(failing)} of {answers} {verb}, including {model}"
    return [Reason("failing", share, text)]


def _find_consensus(evidence: QuestionEvidence) -> list[Reason]:
    weights = evidence.run_weights
    several = [each for each in evidence.shared_differences if len(weights.families_of(each.runs)) >= MIN_FAMILIES]
    if not several:
        return []
    best = max(several, key=lambda each: weights.compute_share(each.runs))
    alternative = evidence.build_alternative(best.difference, best.runs)
    families = f"{len(alternative.families)} of {format_count(weights.n_families, 'model family', 'model families')}"
    golden = f", golden {best.difference.golden_label}" if best.difference.path else ""
    models = format_count(len(alternative.models), "model")
    text = f"models agree: {alternative.answer}{golden} ({families}, {models})"
    return [Reason("agreement", weights.compute_share(best.runs), text, alternative)]


def _find_reversed_ranking(evidence: QuestionEvidence) -> list[Reason]:
    """Find questions that better runs fail and weaker runs pass. The strength is 2 p - 1, where p is the probability
    that a failing run is better than a passing run. It is lower if one side has fewer than three model families."""
    weights, profiles = evidence.run_weights, evidence.run_weights.run_profiles
    failed = {run for answer, _ in evidence.differences for run in answer.runs if run in weights.bits}
    passed = weights.bits.keys() - failed
    sides = [Counter([profiles[run].family for run in side]) for side in (failed, passed)]
    fewest = min(map(len, sides))
    if fewest < MIN_FAMILIES:
        return []
    failed_rates, passed_rates = (
        [(profiles[run].pass_rate, 1 / family_sizes[profiles[run].family]) for run in side]
        for side, family_sizes in zip((failed, passed), sides, strict=True)
    )
    better = sum_wins(failed_rates, passed_rates)
    strength = (2 * better / (len(sides[0]) * len(sides[1])) - 1) * min(1.0, fewest / 3)
    if strength <= 0:
        return []
    best = profiles[max(failed, key=lambda run: profiles[run].pass_rate)].model
    worst = profiles[min(passed, key=lambda run: profiles[run].pass_rate)].model
    return [Reason("reversed", strength, f"stronger models fail: {best} fails, the weaker {worst} passes")]


def sum_wins(ones: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> float:
    """Return the total weight of all pairs (one, other) in which `one` has the higher rate. Each run is (rate, weight).
    The weight of a pair is the product of both weights, or half of it for equal rates."""
    ordered = sorted(others)
    rates = [rate for rate, _ in ordered]
    weight_below = [0.0, *accumulate(weight for _, weight in ordered)]
    """Element n is the total weight of the n runs of `others` with the lowest rates."""
    return sum(
        weight * (weight_below[bisect_left(rates, rate)] + weight_below[bisect_right(rates, rate)]) / 2
        for rate, weight in ones
    )


def _find_verdict_conflicts(evidence: QuestionEvidence) -> list[Reason]:
    runs = [run for answer in evidence.question.answers if answer.has_verdict_conflict for run in answer.runs]
    profiles = evidence.run_weights.run_profiles
    rare = [run for run in runs if run in profiles and profiles[run].conflict_rate <= MAX_CONFLICT_RATE]
    if not rare:
        return []
    text = f"verdicts differ: official and recomputed verdict disagree on {format_count(len(rare), 'answer')}"
    return [Reason("contradiction", len(rare) / len(evidence.question.runs), text)]


EMPTY_VALUES: tuple[Any, ...] = ("", [], {}, None)


def find_explained_failures(evidence: QuestionEvidence, index: GoldenAnswerIndex) -> list[Reason]:
    """Find failing answers that may be right, because every difference from the golden answer has an explanation."""
    runs_of: defaultdict[str, list[int]] = defaultdict(list)
    examples: dict[str, AnswerDifference] = {}
    explained_runs: list[int] = []
    explanations_of: dict[int, list[str]] = {}
    """`id()` of a list of differences -> their explanations. Answers with equal differences can share one list."""
    for answer, differences in evidence.differences:
        if id(differences) not in explanations_of:
            explanations_of[id(differences)] = _explain_all(evidence, index, differences)
        explanations = explanations_of[id(differences)]
        if not explanations:
            continue
        explained_runs += answer.runs
        for explanation, difference in zip(explanations, differences, strict=True):
            runs_of[explanation] += answer.runs
            examples.setdefault(explanation, difference)
    if not explained_runs:
        return []
    weights = evidence.run_weights
    explanation = max(runs_of, key=lambda each: weights.compute_share(set(runs_of[each])))
    runs, example = sorted(set(runs_of[explanation])), examples[explanation]
    count = f" ({len(runs):,} answers)" if len(runs) > 1 else ""
    text = f"answer may be right: {example.label}, {explanation}{count}"
    return [Reason("explained", weights.compute_share(explained_runs), text, evidence.build_alternative(example, runs))]


def _explain_all(
    evidence: QuestionEvidence, index: GoldenAnswerIndex, differences: Sequence[AnswerDifference]
) -> list[str]:
    explanations: list[str] = []
    for difference in differences:
        if (explanation := explain_difference(evidence, index, difference)) is None:
            return []
        explanations.append(explanation)
    return explanations


def explain_difference(
    evidence: QuestionEvidence, index: GoldenAnswerIndex, difference: AnswerDifference
) -> str | None:
    """Explain why a difference may not matter, in words that continue its label. Returns None without an
    explanation."""
    if not difference.path:
        return None
    name, *inside = split_path(difference.path)
    parameter = evidence.find_parameter(difference.function, str(name))
    default = parameter.default if parameter and not inside else NO_DEFAULT
    golden = difference.golden
    accepted = golden.any_of if isinstance(golden, AcceptedValues) else [golden]
    if difference.predicted is NO_VALUE:
        if default is not NO_DEFAULT and any(is_documented_default(value, default) for value in accepted):
            return "whose documented default is the golden value"
        return None
    if golden is NO_VALUE:
        if default is not NO_DEFAULT and is_documented_default(difference.predicted, default):
            return "the documented default, which the golden answer omits"
        return "empty, where the golden answer omits it" if difference.predicted in EMPTY_VALUES else None
    for value in accepted:
        if equivalence := describe_equivalence(value, difference.predicted):
            return f"golden {difference.golden_label} ({equivalence})"
    item = index.find_item_accepting_both(str(name), accepted, difference.predicted)
    if item and item != evidence.question.key.id:
        return f"which {item} accepts as well as {difference.golden_label}"
    return None


PRIOR_REVIEWS = 4.0
"""Weight of each probability in `REASON_CHANCES`, as a number of reviews."""
BENCHMARK_FAULTS = frozenset({"golden", "question", "checker"})


def update_chances(
    chances: Mapping[str, float], found: Iterable[tuple[AuditedQuestion, list[Reason]]]
) -> dict[str, float]:
    """Update the probability that each kind of reason is right by the reviews that confirm or refute it: (PRIOR_REVIEWS
    * prior + confirmed) / (PRIOR_REVIEWS + confirmed + refuted)."""
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
    """True if annotators decided on one of `BENCHMARK_FAULTS` for at least one item of the question. False if they
    decided only on the fault model. None if they decided on neither."""
    if any(question.faults[fault] for fault in BENCHMARK_FAULTS):
        return True
    return False if question.faults["model"] else None


REASON_CHANCES = {
    "contract": 0.6, "default": 0.5, "loose": 0.4, "notation": 0.4, "omission": 0.4, "siblings": 0.3,
    "ungrounded": 0.25, "agreement": 0.6, "explained": 0.5, "failing": 0.3, "reversed": 0.2, "contradiction": 0.3,
}  # fmt: skip
"""Kind of reason -> rough prior probability that a reason of this kind with strength 1 is right."""
CONVENTION_SHARE = 0.1
"""Reasons of a kind are weakened if more than this share of a dataset's questions have the kind, because it is probably
a convention of the dataset."""
MIN_CONVENTION_ITEMS = 20
MIN_SHOWN_STRENGTH = 0.05
GOLDEN_ONLY_KINDS = frozenset({"contract", "default", "omission", "loose", "notation", "siblings", "ungrounded"})
"""Kinds of reasons about golden answers and function docs. All other kinds are about the answers of runs."""
QuestionReasons = list[tuple[AuditedQuestion, list[Reason]]]
FAULT_TEXTS = {
    True: "reviewed: annotators decided that the benchmark is at fault",
    False: "reviewed: annotators decided that the model is at fault",
}
STRONG_SCORE = 0.5
"""Minimum score of a strong suspect. Failures of models alone give at most 0.44. docs/suspects-evaluation.md has the
known errors by score."""


@dataclass(frozen=True, slots=True)
class Suspect:
    question: AuditedQuestion
    score: float
    """Probability, from 0 to 1, that at least one of the reasons is right."""
    reasons: Sequence[Reason]

    @property
    def is_strong(self) -> bool:
        return round(self.score, 2) >= STRONG_SCORE  # as it is shown

    @property
    def alternative(self) -> AlternativeAnswer | None:
        """Alternative answer from the strongest reason that has one. Answers that models gave take precedence."""
        alternatives = [reason.alternative for reason in self.reasons if reason.alternative]
        return next((each for each in alternatives if each.models), alternatives[0] if alternatives else None)


def rank_suspects(
    questions: Sequence[AuditedQuestion],
    run_profiles: Mapping[int, RunProfile],
    report: Callable[[int, int], object] = lambda *_: None,
) -> list[Suspect]:
    """Score all questions and sort them by score, highest first. Before each question, `report` is called with the
    numbers of checked questions and of all questions. It may raise an exception to cancel."""
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
    # The last digits of equal scores can differ, because they depend on the order of the factors.
    return sorted(suspects, key=lambda suspect: -round(suspect.score, 12))


def _weaken_conventions(found: QuestionReasons) -> QuestionReasons:
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
    """Compute the score: 1 minus the probability that the strongest reasons of all kinds are wrong. If annotators
    decided on a fault, the score is moved halfway to 1 (fault of the benchmark) or to 0 (fault of the model)."""
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
