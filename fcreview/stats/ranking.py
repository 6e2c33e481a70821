"""Rank runs, and find how certain each rank is, by a paired bootstrap over clusters of questions.

All runs are ranked by the same questions. Each draw of the bootstrap takes as many clusters as
there are, with replacement, and takes the same clusters for every run (Efron and Tibshirani 1993,
chapter 13). Clusters are those of `run_comparison`: all trials of a task are in one cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, floor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fcreview.stats.agreement_coefficients import FloatArray, IntArray
from fcreview.stats.conventions import (
    CONVENTIONS,
    TaskTerms,
    Trial,
    TrialTable,
    compute_task_terms,
    list_conventions,
)
from fcreview.stats.run_comparison import (
    AlignedItem,
    Cluster,
    ItemOutcome,
    has_all_verdicts,
)

BoolArray = NDArray[np.bool_]

DRAWS = 2000
SEED = 0
DRAWS_PER_STEP = 200  # number of draws that are in memory at a time
FEWEST_CLUSTERS = 30
"""Number of clusters below which bootstrap intervals are too narrow."""
EXCLUDED_SHARE = 0.025  # share of draws on each side of a 95 % interval
DECIMALS = 12
"""Decimals of the compared values. Values that differ by less are equal: the difference is a
rounding error of the sums.
"""


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Points and weight that the questions of one cluster add to the value of a run.

    The value is the sum of all points, divided by the sum of all weights.
    """

    points: float
    weight: float

    def __add__(self, other: ClusterSums) -> ClusterSums:
        return ClusterSums(self.points + other.points, self.weight + other.weight)


NO_SUMS = ClusterSums(points=0, weight=0)
RunSums = Mapping[Cluster, ClusterSums]


@dataclass(frozen=True, slots=True)
class RunRank:
    run: int
    """Index of the run in the runs that were ranked."""
    value: float | None
    """Share, from 0 to 1. None if the runs have no question in common."""
    rank: int | None = None
    """Rank, from 1. Runs with the same value have the same rank."""
    low: int | None = None
    """Best rank of the 95 % interval."""
    high: int | None = None
    """Worst rank of the 95 % interval."""
    not_told_apart: tuple[int, ...] = ()
    """Indexes of the runs that may be as good as this one."""
    groups: tuple[int, ...] = ()
    """Numbers, from 0, of the groups of runs that contain the run. No two runs of a group can be
    told apart, and each two runs that cannot be told apart have a group in common.
    """


@dataclass(frozen=True, slots=True)
class Ranking:
    ranks: Sequence[RunRank]
    """Runs, best first."""
    n_clusters: int

    @property
    def is_too_small(self) -> bool:
        """Whether there are so few clusters that the intervals are too narrow."""
        return 0 < self.n_clusters < FEWEST_CLUSTERS


RankingKind = Literal["official", "without incidents", "with errata", "convention"]
"""Which verdicts a ranking counts, and how.

`official`: the official verdicts, or the recomputed verdicts of runs without official ones.
`without incidents`: the same without the questions that are an incident in any run. `with errata`:
the same with the verdicts that accepted golden answers change. `convention`: the figures of a
counting convention.
"""
ACCURACY = "accuracy"
ALL_CONVENTIONS = "all conventions"


@dataclass(frozen=True, slots=True)
class NamedRanking:
    """A ranking with what it ranks by, and the questions that it covers."""

    kind: RankingKind
    ranking: Ranking
    n_questions: int
    """Number of items, or for a convention of tasks, by which the runs are ranked."""
    n_left_out: int
    """Number of items that lack a verdict, or of tasks that are missing, in at least one run."""
    figure: str = ACCURACY
    """Figure as in `ConventionRow`."""
    convention: str = ""
    """Names of the conventions that give this ranking, with commas."""
    n_changed: int = 0
    """Number of verdicts of all runs that errata change."""
    items: Sequence[AlignedItem] = ()
    """Items that the ranking counts, each with its outcomes in all runs."""


@dataclass(frozen=True, slots=True)
class DecidingItems:
    """Items on which the difference of two runs depends. On all others, both have one verdict."""

    only_first: Sequence[AlignedItem]
    """Items that only the first run passes."""
    only_second: Sequence[AlignedItem]

    @property
    def items(self) -> list[AlignedItem]:
        return [*self.only_first, *self.only_second]


def find_deciding_items(items: Iterable[AlignedItem], first: int, second: int) -> DecidingItems:
    """Find the items that exactly one of two runs passes. `first` and `second` are the indexes of
    the runs.

    An item without a verdict counts as not passed, as most conventions count it. If both runs lack
    the item or its verdict, the item decides nothing.
    """
    only_first = []
    only_second = []
    for item in items:
        first_passes = _has_passed(item.outcomes[first])
        second_passes = _has_passed(item.outcomes[second])
        if first_passes and not second_passes:
            only_first.append(item)
        elif second_passes and not first_passes:
            only_second.append(item)
    return DecidingItems(only_first, only_second)


def _has_passed(outcome: ItemOutcome | None) -> bool:
    return outcome is not None and outcome.verdict is True


def find_rival(ranking: Ranking, position: int) -> RunRank | None:
    """Return the run with which a run competes for its place: the next better one, and for the best
    run the second. None if there is no other run.

    Args:
        ranking: The ranking.
        position: Index of the run in `ranking.ranks`.
    """
    ranks = ranking.ranks
    if len(ranks) < 2:
        return None
    return ranks[position - 1] if position > 0 else ranks[1]


def rank_by_verdicts(kind: RankingKind, items: Sequence[AlignedItem], n_runs: int) -> NamedRanking:
    """Rank runs by their pass rate over the items with verdicts of all runs."""
    shared = [item for item in items if has_all_verdicts(item)]
    sums = [_sum_verdicts(shared, run) for run in range(n_runs)]
    return NamedRanking(
        kind,
        rank_by_sums(sums),
        n_questions=len(shared),
        n_left_out=len(items) - len(shared),
        items=shared,
    )


def _sum_verdicts(items: Sequence[AlignedItem], run: int) -> RunSums:
    """Sum the passing items and all items of each cluster. All items must have a verdict."""
    sums: dict[Cluster, ClusterSums] = {}
    for item in items:
        outcome = item.outcomes[run]
        passed = outcome is not None and outcome.verdict is True
        item_sums = ClusterSums(points=int(passed), weight=1)
        sums[item.cluster] = sums.get(item.cluster, NO_SUMS) + item_sums
    return sums


def rank_by_sums(runs: Sequence[RunSums], n_draws: int = DRAWS, seed: int = SEED) -> Ranking:
    """Rank runs by their values, with the 95 % interval of each rank from random draws.

    Two runs can be told apart if one of them has the higher value in more than 97.5 % of the draws:
    then the 95 % interval of their difference does not contain 0. There is no correction for the
    number of runs.
    """
    clusters = _list_clusters(runs)
    if not clusters:
        ranks = [RunRank(run, value=None) for run in range(len(runs))]
        return Ranking(ranks, n_clusters=0)

    points, weights = _build_arrays(runs, clusters)
    values = _RunValues(
        exact=[_compute_value(points[:, run], weights[:, run]) for run in range(len(runs))],
        rounded=_divide(points.sum(axis=0), weights.sum(axis=0)),
        drawn=_draw_values(points, weights, n_draws, seed),
    )
    # Runs with equal values keep their order.
    best_first = [int(run) for run in np.argsort(-values.rounded, kind="stable")]
    ranks = _rank_runs(values, best_first)
    return Ranking(ranks, n_clusters=len(clusters))


@dataclass(frozen=True, slots=True)
class _RunValues:
    """The values of runs. A run is an index: of an entry, or of a column of `drawn`."""

    exact: Sequence[float | None]
    """The values to show. None for a run without any weight."""
    rounded: FloatArray
    """Values in which equal runs are equal, of shape (runs,). They are compared."""
    drawn: FloatArray
    """Values that the runs could have with other questions, of shape (draws, runs)."""


def _rank_runs(values: _RunValues, best_first: Sequence[int]) -> list[RunRank]:
    """Return the rank of each run, in this order of the runs."""
    is_not_told_apart = _find_pairs_not_told_apart(values.rounded, values.drawn)
    groups = _group_runs(best_first, is_not_told_apart)
    ranks = []
    for run in best_first:
        low, high = _find_rank_interval(_rank_in_draws(values.drawn, run))
        rank = RunRank(
            run,
            value=values.exact[run],
            rank=_find_rank(values.rounded, run),
            low=low,
            high=high,
            not_told_apart=_list_runs_not_told_apart(is_not_told_apart, run),
            groups=_find_groups_of_run(groups, run),
        )
        ranks.append(rank)
    return ranks


def _list_clusters(runs: Iterable[RunSums]) -> list[Cluster]:
    """Return the clusters of all runs. They are sorted, so that the draws do not depend on the
    order of the runs.
    """
    clusters: set[Cluster] = set()
    for sums in runs:
        clusters.update(sums)
    return sorted(clusters)


def _list_runs_not_told_apart(is_not_told_apart: BoolArray, run: int) -> tuple[int, ...]:
    """Return the runs that cannot be told apart from a run."""
    others: list[int] = np.flatnonzero(is_not_told_apart[run]).tolist()
    return tuple(others)


def _find_rank(values: FloatArray, run: int) -> int:
    """Return the rank of a run, from 1. Runs with equal values have equal ranks."""
    n_better = np.sum(values > values[run])
    return 1 + int(n_better)


def _find_groups_of_run(groups: Sequence[set[int]], run: int) -> tuple[int, ...]:
    return tuple(number for number, group in enumerate(groups) if run in group)


def _build_arrays(
    runs: Sequence[RunSums], clusters: Sequence[Cluster]
) -> tuple[FloatArray, FloatArray]:
    """Return the points and the weights, as arrays of clusters by runs."""
    shape = len(clusters), len(runs)
    points = np.zeros(shape)
    weights = np.zeros(shape)
    for run, sums in enumerate(runs):
        for row, cluster in enumerate(clusters):
            cluster_sums = sums.get(cluster, NO_SUMS)
            points[row, run] = cluster_sums.points
            weights[row, run] = cluster_sums.weight
    return points, weights


def _compute_value(points: FloatArray, weights: FloatArray) -> float | None:
    """Return the value of one run; None without any weight."""
    weight = float(weights.sum())
    return float(points.sum()) / weight if weight else None


NO_VALUE_RANKS_LAST = -1.0


def _divide(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the values of runs, rounded to compare them. A run without any weight comes last."""
    values = np.full_like(points, NO_VALUE_RANKS_LAST)
    np.divide(points, weights, out=values, where=weights > 0)
    return np.round(values, DECIMALS)


def _draw_values(points: FloatArray, weights: FloatArray, n_draws: int, seed: int) -> FloatArray:
    """Return the values of the runs in each draw, as an array of draws by runs."""
    generator = np.random.default_rng(seed)
    n_clusters = len(points)
    drawn = []
    for start in range(0, n_draws, DRAWS_PER_STEP):
        n_draws_of_step = min(DRAWS_PER_STEP, n_draws - start)
        counts = _draw_cluster_counts(generator, n_clusters, n_draws_of_step)
        drawn.append(_divide(counts @ points, counts @ weights))
    return np.concatenate(drawn)


def _draw_cluster_counts(
    generator: np.random.Generator, n_clusters: int, n_draws: int
) -> FloatArray:
    """Draw as many clusters as there are, with replacement, `n_draws` times (bootstrap).

    Returns how often each draw contains each cluster, as an array of draws by clusters.
    """
    counts = np.empty((n_draws, n_clusters), dtype=np.float64)
    for draw in range(n_draws):
        chosen = generator.integers(n_clusters, size=n_clusters)
        counts[draw] = np.bincount(chosen, minlength=n_clusters)
    return counts


def _rank_in_draws(drawn: FloatArray, run: int) -> IntArray:
    """Return the rank of a run in each draw."""
    is_better = drawn > drawn[:, run : run + 1]
    ranks: IntArray = 1 + is_better.sum(axis=1)
    return ranks


def _find_rank_interval(ranks: IntArray) -> tuple[int, int]:
    """Return the lowest and highest rank of the middle 95 % of the draws.

    Ends between two ranks are moved outwards.
    """
    lowest_first = np.sort(ranks)
    last = len(ranks) - 1
    low = lowest_first[floor(EXCLUDED_SHARE * last)]
    high = lowest_first[ceil((1 - EXCLUDED_SHARE) * last)]
    return int(low), int(high)


def _find_pairs_not_told_apart(values: FloatArray, drawn: FloatArray) -> BoolArray:
    """Return for each pair of runs whether they cannot be told apart: neither is better in nearly
    all draws, or their values are equal. A run has no pair with itself.

    Args:
        values: The value of each run.
        drawn: Random draws of the values, of shape (draws, runs).
    """
    n_draws, n_runs = drawn.shape
    # Whether the run of the row is better than the run of the column in nearly all draws.
    is_better = np.zeros((n_runs, n_runs), dtype=np.bool_)
    for run in range(n_runs):
        n_draws_with_better = (drawn > drawn[:, run, np.newaxis]).sum(axis=0)
        is_better[:, run] = n_draws_with_better > (1 - EXCLUDED_SHARE) * n_draws

    has_equal_values = values[:, np.newaxis] == values
    is_not_told_apart: BoolArray = ~(is_better | is_better.T) | has_equal_values
    np.fill_diagonal(is_not_told_apart, val=False)
    return is_not_told_apart


def _group_runs(best_first: Sequence[int], is_not_told_apart: BoolArray) -> list[set[int]]:
    """Return the groups of runs that cannot be told apart.

    A run can be in several groups, and a run that can be told apart from all others is in none.
    """
    groups: list[set[int]] = []
    for better, worse in combinations(best_first, 2):
        if not is_not_told_apart[better, worse]:
            continue
        pair = {better, worse}
        is_in_a_group = any(pair <= group for group in groups)
        if not is_in_a_group:
            groups.append(_extend_group(pair, best_first, is_not_told_apart))
    return groups


def _extend_group(
    pair: set[int], best_first: Sequence[int], is_not_told_apart: BoolArray
) -> set[int]:
    """Add each run that cannot be told apart from any run of the group, best first."""
    group = set(pair)
    for run in best_first:
        if run not in group and all(is_not_told_apart[run, member] for member in group):
            group.add(run)
    return group


@dataclass(frozen=True, slots=True)
class RunTrials:
    """The trials of a run."""

    table: TrialTable
    items: Sequence[int]
    """Number of the item of each trial."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A task, the same in all runs."""

    key: Cluster
    cluster: Cluster


def rank_by_conventions(
    aligned_items: Sequence[AlignedItem], runs: Sequence[RunTrials]
) -> list[NamedRanking]:
    """Rank runs by each figure, such as pass^4, over the tasks that all runs have.

    A convention is a rule that says which trials count, and how. If several conventions have the
    same result, they share one ranking. A figure that cannot be computed for every run, such as
    pass^4 with three trials, has no ranking.
    """
    tasks_by_item = _find_tasks_by_item(aligned_items)
    tasks_by_run = [_find_tasks_of_run(run, tasks_by_item) for run in runs]
    keys_by_run = [{task.key for task in tasks.values()} for tasks in tasks_by_run]
    all_keys = set().union(*keys_by_run)
    shared_keys = all_keys.intersection(*keys_by_run)

    shared_tables = []
    for run, tasks in zip(runs, tasks_by_run, strict=True):
        shared_tables.append(_select_tasks(run.table, tasks, shared_keys))
    shared_items = _select_items_of_tasks(aligned_items, tasks_by_item, shared_keys)

    rankings = []
    for figure, sums_by_convention in _sum_figures(shared_tables, tasks_by_run).items():
        for merged in _merge_equal_conventions(sums_by_convention):
            ranking = NamedRanking(
                "convention",
                rank_by_sums(merged.sums),
                n_questions=len(shared_keys),
                n_left_out=len(all_keys) - len(shared_keys),
                figure=figure,
                convention=merged.names,
                items=shared_items,
            )
            rankings.append(ranking)
    return rankings


def _select_items_of_tasks(
    aligned_items: Sequence[AlignedItem],
    tasks_by_item: Mapping[int, _Task],
    keys: Collection[Cluster],
) -> list[AlignedItem]:
    """Return the items that are trials of the tasks with these keys."""
    selected = []
    for aligned_item in aligned_items:
        # The items of all runs at a position are trials of the same task.
        outcomes = [outcome for outcome in aligned_item.outcomes if outcome is not None]
        if outcomes and tasks_by_item[outcomes[0].item].key in keys:
            selected.append(aligned_item)
    return selected


def _sum_figures(
    tables: Sequence[TrialTable], tasks_by_run: Sequence[Mapping[str, _Task]]
) -> dict[str, dict[str, list[RunSums]]]:
    """Return figure -> convention -> sums of each run."""
    sums_by_figure: dict[str, dict[str, list[RunSums]]] = {}
    for convention in _list_common_conventions(tables):
        for figure, sums in _sum_convention(convention, tables, tasks_by_run).items():
            sums_by_figure.setdefault(figure, {})[convention] = sums
    return sums_by_figure


def _find_tasks_by_item(aligned_items: Sequence[AlignedItem]) -> dict[int, _Task]:
    """Return the task of each item, by item number. An item that is not a trial of a task counts as
    a task by itself.
    """
    tasks: dict[int, _Task] = {}
    for position, aligned_item in enumerate(aligned_items):
        key = aligned_item.task or ("item", str(position))
        task = _Task(key, aligned_item.cluster)
        for outcome in aligned_item.outcomes:
            if outcome is not None:
                tasks[outcome.item] = task
    return tasks


def _find_tasks_of_run(run: RunTrials, tasks_by_item: Mapping[int, _Task]) -> dict[str, _Task]:
    """Return the task of each task name of a run: that of its first trial."""
    tasks: dict[str, _Task] = {}
    for trial, item in zip(run.table.trials, run.items, strict=True):
        tasks.setdefault(trial.task, tasks_by_item[item])
    return tasks


def _select_tasks(table: TrialTable, tasks: Mapping[str, _Task], keys: set[Cluster]) -> TrialTable:
    trials: list[Trial] = []
    for trial in table.trials:
        if tasks[trial.task].key in keys:
            trials.append(trial)
    return replace(table, trials=trials)


def _list_common_conventions(tables: Sequence[TrialTable]) -> list[str]:
    """Return the conventions that apply to all runs, in the order of the first run."""
    first_table, *other_tables = tables
    common = list_conventions(first_table)
    for table in other_tables:
        names = list_conventions(table)
        common = [name for name in common if name in names]
    return common


def _sum_convention(
    convention: str, tables: Sequence[TrialTable], tasks_by_run: Sequence[Mapping[str, _Task]]
) -> dict[str, list[RunSums]]:
    """Return the sums of each run by figure, such as `pass^2`.

    A figure that cannot be computed for every run is left out.
    """
    sums_by_figure: defaultdict[str, list[RunSums]] = defaultdict(list)
    for table, tasks in zip(tables, tasks_by_run, strict=True):
        terms_by_figure = compute_task_terms(table, CONVENTIONS[convention])
        for figure, terms in terms_by_figure.items():
            sums_by_figure[figure].append(_sum_terms(terms, tasks))

    n_runs = len(tables)
    return {figure: sums for figure, sums in sums_by_figure.items() if len(sums) == n_runs}


def _sum_terms(terms: TaskTerms, tasks: Mapping[str, _Task]) -> RunSums:
    """Add what the tasks of each cluster contribute to the score of a run."""
    sums: dict[Cluster, ClusterSums] = {}
    for name, term in terms.items():
        cluster = tasks[name].cluster
        task_sums = ClusterSums(term.points, term.weight)
        sums[cluster] = sums.get(cluster, NO_SUMS) + task_sums
    return sums


@dataclass(frozen=True, slots=True)
class _ConventionSums:
    names: str
    sums: list[RunSums]


def _merge_equal_conventions(
    sums_by_convention: Mapping[str, list[RunSums]],
) -> list[_ConventionSums]:
    """Merge the conventions with equal sums into one entry, which has all their names."""
    merged: list[_ConventionSums] = []
    for name, sums in sums_by_convention.items():
        position = _find_equal_sums(merged, sums)
        if position is None:
            merged.append(_ConventionSums(name, sums))
        else:
            equal = merged[position]
            merged[position] = replace(equal, names=f"{equal.names}, {name}")

    all_are_equal = len(merged) == 1 and len(sums_by_convention) > 1
    if all_are_equal:
        return [replace(merged[0], names=ALL_CONVENTIONS)]
    return merged


def _find_equal_sums(merged: Sequence[_ConventionSums], sums: list[RunSums]) -> int | None:
    for position, earlier in enumerate(merged):
        if earlier.sums == sums:
            return position
    return None
