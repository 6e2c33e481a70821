"""From paths to the queue on the screen. Needs no Typer, so that the plain `fcreview open PATH` starts without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError
from fcreview.cli.output import note, on_terminal, text_of
from fcreview.cli.workspace import Opened, Place, opened
from fcreview.model.wording import count_of

if TYPE_CHECKING:
    from fcreview.cli.watch import FileWatcher
    from fcreview.store.rows import View

PLAIN_ITEMS = 40


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be shown first, and how."""

    item: str | None = None
    queue: str | None = None
    seed: int = 0
    where: str = ""
    run: str | None = None
    blind: bool = False


def open_place(place: Place, asked: Asked = Asked(), *, follow: bool = False) -> None:
    """Imports what is new and shows the queue; see `fcreview open --help`."""
    watching = _watching(place) if follow and on_terminal() else None
    if follow and watching is None:
        note("fcreview: --follow needs a terminal: this is what is there now")
    with opened(place) as session:
        show_queue(session, asked, watching)


def _watching(place: Place) -> FileWatcher:
    """Made before the import: what changes meanwhile is seen."""
    from fcreview.cli.watch import FileWatcher

    return FileWatcher(place, load_config().follow)


def show_queue(session: Opened, asked: Asked = Asked(), watching: FileWatcher | None = None) -> None:
    """The app on a terminal, else the head of the queue, or the item, as text. With `watching` what changes is taken in
    while the app is open."""
    item, run, blind = asked.item, asked.run, asked.blind
    view = session.to_review(asked.where, queue=asked.queue, seed=asked.seed, run=run, blind=blind)
    first = None
    if item is not None:
        from fcreview.cli.commands.show import one_item

        first = one_item(session, item, run)
    if on_terminal():
        if watching is not None:
            watching.runs = session.scope
        resume = not (asked.where or asked.queue or run or item)
        show_app(session, view, first, blind=blind, resume=resume, follow=watching)
        return
    if blind:
        raise CommandError(
            "--blind needs a terminal: lists and items as text show verdicts; fcreview review --plain --blind asks line"
            " by line"
        )
    note("fcreview: no terminal here: plain text instead of the app; fcreview review --plain asks line by line")
    if first is None:
        from fcreview.cli.commands.items import print_rows

        print_rows(session, view, PLAIN_ITEMS)
    else:
        from fcreview.cli.commands.show import print_item

        print_item(session, first)


def show_app(
    session: Opened,
    view: View,
    first: int | None = None,
    *,
    blind: bool = False,
    adjudicate: bool = False,
    resume: bool = False,
    follow: FileWatcher | None = None,
) -> None:
    """The screens, until they are left. Ends the program with `FcreviewApp.return_code` if that is not 0.

    `resume`: the queue as this annotator left it.
    """
    from fcreview.cli.wiring import lend_golden, lend_screens
    from fcreview.tui.app import FcreviewApp
    from fcreview.tui.session import REASONS, Session, Vocabulary
    from fcreview.tui.text.theme import choose

    config = load_config()
    if config.colours:
        choose(config.colours)
    session.close()  # the app opens the store itself, behind its first screen
    services = lend_screens(session)
    screens = Session(session.workspace, session.annotator, blind=blind, golden=lend_golden(), services=services)
    screens.vocabulary = Vocabulary(config.tags, config.reasons or REASONS)
    keys = config.keys
    app = FcreviewApp(screens, view, first, key_names=keys, adjudicate=adjudicate, resume=resume, follow=follow)
    if reviewed := app.run():
        kept = session.workspace.reviews / f"{session.annotator}.jsonl"
        note(f"{count_of(reviewed, 'item')} reviewed, kept in {text_of(str(kept))}")
    if app.return_code:
        raise SystemExit(app.return_code)
