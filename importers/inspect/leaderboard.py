"""Metrics of an Inspect log, recomputed from the scores of its samples as Inspect computes them.

A verdict that differs from the recorded value of an item's main score replaces the value: `C` or `I`, true or false, 1
or 0, in the form of the recorded value. All other scores keep their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fcreview.importers.inspect.columns import (
    EpochValue,
    LogFigures,
    ScoreColumn,
    compute_or_none,
    expand_column,
    expand_metrics,
    load_figures,
    reduce_column,
)
from fcreview.importers.inspect.figures import MetricSpec, NotRecomputable, ReducedScore
from fcreview.importers.inspect.scores import to_verdict, value_for_verdict
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, metrics_by_category
from fcreview.model.review import CORRECT, ITEM_CORRECT

AS_RECORDED = "as recorded in the log; not recomputed"
WITH_EDITS = "after the edits in the log"


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics of each score column. A log without scores gives pass rates by category."""
    figures = load_figures(run)
    metrics = list(_column_metrics(items, figures, is_edited=False)) if figures.columns else []
    if any("edited" in item.metadata for item in items):
        metrics += _column_metrics(items, figures, is_edited=True)
    return metrics or metrics_by_category(items)


def _column_metrics(items: Sequence[ScoredItem], figures: LogFigures, *, is_edited: bool) -> Iterator[Metric]:
    for column in figures.columns:
        if is_edited and not any(column.scorer in _mapping(item.metadata.get("edited")) for item in items):
            continue
        if is_edited:
            values: list[EpochValue] | None = list(edited_values(items, column.scorer))
            is_recorded = True
        else:
            values = official_values(items, column.scorer, figures)
            is_recorded = values is not None and values == list(recorded_values(items, column.scorer))
        table = f"{column.title} · {WITH_EDITS}" if is_edited else column.title
        for each in expand_column(column, values or ()):
            yield from _metrics_of(each, values, table, is_recorded=is_recorded)


def _metrics_of(
    column: ScoreColumn, values: Sequence[EpochValue] | None, table: str, *, is_recorded: bool
) -> Iterator[Metric]:
    reduced: list[ReducedScore] = []
    is_known = values is not None
    if values is not None:
        try:
            reduced = reduce_column(column, values)
        except NotRecomputable:
            is_known = False
    n = sum(score.value is not None for score in reduced)
    for spec in expand_metrics(column, reduced):
        value, has_rule = compute_or_none(spec, reduced) if is_known else (None, False)
        note = ""
        if is_recorded and (not has_rule or not values):
            value, note = spec.recorded, AS_RECORDED
        level = int(spec.is_grouped)
        yield Metric(
            table, spec.key, value, _unit(spec), level, note, n if values is not None else 0,
            len(reduced) or None, "samples",
        )  # fmt: skip


def recompute(column: ScoreColumn, values: Sequence[EpochValue]) -> Iterator[tuple[MetricSpec, float | None]]:
    """Yield each metric of a column with its recomputed value; None if its rule is unknown or it has no values."""
    for each in expand_column(column, values):
        try:
            reduced = reduce_column(each, values)
        except NotRecomputable:
            return
        for spec in expand_metrics(each, reduced):
            yield spec, compute_or_none(spec, reduced)[0]


def _unit(spec: MetricSpec) -> MetricUnit:
    metric: Any = spec.params.get("metric")
    name = str(metric.get("name")) if spec.is_grouped and isinstance(metric, dict) else spec.name
    return "share" if name.rpartition("/")[2] == "accuracy" else "score"


def recorded_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the official values of a score, as the scorer gave them."""
    for item in items:
        scores = _mapping(item.metadata.get("scores"))
        if scorer in scores:
            yield _epoch_value(item, scores[scorer])


def edited_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the values of a score after the edits that the log contains."""
    for item in items:
        scores, edited = _mapping(item.metadata.get("scores")), _mapping(item.metadata.get("edited"))
        if scorer in edited or scorer in scores:
            yield _epoch_value(item, edited.get(scorer, scores.get(scorer)))


def official_values(items: Sequence[ScoredItem], scorer: str, figures: LogFigures) -> list[EpochValue] | None:
    """Return the values of a score with the verdicts of the items' source.

    Returns None if the source lacks verdicts on items that have this score, so that its figures are unknown.
    """
    values: list[EpochValue] = []
    for item in items:
        scores = _mapping(item.metadata.get("scores"))
        recorded = scores.get(scorer)
        if scorer != figures.primary:
            if scorer in scores:
                values.append(_epoch_value(item, _reviewed_part(item, scorer, recorded)))
            continue
        override = item.overrides.get(ITEM_CORRECT)
        verdict = override if isinstance(override, bool) else None if figures.is_judged else item.valid
        expected = to_verdict(recorded)
        if verdict is None and expected is not None and not figures.is_judged:
            return None
        if verdict is not None and verdict is not expected and (expected is not None or override is not None):
            values.append(_epoch_value(item, value_for_verdict(recorded, verdict)))
        elif scorer in scores:
            values.append(_epoch_value(item, _reviewed_part(item, scorer, recorded)))
    return values


def _reviewed_part(item: ScoredItem, scorer: str, recorded: Any) -> Any:
    """Return a recorded value with the reviews of its criterion, `SCORER` or `SCORER.KEY`."""
    if not item.overrides:
        return recorded
    if isinstance(recorded, dict):
        return {key: _override(item, f"{scorer}.{key}", value) for key, value in recorded.items()}
    return recorded if scorer == CORRECT else _override(item, scorer, recorded)


def _override(item: ScoredItem, criterion: str, recorded: Any) -> Any:
    new = item.overrides.get(("item", criterion))
    if isinstance(new, bool):
        return value_for_verdict(recorded, new)
    return new if isinstance(new, (int, float)) else recorded


def _epoch_value(item: ScoredItem, value: Any) -> EpochValue:
    metadata = item.metadata
    return EpochValue(str(metadata.get("sample", item.id)), value, _mapping(metadata.get("metadata")))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
