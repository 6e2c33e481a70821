"""Compute the metrics of Harbor jobs as Harbor 0.24 does: mean reward, pass@k, errors, tokens and
cost.

A trial without a reward counts as 0 (`harbor/metrics/base.py`) and as a failure
(`harbor/utils/pass_at_k.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from fcreview.importers.common.effective_scores import apply_derived_verdict
from fcreview.importers.common.records import as_object, is_number
from fcreview.model.address import ITEM
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, build_category_metrics
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable

REWARD = "reward"
"""Criterion of the reward that decides the trial's verdict.

In most files, this reward has the same name.
"""
ACCURACY_TABLE = "accuracy of verified trials"
"""Table of the pass rates. They leave out trials without a reward, which Harbor's own accuracy (the
mean reward, and `accuracy` in `report --conventions`) counts as failures.
"""
EXCEPTION_KEY = "exception"
"""Metadata key of the type of the exception that ended the trial."""
REWARDS_KEY = "rewards"
"""Metadata key of the rewards by name. It is missing if the trial was not verified."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    trials = [apply_derived_verdict(item, "atif") for item in items]
    return [
        *build_category_metrics(trials, ACCURACY_TABLE),
        *_compute_reward_metrics(trials),
        *_sum_usage(trials),
    ]


def _compute_reward_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the mean of each reward and pass@k over the trials of a run.

    A trial can have several named rewards. If no trial has a reward, there are no metrics.
    """
    rewards = [get_effective_rewards(item) for item in items]
    n_known = sum(rewards_of_trial is not None for rewards_of_trial in rewards)
    if not n_known:
        return []
    # In Harbor, a trial without a reward counts as 0.
    note = "trials without a reward count as 0" if n_known < len(items) else ""
    metrics = [
        Metric(
            "reward",
            name,
            value=value,
            unit="score",
            n=n_known,
            total=len(items),
            note=note,
            digits=4,
        )
        for name, value in compute_mean_rewards(rewards).items()
    ]
    return metrics + _compute_pass_at_k_metrics(items, rewards)


def get_effective_rewards(item: ScoredItem) -> dict[str, float] | None:
    """Return the rewards of a trial by name, with the reviews applied. None if it has no reward.

    One reward decides whether the trial passes: the only one, or the one called `reward`. A review
    of the verdict sets this reward to 1 or 0. The others keep their value.
    """
    recorded_names = list(as_object(item.metadata.get(REWARDS_KEY)))
    rewards: dict[str, Any] = {}
    for name in recorded_names:
        if name != REWARD and name in item.values:
            rewards[name] = item.values[name]

    deciding_name = recorded_names[0] if len(recorded_names) == 1 else REWARD
    deciding_value = _get_deciding_reward(item, is_recorded=bool(recorded_names))
    if deciding_value is not None:
        rewards[deciding_name] = deciding_value

    numbers = {name: float(value) for name, value in rewards.items() if is_number(value)}
    return numbers or None


def _get_deciding_reward(item: ScoredItem, *, is_recorded: bool) -> float | None:
    """Return the reward that decides whether a trial passes, with the reviews applied.

    `is_recorded` says whether the files have any reward of the trial.
    """
    value = item.derive_verdict("atif", ITEM, REWARD)
    if value is None:
        value = item.values.get(REWARD)
    if is_number(value):
        return value

    # The trial had no reward, but a reviewer decided whether it passes.
    reviewed_verdict = item.overrides.get(ITEM_CORRECT)
    if not is_recorded and isinstance(reviewed_verdict, bool):
        return float(reviewed_verdict)
    return None


def compute_mean_rewards(rewards: Sequence[Mapping[str, float] | None]) -> dict[str, float]:
    """Compute the mean of each named reward over all trials.

    `rewards` contains the rewards of each trial by name, or None. A missing reward counts as 0. As
    in Harbor's results, the mean of a single reward is called `mean`, whatever its own name is.
    """
    names: set[str] = set()
    for rewards_of_trial in rewards:
        names.update(rewards_of_trial or {})

    means = {}
    for name in sorted(names):
        total = sum((rewards_of_trial or {}).get(name, 0.0) for rewards_of_trial in rewards)
        means[name] = total / len(rewards)
    if len(means) == 1:
        (mean,) = means.values()
        return {"mean": mean}
    return means


def _compute_pass_at_k_metrics(
    items: Sequence[ScoredItem], rewards: Sequence[Mapping[str, float] | None]
) -> list[Metric]:
    """Compute pass@k: the mean over tasks of the chance that at least one of k trials passes.

    `rewards` contains the rewards of each trial in `items`. Pass@k needs trials that pass or fail,
    so there are no metrics if a trial has several rewards, or a reward other than 0 and 1.
    """
    passes_by_task = _group_passes_by_task(items, rewards)
    if passes_by_task is None:
        return []
    # For pass@k, each task needs at least k trials.
    fewest_trials = min((len(passes) for passes in passes_by_task.values()), default=0)
    return [_compute_pass_at_k(passes_by_task, k) for k in _list_k_values(fewest_trials)]


def _compute_pass_at_k(passes_by_task: Mapping[str, Sequence[bool]], k: int) -> Metric:
    """Compute pass@k from whether each trial of each task passed."""
    n_tasks = len(passes_by_task)
    estimates = [
        estimate_pass_at_k(len(passes), sum(passes), k) for passes in passes_by_task.values()
    ]
    return Metric(
        "reward",
        f"pass@{k}",
        value=sum(estimates) / n_tasks,
        n=n_tasks,
        total=n_tasks,
        counted_noun="tasks",
    )


def _group_passes_by_task(
    items: Sequence[ScoredItem], rewards: Sequence[Mapping[str, float] | None]
) -> dict[str, list[bool]] | None:
    """Return for each task whether its trials passed. None if a trial neither passes nor fails."""
    passes_by_task: dict[str, list[bool]] = {}
    for item, rewards_of_trial in zip(items, rewards, strict=True):
        # A trial without a reward failed.
        values = list(rewards_of_trial.values()) if rewards_of_trial else [0.0]
        if len(values) != 1 or item.group is None:
            return None
        (reward,) = values
        if reward not in (0, 1):
            return None
        passes_by_task.setdefault(item.group, []).append(reward == 1)
    return passes_by_task


def _list_k_values(max_k: int) -> list[int]:
    """Return the values of k up to `max_k`: powers of 2, and multiples of 5."""
    values = set(range(5, max_k + 1, 5))
    power = 2
    while power <= max_k:
        values.add(power)
        power *= 2
    return sorted(values)


def estimate_pass_at_k(n_trials: int, n_passed: int, k: int) -> float:
    """Return the probability that at least one of k trials, drawn from `n_trials` without
    replacement, passes.
    """
    if n_trials - n_passed < k:
        return 1.0
    return 1.0 - prod((n_trials - n_passed - index) / (n_trials - index) for index in range(k))


def _sum_usage(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count the exceptions, and sum the tokens and the cost of all trials."""
    metrics = []
    n_exceptions = sum(EXCEPTION_KEY in item.metadata for item in items)
    if n_exceptions:
        exceptions = Metric("usage", "trials with an exception", value=n_exceptions, unit="count")
        metrics.append(exceptions)

    sums = [
        _make_sum("input tokens", [item.tokens_in for item in items], "count"),
        _make_sum("cached tokens", [item.metadata.get("cached_tokens") for item in items], "count"),
        _make_sum("output tokens", [item.tokens_out for item in items], "count"),
        _make_sum("cost", [item.metadata.get("cost_usd") for item in items], "dollars"),
    ]
    # A figure that no trial records is left out.
    return metrics + [each for each in sums if each.n]


def _make_sum(name: str, values: Sequence[Any], unit: MetricUnit) -> Metric:
    """Make the sum of a figure over all trials. `n` is the number of trials that record it."""
    known_values = [value for value in values if is_number(value)]
    return Metric(
        "usage",
        name,
        value=sum(known_values),
        unit=unit,
        n=len(known_values),
        total=len(values),
        digits=4,
    )


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return each item as a trial.

    A trial that was verified after an exception has the ending `graded`.
    """
    trials = []
    for unreviewed in items:
        item = apply_derived_verdict(unreviewed, "atif")
        unverified: Ending = "error" if EXCEPTION_KEY in item.metadata else "not run"
        ending = unverified if item.valid is None else "graded"
        trials.append(
            Trial(item.id, task=item.group or item.id, passed=item.valid is True, ending=ending)
        )
    return TrialTable(trials, "Harbor")
