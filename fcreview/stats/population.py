"""What is known of each item of a run: its automatic verdict, whether people settled it, how it came before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcreview.stats.posterior import Cells

Stratum = tuple[str | None, ...]
"""Of each sample with known probabilities the stratum that the item was in, None if it could not be drawn."""


Own = bool | str | None
"""The automatic verdict; of other answers their kind (`answers.kind`)."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Of one item."""

    category: str
    own: Own
    """What counts before anybody reviewed."""
    settled: bool | None = None
    """What people settled (of other answers, whether they let its own stand); None while nobody has, or while they
    differ."""
    stratum: Stratum | None = None
    """None: no sample could have drawn it."""
    fraction: float = 0.0
    """The chance with which it was drawn, by one sample or another."""
    random: bool = False
    """Settled as an item of such a sample. What was settled otherwise is known, and says nothing of the rest."""
    spoken_for: bool = False
    """Settled otherwise, but which items of the sample were chosen like it is not recorded: the sample speaks for it as
    for unreviewed items, within what is known."""
    part: int = 0
    """Of several runs that are estimated together, which one's."""
    reviewed: bool = False
    """Drawn by a sample, and people said something of it, settled or not."""
    context: str = ""
    """What else its verdict or answer may depend on (`answers.contexts`)."""


@dataclass(frozen=True, slots=True)
class CellName:
    """What the items of a cell have in common."""

    own: Own
    stratum: Stratum
    category: str
    part: int = 0
    context: str = ""


def cell_text(stratum: str, own: Own, category: str | None = None) -> str:
    """As a queue file that goes on with another names its strata: `all, fail`, `all, fail, live_simple`."""
    words: dict[Own, str] = {True: "pass", False: "fail", None: "none"}
    parts = (stratum or "all", words.get(own, str(own)), category)
    return ", ".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Population:
    """A run's items, or those of several, in cells as far as a sample speaks of them."""

    names: Sequence[CellName]
    cells: Cells
    left: Sequence[Sequence[int]]
    """Of each cell the places of its items that nobody settled."""
    unsampled: Sequence[int]
    """Places of items that nobody settled and no sample could have drawn."""
    n_known: int
    n_random: int


def population(standings: Sequence[Standing]) -> Population:
    """Items without an automatic verdict are left as they are, unless the sample says something of such items."""
    judged = {standing.own is not None for standing in standings if standing.random} | {True}
    members: dict[CellName, list[int]] = {}
    unsampled = []
    for at, each in enumerate(standings):
        picked = each.settled is not None and not each.random and not each.spoken_for
        if (each.own is not None) not in judged or picked:
            continue
        if each.stratum is not None:
            members.setdefault(CellName(each.own, each.stratum, each.category, each.part, each.context), []).append(at)
        elif each.settled is None:
            unsampled.append(at)
    names = sorted(members, key=lambda name: (name.part, str(name.own), str(name.stratum), name.category, name.context))
    pools = {of: number for number, of in enumerate(dict.fromkeys((name.part, name.own) for name in names))}
    reviewed = [[at for at in members[name] if standings[at].random] for name in names]
    left = [[at for at in members[name] if standings[at].settled is None] for name in names]
    apart = [[at for at in members[name] if standings[at].spoken_for] for name in names]
    cells = Cells(
        pool=np.array([pools[name.part, name.own] for name in names], dtype=np.int64),
        reviewed=np.array([len(some) for some in reviewed], dtype=np.int64),
        passed=np.array([sum(standings[at].settled is True for at in some) for some in reviewed], dtype=np.int64),
        left=np.array([len(some) for some in left], dtype=np.int64),
        fraction=np.array([np.mean([standings[at].fraction for at in members[name]]) for name in names]),
        apart=np.array([len(some) for some in apart], dtype=np.int64),
        apart_passed=np.array([sum(standings[at].settled is True for at in some) for some in apart], dtype=np.int64),
    )
    return Population(
        names,
        cells,
        left,
        unsampled,
        n_known=sum(each.settled is not None for each in standings),
        n_random=sum(each.random for each in standings),
    )
