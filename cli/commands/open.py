"""`fcreview open`: open runs in the app."""

from __future__ import annotations

import sys
import termios
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from fcreview.cli.commands.team import sync_team_in_background, warn_of_ignored_team_files
from fcreview.cli.config import (
    find_team_link,
    load_config,
    load_theme,
    record_first_start,
    save_theme,
)
from fcreview.cli.options import (
    IMPORT_OPTIONS,
    PATHS_ARGUMENT,
    BlindOption,
    OrderSeedOption,
    QueueOrDefaultOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import can_show_app, format_cell, is_in_browser, print_message
from fcreview.cli.workspace import WorkspaceSession, find_lake_location
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.watch import FileWatcher
    from fcreview.store.rows import View
    from fcreview.tui.app import FcreviewApp
    from fcreview.tui.queue.state import AnnotatorSwitch
    from fcreview.tui.session import Session

MAX_PRINTED_ITEMS = 40  # maximum number of items that are printed without a terminal
MAX_COPIED_ITEMS = 20_000  # maximum number of items of a lake that are copied to a local store
StartScreen = Literal["queue", "resume", "overview", "adjudicate"]
"""First screen.

`resume` opens the item seen last. So does `overview`, else it shows the overview of several runs.
"""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    item: str | None = None
    queue: str | None = None
    seed: int = 0
    where: str = ""
    run: str | None = None
    blind: bool = False
    overview: bool = False  # open several runs on the overview if there is no position to resume

    def build_view(self, session: WorkspaceSession) -> View:
        return session.build_review_view(
            self.where, queue=self.queue, seed=self.seed, run=self.run, blind=self.blind
        )


@workspace_command("annotator", *IMPORT_OPTIONS, path_argument=PATHS_ARGUMENT)
def open_(
    options: WorkspaceOptions,
    item: Annotated[str | None, option("--item ID", "Open this item first.")] = None,
    queue: QueueOrDefaultOption = None,
    seed: OrderSeedOption = 0,
    where: WhereOption = "",
    run: RunOption = None,
    blind: BlindOption = False,
    follow: Annotated[
        bool, option("--follow", "Import new and changed results while the app is open.")
    ] = False,
) -> None:
    """Browse and review runs in the terminal.

    Imports new and changed results at PATH, then opens the app. Without a terminal, prints the
    first items instead. With a queue from `fcreview queue create`, the app shows the items that are
    assigned to you. If PATH is a lake (docs/lake.md), fcreview copies these items, or the items
    that --where selects, to the workspace.

    Example: fcreview open runs/gpt4o --where 'official:fail -reviewed' --queue random --follow
    """
    if follow and find_lake_location(options.paths) is not None:
        raise UsageError("--follow has no effect on a lake. Omit --follow")
    watcher = None
    if follow and can_show_app():
        from fcreview.cli.watch import FileWatcher

        # created first, to notice changes during the import
        watcher = FileWatcher(options, load_config().follow)
    elif follow:
        print_message("fcreview: --follow needs a terminal. Only the current items are printed")
    open_options = OpenOptions(
        item, queue=queue, seed=seed, where=where, run=run, blind=blind, overview=True
    )
    with open_workspace(options) as session:
        local = (
            session
            if session.workspace.lake is None
            else _copy_lake_items_to_store(session, open_options)
        )
        try:
            show_queue(local, open_options, watcher)
        finally:
            local.close()


def show_queue(
    session: WorkspaceSession,
    selection: OpenOptions = OpenOptions(),
    watcher: FileWatcher | None = None,
) -> None:
    """Show the queue in the app.

    Without a terminal, print the selected item or the first items of the queue.
    """
    warn_of_ignored_team_files(session.workspace)
    view, first = selection.build_view(session), None
    if selection.item is not None:
        from fcreview.cli.commands.show import find_item_number

        first = find_item_number(session, selection.item, selection.run)
    if can_show_app():
        if watcher is not None:
            watcher.runs = session.scope
        names = " ".join(
            filter(None, (selection.where, selection.queue, selection.run, selection.item))
        )
        start: StartScreen = "queue" if names else "overview" if selection.overview else "resume"
        show_app(
            session,
            view,
            first,
            blind=selection.blind,
            start=start,
            watcher=watcher,
            start_options=names,
        )
        return
    if selection.blind:
        raise CommandError(
            "--blind needs a terminal, because printed items show verdicts. Use fcreview review"
            " --plain --blind to"
            " review line by line."
        )
    print_message(
        "fcreview: There is no terminal for the app. Use fcreview review --plain to review line by"
        " line"
    )
    if first is None:
        from fcreview.cli.commands.items import print_item_rows

        print_item_rows(session, view, MAX_PRINTED_ITEMS)
    else:
        from fcreview.cli.commands.show import print_item

        print_item(session, first)


def show_app(
    session: WorkspaceSession,
    view: View,
    first_item: int | None = None,
    *,
    blind: bool = False,
    start: StartScreen = "queue",
    watcher: FileWatcher | None = None,
    start_options: str = "",
) -> None:
    """Run the app. If the user changes to another annotator, run it again for that annotator.

    Args:
        first_item: number of the item to open; None opens the queue. watcher: imports changed files
        while the app is open. start_options: options that select items. In a browser, the app
        resumes the position in the queue only if these
            options are the same as before.
    """
    from fcreview.store.rows import View

    app = make_app(
        session,
        view,
        first_item,
        blind=blind,
        start=start,
        watcher=watcher,
        start_options=start_options,
    )
    if start != "adjudicate":
        view = View(runs=view.runs)  # `switch` contains the position in the queue
    while (switch := run_app(session, app)) is not None:
        session = create_session_for(session, switch.annotator)
        watcher = watcher.create_copy() if watcher is not None else None
        app = make_app(session, view, blind=blind, start=start, watcher=watcher, switch=switch)
        discard_pending_keys()


def create_session_for(session: WorkspaceSession, annotator: str) -> WorkspaceSession:
    """Create a session on the same workspace for another annotator, which opens its own store."""
    options = replace(session.options, annotator=annotator) if session.options is not None else None
    return replace(session, annotator=annotator, options=options, _store=None, _runs=[])


def discard_pending_keys() -> None:
    """Discard keys that the user pressed while no app was running.

    They were meant for the earlier annotator.
    """
    with suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def make_app(
    session: WorkspaceSession,
    view: View,
    first_item: int | None = None,
    *,
    blind: bool,
    start: StartScreen,
    watcher: FileWatcher | None,
    start_options: str = "",
    switch: AnnotatorSwitch | None = None,
) -> FcreviewApp:
    """Create the app.

    `switch` is the request to change to this annotator, if the app ran for another one before.
    """
    from fcreview.store.database import pause_garbage_collection

    with pause_garbage_collection():  # imports create many objects that stay in use
        from fcreview.cli.wiring import build_golden_services, build_report_services
        from fcreview.tui.session import DEFAULT_REASONS, AnnotatorVocabulary, Session

        config = load_config()
        session.close()
        golden, services = build_golden_services(), partial(build_report_services, session)
        screens = Session(
            session.workspace, session.annotator, blind=blind, golden=golden, services=services
        )
        screens.start_opening_store()  # opens the store while the import of Textual takes its time
        screens.vocabulary = AnnotatorVocabulary(config.tags, config.reasons or DEFAULT_REASONS)
        screens.opens_overview = start == "overview"
        screens.switch, screens.fixed_annotator_reason = switch, explain_fixed_annotator(session)
        screens.theme = load_theme(config)
        screens.key_guard_time = config.review.key_guard_ms / 1000
        if is_in_browser():
            _configure_for_browser(screens)
            screens.start_options = start_options
        else:
            screens.shows_welcome, screens.save_theme = (
                switch is None and record_first_start(),
                save_theme,
            )
        from fcreview.tui.app import FcreviewApp

        return FcreviewApp(
            screens,
            view,
            first_item,
            key_names=config.keys,
            adjudicate=start == "adjudicate",
            resume=start in ("resume", "overview") or screens.in_browser,
            run_watcher=watcher,
        )


def explain_fixed_annotator(session: WorkspaceSession) -> str:
    """Return the reason why the user cannot change the annotator in the app, or an empty string."""
    name = format_cell(session.annotator)
    if is_in_browser():
        return f"You are logged in as {name}. To review as another annotator, log in with that name"
    link = find_team_link(session.workspace)
    if link is not None:
        team_name = format_cell(link.annotator)
        return (
            f"Your annotator name in the team is {team_name}. To use another name, start fcreview"
            " with --annotator"
        )
    if (
        session.workspace.lake is None
        and session.options
        and find_lake_location(session.options.paths) is not None
    ):
        return (
            f"Only items for {name} were copied from the lake. Start fcreview with --annotator to"
            " use another name"
        )
    return ""


def run_app(session: WorkspaceSession, app: FcreviewApp) -> AnnotatorSwitch | None:
    """Run the app. Return the user's request to change to another annotator, or None if the user
    quits.

    Raises SystemExit if the return code of the app is not 0.
    """
    with sync_team_in_background(session) as app.session.team:
        reviewed = app.run()
    if reviewed:
        journal = session.workspace.reviews / f"{session.annotator}.jsonl"
        print_message(
            f"{format_count(reviewed, 'item')} reviewed. The reviews are in"
            f" {format_cell(str(journal))}"
        )
    if app.return_code:
        raise SystemExit(app.return_code)
    return app.next_switch


def _configure_for_browser(screens: Session) -> None:
    """Set up the app for a browser, in which it may write only the annotator's files, such as
    the theme.
    """
    from fcreview.store.workspace import AnnotatorState
    from fcreview.tui.themes import resolve_theme_name

    state = AnnotatorState(screens.workspace_folder, screens.annotator)
    screens.in_browser = True
    screens.theme = resolve_theme_name(str(state.read("theme").get("theme", ""))) or screens.theme
    screens.save_theme = lambda name: state.try_write("theme", {"theme": name})


def _copy_lake_items_to_store(
    session: WorkspaceSession, selection: OpenOptions
) -> WorkspaceSession:
    """Copy the selected items of a lake to a local store, and return a session with this store. If
    too many or all items are selected, return `session`.
    """
    from fcreview.store.lake.reader import copy_items_to_new_store

    view = selection.build_view(session)
    if not (view.where or view.queue_file):
        return session
    count = session.store.count_items(view)
    if not 0 < count <= MAX_COPIED_ITEMS:
        if count:
            print_message(
                f"fcreview: {count:,} items are too many for a local copy. The app reads the lake"
            )
        return session
    items = [row.item for row in session.store.fetch_page(view, 0, count)]
    session.close()
    workspace = copy_items_to_new_store(session.workspace, items)
    size = workspace.store.stat().st_size / 1e6
    print_message(
        f"fcreview: copied {format_count(count, 'item')} ({size:.1f} MB) to"
        f" {sanitize(str(workspace.root))}."
        " You can open this folder without the lake"
    )
    return replace(session, workspace=workspace, _store=None, _runs=[])
