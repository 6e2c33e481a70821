"""Show the checks of the runs. Enter on a line shows its items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from fcreview.tui.actions import MODAL_HELP_ACTIONS, PICKER_ACTIONS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue.run_checks import (
    CheckedItems,
    CheckRow,
    build_check_table,
    explain_check_row,
    list_check_rows,
)
from fcreview.tui.screens.prompts import PanelPickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import ChoiceTable
from fcreview.tui.widgets.document_view import LineBlock


class CheckScreen(PanelPickerScreen[CheckedItems], inherit_bindings=False):
    """Table with the checks of the runs. The result is the items of the chosen line."""

    place_name = "check"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PICKER_ACTIONS, MODAL_HELP_ACTIONS)
    WAITING_FOR = "checking runs"

    def __init__(self, session: Session, runs: Sequence[int] = ()) -> None:
        """Create the screen. `runs`: numbers of the runs to check; empty for all runs."""
        super().__init__((*session.root_breadcrumb, "check"), load=self._check_runs)
        self._session = session
        self._checked_runs = runs
        self._rows: list[CheckRow] = []

    def on_mount(self) -> None:
        self.watch(self.list, "cursor", self._draw_explanation, init=False)
        super().on_mount()

    def compose_below_list(self) -> Iterable[Widget]:
        yield LineBlock(id="means")

    async def _check_runs(self) -> ChoiceTable[CheckedItems]:
        """Check the scores of the runs, and return the results as a table."""
        numbers = self._checked_runs
        runs = await self._session.read(lambda store: store.fetch_runs())
        selected = [run for run in runs if not numbers or run.run in numbers]
        self._rows = list_check_rows(
            await self._session.read(lambda store: store.check_runs(selected))
        )
        return build_check_table(self._rows)

    def _draw(self) -> None:
        super()._draw()
        self._draw_explanation()

    def _draw_explanation(self) -> None:
        if self._rows:
            row = self._rows[self.list.cursor]
            self.query_one("#means", LineBlock).show(explain_check_row(row, self.table_width))

    def action_choose_row(self) -> None:
        if not self._rows:
            return
        row = self._rows[self.list.cursor]
        if row.can_list_items:
            self.dismiss(row.items)
        else:
            self.show_message("this line has no items to list")
