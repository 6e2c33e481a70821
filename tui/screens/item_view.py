"""The item screen's body: which item is shown, where the cursor stands, and how both are kept through changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from textual import work
from textual.app import ComposeResult
from textual.screen import Screen

from fcreview.review import Event, ItemKey, Said
from fcreview.store.rows import ItemDetail, View
from fcreview.tui.document.blocks import Block, BlockSource, Options
from fcreview.tui.document.document import document, first_difference, opening, stops_of, target_at
from fcreview.tui.document.header import header_line, key_line, status_line
from fcreview.tui.keys import key_hints
from fcreview.tui.queue.walk import Walk
from fcreview.tui.text.layout import Spot
from fcreview.tui.widgets.document import DocumentView, LineBar

if TYPE_CHECKING:
    from fcreview.store.store import Store


class Reviews(Protocol):
    """Who reviews here; see `store.reviewing.Reviewer`."""

    @property
    def annotator(self) -> str: ...

    def review(self, item: int, said: Said) -> Event: ...

    def undo(self) -> Event | None: ...


class ItemView(Screen[int]):
    """Shows and moves; subclasses look closer and judge."""

    def __init__(self, store: Store, reviewer: Reviews, view: View, item: int, *, blind: bool = False) -> None:
        super().__init__()
        self.store, self.reviewer, self.item, self.blind = store, reviewer, item, blind
        self.walk = Walk(store, view, item)
        self.detail = store.detail(item)
        self.blocks: list[Block] = []
        self.options = Options()
        self.inside = False
        """Moving among arguments too."""
        self.on_cursor = False
        """Verdicts are about what the cursor is on, not about the item."""
        self.message: tuple[str, str] = ("", "")
        self.seen: dict[ItemKey, int] = {self.detail.key: item}
        """Items that were shown, by what reviews call them."""
        self._ahead: dict[int, ItemDetail] = {}
        self._following: tuple[int, int | None] = (-1, None)
        """(item, the one to judge after it), as far as that was looked up."""
        self._direction = 1

    def compose(self) -> ComposeResult:
        yield LineBar(id="item-header")
        yield DocumentView(id="item-text")
        yield LineBar(id="item-status")
        yield LineBar(id="item-keys")

    def on_mount(self) -> None:
        self.text.focus()
        self._begin()
        self.call_after_refresh(self.draw_bars)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw_bars)

    @property
    def text(self) -> DocumentView:
        return self.query_one("#item-text", DocumentView)

    @property
    def hidden(self) -> bool:
        return self.blind and self.detail.row.you is None

    @property
    def cursor(self) -> int:
        return self.text.cursor or 0

    @property
    def block(self) -> Block:
        return self.blocks[self.cursor]

    def target(self) -> str:
        return target_at(self.blocks, self.cursor) if self.on_cursor else "item"

    def show_item(self, item: int, message: str = "") -> None:
        self.item = item
        self.detail = self._ahead.pop(item) if item in self._ahead else self.store.detail(item)
        self.walk.move(item)
        self.seen[self.detail.key] = item
        self.options = replace(self.options, folds={})
        self.inside = self.on_cursor = False
        self.message = (message, "good")
        self._begin()

    def reload(self, message: str = "") -> None:
        """The same item after something was said of it."""
        self.detail = self.store.detail(self.item)
        self.message = (message, "good")
        self.rebuild()

    def _begin(self) -> None:
        """An item from its top; a trajectory where it first fails."""
        self._build()
        start = opening(self.blocks)
        self.text.show(BlockSource(self.blocks), cursor=start)
        self.go(start)
        self.call_after_refresh(self._look_ahead, self.item, self._direction)

    def _build(self, key: str = "") -> None:
        argument = key.partition("/arg:")[2] or None
        options = replace(self.options, hidden=self.hidden, argument=argument)
        self.blocks = document(self.detail, self.reviewer.annotator, options)

    def rebuild(self, at: str | None = None) -> None:
        """Built anew with cursor and place kept by block key; `at` puts the cursor elsewhere."""
        layout, before = self.text.layout_, self.blocks
        top = (before[layout.top[0]].key, layout.top[1]) if layout and before else ("", 0)
        wanted = at or (self.block.key if before else "")
        self._build(wanted)
        cursor = self.index_of(wanted)
        start = Spot(self.index_of(top[0], 0), 0)
        if self.blocks[start.block].key == top[0]:
            start = Spot(start.block, top[1])
        self.text.show(BlockSource(self.blocks), top=start, cursor=cursor)
        self.go(cursor)

    def index_of(self, key: str, default: int | None = None) -> int:
        """The block of a key, or of the nearest enclosing address that is there."""
        places = {block.key: at for at, block in enumerate(self.blocks)}
        while key:
            if key in places:
                return places[key]
            key = key.rpartition("/")[0]
        return opening(self.blocks) if default is None else default

    def forget_ahead(self) -> None:
        """What was read ahead may no longer be so."""
        self._ahead = {}
        self._following = (-1, None)

    def following(self) -> int | None:
        """The item to judge after this one; None if there is no other."""
        item, following = self._following
        return following if item == self.item else self.walk.needing(self.item)

    @work(thread=True, exclusive=True, group="ahead")
    def _look_ahead(self, item: int, direction: int) -> None:
        """What is likely to be shown next is read while this item is being looked at. A failure here is none of the
        reader's: the item is read again when it is shown."""
        known, ahead = self._ahead, {}
        try:
            following = self.walk.needing(item)
            for near in {following, self.walk.neighbour(direction)} - {item}:
                if near is not None:
                    ahead[near] = known.get(near) or self.store.detail(near)
        except Exception:  # the store may have been closed meanwhile
            return
        if self.item == item and self._ahead is known:
            self._ahead, self._following = ahead, (item, following)

    def say(self, message: str, style: str = "good") -> None:
        self.message = (message, style)
        self.draw_bars()

    def draw_bars(self) -> None:
        cells, walk = self.app.size.width, self.walk
        header = header_line(self.detail, walk.position, walk.count, cells, hidden=self.hidden)
        self.query_one("#item-header", LineBar).show(header)
        share = self.text.layout_.share if self.text.layout_ else 0
        status = status_line(self.message, self.target(), share, self.inside, cells)
        self.query_one("#item-status", LineBar).show(status)
        self.query_one("#item-keys", LineBar).show(key_line(key_hints(self), cells))

    def go(self, index: int, row: int = 0) -> None:
        """The cursor to a block, its row on screen."""
        self.text.cursor = index
        self.text.redraw()
        self.text.reveal(index, row, whole=row == 0)
        self.draw_bars()

    def _ahead_of(self, stops: list[int], step: int) -> int | None:
        if step > 0:
            return next((at for at in stops if at > self.cursor), None)
        return next((at for at in reversed(stops) if at < self.cursor), None)

    def action_move(self, step: int) -> None:
        """To the next stop; behind the last one, the text scrolls."""
        self.message = ("", "")
        at = self._ahead_of(stops_of(self.blocks, arguments=self.inside), step)
        if at is None:
            self.action_scroll(step * 3)
        else:
            self.go(at)

    def action_turn(self, step: int) -> None:
        turns = [n for n, block in enumerate(self.blocks) if block.key.startswith("turn:") and "/" not in block.key]
        at = self._ahead_of(turns, step)
        if at is not None:
            self.go(at)

    def action_scroll(self, rows: int) -> None:
        self.text.scroll_rows(rows)
        self.draw_bars()

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self.text.size.height - 1, 1))

    def action_edge(self, side: int) -> None:
        self.text.scroll_edge(side)
        self.draw_bars()

    def on_document_view_scrolled(self) -> None:
        self.draw_bars()

    def action_difference(self) -> None:
        at = first_difference(self.blocks)
        if at is None:
            self.say("no difference between golden and predicted calls", "warn")
            return
        self.inside = self.inside or self.blocks[at].argument
        self.go(at)

    def action_arguments(self) -> None:
        self.inside = not self.inside
        if not self.inside:
            self.go(self.index_of(self.block.key.partition("/arg:")[0]))
            return
        at = next((n for n in range(self.cursor, len(self.blocks)) if self.blocks[n].argument), None)
        if at is None:
            self.inside = False
            self.say("no arguments below the cursor", "warn")
        else:
            self.go(at)

    def action_target(self) -> None:
        self.on_cursor = not self.on_cursor
        self.draw_bars()

    def action_step(self, step: int) -> None:
        self._direction = step
        item = self.walk.neighbour(step)
        if item is not None:
            self.show_item(item)
            return
        first = self.walk.left(self.item)[1] if step > 0 and self.detail.row.you is not None else None
        if first is not None:
            self.show_item(first, "from the end of the queue to the first item left unreviewed")
        else:
            self.say("this is the last item" if step > 0 else "this is the first item", "warn")

    def action_back(self) -> None:
        self.dismiss(self.item)
