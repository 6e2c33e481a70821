"""Recompute the metrics of an Inspect log from the scores of its samples, as Inspect computes them.

A score column is a scorer, or a key of its object scores, with a reducer over epochs and metrics. `read_columns` reads
the columns from the header. They are stored in `Run.official_metrics` under `LOG_KEY`, with the name of the main score,
which gives the item verdicts. A verdict that differs from the recorded value of the main score replaces the value: `C`
or `I`, true or false, 1 or 0, in the form of the recorded value. All other scores keep their values.

The rules are those of the program's `scorer/_reducer/reducer.py` and `scorer/_metrics/`. Metrics that depend on random
numbers or on a task's own code are imported, not recomputed.
"""

from __future__ import annotations

import fnmatch
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.inspect.scores import LETTER_OF_NUMBER, LETTERS, to_number, to_verdict, value_for_verdict
from fcreview.model.item import Run
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, metrics_by_category, pass_rate_metric
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable

LOG_KEY = "inspect"
PASSING_NUMBER = 1.0
"""Minimum value that the reducers `at_least`, `pass_at` and `pass_k` count as correct."""
AS_RECORDED = "as recorded in the log; not recomputed"
MISSING = object()
"""Value of a score for which the source has no verdict."""
RECOMPUTED_TABLE = "recomputed verdicts"
WITH_EDITS = "after the edits in the log"


class NotRecomputable(ValueError):
    """Raised for a reducer or metric that fcreview cannot compute. The message is the name of the reducer or metric."""


@dataclass(frozen=True, slots=True)
class ReducedScore:
    """Score of one sample, reduced over its epochs to one value."""

    value: Any
    """Reduced value; None if the sample is not scored."""
    metadata: Mapping[str, Any]


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


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One entry of `results.scores`."""

    name: str
    """Name of the scorer, or the key of its object scores."""
    scorer: str
    reducer: str | None
    """Name of the reducer. None stands for the mean, which is the default, or for metrics over unreduced epochs
    (`is_unreduced`)."""
    metrics: Sequence[MetricSpec]
    is_unreduced: bool = False

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
class LogFigures:
    """Data on the scores of a log, from its header."""

    primary: str | None
    """Name of the score that gives the item verdicts."""
    is_judged: bool
    """Whether a language model gives the primary score."""
    columns: Sequence[ScoreColumn] = ()
    is_complete: bool = True
    """Whether the log has results and did not end early: it was not cancelled and did not end with an error."""


def read_columns(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the score columns of a log as JSON: the columns in its results, or else the declared columns."""
    results = as_object(header.get("results"))
    recorded = results.get("scores")
    if recorded is None and "scorer" in results:  # logs before format 2 have one scorer
        recorded = [{"name": _scorer_name(results["scorer"]), "metrics": results.get("metrics")}]
    columns = [each for score in list_objects(recorded) if (each := _read_recorded_column(score)) is not None]
    return columns or list(_declared_columns(header))


def _read_recorded_column(score: Mapping[str, Any]) -> dict[str, Any] | None:
    name = str(score.get("name") or _scorer_name(score.get("scorer")))
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
    return {"name": name, "scorer": _scorer_name(score.get("scorer")) or name, "reducer": reducer, "metrics": metrics}


def _declared_columns(header: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a column for each declared scorer and reducer. Groups and keys are added later, from the scores."""
    declaration = as_object(header.get("eval"))
    reducers = as_object(declaration.get("config")).get("epochs_reducer")
    names = [name for name in as_list(reducers) if isinstance(name, str)]
    for scorer in list_objects(declaration.get("scorers")):
        name = str(scorer.get("name") or "").rpartition("/")[2]
        metrics = scorer.get("metrics") or declaration.get("metrics")
        for reducer in names or [None]:  # type: ignore[list-item]
            plain = [each for each in list_objects(metrics) if "name" in each]
            if name and plain:
                yield _declared_column(name, name, reducer, plain)
            for key, listed in as_object(metrics).items():
                yield _declared_column(str(key), name, reducer, list_objects(listed))


def _declared_column(
    name: str, scorer: str, reducer: str | None, metrics: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    specs = []
    for metric in metrics:
        own = str(metric.get("name")).removeprefix("inspect_ai/")
        params = to_plain_json(as_object(metric.get("options")))
        specs.append({"key": own, "name": own, "params": params, "is_grouped": own == "grouped", "recorded": None})
    return {"name": name, "scorer": scorer, "reducer": reducer, "metrics": specs}


def load_figures(run: Run) -> LogFigures:
    """Return the score columns that the reader stored in the run."""
    stored = as_object(run.official_metrics.get(LOG_KEY))
    stored_columns, columns = list_objects(stored.get("columns")), []
    seen = {(each.get("scorer"), each.get("name")) for each in stored_columns if each.get("reducer")}
    for each in stored_columns:
        specs = [_load_spec(metric) for metric in list_objects(each.get("metrics"))]
        name, scorer, reducer = str(each.get("name")), str(each.get("scorer")), each.get("reducer")
        is_unreduced = reducer is None and (scorer, name) in seen
        columns.append(ScoreColumn(name, scorer, reducer if isinstance(reducer, str) else None, specs, is_unreduced))
    primary = stored.get("primary") if isinstance(stored.get("primary"), str) else None
    return LogFigures(primary, stored.get("is_judged") is True, columns, stored.get("is_complete") is True)


def _load_spec(stored: Mapping[str, Any]) -> MetricSpec:
    key, name, params = str(stored.get("key")), str(stored.get("name")), as_object(stored.get("params"))
    return MetricSpec(key, name, params, stored.get("is_grouped") is True, stored.get("recorded"))


def reduce_column(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ReducedScore]:
    """Reduce the values of a column's scorer over epochs. Raises NotRecomputable."""
    if column.is_unreduced:
        return [ReducedScore(_select_column_part(each.value, column), each.metadata) for each in values]
    groups: defaultdict[str, list[EpochValue]] = defaultdict(list)
    for each in values:
        groups[each.sample].append(each)
    reduced = [(reduce_epochs([each.value for each in part], column.reducer), part[0]) for part in groups.values()]
    return [ReducedScore(_select_column_part(value, column), first.metadata) for value, first in reduced]


def _select_column_part(value: Any, column: ScoreColumn) -> Any:
    if isinstance(value, dict) and (column.name != column.scorer or column.name in value):
        return value.get(column.name)
    return value


def expand_column(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ScoreColumn]:
    """Expand a declared column to one column for each key that its pattern matches."""
    first = next((each.value for each in values if isinstance(each.value, dict)), None)
    names = [column.name]
    if first is not None and column.name not in first and column.name != column.scorer:
        names = [key for key in first if fnmatch.fnmatch(key, column.name)] or names
    return [ScoreColumn(name, column.scorer, column.reducer, column.metrics, column.is_unreduced) for name in names]


def expand_metrics(column: ScoreColumn, reduced: Sequence[ReducedScore]) -> list[MetricSpec]:
    """Return the metrics of a column. A declared grouped metric is expanded to one metric for each group."""
    specs: list[MetricSpec] = []
    for spec in column.metrics:
        if not spec.is_grouped or spec.name != "grouped":
            specs.append(spec)
            continue
        names = group_names(spec.params, reduced)
        specs += [MetricSpec(_number_repeated_name(name, specs), name, spec.params, True) for name in names]
    return specs


def _number_repeated_name(name: str, specs: Sequence[MetricSpec]) -> str:
    """Return `name`, with a number if a metric has this key already. Inspect numbers repeated keys from 2."""
    keys = {spec.key for spec in specs}
    numbered = (f"{name}{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in keys)


def compute_or_none(spec: MetricSpec, reduced: Sequence[ReducedScore]) -> tuple[float | None, bool]:
    """Return (value of a metric, True), or (None, False) if fcreview cannot recompute the metric."""
    try:
        return compute_metric(spec, reduced), True
    except NotRecomputable:
        return None, False


def _scorer_name(scorer: Any) -> str:
    name = scorer.get("name") if isinstance(scorer, dict) else scorer
    return name if isinstance(name, str) else ""


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


def _probability_all_chosen(n_chosen: int, n: int, k: int) -> float | None:
    """Return the probability that k of n epochs, drawn without replacement, are all among `n_chosen` epochs.

    None if n < k.
    """
    return None if n < k else math.comb(n_chosen, k) / math.comb(n, k)


def _pass_at(numbers: list[float], k: int) -> float | None:
    all_fail = _probability_all_chosen(len(numbers) - _count_passes(numbers), len(numbers), k)
    return None if all_fail is None else 1.0 - all_fail


def _count_passes(numbers: list[float]) -> int:
    return sum(number >= PASSING_NUMBER for number in numbers)


def _most_frequent(values: list[Any], _: int) -> Any:
    return Counter(map(_hashable, values)).most_common(1)[0][0]


def _absolute_majority(values: list[Any], n_votes: int) -> Any:
    """Return the value that more than half of `n_votes` have, or None. `n_votes` includes votes without a value."""
    value, count = Counter(map(_hashable, values)).most_common(1)[0]
    return value if 2 * count > n_votes else None


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) else str(value)


_BY_NUMBERS: dict[str, Callable[[list[float], int], Any]] = {
    "mean": lambda numbers, _: mean(numbers),
    "median": lambda numbers, _: median(numbers),
    "pass_at": _pass_at,
    "pass_k": lambda numbers, k: _probability_all_chosen(_count_passes(numbers), len(numbers), k),
    "at_least": lambda numbers, k: int(_count_passes(numbers) >= k),
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
    key, template = spec.params.get("group_key"), str(spec.params.get("name_template") or "{group_name}")
    if not isinstance(metric, dict) or not isinstance(key, str):
        raise NotRecomputable(spec.name)
    name, params = str(metric.get("name")), metric.get("params") or {}
    groups: defaultdict[str, list[ReducedScore]] = defaultdict(list)
    for score in scored:
        if key not in score.metadata:
            raise NotRecomputable(f"{spec.name}: a sample has no metadata {key}")
        groups[str(score.metadata[key])].append(score)
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
    clusters: defaultdict[str, list[float]] = defaultdict(list)
    for number, score in zip(numbers, scored, strict=True):
        if key not in score.metadata:
            raise NotRecomputable(f"stderr: a sample has no metadata {key}")
        clusters[str(score.metadata[key])].append(number - center)
    n = len(clusters)
    if n < 2:
        return 0.0
    squares = math.fsum(math.fsum(deviations) ** 2 for deviations in clusters.values())
    return math.sqrt(n / (n - 1) * squares) / len(numbers)


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Scores of one scorer, computed from the verdicts of one source."""

    known: Sequence[EpochValue]
    """Values of the samples in which the source has a verdict on every epoch."""
    complete: Sequence[EpochValue]
    """Values of all scored samples, for the total and the groups. Samples that are not in `known` have their recorded
    values."""
    is_recorded: bool
    """Whether `known` are the values that the log recorded."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics of each score column. A log without scores gives pass rates by category."""
    figures = load_figures(run)
    metrics = list(_column_metrics(items, figures, is_edited=False)) if figures.columns else []
    if any("edited" in item.metadata for item in items):
        metrics += _column_metrics(items, figures, is_edited=True)
    return [*(metrics or metrics_by_category(items)), *_recomputed_metrics(items)]


def _recomputed_metrics(items: Sequence[ScoredItem]) -> Iterator[Metric]:
    """Yield the pass rate of the items with a recomputed verdict, and the causes of different verdicts."""
    checked = [item for item in items if item.metadata.get("is_recomputed") is True]
    if not checked:
        return
    yield pass_rate_metric(RECOMPUTED_TABLE, "items with a recomputed verdict", checked)
    causes = Counter(str(cause) for item in checked if (cause := item.metadata.get("cause")))
    for cause, count in causes.most_common():
        yield Metric(RECOMPUTED_TABLE, f"verdicts differ: {cause}", count, "count", level=1)


def _column_metrics(items: Sequence[ScoredItem], figures: LogFigures, *, is_edited: bool) -> Iterator[Metric]:
    for column in figures.columns:
        if not is_edited:
            values = compute_source_values(items, column.scorer, figures)
        elif any(column.scorer in as_object(item.metadata.get("edited")) for item in items):
            edited = list(read_edited_values(items, column.scorer))
            values = ColumnValues(edited, edited, is_recorded=True)
        else:
            continue
        table = f"{column.title} · {WITH_EDITS}" if is_edited else column.title
        for each in expand_column(column, values.complete):
            yield from _make_column_metrics(each, values, table)


def _make_column_metrics(column: ScoreColumn, values: ColumnValues, table: str) -> Iterator[Metric]:
    try:
        reduced, complete = (reduce_column(column, each) for each in (values.known, values.complete))
        is_known = True
    except NotRecomputable:
        reduced, complete, is_known = [], [], False
    for spec in expand_metrics(column, complete):
        value, has_rule = compute_or_none(spec, reduced) if is_known else (None, False)
        note = ""
        if values.is_recorded and (not has_rule or not values.known):
            value, note = spec.recorded, AS_RECORDED
        n, total = (sum(s.value is not None for s in select_group(spec, each)) for each in (reduced, complete))
        yield Metric(table, spec.key, value, _unit(spec), int(spec.is_grouped), note, n, total or None, "samples")


def recompute(column: ScoreColumn, values: Sequence[EpochValue]) -> Iterator[tuple[MetricSpec, float | None]]:
    """Yield each metric of a column with its recomputed value; None if it has no values or cannot be recomputed."""
    for each in expand_column(column, values):
        try:
            reduced = reduce_column(each, values)
        except NotRecomputable:
            return
        for spec in expand_metrics(each, reduced):
            yield spec, compute_or_none(spec, reduced)[0]


def _unit(spec: MetricSpec) -> MetricUnit:
    metric = spec.params.get("metric")
    name = str(metric.get("name")) if spec.is_grouped and isinstance(metric, dict) else spec.name
    return "share" if name.rpartition("/")[2] == "accuracy" else "score"


def read_edited_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the values that a score has after the edits in the log."""
    for item in items:
        scores = as_object(item.metadata.get("scores")) | as_object(item.metadata.get("edited"))
        if scorer in scores:
            yield _epoch_value(item, scores[scorer])


def compute_source_values(items: Sequence[ScoredItem], scorer: str, figures: LogFigures) -> ColumnValues:
    """Compute the values of a score from the verdicts.

    A sample is omitted from `known` if one of its epochs has no verdict.
    """
    scored = [item for item in items if scorer in as_object(item.metadata.get("scores"))]
    recorded = [_epoch_value(each, each.metadata["scores"][scorer]) for each in scored]
    if scorer != figures.primary:
        values = [
            _epoch_value(each, _apply_criterion_reviews(each, scorer, each.metadata["scores"][scorer]))
            for each in scored
        ]
        return ColumnValues(values, values, values == recorded)
    values, unknown = [], set[str]()
    for item in items:
        scores = as_object(item.metadata.get("scores"))
        value = _main_value(item, scores.get(scorer), figures)
        if value is MISSING:
            unknown.add(_sample_name(item))
        if scorer in scores or (value is not None and value is not MISSING):
            values.append(_epoch_value(item, None if value is MISSING else value))
    known = [each for each in values if each.sample not in unknown]
    # Only samples with a value in the log or from a review count.
    recorded_by_item = {each.item: each for each in recorded}
    complete = [recorded_by_item.get(each.item, each) if each.sample in unknown else each for each in values]
    return ColumnValues(known, complete, known == recorded)


def _main_value(item: ScoredItem, recorded: Any, figures: LogFigures) -> Any:
    """Return the value of the main score that follows from the item's verdict, or MISSING.

    If the value is an object, the reviews of its keys are applied.
    """
    if isinstance(recorded, (dict, list)):
        return _apply_criterion_reviews(item, figures.primary or "", recorded)
    override = item.overrides.get(ITEM_CORRECT)
    verdict = override if isinstance(override, bool) else None if figures.is_judged else item.valid
    expected = to_verdict(recorded)
    if verdict is None and expected is not None and not figures.is_judged:
        return MISSING
    if verdict is not None and verdict is not expected and (expected is not None or override is not None):
        return value_for_verdict(recorded, verdict)
    return _apply_criterion_reviews(item, figures.primary or "", recorded)


def get_reviewed_value(item: ScoredItem, scorer: str, figures: LogFigures) -> Any:
    """Return the value of a score that follows from the item's verdicts, or None if the score has no value."""
    recorded = as_object(item.metadata.get("scores")).get(scorer)
    if scorer != figures.primary:
        return _apply_criterion_reviews(item, scorer, recorded)
    value = _main_value(item, recorded, figures)
    return recorded if value is MISSING else value


def _apply_criterion_reviews(item: ScoredItem, scorer: str, recorded: Any) -> Any:
    """Return a recorded value with the reviews of its criterion, `SCORER` or `SCORER.KEY`."""
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
        return value_for_verdict(recorded, new)
    if not isinstance(new, (int, float)):
        return recorded
    return LETTER_OF_NUMBER.get(new, new) if isinstance(recorded, str) and recorded in LETTERS else new


def _sample_name(item: ScoredItem) -> str:
    return str(item.metadata.get("sample", item.id))


def _epoch_value(item: ScoredItem, value: Any) -> EpochValue:
    return EpochValue(item.id, _sample_name(item), value, as_object(item.metadata.get("metadata")))


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return a trial for each epoch of a sample. A sample without a score has an error or was stopped by a limit."""
    endings: dict[bool, Ending] = {True: "error", False: "graded"}
    trials = [Trial(each.id, _sample_name(each), each.valid is True, endings[each.valid is None]) for each in items]
    return TrialTable(trials, "Inspect")
