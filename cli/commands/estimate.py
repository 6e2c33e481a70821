"""`fcreview estimate`: estimate accuracy from reviewed samples, with 95 % confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.errors import UsageError
from fcreview.cli.options import JsonOption, RunOption, workspace_command
from fcreview.cli.output import cell_text, emit, emit_json, format_table, print_message
from fcreview.cli.workspace import WorkspaceOptions, open_workspace
from fcreview.model.metric import Metric, RunItems, ScoredItem
from fcreview.model.wording import format_count, format_metric_value

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.estimation import EstimationInput, MetricEstimate
    from fcreview.store.queries.estimation import RunSampleStatus
    from fcreview.store.rows import RunRow

HALF_WIDTH = 2.0
"""Default of --half-width, in percentage points."""
HalfWidth = Annotated[
    float,
    typer.Option("--half-width", metavar="POINTS", help="Half width of the target interval, in percentage points."),
]


@workspace_command("policy")
def estimate(
    options: WorkspaceOptions,
    run: RunOption = None,
    half_width: HalfWidth = HALF_WIDTH,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Estimate accuracy from reviewed samples.

    Prints each metric corrected by reviews, with a 95 % confidence interval and the number of labels needed for the
    target interval. Intervals need a random sample from `fcreview queue create`. docs/estimates.md explains the method.

    Example: fcreview estimate runs/gpt4o --json
    """
    check_half_width(half_width)
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        problems: list[str] = []
        rows = session.select_runs(run)
        for row in rows:
            sample_status = session.store.analysis.fetch_sample_status(row.run)
            problems += [each for each in sample_status.problems if each not in problems]
            estimates = list(estimate_run_metrics(session, row, sample_status, half_width, seed))
            print_estimates([row], estimates, half_width, as_json=as_json)
        for model_runs in group_combinable_runs(rows):
            print_estimates(
                model_runs,
                list(estimate_combined_metrics(session, model_runs, half_width, seed)),
                half_width,
                as_json=as_json,
            )
        for problem in problems:
            print_message(f"fcreview: no random sample: {problem}")


def check_half_width(points: float) -> None:
    """Raise a UsageError unless the half width is between 0 and 100 percentage points."""
    if not 0 < points < 100:
        raise UsageError(f"--half-width {points:g}: choose a number of points between 0 and 100")


def estimate_run_metrics(
    session: WorkspaceSession, row: RunRow, sample_status: RunSampleStatus, half_width: float, seed: int = 0
) -> Iterator[MetricEstimate]:
    from fcreview.stats.estimation import estimate_metrics

    return estimate_metrics(build_estimation_input(session, row, sample_status), half_width, seed)


def group_combinable_runs(rows: Sequence[RunRow]) -> list[list[RunRow]]:
    """Group the runs of each model for which the benchmark publishes combined metrics. Single runs are omitted."""
    from fcreview.importers.registry import IMPORTERS

    runs_by_model: dict[tuple[str, str, str], list[RunRow]] = {}
    for row in rows:
        importer = IMPORTERS.get(row.info.benchmark)
        if importer is not None and importer.combines_runs:
            runs_by_model.setdefault((row.info.benchmark, row.info.generation, row.info.model), []).append(row)
    return [several for several in runs_by_model.values() if len(several) > 1]


def estimate_combined_metrics(
    session: WorkspaceSession, rows: Sequence[RunRow], half_width: float, seed: int = 0
) -> Iterator[MetricEstimate]:
    """Estimate combined metrics from the sample of each run. Yields nothing if a required run is missing."""
    from fcreview.importers.registry import compute_combined_metrics
    from fcreview.stats.estimation import combine_runs, estimate_metrics

    def compute_metrics(items: Sequence[Sequence[ScoredItem]]) -> list[Metric]:
        return compute_combined_metrics([RunItems(row.info, some) for row, some in zip(rows, items, strict=True)])

    parts = [build_estimation_input(session, row, session.store.analysis.fetch_sample_status(row.run)) for row in rows]
    if compute_metrics([part.automatic_items for part in parts]):
        yield from estimate_metrics(combine_runs(parts, compute_metrics), half_width, seed)


def build_estimation_input(session: WorkspaceSession, row: RunRow, sample_status: RunSampleStatus) -> EstimationInput:
    """Build the input of the estimation for a run."""
    from fcreview.importers.registry import compute_metrics
    from fcreview.stats.estimation import EstimationInput

    analysis = session.store.analysis
    after = analysis.fetch_scored_items(row.run)["corrected"]
    return EstimationInput(
        analysis.fetch_items_before_reviews(row.run),
        after,
        sample_status.items,
        lambda rows: compute_metrics(rows, row.info),
        sample_status.criterion_answers,
    )


def print_estimates(
    rows: Sequence[RunRow], estimates: Sequence[MetricEstimate], half_width: float, *, as_json: bool
) -> None:
    """Print estimates of one run, or combined estimates of several runs."""
    if not as_json:
        if len(rows) == 1 or estimates:
            print_estimate_tables(rows, estimates, half_width)
        return
    for each in estimates:
        emit_json(_build_estimate_json(rows, each))


def _build_estimate_json(rows: Sequence[RunRow], metric_estimate: MetricEstimate) -> dict[str, Any]:
    """Build the JSON object {run, benchmark, table, level, name, unit, automatic, corrected, low, high, n_random,
    n_known, method, why, needed}.

    Values are in `unit`. `run` is null for combined metrics. Without an interval, `low` and `high` are null and `why`
    is the reason.
    """
    from fcreview.stats.estimation import explain_method

    return {
        "run": rows[0].run if len(rows) == 1 else None, "benchmark": rows[0].info.benchmark,
        "table": metric_estimate.table, "level": metric_estimate.level, "name": metric_estimate.name,
        **{name: getattr(metric_estimate, name) for name in ("unit", "automatic", "corrected", "low", "high")},
        "n_random": metric_estimate.n_random, "n_known": metric_estimate.n_known, "method": metric_estimate.method,
        "why": explain_method(metric_estimate.method, metric_estimate.criteria),
        "needed": metric_estimate.needed,
    }  # fmt: skip


def print_estimate_tables(rows: Sequence[RunRow], estimates: Sequence[MetricEstimate], half_width: float) -> None:
    info, languages = rows[0].info, "+".join(dict.fromkeys(row.info.language for row in rows))
    words = [cell_text(name) for name in (info.benchmark, info.generation, languages, info.model)]
    first = f"run {rows[0].run}" if len(rows) == 1 else "combined"
    emit(f"{first}   {'  '.join(word for word in words if word)}   {sum(row.n_items for row in rows):,} items")
    for line in format_missing_interval_reasons(estimates):
        emit(line)
    for table in dict.fromkeys(one.table for one in estimates):
        cells = [
            [
                "  " * one.level + cell_text(one.name),
                format_metric_value(one.automatic, one.unit, one.digits),
                format_metric_value(one.corrected, one.unit, one.digits),
                format_interval(one),
                f"{one.n_random:,}",
                f"{one.n_known:,}",
                "" if one.needed is None else f"{one.needed:,}",
            ]
            for one in estimates
            if one.table == table
        ]
        emit()
        heads = [
            cell_text(table),
            "automatic",
            "corrected",
            "[95 %]",
            "sampled",
            "labelled",
            f"needed for ±{half_width:g}",
        ]
        for text in format_table(heads, cells, right_aligned=(1, 2, 4, 5, 6), max_width=44):
            emit(text)
    emit()


def format_missing_interval_reasons(estimates: Sequence[MetricEstimate]) -> Iterator[str]:
    """Format the reasons why metrics have no interval."""
    from fcreview.stats.estimation import explain_method

    methods = {one.method for one in estimates}
    if "known only" in methods:
        known = max((one.n_known for one in estimates), default=0)
        reviewed = (
            f"{format_count(known, 'item')} reviewed, but not in a random sample" if known else "nothing reviewed"
        )
        yield f"no intervals: {reviewed}. Use fcreview queue create to draw a sample."
    reasons: dict[str, list[str]] = {}
    for one in estimates:
        if one.method in ("not sampled", "not asked", "other verdicts"):
            reasons.setdefault(explain_method(one.method, one.criteria), []).append(one.name)
    for reason, names in reasons.items():
        shown = ", ".join(map(cell_text, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        yield f"no interval for {shown}: {reason}"


def format_interval(metric_estimate: MetricEstimate) -> str:
    """Format the interval as `[69.8, 79.6]`, or `·` without one."""
    if metric_estimate.low is None or metric_estimate.high is None:
        return "·"
    low, high = (
        format_metric_value(each, metric_estimate.unit, metric_estimate.digits).removesuffix(" %")
        for each in (metric_estimate.low, metric_estimate.high)
    )
    return f"[{low}, {high}]"
