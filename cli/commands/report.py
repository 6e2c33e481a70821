"""`fcreview report`: every run's published tables, official, recomputed and corrected side by side."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.errors import UsageError
from fcreview.cli.options import (
    Annotator,
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    PolicyOption,
    RunOption,
    WorkspaceOption,
)
from fcreview.cli.output import alert, emit, emit_data, emit_json, note
from fcreview.cli.report_data import shown, told
from fcreview.cli.workspace import Place, opened
from fcreview.exporters.report.metrics import FigureLine, sources_of
from fcreview.model.wording import NO_DATASET

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened


def report(
    path: PathArgument,
    run: RunOption = None,
    policy: PolicyOption = "unanimous",
    annotator: Annotator = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write all of it as one page that needs no network.", show_default=False
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print all of it as Markdown.")] = False,
) -> None:
    """Show each run's tables as the benchmark publishes them.

    Official, recomputed, and corrected by reviews.

    Runs of one model that the benchmark publishes figures of together (ACEBench: both languages) follow at the end.
    --html and --markdown add why items fail, suspect golden answers, calibration, agreement, progress and how items
    were chosen.
    Where errata are applied (--errata), a column says what the rules make of the runs with them; corrected figures
    start from the official verdict as ever.

    Example: fcreview report runs/gpt4o --html report.html
    """
    if html is not None or markdown:
        if as_json or (html is not None and markdown):
            raise UsageError("--json, --html and --markdown are three forms of the report: choose one")
        with opened(Place([path], data, workspace, annotator=annotator, policy=policy, errata=errata)) as session:
            write_page(session, run, html)
        return
    show_it = show_json if as_json else show
    with opened(Place([path], data, workspace, annotator=annotator, policy=policy, errata=errata)) as session:
        session.head(as_json=as_json)
        for found in told(session, run):
            show_it(found.head, found.lines)
            if found.row is not None and found.row.info.lacks_dataset:
                alert(f"run {found.row.run}: {NO_DATASET}")


def write_page(session: Opened, run: str | None, html: Path | None) -> None:
    """As one page of HTML in that file, or as Markdown on standard output."""
    from fcreview.cli.report_data import page_of

    page = page_of(session, run)
    if html is None:
        from fcreview.exporters.report.markdown import markdown

        emit_data(markdown(page).encode())
        return
    from fcreview.cli.report_data import write_html

    write_html(html, page)
    note(f"fcreview: {html} written")


def show_json(head: dict[str, Any], lines: list[FigureLine]) -> None:
    shown = {name: value for name, value in head.items() if name != "n_items"}
    sources = sources_of(lines)
    for line in lines:
        fields = asdict(line)
        values, n = fields.pop("values"), fields.pop("n")
        counts = {"n": {source: n.get(source) for source in sources}}
        emit_json(shown | fields | counts | {source: values.get(source) for source in sources})


def show(head: dict[str, Any], lines: list[FigureLine]) -> None:
    for text in shown(head, lines):
        emit(text)
