"""Metrics of several runs are estimated from the draws of each run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem
from fcreview.stats.estimation import (
    EstimationInput,
    EstimationSettings,
    MetricEstimate,
    combine_runs,
    estimate_metrics,
)
from fcreview.stats.posterior import ItemStatus
from tests.examples import only_long
from tests.stats.test_estimation import (
    make_input,
    make_items,
    review_items,
    set_inclusion_probability,
)


def compute_means(parts: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
    rates = [sum(row.valid is True for row in rows) / len(rows) for rows in parts]
    return [
        Metric("together", "mean", value=sum(rates) / len(rates)),
        Metric("together", "first", value=rates[0]),
    ]


def make_sampled_items(
    n: int, seed: int, reviewed: int, *, random: bool = True
) -> tuple[list[ItemStatus], float]:
    """Return items with a uniform sample, and the true pass rate."""
    standings, truth = make_items(n, seed)
    generator = np.random.default_rng(1000 + seed)
    chosen = set_inclusion_probability(standings, reviewed / n) if random else standings
    review_items(
        chosen, truth, generator.choice(n, reviewed, replace=False).tolist(), random=random
    )
    return chosen, float(truth.mean())


def estimate(*parts: Sequence[ItemStatus], seed: int = 0) -> dict[str, MetricEstimate]:
    run = combine_runs([make_input(each) for each in parts], compute_means)
    return {one.name: one for one in estimate_metrics(run, EstimationSettings(seed=seed))}


def interval_width(one: MetricEstimate) -> float:
    assert one.low is not None and one.high is not None
    return one.high - one.low


def test_runs_have_independent_uncertainty() -> None:
    """The standard error of the mean of two independent rates is half the root of the sum of
    their variances.
    """
    first, second = make_sampled_items(600, 1, 80)[0], make_sampled_items(300, 2, 40)[0]
    alone = [next(iter(estimate_metrics(make_input(each)))) for each in (first, second)]
    together = estimate(first, second)
    assert interval_width(together["mean"]) == pytest.approx(
        sum(interval_width(each) ** 2 for each in alone) ** 0.5 / 2, rel=0.12
    )
    assert interval_width(together["first"]) == pytest.approx(interval_width(alone[0]), rel=0.12)
    assert (together["mean"].n_random, together["first"].n_random) == (120, 80)


def test_run_without_errors_does_not_affect_another_run() -> None:
    first = make_sampled_items(400, 3, 60)[0]
    right = set_inclusion_probability([ItemStatus("simple", True) for _ in range(400)], 0.5)
    review_items(right, [True] * 400, range(200), random=True)
    beside = estimate(first, right)["first"]
    assert interval_width(beside) == pytest.approx(
        interval_width(estimate(first, make_sampled_items(400, 4, 60)[0])["first"]), rel=0.12
    )


def test_metric_has_no_interval_if_one_run_is_not_sampled() -> None:
    together = estimate(
        make_sampled_items(400, 5, 60)[0], make_sampled_items(400, 6, 60, random=False)[0]
    )
    assert (together["mean"].method, together["mean"].low) == ("not sampled", None)
    assert together["first"].method == "posterior" and together["first"].low is not None


def test_fully_reviewed_runs_are_known() -> None:
    whole, truth = make_items(50, 7)
    review_items(whole, truth, range(50), random=False)
    together = estimate(whole, whole)["mean"]
    assert together.method == "all known" and together.low == together.high == pytest.approx(
        truth.mean()
    )


@pytest.mark.sweep
@only_long
def test_intervals_have_the_stated_coverage() -> None:
    hits, rounds = 0, 60
    for at in range(rounds):
        parts = [make_sampled_items(500, 2 * at, 60), make_sampled_items(200, 2 * at + 1, 40)]
        one = estimate(*(standings for standings, _ in parts), seed=at)["mean"]
        assert one.low is not None and one.high is not None
        hits += one.low <= sum(truth for _, truth in parts) / 2 <= one.high
    assert hits / rounds >= 0.92


def test_rows_are_split_by_run() -> None:
    parts = [
        make_input(make_sampled_items(30, 8, 5)[0]),
        make_input(make_sampled_items(20, 9, 5)[0]),
    ]
    seen: list[list[int]] = []

    def compute_with_lengths(rows: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
        seen.append([len(items) for items in rows])
        return compute_means(rows)

    run: EstimationInput = combine_runs(parts, compute_with_lengths)
    assert run.compute_metrics(run.reviewed_items)[1].value == pytest.approx(
        parts[0].compute_metrics(parts[0].reviewed_items)[0].value
    )
    assert seen == [[30, 20]]
