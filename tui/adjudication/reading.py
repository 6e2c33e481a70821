"""The item's text for an adjudicator: nobody's name before it is settled, and the disputed part marked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from fcreview.store.rows import ItemDetail
from fcreview.targets import ITEM
from fcreview.tui.adjudication.answers import mark_line
from fcreview.tui.adjudication.docket import Case
from fcreview.tui.document.blocks import Block
from fcreview.tui.item.cursor import Cursor

MARK = "disputed"


@dataclass(slots=True)
class DisputeCursor(Cursor):
    case: Case | None = None

    def put(self, case: Case, detail: ItemDetail) -> None:
        """Another dispute, from its place in the item."""
        self.case = case
        self.show(_unnamed(case, detail))
        self.at = self._place() if case.dispute.target != ITEM else self.at

    def put_again(self, case: Case, detail: ItemDetail) -> None:
        """The same after something was said of it."""
        self.case = case
        self.renew(_unnamed(case, detail))

    def _place(self) -> int:
        target = self.case.dispute.target if self.case else ITEM
        exact = (at for at, block in enumerate(self.blocks) if target in (block.target, block.key))
        return next(exact, self.index_of(target))

    def _build(self, key: str) -> None:
        Cursor._build(self, key)
        if self.case is not None and self.case.dispute.target != ITEM:
            at = self._place()
            self.blocks.insert(at, Block(MARK, partial(mark_line, self.case), parent=self.blocks[at].parent))


def _unnamed(case: Case, detail: ItemDetail) -> ItemDetail:
    return detail if case.settled else replace(detail, opinions=[], history=[])
