"""What a verdict would be about: the item, or what the cursor is on; and what was to be seen when its key was pressed.
Pure."""

from __future__ import annotations

from math import inf

from fcreview.targets import ITEM
from fcreview.tui.item.cursor import Cursor
from fcreview.tui.item.judging import About
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


class Sight:
    """Another item may come while a key is on its way: until it is drawn, keys are about the one that was there."""

    def __init__(self) -> None:
        self._named: About | None = None
        self._before: About | None = None
        self._drawn = inf
        self._led = False
        """It was a list beside it that led to this item."""

    def names(self, about: About) -> None:
        """What the screen names from now on."""
        self._named = about

    def turned(self, led: bool = False) -> None:
        """Another item is there, and not drawn yet; `led`: it was named by a list before it was there."""
        self._before, self._drawn, self._led = None if led else self._named, inf, led

    def early(self, pressed: float | None) -> bool:
        """Whether the list named this item and the header still another one when the key was pressed."""
        return self._led and pressed is not None and pressed < self._drawn

    def drawn(self, moment: float) -> None:
        self._drawn = moment

    def at(self, pressed: float | None, now: About) -> About:
        """What a key is about that was pressed at that moment; None: not by a key."""
        return now if self._before is None or pressed is None or pressed >= self._drawn else self._before
