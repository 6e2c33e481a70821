"""Estimates from the labels of annotators who make errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fcreview.model.review import ItemKey
from fcreview.stats.agreement_ratings import Rating, RepeatedRating
from fcreview.stats.estimation import EstimationSettings, estimate_metrics
from fcreview.stats.label_errors import (
    LabelAgreement,
    correct_share,
    count_label_agreement,
    find_sensitivity,
)
from tests.examples import LONG, only_long
from tests.stats.test_estimation import (
    make_input,
    make_items,
    review_items,
    set_inclusion_probability,
)

KEY = ItemKey("bfcl", "V4", "en", "maple", "simple", "simple_0")


def make_rating(item: int, annotator: str, verdict: object, target: str = "item") -> Rating:
    return Rating(item, KEY, target, "correct", annotator, verdict)


def test_disagreements_are_counted_among_items_with_two_verdicts() -> None:
    ratings = [
        make_rating(1, "ann", True),
        make_rating(1, "bob", False),
        make_rating(2, "ann", True),
        make_rating(2, "bob", True),
        make_rating(3, "ann", False),
        make_rating(4, "ann", "unsure"),
        make_rating(4, "bob", True),
        make_rating(3, "bob", True, target="turn:0"),
    ]
    repeated = [
        RepeatedRating(5, KEY, "item", "correct", "ann", True, False),
        RepeatedRating(6, KEY, "item", "correct", "ann", True, True),
    ]
    found = count_label_agreement(ratings, repeated)
    assert (found.n_single, found.n_double, found.n_different) == (2, 2, 1)
    assert (found.n_repeated, found.n_changed) == (2, 1)


def test_correction_inverts_the_errors() -> None:
    truth = np.array([0.1, 0.5, 0.9])
    error = np.full(3, 0.05)
    observed = truth * (1 - error) + (1 - truth) * error
    assert correct_share(observed, error) == pytest.approx(truth)
    low, high = find_sensitivity(0.86, 0.905)
    assert low == pytest.approx(0.9) and high == pytest.approx(0.95)


def test_error_share_follows_from_disagreement() -> None:
    """Annotators who are right in 95 % of the items differ on 9.5 % of the items."""
    only_single = LabelAgreement(n_single=150, n_double=5000, n_different=475)
    accuracy_error = 0.05
    both_wrong = accuracy_error**2 / (accuracy_error**2 + 0.95**2)
    expected = (150 * accuracy_error + 5000 * both_wrong) / 5150
    assert only_single.draw_error_shares(4000, seed=0).mean() == pytest.approx(expected, abs=0.001)


def estimate_all_items(
    error: float, seed: int, *, corrects: bool
) -> tuple[float, float, float, float]:
    """Return estimate, interval and true pass rate of a sample with a share of wrong labels. A
    quarter of the sample has two annotators; their disagreements are adjudicated.
    """
    standings, truth = make_items(800, seed=1)
    generator = np.random.default_rng(seed)
    standings = set_inclusion_probability(standings, 0.25)
    sample = generator.choice(800, 200, replace=False)
    is_wrong = generator.random((800, 2)) < error
    labels = truth ^ is_wrong[:, 0]
    double = sample[:50]
    n_different = int((is_wrong[double, 0] != is_wrong[double, 1]).sum())
    labels[double] = np.where(
        is_wrong[double, 0] == is_wrong[double, 1], labels[double], truth[double]
    )
    review_items(standings, labels.tolist(), sample.tolist(), random=True)
    agreement = LabelAgreement(n_single=150, n_double=50, n_different=n_different)
    settings = EstimationSettings(seed=seed, label_errors=agreement if corrects else None)
    run = make_input(standings)
    one = next(
        estimate_metrics(
            replace(run, compute_metrics=lambda rows: run.compute_metrics(rows)[:1]), settings
        )
    )
    assert one.estimated is not None and one.low is not None and one.high is not None
    return one.estimated, one.low, one.high, float(truth.mean())


def test_correction_widens_the_interval_and_moves_the_estimate_to_the_truth() -> None:
    plain = estimate_all_items(0.05, seed=3, corrects=False)
    corrected = estimate_all_items(0.05, seed=3, corrects=True)
    assert corrected[2] - corrected[1] > plain[2] - plain[1]
    assert abs(corrected[0] - corrected[3]) < 0.05


@pytest.mark.sweep
@only_long
@pytest.mark.parametrize("error", [0.03, 0.05])
def test_corrected_intervals_cover_the_truth(error: float) -> None:
    n_draws = 20 if LONG else 8
    hits = 0
    for seed in range(n_draws):
        _, low, high, truth = estimate_all_items(error, seed, corrects=True)
        hits += low <= truth <= high
    assert hits >= 0.8 * n_draws


def test_estimate_says_how_errors_of_labels_would_change_it() -> None:
    standings, truth = make_items(400)
    standings = set_inclusion_probability(standings, 0.25)
    review_items(standings, truth, range(100), random=True)
    found = {one.name: one for one in estimate_metrics(make_input(standings))}
    one = found["all items"]
    assert one.sensitivity is not None and one.low is not None and one.high is not None
    assert one.sensitivity == pytest.approx(find_sensitivity(one.low, one.high))
