"""`fcreview import-labels`: import exported labels as reviews of one annotator."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.options import JsonOption, RunOption, workspace_command
from fcreview.cli.output import emit, emit_json
from fcreview.cli.workspace import WorkspaceOptions, WorkspaceSession, open_workspace, read_input_file
from fcreview.exporters.base import FORMATS, FileFormat
from fcreview.model.wording import format_count

READABLE_FORMATS = {each.name: each for each in FORMATS if isinstance(each, FileFormat) and each.read}
RECORD_UNITS = {"labelstudio": "task"}
"""Unit in which error messages count the records of a format. The default is a line."""
AdjudicateOption = Annotated[
    bool, typer.Option("--adjudicate", help="Record adjudications, which resolve disagreements.")
]


@workspace_command("annotator")
def import_labels(
    options: WorkspaceOptions,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File with exported labels.", show_default=False)],
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="NAME", help=f"Format of the file: {' or '.join(READABLE_FORMATS)}.")
    ] = "jsonl",
    source_annotator: Annotated[
        str | None,
        typer.Option(
            "--said-by", metavar="NAME", help="Annotator name in the file, if not --annotator.", show_default=False
        ),
    ] = None,
    adjudicate: AdjudicateOption = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import exported labels as reviews.

    The reviews are recorded for --annotator (default: you). The whole file is checked first, and nothing is recorded if
    a line is invalid. Reviews that are already recorded are skipped.

    Example: fcreview import-labels runs/gpt4o labels.jsonl --annotator alice
    """
    if format not in READABLE_FORMATS:
        raise UsageError(f"cannot import format {format!r}: choose {' or '.join(READABLE_FORMATS)}")
    with open_workspace(options) as session:
        record_labels(session, file, format, source_annotator, adjudicate=adjudicate, run=run, as_json=as_json)


def record_labels(
    session: WorkspaceSession,
    file: Path,
    format: str = "jsonl",  # noqa: A002
    source_annotator: str | None = None,
    *,
    adjudicate: bool = False,
    run: str | None = None,
    not_blind: bool = False,
    as_json: bool = False,
) -> None:
    """Record the annotator's reviews from a file of labels and print their number.

    Args:
        source_annotator: the annotator's name in the file, if it differs.
        not_blind: record lines without a time as not blind; otherwise their blind status is unknown.
    """
    from fcreview.store.labels.import_labels import ReviewFile, import_reviews, mark_not_blind, to_adjudication

    load = READABLE_FORMATS[format].read
    if load is None:
        raise UsageError(f"cannot import format {format!r}")
    try:
        content = read_input_file(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    reviews = list(load()(content))
    if not_blind:
        reviews = list(map(mark_not_blind, reviews))
    if adjudicate:
        reviews = list(map(to_adjudication, reviews))
    number = session.find_run_number(run) if run is not None else None
    source = ReviewFile(file.name, reviews, RECORD_UNITS.get(format, "line"), number, session.scope)
    result = import_reviews(session.store, session.open_journal(), source, source_annotator)
    if as_json:
        emit_json(asdict(result) | {"written": len(result.written)})
        return
    emit(f"wrote {format_count(len(result.written), 'review')} by {session.annotator}")
    if result.already:
        emit(f"{result.already:,} already recorded, skipped")
    if result.older:
        emit(f"{result.older:,} older than {session.annotator}'s reviews here, skipped")
