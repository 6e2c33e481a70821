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
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        return _divide_or_nan(pattern_counts @ agreement, pattern_counts.sum(1))

    return compute_mean_agreement


def build_cohen_kappa(labels: NDArray[np.int64]) -> Statistic:
    """Return a function that computes unweighted kappa (Cohen 1960) of two annotators.

    A pattern is a combination of two labels. The returned function gets the number of units with
    each pattern.

    Args:
        labels: The category indexes of both annotators in each pattern, of shape (patterns, 2).
    """
    n_categories = int(labels.max(initial=0)) + 1
    one_hot = np.eye(n_categories)[labels]
    first_annotator = one_hot[:, 0]
    second_annotator = one_hot[:, 1]
    is_equal = (labels[:, 0] == labels[:, 1]).astype(np.float64)

    def compute_kappa(pattern_counts: FloatArray) -> FloatArray:
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        n_units = pattern_counts.sum(1)
        observed = _divide_or_nan(pattern_counts @ is_equal, n_units)

        # By chance, labels agree as often as the category counts of both annotators let expect.
        first_counts = pattern_counts @ first_annotator
        second_counts = pattern_counts @ second_annotator
        by_chance = _divide_or_nan((first_counts * second_counts).sum(1), n_units**2)
        return _correct_for_chance(observed, by_chance)

    return compute_kappa


def build_fleiss_kappa(label_counts: FloatArray) -> Statistic:
    """Return a function that computes Fleiss' kappa (Fleiss 1971).

    The returned function gets the number of units with each pattern of labels. All patterns must
    have the same number of labels.

    Args:
        label_counts: How many annotators chose each category, of shape (patterns, categories).
    """
    agreement = compute_pairwise_agreement(label_counts)

    def compute_kappa(pattern_counts: FloatArray) -> FloatArray:
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        category_counts = pattern_counts @ label_counts
        prevalence = _divide_or_nan(category_counts, category_counts.sum(1, keepdims=True))
        observed = _divide_or_nan(pattern_counts @ agreement, pattern_counts.sum(1))
        return _correct_for_chance(observed, (prevalence**2).sum(1))

    return compute_kappa


def build_gwet_ac1(label_counts: FloatArray) -> Statistic:
    """Return a function that computes Gwet's AC1 (Gwet 2008, with missing labels as in Gwet 2014).

    The returned function gets the number of units with each pattern of labels. Units with one label
    count only for the prevalence of the categories.

    Args:
        label_counts: How many annotators chose each category, of shape (patterns, categories).
    """
    n_labels = label_counts.sum(1)
    has_pairs = (n_labels > 1).astype(np.float64)
    agreement = compute_pairwise_agreement(label_counts)
    category_shares = label_counts / n_labels[:, np.newaxis]
    # With a single category, chance agreement is undefined.
    n_other_categories = label_counts.shape[1] - 1 or np.nan

    def compute_ac1(pattern_counts: FloatArray) -> FloatArray:
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        observed = _divide_or_nan(pattern_counts @ agreement, pattern_counts @ has_pairs)

        n_units = pattern_counts.sum(1, keepdims=True)
        prevalence = (pattern_counts @ category_shares) / n_units
        by_chance = (prevalence * (1 - prevalence)).sum(1) / n_other_categories
        return _correct_for_chance(observed, by_chance)

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
    """Return a function that computes weighted kappa (Cohen 1968) of two annotators.

    A pattern is a combination of two labels. The returned function gets the number of units with
    each pattern.

    Args:
        labels: The category indexes of both annotators in each pattern, of shape (patterns, 2).
        weights: The agreement of each two categories, from 0 to 1.
    """
    one_hot = np.eye(len(weights))[labels]
    first_annotator = one_hot[:, 0]
    second_annotator = one_hot[:, 1]
    agreement = weights[labels[:, 0], labels[:, 1]]

    def compute_kappa(pattern_counts: FloatArray) -> FloatArray:
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        n_units = pattern_counts.sum(1)
        observed = _divide_or_nan(pattern_counts @ agreement, n_units)

        # By chance, labels agree as often as the category counts of both annotators let expect.
        first_counts = pattern_counts @ first_annotator
        second_counts = pattern_counts @ second_annotator
        chance_agreement = ((first_counts @ weights) * second_counts).sum(1)
        return _correct_for_chance(observed, _divide_or_nan(chance_agreement, n_units**2))

    return compute_kappa


def build_gwet_ac2(label_counts: FloatArray, weights: FloatArray) -> Statistic:
    """Return a function that computes Gwet's AC2, the weighted AC1 (Gwet 2014, chapter 5).

    Args:
        label_counts: How many annotators chose each category, of shape (patterns, categories).
        weights: The agreement of each two categories, from 0 to 1.
    """
    n_labels = label_counts.sum(1)
    has_pairs = (n_labels > 1).astype(np.float64)
    agreement = has_pairs * _compute_weighted_agreement(label_counts, weights)
    category_shares = label_counts / n_labels[:, np.newaxis]

    n_categories = label_counts.shape[1]
    # With a single category, chance agreement is undefined.
    chance_factor = np.nan
    if n_categories > 1:
        chance_factor = weights.sum() / (n_categories * (n_categories - 1))

    def compute_ac2(pattern_counts: FloatArray) -> FloatArray:
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        observed = _divide_or_nan(pattern_counts @ agreement, pattern_counts @ has_pairs)

        n_units = pattern_counts.sum(1, keepdims=True)
        prevalence = (pattern_counts @ category_shares) / n_units
        by_chance = chance_factor * (prevalence * (1 - prevalence)).sum(1)
        return _correct_for_chance(observed, by_chance)

    return compute_ac2


def _compute_weighted_agreement(label_counts: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean weight of all pairs of labels in each pattern, of shape (patterns,)."""
    n_labels = label_counts.sum(1)
    n_ordered_pairs = n_labels * (n_labels - 1)
    # A label is paired with all labels of its unit but itself, whose weight is 1.
    weights_with_others = label_counts @ weights - 1
    sum_of_weights = (label_counts * weights_with_others).sum(1)
    agreement: FloatArray = sum_of_weights / np.maximum(n_ordered_pairs, 1)
    return agreement


def build_krippendorff_alpha(label_counts: FloatArray, distance: FloatArray) -> Statistic:
    """Return a function that computes Krippendorff's alpha (Krippendorff 2004, chapter 11).

    The returned function gets the number of units with each pattern of labels. Every pattern must
    have at least two labels.

    Args:
        label_counts: How many annotators chose each category, of shape (patterns, categories).
        distance: The squared distances of the categories, of shape (categories, categories).
    """
    disagreement = ((label_counts @ distance) * label_counts).sum(1) / (label_counts.sum(1) - 1)

    def compute_alpha(pattern_counts: FloatArray) -> FloatArray:
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        category_counts = pattern_counts @ label_counts
        expected = ((category_counts @ distance) * category_counts).sum(1)
        return _compute_alpha_from_disagreement(
            pattern_counts @ disagreement, expected, category_counts.sum(1)
        )

    return compute_alpha


def build_ordinal_krippendorff_alpha(label_counts: FloatArray) -> Statistic:
    """Return a function that computes Krippendorff's alpha for ordered categories (Krippendorff
    2004, chapter 11).

    The distance of two categories is the squared difference of their mean ranks. Every pattern must
    have at least two labels.

    Args:
        label_counts: How many annotators chose each category, of shape (patterns, categories).
    """
    # Each pair of different categories occurs once. Its categories have the indexes low and high.
    low, high = np.triu_indices(label_counts.shape[1], 1)
    # How often a unit with each pattern has both labels of a pair, by its number of other labels.
    # Of shape (patterns, pairs of categories).
    n_other_labels = label_counts.sum(1, keepdims=True) - 1
    pairs = label_counts[:, low] * label_counts[:, high] / n_other_labels

    def compute_alpha(pattern_counts: FloatArray) -> FloatArray:
        """Compute the coefficient for each row of `pattern_counts`: how many units have each
        pattern of labels.
        """
        category_counts = pattern_counts @ label_counts
        # If all labels are sorted, those of a category have ranks around this mean.
        mean_rank = category_counts.cumsum(1) - category_counts / 2
        distance = (mean_rank[:, low] - mean_rank[:, high]) ** 2

        observed = ((pattern_counts @ pairs) * distance).sum(1)
        expected = (category_counts[:, low] * category_counts[:, high] * distance).sum(1)
        return _compute_alpha_from_disagreement(observed, expected, category_counts.sum(1))

    return compute_alpha


def compute_masi_distances(sets: Sequence[frozenset[str]]) -> FloatArray:
    """Return the MASI distances between sets of labels (Passonneau 2006), of shape (sets, sets).

    The distance is 1 minus the product of the Jaccard index and a factor: 1 for equal sets, 2/3
    for a set and its subset, 1/3 for other sets.
    """
    all_labels = sorted(frozenset().union(*sets))
    membership = [[label in labels for label in all_labels] for labels in sets]
    contains = np.array(membership, dtype=np.float64)

    sizes = contains.sum(1)
    smaller_size = np.minimum(sizes[:, None], sizes)
    common = contains @ contains.T
    union = sizes[:, None] + sizes - common

    is_equal = common == union
    is_subset = common == smaller_size
    factor = np.select([is_equal, is_subset], [1.0, 2 / 3], 1 / 3)
    # Two empty sets are equal.
    jaccard_index = np.where(union > 0, common / np.maximum(union, 1), 1)
    return 1 - factor * jaccard_index


def _compute_alpha_from_disagreement(
    observed: FloatArray, expected: FloatArray, n_labels: FloatArray
) -> FloatArray:
    """Compute alpha: 1 minus the disagreement relative to the one that chance would give."""
    return 1 - _divide_or_nan(observed * (n_labels - 1), expected)


def _correct_for_chance(observed: FloatArray, by_chance: FloatArray) -> FloatArray:
    """Compute which share of the agreement that chance leaves open is reached."""
    return _divide_or_nan(observed - by_chance, 1 - by_chance)


def _divide_or_nan(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide element by element. Where the denominator is 0, the result is NaN."""
    is_defined = np.abs(denominator) > ZERO_TOLERANCE
    ratio: FloatArray = np.where(
        is_defined, numerator / np.where(is_defined, denominator, 1), np.nan
    )
    return ratio
