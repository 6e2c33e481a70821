"""What one run makes of one item, and which items of several runs are the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

VerdictSource = Literal["official", "rule", "effective"]
VERDICT_SOURCES: tuple[VerdictSource, ...] = ("official", "rule", "effective")
"""Whose verdicts are compared; `effective`: people's where they settled it, else the benchmark's."""


def usual_source(known: Iterable[int]) -> VerdictSource:
    """Official, unless a run has no official verdict at all. `known`: how many each run has."""
    return "official" if all(known) else "rule"


class ItemPlace(NamedTuple):
    """Where an item is among all datasets, whichever run it is of."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str


class Outcome(NamedTuple):
    """An item of a run with one source's verdict. A tuple: of hundreds of runs there are hundreds of thousands."""

    item: int
    """Row key in the store."""
    place: ItemPlace
    group: str | None
    question: str
    """One line, shortened as in lists; empty where the dataset is not there."""
    verdict: bool | None
    error: str | None
    """This source's word for why it fails."""
    difference: str | None
    """The first difference from the golden answer; of a passing item too, where something differs."""
    prediction: str
    golden: str
    """Hashes of content."""


@dataclass(frozen=True, slots=True)
class Row:
    """The same item in several runs, in their order; None where a run has none."""

    place: ItemPlace
    outcomes: tuple[Outcome | None, ...]


@dataclass(frozen=True, slots=True)
class Aligned:
    """Every item of the runs, in the order in which they first come."""

    rows: list[Row]
    generations: tuple[str, ...]
    """Of the datasets. Where they are several, items of different generations are the same if all else is."""
    asked_otherwise: int
    """Items of one place that ask different questions; they are rows of their own."""

    @property
    def whole(self) -> list[Row]:
        """Rows with an outcome of every run."""
        return [row for row in self.rows if None not in row.outcomes]

    def alone(self, run: int) -> int:
        """How many items of a run not all others have."""
        return sum(row.outcomes[run] is not None and None in row.outcomes for row in self.rows)


def aligned(runs: Sequence[Sequence[Outcome]]) -> Aligned:
    """Items are the same that have the same benchmark, generation, language, category and id, and ask the same
    question. One that stands several times in a run meets the others in order."""
    places = {each.place for run in runs for each in run}
    generations = tuple(dict.fromkeys(each.place.generation for run in runs for each in run))
    keys = {place: place._replace(generation="") if len(generations) > 1 else place for place in places}
    asked: defaultdict[ItemPlace, dict[str, None]] = defaultdict(dict)
    for run in runs:
        for each in run:
            if each.question:
                asked[keys[each.place]][each.question] = None
    cells: dict[tuple[ItemPlace, str, int], list[Outcome | None]] = {}
    for number, run in enumerate(runs):
        seen: defaultdict[tuple[ItemPlace, str], int] = defaultdict(int)
        for each in run:
            key = keys[each.place]
            # A run without a dataset does not know what was asked: where there is one question only, it was that.
            question = each.question or (next(iter(asked[key])) if len(asked[key]) == 1 else "")
            nth = seen[key, question]
            seen[key, question] += 1
            cells.setdefault((key, question, nth), [None] * len(runs))[number] = each
    rows = [Row(_first(found).place, tuple(found)) for found in cells.values()]
    return Aligned(rows, generations, sum(len(questions) > 1 for questions in asked.values()))


def _first(outcomes: Iterable[Outcome | None]) -> Outcome:
    return next(each for each in outcomes if each is not None)
