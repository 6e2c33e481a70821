"""What the estimates of a run are made of.

What a figure is made of: found by turning verdicts and other answers and looking what moves.

Every figure of a run as if all items were reviewed, with a 95 % interval where a random sample allows one.

How a sample goes on: which cells the next items come from, and how many, so that an interval shrinks most.

Runs whose figures are published together, as one: each has its own sample and cells, and each draw gives every run
its verdicts before the figures are made.

The share of items that pass, over all items of one run or several: what the queue's header shows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fcreview.model.metric import Figure, Key, Scored, Unit
from fcreview.stats.estimation_answers import (
    Answers,
    Asked,
    Figures,
    Outcomes,
    Values,
    answered,
    answers_drawn,
    drawable,
    ends,
    values_of,
)
from fcreview.stats.population import Population, Standing, cell_text, population
from fcreview.stats.posterior import SEED, Cells, Drawn, Floats, drawn
from fcreview.stats.sample_size import Spread, allocated, needed, needed_of_all


@dataclass(frozen=True, slots=True)
class Run:
    """A run's items, one entry an item in each list; or those of several runs, see `joined`."""

    before: Sequence[Scored]
    """As the benchmark says."""
    after: Sequence[Scored]
    """With what people settled."""
    standings: Sequence[Standing]
    figures: Figures
    asked: Sequence[Asked] = ()
    """What people said on other criteria than whether an item passes."""


Method = Literal["posterior", "all known", "known only", "not sampled", "not asked", "other verdicts"]
WHY: dict[Method, str] = {
    "posterior": "",
    "all known": "every item that it is made of was reviewed",
    "known only": "nothing was reviewed as part of a random sample",
    "not sampled": "some of its items could not be drawn by any sample",
    "not asked": "it is made of {criteria}, and people did not say that of all items of the sample that they reviewed",
    "other verdicts": "no verdict on a whole item moves it, only those on its calls and arguments, or none",
}
"""What stands where there is no interval."""
SAME = 1e-9
Place = tuple[int, str]
"""Which of several runs, and its category."""


def why(method: Method, criteria: Sequence[str] = ()) -> str:
    """In words, why there is no interval, or why it has no width; empty for one that was estimated."""
    return WHY[method].format(criteria=" and ".join(criteria))


def place(standing: Standing) -> Place:
    return standing.part, standing.category


class Depends:
    """Of a run's figures."""

    def __init__(self, run: Run, answers: Sequence[Answers], *, sampled: bool) -> None:
        """`sampled`: whether verdicts on items were given as part of a random sample."""
        self._run, self._sampled = run, sampled
        self._answers = {each.criterion: each for each in answers}
        self._moved = dict(self._by_verdicts())
        self._by_criterion: dict[str, dict[Place, set[Key]]] = {}
        for criterion in dict.fromkeys(name for row in run.before for name in row.values):
            moved = dict(self._by_answers(criterion))
            if any(moved.values()):
                self._by_criterion[criterion] = moved
        self._people = population(run.standings)

    def criteria(self, key: Key) -> tuple[str, ...]:
        """Other than whether items pass; none if it is made of that."""
        if self._places(self._moved, key):
            return ()
        return tuple(name for name, moved in self._by_criterion.items() if self._places(moved, key))

    def counted(self, key: Key) -> tuple[int, int, int]:
        """(of random samples, known, all) items of the categories that it is made of."""
        lists = [(self._run.standings, self._places(self._moved, key))]
        for name in self.criteria(key):
            asked = self._answers.get(name)
            standings = asked.standings if asked is not None else []
            lists.append((standings, self._places(self._by_criterion[name], key)))
        of = [[each for each in standings if place(each) in places] for standings, places in lists]
        numbers = [
            (sum(each.random for each in some), sum(each.settled is not None for each in some), len(some))
            for some in of
        ]
        return max(numbers)

    def method(self, key: Key) -> Method:
        places = self._places(self._moved, key)
        if places:
            return _method(places, self._run.standings, self._people, sampled=self._sampled)
        names = self.criteria(key)
        if not names:
            return "other verdicts"
        return next((each for name in names if (each := self._of_answers(name, key)) != "posterior"), "posterior")

    def _of_answers(self, name: str, key: Key) -> Method:
        places, asked = self._places(self._by_criterion[name], key), self._answers.get(name)
        if asked is None:
            return "not asked" if self._sampled else "known only"
        found = _method(places, asked.standings, asked.people, sampled=bool(asked.people.n_random))
        if found == "all known" or not (self._sampled or asked.people.n_random):
            return found
        return found if asked.sampled else "not asked"

    @staticmethod
    def _places(moved: Mapping[Place, set[Key]], key: Key) -> set[Place]:
        return {where for where, keys in moved.items() if key in keys}

    def _by_verdicts(self) -> Iterator[tuple[Place, set[Key]]]:
        outcomes = Outcomes(self._run.before, self._run.after, self._run.figures)
        there = (at for at, each in enumerate(self._run.standings) if each.own is not None or each.settled is not None)
        for where, at in self._grouped(there):
            yield where, _differing(outcomes.all_alike(at, True), outcomes.all_alike(at, False))

    def _by_answers(self, criterion: str) -> Iterator[tuple[Place, set[Key]]]:
        own = [row.values.get(criterion) for row in self._run.before]
        scale = drawable(criterion, own)
        if scale is None:
            return
        for where, places in self._grouped(at for at, value in enumerate(own) if value is not None):
            found = []
            for end in (0, 1):
                rows = list(self._run.after)
                for at in places:
                    rows[at] = answered(rows[at], criterion, ends(scale)[end])
                found.append(values_of(self._run.figures(rows)))
            yield where, _differing(*found)

    def _grouped(self, places: Iterable[int]) -> Iterator[tuple[Place, list[int]]]:
        groups: dict[Place, list[int]] = {}
        for at in places:
            groups.setdefault(place(self._run.standings[at]), []).append(at)
        yield from groups.items()


def _method(places: set[Place], standings: Sequence[Standing], people: Population, *, sampled: bool) -> Method:
    left = {place(standings[at]) for some in people.left for at in some}
    unsampled = {place(standings[at]) for at in people.unsampled}
    if not places & (left | unsampled):
        return "all known"
    if not sampled:
        return "known only"
    return "not sampled" if places & unsampled else "posterior"


def _differing(one: Values, other: Values) -> set[Key]:
    return {key for key in one.keys() | other.keys() if abs(one.get(key, -1.0) - other.get(key, -1.0)) > SAME}


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


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the sample is to reach."""

    key: Key
    half_width: float
    """In the figure's own unit."""
    sample: int
    """Which of the samples goes on: its place in every stratum."""
    waiting: Collection[int]
    """Places of its items that were drawn and are not reviewed yet: they come first, and are not drawn again."""
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A stratum of the extension."""

    name: str
    places: list[int]
    """Items that it can be drawn from, each as likely as any other."""
    many: int


def extension(draws: Draws, wanted: Wanted) -> list[Part]:
    """Strata by automatic verdict and the sample's own, and by category where the figure weighs categories differently.
    None if it is narrow enough once what waits is reviewed; all that is left if it never will be."""
    spread = draws.spreads([wanted.key])[wanted.key]
    names = draws.population.names
    own = [at for at, name in enumerate(names) if name.stratum[wanted.sample] is not None]
    finely = not draws.even(spread.weight)
    groups: dict[str, list[int]] = {}
    for at in own:
        stratum = names[at].stratum[wanted.sample] or ""
        text = cell_text(stratum, names[at].own, names[at].category if finely else None)
        groups.setdefault(text, []).append(at)
    waiting = set(wanted.waiting)
    together = _together(spread, list(groups.values()))
    places = [[place for at in group for place in draws.population.left[at]] for group in groups.values()]
    free = [[place for place in some if place not in waiting] for some in places]
    ahead = np.array([len(some) - len(rest) for some, rest in zip(places, free, strict=True)], dtype=np.int64)
    later = _reviewed(together, ahead)
    many = needed(later, wanted.half_width)
    size = sum(map(len, free)) if many is None else many
    parts = allocated(later, size if wanted.most is None else min(size, wanted.most)) if size else np.zeros_like(ahead)
    return [Part(text, rest, int(each)) for text, rest, each in zip(groups, free, parts, strict=True) if each]


def _together(spread: Spread, groups: list[list[int]]) -> Spread:
    """Of cells that are drawn from as one."""
    cells = spread.cells
    merged = Cells(
        pool=np.array([cells.pool[group[0]] for group in groups], dtype=np.int64),
        reviewed=np.array([cells.reviewed[group].sum() for group in groups], dtype=np.int64),
        passed=np.array([cells.passed[group].sum() for group in groups], dtype=np.int64),
        left=np.array([cells.left[group].sum() for group in groups], dtype=np.int64),
        fraction=np.ones(len(groups)),
    )
    weight = [float(np.average(spread.weight[group], weights=cells.left[group] + 1e-9)) for group in groups]
    return Spread(merged, drawn(merged), np.array(weight), spread.variance)


def _reviewed(spread: Spread, ahead: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Spread:
    """As it is once the items that wait are reviewed and pass as often as the others."""
    cells = spread.cells
    then = Cells(
        cells.pool,
        cells.reviewed + ahead,
        cells.passed + np.rint(ahead * spread.drawn.rate).astype(np.int64),
        cells.left - ahead,
        cells.fraction,
    )
    before, after = (float(spread.cells_variance(some).sum()) for some in (cells, then))
    variance = spread.variance * (after / before if before > 0 else 1.0)
    return Spread(then, spread.drawn, spread.weight, variance)


def joined(parts: Sequence[Run], figures: Callable[[Sequence[Sequence[Scored]]], Sequence[Figure]]) -> Run:
    """`figures`: of the items of each part, in their order. Cells of two parts never lean on each other."""
    ends = [sum(len(part.after) for part in parts[: at + 1]) for at in range(len(parts))]

    def of(rows: Sequence[Scored]) -> Sequence[Figure]:
        return figures([rows[end - len(part.after) : end] for end, part in zip(ends, parts, strict=True)])

    return Run(
        [row for part in parts for row in part.before],
        [row for part in parts for row in part.after],
        [replace(each, part=at) for at, part in enumerate(parts) for each in part.standings],
        of,
    )


@dataclass(frozen=True, slots=True)
class Share:
    """0 to 1."""

    corrected: float
    low: float
    high: float
    needed: int | None
    """Further items of a random sample until the interval is as narrow as was asked for."""


def share(standings: Sequence[Standing], half_width: float, seed: int = SEED) -> Share | None:
    """None without a random sample, and where some items could not be drawn by one. `half_width`: 0 to 1."""
    people = population(standings)
    if not people.n_random or people.unsampled:
        return None
    judged = [each for each in standings if each.settled is not None]
    made = drawn(people.cells, seed=seed)
    n = len(judged) + int(people.cells.left.sum())
    values = (sum(each.settled is True for each in judged) + made.passes[: made.met].sum(axis=1)) / n
    low, high = map(float, np.percentile(values, MIDDLE))
    spread = Spread(people.cells, made, np.full(len(people.cells), 1 / n), float(values.var()))
    return Share(float(values.mean()), low, high, needed(spread, half_width))
