"""Recompute the metrics of a score column from the scores of the samples, as Inspect computes them.

The rules are those of Inspect's `scorer/_reducer/reducer.py` and `scorer/_metrics/`. fcreview
imports metrics that depend on random numbers or on a task's own code, but cannot recompute them.
"""

from __future__ import annotations

import fnmatch
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    """Combine the epochs (repeats) of each sample to one value, by the reducer of a score column,
    such as the mean.

    A column can be marked as not reduced. Then each epoch keeps its own value. Raises
    NotRecomputable for an unknown reducer.
    """
    if column.is_unreduced:
        return [
            ReducedScore(_select_column_value(epoch.value, column), epoch.metadata)
            for epoch in values
        ]

    epochs_by_sample: defaultdict[str, list[EpochValue]] = defaultdict(list)
    for epoch in values:
        epochs_by_sample[epoch.sample].append(epoch)
    return [_reduce_sample(column, epochs) for epochs in epochs_by_sample.values()]


def _reduce_sample(column: ScoreColumn, epochs: Sequence[EpochValue]) -> ReducedScore:
    """Combine the epochs of one sample. The metadata are those of the first epoch."""
    value = reduce_epochs([epoch.value for epoch in epochs], column.reducer)
    return ReducedScore(_select_column_value(value, column), epochs[0].metadata)


def _select_column_value(value: Any, column: ScoreColumn) -> Any:
    """Return the column's key of an object score, and any other score as it is.

    A column with the name of its scorer is a key only if the score has this key.
    """
    if not isinstance(value, dict):
        return value
    if column.name == column.scorer and column.name not in value:
        return value
    return value.get(column.name)


def expand_column_pattern(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ScoreColumn]:
    """Expand a column whose name is a pattern to one column for each matching key of the scores.

    Returns the column itself if its name is no pattern, or if no key matches. The first object
    score tells the keys.
    """
    object_scores = [epoch.value for epoch in values if isinstance(epoch.value, dict)]
    if not object_scores:
        return [column]
    keys = object_scores[0]
    is_key = column.name in keys
    is_name_of_scorer = column.name == column.scorer
    if is_key or is_name_of_scorer:
        return [column]

    matching_keys = [key for key in keys if fnmatch.fnmatch(key, column.name)]
    if not matching_keys:
        return [column]
    return [replace(column, name=key) for key in matching_keys]


def expand_grouped_metrics(
    column: ScoreColumn, reduced: Sequence[ReducedScore]
) -> list[MetricSpec]:
    """Return the metrics of a column, with one metric for each group of a grouped metric.

    A grouped metric that a log only declares has the name `grouped`. The results of a finished log
    already have one metric for each group, with the name of the group.
    """
    specs: list[MetricSpec] = []
    for spec in column.metrics:
        is_declared_group = spec.is_grouped and spec.name == "grouped"
        if not is_declared_group:
            specs.append(spec)
            continue

        # A name is numbered if an earlier metric has it. The groups of one metric differ.
        earlier_specs = list(specs)
        for group_name in list_group_names(spec.params, reduced):
            key = _number_repeated_name(group_name, earlier_specs)
            group = MetricSpec(key, name=group_name, params=spec.params, is_grouped=True)
            specs.append(group)
    return specs


def _number_repeated_name(name: str, specs: Sequence[MetricSpec]) -> str:
    """Return `name`, with a number if a metric in `specs` has this key.

    Inspect numbers repeated keys from 2.
    """
    taken_keys = {spec.key for spec in specs}
    if name not in taken_keys:
        return name

    number = 2
    while f"{name}{number}" in taken_keys:
        number += 1
    return f"{name}{number}"


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
    parsed_reducer = _parse_reducer_name(reducer)
    scored = [value for value in values if value is not None]
    if not scored:
        return None

    # The first scored epoch decides on the form of the result.
    first = scored[0]
    if isinstance(first, dict):
        return _reduce_objects(values, parsed_reducer, keys=list(first))
    if isinstance(first, list):
        return _reduce_lists(values, parsed_reducer, length=len(first))
    return _reduce_values(values, parsed_reducer, n_votes=len(values))


def _reduce_objects(
    values: Sequence[Any], reducer: ReducerName, keys: Sequence[str]
) -> dict[str, Any]:
    """Combine the epochs of a score that is an object, key by key."""
    objects = [value for value in values if isinstance(value, dict)]
    reduced = {}
    for key in keys:
        values_of_key = [value.get(key) for value in objects]
        reduced[key] = _reduce_values(values_of_key, reducer, n_votes=len(values))
    return reduced


def _reduce_lists(values: Sequence[Any], reducer: ReducerName, length: int) -> list[Any]:
    """Reduce lists index by index to a list of this length. Shorter lists have no vote at their
    missing indexes.
    """
    lists = [value for value in values if isinstance(value, list)]
    reduced = []
    for index in range(length):
        values_at_index = [value[index] for value in lists if index < len(value)]
        reduced.append(_reduce_values(values_at_index, reducer, n_votes=len(values)))
    return reduced


class ReducerName(NamedTuple):
    """The parts of a reducer's name: `pass_at_2` has the name `pass_at` and the number 2."""

    name: str
    number: int = 0


def _parse_reducer_name(reducer: str | None) -> ReducerName:
    """Split the name of a reducer, such as `pass_at_2`, into its kind and its number."""
    if reducer is None:
        return ReducerName("mean")

    name, _, number = reducer.rpartition("_")
    if not name or not number.isdigit():
        return ReducerName(reducer)
    return ReducerName(name, int(number))


def _reduce_values(values: Sequence[Any], reducer: ReducerName, n_votes: int) -> Any:
    """Combine plain values of one sample to one value by a reducer such as `mean` or `mode`. None
    if all values are None.

    `n_votes` is the number of epochs, with those that have no value.
    """
    scored = [value for value in values if value is not None]
    if not scored:
        return None

    if reducer.name in _NUMBER_REDUCERS:
        reduce_numbers = _NUMBER_REDUCERS[reducer.name]
        return reduce_numbers([to_metric_number(value) for value in scored], reducer.number)
    if reducer.name in _VALUE_REDUCERS:
        reduce_values = _VALUE_REDUCERS[reducer.name]
        return reduce_values(scored, n_votes)

    full_name = reducer.name
    if reducer.number:
        full_name = f"{reducer.name}_{reducer.number}"
    raise NotRecomputable(full_name)


def compute_mean(numbers: Sequence[float]) -> float:
    """Return the mean. It is infinite, or not a number, if some of the numbers are infinite."""
    if any(math.isinf(number) for number in numbers):
        return sum(numbers)
    return math.fsum(numbers) / len(numbers)


def _compute_probability_of_drawing_only(
    n_wanted: int, n_epochs: int, n_drawn: int
) -> float | None:
    """Return the probability that `n_drawn` of `n_epochs` epochs (repeats), drawn without
    replacement, are all among the `n_wanted` ones. None if there are fewer than `n_drawn` epochs.
    """
    if n_epochs < n_drawn:
        return None
    return math.comb(n_wanted, n_drawn) / math.comb(n_epochs, n_drawn)


def _compute_pass_at(numbers: list[float], k: int) -> float | None:
    """Return the probability that at least one of k drawn epochs passes."""
    n_failures = len(numbers) - _count_passes(numbers)
    all_fail = _compute_probability_of_drawing_only(n_failures, len(numbers), k)
    if all_fail is None:
        return None
    return 1.0 - all_fail


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
    if spec.is_grouped:
        return _compute_grouped_metric(spec, scored)
    return _compute_simple_metric(spec.name, spec.params, scored)


@dataclass(frozen=True, slots=True)
class _GroupSettings:
    """How a grouped metric divides the samples and names the groups."""

    key: Any
    """Key in the metadata of samples. The samples with the same value are a group."""
    name_template: str
    all_label: Any
    """Name of the metric of all groups together."""
    all_groups: Any
    """What the metric of all groups covers: `samples` means all samples, another text the mean of
    the groups, and a false value that there is no such metric.
    """

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> _GroupSettings:
        """Read the settings from the parameters of a grouped metric."""
        return cls(
            key=params.get("group_key"),
            name_template=str(params.get("name_template") or "{group_name}"),
            all_label=params.get("all_label", "all"),
            all_groups=params.get("all", "samples"),
        )

    @property
    def covers_all_samples(self) -> bool:
        """Whether the metric of all groups is computed from all samples, not from the groups."""
        return bool(self.all_groups == "samples")

    def is_name_of_all_groups(self, name: str) -> bool:
        """Whether there is a metric of all groups, and it has this name."""
        return bool(self.all_groups) and name == self.all_label

    def make_group_name(self, metadata_value: Any) -> str:
        return self.name_template.replace("{group_name}", str(metadata_value))


def _compute_grouped_metric(spec: MetricSpec, scored: Sequence[ReducedScore]) -> float | None:
    """Compute a metric over a group of samples, or over all groups.

    The samples with the same value of a metadata key are a group. The name in `spec` is that of a
    group, or that of all groups together. Raises NotRecomputable if the metric cannot be computed.
    """
    settings = _GroupSettings.from_params(spec.params)
    metric = spec.params.get("metric")
    if not isinstance(metric, dict) or not isinstance(settings.key, str):
        raise NotRecomputable(spec.name)

    name = str(metric.get("name"))
    params = metric.get("params") or {}
    groups = _group_by_metadata(spec, scored, settings.key)
    if not settings.is_name_of_all_groups(spec.name):
        return _compute_simple_metric(name, params, _find_group(groups, settings, spec.name))
    if settings.covers_all_samples:
        return _compute_simple_metric(name, params, scored)
    return _compute_mean_of_groups(name, params, groups.values())


def _find_group(
    groups: Mapping[Any, list[ReducedScore]], settings: _GroupSettings, name: str
) -> list[ReducedScore]:
    """Return the samples of a group by its name. Raises NotRecomputable for an unknown name."""
    for metadata_value, members in groups.items():
        if settings.make_group_name(metadata_value) == name:
            return members
    raise NotRecomputable(name)


def _group_by_metadata(
    spec: MetricSpec, scored: Sequence[ReducedScore], key: str
) -> dict[str, list[ReducedScore]]:
    """Return the scores by their value of a metadata key, which each sample must have."""
    groups: defaultdict[str, list[ReducedScore]] = defaultdict(list)
    for score in scored:
        if key not in score.metadata:
            raise NotRecomputable(f"{spec.name}: the metadata of a sample does not contain {key}")
        groups[str(score.metadata[key])].append(score)
    return groups


def _compute_mean_of_groups(
    name: str, params: Mapping[str, Any], groups: Collection[Sequence[ReducedScore]]
) -> float:
    """Return the mean of a metric over groups. It is 0 without groups."""
    if not groups:
        return 0.0
    values = [_compute_simple_metric(name, params, members) for members in groups]
    # A group without a value counts as 0.
    return compute_mean([value or 0.0 for value in values])


def select_scores_of_metric(spec: MetricSpec, scores: Sequence[ReducedScore]) -> list[ReducedScore]:
    """Return the scores that a metric covers: the scores of its group, or all scores."""
    settings = _GroupSettings.from_params(spec.params)
    if not spec.is_grouped or spec.name == settings.all_label:
        return list(scores)

    key = str(settings.key)
    return [
        score for score in scores if settings.make_group_name(score.metadata.get(key)) == spec.name
    ]


def list_group_names(params: Mapping[str, Any], scores: Sequence[ReducedScore]) -> list[str]:
    """Return the names of the groups of a grouped metric, in the order in which Inspect records
    them: first the groups as they occur, then the name for all groups.
    """
    settings = _GroupSettings.from_params(params)
    key = str(settings.key)
    groups: dict[str, None] = {}
    for score in scores:
        if score.value is not None and key in score.metadata:
            groups[str(score.metadata[key])] = None

    names = [settings.make_group_name(group) for group in groups]
    if settings.all_groups:
        names.append(str(settings.all_label))
    return names


def _compute_simple_metric(
    metric_name: str, params: Mapping[str, Any], scored_samples: Sequence[ReducedScore]
) -> float | None:
    """Compute a metric such as `accuracy` or `stderr` over all samples together. None without
    samples.

    Raises NotRecomputable for a metric of which fcreview does not know the formula.
    """
    name = metric_name
    if metric_name.startswith("inspect_ai/"):
        name = metric_name.rpartition("/")[2]
    # With `to_float`, a function of the task itself makes numbers of the scores.
    if name not in RECOMPUTABLE_METRICS or "to_float" in params:
        raise NotRecomputable(metric_name)
    if not scored_samples:
        return None

    numbers = [to_metric_number(score.value) for score in scored_samples]
    if name in ("accuracy", "mean"):
        return compute_mean(numbers)
    if name == "stderr" and params.get("cluster") is not None:
        return _compute_clustered_error(numbers, scored_samples, str(params["cluster"]))
    return _compute_spread(name, numbers)


def _compute_spread(name: str, numbers: Sequence[float]) -> float:
    """Compute the metric `var`, `std` or `stderr`. Inspect defines it as 0 for a single sample."""
    if len(numbers) < 2:
        return 0.0
    center = compute_mean(numbers)
    if not math.isfinite(center):
        return math.nan

    variance = math.fsum((number - center) ** 2 for number in numbers) / (len(numbers) - 1)
    if name == "var":
        return variance
    deviation = math.sqrt(variance)
    if name == "std":
        return deviation
    return deviation / math.sqrt(len(numbers))


RECOMPUTABLE_METRICS = ("accuracy", "mean", "stderr", "std", "var")
SPREAD_METRICS = ("stderr", "std", "var", "bootstrap_stderr", "bootstrap_std")
"""Metrics that measure the spread of the scores, so that a review of all items has no true value
for them.
"""


def _compute_clustered_error(
    numbers: list[float], scored: Sequence[ReducedScore], cluster_key: str
) -> float:
    """Compute the standard error of a mean whose samples depend on each other within clusters.

    As in Inspect, the deviations from the mean are added up within each cluster, and the squares of
    these sums replace the squares of the single deviations.

    Args:
        numbers: The value of each sample.
        scored: The samples with their metadata.
        cluster_key: The key in the metadata. Samples with the same value are in one cluster.
    """
    center = compute_mean(numbers)
    if not math.isfinite(center):
        return math.nan

    deviations_by_cluster: defaultdict[str, list[float]] = defaultdict(list)
    for number, score in zip(numbers, scored, strict=True):
        deviations_by_cluster[_get_cluster(score, cluster_key)].append(number - center)
    n_clusters = len(deviations_by_cluster)
    if n_clusters < 2:
        return 0.0
    sums = [math.fsum(deviations) for deviations in deviations_by_cluster.values()]
    sum_of_squares = math.fsum(each**2 for each in sums)
    return math.sqrt(n_clusters / (n_clusters - 1) * sum_of_squares) / len(numbers)


def _get_cluster(score: ReducedScore, cluster_key: str) -> str:
    """Return the cluster of a sample. Raises NotRecomputable if its metadata does not name it."""
    if cluster_key not in score.metadata:
        raise NotRecomputable(f"stderr: the metadata of a sample does not contain {cluster_key}")
    return str(score.metadata[cluster_key])


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
