"""Show list and item side by side on a wide screen. A narrow screen shows only the list or only the
item.

While the list has the focus, the item pane shows the item under the list's cursor as soon as the
cursor rests. While the item pane has the focus, the list's cursor follows the displayed item. A
verdict always applies to the item that the header names.
"""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from fcreview.store.rows import QueueRow
from fcreview.tui.queue_state import CursorPosition, QueueState
from fcreview.tui.screens.queue_pane import QueuePane
from fcreview.tui.session import Session
from fcreview.tui.text.lines import TWO_PANES_MIN_WIDTH, list_pane_width
from fcreview.tui.widgets.base import Panel, is_small_screen, work
from fcreview.tui.widgets.document_view import Divider

if TYPE_CHECKING:
    from fcreview.tui.screens.item_pane import ItemPane

REST_DELAY = 0.1
"""Seconds after the last of several cursor moves until the item is read.

After a single move, it is read at once.
"""
MAX_OUTDATED_TIME = 0.3
"""Seconds after a move of the list's cursor for which the item before may stay beside the list."""
COUNT_DELAY = 0.5
"""Seconds after the last verdict until the pass rates are read again."""


class SplitView(Horizontal):
    """Container of the list pane and the item pane."""

    DEFAULT_CSS = """
    SplitView { height: 1fr; }
    SplitView > #list-side { height: 1fr; width: 1fr; }
    SplitView > #item-side { height: 1fr; width: 1fr; }
    """

    def __init__(self, session: Session, state: QueueState, queue: QueuePane) -> None:
        """Begin with the list only. The item pane is created when it is first needed."""
        super().__init__()
        self._session = session
        self._state = state
        self._queue = queue
        self._has_new_reviews = False
        """Whether an item was reviewed since the list was last read."""

        self.item_pane: ItemPane | None = None
        """Item pane. None until it is first needed."""
        self._creation_lock = asyncio.Lock()
        """Held while the item pane is created, so that it is created once."""
        self.is_item_focused = False
        """Whether the item pane, and not the list, was focused last."""
        self._focus_when_created = False
        """Whether the item pane gets the focus as soon as it exists."""
        self._is_taking_over = False
        """Whether the item pane is taking over the item of a closed `ItemScreen`."""

        # While the cursor of the list moves quickly, its item is shown only after a delay.
        self._last_move = 0.0
        """Time of the last move of the list's cursor, in seconds of the monotonic clock."""
        self._delayed_request: Worker[None] | None = None
        """Task that shows the item after the delay. None if no item is delayed."""
        self._hide_timer: Timer | None = None
        """Timer after which the pane no longer shows an item that is not at the list's cursor."""

    def compose(self) -> ComposeResult:
        with Vertical(id="list-side"):
            yield self._queue
        yield Divider()
        yield Vertical(id="item-side")

    def on_mount(self) -> None:
        self.layout_panes()
        self.watch(self.screen, "focused", self._update_focus, init=False)
        self.watch(self._queue.list, "cursor", lambda: self._show_current_item(), init=False)

    # -- layout

    @property
    def is_split(self) -> bool:
        """Whether the terminal is wide enough for both panes."""
        return self.app.size.width >= TWO_PANES_MIN_WIDTH

    def layout_panes(self) -> None:
        """Show the list and the item side by side or, in a narrow terminal, only the focused
        pane.
        """
        is_split = self.is_split
        list_side = self.query_one("#list-side")
        list_side.styles.width = list_pane_width(self.app.size.width) if is_split else "1fr"
        list_side.display = is_split or not self.is_item_focused
        self.query_one("#item-side").display = is_split or self.is_item_focused

        # Without borders, a divider separates the panes.
        has_no_borders = is_small_screen(self.app.size)
        self._queue.query_one(Panel).set_flat(has_no_borders)
        divider = self.query_one(Divider)
        divider.display = is_split
        divider.visible = has_no_borders

        # Beside a list, the key that moves left from the item focuses the list.
        if self.item_pane is not None:
            self.item_pane.text.focus_list = self.item_pane.action_back if is_split else None
        self._draw_focus()
        self._show_current_item()

    def on_resize(self) -> None:
        self.layout_panes()

    def _draw_focus(self) -> None:
        """Mark the pane with the focus, if both panes are on screen."""
        self._queue.list.set_reverse_cursor(not self.is_item_focused)
        self._queue.mark_as_focused(self.is_split and not self.is_item_focused)
        if self.item_pane is not None:
            self.item_pane.mark_as_focused(self.is_split and self.is_item_focused)

    def draw_item_header(self) -> None:
        """Draw the header of the item again: its run name depends on the names of all runs."""
        if self.item_pane is not None:
            self.item_pane.draw_bars()

    # -- focus

    def _update_focus(self, focused: Widget | None) -> None:
        """Adapt the panes when the focus goes from the list to the item, or back.

        While the list has the focus, the item pane shows the item under its cursor.
        """
        # The terminal lost the focus, or another screen is on top.
        if focused is None or self.item_pane is None:
            return
        is_item_focused = focused is self.item_pane.text
        if is_item_focused == self.is_item_focused:
            return

        if is_item_focused and not self._is_taking_over:
            # The list can have changed a moment ago, so that the pane does not know its item yet.
            # This must be before the pane has the focus, because then it keeps its item.
            self._show_current_item()
        self.is_item_focused = is_item_focused
        self.item_pane.follows_list = not is_item_focused
        self._draw_focus()
        self.item_pane.draw_bars()

        if is_item_focused:
            self._start_review(self.item_pane)
        else:
            self._show_current_item()

    def _start_review(self, item_pane: ItemPane) -> None:
        """Let the pane, which has got the focus, show its item without delay and measure the pace.

        No review is possible until the list knows the item. But the item of another screen that
        this pane takes over does not come from the list.
        """
        is_row_missing = self._queue.is_loading or self._is_row_at_cursor_missing
        if is_row_missing and not self._is_taking_over:
            item_pane.is_awaiting_list = True
        self._show_requested_item()
        item_pane.item_reviewer.start_measuring_pace()

    @property
    def _is_row_at_cursor_missing(self) -> bool:
        """Whether the list beside the item still reads the row under its cursor."""
        rows = self._queue.list
        return self.is_split and rows.total > 0 and rows.row_at(rows.cursor) is None

    def focus_item(self) -> bool:
        """Focus the item pane, now or as soon as it exists. Return False without an item or without
        room for two panes.
        """
        if not self.is_split or not self._queue.list.total:
            return False
        if self.item_pane is None:
            self._focus_when_created = True
        else:
            self.screen.set_focus(self.item_pane.text)
        return True

    @property
    def is_item_loading(self) -> bool:
        """Whether the item of the focused item pane is still being read."""
        if self._focus_when_created:
            return True
        if not self.is_item_focused or self.item_pane is None:
            return False
        return self.item_pane.is_item_loading

    @property
    def _list_follows_item(self) -> bool:
        """Whether the list's cursor moves to the item of the pane.

        Otherwise, the pane shows the item at the cursor.
        """
        return self.is_item_focused and not self.is_item_loading

    # -- the list has the focus

    def on_queue_pane_rows_loaded(self, rows: QueuePane.RowsLoaded) -> None:
        self._has_new_reviews = self._has_new_reviews and not rows.is_reread
        self._show_current_item(reread=rows.is_reread)

    def on_queue_pane_rows_hidden(self) -> None:
        self._show_current_item()

    def _show_current_item(self, *, reread: bool = False) -> None:
        """Show the item under the list's cursor in the pane beside the list.

        Nothing changes while the pane has the focus, while it gets the item of another screen, or
        while other rows are being loaded. With `reread`, the item is read again.
        """
        if not self.is_split or self._list_follows_item:
            return
        if self._is_taking_over or self._queue.is_changing_view:
            return

        # An empty list has no item to show.
        rows = self._queue.list
        if not rows.total:
            if self.item_pane is not None:
                self.item_pane.visible = False
            return

        # If the row is still being loaded, this method is called again when it is there.
        row = rows.row_at(rows.cursor)
        if row is None:
            return

        # The pane is created for the first item, after the list is drawn.
        if self.item_pane is None:
            is_being_created = self._creation_lock.locked()
            if not is_being_created:
                self.call_after_refresh(self._create_item_pane)
            return
        self._request_item(self.item_pane, row, reread)
        self._reveal(self.item_pane)

    def _reveal(self, item_pane: ItemPane) -> None:
        """Show a pane that was hidden beside an empty list, with its focus."""
        if not item_pane.visible:
            # The item from before the list was read again does not appear once more.
            item_pane.hide_outdated_item()
            item_pane.visible = True
        # Textual takes the focus from a hidden pane.
        if self.is_item_focused and self.screen.focused is None:
            self.screen.set_focus(item_pane.text)

    def _request_item(self, item_pane: ItemPane, row: QueueRow, reread: bool) -> None:
        """Show the item of a row in the item pane.

        While the cursor moves quickly, wait until it rests, so that not every item is read.
        """
        from fcreview.tui.review.prefetch import RequestedItem

        view = self._state.view
        if not reread and item_pane.is_showing(row.item, view):
            return
        item_pane.request_item(RequestedItem(row.item, view=view, is_reread=reread))
        self._hide_outdated_item_later(item_pane)

        previous_move = self._last_move
        self._last_move = monotonic()
        if self._last_move - previous_move > REST_DELAY:
            self._show_requested_item()
        else:
            self._delayed_request = self._show_requested_item_later()

    def _hide_outdated_item_later(self, item_pane: ItemPane) -> None:
        """If reading the requested item takes long, say so instead of showing another item."""
        if self._hide_timer is not None:
            self._hide_timer.stop()
        self._hide_timer = self.set_timer(MAX_OUTDATED_TIME, item_pane.hide_outdated_item)

    @work(exclusive=True, group="rest")
    async def _show_requested_item_later(self) -> None:
        await asyncio.sleep(REST_DELAY)
        self._delayed_request = None
        self._show_requested_item()

    def _show_requested_item(self) -> None:
        """Show the item under the cursor of the list now, instead of after a delay."""
        if self._delayed_request is not None:
            self._delayed_request.cancel()
            self._delayed_request = None
        if self.item_pane is not None and self.item_pane.item_reviewer.has_requested_item:
            self.item_pane.item_reviewer.show_requested_item()

    def take_over_item(self, pane: ItemPane) -> None:
        """Show and focus the item of `pane`, whose `ItemScreen` closed because the terminal
        became wide.
        """
        self._is_taking_over = True
        self._take_over_item(pane)

    @work(group="item")
    async def _take_over_item(self, pane: ItemPane) -> None:
        """Show the item of a closed item screen in the item pane, with its cursor and its queued
        actions.
        """
        item = await self._get_item_pane()
        if pane.item_reviewer.has_item:
            item.copy_state_from(pane)
        self.layout_panes()
        if not self.focus_item():
            self.query_one("#item-side").display = True
            self.screen.set_focus(item.text)
            self.layout_panes()
        self._is_taking_over = False

    @work(group="item")
    async def _create_item_pane(self) -> None:
        await self._get_item_pane()
        self.layout_panes()
        if self._focus_when_created:
            self._focus_when_created = False
            self.focus_item()

    async def _get_item_pane(self) -> ItemPane:
        """Return the item pane.

        It is created on first use, because importing its modules would delay the list.
        """
        from fcreview.tui.screens.item_pane import ItemPane, ItemScreen

        async with self._creation_lock:
            if self.item_pane is None:
                pane = ItemPane(self._session, self._state.view, partial(ItemScreen, self._session))
                pane.follows_list = True
                await self.query_one("#item-side").mount(pane)
                # The list may have become empty meanwhile.
                pane.visible = self._is_taking_over or bool(self._queue.list.total)
                self.item_pane = pane
                self.watch(pane, "position", self._move_list_cursor, init=False)
                pane.resume()
            return self.item_pane

    # -- the item has the focus

    def _move_list_cursor(self, position: int | None) -> None:
        rows = self._queue.list
        if self._list_follows_item and position is not None and position < rows.total:
            rows.move_cursor(position)

    def on_item_pane_review_saved(self, saved: ItemPane.ReviewSaved) -> None:
        """Update the list after a review: the row of its item, or all rows if other items changed
        too.
        """
        self._has_new_reviews = True
        if saved.item is None:
            self._queue.reload_rows()
        else:
            self._queue.reload_row(saved.item)
        self._reload_rates_later()

    @work(exclusive=True, group="count")
    async def _reload_rates_later(self) -> None:
        await asyncio.sleep(COUNT_DELAY)
        self._queue.load_progress()
        self._queue.load_runs()

    def on_item_pane_closed(self, closed: ItemPane.Closed) -> None:
        """Focus the list, with the cursor on the closed item."""
        closed.stop()
        self.query_one("#list-side").display = True
        self.screen.set_focus(self._queue.list)
        self.layout_panes()
        if self._has_new_reviews:
            self._queue.load_view(CursorPosition(closed.item, self._queue.list.cursor))
        else:
            self._show_current_item()

    def resume(self) -> None:
        """Resume the item pane after a screen that covered the panes has closed."""
        if self.item_pane is not None:
            self.item_pane.resume()
