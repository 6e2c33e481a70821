"""One item: what was asked, what was expected, what was done, what was said of it; and one key for a verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType

from fcreview.sanitise import visible
from fcreview.tui.document.document import Hit, document, find, next_hit, target_at, unfolded_for
from fcreview.tui.document.records import Record, joined, place_of, score_place
from fcreview.tui.document.scene import call_of
from fcreview.tui.keys import ITEM
from fcreview.tui.screens.ask import AskScreen
from fcreview.tui.screens.item_reviews import ItemReviews
from fcreview.tui.screens.pager import PagerScreen
from fcreview.tui.text.copying import copied


class ItemScreen(ItemReviews):
    """Gives the item that was on screen last (`QueueRow.item`). With `blind`, what others said is hidden until this
    annotator gave a verdict."""

    BINDINGS: ClassVar[list[BindingType]] = [*ITEM]
    CSS_PATH = "item.tcss"
    find = ""
    """What was searched last."""
    _hit: Hit | None = None

    def action_fold(self) -> None:
        block = self.block
        if block.foldable and not (block.pages and block.folded):
            self._fold(block.key, not block.folded)
        elif block.full is not None:
            self._page(block.title, block.full())

    def _fold(self, key: str, folded: bool) -> None:
        self.options = replace(self.options, folds={**self.options.folds, key: folded})
        self.message = ("", "")
        self.rebuild()

    def action_dialogue(self) -> None:
        self.options = replace(self.options, dialogue=not self.options.dialogue)
        self.message = ("full dialogue: t for the short one" if self.options.dialogue else "", "good")
        self.rebuild()

    def action_document(self) -> None:
        """The document of the function under the cursor, else of the first call."""
        here = [target_at(self.blocks, self.cursor), *(block.target or "" for block in self.blocks)]
        address = next((call for target in here if (call := call_of(target))), None)
        if address is None:
            self.say("no call here to show the document of", "warn")
            return
        key = f"{address}/document"
        self._fold(key, not self.options.folded(key, True))
        at = self.index_of(key)
        if self.blocks[at].key == key:
            self.text.reveal(at)
            self.text.reveal(self.cursor, whole=False)

    def action_raw(self) -> None:
        """The result record and, if it is known, the entry of the score file that failed it."""
        item = self.detail.item
        records = [Record("result", place_of(item.file, item.line), self._read(self.store.raw) or "")]
        score = None if self.hidden else self._read(self.store.raw_score)
        if score is not None:
            records.append(Record("score", score_place(item), score))
        self._page("records", joined(records, indented=False), joined(records, indented=True))

    def _read(self, read: Callable[[int], str | None]) -> str | None:
        try:
            return read(self.item)
        except Exception as error:  # the file may be gone, changed or unreadable: say so
            return f"The record cannot be read: {error}"

    def _page(self, title: str, text: str, indented: str | None = None) -> None:
        folder = self.store.workspace.root
        name = f"{self.detail.row.id} · {title}"
        self.app.push_screen(PagerScreen(name, text, indented=indented, find=self.find, folder=folder))

    def action_copy(self) -> None:
        block = self.block
        if block.copy is not None:
            text = json.dumps(block.copy(), ensure_ascii=False, indent=2, default=str)
        else:
            text = block.full() if block.full is not None else self.detail.row.id
        self.say(copied(text, self.store.workspace.root, self.app._driver))

    def action_search(self) -> None:
        self.app.push_screen(AskScreen("/", self.find), lambda text: self._search(text) if text else None)

    def action_search_again(self) -> None:
        if self.find:
            self._search(self.find)

    def show_item(self, item: int, message: str = "") -> None:
        self._hit = None
        super().show_item(item, message)

    def _search(self, wanted: str) -> None:
        """To the next match, going round. What is folded away is searched too, and unfolded where it has to be."""
        if wanted != self.find:
            self._hit = None
        self.find, self.text.find = wanted, wanted.casefold()
        options = replace(self.options, hidden=self.hidden, open_all=True)
        opened = document(self.detail, self.reviewer.annotator, options)
        hits = find(opened, wanted, self.text.cells)
        hit = next_hit(hits, self._hit, self.block.key, opened)
        if hit is None:
            self._hit = None
            self.text.redraw()
            self.say(f"no match for {visible(wanted)}", "warn")
            return
        self._hit = hit
        self.options = replace(self.options, folds={**self.options.folds, **unfolded_for(hit, opened)})
        self.rebuild(at=hit.key)
        self.go(self.cursor, max(hit.row, 0))
        where = " · in the folded text: enter opens it there" if hit.row < 0 else ""
        self.say(f"match {hits.index(hit) + 1} of {len(hits)}{where}")
