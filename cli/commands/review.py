"""`fcreview review`: review in the app, or line by line."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.launch import OpenOptions, show_queue
from fcreview.cli.options import PATHS, Blind, OptionalQueue, RunOption, Seed, WhereOption, workspace_command
from fcreview.cli.output import on_terminal
from fcreview.cli.workspace import WorkspaceOptions, open_workspace


@workspace_command("annotator", path=PATHS)
def review(
    options: WorkspaceOptions,
    plain: Annotated[
        bool, typer.Option("--plain", help="Review line by line, for screen readers and simple terminals.")
    ] = False,
    queue: OptionalQueue = None,
    seed: Seed = 0,
    where: WhereOption = "",
    run: RunOption = None,
    blind: Blind = False,
) -> None:
    """Review items one by one.

    Opens the app on a terminal. With --plain, or without one, fcreview prints an item as text and reads a one-letter
    answer from standard input. Every answer is saved before the next item is printed.

    Example: fcreview review runs/gpt4o --plain --where 'official:fail -reviewed'
    """
    with open_workspace(options) as session:
        if on_terminal() and not plain:
            show_queue(session, OpenOptions(None, queue, seed, where, run, blind))
            return
        from fcreview.cli.line_by_line import review_lines

        review_lines(session, session.review_view(where, queue=queue, seed=seed, run=run, blind=blind), blind=blind)
