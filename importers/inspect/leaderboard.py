"""Compute the metrics of an Inspect log from the verdicts on its samples.

A score column is a scorer, or a key of its object scores, with a reducer over epochs and with
metrics. The importer stores the columns in `Run.official_metrics` under `LOG_KEY`, with the name of
the primary score, which gives the item verdicts. If a verdict differs from the recorded primary
score, the score is replaced by a value of the same form: `C` or `I`, true or false, 1 or 0. All
other scores keep their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import (
    as_list,
    as_object,
    is_integer,
    is_number,
    list_objects,
)
from fcreview.importers.inspect.metrics import (
    SPREAD_METRICS,
    ComputedMetric,
    EpochValue,
    MetricSpec,
    NotRecomputable,
    ReducedScore,
    ScoreColumn,
    expand_column_pattern,
    expand_grouped_metrics,
    reduce_column,
    select_scores_of_metric,
    try_compute_metric,
)
from fcreview.importers.inspect.scales import DEFAULT_SCALE, Scale
from fcreview.importers.inspect.scores import LETTER_OF_NUMBER, LETTERS, parse_number, to_json_value
from fcreview.model.item import Run
from fcreview.model.json_value import to_plain_json
from fcreview.model.metric import (
    Metric,
    MetricUnit,
    ScoredItem,
    build_category_metrics,
    build_pass_rate_metric,
)
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable

LOG_KEY = "inspect"
AS_RECORDED = "imported from the log, not recomputed"
UNCHANGED_BY_REVIEWS = "imported from the log, unchanged by reviews"
TOLERANCE = 1e-9
MISSING = object()
"""Value that `_derive_primary_value` returns if the item has no verdict."""
RECOMPUTED_TABLE = "recomputed verdicts"
WITH_EDITS = "after the edits in the log"


@dataclass(frozen=True, slots=True)
class LogMetrics:
    """The score columns of a log, from its header."""

    primary: str | None
    """Name of the score that gives the item verdicts."""
    primary_key: str | None
    """Key of the primary score that gives the verdicts, if the score is an object."""
    is_judged: bool
    """Whether a language model gives the primary score."""
    columns: Sequence[ScoreColumn] = ()
    is_complete: bool = True
    """Whether the run finished, so that the recorded metrics cover all samples."""
    n_items: int | None = None
    """Number of items of the run."""
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """`SCORER` or `SCORER.KEY` -> which values pass, for scores with another scale than 0 to 1."""

    def get_scale(self, name: str) -> Scale:
        return self.scales.get(name, DEFAULT_SCALE)

    def is_whole_run(self, items: Sequence[ScoredItem]) -> bool:
        """Whether items are all items of the run, so that the recorded metrics are about them."""
        return self.n_items == len(items) and len({item.id for item in items}) == len(items)


def read_score_columns(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the score columns of a log as JSON: those of its results or, if the run did not
    finish, those that the log declares.

    A column has the name of a score, its scorer, and its metrics.
    """
    results = as_object(header.get("results"))
    recorded_scores = results.get("scores")
    if recorded_scores is None and "scorer" in results:  # Logs before format 2 have one scorer.
        only_score = {
            "name": _get_scorer_name(results["scorer"]),
            "metrics": results.get("metrics"),
        }
        recorded_scores = [only_score]

    n_samples = _count_recorded_samples(header, results)
    columns = []
    for score in list_objects(recorded_scores):
        column = _read_recorded_column(score, n_samples)
        if column is not None:
            columns.append(column)
    return columns or list(_list_declared_columns(header))


def _count_recorded_samples(header: Mapping[str, Any], results: Mapping[str, Any]) -> int | None:
    """Return how many samples the results cover, in logs whose score columns do not tell it."""
    epochs = as_object(as_object(header.get("eval")).get("config")).get("epochs")
    total = results.get("completed_samples", results.get("total_samples"))
    if not is_integer(total):
        return None
    return total // epochs if is_integer(epochs) and epochs > 0 else total


def _read_recorded_column(score: Mapping[str, Any], n_samples: int | None) -> dict[str, Any] | None:
    """Return a score column of the results as JSON, or None if it has no name.

    `n_samples` is the number of scored samples, for columns that do not state it.
    """
    name = str(score.get("name") or _get_scorer_name(score.get("scorer")))
    if not name:
        return None

    reducer = score.get("reducer")
    n_scored = score.get("scored_samples", n_samples)
    return {
        "name": name,
        "scorer": _get_scorer_name(score.get("scorer")) or name,
        "reducer": reducer if isinstance(reducer, str) else None,
        "metrics": [
            _read_recorded_metric(key, metric)
            for key, metric in as_object(score.get("metrics")).items()
        ],
        "n_scored": n_scored if is_integer(n_scored) else None,
    }


def _read_recorded_metric(key: str, metric: Any) -> dict[str, Any]:
    """Return a metric of the results as JSON. In old logs, it is only a number."""
    fields = metric if isinstance(metric, dict) else {"value": metric}
    value = fields.get("value")
    params = fields.get("params", fields.get("options"))
    return {
        "key": key,
        "name": str(fields.get("name") or key),
        "params": to_plain_json(as_object(params)),
        "is_grouped": fields.get("group") == "grouped",
        "recorded": to_json_value(float(value)) if is_number(value) else None,
    }


def _list_declared_columns(header: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the score columns that a log declares, for a log without results.

    A column is a scorer with a reducer, which combines the epochs (repeats) of a sample. A scorer
    whose scores are objects has a column for each key.
    """
    declaration = as_object(header.get("eval"))
    listed_reducers = as_list(as_object(declaration.get("config")).get("epochs_reducer"))
    reducers: list[str | None] = [name for name in listed_reducers if isinstance(name, str)]
    if not reducers:
        reducers = [None]

    for scorer in list_objects(declaration.get("scorers")):
        _, _, scorer_name = str(scorer.get("name") or "").rpartition("/")
        metrics = scorer.get("metrics") or declaration.get("metrics")
        for reducer in reducers:
            yield from _list_columns_of_scorer(scorer_name, reducer, metrics)


def _list_columns_of_scorer(
    scorer: str, reducer: str | None, metrics: Any
) -> Iterator[dict[str, Any]]:
    """Yield the columns of a scorer with one reducer.

    `metrics` is a list or, for a scorer whose scores have several keys, an object with a list for
    each key. Anything else declares no column.
    """
    if isinstance(metrics, dict):
        for key, metrics_of_key in metrics.items():
            yield _make_declared_column(str(key), scorer, reducer, list_objects(metrics_of_key))
        return

    named_metrics = [metric for metric in list_objects(metrics) if "name" in metric]
    if scorer and named_metrics:
        yield _make_declared_column(scorer, scorer, reducer, named_metrics)


def _make_declared_column(
    name: str, scorer: str, reducer: str | None, declared_metrics: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a declared score column as JSON, in the form of `_read_recorded_column`.

    Its metrics have no recorded value.
    """
    metrics = []
    for metric in declared_metrics:
        metric_name = str(metric.get("name")).removeprefix("inspect_ai/")
        params = to_plain_json(as_object(metric.get("options")))
        metrics.append(
            {
                "key": metric_name,
                "name": metric_name,
                "params": params,
                "is_grouped": metric_name == "grouped",
                "recorded": None,
            }
        )
    return {"name": name, "scorer": scorer, "reducer": reducer, "metrics": metrics}


def load_log_metrics(run: Run) -> LogMetrics:
    """Return what the importer stored in the run about the scores of its log: the primary score,
    which gives the verdicts, the score columns, and the scale of each score.
    """
    stored = as_object(run.official_metrics.get(LOG_KEY))
    primary = stored.get("primary")
    primary_key = stored.get("primary_key")
    stored_scales = as_object(stored.get("scales"))
    return LogMetrics(
        primary=primary if isinstance(primary, str) else None,
        primary_key=primary_key if isinstance(primary_key, str) else None,
        is_judged=stored.get("is_judged") is True,
        columns=_parse_score_columns(list_objects(stored.get("columns"))),
        is_complete=stored.get("is_complete") is True,
        n_items=stored.get("n_items"),
        scales={name: Scale.from_json(scale) for name, scale in stored_scales.items()},
    )


def _parse_score_columns(stored_columns: Sequence[Mapping[str, Any]]) -> list[ScoreColumn]:
    """Convert the score columns that the importer stored as JSON in the run.

    A score can have a column for each reducer, which combines the epochs (repeats) of a sample, and
    one without a reducer, whose metrics are then those of the single epochs.
    """
    reduced_scores = {get_score_key(column) for column in stored_columns if column.get("reducer")}
    columns = []
    for stored in stored_columns:
        has_reduced_column = get_score_key(stored) in reduced_scores
        columns.append(_parse_score_column(stored, has_reduced_column=has_reduced_column))
    return columns


def _parse_score_column(stored: Mapping[str, Any], *, has_reduced_column: bool) -> ScoreColumn:
    scorer, name = get_score_key(stored)
    reducer = stored.get("reducer")
    return ScoreColumn(
        name,
        scorer,
        reducer=reducer if isinstance(reducer, str) else None,
        metrics=[_parse_metric_spec(metric) for metric in list_objects(stored.get("metrics"))],
        is_unreduced=reducer is None and has_reduced_column,
        n_recorded=stored.get("n_scored"),
        n_in_file=stored.get("n_scored_in_file"),
    )


def get_score_key(column: Mapping[str, Any]) -> tuple[str, str]:
    """Return the scorer and the name of the score of a column, in a log or as stored in the run."""
    return str(column.get("scorer")), str(column.get("name"))


def _parse_metric_spec(stored: Mapping[str, Any]) -> MetricSpec:
    """Convert a metric that the importer stored as JSON in the run."""
    return MetricSpec(
        key=str(stored.get("key")),
        name=str(stored.get("name")),
        params=as_object(stored.get("params")),
        is_grouped=stored.get("is_grouped") is True,
        recorded=parse_number(stored.get("recorded")),
        is_reproduced=stored.get("is_reproduced") is True,
    )


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
    """Compute the metrics of each score column or, if the log has no scores, the pass rates by
    category.
    """
    log_metrics = load_log_metrics(run)
    metrics: list[Metric] = []
    for column in log_metrics.columns:
        metrics += _compute_metrics_of_verdicts(column, items, log_metrics)
    for column in log_metrics.columns:
        metrics += _compute_metrics_of_edits(column, items, log_metrics)
    if not metrics:
        metrics = list(build_category_metrics(items))
    metrics += _compute_recomputed_verdict_metrics(items)
    return metrics


def _compute_recomputed_verdict_metrics(items: Sequence[ScoredItem]) -> Iterator[Metric]:
    """Compute the pass rate of the items whose verdict fcreview recomputed, and count the causes
    for which it differs from the verdict of the log.
    """
    checked = [item for item in items if item.metadata.get("is_recomputed") is True]
    if not checked:
        return
    yield build_pass_rate_metric(RECOMPUTED_TABLE, "items with a recomputed verdict", checked)

    causes = [item.metadata.get("cause") for item in checked]
    counts = Counter(str(cause) for cause in causes if cause)
    for cause_name, count in counts.most_common():
        yield Metric(
            RECOMPUTED_TABLE, f"verdicts differ: {cause_name}", value=count, unit="count", level=1
        )


def _compute_metrics_of_verdicts(
    column: ScoreColumn, items: Sequence[ScoredItem], log_metrics: LogMetrics
) -> Iterator[Metric]:
    """Compute the metrics of a score column that follow from the verdicts on the items."""
    values = compute_column_values(items, column.scorer, log_metrics)
    # The log records its metrics after the edits, if there are any. These values are without them.
    is_about_recorded = not _has_edits(column, items)
    for figures in _list_column_figures(
        column, items, values, log_metrics, is_about_recorded=is_about_recorded
    ):
        yield from figures.compute(column.title)


def _compute_metrics_of_edits(
    column: ScoreColumn, items: Sequence[ScoredItem], log_metrics: LogMetrics
) -> Iterator[Metric]:
    """Compute the metrics of the scores that users of Inspect edited in the log.

    A column without edits has none.
    """
    if not _has_edits(column, items):
        return
    edited = list(read_edited_values(items, column.scorer))
    # A sample has its edited value whether or not the item has a verdict.
    values = ColumnValues(known=edited, complete=edited, is_recorded=True)
    table = f"{column.title} · {WITH_EDITS}"
    for figures in _list_column_figures(column, items, values, log_metrics, is_about_recorded=True):
        yield from figures.compute(table)


def _has_edits(column: ScoreColumn, items: Sequence[ScoredItem]) -> bool:
    return any(column.scorer in as_object(item.metadata.get("edited")) for item in items)


def _list_column_figures(
    column: ScoreColumn,
    items: Sequence[ScoredItem],
    values: ColumnValues,
    log_metrics: LogMetrics,
    *,
    is_about_recorded: bool,
) -> Iterator[_ColumnFigures]:
    """Yield what computes the metrics of a score column.

    A column whose name is a pattern stands for a column for each matching key of the scores.

    Args:
        column: The score column.
        items: The items whose metrics are computed.
        values: The values of these items.
        log_metrics: What the log says about its scores.
        is_about_recorded: Whether the log recorded its metrics from these values.
    """
    is_whole_run = log_metrics.is_whole_run(items)
    for expanded in expand_column_pattern(column, values.complete):
        # Recorded figures can be compared only with figures of the same samples.
        are_same_samples = is_whole_run and _covers_all_samples(expanded, log_metrics)
        scale = log_metrics.get_scale(_get_scale_name(expanded))
        yield _ColumnFigures(
            column=expanded,
            values=values,
            is_recorded_valid=are_same_samples,
            is_about_recorded=is_about_recorded,
            has_bounded_values=scale.is_bounded,
        )


def _get_scale_name(column: ScoreColumn) -> str:
    return column.scorer if column.name == column.scorer else f"{column.scorer}.{column.name}"


def _covers_all_samples(column: ScoreColumn, log_metrics: LogMetrics) -> bool:
    """Whether the recorded metrics cover all samples in the file.

    A run that did not finish may have recorded metrics of fewer samples than it wrote. Recomputed
    metrics then say more.
    """
    if log_metrics.is_complete:
        return True
    return column.has_fewer_samples_than_recorded


@dataclass(frozen=True, slots=True)
class _ChosenValue:
    """The value of a metric that is shown: the recorded or the computed one."""

    value: float | None
    note: str = ""
    """Says that the log recorded the value, and why it is shown. Empty for a computed value."""
    is_recorded: bool = False
    """Whether the value is one that the log recorded."""


@dataclass(frozen=True, slots=True)
class _ColumnFigures:
    """Computes the metrics of a score column.

    The log's own metric is the official one, even if the file holds fewer samples. A review changes
    no metric that fcreview cannot compute, or that covers more samples than the file.
    """

    column: ScoreColumn
    values: ColumnValues
    is_recorded_valid: bool
    """Whether the recorded metrics are about all items."""
    is_about_recorded: bool
    """Whether the recorded metrics are about the values in the log, rather than about those
    after its edits.
    """
    has_bounded_values: bool
    """Whether all values are between 0 and 1."""

    def compute(self, table: str) -> Iterator[Metric]:
        """Yield the metrics of the column, as rows of `table`.

        A metric is computed from the known scores, those of the samples with verdicts. The complete
        scores, those of all samples, only say which groups there are and how many samples.
        """
        try:
            known = reduce_column(self.column, self.values.known)
            complete = reduce_column(self.column, self.values.complete)
        except NotRecomputable:
            for spec in expand_grouped_metrics(self.column, []):
                not_computed = ComputedMetric(None, is_recomputable=False)
                yield self._make_metric(table, spec, not_computed, known=[], complete=[])
            return

        for spec in expand_grouped_metrics(self.column, complete):
            computed = try_compute_metric(spec, known)
            yield self._make_metric(table, spec, computed, known=known, complete=complete)

    def _make_metric(
        self,
        table: str,
        spec: MetricSpec,
        computed: ComputedMetric,
        *,
        known: Sequence[ReducedScore],
        complete: Sequence[ReducedScore],
    ) -> Metric:
        """Make a metric with the number of samples that it covers.

        Args:
            table: The table of the metric.
            spec: Name and parameters of the metric.
            computed: Its value as fcreview computes it.
            known: The scores of the samples with verdicts, one for each sample.
            complete: The scores of all scored samples.
        """
        chosen = self._choose_value(spec, computed)
        n_known = _count_values(spec, known)
        n_all = _count_values(spec, complete)
        if chosen.is_recorded and self._covers_missing_samples(spec):
            n_all = self.column.n_recorded or n_all
            n_known = n_all
        return Metric(
            table,
            spec.key,
            value=chosen.value,
            unit=self._choose_unit(spec),
            level=int(spec.is_grouped),
            note=chosen.note,
            n=n_known,
            total=n_all or None,
            counted_noun="samples",
            measures_spread=_get_metric_name(spec) in SPREAD_METRICS,
        )

    def _covers_missing_samples(self, spec: MetricSpec) -> bool:
        """Whether a recorded value also covers samples that the file lacks, and it is known how
        many. The log does not say it for a group.
        """
        return self.column.has_fewer_samples_than_recorded and not spec.is_grouped

    def _choose_value(self, spec: MetricSpec, computed: ComputedMetric) -> _ChosenValue:
        """Choose between the value that Inspect recorded in the log, and the one that fcreview
        computes from the verdicts.

        Without reviews, the recorded one counts, because it is the official one. With reviews, the
        computed one counts, because it contains them.
        """
        has_verdicts = len(self.values.known) > 0
        can_compute = computed.is_recomputable and has_verdicts
        has_reviews = not self.values.is_recorded
        if not can_compute and not has_reviews:
            return self._take_recorded_value(spec, AS_RECORDED)
        if not self._has_comparable_record(spec):
            return _ChosenValue(computed.value)
        if self.is_about_recorded and not has_reviews:
            return self._take_recorded_value(spec, AS_RECORDED)

        # The values have changed since the metric was recorded. If fcreview cannot compute the
        # metric, or the file lacks samples, the recorded value is still the best one.
        needs_recorded_value = (
            not computed.is_recomputable or self.column.has_fewer_samples_than_recorded
        )
        if has_verdicts and needs_recorded_value:
            return self._take_recorded_value(spec, UNCHANGED_BY_REVIEWS)
        return _ChosenValue(computed.value)

    def _take_recorded_value(self, spec: MetricSpec, reason: str) -> _ChosenValue:
        """Return the recorded value, which can be missing, with a note that gives the reason."""
        note = f"{reason}{self._explain_difference()}"
        return _ChosenValue(spec.recorded, note, is_recorded=spec.recorded is not None)

    def _has_comparable_record(self, spec: MetricSpec) -> bool:
        """Whether the log recorded a value about the same samples, which fcreview does not
        reproduce.

        A value that fcreview reproduces can as well be computed.
        """
        if spec.recorded is None or not self.is_recorded_valid:
            return False
        return not spec.is_reproduced

    def _explain_difference(self) -> str:
        if not self.column.has_fewer_samples_than_recorded:
            return ""
        return f": the file has {self.column.n_in_file:,} of {self.column.n_recorded:,}"

    def _choose_unit(self, spec: MetricSpec) -> MetricUnit:
        """Return `share`, which is shown in percent, for an accuracy between 0 and 1."""
        is_share = _get_metric_name(spec) == "accuracy" and self.has_bounded_values
        if spec.recorded is not None and not 0 <= spec.recorded <= 1:
            is_share = False
        return "share" if is_share else "score"


def _count_values(spec: MetricSpec, scores: Sequence[ReducedScore]) -> int:
    return sum(score.value is not None for score in select_scores_of_metric(spec, scores))


def is_same_number(first: float, second: float) -> bool:
    """Whether two numbers are equal apart from rounding.

    NaN equals NaN, as in the metrics of infinite scores.
    """
    # Only NaN differs from itself.
    are_both_nan = first != first and second != second
    if first == second or are_both_nan:
        return True
    return abs(first - second) <= TOLERANCE


def _get_metric_name(spec: MetricSpec) -> str:
    """Return the name of a metric without its package; for a grouped metric, of the metric of
    each group.
    """
    metric = spec.params.get("metric")
    name = str(metric.get("name")) if spec.is_grouped and isinstance(metric, dict) else spec.name
    return name.rpartition("/")[2]


def read_edited_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the values that a score has after the edits in the log."""
    for item in items:
        recorded = as_object(item.metadata.get("scores"))
        edited = as_object(item.metadata.get("edited"))
        # Scores without an edit keep their recorded value.
        scores = recorded | edited
        if scorer in scores:
            yield _make_epoch_value(item, scores[scorer])


def compute_column_values(
    items: Sequence[ScoredItem], scorer: str, log_metrics: LogMetrics
) -> ColumnValues:
    """Compute the values that a score has after the reviews, for each item that has the score.

    The values of the primary score follow from the verdicts on the items, those of other scores
    from reviews of their criteria.
    """
    # The recorded values show below whether the reviews changed anything.
    recorded_values = [
        _make_epoch_value(item, item.metadata["scores"][scorer])
        for item in items
        if scorer in as_object(item.metadata.get("scores"))
    ]
    if scorer == log_metrics.primary:
        return _compute_primary_values(items, scorer, log_metrics, recorded_values)

    values = []
    for item in items:
        scores = as_object(item.metadata.get("scores"))
        if scorer in scores:
            value = _apply_criterion_reviews(item, scorer, scores[scorer], log_metrics)
            values.append(_make_epoch_value(item, value))
    return ColumnValues(values, complete=values, is_recorded=values == recorded_values)


def _compute_primary_values(
    items: Sequence[ScoredItem],
    scorer: str,
    log_metrics: LogMetrics,
    recorded_values: Sequence[EpochValue],
) -> ColumnValues:
    """Compute the values of the primary score, the one that gives the verdicts on items, after the
    reviews of these verdicts.

    The result has two lists: the values of samples whose epochs (repeats) all have a verdict, and
    these with the recorded values of the other samples.

    Args:
        items: The items, one for each epoch of a sample.
        scorer: The name of the score.
        log_metrics: What the log says about its scores.
        recorded_values: The values in the log.
    """
    reviewed_values = _derive_primary_values(items, scorer, log_metrics)
    samples_without_verdict = {
        reviewed.sample for reviewed in reviewed_values if reviewed.value is MISSING
    }
    known = [
        reviewed for reviewed in reviewed_values if reviewed.sample not in samples_without_verdict
    ]

    recorded_by_item = {recorded.item: recorded for recorded in recorded_values}
    complete = []
    for reviewed in reviewed_values:
        if reviewed.sample in samples_without_verdict:
            complete.append(recorded_by_item.get(reviewed.item, reviewed))
        else:
            complete.append(reviewed)
    return ColumnValues(known, complete=complete, is_recorded=known == recorded_values)


def _derive_primary_values(
    items: Sequence[ScoredItem], scorer: str, log_metrics: LogMetrics
) -> list[EpochValue]:
    """Return the primary score of each item for which the log or a review has a value.

    An item with a score in the log that has no verdict any more has the value MISSING.
    """
    values = []
    for item in items:
        scores = as_object(item.metadata.get("scores"))
        value = _derive_primary_value(item, scores.get(scorer), log_metrics)
        if scorer in scores or value is not None:
            values.append(_make_epoch_value(item, value))
    return values


def _derive_primary_value(item: ScoredItem, recorded: Any, log_metrics: LogMetrics) -> Any:
    """Return the value that the primary score has after the reviews of an item, or MISSING if the
    item has no verdict any more.

    A score can be a plain value or an object such as `{"correct": 1, "style": 0.5}`. `recorded` is
    the value in the log.
    """
    primary = log_metrics.primary or ""
    if isinstance(recorded, dict) and log_metrics.primary_key is not None:
        return _derive_object_value(item, recorded, log_metrics.primary_key, log_metrics)
    if isinstance(recorded, (dict, list)):
        # No part of this value means a verdict on the item.
        return _apply_criterion_reviews(item, primary, recorded, log_metrics)
    return _derive_value(item, recorded, primary, log_metrics)


def _derive_object_value(
    item: ScoredItem, recorded: dict[str, Any], key: str, log_metrics: LogMetrics
) -> Any:
    """Return the object that the primary score is after the reviews of an item, or MISSING.

    A verdict on the item changes the key that gives the verdicts. Reviews of criteria change the
    keys with their names.
    """
    primary = log_metrics.primary or ""
    value = _derive_value(item, recorded.get(key), f"{primary}.{key}", log_metrics)
    if value is MISSING:
        return MISSING
    reviewed = _apply_criterion_reviews(item, primary, recorded, log_metrics)
    # The key can also be reviewed as a criterion. A verdict on the item has precedence.
    if value != recorded.get(key):
        reviewed = reviewed | {key: value}
    return reviewed


def _derive_value(item: ScoredItem, recorded: Any, name: str, log_metrics: LogMetrics) -> Any:
    """Return the value that a score has after the reviews of an item, or MISSING if the item has no
    verdict any more.

    A value such as `C` (correct) or 1 means a verdict. If the item's verdict is another one, the
    value is replaced by one that means this verdict.

    Args:
        item: The item.
        recorded: The value in the log. It is no object.
        name: Name of the score, or of the key of a score, `SCORE.KEY`.
        log_metrics: What the log says about its scores, such as the value from which one passes.
    """
    scale = log_metrics.get_scale(name)
    recorded_verdict = scale.to_verdict(recorded)
    verdict = _find_score_verdict(item, is_judged=log_metrics.is_judged)
    if verdict is None:
        # The score of a judge is itself the verdict, so it stays without a verdict on the item.
        if recorded_verdict is not None and not log_metrics.is_judged:
            return MISSING
        return _apply_override_to_value(item, name, recorded, scale)

    # A value that means neither pass nor fail is replaced only by a review.
    is_replaceable = recorded_verdict is not None or item.overrides.get(ITEM_CORRECT) is not None
    if verdict is not recorded_verdict and is_replaceable:
        return _convert_verdict(recorded, verdict, scale)
    return _apply_override_to_value(item, name, recorded, scale)


def _find_score_verdict(item: ScoredItem, *, is_judged: bool) -> bool | None:
    """Return the verdict on the item that determines its primary score, or None.

    A review always does. Without one, the automatic verdict does, except in a log whose primary
    score a judge gave: that score is itself the verdict.
    """
    override = item.overrides.get(ITEM_CORRECT)
    if isinstance(override, bool):
        return override
    return None if is_judged else item.valid


def _convert_verdict(recorded: Any, verdict: bool, scale: Scale) -> Any:
    """Return the value for a verdict. On a scale without a best value, the recorded value stays."""
    try:
        return scale.to_value(recorded, verdict)
    except ValueError:
        return recorded


def get_reviewed_value(item: ScoredItem, scorer: str, log_metrics: LogMetrics) -> Any:
    """Return the value of a score that follows from the item's verdicts, or None if the score
    has no value.
    """
    recorded = as_object(item.metadata.get("scores")).get(scorer)
    if scorer != log_metrics.primary:
        return _apply_criterion_reviews(item, scorer, recorded, log_metrics)
    value = _derive_primary_value(item, recorded, log_metrics)
    # Without a verdict on the item, the value in the log stays.
    if value is MISSING:
        return recorded
    return value


def _apply_criterion_reviews(
    item: ScoredItem, scorer: str, recorded: Any, log_metrics: LogMetrics
) -> Any:
    """Return a recorded value, changed by reviews of its criterion, which is `SCORER` or
    `SCORER.KEY`.
    """
    if not item.overrides:
        return recorded
    if not isinstance(recorded, dict):
        return _apply_override_to_value(item, scorer, recorded, log_metrics.get_scale(scorer))
    reviewed: dict[str, Any] = {}
    for key, value in recorded.items():
        name = f"{scorer}.{key}"
        reviewed[key] = _apply_override_to_value(item, name, value, log_metrics.get_scale(name))
    return reviewed


def _apply_override_to_value(item: ScoredItem, criterion: str, recorded: Any, scale: Scale) -> Any:
    """Return the recorded value of a criterion after its review, or the recorded value itself
    without a review.

    A recorded letter, such as `C` for correct, is replaced by a letter.
    """
    # For a score with the name `correct`, this review would be the verdict on the item.
    if criterion == CORRECT:
        return recorded
    # A review is a verdict or a number, which cannot replace an object or a list.
    if isinstance(recorded, (dict, list)):
        return recorded

    reviewed = item.overrides.get(("item", criterion))
    if isinstance(reviewed, bool):
        return _convert_verdict(recorded, reviewed, scale)
    if not isinstance(reviewed, (int, float)):
        return recorded
    if isinstance(recorded, str) and recorded in LETTERS:
        return LETTER_OF_NUMBER.get(reviewed, reviewed)
    return reviewed


def _get_sample_name(item: ScoredItem) -> str:
    return str(item.metadata.get("sample", item.id))


def _make_epoch_value(item: ScoredItem, value: Any) -> EpochValue:
    return EpochValue(
        item.id,
        sample=_get_sample_name(item),
        value=value,
        metadata=as_object(item.metadata.get("metadata")),
    )


def list_trials(items: Sequence[ScoredItem], run: Run) -> TrialTable:  # noqa: ARG001
    """Return a trial for each epoch of a sample. A trial without a verdict counts as an error."""
    trials = []
    for item in items:
        ending: Ending = "error" if item.valid is None else "graded"
        trial = Trial(
            item.id, task=_get_sample_name(item), passed=item.valid is True, ending=ending
        )
        trials.append(trial)
    return TrialTable(trials, "Inspect")
