"""`fcreview open`: import what is new, then the queue.

`fcreview demo`: the sample runs, in a folder of their own, so that it starts the same every time.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from fcreview.cli.commands.triage import Table, print_triage
from fcreview.cli.errors import CommandError
from fcreview.cli.import_options import checked
from fcreview.cli.launch import Asked, open_place, show_queue
from fcreview.cli.options import (
    QUEUE_OPTION,
    Annotator,
    Data,
    DecoderOption,
    ErrataOption,
    Format,
    PathArguments,
    RunOption,
    Seed,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import emit, note, on_terminal, text_of
from fcreview.cli.workspace import Place, opened

LEFT_OUT = shutil.ignore_patterns("__init__.py", "__pycache__", ".*")


def demo(
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="DIR",
            help="Copy the sample runs there; else to a new temporary folder.",
            show_default=False,
        ),
    ] = None,
    annotator: Annotator = None,
) -> None:
    """Open the sample runs.

    Small runs of every benchmark that come with the program, right and wrong in instructive ways.
    They are copied first, so whatever you try starts afresh next time. Without a terminal the failures are printed.

    Example: fcreview demo
    """
    folder = copied(into)
    with opened(Place([folder], annotator=annotator)) as session:
        if on_terminal():
            show_queue(session)
            note(f"your copy of the sample runs, with what you reviewed: {folder}")
            return
        view = session.view()
        clusters = session.store.clusters(view)
        print_triage(session, view, Table(clusters, sum(cluster.count for cluster in clusters)))
    emit()
    emit(f"No terminal here, so this is plain text. The sample runs are in {text_of(str(folder))}; try")
    emit(f"  fcreview items {text_of(str(folder))} --where official:fail")
    emit(f"  fcreview open {text_of(str(folder))}")


def copied(into: Path | None) -> Path:
    """The folder that holds the copy. CommandError if it is not empty and not an earlier copy."""
    if into is not None and into.exists() and (not into.is_dir() or any(into.iterdir())):
        if not (into / ".fcreview").is_dir():
            raise CommandError(f"{into} is not empty: name another folder")
        return into
    from importlib.resources import as_file, files

    folder = into or Path(tempfile.mkdtemp(prefix="fcreview-demo-"))
    with as_file(files("fcreview.sample_runs")) as samples:
        shutil.copytree(samples, folder, ignore=LEFT_OUT, dirs_exist_ok=True)
    (folder / ".fcreview").mkdir(exist_ok=True)
    return folder


def open_(
    paths: PathArguments,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ID", help="Begin with this item.", show_default=False)
    ] = None,
    queue: Annotated[str | None, QUEUE_OPTION] = None,
    seed: Seed = 0,
    where: WhereOption = "",
    run: RunOption = None,
    annotator: Annotator = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide every verdict on an item until you have given yours.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Take in new and changed result files while the screen is open.")
    ] = False,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    format: Format = None,  # noqa: A002
    decoder: DecoderOption = None,
) -> None:
    """Look through runs and review them.

    What is new at PATH is imported first.
    Without a terminal the first items of the queue are printed instead.
    Of a queue file (`fcreview queue create`) everybody gets their own share, in its order.
    With --follow a run may still be going on: new items join the queue, and what you look at stays where it is.

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random --follow
    """
    place = Place(paths, data, workspace, format, annotator, decoder=checked(decoder), errata=errata)
    asked = Asked(item, queue, seed, where, run, blind)
    open_place(place, asked, follow=follow)
