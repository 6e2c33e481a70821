"""The share of items that pass, over all items of one run or several: what the queue's header shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcreview.estimate.allocation import Spread, needed
from fcreview.estimate.estimates import MIDDLE
from fcreview.estimate.posterior import SEED, drawn
from fcreview.estimate.standing import Standing, population


@dataclass(frozen=True, slots=True)
class Share:
    """0 to 1."""

    corrected: float
    low: float
    high: float
    needed: int | None
    """Further items of a random sample until the interval is as narrow as was asked for."""


def share(standings: Sequence[Standing], half_width: float, seed: int = SEED) -> Share | None:
    """None without a random sample, and where some items could not be drawn by one. `half_width`: 0 to 1."""
    people = population(standings)
    if not people.n_random or people.unsampled:
        return None
    judged = [each for each in standings if each.settled is not None]
    made = drawn(people.cells, seed=seed)
    n = len(judged) + int(people.cells.left.sum())
    values = (sum(each.settled is True for each in judged) + made.passes[: made.met].sum(axis=1)) / n
    low, high = map(float, np.percentile(values, MIDDLE))
    spread = Spread(people.cells, made, np.full(len(people.cells), 1 / n), float(values.var()))
    return Share(float(values.mean()), low, high, needed(spread, half_width))
