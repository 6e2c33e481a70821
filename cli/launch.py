"""Open the app on the workspace of some paths, or print text without a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError
from fcreview.cli.output import cell_text, note, on_terminal
from fcreview.cli.workspace import WorkspaceOptions, WorkspaceSession, open_workspace
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.cli.watch import FileWatcher
    from fcreview.store.rows import View

PLAIN_ITEMS = 40
"""Items printed without a terminal."""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """What the app shows first."""

    item: str | None = None
    queue: str | None = None
    seed: int = 0
    where: str = ""
    run: str | None = None
    blind: bool = False


def open_runs(options: WorkspaceOptions, show: OpenOptions = OpenOptions(), *, follow: bool = False) -> None:
    """Import what is new and show the queue."""
    watcher = _watcher(options) if follow and on_terminal() else None
    if follow and watcher is None:
        note("fcreview: --follow needs a terminal: printing the current items")
    with open_workspace(options) as session:
        show_queue(session, show, watcher)


def _watcher(options: WorkspaceOptions) -> FileWatcher:
    """Create the watcher. Do it before the import, so that it notices files that change meanwhile."""
    from fcreview.cli.watch import FileWatcher

    return FileWatcher(options, load_config().follow)


def show_queue(
    session: WorkspaceSession, show: OpenOptions = OpenOptions(), watcher: FileWatcher | None = None
) -> None:
    """Show the queue in the app, or print its first items (or the item) without a terminal.

    Args:
        watcher: imports changed files while the app is open.
    """
    item, run, blind = show.item, show.run, show.blind
    view = session.review_view(show.where, queue=show.queue, seed=show.seed, run=run, blind=blind)
    first = None
    if item is not None:
        from fcreview.cli.commands.show import find_item

        first = find_item(session, item, run)
    if on_terminal():
        if watcher is not None:
            watcher.runs = session.scope
        resume = not (show.where or show.queue or run or item)
        show_app(session, view, first, blind=blind, resume=resume, follow=watcher)
        return
    if blind:
        raise CommandError(
            "--blind needs a terminal, because printed items show verdicts. Use fcreview review --plain --blind to"
            " review line by line."
        )
    note("fcreview: no terminal: printing items; use fcreview review --plain to review line by line")
    if first is None:
        from fcreview.cli.commands.items import print_rows

        print_rows(session, view, PLAIN_ITEMS)
    else:
        from fcreview.cli.commands.show import print_item

        print_item(session, first)


def show_app(
    session: WorkspaceSession,
    view: View,
    first: int | None = None,
    *,
    blind: bool = False,
    adjudicate: bool = False,
    resume: bool = False,
    follow: FileWatcher | None = None,
) -> None:
    """Run the app. Exits with `FcreviewApp.return_code` if it is not 0.

    Args:
        resume: restore the annotator's last queue and position.
    """
    from fcreview.cli.wiring import golden_services, screen_services
    from fcreview.tui.app import FcreviewApp
    from fcreview.tui.session import DEFAULT_REASONS, Session, AnnotatorVocabulary
    from fcreview.tui.text.theme import set_colours

    config = load_config()
    if config.colours:
        set_colours(config.colours)
    session.close()  # the app opens the store itself while it draws the first screen
    services = screen_services(session)
    screens = Session(session.workspace, session.annotator, blind=blind, golden=golden_services(), services=services)
    screens.vocabulary = AnnotatorVocabulary(config.tags, config.reasons or DEFAULT_REASONS)
    keys = config.keys
    app = FcreviewApp(screens, view, first, key_names=keys, adjudicate=adjudicate, resume=resume, run_watcher=follow)
    if reviewed := app.run():
        journal = session.workspace.reviews / f"{session.annotator}.jsonl"
        note(f"{format_count(reviewed, 'item')} reviewed, saved in {cell_text(str(journal))}")
    if app.return_code:
        raise SystemExit(app.return_code)
