"""Compute the agreement of annotators: all coefficients, with intervals, for each group of ratings.

Units with the same labels form one pattern. A `Statistic` is a function that computes one coefficient for the data and
all resamples with a few matrix products. Its argument `pattern_counts`, of shape (samples, patterns), contains the
number of units of each pattern in each sample. It returns one value per sample, or NaN if the coefficient is undefined.
`label_counts`, of shape (patterns, categories), contains the number of annotators who chose each category.

The bootstrap resamples units with replacement (Efron 1979). An interval contains the middle 95 % of the resampled
values (percentile method; Efron and Tibshirani 1993, chapter 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcreview.model.effective_verdict import is_definite
from fcreview.stats.agreement_ratings import (
    AgreementCoefficient,
    AgreementScope,
    BlindStatus,
    CoefficientName,
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

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
_ZERO_TOLERANCE = 1e-12


def compute_pairwise_agreement(label_counts: FloatArray) -> FloatArray:
    """Return the share of equal pairs of labels in each pattern; 0 for a pattern with fewer than two labels."""
    n_labels = label_counts.sum(1)
    share: FloatArray = (label_counts * (label_counts - 1)).sum(1) / np.maximum(n_labels * (n_labels - 1), 1)
    return share


def build_percent_agreement(agreement: NDArray[np.float64 | np.bool_]) -> Statistic:
    """Build the statistic for percent agreement. `agreement` is the share of equal pairs of labels in each pattern."""

    def compute_mean_agreement(pattern_counts: FloatArray) -> FloatArray:
        return _divide_or_nan(pattern_counts @ agreement, pattern_counts.sum(1))

    return compute_mean_agreement


def build_cohen_kappa(labels: NDArray[np.int64]) -> Statistic:
    """Build the statistic for unweighted kappa (Cohen 1960) from category indexes of two annotators in each pattern."""
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
    """Build the statistic for Fleiss' kappa (Fleiss 1971). All patterns must have the same number of labels."""
    agreement = compute_pairwise_agreement(label_counts)

    def compute_kappa(pattern_counts: FloatArray) -> FloatArray:
        category_counts = pattern_counts @ label_counts
        prevalence = _divide_or_nan(category_counts, category_counts.sum(1, keepdims=True))
        observed = _divide_or_nan(pattern_counts @ agreement, pattern_counts.sum(1))
        return _correct_for_chance(observed, (prevalence**2).sum(1))

    return compute_kappa


def build_gwet_ac1(label_counts: FloatArray) -> Statistic:
    """Build the statistic for Gwet's AC1 (Gwet 2008, with missing labels as in Gwet 2014). Units with one label count
    only for the prevalence of the categories. `label_counts` has a column for every category of the scale."""
    has_pairs = (label_counts.sum(1) > 1).astype(np.float64)
    agreement = compute_pairwise_agreement(label_counts)
    shares = label_counts / label_counts.sum(1, keepdims=True)
    n_other_categories = label_counts.shape[1] - 1 or np.nan

    def compute_ac1(pattern_counts: FloatArray) -> FloatArray:
        prevalence = (pattern_counts @ shares) / pattern_counts.sum(1, keepdims=True)
        by_chance = (prevalence * (1 - prevalence)).sum(1) / n_other_categories
        return _correct_for_chance(_divide_or_nan(pattern_counts @ agreement, pattern_counts @ has_pairs), by_chance)

    return compute_ac1


def build_krippendorff_alpha(label_counts: FloatArray, distance: FloatArray) -> Statistic:
    """Build the statistic for Krippendorff's alpha (Krippendorff 2004, chapter 11). Every pattern must have at least
    two labels. `distance`, of shape (categories, categories), contains the squared distances."""
    disagreement = ((label_counts @ distance) * label_counts).sum(1) / (label_counts.sum(1) - 1)

    def compute_alpha(pattern_counts: FloatArray) -> FloatArray:
        category_counts = pattern_counts @ label_counts
        expected = ((category_counts @ distance) * category_counts).sum(1)
        return _compute_alpha_from_disagreement(pattern_counts @ disagreement, expected, category_counts.sum(1))

    return compute_alpha


def build_ordinal_krippendorff_alpha(label_counts: FloatArray) -> Statistic:
    """Build the statistic for ordinal alpha. The distance of categories is the squared difference of mean ranks."""
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
    """Return the MASI distances between sets of labels (Passonneau 2006), of shape (sets, sets). The distance is 1
    minus the product of the Jaccard index and 1 for equal sets, 2/3 for a set and its subset, or 1/3 for other sets."""
    words = sorted(frozenset().union(*sets))
    contains = np.array([[word in each for word in words] for each in sets], dtype=np.float64)
    size = contains.sum(1)
    common = contains @ contains.T
    union = size[:, None] + size - common
    smaller = np.minimum(size[:, None], size)
    monotonicity = np.select([common == union, common == smaller], [1.0, 2 / 3], 1 / 3)
    return 1 - monotonicity * np.where(union > 0, common / np.maximum(union, 1), 1)


def _compute_alpha_from_disagreement(observed: FloatArray, expected: FloatArray, n_labels: FloatArray) -> FloatArray:
    return 1 - _divide_or_nan(observed * (n_labels - 1), expected)


def _correct_for_chance(observed: FloatArray, by_chance: FloatArray) -> FloatArray:
    return _divide_or_nan(observed - by_chance, 1 - by_chance)


def _divide_or_nan(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide element by element. Where the denominator is 0, the result is NaN."""
    is_defined = np.abs(denominator) > _ZERO_TOLERANCE
    ratio: FloatArray = np.where(is_defined, numerator / np.where(is_defined, denominator, 1), np.nan)
    return ratio


RESAMPLES = 1000
SEED = 0
INTERVAL_PERCENTILES = (2.5, 97.5)
_MAX_COUNTS = 2_000_000


class BootstrapEstimate(NamedTuple):
    """Coefficient with its bootstrap interval. The value is None if the coefficient is undefined. The ends of the
    interval are None if the coefficient is undefined in more than half of the resamples."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    def omit_interval_of_single_unit(self, n_units: int) -> BootstrapEstimate:
        """Return the estimate, without its interval if there is only one unit, because all resamples are then equal."""
        return self if n_units > 1 else BootstrapEstimate(self.value)


def bootstrap(
    units_per_pattern: NDArray[np.int64],
    statistics: Sequence[Statistic],
    n_resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[BootstrapEstimate]:
    """Compute each statistic and its interval. `units_per_pattern` is the number of units that have each pattern."""
    values = [float(statistic(units_per_pattern[np.newaxis].astype(np.float64))[0]) for statistic in statistics]
    resampled: list[list[FloatArray]] = [[] for _ in statistics]
    for pattern_counts in _iter_resamples(units_per_pattern, n_resamples, seed):
        for chunks, statistic in zip(resampled, statistics, strict=True):
            chunks.append(statistic(pattern_counts))
    return [_build_estimate(value, np.concatenate(chunks)) for value, chunks in zip(values, resampled, strict=True)]


def _build_estimate(value: float, resampled_values: FloatArray) -> BootstrapEstimate:
    if np.isnan(value):
        return BootstrapEstimate()
    defined = resampled_values[~np.isnan(resampled_values)]
    if len(defined) * 2 < len(resampled_values):
        return BootstrapEstimate(value)
    low, high = np.percentile(defined, INTERVAL_PERCENTILES)
    return BootstrapEstimate(value, float(low), float(high))


def _iter_resamples(units_per_pattern: NDArray[np.int64], n_resamples: int, seed: int) -> Iterator[FloatArray]:
    generator = np.random.default_rng(seed)
    n_units = int(units_per_pattern.sum())
    step = max(1, _MAX_COUNTS // len(units_per_pattern))
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        yield generator.multinomial(n_units, units_per_pattern / n_units, size=size).astype(np.float64)


IntArray = NDArray[np.int64]
NO_LABEL = -1
"""Value in `RatingTable.cells` of a unit that the annotator did not label."""


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Labels that the annotators gave to all units. Each row is a pattern: the labels of one or more units."""

    annotators: tuple[str, ...]
    label_keys: tuple[LabelKey, ...]
    level: MeasurementLevel
    cells: IntArray
    """Indexes into `label_keys`, or `NO_LABEL`, of shape (patterns, annotators)."""
    units_per_pattern: IntArray

    def count_labels(self) -> IntArray:
        """Count the annotators who chose each label in each pattern, of shape (patterns, label_keys)."""
        n_patterns, size = len(self.cells), len(self.label_keys)
        numbered = self.cells + size * np.arange(n_patterns)[:, np.newaxis]
        chosen = np.bincount(numbered[self.cells != NO_LABEL], minlength=n_patterns * size)
        return chosen.reshape(n_patterns, size)


def build_rating_table(criterion: str, ratings: Sequence[Rating]) -> RatingTable:
    """Build the table of at least one rating. If an annotator labelled a unit more than once, the last label counts."""
    annotators = sorted({rating.annotator for rating in ratings})
    values = [rating.value for rating in ratings]
    label_keys = list_label_keys(criterion, values)
    column = {name: at for at, name in enumerate(annotators)}
    code = {key: at for at, key in enumerate(label_keys)}
    row: dict[tuple[int, str], int] = {}
    rows = [row.setdefault((rating.item, rating.target), len(row)) for rating in ratings]
    cells = np.full((len(row), len(annotators)), NO_LABEL, dtype=np.int64)
    cells[rows, [column[rating.annotator] for rating in ratings]] = [code[to_label_key(value)] for value in values]
    patterns, units_per_pattern = np.unique(cells, axis=0, return_counts=True)
    return RatingTable(
        tuple(annotators), tuple(label_keys), infer_measurement_level(values), patterns, units_per_pattern
    )


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
    level: MeasurementLevel = "nominal"


def compute_coefficients(group: RatingGroup) -> Iterator[AgreementCoefficient]:
    """Compute the coefficients of all annotators of a group, then the coefficients of each pair of annotators."""
    table = build_rating_table(group.criterion, group.ratings)
    requests = [*_build_requests_for_all_annotators(table), *_build_requests_for_pairs_of_annotators(table)]
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    estimates = bootstrap(table.units_per_pattern, [request.statistic for request in requests])
    for request, found in zip(requests, estimates, strict=True):
        n_units = int(table.units_per_pattern[request.patterns].sum())
        is_pair = len(request.annotators) == 2
        yield AgreementCoefficient(
            *(group.scope, group.benchmark, group.category, group.criterion),
            *(request.level, request.metric, request.annotators),
            *found.omit_interval_of_single_unit(n_units), n_units=n_units,
            n_labels=2 * n_units if is_pair else int((table.units_per_pattern * n_labels)[request.patterns].sum()),
            given=group.given,
        )  # fmt: skip


def _build_requests_for_all_annotators(table: RatingTable) -> Iterator[_CoefficientRequest]:
    names, counts = table.annotators, table.count_labels().astype(np.float64)
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    several = np.flatnonzero(n_labels > 1)
    balanced = np.flatnonzero(n_labels == _find_most_frequent_label_count(n_labels, table.units_per_pattern))
    share = build_percent_agreement(compute_pairwise_agreement(counts[several]))
    yield _CoefficientRequest("percent", names, several, _restrict_to_patterns(several, share))
    yield _CoefficientRequest(
        "fleiss", names, balanced, _restrict_to_patterns(balanced, build_fleiss_kappa(counts[balanced]))
    )
    alpha = _choose_krippendorff_alpha(table, counts[several])
    yield _CoefficientRequest("alpha", names, several, _restrict_to_patterns(several, alpha), table.level)
    yield _CoefficientRequest("ac1", names, several, build_gwet_ac1(counts))


def _build_requests_for_pairs_of_annotators(table: RatingTable) -> Iterator[_CoefficientRequest]:
    for pair in combinations(range(len(table.annotators)), 2):
        names = tuple(table.annotators[at] for at in pair)
        cells = table.cells[:, pair]
        both = np.flatnonzero((cells != NO_LABEL).all(axis=1))
        cells = cells[both]
        if len(table.annotators) > 2:  # With two annotators, the percentage of all annotators is the same.
            equal = build_percent_agreement(cells[:, 0] == cells[:, 1])
            yield _CoefficientRequest("percent", names, both, _restrict_to_patterns(both, equal))
        yield _CoefficientRequest("cohen", names, both, _restrict_to_patterns(both, build_cohen_kappa(cells)))


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
    """Agreement of annotators with their own repeated labels, in the fields of `fcreview agreement --json`."""

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
    """Compute self-agreement on each criterion, for each annotator and then for all annotators together."""
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
    ratings = [
        Rating(unit, each.key, each.target, criterion, occasion, value)
        for unit, each in enumerate(repeats)
        for occasion, value in (("1", each.first), ("2", each.second))
    ]
    table = build_rating_table(criterion, ratings)
    equal = np.asarray(table.cells[:, 0] == table.cells[:, 1])
    estimates = bootstrap(table.units_per_pattern, [build_percent_agreement(equal), build_cohen_kappa(table.cells)])
    share, kappa = (each.omit_interval_of_single_unit(len(repeats)) for each in estimates)
    return SelfAgreement("self", annotator, criterion, len(repeats), *share, *kappa)
