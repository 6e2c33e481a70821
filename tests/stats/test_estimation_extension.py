"""A sample extension chooses strata for the metric, counts pending items first, and draws no
more than needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fcreview.model.metric import MetricKey
from fcreview.stats.estimation import (
    ExtensionGoal,
    ExtensionStratum,
    MetricDraws,
    draw_metrics,
    plan_extension,
)
from tests.stats.test_estimation import (
    make_input,
    make_items,
    review_items,
    set_inclusion_probability,
)

SHARE: MetricKey = ("accuracy", 0, "all items")
MEAN: MetricKey = ("weighted", 0, "mean of categories")


@pytest.fixture(scope="module")
def draws() -> MetricDraws:
    standings, truth = make_items(600)
    standings = set_inclusion_probability(standings, 0.1)
    review_items(
        standings,
        truth,
        np.random.default_rng(3).choice(600, 60, replace=False).tolist(),
        random=True,
    )
    found = draw_metrics(make_input(standings))
    assert found is not None
    return found


def plan_strata(
    draws: MetricDraws, key: MetricKey, half_width: float = 0.03, **options: object
) -> list[ExtensionStratum]:
    return plan_extension(draws, replace(ExtensionGoal(key, half_width, 0, ()), **options))


def test_strata_use_categories_only_for_unequal_weights(draws: MetricDraws) -> None:
    assert {part.name for part in plan_strata(draws, SHARE)} <= {"all, pass", "all, fail"}
    parts = plan_strata(draws, MEAN, 0.02)
    assert {"all, pass, live", "all, pass, simple"} <= {part.name for part in parts}
    live, simple = (
        sum(part.n_to_draw for part in parts if part.name.endswith(name))
        / sum(len(p.candidates) for p in parts if p.name.endswith(name))
        for name in ("live", "simple")
    )
    assert live > 2 * simple  # A fifth of the items has half of the weight.


def test_only_unreviewed_items_are_drawn(draws: MetricDraws) -> None:
    left = {at for places in draws.population.unreviewed for at in places}
    for half_width in (0.03, 0.001):
        parts = plan_strata(draws, SHARE, half_width)
        assert all(
            set(part.candidates) <= left and 0 < part.n_to_draw <= len(part.candidates)
            for part in parts
        )
    assert sum(part.n_to_draw for part in plan_strata(draws, SHARE, max_items=7)) == 7


def test_pending_items_count_and_are_not_drawn_again(draws: MetricDraws) -> None:
    alone = sum(part.n_to_draw for part in plan_strata(draws, SHARE))
    waiting = {at for places in draws.population.unreviewed for at in places[:20]}
    parts = plan_strata(draws, SHARE, pending=waiting)
    assert all(not waiting & set(part.candidates) for part in parts)
    assert alone - len(waiting) - 15 < sum(part.n_to_draw for part in parts) < alone


def test_narrow_interval_needs_no_items(draws: MetricDraws) -> None:
    assert plan_strata(draws, SHARE, 0.3) == []
