"""Measure how often `fcreview compare` finds a difference between equal runs, and how often its
intervals are right.

* Trials: two runs with 50 tasks and 4 trials each. The success probabilities of the tasks are from
  a beta distribution and are the same in both runs, or as far apart as stated.
* BFCL Live: the verdicts of a pair of published runs. In each repetition, the verdicts of A and B
  on each function are exchanged with probability 1/2, so that both runs are equally good.

Usage: python benchmarks/coverage/compare.py [BENCH] [--repetitions N]   (BENCH: folder of published runs)
Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fcreview.importers.registry import discover, read_items
from fcreview.stats.paired_difference import ClusteredPairs, compute_difference
from fcreview.stats.run_comparison import Cluster, ItemOutcome, align_runs
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

TASKS = 50
TRIALS = 4
BENCH_FOLDERS = ("bfcl_v4", "bfcl_families/v3")
MIN_LIVE_ITEMS = 1000
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class TaskSetting:
    """Distribution of the success probabilities of tasks in two runs."""

    name: str
    a: tuple[float, float]
    """Parameters of the beta distribution of run A."""
    b: tuple[float, float]
    is_shared: bool
    """Whether both runs have the same easy and hard tasks."""


TASK_SETTINGS = (
    TaskSetting("equal, all probabilities", a=(1, 1), b=(1, 1), is_shared=True),
    TaskSetting("equal, tasks easy or hard", a=(0.3, 0.3), b=(0.3, 0.3), is_shared=True),
    TaskSetting("equal, tasks alike", a=(3, 3), b=(3, 3), is_shared=True),
    TaskSetting("equal, mostly hard", a=(0.5, 2), b=(0.5, 2), is_shared=True),
    TaskSetting("equal, mostly easy", a=(4, 0.5), b=(4, 0.5), is_shared=True),
    TaskSetting("equal, other tasks hard in B", a=(1, 1), b=(1, 1), is_shared=False),
    TaskSetting("A better by 33 points", a=(2, 1), b=(1, 2), is_shared=False),
    TaskSetting("A better by 10 points", a=(9, 1), b=(4, 1), is_shared=False),
)


@dataclass(frozen=True, slots=True)
class ComparisonCoverage:
    """Results of many comparisons whose true difference is known."""

    name: str
    rejected: float
    """Share of comparisons with p of at most 0.05."""
    covered: float
    half_width: float
    """Mean half-width of the interval, 0 to 1."""

    def format_row(self) -> str:
        rejected = f"{100 * self.rejected:.1f}"
        covered = f"{100 * self.covered:.1f}"
        return f"| {self.name} | {rejected} | {covered} | ±{100 * self.half_width:.1f} |"


def measure_comparisons(
    name: str,
    draw: Callable[[np.random.Generator], ClusteredPairs],
    *,
    truth: float,
    repetitions: int,
    seed: int,
) -> ComparisonCoverage:
    """Draw pairs of runs, and count how often their difference is significant and its interval
    right.
    """
    generator = np.random.default_rng(seed)
    rejected = 0
    covered = 0
    width = 0.0
    for _ in range(repetitions):
        difference = compute_difference(draw(generator))
        if difference.p is None or difference.low is None or difference.high is None:
            raise ValueError("a comparison has no items")
        rejected += difference.p <= LEVEL
        covered += difference.low - 1e-9 <= truth <= difference.high + 1e-9
        width += difference.high - difference.low
    return ComparisonCoverage(
        name,
        rejected=rejected / repetitions,
        covered=covered / repetitions,
        half_width=width / 2 / repetitions,
    )


def measure_trials(setting: TaskSetting, repetitions: int, seed: int = 1) -> ComparisonCoverage:
    """Measure comparisons of two runs with several trials of each task.

    A task has a chance to pass in each run. In a shared setting, the chances are the same.
    """

    def draw_trials(generator: np.random.Generator) -> ClusteredPairs:
        chances_a = generator.beta(*setting.a, TASKS)
        chances_b = chances_a if setting.is_shared else generator.beta(*setting.b, TASKS)
        passed_a = generator.binomial(TRIALS, chances_a)
        passed_b = generator.binomial(TRIALS, chances_b)
        return build_pairs([TRIALS] * TASKS, passed_a - passed_b)

    truth = setting.a[0] / sum(setting.a) - setting.b[0] / sum(setting.b)
    return measure_comparisons(
        setting.name, draw_trials, truth=truth, repetitions=repetitions, seed=seed
    )


def build_pairs(sizes: Sequence[int], differences: NDArray[np.int64]) -> ClusteredPairs:
    only_a = float(np.maximum(differences, 0).sum())
    only_b = float(np.maximum(-differences, 0).sum())
    return ClusteredPairs(sizes, differences.tolist(), only_a=only_a, only_b=only_b)


@dataclass(frozen=True, slots=True)
class LivePair:
    """Verdicts of two runs on BFCL Live, summed by function."""

    name: str
    sizes: Sequence[int]
    only_a: NDArray[np.int64]
    only_b: NDArray[np.int64]


def measure_shuffled_labels(pair: LivePair, repetitions: int, seed: int = 1) -> ComparisonCoverage:
    """Measure comparisons of two published runs whose verdicts are exchanged at random.

    The exchange makes the runs equal, so each significant difference is an error. All items of a
    function are exchanged together.
    """

    def exchange_verdicts(generator: np.random.Generator) -> ClusteredPairs:
        keeps = generator.random(len(pair.sizes)) < 0.5
        only_a = np.where(keeps, pair.only_a, pair.only_b)
        only_b = np.where(keeps, pair.only_b, pair.only_a)
        differences = (only_a - only_b).tolist()
        return ClusteredPairs(
            pair.sizes, differences, only_a=float(only_a.sum()), only_b=float(only_b.sum())
        )

    return measure_comparisons(
        pair.name, exchange_verdicts, truth=0.0, repetitions=repetitions, seed=seed
    )


def read_live_pairs(bench: Path, folder: Path) -> Iterator[LivePair]:
    """Yield each pair of published runs that have enough official verdicts on BFCL Live."""
    for name in BENCH_FOLDERS:
        runs = _read_live_outcomes(bench / name, folder / name.replace("/", "_"))
        for model_a, model_b in combinations(runs, 2):
            pair = _sum_by_function(f"{model_a}, {model_b}", runs[model_a], runs[model_b])
            if sum(pair.sizes) >= MIN_LIVE_ITEMS:
                yield pair


def _read_live_outcomes(source: Path, workspace_folder: Path) -> dict[str, list[ItemOutcome]]:
    """Import the runs of a folder, and return their official verdicts on the live categories, by
    run.
    """
    workspace = find_workspace(source, workspace_folder, create=True)
    import_runs(workspace, discover([source]).plans, read_items)
    with Store.open(workspace) as store:
        rows = store.fetch_runs()
        outcomes = store.analysis.fetch_outcomes(View(), [row.run for row in rows], "official")
    return {
        row.run_name: [
            each for each in outcomes[row.run] if each.question_key.category.startswith("live_")
        ]
        for row in rows
    }


def _sum_by_function(
    name: str, run_a: Sequence[ItemOutcome], run_b: Sequence[ItemOutcome]
) -> LivePair:
    """Count the items of each function that only one of the two runs passes."""
    sums: dict[Cluster, list[int]] = {}
    for item in align_runs([run_a, run_b]).complete_items:
        a, b = item.outcomes
        if a is None or b is None or a.verdict is None or b.verdict is None:
            continue
        # (items, items that only A passes, items that only B passes)
        counts = sums.setdefault(item.cluster, [0, 0, 0])
        counts[0] += 1
        counts[1] += a.verdict and not b.verdict
        counts[2] += b.verdict and not a.verdict
    table = np.array(list(sums.values()), dtype=np.int64).reshape(-1, 3)
    return LivePair(name, sizes=table[:, 0].tolist(), only_a=table[:, 1], only_b=table[:, 2])


def main() -> None:
    """Print a table of made runs and, if there is a folder of published runs, of those."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path, nargs="?")
    parser.add_argument("--repetitions", type=int, default=10_000)
    arguments = parser.parse_args()
    print("| runs | p ≤ 0.05, % | coverage, % | half-width |")
    print("|---|---|---|---|")
    for setting in TASK_SETTINGS:
        print(measure_trials(setting, arguments.repetitions).format_row(), flush=True)
    if arguments.bench is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        for pair in read_live_pairs(arguments.bench, Path(folder)):
            print(measure_shuffled_labels(pair, arguments.repetitions).format_row(), flush=True)


if __name__ == "__main__":
    main()
