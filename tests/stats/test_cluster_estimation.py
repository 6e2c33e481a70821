"""Estimates from samples of whole conversations, whose errors and metrics cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem, build_pass_rate_metric
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.estimation import (
    EstimationInput,
    EstimationSettings,
    MetricEstimate,
    estimate_metrics,
    estimate_pass_rate,
)
from fcreview.stats.intervals import compute_t_quantile
from fcreview.stats.posterior import ItemStatus
from tests.examples import split_by_form
from tests.oracles import student_quantile

N_GROUPS = 150
GROUP_SIZE = 4


def compute_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Return the pass rate, the share of conversations without a failure, and the harmonic mean
    of both.
    """
    groups: dict[str | None, list[bool]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item.valid is True)
    success = [all(verdicts) for verdicts in groups.values()]
    rate = sum(map(sum, groups.values())) / len(items)
    success_rate = sum(success) / len(success)
    harmonic = 2 * rate * success_rate / (rate + success_rate) if success_rate else 0.0
    first = [item for item in items if item.id.endswith("-0")]
    return [
        build_pass_rate_metric("accuracy", "pass rate", items),
        Metric("conversations", "success rate", value=success_rate),
        build_pass_rate_metric("conversations", "first step", first),
        Metric("conversations", "harmonic mean", value=harmonic),
    ]


def make_items(generator: np.random.Generator) -> tuple[list[ScoredItem], list[bool]]:
    """Return the automatically scored items and the true verdicts.

    Each conversation has its own error rate.
    """
    items: list[ScoredItem] = []
    truth: list[bool] = []
    for group in range(N_GROUPS):
        error_rate = generator.beta(0.3, 2.7)
        for step in range(GROUP_SIZE):
            verdict = bool(generator.random() < 0.85)
            is_wrong = bool(generator.random() < error_rate)
            items.append(ScoredItem(f"{group}-{step}", "talk", f"conversation {group}", verdict))
            truth.append(verdict is not is_wrong)
    return items, truth


def review(
    items: Sequence[ScoredItem], truth: Sequence[bool], reviewed: set[int], *, by_group: bool
) -> EstimationInput:
    statuses = []
    after = []
    for position, item in enumerate(items):
        is_reviewed = position in reviewed
        statuses.append(
            ItemStatus(
                category=item.category,
                automatic=item.valid,
                human=truth[position] if is_reviewed else None,
                stratum=("",),
                inclusion_probability=len(reviewed) / len(items),
                has_sample_verdict=is_reviewed,
                cluster=item.group if by_group else None,
            )
        )
        overridden = is_reviewed and truth[position] is not item.valid
        verdict = truth[position]
        after.append(
            replace(item, valid=verdict, overrides={ITEM_CORRECT: verdict}) if overridden else item
        )
    return EstimationInput(items, after, statuses, compute_metrics)


def sample_conversations(generator: np.random.Generator, n_groups: int) -> set[int]:
    groups = generator.choice(N_GROUPS, n_groups, replace=False).tolist()
    return {group * GROUP_SIZE + step for group in groups for step in range(GROUP_SIZE)}


def estimate(run: EstimationInput, seed: int = 0) -> dict[str, MetricEstimate]:
    return {each.name: each for each in estimate_metrics(run, EstimationSettings(seed=seed))}


def compute_true_values(
    items: Sequence[ScoredItem], truth: Sequence[bool]
) -> dict[str, float | None]:
    true_items = [replace(item, valid=verdict) for item, verdict in zip(items, truth, strict=True)]
    return {metric.name: metric.value for metric in compute_metrics(true_items)}


def test_sample_of_single_items_gives_no_interval_for_metrics_of_conversations() -> None:
    generator = np.random.default_rng(1)
    items, truth = make_items(generator)
    reviewed = set(generator.choice(len(items), 120, replace=False).tolist())
    found = estimate(review(items, truth, reviewed, by_group=False))
    assert found["pass rate"].low is not None
    assert found["first step"].low is not None
    assert (found["success rate"].method, found["success rate"].low) == ("whole groups", None)


def test_sample_of_conversations_estimates_their_metrics() -> None:
    generator = np.random.default_rng(2)
    items, truth = make_items(generator)
    found = estimate(review(items, truth, sample_conversations(generator, 40), by_group=True))
    for name in ("pass rate", "success rate", "first step"):
        one = found[name]
        assert one.low is not None and one.estimated is not None and one.high is not None
        assert one.low < one.estimated < one.high and one.needed
    assert (found["harmonic mean"].method, found["harmonic mean"].low) == ("not a mean", None)


def test_fully_reviewed_conversations_are_known() -> None:
    items, truth = make_items(np.random.default_rng(3))
    found = estimate(review(items, truth, set(range(len(items))), by_group=True))
    for name, value in compute_true_values(items, truth).items():
        assert found[name].estimated == pytest.approx(value) and found[name].low == found[name].high


def measure_coverage(n_groups: int, repetitions: int) -> dict[str, tuple[float, float]]:
    """Return the coverage and the bias, in mean half-widths, of each metric."""
    items, truth = make_items(np.random.default_rng(4))
    values = compute_true_values(items, truth)
    hits: dict[str, list[bool]] = {}
    errors: dict[str, list[float]] = {}
    widths: dict[str, list[float]] = {}
    for seed in range(repetitions):
        sample = sample_conversations(np.random.default_rng([seed, n_groups]), n_groups)
        for name, one in estimate(review(items, truth, sample, by_group=True), seed).items():
            value = values[name]
            if one.low is None or one.high is None or one.estimated is None or value is None:
                continue
            hits.setdefault(name, []).append(one.low <= value <= one.high)
            errors.setdefault(name, []).append(one.estimated - value)
            widths.setdefault(name, []).append((one.high - one.low) / 2)
    return {
        name: (float(np.mean(hits[name])), float(np.mean(errors[name]) / np.mean(widths[name])))
        for name in hits
    }


def test_intervals_cover_the_truth_in_most_samples() -> None:
    for coverage, bias in measure_coverage(25, repetitions=40).values():
        assert coverage >= 0.85 and abs(bias) < 0.25


@pytest.mark.sweep
@pytest.mark.parametrize("n_groups", split_by_form([25, 75], quick=[25]))
def test_coverage_of_samples_of_conversations(n_groups: int) -> None:
    for name, (coverage, bias) in measure_coverage(n_groups, repetitions=120).items():
        assert 0.9 <= coverage <= 1, name
        assert abs(bias) < 0.15, name


def test_pass_rate_of_all_items_uses_conversations_as_units() -> None:
    """Errors cluster, so that a sample of conversations is less precise than a sample of as many
    single items.
    """
    generator = np.random.default_rng(5)
    items, truth = make_items(generator)
    run = review(items, truth, sample_conversations(generator, 40), by_group=True)
    clustered = estimate_pass_rate(run.statuses, half_width=0.02)
    as_single_items = estimate_pass_rate(
        [replace(each, cluster=None) for each in run.statuses], half_width=0.02
    )
    assert clustered is not None and as_single_items is not None
    assert clustered.high - clustered.low > as_single_items.high - as_single_items.low


def test_reference_interval_equals_the_textbook_difference_estimator() -> None:
    """With n of N equal groups and the corrections d of the sampled ones, the estimate is A + mean d
    and its half-width t s sqrt((1 - n / N) / n), computed here with scipy.
    """
    generator = np.random.default_rng(4)
    items, truth = make_items(generator)
    sampled = set(generator.choice(N_GROUPS, 40, replace=False).tolist())
    reviewed = {position for position in range(len(items)) if position // GROUP_SIZE in sampled}
    run = review(items, truth, reviewed, by_group=True)
    settings = EstimationSettings(interval_method="score")
    found = {each.name: each for each in estimate_metrics(run, settings)}["pass rate"]

    automatic = np.array([item.valid for item in items]).reshape(N_GROUPS, GROUP_SIZE).mean(axis=1)
    human = np.array(truth).reshape(N_GROUPS, GROUP_SIZE).mean(axis=1)
    corrections = (human - automatic)[sorted(sampled)]
    estimated = automatic.mean() + corrections.mean()
    deviation = corrections.std(ddof=1) * np.sqrt((1 - 40 / N_GROUPS) / 40)
    half_width = student_quantile(0.975, 39) * deviation
    assert found.estimated == pytest.approx(estimated)
    assert found.low == pytest.approx(estimated - half_width, rel=1e-4)
    assert found.high == pytest.approx(estimated + half_width, rel=1e-4)


@pytest.mark.parametrize("degrees_of_freedom", [1, 2, 3, 5, 10, 40, 1000])
def test_t_quantile_equals_that_of_scipy(degrees_of_freedom: int) -> None:
    expected = student_quantile(0.975, degrees_of_freedom)
    assert compute_t_quantile(degrees_of_freedom) == pytest.approx(expected, rel=0.01)


def test_reference_interval_needs_two_sampled_groups() -> None:
    items, truth = make_items(np.random.default_rng(4))
    run = review(items, truth, set(range(GROUP_SIZE)), by_group=True)
    settings = EstimationSettings(interval_method="score")
    found = {each.name: each for each in estimate_metrics(run, settings)}["pass rate"]
    assert found.low is None and found.method == "few groups"
