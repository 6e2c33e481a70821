"""Figures of what the unreviewed items might be: drawn verdicts, put through the benchmark's own figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fcreview.estimate.answers import Answers, answered
from fcreview.estimate.posterior import Drawn, Floats
from fcreview.estimate.standing import Population
from fcreview.figures import Figure, Key, Scored
from fcreview.review import OWN

Figures = Callable[[Sequence[Scored]], Sequence[Figure]]
"""A benchmark's figures of its items; pure."""
Values = Mapping[Key, float]


class Outcomes:
    """A run's figures, whatever verdicts its unreviewed items are given."""

    def __init__(self, before: Sequence[Scored], after: Sequence[Scored], figures: Figures) -> None:
        """`before`: as the benchmark says; `after`: with what people settled."""
        self._after, self._figures = list(after), figures
        self._own = [row.valid for row in before]
        self._made: dict[tuple[int, bool], Scored] = {}

    def of(self, verdicts: Mapping[int, bool] | Iterable[tuple[int, bool]]) -> Values:
        """Figures with these verdicts, by place, instead of what is there."""
        rows = self._after.copy()
        for at, verdict in verdicts.items() if isinstance(verdicts, Mapping) else verdicts:
            rows[at] = self._row(at, verdict)
        return values_of(self._figures(rows))

    def all_alike(self, places: Iterable[int], verdict: bool) -> Values:
        return self.of((at, verdict) for at in places)

    def drawn(self, population: Population, drawn: Drawn, seed: int) -> dict[Key, Floats]:
        """Each figure's value in every draw; which of a cell's items pass is drawn too. Figures that some draw leaves
        without a value are left out."""
        generator = np.random.default_rng(seed)
        made = []
        for passes in drawn.passes:
            verdicts: list[tuple[int, bool]] = []
            for name, left, many in zip(population.names, population.left, passes.tolist(), strict=True):
                common = name.own is not False
                few = len(left) - many if common else many  # those that are not as the benchmark says
                other = generator.choice(len(left), few, replace=False) if few else ()
                if name.own is None:
                    verdicts += ((at, True) for at in left)
                verdicts += ((left[at], not common) for at in other)
            made.append(self.of(verdicts))
        return _in_every(made)

    def _row(self, at: int, verdict: bool) -> Scored:
        made = self._made.get((at, verdict))
        if made is None:
            made = self._made[at, verdict] = _said(self._after[at], self._own[at], verdict)
        return made


def answers_drawn(
    after: Sequence[Scored], figures: Figures, sampled: Sequence[Answers], draws: int, seed: int
) -> dict[Key, Floats]:
    """Each figure's value in every draw of the answers on these criteria."""
    made = []
    for found in zip(*(each.drawn(draws, seed) for each in sampled), strict=True):
        rows = list(after)
        for each, others in zip(sampled, found, strict=True):
            for at, value in others.items():
                rows[at] = answered(rows[at], each.criterion, value)
        made.append(values_of(figures(rows)))
    return _in_every(made)


def values_of(figures: Iterable[Figure]) -> dict[Key, float]:
    """Those that have a value."""
    return {one.key: float(one.value) for one in figures if one.value is not None}


def _in_every(draws: Sequence[Values]) -> dict[Key, Floats]:
    """Figures that every draw has a value of."""
    keys = [key for key in draws[0] if all(key in values for values in draws)] if draws else []
    return {key: np.array([values[key] for values in draws]) for key in keys}


def _said(row: Scored, own: bool | None, verdict: bool) -> Scored:
    """The row if people said this of the item, and nothing that they said of it as a whole before."""
    overruled = {question: value for question, value in row.overruled.items() if question != OWN}
    if verdict is not own:
        overruled[OWN] = verdict
    if row.valid is verdict and dict(row.overruled) == overruled:
        return row
    return replace(row, valid=verdict, overruled=overruled, error_type=None if verdict else row.error_type)
