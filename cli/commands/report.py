"""`fcreview report`: print the official, recomputed and corrected metrics of each run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.errors import UsageError
from fcreview.cli.options import ForceOption, JsonOption, RunOption, workspace_command
from fcreview.cli.output import emit, emit_data, emit_json, print_message, print_warning
from fcreview.cli.report_data import (
    build_report_page,
    build_run_fields,
    compute_report_parts,
    describe_queue_samples,
    estimate_intervals,
    format_metric_lines,
)
from fcreview.cli.workspace import WorkspaceOptions, open_workspace
from fcreview.exporters.report.metrics import Intervals, MetricRow, present_sources
from fcreview.model.wording import NO_DATASET_MESSAGE

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession


@workspace_command("annotator", "policy")
def report(
    options: WorkspaceOptions,
    run: RunOption = None,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the full report as one HTML file.", show_default=False),
    ] = None,
    force: ForceOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the full report as Markdown.")] = False,
    conventions: Annotated[
        bool, typer.Option("--conventions", help="Compare how official programs count errors and repeated trials.")
    ] = False,
) -> None:
    """Print the benchmark's metrics for each run.

    Each metric has an official, a recomputed and a corrected value, and an estimated accuracy with a 95 %
    confidence interval if a random sample was reviewed. Combined metrics of several runs of one
    model (ACEBench: both languages) follow at the end. The full report of --html and --markdown adds failure causes,
    suspect golden answers, calibration, agreement, review progress and sampling.

    Example: fcreview report runs/gpt4o --html report.html
    """
    if conventions and (html is not None or markdown):
        raise UsageError("--conventions cannot be combined with --html or --markdown")
    if html is not None or markdown:
        if as_json or (html is not None and markdown):
            raise UsageError("choose one of --json, --html and --markdown")
        from fcreview.store.garbage_collection import pause_garbage_collection

        with open_workspace(options) as session, pause_garbage_collection():
            write_page(session, run, html, force=force)
        return
    print_part = print_metrics_json if as_json else print_metrics_text
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        if conventions:
            print_conventions(session, run, as_json=as_json)
            return
        queues = describe_queue_samples(session)
        for part in compute_report_parts(session, run):
            print_part(part.fields, part.metrics, estimate_intervals(session, part, queues))
            if part.row is not None and part.row.info.lacks_dataset:
                print_warning(f"run {part.row.run}: {NO_DATASET_MESSAGE}")


def print_conventions(session: WorkspaceSession, run: str | None, *, as_json: bool) -> None:
    """Print the figures of each run as the official code of each tool computes them."""
    from fcreview.cli.conventions import compute_run_conventions, convention_fields, format_conventions

    for row in session.select_runs(run):
        fields = build_run_fields(row)
        found = compute_run_conventions(session.store.analysis, row.run, row.info)
        if as_json:
            shared = {name: value for name, value in fields.items() if name != "n_items"}
            for each in found.rows:
                emit_json(shared | convention_fields(each))
            continue
        for text in format_conventions(fields, found.rows):
            emit(text)


def write_page(session: WorkspaceSession, run: str | None, html: Path | None, *, force: bool = False) -> None:
    """Write the full report to an HTML file, or print it as Markdown if `html` is None."""
    page = build_report_page(session, run)
    if html is None:
        from fcreview.exporters.report.markdown import render_markdown

        emit_data(render_markdown(page).encode())
        return
    from fcreview.exporters.export import OverwriteRules, write_file
    from fcreview.exporters.report.html import render_html

    write_file(html, render_html(page).encode(), OverwriteRules.for_store(session.store, force=force))
    print_message(f"fcreview: {html} written")


def print_metrics_json(run_fields: dict[str, Any], metrics: list[MetricRow], intervals: Intervals) -> None:
    shared = {name: value for name, value in run_fields.items() if name != "n_items"}
    sources = present_sources(metrics)
    for line in metrics:
        fields = asdict(line)
        values, n = fields.pop("values"), fields.pop("n")
        counts = {"n": {source: n.get(source) for source in sources}}
        found = intervals.get(line.key)
        estimate = (found.value, found.low, found.high) if found else (None, None, None)
        estimated = dict(zip(("estimated", "low", "high"), estimate, strict=True))
        emit_json(shared | fields | counts | {source: values.get(source) for source in sources} | estimated)


def print_metrics_text(run_fields: dict[str, Any], metrics: list[MetricRow], intervals: Intervals) -> None:
    for text in format_metric_lines(run_fields, metrics, intervals):
        emit(text)
