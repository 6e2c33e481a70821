"""What is known of each item of a run: its automatic verdict, whether people settled it, how it came before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcreview.stats.posterior import Cells

Stratum = tuple[str | None, ...]
"""Of each sample with known probabilities the stratum that the item was in, None if it could not be drawn."""


AutomaticOutcome = bool | str | None
"""The automatic verdict; of other answers their kind (`answers.kind`)."""


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """Of one item."""

    category: str
    automatic: AutomaticOutcome
    """What counts before anybody reviewed."""
    human: bool | None = None
    """What people settled (of other answers, whether they let its own stand); None while nobody has, or while they
    differ."""
    stratum: Stratum | None = None
    """None: no sample could have drawn it."""
    inclusion_probability: float = 0.0
    """The chance with which it was drawn, by one sample or another."""
    is_random: bool = False
    """Settled as an item of such a sample. What was settled otherwise is known, and says nothing of the rest."""
    is_selection_unknown: bool = False
    """Settled otherwise, but which items of the sample were chosen like it is not recorded: the sample speaks for it as
    for unreviewed items, within what is known."""
    run_index: int = 0
    """Of several runs that are estimated together, which one's."""
    is_sample_reviewed: bool = False
    """Drawn by a sample, and people said something of it, settled or not."""
    context: str = ""
    """What else its verdict or answer may depend on (`answers.contexts`)."""


@dataclass(frozen=True, slots=True)
class CellKey:
    """What the items of a cell have in common."""

    automatic: AutomaticOutcome
    stratum: Stratum
    category: str
    run_index: int = 0
    context: str = ""


def format_stratum_name(stratum: str, own: AutomaticOutcome, category: str | None = None) -> str:
    """As a queue file that goes on with another names its strata: `all, fail`, `all, fail, live_simple`."""
    words: dict[AutomaticOutcome, str] = {True: "pass", False: "fail", None: "none"}
    parts = (stratum or "all", words.get(own, str(own)), category)
    return ", ".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Population:
    """A run's items, or those of several, in cells as far as a sample speaks of them."""

    cell_keys: Sequence[CellKey]
    cells: Cells
    unreviewed: Sequence[Sequence[int]]
    """Of each cell the places of its items that nobody settled."""
    unsampled: Sequence[int]
    """Places of items that nobody settled and no sample could have drawn."""
    n_known: int
    n_random: int


def build_population(standings: Sequence[ItemStatus]) -> Population:
    """Items without an automatic verdict are left as they are, unless the sample says something of such items."""
    judged = {standing.automatic is not None for standing in standings if standing.is_random} | {True}
    members: dict[CellKey, list[int]] = {}
    unsampled = []
    for at, each in enumerate(standings):
        picked = each.human is not None and not each.is_random and not each.is_selection_unknown
        if (each.automatic is not None) not in judged or picked:
            continue
        if each.stratum is not None:
            members.setdefault(CellKey(each.automatic, each.stratum, each.category, each.run_index, each.context), []).append(at)
        elif each.human is None:
            unsampled.append(at)
    names = sorted(members, key=lambda name: (name.run_index, str(name.automatic), str(name.stratum), name.category, name.context))
    pools = {of: number for number, of in enumerate(dict.fromkeys((name.run_index, name.automatic) for name in names))}
    reviewed = [[at for at in members[name] if standings[at].is_random] for name in names]
    left = [[at for at in members[name] if standings[at].human is None] for name in names]
    apart = [[at for at in members[name] if standings[at].is_selection_unknown] for name in names]
    cells = Cells(
        pool=np.array([pools[name.run_index, name.automatic] for name in names], dtype=np.int64),
        reviewed=np.array([len(some) for some in reviewed], dtype=np.int64),
        passed=np.array([sum(standings[at].human is True for at in some) for some in reviewed], dtype=np.int64),
        unreviewed=np.array([len(some) for some in left], dtype=np.int64),
        inclusion_probability=np.array([np.mean([standings[at].inclusion_probability for at in members[name]]) for name in names]),
        known_outside_sample=np.array([len(some) for some in apart], dtype=np.int64),
        passed_outside_sample=np.array([sum(standings[at].human is True for at in some) for some in apart], dtype=np.int64),
    )
    return Population(
        names,
        cells,
        left,
        unsampled,
        n_known=sum(each.human is not None for each in standings),
        n_random=sum(each.is_random for each in standings),
    )
