"""`fcreview open`: browse and review runs in the app."""

from __future__ import annotations

from dataclasses import replace
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
from fcreview.cli.workspace import WorkspaceOptions, WorkspaceSession, open_workspace
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.watch import FileWatcher

MAX_PULLED_ITEMS = 20_000
"""Largest number of items that are copied to a local store. A larger selection is read from the lake."""


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
    instead. With a queue from `fcreview queue create`, the app shows the items assigned to you. If PATH is a lake,
    these items or the items of --where are copied to the workspace first, so that you can review them without the lake.

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random --follow
    """
    if follow and find_lake(options.paths) is not None:
        raise UsageError("--follow has no effect on a lake")
    watcher = _create_watcher(options) if follow and has_terminal() else None
    if follow and watcher is None:
        print_message("fcreview: --follow needs a terminal; printing the current items instead")
    open_options = OpenOptions(item, queue, seed, where, run, blind, overview=True)
    with open_workspace(options) as session:
        local = session if session.workspace.lake is None else pull_selection(session, open_options)
        try:
            show_queue(local, open_options, watcher)
        finally:
            local.close()


def _create_watcher(options: WorkspaceOptions) -> FileWatcher:
    """Create the watcher, before the import, so that it notices files that change during the import."""
    from fcreview.cli.watch import FileWatcher

    return FileWatcher(options, load_config().follow)


def pull_selection(session: WorkspaceSession, selection: OpenOptions) -> WorkspaceSession:
    """Copy the items of a filter or of a share from a lake to the local store, and return a session on it.

    Returns the same session without a filter or queue file, and for too many items.
    """
    from fcreview.store.lake.pull import pull_items

    view = session.build_review_view(
        selection.where, queue=selection.queue, seed=selection.seed, run=selection.run, blind=selection.blind
    )
    if not (view.where or view.queue_file):
        return session
    count = session.store.count_items(view)
    if not 0 < count <= MAX_PULLED_ITEMS:
        if count:
            print_message(f"fcreview: {count:,} items are too many for a local store: reading the lake")
        return session
    items = [row.item for row in session.store.fetch_page(view, 0, count)]
    session.close()
    workspace = pull_items(session.workspace, items)
    size = workspace.store.stat().st_size / 1e6
    print_message(
        f"fcreview: copied {format_count(count, 'item')} ({size:.1f} MB) to {sanitize(str(workspace.root))}."
        " Without the lake, open that folder"
    )
    return replace(session, workspace=workspace, _store=None, _runs=[])
