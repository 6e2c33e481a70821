"""List and item side by side on a wide screen, moving together; on any other, one of them.

Who has the focus leads. While that is the list, the item under its cursor is shown as soon as the cursor rests; while
it is the item, the list's cursor goes along with what is shown there. A verdict is always about the item that the
pane's header names: what is not there yet cannot be judged.
"""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.worker import Worker

from fcreview.store.rows import QueueRow
from fcreview.tui.queue.state import QueueState, Standing
from fcreview.tui.screens.queue_pane import QueuePane
from fcreview.tui.session import Session
from fcreview.tui.text.lines import TWO_FROM, list_cells
from fcreview.tui.widgets.base import work
from fcreview.tui.widgets.document_view import Divider, PaneTitle

if TYPE_CHECKING:
    from fcreview.tui.screens.item_pane import ItemPane

REST = 0.1
"""Seconds without another move after which the item under the cursor is read; the first move is followed at once."""
COUNTED = 0.5
"""Seconds after the last verdict at which the runs' figures are read anew."""


class Panes(Horizontal):
    DEFAULT_CSS = """
    Panes { height: 1fr; }
    Panes > #list-side { height: 1fr; width: 1fr; }
    Panes > #item-side { height: 1fr; width: 1fr; }
    """

    def __init__(self, session: Session, state: QueueState, queue: QueuePane) -> None:
        super().__init__()
        self._session, self._state, self._queue = session, state, queue
        self.item: ItemPane | None = None
        """From when it is first needed."""
        self.in_item = False
        """The item has the focus, or had it last."""
        self._making = asyncio.Lock()
        self._entering = False
        """It gets the focus as soon as it is there."""
        self._taking = False
        """An item that was shown alone is going to be shown here."""
        self._said = False
        """Something was said since the list was read."""
        self._moved = 0.0
        self._resting: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="list-side"):
            yield PaneTitle("list", id="list-title")
            yield self._queue
        yield Divider()
        with Vertical(id="item-side"):
            yield PaneTitle("item", id="item-title")

    def on_mount(self) -> None:
        self.fit()
        self.watch(self.screen, "focused", self._focus_moved, init=False)
        self.watch(self._queue.list, "cursor", self._cursor_moved, init=False)

    # -- what is shown

    @property
    def two(self) -> bool:
        return self.app.size.width >= TWO_FROM

    def fit(self) -> None:
        """Both, or the one that has the focus."""
        two = self.two
        side = self.query_one("#list-side")
        side.styles.width = list_cells(self.app.size.width) if two else "1fr"
        side.display = two or not self.in_item
        self.query_one("#item-side").display = two or self.in_item
        for framing in (self.query_one(Divider), *self.query(PaneTitle)):
            framing.display = two
        if self.item is not None:
            self.item.text.aside = self.item.action_back if two else None
        self._draw_focus()
        self._lead()

    def on_resize(self) -> None:
        self.fit()

    def _draw_focus(self) -> None:
        self.query_one("#list-title", PaneTitle).set_focused(not self.in_item)
        self.query_one("#item-title", PaneTitle).set_focused(self.in_item)
        self._queue.list.set_marked(not self.in_item)

    # -- who leads

    def _focus_moved(self, focused: Widget | None) -> None:
        """None: the terminal's window lost it, or something lies over the panes."""
        if focused is None:
            return
        in_item = self.item is not None and focused is self.item.text
        if self.item is not None and in_item != self.in_item:
            self.in_item, self.item.follows_list = in_item, not in_item
            self._draw_focus()
            self.item.draw_bars()
            if in_item:
                if self._queue.reading and not self._taking:
                    self.item.is_left = True
                self._follow()
                self.item.item_reviewer.start_pace()
            else:
                self._lead()

    def to_item(self) -> bool:
        """Gives it the focus; False where there is none."""
        if not self.two or not self._queue.list.total:
            return False
        if self.item is None:
            self._entering = True
        else:
            self.screen.set_focus(self.item.text)
        return True

    @property
    def opening(self) -> bool:
        """The item has the focus, or gets it, and is not there yet."""
        return self._entering or (self.in_item and self.item is not None and self.item.opening)

    @property
    def _item_leads(self) -> bool:
        return self.in_item and not self.opening

    # -- the list leads

    def on_queue_pane_rows(self, rows: QueuePane.Rows) -> None:
        self._said = self._said and not rows.anew
        self._lead(anew=rows.anew)

    def _cursor_moved(self) -> None:
        self._lead()

    def _lead(self, *, anew: bool = False) -> None:
        """The item under the list's cursor is wanted beside it."""
        if not self.two or self._item_leads or self._taking:
            return
        rows = self._queue.list
        row = rows.row_at(rows.cursor) if rows.total else None
        if self.item is None:
            if row is not None and not self._making.locked():
                self.call_after_refresh(self._make)  # the list is painted before
        elif row is not None:
            self.item.visible = True
            self._want(self.item, row, anew)
        elif not rows.total:
            self.item.visible = False

    def _want(self, item: ItemPane, row: QueueRow, anew: bool) -> None:
        from fcreview.tui.review.prefetch import RequestedItem

        view = self._state.view
        if not anew and item.is_showing(row.item, view):
            return
        item.request(RequestedItem(row.item, view, anew))
        before, self._moved = self._moved, monotonic()
        if self._moved - before > REST:
            self._follow()
        else:
            self._resting = self._rest()

    @work(exclusive=True, group="rest")
    async def _rest(self) -> None:
        await asyncio.sleep(REST)
        self._resting = None
        self._follow()

    def _follow(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        if self.item is not None and self.item.item_reviewer.has_request:
            self.item.item_reviewer.show_requested()

    def take_over(self, pane: ItemPane) -> None:
        """The screen has widened under an item: that one is shown beside the list, with the focus; in its place, if the
        screen is narrow again."""
        self._taking = True
        self._take_over(pane)

    @work(group="item")
    async def _take_over(self, pane: ItemPane) -> None:
        item = await self._made()
        if pane.item_reviewer.has_item:
            item.continue_from(pane)
        self.fit()
        if not self.to_item():
            self.query_one("#item-side").display = True
            self.screen.set_focus(item.text)
            self.fit()
        self._taking = False

    @work(group="item")
    async def _make(self) -> None:
        await self._made()
        self.fit()
        if self._entering:
            self._entering = False
            self.to_item()

    async def _made(self) -> ItemPane:
        """Behind the first rows: what an item needs is imported only now."""
        from fcreview.tui.screens.item_pane import ItemPane, ItemScreen

        async with self._making:
            if self.item is None:
                item = ItemPane(self._session, self._state.view, partial(ItemScreen, self._session))
                item.follows_list = True
                await self.query_one("#item-side").mount(item)
                self.item = item
                self.watch(item, "position", self._item_moved, init=False)
                item.resume()
            return self.item

    # -- the item leads

    def _item_moved(self, position: int | None) -> None:
        rows = self._queue.list
        if self._item_leads and position is not None and position < rows.total:
            rows.move_cursor(position)

    def on_item_pane_review_saved(self, saved: ItemPane.ReviewSaved) -> None:
        self._said = True
        self._queue.renew(saved.item)
        self._count()

    @work(exclusive=True, group="count")
    async def _count(self) -> None:
        await asyncio.sleep(COUNTED)
        self._queue.load_runs()

    def on_item_pane_closed(self, closed: ItemPane.Closed) -> None:
        """Back in the list, on the item that was shown, or was about to be."""
        closed.stop()
        self.query_one("#list-side").display = True
        self.screen.set_focus(self._queue.list)
        self.fit()
        if self._said:
            self._queue.load(Standing(closed.item, self._queue.list.cursor))
        else:
            self._lead()

    def resume(self) -> None:
        """Nothing lies over the panes any more."""
        if self.item is not None:
            self.item.resume()
