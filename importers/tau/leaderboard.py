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
from fcreview.model.derivation import (
    REWARD_CHECKS,
    REWARD_PARTS,
    derive_reward_part,
)
from fcreview.model.item import Run
from fcreview.model.metric import Metric, ScoredItem, cached_on_item
from fcreview.model.review import CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable

ERROR_REASONS = ("too_many_errors", "agent_error", "user_error")
"""Termination reasons that the official program counts together as errors."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    if run.generation == "v1":
        return _compute_version1_metrics(items)
    return _compute_version2_metrics(items)


@cached_on_item
def get_reward(item: ScoredItem) -> float | None:
    """Return the effective reward of an item.

    A review of the item, of a reward part or of a check can change it.
    """
    value = item.derive_verdict("tau", ITEM, "reward")
    if value is None:
        value = item.values.get("reward")

    reward = to_finite_number(value)
    if reward is not None:
        return reward
    # Without a reward, the verdict counts as 1 or 0.
    if item.valid is not None:
        return float(item.valid)
    return None


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
    task_successes: Sequence[TaskSuccesses], max_k: int, n_trials: int | None = None
) -> list[Metric]:
    """Compute pass^k for k from 1 to `max_k`.

    pass^k is the mean over the tasks of C(successes, k) / C(trials, k): the probability that k
    random trials of a task all succeed. If given, `n_trials` is used as the number of trials of
    every task.
    """
    n_tasks = len(task_successes)
    if n_tasks == 0:
        return []

    metrics = []
    for k in range(1, max_k + 1):
        shares = [
            comb(task.n_successes, k) / comb(n_trials or task.n_trials, k)
            for task in task_successes
        ]
        mean = sum(shares) / n_tasks
        metric = Metric("pass^k", f"pass^{k}", value=mean, n=n_tasks, total=n_tasks)
        metric.counted_noun = "tasks"
        metrics.append(metric)
    return metrics


UNEQUAL_TRIALS_NOTE = (
    "the official program assumes {n_trials} trials of every task, the number of different trials"
    " in the file; some tasks have only {min_trials}"
)


def _compute_version1_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    known = [item for item in items if get_success(item) is not None]
    metrics = [_compute_average_reward(known, n_items=len(items))]
    metrics += _compute_version1_pass_hat(known)
    metrics += _compute_mean_cost(items, "user cost")
    metrics += _count_outcomes(items)
    return metrics


def _compute_version1_pass_hat(known_items: Sequence[ScoredItem]) -> list[Metric]:
    """Compute pass^k, the chance that k trials of a task all succeed, as the official program of
    tau-bench does.

    The program takes the number of trials in the file as that of every task, also if a task has
    fewer.
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
    """Compute the metrics of tau2-bench. Simulations that failed for technical reasons are left
    out, as in the official program.
    """
    counted = [item for item in items if is_counted_in_metrics(item)]
    successes = list(count_successes_by_task(counted).values())
    n_left_out = len(items) - len(counted)

    # The average is of the simulations that were run. Those that were not have no verdict from any
    # source.
    metrics = [_compute_average_reward(counted, n_items=len(counted))]
    metrics += compute_pass_hat_metrics(successes, find_largest_k(counted))
    metrics += _compute_mean_cost(counted, "agent cost")
    metrics += _compute_mean_cost(counted, "user cost")
    metrics.append(_make_count("simulations", "simulations", len(counted)))
    metrics.append(_make_count("simulations", "tasks", len(successes)))
    metrics.append(_make_count("simulations", "infrastructure errors, left out", n_left_out))
    metrics += _count_endings(counted)
    metrics += _count_checks(counted)
    metrics += _count_judge_errors(counted)
    metrics += _count_outcomes(counted)
    return metrics


def _make_count(table: str, name: str, count: int, level: int = 0) -> Metric:
    return Metric(table, name, value=count, unit="count", level=level)


def is_counted_in_metrics(item: ScoredItem) -> bool:
    """Return whether metrics count an item.

    After an infrastructure error, it counts only with a reviewed verdict.
    """
    return item.metadata.get("ended") != INFRASTRUCTURE_ERROR or get_success(item) is not None


def find_largest_k(items: Sequence[ScoredItem]) -> int:
    """Return the largest k for pass^k: the number of planned trials or, if smaller, the fewest
    trials of a task.
    """
    counts = [task.n_trials for task in count_successes_by_task(items).values()]
    for item in items:
        planned = item.metadata.get(PLANNED_TRIALS)
        if is_integer(planned):
            counts.append(planned)
            # All items of a run have the same number of planned trials.
            break
    return min(counts, default=0)


def _compute_average_reward(items: Sequence[ScoredItem], n_items: int) -> Metric:
    """Compute the mean of the rewards that are known."""
    rewards = []
    for item in items:
        reward = get_reward(item)
        if reward is not None:
            rewards.append(reward)

    average = sum(rewards) / len(rewards) if rewards else None
    return Metric("reward", "average reward", value=average, n=len(rewards), total=n_items)


def _compute_mean_cost(items: Sequence[ScoredItem], cost_name: str) -> list[Metric]:
    """Return a metric with the mean cost of a conversation; empty if no item has the cost."""
    costs = []
    for item in items:
        cost = to_finite_number(item.metadata.get(cost_name))
        if cost is not None:
            costs.append(cost)
    if not costs:
        return []

    metric = Metric("cost", f"mean {cost_name}", value=sum(costs) / len(costs), unit="dollars")
    metric.n = len(costs)
    metric.total = len(items)
    metric.digits = 4
    return [metric]


def _count_endings(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count the termination reasons, and once more together those that count as errors."""
    reasons = Counter(str(item.metadata.get("ended")) for item in items)
    metrics = _make_counts_by_frequency("termination", reasons)

    n_errors = sum(reasons[reason] for reason in ERROR_REASONS)
    if n_errors:
        metric = _make_count("termination", "errors", n_errors)
        metric.note = (
            "termination reasons that the official program counts as errors:"
            f" {', '.join(ERROR_REASONS)}"
        )
        metrics.append(metric)
    return metrics


def _count_checks(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count the recorded checks as `agent_metrics.py` of tau2-bench 1.0.1 does."""
    metrics = _count_database_checks(items)
    metrics += _count_golden_actions(items)
    metrics += _count_authentications(items)
    metrics += _count_unresponsive_periods(items)
    return metrics


def _count_database_checks(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count the simulations by the result of the comparison of databases."""
    matches = Counter(item.values.get("db") for item in items)
    n_matching = matches[True]
    n_different = matches[False]
    n_unchecked = len(items) - n_matching - n_different
    return [
        _make_count("database", "matches", n_matching, level=1),
        _make_count("database", "does not match", n_different, level=1),
        _make_count("database", "not checked", n_unchecked, level=1),
    ]


def _count_golden_actions(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count the golden actions that read and that write, and how many of them a call matches."""
    checks: Counter[ActionCheck] = Counter()
    for item in items:
        checks.update(_read_action_checks(item))

    metrics = []
    for kind in ("read", "write"):
        n_matched = checks[ActionCheck(kind, is_matched=True)]
        n_actions = n_matched + checks[ActionCheck(kind, is_matched=False)]
        if n_actions:
            metrics.append(_make_count("golden actions", f"{kind} actions", n_actions))
            name = f"{kind} actions matched"
            metrics.append(_make_count("golden actions", name, n_matched, level=1))
    return metrics


def _count_authentications(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count how authentications ended; empty if the run has none."""
    statuses: Counter[str] = Counter()
    for item in items:
        status = item.metadata.get("authentication", "not checked")
        if status not in ("succeeded", "failed", "not checked"):
            status = "not needed"
        statuses[status] += 1
    if statuses["not checked"] == len(items):
        return []

    names = ("succeeded", "failed", "not needed", "not checked")
    return [_make_count("authentication", name, statuses[name], level=1) for name in names]


def _count_unresponsive_periods(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count voice simulations with a period without a response; empty if none records it."""
    name = "unresponsive period"
    recorded = [bool(item.metadata[name]) for item in items if name in item.metadata]
    if not recorded:
        return []
    return [
        _make_count("responsiveness", "with an unresponsive period", sum(recorded)),
        _make_count("responsiveness", "recorded", len(recorded)),
    ]


class ActionCheck(NamedTuple):
    tool_kind: Any
    is_matched: bool
    """Whether a call matches the golden action."""


def _read_action_checks(item: ScoredItem) -> Iterator[ActionCheck]:
    """Yield a check for each golden action whose kind of tool the file records.

    A review of the call replaces the recorded result.
    """
    reviewed = {(target, criterion): value for target, criterion, value in item.part_verdicts}
    checks = item.metadata.get(REWARD_CHECKS) or {}
    for target, criterion, recorded, tool_kind in checks.get("ACTION") or ():
        if tool_kind is None:
            continue
        is_matched = reviewed.get((target, criterion), recorded) is True
        yield ActionCheck(tool_kind, is_matched)


def _count_judge_errors(items: Sequence[ScoredItem]) -> list[Metric]:
    counts: Counter[str] = Counter()
    for item in items:
        counts.update(as_object(item.metadata.get("errors found by the review")))
    return _make_counts_by_frequency("errors found by reviews", counts)


def _count_outcomes(items: Sequence[ScoredItem]) -> list[Metric]:
    outcomes = Counter(_describe_outcome(item) for item in items)
    return _make_counts_by_frequency("outcomes", outcomes)


def _describe_outcome(item: ScoredItem) -> str:
    success = get_success(item)
    if success is None:
        return "no verdict"
    if success:
        return "success"
    return _get_effective_error_type(item)


def _make_counts_by_frequency(table: str, counts: Counter[str]) -> list[Metric]:
    return [_make_count(table, name, count, level=1) for name, count in counts.most_common()]


def _get_effective_error_type(item: ScoredItem) -> str:
    """Return the error type of a failing item after the reviews: the parts of its reward that fail,
    such as `database + communicate`.

    If no review concerns a part or a check, it is the imported error type.
    """
    parts = item.metadata.get(REWARD_PARTS) or {}
    checks = item.metadata.get(REWARD_CHECKS)

    failing = []
    is_any_overridden = False
    for part, recorded in parts.items():
        value, is_overridden = derive_reward_part(part, recorded, checks, item.overrides)
        is_any_overridden = is_any_overridden or is_overridden
        if value is not None and not is_success(value):
            failing.append(ERROR_TYPES.get(part, part))

    if not is_any_overridden:
        return item.error_type or "failed"
    return " + ".join(failing) or "failed"


ERROR_ENDINGS = ("context_window_exceeded", "timeout", "unexpected_error", *ERROR_REASONS)
"""Termination reasons that count as errors in the comparison of scoring conventions.

`max_steps` is not one of them.
"""
EXCEPTION = "error"
"""Error type of entries of v1 that ended with an exception."""


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:
    """Return each item as a trial of its task, to compare scoring conventions."""
    trials = []
    for item in items:
        task = item.group or item.id
        passed = get_success(item) is True
        trials.append(Trial(item.id, task=task, passed=passed, ending=_classify_ending(item)))

    planned = items[0].metadata.get(PLANNED_TRIALS) if items else None
    program = "tau-bench v1" if run.generation == "v1" else "tau2-bench"
    return TrialTable(trials, own=program, planned=planned if isinstance(planned, int) else None)


def _classify_ending(item: ScoredItem) -> Ending:
    """Return how a simulation ended: it was graded, broke off with an error, or was not run."""
    ending = item.metadata.get("ended")
    if not is_counted_in_metrics(item):
        return "not run"
    if ending is None and get_success(item) is None:
        return "not run"
    if get_success(item):
        return "graded"

    # The entries of v1 do not state how they ended. Their error type shows an exception.
    if ending is None:
        is_error = item.error_type == EXCEPTION
    else:
        is_error = ending in ERROR_ENDINGS
    return "error" if is_error else "graded"
