"""Measure how often annotators are wrong, and correct estimates for their errors.

Two annotators who are right with the probability q differ on a share d = 2 q (1 - q) of the items
that both label, if their errors are independent and passes and failures are confused equally often.
So q follows from d. A share of passing items p is observed as p (1 - e) + (1 - p) e, where e is the
share of wrong labels (Rogan and Gladen 1978). A label on which two annotators agree is wrong with
the probability (1 - q)^2 / (q^2 + (1 - q)^2), as in the model of Dawid and Skene (1979) for two
annotators of equal accuracy. Adjudicated labels count like labels on which two annotators agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.agreement_ratings import Rating, RepeatedRating
from fcreview.stats.posterior import JEFFREYS, FloatArray

ASSUMED_ACCURACY = 0.95
"""Share of right labels that the sensitivity line assumes."""
_MAX_DISAGREEMENT = 0.495
"""Largest disagreement rate for which the accuracy of labels is still known."""


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """Agreement of the verdicts on whole items."""

    n_single: int = 0
    """Number of items with the verdict of one annotator."""
    n_double: int = 0
    """Number of items with the verdicts of two annotators or more."""
    n_different: int = 0
    """Number of items in `n_double` on which the annotators differ, whether or not an
    adjudicator has decided.
    """
    n_repeated: int = 0
    """Number of hidden duplicates with both verdicts of an annotator."""
    n_changed: int = 0
    """Number of items in `n_repeated` with different verdicts."""

    def draw_error_shares(self, n_draws: int, seed: int) -> FloatArray:
        """Draw the share of wrong labels among all labelled items, of shape (draws,).

        The share of items on which two annotators differ is drawn from its posterior (Jeffreys
        prior). The accuracy of an annotator follows from it, and from the accuracy the share of
        wrong labels (see the top of this module).
        """
        generator = np.random.default_rng(seed)
        n_equal = self.n_double - self.n_different
        drawn = generator.beta(self.n_different + JEFFREYS, n_equal + JEFFREYS, n_draws)
        # At 0.5, labels would be random, and the correction would divide by 0.
        disagreement = np.minimum(drawn, _MAX_DISAGREEMENT)
        # Annotators of the accuracy q differ on d = 2 q (1 - q) of the items. This is the solution
        # with q above 1/2.
        accuracy = (1 + np.sqrt(1 - 2 * disagreement)) / 2

        error_of_single = 1 - accuracy
        # A label on which two annotators agree is wrong if both are wrong.
        both_right = accuracy**2
        both_wrong = (1 - accuracy) ** 2
        error_of_double = both_wrong / (both_right + both_wrong)

        single_share = self.n_single / (self.n_single + self.n_double)
        double_share = 1 - single_share
        error: FloatArray = single_share * error_of_single + double_share * error_of_double
        return error


def count_label_agreement(
    ratings: Iterable[Rating], repeated: Iterable[RepeatedRating]
) -> LabelAgreement:
    """Count the items on which annotators agree and differ.

    Only verdicts pass and fail on whole items count.
    """
    verdicts_by_item = _group_verdicts_by_item(ratings)
    n_single = 0
    n_different = 0
    for verdict_by_annotator in verdicts_by_item.values():
        if len(verdict_by_annotator) == 1:
            n_single += 1
        elif len(set(verdict_by_annotator.values())) > 1:
            n_different += 1

    repeats = [repeat for repeat in repeated if _is_item_verdict(repeat)]
    return LabelAgreement(
        n_single=n_single,
        n_double=len(verdicts_by_item) - n_single,
        n_different=n_different,
        n_repeated=len(repeats),
        n_changed=sum(repeat.first != repeat.second for repeat in repeats),
    )


def _group_verdicts_by_item(ratings: Iterable[Rating]) -> dict[int, dict[str, bool]]:
    """Return item -> annotator -> the annotator's last verdict on the whole item."""
    verdicts_by_item: dict[int, dict[str, bool]] = {}
    for rating in ratings:
        is_about_item = (rating.target, rating.criterion) == ITEM_CORRECT
        if is_about_item and isinstance(rating.value, bool):
            verdicts_by_item.setdefault(rating.item, {})[rating.annotator] = rating.value
    return verdicts_by_item


def _is_item_verdict(repeat: RepeatedRating) -> bool:
    is_about_item = (repeat.target, repeat.criterion) == ITEM_CORRECT
    return is_about_item and isinstance(repeat.second, bool)


def correct_share(observed: FloatArray, error_shares: FloatArray) -> FloatArray:
    """Return the true share of passing items for each observed share, both from 0 to 1."""
    corrected: FloatArray = np.clip((observed - error_shares) / (1 - 2 * error_shares), 0.0, 1.0)
    return corrected


def find_sensitivity(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval, from 0 to 1, if only `ASSUMED_ACCURACY` of the labels are
    right.
    """
    ends = correct_share(np.array([low, high]), np.array([1 - ASSUMED_ACCURACY]))
    return float(ends[0]), float(ends[1])
