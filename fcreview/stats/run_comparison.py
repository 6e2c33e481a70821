"""Compare runs, or two sources of verdicts on one run, item by item.

For two runs, the module tests the difference of the pass rates and finds the flips. A flip is an item that one run
passes and the other run fails. For many runs, the module ranks the runs, and finds the hardest items and the upsets. An
upset is an item that stronger runs fail and weaker runs pass.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from math import sqrt
from typing import Literal, NamedTuple

from fcreview.model.wording import NO_VALUE, format_count
from fcreview.stats.intervals import CONFIDENCE_LEVEL, NORMAL_QUANTILE

VerdictSource = Literal["official", "rule", "effective"]
VERDICT_SOURCES: tuple[VerdictSource, ...] = ("official", "rule", "effective")
"""Sources of verdicts that can be compared. `effective` is the human verdict, else the automatic verdict."""


def choose_verdict_source(n_official: int, n_recomputed: int) -> VerdictSource:
    """Choose the source of a run's verdicts by their numbers: `official`, else `rule`, else `effective`."""
    return "official" if n_official else "rule" if n_recomputed else "effective"


class QuestionKey(NamedTuple):
    """Identity of a test case, the same in all runs."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str


class ItemOutcome(NamedTuple):
    """An item with its verdict from one source."""

    item: int
    question_key: QuestionKey
    group: str | None
    question: str
    """Question in one line, shortened; empty if there is no dataset."""
    verdict: bool | None
    error_type: str | None
    first_difference: str | None
    """First difference from the golden answer. Passing items can have a first difference too."""
    prediction_hash: str
    golden_hash: str


@dataclass(frozen=True, slots=True)
class AlignedItem:
    """Outcomes of the same test case in several runs."""

    question_key: QuestionKey
    outcomes: tuple[ItemOutcome | None, ...]


@dataclass(frozen=True, slots=True)
class AlignedRuns:
    """Items of several runs, matched by key and question, in order of first appearance."""

    items: list[AlignedItem]
    generations: tuple[str, ...]
    n_other_question: int
    """Number of item keys that have different questions in different runs. Each question is a separate item."""

    @property
    def complete_items(self) -> list[AlignedItem]:
        return [item for item in self.items if None not in item.outcomes]

    def count_unmatched(self, run_index: int) -> int:
        """Count the items of a run that at least one other run does not have."""
        return sum(item.outcomes[run_index] is not None and None in item.outcomes for item in self.items)


def align_runs(runs: Sequence[Sequence[ItemOutcome]]) -> AlignedRuns:
    """Match the items of different runs by key and question. If a run contains an item several times, its occurrences
    are matched in order. The benchmark and its version are ignored if they differ between the runs."""
    question_keys = {outcome.question_key for run in runs for outcome in run}
    generations = tuple(dict.fromkeys(outcome.question_key.generation for run in runs for outcome in run))
    ignored = {"generation": ""} if len(generations) > 1 else {}
    if len({key.benchmark for key in question_keys}) > 1:
        ignored["benchmark"] = ""
    match_keys = {key: key._replace(**ignored) for key in question_keys}
    questions: defaultdict[QuestionKey, dict[str, None]] = defaultdict(dict)
    for run in runs:
        for outcome in run:
            if outcome.question:
                questions[match_keys[outcome.question_key]][outcome.question] = None
    aligned: dict[tuple[QuestionKey, str, int], list[ItemOutcome | None]] = {}
    for number, run in enumerate(runs):
        n_seen: Counter[tuple[QuestionKey, str]] = Counter()
        for outcome in run:
            key = match_keys[outcome.question_key]
            # Without a dataset, an item has no question text. It matches the only question of its key.
            question = outcome.question or (next(iter(questions[key])) if len(questions[key]) == 1 else "")
            nth = n_seen[key, question]
            n_seen[key, question] += 1
            row = aligned.get((key, question, nth))
            if row is None:
                row = aligned[key, question, nth] = [None] * len(runs)
            row[number] = outcome
    items = [
        AlignedItem(next(each.question_key for each in outcomes if each is not None), tuple(outcomes))
        for outcomes in aligned.values()
    ]
    return AlignedRuns(items, generations, sum(len(each) > 1 for each in questions.values()))


UNKNOWN_FAILURE = "fails for an unknown reason"


@dataclass(frozen=True, slots=True)
class Flip:
    """An item that one side of a comparison passes and the other side fails."""

    a: ItemOutcome
    b: ItemOutcome

    @property
    def passing_side(self) -> Literal["a", "b"]:
        return "a" if self.a.verdict else "b"

    @property
    def same_prediction(self) -> bool:
        """Whether both sides have the same prediction, so that only their verdicts or golden answers differ."""
        return bool(self.a.prediction_hash) and self.a.prediction_hash == self.b.prediction_hash

    @property
    def golden_differs(self) -> bool:
        return self.a.golden_hash != self.b.golden_hash

    @property
    def cause(self) -> str:
        """Cause of the flip in one line, not sanitized: `B: city "Hangzhou, CN" (golden "Hangzhou")`."""
        if self.same_prediction and not self.golden_differs:  # The two sides differ only in their verdicts.
            name, failing = ("B", self.b) if self.passing_side == "a" else ("A", self.a)
            reasons = ", ".join(filter(None, (failing.error_type, failing.first_difference)))
            return f"same prediction; {name}: {reasons or UNKNOWN_FAILURE}"
        sides = [f"{name}: {text}" for name, side in (("A", self.a), ("B", self.b)) if (text := explain_outcome(side))]
        if self.same_prediction:
            sides.insert(0, "same prediction, different golden answer")
        elif self.golden_differs:
            sides.insert(0, "different golden answer")
        return "; ".join(sides)


def find_flips(items: Iterable[AlignedItem]) -> list[Flip]:
    """Find the flips between two runs: first the items that A passes, then the items that B passes."""
    pairs = (item.outcomes for item in items)
    flips = (Flip(a, b) for a, b in pairs if a and b and {a.verdict, b.verdict} == {True, False})
    return sorted(flips, key=lambda flip: flip.passing_side)


def explain_outcome(outcome: ItemOutcome) -> str:
    """Explain the outcome of an item. For a failing item, return its first difference or its error type. For a passing
    item, return `passes despite` and its first difference, or an empty text."""
    if outcome.verdict:
        return f"passes despite {outcome.first_difference}" if outcome.first_difference else ""
    return outcome.first_difference or outcome.error_type or UNKNOWN_FAILURE


INTERVAL_METHOD = "tango"
"""Name of the score interval for the difference of paired proportions (Tango 1998, Statistics in Medicine 17:891)."""
TEST_METHOD = "mcnemar exact"
_BISECTION_STEPS = 60


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Numbers of items by the verdicts of A and B. Items without a verdict of A or of B are excluded."""

    both_pass: int = 0
    both_fail: int = 0
    only_a: int = 0
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
    """Difference of two pass rates (A minus B), from -1 to 1, with 95 % interval and p-value; None without items."""

    value: float | None
    low: float | None
    high: float | None
    p: float | None


def count_verdict_pairs(verdicts: Iterable[tuple[bool, bool]]) -> PairedCounts:
    """Count the pairs of verdicts. Each pair contains the verdict of A and the verdict of B on an item."""
    counts = Counter(verdicts)
    return PairedCounts(counts[True, True], counts[False, False], counts[True, False], counts[False, True])


def compute_difference(counts: PairedCounts) -> RateDifference:
    if not counts.n:
        return RateDifference(None, None, None, None)
    low, high = compute_tango_interval(counts.only_a, counts.only_b, counts.n)
    value = (counts.only_a - counts.only_b) / counts.n
    return RateDifference(value, low, high, compute_mcnemar_p_value(counts.only_a, counts.only_b))


def compute_mcnemar_p_value(only_a: int, only_b: int) -> float:
    """Compute the exact two-sided p-value of McNemar's test from the numbers of items that only A and only B passes."""
    flips, fewer = only_a + only_b, min(only_a, only_b)
    term = tail = 1
    for at in range(fewer):
        term = term * (flips - at) // (at + 1)
        tail += term
    return min(1.0, float(Fraction(2 * tail, 2**flips)))


def compute_tango_interval(only_a: int, only_b: int, n: int) -> tuple[float, float]:
    """Compute the ends of the 95 % interval of the difference (A minus B) by the score test. `n` must not be 0."""
    value = (only_a - only_b) / n
    return _find_interval_end(only_a, only_b, n, value, -1.0), _find_interval_end(only_a, only_b, n, value, 1.0)


def compute_tango_score(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Compute Tango's score statistic, which is standard normal if `delta` (from -1 to 1) is the true difference."""
    variance = n * (2 * _estimate_only_b_share(only_a, only_b, n, delta) + delta * (1 - delta))
    deviation = only_a - only_b - n * delta
    if variance <= 0:
        return 0.0 if deviation == 0 else (float("inf") if deviation > 0 else float("-inf"))
    return deviation / sqrt(variance)


def _estimate_only_b_share(only_a: int, only_b: int, n: int, delta: float) -> float:
    """Estimate by maximum likelihood the share that only B passes, given the difference `delta` (Tango 1998, eq. 7)."""
    a, b = 2 * n, (2 * n - only_a + only_b) * delta - only_a - only_b
    c = -only_b * delta * (1 - delta)
    return (sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)


def _find_interval_end(only_a: int, only_b: int, n: int, inside: float, outside: float) -> float:
    """Find the interval's end between a difference inside the interval and a difference outside."""
    for _ in range(_BISECTION_STEPS):
        middle = (inside + outside) / 2
        if abs(compute_tango_score(only_a, only_b, n, middle)) <= NORMAL_QUANTILE:
            inside = middle
        else:
            outside = middle
    return inside


@dataclass(frozen=True, slots=True)
class ComparisonGroup:
    """Comparison of A and B on the items of one category, or of all categories."""

    category: str | None
    counts: PairedCounts
    difference: RateDifference
    n_pairs: int
    """Number of matched pairs of items. It is larger than `counts.n` if some items have no verdict."""
    n_verdicts: tuple[int, int]
    """Number of pairs with a verdict of A, and number of pairs with a verdict of B."""

    def is_comparable(self, source_a: VerdictSource, source_b: VerdictSource) -> bool:
        """Whether the pass rates can be compared. They cannot if only some items have a recomputed verdict, because
        these items are not a random sample."""
        return all(
            source != "rule" or n_verdicts == self.n_pairs
            for source, n_verdicts in zip((source_a, source_b), self.n_verdicts, strict=True)
        )


@dataclass(frozen=True, slots=True)
class RunComparison:
    overall: ComparisonGroup
    categories: list[ComparisonGroup]
    flips: list[Flip]
    n_unmatched: tuple[int, int]
    n_other_question: int
    """Number of item keys with different questions in A and B. Items with these keys can be unmatched."""
    generations: tuple[str, ...]
    has_grouped_items: bool
    """Whether several items belong to one conversation. The test then underestimates the uncertainty."""


def compare_runs(a: Sequence[ItemOutcome], b: Sequence[ItemOutcome]) -> RunComparison:
    aligned = align_runs([a, b])
    pairs = aligned.complete_items
    categories: dict[str, list[AlignedItem]] = {}
    for pair in pairs:
        categories.setdefault(pair.question_key.category, []).append(pair)
    return RunComparison(
        _compare_pairs(None, pairs), [_compare_pairs(name, group) for name, group in categories.items()],
        find_flips(pairs), (aligned.count_unmatched(0), aligned.count_unmatched(1)), aligned.n_other_question,
        aligned.generations, has_grouped_items(aligned),
    )  # fmt: skip


def _compare_pairs(category: str | None, pairs: Sequence[AlignedItem]) -> ComparisonGroup:
    verdicts = [[outcome.verdict if outcome else None for outcome in pair.outcomes] for pair in pairs]
    counts = count_verdict_pairs((a, b) for a, b in verdicts if a is not None and b is not None)
    n_verdicts = sum(a is not None for a, _ in verdicts), sum(b is not None for _, b in verdicts)
    return ComparisonGroup(category, counts, compute_difference(counts), len(pairs), n_verdicts)


def has_grouped_items(aligned: AlignedRuns) -> bool:
    """Whether at least two items belong to one group, such as a conversation."""
    first = ((item, next((outcome for outcome in item.outcomes if outcome), None)) for item in aligned.items)
    groups = [(item.question_key.category, one.group) for item, one in first if one and one.group is not None]
    return len(set(groups)) < len(groups)


INTERVAL_DESCRIPTION = f"{100 * CONFIDENCE_LEVEL:.0f} % score interval for paired proportions (Tango 1998)"
TEST_DESCRIPTION = "McNemar's exact test, two-sided"


def format_points(value: float | None) -> str:
    """Format a difference of shares in percentage points: `+2.5`, or `–` for None."""
    return NO_VALUE if value is None else f"{100 * value + 0.0:+.1f}"


def format_p_value(p: float | None) -> str:
    """Format a p-value: `0.031`, `<0.001`, or `–` for None."""
    if p is None:
        return NO_VALUE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_difference(group: ComparisonGroup) -> str:
    """Format the difference of the pass rates in percentage points: `+2.5 [-0.4, +5.4]`."""
    difference = group.difference
    interval = f" [{format_points(difference.low)}, {format_points(difference.high)}]"
    return format_points(difference.value) + (interval if difference.value is not None else "")


COMPLETE_CATEGORIES = "complete categories"


def combine_complete_categories(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> ComparisonGroup | None:
    """Combine the comparable categories. Returns None if all categories are comparable, or if no category is."""
    groups = [group for group in comparison.categories if group.is_comparable(source_a, source_b)]
    if not groups or len(groups) == len(comparison.categories):
        return None
    counts = PairedCounts(*(sum(getattr(group.counts, each.name) for group in groups) for each in fields(PairedCounts)))
    n_a, n_b = (sum(group.n_verdicts[side] for group in groups) for side in (0, 1))
    n_pairs = sum(group.n_pairs for group in groups)
    return ComparisonGroup(COMPLETE_CATEGORIES, counts, compute_difference(counts), n_pairs, (n_a, n_b))


def list_table_groups(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> list[ComparisonGroup]:
    """List the rows of the table: all items, all comparable categories together (unless all are), and each category."""
    complete = combine_complete_categories(comparison, source_a, source_b)
    categories = comparison.categories if len(comparison.categories) > 1 else []
    return [comparison.overall, *([complete] if complete else []), *categories]


def list_caveats(comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource) -> list[str]:
    lines = []
    unmatched_a, unmatched_b = comparison.n_unmatched
    if unmatched_a or unmatched_b:
        items_a = format_count(unmatched_a, "item")
        lines.append(f"{items_a} of A and {unmatched_b:,} of B have no matching item in the other run")
        if comparison.n_other_question:
            ids = format_count(comparison.n_other_question, "item id")
            lines.append(f"A and B have different questions under {ids}, so these items do not match")
    if len(comparison.generations) > 1:
        generations = ", ".join(comparison.generations)
        lines.append(f"the benchmark versions differ ({generations}), so items are matched without the version")
    overall = comparison.overall
    if overall.counts.n < overall.n_pairs:
        incomplete = [
            f"{name} ({source}) has {format_count(n_verdicts, 'verdict')}"
            for name, source, n_verdicts in zip(("A", "B"), (source_a, source_b), overall.n_verdicts, strict=True)
            if n_verdicts < overall.n_pairs
        ]
        pairs = format_count(overall.n_pairs, "pair")
        lines.append(f"only {overall.counts.n:,} of {pairs} have a verdict on both sides: {', '.join(incomplete)}")
    if not overall.is_comparable(source_a, source_b):
        names = [group.category or "" for group in comparison.categories if not group.is_comparable(source_a, source_b)]
        count = format_count(len(names), "category", "categories")
        lines.append(
            f"no pass rates for all items and for {count} ({', '.join(names)}),"
            " because the items with a recomputed verdict are not a random sample"
        )
    if comparison.has_grouped_items:
        lines.append("items of a conversation are not independent, so p and the interval understate the uncertainty")
    return lines


@dataclass(frozen=True, slots=True)
class RankedRun:
    run: int
    rank: int
    """Rank, from 1. Runs with the same pass rate have the same rank."""
    passed: int
    known: int
    """Number of items with verdicts of all runs, or, if there are none, with a verdict of this run."""

    @property
    def rate(self) -> float | None:
        return self.passed / self.known if self.known else None


@dataclass(frozen=True, slots=True)
class MatrixItem:
    aligned_item: AlignedItem
    verdicts: tuple[bool | None, ...]
    """Verdict of each run, in the order of the ranking."""
    passing: int
    known: int
    upset_score: float

    @property
    def failing(self) -> int:
        return self.known - self.passing


@dataclass(frozen=True, slots=True)
class RunMatrix:
    ranking: list[RankedRun]
    items: list[MatrixItem]
    """Items with a verdict, by share of passing runs (smallest first), then by number of verdicts (largest first)."""
    n_shared: int
    """Number of items with verdicts of all runs. If there are any, only these items determine the ranking."""
    n_other_question: int
    generations: tuple[str, ...]

    @property
    def upsets(self) -> list[MatrixItem]:
        """Items that stronger runs fail and weaker runs pass, largest upset score first."""
        return sorted((item for item in self.items if item.upset_score > 0), key=lambda item: -item.upset_score)


def build_run_matrix(runs: Sequence[Sequence[ItemOutcome]]) -> RunMatrix:
    """Match the items of all runs, and rank the runs and the items."""
    aligned = align_runs(runs)
    verdicts = [tuple(each.verdict if each else None for each in item.outcomes) for item in aligned.items]
    shared = [row for row in verdicts if None not in row]
    ranking = rank_runs(shared or verdicts, len(runs))
    strength = {each.run: each.rate or 0.0 for each in ranking}  # `_build_matrix_item` needs the order of the ranking.
    items = [_build_matrix_item(item, row, strength) for item, row in zip(aligned.items, verdicts, strict=True)]
    known = [item for item in items if item.known]
    hardest = sorted(known, key=lambda item: (item.passing / item.known, -item.known))
    return RunMatrix(ranking, hardest, len(shared), aligned.n_other_question, aligned.generations)


def rank_runs(verdicts: Sequence[Sequence[bool | None]], n_runs: int) -> list[RankedRun]:
    """Rank runs by pass rate. `verdicts` contains a row for each item, with the verdict of each run."""
    columns = [[row[run] for row in verdicts if row[run] is not None] for run in range(n_runs)]
    rates = [sum(map(bool, column)) / len(column) if column else -1.0 for column in columns]
    order = sorted(range(n_runs), key=lambda run: -rates[run])
    return [
        RankedRun(run, 1 + sum(other > rates[run] for other in rates), sum(map(bool, columns[run])), len(columns[run]))
        for run in order
    ]


def _build_matrix_item(item: AlignedItem, verdicts: Sequence[bool | None], strength: dict[int, float]) -> MatrixItem:
    passing = sorted(strength[run] for run, verdict in enumerate(verdicts) if verdict is True)
    failing = [strength[run] for run, verdict in enumerate(verdicts) if verdict is False]
    by_rank = tuple(verdicts[run] for run in strength)
    return MatrixItem(item, by_rank, len(passing), len(passing) + len(failing), compute_upset_score(passing, failing))


def compute_upset_score(passing_rates: Sequence[float], failing_rates: Sequence[float]) -> float:
    """Compute how much stronger an item's failing runs are than its passing runs, whose rates must be sorted: the
    Mann-Whitney U statistic as a standard score (1947), without correction for ties; 0 if all runs agree."""
    n, m = len(passing_rates), len(failing_rates)
    if not n or not m:
        return 0.0
    u = sum((bisect_left(passing_rates, each) + bisect_right(passing_rates, each)) / 2 for each in failing_rates)
    return (u - n * m / 2) / sqrt(n * m * (n + m + 1) / 12)
