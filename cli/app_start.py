"""Start the app, or print items if there is no terminal."""

from __future__ import annotations

import sys
import termios
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from fcreview.cli.config import (
    find_team_link,
    load_config,
    load_theme,
    record_first_start,
    save_theme,
)
from fcreview.cli.output import (
    can_show_app,
    format_cell,
    is_in_browser,
    print_message,
    print_warning,
)
from fcreview.cli.recent_workspaces import record_recent_workspace
from fcreview.cli.team_sync import sync_team_in_background, warn_of_ignored_team_files
from fcreview.cli.workspace import WorkspaceSession, find_lake_location
from fcreview.errors import CommandError
from fcreview.model.sanitize import HiddenNames
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.config import Config
    from fcreview.cli.watch import FileWatcher
    from fcreview.store.rows import View
    from fcreview.tui.app import FcreviewApp
    from fcreview.tui.queue_state import AnnotatorSwitch
    from fcreview.tui.session import Session


MAX_PRINTED_ITEMS = 40  # maximum number of items that are printed without a terminal
StartScreen = Literal["queue", "resume", "overview", "adjudicate"]
"""First screen.

`resume` opens the item seen last. So does `overview`, else it shows the overview of several runs.
"""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """Options that select the items of the app and its first screen."""

    item: str | None = None
    queue: str | None = None
    seed: int = 0
    where: str = ""
    run: str | None = None
    blind: bool = False
    hides_models: bool = False
    """Whether the app hides the names of models, unless the configuration does."""
    mouse: bool = True
    """Whether the app handles the mouse, unless the configuration turns it off."""
    overview: bool = False
    """Whether several runs open on the overview if there is no position to resume."""

    @property
    def item_options(self) -> str:
        """The options that select items, joined with blanks. Empty if all items are selected."""
        options = (self.where, self.queue, self.run, self.item)
        return " ".join(option for option in options if option)

    @property
    def first_screen(self) -> StartScreen:
        if self.item_options:
            return "queue"
        if self.overview:
            return "overview"
        return "resume"

    def build_view(self, session: WorkspaceSession) -> View:
        return session.build_review_view(
            self.where, queue=self.queue, seed=self.seed, run=self.run, blind=self.blind
        )


def show_queue(
    session: WorkspaceSession,
    selection: OpenOptions = OpenOptions(),
    watcher: FileWatcher | None = None,
) -> None:
    """Show the queue in the app. Without a terminal, print the selected item or the first items.

    `watcher`: imports changed files while the app is open.
    """
    from fcreview.store.queue_file import is_blind_queue

    warn_of_ignored_team_files(session.workspace)
    # A queue that was drawn for blind review is always reviewed blind.
    is_blind_by_queue = not selection.blind and is_blind_queue(session.workspace, selection.queue)
    if is_blind_by_queue:
        selection = replace(selection, blind=True)
    view = selection.build_view(session)
    first_item = None
    if selection.item is not None:
        from fcreview.cli.item_text import find_item_number

        first_item = find_item_number(session, selection.item, selection.run)

    if not can_show_app():
        if selection.blind:
            raise CommandError(
                "--blind needs a terminal, because printed items show verdicts. Use fcreview review"
                " --plain --blind to review line by line."
            )
        _print_instead_of_app(session, view, first_item)
        return

    if watcher is not None:
        # Files of other runs are not watched.
        watcher.runs = session.scope
    show_app(
        session,
        view,
        first_item,
        blind=selection.blind,
        is_blind_by_queue=is_blind_by_queue,
        start=selection.first_screen,
        watcher=watcher,
        start_options=selection.item_options,
        mouse=selection.mouse,
        hides_models=selection.hides_models,
    )


def _print_instead_of_app(session: WorkspaceSession, view: View, first_item: int | None) -> None:
    """Print one item, or the first items of the view if `first_item` is None."""
    print_message(
        "fcreview: There is no terminal for the app. Use fcreview review --plain to review line by"
        " line"
    )
    if first_item is None:
        from fcreview.cli.item_rows import print_item_rows

        print_item_rows(session, view, MAX_PRINTED_ITEMS)
    else:
        from fcreview.cli.item_text import print_item

        print_item(session, first_item)


def show_app(
    session: WorkspaceSession,
    view: View,
    first_item: int | None = None,
    *,
    blind: bool = False,
    is_blind_by_queue: bool = False,
    start: StartScreen = "queue",
    watcher: FileWatcher | None = None,
    start_options: str = "",
    mouse: bool = True,
    hides_models: bool = False,
) -> None:
    """Run the app. If the user changes to another annotator or mode, run it again for that one.

    Args:
        first_item: Number of the item to open. None opens the queue.
        is_blind_by_queue: Whether a queue, and not the user, made the review blind. The app can
            then end the blind review.
        watcher: Imports changed files while the app is open.
        start_options: Options that select items. In a browser, the app resumes the position in the
            queue only if these options are the same as before.
    """
    from fcreview.store.rows import View

    mode = _ReviewMode(
        blind=blind,
        is_blind_by_queue=is_blind_by_queue,
        hides_models=hides_models or load_config().review.hide_model,
    )
    app = make_app(
        session,
        view,
        first_item,
        blind=mode.blind,
        start=start,
        watcher=watcher,
        start_options=start_options,
        mouse=mouse,
        hides_models=mode.hides_models,
    )
    _allow_to_end_blind_review(app, is_blind_by_queue=mode.is_blind_by_queue)
    switch = run_app(session, app)

    # The filter of the command line was for the first annotator. `switch` has the position at which
    # the next one continues.
    if start != "adjudicate":
        view = View(runs=view.runs)
    while switch is not None:
        mode = mode.change(switch, app)
        session = create_session_for(session, switch.annotator)
        watcher = watcher.create_copy() if watcher is not None else None
        app = make_app(
            session,
            view,
            blind=mode.blind,
            start=start,
            watcher=watcher,
            switch=switch,
            mouse=mouse,
            hides_models=mode.hides_models,
        )
        _allow_to_end_blind_review(app, is_blind_by_queue=mode.is_blind_by_queue)
        discard_pending_keys()
        switch = run_app(session, app)


@dataclass(frozen=True, slots=True)
class _ReviewMode:
    """What the app hides from the annotator."""

    blind: bool
    is_blind_by_queue: bool
    """Whether a queue, and not the user, made the review blind."""
    hides_models: bool

    def change(self, switch: AnnotatorSwitch, app: FcreviewApp) -> _ReviewMode:
        """Return the mode of the next app. What the switch leaves open stays as in the last app, in
        which the user can also have shown or hidden the models.
        """
        hides_models = app.session.hidden_names is not None
        if switch.hides_models is not None:
            hides_models = switch.hides_models
        if switch.blind is None:
            return replace(self, hides_models=hides_models)
        # A blind review that starts in the app is that of a queue.
        return _ReviewMode(
            blind=switch.blind, is_blind_by_queue=switch.blind, hides_models=hides_models
        )


def _allow_to_end_blind_review(app: FcreviewApp, *, is_blind_by_queue: bool) -> None:
    """Let the user end a blind review that a queue started. A blind review that the user started
    with `--blind`, or that a server demands, cannot be ended.
    """
    app.session.can_end_blind_review = is_blind_by_queue and not app.session.in_browser


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
    mouse: bool = True,
    hides_models: bool = False,
) -> FcreviewApp:
    """Create the app and its session, with the settings of the user.

    Args:
        switch: Request to change to this annotator, if the app ran for another one before.
        mouse: Whether the app handles the mouse, unless the configuration turns it off.
    """
    from fcreview.store.database import pause_garbage_collection

    # Imports create many objects that stay in use, so collecting garbage would only take time.
    with pause_garbage_collection():
        config = load_config()
        app_session = _create_app_session(session, config, blind=blind)
        if hides_models:
            app_session.hidden_names = HiddenNames()
        # The store opens in a thread during the import of Textual, which takes its time.
        app_session.start_opening_store()

        app_session.opens_overview = start == "overview"
        app_session.switch = switch
        if is_in_browser():
            _configure_for_browser(app_session)
            app_session.start_options = start_options
        else:
            _configure_for_terminal(app_session, session, is_first_app=switch is None)

        from fcreview.tui.app import FcreviewApp

        app = FcreviewApp(
            app_session,
            view,
            first_item,
            key_names=config.keys,
            adjudicate=start == "adjudicate",
            resume=start in ("resume", "overview") or app_session.in_browser,
            run_watcher=watcher,
        )
        app.uses_mouse = mouse and config.mouse
        return app


def _create_app_session(session: WorkspaceSession, config: Config, *, blind: bool) -> Session:
    """Create the session of the app, which opens its own store, with the user's settings."""
    from fcreview.cli.wiring import build_golden_services, build_report_services
    from fcreview.tui.session import DEFAULT_REASONS, AnnotatorVocabulary, Session

    # The app opens the store itself, in a thread of its own.
    session.close()
    app_session = Session(
        session.workspace,
        session.annotator,
        blind=blind,
        golden=build_golden_services(),
        services=partial(build_report_services, session),
    )
    app_session.shows_judges = session.shows_judges
    app_session.vocabulary = AnnotatorVocabulary(config.tags, config.reasons or DEFAULT_REASONS)
    app_session.fixed_annotator_reason = explain_fixed_annotator(session)
    app_session.theme = load_theme(config)
    app_session.key_guard_time = config.review.key_guard_ms / 1000
    return app_session


def explain_fixed_annotator(session: WorkspaceSession) -> str:
    """Return why the user cannot change to another annotator in the app. Empty if they can."""
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

    if _has_copy_of_lake_items(session):
        return (
            f"Only items for {name} were copied from the lake. Start fcreview with --annotator to"
            " use another name"
        )
    return ""


def _has_copy_of_lake_items(session: WorkspaceSession) -> bool:
    """Whether PATH is a lake, but the session has a local store with some of its items."""
    if session.workspace.lake is not None or session.options is None:
        return False
    return find_lake_location(session.options.paths) is not None


def _configure_for_terminal(
    app_session: Session, session: WorkspaceSession, *, is_first_app: bool
) -> None:
    """Let the app save its theme, and record its start.

    A start is the first one only if no other annotator used the app before in this process.
    """
    app_session.shows_welcome = is_first_app and record_first_start()
    app_session.save_theme = save_theme
    record_recent_workspace(session.workspace.root.parent)


def run_app(session: WorkspaceSession, app: FcreviewApp) -> AnnotatorSwitch | None:
    """Run the app, exchanging reviews with the team if there is one.

    Return the user's request to change to another annotator, or None if the user quits. Raises
    SystemExit if the return code of the app is not 0, and CommandError if nobody quit the app.
    """
    with sync_team_in_background(session) as team:
        app.session.team = team
        app.run(mouse=app.uses_mouse)

    # This is also reported if the app ended by a signal or an error.
    _report_reviewed_items(session, app.session.reviewed_count)
    warn_about_lost_drafts(app.session)
    if app.return_code:
        raise SystemExit(app.return_code)
    if app.has_ended_by_itself:
        raise CommandError(
            "internal error: the app ended although you did not quit it. Run the command again to"
            " continue, and report what you did last."
        )
    return app.next_switch


def _report_reviewed_items(session: WorkspaceSession, n_reviewed: int) -> None:
    """Say how many items the annotator reviewed, if any, and where the reviews are."""
    if n_reviewed:
        items = format_count(n_reviewed, "item")
        journal = session.workspace.reviews / f"{session.annotator}.jsonl"
        print_message(f"{items} reviewed. The reviews are in {format_cell(str(journal))}")


def warn_about_lost_drafts(app_session: Session) -> None:
    """Name the unsaved texts that could not be kept as drafts, such as on a full disk."""
    from fcreview.store.drafts import describe_drafts

    problem = app_session.drafts.write_unwritten()
    lost = app_session.drafts.list_unwritten()
    if not lost:
        return
    reason = problem or "the text is too long"
    print_warning(f"The end of the app discards the {format_cell(describe_drafts(lost))}: {reason}")


def _configure_for_browser(app_session: Session) -> None:
    """Set up the app for a browser, in which it may write only the annotator's files, such as
    the theme.
    """
    from fcreview.store.workspace import AnnotatorState
    from fcreview.tui.themes import resolve_theme_name

    state = AnnotatorState(app_session.workspace_folder, app_session.annotator)
    app_session.in_browser = True
    app_session.save_theme = lambda name: state.try_write("theme", {"theme": name})

    saved_name = str(state.read("theme").get("theme", ""))
    app_session.theme = resolve_theme_name(saved_name) or app_session.theme
