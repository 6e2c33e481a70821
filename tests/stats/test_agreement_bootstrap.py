"""Intervals: the same every time, as wide as drawing units one by one makes them, and right about as often as said."""

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
from tests.stats.agreement_tables import figures, made_up, ratings

pytestmark = pytest.mark.slow  # thousands of draws each

METRICS = ("percent", "fleiss", "alpha", "ac1", "cohen alice bob")


def test_intervals_are_the_same_every_time_and_in_any_order_of_ratings() -> None:
    said = ratings(made_up(3, [True, False], annotators=3, missing=0.2), "correct")
    found = list(compute_agreement(said, ["overall"], "all"))
    assert found == list(compute_agreement(said, ["overall"], "all"))
    random.Random(1).shuffle(said)
    assert found == list(compute_agreement(said, ["overall"], "all"))
    for figure in found:
        assert figure.low is not None and figure.value is not None and figure.high is not None
        assert figure.low < figure.value < figure.high


def test_another_seed_draws_others_and_the_parts_drawn_at_a_time_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    units = made_up(3, [True, False], annotators=3)
    found = figures(units)
    monkeypatch.setattr(agreement, "_MAX_WEIGHTS", 50)
    assert figures(units) == found
    share = np.array([0.0, 1.0])
    times = np.array([30, 70])

    def seeded(seed: int) -> agreement.BootstrapEstimate:
        return agreement.bootstrap(times, [lambda weights: weights @ share / weights.sum(1)], seed=seed)[0]

    assert seeded(1) == seeded(1) != seeded(2)


@pytest.mark.sweep
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_intervals_are_those_of_drawing_units_one_by_one(missing: float) -> None:
    units = made_up(5, ["a", "b", "c"], annotators=3, missing=missing, units=60)
    found = figures(units)
    draw = random.Random(0)
    compared = [metric for metric in METRICS if metric != "fleiss" or not missing]  # its number of labels is kept
    drawn: dict[str, list[float]] = {metric: [] for metric in compared}
    for _ in range(400):
        again = plain_values([draw.choice(units) for _ in units])
        for metric in compared:
            drawn[metric].append(again[metric])
    for metric in compared:
        low, high = np.percentile(drawn[metric], [2.5, 97.5])
        width = high - low
        assert found[metric].low == pytest.approx(low, abs=width / 6), metric
        assert found[metric].high == pytest.approx(high, abs=width / 6), metric


def plain_values(units: Sequence[Sequence[Any]]) -> dict[str, float]:
    """The values alone: one resample is enough where intervals are not looked at."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(agreement.bootstrap, "__defaults__", (1, 0))
        return {name: figure.value or 0.0 for name, figure in figures(units).items()}


@pytest.mark.sweep
def test_ninety_five_in_a_hundred_intervals_hold_the_truth() -> None:
    """Two annotators who each say what is true with 85 %, of a truth that is 60 % true: kappa and AC1 by hand."""
    right, true = 0.85, 0.6
    agree = right**2 + (1 - right) ** 2
    says = true * right + (1 - true) * (1 - right)
    chance = says**2 + (1 - says) ** 2
    truth = {"cohen alice bob": (agree - chance) / (1 - chance), "percent": agree}
    truth["ac1"] = (agree - (1 - chance)) / chance  # two categories: by chance 2 p (1 - p)
    truth["alpha"] = truth["cohen alice bob"]  # both use the categories alike
    hits = dict.fromkeys(truth, 0)
    draw, rounds = random.Random(7), 300
    for _ in range(rounds):
        found = figures([annotated(draw, right, true) for _ in range(120)], "correct")
        for metric, value in truth.items():
            figure = found[metric if metric in found else "percent alice bob"]
            assert figure.low is not None and figure.high is not None
            hits[metric] += figure.low <= value <= figure.high
    for metric, count in hits.items():
        assert 0.90 <= count / rounds <= 0.985, metric


def annotated(draw: random.Random, right: float, true: float) -> list[bool]:
    truth = draw.random() < true
    return [truth if draw.random() < right else not truth for _ in range(2)]


def test_ten_thousand_labels_and_a_thousand_resamples_take_less_than_two_seconds() -> None:
    units = made_up(1, [True, False], annotators=3, units=3334)
    said: list[Rating] = ratings(units, "correct")
    assert len(said) > 10_000
    started = time.perf_counter()
    found = list(compute_agreement(said, ["overall"], "all"))
    assert time.perf_counter() - started < 2
    assert all(figure.high is not None for figure in found)
