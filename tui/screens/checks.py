"""Show the checks of the runs. Enter on a line shows its items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from fcreview.model.run_check import RunCheck
from fcreview.tables.checks import (
    FILTER_TITLE,
    NO_PROBLEM,
    CheckRow,
    build_check_table,
    list_check_rows,
    summarize_checks,
)
from fcreview.tui.actions import MODAL_HELP_ACTIONS, PICKER_ACTIONS
from fcreview.tui.keymap import make_bindings
from fcreview.tui.queue_state import CheckedItems
from fcreview.tui.screens.prompts import PanelPickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import ChoiceTable, Line, make_line, sanitize_and_wrap
from fcreview.tui.text.tables import FigureTable, make_figure_table
from fcreview.tui.widgets.document_view import LineBlock

MAX_DETAIL_LINES = 3


def _find_items(row: CheckRow) -> CheckedItems:
    return CheckedItems(row.check.run, row.line.where if row.line is not None else "")


def build_check_choices(rows: Sequence[CheckRow]) -> FigureTable[CheckedItems]:
    """Return the table that answers `is this score real?`: the checks of each run and what they
    found.

    Choosing a row lists the items that it is about. Some rows have none
    (`CheckRow.can_list_items`).
    """
    checks: dict[int, RunCheck] = {row.check.run: row.check for row in rows}
    # The filter of the row under the cursor is shown below the table.
    figure = build_check_table(rows).without([FILTER_TITLE])
    return make_figure_table(
        replace(figure, title="is this score real?"),
        [_find_items(row) for row in rows],
        noun="run",
        note=summarize_checks(list(checks.values())),
        total=len(checks),
    )


def explain_check_row(row: CheckRow, cells: int) -> list[Line]:
    """Return the whole text of a row, which the table may cut, and the filter that lists its
    items.
    """
    if row.line is None:
        text = f"{row.check.title}: {row.check.summary or NO_PROBLEM}"
    else:
        text = f"{row.line.title}: {row.line.detail}"
    lines = []
    for text_row in sanitize_and_wrap(text, cells - 2, MAX_DETAIL_LINES):
        lines.append(make_line(f" {text_row}"))
    where = _find_items(row).where
    if where:
        lines.append(((" filter ", "dim"), (where, "")))
    return lines


class CheckScreen(PanelPickerScreen[CheckedItems], inherit_bindings=False):
    """Table with the checks of the runs. The result is the items of the chosen line."""

    place_name = "check"
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(PICKER_ACTIONS, MODAL_HELP_ACTIONS)
    WAITING_FOR = "checking runs"

    def __init__(
        self,
        session: Session,
        runs: Sequence[int] = (),
        last_choice: CheckedItems | None = None,
    ) -> None:
        """Create the screen.

        Args:
            runs: Numbers of the runs to check; empty for all runs.
            last_choice: Items of the line that gets the cursor, because the user returns from it.
        """
        super().__init__((*session.root_breadcrumb, "check"), load=self._check_runs)
        self._session = session
        self._checked_runs = runs
        self._last_choice = last_choice
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
        choices = build_check_choices(self._rows)
        if self._last_choice in choices.values:
            choices.cursor = choices.values.index(self._last_choice)
        return choices

    def _draw(self) -> None:
        super()._draw()
        self._draw_explanation()

    def _draw_explanation(self) -> None:
        if self._rows:
            row = self._rows[self.list.cursor]
            self.query_one("#means", LineBlock).show(explain_check_row(row, self.table_width))

    def action_choose_row(self) -> None:
        """Close the screen with the items that the line under the cursor is about."""
        if not self._rows:
            return
        row = self._rows[self.list.cursor]
        if row.can_list_items:
            self.dismiss(_find_items(row))
        else:
            self.show_message("this line has no items to list")
