"""What the runs together say: good runs fail, independent models agree on another answer, strong ones fail where weak
ones pass."""

from __future__ import annotations

from collections import Counter

from fcreview.golden_audit.case import Reason
from fcreview.golden_audit.evidence import Evidence, Shared
from fcreview.model.wording import count_of

FAMILIES = 2
"""So many must agree: one family agrees with itself."""
SELDOM = 0.02
"""Share of a run's items on which official and recomputed verdict may differ for that to be the item's fault."""


def consensus(seen: Evidence) -> list[Reason]:
    return [*_failing(seen), *_agreement(seen), *_reversed(seen), *_contradiction(seen)]


def _failing(seen: Evidence) -> list[Reason]:
    failing = [run for answer, _ in seen.differences for run in answer.runs]
    share = seen.voices.share(failing)
    if not share:
        return []
    best = max(failing, key=lambda run: seen.witnesses[run].rate if run in seen.witnesses else 0.0)
    witness = seen.witnesses[best]
    text = f"{len(failing)} of {count_of(len(seen.voices.of), 'readable answer')} fail"
    return [
        Reason("failing", share, f"{text}, that of {witness.model} among them, which passes {100 * witness.rate:.0f} %")
    ]


def _agreement(seen: Evidence) -> list[Reason]:
    """The difference that most independent voices share."""
    several = [each for each in seen.shared if len(seen.voices.families_of(each.runs)) >= FAMILIES]
    if not several:
        return []
    best = max(several, key=lambda each: seen.voices.share(each.runs))
    return [
        Reason("agreement", seen.voices.share(best.runs), _agree(seen, best), seen.alternative(best.place, best.runs))
    ]


def _agree(seen: Evidence, shared: Shared) -> str:
    families = seen.voices.families_of(shared.runs)
    everybody = len(set(seen.voices.families.values()))
    models = seen.voices.names(shared.runs)
    golden = f"; golden has {shared.place.wanted}" if shared.place.path else ""
    return (
        f"{len(families)} of {count_of(everybody, 'model family', 'model families')} ({count_of(len(models), 'model')})"
        f" agree: {seen.alternative(shared.place, shared.runs).answer}{golden}"
    )


def _reversed(seen: Evidence) -> list[Reason]:
    """Twice the probability that a failing run is better than a passing one, less one; families count once."""
    failed = {run for answer, _ in seen.differences for run in answer.runs if run in seen.voices.of}
    passed = seen.voices.of.keys() - failed
    sides = [set(map(seen.voices.families.__getitem__, side)) for side in (failed, passed)]
    fewest = min(map(len, sides))
    if fewest < FAMILIES:
        return []
    weight = {run: 1 / members for side in (failed, passed) for run, members in _members(seen, side).items()}
    better = sum(
        weight[one] * weight[other] * _above(seen.witnesses[one].rate, seen.witnesses[other].rate)
        for one in failed
        for other in passed
    )
    strength = (2 * better / (len(sides[0]) * len(sides[1])) - 1) * min(1.0, fewest / 3)
    if strength <= 0:
        return []
    best = max(failed, key=lambda run: seen.witnesses[run].rate)
    worst = min(passed, key=lambda run: seen.witnesses[run].rate)
    text = f"{seen.witnesses[best].model} fails, {seen.witnesses[worst].model} passes"
    return [Reason("reversed", strength, f"strong runs fail where weak ones pass: {text}")]


def _members(seen: Evidence, side: set[int] | frozenset[int]) -> dict[int, int]:
    counts = Counter(seen.voices.families[run] for run in side)
    return {run: counts[seen.voices.families[run]] for run in side}


def _above(one: float, other: float) -> float:
    return 1.0 if one > other else 0.5 if one == other else 0.0


def _contradiction(seen: Evidence) -> list[Reason]:
    """Official and recomputed verdicts differ, for runs where they seldom do: else it is the run that is misread."""
    runs = [run for answer in seen.case.answers if answer.contradicted for run in answer.runs]
    telling = [run for run in runs if run in seen.witnesses and seen.witnesses[run].contradicted <= SELDOM]
    if not telling:
        return []
    text = f"official and recomputed verdict differ on {count_of(len(telling), 'answer')}"
    return [Reason("contradiction", len(telling) / len(seen.case.runs), text)]
