"""Bootstrap intervals are reproducible, equal to intervals from single draws, and have the stated coverage."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fcreview.stats import agreement
from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import Rating
from tests.stats.agreement_tables import compute_coefficients, make_label_table, make_ratings

pytestmark = pytest.mark.slow  # Each test draws thousands of samples.

METRICS = ("percent", "fleiss", "alpha", "ac1", "cohen alice bob")


def test_intervals_do_not_depend_on_order_of_ratings() -> None:
    labels = make_ratings(make_label_table(3, [True, False], annotators=3, missing=0.2), "correct")
    found = list(compute_agreement(labels, ["overall"], "all"))
    assert found == list(compute_agreement(labels, ["overall"], "all"))
    random.Random(1).shuffle(labels)
    assert found == list(compute_agreement(labels, ["overall"], "all"))
    for coefficient in found:
        assert coefficient.low is not None and coefficient.value is not None and coefficient.high is not None
        assert coefficient.low < coefficient.value < coefficient.high


def test_intervals_depend_on_seed_but_not_on_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    units = make_label_table(3, [True, False], annotators=3)
    found = compute_coefficients(units)
    monkeypatch.setattr(agreement, "_MAX_COUNTS", 50)
    assert compute_coefficients(units) == found
    share = np.array([0.0, 1.0])
    times = np.array([30, 70])

    def bootstrap_with(seed: int) -> agreement.BootstrapEstimate:
        return agreement.bootstrap(times, [lambda weights: weights @ share / weights.sum(1)], seed=seed)[0]

    assert bootstrap_with(1) == bootstrap_with(1) != bootstrap_with(2)


@pytest.mark.sweep
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_intervals_equal_those_of_single_draws(missing: float) -> None:
    units = make_label_table(5, ["a", "b", "c"], annotators=3, missing=missing, units=60)
    found = compute_coefficients(units)
    draw = random.Random(0)
    compared = [
        metric for metric in METRICS if metric != "fleiss" or not missing
    ]  # Fleiss' kappa keeps its number of labels per unit.
    drawn: dict[str, list[float]] = {metric: [] for metric in compared}
    for _ in range(400):
        again = compute_values([draw.choice(units) for _ in units])
        for metric in compared:
            drawn[metric].append(again[metric])
    for metric in compared:
        low, high = np.percentile(drawn[metric], [2.5, 97.5])
        width = high - low
        assert found[metric].low == pytest.approx(low, abs=width / 6), metric
        assert found[metric].high == pytest.approx(high, abs=width / 6), metric


def compute_values(units: Sequence[Sequence[Any]]) -> dict[str, float]:
    """Return the values without intervals, from a single resample."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(agreement.bootstrap, "__defaults__", (1, 0))
        return {name: coefficient.value or 0.0 for name, coefficient in compute_coefficients(units).items()}


@pytest.mark.sweep
def test_intervals_contain_the_true_value_95_percent_of_the_time() -> None:
    """Two annotators are right in 85 % of cases, and 60 % of true values are True. The truth is computed by hand."""
    right, true = 0.85, 0.6
    agree = right**2 + (1 - right) ** 2
    p_true = true * right + (1 - true) * (1 - right)
    chance = p_true**2 + (1 - p_true) ** 2
    truth = {"cohen alice bob": (agree - chance) / (1 - chance), "percent": agree}
    truth["ac1"] = (agree - (1 - chance)) / chance  # Chance agreement of AC1 for two categories is 2 p (1 - p).
    truth["alpha"] = truth["cohen alice bob"]  # Both annotators use the categories equally often.
    hits = dict.fromkeys(truth, 0)
    draw, rounds = random.Random(7), 300
    for _ in range(rounds):
        found = compute_coefficients([draw_labels(draw, right, true) for _ in range(120)], "correct")
        for metric, value in truth.items():
            coefficient = found[metric if metric in found else "percent alice bob"]
            assert coefficient.low is not None and coefficient.high is not None
            hits[metric] += coefficient.low <= value <= coefficient.high
    for metric, count in hits.items():
        assert 0.90 <= count / rounds <= 0.985, metric


def draw_labels(draw: random.Random, right: float, true: float) -> list[bool]:
    truth = draw.random() < true
    return [truth if draw.random() < right else not truth for _ in range(2)]


def test_ten_thousand_labels_take_less_than_two_seconds() -> None:
    units = make_label_table(1, [True, False], annotators=3, units=3334)
    labels: list[Rating] = make_ratings(units, "correct")
    assert len(labels) > 10_000
    started = time.perf_counter()
    found = list(compute_agreement(labels, ["overall"], "all"))
    assert time.perf_counter() - started < 2
    assert all(coefficient.high is not None for coefficient in found)
