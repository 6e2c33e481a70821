"""Every figure of a run as if all items were reviewed, with a 95 % interval where a random sample allows one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fcreview.estimate.allocation import Spread, needed, needed_of_all
from fcreview.estimate.answers import Answers
from fcreview.estimate.depends import Depends, Method
from fcreview.estimate.outcomes import Outcomes, answers_drawn
from fcreview.estimate.posterior import SEED, Drawn, Floats, drawn
from fcreview.estimate.run import Run
from fcreview.estimate.standing import Population, population
from fcreview.figures import Figure, Key, Unit

ESTIMATED: tuple[Unit, ...] = ("share", "percent", "score")
MIDDLE = (2.0, 98.0)
"""Percentiles of the draws that an interval lies between: a little more than 95 % of them, because Jeffreys' intervals
hold in fewer than 95 % of the samples at some rates (Brown, Cai and DasGupta 2001), and draws are finitely many."""
MIDDLE_UNEVEN = (1.5, 98.5)
"""The same of figures that weigh items of one category more than those of another: they rest on fewer of them. Both
were set by measuring, see docs/trust.md."""
POINTS: dict[Unit, float] = {"share": 0.01, "percent": 1.0}
"""A percentage point in the figure's own unit."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One figure, in its own unit."""

    table: str
    level: int
    name: str
    unit: Unit
    digits: int
    automatic: float | None
    """As the benchmark has it, without any review."""
    corrected: float | None
    """With an interval: what is expected of all items. Else with what people settled put in, and nothing more."""
    low: float | None
    high: float | None
    n_random: int
    """Items of random samples that were reviewed, of the categories that the figure is made of."""
    n_known: int
    """All items that people settled there, the random ones among them."""
    method: Method
    needed: int | None
    """Further items of a random sample until the interval is as narrow as was asked for; None: cannot be said."""
    criteria: tuple[str, ...] = ()
    """What it is made of, if not of whether items pass."""

    @property
    def key(self) -> Key:
        return self.table, self.level, self.name


@dataclass(frozen=True, slots=True)
class Draws:
    """What the unreviewed items of a run might be, and what that does to its figures."""

    outcomes: Outcomes
    population: Population
    drawn: Drawn
    values: Mapping[Key, Floats]

    def spreads(self, keys: Sequence[Key]) -> dict[Key, Spread]:
        """What the variance of each figure is made of."""
        weights = {key: np.zeros(len(self.population.names)) for key in keys}
        for at, left in enumerate(self.population.left):
            more, less = (self.outcomes.all_alike(left, verdict) for verdict in (True, False))
            for key, weight in weights.items():
                if left and key in more and key in less:
                    weight[at] = (more[key] - less[key]) / len(left)
        return {
            key: Spread(self.population.cells, self.drawn, weight, float(self.of(key, weight).var()))
            for key, weight in weights.items()
        }

    def of(self, key: Key, weight: Floats) -> Floats:
        """The figure's values, in the draws that are for figures that weigh cells so."""
        values = self.values[key]
        return values[: self.drawn.met] if self.even(weight) else values

    def interval(self, key: Key, weight: Floats) -> tuple[float, float]:
        """The ends of the figure's 95 % interval."""
        low, high = np.percentile(self.of(key, weight), MIDDLE if self.even(weight) else MIDDLE_UNEVEN)
        return float(low), float(high)

    def even(self, weight: Floats) -> bool:
        """Whether an item counts for as much in one category as in another."""
        there = [at for at, left in enumerate(self.population.left) if left]
        names = self.population.names
        kinds = {(names[at].part, names[at].own, names[at].stratum) for at in there}
        weighed = {(names[at].part, names[at].own, names[at].stratum, round(float(weight[at]), 12)) for at in there}
        return len(weighed) == len(kinds)


def draws_of(run: Run, seed: int = SEED) -> Draws | None:
    """None where nothing was reviewed as part of a random sample."""
    people = population(run.standings)
    if not people.n_random:
        return None
    outcomes = Outcomes(run.before, run.after, run.figures)
    made = drawn(people.cells, draws_for(len(run.after)), seed)
    return Draws(outcomes, people, made, outcomes.drawn(people, made, seed))


def draws_for(items: int) -> int:
    """As many as a few seconds allow; 400 place the ends of an interval to about a twelfth of its width."""
    return max(400, min(1000, 2_000_000 // max(items, 1)))


def estimates(run: Run, half_width: float, seed: int = SEED) -> Iterator[Estimate]:
    """One of every share, percentage and score among the run's figures. `half_width`: in percentage points, what
    `needed` is to reach."""
    draws = draws_of(run, seed)
    answers = [Answers(run.before, run.standings, asked) for asked in run.asked]
    depends = Depends(run, answers, sampled=draws is not None)
    before, after = ({one.key: one for one in run.figures(rows)} for rows in (run.before, run.after))
    methods = {key: depends.method(key) for key in before | after}
    spreads = {}
    if draws is not None:
        of_verdicts = [key for key in after if methods[key] == "posterior" and not depends.criteria(key)]
        spreads = draws.spreads([key for key in of_verdicts if key in draws.values])
    of_answers = {key for key in after if methods[key] == "posterior" and depends.criteria(key)}
    other = _of_answers(run, [each for each in answers if each.sampled], seed) if of_answers else {}
    for key, one in (before | after).items():
        if one.unit not in ESTIMATED:
            continue
        method, known = methods[key], after[key].value if key in after else None
        n_random, n_known, n_items = depends.counted(key)
        low, high, corrected, more = None, None, known, None
        if method == "all known" and known is not None:
            low, high, more = known, known, 0
        elif key in spreads and draws is not None:
            low, high = draws.interval(key, spreads[key].weight)
            corrected = float(draws.of(key, spreads[key].weight).mean())
            more = _needed(spreads[key], one, half_width)
        elif key in of_answers and key in other:
            values = other[key]
            low, high = map(float, np.percentile(values, MIDDLE_UNEVEN))
            corrected = float(values.mean())
            point = POINTS.get(one.unit)
            sizes = n_random, n_items - n_known
            more = None if point is None else needed_of_all(float(values.var()), *sizes, half_width * point)
        yield Estimate(
            table=one.table,
            level=one.level,
            name=one.name,
            unit=one.unit,
            digits=one.digits,
            automatic=before[key].value if key in before else None,
            corrected=corrected,
            low=low,
            high=high,
            n_random=n_random,
            n_known=n_known,
            method=method,
            needed=more,
            criteria=depends.criteria(key),
        )


def _of_answers(run: Run, sampled: Sequence[Answers], seed: int) -> Mapping[Key, Floats]:
    return answers_drawn(run.after, run.figures, sampled, draws_for(len(run.after)), seed)


def _needed(spread: Spread, figure: Figure, half_width: float) -> int | None:
    point = POINTS.get(figure.unit)
    return None if point is None else needed(spread, half_width * point)
