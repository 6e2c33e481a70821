"""`fcreview open`: import what is new, then the queue."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.common import Place
from fcreview.cli.finding.decoders import checked
from fcreview.cli.opening import open_place
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

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random
    """
    place = Place(paths, data, workspace, format, annotator, decoder=checked(decoder), errata=errata)
    open_place(place, item=item, queue=queue, seed=seed, where=where, run=run, blind=blind)
