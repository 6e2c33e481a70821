"""Estimates when a person looks for wrong verdicts before, beside or after the review of a
random sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fcreview.stats.estimation import PassRateEstimate, estimate_pass_rate
from fcreview.stats.posterior import ItemStatus
from tests.examples import split_by_form

N_ITEMS = 1000
N_FAILURES = 400
N_WRONG_FAILURES = 100
N_WRONG_PASSES = 20


@dataclass(frozen=True)
class Triage:
    """Wrong failures that a person finds and overrides, without sampling."""

    n_found: int
    is_before_sample: bool


def make_run() -> tuple[list[bool], list[bool]]:
    """Return the automatic verdicts and the true verdicts.

    The first items are the wrong failures.
    """
    automatic = [False] * N_FAILURES + [True] * (N_ITEMS - N_FAILURES)
    truth = list(automatic)
    for position in range(N_WRONG_FAILURES):
        truth[position] = True
    for position in range(N_FAILURES, N_FAILURES + N_WRONG_PASSES):
        truth[position] = False
    return automatic, truth


def review_sample_and_triage(size: int, triage: Triage, seed: int) -> list[ItemStatus]:
    automatic, truth = make_run()
    generator = np.random.default_rng([seed, size])
    sampled = set(generator.choice(N_ITEMS, size, replace=False).tolist())
    candidates = generator.permutation(N_WRONG_FAILURES).tolist()
    # a person who looks at failures does not review a sampled item again
    if not triage.is_before_sample:
        candidates = [position for position in candidates if position not in sampled]
    found = set(candidates[: triage.n_found])

    statuses = []
    for position in range(N_ITEMS):
        is_known_before = triage.is_before_sample and position in found
        is_reviewed = position in sampled or position in found
        statuses.append(
            ItemStatus(
                category="all",
                automatic=automatic[position],
                human=truth[position] if is_reviewed else None,
                stratum=("",),
                inclusion_probability=size / N_ITEMS,
                has_sample_verdict=position in sampled and not is_known_before,
                is_known_before_sample=is_known_before,
            )
        )
    return statuses


def estimate(size: int, triage: Triage, seed: int) -> PassRateEstimate:
    found = estimate_pass_rate(
        review_sample_and_triage(size, triage, seed), half_width=0.02, seed=seed
    )
    assert found is not None
    return found


def measure(size: int, triage: Triage, repetitions: int) -> tuple[float, float]:
    """Return the coverage of the intervals, and the mean error of the estimates in mean
    half-widths.
    """
    _, truth = make_run()
    true_rate = sum(truth) / N_ITEMS
    estimates = [estimate(size, triage, seed) for seed in range(repetitions)]

    coverage = np.mean([each.low - 1e-12 <= true_rate <= each.high + 1e-12 for each in estimates])
    bias = np.mean([each.estimated - true_rate for each in estimates])
    half_width = np.mean([(each.high - each.low) / 2 for each in estimates])
    return float(coverage), float(bias / half_width)


@pytest.mark.parametrize("is_before_sample", [True, False], ids=["before", "beside"])
@pytest.mark.parametrize("n_found", [50, 100])
def test_triage_does_not_move_the_estimate_of_a_sample(
    is_before_sample: bool, n_found: int
) -> None:
    coverage, bias = measure(200, Triage(n_found, is_before_sample), repetitions=60)
    assert coverage >= 0.9
    assert abs(bias) < 0.15


@pytest.mark.sweep
@pytest.mark.parametrize("size", split_by_form([100, 200, 400], quick=[200]))
@pytest.mark.parametrize("is_before_sample", [True, False], ids=["before", "beside"])
@pytest.mark.parametrize("n_found", [50, 100])
def test_intervals_cover_the_truth_with_triage(
    size: int, is_before_sample: bool, n_found: int
) -> None:
    coverage, bias = measure(size, Triage(n_found, is_before_sample), repetitions=150)
    assert 0.91 <= coverage <= 1
    assert abs(bias) < 0.15


def test_triage_of_all_wrong_failures_narrows_the_interval() -> None:
    without = estimate(200, Triage(0, is_before_sample=False), seed=1)
    before = estimate(200, Triage(N_WRONG_FAILURES, is_before_sample=True), seed=1)
    assert before.high - before.low < without.high - without.low
