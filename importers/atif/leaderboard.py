"""Compute the metrics of Harbor jobs as Harbor 0.24 does: mean reward, pass@k, errors, tokens and
cost.

A trial without a reward counts as 0 (`harbor/metrics/base.py`) and as a failure
(`harbor/utils/pass_at_k.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

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
    items = [_apply_reward_override(item) for item in items]
    metrics = build_category_metrics(items, ACCURACY_TABLE)
    rewards = [get_effective_rewards(item) for item in items]
    n_known = sum(each is not None for each in rewards)
    if n_known:
        note = "trials without a reward count as 0" if n_known < len(items) else ""
        for name, value in compute_mean_rewards(rewards).items():
            metrics.append(
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
            )
        metrics += _compute_pass_at_k_metrics(items, rewards)
    return metrics + _sum_usage(items)


def _apply_reward_override(item: ScoredItem) -> ScoredItem:
    """If an annotator overrode the reward of an item, return the item with the verdict that
    follows from it.
    """
    verdict = item.derive_verdict("atif", *ITEM_CORRECT)
    return item if verdict is None else replace(item, valid=verdict)


def get_effective_rewards(item: ScoredItem) -> dict[str, float] | None:
    """Return the effective rewards of a trial by name, or None for a trial without rewards.

    An override of the verdict sets the deciding reward (see `read.find_deciding_reward_name`) to 1
    or 0.
    """
    names = as_object(item.metadata.get(REWARDS_KEY))
    override = item.derive_verdict("atif", ITEM, REWARD)
    value = override if override is not None else item.values.get(REWARD)
    rewards = {name: item.values[name] for name in names if name != REWARD and name in item.values}
    if is_number(value):
        rewards[next(iter(names)) if len(names) == 1 else REWARD] = value
    elif not names and isinstance(item.overrides.get(ITEM_CORRECT), bool):
        rewards[REWARD] = float(item.overrides[ITEM_CORRECT])
    rewards = {name: float(each) for name, each in rewards.items() if is_number(each)}
    return rewards or None


def compute_mean_rewards(rewards: Sequence[Mapping[str, float] | None]) -> dict[str, float]:
    """Return the mean of each reward over all trials. A missing reward counts as 0.

    If there is only one reward, the name of its mean is `mean`.
    """
    names = sorted({name for each in rewards if each for name in each})
    means = {
        name: sum((each or {}).get(name, 0.0) for each in rewards) / len(rewards) for name in names
    }
    return {"mean": means[names[0]]} if len(names) == 1 else means


def _compute_pass_at_k_metrics(
    items: Sequence[ScoredItem], rewards: Sequence[Mapping[str, float] | None]
) -> list[Metric]:
    """Compute pass@k over tasks.

    Returns no metric if a trial has several rewards, or a reward other than 0 and 1.
    """
    successes: dict[str, list[bool]] = {}
    for item, each in zip(items, rewards, strict=True):
        value = next(iter(each.values())) if each else 0.0
        if (each and len(each) != 1) or value not in (0, 1) or item.group is None:
            return []
        successes.setdefault(item.group, []).append(value == 1)
    metrics = []
    for k in _list_k_values(min(map(len, successes.values()), default=0)):
        values = [estimate_pass_at_k(len(trials), sum(trials), k) for trials in successes.values()]
        mean = sum(values) / len(values)
        metrics.append(
            Metric(
                "reward",
                f"pass@{k}",
                value=mean,
                n=len(values),
                total=len(values),
                counted_noun="tasks",
            )
        )
    return metrics


def _list_k_values(max_k: int) -> list[int]:
    """Return the values of k up to `max_k`: powers of 2, and multiples of 5."""
    powers = [1 << bit for bit in range(1, max(max_k.bit_length(), 1))]
    return sorted({k for k in (*powers, *range(5, max_k + 1, 5)) if k <= max_k})


def estimate_pass_at_k(n_trials: int, n_passed: int, k: int) -> float:
    """Return the probability that at least one of k trials, drawn from `n_trials` without
    replacement, passes.
    """
    if n_trials - n_passed < k:
        return 1.0
    return 1.0 - prod((n_trials - n_passed - index) / (n_trials - index) for index in range(k))


def _sum_usage(items: Sequence[ScoredItem]) -> list[Metric]:
    """Sum the recorded errors, tokens and cost, which do not depend on verdicts."""
    errors = sum(EXCEPTION_KEY in item.metadata for item in items)
    metrics = (
        [Metric("usage", "trials with an exception", value=errors, unit="count")] if errors else []
    )
    for name, values in {
        "input tokens": [item.tokens_in for item in items],
        "cached tokens": [item.metadata.get("cached_tokens") for item in items],
        "output tokens": [item.tokens_out for item in items],
        "cost": [item.metadata.get("cost_usd") for item in items],
    }.items():
        unit: MetricUnit = "dollars" if name == "cost" else "count"
        if known := [value for value in values if is_number(value)]:
            metrics.append(
                Metric(
                    "usage",
                    name,
                    value=sum(known),
                    unit=unit,
                    n=len(known),
                    total=len(items),
                    digits=4,
                )
            )
    return metrics


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return each item as a trial.

    A trial that was verified after an exception has the ending `graded`.
    """
    trials = []
    for item in map(_apply_reward_override, items):
        unverified: Ending = "error" if EXCEPTION_KEY in item.metadata else "not run"
        ending = unverified if item.valid is None else "graded"
        trials.append(
            Trial(item.id, task=item.group or item.id, passed=item.valid is True, ending=ending)
        )
    return TrialTable(trials, "Harbor")
