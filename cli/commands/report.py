"""`fcreview report`: print the official, recomputed and corrected metrics of each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import (
    ForceOption,
    JsonOption,
    RunOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    emit_json,
    emit_lines,
    emit_utf8,
    format_cell,
    format_table,
    print_message,
    print_warning,
)
from fcreview.cli.report_data import (
    build_report_page,
    build_run_fields,
    compute_report_parts,
    describe_queue_samples,
    estimate_part_metrics,
    format_metric_lines,
    format_part_heading,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError
from fcreview.exporters.report_summary import EstimateByMetric, MetricRow, select_metric_sources
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_DATASET_MESSAGE, format_count, format_metric_value
from fcreview.stats.conventions import (
    ConventionRow,
    RunConventions,
    add_values_without_incidents,
    compare_conventions,
    find_spreads,
    format_convention_without_incidents,
)
from fcreview.stats.incidents import count_incidents

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.stats.estimation import MetricEstimate
    from fcreview.store.analysis import UnblindedAnalysis
    from fcreview.store.rows import RunRow

MAX_LISTED_CONTRADICTIONS = 3
MAX_CONVENTION_ITEMS = (
    3  # maximum number of item ids in the column with the differences of a convention
)
NO_CONVENTIONS = "fcreview knows no other counting conventions for this benchmark"


@workspace_command("annotator", "policy")
def report(
    options: WorkspaceOptions,
    run: RunOption = None,
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
) -> None:
    """Print the benchmark's metrics for each run.

    Each metric has an official, a recomputed and a corrected value. If a random sample was
    reviewed, an estimated accuracy with a 95 % confidence interval follows. The last tables combine
    several runs of one model, such as both languages of ACEBench. --html and --markdown add failure
    causes, suspect golden answers, calibration, agreement, review progress and sampling.

    Example: fcreview report runs/gpt4o --html report.html
    """
    if sign and (as_json or html is not None or markdown or conventions):
        raise UsageError("--sign prints text. Omit --json, --html, --markdown and --conventions")
    if conventions and (html is not None or markdown):
        raise UsageError("--conventions has no effect with --html or --markdown. Omit one of them")
    if html is not None or markdown:
        if as_json or (html is not None and markdown):
            raise UsageError(
                "--json, --html and --markdown exclude each other. Pass only one of them"
            )
        from fcreview.store.database import pause_garbage_collection

        with open_workspace(options) as session, pause_garbage_collection():
            _write_or_print_full_report(session, run, html, force=force)
        return
    with open_workspace(options) as session:
        session.print_policy(as_json=as_json)
        if sign:
            _print_signing_sheets(session, run)
            return
        if conventions:
            _print_conventions(session, run, as_json=as_json)
            return
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
    from fcreview.cli.signing import build_signing_sheet
    from fcreview.exporters.signing_sheet import format_signing_sheet

    for row in session.select_runs(run):
        emit_lines(format_signing_sheet(build_signing_sheet(session, row)))
        emit_lines(["", ""])


def _warn_about_contradictions(session: WorkspaceSession, run: str | None) -> None:
    """Warn about items on which the verdicts of one annotator contradict each other."""
    contradictions = session.store.fetch_contradictions(
        [row.run for row in session.select_runs(run)]
    )
    if not contradictions:
        return
    listed = [
        f"{sanitize(each.id)} ({sanitize(', '.join(each.annotators))})" for each in contradictions
    ]
    shown = ", ".join(listed[:MAX_LISTED_CONTRADICTIONS])
    if len(listed) > MAX_LISTED_CONTRADICTIONS:
        shown += ", …"
    print_warning(
        f"{format_count(len(listed), 'item')} with contradictory verdicts of one annotator, such as"
        " a part that fails"
        f" and an item that passes: {shown}. The verdict on the item counts for the item, the"
        " others for other figures"
    )


def _print_conventions(session: WorkspaceSession, run: str | None, *, as_json: bool) -> None:
    for row in session.select_runs(run):
        fields = build_run_fields(row)
        found = compute_run_conventions(session.store.analysis, row).rows
        if as_json:
            emit_json(*(_without_item_count(fields) | asdict(each) for each in found))
        else:
            emit_lines(_format_conventions(fields, found))


def _without_item_count(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "n_items"}


def compute_run_conventions(analysis: UnblindedAnalysis, row: RunRow) -> RunConventions:
    """Compute the metrics of a run from its effective verdicts, once for each counting
    convention.
    """
    from fcreview.importers.registry import list_trials
    from fcreview.store.rows import View

    scored = analysis.fetch_scored_items(row.run)["corrected"]
    table = list_trials(scored, row.info)
    if table is None:
        return RunConventions(row.run_name, rows=[], numbers={})
    numbers: dict[str, list[int]] = {}
    for outcome in analysis.fetch_outcomes(View(queue="dataset"), [row.run], "effective")[row.run]:
        numbers.setdefault(outcome.question_key.id, []).append(outcome.item)
    rows = compare_conventions(table)
    if n_incidents := count_incidents(scored):
        answered = list_trials([item for item in scored if not item.is_incident], row.info)
        rows = add_values_without_incidents(rows, answered, n_incidents)
    return RunConventions(row.run_name, rows=rows, numbers=numbers)


def _format_conventions(run_fields: dict[str, Any], rows: Sequence[ConventionRow]) -> Iterator[str]:
    yield format_part_heading(run_fields)
    if not rows:
        yield f"  {NO_CONVENTIONS}"
        yield ""
        return
    has_incidents = any(row.incidents for row in rows)
    cells = []
    for row, before in zip(rows, ["", *(row.figure for row in rows)], strict=False):
        cells.append(
            _format_convention_cells(
                row, shows_figure=row.figure != before, has_incidents=has_incidents
            )
        )
    heads = ["figure", "  convention", "value", "trials", "tasks", "differences"]
    right_aligned = [2, 3, 4]
    if has_incidents:
        heads.insert(3, "w/o incidents")
        right_aligned.append(5)
    yield ""
    yield from format_table(heads, cells, right_aligned=right_aligned)
    yield ""
    yield "* marks the convention of the program that produced the run."
    yield (
        "The last column lists items that this convention and the program's convention count"
        " differently."
    )
    for spread in find_spreads(rows):
        if spread.high - spread.low > 1e-9:
            low, high = (
                format_metric_value(each, "share", 2) for each in (spread.low, spread.high)
            )
            points = 100 * (spread.high - spread.low)
            yield (
                f"{spread.figure} is {low} to {high}, depending on the convention ({points:.1f}"
                " points)"
            )
    yield ""


def _format_convention_cells(
    row: ConventionRow, *, shows_figure: bool, has_incidents: bool
) -> list[str]:
    cells = [
        row.figure if shows_figure else "",
        f"{'* ' if row.is_own else '  '}{row.convention}",
        format_metric_value(row.value, "share", 2),
    ]
    if has_incidents:
        cells.append(format_convention_without_incidents(row))
    return [
        *cells,
        f"{row.n:,}",
        f"{row.n_tasks:,}",
        format_cell(_describe_convention_differences(row)),
    ]


def _describe_convention_differences(row: ConventionRow) -> str:
    parts = [row.note] if row.note else []
    if row.items:
        more = ", …" if len(row.items) > MAX_CONVENTION_ITEMS else ""
        parts.append(
            f"{format_count(len(row.items), 'item')}:"
            f" {', '.join(row.items[:MAX_CONVENTION_ITEMS])}{more}"
        )
    return "; ".join(parts)


def _write_or_print_full_report(
    session: WorkspaceSession, run: str | None, html_file: Path | None, *, force: bool = False
) -> None:
    """Write the full report to an HTML file. Without a file, print it as Markdown."""
    page = build_report_page(session, run)
    if html_file is None:
        from fcreview.exporters.report_pages import render_markdown

        emit_utf8(render_markdown(page).encode())
        return
    from fcreview.exporters.export import OverwriteRules, write_output_file
    from fcreview.exporters.report_pages import render_html

    write_output_file(
        html_file, render_html(page).encode(), OverwriteRules.for_store(session.store, force=force)
    )
    print_message(f"wrote the report to {html_file}")


def build_estimate_fields(estimate: MetricEstimate | None) -> dict[str, Any]:
    """Build the JSON fields of an estimate.

    If `headline` is `bounds`, the report shows the bounds and no interval.
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
    sources = select_metric_sources(metrics)
    for line in metrics:
        fields = asdict(line)
        values, n = fields.pop("values"), fields.pop("n")
        counts = {"n": {source: n.get(source) for source in sources}}
        found = estimates.get(line.key)
        estimated = build_estimate_fields(found)
        emit_json(
            _without_item_count(run_fields)
            | fields
            | counts
            | {source: values.get(source) for source in sources}
            | estimated
        )
