"""Compute the contents of `fcreview report`: the metrics of each run, and the page that becomes
HTML or Markdown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fcreview import __version__
from fcreview.cli.output import (
    Progress,
    format_figure,
    format_run_heading,
    print_message,
)
from fcreview.cli.suspect_ranking import fetch_ranked_suspects
from fcreview.cli.workspace import load_workspace_errata, select_errata
from fcreview.exporters import report_sections as sections
from fcreview.exporters import report_summary as summary
from fcreview.exporters.base import RunScores
from fcreview.golden_audit.score import count_questions, is_benchmark_at_fault
from fcreview.model.effective_verdict import UNANIMOUS
from fcreview.model.metric import (
    Metric,
    MetricSource,
    OwnScore,
    RunItems,
    ScoredItem,
    group_by_table,
)
from fcreview.model.wording import (
    NO_DATASET_MESSAGE,
    format_count,
    format_dataset_name,
    format_not_run,
)
from fcreview.stats.agreement_ratings import split_by_blind_status
from fcreview.stats.calibration import CalibrationScope
from fcreview.stats.conventions import (
    RunConventions,
    add_values_without_incidents,
    compare_conventions,
)
from fcreview.stats.incidents import count_incidents, omit_incidents, omit_stated_accuracies
from fcreview.stats.intervals import compute_disagreement_bounds
from fcreview.stats.run_comparison import VerdictSource, build_run_matrix
from fcreview.store.queries.runs import make_run_figures
from fcreview.store.rows import View
from fcreview.tables.agreement import AgreementStatistic
from fcreview.tables.clusters import ClusterExample
from fcreview.tables.runs import OwnScores, RunFigures

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.errata import Errata
    from fcreview.golden_audit.score import Suspect
    from fcreview.matching.clusters import Cluster
    from fcreview.model.item import Run
    from fcreview.model.run_check import RunCheck
    from fcreview.store.analysis import UnblindedAnalysis
    from fcreview.store.rows import RunRow


MAX_COLUMN_CELLS = 44
"""Width limit of the columns of a text table, except the last one."""
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
    """Yield the parts of a report: the metrics of each run, then the metrics of several runs
    together.

    Only some benchmarks combine the runs of a model, for example of its languages.
    """
    errata = load_workspace_errata(session.workspace)
    selected_runs = session.select_runs(run)
    checks = {check.run: check for check in session.store.check_runs(selected_runs)}

    runs_by_model: defaultdict[tuple[str, str, str], list[ScoredRun]] = defaultdict(list)
    for scored in load_scored_runs(session.store.analysis, selected_runs, errata, quiet=quiet):
        yield _make_run_part(scored, checks[scored.row.run])
        info = scored.row.info
        if _combines_runs(info.benchmark):
            runs_by_model[info.benchmark, info.generation, info.model].append(scored)

    for scored_runs in runs_by_model.values():
        part = _make_combined_part(scored_runs)
        if part.metrics:
            yield part


def _combines_runs(benchmark: str) -> bool:
    """Whether a benchmark has metrics of several runs together."""
    from fcreview.importers.registry import find_importer

    importer = find_importer(benchmark)
    return importer is not None and importer.combines_runs


def _make_combined_part(scored_runs: list[ScoredRun]) -> ReportPart:
    rows = [scored.row for scored in scored_runs]
    metrics = compute_combined_metrics(scored_runs)
    return ReportPart(_build_combined_fields(rows), metrics, combined_runs=rows)


def _make_run_part(scored: ScoredRun, check: RunCheck) -> ReportPart:
    fields = build_run_fields(scored.row)
    fields["problems"] = check.summary
    metrics = compute_run_metrics(scored.items, scored.row.info)
    return ReportPart(fields, metrics, row=scored.row, check=check)


def load_scored_runs(
    analysis: UnblindedAnalysis,
    runs: Sequence[RunRow],
    errata: Errata | None = None,
    *,
    quiet: bool = False,
) -> Iterator[ScoredRun]:
    """Load the items of each run with their verdicts by source."""
    items_of_runs = _load_items_of_runs(analysis, runs, errata)
    n_items = sum(row.n_items for row in runs)
    n_done = 0
    with Progress("scoring", lambda count: format_count(count, "item"), quiet=quiet) as progress:
        for row in runs:
            progress(row.run_name, n_done, n_items)
            # This loads the items of the run that the progress names.
            items = next(items_of_runs)
            progress.erase()
            yield ScoredRun(row, items)
            n_done += row.n_items


def _load_items_of_runs(
    analysis: UnblindedAnalysis, runs: Sequence[RunRow], errata: Errata | None
) -> Iterator[ItemsBySource]:
    """Load the items of one run after the other.

    Items with equal verdicts are combined where possible, which is faster. This needs a run whose
    metrics only count items, and a benchmark without corrected golden answers.
    """
    corrected_benchmarks = _find_corrected_benchmarks(analysis, runs, errata)
    combined_runs = _list_combinable_runs(runs, corrected_benchmarks)
    combined_items = analysis.fetch_combined_scored_items(
        combined_runs, _find_runs_with_parts(runs)
    )

    for row in runs:
        if row.run in combined_runs:
            # The iterator yields the runs of `combined_runs`, which are in the order of this
            # loop, so that the next one is always this run.
            _, items = next(combined_items)
            yield items
        else:
            has_errata = row.info.benchmark in corrected_benchmarks
            yield analysis.fetch_scored_items(row.run, with_errata=has_errata)


def _find_corrected_benchmarks(
    analysis: UnblindedAnalysis, runs: Sequence[RunRow], errata: Errata | None
) -> set[str]:
    """Return the benchmarks with a corrected golden answer, from a review or from errata."""
    corrected_benchmarks = set()
    runs_with_fixes = analysis.fetch_runs_with_golden_fixes()
    for row in runs:
        benchmark = row.info.benchmark
        if row.run in runs_with_fixes or select_errata(errata, benchmark):
            corrected_benchmarks.add(benchmark)
    return corrected_benchmarks


def _list_combinable_runs(
    runs: Sequence[RunRow], corrected_benchmarks: Collection[str]
) -> list[int]:
    """List the runs whose items with equal verdicts can be counted together, because the metrics
    only count items.

    Runs of `corrected_benchmarks`, whose golden answers have corrections, are left out.
    """
    from fcreview.importers.registry import importer_for

    combinable_runs = []
    for row in runs:
        only_counts_items = importer_for(row.info).aggregates_rows
        if only_counts_items and row.info.benchmark not in corrected_benchmarks:
            combinable_runs.append(row.run)
    return combinable_runs


def _find_runs_with_parts(runs: Sequence[RunRow]) -> set[int]:
    """Return the runs whose metrics need the verdicts on parts of items, such as turns."""
    from fcreview.importers.registry import importer_for

    return {row.run for row in runs if importer_for(row.info).needs_part_verdicts}


def compute_run_metrics(items: ItemsBySource, run: Run) -> list[summary.MetricRow]:
    """Compute the metrics of a run by each source of verdicts, in the order of the benchmark's
    tables.

    If the run has incidents, which are items without an answer, each metric also has its value
    without them.
    """
    from fcreview.importers.registry import compute_metrics

    def compute_by_source(source: MetricSource) -> list[Metric]:
        return compute_metrics(items[source], run)

    def compute_of_one_run(items_by_run: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
        (items_of_run,) = items_by_run
        return compute_metrics(items_of_run, run)

    metrics = summary.collect_metric_rows(compute_by_source, items)
    n_incidents = count_incidents(items["official"])
    if n_incidents:
        _add_values_without_incidents(metrics, items, run, n_incidents)
    # Items on which annotators disagree give a metric a lowest and a highest value.
    _set_disagreement_bounds(metrics, [items["corrected"]], compute_of_one_run)
    return metrics


def _add_values_without_incidents(
    metrics: Sequence[summary.MetricRow], items: ItemsBySource, run: Run, n_incidents: int
) -> None:
    """Add to each metric of a run its value without the items that have no answer."""
    from fcreview.importers.registry import compute_metrics

    # The accuracies that score files state include the incidents.
    run_without_stated = omit_stated_accuracies(run, items["official"])

    def compute_without_incidents(source: MetricSource) -> list[Metric]:
        return compute_metrics(omit_incidents(items[source]), run_without_stated)

    summary.add_values_without_incidents(metrics, compute_without_incidents, items, n_incidents)


def compute_combined_metrics(runs: list[ScoredRun]) -> list[summary.MetricRow]:
    """Compute the metrics that a benchmark computes from several runs of one model.

    Empty if the benchmark defines none for these runs.
    """
    combined = _CombinedRuns(runs)

    # Each metric has a value for each source of verdicts, such as official and recomputed.
    sources = runs[0].items
    metrics = summary.collect_metric_rows(combined.compute_by_source, sources)

    # Items without an answer, for example after an API error, lower a metric. Show it without them.
    n_incidents = sum(count_incidents(run.items["official"]) for run in runs)
    if n_incidents:
        summary.add_values_without_incidents(
            metrics, combined.compute_without_incidents, sources, n_incidents
        )

    corrected_items = [run.items["corrected"] for run in runs]
    _set_disagreement_bounds(metrics, corrected_items, combined.compute_metrics)
    return metrics


@dataclass(frozen=True, slots=True)
class _CombinedRuns:
    """Runs of one model, from which a benchmark computes metrics together."""

    runs: Sequence[ScoredRun]

    def compute_by_source(self, source: MetricSource) -> list[Metric]:
        """Compute the metrics from the verdicts of one source."""
        return self.compute_metrics([run.items[source] for run in self.runs])

    def compute_without_incidents(self, source: MetricSource) -> list[Metric]:
        """Compute the metrics from the items that have an answer."""
        return self.compute_metrics([omit_incidents(run.items[source]) for run in self.runs])

    def compute_metrics(self, items_by_run: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
        """Compute the metrics from these items of each run, in the order of the runs."""
        from fcreview.importers import registry

        run_items = []
        for run, items in zip(self.runs, items_by_run, strict=True):
            run_items.append(RunItems(run.row.info, items))
        return registry.compute_combined_metrics(run_items)


def _set_disagreement_bounds(
    metrics: list[summary.MetricRow],
    items_by_run: Sequence[Sequence[ScoredItem]],
    compute_metrics: Callable[[Sequence[Sequence[ScoredItem]]], Sequence[Metric]],
) -> None:
    """Set the range of each corrected value that depends on open disagreements."""
    bounds_by_metric = compute_disagreement_bounds(items_by_run, compute_metrics)
    for metric in metrics:
        bounds = bounds_by_metric.get(metric.key)
        if bounds:
            metric.open_disagreements = bounds.n
            metric.corrected_low = bounds.low
            metric.corrected_high = bounds.high


def build_run_fields(row: RunRow) -> dict[str, Any]:
    """Build the fields that identify a run and count its items.

    `reviewed` is the number of items with a review of the item or of a part, and `by_erratum` the
    number of verdicts that follow from accepted golden fixes.
    """
    info = row.info
    return {
        "run": row.run,
        "run_name": row.run_name,
        "benchmark": info.benchmark,
        "generation": info.generation,
        "language": info.language,
        "model": info.model,
        "n_items": row.n_items,
        "not_run": row.not_run,
        "expected_items": row.expected_items,
        "reviewed": row.reviewed + row.in_part,
        "by_erratum": row.by_erratum,
    }


def _build_combined_fields(rows: Sequence[RunRow]) -> dict[str, Any]:
    """Build the fields of several runs of one model, as `build_run_fields` does for one run.

    `run` is None, `run_name` is the model, and `+` joins the languages. Counts are sums.
    """
    distinct_languages = dict.fromkeys(row.info.language for row in rows)
    return build_run_fields(rows[0]) | {
        "run": None,
        "run_name": rows[0].info.model,
        "language": "+".join(distinct_languages),
        "n_items": sum(row.n_items for row in rows),
        "reviewed": sum(row.reviewed + row.in_part for row in rows),
        "by_erratum": sum(row.by_erratum for row in rows),
        "not_run": sum(row.not_run for row in rows),
        "expected_items": _sum_expected_items(rows),
    }


def _sum_expected_items(rows: Sequence[RunRow]) -> int | None:
    """Return the number of items that the datasets of all runs have, or None if no run knows it."""
    if all(row.expected_items is None for row in rows):
        return None
    n_expected = 0
    for row in rows:
        # A run that does not know the number has all items of its dataset.
        n_expected += row.n_items if row.expected_items is None else row.expected_items
    return n_expected


def format_part_heading(run_fields: dict[str, Any]) -> str:
    """Format the heading above the tables of a run or of combined runs."""
    names = [run_fields[name] for name in ("benchmark", "generation", "language", "run_name")]
    n_expected = run_fields["expected_items"] if run_fields["not_run"] else None
    return format_run_heading(run_fields["run"], names, run_fields["n_items"], n_expected)


CALIBRATION_SCOPES: tuple[CalibrationScope, ...] = ("benchmark", "category", "tier", "error")
SOURCES_NOTE = (
    "Each metric has up to three values. The official value comes from the benchmark's score files."
    " fcreview computes the recomputed value with the benchmark's rules. The corrected value"
    " replaces automatic verdicts by reviewed verdicts. A recomputed value is omitted if only some"
    " of its items can be recomputed, because these items are not a random sample. The estimated"
    " accuracy comes from random samples."
)

MAX_UNFOLDED_RUNS = 8  # With more runs, the section with the metrics of each run is folded.


@dataclass(frozen=True, slots=True)
class _ReportContents:
    """What the sections of a report show."""

    view: View
    parts: Sequence[ReportPart]
    rows: Sequence[RunRow]
    queues: Sequence[sections.QueueSample]
    figures: Sequence[RunFigures]
    failures: Sequence[sections.DatasetFailures]
    suspects: Sequence[Suspect]


def build_report_page(session: WorkspaceSession, run: str | None) -> sections.ReportPage:
    """Build the report page of all runs or of the run with this number, name or model.

    Raises StoreError if blind.
    """
    contents = _collect_report_contents(session, run)
    figures = contents.figures
    n_disagreements = len(session.store.analysis.fetch_disagreements(contents.view))
    suspect_counts = _count_suspects(contents.suspects)

    datasets = ", ".join(dict.fromkeys(run_figures.kind for run_figures in figures))
    return sections.ReportPage(
        title=f"{session.workspace.parent_folder.name}/ · {datasets}",
        lead=[_describe_report(session, contents.view, contents.rows)],
        cards=summary.build_summary_cards(figures, n_disagreements, suspect_counts),
        summary=[
            summary.build_category_section(figures),
            summary.build_failure_reasons_section(contents.failures),
            summary.build_score_section(figures),
        ],
        details=_build_detail_sections(session, contents),
    )


def _collect_report_contents(session: WorkspaceSession, run: str | None) -> _ReportContents:
    parts = list(compute_report_parts(session, run))
    rows = [part.row for part in parts if part.row is not None]
    view = session.build_view(queue="dataset", run=run)
    queues = describe_queue_samples(session)
    return _ReportContents(
        view,
        parts=parts,
        rows=rows,
        queues=queues,
        figures=_build_figures_of_runs(session, parts, has_queues=bool(queues)),
        failures=_collect_failures_by_dataset(session, view, rows),
        suspects=fetch_ranked_suspects(session, run=run),
    )


def _build_detail_sections(
    session: WorkspaceSession, contents: _ReportContents
) -> list[sections.Section]:
    """Build the sections after the summary, in the order of the page."""
    parts = contents.parts
    queues = contents.queues
    return [
        sections.build_check_section([part.check for part in parts if part.check is not None]),
        _build_metrics_of_runs_section(session, parts, has_queues=bool(queues)),
        sections.build_failures_section(contents.failures),
        sections.build_suspects_section(contents.suspects),
        _build_calibration_section(session, contents.view),
        _build_agreement_section(session, contents.view),
        sections.build_progress_section(_list_review_progress(contents.rows), queues),
        sections.build_item_selection_section(queues),
    ]


def _count_suspects(suspects: Sequence[Suspect]) -> summary.SuspectCounts:
    """Count the questions whose golden answers look wrong: all, confirmed by reviews, strong
    evidence.
    """
    with_reasons = [suspect for suspect in suspects if suspect.reasons]
    confirmed = [
        suspect for suspect in with_reasons if is_benchmark_at_fault(suspect.question) is True
    ]
    strong = [suspect for suspect in with_reasons if suspect.is_strong]
    return summary.SuspectCounts(
        count_questions(with_reasons),
        confirmed=count_questions(confirmed),
        strong=count_questions(strong),
    )


def _list_review_progress(rows: Sequence[RunRow]) -> list[sections.RunReviewProgress]:
    """Return the number of reviewed and partly reviewed items of each run."""
    return [
        sections.RunReviewProgress(
            f"run {row.run}: {row.run_name}",
            items=row.n_items,
            reviewed=row.reviewed,
            partly_reviewed=row.in_part,
        )
        for row in rows
    ]


def _describe_report(session: WorkspaceSession, view: View, rows: Sequence[RunRow]) -> str:
    """Describe what the report covers: `4 runs · 8,282 items · 160 reviewed by 3 annotators · 22
    November 2026`.
    """
    n_items = sum(row.n_items for row in rows)
    now = datetime.now(UTC)
    parts = [
        format_count(len(rows), "run"),
        format_count(n_items, "item"),
        _describe_reviews(session, view, rows),
        f"{now.day} {now:%B %Y, %H:%M} UTC",
        f"fcreview {__version__}",
    ]
    if session.policy != UNANIMOUS:
        parts.append(
            f"policy {session.policy}: if annotators disagree, the majority verdict counts"
        )
    return " · ".join(parts)


def _describe_reviews(session: WorkspaceSession, view: View, rows: Sequence[RunRow]) -> str:
    """Return `160 reviewed by 3 annotators`, or `0 reviewed`."""
    n_reviewed = sum(row.reviewed for row in rows)
    annotators = {rating.annotator for rating in session.store.analysis.fetch_ratings(view)}
    if not annotators:
        return f"{n_reviewed:,} reviewed"
    return f"{n_reviewed:,} reviewed by {format_count(len(annotators), 'annotator')}"


def estimate_part_metrics(
    session: WorkspaceSession, part: ReportPart, *, has_queues: bool
) -> summary.EstimateByMetric:
    """Estimate the metrics of a run or of combined runs, by metric key.

    Only metrics with a confidence interval are returned. Without queues, no run has a random
    sample, so nothing is estimated.
    """
    if not has_queues:
        return {}
    from fcreview.cli.estimate_data import (
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
    return {
        estimate.key: estimate
        for estimate in estimates
        if None not in (estimate.estimated, estimate.low, estimate.high)
    }


def compute_run_scores(session: WorkspaceSession) -> dict[int, RunScores]:
    """Compute the metrics of each run of the session, and their estimates from random samples."""
    from fcreview.store.queue_file import read_queues

    has_queues = bool(read_queues(session.workspace))
    scores = {}
    for part in compute_report_parts(session, None, quiet=True):
        # Metrics of several runs together belong to no record of a run.
        if part.row is None:
            continue
        estimates = estimate_part_metrics(session, part, has_queues=has_queues)
        scores[part.row.run] = RunScores(part.metrics, estimates)
    return scores


def _build_metrics_of_runs_section(
    session: WorkspaceSession, parts: Sequence[ReportPart], *, has_queues: bool
) -> sections.Section:
    """Return the section with the metrics of each run. It is folded if there are many runs."""
    metrics_sections = []
    for part in parts:
        estimates = estimate_part_metrics(session, part, has_queues=has_queues)
        metrics_sections.append(_build_metrics_section(part, estimates))
    return sections.Section(
        "Metrics of each run",
        blocks=[sections.Paragraph(SOURCES_NOTE)],
        sections=metrics_sections,
        is_folded=len(metrics_sections) > MAX_UNFOLDED_RUNS,
    )


def _build_metrics_section(
    part: ReportPart, estimates: summary.EstimateByMetric
) -> sections.Section:
    """Build the section with the metrics of a run or of combined runs: notes, then the tables."""
    notes = _list_metrics_notes(part)
    blocks: list[Any] = [sections.Paragraph(note) for note in notes]
    value_columns = summary.list_value_columns(part.metrics)
    for title, metrics in group_by_table(part.metrics).items():
        blocks.append(summary.build_metric_table(title, metrics, estimates, value_columns))

    name = "combined" if part.row is None else f"run {part.fields['run']}"
    return sections.Section(f"{name}: {part.fields['run_name']}", blocks)


def _list_metrics_notes(part: ReportPart) -> Iterator[str]:
    """Yield what a reader of the metrics must know: the dataset, its size, and what is open."""
    fields = part.fields
    dataset = format_dataset_name(fields["benchmark"], fields["generation"], fields["language"])
    if fields["not_run"]:
        size_text = format_not_run(fields["n_items"], fields["expected_items"])
    else:
        size_text = format_count(fields["n_items"], "item")
    yield f"{dataset}, {size_text}"

    if part.row is not None and part.row.info.lacks_dataset:
        yield NO_DATASET_MESSAGE
    if any(metric.open_disagreements for metric in part.metrics):
        yield summary.DISAGREEMENTS_NOTE


def _collect_failures_by_dataset(
    session: WorkspaceSession, view: View, rows: Sequence[RunRow]
) -> list[sections.DatasetFailures]:
    """Group the failing items of each dataset by their cause. The largest groups get examples."""
    failures = []
    for dataset, rows_of_dataset in _group_by_dataset(rows).items():
        runs = tuple(row.run for row in rows_of_dataset)
        clusters = session.store.fetch_clusters(replace(view, runs=runs))
        failures.append(
            sections.DatasetFailures(
                f"{dataset}, {format_count(len(runs), 'run')}",
                clusters=clusters,
                examples=_fetch_examples(session, clusters[: sections.MAX_CLUSTERS]),
            )
        )
    return failures


def _fetch_examples(session: WorkspaceSession, clusters: Sequence[Cluster]) -> list[ClusterExample]:
    """Return an example for each cluster of failures: its first item."""
    first_items = [cluster.first_item for cluster in clusters if cluster.first_item is not None]
    return [
        ClusterExample(row.id, question=row.question, difference=row.first_difference)
        for row in session.store.fetch_rows(first_items)
    ]


def _group_by_dataset(rows: Sequence[RunRow]) -> dict[str, list[RunRow]]:
    rows_by_dataset: dict[str, list[RunRow]] = {}
    for row in rows:
        rows_by_dataset.setdefault(row.info.full_title, []).append(row)
    return rows_by_dataset


def _build_calibration_section(session: WorkspaceSession, view: View) -> sections.Section:
    pairs = session.store.analysis.fetch_verdict_pairs(view)
    return sections.build_calibration_section(pairs, CALIBRATION_SCOPES)


def _build_agreement_section(session: WorkspaceSession, view: View) -> sections.Section:
    """Build the section on inter-annotator agreement. Empty with less than two annotators."""
    ratings = session.store.analysis.fetch_ratings(view)
    annotators = {rating.annotator for rating in ratings}
    if len(annotators) < 2:
        return sections.build_agreement_section({}, [])
    from fcreview.stats.agreement import compute_agreement  # imports numpy

    statistics: list[AgreementStatistic] = []
    ratings_by_status = split_by_blind_status(ratings)
    for blind_status, ratings_of_status in ratings_by_status.items():
        for coefficient in compute_agreement(ratings_of_status, ["overall"], blind_status):
            statistics.append(AgreementStatistic(coefficient))
    return sections.build_agreement_section(ratings_by_status, statistics)


def _build_figures_of_runs(
    session: WorkspaceSession, parts: Sequence[ReportPart], *, has_queues: bool
) -> list[RunFigures]:
    """Return the figures of each run for the summary of the report: scores, and an estimate if
    possible.

    Parts about several combined runs are left out.
    """
    tied_runs = _find_tied_runs(session, [part.row for part in parts if part.row is not None])
    figures = []
    for part in parts:
        row = part.row
        if row is None:
            continue
        run_figures = replace(
            make_run_figures(row),
            is_tied=row.run in tied_runs,
            own=_find_own_score_of_part(part.metrics, row.info),
        )
        if has_queues:
            run_figures = _add_pass_rate_estimate(session, row, run_figures)
        figures.append(run_figures)
    return figures


def _find_own_score_of_part(metric_rows: Sequence[summary.MetricRow], run: Run) -> OwnScore | None:
    """Return the value of the benchmark's own metric, such as its overall accuracy, or None.

    It is the value by official verdicts or, without these, by recomputed verdicts.
    """
    from fcreview.importers.registry import find_own_score

    for source in OWN_SCORE_SOURCES:
        metrics = []
        for row in metric_rows:
            value = summary.get_displayed_value(row, source)
            metrics.append(
                Metric(
                    row.table,
                    row.name,
                    value=value,
                    unit=row.unit,
                    level=row.level,
                    digits=row.digits,
                )
            )
        own = find_own_score(metrics, run)
        if own is not None:
            return own
    return None


OWN_SCORE_SOURCES: tuple[MetricSource, ...] = ("official", "rule")
MAX_RUNS_WITH_OWN_SCORE = 50
"""Number of runs of a list that have the benchmark's own metric, which needs the verdicts of all
items.
"""


def compute_own_scores(analysis: UnblindedAnalysis, rows: Sequence[RunRow]) -> OwnScores:
    """Return the value of the benchmark's own metric for each run, by run number.

    Only the first `MAX_RUNS_WITH_OWN_SCORE` runs have a value, because it takes long to compute.
    """
    from fcreview.importers.registry import importer_for

    scores: dict[int, OwnScore | None] = {}
    shown_rows = rows[:MAX_RUNS_WITH_OWN_SCORE]
    ranked_rows = [row for row in shown_rows if importer_for(row.info).own_metrics]
    for scored in load_scored_runs(analysis, ranked_rows, quiet=True):
        scores[scored.row.run] = _compute_own_score(scored)
    return scores


def _compute_own_score(scored: ScoredRun) -> OwnScore | None:
    """Compute the score that the benchmark itself reports for a run, or None if it has none."""
    from fcreview.importers.registry import compute_metrics

    def compute_by_source(source: MetricSource) -> list[Metric]:
        return compute_metrics(scored.items[source], scored.row.info)

    metric_rows = summary.collect_metric_rows(compute_by_source, OWN_SCORE_SOURCES)
    return _find_own_score_of_part(metric_rows, scored.row.info)


def _find_tied_runs(session: WorkspaceSession, rows: Sequence[RunRow]) -> set[int]:
    """Return the numbers of the runs that may be as good as the best run of their dataset.

    The difference of such a run from the best one can be chance. Datasets with very many runs are
    not searched, because that would take too long.
    """
    tied_runs: set[int] = set()
    for rows_of_dataset in _group_by_dataset(rows).values():
        if 1 < len(rows_of_dataset) <= MAX_RANKED_RUNS:
            tied_runs.update(_list_tied_runs_of_dataset(session, rows_of_dataset))
    return tied_runs


def _list_tied_runs_of_dataset(session: WorkspaceSession, rows: Sequence[RunRow]) -> Iterator[int]:
    source = _choose_common_source(rows)
    if source is None:
        return
    numbers = [row.run for row in rows]
    outcomes = session.store.analysis.fetch_outcomes_without_details(View(), numbers, source)
    matrix = build_run_matrix([outcomes[number] for number in numbers])
    for ranked in matrix.ranking:
        if ranked.is_tied:
            yield numbers[ranked.run]


def _choose_common_source(rows: Sequence[RunRow]) -> VerdictSource | None:
    """Choose the source of verdicts that can rank all runs; None if there is none."""
    if all(row.official_known for row in rows):
        return "official"
    if all(row.rule_known == row.n_items for row in rows):
        return "rule"
    return None


def _add_pass_rate_estimate(
    session: WorkspaceSession, row: RunRow, figures: RunFigures
) -> RunFigures:
    """Add to the figures of a run its pass rate, estimated from its random samples.

    If no item of the samples has a decided verdict, there is no estimate.
    """
    from fcreview.cli.estimate_data import HALF_WIDTH
    from fcreview.stats.estimation import estimate_pass_rate  # imports numpy

    analysis = session.store.analysis
    sample_status = analysis.fetch_sample_status(row.run)
    queue_names: set[str] = set()
    for sample in sample_status.samples:
        queue_names |= sample.queue_names
    statuses = sample_status.items
    n_decided = sum(status.sample_outcome == "decided" for status in statuses)
    estimate = estimate_pass_rate(statuses, HALF_WIDTH / 100) if n_decided else None
    return replace(
        figures,
        estimate=estimate,
        n_sampled=n_decided,
        n_seen_reviews=analysis.count_seen_reviews(row.run, queue_names),
    )


def describe_queue_samples(session: WorkspaceSession) -> list[sections.QueueSample]:
    """Describe how each queue was drawn and how far it is reviewed.

    A queue file that cannot be read is reported to stderr and left out.
    """
    from fcreview.store.queue_file import QueueError, read_queues

    samples = []
    for queue in read_queues(session.workspace):
        if isinstance(queue, QueueError):
            print_message(f"fcreview: {queue}")
            continue
        progress = session.store.measure_queue_progress(queue.name)
        samples.append(
            sections.QueueSample(
                queue.name,
                created=queue.created,
                size=queue.design.size,
                population=queue.design.population,
                where=queue.design.where,
                stratify=queue.design.stratify,
                seed=queue.design.seed,
                shares=progress,
            )
        )
    return samples


def format_metric_lines(
    run_fields: dict[str, Any],
    metrics: list[summary.MetricRow],
    estimates: summary.EstimateByMetric,
    page_width: int | None = None,
) -> Iterator[str]:
    """Format the metrics of a run as text: a heading, notes, and tables. Lines are yielded one at a
    time.

    For `page_width`, see `format_table`.
    """
    yield format_part_heading(run_fields)
    yield from _format_run_notes(run_fields)
    if any(metric.open_disagreements for metric in metrics):
        yield summary.DISAGREEMENTS_NOTE

    value_columns = summary.list_value_columns(metrics)
    for title, rows in group_by_table(metrics).items():
        table = summary.build_metric_table(title, rows, estimates, value_columns)
        yield ""
        yield from format_figure(table, max_width=MAX_COLUMN_CELLS, page_width=page_width)
    yield ""


def _format_run_notes(run_fields: dict[str, Any]) -> Iterator[str]:
    """Yield the problems of a run, and what its corrected values rest on."""
    if run_fields.get("problems"):
        yield f"! {run_fields['problems']}: run fcreview check for details"
    if run_fields["reviewed"]:
        reviewed = format_count(run_fields["reviewed"], "item")
        yield f"corrected: reviews of {reviewed} replace automatic verdicts"
    if run_fields["by_erratum"]:
        verdicts = format_count(run_fields["by_erratum"], "verdict")
        yield f"corrected by erratum: {verdicts}, recomputed with accepted golden answers"


def build_report_text(
    session: WorkspaceSession, is_stopped: Callable[[], bool], page_width: int
) -> str:
    """Build the report of all runs as text. It stops after the current run when `is_stopped` is
    true.

    For `page_width`, see `format_table`.
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


def compute_run_conventions(analysis: UnblindedAnalysis, row: RunRow) -> RunConventions:
    """Compute the metrics of a run by each counting convention, from its effective verdicts.

    A convention is a rule how repeated trials of a task are counted. A run of which no task was
    repeated has no conventions.
    """
    from fcreview.importers.registry import list_trials

    scored = analysis.fetch_scored_items(row.run)["corrected"]
    table = list_trials(scored, row.info)
    if table is None:
        return RunConventions(row.run_name, rows=[], numbers={})

    conventions = compare_conventions(table)
    n_incidents = count_incidents(scored)
    if n_incidents:
        answered_items = [item for item in scored if not item.is_incident]
        answered_table = list_trials(answered_items, row.info)
        conventions = add_values_without_incidents(conventions, answered_table, n_incidents)
    item_numbers = _collect_item_numbers_by_id(analysis, row.run)
    return RunConventions(row.run_name, rows=conventions, numbers=item_numbers)


def _collect_item_numbers_by_id(analysis: UnblindedAnalysis, run: int) -> dict[str, list[int]]:
    """Return the numbers of a run's items by task id. An id has several items if the task was
    repeated, one for each trial.
    """
    from fcreview.store.rows import View

    item_numbers: dict[str, list[int]] = {}
    all_items = View(queue="dataset")
    outcomes_by_run = analysis.fetch_outcomes(all_items, [run], "effective")
    for outcome in outcomes_by_run[run]:
        item_numbers.setdefault(outcome.question_key.id, []).append(outcome.item)
    return item_numbers
