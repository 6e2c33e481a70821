"""Gather what `fcreview report` shows: metrics of each run, and the page for HTML and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.commands.suspects import ranked
from fcreview.cli.import_options import errata_for, workspace_errata
from fcreview.cli.output import Progress, cell_text, format_table, note
from fcreview.exporters.export import write_file
from fcreview.exporters.report.html import render_html
from fcreview.exporters.report.metrics import (
    MetricRow,
    Interval,
    Intervals,
    figure_table,
    collect_metric_rows,
    shown_value,
    present_sources,
)
from fcreview.exporters.report.metrics import basis as metrics_basis
from fcreview.exporters.report.sections import (
    MAX_CLUSTERS,
    CalibrationResult,
    QueueSample,
    ClusterExample,
    DatasetFailures,
    ReportPage,
    RunPassCounts,
    RunReviewProgress,
    Section,
    Paragraph,
    agreement_section,
    calibration_section,
    sampling_section,
    failures_section,
    run_ranking_section,
    progress_section,
    suspects_section,
)
from fcreview.model.metric import MetricSource, RunItems, ScoredItem
from fcreview.model.verdict import UNANIMOUS
from fcreview.model.wording import NO_DATASET_MESSAGE, format_count, format_dataset_name, format_metric_value
from fcreview.stats.agreement import split_by_blind_status
from fcreview.stats.calibration import CalibrationScope, describe_selection

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.corrections.errata_file import Errata
    from fcreview.model.item import Run
    from fcreview.store.analysis import UnblindedAnalysis as StoreTold
    from fcreview.store.rows import RunRow, View


ItemsBySource = dict[MetricSource, list[ScoredItem]]


@dataclass(slots=True)
class RunData:
    """A run and its scored items."""

    row: RunRow
    rows: ItemsBySource


@dataclass(slots=True)
class ReportPart:
    """Metrics of one run, or of several runs combined."""

    head: dict[str, Any]
    lines: list[MetricRow]
    row: RunRow | None = None
    """The run, or None for several."""
    several: Sequence[RunRow] = ()


def report_parts(session: WorkspaceSession, run: str | None, *, quiet: bool = False) -> Iterator[ReportPart]:
    """Metrics of each run, then combined metrics of runs of one model if the benchmark publishes them.

    Args:
        run: only this run, by number or model.
        quiet: show no progress.
    """
    from fcreview.importers.registry import IMPORTERS

    together: dict[tuple[str, str, str], list[RunData]] = {}
    errata = workspace_errata(session.workspace)
    for part in load_runs(session.store.analysis, session.select_runs(run), errata, quiet=quiet):
        row = part.row
        yield ReportPart(run_fields(row), run_metrics(part.rows, row.info), row)
        importer = IMPORTERS.get(row.info.benchmark)
        if importer is not None and importer.combines_runs:
            together.setdefault((row.info.benchmark, row.info.generation, row.info.model), []).append(part)
    for parts in together.values():
        if lines := combined_metrics(parts):
            yield ReportPart(combined_fields(parts), lines, several=[part.row for part in parts])


def load_runs(
    told: StoreTold, runs: Sequence[RunRow], errata: Errata | None = None, *, quiet: bool = False
) -> Iterator[RunData]:
    """Runs with their scored items. Equal items are aggregated if the importer allows it and no errata apply."""
    from fcreview.importers.registry import importer_for

    progress = Progress("scoring", lambda count: format_count(count, "item"), quiet=quiet)
    total, done = sum(row.n_items for row in runs), 0
    benchmarks = {row.info.benchmark for row in runs}
    corrected = {each for each in benchmarks if errata_for(errata, each)}
    aggregated = {row.run for row in runs if importer_for(row.info).aggregates_rows and row.info.benchmark not in corrected}
    counted = told.fetch_aggregated_items(
        [row.run for row in runs if row.run in aggregated], {row.run for row in runs if importer_for(row.info).needs_part_verdicts}
    )
    try:
        for row in runs:
            progress(row.info.model, done, total)
            rows = (
                next(counted)[1]
                if row.run in aggregated
                else told.fetch_scored_items(row.run, with_errata=row.info.benchmark in corrected)
            )
            progress.close()
            yield RunData(row, rows)
            done += row.n_items
    finally:
        progress.close()


def run_metrics(rows: ItemsBySource, info: Run) -> list[MetricRow]:
    """Metrics of a run, in the order of the benchmark's tables."""
    from fcreview.importers.registry import compute_metrics

    return collect_metric_rows(lambda source: compute_metrics(rows[source], info), rows)


def combined_metrics(parts: list[RunData]) -> list[MetricRow]:
    """Combined metrics of several runs of one model; empty if the benchmark publishes none for them."""
    from fcreview.importers.registry import compute_combined_metrics

    return collect_metric_rows(
        lambda source: compute_combined_metrics([RunItems(part.row.info, part.rows[source]) for part in parts]), parts[0].rows
    )


def run_fields(row: RunRow) -> dict[str, Any]:
    info = row.info
    return {
        "run": row.run, "benchmark": info.benchmark, "generation": info.generation, "language": info.language,
        "model": info.model, "n_items": row.n_items,
    }  # fmt: skip


def combined_fields(parts: list[RunData]) -> dict[str, Any]:
    """Fields for several runs: `run` is None and languages are joined by `+`."""
    languages = "+".join(dict.fromkeys(part.row.info.language for part in parts))
    return run_fields(parts[0].row) | {
        "run": None,
        "language": languages,
        "n_items": sum(part.row.n_items for part in parts),
    }


CALIBRATION_SCOPES: tuple[CalibrationScope, ...] = ("benchmark", "category", "tier", "error")
"""Groups of the calibration tables. Functions are covered by the list of errors of each source."""
SOURCES_NOTE = (
    "Each metric has up to three values. official: from the benchmark's score files; rule: recomputed here with the "
    "benchmark's rules; corrected: with reviewed verdicts in place of automatic ones. A metric that can be recomputed "
    "for some of its items only is omitted, because those items are not a random sample."
)


def page_of(session: WorkspaceSession, run: str | None) -> ReportPage:
    """The report page for all runs or one. StoreError if verdicts are hidden from this annotator."""
    found = list(report_parts(session, run))
    rows = [each.row for each in found if each.row is not None]
    view = session.view(queue="dataset", run=run)
    queues = queue_designs(session)
    many = f"{format_count(len(rows), 'run')}, {format_count(sum(row.n_items for row in rows), 'item')}"
    lead = [f"{many}. Created {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with fcreview.", SOURCES_NOTE]
    if session.policy != UNANIMOUS:
        lead.append(f"Policy {session.policy}: if annotators disagree, the majority verdict counts.")
    return ReportPage(
        "Report on function-calling runs",
        lead,
        [
            *([run_ranking_section([_passes(row) for row in rows])] if len(rows) > 1 else []),
            Section("Metrics", sections=[_figures(each, _intervals(session, each, queues)) for each in found]),
            failures_section(failures_by_dataset(session, view, rows)),
            suspects_section(ranked(session, "" if run is None else f"run:{session.run(run)}")),
            calibration_of(session, view),
            agreement_of(session, view),
            progress_section([_progress(row) for row in rows], queues),
            sampling_section(queues),
        ],
    )


def _intervals(session: WorkspaceSession, each: ReportPart, queues: Sequence[QueueSample]) -> Intervals:
    """Confidence intervals of the corrected metrics; none without a random sample."""
    if not queues:
        return {}
    from fcreview.cli.commands.estimate import HALF_WIDTH, estimates_of, estimates_together

    if each.row is None:
        found = estimates_together(session, each.several, HALF_WIDTH)
    else:
        found = estimates_of(session, each.row, session.store.analysis.fetch_sample_status(each.row.run), HALF_WIDTH)
    return {
        (one.table, one.level, one.name): Interval(one.corrected, one.low, one.high, one.n_random)
        for one in found
        if one.corrected is not None and one.low is not None and one.high is not None
    }


def _figures(each: ReportPart, known: Intervals) -> Section:
    blocks: list[Any] = [Paragraph(_subtitle(each.head))]
    if each.row is not None and each.row.info.lacks_dataset:
        blocks.append(Paragraph(NO_DATASET_MESSAGE))
    for title in dict.fromkeys(line.table for line in each.lines):
        blocks.append(figure_table(title, [line for line in each.lines if line.table == title], known))
    name = f"run {each.head['run']}" if each.row is not None else "together"
    return Section(f"{name}: {each.head['model']}", blocks)


def _subtitle(head: dict[str, Any]) -> str:
    return f"{format_dataset_name(head['benchmark'], head['generation'], head['language'])}, {format_count(head['n_items'], 'item')}"


def failures_by_dataset(session: WorkspaceSession, view: View, rows: Sequence[RunRow]) -> list[DatasetFailures]:
    """Clusters of failures of each dataset, over all of its runs."""
    datasets: dict[str, list[RunRow]] = {}
    for row in rows:
        datasets.setdefault(_kind(row), []).append(row)
    sections = []
    for kind, group in datasets.items():
        runs = tuple(row.run for row in group)
        clusters = session.store.fetch_clusters(replace(view, runs=runs))
        examples = [_example(session, replace(view, where=cluster.where, runs=runs)) for cluster in clusters[:MAX_CLUSTERS]]
        sections.append(DatasetFailures(f"{kind}, {format_count(len(group), 'run')}", clusters, examples))
    return sections


def _example(session: WorkspaceSession, cluster: View) -> ClusterExample:
    """The first item of a cluster, which is never empty."""
    row = session.store.fetch_page(cluster, 0, 1)[0]
    return ClusterExample(row.id, row.question, row.first_difference)


def calibration_of(session: WorkspaceSession, view: View) -> Section:
    cases = session.store.analysis.fetch_calibration_cases(view)
    if not cases:
        return calibration_section(CalibrationResult())
    from fcreview.stats.calibration_summary import (
        compute_calibrations,
        find_error_groups,  # imports numpy
    )

    figures = list(compute_calibrations(cases, ("overall", *CALIBRATION_SCOPES)))
    return calibration_section(CalibrationResult(describe_selection(cases), figures, list(find_error_groups(cases)), CALIBRATION_SCOPES))


def agreement_of(session: WorkspaceSession, view: View) -> Section:
    ratings = session.store.analysis.fetch_ratings(view)
    if len({rating.annotator for rating in ratings}) < 2:
        return agreement_section({})
    from fcreview.stats.agreement_summary import compute_agreement as measure  # imports numpy

    return agreement_section({how: list(measure(ratings, ["overall"], how)) for how, ratings in split_by_blind_status(ratings).items()})


def _passes(row: RunRow) -> RunPassCounts:
    return RunPassCounts(
        _name(row),
        _kind(row),
        row.n_items,
        (row.official_pass, row.official_known),
        (row.rule_pass, row.rule_known),
        (row.effective_pass, row.effective_known),
        (row.stated_pass, row.stated_of),
    )


def _kind(row: RunRow) -> str:
    return format_dataset_name(row.info.benchmark, row.info.generation, row.info.language)


def _name(row: RunRow) -> str:
    return f"run {row.run}: {row.info.model}"


def _progress(row: RunRow) -> RunReviewProgress:
    return RunReviewProgress(_name(row), row.n_items, row.reviewed, row.in_part)


def queue_designs(session: WorkspaceSession) -> list[QueueSample]:
    """How each queue of the workspace was drawn. Unreadable queues are reported on stderr."""
    from fcreview.store.queues.queue_file import QueueError, read_queues

    found = []
    for queue in read_queues(session.workspace):
        if isinstance(queue, QueueError):
            note(f"fcreview: {queue}")
            continue
        design = queue.design
        done = {each.annotator: each.summary for each in session.store.measure_progress(queue.name)}
        sampling = (design.size, design.population, design.where, design.stratify, design.seed)
        found.append(QueueSample(queue.name, queue.created, *sampling, done))
    return found


def metric_lines(head: dict[str, Any], lines: list[MetricRow], *, whole: bool = False) -> Iterator[str]:
    """Metrics as tables of text. `whole` lines are not clipped to the width of the terminal."""
    words = [cell_text(head[name]) for name in ("benchmark", "generation", "language", "model") if head[name]]
    first = f"run {head['run']}" if head["run"] is not None else "together"
    yield f"{first}   {'  '.join(words)}   {head['n_items']:,} items"
    sources = present_sources(lines)
    for table in dict.fromkeys(line.table for line in lines):
        part = [line for line in lines if line.table == table]
        cells = [
            [
                "  " * line.level + cell_text(line.name),
                *(format_metric_value(shown_value(line, source), line.unit, line.digits) for source in sources),
                "; ".join(filter(None, (metrics_basis(line), cell_text(line.note)))),
            ]
            for line in part
        ]
        yield ""
        numbers = range(1, len(sources) + 1)
        for text in format_table([cell_text(table), *sources, ""], cells, right=numbers, widest=44, whole=whole):
            yield text.rstrip()
    yield ""


def report_text(session: WorkspaceSession, stopped: Callable[[], bool]) -> str:
    """The report of all runs as text, up to when `stopped` returns true. StoreError if verdicts are hidden."""
    lines: list[str] = []
    for found in report_parts(session, None, quiet=True):
        if stopped():
            break
        if found.row is not None and found.row.info.lacks_dataset:
            lines.append(NO_DATASET_MESSAGE)
        lines += metric_lines(found.head, found.lines, whole=True)
    return "\n".join(lines)


def write_html(path: Path, page: ReportPage) -> None:
    """Write the page as HTML, atomically. ExportError if the file cannot be written."""
    write_file(path, render_html(page).encode())
