"""Compute the contents of `fcreview report`: the metrics of each run, and the page that becomes
HTML or Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fcreview import __version__
from fcreview.cli.commands.suspects import fetch_ranked_suspects
from fcreview.cli.output import (
    Progress,
    format_cell,
    format_run_heading,
    format_table,
    print_message,
)
from fcreview.cli.workspace import load_workspace_errata, select_errata
from fcreview.exporters import report_sections as sections
from fcreview.exporters import report_summary as summary
from fcreview.golden_audit.score import count_questions, is_benchmark_at_fault
from fcreview.model.effective_verdict import UNANIMOUS
from fcreview.model.metric import (
    Metric,
    MetricSource,
    RunItems,
    ScoredItem,
    group_by_table,
)
from fcreview.model.wording import (
    NO_DATASET_MESSAGE,
    NO_VALUE,
    format_count,
    format_dataset_name,
    format_metric_value,
    format_not_run,
    get_source_name,
)
from fcreview.stats.agreement_ratings import split_by_blind_status
from fcreview.stats.calibration import CalibrationScope, describe_selection
from fcreview.stats.incidents import count_incidents, omit_incidents, omit_stated_accuracies
from fcreview.stats.intervals import compute_disagreement_bounds
from fcreview.stats.run_comparison import VerdictSource, build_run_matrix
from fcreview.store.rows import View

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.errata import Errata
    from fcreview.model.item import Run
    from fcreview.model.run_check import RunCheck
    from fcreview.stats.estimation import MetricEstimate
    from fcreview.store.analysis import UnblindedAnalysis
    from fcreview.store.rows import RunRow

MAX_RANKED_RUNS = 30
"""Number of runs of a dataset up to which the report searches for ties."""
ItemsBySource = dict[MetricSource, list[ScoredItem]]


@dataclass(slots=True)
class ScoredRun:
    """A run with its scored items by metric source (official, rule, corrected)."""

    row: RunRow
    items: ItemsBySource


@dataclass(slots=True)
class ReportPart:
    """Metrics of one run, or combined metrics of several runs."""

    fields: dict[str, Any]  # fields that identify the run, see `build_run_fields`
    metrics: list[summary.MetricRow]
    row: RunRow | None = None  # the run; None for combined metrics
    combined_runs: Sequence[RunRow] = ()
    check: RunCheck | None = None  # whether the score of the run is real; None for combined metrics


def compute_report_parts(
    session: WorkspaceSession, run: str | None, *, quiet: bool = False
) -> Iterator[ReportPart]:
    """Yield the metrics of each run, then the combined metrics of several runs of a model, if
    the benchmark has any.
    """
    from fcreview.importers.registry import find_importer

    runs_by_model: dict[tuple[str, str, str], list[ScoredRun]] = {}
    errata = load_workspace_errata(session.workspace)
    selected = session.select_runs(run)
    checks = {check.run: check for check in session.store.check_runs(selected)}
    for part in load_scored_runs(session.store.analysis, selected, errata, quiet=quiet):
        row = part.row
        fields = build_run_fields(row) | {"problems": checks[row.run].summary}
        yield ReportPart(
            fields,
            metrics=compute_run_metrics(part.items, row.info),
            row=row,
            check=checks[row.run],
        )
        importer = find_importer(row.info.benchmark)
        if importer is not None and importer.combines_runs:
            runs_by_model.setdefault(
                (row.info.benchmark, row.info.generation, row.info.model), []
            ).append(part)
    for parts in runs_by_model.values():
        if lines := compute_combined_metrics(parts):
            rows = [part.row for part in parts]
            yield ReportPart(_build_combined_fields(rows), lines, combined_runs=rows)


def load_scored_runs(
    analysis: UnblindedAnalysis,
    runs: Sequence[RunRow],
    errata: Errata | None = None,
    *,
    quiet: bool = False,
) -> Iterator[ScoredRun]:
    """Load the scored items of each run.

    Equal items are combined, unless the benchmark's metrics need each item.
    """
    from fcreview.importers.registry import importer_for

    total, done = sum(row.n_items for row in runs), 0
    benchmarks = {row.info.benchmark for row in runs}
    corrected = {each for each in benchmarks if select_errata(errata, each)}
    aggregated = {
        row.run
        for row in runs
        if importer_for(row.info).aggregates_rows and row.info.benchmark not in corrected
    }
    counted = analysis.fetch_combined_scored_items(
        [row.run for row in runs if row.run in aggregated],
        {row.run for row in runs if importer_for(row.info).needs_part_verdicts},
    )
    with Progress("scoring", lambda count: format_count(count, "item"), quiet=quiet) as progress:
        for row in runs:
            progress(row.run_name, done, total)
            rows = (
                next(counted)[1]
                if row.run in aggregated
                else analysis.fetch_scored_items(
                    row.run, with_errata=row.info.benchmark in corrected
                )
            )
            progress.erase()
            yield ScoredRun(row, rows)
            done += row.n_items


def compute_run_metrics(items: ItemsBySource, run: Run) -> list[summary.MetricRow]:
    """Compute the metrics of a run, in the order of the benchmark's tables."""
    from fcreview.importers.registry import compute_metrics

    metrics = summary.collect_metric_rows(lambda source: compute_metrics(items[source], run), items)
    if n_incidents := count_incidents(items["official"]):
        run_without_stated = omit_stated_accuracies(run, items["official"])
        summary.add_values_without_incidents(
            metrics,
            lambda source: compute_metrics(omit_incidents(items[source]), run_without_stated),
            items,
            n_incidents,
        )
    return _add_disagreement_bounds(
        metrics, [items["corrected"]], lambda runs: compute_metrics(runs[0], run)
    )


def compute_combined_metrics(runs: list[ScoredRun]) -> list[summary.MetricRow]:
    """Compute the combined metrics of several runs of one model.

    Empty if the benchmark defines none for these runs.
    """
    from fcreview.importers.registry import compute_combined_metrics

    def compute_metrics(items_by_run: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
        return compute_combined_metrics(
            [RunItems(run.row.info, items) for run, items in zip(runs, items_by_run, strict=True)]
        )

    metrics = summary.collect_metric_rows(
        lambda source: compute_metrics([run.items[source] for run in runs]), runs[0].items
    )
    if n_incidents := sum(count_incidents(run.items["official"]) for run in runs):
        summary.add_values_without_incidents(
            metrics,
            lambda source: compute_metrics([omit_incidents(run.items[source]) for run in runs]),
            runs[0].items,
            n_incidents,
        )
    return _add_disagreement_bounds(
        metrics, [run.items["corrected"] for run in runs], compute_metrics
    )


def _add_disagreement_bounds(
    metrics: list[summary.MetricRow],
    items_by_run: Sequence[Sequence[ScoredItem]],
    compute_metrics: Callable[[Sequence[Sequence[ScoredItem]]], Sequence[Metric]],
) -> list[summary.MetricRow]:
    bounds = compute_disagreement_bounds(items_by_run, compute_metrics)
    for metric in metrics:
        if found := bounds.get(metric.key):
            metric.open_disagreements, metric.corrected_low, metric.corrected_high = (
                found.n,
                found.low,
                found.high,
            )
    return metrics


def build_run_fields(row: RunRow) -> dict[str, Any]:
    """Build the fields of a run: run, run_name, benchmark, generation, language, model, n_items,
    not_run, expected_items, and reviewed (number of items with a review of the item or of a part).
    """
    info = row.info
    names = {name: getattr(info, name) for name in ("benchmark", "generation", "language", "model")}
    counts = {name: getattr(row, name) for name in ("n_items", "not_run", "expected_items")}
    reviewed = row.reviewed + row.in_part
    return {"run": row.run, "run_name": row.run_name, **names, **counts, "reviewed": reviewed}


def _build_combined_fields(rows: Sequence[RunRow]) -> dict[str, Any]:
    """Build the fields of several runs of one model, as for one run. `run` is None, `run_name` is
    the model, and `+` joins the languages.
    """
    languages = "+".join(dict.fromkeys(row.info.language for row in rows))
    n_items = sum(row.n_items for row in rows)
    n_expected = None
    if any(row.expected_items is not None for row in rows):
        n_expected = sum(
            row.n_items if row.expected_items is None else row.expected_items for row in rows
        )
    return build_run_fields(rows[0]) | {
        "run": None,
        "run_name": rows[0].info.model,
        "language": languages,
        "n_items": n_items,
        "reviewed": sum(row.reviewed + row.in_part for row in rows),
        "not_run": sum(row.not_run for row in rows),
        "expected_items": n_expected,
    }


def format_part_heading(run_fields: dict[str, Any]) -> str:
    """Format the heading above the tables of a run or of combined runs."""
    names = [run_fields[name] for name in ("benchmark", "generation", "language", "run_name")]
    n_expected = run_fields["expected_items"] if run_fields["not_run"] else None
    return format_run_heading(run_fields["run"], names, run_fields["n_items"], n_expected)


CALIBRATION_SCOPES: tuple[CalibrationScope, ...] = ("benchmark", "category", "tier", "error")
SOURCES_NOTE = (
    "Each metric has up to three values. The official value comes from the benchmark's score files."
    " fcreview computes "
    "the recomputed value with the benchmark's rules. The corrected value replaces automatic"
    " verdicts by reviewed "
    "verdicts. A recomputed value is omitted if only some of its items can be recomputed, because"
    " these items are not "
    "a random sample. The estimated accuracy comes from random samples."
)

WITHOUT_INCIDENTS_HEADING = "{source} w/o incidents"
MAX_UNFOLDED_RUNS = 8  # With more runs, the section with the metrics of each run is folded.


def build_report_page(session: WorkspaceSession, run: str | None) -> sections.ReportPage:
    """Build the report page of all runs or of the run with this number, name or model.

    Raises StoreError if blind.
    """
    parts = list(compute_report_parts(session, run))
    rows = [each.row for each in parts if each.row is not None]
    view = session.build_view(queue="dataset", run=run)
    queues = describe_queue_samples(session)
    tied_runs = _find_tied_runs(session, rows)
    counts = []
    for row in rows:
        run_counts = _count_passes(session, row, has_queues=bool(queues))
        counts.append(replace(run_counts, is_tied=row.run in tied_runs))
    failures = _collect_failures_by_dataset(session, view, rows)
    suspects = fetch_ranked_suspects(session, run=run)
    found = [each for each in suspects if each.reasons]
    n_confirmed = count_questions(
        each for each in found if is_benchmark_at_fault(each.question) is True
    )
    strong = [each for each in found if each.is_strong]
    suspect_counts = summary.SuspectCounts(
        count_questions(found), n_confirmed, count_questions(strong)
    )
    estimates = [estimate_part_metrics(session, each, has_queues=bool(queues)) for each in parts]
    metrics = list(map(_build_metrics_section, parts, estimates))
    disagreements = len(session.store.analysis.fetch_disagreements(view))
    progress = [
        sections.RunReviewProgress(
            f"run {row.run}: {row.run_name}", row.n_items, row.reviewed, row.in_part
        )
        for row in rows
    ]
    return sections.ReportPage(
        f"{session.workspace.parent_folder.name}/ ·"
        f" {', '.join(dict.fromkeys(each.kind for each in counts))}",
        [_describe_report(session, view, rows)],
        summary.build_summary_cards(counts, disagreements, suspect_counts),
        [
            summary.build_category_section(counts),
            summary.build_failure_reasons_section(failures),
            summary.build_score_section(counts),
        ],
        [
            sections.build_check_section([part.check for part in parts if part.check is not None]),
            sections.Section(
                "Metrics of each run",
                [sections.Paragraph(SOURCES_NOTE)],
                metrics,
                is_folded=len(metrics) > MAX_UNFOLDED_RUNS,
            ),
            sections.build_failures_section(failures),
            sections.build_suspects_section(suspects),
            _build_calibration_section(session, view),
            _build_agreement_section(session, view),
            sections.build_progress_section(progress, queues),
            sections.build_item_selection_section(queues),
        ],
    )


def _describe_report(session: WorkspaceSession, view: View, rows: Sequence[RunRow]) -> str:
    """Describe what the report covers: `4 runs · 8,282 items · 160 reviewed by 3 annotators · 22
    November 2026`.
    """
    reviewed = f"{sum(row.reviewed for row in rows):,} reviewed"
    if annotators := {rating.annotator for rating in session.store.analysis.fetch_ratings(view)}:
        reviewed += f" by {format_count(len(annotators), 'annotator')}"
    now = datetime.now(UTC)
    parts = [
        format_count(len(rows), "run"),
        format_count(sum(row.n_items for row in rows), "item"),
        reviewed,
    ]
    parts += [f"{now.day} {now:%B %Y, %H:%M} UTC", f"fcreview {__version__}"]
    if session.policy != UNANIMOUS:
        parts.append(
            f"policy {session.policy}: if annotators disagree, the majority verdict counts"
        )
    return " · ".join(parts)


def estimate_part_metrics(
    session: WorkspaceSession, part: ReportPart, *, has_queues: bool
) -> summary.EstimateByMetric:
    """Estimate metrics with confidence estimates, by metric key.

    Empty without queues or a random sample.
    """
    if not has_queues:
        return {}
    from fcreview.cli.commands.estimate import (
        HALF_WIDTH,
        estimate_combined_metrics,
        estimate_run_metrics,
    )
    from fcreview.stats.estimation import EstimationSettings

    settings = EstimationSettings(HALF_WIDTH)
    if part.row is None:
        estimates = estimate_combined_metrics(session, part.combined_runs, settings)
    else:
        sample_status = session.store.analysis.fetch_sample_status(part.row.run)
        estimates = estimate_run_metrics(session, part.row, sample_status, settings)
    return {one.key: one for one in estimates if None not in (one.estimated, one.low, one.high)}


def _build_metrics_section(
    part: ReportPart, estimates: summary.EstimateByMetric
) -> sections.Section:
    dataset = format_dataset_name(
        *(part.fields[name] for name in ("benchmark", "generation", "language"))
    )
    count = format_count(part.fields["n_items"], "item")
    if part.fields["not_run"]:
        count = format_not_run(part.fields["n_items"], part.fields["expected_items"])
    blocks: list[Any] = [sections.Paragraph(f"{dataset}, {count}")]
    if part.row is not None and part.row.info.lacks_dataset:
        blocks.append(sections.Paragraph(NO_DATASET_MESSAGE))
    if any(line.open_disagreements for line in part.metrics):
        blocks.append(sections.Paragraph(summary.DISAGREEMENTS_NOTE))
    for title, lines in group_by_table(part.metrics).items():
        blocks.append(summary.build_metric_table(title, lines, estimates))
    name = f"run {part.fields['run']}" if part.row is not None else "combined"
    return sections.Section(f"{name}: {part.fields['run_name']}", blocks)


def _collect_failures_by_dataset(
    session: WorkspaceSession, view: View, rows: Sequence[RunRow]
) -> list[sections.DatasetFailures]:
    datasets: dict[str, list[RunRow]] = {}
    for row in rows:
        datasets.setdefault(row.info.full_title, []).append(row)
    failures = []
    for kind, group in datasets.items():
        runs = tuple(row.run for row in group)
        clusters = session.store.fetch_clusters(replace(view, runs=runs))
        firsts = [
            each.first_item
            for each in clusters[: sections.MAX_CLUSTERS]
            if each.first_item is not None
        ]
        first_rows = session.store.fetch_rows(firsts)
        examples = [
            sections.ClusterExample(row.id, row.question, row.first_difference)
            for row in first_rows
        ]
        failures.append(
            sections.DatasetFailures(
                f"{kind}, {format_count(len(group), 'run')}", clusters, examples
            )
        )
    return failures


def _build_calibration_section(session: WorkspaceSession, view: View) -> sections.Section:
    cases = session.store.analysis.fetch_verdict_pairs(view)
    if not cases:
        return sections.build_calibration_section(sections.CalibrationResult())
    from fcreview.stats.calibration import compute_calibrations, find_error_groups  # imports numpy

    calibrations = list(compute_calibrations(cases, ("overall", *CALIBRATION_SCOPES)))
    return sections.build_calibration_section(
        sections.CalibrationResult(
            describe_selection(cases),
            calibrations,
            list(find_error_groups(cases)),
            CALIBRATION_SCOPES,
        )
    )


def _build_agreement_section(session: WorkspaceSession, view: View) -> sections.Section:
    ratings = session.store.analysis.fetch_ratings(view)
    if len({rating.annotator for rating in ratings}) < 2:
        return sections.build_agreement_section({})
    from fcreview.stats.agreement import compute_agreement  # imports numpy

    pools = split_by_blind_status(ratings).items()
    return sections.build_agreement_section(
        {how: list(compute_agreement(pool, ["overall"], how)) for how, pool in pools}
    )


def _find_tied_runs(session: WorkspaceSession, rows: Sequence[RunRow]) -> set[int]:
    """Return the numbers of the runs that may be as good as the best run of their dataset.

    Datasets with very many runs are not searched.
    """
    rows_by_dataset: dict[str, list[RunRow]] = {}
    for row in rows:
        rows_by_dataset.setdefault(row.info.full_title, []).append(row)

    tied_runs: set[int] = set()
    for group in rows_by_dataset.values():
        source = _choose_common_source(group)
        if source is None or not 1 < len(group) <= MAX_RANKED_RUNS:
            continue
        numbers = [row.run for row in group]
        outcomes = session.store.analysis.fetch_outcomes_without_details(View(), numbers, source)
        matrix = build_run_matrix([outcomes[number] for number in numbers])
        tied_runs.update(numbers[ranked.run] for ranked in matrix.ranking if ranked.is_tied)
    return tied_runs


def _choose_common_source(rows: Sequence[RunRow]) -> VerdictSource | None:
    """Choose the source of verdicts that can rank all runs; None if there is none."""
    if all(row.official_known for row in rows):
        return "official"
    if all(row.rule_known == row.n_items for row in rows):
        return "rule"
    return None


def _count_passes(
    session: WorkspaceSession, row: RunRow, *, has_queues: bool
) -> summary.RunPassCounts:
    """Count the passing items of a run by verdict source.

    With queues, also estimate the pass rate.
    """
    counts = summary.RunPassCounts(
        row.run_name,
        row.info.full_title,
        row.n_items,
        (row.official_pass, row.official_known),
        (row.rule_pass, row.rule_known),
        (row.effective_pass, row.effective_known),
        (row.stated_pass, row.stated_of),
        row.disputed,
        {
            category["category"]: (category["n"], _compute_category_pass_rate(category))
            for category in row.categories
        },
        expected_items=row.expected_items if row.not_run else None,
        is_unfinished=row.is_unfinished,
        incidents=row.incidents,
        without_incidents=row.without_incidents_text,
        lacks_dataset=row.info.lacks_dataset,
        reviewed=row.reviewed + row.in_part,
    )
    if not has_queues:
        return counts
    from fcreview.cli.commands.estimate import HALF_WIDTH
    from fcreview.stats.estimation import estimate_pass_rate  # imports numpy

    statuses = session.store.analysis.fetch_sample_status(row.run).items
    n_decided = sum(status.sample_outcome == "decided" for status in statuses)
    estimate = estimate_pass_rate(statuses, HALF_WIDTH / 100) if n_decided else None
    return replace(counts, estimate=estimate, n_sampled=n_decided)


def _compute_category_pass_rate(category: dict[str, Any]) -> float | None:
    """Return the pass rate of a category, from 0 to 1.

    Return None if an item of the category has no verdict.
    """
    for source in ("official", "rule"):
        if category[f"{source}_known"] == category["n"] and category["n"]:
            return float(category[f"{source}_pass"] / category["n"])
    return None


def describe_queue_samples(session: WorkspaceSession) -> list[sections.QueueSample]:
    """Describe the sampling and progress of each queue.

    Print warnings about unreadable queue files to stderr.
    """
    from fcreview.store.queue_file import QueueError, read_queues

    samples = []
    for queue in read_queues(session.workspace):
        if isinstance(queue, QueueError):
            print_message(f"fcreview: {queue}")
            continue
        design = queue.design
        done = {
            each.annotator: each.summary
            for each in session.store.measure_queue_progress(queue.name)
        }
        sampling = (design.size, design.population, design.where, design.stratify, design.seed)
        samples.append(sections.QueueSample(queue.name, queue.created, *sampling, done))
    return samples


def format_metric_lines(
    run_fields: dict[str, Any],
    metrics: list[summary.MetricRow],
    estimates: summary.EstimateByMetric,
    page_width: int | None = None,
) -> Iterator[str]:
    """Format metrics as text tables, one line at a time. For `page_width`, see `format_table`."""
    yield format_part_heading(run_fields)
    if run_fields.get("problems"):
        yield f"! {run_fields['problems']}: run fcreview check for details"
    if run_fields["reviewed"]:
        reviewed = format_count(run_fields["reviewed"], "item")
        yield f"corrected: reviews of {reviewed} replace automatic verdicts"
    if any(line.open_disagreements for line in metrics):
        yield summary.DISAGREEMENTS_NOTE
    sources = summary.select_metric_sources(metrics)
    incident_source = summary.find_incident_source(metrics)
    for table, part in group_by_table(metrics).items():
        found = {line.key: estimates[line.key] for line in part if line.key in estimates}
        disputed = any(line.open_disagreements for line in part)
        cells = [
            [
                "  " * line.level + format_cell(line.name),
                *(
                    format_metric_value(
                        summary.get_displayed_value(line, source), line.unit, line.digits
                    )
                    for source in sources
                ),
                *(
                    [summary.format_value_without_incidents(line, incident_source)]
                    if incident_source
                    else []
                ),
                *([summary.format_open_disagreements(line)] if disputed else []),
                *(
                    [
                        summary.format_estimate(found[line.key], line)
                        if line.key in found
                        else NO_VALUE
                    ]
                    if found
                    else []
                ),
                _format_metric_remarks(line, found.get(line.key)),
            ]
            for line in part
        ]
        heads = [
            format_cell(table),
            *("recomp." if source == "rule" else source for source in sources),
        ]
        if incident_source is not None:
            heads.append(WITHOUT_INCIDENTS_HEADING.format(source=get_source_name(incident_source)))
        heads += [summary.OPEN_DISAGREEMENTS] if disputed else []
        heads += [summary.ESTIMATE_HEADING, ""] if found else [""]
        yield ""
        yield from format_table(
            heads,
            cells,
            right_aligned=range(1, len(sources) + 1),
            max_width=44,
            page_width=page_width,
        )
    yield ""


def _format_metric_remarks(metric: summary.MetricRow, interval: MetricEstimate | None) -> str:
    sample = summary.format_sample_and_bounds(interval, metric) if interval is not None else ""
    return "; ".join(
        filter(None, (summary.format_denominator(metric), format_cell(metric.note), sample))
    )


def build_report_text(
    session: WorkspaceSession, is_stopped: Callable[[], bool], page_width: int
) -> str:
    """Build the report of all runs as text.

    Stop when `is_stopped` is true. For `page_width`, see `format_table`.
    """
    lines: list[str] = []
    queues = describe_queue_samples(session)
    for part in compute_report_parts(session, None, quiet=True):
        if is_stopped():
            break
        if part.row is not None and part.row.info.lacks_dataset:
            lines.append(NO_DATASET_MESSAGE)
        estimates = estimate_part_metrics(session, part, has_queues=bool(queues))
        lines += format_metric_lines(part.fields, part.metrics, estimates, page_width)
    return "\n".join(lines)
