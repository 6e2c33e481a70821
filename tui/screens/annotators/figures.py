"""A screen of figures, one table at a time, each figure opening the items that it was made from."""

from __future__ import annotations

from fcreview.tui.screens.pick import PickScreen
from fcreview.tui.text.choices import Choices
from fcreview.tui.widgets.work import work


class FiguresScreen(PickScreen[tuple[int, ...]], inherit_bindings=False):
    """Gives the items (`QueueRow.item`) of the chosen figure. Figures are shown as they come."""

    CSS_PATH = "../pick.tcss"  # Textual looks beside the class, not beside its parent

    def __init__(self) -> None:
        super().__init__()
        self._progress = "reading reviews"

    async def compute(self) -> None:
        """Asks the store, works out the figures in a thread, and calls `show_progress` each time there are more."""
        raise NotImplementedError

    def table(self) -> Choices[tuple[int, ...]]:
        """The table that is to be seen, as far as it is known."""
        raise NotImplementedError

    def next_table(self) -> None:
        raise NotImplementedError

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="figures")
    async def _compute(self) -> None:
        await self.compute()
        self.show_progress("")

    def show_progress(self, progress: str) -> None:
        self._progress = progress
        self._again(self.list.cursor)

    def _again(self, cursor: int) -> None:
        self._choices = self.table()
        self._draw()
        self.list.move_cursor(cursor)

    def on_resize(self) -> None:
        if self._choices is not None:
            self._choices = self.table()
        super().on_resize()

    def action_scope(self) -> None:
        self.next_table()
        self._again(0)

    def action_take(self) -> None:
        """Nothing, where a figure has no items."""
        if self._choices is not None and self._choices.values and self._choices.values[self.list.cursor]:
            super().action_take()
