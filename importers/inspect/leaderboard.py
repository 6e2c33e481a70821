"""Compute the metrics of an Inspect log from the verdicts on its samples.

A score column is a scorer, or a key of its object scores, with a reducer over epochs and with metrics. The importer
stores the columns in `Run.official_metrics` under `LOG_KEY`, with the name of the primary score, which gives the item
verdicts. If a verdict differs from the recorded primary score, the score is replaced by a value of the same form: `C`
or `I`, true or false, 1 or 0. All other scores keep their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.inspect.metrics import (
    SPREAD_METRICS,
    EpochValue,
    MetricSpec,
    NotRecomputable,
    ScoreColumn,
    expand_column_pattern,
    expand_grouped_metrics,
    reduce_column,
    select_scores_of_metric,
    try_compute_metric,
)
from fcreview.importers.inspect.scores import LETTER_OF_NUMBER, LETTERS, convert_verdict_to_value, to_verdict
from fcreview.model.item import Run
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, build_category_metrics, build_pass_rate_metric
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable

LOG_KEY = "inspect"
AS_RECORDED = "imported from the log, not recomputed"
MISSING = object()
"""Value that `_derive_primary_value` returns if the item has no verdict."""
RECOMPUTED_TABLE = "recomputed verdicts"
WITH_EDITS = "after the edits in the log"


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


def read_score_columns(header: Mapping[str, Any]) -> list[dict[str, Any]]:
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
    scorer = _get_scorer_name(score.get("scorer")) or name
    return {"name": name, "scorer": scorer, "reducer": reducer, "metrics": metrics}


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


def _get_scorer_name(scorer: Any) -> str:
    name = scorer.get("name") if isinstance(scorer, dict) else scorer
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Values of one score that follow from the verdicts on the items."""

    known: Sequence[EpochValue]
    """Values of the samples that have a verdict on every epoch."""
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
            values = compute_column_values(items, column.scorer, log_metrics)
        elif any(column.scorer in as_object(item.metadata.get("edited")) for item in items):
            edited = list(read_edited_values(items, column.scorer))
            values = ColumnValues(edited, edited, is_recorded=True)
        else:
            continue
        table = f"{column.title} · {WITH_EDITS}" if is_edited else column.title
        for each in expand_column_pattern(column, values.complete):
            yield from _compute_metrics_of_column(each, values, table)


def _compute_metrics_of_column(column: ScoreColumn, values: ColumnValues, table: str) -> Iterator[Metric]:
    try:
        reduced, complete = (reduce_column(column, each) for each in (values.known, values.complete))
        is_known = True
    except NotRecomputable:
        reduced, complete, is_known = [], [], False
    for spec in expand_grouped_metrics(column, complete):
        value, has_rule = try_compute_metric(spec, reduced) if is_known else (None, False)
        note = ""
        if values.is_recorded and (not has_rule or not values.known):
            value, note = spec.recorded, AS_RECORDED
        scores = (select_scores_of_metric(spec, each) for each in (reduced, complete))
        n, total = (sum(score.value is not None for score in each) for each in scores)
        unit, level = _choose_metric_unit(spec), int(spec.is_grouped)
        yield Metric(
            table,
            spec.key,
            value,
            unit,
            level,
            note,
            n=n,
            total=total or None,
            counted_noun="samples",
            measures_spread=_get_metric_name(spec) in SPREAD_METRICS,
        )


def _choose_metric_unit(spec: MetricSpec) -> MetricUnit:
    return "share" if _get_metric_name(spec) == "accuracy" else "score"


def _get_metric_name(spec: MetricSpec) -> str:
    """Return the name of a metric without its package; for a grouped metric, of the metric of each group."""
    metric = spec.params.get("metric")
    name = str(metric.get("name")) if spec.is_grouped and isinstance(metric, dict) else spec.name
    return name.rpartition("/")[2]


def read_edited_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the values that a score has after the edits in the log."""
    for item in items:
        scores = as_object(item.metadata.get("scores")) | as_object(item.metadata.get("edited"))
        if scorer in scores:
            yield _make_epoch_value(item, scores[scorer])


def compute_column_values(items: Sequence[ScoredItem], scorer: str, log_metrics: LogMetrics) -> ColumnValues:
    """Compute the values of a score from the verdicts of the items."""
    scored = [item for item in items if scorer in as_object(item.metadata.get("scores"))]
    recorded = [_make_epoch_value(each, each.metadata["scores"][scorer]) for each in scored]
    if scorer != log_metrics.primary:
        reviewed = ((each, _apply_criterion_reviews(each, scorer, each.metadata["scores"][scorer])) for each in scored)
        values = [_make_epoch_value(each, value) for each, value in reviewed]
        return ColumnValues(values, values, values == recorded)
    values, unknown = [], set[str]()
    for item in items:
        scores = as_object(item.metadata.get("scores"))
        value = _derive_primary_value(item, scores.get(scorer), log_metrics)
        if value is MISSING:
            unknown.add(_get_sample_name(item))
        if scorer in scores or (value is not None and value is not MISSING):
            values.append(_make_epoch_value(item, None if value is MISSING else value))
    known = [each for each in values if each.sample not in unknown]
    # A sample counts only if the log or a review has a value for it.
    recorded_by_item = {each.item: each for each in recorded}
    complete = [recorded_by_item.get(each.item, each) if each.sample in unknown else each for each in values]
    return ColumnValues(known, complete, known == recorded)


def _derive_primary_value(item: ScoredItem, recorded: Any, log_metrics: LogMetrics) -> Any:
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
    value = _derive_primary_value(item, recorded, log_metrics)
    return recorded if value is MISSING else value


def _apply_criterion_reviews(item: ScoredItem, scorer: str, recorded: Any) -> Any:
    """Return a recorded value, changed by reviews of its criterion, which is `SCORER` or `SCORER.KEY`."""
    if not item.overrides:
        return recorded
    if isinstance(recorded, dict):
        return {key: _apply_override_to_value(item, f"{scorer}.{key}", value) for key, value in recorded.items()}
    return recorded if scorer == CORRECT else _apply_override_to_value(item, scorer, recorded)


def _apply_override_to_value(item: ScoredItem, criterion: str, recorded: Any) -> Any:
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
