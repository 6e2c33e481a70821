"""`fcreview open`: import what is new, then the queue."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.common import Place
from fcreview.cli.finding.decoders import checked
from fcreview.cli.opening import Asked, open_place
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
