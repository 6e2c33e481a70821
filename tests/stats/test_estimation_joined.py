"""Runs estimated together: their figures, through the draws of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem
from fcreview.stats.estimation import EstimationInput, MetricEstimate, combine_runs, estimate_metrics
from fcreview.stats.posterior import ItemStatus
from tests.examples import only_long
from tests.stats.test_estimation import drawn_from, made, run_of, settle


def mean_of_both(parts: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
    rates = [sum(row.valid is True for row in rows) / len(rows) for rows in parts]
    return [Metric("together", "mean", sum(rates) / len(rates)), Metric("together", "first", rates[0])]


def sampled(n: int, seed: int, reviewed: int, *, random: bool = True) -> tuple[list[ItemStatus], float]:
    """Standings with a uniform sample, and the true pass rate."""
    standings, truth = made(n, seed)
    generator = np.random.default_rng(1000 + seed)
    chosen = drawn_from(standings, reviewed / n) if random else standings
    settle(chosen, truth, generator.choice(n, reviewed, replace=False).tolist(), random=random)
    return chosen, float(truth.mean())


def found(*parts: Sequence[ItemStatus], seed: int = 0) -> dict[str, MetricEstimate]:
    run = combine_runs([run_of(each) for each in parts], mean_of_both)
    return {one.name: one for one in estimate_metrics(run, half_width=2.0, seed=seed)}


def width(one: MetricEstimate) -> float:
    assert one.low is not None and one.high is not None
    return one.high - one.low


def test_each_part_has_its_own_uncertainty() -> None:
    """The mean of two independent rates has half the root of the sum of their variances."""
    first, second = sampled(600, 1, 80)[0], sampled(300, 2, 40)[0]
    alone = [next(iter(estimate_metrics(run_of(each), 2.0))) for each in (first, second)]
    together = found(first, second)
    assert width(together["mean"]) == pytest.approx(sum(width(each) ** 2 for each in alone) ** 0.5 / 2, rel=0.12)
    assert width(together["first"]) == pytest.approx(width(alone[0]), rel=0.12)
    assert (together["mean"].n_random, together["first"].n_random) == (120, 80)


def test_a_part_without_errors_says_nothing_of_the_other() -> None:
    first = sampled(400, 3, 60)[0]
    right = drawn_from([ItemStatus("simple", True) for _ in range(400)], 0.5)
    settle(right, [True] * 400, range(200), random=True)
    beside = found(first, right)["first"]
    assert width(beside) == pytest.approx(width(found(first, sampled(400, 4, 60)[0])["first"]), rel=0.12)


def test_what_one_part_has_no_sample_for_has_no_interval() -> None:
    together = found(sampled(400, 5, 60)[0], sampled(400, 6, 60, random=False)[0])
    assert (together["mean"].method, together["mean"].low) == ("not sampled", None)
    assert together["first"].method == "posterior" and together["first"].low is not None


def test_parts_reviewed_whole_are_known() -> None:
    whole, truth = made(50, 7)
    settle(whole, truth, range(50), random=False)
    together = found(whole, whole)["mean"]
    assert together.method == "all known" and together.low == together.high == pytest.approx(truth.mean())


@pytest.mark.sweep
@only_long
def test_the_intervals_hold_as_often_as_they_say() -> None:
    held, rounds = 0, 60
    for at in range(rounds):
        parts = [sampled(500, 2 * at, 60), sampled(200, 2 * at + 1, 40)]
        one = found(*(standings for standings, _ in parts), seed=at)["mean"]
        assert one.low is not None and one.high is not None
        held += one.low <= sum(truth for _, truth in parts) / 2 <= one.high
    assert held / rounds >= 0.92


def test_rows_go_to_their_own_part() -> None:
    parts = [run_of(sampled(30, 8, 5)[0]), run_of(sampled(20, 9, 5)[0])]
    seen: list[list[int]] = []

    def lengths(rows: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
        seen.append([len(some) for some in rows])
        return mean_of_both(rows)

    run: EstimationInput = combine_runs(parts, lengths)
    assert run.compute_metrics(run.reviewed_items)[1].value == pytest.approx(
        parts[0].compute_metrics(parts[0].reviewed_items)[0].value
    )
    assert seen == [[30, 20]]
