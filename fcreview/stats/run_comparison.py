"""What one run makes of one item, and which items of several runs are the same.

Items that pass on one side and fail on the other, and what makes the difference.

Two verdicts on each of the same items: McNemar's exact test, and the difference of pass rates with an interval.

Two runs, or two sources' verdicts on one run, compared: overall, by category, and every flip.

Comparisons in words: the same in commands, on screens and in reports. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Literal, NamedTuple

from fcreview.model.wording import count_of
from fcreview.stats.intervals import LEVEL, NORMAL

VerdictSource = Literal["official", "rule", "effective"]
VERDICT_SOURCES: tuple[VerdictSource, ...] = ("official", "rule", "effective")
"""Whose verdicts are compared; `effective`: people's where they settled it, else the benchmark's."""


def usual_source(known: Iterable[int]) -> VerdictSource:
    """Official, unless a run has no official verdict at all. `known`: how many each run has."""
    return "official" if all(known) else "rule"


class ItemPlace(NamedTuple):
    """Where an item is among all datasets, whichever run it is of."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str


class Outcome(NamedTuple):
    """An item of a run with one source's verdict. A tuple: of hundreds of runs there are hundreds of thousands."""

    item: int
    """Row key in the store."""
    place: ItemPlace
    group: str | None
    question: str
    """One line, shortened as in lists; empty where the dataset is not there."""
    verdict: bool | None
    error: str | None
    """This source's word for why it fails."""
    difference: str | None
    """The first difference from the golden answer; of a passing item too, where something differs."""
    prediction: str
    golden: str
    """Hashes of content."""


@dataclass(frozen=True, slots=True)
class Row:
    """The same item in several runs, in their order; None where a run has none."""

    place: ItemPlace
    outcomes: tuple[Outcome | None, ...]


@dataclass(frozen=True, slots=True)
class Aligned:
    """Every item of the runs, in the order in which they first come."""

    rows: list[Row]
    generations: tuple[str, ...]
    """Of the datasets. Where they are several, items of different generations are the same if all else is."""
    asked_otherwise: int
    """Items of one place that ask different questions; they are rows of their own."""

    @property
    def whole(self) -> list[Row]:
        """Rows with an outcome of every run."""
        return [row for row in self.rows if None not in row.outcomes]

    def alone(self, run: int) -> int:
        """How many items of a run not all others have."""
        return sum(row.outcomes[run] is not None and None in row.outcomes for row in self.rows)


def aligned(runs: Sequence[Sequence[Outcome]]) -> Aligned:
    """Items are the same that have the same benchmark, generation, language, category and id, and ask the same
    question. One that stands several times in a run meets the others in order."""
    places = {each.place for run in runs for each in run}
    generations = tuple(dict.fromkeys(each.place.generation for run in runs for each in run))
    keys = {place: place._replace(generation="") if len(generations) > 1 else place for place in places}
    asked: defaultdict[ItemPlace, dict[str, None]] = defaultdict(dict)
    for run in runs:
        for each in run:
            if each.question:
                asked[keys[each.place]][each.question] = None
    cells: dict[tuple[ItemPlace, str, int], list[Outcome | None]] = {}
    for number, run in enumerate(runs):
        seen: defaultdict[tuple[ItemPlace, str], int] = defaultdict(int)
        for each in run:
            key = keys[each.place]
            # A run without a dataset does not know what was asked: where there is one question only, it was that.
            question = each.question or (next(iter(asked[key])) if len(asked[key]) == 1 else "")
            nth = seen[key, question]
            seen[key, question] += 1
            cells.setdefault((key, question, nth), [None] * len(runs))[number] = each
    rows = [Row(_first(found).place, tuple(found)) for found in cells.values()]
    return Aligned(rows, generations, sum(len(questions) > 1 for questions in asked.values()))


def _first(outcomes: Iterable[Outcome | None]) -> Outcome:
    return next(each for each in outcomes if each is not None)


FAILS = "fails, and nothing says why"


@dataclass(frozen=True, slots=True)
class Flip:
    """A passes and B fails, or the other way round."""

    a: Outcome
    b: Outcome

    @property
    def passes(self) -> str:
        """`a` or `b`."""
        return "a" if self.a.verdict else "b"

    @property
    def same_prediction(self) -> bool:
        """Then the answer was judged otherwise, or by another golden answer."""
        return bool(self.a.prediction) and self.a.prediction == self.b.prediction

    @property
    def golden_differs(self) -> bool:
        return self.a.golden != self.b.golden

    @property
    def cause(self) -> str:
        """One line: `B: city "Hangzhou, CN" (golden "Hangzhou")`. Not safe to draw before `sanitise.visible`."""
        if self.same_prediction and not self.golden_differs:  # nothing differs but what was made of it
            name, side = ("B", self.b) if self.passes == "a" else ("A", self.a)
            return f"same prediction; {name}: {', '.join(filter(None, (side.error, side.difference))) or FAILS}"
        sides = [f"{name}: {why}" for name, side in (("A", self.a), ("B", self.b)) if (why := reason(side))]
        if self.same_prediction:
            sides.insert(0, "same prediction, other golden answer")
        elif self.golden_differs:
            sides.insert(0, "other golden answer")
        return "; ".join(sides)


def flips(rows: Iterable[Row]) -> list[Flip]:
    """Of rows of two runs, in their order; those that A passes first."""
    found = []
    for row in rows:
        a, b = row.outcomes
        if a is not None and b is not None and {a.verdict, b.verdict} == {True, False}:
            found.append(Flip(a, b))
    return sorted(found, key=lambda flip: flip.passes)


def reason(side: Outcome) -> str:
    """Of a failing side what fails it: its first difference, else the error's name. Of a passing one what it has
    otherwise than the golden answer, which is nothing for most."""
    if side.verdict:
        return f"passes with {side.difference}" if side.difference else ""
    return side.difference or side.error or FAILS


METHOD = "tango"
"""The interval of the difference: score interval for paired proportions (Tango 1998, Statistics in Medicine 17:891)."""
TEST = "mcnemar exact"
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Counts:
    """Items on which both sides have a verdict."""

    both_pass: int = 0
    both_fail: int = 0
    only_a: int = 0
    """A passes, B fails."""
    only_b: int = 0

    @property
    def n(self) -> int:
        return self.both_pass + self.both_fail + self.only_a + self.only_b

    @property
    def rate_a(self) -> float | None:
        return (self.both_pass + self.only_a) / self.n if self.n else None

    @property
    def rate_b(self) -> float | None:
        return (self.both_pass + self.only_b) / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Difference:
    """Of the pass rates, A's less B's. None where there is no item."""

    value: float | None
    low: float | None
    high: float | None
    """Of the 95 % interval, see `METHOD`."""
    p: float | None
    """Two-sided, see `TEST`: how likely a split of the flips as uneven as this is if both were as good."""


def counts_of(verdicts: Iterable[tuple[bool, bool]]) -> Counts:
    """`verdicts`: (A's, B's) of each item."""
    table = {(True, True): 0, (False, False): 0, (True, False): 0, (False, True): 0}
    for pair in verdicts:
        table[pair] += 1
    return Counts(*table.values())


def difference(counts: Counts) -> Difference:
    if not counts.n:
        return Difference(None, None, None, None)
    low, high = interval(counts.only_a, counts.only_b, counts.n)
    value = (counts.only_a - counts.only_b) / counts.n
    return Difference(value, low, high, mcnemar(counts.only_a, counts.only_b))


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact two-sided p of McNemar's test: the flips as tosses of a fair coin (binomial, twice the smaller tail, at
    most 1). Worked out in whole numbers, so that no rounding is in it."""
    flips, fewer = only_a + only_b, min(only_a, only_b)
    term = tail = 1
    for wins in range(fewer):
        term = term * (flips - wins) // (wins + 1)
        tail += term
    return min(1.0, float(Fraction(2 * tail, 2**flips)))


def interval(only_a: int, only_b: int, n: int) -> tuple[float, float]:
    """(low, high): the differences that the score test does not reject. `n` items, one or more."""
    found = (only_a - only_b) / n
    return _edge(only_a, only_b, n, found, -1.0), _edge(only_a, only_b, n, found, 1.0)


def score(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Tango's statistic for the hypothesis that the difference is `delta`, -1 < delta < 1: standard normal if it is."""
    spread = n * (2 * _only_b_if(only_a, only_b, n, delta) + delta * (1 - delta))
    off = only_a - only_b - n * delta
    if spread <= 0:
        return 0.0 if off == 0 else (float("inf") if off > 0 else float("-inf"))
    return off / sqrt(spread)


def _only_b_if(only_a: int, only_b: int, n: int, delta: float) -> float:
    """The most likely share of items that only B passes if the difference is `delta` (Tango 1998, equation 7)."""
    first, second = 2 * n, (2 * n - only_a + only_b) * delta - only_a - only_b
    third = -only_b * delta * (1 - delta)
    return (sqrt(max(second * second - 4 * first * third, 0.0)) - second) / (2 * first)


def _edge(only_a: int, only_b: int, n: int, inside: float, outside: float) -> float:
    """Between a difference that is not rejected and the outermost there is: where the test begins to reject. Halving,
    as the statistic falls steadily."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if abs(score(only_a, only_b, n, middle)) <= NORMAL:
            inside = middle
        else:
            outside = middle
    return inside


@dataclass(frozen=True, slots=True)
class Part:
    """Counts of all partners, or of those of one category."""

    category: str | None
    """None: all."""
    counts: Counts
    difference: Difference
    of: int
    """Partners; more than `counts.n` where a side has no verdict on some."""


@dataclass(frozen=True, slots=True)
class Comparison:
    overall: Part
    categories: list[Part]
    """In the order of the dataset; those without partners are not here."""
    flips: list[Flip]
    lonely: tuple[int, int]
    """Items of A and of B that have no partner."""
    asked_otherwise: int
    """Items of one id that ask different questions; counted as lonely too."""
    generations: tuple[str, ...]
    judged: tuple[int, int]
    """Partners on which A's and B's source has a verdict."""
    in_groups: bool
    """Several items are of one conversation, so they are not independent of each other: the test and the interval take
    them as if they were, and are too sure."""


def compared(a: Sequence[Outcome], b: Sequence[Outcome]) -> Comparison:
    both = aligned([a, b])
    partners = both.whole
    categories: dict[str, list[Row]] = {}
    for row in partners:
        categories.setdefault(row.place.category, []).append(row)
    return Comparison(
        overall=_part(None, partners),
        categories=[_part(name, rows) for name, rows in categories.items()],
        flips=flips(partners),
        lonely=(both.alone(0), both.alone(1)),
        asked_otherwise=both.asked_otherwise,
        generations=both.generations,
        judged=(_judged(partners, 0), _judged(partners, 1)),
        in_groups=grouped(both),
    )


def _part(category: str | None, rows: Sequence[Row]) -> Part:
    verdicts = []
    for row in rows:
        a, b = (each.verdict if each else None for each in row.outcomes)
        if a is not None and b is not None:
            verdicts.append((a, b))
    counts = counts_of(verdicts)
    return Part(category, counts, difference(counts), len(rows))


def _judged(rows: Sequence[Row], side: int) -> int:
    return sum(each is not None and each.verdict is not None for row in rows for each in row.outcomes[side : side + 1])


def grouped(both: Aligned) -> bool:
    """Whether any two items are of one group."""
    seen: set[tuple[str, str]] = set()
    for row in both.rows:
        group = next((each.group for each in row.outcomes if each is not None), None)
        if group is not None:
            if (row.place.category, group) in seen:
                return True
            seen.add((row.place.category, group))
    return False


INTERVAL = f"{100 * LEVEL:.0f} % score interval for paired proportions (Tango 1998)"
P_VALUE = "McNemar's exact test, two-sided"


def points(value: float | None) -> str:
    """A difference of shares in percentage points: `+2.5`; `·` for none."""
    return "·" if value is None else f"{100 * value + 0.0:+.1f}"


def p_value(p: float | None) -> str:
    """`0.031`, `<0.001`; `·` for none."""
    if p is None:
        return "·"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def difference_of(part: Part) -> str:
    """`+2.5 [-0.4, +5.4]`, in percentage points."""
    found = part.difference
    return points(found.value) + (f" [{points(found.low)}, {points(found.high)}]" if found.value is not None else "")


def tellable(comparison: Comparison, a: VerdictSource, b: VerdictSource) -> bool:
    """Whether the rates may be told: a recomputed verdict that only a part has is of a part that is no accident."""
    return all(
        source != "rule" or judged == comparison.overall.of
        for source, judged in zip((a, b), comparison.judged, strict=True)
    )


def remarks(comparison: Comparison, a: VerdictSource, b: VerdictSource) -> list[str]:
    """What is to be known of a comparison besides its numbers, a line each."""
    found = []
    lonely_a, lonely_b = comparison.lonely
    if lonely_a or lonely_b:
        lost = count_of(lonely_a, "item") + f" of A and {lonely_b:,} of B have no partner"
        if comparison.asked_otherwise:
            lost += f", {comparison.asked_otherwise:,} of them because the question is another"
        found.append(lost)
    if len(comparison.generations) > 1:
        found.append(f"generations {', '.join(comparison.generations)}: matched by all else")
    overall = comparison.overall
    if overall.counts.n < overall.of:
        has = [
            f"{name} ({source}) {judged:,}"
            for name, source, judged in zip(("A", "B"), (a, b), comparison.judged, strict=True)
            if judged < overall.of
        ]
        found.append(f"of {count_of(overall.of, 'pair')} both have a verdict on {overall.counts.n:,}: {', '.join(has)}")
    if not tellable(comparison, a, b):
        found.append("which items can be recomputed is no accident: rates and their difference are not told")
    if comparison.in_groups:
        found.append("several items are of one conversation: p and interval take them as independent and are too sure")
    return found
