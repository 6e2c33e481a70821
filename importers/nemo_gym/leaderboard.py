"""Compute the metrics of NeMo Gym as `nemo_gym/reward_profile.py` does (commit 07d6b0d07).

`mean/X` and the like describe each numeric field of the rollouts and of the token usage. `pass@k`
is computed over tasks, in percent. Failed attempts are in no figure, unless a person gave them a
verdict.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from fcreview.importers.common.effective_scores import apply_derived_verdict, get_effective_score
from fcreview.importers.common.records import as_object, is_number
from fcreview.importers.nemo_gym.read import FAILED_KEY, ROLLOUT_KEY, TASK_KEY, USAGE_KEY
from fcreview.model.derivation import PASSING_REWARD_KEY
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, build_category_metrics
from fcreview.model.verdict import TOTAL_REWARD

BENCHMARK = "nemo_gym"
REWARD = "reward"
ANSWER_KEY = "extracted_answer"
OWN_KEYS = frozenset({PASSING_REWARD_KEY, TASK_KEY, ROLLOUT_KEY})
"""Numbers in the metadata that are not fields of the rollout."""
MAX_FIELDS = 100
"""Number of fields with statistics."""
MAX_K = 64
DIGITS = 4
Scores = Sequence[float]


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute the metrics of NeMo Gym over the finished rollouts. Failed ones are only counted."""
    failed = [item for item in items if _is_left_out(item)]
    finished = [apply_derived_verdict(item, BENCHMARK) for item in items if not _is_left_out(item)]
    metrics = build_category_metrics(items=finished)
    if failed:
        note = "they are in no other figure"
        metrics.append(Metric("rollouts", "failed", value=len(failed), unit="count", note=note))
    metrics += _compute_pass_metrics(finished)
    metrics += _compute_field_statistics(finished)
    return metrics


def _is_left_out(item: ScoredItem) -> bool:
    """Whether an item is a failed attempt. It has a verdict only if a person gave one, and then
    counts as in the list of runs.
    """
    return FAILED_KEY in item.metadata and item.valid is None


def get_effective_reward(item: ScoredItem) -> float | None:
    """Return the reward of a rollout, with reviews."""
    return get_effective_score(item, BENCHMARK, TOTAL_REWARD)


# -- statistics of fields


def _compute_field_statistics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute NeMo Gym's statistics of each numeric field of the rollouts, such as the mean and the
    standard deviation.
    """
    values_by_field: defaultdict[str, list[float]] = defaultdict(list)
    for item in items:
        for name, value in _list_numbers(item).items():
            values_by_field[name].append(value)

    metrics: list[Metric] = []
    for statistic in STATISTICS:
        for name, values in list(values_by_field.items())[:MAX_FIELDS]:
            # NeMo Gym leaves out the deviation of a field that only one of several rollouts has.
            has_one_of_several = len(values) == 1 and len(items) > 1
            if statistic == "std" and has_one_of_several:
                continue
            metrics.append(_make_statistic(statistic, name, values, n_rollouts=len(items)))
    return metrics


def _make_statistic(
    statistic: str, name: str, values: Sequence[float], *, n_rollouts: int
) -> Metric:
    """Make a statistic of a field. `values` are those of the rollouts that have the field."""
    return Metric(
        statistic,
        f"{statistic}/{name}",
        value=STATISTICS[statistic](values),
        unit="score",
        n=len(values),
        total=n_rollouts,
        counted_noun="rollouts",
        digits=DIGITS,
        measures_spread=statistic == "std",
    )


def _list_numbers(item: ScoredItem) -> dict[str, float]:
    """Return the reward and each numeric field of a rollout. True counts as 1."""
    numbers: dict[str, float] = {}
    reward = get_effective_reward(item)
    if reward is not None:
        numbers[REWARD] = reward
    fields = {**item.metadata, **as_object(item.metadata.get(USAGE_KEY))}
    for name, value in fields.items():
        if name not in OWN_KEYS and isinstance(value, (bool, int, float)):
            number = _to_float(value)
            if number is not None:
                numbers[name] = number
    return numbers


def _to_float(value: float) -> float | None:
    """Return a finite float, or None for a number that has none, such as 10**400."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _compute_mean(values: Scores) -> float:
    return sum(values) / len(values)


def _compute_standard_deviation(values: Scores) -> float:
    """Return the standard deviation of a sample; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    mean = _compute_mean(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


STATISTICS: Mapping[str, Callable[[Scores], float]] = {
    "mean": _compute_mean,
    "max": max,
    "min": min,
    "median": statistics.median,
    "std": _compute_standard_deviation,
}


# -- pass@k and majority@k


def _compute_pass_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute NeMo Gym's metrics of k rollouts (attempts) of each task, for k = 1, 2, 3, …"""
    rollouts_by_task = _group_by_task(items)
    most_rollouts = max((len(rollouts) for rollouts in rollouts_by_task), default=0)
    metrics: list[Metric] = []
    for k in range(1, min(most_rollouts, MAX_K) + 1):
        metrics += _compute_metrics_of_k(rollouts_by_task, k)
    return metrics


def _compute_metrics_of_k(rollouts_by_task: Sequence[Sequence[_Rollout]], k: int) -> list[Metric]:
    """Compute NeMo Gym's metrics of k rollouts of each task.

    pass@k is the chance that at least one of k rollouts passes, and avg-of-k the mean reward of the
    first k.
    """
    n_tasks = len(rollouts_by_task)
    rewards_by_task = [[rollout.reward for rollout in rollouts] for rollouts in rollouts_by_task]

    # pass@k needs k rollouts. The other figures also use tasks with fewer.
    tasks_with_k = [rewards for rewards in rewards_by_task if len(rewards) >= k]
    pass_chances = [_estimate_pass_at_k(rewards, k) for rewards in tasks_with_k]
    averages = [_compute_mean(rewards[:k]) for rewards in rewards_by_task]
    metrics = [
        _make_percentage(f"pass@{k}/accuracy", pass_chances, n_tasks),
        _make_percentage(f"pass@1[avg-of-{k}]/accuracy", averages, n_tasks),
    ]
    metrics += _compute_majority(rollouts_by_task, k)
    metrics += _compute_spread_across_runs(rewards_by_task, k)
    return metrics


def _compute_majority(rollouts_by_task: Sequence[Sequence[_Rollout]], k: int) -> list[Metric]:
    """Compute majority@k, the reward of the answer that most of the first k rollouts gave. Without
    answers in the rollouts, there is none.
    """
    all_rollouts = chain.from_iterable(rollouts_by_task)
    has_answers = any(rollout.answer is not None for rollout in all_rollouts)
    if not has_answers:
        return []
    majorities = [_score_majority(rollouts[:k]) for rollouts in rollouts_by_task]
    return [_make_percentage(f"majority@{k}/accuracy", majorities, len(rollouts_by_task))]


@dataclass(frozen=True, slots=True)
class _Rollout:
    """Rollout with a reward."""

    index: float
    """Number of the rollout in its task."""
    reward: float
    answer: str | None


def _group_by_task(items: Sequence[ScoredItem]) -> list[list[_Rollout]]:
    """Return the rollouts with a reward of each task, in the order of their rollout indexes."""
    tasks: defaultdict[str, list[_Rollout]] = defaultdict(list)
    for item in items:
        reward = get_effective_reward(item)
        if reward is not None:
            rollout = _Rollout(_get_rollout_index(item), reward=reward, answer=_get_answer(item))
            tasks[item.group or item.id].append(rollout)
    return [sorted(rollouts, key=lambda rollout: rollout.index) for rollouts in tasks.values()]


def _get_rollout_index(item: ScoredItem) -> float:
    index: Any = item.metadata.get(ROLLOUT_KEY)
    return index if is_number(index) else 0


def _get_answer(item: ScoredItem) -> str | None:
    answer: Any = item.metadata.get(ANSWER_KEY)
    return answer if isinstance(answer, str) else None


def _estimate_pass_at_k(rewards: Scores, k: int) -> float:
    """Return the probability that one of k rollouts passes, if all rewards are 0 or 1. Otherwise,
    NeMo Gym takes the highest of the first k rewards.
    """
    if not all(reward in (0, 1) for reward in rewards):
        return max(rewards[:k])
    n_failed = sum(reward == 0 for reward in rewards)
    return 1.0 - math.comb(n_failed, k) / math.comb(len(rewards), k)


def _score_majority(rollouts: Sequence[_Rollout]) -> float:
    """Return the mean reward of the most frequent answers; 0 without an answer.

    As in NeMo Gym, one answer with two rewards counts as two answers.
    """
    counts = Counter(
        (rollout.answer, rollout.reward) for rollout in rollouts if rollout.answer is not None
    )
    if not counts:
        return 0.0
    highest = max(counts.values())
    rewards = [reward for (_, reward), count in counts.items() if count == highest]
    return _compute_mean(rewards)


def _compute_spread_across_runs(rewards_by_task: Sequence[Scores], k: int) -> list[Metric]:
    """Compute how much the mean reward varies between runs: its standard deviation and standard
    error, in percent. A single run has no spread.
    """
    means = _compute_means_of_runs(rewards_by_task, k)
    if len(means) < 2:
        return []

    deviation = _compute_standard_deviation(means)
    spreads = {"std_dev": deviation, "std_err": deviation / math.sqrt(len(means))}
    return [
        Metric(
            "pass@k",
            f"pass@1[avg-of-{k}]/accuracy/{name}_across_runs",
            value=value,
            unit="percent",
            digits=2,
            measures_spread=True,
        )
        for name, value in spreads.items()
    ]


def _compute_means_of_runs(rewards_by_task: Sequence[Scores], n_runs: int) -> list[float]:
    """Compute the mean reward of each run in percent.

    The first rollouts of all tasks are the first run, the second ones the second run.
    """
    means: list[float] = []
    for index in range(n_runs):
        rewards_of_run = [rewards[index] for rewards in rewards_by_task if index < len(rewards)]
        if rewards_of_run:
            means.append(100 * _compute_mean(rewards_of_run))
    return means


def _make_percentage(name: str, shares: Scores, n_tasks: int) -> Metric:
    """Return a metric that is the mean of shares, in percent."""
    return Metric(
        "pass@k",
        name,
        value=100 * _compute_mean(shares) if shares else None,
        unit="percent",
        n=len(shares),
        total=n_tasks,
        counted_noun="tasks",
        digits=2,
    )
