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

from fcreview.model.wording import format_count
from fcreview.stats.intervals import CONFIDENCE_LEVEL, NORMAL_QUANTILE

VerdictSource = Literal["official", "rule", "effective"]
VERDICT_SOURCES: tuple[VerdictSource, ...] = ("official", "rule", "effective")
"""Whose verdicts are compared; `effective`: people's where they settled it, else the benchmark's."""


def default_source(known: Iterable[int]) -> VerdictSource:
    """Official, unless a run has no official verdict at all. `known`: how many each run has."""
    return "official" if all(known) else "rule"


class QuestionKey(NamedTuple):
    """Where an item is among all datasets, whichever run it is of."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str


class ItemOutcome(NamedTuple):
    """An item of a run with one source's verdict. A tuple: of hundreds of runs there are hundreds of thousands."""

    item: int
    """Row key in the store."""
    question_key: QuestionKey
    group: str | None
    question: str
    """One line, shortened as in lists; empty where the dataset is not there."""
    verdict: bool | None
    error_type: str | None
    """This source's word for why it fails."""
    first_difference: str | None
    """The first difference from the golden answer; of a passing item too, where something differs."""
    prediction_hash: str
    golden_hash: str
    """Hashes of content."""


@dataclass(frozen=True, slots=True)
class AlignedItem:
    """The same item in several runs, in their order; None where a run has none."""

    question_key: QuestionKey
    outcomes: tuple[ItemOutcome | None, ...]


@dataclass(frozen=True, slots=True)
class AlignedRuns:
    """Every item of the runs, in the order in which they first come."""

    items: list[AlignedItem]
    generations: tuple[str, ...]
    """Of the datasets. Where they are several, items of different generations are the same if all else is."""
    n_other_question: int
    """Items of one place that ask different questions; they are rows of their own."""

    @property
    def complete_items(self) -> list[AlignedItem]:
        """Rows with an outcome of every run."""
        return [row for row in self.items if None not in row.outcomes]

    def count_unmatched(self, run: int) -> int:
        """How many items of a run not all others have."""
        return sum(row.outcomes[run] is not None and None in row.outcomes for row in self.items)


def align_runs(runs: Sequence[Sequence[ItemOutcome]]) -> AlignedRuns:
    """Items are the same that have the same benchmark, generation, language, category and id, and ask the same
    question. One that stands several times in a run meets the others in order."""
    places = {each.question_key for run in runs for each in run}
    generations = tuple(dict.fromkeys(each.question_key.generation for run in runs for each in run))
    keys = {place: place._replace(generation="") if len(generations) > 1 else place for place in places}
    asked: defaultdict[QuestionKey, dict[str, None]] = defaultdict(dict)
    for run in runs:
        for each in run:
            if each.question:
                asked[keys[each.question_key]][each.question] = None
    cells: dict[tuple[QuestionKey, str, int], list[ItemOutcome | None]] = {}
    for number, run in enumerate(runs):
        seen: defaultdict[tuple[QuestionKey, str], int] = defaultdict(int)
        for each in run:
            key = keys[each.question_key]
            # A run without a dataset does not know what was asked: where there is one question only, it was that.
            question = each.question or (next(iter(asked[key])) if len(asked[key]) == 1 else "")
            nth = seen[key, question]
            seen[key, question] += 1
            cells.setdefault((key, question, nth), [None] * len(runs))[number] = each
    rows = [AlignedItem(_first(found).question_key, tuple(found)) for found in cells.values()]
    return AlignedRuns(rows, generations, sum(len(questions) > 1 for questions in asked.values()))


def _first(outcomes: Iterable[ItemOutcome | None]) -> ItemOutcome:
    return next(each for each in outcomes if each is not None)


UNKNOWN_FAILURE = "fails, and nothing says why"


@dataclass(frozen=True, slots=True)
class Flip:
    """A passes and B fails, or the other way round."""

    a: ItemOutcome
    b: ItemOutcome

    @property
    def passing_side(self) -> str:
        """`a` or `b`."""
        return "a" if self.a.verdict else "b"

    @property
    def same_prediction(self) -> bool:
        """Then the answer was judged otherwise, or by another golden answer."""
        return bool(self.a.prediction_hash) and self.a.prediction_hash == self.b.prediction_hash

    @property
    def golden_differs(self) -> bool:
        return self.a.golden_hash != self.b.golden_hash

    @property
    def cause(self) -> str:
        """One line: `B: city "Hangzhou, CN" (golden "Hangzhou")`. Not safe to draw before `sanitise.visible`."""
        if self.same_prediction and not self.golden_differs:  # nothing differs but what was made of it
            name, side = ("B", self.b) if self.passing_side == "a" else ("A", self.a)
            return f"same prediction; {name}: {', '.join(filter(None, (side.error_type, side.first_difference))) or UNKNOWN_FAILURE}"
        sides = [f"{name}: {why}" for name, side in (("A", self.a), ("B", self.b)) if (why := explain_outcome(side))]
        if self.same_prediction:
            sides.insert(0, "same prediction, other golden answer")
        elif self.golden_differs:
            sides.insert(0, "other golden answer")
        return "; ".join(sides)


def find_flips(rows: Iterable[AlignedItem]) -> list[Flip]:
    """Of rows of two runs, in their order; those that A passes first."""
    found = []
    for row in rows:
        a, b = row.outcomes
        if a is not None and b is not None and {a.verdict, b.verdict} == {True, False}:
            found.append(Flip(a, b))
    return sorted(found, key=lambda flip: flip.passing_side)


def explain_outcome(side: ItemOutcome) -> str:
    """Of a failing side what fails it: its first difference, else the error's name. Of a passing one what it has
    otherwise than the golden answer, which is nothing for most."""
    if side.verdict:
        return f"passes with {side.first_difference}" if side.first_difference else ""
    return side.first_difference or side.error_type or UNKNOWN_FAILURE


INTERVAL_METHOD = "tango"
"""The interval of the difference: score interval for paired proportions (Tango 1998, Statistics in Medicine 17:891)."""
TEST_METHOD = "mcnemar exact"
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class PairedCounts:
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
class RateDifference:
    """Of the pass rates, A's less B's. None where there is no item."""

    value: float | None
    low: float | None
    high: float | None
    """Of the 95 % interval, see `METHOD`."""
    p: float | None
    """Two-sided, see `TEST`: how likely a split of the flips as uneven as this is if both were as good."""


def count_verdict_pairs(verdicts: Iterable[tuple[bool, bool]]) -> PairedCounts:
    """`verdicts`: (A's, B's) of each item."""
    table = {(True, True): 0, (False, False): 0, (True, False): 0, (False, True): 0}
    for pair in verdicts:
        table[pair] += 1
    return PairedCounts(*table.values())


def compute_difference(counts: PairedCounts) -> RateDifference:
    if not counts.n:
        return RateDifference(None, None, None, None)
    low, high = tango_interval(counts.only_a, counts.only_b, counts.n)
    value = (counts.only_a - counts.only_b) / counts.n
    return RateDifference(value, low, high, mcnemar_p_value(counts.only_a, counts.only_b))


def mcnemar_p_value(only_a: int, only_b: int) -> float:
    """Exact two-sided p of McNemar's test: the flips as tosses of a fair coin (binomial, twice the smaller tail, at
    most 1). Worked out in whole numbers, so that no rounding is in it."""
    flips, fewer = only_a + only_b, min(only_a, only_b)
    term = tail = 1
    for wins in range(fewer):
        term = term * (flips - wins) // (wins + 1)
        tail += term
    return min(1.0, float(Fraction(2 * tail, 2**flips)))


def tango_interval(only_a: int, only_b: int, n: int) -> tuple[float, float]:
    """(low, high): the differences that the score test does not reject. `n` items, one or more."""
    found = (only_a - only_b) / n
    return _edge(only_a, only_b, n, found, -1.0), _edge(only_a, only_b, n, found, 1.0)


def tango_score(only_a: int, only_b: int, n: int, delta: float) -> float:
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
        if abs(tango_score(only_a, only_b, n, middle)) <= NORMAL_QUANTILE:
            inside = middle
        else:
            outside = middle
    return inside


@dataclass(frozen=True, slots=True)
class ComparisonGroup:
    """Counts of all partners, or of those of one category."""

    category: str | None
    """None: all."""
    counts: PairedCounts
    difference: RateDifference
    n_pairs: int
    """Partners; more than `counts.n` where a side has no verdict on some."""


@dataclass(frozen=True, slots=True)
class RunComparison:
    overall: ComparisonGroup
    categories: list[ComparisonGroup]
    """In the order of the dataset; those without partners are not here."""
    flips: list[Flip]
    n_unmatched: tuple[int, int]
    """Items of A and of B that have no partner."""
    n_other_question: int
    """Items of one id that ask different questions; counted as lonely too."""
    generations: tuple[str, ...]
    n_verdicts: tuple[int, int]
    """Partners on which A's and B's source has a verdict."""
    has_grouped_items: bool
    """Several items are of one conversation, so they are not independent of each other: the test and the interval take
    them as if they were, and are too sure."""


def compare_runs(a: Sequence[ItemOutcome], b: Sequence[ItemOutcome]) -> RunComparison:
    both = align_runs([a, b])
    partners = both.complete_items
    categories: dict[str, list[AlignedItem]] = {}
    for row in partners:
        categories.setdefault(row.question_key.category, []).append(row)
    return RunComparison(
        overall=_part(None, partners),
        categories=[_part(name, rows) for name, rows in categories.items()],
        flips=find_flips(partners),
        n_unmatched=(both.count_unmatched(0), both.count_unmatched(1)),
        n_other_question=both.n_other_question,
        generations=both.generations,
        n_verdicts=(_judged(partners, 0), _judged(partners, 1)),
        has_grouped_items=has_grouped_items(both),
    )


def _part(category: str | None, rows: Sequence[AlignedItem]) -> ComparisonGroup:
    verdicts = []
    for row in rows:
        a, b = (each.verdict if each else None for each in row.outcomes)
        if a is not None and b is not None:
            verdicts.append((a, b))
    counts = count_verdict_pairs(verdicts)
    return ComparisonGroup(category, counts, compute_difference(counts), len(rows))


def _judged(rows: Sequence[AlignedItem], side: int) -> int:
    return sum(each is not None and each.verdict is not None for row in rows for each in row.outcomes[side : side + 1])


def has_grouped_items(both: AlignedRuns) -> bool:
    """Whether any two items are of one group."""
    seen: set[tuple[str, str]] = set()
    for row in both.items:
        group = next((each.group for each in row.outcomes if each is not None), None)
        if group is not None:
            if (row.question_key.category, group) in seen:
                return True
            seen.add((row.question_key.category, group))
    return False


INTERVAL_DESCRIPTION = f"{100 * CONFIDENCE_LEVEL:.0f} % score interval for paired proportions (Tango 1998)"
TEST_DESCRIPTION = "McNemar's exact test, two-sided"


def format_points(value: float | None) -> str:
    """A difference of shares in percentage points: `+2.5`; `·` for none."""
    return "·" if value is None else f"{100 * value + 0.0:+.1f}"


def format_p_value(p: float | None) -> str:
    """`0.031`, `<0.001`; `·` for none."""
    if p is None:
        return "·"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_difference(part: ComparisonGroup) -> str:
    """`+2.5 [-0.4, +5.4]`, in percentage points."""
    found = part.difference
    return format_points(found.value) + (f" [{format_points(found.low)}, {format_points(found.high)}]" if found.value is not None else "")


def are_rates_comparable(comparison: RunComparison, a: VerdictSource, b: VerdictSource) -> bool:
    """Whether the rates may be told: a recomputed verdict that only a part has is of a part that is no accident."""
    return all(
        source != "rule" or judged == comparison.overall.n_pairs
        for source, judged in zip((a, b), comparison.n_verdicts, strict=True)
    )


def list_caveats(comparison: RunComparison, a: VerdictSource, b: VerdictSource) -> list[str]:
    """What is to be known of a comparison besides its numbers, a line each."""
    found = []
    lonely_a, lonely_b = comparison.n_unmatched
    if lonely_a or lonely_b:
        lost = format_count(lonely_a, "item") + f" of A and {lonely_b:,} of B have no partner"
        if comparison.n_other_question:
            lost += f", {comparison.n_other_question:,} of them because the question is another"
        found.append(lost)
    if len(comparison.generations) > 1:
        found.append(f"generations {', '.join(comparison.generations)}: matched by all else")
    overall = comparison.overall
    if overall.counts.n < overall.n_pairs:
        has = [
            f"{name} ({source}) {judged:,}"
            for name, source, judged in zip(("A", "B"), (a, b), comparison.n_verdicts, strict=True)
            if judged < overall.n_pairs
        ]
        found.append(f"of {format_count(overall.n_pairs, 'pair')} both have a verdict on {overall.counts.n:,}: {', '.join(has)}")
    if not are_rates_comparable(comparison, a, b):
        found.append("which items can be recomputed is no accident: rates and their difference are not told")
    if comparison.has_grouped_items:
        found.append("several items are of one conversation: p and interval take them as independent and are too sure")
    return found
