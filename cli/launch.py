"""Open the app on a workspace, or print items as text without a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fcreview.cli.config import is_first_start, load_config, load_theme, save_theme
from fcreview.cli.errors import CommandError
from fcreview.cli.output import cell_text, has_terminal, is_in_browser, print_message
from fcreview.cli.team_links import find_link, warn_of_ignored_files
from fcreview.cli.workspace import WorkspaceSession
from fcreview.model.wording import format_count
from fcreview.store.garbage_collection import pause_garbage_collection

if TYPE_CHECKING:
    from fcreview.cli.watch import FileWatcher
    from fcreview.store.rows import View
    from fcreview.store.team.sync import SyncStatus, TeamSync
    from fcreview.tui.session import Session

PLAIN_ITEMS = 40
"""Number of items printed without a terminal."""


Start = Literal["queue", "resume", "overview", "adjudicate"]
"""What the app shows first: the queue, the position that the annotator left (`resume`), the overview of several runs if
there is no such position, or the disagreements."""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """Item, queue and filter that the app opens."""

    item: str | None = None
    queue: str | None = None
    seed: int = 0
    where: str = ""
    run: str | None = None
    blind: bool = False
    overview: bool = False
    """Open several runs on the overview if there is no position to resume."""


def show_queue(
    session: WorkspaceSession, open_options: OpenOptions = OpenOptions(), watcher: FileWatcher | None = None
) -> None:
    """Show the queue in the app. Without a terminal, print the item of `open_options` or the first items of the queue.

    Args:
        watcher: imports changed files while the app is open.
    """
    item, run, blind = open_options.item, open_options.run, open_options.blind
    warn_of_ignored_files(session.workspace)
    view = session.build_review_view(
        open_options.where, queue=open_options.queue, seed=open_options.seed, run=run, blind=blind
    )
    first = None
    if item is not None:
        from fcreview.cli.commands.show import find_item

        first = find_item(session, item, run)
    if has_terminal():
        if watcher is not None:
            watcher.runs = session.scope
        selection = " ".join(filter(None, (open_options.where, open_options.queue, run, item)))
        start: Start = "queue" if selection else "overview" if open_options.overview else "resume"
        show_app(session, view, first, blind=blind, start=start, follow=watcher, selection=selection)
        return
    if blind:
        raise CommandError(
            "--blind needs a terminal, because printed items show verdicts. Use fcreview review --plain --blind to"
            " review line by line."
        )
    print_message("fcreview: no terminal; printing items as text. Use fcreview review --plain to review line by line")
    if first is None:
        from fcreview.cli.commands.items import print_rows

        print_rows(session, view, PLAIN_ITEMS)
    else:
        from fcreview.cli.commands.show import print_item

        print_item(session, first)


def prepare_for_browser(screens: Session) -> None:
    """Make the app write only the annotator's files, which then also store the theme."""
    from fcreview.store.workspace import AnnotatorState
    from fcreview.tui.themes import find_theme

    state = AnnotatorState(screens.folder, screens.annotator)
    screens.in_browser = True
    screens.theme = find_theme(str(state.read("theme").get("theme", ""))) or screens.theme
    screens.save_theme = lambda name: state.try_write("theme", {"theme": name})


def start_team_sync(session: WorkspaceSession) -> TeamSync | None:
    """Start to exchange reviews with the annotator's team, in a thread. None without a team, and in a browser, where a
    session may not write the journals of others."""
    if is_in_browser():
        return None
    link = find_link(session.workspace)
    if link is None:
        return None
    if link.annotator != session.annotator:
        print_message(
            f"fcreview: your annotator name in the team is {cell_text(link.annotator)}."
            f" Reviews by {session.annotator} are not sent"
        )
        return None
    from fcreview.store.team.sync import TeamSync

    sync = TeamSync(session.workspace, link)
    sync.start()
    return sync


def print_team_status(status: SyncStatus) -> None:
    """Print the number of reviews that were not sent to the team, and the reason."""
    if status.unsent:
        why = f" ({status.problem})" if status.problem else ""
        count = format_count(status.unsent, "review")
        print_message(f"fcreview: {count} not sent to the team yet{why}. The next start sends them")
    if status.refusal:
        print_message(f"fcreview: {status.refusal}")


def show_app(
    session: WorkspaceSession,
    view: View,
    first: int | None = None,
    *,
    blind: bool = False,
    start: Start = "queue",
    follow: FileWatcher | None = None,
    selection: str = "",
) -> None:
    """Run the app. Exit with its return code if that is not 0.

    Args:
        first: row key of the item to open; None opens the queue.
        start: what to show first.
        follow: imports changed files while the app is open.
        selection: options that select items. In a browser, a reloaded page resumes their queue.
    """
    with pause_garbage_collection():  # imported modules are no garbage
        from fcreview.cli.wiring import build_golden_services, build_screen_services
        from fcreview.tui.session import DEFAULT_REASONS, AnnotatorVocabulary, Session

        config = load_config()
        session.close()
        services = build_screen_services(session)
        screens = Session(
            session.workspace, session.annotator, blind=blind, golden=build_golden_services(), services=services
        )
        screens.open_in_background()  # while Textual is imported
        screens.vocabulary = AnnotatorVocabulary(config.tags, config.reasons or DEFAULT_REASONS)
        screens.team = start_team_sync(session)
        keys = config.keys
        screens.opens_overview = start == "overview"
        screens.theme = load_theme(config)
        if is_in_browser():
            prepare_for_browser(screens)
            screens.start_options = selection
        else:
            screens.shows_welcome, screens.save_theme = is_first_start(), save_theme
        from fcreview.tui.app import FcreviewApp

        app = FcreviewApp(
            screens,
            view,
            first,
            key_names=keys,
            adjudicate=start == "adjudicate",
            resume=start in ("resume", "overview") or screens.in_browser,
            run_watcher=follow,
        )
    reviewed = app.run()
    if screens.team is not None:
        print_team_status(screens.team.stop())
    if reviewed:
        journal = session.workspace.reviews / f"{session.annotator}.jsonl"
        print_message(f"{format_count(reviewed, 'item')} reviewed, saved in {cell_text(str(journal))}")
    if app.return_code:
        raise SystemExit(app.return_code)
