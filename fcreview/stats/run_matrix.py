"""Compare many runs on the same items: rank the runs, and find the hardest items and the upsets.

An upset is an item that stronger runs fail and weaker runs pass.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from fcreview.stats.run_comparison import AlignedItem, ItemOutcome, align_runs


@dataclass(frozen=True, slots=True)
class RankedRun:
    """A run with its rank and pass rate."""

    run: int
    """Index of the run among the compared runs."""
    rank: int
    """Rank from 1; runs with the same rate have the same rank."""
    passed: int
    """Number of items that the run passes."""
    known: int
    """Number of items in the denominator: items with verdicts of all runs or, if there are none, items with a verdict
    of this run."""

    @property
    def rate(self) -> float | None:
        """Pass rate, 0 to 1; None without verdicts."""
        return self.passed / self.known if self.known else None


@dataclass(frozen=True, slots=True)
class MatrixItem:
    aligned_item: AlignedItem
    verdicts: tuple[bool | None, ...]
    """Verdict of each run, best run first."""
    passing: int
    """Number of runs that pass the item."""
    known: int
    """Number of runs with a verdict on the item."""
    upset_score: float
    """How much stronger the failing runs are than the passing runs (`compute_upset_score`)."""

    @property
    def failing(self) -> int:
        return self.known - self.passing


@dataclass(frozen=True, slots=True)
class RunMatrix:
    """Verdicts of many runs on many items."""

    ranking: list[RankedRun]
    """Runs, best first."""
    items: list[MatrixItem]
    """Items by share of passing runs, smallest first; then by number of verdicts, largest first; then in dataset
    order."""
    n_shared: int
    """Number of items with verdicts of all runs. These items determine the ranking; without any, all items do."""
    n_other_question: int
    """Number of question keys under which the runs contain different questions."""
    generations: tuple[str, ...]
    """Versions of the benchmark."""

    @property
    def upsets(self) -> list[MatrixItem]:
        """Items that stronger runs fail and weaker runs pass, largest upset score first."""
        return sorted((item for item in self.items if item.upset_score > 0), key=lambda item: -item.upset_score)


def build_run_matrix(runs: Sequence[Sequence[ItemOutcome]]) -> RunMatrix:
    """Align the items of all runs and rank the runs and the items."""
    aligned = align_runs(runs)
    verdicts = [tuple(each.verdict if each else None for each in item.outcomes) for item in aligned.items]
    shared = [row for row in verdicts if None not in row]
    ranking = rank_runs(shared or verdicts, len(runs))
    strength = {each.run: each.rate or 0.0 for each in ranking}  # The keys are in the order of the ranking.
    items = [_build_item(item, row, strength) for item, row in zip(aligned.items, verdicts, strict=True)]
    known = [item for item in items if item.known]
    hardest = sorted(known, key=lambda item: (item.passing / item.known, -item.known))
    return RunMatrix(ranking, hardest, len(shared), aligned.n_other_question, aligned.generations)


def rank_runs(verdicts: Sequence[Sequence[bool | None]], n_runs: int) -> list[RankedRun]:
    """Rank runs by pass rate. Runs with the same rate keep their order. `verdicts` has one row per item, with one
    verdict per run."""
    columns = [[row[run] for row in verdicts if row[run] is not None] for run in range(n_runs)]
    rates = [sum(map(bool, column)) / len(column) if column else -1.0 for column in columns]
    order = sorted(range(n_runs), key=lambda run: -rates[run])
    return [
        RankedRun(run, 1 + sum(other > rates[run] for other in rates), sum(map(bool, columns[run])), len(columns[run]))
        for run in order
    ]


def _build_item(item: AlignedItem, verdicts: Sequence[bool | None], strength: dict[int, float]) -> MatrixItem:
    passing = sorted(strength[run] for run, verdict in enumerate(verdicts) if verdict is True)
    failing = [strength[run] for run, verdict in enumerate(verdicts) if verdict is False]
    by_rank = tuple(verdicts[run] for run in strength)
    return MatrixItem(item, by_rank, len(passing), len(passing) + len(failing), compute_upset_score(passing, failing))


def compute_upset_score(passing: Sequence[float], failing: Sequence[float]) -> float:
    """Compute how much stronger the failing runs of an item are than the passing runs. `passing` contains the sorted
    pass rates of the passing runs, `failing` the pass rates of the failing runs. The score is the Mann-Whitney U as a
    standard score (Mann and Whitney 1947), without correction for ties. It is 0 if all runs pass or all fail."""
    n, m = len(passing), len(failing)
    if not n or not m:
        return 0.0
    u = sum((bisect_left(passing, each) + bisect_right(passing, each)) / 2 for each in failing)
    return (u - n * m / 2) / sqrt(n * m * (n + m + 1) / 12)
