"""Intervals of agreement equal independent calculations, and have the stated coverage with few
items.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pytest

from benchmarks.coverage.agreement import AnnotatorSetting, list_settings, measure_agreement
from fcreview.stats import agreement
from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_ratings import Rating
from tests.oracles import proportion_confint, student_quantile
from tests.stats.agreement_tables import KEY, compute_coefficients, make_label_table, make_ratings

pytestmark = pytest.mark.slow  # Each test draws thousands of samples.

METRICS = ("percent", "fleiss", "alpha", "ac1", "cohen alice bob")


def test_intervals_do_not_depend_on_order_of_ratings() -> None:
    labels = make_ratings(make_label_table(3, [True, False], annotators=3, missing=0.2), "correct")
    found = list(compute_agreement(labels, ["overall"], "all"))
    assert found == list(compute_agreement(labels, ["overall"], "all"))
    random.Random(1).shuffle(labels)
    assert found == list(compute_agreement(labels, ["overall"], "all"))
    for coefficient in found:
        assert (
            coefficient.low is not None
            and coefficient.value is not None
            and coefficient.high is not None
        )
        assert coefficient.low < coefficient.value < coefficient.high
        assert coefficient.interval == (
            "wilson" if coefficient.metric == "percent" else "jackknife"
        )


def test_intervals_do_not_depend_on_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    units = make_label_table(3, [True, False], annotators=3)
    found = compute_coefficients(units)
    monkeypatch.setattr(agreement, "_MAX_COUNTS", 50)
    assert compute_coefficients(units) == found


def test_percent_agreement_of_single_targets_has_wilsons_interval() -> None:
    found = compute_coefficients([[True, True]] * 18 + [[True, False]] * 2, "correct")[
        "percent alice bob"
    ]
    assert (found.low, found.high) == pytest.approx(proportion_confint(18, 20, method="wilson"))


# Fleiss' kappa needs complete tables: without one unit, it can have another number of labels per
# unit.
@pytest.mark.parametrize(
    ("metric", "missing"),
    [("fleiss", 0.0), *product(["alpha", "ac1", "cohen alice bob"], [0.0, 0.3])],
)
def test_variance_equals_deleting_one_item_after_another(metric: str, missing: float) -> None:
    """With 300 units, the usual jackknife and the infinitesimal jackknife are nearly equal. Three
    annotators have no prior units.
    """
    units = make_label_table(5, ["a", "b", "c"], annotators=3, missing=missing, units=300)
    found = compute_coefficients(units)[metric]
    pseudo_values = []
    for unit in sorted(set(map(tuple, units)), key=str):
        without = list(map(tuple, units))
        n = without.count(unit)
        without.remove(unit)
        value = compute_coefficients(without)[metric].value
        pseudo_values += [value] * n
    values = np.array(pseudo_values, dtype=float)
    deviation = np.sqrt((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum())
    assert found.value is not None and found.low is not None and found.high is not None
    half_width = (np.arctanh(found.high) - np.arctanh(found.low)) / 2
    expected = student_quantile(0.975, len(units) - 1) * deviation / (1 - found.value**2)
    if metric == "cohen alice bob":
        # two annotators, who have prior units
        assert half_width == pytest.approx(expected, rel=0.15)
    else:
        assert half_width == pytest.approx(expected, rel=0.03)


def test_no_disagreement_leaves_no_interval_but_a_reason() -> None:
    found = compute_coefficients([[True, True]] * 9 + [[False, False]] * 3, "correct")
    for name in ("fleiss", "alpha", "ac1", "cohen alice bob"):
        coefficient = found[name]
        assert (coefficient.value, coefficient.low, coefficient.high) == (1, None, None)
        assert (coefficient.interval, coefficient.interval_note) == (None, "no disagreement")
    percent = found["percent alice bob"]
    assert (percent.low, percent.high) == pytest.approx(proportion_confint(12, 12, method="wilson"))


def test_one_disagreement_gives_a_wide_interval() -> None:
    """With percentile bootstrap intervals, all of these intervals end at 1."""
    found = compute_coefficients(
        [[True, True]] * 9 + [[True, False]] + [[False, False]] * 2, "correct"
    )
    for name in ("fleiss", "alpha", "ac1", "cohen alice bob"):
        coefficient = found[name]
        assert coefficient.low is not None and coefficient.high is not None
        assert coefficient.high - coefficient.low > 0.5
        assert coefficient.high < 1


def test_targets_of_an_item_are_not_independent() -> None:
    """Forty calls of ten items, on which annotators agree or disagree together, are worth little
    more than ten.
    """
    equal, unequal = (True, True), (True, False)
    verdicts = [equal] * 32 + [unequal] * 4 + [(False, False)] * 4
    of_items = [
        Rating(unit // 4, KEY, f"call {unit}", "func_ok", name, value)
        for unit, pair in enumerate(verdicts)
        for name, value in zip(("alice", "bob"), pair, strict=True)
    ]
    single = [Rating(unit, *rating[1:]) for unit, rating in enumerate_units(of_items)]
    clustered = {each.metric: each for each in compute_agreement(of_items, ["overall"], "all")}
    independent = {each.metric: each for each in compute_agreement(single, ["overall"], "all")}
    for metric in ("percent", "ac1", "alpha", "cohen"):
        wide, narrow = clustered[metric], independent[metric]
        assert wide.value == narrow.value
        assert wide.low is not None and narrow.low is not None
        assert wide.low < narrow.low - 0.05, metric


def enumerate_units(ratings: Sequence[Rating]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield (number of the unit, fields) of each rating, with two ratings per unit."""
    for number, rating in enumerate(ratings):
        yield number // 2, tuple(getattr(rating, field.name) for field in fields(rating))


@pytest.mark.parametrize("n_items", [10, 20, 50])
def test_coverage_with_few_items_is_93_to_98_percent(n_items: int) -> None:
    """Mean of nine settings with 200 samples each; `benchmarks/coverage/agreement.py` draws
    more.
    """
    results = [
        measure_agreement(setting, n_items, repetitions=200)
        for setting in list_settings(n_targets=1)
    ]
    for metric in ("percent", "cohen", "alpha", "ac1"):
        coverages = [result[metric].covered for result in results]
        assert 0.925 <= float(np.mean(coverages)) <= 0.985, metric
        assert min(coverages) > 0.86, metric


def test_coverage_with_several_targets_is_at_least_93_percent() -> None:
    setting = AnnotatorSetting(prevalence=0.8, agreement=0.9, n_targets=4)
    found = measure_agreement(setting, 25, repetitions=400)
    for metric in ("percent", "cohen", "alpha", "ac1"):
        assert 0.93 <= found[metric].covered <= 0.995, metric


def test_ten_thousand_labels_take_less_than_two_seconds() -> None:
    units = make_label_table(1, [True, False], annotators=3, units=3334)
    labels: list[Rating] = make_ratings(units, "correct")
    assert len(labels) > 10_000
    started = time.perf_counter()
    found = list(compute_agreement(labels, ["overall"], "all"))
    assert time.perf_counter() - started < 2
    assert all(coefficient.high is not None for coefficient in found)
