"""A text of the item in the pager: what is too long to unfold in place, and the records as they stand in the files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fcreview.tui.document.records import joined
from fcreview.tui.item.raw import raw_records
from fcreview.tui.item.status import Remark
from fcreview.tui.screens.pager import PagerScreen, Text

if TYPE_CHECKING:
    from fcreview.tui.screens.closer.host import Host
    from fcreview.tui.session import Session


def show_text(screen: Host, session: Session, title: str, text: str | Callable[[], Awaitable[Text]]) -> None:
    name = f"{screen.reviewing.shown.detail.row.id} · {title}"
    screen.app.push_screen(PagerScreen(name, text, find=screen.reader.sought, folder=session.folder))


def show_records(screen: Host, session: Session) -> None:
    if screen.reader.hidden:
        screen.say(Remark("records may tell verdicts: they are shown when you have decided", "warn"))
        return
    shown = screen.reviewing.shown

    async def load() -> Text:
        records = await raw_records(session, shown.item, shown.detail.item)
        return Text(joined(records, indented=False), joined(records, indented=True))

    show_text(screen, session, "records", load)
