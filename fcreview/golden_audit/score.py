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
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from fcreview.golden_audit.evidence import (
    QuestionEvidence,
    RunWeigher,
    RunWeights,
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
FULL_STRENGTH_FAMILIES = 3
"""Number of model families on each side from which a reversed ranking has its full strength."""
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
    """Return a reason for suspicion if good runs fail the question.

    The more weight the failing runs have among all runs, the stronger the reason.
    """
    weights = evidence.run_weights
    failing_runs: list[int] = []
    for answer, _ in evidence.differences:
        failing_runs += answer.runs
    weight_share = weights.compute_weight_share(failing_runs)
    if not weight_share:
        return []

    # A run without a profile has no weight. As the failing runs have some, one has a profile.
    failing_profiles = [
        weights.run_profiles[run] for run in failing_runs if run in weights.run_profiles
    ]
    best = max(failing_profiles, key=lambda profile: profile.pass_rate)
    verb = "fails" if len(failing_runs) == 1 else "fail"
    answers = format_count(len(weights.bits_by_run), "decoded answer")
    items = format_count(best.n_verdicts, "item")
    text = (
        f"models fail: {len(failing_runs)} of {answers} {verb}, including {best.model},"
        f" which passes {best.n_passed:,} of {items}"
    )
    return [Reason("failing", strength=weight_share, text=text)]


def _find_consensus(evidence: QuestionEvidence) -> list[Reason]:
    """Return a reason for suspicion if models of several families give the same answer, and it is
    not the golden answer.

    If there are several such answers, the one whose runs have the most weight counts.
    """
    weights = evidence.run_weights
    candidates = []
    for shared in evidence.shared_differences:
        if len(weights.list_families(shared.runs)) >= MIN_FAMILIES:
            candidates.append(shared)
    if not candidates:
        return []

    best = max(candidates, key=lambda shared: weights.compute_weight_share(shared.runs))
    alternative = evidence.build_alternative_answer(best.difference, best.runs)
    answer = f"{alternative.answer}{_describe_golden_side(best.difference)}"
    n_families = len(alternative.families)
    all_families = format_count(weights.n_families, "model family", "model families")
    models = format_count(len(alternative.models), "model")
    text = f"models agree: {answer} ({n_families} of {all_families}, {models})"
    strength = weights.compute_weight_share(best.runs)
    return [Reason("agreement", strength=strength, text=text, alternative=alternative)]


def _describe_golden_side(difference: AnswerDifference) -> str:
    """Return what follows an answer: the golden value in its place, and how the two differ if they
    look alike.
    """
    text = ""
    if difference.path:
        text += f", golden {difference.golden_label}"
    if difference.hidden_difference:
        text += f", {difference.hidden_difference}"
    return text


def _find_reversed_ranking(evidence: QuestionEvidence) -> list[Reason]:
    """Return a reason for suspicion if better runs fail the question and weaker runs pass it.

    With a right golden answer, it is usually the other way round.
    """
    weights = evidence.run_weights
    profiles = weights.run_profiles
    # Only runs with a weight count: those whose answer could be decoded.
    counted_runs = weights.bits_by_run.keys()
    failing_runs: set[int] = set()
    for answer, _ in evidence.differences:
        failing_runs.update(run for run in answer.runs if run in counted_runs)
    passing_runs = counted_runs - failing_runs

    # The strength is 0 if one of both sets is empty.
    strength = _compute_reversal_strength(failing_runs, passing_runs, profiles)
    if strength <= 0:
        return []

    def get_pass_rate(run: int) -> float:
        return profiles[run].pass_rate

    best_failing = profiles[max(failing_runs, key=get_pass_rate)]
    worst_passing = profiles[min(passing_runs, key=get_pass_rate)]
    text = (
        f"stronger models fail: {best_failing.model} fails, but the weaker model"
        f" {worst_passing.model} passes"
    )
    return [Reason("reversed", strength=strength, text=text)]


def _compute_reversal_strength(
    failed: Collection[int], passed: Collection[int], profiles: Mapping[int, RunProfile]
) -> float:
    """Return how clearly the failing runs are better than the passing runs: 1 if each failing run
    has a higher pass rate than each passing run, 0 if they are equally good, else between -1 and 1.

    With few model families on one side, the strength is lower. It is 0 with fewer than
    `MIN_FAMILIES`.
    """
    n_failed_families = len({profiles[run].family for run in failed})
    n_passed_families = len({profiles[run].family for run in passed})
    fewest = min(n_failed_families, n_passed_families)
    if fewest < MIN_FAMILIES:
        return 0.0

    failed_rates = _weight_by_family(failed, profiles)
    passed_rates = _weight_by_family(passed, profiles)
    n_pairs = n_failed_families * n_passed_families
    # The probability that a failing run is better than a passing run.
    probability = sum_win_weights(failed_rates, passed_rates) / n_pairs
    strength = 2 * probability - 1
    return strength * min(1.0, fewest / FULL_STRENGTH_FAMILIES)


def _weight_by_family(
    runs: Collection[int], profiles: Mapping[int, RunProfile]
) -> list[RateAndWeight]:
    """Return pass rates with weights, so that all runs of a family together have the weight 1."""
    family_sizes = Counter(profiles[run].family for run in runs)
    return [(profiles[run].pass_rate, 1 / family_sizes[profiles[run].family]) for run in runs]


def sum_win_weights(runs: Sequence[RateAndWeight], other_runs: Sequence[RateAndWeight]) -> float:
    """Sum the weights of all pairs in which one of `runs` has a higher pass rate than one of
    `other_runs`.

    The weight of a pair is the product of the two weights. A pair with equal rates counts half.
    """
    ordered = sorted(other_runs)
    rates = [rate for rate, _ in ordered]
    # weight_below[n] is the total weight of the n other runs with the lowest rates.
    weight_below = [0.0, *accumulate(weight for _, weight in ordered)]

    won = []
    for rate, weight in runs:
        lower = weight_below[bisect_left(rates, rate)]
        lower_or_equal = weight_below[bisect_right(rates, rate)]
        # The mean of both counts each other run with an equal rate half.
        won.append(weight * (lower + lower_or_equal) / 2)
    return sum(won)


def _find_verdict_conflicts(evidence: QuestionEvidence) -> list[Reason]:
    """Find answers on which official and recomputed verdict differ, in runs in which this is
    rare.
    """
    profiles = evidence.run_weights.run_profiles
    runs: list[int] = []
    for answer in evidence.question.answers:
        if answer.has_verdict_conflict:
            runs += [run for run in answer.runs if _has_few_conflicts(profiles.get(run))]
    if not runs:
        return []

    answers = format_count(len(runs), "answer")
    text = f"verdicts differ: official and recomputed verdict disagree on {answers}"
    return [Reason("contradiction", strength=len(runs) / len(evidence.question.runs), text=text)]


def _has_few_conflicts(profile: RunProfile | None) -> bool:
    return profile is not None and profile.conflict_rate <= MAX_CONFLICT_RATE


@dataclass(slots=True)
class _Explanation:
    """A reason why differences may not matter, with the runs that have such a difference."""

    text: str
    example: AnswerDifference
    runs: list[int] = field(default_factory=list)


EMPTY_VALUES: tuple[Any, ...] = ("", [], {}, None)


def find_explained_failures(evidence: QuestionEvidence, index: GoldenAnswerIndex) -> list[Reason]:
    """Return a reason for suspicion if failing answers may be right: each of their differences from
    the golden answer has a harmless explanation, such as `the golden value is the documented
    default`.

    The text names the explanation that holds for most answers. The more weight the runs with these
    answers have among all runs, the stronger the reason.
    """
    explained_answers = _list_explained_answers(evidence, index)
    if not explained_answers:
        return []

    explained_runs: list[int] = []
    for answer in explained_answers:
        explained_runs += answer.runs

    explanation = _find_main_explanation(explained_answers, evidence.run_weights)
    runs_of_explanation = sorted(set(explanation.runs))
    reason = Reason(
        "explained",
        strength=evidence.run_weights.compute_weight_share(explained_runs),
        text=_describe_explanation(explanation, n_answers=len(runs_of_explanation)),
        alternative=evidence.build_alternative_answer(explanation.example, runs_of_explanation),
    )
    return [reason]


def _find_main_explanation(
    answers: Iterable[_ExplainedAnswer], weights: RunWeights
) -> _Explanation:
    """Return the explanation that holds in the runs with the largest weight together."""

    def compute_weight(explanation: _Explanation) -> float:
        return weights.compute_weight_share(set(explanation.runs))

    return max(_merge_explanations(answers), key=compute_weight)


def _describe_explanation(explanation: _Explanation, n_answers: int) -> str:
    """Describe an explanation by an example, with the number of answers. Each run has one answer to
    the question.
    """
    text = f"answer may be right: {explanation.example.label}; {explanation.text}"
    if n_answers == 1:
        return text
    return f"{text} ({n_answers:,} answers)"


@dataclass(frozen=True, slots=True)
class _ExplainedAnswer:
    """A failing answer of which every difference has an explanation."""

    runs: Sequence[int]
    differences: Sequence[AnswerDifference]
    explanations: Sequence[str]
    """Explanation of each difference."""


def _list_explained_answers(
    evidence: QuestionEvidence, index: GoldenAnswerIndex
) -> list[_ExplainedAnswer]:
    """Return the answers whose differences from the golden answer can be explained, each with its
    explanations.
    """
    explained_answers = []
    # Several answers can share one list of differences, which is explained once.
    explanations_by_list: dict[int, list[str]] = {}
    for answer, differences in evidence.differences:
        list_id = id(differences)
        if list_id not in explanations_by_list:
            explanations_by_list[list_id] = _explain_differences(evidence, index, differences)
        explanations = explanations_by_list[list_id]
        if explanations:
            explained_answers.append(
                _ExplainedAnswer(answer.runs, differences=differences, explanations=explanations)
            )
    return explained_answers


def _merge_explanations(answers: Iterable[_ExplainedAnswer]) -> list[_Explanation]:
    """Return each explanation once, with the runs of all answers for which it holds."""
    explanations: dict[str, _Explanation] = {}
    for answer in answers:
        for text, difference in zip(answer.explanations, answer.differences, strict=True):
            explanation = explanations.setdefault(text, _Explanation(text, difference))
            explanation.runs += answer.runs
    return list(explanations.values())


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

    argument, *inner_path = split_path(difference.path)
    default = NO_DEFAULT
    parameter = evidence.find_parameter(difference.function, str(argument))
    if parameter is not None and not inner_path:
        default = parameter.default

    if difference.predicted is NO_VALUE:
        accepted = _list_accepted(difference.golden)
        if any(_is_default(value, default) for value in accepted):
            return "the golden value is the documented default"
        return None
    if difference.golden is NO_VALUE:
        return _explain_additional_value(difference.predicted, default)
    return _explain_other_value(evidence, index, difference, argument=str(argument))


def _list_accepted(golden: Any) -> list[Any]:
    return golden.any_of if isinstance(golden, AcceptedValues) else [golden]


def _explain_additional_value(predicted: Any, default: Any) -> str | None:
    """Explain why a value that the golden answer omits may not matter."""
    if _is_default(predicted, default):
        return "the golden answer omits this value, which is the documented default"
    if predicted in EMPTY_VALUES:
        return "the golden answer omits this value, which is empty"
    return None


def _explain_other_value(
    evidence: QuestionEvidence,
    index: GoldenAnswerIndex,
    difference: AnswerDifference,
    *,
    argument: str,
) -> str | None:
    """Explain why a predicted value may mean the same as one of the accepted values."""
    accepted = _list_accepted(difference.golden)
    for value in accepted:
        equivalence = describe_equivalence(value, difference.predicted)
        if equivalence:
            return f"the golden value is {difference.golden_label} ({equivalence})"

    item_id = index.find_item_id_accepting_both(argument, accepted, difference.predicted)
    if item_id and item_id != evidence.question.key.id:
        return f"{item_id} accepts this value as well as {difference.golden_label}"
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
    """Update how likely a reason of each kind is right, by the reviews that confirm or refute it.

    The chances so far count like `PRIOR_REVIEWS` reviews.
    """
    confirmed: Counter[str] = Counter()
    refuted: Counter[str] = Counter()
    for question, reasons in question_reasons:
        kinds = {reason.kind for reason in reasons}
        benchmark_at_fault = is_benchmark_at_fault(question)
        if benchmark_at_fault is True:
            confirmed.update(kinds)
        elif benchmark_at_fault is False:
            refuted.update(kinds)

    updated = {}
    for kind, chance in chances.items():
        n_reviews = confirmed[kind] + refuted[kind]
        updated[kind] = (PRIOR_REVIEWS * chance + confirmed[kind]) / (PRIOR_REVIEWS + n_reviews)
    return updated


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
        # The screens show two decimals.
        return round(self.score, 2) >= STRONG_SCORE

    @property
    def alternative(self) -> AlternativeAnswer | None:
        """Alternative answer of the strongest reason that has one, preferably an answer that
        models gave.
        """
        alternatives = [reason.alternative for reason in self.reasons if reason.alternative]
        for alternative in alternatives:
            if alternative.models:
                return alternative
        return alternatives[0] if alternatives else None


def count_questions(suspects: Iterable[Suspect]) -> int:
    """Count the distinct questions of the suspects (questions whose golden answer may be wrong). A
    question that a benchmark repeats, for example in another prompt format, counts once.
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
    """Score how likely the golden answer of each question is wrong, and return the most suspect
    questions first.

    Args:
        questions: The questions with the answers of all runs.
        run_profiles: Run -> how good it is, by which its answers are weighted.
        on_progress: Called before each question with the numbers of checked and of all questions.
            It can raise an exception to cancel.
    """
    read_schema = create_cached_schema_reader()
    weigher = RunWeigher(run_profiles)
    question_reasons: QuestionReasons = []
    for dataset in _group_by_dataset(questions):
        index = GoldenAnswerIndex(dataset)
        for question in dataset:
            on_progress(len(question_reasons), len(questions))
            evidence = collect_evidence(question, weigher, read_schema)
            question_reasons.append((question, _find_reasons(evidence, index)))

    # What occurs in a large part of a dataset is a convention of the benchmark, not an error.
    question_reasons = _weaken_conventions(question_reasons)
    # Earlier reviews show how often the reasons of each kind are right.
    chances = update_reason_chances(REASON_CHANCES, question_reasons)
    suspects = [score_suspect(question, reasons, chances) for question, reasons in question_reasons]
    # The last digits of equal scores can differ, because they depend on the order of the factors.
    return sorted(suspects, key=lambda suspect: -round(suspect.score, 12))


class _Dataset(NamedTuple):
    benchmark: str
    generation: str
    language: str


def _get_dataset(question: AuditedQuestion) -> _Dataset:
    key = question.key
    return _Dataset(key.benchmark, key.generation, key.language)


def _group_by_dataset(questions: Iterable[AuditedQuestion]) -> list[list[AuditedQuestion]]:
    datasets: defaultdict[_Dataset, list[AuditedQuestion]] = defaultdict(list)
    for question in questions:
        datasets[_get_dataset(question)].append(question)
    return list(datasets.values())


def _find_reasons(evidence: QuestionEvidence, index: GoldenAnswerIndex) -> list[Reason]:
    """Return all reasons why the golden answer of a question may be wrong: from the function docs,
    other items of the dataset, the question, and the answers of runs.
    """
    reasons = find_function_doc_conflicts(evidence)
    reasons += find_format_conflicts(evidence)
    reasons += find_deviations_from_other_items(evidence, index)
    reasons += find_ungrounded_values(evidence)
    reasons += find_reasons_from_runs(evidence)
    reasons += find_explained_failures(evidence, index)
    return reasons


def _weaken_conventions(question_reasons: QuestionReasons) -> QuestionReasons:
    """Weaken the reasons for suspicion whose kind applies to a large part of a dataset's questions.

    A kind that applies to more than `CONVENTION_SHARE` of the questions is probably a convention of
    the benchmark. Its reasons are weakened so that, together, they weigh as much as the reasons of
    this share of the questions.
    """
    factors = _compute_convention_factors(question_reasons)
    weakened: QuestionReasons = []
    for question, reasons in question_reasons:
        dataset = _get_dataset(question)
        new_reasons = []
        for reason in reasons:
            factor = factors.get((dataset, reason.kind), 1.0)
            new_reasons.append(replace(reason, strength=reason.strength * factor))
        weakened.append((question, new_reasons))
    return weakened


def _compute_convention_factors(
    question_reasons: QuestionReasons,
) -> dict[tuple[_Dataset, str], float]:
    """Return (dataset, kind of reason) -> how much weaker such reasons are there, from 0 to 1.

    Reasons that apply to very many questions of a dataset are weaker, because they must be about a
    convention of the benchmark.
    """
    n_questions: Counter[_Dataset] = Counter()
    n_with_reason: Counter[tuple[_Dataset, str]] = Counter()
    for question, reasons in question_reasons:
        dataset = _get_dataset(question)
        n_questions[dataset] += 1
        kinds = {reason.kind for reason in reasons} & GOLDEN_ONLY_KINDS
        n_with_reason.update((dataset, kind) for kind in kinds)

    factors = {}
    for (dataset, kind), count in n_with_reason.items():
        usual_count = CONVENTION_SHARE * n_questions[dataset]
        if count >= MIN_CONVENTION_ITEMS and count > usual_count:
            factors[dataset, kind] = usual_count / count
    return factors


def score_suspect(
    question: AuditedQuestion, reasons: Iterable[Reason], chances: Mapping[str, float]
) -> Suspect:
    """Compute the score of a question: the probability that its golden answer is wrong.

    The answer is right only if the strongest reason of each kind is wrong. If annotators decided
    whose fault failures are, the score moves halfway to 1 (benchmark) or to 0 (model).

    Args:
        question: The question.
        reasons: Reasons why the golden answer may be wrong, each with a strength from 0 to 1.
        chances: Kind of reason -> the probability that a reason of full strength is right.
    """

    def compute_chance(reason: Reason) -> float:
        return chances[reason.kind] * reason.strength

    strongest_first = sorted(reasons, key=compute_chance, reverse=True)
    shown_reasons = [reason for reason in strongest_first if reason.strength >= MIN_SHOWN_STRENGTH]
    strongest_chance_by_kind: dict[str, float] = {}
    for reason in strongest_first:
        strongest_chance_by_kind.setdefault(reason.kind, compute_chance(reason))
    score = 1 - prod(1 - chance for chance in strongest_chance_by_kind.values())

    benchmark_at_fault = is_benchmark_at_fault(question)
    if benchmark_at_fault is None:
        return Suspect(question, score=score, reasons=shown_reasons)

    decided_score = 1 - (1 - score) / 2 if benchmark_at_fault else score / 2
    decision = Reason("settled", strength=1.0, text=FAULT_TEXTS[benchmark_at_fault])
    return Suspect(question, score=decided_score, reasons=[decision, *shown_reasons])
