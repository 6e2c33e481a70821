"""What a verdict would be about: the item, or what the cursor is on. Pure."""

from __future__ import annotations

from fcreview.targets import ITEM
from fcreview.tui.item.cursor import Cursor
from fcreview.tui.item.status import SILENT, Remark

DISARMED = Remark("verdicts are about the whole item again", "warn")
NOTHING = Remark("there is nothing to judge by itself under the cursor", "warn")


class Aim:
    def __init__(self) -> None:
        self.on_cursor = False
        """Verdicts are about what the cursor is on, not about the item."""

    def target(self, reader: Cursor) -> str:
        return reader.target if self.on_cursor else ITEM

    def turn(self, reader: Cursor) -> Remark:
        """To the other of both, if there is one."""
        if not self.on_cursor and reader.target == ITEM:
            return NOTHING
        self.on_cursor = not self.on_cursor
        return SILENT if self.on_cursor else DISARMED

    def moved(self, reader: Cursor) -> Remark | None:
        """The cursor is elsewhere; what there is to say if nothing there can be judged by itself."""
        if not self.on_cursor or reader.target != ITEM:
            return None
        self.on_cursor = False
        return DISARMED
