"""`fcreview review`: review items one by one, in the app or line by line."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.launch import OpenOptions, show_queue
from fcreview.cli.options import (
    PATHS_ARGUMENT,
    BlindOption,
    QueueOrDefaultOption,
    RunOption,
    SeedOption,
    WhereOption,
    workspace_command,
)
from fcreview.cli.output import has_terminal
from fcreview.cli.workspace import WorkspaceOptions, open_workspace


@workspace_command("annotator", path=PATHS_ARGUMENT)
def review(
    options: WorkspaceOptions,
    plain: Annotated[
        bool, typer.Option("--plain", help="Review line by line, for screen readers and simple terminals.")
    ] = False,
    queue: QueueOrDefaultOption = None,
    seed: SeedOption = 0,
    where: WhereOption = "",
    run: RunOption = None,
    blind: BlindOption = False,
) -> None:
    """Review items one by one.

    Opens the app on a terminal. With --plain, or without a terminal, fcreview prints an item as text and reads a
    one-letter answer from standard input. Each answer is saved before the next item is printed.

    Example: fcreview review runs/gpt4o --plain --where 'official:fail -reviewed'
    """
    with open_workspace(options) as session:
        if has_terminal() and not plain:
            show_queue(session, OpenOptions(None, queue, seed, where, run, blind))
            return
        from fcreview.cli.line_by_line import review_line_by_line

        view = session.build_review_view(where, queue=queue, seed=seed, run=run, blind=blind)
        review_line_by_line(session, view, blind=blind)
