"""The runs to choose from. Two can be marked, one after the other, and are then compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from fcreview.tui.keys import bindings
from fcreview.tui.keytable import RUNS
from fcreview.tui.queue.state import ALL_RUNS
from fcreview.tui.screens.pick import PickScreen
from fcreview.tui.text.choices import Choices


class RunsScreen(PickScreen[int], inherit_bindings=False):
    """Gives the number of the run to show. `compare` makes the screen for two; None where verdicts are hidden."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(RUNS)
    CSS_PATH = "../pick.tcss"

    def __init__(self, choices: Choices[int], compare: Callable[[int, int], Screen[Any]] | None) -> None:
        super().__init__(choices)
        self._runs, self._compare = choices, compare
        self._marked: int | None = None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return action != "mark" or self._compare is not None

    def action_mark(self) -> None:
        """The run under the cursor; the second time the two are compared, and the mark is gone. Once more takes it
        back."""
        run = self._runs.values[self.list.cursor]
        if run == ALL_RUNS or self._compare is None:
            return
        if self._marked is None:
            self._marked = run
            self._runs.note = f"A: run {run}; x on another compares"
        else:
            if self._marked != run:
                self.app.push_screen(self._compare(self._marked, run))
            self._marked, self._runs.note = None, ""
        self._draw()
