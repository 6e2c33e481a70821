"""`fcreview open`: open runs in the app."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fcreview.cli.app_start import OpenOptions, show_queue
from fcreview.cli.config import load_config
from fcreview.cli.options import (
    IMPORT_OPTIONS,
    PATHS_OR_CURRENT_FOLDER,
    BlindOption,
    OrderSeedOption,
    QueueOrDefaultOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import can_show_app, print_message
from fcreview.cli.workspace import WorkspaceSession, find_lake_location
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.watch import FileWatcher
    from fcreview.store.workspace import Workspace

MAX_COPIED_ITEMS = 20_000  # maximum number of items of a lake that are copied to a local store


@workspace_command(
    "annotator", "show_judge", *IMPORT_OPTIONS, path_argument=PATHS_OR_CURRENT_FOLDER
)
def open_(
    options: WorkspaceOptions,
    item: Annotated[str | None, option("--item ID", "Open this item first.")] = None,
    queue: QueueOrDefaultOption = None,
    seed: OrderSeedOption = 0,
    where: WhereOption = "",
    run: RunOption = None,
    blind: BlindOption = False,
    hide_model: Annotated[
        bool, option("--hide-model", "Hide the names of models on all screens.")
    ] = False,
    follow: Annotated[
        bool, option("--follow", "Import new and changed results while the app is open.")
    ] = False,
    no_mouse: Annotated[
        bool, option("--no-mouse", "Leave the mouse to the terminal, which then selects text.")
    ] = False,
) -> None:
    """Browse and review runs in the terminal.

    Imports new and changed results at PATH (by default the current folder), then opens the app.
    Without a terminal, prints the first items instead. With a queue from `fcreview queue create`,
    the app shows the items that are assigned to you. If PATH is a lake (docs/lake.md), fcreview
    copies these items, or the items that --where selects, to the workspace.

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random --follow
    """
    if follow and find_lake_location(options.paths) is not None:
        raise UsageError("--follow has no effect on a lake. Omit --follow")
    # The watcher is created first, so that it notices changes during the import.
    watcher = _create_watcher(options) if follow else None
    open_options = OpenOptions(
        item,
        queue=queue,
        seed=seed,
        where=where,
        run=run,
        blind=blind,
        hides_models=hide_model,
        mouse=not no_mouse,
        overview=True,
    )
    with open_workspace(options) as session:
        app_session = session
        if session.workspace.lake is not None:
            app_session = _copy_lake_items_to_store(session, open_options)
        try:
            show_queue(app_session, open_options, watcher)
        finally:
            app_session.close()


def _create_watcher(options: WorkspaceOptions) -> FileWatcher | None:
    """Create the watcher of --follow. Without a terminal, there is no app to show changes in."""
    if not can_show_app():
        print_message("fcreview: --follow needs a terminal. Only the current items are printed")
        return None
    from fcreview.cli.watch import FileWatcher

    return FileWatcher(options, load_config().follow)


def _copy_lake_items_to_store(
    session: WorkspaceSession, selection: OpenOptions
) -> WorkspaceSession:
    """Copy the selected items of a lake to a local store, so that the annotator can review without
    the lake.

    Return a session with this store, and close the given one. If all items, no items or too many
    items are selected, return `session` itself, which stays open.
    """
    from fcreview.store.lake.reader import copy_items_to_new_store

    view = selection.build_view(session)
    selects_all_items = not view.where and not view.queue_file
    if selects_all_items:
        return session

    n_items = session.store.count_items(view)
    if n_items == 0:
        return session
    if n_items > MAX_COPIED_ITEMS:
        print_message(
            f"fcreview: {n_items:,} items are too many for a local copy. The app reads the lake"
        )
        return session

    items = [row.item for row in session.store.fetch_page(view, 0, n_items)]
    session.close()
    workspace = copy_items_to_new_store(session.workspace, items)
    _print_copy_message(workspace, n_items)
    return replace(session, workspace=workspace, _store=None, _runs=[])


def _print_copy_message(workspace: Workspace, n_items: int) -> None:
    megabytes = workspace.store.stat().st_size / 1e6
    folder = sanitize(str(workspace.root))
    print_message(
        f"fcreview: copied {format_count(n_items, 'item')} ({megabytes:.1f} MB) to {folder}. You"
        " can open this folder without the lake"
    )
