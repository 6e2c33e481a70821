"""Estimate the metrics that a run would have if all items were reviewed, with a 95 % interval if
items of a random sample were reviewed.

The module finds the items and criteria on which each metric depends, draws the verdicts of
unreviewed items from the posterior, and computes the metrics of each draw. It also plans the
extension of a sample, combines runs whose results are published together, and estimates the pass
rate of all items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from fcreview.model.metric import Metric, MetricKey, MetricUnit, ScoredItem
from fcreview.stats.answer_model import (
    AnswerModel,
    CriterionAnswers,
    MetricCalculator,
    MetricFunction,
    MetricValues,
    collect_metric_values,
    draw_answer_metrics,
    find_answer_scale,
    get_scale_ends,
    replace_answer,
)
from fcreview.stats.cluster_estimation import (
    GroupMetrics,
    GroupValues,
    build_groups,
    compute_metric_estimate,
    compute_reference_interval,
    draw_metric_values,
    find_group_metrics,
    make_pass_rate_values,
)
from fcreview.stats.incidents import omit_incidents_keeping_positions
from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.label_errors import LabelAgreement, correct_share, find_sensitivity
from fcreview.stats.posterior import (
    DEFAULT_DRAWS,
    SEED,
    AutomaticOutcome,
    Cells,
    FloatArray,
    IntArray,
    ItemStatus,
    Population,
    PosteriorDraws,
    RunCategory,
    SampleStrata,
    VarianceModel,
    allocate_reviews,
    build_population,
    count_needed_reviews,
    count_needed_uniform_reviews,
    draw_posterior,
)
from fcreview.stats.sampling import format_stratum_name
from fcreview.stats.score_interval import (
    ScoreInterval,
    ScoreStratum,
    compute_score_interval,
)
from fcreview.stats.source_strata import remove_source_strata


@dataclass(frozen=True, slots=True)
class EstimationInput:
    """Data of one run or of combined runs. The first three sequences have one entry per item."""

    automatic_items: Sequence[ScoredItem]
    reviewed_items: Sequence[ScoredItem]
    """The same items with human verdicts.

    Items without a human verdict keep the automatic verdict.
    """
    statuses: Sequence[ItemStatus]
    compute_metrics: MetricFunction
    criterion_answers: Sequence[CriterionAnswers] = ()


def omit_incidents_from_input(
    run: EstimationInput, compute_metrics: MetricFunction
) -> EstimationInput:
    """Return the data of a run for estimates without incidents. If a category has no other item,
    its items stay, with unknown verdicts (see `fcreview.stats.incidents.omit_incidents`).
    `compute_metrics` must not use figures that include incidents.
    """
    automatic_by_position = omit_incidents_keeping_positions(run.automatic_items)
    # Reviews do not change which items are incidents, so these are the same positions.
    reviewed_by_position = omit_incidents_keeping_positions(run.reviewed_items)
    positions = list(automatic_by_position)

    statuses = [_remove_incident_verdicts(run.statuses[position]) for position in positions]
    criterion_answers = []
    for answers in run.criterion_answers:
        criterion_answers.append(_select_answers(answers, positions))
    return EstimationInput(
        automatic_items=list(automatic_by_position.values()),
        reviewed_items=list(reviewed_by_position.values()),
        statuses=statuses,
        compute_metrics=compute_metrics,
        criterion_answers=criterion_answers,
    )


def _remove_incident_verdicts(status: ItemStatus) -> ItemStatus:
    """Return the status without verdicts if the item is an incident, else the status itself."""
    if not status.is_incident:
        return status
    return replace(status, automatic=None, human=None)


def _select_answers(answers: CriterionAnswers, positions: Sequence[int]) -> CriterionAnswers:
    """Return the answers on the items at these positions."""
    return CriterionAnswers(
        answers.criterion,
        human=[answers.human[position] for position in positions],
        is_reviewed=[answers.is_reviewed[position] for position in positions],
        has_sample_verdict=[answers.has_sample_verdict[position] for position in positions],
    )


EstimationMethod = Literal[
    "posterior",
    "all known",
    "known only",
    "undecided",
    "not sampled",
    "not asked",
    "other verdicts",
    "whole groups",
    "not a mean",
    "few groups",
    "few items",
    "no target",
    "label errors",
]
"""How a metric is estimated: `posterior`, from a random sample, or `all known`, without a sampling
error. All others are reasons why a metric has no estimate.
"""
MIN_CATEGORY_ITEMS = 10
"""Number of reviewed items of a sample from which on the pass rate of a category has an estimate.
With fewer items, the bias of the estimate is larger than a tenth of the interval's half-width
(docs/coverage.md).
"""
METHOD_REASONS: dict[EstimationMethod, str] = {
    "posterior": "",
    "all known": "all items that the metric depends on have a human verdict",
    "known only": "no item was reviewed as part of a random sample",
    "undecided": "all reviewed items of the sample are unsure, skipped or in disagreement",
    "not sampled": "some items that the metric depends on could not be drawn in a sample",
    "not asked": "the metric needs human answers on {criteria} for every reviewed item of the"
    " sample",
    "other verdicts": "the metric does not depend on item verdicts",
    "whole groups": (
        "the metric judges whole tasks or conversations, but the sample has single items. Draw a"
        " sample with fcreview"
        " queue create --cluster"
    ),
    "not a mean": "the metric is not a mean over tasks or conversations",
    "few groups": "too few tasks or conversations of the sample are reviewed",
    "few items": (
        f"fewer than {MIN_CATEGORY_ITEMS} items of the category are reviewed as part of a random"
        " sample. Draw more with fcreview queue extend --target"
    ),
    "label errors": "the correction for errors of annotators needs a metric that is a mean of item"
    " verdicts",
    "no target": "the metric measures the spread of the results, so there is no true value to"
    " estimate",
}
"""Estimation method -> words for why a metric has no interval from the posterior, or no words."""
CHANGE_TOLERANCE = 1e-9
WEIGHT_DIGITS = 12
"""Decimals to which the weights of cells are compared."""
ROUNDING_TOLERANCE = 1e-6
"""Largest rounding error of a metric, as a part of its change if one more item passes."""


def explain_missing_interval(method: EstimationMethod, criteria: Sequence[str] = ()) -> str:
    """Explain why a metric that depends on `criteria` has no interval from the posterior, or
    return "".
    """
    return METHOD_REASONS[method].format(criteria=" and ".join(criteria))


class ItemCounts(NamedTuple):
    n_random: int
    """Number of items that were reviewed as part of a random sample."""
    n_known: int
    """Number of items with a human verdict."""
    n_items: int


class MetricDependencies:
    """Categories and criteria on which each metric depends, found by changing verdicts and
    answers.
    """

    def __init__(
        self, run: EstimationInput, models: Sequence[AnswerModel], *, is_sampled: bool
    ) -> None:
        """`is_sampled` states whether at least one item of a random sample has a human verdict."""
        self._run = run
        self._is_sampled = is_sampled
        self._models = {model.criterion: model for model in models}
        self._changed_by_verdicts = dict(self._find_metrics_changed_by_verdicts())
        self._changed_by_answers = self._find_metrics_changed_by_criteria()
        self._population = build_population(run.statuses)

    def find_criteria(self, key: MetricKey) -> tuple[str, ...]:
        """Return the criteria on which a metric depends, or nothing if it depends on item
        verdicts.
        """
        if _select_categories(self._changed_by_verdicts, key):
            return ()
        return tuple(
            criterion
            for criterion, changed in self._changed_by_answers.items()
            if _select_categories(changed, key)
        )

    def count_items(self, key: MetricKey) -> ItemCounts:
        """Count the items on which a metric depends.

        A metric of several criteria has the counts of the criterion with the most random reviews.
        They are not added, because one item can have answers on each criterion.
        """
        counts = [self._count_changing_items(self._run.statuses, self._changed_by_verdicts, key)]
        for criterion in self.find_criteria(key):
            model = self._models.get(criterion)
            if model is not None:
                changed = self._changed_by_answers[criterion]
                counts.append(self._count_changing_items(model.statuses, changed, key))
        # The number of random reviews is the first field of `ItemCounts`.
        return max(counts)

    @staticmethod
    def _count_changing_items(
        statuses: Sequence[ItemStatus],
        changed: Mapping[RunCategory, set[MetricKey]],
        key: MetricKey,
    ) -> ItemCounts:
        """Count the items of the categories whose verdicts change the metric."""
        items = [status for status in statuses if key in changed.get(status.run_category, ())]
        return ItemCounts(
            sum(status.has_sample_verdict for status in items),
            n_known=sum(status.human is not None for status in items),
            n_items=len(items),
        )

    def choose_method(self, key: MetricKey) -> EstimationMethod:
        """Return the method by which a metric is estimated, or the reason why the metric has no
        estimate (both are values of `EstimationMethod`).
        """
        # Verdicts come first: if they change the metric, its estimate ignores other criteria.
        categories_of_verdicts = _select_categories(self._changed_by_verdicts, key)
        if categories_of_verdicts:
            return self._choose_method_for_verdicts(categories_of_verdicts)

        criteria = self.find_criteria(key)
        if not criteria:
            # Neither item verdicts nor answers change the metric.
            return "other verdicts"
        # The metric has an estimate only if all its criteria have one.
        for criterion in criteria:
            method = self._choose_method_for_criterion(criterion, key)
            if method != "posterior":
                return method
        return "posterior"

    def _choose_method_for_verdicts(self, categories: set[RunCategory]) -> EstimationMethod:
        """Return the method for a metric that depends on the verdicts of items of these categories,
        or the reason why there is none.
        """
        method = _choose_method(
            categories, self._run.statuses, self._population, is_sampled=self._is_sampled
        )
        if method != "known only":
            return method

        # No random item has a verdict: none was reviewed, or all reviewed ones are undecided.
        has_undecided_items = any(status.is_undecided for status in self._run.statuses)
        return "undecided" if has_undecided_items else "known only"

    def _choose_method_for_criterion(self, criterion: str, key: MetricKey) -> EstimationMethod:
        """Return the method for a metric that depends on answers to another criterion than the
        verdict, or the reason why there is none.
        """
        model = self._models.get(criterion)
        has_sampled_answers = model is not None and model.population.n_random > 0
        if model is not None:
            method = _choose_method(
                _select_categories(self._changed_by_answers[criterion], key),
                model.statuses,
                model.population,
                is_sampled=has_sampled_answers,
            )
            if method == "all known" or model.is_sampled:
                return method

        # The answers are no random sample. In a sample, reviewers may have answered only the main
        # question on some items. Without a sample, there are only verdicts on chosen items.
        has_sample = self._is_sampled or has_sampled_answers
        return "not asked" if has_sample else "known only"

    def _find_metrics_changed_by_verdicts(self) -> Iterator[tuple[RunCategory, set[MetricKey]]]:
        """Yield the metrics that differ if all items of a category pass, and if all fail."""
        run = self._run
        calculator = MetricCalculator(run.automatic_items, run.reviewed_items, run.compute_metrics)
        positions = [
            position
            for position, status in enumerate(run.statuses)
            if status.automatic is not None or status.human is not None
        ]
        for category, group in self._group_positions_by_category(positions):
            passing = calculator.compute_with_same_verdict(group, verdict=True)
            failing = calculator.compute_with_same_verdict(group, verdict=False)
            yield category, _find_changed_metrics(passing, failing)

    def _find_metrics_changed_by_criteria(
        self,
    ) -> dict[str, dict[RunCategory, set[MetricKey]]]:
        """Return the metrics that answers change, by criterion and category. Criteria that change
        no metric are omitted.
        """
        criteria: dict[str, None] = {}
        for item in self._run.automatic_items:
            criteria.update(dict.fromkeys(item.values))

        changed_by_criterion: dict[str, dict[RunCategory, set[MetricKey]]] = {}
        for criterion in criteria:
            changed = dict(self._find_metrics_changed_by_answers(criterion))
            if any(changed.values()):
                changed_by_criterion[criterion] = changed
        return changed_by_criterion

    def _find_metrics_changed_by_answers(
        self, criterion: str
    ) -> Iterator[tuple[RunCategory, set[MetricKey]]]:
        """Yield the metrics that differ if all answers of a category have the lowest value of the
        criterion's scale, and if all have the highest.
        """
        automatic = [item.values.get(criterion) for item in self._run.automatic_items]
        scale = find_answer_scale(criterion, automatic)
        if scale is None:
            return

        lowest, highest = get_scale_ends(scale)
        answered = [position for position, value in enumerate(automatic) if value is not None]
        for category, positions in self._group_positions_by_category(answered):
            lowest_values = self._compute_with_same_answer(positions, criterion, lowest)
            highest_values = self._compute_with_same_answer(positions, criterion, highest)
            yield category, _find_changed_metrics(lowest_values, highest_values)

    def _compute_with_same_answer(
        self, positions: Iterable[int], criterion: str, answer: Any
    ) -> MetricValues:
        """Compute the metrics as if all these items had the same answer to a criterion."""
        items = list(self._run.reviewed_items)
        for position in positions:
            items[position] = replace_answer(items[position], criterion, answer)
        return collect_metric_values(self._run.compute_metrics(items))

    def _group_positions_by_category(
        self, positions: Iterable[int]
    ) -> Iterator[tuple[RunCategory, list[int]]]:
        """Yield each category of items with the positions of its items."""
        groups: dict[RunCategory, list[int]] = {}
        for position in positions:
            category = self._run.statuses[position].run_category
            groups.setdefault(category, []).append(position)
        yield from groups.items()


def _select_categories(
    changed_metrics: Mapping[RunCategory, set[MetricKey]], key: MetricKey
) -> set[RunCategory]:
    return {category for category, keys in changed_metrics.items() if key in keys}


def _choose_method(
    categories: set[RunCategory],
    statuses: Sequence[ItemStatus],
    population: Population,
    *,
    is_sampled: bool,
) -> EstimationMethod:
    """Return how a metric is estimated that depends on the verdicts of these categories, or why it
    is not.

    Unreviewed items stand in strata of the sample, and unsampled items in none.
    """
    unreviewed: set[RunCategory] = set()
    for positions in population.unreviewed:
        unreviewed.update(statuses[position].run_category for position in positions)
    unsampled = {statuses[position].run_category for position in population.unsampled}

    if not categories & (unreviewed | unsampled):
        return "all known"
    if not is_sampled:
        return "known only"
    return "not sampled" if categories & unsampled else "posterior"


def _find_changed_metrics(before: MetricValues, after: MetricValues) -> set[MetricKey]:
    keys = before.keys() | after.keys()
    return {
        key for key in keys if abs(before.get(key, -1.0) - after.get(key, -1.0)) > CHANGE_TOLERANCE
    }


ESTIMATED_UNITS: tuple[MetricUnit, ...] = ("share", "percent", "score")
INTERVAL_PERCENTILES = (2.0, 98.0)
"""Percentiles of the draws between which an interval lies. They contain more than 95 % of the
draws, because Jeffreys intervals contain the true value too rarely at some rates (Brown, Cai and
DasGupta 2001).
"""
UNEVEN_INTERVAL_PERCENTILES = (1.5, 98.5)
"""Percentiles for a metric that weighs categories unevenly, and for samples of whole groups.
docs/coverage.md has the measurements.
"""
EVEN_QUANTILE = NormalDist().inv_cdf(INTERVAL_PERCENTILES[1] / 100)
"""Half-width of an interval with `INTERVAL_PERCENTILES`, in standard deviations of a normal
distribution.
"""
UNEVEN_QUANTILE = NormalDist().inv_cdf(UNEVEN_INTERVAL_PERCENTILES[1] / 100)
"""The same for `UNEVEN_INTERVAL_PERCENTILES`."""
PERCENTAGE_POINT: dict[MetricUnit, float] = {"share": 0.01, "percent": 1.0}
"""Value of one percentage point in each unit of a rate."""
FULL_VALUE: dict[MetricUnit, float] = {"share": 1.0, "percent": 100.0}
"""Value of a rate of 100 % in each unit of a rate."""


@dataclass(frozen=True, slots=True)
class PlannedLabels:
    """Number of further labels for a goal, with the probability
    `fcreview.stats.posterior.ASSURANCE`.
    """

    half_width: float
    """Half-width of the interval, in percentage points."""
    labels: int | None
    """Number of further random items to review; None if the goal cannot be reached."""
    difference: float | None = None
    """Difference between two runs, in percentage points, that `labels` labels of each run show;
    None for a goal for one run. The test has a power of 80 % at a level of 5 %.
    """
    with_judges: int | None = None
    """The same number if the estimate divides the items by how many automatic sources pass them;
    None without such strata. `labels` is then the number without them.
    """
    is_assumed: bool = False
    """Whether the numbers rest on assumptions, because nothing is labelled (see
    `fcreview.stats.label_plan`).
    """


POWER_QUANTILE = NormalDist().inv_cdf(0.8)


def find_half_width_for_difference(difference: float) -> float:
    """Return the half-width of a run's interval with which two runs of equal precision show a
    difference with a power of 80 %. The unit is that of `difference`.
    """
    return difference * NORMAL_QUANTILE / ((NORMAL_QUANTILE + POWER_QUANTILE) * sqrt(2))


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    table: str
    level: int
    name: str
    unit: MetricUnit
    digits: int
    automatic: float | None
    corrected: float | None
    """Value from human verdicts, and from the automatic verdicts of items without a human
    verdict.
    """
    estimated: float | None
    low: float | None
    high: float | None
    n_random: int
    """Number of items that were reviewed as part of a random sample, in the categories that the
    metric depends on.
    """
    n_known: int
    """Number of items with a human verdict, in the categories that the metric depends on."""
    method: EstimationMethod
    needed: int | None
    """Number of further reviews of random items after which the interval has the requested
    width; None if unknown.
    """
    criteria: tuple[str, ...] = ()
    """Criteria on which the metric depends; empty if the metric depends on item verdicts."""
    n_undecided: int = 0
    bounds: tuple[float, float] | None = None
    """Lowest and highest end of the intervals if all undecided items fail and if all pass; None
    without such items.
    """
    is_bounds_headline: bool = False
    """Whether to show the bounds instead of the interval, because too many items of the sample
    are undecided.
    """
    plan: Sequence[PlannedLabels] = ()
    sensitivity: tuple[float, float] | None = None
    """Ends of the interval if 95 % of the labels are right; None for a metric that is not a mean
    of item verdicts.
    """

    @property
    def headline(self) -> Literal["interval", "bounds"] | None:
        """What screens show: the interval or the bounds; None if there is neither."""
        if self.is_bounds_headline:
            return "bounds"
        return None if self.low is None else "interval"

    @property
    def key(self) -> MetricKey:
        return self.table, self.level, self.name


@dataclass(frozen=True, slots=True)
class MetricDraws:
    """Draws of the verdicts of unreviewed items from the posterior, and the metrics of each
    draw.
    """

    calculator: MetricCalculator
    population: Population
    posterior: PosteriorDraws
    values: Mapping[MetricKey, FloatArray]
    """Values of each metric, one per draw, in the order of `posterior.passes`."""
    values_if_all_fail: MetricValues
    """The metrics if all unreviewed items fail."""
    seed: int

    def build_variance_models(self, keys: Sequence[MetricKey]) -> dict[MetricKey, VarianceModel]:
        """Build a variance model for each metric."""
        weights = self._compute_cell_weights(keys)
        return {key: self._build_variance_model(key, weight) for key, weight in weights.items()}

    def _build_variance_model(self, key: MetricKey, weights: FloatArray) -> VarianceModel:
        is_even = self.is_evenly_weighted(weights)
        return VarianceModel(
            self.population.cells,
            posterior=self.posterior,
            weights=weights,
            variance=float(self.select_draws(key, weights).var()),
            quantile=EVEN_QUANTILE if is_even else UNEVEN_QUANTILE,
        )

    def _compute_cell_weights(self, keys: Sequence[MetricKey]) -> dict[MetricKey, FloatArray]:
        """Return for each metric by how much it changes if one more item of a cell passes."""
        weights = {key: np.zeros(len(self.population.cell_keys)) for key in keys}
        for cell, items in enumerate(self.population.unreviewed):
            passing = self.calculator.compute_with_same_verdict(items, verdict=True)
            failing = self.calculator.compute_with_same_verdict(items, verdict=False)
            for key, weight in weights.items():
                if items and key in passing and key in failing:
                    weight[cell] = (passing[key] - failing[key]) / len(items)
        return weights

    def select_draws(self, key: MetricKey, cell_weights: FloatArray) -> FloatArray:
        """Return the values of a metric in the draws that its interval uses (see
        `PosteriorDraws.passes`).
        """
        values = self.values[key]
        if self.is_evenly_weighted(cell_weights):
            return values[: self.posterior.n_pooled]
        if self.is_category_score(key, cell_weights):
            return self._draw_category_values(key, cell_weights)
        return values

    def compute_mean(self, key: MetricKey, cell_weights: FloatArray) -> float:
        """Compute the point estimate of a metric. It lies between the lowest and the highest draw,
        because the draws show which values are possible.

        The estimate is the posterior mean. Only the pass rate of a category has the poststratified
        estimate (see `compute_score_interval`), because the prior moves the mean of the draws too
        far if a category has few reviewed items.
        """
        if self.is_category_score(key, cell_weights):
            draws = self.select_draws(key, cell_weights)
            estimated = self.compute_score_interval(key, cell_weights).estimated
        else:
            draws = self._select_draws_for_mean(key, cell_weights)
            # Verdicts outside the sample are no random sample, so what they added is taken away.
            excess = self.posterior.mean_excess @ cell_weights
            estimated = float(draws.mean() - excess)
        return min(max(estimated, float(draws.min())), float(draws.max()))

    def _select_draws_for_mean(self, key: MetricKey, cell_weights: FloatArray) -> FloatArray:
        """Return the values of a metric in the draws whose mean is its estimate, without the draws
        that only widen the interval (see `PosteriorDraws`).
        """
        is_even = self.is_evenly_weighted(cell_weights)
        n_draws = self.posterior.n_pooled if is_even else self.posterior.n_estimated
        return self.values[key][:n_draws]

    def compute_interval(self, key: MetricKey, cell_weights: FloatArray) -> tuple[float, float]:
        is_even = self.is_evenly_weighted(cell_weights)
        percentiles = INTERVAL_PERCENTILES if is_even else UNEVEN_INTERVAL_PERCENTILES
        low, high = np.percentile(self.select_draws(key, cell_weights), percentiles)
        return float(low), float(high)

    def is_category_score(self, key: MetricKey, cell_weights: FloatArray) -> bool:
        """Whether a metric is the pass rate of one category among others."""
        has_value_if_all_fail = key in self.values_if_all_fail
        # A metric that weighs all categories evenly is the pass rate of all of them.
        if not has_value_if_all_fail or self.is_evenly_weighted(cell_weights):
            return False

        weighted_categories = set()
        for cell in np.flatnonzero(cell_weights).tolist():
            cell_key = self.population.cell_keys[cell]
            weighted_categories.add((cell_key.run_index, cell_key.category))
        return len(weighted_categories) == 1 and self._is_sum_of_passes(key, cell_weights)

    def _is_sum_of_passes(self, key: MetricKey, cell_weights: FloatArray) -> bool:
        """Whether a metric is a constant plus the weighted numbers of passing items in the cells.

        A metric of only some items of a cell is not: it differs between draws in which the same
        number of the cell's items pass, because other items pass.
        """
        weighted_passes = self.posterior.passes @ cell_weights
        constant_of_draws = self.values[key] - weighted_passes
        range_of_constants = float(np.ptp(constant_of_draws))
        largest_weight = float(np.abs(cell_weights).max())
        return range_of_constants < ROUNDING_TOLERANCE * largest_weight

    def _draw_category_values(self, key: MetricKey, cell_weights: FloatArray) -> FloatArray:
        """Draw the pass rate of a category from the reviews of its own items, of shape (draws,).

        The other draws also learn from the items of other categories. They miss the rate of a
        category that is unlike the others too often (docs/coverage.md).
        """
        cells_of_category = np.flatnonzero(cell_weights)
        # Each stratum of the category becomes a pool of its own.
        own_pools = self._number_strata(cells_of_category)
        own_cells = self.population.cells.select(cells_of_category, own_pools)
        posterior = draw_posterior(own_cells, DEFAULT_DRAWS, self.seed)

        # Only in the pooled draws, the rates come from the reviews of the pool alone.
        pooled_passes = posterior.passes[: posterior.n_pooled]
        # The metric is linear: each passing item of a cell adds the weight of the cell.
        added_by_passes = pooled_passes @ cell_weights[cells_of_category]
        values: FloatArray = self.values_if_all_fail[key] + added_by_passes
        return values

    def _number_strata(self, cells: IntArray) -> IntArray:
        """Return for each of these cells the number of its stratum. Cells of one pool that the
        samples draw from the same stratum have the same number.
        """
        number_by_stratum: dict[tuple[Any, ...], int] = {}
        numbers = []
        for cell in cells.tolist():
            cell_key = self.population.cell_keys[cell]
            stratum = (*cell_key.pool, cell_key.stratum)
            numbers.append(number_by_stratum.setdefault(stratum, len(number_by_stratum)))
        return np.array(numbers)

    def compute_score_interval(self, key: MetricKey, cell_weights: FloatArray) -> ScoreInterval:
        """Compute the poststratified score interval of a metric that is a sum over items."""
        cells = self.population.cells
        n_passed = cells.passed
        if cells.passed_outside_sample is not None:
            n_passed = cells.passed + cells.passed_outside_sample

        # What the metric is if all unreviewed items fail, without the part of the passing items.
        constant = self.values_if_all_fail[key] - float(cell_weights @ n_passed)
        strata = _build_score_strata(self.population, cell_weights)
        return compute_score_interval(strata, constant)

    def is_evenly_weighted(self, cell_weights: FloatArray) -> bool:
        """Whether cells that differ only in their category have the same weight."""
        weights_by_group: dict[tuple[int, AutomaticOutcome, SampleStrata], set[float]] = {}
        for cell, items in enumerate(self.population.unreviewed):
            if not items:
                continue
            key = self.population.cell_keys[cell]
            group = (*key.pool, key.stratum)
            weight = round(float(cell_weights[cell]), WEIGHT_DIGITS)
            weights_by_group.setdefault(group, set()).add(weight)
        return all(len(weights) == 1 for weights in weights_by_group.values())


IntervalMethod = Literal["model", "score"]
"""How to compute an interval: `model` is the credible interval of the posterior, `score` is the
reference interval of `fcreview.stats.score_interval`.
"""
INTERVAL_METHODS: tuple[IntervalMethod, ...] = ("model", "score")


def draw_metrics(run: EstimationInput, seed: int = SEED) -> MetricDraws | None:
    """Draw the metrics of a run from the posterior.

    Returns None if no item of a random sample was reviewed.
    """
    population = build_population(run.statuses)
    if not population.n_random:
        return None
    calculator = MetricCalculator(run.automatic_items, run.reviewed_items, run.compute_metrics)
    posterior = draw_posterior(population.cells, choose_n_draws(len(run.reviewed_items)), seed)
    unreviewed = list(chain.from_iterable(population.unreviewed))
    return MetricDraws(
        calculator,
        population=population,
        posterior=posterior,
        values=calculator.compute_draws(population, posterior, seed),
        values_if_all_fail=calculator.compute_with_same_verdict(unreviewed, verdict=False),
        seed=seed,
    )


def choose_n_draws(n_items: int) -> int:
    """Return the number of draws that take a few seconds.

    With 400, an interval's end has an error of 1/12 width.
    """
    return max(400, min(1000, 2_000_000 // max(n_items, 1)))


MAX_UNDECIDED_PART = 0.25
"""Share of undecided items among the reviewed items, as a part of the interval's half-width, above
which the bounds replace the interval. Undecided items can then move the estimate by more than a
quarter of the half-width.
"""


def compute_undecided_share(statuses: Sequence[ItemStatus]) -> float:
    """Return the share, from 0 to 1, of undecided items among the reviewed items of the sample."""
    undecided = sum(each.is_undecided for each in statuses)
    decided = sum(each.sample_outcome == "decided" for each in statuses)
    return undecided / (undecided + decided) if undecided else 0.0


def are_bounds_headline(undecided_share: float, half_width: float) -> bool:
    """Whether to show the bounds instead of an interval.

    `half_width` is from 0 to 1, as `undecided_share`.
    """
    return undecided_share > MAX_UNDECIDED_PART * half_width


def assume_verdict_on_undecided(run: EstimationInput, verdict: bool) -> EstimationInput:
    """Return a copy of the run in which all undecided items of the sample have this human
    verdict.
    """
    assumed_verdicts = []
    for position, status in enumerate(run.statuses):
        if status.is_undecided:
            assumed_verdicts.append((position, verdict))
    calculator = MetricCalculator(run.automatic_items, run.reviewed_items, run.compute_metrics)
    items = calculator.build_items_with_verdicts(assumed_verdicts)
    statuses = _decide_undecided_statuses(run.statuses, verdict)
    return replace(run, reviewed_items=items, statuses=statuses)


def _decide_undecided_statuses(statuses: Sequence[ItemStatus], verdict: bool) -> list[ItemStatus]:
    """Return the statuses as if annotators had decided on this verdict of all undecided items."""
    new_statuses = []
    for status in statuses:
        if status.is_undecided:
            decided = replace(
                status, human=verdict, has_sample_verdict=True, sample_outcome="decided"
            )
            new_statuses.append(decided)
        else:
            new_statuses.append(status)
    return new_statuses


def is_group_sample(statuses: Sequence[ItemStatus]) -> bool:
    """Whether the samples draw whole groups of items."""
    return any(status.cluster is not None for status in statuses)


@dataclass(frozen=True, slots=True)
class EstimationSettings:
    half_width: float = 2.0
    """Requested half-width of the intervals, in percentage points."""
    seed: int = SEED
    interval_method: IntervalMethod = "model"
    plan: Sequence[PlannedLabels] = ()
    """Goals for which the estimate plans labels. Their `labels` are not set yet."""
    label_errors: LabelAgreement | None = None
    """Agreement of the annotators, to correct the estimates for their errors; None for no
    correction.
    """


def estimate_metrics(
    run: EstimationInput,
    settings: EstimationSettings = EstimationSettings(),
) -> Iterator[MetricEstimate]:
    """Estimate each metric that is a share, a percentage or a score. Undecided items are estimated
    like unreviewed items. The bounds show how much they can change the metric.

    If the statuses have strata by several sources, the plans compare the labels that are needed
    with and without them.
    """
    estimates = _estimate_metrics_with_bounds(run, settings)
    has_source_strata = any(status.source_stratum for status in run.statuses)
    if not settings.plan or not has_source_strata:
        yield from estimates
        return

    run_without = replace(run, statuses=remove_source_strata(run.statuses))
    plan_without = {}
    for estimate in _estimate_metrics_with_bounds(run_without, settings):
        plan_without[estimate.key] = estimate.plan
    for estimate in estimates:
        plan = _join_plans(plan_without[estimate.key], plan_with_judges=estimate.plan)
        yield replace(estimate, plan=plan)


def _join_plans(
    plan: Sequence[PlannedLabels], plan_with_judges: Sequence[PlannedLabels]
) -> list[PlannedLabels]:
    """Join the plan without and with the verdicts of judges. Both have the same goals."""
    joined = []
    for goal, goal_with_judges in zip(plan, plan_with_judges, strict=True):
        joined.append(replace(goal, with_judges=goal_with_judges.labels))
    return joined


def _estimate_metrics_with_bounds(
    run: EstimationInput, settings: EstimationSettings
) -> Iterator[MetricEstimate]:
    """Estimate the metrics, and add the bounds that undecided items leave."""
    n_undecided = sum(status.is_undecided for status in run.statuses)
    if not n_undecided:
        yield from _estimate_metrics_without_bounds(run, settings)
        return

    # Estimate each metric as if all undecided items failed, and as if all passed.
    extremes_by_key: defaultdict[MetricKey, list[MetricEstimate]] = defaultdict(list)
    for verdict in (False, True):
        assumed_run = assume_verdict_on_undecided(run, verdict)
        for extreme in _estimate_metrics_without_bounds(assumed_run, settings):
            extremes_by_key[extreme.key].append(extreme)

    for estimate in _estimate_metrics_without_bounds(run, settings):
        estimate = replace(estimate, n_undecided=n_undecided)
        yield _add_bounds(estimate, extremes_by_key[estimate.key], run.statuses)


def _add_undecided_labels(needed: int | None, statuses: Sequence[ItemStatus]) -> int | None:
    """Increase a number of labels, because a part of the further items will be undecided as well.

    None if the run has fewer unreviewed items than that.
    """
    undecided_share = compute_undecided_share(statuses)
    if needed is None or undecided_share >= 1:
        return None
    n_labels = ceil(needed / (1 - undecided_share))
    n_unreviewed = sum(_can_get_verdict(status) for status in statuses)
    return n_labels if n_labels <= n_unreviewed else None


def _can_get_verdict(status: ItemStatus) -> bool:
    """Whether a further review can add a verdict: the sample has none on the item, and the item is
    neither undecided nor in a stratum whose verdicts are all known.
    """
    is_reviewed = status.has_sample_verdict or status.is_undecided
    return not is_reviewed and not status.is_in_known_stratum


def _add_bounds(
    estimate: MetricEstimate,
    extremes: Sequence[MetricEstimate],
    statuses: Sequence[ItemStatus],
) -> MetricEstimate:
    """Add the lowest and the highest end of the intervals if all undecided items fail and if all
    pass.

    A metric of criteria has no bounds: the extremes assume item verdicts, which do not change it.
    """
    ends: list[float] = []
    for possible in (*extremes, estimate):
        depends_on_verdicts = not possible.criteria
        if depends_on_verdicts and possible.low is not None and possible.high is not None:
            ends += [possible.low, possible.high]
    if not ends:
        return estimate

    bounds = (min(ends), max(ends))
    undecided_share = compute_undecided_share(statuses)
    plan = [
        replace(goal, labels=_add_undecided_labels(goal.labels, statuses)) for goal in estimate.plan
    ]
    return replace(
        estimate,
        bounds=bounds,
        is_bounds_headline=_replaces_interval(bounds, estimate, undecided_share),
        needed=_add_undecided_labels(estimate.needed, statuses),
        plan=plan,
    )


def _replaces_interval(
    bounds: tuple[float, float], estimate: MetricEstimate, undecided_share: float
) -> bool:
    """Whether to show the bounds instead of the interval of the estimate."""
    if estimate.low is None or estimate.high is None:
        # There is no interval that could be shown.
        return True
    if bounds == (estimate.low, estimate.high):
        # The undecided items do not change the metric.
        return False

    # As a share, like `undecided_share`. A score is taken as a number from 0 to 1.
    half_width = (estimate.high - estimate.low) / 2 / FULL_VALUE.get(estimate.unit, 1.0)
    return are_bounds_headline(undecided_share, half_width)


def _estimate_metrics_without_bounds(
    run: EstimationInput, settings: EstimationSettings
) -> Iterator[MetricEstimate]:
    """Yield each metric of a run with its estimate, or with the reason why there is none. Undecided
    items of the sample count as not reviewed.
    """
    statuses = add_group_positions(run.automatic_items, run.statuses)
    run = replace(run, statuses=statuses)
    models = [
        AnswerModel(run.automatic_items, statuses, answers) for answers in run.criterion_answers
    ]
    is_sampled = any(status.has_sample_verdict for status in statuses)
    dependencies = MetricDependencies(run, models, is_sampled=is_sampled)

    pairs = _compute_metric_pairs(run)
    methods = _choose_methods(run, dependencies, pairs)
    estimator: _GroupEstimator | _ItemEstimator
    if is_group_sample(statuses):
        estimator = _GroupEstimator(run, settings)
    else:
        keys = _list_estimated_keys(pairs, methods)
        estimator = _ItemEstimator(run, dependencies, models, keys, settings)

    for key, pair in pairs.items():
        if pair.latest.unit in ESTIMATED_UNITS:
            facts = _collect_facts(pair, methods[key], dependencies)
            yield _estimate_or_explain(pair, facts, estimator, settings)


def _collect_facts(
    pair: _MetricPair, method: EstimationMethod, dependencies: MetricDependencies
) -> _MetricFacts:
    """Return what is known of a metric before it is estimated."""
    key = pair.latest.key
    return _MetricFacts(
        automatic=pair.automatic_value,
        corrected=pair.reviewed_value,
        counts=dependencies.count_items(key),
        method=method,
        criteria=dependencies.find_criteria(key),
    )


def _list_estimated_keys(
    pairs: Mapping[MetricKey, _MetricPair], methods: Mapping[MetricKey, EstimationMethod]
) -> list[MetricKey]:
    """Return the metrics that are estimated from a random sample."""
    keys = []
    for key, pair in pairs.items():
        if pair.reviewed is not None and methods[key] == "posterior":
            keys.append(key)
    return keys


def _estimate_or_explain(
    pair: _MetricPair,
    facts: _MetricFacts,
    estimator: _GroupEstimator | _ItemEstimator,
    settings: EstimationSettings,
) -> MetricEstimate:
    """Return a metric with its estimate. Without an estimate, the method says why there is none."""
    estimate = _estimate_metric(pair, facts, estimator)
    if estimate is None:
        reason = _explain_missing_estimate(pair, facts, estimator, settings)
        facts = replace(facts, method=reason)
    return _build_metric_estimate(pair.latest, facts, estimate, settings)


@dataclass(frozen=True, slots=True)
class _MetricPair:
    """A metric before and after human reviews. Verdicts can make a metric appear or disappear."""

    latest: Metric
    """The reviewed metric, or the automatic one without a reviewed one."""
    automatic: Metric | None
    """The metric of the automatic verdicts."""
    reviewed: Metric | None
    """The metric in which human verdicts replace automatic ones."""

    @property
    def automatic_value(self) -> float | None:
        return None if self.automatic is None else self.automatic.value

    @property
    def reviewed_value(self) -> float | None:
        return None if self.reviewed is None else self.reviewed.value


def _compute_metric_pairs(run: EstimationInput) -> dict[MetricKey, _MetricPair]:
    """Return the metrics of a run before and after reviews, by key."""
    automatic = {metric.key: metric for metric in run.compute_metrics(run.automatic_items)}
    reviewed = {metric.key: metric for metric in run.compute_metrics(run.reviewed_items)}
    pairs = {}
    for key, latest in (automatic | reviewed).items():
        pairs[key] = _MetricPair(latest, automatic=automatic.get(key), reviewed=reviewed.get(key))
    return pairs


def _estimate_metric(
    pair: _MetricPair, facts: _MetricFacts, estimator: _GroupEstimator | _ItemEstimator
) -> ValueEstimate | None:
    """Return the estimate of a metric by its method, or None if the method gives none."""
    if facts.method == "all known" and pair.reviewed is not None:
        return _take_known_value(pair.reviewed)
    if facts.method == "posterior" and pair.automatic is not None and pair.reviewed is not None:
        return estimator.estimate(pair.automatic, facts.counts)
    return None


@dataclass(frozen=True, slots=True)
class _MetricFacts:
    """What is known of a metric beside its estimate, see `MetricEstimate`."""

    automatic: float | None
    corrected: float | None
    counts: ItemCounts
    method: EstimationMethod
    criteria: tuple[str, ...]


def _take_known_value(metric: Metric) -> ValueEstimate | None:
    """Return the value of a metric whose items are all reviewed, without a sampling error."""
    if metric.value is None:
        return None
    return ValueEstimate(
        metric.value, low=metric.value, high=metric.value, count_needed=lambda _: 0
    )


def _explain_missing_estimate(
    pair: _MetricPair,
    facts: _MetricFacts,
    estimator: _GroupEstimator | _ItemEstimator,
    settings: EstimationSettings,
) -> EstimationMethod:
    """Return why a metric has no estimate, or `posterior`, which has no words in
    `METHOD_REASONS`, if the reason is unknown.
    """
    is_attempted = facts.method == "posterior" and pair.reviewed is not None
    if not is_attempted or pair.automatic is None:
        # The method is itself the reason: only `posterior` and `all known` give an estimate.
        return facts.method

    # The sample seemed to allow an estimate, but the estimator found none.
    if isinstance(estimator, _GroupEstimator):
        return "few groups" if estimator.is_mean(pair.automatic) else "not a mean"
    if estimator.has_few_items(pair.automatic, facts.counts):
        return "few items"
    if settings.label_errors is not None:
        return "label errors"
    # Some draws have no value of the metric.
    return "posterior"


def _build_metric_estimate(
    metric: Metric,
    facts: _MetricFacts,
    estimate: ValueEstimate | None,
    settings: EstimationSettings,
) -> MetricEstimate:
    """Join the facts about a metric and its estimate. `estimate` is None if the metric cannot be
    estimated.
    """
    plan = []
    for goal in settings.plan:
        labels = _count_labels(estimate, metric.unit, goal.half_width)
        plan.append(replace(goal, labels=labels))
    without_value = MetricEstimate(
        metric.table,
        level=metric.level,
        name=metric.name,
        unit=metric.unit,
        digits=metric.digits,
        automatic=facts.automatic,
        corrected=facts.corrected,
        estimated=None,
        low=None,
        high=None,
        n_random=facts.counts.n_random,
        n_known=facts.counts.n_known,
        method=facts.method,
        needed=_count_labels(estimate, metric.unit, settings.half_width),
        criteria=facts.criteria,
        plan=plan,
    )
    if estimate is None:
        return without_value
    return replace(
        without_value,
        estimated=estimate.estimated,
        low=estimate.low,
        high=estimate.high,
        sensitivity=estimate.sensitivity,
    )


def _count_labels(estimate: ValueEstimate | None, unit: MetricUnit, points: float) -> int | None:
    """Return the number of labels for an interval of ±`points`; None if it is unknown or cannot
    be reached.
    """
    if estimate is None or unit not in PERCENTAGE_POINT:
        return None
    return estimate.count_needed(points * PERCENTAGE_POINT[unit])


def add_group_positions(
    items: Sequence[ScoredItem], statuses: Sequence[ItemStatus]
) -> list[ItemStatus]:
    """Note for each item of a task or conversation whether it is the first or the last one. Some
    metrics count only these items, and verdicts on them can be wrong more or less often than on the
    others.
    """
    added = list(statuses)
    for positions in _list_item_groups(items, statuses):
        for position in positions[1:-1]:
            added[position] = replace(added[position], context="in the middle of its group")
        # The only item of a group counts as the first one, which is set last.
        added[positions[-1]] = replace(added[positions[-1]], context="last of its group")
        added[positions[0]] = replace(added[positions[0]], context="first of its group")
    return added


def _choose_methods(
    run: EstimationInput,
    dependencies: MetricDependencies,
    pairs: Mapping[MetricKey, _MetricPair],
) -> dict[MetricKey, EstimationMethod]:
    """Return the method of each metric, or the reason why it has no estimate (both are values of
    `EstimationMethod`).
    """
    calculator = MetricCalculator(run.automatic_items, run.automatic_items, run.compute_metrics)
    groups = _list_item_groups(run.automatic_items, run.statuses)
    # Single sampled items do not show how often all items of a group pass.
    not_estimable: set[MetricKey] = set()
    if not is_group_sample(run.statuses):
        not_estimable.update(find_group_metrics(groups, calculator))

    methods: dict[MetricKey, EstimationMethod] = {}
    for key, pair in pairs.items():
        if pair.latest.measures_spread:
            methods[key] = "no target"
            continue
        method = dependencies.choose_method(key)
        if method == "posterior" and key in not_estimable:
            method = "whole groups"
        methods[key] = method
    return methods


def _list_item_groups(
    items: Sequence[ScoredItem], statuses: Sequence[ItemStatus]
) -> list[Sequence[int]]:
    """Return the positions of the items of each task or conversation."""
    groups: dict[tuple[int, str], list[int]] = {}
    for position, (item, status) in enumerate(zip(items, statuses, strict=True)):
        if item.group is not None:
            groups.setdefault((status.run_index, item.group), []).append(position)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class ValueEstimate:
    """Estimated value of a metric, and the ends of its interval."""

    estimated: float
    low: float
    high: float
    count_needed: Callable[[float], int | None]
    """Returns the number of further reviews for an interval with a half-width, given in the unit
    of the metric.
    """
    sensitivity: tuple[float, float] | None = None


class _GroupEstimator:
    """Estimates metrics from a sample of whole groups."""

    def __init__(self, run: EstimationInput, settings: EstimationSettings) -> None:
        groups = build_groups(run.statuses)
        self._metrics = GroupMetrics(
            groups, run.automatic_items, run.reviewed_items, run.compute_metrics
        )
        self._mean_group_size = len(run.statuses) / len(groups)
        self._settings = settings

    def estimate(self, metric: Metric, counts: ItemCounts) -> ValueEstimate | None:  # noqa: ARG002
        """Estimate a metric from a sample of whole groups; `metric` has the automatic value.

        None if the metric is not a mean over groups, or if too few of the groups that it counts
        were sampled. `counts` is there because `_ItemEstimator.estimate` needs it.
        """
        values = self._metrics.find_values(metric)
        if values is None or not values.n_sampled:
            return None
        draws = draw_metric_values(values, DEFAULT_DRAWS, self._settings.seed)
        interval = self._compute_interval(values, draws)
        if interval is None:
            return None
        return ValueEstimate(
            interval.estimated,
            low=interval.low,
            high=interval.high,
            count_needed=partial(self._count_needed_items, values, float(draws.var())),
        )

    def _count_needed_items(
        self, values: GroupValues, variance: float, half_width: float
    ) -> int | None:
        """Return the number of further items to review for an interval with this half-width; None
        if it cannot be reached. `variance` is the present variance of the metric.

        Further groups are drawn like the sampled ones. People review items, so the number of groups
        is converted by their mean size.
        """
        n_groups = count_needed_uniform_reviews(
            variance,
            n_reviewed=values.n_sampled,
            n_unreviewed=values.n_estimated,
            half_width=half_width,
            quantile=UNEVEN_QUANTILE,
        )
        return None if n_groups is None else ceil(n_groups * self._mean_group_size)

    def is_mean(self, metric: Metric) -> bool:
        """Whether a metric is a weighted mean over groups."""
        return self._metrics.find_values(metric) is not None

    def _compute_interval(self, values: GroupValues, draws: FloatArray) -> ScoreInterval | None:
        """Return the interval by the chosen method. The reference method has none if a stratum has
        fewer than two sampled groups.
        """
        if self._settings.interval_method == "score":
            return compute_reference_interval(values)
        low, high = map(float, np.percentile(draws, UNEVEN_INTERVAL_PERCENTILES))
        # The draws are random, so the estimate could be just outside their interval.
        estimated = min(max(compute_metric_estimate(values), low), high)
        return ScoreInterval(estimated, low=low, high=high)


class _ItemEstimator:
    """Estimates metrics from a sample of single items."""

    def __init__(
        self,
        run: EstimationInput,
        dependencies: MetricDependencies,
        models: Sequence[AnswerModel],
        keys: Sequence[MetricKey],
        settings: EstimationSettings,
    ) -> None:
        """`keys` are the metrics that will be estimated."""
        self._interval_method = settings.interval_method
        self._label_errors = settings.label_errors
        self._seed = settings.seed
        self._draws: MetricDraws | None = None
        self._variance_models: Mapping[MetricKey, VarianceModel] = {}
        self._answer_draws: Mapping[MetricKey, FloatArray] = {}

        # Metrics of other criteria than `correct` depend on drawn answers, not only on verdicts.
        answer_keys = [key for key in keys if dependencies.find_criteria(key)]
        if keys:
            draws = draw_metrics(run, settings.seed)
            self._draws = draws
            if draws is not None:
                drawn_keys = [key for key in keys if key in draws.values]
                verdict_keys = [key for key in drawn_keys if key not in answer_keys]
                self._variance_models = draws.build_variance_models(verdict_keys)
        if answer_keys:
            sampled_models = [model for model in models if model.is_sampled]
            n_draws = choose_n_draws(len(run.reviewed_items))
            self._answer_draws = draw_answer_metrics(
                run.reviewed_items, run.compute_metrics, sampled_models, n_draws, settings.seed
            )

    def estimate(self, metric: Metric, counts: ItemCounts) -> ValueEstimate | None:
        """Estimate a metric, or return None if its value is unknown in some draws, or if too few
        items of its category are reviewed.
        """
        if self.has_few_items(metric, counts):
            return None
        if self._draws is not None and metric.key in self._variance_models:
            model = self._variance_models[metric.key]
            if self._label_errors is not None:
                return self._correct_label_errors(self._draws, metric, model)
            if self._interval_method == "score":
                found = _estimate_score_interval(self._draws, metric.key, model)
            else:
                found = _estimate_from_verdicts(self._draws, metric.key, model)
            return replace(found, sensitivity=self._find_sensitivity(self._draws, metric, found))
        if metric.key in self._answer_draws:
            return _estimate_from_answers(self._answer_draws[metric.key], counts)
        return None

    def has_few_items(self, metric: Metric, counts: ItemCounts) -> bool:
        """Whether a metric is the pass rate of a category with too few reviewed items."""
        if self._draws is None or metric.key not in self._variance_models:
            return False
        weights = self._variance_models[metric.key].weights
        is_category = self._draws.is_category_score(metric.key, weights)
        return is_category and counts.n_random < MIN_CATEGORY_ITEMS

    def _find_sensitivity(
        self, draws: MetricDraws, metric: Metric, estimate: ValueEstimate
    ) -> tuple[float, float] | None:
        """Return where the ends of the interval would be if some of the labels were wrong. None if
        the metric is not a rate.
        """
        top = _find_value_of_passing_run(draws, metric)
        if top is None:
            return None
        low, high = find_sensitivity(estimate.low / top, estimate.high / top)
        return low * top, high * top

    def _correct_label_errors(
        self, draws: MetricDraws, metric: Metric, model: VarianceModel
    ) -> ValueEstimate | None:
        """Estimate a metric from labels some of which are wrong. None if the metric is not a mean
        of item verdicts.

        Each draw of the metric is paired with a draw of the error shares, so the interval includes
        the uncertainty of both.
        """
        value_if_all_pass = _find_value_of_passing_run(draws, metric)
        if value_if_all_pass is None or self._label_errors is None:
            return None

        # The correction is defined for shares from 0 to 1.
        observed_shares = draws.select_draws(metric.key, model.weights) / value_if_all_pass
        error_shares = self._label_errors.draw_error_shares(len(observed_shares), self._seed)
        corrected = value_if_all_pass * correct_share(observed_shares, error_shares)

        is_even = draws.is_evenly_weighted(model.weights)
        percentiles = INTERVAL_PERCENTILES if is_even else UNEVEN_INTERVAL_PERCENTILES
        low, high = map(float, np.percentile(corrected, percentiles))
        return ValueEstimate(
            float(corrected.mean()),
            low=low,
            high=high,
            # The number of needed labels is not computed for corrected estimates.
            count_needed=lambda _half_width: None,
        )


def _find_value_of_passing_run(draws: MetricDraws, metric: Metric) -> float | None:
    """Return the value of a metric if all items pass, 1 or 100, if it is a mean of item verdicts.
    Return None for any other metric.

    Such a mean is 0 if all items fail.
    """
    full_value = FULL_VALUE.get(metric.unit)
    if full_value is None:
        return None
    everything = range(len(draws.calculator))
    passing = draws.calculator.compute_with_same_verdict(everything, verdict=True).get(metric.key)
    failing = draws.calculator.compute_with_same_verdict(everything, verdict=False).get(metric.key)
    if passing is None or failing is None:
        return None
    deviation_from_mean = abs(passing - full_value) + abs(failing - 0)
    return full_value if deviation_from_mean < CHANGE_TOLERANCE else None


def _estimate_from_verdicts(
    draws: MetricDraws, key: MetricKey, model: VarianceModel
) -> ValueEstimate:
    """Return the estimate of a metric from the drawn pass rates of the cells."""
    low, high = draws.compute_interval(key, model.weights)
    # The mean can be outside the interval if a few draws are far away.
    estimated = min(max(draws.compute_mean(key, model.weights), low), high)
    return ValueEstimate(
        estimated, low=low, high=high, count_needed=partial(count_needed_reviews, model)
    )


def _estimate_score_interval(
    draws: MetricDraws, key: MetricKey, model: VarianceModel
) -> ValueEstimate:
    """Estimate a metric with the poststratified score interval."""
    interval = draws.compute_score_interval(key, model.weights)
    return ValueEstimate(
        interval.estimated,
        low=interval.low,
        high=interval.high,
        count_needed=partial(count_needed_reviews, model),
    )


def _build_score_strata(population: Population, weights: FloatArray) -> list[ScoreStratum]:
    """Make a stratum of all cells that differ only in their category and have the same weight.

    Args:
        population: Population with the cells.
        weights: For each cell, the change of the metric if one more of its items passes.
    """
    cells = population.cells
    strata = []
    for indexes in _group_cells_of_equal_weight(population, weights):
        n_reviewed = int(cells.reviewed[indexes].sum())
        n_others = int(cells.without_sample_verdict[indexes].sum())
        stratum = ScoreStratum(
            n_items=n_reviewed + n_others,
            n_reviewed=n_reviewed,
            n_passed=int(cells.passed[indexes].sum()),
            # The weights of the cells differ at most by rounding.
            weight=float(weights[indexes[-1]]),
        )
        strata.append(stratum)
    return strata


def _group_cells_of_equal_weight(population: Population, weights: FloatArray) -> list[list[int]]:
    """Group the indexes of the cells that differ only in their category and have the same weight
    but for rounding.
    """
    groups: dict[tuple[str, float], list[int]] = {}
    for index, cell in enumerate(population.cell_keys):
        stratum = f"{cell.pool} {cell.stratum}"
        rounded_weight = round(float(weights[index]), WEIGHT_DIGITS)
        groups.setdefault((stratum, rounded_weight), []).append(index)
    return list(groups.values())


def _estimate_from_answers(values: FloatArray, counts: ItemCounts) -> ValueEstimate:
    """Return the estimate whose values were drawn from a model of the answers: mean, interval, and
    a function that counts the reviews for a narrower interval.
    """
    low, high = map(float, np.percentile(values, UNEVEN_INTERVAL_PERCENTILES))

    def count_needed(half_width: float) -> int | None:
        return count_needed_uniform_reviews(
            float(values.var()),
            n_reviewed=counts.n_random,
            n_unreviewed=counts.n_items - counts.n_known,
            half_width=half_width,
            quantile=UNEVEN_QUANTILE,
        )

    return ValueEstimate(float(values.mean()), low=low, high=high, count_needed=count_needed)


@dataclass(frozen=True, slots=True)
class ExtensionGoal:
    """Metric, and the half-width that its interval should have after the extension, in the unit
    of the metric.
    """

    key: MetricKey
    half_width: float
    sample_index: int
    """Index of the extended sample in `ItemStatus.stratum`."""
    pending: Collection[int]
    """Positions of the items in the sample that have no human verdict yet.

    They are not drawn again.
    """
    max_items: int | None = None


@dataclass(frozen=True, slots=True)
class ExtensionStratum:
    name: str
    candidates: list[int]
    """Positions of the items that can be drawn from the stratum, each with the same probability."""
    n_to_draw: int


def plan_extension(draws: MetricDraws, goal: ExtensionGoal) -> list[ExtensionStratum]:
    """Plan how many more items to draw from each stratum, so that the interval of a metric becomes
    narrow enough.

    Reviews help most in strata that are large and uncertain (Neyman allocation). The plan therefore
    predicts how the variance of the metric falls with further reviews of each stratum:

    1. Divide the cells of the posterior into the strata from which items can be drawn.
    2. Assume that the items drawn earlier are reviewed, because they narrow the interval for free.
    3. Count the reviews that are then still needed, and give each to the stratum where it reduces
       the variance most.

    If the pending reviews are sufficient, no item is drawn. If the goal cannot be reached, all
    remaining items are drawn.
    """
    model = draws.build_variance_models([goal.key])[goal.key]
    strata = _list_open_strata(draws, model, goal)

    model_of_strata = _merge_cells(model, [stratum.cells for stratum in strata])
    n_pending = np.array([stratum.n_pending for stratum in strata], dtype=np.int64)
    model_after_pending = _assume_pending_reviews(model_of_strata, n_pending)

    n_candidates = sum(len(stratum.candidates) for stratum in strata)
    size = _choose_extension_size(model_after_pending, goal, n_candidates)
    if not size:
        return []
    counts = allocate_reviews(model_after_pending, size)

    planned = []
    for stratum, count in zip(strata, counts, strict=True):
        if count:
            planned.append(ExtensionStratum(stratum.name, stratum.candidates, n_to_draw=int(count)))
    return planned


@dataclass(frozen=True, slots=True)
class _OpenStratum:
    """A stratum of an extension, before it is decided how many items to draw from it."""

    name: str
    cells: list[int]
    """Indexes of the cells of the posterior that it consists of."""
    candidates: list[int]
    """Positions of the items that can be drawn: without a verdict, and in no queue yet."""
    n_pending: int
    """Number of the items that are in a queue, but have no verdict yet."""


def _list_open_strata(
    draws: MetricDraws, model: VarianceModel, goal: ExtensionGoal
) -> list[_OpenStratum]:
    """Return the strata of an extension with their unreviewed items."""
    pending = set(goal.pending)
    strata = []
    for name, cells in _group_cells_by_stratum(draws, model, goal.sample_index).items():
        unreviewed = _list_unreviewed_positions(draws.population, cells)
        candidates = [position for position in unreviewed if position not in pending]
        strata.append(
            _OpenStratum(
                name,
                cells=cells,
                candidates=candidates,
                n_pending=len(unreviewed) - len(candidates),
            )
        )
    return strata


def _choose_extension_size(model: VarianceModel, goal: ExtensionGoal, n_candidates: int) -> int:
    size = count_needed_reviews(model, goal.half_width)
    if size is None:
        # The goal cannot be reached.
        size = n_candidates
    return size if goal.max_items is None else min(size, goal.max_items)


def _list_unreviewed_positions(population: Population, cells: Iterable[int]) -> list[int]:
    positions: list[int] = []
    for cell in cells:
        positions += population.unreviewed[cell]
    return positions


def _group_cells_by_stratum(
    draws: MetricDraws, model: VarianceModel, sample_index: int
) -> dict[str, list[int]]:
    """Return the cells of each stratum of an extension. A stratum combines the stratum in the
    extended sample, the automatic verdict and, if the metric weighs categories unevenly, the
    category.
    """
    by_category = not draws.is_evenly_weighted(model.weights)
    cells_by_stratum: dict[str, list[int]] = {}
    for cell, key in enumerate(draws.population.cell_keys):
        stratum = key.stratum[sample_index]
        if stratum is None:
            continue
        category = key.category if by_category else None
        name = format_stratum_name(stratum, key.automatic, category)
        cells_by_stratum.setdefault(name, []).append(cell)
    return cells_by_stratum


def _merge_cells(model: VarianceModel, groups: list[list[int]]) -> VarianceModel:
    """Return the model of larger cells. `groups` contains the indexes of the cells of each one.

    The metric stays the same, and so do its variance and the quantile of its interval.
    """
    cells = model.cells
    merged = Cells(
        # The cells of a stratum have the same automatic verdict, and are put into one pool.
        pool=np.array([cells.pool[group[0]] for group in groups], dtype=np.int64),
        reviewed=_sum_by_group(cells.reviewed, groups),
        passed=_sum_by_group(cells.passed, groups),
        unreviewed=_sum_by_group(cells.unreviewed, groups),
        # Equal probabilities: the larger cells of a pool count as one simple random sample.
        inclusion_probability=np.ones(len(groups)),
    )
    return VarianceModel(
        merged,
        posterior=draw_posterior(merged),
        weights=_average_weights(model, groups),
        variance=model.variance,
        quantile=model.quantile,
    )


def _sum_by_group(counts: IntArray, groups: list[list[int]]) -> IntArray:
    return np.array([counts[group].sum() for group in groups], dtype=np.int64)


def _average_weights(model: VarianceModel, groups: list[list[int]]) -> FloatArray:
    """Return the weight of the next review in each group of cells, of shape (groups,).

    The next review is of any unreviewed item, so its weight is the mean of their weights.
    """
    weights = []
    for group in groups:
        n_unreviewed = model.cells.unreviewed[group] + 1e-9  # A mean needs a positive weight.
        weights.append(float(np.average(model.weights[group], weights=n_unreviewed)))
    return np.array(weights)


def _assume_pending_reviews(model: VarianceModel, n_pending: IntArray) -> VarianceModel:
    """Return the model after the pending reviews, if their items pass at the mean rate of their
    cell. Such reviews confirm the rates, so the posterior stays as it is.

    `n_pending` is the number of pending reviews of each cell.
    """
    cells = model.cells
    n_passing = np.rint(n_pending * model.posterior.mean_rate).astype(np.int64)
    later_cells = replace(
        cells,
        reviewed=cells.reviewed + n_pending,
        passed=cells.passed + n_passing,
        unreviewed=cells.unreviewed - n_pending,
    )

    # The variance of the metric is assumed to fall in the same ratio as the sum of the variances of
    # its cells, as in `count_needed_reviews`.
    sum_now = float(model.compute_cell_variances(cells).sum())
    sum_later = float(model.compute_cell_variances(later_cells).sum())
    ratio = sum_later / sum_now if sum_now > 0 else 1.0
    return replace(model, cells=later_cells, variance=model.variance * ratio)


def combine_runs(
    runs: Sequence[EstimationInput],
    compute_metrics: Callable[[Sequence[Sequence[ScoredItem]]], Sequence[Metric]],
) -> EstimationInput:
    """Combine runs whose metrics are published together. Samples and cells of different runs stay
    separate. `compute_metrics` gets a list with the items of each run, in the order of `runs`.
    """

    automatic_items: list[ScoredItem] = []
    reviewed_items: list[ScoredItem] = []
    statuses: list[ItemStatus] = []
    for run_index, run in enumerate(runs):
        automatic_items += run.automatic_items
        reviewed_items += run.reviewed_items
        statuses += [replace(status, run_index=run_index) for status in run.statuses]

    run_sizes = [len(run.reviewed_items) for run in runs]

    def compute_combined_metrics(joined_items: Sequence[ScoredItem]) -> Sequence[Metric]:
        return compute_metrics(_divide_by_run(joined_items, run_sizes))

    return EstimationInput(
        automatic_items,
        reviewed_items=reviewed_items,
        statuses=statuses,
        compute_metrics=compute_combined_metrics,
    )


def _divide_by_run(
    joined_items: Sequence[ScoredItem], run_sizes: Sequence[int]
) -> list[Sequence[ScoredItem]]:
    """Return the items of each run. In `joined_items`, the items of one run follow the items of
    the run before.
    """
    items_by_run = []
    start = 0
    for size in run_sizes:
        end = start + size
        items_by_run.append(joined_items[start:end])
        start = end
    return items_by_run


@dataclass(frozen=True, slots=True)
class PassRateEstimate:
    """Estimated pass rate of all items and the ends of its 95 % interval, from 0 to 1."""

    estimated: float
    low: float
    high: float
    needed: int | None
    """Number of further reviews of random items after which the interval has the requested
    width; None if unknown.
    """
    bounds: tuple[float, float] | None = None
    n_undecided: int = 0
    is_bounds_headline: bool = False


def estimate_pass_rate(
    statuses: Sequence[ItemStatus], half_width: float, seed: int = SEED
) -> PassRateEstimate | None:
    """Estimate the share of items that pass. `half_width` is the requested half-width of the
    interval, from 0 to 1. Returns None if no item of a random sample was reviewed, or if some
    unreviewed items cannot be in a sample.
    """
    estimate = _estimate_pass_rate_without_bounds(statuses, half_width, seed)
    n_undecided = sum(status.is_undecided for status in statuses)
    if not n_undecided:
        return estimate

    bounds = _find_pass_rate_bounds(statuses, half_width, seed)
    if bounds is None:
        # The sample represents only a part of the items, even if the undecided ones are decided.
        return None
    if estimate is None:
        return _estimate_from_bounds(bounds, n_undecided)

    undecided_share = compute_undecided_share(statuses)
    interval_half_width = (estimate.high - estimate.low) / 2
    return replace(
        estimate,
        bounds=bounds,
        n_undecided=n_undecided,
        is_bounds_headline=are_bounds_headline(undecided_share, interval_half_width),
        needed=_add_undecided_labels(estimate.needed, statuses),
    )


def _estimate_from_bounds(bounds: tuple[float, float], n_undecided: int) -> PassRateEstimate:
    """Return the estimate if all reviewed items of the sample are undecided, so that only the
    bounds are known: their middle.
    """
    lowest, highest = bounds
    return PassRateEstimate(
        (lowest + highest) / 2,
        low=lowest,
        high=highest,
        needed=None,
        bounds=bounds,
        n_undecided=n_undecided,
        is_bounds_headline=True,
    )


def _find_pass_rate_bounds(
    statuses: Sequence[ItemStatus], half_width: float, seed: int
) -> tuple[float, float] | None:
    """Return the low end of the interval if all undecided items fail, and the high end if all
    pass.
    """
    all_fail = _decide_undecided_statuses(statuses, verdict=False)
    lowest = _estimate_pass_rate_without_bounds(all_fail, half_width, seed)
    all_pass = _decide_undecided_statuses(statuses, verdict=True)
    highest = _estimate_pass_rate_without_bounds(all_pass, half_width, seed)
    if lowest is None or highest is None:
        return None
    return lowest.low, highest.high


def _estimate_pass_rate_without_bounds(
    statuses: Sequence[ItemStatus], half_width: float, seed: int
) -> PassRateEstimate | None:
    """Estimate the pass rate of a run, as if the undecided items of the sample were not reviewed.

    None without a verdict from a sample, or if the sample represents only a part of the items.
    """
    if is_group_sample(statuses):
        return _estimate_pass_rate_from_groups(statuses, half_width, seed)
    population = build_population(statuses)
    if not population.n_random or population.unsampled:
        return None

    draws = _draw_pass_rates(population.cells, _list_known_verdicts(statuses), seed)
    low, high = map(float, np.percentile(draws.pass_rates, INTERVAL_PERCENTILES))
    return PassRateEstimate(
        # After the correction, the mean can be just outside the interval of the draws.
        estimated=min(max(draws.corrected_mean, low), high),
        low=low,
        high=high,
        needed=count_needed_reviews(draws.variance_model, half_width),
    )


@dataclass(frozen=True, slots=True)
class _PassRateDraws:
    pass_rates: FloatArray
    """The pass rate of the run in each draw, of shape (draws,)."""
    corrected_mean: float
    """The mean pass rate without the effect of verdicts outside the sample, which cut off some
    draws.
    """
    variance_model: VarianceModel


def _draw_pass_rates(cells: Cells, known_verdicts: Sequence[bool], seed: int) -> _PassRateDraws:
    """Draw the pass rate of all items: those with known verdicts, and the unreviewed ones of the
    cells.
    """
    posterior = draw_posterior(cells, seed=seed)
    n_items = len(known_verdicts) + int(cells.unreviewed.sum())

    # The pooled draws are those for metrics that weigh all items equally.
    n_unreviewed_passes = posterior.passes[: posterior.n_pooled].sum(axis=1)
    pass_rates = (sum(known_verdicts) + n_unreviewed_passes) / n_items
    mean_moved_by = float(posterior.mean_excess.sum()) / n_items
    variance_model = VarianceModel(
        cells,
        posterior=posterior,
        # One more passing item raises the pass rate by 1 / n_items, whatever its cell.
        weights=np.full(len(cells), 1 / n_items),
        variance=float(pass_rates.var()),
        quantile=EVEN_QUANTILE,
    )
    return _PassRateDraws(
        pass_rates,
        corrected_mean=float(pass_rates.mean()) - mean_moved_by,
        variance_model=variance_model,
    )


def _list_known_verdicts(statuses: Sequence[ItemStatus]) -> list[bool]:
    """Return the human verdicts, and the benchmark's verdicts on incidents, which have no sampling
    error.
    """
    verdicts = []
    for status in statuses:
        if status.human is not None:
            verdicts.append(status.human)
        elif status.is_incident and isinstance(status.automatic, bool):
            verdicts.append(status.automatic)
    return verdicts


def _estimate_pass_rate_from_groups(
    statuses: Sequence[ItemStatus], half_width: float, seed: int
) -> PassRateEstimate | None:
    """Estimate the pass rate from a sample of whole groups. None if no group was reviewed."""
    groups = build_groups(statuses)
    values = make_pass_rate_values(groups, statuses)
    if not values.n_sampled:
        return None
    drawn_rates = draw_metric_values(values, DEFAULT_DRAWS, seed)
    low, high = map(float, np.percentile(drawn_rates, UNEVEN_INTERVAL_PERCENTILES))
    # The draws are random, so the estimate could be just outside their interval.
    estimated = min(max(compute_metric_estimate(values), low), high)

    # The variance of the draws is the present variance of the pass rate.
    n_groups = count_needed_uniform_reviews(
        float(drawn_rates.var()),
        n_reviewed=values.n_sampled,
        n_unreviewed=values.n_estimated,
        half_width=half_width,
        quantile=UNEVEN_QUANTILE,
    )
    # People review items, so the number of groups is converted by their mean size.
    needed = None if n_groups is None else ceil(n_groups * len(statuses) / len(groups))
    return PassRateEstimate(estimated, low=low, high=high, needed=needed)
