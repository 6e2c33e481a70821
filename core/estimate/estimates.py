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
from fcreview.figures import Key, Unit

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
    sampled = [key for key in after if methods[key] == "posterior"]
    of_verdicts = [key for key in sampled if draws and key in draws.values and not depends.criteria(key)]
    spreads = draws.spreads(of_verdicts) if draws else {}
    other: Mapping[Key, Floats] = {}
    if any(depends.criteria(key) for key in sampled):
        asked = [each for each in answers if each.sampled]
        other = answers_drawn(run.after, run.figures, asked, draws_for(len(run.after)), seed)
    for key, one in (before | after).items():
        if one.unit not in ESTIMATED:
            continue
        point, (n_random, n_known, n_items) = POINTS.get(one.unit), depends.counted(key)
        wanted = None if point is None else half_width * point
        known = after[key].value if key in after else None
        found = _Interval(known)
        if methods[key] == "all known":
            found = _Interval(known, known, known, 0)
        elif draws is not None and key in spreads:
            found = _of_verdicts(draws, key, spreads[key], wanted)
        elif methods[key] == "posterior" and key in other:
            found = _of_answers(other[key], n_random, n_items - n_known, wanted)
        yield Estimate(
            table=one.table,
            level=one.level,
            name=one.name,
            unit=one.unit,
            digits=one.digits,
            automatic=before[key].value if key in before else None,
            corrected=found.corrected,
            low=found.low,
            high=found.high,
            n_random=n_random,
            n_known=n_known,
            method=methods[key],
            needed=found.needed,
            criteria=depends.criteria(key),
        )


@dataclass(frozen=True, slots=True)
class _Interval:
    corrected: float | None
    low: float | None = None
    high: float | None = None
    needed: int | None = None


def _of_verdicts(draws: Draws, key: Key, spread: Spread, half_width: float | None) -> _Interval:
    more = None if half_width is None else needed(spread, half_width)
    return _Interval(float(draws.of(key, spread.weight).mean()), *draws.interval(key, spread.weight), more)


def _of_answers(values: Floats, n_random: int, left: int, half_width: float | None) -> _Interval:
    more = None if half_width is None else needed_of_all(float(values.var()), n_random, left, half_width)
    low, high = np.percentile(values, MIDDLE_UNEVEN)
    return _Interval(float(values.mean()), float(low), float(high), more)
