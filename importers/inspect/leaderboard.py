"""Recompute the metrics of an Inspect log from the scores of its samples, as Inspect computes them.

A verdict that differs from the recorded value of an item's main score replaces the value: `C` or `I`, true or false, 1
or 0, in the form of the recorded value. All other scores keep their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.importers.inspect import columns
from fcreview.importers.inspect.columns import EpochValue, LogFigures, MetricSpec, NotRecomputable, ScoreColumn
from fcreview.importers.inspect.scores import LETTER_OF_NUMBER, LETTERS, to_verdict, value_for_verdict
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem, metrics_by_category, pass_rate_metric
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.stats.conventions import Ending, Trial, TrialTable

AS_RECORDED = "as recorded in the log; not recomputed"
MISSING = object()
"""Value of a score for which the source has no verdict."""
RECOMPUTED_TABLE = "recomputed verdicts"
WITH_EDITS = "after the edits in the log"


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Scores of one scorer, computed from the verdicts of one source."""

    known: Sequence[EpochValue]
    """Values of the samples in which the source has a verdict on every epoch."""
    complete: Sequence[EpochValue]
    """Values of all scored samples, for the total and the groups. Samples that `known` lacks have recorded values."""
    is_recorded: bool
    """Whether `known` are the values that the log recorded."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:
    """Compute the metrics of each score column. A log without scores gives pass rates by category."""
    figures = columns.load_figures(run)
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
            values = source_values(items, column.scorer, figures)
        elif any(column.scorer in as_object(item.metadata.get("edited")) for item in items):
            edited = list(edited_values(items, column.scorer))
            values = ColumnValues(edited, edited, is_recorded=True)
        else:
            continue
        table = f"{column.title} · {WITH_EDITS}" if is_edited else column.title
        for each in columns.expand_column(column, values.complete):
            yield from _metrics_of(each, values, table)


def _metrics_of(column: ScoreColumn, values: ColumnValues, table: str) -> Iterator[Metric]:
    try:
        reduced, complete = (columns.reduce_column(column, each) for each in (values.known, values.complete))
        is_known = True
    except NotRecomputable:
        reduced, complete, is_known = [], [], False
    for spec in columns.expand_metrics(column, complete):
        value, has_rule = columns.compute_or_none(spec, reduced) if is_known else (None, False)
        note = ""
        if values.is_recorded and (not has_rule or not values.known):
            value, note = spec.recorded, AS_RECORDED
        n, total = (sum(s.value is not None for s in columns.select_group(spec, each)) for each in (reduced, complete))
        yield Metric(table, spec.key, value, _unit(spec), int(spec.is_grouped), note, n, total or None, "samples")


def recompute(column: ScoreColumn, values: Sequence[EpochValue]) -> Iterator[tuple[MetricSpec, float | None]]:
    """Yield each metric of a column with its recomputed value; None if it has no values or cannot be recomputed."""
    for each in columns.expand_column(column, values):
        try:
            reduced = columns.reduce_column(each, values)
        except NotRecomputable:
            return
        for spec in columns.expand_metrics(each, reduced):
            yield spec, columns.compute_or_none(spec, reduced)[0]


def _unit(spec: MetricSpec) -> MetricUnit:
    metric = spec.params.get("metric")
    name = str(metric.get("name")) if spec.is_grouped and isinstance(metric, dict) else spec.name
    return "share" if name.rpartition("/")[2] == "accuracy" else "score"


def recorded_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the official values of a score, as the scorer gave them."""
    for item in items:
        scores = as_object(item.metadata.get("scores"))
        if scorer in scores:
            yield _epoch_value(item, scores[scorer])


def edited_values(items: Sequence[ScoredItem], scorer: str) -> Iterator[EpochValue]:
    """Yield the values of a score after the edits that the log contains."""
    for item in items:
        scores = as_object(item.metadata.get("scores")) | as_object(item.metadata.get("edited"))
        if scorer in scores:
            yield _epoch_value(item, scores[scorer])


def source_values(items: Sequence[ScoredItem], scorer: str, figures: LogFigures) -> ColumnValues:
    """Compute the values of a score from the verdicts. Samples with an epoch that has no verdict are not known."""
    recorded = list(recorded_values(items, scorer))
    if scorer != figures.primary:
        scored = [item for item in items if scorer in as_object(item.metadata.get("scores"))]
        values = [_epoch_value(each, _reviewed_part(each, scorer, each.metadata["scores"][scorer])) for each in scored]
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
    """Return the value of the main score by the item's verdict, or MISSING. Reviews of its keys change an object."""
    if isinstance(recorded, (dict, list)):
        return _reviewed_part(item, figures.primary or "", recorded)
    override = item.overrides.get(ITEM_CORRECT)
    verdict = override if isinstance(override, bool) else None if figures.is_judged else item.valid
    expected = to_verdict(recorded)
    if verdict is None and expected is not None and not figures.is_judged:
        return MISSING
    if verdict is not None and verdict is not expected and (expected is not None or override is not None):
        return value_for_verdict(recorded, verdict)
    return _reviewed_part(item, figures.primary or "", recorded)


def reviewed_value(item: ScoredItem, scorer: str, figures: LogFigures) -> Any:
    """Return the value of a score that follows from the item's verdicts, or None if the score has no value."""
    recorded = as_object(item.metadata.get("scores")).get(scorer)
    if scorer != figures.primary:
        return _reviewed_part(item, scorer, recorded)
    value = _main_value(item, recorded, figures)
    return recorded if value is MISSING else value


def _reviewed_part(item: ScoredItem, scorer: str, recorded: Any) -> Any:
    """Return a recorded value with the reviews of its criterion, `SCORER` or `SCORER.KEY`."""
    if not item.overrides:
        return recorded
    if isinstance(recorded, dict):
        return {key: _override(item, f"{scorer}.{key}", value) for key, value in recorded.items()}
    return recorded if scorer == CORRECT else _override(item, scorer, recorded)


def _override(item: ScoredItem, criterion: str, recorded: Any) -> Any:
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
