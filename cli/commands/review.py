"""`fcreview review`: the screens, or the same line by line."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.launch import Asked, show_queue
from fcreview.cli.options import (
    QUEUE_OPTION,
    Annotator,
    Data,
    PathArguments,
    RunOption,
    Seed,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import on_terminal
from fcreview.cli.workspace import Place, opened


def review(
    paths: PathArguments,
    plain: Annotated[
        bool, typer.Option("--plain", help="Line by line: for screen readers and terminals that only print.")
    ] = False,
    queue: Annotated[str | None, QUEUE_OPTION] = None,
    seed: Seed = 0,
    where: WhereOption = "",
    run: RunOption = None,
    annotator: Annotator = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide every verdict on an item until you have given yours.")
    ] = False,
    data: Data = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Review item by item.

    With --plain, and where no full-screen program can run: an item as text, a question, one letter and Enter for an
    answer, and the next item. An answer is on disk before the program says so. Letters may also come from a pipe.

    Example: fcreview review runs/gpt4o --plain --where 'official:fail -reviewed'
    """
    with opened(Place(paths, data, workspace, annotator=annotator)) as session:
        if on_terminal() and not plain:
            show_queue(session, Asked(None, queue, seed, where, run, blind))
            return
        from fcreview.cli.line_by_line import review_lines

        review_lines(session, session.to_review(where, queue=queue, seed=seed, run=run, blind=blind), blind=blind)
