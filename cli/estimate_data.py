"""Compute the estimates of runs from their reviewed samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.options import (
    option,
)
from fcreview.cli.output import (
    format_cell,
)
from fcreview.errors import CommandError, UsageError
from fcreview.model.metric import Metric, RunItems, ScoredItem
from fcreview.model.wording import format_metric_value
from fcreview.stats.incidents import WITHOUT_INCIDENTS, omit_stated_accuracies

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.estimation import (
        EstimationInput,
        EstimationSettings,
        MetricEstimate,
    )
    from fcreview.stats.label_errors import LabelAgreement
    from fcreview.stats.posterior import ItemStatus
    from fcreview.store.estimation import RunSampleStatus
    from fcreview.store.rows import RunRow


HALF_WIDTH = 2.0  # default of --half-width, in percentage points
HalfWidth = Annotated[
    float, option("--half-width POINTS", "Half width of the target interval, in percentage points.")
]


def count_run_label_agreement(session: WorkspaceSession, row: RunRow) -> LabelAgreement:
    """Count how often annotators agree on items of a run, and with themselves on hidden
    duplicates.
    """
    from fcreview.stats.label_errors import count_label_agreement
    from fcreview.store.rows import View

    view = View(queue="dataset", runs=(row.run,))
    analysis = session.store.analysis
    return count_label_agreement(
        analysis.fetch_ratings(view), analysis.fetch_duplicate_reviews(view)
    )


def correct_label_errors(
    settings: EstimationSettings, agreement: LabelAgreement
) -> EstimationSettings:
    """Return settings with which the estimate is corrected for the errors of annotators. Raises
    CommandError if no item was reviewed by two annotators.
    """
    if not agreement.n_double:
        raise CommandError(
            "--correct-annotators needs items that two annotators reviewed. Draw a sample with"
            " fcreview queue create --overlap N"
        )
    return replace(settings, label_errors=agreement)


def check_half_width(points: float, option_name: str = "--half-width") -> None:
    if not 0 < points < 100:
        raise UsageError(
            f"{option_name} {points:g} is invalid. Choose a number of points between 0 and 100"
        )


def estimate_run_metrics(
    session: WorkspaceSession,
    row: RunRow,
    sample_status: RunSampleStatus,
    settings: EstimationSettings,
) -> Iterator[MetricEstimate]:
    """Estimate each metric of a run, with its confidence interval, from the reviews so far."""
    from fcreview.stats.estimation import estimate_metrics

    return estimate_metrics(build_estimation_input(session, row, sample_status), settings)


def estimate_without_incidents(
    session: WorkspaceSession,
    row: RunRow,
    sample_status: RunSampleStatus,
    settings: EstimationSettings,
) -> Iterator[MetricEstimate]:
    """Estimate the metrics of a run without its incidents, which are items without an answer."""
    from fcreview.importers.registry import compute_metrics
    from fcreview.stats.estimation import estimate_metrics, omit_incidents_from_input

    run = build_estimation_input(session, row, sample_status)
    # A stated accuracy is of all items, so that it says nothing about the others.
    info = omit_stated_accuracies(row.info, run.automatic_items)
    answered = omit_incidents_from_input(run, lambda items: compute_metrics(items, info))
    return estimate_metrics(answered, settings)


def add_estimates_without_incidents(
    estimates: Sequence[MetricEstimate], without_incidents: Iterable[MetricEstimate]
) -> Iterator[MetricEstimate]:
    """Yield each estimate. If the metric has another estimate without incidents, this follows it.

    The second estimate has a name of its own: `overall, without incidents`.
    """
    others_by_key = {estimate.key: estimate for estimate in without_incidents}
    for estimate in estimates:
        yield estimate
        other = others_by_key.get(estimate.key)
        if other is not None and other != estimate:
            yield replace(other, name=f"{other.name}, {WITHOUT_INCIDENTS}")


def group_combinable_runs(rows: Sequence[RunRow]) -> list[list[RunRow]]:
    """Group the runs of each model, for benchmarks that define combined metrics of several runs.

    A model with only one run has no combined metrics, and is left out.
    """
    from fcreview.importers.registry import find_importer

    runs_by_model: dict[tuple[str, str, str], list[RunRow]] = {}
    for row in rows:
        importer = find_importer(row.info.benchmark)
        if importer is not None and importer.combines_runs:
            model_key = (row.info.benchmark, row.info.generation, row.info.model)
            runs_by_model.setdefault(model_key, []).append(row)
    return [runs for runs in runs_by_model.values() if len(runs) > 1]


def estimate_combined_metrics(
    session: WorkspaceSession,
    rows: Sequence[RunRow],
    settings: EstimationSettings,
    *,
    without_incidents: bool = False,
) -> Iterator[MetricEstimate]:
    """Estimate the metrics that a benchmark computes from several runs of a model.

    Yield nothing if the benchmark needs a run that is missing.
    """
    from fcreview.importers.registry import compute_combined_metrics
    from fcreview.stats.estimation import combine_runs, estimate_metrics, omit_incidents_from_input

    def compute_metrics(items_by_run: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
        run_items = []
        for row, items in zip(rows, items_by_run, strict=True):
            run_items.append(RunItems(row.info, items))
        return compute_combined_metrics(run_items)

    inputs = []
    for row in rows:
        run_input = build_estimation_input(session, row, fetch_sample_status(session, row))
        if without_incidents:
            run_input = omit_incidents_from_input(run_input, run_input.compute_metrics)
        inputs.append(run_input)

    has_metrics = bool(compute_metrics([run_input.automatic_items for run_input in inputs]))
    if has_metrics:
        yield from estimate_metrics(combine_runs(inputs, compute_metrics), settings)


def fetch_sample_status(session: WorkspaceSession, row: RunRow) -> RunSampleStatus:
    """Fetch the sample status of each item of a run: whether it was drawn for a random sample, and
    whether it was reviewed.

    Items with equal verdicts are combined where possible, which is much faster. This needs a run
    without reviews and samples, and metrics that only count items.
    """
    from fcreview.importers.registry import importer_for

    importer = importer_for(row.info)
    analysis = session.store.analysis
    if importer.aggregates_rows:
        combined = analysis.fetch_combined_sample_status(
            row.run, keep_part_verdicts=importer.needs_part_verdicts
        )
        if combined is not None:
            return combined
    return analysis.fetch_sample_status(row.run)


def build_estimation_input(
    session: WorkspaceSession, row: RunRow, sample_status: RunSampleStatus
) -> EstimationInput:
    """Collect what the estimation of a run needs: its items with both verdicts, and its samples.

    Every item has its automatic verdict and, where it is reviewed, the verdict of the annotators.
    """
    from fcreview.importers.registry import compute_metrics
    from fcreview.stats.estimation import EstimationInput

    analysis = session.store.analysis
    # Combined items exist only if nobody reviewed the run, so both verdicts are equal.
    automatic = sample_status.combined_items
    reviewed = sample_status.combined_items
    if automatic is None or reviewed is None:
        automatic = analysis.fetch_automatically_scored_items(row.run)
        reviewed = analysis.fetch_scored_items(row.run)["corrected"]
    return EstimationInput(
        automatic,
        reviewed_items=reviewed,
        statuses=sample_status.items,
        compute_metrics=lambda rows: compute_metrics(rows, row.info),
        criterion_answers=sample_status.criterion_answers,
    )


def count_sample_outcomes(statuses: Sequence[ItemStatus]) -> dict[str, int]:
    """Count the drawn items of a random sample by outcome: decided, undecided for each reason,
    not reviewed.
    """
    from fcreview.stats.posterior import UNDECIDED

    counts = Counter(each.sample_outcome for each in statuses if each.sample_outcome)
    return {"drawn": counts.total()} | {
        name: counts[name] for name in ("decided", *UNDECIDED, "not reviewed")
    }


def describe_label_agreement(
    estimates: Sequence[MetricEstimate], agreement: LabelAgreement | None
) -> Iterator[str]:
    """Describe how reliable the labels are, and how much their errors can change the estimate.

    Annotators who review the same item can differ, and an annotator can answer a hidden duplicate
    of an item differently.
    """
    if agreement is None:
        return
    if agreement.n_double:
        counts = f"{agreement.n_different:,} of {agreement.n_double:,} items"
        share = _format_share(agreement.n_different, agreement.n_double)
        yield f"annotators differ on {counts} ({share})"
    else:
        yield "no item has the verdicts of two annotators, so the error of the labels is unknown"
    if agreement.n_repeated:
        counts = f"{agreement.n_changed:,} of {agreement.n_repeated:,}"
        share = _format_share(agreement.n_changed, agreement.n_repeated)
        yield f"annotators changed their verdict on {counts} hidden duplicates ({share})"

    # The first metric is the main one. Its sensitivity stands for that of the others.
    for estimate in estimates:
        if estimate.sensitivity:
            yield _describe_sensitivity(estimate, estimate.sensitivity)
            return


def _format_share(part: int, total: int) -> str:
    return f"{100 * part / total:.0f} %"


def _describe_sensitivity(estimate: MetricEstimate, ends: tuple[float, float]) -> str:
    """Say between which values an estimate lies if some labels are wrong."""
    low, high = (format_metric_value(end, estimate.unit, estimate.digits) for end in ends)
    name = format_cell(estimate.name)
    interval = f"{low.removesuffix(' %')} to {high}"
    return f"If only 95 % of the labels are right, the interval of {name} is {interval}."
