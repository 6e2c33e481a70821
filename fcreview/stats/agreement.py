"""Compute the agreement of annotators: all coefficients, with intervals, for each group of ratings.

Units with the same labels form one pattern. A `Statistic` is a function that computes one
coefficient for many samples with a few matrix products. Its argument `pattern_counts`, of shape
(samples, patterns), contains the number of units of each pattern in each sample. It returns one
value per sample, or NaN if the coefficient is undefined. `label_counts`, of shape (patterns,
categories), contains the number of annotators who chose each category.

Percent agreement has Wilson's interval with the effective number of units (see
`paired_difference`). The other coefficients have jackknife intervals: `estimate_with_jackknife`
explains the method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import atanh, isnan, sqrt, tanh
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcreview.model.effective_verdict import is_definite
from fcreview.stats.agreement_ratings import (
    AgreementCoefficient,
    AgreementScope,
    BlindStatus,
    CoefficientName,
    IntervalMethod,
    LabelKey,
    MeasurementLevel,
    Rating,
    RatingGroup,
    RepeatedRating,
    build_labels_with_faults,
    group_ratings,
    infer_measurement_level,
    list_label_keys,
    to_label_key,
)
from fcreview.stats.paired_difference import compute_clustered_rate, compute_t_quantile

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
_ZERO_TOLERANCE = 1e-12


def compute_pairwise_agreement(label_counts: FloatArray) -> FloatArray:
    """Return the share of equal pairs of labels in each pattern; 0 for a pattern with fewer than
    two labels.
    """
    n_labels = label_counts.sum(1)
    share: FloatArray = (label_counts * (label_counts - 1)).sum(1) / np.maximum(
        n_labels * (n_labels - 1), 1
    )
    return share


def build_percent_agreement(agreement: NDArray[np.float64 | np.bool_]) -> Statistic:
    """Build the statistic for percent agreement.

    `agreement` is the share of equal pairs of labels in each pattern.
    """

    def compute_mean_agreement(pattern_counts: FloatArray) -> FloatArray:
        return _divide_or_nan(pattern_counts @ agreement, pattern_counts.sum(1))

    return compute_mean_agreement


def build_cohen_kappa(labels: NDArray[np.int64]) -> Statistic:
    """Build the statistic for unweighted kappa (Cohen 1960) from category indexes of two
    annotators in each pattern.
    """
    one_hot = np.eye(int(labels.max(initial=0)) + 1)[labels]
    first, second = one_hot[:, 0], one_hot[:, 1]
    equal = (labels[:, 0] == labels[:, 1]).astype(np.float64)

    def compute_kappa(pattern_counts: FloatArray) -> FloatArray:
        n_units = pattern_counts.sum(1)
        by_chance = ((pattern_counts @ first) * (pattern_counts @ second)).sum(1)
        return _correct_for_chance(
            _divide_or_nan(pattern_counts @ equal, n_units), _divide_or_nan(by_chance, n_units**2)
        )

    return compute_kappa


def build_fleiss_kappa(label_counts: FloatArray) -> Statistic:
    """Build the statistic for Fleiss' kappa (Fleiss 1971).

    All patterns must have the same number of labels.
    """
    agreement = compute_pairwise_agreement(label_counts)

    def compute_kappa(pattern_counts: FloatArray) -> FloatArray:
        category_counts = pattern_counts @ label_counts
        prevalence = _divide_or_nan(category_counts, category_counts.sum(1, keepdims=True))
        observed = _divide_or_nan(pattern_counts @ agreement, pattern_counts.sum(1))
        return _correct_for_chance(observed, (prevalence**2).sum(1))

    return compute_kappa


def build_gwet_ac1(label_counts: FloatArray) -> Statistic:
    """Build the statistic for Gwet's AC1 (Gwet 2008, with missing labels as in Gwet 2014). Units
    with one label count only for the prevalence of the categories. `label_counts` has a column for
    every category of the scale.
    """
    has_pairs = (label_counts.sum(1) > 1).astype(np.float64)
    agreement = compute_pairwise_agreement(label_counts)
    shares = label_counts / label_counts.sum(1, keepdims=True)
    n_other_categories = label_counts.shape[1] - 1 or np.nan

    def compute_ac1(pattern_counts: FloatArray) -> FloatArray:
        prevalence = (pattern_counts @ shares) / pattern_counts.sum(1, keepdims=True)
        by_chance = (prevalence * (1 - prevalence)).sum(1) / n_other_categories
        return _correct_for_chance(
            _divide_or_nan(pattern_counts @ agreement, pattern_counts @ has_pairs), by_chance
        )

    return compute_ac1


def make_quadratic_weights(scores: FloatArray) -> FloatArray:
    """Return how much two scores agree: 1 for equal scores, 0 for the lowest and the highest
    (Fleiss and Cohen 1973).
    """
    distance = (scores[:, np.newaxis] - scores) ** 2
    largest = distance.max(initial=0.0) or 1.0
    weights: FloatArray = 1 - distance / largest
    return weights


def build_weighted_kappa(labels: NDArray[np.int64], weights: FloatArray) -> Statistic:
    """Build the statistic for weighted kappa (Cohen 1968) from category indexes of two
    annotators in each pattern.
    """
    one_hot = np.eye(len(weights))[labels]
    first, second = one_hot[:, 0], one_hot[:, 1]
    agreement = weights[labels[:, 0], labels[:, 1]]

    def compute_kappa(pattern_counts: FloatArray) -> FloatArray:
        n_units = pattern_counts.sum(1)
        by_chance = (((pattern_counts @ first) @ weights) * (pattern_counts @ second)).sum(1)
        observed = _divide_or_nan(pattern_counts @ agreement, n_units)
        return _correct_for_chance(observed, _divide_or_nan(by_chance, n_units**2))

    return compute_kappa


def build_gwet_ac2(label_counts: FloatArray, weights: FloatArray) -> Statistic:
    """Build the statistic for Gwet's AC2, the weighted form of AC1 (Gwet 2014, chapter 5)."""
    n_labels = label_counts.sum(1)
    has_pairs = (n_labels > 1).astype(np.float64)
    weighted = (label_counts * (label_counts @ weights - 1)).sum(1)
    agreement = has_pairs * weighted / np.maximum(n_labels * (n_labels - 1), 1)
    shares = label_counts / label_counts.sum(1, keepdims=True)
    n_categories = label_counts.shape[1]
    chance_factor = (
        weights.sum() / (n_categories * (n_categories - 1)) if n_categories > 1 else np.nan
    )

    def compute_ac2(pattern_counts: FloatArray) -> FloatArray:
        prevalence = (pattern_counts @ shares) / pattern_counts.sum(1, keepdims=True)
        by_chance = chance_factor * (prevalence * (1 - prevalence)).sum(1)
        return _correct_for_chance(
            _divide_or_nan(pattern_counts @ agreement, pattern_counts @ has_pairs), by_chance
        )

    return compute_ac2


def build_krippendorff_alpha(label_counts: FloatArray, distance: FloatArray) -> Statistic:
    """Build the statistic for Krippendorff's alpha (Krippendorff 2004, chapter 11). Every pattern
    must have at least two labels. `distance`, of shape (categories, categories), contains the
    squared distances.
    """
    disagreement = ((label_counts @ distance) * label_counts).sum(1) / (label_counts.sum(1) - 1)

    def compute_alpha(pattern_counts: FloatArray) -> FloatArray:
        category_counts = pattern_counts @ label_counts
        expected = ((category_counts @ distance) * category_counts).sum(1)
        return _compute_alpha_from_disagreement(
            pattern_counts @ disagreement, expected, category_counts.sum(1)
        )

    return compute_alpha


def build_ordinal_krippendorff_alpha(label_counts: FloatArray) -> Statistic:
    """Build the statistic for ordinal alpha.

    The distance of categories is the squared difference of mean ranks.
    """
    low, high = np.triu_indices(label_counts.shape[1], 1)
    pairs = label_counts[:, low] * label_counts[:, high] / (label_counts.sum(1, keepdims=True) - 1)

    def compute_alpha(pattern_counts: FloatArray) -> FloatArray:
        category_counts = pattern_counts @ label_counts
        mean_rank = category_counts.cumsum(1) - category_counts / 2
        distance = (mean_rank[:, low] - mean_rank[:, high]) ** 2
        expected = (category_counts[:, low] * category_counts[:, high] * distance).sum(1)
        return _compute_alpha_from_disagreement(
            ((pattern_counts @ pairs) * distance).sum(1), expected, category_counts.sum(1)
        )

    return compute_alpha


def compute_masi_distances(sets: Sequence[frozenset[str]]) -> FloatArray:
    """Return the MASI distances between sets of labels (Passonneau 2006), of shape (sets, sets).
    The distance is 1 minus the product of the Jaccard index and 1 for equal sets, 2/3 for a set and
    its subset, or 1/3 for other sets.
    """
    words = sorted(frozenset().union(*sets))
    contains = np.array([[word in each for word in words] for each in sets], dtype=np.float64)
    size = contains.sum(1)
    common = contains @ contains.T
    union = size[:, None] + size - common
    smaller = np.minimum(size[:, None], size)
    monotonicity = np.select([common == union, common == smaller], [1.0, 2 / 3], 1 / 3)
    return 1 - monotonicity * np.where(union > 0, common / np.maximum(union, 1), 1)


def _compute_alpha_from_disagreement(
    observed: FloatArray, expected: FloatArray, n_labels: FloatArray
) -> FloatArray:
    return 1 - _divide_or_nan(observed * (n_labels - 1), expected)


def _correct_for_chance(observed: FloatArray, by_chance: FloatArray) -> FloatArray:
    return _divide_or_nan(observed - by_chance, 1 - by_chance)


def _divide_or_nan(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide element by element. Where the denominator is 0, the result is NaN."""
    is_defined = np.abs(denominator) > _ZERO_TOLERANCE
    ratio: FloatArray = np.where(
        is_defined, numerator / np.where(is_defined, denominator, 1), np.nan
    )
    return ratio


_MAX_COUNTS = 2_000_000
"""Maximum number of pattern counts that are in memory at a time."""
_STEP = 1e-4
"""Number of units by which the count of a pattern changes to measure its influence on a
coefficient.
"""
_MAX_SMOOTHED_VALUE = 0.999999
PRIOR_AGREEMENTS = 1.0
PRIOR_DISAGREEMENTS = 0.5
"""Numbers of units that are added for the interval of two annotators, spread over all pairs of
categories. They were chosen by simulation (`benchmarks/coverage/agreement.py`). Without them, the
intervals of kappa and alpha are much too narrow if one category is rare.
"""


@dataclass(frozen=True, slots=True)
class CoefficientEstimate:
    """Coefficient with its 95 % interval. The value is None if the coefficient is undefined, and
    the ends of the interval are None if there is no interval.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod | None = None
    note: str = ""
    """Why there is no interval."""


NO_DISAGREEMENT = "no disagreement"
SINGLE_ITEM = "only one item"


RESAMPLES = 1000
SEED = 0
INTERVAL_PERCENTILES = (2.5, 97.5)


class BootstrapEstimate(NamedTuple):
    """Coefficient with its bootstrap interval. The value is None if the coefficient is undefined.
    The ends of the interval are None if the coefficient is undefined in more than half of the
    resamples.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def omit_interval_of_single_unit(self, n_units: int) -> BootstrapEstimate:
        """Return the estimate, without its interval if there is only one unit, because all
        resamples are then equal.
        """
        return self if n_units > 1 else BootstrapEstimate(self.value)


def bootstrap(
    units_per_pattern: NDArray[np.int64],
    statistics: Sequence[Statistic],
    n_resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[BootstrapEstimate]:
    """Compute each statistic and its bootstrap interval, from the middle 95 % of the resampled
    values (Efron and Tibshirani 1993, chapter 13). The intervals are too narrow for fewer than a
    few dozen units. `units_per_pattern` is the number of units that have each pattern.
    """
    values = [
        float(statistic(units_per_pattern[np.newaxis].astype(np.float64))[0])
        for statistic in statistics
    ]
    resampled: list[list[FloatArray]] = [[] for _ in statistics]
    for pattern_counts in _iter_resamples(units_per_pattern, n_resamples, seed):
        for chunks, statistic in zip(resampled, statistics, strict=True):
            chunks.append(statistic(pattern_counts))
    return [
        _build_estimate(value, np.concatenate(chunks))
        for value, chunks in zip(values, resampled, strict=True)
    ]


def _build_estimate(value: float, resampled_values: FloatArray) -> BootstrapEstimate:
    if np.isnan(value):
        return BootstrapEstimate()
    defined = resampled_values[~np.isnan(resampled_values)]
    if len(defined) * 2 < len(resampled_values):
        return BootstrapEstimate(value)
    low, high = np.percentile(defined, INTERVAL_PERCENTILES)
    return BootstrapEstimate(value, low=float(low), high=float(high))


def _iter_resamples(
    units_per_pattern: NDArray[np.int64], n_resamples: int, seed: int
) -> Iterator[FloatArray]:
    generator = np.random.default_rng(seed)
    n_units = int(units_per_pattern.sum())
    step = max(1, _MAX_COUNTS // len(units_per_pattern))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        yield generator.multinomial(n_units, units_per_pattern / n_units, size=size).astype(
            np.float64
        )


IntArray = NDArray[np.int64]
NO_LABEL = -1
"""Value in `RatingTable.cells` of a unit that the annotator did not label."""
MAX_PRIOR_CATEGORIES = 20


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """Items whose units have the same patterns. Units of one item are not independent."""

    patterns: tuple[int, ...]
    """Pattern of each unit of such an item, sorted."""
    n_items: int


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Labels that the annotators gave to all units.

    Each row is a pattern: the labels of one or more units.
    """

    annotators: tuple[str, ...]
    label_keys: tuple[LabelKey, ...]
    level: MeasurementLevel
    cells: IntArray
    """Indexes into `label_keys`, or `NO_LABEL`, of shape (patterns, annotators). The last patterns
    may be those of `prior_units`.
    """
    units_per_pattern: IntArray
    """Number of units of each pattern; 0 for a pattern that only `prior_units` has."""
    item_groups: tuple[ItemGroup, ...]
    prior_units: FloatArray
    """Number of units of each pattern that are added for intervals."""

    def count_labels(self) -> IntArray:
        """Count the annotators who chose each label in each pattern, of shape (patterns,
        label_keys).
        """
        n_patterns, size = len(self.cells), len(self.label_keys)
        numbered = self.cells + size * np.arange(n_patterns)[:, np.newaxis]
        chosen = np.bincount(numbered[self.cells != NO_LABEL], minlength=n_patterns * size)
        return chosen.reshape(n_patterns, size)

    @property
    def scores(self) -> FloatArray | None:
        """Scores of the categories; None if a category is no number."""
        scores = []
        for key in self.label_keys:
            try:
                scores.append(float(key))  # type: ignore[arg-type]  # a set raises TypeError
            except (TypeError, ValueError):
                return None
        return np.array(scores)


def build_rating_table(criterion: str, ratings: Sequence[Rating]) -> RatingTable:
    """Build the table of at least one rating.

    If an annotator labelled a unit more than once, the last label counts.
    """
    annotators = sorted({rating.annotator for rating in ratings})
    values = [rating.value for rating in ratings]
    label_keys = list_label_keys(criterion, values)
    column = {name: at for at, name in enumerate(annotators)}
    code = {key: at for at, key in enumerate(label_keys)}
    row: dict[tuple[int, str], int] = {}
    rows = [row.setdefault((rating.item, rating.target), len(row)) for rating in ratings]
    cells = np.full((len(row), len(annotators)), NO_LABEL, dtype=np.int64)
    cells[rows, [column[rating.annotator] for rating in ratings]] = [
        code[to_label_key(value)] for value in values
    ]

    patterns, pattern_of_unit, units_per_pattern = np.unique(
        cells, axis=0, return_inverse=True, return_counts=True
    )
    items = [item for item, _ in row]
    prior_cells, prior_units = _make_prior_units(len(annotators), len(label_keys))
    return RatingTable(
        annotators=tuple(annotators),
        label_keys=tuple(label_keys),
        level=infer_measurement_level(values),
        cells=np.concatenate([patterns, prior_cells]),
        units_per_pattern=np.concatenate(
            [units_per_pattern, np.zeros(len(prior_cells), dtype=np.int64)]
        ),
        item_groups=_group_items(items, pattern_of_unit.reshape(-1).tolist()),
        prior_units=np.concatenate([np.zeros(len(patterns)), prior_units]),
    )


def _group_items(items: Sequence[int], pattern_of_unit: Sequence[int]) -> tuple[ItemGroup, ...]:
    """Group items with the same patterns. `items` contains the item of each unit."""
    patterns_of_item: dict[int, list[int]] = {}
    for item, pattern in zip(items, pattern_of_unit, strict=True):
        patterns_of_item.setdefault(item, []).append(pattern)
    counts = Counter(tuple(sorted(patterns)) for patterns in patterns_of_item.values())
    return tuple(ItemGroup(patterns, n_items) for patterns, n_items in sorted(counts.items()))


def _make_prior_units(n_annotators: int, n_categories: int) -> tuple[IntArray, FloatArray]:
    """Return the patterns that are added for intervals, and the number of units of each. Only two
    annotators who use at least two and not very many categories have such patterns.
    """
    if n_annotators != 2 or not 2 <= n_categories <= MAX_PRIOR_CATEGORIES:
        return np.zeros((0, n_annotators), dtype=np.int64), np.zeros(0)
    pairs = np.array(
        [(a, b) for a in range(n_categories) for b in range(n_categories)], dtype=np.int64
    )
    is_equal = pairs[:, 0] == pairs[:, 1]
    n_unequal = n_categories * (n_categories - 1)
    units = np.where(is_equal, PRIOR_AGREEMENTS / n_categories, PRIOR_DISAGREEMENTS / n_unequal)
    return pairs, units


def compute_agreement(
    ratings: Iterable[Rating], scopes: Iterable[AgreementScope], blind_status: BlindStatus
) -> Iterator[AgreementCoefficient]:
    """Compute the coefficients of all groups of ratings with `compute_coefficients`."""
    for group in build_rating_groups(ratings, scopes, blind_status):
        yield from compute_coefficients(group)


def build_rating_groups(
    ratings: Iterable[Rating], scopes: Iterable[AgreementScope], blind_status: BlindStatus
) -> list[RatingGroup]:
    labels = build_labels_with_faults(ratings)
    return [group for scope in scopes for group in group_ratings(labels, scope, blind_status)]


@dataclass(frozen=True, slots=True)
class _CoefficientRequest:
    metric: CoefficientName
    annotators: tuple[str, ...]
    patterns: IntArray
    statistic: Statistic
    agreement: FloatArray
    """Share of equal pairs of labels in each of `patterns`."""
    level: MeasurementLevel = "nominal"


def compute_coefficients(group: RatingGroup) -> Iterator[AgreementCoefficient]:
    """Compute the coefficients of all annotators of a group, then the coefficients of each pair
    of annotators.
    """
    table = build_rating_table(group.criterion, group.ratings)
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    for request in _build_requests_for_all_annotators(table):
        n = int((table.units_per_pattern * n_labels)[request.patterns].sum())
        yield _make_coefficient(group, table, request, n_labels=n)

    ratings_by_annotator: dict[str, list[Rating]] = {name: [] for name in table.annotators}
    for rating in group.ratings:
        ratings_by_annotator[rating.annotator].append(rating)
    for first, second in combinations(table.annotators, 2):
        ratings = [*ratings_by_annotator[first], *ratings_by_annotator[second]]
        table_of_pair = build_rating_table(group.criterion, ratings)
        # With two annotators, the percentage of all annotators is the same.
        has_share = len(table.annotators) > 2
        for request in _build_requests_for_pair(
            table_of_pair, has_share=has_share, level=table.level
        ):
            n_units = int(table_of_pair.units_per_pattern[request.patterns].sum())
            yield _make_coefficient(group, table_of_pair, request, n_labels=2 * n_units)


def _make_coefficient(
    group: RatingGroup, table: RatingTable, request: _CoefficientRequest, n_labels: int
) -> AgreementCoefficient:
    estimate = _estimate_coefficient(request, table)
    return AgreementCoefficient(
        scope=group.scope,
        benchmark=group.benchmark,
        category=group.category,
        criterion=group.criterion,
        level=request.level,
        metric=request.metric,
        annotators=request.annotators,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n_units=int(table.units_per_pattern[request.patterns].sum()),
        n_labels=n_labels,
        given=group.given,
        interval=estimate.method,
        interval_note=estimate.note,
    )


def _estimate_coefficient(request: _CoefficientRequest, table: RatingTable) -> CoefficientEstimate:
    """Compute a coefficient and choose its interval."""
    counts = table.units_per_pattern.astype(np.float64)
    value = float(request.statistic(counts[np.newaxis])[0])
    if isnan(value):
        return CoefficientEstimate()
    item_groups = _select_item_groups(table.item_groups, request.patterns)
    if sum(group.n_items for group in item_groups) < 2:
        return CoefficientEstimate(value, note=SINGLE_ITEM)
    if request.metric == "percent":
        return _estimate_percent_agreement(value, item_groups, request)
    has_disagreement = bool((counts[request.patterns] @ (1 - request.agreement)) > _ZERO_TOLERANCE)
    if not has_disagreement:
        return CoefficientEstimate(value, note=NO_DISAGREEMENT)
    return estimate_with_jackknife(value, table, request.statistic, item_groups)


def _select_item_groups(item_groups: Iterable[ItemGroup], patterns: IntArray) -> list[ItemGroup]:
    """Keep the given patterns of each item, and the items that have one of them."""
    chosen = set(patterns.tolist())
    selected = []
    for group in item_groups:
        kept = tuple(pattern for pattern in group.patterns if pattern in chosen)
        if kept:
            selected.append(ItemGroup(kept, group.n_items))
    return selected


def _estimate_percent_agreement(
    value: float, item_groups: Sequence[ItemGroup], request: _CoefficientRequest
) -> CoefficientEstimate:
    """Compute Wilson's interval. The units of an item are a cluster."""
    share_of_pattern = dict(zip(request.patterns.tolist(), request.agreement.tolist(), strict=True))
    sizes: list[int] = []
    equal: list[float] = []
    for group in item_groups:
        sizes += [len(group.patterns)] * group.n_items
        equal += [sum(share_of_pattern[pattern] for pattern in group.patterns)] * group.n_items
    rate = compute_clustered_rate(sizes, equal)
    if rate is None:
        return CoefficientEstimate(value)
    return CoefficientEstimate(value, low=rate.low, high=rate.high, method="wilson")


def estimate_with_jackknife(
    value: float, table: RatingTable, statistic: Statistic, item_groups: Sequence[ItemGroup]
) -> CoefficientEstimate:
    """Compute the interval of a coefficient by the infinitesimal jackknife (Efron 1982, chapter 6).

    The influence of an item is the derivative of the coefficient with respect to the item's weight.
    The variance is the sum of the squared influences, as in Gwet's variance (Gwet 2008), but also
    holds for several units of an item. The ends are computed on the logit scale with Student's t,
    because coefficients near 1 have skewed distributions. For two annotators, the interval is
    computed with `prior_units`.
    """
    counts = table.units_per_pattern + table.prior_units
    center = float(statistic(counts[np.newaxis])[0])
    prior_groups = [
        ItemGroup((int(pattern),), n_items=1) for pattern in np.flatnonzero(table.prior_units)
    ]
    influences = _compute_influences(statistic, counts, [*item_groups, *prior_groups])
    n_items = sum(group.n_items for group in item_groups)
    weights = np.array([float(group.n_items) for group in item_groups])
    weights = np.concatenate([weights, table.prior_units[table.prior_units > 0]])
    variance = float(weights @ influences**2) * weights.sum() / (n_items - 1)
    if isnan(center) or isnan(variance):
        return CoefficientEstimate(value)

    center = min(max(center, -_MAX_SMOOTHED_VALUE), _MAX_SMOOTHED_VALUE)
    # atanh is half the logit of (1 + value) / 2, which is between 0 and 1.
    half_width = compute_t_quantile(n_items - 1) * sqrt(variance) / (1 - center**2)
    low = min(value, tanh(atanh(center) - half_width))
    high = max(value, tanh(atanh(center) + half_width))
    return CoefficientEstimate(value, low=low, high=high, method="jackknife")


def _compute_influences(
    statistic: Statistic, counts: FloatArray, item_groups: Sequence[ItemGroup]
) -> FloatArray:
    """Return the derivative of the statistic with respect to the number of items of each group."""
    influences = [np.zeros(0)]
    step = max(1, _MAX_COUNTS // len(counts))
    for start in range(0, len(item_groups), step):
        chunk = item_groups[start : start + step]
        change = np.zeros((len(chunk), len(counts)))
        for row, group in enumerate(chunk):
            for pattern in group.patterns:
                change[row, pattern] += _STEP
        more = statistic(counts + change)
        less = statistic(counts - change)
        influences.append((more - less) / (2 * _STEP))
    return np.concatenate(influences)


def _build_requests_for_all_annotators(table: RatingTable) -> Iterator[_CoefficientRequest]:
    names = table.annotators
    counts = table.count_labels().astype(np.float64)
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    several = np.flatnonzero(n_labels > 1)
    balanced = np.flatnonzero(
        n_labels == _find_most_frequent_label_count(n_labels, table.units_per_pattern)
    )
    agreement = compute_pairwise_agreement(counts)

    yield _build_percent_request(table)
    fleiss = _restrict_to_patterns(balanced, build_fleiss_kappa(counts[balanced]))
    yield _CoefficientRequest(
        "fleiss",
        annotators=names,
        patterns=balanced,
        statistic=fleiss,
        agreement=agreement[balanced],
    )
    alpha = _restrict_to_patterns(several, _choose_krippendorff_alpha(table, counts[several]))
    yield _CoefficientRequest(
        "alpha",
        annotators=names,
        patterns=several,
        statistic=alpha,
        agreement=agreement[several],
        level=table.level,
    )
    yield _CoefficientRequest(
        "ac1",
        annotators=names,
        patterns=several,
        statistic=build_gwet_ac1(counts),
        agreement=agreement[several],
    )
    scores = table.scores
    if table.level == "ordinal" and scores is not None:
        ac2 = build_gwet_ac2(counts, make_quadratic_weights(scores))
        yield _CoefficientRequest(
            "ac2",
            annotators=names,
            patterns=several,
            statistic=ac2,
            agreement=agreement[several],
            level=table.level,
        )


def _build_percent_request(table: RatingTable) -> _CoefficientRequest:
    several = np.flatnonzero((table.cells != NO_LABEL).sum(axis=1) > 1)
    agreement = compute_pairwise_agreement(table.count_labels()[several].astype(np.float64))
    statistic = _restrict_to_patterns(several, build_percent_agreement(agreement))
    return _CoefficientRequest(
        "percent",
        annotators=table.annotators,
        patterns=several,
        statistic=statistic,
        agreement=agreement,
    )


def _build_requests_for_pair(
    table: RatingTable, *, has_share: bool, level: MeasurementLevel
) -> Iterator[_CoefficientRequest]:
    """Build the requests for two annotators. If one of them labelled nothing, there is none.
    `level` is the level of the labels of all annotators.
    """
    if len(table.annotators) < 2:
        return
    if has_share:
        yield _build_percent_request(table)
    both, cells = _select_units_of_both(table)
    agreement = (cells[:, 0] == cells[:, 1]).astype(np.float64)
    cohen = _restrict_to_patterns(both, build_cohen_kappa(cells))
    yield _CoefficientRequest(
        "cohen", annotators=table.annotators, patterns=both, statistic=cohen, agreement=agreement
    )
    scores = table.scores
    if level == "ordinal" and scores is not None:
        kappa = build_weighted_kappa(cells, make_quadratic_weights(scores))
        weighted = _restrict_to_patterns(both, kappa)
        yield _CoefficientRequest(
            "weighted",
            annotators=table.annotators,
            patterns=both,
            statistic=weighted,
            agreement=agreement,
            level=level,
        )


def _select_units_of_both(table: RatingTable) -> tuple[IntArray, IntArray]:
    """Return the patterns in which both annotators have a label, and their cells."""
    both = np.flatnonzero((table.cells != NO_LABEL).all(axis=1))
    return both, table.cells[both]


def _restrict_to_patterns(patterns: IntArray, statistic: Statistic) -> Statistic:
    return lambda pattern_counts: statistic(pattern_counts[:, patterns])


def _find_most_frequent_label_count(n_labels: IntArray, units_per_pattern: IntArray) -> int:
    frequency = np.bincount(n_labels, units_per_pattern, minlength=3)[2:]
    return len(frequency) + 1 - int(frequency[::-1].argmax())


def _choose_krippendorff_alpha(table: RatingTable, label_counts: FloatArray) -> Statistic:
    if table.level == "ordinal":
        return build_ordinal_krippendorff_alpha(label_counts)
    if table.level == "nominal":
        return build_krippendorff_alpha(label_counts, 1 - np.eye(len(table.label_keys)))
    sets = [key if isinstance(key, frozenset) else frozenset({key}) for key in table.label_keys]
    return build_krippendorff_alpha(label_counts, compute_masi_distances(sets))


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """Agreement of annotators with their own repeated labels, in the fields of `fcreview
    agreement --json`.
    """

    scope: Literal["self"]
    annotator: str | None
    criterion: str
    n: int
    """Number of targets that the annotator labelled twice. "unsure" is not a label."""
    percent: float | None
    percent_low: float | None
    percent_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None


def compute_self_agreement(repeats: Iterable[RepeatedRating]) -> Iterator[SelfAgreement]:
    """Compute self-agreement on each criterion, for each annotator and then for all annotators
    together.
    """
    by_criterion: dict[str, dict[str, list[RepeatedRating]]] = {}
    for each in repeats:
        if is_definite(each.first) and is_definite(each.second):
            by_criterion.setdefault(each.criterion, {}).setdefault(each.annotator, []).append(each)
    for criterion, by_annotator in sorted(by_criterion.items()):
        for annotator, group in sorted(by_annotator.items()):
            yield _compute_self_agreement_on(annotator, criterion, group)
        if len(by_annotator) > 1:
            yield _compute_self_agreement_on(
                None, criterion, [each for group in by_annotator.values() for each in group]
            )


def _compute_self_agreement_on(
    annotator: str | None, criterion: str, repeats: Sequence[RepeatedRating]
) -> SelfAgreement:
    ratings = []
    for unit, each in enumerate(repeats):
        # Two annotators may have repeated the same target, which gives two units.
        target = f"{unit}"
        ratings.append(
            Rating(
                each.item,
                key=each.key,
                target=target,
                criterion=criterion,
                annotator="1",
                value=each.first,
            )
        )
        ratings.append(
            Rating(
                each.item,
                key=each.key,
                target=target,
                criterion=criterion,
                annotator="2",
                value=each.second,
            )
        )
    table = build_rating_table(criterion, ratings)
    share, kappa = (
        _estimate_coefficient(request, table)
        for request in _build_requests_for_pair(table, has_share=True, level="nominal")
    )
    return SelfAgreement(
        scope="self",
        annotator=annotator,
        criterion=criterion,
        n=len(repeats),
        percent=share.value,
        percent_low=share.low,
        percent_high=share.high,
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
    )
