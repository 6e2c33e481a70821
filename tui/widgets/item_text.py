"""Show the document of an item with a cursor and, on wide screens, the function docs beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.reactive import reactive

from fcreview.model.sanitize import sanitize
from fcreview.store.rows import ItemDetail, QueueRow
from fcreview.tui.actions import ITEM_TEXT_ACTIONS
from fcreview.tui.item_view.blocks import BlockSource, IndexedItem
from fcreview.tui.item_view.cursor import (
    ONLY_IN_PAGER,
    Cursor,
    find_header_index,
    first_difference_index_inside,
    last_index_of_target,
)
from fcreview.tui.item_view.function_docs import (
    NO_FUNCTIONS,
    FunctionDocsSource,
    RelevantFunctions,
    docs_footer_lines,
    docs_panel_lines,
    first_available_functions,
    functions_at_block,
)
from fcreview.tui.item_view.other_runs import other_runs_panel_lines
from fcreview.tui.keymap import find_action_key_names, make_bindings
from fcreview.tui.text.layout import DOCUMENT_START, RowPosition
from fcreview.tui.text.lines import BLANK_LINE, Line, docs_column_width
from fcreview.tui.text.messages import NO_MESSAGE, StatusMessage
from fcreview.tui.widgets.document_view import Divider, DocumentView

ROWS_WITHOUT_STOP = 3
"""Rows by which a move of the cursor scrolls if there is no block to move to."""


class ItemText(DocumentView):
    """Widget with the document of an item and a cursor. Its keys move the cursor, fold and search.

    The widget is empty until `open` is called.
    """

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(ITEM_TEXT_ACTIONS)

    moves = reactive(0, repaint=False, init=False)
    """Number of moves of the cursor or the text.

    The screen watches it to draw its bars in the same frame.
    """

    @dataclass
    class Opened(Message):
        """Posted when a text that is too long to unfold in place was opened."""

        title: str
        text: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin without an item."""
        super().__init__(id=id)
        self.document_cursor: Cursor | None = None
        self.message: StatusMessage | None = None
        """Message about the last move. With None, the screen keeps its previous message."""
        self.focus_list: Callable[[], None] | None = None
        """Function that moves the focus to the list beside the item. None if there is no list."""
        self.has_docs_column = False
        """Whether the function docs are shown beside the text."""
        self._indexed: IndexedItem | None = None
        self._other_runs_item = 0
        """Number of the item to which `_other_runs` belong."""
        self._other_runs: Sequence[QueueRow] = ()
        """Rows of the item in other runs."""

    @property
    def scroll_position(self) -> str:
        """See `DocumentLayout.scroll_position`."""
        return self.document_layout.scroll_position if self.document_layout else ""

    @property
    def text_to_copy(self) -> str:
        """Text of the block under the cursor for the copy action."""
        block = self.required_cursor.block
        if block.copied_value is not None:
            return json.dumps(block.copied_value(), ensure_ascii=False, indent=2, default=str)
        if block.full_text is not None:
            return block.full_text()
        return self.required_cursor.detail.row.id

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return self.document_cursor is not None

    def open(self, document_cursor: Cursor) -> None:
        """Show the item at the position of its cursor, with the first difference in view."""
        self.document_cursor = document_cursor
        self.show(BlockSource(document_cursor.blocks), cursor=document_cursor.index)
        self._show_cursor()

        blocks = document_cursor.blocks
        difference_index = first_difference_index_inside(blocks, document_cursor.index)
        is_suspect_item = document_cursor.options.suspicion is not None
        if is_suspect_item and not blocks[difference_index].is_suspect:
            # The reasons for the suspicion stand at the top, not at the difference. Both are
            # scrolled into view.
            self.reveal(0, entire_block=False)
            self.reveal(difference_index, entire_block=False, keep_previous=True)
            return

        header_index = find_header_index(blocks, difference_index)
        self.reveal_in_context(difference_index, header_index, only_if_hidden=True)

    @property
    def is_start_visible(self) -> bool:
        return self.document_layout is None or self.document_layout.top == DOCUMENT_START

    def copy_state_from(self, other: ItemText) -> None:
        """Show the item of another widget with its cursor, folds and scroll position."""
        cursor = other.required_cursor
        self.document_cursor = cursor
        self.highlight = other.highlight
        top = DOCUMENT_START
        if other.document_layout is not None:
            top = other.document_layout.top
        self.show(BlockSource(cursor.blocks), top=top, cursor=cursor.index)
        self._show_cursor()

    def update_item(self, detail: ItemDetail) -> None:
        """Show the same item with its changed reviews."""
        top = self._row_at_top()
        self.required_cursor.refresh(detail)
        self._show_blocks(top)

    def update_after_reload(self, detail: ItemDetail, message: StatusMessage | None) -> None:
        """Show the same item after a reload. Redraw it only if its document has changed."""
        top = self._row_at_top()
        old_blocks = self.required_cursor.blocks
        self.required_cursor.refresh(detail)
        if self.required_cursor.blocks == old_blocks:
            self._notify_moved(message)
        else:
            self._show_blocks(top, message)

    def set_section_frames(self, frame_sections: bool) -> None:
        """Draw frames around all sections or, as on a small screen, only around calls."""
        cursor = self.document_cursor
        if cursor is None or cursor.options.panels == frame_sections:
            return
        top = self._row_at_top()
        cursor.options = replace(cursor.options, panels=frame_sections)
        cursor.rebuild()
        self._show_blocks(top)

    @property
    def required_cursor(self) -> Cursor:
        """Cursor in the displayed item.

        Raises:
            RuntimeError: No item is open. This is a bug, because keys are disabled without an item.
        """
        if self.document_cursor is None:
            raise RuntimeError("no item is open")
        return self.document_cursor

    def scroll_to_block(self, index: int) -> None:
        """Scroll a block to the top of the screen, or as far up as the end of the document
        allows.
        """
        if self.document_layout is not None:
            self.document_layout.scroll_to(RowPosition(block=index, row=0))
            self.redraw()
            self._notify_moved()

    def _row_at_top(self) -> tuple[str, int]:
        """Return (key of the block, row of the block) at the top of the screen, for
        `_show_blocks`.
        """
        if self.document_layout is None:
            return "", 0
        top = self.document_layout.top
        return self.required_cursor.blocks[top.block].key, top.row

    def _show_blocks(self, top: tuple[str, int], message: StatusMessage | None = None) -> None:
        """Show the rebuilt document.

        `top`: row at the top of the screen, from `_row_at_top` before the rebuild.
        """
        key, row = top
        cursor = self.required_cursor
        index = cursor.find_block_index(key, 0)
        is_same_block = cursor.blocks[index].key == key
        position = RowPosition(block=index, row=row if is_same_block else 0)
        self.show(BlockSource(cursor.blocks), top=position, cursor=cursor.index)
        self._show_cursor(message=message)

    def _show_cursor(self, row: int = 0, message: StatusMessage | None = None) -> None:
        """Draw the cursor and scroll to its block. If the block does not fit the screen, scroll to
        `row` of the block.
        """
        self.cursor = self.required_cursor.index
        self.footer = partial(self._footer_lines, self.required_cursor.block.key)
        self.redraw()
        self.reveal(self.cursor, row, entire_block=row == 0)
        self._notify_moved(message)

    def find_focused_blocks(self) -> range:
        """Return the blocks of the call under the cursor, if the keys of the item work."""
        if self.document_cursor is None or not self.has_focus:
            return range(0)
        return self.document_cursor.find_call_frame()

    def on_focus(self, event: events.Focus) -> None:
        super().on_focus(event)
        self.redraw()

    def on_blur(self, event: events.Blur) -> None:
        super().on_blur(event)
        self.redraw()

    def _scroll_to_target(self) -> None:
        """Scroll to show as much as possible of the text to which a verdict at the cursor applies.

        An annotator must not confirm a judge verdict on a reply that is below the screen.
        """
        first_index = self.required_cursor.index
        last_index = last_index_of_target(self.required_cursor.blocks, first_index)
        if last_index > first_index:
            self.reveal(last_index)
            self.reveal(first_index, keep_previous=True)

    def _footer_lines(self, block_key: str, free_rows: int) -> Sequence[Line]:
        """Return the lines below the document: panels, or docs of the function at the cursor."""
        if self.required_cursor.options.panels:
            return self._context_panels(free_rows)
        if self.has_docs_column:
            return ()
        return docs_footer_lines(
            self._indexed_item,
            block_key,
            self.cells,
            free_rows,
            allow_full_docs=not self.required_cursor.options.docs_choice,
        )

    def _context_panels(self, free_rows: int) -> list[Line]:
        """Return what fills the free rows below the document: function docs, and the item in other
        runs.

        The docs are left out if they are already shown beside or inside the document.
        """
        detail = self.required_cursor.detail
        lines: list[Line] = []
        # The last row stays blank.
        max_rows = free_rows - 1

        shows_docs_elsewhere = self.has_docs_column or self.required_cursor.options.docs_choice
        if not shows_docs_elsewhere:
            lines += docs_panel_lines(
                detail.item.functions, self.functions_at_cursor, self.cells, max_rows
            )
        # The rows of other runs are read later, and may still be those of another item.
        if self._other_runs_item == detail.row.item:
            max_rows_below = max_rows - len(lines)
            lines += other_runs_panel_lines(self._other_runs, self.cells, max_rows_below)

        n_blank_lines = free_rows - len(lines)
        return lines + [BLANK_LINE] * n_blank_lines

    def show_other_runs(self, item_number: int, rows: Sequence[QueueRow]) -> None:
        """Show the rows of the item in other runs, if there is room below the document."""
        self._other_runs_item = item_number
        self._other_runs = rows
        self.redraw()

    @property
    def functions_at_cursor(self) -> RelevantFunctions:
        """Functions and parameter at the cursor, else of the nearest call, else all available
        functions.
        """
        item = self._indexed_item
        cursor = self.required_cursor
        return (
            functions_at_block(item, cursor.block.key)
            or functions_at_block(item, cursor.nearest_call_address or "")
            or first_available_functions(item)
        )

    @property
    def _indexed_item(self) -> IndexedItem:
        item = self.required_cursor.detail.displayed_item
        if self._indexed is None or self._indexed.item is not item:
            self._indexed = IndexedItem(item)
        return self._indexed

    def _notify_moved(self, message: StatusMessage | None = None) -> None:
        self.message = message
        self.moves += 1

    def _warn(self, text: str) -> None:
        self._notify_moved(StatusMessage(text, "warn"))

    def move_to_target(self, target: str) -> bool:
        """Move to the block on which verdicts apply to `target`. Return False if there is none."""
        found = self.required_cursor.move_to_target(target)
        self.show(BlockSource(self.required_cursor.blocks), cursor=self.required_cursor.index)
        self._show_cursor()
        self._scroll_to_target()
        return found

    def action_move(self, step: int) -> None:
        """Move the cursor to the next (`step` 1) or previous (-1) block where it can stop.

        If there is none, scroll.
        """
        top = self._row_at_top()
        cursor = self.required_cursor
        old_blocks = cursor.blocks
        if not cursor.move(step):
            self.scroll_rows(step * ROWS_WITHOUT_STOP)
            self._notify_moved(NO_MESSAGE)
            return

        # On arguments, the function docs mark the parameter under the cursor, so a move rebuilds
        # the blocks.
        was_rebuilt = cursor.blocks is not old_blocks
        if was_rebuilt:
            self._show_blocks(top, NO_MESSAGE)
        else:
            self._show_cursor(message=NO_MESSAGE)
        self._scroll_to_target()

    def action_step_turn(self, step: int) -> None:
        if self.required_cursor.move_by_turn(step):
            self._show_cursor()

    def action_scroll(self, rows: int) -> None:
        self.scroll_rows(rows)
        self._notify_moved()

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self.size.height - 1, 1))

    def action_scroll_to_edge(self, side: int) -> None:
        """Move the cursor and the text to the beginning (-1) or to the end (1)."""
        self.required_cursor.move_to_edge(side)
        self._show_cursor(message=NO_MESSAGE)
        self.scroll_to_edge(side)

    def action_next_difference(self) -> None:
        """Move the cursor to the decisive step or to the next difference between the calls."""
        cursor = self.required_cursor
        if cursor.move_to_decisive_or_difference():
            self._show_cursor()
            header = find_header_index(cursor.blocks, cursor.index)
            self.reveal_in_context(cursor.index, header)
        else:
            self._warn("no difference between golden and predicted calls")

    def action_toggle_arguments(self) -> None:
        if self.required_cursor.toggle_arguments():
            self._show_cursor()
        else:
            self._warn("no arguments below the cursor")

    def action_focus_list(self) -> None:
        if self.focus_list is not None:
            self.focus_list()
        else:
            self.action_toggle_arguments()

    def action_toggle_fold(self) -> None:
        """Fold or unfold the block at the cursor. A block that cannot be unfolded here opens in the
        pager.
        """
        block = self.required_cursor.block
        top = self._row_at_top()
        has_folded_or_unfolded = self.required_cursor.toggle_fold()
        if has_folded_or_unfolded:
            self._show_blocks(top, NO_MESSAGE)
        elif block.full_text is not None:
            self.post_message(self.Opened(block.title, block.full_text()))

    def action_toggle_dialogue(self) -> None:
        """Show all messages of the dialogue, or only those that the verdict depends on."""
        top = self._row_at_top()
        self.required_cursor.toggle_dialogue()
        key = find_action_key_names(self.app).get("item.dialogue", "")
        is_full = self.required_cursor.options.full_dialogue
        message = f"full dialogue; press {key} for the short dialogue" if is_full else ""
        self._show_blocks(top, StatusMessage(message))

    def action_fold_all(self, is_folded: bool) -> None:
        """Fold or unfold all turns, calls, sections and texts."""
        top = self._row_at_top()
        self.required_cursor.fold_all(is_folded=is_folded)
        self._show_blocks(top, StatusMessage("all folded" if is_folded else "all unfolded"))

    def action_next_docs(self) -> None:
        """Show the next set of function docs: of the golden call, of the predicted call, all or
        none.

        The docs scroll into view, and the cursor stays visible.
        """
        top = self._row_at_top()
        block = self.required_cursor.show_next_docs()
        if block is None:
            self._warn("no functions are available here")
            return
        choice = self.required_cursor.options.docs_choice
        if not choice:
            self._show_blocks(top, StatusMessage("function docs hidden"))
            return
        message = StatusMessage(f"function docs: {choice}, here and in the next items")
        self._show_blocks(top, message)
        self.reveal(self.required_cursor.blocks.index(block))
        self.reveal(self.required_cursor.index, entire_block=False)

    def action_search_again(self, by: int) -> None:
        if self.required_cursor.last_search:
            self.search(self.required_cursor.last_search, by)
        else:
            search_key = find_action_key_names(self.app).get("item.search", "")
            self._warn(f"no search term yet; press {search_key} to search")

    def search(self, text: str, direction: int = 1) -> None:
        """Move to the next (1) or previous (-1) match of a text, and mark all matches."""
        top = self._row_at_top()
        self.highlight = text.casefold()
        match = self.required_cursor.search(text, self.cells, direction)
        if match is None:
            self.redraw()
            self._warn(f"no match for {sanitize(text)}")
            return

        # The cursor is on the block of the match. To get there, other blocks may have unfolded.
        self._show_blocks(top)
        message = f"match {match.number} of {match.count}"
        is_folded = match.row == ONLY_IN_PAGER
        if is_folded:
            open_key = self.required_cursor.options.open_key
            message += f" · in folded text; press {open_key} to open it"
        self._show_cursor(max(match.row, 0), StatusMessage(message))


class ItemBody(Horizontal):
    """Item text with a column for the function docs at the cursor, if the pane is wide enough."""

    DEFAULT_CSS = "ItemBody { height: 1fr; width: 1fr; }"

    def __init__(self, text: ItemText) -> None:
        """Create the three widgets: `text`, a divider, and the column with the docs."""
        super().__init__()
        self._text = text
        self._divider = Divider()
        self._docs = DocumentView(gutter=False)
        self._docs.can_focus = False
        self._docs_cells = -1
        """Width of the docs column. -1 before the first layout."""

        # The docs are drawn again only if they change.
        self._drawn_available: object = None
        """Available functions when the docs column was last drawn."""
        self._drawn_at_cursor: RelevantFunctions = NO_FUNCTIONS
        """Functions at the cursor when the docs column was last drawn."""

    def compose(self) -> ComposeResult:
        yield self._text
        yield self._divider
        yield self._docs

    def on_mount(self) -> None:
        self._show_docs_if_they_fit()
        self.watch(self._text, "moves", self._draw_docs, init=False)

    def on_resize(self) -> None:
        self._draw_docs()

    def set_blank(self, is_blank: bool) -> None:
        """Draw blank rows instead of the item and the docs, or both again."""
        self._text.set_blank(is_blank)
        self._docs.set_blank(is_blank)

    def _show_docs_if_they_fit(self) -> bool:
        """Show the docs column if it fits and the item has functions, else hide it.

        Return whether it is shown.
        """
        cursor = self._text.document_cursor
        has_no_functions = cursor is not None and not cursor.detail.item.functions
        cells = 0 if has_no_functions else docs_column_width(self.size.width)
        is_shown = cells > 0
        if cells != self._docs_cells:
            self._docs_cells = cells
            self._docs.styles.width = cells
            self._docs.display = is_shown
            self._divider.display = is_shown
            self._text.has_docs_column = is_shown
        return is_shown

    def _draw_docs(self) -> None:
        """Draw the docs of the functions at the cursor, unless they are already drawn."""
        is_shown = self._show_docs_if_they_fit()
        if not is_shown or self._text.document_cursor is None:
            return

        # Drawing again would scroll the docs back.
        available = self._text.document_cursor.detail.item.functions
        at_cursor = self._text.functions_at_cursor
        if available is self._drawn_available and at_cursor == self._drawn_at_cursor:
            return
        self._drawn_available = available
        self._drawn_at_cursor = at_cursor

        docs = FunctionDocsSource(available, shown=at_cursor, cells=self._docs.cells)
        self._docs.show(docs)
        if docs.marked_block_index is not None:
            self._docs.reveal(docs.marked_block_index)
