"""`fcreview export`: labels for others to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.errors import UsageError
from fcreview.cli.options import Annotator, Data, ErrataOption, PathArgument, PolicyOption, WhereOption, WorkspaceOption
from fcreview.cli.output import note, printed
from fcreview.cli.program import UNWRAPPED
from fcreview.cli.progress import Progress
from fcreview.exporters.registry import FORMATS
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened
    from fcreview.store.labels.reading import Choice
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
    from fcreview.cli.finding.lending import lend, tell_lost_datasets
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
    from fcreview.store.labels.reading import ONLY, Choice

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
