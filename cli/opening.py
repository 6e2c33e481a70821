"""From paths to the queue on the screen. Needs no Typer, so that the plain `fcreview open PATH` starts without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.cli.common import Place, opened
from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError
from fcreview.cli.opened import Opened
from fcreview.cli.output import note, on_terminal

if TYPE_CHECKING:
    from fcreview.store.rows import View

PLAIN_ITEMS = 40


def open_place(
    place: Place,
    *,
    item: str | None = None,
    queue: str | None = None,
    seed: int = 0,
    where: str = "",
    run: str | None = None,
    blind: bool = False,
) -> None:
    """Imports what is new and shows the queue; see `fcreview open --help`."""
    with opened(place) as session:
        show_queue(session, item=item, queue=queue, seed=seed, where=where, run=run, blind=blind)


def show_queue(
    session: Opened,
    *,
    item: str | None = None,
    queue: str | None = None,
    seed: int = 0,
    where: str = "",
    run: str | None = None,
    blind: bool = False,
) -> None:
    """The app on a terminal, else the head of the queue, or the item, as text."""
    view = session.to_review(where, queue=queue, seed=seed, run=run, blind=blind)
    first = None
    if item is not None:
        from fcreview.cli.commands.reading.show import one_item

        first = one_item(session, item, run)
    if on_terminal():
        show_app(session, view, first, blind=blind, resume=not (where or queue or run or item))
        return
    if blind:
        raise CommandError(
            "--blind needs a terminal: lists and items as text show verdicts; fcreview review --plain --blind asks line"
            " by line"
        )
    note("fcreview: no terminal here: plain text instead of the app; fcreview review --plain asks line by line")
    if first is None:
        from fcreview.cli.commands.reading.items import print_rows

        print_rows(session, view, PLAIN_ITEMS)
    else:
        from fcreview.cli.commands.reading.show import print_item

        print_item(session, first)


def show_app(
    session: Opened,
    view: View,
    first: int | None = None,
    *,
    blind: bool = False,
    adjudicate: bool = False,
    resume: bool = False,
) -> None:
    """The screens, until they are left. Ends the program with `FcreviewApp.return_code` if that is not 0.

    `resume`: the queue as this annotator left it.
    """
    from fcreview.cli.finding.lending import lend_golden, lend_screens
    from fcreview.tui.app import FcreviewApp
    from fcreview.tui.session import Session
    from fcreview.tui.text.theme import choose

    config = load_config()
    if config.colours:
        choose(config.colours)
    session.close()  # the app opens the store itself, behind its first screen
    lent = lend_screens(session)
    screens = Session(session.workspace, session.annotator, blind=blind, golden=lend_golden(), lent=lent)
    app = FcreviewApp(screens, view, first, key_names=config.keys, adjudicate=adjudicate, resume=resume)
    app.run()
    if app.return_code:
        raise SystemExit(app.return_code)
