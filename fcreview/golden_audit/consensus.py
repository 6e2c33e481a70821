"""Find evidence against a golden answer in the answers of all runs: good runs fail, independent models agree on another
answer, or stronger runs fail where weaker runs pass."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from fcreview.golden_audit.evidence import QuestionEvidence, SharedDifference
from fcreview.golden_audit.question import Reason
from fcreview.model.wording import format_count

MIN_FAMILIES = 2
"""Minimum number of model families that must agree. Models of the same family are not independent."""
MAX_CONFLICT_RATE = 0.02
"""Maximum share of a run's items on which official and recomputed verdicts differ. If the share is larger, fcreview
probably misreads the run."""


def find_consensus_reasons(evidence: QuestionEvidence) -> list[Reason]:
    """Find reasons in the answers of all runs together."""
    return [
        *_find_failures(evidence),
        *_find_agreement(evidence),
        *_find_reversed_ranking(evidence),
        *_find_verdict_conflicts(evidence),
    ]


def _find_failures(evidence: QuestionEvidence) -> list[Reason]:
    """Report the failing runs as a reason. The strength of the reason is the weight of the failing runs divided by the
    total weight of all runs."""
    failing = [run for answer, _ in evidence.differences for run in answer.runs]
    share = evidence.run_weights.compute_share(failing)
    if not share:
        return []
    profiles = evidence.run_weights.run_profiles
    best = profiles[max(failing, key=lambda run: profiles[run].pass_rate if run in profiles else 0.0)]
    answers = format_count(len(evidence.run_weights.bits), "readable answer")
    verb = "fails" if len(failing) == 1 else "fail"
    model = f"{best.model}, which passes {best.n_passed:,} of {format_count(best.n_verdicts, 'item')}"
    text = f"{len(failing)} of {answers} {verb}, including {model}"
    return [Reason("failing", share, text)]


def _find_agreement(evidence: QuestionEvidence) -> list[Reason]:
    """Find the difference with the largest total weight among the differences that runs of several model families
    share."""
    weights = evidence.run_weights
    several = [each for each in evidence.shared_differences if len(weights.families_of(each.runs)) >= MIN_FAMILIES]
    if not several:
        return []
    best = max(several, key=lambda each: weights.compute_share(each.runs))
    alternative = evidence.build_alternative(best.difference, best.runs)
    return [Reason("agreement", weights.compute_share(best.runs), _agreement_text(evidence, best), alternative)]


def _agreement_text(evidence: QuestionEvidence, shared: SharedDifference) -> str:
    weights = evidence.run_weights
    n_families = format_count(weights.n_families, "model family", "model families")
    n_models = format_count(len(weights.models_of(shared.runs)), "model")
    answer = evidence.build_alternative(shared.difference, shared.runs).answer
    golden = f"; golden answer has {shared.difference.golden_label}" if shared.difference.path else ""
    return f"{len(weights.families_of(shared.runs))} of {n_families} ({n_models}) agree: {answer}{golden}"


def _find_reversed_ranking(evidence: QuestionEvidence) -> list[Reason]:
    """Report as a reason that failing runs are better than passing runs. The strength is 2 p - 1, where p is the
    probability that a failing run is better than a passing one. Each model family has the same weight."""
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
    return [Reason("reversed", strength, f"stronger runs fail and weaker runs pass: {best} fails, {worst} passes")]


def sum_wins(ones: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> float:
    """Return the weight of all pairs (one, other) in which the first run has the higher rate. The weight of a pair is
    the product of the weights of both runs. Pairs with equal rates count half. Each run is (rate, weight)."""
    ordered = sorted(others)
    rates = [rate for rate, _ in ordered]
    weight_below = [0.0, *accumulate(weight for _, weight in ordered)]
    """Number n -> total weight of the n runs of `others` with the lowest rates."""
    return sum(
        weight * (weight_below[bisect_left(rates, rate)] + weight_below[bisect_right(rates, rate)]) / 2
        for rate, weight in ones
    )


def _find_verdict_conflicts(evidence: QuestionEvidence) -> list[Reason]:
    """Find answers whose official and recomputed verdicts differ, in runs with few such answers."""
    runs = [run for answer in evidence.question.answers if answer.has_verdict_conflict for run in answer.runs]
    profiles = evidence.run_weights.run_profiles
    rare = [run for run in runs if run in profiles and profiles[run].conflict_rate <= MAX_CONFLICT_RATE]
    if not rare:
        return []
    text = f"official and recomputed verdicts differ on {format_count(len(rare), 'answer')}"
    return [Reason("contradiction", len(rare) / len(evidence.question.runs), text)]
