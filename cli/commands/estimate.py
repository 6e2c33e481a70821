"""`fcreview estimate`: estimate accuracy from reviewed samples, with 95 % confidence intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.estimate_data import (
    HALF_WIDTH,
    HalfWidth,
    add_estimates_without_incidents,
    build_estimation_input,
    check_half_width,
    correct_label_errors,
    count_run_label_agreement,
    count_sample_outcomes,
    describe_label_agreement,
    estimate_combined_metrics,
    estimate_run_metrics,
    estimate_without_incidents,
    fetch_sample_status,
    group_combinable_runs,
)
from fcreview.cli.options import (
    JsonOption,
    RunOption,
    SeedOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    format_cell,
    format_run_heading,
    print_figure,
    print_message,
    print_table,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.metric import Metric, OwnScore, ScoredItem, group_by_table
from fcreview.model.wording import NO_VALUE, format_count
from fcreview.stats.incidents import WITHOUT_INCIDENTS
from fcreview.tables.estimates import (
    build_metric_estimate_table,
    describe_own_metric,
    describe_source_strata,
)

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.estimation import (
        EstimationMethod,
        EstimationSettings,
        MetricEstimate,
        PlannedLabels,
    )
    from fcreview.stats.label_errors import LabelAgreement
    from fcreview.stats.label_plan import FirstPlan
    from fcreview.stats.posterior import ItemStatus
    from fcreview.stats.source_strata import SourceStrata
    from fcreview.store.estimation import RunSampleStatus
    from fcreview.store.rows import RunRow


@workspace_command("policy")
def estimate(
    options: WorkspaceOptions,
    run: RunOption = None,
    half_width: HalfWidth = HALF_WIDTH,
    difference: Annotated[
        float | None,
        option(
            "--difference POINTS",
            "Plan the labels of each of two runs that show this difference. Implies --plan.",
        ),
    ] = None,
    plan: Annotated[
        bool, option("--plan", "Print how many labels intervals of different widths need.")
    ] = False,
    method: Annotated[
        str,
        option(
            "--method NAME",
            "How to compute intervals: model (credible interval) or score (a reference in one"
            " formula).",
        ),
    ] = "model",
    correct_annotators: Annotated[
        bool,
        option(
            "--correct-annotators",
            "Correct the estimates for the errors of annotators, from items that two annotators"
            " reviewed.",
        ),
    ] = False,
    own: Annotated[
        bool,
        option("--own", "Estimate only the benchmark's own metric, which is faster."),
    ] = False,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Estimate accuracy from reviewed samples.

    Prints the corrected score and the estimated accuracy of each metric, with a 95 % interval and
    the number of labels that the target interval needs. Draw a random sample with `fcreview queue
    create` first. docs/estimates.md explains the methods.

    Example: fcreview estimate runs/gpt4o --plan --half-width 3 --difference 2
    """
    check_half_width(half_width)
    settings = _parse_settings(method, half_width, seed, difference, plan=plan)
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        rows = session.select_runs(run)
        problems: dict[str, None] = {}
        for row in rows:
            sample_status = fetch_sample_status(session, row)
            problems.update(dict.fromkeys(sample_status.problems))
            report = _report_run(
                session,
                row,
                sample_status,
                settings,
                correct_annotators=correct_annotators,
                own_only=own,
            )
            _print_estimates(report, half_width, as_json=as_json)

        # The benchmark's own metric is a figure of one run.
        if not own:
            for model_runs in group_combinable_runs(rows):
                report = _report_combined_runs(session, model_runs, settings)
                _print_estimates(report, half_width, as_json=as_json)
        for problem in problems:
            print_message(f"fcreview: there is no random sample: {problem}")


@dataclass(frozen=True, slots=True)
class _EstimateReport:
    """Estimates of a run or of combined runs, with the facts that are printed beside them."""

    rows: Sequence[RunRow]
    """One run, or the combined runs."""
    estimates: Sequence[MetricEstimate]
    statuses: Sequence[ItemStatus]
    """Status in the sample of each item."""
    agreement: LabelAgreement | None = None
    """How often annotators agree; None for combined runs."""
    sources: SourceStrata | None = None
    """Which automatic sources the estimates use; None for combined runs."""
    first_plan: FirstPlan | None = None
    """Plan before the first label; None after it, and without --plan."""


def _report_run(
    session: WorkspaceSession,
    row: RunRow,
    sample_status: RunSampleStatus,
    settings: EstimationSettings,
    *,
    correct_annotators: bool,
    own_only: bool,
) -> _EstimateReport:
    """Estimate the metrics of a run. With `correct_annotators`, the estimates are corrected for the
    errors of its annotators.
    """
    agreement = count_run_label_agreement(session, row)
    run_settings = settings
    if correct_annotators:
        run_settings = correct_label_errors(settings, agreement)
    estimates = _estimate_run(session, row, sample_status, run_settings, own_only=own_only)

    # Before the first label, nothing is estimated. The plan then rests on assumptions.
    first_plan = None
    if settings.plan and not _has_sample_verdicts(sample_status):
        first_plan = _plan_first_labels(session, row, settings)
        estimates = _add_first_plan(estimates, first_plan)
    return _EstimateReport(
        [row],
        estimates,
        statuses=sample_status.items,
        agreement=agreement,
        sources=sample_status.sources,
        first_plan=first_plan,
    )


def _report_combined_runs(
    session: WorkspaceSession, rows: Sequence[RunRow], settings: EstimationSettings
) -> _EstimateReport:
    """Estimate the metrics that are published for several runs together. The agreement of
    annotators is counted in each run, so these estimates are not corrected for their errors.
    """
    statuses: list[ItemStatus] = []
    for row in rows:
        statuses += fetch_sample_status(session, row).items
    estimates = _estimate_combined_runs(session, rows, settings)
    return _EstimateReport(rows, estimates, statuses=statuses)


def _estimate_run(
    session: WorkspaceSession,
    row: RunRow,
    sample_status: RunSampleStatus,
    settings: EstimationSettings,
    *,
    own_only: bool,
) -> list[MetricEstimate]:
    """Estimate the metrics of a run, or with `own_only` only the benchmark's own metric.

    If the run has incidents, such as failed requests, the metrics are also estimated without them.
    """
    if own_only:
        return list(_estimate_own_metric(session, row, sample_status, settings))

    estimates = list(estimate_run_metrics(session, row, sample_status, settings))
    if not row.incidents:
        return estimates
    without_incidents = estimate_without_incidents(session, row, sample_status, settings)
    return list(add_estimates_without_incidents(estimates, without_incidents))


def _has_sample_verdicts(sample_status: RunSampleStatus) -> bool:
    return any(status.has_sample_verdict for status in sample_status.items)


def _plan_first_labels(
    session: WorkspaceSession, row: RunRow, settings: EstimationSettings
) -> FirstPlan:
    """Plan the labels of a run of which no item of a sample is reviewed."""
    from fcreview.stats.label_plan import plan_first_labels

    analysis = session.store.analysis
    # Items with equal verdicts must not be combined, because their sources can differ.
    run = build_estimation_input(session, row, analysis.fetch_sample_status(row.run))
    return plan_first_labels(run, analysis.fetch_source_verdicts(row.run), settings.plan)


def _add_first_plan(estimates: Sequence[MetricEstimate], plan: FirstPlan) -> list[MetricEstimate]:
    """Add the plan to each metric that it covers."""
    planned = []
    for estimate in estimates:
        plan_of_metric = plan.plan_by_metric.get(estimate.key, estimate.plan)
        planned.append(replace(estimate, plan=plan_of_metric))
    return planned


def _estimate_own_metric(
    session: WorkspaceSession,
    row: RunRow,
    sample_status: RunSampleStatus,
    settings: EstimationSettings,
) -> Iterator[MetricEstimate]:
    """Estimate only the benchmark's own metric. Yield nothing if the benchmark has none."""
    from fcreview.importers.registry import find_own_score
    from fcreview.stats.estimation import estimate_metrics

    run_input = build_estimation_input(session, row, sample_status)
    own_score = find_own_score(run_input.compute_metrics(run_input.automatic_items), row.info)
    if own_score is None:
        return

    # Metrics of a higher level than 0 are parts of another one.
    own_key = (own_score.table, 0, own_score.name)

    def compute_own_metric(items: Sequence[ScoredItem]) -> list[Metric]:
        return [metric for metric in run_input.compute_metrics(items) if metric.key == own_key]

    yield from estimate_metrics(replace(run_input, compute_metrics=compute_own_metric), settings)


def _estimate_combined_runs(
    session: WorkspaceSession, rows: Sequence[RunRow], settings: EstimationSettings
) -> list[MetricEstimate]:
    """Estimate the metrics that are published for several runs together, also without
    incidents.
    """
    estimates = list(estimate_combined_metrics(session, rows, settings))
    if not any(row.incidents for row in rows):
        return estimates
    others = estimate_combined_metrics(session, rows, settings, without_incidents=True)
    return list(add_estimates_without_incidents(estimates, others))


PLANNED_HALF_WIDTHS = (5.0, 3.0, 2.0, 1.0)
"""Half-widths, in percentage points, for which --plan counts labels, besides that of
--half-width.
"""


def _parse_settings(
    method: str, half_width: float, seed: int, difference: float | None, *, plan: bool
) -> EstimationSettings:
    """Check the options of the command, and return the settings of the estimation.

    With --plan or --difference, the settings name half-widths of the interval. The estimation then
    tells how many labels each of them needs.
    """
    from fcreview.stats.estimation import (
        INTERVAL_METHODS,
        EstimationSettings,
        PlannedLabels,
        find_half_width_for_difference,
    )

    interval_method = check_choice(INTERVAL_METHODS, method, "--method")
    goals = []
    if plan or difference is not None:
        half_widths = sorted({*PLANNED_HALF_WIDTHS, half_width}, reverse=True)
        goals = [PlannedLabels(width, labels=None) for width in half_widths]
    if difference is not None:
        check_half_width(difference, "--difference")
        width = find_half_width_for_difference(difference)
        goals.append(PlannedLabels(width, labels=None, difference=difference))

    return EstimationSettings(half_width, seed=seed, interval_method=interval_method, plan=goals)


def _print_estimates(report: _EstimateReport, half_width: float, *, as_json: bool) -> None:
    """Print the estimates of a run, or of several combined runs, as JSON or as tables.

    Combined runs without estimates print nothing, because their benchmark defines no metrics.
    """
    if as_json:
        sample_counts = count_sample_outcomes(report.statuses)
        agreement_json = asdict(report.agreement) if report.agreement is not None else None
        sources_json = _build_sources_json(report.sources)
        for estimate in report.estimates:
            fields = _build_estimate_json(report.rows, estimate, sample_counts)
            emit_json(fields | {"label_agreement": agreement_json, "sources": sources_json})
    elif len(report.rows) == 1 or report.estimates:
        _print_estimate_tables(report, half_width)


def _build_sources_json(sources: SourceStrata | None) -> dict[str, Any] | None:
    """Build the JSON object that names the sources of automatic verdicts that the estimate uses.

    None if the run has fewer than two sources, so that there is nothing to choose.
    """
    if sources is None or not sources.uses:
        return None
    not_used = [{"name": use.name, "why": use.why} for use in sources.uses if not use.is_used]
    return {
        "used": sources.used_names,
        "why": sources.why,
        "variance_ratio": sources.variance_ratio,
        "strata": [asdict(stratum) for stratum in sources.strata],
        "not_used": not_used,
    }


def _build_estimate_json(
    rows: Sequence[RunRow], estimate: MetricEstimate, sample_counts: dict[str, int]
) -> dict[str, Any]:
    """Build the JSON object of the estimate of a metric.

    `run` is null for combined metrics, and `why` explains a missing interval.
    """
    from fcreview.stats.estimation import explain_missing_interval

    first_row = rows[0]
    is_combined = len(rows) > 1
    bounds_low, bounds_high = estimate.bounds or (None, None)
    fields: dict[str, Any] = {
        "run": None if is_combined else first_row.run,
        "run_name": first_row.info.model if is_combined else first_row.run_name,
        "benchmark": first_row.info.benchmark,
        "table": estimate.table,
        "level": estimate.level,
        "name": estimate.name,
        "unit": estimate.unit,
        "digits": estimate.digits,
        "automatic": estimate.automatic,
        "corrected": estimate.corrected,
        "estimated": estimate.estimated,
        "low": estimate.low,
        "high": estimate.high,
        "bounds_low": bounds_low,
        "bounds_high": bounds_high,
        "headline": estimate.headline,
        "n_random": estimate.n_random,
        "n_known": estimate.n_known,
        "method": estimate.method,
        "sensitivity": estimate.sensitivity,
        "why": explain_missing_interval(estimate.method, estimate.criteria),
        "needed": estimate.needed,
        "without_incidents": estimate.name.endswith(WITHOUT_INCIDENTS),
    }
    if estimate.plan:
        fields["plan"] = [_build_plan_json(goal) for goal in estimate.plan]
    fields["sample"] = {name.replace(" ", "_"): count for name, count in sample_counts.items()}
    return fields


def _build_plan_json(goal: PlannedLabels) -> dict[str, Any]:
    """Build the JSON object of a planned interval: how many labels are needed for its half-width.

    `with_judges` is the number of labels if the sample is stratified by how many automatic sources
    pass an item. `difference` is present only if the interval is that of a difference between two
    runs.
    """
    fields: dict[str, Any] = {}
    if goal.difference is not None:
        fields["difference"] = goal.difference
    fields["half_width"] = goal.half_width
    fields["labels"] = goal.labels
    fields["with_judges"] = goal.with_judges
    fields["assumed"] = goal.is_assumed
    return fields


def _print_plan(estimates: Sequence[MetricEstimate], first_plan: FirstPlan | None) -> None:
    """Print the plan of the first metric that has one."""
    for estimate in estimates:
        if any(goal.labels is not None for goal in estimate.plan):
            _print_plan_of_metric(estimate)
            emit_lines(_explain_plan(first_plan))
            emit()
            return
    emit("There is no plan, because no metric is a mean of item verdicts with a sample.", "")


def _explain_plan(first_plan: FirstPlan | None) -> Iterator[str]:
    """Say on what the numbers of a plan rest."""
    from fcreview.stats.source_strata import MIN_REVIEWS

    if first_plan is None:
        yield "Each goal is reached with a probability of 80 %."
        return
    yield (
        "Nothing of a sample is labelled, so the plan rests on assumptions. Labels: half of the"
        " items pass, which is the worst case."
    )
    if first_plan.source_names:
        names = ", ".join(format_cell(name) for name in first_plan.source_names)
        yield (
            "With judges: people pass (j + 1/2) / (k + 1) of the items that j of k sources pass"
            f" ({names})."
        )
    else:
        yield "With judges: not planned, because the run has fewer than two automatic sources."
    yield f"After {MIN_REVIEWS} labels of a sample, the plan uses the labels instead."


def _print_plan_of_metric(estimate: MetricEstimate) -> None:
    """Print how many more labels a metric needs for each width of its interval."""
    heads = [f"plan for {format_cell(estimate.name)}", "further labels"]
    has_judges = any(goal.with_judges is not None for goal in estimate.plan)
    if has_judges:
        heads.append("with judges")
    rows = [_format_goal_cells(goal, has_judges=has_judges) for goal in estimate.plan]

    emit()
    print_table(heads, rows, right_aligned=(1, 2) if has_judges else (1,))


def _format_goal_cells(goal: PlannedLabels, *, has_judges: bool) -> list[str]:
    """Return a row of the plan. Only with judges, it has their number of labels."""
    cells = [_describe_goal(goal), _format_planned_labels(goal.labels)]
    if has_judges:
        cells.append(_format_planned_labels(goal.with_judges))
    return cells


def _describe_goal(goal: PlannedLabels) -> str:
    if goal.difference is not None:
        return f"difference of {goal.difference:g} points between two runs, labels of each run"
    return f"interval of ±{goal.half_width:g} points"


def _format_planned_labels(labels: int | None) -> str:
    return NO_VALUE if labels is None else f"{labels:,}"


def _print_estimate_tables(report: _EstimateReport, half_width: float) -> None:
    """Print the estimates of a run or of combined runs: a heading, facts about the sample, and a
    table of estimates for each table of metrics.
    """
    estimates = report.estimates
    sample_counts = count_sample_outcomes(report.statuses)
    emit(_format_estimate_heading(report.rows))
    own = _find_own_score(report.rows, estimates)
    if own is not None:
        emit(describe_own_metric(own, estimates))
    emit_lines(_describe_sample(report, sample_counts))

    # Why figures are missing or are ranges.
    emit_lines(_explain_undecided_items(estimates, sample_counts))
    emit_lines(_explain_missing_intervals(estimates, sample_counts))

    has_bounds = any(estimate.bounds for estimate in estimates)
    for title, estimates_of_table in group_by_table(estimates).items():
        table = build_metric_estimate_table(
            title, estimates_of_table, half_width, has_ranges=has_bounds
        )
        print_figure(table, max_width=MAX_COLUMN_CELLS)
    if any(estimate.plan for estimate in estimates):
        _print_plan(estimates, report.first_plan)
    emit()


def _describe_sample(report: _EstimateReport, sample_counts: dict[str, int]) -> Iterator[str]:
    """Yield what the estimates rest on: the items without an answer, the sample, the agreement of
    its labels, and the automatic sources.
    """
    n_incidents = sum(row.incidents for row in report.rows)
    if n_incidents:
        incidents = format_count(n_incidents, "incident")
        yield f"{incidents}: they keep the benchmark's verdict, and are in no sample"

    if sample_counts["drawn"]:
        yield "sample: " + " · ".join(f"{count:,} {name}" for name, count in sample_counts.items())
        for line in describe_label_agreement(report.estimates, report.agreement):
            yield f"labels: {line}"
    if report.sources is not None:
        for line in describe_source_strata(report.sources):
            yield f"sources: {line}"


def _find_own_score(rows: Sequence[RunRow], estimates: Sequence[MetricEstimate]) -> OwnScore | None:
    """Return the automatic value of the benchmark's own metric. Combined runs have none."""
    from fcreview.importers.registry import find_own_score

    if len(rows) != 1:
        return None
    # The estimates have the values of the metrics, so that they need not be computed again.
    metrics = []
    for estimate in estimates:
        metrics.append(
            Metric(
                estimate.table,
                estimate.name,
                value=estimate.automatic,
                unit=estimate.unit,
                level=estimate.level,
                digits=estimate.digits,
            )
        )
    return find_own_score(metrics, rows[0].info)


MAX_COLUMN_CELLS = 44
"""Largest width of a column, in terminal columns."""


def _format_estimate_heading(rows: Sequence[RunRow]) -> str:
    """Return the heading of one run or, if the estimate joins several runs of a model, of all."""
    info = rows[0].info
    is_single_run = len(rows) == 1
    languages = "+".join(dict.fromkeys(row.info.language for row in rows))
    name = rows[0].run_name if is_single_run else info.model
    return format_run_heading(
        rows[0].run if is_single_run else None,
        (info.benchmark, info.generation, languages, name),
        sum(row.n_items for row in rows),
    )


def _explain_undecided_items(
    estimates: Sequence[MetricEstimate], sample_counts: dict[str, int]
) -> Iterator[str]:
    """Explain what the estimates assume about undecided items.

    An item of the sample is undecided if annotators are unsure or disagree. Nothing is explained if
    there is none.
    """
    if not any(estimate.bounds for estimate in estimates):
        return

    counts = _count_undecided_items(sample_counts)
    shows_only_range = any(estimate.is_bounds_headline for estimate in estimates)
    if shows_only_range:
        yield (
            f"{counts}. At the low end of each range, all undecided items fail. At the high end,"
            " they all pass."
        )
    else:
        yield (
            f"{counts}. The interval treats undecided items like decided items with the same"
            " automatic verdict."
        )


def _count_undecided_items(sample_counts: dict[str, int]) -> str:
    """Return `3 of 120 reviewed items of the sample (2 %) are undecided`."""
    n_reviewed = sample_counts["drawn"] - sample_counts["not reviewed"]
    n_undecided = n_reviewed - sample_counts["decided"]

    # Less than 1 % can be much, compared with a narrow interval.
    percentage = 100 * n_undecided / n_reviewed
    digits = 0 if percentage >= 1 else 1
    verb = "is" if n_undecided == 1 else "are"
    return (
        f"{n_undecided:,} of {n_reviewed:,} reviewed items of the sample"
        f" ({percentage:.{digits}f} %) {verb} undecided"
    )


MAX_LISTED_METRICS = 4
"""Maximum number of metrics that the reason for their missing intervals lists."""
EXPLAINED_METHODS: tuple[EstimationMethod, ...] = (
    "undecided",
    "not sampled",
    "not asked",
    "other verdicts",
    "few items",
)
"""Methods whose reasons for a missing interval a line above the tables states."""


def _explain_missing_intervals(
    estimates: Sequence[MetricEstimate], sample_counts: dict[str, int]
) -> Iterator[str]:
    """Explain why estimates have no confidence interval, and what to do.

    Either there is no random sample, which concerns all metrics, or single metrics cannot be
    estimated.
    """
    lacks_random_sample = any(estimate.method == "known only" for estimate in estimates)
    if lacks_random_sample:
        yield _explain_missing_random_sample(estimates, is_drawn=sample_counts["drawn"] > 0)

    for reason, names in _group_metrics_by_missing_reason(estimates).items():
        listed = ", ".join(format_cell(name) for name in names[:MAX_LISTED_METRICS])
        n_more = len(names) - MAX_LISTED_METRICS
        if n_more > 0:
            listed += f" and {n_more} more"
        yield f"There is no confidence interval for {listed}: {reason}"


def _group_metrics_by_missing_reason(estimates: Sequence[MetricEstimate]) -> dict[str, list[str]]:
    """Return the names of the metrics without an interval, by the reason that they share."""
    from fcreview.stats.estimation import explain_missing_interval

    names_by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for estimate in estimates:
        if estimate.method in EXPLAINED_METHODS:
            reason = explain_missing_interval(estimate.method, estimate.criteria)
            names_by_reason[reason].append(estimate.name)
    return names_by_reason


def _explain_missing_random_sample(estimates: Sequence[MetricEstimate], *, is_drawn: bool) -> str:
    """Say why there is no random sample of reviewed items. `is_drawn`: whether one was drawn."""
    reason = "no item is reviewed"
    if any(estimate.n_known for estimate in estimates):
        reason = "the reviewed items are not from a random sample"
    advice = "Use fcreview queue create to draw a sample"
    if is_drawn:
        advice = "Review the sample"
    return f"There are no confidence intervals, because {reason}. {advice}."
