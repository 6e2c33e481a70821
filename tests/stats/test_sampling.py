"""Samples are stratified and reproducible, and shares of annotators overlap as requested."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from math import isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.sampling import (
    UNSTRATIFIED,
    SamplingError,
    ShareOptions,
    allocate_optimally,
    allocate_proportionally,
    assign_shares,
    draw_overlap_indexes,
    draw_stratified_sample,
)

sizes = st.dictionaries(st.text(max_size=3), st.integers(1, 400), min_size=1, max_size=12)


@given(sizes, st.data())
def test_each_stratum_gets_its_proportion_and_at_least_one_item(
    sizes: dict[str, int], data: st.DataObject
) -> None:
    total = data.draw(st.integers(len(sizes), sum(sizes.values())))
    strata = allocate_proportionally(sizes, total)
    assert {stratum.name: stratum.size for stratum in strata} == sizes
    assert sum(stratum.drawn for stratum in strata) == total
    population = sum(sizes.values())
    for stratum in strata:
        assert 1 <= stratum.drawn <= stratum.size
        quota = total * stratum.size / population
        assert stratum.drawn == 1 or stratum.drawn <= -(-total * stratum.size // population)
        if all(total * size >= population for size in sizes.values()):
            assert abs(stratum.drawn - quota) < 1


def test_whole_proportions_are_exact() -> None:
    drawn = {
        stratum.name: stratum.drawn
        for stratum in allocate_proportionally({"a": 60, "b": 30, "c": 10}, 10)
    }
    assert drawn == {"a": 6, "b": 3, "c": 1}
    assert [each.drawn for each in allocate_proportionally({"a": 97, "b": 2, "c": 1}, 10)] == [
        8,
        1,
        1,
    ]


def test_impossible_samples_are_errors() -> None:
    with pytest.raises(SamplingError, match="4 items, because 3 items match"):
        allocate_proportionally({"a": 3}, 4)
    with pytest.raises(SamplingError, match="2 items from 3 strata"):
        allocate_proportionally({"a": 3, "b": 3, "c": 3}, 2)


def test_sample_depends_on_seed_but_not_on_order() -> None:
    population = {f"item {number}": "ab"[number % 7 == 0] for number in range(100)}
    backwards = dict(reversed(population.items()))
    assert draw_stratified_sample(population, 20, 7) == draw_stratified_sample(backwards, 20, 7)
    assert draw_stratified_sample(population, 20, 7) != draw_stratified_sample(population, 20, 8)


def test_inclusion_probabilities_equal_observed_frequencies() -> None:
    population = {f"{number}": "large" if number < 30 else "small" for number in range(36)}
    times = 3000
    seen = Counter(
        item for seed in range(times) for item in draw_stratified_sample(population, 9, seed).items
    )
    exact = {
        stratum.name: stratum.probability
        for stratum in draw_stratified_sample(population, 9, 0).strata
    }
    assert isclose(sum(exact[stratum] for stratum in population.values()), 9)
    for item, stratum in population.items():
        expected = exact[stratum]
        assert abs(seen[item] / times - expected) < 5 * (expected * (1 - expected) / times) ** 0.5


def test_uniform_sample_has_one_stratum() -> None:
    drawn = draw_stratified_sample(dict.fromkeys("abcdefghij", UNSTRATIFIED), 4, 1)
    assert [(stratum.size, stratum.drawn, stratum.probability) for stratum in drawn.strata] == [
        (10, 4, 0.4)
    ]


def make_items(count: int) -> list[str]:
    return [f"item {number}" for number in range(count)]


def test_all_shares_contain_the_overlap_and_one_share_each_other_item() -> None:
    sharing = ShareOptions(["a", "b", "c"], overlap=50, repeats=10, seed=7)
    overlap = draw_overlap_indexes(make_items(200), sharing)
    shares = assign_shares(make_items(200), overlap, sharing)
    assert len(overlap) == 50
    owners = Counter(item for share in shares for item in set(share.order))
    assert {item for item, owner in owners.items() if owner == 3} == overlap
    assert {owner for item, owner in owners.items() if item not in overlap} == {1}
    assert len(owners) == 200
    assert [len(share.order) for share in shares] == [110, 110, 110]


def test_repeats_come_long_after_the_first_occurrence() -> None:
    sharing = ShareOptions(["a", "b"], overlap=30, repeats=8, seed=3)
    for share in assign_shares(
        make_items(90), draw_overlap_indexes(make_items(90), sharing), sharing
    ):
        assert len(share.repeats) == 8
        for place in share.repeats:
            assert share.order.index(share.order[place]) + 60 // 3 <= place
        assert Counter(share.order).most_common(1)[0][1] == 2


def test_each_share_has_its_own_order() -> None:
    sharing = ShareOptions(["a", "b"], overlap=40)
    one, other = assign_shares(
        make_items(40), draw_overlap_indexes(make_items(40), sharing), sharing
    )
    assert sorted(one.order) == sorted(other.order)
    assert one.order != other.order


def test_too_many_repeats_or_overlap_items_are_errors() -> None:
    with pytest.raises(SamplingError, match="at most 2"):
        assign_shares(make_items(6), set(), ShareOptions(["a"], repeats=3))
    with pytest.raises(SamplingError, match=r"overlap \(7\) is larger"):
        draw_overlap_indexes(make_items(6), ShareOptions(["a"], overlap=7))


def compute_variance(
    drawn: Sequence[int], sizes: Sequence[int], deviations: Sequence[float]
) -> float:
    """Return the variance of an estimated total, with the finite population correction."""
    return sum(
        (size * deviation) ** 2 * (1 / n - 1 / size)
        for n, size, deviation in zip(drawn, sizes, deviations, strict=True)
    )


@pytest.mark.parametrize("seed", range(8))
def test_neyman_allocation_has_the_smallest_variance_of_all_allocations(seed: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(3, 15, 3).tolist()
    deviations = generator.uniform(0.05, 0.5, 3).tolist()
    total = int(generator.integers(6, sum(sizes) + 1))
    names = "abc"
    strata = allocate_optimally(
        dict(zip(names, sizes, strict=True)), dict(zip(names, deviations, strict=True)), total
    )
    drawn = [stratum.drawn for stratum in strata]
    assert sum(drawn) == total

    possible = [
        each
        for each in itertools.product(*(range(2, size + 1) for size in sizes))
        if sum(each) == total
    ]
    best = min(compute_variance(each, sizes, deviations) for each in possible)
    assert compute_variance(drawn, sizes, deviations) == pytest.approx(best)


def test_neyman_allocation_draws_more_where_verdicts_differ_more() -> None:
    strata = allocate_optimally({"sure": 500, "split": 500}, {"sure": 0.1, "split": 0.5}, 60)
    assert {stratum.name: stratum.drawn for stratum in strata} == {"sure": 10, "split": 50}
    with pytest.raises(SamplingError):
        allocate_optimally({"a": 3}, {"a": 0.5}, 4)
