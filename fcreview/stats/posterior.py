"""How many of the items that nobody reviewed would pass, drawn from what a random sample of them says.

Items lie in cells: by automatic verdict, the strata they were drawn from, category. Within a cell each item was as
likely to be drawn as any other, so that how items were chosen does not matter once the cell is known (Gelman and
others, Bayesian Data Analysis, 3rd ed., chapter 8). Cells with the same automatic verdict are a pool:

* a pool of one cell: its pass rate is Beta(k + 1/2, n - k + 1/2), Jeffreys' prior and k passes of n reviewed;
* of several cells: a cell is like its pool, Beta(m s, (1 - m) s) with m by Jeffreys' prior and s, how alike cells are,
  on a grid; or, with a chance set before anything is seen, it has nothing to do with it, and has Jeffreys' prior (a
  robust mixture: Schmidli and others 2014). Cells with few reviews or none lean on the others, and what is not known of
  how cells differ widens the interval of figures that weigh them otherwise than the sample does;
* cells of a pool of which about the same part was to be drawn are together a simple random sample: together they have
  the rate of a pool of one cell, whatever they are one by one.

The remainder of a finite population is then Binomial: a cell that is reviewed whole has no uncertainty left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
DEFAULT_DRAWS = 1000
SEED = 0
JEFFREYS = 0.5
_RATES = 100
"""Points of the grid of m; draws are spread evenly between them."""
POOL_STRENGTHS = np.geomspace(4.0, 1000.0, 8)
"""The grid of s, in items: a cell leans on its pool as if s of its items had been seen."""
INDEPENDENT_CELL_PRIOR = 0.4
"""The chance, before anything is seen, that a cell has nothing to do with its pool."""
UNPOOLED_DRAW_SHARE = 0.25
"""Draws in which cells are by themselves, to one in which they meet their pool's rate. Where a sample holds no error,
or one or two, its pool's rate leaves no room for errors that all lie in one category; a mean of them would show."""
MAX_PROBABILITY_RATIO = 1.5
"""Parts drawn of two cells that differ by no more than this factor are about the same."""
_EDGE, _FAR, _HALVINGS = 1e-6, 30.0, 30


@dataclass(frozen=True, slots=True)
class Cells:
    """One entry a cell in each array."""

    pool: IntArray
    """Cells with the same number lean on each other."""
    reviewed: IntArray
    """Items of the random sample that were reviewed."""
    passed: IntArray
    """Of these, those that pass."""
    unreviewed: IntArray
    """Items that nobody reviewed."""
    inclusion_probability: FloatArray
    """The part of the cell's items that was to be drawn."""
    known_outside_sample: IntArray | None = None
    """Items that are known, though not from the sample, and that it spoke for as well when it was drawn."""
    passed_outside_sample: IntArray | None = None
    """Of these, those that pass."""

    @property
    def not_drawn(self) -> IntArray:
        """Items that the sample speaks for and did not draw."""
        return self.unreviewed if self.known_outside_sample is None else self.unreviewed + self.known_outside_sample

    def __len__(self) -> int:
        return len(self.pool)


@dataclass(frozen=True, slots=True)
class PosteriorDraws:
    """What the unreviewed items might be."""

    passes: IntArray
    """(draws, cells): how many of those left pass. The first `met` draws are for figures that weigh items alike, all of
    them for others."""
    mean_rate: FloatArray
    """Of each cell, the mean of its drawn pass rates."""
    n_pooled: int
    """Draws in which the cells of a pool have its rate together; in those after them each cell is by itself."""


def draw_posterior(cells: Cells, draws: int = DEFAULT_DRAWS, seed: int = SEED) -> PosteriorDraws:
    """The same cells and seed draw the same."""
    generator = np.random.default_rng(seed)
    rates = np.empty((draws + round(UNPOOLED_DRAW_SHARE * draws), len(cells)))
    for pool in np.unique(cells.pool):
        at = np.flatnonzero(cells.pool == pool)
        rates[:, at] = _rates(cells, at, draws, generator)
    passes = generator.binomial(cells.not_drawn, rates)
    if cells.passed_outside_sample is not None:  # how many of them pass is known: what is drawn cannot contradict it
        passes = np.clip(passes - cells.passed_outside_sample, 0, cells.unreviewed)
    return PosteriorDraws(passes, rates[:draws].mean(axis=0), draws)


def _rates(cells: Cells, at: IntArray, draws: int, generator: np.random.Generator) -> FloatArray:
    """(draws and those beyond them that are free, cells of a pool)"""
    every = draws + round(UNPOOLED_DRAW_SHARE * draws)
    reviewed, passed = cells.reviewed[at], cells.passed[at]
    if len(at) == 1:
        rates: FloatArray = generator.beta(passed + JEFFREYS, reviewed - passed + JEFFREYS, (every, 1))
        return rates
    rates = _of_several(reviewed, passed, every, generator)
    for of in _drawn_alike(cells.inclusion_probability[at]):
        n, k = int(reviewed[of].sum()), int(passed[of].sum())
        if n:
            together = generator.beta(k + JEFFREYS, n - k + JEFFREYS, draws)
            rates[:draws, of] = _made_to_meet(rates[:draws, of], (reviewed + cells.not_drawn[at])[of], together)
    return rates


def _drawn_alike(fraction: FloatArray) -> list[IntArray]:
    """Cells of which about the same part was to be drawn: taken together they are still a random sample."""
    groups: list[list[int]] = []
    for at in np.argsort(fraction, kind="stable").tolist():
        if groups and fraction[at] <= MAX_PROBABILITY_RATIO * fraction[groups[-1][0]]:
            groups[-1].append(at)
        else:
            groups.append([at])
    return [np.array(group) for group in groups]


def _made_to_meet(rates: FloatArray, sizes: IntArray, together: FloatArray) -> FloatArray:
    """The rates, shifted on the logit scale so that in each draw all cells together have this rate."""
    if rates.shape[1] == 1:
        return together[:, np.newaxis]
    share = sizes / sizes.sum()
    rates = np.clip(rates, _EDGE, 1 - _EDGE)
    logits = np.log(rates / (1 - rates))
    low, high = np.full(len(rates), -_FAR), np.full(len(rates), _FAR)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = (1 / (1 + np.exp(-logits - middle[:, np.newaxis]))) @ share > together
        high, low = np.where(more, middle, high), np.where(more, low, middle)
    shifted: FloatArray = 1 / (1 + np.exp(-logits - ((low + high) / 2)[:, np.newaxis]))
    return shifted


def _of_several(reviewed: IntArray, passed: IntArray, draws: int, generator: np.random.Generator) -> FloatArray:
    """(draws, cells): rates of the cells of a pool, from the posterior of m, s and which cells are apart."""
    step = np.pi / 2 / _RATES
    angles = (np.arange(_RATES) + 0.5) * step  # Jeffreys' prior of a share is even in the arcsine of its root
    mean, size = (grid.ravel() for grid in np.meshgrid(np.sin(angles) ** 2, POOL_STRENGTHS, indexing="ij"))
    like = np.log(1 - INDEPENDENT_CELL_PRIOR) + _evidence(mean * size, (1 - mean) * size, reviewed, passed)
    half = np.array([JEFFREYS])
    apart = np.log(INDEPENDENT_CELL_PRIOR) + _evidence(half, half, reviewed, passed)
    either = np.logaddexp(like, apart)
    weight = np.exp(either.sum(axis=1) - either.sum(axis=1).max())
    chosen = generator.choice(weight.size, draws, p=weight / weight.sum())
    spread = angles[chosen // len(POOL_STRENGTHS)] + step * (generator.random(draws) - 0.5)
    mean, size = np.clip(np.sin(spread) ** 2, _EDGE, 1 - _EDGE)[:, np.newaxis], size[chosen][:, np.newaxis]
    own = np.log(generator.random((draws, len(reviewed)))) < (apart - either)[chosen]
    first = np.where(own, JEFFREYS, mean * size) + passed
    second = np.where(own, JEFFREYS, (1 - mean) * size) + (reviewed - passed)
    rates: FloatArray = generator.beta(first, second)
    return rates


def _evidence(first: FloatArray, second: FloatArray, reviewed: IntArray, passed: IntArray) -> FloatArray:
    """(priors, cells): log likelihood of each cell under Beta(first, second), but for a constant of the cell."""
    return _rising(first, passed) + _rising(second, reviewed - passed) - _rising(first + second, reviewed)


def _rising(base: FloatArray, count: IntArray) -> FloatArray:
    """(bases, counts): log of base (base + 1) ... (base + count - 1)."""
    logs = np.log(base[:, np.newaxis] + np.arange(count.max(initial=0)))
    sums: FloatArray = np.concatenate([np.zeros((len(base), 1)), logs.cumsum(axis=1)], axis=1)
    return sums[:, count]
