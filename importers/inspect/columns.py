"""Read the score columns of a log. A column is a scorer, or a key of its object scores, with a reducer and metrics.

`read_columns` reads them from the header. They are stored in `Run.official_metrics` under `LOG_KEY`, together with the
name of the score that the item verdicts come from.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.inspect.figures import (
    MetricSpec,
    NotRecomputable,
    ReducedScore,
    compute_metric,
    group_names,
    reduce_epochs,
)
from fcreview.model.item import Run
from fcreview.model.json_value import to_plain_json

LOG_KEY = "inspect"


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One entry of `results.scores`."""

    name: str
    """Name of the scorer, or the key of its object scores."""
    scorer: str
    reducer: str | None
    """None means the mean, which is the default, or metrics over unreduced epochs (`is_unreduced`)."""
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
    """False for a log that was cancelled, that ended with an error or that has no results."""
    judges: Sequence[str] = field(default=())


def read_columns(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the score columns of a log as JSON: the columns in its results, or else the declared columns."""
    results = _object(header.get("results"))
    recorded = results.get("scores")
    if recorded is None and "scorer" in results:  # logs before format 2 have one scorer
        recorded = [{"name": _name(results["scorer"]), "metrics": results.get("metrics")}]
    columns = [each for score in _objects(recorded) if (each := _read_recorded_column(score)) is not None]
    return columns or list(_declared_columns(header))


def _read_recorded_column(score: Mapping[str, Any]) -> dict[str, Any] | None:
    name = str(score.get("name") or _name(score.get("scorer")) or "")
    metrics = []
    for key, metric in _object(score.get("metrics")).items():
        value = metric.get("value") if isinstance(metric, dict) else metric
        number = float(value) if isinstance(value, (int, float)) and value == value and abs(value) < 1e300 else None
        found: Mapping[str, Any] = metric if isinstance(metric, dict) else {}
        params = found.get("params", found.get("options"))
        metrics.append(
            {
                "key": key,
                "name": str(found.get("name") or key),
                "params": to_plain_json(_object(params)),
                "is_grouped": found.get("group") == "grouped",
                "recorded": number,
            }
        )
    reducer = score.get("reducer")
    return {
        "name": name,
        "scorer": _name(score.get("scorer")) or name,
        "reducer": reducer if isinstance(reducer, str) else None,
        "metrics": metrics,
    } if name else None  # fmt: skip


def _declared_columns(header: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a column for each declared scorer and reducer. Groups and keys are added later, from the scores."""
    declaration = _object(header.get("eval"))
    reducers = _object(declaration.get("config")).get("epochs_reducer")
    names = [name for name in reducers if isinstance(name, str)] if isinstance(reducers, list) else []
    for scorer in _objects(declaration.get("scorers")):
        name = str(scorer.get("name") or "").rpartition("/")[2]
        metrics = scorer.get("metrics") or declaration.get("metrics")
        for reducer in names or [None]:  # type: ignore[list-item]
            plain = [each for each in _objects(metrics) if "name" in each]
            by_key = metrics if isinstance(metrics, dict) else {}
            if name and plain:
                yield _declared_column(name, name, reducer, plain)
            for key, listed in by_key.items():
                yield _declared_column(str(key), name, reducer, _objects(listed))


def _declared_column(
    name: str, scorer: str, reducer: str | None, metrics: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    specs = []
    for metric in metrics:
        own = str(metric.get("name")).removeprefix("inspect_ai/")
        params = to_plain_json(_object(metric.get("options")))
        specs.append({"key": own, "name": own, "params": params, "is_grouped": own == "grouped", "recorded": None})
    return {"name": name, "scorer": scorer, "reducer": reducer, "metrics": specs}


def load_figures(run: Run) -> LogFigures:
    """Return the score columns that the reader stored in the run."""
    stored = _object(run.official_metrics.get(LOG_KEY))
    columns = []
    seen = {(each.get("scorer"), each.get("name")) for each in _objects(stored.get("columns")) if each.get("reducer")}
    for each in _objects(stored.get("columns")):
        specs = [
            MetricSpec(
                str(m.get("key")), str(m.get("name")), _object(m.get("params")), m.get("is_grouped") is True,
                m.get("recorded"),
            )
            for m in _objects(each.get("metrics"))
        ]  # fmt: skip
        name, scorer, reducer = str(each.get("name")), str(each.get("scorer")), each.get("reducer")
        is_unreduced = reducer is None and (scorer, name) in seen
        columns.append(ScoreColumn(name, scorer, reducer if isinstance(reducer, str) else None, specs, is_unreduced))
    primary = stored.get("primary")
    return LogFigures(
        primary if isinstance(primary, str) else None,
        stored.get("is_judged") is True,
        columns,
        stored.get("is_complete") is True,
        [str(name) for name in stored.get("judges") or ()],
    )


def reduce_column(column: ScoreColumn, values: Sequence[EpochValue]) -> list[ReducedScore]:
    """Reduce the values of a column's scorer over epochs. Raises NotRecomputable."""
    if column.is_unreduced:
        reduced = [ReducedScore(each.value, each.metadata) for each in values]
    else:
        groups: dict[str, list[EpochValue]] = {}
        for each in values:
            groups.setdefault(each.sample, []).append(each)
        reduced = [
            ReducedScore(reduce_epochs([each.value for each in group], column.reducer), group[0].metadata)
            for group in groups.values()
        ]
    return [ReducedScore(_part_of(score.value, column), score.metadata) for score in reduced]


def _part_of(value: Any, column: ScoreColumn) -> Any:
    """Return the part of an object score that a column contains, or the whole value of another score."""
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
        if spec.is_grouped and spec.name == "grouped":
            names = group_names(spec.params, reduced)
            specs += [MetricSpec(_unused(name, specs), name, spec.params, True) for name in names]
        else:
            specs.append(spec)
    return specs


def _unused(name: str, specs: Sequence[MetricSpec]) -> str:
    """Return `name`, with a number if a metric has this key already. Inspect numbers repeated keys from 2."""
    keys = {spec.key for spec in specs}
    number = 2
    key = name
    while key in keys:
        key, number = f"{name}{number}", number + 1
    return key


def compute_or_none(spec: MetricSpec, reduced: Sequence[ReducedScore]) -> tuple[float | None, bool]:
    """Return (value of a metric, True), or (None, False) if fcreview cannot recompute the metric."""
    try:
        return compute_metric(spec, reduced), True
    except NotRecomputable:
        return None, False


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _name(scorer: Any) -> str:
    if isinstance(scorer, dict):
        scorer = scorer.get("name")
    return scorer if isinstance(scorer, str) else ""
