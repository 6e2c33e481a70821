"""Define the menus of the queue screen: lists of choices, and how each choice changes the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import ModalScreen, Screen

from fcreview.model.sanitize import sanitize
from fcreview.store.rows import RunRow
from fcreview.tui.queue.choices import issue_choices, order_choices
from fcreview.tui.queue.loader import count_clusters
from fcreview.tui.queue.state import ClusterCounts, CursorPosition, QueueLevels, QueueState
from fcreview.tui.screens.choice_list import PickerScreen
from fcreview.tui.session import Session
from fcreview.tui.text.lines import ChoiceTable

if TYPE_CHECKING:
    from fcreview.tui.queue.runs import RunListState


@dataclass(frozen=True, slots=True)
class QueueMenu:
    """List of choices that change the queue."""

    make_screen: Callable[[], ModalScreen[Any]] | None
    """Returns the screen with the list. None if the choices are only available in the command palette."""
    apply: Callable[[Any], None]
    """Applies a choice to the state of the queue."""
    disabled_reason: Callable[[], str] = lambda: ""
    """Returns why the menu is not available, or an empty string if it is available."""
    adds_level: bool = True
    """Whether a choice adds a level to the queue. The key `queue.back` leaves this level and opens the list again."""


class QueueMenus:
    def __init__(self, session: Session, state: QueueState, levels: QueueLevels) -> None:
        self._session, self._state, self._levels = session, state, levels
        self.runs: Sequence[RunRow] | None = None
        """Opened runs. None until the runs are read."""
        self._run_list: RunListState | None = None
        self.menus: dict[str, QueueMenu] = {
            "order": QueueMenu(lambda: PickerScreen(order_choices(state)), state.apply_order, adds_level=False),
            "clusters": QueueMenu(self._make_clusters_screen, state.apply_terms, self._blind_reason("clusters")),
            "agreement": QueueMenu(self._make_agreement_screen, state.apply_items, self._blind_reason("agreement")),
            "calibration": QueueMenu(
                self._make_calibration_screen, state.apply_items, self._blind_reason("calibration")
            ),
            "conventions": QueueMenu(
                self._make_conventions_screen, self._show_all_of, self._blind_reason("conventions")
            ),
            "issues": QueueMenu(
                lambda: PickerScreen(load=self._load_issues), state.apply_issue, self._blind_reason("import issues")
            ),
            "where": QueueMenu(None, state.apply_filter),
            "file": QueueMenu(None, state.apply_queue_file),
            "runs": QueueMenu(self._make_runs_screen, state.apply_run, self._runs_disabled_reason),
        }

    def apply(self, menu_name: str, choice: Any, cursor: CursorPosition, *, from_list: bool = True) -> CursorPosition:
        """Apply a choice of a menu and return the new cursor position.

        `from_list`: True if the choice was made in a list, which the key `queue.back` then opens again; False if it was
        made in the command palette.
        """
        menu, settings = self.menus[menu_name], self._state.settings
        self._levels.lists.selections[menu_name] = choice
        menu.apply(choice)
        if not menu.adds_level:
            return cursor
        self._levels.push(settings, cursor, menu_name if from_list else "")
        return CursorPosition()

    @property
    def shown_runs(self) -> Sequence[RunRow] | None:
        """Runs on screen: the selected run, or all opened runs. None until the runs are read."""
        if self.runs is None or self._state.run is None:
            return self.runs
        return [run for run in self.runs if run.run == self._state.run]

    @property
    def disabled_keys(self) -> frozenset[str]:
        """Ids of the actions whose menus are not available."""
        return frozenset(f"queue.{name}" for name, menu in self.menus.items() if menu.disabled_reason())

    def _blind_reason(self, name: str) -> Callable[[], str]:
        return lambda: f"{name}: not available in blind mode" if self._state.blind else ""

    def _runs_disabled_reason(self) -> str:
        if self.runs is None:
            return "The runs are still loading"
        return "" if len(self.runs) > 1 else "Only one run is open"

    def _make_clusters_screen(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.clusters import ClustersScreen

        session, lists = self._session, self._levels.lists
        runs = self.shown_runs or ()
        run_name = sanitize(runs[0].info.model) if len(runs) == 1 else ""
        return ClustersScreen(session, self._count_clusters, lists.clusters, self._state.view_of_terms, run_name)

    async def _count_clusters(self, grouping: int) -> ClusterCounts:
        return await self._session.query(partial(count_clusters, self._state.view, grouping), interruptible=True)

    def _make_agreement_screen(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.statistics import AgreementScreen

        return AgreementScreen(self._session, self._state.view)

    def _make_calibration_screen(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.statistics import CalibrationScreen

        return CalibrationScreen(self._session, self._state.view)

    def _make_conventions_screen(self) -> ModalScreen[Any]:
        from fcreview.tui.screens.statistics import ConventionsScreen

        return ConventionsScreen(self._session, self._state.view)

    def _show_all_of(self, items: Sequence[int]) -> None:
        """Select items by number, including items that do not fail."""
        self._state.apply_items(items)
        self._state.queue = "dataset"

    async def _load_issues(self) -> ChoiceTable[str]:
        runs = [row.run for row in self.runs or []]
        choices = issue_choices(await self._session.query(lambda store: store.fetch_issues(runs=runs)))
        last = self._levels.lists.selections.get("issues")
        return replace(choices, cursor=choices.values.index(last)) if last in choices.values else choices

    def _make_runs_screen(self) -> ModalScreen[Any]:
        from fcreview.tui.queue.runs import RunListState
        from fcreview.tui.screens.runs import RunsScreen

        compare = None if self._state.blind else self._make_compare_screen
        if self._run_list is None:
            self._run_list = RunListState()
        return RunsScreen(self.runs or [], self._run_list, self._initial_run(), compare)

    def _make_compare_screen(self, a: int, b: int) -> Screen[Any]:
        """Return a screen that compares two runs on the items that the filter of the queue selects."""
        from fcreview.tui.screens.compare import CompareScreen

        rows = {row.run: row for row in self.runs or ()}
        return CompareScreen(self._session, self._state.view, (rows[a], rows[b]))

    def _initial_run(self) -> int | None:
        """Return the run that is under the cursor when the list of runs opens."""
        last_choice: int | None = self._levels.lists.selections.get("runs")
        return last_choice if self._state.run is None else self._state.run
