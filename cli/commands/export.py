"""`fcreview export`: labels for others to use.

`fcreview import-labels`: reviews from a file, as those of a named annotator.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.options import (
    Annotator,
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    PolicyOption,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import Progress, emit, emit_json, note, printed
from fcreview.cli.program import UNWRAPPED
from fcreview.cli.workspace import Place, opened, read_named
from fcreview.exporters.base import FORMATS, FileFormat
from fcreview.model.wording import count_of

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened
    from fcreview.store.labels.read import Choice
    from fcreview.store.rows import View


WIDEST = max(len(each.name) for each in FORMATS)
WHOLE = ("native", "golden-patch")
"""Formats that write runs, not labels."""
FORMAT_HELP = "\n".join([UNWRAPPED, *(f"{each.name:<{WIDEST}}  {each.help}" for each in FORMATS), ""])


def export(
    path: PathArgument,
    format: Annotated[str, typer.Option("--format", metavar="NAME", help=FORMAT_HELP)] = "jsonl",  # noqa: A002
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Written whole or not at all; - is standard output.")
    ] = "-",
    where: WhereOption = "",
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue",
            metavar="NAME",
            help="Only the items of this queue file, or judged, uncertain or suspects.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", metavar="WHICH", help="all judged targets, or those reviewed or adjudicated.")
    ] = "all",
    with_: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="content", help="Question, messages, functions and calls too.", show_default=False
        ),
    ] = None,
    policy: PolicyOption = "unanimous",
    annotator: Annotator = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Export labels.

    One row for every judged target, reviewed or not.
    Every source's verdict, every annotator's answer, and what came of them. --only leaves out what nobody reviewed.
    native writes whole runs instead, as their benchmark has them, with the verdicts that count now; golden-patch
    writes what people say golden answers should be (fcreview label --golden-fix) as a patch of the dataset.

    Example: fcreview export runs/gpt4o --format csv -o labels.csv --only reviewed
    """
    from fcreview.cli.wiring import lend, tell_lost_datasets
    from fcreview.exporters import export as exports

    choice = _choice(only, with_)
    if format in WHOLE and (where or only != "all" or with_ or queue):
        raise UsageError(f"{format} writes whole runs: --where, --queue, --only and --with do not go with it")
    place = Place([path], data, workspace, annotator=annotator, policy=policy, errata=errata)
    with opened(place) as session:
        view = session.view(where, queue=_choosing(queue) or "dataset")
        progress = Progress("exporting", "{:,}".format, quiet=out == exports.STANDARD_OUTPUT)
        watched = exports.Watched(printed, lambda noun, number: progress(f"{noun}s", number, 0))
        try:
            counts = exports.export(session.store, format, out, view, watched, choice, lend(place))
        finally:
            progress.close()
        if not any(counts.values()):
            note(f"nothing to export: {_why(session, view, choice)}")
    if format == "native":
        tell_lost_datasets(Path(out))
    if out != exports.STANDARD_OUTPUT:
        note(f"{' and '.join(count_of(number, noun) for noun, number in counts.items())} in {out}")


def _choosing(queue: str | None) -> str | None:
    from fcreview.store.rows import CHOOSING, QUEUES

    if queue in QUEUES and queue not in CHOOSING:
        raise UsageError(f"--queue {queue} is an order of all items: name a queue file, {' or '.join(CHOOSING)}")
    return queue


def _choice(only: str, content: str | None) -> Choice:
    from fcreview.store.labels.read import ONLY, Choice

    which = next((each for each in ONLY if each == only), None)
    if which is None:
        raise UsageError(f"--only {only}: there are {', '.join(ONLY)}")
    if content not in (None, "content"):
        raise UsageError(f"--with {content}: there is content")
    return Choice(which, content is not None)


def _why(session: Opened, view: View, choice: Choice) -> str:
    """The likely reason for an export without rows."""
    count = session.store.count(view)
    if not count:
        return session.why_none(view)
    reviewed = f"{choice.only} by nobody yet" if choice.only != "all" else "judged by nobody"
    return f"{count_of(count, 'item')}, {reviewed}"


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
    from fcreview.store.labels.import_labels import File, as_adjudication, as_said_here
    from fcreview.store.labels.import_labels import take_in as place

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
