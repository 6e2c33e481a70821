"""Many runs over the same items: which run is best, which items are hardest, where the best fail and the weak pass."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from fcreview.stats.run_comparison import AlignedItem, ItemOutcome, align_runs


@dataclass(frozen=True, slots=True)
class RankedRun:
    """A run's place among the others."""

    run: int
    """Its place in what was compared, from 0."""
    rank: int
    """From 1; runs with the same rate share one."""
    passed: int
    known: int
    """Items that the rate is over: those on which every run has a verdict, or if there is none its own."""

    @property
    def rate(self) -> float | None:
        return self.passed / self.known if self.known else None


@dataclass(frozen=True, slots=True)
class MatrixItem:
    """An item with the verdict of every run, best run first."""

    aligned_item: AlignedItem
    verdicts: tuple[bool | None, ...]
    passing: int
    known: int
    upset_score: float
    """How far runs that fail it are the stronger ones: Mann and Whitney's U of the strengths of failing and passing
    runs as a standard score; above 0 the failing are stronger. 0 where all pass or all fail."""

    @property
    def failing(self) -> int:
        return self.known - self.passing


@dataclass(frozen=True, slots=True)
class RunMatrix:
    ranking: list[RankedRun]
    """Best first."""
    items: list[MatrixItem]
    """Hardest first: the smallest share of passing runs; then the most runs, then the dataset's order."""
    n_shared: int
    """Items on which every run has a verdict: the ranking is over these. 0: over each run's own."""
    n_other_question: int
    generations: tuple[str, ...]

    @property
    def upsets(self) -> list[MatrixItem]:
        """Items that stronger runs fail and weaker pass, the most striking first."""
        return sorted((item for item in self.items if item.upset_score > 0), key=lambda item: -item.upset_score)


def build_run_matrix(runs: Sequence[Sequence[ItemOutcome]]) -> RunMatrix:
    both = align_runs(runs)
    verdicts = [tuple(each.verdict if each else None for each in row.outcomes) for row in both.items]
    shared = [row for row in verdicts if None not in row]
    ranking = rank_runs(shared or verdicts, len(runs))
    order = [each.run for each in ranking]
    strength = {each.run: each.rate or 0.0 for each in ranking}
    items = [_item(row, found, order, strength) for row, found in zip(both.items, verdicts, strict=True)]
    known = [item for item in items if item.known]
    hardest = sorted(known, key=lambda item: (item.passing / item.known, -item.known))
    return RunMatrix(ranking, hardest, len(shared), both.n_other_question, both.generations)


def rank_runs(rows: Sequence[Sequence[bool | None]], runs: int) -> list[RankedRun]:
    """Of runs by their pass rate over these rows; equals in the order given."""
    columns = [[row[run] for row in rows if row[run] is not None] for run in range(runs)]
    rates = [sum(map(bool, column)) / len(column) if column else -1.0 for column in columns]
    order = sorted(range(runs), key=lambda run: -rates[run])
    return [
        RankedRun(run, 1 + sum(other > rates[run] for other in rates), sum(map(bool, columns[run])), len(columns[run]))
        for run in order
    ]


def _item(row: AlignedItem, verdicts: Sequence[bool | None], order: Sequence[int], strength: dict[int, float]) -> MatrixItem:
    passing = sorted(strength[run] for run, verdict in enumerate(verdicts) if verdict is True)
    failing = [strength[run] for run, verdict in enumerate(verdicts) if verdict is False]
    return MatrixItem(
        row,
        tuple(verdicts[run] for run in order),
        len(passing),
        len(passing) + len(failing),
        compute_upset_score(passing, failing),
    )


def compute_upset_score(passing: Sequence[float], failing: Sequence[float]) -> float:
    """See `MatrixItem.upset`. `passing` in order; equal strengths count half (Mann and Whitney 1947, no correction of
    the spread for ties)."""
    n, m = len(passing), len(failing)
    if not n or not m:
        return 0.0
    stronger = sum((bisect_left(passing, each) + bisect_right(passing, each)) / 2 for each in failing)
    return (stronger - n * m / 2) / sqrt(n * m * (n + m + 1) / 12)
