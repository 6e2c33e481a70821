"""Plan how many labels a sample needs, before the first label.

Without a label, nobody knows how often people pass the items. The plan therefore rests on stated
assumptions:

* Without judges, half of the items pass, which is the worst case: the variance of a verdict is
  V = 1/4.
* With several automatic sources, people pass (j + 1/2) / (k + 1) of the items of which j of k
  sources pass, so V is the mean of q (1 - q) over all items, where q is this rate.

With N items, the interval of a simple random sample has the half-width w if the sample has

    n = z^2 V F / (w^2 + z^2 V F / N)

items. F is 1 for a share of all items. For a score that weighs categories unevenly, F = sum of
o_c^2 / W_c, where o_c is the weight of category c in the score and W_c its share of the items
(the design effect of unequal weights, Kish 1965).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from fcreview.model.metric import MetricKey
from fcreview.stats.answer_model import MetricCalculator
from fcreview.stats.estimation import (
    CHANGE_TOLERANCE,
    EVEN_QUANTILE,
    PERCENTAGE_POINT,
    UNEVEN_QUANTILE,
    EstimationInput,
    PlannedLabels,
)
from fcreview.stats.source_strata import (
    SourceVerdicts,
    choose_planned_sources,
    count_passing_sources,
    predict_pass_rate,
)

WORST_VARIANCE = 0.25
"""Variance of a verdict if half of the items pass."""
MIN_SOURCES = 2
"""Minimum number of sources of a plan with judges."""


@dataclass(frozen=True, slots=True)
class FirstPlan:
    """A plan before the first label."""

    plan_by_metric: dict[MetricKey, list[PlannedLabels]]
    """Plans of the metrics that are means of item verdicts."""
    source_names: list[str]
    """Sources of the column with judges; empty if the run has too few."""


def plan_first_labels(
    run: EstimationInput, sources: Sequence[SourceVerdicts], goals: Sequence[PlannedLabels]
) -> FirstPlan:
    """Plan the labels of each metric of a run of which no sample is reviewed.

    Args:
        run: The items of the run, one entry for each.
        sources: The automatic sources, with one verdict for each item.
        goals: The half-widths for which to plan.
    """
    chosen = choose_planned_sources(sources)
    if len(chosen) < MIN_SOURCES:
        chosen = []
    variance_with_judges = _predict_variance(chosen) if chosen else None

    # As in estimates, items without an automatic verdict count only when they are reviewed.
    positions = []
    for position, status in enumerate(run.statuses):
        if status.automatic is not None:
            positions.append(position)
    plans = {}
    for key, factor in _find_weight_factors(run, positions).items():
        planner = _Planner(len(positions), weight_factor=factor)
        plans[key] = [planner.plan_goal(goal, variance_with_judges) for goal in goals]
    return FirstPlan(plans, source_names=[source.name for source in chosen])


def _predict_variance(sources: Sequence[SourceVerdicts]) -> float:
    """Predict the variance of a verdict within the strata by the number of passing sources."""
    counts = count_passing_sources(sources)
    variances = []
    for n_passing in range(len(sources) + 1):
        rate = predict_pass_rate(n_passing, len(sources))
        variances.append(rate * (1 - rate))
    return float(np.array(variances)[counts].mean())


@dataclass(frozen=True, slots=True)
class _Planner:
    n_items: int
    weight_factor: float
    """F in the formula of this module."""

    def count_labels(self, variance: float, half_width: float) -> int:
        """Return n of the formula. `half_width` is in percentage points."""
        is_even = self.weight_factor < 1 + CHANGE_TOLERANCE
        quantile = EVEN_QUANTILE if is_even else UNEVEN_QUANTILE
        spread = quantile**2 * variance * self.weight_factor
        target = (half_width / 100) ** 2
        return ceil(spread / (target + spread / self.n_items) - CHANGE_TOLERANCE)

    def plan_goal(self, goal: PlannedLabels, variance_with_judges: float | None) -> PlannedLabels:
        """Return the goal with its labels. `variance_with_judges` is None without judges."""
        labels = self.count_labels(WORST_VARIANCE, goal.half_width)
        with_judges = None
        if variance_with_judges is not None:
            with_judges = self.count_labels(variance_with_judges, goal.half_width)
        return replace(goal, labels=labels, with_judges=with_judges, is_assumed=True)


def _find_weight_factors(run: EstimationInput, positions: Sequence[int]) -> dict[MetricKey, float]:
    """Return the design effect F (Kish 1965) for each metric that is a mean of the verdicts on the
    items at these positions: a metric needs F times as many labels as a mean of equal weights.

    F is the sum of o^2 / W over all categories, where o is the weight of the category in the
    metric, and W its share of the items.
    """
    scales = _find_metric_scales(run)
    calculator = MetricCalculator(run.automatic_items, run.automatic_items, run.compute_metrics)
    factors = dict.fromkeys(scales, 0.0)
    weight_sums = dict.fromkeys(scales, 0.0)
    for positions_of_category in _group_by_category(run, positions):
        share_of_items = len(positions_of_category) / len(positions)
        weights = _find_category_weights(calculator, positions_of_category, scales)
        for key, weight in weights.items():
            factors[key] += weight**2 / share_of_items
            weight_sums[key] += weight

    # The weights of a mean add up to 1. Any other metric has no plan.
    return {
        key: factor
        for key, factor in factors.items()
        if abs(weight_sums[key] - 1) < CHANGE_TOLERANCE
    }


def _find_metric_scales(run: EstimationInput) -> dict[MetricKey, float]:
    """Return the value if all items pass, 1 or 100, of each metric that can be a mean of verdicts.
    Such a mean is 0 if all items fail.
    """
    scales = {}
    for metric in run.compute_metrics(run.automatic_items):
        if metric.unit in PERCENTAGE_POINT:
            scales[metric.key] = 100 * PERCENTAGE_POINT[metric.unit]
    return scales


def _group_by_category(run: EstimationInput, positions: Sequence[int]) -> Iterable[list[int]]:
    """Return the positions of the items of each category."""
    positions_by_category: dict[str, list[int]] = {}
    for position in positions:
        category = run.statuses[position].category
        positions_by_category.setdefault(category, []).append(position)
    return positions_by_category.values()


def _find_category_weights(
    calculator: MetricCalculator, positions: Sequence[int], scales: Mapping[MetricKey, float]
) -> dict[MetricKey, float]:
    """Return the weight of a category in each metric: the change of the metric if all items of the
    category pass instead of fail, as a share of the scale of the metric.
    """
    passing = calculator.compute_with_same_verdict(positions, verdict=True)
    failing = calculator.compute_with_same_verdict(positions, verdict=False)
    weights = {}
    for key, scale in scales.items():
        if key in passing and key in failing:
            weights[key] = (passing[key] - failing[key]) / scale
    return weights
