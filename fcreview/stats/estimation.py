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

from fcreview.model.metric import Metric, MetricKey, MetricUnit, ScoredItem
from fcreview.stats.estimation_answers import (
    AnswerModel,
    CriterionAnswers,
    MetricCalculator,
    MetricFunction,
    MetricValues,
    draw_answer_metrics,
    find_answer_scale,
    metric_values,
    scale_ends,
    with_answer,
)
from fcreview.stats.population import ItemStatus, Population, build_population, format_stratum_name
from fcreview.stats.posterior import SEED, Cells, FloatArray, PosteriorDraws, draw_posterior
from fcreview.stats.sample_size import (
    VarianceModel,
    allocate_reviews,
    count_needed_reviews,
    count_needed_uniform_reviews,
)


@dataclass(frozen=True, slots=True)
class EstimationInput:
    """A run's items, one entry an item in each list; or those of several runs, see `joined`."""

    automatic_items: Sequence[ScoredItem]
    """As the benchmark says."""
    reviewed_items: Sequence[ScoredItem]
    """With what people settled."""
    statuses: Sequence[ItemStatus]
    compute_metrics: MetricFunction
    criterion_answers: Sequence[CriterionAnswers] = ()
    """What people said on other criteria than whether an item passes."""


EstimationMethod = Literal["posterior", "all known", "known only", "not sampled", "not asked", "other verdicts"]
METHOD_REASONS: dict[EstimationMethod, str] = {
    "posterior": "",
    "all known": "every item that it is made of was reviewed",
    "known only": "nothing was reviewed as part of a random sample",
    "not sampled": "some of its items could not be drawn by any sample",
    "not asked": "it is made of {criteria}, and people did not say that of all items of the sample that they reviewed",
    "other verdicts": "no verdict on a whole item moves it, only those on its calls and arguments, or none",
}
"""What stands where there is no interval."""
CHANGE_TOLERANCE = 1e-9
RunCategory = tuple[int, str]
"""Which of several runs, and its category."""


def explain_method(method: EstimationMethod, criteria: Sequence[str] = ()) -> str:
    """In words, why there is no interval, or why it has no width; empty for one that was estimated."""
    return METHOD_REASONS[method].format(criteria=" and ".join(criteria))


def run_category(standing: ItemStatus) -> RunCategory:
    return standing.run_index, standing.category


class MetricDependencies:
    """Of a run's figures."""

    def __init__(self, run: EstimationInput, answers: Sequence[AnswerModel], *, sampled: bool) -> None:
        """`sampled`: whether verdicts on items were given as part of a random sample."""
        self._run, self._sampled = run, sampled
        self._answers = {each.criterion: each for each in answers}
        self._moved = dict(self._by_verdicts())
        self._by_criterion: dict[str, dict[RunCategory, set[MetricKey]]] = {}
        for criterion in dict.fromkeys(name for row in run.automatic_items for name in row.values):
            moved = dict(self._by_answers(criterion))
            if any(moved.values()):
                self._by_criterion[criterion] = moved
        self._people = build_population(run.statuses)

    def criteria(self, key: MetricKey) -> tuple[str, ...]:
        """Other than whether items pass; none if it is made of that."""
        if self._places(self._moved, key):
            return ()
        return tuple(name for name, moved in self._by_criterion.items() if self._places(moved, key))

    def count_items(self, key: MetricKey) -> tuple[int, int, int]:
        """(of random samples, known, all) items of the categories that it is made of."""
        lists = [(self._run.statuses, self._places(self._moved, key))]
        for name in self.criteria(key):
            asked = self._answers.get(name)
            standings = asked.statuses if asked is not None else []
            lists.append((standings, self._places(self._by_criterion[name], key)))
        of = [[each for each in standings if run_category(each) in places] for standings, places in lists]
        numbers = [
            (sum(each.is_random for each in some), sum(each.human is not None for each in some), len(some))
            for some in of
        ]
        return max(numbers)

    def method(self, key: MetricKey) -> EstimationMethod:
        places = self._places(self._moved, key)
        if places:
            return _method(places, self._run.statuses, self._people, sampled=self._sampled)
        names = self.criteria(key)
        if not names:
            return "other verdicts"
        return next((each for name in names if (each := self._of_answers(name, key)) != "posterior"), "posterior")

    def _of_answers(self, name: str, key: MetricKey) -> EstimationMethod:
        places, asked = self._places(self._by_criterion[name], key), self._answers.get(name)
        if asked is None:
            return "not asked" if self._sampled else "known only"
        found = _method(places, asked.statuses, asked.population, sampled=bool(asked.population.n_random))
        if found == "all known" or not (self._sampled or asked.population.n_random):
            return found
        return found if asked.is_sampled else "not asked"

    @staticmethod
    def _places(moved: Mapping[RunCategory, set[MetricKey]], key: MetricKey) -> set[RunCategory]:
        return {where for where, keys in moved.items() if key in keys}

    def _by_verdicts(self) -> Iterator[tuple[RunCategory, set[MetricKey]]]:
        outcomes = MetricCalculator(self._run.automatic_items, self._run.reviewed_items, self._run.compute_metrics)
        there = (
            at for at, each in enumerate(self._run.statuses) if each.automatic is not None or each.human is not None
        )
        for where, at in self._grouped(there):
            yield where, _differing(outcomes.with_same_verdict(at, True), outcomes.with_same_verdict(at, False))

    def _by_answers(self, criterion: str) -> Iterator[tuple[RunCategory, set[MetricKey]]]:
        own = [row.values.get(criterion) for row in self._run.automatic_items]
        scale = find_answer_scale(criterion, own)
        if scale is None:
            return
        for where, places in self._grouped(at for at, value in enumerate(own) if value is not None):
            found = []
            for end in (0, 1):
                rows = list(self._run.reviewed_items)
                for at in places:
                    rows[at] = with_answer(rows[at], criterion, scale_ends(scale)[end])
                found.append(metric_values(self._run.compute_metrics(rows)))
            yield where, _differing(*found)

    def _grouped(self, places: Iterable[int]) -> Iterator[tuple[RunCategory, list[int]]]:
        groups: dict[RunCategory, list[int]] = {}
        for at in places:
            groups.setdefault(run_category(self._run.statuses[at]), []).append(at)
        yield from groups.items()


def _method(
    places: set[RunCategory], standings: Sequence[ItemStatus], people: Population, *, sampled: bool
) -> EstimationMethod:
    left = {run_category(standings[at]) for some in people.unreviewed for at in some}
    unsampled = {run_category(standings[at]) for at in people.unsampled}
    if not places & (left | unsampled):
        return "all known"
    if not sampled:
        return "known only"
    return "not sampled" if places & unsampled else "posterior"


def _differing(one: MetricValues, other: MetricValues) -> set[MetricKey]:
    return {
        key for key in one.keys() | other.keys() if abs(one.get(key, -1.0) - other.get(key, -1.0)) > CHANGE_TOLERANCE
    }


ESTIMATED_UNITS: tuple[MetricUnit, ...] = ("share", "percent", "score")
INTERVAL_PERCENTILES = (2.0, 98.0)
"""Percentiles of the draws that an interval lies between: a little more than 95 % of them, because Jeffreys' intervals
hold in fewer than 95 % of the samples at some rates (Brown, Cai and DasGupta 2001), and draws are finitely many."""
UNEVEN_INTERVAL_PERCENTILES = (1.5, 98.5)
"""The same of figures that weigh items of one category more than those of another: they rest on fewer of them. Both
were set by measuring, see docs/trust.md."""
PERCENTAGE_POINT: dict[MetricUnit, float] = {"share": 0.01, "percent": 1.0}
"""A percentage point in the figure's own unit."""


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """One figure, in its own unit."""

    table: str
    level: int
    name: str
    unit: MetricUnit
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
    method: EstimationMethod
    needed: int | None
    """Further items of a random sample until the interval is as narrow as was asked for; None: cannot be said."""
    criteria: tuple[str, ...] = ()
    """What it is made of, if not of whether items pass."""

    @property
    def key(self) -> MetricKey:
        return self.table, self.level, self.name


@dataclass(frozen=True, slots=True)
class MetricDraws:
    """What the unreviewed items of a run might be, and what that does to its figures."""

    calculator: MetricCalculator
    population: Population
    posterior: PosteriorDraws
    values: Mapping[MetricKey, FloatArray]

    def variance_models(self, keys: Sequence[MetricKey]) -> dict[MetricKey, VarianceModel]:
        """What the variance of each figure is made of."""
        weights = {key: np.zeros(len(self.population.cell_keys)) for key in keys}
        for at, left in enumerate(self.population.unreviewed):
            more, less = (self.calculator.with_same_verdict(left, verdict) for verdict in (True, False))
            for key, weight in weights.items():
                if left and key in more and key in less:
                    weight[at] = (more[key] - less[key]) / len(left)
        return {
            key: VarianceModel(
                self.population.cells, self.posterior, weight, float(self.select_values(key, weight).var())
            )
            for key, weight in weights.items()
        }

    def select_values(self, key: MetricKey, weight: FloatArray) -> FloatArray:
        """The figure's values, in the draws that are for figures that weigh cells so."""
        values = self.values[key]
        return values[: self.posterior.n_pooled] if self.is_evenly_weighted(weight) else values

    def interval(self, key: MetricKey, weight: FloatArray) -> tuple[float, float]:
        """The ends of the figure's 95 % interval."""
        low, high = np.percentile(
            self.select_values(key, weight),
            INTERVAL_PERCENTILES if self.is_evenly_weighted(weight) else UNEVEN_INTERVAL_PERCENTILES,
        )
        return float(low), float(high)

    def is_evenly_weighted(self, weight: FloatArray) -> bool:
        """Whether an item counts for as much in one category as in another."""
        there = [at for at, left in enumerate(self.population.unreviewed) if left]
        names = self.population.cell_keys
        kinds = {(names[at].run_index, names[at].automatic, names[at].stratum) for at in there}
        weighed = {
            (names[at].run_index, names[at].automatic, names[at].stratum, round(float(weight[at]), 12)) for at in there
        }
        return len(weighed) == len(kinds)


def draw_metrics(run: EstimationInput, seed: int = SEED) -> MetricDraws | None:
    """None where nothing was reviewed as part of a random sample."""
    people = build_population(run.statuses)
    if not people.n_random:
        return None
    outcomes = MetricCalculator(run.automatic_items, run.reviewed_items, run.compute_metrics)
    made = draw_posterior(people.cells, choose_n_draws(len(run.reviewed_items)), seed)
    return MetricDraws(outcomes, people, made, outcomes.compute_draws(people, made, seed))


def choose_n_draws(items: int) -> int:
    """As many as a few seconds allow; 400 place the ends of an interval to about a twelfth of its width."""
    return max(400, min(1000, 2_000_000 // max(items, 1)))


def estimate_metrics(run: EstimationInput, half_width: float, seed: int = SEED) -> Iterator[MetricEstimate]:
    """One of every share, percentage and score among the run's figures. `half_width`: in percentage points, what
    `needed` is to reach."""
    draws = draw_metrics(run, seed)
    answers = [AnswerModel(run.automatic_items, run.statuses, asked) for asked in run.criterion_answers]
    depends = MetricDependencies(run, answers, sampled=draws is not None)
    before, after = (
        {one.key: one for one in run.compute_metrics(rows)} for rows in (run.automatic_items, run.reviewed_items)
    )
    methods = {key: depends.method(key) for key in before | after}
    sampled = [key for key in after if methods[key] == "posterior"]
    of_verdicts = [key for key in sampled if draws and key in draws.values and not depends.criteria(key)]
    spreads = draws.variance_models(of_verdicts) if draws else {}
    other: Mapping[MetricKey, FloatArray] = {}
    if any(depends.criteria(key) for key in sampled):
        asked = [each for each in answers if each.is_sampled]
        other = draw_answer_metrics(
            run.reviewed_items, run.compute_metrics, asked, choose_n_draws(len(run.reviewed_items)), seed
        )
    for key, one in (before | after).items():
        if one.unit not in ESTIMATED_UNITS:
            continue
        point, (n_random, n_known, n_items) = PERCENTAGE_POINT.get(one.unit), depends.count_items(key)
        wanted = None if point is None else half_width * point
        known = after[key].value if key in after else None
        found = _Interval(known)
        if methods[key] == "all known":
            found = _Interval(known, known, known, 0)
        elif draws is not None and key in spreads:
            found = _of_verdicts(draws, key, spreads[key], wanted)
        elif methods[key] == "posterior" and key in other:
            found = _of_answers(other[key], n_random, n_items - n_known, wanted)
        yield MetricEstimate(
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


def _of_verdicts(draws: MetricDraws, key: MetricKey, spread: VarianceModel, half_width: float | None) -> _Interval:
    more = None if half_width is None else count_needed_reviews(spread, half_width)
    return _Interval(float(draws.select_values(key, spread.weights).mean()), *draws.interval(key, spread.weights), more)


def _of_answers(values: FloatArray, n_random: int, left: int, half_width: float | None) -> _Interval:
    more = None if half_width is None else count_needed_uniform_reviews(float(values.var()), n_random, left, half_width)
    low, high = np.percentile(values, UNEVEN_INTERVAL_PERCENTILES)
    return _Interval(float(values.mean()), float(low), float(high), more)


@dataclass(frozen=True, slots=True)
class ExtensionGoal:
    """What the sample is to reach."""

    key: MetricKey
    half_width: float
    """In the figure's own unit."""
    sample_index: int
    """Which of the samples goes on: its place in every stratum."""
    pending: Collection[int]
    """Places of its items that were drawn and are not reviewed yet: they come first, and are not drawn again."""
    max_items: int | None = None


@dataclass(frozen=True, slots=True)
class ExtensionStratum:
    """A stratum of the extension."""

    name: str
    candidates: list[int]
    """Items that it can be drawn from, each as likely as any other."""
    n_to_draw: int


def plan_extension(draws: MetricDraws, wanted: ExtensionGoal) -> list[ExtensionStratum]:
    """Strata by automatic verdict and the sample's own, and by category where the figure weighs categories differently.
    None if it is narrow enough once what waits is reviewed; all that is left if it never will be."""
    spread = draws.variance_models([wanted.key])[wanted.key]
    names = draws.population.cell_keys
    own = [at for at, name in enumerate(names) if name.stratum[wanted.sample_index] is not None]
    finely = not draws.is_evenly_weighted(spread.weights)
    groups: dict[str, list[int]] = {}
    for at in own:
        stratum = names[at].stratum[wanted.sample_index] or ""
        text = format_stratum_name(stratum, names[at].automatic, names[at].category if finely else None)
        groups.setdefault(text, []).append(at)
    waiting = set(wanted.pending)
    together = _together(spread, list(groups.values()))
    places = [[place for at in group for place in draws.population.unreviewed[at]] for group in groups.values()]
    free = [[place for place in some if place not in waiting] for some in places]
    ahead = np.array([len(some) - len(rest) for some, rest in zip(places, free, strict=True)], dtype=np.int64)
    later = _reviewed(together, ahead)
    many = count_needed_reviews(later, wanted.half_width)
    size = sum(map(len, free)) if many is None else many
    parts = (
        allocate_reviews(later, size if wanted.max_items is None else min(size, wanted.max_items))
        if size
        else np.zeros_like(ahead)
    )
    return [
        ExtensionStratum(text, rest, int(each)) for text, rest, each in zip(groups, free, parts, strict=True) if each
    ]


def _together(spread: VarianceModel, groups: list[list[int]]) -> VarianceModel:
    """Of cells that are drawn from as one."""
    cells = spread.cells
    merged = Cells(
        pool=np.array([cells.pool[group[0]] for group in groups], dtype=np.int64),
        reviewed=np.array([cells.reviewed[group].sum() for group in groups], dtype=np.int64),
        passed=np.array([cells.passed[group].sum() for group in groups], dtype=np.int64),
        unreviewed=np.array([cells.unreviewed[group].sum() for group in groups], dtype=np.int64),
        inclusion_probability=np.ones(len(groups)),
    )
    weight = [float(np.average(spread.weights[group], weights=cells.unreviewed[group] + 1e-9)) for group in groups]
    return VarianceModel(merged, draw_posterior(merged), np.array(weight), spread.variance)


def _reviewed(spread: VarianceModel, ahead: np.ndarray[tuple[int], np.dtype[np.int64]]) -> VarianceModel:
    """As it is once the items that wait are reviewed and pass as often as the others."""
    cells = spread.cells
    then = Cells(
        cells.pool,
        cells.reviewed + ahead,
        cells.passed + np.rint(ahead * spread.posterior.mean_rate).astype(np.int64),
        cells.unreviewed - ahead,
        cells.inclusion_probability,
    )
    before, after = (float(spread.cell_variances(some).sum()) for some in (cells, then))
    variance = spread.variance * (after / before if before > 0 else 1.0)
    return VarianceModel(then, spread.posterior, spread.weights, variance)


def combine_runs(
    parts: Sequence[EstimationInput], figures: Callable[[Sequence[Sequence[ScoredItem]]], Sequence[Metric]]
) -> EstimationInput:
    """`figures`: of the items of each part, in their order. Cells of two parts never lean on each other."""
    ends = [sum(len(part.reviewed_items) for part in parts[: at + 1]) for at in range(len(parts))]

    def of(rows: Sequence[ScoredItem]) -> Sequence[Metric]:
        return figures([rows[end - len(part.reviewed_items) : end] for end, part in zip(ends, parts, strict=True)])

    return EstimationInput(
        [row for part in parts for row in part.automatic_items],
        [row for part in parts for row in part.reviewed_items],
        [replace(each, run_index=at) for at, part in enumerate(parts) for each in part.statuses],
        of,
    )


@dataclass(frozen=True, slots=True)
class PassRateEstimate:
    """0 to 1."""

    corrected: float
    low: float
    high: float
    needed: int | None
    """Further items of a random sample until the interval is as narrow as was asked for."""


def estimate_pass_rate(standings: Sequence[ItemStatus], half_width: float, seed: int = SEED) -> PassRateEstimate | None:
    """None without a random sample, and where some items could not be drawn by one. `half_width`: 0 to 1."""
    people = build_population(standings)
    if not people.n_random or people.unsampled:
        return None
    judged = [each for each in standings if each.human is not None]
    made = draw_posterior(people.cells, seed=seed)
    n = len(judged) + int(people.cells.unreviewed.sum())
    values = (sum(each.human is True for each in judged) + made.passes[: made.n_pooled].sum(axis=1)) / n
    low, high = map(float, np.percentile(values, INTERVAL_PERCENTILES))
    spread = VarianceModel(people.cells, made, np.full(len(people.cells), 1 / n), float(values.var()))
    return PassRateEstimate(float(values.mean()), low, high, count_needed_reviews(spread, half_width))
