"""Where a sample goes on: strata as the figure needs them, what waits comes first, and no more than needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fcreview.model.metric import MetricKey
from fcreview.stats.estimation import ExtensionGoal, ExtensionStratum, MetricDraws, draw_metrics, plan_extension
from tests.stats.test_estimation import drawn_from, made, run_of, settle

SHARE: MetricKey = ("accuracy", 0, "all items")
MEAN: MetricKey = ("weighted", 0, "mean of categories")


@pytest.fixture(scope="module")
def draws() -> MetricDraws:
    standings, truth = made(600)
    standings = drawn_from(standings, 0.1)
    settle(standings, truth, np.random.default_rng(3).choice(600, 60, replace=False).tolist(), random=True)
    found = draw_metrics(run_of(standings))
    assert found is not None
    return found


def parts_of(draws: MetricDraws, key: MetricKey, half_width: float = 0.03, **more: object) -> list[ExtensionStratum]:
    return plan_extension(draws, replace(ExtensionGoal(key, half_width, 0, ()), **more))


def test_strata_are_verdicts_and_categories_only_where_they_weigh_differently(draws: MetricDraws) -> None:
    assert {part.name for part in parts_of(draws, SHARE)} <= {"all, pass", "all, fail"}
    parts = parts_of(draws, MEAN)
    assert {"all, pass, live", "all, pass, simple"} <= {part.name for part in parts}
    live, simple = (
        sum(part.n_to_draw for part in parts if part.name.endswith(name))
        / sum(len(p.candidates) for p in parts if p.name.endswith(name))
        for name in ("live", "simple")
    )
    assert live > 2 * simple  # a fifth of the items is half of the mean


def test_only_unreviewed_items_can_be_drawn_and_no_more_than_there_are(draws: MetricDraws) -> None:
    left = {at for places in draws.population.unreviewed for at in places}
    for half_width in (0.03, 0.001):
        parts = parts_of(draws, SHARE, half_width)
        assert all(set(part.candidates) <= left and 0 < part.n_to_draw <= len(part.candidates) for part in parts)
    assert sum(part.n_to_draw for part in parts_of(draws, SHARE, max_items=7)) == 7


def test_what_waits_comes_first_and_is_not_drawn_again(draws: MetricDraws) -> None:
    alone = sum(part.n_to_draw for part in parts_of(draws, SHARE))
    waiting = {at for places in draws.population.unreviewed for at in places[:20]}
    parts = parts_of(draws, SHARE, pending=waiting)
    assert all(not waiting & set(part.candidates) for part in parts)
    assert alone - len(waiting) - 15 < sum(part.n_to_draw for part in parts) < alone


def test_what_is_narrow_enough_needs_nothing(draws: MetricDraws) -> None:
    assert parts_of(draws, SHARE, 0.3) == []
