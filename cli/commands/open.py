"""`fcreview open`: browse and review runs in the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.config import load_config
from fcreview.cli.errors import UsageError
from fcreview.cli.lake import find_lake
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
from fcreview.cli.output import has_terminal, print_message
from fcreview.cli.workspace import WorkspaceOptions, open_workspace

if TYPE_CHECKING:
    from fcreview.cli.watch import FileWatcher


@workspace_command("annotator", "format", "decoder", path=PATHS_ARGUMENT)
def open_(
    options: WorkspaceOptions,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ID", help="Open this item first.", show_default=False)
    ] = None,
    queue: QueueOrDefaultOption = None,
    seed: SeedOption = 0,
    where: WhereOption = "",
    run: RunOption = None,
    blind: BlindOption = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Import new and changed results while the app is open.")
    ] = False,
) -> None:
    """Browse and review runs in the terminal.

    Imports new and changed results at PATH, then opens the app. Without a terminal, the first items are printed
    instead. With a queue from `fcreview queue create`, the app shows your share of its items.

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random --follow
    """
    if follow and find_lake(options.paths) is not None:
        raise UsageError("--follow has no effect on a lake")
    watcher = _create_watcher(options) if follow and has_terminal() else None
    if follow and watcher is None:
        print_message("fcreview: --follow needs a terminal; printing the current items instead")
    with open_workspace(options) as session:
        show_queue(session, OpenOptions(item, queue, seed, where, run, blind, overview=True), watcher)


def _create_watcher(options: WorkspaceOptions) -> FileWatcher:
    """Create the watcher, before the import, so that it notices files that change during the import."""
    from fcreview.cli.watch import FileWatcher

    return FileWatcher(options, load_config().follow)
