"""One item on a screen of its own."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen

from fcreview.store.rows import View
from fcreview.tui.item.cursor import Cursor
from fcreview.tui.item.digits.answering import Answering
from fcreview.tui.screens.panes.item import ItemPane
from fcreview.tui.session import Session
from fcreview.tui.text.sides import TWO_FROM
from fcreview.tui.widgets.item.text import ItemText
from fcreview.tui.widgets.status import KeyLine


class ItemScreen(Screen[int]):
    """Gives the item that was on screen last (`QueueRow.item`)."""

    CSS_PATH = "item.tcss"

    def __init__(self, session: Session, view: View, item: int) -> None:
        super().__init__()
        self._item = item
        session.queue = view.file
        self.pane = ItemPane(session, view, partial(ItemScreen, session))
        self.widens = False
        """It gives way to two panes when there is room for them."""
        self.gave_way = False

    def compose(self) -> ComposeResult:
        yield self.pane
        yield KeyLine(always=1, id="item-keys")

    def on_mount(self) -> None:
        self.text.focus()
        self.pane.open(self._item)

    @property
    def opening(self) -> bool:
        return self.pane.opening

    @property
    def reviewing(self) -> Answering:
        return self.pane.reviewing

    @property
    def text(self) -> ItemText:
        return self.pane.text

    @property
    def reader(self) -> Cursor:
        return self.pane.reader

    @property
    def target(self) -> str:
        return self.pane.target

    @property
    def widened(self) -> bool:
        return self.widens and self.app.size.width >= TWO_FROM

    def on_screen_resume(self) -> None:
        self.pane.resume()
        self.on_resize()

    def on_resize(self) -> None:
        if self.widened and self.pane.in_front:
            self.gave_way = True
            self.pane.action_back()

    def on_item_pane_left(self, left: ItemPane.Left) -> None:
        self.dismiss(left.item)
