"""Ratings of one group as a table: units by annotators, with the number of the category that each chose.

Figures of agreement: every coefficient of every group, with its interval and what it was computed from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fcreview.stats.agreement import (
    AgreementFigure,
    Category,
    Given,
    Level,
    Metric,
    Rating,
    RatingGroup,
    Scope,
    categories,
    category,
    groups,
    labels,
    level_of,
)
from fcreview.stats.agreement_coefficients import (
    Array,
    Statistic,
    agreeing,
    alpha,
    cohen,
    estimates,
    fleiss,
    gwet,
    masi,
    nominal,
    ordinal_alpha,
    percent,
)

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


def agreement(ratings: Iterable[Rating], scopes: Iterable[Scope], given: Given) -> Iterator[AgreementFigure]:
    """Figures of all groups of these scopes, those of all annotators before those of pairs."""
    for group in groups_of(ratings, scopes, given):
        yield from figures_of(group)


def groups_of(ratings: Iterable[Rating], scopes: Iterable[Scope], given: Given) -> list[RatingGroup]:
    """What figures are made of, in their order."""
    said = labels(ratings)
    return [group for scope in scopes for group in groups(said, scope, given)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A coefficient of some of a table's rows."""

    metric: Metric
    annotators: tuple[str, ...]
    rows: Integers
    """On which two labels or more are compared."""
    statistic: Statistic
    level: Level = "nominal"


def figures_of(group: RatingGroup) -> Iterator[AgreementFigure]:
    table = table_of(group.criterion, group.ratings)
    asked = [*_of_all(table), *_of_pairs(table)]
    labelled = (table.cells != NONE).sum(axis=1)
    for each, found in zip(asked, estimates(table.times, [each.statistic for each in asked]), strict=True):
        units = int(table.times[each.rows].sum())
        estimate = found.over(units)
        yield AgreementFigure(
            scope=group.scope,
            benchmark=group.benchmark,
            category=group.category,
            criterion=group.criterion,
            level=each.level,
            metric=each.metric,
            annotators=each.annotators,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n_units=units,
            n_labels=2 * units if len(each.annotators) == 2 else int((table.times * labelled)[each.rows].sum()),
            given=group.given,
        )


def _of_all(table: Table) -> Iterator[_Asked]:
    counts = table.counts().astype(np.float64)
    labelled = (table.cells != NONE).sum(axis=1)
    several = np.flatnonzero(labelled > 1)
    alike = np.flatnonzero(labelled == _usual(labelled, table.times))
    yield _Asked("percent", table.annotators, several, _among(several, percent(agreeing(counts[several]))))
    yield _Asked("fleiss", table.annotators, alike, _among(alike, fleiss(counts[alike])))
    yield _Asked("alpha", table.annotators, several, _among(several, _alpha(table, counts[several])), table.level)
    yield _Asked("ac1", table.annotators, several, gwet(counts))


def _of_pairs(table: Table) -> Iterator[_Asked]:
    """Of two annotators in all, `_of_all` says the share already."""
    for pair in combinations(range(len(table.annotators)), 2):
        names = tuple(table.annotators[at] for at in pair)
        cells = table.cells[:, pair]
        both = np.flatnonzero((cells != NONE).all(axis=1))
        cells = cells[both]
        if len(table.annotators) > 2:
            yield _Asked("percent", names, both, _among(both, percent(cells[:, 0] == cells[:, 1])))
        yield _Asked("cohen", names, both, _among(both, cohen(cells)))


def _among(rows: Integers, statistic: Statistic) -> Statistic:
    return lambda weights: statistic(weights[:, rows])


def _usual(labelled: Integers, times: Integers) -> int:
    """The number of labels, two or more, that most units have; the larger of two. Two if there is none."""
    often = np.bincount(labelled, times, minlength=3)[2:]
    return len(often) + 1 - int(often[::-1].argmax())


def _alpha(table: Table, counts: Array) -> Statistic:
    if table.level == "ordinal":
        return ordinal_alpha(counts)
    if table.level == "nominal":
        return alpha(counts, nominal(len(table.categories)))
    return alpha(
        counts, masi([each if isinstance(each, frozenset) else frozenset({each}) for each in table.categories])
    )
