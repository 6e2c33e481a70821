"""Show a long text on the whole screen. Only the visible part is laid out, so the text may be very long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType

from fcreview.model.item import Item
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tui.actions import PAGER_ACTIONS
from fcreview.tui.item_view.document import RawRecord, format_location, format_score_record_location, join_records
from fcreview.tui.keymap import make_bindings
from fcreview.tui.review.clipboard import copy_text
from fcreview.tui.screens.prompts import AskScreen
from fcreview.tui.text.layout import (
    TextSource,
    find_match_offset,
    find_max_indent_level,
    fold_indented_lines,
    indent_json,
)
from fcreview.tui.text.lines import Line, format_size, justify_line
from fcreview.tui.widgets.base import GuardedScreen, work
from fcreview.tui.widgets.document_view import DocumentView, KeyLine, LineBar

if TYPE_CHECKING:
    from fcreview.tui.session import Session


class PagerText(NamedTuple):
    """Text for the pager in two forms."""

    raw: str
    """Text as in the file. The copy action copies this text."""
    indented: str
    """Text with indented JSON."""


async def read_records(session: Session, item_number: int, item: Item) -> PagerText:
    """Read the records of item `item_number` from the result and score files."""
    records = await read_raw_records(session, item_number, item)
    return PagerText(join_records(records, indented=False), join_records(records, indented=True))


class PagerScreen(GuardedScreen[None]):
    """Screen that shows JSON indented and other text unchanged. A key switches to the raw text."""

    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PAGER_ACTIONS)
    DEFAULT_CSS = "PagerScreen { layout: vertical; }"

    def __init__(
        self, title: str, text: str | Callable[[], Awaitable[PagerText]], *, find: str = "", folder: Path | None = None
    ) -> None:
        """Create the screen.

        Args:
            text: Text to show, or a function that loads the text.
            find: Search term at the start.
            folder: Folder to which copies of the text are written.
        """
        super().__init__()
        self._title, self._folder = title, folder
        self._find, self._hit = find, -1
        self._load_text = None if isinstance(text, str) else text
        self._text = PagerText(text, indent_json(text)) if isinstance(text, str) else PagerText("", "")
        self._raw = False
        self._depth: int | None = None
        """Number of indentation levels that are shown, or None for all."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="pager-title")
        yield DocumentView(gutter=False, id="pager-text")
        yield KeyLine()

    def on_mount(self) -> None:
        self._view.focus()
        if self._load_text is None:
            self._show_text()
        else:
            self._draw_bars("reading")
            self._load_and_show(self._load_text)

    @work()
    async def _load_and_show(self, load_text: Callable[[], Awaitable[PagerText]]) -> None:
        self._text = await load_text()
        self._show_text()

    @property
    def _view(self) -> DocumentView:
        return self.query_one("#pager-text", DocumentView)

    @property
    def _displayed_text(self) -> str:
        if self._raw:
            return self._text.raw
        return self._text.indented if self._depth is None else fold_indented_lines(self._text.indented, self._depth)

    def _show_text(self) -> None:
        self._view.show(TextSource(self._displayed_text))
        if self._find:
            self.call_after_refresh(self._search, self._find)
        self._draw_bars()
        self.call_after_refresh(self._draw_bars)

    def _draw_bars(self, message: str = "") -> None:
        layout = self._view.document_layout
        left: Line = ((f" {sanitize(self._title)}", "strong"), (f"  {message}" if message else "", "warn"))
        state = "raw" if self._raw or self._text.indented is self._text.raw else "indented"
        state += f", {format_count(self._depth, 'level')}" if self._depth is not None and not self._raw else ""
        facts = (format_size(self._text.raw), state, layout.scroll_position if layout else "")
        right: Line = ((f"{' · '.join(filter(None, facts))} ", "dim"),)
        self.query_one("#pager-title", LineBar).show(justify_line(left, right, self.app.size.width))

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_bars)

    def on_document_view_scrolled(self) -> None:
        self._draw_bars()

    def action_scroll(self, rows: int) -> None:
        self._view.scroll_rows(rows)
        self._draw_bars()

    def action_page(self, pages: int) -> None:
        self.action_scroll(pages * max(self._view.size.height - 1, 1))

    def action_scroll_to_edge(self, side: int) -> None:
        self._view.scroll_to_edge(side)
        self._draw_bars()

    def action_toggle_raw(self) -> None:
        self._raw = not self._raw
        self._show_from_top()

    def _show_from_top(self) -> None:
        self._hit = -1
        self._view.show(TextSource(self._displayed_text))
        self._draw_bars()

    def action_change_depth(self, by: int) -> None:
        """Show `by` more indentation levels, or fewer if negative."""
        max_depth = find_max_indent_level(self._text.indented)
        if self._raw or not max_depth:
            self._draw_bars("the text has no JSON to fold")
            return
        depth = min(max((max_depth if self._depth is None else self._depth) + by, 1), max_depth)
        self._depth = depth if depth < max_depth else None
        self._show_from_top()

    def action_search(self) -> None:
        self.app.push_screen(AskScreen("/", self._find), lambda text: self._search(text) if text else None)

    def action_search_again(self, step: int) -> None:
        if self._find:
            self._search(self._find, step)

    def _search(self, text: str, step: int = 1) -> None:
        if text != self._find:
            self._hit = -1
        if self._depth is not None:  # the search must also find folded lines
            self._depth = None
            self._view.show(TextSource(self._displayed_text))
        self._find = text
        self._view.highlight = text.casefold()
        hit = find_match_offset(self._displayed_text, text, self._hit, step)
        layout = self._view.document_layout
        if hit is None or layout is None:
            self._view.redraw()
            self._draw_bars(f"no match for {sanitize(text)}")
            return
        self._hit = hit
        source = TextSource(self._displayed_text) if not isinstance(layout.source, TextSource) else layout.source
        index, row = source.find_row(hit, layout.cells)
        self._view.redraw()
        self._view.reveal(index, row, entire_block=False)
        self._draw_bars()

    def action_copy(self) -> None:
        self._draw_bars(copy_text(self._text.raw, self._folder, self.app._driver))


async def read_raw_records(session: Session, item_number: int, item: Item) -> list[RawRecord]:
    """Return the records of item `item_number` in the result file and, if it exists, in the score file."""
    result = await _read_or_describe_error(session, lambda store: store.read_raw_record(item_number)) or ""
    records = [RawRecord("result", format_location(item.file, item.line), result)]
    entry = await _read_or_describe_error(session, lambda store: store.read_score_record(item_number))
    return [*records, RawRecord("score", format_score_record_location(item), entry)] if entry is not None else records


async def _read_or_describe_error(session: Session, read: Callable[..., str | None]) -> str | None:
    try:
        return await session.query(read)
    except Exception as error:  # the file may be gone, changed or unreadable
        return f"The record cannot be read: {error}"
