"""Two runs compared: counts and differences, and every flip, which opens with what both predicted."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.binding import BindingType

from fcreview.comparison.compared import Comparison, compared
from fcreview.comparison.outcomes import VERDICT_SOURCES, VerdictSource, usual_source
from fcreview.sanitise import visible
from fcreview.store.rows import RunRow, View
from fcreview.tui.comparing.tables import comparison_choices
from fcreview.tui.keys import bindings
from fcreview.tui.keytable import COMPARE, IN_FRONT
from fcreview.tui.screens.comparing.flip import FlipScreen
from fcreview.tui.screens.pick import PickScreen
from fcreview.tui.session import Session
from fcreview.tui.widgets.work import work


class CompareScreen(PickScreen[int | None], inherit_bindings=False):
    """Of the items that the view selects, whichever runs it is of. Not for who reviews blind."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(COMPARE, IN_FRONT)
    CSS_PATH = "../pick.tcss"
    DOING = "comparing"

    def __init__(self, session: Session, view: View, runs: tuple[RunRow, RunRow]) -> None:
        super().__init__()
        self._session, self._view, self._both = session, view, runs
        self._source: VerdictSource = usual_source(row.official_known for row in runs)
        self._found: Comparison | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self._compute()

    @work(exclusive=True, group="compare")
    async def _compute(self) -> None:
        (a, first), (b, second) = ((row.run, visible(row.info.model)) for row in self._both)
        source = self._source
        self.waiting.begin()
        found = await self._session.ask(lambda store: store.told.outcomes(self._view, (a, b), source), leavable=True)
        self._found = await asyncio.to_thread(compared, found[a], found[b])
        self.waiting.end()
        choices = comparison_choices(self._found, source)
        choices.title = f"A {first}, B {second}, {source}"
        self._choices = choices
        self._draw()
        self.list.move_cursor(choices.cursor)

    def action_take(self) -> None:
        if self._found is None or self._choices is None or not self._choices.values:
            return
        at = self._choices.values[self.list.cursor]
        if at is not None:
            self.app.push_screen(FlipScreen(self._session, self._found.flips, at))

    def action_source(self) -> None:
        self._source = VERDICT_SOURCES[(VERDICT_SOURCES.index(self._source) + 1) % len(VERDICT_SOURCES)]
        self._compute()
