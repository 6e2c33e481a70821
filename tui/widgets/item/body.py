"""An item's text, and on a wide screen the document of the function under its cursor beside it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from fcreview.tui.document.offer.beside import Beside
from fcreview.tui.document.offer.under import NOTHING, Under
from fcreview.tui.text.sides import document_cells
from fcreview.tui.widgets.document import DocumentView
from fcreview.tui.widgets.frame import Divider
from fcreview.tui.widgets.item.text import ItemText


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
