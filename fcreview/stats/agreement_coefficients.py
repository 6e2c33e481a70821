"""Define agreement coefficients as functions that evaluate many samples at once.

Units with the same labels form one pattern. A `Statistic` computes one coefficient for many samples
with a few matrix products. Its argument `pattern_counts`, of shape (samples, patterns), contains
the number of units of each pattern in each sample. It returns one value per sample, or NaN if the
coefficient is undefined. `label_counts`, of shape (patterns, categories), contains the number of
annotators who chose each category.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Statistic = Callable[[FloatArray], FloatArray]
ZERO_TOLERANCE = 1e-12
"""Numbers of units that are closer to 0 count as 0."""


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
    first = one_hot[:, 0]
    second = one_hot[:, 1]
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
    first = one_hot[:, 0]
    second = one_hot[:, 1]
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
    is_defined = np.abs(denominator) > ZERO_TOLERANCE
    ratio: FloatArray = np.where(
        is_defined, numerator / np.where(is_defined, denominator, 1), np.nan
    )
    return ratio
