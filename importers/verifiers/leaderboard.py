"""Compute the figures of verifiers: mean rewards, mean metrics, and pass@k of legacy runs.

The dashboard of 0.4 shows the mean reward of the rollouts without error and, in parentheses, the
mean with errors as 0. `avg_reward` of legacy runs includes errors; `pass_at_k` leaves out examples
that lack rollouts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from fcreview.importers.common.records import as_object, is_integer, is_number
from fcreview.importers.verifiers.read import (
    ERROR_KEY,
    METRICS_KEY,
    PER_EXAMPLE_KEY,
    REWARD_PREFIX,
)
from fcreview.model.address import ITEM
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, build_category_metrics
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import TOTAL_REWARD

BENCHMARK = "verifiers"
MAX_NAMES = 100
DIGITS = 4


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    rollouts = [_apply_reward_override(item) for item in items]
    return [
        *build_category_metrics(rollouts),
        *_compute_mean_rewards(rollouts),
        *_compute_mean_metrics(rollouts),
        *_compute_pass_at_k(rollouts),
    ]


def get_effective_reward(item: ScoredItem) -> float | None:
    override = item.derive_verdict(BENCHMARK, ITEM, TOTAL_REWARD)
    reward = item.values.get(TOTAL_REWARD) if override is None else override
    return float(reward) if is_number(reward) else None


def _apply_reward_override(item: ScoredItem) -> ScoredItem:
    verdict = item.derive_verdict(BENCHMARK, *ITEM_CORRECT)
    return item if verdict is None else replace(item, valid=verdict)


def _has_error(item: ScoredItem) -> bool:
    return item.metadata.get(ERROR_KEY) is True


def _compute_mean_rewards(items: Sequence[ScoredItem]) -> list[Metric]:
    rewards = [get_effective_reward(item) for item in items]
    if not any(reward is not None for reward in rewards):
        return []
    without_errors = [
        reward
        for item, reward in zip(items, rewards, strict=True)
        if reward is not None and not _has_error(item)
    ]
    with_errors = [
        0.0 if reward is None else reward
        for item, reward in zip(items, rewards, strict=True)
        if reward is not None or _has_error(item)
    ]
    metrics = [
        _make_mean("reward", "mean of rollouts without error", without_errors, len(items)),
        _make_mean("reward", "mean", with_errors, len(items)),
    ]
    names = [name for item in items for name in item.values if name.startswith(REWARD_PREFIX)]
    for name in list(dict.fromkeys(names))[:MAX_NAMES]:
        values = [item.values.get(name) for item in items]
        scores = [float(value) for value in values if is_number(value)]
        metrics.append(_make_mean("reward", name, scores, len(items)))
    n_errors = sum(_has_error(item) for item in items)
    share = n_errors / len(items)
    metrics.append(Metric("errors", "share of rollouts with an error", value=share))
    return metrics


def _make_mean(table: str, name: str, values: Sequence[float], n_items: int) -> Metric:
    return Metric(
        table,
        name,
        value=sum(values) / len(values) if values else None,
        unit="score",
        n=len(values),
        total=n_items,
        counted_noun="rollouts",
        digits=DIGITS,
    )


def _compute_mean_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    values_by_name: defaultdict[str, list[float]] = defaultdict(list)
    for item in items:
        for name, value in as_object(item.metadata.get(METRICS_KEY)).items():
            if is_number(value) and math.isfinite(value):
                values_by_name[name].append(float(value))
    return [
        _make_mean("metrics", name, values, len(items))
        for name, values in list(values_by_name.items())[:MAX_NAMES]
    ]


def _compute_pass_at_k(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute pass@k and pass^k over the examples that have all their rollouts."""
    passes_by_example: defaultdict[str, list[bool]] = defaultdict(list)
    expected = 0
    for item in items:
        passes_by_example[item.group or item.id].append(item.valid is True)
        stated = item.metadata.get(PER_EXAMPLE_KEY)
        if is_integer(stated):
            expected = stated
    if expected < 1 or not any(item.valid is not None for item in items):
        return []

    complete = [passes for passes in passes_by_example.values() if len(passes) == expected]
    metrics: list[Metric] = []
    k = 1
    while k <= expected:
        any_pass = [_estimate_pass_at_k(sum(passes), expected, k) for passes in complete]
        all_pass = [math.comb(sum(passes), k) / math.comb(expected, k) for passes in complete]
        for name, shares in ((f"pass@{k}", any_pass), (f"pass^{k}", all_pass)):
            metric = Metric("pass@k", name, value=None, digits=2)
            metric.value = sum(shares) / len(shares) if shares else None
            metric.n = len(shares)
            metric.total = len(passes_by_example)
            metric.counted_noun = "examples"
            metrics.append(metric)
        k *= 2
    return metrics


def _estimate_pass_at_k(n_passed: int, n_rollouts: int, k: int) -> float:
    return 1.0 - math.comb(n_rollouts - n_passed, k) / math.comb(n_rollouts, k)
