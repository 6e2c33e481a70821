"""Plans before the first label rest on stated assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pytest

from fcreview.model.metric import Metric, ScoredItem, build_pass_rate_metric
from fcreview.stats.estimation import EstimationInput, MetricFunction, PlannedLabels
from fcreview.stats.label_plan import plan_first_labels
from fcreview.stats.posterior import ItemStatus
from fcreview.stats.source_strata import SourceVerdicts

Z = 2.0537489106318225  # quantile of the interval between the percentiles 2 and 98
N_ITEMS = 1000
GOALS = [PlannedLabels(width, labels=None) for width in (5.0, 3.0, 2.0)]


def make_run(compute_metrics: MetricFunction, categories: Sequence[str]) -> EstimationInput:
    verdicts = np.random.default_rng(0).random(len(categories)) < 0.7
    items = []
    statuses = []
    for number, (verdict, category) in enumerate(zip(verdicts, categories, strict=True)):
        items.append(ScoredItem(str(number), category, group=None, valid=bool(verdict)))
        statuses.append(ItemStatus(category, bool(verdict)))
    return EstimationInput(items, items, statuses, compute_metrics)


def compute_accuracy(items: Sequence[ScoredItem]) -> list[Metric]:
    return [build_pass_rate_metric("accuracy", "accuracy", items)]


def compute_mean_of_categories(items: Sequence[ScoredItem]) -> list[Metric]:
    verdicts: dict[str, list[bool]] = {}
    for item in items:
        verdicts.setdefault(item.category, []).append(item.valid is True)
    rates = [float(np.mean(of_category)) for of_category in verdicts.values()]
    return [Metric("mean", "mean", value=float(np.mean(rates)))]


def count_labels(variance: float, points: float, factor: float = 1.0, z: float = Z) -> int:
    spread = z**2 * variance * factor
    return ceil(spread / ((points / 100) ** 2 + spread / N_ITEMS))


def test_plan_without_judges_assumes_the_worst_case() -> None:
    plan = plan_first_labels(make_run(compute_accuracy, ["all"] * N_ITEMS), [], GOALS)
    (goals,) = plan.plan_by_metric.values()
    assert [goal.labels for goal in goals] == [
        count_labels(0.25, points) for points in (5.0, 3.0, 2.0)
    ]
    assert all(goal.with_judges is None and goal.is_assumed for goal in goals)
    assert plan.source_names == []


def test_plan_with_judges_uses_the_number_of_passing_verdicts() -> None:
    generator = np.random.default_rng(1)
    truth = generator.random(N_ITEMS) < 0.5
    judges = []
    for number in range(3):
        verdicts = np.where(generator.random(N_ITEMS) < 0.8, truth, ~truth)
        judges.append(SourceVerdicts(f"judge {number}", [bool(each) for each in verdicts]))
    plan = plan_first_labels(make_run(compute_accuracy, ["all"] * N_ITEMS), judges, GOALS)

    counts = np.array([judge.verdicts for judge in judges]).sum(axis=0)
    rates = (counts + 0.5) / 4
    variance = float((rates * (1 - rates)).mean())
    (goals,) = plan.plan_by_metric.values()
    assert [goal.with_judges for goal in goals] == [
        count_labels(variance, points) for points in (5.0, 3.0, 2.0)
    ]
    assert set(plan.source_names) == {"judge 0", "judge 1", "judge 2"}


def test_plan_of_a_mean_of_categories_allows_for_unequal_weights() -> None:
    """Two categories with 100 and 900 items have the weight 1/2 each."""
    run = make_run(compute_mean_of_categories, ["small"] * 100 + ["large"] * 900)
    (goals,) = plan_first_labels(run, [], GOALS[:1]).plan_by_metric.values()
    factor = 0.5**2 / 0.1 + 0.5**2 / 0.9
    assert goals[0].labels == count_labels(0.25, 5.0, factor, z=2.1700903775845606)


def test_metrics_that_are_no_mean_of_verdicts_have_no_plan() -> None:
    def compute_square(items: Sequence[ScoredItem]) -> list[Metric]:
        share = float(np.mean([item.valid is True for item in items]))
        return [Metric("square", "square", value=share**2)]

    categories = ["a"] * 50 + ["b"] * 50
    assert plan_first_labels(make_run(compute_square, categories), [], GOALS).plan_by_metric == {}


@pytest.mark.parametrize("points", [5.0, 3.0, 2.0])
def test_planned_sample_reaches_its_width_in_the_worst_case(points: float) -> None:
    """The formula solves z sqrt(V (1/n - 1/N)) <= w for n."""
    n = count_labels(0.25, points)
    half_width = Z * np.sqrt(0.25 * (1 / n - 1 / N_ITEMS))
    assert half_width <= points / 100
    assert Z * np.sqrt(0.25 * (1 / (n - 1) - 1 / N_ITEMS)) > points / 100
