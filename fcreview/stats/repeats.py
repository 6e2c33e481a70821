"""Summarize runs that repeat the same questions, such as several runs of one model, and compare
such groups of runs.

Each run is a trial of each question. The mean of the runs depends on both, the sample of questions
and the chance of each answer. Intervals are by clusters of questions (Miller 2024, arXiv
2411.00640): all answers to a question, by all runs of the group, are in one cluster, so that both
kinds of chance are part of the variance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from statistics import stdev

from fcreview.stats.paired_difference import (
    ClusteredPairs,
    RateDifference,
    adjust_by_holm,
    compute_difference,
    compute_quantile_ratio,
    compute_wilson_interval_of_share,
)
from fcreview.stats.run_comparison import AlignedItem, Cluster

MAX_K = 16
"""Largest k of pass^k and pass@k. More runs of one model are rare, and the table stays short."""


@dataclass(frozen=True, slots=True)
class RepeatedFigure:
    """A figure of a group of runs, such as pass^2, from 0 to 1, with its 95 % interval.

    The interval treats the questions of a cluster as dependent. It is None if there are fewer than
    two clusters.
    """

    name: str
    """`mean`, `pass^2`, `pass@2` ..."""
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """Difference of the means of two groups: this group minus the best one."""

    best: int
    """Index of the best group."""
    difference: RateDifference
    n_questions: int
    """Number of questions that both groups answer in every run."""
    p_holm: float | None = None
    """p value, corrected for the number of groups that are compared with the best one."""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs that repeat the same questions."""

    name: str
    runs: Sequence[int]
    """Indexes of the runs in the outcomes of each aligned item."""


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """Figures of a group of runs, over the questions with a verdict in every run of the group."""

    group: RunGroup
    n_questions: int
    n_left_out: int
    """Number of questions that lack a verdict in at least one run of the group."""
    n_clusters: int
    run_values: Sequence[float]
    """Pass rate of each run."""
    figures: Sequence[RepeatedFigure]
    """The mean of the runs, then pass^k and pass@k for each k from 2."""
    n_unstable: int
    """Number of questions that some trials pass and others fail."""
    versus_best: GroupDifference | None = None
    """None for the best group, and without a common question."""

    @property
    def mean(self) -> RepeatedFigure | None:
        return self.figures[0] if self.figures else None

    @property
    def spread(self) -> float | None:
        """Standard deviation of the pass rates of the runs; None for a single run."""
        return stdev(self.run_values) if len(self.run_values) > 1 else None


def summarize_groups(
    items: Sequence[AlignedItem], groups: Sequence[RunGroup]
) -> list[GroupSummary]:
    """Summarize groups of runs of one benchmark, and compare each group with the best one.

    The group with the best mean comes first.
    """
    summaries = [_summarize_group(items, group) for group in groups]
    # Groups without a common question have no mean and come last.
    summaries.sort(key=_get_sort_key)
    if not summaries or summaries[0].mean is None:
        return summaries

    best_summary, *other_summaries = summaries
    best_group = best_summary.group
    best_index = groups.index(best_group)
    compared = []
    for summary in other_summaries:
        # None if the groups have no common question.
        difference = _compare_groups(items, summary.group, best_group, best_index=best_index)
        compared.append(replace(summary, versus_best=difference))
    return [best_summary, *_correct_p_values(compared)]


def _get_sort_key(summary: GroupSummary) -> float:
    return -summary.mean.value if summary.mean is not None else 1.0


@dataclass(frozen=True, slots=True)
class _Question:
    """A question with all its trials, which are its items in all runs of each group."""

    cluster: Cluster
    passes_by_group: list[list[bool]]

    @property
    def passes(self) -> list[bool]:
        """Whether each trial of the first group passed."""
        return self.passes_by_group[0]


def _collect_questions(items: Iterable[AlignedItem], *groups: RunGroup) -> list[_Question]:
    """Return the questions with a verdict in every run of the groups.

    A question has several items if its task was tried several times.
    """
    items_by_question: dict[Cluster, list[AlignedItem]] = {}
    for position, item in enumerate(items):
        key = _get_question_key(item, position)
        items_by_question.setdefault(key, []).append(item)

    questions = []
    for items_of_question in items_by_question.values():
        verdicts_by_group = [_list_all_verdicts(items_of_question, group) for group in groups]
        if any(None in verdicts for verdicts in verdicts_by_group):
            continue
        passes_by_group = [
            [verdict is True for verdict in verdicts] for verdicts in verdicts_by_group
        ]
        questions.append(_Question(items_of_question[0].cluster, passes_by_group))
    return questions


def _list_all_verdicts(items: Iterable[AlignedItem], group: RunGroup) -> list[bool | None]:
    """Return the verdicts of the runs of the group on the first item, then on the second ..."""
    verdicts: list[bool | None] = []
    for item in items:
        verdicts += _list_verdicts(item, group)
    return verdicts


def _get_question_key(item: AlignedItem, position: int) -> Cluster:
    return item.task or ("item", str(position))


def _list_verdicts(item: AlignedItem, group: RunGroup) -> list[bool | None]:
    """Return the verdict of each run of the group. None if a run lacks the item or its verdict."""
    verdicts = []
    for run in group.runs:
        outcome = item.outcomes[run]
        verdicts.append(None if outcome is None else outcome.verdict)
    return verdicts


def _summarize_group(items: Sequence[AlignedItem], group: RunGroup) -> GroupSummary:
    """Return the figures of a group of runs, from the questions that all its runs answer."""
    questions = _collect_questions(items, group)
    all_keys = {_get_question_key(item, position) for position, item in enumerate(items)}
    clusters = {question.cluster for question in questions}
    # The runs pass an unstable question only sometimes.
    unstable_questions = [question for question in questions if len(set(question.passes)) > 1]
    summary = GroupSummary(
        group,
        n_questions=len(questions),
        n_left_out=len(all_keys) - len(questions),
        n_clusters=len(clusters),
        run_values=_compute_run_values(items, group),
        figures=(),
        n_unstable=len(unstable_questions),
    )
    if not questions:
        return summary
    return replace(summary, figures=_compute_figures(questions))


def _compute_run_values(items: Iterable[AlignedItem], group: RunGroup) -> list[float]:
    """Return the pass rate of each run over the items with a verdict in every run of the group."""
    shared = []
    for item in items:
        verdicts = _list_verdicts(item, group)
        if None not in verdicts:
            shared.append(verdicts)
    if not shared:
        return []
    return [
        sum(verdicts[index] is True for verdicts in shared) / len(shared)
        for index in range(len(group.runs))
    ]


def _compute_figures(questions: Sequence[_Question]) -> list[RepeatedFigure]:
    """Compute the mean pass rate, and pass^k and pass@k for each k.

    These are the probabilities that all of k trials pass, and that at least one of them passes. The
    largest k is the smallest number of trials of any question.
    """
    figures = [_estimate_mean_pass_rate(questions)]
    fewest_trials = min(len(question.passes) for question in questions)
    for k in range(2, min(MAX_K, fewest_trials) + 1):
        figures.append(_estimate_figure(f"pass^{k}", questions, compute_pass_hat_k, k))
        figures.append(_estimate_figure(f"pass@{k}", questions, compute_pass_at_k, k))
    return figures


def _estimate_mean_pass_rate(questions: Sequence[_Question]) -> RepeatedFigure:
    """Estimate the share of passing trials. A question with more trials counts more."""
    shares = [
        _WeightedShare(
            question.cluster, points=Fraction(sum(question.passes)), weight=len(question.passes)
        )
        for question in questions
    ]
    return _estimate_mean("mean", shares)


def _estimate_figure(
    name: str, questions: Sequence[_Question], compute: Callable[[int, int, int], Fraction], k: int
) -> RepeatedFigure:
    """Estimate the mean of pass^k or pass@k over the questions, which all count alike.

    Args:
        name: The name of the figure, such as `pass^2`.
        questions: The questions, with their trials.
        compute: Computes the figure of a question from its passes, its trials, and k.
        k: The number of trials of which the figure speaks.
    """
    shares = []
    for question in questions:
        points = compute(sum(question.passes), len(question.passes), k)
        shares.append(_WeightedShare(question.cluster, points=points, weight=1))
    return _estimate_mean(name, shares)


def compute_pass_hat_k(n_passed: int, n_trials: int, k: int) -> Fraction:
    """Return the probability that k trials, drawn from `n_trials` without replacement, all pass
    (tau-bench, arXiv 2406.12045, section 4.1).
    """
    return Fraction(comb(n_passed, k), comb(n_trials, k))


def compute_pass_at_k(n_passed: int, n_trials: int, k: int) -> Fraction:
    """Return the probability that at least one of k trials, drawn from `n_trials` without
    replacement, passes (Chen et al. 2021, arXiv 2107.03374, equation 1).
    """
    return 1 - Fraction(comb(n_trials - n_passed, k), comb(n_trials, k))


@dataclass(frozen=True, slots=True)
class _WeightedShare:
    """What a question adds to a mean: its points, out of at most `weight`."""

    cluster: Cluster
    points: Fraction
    weight: int


def _estimate_mean(name: str, shares: Sequence[_WeightedShare]) -> RepeatedFigure:
    """Estimate the sum of all points, divided by the sum of all weights, with its interval."""
    points_by_cluster: defaultdict[Cluster, Fraction] = defaultdict(Fraction)
    weight_by_cluster: defaultdict[Cluster, int] = defaultdict(int)
    for share in shares:
        points_by_cluster[share.cluster] += share.points
        weight_by_cluster[share.cluster] += share.weight

    total_points = sum(points_by_cluster.values(), Fraction(0))
    total_weight = sum(weight_by_cluster.values())
    value = total_points / total_weight
    deviations = []
    for cluster, points in points_by_cluster.items():
        expected_points = value * weight_by_cluster[cluster]
        deviations.append(float(points - expected_points))
    low, high = _compute_interval(float(value), deviations, total_weight)
    return RepeatedFigure(name, float(value), low=low, high=high)


def _compute_interval(
    value: float, deviations: Sequence[float], total_weight: int
) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a share, of which the items of a cluster depend on each other.

    It is Wilson's interval for as many independent items as would have the same variance, with the
    quantile of Student's t distribution.

    Args:
        value: The share.
        deviations: For each cluster its points minus `value` times its weight.
        total_weight: The sum of the weights of all clusters.
    """
    n_clusters = len(deviations)
    if n_clusters < 2:
        return None, None

    variance = _estimate_variance(value, deviations, total_weight)
    if variance > 0 and not _is_at_limit(value, n_clusters):
        # The variance of a share of n independent items is value (1 - value) / n.
        effective_n = value * (1 - value) / variance
    else:
        # The sample does not show the variance. Then each cluster counts as one independent item.
        effective_n = float(n_clusters)

    # A half-width is the quantile divided by the square root of n, so n is divided by the square.
    quantile_ratio = compute_quantile_ratio(n_clusters)
    return compute_wilson_interval_of_share(value, effective_n / quantile_ratio**2)


def _estimate_variance(value: float, deviations: Sequence[float], total_weight: int) -> float:
    """Estimate the variance of a share from the deviations d of n clusters with the total weight W,
    as that of a ratio (Cochran 1977, Sampling Techniques, chapter 6):

        n / (n - 1) * (sum of d^2) / W^2

    With few unequal answers the variance is uncertain, and often too small. One more deviation, of
    a cluster with the mean weight that is answered all right or all wrong, keeps it from being much
    too small.
    """
    n_clusters = len(deviations)
    mean_weight = total_weight / n_clusters
    extra_square = value * (1 - value) * mean_weight**2
    squares = sum(deviation**2 for deviation in deviations) + extra_square
    return squares * n_clusters / (n_clusters - 1) / total_weight**2


def _is_at_limit(share: float, n_clusters: int) -> bool:
    """Whether a share is so close to 0 or to 1 that its variance cannot be estimated from the
    sample.

    This is the case if the distance from 0 or 1 is smaller than 1 / `n_clusters`, the share of one
    cluster.
    """
    return n_clusters * min(share, 1 - share) < 1


def _compare_groups(
    items: Sequence[AlignedItem], group: RunGroup, best: RunGroup, *, best_index: int
) -> GroupDifference | None:
    """Compare the mean of a group of runs with that of the best group, by the questions that all
    runs of both answer. `best_index` is the index of the best group.

    Returns None if there is no such question. A question counts as often as the group with fewer
    trials tried it. The questions of a cluster depend on each other, so the test is McNemar's test
    for clusters.
    """
    questions = _collect_questions(items, group, best)
    if not questions:
        return None

    pairs = _pair_trials(questions)
    return GroupDifference(best_index, compute_difference(pairs), n_questions=len(questions))


def _pair_trials(questions: Sequence[_Question]) -> ClusteredPairs:
    """Pair the trials of two groups of runs at each question, and add up the pairs by cluster.

    Which trials of two runs are a pair has no meaning, so all pairs count alike: the counts are
    those that random pairs have on average.
    """
    sizes: defaultdict[Cluster, int] = defaultdict(int)
    differences: defaultdict[Cluster, Fraction] = defaultdict(Fraction)
    only_first = Fraction(0)
    only_second = Fraction(0)
    for question in questions:
        pairs = _TrialPairs.build(question)
        sizes[question.cluster] += pairs.n
        differences[question.cluster] += pairs.only_first - pairs.only_second
        only_first += pairs.only_first
        only_second += pairs.only_second
    return ClusteredPairs(
        sizes=list(sizes.values()),
        differences=list(differences.values()),
        only_a=float(only_first),
        only_b=float(only_second),
    )


@dataclass(frozen=True, slots=True)
class _TrialPairs:
    """Pairs of a trial of the first group and one of the second, at one question."""

    n: int
    """Number of pairs: the trials of the group with fewer trials."""
    only_first: Fraction
    """Expected number of random pairs in which only the trial of the first group passes."""
    only_second: Fraction

    @classmethod
    def build(cls, question: _Question) -> _TrialPairs:
        first_passes, second_passes = question.passes_by_group
        first_rate = Fraction(sum(first_passes), len(first_passes))
        second_rate = Fraction(sum(second_passes), len(second_passes))
        n_pairs = min(len(first_passes), len(second_passes))
        return cls(
            n_pairs,
            only_first=n_pairs * first_rate * (1 - second_rate),
            only_second=n_pairs * second_rate * (1 - first_rate),
        )


def _correct_p_values(summaries: Sequence[GroupSummary]) -> list[GroupSummary]:
    """Add the p values that are corrected for the number of compared groups (Holm 1979)."""
    p_value_by_index: dict[int, float] = {}
    for index, summary in enumerate(summaries):
        if summary.versus_best is not None and summary.versus_best.difference.p is not None:
            p_value_by_index[index] = summary.versus_best.difference.p
    corrected = adjust_by_holm(list(p_value_by_index.values()))

    results = list(summaries)
    for index, p_holm in zip(p_value_by_index, corrected, strict=True):
        versus_best = summaries[index].versus_best
        if versus_best is not None:
            versus_best = replace(versus_best, p_holm=p_holm)
        results[index] = replace(summaries[index], versus_best=versus_best)
    return results
