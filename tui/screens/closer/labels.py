"""Labels of a response, such as dialog acts: a list to set and clear, and what is set is the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.sanitise import visible
from fcreview.targets import RESPONSE
from fcreview.tui.item.closer.labelling import asked_labels, offered
from fcreview.tui.item.status import Remark
from fcreview.tui.screens.tags import TagsScreen

if TYPE_CHECKING:
    from fcreview.tui.item.judging import About
    from fcreview.tui.screens.closer.host import Host
    from fcreview.tui.session import Session


async def ask_labels(screen: Host, session: Session, about: About) -> None:
    """Of the first criterion on which the benchmark gives labels."""
    try:
        criteria = await session.ask(lambda store: asked_labels(store, about.item))
    except Exception as error:  # what cannot be read must not end the program
        screen.say(Remark(visible(str(error) or type(error).__name__), "bad"))
        return
    if not screen.in_front or screen.reviewing.shown.item != about.item:
        return  # gone on meanwhile
    if not criteria:
        screen.say(Remark("responses have no labels here", "warn"))
        return
    criterion = criteria[0]
    choice = offered(about.detail, session.annotator, criterion)

    def take(labels: list[str] | None) -> None:
        if labels is not None:
            judging = screen.reviewing.judging
            screen.reviewing.judge(about, lambda latest: judging.labels(latest, criterion, labels))

    screen.app.push_screen(
        TagsScreen(choice.labels, choice.chosen, name=RESPONSE, what=criterion.replace("_", " ")), take
    )
