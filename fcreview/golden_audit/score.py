"""Compute how likely it is that the benchmark is wrong about a question, for example that its
golden answer is wrong.

The score of a question combines all reasons to suspect it. This module finds the reasons that
compare runs: good runs fail, independent models agree on another answer, stronger runs fail where
weaker runs pass, official and recomputed verdicts differ, or the differences from the golden answer
may not matter. `golden_checks` finds all other reasons.

Each kind of reason has a prior probability of being right. The prior has the weight of
`PRIOR_REVIEWS` reviews. A reviewed question counts as one review for every kind of reason that this
module finds for it. The review confirms the reasons if the fault is golden, question or checker,
and refutes them if the fault is model.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from typing import Any

from fcreview.golden_audit.evidence import (
    QuestionEvidence,
    RunWeigher,
    collect_evidence,
    create_cached_schema_reader,
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
from fcreview.golden_audit.question import (
    AlternativeAnswer,
    AnswerDifference,
    AuditedQuestion,
    Reason,
    RunProfile,
)
from fcreview.matching.first_difference import NO_VALUE
from fcreview.model.function_schema import NO_DEFAULT
from fcreview.model.item import AcceptedValues
from fcreview.model.json_value import split_path
from fcreview.model.wording import format_count

MIN_FAMILIES = 2
"""Minimum number of model families that must give the same answer.

Models of one family are not independent.
"""
MAX_CONFLICT_RATE = 0.02
"""Maximum share of a run's items on which official and recomputed verdict differ. Conflicts of a
run with a larger share are ignored, because fcreview may read such a run incorrectly.
"""


RateAndWeight = tuple[float, float]
"""Pass rate, from 0 to 1, and weight of a run."""


def find_reasons_from_runs(evidence: QuestionEvidence) -> list[Reason]:
    """Find the reasons to suspect the golden answer that follow from the verdicts and answers of
    the runs.
    """
    return [
        *_find_failing_models(evidence),
        *_find_consensus(evidence),
        *_find_reversed_ranking(evidence),
        *_find_verdict_conflicts(evidence),
    ]


def _find_failing_models(evidence: QuestionEvidence) -> list[Reason]:
    failing = [run for answer, _ in evidence.differences for run in answer.runs]
    share = evidence.run_weights.compute_weight_share(failing)
    if not share:
        return []
    profiles = evidence.run_weights.run_profiles
    best = profiles[
        max(failing, key=lambda run: profiles[run].pass_rate if run in profiles else 0.0)
    ]
    answers = format_count(len(evidence.run_weights.bits), "decoded answer")
    verb = "fails" if len(failing) == 1 else "fail"
    items = format_count(best.n_verdicts, "item")
    text = f"models fail: {len(failing)} of {answers} {verb}, including {best.model},"
    return [
        Reason("failing", strength=share, text=f"{text} which passes {best.n_passed:,} of {items}")
    ]


def _find_consensus(evidence: QuestionEvidence) -> list[Reason]:
    weights = evidence.run_weights
    several = [
        each
        for each in evidence.shared_differences
        if len(weights.list_families(each.runs)) >= MIN_FAMILIES
    ]
    if not several:
        return []
    best = max(several, key=lambda each: weights.compute_weight_share(each.runs))
    alternative = evidence.build_alternative_answer(best.difference, best.runs)
    families = (
        f"{len(alternative.families)} of"
        f" {format_count(weights.n_families, 'model family', 'model families')}"
    )
    golden = f", golden {best.difference.golden_label}" if best.difference.path else ""
    models = format_count(len(alternative.models), "model")
    text = f"models agree: {alternative.answer}{golden} ({families}, {models})"
    return [
        Reason(
            "agreement",
            strength=weights.compute_weight_share(best.runs),
            text=text,
            alternative=alternative,
        )
    ]


def _find_reversed_ranking(evidence: QuestionEvidence) -> list[Reason]:
    """Find questions that better runs fail and weaker runs pass. The strength is 2 p - 1, where p
    is the probability that a failing run is better than a passing run. It is lower if one side has
    fewer than three model families.
    """
    weights = evidence.run_weights
    profiles = weights.run_profiles
    failed: set[int] = set()
    for answer, _ in evidence.differences:
        failed.update(run for run in answer.runs if run in weights.bits)
    passed = weights.bits.keys() - failed
    n_failed_families = len({profiles[run].family for run in failed})
    n_passed_families = len({profiles[run].family for run in passed})
    fewest = min(n_failed_families, n_passed_families)
    if fewest < MIN_FAMILIES:
        return []

    better = sum_win_weights(
        _weight_by_family(failed, profiles), _weight_by_family(passed, profiles)
    )
    probability = better / (n_failed_families * n_passed_families)
    strength = (2 * probability - 1) * min(1.0, fewest / 3)
    if strength <= 0:
        return []
    best = max(failed, key=lambda run: profiles[run].pass_rate)
    worst = min(passed, key=lambda run: profiles[run].pass_rate)
    text = (
        f"stronger models fail: {profiles[best].model} fails, but the weaker model"
        f" {profiles[worst].model} passes"
    )
    return [Reason("reversed", strength=strength, text=text)]


def _weight_by_family(
    runs: Collection[int], profiles: Mapping[int, RunProfile]
) -> list[RateAndWeight]:
    """Return pass rates with weights, so that all runs of a family together have the weight 1."""
    family_sizes = Counter(profiles[run].family for run in runs)
    return [(profiles[run].pass_rate, 1 / family_sizes[profiles[run].family]) for run in runs]


def sum_win_weights(runs: Sequence[RateAndWeight], other_runs: Sequence[RateAndWeight]) -> float:
    """Sum the weights of all pairs in which one of `runs` has a higher pass rate than one of
    `other_runs`. The weight of a pair is the product of the two weights. A pair with equal rates
    counts half.
    """
    ordered = sorted(other_runs)
    rates = [rate for rate, _ in ordered]
    weight_below = [0.0, *accumulate(weight for _, weight in ordered)]
    """Element n is the total weight of the n other runs with the lowest rates."""
    return sum(
        weight
        * (weight_below[bisect_left(rates, rate)] + weight_below[bisect_right(rates, rate)])
        / 2
        for rate, weight in runs
    )


def _find_verdict_conflicts(evidence: QuestionEvidence) -> list[Reason]:
    runs = [
        run
        for answer in evidence.question.answers
        if answer.has_verdict_conflict
        for run in answer.runs
    ]
    profiles = evidence.run_weights.run_profiles
    rare = [
        run for run in runs if run in profiles and profiles[run].conflict_rate <= MAX_CONFLICT_RATE
    ]
    if not rare:
        return []
    text = (
        "verdicts differ: official and recomputed verdict disagree on"
        f" {format_count(len(rare), 'answer')}"
    )
    return [Reason("contradiction", strength=len(rare) / len(evidence.question.runs), text=text)]


EMPTY_VALUES: tuple[Any, ...] = ("", [], {}, None)


def find_explained_failures(evidence: QuestionEvidence, index: GoldenAnswerIndex) -> list[Reason]:
    """Find failing answers that may be right, because every difference from the golden answer
    may not matter. The reason names the explanation that holds for most answers.
    """
    # Several answers can share one list of differences, which is explained once.
    explanations_by_list: dict[int, list[str]] = {}
    runs_by_explanation: defaultdict[str, list[int]] = defaultdict(list)
    example_by_explanation: dict[str, AnswerDifference] = {}
    explained_runs: list[int] = []
    for answer, differences in evidence.differences:
        if id(differences) not in explanations_by_list:
            explained = _explain_differences(evidence, index, differences)
            explanations_by_list[id(differences)] = explained
        explanations = explanations_by_list[id(differences)]
        if not explanations:
            continue
        explained_runs += answer.runs
        for explanation, difference in zip(explanations, differences, strict=True):
            runs_by_explanation[explanation] += answer.runs
            example_by_explanation.setdefault(explanation, difference)
    if not explained_runs:
        return []

    weights = evidence.run_weights
    main_explanation = max(
        runs_by_explanation,
        key=lambda each: weights.compute_weight_share(set(runs_by_explanation[each])),
    )
    runs = sorted(set(runs_by_explanation[main_explanation]))
    example = example_by_explanation[main_explanation]
    count = f" ({len(runs):,} answers)" if len(runs) > 1 else ""
    return [
        Reason(
            "explained",
            strength=weights.compute_weight_share(explained_runs),
            text=f"answer may be right: {example.label}; {main_explanation}{count}",
            alternative=evidence.build_alternative_answer(example, runs),
        )
    ]


def _explain_differences(
    evidence: QuestionEvidence, index: GoldenAnswerIndex, differences: Sequence[AnswerDifference]
) -> list[str]:
    """Explain all differences, or return an empty list if one of them has no explanation."""
    explanations: list[str] = []
    for difference in differences:
        explanation = explain_difference(evidence, index, difference)
        if explanation is None:
            return []
        explanations.append(explanation)
    return explanations


def explain_difference(
    evidence: QuestionEvidence, index: GoldenAnswerIndex, difference: AnswerDifference
) -> str | None:
    """Explain why a difference may not matter, or return None."""
    if not difference.path:
        return None
    name, *inside = split_path(difference.path)
    parameter = evidence.find_parameter(difference.function, str(name))
    default = parameter.default if parameter and not inside else NO_DEFAULT
    golden = difference.golden
    accepted = golden.any_of if isinstance(golden, AcceptedValues) else [golden]

    if difference.predicted is NO_VALUE:
        if any(_is_default(value, default) for value in accepted):
            return "the golden value is the documented default"
        return None
    if golden is NO_VALUE:
        if _is_default(difference.predicted, default):
            return "the golden answer omits this value, which is the documented default"
        if difference.predicted in EMPTY_VALUES:
            return "the golden answer omits this value, which is empty"
        return None

    for value in accepted:
        equivalence = describe_equivalence(value, difference.predicted)
        if equivalence:
            return f"the golden value is {difference.golden_label} ({equivalence})"
    item = index.find_item_id_accepting_both(str(name), accepted, difference.predicted)
    if item and item != evidence.question.key.id:
        return f"{item} accepts this value as well as {difference.golden_label}"
    return None


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value is the documented default. `default` is `NO_DEFAULT` if there is none."""
    return default is not NO_DEFAULT and is_documented_default(value, default)


PRIOR_REVIEWS = 4.0
"""Weight of each probability in `REASON_CHANCES`, as a number of reviews."""
BENCHMARK_FAULTS = frozenset({"golden", "question", "checker"})


def update_reason_chances(
    chances: Mapping[str, float], question_reasons: Iterable[tuple[AuditedQuestion, list[Reason]]]
) -> dict[str, float]:
    """Update the probability that a reason of each kind is right by the reviews that confirm or
    refute it: (PRIOR_REVIEWS * prior + confirmed) / (PRIOR_REVIEWS + confirmed + refuted).
    """
    confirmed: Counter[str] = Counter()
    refuted: Counter[str] = Counter()
    for question, reasons in question_reasons:
        at_fault = is_benchmark_at_fault(question)
        if at_fault is not None:
            (confirmed if at_fault else refuted).update({reason.kind for reason in reasons})
    return {
        kind: (PRIOR_REVIEWS * chance + confirmed[kind])
        / (PRIOR_REVIEWS + confirmed[kind] + refuted[kind])
        for kind, chance in chances.items()
    }


def is_benchmark_at_fault(question: AuditedQuestion) -> bool | None:
    """Whether annotators decided on one of `BENCHMARK_FAULTS`; None if they decided neither on
    these nor on `model`.
    """
    if any(question.faults[fault] for fault in BENCHMARK_FAULTS):
        return True
    return False if question.faults["model"] else None


REASON_CHANCES = {
    "contract": 0.6,
    "default": 0.5,
    "loose": 0.4,
    "notation": 0.4,
    "omission": 0.4,
    "siblings": 0.3,
    "ungrounded": 0.25,
    "agreement": 0.6,
    "explained": 0.5,
    "failing": 0.3,
    "reversed": 0.2,
    "contradiction": 0.3,
}
"""Kind of reason -> rough prior probability that a reason of this kind with strength 1 is right."""
CONVENTION_SHARE = 0.1
"""Maximum share of a dataset's questions with a kind of reason.

Beyond it, the kind is a convention and is weakened.
"""
MIN_CONVENTION_ITEMS = 20
MIN_SHOWN_STRENGTH = 0.05
GOLDEN_ONLY_KINDS = frozenset(
    {"contract", "default", "omission", "loose", "notation", "siblings", "ungrounded"}
)
"""Kinds of reasons that do not depend on the answers of runs."""
QuestionReasons = list[tuple[AuditedQuestion, list[Reason]]]
FAULT_TEXTS = {
    True: "reviewed: annotators decided that the benchmark is at fault",
    False: "reviewed: annotators decided that the model is at fault",
}
STRONG_SCORE = 0.5
"""Minimum score of a strong suspect. If failures of models are the only reasons, the score is at
most 0.44. docs/suspects-evaluation.md lists the known errors by score.
"""


@dataclass(frozen=True, slots=True)
class Suspect:
    question: AuditedQuestion
    score: float
    """Probability, from 0 to 1, that at least one of the reasons is right."""
    reasons: Sequence[Reason]

    @property
    def is_strong(self) -> bool:
        return round(self.score, 2) >= STRONG_SCORE  # The screens show two decimals.

    @property
    def alternative(self) -> AlternativeAnswer | None:
        """Alternative answer of the strongest reason that has one, preferably an answer that
        models gave.
        """
        alternatives = [reason.alternative for reason in self.reasons if reason.alternative]
        return next(
            (each for each in alternatives if each.models),
            alternatives[0] if alternatives else None,
        )


def count_questions(suspects: Iterable[Suspect]) -> int:
    """Count the different questions of suspects. A question that a benchmark repeats, for example
    in another version or prompt format, counts once.
    """
    return len({suspect.question.content_key for suspect in suspects})


def number_questions(ranking: Iterable[Suspect]) -> list[int]:
    """Return the number of the question of each suspect, from 0. Suspects with the same question
    and golden answer have the same number.
    """
    number_by_content: dict[Hashable, int] = {}
    numbers: list[int] = []
    for suspect in ranking:
        content = suspect.question.content_key
        numbers.append(number_by_content.setdefault(content, len(number_by_content)))
    return numbers


def rank_suspects(
    questions: Sequence[AuditedQuestion],
    run_profiles: Mapping[int, RunProfile],
    on_progress: Callable[[int, int], object] = lambda *_: None,
) -> list[Suspect]:
    """Score all questions and sort them by score, highest first. Before each question, call
    `on_progress` with the numbers of checked and of all questions. It can raise an exception to
    cancel.
    """
    datasets: dict[tuple[str, str, str], list[AuditedQuestion]] = {}
    for question in questions:
        datasets.setdefault(question.key[:3], []).append(question)
    read_schema = create_cached_schema_reader()
    weigher = RunWeigher(run_profiles)
    found: QuestionReasons = []
    for dataset in datasets.values():
        index = GoldenAnswerIndex(dataset)
        for question in dataset:
            on_progress(len(found), len(questions))
            evidence = collect_evidence(question, weigher, read_schema)
            reasons = [
                *find_function_doc_conflicts(evidence),
                *find_format_conflicts(evidence),
                *find_deviations_from_other_items(evidence, index),
                *find_ungrounded_values(evidence),
                *find_reasons_from_runs(evidence),
                *find_explained_failures(evidence, index),
            ]
            found.append((question, reasons))
    found = _weaken_conventions(found)
    chances = update_reason_chances(REASON_CHANCES, found)
    suspects = (score_suspect(question, reasons, chances) for question, reasons in found)
    # The last digits of equal scores can differ, because they depend on the order of the factors.
    return sorted(suspects, key=lambda suspect: -round(suspect.score, 12))


def _weaken_conventions(question_reasons: QuestionReasons) -> QuestionReasons:
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    sizes: Counter[tuple[str, ...]] = Counter()
    for question, reasons in question_reasons:
        dataset = question.key[:3]
        sizes[dataset] += 1
        counts.update(
            (dataset, kind) for kind in {reason.kind for reason in reasons} & GOLDEN_ONLY_KINDS
        )
    factors = {
        (dataset, kind): CONVENTION_SHARE * sizes[dataset] / count
        for (dataset, kind), count in counts.items()
        if count >= MIN_CONVENTION_ITEMS and count > CONVENTION_SHARE * sizes[dataset]
    }

    def weaken_if_convention(question: AuditedQuestion, reason: Reason) -> Reason:
        return replace(
            reason, strength=reason.strength * factors.get((question.key[:3], reason.kind), 1.0)
        )

    return [
        (question, [weaken_if_convention(question, reason) for reason in reasons])
        for question, reasons in question_reasons
    ]


def score_suspect(
    question: AuditedQuestion, reasons: Iterable[Reason], chances: Mapping[str, float]
) -> Suspect:
    """Compute the score of a question: 1 minus the probability that the strongest reasons of all
    kinds are wrong. If annotators decided on a fault, move the score halfway to 1 (benchmark) or to
    0 (model).
    """
    ordered = sorted(reasons, key=lambda reason: -chances[reason.kind] * reason.strength)
    strongest: dict[str, float] = {}
    for reason in ordered:
        strongest.setdefault(reason.kind, chances[reason.kind] * reason.strength)
    score = 1 - prod(1 - chance for chance in strongest.values())
    shown = [reason for reason in ordered if reason.strength >= MIN_SHOWN_STRENGTH]
    at_fault = is_benchmark_at_fault(question)
    if at_fault is not None:
        shown.insert(0, Reason("settled", strength=1.0, text=FAULT_TEXTS[at_fault]))
        score = 1 - (1 - score) / 2 if at_fault else score / 2
    return Suspect(question, score=score, reasons=shown)
