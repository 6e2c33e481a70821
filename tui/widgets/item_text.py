"""An item's document with its cursor: the keys that move, fold and look closer. The screen hears what came of them.

An item's text, and on a wide screen the document of the function under its cursor beside it.
"""

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
from fcreview.tui.item_view.blocks import Block, BlockSource, Scene, scene
from fcreview.tui.item_view.document import decisive, extent
from fcreview.tui.item_view.function_docs import NOTHING, Beside, Under, foot_lines, offered, under
from fcreview.tui.key_bindings import bindings, key_names
from fcreview.tui.review.cursor import Cursor
from fcreview.tui.review.status import SILENT, Remark
from fcreview.tui.text.layout import START, Spot
from fcreview.tui.text.lines import Line, document_cells
from fcreview.tui.widgets.document_view import Divider, DocumentView


class ItemText(DocumentView):
    """Empty until an item is handed to `open`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(ITEM_TEXT)

    moves = reactive(0, repaint=False, init=False)
    """Counts what moved the cursor or the text. The screen watches it: what it draws then comes with the same frame."""

    @dataclass
    class Opened(Message):
        """A text that is too long to unfold in place."""

        title: str
        text: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.reader: Cursor | None = None
        self.remark: Remark | None = None
        """What there is to say of the last move; None leaves what was said."""
        self.aside: Callable[[], None] | None = None
        """To what stands beside it."""
        self.documented = False
        """The document of the function under the cursor stands beside it."""
        self._scene: Scene | None = None

    @property
    def share(self) -> int:
        """Per cent of the document that lies above the bottom of the screen."""
        return self.layout_.share if self.layout_ else 0

    @property
    def copied(self) -> str:
        """The block under the cursor, as it is copied."""
        block = self.reading.block
        if block.copy is not None:
            return json.dumps(block.copy(), ensure_ascii=False, indent=2, default=str)
        return block.full() if block.full is not None else self.reading.detail.row.id

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return self.reader is not None

    def open(self, reader: Cursor) -> None:
        """An item, or another one, where its reader begins."""
        self.reader = reader
        self.show(BlockSource(reader.blocks), cursor=reader.at)
        self._go()
        self.reveal(decisive(reader.blocks, reader.at))

    def go_on_from(self, other: ItemText) -> None:
        """As another one shows its item, with cursor and folds."""
        self.reader, self.find = other.reading, other.find
        top = other.layout_.top if other.layout_ is not None else START
        self.show(BlockSource(self.reading.blocks), top=top, cursor=self.reading.at)
        self._go()

    def renew(self, detail: ItemDetail) -> None:
        """The same item after something was said of it."""
        before, reader = self._top(), self.reading
        reader.renew(detail)
        self._redraw_from(before)

    def take_in(self, detail: ItemDetail, remark: Remark | None) -> None:
        """The same item from another store. If it reads as it did, nothing of it is drawn."""
        before, blocks = self._top(), self.reading.blocks
        self.reading.renew(detail)
        if self.reading.blocks != blocks:
            self._redraw_from(before, remark)
        else:
            self._moved(remark)

    @property
    def reading(self) -> Cursor:
        if self.reader is None:
            raise RuntimeError("no item")  # keys come through only when there is one
        return self.reader

    def put_on_top(self, index: int) -> None:
        """The block at the top of the screen, unless the text ends before it is full."""
        if self.layout_ is not None:
            self.layout_.go(Spot(index, 0))
            self.redraw()
            self._moved()

    def _top(self) -> tuple[str, int]:
        """Key of the block at the top of the screen, and the row of it: kept when the document is built anew."""
        layout = self.layout_
        return (self.reading.blocks[layout.top.block].key, layout.top.row) if layout else ("", 0)

    def _redraw_from(self, before: tuple[str, int], remark: Remark | None = None) -> None:
        key, row = before
        at = self.reading.index_of(key, 0)
        top = Spot(at, row if self.reading.blocks[at].key == key else 0)
        self.show(BlockSource(self.reading.blocks), top=top, cursor=self.reading.at)
        self._go(remark=remark)

    def _go(self, row: int = 0, remark: Remark | None = None) -> None:
        """The block under the cursor on screen, its row at least; below the document what is known of its parameter."""
        self.cursor = self.reading.at
        self.foot = partial(self._foot, self.reading.block.key)
        self.redraw()
        self.reveal(self.cursor, row, whole=row == 0)
        self._moved(remark)

    def _show_extent(self) -> None:
        """What a verdict at the cursor rests on, as far as it fits below the cursor's block: no judge is answered on a
        reply that lies below the screen."""
        at = self.reading.at
        until = extent(self.reading.blocks, at)
        if until > at:
            self.reveal(until)
            self.reveal(at, also=True)

    def _foot(self, key: str, free: int) -> Sequence[Line]:
        if self.documented:
            return ()
        return foot_lines(self._of_item, key, self.cells, free, whole=not self.reading.options.documents)

    @property
    def under(self) -> Under:
        """The functions and the parameter the cursor is at, else of the call that is nearest, else all."""
        reading, of = self.reading, self._of_item
        return under(of, reading.block.key) or under(of, reading.call_here or "") or offered(of)

    @property
    def _of_item(self) -> Scene:
        item = self.reading.detail.item
        if self._scene is None or self._scene.item is not item:
            self._scene = scene(item)
        return self._scene

    def _moved(self, remark: Remark | None = None) -> None:
        self.remark = remark
        self.moves += 1

    def _say(self, text: str) -> None:
        self._moved(Remark(text, "warn"))

    def go_to(self, target: str) -> bool:
        """To where a verdict on the target is given; False where it is not shown."""
        found = self.reading.to(target)
        self.show(BlockSource(self.reading.blocks), cursor=self.reading.at)
        self._go()
        self._show_extent()
        return found

    def action_move(self, step: int) -> None:
        """To the next stop; behind the last one, the text scrolls."""
        blocks, before = self.reading.blocks, self._top()
        if self.reading.step(step):
            if self.reading.blocks is not blocks:
                self._redraw_from(before, SILENT)
            else:
                self._go(remark=SILENT)
            self._show_extent()
        else:
            self.scroll_rows(step * 3)
            self._moved(SILENT)

    def action_turn(self, step: int) -> None:
        if self.reading.turn(step):
            self._go()

    def action_scroll(self, rows: int) -> None:
        self.scroll_rows(rows)
        self._moved()

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self.size.height - 1, 1))

    def action_edge(self, side: int) -> None:
        self.scroll_edge(side)
        self._moved()

    def action_difference(self) -> None:
        if self.reading.difference():
            self._go()
        else:
            self._say("no difference between golden and predicted calls")

    def action_arguments(self) -> None:
        if self.reading.arguments():
            self._go()
        else:
            self._say("no arguments below the cursor")

    def action_aside(self) -> None:
        if self.aside is not None:
            self.aside()
        else:
            self.action_arguments()

    def action_fold(self) -> None:
        block, before = self.reading.block, self._top()
        if self.reading.fold():
            self._redraw_from(before, SILENT)
        elif block.full is not None:
            self.post_message(self.Opened(block.title, block.full()))

    def action_dialogue(self) -> None:
        before = self._top()
        self.reading.dialogue()
        key = key_names(self.app).get("item.dialogue", "")
        says = f"full dialogue: {key} for the short one" if self.reading.options.dialogue else ""
        self._redraw_from(before, Remark(says))

    def action_document(self) -> None:
        """The document of golden's function of the call under the cursor, then predicted's, then all, then none."""
        before = self._top()
        about = self.reading.function()
        if about is None:
            self._say("no function is on offer here")
            return
        shown = self.reading.options.documents
        says = f"documents: {shown}, here and in the items to come" if shown else "no documents"
        self._redraw_from(before, Remark(says))
        if shown:
            self._show_block(about)

    def _show_block(self, block: Block) -> None:
        """All of it that fits, the block under the cursor too."""
        self.reveal(self.reading.blocks.index(block))
        self.reveal(self.reading.at, whole=False)

    def action_search_again(self, by: int) -> None:
        if self.reading.sought:
            self.search(self.reading.sought, by)
        else:
            self._say(f"nothing was searched yet: {key_names(self.app).get('item.search', '')} searches")

    def search(self, wanted: str, by: int = 1) -> None:
        before = self._top()
        self.find = wanted.casefold()
        match = self.reading.search(wanted, self.cells, by)
        if match is None:
            self.redraw()
            self._say(f"no match for {visible(wanted)}")
            return
        self._redraw_from(before)
        opener = self.reading.options.opener
        where = f" · in the folded text: {opener} opens it there" if match.row < 0 else ""
        self._go(max(match.row, 0), Remark(f"match {match.number} of {match.count}{where}"))


class ItemBody(Horizontal):
    DEFAULT_CSS = "ItemBody { height: 1fr; width: 1fr; }"

    def __init__(self, text: ItemText) -> None:
        super().__init__()
        self._text = text
        self._document = DocumentView(gutter=False)
        self._document.can_focus = False
        self._divider = Divider()
        self._cells = -1
        """The document's columns."""
        self._shown: tuple[object, Under] = (None, NOTHING)

    def compose(self) -> ComposeResult:
        yield self._text
        yield self._divider
        yield self._document

    def on_mount(self) -> None:
        self._fit()
        self.watch(self._text, "moves", self._draw, init=False)

    def on_resize(self) -> None:
        self._draw()

    def _fit(self) -> bool:
        """Whether there is room, and an item with functions."""
        reader = self._text.reader
        bare = reader is not None and not reader.detail.item.functions
        cells = 0 if bare else document_cells(self.size.width)
        if cells != self._cells:
            self._cells = cells
            self._divider.display = self._document.display = self._text.documented = cells > 0
            self._document.styles.width = cells
        return cells > 0

    def _draw(self) -> None:
        """Of what the cursor is at now."""
        if not self._fit() or self._text.reader is None:
            return
        functions, here = self._text.reading.detail.item.functions, self._text.under
        if self._shown[0] is functions and self._shown[1] == here:
            return
        self._shown = (functions, here)
        beside = Beside(functions, here, self._document.cells)
        self._document.show(beside)
        if beside.marked is not None:
            self._document.reveal(beside.marked)
