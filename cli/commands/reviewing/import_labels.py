"""`fcreview import-labels`: reviews from a file, as those of a named annotator."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.common import Place, opened, read_named
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, WorkspaceOption
from fcreview.cli.output import emit, emit_json
from fcreview.exporters.base import FileFormat
from fcreview.exporters.registry import FORMATS
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened

READABLE = {each.name: each for each in FORMATS if isinstance(each, FileFormat) and each.read}
UNITS = {"labelstudio": "task"}
"""What a file is counted by, where not by lines."""


def import_labels(
    path: PathArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Labels, as exported.", show_default=False)],
    annotator: Annotated[
        str, typer.Option("--annotator", metavar="NAME", help="Whose reviews these are.", show_default=False)
    ],
    format: Annotated[str, typer.Option("--format", metavar="NAME", help=" or ".join(READABLE) + ".")] = "jsonl",  # noqa: A002
    said_by: Annotated[
        str | None,
        typer.Option("--said-by", metavar="NAME", help="Their name in the file, if another.", show_default=False),
    ] = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Take in exported labels as reviews of one annotator.

    Nothing is written unless all of the file is right. What is said already is not said again.

    Example: fcreview import-labels runs/gpt4o labels.jsonl --annotator alice
    """
    if format not in READABLE:
        raise UsageError(f"no format {format!r} to take in: there are {', '.join(READABLE)}")
    with opened(Place([path], data, workspace, annotator=annotator, errata=errata)) as session:
        take_in(session, file, format, said_by, as_json=as_json)


def take_in(
    session: Opened,
    file: Path,
    name: str,
    said_by: str | None = None,
    *,
    as_json: bool = False,
    adjudicate: bool = False,
    here: bool = False,
    run: str | None = None,
) -> None:
    """Writes the session's annotator's reviews in the file, as adjudications if asked, and says what was written. With
    `here` what the file gives no time is said now, by somebody from whom nothing is hidden."""
    from fcreview.store.labels.incoming import as_adjudication, as_said_here
    from fcreview.store.labels.placing import File
    from fcreview.store.labels.placing import take_in as place

    load = READABLE[name].read
    if load is None:
        raise UsageError(f"{name} cannot be taken in")
    try:
        content = read_named(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    said = list(map(as_said_here, load()(content)) if here else load()(content))
    about = list(map(as_adjudication, said)) if adjudicate else said
    number = session.run(run) if run is not None else None
    found = File(file.name, about, UNITS.get(name, "line"), number, session.scope)
    placed = place(session.store, session.journal(), found, said_by)
    if as_json:
        emit_json(asdict(placed) | {"written": len(placed.written)})
        return
    emit(f"{count_of(len(placed.written), 'review')} by {session.annotator} written")
    if placed.already:
        emit(f"{placed.already:,} said already")
    if placed.older:
        emit(f"{placed.older:,} older than what {session.annotator} says here: left out")
