"""Recompute the metrics of a score column from the scores of the samples, as Inspect computes them.

The rules are those of Inspect's `scorer/_reducer/reducer.py` and `scorer/_metrics/`. fcreview
imports metrics that depend on random numbers or on a task's own code, but cannot recompute them.
"""

from __future__ import annotations

import fnmatch
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, NamedTuple

from fcreview.importers.inspect.scores import to_metric_number

PASSING_NUMBER = 1.0
"""Minimum value that the reducers `at_least`, `pass_at` and `pass_k` count as correct."""


class NotRecomputable(ValueError):
    """Raised for a reducer or metric that fcreview cannot compute. The message is its name."""


@dataclass(frozen=True, slots=True)
class ReducedScore:
    """Score of one sample, reduced over its epochs to one value."""

    value: Any
    """None if the sample is not scored."""
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric of a score column, as the log declares it."""

    key: str
    """Name under which the log records the value."""
    name: str
    """Name of the metric, such as `accuracy`.

    For one group of a grouped metric, it is the name of the group.
    """
    params: Mapping[str, Any] = field(default_factory=dict)
    is_grouped: bool = False
    recorded: float | None = None
    """Value of the metric in the log."""
    is_reproduced: bool = False
    """Whether fcreview computes the recorded value from the scores in the file."""


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One entry of `results.scores`."""

    name: str
    """Name of the scorer, or the key of its object scores."""
    scorer: str
    reducer: str | None
    """Name of the reducer. None means the mean, or no reduction if `is_unreduced` is true."""
    metrics: Sequence[MetricSpec]
    is_unreduced: bool = False
    """Whether the metrics use the single epochs as values."""
    n_recorded: int | None = None
    """Number of scored samples that the recorded metrics cover."""
    n_in_file: int | None = None
    """Number of scored samples in the file."""

    @property
    def has_fewer_samples_than_recorded(self) -> bool:
        """Whether the recorded metrics cover more samples than the file."""
        return (
            self.n_recorded is not None
            and self.n_in_file is not None
            and self.n_in_file < self.n_recorded
        )

    @property
    def title(self) -> str:
        name = self.scorer if self.name == self.scorer else f"{self.scorer}: {self.name}"
        return f"{name} · {self.reducer}" if self.reducer else name


@dataclass(frozen=True, slots=True)
class EpochValue:
    """The value of one score in one epoch of a sample."""

    item: str
    sample: str
    value: Any
    metadata: Mapping[str, Any]


def reduce_column(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ReducedScore]:
    """Reduce the values of a column's scorer to one value for each sample.

    Raises NotRecomputable for an unknown reducer.
    """
    if column.is_unreduced:
        return [
            ReducedScore(_select_column_value(each.value, column), each.metadata) for each in values
        ]
    groups: defaultdict[str, list[EpochValue]] = defaultdict(list)
    for each in values:
        groups[each.sample].append(each)
    reduced = [
        (reduce_epochs([each.value for each in part], column.reducer), part[0])
        for part in groups.values()
    ]
    return [
        ReducedScore(_select_column_value(value, column), first.metadata)
        for value, first in reduced
    ]


def _select_column_value(value: Any, column: ScoreColumn) -> Any:
    if isinstance(value, dict) and (column.name != column.scorer or column.name in value):
        return value.get(column.name)
    return value


def expand_column_pattern(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ScoreColumn]:
    """Expand a column whose name is a pattern to one column for each matching key of the scores."""
    first = next((each.value for each in values if isinstance(each.value, dict)), None)
    names = [column.name]
    if first is not None and column.name not in first and column.name != column.scorer:
        names = [key for key in first if fnmatch.fnmatch(key, column.name)] or names
    return [replace(column, name=name) for name in names]


def expand_grouped_metrics(
    column: ScoreColumn, reduced: Sequence[ReducedScore]
) -> list[MetricSpec]:
    """Return the metrics of a column, with one metric for each group of a grouped metric."""
    specs: list[MetricSpec] = []
    for spec in column.metrics:
        if not spec.is_grouped or spec.name != "grouped":
            specs.append(spec)
            continue
        names = list_group_names(spec.params, reduced)
        specs += [
            MetricSpec(
                _number_repeated_name(name, specs), name=name, params=spec.params, is_grouped=True
            )
            for name in names
        ]
    return specs


def _number_repeated_name(name: str, specs: Sequence[MetricSpec]) -> str:
    """Return `name`, with a number if a metric in `specs` has this key.

    Inspect numbers repeated keys from 2.
    """
    keys = {spec.key for spec in specs}
    numbered = (f"{name}{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in keys)


class ComputedMetric(NamedTuple):
    value: float | None
    """Value of the metric, or None if no sample is scored."""
    is_recomputable: bool
    """Whether fcreview can recompute the metric. If not, `value` is None."""


def try_compute_metric(spec: MetricSpec, reduced: Sequence[ReducedScore]) -> ComputedMetric:
    try:
        return ComputedMetric(compute_metric(spec, reduced), True)
    except NotRecomputable:
        return ComputedMetric(None, False)


def reduce_epochs(values: Sequence[Any], reducer: str | None) -> Any:
    """Reduce the values of one sample's epochs to one value. An epoch without a score has the value
    None.

    Objects are reduced key by key, and lists index by index. Raises NotRecomputable for an unknown
    reducer.
    """
    name, count = _parse_reducer_name(reducer)
    first = next((value for value in values if value is not None), None)
    if first is None:
        return None
    if isinstance(first, dict):
        objects = [value for value in values if isinstance(value, dict)]
        return {
            key: _reduce_values([value.get(key) for value in objects], name, count, len(values))
            for key in first
        }
    if isinstance(first, list):
        lists = [value for value in values if isinstance(value, list)]
        by_index = [[value[at] for value in lists if at < len(value)] for at in range(len(first))]
        return [_reduce_values(parts, name, count, len(values)) for parts in by_index]
    return _reduce_values(values, name, count, len(values))


class ReducerName(NamedTuple):
    """The parts of a reducer's name: `pass_at_2` has the name `pass_at` and the number 2."""

    name: str
    number: int = 0


def _parse_reducer_name(reducer: str | None) -> ReducerName:
    if reducer is None:
        return ReducerName("mean")
    name, _, number = reducer.rpartition("_")
    return ReducerName(name, int(number)) if number.isdigit() and name else ReducerName(reducer)


def _reduce_values(values: Sequence[Any], reducer: str, reducer_number: int, n_votes: int) -> Any:
    scored = [value for value in values if value is not None]
    if not scored:
        return None
    if reducer in _NUMBER_REDUCERS:
        return _NUMBER_REDUCERS[reducer](
            [to_metric_number(value) for value in scored], reducer_number
        )
    if reducer in _VALUE_REDUCERS:
        return _VALUE_REDUCERS[reducer](scored, n_votes)
    raise NotRecomputable(f"{reducer}_{reducer_number}" if reducer_number else reducer)


def compute_mean(numbers: Sequence[float]) -> float:
    """Return the mean. It is infinite, or not a number, if some of the numbers are infinite."""
    if any(math.isinf(number) for number in numbers):
        return sum(numbers)
    return math.fsum(numbers) / len(numbers)


def _compute_probability_of_drawing_only(
    n_wanted: int, n_epochs: int, n_drawn: int
) -> float | None:
    """Return the probability that epochs drawn without replacement are all among `n_wanted` of
    them.

    Return None if there are fewer than `n_drawn` epochs.
    """
    return (
        None if n_epochs < n_drawn else math.comb(n_wanted, n_drawn) / math.comb(n_epochs, n_drawn)
    )


def _compute_pass_at(numbers: list[float], k: int) -> float | None:
    all_fail = _compute_probability_of_drawing_only(
        len(numbers) - _count_passes(numbers), len(numbers), k
    )
    return None if all_fail is None else 1.0 - all_fail


def _count_passes(numbers: list[float]) -> int:
    return sum(number >= PASSING_NUMBER for number in numbers)


def _find_most_frequent(values: list[Any], _: int) -> Any:
    return Counter(map(_to_hashable, values)).most_common(1)[0][0]


def _find_absolute_majority(values: list[Any], n_votes: int) -> Any:
    """Return the value that more than half of all votes have, or None.

    `n_votes` includes votes without a value.
    """
    value, count = Counter(map(_to_hashable, values)).most_common(1)[0]
    return value if 2 * count > n_votes else None


def _to_hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else str(value)


_NUMBER_REDUCERS: dict[str, Callable[[list[float], int], Any]] = {
    "mean": lambda numbers, _: compute_mean(numbers),
    "median": lambda numbers, _: median(numbers),
    "pass_at": _compute_pass_at,
    "pass_k": lambda numbers, k: _compute_probability_of_drawing_only(
        _count_passes(numbers), len(numbers), k
    ),
    "at_least": lambda numbers, k: int(_count_passes(numbers) >= k),
}
_VALUE_REDUCERS: dict[str, Callable[[list[Any], int], Any]] = {
    "mode": _find_most_frequent,
    "majority": _find_absolute_majority,
    "max": lambda values, _: max(values, key=to_metric_number),
}


def compute_metric(spec: MetricSpec, scores: Sequence[ReducedScore]) -> float | None:
    """Compute a metric over the reduced scores that have a value, or return None without such
    scores.

    Raises NotRecomputable if fcreview does not know the metric.
    """
    scored = [score for score in scores if score.value is not None]
    if not spec.is_grouped:
        return _compute_simple_metric(spec.name, spec.params, scored)
    metric = spec.params.get("metric")
    key, template = (
        spec.params.get("group_key"),
        str(spec.params.get("name_template") or "{group_name}"),
    )
    if not isinstance(metric, dict) or not isinstance(key, str):
        raise NotRecomputable(spec.name)
    name, params = str(metric.get("name")), metric.get("params") or {}
    groups: defaultdict[str, list[ReducedScore]] = defaultdict(list)
    for score in scored:
        if key not in score.metadata:
            raise NotRecomputable(f"{spec.name}: the metadata of a sample does not contain {key}")
        groups[str(score.metadata[key])].append(score)
    whole = spec.params.get("all", "samples")
    if spec.name == spec.params.get("all_label", "all") and whole:
        if whole == "samples":
            return _compute_simple_metric(name, params, scored)
        values = [_compute_simple_metric(name, params, group) for group in groups.values()]
        return compute_mean([value or 0.0 for value in values]) if values else 0.0
    for group, members in groups.items():
        if template.replace("{group_name}", group) == spec.name:
            return _compute_simple_metric(name, params, members)
    raise NotRecomputable(spec.name)


def select_scores_of_metric(spec: MetricSpec, scores: Sequence[ReducedScore]) -> list[ReducedScore]:
    """Return the scores that a metric covers: the scores of its group, or all scores."""
    key, template = (
        str(spec.params.get("group_key")),
        str(spec.params.get("name_template") or "{group_name}"),
    )
    if not spec.is_grouped or spec.name == spec.params.get("all_label", "all"):
        return list(scores)
    return [
        s for s in scores if template.replace("{group_name}", str(s.metadata.get(key))) == spec.name
    ]


def list_group_names(params: Mapping[str, Any], scores: Sequence[ReducedScore]) -> list[str]:
    """Return the names of the groups of a grouped metric, in the order in which Inspect records
    them.
    """
    key, template = str(params.get("group_key")), str(params.get("name_template") or "{group_name}")
    groups = dict.fromkeys(
        str(s.metadata[key]) for s in scores if s.value is not None and key in s.metadata
    )
    names = [template.replace("{group_name}", group) for group in groups]
    return [*names, str(params.get("all_label", "all"))] if params.get("all", "samples") else names


def _compute_simple_metric(
    metric_name: str, params: Mapping[str, Any], scored_samples: Sequence[ReducedScore]
) -> float | None:
    name = metric_name.rpartition("/")[2] if metric_name.startswith("inspect_ai/") else metric_name
    if name not in RECOMPUTABLE_METRICS or "to_float" in params:
        raise NotRecomputable(metric_name)
    if not scored_samples:
        return None
    numbers = [to_metric_number(score.value) for score in scored_samples]
    if name in ("accuracy", "mean"):
        return compute_mean(numbers)
    if name == "stderr" and params.get("cluster") is not None:
        return _compute_clustered_error(numbers, scored_samples, str(params["cluster"]))
    if len(numbers) < 2:
        return 0.0
    center = compute_mean(numbers)
    if not math.isfinite(center):
        return math.nan
    variance = math.fsum((number - center) ** 2 for number in numbers) / (len(numbers) - 1)
    if name == "var":
        return variance
    deviation = math.sqrt(variance)
    return deviation if name == "std" else deviation / math.sqrt(len(numbers))


RECOMPUTABLE_METRICS = ("accuracy", "mean", "stderr", "std", "var")
SPREAD_METRICS = ("stderr", "std", "var", "bootstrap_stderr", "bootstrap_std")
"""Metrics that measure the spread of the scores, so that a review of all items has no true value
for them.
"""


def _compute_clustered_error(
    numbers: list[float], scored: Sequence[ReducedScore], cluster_key: str
) -> float:
    center = compute_mean(numbers)
    if not math.isfinite(center):
        return math.nan
    clusters: defaultdict[str, list[float]] = defaultdict(list)
    for number, score in zip(numbers, scored, strict=True):
        if cluster_key not in score.metadata:
            raise NotRecomputable(
                f"stderr: the metadata of a sample does not contain {cluster_key}"
            )
        clusters[str(score.metadata[cluster_key])].append(number - center)
    n = len(clusters)
    if n < 2:
        return 0.0
    squares = math.fsum(math.fsum(deviations) ** 2 for deviations in clusters.values())
    return math.sqrt(n / (n - 1) * squares) / len(numbers)


def recompute_metrics_of_column(
    column: ScoreColumn, values: Sequence[EpochValue]
) -> Iterator[tuple[MetricSpec, float | None]]:
    """Yield each metric of a column and its recomputed value, or None if it cannot be computed."""
    for each in expand_column_pattern(column, values):
        try:
            reduced = reduce_column(each, values)
        except NotRecomputable:
            return
        for spec in expand_grouped_metrics(each, reduced):
            yield spec, try_compute_metric(spec, reduced)[0]
