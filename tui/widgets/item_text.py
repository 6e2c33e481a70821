"""Widgets that show an item: its document with a cursor, and on wide screens the function docs beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import reactive

from fcreview.model.sanitize import visible
from fcreview.store.rows import ItemDetail
from fcreview.tui.actions import ITEM_TEXT
from fcreview.tui.item_view.blocks import BlockSource, Scene, scene
from fcreview.tui.item_view.document import decisive, extent
from fcreview.tui.item_view.function_docs import NOTHING, Beside, Under, foot_lines, offered, under
from fcreview.tui.key_bindings import bindings, key_names
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.status import SILENT, Remark
from fcreview.tui.text.layout import START, Spot
from fcreview.tui.text.lines import Line, document_cells
from fcreview.tui.widgets.document_view import Divider, DocumentView


class ItemText(DocumentView):
    """Document of an item with a cursor, and the keys that move the cursor, fold and search. Empty until `open`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(ITEM_TEXT)

    moves = reactive(0, repaint=False, init=False)
    """Number of times that the cursor or the text moved. The screen watches it to draw its bars in the same frame."""

    @dataclass
    class Opened(Message):
        """Posted when a text that is too long to unfold in place was opened."""

        title: str
        text: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.reader: Cursor | None = None
        self.remark: Remark | None = None
        """Message about the last move. None leaves the previous message on screen."""
        self.aside: Callable[[], None] | None = None
        """Function that moves the focus to the list beside the item, if there is a list."""
        self.documented = False
        """Whether the function docs are shown beside the text."""
        self._scene: Scene | None = None

    @property
    def share(self) -> int:
        """Percentage of the document above the bottom of the screen."""
        return self.layout_.share if self.layout_ else 0

    @property
    def copied(self) -> str:
        """Text that copying the block under the cursor yields."""
        block = self.reading.block
        if block.copy is not None:
            return json.dumps(block.copy(), ensure_ascii=False, indent=2, default=str)
        return block.full() if block.full is not None else self.reading.detail.row.id

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return self.reader is not None

    def open(self, reader: Cursor) -> None:
        """Show another item, with the cursor where `reader` has it."""
        self.reader = reader
        self.show(BlockSource(reader.blocks), cursor=reader.at)
        self._show_cursor()
        self.reveal(decisive(reader.blocks, reader.at))

    def go_on_from(self, other: ItemText) -> None:
        """Take over the item of another widget with its cursor, folds and scroll position."""
        self.reader, self.find = other.reading, other.find
        top = other.layout_.top if other.layout_ is not None else START
        self.show(BlockSource(self.reading.blocks), top=top, cursor=self.reading.at)
        self._show_cursor()

    def renew(self, detail: ItemDetail) -> None:
        """Show the same item with a changed review."""
        top = self._top_row()
        self.reading.renew(detail)
        self._show_blocks(top)

    def take_in(self, detail: ItemDetail, remark: Remark | None) -> None:
        """Show the same item after a reload. If its document has not changed, nothing is redrawn."""
        top, blocks = self._top_row(), self.reading.blocks
        self.reading.renew(detail)
        if self.reading.blocks != blocks:
            self._show_blocks(top, remark)
        else:
            self._notify_moved(remark)

    @property
    def reading(self) -> Cursor:
        """Cursor of the item on display.

        Raises:
            RuntimeError: No item is open. Keys do nothing then, so only an error in the program causes this.
        """
        if self.reader is None:
            raise RuntimeError("no item")
        return self.reader

    def put_on_top(self, index: int) -> None:
        """Scroll so that a block is at the top of the screen, unless the document ends before the screen is full."""
        if self.layout_ is not None:
            self.layout_.go(Spot(index, 0))
            self.redraw()
            self._notify_moved()

    def _top_row(self) -> tuple[str, int]:
        """Return (block key, row) at the top of the screen, to restore it after the document was rebuilt."""
        layout = self.layout_
        return (self.reading.blocks[layout.top.block].key, layout.top.row) if layout else ("", 0)

    def _show_blocks(self, top: tuple[str, int], remark: Remark | None = None) -> None:
        """Show the rebuilt document from the row that `_top_row` returned before."""
        key, row = top
        at = self.reading.index_of(key, 0)
        position = Spot(at, row if self.reading.blocks[at].key == key else 0)
        self.show(BlockSource(self.reading.blocks), top=position, cursor=self.reading.at)
        self._show_cursor(remark=remark)

    def _show_cursor(self, row: int = 0, remark: Remark | None = None) -> None:
        """Draw the cursor and scroll to it: to its whole block if it fits, or to `row` of the block."""
        self.cursor = self.reading.at
        self.foot = partial(self._footer_lines, self.reading.block.key)
        self.redraw()
        self.reveal(self.cursor, row, whole=row == 0)
        self._notify_moved(remark)

    def _show_extent(self) -> None:
        """Scroll to show as much as fits of the text that a verdict at the cursor is about.

        Otherwise an annotator could answer a judge whose reply is below the screen.
        """
        at = self.reading.at
        until = extent(self.reading.blocks, at)
        if until > at:
            self.reveal(until)
            self.reveal(at, also=True)

    def _footer_lines(self, key: str, free: int) -> Sequence[Line]:
        if self.documented:
            return ()
        return foot_lines(self._item_scene, key, self.cells, free, whole=not self.reading.options.documents)

    @property
    def under(self) -> Under:
        """Functions and parameter at the cursor, or of the nearest call, or all available functions."""
        reading, indexed = self.reading, self._item_scene
        return under(indexed, reading.block.key) or under(indexed, reading.call_here or "") or offered(indexed)

    @property
    def _item_scene(self) -> Scene:
        item = self.reading.detail.item
        if self._scene is None or self._scene.item is not item:
            self._scene = scene(item)
        return self._scene

    def _notify_moved(self, remark: Remark | None = None) -> None:
        self.remark = remark
        self.moves += 1

    def _warn(self, text: str) -> None:
        self._notify_moved(Remark(text, "warn"))

    def go_to(self, target: str) -> bool:
        """Move to the block at which a verdict on the target is given. Return False if there is none."""
        found = self.reading.to(target)
        self.show(BlockSource(self.reading.blocks), cursor=self.reading.at)
        self._show_cursor()
        self._show_extent()
        return found

    def action_move(self, step: int) -> None:
        """Move to the next stop. After the last one, scroll."""
        blocks, top = self.reading.blocks, self._top_row()
        if self.reading.step(step):
            if self.reading.blocks is not blocks:
                self._show_blocks(top, SILENT)
            else:
                self._show_cursor(remark=SILENT)
            self._show_extent()
        else:
            self.scroll_rows(step * 3)
            self._notify_moved(SILENT)

    def action_turn(self, step: int) -> None:
        if self.reading.turn(step):
            self._show_cursor()

    def action_scroll(self, rows: int) -> None:
        self.scroll_rows(rows)
        self._notify_moved()

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self.size.height - 1, 1))

    def action_edge(self, side: int) -> None:
        self.scroll_edge(side)
        self._notify_moved()

    def action_difference(self) -> None:
        if self.reading.difference():
            self._show_cursor()
        else:
            self._warn("no difference between golden and predicted calls")

    def action_arguments(self) -> None:
        if self.reading.arguments():
            self._show_cursor()
        else:
            self._warn("no arguments below the cursor")

    def action_aside(self) -> None:
        if self.aside is not None:
            self.aside()
        else:
            self.action_arguments()

    def action_fold(self) -> None:
        block, top = self.reading.block, self._top_row()
        if self.reading.fold():
            self._show_blocks(top, SILENT)
        elif block.full is not None:
            self.post_message(self.Opened(block.title, block.full()))

    def action_dialogue(self) -> None:
        top = self._top_row()
        self.reading.dialogue()
        key = key_names(self.app).get("item.dialogue", "")
        message = f"full dialogue; press {key} for the short one" if self.reading.options.dialogue else ""
        self._show_blocks(top, Remark(message))

    def action_document(self) -> None:
        """Show the docs of the golden call's function, then the predicted call's, then all, then none."""
        top = self._top_row()
        block = self.reading.function()
        if block is None:
            self._warn("no functions are available here")
            return
        documents = self.reading.options.documents
        message = f"function docs: {documents}, here and in the next items" if documents else "function docs hidden"
        self._show_blocks(top, Remark(message))
        if documents:
            self.reveal(self.reading.blocks.index(block))
            self.reveal(self.reading.at, whole=False)

    def action_search_again(self, by: int) -> None:
        if self.reading.sought:
            self.search(self.reading.sought, by)
        else:
            self._warn(f"nothing to search for; press {key_names(self.app).get('item.search', '')} to search")

    def search(self, wanted: str, by: int = 1) -> None:
        """Move to the next (1) or previous (-1) match."""
        top = self._top_row()
        self.find = wanted.casefold()
        match = self.reading.search(wanted, self.cells, by)
        if match is None:
            self.redraw()
            self._warn(f"no match for {visible(wanted)}")
            return
        self._show_blocks(top)
        opener = self.reading.options.opener
        where = f" · in folded text; press {opener} to open it" if match.row < 0 else ""
        self._show_cursor(max(match.row, 0), Remark(f"match {match.number} of {match.count}{where}"))


class ItemBody(Horizontal):
    """Item text with a column for the function docs at the cursor, if the pane is wide enough."""

    DEFAULT_CSS = "ItemBody { height: 1fr; width: 1fr; }"

    def __init__(self, text: ItemText) -> None:
        super().__init__()
        self._text = text
        self._docs = DocumentView(gutter=False)
        self._docs.can_focus = False
        self._divider = Divider()
        self._docs_cells = -1
        self._drawn: tuple[object, Under] = (None, NOTHING)
        """Available functions, and the functions at the cursor, whose docs are drawn."""

    def compose(self) -> ComposeResult:
        yield self._text
        yield self._divider
        yield self._docs

    def on_mount(self) -> None:
        self._update_layout()
        self.watch(self._text, "moves", self._draw_docs, init=False)

    def on_resize(self) -> None:
        self._draw_docs()

    def _update_layout(self) -> bool:
        """Show or hide the docs column and return whether it is shown: it fits, and the item has functions."""
        reader = self._text.reader
        without_functions = reader is not None and not reader.detail.item.functions
        cells = 0 if without_functions else document_cells(self.size.width)
        if cells != self._docs_cells:
            self._docs_cells = cells
            self._divider.display = self._docs.display = self._text.documented = cells > 0
            self._docs.styles.width = cells
        return cells > 0

    def _draw_docs(self) -> None:
        """Draw the docs of the functions at the cursor, unless they are already drawn."""
        if not self._update_layout() or self._text.reader is None:
            return
        functions, here = self._text.reading.detail.item.functions, self._text.under
        if self._drawn[0] is functions and self._drawn[1] == here:
            return
        self._drawn = (functions, here)
        beside = Beside(functions, here, self._docs.cells)
        self._docs.show(beside)
        if beside.marked is not None:
            self._docs.reveal(beside.marked)
