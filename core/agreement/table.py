"""Ratings of one group as a table: units by annotators, with the number of the category that each chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcreview.agreement.ratings import Category, Level, Rating, categories, category, level_of

Integers = NDArray[np.int64]
NONE = -1
"""In a cell: this annotator has no label on this unit."""


@dataclass(frozen=True, slots=True)
class Table:
    """Units that were labelled alike by the same annotators are one row."""

    annotators: tuple[str, ...]
    categories: tuple[Category, ...]
    level: Level
    cells: Integers
    """(rows, annotators)"""
    times: Integers
    """How many units each row stands for."""

    def counts(self) -> Integers:
        """(rows, categories): how many annotators chose each."""
        rows, size = len(self.cells), len(self.categories)
        numbered = self.cells + size * np.arange(rows)[:, np.newaxis]
        chosen = np.bincount(numbered[self.cells != NONE], minlength=rows * size)
        return chosen.reshape(rows, size)


def table_of(criterion: str, ratings: Sequence[Rating]) -> Table:
    """One rating or more; annotators by name. Of an annotator's labels on one unit the last counts."""
    annotators = sorted({rating.annotator for rating in ratings})
    values = [rating.value for rating in ratings]
    chosen = categories(criterion, values)
    column = {name: at for at, name in enumerate(annotators)}
    code = {each: at for at, each in enumerate(chosen)}
    unit: dict[tuple[int, str], int] = {}
    places = [unit.setdefault((rating.item, rating.target), len(unit)) for rating in ratings]
    cells = np.full((len(unit), len(annotators)), NONE, dtype=np.int64)
    cells[places, [column[rating.annotator] for rating in ratings]] = [code[category(value)] for value in values]
    rows, times = np.unique(cells, axis=0, return_counts=True)
    return Table(tuple(annotators), tuple(chosen), level_of(values), rows, times)
