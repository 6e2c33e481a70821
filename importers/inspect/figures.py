"""Reduce the epochs of Inspect samples to one value for each sample, and compute metrics over the reduced values.

The rules are those of the program's `scorer/_reducer/reducer.py` and `scorer/_metrics/`. Metrics that depend on random
numbers or on a task's own code are imported, not recomputed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.inspect.scores import to_number

PASSING_NUMBER = 1.0
"""Minimum value that the reducers `at_least`, `pass_at` and `pass_k` count as correct."""


class NotRecomputable(ValueError):
    """Raised for a reducer or metric that fcreview cannot compute. The message is the name of the reducer or metric."""


@dataclass(frozen=True, slots=True)
class ReducedScore:
    """The value of one sample over its epochs."""

    value: Any
    """None if the sample is not scored."""
    metadata: Mapping[str, Any]
    """Metadata of the sample, for groups and clusters."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric of a score column, as the log declares it."""

    key: str
    """Name under which the log records the value."""
    name: str
    """Name of the metric, such as `accuracy`. For one group of a grouped metric, the name of the group."""
    params: Mapping[str, Any] = field(default_factory=dict)
    is_grouped: bool = False
    recorded: float | None = None


def reduce_epochs(values: Sequence[Any], reducer: str | None) -> Any:
    """Reduce the values of one sample's epochs. None stands for an epoch without a score. Raises NotRecomputable.

    Objects are reduced key by key, and lists index by index.
    """
    name, count = _split_reducer(reducer)
    first = next((value for value in values if value is not None), None)
    if first is None:
        return None
    if isinstance(first, dict):
        objects = [value for value in values if isinstance(value, dict)]
        return {key: _reduce([value.get(key) for value in objects], name, count, len(values)) for key in first}
    if isinstance(first, list):
        lists = [value for value in values if isinstance(value, list)]
        by_index = [[value[at] for value in lists if at < len(value)] for at in range(len(first))]
        return [_reduce(parts, name, count, len(values)) for parts in by_index]
    return _reduce(values, name, count, len(values))


def _split_reducer(reducer: str | None) -> tuple[str, int]:
    """Return the name and the number of a reducer: `pass_at_2` is (`pass_at`, 2)."""
    if reducer is None:
        return "mean", 0
    name, _, number = reducer.rpartition("_")
    return (name, int(number)) if number.isdigit() and name else (reducer, 0)


def _reduce(values: Sequence[Any], name: str, count: int, n_votes: int) -> Any:
    scored = [value for value in values if value is not None]
    if not scored:
        return None
    if name in _BY_NUMBERS:
        return _BY_NUMBERS[name]([to_number(value) for value in scored], count)
    if name in _BY_VALUES:
        return _BY_VALUES[name](scored, n_votes)
    raise NotRecomputable(f"{name}_{count}" if count else name)


def mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _median(numbers: list[float], _: int) -> float:
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _pass_at(numbers: list[float], k: int) -> float | None:
    n, correct = len(numbers), sum(number >= PASSING_NUMBER for number in numbers)
    return None if n < k else 1.0 - math.comb(n - correct, k) / math.comb(n, k)


def _pass_k(numbers: list[float], k: int) -> float | None:
    n, correct = len(numbers), sum(number >= PASSING_NUMBER for number in numbers)
    return None if n < k else math.comb(correct, k) / math.comb(n, k)


def _at_least(numbers: list[float], k: int) -> int:
    return int(sum(number >= PASSING_NUMBER for number in numbers) >= k)


def _most_frequent(values: list[Any], _: int) -> Any:
    return Counter(map(_hashable, values)).most_common(1)[0][0]


def _absolute_majority(values: list[Any], n_votes: int) -> Any:
    """Return the value of more than half of `n_votes`, or None. `n_votes` includes votes without a value."""
    value, count = Counter(map(_hashable, values)).most_common(1)[0]
    return value if 2 * count > n_votes else None


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else str(value)


_BY_NUMBERS: dict[str, Callable[[list[float], int], Any]] = {
    "mean": lambda numbers, _: mean(numbers),
    "median": _median,
    "pass_at": _pass_at,
    "pass_k": _pass_k,
    "at_least": _at_least,
}
_BY_VALUES: dict[str, Callable[[list[Any], int], Any]] = {
    "mode": _most_frequent,
    "majority": _absolute_majority,
    "max": lambda values, _: max(values, key=to_number),
}


def compute_metric(spec: MetricSpec, scores: Sequence[ReducedScore]) -> float | None:
    """Compute a metric over reduced scores. Scores without a value are omitted. Returns None if no score has a value.

    Raises NotRecomputable.
    """
    scored = [score for score in scores if score.value is not None]
    if not spec.is_grouped:
        return _compute(spec.name, spec.params, scored)
    metric = spec.params.get("metric")
    key: Any
    key, template = spec.params.get("group_key"), str(spec.params.get("name_template") or "{group_name}")
    if not isinstance(metric, dict) or not isinstance(key, str):
        raise NotRecomputable(spec.name)
    name, params = str(metric.get("name")), metric.get("params") or {}
    groups: dict[str, list[ReducedScore]] = {}
    for score in scored:
        if key not in score.metadata:
            raise NotRecomputable(f"{spec.name}: a sample has no metadata {key}")
        groups.setdefault(str(score.metadata[key]), []).append(score)
    whole = spec.params.get("all", "samples")
    if spec.name == spec.params.get("all_label", "all") and whole:
        if whole == "samples":
            return _compute(name, params, scored)
        values = [_compute(name, params, group) for group in groups.values()]
        return mean([value or 0.0 for value in values]) if values else 0.0
    for group, members in groups.items():
        if template.replace("{group_name}", group) == spec.name:
            return _compute(name, params, members)
    raise NotRecomputable(spec.name)


def select_group(spec: MetricSpec, scores: Sequence[ReducedScore]) -> list[ReducedScore]:
    """Return the scores that a metric covers: the scores of its group, or all scores."""
    key, template = str(spec.params.get("group_key")), str(spec.params.get("name_template") or "{group_name}")
    if not spec.is_grouped or spec.name == spec.params.get("all_label", "all"):
        return list(scores)
    return [s for s in scores if template.replace("{group_name}", str(s.metadata.get(key))) == spec.name]


def group_names(params: Mapping[str, Any], scores: Sequence[ReducedScore]) -> list[str]:
    """Return the names of the values of a grouped metric, in the order in which Inspect records them."""
    key, template = str(params.get("group_key")), str(params.get("name_template") or "{group_name}")
    groups = dict.fromkeys(str(s.metadata[key]) for s in scores if s.value is not None and key in s.metadata)
    names = [template.replace("{group_name}", group) for group in groups]
    return [*names, str(params.get("all_label", "all"))] if params.get("all", "samples") else names


def _compute(metric: str, params: Mapping[str, Any], scored: Sequence[ReducedScore]) -> float | None:
    name = metric.rpartition("/")[2] if metric.startswith("inspect_ai/") else metric
    if name not in RECOMPUTABLE_METRICS or "to_float" in params:
        raise NotRecomputable(metric)
    if not scored:
        return None
    numbers = [to_number(score.value) for score in scored]
    if name in ("accuracy", "mean"):
        return mean(numbers)
    if name == "stderr" and params.get("cluster") is not None:
        return _clustered_error(numbers, scored, str(params["cluster"]))
    if len(numbers) < 2:
        return 0.0
    center = mean(numbers)
    variance = math.fsum((number - center) ** 2 for number in numbers) / (len(numbers) - 1)
    if name == "var":
        return variance
    deviation = math.sqrt(variance)
    return deviation if name == "std" else deviation / math.sqrt(len(numbers))


RECOMPUTABLE_METRICS = ("accuracy", "mean", "stderr", "std", "var")


def _clustered_error(numbers: list[float], scored: Sequence[ReducedScore], key: str) -> float:
    center = mean(numbers)
    clusters: dict[str, list[float]] = {}
    for number, score in zip(numbers, scored, strict=True):
        if key not in score.metadata:
            raise NotRecomputable(f"stderr: a sample has no metadata {key}")
        clusters.setdefault(str(score.metadata[key]), []).append(number - center)
    n = len(clusters)
    if n < 2:
        return 0.0
    squares = math.fsum(math.fsum(deviations) ** 2 for deviations in clusters.values())
    return math.sqrt(n / (n - 1) * squares) / len(numbers)
