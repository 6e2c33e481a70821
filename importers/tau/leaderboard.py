"""Metrics of tau-bench: average reward, pass^k, costs, and why conversations ended.

Sources: `run.py` of sierra-research/tau-bench (v1). A trial that ended with an exception counts as a failure in v1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import comb

from fcreview.importers.tau.reward import read_number
from fcreview.model.address import ITEM
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem

OUTCOME_TABLE = "outcomes"


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute the metrics of a run as the official program of its version does."""
    return _version1_metrics(items)


def get_reward(item: ScoredItem) -> float | None:
    """Return the effective reward of an item: 0 or 1 if a review decides, else the recorded or recomputed number."""
    derived = item.derive("tau", ITEM, "reward")
    if derived is not None:
        return read_number(derived)
    reward = read_number(item.values.get("reward"))
    return reward if reward is not None or item.valid is None else float(item.valid)


def _version1_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    known = [item for item in items if item.valid is not None]
    rewards = [reward for item in known if (reward := get_reward(item)) is not None]
    average = sum(rewards) / len(rewards) if rewards else None
    metrics = [Metric("reward", "average reward", average, n=len(rewards), total=len(items), digits=4)]
    trials = len({str(item.metadata.get("trial")) for item in known})
    successes = count_successes(known)
    for k in range(1, trials + 1):
        value = sum(comb(n, k) / comb(trials, k) for n, _ in successes) / len(successes)
        metrics.append(Metric("pass^k", f"pass^{k}", value, n=len(successes), counted_noun="tasks", digits=4))
    metrics += mean_cost(items, "user cost")
    return metrics + outcome_metrics(items)


def count_successes(items: Iterable[ScoredItem]) -> list[tuple[int, int]]:
    """Return (number of successes, number of trials) of each task."""
    tasks: defaultdict[tuple[str, str | None], list[bool]] = defaultdict(list)
    for item in items:
        tasks[item.category, item.group].append(item.valid is True)
    return [(sum(verdicts), len(verdicts)) for verdicts in tasks.values()]


def mean_cost(items: Sequence[ScoredItem], name: str) -> list[Metric]:
    costs = [cost for item in items if (cost := read_number(item.metadata.get(name))) is not None]
    if not costs:
        return []
    return [
        Metric("cost", f"mean {name}", sum(costs) / len(costs), "dollars", n=len(costs), total=len(items), digits=4)
    ]


def outcome_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count the items by outcome: success, or the error type."""
    counts = Counter(
        "no verdict" if item.valid is None else "success" if item.valid else item.error_type or "failed"
        for item in items
    )
    return [Metric(OUTCOME_TABLE, name, count, "count", 1) for name, count in counts.most_common()]
