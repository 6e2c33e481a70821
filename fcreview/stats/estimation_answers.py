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

from fcreview.model.address import WHOLE
from fcreview.model.metric import Figure, Key, Scored, chain_of
from fcreview.model.review import OWN
from fcreview.model.verdict import SCALES, Scale, alike, decides, scale_of
from fcreview.stats.population import Own, Population, Standing, population
from fcreview.stats.posterior import SEED, Drawn, Floats, Integers, drawn

PRIOR = 1.0
"""Answers that the prior counts for."""
ATOMS = 12
"""Among as many points it is spread."""
_LEAST = 1e-300
NAME = "·"
"""Stands for a name: only how many there are counts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What people say on one criterion of items as a whole; an entry an item in each list."""

    criterion: str
    settled: Sequence[Any]
    """None: nobody said anything, or they differ."""
    spoken: Sequence[bool]
    """Whether anybody said anything, settled or not."""
    random: Sequence[bool]
    """Settled as an item of a random sample."""
    spoken_for: Sequence[bool]
    """See `Standing.spoken_for`."""


class Answers:
    """One criterion's, of a run's items."""

    def __init__(self, before: Sequence[Scored], standings: Sequence[Standing], asked: Asked) -> None:
        self.criterion = asked.criterion
        self.own = [row.values.get(asked.criterion) for row in before]
        self.scale = scale = drawable(asked.criterion, self.own)
        self.asked = asked
        known = [None if own is None or scale is None else kind(own, scale) for own in self.own]
        self.standings = [
            replace(
                each,
                own=of,
                context=context,
                # extensions draw by verdict: not all of a kind were as likely to be drawn
                stratum=None if each.stratum is None else (*each.stratum, f"{each.fraction:.6f}"),
                settled=None if of is None or said is None else alike(said, own),
                random=of is not None and asked.random[at],
                spoken_for=of is not None and asked.spoken_for[at],
            )
            for at, (each, of, own, said, context) in enumerate(
                zip(standings, known, self.own, asked.settled, contexts(before, self.own), strict=True)
            )
        ]
        self.skipped = sum(
            each.reviewed and of is not None and not said
            for each, of, said in zip(standings, known, asked.spoken, strict=True)
        )
        """Items of a sample that were reviewed, but not on this: those that were may have been chosen."""
        self.people: Population = population(self.standings)

    @property
    def sampled(self) -> bool:
        return self.scale is not None and bool(self.people.n_random) and not self.skipped

    def drawn(self, draws: int, seed: int = SEED) -> Iterator[Mapping[int, Any]]:
        """Of each draw the places of items whose own answer does not stand, and the one that does."""
        generator = np.random.default_rng([seed, len(self.criterion)])
        made: Drawn = drawn(self.people.cells, draws, seed)
        passes = made.passes[: made.met]
        kinds = {each.own: own for each, own in zip(self.standings, self.own, strict=True) if each.own is not None}
        pools: dict[Own, _Pool] = {of: self._pool(of, own, len(passes), generator) for of, own in kinds.items()}
        cells = []
        for at, (name, left) in enumerate(zip(self.people.names, self.people.left, strict=True)):
            few = len(left) - passes[:, at]
            most = int(few.max(initial=0))
            which = pools[name.own].drawn(most, generator)
            order = np.argsort(generator.random((len(passes), len(left))), axis=1)[:, :most]
            cells.append((name.own, np.asarray(left, dtype=np.int64)[order], which, few))
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
            for said, each in zip(self.asked.settled, self.standings, strict=True)
            if each.random and each.own == of and each.settled is False
        ]

    def _elsewhere(self, of: Any) -> list[Any]:
        """What people said of sampled items of other kinds, if that would be another answer here."""
        scale = self.scale or Scale()
        return [
            said
            for said, each in zip(self.asked.settled, self.standings, strict=True)
            if each.random and each.own != of and kind(said, scale) != of
        ]

    def _pool(self, of: Any, own: Any, draws: int, generator: np.random.Generator) -> _Pool:
        given, elsewhere, many = self._others(of), self._elsewhere(of), draws * ATOMS
        further = _further(own, self.scale or Scale(), many, generator)
        among = generator.integers(len(elsewhere) + 1, size=many).tolist()  # one of them is the whole scale
        further = [elsewhere[at] if at < len(elsewhere) else value for at, value in zip(among, further, strict=True)]
        shape = np.concatenate([np.ones(len(given)), np.full(ATOMS, PRIOR / ATOMS)])
        weights = generator.gamma(shape, size=(draws, len(shape)))
        weights[:, -1] += _LEAST  # gammas of small shape may all be 0
        return _Pool(given, further, np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1))


@dataclass(frozen=True, slots=True)
class _Pool:
    """The other answers to items of a kind."""

    given: Sequence[Any]
    further: Sequence[Any]
    """ATOMS of each draw."""
    ends_at: Floats
    """(draws, answers): where the part of each ends between 0 and 1."""

    def drawn(self, many: int, generator: np.random.Generator) -> Integers:
        """(draws, many): numbers of answers."""
        draws, width = self.ends_at.shape
        row = np.arange(draws)[:, np.newaxis]
        found = np.searchsorted((self.ends_at + row).ravel(), (generator.random((draws, many)) + row).ravel(), "right")
        numbers: Integers = np.clip(found.reshape(draws, many) - row * width, 0, width - 1)
        return numbers

    def value(self, draw: int, number: int) -> Any:
        beyond = number - len(self.given)
        return self.given[number] if beyond < 0 else self.further[draw * ATOMS + beyond]


def contexts(rows: Sequence[Scored], own: Sequence[Any]) -> list[str]:
    """Of each item what the others of its chain say, empty without any. Errors are not spread evenly: people find a
    wrong 0 more often where the rest of the chain is right, and there it decides what the product is."""
    chains: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        if (chain := chain_of(row)) is not None and isinstance(own[at], (int, float)):
            chains.setdefault(chain, []).append(at)
    found = [""] * len(rows)
    for places in chains.values():
        for at in places:
            others = [own[other] for other in places if other != at]
            if others:
                found[at] = "others count" if all(others) else "others are 0"
    return found


def answered(row: Scored, criterion: str, value: Any) -> Scored:
    """The row if people gave this answer."""
    overruled = {**row.overruled, **{(target, criterion): value for target in WHOLE}}
    return replace(row, values={**row.values, criterion: value}, overruled=overruled)


def drawable(criterion: str, own: Iterable[Any]) -> Scale | None:
    """The scale that answers are drawn from; None for one without ends."""
    named = SCALES.get(criterion)
    scale = named if named is not None and named.known else scale_of(criterion, own)
    if scale is None or scale.labels or _words(scale):
        return scale
    return scale if scale.numbers is not None and np.isfinite(scale.numbers).all() else None


def kind(own: Any, scale: Scale) -> str:
    """Answers of a kind are as likely to stand, and give way to the same others."""
    if scale.numbers is not None and isinstance(own, (int, float)):
        low, high = scale.numbers
        return "least" if own <= low else "most" if own >= high else "low" if own < (low + high) / 2 else "high"
    if isinstance(own, list):
        return ",".join(sorted(map(str, own))) if scale.known else str(min(len(own), 2))
    return str(own)


def ends(scale: Scale) -> tuple[Any, Any]:
    """Two answers that are far from each other."""
    if scale.numbers is not None:
        return scale.numbers
    if scale.labels:
        return ([scale.known[0]], [scale.known[-1]]) if scale.known else ([], [NAME])
    words = _words(scale)
    return words[0], words[-1]


def _further(own: Any, scale: Scale, many: int, generator: np.random.Generator) -> list[Any]:
    """So many answers that nobody need have given: ends of a range are more likely (Jeffreys' prior of a share)."""
    if scale.numbers is not None:
        low, high = scale.numbers
        found: list[Any] = (low + (high - low) * generator.beta(0.5, 0.5, many)).tolist()
        return found
    if scale.labels and not scale.known:
        return [[] if own else [NAME]] * many
    among = [[name] for name in scale.known] if scale.labels else _words(scale)
    others = [value for value in among if not alike(value, own)] or [own]
    return [others[at] for at in generator.integers(len(others), size=many).tolist()]


def _words(scale: Scale) -> list[Any]:
    found: list[Any] = []
    for value in scale.words.values():
        if decides(value) and not any(alike(value, other) for other in found):
            found.append(value)
    return found


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
