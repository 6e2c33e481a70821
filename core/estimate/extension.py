"""How a sample goes on: which cells the next items come from, and how many, so that an interval shrinks most."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from fcreview.estimate.allocation import Spread, allocated, needed
from fcreview.estimate.estimates import Draws
from fcreview.estimate.posterior import Cells, drawn
from fcreview.estimate.standing import cell_text
from fcreview.figures import Key


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the sample is to reach."""

    key: Key
    half_width: float
    """In the figure's own unit."""
    sample: int
    """Which of the samples goes on: its place in every stratum."""
    waiting: Collection[int]
    """Places of its items that were drawn and are not reviewed yet: they come first, and are not drawn again."""
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A stratum of the extension."""

    name: str
    places: list[int]
    """Items that it can be drawn from, each as likely as any other."""
    many: int


def extension(draws: Draws, wanted: Wanted) -> list[Part]:
    """Strata by automatic verdict and the sample's own, and by category where the figure weighs categories differently.
    None if it is narrow enough once what waits is reviewed; all that is left if it never will be."""
    spread = draws.spreads([wanted.key])[wanted.key]
    names = draws.population.names
    own = [at for at, name in enumerate(names) if name.stratum[wanted.sample] is not None]
    finely = not draws.even(spread.weight)
    groups: dict[str, list[int]] = {}
    for at in own:
        stratum = names[at].stratum[wanted.sample] or ""
        text = cell_text(stratum, names[at].own, names[at].category if finely else None)
        groups.setdefault(text, []).append(at)
    waiting = set(wanted.waiting)
    together = _together(spread, list(groups.values()))
    places = [[place for at in group for place in draws.population.left[at]] for group in groups.values()]
    free = [[place for place in some if place not in waiting] for some in places]
    ahead = np.array([len(some) - len(rest) for some, rest in zip(places, free, strict=True)], dtype=np.int64)
    later = _reviewed(together, ahead)
    many = needed(later, wanted.half_width)
    size = sum(map(len, free)) if many is None else many
    parts = allocated(later, size if wanted.most is None else min(size, wanted.most)) if size else np.zeros_like(ahead)
    return [Part(text, rest, int(each)) for text, rest, each in zip(groups, free, parts, strict=True) if each]


def _together(spread: Spread, groups: list[list[int]]) -> Spread:
    """Of cells that are drawn from as one."""
    cells = spread.cells
    merged = Cells(
        pool=np.array([cells.pool[group[0]] for group in groups], dtype=np.int64),
        reviewed=np.array([cells.reviewed[group].sum() for group in groups], dtype=np.int64),
        passed=np.array([cells.passed[group].sum() for group in groups], dtype=np.int64),
        left=np.array([cells.left[group].sum() for group in groups], dtype=np.int64),
        fraction=np.ones(len(groups)),
    )
    weight = [float(np.average(spread.weight[group], weights=cells.left[group] + 1e-9)) for group in groups]
    return Spread(merged, drawn(merged), np.array(weight), spread.variance)


def _reviewed(spread: Spread, ahead: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Spread:
    """As it is once the items that wait are reviewed and pass as often as the others."""
    cells = spread.cells
    then = Cells(
        cells.pool,
        cells.reviewed + ahead,
        cells.passed + np.rint(ahead * spread.drawn.rate).astype(np.int64),
        cells.left - ahead,
        cells.fraction,
    )
    before, after = (float(spread.cells_variance(some).sum()) for some in (cells, then))
    variance = spread.variance * (after / before if before > 0 else 1.0)
    return Spread(then, spread.drawn, spread.weight, variance)
