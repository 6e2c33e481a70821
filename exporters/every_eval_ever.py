"""Export the figures of runs as records of Every Eval Ever, a shared schema of evaluation results
(arXiv 2606.14516), one file for each run.

A record has the share of passing items with its 95 % interval, and the benchmark's own metrics, by
each source of verdicts: official, recomputed, and corrected by reviews. Metrics that are estimated
from random samples have their interval. The files are where the datastore of the schema expects
them: `data/BENCHMARK/DEVELOPER/MODEL/UUID.json`.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fcreview.exporters.base import ExportError, ExportSource
from fcreview.exporters.report_summary import MetricRow, get_displayed_value
from fcreview.model.json_value import to_plain_json
from fcreview.model.wording import format_dataset_name, get_source_name, is_nearly_complete
from fcreview.stats.intervals import CONFIDENCE_LEVEL
from fcreview.stats.repeats import RunGroup, summarize_groups
from fcreview.stats.run_comparison import align_runs
from fcreview.store.rows import View

if TYPE_CHECKING:
    from fcreview.exporters.base import RunScores
    from fcreview.model.item import Run
    from fcreview.model.metric import MetricSource
    from fcreview.stats.estimation import MetricEstimate
    from fcreview.stats.run_comparison import AlignedItem, VerdictSource
    from fcreview.store.rows import RunRow

SCHEMA_VERSION = "0.3.0"
UNKNOWN = "unknown"
"""Value of fields that the schema requires and that fcreview does not know."""
NO_CATEGORY = "no category"
"""Name of a category that is empty, beside categories with a name."""
INTERVAL_METHOD = "Wilson, by clusters of questions, with Student's t"
MAX_NAME_LENGTH = 100
SHARE_UNITS = ("share", "percent")
SCORE_UNITS = (*SHARE_UNITS, "score")
"""Units of metrics that say how good the answers are. The others are counts, times and costs."""
RESERVED_NAMES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]|data)(\..*)?", re.IGNORECASE)
"""Names of folders that the datastore or Windows reserves."""
JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Score:
    """A value from 0 to 1 or, without bounds, on a scale of the benchmark."""

    value: float
    n: int | None = None
    """Number of verdicts behind the value."""
    low: float | None = None
    high: float | None = None
    method: str = ""
    """How the interval was computed. Empty without an interval."""
    has_bounds: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric with the source of its verdicts."""

    names: Sequence[str]
    """Parts of the name of the evaluation, after the benchmark: table and metric."""
    metric_id: str
    metric_name: str
    kind: str
    source: str
    score: Score


def write_records(source: ExportSource, folder: Path) -> None:
    """Write a record for each run of the view."""
    score_runs = source.benchmark_services.score_runs
    if score_runs is None:
        raise ExportError("this format needs the metrics of runs. Use the command fcreview export.")

    scores_by_run = score_runs(source.store)
    used_identities: Counter[str] = Counter()
    for row in source.runs:
        identity = _make_identity(source, row)
        # Several runs can come from the same file, or from copies of it.
        record_id = _make_record_id(identity, number=used_identities[identity])
        used_identities[identity] += 1

        figures = [*_list_pass_rates(source, row), *_list_metrics(row, scores_by_run[row.run])]
        record = _make_record(source, row, record_id, figures)
        developer = source.selection.publication.developer
        _write_record(folder / _make_path(row.info, record_id, developer), record)
    source.counts["record"] = used_identities.total()


def _write_record(path: Path, record: JsonObject) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(to_plain_json(record), ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", "utf-8", "backslashreplace")


def _list_pass_rates(source: ExportSource, row: RunRow) -> Iterator[Figure]:
    """Yield the share of passing items by each source of verdicts: of all items, and of each
    category.
    """
    analysis = source.store.analysis
    for verdict_source in _list_verdict_sources(row):
        outcomes = analysis.fetch_outcomes_without_details(View(), [row.run], verdict_source)
        items = align_runs([outcomes[row.run]]).items
        name = "corrected" if verdict_source == "effective" else get_source_name(verdict_source)
        yield from _list_pass_rates_of_items(row, items, name)


def _list_verdict_sources(row: RunRow) -> list[VerdictSource]:
    """Return the sources with verdicts on (nearly) all items, and the reviews if there are any."""
    sources: list[VerdictSource] = []
    if row.official_known:
        sources.append("official")
    if row.rule_known and is_nearly_complete(row.rule_known, row.n_items):
        sources.append("rule")
    if row.reviewed or row.in_part:
        sources.append("effective")
    return sources


def _list_pass_rates_of_items(
    row: RunRow, items: Sequence[AlignedItem], source: str
) -> Iterator[Figure]:
    """Yield the pass rate of all items of a run and, if there are several categories, of each one.

    `source` names the verdicts.
    """
    score = _make_pass_rate_score(row, items)
    if score is not None:
        # Only of the whole run it is known how many items failed by an incident or were not run.
        details_of_run = {"incidents": row.incidents, "not_run": row.not_run}
        score = replace(score, details={**score.details, **details_of_run})
        yield _make_pass_rate_figure(["items passed"], source, score)

    items_by_category: dict[str, list[AlignedItem]] = {}
    for item in items:
        items_by_category.setdefault(item.question_key.category, []).append(item)
    if len(items_by_category) == 1:
        return
    for category, items_of_category in items_by_category.items():
        score = _make_pass_rate_score(row, items_of_category)
        if score is not None:
            # Without a name, the figure would have the name of that of the whole run.
            names = ["items passed", category or NO_CATEGORY]
            yield _make_pass_rate_figure(names, source, score)


def _make_pass_rate_score(row: RunRow, items: Sequence[AlignedItem]) -> Score | None:
    """Return the pass rate of the questions with a verdict; None if there are none.

    The items are of one run.
    """
    only_run = RunGroup(row.run_name, runs=[0])
    (summary,) = summarize_groups(items, [only_run])
    mean = summary.mean
    if mean is None:
        return None
    has_interval = mean.low is not None
    return Score(
        mean.value,
        summary.n_questions,
        low=mean.low,
        high=mean.high,
        method=INTERVAL_METHOD if has_interval else "",
        details={
            "clusters": summary.n_clusters,
            "questions_without_verdict": summary.n_left_out,
        },
    )


def _make_pass_rate_figure(names: Sequence[str], source: str, score: Score) -> Figure:
    return Figure(
        names,
        metric_id="accuracy",
        metric_name="Items passed",
        kind="accuracy",
        source=source,
        score=score,
    )


def _list_metrics(row: RunRow, scores: RunScores) -> Iterator[Figure]:
    """Yield the benchmark's own metrics, and their estimates from random samples."""
    has_reviews = bool(row.reviewed or row.in_part)
    for metric in scores.metrics:
        if metric.unit not in SCORE_UNITS:
            continue
        for source in metric.values:
            if source == "corrected" and not has_reviews:
                continue  # equal to the automatic value
            score = _make_metric_score(metric, source)
            if score is not None:
                yield _make_metric_figure(row, metric, get_source_name(source), score)
        estimate = scores.estimates.get(metric.key)
        if estimate is not None:
            score = _make_estimated_score(metric, estimate)
            if score is not None:
                yield _make_metric_figure(row, metric, "estimated", score)


def _make_metric_figure(row: RunRow, metric: MetricRow, source: str, score: Score) -> Figure:
    """Make the figure of one of the benchmark's own metrics."""
    # Only the item pass rate is an accuracy in the usual sense. The metrics of a benchmark can have
    # weights, so the schema wants ids that name the benchmark.
    names = [metric.table, metric.name]
    return Figure(
        names,
        metric_id=_join_names([row.info.benchmark, *names]),
        metric_name=metric.name,
        kind="score" if metric.unit == "score" else "accuracy",
        source=source,
        score=score,
    )


def _make_metric_score(metric: MetricRow, source: MetricSource) -> Score | None:
    """Return the value of a metric by a source of verdicts, with what limits it.

    None without a value.
    """
    value = _scale(metric, get_displayed_value(metric, source))
    if value is None:
        return None

    details: JsonObject = {"level": metric.level, "note": metric.note}
    without_incidents = _scale(metric, metric.without_incidents.get(source))
    if without_incidents is not None:
        details |= {"incidents": metric.incidents, "value_without_incidents": without_incidents}
    if source == "corrected" and metric.open_disagreements:
        details |= {
            "open_disagreements": metric.open_disagreements,
            "lowest_value_if_resolved": _scale(metric, metric.corrected_low),
            "highest_value_if_resolved": _scale(metric, metric.corrected_high),
        }

    return Score(
        value,
        metric.n.get(source),
        has_bounds=_has_bounds(metric, value),
        details=details,
    )


def _make_estimated_score(metric: MetricRow, estimate: MetricEstimate) -> Score | None:
    """Return the estimated value of a metric with its interval, or None if there is no interval.

    If many sampled items are undecided, it is the range of the value.
    """
    value = _scale(metric, estimate.estimated)
    interval = _choose_interval(estimate)
    low = _scale(metric, interval.low)
    high = _scale(metric, interval.high)
    if value is None or low is None or high is None:
        return None

    return Score(
        value,
        estimate.n_random,
        low=low,
        high=high,
        method=interval.method,
        has_bounds=_has_bounds(metric, value),
        details={
            "reviewed_items": estimate.n_known,
            "undecided_items": estimate.n_undecided,
        },
    )


@dataclass(frozen=True, slots=True)
class _Interval:
    low: float | None
    high: float | None
    method: str


def _choose_interval(estimate: MetricEstimate) -> _Interval:
    """Return the range of the value if too many items are undecided, else the interval."""
    method = f"fcreview estimate, {estimate.method}"
    if estimate.is_bounds_headline and estimate.bounds is not None:
        low, high = estimate.bounds
        range_method = f"{method}; from all undecided items failing to all passing"
        return _Interval(low, high, method=range_method)
    return _Interval(estimate.low, estimate.high, method=method)


def _scale(metric: MetricRow, value: float | None) -> float | None:
    """Return a value as a share of 1 instead of a percentage; None if it is no finite number."""
    if value is None or not isfinite(value):
        return None
    return value / 100 if metric.unit == "percent" else value


def _has_bounds(metric: MetricRow, value: float) -> bool:
    """Whether a value is on the scale from 0 to 1. Other scales are those of the benchmark."""
    return metric.unit in SHARE_UNITS and 0 <= value <= 1


def _make_record(
    source: ExportSource, row: RunRow, record_id: UUID, figures: Sequence[Figure]
) -> JsonObject:
    """Make the record of a run, in the schema of Every Eval Ever."""
    info = row.info
    organization = source.selection.publication.organization
    developer = find_developer(info, source.selection.publication.developer)
    dataset = format_dataset_name(info.benchmark, info.generation, info.language)
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{_join_names(dataset.split())}/{info.model}/{record_id}",
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "fcreview",
            # The figures are computed from the replies of the model, not copied from a page.
            "source_type": "evaluation_run",
            "source_organization_name": organization or UNKNOWN,
            "evaluator_relationship": describe_evaluator(organization, developer),
            "additional_details": {"fcreview": version("fcreview"), "run_name": row.run_name},
        },
        "eval_library": {
            "name": info.benchmark,
            "version": UNKNOWN,
            "additional_details": _describe_reading(row),
        },
        "model_info": {
            "name": info.model,
            "id": info.model,
            "developer": developer or UNKNOWN,
            "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
        },
        "evaluation_results": _make_results(row, dataset, figures),
    }


def find_developer(run: Run, given_developer: str) -> str:
    """Return who made the model: the first part of a name such as `openai/gpt-4o`, or else the name
    that the user gave.
    """
    developer, separator, _ = run.model.partition("/")
    is_name = bool(separator) and bool(_simplify(developer))
    return developer if is_name else given_developer


def describe_evaluator(organization: str, developer: str) -> str:
    """Return what the evaluator is for the model: its developer, or somebody else. If one of both
    is unknown, so is the relationship, for which the schema has `other`.
    """
    if not organization or not developer:
        return "other"
    is_same = _simplify(organization) == _simplify(developer)
    return "first_party" if is_same else "third_party"


def _simplify(name: str) -> str:
    """Return a name without case, blanks and punctuation, in which spellings differ."""
    return re.sub(r"[\W_]+", "", name).casefold()


def _describe_reading(row: RunRow) -> dict[str, str]:
    """Return what fcreview chose while it read the files, such as the decoder of the calls."""
    details = {}
    for fact in row.info.facts.values():
        details[fact.name] = _format_detail(fact.value)
    return details


def _make_results(row: RunRow, dataset: str, figures: Sequence[Figure]) -> list[JsonObject]:
    """Make the results of a record, one for each figure, with unique ids."""
    used_ids: Counter[str] = Counter()
    results = []
    for figure in figures:
        result = _make_result(row, dataset, figure)
        result_id = result["evaluation_result_id"]
        used_ids[result_id] += 1
        # A benchmark can have the same name at several levels of a table.
        if used_ids[result_id] > 1:
            result["evaluation_result_id"] = f"{result_id}/{used_ids[result_id]}"
        results.append(result)
    return results


def _make_result(row: RunRow, dataset: str, figure: Figure) -> JsonObject:
    """Make one result of a record. Only figures with bounds can be said to be from 0 to 1."""
    name = _join_names([*dataset.split(), *figure.names])
    score = figure.score
    metric_config: JsonObject = {
        "metric_id": figure.metric_id,
        "metric_name": figure.metric_name,
        "metric_kind": figure.kind,
        "lower_is_better": False,
        "additional_details": {"verdicts": figure.source},
    }

    if score.has_bounds:
        metric_config |= {
            "metric_unit": "proportion",
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        }

    return {
        "evaluation_result_id": f"{name}/{figure.source.replace(' ', '-')}",
        "evaluation_name": name,
        "source_data": {
            "dataset_name": dataset,
            "source_type": "other",
            "additional_details": {"items": str(row.n_items)},
        },
        "metric_config": metric_config,
        "score_details": _make_score_details(score),
    }


def _make_score_details(score: Score) -> JsonObject:
    """Return a value with its uncertainty, and details that are not empty."""
    uncertainty: JsonObject = {}
    if score.n is not None:
        uncertainty["num_samples"] = score.n
    if score.low is not None and score.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": score.low,
            "upper": score.high,
            "confidence_level": CONFIDENCE_LEVEL,
            "method": score.method,
        }
    details = {}
    for name, value in score.details.items():
        if value not in (None, ""):
            details[name] = _format_detail(value)
    return {"score": score.value, "uncertainty": uncertainty, "details": details}


def _format_detail(value: Any) -> str:
    """Format a detail, which the schema wants as text."""
    if isinstance(value, str):
        return value
    return json.dumps(to_plain_json(value), ensure_ascii=False)


def _make_identity(source: ExportSource, row: RunRow) -> str:
    """Return what identifies a run: its benchmark, its model and the contents of its files."""
    info = row.info
    names = [info.benchmark, info.generation, info.language, info.model]
    hashes = source.store.fetch_source_hashes(row.run)
    return json.dumps(to_plain_json([names, sorted(hashes)]))


def _make_record_id(identity: str, *, number: int) -> UUID:
    """Make the id of a record, which is the same in the next export of the same run."""
    text = f"{identity}{number}"
    digest = blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).digest()
    return UUID(bytes=digest, version=4)


def _make_path(run: Run, record_id: UUID, given_developer: str) -> Path:
    """Return the path of a record, whose folders are the benchmark, the developer of the model and
    the model. `given_developer` counts for a model whose name does not say it.
    """
    developer = find_developer(run, given_developer) or UNKNOWN
    _, separator, model = run.model.partition("/")
    if not separator:
        model = run.model
    folders = [_make_folder_name(name) for name in (run.benchmark, developer, model)]
    return Path("data", *folders, f"{record_id}.json")


def _make_folder_name(name: str) -> str:
    """Return a name that every file system accepts, and that leads to no other folder."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:MAX_NAME_LENGTH].strip(".")
    if not plain:
        return UNKNOWN
    return f"_{plain}" if RESERVED_NAMES.fullmatch(plain) else plain


def _join_names(names: Sequence[str]) -> str:
    """Join names to an id, such as `bfcl.v4.en.items_passed`."""
    parts = []
    for name in names:
        # pass^k and pass@k are different metrics.
        words = name.lower().replace("^", " hat ").replace("@", " at ")
        parts.append(re.sub(r"\W+", "_", words).strip("_"))
    return ".".join(part for part in parts if part)
