"""What the runs together say: good runs fail, independent models agree on another answer, strong ones fail where weak
ones pass."""

from __future__ import annotations

from collections import Counter

from fcreview.golden_audit.case import Reason
from fcreview.golden_audit.evidence import QuestionEvidence, SharedDifference
from fcreview.model.wording import format_count

MIN_FAMILIES = 2
"""So many must agree: one family agrees with itself."""
MAX_CONFLICT_RATE = 0.02
"""Share of a run's items on which official and recomputed verdict may differ for that to be the item's fault."""


def find_consensus_reasons(seen: QuestionEvidence) -> list[Reason]:
    return [*_failing(seen), *_agreement(seen), *_reversed(seen), *_contradiction(seen)]


def _failing(seen: QuestionEvidence) -> list[Reason]:
    failing = [run for answer, _ in seen.differences for run in answer.runs]
    share = seen.run_weights.share(failing)
    if not share:
        return []
    best = max(failing, key=lambda run: seen.run_profiles[run].pass_rate if run in seen.run_profiles else 0.0)
    witness = seen.run_profiles[best]
    text = f"{len(failing)} of {format_count(len(seen.run_weights.bits), 'readable answer')} fail"
    return [
        Reason("failing", share, f"{text}, that of {witness.model} among them, which passes {100 * witness.pass_rate:.0f} %")
    ]


def _agreement(seen: QuestionEvidence) -> list[Reason]:
    """The difference that most independent voices share."""
    several = [each for each in seen.shared_differences if len(seen.run_weights.families_of(each.runs)) >= MIN_FAMILIES]
    if not several:
        return []
    best = max(several, key=lambda each: seen.run_weights.share(each.runs))
    return [
        Reason("agreement", seen.run_weights.share(best.runs), _agree(seen, best), seen.build_alternative(best.difference, best.runs))
    ]


def _agree(seen: QuestionEvidence, shared: SharedDifference) -> str:
    families = seen.run_weights.families_of(shared.runs)
    everybody = len(set(seen.run_weights.families.values()))
    models = seen.run_weights.models_of(shared.runs)
    golden = f"; golden has {shared.difference.golden_label}" if shared.difference.path else ""
    return (
        f"{len(families)} of {format_count(everybody, 'model family', 'model families')} ({format_count(len(models), 'model')})"
        f" agree: {seen.build_alternative(shared.difference, shared.runs).answer}{golden}"
    )


def _reversed(seen: QuestionEvidence) -> list[Reason]:
    """Twice the probability that a failing run is better than a passing one, less one; families count once."""
    failed = {run for answer, _ in seen.differences for run in answer.runs if run in seen.run_weights.bits}
    passed = seen.run_weights.bits.keys() - failed
    sides = [set(map(seen.run_weights.families.__getitem__, side)) for side in (failed, passed)]
    fewest = min(map(len, sides))
    if fewest < MIN_FAMILIES:
        return []
    weight = {run: 1 / members for side in (failed, passed) for run, members in _members(seen, side).items()}
    better = sum(
        weight[one] * weight[other] * _above(seen.run_profiles[one].pass_rate, seen.run_profiles[other].pass_rate)
        for one in failed
        for other in passed
    )
    strength = (2 * better / (len(sides[0]) * len(sides[1])) - 1) * min(1.0, fewest / 3)
    if strength <= 0:
        return []
    best = max(failed, key=lambda run: seen.run_profiles[run].pass_rate)
    worst = min(passed, key=lambda run: seen.run_profiles[run].pass_rate)
    text = f"{seen.run_profiles[best].model} fails, {seen.run_profiles[worst].model} passes"
    return [Reason("reversed", strength, f"strong runs fail where weak ones pass: {text}")]


def _members(seen: QuestionEvidence, side: set[int] | frozenset[int]) -> dict[int, int]:
    counts = Counter(seen.run_weights.families[run] for run in side)
    return {run: counts[seen.run_weights.families[run]] for run in side}


def _above(one: float, other: float) -> float:
    return 1.0 if one > other else 0.5 if one == other else 0.0


def _contradiction(seen: QuestionEvidence) -> list[Reason]:
    """Official and recomputed verdicts differ, for runs where they seldom do: else it is the run that is misread."""
    runs = [run for answer in seen.question.answers if answer.has_verdict_conflict for run in answer.runs]
    telling = [run for run in runs if run in seen.run_profiles and seen.run_profiles[run].conflict_rate <= MAX_CONFLICT_RATE]
    if not telling:
        return []
    text = f"official and recomputed verdict differ on {format_count(len(telling), 'answer')}"
    return [Reason("contradiction", len(telling) / len(seen.question.runs), text)]
