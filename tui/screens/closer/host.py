"""The item screen, as far as what lies over it needs it."""

from __future__ import annotations

from typing import Any, Protocol

from textual.app import App
from textual.screen import Screen

from fcreview.store.rows import View
from fcreview.tui.item.cursor import Cursor
from fcreview.tui.item.digits.answering import Answering
from fcreview.tui.item.status import Remark


class Copied(Protocol):
    @property
    def copied(self) -> str:
        """What is under the cursor."""
        ...


class Host(Protocol):
    reviewing: Answering

    @property
    def app(self) -> App[Any]: ...

    @property
    def reader(self) -> Cursor: ...

    @property
    def text(self) -> Copied: ...

    @property
    def in_front(self) -> bool: ...

    def say(self, remark: Remark) -> None: ...

    def another(self, view: View, item: int) -> Screen[int]:
        """The screen of another item."""
        ...
