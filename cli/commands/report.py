"""`fcreview report`: print the official, recomputed and corrected metrics of each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import (
    ForceOption,
    JsonOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    check_choice,
    emit,
    emit_json,
    emit_lines,
    emit_utf8,
    print_figure,
    print_message,
    print_warning,
)
from fcreview.cli.report_data import (
    build_report_page,
    build_run_fields,
    compute_report_parts,
    compute_run_conventions,
    describe_queue_samples,
    estimate_part_metrics,
    format_metric_lines,
    format_part_heading,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError
from fcreview.exporters.report_summary import EstimateByMetric, MetricRow, select_metric_sources
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_DATASET_MESSAGE, format_count
from fcreview.stats.conventions import (
    RunConventions,
)
from fcreview.tables.conventions import NO_CONVENTIONS, build_convention_table

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.estimation import MetricEstimate

MAX_LISTED_CONTRADICTIONS = 3


@workspace_command("annotator", "policy", "show_judge")
def report(
    options: WorkspaceOptions,
    run: Annotated[
        list[str] | None,
        option(
            "--run RUN",
            "Select one run by its number, name or model in `fcreview runs`. You can repeat the"
            " option with --ranking and --group.",
        ),
    ] = None,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None, option("--html FILE", "Write the full report as one HTML file.")
    ] = None,
    force: ForceOption = False,
    markdown: Annotated[bool, option("--markdown", "Print the full report as Markdown.")] = False,
    sign: Annotated[
        bool,
        option(
            "--sign",
            "Print a signing sheet of each run: figure, design, labels, method, seed and hashes.",
        ),
    ] = False,
    conventions: Annotated[
        bool,
        option(
            "--conventions", "Compare how the official programs count errors and repeated trials."
        ),
    ] = False,
    ranking: Annotated[
        bool,
        option(
            "--ranking",
            "Rank two or more runs of one benchmark, with the 95 % interval of each rank.",
        ),
    ] = False,
    group: Annotated[
        str,
        option(
            "--group BY",
            "Summarize repeated runs: all runs of one model (model), or all whose names differ only"
            " in the number of a repeat, such as -run2 (name).",
        ),
    ] = "",
) -> None:
    """Print the benchmark's metrics for each run.

    Each metric has an official, a recomputed and a corrected value. If a random sample was
    reviewed, an estimated accuracy with a 95 % confidence interval follows. The last tables combine
    several runs of one model, such as both languages of ACEBench. --html and --markdown add failure
    causes, suspect golden answers, calibration, agreement, review progress and sampling. --ranking
    ranks runs by official verdicts, without incidents, with errata and by each counting convention:
    `fcreview report result/ --ranking --run 1 --run 2`. --group prints mean, spread, pass^k and
    pass@k of repeated runs, and compares the groups.

    Example: fcreview report runs/gpt4o --html report.html
    """
    _check_formats(
        as_json=as_json, html=html, markdown=markdown, sign=sign, conventions=conventions
    )
    if ranking or group:
        has_other_table = sign or conventions or (ranking and bool(group))
        _check_ranking_formats(html=html, markdown=markdown, has_other_table=has_other_table)
        _print_comparison_of_runs(options, run or [], group=group, as_json=as_json)
        return
    only_run = _get_only_run(run or [])

    if html is not None or markdown:
        from fcreview.store.database import pause_garbage_collection

        with open_workspace(options) as session, pause_garbage_collection():
            _write_or_print_full_report(session, only_run, html, force=force)
        return

    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        if sign:
            _print_signing_sheets(session, only_run)
        elif conventions:
            _print_conventions(session, only_run, as_json=as_json)
        else:
            _print_metrics(session, only_run, as_json=as_json)


def _check_ranking_formats(*, html: Path | None, markdown: bool, has_other_table: bool) -> None:
    """Raise UsageError if an option excludes --ranking or --group."""
    if html is not None or markdown or has_other_table:
        raise UsageError(
            "--ranking and --group print one table or JSON. Omit the other one, --html, --markdown,"
            " --sign and --conventions"
        )


def _get_only_run(runs: Sequence[str]) -> str | None:
    """Return the run to report, None for all runs. Raises UsageError for several runs."""
    if len(runs) > 1:
        raise UsageError(
            "several runs need --ranking or --group. Pass --run once, or omit it for all runs"
        )
    return runs[0] if runs else None


def _print_comparison_of_runs(
    options: WorkspaceOptions, runs: Sequence[str], *, group: str, as_json: bool
) -> None:
    """Print the groups of the named runs, or without `group` their rankings. Without names, all
    runs count. A run that is named twice counts once.
    """
    # imports NumPy, which is slow to load
    from fcreview.cli.run_groups import GROUP_KINDS, print_run_groups
    from fcreview.cli.run_ranking import print_rankings

    kind = check_choice(GROUP_KINDS, group, "--group") if group else None
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        numbers = {session.find_run_number(name) for name in runs}
        rows = [row for row in session.runs if not runs or row.run in numbers]
        if kind is None:
            print_rankings(session.store.analysis, rows, as_json=as_json)
        else:
            print_run_groups(session.store.analysis, rows, kind, as_json=as_json)


def _check_formats(
    *, as_json: bool, html: Path | None, markdown: bool, sign: bool, conventions: bool
) -> None:
    """Raise UsageError if options exclude each other."""
    is_full_report = html is not None or markdown
    if sign and (as_json or is_full_report or conventions):
        raise UsageError("--sign prints text. Omit --json, --html, --markdown and --conventions")
    if conventions and is_full_report:
        raise UsageError("--conventions has no effect with --html or --markdown. Omit one of them")

    n_formats = sum([as_json, html is not None, markdown])
    if n_formats > 1:
        raise UsageError("--json, --html and --markdown exclude each other. Pass only one of them")


def _print_metrics(session: WorkspaceSession, run: str | None, *, as_json: bool) -> None:
    """Print the metrics of each run, and of each model from several of its runs."""
    queues = describe_queue_samples(session)
    _warn_about_contradictions(session, run)
    for part in compute_report_parts(session, run):
        estimates = estimate_part_metrics(session, part, has_queues=bool(queues))
        if as_json:
            _print_metrics_json(part.fields, part.metrics, estimates)
        else:
            emit_lines(format_metric_lines(part.fields, part.metrics, estimates))
        if part.row is not None and part.row.info.lacks_dataset:
            print_warning(f"run {part.row.run}: {NO_DATASET_MESSAGE}")


def _print_signing_sheets(session: WorkspaceSession, run: str | None) -> None:
    """Print for each run a text about its estimate, which the people responsible can sign."""
    from fcreview.cli.signing import build_signing_sheet
    from fcreview.exporters.signing_sheet import format_signing_sheet

    for row in session.select_runs(run):
        emit_lines(format_signing_sheet(build_signing_sheet(session, row)))
        emit_lines(["", ""])


def _warn_about_contradictions(session: WorkspaceSession, run: str | None) -> None:
    """Warn about items on which the verdicts of one annotator contradict each other."""
    runs = [row.run for row in session.select_runs(run)]
    contradictions = session.store.fetch_contradictions(runs)
    if not contradictions:
        return

    listed = []
    for contradiction in contradictions[:MAX_LISTED_CONTRADICTIONS]:
        annotators = sanitize(", ".join(contradiction.annotators))
        listed.append(f"{sanitize(contradiction.id)} ({annotators})")
    shown = ", ".join(listed)
    if len(contradictions) > MAX_LISTED_CONTRADICTIONS:
        shown += ", …"

    n_items = format_count(len(contradictions), "item")
    print_warning(
        f"{n_items} with contradictory verdicts of one annotator, such as a part that fails"
        f" and an item that passes: {shown}. The verdict on the item counts for the item, the"
        " others for other figures"
    )


def _print_conventions(session: WorkspaceSession, run: str | None, *, as_json: bool) -> None:
    """Print the figures of each run by each counting convention."""
    for row in session.select_runs(run):
        fields = build_run_fields(row)
        conventions = compute_run_conventions(session.store.analysis, row)
        if as_json:
            for convention in conventions.rows:
                emit_json(_without_item_count(fields) | asdict(convention))
        else:
            _print_convention_table(fields, conventions)


def _without_item_count(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "n_items"}


def _print_convention_table(run_fields: dict[str, Any], conventions: RunConventions) -> None:
    """Print the heading of a run, and its figures by each counting convention."""
    emit(format_part_heading(run_fields))
    if conventions.rows:
        print_figure(replace(build_convention_table([conventions]), title=""))
    else:
        emit(f"  {NO_CONVENTIONS}")
    emit()


def _write_or_print_full_report(
    session: WorkspaceSession, run: str | None, html_file: Path | None, *, force: bool = False
) -> None:
    """Write the full report to an HTML file. Without a file, print it as Markdown.

    With `force`, an existing file is replaced.
    """
    if html_file is None:
        from fcreview.exporters.report_pages import render_markdown

        emit_utf8(render_markdown(build_report_page(session, run)).encode())
        return
    from fcreview.exporters.export import OverwriteRules, write_output_file
    from fcreview.exporters.report_pages import render_html

    # The report can take a minute, so a path that it cannot have is refused first.
    rules = OverwriteRules.for_store(session.store, force=force)
    rules.raise_if_not_replaceable(html_file)
    page = build_report_page(session, run)
    write_output_file(html_file, render_html(page).encode(), rules)
    print_message(f"wrote the report to {html_file}")


def build_estimate_fields(estimate: MetricEstimate | None) -> dict[str, Any]:
    """Build the JSON fields of an estimate. All are null without an estimate.

    `bounds_low` and `bounds_high` are the metric if all undecided items fail or pass. If `headline`
    is `bounds`, the report shows them instead of the interval.
    """
    if estimate is None:
        return dict.fromkeys(("estimated", "low", "high", "bounds_low", "bounds_high", "headline"))
    bounds_low, bounds_high = estimate.bounds or (None, None)
    return {
        "estimated": estimate.estimated,
        "low": estimate.low,
        "high": estimate.high,
        "bounds_low": bounds_low,
        "bounds_high": bounds_high,
        "headline": estimate.headline,
    }


def _print_metrics_json(
    run_fields: dict[str, Any], metrics: list[MetricRow], estimates: EstimateByMetric
) -> None:
    """Print a JSON object for each metric of a run, with its value by source and its estimate."""
    sources = select_metric_sources(metrics)
    for metric in metrics:
        fields = asdict(metric)
        # In JSON, the values are fields of their own, named by their source.
        values = fields.pop("values")
        counts = fields.pop("n")
        fields["n"] = {source: counts.get(source) for source in sources}
        for source in sources:
            fields[source] = values.get(source)
        fields.update(build_estimate_fields(estimates.get(metric.key)))
        emit_json(_without_item_count(run_fields) | fields)
