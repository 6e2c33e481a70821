"""Define the status of each item in the samples of a run, and group items into the cells whose pass rates are
estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fcreview.stats.posterior import Cells, IntArray

Stratum = tuple[str | None, ...]
"""Stratum of an item in each random sample; None for a sample that could not draw the item."""
AutomaticOutcome = bool | str | None
"""Automatic verdict of an item, or for other criteria the kind of its automatic answer (`classify_answer`)."""
RunCategory = tuple[int, str]
"""(index of a run, name of a category)"""

SampleOutcome = Literal["decided", "unsure", "skipped", "in disagreement", "not reviewed"]
"""Result of the reviews of a drawn item. `not reviewed` means that no annotator has reached the item yet."""
UNDECIDED: tuple[SampleOutcome, ...] = ("unsure", "skipped", "in disagreement")
"""Outcomes of drawn items that annotators reached but left without a verdict."""


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """Automatic and human verdict of an item, and how the item was selected for review."""

    category: str
    automatic: AutomaticOutcome
    """Automatic verdict or kind of answer, before any review; None if the item has none."""
    human: bool | None = None
    """Human verdict. For other criteria, whether the human answer equals the automatic answer. None if the item is
    unreviewed or disputed."""
    stratum: Stratum | None = None
    """Stratum in each random sample; None if no sample could draw the item."""
    inclusion_probability: float = 0.0
    """Probability that at least one sample drew the item."""
    is_random: bool = False
    """Whether the human verdict was given as part of a random sample. A human verdict from outside the sample counts
    for its own item, but does not inform the estimate of unreviewed items."""
    is_selection_unknown: bool = False
    """Whether the human verdict was given outside the sample and it is unknown how such items were selected. The
    posterior then treats the item like an unreviewed item, with the known verdict as a bound."""
    run_index: int = 0
    """Index of the item's run among the runs that are estimated together."""
    is_sample_reviewed: bool = False
    """Whether a sample drew the item and an annotator reviewed it, with or without a decision."""
    context: str = ""
    """Further property on which the right answer may depend, as text from `describe_chain_contexts`; empty if there is
    none."""
    sample_outcome: SampleOutcome | None = None
    """Outcome of a drawn item; None if no sample drew the item."""

    @property
    def is_undecided(self) -> bool:
        """Whether a sample drew the item, and annotators reached the item without deciding on it."""
        return self.sample_outcome in UNDECIDED

    @property
    def run_category(self) -> RunCategory:
        """(index of the run, name of the category) of the item."""
        return self.run_index, self.category


@dataclass(frozen=True, slots=True)
class CellKey:
    """Properties that all items of a cell share."""

    automatic: AutomaticOutcome
    stratum: Stratum
    category: str
    run_index: int = 0
    context: str = ""


def format_stratum_name(stratum: str, automatic: AutomaticOutcome, category: str | None = None) -> str:
    """Return the name of a stratum in a queue file that extends another queue. Examples: `all, fail` and
    `all, fail, live_simple`."""
    words: dict[AutomaticOutcome, str] = {True: "pass", False: "fail", None: "none"}
    parts = (stratum or "all", words.get(automatic, str(automatic)), category)
    return ", ".join(part for part in parts if part is not None)


@dataclass(frozen=True, slots=True)
class Population:
    """Items of one or several runs. The items that the samples cover are grouped into cells."""

    cell_keys: Sequence[CellKey]
    cells: Cells
    unreviewed: Sequence[Sequence[int]]
    """For each cell, the positions of its items without a human verdict."""
    unsampled: Sequence[int]
    """Positions of the items without a human verdict that no sample could draw."""
    n_known: int
    """Number of items with a human verdict."""
    n_random: int
    """Number of items with a human verdict from a random sample."""


def build_population(statuses: Sequence[ItemStatus]) -> Population:
    """Group items into cells. Items without an automatic outcome are ignored unless the sample contains such items."""
    has_outcome = {status.automatic is not None for status in statuses if status.is_random} | {True}
    members: dict[CellKey, list[int]] = {}
    unsampled = []
    for at, each in enumerate(statuses):
        is_hand_picked = each.human is not None and not each.is_random and not each.is_selection_unknown
        if (each.automatic is not None) not in has_outcome or is_hand_picked:
            continue
        if each.stratum is not None:
            key = CellKey(each.automatic, each.stratum, each.category, each.run_index, each.context)
            members.setdefault(key, []).append(at)
        elif each.human is None:
            unsampled.append(at)
    keys = sorted(
        members, key=lambda key: (key.run_index, str(key.automatic), str(key.stratum), key.category, key.context)
    )
    pools = {pool: number for number, pool in enumerate(dict.fromkeys((key.run_index, key.automatic) for key in keys))}
    reviewed = [[at for at in members[key] if statuses[at].is_random] for key in keys]
    unreviewed = [[at for at in members[key] if statuses[at].human is None] for key in keys]
    outside = [[at for at in members[key] if statuses[at].is_selection_unknown] for key in keys]

    def count_passed(groups: Sequence[Sequence[int]]) -> IntArray:
        return np.array([sum(statuses[at].human is True for at in group) for group in groups], dtype=np.int64)

    cells = Cells(
        pool=np.array([pools[key.run_index, key.automatic] for key in keys], dtype=np.int64),
        reviewed=np.array(list(map(len, reviewed)), dtype=np.int64),
        passed=count_passed(reviewed),
        unreviewed=np.array(list(map(len, unreviewed)), dtype=np.int64),
        inclusion_probability=np.array(
            [np.mean([statuses[at].inclusion_probability for at in members[key]]) for key in keys]
        ),
        known_outside_sample=np.array(list(map(len, outside)), dtype=np.int64),
        passed_outside_sample=count_passed(outside),
    )
    return Population(
        keys,
        cells,
        unreviewed,
        unsampled,
        n_known=sum(each.human is not None for each in statuses),
        n_random=sum(each.is_random for each in statuses),
    )
