"""Read the figures of EvalScope's reports, versions 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.records import (
    as_list,
    as_object,
    is_integer,
    is_number,
    list_objects,
)
from fcreview.model.item import ImportIssue

AGGREGATES = "-"
"""Name of the category whose subsets are computed from other subsets."""


@dataclass(slots=True)
class StatedFigure:
    """Figure of a metric, a category or a subset, as the report states it."""

    name: str
    num: int | None = None
    score: float | None = None
    macro_score: float | None = None


@dataclass(slots=True)
class StatedCategory:
    figure: StatedFigure
    subsets: list[StatedFigure] = field(default_factory=list)


@dataclass(slots=True)
class StatedMetric:
    figure: StatedFigure
    aggregation: str = ""
    """How samples become a figure: `mean`, `mean_and_pass_at_k` and so on; empty in version 1."""
    categories: list[StatedCategory] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    path: Path | None = None
    metrics: list[StatedMetric] = field(default_factory=list)
    requested: dict[str, int] = field(default_factory=dict)
    """Subset -> number of samples that EvalScope was to run."""
    errored: dict[str, int] = field(default_factory=dict)
    """Subset -> number of samples whose request failed. They have no prediction."""
    primary_metric: str = ""
    """Name of the metric by which EvalScope ranks models. Version 1 states none."""
    unavailable_reason: str = ""
    """Why the primary metric is missing."""
    issues: list[ImportIssue] = field(default_factory=list)

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(metric) for metric in self.metrics]


def parse_stated_metrics(value: Any) -> list[StatedMetric]:
    """Read the metrics of a report that an earlier import stored in the database, as
    `Report.to_json` wrote them.
    """
    metrics = []
    for fields in list_objects(value):
        aggregation = str(fields.get("aggregation") or "")
        categories = [_restore_category(each) for each in list_objects(fields.get("categories"))]
        metrics.append(StatedMetric(_restore_figure(fields), aggregation, categories))
    return metrics


def _restore_category(fields: dict[str, Any]) -> StatedCategory:
    subsets = [_make_stated_figure(subset) for subset in list_objects(fields.get("subsets"))]
    return StatedCategory(_restore_figure(fields), subsets)


def _restore_figure(fields: dict[str, Any]) -> StatedFigure:
    return _make_stated_figure(as_object(fields.get("figure")))


def read_report(path: Path | None) -> Report:
    """Read a report. Values that are missing or of another type become issues."""
    report = Report(path)
    if path is None:
        return report
    fields = read_json(path, report.issues, dict)
    if fields is None:
        return report

    _read_metrics(report, fields.get("metrics"))
    primary_metric = as_object(fields.get("primary_metric_identity"))
    report.primary_metric = _get_text(primary_metric, "name")
    report.unavailable_reason = _get_text(fields, "primary_metric_unavailable_reason")
    _read_execution_summary(report, fields.get("execution_summary"))
    return report


def _get_text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _read_metrics(report: Report, metrics: Any) -> None:
    """Read the metrics of a report. Those of another form become issues."""
    if not isinstance(metrics, list):
        _add_issue(report, "the report has no list of metrics")
    for number, metric in enumerate(as_list(metrics), 1):
        if isinstance(metric, dict):
            report.metrics.append(_read_metric(report, metric, number))
        else:
            _add_issue(report, f"metric {number} is not an object")


def _add_issue(report: Report, what: str) -> None:
    report.issues.append(ImportIssue(str(report.path), line=1, what=what))


def _read_metric(report: Report, fields: dict[str, Any], number: int) -> StatedMetric:
    """Read one metric of a report, with its categories and their subsets. `number` names a metric
    without a name.

    A category name that is a list is joined to a text. Malformed values become issues of the
    report.
    """
    # Version 1 has the name in the metric itself, and version 2 in `identity`.
    identity = as_object(fields.get("identity"))
    name = identity.get("name", fields.get("name"))
    if not isinstance(name, str):
        _add_issue(report, f"metric {number} has no name")
        name = f"metric {number}"

    metric = StatedMetric(
        _read_figure(report, fields, name), aggregation=str(identity.get("aggregation", ""))
    )
    for category in list_objects(fields.get("categories")):
        metric.categories.append(_read_category(report, category))
    return metric


def _read_category(report: Report, fields: dict[str, Any]) -> StatedCategory:
    name = _join_name(fields.get("name"))
    category = StatedCategory(_read_figure(report, fields, name))
    for subset in list_objects(fields.get("subsets")):
        subset_name = str(subset.get("name"))
        category.subsets.append(_read_figure(report, subset, subset_name))
    return category


def _join_name(name: Any) -> str:
    """Return the name of a category, which is a list of texts: `en > short`."""
    if isinstance(name, list):
        return " > ".join(str(part) for part in name)
    return str(name)


def _read_figure(report: Report, fields: dict[str, Any], name: str) -> StatedFigure:
    for field_name in ("num", "score"):
        if not is_number(fields.get(field_name)):
            _add_issue(report, f"{field_name} of {name} is not a number")
    return _make_stated_figure(fields | {"name": name})


def _make_stated_figure(fields: dict[str, Any]) -> StatedFigure:
    """Read a figure of a report. Values that are no numbers become None."""
    num = fields.get("num")
    score = fields.get("score")
    macro_score = fields.get("macro_score")
    return StatedFigure(
        str(fields.get("name")),
        num=num if is_integer(num) else None,
        score=float(score) if is_number(score) else None,
        macro_score=float(macro_score) if is_number(macro_score) else None,
    )


def _read_execution_summary(report: Report, summary: Any) -> None:
    """Read how many samples of each subset were requested, and how many ended with an error."""
    for subset, counts in as_object(as_object(summary).get("subsets")).items():
        fields = as_object(counts)
        n_requested = _read_count(report, fields, name="requested", subset=subset)
        if n_requested is not None:
            report.requested[subset] = n_requested
        n_errored = _read_count(report, fields, name="errored", subset=subset)
        if n_errored is not None:
            report.errored[subset] = n_errored


def _read_count(report: Report, fields: dict[str, Any], *, name: str, subset: str) -> int | None:
    count = fields.get(name)
    if is_integer(count):
        return int(count)
    _add_issue(report, f"{name} of {subset} in execution_summary is not a number")
    return None


def list_stated_subsets(report: Report) -> Iterator[str]:
    """Yield the names of the subsets of which the report has figures, without aggregates."""
    for metric in report.metrics:
        for category in metric.categories:
            if category.figure.name != AGGREGATES:
                yield from (subset.name for subset in category.subsets)
