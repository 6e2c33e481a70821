"""Recompute the metrics of an Inspect log from the scores of its samples, as Inspect computes them.

A score column is a scorer, or a key of its object scores, with a reducer over epochs and with metrics. `read_columns`
reads the columns from the header. The importer stores them in `Run.official_metrics` under `LOG_KEY`, with the name of
the primary score, which gives the item verdicts. If a verdict differs from the recorded primary score, the score is
replaced by a value of the same form: `C` or `I`, true or false, 1 or 0. All other scores keep their values.

The rules are those of Inspect's `scorer/_reducer/reducer.py` and `scorer/_metrics/`. fcreview imports metrics that
depend on random numbers or on a task's own code, but cannot recompute them.
"""

from __future__ import annotations

import fnmatch
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.inspect.scores import (
    LETTER_OF_NUMBER,
    LETTERS,
    convert_verdict_to_value,
    to_metric_number,
    to_verdict,
)
from fcreview.model.item import Run
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, build_category_metrics, build_pass_rate_metric
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable

LOG_KEY = "inspect"
PASSING_NUMBER = 1.0
"""Minimum value that the reducers `at_least`, `pass_at` and `pass_k` count as correct."""
AS_RECORDED = "imported from the log, not recomputed"
MISSING = object()
"""Stands for the value of a score whose source has no verdict."""
RECOMPUTED_TABLE = "recomputed verdicts"
WITH_EDITS = "after the edits in the log"


class NotRecomputable(ValueError):
    """Raised for a reducer or metric that fcreview cannot compute. The message is its name."""


@dataclass(frozen=True, slots=True)
class ReducedScore:
    """Score of one sample, reduced over its epochs to one value."""

    value: Any
    """Reduced value, or None if the sample is not scored."""
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric of a score column, as the log declares it."""

    key: str
    """Name under which the log records the value."""
    name: str
    """Name of the metric, such as `accuracy`. For one group of a grouped metric, it is the name of the group."""
    params: Mapping[str, Any] = field(default_factory=dict)
    is_grouped: bool = False
    recorded: float | None = None
    """Value in the log."""


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


@dataclass(frozen=True, slots=True)
class LogMetrics:
    """The score columns of a log, from its header."""

    primary: str | None
    """Name of the score that gives the item verdicts."""
    is_judged: bool
    """Whether a language model gives the primary score."""
    columns: Sequence[ScoreColumn] = ()
    is_complete: bool = True
    """Whether the run finished, so that the recorded metrics cover all samples."""


def read_columns(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the score columns of a log as JSON: those in its results or, without results, the declared columns."""
    results = as_object(header.get("results"))
    recorded = results.get("scores")
    if recorded is None and "scorer" in results:  # Logs before format 2 have one scorer.
        recorded = [{"name": _get_scorer_name(results["scorer"]), "metrics": results.get("metrics")}]
    columns = [each for score in list_objects(recorded) if (each := _read_recorded_column(score)) is not None]
    return columns or list(_list_declared_columns(header))


def _read_recorded_column(score: Mapping[str, Any]) -> dict[str, Any] | None:
    name = str(score.get("name") or _get_scorer_name(score.get("scorer")))
    if not name:
        return None
    metrics = []
    for key, metric in as_object(score.get("metrics")).items():
        found = metric if isinstance(metric, dict) else {"value": metric}
        value, params = found.get("value"), to_plain_json(as_object(found.get("params", found.get("options"))))
        number = float(value) if isinstance(value, (int, float)) and value == value and abs(value) < 1e300 else None
        spec = {"key": key, "name": str(found.get("name") or key), "params": params}
        metrics.append(spec | {"is_grouped": found.get("group") == "grouped", "recorded": number})
    reducer = score.get("reducer") if isinstance(score.get("reducer"), str) else None
    return {
        "name": name,
        "scorer": _get_scorer_name(score.get("scorer")) or name,
        "reducer": reducer,
        "metrics": metrics,
    }


def _list_declared_columns(header: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a column for each declared scorer and reducer. Its groups and keys are known only from the scores."""
    declaration = as_object(header.get("eval"))
    reducers = as_object(declaration.get("config")).get("epochs_reducer")
    names = [name for name in as_list(reducers) if isinstance(name, str)]
    for scorer in list_objects(declaration.get("scorers")):
        name = str(scorer.get("name") or "").rpartition("/")[2]
        metrics = scorer.get("metrics") or declaration.get("metrics")
        for reducer in names or [None]:  # type: ignore[list-item]
            plain = [each for each in list_objects(metrics) if "name" in each]
            if name and plain:
                yield _make_declared_column(name, name, reducer, plain)
            for key, listed in as_object(metrics).items():
                yield _make_declared_column(str(key), name, reducer, list_objects(listed))


def _make_declared_column(
    name: str, scorer: str, reducer: str | None, declared_metrics: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    specs = []
    for metric in declared_metrics:
        own = str(metric.get("name")).removeprefix("inspect_ai/")
        params = to_plain_json(as_object(metric.get("options")))
        specs.append({"key": own, "name": own, "params": params, "is_grouped": own == "grouped", "recorded": None})
    return {"name": name, "scorer": scorer, "reducer": reducer, "metrics": specs}


def load_log_metrics(run: Run) -> LogMetrics:
    """Return the score columns that the importer stored in the run."""
    stored = as_object(run.official_metrics.get(LOG_KEY))
    stored_columns, columns = list_objects(stored.get("columns")), []
    seen = {(each.get("scorer"), each.get("name")) for each in stored_columns if each.get("reducer")}
    for each in stored_columns:
        specs = [_parse_metric_spec(metric) for metric in list_objects(each.get("metrics"))]
        name, scorer, reducer = str(each.get("name")), str(each.get("scorer")), each.get("reducer")
        is_unreduced = reducer is None and (scorer, name) in seen
        columns.append(ScoreColumn(name, scorer, reducer if isinstance(reducer, str) else None, specs, is_unreduced))
    primary = stored.get("primary") if isinstance(stored.get("primary"), str) else None
    return LogMetrics(primary, stored.get("is_judged") is True, columns, stored.get("is_complete") is True)


def _parse_metric_spec(stored: Mapping[str, Any]) -> MetricSpec:
    key, name, params = str(stored.get("key")), str(stored.get("name")), as_object(stored.get("params"))
    return MetricSpec(key, name, params, stored.get("is_grouped") is True, stored.get("recorded"))


def reduce_column(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ReducedScore]:
    """Reduce the values of a column's scorer to one value for each sample.

    Raises NotRecomputable for an unknown reducer.
    """
    if column.is_unreduced:
        return [ReducedScore(_select_column_value(each.value, column), each.metadata) for each in values]
    groups: defaultdict[str, list[EpochValue]] = defaultdict(list)
    for each in values:
        groups[each.sample].append(each)
    reduced = [(reduce_epochs([each.value for each in part], column.reducer), part[0]) for part in groups.values()]
    return [ReducedScore(_select_column_value(value, column), first.metadata) for value, first in reduced]


def _select_column_value(value: Any, column: ScoreColumn) -> Any:
    if isinstance(value, dict) and (column.name != column.scorer or column.name in value):
        return value.get(column.name)
    return value


def expand_column(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ScoreColumn]:
    """Expand a column whose name is a pattern to one column for each matching key of the scores."""
    first = next((each.value for each in values if isinstance(each.value, dict)), None)
    names = [column.name]
    if first is not None and column.name not in first and column.name != column.scorer:
        names = [key for key in first if fnmatch.fnmatch(key, column.name)] or names
    return [ScoreColumn(name, column.scorer, column.reducer, column.metrics, column.is_unreduced) for name in names]


def expand_metrics(column: ScoreColumn, reduced: Sequence[ReducedScore]) -> list[MetricSpec]:
    """Return the metrics of a column, with one metric for each group of a grouped metric."""
    specs: list[MetricSpec] = []
    for spec in column.metrics:
        if not spec.is_grouped or spec.name != "grouped":
            specs.append(spec)
            continue
        names = list_group_names(spec.params, reduced)
        specs += [MetricSpec(_number_repeated_name(name, specs), name, spec.params, True) for name in names]
    return specs


def _number_repeated_name(name: str, specs: Sequence[MetricSpec]) -> str:
    """Return `name`, with a number if another metric has this key. Inspect numbers repeated keys from 2."""
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


def _get_scorer_name(scorer: Any) -> str:
    name = scorer.get("name") if isinstance(scorer, dict) else scorer
    return name if isinstance(name, str) else ""


def reduce_epochs(values: Sequence[Any], reducer: str | None) -> Any:
    """Reduce the values of one sample's epochs to one value. An epoch without a score has the value None.

    Objects are reduced key by key, and lists index by index. Raises NotRecomputable for an unknown reducer.
    """
    name, count = _parse_reducer_name(reducer)
    first = next((value for value in values if value is not None), None)
    if first is None:
        return None
    if isinstance(first, dict):
        objects = [value for value in values if isinstance(value, dict)]
        return {key: _reduce_values([value.get(key) for value in objects], name, count, len(values)) for key in first}
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
        return _NUMBER_REDUCERS[reducer]([to_metric_number(value) for value in scored], reducer_number)
    if reducer in _VALUE_REDUCERS:
        return _VALUE_REDUCERS[reducer](scored, n_votes)
    raise NotRecomputable(f"{reducer}_{reducer_number}" if reducer_number else reducer)


def compute_mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _compute_probability_of_drawing_only(n_wanted: int, n_epochs: int, n_drawn: int) -> float | None:
    """Return the probability that epochs drawn without replacement are all among `n_wanted` of them.

    Return None if there are fewer than `n_drawn` epochs.
    """
    return None if n_epochs < n_drawn else math.comb(n_wanted, n_drawn) / math.comb(n_epochs, n_drawn)


def _compute_pass_at(numbers: list[float], k: int) -> float | None:
    all_fail = _compute_probability_of_drawing_only(len(numbers) - _count_passes(numbers), len(numbers), k)
    return None if all_fail is None else 1.0 - all_fail


def _count_passes(numbers: list[float]) -> int:
    return sum(number >= PASSING_NUMBER for number in numbers)


def _find_most_frequent(values: list[Any], _: int) -> Any:
    return Counter(map(_to_hashable, values)).most_common(1)[0][0]


def _find_absolute_majority(values: list[Any], n_votes: int) -> Any:
    """Return the value that more than half of all votes have, or None. `n_votes` includes votes without a value."""
    value, count = Counter(map(_to_hashable, values)).most_common(1)[0]
    return value if 2 * count > n_votes else None


def _to_hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else str(value)


_NUMBER_REDUCERS: dict[str, Callable[[list[float], int], Any]] = {
    "mean": lambda numbers, _: compute_mean(numbers),
    "median": lambda numbers, _: median(numbers),
    "pass_at": _compute_pass_at,
    "pass_k": lambda numbers, k: _compute_probability_of_drawing_only(_count_passes(numbers), len(numbers), k),
    "at_least": lambda numbers, k: int(_count_passes(numbers) >= k),
}
_VALUE_REDUCERS: dict[str, Callable[[list[Any], int], Any]] = {
    "mode": _find_most_frequent,
    "majority": _find_absolute_majority,
    "max": lambda values, _: max(values, key=to_metric_number),
}


def compute_metric(spec: MetricSpec, scores: Sequence[ReducedScore]) -> float | None:
    """Compute a metric over the reduced scores that have a value, or return None without such scores.

    Raises NotRecomputable if fcreview does not know the metric.
    """
    scored = [score for score in scores if score.value is not None]
    if not spec.is_grouped:
        return _compute_simple_metric(spec.name, spec.params, scored)
    metric = spec.params.get("metric")
    key, template = spec.params.get("group_key"), str(spec.params.get("name_template") or "{group_name}")
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
    key, template = str(spec.params.get("group_key")), str(spec.params.get("name_template") or "{group_name}")
    if not spec.is_grouped or spec.name == spec.params.get("all_label", "all"):
        return list(scores)
    return [s for s in scores if template.replace("{group_name}", str(s.metadata.get(key))) == spec.name]


def list_group_names(params: Mapping[str, Any], scores: Sequence[ReducedScore]) -> list[str]:
    """Return the names of the groups of a grouped metric, in the order in which Inspect records them."""
    key, template = str(params.get("group_key")), str(params.get("name_template") or "{group_name}")
    groups = dict.fromkeys(str(s.metadata[key]) for s in scores if s.value is not None and key in s.metadata)
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
    variance = math.fsum((number - center) ** 2 for number in numbers) / (len(numbers) - 1)
    if name == "var":
        return variance
    deviation = math.sqrt(variance)
    return deviation if name == "std" else deviation / math.sqrt(len(numbers))


RECOMPUTABLE_METRICS = ("accuracy", "mean", "stderr", "std", "var")


def _compute_clustered_error(numbers: list[float], scored: Sequence[ReducedScore], cluster_key: str) -> float:
    center = compute_mean(numbers)
    clusters: defaultdict[str, list[float]] = defaultdict(list)
    for number, score in zip(numbers, scored, strict=True):
        if cluster_key not in score.metadata:
            raise NotRecomputable(f"stderr: the metadata of a sample does not contain {cluster_key}")
        clusters[str(score.metadata[cluster_key])].append(number - center)
    n = len(clusters)
    if n < 2:
        return 0.0
    squares = math.fsum(math.fsum(deviations) ** 2 for deviations in clusters.values())
    return math.sqrt(n / (n - 1) * squares) / len(numbers)


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Values of one score, computed from the verdicts of one source."""

    known: Sequence[EpochValue]
    """Values of the samples in which the source has a verdict on every epoch."""
    complete: Sequence[EpochValue]
    """Values of all scored samples. Samples that are not in `known` have the value in the log."""
    is_recorded: bool
    """Whether the values in `known` are those in the log."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics of each score column or, if the log has no scores, the pass rates by category."""
    log_metrics = load_log_metrics(run)
    metrics = list(_compute_column_metrics(items, log_metrics, is_edited=False)) if log_metrics.columns else []
    if any("edited" in item.metadata for item in items):
        metrics += _compute_column_metrics(items, log_metrics, is_edited=True)
    return [*(metrics or build_category_metrics(items)), *_compute_recomputed_verdict_metrics(items)]


def _compute_recomputed_verdict_metrics(items: Sequence[ScoredItem]) -> Iterator[Metric]:
    """Yield the pass rate of the items with a recomputed verdict, and count the causes of different verdicts."""
    checked = [item for item in items if item.metadata.get("is_recomputed") is True]
    if not checked:
        return
    yield build_pass_rate_metric(RECOMPUTED_TABLE, "items with a recomputed verdict", checked)
    causes = Counter(str(cause) for item in checked if (cause := item.metadata.get("cause")))
    for cause, count in causes.most_common():
        yield Metric(RECOMPUTED_TABLE, f"verdicts differ: {cause}", count, "count", level=1)


def _compute_column_metrics(
    items: Sequence[ScoredItem], log_metrics: LogMetrics, *, is_edited: bool
) -> Iterator[Metric]:
    for column in log_metrics.columns:
        if not is_edited:
            values = compute_source_values(items, column.scorer, log_metrics)
        elif any(column.scorer in as_object(item.metadata.get("edited")) for item in items):
            edited = list(read_edited_values(items, column.scorer))
            values = ColumnValues(edited, edited, is_recorded=True)
        else:
            continue
        table = f"{column.title} · {WITH_EDITS}" if is_edited else column.title
        for each in expand_column(column, values.complete):
            yield from _compute_metrics_of_column(each, values, table)


def _compute_metrics_of_column(column: ScoreColumn, values: ColumnValues, table: str) -> Iterator[Metric]:
    try:
        reduced, complete = (reduce_column(column, each) for each in (values.known, values.complete))
        is_known = True
    except NotRecomputable:
        reduced, complete, is_known = [], [], False
    for spec in expand_metrics(column, complete):
        value, has_rule = try_compute_metric(spec, reduced) if is_known else (None, False)
        note = ""
        if values.is_recorded and (not has_rule or not values.known):
            value, note = spec.recorded, AS_RECORDED
        n, total = (
            sum(s.value is not None for s in select_scores_of_metric(spec, each)) for each in (reduced, complete)
        )
        yield Metric(
            table, spec.key, value, _get_metric_unit(spec), int(spec.is_grouped), note, n, total or None, "samples"
        )


def recompute_metrics_of_column(
    column: ScoreColumn, values: Sequence[EpochValue]
) -> Iterator[tuple[MetricSpec, float | None]]:
    """Yield each metric of a column and its recomputed value, or None if it cannot be computed."""
    for each in expand_column(column, values):
        try:
            reduced = reduce_column(each, values)
        except NotRecomputable:
            return
        for spec in expand_metrics(each, reduced):
            yield spec, try_compute_metric(spec, reduced)[0]


def _get_metric_unit(spec: MetricSpec) -> MetricUnit:
    metric = spec.params.get("metric")
    name = str(metric.get("name")) if spec.is_grouped and isinstance(metric, dict) else spec.name
    return "share" if name.rpartition("/")[2] == "accuracy" else "score"


def read_edited_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the values of a score after the edits in the log."""
    for item in items:
        scores = as_object(item.metadata.get("scores")) | as_object(item.metadata.get("edited"))
        if scorer in scores:
            yield _make_epoch_value(item, scores[scorer])


def compute_source_values(items: Sequence[ScoredItem], scorer: str, log_metrics: LogMetrics) -> ColumnValues:
    """Compute the values of a score from the verdicts of the items."""
    scored = [item for item in items if scorer in as_object(item.metadata.get("scores"))]
    recorded = [_make_epoch_value(each, each.metadata["scores"][scorer]) for each in scored]
    if scorer != log_metrics.primary:
        values = [
            _make_epoch_value(each, _apply_criterion_reviews(each, scorer, each.metadata["scores"][scorer]))
            for each in scored
        ]
        return ColumnValues(values, values, values == recorded)
    values, unknown = [], set[str]()
    for item in items:
        scores = as_object(item.metadata.get("scores"))
        value = _get_primary_value(item, scores.get(scorer), log_metrics)
        if value is MISSING:
            unknown.add(_get_sample_name(item))
        if scorer in scores or (value is not None and value is not MISSING):
            values.append(_make_epoch_value(item, None if value is MISSING else value))
    known = [each for each in values if each.sample not in unknown]
    # A sample counts only if the log or a review has a value for it.
    recorded_by_item = {each.item: each for each in recorded}
    complete = [recorded_by_item.get(each.item, each) if each.sample in unknown else each for each in values]
    return ColumnValues(known, complete, known == recorded)


def _get_primary_value(item: ScoredItem, recorded: Any, log_metrics: LogMetrics) -> Any:
    """Return the value of the primary score that follows from the item's verdict, or MISSING.

    If the recorded value is an object, reviews of its keys change it instead.
    """
    if isinstance(recorded, (dict, list)):
        return _apply_criterion_reviews(item, log_metrics.primary or "", recorded)
    override = item.overrides.get(ITEM_CORRECT)
    verdict = override if isinstance(override, bool) else None if log_metrics.is_judged else item.valid
    expected = to_verdict(recorded)
    if verdict is None and expected is not None and not log_metrics.is_judged:
        return MISSING
    if verdict is not None and verdict is not expected and (expected is not None or override is not None):
        return convert_verdict_to_value(recorded, verdict)
    return _apply_criterion_reviews(item, log_metrics.primary or "", recorded)


def get_reviewed_value(item: ScoredItem, scorer: str, log_metrics: LogMetrics) -> Any:
    """Return the value of a score that follows from the item's verdicts, or None if the score has no value."""
    recorded = as_object(item.metadata.get("scores")).get(scorer)
    if scorer != log_metrics.primary:
        return _apply_criterion_reviews(item, scorer, recorded)
    value = _get_primary_value(item, recorded, log_metrics)
    return recorded if value is MISSING else value


def _apply_criterion_reviews(item: ScoredItem, scorer: str, recorded: Any) -> Any:
    """Return a recorded value after reviews of its criterion, which is `SCORER` or `SCORER.KEY`."""
    if not item.overrides:
        return recorded
    if isinstance(recorded, dict):
        return {key: _apply_override(item, f"{scorer}.{key}", value) for key, value in recorded.items()}
    return recorded if scorer == CORRECT else _apply_override(item, scorer, recorded)


def _apply_override(item: ScoredItem, criterion: str, recorded: Any) -> Any:
    if isinstance(recorded, list):
        return recorded
    new = item.overrides.get(("item", criterion))
    if isinstance(new, bool):
        return convert_verdict_to_value(recorded, new)
    if not isinstance(new, (int, float)):
        return recorded
    return LETTER_OF_NUMBER.get(new, new) if isinstance(recorded, str) and recorded in LETTERS else new


def _get_sample_name(item: ScoredItem) -> str:
    return str(item.metadata.get("sample", item.id))


def _make_epoch_value(item: ScoredItem, value: Any) -> EpochValue:
    return EpochValue(item.id, _get_sample_name(item), value, as_object(item.metadata.get("metadata")))


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return a trial for each epoch of a sample. A trial without a verdict counts as an error."""
    endings: dict[bool, Ending] = {True: "error", False: "graded"}
    trials = [Trial(each.id, _get_sample_name(each), each.valid is True, endings[each.valid is None]) for each in items]
    return TrialTable(trials, "Inspect")
