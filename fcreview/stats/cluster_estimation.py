"""Estimate metrics from a sample of whole groups of items: of tasks with all their trials, or of
conversations.

Errors of a checker or judge cluster in groups, and metrics such as pass^k, PR and SR judge a group
as a whole. The unit of the sample and of the estimate is therefore the group. For each metric, a
group has an automatic value, from its automatic verdicts, and, if it was sampled, a value from
human verdicts. The difference of the two is the correction of the group. The corrections of the
groups that were not sampled are drawn from those of the sampled groups:

* Groups are divided into strata by the stratum of the sample and by their automatic value: lowest,
  highest, or between (Lohr, Sampling, section 4.4, poststratification).
* The correction of a group that was not sampled is drawn with the Bayesian bootstrap (Rubin 1981)
  for finite populations (Lo 1988): Dirichlet weights for the corrections of the sampled groups, and
  two prior corrections with the weight 1/2 each, which are as large as the largest correction of
  any sampled group. For values of 0 and 1, this is the Jeffreys posterior Beta(k + 1/2, n - k +
  1/2).

A metric must be a weighted mean of its values in the groups. Other metrics, such as F1 scores, have
no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fcreview.model.metric import Metric, MetricKey, ScoredItem
from fcreview.stats.answer_model import MetricCalculator, MetricFunction
from fcreview.stats.intervals import compute_t_quantile
from fcreview.stats.posterior import JEFFREYS, FloatArray, ItemStatus
from fcreview.stats.score_interval import ScoreInterval

BoolArray = NDArray[np.bool_]

_TOLERANCE = 1e-9
_MAX_TESTED_GROUPS = 8
"""Maximum number of groups for which `find_group_metrics` tests the metrics."""
ValueClass = Literal["lowest", "between", "highest"]


@dataclass(frozen=True, slots=True)
class Group:
    """A task or conversation, as positions in the list of all items."""

    name: str
    positions: Sequence[int]
    stratum: str
    is_sampled: bool
    """Whether all its items were reviewed as part of the sample."""
    is_known_before_sample: bool
    """Whether all its items were reviewed before the sample was drawn, so that it needs no
    estimate.
    """


def build_groups(statuses: Sequence[ItemStatus]) -> list[Group]:
    """Group the items of a sample of whole groups, in dataset order."""
    members: dict[str, list[int]] = {}
    for position, status in enumerate(statuses):
        members.setdefault(status.cluster or f"item {position}", []).append(position)
    return [_build_group(name, positions, statuses) for name, positions in members.items()]


def _build_group(name: str, positions: list[int], statuses: Sequence[ItemStatus]) -> Group:
    """Build a group from the positions of its items. It is sampled if the sample, perhaps together
    with earlier reviews, has given a verdict to all its items. It is known before the sample if
    earlier reviews alone have.

    Incidents keep the benchmark's verdict and need no review, so a group of incidents is known.
    """
    members = [statuses[position] for position in positions]
    reviewable = [status for status in members if not status.is_incident]
    has_all_verdicts = all(status.human is not None for status in reviewable)
    has_only_earlier_reviews = all(status.is_known_before_sample for status in reviewable)
    # A review beside the sample has a verdict too, but no sample chose it.
    has_no_other_reviews = all(
        status.has_sample_verdict or status.is_known_before_sample for status in reviewable
    )
    return Group(
        name,
        positions,
        stratum=_find_group_stratum(members),
        is_sampled=has_all_verdicts and has_no_other_reviews and not has_only_earlier_reviews,
        is_known_before_sample=has_all_verdicts and has_only_earlier_reviews,
    )


def _find_group_stratum(members: Sequence[ItemStatus]) -> str:
    """Return the name of the stratum of a group, which its items share, because it is drawn as a
    whole. All groups that no sample can contain have the name `None`.
    """
    for status in members:
        if status.stratum is not None:
            return str(status.stratum)
    return str(None)


@dataclass(frozen=True, slots=True)
class GroupValues:
    """Values of one metric in the groups that it counts. Each array has one entry per group."""

    automatic: FloatArray
    human: FloatArray
    """Value from human verdicts; meaningless for groups that are neither sampled nor known."""
    weight: FloatArray
    is_sampled: BoolArray
    is_known: BoolArray
    stratum: Sequence[str]
    lowest: float
    highest: float

    @property
    def n_sampled(self) -> int:
        return int(self.is_sampled.sum())

    @property
    def n_estimated(self) -> int:
        """Number of groups whose value is estimated."""
        return int((~(self.is_sampled | self.is_known)).sum())

    def list_classes(self) -> list[tuple[str, ValueClass]]:
        """Return the stratum and the class of the automatic value of each group."""
        return [
            (name, self._classify(value))
            for name, value in zip(self.stratum, self.automatic, strict=True)
        ]

    def _classify(self, value: float) -> ValueClass:
        if value <= self.lowest + _TOLERANCE:
            return "lowest"
        if value >= self.highest - _TOLERANCE:
            return "highest"
        return "between"


class GroupMetrics:
    """Computes the metrics of each group alone, from automatic and from human verdicts."""

    def __init__(
        self,
        groups: Sequence[Group],
        automatic_items: Sequence[ScoredItem],
        reviewed_items: Sequence[ScoredItem],
        compute_metrics: MetricFunction,
    ) -> None:
        self._groups = groups
        self._automatic = [
            _compute_group_metrics(group, automatic_items, compute_metrics) for group in groups
        ]
        self._human = [
            _compute_group_metrics(group, reviewed_items, compute_metrics)
            if group.is_sampled or group.is_known_before_sample
            else {}
            for group in groups
        ]

    def find_values(self, metric: Metric) -> GroupValues | None:
        """Return the values of a metric in the groups. `metric` has its value from the automatic
        verdicts of all items. Return None if the metric is not a weighted mean of its values in the
        groups.

        A metric does not say how it weighs the groups. So the usual weights are tried, and those
        are right with which the mean of the groups is the value of the metric.
        """
        if metric.value is None:
            return None
        counted = [index for index, metrics in enumerate(self._automatic) if metric.key in metrics]
        group_metrics = [self._automatic[index][metric.key] for index in counted]
        values = np.array([each.value for each in group_metrics], dtype=np.float64)
        for weights in self._list_possible_weights(counted, group_metrics):
            if weights.sum() <= 0:
                continue
            mean = np.average(values, weights=weights)
            if abs(mean - metric.value) < _TOLERANCE:
                return self._build_values(metric, counted, values, weights)
        return None

    def _list_possible_weights(
        self, counted: Sequence[int], metrics: Sequence[Metric]
    ) -> list[FloatArray]:
        """Return the weights that a benchmark may use: the number of verdicts, 1 for each group, or
        the number of items.
        """
        verdicts = [1.0 if metric.n is None else float(metric.n) for metric in metrics]
        sizes = [float(len(self._groups[index].positions)) for index in counted]
        return [np.array(weights) for weights in (verdicts, np.ones(len(counted)), sizes)]

    def _build_values(
        self, metric: Metric, counted: Sequence[int], automatic: FloatArray, weights: FloatArray
    ) -> GroupValues:
        """Return the values of a metric in the counted groups, with NaN for a group that has no
        value from human verdicts.
        """
        human = np.full(len(counted), np.nan)
        for place, index in enumerate(counted):
            human_metrics = self._human[index]
            if metric.key in human_metrics:
                human[place] = human_metrics[metric.key].value

        groups = [self._groups[index] for index in counted]
        is_sampled = np.array([group.is_sampled for group in groups])
        is_known = np.array([group.is_known_before_sample for group in groups])
        has_value = ~np.isnan(human)
        all_values = np.concatenate([automatic, human[has_value]])
        lowest, highest = _find_scale(metric, all_values)
        return GroupValues(
            automatic=automatic,
            human=human,
            weight=weights,
            is_sampled=is_sampled & has_value,
            is_known=is_known & has_value,
            stratum=[group.stratum for group in groups],
            lowest=lowest,
            highest=highest,
        )


def _compute_group_metrics(
    group: Group, items: Sequence[ScoredItem], compute_metrics: MetricFunction
) -> dict[MetricKey, Metric]:
    metrics = compute_metrics([items[position] for position in group.positions])
    return {metric.key: metric for metric in metrics if metric.value is not None}


def _find_scale(metric: Metric, values: FloatArray) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a metric."""
    if metric.unit == "share":
        return 0.0, 1.0
    if metric.unit == "percent":
        return 0.0, 100.0
    return float(values.min()), float(values.max())


def make_pass_rate_values(groups: Sequence[Group], statuses: Sequence[ItemStatus]) -> GroupValues:
    """Return the pass rate of each group, weighted by its number of items. An item without an
    automatic verdict counts as failing.
    """
    automatic = [
        np.mean([statuses[position].automatic is True for position in group.positions])
        for group in groups
    ]
    human = [
        np.mean([_passes_after_review(statuses[position]) for position in group.positions])
        for group in groups
    ]
    return GroupValues(
        automatic=np.array(automatic),
        human=np.array(human),
        weight=np.array([float(len(group.positions)) for group in groups]),
        is_sampled=np.array([group.is_sampled for group in groups]),
        is_known=np.array([group.is_known_before_sample for group in groups]),
        stratum=[group.stratum for group in groups],
        lowest=0.0,
        highest=1.0,
    )


def _passes_after_review(status: ItemStatus) -> bool:
    """Whether an item passes by its human verdict or, for an incident without one, by the
    benchmark's verdict.
    """
    if status.is_incident and status.human is None:
        return status.automatic is True
    return status.human is True


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Groups of one stratum and one class of automatic values, as flags of all groups."""

    sampled: BoolArray
    estimated: BoolArray


def _list_strata(values: GroupValues) -> list[_Stratum]:
    """Return the strata that have groups to estimate."""
    is_estimated = ~(values.is_sampled | values.is_known)
    classes = values.list_classes()
    strata = []
    for name in dict.fromkeys(classes):
        is_member = np.array([each == name for each in classes])
        stratum = _Stratum(
            sampled=is_member & values.is_sampled, estimated=is_member & is_estimated
        )
        if stratum.estimated.any():
            strata.append(stratum)
    return strata


def _sum_known_values(values: GroupValues) -> float:
    """Return the weighted sum of the human values, and of the automatic values of groups without
    human verdicts.
    """
    is_reviewed = values.is_sampled | values.is_known
    return float((values.weight * np.where(is_reviewed, values.human, values.automatic)).sum())


def compute_metric_estimate(values: GroupValues) -> float:
    """Estimate the value that a metric would have if all groups were reviewed (difference
    estimator, Cochran 1977, Sampling Techniques, section 7.2).

    A group that was not reviewed has its automatic value, plus a correction: the mean of human
    minus automatic value over the sampled groups of its stratum.
    """
    # The human values of reviewed groups, and the automatic values of the others
    total = _sum_known_values(values)
    for stratum in _list_strata(values):
        sampled_weights = values.weight[stratum.sampled]
        if sampled_weights.sum() == 0:
            continue
        corrections = values.human[stratum.sampled] - values.automatic[stratum.sampled]
        mean_correction = np.average(corrections, weights=sampled_weights)
        unreviewed_weight = values.weight[stratum.estimated].sum()
        total += float(mean_correction * unreviewed_weight)
    return total / float(values.weight.sum())


def compute_reference_interval(values: GroupValues) -> ScoreInterval | None:
    """Compute the reference interval of a metric from a sample of whole groups. Return None with
    fewer than two sampled groups.

    It is the interval of the difference estimator (Cochran 1977, Sampling Techniques, section 7.2),
    for which the groups are divided only by the strata of the sample.

    With n_h sampled groups in a stratum h, m_h groups to estimate of the total weight W_h, and the
    mean d_h and the standard deviation s_h of the corrections of the sampled groups, the estimate
    is

        t = (K + sum of W_h d_h) / W

    where K is the sum of the known values and of the automatic values of the others, and W the
    weight of all groups. With the quantile q of the t distribution for sum of (n_h - 1) degrees of
    freedom, the half-width of the interval is

        q sqrt(sum of W_h^2 s_h^2 (1 / n_h + 1 / m_h)) / W
    """
    flags_by_stratum = _list_design_strata(values)
    if any(flags.sampled.sum() < MIN_REFERENCE_GROUPS for flags in flags_by_stratum):
        return None

    total = _sum_known_values(values)
    variance = 0.0
    degrees_of_freedom = 0
    for flags in flags_by_stratum:
        stratum = _summarize_stratum(values, flags)
        total += stratum.correction
        variance += stratum.variance_of_correction
        degrees_of_freedom += stratum.n_sampled - 1

    weight_of_all = float(values.weight.sum())
    estimated = total / weight_of_all
    # If all groups are known, there is nothing to estimate. The value is certain.
    if not flags_by_stratum:
        return ScoreInterval(estimated, low=estimated, high=estimated)
    half_width = compute_t_quantile(degrees_of_freedom) * sqrt(variance) / weight_of_all
    return ScoreInterval(
        estimated,
        low=max(estimated - half_width, values.lowest),
        high=min(estimated + half_width, values.highest),
    )


@dataclass(frozen=True, slots=True)
class _DesignStratum:
    """A stratum of the sample, in the terms of the formula of `compute_reference_interval`."""

    n_sampled: int
    """n_h."""
    n_estimated: int
    """m_h."""
    weight: float
    """W_h: sum of the weights of the groups to estimate."""
    mean: float
    """d_h: mean correction, which is human minus automatic value, of the sampled groups."""
    variance: float
    """s_h^2: variance of the corrections."""

    @property
    def correction(self) -> float:
        """W_h d_h: what the groups to estimate add to the sum of automatic values."""
        return self.weight * self.mean

    @property
    def variance_of_correction(self) -> float:
        """W_h^2 s_h^2 (1 / n_h + 1 / m_h)."""
        return self.weight**2 * (self.variance * (1 / self.n_sampled + 1 / self.n_estimated))


def _summarize_stratum(values: GroupValues, flags: _Stratum) -> _DesignStratum:
    """Compute the terms of a stratum for the formula of `compute_reference_interval`.

    The mean correction weighs groups as the metric does. The variance is the ordinary one of the
    groups, because each sampled group is one draw, whatever its weight.
    """
    # Human minus automatic value of each sampled group
    corrections = values.human[flags.sampled] - values.automatic[flags.sampled]
    return _DesignStratum(
        n_sampled=len(corrections),
        n_estimated=int(flags.estimated.sum()),
        weight=float(values.weight[flags.estimated].sum()),
        mean=float(np.average(corrections, weights=values.weight[flags.sampled])),
        variance=float(corrections.var(ddof=1)),
    )


MIN_REFERENCE_GROUPS = 2
"""Minimum number of sampled groups of a stratum of the reference interval."""


def _list_design_strata(values: GroupValues) -> list[_Stratum]:
    """Return the strata of the sample that have groups to estimate, without regard to their
    automatic values.
    """
    is_estimated = ~(values.is_sampled | values.is_known)
    strata = []
    for name in dict.fromkeys(values.stratum):
        is_member = np.array([each == name for each in values.stratum])
        stratum = _Stratum(
            sampled=is_member & values.is_sampled, estimated=is_member & is_estimated
        )
        if stratum.estimated.any():
            strata.append(stratum)
    return strata


def draw_metric_values(values: GroupValues, n_draws: int, seed: int) -> FloatArray:
    """Draw the value that a metric would have if all groups were reviewed, of shape (draws,).

    As in `compute_metric_estimate`, a group that was not reviewed has its automatic value plus the
    mean correction of its stratum. Here, the mean correction is drawn.
    """
    generator = np.random.default_rng(seed)
    weighted_sums = np.full(n_draws, _sum_known_values(values))
    for stratum in _list_strata(values):
        mean_corrections = _draw_mean_corrections(values, stratum, n_draws, generator)
        estimated_weight = values.weight[stratum.estimated].sum()
        weighted_sums += mean_corrections * estimated_weight
    drawn_values: FloatArray = weighted_sums / values.weight.sum()
    return np.clip(drawn_values, values.lowest, values.highest)


def _draw_mean_corrections(
    values: GroupValues, stratum: _Stratum, n_draws: int, generator: np.random.Generator
) -> FloatArray:
    """Draw the weighted mean correction of the estimated groups of a stratum, of shape (draws,).

    Each estimated group gets one of the possible corrections of the stratum (Bayesian bootstrap,
    see the top of this module).
    """
    possible = _list_possible_corrections(values, stratum)
    # Of shape (draws, corrections): the share of each correction, and the number of estimated
    # groups that get it.
    shares = generator.dirichlet(possible.dirichlet_parameters, n_draws)
    n_groups = generator.multinomial(int(stratum.estimated.sum()), shares)

    drawn_weights = n_groups * possible.weights
    # Group weights can be 0 if a metric counts nothing in a group.
    total_weights = np.maximum(drawn_weights.sum(axis=1), _TOLERANCE)
    mean_corrections: FloatArray = (drawn_weights @ possible.corrections) / total_weights
    return mean_corrections


@dataclass(frozen=True, slots=True)
class _PossibleCorrections:
    """Corrections that the estimated groups of a stratum may need: those of the sampled groups,
    then two extreme ones. The arrays have one entry per correction.
    """

    corrections: FloatArray
    weights: FloatArray
    """Weight of a group that has the correction. For an extreme correction, which no group has, it
    is the mean weight of the sampled groups.
    """
    dirichlet_parameters: FloatArray
    """Number of groups that each correction counts as."""


def _list_possible_corrections(values: GroupValues, stratum: _Stratum) -> _PossibleCorrections:
    """Return the corrections of the sampled groups of a stratum, which count as one group each, and
    the two extreme corrections, which count as `JEFFREYS` groups each.
    """
    sampled_corrections = values.human[stratum.sampled] - values.automatic[stratum.sampled]
    sampled_weights = values.weight[stratum.sampled]
    n_sampled = len(sampled_weights)
    extreme_corrections = _find_extreme_corrections(values, stratum)
    n_extremes = len(extreme_corrections)
    mean_weight = float(sampled_weights.mean()) if n_sampled else 1.0
    return _PossibleCorrections(
        np.concatenate([sampled_corrections, extreme_corrections]),
        weights=np.concatenate([sampled_weights, np.full(n_extremes, mean_weight)]),
        dirichlet_parameters=np.concatenate([np.ones(n_sampled), np.full(n_extremes, JEFFREYS)]),
    )


def _find_extreme_corrections(values: GroupValues, stratum: _Stratum) -> FloatArray:
    """Return the lowest and the highest correction that the estimated groups may need. They keep
    the mean on the scale, and are not larger than the largest correction of a sampled group.
    """
    estimated = stratum.estimated
    weights = values.weight[estimated] + _TOLERANCE
    mean_automatic = float(np.average(values.automatic[estimated], weights=weights))
    largest = _find_largest_correction(values)
    lowest_correction = max(values.lowest - mean_automatic, -largest)
    highest_correction = min(values.highest - mean_automatic, largest)
    return np.array([lowest_correction, highest_correction])


def _find_largest_correction(values: GroupValues) -> float:
    """Return the largest difference between the human and the automatic value of a sampled group.
    If no group has a difference, return the length of the whole scale.
    """
    corrections = np.abs(values.human[values.is_sampled] - values.automatic[values.is_sampled])
    largest = float(corrections.max(initial=0.0))
    if largest > _TOLERANCE:
        return largest
    return values.highest - values.lowest


def find_group_metrics(
    groups: Sequence[Sequence[int]], calculator: MetricCalculator
) -> set[MetricKey]:
    """Return the keys of the metrics that judge a group of items as a whole.

    In such a metric, the effect of one verdict depends on the other verdicts of the group. Two
    wrong verdicts together change it by another amount than the sum of both. `groups` contains the
    positions of the items of each group.
    """
    found: set[MetricKey] = set()
    large = [positions for positions in groups if len(positions) > 1]
    for positions in large[:_MAX_TESTED_GROUPS]:
        found |= _find_metrics_of_group(positions, calculator)
    return found


def _find_metrics_of_group(
    positions: Sequence[int], calculator: MetricCalculator
) -> set[MetricKey]:
    """Find the metrics on which the first two items of a group have no independent effects: a
    failure of the first item changes the metric by another amount if the second one fails too.

    Two items are enough, because in a metric of whole groups, any two items depend on each other.
    """
    passing = dict.fromkeys(positions, True)
    first, second = positions[:2]
    all_pass = calculator.compute_with_verdicts(passing.items())
    first_fails = calculator.compute_with_verdicts({**passing, first: False}.items())
    second_fails = calculator.compute_with_verdicts({**passing, second: False}.items())
    both_fail = calculator.compute_with_verdicts({**passing, first: False, second: False}.items())

    metrics = set()
    for key in all_pass.keys() & first_fails.keys() & second_fails.keys() & both_fail.keys():
        effect_alone = first_fails[key] - all_pass[key]
        effect_after_second = both_fail[key] - second_fails[key]
        if abs(effect_after_second - effect_alone) > _TOLERANCE:
            metrics.add(key)
    return metrics
