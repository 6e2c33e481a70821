"""The same item in other runs: a list to choose from, and the item of that run over the one on screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.sanitise import visible
from fcreview.store.rows import View
from fcreview.tui.item.closer.elsewhere import choices, read
from fcreview.tui.item.status import Remark
from fcreview.tui.screens.pick import PickScreen

if TYPE_CHECKING:
    from fcreview.tui.item.judging import About
    from fcreview.tui.screens.closer.host import Host
    from fcreview.tui.session import Session


async def show_elsewhere(screen: Host, session: Session, about: About) -> None:
    """What is chosen is opened over this item, which is there again when that is left; `]` and `[` lead from run to
    run."""
    item = about.item
    if screen.reader.hidden:
        screen.say(Remark("other runs are shown when you have decided", "warn"))
        return
    try:
        runs = await session.ask(lambda store: read(store, item))
    except Exception as error:  # what cannot be read must not end the program
        screen.say(Remark(visible(str(error) or type(error).__name__), "bad"))
        return
    if not screen.in_front or screen.reviewing.shown.item != item:
        return  # gone on meanwhile
    if len(runs) < 2:
        screen.say(Remark("no other run here has this item", "warn"))
        return
    view = View(f"item:{','.join(str(each.row.item) for each in runs)}", "dataset")

    def opened(chosen: int | None) -> None:
        if chosen is not None and chosen != item:
            screen.app.push_screen(screen.another(view, chosen))

    screen.app.push_screen(PickScreen(choices(runs, item)), opened)
