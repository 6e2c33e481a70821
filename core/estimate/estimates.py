"""Every figure of a run as if all items were reviewed, with a 95 % interval where a random sample allows one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fcreview.estimate.allocation import Spread, needed
from fcreview.estimate.outcomes import Figures, Outcomes, Values
from fcreview.estimate.posterior import SEED, Drawn, Floats, drawn
from fcreview.estimate.standing import Population, Standing, population
from fcreview.figures import Figure, Key, Scored, Unit

Method = Literal["posterior", "all known", "known only", "not sampled", "other verdicts"]
WHY: dict[Method, str] = {
    "posterior": "",
    "all known": "every item that it is made of was reviewed",
    "known only": "nothing was reviewed as part of a random sample",
    "not sampled": "some of its items could not be drawn by any sample",
    "other verdicts": "it is not made of verdicts on items",
}
"""What stands where there is no interval."""
ESTIMATED: tuple[Unit, ...] = ("share", "percent", "score")
MIDDLE = (2.0, 98.0)
"""Percentiles of the draws that an interval lies between: a little more than 95 % of them, because Jeffreys' intervals
hold in fewer than 95 % of the samples at some rates (Brown, Cai and DasGupta 2001), and draws are finitely many."""
MIDDLE_UNEVEN = (1.5, 98.5)
"""The same of figures that weigh items of one category more than those of another: they rest on fewer of them. Both
were set by measuring, see docs/trust.md."""
SAME = 1e-9
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

    @property
    def key(self) -> Key:
        return self.table, self.level, self.name


@dataclass(frozen=True, slots=True)
class Run:
    """A run's items, one entry an item in each list; or those of several runs, see `joined`."""

    before: Sequence[Scored]
    after: Sequence[Scored]
    standings: Sequence[Standing]
    figures: Figures


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
    before, after = ({one.key: one for one in run.figures(rows)} for rows in (run.before, run.after))
    depends = _Depends(run)
    sampled = [key for key in after if draws and depends.method(key, draws) == "posterior" and key in draws.values]
    spreads = draws.spreads(sampled) if draws else {}
    for key, one in (before | after).items():
        if one.unit not in ESTIMATED:
            continue
        there = key in spreads and draws is not None
        values = draws.of(key, spreads[key].weight) if there and draws is not None else None
        known = after[key].value if key in after else None
        low, high = (None, None) if draws is None or values is None else draws.interval(key, spreads[key].weight)
        method = depends.method(key, draws)
        if method == "all known" and known is not None:
            low = high = known
        categories = depends.categories(key)
        yield Estimate(
            table=one.table,
            level=one.level,
            name=one.name,
            unit=one.unit,
            digits=one.digits,
            automatic=before[key].value if key in before else None,
            corrected=known if values is None else float(values.mean()),
            low=low,
            high=high,
            n_random=sum(each.random for each in run.standings if _place(each) in categories),
            n_known=sum(each.settled is not None for each in run.standings if _place(each) in categories),
            method=method,
            needed=0 if method == "all known" else _needed(spreads.get(key), one, half_width),
        )


def _needed(spread: Spread | None, figure: Figure, half_width: float) -> int | None:
    point = POINTS.get(figure.unit)
    return None if spread is None or point is None else needed(spread, half_width * point)


Place = tuple[int, str]
"""Which of several runs, and its category."""


def _place(standing: Standing) -> Place:
    return standing.part, standing.category


class _Depends:
    """Which items a figure is made of: found by turning their verdicts and looking what moves."""

    def __init__(self, run: Run) -> None:
        outcomes = Outcomes(run.before, run.after, run.figures)
        places: dict[Place, list[int]] = {}
        for at, each in enumerate(run.standings):
            if each.own is not None or each.settled is not None:
                places.setdefault(_place(each), []).append(at)
        self._moved: dict[Place, set[Key]] = {
            category: _differing(outcomes.all_alike(at, True), outcomes.all_alike(at, False))
            for category, at in places.items()
        }
        people = population(run.standings)
        self._left = {_place(run.standings[at]) for left in people.left for at in left}
        self._unsampled = {_place(run.standings[at]) for at in people.unsampled}

    def categories(self, key: Key) -> set[Place]:
        return {category for category, moved in self._moved.items() if key in moved}

    def method(self, key: Key, draws: Draws | None) -> Method:
        categories = self.categories(key)
        if not categories:
            return "other verdicts"
        if not categories & (self._left | self._unsampled):
            return "all known"
        if draws is None:
            return "known only"
        return "not sampled" if categories & self._unsampled else "posterior"


def _differing(one: Values, other: Values) -> set[Key]:
    return {key for key in one.keys() | other.keys() if abs(one.get(key, -1.0) - other.get(key, -1.0)) > SAME}
