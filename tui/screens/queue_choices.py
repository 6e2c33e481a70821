"""What the queue's keys let a person choose: order, run, a group of failures, an import issue. A part of the queue
screen: the screens to choose from, and how an answer changes the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import ModalScreen, Screen

from fcreview.store.rows import RunRow
from fcreview.tui.queue.choices import issue_choices, order_choices
from fcreview.tui.queue.loader import count_clusters
from fcreview.tui.queue.state import Counted, Levels, QueueState, Standing
from fcreview.tui.screens.picker import ClustersScreen, PickScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import Choices

if TYPE_CHECKING:
    from fcreview.tui.queue.runs import RunsPlace


@dataclass(frozen=True, slots=True)
class Choice:
    ask: Callable[[], ModalScreen[Any]] | None
    """None: it is chosen in the palette only."""
    take: Callable[[Any], None]
    """Changes the state; not called if nothing was chosen."""
    why_not: Callable[[], str] = lambda: ""
    """Why there is nothing to choose, if that is so."""
    level: bool = True
    """What is chosen leads further in: `esc` comes back to the list."""


class Choosing:
    def __init__(self, session: Session, state: QueueState, levels: Levels) -> None:
        self._session, self._state, self._levels = session, state, levels
        self.runs: Sequence[RunRow] | None = None
        """Those that were opened, once they are known."""
        self._runs_place: RunsPlace | None = None
        self.choices = {
            "order": Choice(lambda: PickScreen(order_choices(state)), state.take_order, level=False),
            "clusters": Choice(self._ask_clusters, state.take_terms, self._blind("clusters")),
            "agreement": Choice(self._ask_agreement, state.take_items, self._blind("agreement")),
            "calibration": Choice(self._ask_calibration, state.take_items, self._blind("calibration")),
            "issues": Choice(lambda: PickScreen(load=self._issues), state.take_issue, self._blind("import issues")),
            "where": Choice(None, state.take_where),
            "file": Choice(None, state.take_file),
            "runs": Choice(self._ask_run, state.take_run, self._why_no_runs),
        }
        """By the names that the key table has for them."""

    def take(self, what: str, answer: Any, here: Standing, *, listed: bool = True) -> Standing:
        """What was chosen is set. Where the cursor is to stand then. `listed`: in its list, which `esc` shows again."""
        choice, before = self.choices[what], self._state.setting
        self._levels.places.taken[what] = answer
        choice.take(answer)
        if not choice.level:
            return here
        self._levels.go_in(before, here, what if listed else "")
        return Standing()

    @property
    def shown_runs(self) -> Sequence[RunRow] | None:
        """The one that was chosen, or all."""
        if self.runs is None or self._state.run is None:
            return self.runs
        return [run for run in self.runs if run.run == self._state.run]

    @property
    def idle(self) -> frozenset[str]:
        """Keys that would only say why there is nothing to choose."""
        return frozenset(f"queue.{name}" for name, choice in self.choices.items() if choice.why_not())

    def _blind(self, name: str) -> Callable[[], str]:
        return lambda: f"{name}: hidden in blind mode, they tell what others found" if self._state.blind else ""

    def _why_no_runs(self) -> str:
        if self.runs is None:
            return "runs are still being read"
        return "" if len(self.runs) > 1 else "there is only this one run"

    def _ask_clusters(self) -> ModalScreen[Any]:
        return ClustersScreen(self._clusters, self._levels.places.clusters)

    async def _clusters(self, by: int) -> Counted:
        return await self._session.ask(partial(count_clusters, self._state.view, by), interruptible=True)

    def _ask_agreement(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.statistics import AgreementScreen

        return AgreementScreen(self._session, self._state.view)

    def _ask_calibration(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.statistics import CalibrationScreen

        return CalibrationScreen(self._session, self._state.view)

    async def _issues(self) -> Choices[str]:
        made = issue_choices(await self._session.ask(lambda store: store.issues()))
        last = self._levels.places.taken.get("issues")
        return replace(made, cursor=made.values.index(last)) if last in made.values else made

    def _ask_run(self) -> ModalScreen[Any]:
        from fcreview.tui.queue.runs import RunsPlace
        from fcreview.tui.screens.compare import RunsScreen

        compare = None if self._state.blind else self._compare
        if self._runs_place is None:
            self._runs_place = RunsPlace()
        return RunsScreen(self.runs or [], self._runs_place, self._run_there(), compare)

    def _compare(self, a: int, b: int) -> Screen[Any]:
        """Of the items that the queue's filter selects."""
        from fcreview.tui.screens.compare import CompareScreen

        rows = {row.run: row for row in self.runs or ()}
        return CompareScreen(self._session, self._state.view, (rows[a], rows[b]))

    def _run_there(self) -> int | None:
        """The run that the list opens at."""
        taken: int | None = self._levels.places.taken.get("runs")
        return taken if self._state.run is None else self._state.run
