"""Where a sample goes on: strata as the figure needs them, what waits comes first, and no more than needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fcreview.model.metric import Key
from fcreview.stats.estimation import Draws, Part, Wanted, draws_of, extension
from tests.stats.test_estimation import drawn_from, made, run_of, settle

SHARE: Key = ("accuracy", 0, "all items")
MEAN: Key = ("weighted", 0, "mean of categories")


@pytest.fixture(scope="module")
def draws() -> Draws:
    standings, truth = made(600)
    standings = drawn_from(standings, 0.1)
    settle(standings, truth, np.random.default_rng(3).choice(600, 60, replace=False).tolist(), random=True)
    found = draws_of(run_of(standings))
    assert found is not None
    return found


def parts_of(draws: Draws, key: Key, half_width: float = 0.03, **more: object) -> list[Part]:
    return extension(draws, replace(Wanted(key, half_width, 0, ()), **more))


def test_strata_are_verdicts_and_categories_only_where_they_weigh_differently(draws: Draws) -> None:
    assert {part.name for part in parts_of(draws, SHARE)} <= {"all, pass", "all, fail"}
    parts = parts_of(draws, MEAN)
    assert {"all, pass, live", "all, pass, simple"} <= {part.name for part in parts}
    live, simple = (
        sum(part.many for part in parts if part.name.endswith(name))
        / sum(len(p.places) for p in parts if p.name.endswith(name))
        for name in ("live", "simple")
    )
    assert live > 2 * simple  # a fifth of the items is half of the mean


def test_only_unreviewed_items_can_be_drawn_and_no_more_than_there_are(draws: Draws) -> None:
    left = {at for places in draws.population.left for at in places}
    for half_width in (0.03, 0.001):
        parts = parts_of(draws, SHARE, half_width)
        assert all(set(part.places) <= left and 0 < part.many <= len(part.places) for part in parts)
    assert sum(part.many for part in parts_of(draws, SHARE, most=7)) == 7


def test_what_waits_comes_first_and_is_not_drawn_again(draws: Draws) -> None:
    alone = sum(part.many for part in parts_of(draws, SHARE))
    waiting = {at for places in draws.population.left for at in places[:20]}
    parts = parts_of(draws, SHARE, waiting=waiting)
    assert all(not waiting & set(part.places) for part in parts)
    assert alone - len(waiting) - 15 < sum(part.many for part in parts) < alone


def test_what_is_narrow_enough_needs_nothing(draws: Draws) -> None:
    assert parts_of(draws, SHARE, 0.3) == []
