"""What a figure is made of: found by turning verdicts and other answers and looking what moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from fcreview.estimate.answers import Answers, answered, drawable, ends
from fcreview.estimate.outcomes import Outcomes, Values, values_of
from fcreview.estimate.run import Run
from fcreview.estimate.standing import Population, Standing, population
from fcreview.figures import Key

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
