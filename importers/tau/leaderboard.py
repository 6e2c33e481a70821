"""Compute the metrics of tau-bench: average reward, pass^k, costs, checks, and termination reasons.

Sources: `run.py` of sierra-research/tau-bench (v1), and `agent_metrics.py` of
sierra-research/tau2-bench 1.0.1 (v2). v1 computes pass^k with the number of trials in the whole
file and counts exceptions as failures. v2 omits infrastructure errors and computes pass^k with the
number of trials of each task. In both, fcreview shows pass^k only up to the number of trials that
every task has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import comb
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_object, is_integer
from fcreview.importers.tau.checker import (
    ERROR_TYPES,
    INFRASTRUCTURE_ERROR,
    is_success,
    to_finite_number,
)
from fcreview.importers.tau.read import PLANNED_TRIALS
from fcreview.model.address import ITEM
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, cached_on_item
from fcreview.model.review import CORRECT
from fcreview.model.verdict import REWARD_CHECKS, REWARD_PARTS, derive_reward_part
from fcreview.stats.conventions import Ending, Trial, TrialTable

ERROR_REASONS = ("too_many_errors", "agent_error", "user_error")
"""Termination reasons that the official program counts together as errors."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    return (
        _compute_version1_metrics(items)
        if run.generation == "v1"
        else _compute_version2_metrics(items)
    )


@cached_on_item
def get_reward(item: ScoredItem) -> float | None:
    """Return the effective reward of an item.

    A review of the item, of a reward part or of a check can change it.
    """
    derived = item.derive_verdict("tau", ITEM, "reward")
    reward = to_finite_number(item.values.get("reward") if derived is None else derived)
    return reward if reward is not None or item.valid is None else float(item.valid)


@cached_on_item
def get_success(item: ScoredItem) -> bool | None:
    """Return the effective verdict on an item.

    A review of the reward, of a reward part or of a check can change it.
    """
    derived = item.derive_verdict("tau", ITEM, CORRECT)
    return derived if isinstance(derived, bool) else item.valid


class TaskSuccesses(NamedTuple):
    n_successes: int
    n_trials: int


def count_successes_by_task(items: Iterable[ScoredItem]) -> dict[str, TaskSuccesses]:
    tasks: defaultdict[str, list[bool]] = defaultdict(list)
    for item in items:
        tasks[item.group or item.id].append(get_success(item) is True)
    return {task: TaskSuccesses(sum(verdicts), len(verdicts)) for task, verdicts in tasks.items()}


def compute_pass_hat_metrics(
    task_successes: Sequence[tuple[int, int]], max_k: int, n_trials: int | None = None
) -> list[Metric]:
    """Compute pass^k for k from 1 to `max_k`.

    If given, `n_trials` is used as the number of trials of every task.
    """
    metrics, n_tasks = [], len(task_successes)
    for k in range(1, max_k + 1 if task_successes else 1):
        value = (
            sum(comb(n, k) / comb(n_trials or total, k) for n, total in task_successes) / n_tasks
        )
        metrics.append(
            Metric(
                "pass^k", f"pass^{k}", value=value, n=n_tasks, total=n_tasks, counted_noun="tasks"
            )
        )
    return metrics


UNEQUAL_TRIALS_NOTE = (
    "the official program assumes {n_trials} trials of every task, the number of different trials"
    " in the file; "
    "some tasks have only {min_trials}"
)


def _compute_version1_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    known = [item for item in items if get_success(item) is not None]
    metrics = _compute_average_reward(known, len(items))
    metrics += _compute_version1_pass_hat(known)
    return [*metrics, *_compute_mean_cost(items, "user cost"), *_count_outcomes(items)]


def _compute_version1_pass_hat(known_items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute pass^k as the official program does: every task counts as if it had all trials of
    the file.
    """
    successes = list(count_successes_by_task(known_items).values())
    max_k = find_largest_k(known_items)
    if any(item.is_group_incomplete for item in known_items):
        # The official program assumes that every task has all trials. A trial that was left out is
        # no failure.
        return compute_pass_hat_metrics(successes, max_k)

    n_trials = len({str(item.metadata.get("trial")) for item in known_items})
    metrics = compute_pass_hat_metrics(successes, max_k, n_trials)
    if max_k < n_trials:
        for metric in metrics:
            metric.note = UNEQUAL_TRIALS_NOTE.format(n_trials=n_trials, min_trials=max_k)
    return metrics


def _compute_version2_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    run = [item for item in items if is_counted_in_metrics(item)]
    successes = list(count_successes_by_task(run).values())
    # The average is of the simulations that were run. Those that were not have no verdict from any
    # source.
    metrics = _compute_average_reward(run, len(run)) + compute_pass_hat_metrics(
        successes, find_largest_k(run)
    )
    metrics += _compute_mean_cost(run, "agent cost") + _compute_mean_cost(run, "user cost")
    metrics += [
        Metric("simulations", "simulations", value=len(run), unit="count"),
        Metric("simulations", "tasks", value=len(successes), unit="count"),
        Metric(
            "simulations",
            "infrastructure errors, left out",
            value=len(items) - len(run),
            unit="count",
        ),
    ]
    return [
        *metrics,
        *_count_endings(run),
        *_count_checks(run),
        *_count_judge_errors(run),
        *_count_outcomes(run),
    ]


def is_counted_in_metrics(item: ScoredItem) -> bool:
    """Return whether metrics count an item.

    After an infrastructure error, it counts only with a reviewed verdict.
    """
    return item.metadata.get("ended") != INFRASTRUCTURE_ERROR or get_success(item) is not None


def find_largest_k(items: Sequence[ScoredItem]) -> int:
    """Return the largest k for pass^k: the number of planned trials or, if smaller, the fewest
    trials of a task.
    """
    planned = [each for item in items if is_integer(each := item.metadata.get(PLANNED_TRIALS))]
    counts = [total for _, total in count_successes_by_task(items).values()]
    return min([*counts, *planned[:1]], default=0)


def _compute_average_reward(items: Sequence[ScoredItem], n_items: int) -> list[Metric]:
    rewards = [reward for item in items if (reward := get_reward(item)) is not None]
    average = sum(rewards) / len(rewards) if rewards else None
    return [Metric("reward", "average reward", value=average, n=len(rewards), total=n_items)]


def _compute_mean_cost(items: Sequence[ScoredItem], cost_name: str) -> list[Metric]:
    costs = [
        cost
        for item in items
        if (cost := to_finite_number(item.metadata.get(cost_name))) is not None
    ]
    if not costs:
        return []
    mean = sum(costs) / len(costs)
    return [
        Metric(
            "cost",
            f"mean {cost_name}",
            value=mean,
            unit="dollars",
            n=len(costs),
            total=len(items),
            digits=4,
        )
    ]


def _count_endings(items: Sequence[ScoredItem]) -> list[Metric]:
    reasons = Counter(str(item.metadata.get("ended")) for item in items)
    metrics = _make_count_metrics("termination", reasons)
    if broken := sum(reasons[reason] for reason in ERROR_REASONS):
        note = (
            "termination reasons that the official program counts as errors:"
            f" {', '.join(ERROR_REASONS)}"
        )
        metrics.append(Metric("termination", "errors", value=broken, unit="count", note=note))
    return metrics


def _count_checks(items: Sequence[ScoredItem]) -> list[Metric]:
    databases = Counter(item.values.get("db") for item in items)
    not_checked = len(items) - databases[True] - databases[False]
    by_name = {
        "matches": databases[True],
        "does not match": databases[False],
        "not checked": not_checked,
    }
    metrics = [
        Metric("database", name, value=count, unit="count", level=1)
        for name, count in by_name.items()
    ]
    actions = Counter(entry for item in items for entry in _read_action_checks(item))
    for kind in ("read", "write"):
        n_matched = actions[ActionCheck(kind, True)]
        if total := n_matched + actions[ActionCheck(kind, False)]:
            metrics.append(Metric("golden actions", f"{kind} actions", value=total, unit="count"))
            metrics.append(
                Metric(
                    "golden actions",
                    f"{kind} actions matched",
                    value=n_matched,
                    unit="count",
                    level=1,
                )
            )
    recorded = [item.metadata.get("authentication", "not checked") for item in items]
    known = ("succeeded", "failed", "not checked")
    statuses = Counter(status if status in known else "not needed" for status in recorded)
    if statuses["not checked"] < len(items):
        names = ("succeeded", "failed", "not needed", "not checked")
        metrics += [
            Metric("authentication", name, value=statuses[name], unit="count", level=1)
            for name in names
        ]
    if periods := [
        item.metadata["unresponsive period"]
        for item in items
        if "unresponsive period" in item.metadata
    ]:
        metrics.append(
            Metric(
                "responsiveness",
                "with an unresponsive period",
                value=sum(map(bool, periods)),
                unit="count",
            )
        )
        metrics.append(Metric("responsiveness", "recorded", value=len(periods), unit="count"))
    return metrics


class ActionCheck(NamedTuple):
    tool_kind: Any
    is_matched: bool
    """Whether a call matches the golden action."""


def _read_action_checks(item: ScoredItem) -> Iterator[ActionCheck]:
    """Yield a check for each golden action for which the file records one."""
    checks = item.metadata.get(REWARD_CHECKS)
    verdicts = {(target, criterion): value for target, criterion, value in item.part_verdicts}
    for target, criterion, matched, kind in (checks or {}).get("ACTION") or ():
        if kind is not None:
            yield ActionCheck(kind, verdicts.get((target, criterion), matched) is True)


def _count_judge_errors(items: Sequence[ScoredItem]) -> list[Metric]:
    counts: Counter[str] = Counter()
    for item in items:
        counts.update(as_object(item.metadata.get("errors found by the review")))
    return _make_count_metrics("errors found by reviews", counts)


def _count_outcomes(items: Sequence[ScoredItem]) -> list[Metric]:
    names = {True: "success", None: "no verdict"}
    outcomes = Counter(
        names.get(get_success(item)) or _get_effective_error_type(item) for item in items
    )
    return _make_count_metrics("outcomes", outcomes)


def _make_count_metrics(table: str, counts: Counter[str]) -> list[Metric]:
    return [
        Metric(table, name, value=count, unit="count", level=1)
        for name, count in counts.most_common()
    ]


def _get_effective_error_type(item: ScoredItem) -> str:
    """Return the error type of a failing item. Reviews of reward parts and checks can change it."""
    parts, checks = item.metadata.get(REWARD_PARTS), item.metadata.get(REWARD_CHECKS)
    values = {
        part: derive_reward_part(part, value, checks, item.overrides)
        for part, value in (parts or {}).items()
    }
    if not any(is_overridden for _, is_overridden in values.values()):
        return item.error_type or "failed"
    failing = [
        part for part, (value, _) in values.items() if value is not None and not is_success(value)
    ]
    return " + ".join(ERROR_TYPES.get(part, part) for part in failing) or "failed"


ERROR_ENDINGS = ("context_window_exceeded", "timeout", "unexpected_error", *ERROR_REASONS)
"""Termination reasons that count as errors in the comparison of scoring conventions.

`max_steps` is not one of them.
"""
EXCEPTION = "error"
"""Error type of entries of v1 that ended with an exception."""


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:
    planned = next((each.metadata.get(PLANNED_TRIALS) for each in items), None)
    trials = [
        Trial(i.id, task=i.group or i.id, passed=get_success(i) is True, ending=_classify_ending(i))
        for i in items
    ]
    own = "tau-bench v1" if run.generation == "v1" else "tau2-bench"
    return TrialTable(trials, own=own, planned=planned if isinstance(planned, int) else None)


def _classify_ending(item: ScoredItem) -> Ending:
    ended = item.metadata.get("ended")
    if not is_counted_in_metrics(item) or (ended is None and get_success(item) is None):
        return "not run"
    is_error = ended in ERROR_ENDINGS or (ended is None and item.error_type == EXCEPTION)
    return "error" if is_error and not get_success(item) else "graded"
