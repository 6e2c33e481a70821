"""Draws for unreviewed items follow the documented posterior, and needed reviews follow from
their variance.
"""

from __future__ import annotations

import numpy as np
import pytest

from fcreview.stats.posterior import (
    Cells,
    VarianceModel,
    allocate_reviews,
    count_needed_reviews,
    draw_posterior,
)
from tests.examples import split_by_form


def make_cells(*rows: tuple[int, int, int, int], fraction: float = 0.1) -> Cells:
    """Return cells from rows of (pool, reviewed, passed, left)."""
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    return Cells(*columns, np.full(len(rows), fraction))


@pytest.mark.parametrize(("n", "k", "left"), [(20, 3, 400), (1, 0, 50), (200, 199, 5)])
def test_single_cell_is_beta_binomial_with_jeffreys_prior(n: int, k: int, left: int) -> None:
    passes = draw_posterior(make_cells((0, n, k, left)), 40_000).passes[:, 0]
    a, b = k + 0.5, n - k + 0.5
    mean, variance = (
        left * a / (a + b),
        left * a * b * (a + b + left) / ((a + b) ** 2 * (a + b + 1)),
    )
    assert passes.mean() == pytest.approx(mean, abs=5 * (variance / len(passes)) ** 0.5)
    assert passes.var() == pytest.approx(variance, rel=0.08)


def test_fully_reviewed_cells_have_no_draws() -> None:
    assert not draw_posterior(make_cells((0, 9, 4, 0), (0, 3, 3, 0), (1, 2, 0, 0))).passes.any()


def test_cells_of_a_pool_add_up_to_its_rate() -> None:
    """The sum over cells with equal sampling equals a single sample, although cells share
    information.
    """
    whole = draw_posterior(make_cells((0, 60, 12, 540)), 4000, 1).passes[:4000].sum(axis=1)
    parts = (
        draw_posterior(make_cells((0, 40, 11, 360), (0, 20, 1, 170), (0, 0, 0, 10)), 4000, 2)
        .passes[:4000]
        .sum(axis=1)
    )
    assert parts.mean() == pytest.approx(whole.mean(), rel=0.03)
    assert parts.std() == pytest.approx(whole.std(), rel=0.1)


def test_cell_with_a_different_rate_keeps_it() -> None:
    found = draw_posterior(make_cells((0, 40, 0, 400), (0, 40, 38, 400), (0, 0, 0, 20)), 4000)
    assert found.mean_rate[0] < 0.05 and found.mean_rate[1] > 0.85
    spread = found.passes[:, 2] / 20
    # The cell has no reviews and may have either rate.
    assert np.percentile(spread, 5) < 0.1 and np.percentile(spread, 95) > 0.9


def test_draws_depend_only_on_seed() -> None:
    population = make_cells((0, 10, 3, 100), (0, 5, 1, 40), (1, 9, 9, 80))
    assert (
        draw_posterior(population, 50, 3).passes == draw_posterior(population, 50, 3).passes
    ).all()
    assert (
        draw_posterior(population, 50, 3).passes != draw_posterior(population, 50, 4).passes
    ).any()


def make_variance_model(population: Cells, weight: float = 0.001) -> VarianceModel:
    found = draw_posterior(population, 2000)
    each = np.full(len(population), weight)
    return VarianceModel(population, found, each, float((found.passes @ each).var()))


def test_reviews_are_allocated_to_the_least_certain_cell() -> None:
    parts = allocate_reviews(make_variance_model(make_cells((0, 30, 15, 300), (1, 30, 0, 300))), 40)
    assert parts.sum() == 40 and parts[0] > 30 > parts[1]


def test_allocation_does_not_exceed_unreviewed_items() -> None:
    assert allocate_reviews(
        make_variance_model(make_cells((0, 3, 1, 4), (1, 3, 3, 2))), 50
    ).tolist() == [4, 2]


def test_needed_reviews_shrink_with_finished_reviews() -> None:
    few, more = (
        make_variance_model(make_cells((0, 50, 25, 950))),
        make_variance_model(make_cells((0, 200, 100, 800))),
    )
    assert (count_needed_reviews(few, 0.04) or 0) > (count_needed_reviews(more, 0.04) or 0) > 0
    further = count_needed_reviews(few, 0.04)
    assert further is not None
    then = make_variance_model(make_cells((0, 50 + further, (50 + further) // 2, 950 - further)))
    assert 1.96 * then.variance**0.5 == pytest.approx(0.04, rel=0.1)
    assert count_needed_reviews(then, 0.05) == 0


def test_known_items_limit_the_draws() -> None:
    """60 of 100 unsampled items are known to pass and 10 to fail, so 0 to 30 of the others pass."""
    columns = [np.array([value]) for value in (0, 10, 7, 30)]
    found = draw_posterior(
        Cells(*columns, np.array([0.1]), np.array([70]), np.array([60])), 4000
    ).passes
    assert found.min() >= 0 and found.max() <= 30
    assert abs(found.mean() - 12) < 4  # 0.7 * 100 - 60, limited to 0 to 30


def measure_bias(n_sampled: int, repetitions: int = 400) -> list[float]:
    """Measure the bias of two categories' estimates, in half-widths of the interval. Automatic
    passes are right in 87 and 98 % of the items, automatic failures in 95 %.
    """
    sizes = np.array([280, 280, 220, 220])
    truth = np.concatenate(
        [np.arange(size) < n for size, n in zip(sizes, (244, 274, 11, 11), strict=True)]
    )
    cell = np.repeat(np.arange(4), sizes)
    passing = np.bincount(cell, truth)
    generator = np.random.default_rng(n_sampled)
    errors, half_widths = [], []
    for repetition in range(repetitions):
        sample = generator.choice(1000, n_sampled, replace=False)
        reviewed = np.bincount(cell[sample], minlength=4)
        passed = np.bincount(cell[sample], truth[sample], 4).astype(np.int64)
        probability = np.full(4, n_sampled / 1000)
        drawn = draw_posterior(
            Cells(np.array([0, 0, 1, 1]), reviewed, passed, sizes - reviewed, probability),
            200,
            repetition,
        )
        n_passing = passed + drawn.passes
        rates = (n_passing[:, :2] + n_passing[:, 2:]) / 500
        low, high = np.percentile(rates, (1.5, 98.5), axis=0)
        errors.append(rates[: drawn.n_estimated].mean(axis=0) - (passing[:2] + passing[2:]) / 500)
        half_widths.append((high - low) / 2)
    bias: list[float] = (np.mean(errors, axis=0) / np.mean(half_widths, axis=0)).tolist()
    return bias


@pytest.mark.sweep
@pytest.mark.parametrize("n_sampled", split_by_form([100, 200], quick=[200]))
def test_error_rates_that_differ_by_category_are_unbiased(n_sampled: int) -> None:
    assert all(abs(bias) < 0.08 for bias in measure_bias(n_sampled))
