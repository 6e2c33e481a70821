"""A long text on the whole screen. Only what is visible is laid out, so that size does not matter."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from fcreview.sanitise import visible
from fcreview.tui.keys import PAGER, key_hints
from fcreview.tui.screens.ask import AskScreen
from fcreview.tui.text.copying import copied
from fcreview.tui.text.lines import Line, size_text, spread
from fcreview.tui.text.text_source import TextSource, find_from, pretty
from fcreview.tui.widgets.document import DocumentView, LineBar


class PagerScreen(Screen[None]):
    """JSON is shown indented; `r` shows it as it came."""

    BINDINGS: ClassVar[list[BindingType]] = [*PAGER]
    DEFAULT_CSS = "PagerScreen { layout: vertical; }"

    def __init__(
        self, title: str, text: str, *, indented: str | None = None, find: str = "", folder: Path | None = None
    ) -> None:
        super().__init__()
        self._title, self._text = title, text
        self._find, self._hit = find, -1
        self._indented = pretty(text) if indented is None else indented
        self._shown = self._indented
        self._raw = False
        self._folder = folder

    def compose(self) -> ComposeResult:
        yield LineBar(id="pager-title")
        yield DocumentView(gutter=False, id="pager-text")
        yield LineBar(id="pager-keys")

    def on_mount(self) -> None:
        self._view.focus()
        self._open()

    @property
    def _view(self) -> DocumentView:
        return self.query_one("#pager-text", DocumentView)

    def _open(self) -> None:
        self._view.show(TextSource(self._shown))
        if self._find:
            self.call_after_refresh(self._search, self._find)
        self._say()
        self.call_after_refresh(self._say)

    def _say(self, message: str = "") -> None:
        layout = self._view.layout_
        share = layout.share if layout else 0
        left: Line = ((f" {visible(self._title)}", "strong"), (f"  {message}" if message else "", "warn"))
        state = "as it came" if self._raw or self._shown is self._text else "indented"
        right: Line = ((f"{size_text(self._text)} · {state} · {share:3} % ", "dim"),)
        self.query_one("#pager-title", LineBar).show(spread(left, right, self.app.size.width))
        keys: Line = ()
        for key, name in key_hints(self):
            keys += ((f" {key}", "key"), (f" {name}  ", ""))
        self.query_one("#pager-keys", LineBar).show(keys)

    def on_resize(self) -> None:
        self.call_after_refresh(self._say)

    def on_document_view_scrolled(self) -> None:
        self._say()

    def action_scroll(self, rows: int) -> None:
        self._view.scroll_rows(rows)
        self._say()

    def action_page(self, pages: int) -> None:
        self._view.scroll_rows(pages * max(self._view.size.height - 1, 1))
        self._say()

    def action_edge(self, side: int) -> None:
        self._view.scroll_edge(side)
        self._say()

    def action_raw(self) -> None:
        self._raw = not self._raw
        self._shown = self._text if self._raw else self._indented
        self._hit = -1
        self._view.show(TextSource(self._shown))
        self._say()

    def action_search(self) -> None:
        self.app.push_screen(AskScreen("/", self._find), lambda text: self._search(text) if text else None)

    def action_search_again(self, step: int) -> None:
        if self._find:
            self._search(self._find, step)

    def _search(self, text: str, step: int = 1) -> None:
        if text != self._find:
            self._hit = -1
        self._find = text
        self._view.find = text.casefold()
        hit = find_from(self._shown, text, self._hit, step)
        layout = self._view.layout_
        if hit is None or layout is None:
            self._view.redraw()
            self._say(f"no match for {visible(text)}")
            return
        self._hit = hit
        source = TextSource(self._shown) if not isinstance(layout.source, TextSource) else layout.source
        index, row = source.row_at(hit, layout.cells)
        self._view.redraw()
        self._view.reveal(index, row, whole=False)
        self._say()

    def action_copy(self) -> None:
        self._say(copied(self._text, self._folder, self.app._driver))

    def action_close(self) -> None:
        self.dismiss(None)
