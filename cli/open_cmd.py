"""`fcreview open`: import what is new, then the queue."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.errors import FAILED, CommandError
from fcreview.cli.items import print_rows
from fcreview.cli.options import (
    Annotator,
    Data,
    Format,
    PathArguments,
    Queue,
    RunOption,
    Seed,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import note, on_terminal
from fcreview.cli.session import Session
from fcreview.cli.show import one_item, print_item

PLAIN_ITEMS = 40


def open_(
    paths: PathArguments,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ID", help="Begin with this item.", show_default=False)
    ] = None,
    queue: Queue = "failures",
    seed: Seed = 0,
    where: WhereOption = "",
    run: RunOption = None,
    annotator: Annotator = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide every verdict on an item until you have given yours.")
    ] = False,
    data: Data = None,
    workspace: WorkspaceOption = None,
    format: Format = None,  # noqa: A002
) -> None:
    """Look through runs and review them.

    What is new at PATH is imported first.
    Without a terminal the first items of the queue are printed instead.

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random
    """
    place = Place(paths, data, workspace, format, annotator)
    with opened(place) as session:
        show_queue(session, item=item, queue=queue, seed=seed, where=where, run=run, blind=blind)


def show_queue(
    session: Session,
    *,
    item: str | None = None,
    queue: str = "failures",
    seed: int = 0,
    where: str = "",
    run: str | None = None,
    blind: bool = False,
) -> None:
    """The app on a terminal, else the head of the queue, or the item, as text."""
    view = session.view(where, queue=queue, seed=seed, run=run, blind=blind)
    first = one_item(session, item, run) if item is not None else None
    if on_terminal():
        from fcreview.tui.app import FcreviewApp

        session.close()  # the app opens the store itself, behind its first screen
        app = FcreviewApp(session.workspace, session.annotator, view, first, blind)
        app.run()
        if app.return_code:
            raise typer.Exit(FAILED)
        return
    if blind:
        raise CommandError("--blind needs a terminal: lists and items as text show verdicts")
    note("fcreview: no terminal here: plain text instead of the app")
    if first is None:
        print_rows(session, view, PLAIN_ITEMS)
    else:
        print_item(session, first)
