"""`fcreview open`: import new results and browse the queue."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.launch import OpenOptions, open_runs
from fcreview.cli.options import PATHS, Blind, OptionalQueue, RunOption, Seed, WhereOption, workspace_command
from fcreview.cli.workspace import WorkspaceOptions


@workspace_command("annotator", "format", "decoder", path=PATHS)
def open_(
    options: WorkspaceOptions,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ID", help="Open this item first.", show_default=False)
    ] = None,
    queue: OptionalQueue = None,
    seed: Seed = 0,
    where: WhereOption = "",
    run: RunOption = None,
    blind: Blind = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Import new and changed results while the app is open.")
    ] = False,
) -> None:
    """Browse and review runs in the terminal.

    fcreview first imports what is new at PATH. Without a terminal it prints the first items instead. A queue file
    (`fcreview queue create`) shows your share of its items.

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random --follow
    """
    open_runs(options, OpenOptions(item, queue, seed, where, run, blind), follow=follow)
