"""Intervals of agreement equal independent calculations, and have the stated coverage with few
items.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

from benchmarks.coverage.agreement import (
    AnnotatorSetting,
    LabellingDesign,
    list_settings,
    measure_agreement,
)
from fcreview.stats import agreement_intervals
from fcreview.stats.agreement import compute_agreement
from fcreview.stats.agreement_coefficients import FloatArray
from fcreview.stats.agreement_intervals import (
    ItemAgreement,
    compute_clustered_share_interval,
    compute_mid_p_interval,
)
from fcreview.stats.agreement_ratings import AgreementCoefficient, Rating
from tests.examples import only_long
from tests.oracles import (
    binom_pmf,
    binom_tail,
    find_root,
    multinomial_pmf,
    student_quantile,
)
from tests.stats.agreement_tables import KEY, compute_coefficients, make_label_table, make_ratings

pytestmark = pytest.mark.slow  # Each test draws thousands of samples.


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
        assert coefficient.interval == name_expected_method(coefficient)


def name_expected_method(coefficient: AgreementCoefficient) -> str:
    if coefficient.metric != "percent":
        return "bayesian bootstrap"
    return "mid-p" if len(coefficient.annotators) == 2 else "wilson"


def test_many_patterns_get_fewer_draws_and_about_the_same_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    units = make_label_table(3, [True, False], annotators=3)
    many_draws = compute_coefficients(units)["alpha"]
    monkeypatch.setattr(agreement_intervals, "MAX_DRAWN_NUMBERS", 50)
    few_draws = compute_coefficients(units)["alpha"]
    assert few_draws != many_draws
    assert (few_draws.low, few_draws.high) == pytest.approx(
        (many_draws.low, many_draws.high), abs=0.03
    )


def test_percent_agreement_of_single_targets_has_the_mid_p_interval() -> None:
    found = compute_coefficients([[True, True]] * 18 + [[True, False]] * 2, "correct")[
        "percent alice bob"
    ]
    assert found.low is not None and found.high is not None
    # At both ends, the mid-p value of 18 or more, or of 18 or fewer equal pairs, is 2.5 %.
    at_low = binom_tail(18, 20, found.low) + binom_pmf(18, 20, found.low) / 2
    at_high = 1 - binom_tail(18, 20, found.high) - binom_pmf(18, 20, found.high) / 2
    assert (at_low, at_high) == pytest.approx((0.025, 0.025))


@pytest.mark.parametrize(
    ("n_equal", "n_units"), [(0, 1), (1, 1), (1, 2), (3, 7), (18, 20), (290, 300), (2_000, 9_000)]
)
def test_mid_p_interval_equals_that_of_scipy(n_equal: int, n_units: int) -> None:
    def compute_mid_p(share: float) -> float:
        more = binom_tail(n_equal, n_units, share)
        equally_many = binom_pmf(n_equal, n_units, share)
        return float(more + equally_many / 2)

    interval = compute_mid_p_interval(n_equal, n_units)
    low = _find_share(compute_mid_p, 0.025) if n_equal > 0 else 0
    high = _find_share(compute_mid_p, 0.975) if n_equal < n_units else 1
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


def _find_share(compute_probability: Callable[[float], float], probability: float) -> float:
    """Return the share at which an increasing function has this value."""
    return find_root(
        lambda share: compute_probability(share) - probability, 0, 1, xtol=1e-15, rtol=1e-14
    )


def test_percent_agreement_of_three_annotators_has_wilsons_interval_with_a_design_effect() -> None:
    """In 30 of 40 units, all three pairs of labels are equal, in the others, one of the three."""
    units = [[True, True, True]] * 30 + [[True, True, False]] * 10
    found = compute_coefficients(units, "correct")["percent"]
    share = (30 + 10 / 3) / 40
    assert found.value == pytest.approx(share)

    squares = 30 * (1 - share) ** 2 + 10 * (1 / 3 - share) ** 2
    design_effect = (squares * 40 / 39 + 0.25 * 0.6) / (40 * share * (1 - share) + 0.25)
    quantile = student_quantile(0.975, 39)
    n = 40 / design_effect
    center = (share + quantile**2 / (2 * n)) / (1 + quantile**2 / n)
    deviation = np.sqrt(share * (1 - share) / n + quantile**2 / (4 * n**2))
    half_width = quantile / (1 + quantile**2 / n) * deviation
    assert (found.low, found.high) == pytest.approx(
        (center - half_width, center + half_width), abs=1e-3
    )


def test_targets_of_an_item_that_agree_alike_widen_percent_agreement() -> None:
    """Ten items with four targets each. All targets of an item are equal, or all differ."""
    alike = [[ItemAgreement(4, 4.0)] * 7, [ItemAgreement(4, 0.0)] * 3]
    mixed = [ItemAgreement(4, 3.0)] * 6 + [ItemAgreement(4, 2.5)] * 4
    wide = compute_clustered_share_interval([*alike[0], *alike[1]])
    narrow = compute_clustered_share_interval(mixed)
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    assert wide.low < 0.7 < wide.high and narrow.low < 0.7 < narrow.high


# Fleiss' kappa needs complete tables: without one unit, it can have another number of labels per
# unit.
@pytest.mark.parametrize(
    ("metric", "missing"),
    [("fleiss", 0.0), ("alpha", 0.3), ("ac1", 0.3), ("cohen alice bob", 0.3)],
)
def test_variance_equals_deleting_one_item_after_another(
    metric: str, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 300 units, the intervals of the jackknife and of the Bayesian bootstrap are nearly
    equal.
    """
    units = make_label_table(5, ["a", "b", "c"], annotators=3, missing=missing, units=300)
    found = compute_coefficients(units)[metric]
    # The jackknife needs only values, so their intervals get the fewest draws.
    monkeypatch.setattr(agreement_intervals, "MAX_DRAWN_NUMBERS", 1)
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
    assert half_width == pytest.approx(expected, rel=0.06)


def test_no_disagreement_leaves_no_interval_but_a_reason() -> None:
    found = compute_coefficients([[True, True]] * 9 + [[False, False]] * 3, "correct")
    for name in ("fleiss", "alpha", "ac1", "cohen alice bob"):
        coefficient = found[name]
        assert (coefficient.value, coefficient.low, coefficient.high) == (1, None, None)
        assert (coefficient.interval, coefficient.interval_note) == (None, "no disagreement")
    percent = found["percent alice bob"]
    assert (percent.low, percent.high) == pytest.approx((0.05 ** (1 / 12), 1))


def test_fewer_than_ten_items_leave_no_interval_but_a_reason() -> None:
    units = [[True, True]] * 6 + [[True, False]] + [[False, False]] * 2
    found = compute_coefficients(units, "correct")
    for name in ("fleiss", "alpha", "ac1", "cohen alice bob"):
        coefficient = found[name]
        assert coefficient.value is not None and coefficient.low is None
        assert coefficient.interval_note == "fewer than 10 items"
    assert found["percent alice bob"].low is not None
    one_more = compute_coefficients([*units, [True, True]], "correct")
    assert one_more["alpha"].low is not None and one_more["alpha"].interval_note == ""


def test_one_disagreement_gives_a_wide_interval() -> None:
    """With percentile bootstrap intervals, all of these intervals end at 1. The interval of AC1 is
    narrower, because AC1 hardly depends on how rare the second category is.
    """
    found = compute_coefficients(
        [[True, True]] * 9 + [[True, False]] + [[False, False]] * 2, "correct"
    )
    for name in ("fleiss", "alpha", "ac1", "cohen alice bob"):
        coefficient = found[name]
        assert coefficient.low is not None and coefficient.high is not None
        assert coefficient.high - coefficient.low > (0.4 if name == "ac1" else 0.5)
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


@dataclass(frozen=True)
class CrossTable:
    """Verdicts of two annotators on all items."""

    both_pass: int
    only_alice_passes: int
    only_bob_passes: int
    both_fail: int

    @property
    def counts(self) -> list[int]:
        return [self.both_pass, self.only_alice_passes, self.only_bob_passes, self.both_fail]

    def list_units(self) -> list[list[bool]]:
        pairs = ([True, True], [True, False], [False, True], [False, False])
        units: list[list[bool]] = []
        for pair, count in zip(pairs, self.counts, strict=True):
            units += [pair] * count
        return units


def iter_cross_tables(n_items: int) -> Iterator[CrossTable]:
    for both_pass in range(n_items + 1):
        for only_alice in range(n_items + 1 - both_pass):
            for only_bob in range(n_items + 1 - both_pass - only_alice):
                both_fail = n_items - both_pass - only_alice - only_bob
                yield CrossTable(both_pass, only_alice, only_bob, both_fail)


def compute_chances(setting: AnnotatorSetting, tables: Sequence[CrossTable]) -> FloatArray:
    """Return the multinomial probability of each table."""
    accuracy = setting.accuracy
    both_right, both_wrong = accuracy**2, (1 - accuracy) ** 2
    both_pass = setting.prevalence * both_right + (1 - setting.prevalence) * both_wrong
    one_passes = accuracy * (1 - accuracy)
    chances = [both_pass, one_passes, one_passes, 1 - both_pass - 2 * one_passes]
    n_items = sum(tables[0].counts)
    return np.array([multinomial_pmf(table.counts, n_items, chances) for table in tables])


@pytest.mark.parametrize("n_items", [10, pytest.param(20, marks=(pytest.mark.sweep, only_long))])
def test_two_annotators_with_few_items_have_93_percent_coverage_everywhere(n_items: int) -> None:
    """The coverage is computed from all samples that are possible. Samples without an interval do
    not count.
    """
    tables = list(iter_cross_tables(n_items))
    coefficients = [compute_coefficients(table.list_units(), "correct") for table in tables]
    for name in ("percent alice bob", "alpha", "ac1", "cohen alice bob"):
        metric = name.split()[0]
        lows = np.array([each[name].low for each in coefficients], dtype=float)
        highs = np.array([each[name].high for each in coefficients], dtype=float)
        has_interval = ~np.isnan(lows)
        half_widths = (highs - lows)[has_interval] / 2
        coverages = []
        for setting in list_settings():
            truth = setting.compute_truth()[metric]
            covers = (lows - 1e-9 <= truth) & (truth <= highs + 1e-9)
            chances = compute_chances(setting, tables)
            coverages.append(chances[covers].sum() / chances[has_interval].sum())
        assert min(coverages) > 0.935, metric
        assert float(np.mean(coverages)) < 0.985, metric
        assert half_widths.max() < 1


@pytest.mark.parametrize(
    ("design", "n_items"),
    [
        (LabellingDesign("pairs", n_annotators=2), 50),
        pytest.param(LabellingDesign("targets", n_annotators=2, n_targets=4), 20, marks=only_long),
        pytest.param(LabellingDesign("three", n_annotators=3), 15, marks=only_long),
        (LabellingDesign("incomplete", n_annotators=3, missing=0.4), 20),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_simulated_coverage_is_near_95_percent(design: LabellingDesign, n_items: int) -> None:
    """Mean of nine settings; `benchmarks/coverage/agreement.py` draws more samples."""
    results = [
        measure_agreement(setting, n_items, repetitions=60) for setting in list_settings(design)
    ]
    for metric in design.list_coefficients():
        mean = float(np.mean([result[metric].covered for result in results]))
        assert 0.925 <= mean <= 0.995, metric


def test_ten_thousand_labels_take_less_than_two_seconds() -> None:
    units = make_label_table(1, [True, False], annotators=3, units=3334)
    labels: list[Rating] = make_ratings(units, "correct")
    assert len(labels) > 10_000
    started = time.perf_counter()
    found = list(compute_agreement(labels, ["overall"], "all"))
    assert time.perf_counter() - started < 2
    assert all(coefficient.high is not None for coefficient in found)
