"""`fcreview queue create`: draws a sample and says who reviews what."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.commands.queue.list_ import summary
from fcreview.cli.commands.queue.show import lines_of
from fcreview.cli.common import Place, opened
from fcreview.cli.options import (
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    RunOption,
    WhereOption,
    WorkspaceOption,
    names_in,
)
from fcreview.cli.output import emit, emit_json, note
from fcreview.sanitise import visible
from fcreview.text.words import count_of


def create(
    path: PathArgument,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Of the queue, as --queue takes it.", show_default=False)
    ],
    annotators: Annotated[
        str,
        typer.Option(
            "--annotators", metavar="A,B,C", help="Who gets a share; separated by commas.", show_default=False
        ),
    ],
    where: WhereOption = "",
    run: RunOption = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", min=1, help="Items to draw.", show_default="all that match")
    ] = None,
    stratify: Annotated[
        str,
        typer.Option(
            "--stratify",
            metavar="BY",
            help="In proportion to each category (language, model, error, official ...), one of each at least;"
            " several joined by commas.",
        ),
    ] = "",
    overlap: Annotated[
        int, typer.Option("--overlap", metavar="N", min=0, help="Items of the sample that everybody gets.")
    ] = 0,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", min=0, help="Items of each share that come twice, unsaid.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed draws the same.")] = 0,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Draw a sample of items and share it out among annotators.

    Written to .fcreview/queues/NAME.json, with each item's inclusion probability; no queue is ever overwritten.
    Everybody reviews their own share with: fcreview open PATH --queue NAME --annotator WHO --blind

    Example: fcreview queue create runs/gpt4o --name pilot --where official:fail --size 200 --stratify category
    --overlap 50 --annotators alice,bob,carol --repeats 10 --seed 7
    """
    from fcreview.sampling.shares import Sharing
    from fcreview.store.queues.creating import Wanted
    from fcreview.store.queues.file import write_queue

    names = names_in(annotators)
    with opened(Place([path], data, workspace, errata=errata)) as session:
        sharing = Sharing(names, overlap, repeats, seed)
        wanted = Wanted(name, session.view(where, run=run), size, stratify, sharing)
        queue = session.store.drawn(wanted)
        file = write_queue(session.workspace, queue)
        if as_json:
            emit_json(summary(session, queue))
        else:
            for line in lines_of(queue, session.store.progress(name)):
                emit(line)
    note(
        f"queue {visible(name)}: {count_of(len(queue.items), 'item')} for {count_of(len(names), 'annotator')} in {file}"
    )
