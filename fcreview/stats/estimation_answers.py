"""Other answers than pass and fail, of unreviewed items: CONFETTI's soft score, scores of 0 to 2, labels, names that
are counted.

An item's own answer stands, or people give another. Whether it stands is drawn as verdicts are (`posterior`); items
with answers of a kind are a pool, and their cells are told apart by what the rest of their chain says. What it is
otherwise is drawn from the other answers that people gave to items of the kind, as a Bayesian bootstrap (Rubin 1981)
with one answer more as its prior (a Dirichlet process: Ferguson 1973). That is spread over what people said of items
of other kinds, and a little over the whole scale. So an answer that nobody gave may come, the first few that were given
are not all there is, and what is wrong is not taken for half right where nobody has seen any of it yet.

Figures of what the unreviewed items might be: drawn verdicts, put through the benchmark's own figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.metric import Metric, MetricKey, ScoredItem, chain_id
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import SCALES, Scale, decides, find_scale, same_verdict
from fcreview.stats.population import AutomaticOutcome, ItemStatus, Population, build_population
from fcreview.stats.posterior import SEED, FloatArray, IntArray, PosteriorDraws, draw_posterior

PRIOR_ANSWERS = 1.0
"""Answers that the prior counts for."""
PRIOR_ATOMS = 12
"""Among as many points it is spread."""
_LEAST = 1e-300
PLACEHOLDER_NAME = "·"
"""Stands for a name: only how many there are counts."""


@dataclass(frozen=True, slots=True)
class CriterionAnswers:
    """What people say on one criterion of items as a whole; an entry an item in each list."""

    criterion: str
    human: Sequence[Any]
    """None: nobody said anything, or they differ."""
    is_reviewed: Sequence[bool]
    """Whether anybody said anything, settled or not."""
    is_random: Sequence[bool]
    """Settled as an item of a random sample."""
    is_selection_unknown: Sequence[bool]
    """See `Standing.spoken_for`."""


class AnswerModel:
    """One criterion's, of a run's items."""

    def __init__(self, before: Sequence[ScoredItem], standings: Sequence[ItemStatus], asked: CriterionAnswers) -> None:
        self.criterion = asked.criterion
        self.automatic = [row.values.get(asked.criterion) for row in before]
        self.scale = scale = find_answer_scale(asked.criterion, self.automatic)
        self.human_answers = asked
        known = [None if own is None or scale is None else answer_kind(own, scale) for own in self.automatic]
        self.statuses = [
            replace(
                each,
                automatic=of,
                context=context,
                # extensions draw by verdict: not all of a kind were as likely to be drawn
                stratum=None if each.stratum is None else (*each.stratum, f"{each.inclusion_probability:.6f}"),
                human=None if of is None or said is None else same_verdict(said, own),
                is_random=of is not None and asked.is_random[at],
                is_selection_unknown=of is not None and asked.is_selection_unknown[at],
            )
            for at, (each, of, own, said, context) in enumerate(
                zip(standings, known, self.automatic, asked.human, chain_contexts(before, self.automatic), strict=True)
            )
        ]
        self.n_unanswered = sum(
            each.is_sample_reviewed and of is not None and not said
            for each, of, said in zip(standings, known, asked.is_reviewed, strict=True)
        )
        """Items of a sample that were reviewed, but not on this: those that were may have been chosen."""
        self.population: Population = build_population(self.statuses)

    @property
    def is_sampled(self) -> bool:
        return self.scale is not None and bool(self.population.n_random) and not self.n_unanswered

    def iter_draws(self, draws: int, seed: int = SEED) -> Iterator[Mapping[int, Any]]:
        """Of each draw the places of items whose own answer does not stand, and the one that does."""
        generator = np.random.default_rng([seed, len(self.criterion)])
        made: PosteriorDraws = draw_posterior(self.population.cells, draws, seed)
        passes = made.passes[: made.n_pooled]
        kinds = {
            each.automatic: own
            for each, own in zip(self.statuses, self.automatic, strict=True)
            if each.automatic is not None
        }
        pools: dict[AutomaticOutcome, _Pool] = {
            of: self._pool(of, own, len(passes), generator) for of, own in kinds.items()
        }
        cells = []
        for at, (name, left) in enumerate(zip(self.population.cell_keys, self.population.unreviewed, strict=True)):
            few = len(left) - passes[:, at]
            most = int(few.max(initial=0))
            which = pools[name.automatic].drawn(most, generator)
            order = np.argsort(generator.random((len(passes), len(left))), axis=1)[:, :most]
            cells.append((name.automatic, np.asarray(left, dtype=np.int64)[order], which, few))
        for draw in range(len(passes)):
            found: dict[int, Any] = {}
            for own, places, which, few in cells:
                many, value = few[draw], pools[own].value
                chosen = zip(places[draw, :many].tolist(), which[draw, :many].tolist(), strict=True)
                found.update((place, value(draw, number)) for place, number in chosen)
            yield found

    def _others(self, of: Any) -> list[Any]:
        """What people said of sampled items of the kind whose own answer does not stand."""
        return [
            said
            for said, each in zip(self.human_answers.human, self.statuses, strict=True)
            if each.is_random and each.automatic == of and each.human is False
        ]

    def _elsewhere(self, of: Any) -> list[Any]:
        """What people said of sampled items of other kinds, if that would be another answer here."""
        scale = self.scale or Scale()
        return [
            said
            for said, each in zip(self.human_answers.human, self.statuses, strict=True)
            if each.is_random and each.automatic != of and answer_kind(said, scale) != of
        ]

    def _pool(self, of: Any, own: Any, draws: int, generator: np.random.Generator) -> _Pool:
        given, elsewhere, many = self._others(of), self._elsewhere(of), draws * PRIOR_ATOMS
        further = _further(own, self.scale or Scale(), many, generator)
        among = generator.integers(len(elsewhere) + 1, size=many).tolist()  # one of them is the whole scale
        further = [elsewhere[at] if at < len(elsewhere) else value for at, value in zip(among, further, strict=True)]
        shape = np.concatenate([np.ones(len(given)), np.full(PRIOR_ATOMS, PRIOR_ANSWERS / PRIOR_ATOMS)])
        weights = generator.gamma(shape, size=(draws, len(shape)))
        weights[:, -1] += _LEAST  # gammas of small shape may all be 0
        return _Pool(given, further, np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1))


@dataclass(frozen=True, slots=True)
class _Pool:
    """The other answers to items of a kind."""

    given: Sequence[Any]
    further: Sequence[Any]
    """ATOMS of each draw."""
    ends_at: FloatArray
    """(draws, answers): where the part of each ends between 0 and 1."""

    def drawn(self, many: int, generator: np.random.Generator) -> IntArray:
        """(draws, many): numbers of answers."""
        draws, width = self.ends_at.shape
        row = np.arange(draws)[:, np.newaxis]
        found = np.searchsorted((self.ends_at + row).ravel(), (generator.random((draws, many)) + row).ravel(), "right")
        numbers: IntArray = np.clip(found.reshape(draws, many) - row * width, 0, width - 1)
        return numbers

    def value(self, draw: int, number: int) -> Any:
        beyond = number - len(self.given)
        return self.given[number] if beyond < 0 else self.further[draw * PRIOR_ATOMS + beyond]


def chain_contexts(rows: Sequence[ScoredItem], own: Sequence[Any]) -> list[str]:
    """Of each item what the others of its chain say, empty without any. Errors are not spread evenly: people find a
    wrong 0 more often where the rest of the chain is right, and there it decides what the product is."""
    chains: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        if (chain := chain_id(row)) is not None and isinstance(own[at], (int, float)):
            chains.setdefault(chain, []).append(at)
    found = [""] * len(rows)
    for places in chains.values():
        for at in places:
            others = [own[other] for other in places if other != at]
            if others:
                found[at] = "others count" if all(others) else "others are 0"
    return found


def with_answer(row: ScoredItem, criterion: str, value: Any) -> ScoredItem:
    """The row if people gave this answer."""
    overruled = {**row.overrides, **{(target, criterion): value for target in WHOLE_TARGETS}}
    return replace(row, values={**row.values, criterion: value}, overrides=overruled)


def find_answer_scale(criterion: str, own: Iterable[Any]) -> Scale | None:
    """The scale that answers are drawn from; None for one without ends."""
    named = SCALES.get(criterion)
    scale = named if named is not None and named.known_labels else find_scale(criterion, own)
    if scale is None or scale.labels or _words(scale):
        return scale
    return scale if scale.numbers is not None and np.isfinite(scale.numbers).all() else None


def answer_kind(own: Any, scale: Scale) -> str:
    """Answers of a kind are as likely to stand, and give way to the same others."""
    if scale.numbers is not None and isinstance(own, (int, float)):
        low, high = scale.numbers
        return "least" if own <= low else "most" if own >= high else "low" if own < (low + high) / 2 else "high"
    if isinstance(own, list):
        return ",".join(sorted(map(str, own))) if scale.known_labels else str(min(len(own), 2))
    return str(own)


def scale_ends(scale: Scale) -> tuple[Any, Any]:
    """Two answers that are far from each other."""
    if scale.numbers is not None:
        return scale.numbers
    if scale.labels:
        return ([scale.known_labels[0]], [scale.known_labels[-1]]) if scale.known_labels else ([], [PLACEHOLDER_NAME])
    words = _words(scale)
    return words[0], words[-1]


def _further(own: Any, scale: Scale, many: int, generator: np.random.Generator) -> list[Any]:
    """So many answers that nobody need have given: ends of a range are more likely (Jeffreys' prior of a share)."""
    if scale.numbers is not None:
        low, high = scale.numbers
        found: list[Any] = (low + (high - low) * generator.beta(0.5, 0.5, many)).tolist()
        return found
    if scale.labels and not scale.known_labels:
        return [[] if own else [PLACEHOLDER_NAME]] * many
    among = [[name] for name in scale.known_labels] if scale.labels else _words(scale)
    others = [value for value in among if not same_verdict(value, own)] or [own]
    return [others[at] for at in generator.integers(len(others), size=many).tolist()]


def _words(scale: Scale) -> list[Any]:
    found: list[Any] = []
    for value in scale.words.values():
        if decides(value) and not any(same_verdict(value, other) for other in found):
            found.append(value)
    return found


MetricFunction = Callable[[Sequence[ScoredItem]], Sequence[Metric]]
"""A benchmark's figures of its items; pure."""
MetricValues = Mapping[MetricKey, float]


class MetricCalculator:
    """A run's figures, whatever verdicts its unreviewed items are given."""

    def __init__(self, before: Sequence[ScoredItem], after: Sequence[ScoredItem], figures: MetricFunction) -> None:
        """`before`: as the benchmark says; `after`: with what people settled."""
        self._after, self._figures = list(after), figures
        self._own = [row.valid for row in before]
        self._made: dict[tuple[int, bool], ScoredItem] = {}

    def with_verdicts(self, verdicts: Mapping[int, bool] | Iterable[tuple[int, bool]]) -> MetricValues:
        """Figures with these verdicts, by place, instead of what is there."""
        rows = self._after.copy()
        for at, verdict in verdicts.items() if isinstance(verdicts, Mapping) else verdicts:
            rows[at] = self._row(at, verdict)
        return metric_values(self._figures(rows))

    def with_same_verdict(self, places: Iterable[int], verdict: bool) -> MetricValues:
        return self.with_verdicts((at, verdict) for at in places)

    def compute_draws(self, population: Population, drawn: PosteriorDraws, seed: int) -> dict[MetricKey, FloatArray]:
        """Each figure's value in every draw; which of a cell's items pass is drawn too. Figures that some draw leaves
        without a value are left out."""
        generator = np.random.default_rng(seed)
        made = []
        for passes in drawn.passes:
            verdicts: list[tuple[int, bool]] = []
            for name, left, many in zip(population.cell_keys, population.unreviewed, passes.tolist(), strict=True):
                common = name.automatic is not False
                few = len(left) - many if common else many  # those that are not as the benchmark says
                other = generator.choice(len(left), few, replace=False) if few else ()
                if name.automatic is None:
                    verdicts += ((at, True) for at in left)
                verdicts += ((left[at], not common) for at in other)
            made.append(self.with_verdicts(verdicts))
        return _in_every(made)

    def _row(self, at: int, verdict: bool) -> ScoredItem:
        made = self._made.get((at, verdict))
        if made is None:
            made = self._made[at, verdict] = _said(self._after[at], self._own[at], verdict)
        return made


def draw_answer_metrics(
    after: Sequence[ScoredItem], figures: MetricFunction, sampled: Sequence[AnswerModel], draws: int, seed: int
) -> dict[MetricKey, FloatArray]:
    """Each figure's value in every draw of the answers on these criteria."""
    made = []
    for found in zip(*(each.iter_draws(draws, seed) for each in sampled), strict=True):
        rows = list(after)
        for each, others in zip(sampled, found, strict=True):
            for at, value in others.items():
                rows[at] = with_answer(rows[at], each.criterion, value)
        made.append(metric_values(figures(rows)))
    return _in_every(made)


def metric_values(figures: Iterable[Metric]) -> dict[MetricKey, float]:
    """Those that have a value."""
    return {one.key: float(one.value) for one in figures if one.value is not None}


def _in_every(draws: Sequence[MetricValues]) -> dict[MetricKey, FloatArray]:
    """Figures that every draw has a value of."""
    keys = [key for key in draws[0] if all(key in values for values in draws)] if draws else []
    return {key: np.array([values[key] for values in draws]) for key in keys}


def _said(row: ScoredItem, own: bool | None, verdict: bool) -> ScoredItem:
    """The row if people said this of the item, and nothing that they said of it as a whole before."""
    overruled = {question: value for question, value in row.overrides.items() if question != ITEM_CORRECT}
    if verdict is not own:
        overruled[ITEM_CORRECT] = verdict
    if row.valid is verdict and dict(row.overrides) == overruled:
        return row
    return replace(row, valid=verdict, overrides=overruled, error_type=None if verdict else row.error_type)
