"""One item on a screen of its own."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen

from fcreview.store.rows import View
from fcreview.tui.item.cursor import Cursor
from fcreview.tui.item.reviewing import Reviewing
from fcreview.tui.screens.panes.item import ItemPane
from fcreview.tui.session import Session
from fcreview.tui.widgets.item_text import ItemText
from fcreview.tui.widgets.status import KeyLine


class ItemScreen(Screen[int]):
    """Gives the item that was on screen last (`QueueRow.item`)."""

    CSS_PATH = "item.tcss"

    def __init__(self, session: Session, view: View, item: int) -> None:
        super().__init__()
        self._item = item
        session.queue = view.file
        self._pane = ItemPane(session, view, partial(ItemScreen, session))

    def compose(self) -> ComposeResult:
        yield self._pane
        yield KeyLine(always=1, id="item-keys")

    def on_mount(self) -> None:
        self.text.focus()
        self._pane.open(self._item)

    @property
    def opening(self) -> bool:
        return self._pane.opening

    @property
    def reviewing(self) -> Reviewing:
        return self._pane.reviewing

    @property
    def text(self) -> ItemText:
        return self._pane.text

    @property
    def reader(self) -> Cursor:
        return self._pane.reader

    @property
    def target(self) -> str:
        return self._pane.target

    def on_screen_resume(self) -> None:
        self._pane.resume()

    def on_item_pane_left(self, left: ItemPane.Left) -> None:
        self.dismiss(left.item)
