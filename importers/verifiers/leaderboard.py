"""Compute the figures of verifiers: mean rewards, mean metrics, and pass@k of legacy runs.

The dashboard of 0.4 shows the mean reward of the rollouts without error and, in parentheses, the
mean with errors as 0. `avg_reward` of legacy runs includes errors; `pass_at_k` leaves out examples
that lack rollouts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from fcreview.importers.common.effective_scores import apply_derived_verdict, get_effective_score
from fcreview.importers.common.records import as_object, is_integer, is_number
from fcreview.importers.verifiers.read import (
    ERROR_KEY,
    METRICS_KEY,
    PER_EXAMPLE_KEY,
    REWARD_PREFIX,
)
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, build_category_metrics
from fcreview.model.verdict import TOTAL_REWARD

BENCHMARK = "verifiers"
MAX_NAMES = 100
DIGITS = 4


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute the metrics of a run, after the reviews."""
    rollouts = [apply_derived_verdict(item, BENCHMARK) for item in items]
    return [
        *build_category_metrics(rollouts),
        *_compute_mean_rewards(rollouts),
        *_compute_mean_metrics(rollouts),
        *_compute_pass_at_k(rollouts),
    ]


def get_effective_reward(item: ScoredItem) -> float | None:
    return get_effective_score(item, BENCHMARK, TOTAL_REWARD)


def _has_error(item: ScoredItem) -> bool:
    return item.metadata.get(ERROR_KEY) is True


def _compute_mean_rewards(items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute the mean reward of all rollouts, that of the rollouts without an error, the means of
    the single reward functions, and the share of errors.

    Returns no metrics if no rollout has a reward.
    """
    if all(get_effective_reward(item) is None for item in items):
        return []

    all_rewards = _omit_unknown([_get_counted_reward(item) for item in items])
    rewards_without_error = _omit_unknown(
        [get_effective_reward(item) for item in items if not _has_error(item)]
    )
    share_of_errors = sum(map(_has_error, items)) / len(items)
    return [
        _make_mean("reward", "mean of rollouts without error", rewards_without_error, len(items)),
        _make_mean("reward", "mean", all_rewards, len(items)),
        *_compute_mean_of_reward_functions(items),
        Metric("errors", "share of rollouts with an error", value=share_of_errors),
    ]


def _get_counted_reward(item: ScoredItem) -> float | None:
    """Return the reward of a rollout. With an error and without a reward, it counts as 0."""
    reward = get_effective_reward(item)
    if reward is None and _has_error(item):
        return 0.0
    return reward


def _omit_unknown(rewards: Sequence[float | None]) -> list[float]:
    return [reward for reward in rewards if reward is not None]


def _compute_mean_of_reward_functions(items: Sequence[ScoredItem]) -> Iterator[Metric]:
    """Yield the mean of each reward function over the items."""
    scores_by_name: dict[str, list[float]] = {}
    for item in items:
        for name, value in item.values.items():
            if not name.startswith(REWARD_PREFIX):
                continue
            scores = scores_by_name.setdefault(name, [])
            if is_number(value):
                scores.append(float(value))
    for name, scores in islice(scores_by_name.items(), MAX_NAMES):
        yield _make_mean("reward", name, scores, len(items))


def _make_mean(table: str, name: str, values: Sequence[float], n_items: int) -> Metric:
    """Return a metric that is the mean of the values of rollouts."""
    mean = None
    if values:
        mean = sum(values) / len(values)
    return Metric(
        table,
        name,
        value=mean,
        unit="score",
        n=len(values),
        total=n_items,
        counted_noun="rollouts",
        digits=DIGITS,
    )


def _compute_mean_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Return the mean of each metric that the environment recorded for the items."""
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
    """Compute pass@k, the chance that at least one of k rollouts passes, and pass^k, the chance
    that all k pass.

    As in verifiers, only examples with all their rollouts count.
    """
    n_rollouts = _find_rollouts_per_example(items)
    if n_rollouts < 1 or all(item.valid is None for item in items):
        return []

    passes_by_example = _group_passes_by_example(items)
    n_examples = len(passes_by_example)
    n_passed_by_example = [
        sum(passes) for passes in passes_by_example.values() if len(passes) == n_rollouts
    ]
    metrics: list[Metric] = []
    for k in _list_powers_of_two(n_rollouts):
        any_pass = [_estimate_pass_at_k(n, n_rollouts, k) for n in n_passed_by_example]
        all_pass = [_estimate_pass_all_k(n, n_rollouts, k) for n in n_passed_by_example]
        metrics.append(_make_pass_metric(f"pass@{k}", any_pass, n_examples))
        metrics.append(_make_pass_metric(f"pass^{k}", all_pass, n_examples))
    return metrics


def _list_powers_of_two(maximum: int) -> list[int]:
    """Return 1, 2, 4 and so on, up to a maximum of at least 1."""
    return [1 << exponent for exponent in range(maximum.bit_length())]


def _group_passes_by_example(items: Sequence[ScoredItem]) -> Mapping[str, list[bool]]:
    """Return for each example whether each of its rollouts passed."""
    passes_by_example: defaultdict[str, list[bool]] = defaultdict(list)
    for item in items:
        passes_by_example[item.group or item.id].append(item.valid is True)
    return passes_by_example


def _find_rollouts_per_example(items: Sequence[ScoredItem]) -> int:
    """Return how many rollouts each example should have, as the metadata of the run states it. 0 if
    it does not.

    The importer copies this number to each item.
    """
    for item in reversed(items):
        stated: Any = item.metadata.get(PER_EXAMPLE_KEY)
        if is_integer(stated):
            return int(stated)
    return 0


def _make_pass_metric(name: str, shares: Sequence[float], n_examples: int) -> Metric:
    """Return a metric such as pass@2: the mean of its values for the examples."""
    return Metric(
        "pass@k",
        name,
        value=sum(shares) / len(shares) if shares else None,
        n=len(shares),
        total=n_examples,
        counted_noun="examples",
        digits=2,
    )


def _estimate_pass_at_k(n_passed: int, n_rollouts: int, k: int) -> float:
    """Return the probability that at least one of `k` rollouts passes, if they are drawn from
    those of an example.
    """
    return 1.0 - math.comb(n_rollouts - n_passed, k) / math.comb(n_rollouts, k)


def _estimate_pass_all_k(n_passed: int, n_rollouts: int, k: int) -> float:
    """Return the probability that all of `k` drawn rollouts pass."""
    return math.comb(n_passed, k) / math.comb(n_rollouts, k)
