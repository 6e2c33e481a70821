"""What a screen has to be for items to be reviewed on it. Knows no Textual."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from fcreview.tui.item.ahead import Shown
from fcreview.tui.item.status import Remark


class Face(Protocol):
    """The pane that an item is on."""

    @property
    def in_front(self) -> bool:
        """Nothing lies over it: another item may be shown."""
        ...

    def begin(self, shown: Shown, remark: Remark) -> None:
        """Shows another item."""
        ...

    def renew(self, shown: Shown, remark: Remark) -> None:
        """Shows the same item as it is now."""
        ...

    def say(self, remark: Remark) -> None: ...

    def leave(self, item: int) -> None: ...

    def said(self, item: int) -> None:
        """Something is on disk of the item: what else shows it is old."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it beside the keys, as long as the screen is there."""
        ...
